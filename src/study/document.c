/* document.c -- a study's document: runs as figures, figures as intervals, intervals as verdicts. */
#include "base/memory.h"
#include "config/version.h"
#include "report/json.h"
#include "study/about.h"
#include "study/answer.h"
#include "study/document.h"
#include "study/figures.h"
#include "study/stats.h"
#include "study/study.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct maker {
    const struct mot_study *s;
    struct mot_run_figures *figures; /* of each run */
    /* runs by condition, arm and seed; where each cell begins among them, and the end */
    size_t *order, *begin;
    bool measured[MOT_FIGURES]; /* some run has the figure */
    double *first, *second;     /* scratch: one figure of every run */
};

static json_t *whole(uint64_t value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

static json_t *text_or_null(const char *text) { return text && *text ? mot_json_text(text) : json_null(); }

static json_t *sides(const struct mot_study_side *side, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *settings = json_object();
        for (size_t k = 0; k < side[i].settings; k++)
            json_object_set_new(settings, side[i].setting[k].key, json_string(side[i].setting[k].value));
        json_array_append_new(list, json_pack("{s:s, s:o}", "name", side[i].name, "settings", settings));
    }
    return list;
}

/* ---- Runs --------------------------------------------------------------------------------------- */

static char *failure(const struct mot_study_run *r, const struct mot_run_figures *f)
{
    if (r->failed) return mot_text(r->failed);
    if (!f->known || strcmp(f->status, "ok") == 0) return NULL;
    const char *why = strcmp(f->status, "diverged") == 0 ? "the loss became infinite or NaN"
        : strcmp(f->status, f->ended_by) == 0            ? ""
                                                         : f->ended_by;
    char *words = mot_text(f->status);
    for (char *c = words; *c; c++)
        if (*c == '_') *c = ' ';
    char *text = mot_format("%s after %.0f update%s%s%s", words, f->value[MOT_FIGURE_UPDATES],
        f->value[MOT_FIGURE_UPDATES] == 1 ? "" : "s", *why ? ": " : "", why);
    free(words);
    return text;
}

static json_t *run_json(const struct mot_study_run *r, const struct mot_run_figures *f)
{
    bool crashed = r->failed && strncmp(r->failed, "crashed", 7) == 0;
    json_t *run = json_object(), *figures = json_object();
    json_object_set_new(run, "arm", json_integer(r->arm));
    json_object_set_new(run, "condition", json_integer(r->condition));
    json_object_set_new(run, "seed", whole(r->seed));
    json_object_set_new(run, "folder", r->folder ? json_string(r->folder) : json_null());
    json_object_set_new(run, "status", json_string(f->known ? f->status : crashed ? "crashed" : "refused"));
    json_object_set_new(run, "ended_by", text_or_null(f->ended_by));
    char *failed = failure(r, f);
    json_object_set_new(run, "failed", text_or_null(failed));
    free(failed);
    json_object_set_new(run, "reached", json_boolean(f->reached));
    json_object_set_new(run, "learned",
        f->learned == MOT_LEARNED_UNKNOWN ? json_null() : json_boolean(f->learned == MOT_LEARNED));
    if (f->reread) json_object_set_new(run, "reread", json_true());
    if (f->cut) json_object_set_new(run, "cut", json_true());
    if (f->has_target && !f->reached) json_object_set_new(run, "nearest", mot_json_number(f->nearest));
    if (*f->remedy) json_object_set_new(run, "remedy", json_string(f->remedy));
    for (size_t i = 0; i < MOT_FIGURES; i++)
        json_object_set_new(figures, mot_figure_kinds[i].name, mot_json_number(f->value[i]));
    json_object_set_new(run, "figures", figures);
    return run;
}

static json_t *runs_json(const struct maker *m)
{
    json_t *list = json_array();
    for (size_t i = 0; i < m->s->runs; i++)
        json_array_append_new(list, run_json(&m->s->run[i], &m->figures[i]));
    return list;
}

