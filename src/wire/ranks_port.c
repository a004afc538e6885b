/* ranks_port.c -- the ports of a rank's nodes.
 *
 * A message to a node of the same process moves from inbox to inbox without a copy. When emulating, the
 * sender's up link determines how long a message waits and takes, the receiver's down link adds its part
 * from the arrival on, and the inbox hides the message until its time has come. */
#include "base/memory.h"
#include "compress/packet.h"
#include "method/methods.h"
#include "wire/ranks_state.h"
#include <stdlib.h>
#include <string.h>

struct hosted *mot_ranks_hosted(struct mot_ranks *p, mot_node node)
{
    for (uint32_t i = 0; i < p->hosts; i++)
        if (p->hosted[i].node.actor.self == node) return &p->hosted[i];
    return NULL;
}

static void put(struct hosted *b, struct letter *l)
{
    *b->tail = l;
    b->tail = &l->next;
}

/* Bytes on the emulated wire. */
static uint64_t wire_size(const struct mot_ranks *p, const struct mot_envelope *e)
{
    const struct mot_world *w = &p->live.world;
    if (e->message.given) return e->message.len * w->row_bytes[e->message.off];
    if (e->kind == MOT_ENVELOPE_ROWS) return w->part_bytes[e->message.off];
    return e->message.packed ? e->bytes : mot_floats_bytes(e->message.len, p->wire_bytes);
}

static mot_time due_at(struct mot_ranks *p, struct hosted *to, const struct mot_envelope *e)
{
    if (!p->live.emulate) return 0;
    return mot_network_arrive(p->live.experiment->cluster, &to->nic, e->message.from, e->message.to,
        wire_size(p, e), (struct mot_departure){ e->message.lag, e->message.took }, mot_live_now(&p->live));
}

static void depart(struct mot_ranks *p, struct hosted *from, struct mot_envelope *e)
{
    if (!p->live.emulate) return;
    struct mot_departure d = mot_network_leave(
        p->live.experiment->cluster, &from->nic, e->message.from, wire_size(p, e), mot_live_now(&p->live));
    e->message.lag = d.lag;
    e->message.took = d.took;
}

static void fill_message(const struct mot_ranks *p, struct letter *l, mot_buf buf)
{
    const struct mot_envelope *e = &l->envelope;
    bool rows = e->kind == MOT_ENVELOPE_ROWS;
    bool checked = rows ? p->live.experiment->mpi.check_all : e->body_sum != 0 || e->bytes == 0;
    l->from = e->message.from;
    l->arrival = (struct mot_arrival){ .kind = MOT_ARRIVAL_MESSAGE,
        .message = { .from = e->message.from,
            .to = e->message.to,
            .kind = (uint16_t)e->message.kind,
            .intact = l->rank == p->transport->rank || checked,
            .head = { .round = e->message.round, .samples = e->message.samples, .value = e->message.value },
            .rows = rows ? e->message.off + 1 : 0,
            .given = e->message.given ? e->message.len : 0,
            .draw = e->message.draw },
        .sender_samples = e->samples,
        .place = mot_ranks_place(e),
        .sent = e->message.sent,
        .took = e->message.taken };
    if (!rows)
        l->arrival.message.body =
            (struct mot_slice){ .buf = buf, .off = e->message.off, .len = e->message.len };
}

bool mot_ranks_is_packet(const struct mot_ranks *p, uint64_t bytes, uint32_t len)
{
    return p->live.world.compress && len > 0 && bytes >= MOT_PACKET_HEAD && bytes <= mot_packet_most(len);
}

/* Whether a message's body is as long as its kind and its range say. */
static bool is_body(const struct mot_ranks *p, const struct mot_envelope *e)
{
    if (e->message.packed > 1 || e->message.given || e->message.draw) return false;
    return e->message.packed ? mot_ranks_is_packet(p, e->bytes, e->message.len)
                             : e->bytes == (uint64_t)e->message.len * 4;
}

bool mot_ranks_message_came(struct mot_ranks *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    mot_buf buf = l->arrival.message.body.buf;
    l->here = true; /* its node will fetch and free it */
    if (!e->message.packed) return true;
    if (!mot_packet_check(l->body, e->bytes, e->message.len)) return false;
    mot_pool_pack(&p->live.pool, buf, e->bytes);
    return true;
}

