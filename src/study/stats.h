/* stats.h -- medians, their intervals, and comparisons of paired runs.
 *
 * Everything here is made of order statistics, so that a run which never reached its target
 * can take part: it counts as later than any that did (INFINITY). An interval holds the bootstrap's 95 %
 * (percentiles of the medians of all possible resamples, computed rather than drawn: no seed, the same bits
 * every time). For few runs that alone is too narrow (of two equal methods with seven seeds it would tell 12
 * in 100 apart), so it is widened to the exact interval of order statistics, and for pairs to that of
 * Wilcoxon's signed ranks (of signs alone, where a run of a pair never reached its target): differences of
 * equal methods are symmetric. */
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
/* infinities are fine, NaNs are not */
struct mot_interval mot_stats_interval(const double *value, size_t n);

/* the mean of the middle two; NaN where n is 0 */
double mot_stats_median(const double *value, size_t n);

enum mot_stats_verdict { MOT_BETTER, MOT_WORSE, MOT_ALIKE, MOT_NOT_COMPARABLE };

/* How much better the second of each pair is than the first. */
struct mot_comparison {
    /* above 1: the second is better. 0 and INFINITY: only one of them has the figure */
    double ratio, low, high;
    size_t n;                       /* pairs */
    size_t neither;                 /* pairs of which neither has the figure: they count as ties */
    enum mot_stats_verdict verdict; /* MOT_NOT_COMPARABLE: too few pairs, or half of them have neither */
};
/* first[i] and second[i] have one seed. INFINITY: it never came. `less`: a smaller figure is
 * the better one. Figures are positive; a zero makes its pair a win or a loss without measure. */
struct mot_comparison mot_stats_compare(const double *first, const double *second, size_t n, bool less);

#endif
