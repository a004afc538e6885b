/* fit_law.c -- the laws of a cluster file, fitted to times by maximum likelihood. */
#include "base/exact.h"
#include "cluster/fit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALPHA_LEAST 1.01 /* the least that a cluster file accepts */
#define ALPHA_MOST 1000.0
#define SIGMA_MOST 10.0

static double mean_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

static double deviation_of(const double *x, size_t n, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (double)n);
}

/* The greatest log-likelihood of n normal numbers. */
static double normal_likelihood(double sd, double n)
{
    const double two_pi_e = 17.079468445347132;
    return -0.5 * n * (mot_log(two_pi_e) + 2 * mot_log(sd));
}

static double fit_lognormal(const double *x, size_t n, struct mot_law *law)
{
    double *logs = mot_new(n, sizeof *logs);
    for (size_t i = 0; i < n; i++) logs[i] = mot_log(x[i]);
    double mu = mean_of(logs, n), sigma = deviation_of(logs, n, mu);
    free(logs);
    law->sigma = sigma;
    law->mean = mot_exp(mu + 0.5 * sigma * sigma);
    if (!(sigma > 0) || sigma > SIGMA_MOST || law->mean > MOT_JOB_LONGEST_S) return -INFINITY;
    return normal_likelihood(sigma, (double)n) - (double)n * mu;
}

static double fit_pareto(const double *x, size_t n, struct mot_law *law)
{
    double count = (double)n, over = 0, least = mot_log(x[0]);
    for (size_t i = 0; i < n; i++) over += mot_log(x[i]) - least;
    double alpha = over > 0 ? fmin(count / over, ALPHA_MOST) : ALPHA_MOST;
    law->alpha = alpha;
    law->mean = alpha * x[0] / (alpha - 1);
    if (alpha < ALPHA_LEAST || law->mean > MOT_JOB_LONGEST_S) return -INFINITY;
    return count * (mot_log(alpha) - least) - (alpha + 1) * over;
}

double mot_law_fit(enum mot_law_kind kind, const double *x, size_t n, struct mot_law *out)
{
    struct mot_law law = { .kind = kind };
    double count = (double)n, mean = mean_of(x, n), likelihood = -INFINITY;
    switch (kind) {
    case MOT_LAW_UNIFORM:
        law.low = x[0];
        law.high = x[n - 1];
        likelihood = -count * mot_log(law.high - law.low);
        break;
    case MOT_LAW_NORMAL: /* ignores that draws below 0 lose their sign */
        law.mean = mean;
        law.sd = deviation_of(x, n, mean);
        if (law.sd > 0) likelihood = normal_likelihood(law.sd, count);
        break;
    case MOT_LAW_LOGNORMAL: likelihood = fit_lognormal(x, n, &law); break;
    case MOT_LAW_EXPONENTIAL: /* above the least time */
        law.plus = x[0];
        law.mean = mean - x[0];
        if (law.mean > 0) likelihood = -count * (mot_log(law.mean) + 1);
        break;
    case MOT_LAW_PARETO: likelihood = fit_pareto(x, n, &law); break;
    case MOT_LAW_FIXED:
    case MOT_LAW_POISSON: break;
    }
    *out = law;
    return likelihood;
}

static double normal_below(double z) { return 0.5 * erfc(-z / sqrt(2)); } /* libm is fine: only shown */

double mot_law_below(const struct mot_law *law, double x)
{
    switch (law->kind) {
    case MOT_LAW_UNIFORM: return fmin(fmax((x - law->low) / (law->high - law->low), 0), 1);
    case MOT_LAW_NORMAL: return normal_below((x - law->mean) / law->sd);
    case MOT_LAW_LOGNORMAL:
        return normal_below((mot_log(x / law->mean) + 0.5 * law->sigma * law->sigma) / law->sigma);
    case MOT_LAW_EXPONENTIAL: return x <= law->plus ? 0 : 1 - mot_exp(-(x - law->plus) / law->mean);
    case MOT_LAW_PARETO: {
        double least = law->mean * (law->alpha - 1) / law->alpha;
        return x <= least ? 0 : 1 - mot_exp(-law->alpha * mot_log(x / least));
    }
    case MOT_LAW_FIXED:
    case MOT_LAW_POISSON: break;
    }
    return NAN;
}

