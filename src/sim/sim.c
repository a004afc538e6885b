/* sim.c -- the loop: the earliest event, its node's step, what follows; until the end.
 *
 * One thread runs all of this, so a run is a function of its experiment alone;
 * the crew's threads only compute gradients and evaluations, whose results do
 * not depend on who computes them or when. */
#include "sim/sim.h"
#include "base/holds.h"
#include "base/memory.h"
#include "base/words.h"
#include "run/clock.h"
#include "sim/channel.h"
#include "run/world.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

double mot_sim_wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void begin(struct sim *s)
{
    for (mot_node i = 0; i < s->world.nodes; i++) {
        struct mot_env env = { .self = i,
            .world = &s->world,
            .conf = s->x->method_conf,
            .pool = &s->pool,
            .out = &s->outbox,
            .memo = mot_sim_memo(s) };
        if (s->channel && i < s->world.workers) s->outbox.ledger = &s->channel->health[i].ledger;
        s->method->init(s->node[i].state, &env);
        s->outbox.ledger = NULL;
        MOT_ASSERT(s->outbox.n == 0 && "init has no effects");
    }
    if (s->channel) mot_faults_begin(s); /* first, so that a fault at 0 comes before the start */
    for (mot_node i = 0; i < s->world.nodes; i++) mot_sim_put(s, 0, i, SIM_START, i, 0, 0);
    mot_sim_evaluate(s, false);
}

static void check_states(void *self)
{
    struct sim *s = self;
    for (mot_node i = 0; i < s->world.nodes && s->method->check; i++) {
        struct mot_env env = {
            .self = i, .now = s->now, .world = &s->world, .conf = s->x->method_conf, .pool = &s->pool
        };
        if (!s->node[i].dead) s->method->check(s->node[i].state, &env);
    }
}

static void deliver_message(struct sim *s, uint32_t slot)
{
    struct mot_message m = s->message[slot];
    s->message_free[s->messages_free++] = slot;
    mot_sim_arrive(s, m.from, m.to);
    mot_sim_step(s, m.to, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = &m });
    mot_pool_drop(&s->pool, m.body.buf);
}

