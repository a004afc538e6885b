/* race_words.c -- what a race shows: what to run, by what margin, why, and what would change it. */
#include "base/memory.h"
#include "base/words.h"
#include "report/json.h"
#include "report/tally.h"
#include "study/answer.h"
#include "study/compare.h"
#include "study/document.h"
#include "study/race.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHANGED_BY 1.05 /* a smaller lead after a change counts as none */

/* ---- Figures of the race ----------------------------------------------------------------------- */

double mot_race_median(const struct mot_racer *r, enum mot_figure figure)
{
    double value[MOT_RACE_SEEDS];
    size_t n = 0;
    for (size_t s = 0; s < MOT_RACE_SEEDS; s++) {
        double counted = mot_figure_counted(&r->run[s], figure, false);
        if (!isnan(counted)) value[n++] = counted;
    }
    return mot_stats_median(value, n);
}

size_t mot_race_reached(const struct mot_racer *r, size_t *runs_out)
{
    size_t reached = 0;
    *runs_out = 0;
    for (size_t s = 0; s < MOT_RACE_SEEDS; s++) *runs_out += r->run[s].known, reached += r->run[s].reached;
    return reached;
}

bool mot_race_arrived(const struct mot_race *o)
{
    size_t runs;
    for (size_t i = 0; i < o->racers; i++)
        if (o->racer[i].stage == MOT_RACE_RACED && mot_race_reached(&o->racer[i], &runs) > 0) return true;
    return false;
}

static json_t *target_json(const struct mot_race *o)
{
    static const char *const kinds[] = { "none", "train_loss", "test_accuracy", "grad_norm" };
    return json_pack("{s:s, s:o, s:b}", "kind", kinds[o->target], "value", mot_json_number(o->target_value),
        "given", o->target_given);
}

static char *target_text(const struct mot_race *o, char *into, size_t size)
{
    json_t *target = target_json(o);
    mot_answer_target(target, into, size);
    json_decref(target);
    return into;
}

const char mot_race_incomplete[] =
    "the budget ran out; the same command continues, with a larger --budget if you give one";

/* ---- Sentences ------------------------------------------------------------------------------------ */

/* "1.41 times (1.11 to 1.62; median of 10 pairs of runs) as fast as async": the pairs' median need not be the
 * ratio of the medians. No number if the other mostly never got there. */
static char *margin_text(const struct mot_comparison *c, const char *name)
{
    char ratio[32], low[32], high[32];
    if (!isfinite(c->ratio))
        return mot_format(
            "faster than %s (no ratio: it missed the target in half of %zu pairs of runs or more)", name,
            c->n);
    mot_figure_show(c->ratio, MOT_UNIT_RATIO, ratio, sizeof(ratio));
    mot_figure_show(c->low, MOT_UNIT_RATIO, low, sizeof(low));
    if (!isfinite(c->high))
        return mot_format(
            "%s times (at least %s; median of %zu pairs of runs) as fast as %s", ratio, low, c->n, name);
    return mot_format("%s times (%s to %s; median of %zu pairs of runs) as fast as %s", ratio, low,
        mot_figure_show(c->high, MOT_UNIT_RATIO, high, sizeof(high)), c->n, name);
}

static struct mot_way way_of(const struct mot_racer *r)
{
    return (struct mot_way){ mot_race_median(r, MOT_FIGURE_TIME_TO_TARGET),
        mot_race_median(r, MOT_FIGURE_UPDATES_TO_TARGET), mot_race_median(r, MOT_FIGURE_UTILISATION) };
}

static char *reason_text(const struct mot_racer *a, const struct mot_racer *b)
{
    return mot_why(way_of(a), way_of(b), b->name);
}

static double changed_time(const struct mot_racer *r, size_t change, size_t seed)
{
    const struct mot_run_figures *f = &r->changed[change][seed];
    return f->known && strcmp(f->status, "ok") == 0 && f->reached ? f->value[MOT_FIGURE_TIME_TO_TARGET]
                                                                  : INFINITY;
}

static double changed_median(const struct mot_racer *r, size_t change)
{
    double value[MOT_RACE_CHANGED];
    for (size_t s = 0; s < MOT_RACE_CHANGED; s++) value[s] = changed_time(r, change, s);
    return mot_stats_median(value, MOT_RACE_CHANGED);
}

