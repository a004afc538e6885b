#include "method/exchange.h"
#include "math/kernels.h"
#include <string.h>

#define LOST UINT32_MAX
#define ROUNDS_MOST (UINT64_C(1) << 62)
#define UNANSWERED 2u /* rounds' worth of segments that a peer may owe an answer for */

/* ---- What follows the struct ------------------------------------------------------------ */

static uint32_t lanes_of(const struct mot_exchange_plan *p) { return p->cut.n * p->fields; }

static uint32_t rounds_of(const struct mot_exchange_plan *p)
{
    return p->loose ? 2 * p->window + 1 : p->window;
}

/* Where early and late segments are kept, by round and lane: lane i is segment i / fields of field i %
 * fields. */
static mot_buf *seat_of(const struct mot_exchange *e, uint64_t round, uint32_t lane)
{
    return (mot_buf *)(e + 1) + (round % rounds_of(&e->plan)) * lanes_of(&e->plan) + lane;
}

/* By peer: segments it has not answered for, or LOST. */
static uint32_t *owed_of(const struct mot_exchange *e)
{
    return seat_of(e, 0, 0) + rounds_of(&e->plan) * lanes_of(&e->plan);
}

/* By lane: whether its segment of this round is awaited. */
static bool *awaits_of(const struct mot_exchange *e)
{
    return (bool *)(owed_of(e) + (e->plan.loose ? e->plan.peers : 0));
}

/* The limit for all peers together: a few that stall do not keep the rest from getting theirs. */
static uint32_t unanswered_most(const struct mot_exchange_plan *p)
{
    return UNANSWERED * (p->window + 1) * lanes_of(p);
}

void mot_exchange_need(const struct mot_exchange_plan *p, struct mot_need *need)
{
    uint32_t lanes = lanes_of(p), seats = rounds_of(p) * lanes;
    uint32_t fans = p->draw == MOT_PEERS_UNFAIR ? p->peers - 1 : 1;
    need->state_bytes += seats * sizeof(mot_buf) + lanes * sizeof(bool);
    if (p->peers < 2) return;
    if (p->loose) {
        need->state_bytes += p->peers * sizeof(uint32_t);
        /* segments, and answers to everyone's */
        need->sends += unanswered_most(p) + UNANSWERED * lanes * (p->peers - 1);
        need->buffers += seats + unanswered_most(p);
    } else {
        need->sends += rounds_of(p) * lanes * fans;
        need->buffers +=
            rounds_of(p) * p->fields; /* its own models of these rounds, in flight or in others' seats */
        need->holds += seats;
    }
    need->buffers += p->fields + 2; /* the mixed ones, and what mixing moved */
}

void mot_exchange_init(struct mot_exchange *e, const struct mot_exchange_plan *p, uint64_t round)
{
    *e = (struct mot_exchange){ .plan = *p, .round = round };
}

static mot_node node_of(const struct mot_exchange *e, uint32_t peer) { return peer * e->plan.size; }
static uint32_t peer_of(const struct mot_exchange *e, mot_node node) { return node / e->plan.size; }

static bool is_lost(const struct mot_exchange *e, uint32_t peer)
{
    return e->plan.loose && owed_of(e)[peer] == LOST;
}

/* ---- Who ------------------------------------------------------------ */

/* A fair map is a permutation: with a lost peer cut out of its cycle, its receiver gets from its source, and
 * the map stays fair among the rest. MOT_NO_NODE: nobody is left. */
static uint32_t source_of(const struct mot_exchange *e, const struct mot_env *env, uint32_t segment)
{
    const struct mot_exchange_plan *p = &e->plan;
    uint32_t self = peer_of(e, env->self), at = self;
    do at = mot_peer_from(env, p->draw, p->peers, e->round, segment, at);
    while (at != self && is_lost(e, at) && p->draw != MOT_PEERS_UNFAIR);
    return at == self || is_lost(e, at) ? MOT_NO_NODE : at;
}

static uint32_t receiver_of(
    const struct mot_exchange *e, const struct mot_env *env, uint32_t segment, uint32_t k)
{
    const struct mot_exchange_plan *p = &e->plan;
    uint32_t self = peer_of(e, env->self), at = self;
    if (p->draw == MOT_PEERS_UNFAIR) return mot_peer_to(env, p->draw, p->peers, e->round, segment, self, k);
    if (k > 0) return MOT_NO_NODE;
    do at = mot_peer_to(env, p->draw, p->peers, e->round, segment, at, 0);
    while (at != self && is_lost(e, at));
    return at == self ? MOT_NO_NODE : at;
}

/* ---- Sending ------------------------------------------------------------ */

static void drop_note(struct mot_env *env) { mot_note(env, "dropped_segments", 1); }

static void send_lane(
    struct mot_exchange *e, struct mot_env *env, uint32_t peer, uint32_t lane, const mot_buf *x)
{
    const struct mot_exchange_plan *p = &e->plan;
    if (p->loose) {
        uint32_t *owed = &owed_of(e)[peer];
        if (*owed >= UNANSWERED * lanes_of(p) || e->owed >= unanswered_most(p)) {
            if (*owed != LOST) drop_note(env);
            return;
        }
        (*owed)++;
        e->owed++;
    }
    struct mot_head head = { .round = e->round, .samples = lane };
    mot_send(env, node_of(e, peer), MOT_MSG_SEGMENT, head,
        mot_segment(env->world, &p->cut, lane / p->fields, x[lane % p->fields]));
}

