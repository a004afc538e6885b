/* live_judge.c -- how far a live run is, and when it ends.
 *
 * The lead node (the server, or worker 0) reports its updates. When an evaluation or a
 * checkpoint is due and the judge's thread is free, it gets the model: buffers that are held,
 * and so frozen, cost the lead nothing. What is due while the thread is busy is left
 * out; the last evaluation and the last checkpoint are always made.
 *
 * Where several nodes have the model between them (servers with a range each, workers whose
 * models differ), the lead asks for it a little before the update at which it is due, so that those who are
 * ahead of it hear of it in time. Each shows what it has after that update; when all have, the thread gets
 * the lot. One set is under way at a time. */
#include "base/memory.h"
#include "driver/live.h"
#include "driver/views.h"
#include "driver/world.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Updates before one is due at which the lead asks for it, besides one for each node that shows its
 * model. */
#define ASK_AHEAD 4u

struct mot_judge {
    struct mot_live *live;
    struct mot_live_node *lead;
    struct mot_watch watch;
    const volatile sig_atomic_t *interrupt;
    struct mot_crew *crew;
    struct mot_evaluator *evaluator;
    struct mot_every every;
    double next, next_save;
    double ticked_s;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool has_job, busy, closing;
    bool evaluates, saves;    /* what the job is */
    struct mot_params params; /* of the job: held */
    /* [nodes], where several show theirs: of the set under way or of
     * the job; x is MOT_NO_BUF until it is here */
    struct mot_shown *shown;
    struct mot_shown *last_shown; /* [nodes]: what each ends with */
    bool *lost;                   /* [nodes] */
    uint32_t missing;             /* of the set under way; 0: there is none */
    uint32_t lasts_missing;
    struct mot_view *view; /* [nodes]: room for what is put together, */
    float *whole[3];       /* and for what comes of it: the model and the optimiser's buffers */
    struct mot_moment moment;
    uint64_t *draw;         /* [workers] */
    struct mot_moment last; /* of the last evaluation */
    enum mot_status save_status;
    atomic_bool target_met;
    mot_time target_at;
    uint64_t target_updates;
    float *best;
    struct mot_score best_score;
    uint64_t best_updates;
    const char *ended_by;
    enum mot_status status;
};