static void handle(struct sim *s, const struct mot_pending *p)
{
    s->now = p->at;
    s->events++;
    if (s->channel && mot_faults_waits(s, p)) return;
    switch ((enum sim_event)p->kind) {
    case SIM_START: mot_sim_step(s, p->index, &(struct mot_event){ .kind = MOT_EV_START }); return;
    case SIM_MESSAGE: deliver_message(s, p->index); return;
    case SIM_WORK: mot_sim_work_done(s, p->index); return;
    case SIM_COLL: mot_sim_coll_received(s, p); return;
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

/* Looks at the wall clock once in a while, for progress; the run does not see it. */
static void tick(struct sim *s)
{
    if (!s->watch.tick || s->events % 64 != 0) return;
    double now = mot_sim_wall();
    if (now - s->ticked_wall_s < 0.1) return;
    s->ticked_wall_s = now;
    struct mot_moment m = mot_sim_moment(s);
    struct mot_pick pick = { 0 };
    for (mot_node i = 0; i < s->world.workers; i++)
        mot_pick_worker(&pick, i,
            s->node[i].tally.jobs ? (double)s->node[i].tally.compute / (double)s->node[i].tally.jobs : 0);
    mot_pick_slowest(&pick, &m);
    s->watch.tick(s->watch.self, &m);
}

static void loop(struct sim *s)
{
    while (!s->ended) {
        const struct mot_pending *first = mot_heap_first(&s->heap);
        if (!first && s->channel) mot_faults_halt(s);
        if (s->ended) return;
        if (!first) {
            mot_fail(MOT_ESYSTEM, "method %s came to a halt: no message, work or alarm is pending",
                s->method->name);
            mot_sim_end(s, MOT_ESYSTEM, "halt");
            return;
        }
        if (!mot_sim_live(s, first)) {
            mot_heap_take(&s->heap);
            continue;
        }
        mot_time next = first->at;
        if (s->o->interrupt && *s->o->interrupt) {
            mot_sim_end(s, MOT_EINTERRUPTED, "interrupted");
            return;
        }
        if (next > s->x->stop.time) {
            mot_sim_before(s, s->x->stop.time);
            if (s->ended) return;
            /* A run that is resumed with less time than it has had does not go back. */
            if (s->x->stop.time > s->now) s->now = s->x->stop.time;
            mot_sim_end(s, MOT_OK, "time");
            return;
        }
        if (next >= MOT_CLOCK_END) {
            mot_fail(MOT_EUSAGE,
                "the run's clock would pass 292 years after %llu update%s: a job or a message of this "
                "cluster "
                "takes that "
                "long; look at its speeds and links, or give stop.time",
                (unsigned long long)s->updates, mot_plural(s->updates));
            mot_sim_end(s, MOT_EUSAGE, "clock");
            return;
        }
        mot_sim_before(s, next);
        if (s->ended) return;
        struct mot_pending p = mot_heap_take(&s->heap);
        handle(s, &p);
        tick(s);
    }
}

static void close_accounts(struct sim *s)
{
    for (mot_node i = 0; i < s->world.nodes; i++) mot_sim_account(s, i);
}

static float *copy_model(const float *x, uint32_t dim)
{
    float *copy = mot_new(dim, sizeof(*copy));
    memcpy(copy, x, dim * sizeof(*copy));
    return copy;
}

static void fill_outcome(struct sim *s, struct mot_outcome *out)
{
    uint32_t dim = s->world.dim;
    *out = (struct mot_outcome){ .status = s->status,
        .ended_by = s->ended_by,
        .last = s->last,
        .workers = s->world.workers,
        .servers = s->world.servers,
        .best_score = s->best_score,
        .best_updates = s->best_updates,
        .job_wall_s = s->job_wall_s,
        .wall_s = mot_sim_wall() - s->started_wall_s };
    out->has_peer = s->has_peer && s->status == MOT_EPEER;
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
    out->target.reached = s->target_reached;
    out->target.at = s->target_at;
    out->target.updates = s->target_updates;
    out->node = mot_new(s->world.nodes, sizeof(*out->node));
    for (mot_node i = 0; i < s->world.nodes; i++) out->node[i] = s->node[i].tally;
    mot_outcome_note(out, &s->notes);
    out->arena = s->arena;
    s->arena = (struct mot_arena){ 0 };
    out->x = copy_model(mot_sim_model(s, NULL), dim);
    if (s->best && s->best_updates) out->best = copy_model(s->best, dim);
    /* The parameters are little-endian floats; motley supports no other machine (see base/status.c). */
    out->model_hash = XXH64(out->x, dim * sizeof(float), 0);
}

/* Whether nothing more happens before stop.time: the loop would end at once. */
static bool time_is_up(struct sim *s)
{
    const struct mot_pending *first = mot_heap_first(&s->heap);
    return s->now >= s->x->stop.time && (!first || first->at > s->x->stop.time);
}

enum mot_status mot_sim_run(const struct mot_sim_options *o, struct mot_outcome *out)
{
    struct sim *s;
    enum mot_status status = mot_sim_open(o, &s);
    if (status != MOT_OK) return status;
    s->started_wall_s = mot_sim_wall();
    uint64_t mark = 0;
    if (o->resume) {
        status = mot_sim_restore(s, &mark);
        /* States that come from a file hold what the method says must hold, or the run goes no further. */
        if (status == MOT_OK && !mot_holds(check_states, s))
            status = mot_fail(MOT_EDATA, "%s: damaged: a node's state is none that method %s can be in",
                o->checkpoint, s->method->name);
        if (status != MOT_OK) goto out_close;
        s->saved = true;
        s->saved_updates = s->updates;
        mot_sim_look(s);
    }
    bool was_over = o->settled && (s->ended || time_is_up(s));
    if (o->begins && !was_over) status = o->begins(o->begins_self, mark);
    if (status != MOT_OK) goto out_close;
    if (!o->resume) begin(s);
    else if (!s->ended) mot_sim_due(s); /* had the run not ended there, it would have been done then */
    loop(s);
    /* What a checkpoint keeps must not depend on the last evaluation. */
    if (o->checkpoint && !was_over && (s->status == MOT_EINTERRUPTED || s->status == MOT_OK) &&
        mot_sim_save(s) != MOT_OK) {
        s->status = MOT_ESYSTEM;
        s->ended_by = "checkpoint";
    }
    close_accounts(s);
    if (s->status != MOT_EINTERRUPTED && strcmp(s->ended_by, "target") != 0) {
        enum mot_status kept = s->status;
        mot_sim_evaluate(s, true);
        if (kept != MOT_OK) s->status = kept;
    } else if (s->status == MOT_EINTERRUPTED) {
        struct mot_moment m = mot_sim_moment(s);
        m.score = s->last.score;
        s->last = m;
    }
    fill_outcome(s, out);
    out->was_over = was_over;
out_close:
    mot_sim_close(s);
    return status;
}