void mot_exchange_open(struct mot_exchange *e, struct mot_env *env, const mot_buf *x)
{
    const struct mot_exchange_plan *p = &e->plan;
    MOT_ASSERT(!e->open);
    e->open = true;
    e->missing = 0;
    if (p->peers < 2) return;
    for (uint32_t s = 0; s < p->cut.n; s++) {
        bool expects = source_of(e, env, s) != MOT_NO_NODE;
        uint32_t to;
        for (uint32_t k = 0; (to = receiver_of(e, env, s, k)) != MOT_NO_NODE; k++)
            for (uint32_t f = 0; f < p->fields; f++) send_lane(e, env, to, s * p->fields + f, x);
        for (uint32_t lane = s * p->fields; lane < (s + 1) * p->fields; lane++) {
            bool awaits = expects && *seat_of(e, e->round, lane) == MOT_NO_BUF;
            awaits_of(e)[lane] = awaits;
            e->missing += awaits;
        }
    }
}

/* ---- Receiving ------------------------------------------------------------ */

static bool in_window(const struct mot_exchange *e, uint64_t round)
{
    return round <= e->round + e->plan.window && round + e->plan.window >= e->round;
}

void mot_exchange_message(struct mot_exchange *e, struct mot_env *env, const struct mot_message *m)
{
    uint32_t lane = m->head.samples, peer = peer_of(e, m->from);
    if (is_lost(e, peer)) return;
    if (m->kind == MOT_MSG_SEGMENT_TAKEN) {
        MOT_ASSERT(e->plan.loose && owed_of(e)[peer] > 0);
        owed_of(e)[peer]--;
        e->owed--;
        return;
    }
    MOT_ASSERT(m->kind == MOT_MSG_SEGMENT && lane < lanes_of(&e->plan));
    if (e->plan.loose) {
        mot_send(env, m->from, MOT_MSG_SEGMENT_TAKEN, (struct mot_head){ 0 },
            (struct mot_slice){ .buf = MOT_NO_BUF });
        if (m->head.round > e->newest) e->newest = m->head.round;
        if (!in_window(e, m->head.round) || *seat_of(e, m->head.round, lane) != MOT_NO_BUF) {
            drop_note(env);
            return;
        }
    }
    mot_buf *seat = seat_of(e, m->head.round, lane);
    MOT_ASSERT(*seat == MOT_NO_BUF);
    *seat = mot_hold(env, m->body.buf);
    if (!e->open || m->head.round != e->round || !awaits_of(e)[lane]) return;
    awaits_of(e)[lane] = false;
    e->missing--;
}

bool mot_exchange_admits(
    const struct mot_exchange *e, const struct mot_env *env, const struct mot_message *m, uint64_t limit)
{
    const struct mot_exchange_plan *p = &e->plan;
    uint32_t lane = m->head.samples;
    if (m->from >= env->world->workers || m->from % p->size || m->head.value != 0) return false;
    uint32_t peer = peer_of(e, m->from);
    if (m->kind == MOT_MSG_SEGMENT_TAKEN)
        return p->loose && owed_of(e)[peer] > 0 && m->body.buf == MOT_NO_BUF && lane == 0 &&
            m->head.round == 0;
    if (m->kind != MOT_MSG_SEGMENT || lane >= lanes_of(p) ||
        !mot_body_is(m, mot_segment(env->world, &p->cut, lane / p->fields, m->body.buf)))
        return false;
    if (p->loose) return m->head.round < ROUNDS_MOST;
    return m->head.round >= e->round && m->head.round < limit &&
        *seat_of(e, m->head.round, lane) == MOT_NO_BUF &&
        mot_peer_from(env, p->draw, p->peers, m->head.round, lane / p->fields, peer_of(e, env->self)) == peer;
}

/* ---- Mixing ------------------------------------------------------------ */

#define NONE UINT64_MAX

/* The age, in rounds, of the newest copy of this segment that is here with all its fields; NONE: it is
 * missing. A model is never mixed without the optimiser's state that belongs to it. */
static uint64_t age_of(const struct mot_exchange *e, uint32_t segment)
{
    uint64_t back = e->plan.loose ? e->plan.window : 0;
    uint32_t fields = e->plan.fields, f;
    for (uint64_t d = 0; d <= back && d <= e->round; d++) {
        for (f = 0; f < fields; f++)
            if (*seat_of(e, e->round - d, segment * fields + f) == MOT_NO_BUF) break;
        if (f == fields) return d;
    }
    return NONE;
}