static struct mot_moment moment_of(struct mot_judge *j)
{
    struct mot_live_node *n = j->lead;
    uint64_t samples = n->port->samples(n->port, 0);
    struct mot_moment m = { .now = mot_live_now(j->live),
        .updates = n->advanced,
        .steps = n->advanced,
        .samples = samples,
        .epochs = (double)samples / j->live->problem->data->train.rows,
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
    if (l->world.servers == 0) return mot_live_draw(l, worker, updates);
    return (l->world.draw0 ? l->world.draw0[worker] : 0) + j->lead->seen[worker];
}

/* Takes what the job needs of the lead, as it is after this update. */
static void take_snapshot(struct mot_judge *j)
{
    struct mot_live *l = j->live;
    struct mot_env env = { .self = j->lead->self, .world = &l->world, .conf = l->experiment->method_conf };
    struct mot_view view;
    bool has = l->experiment->method->model(j->lead->state, &env, &view);
    MOT_ASSERT(has && view.scale == 1.0);
    j->moment = moment_of(j);
    j->params = view.params ? *view.params : (struct mot_params){ .x = view.x };
    mot_pool_hold(&l->pool, j->params.x);
    for (int s = 0; s < 2; s++)
        if (j->params.slot[s]) mot_pool_hold(&l->pool, j->params.slot[s]);
    for (mot_node i = 0; i < l->world.workers; i++) j->draw[i] = draw_of(j, i, j->lead->advanced);
}

static void drop_params(struct mot_judge *j, const struct mot_params *p)
{
    mot_pool_drop(&j->live->pool, p->x);
    for (int s = 0; s < 2; s++) mot_pool_drop(&j->live->pool, p->slot[s]);
}

static float *floats_of(struct mot_judge *j, mot_buf b) { return b ? mot_pool_at(&j->live->pool, b) : NULL; }

/* A model with its optimiser: where it lies. */
struct at {
    const float *x, *slot[2];
    uint64_t step;
};

static void save(struct mot_judge *j, const struct at *at, const struct mot_moment *m)
{
    struct mot_live_checkpoint c = { .updates = m->updates,
        .samples = m->samples,
        .now = m->now,
        .step = at->step,
        .draw = j->draw,
        .mark = j->watch.mark ? j->watch.mark(j->watch.self) : 0,
        .x = at->x,
        .slot = { at->slot[0], at->slot[1] } };
    enum mot_status status = mot_live_save(j->live->checkpoint, j->live->hash, &j->live->world, &c);
    if (j->save_status == MOT_OK) j->save_status = status;
}

static struct at at_params(struct mot_judge *j, const struct mot_params *p)
{
    return (struct at){ .x = floats_of(j, p->x),
        .slot = { floats_of(j, p->slot[0]), floats_of(j, p->slot[1]) },
        .step = p->step };
}

/* ---- A model that several nodes have between them ------------------------------------------------ */

static bool several(const struct mot_judge *j) { return j->live->showing > 1; }

static void drop_shown(struct mot_judge *j, struct mot_shown *s)
{
    mot_pool_drop(&j->live->pool, s->view.x);
    for (int k = 0; k < 2; k++) mot_pool_drop(&j->live->pool, s->slot[k]);
    *s = (struct mot_shown){ 0 };
}

static void hold_shown(struct mot_judge *j, const struct mot_shown *s)
{
    mot_pool_hold(&j->live->pool, s->view.x);
    for (int k = 0; k < 2; k++)
        if (s->slot[k]) mot_pool_hold(&j->live->pool, s->slot[k]);
}

/* The mean of the buffers that `which` names (0: the model), in the order of the nodes. */
static const float *mean_of(struct mot_judge *j, const struct mot_shown *set, int which)
{
    struct mot_live *l = j->live;
    uint32_t n = 0;
    bool some_lost = false;
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) {
        const struct mot_shown *s = &set[i];
        some_lost |= j->lost[i] || s->view.x == MOT_NO_BUF;
        if (s->view.x == MOT_NO_BUF) continue;
        j->view[n] = s->view;
        if (which > 0) j->view[n].x = s->slot[which - 1], j->view[n].scale = 1;
        n += j->view[n].x != MOT_NO_BUF;
    }
    const float *rest = mot_pool_at(&l->pool, which == 0 ? l->world.x0 : l->world.zero);
    return n ? mot_views_mean(&l->pool, j->view, n, some_lost ? rest : NULL, j->whole[which]) : rest;
}

static struct at put_together(struct mot_judge *j, const struct mot_shown *set, bool with_slots)
{
    struct mot_live *l = j->live;
    struct at at = { .x = mean_of(j, set, 0), .step = UINT64_MAX };
    for (uint32_t s = 0; with_slots && s < l->world.optim->slots; s++)
        at.slot[s] = mean_of(j, set, 1 + (int)s);
    for (mot_node i = l->lead; i < l->lead + l->showing; i++)
        if (set[i].view.x != MOT_NO_BUF && set[i].step < at.step) at.step = set[i].step;
    if (at.step == UINT64_MAX) at.step = l->world.step0;
    return at;
}

/* What the set says of the moment: its updates are those of the node that has made the fewest. */
static void count_set(struct mot_judge *j, const struct mot_shown *set, struct mot_moment *m)
{
    struct mot_live *l = j->live;
    uint64_t least = UINT64_MAX;
    for (mot_node i = l->lead; i < l->lead + l->showing; i++)
        if (set[i].view.x != MOT_NO_BUF && set[i].updates < least) least = set[i].updates;
    if (least != UINT64_MAX) m->updates = least;
    for (mot_node i = 0; i < l->world.workers && l->world.servers == 0; i++)
        j->draw[i] = draw_of(j, i, set[i].view.x != MOT_NO_BUF ? set[i].updates : m->updates);
}

