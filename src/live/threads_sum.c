/* threads_sum.c -- collectives of nodes that are threads.
 *
 * Whoever has joined a sum and finds all inputs there helps to compute it: each takes the next range of
 * floats and adds the inputs in rank order, so the bits are the simulator's. What comes from a root is the
 * root's own buffer.
 *
 * When emulating, a collective sends empty tokens in its steps, and a node has the sum when the tokens say
 * so. */
#include "base/memory.h"
#include "live/threads_state.h"
#include "math/kernels.h"
#include "run/buckets.h"
#include "run/world.h"
#include <stdlib.h>
#include <string.h>

#define RANGE 16384u /* floats added up at a time */
#define AT_ONCE 8u   /* inputs added in one pass over memory */

/* At least one: whoever adds the last range drops the inputs, even if there are only scalars to add. Packets
 * are added as a whole. */
static uint32_t ranges_of(const struct mot_threads *t, const struct mot_sum_slot *c)
{
    if (t->range) return t->upto[0];
    return c->len && !c->packed[0] ? (c->len + RANGE - 1) / RANGE : 1;
}

static void ring_members(struct mot_threads *t, const struct mot_sum_slot *c)
{
    for (uint32_t i = 0; i < c->circle.n; i++) mot_bell_ring(&t->box[mot_circle_node(&c->circle, i)].bell);
}

static enum mot_coll_way way_of(const struct mot_threads *t, const struct mot_sum_seat *seat)
{
    if (seat->gathers) return MOT_WAY_GATHER;
    return mot_coll_way_for(t->live.experiment->sim.collective, seat->kind, seat->len);
}

static struct mot_coll_progress *progress_of(const struct mot_sum_slot *c, uint32_t rank, uint32_t bucket)
{
    return &c->progress[(size_t)bucket * c->circle.n + rank];
}

static void send_tokens(struct mot_thread_port *me, const struct mot_sum_seat *seat, uint32_t bucket)
{
    struct mot_threads *t = me->threads;
    struct mot_sum_slot *c = seat->slot;
    struct mot_coll_step step;
    enum mot_coll_way way = way_of(t, seat);
    struct mot_coll_progress *p = progress_of(c, seat->rank, bucket);
    uint32_t len = t->range ? mot_bucket_len(&t->live.world, bucket) : seat->len;
    while (mot_coll_next(way, c->circle.n, seat->rank, len, p, &step)) {
        uint64_t bytes = way == MOT_WAY_GATHER ? mot_coll_gathered(c->packed, c->circle.n, &step)
                                               : mot_floats_bytes(step.last - step.first, t->wire_bytes);
        mot_node to = mot_circle_node(&c->circle, step.to);
        struct mot_letter l = { .due = mot_threads_due_at(t, me->self, to, bytes),
            .token = true,
            .slot = (uint32_t)(c - t->slot),
            .bucket = bucket,
            .step = step.step,
            .way = way,
            .message = { .from = me->self } };
        mot_threads_post(t, to, &l);
    }
}

/* What all must agree on. Others read it after the root has joined. */
static void open_slot(struct mot_threads *t, struct mot_sum_slot *c, const struct mot_coll *coll)
{
    c->tag = coll->tag;
    c->kind = coll->kind;
    c->off = coll->in.off;
    c->len = coll->in.len;
    if (coll->kind == MOT_COLL_FROM_ROOT) c->out = coll->in.buf;
    else c->out = c->len ? mot_pool_take(&t->live.pool) : MOT_NO_BUF;
}

/* Takes the seat's place in the next collective of its circle. */
static void enter_slot(struct mot_thread_port *me, struct mot_sum_seat *seat, const struct mot_coll *coll)
{
    struct mot_threads *t = me->threads;
    uint32_t circle = mot_circle_of(&t->live.world, coll->scope, me->self);
    struct mot_sum_slot *c = &t->slot[circle * t->window + seat->next];
    seat->next = seat->next + 1 == t->window ? 0 : seat->next + 1;
    seat->slot = c;
    seat->rank = mot_circle_rank(&c->circle, me->self);
    seat->kind = coll->kind;
    seat->len = coll->in.len;
    c->in[seat->rank] = coll->in;
    c->packed[seat->rank] = mot_pool_packed(&t->live.pool, coll->in.buf);
    seat->gathers = c->packed[seat->rank] > 0;
    if (seat->rank == 0) open_slot(t, c, coll);
}

