/* Crossover-SGD as whole runs: identities, what is sent, clocks, drivers, faults, wrong options. */
#include "played.h"
#include "base/file.h"
#include "scratch.h"
#include <stdlib.h>

#define CROSSOVER "method", "crossover"
/* Wait for others as one may: half are five times as slow, and jobs jitter. */
#define UNEVEN                                                                                               \
    "cluster",                                                                                               \
        "{workers: [{count: 4, speed: 20000/s, jitter: {name: lognormal, sigma: 0.5}}, {count: 4, speed: "   \
        "4000/s}], network: {latency: 10us}}"

/* ---- What is sent -------------------------------------------------------------------------------- */

TEST_SIMULATED(a_round_sends_the_model_once_whatever_the_segments_and_a_message_for_each)
{
    static const uint32_t sizes[] = { 2, 3, 8, 13, 64 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t segments = 1; segments <= 18; segments += 17) {
            uint32_t n = sizes[i], rounds = 10;
            struct result r = SIM("data", "digits", "model", "softmax", "evaluate.every", "1000000 updates",
                CROSSOVER, "workers", text_of(n), "method.segments", text_of(segments), "method.cut", "equal",
                "method.window", "10000", "stop.updates", text_of(rounds), "batch", "4");
            CHECK_INT(r.status, MOT_OK);
            CHECK_INT(r.bytes, (uint64_t)n * rounds * 4 * 650);
            /* besides, they meet once, in a tree */
            CHECK_INT(r.messages, n * rounds * segments + 2 * (n - 1));
        }
}

TEST_SIMULATED(groups_send_a_model_a_group_and_round_to_one_another)
{
    /* Inside, a tree of g - 1 gradients up and as many models down. */
    for (uint32_t groups = 2; groups <= 8; groups *= 2) {
        struct result r = SIM("data", "digits", "model", "softmax", "evaluate.every", "1000000 updates",
            CROSSOVER, "workers", "16", "method.groups", text_of(groups), "method.window", "10000",
            "stop.updates", "10", "batch", "4");
        uint64_t inside = 2 * (16 - groups);
        CHECK_INT(r.bytes, 10 * 4 * 650 * (groups + inside));
    }
}

/* ---- Identities -------------------------------------------------------------------------------------- */

TEST(one_group_is_allreduce_bit_for_bit)
{
#define SAME                                                                                                 \
    TINY_MLP, "batch", "[8, 3, 5, 8, 1]", "workers", "5", "optimizer.momentum", "0.9", "stop.updates", "40"
    struct result all = SIM(SAME, "method", "allreduce"), one = SIM(SAME, CROSSOVER, "method.groups", "1"),
                  live = THREADS(SAME, CROSSOVER, "method.groups", "1");
    CHECK(all.status == MOT_OK && one.hash == all.hash && live.hash == all.hash);
    CHECK_NEAR(one.consensus, 0, 0);
    struct result alone = SIM(TINY_MLP, "workers", "1", "stop.updates", "20", CROSSOVER),
                  plain = SIM(TINY_MLP, "workers", "1", "stop.updates", "20", "method", "allreduce");
    CHECK(alone.status == MOT_OK && alone.hash == plain.hash);
}

TEST(batches_that_are_added_up_are_one_batch)
{
    struct result micro = SIM(TINY_MLP, CROSSOVER, "workers", "4", "batch", "8", "method.micro", "4",
                      "stop.epochs", "5"),
                  whole = SIM(TINY_MLP, CROSSOVER, "workers", "4", "batch", "32", "stop.epochs", "5");
    CHECK(micro.status == MOT_OK && micro.hash == whole.hash);
    CHECK_INT(micro.updates, whole.updates);
    CHECK_INT(micro.samples, whole.samples);
    CHECK_INT(micro.now, whole.now);
    struct result live =
        THREADS(TINY_MLP, CROSSOVER, "workers", "4", "batch", "8", "method.micro", "4", "stop.epochs", "5");
    CHECK(live.hash == whole.hash && live.updates == whole.updates);
}

