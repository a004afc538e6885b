/* MindFlayer SGD: tries are given up, and the step is unbiased all the same. */
#include "../run/run.h"
#include "base/rng.h"
#include "report/tally.h"
#include "served.h"

#define N 2u
static struct served s;
static const struct mot_hub *hub(void) { return s.state; }
static void answer(mot_node i, float mean)
{
    served_gradient(&s, i, mot_hub_oldest(hub(), &s.env, i), BATCH, mean);
}
static void give_up(mot_node i)
{
    served_message(&s, i, MOT_MSG_GAVE_UP, (struct mot_head){ .samples = 3, .value = 1 }, 0);
}

/* Two workers, two tries each, of which half are to be expected: two gradients. Three came. */
TEST(the_step_is_the_sum_of_what_came_over_what_could_be_expected)
{
    SERVED(&s, &mot_method_mindflayer, N, N, "tries", "2", "limit", "3s", "p", "0.5");
    CHECK_INT(served_count(&s, MOT_FX_SEND), 4);
    CHECK_NEAR(served_effect(&s, MOT_FX_SEND, 0)->message.head.value, 3, 1e-9);
    answer(0, 1);
    answer(1, 10);
    give_up(0);
    CHECK_NEAR(served_noted(&s, "wasted"), 1, 0);
    CHECK_INT(hub()->params.step, 0);
    answer(1, 20);
    CHECK_INT(hub()->params.step, 1);
    CHECK_NEAR(served_parameter(&s), -31.0 / 2, 1e-5);
    served_end(&s);
}

TEST(a_round_in_which_nothing_came_moves_nothing_and_the_next_begins)
{
    SERVED(&s, &mot_method_mindflayer, N, N, "tries", "1", "limit", "1ms", "p", "0.1");
    give_up(0);
    give_up(1);
    CHECK_NEAR(served_noted(&s, "empty_rounds"), 1, 0);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 2);
    CHECK_NEAR(served_parameter(&s), 0, 0);
    served_end(&s);
}

/* Every gradient is 1 and comes with probability 0.3: 4000 steps have gone 4000, whatever came in each. */
TEST(the_step_is_unbiased)
{
    struct mot_rng rng = mot_rng_at(2, MOT_RNG_TEST, 13);
    for (int way = 0; way < 2; way++) {
        double steps = 0;
        SERVED(&s, &mot_method_mindflayer, N, N, "tries", "3", "limit", "1s", "p", way ? "auto" : "0.3");
        while (steps < 4000) {
            for (mot_node i = 0; i < N; i++) {
                if (mot_hub_seat(hub(), i)->active == 0) continue;
                if (mot_rng_unit(&rng) < 0.3) answer(i, 1);
                else give_up(i);
                steps += served_count(&s, MOT_FX_ADVANCE);
            }
        }
        CHECK_NEAR(served_parameter(&s) / -steps, 1, 0.03); /* 24,000 tries: a deviation of 1 % */
        served_end(&s);
    }
}

TEST(nobody_waits_for_a_worker_that_is_lost_and_one_that_is_back_joins_the_next_round)
{
    SERVED(&s, &mot_method_mindflayer, N, N, "tries", "2", "p", "1");
    answer(0, 1);
    answer(1, 4);
    answer(0, 1);
    served_peer(&s, 1, false);
    CHECK_INT(hub()->params.step, 1);
    CHECK_NEAR(served_parameter(&s), -2, 1e-6); /* three tries were made */
    served_peer(&s, 1, true);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 0);
    answer(0, 1);
    answer(0, 1);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 4);
    served_end(&s);
}

static void run_with(struct run *r, const char *limit, const char *cluster)
{
    *r = (struct run){ 0 };
    RUN_SET(r, "data", "digits", "model", "softmax", "optimizer.lr", "0.2", "batch", "16", "stop.updates",
        "150", "method", "mindflayer", "method.limit", limit, "cluster", cluster);
    run_go(r);
}

/* One try in ten takes twenty times as long: the limit saves most of
 * the time, and the loss is no worse for it. */
TEST(where_jobs_straggle_by_chance_the_limit_saves_most_of_the_time)
{
    static const char cluster[] = "{network: none, workers: [{count: 6, job_time: {name: fixed, mean: 1s}, "
                                  "straggle: {name: iid, p: 10%, factor: 20}}]}";
    struct run with, without;
    run_with(&without, "1h", cluster);
    run_with(&with, "auto", cluster);
    CHECK_INT(with.status, MOT_OK);
    CHECK_INT(without.status, MOT_OK);
    CHECK(mot_note_find(&with.out, "wasted") && !mot_note_find(&without.out, "wasted"));
    CHECK(with.out.last.now * 3 < without.out.last.now);
    CHECK(with.out.last.score.train_loss < 1.1 * without.out.last.score.train_loss);
    run_free(&with);
    run_free(&without);
}

/* Jobs that always take the same time are never given up: it is minibatch SGD with two batches of each. */
TEST(steady_workers_lose_nothing)
{
    struct run r;
    run_with(&r, "auto",
        "{network: none, workers: [{count: 2, job_time: {name: fixed, mean: 1s}}, {count: 1, job_time: "
        "{name: fixed, mean: 3s}}]}");
    CHECK_INT(r.status, MOT_OK);
    CHECK(!mot_note_find(&r.out, "wasted"));
    CHECK_INT(r.out.last.now, UINT64_C(150) * 6 * 1000000000);
    run_free(&r);
}

/* A limit that nobody can keep would make empty rounds for ever, where nothing but samples ends the run. */
TEST(a_limit_that_no_try_keeps_ends_the_run_at_its_thousandth_empty_round)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits", "model", "softmax", "stop.epochs", "1", "method", "mindflayer",
        "method.limit", "1ms", "method.tries", "1", "cluster",
        "{network: none, workers: [{count: 2, job_time: {name: fixed, mean: 1s}}]}");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.status, MOT_EDEADLINE);
    CHECK_TEXT(r.out.ended_by, "deadline");
    CHECK_NEAR(mot_note_find(&r.out, "empty_rounds")->sum, 1000, 0);
    run_free(&r);
}

TEST_MAIN()