/* All that are to come have come; the thread takes it from here. */
static void set_is_whole(struct mot_judge *j)
{
    j->moment.now = mot_live_now(j->live);
    count_set(j, j->shown, &j->moment);
    j->has_job = true;
    pthread_cond_signal(&j->wake);
}

static void put_shown(struct mot_judge *j, const struct mot_shown *s)
{
    j->shown[s->node] = *s;
    if (s->node == j->lead->self) { /* it is the lead's own thread that is here */
        j->moment = moment_of(j);
        for (mot_node i = 0; i < j->live->world.workers && j->live->world.servers; i++)
            j->draw[i] = draw_of(j, i, 0);
    }
    if (--j->missing == 0) set_is_whole(j);
}

static void put_last(struct mot_judge *j, const struct mot_shown *s)
{
    j->last_shown[s->node] = *s;
    if (--j->lasts_missing == 0 && j->live->world.servers) j->lead->port->end(j->lead->port);
    /* A node that has ended answers no asks any more. */
    if (j->missing == 0 || j->shown[s->node].view.x != MOT_NO_BUF) return;
    hold_shown(j, s);
    put_shown(j, s);
}

void mot_judge_show(struct mot_judge *j, const struct mot_shown *s)
{
    pthread_mutex_lock(&j->lock);
    MOT_ASSERT(s->node < j->live->world.nodes && s->view.x != MOT_NO_BUF);
    if (s->last) put_last(j, s);
    else if (j->missing && j->shown[s->node].view.x == MOT_NO_BUF) put_shown(j, s);
    else {
        struct mot_shown late = *s;
        drop_shown(j, &late);
    }
    pthread_mutex_unlock(&j->lock);
}

void mot_judge_lost(struct mot_judge *j, mot_node node)
{
    struct mot_live *l = j->live;
    if (!several(j) || node < l->lead || node >= l->lead + l->showing) return;
    pthread_mutex_lock(&j->lock);
    if (!j->lost[node]) {
        j->lost[node] = true;
        if (j->last_shown[node].view.x == MOT_NO_BUF) j->lasts_missing--;
        if (j->missing && j->shown[node].view.x == MOT_NO_BUF && --j->missing == 0) set_is_whole(j);
    }
    pthread_mutex_unlock(&j->lock);
}

bool mot_judge_has_last(struct mot_judge *j, mot_node node)
{
    pthread_mutex_lock(&j->lock);
    bool has = j->lost[node] || j->last_shown[node].view.x != MOT_NO_BUF;
    pthread_mutex_unlock(&j->lock);
    return has;
}

/* Asks for a set, if none is under way; those who have ended have answered.
 * The lead has not: what it asks for is still to come. */
static void ask(struct mot_judge *j, uint64_t at, bool evaluates, bool saves)
{
    struct mot_live *l = j->live;
    j->evaluates = evaluates;
    j->saves = saves;
    j->missing = 0;
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) {
        if (j->last_shown[i].view.x != MOT_NO_BUF) {
            j->shown[i] = j->last_shown[i];
            hold_shown(j, &j->shown[i]);
        } else if (!j->lost[i]) {
            j->missing++;
        }
    }
    uint64_t number = atomic_load(&l->ask.number) + 1;
    atomic_store(&l->ask.at, at);
    atomic_store(&l->ask.number, number);
    if (j->lead->port->ask) j->lead->port->ask(j->lead->port, number, at);
}

/* ---- The evaluating thread ----------------------------------------------------------------- */

static bool target_met(const struct mot_experiment *x, const struct mot_score *s)
{
    switch (x->stop.target) {
    case MOT_TARGET_NONE: return false;
    case MOT_TARGET_TRAIN_LOSS: return s->train_loss <= x->stop.value;
    case MOT_TARGET_TEST_ACCURACY: return s->test_accuracy >= x->stop.value;
    case MOT_TARGET_GRAD_NORM: return s->grad_norm <= x->stop.value;
    }
    return false;
}

