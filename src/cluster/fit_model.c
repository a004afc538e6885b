/* fit_model.c -- fits straggler models to counts by maximum likelihood. */
#include "base/exact.h"
#include "cluster/fit.h"
#include <math.h>
#include <stdlib.h>

#define ROUNDS_MAX 2000
#define SETTLED 1e-12

/* n log p, but 0 for what never happened. */
static double times_log(double n, double p)
{
    if (!(n > 0)) return 0;
    return p > 0 ? n * mot_log(p) : -INFINITY;
}

/* ---- Markov -------------------------------------------------------------------------------- */

/* The most likely chance u to leave a state that was left `left` times and kept `stayed` times, if the rest
 * of the likelihood falls by `price` per unit of u: the smaller root of price u^2 - (price + left + stayed) u
 * + left = 0. */
static double leaving(double left, double stayed, double price)
{
    double b = price + left + stayed;
    if (!(left > 0)) return 0;
    return fmin(2 * left / (b + sqrt(fmax(b * b - 4 * price * left, 0))), 1);
}

/* The chain begins in its stationary distribution: u is the chance to leave straggling, v to enter it, so it
 * begins straggling with probability v / (u + v). Each first state then counts as one more step into that
 * state, and a term -m log(u + v) remains. Each round replaces this by its tangent, which raises the
 * likelihood (Hunter and Lange, A tutorial on MM algorithms, 2004). */
double mot_fit_markov(const struct mot_fit_chain *c, double *stay_slow, double *stay_fast)
{
    double out = c->slow_fast + c->first_fast, in = c->fast_slow + c->first_slow;
    double firsts = c->first_slow + c->first_fast;
    double u = leaving(out, c->slow_slow, 0), v = leaving(in, c->fast_fast, 0);
    for (int round = 0; round < ROUNDS_MAX; round++) {
        double price = firsts / (u + v), u_old = u, v_old = v;
        u = leaving(out, c->slow_slow, price);
        v = leaving(in, c->fast_fast, price);
        if (fabs(u - u_old) <= SETTLED * u && fabs(v - v_old) <= SETTLED * v) break;
    }
    *stay_slow = 1 - u;
    *stay_fast = 1 - v;
    return times_log(c->slow_slow, 1 - u) + times_log(out, u) + times_log(c->fast_fast, 1 - v) +
        times_log(in, v) - firsts * mot_log(u + v);
}

/* ---- Two classes ----------------------------------------------------------------------------- */

struct classes {
    double slow, p_slow, p_fast, likelihood;
};

static double binomial(double hits, double jobs, double p)
{
    return times_log(hits, p) + times_log(jobs - hits, 1 - p);
}

/* Nodes with equally many straggling jobs are alike, so even a trace of many nodes has few kinds. */
struct tally {
    double hits, nodes, slow; /* slow: the probability that they are in the slow class */
};

/* The most likely parameters, given the probabilities of the nodes' classes. */
static struct classes maximise(const struct tally *t, uint32_t kinds, double jobs)
{
    double slow = 0, fast = 0, of_slow = 0, of_fast = 0;
    for (uint32_t i = 0; i < kinds; i++) {
        slow += t[i].nodes * t[i].slow;
        fast += t[i].nodes * (1 - t[i].slow);
        of_slow += t[i].nodes * t[i].slow * t[i].hits;
        of_fast += t[i].nodes * (1 - t[i].slow) * t[i].hits;
    }
    struct classes c = { .slow = fmin(slow / (slow + fast), 1) };
    c.p_slow = slow > 0 ? fmin(of_slow / (slow * jobs), 1) : 0;
    c.p_fast = fast > 0 ? fmin(of_fast / (fast * jobs), 1) : 0;
    return c;
}

/* Sets the probabilities of the nodes' classes; returns the log-likelihood. */
static double expect(const struct classes *c, struct tally *t, uint32_t kinds, double jobs)
{
    double likelihood = 0;
    for (uint32_t i = 0; i < kinds; i++) {
        double a = times_log(1, c->slow) + binomial(t[i].hits, jobs, c->p_slow);
        double b = times_log(1, 1 - c->slow) + binomial(t[i].hits, jobs, c->p_fast);
        double top = fmax(a, b), sum = mot_exp(a - top) + mot_exp(b - top);
        t[i].slow = mot_exp(a - top) / sum;
        likelihood += t[i].nodes * (top + mot_log(sum));
    }
    return likelihood;
}

static struct classes climb(struct tally *t, uint32_t kinds, double jobs)
{
    double before = -INFINITY;
    for (int round = 0;; round++) {
        struct classes c = maximise(t, kinds, jobs);
        c.likelihood = expect(&c, t, kinds, jobs);
        if (c.likelihood - before <= SETTLED * fabs(c.likelihood) || round == ROUNDS_MAX) return c;
        before = c.likelihood;
    }
}

static int downward(const void *a, const void *b)
{
    double x = ((const struct tally *)a)->hits, y = ((const struct tally *)b)->hits;
    return (x < y) - (x > y);
}

/* Groups the nodes into kinds, those that straggle most first. Returns how many. */
static uint32_t gather(const double *hits, uint32_t nodes, struct tally *t)
{
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < nodes; i++) t[i] = (struct tally){ .hits = hits[i], .nodes = 1 };
    qsort(t, nodes, sizeof *t, downward);
    for (uint32_t i = 0; i < nodes; i++)
        if (kinds && t[kinds - 1].hits == t[i].hits) t[kinds - 1].nodes++;
        else t[kinds++] = t[i];
    return kinds;
}

#define STARTS_ONE_BY_ONE 16

/* Expectation-maximisation finds only a local optimum, so start it from many points: the slow class holds the
 * n kinds that straggle most, or all but n - 1 kinds, for every small n and then for doubling n. */
double mot_fit_two_class(
    const double *hits, uint32_t nodes, double jobs, struct mot_straggle *out, double *slow)
{
    struct tally *t = mot_new(nodes, sizeof *t);
    struct classes best = { .likelihood = -INFINITY };
    uint32_t kinds = gather(hits, nodes, t);
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t n = 1; n <= kinds; n += n < STARTS_ONE_BY_ONE ? 1 : n) {
            for (uint32_t i = 0; i < kinds; i++) t[i].slow = i < (side ? kinds + 1 - n : n);
            struct classes c = climb(t, kinds, jobs);
            if (c.likelihood > best.likelihood) best = c;
        }
    free(t);
    if (best.p_slow < best.p_fast)
        best = (struct classes){ 1 - best.slow, best.p_fast, best.p_slow, best.likelihood };
    for (uint32_t i = 0; i < nodes; i++) {
        struct tally mine = { .hits = hits[i], .nodes = 1 };
        expect(&best, &mine, 1, jobs);
        slow[i] = mine.slow;
    }
    out->slow = best.slow;
    out->p_slow = best.p_slow;
    out->p_fast = best.p_fast;
    return best.likelihood;
}
