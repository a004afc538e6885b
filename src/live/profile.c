#include "live/profile.h"
#include "base/exact.h"
#include "base/memory.h"
#include "math/kernels.h"
#include "math/optim.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* GO: compute now. TURN: measure the pair with node `round`. PING, BULK and FRESH are answered with PONG; a
 * PING with `samples` set gets a PONG with a body; FRESH: write your body anew first. RESULT: figure number
 * `round`. STOP: it is over. */
enum kind { GO, TURN, PING, BULK, FRESH, PONG, RESULT, STOP };

enum figure {
    MEANS = 0,
    JOBS = MOT_PROFILE_SIZES,
    LEAST,
    VARIANCE,
    SHARE,
    STEP_S,
    MIX_S,
    COMPUTED,
    LATENCY = 16,
    THERE,
    BACK
};

#define MODELS 6u /* for steps and sums to take in turn: in a run they are seldom in the nearest cache */
#define SUMS_NS UINT64_C(150000000) /* for steps and sums */

#define ROUNDS_MAX 400u
#define ROUNDS_LEAST 5u
#define PAIR_NS UINT64_C(180000000) /* at most, for a pair */
#define LOOK_UP_NS UINT64_C(2000000)

struct prober {
    struct mot_profile *p;
    struct mot_live_node *n;
    mot_buf body;
    bool go, over;
    mot_node turn; /* peer to measure with; `nodes`: none */
    uint32_t pongs;
    uint32_t results;         /* node 0: figures received */
    double figure[3];         /* node 0: of the current pair */
    double *least, *variance; /* node 0: [workers] */
    double step_s, mix_s;     /* node 0: the sum over the workers */
    float sink;
    cpu_set_t allowed; /* cores that the thread may use */
};

enum mot_status mot_profile_open(struct mot_profile *p, const struct mot_world *w)
{
    p->workers = w->workers;
    p->nodes = w->nodes;
    p->worker = mot_new(w->workers, sizeof(*p->worker));
    p->pair = mot_new_large((size_t)w->nodes * w->nodes, sizeof(*p->pair));
    return mot_memory_status();
}

void mot_profile_close(struct mot_profile *p)
{
    free(p->worker);
    free(p->pair);
    *p = (struct mot_profile){ 0 };
}

static bool interrupted(const struct mot_profile *p) { return p->interrupt && *p->interrupt; }

static mot_time now_of(const struct prober *r) { return mot_live_now(r->n->live); }

