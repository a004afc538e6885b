/* SGP and OSGP as whole runs: agreement, weights, bytes, clocks, drivers, faults. */
#include "played.h"
#include "scratch.h"
#include <stdlib.h>

/* ---- Must hold ---------------------------------- */

/* Nobody steps after update 10: the last step is mixed in that round and those after it. */
#define STILL                                                                                                \
    "optimizer.momentum", "0", "optimizer.schedule", "{name: polynomial, power: 1, total: 10, end: 0}"

TEST(models_that_stand_still_agree_after_log2_n_rounds_if_n_is_a_power_of_2_and_on_threads_too)
{
    static const struct {
        const char *workers, *before, *after;
        bool power;
    } cases[] = { { "4", "10", "11", true }, { "8", "11", "12", true }, { "16", "12", "13", true },
        { "6", "11", "12", false }, { "7", "11", "12", false } };
    for (size_t i = 0; i < MOT_COUNT(cases); i++)
        for (int threads = 0; threads < 2; threads++) {
            double apart[2];
            for (int after = 0; after < 2; after++) {
                const char *const settings[] = { TINY_MLP, STILL, "method", "sgp", "partition", "sorted",
                    "workers", cases[i].workers, "stop.updates", after ? cases[i].after : cases[i].before,
                    NULL };
                struct result r = play(threads ? &mot_driver_threads : &mot_driver_sim, false, settings);
                CHECK_INT(r.status, MOT_OK);
                CHECK_NEAR(r.mass, 1, 1e-12);
                apart[after] = r.consensus;
            }
            CHECK(apart[0] > 1e-6);
            CHECK(cases[i].power ? apart[1] <= 1e-6 * apart[0] : apart[1] > 1e-2 * apart[0]);
        }
}

TEST(weights_sum_to_n_on_irregular_graphs_with_late_shares_and_whatever_the_speeds)
{
    static const char *const methods[] = { "{name: sgp, graph: topology}", "{name: osgp, graph: topology}",
        "{name: osgp, lag: 5}", "{name: osgp, lag: 3, peers: 2}", "{name: osgp, lag: 2, graph: topology}" };
    for (size_t m = 0; m < MOT_COUNT(methods); m++)
        for (int threads = 0; threads < 2; threads++) {
            const char *const settings[] = { TINY_MLP, TWO_SPEEDS, "method", methods[m], "topology", "star",
                "stop.updates", "40", NULL };
            struct result r = play(threads ? &mot_driver_threads : &mot_driver_sim, threads == 1, settings);
            CHECK_INT(r.status, MOT_OK);
            CHECK_NEAR(r.mass, 1, 1e-12);
        }
}

TEST_SIMULATED(a_round_sends_the_model_to_k_peers_whatever_n_and_to_all_neighbours_in_a_topology)
{
    static const char *const workers[] = { "2", "5", "8", "13", "64" };
    for (size_t i = 0; i < MOT_COUNT(workers); i++)
        for (int k = 1; k <= (i ? 3 : 1); k++) {
            char peers[2] = { (char)('0' + k), '\0' };
            struct result r = SIM(TINY_MLP, "method", "sgp", "method.peers", peers, "workers", workers[i],
                "stop.updates", "9", "batch", "4", "cluster", "{network: {latency: 0s}}");
            uint64_t n = strtoull(workers[i], NULL, 10);
            CHECK_INT(r.status, MOT_OK);
            CHECK_INT(r.messages, 9 * n * (uint64_t)k);
            CHECK_INT(r.bytes, 9 * n * (uint64_t)k * 4 * r.parameters);
        }
    struct result star = SIM(TINY_MLP, "method", "sgp", "method.graph", "topology", "topology", "star",
        "workers", "5", "stop.updates", "9");
    CHECK_INT(star.messages, 9 * 8);
}

/* ---- Identities ---------------------------------- */

TEST(one_worker_is_plain_sgd_and_two_take_the_mean_of_two_steps)
{
    struct result alone = SIM(TINY_MLP, "method", "sgp", "workers", "1", "stop.updates", "20"),
                  sum = SIM(TINY_MLP, "method", "allreduce", "workers", "1", "stop.updates", "20");
    CHECK(alone.status == MOT_OK && alone.hash == sum.hash);
    /* With two the models are equal after each round: allreduce, but for rounding. */
    struct result two = SIM(TINY_MLP, "method", "sgp", "workers", "2", "stop.updates", "20",
                      "optimizer.momentum", "0"),
                  both = SIM(TINY_MLP, "method", "allreduce", "workers", "2", "stop.updates", "20",
                      "optimizer.momentum", "0");
    CHECK_NEAR(two.consensus, 0, 1e-12);
    CHECK_NEAR(two.loss, both.loss, 1e-5 * both.loss);
}

