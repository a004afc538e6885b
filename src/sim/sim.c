/* sim.c -- the event loop: take the earliest event, step its node, carry out the effects; repeat to the
 * end.
 *
 * All of this runs on one thread, so a run is a function of its experiment alone. The crew's threads only
 * compute gradients and evaluations, whose results do not depend on who computes them or when. */
#include "sim/sim.h"
#include "base/holds.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "base/words.h"
#include "run/clock.h"
#include "sim/channel.h"
#include "run/world.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static void begin(struct sim *s)
{
    for (mot_node i = 0; i < s->world.nodes; i++) {
        struct mot_env *env = mot_sim_env(s, i);
        if (s->channel && i < s->world.workers) s->outbox.ledger = &s->channel->health[i].ledger;
        mot_actor_hold_first(&s->node[i].actor, s->x, &s->world, 0);
        s->method->init(s->node[i].actor.state, env);
        s->outbox.ledger = NULL;
        MOT_ASSERT(s->outbox.n == 0 && "init has no effects");
    }
    if (s->channel) mot_faults_begin(s); /* before the start, so a fault at 0 comes first */
    for (mot_node i = 0; i < s->world.nodes; i++) mot_sim_put(s, 0, i, SIM_START, i, 0, 0);
    mot_sim_evaluate(s, false);
}

static void check_states(void *self)
{
    struct sim *s = self;
    for (mot_node i = 0; i < s->world.nodes && s->method->check; i++) {
        struct mot_env *env = mot_sim_env(s, i);
        if (!s->node[i].dead) s->method->check(s->node[i].actor.state, env);
    }
}

static void deliver_message(struct sim *s, uint32_t slot)
{
    struct mot_message m = s->message[slot];
    s->message_free[s->messages_free++] = slot;
    mot_sim_arrive(s, m.from, m.to);
    mot_sim_deliver(s, &m);
}

static void handle(struct sim *s, const struct mot_pending *p)
{
    s->now = p->at;
    s->events++;
    if (s->channel && mot_faults_waits(s, p)) return;
    if (s->hosts && mot_hosts_waits(s, p)) return;
    switch ((enum sim_event)p->kind) {
    case SIM_START: mot_sim_step(s, p->index, &(struct mot_event){ .kind = MOT_EV_START }); return;
    case SIM_MESSAGE: deliver_message(s, p->index); return;
    case SIM_WORK: mot_sim_work_due(s, p->index); return;
    case SIM_COLL: mot_sim_coll_received(s, p); return;
    case SIM_FEED: mot_sim_fed(s, p->index); return;
    case SIM_IDLE: mot_hosts_settle(s, p->index); return;
    case SIM_TIMER: {
        struct sim_alarm *a = &s->alarm[p->index];
        mot_node node = a->node;
        a->at = MOT_NEVER;
        mot_stuck_turn(s, node);
        mot_sim_step(
            s, node, &(struct mot_event){ .kind = MOT_EV_TIMER, .timer = p->index - s->node[node].alarm });
        return;
    }
    case SIM_FRAME: mot_channel_frame(s, p); return;
    case SIM_ACK: mot_channel_ack(s, p); return;
    case SIM_DELIVER: mot_channel_deliver(s, p->index); return;
    case SIM_RESEND: mot_channel_resend(s, p->index); return;
    case SIM_FAULT:
    case SIM_LOST:
    case SIM_JOIN: mot_faults_handle(s, p); return;
    }
}

/* Reports progress now and then by the wall clock, which the run itself never sees. */
static void tick(struct sim *s)
{
    if (!s->watch.tick || s->events % 64 != 0) return;
    double now = mot_wall_s();
    if (now - s->ticked_wall_s < 0.1) return;
    s->ticked_wall_s = now;
    struct mot_moment m = mot_sim_moment(s);
    struct mot_pick pick = { 0 };
    for (mot_node i = 0; i < s->world.workers; i++)
        mot_pick_worker(&pick, i,
            s->node[i].actor.tally.jobs
                ? (double)s->node[i].actor.tally.compute / (double)s->node[i].actor.tally.jobs
                : 0);
    mot_pick_slowest(&pick, &m);
    for (mot_node i = 0; s->watch.worked && i < s->world.workers; i++)
        s->watch.worked(s->watch.self, i, s->node[i].actor.tally.compute);
    s->watch.tick(s->watch.self, &m);
}

/* The next event lies beyond the clock's range. */
static void end_by_clock(struct sim *s)
{
    if (s->x->stop.time < MOT_CLOCK_END) {
        mot_sim_before_due(s, s->x->stop.time);
        if (s->judge.ended) return;
        /* Resuming with a stop.time already passed does not turn the clock back. */
        if (s->x->stop.time > s->now) s->now = s->x->stop.time;
        mot_judge_decide(&s->judge, &(struct mot_facts){ .time = true });
        return;
    }
    mot_fail(MOT_EUSAGE,
        "the run's clock would pass 292 years after %s: a job, a message or an outage of this "
        "cluster takes that long; check its speeds, links and faults, or set stop.time",
        mot_updates_text(s->updates).text);
    mot_judge_end(&s->judge, MOT_EUSAGE, "clock");
}

