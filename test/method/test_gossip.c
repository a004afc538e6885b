/* Methods without a server side by side, as whole runs: what is sent, identities, who waits for whom, what a
 * delay of the links costs, and peers that die or stall in the middle of a round. */
#include "played.h"
#include <math.h>
#include <stdlib.h>

#define SMALL                                                                                                \
    "data", "digits", "model", "softmax", "evaluate.train", "end", "evaluate.every", "1000000 updates"

static const uint32_t sizes[] = { 2, 3, 4, 5, 7, 8, 13, 16, 31, 61, 64 };
#define SIZES (SANITIZED ? 5 : MOT_COUNT(sizes))

/* ---- What is sent ------------------------------------------------------------------------------------ */

TEST(each_worker_sends_and_gets_4_bytes_a_parameter_and_peer_and_8_times_n_minus_1_over_n_in_a_ring)
{
    static const struct {
        const char *method;
        uint32_t models; /* that a worker sends in a round */
    } ways[] = { { "{name: crossover, segments: 1}", 1 },
        { "{name: crossover, segments: 18, cut: equal, window: 10000}", 1 }, { "sgp", 1 },
        { "{name: sgp, peers: 2}", 2 }, { "{name: sgp, peers: 3}", 3 } };
    for (size_t i = 0; i < SIZES; i++)
        for (size_t w = 0; w < MOT_COUNT(ways); w++) {
            uint32_t n = sizes[i];
            if (ways[w].models > 1 && n < 5) continue;
            for (int live = 0; live < (n <= 16 && !SANITIZED ? 2 : 1); live++) {
                struct result r = play(live ? &mot_driver_threads : &mot_driver_sim, false,
                    (const char *const[]){ SMALL, "batch", "2", "workers", text_of(n), "stop.updates", "6",
                        "method", ways[w].method, "cluster", "{network: {latency: 0s}}", NULL });
                CHECK_INT(r.status, MOT_OK);
                for (uint32_t k = 0; k < n; k++) {
                    CHECK_INT(r.sent[k], 6 * 4 * 650 * ways[w].models);
                    CHECK_INT(r.got[k], r.sent[k]);
                }
            }
        }
    for (size_t i = 0; i < SIZES; i++) {
        double n = sizes[i];
        struct result r = SIM(SMALL, "batch", "2", "workers", text_of(sizes[i]), "stop.updates", "6",
            "method", "allreduce", "sim.collective", "ring");
        for (uint32_t k = 0; k < sizes[i]; k++)
            CHECK_NEAR((double)r.sent[k], 6 * 8 * 650 * (n - 1) / n, 6 * 8 * n); /* whole parameters */
    }
}

/* ---- Identities -------------------------------------------------------------------------------------- */

TEST(for_any_n_one_group_is_allreduce_and_slow_momentum_of_0_local_sgd_bit_for_bit)
{
    for (size_t i = 0; i < SIZES; i++) {
#define EQUAL(method)                                                                                        \
    SIM(SMALL, "batch", "2", "workers", text_of(sizes[i]), "stop.updates", "15", "optimizer.momentum",       \
        "0.9", "method", method)                                                                             \
        .hash
        CHECK(EQUAL("{name: crossover, groups: 1}") == EQUAL("allreduce"));
        CHECK(EQUAL("{name: slowmo, period: 4, beta: 0, alpha: 1}") == EQUAL("{name: localsgd, period: 4}"));
        CHECK(EQUAL("{name: localsgd, period: 4}") != EQUAL("allreduce"));
    }
}

/* ---- Who waits for whom ---------------------------------------------------------------------------- */

#define EIGHT "cluster", "{workers: [{speed: 1000 samples/s}, {count: 7, speed: 1000 samples/s}]}"
#define SLOW "cluster", "{workers: [{speed: 200 samples/s}, {count: 7, speed: 1000 samples/s}]}"

/* Jobs a second of all workers but 0. */
static double others(const struct result *r)
{
    uint64_t jobs = 0;
    for (uint32_t i = 1; i < PLAYED_MOST; i++) jobs += r->jobs[i];
    return (double)jobs / ((double)r->now * 1e-9);
}

static double others_with_a_slow_one(const char *method)
{
    struct result even = SIM(SMALL, "batch", "16", "method", method, "stop.updates", "96", EIGHT),
                  slow = SIM(SMALL, "batch", "16", "method", method, "stop.updates", "96", SLOW);
    return even.status == MOT_OK && slow.status == MOT_OK ? others(&slow) / others(&even) : NAN;
}

