/* tuning.c -- a grid of values for each arm under each condition, tried in full or by halving.
 *
 * Halving: n points take R = ceil(log2(n / 2)) rounds before the last, at most 4. Round r gives every
 * remaining point 2^(r - R) of the run's length (updates, epochs and time alike) and keeps the better half,
 * rounded up; the last round gives the full length to those that remain, at least two. */
#include "study/tuning.h"
#include "base/memory.h"
#include "base/words.h"
#include "report/json.h"
#include "study/document.h"
#include "study/stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MOST 4

struct point {
    struct mot_study_setting *setting;
    size_t settings;
    size_t *value; /* index into each axis */
    bool alive;
    double budget;                /* the fraction of the full length it was last tried at */
    double *score;                /* [seeds] smaller is better; INFINITY: none */
    struct mot_interval interval; /* of the figure itself */
    /* of the scores; and of how close it came to the target */
    double median, nearness;
    size_t reached, failed;
    char **folder, **why; /* [seeds] */
    struct mot_goal goal;
};

/* One arm under one condition. */
struct cell {
    size_t arm, condition;
    const struct mot_axis **axis;
    size_t axes;
    struct point *point;
    size_t points;
    /* what tuning sets at every length: it removes the target */
    struct mot_study_setting whole[2];
    size_t wholes;
    uint64_t updates;
    double epochs;
    mot_time time; /* what ends a run of full length */
    enum mot_target_kind target;
};

struct mot_tuner {
    struct mot_runner *r;
    const struct mot_tune_plan *tune;
    struct mot_arena *arena;
    struct cell *cell;
    size_t cells;
    struct mot_case *grid; /* resolved: every point at full length */
    size_t grid_n;
};

/* ---- Points ------------------------------------------------------------------------------------ */

static bool arm_sets(const struct mot_study_side *arm, const char *key)
{
    for (size_t i = 0; i < arm->settings; i++)
        if (strcmp(arm->setting[i].key, key) == 0) return true;
    return false;
}

static void make_points(struct mot_tuner *t, struct cell *c)
{
    size_t seeds = t->tune->seeds.n;
    c->points = 1;
    for (size_t i = 0; i < c->axes; i++) c->points *= c->axis[i]->values;
    c->point = mot_arena_new(t->arena, c->points * sizeof(*c->point));
    for (size_t p = 0; p < c->points; p++) {
        struct point *point = &c->point[p];
        size_t stride = c->points;
        *point = (struct point){ .alive = true, .budget = 1, .settings = c->axes };
        point->setting = mot_arena_new(t->arena, (c->axes + 1) * sizeof(*point->setting));
        point->value = mot_arena_new(t->arena, (c->axes + 1) * sizeof(*point->value));
        point->score = mot_arena_new(t->arena, seeds * sizeof(*point->score));
        point->folder = mot_arena_new(t->arena, seeds * sizeof(*point->folder));
        point->why = mot_arena_new(t->arena, seeds * sizeof(*point->why));
        for (size_t i = 0; i < c->axes; i++) {
            const struct mot_axis *axis = c->axis[i];
            stride /= axis->values;
            size_t at = point->value[i] = p / stride % axis->values;
            point->setting[i] = (struct mot_study_setting){ axis->key, axis->value[at], axis->place[at] };
        }
    }
}

/* Finds what ends the runs of this cell, and whether they can be scored. */
static enum mot_status look_at(struct mot_tuner *t, struct cell *c)
{
    struct mot_experiment *x;
    enum mot_status status =
        mot_study_plan_run(t->r->plan, c->arm, c->condition, c->point[0].setting, c->axes, NULL, &x);
    if (status != MOT_OK) return status;
    c->updates = x->stop.updates;
    c->epochs = x->stop.epochs;
    c->time = x->stop.time;
    c->target = x->stop.target;
    mot_experiment_close(x);
    if (t->tune->by == MOT_BY_TIME_TO_TARGET && c->target == MOT_TARGET_NONE)
        return mot_fail(MOT_EUSAGE,
            "tuning by time_to_target: the experiment has no stop.target; set "
            "one, or tune by test_accuracy, train_loss or grad_norm");
    if (t->tune->by != MOT_BY_TIME_TO_TARGET && c->target != MOT_TARGET_NONE)
        c->whole[c->wholes++] = (struct mot_study_setting){ "stop.target", "{}", "tune.by" };
    if (t->tune->halving && c->updates == MOT_WORD_UINT && isnan(c->epochs) && c->time == MOT_NEVER)
        return mot_fail(MOT_EUSAGE,
            "tuning by halving: expected stop.updates, stop.epochs or stop.time, since shorter runs come "
            "first; found none of them");
    return MOT_OK;
}

