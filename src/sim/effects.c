/* effects.c -- one step of one node, and its effects. */
#include "run/clock.h"
#include "sim/channel.h"

/* Inline, as two thirds of all events are messages that come and go. */
static inline __attribute__((always_inline)) void account(struct sim *s, mot_node node)
{
    struct sim_node *n = &s->node[node];
    mot_time passed = s->now - n->since;
    if (passed == 0) return;
    if (s->hosts && !n->computing && s->hosts->busy_until[node] > n->since) { /* a step counts as computing */
        mot_time busy = s->hosts->busy_until[node] - n->since, share = busy < passed ? busy : passed;
        n->actor.tally.compute += share;
        passed -= share;
    }
    if (n->stalled_until > n->since) n->actor.tally.wait += passed;
    else if (n->computing) n->actor.tally.compute += passed;
    else if (n->flying) n->actor.tally.send += passed;
    else n->actor.tally.wait += passed;
    n->since = s->now;
}

void mot_sim_account(struct sim *s, mot_node node) { account(s, node); }

struct mot_env *mot_sim_env(struct sim *s, mot_node node)
{
    struct mot_env *env = &s->env;
    env->self = node;
    env->now = s->now;
    env->life = 0;
    env->held = s->node[node].actor.held;
    return env;
}

bool mot_sim_still_live(const struct sim *s, const struct mot_pending *p)
{
    switch ((enum sim_event)p->kind) {
    case SIM_WORK:
        return s->work[p->index].slot.state == MOT_SLOT_RUNNING && s->work[p->index].generation == p->extra;
    case SIM_TIMER: return s->alarm[p->index].at != MOT_NEVER && s->alarm[p->index].generation == p->extra;
    case SIM_FEED: return s->node[p->index].feeds == p->extra;
    case SIM_IDLE: return s->hosts && s->hosts->busy_until[p->index] == p->at;
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

/* Sweeps out cancelled events. They have half of the heap to themselves, so this is rare and always frees
 * room. */
static void sweep(struct sim *s)
{
    struct mot_heap *h = &s->heap;
    MOT_ASSERT(!h->hole); /* the heap was full */
    uint32_t n = h->n;
    h->n = 0;
    /* Compacts in place: entry i is read before position i is written. */
    for (uint32_t i = 0; i < n; i++) {
        struct mot_pending p = h->e[i];
        if (mot_sim_live(s, &p)) mot_heap_put(h, &p);
    }
}

/* Inline where messages are sent: the call costs 23 instructions a message. */
static inline __attribute__((always_inline)) void put(struct sim *s, mot_time at, mot_node rank,
    enum sim_event kind, uint32_t index, uint32_t extra, uint32_t instance)
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

void mot_sim_put(struct sim *s, mot_time at, mot_node rank, enum sim_event kind, uint32_t index,
    uint32_t extra, uint32_t instance)
{
    put(s, at, rank, kind, index, extra, instance);
}

static inline __attribute__((always_inline)) mot_time depart(
    struct sim *s, mot_node from, mot_node to, uint64_t bytes, uint16_t kind, bool collective)
{
    struct mot_transfer t =
        mot_network_send(s->x->cluster, s->nic, from, to, bytes, mot_after(s->now, s->lag));
    account(s, from);
    account(s, to);
    s->node[from].flying++;
    s->node[to].flying++;
    mot_sim_count(s, from, to, bytes);
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

mot_time mot_sim_depart(
    struct sim *s, mot_node from, mot_node to, uint64_t bytes, uint16_t kind, bool collective)
{
    return depart(s, from, to, bytes, kind, collective);
}

void mot_sim_arrive(struct sim *s, mot_node from, mot_node to)
{
    account(s, from);
    account(s, to);
    s->node[from].flying--;
    s->node[to].flying--;
}

static void send(void *sim, struct mot_actor *from, const struct mot_message *m)
{
    struct sim *s = sim;
    (void)from;
    if (m->given && s->watch.shared) s->watch.shared(s->watch.self, m, s->now);
    if (s->channel) {
        mot_channel_send(s, m);
        return;
    }
    MOT_ASSERT(s->messages_free > 0 && "more messages in flight than need() declared");
    uint32_t slot = s->message_free[--s->messages_free];
    s->message[slot] = *m; /* takes over the hold that mot_send took */
    uint64_t bytes = mot_message_bytes(&s->world, &s->pool, m, s->wire_bytes);
    mot_sim_count_rows(s, m, bytes);
    mot_time delivered = depart(s, m->from, m->to, bytes, m->kind, false);
    put(s, delivered, m->from, SIM_MESSAGE, slot, 0, 0);
}

static void set_alarm(void *sim, struct mot_actor *actor, uint32_t tag, mot_time at)
{
    struct sim *s = sim;
    mot_node node = actor->self;
    uint32_t slot = s->node[node].alarm + tag;
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

static void node_stopped(void *sim, struct mot_actor *actor, enum mot_status why)
{
    struct sim *s = sim;
    mot_node node = actor->self;
    struct sim_node *n = &s->node[node];
    if (n->stopped) return;
    n->stopped = true;
    if (why != MOT_OK) {
        s->has_peer = why == MOT_EPEER && s->peer < s->world.nodes;
        mot_judge_end(&s->judge, why, mot_status_name(why));
        return;
    }
    s->stops += mot_sim_counts(s, node);
    if (mot_sim_all_stopped(s)) mot_judge_end(&s->judge, MOT_OK, "data");
}

static void credit(void *sim, struct mot_actor *actor, mot_node worker)
{
    (void)actor;
    ((struct sim *)sim)->node[worker].actor.tally.updates++;
}

static void note(void *sim, struct mot_actor *actor, const char *key, double value)
{
    (void)actor;
    mot_notes_add(&((struct sim *)sim)->notes, key, value);
}

static void enter(void *sim, struct mot_actor *actor)
{
    struct sim *s = sim;
    MOT_ASSERT(s->world.servers == 0 && s->channel && s->channel->health[actor->self].life > 0);
    s->channel->health[actor->self].entered = true;
    mot_sim_catches_up(s, actor->self);
}

static void advance(void *sim, struct mot_actor *actor)
{
    struct sim *s = sim;
    bool counts = mot_sim_counts(s, actor->self);
    if (!counts && s->channel && s->world.servers == 0) mot_sim_catches_up(s, actor->self);
    if (counts && actor->advanced == s->updates + 1 && !s->x->traits.own_pace) s->at_least--;
    if (counts) actor->tally.updates++;
    s->steps++;
    s->advanced = true;
    mot_stuck_updated(s);
    if (s->watch.update && mot_watch_follows(&s->watch))
        s->watch.update(s->watch.self, actor->self, actor->advanced, s->now);
}

static const struct mot_actor_ops ops = { .send = send,
    .start = mot_sim_start,
    .cancel = mot_sim_cancel,
    .collect = mot_sim_join,
    .alarm = set_alarm,
    .advance = advance,
    .enter = enter,
    .credit = credit,
    .note = note,
    .stop = node_stopped };

static void look_at(struct sim *s, const struct sim_node *n, const struct mot_env *env)
{
    s->unlooked = mot_sim_looks_after(&s->world);
    if (s->method->check) s->method->check(n->actor.state, env);
}

void mot_sim_step(struct sim *s, mot_node node, const struct mot_event *event)
{
    struct sim_node *n = &s->node[node];
    if (n->stopped && !s->x->traits.own_pace) return; /* later events change nothing */
    MOT_ASSERT(s->outbox.n == 0 && !n->dead);
    struct mot_env *env = mot_sim_env(s, node);
    if (s->channel && node < s->world.workers) s->outbox.ledger = &s->channel->health[node].ledger;
    s->method->step(n->actor.state, env, event);
    s->outbox.ledger = NULL;
    if (--s->unlooked == 0) look_at(s, n, env);
    s->advanced = false;
    if (s->hosts) mot_hosts_charge(s, node);
    mot_actor_drain(&n->actor, &s->outbox, &ops, s);
    s->lag = 0;
    s->evaluated_now = s->at_update = false;
    if (!s->advanced) return;
    if (s->showing > 1 && !s->x->traits.own_pace) mot_sim_show(s, node);
    mot_sim_progress(s);
}
