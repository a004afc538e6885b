/* Each fault alone, with numbers: what it costs, who is told, how the run goes on or ends. */
#include "base/file.h"
#include "run/run.h"
#include "scratch.h"
#include <stdlib.h>

#define MS UINT64_C(1000000)
#define BASE "data", "digits", "model", "softmax", "evaluate.every", "1000000 updates", "batch", "32"

struct result {
    enum mot_status status;
    mot_time now;
    uint64_t updates, hash, events;
    struct mot_outcome out;
};

/* Four workers of 1000 samples/s: a job of 32 takes 32 ms. */
static struct result simulate(
    const char *method, const char *updates, const char *faults, const char *threads)
{
    char cluster[600];
    struct run r = { 0 };
    snprintf(cluster, sizeof cluster, "{workers: 4, faults: %s}", faults);
    RUN_SET(&r, BASE, "method", method, "stop.updates", updates, "cluster", cluster, "sim.threads", threads);
    run_go(&r);
    struct result result = { r.status != MOT_OK ? r.status : r.out.status, r.out.last.now, r.out.last.updates,
        r.out.model_hash, r.out.last.events, r.out };
    run_free(&r);
    return result;
}

static struct result go(const char *method, const char *updates, const char *faults)
{
    return simulate(method, updates, faults, "1");
}

TEST(a_stall_of_two_seconds_delays_allreduce_by_just_two_seconds)
{
    struct result plain = go("allreduce", "100", "[]"),
                  r = go("allreduce", "100", "[{kind: stall, at: 1s, for: 2s, worker: 1}]");
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.now, plain.now + 2000 * MS);
    CHECK(r.hash == plain.hash);
    CHECK_INT(r.out.faults.stalls, 1);
    CHECK_INT(r.out.faults.resent, 0);
}

TEST(stalls_that_overlap_count_once)
{
    struct result plain = go("allreduce", "100", "[]");
    struct result r = go("allreduce", "100",
        "[{kind: stall, at: 1s, for: 1s, worker: 1}, {kind: stall, at: 1500ms, for: 1s, worker: 1}]");
    CHECK_INT(r.now, plain.now + 1500 * MS);
}

TEST(a_stalled_server_answers_when_it_wakes)
{
    struct result plain = go("server", "100", "[]"),
                  r = go("server", "100", "[{kind: stall, at: 1s, for: 2s, server: true}]");
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.hash == plain.hash);
    CHECK(r.now > plain.now + 1900 * MS && r.now <= plain.now + 2000 * MS);
}

TEST(a_stalled_worker_does_not_hold_up_async)
{
    struct result plain = go("async", "400", "[]"),
                  r = go("async", "400", "[{kind: stall, at: 1s, for: 2s, worker: 1}]");
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.now < plain.now + 700 * MS); /* a quarter of the work for two seconds */
}

TEST(a_short_partition_heals_without_a_trace_in_the_model)
{
    static const char *const methods[] = { "allreduce", "server" };
    for (int m = 0; m < 2; m++) {
        struct result plain = go(methods[m], "100", "[]");
        struct result r = go(methods[m], "100", "[{kind: partition, at: 1s, for: 500ms, workers: [1, 2]}]");
        CHECK_INT(r.status, MOT_OK);
        CHECK(r.hash == plain.hash);
        /* a time-out's doubling may outlast it */
        CHECK(r.now > plain.now + 450 * MS && r.now < plain.now + 800 * MS);
        CHECK(r.out.faults.cut > 0);
        CHECK_INT(r.out.faults.given_up, 0);
    }
}

TEST(a_long_partition_ends_allreduce_and_names_who_was_cut_off)
{
    struct result r = go("allreduce", "100", "[{kind: partition, at: 1s, for: 3s, worker: 2}]");
    CHECK_INT(r.status, MOT_EPEER);
    CHECK_INT(r.now, 2000 * MS);
    CHECK(r.out.has_peer);
    CHECK_INT(r.out.peer, 2);
    CHECK(r.out.peer_by && strcmp(r.out.peer_by, "partition") == 0);
}

