/* ranks_port.c -- the ports of the nodes of a rank.
 *
 * A message to a node of the same process goes from inbox to inbox and copies nothing. Emulating,
 * the sender's up link says how long a message waits and takes, the receiver's down link adds its
 * own part from when it came, and the inbox hides the message until then. */
#include "wire/ranks_state.h"
#include <string.h>

struct berth *mot_ranks_berth(struct crowd *p, mot_node node)
{
    for (uint32_t i = 0; i < p->berths; i++)
        if (p->berth[i].node.self == node) return &p->berth[i];
    return NULL;
}

static void put(struct berth *b, struct letter *l)
{
    *b->tail = l;
    b->tail = &l->next;
}

static uint64_t wire_size(const struct crowd *p, double floats)
{
    return (uint64_t)(floats * p->wire_bytes + 0.5);
}

static mot_time due_at(struct crowd *p, struct berth *to, const struct mot_envelope *e, double floats)
{
    if (!p->live.emulate) return 0;
    return mot_network_arrive(p->live.experiment->cluster, &to->nic, e->from, e->to, wire_size(p, floats),
        (struct mot_departure){ e->lag, e->took }, mot_live_now(&p->live));
}

static void depart(struct crowd *p, struct berth *from, struct mot_envelope *e, double floats)
{
    if (!p->live.emulate) return;
    struct mot_departure d = mot_network_leave(
        p->live.experiment->cluster, &from->nic, e->from, wire_size(p, floats), mot_live_now(&p->live));
    e->lag = d.lag;
    e->took = d.took;
}

static void fill_message(struct letter *l, mot_buf buf)
{
    const struct mot_envelope *e = &l->envelope;
    l->arrival = (struct mot_arrival){ .kind = MOT_ARRIVAL_MESSAGE,
        .message = { .from = e->from,
            .to = e->to,
            .kind = e->message,
            .intact = l->rank == mot_crowd.wire.rank || e->body_sum != 0 || e->bytes == 0,
            .head = { .round = e->round, .samples = e->head_samples, .value = e->value },
            .body = { .buf = buf, .off = e->off, .len = e->len } },
        .sender_samples = e->samples,
        .sent = e->sent };
}

bool mot_ranks_expect_message(struct crowd *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    struct berth *b = mot_ranks_berth(p, e->to);
    uint32_t dim = p->live.world.dim;
    if (!b || e->from >= p->live.world.nodes || e->off > dim || e->len > dim - e->off ||
        e->bytes != (uint64_t)e->len * 4)
        return false;
    mot_buf buf = e->bytes ? mot_pool_take(&p->live.pool) : MOT_NO_BUF;
    if (buf) l->body = mot_pool_at(&p->live.pool, buf) + e->off;
    fill_message(l, buf);
    l->due = due_at(p, b, e, e->len);
    put(b, l);
    return true;
}

static void port_send(struct mot_port *port, const struct mot_message *m)
{
    struct berth *b = (struct berth *)port, *local;
    struct crowd *p = &mot_crowd;
    struct mot_slice body = m->body;
    if (!body.buf) body.off = body.len = 0;
    struct mot_envelope e = { .kind = MOT_ENVELOPE_MESSAGE,
        .message = m->kind,
        .from = b->node.self,
        .to = m->to,
        .samples = atomic_load(&b->samples),
        .round = m->head.round,
        .value = m->head.value,
        .head_samples = m->head.samples,
        .off = body.off,
        .len = body.len,
        .bytes = (uint64_t)body.len * 4,
        .sent = mot_live_now(&p->live) };
    depart(p, b, &e, body.len);
    if ((local = mot_ranks_berth(p, m->to)) != NULL) {
        pthread_mutex_lock(&p->lock);
        struct letter *l = mot_ranks_letter(p);
        l->envelope = e;
        l->rank = p->wire.rank;
        l->here = true;
        fill_message(l, body.buf);
        l->due = due_at(p, local, &e, body.len);
        put(local, l);
        p->news++;
        pthread_mutex_unlock(&p->lock);
        return;
    }
    const float *at = body.buf ? mot_pool_at(&p->live.pool, body.buf) + body.off : NULL;
    if (at && p->live.experiment->mpi.check_all) e.body_sum = mot_body_sum(at, e.bytes);
    if (!e.bytes && body.buf) mot_pool_drop(&p->live.pool, body.buf);
    mot_ranks_post(p, mot_ranks_of(p, m->to), &e, at, e.bytes ? body.buf : MOT_NO_BUF);
}

static void port_join(struct mot_port *port, const struct mot_coll *coll, bool last)
{
    (void)port;
    mot_ranks_join(&mot_crowd, coll, last);
}

/* Whether an earlier letter of the same sender is still in the box: those of one pair stay in order. */
static bool is_behind(const struct berth *b, const struct letter *l)
{
    for (const struct letter *i = b->first; i != l; i = i->next)
        if (i->envelope.from == l->envelope.from && i->arrival.kind == MOT_ARRIVAL_MESSAGE) return true;
    return false;
}