/* An arm that sets a key itself keeps its value. */
static enum mot_status open_cells(struct mot_tuner *t)
{
    const struct mot_study_plan *plan = t->r->plan;
    t->cells = plan->arms * plan->conditions;
    t->cell = mot_arena_new(t->arena, t->cells * sizeof(*t->cell));
    for (size_t i = 0; i < t->cells; i++) {
        struct cell *c = &t->cell[i];
        c->condition = i / plan->arms;
        c->arm = i % plan->arms;
        c->axis = mot_arena_new(t->arena, (t->tune->overs + 1) * sizeof(*c->axis));
        for (size_t k = 0; k < t->tune->overs; k++)
            if (!arm_sets(&plan->arm[c->arm], t->tune->over[k].key)) c->axis[c->axes++] = &t->tune->over[k];
        make_points(t, c);
        if (c->axes == 0) continue;
        enum mot_status status = look_at(t, c);
        if (status != MOT_OK) return status;
    }
    return MOT_OK;
}

/* ---- A round -------------------------------------------------------------------------------------- */

/* The point's settings, and those that shorten its runs. */
static struct mot_study_setting *settings_of(
    struct mot_tuner *t, const struct cell *c, const struct point *p, double budget, size_t *n_out)
{
    struct mot_study_setting *s = mot_arena_new(t->arena, (c->axes + c->wholes + 4) * sizeof(*s));
    size_t n = 0;
    for (size_t i = 0; i < c->axes; i++) s[n++] = p->setting[i];
    for (size_t i = 0; i < c->wholes; i++) s[n++] = c->whole[i];
    if (budget < 1 && c->updates != MOT_WORD_UINT) {
        double updates = ceil((double)c->updates * budget);
        s[n++] = (struct mot_study_setting){ "stop.updates",
            mot_arena_take(t->arena, mot_format("%.0f", updates)), "tune.halving" };
    }
    if (budget < 1 && !isnan(c->epochs))
        s[n++] = (struct mot_study_setting){ "stop.epochs",
            mot_arena_take(t->arena, mot_format("%.17g", c->epochs * budget)), "tune.halving" };
    if (budget < 1 && c->time != MOT_NEVER)
        s[n++] = (struct mot_study_setting){ "stop.time",
            mot_arena_take(t->arena, mot_format("%.0fns", ceil((double)c->time * budget))), "tune.halving" };
    *n_out = n;
    return s;
}

/* Cells with fewer points have fewer rounds and start later: until then their budget is 0. */
static bool takes_part(const struct mot_tuner *t, const double *budget, size_t cell)
{
    return t->cell[cell].axes && (!budget || budget[cell] > 0);
}

/* How many points are still in the running. */
static size_t points_left(const struct mot_tuner *t, const double *budget)
{
    size_t n = 0;
    for (size_t i = 0; i < t->cells; i++)
        for (size_t p = 0; p < t->cell[i].points && takes_part(t, budget, i); p++)
            n += t->cell[i].point[p].alive;
    return n;
}

/* The cases of all points that are left, seed by seed: cases of one seed have one data set. Resolved. */
static enum mot_status open_cases(
    struct mot_tuner *t, const double *budget, struct mot_case **out, size_t *n_out)
{
    size_t points = points_left(t, budget), n = points * t->tune->seeds.n, at = 0;
    struct mot_case *cases = mot_new(n + 1, sizeof(*cases));
    for (size_t i = 0; i < t->cells; i++)
        for (size_t p = 0; p < t->cell[i].points && takes_part(t, budget, i); p++) {
            const struct cell *c = &t->cell[i];
            if (!c->point[p].alive) continue;
            struct mot_case *one = &cases[at++];
            *one = (struct mot_case){ .arm = c->arm, .condition = c->condition };
            one->more = settings_of(t, c, &c->point[p], budget ? budget[i] : 1, &one->mores);
        }
    for (size_t i = 0; i < n; i++) {
        if (i >= points) cases[i] = cases[i % points];
        cases[i].seed = t->tune->seeds.seed[i / points];
    }
    *out = cases;
    *n_out = n;
    return mot_cases_resolve(t->r, cases, n, points);
}

