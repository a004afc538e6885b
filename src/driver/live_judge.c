/* live_judge.c -- how far a live run is, and when it ends.
 *
 * The lead node (the server, or worker 0) reports its updates. When an evaluation or a
 * checkpoint is due and the judge's thread is free, it gets the model: buffers that are held,
 * and so frozen, cost the lead nothing. What is due while the thread is busy is left
 * out; the last evaluation and the last checkpoint are always made.
 *
 * Where several nodes have the model between them (servers with a range each, workers whose
 * models differ), each shows what it has at the updates at which something is due, which all know; when all
 * have, the thread gets the lot. What the clock makes due the lead asks for.
 *
 * When a run ends depends on its updates, not on when this thread gets round to them. The update that ends
 * it by stop.updates or stop.epochs is known before. With a target no evaluation is
 * left out: the lead waits rather than to be two ahead of the thread. The evaluation that meets the target
 * is the run's end, and what the nodes have done since is thrown away. */
#include "base/memory.h"
#include "driver/live.h"
#include "driver/views.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* A model to evaluate, to keep, or to end with: of one node, or of several. */
struct job {
    struct job *next;
    bool evaluates, saves, asked;
    uint64_t at;              /* several: the update at which it is due */
    uint32_t missing;         /* several: nodes that have not shown theirs yet */
    struct mot_params params; /* one: held; else x is MOT_NO_BUF */
    struct mot_copy *copy;    /* several: [nodes]; x is NULL where it is not here */
    struct mot_moment moment;
    uint64_t *draw; /* [workers] */
};

struct mot_judge {
    struct mot_live *live;
    struct mot_live_node *lead;
    struct mot_watch watch;
    const volatile sig_atomic_t *interrupt;
    struct mot_crew *crew;
    struct mot_evaluator *evaluator;
    double next, next_save; /* where the lead says what is due */
    double ticked_s;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, taken; /* there is something to do; something less is waiting */
    bool busy, closing;
    struct job *ready;  /* what waits for the thread, oldest first */
    struct job *sets;   /* several: what is not whole yet */
    struct job *final;  /* what the run ends with, where that is known before its nodes have ended */
    struct job *ending; /* several: what each ends with; moment and draws are the lead's at its end */
    bool ends_early;    /* a node has ended before live->stop_at */
    bool *lost;         /* [nodes] */
    uint32_t lasts_missing;
    struct mot_piece *piece; /* [nodes]: room for what is put together, */
    float *whole[3];         /* and for what comes of it: the model and the optimiser's buffers */
    struct mot_moment last;  /* of the last evaluation */
    char *save_error;        /* of the first checkpoint that could not be written */
    bool save_fails;         /* so did the last one: that has been said */
    atomic_bool target_met;
    mot_time target_at;
    uint64_t target_updates;
    struct mot_score target_score;
    float *best;
    struct mot_score best_score;
    uint64_t best_updates;
    const char *ended_by;
    enum mot_status status;
};

static bool several(const struct mot_judge *j) { return j->live->showing > 1; }

/* ---- How far the run is ------------------------------------------------------------------------- */

static struct mot_moment moment_of(struct mot_judge *j)
{
    struct mot_live_node *n = j->lead;
    struct mot_moment m = { .now = mot_live_now(j->live),
        .updates = n->advanced,
        .steps = n->advanced,
        .samples = mot_live_samples(n),
        .epochs = mot_live_epochs(n),
        .bytes_sent = n->tally.bytes_sent,
        .messages = n->tally.messages_sent,
        .events = n->events,
        .staleness_mean = NAN,
        .staleness_max = NAN,
        .slowest = NAN,
        .slowest_factor = NAN,
        .score = { NAN, NAN, NAN, NAN, NAN, NAN, NAN } };
    const struct mot_note_tally *stale = mot_notes_staleness(&n->notes);
    if (stale) {
        m.staleness_mean = stale->sum / (double)stale->count;
        m.staleness_max = stale->max;
    }
    return m;
}

/* Where a worker's data stands, for a checkpoint; `updates` are those
 * of the worker, or without a server of all. */
static uint64_t draw_of(struct mot_judge *j, mot_node worker, uint64_t updates)
{
    const struct mot_live *l = j->live;
    if (l->world.servers == 0) return mot_course_draw(&l->course, worker, updates);
    return (l->world.draw0 ? l->world.draw0[worker] : 0) + j->lead->seen[worker];
}

