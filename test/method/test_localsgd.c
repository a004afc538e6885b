/* Local SGD, SlowMo and DiLoCo as whole runs: identities with other methods, what is sent, ends, drivers. */
#include "../run/run.h"
#include "base/file.h"
#include "scratch.h"
#include <stdlib.h>

#define SMALL                                                                                                \
    "data", "digits", "model", "mlp", "model.hidden", "[16]", "evaluate.train", "end", "evaluate.every",     \
        "1000000 updates"

struct result {
    enum mot_status status;
    uint64_t hash, updates, bytes, samples;
    mot_time now;
    double consensus;
    char ended_by[16];
    size_t dim;
    float *x;
};

static struct result play(struct mot_job_ways ways, const char *const *settings)
{
    struct run r = { .ways = ways };
    run_set_all(&r, settings);
    run_go(&r);
    struct result x = { .status = r.status };
    if (r.status == MOT_OK) {
        x = (struct result){ .status = r.out.status,
            .hash = r.out.model_hash,
            .updates = r.out.last.updates,
            .bytes = r.out.last.bytes_sent,
            .samples = r.out.last.samples,
            .now = r.out.last.now,
            .consensus = r.out.last.mixed.consensus,
            .dim = r.job.net.dim };
        snprintf(x.ended_by, sizeof(x.ended_by), "%s", r.out.ended_by);
        x.x = malloc(x.dim * sizeof(float));
        memcpy(x.x, r.out.x, x.dim * sizeof(float));
    }
    run_free(&r);
    return x;
}

#define SETTINGS(...)                                                                                        \
    (const char *const[]) { __VA_ARGS__, NULL }
#define SIM(...) play((struct mot_job_ways){ .driver = &mot_driver_sim }, SETTINGS(__VA_ARGS__))

/* The largest difference between two models, relative to the largest parameter; frees both. */
static double apart(struct result a, struct result b)
{
    double most = 0, size = 0;
    if (a.status != MOT_OK || b.status != MOT_OK || a.dim != b.dim) return INFINITY;
    for (size_t i = 0; i < a.dim; i++) {
        most = fmax(most, fabs((double)a.x[i] - (double)b.x[i]));
        size = fmax(size, fabs((double)a.x[i]));
    }
    free(a.x);
    free(b.x);
    return most / size;
}

/* To the bit. */
static bool equal(struct result a, struct result b)
{
    bool same = a.status == MOT_OK && b.status == MOT_OK && a.hash == b.hash && a.updates == b.updates;
    free(a.x);
    free(b.x);
    return same;
}

/* ---- Identities ------------------------------------------------------------------------------------- */

TEST(with_a_period_of_1_and_plain_sgd_it_is_allreduce_but_for_rounding)
{
    static const char *const workers[] = { "1", "2", "3", "5", "8", "13", "64" };
    for (size_t i = 0; i < MOT_COUNT(workers); i++)
        CHECK_NEAR(apart(SIM(SMALL, "workers", workers[i], "stop.updates", "40", "method", "allreduce"),
                       SIM(SMALL, "workers", workers[i], "stop.updates", "40", "method",
                           "{name: localsgd, period: 1}")),
            0, 2e-6);
        /* also with batches that differ, and workers that run out of data before others */
#define UNEVEN "workers", "3", "batch", "[64, 16, 5]", "sampler.passes", "1"
    CHECK_NEAR(apart(SIM(SMALL, UNEVEN, "method", "allreduce"),
                   SIM(SMALL, UNEVEN, "method", "{name: localsgd, period: 1}")),
        0, 4e-6);
}

TEST(clipping_each_gradient_by_itself_is_another_method)
{
    CHECK(apart(SIM(SMALL, "workers", "3", "stop.updates", "20", "method", "allreduce", "optimizer.clip",
                    "0.1"),
              SIM(SMALL, "workers", "3", "stop.updates", "20", "method", "{name: localsgd, period: 1}",
                  "optimizer.clip", "0.1")) > 1e-4);
}

TEST(while_it_sums_gradients_it_is_allreduce_bit_for_bit_whatever_the_optimiser)
{
    static const char *const optimisers[] = { "{name: sgd, momentum: 0.9, clip: 0.5}", "adamw", "lars" };
    for (size_t i = 0; i < MOT_COUNT(optimisers); i++) {
        CHECK(equal(SIM(SMALL, "workers", "3", "stop.updates", "30", "optimizer", optimisers[i], "method",
                        "allreduce"),
            SIM(SMALL, "workers", "3", "stop.updates", "30", "optimizer", optimisers[i], "method",
                "{name: localsgd, local_from: 30}")));
        CHECK(!equal(SIM(SMALL, "workers", "3", "stop.updates", "30", "optimizer", optimisers[i], "method",
                         "allreduce"),
            SIM(SMALL, "workers", "3", "stop.updates", "30", "optimizer", optimisers[i], "method",
                "{name: localsgd, local_from: 28}")));
    }
}