static bool fetch(struct crowd *p, struct berth *b, struct mot_arrival *out)
{
    mot_time now = p->live.emulate && b->first ? mot_live_now(&p->live) : MOT_NEVER;
    for (struct letter **at = &b->first; *at; at = &(*at)->next) {
        struct letter *l = *at;
        if (!l->here || l->due > now || is_behind(b, l)) continue;
        *out = l->arrival;
        *at = l->next;
        if (b->tail == &l->next) b->tail = at;
        mot_ranks_letter_free(p, l);
        return true;
    }
    return false;
}

static bool port_poll(struct mot_port *port, struct mot_arrival *out)
{
    struct berth *b = (struct berth *)port;
    struct crowd *p = &mot_crowd;
    mot_ranks_progress(p);
    return fetch(p, b, out) || (b->node.self < p->live.world.workers && mot_ranks_sum_ready(p, out));
}

static void port_idle(struct mot_port *port, mot_time until)
{
    (void)port;
    mot_ranks_rest(&mot_crowd, until);
}

void mot_ranks_end(struct crowd *p)
{
    if (p->ended) return;
    p->ended = true;
    for (uint32_t r = 0; r < (p->wire.rank == 0 ? p->wire.ranks : 1); r++) {
        struct mot_envelope e = { .kind = MOT_ENVELOPE_END, .from = p->wire.rank, .to = r };
        if (r != p->wire.rank) mot_ranks_post(p, r, &e, NULL, 0);
    }
}

static void port_end(struct mot_port *port)
{
    (void)port;
    mot_ranks_end(&mot_crowd);
}

static bool port_ended(const struct mot_port *port)
{
    (void)port;
    return mot_crowd.ended;
}

static uint64_t port_samples(struct mot_port *port, uint64_t more)
{
    struct crowd *p = &mot_crowd;
    uint64_t all = p->samples0;
    atomic_fetch_add(&((struct berth *)port)->samples, more);
    for (uint32_t i = 0; i < p->berths; i++) all += atomic_load(&p->berth[i].samples);
    for (uint32_t r = 0; r < p->wire.ranks; r++)
        if (r != p->wire.rank) all += p->peer[r].samples;
    return all;
}

mot_time mot_ranks_next_due(const struct crowd *p)
{
    mot_time next = MOT_NEVER;
    if (!p->live.emulate) return next;
    for (uint32_t i = 0; i < p->berths; i++)
        for (const struct letter *l = p->berth[i].first; l; l = l->next)
            if (l->here && l->due < next) next = l->due;
    for (const struct letter *l = p->summing ? p->tokens : NULL; l; l = l->next)
        if (l->due < next) next = l->due;
    return next;
}

/* What will never be whole must not keep others waiting. The wire may still know it, so it is not freed. */
static void discard_halves(struct berth *b, uint32_t rank)
{
    b->tail = &b->first;
    while (*b->tail) {
        struct letter *l = *b->tail;
        if (!l->here && l->rank == rank) *b->tail = l->next;
        else b->tail = &l->next;
    }
}

static void tell_lost(struct crowd *p, struct berth *b, mot_node node)
{
    struct letter *l = mot_ranks_letter(p);
    l->here = true;
    l->envelope.from = node;
    l->arrival =
        (struct mot_arrival){ .kind = MOT_ARRIVAL_PEER, .peer = { .node = node, .life = 1, .up = false } };
    put(b, l);
}

void mot_ranks_tell_lost(struct crowd *p, uint32_t rank)
{
    for (uint32_t i = 0; i < p->berths; i++) discard_halves(&p->berth[i], rank);
    for (mot_node node = 0; node < p->live.world.nodes; node++) {
        if (mot_ranks_of(p, node) != rank) continue;
        if (p->live.judge) mot_judge_lost(p->live.judge, node);
        for (uint32_t i = 0; i < p->berths; i++) tell_lost(p, &p->berth[i], node);
    }
}

void mot_ranks_port_open(struct crowd *p, struct berth *b, mot_node self)
{
    *b = (struct berth){ .port = { .send = port_send,
                             .join = port_join,
                             .poll = port_poll,
                             .idle = port_idle,
                             .end = port_end,
                             .ended = port_ended,
                             .samples = port_samples,
                             .ask = mot_ranks_ask,
                             .show = mot_ranks_show } };
    b->tail = &b->first;
    mot_live_node_open(&b->node, &p->live, &b->port, self);
}

void mot_ranks_port_close(struct crowd *p, struct berth *b)
{
    while (b->first) {
        struct letter *next = b->first->next;
        mot_ranks_letter_free(p, b->first);
        b->first = next;
    }
    mot_live_node_close(&b->node);
}
