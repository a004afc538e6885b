/* A worker that is killed, hangs, or sends nonsense, under every server method that has its own rule. */
#include "../run/run.h"
#include "report/tally.h"

static const char *const methods[] = { "rennala", "malenia", "ringmaster", "ringleader", "ia2sgd", "fedbuff",
    "ca2fl", "fedavg", "mindflayer", "gasync" };

static void go(struct run *r, const char *method, const char *fault, const char *more)
{
    char cluster[300];
    *r = (struct run){ 0 };
    snprintf(
        cluster, sizeof cluster, "{workers: [{count: 5}], faults: {detect: 200ms, schedule: [%s]}}", fault);
    RUN_SET(r, "data", "digits", "model", "softmax", "workers", "5", "method", method, "batch", "16",
        "optimizer.lr", "0.1", "stop.updates", "300", "cluster", cluster, "evaluate.train", "end");
    if (more) run_set(r, "method.guard", more);
    run_go(r);
}

static double noted(const struct run *r, const char *key)
{
    const struct mot_note_tally *t = mot_note_find(&r->out, key);
    return t ? t->sum : 0;
}

TEST(a_killed_worker_is_left_out_and_the_run_goes_on)
{
    for (size_t i = 0; i < MOT_COUNT(methods); i++) {
        struct run r;
        go(&r, methods[i], "{kind: crash, at: 300ms, worker: 3}", NULL);
        CHECK_INT(r.out.status, MOT_OK);
        CHECK_INT(r.out.last.updates, 300);
        CHECK_NEAR(noted(&r, "workers_lost"), 1, 0);
        CHECK(r.out.node[3].updates < r.out.node[2].updates / 2);
        CHECK(r.out.last.score.test_accuracy > 0.8);
        run_free(&r);
    }
}

TEST(a_worker_that_hangs_for_a_while_comes_in_again)
{
    for (size_t i = 0; i < MOT_COUNT(methods); i++) {
        struct run r;
        go(&r, methods[i], "{kind: stall, at: 300ms, for: 600ms, worker: 3}", NULL);
        CHECK_INT(r.out.status, MOT_OK);
        CHECK_INT(r.out.last.updates, 300);
        CHECK(r.out.node[3].updates > 20);
        CHECK(r.out.last.score.test_accuracy > 0.8);
        run_free(&r);
    }
}

/* Three gradients in a row that are no numbers: it is left out, none of them is
 * in the model, and the run ends as if it had been killed. */
TEST(a_worker_that_sends_nonsense_is_left_out_or_ends_the_run_as_asked)
{
    for (size_t i = 0; i < MOT_COUNT(methods); i++) {
        struct run r;
        go(&r, methods[i], "{kind: poison, at: 300ms, for: forever, worker: 3}", NULL);
        CHECK_INT(r.out.status, MOT_OK);
        CHECK_INT(r.out.last.updates, 300);
        CHECK_NEAR(noted(&r, "guarded"), 3, 0);
        CHECK_NEAR(noted(&r, "workers_barred"), 1, 0);
        CHECK(r.out.last.score.test_accuracy > 0.8);
        run_free(&r);
        go(&r, methods[i], "{kind: poison, at: 300ms, for: forever, worker: 3}", "stop");
        CHECK_INT(r.out.status, MOT_EDIVERGED);
        CHECK(r.out.last.updates < 300);
        run_free(&r);
    }
}

/* Every sample is computed once and the run ends by itself, with nothing left under way. */
TEST(data_that_run_out_end_the_run)
{
    for (size_t i = 0; i < MOT_COUNT(methods); i++) {
        struct run r = { 0 };
        RUN_SET(&r, "data", "digits", "model", "softmax", "method", methods[i], "batch", "16", "optimizer.lr",
            "0.1", "stop.updates", "1000000", "sampler.passes", "2", "cluster",
            "{workers: [{count: 3}, {count: 2, speed: 400 samples/s}]}");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_TEXT(r.out.ended_by, "data");
        CHECK_NEAR(r.out.last.epochs, 2, 0.02);
        CHECK(r.out.last.score.test_accuracy > 0.5);
        run_free(&r);
    }
}

TEST_MAIN()
