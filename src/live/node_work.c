/* node_work.c -- the jobs of a live node, computed a slice at a time; emulating, by the cluster's clock. */
#include "live/node_parts.h"
#include "run/buckets.h"
#include <math.h>

/* When emulating: the earliest end of what is being computed. */
static void find_end(const struct mot_live_node *n, struct mot_live_work *w)
{
    const struct mot_slot *s = &w->slot;
    mot_time after = w->whole;
    if (mot_slot_has_next(s)) after = mot_job_when(mot_live_machine(n), w->whole, s->until, s->asked);
    else if (n->live->emulate && mot_slot_leaves(s, &n->live->world))
        after = mot_slot_leaves_after(s, &n->live->world, n->live->problem, mot_live_machine(n), w->whole);
    w->ends = w->from + after;
}

static void give_bucket(struct mot_live_node *n, struct mot_live_work *w)
{
    n->port->give(n->port, w->slot.grad, mot_slot_bucket(&w->slot, &n->live->world));
    w->slot.gone++;
}

/* The running job's gradient is final from float `off` on. */
static void let_go(void *node, uint32_t off)
{
    struct mot_live_node *n = node;
    struct mot_live_work *w = mot_live_running(n);
    const struct mot_world *world = &n->live->world;
    while (mot_slot_leaves(&w->slot, world) && world->bucket_at[mot_slot_bucket(&w->slot, world)] >= off)
        give_bucket(n, w);
}

/* Starts a job's next piece, or all of it. */
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

void mot_live_begin_next(struct mot_live_node *n)
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
        ? mot_job_time(mot_live_machine(n), l->world.seed, n->actor.self, &n->pace, next->asked)
        : 0;
    begin_piece(n, w);
}

void mot_live_start_work(void *node, struct mot_actor *actor, struct mot_slot *slot)
{
    struct mot_live_node *n = node;
    (void)actor;
    slot->order = n->order++;
    mot_live_begin_next(n);
}

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

/* The result of the slices done so far. Their samples count from here on. */
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
    mot_live_watch_phase(n, MOT_PHASE_PIECE, w->slot.tag, result.samples, mot_live_now(l));
    if (diverged(n, &result)) return;
    mot_slot_next_piece(&w->slot, l->problem);
    mot_live_step(n, &(struct mot_event){ .kind = MOT_EV_PIECE, .work = &result });
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
    mot_live_watch_phase(n, samples < w->slot.asked ? MOT_PHASE_CANCELLED : MOT_PHASE_COMPUTE, w->slot.tag,
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
        mot_live_begin_next(n);
        mot_live_step(n, &(struct mot_event){ .kind = MOT_EV_WORK, .work = &result });
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

/* When emulating, a job is computed ahead of its clock: if it ends early, only what is done by that clock
 * counts. */
static void take_back(struct mot_live_node *n, struct mot_live_work *w, mot_time now)
{
    const struct mot_problem *problem = n->live->problem;
    const struct mot_pool *pool = &n->live->pool;
    struct mot_slot *s = &w->slot;
    mot_time worked = now > w->from ? now - w->from : 0;
    uint64_t done = mot_job_done(mot_live_machine(n), w->whole, worked, s->asked), left;
    uint32_t terms;
    const struct mot_term *term = mot_slot_terms(s, &terms);
    done = done > s->before ? done - s->before : 0;
    left = s->until - s->before - done;
    if (problem->net->kind->computes && left <= w->run.left) return; /* nor has it computed more */
    w->run.left = left;
    w->run.loss = mot_gradient(
        problem, term, terms, done, mot_pool_at(pool, s->at), mot_pool_at(pool, s->grad), n->scratch);
}

/* When emulating, a gradient is whole before its first bucket leaves. */
static void leave_in_time(struct mot_live_node *n, struct mot_live_work *w)
{
    mot_gradient_end(&w->run);
    poison(n, w);
    give_bucket(n, w);
    find_end(n, w);
}

bool mot_live_work_on(struct mot_live_node *n)
{
    struct mot_live_work *w = cancelled(n);
    if (!w) w = mot_live_running(n);
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
    struct mot_live_work *w = mot_live_running(n);
    if (!w) return;
    w->from += by;
    w->ends += by;
}

/* It ends at the next turn: steps must not nest. */
void mot_live_cancel_work(void *node, struct mot_actor *actor, struct mot_slot *slot)
{
    (void)node;
    (void)actor;
    slot->deadline = 0;
}
