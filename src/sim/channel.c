/* channel.c -- exactly-once, in-order delivery over links that lose, duplicate, delay and damage frames.
 *
 *   send -> frame ~~> arrives: in order -> delivered;  acknowledged by number <~~ ack
 *             ^ on timeout again, at most MOST_TRIES times; then the peer is given up
 *
 * A frame is one event. The sender keeps an item until it is acknowledged and no copy of it is in flight.
 * The number of items is limited and the excess waits its turn, so memory is bounded whatever the links
 * do. An acknowledgement says how many frames arrived in order; it is small and costs only the latency.
 * Damage is a mark on the frame: a simulated wire carries no bytes that a checksum could cover. */
#include "sim/channel.h"
#include "base/memory.h"
#include "run/clock.h"
#include <math.h>
#include <stdlib.h>

#define MOST_TRIES 24u
#define MOST_COPIES 4u                   /* copies of one item in flight */
#define LEAST_TIMEOUT UINT64_C(10000000) /* 10 ms */
#define HOLD_UP UINT64_C(1000000)        /* 1 ms: the shortest delay of a reordered frame */
#define NODES_MOST 10000u

/* ---- Room ------------------------------------------------------------------------------ */

static uint64_t most_undelivered(
    const struct mot_needs *n, const struct mot_experiment *x, const struct mot_world *w)
{
    return n->sends + mot_sim_flights(n, x, w);
}

static uint64_t limit_of(const struct mot_needs *n, const struct mot_experiment *x, const struct mot_world *w)
{
    return 2 * most_undelivered(n, x, w) + 64;
}

uint64_t mot_channel_items(
    const struct mot_needs *n, const struct mot_experiment *x, const struct mot_world *w)
{
    return limit_of(n, x, w) + most_undelivered(n, x, w);
}

static uint64_t faults_of(const struct mot_experiment *x)
{
    return x->cluster->faults.scheduled + MOT_FAULTS_RANDOM * RANDOM_SLOTS;
}

uint64_t mot_channel_events(
    const struct mot_needs *n, const struct mot_experiment *x, const struct mot_world *w)
{
    /* For each item its copies, a timeout, an acknowledgement and a delivery; for each fault its begin,
     * end and cut; for each node its loss and return. */
    return (MOST_COPIES + 4) * mot_channel_items(n, x, w) + 3 * faults_of(x) + 2 * (uint64_t)w->nodes +
        MOT_FAULTS_RANDOM;
}

uint64_t mot_channel_bytes(
    const struct mot_needs *n, const struct mot_experiment *x, const struct mot_world *w)
{
    if (!x->cluster->faults.any) return 0;
    /* Only connections in use are touched; assume a few per node. */
    return mot_channel_items(n, x, w) * sizeof(struct sim_item) +
        4 * (uint64_t)w->nodes * sizeof(struct sim_conn) + faults_of(x) * sizeof(struct sim_fault) +
        w->nodes * sizeof(struct sim_health);
}

static void open_faults(struct sim *s, struct sim_channel *c)
{
    c->faults = (uint32_t)faults_of(s->x);
    c->fault = mot_new_large(c->faults, sizeof(*c->fault));
    c->active = mot_new_large(c->faults, sizeof(*c->active));
    if (!c->fault || !c->active) return;
    for (uint32_t i = 0; i < c->conf->scheduled; i++) c->fault[i].f = c->conf->fault[i];
    for (int i = 0; i < MOT_FAULTS_RANDOM; i++)
        c->arrivals[i] = mot_rng_at(s->world.seed, MOT_RNG_FAULT, (uint64_t)i);
}

enum mot_status mot_channel_open(struct sim *s, const struct mot_needs *n)
{
    uint32_t nodes = s->world.nodes;
    if (!s->x->cluster->faults.any) return MOT_OK;
    if (nodes > NODES_MOST)
        return mot_fail(MOT_EUSAGE,
            "cluster.faults: faults are simulated for at most %u nodes; this run has %u", NODES_MOST, nodes);
    struct sim_channel *c = s->channel = mot_new(1, sizeof(*c));
    c->conf = &s->x->cluster->faults;
    c->items = (uint32_t)mot_channel_items(n, s->x, &s->world);
    c->limit = (uint32_t)limit_of(n, s->x, &s->world);
    if (s->o->frames && s->o->frames < c->limit) c->limit = s->o->frames;
    c->item = mot_new_large((size_t)c->items + 1, sizeof(*c->item));
    for (uint32_t i = c->items; c->item && i > 0; i--) {
        c->item[i].next = c->free;
        c->free = i;
    }
    c->conn = mot_reserve((size_t)nodes * nodes * sizeof(*c->conn));
    c->known = mot_reserve((size_t)nodes * nodes * sizeof(*c->known));
    c->health = mot_new_large(nodes, sizeof(*c->health));
    for (mot_node i = 0; !mot_memory_refused() && i < s->world.workers; i++) {
        struct mot_ledger *l = &c->health[i].ledger;
        struct mot_need need = mot_need_of(s->x, &s->world, i);
        l->max = 2 * (need.buffers + need.holds) + 8;
        l->held = mot_new_large(l->max, sizeof(*l->held));
    }
    open_faults(s, c);
    return mot_memory_status();
}