/* ---- All nodes ----------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The sorted times of a node's jobs that do not straggle; for a node that always straggles, all times divided
 * by its factor. Returns how many. */
static size_t base_times(const struct mot_fit *f, uint32_t node, double *out)
{
    const struct mot_trace *t = f->trace;
    const struct mot_fit_node *me = &f->node[node];
    bool always = me->straggles == t->rows;
    size_t n = 0;
    for (uint32_t row = 0; row < t->rows; row++) {
        size_t at = (size_t)row * t->cols + node;
        if (always) out[n++] = t->seconds[at] / me->factor;
        else if (!f->straggles[at]) out[n++] = t->seconds[at];
    }
    qsort(out, n, sizeof *out, by_value);
    return n;
}

/* Whether all are the same to the nanosecond, the resolution of a cluster file. */
static bool is_constant(const double *sorted, size_t n) { return sorted[n - 1] - sorted[0] < 1e-9; }

static double distance_of(double *below, size_t n)
{
    double most = 0;
    qsort(below, n, sizeof *below, by_value);
    for (size_t i = 0; i < n; i++) {
        double over = (double)(i + 1) / (double)n - below[i], under = below[i] - (double)i / (double)n;
        most = fmax(most, fmax(over, under));
    }
    return most;
}

/* All nodes have the same law, each with its own parameters. If it is right, the probabilities below each
 * time are uniformly distributed, pooled over all nodes. */
static void try_law(struct mot_fit *f, struct mot_fit_law *law, double *times, double *below)
{
    size_t n = 0;
    law->log_likelihood = 0;
    for (uint32_t i = 0; i < f->trace->cols; i++) {
        struct mot_law mine;
        size_t mine_n = base_times(f, i, times);
        if (is_constant(times, mine_n)) continue;
        law->log_likelihood += mot_law_fit(law->kind, times, mine_n, &mine);
        if (isinf(law->log_likelihood)) break;
        for (size_t k = 0; k < mine_n; k++) below[n++] = mot_law_below(&mine, times[k]);
    }
    law->distance = isinf(law->log_likelihood) || n == 0 ? NAN : distance_of(below, n);
}

void mot_fit_laws(struct mot_fit *f)
{
    static const enum mot_law_kind kinds[MOT_FIT_LAWS] = { MOT_LAW_UNIFORM, MOT_LAW_NORMAL, MOT_LAW_LOGNORMAL,
        MOT_LAW_EXPONENTIAL, MOT_LAW_PARETO };
    size_t cells = (size_t)f->trace->rows * f->trace->cols;
    double *times = mot_new_large(f->trace->rows, sizeof *times),
           *below = mot_new_large(cells, sizeof *below);
    if (times && below) {
        for (uint32_t k = 0; k < MOT_FIT_LAWS; k++) {
            f->law[k].kind = kinds[k];
            try_law(f, &f->law[k], times, below);
            if (f->law[k].log_likelihood > f->law[f->best_law].log_likelihood) f->best_law = k;
        }
        for (uint32_t i = 0; i < f->trace->cols; i++) {
            size_t n = base_times(f, i, times);
            struct mot_law *mine = &f->node[i].law;
            if (is_constant(times, n)) {
                *mine = (struct mot_law){ .kind = MOT_LAW_FIXED, .mean = times[0] };
                f->constant++;
                continue;
            }
            f->timed += n;
            mot_law_fit(f->law[f->best_law].kind, times, n, mine);
        }
    }
    free(times);
    free(below);
}
