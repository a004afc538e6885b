#include "cluster/stream.h"
#include "base/rng.h"
#include <math.h>
#include <string.h>

#define MILLIONTHS 1e6
#define SAMPLE ((mot_uint128)UINT64_C(1000000000000000)) /* millionths times nanoseconds */
#define CLOCK_END (UINT64_C(1) << 63)
#define BURSTS UINT64_C(0x6275727374) /* keeps draws of bursts apart from those of rates */

bool mot_stream_alike(const struct mot_stream *a, const struct mot_stream *b)
{
    if (a->kind != b->kind) return false;
    if (a->kind == MOT_STREAM_NONE) return true;
    return a->mean == b->mean && a->sd == b->sd && a->rates.n == b->rates.n &&
        memcmp(a->rates.v, b->rates.v, a->rates.n * sizeof(*a->rates.v)) == 0 && a->start == b->start &&
        a->redraw == b->redraw && a->drift == b->drift && a->over == b->over && a->burst == b->burst &&
        a->burst_every == b->burst_every && a->burst_lasts == b->burst_lasts && a->buffer == b->buffer &&
        a->bound == b->bound;
}

static double within(double rate)
{
    if (!(rate > MOT_STREAM_LEAST)) return MOT_STREAM_LEAST;
    return rate < MOT_STREAM_MOST ? rate : MOT_STREAM_MOST;
}

double mot_stream_rate(const struct mot_stream *s, uint64_t seed, mot_node worker, uint64_t period)
{
    struct mot_rng rng = mot_rng_at(mot_hash3(seed, worker, period), MOT_RNG_STREAM, 0);
    switch ((enum mot_stream_kind)s->kind) {
    /* From mean - sqrt(3) sd to mean + sqrt(3) sd, for a deviation of sd. */
    case MOT_STREAM_UNIFORM: return within(s->mean + s->sd * sqrt(3) * (2 * mot_rng_unit(&rng) - 1));
    case MOT_STREAM_NORMAL: return within(s->mean + s->sd * mot_rng_normal(&rng));
    case MOT_STREAM_LIST: return within(s->rates.v[worker % s->rates.n]);
    case MOT_STREAM_CONSTANT:
    case MOT_STREAM_NONE: break;
    }
    return within(s->mean);
}

/* When the burst begins, relative to its window of burst_every. */
static mot_time burst_at(const struct mot_arrivals *a, uint64_t window)
{
    const struct mot_stream *s = a->stream;
    struct mot_rng rng = mot_rng_at(mot_hash3(a->seed, a->worker, window), MOT_RNG_STREAM, BURSTS);
    return mot_rng_below(&rng, s->burst_every - s->burst_lasts + 1);
}

static void change_by(mot_time *until, mot_time at)
{
    if (at < *until) *until = at;
}

/* The rate at `at`; lowers *until to when it next changes. */
static double rate_at(const struct mot_arrivals *a, mot_time at, mot_time *until)
{
    const struct mot_stream *s = a->stream;
    mot_time since = at - s->start;
    uint64_t period = s->redraw == MOT_NEVER ? 0 : since / s->redraw;
    double rate = mot_stream_rate(s, a->seed, a->worker, period);
    if (s->redraw != MOT_NEVER) change_by(until, s->start + (period + 1) * s->redraw);
    if (s->drift != 0) {
        mot_time step = s->over / MOT_STREAM_STEPS + 1;
        uint64_t steps = since / step;
        if (steps < MOT_STREAM_STEPS) change_by(until, s->start + (steps + 1) * step);
        else steps = MOT_STREAM_STEPS;
        rate *= 1 + s->drift * (double)steps / MOT_STREAM_STEPS;
    }
    if (s->burst != 1) {
        uint64_t window = since / s->burst_every;
        mot_time begins = s->start + window * s->burst_every + burst_at(a, window);
        if (at < begins) change_by(until, begins);
        else if (at < begins + s->burst_lasts) {
            rate *= s->burst;
            change_by(until, begins + s->burst_lasts);
        } else change_by(until, s->start + (window + 1) * s->burst_every);
    }
    return within(rate);
}

static void settle(struct mot_arrivals *a)
{
    a->until = MOT_NEVER;
    a->rate = (uint64_t)llround(rate_at(a, a->from, &a->until) * MILLIONTHS);
    if (a->until >= CLOCK_END) a->until = MOT_NEVER;
}

void mot_arrivals_open(struct mot_arrivals *a, const struct mot_stream *s, uint64_t seed, mot_node worker)
{
    *a = (struct mot_arrivals){ .stream = s, .seed = seed, .worker = worker, .from = s->start };
    settle(a);
}

/* What arrived from the last change to `at`, in millionths times nanoseconds. */
static mot_uint128 since(const struct mot_arrivals *a, mot_time at)
{
    return (mot_uint128)a->rate * (at - a->from);
}

static void go_on(struct mot_arrivals *a)
{
    a->before += since(a, a->until);
    a->from = a->until;
    settle(a);
}

uint64_t mot_arrivals_by(struct mot_arrivals *a, mot_time now)
{
    if (now <= a->stream->start) return 0;
    if (now < a->from) mot_arrivals_open(a, a->stream, a->seed, a->worker);
    while (now > a->until) go_on(a);
    return (uint64_t)((a->before + since(a, now)) / SAMPLE);
}

bool mot_arrivals_long_ago(const struct mot_arrivals *a, uint64_t count)
{
    return (mot_uint128)count * SAMPLE < a->before;
}

mot_time mot_arrivals_when(struct mot_arrivals *a, uint64_t count)
{
    mot_uint128 want = (mot_uint128)count * SAMPLE;
    if (count == 0) return a->stream->start;
    if (mot_arrivals_long_ago(a, count)) mot_arrivals_open(a, a->stream, a->seed, a->worker);
    while (a->until != MOT_NEVER && a->before + since(a, a->until) < want) go_on(a);
    mot_uint128 wait = (want - a->before + a->rate - 1) / a->rate;
    return wait < CLOCK_END - a->from ? a->from + (mot_time)wait : MOT_NEVER;
}
