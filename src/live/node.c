#include "live/node.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "run/buckets.h"
#include "run/world.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples behind the steps that workers at their own pace have made: those that a checkpoint counts. */
static uint64_t samples_stepped(const struct mot_live *l)
{
    uint64_t all = l->course.samples0;
    for (mot_node i = 0; i < l->world.workers; i++)
        all += mot_course_draw(&l->course, i, atomic_load(&l->paced[i]) / 2) -
            (l->world.draw0 ? l->world.draw0[i] : 0);
    return all;
}

uint64_t mot_live_samples(const struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    if (l->experiment->traits.redundant) return l->course.samples0 + n->actor.used;
    if (l->course.known) return mot_course_samples(&l->course, n->actor.advanced);
    if (l->own_pace && !l->place && !l->experiment->shared_parts) return samples_stepped(l);
    return mot_live_computed(n);
}

uint64_t mot_live_computed(const struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    if (l->world.servers == 0) return n->port->samples(n->port, 0);
    uint64_t all = l->from ? l->from->computed : 0;
    for (mot_node i = 0; i < l->world.workers; i++) all += n->seen[i];
    return all;
}

uint64_t mot_live_updates(const struct mot_live_node *lead)
{
    const struct mot_live *l = lead->live;
    return l->own_pace ? atomic_load(&l->stepped) / l->world.workers : lead->actor.advanced;
}

double mot_live_epochs(const struct mot_live_node *n)
{
    if (n->live->rings) return NAN; /* what has no end has no epochs */
    return (double)mot_live_samples(n) / n->live->problem->data->train.rows;
}

static bool epochs_are_over(const struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    if (l->course.known || isnan(l->experiment->stop.epochs)) return false; /* avoids asking all workers */
    return mot_live_epochs(n) >= l->experiment->stop.epochs;
}

bool mot_live_node_done(const struct mot_live_node *n)
{
    return n->actor.advanced >= n->live->stop_at || epochs_are_over(n);
}

static const struct mot_machine *machine_of(const struct mot_live_node *n)
{
    return &n->live->experiment->cluster->machine[n->actor.self];
}

/* The next update after `u` at which nodes show their models; the last they show anyway. */
static uint64_t next_show(const struct mot_live *l, uint64_t u)
{
    if (l->own_pace) return UINT64_MAX;
    uint64_t at = mot_course_due(&l->course, &l->every, u), save = UINT64_MAX;
    if (l->keeps) save = mot_course_due(&l->course, &l->experiment->checkpoint, u);
    if (save < at) at = save;
    return at < l->stop_at ? at : UINT64_MAX;
}

/* If models differ, a resumed node starts from its own. */
static void begin_with_own(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    const struct mot_live_params *own = &l->from->model[n->actor.self];
    n->world.x0 = mot_pool_take(&l->pool);
    memcpy(mot_pool_at(&l->pool, n->world.x0), own->x, l->world.dim * sizeof(float));
    mot_live_fill(l, own, &n->world, n->actor.self, n->actor.self + 1);
}

void mot_live_node_open(struct mot_live_node *n, struct mot_live *l, struct mot_port *port, mot_node self)
{
    *n = (struct mot_live_node){ .live = l, .port = port, .world = l->world };
    mot_actor_open(&n->actor, &n->outbox, l->experiment, &l->world, self, sizeof(struct mot_live_work));
    if (l->from && l->from->models > 1) begin_with_own(n);
    if (self < l->world.workers) n->pace = mot_pace_of(machine_of(n), l->world.batch[self]);
    n->scratch = mot_aligned_large(mot_gradient_scratch(l->problem));
    n->credit = mot_new_large(l->world.workers, sizeof(*n->credit));
    n->seen = mot_new_large(l->world.workers, sizeof(*n->seen));
    if (self == l->lead && l->world.servers) n->drawn = mot_new_large(l->world.workers, sizeof(*n->drawn));
    n->actor.advanced = l->world.servers && self < l->world.workers ? 0 : l->world.step0;
    n->next_show = next_show(l, n->actor.advanced);
    n->reported = l->world.step0;
    n->fed_at = MOT_NEVER;
    if (l->place) mot_live_feed_open(n);
}

void mot_live_node_close(struct mot_live_node *n)
{
    free(n->credit);
    free(n->seen);
    free(n->drawn);
    free(n->place);
    free(n->placed);
    mot_intake_close(n->intake);
    free(n->scratch);
    mot_actor_close(&n->actor, &n->outbox);
}

