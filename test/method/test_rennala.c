/* Rennala SGD by itself: S gradients at one model make an update, whoever sent them. */
#include "../run/run.h"
#include "served.h"

#define N 3u
static struct served s;
static const struct mot_hub *hub(void) { return s.state; }
static void answer(mot_node i, float mean)
{
    served_gradient(&s, i, mot_hub_oldest(hub(), &s.env, i), BATCH, mean);
}

/* Worker 0 is fast: it fills the batch of 4 with three gradients of its own; worker 2 never comes in. */
TEST(an_update_is_the_mean_of_the_first_s_gradients_whoever_they_are_of)
{
    SERVED(&s, &mot_method_rennala, N, N, "s", "4");
    answer(0, 1);
    answer(0, 2);
    answer(1, 7);
    CHECK_INT(hub()->params.step, 0);
    answer(0, 6);
    CHECK_INT(served_count(&s, MOT_FX_ADVANCE), 1);
    CHECK_NEAR(served_parameter(&s), -(1 + 2 + 7 + 6) / 4.0, 1e-6);
    /* all of them work at the new model: two have their job replaced */
    CHECK_INT(served_count(&s, MOT_FX_SEND), 3);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.kind, MOT_MSG_MODEL);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 1)->message.kind, MOT_MSG_REPLACE);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 2)->message.kind, MOT_MSG_REPLACE);
    for (mot_node i = 0; i < N; i++) CHECK_INT(mot_hub_oldest(hub(), &s.env, i), 1);
    served_end(&s);
}

TEST(work_that_is_cancelled_is_counted_and_goes_into_no_update)
{
    SERVED(&s, &mot_method_rennala, N, N, "s", "1");
    answer(0, 1);
    CHECK_NEAR(served_parameter(&s), -1, 0);
    served_message(&s, 1, MOT_MSG_GAVE_UP, (struct mot_head){ .samples = 4, .value = 1 }, 0);
    CHECK_NEAR(served_noted(&s, "wasted"), 1, 0);
    CHECK_NEAR(served_noted(&s, "wasted_samples"), 4, 0);
    served_gradient(&s, 2, 0, BATCH, 100); /* it was on the way as it was replaced */
    CHECK_NEAR(served_noted(&s, "wasted"), 1, 0);
    CHECK_NEAR(served_parameter(&s), -1, 0);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 0);
    served_end(&s);
}

TEST(with_unfinished_finish_late_gradients_are_dropped_and_nothing_is_replaced)
{
    SERVED(&s, &mot_method_rennala, N, N, "s", "1", "unfinished", "finish");
    answer(0, 1);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 1);
    served_gradient(&s, 2, 0, BATCH, 100);
    CHECK_NEAR(served_noted(&s, "dropped"), 1, 0);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.head.round, 1);
    CHECK_NEAR(served_parameter(&s), -1, 0);
    served_end(&s);
}

static uint64_t model_of(const char *method, const char *s_of)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits", "model", "softmax", "optimizer.lr", "0.2", "batch", "16", "stop.updates",
        "40", "method", method, "cluster",
        "{network: none, workers: [{count: 4, job_time: {name: fixed, mean: 1s}}]}");
    if (s_of) run_set(&r, "method.s", s_of);
    run_go(&r);
    uint64_t hash = r.status == MOT_OK && r.out.status == MOT_OK ? r.out.model_hash : 0;
    run_free(&r);
    return hash;
}

/* Four workers of one speed, a gradient of each to an update: that is a synchronous step, to the bit. */
TEST(with_s_the_workers_and_one_speed_it_is_the_synchronous_server)
{
    uint64_t hash = model_of("server", NULL);
    CHECK(hash != 0);
    CHECK(model_of("rennala", "4") == hash);
    CHECK(model_of("rennala", "auto") == hash);
    CHECK(model_of("rennala", "3") != hash);
    CHECK(model_of("malenia", "auto") == hash);
}

TEST_MAIN()