bool mot_ranks_expect_message(struct mot_ranks *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    struct hosted *b = mot_ranks_hosted(p, e->message.to);
    uint32_t dim = p->live.world.dim;
    if (!b || !mot_ranks_is_of(p, e->message.from, l->rank) || e->message.kind > UINT16_MAX ||
        e->message.off > dim || e->message.len > dim - e->message.off || !is_body(p, e))
        return false;
    mot_buf buf = MOT_NO_BUF;
    if (e->bytes) { /* a sender has no more in flight than need() declares, and the pool has room for that */
        if (b->bodies[e->message.from] == p->sends_most[e->message.from]) return false;
        b->bodies[e->message.from]++;
        l->counted = true;
        buf = mot_pool_take_range(&p->live.pool, e->message.off, e->message.len);
        if (e->message.packed) l->body = mot_pool_packet(&p->live.pool, buf);
        else l->body = mot_pool_at(&p->live.pool, buf) + e->message.off;
    }
    fill_message(p, l, buf);
    l->due = due_at(p, b, e);
    put(b, l);
    return true;
}

/* Whether these are samples of the sender's own part. */
static bool given_rows(const struct mot_ranks *p, const struct mot_envelope *e)
{
    return p->live.experiment->traits.shares && e->message.given == 1 && e->message.off == e->message.from &&
        e->message.len > 0;
}

bool mot_ranks_expect_rows(struct mot_ranks *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    const struct mot_world *w = &p->live.world;
    struct hosted *b = mot_ranks_hosted(p, e->message.to);
    if (!b || !p->rows || !mot_ranks_is_of(p, e->message.from, l->rank) || e->message.kind > UINT16_MAX ||
        e->bytes != 0 || e->body_sum != 0 || e->message.packed || e->message.off >= w->parts ||
        (e->message.given ? !given_rows(p, e) : e->message.len != w->part_rows[e->message.off]) ||
        b->bodies[e->message.from] == p->sends_most[e->message.from])
        return false;
    b->bodies[e->message.from]++;
    l->counted = true;
    fill_message(p, l, MOT_NO_BUF);
    l->due = due_at(p, b, e);
    put(b, l);
    return true;
}

static void take_out(struct hosted *b, const struct letter *l)
{
    b->tail = &b->first;
    while (*b->tail) {
        if (*b->tail == l) *b->tail = l->next;
        else b->tail = &(*b->tail)->next;
    }
}

void mot_ranks_message_void(struct mot_ranks *p, struct letter *l)
{
    for (uint32_t i = 0; i < p->hosts; i++) take_out(&p->hosted[i], l);
    mot_pool_drop(&p->live.pool, l->arrival.message.body.buf);
    mot_ranks_letter_free(p, l);
}

static void port_send(struct mot_port *port, const struct mot_message *m)
{
    struct hosted *b = (struct hosted *)port, *local;
    struct mot_ranks *p = b->ranks;
    struct mot_slice body = m->body;
    if (!body.buf) body.off = body.len = 0;
    struct mot_envelope e = mot_envelope_of(m->rows ? MOT_ENVELOPE_ROWS : MOT_ENVELOPE_MESSAGE);
    e.samples = atomic_load(&b->samples);
    uint64_t packed = mot_pool_packed(&p->live.pool, body.buf);
    e.bytes = packed ? packed : (uint64_t)body.len * 4;
    e.message.packed = packed > 0;
    e.message.from = b->node.actor.self;
    e.message.to = m->to;
    e.message.kind = m->kind;
    e.message.samples = m->head.samples;
    e.message.round = m->head.round;
    e.message.value = m->head.value;
    e.message.off = body.off;
    e.message.len = body.len;
    if (m->rows) {
        e.message.off = m->rows - 1;
        e.message.len = m->given ? m->given : (uint32_t)p->live.world.part_rows[m->rows - 1];
        e.message.given = m->given > 0;
        e.message.draw = m->draw;
    }
    e.message.sent = mot_live_now(&p->live);
    if (b->node.took) e.message.taken = b->node.took[m->to];
    depart(p, b, &e);
    if ((local = mot_ranks_hosted(p, m->to)) != NULL) {
        struct letter *l = mot_ranks_letter(p);
        memcpy(&l->envelope, &e, sizeof(e));
        l->rank = p->transport->rank;
        l->here = true;
        fill_message(p, l, body.buf);
        l->due = due_at(p, local, &e);
        put(local, l);
        p->news++;
        return;
    }
    const void *at = body.buf ? mot_pool_at(&p->live.pool, body.buf) + body.off : NULL;
    if (packed) at = mot_pool_packet(&p->live.pool, body.buf);
    if (at && p->live.experiment->mpi.check_all) e.body_sum = mot_body_sum(at, e.bytes);
    if (!e.bytes && body.buf) mot_pool_drop(&p->live.pool, body.buf);
    mot_ranks_post(p, mot_ranks_of(p, m->to), &e, at, e.bytes ? body.buf : MOT_NO_BUF);
    if (m->rows) mot_ranks_send_rows(p, &e);
}

