/* optimal.c -- the weights that leave the smallest error: least squares over the rows that have answered.
 *
 * By QR up to MOT_CODE_DENSE workers and parts; above by LSQR (Paige and Saunders, LSQR: An Algorithm for
 * Sparse Linear Equations and Sparse Least Squares, 1982), which needs a few vectors and, for the sparse
 * random matrices of that size, some tens of steps. */
#include "code/decode.h"
#include "code/solve.h"
#include <math.h>
#include <string.h>

#define STEPS 400u
#define ENOUGH 1e-10

static bool dense(const struct mot_code *c)
{
    return c->workers <= MOT_CODE_DENSE && c->parts <= MOT_CODE_DENSE;
}

size_t mot_optimal_room(const struct mot_code *c)
{
    if (!dense(c)) return c->parts + 2 * (size_t)c->workers;
    return (size_t)c->workers * c->parts + c->parts + c->workers +
        mot_least_squares_room(c->parts, c->workers);
}

static void solve_dense(const struct mot_code *c, const uint64_t *answered, double *weight, double *room)
{
    double *a = room, *one = a + (size_t)c->workers * c->parts, *x = one + c->parts;
    uint32_t cols = 0;
    for (uint32_t r = 0; r < c->workers; r++) {
        if (!mot_role_in(answered, r)) continue;
        double *column = a + (size_t)cols++ * c->parts;
        memset(column, 0, c->parts * sizeof(*column));
        for (uint32_t k = c->at[r]; k < c->at[r + 1]; k++)
            column[c->share[k].part] = (double)c->share[k].coef;
    }
    for (uint32_t j = 0; j < c->parts; j++) one[j] = 1;
    mot_least_squares(c->parts, cols, c->workers - c->stragglers, a, one, x, x + c->workers);
    for (uint32_t r = 0, k = 0; r < c->workers; r++)
        if (mot_role_in(answered, r)) weight[r] = x[k++];
}

/* ---- LSQR, in the names of the paper ---------------------------------------------------------------- */

static double normalise(uint32_t n, double *x)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += x[i] * x[i];
    double norm = sqrt(sum);
    for (uint32_t i = 0; norm > 0 && i < n; i++) x[i] /= norm;
    return norm;
}

/* u = B' v - alpha u, over the parts; v is 0 where there is no answer */
static double next_u(const struct mot_code *c, const double *v, double alpha, double *u)
{
    for (uint32_t j = 0; j < c->parts; j++) u[j] *= -alpha;
    for (uint32_t r = 0; r < c->workers; r++)
        if (v[r] != 0)
            for (uint32_t k = c->at[r]; k < c->at[r + 1]; k++)
                u[c->share[k].part] += v[r] * (double)c->share[k].coef;
    return normalise(c->parts, u);
}

/* v = B u - beta v, over the roles that have answered */
static double next_v(
    const struct mot_code *c, const uint64_t *answered, const double *u, double beta, double *v)
{
    for (uint32_t r = 0; r < c->workers; r++) {
        if (!mot_role_in(answered, r)) continue;
        double sum = 0;
        for (uint32_t k = c->at[r]; k < c->at[r + 1]; k++)
            sum += (double)c->share[k].coef * u[c->share[k].part];
        v[r] = sum - beta * v[r];
    }
    return normalise(c->workers, v);
}

static void solve_sparse(const struct mot_code *c, const uint64_t *answered, double *x, double *room)
{
    double *u = room, *v = u + c->parts, *w = v + c->workers;
    for (uint32_t j = 0; j < c->parts; j++) u[j] = 1;
    memset(v, 0, c->workers * sizeof(*v));
    double phi_bar = normalise(c->parts, u), alpha = next_v(c, answered, u, 0, v), rho_bar = alpha;
    double first = phi_bar * alpha;
    memcpy(w, v, c->workers * sizeof(*w));
    for (uint32_t step = 0; step < STEPS && alpha > 0; step++) {
        double beta = next_u(c, v, alpha, u);
        if (beta > 0) alpha = next_v(c, answered, u, beta, v);
        double rho = sqrt(rho_bar * rho_bar + beta * beta), cosine = rho_bar / rho, sine = beta / rho;
        double theta = sine * alpha, phi = cosine * phi_bar;
        rho_bar = -cosine * alpha;
        phi_bar *= sine;
        for (uint32_t r = 0; r < c->workers; r++) {
            x[r] += phi / rho * w[r];
            w[r] = v[r] - theta / rho * w[r];
        }
        if (fabs(phi_bar * alpha * cosine) <= ENOUGH * first) return; /* |A'(b - A x)| */
    }
}

void mot_decode_optimal(const struct mot_code *c, const uint64_t *answered, double *weight, double *room)
{
    if (dense(c)) solve_dense(c, answered, weight, room);
    else solve_sparse(c, answered, weight, room);
}
