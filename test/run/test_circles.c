/* Collectives of groups, of their roots and of all workers: to the root, from it, or to everyone; with floats
 * or without. Everyone gets what it should, and every driver gives the same model. */
#include "run/circles.h"
#include "method/methods.h"
#include "run/run.h"
#include "scratch.h"
#include <stdlib.h>

static void set_up(struct run *r, uint32_t workers, uint32_t groups, const char *const *more)
{
    static const struct mot_method *const methods[] = { &circles, NULL };
    static char n[16], g[16];
    snprintf(n, sizeof n, "%u", workers);
    snprintf(g, sizeof g, "%u", groups);
    mot_methods_extend(methods);
    circles_reset();
    RUN_SET(r, "data", "digits", "model", "softmax", "method", "circles", "method.groups", g, "batch", "1",
        "evaluate.every", "1000 updates");
    if (more) run_set_all(r, more);
    if (!more || strcmp(more[0], "cluster") != 0) run_set(r, "workers", n);
}

#define ROUNDS (SANITIZED ? 6 : 12)
static void go(struct run *r, uint64_t *hash)
{
    char rounds[16];
    snprintf(rounds, sizeof rounds, "%d", ROUNDS);
    run_set(r, "stop.updates", rounds);
    run_go(r);
    CHECK_INT(r->status, MOT_OK);
    CHECK_INT(r->out.status, MOT_OK);
    CHECK_INT(r->out.last.updates, ROUNDS);
    CHECK_INT(atomic_load(&circles_wrong), 0);
    *hash = r->out.model_hash;
    run_free(r);
    mot_methods_extend(NULL);
}

#define PAIRS(...)                                                                                           \
    (const char *const[]) { __VA_ARGS__, NULL }

static uint64_t simulated(uint32_t workers, uint32_t groups, const char *collective)
{
    struct run r = { 0 };
    set_up(&r, workers, groups, PAIRS("sim.collective", collective));
    uint64_t hash = 0;
    go(&r, &hash);
    return hash;
}

TEST_SIMULATED(in_groups_of_any_size_everyone_gets_what_it_should)
{
    uint64_t seen[MOT_COLL_SCOPES][3] = { 0 };
    for (uint32_t n = 2; n <= 16; n++)
        for (uint32_t g = 1; g <= n; g++) {
            if (n % g) continue;
            int before = test_failures;
            uint64_t hash = simulated(n, g, "ring");
            for (int i = 0; i < MOT_COLL_SCOPES * 3; i++)
                seen[i / 3][i % 3] += atomic_load(&circles_seen[i / 3][i % 3]);
            CHECK(simulated(n, g, "tree") == hash);
            CHECK(simulated(n, g, "doubling") == hash);
            if (test_failures != before) FAIL("with %u workers in %u groups", n, g);
        }
    for (int i = 0; i < MOT_COLL_SCOPES * 3; i++) CHECK(seen[i / 3][i % 3] > 50); /* nothing was left out */
}

/* ---- Threads ------------------------------------------------------------------------------------ */

static const uint32_t crews[][2] = { { 2, 1 }, { 2, 2 }, { 3, 1 }, { 4, 2 }, { 6, 2 }, { 6, 3 }, { 9, 3 },
    { 12, 4 }, { 15, 3 }, { 16, 16 } };

TEST(on_threads_everyone_gets_the_simulated_bits)
{
    for (size_t i = 0; i < MOT_COUNT(crews); i += 1 + SANITIZED) {
        struct run r = { .ways = { .driver = &mot_driver_threads } };
        uint64_t hash = 0;
        set_up(&r, crews[i][0], crews[i][1], NULL);
        go(&r, &hash);
        CHECK(hash == simulated(crews[i][0], crews[i][1], "ring"));
    }
}

TEST(over_emulated_links_too_whatever_the_steps)
{
    static const char *const ways[] = { "ring", "tree", "doubling" };
    for (size_t i = 0; i < MOT_COUNT(ways); i++) {
        struct run r = { .ways = { .driver = &mot_driver_threads, .emulate = true } };
        uint64_t hash = 0;
        set_up(&r, 6, 2, PAIRS("sim.collective", ways[i]));
        go(&r, &hash);
        CHECK(hash == simulated(6, 2, ways[i]));
    }
}

