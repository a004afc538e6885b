#include "run/judge.h"
#include "base/memory.h"
#include "run/world.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

double mot_reached_in(const struct mot_reached *at, enum mot_every_unit unit)
{
    switch (unit) {
    case MOT_EVERY_UPDATES: return (double)at->updates;
    case MOT_EVERY_EPOCHS: return at->epochs;
    case MOT_EVERY_TIME: return (double)at->now;
    case MOT_EVERY_AUTO: return 0;
    }
    return 0;
}

double mot_multiple_after(double done, double every)
{
    double next = (floor(done / every) + 1) * every;
    return next > done && isfinite(next) ? next : nextafter(done, INFINITY);
}

bool mot_every_due(const struct mot_every *every, const struct mot_reached *at, double *next)
{
    double done = mot_reached_in(at, every->unit);
    if (every->unit == MOT_EVERY_AUTO || done < *next) return false;
    *next = mot_multiple_after(done, every->value);
    return true;
}

/* ---- The judge ---------------------------------------------------------------------------------- */

void mot_judge_open(struct mot_judge *j, const struct mot_experiment *x, const struct mot_problem *p,
    struct mot_crew *crew, const struct mot_watch *watch)
{
    *j = (struct mot_judge){ .experiment = x,
        .problem = p,
        .evaluator = mot_evaluator_open(p, crew),
        .every = mot_every_resolve(x),
        .best.score = MOT_SCORE_UNKNOWN };
    if (watch) j->watch = *watch;
    j->next_evaluation = j->every.value;
    j->next_checkpoint = x->checkpoint.value;
    if (p->data->valid.rows) j->best.x = mot_aligned_large((size_t)p->net->dim * sizeof(float));
}

void mot_judge_close(struct mot_judge *j)
{
    mot_evaluator_close(j->evaluator);
    free(j->best.x);
}

bool mot_judge_evaluation_due(struct mot_judge *j, const struct mot_reached *at)
{
    return mot_every_due(&j->every, at, &j->next_evaluation);
}

bool mot_judge_checkpoint_due(struct mot_judge *j, const struct mot_reached *at)
{
    return mot_every_due(&j->experiment->checkpoint, at, &j->next_checkpoint);
}

bool mot_score_diverged(const struct mot_net *net, const struct mot_score *score, unsigned what)
{
    if (!net->kind->computes) return false;
    return isinf(score->test_loss) || isinf(score->train_loss) ||
        ((what & MOT_EVALUATE_TRAIN) && isnan(score->train_loss));
}

static void keep_best(struct mot_judge *j, const struct mot_moment *m, const float *x)
{
    bool classes = j->problem->data->train.classes > 0;
    if (!j->best.x || !mot_validates_better(&m->score, &j->best.score, classes)) return;
    j->best.score = m->score;
    j->best.updates = m->updates;
    memcpy(j->best.x, x, j->problem->net->dim * sizeof(*x));
}

/* Rows from a source are never all there, so figures over the whole training set are left out. */
static unsigned what_of(const struct mot_judge *j, const struct mot_moment *m, bool final)
{
    unsigned whole = MOT_EVALUATE_TRAIN | MOT_EVALUATE_GRAD | MOT_EVALUATE_PARTS;
    return mot_evaluate_what(j->experiment, m, final) & ~(j->problem->streamed ? whole : 0);
}

void mot_judge_evaluate(struct mot_judge *j, struct mot_moment *m, const float *x, bool final)
{
    unsigned what = what_of(j, m, final);
    m->score = mot_evaluate(j->evaluator, x, what);
    if (!atomic_load(&j->target.met) && mot_target_met(j->experiment, &m->score)) {
        struct mot_score rest = mot_evaluate(j->evaluator, x, what_of(j, m, true) & ~what);
        mot_score_fill(&m->score, &rest);
        j->target.at = m->now;
        j->target.updates = m->updates;
        j->target.score = m->score;
        atomic_store(&j->target.met, true);
    }
    if (mot_score_diverged(j->problem->net, &m->score, what)) atomic_store(&j->diverged, true);
    keep_best(j, m, x);
    j->last = *m;
    /* If memory was refused, figures may be missing. */
    if (j->watch.evaluated && !mot_memory_refused()) j->watch.evaluated(j->watch.self, m);
}

const char *mot_judge_stop(const struct mot_judge *j, uint64_t updates, double epochs)
{
    if (updates >= j->experiment->stop.updates) return "updates";
    return epochs >= j->experiment->stop.epochs ? "epochs" : NULL;
}

bool mot_judge_decide(struct mot_judge *j, const struct mot_facts *f)
{
    if (f->memory) mot_judge_end(j, MOT_ESYSTEM, "memory");
    if (atomic_load(&j->target.met)) mot_judge_end(j, MOT_OK, "target");
    if (atomic_load(&j->diverged)) mot_judge_end(j, MOT_EDIVERGED, "diverged");
    if (f->interrupted) mot_judge_end(j, MOT_EINTERRUPTED, "interrupted");
    if (f->time) mot_judge_end(j, MOT_OK, "time");
    if (f->done) mot_judge_end(j, MOT_OK, f->done);
    return j->ended;
}

void mot_judge_overrule(struct mot_judge *j)
{
    MOT_ASSERT(atomic_load(&j->target.met));
    j->ended = true;
    j->status = MOT_OK;
    j->ended_by = "target";
}

void mot_judge_end(struct mot_judge *j, enum mot_status status, const char *by)
{
    if (j->ended) return;
    j->ended = true;
    j->status = status;
    j->ended_by = by;
}

static float *copy_of(const float *x, uint32_t dim)
{
    float *copy = mot_new_large(dim, sizeof(*copy));
    if (copy) memcpy(copy, x, dim * sizeof(*copy));
    return copy;
}

void mot_judge_outcome(
    const struct mot_judge *j, const struct mot_world *w, const float *x, struct mot_outcome *out)
{
    *out = (struct mot_outcome){ .status = j->status,
        .ended_by = j->ended_by,
        .last = j->last,
        .workers = w->workers,
        .servers = w->servers,
        .best_score = j->best.score,
        .best_updates = j->best.updates,
        .target = {
            .reached = atomic_load(&j->target.met), .at = j->target.at, .updates = j->target.updates } };
    out->x = copy_of(x, w->dim);
    if (j->best.updates) out->best = copy_of(j->best.x, w->dim);
    /* The parameters are little-endian floats; motley supports no other machine (see base/status.c). */
    if (out->x) out->model_hash = XXH64(out->x, w->dim * sizeof(float), 0);
}