static void port_join(struct mot_port *port, const struct mot_coll *coll, bool last)
{
    mot_ranks_join(((struct hosted *)port)->ranks, coll, last);
}

static void port_give(struct mot_port *port, mot_buf buf, uint32_t bucket)
{
    mot_ranks_give(((struct hosted *)port)->ranks, buf, bucket);
}

/* Whether an earlier letter of the same sender is still in the inbox: each pair stays in order. */
static bool is_behind(const struct hosted *b, const struct letter *l)
{
    for (const struct letter *i = b->first; i != l; i = i->next)
        if (i->from == l->from && i->arrival.kind == MOT_ARRIVAL_MESSAGE) return true;
    return false;
}

/* Asks the method whether a message from another rank is possible, before its node gets it. */
static bool is_admitted(struct mot_ranks *p, struct hosted *b, const struct letter *l)
{
    const struct mot_experiment *x = p->live.experiment;
    if (l->arrival.kind != MOT_ARRIVAL_MESSAGE || l->rank == p->transport->rank || p->profiles) return true;
    struct mot_env env = mot_env_of(
        x, &b->node.world, b->node.actor.self, mot_live_now(&p->live), &p->live.pool, &b->node.outbox);
    return mot_method_admits(x->method, b->node.actor.state, &env, &l->arrival.message);
}

static bool fetch(struct mot_ranks *p, struct hosted *b, struct mot_arrival *out)
{
    mot_time now = p->live.emulate && b->first ? mot_live_now(&p->live) : MOT_NEVER;
    for (struct letter **at = &b->first; *at; at = &(*at)->next) {
        struct letter *l = *at;
        if (!l->here || l->due > now || is_behind(b, l)) continue;
        *out = l->arrival;
        *at = l->next;
        if (b->tail == &l->next) b->tail = at;
        if (l->counted) b->bodies[l->from]--;
        bool admitted = is_admitted(p, b, l);
        uint32_t rank = l->rank;
        mot_ranks_letter_free(p, l);
        if (admitted) return true;
        mot_pool_drop(&p->live.pool, out->message.body.buf);
        mot_ranks_distrust(p, rank);
        return fetch(p, b, out); /* the inbox changed */
    }
    return false;
}

static bool port_poll(struct mot_port *port, struct mot_arrival *out)
{
    struct hosted *b = (struct hosted *)port;
    struct mot_ranks *p = b->ranks;
    mot_ranks_progress(p);
    return fetch(p, b, out) || (b->node.actor.self < p->live.world.workers && mot_ranks_sum_ready(p, out));
}

static void port_idle(struct mot_port *port, mot_time until)
{
    mot_ranks_rest(((struct hosted *)port)->ranks, until);
}

void mot_ranks_end(struct mot_ranks *p)
{
    if (p->ended) return;
    p->ended = true;
    for (uint32_t r = 0; r < (p->transport->rank == 0 ? p->transport->ranks : 1); r++) {
        struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_END);
        if (r != p->transport->rank) mot_ranks_post(p, r, &e, NULL, 0);
    }
}

static void port_end(struct mot_port *port) { mot_ranks_end(((struct hosted *)port)->ranks); }

static bool port_ended(const struct mot_port *port) { return ((const struct hosted *)port)->ranks->ended; }

