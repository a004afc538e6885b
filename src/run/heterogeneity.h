/* heterogeneity.h -- how far the parts' gradients are from the full gradient, and the rows' gradients from
 * their part's.
 *
 *   zeta^2  = sum over parts i of w_i |grad f_i(x) - grad f(x)|^2       w_i: the part's share of the rows
 *   sigma^2 = sum over parts i of w_i mean over its rows r of |grad f_r(x) - grad f_i(x)|^2
 *
 * These are the bounded heterogeneity and the gradient noise of AsGrad (arXiv 2310.20452) and D-PSGD
 * (arXiv 1705.09056) at one model. A gradient of b independent rows of a part has an expected squared
 * distance of sigma^2 / b + zeta^2 from the full gradient, averaged over the parts. */
#ifndef MOT_RUN_HETEROGENEITY_H
#define MOT_RUN_HETEROGENEITY_H

#include "run/gradient.h"

struct mot_heterogeneity {
    double zeta2, sigma2; /* NaN if the model computes nothing */
};

/* Which rows to look at. All rows of all parts, one row a group, give exact figures. Fewer rows give
 * unbiased estimates: zeta^2 is corrected for the sampling error of the chosen rows, then clamped at 0. */
struct mot_look {
    uint32_t parts;  /* at most this many, evenly spaced */
    uint64_t rows;   /* over these parts together, in proportion to size, at least two each */
    uint32_t groups; /* groups into which a part's rows are split, for sigma^2 */
};

/* What it takes besides the threads' scratch. */
size_t mot_heterogeneity_bytes(const struct mot_problem *, unsigned threads);
/* Gives the same bits for any number of threads; each thread needs a scratch of the net's. Draws from no
 * stream of the run: the rows depend only on the seed and on the sizes of the parts, so every point of a
 * curve is measured on the same rows. */
struct mot_heterogeneity mot_heterogeneity(const struct mot_problem *, struct mot_crew *,
    void *const *scratch, const struct mot_look *, const float *x);

/* The same, on the evaluator's crew. */
struct mot_heterogeneity mot_evaluate_parts(struct mot_evaluator *, const struct mot_look *, const float *x);

/* For runs: a third of the rows, at most 4096, of at most 64 parts. */
struct mot_look mot_look_of_run(const struct mot_problem *);
/* All rows, and one row a group if that takes a few seconds at most. */
struct mot_look mot_look_at_all(const struct mot_problem *);

/* The factor that a batch of b rows puts on sigma^2: the mean over the parts of 1 / b. If batches never
 * repeat a row, 1 / b is multiplied by (n - b) / (n - 1), which is 0 for a whole part. */
double mot_batch_share(const struct mot_experiment *, const struct mot_parts *);

#endif