static struct mot_env env_of(struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    struct mot_env env =
        mot_env_of(l->experiment, &n->world, n->actor.self, mot_live_now(l), &n->live->pool, &n->outbox);
    env.held = n->actor.held;
    return env;
}

void mot_live_node_init(struct mot_live_node *n)
{
    struct mot_env env = env_of(n);
    env.now = 0;
    env.life = n->life;
    mot_actor_hold_first(&n->actor, n->live->experiment, &n->world, n->life);
    n->live->experiment->method->init(n->actor.state, &env);
}

/* ---- Telling the watcher ------------------------------------------------------------------ */

static void watch_phase(
    struct mot_live_node *n, enum mot_phase phase, uint32_t tag, uint32_t samples, mot_time from)
{
    struct mot_live *l = n->live;
    if (!l->watch.phase || !mot_watch_follows(&l->watch)) return;
    pthread_mutex_lock(&l->watch_lock);
    l->watch.phase(l->watch.self, n->actor.self, phase, tag, samples, from, mot_live_now(l));
    pthread_mutex_unlock(&l->watch_lock);
}

static void watch_flight(struct mot_live_node *n, const struct mot_arrival *a)
{
    struct mot_live *l = n->live;
    if (!l->watch.flight || !mot_watch_follows(&l->watch)) return;
    const struct mot_message *m = &a->message;
    /* clocks of two processes may differ slightly */
    mot_time now = mot_live_now(l), sent = a->sent < now ? a->sent : now;
    pthread_mutex_lock(&l->watch_lock);
    l->watch.flight(l->watch.self,
        &(struct mot_flight){ .from = m->from,
            .to = m->to,
            .kind = m->kind,
            .bytes = mot_message_bytes(&n->world, &n->live->pool, m, 4),
            .sent = sent,
            .began = sent,
            .delivered = now });
    pthread_mutex_unlock(&l->watch_lock);
}

static void watch_shared(struct mot_live_node *n, const struct mot_message *m)
{
    struct mot_live *l = n->live;
    if (!l->watch.shared) return;
    pthread_mutex_lock(&l->watch_lock);
    l->watch.shared(l->watch.self, m, mot_live_now(l));
    pthread_mutex_unlock(&l->watch_lock);
}

static void watch_update(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    if (!l->watch.update || !mot_watch_follows(&l->watch)) return;
    pthread_mutex_lock(&l->watch_lock);
    l->watch.update(l->watch.self, n->actor.self, n->actor.advanced, mot_live_now(l));
    pthread_mutex_unlock(&l->watch_lock);
}

/* ---- Work ------------------------------------------------------------------------------- */

static struct mot_live_work *running(const struct mot_live_node *n)
{
    return (struct mot_live_work *)mot_actor_running(&n->actor);
}

/* Emulating: when what is computed now ends, at the earliest. */
static void find_end(const struct mot_live_node *n, struct mot_live_work *w)
{
    const struct mot_slot *s = &w->slot;
    mot_time after = w->whole;
    if (mot_slot_has_next(s)) after = mot_job_when(machine_of(n), w->whole, s->until, s->asked);
    else if (n->live->emulate && mot_slot_leaves(s, &n->live->world))
        after = mot_slot_leaves_after(s, &n->live->world, n->live->problem, machine_of(n), w->whole);
    w->ends = w->from + after;
}

static void give_bucket(struct mot_live_node *n, struct mot_live_work *w)
{
    n->port->give(n->port, w->slot.grad, mot_slot_bucket(&w->slot, &n->live->world));
    w->slot.gone++;
}

/* The gradient of the job at hand is final from there on. */
static void let_go(void *node, uint32_t off)
{
    struct mot_live_node *n = node;
    struct mot_live_work *w = running(n);
    const struct mot_world *world = &n->live->world;
    while (mot_slot_leaves(&w->slot, world) && world->bucket_at[mot_slot_bucket(&w->slot, world)] >= off)
        give_bucket(n, w);
}