/* ---- Jobs ------------------------------------------------------------------------------------------ */

void mot_copy_free(struct mot_copy *c)
{
    free(c->x);
    for (int s = 0; s < 2; s++) free(c->slot[s]);
    *c = (struct mot_copy){ 0 };
}

static struct job *new_job(struct mot_judge *j, bool evaluates, bool saves)
{
    struct job *job = mot_new(1, sizeof(*job));
    job->evaluates = evaluates;
    job->saves = saves;
    job->draw = mot_new(j->live->world.workers, sizeof(*job->draw));
    if (several(j)) job->copy = mot_new(j->live->world.nodes, sizeof(*job->copy));
    return job;
}

static void free_job(struct mot_judge *j, struct job *job)
{
    if (job->params.x) mot_pool_drop(&j->live->pool, job->params.x);
    for (int s = 0; s < 2; s++) mot_pool_drop(&j->live->pool, job->params.slot[s]);
    for (mot_node i = 0; job->copy && i < j->live->world.nodes; i++) mot_copy_free(&job->copy[i]);
    free(job->copy);
    free(job->draw);
    free(job);
}

static void hold_params(struct mot_judge *j, struct job *job, const struct mot_params *params)
{
    job->params = *params;
    mot_pool_hold(&j->live->pool, params->x);
    for (int s = 0; s < 2; s++)
        if (params->slot[s]) mot_pool_hold(&j->live->pool, params->slot[s]);
}

/* The lead's model, as it is after this update. */
static struct job *snapshot(struct mot_judge *j, bool evaluates, bool saves)
{
    struct mot_live *l = j->live;
    struct mot_env env = {
        .self = j->lead->self, .world = &j->lead->world, .conf = l->experiment->method_conf
    };
    struct mot_view view;
    bool has = l->experiment->method->model(j->lead->state, &env, &view);
    MOT_ASSERT(has && view.scale == 1.0);
    struct job *job = new_job(j, evaluates, saves);
    job->moment = moment_of(j);
    hold_params(j, job, view.params ? view.params : &(struct mot_params){ .x = view.x });
    for (mot_node i = 0; i < l->world.workers; i++) job->draw[i] = draw_of(j, i, j->lead->advanced);
    return job;
}

/* The model that the run begins with: of a run that goes on, that of its checkpoint. */
static struct job *beginning(struct mot_judge *j)
{
    const struct mot_live *l = j->live;
    const struct mot_live_checkpoint *from = l->from;
    struct job *job = new_job(j, false, false);
    job->moment = moment_of(j);
    for (mot_node i = 0; i < l->world.workers; i++) job->draw[i] = l->world.draw0 ? l->world.draw0[i] : 0;
    if (from) {
        job->moment.now = from->now;
        job->moment.samples = from->samples;
        job->moment.epochs = (double)from->samples / l->problem->data->train.rows;
    }
    if (!from || from->models == 1) {
        struct mot_params params = { .x = l->world.x0, .step = l->world.step0 };
        for (uint32_t s = 0; s < l->world.optim->slots; s++)
            params.slot[s] = l->world.slot0[s] ? l->world.slot0[s] : l->world.zero;
        hold_params(j, job, &params);
        return job;
    }
    for (mot_node i = 0; i < from->models; i++) {
        size_t bytes = l->world.dim * sizeof(float);
        job->copy[i] = (struct mot_copy){
            .node = i, .updates = from->updates, .step = from->step, .scale = 1, .len = l->world.dim
        };
        job->copy[i].x = mot_new(1, bytes);
        memcpy(job->copy[i].x, from->model[i].x, bytes);
    }
    return job;
}

/* A model with its optimiser: where it lies. */
struct at {
    struct mot_live_params params;
    uint64_t step;
};

/* The mean of the buffers that `which` names (0: the model), in the order of the nodes. */
static const float *mean_of(struct mot_judge *j, const struct mot_copy *set, int which)
{
    struct mot_live *l = j->live;
    uint32_t n = 0;
    bool some_lost = false;
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) {
        const struct mot_copy *c = &set[i];
        const float *x = which ? c->slot[which - 1] : c->x;
        some_lost |= j->lost[i] || !c->x;
        if (x) j->piece[n++] = (struct mot_piece){ x, which ? 1 : c->scale, c->off, c->len };
    }
    const float *rest = mot_pool_at(&l->pool, which == 0 ? l->world.x0 : l->world.zero);
    if (n == 0) return rest;
    mot_pieces_mean(l->world.dim, j->piece, n, some_lost ? rest : NULL, j->whole[which]);
    return j->whole[which];
}

