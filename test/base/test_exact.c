/* Our own exp and log against the C library's. */
#include "base/exact.h"
#include "base/rng.h"
#include "test.h"

static double ulp_apart(double a, double b)
{
    if (a == b) return 0;
    double b_size = fabs(b), ulp = nextafter(b_size, INFINITY) - b_size;
    return fabs(a - b) / ulp;
}

TEST(exp_is_within_two_ulp_of_libm)
{
    struct mot_rng r = mot_rng_at(5, MOT_RNG_TEST, 0);
    double worst = 0, at = 0;
    for (int i = 0; i < 400000; i++) {
        double span = i % 3 == 0 ? 708 : i % 3 == 1 ? 2 : 0.01, x = (2 * mot_rng_unit(&r) - 1) * span;
        double off = ulp_apart(mot_exp(x), exp(x));
        if (off > worst) worst = off, at = x;
    }
    printf("  seed 5: exp at most %g ulp from libm, at %.17g\n", worst, at);
    CHECK(worst <= 1);
}

TEST(exp_of_a_small_result_is_rounded_once)
{
    struct mot_rng r = mot_rng_at(6, MOT_RNG_TEST, 0);
    for (int i = 0; i < 20000; i++) {
        double x = -708 - 37 * mot_rng_unit(&r);
        CHECK(ulp_apart(mot_exp(x), exp(x)) <= 1);
    }
}

TEST(exp_of_a_large_result_is_finite_up_to_the_largest_number)
{
    for (double x = 708; x <= 709.78; x += 0.01) CHECK(ulp_apart(mot_exp(x), exp(x)) <= 1);
    CHECK(isfinite(mot_exp(709.782712893384)) && mot_exp(709.782712893384) > 1.797e308);
    CHECK(isinf(mot_exp(709.7828)));
}

TEST(log_is_within_two_ulp_of_libm)
{
    struct mot_rng r = mot_rng_at(7, MOT_RNG_TEST, 0);
    double worst = 0, at = 0;
    for (int i = 0; i < 400000; i++) {
        double u = mot_rng_unit(&r), x;
        if (i % 4 == 0) x = u;
        else if (i % 4 == 1) x = 1 + (u - 0.5) * 1e-3;
        else if (i % 4 == 2) x = 0.5 + 2 * u;
        else x = ldexp(1 + u, (int)mot_rng_below(&r, 2090) - 1070);
        double off = ulp_apart(mot_log(x), log(x));
        if (off > worst) worst = off, at = x;
    }
    printf("  seed 7: log at most %g ulp from libm, at %.17g\n", worst, at);
    CHECK(worst <= 1);
}

TEST(special_values_are_handled)
{
    CHECK(mot_exp(0) == 1);
    CHECK(mot_exp(-0.0) == 1);
    CHECK(mot_exp(INFINITY) == INFINITY);
    CHECK(mot_exp(-INFINITY) == 0);
    CHECK(mot_exp(710) == INFINITY);
    CHECK(mot_exp(709.782712893384) < INFINITY);
    CHECK(mot_exp(-746) == 0);
    CHECK(mot_exp(-745.1332191019411) > 0);
    CHECK(isnan(mot_exp(NAN)));
    CHECK(mot_log(1) == 0);
    CHECK(mot_log(0) == -INFINITY);
    CHECK(mot_log(INFINITY) == INFINITY);
    CHECK(isnan(mot_log(-1)));
    CHECK(isnan(mot_log(NAN)));
    CHECK(ulp_apart(mot_log(0x1p-1074), log(0x1p-1074)) <= 1);
    CHECK(mot_log(0x1.62e42fefa39efp-1) < 0);
}

TEST(the_bits_never_change)
{
    /* Recorded hashes of runs rest on these; they must hold on every machine. */
    CHECK(mot_exp(1) == 0x1.5bf0a8b14576ap+1);
    CHECK(mot_log(10) == 0x1.26bb1bbb55516p+1);
    double sum = 0;
    for (int i = 1; i <= 1000; i++) sum += mot_exp(-i / 97.0) * mot_log(i);
    CHECK(sum == 0x1.84a6db0607583p+8);
}

TEST_MAIN()