/* Takes the copy of that age; drops older ones, and what will be outside the window. */
static mot_buf take_aged(struct mot_exchange *e, struct mot_env *env, uint32_t lane, uint64_t age)
{
    uint64_t back = e->plan.loose ? e->plan.window : 0;
    mot_buf got = MOT_NO_BUF;
    if (age != NONE) {
        mot_buf *seat = seat_of(e, e->round - age, lane);
        got = *seat;
        *seat = MOT_NO_BUF;
        if (e->plan.loose) mot_note(env, "rounds_behind", (double)age);
    }
    for (uint64_t d = age == NONE ? back : age + 1; d <= back && d <= e->round; d++) {
        mot_buf *seat = seat_of(e, e->round - d, lane);
        if (*seat == MOT_NO_BUF) continue;
        mot_drop(env, *seat);
        *seat = MOT_NO_BUF;
        drop_note(env);
    }
    return got;
}

static void keep_moved(struct mot_env *env, struct mot_slice s, mot_buf got, mot_buf before, mot_buf after)
{
    static const float weight[3] = { 1, 0.5f, -0.5f };
    const float *in[3] = { mot_read(env, before) + s.off };
    if (got != MOT_NO_BUF) {
        in[1] = mot_read(env, got) + s.off;
        in[2] = mot_read(env, s.buf) + s.off;
    }
    s.buf = after;
    mot_kernels()->sum(s.len, got == MOT_NO_BUF ? 1 : 3, weight, in, mot_edit_slice(env, s));
}

void mot_exchange_close(struct mot_exchange *e, struct mot_env *env, mot_buf *x, mot_buf *moved)
{
    const struct mot_exchange_plan *p = &e->plan;
    static const float half[2] = { 0.5f, 0.5f }, one = 1;
    mot_buf after = moved ? mot_take(env) : MOT_NO_BUF;
    MOT_ASSERT(e->open && (p->loose || e->missing == 0));
    mot_buf mixed[MOT_EXCHANGE_FIELDS];
    for (uint32_t f = 0; f < p->fields && p->peers > 1; f++) mixed[f] = mot_take(env);
    for (uint32_t s = 0; s < p->cut.n && p->peers > 1; s++) {
        uint64_t age = age_of(e, s);
        for (uint32_t f = 0; f < p->fields; f++) {
            struct mot_slice slice = mot_segment(env->world, &p->cut, s, x[f]);
            mot_buf got = take_aged(e, env, s * p->fields + f, age);
            const float *in[2] = { mot_read(env, x[f]) + slice.off };
            float *y = mot_edit_slice(
                env, (struct mot_slice){ .buf = mixed[f], .off = slice.off, .len = slice.len });
            if (got != MOT_NO_BUF) in[1] = mot_read(env, got) + slice.off;
            if (got != MOT_NO_BUF) mot_kernels()->sum(slice.len, 2, half, in, y);
            else mot_kernels()->sum(slice.len, 1, &one, in, y);
            if (f == 0 && moved) keep_moved(env, slice, got, *moved, after);
            mot_drop(env, got);
        }
    }
    for (uint32_t f = 0; f < p->fields && p->peers > 1; f++) {
        mot_drop(env, x[f]);
        x[f] = mixed[f];
    }
    if (moved) {
        mot_drop(env, *moved);
        *moved = after;
    }
    e->open = false;
    e->missing = 0;
    e->round++;
}

void mot_exchange_catch_up(struct mot_exchange *e, struct mot_env *env)
{
    const struct mot_exchange_plan *p = &e->plan;
    MOT_ASSERT(p->loose && !e->open);
    if (e->newest <= e->round + p->window) return;
    for (uint64_t round = e->round - (e->round < p->window ? e->round : p->window);
         round <= e->round + p->window && round + p->window < e->newest; round++)
        for (uint32_t lane = 0; lane < lanes_of(p); lane++) {
            mot_buf *seat = seat_of(e, round, lane);
            if (*seat == MOT_NO_BUF) continue;
            mot_drop(env, *seat);
            *seat = MOT_NO_BUF;
            drop_note(env);
        }
    e->round = e->newest;
}

void mot_exchange_lose(struct mot_exchange *e, struct mot_env *env, mot_node node)
{
    const struct mot_exchange_plan *p = &e->plan;
    uint32_t peer = peer_of(e, node);
    MOT_ASSERT(p->loose);
    if (is_lost(e, peer)) return;
    if (e->open)
        for (uint32_t s = 0; s < p->cut.n; s++) {
            if (source_of(e, env, s) != peer) continue;
            for (uint32_t lane = s * p->fields; lane < (s + 1) * p->fields; lane++) {
                e->missing -= awaits_of(e)[lane];
                awaits_of(e)[lane] = false;
            }
        }
    e->owed -= owed_of(e)[peer];
    owed_of(e)[peer] = LOST;
}

void mot_exchange_check(const struct mot_exchange *e, const struct mot_env *env)
{
    uint32_t missing = 0;
    (void)env;
    for (uint32_t lane = 0; lane < lanes_of(&e->plan) && e->open && e->plan.peers > 1; lane++) {
        bool awaits = awaits_of(e)[lane], here = *seat_of(e, e->round, lane) != MOT_NO_BUF;
        MOT_ASSERT(!(awaits && here));
        missing += awaits;
    }
    MOT_ASSERT(missing == e->missing);
}
