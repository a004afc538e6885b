/* Samples that arrive over time: how many by when, and the other way round. */
#include "base/memory.h"
#include "base/rng.h"
#include "cluster/stream.h"
#include "test.h"
#include <math.h>

#define SECOND UINT64_C(1000000000)

static struct mot_stream plain(uint32_t kind, double mean, double sd)
{
    return (struct mot_stream){ .kind = kind,
        .mean = mean,
        .sd = sd,
        .redraw = MOT_NEVER,
        .over = 600 * SECOND,
        .burst = 1,
        .burst_every = 60 * SECOND,
        .burst_lasts = 5 * SECOND };
}

TEST(a_constant_stream_gives_rate_times_time_rounded_down)
{
    struct mot_stream s = plain(MOT_STREAM_CONSTANT, 12, 0);
    struct mot_arrivals a;
    mot_arrivals_open(&a, &s, 1, 0);
    CHECK_INT(mot_arrivals_by(&a, 0), 0);
    CHECK_INT(mot_arrivals_by(&a, SECOND - 1), 11);
    CHECK_INT(mot_arrivals_by(&a, SECOND), 12);
    CHECK_INT(mot_arrivals_by(&a, 100 * 86400 * SECOND), 12 * 100 * UINT64_C(86400));
    /* 64 samples at 12 a second: 5.333 s, rounded up to the nanosecond */
    CHECK_INT(mot_arrivals_when(&a, 64), UINT64_C(5333333334));
}

TEST(nothing_arrives_before_the_start)
{
    struct mot_stream s = plain(MOT_STREAM_CONSTANT, 10, 0);
    struct mot_arrivals a;
    s.start = 3 * SECOND;
    mot_arrivals_open(&a, &s, 1, 0);
    CHECK_INT(mot_arrivals_by(&a, 3 * SECOND), 0);
    CHECK_INT(mot_arrivals_by(&a, 4 * SECOND), 10);
    CHECK_INT(mot_arrivals_when(&a, 1), 3 * SECOND + SECOND / 10);
}

TEST(a_list_gives_each_worker_its_rate_and_begins_again)
{
    struct mot_stream s = plain(MOT_STREAM_LIST, 0, 0);
    s.rates = (struct mot_uints){ .n = 3, .v = { 5, 7, 11 } };
    for (mot_node i = 0; i < 7; i++) CHECK(mot_stream_rate(&s, 1, i, 0) == (double)s.rates.v[i % 3]);
}

/* Those of ScaDLES: mean and deviation, with rates below 1 raised to it. */
TEST(rates_have_the_laws_moments_and_are_at_least_one)
{
    const struct {
        uint32_t kind;
        double mean, sd, off;
    } law[] = { { MOT_STREAM_UNIFORM, 38, 24, 0.5 }, { MOT_STREAM_UNIFORM, 300, 112, 3 },
        { MOT_STREAM_NORMAL, 64, 24, 0.5 }, { MOT_STREAM_NORMAL, 256, 28, 1 } };
    for (size_t k = 0; k < MOT_COUNT(law); k++) {
        struct mot_stream s = plain(law[k].kind, law[k].mean, law[k].sd);
        double sum = 0, squares = 0, least = INFINITY;
        const int n = 40000;
        for (int i = 0; i < n; i++) {
            double rate = mot_stream_rate(&s, 42, (mot_node)i, 0);
            sum += rate;
            squares += rate * rate;
            if (rate < least) least = rate;
        }
        double mean = sum / n, sd = sqrt(squares / n - mean * mean);
        printf(
            "  seed 42: %g / %g gives %.2f / %.2f, at least %.2f\n", law[k].mean, law[k].sd, mean, sd, least);
        CHECK(fabs(mean - law[k].mean) < law[k].off && fabs(sd - law[k].sd) < 2 * law[k].off);
        CHECK(least >= 1);
    }
}

TEST(a_drift_ends_at_its_share_and_stays_there)
{
    struct mot_stream s = plain(MOT_STREAM_CONSTANT, 100, 0);
    struct mot_arrivals a;
    s.drift = 0.5;
    s.over = 100 * SECOND;
    mot_arrivals_open(&a, &s, 1, 0);
    uint64_t by = mot_arrivals_by(&a, 200 * SECOND), then = mot_arrivals_by(&a, 210 * SECOND);
    CHECK_INT(then - by, 1500);
    /* 100 a second, growing evenly to 150: 12,500 in the first 100 s, to within a step of it */
    CHECK(fabs((double)mot_arrivals_by(&a, 100 * SECOND) - 12500) < 60);
    CHECK(mot_arrivals_rate(&a) > 149);
}

