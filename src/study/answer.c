/* answer.c -- who wins and by how much, or that nothing can be told apart: a verdict for each arm and a
 * sentence for each condition. Made here, once; terminal and page only render it.
 *
 * With a target, the time to it decides. Without one, what was learned decides, and the time to the end only
 * among arms that learned alike: finishing early with nothing learned is no merit. */
#include "study/answer.h"

#include "base/memory.h"
#include "report/json.h"
#include "report/tally.h"
#include "study/document.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 96

/* What a sentence is made from: the arms under one condition and the figure that judges them. */
struct contest {
    const json_t *document;
    const struct mot_figure_kind *kind;
    size_t condition, arms;
    size_t best; /* = arms: none has the figure */
    json_t *out; /* pieces: a text, {"arm": place}, {"number": text} or {"aside": text} */
};

static void say(const struct contest *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const struct contest *c, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    char *text = NULL;
    if (vasprintf(&text, format, rest) < 0) text = NULL;
    va_end(rest);
    json_t *last = json_array_get(c->out, json_array_size(c->out) - 1);
    if (text && json_is_string(last)) {
        char *both = mot_format("%s%s", json_string_value(last), text);
        json_string_set(last, both);
        free(both);
    } else if (text) {
        json_array_append_new(c->out, json_string(text));
    }
    free(text);
}

static void put(const struct contest *c, const char *kind, const char *text)
{
    json_array_append_new(c->out, json_pack("{s:s}", kind, text));
}

static const json_t *cell_of(const struct contest *c, size_t arm)
{
    return mot_document_cell(c->document, arm, c->condition);
}

static double median_of(const struct contest *c, size_t arm)
{
    return mot_json_get_number(mot_cell_figure(cell_of(c, arm), c->kind->name), "median");
}

static void put_arm(const struct contest *c, size_t arm)
{
    json_array_append_new(c->out, json_pack("{s:I}", "arm", (json_int_t)arm));
}

static void put_median(const struct contest *c, size_t arm)
{
    const json_t *figure = mot_cell_figure(cell_of(c, arm), c->kind->name);
    char median[TEXT], low[TEXT], high[TEXT], aside[4 * TEXT];
    size_t n = mot_json_get_count(figure, "n");
    put(c, "number",
        mot_figure_show(mot_json_get_number(figure, "median"), c->kind->unit, median, sizeof median));
    if (n < 2 || isnan(mot_json_get_number(figure, "low")) || isnan(mot_json_get_number(figure, "high")))
        return;
    snprintf(aside, sizeof aside, "(median of %zu, %s to %s)", n,
        mot_figure_show(mot_json_get_number(figure, "low"), c->kind->unit, low, sizeof low),
        mot_figure_show(mot_json_get_number(figure, "high"), c->kind->unit, high, sizeof high));
    say(c, " ");
    put(c, "aside", aside);
}

const json_t *mot_study_target(const json_t *document, size_t condition)
{
    const json_t *own =
        json_object_get(json_array_get(mot_json_get_list(document, "conditions"), condition), "target");
    return own ? own : json_object_get(document, "target");
}

bool mot_study_has_targets(const json_t *document)
{
    size_t conditions = json_array_size(mot_json_get_list(document, "conditions"));
    for (size_t i = 0; i < conditions; i++)
        if (!json_is_object(mot_study_target(document, i))) return false;
    return conditions > 0;
}

char *mot_answer_target(const json_t *target, char *into, size_t size)
{
    return mot_show_target(
        mot_json_get_text(target, "kind"), mot_json_get_number(target, "value"), into, size);
}

static const char *target_of(const struct contest *c, char into[TEXT])
{
    return mot_answer_target(mot_study_target(c->document, c->condition), into, TEXT);
}

static bool is_time(const struct contest *c) { return c->kind->unit == MOT_UNIT_SECONDS; }

/* "reaches 92 % test accuracy in 0.60 s" */
static void put_claim(const struct contest *c, size_t arm)
{
    char text[TEXT];
    if (strcmp(c->kind->name, "time_to_target") == 0) say(c, "reaches %s in ", target_of(c, text));
    else if (is_time(c)) say(c, "ends after ");
    else say(c, "ends with a %s of ", mot_figure_words(c->kind, text, sizeof text));
    put_median(c, arm);
}