void mot_channel_close(struct sim *s)
{
    struct sim_channel *c = s->channel;
    size_t pairs = (size_t)s->world.nodes * s->world.nodes;
    if (!c) return;
    for (mot_node i = 0; c->health && i < s->world.nodes; i++) free(c->health[i].ledger.held);
    mot_release(c->conn, pairs * sizeof(*c->conn));
    mot_release(c->known, pairs * sizeof(*c->known));
    free(c->item);
    free(c->health);
    free(c->fault);
    free(c->active);
    free(c);
}

/* ---- Items and connections ------------------------------------------------------------------- */

static struct sim_conn *conn_of(struct sim *s, mot_node from, mot_node to, uint32_t *index)
{
    struct sim_channel *c = s->channel;
    *index = from * s->world.nodes + to;
    struct sim_conn *conn = &c->conn[*index];
    if (!conn->known) {
        conn->known = true;
        c->known[c->knowns++] = *index;
    }
    return conn;
}

static mot_time way(const struct sim *s, mot_node from, mot_node to)
{
    return s->x->cluster->machine[from].link.latency + s->x->cluster->machine[to].link.latency;
}

static void transmit(struct sim *s, uint32_t index);

static void let_go(struct sim *s)
{
    struct sim_channel *c = s->channel;
    while (c->held_first && c->out < c->limit) {
        uint32_t i = c->held_first;
        c->held_first = c->item[i].queue_next;
        if (!c->held_first) c->held_last = 0;
        c->item[i].held = false;
        c->out++;
        transmit(s, i);
    }
}

/* Frees the item once nobody needs it. */
static void settle(struct sim *s, uint32_t index)
{
    struct sim_channel *c = s->channel;
    struct sim_item *i = &c->item[index];
    if (!i->used || i->held || i->frames > 0 || !(i->gone || (i->acked && i->delivered))) return;
    if (c->conn[i->conn].last == index) c->conn[i->conn].last = 0;
    i->used = false;
    i->generation++;
    i->next = c->free;
    c->free = index;
    c->out--;
    let_go(s);
}

/* ---- Sending ------------------------------------------------------------------------------------- */

/* What happens to a frame depends on the seed and on how many frames were sent before it. */
struct fate {
    bool dropped, doubled, held_up, damaged;
    double by;
};

static struct fate fate_of(struct sim *s, mot_node from, mot_node to)
{
    struct sim_channel *c = s->channel;
    struct mot_rng rng = mot_rng_at(s->world.seed, MOT_RNG_FRAME, c->frames++);
    struct fate f = {
        .dropped = mot_rng_unit(&rng) < mot_faults_chance(s, MOT_FAULT_DROP, from, to),
        .doubled = mot_rng_unit(&rng) < mot_faults_chance(s, MOT_FAULT_DUPLICATE, from, to),
        .held_up = mot_rng_unit(&rng) < mot_faults_chance(s, MOT_FAULT_REORDER, from, to),
        .damaged = mot_rng_unit(&rng) < mot_faults_chance(s, MOT_FAULT_CORRUPT, from, to),
        .by = mot_rng_unit(&rng),
    };
    if (mot_faults_blocked(s, from, to)) {
        c->tally.cut++;
        return (struct fate){ .dropped = true };
    }
    c->tally.dropped += f.dropped;
    if (f.dropped) return f;
    c->tally.duplicated += f.doubled;
    c->tally.reordered += f.held_up;
    return f;
}

static mot_time held_up(const struct sim *s, mot_node from, mot_node to, double by)
{
    mot_time least = way(s, from, to) > HOLD_UP ? way(s, from, to) : HOLD_UP;
    return least + (mot_time)(3 * by * (double)least);
}

