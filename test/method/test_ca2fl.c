/* CA2FL by itself: v = h + 1/K * sum (D_i - h_i). */
#include "../run/run.h"
#include "base/rng.h"
#include "served.h"

#define N 4u
static struct served s;
static const struct mot_hub *hub(void) { return s.state; }
static void report(mot_node i, float sum)
{
    served_message(&s, i, MOT_MSG_GRAD,
        (struct mot_head){ .round = mot_hub_oldest(hub(), &s.env, i), .samples = BATCH }, sum * BATCH);
}

TEST(an_update_is_the_cached_mean_plus_the_changes_of_those_that_arrived)
{
    SERVED(&s, &mot_method_ca2fl, N, N, "k", "2");
    report(0, 4);
    report(1, 8); /* h = 0: v = (4 + 8) / 2 */
    CHECK_NEAR(served_parameter(&s), -6, 1e-5);
    report(2, 2);
    /* h = (4 + 8) / 4 = 3: v = 3 + ((2 - 0) + (6 - 4)) / 2 = 5 */
    report(0, 6);
    CHECK_NEAR(served_parameter(&s), -11, 1e-5);
    report(3, 1);
    /* h = (6 + 8 + 2) / 4 = 4; both against h_3 = 0: v = 4 + 3 */
    report(3, 5);
    CHECK_NEAR(served_parameter(&s), -18, 1e-5);
    /* the later one is kept: h = (6 + 8 + 2 + 5) / 4 = 5.25 */
    report(3, 5);
    report(1, 8); /* nothing new: v = h */
    CHECK_NEAR(served_parameter(&s), -23.25, 1e-5);
    served_end(&s);
}

/* The identity of the calibration, against a cache in double beside it. */
TEST(every_update_obeys_the_calibration)
{
    struct mot_rng rng = mot_rng_at(5, MOT_RNG_TEST, 11);
    double h[N] = { 0 };
    SERVED(&s, &mot_method_ca2fl, N, N, "k", "3");
    for (int k = 0; k < 500; k++) {
        double before = served_parameter(&s), v = 0, sent[3];
        mot_node who[3];
        for (int j = 0; j < 3; j++) {
            who[j] = (mot_node)mot_rng_below(&rng, N);
            sent[j] = (float)mot_rng_normal(&rng);
            report(who[j], (float)sent[j]);
        }
        for (mot_node i = 0; i < N; i++) v += h[i] / N;
        for (int j = 0; j < 3; j++) v += (sent[j] - h[who[j]]) / 3;
        for (int j = 0; j < 3; j++) h[who[j]] = sent[j];
        CHECK_NEAR(served_parameter(&s), before - v, 2e-5);
    }
    served_end(&s);
}

/* When everyone is among those that came, the cache cancels out: the mean of what they sent. */
TEST(with_everyone_in_the_buffer_it_is_fedbuff)
{
    static const struct mot_method *const method[2] = { &mot_method_ca2fl, &mot_method_fedbuff };
    float x[2];
    for (int way = 0; way < 2; way++) {
        struct mot_rng rng = mot_rng_at(6, MOT_RNG_TEST, 12);
        served_begin(&s, method[way], N, N,
            way ? (const char *const[]){ "k", "4", "discount", "none", NULL }
                : (const char *const[]){ "k", "4", NULL });
        for (int k = 0; k < 100; k++)
            for (mot_node i = 0; i < N; i++) report((i + (mot_node)k) % N, (float)mot_rng_normal(&rng));
        x[way] = served_parameter(&s);
        served_end(&s);
    }
    CHECK_NEAR(x[0], x[1], 1e-4);
}

TEST(a_worker_that_is_lost_leaves_the_cache)
{
    SERVED(&s, &mot_method_ca2fl, N, N, "k", "4");
    for (mot_node i = 0; i < N; i++) report(i, i == 0 ? 100.0f : 1.0f);
    double x = served_parameter(&s);
    served_peer(&s, 0, false);
    for (mot_node i = 1; i < N; i++) report(i, 1);
    report(1, 1);
    CHECK_NEAR(served_parameter(&s), x - 1, 1e-4);
    served_end(&s);
}

/* Its report is in the buffer as it goes: that goes into one update, and is not kept for those after it. */
TEST(a_worker_that_is_lost_before_the_update_does_not_come_into_the_cache)
{
    SERVED(&s, &mot_method_ca2fl, N, N, "k", "2");
    report(0, 100);
    served_peer(&s, 0, false);
    report(1, 2); /* h = 0: v = (100 + 2) / 2 */
    CHECK_NEAR(served_parameter(&s), -51, 1e-4);
    report(2, 3);
    report(3, 3); /* h = 2 / 3, of the three that are there: v = 2/3 + 3 */
    CHECK_NEAR(served_parameter(&s), -51 - 2.0 / 3 - 3, 1e-4);
    served_end(&s);
}

TEST_MAIN()