static struct at put_together(struct mot_judge *j, const struct mot_copy *set, bool with_slots)
{
    struct mot_live *l = j->live;
    struct at at = { .params.x = mean_of(j, set, 0), .step = UINT64_MAX };
    for (uint32_t s = 0; with_slots && s < l->world.optim->slots; s++)
        at.params.slot[s] = mean_of(j, set, 1 + (int)s);
    for (mot_node i = l->lead; i < l->lead + l->showing; i++)
        if (set[i].x && set[i].step < at.step) at.step = set[i].step;
    if (at.step == UINT64_MAX) at.step = l->world.step0;
    return at;
}

static const float *floats_of(struct mot_judge *j, mot_buf b)
{
    return b ? mot_pool_at(&j->live->pool, b) : NULL;
}

static struct at model_of(struct mot_judge *j, const struct job *job, bool with_slots)
{
    const struct mot_params *p = &job->params;
    if (!p->x) return put_together(j, job->copy, with_slots);
    return (struct at){ .params = { .x = floats_of(j, p->x),
                            .slot = { floats_of(j, p->slot[0]), floats_of(j, p->slot[1]) } },
        .step = p->step };
}

/* ---- Checkpoints ------------------------------------------------------------------------------------ */

/* Whether each worker's own model can be kept: all are here, and after the same update. */
static bool is_one_cut(const struct mot_judge *j, const struct mot_copy *set)
{
    const struct mot_live *l = j->live;
    for (mot_node i = 0; i < l->world.workers; i++)
        if (!set[i].x || set[i].updates != set[0].updates || set[i].scale != 1.0 ||
            set[i].len != l->world.dim)
            return false;
    return true;
}

static void save(struct mot_judge *j, const struct job *job, bool final)
{
    struct mot_live *l = j->live;
    bool own = l->experiment->method->decentralised && !job->params.x && is_one_cut(j, job->copy);
    struct at at = model_of(j, job, true);
    struct mot_live_checkpoint c = { .updates = job->moment.updates,
        .samples = job->moment.samples,
        .now = job->moment.now,
        .step = at.step,
        .out_of_data = final && j->lead->out_of_data,
        .draw = job->draw,
        .mark = j->watch.mark ? j->watch.mark(j->watch.self) : 0,
        .models = own ? l->world.workers : 1 };
    if (final && job == j->final && atomic_load(&j->target_met)) {
        c.target.met = true;
        c.target.score = j->target_score;
        c.target.at = j->target_at;
        c.target.updates = j->target_updates;
    }
    if (j->best && !isnan(j->best_score.valid_loss)) {
        c.best.score = j->best_score;
        c.best.updates = j->best_updates;
        c.best.x = j->best;
    }
    c.model = mot_new(c.models, sizeof(*c.model));
    c.model[0] = at.params;
    for (mot_node i = 0; own && i < c.models; i++)
        c.model[i] =
            (struct mot_live_params){ job->copy[i].x, { job->copy[i].slot[0], job->copy[i].slot[1] } };
    enum mot_status status = mot_live_save(l->checkpoint, l->hash, &l->world, &c);
    free(c.model);
    bool again = j->save_fails;
    j->save_fails = status != MOT_OK;
    if (status == MOT_OK) return;
    if (!final && !again && j->watch.trouble) j->watch.trouble(j->watch.self, mot_error());
    if (!j->save_error) j->save_error = mot_text(mot_error());
}

/* ---- A model that several nodes have between them ------------------------------------------------ */

/* What the set says of the moment: its updates are those of the node that has made the fewest. */
static void count_set(struct mot_judge *j, struct job *job)
{
    struct mot_live *l = j->live;
    uint64_t least = UINT64_MAX;
    for (mot_node i = l->lead; i < l->lead + l->showing; i++)
        if (job->copy[i].x && job->copy[i].updates < least) least = job->copy[i].updates;
    if (least != UINT64_MAX) job->moment.updates = least;
    for (mot_node i = 0; i < l->world.workers && l->world.servers == 0; i++)
        job->draw[i] = draw_of(j, i, job->copy[i].x ? job->copy[i].updates : job->moment.updates);
}

