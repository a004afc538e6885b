/* ranks_sum.c -- sums over all workers, by our own messages, with the simulator's bits.
 *
 * The floats are cut into as many ranges as there are workers. Everyone sends range j of its input
 * to worker j, straight from the buffer; worker j adds what it gets in rank order and sends the
 * sum of its range to all. So each float crosses the wire twice for each worker, as in a ring,
 * but in two hops instead of 2 (n - 1). Scalars and the wish to end ride on the envelopes.
 * With `reduction: fast` MPI does it, in whatever order it likes. Emulating, empty tokens
 * follow the schedule that the simulator would use, and the sum is not seen before they say so. */
#include "base/memory.h"
#include "wire/ranks_state.h"
#include "math/kernels.h"
#include <stdlib.h>
#include <string.h>

static mot_node self_of(const struct crowd *p)
{
    return p->berth[0].node.self; /* the worker of a rank is its first node */
}

static struct sum *sum_at(struct crowd *p, uint64_t number) { return &p->sum[number % p->window]; }

static uint32_t chunk_of(const struct crowd *p, uint32_t len)
{
    uint32_t n = p->live.world.workers, chunk = (len + n - 1) / n;
    return (chunk + 15u) & ~15u; /* ranges begin on cache lines */
}

struct range {
    uint32_t first, len;
};
static struct range range_of(const struct crowd *p, uint32_t len, mot_node owner)
{
    uint64_t chunk = chunk_of(p, len), first = chunk * owner;
    if (first > len) first = len;
    return (struct range){ (uint32_t)first, (uint32_t)(len - first < chunk ? len - first : chunk) };
}

/* Whether our worker is done with that one. */
static bool is_over(const struct crowd *p, uint64_t number) { return number + p->summing <= p->sums; }

/* The first that is heard of this collective, from us or from another, makes it. */
static struct sum *begin_sum(struct crowd *p, uint64_t number, uint32_t tag, uint32_t len)
{
    struct sum *s = sum_at(p, number);
    if (s->begun) return s->number == number && s->len == len && s->tag == tag ? s : NULL;
    uint32_t n = p->live.world.workers;
    s->begun = true;
    s->number = number;
    s->tag = tag;
    s->len = len;
    s->parts = s->added = s->sums = 0;
    s->joined = s->last = s->reduced = false;
    memset(s->part_here, 0, n * sizeof(*s->part_here));
    s->progress = (struct mot_coll_progress){ 0 };
    s->out = mot_pool_take(&p->live.pool);
    return s;
}

static void send_range(struct crowd *p, struct sum *s, enum mot_envelope_kind kind, mot_node owner,
    mot_node to, mot_buf buf, uint32_t off)
{
    struct range r = range_of(p, s->len, owner);
    mot_node self = self_of(p);
    struct berth *b = &p->berth[0];
    const float *body = mot_pool_at(&p->live.pool, buf) + off + r.first;
    struct mot_envelope e = { .kind = (uint16_t)kind,
        .from = self,
        .to = to,
        .samples = atomic_load(&b->samples),
        .round = s->number,
        .tag = s->tag,
        .off = owner,
        .len = s->len,
        .last = s->last,
        .bytes = (uint64_t)r.len * sizeof(float) };
    memcpy(e.scalar, s->scalar[self], sizeof(e.scalar));
    if (e.bytes && p->live.experiment->mpi.check_all) e.body_sum = mot_body_sum(body, e.bytes);
    if (e.bytes) mot_pool_hold(&p->live.pool, buf); /* until it is sent */
    b->node.tally.messages_sent++;
    b->node.tally.bytes_sent += e.bytes;
    mot_ranks_post(p, mot_ranks_of(p, to), &e, body, e.bytes ? buf : MOT_NO_BUF);
}

