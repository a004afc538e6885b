/* stats.h -- medians, their intervals, and comparisons of paired runs.
 *
 * Everything here is built on order statistics, so that a run that never reached its target can take part: it
 * counts as later than any that did (INFINITY). An interval covers the bootstrap's 95 % (percentiles of the
 * medians of all possible resamples, computed rather than drawn: no seed, always the same bits). For few runs
 * that alone is too narrow (it would tell apart two equal methods 12 times in 100 with seven seeds), so it is
 * widened to the exact interval of order statistics and, for pairs, to Wilcoxon's for signed ranks (or signs
 * alone, if a run of a pair never reached its target): differences of equal methods are symmetric. */
#ifndef MOT_STUDY_STATS_H
#define MOT_STUDY_STATS_H

#include <stdbool.h>
#include <stddef.h>

#define MOT_PAIRS_LEAST 6 /* with five, even five wins of five could be chance: 2 / 2^5 is over 5 % */

/* A median with its interval. All are NaN where n is 0. */
struct mot_interval {
    double median, low, high, q1, q3, least, most;
    size_t n;
};
/* infinities are allowed, NaNs are not */
struct mot_interval mot_stats_interval(const double *value, size_t n);

/* the mean of the middle two; NaN where n is 0 */
double mot_stats_median(const double *value, size_t n);

enum mot_stats_verdict { MOT_BETTER, MOT_WORSE, MOT_ALIKE, MOT_NOT_COMPARABLE };

/* How much better the second of each pair is than the first. */
struct mot_comparison {
    /* above 1: the second is better. 0 or INFINITY: only one of them has the figure */
    double ratio, low, high;
    size_t n;                       /* pairs */
    size_t neither;                 /* pairs in which neither has the figure: ties */
    enum mot_stats_verdict verdict; /* MOT_NOT_COMPARABLE: too few pairs, or neither has it in half of them */
};
/* first[i] and second[i] share a seed. INFINITY: never reached. `less`: smaller is better. Figures are
 * positive; a zero makes its pair a win or a loss of unknown size. */
struct mot_comparison mot_stats_compare(const double *first, const double *second, size_t n, bool less);

#endif
