/* ranks_sum.c -- collectives, by our own messages, with the simulator's bits.
 *
 * The floats of a sum are split into one range per member. Everyone sends range j of its input to member j,
 * straight from the buffer; member j adds the parts in rank order and sends its sum to all, or to the root
 * alone. So each float crosses the wire twice per worker, as in a ring, but in two hops instead of 2 (n - 1).
 * What a root spreads goes straight to each member, as the sum of a range that is the whole; each member
 * sends the root an empty part when it joins, so that the root cannot run ahead. Scalars and the wish to end
 * ride on the envelopes. With `reduction: fast` MPI takes sums over all workers, in any order it likes.
 * Packed buffers are not summed on their way: everyone sends its own to all, and adds what comes in rank
 * order. Where gradients leave early, a collective is a sum for each bucket: all of this holds for each, and
 * the worker gets the result when all are there. When emulating, empty tokens take the simulator's steps, and
 * a result stays hidden until they say so. */
#include "base/memory.h"
#include "compress/packet.h"
#include "run/buckets.h"
#include "wire/ranks_state.h"
#include "math/kernels.h"
#include <stdlib.h>
#include <string.h>

static mot_node self_of(const struct mot_ranks *p)
{
    return p->hosted[0].node.actor.self; /* a rank's worker is its first node */
}

static struct sum *sum_at(const struct sums *c, uint64_t number) { return &c->sum[number % c->window]; }

/* Which collective a sum belongs to, and which bucket it is of. */
static uint64_t coll_of(const struct sums *c, uint64_t number)
{
    return number ? (number - 1) / c->parts + 1 : 0;
}
static uint32_t bucket_of(const struct sums *c, uint64_t number)
{
    return c->parts - 1 - (uint32_t)((number - 1) % c->parts);
}

static enum mot_coll_scope scope_of(const struct mot_ranks *p, const struct sums *c)
{
    return (enum mot_coll_scope)(c - p->sums);
}

static bool is_fast(const struct mot_ranks *p, enum mot_coll_scope scope, const struct sum_name *name)
{
    return p->live.experiment->mpi.fast && scope == MOT_COLL_ALL && name->kind == MOT_COLL_SUM &&
        !name->packed;
}

static uint32_t rank_of(const struct mot_ranks *p, const struct sums *c, uint32_t member)
{
    return mot_ranks_of(p, mot_circle_node(&c->circle, member));
}

static uint32_t chunk_of(const struct sums *c, uint32_t len)
{
    uint32_t chunk = (len + c->circle.n - 1) / c->circle.n;
    return (chunk + 15u) & ~15u; /* ranges start on cache lines */
}

struct range {
    uint32_t first, len;
};
static struct range range_of(const struct sums *c, uint32_t len, uint32_t owner)
{
    uint64_t chunk = chunk_of(c, len), first = chunk * owner;
    if (first > len) first = len;
    return (struct range){ (uint32_t)first, (uint32_t)(len - first < chunk ? len - first : chunk) };
}

/* The floats that such an envelope brings. */
static struct range body_of(
    const struct sums *c, enum mot_envelope_kind kind, const struct sum_name *name, uint32_t owner)
{
    if (name->packed) return (struct range){ 0, name->len };
    if (name->kind != MOT_COLL_FROM_ROOT) return range_of(c, name->len, owner);
    return (struct range){ 0, kind == MOT_ENVELOPE_SUM ? name->len : 0 };
}

static bool is_name(const struct sum_name *a, const struct sum_name *b)
{
    return a->kind == b->kind && a->tag == b->tag && a->off == b->off && a->len == b->len &&
        a->packed == b->packed;
}

/* Whether our worker is done with that sum. */
static bool is_over(const struct sums *c, uint64_t number) { return number + c->waiting <= c->joined; }

/* Whether that member cannot have got so far yet. It needs the root for our current collective, or for our
 * next; and the root needs us, with all that we have to give. */
static bool is_ahead(const struct sums *c, uint64_t number, uint32_t from)
{
    uint64_t at = coll_of(c, number), ours = coll_of(c, c->joined);
    if (at > ours && c->joined % c->parts != 0) return true;
    return at > ours + (c->rank == 0 || from == 0 ? 1 : 2);
}