TEST(slowmo_and_diloco_without_momentum_and_with_a_rate_of_1_are_local_sgd_bit_for_bit)
{
    static const char *const rest[] = { "", ", overlap: true", ", state: average", ", local_from: 7" };
    for (size_t i = 0; i < MOT_COUNT(rest); i++) {
        char method[3][100];
        snprintf(method[0], sizeof(method[0]), "{name: localsgd, period: 6%s}", rest[i]);
        snprintf(method[1], sizeof(method[1]), "{name: slowmo, period: 6, beta: 0, alpha: 1%s}", rest[i]);
        snprintf(method[2], sizeof(method[2]),
            "{name: diloco, period: 6, outer_momentum: 0, outer_rate: 1%s}", rest[i]);
        for (int m = 1; m < 3; m++)
            CHECK(equal(SIM(SMALL, "workers", "5", "stop.updates", "50", "optimizer.momentum", "0.9",
                            "optimizer.schedule", "cosine", "method", method[0]),
                SIM(SMALL, "workers", "5", "stop.updates", "50", "optimizer.momentum", "0.9",
                    "optimizer.schedule", "cosine", "method", method[m])));
    }
}

TEST(one_worker_alone_is_plain_sgd)
{
    CHECK_NEAR(apart(SIM(SMALL, "workers", "1", "stop.updates", "60", "method", "allreduce"),
                   SIM(SMALL, "workers", "1", "stop.updates", "60", "method", "{name: localsgd, period: 7}")),
        0, 2e-6);
}

/* Every step averages a model that all have left by one step of their own: D-PSGD on a complete graph. */
TEST(overlapped_with_a_period_of_1_it_is_d_psgd_on_the_complete_graph_but_for_rounding)
{
    struct result a = SIM(SMALL, "workers", "4", "stop.updates", "30", "method",
                      "{name: localsgd, period: 1, overlap: true, weigh: equal}"),
                  b = SIM(SMALL, "workers", "4", "stop.updates", "30", "method",
                      "{name: dpsgd, weigh: equal}", "topology", "{name: complete, weights: laplacian}");
    CHECK(a.now > 0 && b.now > 0);
    CHECK_NEAR(apart(a, b), 0, 2e-6);
}

/* ---- What is sent, and when models meet ---------------------------------------------------------------- */

TEST(a_period_of_8_sends_an_eighth_and_averaged_momentum_sends_twice_that)
{
    struct result all = SIM(SMALL, "workers", "4", "stop.updates", "48", "method", "allreduce"),
                  some = SIM(
                      SMALL, "workers", "4", "stop.updates", "48", "method", "{name: localsgd, period: 8}"),
                  slots = SIM(SMALL, "workers", "4", "stop.updates", "48", "method",
                      "{name: localsgd, period: 8, state: average}", "optimizer.momentum", "0.9");
    CHECK_INT(all.bytes, 8 * some.bytes);
    CHECK_INT(slots.bytes, 2 * some.bytes);
    free(all.x);
    free(some.x);
    free(slots.x);
}

TEST(models_are_one_after_an_averaging_and_only_then)
{
    static const char *const updates[] = { "1", "8", "9", "16", "20" };
    static const bool one[] = { false, true, false, true, false };
    for (size_t i = 0; i < MOT_COUNT(updates); i++) {
        struct result r = SIM(SMALL, "workers", "3", "stop.updates", updates[i], "method", "localsgd");
        CHECK(one[i] ? r.consensus == 0 : r.consensus > 1e-9);
        free(r.x);
    }
}

TEST(overlapped_sums_cost_no_time_where_a_gradient_takes_longer)
{
#define SLOW_LINKS                                                                                           \
    "cluster", "{workers: [{count: 4, speed: 1000 samples/s}], network: {bandwidth: 100Mbit, latency: 1ms}}"
    struct result plain =
                      SIM(SMALL, SLOW_LINKS, "stop.updates", "41", "method", "{name: localsgd, period: 4}"),
                  over = SIM(SMALL, SLOW_LINKS, "stop.updates", "41", "method",
                      "{name: localsgd, period: 4, overlap: true}"),
                  alone = SIM(
                      SMALL, SLOW_LINKS, "stop.updates", "41", "method", "{name: localsgd, period: 1000}");
    CHECK_INT(over.now, alone.now);
    CHECK(plain.now > over.now + 10 * 6 * 1000000ull); /* ten sums of six steps of a millisecond */
    free(plain.x);
    free(over.x);
    free(alone.x);
}