/* Starts what comes next of a job: a piece, or all of it. */
static void begin_piece(struct mot_live_node *n, struct mot_live_work *w)
{
    struct mot_live *l = n->live;
    struct mot_slot *s = &w->slot;
    uint32_t terms;
    const struct mot_term *term = mot_slot_terms(s, &terms);
    find_end(n, w);
    s->grad = mot_pool_take(&l->pool);
    mot_gradient_begin(&w->run, l->problem, term, terms, s->until - s->before, mot_pool_at(&l->pool, s->at),
        mot_pool_at(&l->pool, s->grad));
    w->spoilt = w->drawn = false;
    if (l->emulate || !mot_slot_leaves(s, &l->world)) return;
    w->leaving = (struct mot_leaving){ .from = let_go, .self = n };
    w->run.leaving = &w->leaving;
}

static void begin_next(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    struct mot_slot *next = mot_actor_next(&n->actor);
    n->fed_at = MOT_NEVER;
    if (!next) return;
    if (n->actor.feed && !mot_feed_take(&n->feed, next, n->actor.self, mot_live_now(l), &n->fed_at)) {
        if (n->intake && mot_live_feed_over(n)) n->fed_at = MOT_NEVER;
        return;
    }
    struct mot_live_work *w = (struct mot_live_work *)next;
    mot_actor_check_terms(&n->actor, next);
    next->state = MOT_SLOT_RUNNING;
    next->began = w->from = mot_live_now(l);
    mot_slot_begin(next, l->problem);
    w->whole = l->emulate && next->asked
        ? mot_job_time(machine_of(n), l->world.seed, n->actor.self, &n->pace, next->asked)
        : 0;
    begin_piece(n, w);
}

static void start_work(void *node, struct mot_actor *actor, struct mot_slot *slot)
{
    struct mot_live_node *n = node;
    (void)actor;
    slot->order = n->order++;
    begin_next(n);
}

static void step(struct mot_live_node *n, const struct mot_event *event);

/* Emulates a worker that now and then computes nonsense. */
static void poison(struct mot_live_node *n, struct mot_live_work *w)
{
    struct mot_live *l = n->live;
    const struct mot_faults *f = &l->experiment->cluster->faults;
    bool drawn = w->drawn;
    w->drawn = true;
    if (drawn || !f->any ||
        !mot_fault_poisons(
            f, l->world.seed, l->world.workers, n->actor.self, n->actor.tally.jobs, mot_live_now(l)))
        return;
    mot_gradient_spoil(mot_pool_at(&l->pool, w->slot.grad), l->world.dim);
    n->poisoned++;
    w->spoilt = true;
}

/* The slices done so far of what is computed now. Its samples count from here on. */
static struct mot_result result_of(struct mot_live_node *n, struct mot_live_work *w)
{
    mot_gradient_end(&w->run);
    struct mot_result result = { .tag = w->slot.tag,
        .piece = w->slot.piece,
        .samples = (uint32_t)(w->slot.until - w->slot.before - w->run.left),
        .draw = w->slot.term[w->slot.piece].draw,
        .loss = w->run.loss,
        .grad = w->slot.grad };
    if (n->live->emulate && result.samples) poison(n, w);
    if (n->tape && w->spoilt) n->tape->spoilt = true;
    n->actor.tally.samples += result.samples;
    n->port->samples(n->port, result.samples);
    return result;
}

static bool diverged(struct mot_live_node *n, const struct mot_result *result)
{
    if (isfinite(result->loss) || n->live->experiment->traits.guards) return false;
    n->status = MOT_EDIVERGED;
    n->finished = true;
    n->port->end(n->port);
    return true;
}

/* A term is done, and others follow. */
static void give_piece(struct mot_live_node *n, struct mot_live_work *w)
{
    struct mot_live *l = n->live;
    struct mot_result result = result_of(n, w);
    watch_phase(n, MOT_PHASE_PIECE, w->slot.tag, result.samples, mot_live_now(l));
    if (diverged(n, &result)) return;
    mot_slot_next_piece(&w->slot, l->problem);
    step(n, &(struct mot_event){ .kind = MOT_EV_PIECE, .work = &result });
    mot_pool_drop(&l->pool, result.grad);
    begin_piece(n, w);
}

