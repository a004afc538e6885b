/* The server method by itself: an environment on the stack, a step, a look into the outbox. */
#include "served.h"

#define WORKERS 3
static struct served s;

static void begin(const char *k) { SERVED(&s, &mot_method_server, WORKERS, WORKERS, "k", k); }
static void gradient(mot_node from, uint64_t round, uint32_t samples, float mean)
{
    served_gradient(&s, from, round, samples, mean);
}
static uint32_t effects(enum mot_effect_kind kind) { return served_count(&s, kind); }
static float parameter(void) { return served_parameter(&s); }
static void end(void) { served_end(&s); }

TEST(the_server_begins_by_sending_the_model_to_everyone)
{
    begin("2");
    CHECK_INT(effects(MOT_FX_SEND), WORKERS);
    end();
}

TEST(a_round_closes_at_the_kth_gradient_and_weighs_by_samples)
{
    begin("2");
    gradient(2, 0, 10, 1.0f);
    CHECK_INT(effects(MOT_FX_ADVANCE), 0);
    gradient(0, 0, 30, 3.0f);
    CHECK_INT(effects(MOT_FX_ADVANCE), 1);
    CHECK_INT(effects(MOT_FX_CREDIT), 2);
    CHECK_INT(effects(MOT_FX_SEND), 2); /* to the two that gave; the third is still at work */
    CHECK_NEAR(parameter(), -100.0 / 40, 1e-6);
    end();
}

TEST(a_closed_round_ignores_late_gradients_and_counts_them)
{
    begin("2");
    gradient(0, 0, 10, 10.0f);
    gradient(1, 0, 10, 10.0f);
    float before = parameter();
    gradient(2, 0, 10, 1000.0f);
    CHECK_NEAR(served_noted(&s, "late"), 1, 0);
    CHECK_INT(effects(MOT_FX_ADVANCE), 0);
    CHECK_INT(effects(MOT_FX_SEND), 1); /* it gets the current model */
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.to, 2);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.head.round, 1);
    CHECK_NEAR(parameter(), before, 0);
    end();
}

TEST(a_worker_without_data_is_not_waited_for)
{
    begin("all");
    gradient(1, 0, 0, 0.0f);
    CHECK_INT(effects(MOT_FX_SEND), 0);
    gradient(0, 0, 10, 10.0f);
    gradient(2, 0, 10, 10.0f);
    CHECK_INT(effects(MOT_FX_ADVANCE), 1);
    CHECK_INT(effects(MOT_FX_SEND), 2);
    gradient(0, 1, 0, 0.0f);
    CHECK_INT(effects(MOT_FX_STOP), 0);
    gradient(2, 1, 0, 0.0f);
    CHECK_INT(effects(MOT_FX_STOP), 1);
    end();
}

TEST(no_buffer_is_leaked_by_a_round)
{
    begin("3");
    uint32_t used = 0;
    for (uint64_t round = 0; round < 50; round++) {
        for (mot_node i = 0; i < WORKERS; i++) gradient(i, round, 4, 1.0f);
        if (round == 5) used = s.pool.used;
    }
    CHECK_INT(s.pool.used, used);
    end();
}

/* ---- The adaptive deadline -------------------------------------------------------------------------- */

/* The time of the last alarm that the step set; MOT_NEVER: none, or disarmed. */
static mot_time armed(void)
{
    uint32_t n = effects(MOT_FX_ALARM);
    return n ? served_effect(&s, MOT_FX_ALARM, n - 1)->alarm.at : MOT_NEVER;
}

static void answer(mot_node from, uint64_t round, mot_time at)
{
    s.env.now = at;
    gradient(from, round, 10, 1.0f);
}

static void begin_adaptive(const char *k, const char *spread)
{
    SERVED(&s, &mot_method_server, WORKERS, WORKERS, "k", k, "deadline", "adaptive", "spread", spread);
}

static void ring(mot_time at)
{
    s.env.now = at;
    served_step(&s, &(struct mot_event){ .kind = MOT_EV_TIMER, .timer = 0 });
}