/* With three seeds only what all of them say counts, and only if it is worth something. */
static bool clearly_faster(const struct mot_racer *a, const struct mot_racer *b, size_t change)
{
    for (size_t s = 0; s < MOT_RACE_CHANGED; s++)
        if (!(changed_time(a, change, s) < changed_time(b, change, s))) return false;
    return changed_median(b, change) > CHANGED_BY * changed_median(a, change);
}

/* Those that are not clearly slower than the best. malloc'd. */
static char *close_text(
    const struct mot_racer *best, const struct mot_racer *const *order, size_t n, size_t change)
{
    const char *name[MOT_RACE_ARMS];
    size_t close = 0;
    for (size_t i = 0; i < n; i++)
        if (!clearly_faster(best, order[i], change)) name[close++] = order[i]->name;
    return mot_list_words(name, close);
}

enum outcome { STAYS, CHANGES, OPEN, NOBODY, NOT_TRIED, NOT_POSSIBLE };

static char *change_text(enum outcome outcome, size_t change, const struct mot_racer *best,
    const struct mot_racer *const *order, size_t n)
{
    const char *words = mot_race_changes[change].words, *lead = order[0]->name;
    double mine = changed_median(order[0], change), other = changed_median(best, change);
    char *close, *text;
    switch (outcome) {
    case STAYS: return mot_format("%s: %s stays the fastest", words, lead);
    case CHANGES:
        if (isfinite(mine))
            return mot_format(
                "%s: %s would be %.2f times as fast as %s", words, best->name, mine / other, lead);
        return mot_format("%s: %s would get there, %s mostly would not", words, best->name, lead);
    case OPEN:
        close = close_text(best, order, n, change);
        text = mot_format("%s: %s cannot be told apart by %d runs each", words, close, MOT_RACE_CHANGED);
        free(close);
        return text;
    case NOBODY: return mot_format("%s: no method would reach the target in time in most of its runs", words);
    case NOT_TRIED: return mot_format("%s: not tried, the budget ran out", words);
    case NOT_POSSIBLE: break;
    }
    return mot_format("%s: not possible with this experiment", words);
}

/* What the best method would be after a change. That the leader stays so, or that another takes its place,
 * has to be as clear. */
static json_t *change_json(
    const struct mot_race *o, size_t change, const struct mot_racer *const *order, size_t n)
{
    static const char *const names[] = { "stays", "changes", "open", "nobody", "not tried", "not possible" };
    const struct mot_race_change *c = &mot_race_changes[change];
    const struct mot_racer *lead = order[0], *best = lead;
    bool known = !o->refuses[change], stays = true;
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < MOT_RACE_CHANGED; s++) known &= order[i]->changed[change][s].known;
    for (size_t i = 1; i < n && known; i++) {
        if (changed_median(order[i], change) < changed_median(best, change)) best = order[i];
        stays &= clearly_faster(lead, order[i], change);
    }
    double mine = known ? changed_median(lead, change) : (double)NAN,
           other = known ? changed_median(best, change) : (double)NAN;
    enum outcome outcome = o->refuses[change] ? NOT_POSSIBLE
        : !known                              ? NOT_TRIED
        : !isfinite(other)                    ? NOBODY
        : stays                               ? STAYS
        : clearly_faster(best, lead, change)  ? CHANGES
                                              : OPEN;
    char *text = change_text(outcome, change, best, order, n);
    json_t *all = json_pack("{s:s, s:s, s:s, s:s, s:s?, s:o, s:o, s:s}", "change", c->words, "key", c->key,
        "value", c->value, "outcome", names[outcome], "best", known && isfinite(other) ? best->name : NULL,
        "time_s", mot_json_number(mine), "best_time_s", mot_json_number(other), "text", text);
    free(text);
    return all;
}

/* ---- The parts -------------------------------------------------------------------------------------- */

/* What a median that was not reached is known to exceed, as in a study. */
static double beyond(const struct mot_racer *r)
{
    double value[MOT_RACE_SEEDS];
    size_t n = 0;
    for (size_t s = 0; s < MOT_RACE_SEEDS; s++) {
        double least = mot_figure_beyond(&r->run[s]);
        if (!isnan(least)) value[n++] = least;
    }
    return mot_stats_median(value, n);
}

