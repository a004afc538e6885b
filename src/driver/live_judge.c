/* live_judge.c -- how far a live run is, and when it ends.
 *
 * The lead node (the server, or worker 0) reports its updates. When an evaluation or a
 * checkpoint is due and the judge's thread is free, it gets the model: buffers that are held,
 * and so frozen, cost the lead nothing. What is due while the thread is busy is left
 * out; the last evaluation and the last checkpoint are always made. */
#include "base/memory.h"
#include "driver/live.h"
#include "driver/world.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

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
    bool evaluates, saves;         /* what the job is */
    struct mot_params params;      /* of the job: held */
    struct mot_moment moment;
    uint64_t *draw;                /* [workers] */
    struct mot_moment last;        /* of the last evaluation */
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
    struct mot_moment m = { .now = mot_live_now(j->live), .updates = n->advanced, .steps = n->advanced, .samples = samples,
        .epochs = (double)samples / j->live->problem->data->train.rows, .bytes_sent = n->tally.bytes_sent,
        .messages = n->tally.messages_sent, .events = n->events, .staleness_mean = NAN, .staleness_max = NAN,
        .slowest = NAN, .slowest_factor = NAN,
        .score = { NAN, NAN, NAN, NAN, NAN, NAN, NAN } };
    const struct mot_note_tally *stale = mot_notes_staleness(&n->notes);
    if (stale) {
        m.staleness_mean = stale->sum / (double)stale->count;
        m.staleness_max = stale->max;
    }
    return m;
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
    for (mot_node i = 0; i < l->world.workers; i++)
        j->draw[i] = l->world.servers ? (l->world.draw0 ? l->world.draw0[i] : 0) + j->lead->seen[i] : mot_live_draw(l, i, j->lead->advanced);
}

static void drop_params(struct mot_judge *j, const struct mot_params *p)
{
    mot_pool_drop(&j->live->pool, p->x);
    for (int s = 0; s < 2; s++) mot_pool_drop(&j->live->pool, p->slot[s]);
}

static float *floats_of(struct mot_judge *j, mot_buf b)
{
    return b ? mot_pool_at(&j->live->pool, b) : NULL;
}

static void save(struct mot_judge *j, const struct mot_params *p, const struct mot_moment *m)
{
    struct mot_live_checkpoint c = { .updates = m->updates, .samples = m->samples, .now = m->now, .step = p->step, .draw = j->draw,
        .mark = j->watch.mark ? j->watch.mark(j->watch.self) : 0, .x = floats_of(j, p->x),
        .slot = { floats_of(j, p->slot[0]), floats_of(j, p->slot[1]) } };
    enum mot_status status = mot_live_save(j->live->checkpoint, j->live->hash, &j->live->world, &c);
    if (j->save_status == MOT_OK) j->save_status = status;
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
    if (final || e->evaluate.train == 0 || e->stop.target == MOT_TARGET_TRAIN_LOSS) what |= MOT_EVALUATE_TRAIN;
    if (final || e->evaluate.grad_norm || e->stop.target == MOT_TARGET_GRAD_NORM) what |= MOT_EVALUATE_GRAD;
    m->score = mot_evaluate(j->evaluator, x, what);
    if (!atomic_load(&j->target_met) && target_met(e, &m->score)) {
        j->target_at = m->now;
        j->target_updates = m->updates;
        atomic_store(&j->target_met, true);
    }
    bool classes = j->live->problem->data->train.classes > 0;
    if (j->best && !isnan(m->score.valid_loss) && (isnan(j->best_score.valid_loss) ||
        (classes ? m->score.valid_accuracy > j->best_score.valid_accuracy : m->score.valid_loss < j->best_score.valid_loss))) {
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
        if (evaluates) evaluate(j, &m, mot_pool_at(&j->live->pool, params.x), false);
        if (saves) save(j, &params, &m);
        drop_params(j, &params);
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

bool mot_judge_wants_end(struct mot_judge *j)
{
    const struct mot_experiment *x = j->live->experiment;
    if (j->interrupt && *j->interrupt) ended_by(j, MOT_EINTERRUPTED, "interrupted");
    else if (atomic_load(&j->target_met)) ended_by(j, MOT_OK, "target");
    else if (x->stop.time != MOT_NEVER && mot_live_now(j->live) >= x->stop.time) ended_by(j, MOT_OK, "time");
    else if (!isnan(x->stop.epochs) && moment_of(j).epochs >= x->stop.epochs) ended_by(j, MOT_OK, "epochs");
    return j->ended_by != NULL;
}

bool mot_judge_update(struct mot_judge *j)
{
    if (j->lead->advanced >= j->live->experiment->stop.updates) {
        ended_by(j, MOT_OK, "updates");
        return true;
    }
    bool evaluates = due(j, &j->every, &j->next);
    bool saves = j->live->checkpoint && due(j, &j->live->experiment->checkpoint, &j->next_save);
    if (evaluates || saves) offer(j, evaluates, saves);
    if (j->watch.tick) {
        double now = (double)mot_live_now(j->live) * 1e-9;
        if (now - j->ticked_s >= 0.1) {
            j->ticked_s = now;
            struct mot_moment m = moment_of(j);
            struct mot_pick pick = { 0 };
            for (mot_node i = 0; i < j->live->world.workers; i++) mot_pick_worker(&pick, i, j->live->job_us[i]);
            mot_pick_slowest(&pick, &m);
            pthread_mutex_lock(&j->live->watch_lock);
            j->watch.tick(j->watch.self, &m);
            pthread_mutex_unlock(&j->live->watch_lock);
        }
    }
    return mot_judge_wants_end(j);
}

struct mot_judge *mot_judge_open(struct mot_live *l, struct mot_live_node *lead, const struct mot_watch *watch,
                                 const volatile sig_atomic_t *interrupt)
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
    if (pthread_create(&j->thread, NULL, evaluate_main, j) != 0) MOT_ASSERT(!"a thread for evaluations cannot be started");
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

    take_snapshot(j);
    /* As in the simulator, a checkpoint knows nothing of the last evaluation: a run that goes on makes its own. */
    if (l->checkpoint && j->lead->status != MOT_EDIVERGED) save(j, &j->params, &j->moment);
    struct mot_moment m = j->moment;
    evaluate(j, &m, mot_pool_at(&l->pool, j->params.x), true);
    enum mot_status status = j->lead->status != MOT_OK ? j->lead->status : j->status;
    *out = (struct mot_outcome){ .status = status, .last = j->last, .workers = l->world.workers, .servers = l->world.servers,
        .best_score = j->best_score, .best_updates = j->best_updates };
    out->ended_by = status == MOT_EDIVERGED ? "diverged" : j->lead->out_of_data ? "data" : j->ended_by ? j->ended_by : "updates";
    out->target.reached = atomic_load(&j->target_met);
    out->target.at = j->target_at;
    out->target.updates = j->target_updates;
    out->node = mot_new(l->world.nodes, sizeof(*out->node));
    out->x = copy_of(mot_pool_at(&l->pool, j->params.x), l->world.dim);
    out->model_hash = XXH64(out->x, l->world.dim * sizeof(float), 0);
    if (j->best && j->best_updates) out->best = copy_of(j->best, l->world.dim);
    drop_params(j, &j->params);
    if (j->save_status != MOT_OK && out->status == MOT_OK) out->status = j->save_status;
    free(j->draw);
    mot_evaluator_close(j->evaluator);
    mot_crew_close(j->crew);
    pthread_cond_destroy(&j->wake);
    pthread_mutex_destroy(&j->lock);
    free(j->best);
    free(j);
}