static int by_seed(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static json_t *seeds_json(const struct maker *m)
{
    json_t *list = json_array();
    uint64_t *seed = mot_new(m->s->runs + 1, sizeof(*seed));
    for (size_t i = 0; i < m->s->runs; i++) seed[i] = m->s->run[i].seed;
    qsort(seed, m->s->runs, sizeof(*seed), by_seed);
    for (size_t i = 0; i < m->s->runs; i++)
        if (i == 0 || seed[i] != seed[i - 1]) json_array_append_new(list, whole(seed[i]));
    free(seed);
    return list;
}

/* The target that all runs under a condition share; EVERY: under all conditions. */
#define EVERY SIZE_MAX
static json_t *target_json(const struct maker *m, size_t condition)
{
    const struct mot_run_figures *first = NULL;
    for (size_t i = 0; i < m->s->runs; i++) {
        const struct mot_run_figures *f = &m->figures[i];
        if (!f->known || (condition != EVERY && m->s->run[i].condition != condition)) continue;
        if (!f->has_target) return json_null();
        if (!first) first = f;
        if (strcmp(first->target, f->target) != 0 || first->target_value != f->target_value)
            return json_null();
    }
    return first
        ? json_pack("{s:s, s:o}", "kind", first->target, "value", mot_json_number(first->target_value))
        : json_null();
}

static json_t *conditions_json(const struct maker *m)
{
    json_t *list = sides(m->s->condition, m->s->conditions);
    for (size_t i = 0; i < m->s->conditions; i++)
        json_object_set_new(json_array_get(list, i), "target", target_json(m, i));
    return list;
}

/* ---- Cells ---------------------------------------------------------------------------------------- */

/* A run's figure as it counts. */
static double counted(const struct maker *m, const struct mot_run_figures *f, enum mot_figure figure)
{
    return mot_figure_counted(f, figure, m->measured[figure]);
}

/* The same when compared: a failed run sent little, but that is no merit, and what a model that diverged
 * guesses right is no accuracy. */
static double compared(const struct maker *m, const struct mot_run_figures *f, enum mot_figure figure)
{
    bool failed = f->known && strcmp(f->status, "ok") != 0;
    if (failed && figure == MOT_FIGURE_BYTES) return INFINITY;
    if (failed && figure == MOT_FIGURE_TEST_ACCURACY && strcmp(f->status, "diverged") == 0 &&
        m->measured[figure])
        return 0;
    return counted(m, f, figure);
}

/* A cell's runs: places in `order`. */
struct span {
    size_t from, to;
};

static struct span cell_of(const struct maker *m, size_t arm, size_t condition)
{
    size_t cell = condition * m->s->arms + arm;
    return (struct span){ m->begin[cell], m->begin[cell + 1] };
}

static const struct mot_run_figures *figures_at(const struct maker *m, size_t place)
{
    return &m->figures[m->order[place]];
}

static uint64_t seed_at(const struct maker *m, size_t place) { return m->s->run[m->order[place]].seed; }

/* A lower bound for a median that was not reached. */
static double beyond(const struct maker *m, struct span cell)
{
    size_t n = 0;
    for (size_t i = cell.from; i < cell.to; i++) {
        double value = mot_figure_beyond(figures_at(m, i));
        if (!isnan(value)) m->first[n++] = value;
    }
    return mot_stats_median(m->first, n);
}

json_t *mot_interval_json(const struct mot_interval *i, double past)
{
    return json_pack("{s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "median", mot_json_number(i->median),
        "low", mot_json_number(i->low), "high", mot_json_number(i->high), "n", (json_int_t)i->n, "q1",
        mot_json_number(i->q1), "q3", mot_json_number(i->q3), "least", mot_json_number(i->least), "most",
        mot_json_number(i->most), "beyond", mot_json_number(past));
}

/* Whether some of the cell's runs cannot tell the figure for this target, since they went on past it. The
 * others, which missed it or met it late, differ in kind and cannot stand for all. */
static bool is_cut(const struct maker *m, struct span cell, enum mot_figure figure)
{
    if (mot_figure_kinds[figure].needs_target || !m->measured[figure]) return false;
    for (size_t i = cell.from; i < cell.to; i++)
        if (figures_at(m, i)->cut && isnan(figures_at(m, i)->value[figure])) return true;
    return false;
}

static json_t *figure_json(const struct maker *m, struct span cell, enum mot_figure figure)
{
    size_t n = 0;
    bool told = !is_cut(m, cell, figure);
    for (size_t i = cell.from; i < cell.to && told; i++) {
        double value = counted(m, figures_at(m, i), figure);
        if (!isnan(value)) m->first[n++] = value;
    }
    struct mot_interval interval = mot_stats_interval(m->first, n);
    double past = figure == MOT_FIGURE_TIME_TO_TARGET && isinf(interval.median) ? beyond(m, cell) : NAN;
    return mot_interval_json(&interval, past);
}

/* Pairs this cell's runs with the first arm's by seed, if both have the figure. */
static size_t pair_up(const struct maker *m, size_t arm, size_t condition, enum mot_figure figure)
{
    struct span mine = cell_of(m, arm, condition), other = cell_of(m, 0, condition);
    size_t n = 0;
    while (mine.from < mine.to && other.from < other.to) {
        uint64_t a = seed_at(m, other.from), b = seed_at(m, mine.from);
        if (a == b) {
            m->first[n] = compared(m, figures_at(m, other.from), figure);
            m->second[n] = compared(m, figures_at(m, mine.from), figure);
            n += !isnan(m->first[n]) && !isnan(m->second[n]);
        }
        other.from += a <= b;
        mine.from += b <= a;
    }
    return n;
}

static const char *verdict_word(enum mot_stats_verdict verdict, enum mot_figure_sense sense)
{
    switch (verdict) {
    case MOT_BETTER: return sense == MOT_SENSE_TIME ? "faster" : "better";
    case MOT_WORSE: return sense == MOT_SENSE_TIME ? "slower" : "worse";
    case MOT_ALIKE: return "not distinguishable";
    case MOT_NOT_COMPARABLE: break;
    }
    return "not comparable";
}

static char *reason(const struct mot_comparison *c, enum mot_figure figure, bool cut)
{
    if (c->verdict != MOT_NOT_COMPARABLE) return NULL;
    if (cut) return mot_text("runs that went on past this target do not tell the figure at that moment");
    if (c->n == 0) return mot_text("no pair of runs with the same seed has this figure");
    if (2 * c->neither >= c->n)
        return mot_format("in %zu of %zu pairs neither %s", c->neither, c->n,
            mot_figure_kinds[figure].needs_target ? "reached the target" : "finished");
    return mot_format("%zu pair%s of runs; a verdict needs %d", c->n, c->n == 1 ? "" : "s", MOT_PAIRS_LEAST);
}

static json_t *against_json(const struct maker *m, size_t arm, size_t condition)
{
    json_t *against = json_object();
    for (size_t figure = 0; figure < MOT_FIGURES && arm > 0 && !m->s->unjudged; figure++) {
        enum mot_figure_sense sense = mot_figure_kinds[figure].sense;
        if (sense == MOT_SENSE_NONE) continue;
        bool cut =
            is_cut(m, cell_of(m, arm, condition), figure) || is_cut(m, cell_of(m, 0, condition), figure);
        size_t n = cut ? 0 : pair_up(m, arm, condition, figure);
        struct mot_comparison c = mot_stats_compare(m->first, m->second, n, sense != MOT_SENSE_MORE);
        char *why = reason(&c, figure, cut);
        json_object_set_new(against, mot_figure_kinds[figure].name,
            json_pack("{s:o, s:o, s:o, s:I, s:s, s:o}", "ratio", mot_json_number(c.ratio), "low",
                mot_json_number(c.low), "high", mot_json_number(c.high), "n", (json_int_t)c.n, "verdict",
                verdict_word(c.verdict, sense), "reason", text_or_null(why)));
        free(why);
    }
    return against;
}

/* The worker that waited longest in most runs; the lowest if several tie. */
static json_t *worst_worker(const struct maker *m, struct span cell)
{
    const struct mot_run_figures *best = NULL;
    size_t most = 0;
    for (size_t i = cell.from; i < cell.to; i++)
        if (figures_at(m, i)->cut) return json_null();
    for (size_t i = cell.from; i < cell.to; i++) {
        double id = figures_at(m, i)->value[MOT_FIGURE_WORST_WORKER];
        size_t times = 0;
        if (isnan(id)) continue;
        for (size_t k = cell.from; k < cell.to; k++)
            times += figures_at(m, k)->value[MOT_FIGURE_WORST_WORKER] == id;
        if (best && (times < most || (times == most && id >= best->value[MOT_FIGURE_WORST_WORKER]))) continue;
        best = figures_at(m, i);
        most = times;
    }
    if (!best) return json_null();
    return json_pack("{s:I, s:o, s:I}", "id", (json_int_t)best->value[MOT_FIGURE_WORST_WORKER], "name",
        text_or_null(best->worst_name), "runs", (json_int_t)most);
}

/* How many evaluations it took to meet the target: the median over runs that met it. */
static json_t *evaluations_json(const struct maker *m, struct span cell)
{
    size_t n = 0;
    for (size_t i = cell.from; i < cell.to; i++)
        if (!isnan(figures_at(m, i)->evaluations)) m->first[n++] = figures_at(m, i)->evaluations;
    return mot_json_number(mot_stats_median(m->first, n));
}

/* Chance is the same for all runs on the same rows; if seeds choose the rows, this is the median. */
static json_t *chance_json(const struct maker *m, struct span cell)
{
    size_t n = 0;
    for (size_t i = cell.from; i < cell.to; i++)
        if (!isnan(figures_at(m, i)->chance)) m->first[n++] = figures_at(m, i)->chance;
    return mot_json_number(mot_stats_median(m->first, n));
}

static json_t *cell_json(const struct maker *m, size_t arm, size_t condition)
{
    struct span span = cell_of(m, arm, condition);
    json_int_t reached = 0, failed = 0, unlearned = 0;
    for (size_t i = span.from; i < span.to; i++) {
        const struct mot_run_figures *f = figures_at(m, i);
        reached += f->reached;
        unlearned += f->learned == MOT_LEARNED_NOTHING;
        failed += !f->known || strcmp(f->status, "ok") != 0;
    }
    json_t *cell = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "arm", (json_int_t)arm, "condition",
        (json_int_t)condition, "runs", (json_int_t)(span.to - span.from), "reached", reached, "failed",
        failed, "unlearned", unlearned);
    json_t *figures = json_object();
    for (size_t i = 0; i < MOT_FIGURES; i++)
        if (i != MOT_FIGURE_WORST_WORKER)
            json_object_set_new(figures, mot_figure_kinds[i].name, figure_json(m, span, i));
    json_object_set_new(cell, "figures", figures);
    json_object_set_new(cell, "against", against_json(m, arm, condition));
    json_object_set_new(cell, "worst_worker", worst_worker(m, span));
    json_object_set_new(cell, "evaluations_to_target", evaluations_json(m, span));
    json_object_set_new(cell, "chance_accuracy", chance_json(m, span));
    return cell;
}

