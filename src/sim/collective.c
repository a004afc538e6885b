/* collective.c -- collectives, message by message over the links. */
#include "sim/channel.h"
#include "math/kernels.h"
#include <string.h>

uint64_t mot_sim_flights(const struct mot_needs *n, const struct mot_experiment *x, const struct mot_world *w)
{
    enum mot_coll_way way = mot_coll_way(x->sim.collective, MOT_COLL_SUM);
    /* Allow for a tree instead of a ring: sums of scalars use one, and have more messages in flight. */
    if (way != MOT_WAY_DOUBLING) way = w->compress ? MOT_WAY_GATHER : MOT_WAY_TREE;
    uint64_t flights = mot_coll_flights(way, w->workers);
    if (w->groups)
        flights += w->groups * mot_coll_flights(way, mot_group_size(w)) + mot_coll_flights(way, w->groups);
    return mot_needs_window(n) * flights * mot_sim_buckets(w);
}

/* An instance is a scope, a place in the window and a bucket; together with a member it names a bucket of one
 * collective. The first two take two bits each: a window has three places. */
static uint32_t instance_of(enum mot_coll_scope scope, uint32_t place, uint32_t bucket)
{
    return bucket << 4 | place << 2 | scope;
}
static enum mot_coll_scope scope_of(uint32_t instance) { return (enum mot_coll_scope)(instance & 3); }
static uint32_t place_of(uint32_t instance) { return instance >> 2 & 3; }
static uint32_t bucket_of(uint32_t instance) { return instance >> 4; }

static struct sim_coll *coll_at(struct sim *s, uint32_t instance, mot_node member)
{
    uint32_t circle = mot_circle_of(&s->world, scope_of(instance), member);
    return &s->coll[circle * s->window + place_of(instance)];
}

bool mot_sim_coll_exists(const struct sim *s, uint32_t instance, mot_node from, mot_node to)
{
    if (from >= s->world.workers || to >= s->world.workers || place_of(instance) >= s->window ||
        bucket_of(instance) >= s->buckets)
        return false;
    if (scope_of(instance) >= (s->world.groups ? MOT_COLL_SCOPES : 1)) return false;
    struct mot_circle c = mot_circle(&s->world, mot_circle_of(&s->world, scope_of(instance), to));
    return mot_circle_has(&c, from) && mot_circle_has(&c, to);
}

/* ---- The numbers: in rank order, whatever the steps ------------------------------- */

#define SUM_RANGE 16384u /* floats that a thread sums at a time */

struct sum {
    struct sim *s;
    struct sim_coll *c;
    float *out;
};

static void sum_range(void *context, uint32_t range, unsigned who)
{
    struct sum *j = context;
    const struct mot_kernels *k = mot_kernels();
    uint32_t first = range * SUM_RANGE, len = j->c->len - first < SUM_RANGE ? j->c->len - first : SUM_RANGE;
    (void)who;
    for (uint32_t i = 0; i < j->c->circle.n; i++) {
        const float *in = mot_pool_at(&j->s->pool, j->c->in[i].buf) + j->c->off + first;
        if (i == 0) memcpy(j->out + first, in, len * sizeof(float));
        else k->axpy(len, 1.0f, in, j->out + first);
    }
}

static void sum_floats(struct sim *s, struct sim_coll *c)
{
    uint32_t ranges = (c->len + SUM_RANGE - 1) / SUM_RANGE;
    c->out = mot_pool_take(&s->pool);
    if (c->way == MOT_WAY_GATHER) {
        mot_pool_sum_packed(&s->pool, c->in, c->circle.n, mot_pool_at(&s->pool, c->out));
        return;
    }
    struct sum job = { .s = s, .c = c, .out = mot_pool_at(&s->pool, c->out) + c->off };
    if (c->circle.n > 8 && ranges > 1) {
        mot_crew_each(s->crew, ranges, sum_range, &job);
    } else {
        for (uint32_t r = 0; r < ranges; r++) sum_range(&job, r, 0);
    }
}

static void sum_inputs(struct sim *s, struct sim_coll *c)
{
    MOT_ASSERT(c->joined == c->circle.n);
    if (c->len) sum_floats(s, c);
    memset(c->sum, 0, sizeof(c->sum));
    for (uint32_t i = 0; i < c->circle.n; i++) {
        for (int k = 0; k < MOT_SCALARS; k++) c->sum[k] += c->scalar[i][k];
        mot_pool_drop(&s->pool, c->in[i].buf);
        c->in[i].buf = MOT_NO_BUF;
    }
}

