/* The driver on threads: the simulator's bits for synchronous methods, its clock when it emulates. */
#include "run/run.h"

#define SMALL "data", "digits", SMALL_MLP, "workers", "4", "stop.updates", "200", "evaluate.train", "end"

static uint64_t hash_of(struct run *r, const struct mot_driver *driver)
{
    r->ways.driver = driver;
    run_go(r);
    uint64_t hash = r->status == MOT_OK && r->out.status == MOT_OK ? r->out.model_hash : 0;
    run_free(r);
    return hash;
}

static void same_in_both(const char *method)
{
    struct run s = { 0 }, t = { 0 };
    RUN_SET(&s, SMALL, "method", method);
    RUN_SET(&t, SMALL, "method", method);
    uint64_t hash = hash_of(&s, &mot_driver_sim);
    CHECK(hash != 0);
    CHECK(hash == hash_of(&t, &mot_driver_threads));
}

TEST(allreduce_gives_one_model_simulated_and_on_threads) { same_in_both("allreduce"); }
TEST(the_server_that_waits_for_all_gives_one_model_simulated_and_on_threads) { same_in_both("server"); }

TEST(async_learns_on_threads)
{
    struct run r = { .ways = { .driver = &mot_driver_threads } };
    RUN_SET(&r, SMALL, "method", "async", "stop.updates", "1500", "optimizer.lr", "0.05");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.last.updates, 1500);
    CHECK(r.out.last.score.test_accuracy > 0.85);
    CHECK(r.out.last.staleness_max >= 1);
    uint64_t credits = 0;
    for (int i = 0; i < 4; i++) credits += r.out.node[i].updates;
    CHECK_INT(credits, 1500);
    uint64_t noted = 0;
    for (uint32_t b = 0; b < MOT_HISTOGRAM_BINS; b++) noted += r.out.staleness.count[b];
    CHECK_INT(noted, 1500);
    run_free(&r);
}

TEST(data_that_runs_out_ends_a_run_on_threads)
{
    static const char *const methods[] = { "allreduce", "server", "async" };
    for (int m = 0; m < 3; m++) {
        struct run r = { .ways = { .driver = &mot_driver_threads } };
        RUN_SET(&r, "data", "digits", "model", "softmax", "workers", "4", "method", methods[m], "batch",
            "[64, 32, 32, 32]", "sampler.passes", "2", "stop.epochs", "100");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_TEXT(r.out.ended_by, "data");
        CHECK_INT(r.out.last.samples, 2 * r.job.data->train.rows);
        run_free(&r);
    }
}

/* Epochs are judged at updates, of which there are no more once all wait for a worker that stands still. */
TEST(passes_end_a_run_on_threads_that_makes_no_update_any_more)
{
    struct run r = { .ways = { .driver = &mot_driver_threads, .emulate = true } };
    RUN_SET(&r, "data", "digits", "model", "softmax", "method", "malenia", "batch", "1", "stop.epochs", "3",
        "stop.time", "600s", "cluster", "{network: none, workers: [{job_time: 1us}, {job_time: 8760h}]}");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_TEXT(r.out.ended_by, "epochs");
    CHECK_INT(r.out.last.updates, 0);
    CHECK(r.out.last.epochs >= 3);
    CHECK_INT(r.out.stuck_by, MOT_STUCK_WAIT); /* so that the verdict names the worker, as in the simulator */
    CHECK_INT(r.out.stuck_node, 1);
    run_free(&r);
}

TEST(a_target_ends_a_run_on_threads)
{
    static const char *const methods[] = { "allreduce", "server", "async" };
    for (int m = 0; m < 3; m++) {
        struct run r = { .ways = { .driver = &mot_driver_threads } };
        RUN_SET(&r, "data", "digits", "model", "softmax", "workers", "3", "method", methods[m],
            "stop.target.test_accuracy", "0.7", "optimizer.lr", "0.05", "evaluate.every", "10 updates",
            "stop.epochs", "2000");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_TEXT(r.out.ended_by, "target");
        CHECK(r.out.target.reached);
        run_free(&r);
    }
}

TEST(divergence_is_noticed_on_threads)
{
    struct run r = { .ways = { .driver = &mot_driver_threads } };
    RUN_SET(&r, "data", "synthetic", "data.kind", "regression", "model", "least-squares", "optimizer.lr",
        "1000", "stop.updates", "5000");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.status, MOT_EDIVERGED);
    run_free(&r);
}

/* Not a timing test of the machine: emulated jobs may take longer than they should, never less. */
TEST(an_emulated_run_takes_at_least_the_simulated_time)
{
    static const char *const methods[] = { "allreduce", "server" };
    for (int m = 0; m < 2; m++) {
        struct run s = { 0 }, t = { .ways = { .driver = &mot_driver_threads, .emulate = true } };
        const char *cluster = "{network: {bandwidth: 1Gbit, latency: 1ms}, workers: [{count: 3, speed: 4000 "
                              "samples/s}, {speed: 1000 samples/s}]}";
        RUN_SET(&s, SMALL, "method", methods[m], "cluster", cluster, "stop.updates", "20");
        RUN_SET(&t, SMALL, "method", methods[m], "cluster", cluster, "stop.updates", "20");
        run_go(&s);
        run_go(&t);
        CHECK_INT(t.status, MOT_OK);
        printf("  %s: simulated %.3f s, emulated %.3f s\n", methods[m], (double)s.out.last.now * 1e-9,
            (double)t.out.last.now * 1e-9);
        CHECK(t.out.last.now >= s.out.last.now);
        CHECK(t.out.model_hash == s.out.model_hash);
        run_free(&s);
        run_free(&t);
    }
}

/* ---- Going on --------------------------------------------------------------------------------- */

static uint64_t hash_in(const char *folder, const char *method, const char *updates, bool resume)
{
    struct run r = { .ways = { .driver = &mot_driver_threads, .resume = resume, .replace = true } };
    RUN_SET(
        &r, SMALL, "method", method, "stop.updates", updates, "optimizer.momentum", "0.5", "output", folder);
    run_go(&r);
    uint64_t hash = r.status == MOT_OK && r.out.status == MOT_OK ? r.out.model_hash : 0;
    run_free(&r);
    return hash;
}

TEST(a_synchronous_run_on_threads_goes_on_to_the_same_end)
{
    static const char *const methods[] = { "allreduce", "server" };
    char folder[] = "/tmp/motley-test-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    for (int m = 0; m < 2; m++) {
        uint64_t whole = hash_in(folder, methods[m], "150", false);
        CHECK(whole != 0);
        CHECK(hash_in(folder, methods[m], "61", false) != whole);
        CHECK(hash_in(folder, methods[m], "150", true) == whole);
    }
    /* An asynchronous one goes on too, to an end of its own. */
    CHECK(hash_in(folder, "async", "80", false) != 0);
    CHECK(hash_in(folder, "async", "150", true) != 0);
    static const char *const names[] = { "experiment.yaml", "metrics.jsonl", "summary.json",
        "model.safetensors", "checkpoint.bin", "timeline.json" };
    for (size_t i = 0; i < MOT_COUNT(names); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    CHECK_INT(rmdir(folder), 0);
}

TEST_MAIN()
