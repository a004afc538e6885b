/* A worker of an asynchronous run that is killed, hangs, or sends nonsense. */
#include "../run/run.h"
#include "report/tally.h"

#define SMALL                                                                                                \
    "data", "digits", "model", "softmax", "workers", "5", "method", "async", "batch", "16", "optimizer.lr",  \
        "0.05", "stop.updates", "800", "evaluate.train", "end"

static void go(struct run *r, const char *fault, const char *const *pairs)
{
    char cluster[300];
    *r = (struct run){ 0 };
    snprintf(
        cluster, sizeof cluster, "{workers: [{count: 5}], faults: {detect: 200ms, schedule: [%s]}}", fault);
    RUN_SET(r, SMALL, "cluster", cluster);
    run_set_all(r, pairs);
    run_go(r);
}
#define GO(r, fault, ...) go((r), (fault), (const char *const[]){ __VA_ARGS__, NULL })

static double noted(const struct run *r, const char *key)
{
    const struct mot_note_tally *t = mot_note_find(&r->out, key);
    return t ? t->sum : 0;
}

static const char *const rules[] = { "pure", "random", "shuffled" };

TEST(a_killed_worker_is_left_out_and_the_run_goes_on)
{
    for (int k = 0; k < 3; k++) {
        struct run r;
        GO(&r, "{kind: crash, at: 500ms, worker: 3}", "method.assign", rules[k]);
        CHECK_INT(r.out.status, MOT_OK);
        CHECK_INT(r.out.last.updates, 800);
        CHECK_NEAR(noted(&r, "workers_lost"), 1, 0);
        CHECK(r.out.node[3].updates < 60 && r.out.node[2].updates > 150);
        CHECK(r.out.last.score.test_accuracy > 0.8);
        run_free(&r);
    }
}

TEST(a_hung_worker_holds_up_nobody_in_the_pure_variant)
{
    struct run calm, hung;
    GO(&calm, "{kind: drop, at: 1000s}", "method.assign", "pure");
    GO(&hung, "{kind: stall, at: 500ms, for: 1000s, worker: 3}", "method.assign", "pure");
    CHECK_INT(hung.out.last.updates, 800);
    CHECK((double)hung.out.last.now < 1.35 * (double)calm.out.last.now); /* 4 do the work of 5 */
    run_free(&calm);
    run_free(&hung);
}

/* Jobs are given to a hung worker too, and wait there. A job that is given up is not waited for. */
TEST(jobs_at_a_hung_worker_are_waited_for_or_given_up_as_asked)
{
    struct run r;
    GO(&r, "{kind: stall, at: 500ms, for: 10s, worker: 3}", "method.max_staleness", "10", "method.on_stale",
        "wait");
    CHECK_INT(r.out.last.updates, 800);
    CHECK(r.out.last.staleness_max <= 10);
    CHECK((double)r.out.last.now > 10e9);
    run_free(&r);
    GO(&r, "{kind: stall, at: 500ms, for: 10s, worker: 3}", "method.max_staleness", "10", "method.on_stale",
        "cancel");
    CHECK_INT(r.out.last.updates, 800);
    CHECK(r.out.last.staleness_max <= 10);
    CHECK((double)r.out.last.now < 10e9);
    run_free(&r);
}

TEST(a_worker_that_sends_nonsense_for_a_while_is_guarded_against)
{
    struct run r;
    GO(&r, "{kind: poison, at: 500ms, for: 30ms, worker: 3}", "method.assign", "pure");
    CHECK_INT(r.out.status, MOT_OK);
    CHECK(r.out.faults.poisoned == 1 || r.out.faults.poisoned == 2); /* jobs of 16 ms */
    CHECK(noted(&r, "guarded") >= 1 && noted(&r, "workers_barred") == 0);
    CHECK(r.out.node[3].updates > 100);
    run_free(&r);
}

TEST(a_worker_that_keeps_sending_nonsense_is_left_out_and_the_run_goes_on)
{
    for (int k = 0; k < 3; k++) {
        struct run r;
        GO(&r, "{kind: poison, at: 500ms, for: forever, worker: 3}", "method.assign", rules[k]);
        CHECK_INT(r.out.status, MOT_OK);
        CHECK_INT(r.out.last.updates, 800);
        CHECK_NEAR(noted(&r, "guarded"), 3, 0);
        CHECK_NEAR(noted(&r, "workers_barred"), 1, 0);
        CHECK(r.out.last.score.test_accuracy > 0.8);
        run_free(&r);
    }
}

TEST(the_guard_stops_the_run_if_asked_and_without_it_the_model_is_lost)
{
    struct run r;
    GO(&r, "{kind: poison, at: 500ms, for: forever, worker: 3}", "method.guard", "stop");
    CHECK_INT(r.out.status, MOT_EDIVERGED);
    CHECK(isfinite(r.out.last.score.test_loss)); /* it stopped before it was lost */
    run_free(&r);
    GO(&r, "{kind: poison, at: 500ms, for: forever, worker: 3}", "method.guard", "off");
    CHECK_INT(r.out.status, MOT_EDIVERGED);
    run_free(&r);
    GO(&r, "{kind: poison, at: 500ms, for: forever, worker: 3}", "method", "server");
    CHECK_INT(r.out.status, MOT_OK); /* other methods with a server have the same guard */
    CHECK_NEAR(noted(&r, "workers_barred"), 1, 0);
    run_free(&r);
}

TEST_MAIN()
