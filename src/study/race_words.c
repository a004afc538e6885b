/* race_words.c -- what a race shows: what to run, by what margin, why, and what would change it. */
#include "base/memory.h"
#include "base/words.h"
#include "report/json.h"
#include "study/answer.h"
#include "study/compare.h"
#include "study/document.h"
#include "study/race.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Figures of the race ----------------------------------------------------------------------- */

/* The median over the race's runs that reached the target; NaN where fewer than half did. */
static double median_of(const struct mot_racer *r, enum mot_figure figure)
{
    double value[MOT_RACE_SEEDS];
    size_t n = 0, known = 0;
    for (size_t s = 0; s < MOT_RACE_SEEDS; s++) {
        known += r->run[s].known;
        if (r->run[s].known && isfinite(r->run[s].value[figure])) value[n++] = r->run[s].value[figure];
    }
    return n > 0 && 2 * n >= known ? mot_stats_median(value, n) : (double)NAN;
}

static size_t runs_of(const struct mot_racer *r, size_t *reached_out)
{
    size_t n = 0;
    *reached_out = 0;
    for (size_t s = 0; s < MOT_RACE_SEEDS; s++) n += r->run[s].known, *reached_out += r->run[s].reached;
    return n;
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

/* ---- Sentences ------------------------------------------------------------------------------------ */

/* "1.4 times faster [1.2, 1.7]", to be followed by "than"; no number if the other mostly never got there. */
static char *margin_text(const struct mot_comparison *c)
{
    if (!isfinite(c->ratio)) return mot_text("faster (no ratio: the other mostly missed the target)");
    if (!isfinite(c->high)) return mot_format("%.2f times faster (at least %.2f)", c->ratio, c->low);
    return mot_format("%.2f times faster [%.2f, %.2f]", c->ratio, c->low, c->high);
}

static struct mot_way way_of(const struct mot_racer *r)
{
    return (struct mot_way){ median_of(r, MOT_FIGURE_TIME_TO_TARGET),
        median_of(r, MOT_FIGURE_UPDATES_TO_TARGET), median_of(r, MOT_FIGURE_UTILISATION) };
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

/* What the best method would be after a change. With three seeds only what all of them say counts. */
static json_t *change_json(
    const struct mot_race *o, size_t change, const struct mot_racer *const *order, size_t n)
{
    const struct mot_race_change *c = &mot_race_changes[change];
    const struct mot_racer *lead = order[0], *best = lead;
    bool known = !o->refuses[change];
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < MOT_RACE_CHANGED; s++) known &= order[i]->changed[change][s].known;
    for (size_t i = 1; i < n && known; i++)
        if (changed_median(order[i], change) < changed_median(best, change)) best = order[i];
    size_t wins = 0;
    for (size_t s = 0; s < MOT_RACE_CHANGED; s++)
        wins += changed_time(best, change, s) < changed_time(lead, change, s);
    double mine = known ? changed_median(lead, change) : (double)NAN,
           other = known ? changed_median(best, change) : (double)NAN;
    const char *outcome = o->refuses[change]              ? "not possible"
        : !known                                          ? "not tried"
        : !isfinite(other)                                ? "nobody"
        : best == lead                                    ? "stays"
        : wins == MOT_RACE_CHANGED && mine / other > 1.05 ? "changes"
                                                          : "open";
    char *text = strcmp(outcome, "changes") == 0 ? isfinite(mine)
            ? mot_format(
                  "%s: %s would be %.2f times faster than %s", c->words, best->name, mine / other, lead->name)
            : mot_format("%s: %s would get there, %s would not", c->words, best->name, lead->name)
        : strcmp(outcome, "stays") == 0 ? mot_format("%s: %s stays the fastest", c->words, lead->name)
        : strcmp(outcome, "nobody") == 0
        ? mot_format("%s: none of them would reach the target in time", c->words)
        : strcmp(outcome, "open") == 0 ? mot_format("%s: %s and %s cannot be told apart in %d runs", c->words,
                                             lead->name, best->name, MOT_RACE_CHANGED)
        : strcmp(outcome, "not tried") == 0 ? mot_format("%s: not tried, the budget ran out", c->words)
                                            : mot_format("%s: not possible with this experiment", c->words);
    json_t *all = json_pack("{s:s, s:s, s:s, s:s, s:s?, s:o, s:o, s:s}", "change", c->words, "key", c->key,
        "value", c->value, "outcome", outcome, "best", known && isfinite(other) ? best->name : NULL, "time_s",
        mot_json_number(mine), "best_time_s", mot_json_number(other), "text", text);
    free(text);
    return all;
}

/* ---- The parts -------------------------------------------------------------------------------------- */

static json_t *racer_json(const struct mot_race *o, const struct mot_racer *r)
{
    static const char *const stages[] = { "refused", "screened", "tuned", "raced" };
    size_t reached, runs = runs_of(r, &reached);
    bool raced = r->stage == MOT_RACE_RACED;
    const struct mot_run_figures *f = &r->best;
    return json_pack("{s:s, s:s, s:s?, s:o, s:I, s:I, s:o, s:o, s:o, s:b}", "method", r->name, "stage",
        r->stage && !r->tried ? "not tried" : stages[r->stage], "why", r->why, "lr",
        mot_json_number(r->tried ? o->lr * ldexp(1, r->rate) : (double)NAN), "runs", (json_int_t)runs,
        "reached", (json_int_t)reached, "time_to_target_s",
        mot_json_number(raced ? median_of(r, MOT_FIGURE_TIME_TO_TARGET) : (double)NAN), "test_accuracy",
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

/* The sentences of the recommendation. */
static void recommend(const struct mot_race *o, const struct mot_racer *const *order, size_t n, json_t *all)
{
    const struct mot_racer *lead = order[0];
    char target[96], time[48];
    json_t *over = json_array(), *alike = json_array();
    char *names = mot_text(""), *margin = NULL, *why = NULL;
    size_t reached, runs = runs_of(lead, &reached), alikes = 0;
    const struct mot_racer *runner_up = NULL;
    for (size_t i = 1; i < n; i++) {
        struct mot_comparison c = mot_race_compare(order[i], lead);
        json_array_append_new(over, comparison_json(order[i], &c));
        if (order[i]->out) {
            if (!runner_up) runner_up = order[i];
            continue;
        }
        char *longer = mot_format("%s%s%s", names, alikes ? ", " : "", order[i]->name);
        free(names);
        names = longer;
        alikes++;
        json_array_append_new(alike, json_string(order[i]->name));
    }
    double median = median_of(lead, MOT_FIGURE_TIME_TO_TARGET);
    char *what = isfinite(median)
        ? mot_format("%s, learning rate %.3g: %s in %s of this cluster's time (median of %zu runs)",
              lead->name, o->lr * ldexp(1, lead->rate), target_text(o, target, sizeof(target)),
              mot_figure_show(median, MOT_UNIT_SECONDS, time, sizeof(time)), runs)
        : mot_format("%s, learning rate %.3g, came nearest to %s, which %zu of %zu runs reached in time",
              lead->name, o->lr * ldexp(1, lead->rate), target_text(o, target, sizeof(target)), reached,
              runs);
    if (runner_up) {
        struct mot_comparison c = mot_race_compare(runner_up, lead);
        char *by = margin_text(&c);
        margin = c.verdict == MOT_BETTER || !isfinite(c.ratio)
            ? mot_format(
                  "%s than %s, the next that can be told apart (%zu pairs of runs)", by, runner_up->name, c.n)
            : mot_format("%s than %s, which took more than half as long again in each of %zu pairs of runs",
                  by, runner_up->name, c.n);
        free(by);
    }
    if (runner_up) why = reason_text(lead, runner_up);
    mot_json_set(all, "method", json_string(lead->name));
    mot_json_set(all, "setting", json_string(lead->setting));
    mot_json_set(all, "lr", mot_json_number(o->lr * ldexp(1, lead->rate)));
    mot_json_set(all, "time_to_target_s", mot_json_number(median));
    double updates = median_of(lead, MOT_FIGURE_UPDATES_TO_TARGET);
    mot_json_set(all, "update_s", mot_json_number(updates > 0 ? median / updates : (double)NAN));
    mot_json_set(all, "answer", json_string(what));
    mot_json_set(all, "margin", margin ? json_string(margin) : json_null());
    char *apart = !alikes ? NULL
        : runs < MOT_PAIRS_LEAST
        ? mot_format("has not been told apart from %s: %zu run%s each, and a verdict needs %d", names, runs,
              mot_plural(runs), MOT_PAIRS_LEAST)
        : mot_format("cannot be told apart from %s in %zu runs each", names, runs);
    mot_json_set(all, "undecided", apart ? json_string(apart) : json_null());
    mot_json_set(all, "reason", why ? json_string(why) : json_null());
    mot_json_set(all, "alike", alike);
    mot_json_set(all, "over", over);
    free(apart);
    free(why);
    free(margin);
    free(what);
    free(names);
}

json_t *mot_race_json(const struct mot_race *o)
{
    const struct mot_racer *order[MOT_RACE_ARMS];
    size_t n = mot_race_order(o, order, MOT_RACE_ARMS);
    json_t *all = json_object(), *racers = json_array(), *changes = json_array();
    if (n) recommend(o, order, n, all);
    for (size_t i = 0; i < n; i++) json_array_append_new(racers, racer_json(o, order[i]));
    for (size_t i = 0; i < o->racers; i++)
        if (o->racer[i].stage != MOT_RACE_RACED) json_array_append_new(racers, racer_json(o, &o->racer[i]));
    for (size_t c = 0; c < MOT_RACE_CHANGES && n && o->changes; c++)
        json_array_append_new(changes, change_json(o, c, order, n));
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
