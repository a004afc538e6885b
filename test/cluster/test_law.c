#include "cluster/cluster.h"
#include "test.h"

#define DRAWS 200000

/* Mean and deviation of many draws; the seed is printed so that a failure can be repeated. */
static void moments(const struct mot_law *law, double *mean, double *sd)
{
    const uint64_t seed = 42;
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, law->kind);
    double sum = 0, squares = 0;
    printf("  seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < DRAWS; i++) {
        double x = mot_law_draw(law, &rng);
        sum += x;
        squares += x * x;
    }
    *mean = sum / DRAWS;
    *sd = sqrt(squares / DRAWS - *mean * *mean);
}

TEST(a_fixed_law_is_its_mean_plus)
{
    const struct mot_law law = { .kind = MOT_LAW_FIXED, .mean = 3, .plus = 0.5 };
    struct mot_rng rng = mot_rng_at(1, MOT_RNG_TEST, 0);
    CHECK(mot_law_draw(&law, &rng) == 3.5);
    CHECK(mot_law_mean(&law) == 3.5);
}

TEST(uniform_has_its_moments)
{
    const struct mot_law law = { .kind = MOT_LAW_UNIFORM, .low = 1, .high = 5, .plus = 1 };
    double mean, sd;
    moments(&law, &mean, &sd);
    CHECK_NEAR(mean, 4, 0.01);
    CHECK_NEAR(mot_law_mean(&law), 4, 1e-12);
    CHECK_NEAR(sd, 4 / sqrt(12), 0.01);
}

TEST(normal_is_folded_and_its_mean_is_that_of_the_folded_law)
{
    const struct mot_law wide = { .kind = MOT_LAW_NORMAL, .mean = 2, .sd = 2, .plus = 1 };
    const struct mot_law narrow = { .kind = MOT_LAW_NORMAL, .mean = 10, .sd = 1 };
    double mean, sd;
    moments(&wide, &mean, &sd);
    /* E|N(s, s)| = s (sqrt(2/pi) e^(-1/2) + erf(1/sqrt 2)) = 1.16663 s */
    CHECK_NEAR(mot_law_mean(&wide), 1 + 2 * 1.166631, 1e-5);
    CHECK_NEAR(mean, mot_law_mean(&wide), 0.02);
    const struct mot_law none = { .kind = MOT_LAW_NORMAL, .plus = 2 };
    CHECK(mot_law_mean(&none) == 2);
    moments(&narrow, &mean, &sd);
    CHECK_NEAR(mean, 10, 0.01);
    CHECK_NEAR(sd, 1, 0.01);
}

TEST(lognormal_has_the_mean_asked_for_and_the_deviation_of_its_sigma)
{
    const struct mot_law law = { .kind = MOT_LAW_LOGNORMAL, .mean = 2, .sigma = 0.5 };
    double mean, sd;
    moments(&law, &mean, &sd);
    CHECK_NEAR(mean, 2, 0.02);
    CHECK_NEAR(sd, 2 * sqrt(exp(0.25) - 1), 0.03);
}

TEST(exponential_has_equal_mean_and_deviation)
{
    const struct mot_law law = { .kind = MOT_LAW_EXPONENTIAL, .mean = 3 };
    double mean, sd;
    moments(&law, &mean, &sd);
    CHECK_NEAR(mean, 3, 0.03);
    CHECK_NEAR(sd, 3, 0.05);
}

TEST(pareto_has_the_mean_asked_for_and_never_less_than_its_least)
{
    const struct mot_law law = { .kind = MOT_LAW_PARETO, .mean = 3, .alpha = 5 };
    struct mot_rng rng = mot_rng_at(7, MOT_RNG_TEST, 1);
    double mean, sd, least = 3 * 4.0 / 5;
    int beyond = 0;
    moments(&law, &mean, &sd);
    CHECK_NEAR(mean, 3, 0.02);
    for (int i = 0; i < DRAWS; i++) {
        double x = mot_law_draw(&law, &rng);
        CHECK(x >= least * (1 - 1e-12));
        beyond += x > 2 * least;
    }
    /* P(X > 2 x_m) = 2^-alpha */
    CHECK_NEAR(beyond / (double)DRAWS, 1.0 / 32, 0.002);
}

TEST(poisson_counts_units)
{
    const struct mot_law law = { .kind = MOT_LAW_POISSON, .mean = 3, .unit = 0.5 };
    struct mot_rng rng = mot_rng_at(7, MOT_RNG_TEST, 2);
    double mean, sd;
    moments(&law, &mean, &sd);
    CHECK_NEAR(mean, 3, 0.02);
    CHECK_NEAR(sd, 0.5 * sqrt(6), 0.02);
    for (int i = 0; i < 1000; i++) {
        double units = mot_law_draw(&law, &rng) / 0.5;
        CHECK(units == floor(units));
    }
}

TEST_MAIN()