/* Whether a bucket of this sum can have that name. */
static bool is_bucket(
    const struct mot_world *w, const struct sums *c, uint64_t number, const struct sum_name *name)
{
    if (c->parts == 1) return true;
    uint32_t bucket = bucket_of(c, number);
    return name->kind == MOT_COLL_SUM && !name->packed && name->off == w->bucket_at[bucket] &&
        name->len == mot_bucket_len(w, bucket);
}

/* Whether a member has yet to send us something of a collective that we have joined. */
static bool owes(const struct sums *c, const struct sum *s, uint32_t member)
{
    const struct sum_from *f = &s->from[member];
    switch ((enum mot_coll_kind)s->name.kind) {
    case MOT_COLL_SUM: return f->part == PIECE_MISSING || (f->sum == PIECE_MISSING && !s->name.packed);
    case MOT_COLL_TO_ROOT: return f->part == PIECE_MISSING || (c->rank == 0 && f->sum == PIECE_MISSING);
    case MOT_COLL_FROM_ROOT:
        return c->rank == 0 ? f->part == PIECE_MISSING : member == 0 && f->sum == PIECE_MISSING;
    }
    return false;
}

/* The collective is over: its slot is for another. */
static void clear_sum(struct sums *c, struct sum *s)
{
    if (s->part) c->spare[c->spares++] = s->part;
    s->part = NULL;
    for (uint32_t i = 0; i < c->circle.n; i++) free(s->from[i].packet);
    memset(s->from, 0, c->circle.n * sizeof(*s->from));
    s->added = s->sums = 0;
    s->out = MOT_NO_BUF;
    s->joined = s->last = s->reduced = false;
    s->progress = (struct mot_coll_progress){ 0 };
}

static void send_range(struct mot_ranks *p, struct sums *c, struct sum *s, enum mot_envelope_kind kind,
    uint32_t owner, uint32_t to, mot_buf buf)
{
    struct range r = body_of(c, kind, &s->name, owner);
    struct hosted *b = &p->hosted[0];
    const void *body = r.len ? mot_pool_at(&p->live.pool, buf) + s->name.off + r.first : NULL;
    struct mot_envelope e = mot_envelope_of(kind);
    e.samples = atomic_load(&b->samples);
    e.bytes = (uint64_t)r.len * sizeof(float);
    if (s->name.packed) {
        body = mot_pool_packet(&p->live.pool, buf);
        e.bytes = mot_pool_packed(&p->live.pool, buf);
        e.range.packed = 1;
    }
    e.range.from = self_of(p);
    e.range.to = mot_circle_node(&c->circle, to);
    e.range.owner = mot_circle_node(&c->circle, owner);
    e.range.tag = s->name.tag;
    e.range.off = s->name.off;
    e.range.len = s->name.len;
    e.range.scope = (uint16_t)scope_of(p, c);
    e.range.coll = (uint16_t)s->name.kind;
    /* only worker 0 can ask for the end, with the first envelopes that it sends for a collective */
    e.range.last =
        s->last && self_of(p) == 0 && (kind == MOT_ENVELOPE_SUM) == (s->name.kind == MOT_COLL_FROM_ROOT);
    e.range.number = s->number;
    memcpy(e.range.scalar, s->from[c->rank].scalar, sizeof(e.range.scalar));
    if (e.bytes && p->live.experiment->mpi.check_all) e.body_sum = mot_body_sum(body, e.bytes);
    if (e.bytes) mot_pool_hold(&p->live.pool, buf); /* until sent */
    mot_live_node_sent(&b->node, e.range.to, e.bytes);
    mot_ranks_post(p, rank_of(p, c, to), &e, body, e.bytes ? buf : MOT_NO_BUF);
}

/* Adds a member's packet to the sum. */
static void add_packet(struct mot_ranks *p, struct sums *c, struct sum *s, uint32_t member)
{
    float *out = mot_pool_at(&p->live.pool, s->out) + s->name.off;
    struct sum_from *f = &s->from[member];
    if (member == 0) memset(out, 0, s->name.len * sizeof(*out));
    mot_packet_add(
        member == c->rank ? mot_pool_packet(&p->live.pool, s->in.buf) : f->packet, s->name.len, out);
    free(f->packet);
    f->packet = NULL;
}

