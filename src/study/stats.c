#include "study/stats.h"
#include "base/exact.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAIL 0.025 /* on either side of a 95 % interval */
#define NORMAL_TAIL 1.959963984540054
#define EXACT_MOST 1000 /* values; beyond that the interval of order statistics is as good */
#define RANKS_MOST 50   /* pairs; beyond that the normal approximation is as good */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nothing lies between a value and one that never arrived: take the one that never arrived. */
static double between(double a, double b, double share)
{
    if (a == b || share == 0) return a;
    if (isinf(a) && isinf(b)) return 0; /* one each way: neither */
    if (isinf(a) || isinf(b)) return isinf(a) ? a : b;
    return a + share * (b - a);
}

/* The value at a given fraction of the way through sorted ones. */
static double quantile(const double *sorted, size_t n, double share)
{
    double at = share * (double)(n - 1);
    size_t below = (size_t)at;
    if (below + 1 >= n) return sorted[n - 1];
    return between(sorted[below], sorted[below + 1], at - (double)below);
}

static double middle(const double *sorted, size_t n)
{
    if (n % 2) return sorted[n / 2];
    return between(sorted[n / 2 - 1], sorted[n / 2], 0.5);
}

static double *sorted_copy(const double *value, size_t n)
{
    double *copy = mot_new(n ? n : 1, sizeof(*copy));
    if (n) memcpy(copy, value, n * sizeof(*copy));
    qsort(copy, n, sizeof(*copy), by_value);
    return copy;
}

double mot_stats_median(const double *value, size_t n)
{
    if (n == 0) return NAN;
    double *sorted = sorted_copy(value, n), median = middle(sorted, n);
    free(sorted);
    return median;
}

/* ---- The bootstrap, without drawing ------------------------------------------------------- */

struct outcome {
    double value, weight;
};

static int by_outcome(const void *a, const void *b)
{
    return by_value(&((const struct outcome *)a)->value, &((const struct outcome *)b)->value);
}

/* log(0!) ... log(n!) */
static double *log_factorials(size_t n)
{
    double *log = mot_new(n + 1, sizeof(*log));
    for (size_t i = 2; i <= n; i++) log[i] = log[i - 1] + mot_log((double)i);
    return log;
}

/* The probability that at least m of n draws are among the k lowest of n values. */
static double reach(const double *factorial, size_t n, size_t k, size_t m)
{
    if (k == n) return 1;
    double share = mot_log((double)k / (double)n), rest = mot_log(1 - (double)k / (double)n), sum = 0;
    for (size_t j = m; j <= n; j++)
        sum += mot_exp(
            factorial[n] - factorial[j] - factorial[n - j] + (double)j * share + (double)(n - j) * rest);
    return sum;
}

/* (k/n)^m times exp(scale). */
static double power(size_t k, size_t n, size_t m, double scale)
{
    return k == 0 ? 0 : mot_exp(scale + (double)m * mot_log((double)k / (double)n));
}

/* The median of a resample of an odd number is one of the values. */
static size_t odd_medians(const double *sorted, size_t n, const double *factorial, struct outcome *out)
{
    double before = 0;
    for (size_t k = 1; k <= n; k++) {
        double now = reach(factorial, n, k, (n + 1) / 2);
        out[k - 1] = (struct outcome){ sorted[k - 1], now - before };
        before = now;
    }
    return n;
}

/* In a resample of an even number the middle two count. They are the values i < j if half of the draws lie at
 * or below i, with i the largest, and the others at or above j, with j the smallest. What remains of i's
 * share as the lower one is the chance that both are i. */
static size_t even_medians(const double *sorted, size_t n, const double *factorial, struct outcome *out)
{
    size_t half = n / 2, used = 0;
    /* the binomial, half of it for either side */
    double scale = (factorial[n] - 2 * factorial[half]) / 2, before = 0;
    double *above = mot_new(n, sizeof(*above));
    for (size_t j = 0; j < n; j++) above[j] = power(n - j, n, half, scale) - power(n - j - 1, n, half, scale);
    for (size_t i = 0; i < n; i++) {
        double below = power(i + 1, n, half, scale) - power(i, n, half, scale), apart = 0;
        for (size_t j = i + 1; j < n; j++) {
            out[used++] = (struct outcome){ between(sorted[i], sorted[j], 0.5), below * above[j] };
            apart += below * above[j];
        }
        double now = reach(factorial, n, i + 1, half);
        out[used++] = (struct outcome){ sorted[i], now - before - apart };
        before = now;
    }
    free(above);
    return used;
}

/* The middle 95 % of the resamples' medians. */
static void bootstrap(const double *sorted, size_t n, double *low, double *high)
{
    double *factorial = log_factorials(n);
    struct outcome *median = mot_new_large(n * (n + 1) / 2, sizeof(*median));
    *low = *high = NAN;
    if (!median) { /* the command ends with a message */
        free(factorial);
        return;
    }
    size_t outcomes =
        n % 2 ? odd_medians(sorted, n, factorial, median) : even_medians(sorted, n, factorial, median);
    free(factorial);
    qsort(median, outcomes, sizeof(*median), by_outcome);
    double weight = 0;
    size_t i = 0;
    while (i + 1 < outcomes && (weight += median[i].weight) < TAIL) i++;
    *low = median[i].value;
    weight = 0;
    i = outcomes - 1;
    while (i > 0 && (weight += median[i].weight) < TAIL) i--;
    *high = median[i].value;
    free(median);
}