TEST(a_burst_adds_its_samples_once_in_every_period)
{
    struct mot_stream s = plain(MOT_STREAM_CONSTANT, 10, 0);
    struct mot_arrivals a;
    s.burst = 5;
    mot_arrivals_open(&a, &s, 7, 3);
    uint64_t before = 0;
    for (int k = 1; k <= 20; k++) {
        uint64_t now = mot_arrivals_by(&a, (uint64_t)k * 60 * SECOND);
        CHECK_INT(now - before, 55 * 10 + 5 * 50);
        before = now;
    }
}

/* Counts do not fall, each sample arrives at the first nanosecond that counts it, and it makes no difference
 * where the cursor was. */
TEST(counts_and_moments_agree_under_every_law)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 0);
        struct mot_stream s = plain(1 + (uint32_t)mot_rng_below(&rng, 3), 1 + 300 * mot_rng_unit(&rng), 50);
        if (mot_rng_below(&rng, 2)) s.start = mot_rng_below(&rng, 9 * SECOND);
        if (mot_rng_below(&rng, 2)) s.drift = 3 * mot_rng_unit(&rng) - 1;
        if (mot_rng_below(&rng, 2)) s.redraw = SECOND + mot_rng_below(&rng, 5 * SECOND);
        if (mot_rng_below(&rng, 2)) s.burst = 4 * mot_rng_unit(&rng) + 0.1;
        s.over = 30 * SECOND;
        s.burst_every = 7 * SECOND;
        s.burst_lasts = 2 * SECOND;
        struct mot_arrivals a, fresh;
        mot_arrivals_open(&a, &s, seed, 2);
        uint64_t last = 0;
        for (int k = 0; k < 50; k++) {
            mot_time at = mot_rng_below(&rng, 90 * SECOND);
            mot_arrivals_open(&fresh, &s, seed, 2);
            uint64_t n = mot_arrivals_by(&fresh, at);
            if (n != mot_arrivals_by(&a, at)) printf("  seed %llu\n", (unsigned long long)seed);
            CHECK_INT(mot_arrivals_by(&a, at), n);
            mot_time when = mot_arrivals_when(&a, n + 1), came = mot_arrivals_when(&fresh, n);
            CHECK(when > at && (n == 0 || came <= at));
            CHECK_INT(mot_arrivals_by(&fresh, when), n + 1);
            CHECK_INT(mot_arrivals_by(&fresh, when - 1), n);
            last = mot_arrivals_by(&a, 90 * SECOND);
            CHECK(last >= n);
        }
    }
}

TEST(streams_are_alike_if_nothing_tells_them_apart)
{
    const struct mot_stream s = plain(MOT_STREAM_LIST, 3, 1);
    struct mot_stream none = plain(MOT_STREAM_NONE, 3, 1), other = plain(MOT_STREAM_NONE, 4, 2);
    CHECK(mot_stream_alike(&s, &s) && mot_stream_alike(&none, &other)); /* without samples there is no rate */
    CHECK(!mot_stream_alike(&s, &none));
#define CHECK_APART(field, value)                                                                            \
    do {                                                                                                     \
        other = s;                                                                                           \
        other.field = value;                                                                                 \
        CHECK(!mot_stream_alike(&s, &other));                                                                \
    } while (0)
    CHECK_APART(mean, 4);
    CHECK_APART(sd, 2);
    CHECK_APART(rates, ((struct mot_uints){ .n = 1, .v = { 7 } }));
    CHECK_APART(start, 5);
    CHECK_APART(redraw, 5);
    CHECK_APART(drift, 5);
    CHECK_APART(over, 5);
    CHECK_APART(burst, 5);
    CHECK_APART(burst_every, 5);
    CHECK_APART(burst_lasts, 5);
    CHECK_APART(buffer, s.buffer + 1);
    CHECK_APART(bound, s.bound + 5);
}

TEST_MAIN()
