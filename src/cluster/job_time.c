/* job_time.c -- how long a worker's jobs take.
 *
 * Every random number is a function of (seed, worker, number of the job), so a job takes the same time
 * whatever the other workers do, and a run can resume from the counters in struct mot_pace alone. */
#include "cluster/cluster.h"
#include <math.h>
#include <stdlib.h>

static mot_time nanoseconds(double seconds)
{
    if (!(seconds > 0)) return 0;
    return (mot_time)llround(fmin(seconds, MOT_JOB_LONGEST_S) * 1e9);
}

static struct mot_rng stream(uint64_t seed, enum mot_rng_purpose purpose, mot_node worker, uint64_t job)
{
    return mot_rng_at(seed, purpose, mot_hash3(worker, job, purpose));
}

/* Whether the worker is in the slow class: drawn once, as if for job number UINT64_MAX. */
static bool is_slow_class(const struct mot_straggle *s, uint64_t seed, mot_node worker)
{
    struct mot_rng rng = stream(seed, MOT_RNG_STRAGGLE, worker, UINT64_MAX);
    return mot_rng_unit(&rng) < s->slow;
}

/* The chain starts in its stationary distribution, so all stretches of a run are alike. */
static bool markov_next(const struct mot_straggle *s, struct mot_rng *rng, const struct mot_pace *pace)
{
    double to_slow = 1 - s->stay_fast, to_fast = 1 - s->stay_slow, u = mot_rng_unit(rng);
    if (pace->jobs == 0) return u * (to_slow + to_fast) < to_slow;
    return pace->straggling ? u < s->stay_slow : u < to_slow;
}

static bool straggles(
    const struct mot_straggle *s, uint64_t seed, mot_node worker, const struct mot_pace *pace)
{
    if (s->kind == MOT_STRAGGLE_NONE || s->kind == MOT_STRAGGLE_TRACE) return false;
    struct mot_rng rng = stream(seed, MOT_RNG_STRAGGLE, worker, pace->jobs);
    switch (s->kind) {
    case MOT_STRAGGLE_IID: return mot_rng_unit(&rng) < s->p;
    case MOT_STRAGGLE_TWO_CLASS:
        return mot_rng_unit(&rng) < (is_slow_class(s, seed, worker) ? s->p_slow : s->p_fast);
    case MOT_STRAGGLE_MARKOV: return markov_next(s, &rng, pace);
    case MOT_STRAGGLE_NONE:
    case MOT_STRAGGLE_TRACE: break;
    }
    return false;
}

static double nominal(const struct mot_machine *m, uint64_t samples)
{
    return (double)m->fixed * 1e-9 + (double)samples / m->speed;
}

static bool is_plain(const struct mot_law *law) { return law->kind == MOT_LAW_FIXED; }

static double recorded(const struct mot_straggle *s, uint64_t job)
{
    return s->trace->seconds[(job % s->trace->rows) * s->trace->cols + s->column];
}

struct mot_pace mot_pace_of(const struct mot_machine *m, uint32_t batch)
{
    return (struct mot_pace){ .batch = m->price == MOT_PRICE_SAMPLES && mot_machine_timed(m) ? batch : 0 };
}

mot_time mot_job_time(
    const struct mot_machine *m, uint64_t seed, mot_node worker, struct mot_pace *pace, uint64_t samples)
{
    double seconds;
    if (m->straggle.kind == MOT_STRAGGLE_TRACE) {
        seconds = recorded(&m->straggle, pace->jobs);
        pace->jobs++;
        if (pace->batch) seconds *= (double)samples / pace->batch;
        return nanoseconds(seconds);
    }
    if (!m->has_job_time) seconds = nominal(m, samples);
    else if (is_plain(&m->job_time)) seconds = mot_law_mean(&m->job_time);
    else {
        struct mot_rng rng = stream(seed, MOT_RNG_JOB, worker, pace->jobs);
        seconds = mot_law_draw(&m->job_time, &rng);
    }
    if (is_plain(&m->jitter)) seconds *= mot_law_mean(&m->jitter);
    else {
        struct mot_rng rng = stream(seed, MOT_RNG_JITTER, worker, pace->jobs);
        seconds *= mot_law_draw(&m->jitter, &rng);
    }
    pace->straggling = straggles(&m->straggle, seed, worker, pace);
    if (pace->straggling) seconds *= m->straggle.factor;
    if (pace->batch) seconds *= (double)samples / pace->batch;
    pace->jobs++;
    return nanoseconds(seconds);
}

/* The share of jobs that straggle, over workers and time. */
static double straggling_share(const struct mot_straggle *s)
{
    double to_slow = 1 - s->stay_fast, to_fast = 1 - s->stay_slow;
    switch (s->kind) {
    case MOT_STRAGGLE_IID: return s->p;
    case MOT_STRAGGLE_TWO_CLASS: return s->slow * s->p_slow + (1 - s->slow) * s->p_fast;
    case MOT_STRAGGLE_MARKOV: return to_slow + to_fast > 0 ? to_slow / (to_slow + to_fast) : 0;
    case MOT_STRAGGLE_NONE:
    case MOT_STRAGGLE_TRACE: break;
    }
    return 0;
}

