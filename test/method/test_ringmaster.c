/* Ringmaster ASGD: no delay reaches R, and what is stopped for it is counted. */
#include "../driver/run.h"
#include "report/tally.h"
#include "served.h"

#define N 4u
static struct served s;
static const struct mot_hub *hub(void) { return s.state; }
static void answer(mot_node i, float mean)
{
    served_gradient(&s, i, mot_hub_oldest(hub(), &s.env, i), BATCH, mean);
}

TEST(a_job_is_replaced_at_the_update_that_makes_its_delay_r)
{
    SERVED(&s, &mot_method_ringmaster, N, N, "r", "3");
    answer(0, 1);
    answer(0, 1);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 1);
    answer(0, 1); /* the third update: the jobs of the other three, of model 0, have a delay of 3 */
    CHECK_INT(served_count(&s, MOT_FX_SEND), 4);
    for (uint32_t k = 1; k < 4; k++) {
        CHECK_INT(served_effect(&s, MOT_FX_SEND, k)->message.kind, MOT_MSG_REPLACE);
        CHECK_INT(served_effect(&s, MOT_FX_SEND, k)->message.head.round, 3);
    }
    CHECK_NEAR(served_parameter(&s), -3, 1e-6);
    served_end(&s);
}

TEST(r_of_one_takes_one_gradient_of_each_model)
{
    SERVED(&s, &mot_method_ringmaster, N, N, "r", "1");
    for (int k = 0; k < 10; k++) {
        answer(k % 2 ? 3 : 1, 1);
        CHECK_NEAR(served_noted(&s, "staleness"), 0, 0);
        for (mot_node i = 0; i < N; i++) CHECK_INT(mot_hub_oldest(hub(), &s.env, i), k + 1);
        /* the workers give up what was replaced; whose answer came is at its new job */
        for (mot_node i = 0; i < N; i++)
            if (mot_hub_seat(hub(), i)->there == 2)
                served_message(&s, i, MOT_MSG_GAVE_UP, (struct mot_head){ .samples = 1, .value = 1 }, 0);
    }
    CHECK_INT(hub()->params.step, 10);
    served_end(&s);
}

static const char speeds[] =
    "{network: none, workers: [{count: 2, job_time: {name: exponential, mean: 1s}}, "
    "{count: 3, job_time: {name: exponential, mean: 10s}}, {count: 1, job_time: {name: fixed, mean: 200s}}]}";

static void run_with(struct run *r, const char *bound, const char *unfinished)
{
    *r = (struct run){ 0 };
    RUN_SET(r, "data", "digits", "model", "softmax", "optimizer.lr", "0.05", "batch", "8", "stop.updates",
        "2000", "method", "ringmaster", "cluster", speeds, "method.r", bound, "method.unfinished",
        unfinished);
    run_go(r);
}

TEST(no_delay_reaches_r_and_every_stopped_job_is_counted)
{
    static const char *const bound[] = { "1", "2", "5", "12", "40" };
    double before = 1e9;
    for (size_t k = 0; k < MOT_COUNT(bound); k++) {
        struct run r;
        run_with(&r, bound[k], "cancel");
        CHECK_INT(r.status, MOT_OK);
        CHECK(r.out.last.staleness_max < strtod(bound[k], NULL));
        const struct mot_note_tally *wasted = mot_note_find(&r.out, "wasted");
        CHECK(wasted && wasted->sum > 0 && wasted->sum < before); /* a larger R stops fewer */
        CHECK_INT(r.out.node[5].updates, 0);                      /* the slowest is always stopped */
        before = wasted->sum;
        run_free(&r);
    }
}

TEST(late_gradients_that_are_finished_are_dropped)
{
    struct run r;
    run_with(&r, "5", "finish");
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.last.staleness_max, 4);
    CHECK(mot_note_find(&r.out, "dropped") && !mot_note_find(&r.out, "wasted"));
    run_free(&r);
}

/* With R beyond every delay it is pure asynchronous SGD, to the bit. */
TEST(with_a_large_r_it_is_async)
{
    struct run r, a = { 0 };
    run_with(&r, "1000000", "cancel");
    RUN_SET(&a, "data", "digits", "model", "softmax", "optimizer.lr", "0.05", "batch", "8", "stop.updates",
        "2000", "method", "async", "cluster", speeds);
    run_go(&a);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(a.status, MOT_OK);
    CHECK(r.out.model_hash == a.out.model_hash);
    run_free(&r);
    run_free(&a);
}

TEST_MAIN()