static void loop(struct sim *s)
{
    const mot_time last = s->x->stop.time < MOT_CLOCK_END ? s->x->stop.time : MOT_CLOCK_END - 1;
    const bool by_time = mot_sim_by_time(s);
    while (!s->judge.ended) {
        const struct mot_pending *first = mot_heap_first(&s->heap);
        if (!first && s->channel) mot_faults_halt(s);
        if (s->judge.ended) return;
        if (!first) {
            mot_fail(MOT_ESYSTEM, "method %s came to a halt: no message, job or alarm is pending",
                s->method->name);
            mot_judge_end(&s->judge, MOT_ESYSTEM, "halt");
            return;
        }
        if (!mot_sim_live(s, first)) {
            mot_heap_take(&s->heap);
            continue;
        }
        mot_time next = first->at;
        if (s->o->interrupt && *s->o->interrupt) {
            mot_judge_decide(&s->judge, &(struct mot_facts){ .interrupted = true });
            return;
        }
        if (next > last) {
            end_by_clock(s);
            return;
        }
        if (by_time || s->save_due) mot_sim_before_due(s, next);
        if (s->judge.ended) return;
        struct mot_pending p = mot_heap_take(&s->heap);
        handle(s, &p);
        tick(s);
    }
}

static void close_accounts(struct sim *s)
{
    for (mot_node i = 0; i < s->world.nodes; i++) mot_sim_account(s, i);
    for (mot_node i = 0; s->feed && i < s->world.workers; i++)
        if (s->node[i].actor.feed) mot_feed_close(s->node[i].actor.feed, s->now);
}

static void fill_outcome(struct sim *s, struct mot_outcome *out)
{
    mot_judge_outcome(&s->judge, &s->world, mot_sim_model(s, NULL), out);
    out->job_wall_s = s->job_wall_s;
    out->wall_s = mot_wall_s() - s->started_wall_s;
    out->has_peer = s->has_peer && s->judge.status == MOT_EPEER;
    out->peer = s->peer;
    out->stuck_by = s->stuck_by;
    out->stuck_node = s->stuck_node;
    out->stuck_count = s->stuck_count;
    out->model_lost = s->model_lost;
    out->saved = s->saved;
    out->saved_updates = s->saved_updates;
    if (s->channel) {
        out->has_faults = true;
        out->faults = s->channel->tally;
    }
    if (s->channel && out->has_peer) {
        const struct sim_health *h = &s->channel->health[s->peer];
        out->peer_at = h->lost_at;
        out->peer_by = mot_fault_name(h->lost_by);
    }
    out->node = mot_new_large(s->world.nodes, sizeof(*out->node));
    for (mot_node i = 0; out->node && i < s->world.nodes; i++) out->node[i] = s->node[i].actor.tally;
    out->traffic = s->traffic;
    s->traffic.sent = NULL;
    out->buffers = s->pool.used_most;
    mot_outcome_note(out, &s->notes);
    mot_outcome_missed(out, s->method, &s->world, s->node[mot_world_lead(&s->world)].actor.state);
    out->arena = s->arena;
    s->arena = (struct mot_arena){ 0 };
}

/* Whether nothing more can happen before stop.time: the loop would end at once. */
static bool time_is_up(struct sim *s)
{
    const struct mot_pending *first = mot_heap_first(&s->heap);
    return s->now >= s->x->stop.time && (!first || first->at > s->x->stop.time);
}

static enum mot_status run(const struct mot_driver_options *o, struct mot_outcome *out)
{
    struct sim *s;
    enum mot_status status = mot_sim_open(o, &s);
    if (status != MOT_OK) return status;
    s->started_wall_s = mot_wall_s();
    uint64_t mark = 0;
    if (o->resume) {
        status = mot_sim_restore(s, &mark);
        /* States read from a file must satisfy the method's invariants. */
        if (status == MOT_OK && !mot_holds(check_states, s))
            status = mot_fail(MOT_EDATA, "%s: damaged: a node is in a state that method %s cannot reach",
                o->checkpoint, s->method->name);
        if (status != MOT_OK) goto out_close;
        s->saved = true;
        s->saved_updates = s->updates;
        mot_sim_look(s);
        mot_stuck_resumed(s);
    }
    bool was_over = o->settled && (s->judge.ended || time_is_up(s));
    if (o->begins && !was_over) status = o->begins(o->begins_self, mark);
    if (status != MOT_OK) goto out_close;
    if (!o->resume) begin(s);
    else if (!s->judge.ended) mot_sim_due(s); /* due now, had the run not ended here */
    loop(s);
    /* Before the final evaluation, on which a checkpoint must not depend. */
    if (o->checkpoint && !was_over && (s->judge.status == MOT_EINTERRUPTED || s->judge.status == MOT_OK) &&
        mot_sim_save(s) != MOT_OK) {
        s->judge.status = MOT_ESYSTEM;
        s->judge.ended_by = "checkpoint";
    }
    close_accounts(s);
    if (s->judge.status != MOT_EINTERRUPTED && strcmp(s->judge.ended_by, "target") != 0) {
        enum mot_status kept = s->judge.status;
        mot_sim_evaluate(s, true);
        if (kept != MOT_OK) s->judge.status = kept;
    } else if (s->judge.status == MOT_EINTERRUPTED) {
        /* No figures of a model of an earlier update, and no evaluation: whoever interrupts does not want to
         * wait. */
        struct mot_moment m = mot_sim_moment(s);
        if (s->judge.last.updates == m.updates) m.score = s->judge.last.score;
        s->judge.last = m;
    }
    fill_outcome(s, out);
    out->was_over = was_over;
    status = mot_memory_status();
    if (status != MOT_OK) mot_outcome_close(out);
out_close:
    mot_sim_close(s);
    return status;
}

const struct mot_driver mot_driver_sim = { .name = "sim", .run = run, .plan = mot_sim_plan };