static void evaluate(struct mot_judge *j, struct mot_moment *m, const float *x, bool final)
{
    const struct mot_experiment *e = j->live->experiment;
    unsigned what = MOT_EVALUATE_VALID | MOT_EVALUATE_TEST;
    if (final || e->evaluate.train == 0 || e->stop.target == MOT_TARGET_TRAIN_LOSS)
        what |= MOT_EVALUATE_TRAIN;
    if (final || e->evaluate.grad_norm || e->stop.target == MOT_TARGET_GRAD_NORM) what |= MOT_EVALUATE_GRAD;
    m->score = mot_evaluate(j->evaluator, x, what);
    if (!atomic_load(&j->target_met) && target_met(e, &m->score)) {
        j->target_at = m->now;
        j->target_updates = m->updates;
        atomic_store(&j->target_met, true);
    }
    bool classes = j->live->problem->data->train.classes > 0;
    if (j->best && !isnan(m->score.valid_loss) &&
        (isnan(j->best_score.valid_loss) ||
            (classes ? m->score.valid_accuracy > j->best_score.valid_accuracy
                     : m->score.valid_loss < j->best_score.valid_loss))) {
        j->best_score = m->score;
        j->best_updates = m->updates;
        memcpy(j->best, x, j->live->world.dim * sizeof(*x));
    }
    j->last = *m;
    if (!j->watch.evaluated) return;
    pthread_mutex_lock(&j->live->watch_lock);
    j->watch.evaluated(j->watch.self, m);
    pthread_mutex_unlock(&j->live->watch_lock);
}