/* Ends the job with what is done so far. */
static void finish_work(struct mot_live_node *n, struct mot_live_work *w)
{
    struct mot_live *l = n->live;
    struct mot_result result = result_of(n, w);
    uint64_t samples = w->slot.before + result.samples;
    n->actor.tally.compute += mot_live_now(l) - w->slot.began;
    watch_phase(n, samples < w->slot.asked ? MOT_PHASE_CANCELLED : MOT_PHASE_COMPUTE, w->slot.tag,
        (uint32_t)samples, w->slot.began);
    n->actor.tally.jobs++;
    n->actor.tally.asked += mot_terms_samples(l->problem, w->slot.term, w->slot.terms);
    atomic_store_explicit(&l->job_us[n->actor.self],
        (uint32_t)(n->actor.tally.compute / n->actor.tally.jobs / 1000), memory_order_relaxed);
    if (l->worked_ns)
        atomic_store_explicit(&l->worked_ns[n->actor.self], n->actor.tally.compute, memory_order_relaxed);
    mot_pool_drop(&l->pool, w->slot.at);
    w->slot.state = MOT_SLOT_FREE;
    if (n->actor.feed) {
        mot_feed_end(&n->feed, samples);
        mot_live_place(n);
    }
    if (!diverged(n, &result)) {
        begin_next(n);
        step(n, &(struct mot_event){ .kind = MOT_EV_WORK, .work = &result });
    }
    mot_pool_drop(&l->pool, result.grad);
}

/* A job cancelled before its turn: it ends at once, without pieces, with nothing done. */
static struct mot_live_work *cancelled(struct mot_live_node *n)
{
    for (uint32_t i = 0; i < n->actor.works; i++) {
        struct mot_slot *s = mot_actor_slot(&n->actor, i);
        struct mot_live_work *w = (struct mot_live_work *)s;
        if (s->state != MOT_SLOT_WAITING || s->deadline != 0) continue;
        s->began = w->from = mot_live_now(n->live);
        s->pieces = false;
        if (n->actor.feed) mot_feed_rest(&n->feed, s->began);
        s->asked = s->before = s->until = w->whole = 0;
        begin_piece(n, w);
        return w;
    }
    return NULL;
}

/* Emulating, a job is computed ahead of its clock: if it ends early, it keeps what is done by the clock. */
static void take_back(struct mot_live_node *n, struct mot_live_work *w, mot_time now)
{
    const struct mot_problem *problem = n->live->problem;
    const struct mot_pool *pool = &n->live->pool;
    struct mot_slot *s = &w->slot;
    mot_time worked = now > w->from ? now - w->from : 0;
    uint64_t done = mot_job_done(machine_of(n), w->whole, worked, s->asked), left;
    uint32_t terms;
    const struct mot_term *term = mot_slot_terms(s, &terms);
    done = done > s->before ? done - s->before : 0;
    left = s->until - s->before - done;
    if (problem->net->kind->computes && left <= w->run.left) return; /* nor has it computed more */
    w->run.left = left;
    w->run.loss = mot_gradient(
        problem, term, terms, done, mot_pool_at(pool, s->at), mot_pool_at(pool, s->grad), n->scratch);
}

/* Emulating, a gradient is whole before its first bucket leaves. */
static void leave_in_time(struct mot_live_node *n, struct mot_live_work *w)
{
    mot_gradient_end(&w->run);
    poison(n, w);
    give_bucket(n, w);
    find_end(n, w);
}

/* Computes a slice, or gives a piece, or ends the job whose time is over. False: nothing to do now. */
static bool work_on(struct mot_live_node *n)
{
    struct mot_live_work *w = cancelled(n);
    if (!w) w = running(n);
    if (!w) return false;
    mot_time now = mot_live_now(n->live);
    bool phantom = !n->live->problem->net->kind->computes;
    if (phantom) w->run.left = now >= w->ends ? 0 : w->slot.until - w->slot.before;
    bool done = now >= w->ends && w->run.left == 0, over = now >= w->slot.deadline;
    mot_time until = now;
    if (n->live->emulate && w->slot.deadline) { /* not cancelled */
        /* What the emulated machine has done by its deadline counts, however late this one gets to it. */
        bool in_time = w->ends <= w->slot.deadline;
        done = done && in_time;
        over = over && !in_time;
        if (over) until = w->slot.deadline;
    }
    if (done && mot_slot_has_next(&w->slot)) {
        give_piece(n, w);
        return true;
    }
    if (done && n->live->emulate && mot_slot_leaves(&w->slot, &n->live->world)) {
        leave_in_time(n, w);
        return true;
    }
    if (done || over) {
        if (until < w->ends) take_back(n, w, until);
        finish_work(n, w);
        return true;
    }
    return !phantom && mot_gradient_slice(&w->run, n->scratch);
}