/* Whether an evaluation may not be left out: the run's end depends on it. */
static bool may_end_at(const struct mot_judge *j, const struct job *job)
{
    const struct mot_experiment *x = j->live->experiment;
    return job->evaluates && x->stop.target != MOT_TARGET_NONE && j->live->every.unit != MOT_EVERY_TIME;
}

static void append(struct mot_judge *j, struct job *job)
{
    struct job **at = &j->ready;
    while (*at) at = &(*at)->next;
    *at = job;
    pthread_cond_signal(&j->wake);
}

/* All that are to come have come; the thread takes it from here. */
static void set_is_whole(struct mot_judge *j, struct job *job)
{
    struct job **at = &j->sets;
    while (*at != job) at = &(*at)->next;
    *at = job->next;
    job->next = NULL;
    count_set(j, job);
    if (may_end_at(j, job) || (!j->busy && !j->ready)) append(j, job);
    else free_job(j, job);
}

static struct job *new_set(struct mot_judge *j, uint64_t at, bool asked, bool evaluates, bool saves)
{
    const struct mot_live *l = j->live;
    struct job *job = new_job(j, evaluates, saves);
    job->at = at;
    job->asked = asked;
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) job->missing += !j->lost[i];
    job->next = j->sets;
    j->sets = job;
    return job;
}

static struct job *set_of(struct mot_judge *j, const struct mot_copy *c)
{
    const struct mot_live *l = j->live;
    struct job *job = j->sets;
    while (job && (job->at != c->at || job->asked != c->asked)) job = job->next;
    if (job || c->asked) return job;
    return new_set(j, c->at, false, mot_course_due(&l->course, &l->every, c->at - 1) == c->at,
        l->checkpoint && mot_course_due(&l->course, &l->experiment->checkpoint, c->at - 1) == c->at);
}

static void note_moment(struct mot_judge *j, struct job *job)
{
    job->moment = moment_of(j);
    for (mot_node i = 0; i < j->live->world.workers && j->live->world.servers; i++)
        job->draw[i] = draw_of(j, i, 0);
}

static void lay_copy(struct mot_judge *j, struct job *job, const struct mot_copy *c)
{
    job->copy[c->node] = *c;
    if (c->node == j->lead->self) note_moment(j, job); /* it is the lead's own thread that is here */
}

static void put_copy(struct mot_judge *j, struct job *job, const struct mot_copy *c)
{
    lay_copy(j, job, c);
    if (--job->missing == 0) set_is_whole(j, job);
}

static float *copy_of(const float *x, uint32_t n)
{
    float *copy = mot_new(n, sizeof(*copy));
    memcpy(copy, x, n * sizeof(*copy));
    return copy;
}

static struct mot_copy copy_copy(const struct mot_copy *c)
{
    struct mot_copy twin = *c;
    twin.x = copy_of(c->x, c->len);
    for (int s = 0; s < 2; s++) twin.slot[s] = c->slot[s] ? copy_of(c->slot[s], c->len) : NULL;
    return twin;
}

static void put_last(struct mot_judge *j, const struct mot_copy *c)
{
    lay_copy(j, j->ending, c);
    j->ends_early |= c->updates < j->live->stop_at;
    if (--j->lasts_missing == 0 && j->live->world.servers) j->lead->port->end(j->lead->port);
    /* A node that has ended answers no asks any more. */
    struct job *job = j->sets;
    while (job && !job->asked) job = job->next;
    if (!job || job->copy[c->node].x) return;
    struct mot_copy twin = copy_copy(c);
    put_copy(j, job, &twin);
}

void mot_judge_take(struct mot_judge *j, struct mot_copy *c)
{
    MOT_ASSERT(c->node < j->live->world.nodes && c->x);
    pthread_mutex_lock(&j->lock);
    struct job *job = c->last ? NULL : set_of(j, c);
    if (c->last && !j->ending->copy[c->node].x) put_last(j, c);
    else if (job && !job->copy[c->node].x && !j->lost[c->node]) put_copy(j, job, c);
    else mot_copy_free(c);
    pthread_mutex_unlock(&j->lock);
}

