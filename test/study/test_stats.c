/* The statistics of a study: what they claim about coverage and error, over many draws. */
#include "base/exact.h"
#include "base/rng.h"
#include "study/stats.h"
#include "test.h"

#define SEED 20261115
#define DRAWS 2000

TEST(the_median_is_the_middle_and_an_even_number_has_two)
{
    CHECK_NEAR(mot_stats_median((double[]){ 3, 1, 2 }, 3), 2, 0);
    CHECK_NEAR(mot_stats_median((double[]){ 4, 1, 2, 3 }, 4), 2.5, 0);
    CHECK(isnan(mot_stats_median(NULL, 0)));
    CHECK(isinf(mot_stats_median((double[]){ 1, 2, INFINITY, INFINITY }, 4)));
    CHECK_NEAR(mot_stats_median((double[]){ 1, 2, INFINITY }, 3), 2, 0);
}

/* The bootstrap by drawing, as everybody writes it. */
static void drawn(const double *value, size_t n, double *low, double *high)
{
    enum { TIMES = 10000 };
    static double median[TIMES];
    struct mot_rng rng = mot_rng_at(SEED, MOT_RNG_TEST, n);
    double sample[32];
    for (size_t t = 0; t < TIMES; t++) {
        for (size_t i = 0; i < n; i++) sample[i] = value[mot_rng_below(&rng, n)];
        median[t] = mot_stats_median(sample, n);
    }
    for (size_t k = 0; k < 2; k++) {
        double want = k ? 0.975 : 0.025;
        /* Medians take few values: the quantile is the least of them that enough draws do not exceed. */
        double best = INFINITY;
        for (size_t i = 0; i < n; i++)
            for (size_t j = i; j < n; j++) {
                double candidate = (value[i] + value[j]) / 2;
                size_t at_most = 0;
                for (size_t t = 0; t < TIMES; t++) at_most += median[t] <= candidate;
                if ((double)at_most >= want * TIMES && candidate < best) best = candidate;
            }
        if (k) *high = best;
        else *low = best;
    }
}

TEST(an_interval_holds_what_drawing_resamples_would_give)
{
    double value[13] = { 5.1, 0.3, 9.7, 2.2, 7.9, 3.3, 6.4, 1.5, 8.8, 4.6, 10.9, 12.5, 11.2 };
    for (size_t n = 5; n <= 13; n++) {
        double low, high;
        drawn(value, n, &low, &high);
        struct mot_interval i = mot_stats_interval(value, n);
        CHECK(i.low <= low && i.high >= high);
    }
}

TEST(an_interval_of_one_value_is_that_value_and_of_none_nothing)
{
    struct mot_interval one = mot_stats_interval((double[]){ 7 }, 1), none = mot_stats_interval(NULL, 0);
    CHECK(one.low == 7 && one.median == 7 && one.high == 7 && one.q1 == 7 && one.n == 1);
    CHECK(isnan(none.median) && isnan(none.low) && none.n == 0);
}

TEST(the_same_values_in_another_order_give_the_same_bits)
{
    double a[9] = { 3, 1, 4, 1.5, 9, 2.6, 5, 3.5, 8 }, b[9] = { 8, 9, 5, 4, 3.5, 3, 2.6, 1.5, 1 };
    struct mot_interval x = mot_stats_interval(a, 9), y = mot_stats_interval(b, 9);
    CHECK(memcmp(&x, &y, sizeof(x)) == 0);
}

/* Over the law of an exponential, which is far from symmetric. */
TEST(intervals_of_medians_cover_the_true_median_19_times_of_20)
{
    printf("  seed %d\n", SEED);
    double truth = mot_log(2);
    for (size_t n = 6; n <= 20; n += 2) {
        size_t covered = 0;
        for (size_t t = 0; t < DRAWS; t++) {
            struct mot_rng rng = mot_rng_at(SEED + t, MOT_RNG_TEST, n);
            double value[20];
            for (size_t i = 0; i < n; i++) value[i] = mot_rng_exponential(&rng);
            struct mot_interval i = mot_stats_interval(value, n);
            covered += i.low <= truth && truth <= i.high;
        }
        if (covered < DRAWS * 94 / 100)
            FAIL("of %d intervals of %zu values %zu cover the median", DRAWS, n, covered);
    }
}