/* ---- The clock ---------------------------------- */

TEST(sgp_waits_for_models_and_osgp_computes_while_they_travel)
{
    /* A job takes 32 ms; a model of 650 parameters 20.8 ms at 1 Mbit/s. */
#define LINK                                                                                                 \
    "data", "digits", "model", "softmax", "evaluate.train", "end", "workers", "4", "batch", "32",            \
        "stop.updates", "10", "cluster",                                                                     \
        "{workers: [{count: 4, speed: 1000 samples/s}], network: {bandwidth: 1Mbit, latency: 0s}}"
    struct result waits = SIM(LINK, "method", "sgp"), goes_on = SIM(LINK, "method", "osgp");
    CHECK_INT(waits.now, 10 * (UINT64_C(32000000) + 20800000));
    CHECK_INT(goes_on.now, 10 * UINT64_C(32000000));
}

TEST(a_stall_shorter_than_the_lag_delays_nobody_else)
{
    /* Worker 1 is stopped for 50 ms, in which the others do 5 rounds of 10 ms. */
#define STALL(at)                                                                                            \
    "cluster",                                                                                               \
        "{workers: [{count: 4, speed: 3200 samples/s}], network: {bandwidth: none, latency: 0s}, faults: "   \
        "[{kind: stall, at: " at ", for: 50ms, worker: 1}]}"
    struct result in_step =
        SIM(TINY_MLP, "method", "sgp", "batch", "32", "stop.updates", "30", STALL("95ms"));
    struct result late = SIM(
        TINY_MLP, "method", "osgp", "method.lag", "6", "batch", "32", "stop.updates", "30", STALL("95ms"));
    CHECK_INT(in_step.now, UINT64_C(350) * 1000000);
    CHECK_INT(late.now, UINT64_C(350) * 1000000);                  /* worker 1 itself ends so late */
    CHECK(late.samples >= in_step.samples + UINT64_C(3) * 4 * 32); /* the others are ahead */
}

/* ---- Drivers ---------------------------------- */

static const char *const variants[] = { "{name: sgp}", "{name: sgp, peers: 2}",
    "{name: sgp, graph: topology}", "{name: osgp}", "{name: osgp, lag: 4, peers: 3}",
    "{name: osgp, lag: 2, graph: topology}" };

TEST(one_model_simulated_and_on_threads)
{
    for (size_t m = 0; m < MOT_COUNT(variants); m++) {
        const char *const settings[] = { TINY_MLP, TWO_SPEEDS, "topology", "star", "method", variants[m],
            "stop.updates", "40", "sizing", "proportional", "optimizer.momentum", "0.9", NULL };
        struct result sim = play(&mot_driver_sim, false, settings),
                      threads = play(&mot_driver_threads, false, settings),
                      slow = play(&mot_driver_threads, true, settings);
        CHECK(sim.status == MOT_OK && threads.status == MOT_OK && slow.status == MOT_OK);
        CHECK(sim.hash == threads.hash && sim.hash == slow.hash);
        CHECK(sim.consensus == threads.consensus && sim.mass == threads.mass);
        CHECK_INT(threads.updates, 40);
    }
}

static struct result part_of(
    const struct mot_driver *driver, const char *method, const char *updates, const char *folder, bool resume)
{
    struct run r = { .ways = { .driver = driver, .resume = resume, .replace = true } };
    RUN_SET(&r, TINY_MLP, TWO_SPEEDS, "topology", "star", "method", method, "stop.updates", updates,
        "optimizer.momentum", "0.9", "output", folder);
    run_go(&r);
    struct result x = { .status = r.status };
    if (r.status == MOT_OK)
        x = (struct result){ .status = r.out.status,
            .hash = r.out.model_hash,
            .now = r.out.last.now,
            .updates = r.out.last.updates,
            .loss = r.out.last.score.train_loss,
            .mass = r.out.last.mixed.mass };
    run_free(&r);
    return x;
}