static enum mot_figure figure_of(enum mot_tune_by by)
{
    switch (by) {
    case MOT_BY_TIME_TO_TARGET: return MOT_FIGURE_TIME_TO_TARGET;
    case MOT_BY_TEST_ACCURACY: return MOT_FIGURE_TEST_ACCURACY;
    case MOT_BY_TRAIN_LOSS: return MOT_FIGURE_TRAIN_LOSS;
    case MOT_BY_GRAD_NORM: return MOT_FIGURE_GRAD_NORM;
    }
    return MOT_FIGURE_TIME_TO_TARGET;
}

/* Smaller is closer to the target. */
static double nearness(enum mot_target_kind target, const struct mot_run_figures *f)
{
    double value = target == MOT_TARGET_TEST_ACCURACY ? -f->value[MOT_FIGURE_TEST_ACCURACY]
        : target == MOT_TARGET_GRAD_NORM              ? f->value[MOT_FIGURE_GRAD_NORM]
                                                      : f->value[MOT_FIGURE_TRAIN_LOSS];
    bool good = f->known && strcmp(f->status, "ok") == 0 && isfinite(value);
    return good ? value : INFINITY;
}

static void judge_point(
    const struct mot_tuner *t, const struct cell *c, struct point *p, const struct mot_run_figures *f)
{
    size_t seeds = t->tune->seeds.n;
    enum mot_figure figure = figure_of(t->tune->by);
    double sign = mot_figure_kinds[figure].sense == MOT_SENSE_MORE ? -1 : 1;
    double *near = mot_new(seeds, sizeof(*near)), *value = mot_new(seeds, sizeof(*value));
    size_t known = 0;
    p->reached = p->failed = 0;
    for (size_t s = 0; s < seeds; s++) {
        bool good = f[s].known && strcmp(f[s].status, "ok") == 0;
        double v = good ? f[s].value[figure] : NAN;
        p->score[s] = isnan(v) ? INFINITY : sign * v;
        near[s] = nearness(c->target, &f[s]);
        if (!isnan(v)) value[known++] = v;
        else if (t->tune->by == MOT_BY_TIME_TO_TARGET && f[s].known) value[known++] = INFINITY;
        p->reached += f[s].reached;
        p->failed += !good;
    }
    p->median = mot_stats_median(p->score, seeds);
    p->nearness = mot_stats_median(near, seeds);
    p->interval = mot_stats_interval(value, known);
    free(value);
    free(near);
}

/* Whether a did better than b: first by how many runs reached the target, if there is one (a rate that is
 * quick on a lucky half of the seeds misses it on others), then by the score, then by how close they
 * came. */
static bool beats(const struct point *a, const struct point *b)
{
    if (a->budget != b->budget) return a->budget > b->budget;
    if (a->reached != b->reached) return a->reached > b->reached;
    if (a->median != b->median) return a->median < b->median;
    return a->nearness < b->nearness;
}

static size_t rank_of(const struct cell *c, size_t p)
{
    size_t rank = 0;
    for (size_t q = 0; q < c->points; q++) {
        if (q == p || !c->point[q].alive) continue;
        bool ahead = beats(&c->point[q], &c->point[p]);
        rank += ahead || (q < p && !beats(&c->point[p], &c->point[q]));
    }
    return rank;
}