double mot_straggling_share(const struct mot_machine *m, uint64_t seed, mot_node worker)
{
    const struct mot_straggle *s = &m->straggle;
    if (s->kind == MOT_STRAGGLE_TWO_CLASS) return is_slow_class(s, seed, worker) ? s->p_slow : s->p_fast;
    return straggling_share(s);
}

double mot_job_mean(const struct mot_machine *m, uint64_t samples)
{
    if (m->straggle.kind == MOT_STRAGGLE_TRACE) {
        double sum = 0;
        for (uint32_t row = 0; row < m->straggle.trace->rows; row++) sum += recorded(&m->straggle, row);
        return sum / m->straggle.trace->rows;
    }
    double seconds = m->has_job_time ? mot_law_mean(&m->job_time) : nominal(m, samples);
    return seconds * mot_law_mean(&m->jitter) *
        (1 + straggling_share(&m->straggle) * (m->straggle.factor - 1));
}

/* The fixed cost comes first and stretches along with the whole job. */
static double fixed_part(const struct mot_machine *m, mot_time whole, uint64_t samples)
{
    bool in_steps = !mot_machine_timed(m) && samples > 0;
    double share = in_steps ? (double)m->fixed * 1e-9 / nominal(m, samples) : 0;
    return share * (double)whole;
}

uint64_t mot_job_done(const struct mot_machine *m, mot_time whole, mot_time elapsed, uint64_t samples)
{
    if (elapsed >= whole) return samples;
    double fixed = fixed_part(m, whole, samples), rest = (double)whole - fixed,
           done = (double)elapsed - fixed;
    if (done <= 0) return 0; /* else it is less than the rest */
    uint64_t count = (uint64_t)floor((double)samples * (done / rest));
    return count < samples ? count : samples;
}

mot_time mot_job_when(const struct mot_machine *m, mot_time whole, uint64_t done, uint64_t samples)
{
    MOT_ASSERT(done <= samples);
    if (done == 0 || whole == 0) return 0;
    double fixed = fixed_part(m, whole, samples);
    double about = fixed + ((double)whole - fixed) * ((double)done / (double)samples);
    mot_time at = about < (double)whole ? (mot_time)about : whole;
    /* Rounding may be off by a little. */
    while (at < whole && mot_job_done(m, whole, at, samples) < done) at++;
    while (at > 0 && mot_job_done(m, whole, at - 1, samples) >= done) at--;
    return at;
}

mot_time mot_job_until(const struct mot_machine *m, mot_time whole, uint64_t samples, double left)
{
    double rest = (double)whole - fixed_part(m, whole, samples), less = rest * left + 0.5;
    return less < (double)whole ? whole - (mot_time)less : 0;
}

/* ---- Slower ------------------------------------------------------------------------ */

static double times(double seconds, double factor) { return floor(seconds * factor * 1e9 + 0.5) / 1e9; }

void mot_machine_slow(struct mot_machine *m, double factor)
{
    struct mot_law *t = &m->job_time;
    if (!m->has_job_time) {
        m->speed /= factor;
        m->fixed = (mot_time)floor((double)m->fixed * factor + 0.5);
        return;
    }
    t->mean = times(t->mean, factor);
    t->low = times(t->low, factor);
    t->high = times(t->high, factor);
    t->sd = times(t->sd, factor);
    t->unit = times(t->unit, factor);
    t->plus = times(t->plus, factor);
}

/* ---- The cluster ----------------------------------------------------------------- */

static bool same_law(const struct mot_law *a, const struct mot_law *b)
{
    return a->kind == b->kind && a->mean == b->mean && a->low == b->low && a->high == b->high &&
        a->sd == b->sd && a->sigma == b->sigma && a->alpha == b->alpha && a->unit == b->unit &&
        a->plus == b->plus;
}

static bool same_straggle(const struct mot_straggle *a, const struct mot_straggle *b)
{
    return a->kind == b->kind && a->factor == b->factor && a->p == b->p && a->slow == b->slow &&
        a->p_slow == b->p_slow && a->p_fast == b->p_fast && a->stay_slow == b->stay_slow &&
        a->stay_fast == b->stay_fast && a->trace == b->trace;
}

bool mot_machine_alike(const struct mot_machine *a, const struct mot_machine *b)
{
    bool same_name = a->name == b->name; /* a name is stored once for a group */
    return same_name && a->speed == b->speed && a->fixed == b->fixed && a->has_job_time == b->has_job_time &&
        same_law(&a->job_time, &b->job_time) && same_law(&a->jitter, &b->jitter) &&
        same_straggle(&a->straggle, &b->straggle) && a->price == b->price && a->link.up == b->link.up &&
        a->link.down == b->link.down && a->link.latency == b->link.latency &&
        mot_stream_alike(&a->stream, &b->stream) && a->room.memory == b->room.memory &&
        a->room.storage == b->room.storage;
}

bool mot_cluster_streams(const struct mot_cluster *c)
{
    uint32_t i = 0;
    while (i < c->workers && c->machine[i].stream.kind == MOT_STREAM_NONE) i++;
    return i < c->workers;
}

void mot_cluster_close(struct mot_cluster *cluster)
{
    if (!cluster) return;
    struct mot_arena arena = { cluster->arena };
    mot_arena_free(&arena);
    free(cluster->machine);
    free(cluster);
}