/* ---- The whole --------------------------------------------------------------------------------------- */

static json_t *make(const struct maker *m)
{
    const struct mot_study *s = m->s;
    json_t *document = json_object(), *cells = json_array();
    json_object_set_new(document, "motley", json_string(MOT_VERSION));
    json_object_set_new(document, "title", mot_json_text(s->title));
    json_object_set_new(document, "command", mot_json_text(s->command));
    json_object_set_new(document, "experiment", mot_json_text(s->experiment));
    json_object_set_new(document, "target", target_json(m, EVERY));
    json_object_set_new(document, "arms", sides(s->arm, s->arms));
    json_object_set_new(document, "conditions", conditions_json(m));
    json_object_set_new(document, "about", mot_about_json(s->experiment, document));
    json_object_set_new(document, "seeds", seeds_json(m));
    json_object_set_new(document, "runs", runs_json(m));
    for (size_t c = 0; c < s->conditions; c++)
        for (size_t a = 0; a < s->arms; a++) json_array_append_new(cells, cell_json(m, a, c));
    json_object_set_new(document, "cells", cells);
    json_object_set_new(document, "tuning", s->tuning ? json_deep_copy(s->tuning) : json_array());
    mot_study_judge(document);
    return document;
}

struct placed {
    const struct mot_study_run *run;
    size_t at;
};