TEST_SIMULATED(groups_come_between_gossip_and_allreduce_and_sizes_of_parts_weigh)
{
#define SIZES TINY_MLP, "workers", "12", "partition", "quantity", "stop.updates", "60"
    struct result groups = SIM(SIZES, CROSSOVER, "method.groups", "3"), flat = SIM(SIZES, CROSSOVER),
                  equal = SIM(SIZES, CROSSOVER, "method.weigh", "equal"),
                  all = SIM(SIZES, "method", "allreduce");
    CHECK(groups.status == MOT_OK && flat.status == MOT_OK);
    CHECK(groups.consensus > 0 && groups.consensus < flat.consensus);
    CHECK_NEAR(groups.loss / all.loss, 1, 0.1);
    CHECK_NEAR(flat.loss / all.loss, 1, 0.1);
    CHECK(equal.status == MOT_OK && equal.hash != flat.hash);
}

/* ---- The clock ---------------------------------------------------------------------------------------- */

/* Jobs of 1 ms, and 20 ms from one worker to another: each has a link of 10 ms. */
static double round_ms(const char *method, uint32_t n)
{
    char cluster[120];
    snprintf(cluster, sizeof cluster,
        "{workers: [{count: %u, speed: 4000/s}], network: {bandwidth: 100Gbit, latency: 10ms}}", n);
    struct result r = SIM("data", "digits", "model", "{name: phantom, parameters: 1000}", "evaluate.every",
        "1000000 updates", "method", method, "cluster", cluster, "stop.updates", "20", "batch", "4",
        "sim.collective", "ring");
    return (double)r.now / 20e6;
}

TEST_SIMULATED(with_a_link_delay_a_round_takes_as_long_for_64_as_for_4_and_a_ring_grows_with_n)
{
    double four = round_ms("crossover", 4), ring = round_ms("allreduce", 4);
    CHECK_NEAR(four, 21, 0.1);
    for (uint32_t n = 8; n <= 64; n *= 2) {
        CHECK_NEAR(round_ms("crossover", n) / four, 1, 0.05);
        CHECK_NEAR(round_ms("allreduce", n) / ring, (40.0 * (n - 1) + 1) / 121, 0.01 * n);
    }
}

TEST(nobody_gets_2_windows_ahead_and_all_follow_the_slowest)
{
    static const char *const windows[] = { "1", "2", "5" };
    uint64_t hash = 0;
    for (int i = 0; i < 3; i++) { /* a segment for a seat that is taken would end it */
        struct result r = SIM(TINY_MLP, UNEVEN, CROSSOVER, "method.window", windows[i], "stop.updates", "60");
        CHECK_INT(r.status, MOT_OK);
        CHECK(i == 0 || r.hash == hash); /* the window changes the clock, never the model */
        hash = r.hash;
        CHECK(r.now >= 60 * UINT64_C(8000000));
    }
}

/* ---- Drivers -------------------------------------------------------------------------- */

TEST(one_model_simulated_and_on_threads)
{
    static const char *const ways[][6] = { { "method.window", "1" },
        { "method.cut", "equal", "method.segments", "7" }, { "method.peers", "unfair" },
        { "method.peers", "authors", "optimizer.momentum", "0.9" },
        { "method.groups", "2", "optimizer.momentum", "0.9" },
        { "method.mix_state", "true", "optimizer", "adamw" },
        { "method.groups", "4", "method.mix_state", "true", "optimizer.momentum", "0.9" } };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const char *settings[40] = { TINY_MLP, UNEVEN, CROSSOVER, "stop.updates", "30" };
        size_t at = 0;
        while (settings[at]) at++;
        for (int k = 0; k < 6 && ways[i][k]; k++) settings[at++] = ways[i][k];
        struct result sim = play(&mot_driver_sim, false, settings),
                      threads = play(&mot_driver_threads, false, settings);
        CHECK(sim.status == MOT_OK && threads.status == MOT_OK);
        if (sim.hash != threads.hash) FAIL("way %zu: another model", i);
        CHECK_INT(threads.updates, 30);
        if (i) continue;
        struct result slow = play(&mot_driver_threads, true, settings);
        CHECK(slow.status == MOT_OK && slow.hash == sim.hash);
    }
}

