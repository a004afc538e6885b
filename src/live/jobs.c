/* jobs.c -- the models that the judge of a live run gets, and the thread that evaluates and saves them.
 *
 * When something is due and the thread is free, the thread gets the model: its buffers are held and so
 * frozen, which costs the lead nothing. What is due while the thread is busy is skipped, unless it may end
 * the run.
 *
 * If several nodes make up the model (servers with a range each, workers whose models differ), each shows
 * its own at the updates at which something is due, which all know; once complete, the set goes to the
 * thread. The lead asks for what is due by the clock, and for everything from workers that go at their own
 * pace. */
#include "live/judge.h"

#include "base/memory.h"
#include "base/stopwatch.h"
#include "run/judge.h"
#include "run/views.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOMENT_NS UINT64_C(1000000)

static uint64_t draw_at(const struct mot_live *l, mot_node worker, const struct mot_place *p)
{
    return (l->world.draw0 ? l->world.draw0[worker] : 0) + p->used + p->dropped;
}

/* Notes where the worker's source goes on. */
static void put_cursor(
    const struct mot_live *l, struct mot_live_job *job, mot_node worker, const struct mot_place *p)
{
    struct mot_mark begin = l->from && l->from->cursor ? l->from->cursor[worker] : (struct mot_mark){ 0 };
    if (!job->cursor) return;
    job->cursor[worker] = begin;
    if (p->used + p->dropped == 0) return;
    job->cursor[worker].after = p->cursor;
    job->cursor[worker].malformed += p->malformed;
    job->cursor[worker].held += p->held;
}

/* A worker's position in its data, for a checkpoint. `updates`: the worker's own, or without a server
 * everyone's. What has arrived at a server since its last update is asked for again. */
static uint64_t draw_of(struct mot_live_judge *j, mot_node worker, uint64_t updates)
{
    const struct mot_live *l = j->live;
    if (l->place) /* without a server and with models of their own, copies say it */
        return draw_at(l, worker, &j->lead->placed[worker]);
    bool counts = l->course.known || l->own_pace; /* its updates tell what it drew */
    if (l->world.servers == 0 && !l->experiment->shared_parts && counts)
        return mot_course_draw(&l->course, worker, updates);
    return (l->world.draw0 ? l->world.draw0[worker] : 0) + (j->lead->drawn ? j->lead->drawn[worker] : 0);
}

/* ---- Jobs ------------------------------------------------------------------------------------------ */

void mot_copy_free(struct mot_copy *c)
{
    free(c->x);
    free(c->moved);
    for (int s = 0; s < MOT_LIVE_SLOTS; s++) free(c->slot[s]);
    *c = (struct mot_copy){ 0 };
}

static struct mot_live_job *new_job(struct mot_live_judge *j, bool evaluates, bool saves)
{
    struct mot_live_job *job = mot_new(1, sizeof(*job));
    job->evaluates = evaluates;
    job->saves = saves;
    job->draw = mot_new(j->live->world.workers, sizeof(*job->draw));
    if (j->live->rings) job->cursor = mot_new(j->live->world.workers, sizeof(*job->cursor));
    if (mot_live_judge_several(j)) job->copy = mot_new(j->live->world.nodes, sizeof(*job->copy));
    return job;
}

/* Under the lock, unless nobody else is left. */
static void free_job(struct mot_live_judge *j, struct mot_live_job *job)
{
    if (job->params.x) mot_pool_drop(&j->live->pool, job->params.x);
    for (int s = 0; s < 2; s++) mot_pool_drop(&j->live->pool, job->params.slot[s]);
    for (int k = 0; k < MOT_KEPT_BUFFERS; k++) mot_pool_drop(&j->live->pool, job->kept.buf[k]);
    for (mot_node i = 0; job->copy && i < j->live->world.nodes; i++) mot_copy_free(&job->copy[i]);
    mot_gather_close(j, job->rests);
    free(job->copy);
    free(job->draw);
    free(job->cursor);
    free(job);
}

