/* How often the workers of a described cluster straggle. */
#include "base/memory.h"
#include "cluster/cluster.h"
#include "test.h"

#define SEED 7

static struct mot_machine plain(double speed)
{
    return (struct mot_machine){
        .speed = speed, .jitter = { .kind = MOT_LAW_FIXED, .mean = 1 }, .job_time = { .kind = MOT_LAW_FIXED }
    };
}

TEST(chances_are_those_of_the_description)
{
    struct mot_machine machine[9];
    struct mot_cluster c = { .workers = 9, .machine = machine };
    uint32_t samples[9];
    double chance[9];
    for (int i = 0; i < 9; i++) machine[i] = plain(1000), samples[i] = 32;
    mot_straggle_chances(&c, SEED, samples, samples, chance);
    for (int i = 0; i < 9; i++) CHECK_NEAR(chance[i], 0, 0);
    machine[1].straggle = (struct mot_straggle){ .kind = MOT_STRAGGLE_IID, .factor = 5, .p = 0.3 };
    machine[2].straggle =
        (struct mot_straggle){ .kind = MOT_STRAGGLE_MARKOV, .factor = 5, .stay_slow = 0.9, .stay_fast = 0.8 };
    machine[3].straggle =
        (struct mot_straggle){ .kind = MOT_STRAGGLE_TWO_CLASS, .factor = 5, .slow = 1, .p_slow = 0.8 };
    machine[4] = plain(100); /* ten times slower: always late */
    machine[5].straggle =
        (struct mot_straggle){ .kind = MOT_STRAGGLE_IID, .factor = 1.5, .p = 1 }; /* not enough */
    mot_straggle_chances(&c, SEED, samples, samples, chance);
    static const double want[9] = { 0, 0.3, 2.0 / 3, 0.8, 1, 0, 0, 0, 0 };
    for (int i = 0; i < 9; i++) CHECK_NEAR(chance[i], want[i], 1e-12);
}

TEST(chances_do_not_depend_on_how_many_straggle_at_once)
{
    struct mot_machine machine[12];
    struct mot_cluster c = { .workers = 12, .machine = machine };
    uint32_t samples[12];
    double chance[12];
    for (int i = 0; i < 12; i++) {
        machine[i] = plain(1000), samples[i] = 32;
        machine[i].straggle =
            (struct mot_straggle){ .kind = MOT_STRAGGLE_IID, .factor = 5, .p = i < 9 ? 0.8 : 0.01 };
    }
    mot_straggle_chances(&c, SEED, samples, samples, chance);
    for (int i = 0; i < 12; i++) CHECK_NEAR(chance[i], i < 9 ? 0.8 : 0.01, 1e-12);
}

TEST(chances_of_random_times_are_those_of_the_law)
{
    struct mot_machine machine[101];
    struct mot_cluster c = { .workers = 101, .machine = machine };
    uint32_t samples[101];
    double chance[101], mean = 0;
    for (int i = 0; i < 101; i++) {
        machine[i] = plain(1000), samples[i] = 32;
        machine[i].has_job_time = true;
        machine[i].job_time = (struct mot_law){ .kind = MOT_LAW_EXPONENTIAL, .mean = 1 };
    }
    mot_straggle_chances(&c, SEED, samples, samples, chance);
    for (int i = 0; i < 101; i++) mean += chance[i] / 101;
    CHECK_NEAR(mean, 0.25, 0.01); /* exp(-2 ln 2), and the median of 101 varies */
}

TEST(chances_of_a_trace_are_its_rows_above_twice_the_median)
{
    static const double seconds[4][3] = { { 1, 1, 5 }, { 1, 1, 1.9 }, { 1, 2.1, 9 }, { 3, 1, 1 } };
    struct mot_trace trace = { .rows = 4, .cols = 3, .seconds = seconds[0] };
    struct mot_machine machine[3];
    struct mot_cluster c = { .workers = 3, .machine = machine };
    const uint32_t samples[3] = { 32, 32, 32 }, more[3] = { 32, 32, 96 };
    double chance[3];
    for (uint32_t i = 0; i < 3; i++) {
        machine[i] = plain(1000);
        machine[i].straggle =
            (struct mot_straggle){ .kind = MOT_STRAGGLE_TRACE, .trace = &trace, .column = i };
    }
    mot_straggle_chances(&c, SEED, samples, samples, chance);
    CHECK_NEAR(chance[0], 0.25, 1e-12);
    CHECK_NEAR(chance[1], 0, 0);
    CHECK_NEAR(chance[2], 0.5, 1e-12);
    for (uint32_t i = 0; i < 3; i++) machine[i].price = MOT_PRICE_SAMPLES;
    mot_straggle_chances(&c, SEED, samples, more, chance); /* times three */
    CHECK_NEAR(chance[2], 0.75, 1e-12);
}

TEST_MAIN()