static enum mot_status take_results(struct mot_tuner *t, struct mot_case *cases, const double *budget)
{
    size_t seeds = t->tune->seeds.n, per_seed = points_left(t, budget), at = 0;
    enum mot_status status = MOT_OK;
    struct mot_run_figures *f = mot_new(seeds, sizeof(*f));
    for (size_t i = 0; i < t->cells; i++)
        for (size_t p = 0; p < t->cell[i].points && takes_part(t, budget, i); p++) {
            struct point *point = &t->cell[i].point[p];
            if (!point->alive) continue;
            for (size_t s = 0; s < seeds && status == MOT_OK; s++) {
                const struct mot_case *one = &cases[s * per_seed + at];
                status = mot_figures_read(one->folder, &one->goal, &f[s]);
                point->goal = one->goal;
                point->folder[s] = one->folder ? mot_arena_text(t->arena, one->folder) : NULL;
                point->why[s] = one->failed ? mot_arena_text(t->arena, one->failed) : NULL;
            }
            at++;
            point->budget = budget[i];
            judge_point(t, &t->cell[i], point, f);
        }
    free(f);
    return status;
}

static enum mot_status round_of(struct mot_tuner *t, const double *budget)
{
    size_t n = t->grid_n;
    struct mot_case *cases = t->grid; /* without halving there is one round, of these */
    enum mot_status status = t->tune->halving ? open_cases(t, budget, &cases, &n) : MOT_OK;
    if (status == MOT_OK) status = mot_runner_run(t->r, cases, n);
    if (status == MOT_OK) status = take_results(t, cases, budget);
    if (t->tune->halving) mot_cases_free(cases, n);
    return status;
}

/* ---- All rounds -------------------------------------------------------------------------------------- */

static size_t alive(const struct cell *c)
{
    size_t n = 0;
    for (size_t p = 0; p < c->points; p++) n += c->point[p].alive;
    return n;
}

static unsigned rounds_before_last(size_t points)
{
    unsigned rounds = 0;
    while (rounds < ROUNDS_MOST && (size_t)2 << rounds < points) rounds++;
    return rounds;
}

static void keep_half(struct cell *c)
{
    size_t keeps = (alive(c) + 1) / 2;
    bool *stays = mot_new(c->points, sizeof(*stays));
    for (size_t p = 0; p < c->points; p++) stays[p] = c->point[p].alive && rank_of(c, p) < keeps;
    for (size_t p = 0; p < c->points; p++) c->point[p].alive = stays[p];
    free(stays);
}

static enum mot_status all_rounds(struct mot_tuner *t)
{
    unsigned rounds = 0;
    for (size_t i = 0; i < t->cells && t->tune->halving; i++) {
        unsigned mine = rounds_before_last(t->cell[i].points);
        if (mine > rounds) rounds = mine;
    }
    double *budget = mot_new(t->cells, sizeof(*budget));
    enum mot_status status = MOT_OK;
    for (unsigned r = 0; r <= rounds && status == MOT_OK; r++) {
        for (size_t i = 0; i < t->cells; i++) {
            bool begun = r + rounds_before_last(t->cell[i].points) >= rounds;
            budget[i] = begun ? ldexp(1, (int)r - (int)rounds) : 0;
        }
        status = round_of(t, budget);
        for (size_t i = 0; i < t->cells && r < rounds && status == MOT_OK; i++)
            if (budget[i] > 0 && alive(&t->cell[i]) > 2) keep_half(&t->cell[i]);
    }
    free(budget);
    return status;
}

/* ---- The result ----------------------------------------------------------------------- */

static size_t best_of(const struct cell *c)
{
    for (size_t p = 0; p < c->points; p++)
        if (c->point[p].alive && rank_of(c, p) == 0) return p;
    return 0;
}

/* Whether the best value is the smallest or the largest tried, if values are numbers. */
static bool at_edge(const struct mot_axis *axis, size_t at)
{
    double best, other;
    bool least = true, most = true;
    uint64_t ns;
    for (size_t i = 0; i < axis->values; i++) {
        if (mot_read_time(axis->value[i], &ns)) other = (double)ns;
        else if (!mot_read_real(axis->value[i], &other)) return false;
        if (mot_read_time(axis->value[at], &ns)) best = (double)ns;
        else if (!mot_read_real(axis->value[at], &best)) return false;
        if (other < best) least = false;
        if (other > best) most = false;
    }
    return axis->values > 1 && (least || most);
}