static mot_time timeout_of(const struct sim *s, const struct sim_item *i)
{
    const struct sim_conn *conn = &s->channel->conn[i->conn];
    mot_time base = conn->srtt + 4 * conn->rttvar, most = s->channel->conf->detect / 8,
             least = 6 * way(s, i->m.from, i->m.to);
    if (least < LEAST_TIMEOUT) least = LEAST_TIMEOUT; /* three round trips */
    if (base < LEAST_TIMEOUT) base = LEAST_TIMEOUT;
    if (most < least) most = least;
    for (uint32_t k = 1; k < i->tries && base < most; k++) base *= 2;
    return base < most ? base : most;
}

static void put_frame(struct sim *s, uint32_t index, mot_time at, bool damaged)
{
    struct sim_item *i = &s->channel->item[index];
    i->frames++;
    mot_sim_put(s, at, i->m.from, SIM_FRAME, index, 0, damaged);
}

static void arm(struct sim *s, uint32_t index)
{
    struct sim_item *i = &s->channel->item[index];
    mot_time from = i->left > s->now ? i->left : s->now;
    i->generation++;
    mot_sim_put(s, mot_after(from, timeout_of(s, i)), i->m.from, SIM_RESEND, index, i->generation, 0);
}

static struct mot_link slowed(const struct sim *s, mot_node node)
{
    struct mot_link link = s->x->cluster->machine[node].link;
    double factor = mot_faults_slow(s, node);
    link.up /= factor;
    link.down /= factor;
    return link;
}

static void transmit(struct sim *s, uint32_t index)
{
    struct sim_item *i = &s->channel->item[index];
    mot_node from = i->m.from, to = i->m.to;
    if (s->node[from].dead) return; /* unsent frames die with the node */
    struct mot_link up = slowed(s, from), down = slowed(s, to);
    struct mot_transfer t =
        mot_network_pass(&up, &down, &s->nic[from], &s->nic[to], i->bytes, mot_after(s->now, s->lag));
    struct fate fate = fate_of(s, from, to);
    if (t.delivered - s->now > s->fruitless.longest_message)
        s->fruitless.longest_message = t.delivered - s->now;
    i->tries++;
    i->left = t.delivered - up.latency - down.latency;
    if (s->watch.flight && mot_watch_follows(&s->watch))
        s->watch.flight(s->watch.self,
            &(struct mot_flight){ .from = from,
                .to = to,
                .kind = i->collective ? (uint16_t)i->step : i->m.kind,
                .bytes = i->bytes,
                .sent = s->now,
                .began = t.began,
                .delivered = t.delivered,
                .collective = i->collective });
    if (!fate.dropped) {
        put_frame(
            s, index, mot_after(t.delivered, fate.held_up ? held_up(s, from, to, fate.by) : 0), fate.damaged);
        if (fate.doubled)
            put_frame(s, index, mot_after(t.delivered, held_up(s, from, to, 1 - fate.by)), false);
    }
    arm(s, index);
}

static struct sim_item *new_item(struct sim *s, mot_node from, mot_node to, uint64_t bytes, uint32_t *index)
{
    struct sim_channel *c = s->channel;
    uint32_t pair;
    struct sim_conn *conn = conn_of(s, from, to, &pair);
    MOT_ASSERT(c->free && "more messages in flight than need() declared");
    *index = c->free;
    struct sim_item *i = &c->item[*index];
    c->free = i->next;
    *i = (struct sim_item){ .used = true,
        .conn = pair,
        .seq = conn->seq++,
        .bytes = bytes,
        .generation = i->generation,
        .m = { .from = from, .to = to } };
    if (conn->seq == 1) { /* start from what the handshake measured */
        conn->srtt = 2 * way(s, from, to);
        conn->rttvar = conn->srtt / 2;
    }
    if (conn->last) c->item[conn->last].next = *index;
    conn->last = *index;
    if (!conn->first) conn->first = *index;
    if (!conn->arrive) conn->arrive = *index;
    if (!conn->deliver) conn->deliver = *index;
    return i;
}

static void submit(struct sim *s, uint32_t index)
{
    struct sim_channel *c = s->channel;
    struct sim_item *i = &c->item[index];
    mot_node from = i->m.from, to = i->m.to;
    mot_sim_account(s, from);
    mot_sim_account(s, to);
    s->node[from].flying++;
    s->node[to].flying++;
    mot_sim_count(s, from, to, i->bytes);
    mot_sim_count_rows(s, &i->m, i->bytes);
    if (!c->held_first && c->out < c->limit) {
        c->out++;
        transmit(s, index);
        return;
    }
    i->held = true;
    if (c->held_last) c->item[c->held_last].queue_next = index;
    else c->held_first = index;
    c->held_last = index;
}