static void put_ratio(const struct contest *c, const json_t *comparison, bool turned)
{
    double ratio = mot_json_get_number(comparison, "ratio"), low = mot_json_get_number(comparison, "low"),
           high = mot_json_get_number(comparison, "high");
    if (turned) {
        double swap = 1 / low;
        ratio = 1 / ratio, low = 1 / high, high = swap;
    }
    char text[TEXT], second[TEXT], aside[4 * TEXT];
    put(c, "number", mot_figure_show(ratio, MOT_UNIT_RATIO, text, sizeof text));
    say(c, " times");
    if (!isfinite(low) || !isfinite(high) || mot_json_get_count(comparison, "n") < 2) return;
    snprintf(aside, sizeof aside, "(%s to %s)", mot_figure_show(low, MOT_UNIT_RATIO, text, sizeof text),
        mot_figure_show(high, MOT_UNIT_RATIO, second, sizeof second));
    say(c, " ");
    put(c, "aside", aside);
}

/* ---- Verdicts ------------------------------------------------------------------------------------------ */

static bool learned_nothing(const json_t *cell)
{
    return 2 * mot_json_get_count(cell, "unlearned") > mot_json_get_count(cell, "runs");
}

static json_t *verdict(const char *word, const char *by, const char *reason)
{
    return json_pack("{s:s, s:s, s:o}", "word", word, "by", by, "reason",
        reason && *reason ? json_string(reason) : json_null());
}

static json_t *verdict_by(const json_t *cell, const char *figure)
{
    const json_t *c = mot_cell_against(cell, figure);
    return verdict(mot_json_get_text(c, "verdict"), figure, mot_json_get_text(c, "reason"));
}

/* How the arm compares with the first: by the time to the target; without one, by what it learned; and if
 * that is alike, by the time to the end. */
static json_t *verdict_of(const json_t *cell, const json_t *first, const struct mot_figure_kind *kind)
{
    if (kind->unit == MOT_UNIT_SECONDS) return verdict_by(cell, kind->name);
    const char *learned = mot_json_get_text(mot_cell_against(cell, kind->name), "verdict"),
               *time = mot_json_get_text(mot_cell_against(cell, "time"), "verdict");
    if (learned_nothing(cell))
        return learned_nothing(first) ? verdict("not comparable", kind->name, "neither learned anything")
                                      : verdict("learned nothing", kind->name, NULL);
    if (strcmp(learned, "better") == 0 && learned_nothing(first)) return verdict("better", kind->name, NULL);
    if (strcmp(learned, "better") == 0)
        return verdict(strcmp(time, "slower") == 0 ? "better, but slower"
                : strcmp(time, "faster") == 0      ? "better and faster"
                                                   : "better",
            kind->name, NULL);
    if (strcmp(learned, "not distinguishable") == 0 && !learned_nothing(first) &&
        mot_cell_against(cell, "time"))
        return verdict_by(cell, "time");
    return verdict_by(cell, kind->name);
}

static const char *word_of(const struct contest *c, size_t arm)
{
    return mot_json_get_text(json_object_get(cell_of(c, arm), "verdict"), "word");
}

/* Whether time to the end, not what was learned, tells this arm apart from the first. */
static bool told_by_time(const struct contest *c, size_t arm)
{
    const json_t *mine = json_object_get(cell_of(c, arm), "verdict");
    const char *word = mot_json_get_text(mine, "word");
    return !is_time(c) && strcmp(mot_json_get_text(mine, "by"), "time") == 0 &&
        (strcmp(word, "faster") == 0 || strcmp(word, "slower") == 0);
}

static bool some_by_time(const struct contest *c)
{
    for (size_t arm = 1; arm < c->arms; arm++)
        if (told_by_time(c, arm)) return true;
    return false;
}

/* ---- Sentences ----------------------------------------------------------------------------------------- */

