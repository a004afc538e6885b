/* matcha.c -- how often to use each matching, and how far models then move. */
#include "base/exact.h"
#include "base/memory.h"
#include "topology/eigen.h"
#include "topology/mixing.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Chances -------------------------------------------------------------------------------
 *
 * The second smallest eigenvalue is concave in p but has kinks where it meets the third. So we climb a soft
 * minimum over all eigenvalues but the constant vector's, -(1/mu) log sum exp(-mu l[i]), with a mu that grows
 * from stage to stage: it is smooth, concave, and at most log(n) / mu below the true minimum. */

#define STAGES 8
#define WORK_MOST 2e9 /* floating-point operations in all, about a second */

struct climb {
    const struct mot_graph *g;
    double budget, *l, *values, *vectors;
};

/* Returns the soft minimum at p; sets *least to the second smallest eigenvalue and slope, if not NULL, to the
 * gradient. */
static double soft_least(struct climb *c, const double *p, double mu, double *least, double *slope)
{
    uint32_t n = c->g->nodes;
    double sum = 0;
    mot_laplacian(c->g, p, c->l);
    mot_eigen(n, c->l, c->values, slope ? c->vectors : NULL);
    *least = c->values[1];
    for (uint32_t i = 1; i < n; i++) sum += mot_exp(-mu * (c->values[i] - c->values[1]));
    for (uint32_t j = 0; slope && j < c->g->matchings; j++) slope[j] = 0;
    for (uint32_t i = 1; slope && i < n; i++) {
        double share = mot_exp(-mu * (c->values[i] - c->values[1])) / sum;
        const double *v = c->vectors + (size_t)i * n;
        if (share < 1e-15) break;
        for (uint32_t e = 0; e < c->g->edges; e++) {
            double apart = v[c->g->edge[e].a] - v[c->g->edge[e].b];
            slope[c->g->matching[e]] += share * apart * apart;
        }
    }
    return c->values[1] - mot_log(sum) / mu;
}

/* Moves p to the nearest point with entries in 0..1 that add up to `total`: shifts all by one number, then
 * clips. */
static void project(uint32_t m, double total, double *p)
{
    double low = -2, high = 2;
    for (uint32_t j = 0; j < m; j++) {
        if (-p[j] < low) low = -p[j];
        if (1 - p[j] > high) high = 1 - p[j];
    }
    for (int k = 0; k < 100; k++) {
        double shift = (low + high) / 2, sum = 0;
        for (uint32_t j = 0; j < m; j++) sum += fmin(fmax(p[j] + shift, 0), 1);
        if (sum > total) high = shift;
        else low = shift;
    }
    for (uint32_t j = 0; j < m; j++) p[j] = fmin(fmax(p[j] + low, 0), 1);
}

/* One stage: steps along the slope, longer while they climb, shorter when they do not. `best` keeps the p
 * with the largest true eigenvalue. */
static void climb_stage(
    struct climb *c, double mu, uint32_t steps, double *p, double *best, double *best_least)
{
    uint32_t m = c->g->matchings;
    double *slope = mot_new(m, sizeof(*slope)), *next = mot_new(m, sizeof(*next)),
           *next_slope = mot_new(m, sizeof(*next_slope));
    double least, height = soft_least(c, p, mu, &least, slope), step = 1 / mu;
    for (uint32_t k = 0; k < steps; k++) {
        for (uint32_t j = 0; j < m; j++) next[j] = p[j] + step * slope[j];
        project(m, c->budget * m, next);
        double reached = soft_least(c, next, mu, &least, next_slope);
        if (least > *best_least) {
            *best_least = least;
            memcpy(best, next, m * sizeof(*best));
        }
        if (reached <= height) {
            step /= 4;
            if (step < 1e-14 / mu) break;
            continue;
        }
        height = reached;
        step *= 1.6;
        memcpy(p, next, m * sizeof(*p));
        memcpy(slope, next_slope, m * sizeof(*slope));
    }
    free(next_slope);
    free(next);
    free(slope);
}