/* Adds a member's part to our range. */
static void add_part(struct mot_ranks *p, struct sums *c, struct sum *s, uint32_t member)
{
    if (s->name.packed) {
        add_packet(p, c, s, member);
        return;
    }
    struct range r = range_of(c, s->name.len, c->rank);
    if (r.len == 0) return;
    float *out = mot_pool_at(&p->live.pool, s->out) + s->name.off + r.first;
    const float *in = member == c->rank ? mot_pool_at(&p->live.pool, s->in.buf) + s->in.off + r.first
                                        : s->part + (size_t)member * c->chunk_max;
    if (member == 0) memcpy(out, in, r.len * sizeof(*out));
    else mot_kernels()->axpy(r.len, 1.0f, in, out);
}

/* Adds the parts of our range that have arrived, in rank order; the complete sum goes where it is wanted. */
static void add_parts(struct mot_ranks *p, struct sums *c, struct sum *s)
{
    uint32_t n = c->circle.n;
    if (!s->joined) return;
    while (s->added < n && (s->added == c->rank || s->from[s->added].part == PIECE_HERE)) {
        add_part(p, c, s, s->added);
        if (++s->added < n) continue;
        mot_pool_drop(&p->live.pool, s->in.buf);
        s->sums++;
        if (s->name.packed) {
            s->sums = n;
            return;
        }
        if (s->name.kind == MOT_COLL_TO_ROOT) {
            if (c->rank != 0) send_range(p, c, s, MOT_ENVELOPE_SUM, c->rank, 0, s->out);
            return;
        }
        for (uint32_t i = 1; i < n; i++) /* staggered, so not all send to the same worker at once */
            send_range(p, c, s, MOT_ENVELOPE_SUM, c->rank, (c->rank + i) % n, s->out);
    }
}

/* ---- Emulated links ----------------------------------------------------------------------------- */

static enum mot_coll_way way_of(const struct mot_ranks *p, const struct sum *s)
{
    if (s->name.packed) return MOT_WAY_GATHER;
    return mot_coll_way_for(
        p->live.experiment->sim.collective, (enum mot_coll_kind)s->name.kind, s->name.len);
}

/* Bytes of a gather's step; 0: a packet that belongs to it has yet to come. */
static uint64_t gathered(const struct sums *c, const struct sum *s, const struct mot_coll_step *step)
{
    uint64_t bytes = 0;
    for (uint64_t i = step->first; i < step->last; i++) {
        uint64_t given = s->from[i % c->circle.n].packed;
        if (given == 0) return 0;
        bytes += given;
    }
    return bytes;
}

static void send_tokens(struct mot_ranks *p, struct sums *c, struct sum *s)
{
    struct mot_coll_step step;
    struct mot_coll_progress before = s->progress;
    struct hosted *b = &p->hosted[0];
    mot_node self = self_of(p);
    for (; mot_coll_next(way_of(p, s), c->circle.n, c->rank, s->name.len, &s->progress, &step);
         before = s->progress) {
        uint64_t bytes =
            s->name.packed ? gathered(c, s, &step) : mot_floats_bytes(step.last - step.first, p->wire_bytes);
        if (s->name.packed && bytes == 0) { /* goes on when it is here */
            s->progress = before;
            return;
        }
        struct mot_departure d =
            mot_network_leave(p->live.experiment->cluster, &b->nic, self, bytes, mot_live_now(&p->live));
        struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_TOKEN);
        e.samples = atomic_load(&b->samples);
        e.token.from = self;
        e.token.to = mot_circle_node(&c->circle, step.to);
        e.token.tag = s->name.tag;
        e.token.len = s->name.len;
        e.token.step = step.step;
        e.token.scope = (uint16_t)scope_of(p, c);
        e.token.coll = (uint16_t)s->name.kind;
        e.token.number = s->number;
        e.token.bytes = bytes;
        e.token.lag = d.lag;
        e.token.took = d.took;
        mot_ranks_post(p, rank_of(p, c, step.to), &e, NULL, 0);
    }
}

