/* effects.c -- a step of one node, and the effects that it asked for. */
#include "run/clock.h"
#include "sim/channel.h"

void mot_sim_account(struct sim *s, mot_node node)
{
    struct sim_node *n = &s->node[node];
    mot_time passed = s->now - n->since;
    if (n->stalled_until > n->since) n->tally.wait += passed;
    else if (n->computing) n->tally.compute += passed;
    else if (n->flying) n->tally.send += passed;
    else n->tally.wait += passed;
    n->since = s->now;
}

struct mot_memo *mot_sim_memo(struct sim *s)
{
    return s->world.servers == 0 && !s->method->decentralised ? &s->memo : NULL;
}

bool mot_sim_live(const struct sim *s, const struct mot_pending *p)
{
    switch ((enum sim_event)p->kind) {
    case SIM_WORK: return s->work[p->index].state == WORK_RUNNING && s->work[p->index].generation == p->extra;
    case SIM_TIMER: return s->alarm[p->index].at != MOT_NEVER && s->alarm[p->index].generation == p->extra;
    case SIM_START:
    case SIM_MESSAGE:
    case SIM_COLL: return true;
    case SIM_FRAME:
    case SIM_ACK:
    case SIM_DELIVER:
    case SIM_RESEND:
    case SIM_FAULT:
    case SIM_LOST:
    case SIM_JOIN: return mot_channel_live(s, p);
    }
    return true;
}

/* Sweeps out events that were cancelled. Half of the heap's room is for them, so
 * this is rare and always makes room. */
static void sweep(struct sim *s)
{
    struct mot_heap *h = &s->heap;
    MOT_ASSERT(!h->hole); /* it was full */
    uint32_t n = h->n;
    h->n = 0;
    /* Putting back in place works: entry i is read before position i is written. */
    for (uint32_t i = 0; i < n; i++) {
        struct mot_pending p = h->e[i];
        if (mot_sim_live(s, &p)) mot_heap_put(h, &p);
    }
}

void mot_sim_put(struct sim *s, mot_time at, mot_node rank, enum sim_event kind, uint32_t index,
    uint32_t extra, uint32_t instance)
{
    MOT_ASSERT(at >= s->now);
    struct mot_pending p = { .at = at,
        .tie = mot_tie(rank, s->order++),
        .kind = (uint16_t)kind,
        .instance = (uint16_t)instance,
        .index = index,
        .extra = extra };
    if (s->heap.n == s->heap.capacity && !s->heap.hole) sweep(s);
    mot_heap_put(&s->heap, &p);
}

mot_time mot_sim_depart(
    struct sim *s, mot_node from, mot_node to, uint64_t floats, uint16_t kind, bool collective)
{
    uint64_t bytes = (uint64_t)((double)floats * s->wire_bytes + 0.5);
    struct mot_transfer t = mot_network_send(s->x->cluster, s->nic, from, to, bytes, s->now);
    mot_sim_account(s, from);
    mot_sim_account(s, to);
    s->node[from].flying++;
    s->node[to].flying++;
    s->node[from].tally.bytes_sent += bytes;
    s->node[from].tally.messages_sent++;
    s->bytes_sent += bytes;
    s->messages_sent++;
    if (s->watch.flight && mot_watch_follows(&s->watch))
        s->watch.flight(s->watch.self,
            &(struct mot_flight){ .from = from,
                .to = to,
                .kind = kind,
                .bytes = bytes,
                .sent = s->now,
                .began = t.began,
                .delivered = t.delivered,
                .collective = collective });
    return t.delivered;
}

void mot_sim_arrive(struct sim *s, mot_node from, mot_node to)
{
    mot_sim_account(s, from);
    mot_sim_account(s, to);
    s->node[from].flying--;
    s->node[to].flying--;
}

static void send(struct sim *s, const struct mot_message *m)
{
    if (s->channel) {
        mot_channel_send(s, m);
        return;
    }
    MOT_ASSERT(s->messages_free > 0 && "more messages under way than need() declared");
    uint32_t slot = s->message_free[--s->messages_free];
    s->message[slot] = *m; /* the hold of mot_send is ours now */
    mot_time delivered =
        mot_sim_depart(s, m->from, m->to, m->body.buf == MOT_NO_BUF ? 0 : m->body.len, m->kind, false);
    mot_sim_put(s, delivered, m->from, SIM_MESSAGE, slot, 0, 0);
}

