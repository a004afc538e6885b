/* jobs.c -- the models that the judge of a live run gets, and the thread that evaluates and saves them.
 *
 * When something is due and the thread is free, it gets the model: buffers that are held, and so frozen,
 * cost the lead nothing. What is due while the thread is busy is left out, unless the run may end by it.
 *
 * Where several nodes have the model between them (servers with a range each, workers whose
 * models differ), each shows what it has at the updates at which something is due, which all know; when all
 * have, the thread gets the lot. What the clock makes due the lead asks for. */
#include "live/judge.h"

#include "base/memory.h"
#include "run/judge.h"
#include "run/views.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static struct mot_judge_job *new_job(struct mot_judge *j, bool evaluates, bool saves)
{
    struct mot_judge_job *job = mot_new(1, sizeof(*job));
    job->evaluates = evaluates;
    job->saves = saves;
    job->draw = mot_new(j->live->world.workers, sizeof(*job->draw));
    if (mot_judge_several(j)) job->copy = mot_new(j->live->world.nodes, sizeof(*job->copy));
    return job;
}

static void free_job(struct mot_judge *j, struct mot_judge_job *job)
{
    if (job->params.x) mot_pool_drop(&j->live->pool, job->params.x);
    for (int s = 0; s < 2; s++) mot_pool_drop(&j->live->pool, job->params.slot[s]);
    for (mot_node i = 0; job->copy && i < j->live->world.nodes; i++) mot_copy_free(&job->copy[i]);
    free(job->copy);
    free(job->draw);
    free(job);
}

static void hold_params(struct mot_judge *j, struct mot_judge_job *job, const struct mot_params *params)
{
    job->params = *params;
    mot_pool_hold(&j->live->pool, params->x);
    for (int s = 0; s < 2; s++)
        if (params->slot[s]) mot_pool_hold(&j->live->pool, params->slot[s]);
}

/* The lead's model, as it is after this update. */
static struct mot_judge_job *snapshot(struct mot_judge *j, bool evaluates, bool saves)
{
    struct mot_live *l = j->live;
    struct mot_env env = {
        .self = j->lead->self, .world = &j->lead->world, .conf = l->experiment->method_conf
    };
    struct mot_view view;
    bool has = l->experiment->method->model(j->lead->state, &env, &view);
    MOT_ASSERT(has && view.scale == 1.0);
    struct mot_judge_job *job = new_job(j, evaluates, saves);
    job->moment = mot_judge_moment(j);
    hold_params(j, job, view.params ? view.params : &(struct mot_params){ .x = view.x });
    for (mot_node i = 0; i < l->world.workers; i++) job->draw[i] = draw_of(j, i, j->lead->advanced);
    return job;
}

/* The model that the run begins with: of a run that goes on, that of its checkpoint. */
struct mot_judge_job *mot_judge_beginning(struct mot_judge *j)
{
    const struct mot_live *l = j->live;
    const struct mot_live_checkpoint *from = l->from;
    struct mot_judge_job *job = new_job(j, false, false);
    job->moment = mot_judge_moment(j);
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

/* Puts the buffers that `which` names into j->piece, in the order of the nodes; how many. */
static uint32_t pieces_of(struct mot_judge *j, const struct mot_copy *set, int which)
{
    const struct mot_live *l = j->live;
    uint32_t n = 0;
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) {
        const struct mot_copy *c = &set[i];
        const float *x = which ? c->slot[which - 1] : c->x;
        if (x) j->piece[n++] = (struct mot_piece){ x, which ? 1 : c->scale, c->off, c->len };
    }
    return n;
}

/* The mean of the buffers that `which` names (0: the model), in the order of the nodes. */
static const float *mean_of(struct mot_judge *j, const struct mot_copy *set, int which)
{
    struct mot_live *l = j->live;
    uint32_t n = pieces_of(j, set, which);
    bool some_lost = false;
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) some_lost |= j->lost[i] || !set[i].x;
    const float *rest = mot_pool_at(&l->pool, which == 0 ? l->world.x0 : l->world.zero);
    if (n == 0) return rest;
    mot_pieces_mean(l->world.dim, j->piece, n, some_lost ? rest : NULL, j->whole[which]);
    return j->whole[which];
}