static struct mot_way way_of(const struct contest *c, size_t arm)
{
    const json_t *cell = cell_of(c, arm);
    return (struct mot_way){ mot_json_get_number(mot_cell_figure(cell, "time_to_target"), "median"),
        mot_json_get_number(mot_cell_figure(cell, "updates_to_target"), "median"),
        mot_json_get_number(mot_cell_figure(cell, "utilisation"), "median") };
}

/* " Why: it gets there in about 1,240 updates of 6.25 ms each, allreduce in ..." */
static void put_why(const struct contest *c, size_t arm, size_t than)
{
    if (strcmp(c->kind->name, "time_to_target") != 0) return;
    char *why = mot_why(way_of(c, arm), way_of(c, than), mot_document_name(c->document, "arms", than));
    if (why) say(c, " Why: %s.", why);
    free(why);
}

/* Counts the arms, other than the best and the first, whose intervals overlap the best one's; names them
 * if asked. */
static size_t close_ones(const struct contest *c, bool named)
{
    const json_t *best = mot_cell_figure(cell_of(c, c->best), c->kind->name);
    double low = mot_json_get_number(best, "low"), high = mot_json_get_number(best, "high");
    size_t close = 0;
    for (size_t arm = 1; arm < c->arms; arm++) {
        const json_t *other = mot_cell_figure(cell_of(c, arm), c->kind->name);
        double from = mot_json_get_number(other, "low"), to = mot_json_get_number(other, "high");
        if (isnan(high)) high = (double)INFINITY;
        if (arm == c->best || !(from <= high && low <= (isnan(to) ? (double)INFINITY : to))) continue;
        if (named && close) say(c, ", ");
        if (named) put_arm(c, arm);
        close++;
    }
    return close;
}

/* What introduces the best arm; another may share its median. */
static const char *has_best(const struct contest *c)
{
    for (size_t arm = 0; arm < c->arms; arm++)
        if (arm != c->best && median_of(c, arm) == median_of(c, c->best)) return " is as good as any: it ";
    if (mot_json_get_count(cell_of(c, c->best), "runs") > 1) return " has the best median: it ";
    return is_time(c) ? " came first in one run: it " : " has the best figure of one run each: it ";
}

/* The best arm is the first: how the others compare with it. */
static void first_wins(const struct contest *c)
{
    size_t next = c->arms, alike = 0, worse = 0;
    const char *why = "";
    for (size_t arm = 1; arm < c->arms; arm++) {
        const json_t *against = mot_cell_against(cell_of(c, arm), c->kind->name);
        const char *verdict = mot_json_get_text(against, "verdict");
        if (!*why) why = mot_json_get_text(against, "reason");
        if (strcmp(verdict, "not distinguishable") == 0) alike++;
        if (strcmp(verdict, is_time(c) ? "slower" : "worse") != 0) continue;
        worse++;
        if (mot_figure_better(c->kind, median_of(c, arm), next < c->arms ? median_of(c, next) : (double)NAN))
            next = arm;
    }
    if (alike == c->arms - 1) {
        say(c, some_by_time(c) ? "What they learn is not distinguishable: " : "Nothing is distinguishable: ");
        put_arm(c, 0);
        say(c, " ");
        put_claim(c, 0);
        say(c, ", and %s apart from it with these seeds.",
            c->arms == 2 ? "the other cannot be told" : "none of the others can be told");
        return;
    }
    put_arm(c, 0);
    say(c, "%s", worse == c->arms - 1 ? " wins: it " : has_best(c));
    put_claim(c, 0);
    if (next < c->arms) {
        const json_t *comparison = mot_cell_against(cell_of(c, next), c->kind->name);
        say(c, "; the next clearly behind, ");
        put_arm(c, next);
        if (is_time(c)) say(c, ", takes "), put_ratio(c, comparison, true), say(c, " as long");
        else say(c, ", has "), put_median(c, next);
    }
    if (*why && !alike && !worse) {
        say(c, "; not compared with the other%s: %s", c->arms == 2 ? "" : "s", why);
    }
    say(c, ".");
    if (next < c->arms) put_why(c, 0, next);
    if (alike) say(c, " %zu of the others cannot be told apart from it.", alike);
}