/* Whether the model of this job may end up in a checkpoint, which then has what workers had left to send. */
static bool has_rests(const struct mot_live_judge *j, const struct mot_live_job *job)
{
    const struct mot_live *l = j->live;
    bool may_be_last = job->evaluates && l->experiment->stop.target != MOT_TARGET_NONE;
    return l->rests && l->checkpoint && (job->saves || may_be_last);
}

static void hold_params(struct mot_live_judge *j, struct mot_live_job *job, const struct mot_params *params)
{
    job->params = *params;
    mot_pool_hold(&j->live->pool, params->x);
    for (int s = 0; s < 2; s++)
        if (params->slot[s]) mot_pool_hold(&j->live->pool, params->slot[s]);
}

static void hold_kept(struct mot_live_judge *j, struct mot_live_job *job, struct mot_kept kept)
{
    job->kept = kept;
    for (int k = 0; k < MOT_KEPT_BUFFERS; k++)
        if (kept.buf[k]) mot_pool_hold(&j->live->pool, kept.buf[k]);
}

struct mot_mixed mot_live_judge_first(struct mot_live_judge *j)
{
    const struct mot_live *l = j->live;
    struct mot_env env = mot_env_of(l->experiment, &j->lead->world, j->lead->actor.self, 0, NULL, NULL);
    struct mot_view view;
    if (l->experiment->traits.model != MOT_MODEL_OF_EACH ||
        !l->experiment->method->model(j->lead->actor.state, &env, &view))
        return (struct mot_mixed)MOT_MIXED_UNKNOWN;
    return mot_mixed_at_first(&view);
}

/* The lead's model after this update. */
static struct mot_live_job *snapshot(struct mot_live_judge *j, bool evaluates, bool saves)
{
    struct mot_live *l = j->live;
    struct mot_env env = mot_env_of(l->experiment, &j->lead->world, j->lead->actor.self, 0, NULL, NULL);
    struct mot_view view;
    bool has = l->experiment->method->model(j->lead->actor.state, &env, &view);
    MOT_ASSERT(has && view.scale == 1.0);
    struct mot_live_job *job = new_job(j, evaluates, saves);
    job->at = j->lead->actor.advanced;
    if (has_rests(j, job)) job->rests = mot_gather_open(j, &(struct mot_shown){ .at = job->at });
    job->moment = mot_live_judge_moment(j);
    job->moment.mixed = mot_live_judge_first(j);
    hold_params(j, job, view.params ? view.params : &(struct mot_params){ .x = view.x });
    if (l->checkpoint) hold_kept(j, job, mot_live_kept(j->lead));
    for (mot_node i = 0; i < l->world.workers; i++) {
        job->draw[i] = draw_of(j, i, j->lead->actor.advanced);
        if (l->place) put_cursor(l, job, i, &j->lead->placed[i]);
    }
    return job;
}

struct mot_live_job *mot_live_judge_beginning(struct mot_live_judge *j)
{
    const struct mot_live *l = j->live;
    const struct mot_live_checkpoint *from = l->from;
    struct mot_live_job *job = new_job(j, false, false);
    job->initial = true;
    if (l->rests) job->rests = mot_gather_beginning(j);
    job->moment = mot_live_judge_moment(j);
    job->moment.mixed = mot_live_judge_first(j);
    for (mot_node i = 0; i < l->world.workers; i++) {
        job->draw[i] = l->world.draw0 ? l->world.draw0[i] : 0;
        put_cursor(l, job, i, &(struct mot_place){ 0 });
    }
    if (from) {
        job->moment.now = from->now;
        job->moment.samples = from->samples;
        if (l->experiment->traits.redundant) job->moment.computed = from->computed;
        job->moment.epochs = (double)from->samples / l->problem->data->train.rows;
    }
    if (!from || from->models == 1) {
        struct mot_params params = { .x = l->world.x0, .step = l->world.step0 };
        for (uint32_t s = 0; s < l->world.optim->slots; s++)
            params.slot[s] = l->world.slot0[s] ? l->world.slot0[s] : l->world.zero;
        hold_params(j, job, &params);
        struct mot_kept nothing = { 0 };
        for (int k = 0; k < MOT_KEPT_BUFFERS; k++) nothing.buf[k] = l->world.zero;
        hold_kept(j, job, nothing);
        return job;
    }
    for (mot_node i = 0; i < from->models; i++) {
        job->copy[i] = (struct mot_copy){
            .node = i, .updates = from->updates, .step = from->step, .scale = 1, .len = l->world.dim
        };
        job->copy[i].x = mot_floats_copy(from->model[i].x, l->world.dim);
    }
    return job;
}