TEST(the_adaptive_deadline_is_the_median_and_so_many_deviations_in_whatever_order_times_came)
{
    begin_adaptive("all", "2");
    CHECK(armed() == MOT_NEVER); /* there is nothing to go by */
    answer(0, 0, 300);
    answer(1, 0, 500);
    CHECK_INT(effects(MOT_FX_ALARM), 0);
    answer(2, 0, 700);
    CHECK_INT(armed(), 700 + 500 + 2 * 200); /* off by 200, 0, 200 */
    answer(2, 1, 700 + 100);
    answer(0, 1, 700 + 200);
    answer(1, 1, 700 + 900);
    /* 300 500 700 100 200 900: the upper middle is 500; off by 200 0 200 400 300 400, of which 300 is it */
    CHECK_INT(armed(), 1600 + 500 + 2 * 300);
    end();
}

TEST(workers_of_one_speed_have_a_twentieth_of_the_median_for_a_deviation)
{
    begin_adaptive("all", "4");
    for (mot_node i = 0; i < WORKERS; i++) answer(i, 0, 1000);
    CHECK_INT(armed(), 1000 + 1000 + 4 * 50);
    end();
}

TEST(there_is_no_adaptive_deadline_before_there_are_as_many_times_as_workers)
{
    begin_adaptive("1", "4");
    answer(0, 0, 1000);
    CHECK(armed() == MOT_NEVER);
    answer(0, 1, 2000);
    CHECK(armed() == MOT_NEVER);
    answer(0, 2, 3000);
    CHECK_INT(armed(), 3000 + 1200);
    end();
}

TEST(late_gradients_count_among_the_times)
{
    begin_adaptive("2", "0");
    answer(0, 0, 100);
    answer(1, 0, 200);
    CHECK(armed() == MOT_NEVER); /* two times of three workers */
    answer(2, 0, 900);
    CHECK_NEAR(served_noted(&s, "late"), 1, 0);
    answer(0, 1, 200 + 800);
    answer(1, 1, 200 + 900);
    CHECK_INT(armed(), 1100 + 800); /* of 100 200 900 800 900 */
    end();
}

TEST(only_the_last_128_times_count)
{
    begin_adaptive("1", "0");
    mot_time now = 0;
    uint64_t round = 0;
    for (; round < 300; round++) answer(0, round, now += 1000);
    for (; round < 364; round++) answer(0, round, now += 10);
    CHECK_INT(armed(), now + 1000); /* 64 of the 128 are new: the upper middle is old */
    answer(0, round, now += 10);
    CHECK_INT(armed(), now + 10);
    end();
}

TEST(a_round_without_a_deadline_does_not_keep_the_last_ones)
{
    begin_adaptive("1", "4");
    served_peer(&s, 1, false);
    served_peer(&s, 2, false);
    answer(0, 0, 1000);
    CHECK_INT(armed(), 1000 + 1200); /* a time for the one worker that there is */
    served_peer(&s, 1, true);
    served_peer(&s, 2, true);
    answer(0, 1, 2000); /* two times of three workers */
    CHECK_INT(effects(MOT_FX_ALARM), 1);
    CHECK(armed() == MOT_NEVER);
    end();
}

TEST(a_round_that_is_overdue_closes_with_what_it_has_or_at_the_first_that_comes)
{
    begin_adaptive("all", "4");
    for (mot_node i = 0; i < WORKERS; i++) answer(i, 0, 1000);
    answer(1, 1, 2000);
    ring(2200);
    CHECK_INT(effects(MOT_FX_ADVANCE), 1);
    CHECK_NEAR(served_noted(&s, "deadlines"), 1, 0);
    CHECK_INT(effects(MOT_FX_CREDIT), 1);
    ring(3400); /* nobody has given: it stays open */
    CHECK_INT(effects(MOT_FX_ADVANCE), 0);
    answer(1, 2, 3500);
    CHECK_INT(effects(MOT_FX_ADVANCE), 1);
    answer(1, 3, 3600); /* the next round is not overdue */
    CHECK_INT(effects(MOT_FX_ADVANCE), 0);
    end();
}

TEST(a_fixed_deadline_is_so_long_after_the_opening_of_each_round)
{
    SERVED(&s, &mot_method_server, WORKERS, WORKERS, "deadline", "fixed", "after", "70ns");
    CHECK_INT(armed(), 70);
    for (mot_node i = 0; i < WORKERS; i++) answer(i, 0, 50);
    CHECK_INT(armed(), 50 + 70);
    end();
}

TEST_MAIN()