TEST(server_and_async_go_on_without_the_cut_off_and_take_them_back)
{
    static const char *const methods[] = { "server", "async" };
    for (int m = 0; m < 2; m++) {
        struct result r =
            go(methods[m], m ? "800" : "200", "[{kind: partition, at: 1s, for: 3s, workers: [1, 2]}]");
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.updates, m ? 800 : 200);
        CHECK_INT(r.out.faults.given_up, 2);
        CHECK_INT(r.out.faults.restarts, 2);
    }
}

TEST(the_side_with_the_server_is_the_one_that_goes_on)
{
    struct result a =
        go("async", "800", "[{kind: partition, at: 1s, for: 3s, workers: [0, 3], server: true}]");
    struct result b = go("async", "800", "[{kind: partition, at: 1s, for: 3s, workers: [1, 2]}]");
    CHECK_INT(a.out.faults.given_up, 2);
    CHECK(a.hash == b.hash);
}

TEST(a_crash_stops_allreduce_after_the_time_of_detection)
{
    struct result r = go("allreduce", "100", "{detect: 300ms, schedule: [{kind: crash, at: 1s, worker: 3}]}");
    CHECK_INT(r.status, MOT_EPEER);
    CHECK_INT(r.now, 1300 * MS);
    CHECK_INT(r.out.peer, 3);
    CHECK_INT(r.out.peer_at, 1000 * MS);
    CHECK(r.out.peer_by && strcmp(r.out.peer_by, "crash") == 0);
}

TEST(a_crash_in_every_millisecond_of_a_round_stops_every_collective)
{
    static const char *const kinds[] = { "ring", "tree", "doubling" };
    for (int k = 0; k < 3; k++) {
        for (int at = 0; at < 40; at++) {
            char cluster[200];
            struct run r = { 0 };
            snprintf(cluster, sizeof cluster,
                "{workers: 5, network: {latency: 1ms}, faults: [{kind: crash, at: %dms, worker: %d}]}",
                100 + at, at % 5);
            RUN_SET(&r, BASE, "method", "allreduce", "stop.updates", "100", "cluster", cluster,
                "sim.collective", kinds[k]);
            run_go(&r);
            CHECK_INT(r.status, MOT_OK);
            CHECK_INT(r.out.status, MOT_EPEER);
            CHECK_INT(r.out.peer, (mot_node)(at % 5));
            run_free(&r);
        }
    }
}

TEST(a_crashed_worker_comes_back_and_contributes_again)
{
    static const char *const methods[] = { "server", "async" };
    for (int m = 0; m < 2; m++) {
        const char *updates = m ? "800" : "200";
        struct result gone = go(methods[m], updates, "[{kind: crash, at: 1s, worker: 1}]");
        struct result back = go(methods[m], updates, "[{kind: crash, at: 1s, for: 2s, worker: 1}]");
        struct result told =
            go(methods[m], updates, "[{kind: crash, at: 1s, worker: 1}, {kind: restart, at: 3s, worker: 1}]");
        CHECK_INT(gone.status, MOT_OK);
        CHECK_INT(back.status, MOT_OK);
        CHECK_INT(gone.out.faults.restarts, 0);
        CHECK_INT(back.out.faults.restarts, 1);
        CHECK(back.hash == told.hash);
        CHECK(back.hash != gone.hash);
    }
}

TEST(a_worker_that_is_back_before_its_loss_was_noticed_is_lost_first)
{
    struct result r = go("async", "400", "[{kind: crash, at: 1s, for: 100ms, worker: 1}]");
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.faults.restarts, 1);
    r = go("allreduce", "100", "[{kind: crash, at: 1s, for: 100ms, worker: 1}]");
    CHECK_INT(r.status, MOT_EPEER);
    CHECK(r.now < 1102 * MS);
}

TEST(what_waited_for_a_stalled_worker_dies_with_it)
{
    static const char *const methods[] = { "server", "async" };
    for (int m = 0; m < 2; m++) {
        struct result r = go(methods[m], m ? "800" : "200",
            "[{kind: stall, at: 1s, for: 2s, worker: 1}, {kind: crash, at: 2s, for: 500ms, worker: 1}]");
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.out.faults.restarts, 1);
    }
}

