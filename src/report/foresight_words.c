/* foresight_words.c -- what to expect of a coded run, in words, as a table and as JSON. */
#include "report/foresight.h"

#include "base/words.h"
#include "report/json.h"
#include "report/verdict.h"
#include <math.h>
#include <stdlib.h>

#define ALIKE 0.005 /* shares closer than that are called equal */
#define COSTS 0.1   /* share of the computing time that moving rows may take */

/* "0.4 %", "76 %" */
static const char *show(double share, char into[16])
{
    double percent = 100 * share;
    snprintf(into, 16,
        percent > 0 && (percent < 1 || (percent > 99 && percent < 100)) ? "%.1f %%" : "%.0f %%",
        percent > 99 && percent < 100 ? floor(10 * percent) / 10 : percent);
    return into;
}

static bool waits(const struct mot_foresight *f) { return f->exact && !isnan(f->of[0].waits); }

/* Larger is better. */
static double good(const struct mot_foresight *f, uint32_t kind)
{
    return waits(f) ? 1 - f->of[kind].waits : f->of[kind].least;
}

static void say_who(struct mot_words *w, const struct mot_foresight *f)
{
    double most = f->chance[f->latest], least = most;
    char often[16];
    for (uint32_t i = 0; i < f->workers; i++)
        if (f->chance[i] >= most / 2) least = fmin(least, f->chance[i]);
    const char *up_to = most - least < ALIKE ? "" : "up to ";
    show(most, often);
    if (f->late == 1) mot_say(w, "Worker %u straggles in %s of the rounds", f->latest, often);
    else if (f->late == f->workers) mot_say(w, "Every worker straggles in %s%s of the rounds", up_to, often);
    else mot_say(w, "%u of %u workers straggle in %s%s of the rounds", f->late, f->workers, up_to, often);
    mot_say(w, f->late < f->workers && f->others ? ", the others less often. " : ". ");
}

static void say_waits(struct mot_words *w, const struct mot_foresight *f)
{
    double share = f->of[f->used].waits;
    char text[16];
    if (share < ALIKE) {
        mot_say(w, "Hardly any round will have to wait for a straggler. ");
        return;
    }
    mot_say(w, "In %s of the rounds ", show(share, text));
    if (f->tolerated == 0)
        mot_say(w, "someone straggles, and the round waits: this code needs every worker. ");
    else if (f->by_groups) mot_say(w, "all holders of some part straggle, and the round waits for one. ");
    else
        mot_say(w, "more workers straggle than the %u that the code tolerates, and the round waits. ",
            f->tolerated);
}

static void say_coverage(struct mot_words *w, const struct mot_foresight *f)
{
    const struct mot_forecast *of = &f->of[f->used];
    char least[16], most[16], mean[16];
    show(of->least, least), show(of->most, most), show(of->mean, mean);
    if (of->most - of->least < ALIKE)
        mot_say(w, "If rounds close without stragglers, every part is used in about %s of them. ", mean);
    else
        mot_say(w, "If rounds close without stragglers, parts are used in %s to %s of them, %s on average. ",
            least, most, mean);
}

/* "76 % of the rounds wait", "the part used least is used in 49 %" */
static void say_figure(struct mot_words *w, const struct mot_foresight *f, uint32_t kind)
{
    char text[16];
    if (waits(f)) mot_say(w, "%s of the rounds wait", show(f->of[kind].waits, text));
    else mot_say(w, "the part used least is used in %s", show(f->of[kind].least, text));
}

static void say_advice(struct mot_words *w, const struct mot_foresight *f)
{
    uint32_t worst = MOT_SHUFFLE_NONE;
    for (uint32_t kind = 1; kind < MOT_SHUFFLE_PARTIAL; kind++)
        if (good(f, kind) < good(f, worst)) worst = kind;
    const char *best = mot_shuffle_name(f->advised), *used = mot_shuffle_name(f->used);
    if (f->advised == MOT_SHUFFLE_NONE && f->used == MOT_SHUFFLE_NONE) {
        if (good(f, worst) >= good(f, 0) - ALIKE) {
            mot_say(w, "Shuffling would not change that. ");
            return;
        }
        mot_say(w,
            "Do not shuffle: the slow workers are well spread, and shuffling would bring them together "
            "(with `%s`, ",
            mot_shuffle_name(worst));
        say_figure(w, f, worst);
        mot_say(w, "). ");
    } else if (f->advised == f->used) {
        mot_say(w, "`%s` is the shuffle to use; without one, ", used);
        say_figure(w, f, MOT_SHUFFLE_NONE);
        mot_say(w, ". ");
    } else if (f->advised == MOT_SHUFFLE_NONE && good(f, f->used) >= good(f, 0) - ALIKE) {
        mot_say(w, "Shuffling gains nothing here; `--method-shuffle none` saves moving rows. ");
    } else {
        mot_say(w,
            f->advised == MOT_SHUFFLE_NONE ? "Better not to shuffle (`--method-shuffle %s`): then "
                                           : "Try `--method-shuffle %s`: then ",
            best);
        say_figure(w, f, f->advised);
        mot_say(w, ". ");
    }
}