/* Puts the buffers selected by `which` into j->piece in node order; returns how many. */
static uint32_t pieces_of(struct mot_live_judge *j, const struct mot_copy *set, int which)
{
    const struct mot_live *l = j->live;
    uint32_t n = 0;
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) {
        const struct mot_copy *c = &set[i];
        const float *x = which ? c->slot[which - 1] : c->x;
        if (!x) continue;
        j->piece[n] = (struct mot_piece){ .x = x, .scale = 1, .off = c->off, .len = c->len };
        if (which == 0) {
            j->piece[n].scale = c->scale;
            j->piece[n].mass = c->mass;
            j->piece[n].moved = c->moved;
        }
        n++;
    }
    return n;
}

/* The mean of the buffers selected by `which` (0: the model), added in node order. */
static const float *mean_of(struct mot_live_judge *j, const struct mot_copy *set, int which)
{
    struct mot_live *l = j->live;
    uint32_t n = pieces_of(j, set, which);
    bool some_lost = false;
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) some_lost |= !set[i].x;
    const float *rest = mot_pool_at(&l->pool, which == 0 ? l->world.x0 : l->world.zero);
    if (n == 0) return rest;
    mot_pieces_mean(l->world.dim, j->piece, n, some_lost ? rest : NULL, j->whole[which]);
    return j->whole[which];
}

static struct mot_live_at put_together(struct mot_live_judge *j, const struct mot_copy *set, bool with_slots)
{
    struct mot_live *l = j->live;
    struct mot_live_at at = { .params.x = mean_of(j, set, 0), .step = UINT64_MAX };
    for (uint32_t s = 0; with_slots && s < l->slots; s++) at.params.slot[s] = mean_of(j, set, 1 + (int)s);
    for (mot_node i = l->lead; i < l->lead + l->showing; i++)
        if (set[i].x && set[i].step < at.step) at.step = set[i].step;
    if (at.step == UINT64_MAX) at.step = l->world.step0;
    return at;
}

static const float *floats_of(struct mot_live_judge *j, mot_buf b)
{
    return b ? mot_pool_at(&j->live->pool, b) : NULL;
}

struct mot_live_at mot_live_judge_model(
    struct mot_live_judge *j, const struct mot_live_job *job, bool with_slots)
{
    const struct mot_params *p = &job->params;
    uint32_t own = j->live->world.optim->slots;
    if (!p->x) return put_together(j, job->copy, with_slots);
    struct mot_live_at at = { .params.x = floats_of(j, p->x), .step = p->step };
    for (uint32_t s = 0; s < j->live->slots; s++)
        at.params.slot[s] = floats_of(j, s < own ? p->slot[s] : job->kept.buf[s - own]);
    return at;
}

const float *mot_live_judge_x(struct mot_live_judge *j, const struct mot_live_job *job, struct mot_moment *m)
{
    struct mot_live_at at = mot_live_judge_model(j, job, false);
    if (j->live->experiment->traits.model == MOT_MODEL_OF_EACH && !job->params.x)
        m->mixed = mot_pieces_mixed(j->piece, pieces_of(j, job->copy, 0), &j->live->world, at.params.x);
    return at.params.x;
}

/* ---- A model that several nodes have between them ------------------------------------------------ */

/* Steps of workers at their own pace, including those that are lost. */
static uint64_t steps_of(const struct mot_live *l, const struct mot_live_job *job)
{
    uint64_t all = 0;
    for (mot_node i = 0; i < l->world.workers; i++)
        all += job->copy[i].x ? job->copy[i].updates : atomic_load(&l->paced[i]) / 2;
    return all;
}