static json_t *racer_json(const struct mot_race *o, const struct mot_racer *r)
{
    static const char *const stages[] = { "refused", "screened", "tuned", "raced" };
    size_t runs, reached = mot_race_reached(r, &runs);
    bool raced = r->stage == MOT_RACE_RACED;
    const struct mot_run_figures *f = &r->best;
    double median = raced ? mot_race_median(r, MOT_FIGURE_TIME_TO_TARGET) : (double)NAN;
    return json_pack("{s:s, s:s, s:s?, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:b}", "method", r->name, "stage",
        r->stage && !r->tried ? "not tried" : stages[r->stage], "why", r->why, "lr",
        mot_json_number(r->tried ? o->lr * ldexp(1, r->rate) : (double)NAN), "runs", (json_int_t)runs,
        "reached", (json_int_t)reached, "time_to_target_s", mot_json_number(median), "beyond_s",
        mot_json_number(isinf(median) ? beyond(r) : (double)NAN), "test_accuracy",
        mot_json_number(r->tried ? f->value[MOT_FIGURE_TEST_ACCURACY] : (double)NAN), "train_loss",
        mot_json_number(r->tried ? f->value[MOT_FIGURE_TRAIN_LOSS] : (double)NAN), "out", r->out);
}

static json_t *comparison_json(const struct mot_racer *other, const struct mot_comparison *c)
{
    static const char *const verdicts[] = { "faster", "slower", "not distinguishable", "not comparable" };
    return json_pack("{s:s, s:o, s:o, s:o, s:I, s:s}", "over", other->name, "ratio",
        mot_json_number(c->ratio), "low", mot_json_number(c->low), "high", mot_json_number(c->high), "pairs",
        (json_int_t)c->n, "verdict", verdicts[c->verdict]);
}

/* "async, learning rate 0.1: 85 % test accuracy in 160 ms of this cluster's time (median of 10 runs)" */
static char *answer_text(const struct mot_race *o, const struct mot_racer *lead, double median)
{
    char target[96], time[48];
    size_t runs, reached = mot_race_reached(lead, &runs);
    double lr = o->lr * ldexp(1, lead->rate);
    target_text(o, target, sizeof(target));
    if (isfinite(median))
        return mot_format("%s, learning rate %.3g: %s in %s of this cluster's time (median of %zu run%s)",
            lead->name, lr, target, mot_figure_show(median, MOT_UNIT_SECONDS, time, sizeof(time)), runs,
            mot_plural(runs));
    return mot_format(
        "%s, learning rate %.3g: it reaches %s in time in %zu of %zu runs, and no method does so in "
        "more than half of its runs",
        lead->name, lr, target, reached, runs);
}

/* "10 runs each"; "4 to 6 pairs of runs" where the budget ran out in the middle. malloc'd. */
static char *pairs_text(size_t least, size_t most)
{
    if (most == 0) return mot_text("no pair of runs");
    if (least == most) return mot_format("%zu run%s each", most, mot_plural(most));
    return mot_format("%zu to %zu pairs of runs", least, most);
}

/* How clearly the method is behind the leader. It may have dropped out behind another that led then. */
static const char *behind_words(
    const struct mot_racer *r, const struct mot_racer *lead, const struct mot_comparison *c)
{
    size_t runs, reached = mot_race_reached(r, &runs);
    if (c->verdict == MOT_BETTER) return "the next that can be told apart";
    if (!mot_race_clearly_later(r, lead)) return "which had dropped out behind another method";
    return reached < runs ? "which took more than half as long again, or missed the target, in each of them"
                          : "which took more than half as long again in each of them";
}

