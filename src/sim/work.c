/* work.c -- jobs: when they end on the virtual clock, and their mathematics.
 *
 *   mot_start -> WAITING -(the node's turn)-> RUNNING -(its time is over)-> EV_WORK -> FREE
 *                                             |     ^
 *                                             EV_PIECE (a term is done, and more follow), or
 *                                             a bucket of the gradient is final and leaves
 *
 * A job's parameters are frozen, so its result does not depend on when it is computed: the crew gets it
 * when it begins, and it is awaited when it ends. */
#include "base/stopwatch.h"
#include "run/buckets.h"
#include "run/clock.h"
#include "sim/channel.h"
#include <math.h>
#include <stddef.h>

/* Below this many multiply-adds, a job costs less than handing it over. */
#define SMALL_JOB 30000.0

/* How many samples the current computation will cover: of all terms, or only of the current one. */
static uint64_t covered(const struct sim_work *w)
{
    MOT_ASSERT(w->samples >= w->slot.before);
    return (w->samples < w->slot.until ? w->samples : w->slot.until) - w->slot.before;
}

static void compute(struct sim_work *w, unsigned who)
{
    struct sim *s = w->sim;
    uint32_t terms;
    const struct mot_term *term = mot_slot_terms(&w->slot, &terms);
    w->loss = mot_gradient(s->problem, term, terms, covered(w), mot_pool_at(&s->pool, w->slot.at),
        mot_pool_at(&s->pool, w->slot.grad), s->scratch[who]);
}

static void run_task(struct mot_crew_task *task, unsigned who)
{
    struct sim_work *w = (struct sim_work *)((char *)task - offsetof(struct sim_work, task));
    double began = mot_wall_s();
    compute(w, who);
    w->wall_s = mot_wall_s() - began;
}

void mot_sim_compute(struct sim *s, struct sim_work *w)
{
    w->task.run = run_task;
    w->task.state = MOT_TASK_IDLE;
    if (w->slot.grad == MOT_NO_BUF) return; /* between two pieces: the next is handed over after the step */
    if (s->problem->net->kind->computes && (double)covered(w) * s->cost_per_sample > SMALL_JOB)
        mot_crew_give(s->crew, &w->task);
}

/* Whether the current term will be finished, with others to follow. */
static bool gives_piece(const struct sim_work *w)
{
    return mot_slot_has_next(&w->slot) && w->samples >= w->slot.until;
}

/* Schedules what next happens to a running job: a bucket leaves, a piece ends, or the job ends. */
static void put_next(struct sim *s, const struct sim_work *w)
{
    const struct mot_machine *machine = &s->x->cluster->machine[w->node];
    mot_time at = w->ends;
    if (gives_piece(w))
        at = mot_after(w->slot.began, mot_job_when(machine, w->whole, w->slot.until, w->slot.asked));
    else if (mot_slot_leaves(&w->slot, &s->world))
        at = mot_after(
            w->slot.began, mot_slot_leaves_after(&w->slot, &s->world, s->problem, machine, w->whole));
    if (s->hosts && at < w->slot.deadline) {
        at = mot_hosts_stretch(s, w->node, w->slot.began, at);
        if (at > w->slot.deadline) at = w->slot.deadline;
    }
    if (at < s->now) at = s->now; /* it passed while the node was stalled */
    mot_sim_put(s, at, w->node, SIM_WORK, (uint32_t)(w - s->work), w->generation, 0);
}

/* Whether the samples of the node's next job are there; if not, schedules another try for when they are. */
static bool is_fed(struct sim *s, mot_node node, struct mot_slot *next)
{
    struct sim_node *n = &s->node[node];
    mot_time again;
    if (!n->actor.feed || mot_feed_take(n->actor.feed, next, node, s->now, &again)) return true;
    if (again > MOT_CLOCK_END) again = MOT_CLOCK_END;
    mot_sim_put(s, again, node, SIM_FEED, node, ++n->feeds, 0);
    return false;
}