/* ---- Exact intervals ------------------------------------------------------------------------ */

/* The largest k for which the outcomes up to k have at most TAIL of
 * all `ways`; -1 if none. */
static long tail_of(const double *ways, size_t counts)
{
    double all = 0, sum = 0;
    for (size_t i = 0; i < counts; i++) all += ways[i];
    for (size_t i = 0; i < counts; i++) {
        sum += ways[i];
        if (sum > TAIL * all) return (long)i - 1;
    }
    return -1;
}

static long normal_tail(double mean, double variance)
{
    double k = mean - 0.5 - NORMAL_TAIL * sqrt(variance);
    return k < 0 ? -1 : (long)k;
}

/* How many of n fair coins may show tails and still rule out chance. */
static long coin_tail(size_t n)
{
    if (n > RANKS_MOST) return normal_tail((double)n / 2, (double)n / 4);
    double ways[RANKS_MOST + 1] = { 1 };
    for (size_t i = 1; i <= n; i++)
        for (size_t k = i; k > 0; k--) ways[k] += ways[k - 1];
    return tail_of(ways, n + 1);
}

/* The same for the sum of the ranks 1..n that are negative. */
static long rank_tail(size_t n)
{
    double m = (double)n;
    if (n > RANKS_MOST) return normal_tail(m * (m + 1) / 4, m * (m + 1) * (2 * m + 1) / 24);
    double ways[RANKS_MOST * (RANKS_MOST + 1) / 2 + 1] = { 1 };
    size_t most = n * (n + 1) / 2;
    for (size_t rank = 1; rank <= n; rank++)
        for (size_t sum = most; sum >= rank; sum--) ways[sum] += ways[sum - rank];
    return tail_of(ways, most + 1);
}

/* The interval that leaves out k values on either side; all of them if there are too few. */
static void widen(struct mot_interval *i, const double *sorted, size_t n, long tail)
{
    size_t k = tail < 0 ? 0 : (size_t)tail;
    if (sorted[k] < i->low) i->low = sorted[k];
    if (sorted[n - 1 - k] > i->high) i->high = sorted[n - 1 - k];
}

static struct mot_interval describe(const double *sorted, size_t n)
{
    struct mot_interval i = { .median = middle(sorted, n),
        .q1 = quantile(sorted, n, 0.25),
        .q3 = quantile(sorted, n, 0.75),
        .least = sorted[0],
        .most = sorted[n - 1],
        .n = n };
    i.low = i.high = i.median;
    if (n <= EXACT_MOST) bootstrap(sorted, n, &i.low, &i.high);
    return i;
}

struct mot_interval mot_stats_interval(const double *value, size_t n)
{
    if (n == 0) return (struct mot_interval){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0 };
    double *sorted = sorted_copy(value, n);
    struct mot_interval i = describe(sorted, n);
    widen(&i, sorted, n, coin_tail(n));
    free(sorted);
    return i;
}

/* ---- Pairs --------------------------------------------------------------------------------- */

/* The interval of signed ranks comes from the means of any two differences (Walsh; Hodges and Lehmann, 1963).
 * A difference without a size, since only one of the two has the figure, would outweigh all others: then
 * only signs count. Which interval is used depends on the sizes of the differences and not on their signs,
 * so either keeps its promise. */
static struct mot_interval of_differences(const double *value, size_t n)
{
    double *sorted = sorted_copy(value, n), *mean = mot_new_large(n * (n + 1) / 2, sizeof(*mean));
    struct mot_interval i = describe(sorted, n);
    size_t means = 0;
    if (isinf(sorted[0]) || isinf(sorted[n - 1])) {
        widen(&i, sorted, n, coin_tail(n));
        free(mean);
        free(sorted);
        return i;
    }
    for (size_t a = 0; mean && a < n; a++)
        for (size_t b = a; b < n; b++) mean[means++] = between(sorted[a], sorted[b], 0.5);
    if (mean) {
        qsort(mean, means, sizeof(*mean), by_value);
        widen(&i, mean, means, rank_tail(n));
    }
    free(mean);
    free(sorted);
    return i;
}

/* How much better the second is, as a logarithm. */
static double log_ratio(double first, double second, bool less)
{
    double worse = less ? first : second, better = less ? second : first;
    if (worse == better) return 0;
    if (isinf(worse) || better <= 0) return INFINITY;
    if (isinf(better) || worse <= 0) return -INFINITY;
    return mot_log(worse / better);
}

static double ratio_of(double log)
{
    if (isinf(log)) return log > 0 ? INFINITY : 0;
    return log == 0 ? 1 : mot_exp(log);
}

struct mot_comparison mot_stats_compare(const double *first, const double *second, size_t n, bool less)
{
    struct mot_comparison c = { NAN, NAN, NAN, n, 0, MOT_NOT_COMPARABLE };
    if (n == 0) return c;
    double *log = mot_new(n, sizeof(*log));
    for (size_t i = 0; i < n; i++) {
        log[i] = log_ratio(first[i], second[i], less);
        c.neither += isinf(first[i]) && isinf(second[i]);
    }
    struct mot_interval i = of_differences(log, n);
    free(log);
    c.ratio = ratio_of(i.median);
    c.low = ratio_of(i.low);
    c.high = ratio_of(i.high);
    if (n < MOT_PAIRS_LEAST || 2 * c.neither >= n) return c;
    c.verdict = i.low > 0 ? MOT_BETTER : i.high < 0 ? MOT_WORSE : MOT_ALIKE;
    return c;
}