/* The collectives of a scope, if the envelope is from a member to us; else NULL. */
static struct sums *circle_of(
    struct mot_ranks *p, const struct letter *l, uint32_t scope, mot_node from, mot_node to)
{
    if (p->window == 0 || scope >= MOT_COLL_SCOPES || to != self_of(p)) return NULL;
    struct sums *c = &p->sums[scope];
    if (c->circle.n == 0 || !mot_circle_has(&c->circle, from) || !mot_ranks_is_of(p, from, l->rank))
        return NULL;
    return c;
}

bool mot_ranks_token_came(struct mot_ranks *p, const struct letter *came)
{
    const struct mot_envelope *e = &came->envelope;
    struct sums *c = circle_of(p, came, e->token.scope, e->token.from, e->token.to);
    if (!p->live.emulate || !c || is_ahead(c, e->token.number, mot_circle_rank(&c->circle, e->token.from)))
        return false;
    if (is_over(c, e->token.number)) return true;
    struct letter *l = mot_ranks_letter(p);
    struct hosted *b = &p->hosted[0];
    memcpy(&l->envelope, e, sizeof(*e));
    l->rank = came->rank;
    l->due = mot_network_arrive(p->live.experiment->cluster, &b->nic, e->token.from, e->token.to,
        e->token.bytes, (struct mot_departure){ e->token.lag, e->token.took }, mot_live_now(&p->live));
    struct letter **at = &p->tokens; /* keeps each sender's order, however long each waited to leave */
    for (; *at; at = &(*at)->next)
        if ((*at)->envelope.token.from == e->token.from && (*at)->due > l->due) l->due = (*at)->due;
    *at = l;
    return true;
}

/* A token of a sum that we have joined. */
static void take_token(struct mot_ranks *p, struct sums *c, const struct letter *l)
{
    struct sum *s = sum_at(c, l->envelope.token.number);
    uint32_t from = mot_circle_rank(&c->circle, l->envelope.token.from), step = l->envelope.token.step;
    enum mot_coll_way way = way_of(p, s);
    uint64_t bytes = l->envelope.token.bytes;
    if (l->envelope.token.coll != s->name.kind ||
        !mot_coll_expects(way, c->circle.n, c->rank, from, step, &s->progress) ||
        (s->name.packed && bytes > c->circle.n * mot_packet_most(s->name.len))) {
        mot_ranks_distrust(p, l->rank);
        return;
    }
    mot_coll_received(way, c->circle.n, c->rank, from, step, &s->progress);
    send_tokens(p, c, s);
}

/* Whether it is of a sum that we have joined. Tokens of later ones stay where they are. */
static bool is_wanted(const struct mot_ranks *p, const struct letter *l)
{
    const struct sums *c = &p->sums[l->envelope.token.scope];
    return !is_over(c, l->envelope.token.number) && l->envelope.token.number <= c->joined;
}

void mot_ranks_take_tokens(struct mot_ranks *p)
{
    mot_time now = mot_live_now(&p->live);
    for (struct letter **at = &p->tokens; *at;) {
        struct letter *l = *at;
        struct sums *c = &p->sums[l->envelope.token.scope];
        bool over = is_over(c, l->envelope.token.number);
        if (!over && (l->due > now || !is_wanted(p, l))) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        if (!over) take_token(p, c, l);
        mot_ranks_letter_free(p, l);
    }
}

mot_time mot_ranks_next_token(const struct mot_ranks *p)
{
    mot_time next = MOT_NEVER;
    for (const struct letter *l = p->tokens; l; l = l->next)
        if (is_wanted(p, l) && l->due < next) next = l->due;
    return next;
}

/* ---- Joining, receiving, leaving --------------------------------------------------------------------- */

/* Members that joined before us must name the collective as we do. One that has joined a later collective,
 * which it cannot do without us, is wrong too. */
static void check_early(struct mot_ranks *p, struct sums *c, struct sum *s)
{
    const struct sum *next = sum_at(c, s->number + c->parts);
    for (uint32_t i = 0; i < c->circle.n; i++) {
        struct sum_from *f = &s->from[i];
        bool named = f->part != PIECE_MISSING || f->sum != PIECE_MISSING, skips = false;
        if (i != c->rank && next->from[i].part != PIECE_MISSING) skips = owes(c, s, i);
        if (!skips && (!named || is_name(&f->name, &s->name))) continue;
        if (f->part != PIECE_MISSING) f->part = PIECE_MISSING; /* never to come */
        mot_ranks_distrust(p, rank_of(p, c, i));
    }
}