/* Any interrupted node ends it for all: ranks are not always interrupted together. */
static bool over(struct prober *r)
{
    if (interrupted(r->p)) r->n->port->end(r->n->port);
    return r->over || r->n->port->ended(r->n->port);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void tell(struct prober *r, mot_node to, enum kind kind, struct mot_head head, mot_buf body)
{
    struct mot_message m = { .from = r->n->actor.self,
        .to = to,
        .kind = (uint16_t)kind,
        .head = head,
        .body = { .buf = body, .len = body ? r->n->live->world.dim : 0 } };
    if (body) mot_pool_hold(&r->n->live->pool, body);
    r->n->port->send(r->n->port, &m);
}

/* Touches the body: transports that copy have paid for this, those that pass pointers have not. */
static void read_body(struct prober *r, const struct mot_message *m)
{
    if (!m->body.buf) return;
    const float *x = mot_pool_at(&r->n->live->pool, m->body.buf) + m->body.off;
    float lane[16] = { 0 };
    for (uint32_t i = 0; i + 16 <= m->body.len; i += 16)
        for (int k = 0; k < 16; k++) lane[k] += x[i + (uint32_t)k];
    for (int k = 0; k < 16; k++) r->sink += lane[k];
}

static void keep(struct prober *r, mot_node from, uint64_t figure, double value)
{
    struct mot_profile_worker *w = &r->p->worker[from < r->p->workers ? from : 0];
    r->results++;
    if (figure < JOBS) w->mean_s[figure] = value;
    else if (figure == JOBS) w->jobs = value;
    else if (figure == LEAST) r->least[from] = value;
    else if (figure == VARIANCE) r->variance[from] = value;
    else if (figure == SHARE) w->share = value;
    else if (figure == STEP_S) r->step_s += value;
    else if (figure == MIX_S) r->mix_s += value;
    else if (figure >= LATENCY && figure <= BACK) r->figure[figure - LATENCY] = value;
}

static void report(struct prober *r, uint64_t figure, double value)
{
    if (r->n->actor.self == 0) keep(r, 0, figure, value);
    else tell(r, 0, RESULT, (struct mot_head){ .round = figure, .value = value }, MOT_NO_BUF);
}

/* Like a model that has just been computed, the body is then not in the reader's cache. */
static void write_body(struct prober *r)
{
    float *x = mot_pool_at(&r->n->live->pool, r->body);
    for (uint32_t i = 0; i < r->n->live->world.dim; i++) x[i] += 1;
}

static void received(struct prober *r, const struct mot_message *m)
{
    read_body(r, m);
    switch ((enum kind)m->kind) {
    case GO: r->go = true; return;
    case TURN: r->turn = (mot_node)m->head.round; return;
    case PING: tell(r, m->from, PONG, (struct mot_head){ 0 }, m->head.samples ? r->body : MOT_NO_BUF); return;
    case FRESH:
        write_body(r);
        tell(r, m->from, PONG, (struct mot_head){ 0 }, MOT_NO_BUF);
        return;
    case BULK: tell(r, m->from, PONG, (struct mot_head){ 0 }, MOT_NO_BUF); return;
    case PONG: r->pongs++; return;
    case RESULT: keep(r, m->from, m->head.round, m->head.value); return;
    case STOP: r->over = true; return;
    }
}

/* Handles one message, if any. Losing a node ends the profile: without it, none is whole. */
static bool look(struct prober *r)
{
    struct mot_arrival a;
    if (!r->n->port->poll(r->n->port, &a)) return false;
    if (a.kind == MOT_ARRIVAL_PEER && !a.peer.up) r->over = true;
    if (a.kind != MOT_ARRIVAL_MESSAGE) return true;
    received(r, &a.message);
    mot_pool_drop(&r->n->live->pool, a.message.body.buf);
    return true;
}

/* Handles one message, or sleeps a while until the next. */
static void attend(struct prober *r)
{
    if (!look(r)) r->n->port->idle(r->n->port, now_of(r) + LOOK_UP_NS);
}

/* ---- Computing --------------------------------------------------------------------------------- */

/* A quarter, half, all and twice this worker's batch. */
static uint32_t batch_of(const struct mot_world *w, mot_node worker, int size)
{
    uint64_t batch = (uint64_t)w->batch[worker] * (UINT64_C(1) << size) / 4;
    return batch < 1 ? 1 : batch > 1u << 20 ? 1u << 20 : (uint32_t)batch;
}

void mot_profile_add(struct mot_profile_times *t, double seconds)
{
    if (t->n == 0 || seconds < t->least) t->least = seconds;
    t->n++;
    t->sum += seconds;
    t->squares += seconds * seconds;
}

struct mot_profile_spread mot_profile_spread(const struct mot_profile_times *t)
{
    struct mot_profile_spread s = { .least = 1 };
    double square = 0, means = 0;
    for (int k = 0; k < MOT_PROFILE_SIZES; k++) {
        if (t[k].n < 2) continue;
        double mean = t[k].sum / t[k].n;
        means++;
        s.jobs += t[k].n;
        square += (t[k].squares - t[k].n * mean * mean) / (mean * mean);
        if (t[k].least / mean < s.least) s.least = t[k].least / mean;
    }
    if (means > 0) s.variance = square / (s.jobs - means);
    return s;
}

/* Jobs are timed by the core time they took: neither other programs nor workers that take turns draw them
 * out. The wall clock shows what those took. */
static void report_times(struct prober *r, const struct mot_profile_times *t, double wall_s)
{
    struct mot_profile_spread s = mot_profile_spread(t);
    double core_s = 0;
    for (int k = 0; k < MOT_PROFILE_SIZES; k++) {
        report(r, MEANS + (uint64_t)k, t[k].n > 0 ? t[k].sum / t[k].n : NAN);
        core_s += t[k].sum;
    }
    report(r, SHARE, wall_s > 0 ? fmin(1, core_s / wall_s) : 1);
    report(r, JOBS, s.jobs);
    report(r, LEAST, s.least);
    report(r, VARIANCE, s.variance);
}

/* For how long this thread has had a core. */
static double core_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, uint32_t n)
{
    if (n == 0) return NAN;
    qsort(x, n, sizeof(*x), by_size);
    return x[n / 2];
}