TEST(a_worker_that_crashes_after_its_data_ran_out_is_counted_once)
{
    static const char *const methods[] = { "server", "async" };
    for (int m = 0; m < 2; m++) {
        struct run r = { 0 };
        /* Worker 0 is done with its part long before the others; its crash must not end their run. */
        RUN_SET(&r, BASE, "method", methods[m], "sampler.passes", "1", "cluster",
            "{workers: [{speed: 100000 samples/s}, {count: 2}], faults: [{kind: crash, at: 2s, worker: 0}]}");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.out.status, MOT_OK);
        CHECK_TEXT(r.out.ended_by, "data");
        CHECK_INT(r.out.last.samples, r.job.data->train.rows);
        run_free(&r);
    }
}

TEST(a_crash_of_the_server_ends_the_run)
{
    static const char *const methods[] = { "server", "async" };
    for (int m = 0; m < 2; m++) {
        struct result r = go(methods[m], "800", "[{kind: crash, at: 1s, server: true}]");
        CHECK_INT(r.status, MOT_EPEER);
        CHECK_INT(r.out.peer, 4);
        CHECK_INT(r.now, 2000 * MS);
    }
}

TEST(when_all_workers_are_gone_the_run_ends)
{
    struct result r = go("async", "800", "[{kind: crash, at: 1s, workers: [0, 1, 2, 3]}]");
    CHECK_INT(r.status, MOT_EPEER);
    CHECK(r.out.has_peer);
    r = go("server", "800", "[{kind: partition, at: 1s, for: 10s, server: true}]");
    CHECK_INT(r.status, MOT_EPEER);
}

/* ---- Without a server only the workers have the model ---------------------------------------------- */

static const char *const serverless[] = { "allreduce", "dpsgd", "matcha", "sgp", "osgp" };

TEST(the_loss_of_the_last_worker_with_the_model_ends_the_run_at_once)
{
    for (size_t m = 0; m < MOT_COUNT(serverless); m++) {
        /* Nobody hears of the first loss: its detection takes until 2 s. */
        struct result r = go(serverless[m], "3000",
            "[{kind: crash, at: 1s, for: 5s, workers: [0, 2, 3]}, {kind: crash, at: 1200ms, for: 9s, worker: "
            "1}]");
        CHECK_INT(r.status, MOT_EPEER);
        CHECK_INT(r.now, 1200 * MS);
        CHECK_INT(r.out.peer, 1);
        CHECK_INT(r.out.peer_at, 1200 * MS);
        CHECK(r.out.model_lost && !r.out.saved);
        CHECK_INT(r.out.faults.restarts, 0);
        r = go(serverless[m], "3000", "[{kind: crash, at: 1s, for: 5s, workers: [0, 1, 2, 3]}]");
        CHECK_INT(r.status, MOT_EPEER);
        CHECK_INT(r.now, 1000 * MS);
        CHECK(r.out.model_lost);
        r = go(serverless[m], "3000", "{crash: 1/s, restart_after: 8760h, detect: 1000s}");
        CHECK_INT(r.status, MOT_EPEER);
        CHECK(r.out.model_lost && r.out.faults.crashes == 4);
    }
}

static const char *const takes_back[] = { "dpsgd", "matcha" }; /* those of them that give it a model */

/* Worker 3, the last with the model, is lost at 2 s and something: before what it sends has arrived at those
 * who came back at 2 s, or after. */