void mot_judge_show(struct mot_judge *j, const struct mot_shown *s)
{
    const struct mot_live *l = j->live;
    struct mot_copy c = { .node = s->node,
        .last = s->last,
        .asked = s->asked,
        .at = s->at,
        .updates = s->updates,
        .step = s->step,
        .scale = s->view.scale,
        .off = s->view.len ? s->view.off : 0,
        .len = s->view.len ? s->view.len : l->world.dim };
    c.x = copy_of(mot_pool_at(&l->pool, s->view.x) + c.off, c.len);
    for (uint32_t k = 0; k < l->world.optim->slots && l->checkpoint; k++)
        if (s->slot[k]) c.slot[k] = copy_of(mot_pool_at(&l->pool, s->slot[k]) + c.off, c.len);
    mot_judge_take(j, &c);
}

void mot_judge_lost(struct mot_judge *j, mot_node node)
{
    struct mot_live *l = j->live;
    if (!several(j) || node < l->lead || node >= l->lead + l->showing) return;
    pthread_mutex_lock(&j->lock);
    if (!j->lost[node]) {
        j->lost[node] = true;
        if (!j->ending->copy[node].x) j->lasts_missing--;
        for (struct job *job = j->sets, *next; job; job = next) {
            next = job->next;
            if (!job->copy[node].x && --job->missing == 0) set_is_whole(j, job);
        }
    }
    pthread_mutex_unlock(&j->lock);
}

bool mot_judge_has_last(struct mot_judge *j, mot_node node)
{
    pthread_mutex_lock(&j->lock);
    bool has = j->lost[node] || j->ending->copy[node].x;
    pthread_mutex_unlock(&j->lock);
    return has;
}

/* Asks for a set at the lead's next update; those who have ended have answered. */
static void ask(struct mot_judge *j, bool evaluates, bool saves)
{
    struct mot_live *l = j->live;
    uint64_t at = j->lead->advanced + 1, number = atomic_load(&l->ask.number) + 1;
    struct job *job = new_set(j, at, true, evaluates, saves);
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) {
        if (!j->ending->copy[i].x || j->lost[i]) continue;
        job->copy[i] = copy_copy(&j->ending->copy[i]);
        job->missing--; /* the lead has not ended: one at least is still to come */
    }
    atomic_store(&l->ask.at, at);
    atomic_store(&l->ask.number, number);
    if (j->lead->port->ask) j->lead->port->ask(j->lead->port, number, at);
}

/* ---- The evaluating thread ----------------------------------------------------------------- */

static void keep_best(struct mot_judge *j, const struct mot_moment *m, const float *x)
{
    bool classes = j->live->problem->data->train.classes > 0;
    if (!j->best || !mot_validates_better(&m->score, &j->best_score, classes)) return;
    j->best_score = m->score;
    j->best_updates = m->updates;
    memcpy(j->best, x, j->live->world.dim * sizeof(*x));
}

static void evaluate(struct mot_judge *j, struct mot_moment *m, const float *x, bool final)
{
    const struct mot_experiment *e = j->live->experiment;
    const unsigned all = MOT_EVALUATE_TRAIN | MOT_EVALUATE_VALID | MOT_EVALUATE_TEST | MOT_EVALUATE_GRAD;
    unsigned what = MOT_EVALUATE_VALID | MOT_EVALUATE_TEST;
    if (e->evaluate.train == 0 || e->stop.target == MOT_TARGET_TRAIN_LOSS) what |= MOT_EVALUATE_TRAIN;
    if (e->evaluate.grad_norm || e->stop.target == MOT_TARGET_GRAD_NORM) what |= MOT_EVALUATE_GRAD;
    m->score = mot_evaluate(j->evaluator, x, final ? all : what);
    if (!atomic_load(&j->target_met) && mot_target_met(e, &m->score)) {
        if (!final) { /* the run ends here: its last line has all the figures */
            struct mot_score rest = mot_evaluate(j->evaluator, x, all & ~what);
            mot_score_fill(&m->score, &rest);
        }
        j->target_at = m->now;
        j->target_updates = m->updates;
        j->target_score = m->score;
        atomic_store(&j->target_met, true);
    }
    keep_best(j, m, x);
    j->last = *m;
    if (!j->watch.evaluated) return;
    pthread_mutex_lock(&j->live->watch_lock);
    j->watch.evaluated(j->watch.self, m);
    pthread_mutex_unlock(&j->live->watch_lock);
}