/* A step of the optimiser, and one model added to another, in turn. */
static void step_and_mix(struct prober *r)
{
    const struct mot_world *w = &r->n->live->world;
    double step[ROUNDS_MAX], mix[ROUNDS_MAX];
    float *model[MODELS];
    for (uint32_t i = 0; i < MODELS; i++) {
        model[i] = mot_aligned_large((size_t)w->dim * sizeof(float));
        memset(model[i], 0, (size_t)w->dim * sizeof(float));
    }
    mot_time began = now_of(r);
    uint32_t n = 0;
    for (; n < ROUNDS_MAX && (n < ROUNDS_LEAST || now_of(r) - began < SUMS_NS) && !over(r); n++) {
        float **m = model; /* the next step begins with what the last one made */
        const float *in[2] = { m[3], m[4] };
        float *out[2] = { m[3], m[4] };
        double before = core_s();
        mot_optim_step_range(w->optim, 0, w->dim, n, 1, m[1], 1, m[0], m[2], in, out);
        double stepped = core_s();
        mot_kernels()->axpy(w->dim, 1, m[2], m[5]);
        mix[n] = core_s() - stepped;
        step[n] = stepped - before;
        float *first = m[0];
        memmove(m, m + 1, (MODELS - 1) * sizeof(*m));
        m[MODELS - 1] = first;
    }
    for (uint32_t i = 0; i < MODELS; i++) free(model[i]);
    report(r, STEP_S, median(step, n));
    report(r, MIX_S, median(mix, n));
}

static void compute(struct prober *r)
{
    struct mot_live *l = r->n->live;
    mot_node self = r->n->actor.self;
    struct mot_profile_times times[MOT_PROFILE_SIZES] = { { 0 } };
    double wall_s = 0;
    mot_buf grad = mot_pool_take(&l->pool);
    mot_time began = now_of(r), end = began + r->p->seconds, before = began;
    uint64_t draw = 0;
    /* Every size at least twice, even past the time limit; the first jobs only warm up. */
    for (uint64_t job = 0; (before < end || job < 4 * MOT_PROFILE_SIZES) && !over(r); job++) {
        int size = (int)(job % MOT_PROFILE_SIZES);
        struct mot_term term = {
            .part = self, .draw = draw, .samples = batch_of(&l->world, self, size), .coef = 1
        };
        uint64_t samples = mot_terms_samples(l->problem, &term, 1);
        double core = core_s();
        draw = samples < term.samples ? 0 : draw + samples; /* wrap around at the end of the data */
        mot_gradient(l->problem, &term, 1, samples, mot_pool_at(&l->pool, l->world.x0),
            mot_pool_at(&l->pool, grad), r->n->scratch);
        double took = core_s() - core; /* 0: that clock can stand still for a job this short */
        mot_time now = now_of(r);
        if (job >= 2 * MOT_PROFILE_SIZES && samples == term.samples && now > before && took > 0) {
            mot_profile_add(&times[size], took);
            wall_s += (double)(now - before) * 1e-9;
        }
        if (self == 0 && r->p->progress && job % 16 == 0)
            r->p->progress(r->p->progress_self, 0.5 * fmin(1, (double)(now - began) / (double)r->p->seconds));
        look(r); /* not timed: others may be done, lost or interrupted */
        before = now_of(r);
    }
    mot_pool_drop(&l->pool, grad);
    report_times(r, times, wall_s);
    step_and_mix(r);
}

