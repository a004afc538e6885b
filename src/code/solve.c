#include "code/solve.h"
#include <math.h>
#include <string.h>

/* A column depends on those before it if no more than this is left of it, relative to the largest. */
#define DEPENDENT 1e-12

typedef double v4 __attribute__((vector_size(32)));

static double dot(uint32_t n, const double *x, const double *y)
{
    v4 sum[2] = { { 0 }, { 0 } };
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 2; k++) {
            v4 p, q;
            memcpy(&p, x + i + 4 * k, sizeof(p));
            memcpy(&q, y + i + 4 * k, sizeof(q));
            sum[k] += p * q;
        }
    sum[0] += sum[1];
    double all = (sum[0][0] + sum[0][2]) + (sum[0][1] + sum[0][3]);
    for (; i < n; i++) all += x[i] * y[i];
    return all;
}

static void axpy(uint32_t n, double a, const double *restrict x, double *restrict y)
{
    for (uint32_t i = 0; i < n; i++) y[i] += a * x[i];
}

size_t mot_least_squares_room(uint32_t rows, uint32_t cols) { return (size_t)rows + 2 * (size_t)cols; }

/* Swaps the column with the largest remainder into place k and returns that remainder's norm. `left`, the
 * remainders' squares, is updated by subtraction, and computed anew where that has cost too many digits. */
static double pivot(uint32_t rows, uint32_t cols, uint32_t k, double *a, double *left, uint32_t *order)
{
    uint32_t best = k;
    for (uint32_t j = k + 1; j < cols; j++)
        if (left[j] > left[best]) best = j;
    if (best != k) {
        double *x = a + (size_t)k * rows, *y = a + (size_t)best * rows, l = left[k];
        for (uint32_t i = 0; i < rows; i++) {
            double t = x[i];
            x[i] = y[i];
            y[i] = t;
        }
        uint32_t o = order[k];
        left[k] = left[best], left[best] = l;
        order[k] = order[best], order[best] = o;
    }
    const double *x = a + (size_t)k * rows + k;
    return sqrt(dot(rows - k, x, x));
}

void mot_least_squares(
    uint32_t rows, uint32_t cols, uint32_t rank, double *a, const double *b, double *x, double *scratch)
{
    double *y = scratch, *left = y + rows;
    uint32_t *order = (uint32_t *)(void *)(left + cols), steps = 0;
    double most = 0;
    memcpy(y, b, rows * sizeof(*y));
    for (uint32_t j = 0; j < cols; j++) {
        order[j] = j;
        left[j] = dot(rows, a + (size_t)j * rows, a + (size_t)j * rows);
        most = fmax(most, left[j]);
    }
    double enough = DEPENDENT * sqrt(most);
    for (uint32_t k = 0; k < cols && k < rows && k < rank; k++) {
        double norm = pivot(rows, cols, k, a, left, order), *v = a + (size_t)k * rows + k;
        uint32_t n = rows - k;
        if (!(norm > enough)) break;
        steps++;
        /* v becomes Householder's vector, and then R's diagonal takes its first place */
        double diagonal = v[0] > 0 ? -norm : norm;
        v[0] -= diagonal;
        double scale = 1 / (diagonal * v[0]); /* -2 / |v|^2 */
        for (uint32_t j = k + 1; j < cols; j++) {
            double *column = a + (size_t)j * rows + k;
            axpy(n, scale * dot(n, v, column), v, column);
            left[j] -= column[0] * column[0];
            if (left[j] < 1e-4 * most) left[j] = dot(n - 1, column + 1, column + 1);
        }
        axpy(n, scale * dot(n, v, y + k), v, y + k);
        v[0] = diagonal;
    }
    for (uint32_t j = 0; j < cols; j++) x[j] = 0;
    for (uint32_t k = steps; k-- > 0;) {
        const double *column = a + (size_t)k * rows;
        double value = y[k] / column[k];
        axpy(k, -value, column, y);
        x[order[k]] = value;
    }
}