/* Once the target is met, what comes after it is nothing to the run. */
static void do_job(struct mot_judge *j, struct job *job)
{
    if (!j->final && job->evaluates) {
        struct mot_moment m = job->moment;
        evaluate(j, &m, model_of(j, job, false).params.x, false);
        if (atomic_load(&j->target_met)) {
            j->final = job;
            return;
        }
    }
    if (!j->final && job->saves) save(j, job, false);
    free_job(j, job);
}

static void *evaluate_main(void *p)
{
    struct mot_judge *j = p;
    pthread_mutex_lock(&j->lock);
    while (!j->closing || j->ready) {
        if (!j->ready) {
            pthread_cond_wait(&j->wake, &j->lock);
            continue;
        }
        struct job *job = j->ready;
        j->ready = job->next;
        j->busy = true;
        pthread_cond_signal(&j->taken);
        pthread_mutex_unlock(&j->lock);
        do_job(j, job);
        pthread_mutex_lock(&j->lock);
        j->busy = false;
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

/* ---- What the lead asks ----------------------------------------------------------------------- */

static void offer(struct mot_judge *j, bool evaluates, bool saves)
{
    pthread_mutex_lock(&j->lock);
    bool must = may_end_at(j, &(struct job){ .evaluates = evaluates });
    while (must && j->ready) pthread_cond_wait(&j->taken, &j->lock);
    if (must || (!j->busy && !j->ready)) append(j, snapshot(j, evaluates, saves));
    pthread_mutex_unlock(&j->lock);
}

static bool due(struct mot_judge *j, const struct mot_every *every, double *next)
{
    double done = 0;
    switch (every->unit) {
    case MOT_EVERY_UPDATES: done = (double)j->lead->advanced; break;
    case MOT_EVERY_TIME: done = (double)mot_live_now(j->live); break;
    case MOT_EVERY_EPOCHS: done = mot_live_epochs(j->lead); break;
    case MOT_EVERY_AUTO: return false;
    }
    if (done < *next) return false;
    *next = (floor(done / every->value) + 1) * every->value;
    return true;
}

static void ended_by(struct mot_judge *j, enum mot_status status, const char *by)
{
    if (j->ended_by) return;
    j->status = status;
    j->ended_by = by;
}

/* What ended nodes that end by themselves. */
static const char *own_end(const struct mot_judge *j) { return j->ends_early ? "epochs" : j->live->stop_by; }

static bool all_have_ended(struct mot_judge *j, const char **by)
{
    pthread_mutex_lock(&j->lock);
    bool all = j->lasts_missing == 0;
    *by = own_end(j);
    pthread_mutex_unlock(&j->lock);
    return all;
}

bool mot_judge_wants_end(struct mot_judge *j)
{
    const struct mot_experiment *x = j->live->experiment;
    const char *by;
    if (j->interrupt && *j->interrupt) ended_by(j, MOT_EINTERRUPTED, "interrupted");
    else if (atomic_load(&j->target_met)) ended_by(j, MOT_OK, "target");
    else if (x->stop.time != MOT_NEVER && mot_live_now(j->live) >= x->stop.time) ended_by(j, MOT_OK, "time");
    else if (several(j) && all_have_ended(j, &by)) ended_by(j, MOT_OK, by);
    return j->ended_by != NULL;
}

/* Whether the nodes know themselves when that is due. */
static bool is_known(const struct mot_judge *j, const struct mot_every *every)
{
    return every->unit == MOT_EVERY_UPDATES || (every->unit == MOT_EVERY_EPOCHS && j->live->course.known);
}

static void ask_for_what_is_due(struct mot_judge *j)
{
    const struct mot_every *checkpoint = &j->live->experiment->checkpoint;
    bool evaluates = !is_known(j, &j->live->every) && due(j, &j->live->every, &j->next);
    bool saves = j->live->checkpoint && !is_known(j, checkpoint) && due(j, checkpoint, &j->next_save);
    if (!evaluates && !saves) return;
    pthread_mutex_lock(&j->lock);
    bool under_way = j->busy || j->ready;
    for (const struct job *job = j->sets; job; job = job->next) under_way |= job->asked;
    if (!under_way) ask(j, evaluates, saves);
    pthread_mutex_unlock(&j->lock);
}

/* Where no evaluation is left out, the lead does not run away from the thread, and nobody from the lead. */
static void wait_for_thread(struct mot_judge *j)
{
    pthread_mutex_lock(&j->lock);
    while (j->ready && j->ready->next) pthread_cond_wait(&j->taken, &j->lock);
    pthread_mutex_unlock(&j->lock);
}

static void tick(struct mot_judge *j)
{
    double now = (double)mot_live_now(j->live) * 1e-9;
    if (now - j->ticked_s < 0.1) return;
    j->ticked_s = now;
    struct mot_moment m = moment_of(j);
    struct mot_pick pick = { 0 };
    for (mot_node i = 0; i < j->live->world.workers; i++) mot_pick_worker(&pick, i, j->live->job_us[i]);
    mot_pick_slowest(&pick, &m);
    pthread_mutex_lock(&j->live->watch_lock);
    j->watch.tick(j->watch.self, &m);
    pthread_mutex_unlock(&j->live->watch_lock);
}

/* Whether this update of a lead that has the whole model is the run's last. */
static bool is_last(struct mot_judge *j)
{
    const struct mot_live *l = j->live;
    if (j->lead->advanced >= l->stop_at) ended_by(j, MOT_OK, l->stop_by);
    else if (mot_live_node_done(j->lead)) ended_by(j, MOT_OK, "epochs");
    else return false;
    return true;
}

bool mot_judge_update(struct mot_judge *j)
{
    if (several(j)) {
        if (!j->lead->shown_last) ask_for_what_is_due(j);
        wait_for_thread(j);
    } else {
        if (is_last(j)) return true;
        bool evaluates = due(j, &j->live->every, &j->next);
        bool saves = j->live->checkpoint && due(j, &j->live->experiment->checkpoint, &j->next_save);
        if (evaluates || saves) offer(j, evaluates, saves);
    }
    if (j->watch.tick) tick(j);
    return mot_judge_wants_end(j);
}

/* ---- From the beginning to the end ---------------------------------------------------------------- */

static void open_several(struct mot_judge *j)
{
    const struct mot_live *l = j->live;
    j->ending = new_job(j, false, false);
    j->lost = mot_new(l->world.nodes, sizeof(*j->lost));
    j->piece = mot_new(l->showing, sizeof(*j->piece));
    for (uint32_t i = 0; i < 1 + l->world.optim->slots; i++)
        j->whole[i] = mot_aligned((size_t)l->world.dim * sizeof(float));
    j->lasts_missing = l->showing;
}

static void close_several(struct mot_judge *j)
{
    if (j->ending) free_job(j, j->ending);
    free(j->lost);
    free(j->piece);
    for (int i = 0; i < 3; i++) free(j->whole[i]);
}

static void judge_free(struct mot_judge *j)
{
    while (j->sets) {
        struct job *next = j->sets->next;
        free_job(j, j->sets);
        j->sets = next;
    }
    if (j->final) free_job(j, j->final);
    if (several(j)) close_several(j);
    mot_evaluator_close(j->evaluator);
    mot_crew_close(j->crew);
    pthread_cond_destroy(&j->wake);
    pthread_cond_destroy(&j->taken);
    pthread_mutex_destroy(&j->lock);
    free(j->save_error);
    free(j->best);
    free(j);
}

/* A run that goes on has to beat the best of what came before. */
static void open_best(struct mot_judge *j)
{
    const struct mot_live *l = j->live;
    j->best_score = (struct mot_score){ NAN, NAN, NAN, NAN, NAN, NAN, NAN };
    if (l->problem->data->valid.rows == 0) return;
    j->best = mot_aligned((size_t)l->world.dim * sizeof(float));
    if (!l->from || !l->from->best.x) return;
    j->best_score = l->from->best.score;
    j->best_updates = l->from->best.updates;
    memcpy(j->best, l->from->best.x, l->world.dim * sizeof(float));
}

/* Looks at the model that the run begins with: it may be the one that it ends with. */
static void look_at_beginning(struct mot_judge *j)
{
    struct mot_live *l = j->live;
    if (l->over) {
        j->final = beginning(j);
        ended_by(j, MOT_OK, l->over);
        if (strcmp(l->over, "target") != 0) return;
        atomic_store(&j->target_met, true);
        j->target_score = l->from->target.score;
        j->target_at = l->from->target.at;
        j->target_updates = l->from->target.updates;
        return;
    }
    struct mot_moment start = moment_of(j);
    start.now = 0; /* the nodes' clock starts with them */
    if (start.updates > 0) return;
    evaluate(j, &start, mot_pool_at(&l->pool, l->world.x0), false);
    if (atomic_load(&j->target_met)) j->final = beginning(j);
}

enum mot_status mot_judge_open(struct mot_live *l, struct mot_live_node *lead, const struct mot_watch *watch,
    const volatile sig_atomic_t *interrupt, struct mot_judge **out)
{
    const struct mot_experiment *x = l->experiment;
    struct mot_judge *j = mot_new(1, sizeof(*j));
    j->live = l;
    j->lead = lead;
    j->interrupt = interrupt;
    if (watch) j->watch = *watch;
    j->crew = mot_crew_open(1);
    j->evaluator = mot_evaluator_open(l->problem, j->crew);
    if (several(j)) open_several(j);
    j->next = l->every.value;
    j->next_save = x->checkpoint.value;
    due(j, &l->every, &j->next); /* a run that goes on is past some of them */
    due(j, &x->checkpoint, &j->next_save);
    open_best(j);
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->wake, NULL);
    pthread_cond_init(&j->taken, NULL);
    int error = pthread_create(&j->thread, NULL, evaluate_main, j);
    if (error) {
        judge_free(j);
        return mot_fail(MOT_ESYSTEM, "the thread for evaluations could not be started: %s", strerror(error));
    }
    look_at_beginning(j); /* the thread has nothing to do yet */
    *out = j;
    return MOT_OK;
}

bool mot_judge_knows_end(struct mot_judge *j) { return j->final != NULL; }

/* What the nodes ended with. */
static struct job *last_job(struct mot_judge *j)
{
    const struct mot_live *l = j->live;
    if (!several(j)) return snapshot(j, false, false);
    struct job *job = j->ending;
    j->ending = NULL;
    if (!job->copy[l->lead].x) note_moment(j, job);
    count_set(j, job);
    return job;
}

void mot_judge_close(struct mot_judge *j, struct mot_outcome *out)
{
    struct mot_live *l = j->live;
    pthread_mutex_lock(&j->lock);
    j->closing = true;
    pthread_cond_signal(&j->wake);
    pthread_mutex_unlock(&j->lock);
    pthread_join(j->thread, NULL);

    bool by_target = j->final && atomic_load(&j->target_met), knew = j->final != NULL;
    if (by_target) {
        j->status = MOT_OK;
        j->ended_by = "target";
    }
    enum mot_status status = !knew && j->lead->status != MOT_OK ? j->lead->status : j->status;
    if (!knew) j->final = last_job(j);
    const struct job *job = j->final;
    /* As in the simulator, a checkpoint knows nothing of the last
     * evaluation: a run that goes on makes its own. */
    if (l->checkpoint && !l->over && status != MOT_EDIVERGED) save(j, job, true);
    struct mot_moment m = job->moment;
    const float *x = model_of(j, job, false).params.x;
    if (!by_target || l->over) evaluate(j, &m, x, true);
    *out = (struct mot_outcome){ .status = status,
        .last = j->last,
        .workers = l->world.workers,
        .servers = l->world.servers,
        .best_score = j->best_score,
        .best_updates = j->best_updates };
    out->ended_by = status == MOT_EDIVERGED ? "diverged"
        : j->lead->out_of_data && !knew     ? "data"
        : j->ended_by                       ? j->ended_by
                                            : own_end(j);
    out->target.reached = atomic_load(&j->target_met);
    out->target.at = j->target_at;
    out->target.updates = j->target_updates;
    out->node = mot_new(l->world.nodes, sizeof(*out->node));
    out->ends_at = mot_new(l->world.nodes, sizeof(*out->ends_at));
    for (mot_node i = l->lead; i < l->lead + l->showing; i++)
        out->ends_at[i] = job->params.x ? job->moment.updates : job->copy[i].updates;
    out->x = copy_of(x, l->world.dim);
    out->model_hash = XXH64(out->x, l->world.dim * sizeof(float), 0);
    if (j->best && j->best_updates) out->best = copy_of(j->best, l->world.dim);
    if (j->save_error && out->status == MOT_OK) {
        out->status = mot_fail(MOT_ESYSTEM, "%s", j->save_error);
        out->ended_by = "checkpoint";
    }
    judge_free(j);
}