void mot_channel_send(struct sim *s, const struct mot_message *m)
{
    uint32_t index;
    if (s->node[m->to].dead && s->channel->health[m->to].told) { /* the sender knows of the loss */
        mot_pool_drop(&s->pool, m->body.buf);
        return;
    }
    /* takes over the hold that mot_send took */
    new_item(s, m->from, m->to, mot_message_bytes(&s->world, &s->pool, m, s->wire_bytes), &index)->m = *m;
    submit(s, index);
}

void mot_channel_send_step(
    struct sim *s, mot_node from, mot_node to, uint64_t bytes, uint32_t step, uint32_t instance)
{
    uint32_t index;
    if (s->node[to].dead && s->channel->health[to].told) return;
    struct sim_item *i = new_item(s, from, to, bytes, &index);
    i->collective = true;
    i->step = step;
    i->instance = (uint16_t)instance;
    submit(s, index);
}

void mot_channel_resend(struct sim *s, uint32_t index)
{
    struct sim_item *i = &s->channel->item[index];
    if (s->node[i->m.from].dead) return; /* a dead node resends nothing */
    if (i->tries >= MOST_TRIES) {
        mot_faults_give_up(s, i->m.from, i->m.to);
        return;
    }
    if (i->frames + 2 > MOST_COPIES) { /* enough copies are in flight */
        arm(s, index);
        return;
    }
    s->channel->tally.resent++;
    transmit(s, index);
}

/* ---- Arriving ---------------------------------------------------------------------------------------- */

#define ACK_LOST 1u

static void acknowledge(struct sim *s, uint32_t pair, uint32_t item)
{
    struct sim_channel *c = s->channel;
    struct sim_conn *conn = &c->conn[pair];
    mot_node from = pair / s->world.nodes, to = pair % s->world.nodes;
    if (conn->acking) {
        conn->ack_again = true;
        return;
    }
    struct fate fate = fate_of(s, to, from);
    conn->acking = true;
    conn->ack = conn->arrived;
    conn->echo = item;
    if (!fate.dropped) c->tally.corrupted += fate.damaged;
    mot_time at = s->now + way(s, from, to) + (fate.held_up ? held_up(s, from, to, fate.by) : 0);
    mot_sim_put(s, at, to, SIM_ACK, pair, conn->generation, fate.dropped || fate.damaged ? ACK_LOST : 0);
}

static void hand_over(struct sim *s, uint32_t index)
{
    struct sim_item *i = &s->channel->item[index];
    struct mot_message m = i->m;
    mot_sim_arrive(s, m.from, m.to);
    if (m.from < s->world.workers) mot_stuck_arrived(s);
    i->delivered = true;
    i->m.body.buf = MOT_NO_BUF;
    if (i->collective) {
        mot_sim_coll_step(s, i->instance, m.from, m.to, i->step);
    } else {
        mot_sim_deliver(s, &m);
    }
    settle(s, index);
}

void mot_channel_deliver(struct sim *s, uint32_t pair)
{
    struct sim_channel *c = s->channel;
    struct sim_conn *conn = &c->conn[pair];
    mot_node to = pair % s->world.nodes;
    conn->delivering = false;
    while (
        !s->judge.ended && !s->node[to].dead && conn->deliver && c->item[conn->deliver].seq < conn->arrived) {
        if (s->node[to].stalled_until > s->now) {
            conn->delivering = true;
            mot_sim_put(
                s, s->node[to].stalled_until, pair / s->world.nodes, SIM_DELIVER, pair, conn->generation, 0);
            return;
        }
        uint32_t index = conn->deliver;
        conn->deliver = c->item[index].next;
        hand_over(s, index);
    }
}

void mot_channel_frame(struct sim *s, const struct mot_pending *p)
{
    struct sim_channel *c = s->channel;
    struct sim_item *i = &c->item[p->index];
    uint32_t pair = i->conn;
    struct sim_conn *conn = &c->conn[pair];
    i->frames--;
    /* A frame still on the link when its sender crashed never arrives. */
    bool cut_short = s->node[i->m.from].dead && i->left > c->health[i->m.from].lost_at;
    bool blocked = !i->gone && mot_faults_blocked(s, i->m.from, i->m.to);
    c->tally.cut += blocked;
    c->tally.corrupted += !i->gone && !blocked && p->instance;
    if (!i->gone && !blocked && !p->instance && !cut_short && !s->node[i->m.to].dead) {
        i->arrived = true;
        while (conn->arrive && c->item[conn->arrive].arrived) {
            conn->arrived = c->item[conn->arrive].seq + 1;
            conn->arrive = c->item[conn->arrive].next;
        }
        /* A late copy of an acknowledged item needs no answer. */
        if (!i->acked) acknowledge(s, pair, p->index);
        if (!conn->delivering) mot_channel_deliver(s, pair);
    }
    settle(s, p->index);
}