/* Which others can be told apart from the leader, and which cannot. */
static void put_others(const struct mot_racer *const *order, size_t n, json_t *all)
{
    const struct mot_racer *lead = order[0], *runner_up = NULL;
    const char *name[MOT_RACE_ARMS];
    json_t *over = json_array(), *alike = json_array();
    char *margin = NULL, *why = NULL, *apart = NULL;
    size_t alikes = 0, least = SIZE_MAX, most = 0;
    for (size_t i = 1; i < n; i++) {
        struct mot_comparison c = mot_race_compare(order[i], lead);
        json_array_append_new(over, comparison_json(order[i], &c));
        if (order[i]->out) {
            if (!runner_up) runner_up = order[i];
            continue;
        }
        name[alikes++] = order[i]->name;
        if (c.n < least) least = c.n;
        if (c.n > most) most = c.n;
        json_array_append_new(alike, json_string(order[i]->name));
    }
    if (runner_up) {
        struct mot_comparison c = mot_race_compare(runner_up, lead);
        char *by = margin_text(&c, runner_up->name);
        margin = mot_format("%s, %s", by, behind_words(runner_up, lead, &c));
        why = reason_text(lead, runner_up);
        free(by);
    }
    if (alikes) {
        char *names = mot_list_words(name, alikes), *pairs = pairs_text(least, most);
        apart = most < MOT_PAIRS_LEAST
            ? mot_format("has not been told apart from %s: %s, and a verdict needs %d", names, pairs,
                  MOT_PAIRS_LEAST)
            : mot_format("cannot be told apart from %s in %s", names, pairs);
        free(pairs);
        free(names);
    }
    mot_json_set(all, "margin", margin ? json_string(margin) : json_null());
    mot_json_set(all, "undecided", apart ? json_string(apart) : json_null());
    mot_json_set(all, "reason", why ? json_string(why) : json_null());
    mot_json_set(all, "alike", alike);
    mot_json_set(all, "over", over);
    free(apart);
    free(why);
    free(margin);
}

static void recommend(const struct mot_race *o, const struct mot_racer *const *order, size_t n, json_t *all)
{
    const struct mot_racer *lead = order[0];
    double median = mot_race_median(lead, MOT_FIGURE_TIME_TO_TARGET),
           updates = mot_race_median(lead, MOT_FIGURE_UPDATES_TO_TARGET);
    char *what = answer_text(o, lead, median);
    mot_json_set(all, "method", json_string(lead->name));
    mot_json_set(all, "setting", json_string(lead->setting));
    mot_json_set(all, "lr", mot_json_number(o->lr * ldexp(1, lead->rate)));
    mot_json_set(all, "time_to_target_s", mot_json_number(median));
    mot_json_set(all, "update_s", mot_json_number(updates > 0 ? median / updates : (double)NAN));
    mot_json_set(all, "answer", json_string(what));
    put_others(order, n, all);
    free(what);
}

/* "; the nearest was async, learning rate 0.1, with a test accuracy of 97.2 % (seed 3)"; "" if none is known.
 * malloc'd. */
static char *nearest_text(const struct mot_race *o, const struct mot_racer *const *order, size_t n)
{
    const struct mot_figure_kind *kind = mot_figure_kind(mot_target_name(o->target));
    const struct mot_racer *who = NULL;
    double best = NAN;
    size_t seed = 0;
    for (size_t i = 0; i < n && kind; i++)
        for (size_t s = 0; s < MOT_RACE_SEEDS; s++) {
            double mine = order[i]->run[s].known ? order[i]->run[s].nearest : (double)NAN;
            if (mot_figure_better(kind, mine, best)) who = order[i], best = mine, seed = s + 1;
        }
    if (!who) return mot_text("");
    char value[48], title[48];
    return mot_format("; the nearest was %s, learning rate %.3g, with a %s of %s (seed %zu)", who->name,
        o->lr * ldexp(1, who->rate), mot_figure_words(kind, title, sizeof(title)),
        mot_figure_show(best, kind->unit, value, sizeof(value)), seed);
}

#define NO_TARGET "no run ended with a figure to set a target by"

char *mot_race_nothing(const struct mot_race *o)
{
    char target[96];
    if (!isfinite(o->target_value)) return mot_text(NO_TARGET);
    return mot_format("no run reached %s in time", target_text(o, target, sizeof(target)));
}

