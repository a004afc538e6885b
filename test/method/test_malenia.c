/* Malenia SGD by itself: the harmonic stopping rule, and that every worker weighs the same. */
#include "served.h"

#define N 3u
static struct served s;
static const struct mot_hub *hub(void) { return s.state; }

/* The worker has given up what was replaced, and answers the job that it has. */
static void answer(mot_node i, float mean)
{
    while (mot_hub_seat(hub(), i)->there > mot_hub_seat(hub(), i)->active)
        served_message(&s, i, MOT_MSG_GAVE_UP, (struct mot_head){ .value = 1 }, 0);
    served_gradient(&s, i, mot_hub_oldest(hub(), &s.env, i), BATCH, mean);
}

/* S = 5 of 3 workers: the harmonic mean must reach 5/3.  B = (4, 1, 1)
 * has 3 / (1/4 + 1 + 1) = 1.33;  (4, 2, 1) has 1.71. */
TEST(an_update_waits_until_the_harmonic_mean_of_the_counts_reaches_s_over_n)
{
    SERVED(&s, &mot_method_malenia, N, N, "s", "5");
    for (int k = 0; k < 4; k++) answer(0, (float)k); /* mean 1.5 */
    answer(1, 10);
    answer(2, 100);
    CHECK_INT(hub()->params.step, 0);
    answer(1, 20);
    CHECK_INT(hub()->params.step, 1);
    CHECK_NEAR(served_parameter(&s), -(1.5 + 15 + 100) / 3, 1e-5);
    served_end(&s);
}

/* However many one worker sends, S = 6 needs two of each, or more of one and at least two of the others. */
TEST(no_number_of_gradients_of_one_worker_makes_up_for_the_others)
{
    SERVED(&s, &mot_method_malenia, N, N, "s", "6");
    for (int k = 0; k < 100; k++) answer(0, 1);
    answer(1, 1);
    answer(2, 1);
    CHECK_INT(hub()->params.step, 0); /* 3 / (0.01 + 1 + 1) = 1.49 */
    answer(1, 1);
    CHECK_INT(hub()->params.step, 0); /* 3 / (0.01 + 0.5 + 1) = 1.987 */
    answer(1, 1);
    CHECK_INT(hub()->params.step, 1); /* 3 / (0.01 + 0.333 + 1) = 2.23 */
    CHECK_NEAR(served_parameter(&s), -1, 1e-5);
    served_end(&s);
}

TEST(equal_counts_reach_their_harmonic_mean_exactly)
{
    for (unsigned each = 1; each <= 7; each++) {
        char text[8];
        snprintf(text, sizeof text, "%u", each * N);
        SERVED(&s, &mot_method_malenia, N, N, "s", text);
        for (unsigned k = 0; k < each; k++)
            for (mot_node i = 0; i < N; i++) {
                CHECK_INT(hub()->params.step, 0);
                answer(i, 1);
            }
        CHECK_INT(hub()->params.step, 1);
        served_end(&s);
    }
}

TEST(nobody_waits_for_a_worker_that_is_lost_and_what_it_gave_counts)
{
    SERVED(&s, &mot_method_malenia, N, N, NULL);
    answer(0, 1);
    answer(1, 3);
    served_peer(&s, 2, false);
    CHECK_INT(hub()->params.step, 1);
    CHECK_NEAR(served_parameter(&s), -2, 1e-6);
    answer(0, 1);
    served_peer(&s, 0, false);
    CHECK_INT(hub()->params.step, 1);
    answer(1, 3);
    CHECK_INT(hub()->params.step, 2);
    CHECK_NEAR(served_parameter(&s), -4, 1e-6);
    served_end(&s);
}

TEST(fewer_gradients_than_workers_are_refused)
{
    struct mot_world world = { .workers = 8 };
    unsigned char conf[256] = { 0 };
    struct mot_arena arena = { 0 };
    mot_options_preset(mot_method_malenia.options, conf, &arena);
    CHECK_INT(mot_method_malenia.validate(conf, &world), MOT_OK);
    CHECK_INT(mot_option_set(mot_option_find(mot_method_malenia.options, "s"), conf, "7", &arena), MOT_OK);
    CHECK_INT(mot_method_malenia.validate(conf, &world), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "expected 8 or more");
    mot_arena_free(&arena);
}

TEST_MAIN()