static void *evaluate_main(void *p)
{
    struct mot_judge *j = p;
    pthread_mutex_lock(&j->lock);
    while (!j->closing || j->has_job) {
        if (!j->has_job) {
            pthread_cond_wait(&j->wake, &j->lock);
            continue;
        }
        struct mot_moment m = j->moment;
        struct mot_params params = j->params;
        bool evaluates = j->evaluates, saves = j->saves;
        j->has_job = false;
        j->busy = true;
        pthread_mutex_unlock(&j->lock);
        struct at at = several(j) ? put_together(j, j->shown, saves) : at_params(j, &params);
        if (evaluates) evaluate(j, &m, at.x, false);
        if (saves) save(j, &at, &m);
        if (!several(j)) drop_params(j, &params);
        for (mot_node i = 0; several(j) && i < j->live->world.nodes; i++) drop_shown(j, &j->shown[i]);
        pthread_mutex_lock(&j->lock);
        j->busy = false;
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

static void offer(struct mot_judge *j, bool evaluates, bool saves)
{
    if (pthread_mutex_trylock(&j->lock) != 0) return;
    if (!j->busy && !j->has_job) {
        take_snapshot(j);
        j->evaluates = evaluates;
        j->saves = saves;
        j->has_job = true;
        pthread_cond_signal(&j->wake);
    }
    pthread_mutex_unlock(&j->lock);
}

/* ---- What the lead asks ----------------------------------------------------------------------- */

static bool due(struct mot_judge *j, const struct mot_every *every, double *next)
{
    double done = 0;
    switch (every->unit) {
    case MOT_EVERY_UPDATES: done = (double)j->lead->advanced; break;
    case MOT_EVERY_TIME: done = (double)mot_live_now(j->live); break;
    case MOT_EVERY_EPOCHS:
        done = (double)j->lead->port->samples(j->lead->port, 0) / j->live->problem->data->train.rows;
        break;
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

static bool all_have_ended(struct mot_judge *j)
{
    pthread_mutex_lock(&j->lock);
    bool all = j->lasts_missing == 0;
    pthread_mutex_unlock(&j->lock);
    return all;
}

bool mot_judge_wants_end(struct mot_judge *j)
{
    const struct mot_experiment *x = j->live->experiment;
    if (j->interrupt && *j->interrupt) ended_by(j, MOT_EINTERRUPTED, "interrupted");
    else if (atomic_load(&j->target_met)) ended_by(j, MOT_OK, "target");
    else if (x->stop.time != MOT_NEVER && mot_live_now(j->live) >= x->stop.time) ended_by(j, MOT_OK, "time");
    else if (!isnan(x->stop.epochs) && moment_of(j).epochs >= x->stop.epochs) ended_by(j, MOT_OK, "epochs");
    else if (several(j) && all_have_ended(j)) ended_by(j, MOT_OK, "updates");
    return j->ended_by != NULL;
}

/* Whether the lead has to ask now for what is due at *at, or before: an
 * update that is near, or a time or an epoch that has come. */
static bool due_soon(struct mot_judge *j, const struct mot_every *every, double *next, uint64_t *at)
{
    uint64_t ahead = j->live->showing + ASK_AHEAD, now = j->lead->advanced;
    if (every->unit != MOT_EVERY_UPDATES) {
        *at = now + 1;
        return due(j, every, next);
    }
    /* what was due while the thread was busy */
    if (*next <= (double)now) *next = (floor((double)now / every->value) + 1) * every->value;
    *at = (uint64_t)ceil(*next);
    /* the last one is made anyway */
    if (*at > now + ahead || *at >= j->live->experiment->stop.updates) return false;
    *next = (floor((double)*at / every->value) + 1) * every->value;
    return true;
}

static void ask_for_what_is_due(struct mot_judge *j)
{
    uint64_t at = 0, save_at = 0;
    if (j->lead->shown_last || pthread_mutex_trylock(&j->lock) != 0) return;
    if (!j->busy && !j->has_job && j->missing == 0) {
        bool evaluates = due_soon(j, &j->every, &j->next, &at);
        bool saves =
            j->live->checkpoint && due_soon(j, &j->live->experiment->checkpoint, &j->next_save, &save_at);
        if (evaluates || saves) ask(j, evaluates ? at : save_at, evaluates, saves);
    }
    pthread_mutex_unlock(&j->lock);
}

bool mot_judge_update(struct mot_judge *j)
{
    if (several(j)) {
        ask_for_what_is_due(j);
    } else {
        if (j->lead->advanced >= j->live->experiment->stop.updates) {
            ended_by(j, MOT_OK, "updates");
            return true;
        }
        bool evaluates = due(j, &j->every, &j->next);
        bool saves = j->live->checkpoint && due(j, &j->live->experiment->checkpoint, &j->next_save);
        if (evaluates || saves) offer(j, evaluates, saves);
    }
    if (j->watch.tick) {
        double now = (double)mot_live_now(j->live) * 1e-9;
        if (now - j->ticked_s >= 0.1) {
            j->ticked_s = now;
            struct mot_moment m = moment_of(j);
            struct mot_pick pick = { 0 };
            for (mot_node i = 0; i < j->live->world.workers; i++)
                mot_pick_worker(&pick, i, j->live->job_us[i]);
            mot_pick_slowest(&pick, &m);
            pthread_mutex_lock(&j->live->watch_lock);
            j->watch.tick(j->watch.self, &m);
            pthread_mutex_unlock(&j->live->watch_lock);
        }
    }
    return mot_judge_wants_end(j);
}

static void open_several(struct mot_judge *j)
{
    const struct mot_live *l = j->live;
    j->shown = mot_new(l->world.nodes, sizeof(*j->shown));
    j->last_shown = mot_new(l->world.nodes, sizeof(*j->last_shown));
    j->lost = mot_new(l->world.nodes, sizeof(*j->lost));
    j->view = mot_new(l->showing, sizeof(*j->view));
    for (uint32_t i = 0; i < 1 + l->world.optim->slots; i++)
        j->whole[i] = mot_aligned((size_t)l->world.dim * sizeof(float));
    j->lasts_missing = l->showing;
}

static void close_several(struct mot_judge *j)
{
    for (mot_node i = 0; i < j->live->world.nodes; i++) {
        drop_shown(j, &j->shown[i]);
        drop_shown(j, &j->last_shown[i]);
    }
    free(j->shown);
    free(j->last_shown);
    free(j->lost);
    free(j->view);
    for (int i = 0; i < 3; i++) free(j->whole[i]);
}

struct mot_judge *mot_judge_open(struct mot_live *l, struct mot_live_node *lead,
    const struct mot_watch *watch, const volatile sig_atomic_t *interrupt)
{
    const struct mot_experiment *x = l->experiment;
    struct mot_judge *j = mot_new(1, sizeof(*j));
    j->live = l;
    j->lead = lead;
    j->interrupt = interrupt;
    if (watch) j->watch = *watch;
    j->crew = mot_crew_open(1);
    j->evaluator = mot_evaluator_open(l->problem, j->crew);
    j->every = mot_every_resolve(x);
    j->draw = mot_new(l->world.workers, sizeof(*j->draw));
    if (several(j)) open_several(j);
    j->next = j->every.value;
    j->next_save = x->checkpoint.value;
    due(j, &j->every, &j->next); /* a run that goes on is past some of them */
    due(j, &x->checkpoint, &j->next_save);
    if (l->problem->data->valid.rows) j->best = mot_aligned((size_t)l->world.dim * sizeof(float));
    j->best_score = (struct mot_score){ NAN, NAN, NAN, NAN, NAN, NAN, NAN };
    struct mot_moment start = moment_of(j);
    if (start.updates == 0) evaluate(j, &start, mot_pool_at(&l->pool, l->world.x0), false);
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->wake, NULL);
    if (pthread_create(&j->thread, NULL, evaluate_main, j) != 0)
        MOT_ASSERT(!"a thread for evaluations cannot be started");
    return j;
}

static float *copy_of(const float *x, uint32_t dim)
{
    float *copy = mot_new(dim, sizeof(*copy));
    memcpy(copy, x, dim * sizeof(*copy));
    return copy;
}

void mot_judge_close(struct mot_judge *j, struct mot_outcome *out)
{
    struct mot_live *l = j->live;
    pthread_mutex_lock(&j->lock);
    j->closing = true;
    pthread_cond_signal(&j->wake);
    pthread_mutex_unlock(&j->lock);
    pthread_join(j->thread, NULL);

    struct at at;
    if (several(j)) {
        j->moment = moment_of(j);
        for (mot_node i = 0; i < l->world.workers && l->world.servers; i++) j->draw[i] = draw_of(j, i, 0);
        count_set(j, j->last_shown, &j->moment);
        at = put_together(j, j->last_shown, l->checkpoint != NULL);
    } else {
        take_snapshot(j);
        at = at_params(j, &j->params);
    }
    /* As in the simulator, a checkpoint knows nothing of the last
     * evaluation: a run that goes on makes its own. */
    if (l->checkpoint && j->lead->status != MOT_EDIVERGED) save(j, &at, &j->moment);
    struct mot_moment m = j->moment;
    evaluate(j, &m, at.x, true);
    enum mot_status status = j->lead->status != MOT_OK ? j->lead->status : j->status;
    *out = (struct mot_outcome){ .status = status,
        .last = j->last,
        .workers = l->world.workers,
        .servers = l->world.servers,
        .best_score = j->best_score,
        .best_updates = j->best_updates };
    out->ended_by = status == MOT_EDIVERGED ? "diverged"
        : j->lead->out_of_data              ? "data"
        : j->ended_by                       ? j->ended_by
                                            : "updates";
    out->target.reached = atomic_load(&j->target_met);
    out->target.at = j->target_at;
    out->target.updates = j->target_updates;
    out->node = mot_new(l->world.nodes, sizeof(*out->node));
    out->x = copy_of(at.x, l->world.dim);
    out->model_hash = XXH64(out->x, l->world.dim * sizeof(float), 0);
    if (j->best && j->best_updates) out->best = copy_of(j->best, l->world.dim);
    if (several(j)) close_several(j);
    else drop_params(j, &j->params);
    if (j->save_status != MOT_OK && out->status == MOT_OK) out->status = j->save_status;
    free(j->draw);
    mot_evaluator_close(j->evaluator);
    mot_crew_close(j->crew);
    pthread_cond_destroy(&j->wake);
    pthread_mutex_destroy(&j->lock);
    free(j->best);
    free(j);
}