/* Adds to our range what has come, in rank order; when all is added, everyone gets it. */
static void add_parts(struct crowd *p, struct sum *s)
{
    const struct mot_kernels *k = mot_kernels();
    mot_node self = self_of(p);
    uint32_t n = p->live.world.workers;
    struct range r = range_of(p, s->len, self);
    float *out = mot_pool_at(&p->live.pool, s->out) + r.first;
    while (s->joined && s->added < n && (s->added == self || s->part_here[s->added])) {
        const float *in = s->added == self ? mot_pool_at(&p->live.pool, s->in.buf) + s->in.off + r.first
                                           : s->part + (size_t)s->added * p->chunk_max;
        if (s->added == 0) memcpy(out, in, r.len * sizeof(*out));
        else k->axpy(r.len, 1.0f, in, out);
        if (++s->added < n) continue;
        mot_pool_drop(&p->live.pool, s->in.buf);
        s->sums++;
        for (uint32_t i = 1; i < n; i++) /* not all to the same one at once */
            send_range(p, s, MOT_ENVELOPE_SUM, self, (self + i) % n, s->out, 0);
    }
}

/* ---- Emulated links ----------------------------------------------------------------------------- */

static void send_tokens(struct crowd *p, struct sum *s)
{
    struct mot_coll_step step;
    struct berth *b = &p->berth[0];
    mot_node self = self_of(p);
    const struct mot_experiment *x = p->live.experiment;
    while (mot_schedule_next(
        (enum mot_collective)x->sim.collective, p->live.world.workers, self, s->len, &s->progress, &step)) {
        uint64_t bytes = (uint64_t)((double)(step.last - step.first) * p->wire_bytes + 0.5);
        struct mot_departure d = mot_network_leave(x->cluster, &b->nic, self, bytes, mot_live_now(&p->live));
        struct mot_envelope e = { .kind = MOT_ENVELOPE_TOKEN,
            .from = self,
            .to = step.to,
            .round = s->number,
            .tag = s->tag,
            .len = s->len,
            .step = step.step,
            .lag = d.lag,
            .took = d.took,
            .value = (double)bytes };
        mot_ranks_post(p, mot_ranks_of(p, step.to), &e, NULL, 0);
    }
}

void mot_ranks_token_came(struct crowd *p, const struct mot_envelope *e)
{
    if (!p->live.emulate || is_over(p, e->round)) return;
    if (!begin_sum(p, e->round, e->tag, e->len)) return;
    struct letter *l = mot_ranks_letter(p);
    struct berth *b = &p->berth[0];
    l->envelope = *e;
    l->due = mot_network_arrive(p->live.experiment->cluster, &b->nic, e->from, e->to, (uint64_t)e->value,
        (struct mot_departure){ e->lag, e->took }, mot_live_now(&p->live));
    struct letter **at = &p->tokens; /* those of one sender stay in order */
    while (*at) at = &(*at)->next;
    *at = l;
}

static void tokens_due(struct crowd *p)
{
    mot_time now = mot_live_now(&p->live);
    for (struct letter **at = &p->tokens; *at;) {
        struct letter *l = *at;
        if (l->due > now) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        struct sum *s = sum_at(p, l->envelope.round);
        mot_schedule_received((enum mot_collective)p->live.experiment->sim.collective, p->live.world.workers,
            self_of(p), l->envelope.from, l->envelope.step, &s->progress);
        if (s->joined) send_tokens(p, s);
        mot_ranks_letter_free(p, l);
    }
}

/* ---- Joining, receiving, leaving --------------------------------------------------------------------- */

void mot_ranks_join(struct crowd *p, const struct mot_coll *coll, bool last)
{
    pthread_mutex_lock(&p->lock);
    uint32_t n = p->live.world.workers;
    mot_node self = self_of(p);
    struct sum *s = begin_sum(p, ++p->sums, coll->tag, coll->in.len);
    MOT_ASSERT(s && "workers disagree about which collective it is");
    s->in = coll->in;
    s->joined = true;
    s->last |= last;
    memcpy(s->scalar[self], coll->scalar, sizeof(coll->scalar));
    p->summing = true;
    if (p->live.emulate) {
        s->progress.joined = true;
        send_tokens(p, s);
    }
    if (p->live.experiment->mpi.fast) {
        memcpy(s->fast, coll->scalar, sizeof(coll->scalar));
        s->fast[MOT_SCALARS] = last;
        mot_wire_reduce(mot_pool_at(&p->live.pool, s->in.buf) + s->in.off, mot_pool_at(&p->live.pool, s->out),
            s->len, s->fast, MOT_SCALARS + 1, s);
    } else {
        for (uint32_t i = 1; i < n; i++) {
            mot_node to = (self + i) % n;
            send_range(p, s, MOT_ENVELOPE_PART, to, to, s->in.buf, s->in.off);
        }
        add_parts(p, s);
    }
    pthread_mutex_unlock(&p->lock);
}