/* ", which allreduce does in 1 of 6 runs": half of them at most, or there would be a ratio. */
static void put_share(const struct contest *c, size_t arm)
{
    size_t reached = mot_json_get_count(cell_of(c, arm), "reached"),
           runs = mot_json_get_count(cell_of(c, arm), "runs");
    say(c, ", which "), put_arm(c, arm);
    if (reached) say(c, " does in %zu of %zu runs", reached, runs);
    else say(c, " never does");
}

static void another_wins(const struct contest *c)
{
    const json_t *comparison = mot_cell_against(cell_of(c, c->best), c->kind->name);
    const char *verdict = mot_json_get_text(comparison, "verdict");
    bool wins = strcmp(verdict, is_time(c) ? "faster" : "better") == 0;
    size_t close = close_ones(c, false);
    put_arm(c, c->best);
    say(c, "%s", wins && !close ? " wins: it " : has_best(c));
    put_claim(c, c->best);
    if (wins && is_time(c)) {
        if (isnan(mot_json_get_number(comparison, "ratio"))) put_share(c, 0);
        else say(c, ", "), put_ratio(c, comparison, false), say(c, " as fast as "), put_arm(c, 0);
    } else if (wins) {
        say(c, ", "), put_arm(c, 0), say(c, " with "), put_median(c, 0);
    } else if (strcmp(verdict, "not distinguishable") == 0) {
        say(c, ", but that is not distinguishable from "), put_arm(c, 0), say(c, " with these seeds");
    } else if (*mot_json_get_text(comparison, "reason")) {
        say(c, "; not compared with "), put_arm(c, 0);
        say(c, ": %s", mot_json_get_text(comparison, "reason"));
    } else if (comparison) { /* an arm can have the better median and yet lose most pairs */
        say(c, ", though seed by seed it is %s than ", verdict), put_arm(c, 0);
    }
    say(c, ".");
    if (wins) put_why(c, c->best, 0);
    if (!close) return;
    say(c, " Close to it, with intervals that overlap its own: ");
    close_ones(c, true);
    say(c, ".");
}

/* " async is 1.83 times as fast as allreduce."; without a number if one of them mostly fails. */
static void put_time(const struct contest *c, size_t arm)
{
    bool slower = strstr(word_of(c, arm), "slower") != NULL;
    const json_t *comparison = mot_cell_against(cell_of(c, arm), "time");
    double ratio = mot_json_get_number(comparison, "ratio");
    say(c, " ");
    if (isnan(ratio) || ratio == 0) {
        put_arm(c, slower ? arm : 0);
        say(c, " mostly does not finish.");
        return;
    }
    put_arm(c, arm);
    say(c, slower ? " takes " : " is ");
    put_ratio(c, comparison, slower);
    say(c, slower ? " as long as " : " as fast as ");
    put_arm(c, 0);
    say(c, ".");
}

/* What the arm's first run that has a remedy for learning nothing says; "" if none does. */
static const char *remedy_of(const struct contest *c, size_t arm)
{
    size_t i;
    json_t *run;
    json_array_foreach(
        mot_json_get_list(c->document, "runs"), i, run) if (mot_json_get_count(run, "arm") == arm &&
        mot_json_get_count(run, "condition") == c->condition &&
        *mot_json_get_text(run, "remedy")) return mot_json_get_text(run, "remedy");
    return "";
}

/* ", and the commonest class alone would give 10.0 %": what the arm's accuracy is worth. */
static void put_chance(const struct contest *c, size_t arm)
{
    double chance = mot_json_get_number(cell_of(c, arm), "chance_accuracy");
    char text[TEXT];
    if (isnan(chance)) return;
    say(c, ", and the commonest class alone would give ");
    put(c, "number", mot_figure_show(chance, MOT_UNIT_SHARE, text, sizeof text));
}

/* The cause in an arm's remedy. What to try is left out: a flag would change the other arms as well. */
static void put_cause(const struct contest *c, size_t arm)
{
    static const char *const advice[] = { ": try ", ": let it ", ". Try " };
    const char *remedy = remedy_of(c, arm);
    size_t n = strlen(remedy);
    if (n == 0 || strncmp(remedy, "Try ", 4) == 0) return;
    if (remedy[n - 1] == '.') n--;
    for (size_t i = 0; i < MOT_COUNT(advice); i++) {
        const char *at = strstr(remedy, advice[i]);
        if (at && (size_t)(at - remedy) < n) n = (size_t)(at - remedy);
    }
    say(c, " %.*s.", (int)n, remedy);
}

