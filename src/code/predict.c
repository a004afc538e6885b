/* predict.c -- how often parts are used when workers straggle, with and without shuffling. */
#include "base/exact.h"
#include "base/memory.h"
#include "base/rng.h"
#include "code/codes.h"
#include <math.h>
#include <motley/code.h>
#include <stdlib.h>

#define DRAWN 1000u        /* shuffles looked at to judge random and partial ones */
#define LOOKED_AT 4000000u /* shares in all, about: large codes make do with fewer shuffles */
#define MOVED 16u          /* shuffles looked at to judge traffic */
#define ALIKE 0.005        /* a difference in shares too small to move rows for */

/* ---- Coverage --------------------------------------------------------------------------------------- */

void mot_code_coverage(const struct mot_code *c, const struct mot_shuffle *s, const double *straggles,
    uint64_t shuffles, double *coverage)
{
    double *fails = mot_new(c->workers, sizeof(*fails)); /* by role */
    for (uint32_t j = 0; j < c->parts; j++) coverage[j] = 0;
    for (uint64_t seen = 0; seen < shuffles; seen++) {
        uint64_t number = mot_shuffle_seen(s, c, seen, shuffles);
        for (uint32_t i = 0; i < c->workers; i++) fails[mot_shuffle_role(s, c, number, i)] = straggles[i];
        for (uint32_t j = 0; j < c->parts; j++) {
            double nobody = 1;
            for (uint32_t k = c->held[j]; k < c->held[j + 1]; k++) nobody *= fails[c->holder[k]];
            coverage[j] += (1 - nobody) / (double)shuffles;
        }
    }
    free(fails);
}

/* Under a random permutation the h holders of a part are any h of the workers. m[h]: the mean, over all sets
 * of h of the workers so far, of the product of their chances to fail. */
static void cover_at_random(const struct mot_code *c, const double *straggles, double *coverage)
{
    uint32_t most = 0;
    for (uint32_t j = 0; j < c->parts; j++)
        if (c->held[j + 1] - c->held[j] > most) most = c->held[j + 1] - c->held[j];
    double *m = mot_new((size_t)most + 1, sizeof(*m));
    m[0] = 1;
    for (uint32_t i = 1; i <= c->workers; i++)
        for (uint32_t h = most < i ? most : i; h > 0; h--)
            m[h] = (m[h] * (i - h) + h * straggles[i - 1] * m[h - 1]) / i;
    for (uint32_t j = 0; j < c->parts; j++) coverage[j] = 1 - m[c->held[j + 1] - c->held[j]];
    free(m);
}

/* A rotation is back where it began after `workers` shuffles. */
static uint64_t shuffles_to_see(const struct mot_code *c, const struct mot_shuffle *s)
{
    if (s->kind == MOT_SHUFFLE_NONE) return 1;
    bool lot = s->kind == MOT_SHUFFLE_RANDOM || s->kind == MOT_SHUFFLE_PARTIAL;
    uint64_t all = lot ? DRAWN : c->workers, most = LOOKED_AT / c->at[c->workers] + 1;
    return all < most ? all : most;
}

void mot_shuffle_coverage(
    const struct mot_code *c, const struct mot_shuffle *s, const double *straggles, double *coverage)
{
    if (s->kind == MOT_SHUFFLE_RANDOM) cover_at_random(c, straggles, coverage);
    else mot_code_coverage(c, s, straggles, shuffles_to_see(c, s), coverage);
}

struct mot_forecast mot_shuffle_forecast(
    const struct mot_code *c, const struct mot_shuffle *s, const double *straggles)
{
    struct mot_forecast f = { .least = 1 };
    double *coverage = mot_new(c->parts, sizeof(*coverage));
    mot_shuffle_coverage(c, s, straggles, coverage);
    for (uint32_t j = 0; j < c->parts; j++) {
        uint32_t h = c->held[j + 1] - c->held[j];
        f.mean += coverage[j] / c->parts;
        f.least = fmin(f.least, coverage[j]);
        f.most = fmax(f.most, coverage[j]);
        if (s->kind == MOT_SHUFFLE_RANDOM) f.traffic += h * (1 - (double)h / c->workers) / c->parts;
    }
    free(coverage);
    for (uint64_t k = 1; k <= MOVED && s->kind != MOT_SHUFFLE_RANDOM; k++)
        f.traffic += mot_shuffle_traffic(s, c, k) / MOVED;
    f.waits = mot_code_waits(c, s, straggles, shuffles_to_see(c, s));
    return f;
}

enum mot_shuffle_kind mot_shuffle_advise(const struct mot_code *c, const double *straggles, uint64_t seed,
    bool exact, struct mot_forecast out[MOT_SHUFFLE_PARTIAL])
{
    double good[MOT_SHUFFLE_PARTIAL], most = 0;
    uint32_t best = MOT_SHUFFLE_NONE;
    for (uint32_t kind = 0; kind < MOT_SHUFFLE_PARTIAL; kind++) {
        out[kind] = mot_shuffle_forecast(c, &(struct mot_shuffle){ .kind = kind, .seed = seed }, straggles);
        good[kind] = exact && !isnan(out[kind].waits) ? 1 - out[kind].waits : out[kind].least;
        most = fmax(most, good[kind]);
    }
    for (uint32_t kind = 0; kind < MOT_SHUFFLE_PARTIAL; kind++) {
        bool fine = good[kind] >= most - ALIKE, had = good[best] >= most - ALIKE;
        if (fine && (!had || out[kind].traffic < out[best].traffic)) best = kind;
    }
    return (enum mot_shuffle_kind)best;
}

/* ---- Missed rounds ---------------------------------------------------------------------------------- */

static double power(double x, uint64_t n)
{
    double all = 1;
    for (; n; n /= 2, x *= x)
        if (n % 2) all *= x;
    return all;
}

struct mot_missed mot_missed_moments(const struct mot_straggling *s, uint64_t rounds)
{
    double n = (double)rounds, slow = s->slow, p = s->slow_straggles, q = s->straggles;
    double once = power(slow * p + (1 - slow) * q, s->holders);          /* missed in a round */
    double twice = power(slow * p * p + (1 - slow) * q * q, s->holders); /* in two given rounds */
    return (struct mot_missed){ .mean = n * once,
        .variance = n * (once - twice) + n * n * (twice - once * once),
        .variance_shuffled = n * once * (1 - once) };
}

/* C(n, m) q^m (1 - q)^(n - m) */
static double binomial(uint64_t n, uint64_t m, double q)
{
    double log = 0;
    if (m > n) return 0;
    if (q <= 0 || q >= 1) return m == (q <= 0 ? 0 : n);
    for (uint64_t k = 1; k <= m; k++) log += mot_log((double)(n - m + k) / (double)k);
    return mot_exp(log + (double)m * mot_log(q) + (double)(n - m) * mot_log(1 - q));
}

double mot_missed_chance(const struct mot_straggling *s, uint64_t rounds, uint64_t m, bool shuffled)
{
    double all = 0;
    if (shuffled)
        return binomial(
            rounds, m, power(s->slow * s->slow_straggles + (1 - s->slow) * s->straggles, s->holders));
    for (uint32_t slow = 0; slow <= s->holders; slow++) /* of the holders */
        all += binomial(s->holders, slow, s->slow) *
            binomial(rounds, m, power(s->slow_straggles, slow) * power(s->straggles, s->holders - slow));
    return all;
}
