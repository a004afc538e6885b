/* law.c -- random quantities: job times and jitter.
 *
 * Every law is given by its mean, so changing the law of a cluster keeps its average speed. */
#include "base/exact.h"
#include "cluster/cluster.h"
#include <math.h>

/* Lognormal: exp(mu + sigma Z) has the mean exp(mu + sigma^2 / 2). */
static double lognormal(const struct mot_law *law, struct mot_rng *rng)
{
    return law->mean * mot_exp(law->sigma * mot_rng_normal(rng) - 0.5 * law->sigma * law->sigma);
}

/* Pareto: x_m U^(-1/alpha) has the mean alpha x_m / (alpha - 1). U is in (0, 1]. */
static double pareto(const struct mot_law *law, struct mot_rng *rng)
{
    double least = law->mean * (law->alpha - 1) / law->alpha;
    return least * mot_exp(-mot_log(1 - mot_rng_unit(rng)) / law->alpha);
}

static double draw(const struct mot_law *law, struct mot_rng *rng)
{
    switch (law->kind) {
    case MOT_LAW_FIXED: return law->mean;
    case MOT_LAW_UNIFORM: return law->low + (law->high - law->low) * mot_rng_unit(rng);
    case MOT_LAW_NORMAL: return law->mean + law->sd * mot_rng_normal(rng);
    case MOT_LAW_LOGNORMAL: return lognormal(law, rng);
    case MOT_LAW_EXPONENTIAL: return law->mean * mot_rng_exponential(rng);
    case MOT_LAW_PARETO: return pareto(law, rng);
    case MOT_LAW_POISSON: return law->unit * (double)mot_rng_poisson(rng, law->mean / law->unit);
    }
    return 0;
}

double mot_law_draw(const struct mot_law *law, struct mot_rng *rng)
{
    return fabs(draw(law, rng)) + law->plus;
}

/* |N(mean, sd)| is the folded normal, whose mean is
 * sd sqrt(2/pi) exp(-mean^2 / (2 sd^2)) + mean erf(mean / (sd sqrt 2)).
 * Means are shown to people; no clock depends on this one. */
static double folded_mean(double mean, double sd)
{
    if (sd <= 0) return fabs(mean);
    const double two_over_pi = 0.63661977236758134;
    double ratio = mean / sd;
    double half = erf(ratio / sqrt(2)); /* libm is fine: only shown */
    return sd * sqrt(two_over_pi) * mot_exp(-0.5 * ratio * ratio) + mean * half;
}

double mot_law_mean(const struct mot_law *law)
{
    switch (law->kind) {
    case MOT_LAW_UNIFORM: return (law->low + law->high) / 2 + law->plus;
    case MOT_LAW_NORMAL: return folded_mean(law->mean, law->sd) + law->plus;
    case MOT_LAW_FIXED:
    case MOT_LAW_LOGNORMAL:
    case MOT_LAW_EXPONENTIAL:
    case MOT_LAW_PARETO:
    case MOT_LAW_POISSON: break;
    }
    return law->mean + law->plus;
}