void mot_live_node_delay(struct mot_live_node *n, mot_time by)
{
    struct mot_live_work *w = running(n);
    if (!w) return;
    w->from += by;
    w->ends += by;
}

/* It ends at the next turn: steps must not nest. */
static void cancel_work(void *node, struct mot_actor *actor, struct mot_slot *slot)
{
    (void)node;
    (void)actor;
    slot->deadline = 0;
}

/* ---- Steps and their effects -------------------------------------------------------------- */

struct mot_kept mot_live_kept(struct mot_live_node *n)
{
    const struct mot_method *m = n->live->experiment->method;
    struct mot_kept kept = { 0 };
    struct mot_env env = env_of(n);
    if (m->keep) m->keep(n->actor.state, &env, &kept);
    return kept;
}

/* Hands this node's part of the model to the judge. */
static void show(struct mot_live_node *n, struct mot_shown s)
{
    struct mot_live *l = n->live;
    struct mot_env env = env_of(n);
    s.node = n->actor.self;
    s.updates = s.step = n->actor.advanced;
    s.events = n->events;
    s.place = mot_live_place(n);
    n->shown_last |= s.last;
    if (!l->experiment->method->model(n->actor.state, &env, &s.view)) return;
    if (s.view.params) {
        s.step = s.view.params->step;
        for (uint32_t k = 0; k < l->world.optim->slots; k++) s.slot[k] = s.view.params->slot[k];
    }
    if (l->keeps) {
        struct mot_kept kept = mot_live_kept(n);
        memcpy(s.word, kept.word, sizeof(s.word));
        for (uint32_t k = l->world.optim->slots; k < l->slots; k++)
            s.slot[k] = kept.buf[k - l->world.optim->slots];
    }
    s.view.params = NULL;
    if (l->judge) mot_live_judge_show(l->judge, &s);
    else n->port->show(n->port, &s);
}

static void show_last(struct mot_live_node *n) { show(n, (struct mot_shown){ .last = true }); }

static bool shows(const struct mot_live_node *n)
{
    return n->live->showing > 1 && n->actor.self >= n->live->lead;
}

static void show_what_is_due(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    if (n->shown_last) return;
    if (mot_live_node_done(n)) {
        show_last(n);
        return;
    }
    if (n->actor.advanced >= n->next_show) {
        show(n, (struct mot_shown){ .at = n->next_show });
        n->next_show = next_show(l, n->next_show);
    }
    uint64_t number = atomic_load(&l->ask.number), at = atomic_load(&l->ask.at);
    if (number != n->answered && n->actor.advanced >= at) {
        n->answered = number;
        show(n, (struct mot_shown){ .at = at, .asked = true });
    }
}

/* Whether the lead ends the run for everyone at once. If all workers make the same updates, they leave
 * together instead, after the last collective of all workers that the lead joins; with groups there may be
 * none. */
static bool ends_at_once(const struct mot_live *l)
{
    return l->world.servers > 0 || l->world.groups > 0 || l->experiment->traits.model == MOT_MODEL_OF_EACH;
}

/* Workers at their own pace: whoever sees that the run's last update or epoch is done ends it for all. */
static void step_at_own_pace(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    mot_live_hear_pace(l, n->actor.self, 2 * n->actor.advanced);
    n->port->paced(n->port);
    if (mot_live_updates(n) < l->stop_at && !epochs_are_over(n)) return;
    n->finished = true;
    n->port->end(n->port);
}

/* They show their models when they hear that these are asked for; the lead notices updates that others
 * made. True: the run is over. */
static bool look_around(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    uint64_t number = atomic_load(&l->ask.number), updates;
    if (number != n->answered) {
        n->answered = number;
        show(n, (struct mot_shown){ .at = atomic_load(&l->ask.at), .asked = true });
    }
    if (!l->judge || n->actor.self != l->lead || (updates = mot_live_updates(n)) == n->reported) return false;
    n->reported = updates;
    if (!mot_live_judge_update(l->judge)) return false;
    n->finished = true;
    n->port->end(n->port);
    return true;
}