int mot_study_run_order(const void *a, const void *b)
{
    const struct mot_study_run *p = a, *q = b;
    if (p->condition != q->condition) return p->condition < q->condition ? -1 : 1;
    if (p->arm != q->arm) return p->arm < q->arm ? -1 : 1;
    return (p->seed > q->seed) - (p->seed < q->seed);
}

static int by_cell(const void *a, const void *b)
{
    return mot_study_run_order(((const struct placed *)a)->run, ((const struct placed *)b)->run);
}

static void put_in_order(struct maker *m)
{
    const struct mot_study *s = m->s;
    size_t cells = s->arms * s->conditions, cell = 0;
    struct placed *placed = mot_new(s->runs + 1, sizeof(*placed));
    for (size_t i = 0; i < s->runs; i++) placed[i] = (struct placed){ &s->run[i], i };
    qsort(placed, s->runs, sizeof(*placed), by_cell);
    m->order = mot_new(s->runs + 1, sizeof(*m->order));
    m->begin = mot_new(cells + 2, sizeof(*m->begin));
    for (size_t i = 0; i < s->runs; i++) {
        m->order[i] = placed[i].at;
        size_t mine = placed[i].run->condition * s->arms + placed[i].run->arm;
        while (cell < mine) m->begin[++cell] = i;
    }
    while (cell < cells) m->begin[++cell] = s->runs;
    free(placed);
}

enum mot_status mot_study_document(const struct mot_study *s, json_t **out)
{
    struct maker m = { .s = s,
        .figures = mot_new(s->runs + 1, sizeof(*m.figures)),
        .first = mot_new(s->runs + 1, sizeof(*m.first)),
        .second = mot_new(s->runs + 1, sizeof(*m.second)) };
    enum mot_status status = MOT_OK;
    put_in_order(&m);
    for (size_t i = 0; i < s->runs && status == MOT_OK; i++)
        status = mot_figures_read(s->run[i].folder, s->run[i].goal, &m.figures[i]);
    for (size_t i = 0; i < s->runs; i++)
        for (size_t k = 0; k < MOT_FIGURES; k++)
            m.measured[k] |= m.figures[i].known && !isnan(m.figures[i].value[k]);
    if (status == MOT_OK) *out = make(&m);
    free(m.begin);
    free(m.order);
    free(m.second);
    free(m.first);
    free(m.figures);
    return status;
}
