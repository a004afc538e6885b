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

TEST_MAIN()