/* The member's next bucket is final. The last member to give it lets all add it; those after it are there. */
static void give_bucket(struct mot_thread_port *me, struct mot_sum_seat *seat)
{
    struct mot_threads *t = me->threads;
    struct mot_sum_slot *c = seat->slot;
    uint32_t bucket = t->buckets - 1 - seat->gone++, ready, upto = t->upto[bucket];
    if (t->live.emulate) {
        progress_of(c, seat->rank, bucket)->joined = true;
        send_tokens(me, seat, bucket);
    }
    if (atomic_fetch_add(&c->gave[bucket], 1) + 1 < c->circle.n) return;
    ready = atomic_load(&c->ready);
    while (ready < upto && !atomic_compare_exchange_weak(&c->ready, &ready, upto)) {}
    if (bucket > 0) ring_members(t, c); /* the first comes with `join`, which rings by itself */
}

void mot_threads_give(struct mot_port *p, mot_buf buf, uint32_t bucket)
{
    struct mot_thread_port *me = (struct mot_thread_port *)p;
    struct mot_sum_seat *seat = &me->seat[MOT_COLL_ALL];
    if (seat->gone == 0)
        enter_slot(me, seat, &(struct mot_coll){ .in = { .buf = buf, .len = me->threads->live.world.dim } });
    MOT_ASSERT(bucket == me->threads->buckets - 1 - seat->gone);
    give_bucket(me, seat);
}

void mot_threads_join(struct mot_port *p, const struct mot_coll *coll, bool last)
{
    struct mot_thread_port *me = (struct mot_thread_port *)p;
    struct mot_threads *t = me->threads;
    struct mot_sum_seat *seat = &me->seat[coll->scope];
    if (seat->gone == 0) enter_slot(me, seat, coll);
    struct mot_sum_slot *c = seat->slot;
    MOT_ASSERT(seat->gone == 0 || coll->in.buf == c->in[seat->rank].buf);
    seat->pending = true;
    seat->tag = coll->tag;
    memcpy(c->scalar[seat->rank], coll->scalar, sizeof(coll->scalar));
    if (seat->rank == 0) c->tag = coll->tag;
    if (t->range) {
        MOT_ASSERT(coll->kind == MOT_COLL_SUM && coll->in.len == t->live.world.dim);
        while (seat->gone < t->buckets) give_bucket(me, seat);
    } else if (t->live.emulate) {
        c->progress[seat->rank].joined = true;
        send_tokens(me, seat, 0);
    }
    if (last) atomic_store(&c->last, true);
    bool gives = coll->kind == MOT_COLL_FROM_ROOT && seat->rank == 0;
    if (gives) atomic_store(&c->given, true);
    if (atomic_fetch_add(&c->joined, 1) + 1 == c->circle.n || gives) ring_members(t, c);
}

static void add_range(struct mot_threads *t, struct mot_sum_slot *c, uint32_t range)
{
    const struct mot_kernels *k = mot_kernels();
    uint32_t first = range * RANGE, len = c->len - first < RANGE ? c->len - first : RANGE;
    if (t->range) first = t->range[range].first, len = t->range[range].len;
    if (len == 0) return;
    if (c->packed[0]) {
        mot_pool_sum_packed(&t->live.pool, c->in, c->circle.n, mot_pool_at(&t->live.pool, c->out));
        return;
    }
    float *out = mot_pool_at(&t->live.pool, c->out) + c->off + first;
    for (uint32_t i = 0; i < c->circle.n;) {
        const float *in[AT_ONCE];
        uint32_t n = 0;
        if (i > 0) in[n++] = out; /* continues the sum so far: same order, same bits */
        while (n < AT_ONCE && i < c->circle.n) {
            in[n++] = mot_pool_at(&t->live.pool, c->in[i].buf) + c->in[i].off + first;
            i++;
        }
        k->add(len, n, in, out);
    }
}