/* Updates of a set are those of its slowest node. */
static void count_set(struct mot_live_judge *j, struct mot_live_job *job)
{
    struct mot_live *l = j->live;
    uint64_t least = UINT64_MAX;
    for (mot_node i = l->lead; i < l->lead + l->showing; i++)
        if (job->copy[i].x && job->copy[i].updates < least) least = job->copy[i].updates;
    if (least != UINT64_MAX) job->moment.updates = least;
    if (l->own_pace) job->moment.updates = steps_of(l, job) / l->world.workers;
    for (mot_node i = 0; i < l->world.workers && l->world.servers == 0; i++) {
        job->draw[i] = l->place && job->copy[i].x
            ? draw_at(l, i, &job->copy[i].place)
            : draw_of(j, i, job->copy[i].x ? job->copy[i].updates : job->moment.updates);
        if (l->place) put_cursor(l, job, i, job->copy[i].x ? &job->copy[i].place : &j->lead->placed[i]);
    }
}

/* Whether an evaluation must not be skipped, since it may end the run. */
static bool may_end_at(const struct mot_live_judge *j, const struct mot_live_job *job)
{
    const struct mot_experiment *x = j->live->experiment;
    return job->evaluates && x->stop.target != MOT_TARGET_NONE && j->live->every.unit != MOT_EVERY_TIME;
}

static void append(struct mot_live_judge *j, struct mot_live_job *job)
{
    struct mot_live_job **at = &j->ready;
    while (*at) at = &(*at)->next;
    *at = job;
    pthread_cond_signal(&j->wake);
}

/* The set is complete: the thread takes over. */
static void set_is_whole(struct mot_live_judge *j, struct mot_live_job *job)
{
    struct mot_live_job **at = &j->sets;
    while (*at != job) at = &(*at)->next;
    *at = job->next;
    job->next = NULL;
    if (!job->asked && job->at > j->set_done) j->set_done = job->at;
    count_set(j, job);
    mot_gather_due(job->rests);
    if (may_end_at(j, job) || (!j->busy && !j->ready)) append(j, job);
    else free_job(j, job);
}

static struct mot_live_job *new_set(
    struct mot_live_judge *j, uint64_t at, bool asked, bool evaluates, bool saves)
{
    const struct mot_live *l = j->live;
    struct mot_live_job *job = new_job(j, evaluates, saves);
    job->at = at;
    job->asked = asked;
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) job->missing += !j->lost[i];
    if (has_rests(j, job)) job->rests = mot_gather_open(j, &(struct mot_shown){ .at = at, .asked = asked });
    job->next = j->sets;
    j->sets = job;
    return job;
}

static struct mot_live_job *set_of(struct mot_live_judge *j, const struct mot_copy *c)
{
    const struct mot_live *l = j->live;
    struct mot_live_job *job = j->sets;
    while (job && (job->at != c->at || job->asked != c->asked)) job = job->next;
    if (job || c->asked) return job;
    return new_set(j, c->at, false, mot_course_due(&l->course, &l->every, c->at - 1) == c->at,
        l->checkpoint && mot_course_due(&l->course, &l->experiment->checkpoint, c->at - 1) == c->at);
}

struct mot_gather *mot_live_judge_gather(struct mot_live_judge *j, const struct mot_want *w)
{
    struct mot_gather *g = mot_gather_find(j, w);
    /* the answer to one of several servers may be here before its model */
    bool early = !g && mot_live_judge_several(j) && !w->asked && !w->last && w->at > j->set_done;
    return early ? set_of(j, &(struct mot_copy){ .at = w->at })->rests : g;
}

static void note_moment(struct mot_live_judge *j, struct mot_live_job *job)
{
    job->moment = mot_live_judge_moment(j);
    for (mot_node i = 0; i < j->live->world.workers && j->live->world.servers; i++) {
        job->draw[i] = draw_of(j, i, 0);
        if (j->live->place) put_cursor(j->live, job, i, &j->lead->placed[i]);
    }
}