/* Learns a round trip: from the frame being answered, not from those queued behind it, and only if it was
 * sent once, since otherwise it is unknown which copy is answered (Karn and Partridge, 1987). */
static void learn(struct sim *s, struct sim_conn *conn, const struct sim_item *i)
{
    if (i->tries != 1 || s->now < i->left) return;
    mot_time sample = s->now - i->left, off = sample > conn->srtt ? sample - conn->srtt : conn->srtt - sample;
    conn->rttvar = conn->rttvar - conn->rttvar / 4 + off / 4;
    conn->srtt = conn->srtt - conn->srtt / 8 + sample / 8;
}

void mot_channel_ack(struct sim *s, const struct mot_pending *p)
{
    struct sim_channel *c = s->channel;
    struct sim_conn *conn = &c->conn[p->index];
    mot_node from = p->index / s->world.nodes, to = p->index % s->world.nodes;
    bool blocked = mot_faults_blocked(s, to, from);
    conn->acking = false;
    if (blocked && p->instance != ACK_LOST) c->tally.cut++;
    while (p->instance != ACK_LOST && !blocked && !s->node[from].dead && conn->first &&
        c->item[conn->first].seq < conn->ack) {
        uint32_t index = conn->first;
        struct sim_item *i = &c->item[index];
        conn->first = i->next;
        i->acked = true;
        i->generation++;
        if (index == conn->echo) learn(s, conn, i);
        settle(s, index);
    }
    if (conn->ack_again && !s->node[to].dead) {
        conn->ack_again = false;
        acknowledge(s, p->index, 0);
    }
}

/* ---- Closing ------------------------------------------------------------------------------------------- */

static void unhold(struct sim_channel *c, uint32_t index)
{
    uint32_t before = 0, at = c->held_first;
    while (at && at != index) {
        before = at;
        at = c->item[at].queue_next;
    }
    MOT_ASSERT(at == index);
    if (before) c->item[before].queue_next = c->item[index].queue_next;
    else c->held_first = c->item[index].queue_next;
    if (c->held_last == index) c->held_last = before;
    c->item[index].held = false;
    c->out++; /* settling decrements it again */
}

static void close_conn(struct sim *s, mot_node from, mot_node to)
{
    struct sim_channel *c = s->channel;
    uint32_t pair = from * s->world.nodes + to;
    struct sim_conn *conn = &c->conn[pair];
    if (!conn->known) return;
    /* Items acknowledged but held for a stalled node precede the unacknowledged ones. */
    uint32_t at = conn->deliver && (!conn->first || c->item[conn->deliver].seq < c->item[conn->first].seq)
        ? conn->deliver
        : conn->first;
    *conn = (struct sim_conn){ .known = true, .generation = conn->generation + 1 };
    while (at) {
        struct sim_item *i = &c->item[at];
        uint32_t next = i->next;
        if (!i->delivered) {
            mot_sim_arrive(s, i->m.from, i->m.to);
            mot_pool_drop(&s->pool, i->m.body.buf);
            i->m.body.buf = MOT_NO_BUF;
        }
        i->gone = true;
        i->generation++;
        if (i->held) unhold(c, at);
        settle(s, at);
        at = next;
    }
}

void mot_channel_forget(struct sim *s, mot_node node)
{
    for (mot_node other = 0; other < s->world.nodes; other++) {
        close_conn(s, node, other);
        close_conn(s, other, node);
    }
}

bool mot_channel_live(const struct sim *s, const struct mot_pending *p)
{
    const struct sim_channel *c = s->channel;
    switch (p->kind) {
    case SIM_ACK:
    case SIM_DELIVER: return c->conn[p->index].generation == p->extra;
    case SIM_RESEND: return c->item[p->index].used && c->item[p->index].generation == p->extra;
    case SIM_FAULT: return p->instance == FAULT_ARRIVAL || c->fault[p->index].generation == p->extra;
    case SIM_LOST:
        return s->node[p->index].dead && !c->health[p->index].told && c->health[p->index].life == p->extra;
    case SIM_JOIN: return s->node[p->index].dead && c->health[p->index].joins == p->extra;
    default: return true;
    }
}