/* Whether the root has given what the member waits for, or all that it has to add is there. */
static bool can_finish(const struct mot_sum_seat *seat)
{
    struct mot_sum_slot *c = seat->slot;
    if (seat->kind == MOT_COLL_FROM_ROOT && seat->rank != 0) return atomic_load(&c->given);
    return atomic_load(&c->joined) == c->circle.n;
}

/* The next range that nobody has taken and that all have given; false if there is none. */
static bool take_range(const struct mot_threads *t, struct mot_sum_slot *c, uint32_t ranges, uint32_t *out)
{
    if (!t->range) return (*out = atomic_fetch_add(&c->next, 1)) < ranges;
    *out = atomic_load(&c->next);
    while (*out < atomic_load(&c->ready))
        if (atomic_compare_exchange_weak(&c->next, out, *out + 1)) return true;
    return false;
}

/* Adds ranges that nobody has taken; true once all are added. */
static bool help_add(struct mot_threads *t, struct mot_sum_slot *c)
{
    uint32_t ranges = ranges_of(t, c), range;
    while (take_range(t, c, ranges, &range)) {
        add_range(t, c, range);
        if (atomic_fetch_add(&c->added, 1) + 1 < ranges) continue;
        for (uint32_t i = 0; i < c->circle.n; i++) mot_pool_drop(&t->live.pool, c->in[i].buf);
        ring_members(t, c);
    }
    return atomic_load(&c->added) == ranges;
}

static void add_scalars(const struct mot_sum_slot *c, double *sum)
{
    uint32_t n = c->kind == MOT_COLL_FROM_ROOT ? 1 : c->circle.n;
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < MOT_SCALARS; k++) sum[k] += c->scalar[i][k];
}

/* Hands out the result; the last node to leave clears the slot for reuse. */
static void leave(struct mot_thread_port *me, struct mot_sum_seat *seat, struct mot_arrival *out)
{
    struct mot_threads *t = me->threads;
    struct mot_sum_slot *c = seat->slot;
    MOT_ASSERT(c->tag == seat->tag && c->kind == seat->kind && c->len == seat->len);
    MOT_ASSERT(seat->gathers == (c->packed[0] > 0) && "all members give packed buffers, or none");
    seat->pending = false;
    *out = (struct mot_arrival){ .kind = MOT_ARRIVAL_COLL,
        .coll = { .tag = c->tag, .scope = (enum mot_coll_scope)(seat - me->seat) },
        .last = atomic_load(&c->last) };
    if (c->kind != MOT_COLL_TO_ROOT || seat->rank == 0) {
        out->coll.out = (struct mot_slice){ .buf = c->out, .off = c->off, .len = c->len };
        add_scalars(c, out->coll.scalar);
        if (c->out) mot_pool_hold(&t->live.pool, c->out);
    }
    seat->gone = 0;
    for (uint32_t b = 0; b < t->buckets; b++)
        *progress_of(c, seat->rank, b) = (struct mot_coll_progress){ 0 };
    if (atomic_fetch_add(&c->left, 1) + 1 < c->circle.n) return;
    mot_pool_drop(&t->live.pool, c->out);
    for (uint32_t b = 0; t->range && b < t->buckets; b++) atomic_store(&c->gave[b], 0);
    atomic_store(&c->ready, 0);
    atomic_store(&c->joined, 0);
    atomic_store(&c->next, 0);
    atomic_store(&c->added, 0);
    atomic_store(&c->given, false);
    atomic_store(&c->last, false);
    atomic_store(&c->left, 0);
}