static uint64_t port_samples(struct mot_port *port, uint64_t more)
{
    struct mot_ranks *p = ((struct hosted *)port)->ranks;
    uint64_t all = p->samples0;
    atomic_fetch_add(&((struct hosted *)port)->samples, more);
    for (uint32_t i = 0; i < p->hosts; i++) all += atomic_load(&p->hosted[i].samples);
    for (uint32_t r = 0; r < p->transport->ranks; r++)
        if (r != p->transport->rank) all += p->peer[r].samples;
    return all;
}

#define TELL_PACE_NS UINT64_C(1000000) /* rank 0 need not hear of every step */

static void port_paced(struct mot_port *port)
{
    struct hosted *b = (struct hosted *)port;
    struct mot_ranks *p = b->ranks;
    mot_time now = mot_live_now(&p->live);
    if (p->oversubscribed) mot_turn_yield(&p->turn); /* nobody here ever waits; see port_paced in threads.c */
    if (p->transport->rank == 0 || (now < p->paced_at + TELL_PACE_NS && !b->node.out_of_data)) return;
    p->paced_at = now;
    struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_BEAT);
    e.samples = atomic_load(&b->samples);
    mot_ranks_post(p, 0, &e, NULL, 0);
}

mot_time mot_ranks_next_due(const struct mot_ranks *p)
{
    mot_time next = MOT_NEVER;
    if (!p->live.emulate) return next;
    for (uint32_t i = 0; i < p->hosts; i++)
        for (const struct letter *l = p->hosted[i].first; l && !mot_live_node_over(&p->hosted[i].node);
             l = l->next)
            if (l->here && l->due < next) next = l->due;
    mot_time token = mot_ranks_next_token(p);
    return token < next ? token : next;
}

/* Letters that will never be complete must not block others. If a body is under way, the transport gives the
 * letter back later, to be freed. */
static void discard_halves(struct mot_ranks *p, struct hosted *b, uint32_t rank)
{
    b->tail = &b->first;
    while (*b->tail) {
        struct letter *l = *b->tail;
        if (l->here || l->rank != rank) {
            b->tail = &l->next;
            continue;
        }
        *b->tail = l->next;
        if (l->envelope.kind == MOT_ENVELOPE_ROWS) mot_ranks_letter_free(p, l);
    }
}

static void tell_lost(struct mot_ranks *p, struct hosted *b, mot_node node)
{
    struct letter *l = mot_ranks_letter(p);
    l->here = true;
    l->from = node;
    l->arrival =
        (struct mot_arrival){ .kind = MOT_ARRIVAL_PEER, .peer = { .node = node, .life = 1, .up = false } };
    put(b, l);
}

void mot_ranks_tell_lost(struct mot_ranks *p, uint32_t rank)
{
    for (uint32_t i = 0; i < p->hosts; i++) discard_halves(p, &p->hosted[i], rank);
    for (mot_node node = 0; node < p->live.world.nodes; node++) {
        if (mot_ranks_of(p, node) != rank) continue;
        if (p->live.judge) mot_live_judge_lost(p->live.judge, node);
        for (uint32_t i = 0; i < p->hosts; i++) tell_lost(p, &p->hosted[i], node);
    }
}

void mot_ranks_port_open(struct mot_ranks *p, struct hosted *b, mot_node self)
{
    *b = (struct hosted){ .port = { .send = port_send,
                              .join = port_join,
                              .give = port_give,
                              .poll = port_poll,
                              .idle = port_idle,
                              .end = port_end,
                              .ended = port_ended,
                              .samples = port_samples,
                              .ask = mot_ranks_ask,
                              .paced = port_paced,
                              .show = mot_ranks_show,
                              .want = mot_ranks_want,
                              .held = mot_ranks_send_held },
        .ranks = p,
        .bodies = mot_new(p->live.world.nodes, sizeof(*b->bodies)) };
    b->tail = &b->first;
    mot_live_node_open(&b->node, &p->live, &b->port, self);
}

void mot_ranks_port_close(struct mot_ranks *p, struct hosted *b)
{
    while (b->first) {
        struct letter *next = b->first->next;
        mot_ranks_letter_free(p, b->first);
        b->first = next;
    }
    free(b->bodies);
    mot_live_node_close(&b->node);
}
