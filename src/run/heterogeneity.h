/* heterogeneity.h -- how far the parts' gradients are from that of all rows, and rows' from their part's.
 *
 *   zeta^2  = sum over parts i of w_i |grad f_i(x) - grad f(x)|^2       w_i: the part's share of the rows
 *   sigma^2 = sum over parts i of w_i mean over its rows r of |grad f_r(x) - grad f_i(x)|^2
 *
 * The bounded heterogeneity and the noise of AsGrad (arXiv 2310.20452) and D-PSGD (arXiv 1705.09056) at one
 * model: a gradient of b independent rows of a part is sigma^2 / b + zeta^2 from that of all rows, squared
 * and on average over the parts. */
#ifndef MOT_RUN_HETEROGENEITY_H
#define MOT_RUN_HETEROGENEITY_H

#include "run/gradient.h"

struct mot_heterogeneity {
    double zeta2, sigma2; /* NaN where the model computes nothing */
};

/* What is looked at. All rows of all parts, each a group of its own, give both figures exactly. Of fewer the
 * figures are estimates, right on average: what the chosen rows differ by at random is taken off zeta^2,
 * which ends at 0. */
struct mot_look {
    uint32_t parts;  /* at most, evenly chosen */
    uint64_t rows;   /* of these parts together, in proportion to their sizes and at least two of each */
    uint32_t groups; /* that the rows of a part are cut into, for sigma^2 */
};

/* The same bits for any number of threads, each of which has a scratch of the net's. Draws from no stream of
 * the run: which rows are looked at depends on the seed and the sizes of the parts alone, so that curves are
 * of the same rows. */
struct mot_heterogeneity mot_heterogeneity(const struct mot_problem *, struct mot_crew *,
    void *const *scratch, const struct mot_look *, const float *x);

/* By the evaluator's threads. */
struct mot_heterogeneity mot_evaluate_parts(struct mot_evaluator *, const struct mot_look *, const float *x);

/* What a run looks at: a third of the rows, at most 4096, of at most 64 parts. */
struct mot_look mot_look_of_run(const struct mot_problem *);
/* All rows; one by one where that takes no longer than some seconds. */
struct mot_look mot_look_at_all(const struct mot_problem *);

/* What a batch makes of sigma^2: the mean over the parts of 1 / b, and where a batch has no row twice times
 * (n - b) / (n - 1), which is 0 for a whole part. */
double mot_batch_share(const struct mot_experiment *, const struct mot_parts *);

#endif