static void advance(void *node, struct mot_actor *actor)
{
    struct mot_live_node *n = node;
    struct mot_live *l = n->live;
    (void)actor;
    n->actor.tally.updates++;
    watch_update(n);
    if (l->own_pace) {
        step_at_own_pace(n);
        return;
    }
    if (n->placed) memcpy(n->placed, n->place, l->world.workers * sizeof(*n->placed));
    if (n->drawn) memcpy(n->drawn, n->seen, l->world.workers * sizeof(*n->drawn));
    if (shows(n)) show_what_is_due(n);
    /* Every worker counts its own updates, so nobody has to be told. */
    if (l->world.servers == 0 && n->actor.advanced >= l->stop_at) n->finished = true;
    if (l->judge && n->actor.self == l->lead && mot_live_judge_update(l->judge) && ends_at_once(l)) {
        n->finished = true;
        n->port->end(n->port);
    }
}

void mot_live_node_sent(struct mot_live_node *n, mot_node to, uint64_t bytes)
{
    n->actor.tally.messages_sent++;
    n->actor.tally.bytes_sent += bytes;
    mot_sent_add(&n->live->blocks, n->sent, to, bytes);
}

static void send(void *node, struct mot_actor *actor, const struct mot_message *m)
{
    struct mot_live_node *n = node;
    uint64_t bytes = mot_message_bytes(&n->world, &n->live->pool, m, 4);
    mot_live_node_sent(n, m->to, bytes);
    if (m->rows) actor->tally.rows_bytes += bytes;
    if (m->given) watch_shared(n, m);
    n->port->send(n->port, m);
}

static void collect(void *node, struct mot_actor *actor, const struct mot_coll *coll)
{
    struct mot_live_node *n = node;
    struct mot_live *l = n->live;
    bool heard_by_all = coll->scope == MOT_COLL_ALL && coll->kind != MOT_COLL_TO_ROOT;
    n->joined[coll->scope] = mot_live_now(l);
    if (l->place && coll->scope == MOT_COLL_ALL) mot_live_place_join(n);
    n->port->join(
        n->port, coll, heard_by_all && l->judge && actor->self == 0 && mot_live_judge_wants_end(l->judge));
}

static void credit(void *node, struct mot_actor *actor, mot_node worker)
{
    (void)actor;
    ((struct mot_live_node *)node)->credit[worker]++;
}

static void enter(void *node, struct mot_actor *actor)
{
    struct mot_live_node *n = node;
    n->next_show = next_show(n->live, actor->advanced);
}

static void note(void *node, struct mot_actor *actor, const char *key, double value)
{
    (void)actor;
    mot_notes_add(&((struct mot_live_node *)node)->notes, key, value);
}

static void stop(void *node, struct mot_actor *actor, enum mot_status why)
{
    struct mot_live_node *n = node;
    struct mot_live *l = n->live;
    n->out_of_data = why == MOT_OK;
    if (n->out_of_data && l->own_pace) { /* it still answers the others */
        mot_live_hear_pace(l, actor->self, 2 * actor->advanced + 1);
        n->port->paced(n->port);
        return;
    }
    n->finished = true;
    if (why != MOT_OK) n->status = why;
    if (why != MOT_OK || (actor->self >= l->world.workers && l->showing == 1)) n->port->end(n->port);
    /* the run ends when every server has shown its final model */
    else if (shows(n) && !n->shown_last) show_last(n);
}

static const struct mot_actor_ops ops = { .send = send,
    .start = start_work,
    .cancel = cancel_work,
    .collect = collect,
    .advance = advance,
    .enter = enter,
    .credit = credit,
    .note = note,
    .stop = stop };

static void step(struct mot_live_node *n, const struct mot_event *event)
{
    struct mot_env env = env_of(n);
    const struct mot_method *m = n->live->experiment->method;
    n->events++;
    if (n->tape) mot_tape_put(n->tape, env.now, event, n->actor.feed != NULL);
    m->step(n->actor.state, &env, event);
    if (m->check) m->check(n->actor.state, &env);
    mot_actor_drain(&n->actor, &n->outbox, &ops, n);
}

static void receive(struct mot_live_node *n, struct mot_arrival *a)
{
    switch (a->kind) {
    case MOT_ARRIVAL_MESSAGE:
        if (a->message.from < n->live->world.workers) {
            n->seen[a->message.from] = a->sender_samples;
            if (n->place) n->place[a->message.from] = a->place;
        }
        watch_flight(n, a);
        mot_actor_take_rows(&n->actor, &a->message);
        step(n, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = &a->message });
        mot_pool_drop(&n->live->pool, a->message.body.buf);
        return;
    case MOT_ARRIVAL_COLL:
        watch_phase(n, MOT_PHASE_COLLECTIVE, a->coll.tag, 0, n->joined[a->coll.scope]);
        if (n->live->place && a->coll.scope == MOT_COLL_ALL) mot_live_learn_places(n);
        step(n, &(struct mot_event){ .kind = MOT_EV_COLL, .coll = &a->coll });
        mot_pool_drop(&n->live->pool, a->coll.out.buf);
        if (a->last) n->finished = true;
        return;
    case MOT_ARRIVAL_PEER: step(n, &(struct mot_event){ .kind = MOT_EV_PEER, .peer = a->peer }); return;
    }
}