/* No run reached the target, so none is better than another: how near they came, and what to try. */
static void recommend_nothing(
    const struct mot_race *o, const struct mot_racer *const *order, size_t n, json_t *all)
{
    static const char *const none[] = { "method", "setting", "lr", "time_to_target_s", "update_s", "margin",
        "undecided", "reason" };
    char target[96], time[48], *nearest = nearest_text(o, order, n);
    char *what = isfinite(o->target_value)
        ? mot_format("no run reaches %s in %s of this cluster's time%s. Try a %s stop.target, or longer "
                     "runs, with a later stop.epochs, stop.updates or stop.time",
              target_text(o, target, sizeof(target)),
              mot_figure_show(o->horizon_s, MOT_UNIT_SECONDS, time, sizeof(time)), nearest,
              o->target == MOT_TARGET_TEST_ACCURACY ? "lower" : "higher")
        : mot_text(NO_TARGET ". Try a smaller optimizer.lr, or set stop.target");
    for (size_t i = 0; i < MOT_COUNT(none); i++) mot_json_set(all, none[i], json_null());
    mot_json_set(all, "answer", json_string(what));
    mot_json_set(all, "alike", json_array());
    mot_json_set(all, "over", json_array());
    free(what);
    free(nearest);
}

json_t *mot_race_json(const struct mot_race *o)
{
    const struct mot_racer *order[MOT_RACE_ARMS];
    size_t n = mot_race_order(o, order, MOT_RACE_ARMS);
    json_t *all = json_object(), *racers = json_array(), *changes = json_array();
    if (n) (mot_race_arrived(o) ? recommend : recommend_nothing)(o, order, n, all);
    for (size_t i = 0; i < n; i++) json_array_append_new(racers, racer_json(o, order[i]));
    for (size_t i = 0; i < o->racers; i++)
        if (o->racer[i].stage != MOT_RACE_RACED) json_array_append_new(racers, racer_json(o, &o->racer[i]));
    for (size_t c = 0; c < MOT_RACE_CHANGES && n && o->changes; c++)
        if (!o->pointless[c]) json_array_append_new(changes, change_json(o, c, order, n));
    mot_json_set(all, "target", target_json(o));
    mot_json_set(all, "horizon_s", mot_json_number(o->horizon_s));
    mot_json_set(all, "methods", racers);
    mot_json_set(all, "changes", changes);
    mot_json_set(all, "complete", json_boolean(o->complete));
    return all;
}

/* ---- A study of those that raced --------------------------------------------------------------- */

enum mot_status mot_race_document(const struct mot_race *o, json_t **out)
{
    const struct mot_racer *order[MOT_RACE_ARMS];
    size_t n = mot_race_order(o, order, MOT_RACE_ARMS), runs = 0;
    struct mot_study_side arm[MOT_RACE_ARMS];
    struct mot_study_setting rate[MOT_RACE_ARMS][2];
    struct mot_study_run run[MOT_RACE_ARMS * MOT_RACE_SEEDS];
    char text[MOT_RACE_ARMS][32];
    for (size_t i = 0; i < n; i++) {
        snprintf(text[i], sizeof(text[i]), "%.6g", o->lr * ldexp(1, order[i]->rate));
        rate[i][0] = (struct mot_study_setting){ "method", order[i]->setting, "plan" };
        rate[i][1] = (struct mot_study_setting){ "optimizer.lr", text[i], "plan" };
        arm[i] = (struct mot_study_side){ order[i]->name, rate[i], 2 };
        for (size_t s = 0; s < MOT_RACE_SEEDS; s++)
            if (order[i]->run[s].known)
                run[runs++] = (struct mot_study_run){
                    .arm = (uint32_t)i, .seed = s + 1, .folder = order[i]->folder[s]
                };
    }
    qsort(run, runs, sizeof(*run), mot_study_run_order);
    const char *slash = o->experiment ? strrchr(o->experiment, '/') : NULL;
    char *shared = mot_study_shared(o->plan);
    struct mot_study study = { .title = slash ? slash + 1
            : o->experiment                   ? o->experiment
                                              : "defaults",
        .command = o->command,
        .experiment = shared,
        .arm = arm,
        .condition = o->plan->condition,
        .arms = n,
        .conditions = 1,
        .run = run,
        .runs = runs };
    enum mot_status status = mot_study_document(&study, out);
    free(shared);
    return status;
}