TEST(all_who_wait_follow_a_worker_five_times_slower_and_at_their_own_pace_the_others_lose_less_than_a_fifth)
{
    static const char *const waits[] = { "allreduce", "dpsgd", "sgp", "osgp", "{name: osgp, lag: 3}",
        "crossover", "{name: crossover, groups: 2}", "{name: crossover, peers: unfair}", "localsgd", "slowmo",
        "{name: diloco, period: 16}", "{name: fedavg, steps: 1}" };
    static const char *const goes_on[] = { "adpsgd", "gosgd",
        "{name: crossover, mode: loose, deadline: 2ms}" };
    for (size_t i = 0; i < MOT_COUNT(waits); i++) {
        double left = others_with_a_slow_one(waits[i]);
        if (!(left > 0.18 && left < 0.25)) FAIL("%s: the others do %g of their steps", waits[i], left);
    }
    for (size_t i = 0; i < MOT_COUNT(goes_on); i++) {
        double left = others_with_a_slow_one(goes_on[i]);
        if (!(left > 0.8)) FAIL("%s: the others do %g of their steps", goes_on[i], left);
    }
}

/* ---- The links' delay -------------------------------------------------------------------------------- */

/* Jobs of 1 ms, and 20 ms from one worker to another. */
static double round_ms(const char *method, uint32_t n)
{
    char cluster[120];
    snprintf(cluster, sizeof cluster,
        "{workers: [{count: %u, speed: 4000/s}], network: {bandwidth: 100Gbit, latency: 10ms}}", n);
    struct result r = SIM("data", "digits", "model", "{name: phantom, parameters: 1000}", "evaluate.every",
        "1000000 updates", "method", method, "cluster", cluster, "topology", "ring", "stop.updates", "20",
        "batch", "4", "sim.collective", "ring");
    return r.status == MOT_OK ? (double)r.now / 20e6 : NAN;
}

TEST(with_a_link_delay_a_gossip_round_takes_as_long_for_any_n_and_a_ring_grows_with_n)
{
    for (size_t i = 1; i < SIZES; i++) {
        uint32_t n = sizes[i];
        CHECK_NEAR(round_ms("crossover", n), 21, 1.05);
        CHECK_NEAR(round_ms("sgp", n), 21, 1.05);
        CHECK_NEAR(round_ms("dpsgd", n), 20, 1.05); /* gradients are computed meanwhile */
        CHECK_NEAR(round_ms("adpsgd", n), 1, 0.1);  /* nobody waits */
        CHECK_NEAR(round_ms("gosgd", n), 1, 0.1);
        CHECK_NEAR(round_ms("allreduce", n), 1 + 40.0 * (n - 1), 0.01 * 40 * n);
    }
}

/* ---- Peers that die or stall ------------------------------------------------------------------------- */

/* Rounds of 32 ms of computing and 21 ms on the way, and a fault in every other millisecond of the fourth. */
TEST(whenever_a_peer_dies_or_stalls_in_a_round_the_others_finish_and_stay_finite)
{
    static const char *const methods[] = { "{name: crossover, mode: loose, deadline: 60ms}",
        "{name: crossover, mode: loose, deadline: 60ms, peers: unfair, mix_state: true}",
        "{name: sgp, on_loss: continue}", "{name: osgp, on_loss: continue}", "adpsgd", "gosgd",
        "{name: dpsgd, on_loss: continue}" };
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
#define ROUNDS                                                                                               \
    "data", "digits", "data.rows", "600", "model", "softmax", "evaluate.train", "end", "evaluate.every",     \
        "1000000 updates", "batch", "32", "optimizer", "{name: sgd, lr: 0.05, momentum: 0.5}", "topology",   \
        "ring", "stop.updates", "40", "method", methods[m], "cluster"
#define SEVEN "workers: [{count: 7, speed: 1000 samples/s}], network: {bandwidth: 1Mbit, latency: 0s}"
        struct result calm = SIM(ROUNDS, "{" SEVEN "}");
        CHECK_INT(calm.status, MOT_OK);
        for (int at = 160; at < 230; at += SANITIZED ? 16 : 2)
            for (int stall = 0; stall < 2; stall++) {
                char cluster[300];
                snprintf(cluster, sizeof cluster,
                    "{" SEVEN ", faults: {detect: 300ms, schedule: [{kind: %s, at: %dms, worker: 2%s}]}}",
                    stall ? "stall" : "crash", at, stall ? ", for: 500ms" : "");
                struct result r = SIM(ROUNDS, cluster);
                if (r.status != MOT_OK || r.updates != 40 || !isfinite(r.loss) || r.loss > 2 * calm.loss)
                    FAIL("%s, %s after %d ms: status %d, %llu updates, loss %g (%g)", methods[m],
                        stall ? "stall" : "death", at, (int)r.status, (unsigned long long)r.updates, r.loss,
                        calm.loss);
                /* Until a death is noticed or the stall is over; at their own pace six do the rest. */
                double longer = (double)r.now / (double)calm.now, wait = 0.6e9 / (double)calm.now;
                if (longer > 7.0 / 6 + wait)
                    FAIL("%s, %s after %d ms: %g times as long", methods[m], stall ? "stall" : "death", at,
                        longer);
            }
    }
}

TEST_MAIN()