/* How far the models are from their mean; before they part they are one. */
static double spread_of(struct mot_judge *j, const struct mot_judge_job *job, const float *mean)
{
    if (job->params.x) return 0;
    return mot_pieces_spread(j->live->world.dim, j->piece, pieces_of(j, job->copy, 0), mean);
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

static struct at model_of(struct mot_judge *j, const struct mot_judge_job *job, bool with_slots)
{
    const struct mot_params *p = &job->params;
    if (!p->x) return put_together(j, job->copy, with_slots);
    return (struct at){ .params = { .x = floats_of(j, p->x),
                            .slot = { floats_of(j, p->slot[0]), floats_of(j, p->slot[1]) } },
        .step = p->step };
}

const float *mot_judge_x(struct mot_judge *j, const struct mot_judge_job *job, struct mot_moment *m)
{
    struct at at = model_of(j, job, false);
    if (j->live->experiment->method->decentralised) m->consensus = spread_of(j, job, at.params.x);
    return at.params.x;
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

void mot_judge_save(struct mot_judge *j, const struct mot_judge_job *job, bool final)
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
static void count_set(struct mot_judge *j, struct mot_judge_job *job)
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
static bool may_end_at(const struct mot_judge *j, const struct mot_judge_job *job)
{
    const struct mot_experiment *x = j->live->experiment;
    return job->evaluates && x->stop.target != MOT_TARGET_NONE && j->live->every.unit != MOT_EVERY_TIME;
}

static void append(struct mot_judge *j, struct mot_judge_job *job)
{
    struct mot_judge_job **at = &j->ready;
    while (*at) at = &(*at)->next;
    *at = job;
    pthread_cond_signal(&j->wake);
}

/* All that are to come have come; the thread takes it from here. */
static void set_is_whole(struct mot_judge *j, struct mot_judge_job *job)
{
    struct mot_judge_job **at = &j->sets;
    while (*at != job) at = &(*at)->next;
    *at = job->next;
    job->next = NULL;
    count_set(j, job);
    if (may_end_at(j, job) || (!j->busy && !j->ready)) append(j, job);
    else free_job(j, job);
}

static struct mot_judge_job *new_set(struct mot_judge *j, uint64_t at, bool asked, bool evaluates, bool saves)
{
    const struct mot_live *l = j->live;
    struct mot_judge_job *job = new_job(j, evaluates, saves);
    job->at = at;
    job->asked = asked;
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) job->missing += !j->lost[i];
    job->next = j->sets;
    j->sets = job;
    return job;
}

static struct mot_judge_job *set_of(struct mot_judge *j, const struct mot_copy *c)
{
    const struct mot_live *l = j->live;
    struct mot_judge_job *job = j->sets;
    while (job && (job->at != c->at || job->asked != c->asked)) job = job->next;
    if (job || c->asked) return job;
    return new_set(j, c->at, false, mot_course_due(&l->course, &l->every, c->at - 1) == c->at,
        l->checkpoint && mot_course_due(&l->course, &l->experiment->checkpoint, c->at - 1) == c->at);
}

static void note_moment(struct mot_judge *j, struct mot_judge_job *job)
{
    job->moment = mot_judge_moment(j);
    for (mot_node i = 0; i < j->live->world.workers && j->live->world.servers; i++)
        job->draw[i] = draw_of(j, i, 0);
}

static void lay_copy(struct mot_judge *j, struct mot_judge_job *job, const struct mot_copy *c)
{
    job->copy[c->node] = *c;
    if (c->node == j->lead->self) note_moment(j, job); /* it is the lead's own thread that is here */
}

static void put_copy(struct mot_judge *j, struct mot_judge_job *job, const struct mot_copy *c)
{
    lay_copy(j, job, c);
    if (--job->missing == 0) set_is_whole(j, job);
}

float *mot_floats_copy(const float *x, uint32_t n)
{
    float *copy = mot_new(n, sizeof(*copy));
    memcpy(copy, x, n * sizeof(*copy));
    return copy;
}

static struct mot_copy copy_copy(const struct mot_copy *c)
{
    struct mot_copy twin = *c;
    twin.x = mot_floats_copy(c->x, c->len);
    for (int s = 0; s < 2; s++) twin.slot[s] = c->slot[s] ? mot_floats_copy(c->slot[s], c->len) : NULL;
    return twin;
}

static void put_last(struct mot_judge *j, const struct mot_copy *c)
{
    lay_copy(j, j->ending, c);
    j->ends_early |= c->updates < j->live->stop_at;
    if (--j->lasts_missing == 0 && j->live->world.servers) j->lead->port->end(j->lead->port);
    /* A node that has ended answers no asks any more. */
    struct mot_judge_job *job = j->sets;
    while (job && !job->asked) job = job->next;
    if (!job || job->copy[c->node].x) return;
    struct mot_copy twin = copy_copy(c);
    put_copy(j, job, &twin);
}

void mot_judge_take(struct mot_judge *j, struct mot_copy *c)
{
    MOT_ASSERT(c->node < j->live->world.nodes && c->x);
    pthread_mutex_lock(&j->lock);
    struct mot_judge_job *job = c->last ? NULL : set_of(j, c);
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
    c.x = mot_floats_copy(mot_pool_at(&l->pool, s->view.x) + c.off, c.len);
    for (uint32_t k = 0; k < l->world.optim->slots && l->checkpoint; k++)
        if (s->slot[k]) c.slot[k] = mot_floats_copy(mot_pool_at(&l->pool, s->slot[k]) + c.off, c.len);
    mot_judge_take(j, &c);
}

void mot_judge_lost(struct mot_judge *j, mot_node node)
{
    struct mot_live *l = j->live;
    if (!mot_judge_several(j) || node < l->lead || node >= l->lead + l->showing) return;
    pthread_mutex_lock(&j->lock);
    if (!j->lost[node]) {
        j->lost[node] = true;
        if (!j->ending->copy[node].x) j->lasts_missing--;
        for (struct mot_judge_job *job = j->sets, *next; job; job = next) {
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
static void ask_for_set(struct mot_judge *j, bool evaluates, bool saves)
{
    struct mot_live *l = j->live;
    uint64_t at = j->lead->advanced + 1, number = atomic_load(&l->ask.number) + 1;
    struct mot_judge_job *job = new_set(j, at, true, evaluates, saves);
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) {
        if (!j->ending->copy[i].x || j->lost[i]) continue;
        job->copy[i] = copy_copy(&j->ending->copy[i]);
        job->missing--; /* the lead has not ended: one at least is still to come */
    }
    atomic_store(&l->ask.at, at);
    atomic_store(&l->ask.number, number);
    if (j->lead->port->ask) j->lead->port->ask(j->lead->port, number, at);
}

void mot_judge_ask(struct mot_judge *j, bool evaluates, bool saves)
{
    pthread_mutex_lock(&j->lock);
    bool under_way = j->busy || j->ready;
    for (const struct mot_judge_job *job = j->sets; job; job = job->next) under_way |= job->asked;
    if (!under_way) ask_for_set(j, evaluates, saves);
    pthread_mutex_unlock(&j->lock);
}

/* What the nodes ended with. */
struct mot_judge_job *mot_judge_last(struct mot_judge *j)
{
    const struct mot_live *l = j->live;
    if (!mot_judge_several(j)) return snapshot(j, false, false);
    struct mot_judge_job *job = j->ending;
    j->ending = NULL;
    if (!job->copy[l->lead].x) note_moment(j, job);
    count_set(j, job);
    return job;
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

void mot_judge_evaluate(struct mot_judge *j, struct mot_moment *m, const float *x, bool final)
{
    const struct mot_experiment *e = j->live->experiment;
    unsigned what = mot_evaluate_what(e, m, final);
    m->score = mot_evaluate(j->evaluator, x, what);
    if (!atomic_load(&j->target_met) && mot_target_met(e, &m->score)) {
        if (!final) { /* the run ends here: its last line has all the figures */
            struct mot_score rest = mot_evaluate(j->evaluator, x, mot_evaluate_what(e, m, true) & ~what);
            mot_score_fill(&m->score, &rest);
        }
        j->target_at = m->now;
        j->target_updates = m->updates;
        j->target_score = m->score;
        atomic_store(&j->target_met, true);
    }
    if (mot_score_diverged(j->live->problem->net, &m->score, what)) atomic_store(&j->diverged, true);
    keep_best(j, m, x);
    j->last = *m;
    if (!j->watch.evaluated) return;
    pthread_mutex_lock(&j->live->watch_lock);
    j->watch.evaluated(j->watch.self, m);
    pthread_mutex_unlock(&j->live->watch_lock);
}

/* Once the target is met, what comes after it is nothing to the run. */
static void do_job(struct mot_judge *j, struct mot_judge_job *job)
{
    if (!j->final && job->evaluates) {
        struct mot_moment m = job->moment;
        const float *x = mot_judge_x(j, job, &m);
        mot_judge_evaluate(j, &m, x, false);
        if (atomic_load(&j->target_met)) {
            j->final = job;
            return;
        }
    }
    if (!j->final && job->saves) mot_judge_save(j, job, false);
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
        struct mot_judge_job *job = j->ready;
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

void mot_judge_offer(struct mot_judge *j, bool evaluates, bool saves)
{
    pthread_mutex_lock(&j->lock);
    bool must = may_end_at(j, &(struct mot_judge_job){ .evaluates = evaluates });
    while (must && j->ready) pthread_cond_wait(&j->taken, &j->lock);
    if (must || (!j->busy && !j->ready)) append(j, snapshot(j, evaluates, saves));
    pthread_mutex_unlock(&j->lock);
}

void mot_judge_wait(struct mot_judge *j)
{
    pthread_mutex_lock(&j->lock);
    while (j->ready && j->ready->next) pthread_cond_wait(&j->taken, &j->lock);
    pthread_mutex_unlock(&j->lock);
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

int mot_jobs_open(struct mot_judge *j)
{
    if (mot_judge_several(j)) open_several(j);
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->wake, NULL);
    pthread_cond_init(&j->taken, NULL);
    return pthread_create(&j->thread, NULL, evaluate_main, j);
}

void mot_jobs_finish(struct mot_judge *j)
{
    pthread_mutex_lock(&j->lock);
    j->closing = true;
    pthread_cond_signal(&j->wake);
    pthread_mutex_unlock(&j->lock);
    pthread_join(j->thread, NULL);
}

void mot_jobs_free(struct mot_judge *j)
{
    while (j->sets) {
        struct mot_judge_job *next = j->sets->next;
        free_job(j, j->sets);
        j->sets = next;
    }
    if (j->final) free_job(j, j->final);
    if (mot_judge_several(j)) close_several(j);
    pthread_cond_destroy(&j->wake);
    pthread_cond_destroy(&j->taken);
    pthread_mutex_destroy(&j->lock);
}
