/* FedBuff by itself: the worker's local steps, the server's buffer, and its limiting cases. */
#include "../run/run.h"
#include "served.h"

#define N 3u
static struct served s;
static const struct mot_hub *hub(void) { return s.state; }

/* A worker's way: the sum of the mean gradients of its steps. */
static void report(mot_node i, float sum)
{
    served_message(&s, i, MOT_MSG_GRAD,
        (struct mot_head){ .round = mot_hub_oldest(hub(), &s.env, i), .samples = BATCH }, sum * BATCH);
}

TEST(an_update_takes_k_reports_and_late_ones_weigh_less)
{
    SERVED(&s, &mot_method_fedbuff, N, N, "k", "2");
    report(0, 4);
    CHECK_INT(hub()->params.step, 0);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 1); /* nobody waits: it goes on with the model there is */
    report(1, 2);
    CHECK_INT(hub()->params.step, 1);
    CHECK_NEAR(served_parameter(&s), -3, 1e-6);
    report(0, 1); /* both of model 0: a delay of 1 */
    report(2, 5);
    CHECK_NEAR(served_parameter(&s), -3 - 3 / sqrt(2), 1e-5);
    CHECK_NEAR(served_noted(&s, "staleness"), 1, 0);
    report(1, 1); /* of model 1, as model 2 is there */
    report(0, 1); /* of model 1 */
    CHECK_NEAR(served_parameter(&s), -3 - 3 / sqrt(2) - 1 / sqrt(2), 1e-5);
    served_end(&s);
}

TEST(the_sum_does_not_depend_on_who_came_first)
{
    float x[2];
    for (int way = 0; way < 2; way++) {
        SERVED(&s, &mot_method_fedbuff, N, N, "k", "3");
        for (mot_node i = 0; i < N; i++) {
            mot_node who = way ? N - 1 - i : i;
            report(who, 0.1f + 1e-4f * (float)(who * who * 7919));
        }
        x[way] = served_parameter(&s);
        served_end(&s);
    }
    CHECK(memcmp(&x[0], &x[1], sizeof x[0]) == 0);
}

/* Gradients of 1, 2 and 3 at lr 1: y = 0, -1, -3; the way is 6. */
TEST(a_worker_makes_its_steps_alone_and_sends_the_sum_of_its_gradients)
{
    SERVED(&s, &mot_method_fedbuff, N, 0, "steps", "3");
    mot_buf x = mot_pool_take(&s.pool);
    memset(mot_pool_at(&s.pool, x), 0, s.world.dim * sizeof(float));
    struct mot_message m = { .from = N,
        .to = 0,
        .kind = MOT_MSG_MODEL,
        .head = { .round = 7 },
        .body = { .buf = x, .len = s.world.dim } };
    served_step(&s, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = &m });
    static const float at[3] = { 0, -1, -3 };
    for (int q = 0; q < 3; q++) {
        const struct mot_effect *start = served_effect(&s, MOT_FX_START, 0);
        CHECK(start != NULL);
        CHECK_NEAR(mot_pool_at(&s.pool, start->work.at)[2], at[q], 1e-6);
        CHECK_INT(start->work.term[0].draw, q * BATCH);
        mot_buf grad = mot_pool_take(&s.pool);
        for (uint32_t j = 0; j < s.world.dim; j++) mot_pool_at(&s.pool, grad)[j] = (float)(q + 1) * BATCH;
        struct mot_result w = { .tag = start->work.tag, .samples = BATCH, .loss = 1, .grad = grad };
        served_step(&s, &(struct mot_event){ .kind = MOT_EV_WORK, .work = &w });
        mot_pool_drop(&s.pool, grad);
    }
    const struct mot_effect *sent = served_effect(&s, MOT_FX_SEND, 0);
    CHECK(sent && !served_effect(&s, MOT_FX_START, 0));
    CHECK_INT(sent->message.head.round, 7);
    CHECK_INT(sent->message.head.samples, 3 * BATCH);
    CHECK_NEAR(mot_pool_at(&s.pool, sent->message.body.buf)[1], 6 * BATCH, 1e-4);
    mot_pool_drop(&s.pool, x);
    served_end(&s);
}