/* " async learned nothing: a test accuracy of 11.3 %, and the commonest class alone would give 10.0 %." */
static void put_unlearned(const struct contest *c, size_t arm)
{
    struct contest by = *c;
    by.kind = mot_figure_kind("test_accuracy");
    say(c, " ");
    put_arm(c, arm);
    say(c, " learned nothing");
    if (!isnan(mot_json_get_number(cell_of(c, arm), "chance_accuracy")) && !isnan(median_of(&by, arm))) {
        say(c, ": a test accuracy of ");
        put_median(&by, arm);
        put_chance(c, arm);
    }
    say(c, ".");
    put_cause(c, arm);
}

/* What the sentence on learning leaves unsaid: who was faster, and who learned nothing. */
static void put_rest(const struct contest *c)
{
    for (size_t arm = 0; arm < c->arms; arm++) {
        if (learned_nothing(cell_of(c, arm))) put_unlearned(c, arm);
        else if (is_time(c)) continue;
        else if (told_by_time(c, arm) || strncmp(word_of(c, arm), "better", 6) == 0)
            if (strstr(word_of(c, arm), "faster") || strstr(word_of(c, arm), "slower")) put_time(c, arm);
    }
}

static bool all_learned_nothing(const struct contest *c)
{
    for (size_t arm = 0; arm < c->arms; arm++)
        if (!learned_nothing(cell_of(c, arm))) return false;
    return true;
}

static size_t best_of(const struct contest *c)
{
    size_t best = c->arms;
    for (size_t arm = 0; arm < c->arms; arm++) {
        if (mot_figure_better(c->kind, median_of(c, arm), best < c->arms ? median_of(c, best) : (double)NAN))
            best = arm;
    }
    return best;
}

/* Whether no run of any arm met the target. */
static bool nobody_reached(const struct contest *c)
{
    for (size_t arm = 0; arm < c->arms; arm++)
        if (mot_json_get_count(cell_of(c, arm), "reached") > 0) return false;
    return true;
}

/* The run that came nearest to the target in any of its evaluations; NULL: none is known. */
static const json_t *nearest_run(const struct contest *c, const struct mot_figure_kind *kind)
{
    const json_t *best = NULL;
    size_t i;
    json_t *run;
    json_array_foreach(mot_json_get_list(c->document, "runs"), i, run)
    {
        if (mot_json_get_count(run, "condition") == c->condition &&
            mot_figure_better(
                kind, mot_json_get_number(run, "nearest"), mot_json_get_number(best, "nearest")))
            best = run;
    }
    return best;
}

/* "; the nearest was async with a test accuracy of 71.3 % (seed 3)" */
static void put_nearest(const struct contest *c)
{
    const struct mot_figure_kind *kind =
        mot_figure_kind(mot_json_get_text(mot_study_target(c->document, c->condition), "kind"));
    const json_t *run = kind ? nearest_run(c, kind) : NULL;
    char text[TEXT];
    if (!run) return;
    say(c, "; the nearest was ");
    put_arm(c, mot_json_get_count(run, "arm"));
    say(c, " with a %s of ", mot_figure_words(kind, text, sizeof text));
    put(c, "number", mot_figure_show(mot_json_get_number(run, "nearest"), kind->unit, text, sizeof text));
    snprintf(text, sizeof text, "(seed %.0f)", mot_json_get_number(run, "seed"));
    say(c, " "), put(c, "aside", text);
}

/* "; async does in 3 of 6": the arm that met the target most often. */
static void put_most(const struct contest *c)
{
    size_t best = 0;
    for (size_t arm = 1; arm < c->arms; arm++)
        if (mot_json_get_count(cell_of(c, arm), "reached") > mot_json_get_count(cell_of(c, best), "reached"))
            best = arm;
    say(c, "; ");
    put_arm(c, best);
    say(c, " does in %zu of %zu", mot_json_get_count(cell_of(c, best), "reached"),
        mot_json_get_count(cell_of(c, best), "runs"));
}