TEST(recorded_and_replayed_they_give_the_same_model)
{
    char folder[] = "/tmp/motley-circles-XXXXXX";
    if (!mkdtemp(folder)) abort();
    for (size_t i = 1; i < MOT_COUNT(crews); i += 3) {
        struct run r = { .ways = { .driver = &mot_driver_threads, .record = true, .replace = true } };
        uint64_t hash = 0, again = 0;
        set_up(&r, crews[i][0], crews[i][1], PAIRS("output", folder));
        go(&r, &hash);
        r = (struct run){ .ways = { .driver = &mot_driver_replay, .arrivals = folder } };
        set_up(&r, crews[i][0], crews[i][1], NULL);
        go(&r, &again);
        CHECK(hash == again);
    }
    scratch_remove(folder);
}

/* ---- Checkpoints -------------------------------------------------------------------------------- */

#define SLOW_LINKS                                                                                           \
    "cluster",                                                                                               \
        "{workers: [{count: 6, speed: 400 samples/s, jitter: {name: lognormal, sigma: 0.5}}], network: "     \
        "{bandwidth: 2 Mbit/s, latency: 3ms}}"

static void until(struct run *r, const char *folder, const char *stop, bool resume)
{
    *r = (struct run){ .ways = { .resume = resume, .replace = true } };
    set_up(r, 6, 2, PAIRS(SLOW_LINKS, "output", folder, "stop.time", stop));
    run_go(r);
}

/* The run stops at any moment, which is nearly always in the middle of several collectives. */
TEST_SIMULATED(a_run_that_stops_in_a_collective_goes_on_as_if_it_had_not)
{
    char folder[] = "/tmp/motley-circles-XXXXXX";
    struct run r;
    if (!mkdtemp(folder)) abort();
    until(&r, folder, "3s", false);
    CHECK_INT(r.status, MOT_OK);
    uint64_t hash = r.out.model_hash, events = r.out.last.events, updates = r.out.last.updates;
    run_free(&r);
    CHECK(updates > 5);
    static const char *const stops[] = { "0.11s", "0.2s", "0.47s", "0.6s", "0.81s", "1.13s", "1.6s",
        "2.22s" };
    for (size_t i = 0; i < MOT_COUNT(stops); i++) {
        until(&r, folder, stops[i], false);
        CHECK(r.out.last.events < events);
        run_free(&r);
        until(&r, folder, "3s", true);
        CHECK_INT(r.status, MOT_OK);
        CHECK(r.out.model_hash == hash);
        CHECK_INT(r.out.last.events, events);
        CHECK_INT(r.out.last.updates, updates);
        CHECK_INT(atomic_load(&circles_wrong), 0);
        run_free(&r);
    }
    scratch_remove(folder);
    mot_methods_extend(NULL);
}

/* ---- Links that lose frames --------------------------------------------------------------------- */

TEST(links_that_lose_double_and_delay_frames_change_nothing)
{
    struct run r = { 0 };
    uint64_t hash = 0;
    set_up(&r, 6, 3,
        PAIRS("cluster",
            "{workers: 6, network: {latency: 1ms}, faults: {drop: 0.1, duplicate: 0.05, reorder: 0.1}}"));
    go(&r, &hash);
    CHECK(hash == simulated(6, 3, "ring"));
}

/* ---- Lost workers ------------------------------------------------------------------------------- */

TEST_SIMULATED(a_worker_that_crashes_stalls_its_own_group_only)
{
    struct run r = { 0 };
    set_up(&r, 9, 3,
        PAIRS("cluster",
            "{workers: 9, network: {latency: 1ms}, faults: {schedule: [{kind: crash, worker: 4, at: 0.5s}], "
            "detect: 1s}}",
            "method.apart", "true", "stop.time", "20s"));
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(atomic_load(&circles_wrong), 0);
    uint64_t least = UINT64_MAX, most = 0;
    for (mot_node i = 0; i < 9; i++) {
        uint64_t rounds = atomic_load(&circles_rounds[i]);
        if (i / 3 != 1 && rounds < least) least = rounds;
        if (i / 3 == 1 && rounds > most) most = rounds;
    }
    CHECK(most > 0);
    CHECK(least > 10 * most);
    run_free(&r);
    mot_methods_extend(NULL);
}

/* ---- Bad input ---------------------------------------------------------------------------------- */

TEST(groups_must_divide_the_workers)
{
    struct run r = { 0 };
    set_up(&r, 8, 3, NULL);
    run_go(&r);
    CHECK_INT(r.status, MOT_EUSAGE);
    CHECK(strstr(mot_error(), "3 groups do not divide 8 workers"));
    mot_methods_extend(NULL);
}

TEST_MAIN()