/* ---- The steps ---------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void send_step(
    struct sim *s, struct sim_coll *c, mot_node from, uint32_t instance, const struct mot_coll_step *step)
{
    mot_node to = mot_circle_node(&c->circle, step->to);
    uint64_t bytes = c->way == MOT_WAY_GATHER ? mot_coll_gathered(c->packed, c->circle.n, step)
                                              : mot_floats_bytes(step->last - step->first, s->wire_bytes);
    if (s->channel) {
        mot_channel_send_step(s, from, to, bytes, step->step, instance);
        return;
    }
    mot_time delivered = mot_sim_depart(s, from, to, bytes, (uint16_t)step->step, true);
    mot_sim_put(s, delivered, from, SIM_COLL, to, step->step, instance);
}

static void finish(struct sim *s, struct sim_coll *c, mot_node node, uint32_t instance)
{
    uint32_t rank = mot_circle_rank(&c->circle, node);
    if (c->finished++ == 0 && c->kind != MOT_COLL_FROM_ROOT) sum_inputs(s, c);
    c->progress[rank].finished = true;
    if (s->watch.phase && mot_watch_follows(&s->watch))
        s->watch.phase(s->watch.self, node, MOT_PHASE_COLLECTIVE, c->tag, 0, c->began[rank], s->now);
    struct mot_coll_result result = { .tag = c->tag, .scope = scope_of(instance) };
    if (c->kind != MOT_COLL_TO_ROOT || rank == 0) {
        result.out = (struct mot_slice){ .buf = c->out, .off = c->off, .len = c->len };
        memcpy(result.scalar, c->sum, sizeof(result.scalar));
        /* the instance may be reused while the node's step runs */
        if (c->out) mot_pool_hold(&s->pool, c->out);
    }
    if (c->finished == c->circle.n) {
        mot_pool_drop(&s->pool, c->out);
        memset(c->progress, 0, (size_t)s->buckets * c->circle.n * sizeof(*c->progress));
        c->joined = c->finished = 0;
        c->out = MOT_NO_BUF;
    }
    mot_sim_step(s, node, &(struct mot_event){ .kind = MOT_EV_COLL, .coll = &result });
    mot_pool_drop(&s->pool, result.out.buf);
}

/* Kept apart, since most collectives are not cut. */
static __attribute__((noinline)) bool all_complete(
    const struct sim *s, const struct sim_coll *c, uint32_t rank)
{
    for (uint32_t b = 1; b < s->buckets; b++)
        if (!mot_coll_complete(c->way, c->circle.n, rank, &c->progress[(size_t)b * c->circle.n + rank]))
            return false;
    return true;
}

/* Whether the member has what it joined for and has not finished yet. Beyond its steps, this needs all
 * members to have joined, since inputs are summed only once all are there, and a root must not run ahead of
 * those who get its floats. */
static bool is_due(const struct sim *s, const struct sim_coll *c, uint32_t rank)
{
    const struct mot_coll_progress *p = &c->progress[rank];
    if (p->finished || mot_coll_waits(c->way, p) || !mot_coll_complete(c->way, c->circle.n, rank, p))
        return false;
    if (s->buckets > 1 && !all_complete(s, c, rank)) return false;
    return c->joined == c->circle.n || (c->kind == MOT_COLL_FROM_ROOT && rank != 0);
}

static struct mot_coll_progress *progress_of(const struct sim_coll *c, uint32_t rank, uint32_t instance)
{
    return &c->progress[(size_t)bucket_of(instance) * c->circle.n + rank];
}

/* The same as go_on, for a bucket. Kept apart, since most collectives are not cut. */
static __attribute__((noinline)) bool bucket_goes_on(
    struct sim *s, struct sim_coll *c, mot_node node, uint32_t rank, uint32_t instance)
{
    struct mot_coll_step step;
    struct mot_coll_progress *p = progress_of(c, rank, instance);
    uint32_t len = mot_bucket_len(&s->world, bucket_of(instance));
    while (mot_coll_next(c->way, c->circle.n, rank, len, p, &step)) send_step(s, c, node, instance, &step);
    return is_due(s, c, rank);
}

/* Sends what the member can send; true if it is then due. */
static bool go_on(struct sim *s, struct sim_coll *c, mot_node node, uint32_t rank, uint32_t instance)
{
    struct mot_coll_step step;
    struct mot_coll_progress *p = &c->progress[rank];
    if (__builtin_expect(s->buckets > 1, false)) return bucket_goes_on(s, c, node, rank, instance);
    while (!mot_coll_waits(c->way, p) && mot_coll_next(c->way, c->circle.n, rank, c->len, p, &step))
        send_step(s, c, node, instance, &step);
    return is_due(s, c, rank);
}

/* Marks an event that is not a message: the node had its result when it, or the last member, joined. */
#define ALREADY UINT32_MAX

static void put_already(struct sim *s, mot_node node, uint32_t instance)
{
    mot_sim_put(s, s->now, node, SIM_COLL, node, ALREADY, instance);
}

/* Packed buffers cannot be summed on their way. */
static bool gathers(const struct sim *s, const struct mot_coll *coll)
{
    return coll->kind == MOT_COLL_SUM && s->world.compress && mot_pool_packed(&s->pool, coll->in.buf);
}

static void begin(struct sim *s, struct sim_coll *c, const struct mot_coll *coll)
{
    c->tag = coll->tag;
    c->kind = coll->kind;
    c->way =
        gathers(s, coll) ? MOT_WAY_GATHER : mot_coll_way_for(s->x->sim.collective, coll->kind, coll->in.len);
    c->off = coll->in.off;
    c->len = coll->in.len;
}

