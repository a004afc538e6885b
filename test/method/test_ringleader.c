/* Ringleader ASGD by itself: two phases, n steps a round, delays of at most 2n - 2. */
#include "base/rng.h"
#include "served.h"

static struct served s;
static const struct mot_hub *hub(void) { return s.state; }
static void answer(mot_node i, float mean)
{
    served_gradient(&s, i, mot_hub_oldest(hub(), &s.env, i), BATCH, mean);
}

/* Three workers, by hand. A table is written (worker 0 | 1 | 2). */
TEST(a_round_goes_as_in_the_pseudocode)
{
    SERVED(&s, &mot_method_ringleader, 3, 3, NULL);
    answer(0, 3);
    answer(0, 9);
    answer(1, 4);
    CHECK_INT(hub()->params.step, 0); /* phase 1: no step before all are in */
    CHECK_INT(mot_hub_oldest(hub(), &s.env, 0), 0);
    /* (3 9 | 4 | 2): a step along (6 + 4 + 2) / 3 */
    answer(2, 2);
    CHECK_INT(hub()->params.step, 1);
    CHECK_NEAR(served_parameter(&s), -4, 1e-5);
    CHECK_INT(mot_hub_oldest(hub(), &s.env, 2), 1);
    CHECK_INT(mot_hub_oldest(hub(), &s.env, 0), 0);
    /* it had its step: into the next table, at x(1) */
    answer(2, 50);
    CHECK_INT(hub()->params.step, 1);
    /* (3 9 0 | 4 | 2): along (4 + 4 + 2) / 3 */
    answer(0, 0);
    CHECK_INT(hub()->params.step, 2);
    CHECK_NEAR(served_parameter(&s), -4 - 10.0 / 3, 1e-5);
    /* (3 9 0 | 4 8 | 2): along (4 + 6 + 2) / 3 */
    answer(1, 8);
    CHECK_INT(hub()->params.step, 3);
    CHECK_NEAR(served_parameter(&s), -8 - 10.0 / 3, 1e-5);
    answer(0, 1);
    answer(1, 1); /* round 2: (1 | 1 | 50) is full */
    CHECK_INT(hub()->params.step, 4);
    CHECK_NEAR(served_parameter(&s), -8 - 10.0 / 3 - 52.0 / 3, 1e-4);
    served_end(&s);
}

/* Whatever the order: each worker has exactly one step a round, and the table is
 * never older than 2n - 2. The oldest there can be is seen. */
TEST(every_round_has_n_steps_and_no_gradient_in_use_is_older_than_2n_minus_2)
{
    for (uint32_t n = 1; n <= 6; n++) {
        struct mot_rng rng = mot_rng_at(n, MOT_RNG_TEST, 7);
        uint64_t oldest = 0;
        uint32_t stepped = 0;
        bool had[6] = { 0 };
        SERVED(&s, &mot_method_ringleader, n, n, NULL);
        for (int k = 0; k < 4000; k++) {
            /* Bursts of one worker make the speeds as different as can be. */
            mot_node i = (mot_node)mot_rng_below(&rng, n);
            unsigned burst = 1 + (unsigned)mot_rng_below(&rng, 3);
            while (burst-- > 0) {
                uint64_t before = hub()->params.step;
                answer(i, 1);
                CHECK(hub()->params.step <= before + 1);
                if (hub()->params.step == before) continue;
                if (served_noted(&s, "table_age") > (double)oldest)
                    oldest = (uint64_t)served_noted(&s, "table_age");
                CHECK(!had[i]);
                had[i] = true;
                if (++stepped == n) {
                    stepped = 0;
                    memset(had, 0, sizeof had);
                }
            }
        }
        CHECK_INT(oldest, 2 * n - 2);
        CHECK(hub()->params.step > 100);
        /* the mean of ones is one */
        CHECK_NEAR(served_parameter(&s), -(double)hub()->params.step, 1e-3 * (double)hub()->params.step);
        served_end(&s);
    }
}

TEST(a_worker_that_is_lost_or_comes_back_in_either_phase_stalls_nobody)
{
    SERVED(&s, &mot_method_ringleader, 3, 3, NULL);
    answer(0, 1);
    answer(1, 1);
    served_peer(&s, 2, false); /* in phase 1: the table is full without it */
    CHECK_INT(hub()->params.step, 1);
    CHECK_NEAR(served_parameter(&s), -1, 1e-6);
    answer(0, 1);
    CHECK_INT(hub()->params.step, 2);
    served_peer(&s, 2, true);  /* back in phase 2: it is in the next round */
    served_peer(&s, 1, false); /* and who goes is owed no step: the round ends */
    CHECK_INT(hub()->params.step, 2);
    answer(2, 5);
    answer(0, 1);
    CHECK_INT(hub()->params.step, 3);
    CHECK_NEAR(served_parameter(&s), -2 - 3, 1e-5);
    served_end(&s);
}

TEST(one_worker_is_plain_sgd)
{
    SERVED(&s, &mot_method_ringleader, 1, 1, NULL);
    for (int k = 1; k <= 20; k++) {
        answer(0, (float)k);
        CHECK_INT(hub()->params.step, k);
        CHECK_NEAR(served_parameter(&s), -k * (k + 1) / 2.0, 1e-5);
    }
    served_end(&s);
}

TEST(no_buffer_is_leaked_by_rounds)
{
    struct mot_rng rng = mot_rng_at(1, MOT_RNG_TEST, 8);
    uint32_t used = 0;
    SERVED(&s, &mot_method_ringleader, 4, 4, NULL);
    for (int k = 0; k < 3000; k++) {
        answer((mot_node)mot_rng_below(&rng, 4), 1);
        if (s.pool.used > used) used = s.pool.used;
        CHECK(s.pool.used < 4 * 2 + 20);
    }
    served_end(&s);
}

TEST_MAIN()