TEST(one_model_for_any_number_of_workers_simulated_and_on_threads)
{
    static const uint32_t sizes[] = { 2, 3, 5, 7, 16, 31, 64 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *n = text_of(sizes[i]);
        struct result sim = SIM(TINY_MLP, CROSSOVER, "workers", n, "batch", "2", "stop.updates", "12"),
                      threads =
                          THREADS(TINY_MLP, CROSSOVER, "workers", n, "batch", "2", "stop.updates", "12");
        CHECK(sim.status == MOT_OK && threads.status == MOT_OK && sim.hash == threads.hash);
        CHECK(isnan(sim.drift)); /* it cannot */
    }
}

static void resumes(const struct mot_driver *driver, const char *option, const char *value)
{
    char folder[] = "/tmp/motley-test-XXXXXX";
    CHECK(mkdtemp(folder));
    uint64_t hash[2] = { 0 };
    const char *const stop[] = { "41", "17", "41" };
    for (int part = 0; part < 3; part++) { /* whole; the first part; the rest */
        struct run r = { .ways = { .driver = driver, .resume = part == 2, .replace = true } };
        RUN_SET(&r, TINY_MLP, UNEVEN, CROSSOVER, option, value, "stop.updates", stop[part],
            "optimizer.momentum", "0.9", "output", folder);
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        if (part != 1) hash[part / 2] = r.out.model_hash;
        run_free(&r);
    }
    CHECK(hash[0] == hash[1]);
    scratch_remove(folder);
}

TEST(a_resumed_run_ends_as_if_it_had_not_stopped)
{
    resumes(&mot_driver_sim, "method.window", "3");
    resumes(&mot_driver_sim, "method.mode", "loose");
    resumes(&mot_driver_sim, "method.groups", "2");
    resumes(&mot_driver_threads, "method.window", "3");
    resumes(&mot_driver_threads, "method.groups", "2");
    resumes(&mot_driver_threads, "method.peers", "unfair");
}

TEST(when_all_data_has_been_seen_all_stop_in_the_same_round)
{
    /* 1438 rows over 3 workers: 480, 479 and 479, in batches of 64, 16 and 5: 8, 30 and 96 rounds. */
    struct result r = SIM(TINY_MLP, "workers", "3", "batch", "[64, 16, 5]", CROSSOVER, "sampler.passes", "1");
    CHECK_INT(r.status, MOT_OK);
    CHECK_TEXT(r.ended_by, "data");
    CHECK_INT(r.samples, 1438);
    CHECK_INT(r.updates, 96);
    struct result live =
        THREADS(TINY_MLP, "workers", "3", "batch", "[64, 16, 5]", CROSSOVER, "sampler.passes", "1");
    CHECK(live.hash == r.hash && live.updates == 96);
}

/* ---- Faults --------------------------------------------------------------------------- */

#define CRASH(rest) "cluster", "{workers: 6, faults: [{kind: crash, at: 1s, worker: 2" rest "}]}"
#define LOOSE CROSSOVER, "method.mode", "loose", "method.deadline", "50ms"

TEST(strict_a_lost_worker_ends_the_run_and_is_named)
{
    struct result r = SIM(TINY_MLP, CROSSOVER, "stop.updates", "100", CRASH(""));
    CHECK_INT(r.status, MOT_EPEER);
    CHECK(r.has_peer);
    CHECK_INT(r.peer, 2);
    r = SIM(TINY_MLP, CROSSOVER, "method.groups", "3", "stop.updates", "100", CRASH(""));
    CHECK(r.status == MOT_EPEER && r.peer == 2);
}