TEST(a_worker_that_is_back_keeps_the_run_alive_as_soon_as_it_has_a_model)
{
    static const struct {
        const char *at;
        bool in_time;
    } crash[] = { { "2005ms", false }, { "2100ms", true } };
    for (size_t m = 0; m < MOT_COUNT(takes_back); m++)
        for (size_t k = 0; k < MOT_COUNT(crash); k++) {
            struct run r = { 0 };
            char cluster[300];
            snprintf(cluster, sizeof cluster,
                "{workers: 4, network: {bandwidth: 100kB/s, latency: 0s}, faults: {detect: 100ms, schedule: "
                "[{kind: crash, at: 1s, for: 1s, workers: [0, 1, 2]}, {kind: crash, at: %s, worker: 3}]}}",
                crash[k].at);
            RUN_SET(&r, BASE, "method", takes_back[m], "method.on_loss", "continue", "stop.updates", "300",
                "cluster", cluster);
            run_go(&r);
            CHECK_INT(r.out.faults.restarts, 3);
            CHECK_INT(r.out.status, crash[k].in_time ? MOT_OK : MOT_EPEER);
            CHECK(r.out.model_lost == !crash[k].in_time);
            if (crash[k].in_time) CHECK_INT(r.out.last.updates, 300);
            else CHECK_INT(r.out.last.now, 2005 * MS);
            run_free(&r);
        }
}

TEST(a_run_that_lost_its_model_shows_what_it_had_and_names_the_checkpoint_that_is_left)
{
    char folder[] = "/tmp/motley-faults-XXXXXX";
    if (!mkdtemp(folder)) abort();
    struct run r = { .ways = { .replace = true } };
    RUN_SET(&r, BASE, "method", "allreduce", "stop.updates", "3000", "checkpoint.every", "10 updates",
        "output", folder, "cluster",
        "{workers: 3, faults: [{kind: crash, at: 1s, for: 5s, workers: [0, 1, 2]}]}");
    run_go(&r);
    CHECK_INT(r.out.status, MOT_EPEER);
    CHECK(r.out.model_lost && r.out.saved);
    CHECK_INT(r.out.last.updates, 30);
    CHECK_INT(r.out.saved_updates, 30);
    CHECK(r.out.last.score.train_loss < 2.0); /* 2.3 is the loss of the initial model */
    static const char *const there[] = { "experiment.yaml", "metrics.jsonl", "summary.json", "checkpoint.bin",
        "timeline.json" };
    char *model = mot_path_join(folder, "model.safetensors");
    CHECK(!mot_file_exists(model));
    free(model);
    for (size_t i = 0; i < MOT_COUNT(there); i++) {
        char *path = mot_path_join(folder, there[i]);
        unlink(path);
        free(path);
    }
    CHECK_INT(rmdir(folder), 0);
    run_free(&r);
}

TEST(without_a_server_a_partition_with_nobody_on_the_other_side_cuts_off_nobody)
{
    struct result plain = go("allreduce", "100", "[]"),
                  r = go("allreduce", "100", "[{kind: partition, at: 1s, for: 3s, workers: [0, 1, 2, 3]}]");
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.hash == plain.hash);
    CHECK_INT(r.out.faults.given_up, 0);
}

TEST(the_loss_of_a_server_ends_the_run_also_if_no_worker_is_there_to_hear_of_it)
{
    struct result r = go("async", "800",
        "{detect: 3s, schedule: [{kind: crash, at: 1s, for: 8s, workers: [0, 1, 2, 3]}, "
        "{kind: crash, at: 1100ms, server: true}]}");
    CHECK_INT(r.status, MOT_EPEER);
    CHECK_INT(r.out.peer, 4);
    CHECK_INT(r.now, 4100 * MS);
}

TEST(the_loss_of_the_last_one_behind_moves_the_run_update_by_update_to_its_end)
{
    struct run r = { 0 };
    RUN_SET(&r, BASE, "method", "dpsgd", "method.on_loss", "continue", "method.period", "40", "stop.updates",
        "20", "cluster",
        "{workers: [{count: 3}, {speed: 100 samples/s}], faults: [{kind: crash, at: 1200ms, worker: 3}]}");
    run_go(&r);
    CHECK_INT(r.out.status, MOT_OK);
    CHECK_TEXT(r.out.ended_by, "updates");
    CHECK_INT(r.out.last.updates, 20); /* the others were at 37 */
    CHECK_INT(r.out.last.now, 1200 * MS);
    run_free(&r);
}