TEST(a_resumed_run_ends_as_if_it_had_not_stopped)
{
    for (size_t m = 0; m < MOT_COUNT(variants); m++)
        for (int threads = 0; threads < 2; threads++) {
            const struct mot_driver *driver = threads ? &mot_driver_threads : &mot_driver_sim;
            char folder[] = "/tmp/motley-test-XXXXXX";
            CHECK(mkdtemp(folder));
            struct result whole = part_of(driver, variants[m], "41", folder, false);
            CHECK_INT(part_of(driver, variants[m], "17", folder, false).status, MOT_OK);
            struct result rest = part_of(driver, variants[m], "41", folder, true);
            CHECK(whole.status == MOT_OK && rest.status == MOT_OK);
            CHECK_INT(rest.updates, 41);
            CHECK_NEAR(rest.mass, 1, 1e-12);
            /* Live, what was under way is not kept: its weight went back to who sent it. */
            if (threads && strstr(variants[m], "osgp")) CHECK_NEAR(rest.loss, whole.loss, 0.2 * whole.loss);
            else CHECK(rest.hash == whole.hash && (threads || rest.now == whole.now));
            scratch_remove(folder);
        }
}

TEST(when_all_data_has_been_seen_all_stop_in_the_same_round)
{
    /* 1438 rows over 3 workers: 480, 479 and 479, in batches of 64, 16 and 5: 8, 30 and 96 rounds. */
    for (size_t m = 0; m < MOT_COUNT(variants); m++) {
        if (strstr(variants[m], "peers: 3")) continue;
        struct result r = SIM(
            TINY_MLP, "workers", "3", "batch", "[64, 16, 5]", "method", variants[m], "sampler.passes", "1");
        CHECK_INT(r.status, MOT_OK);
        CHECK_TEXT(r.ended_by, "data");
        CHECK_INT(r.samples, 1438);
        CHECK_INT(r.updates, 96);
    }
}

/* ---- Faults ---------------------------------- */

#define CRASH(rest) "cluster", "{workers: 6, faults: [{kind: crash, at: 1s, worker: 2" rest "}]}"

TEST(a_lost_worker_ends_the_run_and_is_named)
{
    struct result r = SIM(TINY_MLP, "method", "sgp", "stop.updates", "100", CRASH(""));
    CHECK_INT(r.status, MOT_EPEER);
    CHECK_INT(r.peer, 2);
}

TEST_SIMULATED(the_others_go_on_if_they_may_its_weight_is_missed_and_one_that_comes_back_is_not_taken_in)
{
    for (size_t m = 0; m < MOT_COUNT(variants); m++) {
        struct result plain =
            SIM(TINY_MLP, "method", variants[m], "topology", "ring", "stop.updates", "100", "workers", "6");
        struct result gone = SIM(TINY_MLP, "method", variants[m], "topology", "ring", "method.on_loss",
            "continue", "stop.updates", "100", CRASH(""));
        struct result back = SIM(TINY_MLP, "method", variants[m], "topology", "ring", "method.on_loss",
            "continue", "stop.updates", "100", CRASH(", for: 500ms"));
        CHECK(gone.status == MOT_OK && back.status == MOT_OK);
        CHECK_INT(gone.updates, 100);
        CHECK(gone.hash == back.hash);
        CHECK(gone.mass < 0.95 && gone.mass > 0.5); /* its own, and what was sent to it before word came */
        CHECK(gone.loss < 2 * plain.loss);
    }
}

TEST(workers_that_could_no_longer_reach_each_other_stop_instead_of_draining_one_another)
{
    /* Worker 0 of 8 sends to 1, 2 and 4 alone. */
    struct result r = SIM(TINY_MLP, "method", "sgp", "method.on_loss", "continue", "stop.updates", "300",
        "cluster", "{workers: 8, faults: [{kind: crash, at: 1s, workers: [1, 2, 4]}]}");
    CHECK_INT(r.status, MOT_EPEER);
    CHECK(isfinite(r.loss));
}

/* ---- Bad input ---------------------------------- */

TEST(options_that_cannot_be_are_refused)
{
    CHECK_INT(SIM(TINY_MLP, "method", "sgp", "workers", "8", "method.peers", "4").status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "at most 3");
    CHECK_INT(SIM(TINY_MLP, "method", "sgp", "method.peers", "0").status, MOT_EUSAGE);
    CHECK_INT(SIM(TINY_MLP, "method", "osgp", "method.lag", "0").status, MOT_EUSAGE);
    CHECK_INT(SIM(TINY_MLP, "method", "sgp", "method.lag", "1").status, MOT_EUSAGE);
    CHECK_INT(
        SIM(TINY_MLP, "method", "sgp", "method.graph", "topology", "method.peers", "2").status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "all its neighbours");
    CHECK_INT(SIM(TINY_MLP, "method", "sgp", "method.graph", "topology", "workers", "4", "topology",
                  "{name: edges, list: [0-1, 2-3]}")
                  .status,
        MOT_EUSAGE);
    CHECK_HAS(mot_error(), "no path");
}

TEST_MAIN()