/* A time to target as a study sees it: noise on a logarithmic scale, seen only at evaluations. */
static double a_time(struct mot_rng *rng, double noise, double step, double missing)
{
    double time = mot_exp(noise * mot_rng_normal(rng));
    if (mot_rng_unit(rng) < missing) return INFINITY;
    return step > 0 ? step * ceil(time / step) : time;
}

static size_t told_apart(size_t n, double factor, double noise, double step, double missing)
{
    size_t different = 0;
    for (size_t t = 0; t < DRAWS; t++) {
        struct mot_rng rng = mot_rng_at(SEED + t, MOT_RNG_TEST, n);
        double first[24], second[24];
        for (size_t i = 0; i < n; i++) {
            first[i] = a_time(&rng, noise, step, missing);
            second[i] = factor * a_time(&rng, noise, step, missing);
        }
        struct mot_comparison c = mot_stats_compare(first, second, n, true);
        different += c.verdict == MOT_BETTER || c.verdict == MOT_WORSE;
    }
    return different;
}

TEST(equal_methods_are_told_apart_at_most_one_time_in_twenty)
{
    printf("  seed %d\n", SEED);
    static const struct {
        double noise, step, missing;
    } worlds[] = { { 0.05, 0, 0 }, { 0.5, 0, 0 }, { 0.05, 0.025, 0 }, { 0.2, 0, 0.15 } };
    for (size_t w = 0; w < 4; w++)
        for (size_t n = MOT_PAIRS_LEAST; n <= 20; n += n < 12 ? 1 : 4) {
            size_t wrong = told_apart(n, 1, worlds[w].noise, worlds[w].step, worlds[w].missing);
            if (wrong > DRAWS * 6 / 100) FAIL("world %zu, %zu pairs: %zu of %d", w, n, wrong, DRAWS);
        }
}

TEST(a_tenth_slower_is_found_out_with_ten_seeds)
{
    size_t found = told_apart(10, 1.1, 0.04, 0.025, 0), sure = told_apart(20, 1.1, 0.05, 0.025, 0);
    printf("  of %d: %zu with 10 seeds, %zu with 20\n", DRAWS, found, sure);
    CHECK(found > DRAWS * 95 / 100);
    CHECK(sure > DRAWS * 98 / 100);
}

TEST(a_ratio_above_one_is_better_whichever_way_the_figure_points)
{
    double slow[6] = { 2, 2.2, 2.1, 1.9, 2, 2.05 }, fast[6] = { 1, 1.1, 1.05, 0.95, 1, 1.025 };
    struct mot_comparison time = mot_stats_compare(slow, fast, 6, true),
                          accuracy = mot_stats_compare(slow, fast, 6, false);
    CHECK_NEAR(time.ratio, 2, 1e-12);
    CHECK_INT(time.verdict, MOT_BETTER);
    CHECK_NEAR(accuracy.ratio, 0.5, 1e-12);
    CHECK_INT(accuracy.verdict, MOT_WORSE);
}

TEST(the_same_figures_are_alike_without_a_doubt)
{
    double same[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, INFINITY };
    struct mot_comparison c = mot_stats_compare(same, same, 10, true);
    CHECK(c.ratio == 1 && c.low == 1 && c.high == 1);
    CHECK_INT(c.verdict, MOT_ALIKE);
}