static json_t *point_json(const struct mot_tuner *t, const struct cell *c, const struct point *p, bool best)
{
    json_t *values = json_object();
    for (size_t i = 0; i < c->axes; i++)
        json_object_set_new(values, p->setting[i].key, json_string(p->setting[i].value));
    return json_pack("{s:o, s:o, s:I, s:I, s:I, s:o, s:b}", "values", values, "score",
        mot_interval_json(&p->interval, NAN), "runs", (json_int_t)t->tune->seeds.n, "reached",
        (json_int_t)p->reached, "failed", (json_int_t)p->failed, "budget", mot_json_number(p->budget), "best",
        best);
}

static json_t *cell_json(const struct mot_tuner *t, const struct cell *c)
{
    json_t *over = json_array(), *seeds = json_array(), *edge = json_array(), *points = json_array();
    size_t best = best_of(c);
    for (size_t i = 0; i < c->axes; i++) {
        json_array_append_new(over, json_string(c->axis[i]->key));
        if (at_edge(c->axis[i], c->point[best].value[i]))
            json_array_append_new(edge, json_string(c->axis[i]->key));
    }
    for (size_t i = 0; i < t->tune->seeds.n; i++)
        json_array_append_new(seeds, json_integer((json_int_t)t->tune->seeds.seed[i]));
    for (size_t p = 0; p < c->points; p++)
        json_array_append_new(points, point_json(t, c, &c->point[p], p == best));
    return json_pack("{s:I, s:I, s:s, s:o, s:o, s:b, s:o, s:o}", "arm", (json_int_t)c->arm, "condition",
        (json_int_t)c->condition, "by", mot_tune_by_names[t->tune->by], "over", over, "seeds", seeds,
        "halving", t->tune->halving, "edge", edge, "points", points);
}

static void write_result(const struct mot_tuner *t, struct mot_tuning *out)
{
    size_t seeds = t->tune->seeds.n;
    out->json = json_array();
    out->best = mot_arena_new(&out->arena, t->cells * sizeof(*out->best));
    out->run = mot_arena_new(&out->arena, (t->cells * seeds + 1) * sizeof(*out->run));
    for (size_t i = 0; i < t->cells; i++) {
        const struct cell *c = &t->cell[i];
        if (c->axes == 0) continue;
        const struct point *best = &c->point[best_of(c)];
        out->best[i] = (struct mot_best){ best->setting, best->settings };
        json_array_append_new(out->json, cell_json(t, c));
        struct mot_goal *goal = mot_arena_new(&out->arena, sizeof(*goal));
        *goal = best->goal;
        for (size_t s = 0; s < seeds; s++)
            out->run[out->runs++] = (struct mot_study_run){ .arm = (uint32_t)c->arm,
                .condition = (uint32_t)c->condition,
                .seed = t->tune->seeds.seed[s],
                .folder = best->folder[s],
                .failed = best->why[s],
                .goal = goal };
    }
}

enum mot_status mot_tuning_open(struct mot_runner *r, struct mot_tuning *out)
{
    *out = (struct mot_tuning){ .best = NULL };
    struct mot_tuner *t = out->tuner = mot_new(1, sizeof(*t));
    *t = (struct mot_tuner){ .r = r, .tune = &r->plan->tune, .arena = &out->arena };
    enum mot_status status = open_cells(t);
    if (status == MOT_OK) status = open_cases(t, NULL, &t->grid, &t->grid_n);
    out->grid = t->grid_n;
    if (t->tune->halving) { /* which makes cases for its shorter runs */
        mot_cases_free(t->grid, t->grid_n);
        t->grid = NULL;
        t->grid_n = 0;
    }
    return status;
}

enum mot_status mot_tuning_run(struct mot_tuning *tuning)
{
    enum mot_status status = all_rounds(tuning->tuner);
    if (status == MOT_OK) write_result(tuning->tuner, tuning);
    return status;
}

void mot_tuning_close(struct mot_tuning *t)
{
    json_decref(t->json);
    if (t->tuner) mot_cases_free(t->tuner->grid, t->tuner->grid_n);
    free(t->tuner);
    mot_arena_free(&t->arena);
    *t = (struct mot_tuning){ .best = NULL };
}