/* Begins the node's next waiting job, if the node is idle. */
static void begin_next(struct sim *s, mot_node node)
{
    struct sim_node *n = &s->node[node];
    struct sim_work *next = (struct sim_work *)mot_actor_next(&n->actor);
    if (!next || !is_fed(s, node, &next->slot)) return;
    const struct mot_machine *machine = &s->x->cluster->machine[node];
    mot_actor_check_terms(&n->actor, &next->slot);
    next->slot.state = MOT_SLOT_RUNNING;
    /* A stalled node may get a job when it hears of a loss; the job begins when the node wakes. */
    next->slot.began = n->stalled_until > s->now ? n->stalled_until : mot_after(s->now, s->lag);
    mot_slot_begin(&next->slot, s->problem);
    next->samples = next->slot.asked;
    next->whole =
        next->slot.asked ? mot_job_time(machine, s->world.seed, node, &n->pace, next->slot.asked) : 0;
    if (next->whole > s->fruitless.longest_job) s->fruitless.longest_job = next->whole;
    next->ends = mot_after(next->slot.began, next->whole);
    if (next->slot.deadline < next->ends) {
        next->ends = next->slot.deadline > next->slot.began ? next->slot.deadline : next->slot.began;
        next->samples = mot_job_done(machine, next->whole, next->ends - next->slot.began, next->slot.asked);
    }
    next->slot.grad = mot_pool_take(&s->pool);
    mot_sim_compute(s, next);
    mot_sim_account(s, node);
    n->computing++;
    if (s->hosts) {
        mot_hosts_settle(s, node);
        next->generation++; /* its next event may have been scheduled already */
    }
    put_next(s, next);
}

void mot_sim_start(void *sim, struct mot_actor *a, struct mot_slot *slot)
{
    struct sim *s = sim;
    slot->order = s->order++;
    begin_next(s, a->self);
}

void mot_sim_fed(struct sim *s, mot_node node) { begin_next(s, node); }

void mot_sim_cancel(void *sim, struct mot_actor *a, struct mot_slot *slot)
{
    struct sim *s = sim;
    struct sim_work *w = (struct sim_work *)slot;
    mot_node node = a->self;
    uint64_t done = 0;
    if (slot->state == MOT_SLOT_RUNNING) {
        mot_time worked =
            s->now > slot->began ? s->now - slot->began : 0; /* 0: it waits for a stall to end */
        done = mot_job_done(&s->x->cluster->machine[node], w->whole, worked, slot->asked);
        if (done > w->samples) done = w->samples;
    } else {
        /* It never ran: it ends at once, without a turn or pieces. */
        slot->state = MOT_SLOT_RUNNING;
        slot->began = s->now;
        slot->pieces = false;
        if (a->feed) mot_feed_rest(a->feed, s->now);
        mot_slot_begin(slot, s->problem);
        slot->grad = mot_pool_take(&s->pool);
        mot_sim_account(s, node);
        s->node[node].computing++;
    }
    mot_crew_recall(s->crew, &w->task);
    w->samples = done;
    slot->deadline = w->ends = s->now;
    mot_sim_compute(s, w);
    w->generation++;
    put_next(s, w);
}

void mot_sim_abandon(struct sim *s, mot_node node)
{
    struct sim_node *n = &s->node[node];
    mot_sim_account(s, node);
    n->computing = 0;
    if (s->hosts) mot_hosts_settle(s, node);
    n->feeds++;
    if (n->actor.feed) { /* returns the samples that its job had taken */
        mot_feed_end(n->actor.feed, 0);
        mot_feed_rest(n->actor.feed, s->now);
    }
    for (uint32_t i = 0; i < n->actor.works; i++) {
        struct sim_work *w = (struct sim_work *)mot_actor_slot(&n->actor, i);
        if (w->slot.state == MOT_SLOT_FREE) continue;
        if (w->slot.state == MOT_SLOT_RUNNING) {
            mot_crew_recall(s->crew, &w->task);
            mot_pool_drop(&s->pool, w->slot.grad);
        }
        mot_pool_drop(&s->pool, w->slot.at);
        w->slot.state = MOT_SLOT_FREE;
        w->generation++;
    }
    for (uint32_t i = 0; i < n->actor.alarms; i++) {
        s->alarm[n->alarm + i].generation++;
        s->alarm[n->alarm + i].at = MOT_NEVER;
    }
}

void mot_sim_delay(struct sim *s, mot_node node, mot_time by)
{
    struct sim_node *n = &s->node[node];
    for (uint32_t i = 0; i < n->actor.works; i++) {
        struct sim_work *w = (struct sim_work *)mot_actor_slot(&n->actor, i);
        if (w->slot.state != MOT_SLOT_RUNNING) continue;
        w->slot.began += by;
        mot_time ends = w->slot.began + w->whole;
        if (w->samples < w->slot.asked || w->slot.deadline < ends) {
            /* With a deadline it covers fewer samples. A deadline that has passed waits for the node, as
             * all its events do. */
            if (w->slot.deadline < ends) ends = w->slot.deadline > s->now ? w->slot.deadline : s->now;
            /* A stall makes no progress: the job resumes where it was. */
            mot_time wakes = n->stalled_until > ends ? n->stalled_until : ends;
            mot_time worked = wakes > w->slot.began ? wakes - w->slot.began : 0;
            uint64_t done = mot_job_done(&s->x->cluster->machine[node], w->whole, worked, w->slot.asked);
            if (done < w->samples) {
                mot_crew_recall(s->crew, &w->task);
                w->samples = done;
                mot_sim_compute(s, w);
            }
        }
        w->ends = ends;
        w->generation++;
        put_next(s, w);
    }
}