static void lay_copy(struct mot_live_judge *j, struct mot_live_job *job, const struct mot_copy *c)
{
    job->copy[c->node] = *c;
    if (c->node == j->lead->actor.self) note_moment(j, job); /* this is the lead's own thread */
}

static void put_copy(struct mot_live_judge *j, struct mot_live_job *job, const struct mot_copy *c)
{
    lay_copy(j, job, c);
    if (--job->missing == 0) set_is_whole(j, job);
}

float *mot_floats_copy(const float *x, uint32_t n)
{
    float *copy = mot_new_large(n, sizeof(*copy));
    if (copy) memcpy(copy, x, n * sizeof(*copy));
    return copy;
}

static struct mot_copy copy_copy(const struct mot_copy *c)
{
    struct mot_copy twin = *c;
    twin.x = mot_floats_copy(c->x, c->len);
    twin.moved = c->moved ? mot_floats_copy(c->moved, c->len) : NULL;
    for (int s = 0; s < MOT_LIVE_SLOTS; s++)
        twin.slot[s] = c->slot[s] ? mot_floats_copy(c->slot[s], c->len) : NULL;
    return twin; /* without memory x is NULL, as if not shown: the run ends then */
}

static void put_last(struct mot_live_judge *j, const struct mot_copy *c)
{
    lay_copy(j, j->ending, c);
    j->ends_early |= c->updates < j->live->stop_at && !j->live->own_pace;
    if (--j->lasts_missing == 0 && j->live->world.servers) j->lead->port->end(j->lead->port);
    /* A node that has ended answers no more asks: its last model stands in. */
    struct mot_live_job *job = j->sets;
    while (job && !job->asked) job = job->next;
    if (!job || job->copy[c->node].x) return;
    struct mot_copy twin = copy_copy(c);
    put_copy(j, job, &twin);
}

void mot_live_judge_take(struct mot_live_judge *j, struct mot_copy *c)
{
    MOT_ASSERT(c->node < j->live->world.nodes && c->x);
    pthread_mutex_lock(&j->lock);
    struct mot_live_job *job = c->last ? NULL : set_of(j, c);
    if (c->last && !j->ending->copy[c->node].x) put_last(j, c);
    else if (job && !job->copy[c->node].x && !j->lost[c->node]) put_copy(j, job, c);
    else mot_copy_free(c);
    pthread_mutex_unlock(&j->lock);
}

void mot_live_judge_show(struct mot_live_judge *j, const struct mot_shown *s)
{
    const struct mot_live *l = j->live;
    struct mot_copy c = { .node = s->node,
        .last = s->last,
        .asked = s->asked,
        .at = s->at,
        .updates = s->updates,
        .step = s->step,
        .events = s->events,
        .place = s->place,
        .scale = s->view.scale,
        .mass = s->view.mass,
        .off = s->view.len ? s->view.off : 0,
        .len = s->view.len ? s->view.len : l->world.dim };
    c.x = mot_floats_copy(mot_pool_at(&l->pool, s->view.x) + c.off, c.len);
    if (s->view.moved) c.moved = mot_floats_copy(mot_pool_at(&l->pool, s->view.moved) + c.off, c.len);
    memcpy(c.word, s->word, sizeof(c.word));
    for (uint32_t k = 0; k < l->slots && l->checkpoint; k++)
        if (s->slot[k]) c.slot[k] = mot_floats_copy(mot_pool_at(&l->pool, s->slot[k]) + c.off, c.len);
    if (c.x) mot_live_judge_take(j, &c);
    else mot_copy_free(&c);
}

void mot_live_judge_lost(struct mot_live_judge *j, mot_node node)
{
    struct mot_live *l = j->live;
    bool shows = mot_live_judge_several(j) && node >= l->lead && node < l->lead + l->showing;
    pthread_mutex_lock(&j->lock);
    bool news = !j->lost[node];
    j->lost[node] = true;
    if (news) mot_gather_lost(j, node);
    if (news && shows) {
        if (!j->ending->copy[node].x) j->lasts_missing--;
        for (struct mot_live_job *job = j->sets, *next; job; job = next) {
            next = job->next;
            if (!job->copy[node].x && --job->missing == 0) set_is_whole(j, job);
        }
    }
    pthread_mutex_unlock(&j->lock);
}