TEST(samples_are_those_behind_the_model_though_fast_workers_are_ahead)
{
    struct result r =
        SIM(SMALL, "cluster", "{workers: [{count: 3, speed: 9000/s}, {count: 1, speed: 1000/s}]}", "batch",
            "10", "stop.updates", "5", "method", "{name: localsgd, period: 100}");
    CHECK_INT(r.samples, 5 * 4 * 10);
    free(r.x);
}

/* ---- Ends ------------------------------------------------------------------------------------------- */

TEST(when_all_data_has_been_seen_models_are_averaged_once_more_and_all_stop)
{
    /* 1438 rows over 3 workers: 480, 479 and 479, in batches of 64, 16 and 5: 8, 30 and 96 rounds. */
    static const char *const methods[] = { "{name: localsgd, period: 7}", "{name: slowmo, period: 40}",
        "{name: diloco, period: 1000}", "{name: localsgd, period: 7, overlap: true}",
        "{name: localsgd, local_from: 1000}" };
    for (size_t i = 0; i < MOT_COUNT(methods); i++) {
        struct result r = SIM(SMALL, UNEVEN, "method", methods[i]);
        CHECK_INT(r.status, MOT_OK);
        CHECK_TEXT(r.ended_by, "data");
        CHECK_INT(r.samples, 1438);
        CHECK_INT(r.updates, 96);
        CHECK(r.consensus == 0);
        free(r.x);
    }
}

TEST(adamw_cannot_start_over_and_the_error_says_so)
{
    CHECK_INT(SIM(SMALL, "method", "{name: slowmo, state: reset}", "optimizer", "adamw").status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "expected keep or average");
    CHECK_INT(SIM(SMALL, "method", "{name: slowmo, period: 0}").status, MOT_EUSAGE);
    CHECK_INT(SIM(SMALL, "method", "{name: diloco, outer_momentum: 1}").status, MOT_EUSAGE);
}

/* ---- Drivers ---------------------------------------------------------------------------------------- */

static const char *const ways[][7] = {
    { "method", "{name: localsgd, period: 4}", "optimizer.momentum", "0.9" },
    { "method", "{name: localsgd, period: 7, overlap: true, weigh: equal}", "batch", "[16, 8, 24]" },
    { "method", "{name: localsgd, period: 5, local_from: 12, weigh: rows}", "partition", "quantity" },
    { "method", "{name: slowmo, period: 6}", "optimizer.schedule", "cosine", "optimizer.schedule.total",
        "60" },
    { "method", "{name: slowmo, period: 4, state: reset}", "optimizer.momentum", "0.9" },
    { "method", "{name: diloco, period: 5, state: average}", "optimizer", "adamw" },
    { "method", "{name: diloco, period: 6, overlap: true}", "optimizer", "adamw" },
};

static struct result go(const struct mot_driver *driver, const char *const *way, const char *updates,
    const char *folder, bool resume)
{
    const char *all[40] = { SMALL, "workers", "3", "stop.updates", updates, "checkpoint.every", "5 updates" };
    size_t n = 0;
    while (all[n]) n++;
    while (*way) all[n++] = *way++;
    if (folder) all[n++] = "output", all[n++] = folder;
    return play((struct mot_job_ways){ .driver = driver, .resume = resume }, all);
}

TEST(threads_give_the_simulators_model)
{
    for (size_t i = 0; i < MOT_COUNT(ways); i++)
        CHECK(equal(go(&mot_driver_sim, ways[i], "53", NULL, false),
            go(&mot_driver_threads, ways[i], "53", NULL, false)));
}

/* Stopped before, at and after an averaging, while gradients are summed, and twice. */
TEST(a_run_that_is_stopped_and_resumed_ends_as_if_it_had_not_been_on_every_driver)
{
    const struct mot_driver *const drivers[] = { &mot_driver_sim, &mot_driver_threads };
    static const char *const stops[][3] = { { "11", "24" }, { "12", "25" }, { "30", "35" } };
    for (size_t i = 0; i < MOT_COUNT(ways); i++) {
        for (size_t s = 0; s < MOT_COUNT(stops); s++) {
            if (SANITIZED && (i + s) % 3) continue;
            for (int d = 0; d < 2; d++) {
                char folder[64] = "/tmp/motley-test-XXXXXX";
                if (!mkdtemp(folder)) abort();
                free(go(drivers[d], ways[i], stops[s][0], folder, false).x);
                free(go(drivers[d], ways[i], stops[s][1], folder, true).x);
                struct result on = go(drivers[d], ways[i], "53", folder, true);
                scratch_remove(folder);
                bool same = equal(on, go(&mot_driver_sim, ways[i], "53", NULL, false));
                if (!same) printf("  %s, stopped at %s and %s\n", ways[i][1], stops[s][0], stops[s][1]);
                CHECK(same);
            }
        }
    }
}

TEST_MAIN()