static void reduce_fast(struct mot_ranks *p, struct sum *s)
{
    const struct mot_pool *pool = &p->live.pool;
    const float *in = s->in.len ? mot_pool_at(pool, s->in.buf) + s->in.off : NULL;
    float *out = s->in.len ? mot_pool_at(pool, s->out) + s->in.off : NULL;
    memcpy(s->fast, s->from[p->sums[MOT_COLL_ALL].rank].scalar, sizeof(s->from->scalar));
    s->fast[MOT_SCALARS] = s->last;
    pthread_mutex_lock(&p->lock);
    p->transport->ops->reduce(p->transport, in, out, s->in.len, s->fast, MOT_SCALARS + 1, s);
    pthread_mutex_unlock(&p->lock);
}

static void send_input(struct mot_ranks *p, struct sums *c, struct sum *s)
{
    uint32_t n = c->circle.n;
    if (s->name.kind == MOT_COLL_FROM_ROOT && c->rank != 0) {
        send_range(p, c, s, MOT_ENVELOPE_PART, 0, 0, MOT_NO_BUF);
        return;
    }
    for (uint32_t i = 1; i < n; i++) {
        uint32_t to = (c->rank + i) % n;
        if (s->name.kind == MOT_COLL_FROM_ROOT) send_range(p, c, s, MOT_ENVELOPE_SUM, 0, to, s->in.buf);
        else send_range(p, c, s, MOT_ENVELOPE_PART, to, to, s->in.buf);
    }
    if (s->name.kind != MOT_COLL_FROM_ROOT) add_parts(p, c, s);
}

static void join_sum(struct mot_ranks *p, struct sums *c, const struct mot_coll *coll, bool last)
{
    struct sum *s = sum_at(c, ++c->joined);
    MOT_ASSERT(!s->joined && c->waiting < c->parts);
    s->number = c->joined;
    uint64_t packed = mot_pool_packed(&p->live.pool, coll->in.buf);
    s->name = (struct sum_name){ coll->kind, coll->tag, coll->in.off, coll->in.len, packed > 0 };
    s->from[c->rank].packed = packed;
    s->in = coll->in;
    s->joined = true;
    s->last |= last;
    memcpy(s->from[c->rank].scalar, coll->scalar, sizeof(coll->scalar));
    check_early(p, c, s);
    if (coll->kind == MOT_COLL_FROM_ROOT) {
        if (c->rank == 0) s->out = s->in.buf;
    } else if (c->waiting) { /* the buckets of a result share its buffer */
        s->out = sum_at(c, s->number - 1)->out;
        mot_pool_hold(&p->live.pool, s->out);
    } else if (coll->in.len && !s->out) {
        s->out = mot_pool_take(&p->live.pool);
    }
    c->waiting++;
    if (p->live.emulate) {
        s->progress.joined = true;
        send_tokens(p, c, s);
    }
    if (is_fast(p, coll->scope, &s->name)) reduce_fast(p, s);
    else send_input(p, c, s);
}

/* Joins the sum of the next bucket. The last one has the scalars and the tag. */
static void join_bucket(struct mot_ranks *p, struct sums *c, const struct mot_coll *whole, bool last)
{
    const struct mot_world *w = &p->live.world;
    uint32_t bucket = bucket_of(c, c->joined + 1);
    struct mot_coll coll = *whole;
    coll.in.off = w->bucket_at[bucket];
    coll.in.len = mot_bucket_len(w, bucket);
    if (bucket > 0) {
        coll.tag = bucket;
        memset(coll.scalar, 0, sizeof(coll.scalar));
        mot_pool_hold(&p->live.pool, coll.in.buf); /* until it is added */
    }
    join_sum(p, c, &coll, last && bucket == 0);
}

void mot_ranks_join(struct mot_ranks *p, const struct mot_coll *coll, bool last)
{
    struct sums *c = &p->sums[coll->scope];
    if (c->parts == 1) {
        join_sum(p, c, coll, last);
        return;
    }
    MOT_ASSERT(coll->kind == MOT_COLL_SUM && coll->in.len == p->live.world.dim);
    do join_bucket(p, c, coll, last);
    while (c->waiting < c->parts);
}

