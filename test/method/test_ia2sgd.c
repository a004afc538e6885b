/* Incremental aggregated asynchronous SGD by itself: every step
 * goes along the mean of the latest gradients. */
#include "base/rng.h"
#include "served.h"

#define N 4u
static struct served s;
static const struct mot_hub *hub(void) { return s.state; }
static void answer(mot_node i, float mean)
{
    served_gradient(&s, i, mot_hub_oldest(hub(), &s.env, i), BATCH, mean);
}

TEST(the_first_step_waits_for_all_and_the_others_for_none)
{
    SERVED(&s, &mot_method_ia2sgd, N, N, NULL);
    for (mot_node i = 0; i < N - 1; i++) {
        answer(i, 1);
        CHECK_INT(served_count(&s, MOT_FX_SEND), 0);
    }
    answer(3, 9);
    CHECK_INT(hub()->params.step, 1);
    CHECK_INT(served_count(&s, MOT_FX_SEND), N);
    CHECK_NEAR(served_parameter(&s), -12.0 / 4, 1e-6);
    answer(0, 5); /* (5 1 1 9) */
    CHECK_NEAR(served_parameter(&s), -3 - 4, 1e-6);
    answer(3, 1); /* (5 1 1 1) */
    CHECK_NEAR(served_parameter(&s), -7 - 2, 1e-6);
    served_end(&s);
}

TEST(a_table_of_zeros_begins_at_once)
{
    SERVED(&s, &mot_method_ia2sgd, N, N, "start", "zero");
    answer(1, 8);
    CHECK_NEAR(served_parameter(&s), -2, 1e-6);
    answer(2, 4);
    CHECK_NEAR(served_parameter(&s), -2 - 3, 1e-6);
    served_end(&s);
}

/* A table beside the method's, in double: after thousands of gradients of
 * very different size, each step is still along its mean. */
TEST(each_step_is_along_the_mean_of_the_table)
{
    struct mot_rng rng = mot_rng_at(3, MOT_RNG_TEST, 9);
    double table[N] = { 1, 1, 1, 1 };
    SERVED(&s, &mot_method_ia2sgd, N, N, NULL);
    for (mot_node i = 0; i < N; i++) answer(i, 1);
    for (int k = 0; k < 5000; k++) {
        mot_node i = (mot_node)mot_rng_below(&rng, N);
        float g = (float)(mot_rng_normal(&rng) * (k < 2000 ? 1000 : 0.001));
        double before = served_parameter(&s), mean = 0;
        table[i] = g;
        for (mot_node j = 0; j < N; j++) mean += table[j] / N;
        answer(i, g);
        CHECK_NEAR(served_parameter(&s), before - mean,
            1e-6 *
                (fabs(before) +
                    (k < 2000          ? 4000
                            : k < 2100 ? 10
                                       : 0.01)));
    }
    served_end(&s);
}

TEST(a_step_waits_for_that_many_new_gradients)
{
    SERVED(&s, &mot_method_ia2sgd, N, N, "wait", "2");
    for (mot_node i = 0; i < N; i++) answer(i, 4);
    CHECK_INT(hub()->params.step, 1);
    answer(2, 0);
    CHECK_INT(hub()->params.step, 1);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 0);
    answer(0, 0);
    CHECK_INT(hub()->params.step, 2);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 2);
    CHECK_NEAR(served_parameter(&s), -4 - 2, 1e-6);
    served_end(&s);
}

/* What a worker sent last would pull for ever at where the model once was. */
TEST(a_worker_that_is_lost_leaves_the_mean_and_comes_back_with_its_first_gradient)
{
    SERVED(&s, &mot_method_ia2sgd, N, N, NULL);
    for (mot_node i = 0; i < N; i++) answer(i, i == 3 ? 100.0f : 1.0f);
    double x = served_parameter(&s);
    served_peer(&s, 3, false);
    answer(0, 1);
    CHECK_NEAR(served_parameter(&s), x - 1, 1e-5);
    served_peer(&s, 3, true);
    answer(0, 1);
    CHECK_NEAR(served_parameter(&s), x - 2, 1e-5);
    answer(3, 5);
    CHECK_NEAR(served_parameter(&s), x - 2 - 2, 1e-5);
    served_end(&s);
}

TEST(the_loss_of_the_last_that_is_waited_for_makes_the_step)
{
    SERVED(&s, &mot_method_ia2sgd, N, N, NULL);
    for (mot_node i = 0; i < 3; i++) answer(i, 2);
    CHECK_INT(hub()->params.step, 0);
    served_peer(&s, 3, false);
    CHECK_INT(hub()->params.step, 1);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 3);
    CHECK_NEAR(served_parameter(&s), -2, 1e-6);
    served_end(&s);
}

TEST(an_update_cannot_wait_for_more_workers_than_there_are)
{
    SERVED(&s, &mot_method_ia2sgd, N, N, "wait", "4");
    CHECK_INT(mot_method_ia2sgd.validate(s.conf, &(struct mot_world){ .workers = 4 }), MOT_OK);
    CHECK_INT(mot_method_ia2sgd.validate(s.conf, &(struct mot_world){ .workers = 3 }), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "expected 1 to 3");
    served_end(&s);
}

/* How many updates ago the oldest gradient in the table was asked for: what the method's bounds are about. */
TEST(every_update_notes_how_old_the_table_is)
{
    SERVED(&s, &mot_method_ia2sgd, N, N, NULL);
    for (mot_node i = 0; i < N; i++) answer(i, 1);
    CHECK_NEAR(served_noted(&s, "table_age"), 0, 0);
    for (uint64_t k = 1; k < 6; k++) { /* only worker 0 answers: the others' rows age */
        answer(0, 1);
        CHECK_NEAR(served_noted(&s, "table_age"), k, 0);
    }
    for (mot_node i = 1; i < N; i++) answer(i, 1); /* what they were asked for after the first update */
    CHECK_NEAR(served_noted(&s, "table_age"), 7, 0);
    served_end(&s);
}

TEST_MAIN()
