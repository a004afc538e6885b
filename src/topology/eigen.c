#include "topology/eigen.h"
#include "base/memory.h"
#include "base/rng.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SWEEPS_MAX 60 /* about ten are enough; after that only rounding errors remain */

/* ---- Jacobi --------------------------------------------------------------------------- */

/* Rotates rows and columns p and q so that a[p][q] becomes 0. */
static void rotate(uint32_t n, double *a, double *vectors, uint32_t p, uint32_t q)
{
    double apq = a[p * (size_t)n + q], theta = (a[q * (size_t)n + q] - a[p * (size_t)n + p]) / (2 * apq);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    double *row_p = a + p * (size_t)n, *row_q = a + q * (size_t)n;
    row_p[p] -= t * apq;
    row_q[q] += t * apq;
    for (uint32_t k = 0; k < n; k++) {
        if (k == p || k == q) continue;
        double x = row_p[k], y = row_q[k];
        row_p[k] = c * x - s * y;
        row_q[k] = s * x + c * y;
        a[k * (size_t)n + p] = row_p[k];
        a[k * (size_t)n + q] = row_q[k];
    }
    row_p[q] = row_q[p] = 0;
    if (!vectors) return;
    double *v = vectors + p * (size_t)n, *w = vectors + q * (size_t)n;
    for (uint32_t k = 0; k < n; k++) {
        double x = v[k], y = w[k];
        v[k] = c * x - s * y;
        w[k] = s * x + c * y;
    }
}

/* Sorts by rising value. */
static void sort(uint32_t n, double *values, double *vectors)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t least = i;
        for (uint32_t k = i + 1; k < n; k++)
            if (values[k] < values[least]) least = k;
        if (least == i) continue;
        double value = values[i];
        values[i] = values[least];
        values[least] = value;
        for (uint32_t k = 0; vectors && k < n; k++) {
            double x = vectors[i * (size_t)n + k];
            vectors[i * (size_t)n + k] = vectors[least * (size_t)n + k];
            vectors[least * (size_t)n + k] = x;
        }
    }
}

void mot_eigen(uint32_t n, double *a, double *values, double *vectors)
{
    double total = 0;
    for (size_t i = 0; i < (size_t)n * n; i++) total += a[i] * a[i];
    if (vectors) memset(vectors, 0, (size_t)n * n * sizeof(*vectors));
    for (uint32_t i = 0; vectors && i < n; i++) vectors[i * (size_t)n + i] = 1;
    double small = total * 1e-32; /* an entry whose square is smaller changes no value beyond rounding */
    for (int sweep = 0; sweep < SWEEPS_MAX; sweep++) {
        bool rotated = false;
        for (uint32_t p = 0; p + 1 < n; p++)
            for (uint32_t q = p + 1; q < n; q++) {
                double x = a[p * (size_t)n + q];
                if (x * x <= small) continue;
                rotate(n, a, vectors, p, q);
                rotated = true;
            }
        if (!rotated) break;
    }
    for (uint32_t i = 0; i < n; i++) values[i] = a[i * (size_t)n + i];
    sort(n, values, vectors);
}

/* ---- Lanczos -------------------------------------------------------------------------- */

static double dot(uint32_t n, const double *x, const double *y)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* Removes from x its mean and its components along the k earlier vectors, twice, which is enough. Returns its
 * norm. */
static double straighten(uint32_t n, double *x, const double *before, uint32_t k)
{
    for (int again = 0; again < 2; again++) {
        double mean = 0;
        for (uint32_t i = 0; i < n; i++) mean += x[i];
        mean /= n;
        for (uint32_t i = 0; i < n; i++) x[i] -= mean;
        for (uint32_t j = 0; j < k; j++) {
            const double *v = before + j * (size_t)n;
            double part = dot(n, x, v);
            for (uint32_t i = 0; i < n; i++) x[i] -= part * v[i];
        }
    }
    return sqrt(dot(n, x, x));
}

void mot_extremes(uint32_t n, void (*apply)(const void *self, const double *x, double *y), const void *self,
    uint32_t steps, double *least, double *greatest)
{
    *least = *greatest = 0;
    if (n < 2) return;
    if (steps > n - 1) steps = n - 1;
    double *basis = mot_new_large((size_t)steps * n, sizeof(*basis)), *next = mot_new(n, sizeof(*next));
    if (!basis) {
        free(next);
        return;
    }
    double *diagonal = mot_new(steps, sizeof(*diagonal)), *beside = mot_new(steps, sizeof(*beside));
    struct mot_rng rng = mot_rng_at(1, MOT_RNG_TOPOLOGY, 0);
    for (uint32_t i = 0; i < n; i++) next[i] = mot_rng_unit(&rng) - 0.5;
    double norm = straighten(n, next, NULL, 0), first = norm;
    uint32_t k = 0;
    for (; k < steps && norm > 1e-12 * first; k++) {
        double *v = basis + k * (size_t)n;
        for (uint32_t i = 0; i < n; i++) v[i] = next[i] / norm;
        apply(self, v, next);
        diagonal[k] = dot(n, v, next);
        norm = straighten(n, next, basis, k + 1);
        beside[k] = norm;
        if (k == 0) first = fabs(diagonal[0]) + norm;
    }
    double *t = mot_new_large((size_t)k * k, sizeof(*t)), *values = mot_new(k, sizeof(*values));
    for (uint32_t i = 0; t && i < k; i++) {
        t[i * (size_t)k + i] = diagonal[i];
        if (i + 1 < k) t[i * (size_t)k + i + 1] = t[(i + 1) * (size_t)k + i] = beside[i];
    }
    if (t) mot_eigen(k, t, values, NULL);
    *least = values[0];
    *greatest = values[k - 1];
    free(values);
    free(t);
    free(beside);
    free(diagonal);
    free(next);
    free(basis);
}