/* Nobody learned: what the best of them reached, what chance gives, the likely cause and what to try. */
static void put_nothing(const struct contest *c)
{
    struct contest by = *c;
    by.kind = is_time(c) && mot_cell_figure(cell_of(c, 0), "test_accuracy") ? mot_figure_kind("test_accuracy")
                                                                            : c->kind;
    by.best = best_of(&by);
    say(c, c->arms == 1 ? "It learned nothing: " : "No arm learned anything: ");
    put_arm(c, by.best < c->arms ? by.best : 0);
    if (by.best == c->arms) {
        say(c, " has no figures.");
        return;
    }
    say(c, " ");
    put_claim(&by, by.best);
    if (strcmp(by.kind->name, "test_accuracy") == 0) put_chance(c, by.best);
    say(c, ".");
    if (*remedy_of(c, by.best)) say(c, " %s", remedy_of(c, by.best));
}

static void put_missed(const struct contest *c)
{
    bool target = strcmp(c->kind->name, "time_to_target") == 0, none = target && nobody_reached(c);
    char text[TEXT];
    say(c, none ? "No run reaches " : c->arms == 1 ? "It does not reach " : "No arm reaches ");
    if (target) say(c, "%s", target_of(c, text));
    else say(c, "an end with figures to compare");
    if (!none) say(c, c->arms == 1 ? " in most runs" : " in more than half of its runs");
    if (none) put_nearest(c);
    else if (target) put_most(c);
    say(c, ".");
}

static void put_sentence(const struct contest *c)
{
    if (all_learned_nothing(c)) {
        put_nothing(c);
        if (is_time(c) && c->best == c->arms) say(c, " "), put_missed(c);
        return;
    }
    if (c->best == c->arms) {
        put_missed(c);
    } else if (c->arms == 1) {
        put_arm(c, 0);
        say(c, " ");
        put_claim(c, 0);
        say(c, ".");
    } else if (c->best == 0) {
        first_wins(c);
    } else {
        another_wins(c);
    }
    put_rest(c);
}

/* ---- What the figures cannot tell -------------------------------------------------------------------- */

/* Whether one of the "arms" or "conditions" sets the key, or keys below it. */
static bool one_sets(const json_t *document, const char *sides, const char *key)
{
    size_t i;
    const json_t *side;
    const char *set;
    json_t *value;
    json_array_foreach(mot_json_get_list(document, sides), i, side) json_object_foreach(
        json_object_get(side, "settings"), set, value) if (strncmp(set, key, strlen(key)) == 0) return true;
    return false;
}

/* The command as it was given, without --out: another study goes elsewhere. */
static void put_command(const struct contest *c, const char *command)
{
    bool skips = false, first = true;
    while (*command) {
        size_t n = 0;
        for (bool quoted = false; command[n] && (quoted || command[n] != ' '); n++)
            if (command[n] == '\'') quoted = !quoted;
        bool out = n == 5 && strncmp(command, "--out", 5) == 0;
        if (!skips && !out && strncmp(command, "--out=", 6) != 0) {
            say(c, "%s%.*s", first ? "" : " ", (int)n, command);
            first = false;
        }
        skips = out;
        command += n + strspn(command + n, " ");
    }
}

/* If methods share one rate, the one that it suits wins, unless only the time of a run counts. */
static void put_untuned(const struct contest *c)
{
    if (strcmp(c->kind->name, "time") == 0) return;
    const char *command = mot_json_get_text(c->document, "command");
    if (c->arms < 2 || json_array_size(mot_json_get_list(c->document, "tuning")) > 0 ||
        one_sets(c->document, "arms", "optimizer") || one_sets(c->document, "conditions", "optimizer.lr") ||
        !one_sets(c->document, "arms", "method") || strncmp(command, "motley compare", 14) != 0)
        return;
    bool own = strstr(mot_json_get_text(c->document, "experiment"), "lr: auto") != NULL;
    say(c, "%s",
        own ? " Learning rates are each method's default, and not tuned for this task."
            : " All arms share one learning rate, which was not tuned for any of them.");
    say(c, " Tune them first: `");
    put_command(c, command);
    say(c, " --over optimizer.lr=2^0..2^-8 --halving%s%s`", is_time(c) ? "" : " --by ",
        is_time(c) ? "" : c->kind->name);
}