void mot_profile_fit(struct mot_profile_worker *w, double least, double variance)
{
    /* Weighted by relative error: a millisecond matters more to a small batch. */
    double s = 0, sb = 0, st = 0, sbb = 0, sbt = 0;
    for (int k = 0; k < MOT_PROFILE_SIZES; k++) {
        double b = w->batch[k], t = w->mean_s[k], weight = t > 0 ? 1 / (t * t) : 0;
        if (!(weight > 0)) continue;
        s += weight, sb += weight * b, st += weight * t, sbb += weight * b * b, sbt += weight * b * t;
    }
    double det = s * sbb - sb * sb;
    w->per_sample_s = det > 0 ? (s * sbt - sb * st) / det : 0;
    w->fixed_s = s > 0 ? (st - w->per_sample_s * sb) / s : 0;
    if (w->fixed_s < 0 || !(w->per_sample_s > 0)) { /* noise: attribute everything to the samples */
        w->fixed_s = 0;
        w->per_sample_s = sbb > 0 ? sbt / sbb : 0;
    }
    /* A lognormal with mean m has variance m^2 (exp(sigma^2) - 1), sigma being the deviation of its log. */
    double mean = 1 - least;
    w->least = mean > 0 && variance > 0 ? least : 1;
    w->sigma = w->least < 1 ? sqrt(mot_log(1 + variance / (mean * mean))) : 0;
}

/* ---- Cores ---------------------------------------------------------------------------------------- */

/* Threads that play ping-pong and never sleep may end up on one core: then a message costs a thread switch,
 * and its body is in the reader's cache. So the node that measures gets one core, all others another. */
enum side { ASKS, ANSWERS };

static void keep_to(const struct prober *r, enum side side)
{
    cpu_set_t one;
    int left = (int)side, core = 0;
    if (!r->p->threads || CPU_COUNT(&r->allowed) < 2) return;
    for (; !CPU_ISSET(core, &r->allowed) || left > 0; core++) left -= CPU_ISSET(core, &r->allowed) != 0;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one); /* only a wish: if it fails, the pair is measured where it is */
}

/* ---- Links ---------------------------------------------------------------------------------------- */

static double round_trip(struct prober *r, mot_node peer, enum kind kind, bool body_back)
{
    uint32_t pongs = r->pongs;
    mot_time before = now_of(r);
    tell(r, peer, kind, (struct mot_head){ .samples = body_back }, kind == BULK ? r->body : MOT_NO_BUF);
    while (r->pongs == pongs && !over(r)) attend(r);
    return (double)(now_of(r) - before) * 1e-9;
}

double mot_profile_bandwidth(double bytes, double bulk_s, double small_s)
{
    return bytes / fmax(bulk_s - small_s, MOT_PROFILE_SEEN * bulk_s);
}

/* Trips without a body, with one there and with one back alternate, so other load affects all alike.
 * Bodies are written anew in between: one that the reader still has in its cache would cost nothing. */
static void measure_pair(struct prober *r, mot_node peer)
{
    double small[ROUNDS_MAX], there[ROUNDS_MAX], back[ROUNDS_MAX], bytes = 4.0 * r->n->live->world.dim;
    keep_to(r, ASKS);
    mot_time began = now_of(r);
    uint32_t n = 0;
    for (int warm = 3; n < ROUNDS_MAX && (n < ROUNDS_LEAST || now_of(r) - began < PAIR_NS) && !over(r);) {
        small[n] = round_trip(r, peer, PING, false);
        there[n] = round_trip(r, peer, BULK, false);
        back[n] = round_trip(r, peer, PING, true);
        write_body(r);
        round_trip(r, peer, FRESH, false);
        if (warm > 0) warm--;
        else n++;
    }
    keep_to(r, ANSWERS);
    double empty_s = median(small, n);
    report(r, LATENCY, empty_s / 2);
    report(r, THERE, mot_profile_bandwidth(bytes, median(there, n), empty_s));
    report(r, BACK, mot_profile_bandwidth(bytes, median(back, n), empty_s));
}