static void set_alarm(struct sim *s, mot_node node, uint32_t tag, mot_time at)
{
    struct sim_node *n = &s->node[node];
    MOT_ASSERT(tag < n->alarms);
    uint32_t slot = n->alarm + tag;
    struct sim_alarm *a = &s->alarm[slot];
    a->generation++;
    a->at = at;
    if (at == MOT_NEVER) return;
    if (at > MOT_CLOCK_END) at = MOT_CLOCK_END;
    mot_sim_put(s, at > s->now ? at : s->now, node, SIM_TIMER, slot, a->generation, 0);
}

bool mot_sim_all_stopped(const struct sim *s)
{
    if (s->stops == 0) return false;
    uint32_t count = s->world.servers ? s->world.servers : s->world.workers;
    for (mot_node i = 0; s->channel && s->world.servers == 0 && i < s->world.workers; i++)
        count -= !mot_sim_counts(s, i);
    return s->stops == count;
}

static void node_stopped(struct sim *s, mot_node node, enum mot_status why)
{
    struct sim_node *n = &s->node[node];
    if (n->stopped) return;
    n->stopped = true;
    if (why != MOT_OK) {
        s->has_peer = why == MOT_EPEER && s->peer < s->world.nodes;
        mot_sim_end(s, why, mot_status_name(why));
        return;
    }
    s->stops += mot_sim_counts(s, node);
    if (mot_sim_all_stopped(s)) mot_sim_end(s, MOT_OK, "data");
}

static void carry_out(struct sim *s, mot_node node, const struct mot_effect *e, bool *advanced)
{
    switch (e->kind) {
    case MOT_FX_SEND: send(s, &e->message); return;
    case MOT_FX_START: mot_sim_start(s, node, &e->work); return;
    case MOT_FX_CANCEL: mot_sim_cancel(s, node, e->alarm.tag); return;
    case MOT_FX_COLLECT: mot_sim_join(s, node, &e->coll); return;
    case MOT_FX_ALARM: set_alarm(s, node, e->alarm.tag, e->alarm.at); return;
    case MOT_FX_NOTE: mot_notes_add(&s->notes, e->note.key, e->note.value); return;
    case MOT_FX_STOP: node_stopped(s, node, e->stop); return;
    case MOT_FX_CREDIT: s->node[e->credit].tally.updates++; return;
    case MOT_FX_ADVANCE:
        if (s->node[node].advanced++ == s->updates && mot_sim_counts(s, node)) s->at_least--;
        s->steps++;
        mot_stuck_updated(s);
        if (mot_sim_counts(s, node)) s->node[node].tally.updates++;
        if (s->watch.update && mot_watch_follows(&s->watch))
            s->watch.update(s->watch.self, node, s->node[node].advanced, s->now);
        *advanced = true;
        return;
    }
}

/* In debug builds invariants are looked at after every step, in others now and then: a look may
 * take as long as there are workers, and is to cost no more than the steps between two. (NDEBUG says
 * nothing here: asserts are on in every build.) */
static bool looks(struct sim *s)
{
#ifdef MOT_DEBUG
    const uint32_t often = 1;
#else
    const uint32_t often = s->world.nodes > 256 ? s->world.nodes : 256;
#endif
    if (!s->method->check || ++s->unlooked < often) return false;
    s->unlooked = 0;
    return true;
}

void mot_sim_step(struct sim *s, mot_node node, const struct mot_event *event)
{
    struct sim_node *n = &s->node[node];
    if (n->stopped) return; /* what still reaches it changes nothing */
    MOT_ASSERT(s->outbox.n == 0 && !n->dead);
    struct mot_env env = { .self = node,
        .now = s->now,
        .world = &s->world,
        .conf = s->x->method_conf,
        .pool = &s->pool,
        .out = &s->outbox,
        .memo = mot_sim_memo(s) };
    if (s->channel && node < s->world.workers) s->outbox.ledger = &s->channel->health[node].ledger;
    s->method->step(n->state, &env, event);
    s->outbox.ledger = NULL;
    if (looks(s)) s->method->check(n->state, &env);
    bool advanced = false;
    for (uint32_t i = 0; i < s->outbox.n; i++) carry_out(s, node, &s->outbox.effect[i], &advanced);
    mot_outbox_clear(&s->outbox);
    s->evaluated_now = s->at_update = false;
    if (!advanced) return;
    if (s->showing > 1) mot_sim_show(s, node);
    mot_sim_progress(s);
}