bool mot_live_judge_has_last(struct mot_live_judge *j, mot_node node)
{
    pthread_mutex_lock(&j->lock);
    bool has = j->lost[node] || j->ending->copy[node].x;
    pthread_mutex_unlock(&j->lock);
    return has;
}

/* Asks for a set at the lead's next update; nodes that have ended have already answered. */
static void ask_for_set(struct mot_live_judge *j, bool evaluates, bool saves)
{
    struct mot_live *l = j->live;
    uint64_t at = j->lead->actor.advanced + 1, number = atomic_load(&l->ask.number) + 1;
    struct mot_live_job *job = new_set(j, at, true, evaluates, saves);
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) {
        if (!j->ending->copy[i].x || j->lost[i]) continue;
        job->copy[i] = copy_copy(&j->ending->copy[i]);
        job->missing--; /* the lead has not ended, so at least one is pending */
        if (job->rests) mot_gather_ended(j, job->rests, j->ending->rests, i - l->lead);
    }
    atomic_store(&l->ask.at, at);
    atomic_store(&l->ask.number, number);
    if (j->lead->port->ask) j->lead->port->ask(j->lead->port, number, at);
}

void mot_live_judge_ask(struct mot_live_judge *j, bool evaluates, bool saves)
{
    pthread_mutex_lock(&j->lock);
    bool under_way = j->busy || j->ready;
    for (const struct mot_live_job *job = j->sets; job; job = job->next) under_way |= job->asked;
    if (!under_way) ask_for_set(j, evaluates, saves);
    pthread_mutex_unlock(&j->lock);
}

void mot_live_judge_ask_last(struct mot_live_judge *j)
{
    const struct mot_live *l = j->live;
    const struct mot_shown last = { .last = true };
    if (!l->rests || !l->checkpoint || l->over) return;
    pthread_mutex_lock(&j->lock);
    if (mot_live_judge_several(j)) mot_gather_due(j->ending->rests); /* each of them asks */
    else j->last_rests = mot_gather_open(j, &last);
    pthread_mutex_unlock(&j->lock);
    if (!mot_live_judge_several(j)) mot_live_ask_rests(j->lead, &last);
}

struct mot_live_job *mot_live_judge_last(struct mot_live_judge *j)
{
    const struct mot_live *l = j->live;
    struct mot_live_job *job = j->ending;
    bool ran = job ? job->copy[l->lead].x != NULL : j->last_rests != NULL;
    if (!job) {
        job = snapshot(j, false, false);
        job->rests = j->last_rests;
        j->last_rests = NULL;
    }
    if (!ran && l->rests) { /* the run did not begin */
        mot_gather_close(j, job->rests);
        job->rests = mot_gather_beginning(j);
    }
    if (!mot_live_judge_several(j)) return job;
    j->ending = NULL;
    if (!job->copy[l->lead].x) note_moment(j, job);
    count_set(j, job);
    return job;
}

/* ---- The evaluating thread ----------------------------------------------------------------- */

/* Once the target is met, later jobs no longer matter. */
static void do_job(struct mot_live_judge *j, struct mot_live_job *job)
{
    if (!j->final && job->evaluates) {
        struct mot_moment m = job->moment;
        const float *x = mot_live_judge_x(j, job, &m);
        mot_live_judge_evaluate(j, &m, x, false);
        if (atomic_load(&j->judge.target.met)) {
            j->final = job;
            return;
        }
    }
    /* Also if it was only evaluated: workers must not be asked faster than they answer. */
    if (!j->final) mot_gather_await(j, job->rests);
    if (!j->final && job->saves) mot_live_judge_save(j, job, false);
    pthread_mutex_lock(&j->lock);
    free_job(j, job);
    pthread_mutex_unlock(&j->lock);
}