static bool is_cut(const struct sim *s, const struct mot_coll *coll)
{
    return coll->scope == MOT_COLL_ALL && coll->kind == MOT_COLL_SUM && coll->in.len == s->world.dim;
}

/* Begins a bucket's steps unless they have begun. */
static void give(struct sim *s, struct sim_coll *c, mot_node node, uint32_t instance)
{
    uint32_t rank = mot_circle_rank(&c->circle, node);
    struct mot_coll_progress *p = progress_of(c, rank, instance);
    if (p->joined) return;
    p->joined = true;
    go_on(s, c, node, rank, instance); /* never due: it has not joined */
}

void mot_sim_give(struct sim *s, mot_node node, uint32_t bucket)
{
    uint32_t instance = instance_of(MOT_COLL_ALL, s->node[node].coll[MOT_COLL_ALL], bucket);
    struct sim_coll *c = coll_at(s, instance, node);
    c->kind = MOT_COLL_SUM;
    c->way = mot_coll_way_for(s->x->sim.collective, c->kind, s->world.dim);
    c->off = 0;
    c->len = s->world.dim;
    give(s, c, node, instance);
}

void mot_sim_join(void *sim, struct mot_actor *actor, const struct mot_coll *coll)
{
    struct sim *s = sim;
    mot_node node = actor->self;
    struct sim_node *n = &s->node[node];
    uint32_t place = n->coll[coll->scope], instance = instance_of(coll->scope, place, 0);
    struct sim_coll *c = coll_at(s, instance, node);
    uint32_t rank = mot_circle_rank(&c->circle, node);
    if (++n->coll[coll->scope] == s->window) n->coll[coll->scope] = 0;
    if (c->joined == 0) begin(s, c, coll);
    MOT_ASSERT(c->tag == coll->tag && c->kind == coll->kind && "all members join the same collective");
    MOT_ASSERT(c->off == coll->in.off && c->len == coll->in.len);
    MOT_ASSERT((s->buckets == 1 || is_cut(s, coll)) && "only sums of whole gradients go in buckets");
    MOT_ASSERT((c->way == MOT_WAY_GATHER) == gathers(s, coll) && "all members give packed buffers, or none");
    MOT_ASSERT(!c->progress[rank].joined);
    MOT_ASSERT(!(s->channel && s->channel->health[node].life) && "who has come back joins no collective");
    c->joined++;
    c->packed[rank] = s->world.compress ? mot_pool_packed(&s->pool, coll->in.buf) : 0;
    c->in[rank] = coll->in; /* takes over the hold that mot_collect took */
    memcpy(c->scalar[rank], coll->scalar, sizeof(coll->scalar));
    if (c->kind == MOT_COLL_FROM_ROOT && rank == 0) {
        c->out = coll->in.buf;
        c->in[rank].buf = MOT_NO_BUF;
        memcpy(c->sum, coll->scalar, sizeof(c->sum));
    }
    c->began[rank] = s->now;
    for (uint32_t b = s->buckets; b-- > 1;) give(s, c, node, instance_of(coll->scope, place, b));
    c->progress[rank].joined = true;
    /* Joining is an effect of a step; completion must be an event of its own. */
    if (go_on(s, c, node, rank, instance)) put_already(s, node, instance);
    if (c->kind == MOT_COLL_SUM || c->joined < c->circle.n) return;
    for (uint32_t i = 0; i < (c->kind == MOT_COLL_TO_ROOT ? c->circle.n : 1); i++)
        if (i != rank && is_due(s, c, i)) put_already(s, mot_circle_node(&c->circle, i), instance);
}

void mot_sim_coll_received(struct sim *s, const struct mot_pending *p)
{
    mot_node from = mot_tie_rank(p->tie), to = p->index;
    if (p->extra == ALREADY) {
        struct sim_coll *c = coll_at(s, p->instance, to);
        if (is_due(s, c, mot_circle_rank(&c->circle, to)))
            finish(s, c, to, p->instance); /* otherwise it was lost */
        return;
    }
    mot_sim_arrive(s, from, to);
    mot_sim_coll_step(s, p->instance, from, to, p->extra);
}

void mot_sim_coll_step(struct sim *s, uint32_t instance, mot_node from, mot_node to, uint32_t step)
{
    struct sim_coll *c = coll_at(s, instance, to);
    uint32_t rank = mot_circle_rank(&c->circle, to);
    mot_coll_received(
        c->way, c->circle.n, rank, mot_circle_rank(&c->circle, from), step, progress_of(c, rank, instance));
    if (go_on(s, c, to, rank, instance)) finish(s, c, to, instance);
}

void mot_sim_coll_lost(struct sim *s, mot_node node)
{
    for (uint32_t i = 0; bucket_of(i) < s->buckets; i++) {
        if (!mot_sim_coll_exists(s, i, node, node)) continue;
        struct sim_coll *c = coll_at(s, i, node);
        progress_of(c, mot_circle_rank(&c->circle, node), i)->joined = false;
    }
}