TEST_SIMULATED(loose_the_others_go_on_without_one_that_is_lost_or_stalls)
{
    struct result plain = SIM(TINY_MLP, LOOSE, "stop.updates", "100", "cluster", "{workers: 6}");
    struct result gone = SIM(TINY_MLP, LOOSE, "stop.updates", "100", CRASH(""));
    struct result back = SIM(TINY_MLP, LOOSE, "stop.updates", "100", CRASH(", for: 500ms"));
    CHECK(plain.status == MOT_OK && gone.status == MOT_OK && back.status == MOT_OK);
    CHECK(gone.updates == 100 && back.updates == 100);
    CHECK_NEAR(gone.lost, 5, 0); /* each of the others noticed */
    CHECK_NEAR(plain.lost + plain.dropped, 0, 0);
    CHECK_NEAR(plain.drift, 0, 1e-6);
    CHECK(gone.loss < 2 * plain.loss);
    /* Until it is called lost, a round lasts until the deadline at the most. */
    double longer = (double)(gone.now - plain.now) * 1e-9;
    CHECK(longer >= 0 && longer < 100 * 0.05);
    struct result stalls = SIM(TINY_MLP, LOOSE, "stop.updates", "100", "cluster",
        "{workers: 6, faults: [{kind: stall, at: 1s, for: 1s, worker: 2}]}");
    CHECK(stalls.status == MOT_OK && stalls.updates == 100);
    CHECK(stalls.dropped > 0 && stalls.drift > 0);
}

TEST(loose_the_others_do_not_wait_for_a_slow_worker_and_still_hear_of_it)
{
#define SLOW "cluster", "{workers: [{count: 7, speed: 1000/s}, {count: 1, speed: 200/s}]}", "batch", "16"
    struct result strict = SIM(TINY_MLP, CROSSOVER, SLOW, "stop.updates", "100"),
                  loose = SIM(TINY_MLP, LOOSE, SLOW, "method.deadline", "2ms", "stop.updates", "100");
    CHECK(strict.status == MOT_OK && loose.status == MOT_OK);
    CHECK_NEAR((double)strict.now, 100 * 80e6, 100 * 2e6);
    /* seven make a step in 16 to 18 ms, the eighth in 80 */
    CHECK(loose.now > 100 * UINT64_C(17000000) && loose.now < 100 * UINT64_C(21000000));
    CHECK(loose.consensus < 10 * strict.consensus); /* it follows the others' rounds: it is not left alone */
    CHECK(loose.drift > 0 && loose.loss < 1.5 * strict.loss);
}

TEST(frames_that_are_lost_or_late_change_nothing_but_the_time)
{
    struct result plain = SIM(TINY_MLP, CROSSOVER, "stop.updates", "60", "cluster", "{workers: 6}");
    struct result r = SIM(TINY_MLP, CROSSOVER, "stop.updates", "60", "cluster",
        "{workers: 6, faults: {drop: 5%, duplicate: 5%, reorder: 5%}}");
    CHECK(r.status == MOT_OK && r.hash == plain.hash);
    CHECK(r.now >= plain.now);
}

TEST(unfair_peers_move_the_mean_and_the_drift_says_so)
{
    struct result fair = SIM(TINY_MLP, CROSSOVER, "stop.updates", "40", "workers", "8"),
                  unfair = SIM(
                      TINY_MLP, CROSSOVER, "method.peers", "unfair", "stop.updates", "40", "workers", "8");
    CHECK(isnan(fair.drift) && unfair.drift > 1e-4);
}

/* ---- The experiment ------------------------------------------------------------------- */

#define REFUSED(says, ...)                                                                                   \
    do {                                                                                                     \
        CHECK_INT(SIM(TINY_MLP, CROSSOVER, "stop.updates", "1", __VA_ARGS__).status, MOT_EUSAGE);            \
        CHECK_HAS(mot_error(), says);                                                                        \
    } while (0)

TEST(wrong_options_are_refused)
{
    REFUSED("5 groups do not divide 8 workers", "method.groups", "5", "workers", "8");
    REFUSED("16 groups do not divide 8 workers", "method.groups", "16", "workers", "8");
    REFUSED("method.segments: 2000 segments, but the model has only 1210 parameters", "method.segments",
        "2000", "method.cut", "equal");
    REFUSED("method.segments: 5 segments, but the model has only 4 tensors", "method.segments", "5");
    REFUSED("a group cannot go on without", "method.groups", "2", "method.mode", "loose");
    REFUSED("window", "method.window", "0");
    REFUSED("deadline", "method.deadline", "0s");
    REFUSED("micro", "method.micro", "0");
    REFUSED("method.micro: a step of worker 0 takes 6000000000 samples", "method.micro", "1000000", "batch",
        "6000");
}

TEST_MAIN()