/* Drawn once for each job, so its pieces are poisoned together, or those that end while the fault lasts. */
static void poison(struct sim *s, const struct sim_work *w)
{
    const struct mot_faults *faults = &s->x->cluster->faults;
    uint64_t job = s->node[w->node].actor.tally.jobs;
    if (covered(w) == 0 || !mot_fault_poisons(faults, s->world.seed, s->world.workers, w->node, job, s->now))
        return;
    mot_gradient_spoil(mot_pool_at(&s->pool, w->slot.grad), s->world.dim);
    s->channel->tally.poisoned++;
}

/* The result of what the job has computed now. Its samples count from here on. */
static struct mot_result result_of(struct sim *s, struct sim_work *w)
{
    if (s->problem->net->kind->computes) {
        mot_crew_await(s->crew, &w->task);
        s->job_wall_s += w->wall_s;
    } else {
        compute(w, 0); /* a phantom's gradient takes no time */
    }
    if (s->channel) poison(s, w);
    struct mot_result result = { .tag = w->slot.tag,
        .piece = w->slot.piece,
        .samples = (uint32_t)covered(w),
        .draw = w->slot.term[w->slot.piece].draw,
        .loss = w->loss,
        .grad = w->slot.grad };
    s->node[w->node].actor.tally.samples += result.samples;
    s->samples += result.samples;
    return result;
}

static void watch_phase(
    struct sim *s, const struct sim_work *w, enum mot_phase phase, uint64_t samples, mot_time from)
{
    if (s->watch.phase && mot_watch_follows(&s->watch))
        s->watch.phase(s->watch.self, w->node, phase, w->slot.tag, (uint32_t)samples, from, s->now);
}

static bool diverged(struct sim *s, const struct mot_result *result)
{
    if (isfinite(result->loss) || s->x->traits.guards) return false;
    mot_judge_end(&s->judge, MOT_EDIVERGED, "diverged");
    return true;
}

static void give_piece(struct sim *s, struct sim_work *w)
{
    struct mot_result result = result_of(s, w);
    watch_phase(s, w, MOT_PHASE_PIECE, result.samples, s->now);
    if (diverged(s, &result)) return;
    w->slot.grad = MOT_NO_BUF;
    mot_slot_next_piece(&w->slot, s->problem);
    put_next(s, w); /* before the step, which may cancel it */
    mot_sim_step(s, w->node, &(struct mot_event){ .kind = MOT_EV_PIECE, .work = &result });
    mot_pool_drop(&s->pool, result.grad);
    w->slot.grad = mot_pool_take(&s->pool);
    mot_sim_compute(s, w);
}

static void end_work(struct sim *s, struct sim_work *w)
{
    mot_node node = w->node;
    mot_sim_account(s, node);
    s->node[node].computing--;
    if (s->hosts) mot_hosts_settle(s, node);
    struct mot_result result = result_of(s, w);
    bool cut = w->samples < w->slot.asked;
    watch_phase(s, w, cut ? MOT_PHASE_CANCELLED : MOT_PHASE_COMPUTE, w->samples, w->slot.began);
    s->node[node].actor.tally.jobs++;
    s->node[node].actor.tally.asked += w->slot.asked;
    if (s->node[node].actor.feed) mot_feed_end(s->node[node].actor.feed, w->samples);
    mot_pool_drop(&s->pool, w->slot.at);
    w->slot.state = MOT_SLOT_FREE;
    w->generation++;
    if (diverged(s, &result)) {
        mot_pool_drop(&s->pool, result.grad);
        w->slot.grad = MOT_NO_BUF;
        return;
    }
    mot_stuck_turn(s, node);
    mot_stuck_job(s);
    begin_next(s, node);
    mot_sim_step(s, node, &(struct mot_event){ .kind = MOT_EV_WORK, .work = &result });
    mot_pool_drop(&s->pool, result.grad);
}

/* A bucket of the gradient is final and leaves. Nothing reads its floats yet: sums are computed at the
 * end. */
static void let_go(struct sim *s, struct sim_work *w)
{
    uint32_t bucket = mot_slot_bucket(&w->slot, &s->world);
    w->slot.gone++;
    put_next(s, w);
    mot_sim_give(s, w->node, bucket);
}

void mot_sim_work_due(struct sim *s, uint32_t index)
{
    struct sim_work *w = &s->work[index];
    if (s->hosts) {
        mot_hosts_settle(s, w->node);
        w->generation++; /* voids its next event, as it ends now */
    }
    if (mot_slot_leaves(&w->slot, &s->world)) let_go(s, w);
    else if (gives_piece(w)) give_piece(s, w);
    else end_work(s, w);
}