static bool seat_ready(struct mot_thread_port *me, struct mot_sum_seat *seat, struct mot_arrival *out)
{
    struct mot_threads *t = me->threads;
    struct mot_sum_slot *c = seat->slot;
    if (!seat->pending) return false;
    if (!can_finish(seat)) {
        if (t->range) help_add(t, c); /* what all have given so far */
        return false;
    }
    if (seat->kind != MOT_COLL_FROM_ROOT && !help_add(t, c)) return false;
    for (uint32_t b = 0; t->live.emulate && b < t->buckets; b++)
        if (!mot_coll_complete(way_of(t, seat), c->circle.n, seat->rank, progress_of(c, seat->rank, b)))
            return false;
    leave(me, seat, out);
    return true;
}

bool mot_threads_sum_ready(struct mot_thread_port *me, struct mot_arrival *out)
{
    for (int scope = 0; scope < MOT_COLL_SCOPES; scope++)
        if (seat_ready(me, &me->seat[scope], out)) return true;
    return false;
}

void mot_threads_token(struct mot_thread_port *me, const struct mot_letter *l)
{
    struct mot_sum_slot *c = &me->threads->slot[l->slot];
    uint32_t rank = mot_circle_rank(&c->circle, me->self);
    mot_coll_received(l->way, c->circle.n, rank, mot_circle_rank(&c->circle, l->message.from), l->step,
        progress_of(c, rank, l->bucket));
    for (int scope = 0; scope < MOT_COLL_SCOPES; scope++) {
        const struct mot_sum_seat *seat = &me->seat[scope];
        if ((seat->pending || seat->gone) && c == seat->slot) send_tokens(me, seat, l->bucket);
    }
}

bool mot_threads_can_go_on(const struct mot_thread_port *me)
{
    for (int scope = 0; scope < MOT_COLL_SCOPES; scope++) {
        const struct mot_sum_seat *seat = &me->seat[scope];
        if (!seat->pending) continue;
        if (can_finish(seat) || atomic_load(&seat->slot->next) < atomic_load(&seat->slot->ready)) return true;
    }
    return false;
}

/* ---- Setting up and taking down -------------------------------------------------------------------- */

/* Ranges of each bucket, from the last on. */
static void open_ranges(struct mot_threads *t)
{
    const struct mot_world *w = &t->live.world;
    uint32_t n = 0;
    t->buckets = mot_buckets_any(w) ? w->buckets : 1;
    if (t->buckets == 1) return;
    t->range = mot_new_large(w->dim / RANGE + w->buckets + 1, sizeof(*t->range));
    t->upto = mot_new_large(w->buckets, sizeof(*t->upto));
    for (uint32_t b = w->buckets; t->range && t->upto && b-- > 0; t->upto[b] = n)
        for (uint32_t at = w->bucket_at[b], end = w->bucket_at[b + 1]; at < end; at += RANGE)
            t->range[n++] = (struct mot_sum_range){ at, end - at < RANGE ? end - at : RANGE };
}

void mot_threads_open_sums(struct mot_threads *t)
{
    open_ranges(t);
    t->slot = mot_new_large(t->slots + 1, sizeof(*t->slot));
    for (uint32_t i = 0; t->slot && i < t->slots; i++) {
        struct mot_sum_slot *c = &t->slot[i];
        c->circle = mot_circle(&t->live.world, i / t->window);
        c->in = mot_new_large(c->circle.n, sizeof(*c->in));
        c->scalar = mot_new_large(c->circle.n, sizeof(*c->scalar));
        c->progress = mot_new_large((size_t)c->circle.n * t->buckets, sizeof(*c->progress));
        c->gave = mot_new_large(t->buckets, sizeof(*c->gave));
        c->packed = mot_new_large(c->circle.n, sizeof(*c->packed));
    }
}

void mot_threads_close_sums(struct mot_threads *t)
{
    for (uint32_t i = 0; t->slot && i < t->slots; i++) {
        free(t->slot[i].in);
        free(t->slot[i].scalar);
        free(t->slot[i].progress);
        free(t->slot[i].packed);
        free(t->slot[i].gave);
    }
    free(t->range);
    free(t->upto);
    free(t->slot);
}
