/* The random streams: their laws, their independence, and that a permutation is one. */
#include "base/rng.h"
#include "test.h"

static const uint64_t seed = 20240607;

TEST(a_stream_can_be_entered_anywhere)
{
    struct mot_rng a = mot_rng_at(seed, MOT_RNG_TEST, 3), b = a;
    uint64_t tenth = 0;
    for (int i = 0; i < 10; i++) tenth = mot_rng_next(&a);
    b.count = 9;
    CHECK(mot_rng_next(&b) == tenth);
}

TEST(the_first_numbers_of_a_stream_never_change)
{
    /* A change here changes every recorded run: it must be meant. */
    struct mot_rng a = mot_rng_at(1, MOT_RNG_TEST, 0);
    uint64_t first = mot_rng_next(&a), second = mot_rng_next(&a);
    CHECK(first == UINT64_C(0x3005c7cf98cc92a2));
    CHECK(second == UINT64_C(0xd321d65a2f5066e0));
    CHECK_INT(mot_permute(7, 1000, 0), 615);
    CHECK_INT(mot_permute(7, 1000, 999), 293);
}

TEST(streams_of_different_seed_purpose_or_index_differ)
{
    struct mot_rng base = mot_rng_at(1, MOT_RNG_TEST, 1),
                   other[] = {
                       mot_rng_at(2, MOT_RNG_TEST, 1),
                       mot_rng_at(1, MOT_RNG_INIT, 1),
                       mot_rng_at(1, MOT_RNG_TEST, 2),
                   };
    for (int i = 0; i < 3; i++) {
        struct mot_rng a = base;
        int same_bits = 0;
        for (int n = 0; n < 1000; n++)
            same_bits += __builtin_popcountll(~(mot_rng_next(&a) ^ mot_rng_next(&other[i])));
        CHECK_NEAR(same_bits, 32000, 5 * 126.5); /* 64,000 coin tosses: deviation 126.5 */
    }
}

TEST(every_bit_is_set_half_of_the_time)
{
    struct mot_rng r = mot_rng_at(seed, MOT_RNG_TEST, 4);
    int set[64] = { 0 };
    for (int n = 0; n < 40000; n++) {
        uint64_t v = mot_rng_next(&r);
        for (int b = 0; b < 64; b++) set[b] += v >> b & 1;
    }
    for (int b = 0; b < 64; b++) CHECK_NEAR(set[b], 20000, 5 * 100);
}

TEST(below_is_uniform)
{
    struct mot_rng r = mot_rng_at(seed, MOT_RNG_TEST, 5);
    enum { CELLS = 7, DRAWS = 70000 };
    int count[CELLS] = { 0 };
    for (int n = 0; n < DRAWS; n++) {
        uint64_t v = mot_rng_below(&r, CELLS);
        CHECK(v < CELLS);
        count[v]++;
    }
    double chi2 = 0;
    for (int i = 0; i < CELLS; i++) chi2 += (count[i] - 1e4) * (count[i] - 1e4) / 1e4;
    CHECK(chi2 < 27.9); /* 6 degrees of freedom, 1e-4 */
    CHECK(chi2 > 0.1);
}

TEST(below_is_unbiased_where_a_modulus_would_not_be)
{
    /* For n = 3/4 of 2^64 a plain remainder takes the lowest third twice as often. */
    struct mot_rng r = mot_rng_at(seed, MOT_RNG_TEST, 6);
    uint64_t n = UINT64_C(3) << 62;
    int low = 0;
    for (int i = 0; i < 30000; i++) low += mot_rng_below(&r, n) < UINT64_C(1) << 62;
    CHECK_NEAR(low, 10000, 5 * 82);
    CHECK_INT(mot_rng_below(&r, 1), 0);
}

/* Mean and variance of n draws, and their error bars of five deviations. */
static void check_moments(
    const char *law, int n, double (*draw)(struct mot_rng *), double mean, double variance, double fourth)
{
    struct mot_rng r = mot_rng_at(seed, MOT_RNG_TEST, 7);
    double sum = 0, square = 0;
    for (int i = 0; i < n; i++) {
        double v = draw(&r);
        sum += v;
        square += (v - mean) * (v - mean);
    }
    if (fabs(sum / n - mean) > 5 * sqrt(variance / n)) FAIL("%s: mean %g, expected %g", law, sum / n, mean);
    if (fabs(square / n - variance) > 5 * sqrt((fourth - variance * variance) / n))
        FAIL("%s: variance %g, expected %g", law, square / n, variance);
}

static double poisson(struct mot_rng *r, double mean) { return (double)mot_rng_poisson(r, mean); }
static double poisson_03(struct mot_rng *r) { return poisson(r, 0.3); }
static double poisson_8(struct mot_rng *r) { return poisson(r, 8); }
static double poisson_12(struct mot_rng *r) { return poisson(r, 12); }
static double poisson_50(struct mot_rng *r) { return poisson(r, 50); }
static double poisson_1e6(struct mot_rng *r) { return poisson(r, 1e6); }
static double poisson_1e12(struct mot_rng *r) { return poisson(r, 1e12); }