void mot_ranks_give(struct mot_ranks *p, mot_buf buf, uint32_t bucket)
{
    struct sums *c = &p->sums[MOT_COLL_ALL];
    if (c->parts == 1) return; /* MPI takes the sum, as a whole */
    MOT_ASSERT(bucket > 0 && bucket == bucket_of(c, c->joined + 1));
    join_bucket(p, c, &(struct mot_coll){ .in = { .buf = buf } }, false);
    mot_ranks_progress(p);
}

/* A range's sum comes from a member that has our part. If it got there before us, we learn only when we
 * join whether it means the same collective. What a root spreads may come before we join. */
static bool expect_sum(
    struct mot_ranks *p, struct sums *c, struct letter *l, struct sum *s, const struct sum_name *name)
{
    const struct mot_envelope *e = &l->envelope;
    uint32_t from = mot_circle_rank(&c->circle, e->range.from);
    struct sum_from *f = &s->from[from];
    if (e->range.owner != e->range.from || f->sum != PIECE_MISSING || (s->joined && !is_name(name, &s->name)))
        return false;
    if (name->kind == MOT_COLL_FROM_ROOT) {
        if (from != 0 || f->part != PIECE_MISSING) return false;
    } else if (name->packed || !s->joined || f->part == PIECE_MISSING ||
        (name->kind == MOT_COLL_TO_ROOT && c->rank != 0)) {
        return false;
    }
    struct range r = body_of(c, MOT_ENVELOPE_SUM, name, from);
    if (e->bytes != (uint64_t)r.len * sizeof(float)) return false;
    f->sum = PIECE_COMING;
    f->name = *name;
    if (r.len && !s->out) s->out = mot_pool_take(&p->live.pool);
    l->body = r.len ? mot_pool_at(&p->live.pool, s->out) + name->off + r.first : NULL;
    return true;
}

static bool expect_part(
    struct mot_ranks *p, struct sums *c, struct letter *l, struct sum *s, const struct sum_name *name)
{
    const struct mot_envelope *e = &l->envelope;
    uint32_t from = mot_circle_rank(&c->circle, e->range.from);
    struct sum_from *f = &s->from[from];
    if (e->range.owner != self_of(p) || f->part != PIECE_MISSING || f->sum != PIECE_MISSING ||
        (s->joined && !is_name(name, &s->name)) || (name->kind == MOT_COLL_FROM_ROOT && c->rank != 0))
        return false;
    struct range r = body_of(c, MOT_ENVELOPE_PART, name, c->rank);
    if (name->packed ? !mot_ranks_is_packet(p, e->bytes, r.len) : e->bytes != (uint64_t)r.len * sizeof(float))
        return false;
    f->part = PIECE_COMING;
    f->name = *name;
    if (name->packed) { /* the letter's, until it is here */
        l->body = mot_new(1, e->bytes);
        l->owned = true;
        return true;
    }
    if (r.len && !s->part) s->part = c->spare[--c->spares];
    l->body = r.len ? s->part + (size_t)from * c->chunk_max : NULL;
    return true;
}

bool mot_ranks_expect_range(struct mot_ranks *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    struct sum_name name = { e->range.coll, e->range.tag, e->range.off, e->range.len, e->range.packed };
    struct sums *c = circle_of(p, l, e->range.scope, e->range.from, e->range.to);
    if (!c || name.kind > MOT_COLL_FROM_ROOT || name.packed > (name.kind == MOT_COLL_SUM) ||
        e->range.unused || is_fast(p, scope_of(p, c), &name) || name.len > p->live.world.dim ||
        name.off > p->live.world.dim - name.len)
        return false;
    uint32_t from = mot_circle_rank(&c->circle, e->range.from);
    if (is_over(c, e->range.number) || is_ahead(c, e->range.number, from)) return false;
    bool part = e->kind == MOT_ENVELOPE_PART, first = part == (name.kind != MOT_COLL_FROM_ROOT);
    if (e->range.last > (first && e->range.from == 0 && e->range.scope == MOT_COLL_ALL)) return false;
    if (!is_bucket(&p->live.world, c, e->range.number, &name)) return false;
    /* whoever is at a later collective has sent what it owed to this one */
    for (uint32_t i = 0; i < c->waiting && coll_of(c, e->range.number) > coll_of(c, c->joined); i++)
        if (owes(c, sum_at(c, c->joined - i), from)) return false;
    struct sum *s = sum_at(c, e->range.number);
    return part ? expect_part(p, c, l, s, &name) : expect_sum(p, c, l, s, &name);
}