static void say_cost(struct mot_words *w, const struct mot_foresight *f)
{
    uint32_t kind = f->advised;
    double seconds = f->seconds[kind], period = ceil(seconds / (COSTS * f->job_s));
    char size[32], time[48];
    if (kind == MOT_SHUFFLE_NONE) return;
    mot_say(w, "A shuffle moves %s of rows", mot_show_size(f->bytes[kind], size, sizeof size));
    if (!(seconds > 0)) {
        mot_say(w, ". ");
        return;
    }
    mot_say(w, ", about %s on these links", mot_show_time((uint64_t)(seconds * 1e9), time, sizeof time));
    if (f->job_s > 0)
        mot_say(w, ", where a job takes %s", mot_show_time((uint64_t)(f->job_s * 1e9), time, sizeof time));
    mot_say(w, ". ");
    if (f->job_s > 0 && period > (double)f->period && period < 1e9)
        mot_say(w, "With `--method-period %.0f` that is a tenth of the computing time. ", period);
}

char *mot_foresight_words(const struct mot_foresight *f)
{
    struct mot_words w = { 0 };
    say_who(&w, f);
    if (waits(f)) say_waits(&w, f);
    else say_coverage(&w, f);
    say_advice(&w, f);
    say_cost(&w, f);
    w.text[w.used - 1] = '\0'; /* the last blank */
    return w.text;
}

void mot_foresight_print(const struct mot_foresight *f, const char *lead, FILE *out)
{
    char *words = mot_foresight_words(f);
    char least[16], most[16], mean[16], wait[16], size[32], time[48], parts[64], rows[96];
    mot_print_wrapped(words, lead, out);
    free(words);
    fprintf(out, "%s  %-14s %-28s %-18s %s\n", lead, "shuffle", "parts used (mean)",
        isnan(f->of[0].waits) ? "" : "rounds that wait", "a shuffle moves");
    for (uint32_t kind = 0; kind < MOT_FORESEEN; kind++) {
        const struct mot_forecast *of = &f->of[kind];
        if (!f->known[kind]) continue;
        snprintf(parts, sizeof parts, "%s to %s (%s)", show(of->least, least), show(of->most, most),
            show(of->mean, mean));
        if (kind == MOT_SHUFFLE_NONE) snprintf(rows, sizeof rows, "nothing");
        else
            snprintf(rows, sizeof rows, "%s, %s", mot_show_size(f->bytes[kind], size, sizeof size),
                mot_show_time((uint64_t)(f->seconds[kind] * 1e9), time, sizeof time));
        fprintf(out, "%s  %-14s %-28s %-18s %s\n", lead, mot_shuffle_name(kind), parts,
            isnan(of->waits) ? "" : show(of->waits, wait), rows);
    }
}

json_t *mot_foresight_json(const struct mot_foresight *f)
{
    json_t *all = json_object(), *kinds = json_object(), *straggles = json_array();
    for (uint32_t i = 0; i < f->workers && f->workers <= MOT_FORESIGHT_LISTED; i++)
        mot_json_add(straggles, mot_json_number(f->chance[i]));
    for (uint32_t kind = 0; kind < MOT_FORESEEN; kind++) {
        const struct mot_forecast *of = &f->of[kind];
        json_t *one = json_object();
        if (!f->known[kind]) {
            json_decref(one);
            continue;
        }
        mot_json_set(one, "coverage_least", mot_json_number(of->least));
        mot_json_set(one, "coverage_mean", mot_json_number(of->mean));
        mot_json_set(one, "coverage_most", mot_json_number(of->most));
        mot_json_set(one, "rounds_waiting", mot_json_number(of->waits));
        mot_json_set(one, "copies_moved", mot_json_number(of->traffic));
        mot_json_set(one, "bytes_moved", mot_json_number(f->bytes[kind]));
        mot_json_set(one, "time_s", mot_json_number(f->seconds[kind]));
        mot_json_set(kinds, mot_shuffle_name(kind), one);
    }
    char *words = mot_foresight_words(f);
    mot_json_set(all, "words", mot_json_text(words));
    free(words);
    mot_json_set(all, "stragglers", json_integer(f->late));
    mot_json_set(all, "straggles", f->workers <= MOT_FORESIGHT_LISTED ? straggles : json_null());
    if (f->workers > MOT_FORESIGHT_LISTED) json_decref(straggles);
    json_t *coverage = f->coverage ? json_array() : json_null();
    for (uint32_t j = 0; f->coverage && j < f->parts; j++)
        mot_json_add(coverage, mot_json_number(f->coverage[j]));
    mot_json_set(all, "coverage_by_part", coverage);
    mot_json_set(all, "exact", json_boolean(f->exact));
    mot_json_set(all, "used", json_string(mot_shuffle_name(f->used)));
    mot_json_set(all, "advised", json_string(mot_shuffle_name(f->advised)));
    mot_json_set(all, "shuffle", kinds);
    return all;
}