void mot_matcha_chances(const struct mot_graph *g, double budget, double *chance)
{
    size_t cells = (size_t)g->nodes * g->nodes;
    struct climb c = { .g = g,
        .budget = budget,
        .l = mot_new(cells, sizeof(double)),
        .values = mot_new(g->nodes, sizeof(double)),
        .vectors = mot_new(cells, sizeof(double)) };
    double least, cost = 40.0 * (double)cells * g->nodes, *p = mot_new(g->matchings, sizeof(*p));
    double steps = WORK_MOST / cost / STAGES;
    for (uint32_t j = 0; j < g->matchings; j++) chance[j] = p[j] = budget;
    soft_least(&c, p, 1, &least, NULL);
    double mu = 10 / (least > 1e-9 ? least : 1e-9);
    for (int stage = 0; stage < STAGES; stage++, mu *= 5)
        climb_stage(&c, mu, steps < 4 ? 4 : steps > 300 ? 300 : (uint32_t)steps, p, chance, &least);
    free(p);
    free(c.vectors);
    free(c.values);
    free(c.l);
}

/* ---- Alpha -------------------------------------------------------------------------------------- */

struct round {
    uint32_t n;
    double *mean, *second, *a, *values;
}; /* E[L]; E[L]^2 + 2 sum p (1 - p) L[j] */

/* The largest eigenvalue of I - 2 a E[L] + a^2 second - J, which is the norm of E[W'W] - J. */
static double norm_dense(void *self, double alpha)
{
    struct round *r = self;
    uint32_t n = r->n;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) {
            size_t at = (size_t)i * n + k;
            r->a[at] = (i == k) - 2 * alpha * r->mean[at] + alpha * alpha * r->second[at] - 1.0 / n;
        }
    mot_eigen(n, r->a, r->values, NULL);
    return r->values[n - 1];
}

/* In each direction of disagreement the norm is a parabola in a that opens upward, so their maximum is
 * convex. */
static double golden_section(
    double (*norm_at)(void *self, double alpha), void *r, double low, double high, double *norm_out)
{
    const double part = 0.6180339887498949;
    double x = high - part * (high - low), y = low + part * (high - low), fx = norm_at(r, x),
           fy = norm_at(r, y);
    for (int k = 0; k < 50; k++) {
        if (fx <= fy) {
            high = y;
            y = x;
            fy = fx;
            x = high - part * (high - low);
            fx = norm_at(r, x);
        } else {
            low = x;
            x = y;
            fx = fy;
            y = low + part * (high - low);
            fy = norm_at(r, y);
        }
    }
    *norm_out = fx <= fy ? fx : fy;
    return fx <= fy ? x : y;
}

double mot_matcha_alpha(const struct mot_graph *g, const double *chance, double *norm_out)
{
    uint32_t n = g->nodes;
    size_t cells = (size_t)n * n;
    struct round r = { .n = n,
        .mean = mot_new(cells, sizeof(double)),
        .second = mot_new(cells, sizeof(double)),
        .a = mot_new(cells, sizeof(double)),
        .values = mot_new(n, sizeof(double)) };
    double *spread = mot_new((size_t)g->matchings + 1, sizeof(*spread));
    for (uint32_t j = 0; j < g->matchings; j++) spread[j] = 2 * chance[j] * (1 - chance[j]);
    mot_laplacian(g, chance, r.mean);
    mot_laplacian(g, spread, r.second);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            for (uint32_t t = 0; t < n; t++)
                r.second[(size_t)i * n + k] += r.mean[(size_t)i * n + t] * r.mean[(size_t)t * n + k];
    memcpy(r.a, r.mean, cells * sizeof(*r.a));
    mot_eigen(n, r.a, r.values, NULL);
    /* Beyond 2 / ln the fastest disagreement grows. */
    double alpha = golden_section(norm_dense, &r, 0, 2 / r.values[n - 1], norm_out);
    free(spread);
    free(r.values);
    free(r.a);
    free(r.second);
    free(r.mean);
    return alpha;
}

/* ---- One chance for all: E[L] and the second moment are polynomials of L ------------------------------- */

struct uniform {
    double chance, second, greatest;
};

static double norm_along(const struct uniform *u, double alpha, double value)
{
    double p = u->chance;
    return 1 - 2 * alpha * p * value + alpha * alpha * (p * p * value * value + 2 * p * (1 - p) * value);
}

/* Convex in the eigenvalue too: the maximum is at one of the ends. */
static double norm_uniform(void *self, double alpha)
{
    const struct uniform *u = self;
    return fmax(norm_along(u, alpha, u->second), norm_along(u, alpha, u->greatest));
}

double mot_matcha_alpha_uniform(double chance, double second, double greatest, double *norm_out)
{
    struct uniform u = { chance, second, greatest };
    return golden_section(norm_uniform, &u, 0, 2 / (chance * greatest), norm_out);
}