bool mot_ranks_range_came(struct mot_ranks *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    struct sums *c = &p->sums[e->range.scope];
    struct sum *s = sum_at(c, e->range.number);
    struct sum_from *f = &s->from[mot_circle_rank(&c->circle, e->range.from)];
    bool part = e->kind == MOT_ENVELOPE_PART;
    if (part && f->part != PIECE_COMING) return true; /* refused in the meantime */
    if (part && f->name.packed) {
        if (!mot_packet_check(l->body, e->bytes, f->name.len)) return false;
        f->packet = l->body;
        f->packed = e->bytes;
        l->owned = false;
    }
    if (part || f->name.kind == MOT_COLL_FROM_ROOT) {
        memcpy(f->scalar, e->range.scalar, sizeof(f->scalar));
        s->last |= e->range.last != 0;
    }
    if (!part) {
        f->sum = PIECE_HERE;
        s->sums++;
        return true;
    }
    f->part = PIECE_HERE;
    if (f->name.kind == MOT_COLL_FROM_ROOT) s->added++;
    else add_parts(p, c, s);
    if (p->live.emulate && s->joined && s->name.packed) send_tokens(p, c, s);
    return true;
}

/* Whether a member has joined a collective that we have joined; true if we would not hear of it. */
static bool has_joined(const struct sums *c, const struct sum *s, uint32_t member)
{
    const struct sum_from *f = &s->from[member];
    if (s->name.kind != MOT_COLL_FROM_ROOT || c->rank == 0) return f->part != PIECE_MISSING;
    return member != 0 || f->sum != PIECE_MISSING;
}

/* A worker that has reported will join no more sums. Its rank goes on adding those that it has joined. */
static void look_for_leavers(struct mot_ranks *p, const struct sums *c, const struct sum *s)
{
    for (uint32_t i = 0; i < c->circle.n; i++)
        if (i != c->rank && p->said_final[mot_circle_node(&c->circle, i)] && !has_joined(c, s, i))
            mot_ranks_distrust(p, rank_of(p, c, i));
}

/* Whether what we joined for is here. */
static bool is_done(const struct sums *c, const struct sum *s)
{
    uint32_t n = c->circle.n;
    switch ((enum mot_coll_kind)s->name.kind) {
    case MOT_COLL_SUM: return s->sums == n;
    case MOT_COLL_TO_ROOT: return c->rank == 0 ? s->sums == n : s->added == n;
    case MOT_COLL_FROM_ROOT: return c->rank == 0 ? s->added == n - 1 : s->from[0].sum == PIECE_HERE;
    }
    return false;
}

/* Fills in what our worker gets; gives back the rest. */
static void fill_result(struct mot_ranks *p, const struct sums *c, struct sum *s, struct mot_coll_result *out)
{
    bool fast = is_fast(p, scope_of(p, c), &s->name);
    *out = (struct mot_coll_result){ .tag = s->name.tag, .scope = scope_of(p, c) };
    if (fast) mot_pool_drop(&p->live.pool, s->in.buf);
    if (s->name.kind == MOT_COLL_TO_ROOT && c->rank != 0) {
        mot_pool_drop(&p->live.pool, s->out);
        return;
    }
    out->out = (struct mot_slice){ .buf = s->out, .off = s->name.off, .len = s->name.len };
    uint32_t n = s->name.kind == MOT_COLL_FROM_ROOT ? 1 : c->circle.n;
    for (int k = 0; k < MOT_SCALARS; k++) {
        if (fast) out->scalar[k] = s->fast[k];
        for (uint32_t i = 0; i < n && !fast; i++) out->scalar[k] += s->from[i].scalar[k];
    }
}