TEST(a_worker_that_loses_its_server_stops_and_one_that_loses_another_worker_does_not)
{
    SERVED(&s, &mot_method_fedbuff, N, 0, "steps", "3");
    served_step(&s, &(struct mot_event){ .kind = MOT_EV_PEER, .peer = { .node = 1 } });
    CHECK(!served_effect(&s, MOT_FX_STOP, 0));
    served_step(&s, &(struct mot_event){ .kind = MOT_EV_PEER, .peer = { .node = N, .up = true } });
    CHECK(!served_effect(&s, MOT_FX_STOP, 0));
    served_step(&s, &(struct mot_event){ .kind = MOT_EV_PEER, .peer = { .node = N } });
    const struct mot_effect *stop = served_effect(&s, MOT_FX_STOP, 0);
    CHECK(stop && stop->stop == MOT_EPEER);
    served_end(&s);
}

/* Data that end in a batch of 5 of 10: its mean is a step like the others. */
TEST(a_batch_cut_short_by_the_end_of_the_data_counts_as_a_step)
{
    SERVED(&s, &mot_method_fedbuff, N, 0, "steps", "3");
    mot_buf x = mot_pool_take(&s.pool), grad = mot_pool_take(&s.pool);
    memset(mot_pool_at(&s.pool, x), 0, s.world.dim * sizeof(float));
    for (uint32_t j = 0; j < s.world.dim; j++) mot_pool_at(&s.pool, grad)[j] = 10;
    struct mot_message m = {
        .from = N, .to = 0, .kind = MOT_MSG_MODEL, .body = { .buf = x, .len = s.world.dim }
    };
    served_step(&s, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = &m });
    static const uint32_t samples[3] = { 10, 5, 0 };
    for (uint32_t q = 0; q < 3; q++) {
        struct mot_result w = { .tag = q + 1, .samples = samples[q], .grad = grad };
        served_step(&s, &(struct mot_event){ .kind = MOT_EV_WORK, .work = &w });
    }
    const struct mot_effect *sent = served_effect(&s, MOT_FX_SEND, 0);
    CHECK(sent != NULL);
    CHECK_INT(sent->message.head.samples, 15);
    CHECK_NEAR(mot_pool_at(&s.pool, sent->message.body.buf)[0], 30, 1e-5); /* means of 1 and 2, times 10 */
    mot_pool_drop(&s.pool, x);
    mot_pool_drop(&s.pool, grad);
    served_end(&s);
}

static uint64_t model_of(const char *method, const char *const *more)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits", "model", "softmax", "optimizer.lr", "0.05", "batch", "16", "stop.updates",
        "60", "method", method, "cluster",
        "{workers: [{count: 3}, {count: 2, speed: 300 samples/s, jitter: {name: lognormal, sigma: 0.3}}]}");
    run_set_all(&r, more);
    run_go(&r);
    uint64_t hash = r.status == MOT_OK && r.out.status == MOT_OK ? r.out.model_hash : 0;
    run_free(&r);
    return hash;
}

TEST(one_step_a_buffer_of_one_and_no_discount_is_async_to_the_bit)
{
    uint64_t pure = model_of("async", (const char *const[]){ NULL });
    CHECK(pure != 0);
    CHECK(model_of("fedbuff", (const char *const[]){ "method.k", "1", "method.discount", "none", NULL }) ==
        pure);
    CHECK(model_of("fedbuff", (const char *const[]){ "method.k", "1", NULL }) != pure);
    CHECK(model_of("fedbuff",
              (const char *const[]){
                  "method.k", "1", "method.discount", "none", "method.steps", "2", NULL }) != pure);
}

/* One worker, steps of its own, the server going where it went: plain SGD again, to rounding. */
TEST(one_worker_with_local_steps_is_plain_sgd)
{
    double loss[2];
    for (int way = 0; way < 2; way++) {
        struct run r = { 0 };
        RUN_SET(
            &r, "data", "digits", "model", "softmax", "optimizer.lr", "0.1", "batch", "16", "workers", "1");
        if (way) RUN_SET(&r, "method", "fedbuff", "method.steps", "5", "method.k", "1", "stop.updates", "40");
        else RUN_SET(&r, "method", "allreduce", "stop.updates", "200");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        loss[way] = r.out.last.score.train_loss;
        run_free(&r);
    }
    CHECK_NEAR(loss[1], loss[0], 1e-5 * loss[0]);
}

TEST_MAIN()
