/* Gradients that come out as NaN: methods with a guard go on without them, others end; the same jobs are
 * hit under every driver. */
#include "base/file.h"
#include "run/run.h"
#include "scratch.h"
#include <math.h>
#include <stdlib.h>

#define BASE                                                                                                 \
    "data", "digits", "model", "softmax", "batch", "32", "evaluate.train", "end", "optimizer.lr", "0.05"

/* Four workers of 20,000 samples/s: a job of 32 takes 1.6 ms. */
static void play(struct run *r, const char *method, const char *updates, const char *faults)
{
    char cluster[400];
    snprintf(cluster, sizeof cluster, "{workers: [{count: 4, speed: 20000 samples/s}], faults: %s}", faults);
    RUN_SET(r, BASE, "method", method, "stop.updates", updates, "cluster", cluster);
    run_go(r);
}

static uint64_t noted(const struct mot_outcome *o, const char *key)
{
    for (uint32_t i = 0; i < o->notes; i++)
        if (strcmp(o->note[i].key, key) == 0) return o->note[i].count;
    return 0;
}

TEST(async_goes_on_without_the_gradients_of_a_poisoned_worker)
{
    struct run r = { 0 };
    play(&r, "async", "1000", "[{kind: poison, at: 100ms, worker: 2}]");
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.status, MOT_OK);
    CHECK(r.out.last.score.test_accuracy > 0.8);
    CHECK(r.out.faults.poisoned > 0);
    CHECK_INT(noted(&r.out, "guarded"), r.out.faults.poisoned);
    /* a job in 1.6 ms and its messages, for 100 ms */
    CHECK(r.out.node[2].updates > 40 && r.out.node[2].updates < 63);
    run_free(&r);
}

TEST(a_method_without_a_guard_ends_as_diverged)
{
    struct run r = { 0 };
    play(&r, "allreduce", "1000", "[{kind: poison, at: 100ms, worker: 2}]");
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.status, MOT_EDIVERGED);
    CHECK_INT(r.out.faults.poisoned, 1);
    CHECK(r.out.last.updates > 25 && r.out.last.updates < 63);
    run_free(&r);
}

TEST(a_poisoning_that_is_over_harms_no_more)
{
    struct run r = { 0 };
    play(&r, "async", "2000", "[{kind: poison, at: 100ms, for: 3ms}]");
    CHECK_INT(r.out.status, MOT_OK);
    CHECK(r.out.faults.poisoned >= 4 && r.out.faults.poisoned <= 8); /* one job of each or two */
    CHECK_INT(noted(&r.out, "workers_barred"), 0);
    run_free(&r);
}

TEST(one_gradient_in_twenty_is_poisoned_by_chance_until_that_ends)
{
    uint64_t poisoned[2];
    for (int i = 0; i < 2; i++) {
        struct run r = { 0 };
        play(&r, "async", "4000", i ? "{poison: 5%, until: 400ms}" : "{poison: 5%}");
        CHECK_INT(r.out.status, MOT_OK);
        poisoned[i] = r.out.faults.poisoned;
        run_free(&r);
    }
    CHECK(poisoned[0] > 150 && poisoned[0] < 280); /* of some 4200; three deviations are 42 */
    CHECK(poisoned[1] > 20 && poisoned[1] < 90);   /* of some 1000 */
}

TEST(emulated_threads_are_poisoned_too_and_the_guard_holds)
{
    struct run r = { .ways = { .driver = &mot_driver_threads, .emulate = true } };
    play(&r, "async", "300", "{poison: 10%}");
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.status, MOT_OK);
    CHECK(r.out.has_faults && r.out.faults.poisoned > 5);
    CHECK(noted(&r.out, "guarded") > 5 && noted(&r.out, "guarded") <= r.out.faults.poisoned);
    CHECK(isfinite(r.out.last.score.test_loss));
    run_free(&r);
}

TEST(a_recorded_run_with_poison_is_replayed_to_the_same_model)
{
    char folder[64] = "/tmp/motley-test-XXXXXX";
    if (!mkdtemp(folder)) abort();
    struct run r = { .ways = {
                         .driver = &mot_driver_threads, .emulate = true, .record = true, .replace = true } };
    RUN_SET(&r, "output", folder);
    play(&r, "async", "200", "{poison: 10%}");
    uint64_t hash = r.out.model_hash;
    CHECK(r.out.faults.poisoned > 0);
    run_free(&r);
    struct run again = { .ways = { .driver = &mot_driver_replay, .arrivals = folder } };
    play(&again, "async", "200", "{poison: 10%}");
    CHECK_INT(again.status, MOT_OK);
    CHECK(again.out.model_hash == hash);
    run_free(&again);
    scratch_remove(folder);
}

TEST_MAIN()