/* Fires the first alarm that is due; *next becomes the time of the earliest one set. */
static bool alarm_due(struct mot_live_node *n, mot_time *next)
{
    mot_time now = mot_live_now(n->live);
    *next = MOT_NEVER;
    for (uint32_t i = 0; i < n->actor.alarms; i++) {
        if (n->actor.alarm[i] <= now) {
            n->actor.alarm[i] = MOT_NEVER;
            step(n, &(struct mot_event){ .kind = MOT_EV_TIMER, .timer = i });
            return true;
        }
        if (n->actor.alarm[i] < *next) *next = n->actor.alarm[i];
    }
    return false;
}

bool mot_live_node_over(const struct mot_live_node *n) { return n->finished || n->port->ended(n->port); }

/* A waiting lead checks now and then for the deadline, a target met, Ctrl-C. Where samples arrive over time,
 * there may be no further collective to leave after: a worker's stream may have dried up. */
static bool ends_here(struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    bool may = ends_at_once(l) || l->place;
    if (!l->judge || n->actor.self != l->lead || !may || !mot_live_judge_idle(l->judge)) return false;
    n->finished = true;
    n->port->end(n->port);
    return true;
}

void mot_live_node_begin(struct mot_live_node *n)
{
    if (n->status != MOT_OK) { /* its source could not be opened */
        n->finished = true;
        n->port->end(n->port);
        return;
    }
    step(n, &(struct mot_event){ .kind = MOT_EV_START });
}

/* Does one thing that can be done now; if there is none, sets until when only arrivals matter. */
static bool do_something(struct mot_live_node *n, mot_time *next)
{
    struct mot_arrival arrival;
    *next = MOT_NEVER;
    if (n->live->own_pace && look_around(n)) return true;
    if (n->port->poll(n->port, &arrival)) {
        receive(n, &arrival);
        return true;
    }
    if (n->actor.alarms && alarm_due(n, next)) return true;
    if (work_on(n)) return true;
    if (n->fed_at != MOT_NEVER) { /* a job lacks samples */
        if (mot_live_now(n->live) >= n->fed_at) {
            begin_next(n);
            if (n->fed_at == MOT_NEVER) return true;
        }
        if (n->fed_at < *next) *next = n->fed_at;
    }
    const struct mot_live_work *w = running(n);
    if (w) { /* emulating: computed, but its time is not over */
        if (w->ends < *next) *next = w->ends;
        if (w->slot.deadline < *next) *next = w->slot.deadline;
    }
    return ends_here(n);
}

bool mot_live_node_turn(struct mot_live_node *n, mot_time *next)
{
    bool did = do_something(n, next);
    if (did == n->waiting) { /* waiting starts or ends here */
        mot_time now = mot_live_now(n->live);
        if (did) n->actor.tally.wait += now - n->waits_since;
        n->waits_since = now;
        n->waiting = !did && !running(n);
    }
    return did;
}

struct mot_live_account mot_live_node_account(const struct mot_live_node *n)
{
    struct mot_live_account a = { .tally = n->actor.tally,
        .events = n->events,
        .advanced = n->actor.advanced,
        .poisoned = n->poisoned,
        .status = n->status };
    memcpy(a.trouble, n->trouble, sizeof(a.trouble));
    memcpy(a.sent, n->sent, sizeof(a.sent));
    return a;
}

void mot_live_node_end(struct mot_live_node *n)
{
    if (n->waiting) n->actor.tally.wait += mot_live_now(n->live) - n->waits_since;
    n->waiting = false;
    if (n->actor.feed) mot_live_feed_close(n);
    if (shows(n) && !n->shown_last) show_last(n);
}

void mot_live_node_run(struct mot_live_node *n)
{
    mot_time next;
    mot_live_node_begin(n);
    while (!mot_live_node_over(n))
        if (!mot_live_node_turn(n, &next)) n->port->idle(n->port, next);
    mot_live_node_end(n);
}