/* ---- The nodes' parts --------------------------------------------------------------------------------- */

static void lead_pairs(struct prober *r)
{
    struct mot_profile *p = r->p;
    uint32_t pairs = p->nodes * (p->nodes - 1) / 2, done = 0;
    for (mot_node i = 0; i < p->nodes; i++)
        for (mot_node j = i + 1; j < p->nodes; j++) {
            if (over(r)) return;
            r->results = 0;
            memset(r->figure, 0, sizeof(r->figure)); /* a missing one must not be the last pair's */
            if (i == 0) measure_pair(r, j);
            else tell(r, i, TURN, (struct mot_head){ .round = j }, MOT_NO_BUF);
            while (r->results < 3 && !over(r)) attend(r);
            p->pair[(size_t)i * p->nodes + j] = (struct mot_profile_pair){ r->figure[0], r->figure[1] };
            p->pair[(size_t)j * p->nodes + i] = (struct mot_profile_pair){ r->figure[0], r->figure[2] };
            if (p->progress) p->progress(p->progress_self, 0.5 + 0.5 * ++done / pairs);
        }
}

static void lead(struct prober *r)
{
    struct mot_profile *p = r->p;
    const struct mot_world *w = &r->n->live->world;
    r->least = mot_new(p->workers, sizeof(*r->least));
    r->variance = mot_new(p->workers, sizeof(*r->variance));
    for (mot_node i = 1; i < p->nodes; i++) tell(r, i, GO, (struct mot_head){ 0 }, MOT_NO_BUF);
    compute(r);
    while (r->results < p->workers * COMPUTED && !over(r)) attend(r);
    for (mot_node i = 0; i < p->workers; i++) {
        for (int k = 0; k < MOT_PROFILE_SIZES; k++) p->worker[i].batch[k] = batch_of(w, i, k);
        mot_profile_fit(&p->worker[i], r->least[i], r->variance[i]);
    }
    double bytes = 4.0 * w->dim * p->workers;
    p->step_bytes_per_s = r->step_s > 0 ? bytes / r->step_s : 0;
    p->mix_bytes_per_s = r->mix_s > 0 ? bytes / r->mix_s : 0;
    keep_to(r, ANSWERS);
    lead_pairs(r);
    p->whole = !over(r);
    for (mot_node i = 1; i < p->nodes; i++) tell(r, i, STOP, (struct mot_head){ 0 }, MOT_NO_BUF);
    free(r->least);
    free(r->variance);
}

void mot_profile_node(struct mot_profile *p, struct mot_live_node *n)
{
    struct prober r = { .p = p, .n = n, .turn = p->nodes, .body = mot_pool_take(&n->live->pool) };
    memset(mot_pool_at(&n->live->pool, r.body), 0, n->live->world.dim * sizeof(float));
    if (sched_getaffinity(0, sizeof(r.allowed), &r.allowed) != 0) CPU_ZERO(&r.allowed);
    if (n->actor.self == 0) {
        lead(&r);
    } else {
        while (!r.go && !over(&r)) attend(&r);
        if (n->actor.self < p->workers && !over(&r)) compute(&r);
        keep_to(&r, ANSWERS);
        while (!over(&r)) {
            attend(&r);
            if (r.turn == p->nodes) continue;
            mot_node peer = r.turn;
            r.turn = p->nodes;
            measure_pair(&r, peer);
        }
    }
    if (p->threads && CPU_COUNT(&r.allowed)) sched_setaffinity(0, sizeof(r.allowed), &r.allowed);
    mot_pool_drop(&n->live->pool, r.body);
}