static void *evaluate_main(void *p)
{
    struct mot_live_judge *j = p;
    mot_spare_use(j->spare);
    pthread_mutex_lock(&j->lock);
    while (!j->closing || j->ready) {
        if (!j->ready) {
            pthread_cond_wait(&j->wake, &j->lock);
            continue;
        }
        struct mot_live_job *job = j->ready;
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

/* Waits in the lead's thread until a job is taken, or for a moment: over ranks, this thread receives what the
 * other waits for. */
static void wait_for_thread(struct mot_live_judge *j)
{
    if (!mot_gather_any(j)) {
        pthread_cond_wait(&j->taken, &j->lock);
        return;
    }
    pthread_mutex_unlock(&j->lock);
    j->lead->port->idle(j->lead->port, mot_live_now(j->live) + MOMENT_NS);
    pthread_mutex_lock(&j->lock);
}

void mot_live_judge_offer(struct mot_live_judge *j, bool evaluates, bool saves)
{
    struct mot_shown due = { 0 };
    pthread_mutex_lock(&j->lock);
    bool must = may_end_at(j, &(struct mot_live_job){ .evaluates = evaluates }), asks = false;
    while (must && j->ready) wait_for_thread(j);
    if (must || (!j->busy && !j->ready)) {
        struct mot_live_job *job = snapshot(j, evaluates, saves);
        due.at = job->at;
        asks = job->rests != NULL;
        append(j, job);
    }
    pthread_mutex_unlock(&j->lock);
    if (asks) mot_live_ask_rests(j->lead, &due);
}

void mot_live_judge_wait(struct mot_live_judge *j)
{
    pthread_mutex_lock(&j->lock);
    while (j->ready && j->ready->next) wait_for_thread(j);
    pthread_mutex_unlock(&j->lock);
}

/* ---- From the beginning to the end ---------------------------------------------------------------- */

static void open_several(struct mot_live_judge *j)
{
    const struct mot_live *l = j->live;
    j->ending = new_job(j, false, false);
    if (l->rests && l->checkpoint) j->ending->rests = mot_gather_open(j, &(struct mot_shown){ .last = true });
    j->piece = mot_new(l->showing, sizeof(*j->piece));
    for (uint32_t i = 0; i < 1 + l->slots; i++)
        j->whole[i] = mot_aligned_large((size_t)l->world.dim * sizeof(float));
    j->lasts_missing = l->showing;
}

static void close_several(struct mot_live_judge *j)
{
    if (j->ending) free_job(j, j->ending);
    free(j->piece);
    for (int i = 0; i <= MOT_LIVE_SLOTS; i++) free(j->whole[i]);
}

int mot_jobs_open(struct mot_live_judge *j)
{
    j->lost = mot_new(j->live->world.nodes, sizeof(*j->lost));
    if (mot_live_judge_several(j)) open_several(j);
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->wake, NULL);
    pthread_cond_init(&j->taken, NULL);
    mot_timed_cond_init(&j->answered);
    j->spare = mot_spare_mine();
    return pthread_create(&j->thread, NULL, evaluate_main, j);
}

void mot_jobs_finish(struct mot_live_judge *j)
{
    pthread_mutex_lock(&j->lock);
    j->closing = true;
    pthread_cond_signal(&j->wake);
    pthread_mutex_unlock(&j->lock);
    pthread_join(j->thread, NULL);
}

void mot_jobs_free(struct mot_live_judge *j)
{
    while (j->sets) {
        struct mot_live_job *next = j->sets->next;
        free_job(j, j->sets);
        j->sets = next;
    }
    if (j->final) free_job(j, j->final);
    mot_gather_close(j, j->last_rests);
    if (mot_live_judge_several(j)) close_several(j);
    free(j->lost);
    pthread_cond_destroy(&j->wake);
    pthread_cond_destroy(&j->taken);
    pthread_cond_destroy(&j->answered);
    pthread_mutex_destroy(&j->lock);
}