TEST(a_slow_link_costs_what_its_bytes_take)
{
    /* Softmax on digits is 650 floats; the model of one worker of four takes its
     * link 2600 B / (125 MB/s / 1e4) = 208 ms, both ways. */
    struct result plain = go("server", "10", "[]"),
                  r = go("server", "10", "[{kind: slow-link, at: 0, for: 1000s, factor: 10000, worker: 1}]");
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.hash == plain.hash);
    CHECK(r.now > plain.now + 9 * 416 * MS && r.now < plain.now + 11 * 416 * MS);
    CHECK_INT(r.out.faults.resent, 0);
}

/* ---- The seed decides ------------------------------------------------------------------------------ */

#define MIX                                                                                                  \
    "{until: 8s, detect: 500ms, drop: 3%%, duplicate: 3%%, reorder: 3%%, corrupt: 2%%, stall: 0.1/s, "       \
    "slow_link: 0.1/s, "                                                                                     \
    "partition: 0.05/s, partition_for: 200ms%s, schedule: [{kind: reorder, at: 2s, for: 1s, probability: "   \
    "50%%, workers: [0, 2]}]}"

static const char *mix_for(const char *method, char into[500])
{
    snprintf(into, 500, MIX, strcmp(method, "allreduce") == 0 ? "" : ", crash: 0.05/s, restart_after: 1s");
    return into;
}

TEST(a_run_with_faults_is_the_same_on_one_thread_and_on_two)
{
    static const char *const methods[] = { "allreduce", "server", "async" };
    char mix[500];
    for (int m = 0; m < 3; m++) {
        struct result one = simulate(methods[m], "200", mix_for(methods[m], mix), "1"),
                      two = simulate(methods[m], "200", mix_for(methods[m], mix), "2");
        CHECK(one.hash == two.hash);
        CHECK_INT(one.now, two.now);
        CHECK_INT(one.events, two.events);
        CHECK(memcmp(&one.out.faults, &two.out.faults, sizeof one.out.faults) == 0);
        CHECK(one.out.faults.resent > 0);
    }
}

static struct result in_folder(const char *method, const char *updates, const char *folder, bool resume)
{
    char mix[500], cluster[600];
    struct run r = { .ways = { .resume = resume, .replace = !resume } };
    snprintf(cluster, sizeof cluster, "{workers: [{count: 4, jitter: {name: lognormal}}], faults: %s}",
        mix_for(method, mix));
    RUN_SET(&r, BASE, "method", method, "stop.updates", updates, "cluster", cluster, "output", folder);
    run_go(&r);
    struct result result = { r.status != MOT_OK ? r.status : r.out.status, r.out.last.now, r.out.last.updates,
        r.out.model_hash, r.out.last.events, r.out };
    run_free(&r);
    return result;
}

TEST(a_run_goes_on_from_the_middle_of_its_faults_to_the_same_end)
{
    static const char *const methods[] = { "allreduce", "server", "async" },
                             *const stops[] = { "3", "41", "77", "110", "151" };
    for (int m = 0; m < 3; m++) {
        char folder[] = "/tmp/motley-faults-XXXXXX";
        if (!mkdtemp(folder)) abort();
        struct result whole = in_folder(methods[m], "200", folder, false);
        for (size_t i = 0; i < MOT_COUNT(stops); i++) {
            in_folder(methods[m], stops[i], folder, false);
            struct result r = in_folder(methods[m], "200", folder, true);
            CHECK(r.hash == whole.hash);
            CHECK_INT(r.now, whole.now);
            CHECK_INT(r.events, whole.events);
            CHECK(memcmp(&r.out.faults, &whole.out.faults, sizeof r.out.faults) == 0);
        }
        scratch_remove(folder);
    }
}

TEST(another_seed_has_other_faults)
{
    struct run r = { 0 };
    RUN_SET(&r, BASE, "method", "async", "stop.updates", "200", "seed", "2", "cluster",
        "{workers: 4, faults: {drop: 5%}}");
    run_go(&r);
    struct result one = go("async", "200", "{drop: 5%}");
    CHECK(one.now != r.out.last.now);
    run_free(&r);
}

TEST_MAIN()