bool mot_ranks_expect_part(struct crowd *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    uint32_t n = p->live.world.workers;
    if (e->from >= n || e->off >= n || e->len > p->live.world.dim || p->window == 0 || is_over(p, e->round))
        return false;
    struct range r = range_of(p, e->len, e->off);
    struct sum *s = begin_sum(p, e->round, e->tag, e->len);
    if (!s || e->bytes != (uint64_t)r.len * sizeof(float)) return false;
    if (e->kind == MOT_ENVELOPE_PART) l->body = s->part + (size_t)e->from * p->chunk_max;
    else l->body = mot_pool_at(&p->live.pool, s->out) + r.first;
    return true;
}

void mot_ranks_part_came(struct crowd *p, const struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    struct sum *s = sum_at(p, e->round);
    if (!s->begun || s->number != e->round) return;
    if (e->kind == MOT_ENVELOPE_SUM) {
        s->sums++;
        return;
    }
    memcpy(s->scalar[e->from], e->scalar, sizeof(e->scalar));
    s->last |= e->last != 0;
    s->part_here[e->from] = true;
    s->parts++;
    add_parts(p, s);
}

bool mot_ranks_sum_ready(struct crowd *p, struct mot_arrival *out)
{
    if (!p->summing) return false;
    struct sum *s = sum_at(p, p->sums);
    const struct mot_experiment *x = p->live.experiment;
    uint32_t n = p->live.world.workers;
    bool fast = x->mpi.fast;
    if (p->live.emulate) tokens_due(p);
    if (fast ? !s->reduced : s->sums < n) return false;
    if (p->live.emulate &&
        !mot_schedule_complete((enum mot_collective)x->sim.collective, n, self_of(p), &s->progress))
        return false;
    *out = (struct mot_arrival){ .kind = MOT_ARRIVAL_COLL,
        .coll = { .tag = s->tag, .out = { .buf = s->out, .len = s->len } },
        .last = fast ? s->fast[MOT_SCALARS] != 0 : s->last };
    for (int k = 0; k < MOT_SCALARS; k++) {
        if (fast) out->coll.scalar[k] = s->fast[k];
        for (mot_node i = 0; i < n && !fast; i++) out->coll.scalar[k] += s->scalar[i][k];
    }
    if (fast) mot_pool_drop(&p->live.pool, s->in.buf);
    s->begun = s->joined = false;
    p->summing = false;
    return true;
}

void mot_ranks_sums_open(struct crowd *p, uint32_t window)
{
    uint32_t n = p->live.world.workers;
    p->window = window;
    p->chunk_max = chunk_of(p, p->live.world.dim);
    p->sum = mot_new(window + 1, sizeof(*p->sum));
    for (uint32_t i = 0; i < window; i++) {
        p->sum[i].part = mot_aligned((size_t)n * p->chunk_max * sizeof(float));
        p->sum[i].part_here = mot_new(n, sizeof(bool));
        p->sum[i].scalar = mot_new(n, sizeof(double[MOT_SCALARS]));
    }
}

void mot_ranks_sums_close(struct crowd *p)
{
    for (uint32_t i = 0; i < p->window; i++) {
        free(p->sum[i].part);
        free(p->sum[i].part_here);
        free(p->sum[i].scalar);
    }
    while (p->tokens) {
        struct letter *next = p->tokens->next;
        mot_ranks_letter_free(p, p->tokens);
        p->tokens = next;
    }
    free(p->sum);
    p->window = 0;
}