static bool sum_is_there(struct mot_ranks *p, const struct sums *c, const struct sum *s, bool fast)
{
    if (fast ? !s->reduced : !is_done(c, s)) {
        if (p->finals && !fast) look_for_leavers(p, c, s);
        return false;
    }
    return !p->live.emulate || mot_coll_complete(way_of(p, s), c->circle.n, c->rank, &s->progress);
}

static bool one_ready(struct mot_ranks *p, struct sums *c, struct mot_arrival *out)
{
    if (c->waiting == 0 || c->waiting < c->parts) return false;
    struct sum *s = sum_at(c, c->joined);
    bool fast = is_fast(p, scope_of(p, c), &s->name);
    for (uint32_t i = 0; i < c->parts; i++)
        if (!sum_is_there(p, c, sum_at(c, c->joined - i), fast)) return false;
    *out =
        (struct mot_arrival){ .kind = MOT_ARRIVAL_COLL, .last = fast ? s->fast[MOT_SCALARS] != 0 : s->last };
    fill_result(p, c, s, &out->coll);
    if (c->parts > 1) out->coll.out.off = 0, out->coll.out.len = p->live.world.dim;
    for (uint32_t i = 0; i < c->parts; i++) {
        struct sum *part = sum_at(c, c->joined - i);
        if (i > 0) mot_pool_drop(&p->live.pool, part->out); /* the same buffer */
        clear_sum(c, part);
    }
    c->waiting = 0;
    return true;
}

bool mot_ranks_sum_ready(struct mot_ranks *p, struct mot_arrival *out)
{
    for (int scope = 0; scope < MOT_COLL_SCOPES; scope++)
        if (one_ready(p, &p->sums[scope], out)) return true;
    return false;
}

/* ---- Setting up and taking down ------------------------------------------------------------------ */

static size_t part_bytes(const struct sums *c) { return (size_t)c->circle.n * c->chunk_max * sizeof(float); }

static void open_circle(struct mot_ranks *p, struct sums *c, enum mot_coll_scope scope)
{
    const struct mot_world *w = &p->live.world;
    mot_node self = self_of(p);
    *c = (struct sums){ 0 };
    if (self >= w->workers || (scope != MOT_COLL_ALL && !w->groups)) return;
    struct mot_circle circle = mot_circle(w, mot_circle_of(w, scope, self));
    if (!mot_circle_has(&circle, self)) return;
    c->circle = circle;
    c->rank = mot_circle_rank(&circle, self);
    bool cut = mot_buckets_any(w) && scope == MOT_COLL_ALL && !p->live.experiment->mpi.fast;
    c->parts = cut ? w->buckets : 1;
    c->window = p->window * c->parts;
    c->chunk_max = chunk_of(c, cut ? mot_buckets_longest(w) : w->dim);
    c->sum = mot_new(c->window, sizeof(*c->sum));
    c->spare = mot_new(c->window, sizeof(*c->spare));
    for (uint32_t i = 0; i < c->window; i++) {
        c->sum[i].from = mot_new(circle.n, sizeof(*c->sum->from));
        /* address space: a bucket touches what its own length needs, however long the longest is */
        c->spare[c->spares] = mot_reserve(part_bytes(c));
        if (!c->spare[c->spares]) return; /* the refusal ends the run */
        c->spares++;
    }
}

void mot_ranks_sums_open(struct mot_ranks *p, uint32_t window)
{
    p->window = window;
    for (int scope = 0; window && scope < MOT_COLL_SCOPES; scope++)
        open_circle(p, &p->sums[scope], (enum mot_coll_scope)scope);
}

void mot_ranks_sums_close(struct mot_ranks *p)
{
    for (struct sums *c = p->sums; c < p->sums + MOT_COLL_SCOPES; c++) {
        for (uint32_t i = 0; c->sum && i < c->window; i++) {
            mot_release(c->sum[i].part, part_bytes(c));
            for (uint32_t k = 0; c->sum[i].from && k < c->circle.n; k++) free(c->sum[i].from[k].packet);
            free(c->sum[i].from);
        }
        while (c->spares) mot_release(c->spare[--c->spares], part_bytes(c));
        free(c->sum);
        free(c->spare);
        *c = (struct sums){ 0 };
    }
    while (p->tokens) {
        struct letter *next = p->tokens->next;
        mot_ranks_letter_free(p, p->tokens);
        p->tokens = next;
    }
    p->window = 0;
}