TEST(five_pairs_are_too_few_for_a_verdict)
{
    double slow[6] = { 2, 2, 2, 2, 2, 2 }, fast[6] = { 1, 1, 1, 1, 1, 1 };
    CHECK_INT(mot_stats_compare(slow, fast, 5, true).verdict, MOT_NOT_COMPARABLE);
    CHECK_INT(mot_stats_compare(slow, fast, 6, true).verdict, MOT_BETTER);
    CHECK_INT(mot_stats_compare(slow, fast, 0, true).verdict, MOT_NOT_COMPARABLE);
}

TEST(an_arm_that_never_reaches_the_target_is_slower_than_one_that_does)
{
    double reached[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, never[8];
    for (int i = 0; i < 8; i++) never[i] = INFINITY;
    struct mot_comparison c = mot_stats_compare(reached, never, 8, true);
    CHECK(c.ratio == 0 && c.verdict == MOT_WORSE);
    c = mot_stats_compare(never, reached, 8, true);
    CHECK(isinf(c.ratio) && c.verdict == MOT_BETTER);
}

TEST(where_neither_reaches_it_nothing_can_be_compared)
{
    double first[8] = { 1, 1, 1, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY },
           second[8] = { 2, 2, 2, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY };
    struct mot_comparison c = mot_stats_compare(first, second, 8, true);
    CHECK_INT(c.neither, 5);
    CHECK_INT(c.verdict, MOT_NOT_COMPARABLE);
}

TEST(quartiles_lie_a_quarter_of_the_way_in)
{
    struct mot_interval odd = mot_stats_interval((double[]){ 9, 1, 8, 2, 7, 3, 6, 4, 5 }, 9),
                        even = mot_stats_interval((double[]){ 40, 10, 30, 20 }, 4);
    CHECK(odd.q1 == 3 && odd.median == 5 && odd.q3 == 7 && odd.least == 1 && odd.most == 9);
    CHECK(even.q1 == 17.5 && even.median == 25 && even.q3 == 32.5 && even.n == 4);
    /* a quarter of the way from the last that came to one that never did, there is nothing */
    CHECK(isinf(mot_stats_interval((double[]){ 1, 2, 3, INFINITY }, 4).q3));
}

/* How many of the values may lie outside on either side: the table of the sign test, two-sided at 5 %. */
TEST(intervals_of_medians_are_those_of_the_sign_tests_table)
{
    static const struct {
        size_t n, outside;
    } table[] = { { 10, 1 }, { 20, 5 }, { 50, 17 }, { 60, 21 }, { 100, 39 } };
    double value[100];
    for (size_t i = 0; i < 100; i++) value[i] = (double)(i + 1);
    for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
        struct mot_interval i = mot_stats_interval(value, table[k].n);
        CHECK_NEAR(i.low, table[k].outside + 1, 0);
        CHECK_NEAR(i.high, table[k].n - table[k].outside, 0);
    }
}

/* n pairs, the second better by more and more; those of the greatest differences, whose ranks sum to
 * `against`, say the opposite. */
static enum mot_stats_verdict judged(size_t n, size_t against)
{
    double first[100], second[100];
    for (size_t i = 0; i < n; i++) {
        first[i] = mot_exp(0.01 * (double)(i + 1));
        second[i] = 1;
    }
    for (size_t rank = n; rank > 0; rank--)
        if (rank <= against) {
            first[rank - 1] = 1 / first[rank - 1];
            against -= rank;
        }
    return mot_stats_compare(first, second, n, true).verdict;
}

/* The greatest sum of ranks that is still no chance, two-sided at 5 %. */
TEST(verdicts_are_those_of_wilcoxons_table)
{
    static const struct {
        size_t n, most;
    } table[] = { { 6, 0 }, { 8, 3 }, { 10, 8 }, { 20, 52 }, { 50, 434 }, { 60, 648 } };
    for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
        if (judged(table[k].n, table[k].most) != MOT_BETTER ||
            judged(table[k].n, table[k].most + 1) != MOT_ALIKE)
            FAIL("%zu pairs: the limit is not %zu", table[k].n, table[k].most);
    }
}

TEST_MAIN()
