/* Asynchronous SGD with several servers, each with a range of the parameters. */
#include "../run/run.h"
#include "report/tally.h"

#define SMALL                                                                                                \
    "data", "digits", "model", "softmax", "workers", "6", "method", "async", "batch", "16", "optimizer.lr",  \
        "0.05", "evaluate.train", "end"
#define MIXED                                                                                                \
    "{network: none, workers: [{count: 3, jitter: {name: lognormal, sigma: 0.5}}, {count: 3, speed: 300 "    \
    "samples/s}]}"

static uint64_t hash_of(const char *const *pairs)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "stop.updates", "200", "cluster", MIXED);
    run_set_all(&r, pairs);
    run_go(&r);
    uint64_t hash = r.status == MOT_OK && r.out.status == MOT_OK ? r.out.model_hash : 0;
    run_free(&r);
    return hash;
}
#define HASH(...) hash_of((const char *const[]){ __VA_ARGS__, NULL })

/* Where messages take no time all ranges are updated in the same
 * order, and it cannot show how many there are. */
TEST(without_a_network_shards_give_the_model_of_one_server)
{
    static const char *const rules[] = { "pure", "random", "shuffled" },
                             *const optimizers[] = { "sgd", "{name: sgd, momentum: 0.9}", "adamw" };
    for (int k = 0; k < 3; k++) {
        uint64_t one = HASH("method.assign", rules[k], "optimizer", optimizers[k], "optimizer.lr", "0.01");
        CHECK(one != 0);
        CHECK(HASH("method.assign", rules[k], "optimizer", optimizers[k], "optimizer.lr", "0.01",
                  "method.shards", "4") == one);
    }
    uint64_t one = HASH("method.wait", "3", "method.step", "compensated", "method.max_staleness", "6");
    CHECK(one != 0);
    CHECK(HASH("method.wait", "3", "method.step", "compensated", "method.max_staleness", "6", "method.shards",
              "3") == one);
    uint64_t adapted = HASH("method.step", "compensated", "method.lambda_decay", "0.95");
    CHECK(adapted != 0 && adapted != HASH("method.step", "compensated"));
    CHECK(HASH("method.step", "compensated", "method.lambda_decay", "0.95", "method.shards", "3") == adapted);
}

static double time_of(const char *shards)
{
    struct run r = { 0 };
    RUN_SET(&r, "model", "{name: phantom, parameters: 25e6}", "workers", "8", "method", "async",
        "method.shards", shards, "stop.updates", "100");
    run_go(&r);
    double seconds = r.status == MOT_OK ? (double)r.out.last.now / 1e9 : NAN;
    run_free(&r);
    return seconds;
}

TEST(shards_carry_a_model_that_one_link_cannot)
{
    double one = time_of("1"), two = time_of("2"), four = time_of("4");
    printf("  25e6 parameters, 8 workers, 1 Gbit/s, 100 updates: %.1f s with one server, %.1f with 2, %.1f "
           "with 4\n",
        one, two, four);
    /* 100 MB in and out of one link for each update, of which there are 100: 80 s. */
    CHECK_NEAR(one, 80, 4);
    CHECK_NEAR(two / one, 0.5, 0.03);
    CHECK_NEAR(four / one, 0.25, 0.03);
}

TEST(shards_learn_over_a_network_and_count_each_gradient_once)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "method.shards", "3", "stop.updates", "1200", "cluster",
        "{network: {bandwidth: 20Mbit, latency: 1ms}}");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.servers, 3);
    CHECK(r.out.last.score.test_accuracy > 0.85);
    uint64_t credits = 0;
    for (int i = 0; i < 6; i++) credits += r.out.node[i].updates;
    CHECK(credits >= 1200 && credits < 1210);
    CHECK_INT(mot_note_find(&r.out, "staleness")->count, credits);
    run_free(&r);
}

TEST(shards_on_threads_give_the_simulated_model_where_no_order_decides)
{
    uint64_t hash[3];
    for (int k = 0; k < 3; k++) {
        struct run r = { .ways = { .driver = k == 2 ? &mot_driver_threads : &mot_driver_sim } };
        RUN_SET(&r, SMALL, "method.wait", "all", "method.shards", k ? "3" : "1", "stop.updates", "60");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.out.last.updates, 60);
        hash[k] = r.out.model_hash;
        run_free(&r);
    }
    CHECK(hash[1] == hash[0] && hash[2] == hash[0]);
}

TEST(shards_on_threads_learn_with_every_rule)
{
    static const char *const rules[] = { "pure", "random", "shuffled" };
    for (int k = 0; k < 3; k++) {
        struct run r = { .ways = { .driver = &mot_driver_threads } };
        RUN_SET(&r, SMALL, "method.shards", "2", "method.assign", rules[k], "stop.updates", "1200", "workers",
            "3");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK(r.out.last.updates >= 1200);
        CHECK(r.out.last.score.test_accuracy > 0.85);
        run_free(&r);
    }
}

TEST(a_worker_lost_and_back_does_not_stop_pure_shards)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "method.shards", "3", "stop.updates", "800", "cluster",
        "{workers: [{count: 6}], faults: {detect: 100ms, schedule: [{kind: crash, at: 300ms, for: 500ms, "
        "workers: [2, 3]}, "
        "{kind: crash, at: 1s, worker: 5}]}}");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.status, MOT_OK);
    CHECK_INT(r.out.last.updates, 800);
    CHECK(r.out.last.score.test_accuracy > 0.8);
    run_free(&r);
}

TEST(a_worker_lost_ends_shards_that_count_on_it)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "method.shards", "3", "method.assign", "shuffled", "stop.updates", "800", "cluster",
        "{workers: [{count: 6}], faults: {detect: 100ms, schedule: [{kind: crash, at: 300ms, worker: 2}]}}");
    run_go(&r);
    CHECK_INT(r.out.status, MOT_EPEER);
    CHECK_INT(r.out.peer, 2);
    run_free(&r);
}

TEST(what_does_not_split_is_refused)
{
    struct {
        const char *key, *value, *says;
    } wrong[] = {
        { "optimizer", "{name: sgd, clip: 1}", "clipping and LARS" },
        { "optimizer", "lars", "clipping and LARS" },
        { "method.step", "clipped", "no shard has all of it" },
        { "method.on_stale", "cancel", "needs one server" },
    };
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        struct run r = { 0 };
        RUN_SET(&r, "data", "digits", "model", "softmax", "method", "async", "method.shards", "2",
            "method.max_staleness", "50", wrong[k].key, wrong[k].value);
        run_go(&r);
        CHECK_INT(r.status, MOT_EUSAGE);
        CHECK_HAS(mot_error(), wrong[k].says);
        run_free(&r);
    }
}

TEST_MAIN()