TEST(the_laws_have_their_mean_and_variance)
{
    check_moments("uniform", 200000, mot_rng_unit, 0.5, 1.0 / 12, 1.0 / 80);
    check_moments("normal", 200000, mot_rng_normal, 0, 1, 3);
    check_moments("exponential", 200000, mot_rng_exponential, 1, 1, 9);
    check_moments("poisson 0.3", 200000, poisson_03, 0.3, 0.3, 0.3 * (1 + 3 * 0.3));
    check_moments("poisson 8", 200000, poisson_8, 8, 8, 8 * 25);
    check_moments("poisson 12", 200000, poisson_12, 12, 12, 12 * 37);
    check_moments("poisson 50", 200000, poisson_50, 50, 50, 50 * 151);
    check_moments("poisson 1e6", 100000, poisson_1e6, 1e6, 1e6, 3e12);
    check_moments("poisson 1e12", 100000, poisson_1e12, 1e12, 1e12, 3e24);
    struct mot_rng r = mot_rng_at(seed, MOT_RNG_TEST, 8);
    CHECK_INT(mot_rng_poisson(&r, 0), 0);
}

/* The whole distribution, on both sides of the change of algorithm. */
static void check_poisson_cells(double mean)
{
    enum { CELLS = 60, DRAWS = 200000 };
    static int count[CELLS];
    memset(count, 0, sizeof count);
    struct mot_rng r = mot_rng_at(seed, MOT_RNG_TEST, 9);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t v = mot_rng_poisson(&r, mean);
        if (v < CELLS) count[v]++;
    }
    double p = exp(-mean), chi2 = 0;
    int freedom = 0;
    for (int k = 0; k < CELLS; p *= mean / ++k) {
        if (p * DRAWS < 20) continue;
        chi2 += (count[k] - p * DRAWS) * (count[k] - p * DRAWS) / (p * DRAWS);
        freedom++;
    }
    if (chi2 > freedom + 4.5 * sqrt(2.0 * freedom))
        FAIL("mean %g: chi2 %g with %d cells", mean, chi2, freedom);
}

TEST(poisson_counts_follow_the_law)
{
    check_poisson_cells(2.5);
    check_poisson_cells(11.9);
    check_poisson_cells(12.1);
    check_poisson_cells(30);
}

TEST(normals_have_the_right_share_in_each_tail)
{
    struct mot_rng r = mot_rng_at(seed, MOT_RNG_TEST, 10);
    int above_1 = 0, below_2 = 0, n = 100000;
    for (int i = 0; i < n; i++) {
        double v = mot_rng_normal(&r);
        above_1 += v > 1;
        below_2 += v < -2;
    }
    CHECK_NEAR(above_1, 0.158655 * n, 5 * sqrt(0.158655 * 0.841345 * n));
    CHECK_NEAR(below_2, 0.022750 * n, 5 * sqrt(0.022750 * 0.977250 * n));
}

TEST(permute_is_a_bijection_for_every_small_n)
{
    for (uint64_t n = 1; n <= 300; n++)
        for (uint64_t key = 0; key < 5; key++) {
            unsigned char seen[300] = { 0 };
            for (uint64_t i = 0; i < n; i++) {
                uint64_t to = mot_permute(key * 77, n, i);
                CHECK_INT(mot_permute_back(key * 77, n, to), i);
                CHECK(to < n);
                CHECK(!seen[to]);
                seen[to] = 1;
            }
        }
}

TEST(permute_is_a_bijection_for_large_n)
{
    static const uint64_t sizes[] = { 60000, 65535, 65536, 65537, 262143, 262145, 1000003 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        unsigned char *seen = calloc(sizes[s], 1);
        uint64_t hit = 0;
        for (uint64_t i = 0; i < sizes[s]; i++) {
            uint64_t to = mot_permute(seed, sizes[s], i);
            if (to < sizes[s] && !seen[to]) hit++, seen[to] = 1;
        }
        free(seen);
        CHECK_INT(hit, sizes[s]);
    }
}

TEST(permute_works_up_to_the_largest_n)
{
    uint64_t n = UINT64_MAX, a = mot_permute(1, n, 0), b = mot_permute(1, n, n - 1);
    CHECK(a < n && b < n && a != b);
    n = (UINT64_C(1) << 62) + 1; /* the worst case for walking: a quarter of the domain */
    CHECK(mot_permute(1, n, 5) < n);
}

TEST(permutations_of_three_are_equally_likely_over_keys)
{
    int count[27] = { 0 }, kinds = 0;
    for (uint64_t key = 0; key < 60000; key++)
        count[mot_permute(key, 3, 0) + 3 * mot_permute(key, 3, 1) + 9 * mot_permute(key, 3, 2)]++;
    for (int i = 0; i < 27; i++) {
        if (!count[i]) continue;
        kinds++;
        CHECK_NEAR(count[i], 10000, 1500);
    }
    CHECK_INT(kinds, 6);
}

TEST(a_permutation_leaves_no_trace_of_the_order)
{
    /* The mean displacement of a random permutation is n/3; of neighbours, too. */
    enum { N = 1797 };
    double moved = 0, step = 0;
    for (uint64_t i = 0; i + 1 < N; i++) {
        double a = (double)mot_permute(seed, N, i), b = (double)mot_permute(seed, N, i + 1);
        moved += fabs(a - (double)i);
        step += fabs(a - b);
    }
    CHECK_NEAR(moved / N, N / 3.0, 5 * N * 0.2357 / sqrt(N));
    CHECK_NEAR(step / N, N / 3.0, 5 * N * 0.2357 / sqrt(N));
}

TEST_MAIN()