/* A time that is one or two evaluations long: the arm may have been there long before anyone looked. */
static void put_coarse(const struct contest *c)
{
    if (strcmp(c->kind->name, "time_to_target") != 0) return;
    size_t coarse = c->arms;
    for (size_t arm = 0; arm < c->arms; arm++) {
        double looks = mot_json_get_number(cell_of(c, arm), "evaluations_to_target");
        double least =
            coarse < c->arms ? mot_json_get_number(cell_of(c, coarse), "evaluations_to_target") : 3;
        if (looks < least) coarse = arm;
    }
    if (coarse == c->arms) return;
    double looks = mot_json_get_number(cell_of(c, coarse), "evaluations_to_target");
    say(c, " ");
    put_arm(c, coarse);
    say(c,
        looks < 2 ? " was there at the first evaluation, so its time is only an upper bound"
                  : " was there at the second evaluation, so the true time may be as little as half of it");
    say(c, ": evaluate more often, with a smaller evaluate.every.");
}

/* ---- The figure that decides --------------------------------------------------------------------------- */

static bool has_figure(const json_t *document, const char *figure)
{
    size_t i;
    json_t *cell;
    json_array_foreach(
        mot_json_get_list(document, "cells"), i, cell) if (mot_cell_figure(cell, figure)) return true;
    return false;
}

static const struct mot_figure_kind *judge_of(const json_t *document)
{
    static const char *const order[] = { "test_accuracy", "test_loss", "train_loss", "grad_norm", "time" };
    if (mot_study_has_targets(document)) return mot_figure_kind("time_to_target");
    /* What the arms were tuned by is what the study is about. */
    const char *tuned_by = mot_json_get_text(json_array_get(mot_json_get_list(document, "tuning"), 0), "by");
    if (has_figure(document, tuned_by)) return mot_figure_kind(tuned_by);
    for (size_t i = 0; i < MOT_COUNT(order); i++)
        if (has_figure(document, order[i])) return mot_figure_kind(order[i]);
    return NULL;
}

void mot_study_judge(json_t *document)
{
    struct contest c = { .document = document,
        .kind = judge_of(document),
        .arms = json_array_size(mot_json_get_list(document, "arms")) };
    json_t *answers = json_array(), *cell;
    size_t i, conditions = json_array_size(mot_json_get_list(document, "conditions"));
    json_object_set_new(document, "judged_by", c.kind ? json_string(c.kind->name) : json_null());
    json_array_foreach(json_object_get(document, "cells"), i, cell)
    {
        bool compared = c.kind && json_object_size(json_object_get(cell, "against")) > 0;
        const json_t *first = mot_document_cell(document, 0, mot_json_get_count(cell, "condition"));
        json_object_set_new(cell, "verdict", compared ? verdict_of(cell, first, c.kind) : json_null());
    }
    for (; c.condition < conditions && c.kind && c.arms; c.condition++) {
        c.best = best_of(&c);
        c.out = json_array();
        put_sentence(&c);
        put_coarse(&c);
        if (c.condition + 1 == conditions) put_untuned(&c);
        json_array_append_new(answers, c.out);
    }
    json_object_set_new(document, "answers", answers);
}

char *mot_answer_text(const json_t *document, size_t condition)
{
    const json_t *pieces = json_array_get(mot_json_get_list(document, "answers"), condition);
    char *text = mot_text("");
    size_t i;
    json_t *piece;
    json_array_foreach(pieces, i, piece)
    {
        const char *next =
            json_is_string(piece) ? json_string_value(piece) : mot_json_get_text(piece, "number");
        if (json_object_get(piece, "arm"))
            next = mot_document_name(document, "arms", mot_json_get_count(piece, "arm"));
        if (json_object_get(piece, "aside")) next = mot_json_get_text(piece, "aside");
        char *longer = mot_format("%s%s", text, next);
        free(text);
        text = longer;
    }
    return text;
}
