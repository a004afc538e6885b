/* D-PSGD and MATCHA as whole runs: identities with other methods, messages, clocks, drivers, faults. */
#include "played.h"
#include "base/file.h"
#include "topology/mixing.h"
#include "scratch.h"
#include <stdlib.h>

/* ---- What is sent -------------------------------------------------------------------------------- */

TEST(every_round_sends_a_model_over_every_link_and_period_2_sends_just_half)
{
    /* After 9 updates everyone has begun rounds 0 to 9. */
    struct result one = SIM(TINY_MLP, "method", "dpsgd", "topology", "rcd", "stop.updates", "9");
    struct result two =
        SIM(TINY_MLP, "method", "dpsgd", "topology", "rcd", "stop.updates", "9", "method.period", "2");
    CHECK_INT(one.messages, 10 * 24);
    CHECK_INT(two.messages, 5 * 24);
    CHECK_INT(2 * two.bytes, one.bytes);
    CHECK_INT(one.samples, two.samples);
}

TEST_SIMULATED(matcha_sends_what_its_chances_say_and_budget_1_is_d_psgd_bit_for_bit)
{
    struct result all =
        SIM(TINY_MLP, "method", "dpsgd", "topology", "{name: rcd, weights: laplacian}", "stop.updates", "60");
    struct result whole =
        SIM(TINY_MLP, "method", "matcha", "method.budget", "1", "topology", "rcd", "stop.updates", "60");
    CHECK(all.status == MOT_OK && whole.hash == all.hash);
    CHECK_INT(whole.messages, all.messages);
    CHECK_INT(whole.now, all.now);
    struct mot_mixing_plan plan;
    const struct mot_topology *rcd = mot_topologies[8];
    CHECK_TEXT(rcd->name, "rcd");
    struct mot_topology_conf conf = { 0 };
    CHECK_INT(mot_mixing_open(rcd, &conf, 8, 1, 0.5, &plan), MOT_OK);
    double mean = 0, variance = 0;
    const double size[] = { 4, 2, 3, 2, 1 };
    for (int j = 0; j < 5; j++) {
        mean += 2 * size[j] * plan.chance[j];
        variance += 4 * size[j] * size[j] * plan.chance[j] * (1 - plan.chance[j]);
    }
    mot_mixing_close(&plan);
    struct result half = SIM("data", "digits", "model", "phantom", "evaluate.every", "1000000 updates",
        "method", "matcha", "topology", "rcd", "stop.updates", "1999", "batch", "1");
    CHECK_NEAR((double)half.messages / 2000, mean, 4 * sqrt(variance / 2000));
}

TEST(workers_agree_on_the_links_without_being_told_and_another_seed_draws_others)
{
    struct result a = SIM(TINY_MLP, TWO_SPEEDS, "method", "matcha", "topology", "rcd", "stop.updates", "30");
    struct result b = SIM(TINY_MLP, TWO_SPEEDS, "method", "matcha", "topology", "rcd", "stop.updates", "30",
        "sim.threads", "4");
    struct result c =
        SIM(TINY_MLP, TWO_SPEEDS, "method", "matcha", "topology", "rcd", "stop.updates", "30", "seed", "2");
    CHECK(a.status == MOT_OK && a.hash == b.hash && a.now == b.now);
    CHECK(c.messages != a.messages);
}

/* ---- Identities -------------------------------------------------------------------------------------- */

/* Four parts whose rows are the same and whose labels are not:
 * gradients of the squared loss differ by a constant. */
static char *write_twins(char *folder)
{
    snprintf(folder, 64, "/tmp/motley-test-XXXXXX");
    if (!mkdtemp(folder)) abort();
    char *path = mot_path_join(folder, "twins.csv");
    FILE *f = fopen(path, "w");
    fprintf(f, "a,b,c,y\n");
    for (int part = 0; part < 4; part++)
        for (int row = 0; row < 10; row++)
            fprintf(f, "%g,%g,%g,%g\n", 0.1 * row, row % 3 - 1.0, row * row * 0.01,
                part + 0.3 * row - 0.5 * (row % 2) * part);
    fclose(f);
    return path;
}

static float *model_of(const char *method, const char *topology, const char *const *settings, size_t *dim)
{
    struct run r = { 0 };
    run_set_all(&r, settings);
    RUN_SET(&r, "method", method, "topology", topology);
    run_go(&r);
    *dim = r.job.net.dim;
    float *x = r.status == MOT_OK && r.out.status == MOT_OK ? malloc(*dim * sizeof(float)) : NULL;
    if (x) memcpy(x, r.out.x, *dim * sizeof(float));
    run_free(&r);
    return x;
}

static double distance(const float *a, const float *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

TEST(where_gradients_are_affine_with_one_slope_the_mean_of_the_models_is_allreduces_model)
{
    static const char *const topologies[] = { "complete", "ring", "star" };
    char folder[64], *path = write_twins(folder);
    const char *const settings[] = { "data.path", path, "data.label", "y", "data.test", "0", "data.scale",
        "none", "data.order", "file", "data.task", "regression", "workers", "4", "partition", "contiguous",
        "batch", "full", "model", "least-squares", "optimizer.lr", "0.1", "optimizer.momentum", "0",
        "stop.updates", "50", NULL };
    size_t dim;
    float *sum = model_of("allreduce", "ring", settings, &dim);
    CHECK(sum);
    for (size_t t = 0; t < MOT_COUNT(topologies); t++) {
        float *mean = model_of("dpsgd", topologies[t], settings, &dim);
        CHECK(mean);
        CHECK_NEAR(distance(sum, mean, dim), 0, 2e-5);
        free(mean);
    }
    free(sum);
    unlink(path);
    rmdir(folder);
    free(path);
}

TEST(the_first_update_of_the_mean_is_allreduces_in_any_graph_and_only_the_first)
{
    size_t dim;
    const char *const one[] = { TINY_MLP, "workers", "2", "stop.updates", "1", NULL },
                      *const ten[] = { TINY_MLP, "workers", "2", "stop.updates", "10", NULL };
    float *sum = model_of("allreduce", "ring", one, &dim), *mean = model_of("dpsgd", "complete", one, &dim);
    CHECK(sum && mean && distance(sum, mean, dim) < 1e-6);
    free(sum);
    free(mean);
    sum = model_of("allreduce", "ring", ten, &dim), mean = model_of("dpsgd", "complete", ten, &dim);
    CHECK(sum && mean && distance(sum, mean, dim) > 1e-4); /* gradients are taken before the averaging */
    free(sum);
    free(mean);
}

TEST(parts_of_any_size_weigh_by_their_rows_and_one_worker_alone_is_plain_sgd)
{
    size_t dim;
    const char *const uneven[] = { TINY_MLP, "workers", "3", "batch", "[64, 16, 4]", "stop.updates", "1",
        "method.weigh", "rows", NULL };
    const char *const alone[] = { TINY_MLP, "workers", "1", "stop.updates", "20", NULL };
    float *a = model_of("dpsgd", "ring", alone, &dim), *b = model_of("allreduce", "ring", alone, &dim);
    CHECK(a && b && distance(a, b, dim) == 0);
    free(a);
    free(b);
    a = model_of("dpsgd", "ring", uneven, &dim);
    CHECK(a);
    free(a);
}

/* ---- The clock ------------------------------------------------------------------------ */

/* Two workers twice as fast, no time on the network: an epoch takes n / N of the unit's time with equal
 * batches, n / sum r with batches in proportion. 320 samples a step; the training set of digits is not a
 * multiple, so whole steps are counted. */
TEST(batches_in_proportion_to_speed_cut_the_barrier_from_n_over_N_to_n_over_the_sum_of_speeds)
{
#define FAST                                                                                                 \
    "cluster",                                                                                               \
        "{workers: [{count: 1, speed: 2000 samples/s}, {count: 4, speed: 1000 samples/s}, {count: 1, "       \
        "speed: 2000 samples/s}, "                                                                           \
        "{count: 2, speed: 1000 samples/s}], network: {bandwidth: none, latency: 0s}}"
    struct result equal = SIM(TINY_MLP, FAST, "method", "dpsgd", "batch", "40", "stop.updates", "50");
    struct result sized =
        SIM(TINY_MLP, FAST, "method", "dpsgd", "batch", "40", "stop.updates", "50", "sizing", "proportional");
    CHECK_INT(equal.updates, sized.updates);
    CHECK_INT(sized.samples, 50 * 320);            /* in step: nobody is ahead */
    CHECK_INT(equal.now, 50 * 320 / 8 * 1000000);  /* n / N at 1000 samples/s */
    CHECK_INT(sized.now, 50 * 320 / 10 * 1000000); /* n / sum r */
}

/* The same by parts: a whole pass over each one's own in every step. 800
 * rows; a worker's total is within 1 of its share. */
TEST(parts_in_proportion_to_speed_do_so_too)
{
#define WHOLE                                                                                                \
    "data", "{name: synthetic, size: 1000, cols: 4}", "model", "logistic", "evaluate.train", "end",          \
        "method", "dpsgd", "batch", "full", "stop.updates", "10"
    struct result equal = SIM(WHOLE, FAST, "partition", "stratified"),
                  sized = SIM(WHOLE, FAST, "partition", "proportional");
    CHECK_INT(equal.now, UINT64_C(10) * 100 * 1000000);
    CHECK(sized.now >= UINT64_C(10) * 80 * 1000000 && sized.now <= UINT64_C(10) * 81 * 1000000);
}

TEST(models_travel_while_gradients_are_computed)
{
    /* A job takes 32 ms. A link of 10 Mbit/s carries a model of 2.5 KB in 2
     * ms, ready long before; one of 10 kbit/s does not. */
#define LINK(rate) "cluster", "{workers: 4, network: {bandwidth: " rate ", latency: 0s}}"
    struct result fast = SIM("data", "digits", "model", "softmax", "evaluate.train", "end", "method", "dpsgd",
        "stop.updates", "10", LINK("10Mbit"));
    CHECK_INT(fast.now, 320 * 1000000);
    struct result slow = SIM("data", "digits", "model", "softmax", "evaluate.train", "end", "method", "dpsgd",
        "stop.updates", "10", LINK("10kbit"));
    struct result half = SIM("data", "digits", "model", "softmax", "evaluate.train", "end", "method", "dpsgd",
        "stop.updates", "10", LINK("10kbit"), "method.period", "2");
    CHECK(slow.now > 10 * fast.now);
    /* rounds without messages take next to nothing */
    CHECK_NEAR((double)half.now / (double)slow.now, 0.5, 0.04);
}

/* ---- Drivers -------------------------------------------------------------------------- */

TEST(one_model_simulated_and_on_threads)
{
    static const char *const methods[] = { "dpsgd", "matcha" };
    for (int m = 0; m < 2; m++) {
        const char *const settings[] = { TINY_MLP, TWO_SPEEDS, "topology", "rcd", "method", methods[m],
            "method.period", "3", "stop.updates", "40", "sizing", "proportional", "optimizer.momentum", "0.9",
            NULL };
        struct result sim = play(&mot_driver_sim, false, settings),
                      threads = play(&mot_driver_threads, false, settings);
        struct result slow = play(&mot_driver_threads, true, settings);
        CHECK(sim.status == MOT_OK && threads.status == MOT_OK && slow.status == MOT_OK);
        CHECK(sim.hash == threads.hash && sim.hash == slow.hash);
        CHECK_INT(threads.updates, 40);
    }
}

TEST_SIMULATED(a_resumed_run_ends_as_if_it_had_not_stopped)
{
    static const char *const methods[] = { "dpsgd", "matcha" };
    for (int m = 0; m < 2; m++) {
        char folder[] = "/tmp/motley-test-XXXXXX";
        CHECK(mkdtemp(folder));
        uint64_t hash[2] = { 0 };
        mot_time now[2] = { 0 };
        const char *const stop[] = { "41", "17", "41" };
        for (int part = 0; part < 3; part++) { /* whole; the first part; the rest */
            struct run r = { .ways = { .resume = part == 2, .replace = true } };
            RUN_SET(&r, TINY_MLP, TWO_SPEEDS, "topology", "exponential", "method", methods[m],
                "method.period", "2", "stop.updates", stop[part], "optimizer.momentum", "0.9", "output",
                folder);
            run_go(&r);
            CHECK_INT(r.status, MOT_OK);
            if (part != 1) {
                hash[part / 2] = r.out.model_hash;
                now[part / 2] = r.out.last.now;
            }
            run_free(&r);
        }
        CHECK(hash[0] == hash[1] && now[0] == now[1]);
        scratch_remove(folder);
    }
}

TEST(when_all_data_has_been_seen_all_stop_in_the_same_round)
{
    /* 1438 rows over 3 workers: 480, 479 and 479, in batches of 64, 16 and 5: 8, 30 and 96 rounds. */
    struct result r =
        SIM(TINY_MLP, "workers", "3", "batch", "[64, 16, 5]", "method", "dpsgd", "sampler.passes", "1");
    CHECK_INT(r.status, MOT_OK);
    CHECK_TEXT(r.ended_by, "data");
    CHECK_INT(r.samples, 1438);
    CHECK_INT(r.updates, 96);
}

/* ---- Faults --------------------------------------------------------------------------- */

#define CRASH_OF(rest)                                                                                       \
    "{workers: 6, faults: {detect: 100ms, schedule: [{kind: crash, at: 1s, worker: 2" rest "}]}}"
#define CRASH(rest) "cluster", CRASH_OF(rest)

TEST(a_lost_neighbour_ends_the_run_and_is_named)
{
    struct result r = SIM(TINY_MLP, "method", "dpsgd", "stop.updates", "100", CRASH(""));
    CHECK_INT(r.status, MOT_EPEER);
    CHECK(r.has_peer);
    CHECK_INT(r.peer, 2);
}

TEST(the_others_go_on_if_they_may)
{
    static const char *const methods[] = { "dpsgd", "matcha" };
    for (int m = 0; m < 2; m++) {
        struct result plain = SIM(TINY_MLP, "method", methods[m], "topology", "exponential", "stop.updates",
            "100", "cluster", "{workers: 6}");
        struct result gone = SIM(TINY_MLP, "method", methods[m], "topology", "exponential", "method.on_loss",
            "continue", "stop.updates", "100", CRASH(""));
        CHECK_INT(gone.status, MOT_OK);
        CHECK_INT(gone.updates, 100);
        CHECK(gone.hash != plain.hash);
        CHECK(gone.now > plain.now && gone.now < 2 * plain.now);
        CHECK(gone.loss < 2 * plain.loss);
    }
}

/* ---- One that comes back ------------------------------------------------------------------------- */

/* Options of both methods that differ in how a worker gets in: how often and over which links models are
 * averaged, and what an optimiser has to hand over. */
static const char *const ways[][7] = {
    { "method", "dpsgd", NULL },
    { "method", "dpsgd", "method.period", "4", "optimizer.momentum", "0.9", NULL },
    { "method", "dpsgd", "optimizer", "adamw", NULL },
    { "method", "matcha", "optimizer.momentum", "0.9", NULL },
    { "method", "matcha", "method.period", "3", NULL },
};

static void go(struct run *r, size_t way, const char *topology, const char *cluster)
{
    RUN_SET(r, TINY_MLP, "topology", topology, "method.on_loss", "continue", "stop.updates", "200", "cluster",
        cluster);
    run_set_all(r, ways[way]);
    run_go(r);
}

/* A job takes 32 ms; it is away from update 31 to 47. */
TEST_SIMULATED(a_worker_that_comes_back_gets_a_model_and_its_links_and_computes_on)
{
    for (size_t w = 0; w < MOT_COUNT(ways); w++) {
        struct run calm = { 0 }, gone = { 0 }, back = { 0 };
        go(&calm, w, "exponential", "{workers: 6}");
        go(&gone, w, "exponential", CRASH_OF(""));
        go(&back, w, "exponential", CRASH_OF(", for: 500ms"));
        CHECK_INT(back.status, MOT_OK);
        CHECK_INT(back.out.status, MOT_OK);
        CHECK_INT(back.out.last.updates, 200);
        CHECK_NEAR(noted(&back, "neighbours_lost"), 4, 0);
        CHECK_NEAR(noted(&back, "neighbours_back"), 8, 0); /* both ends of four links */
        CHECK_NEAR((double)gone.out.node[2].jobs, 32, 1);
        CHECK_NEAR((double)back.out.node[2].jobs, 185, 5);
        CHECK(back.out.model_hash != gone.out.model_hash);
        /* it is in the mean, and as near to it as if it had never been away */
        CHECK(back.out.last.mixed.consensus < 1.5 * calm.out.last.mixed.consensus);
        CHECK(back.out.last.score.train_loss < 1.2 * calm.out.last.score.train_loss);
        run_free(&calm);
        run_free(&gone);
        run_free(&back);
    }
}

/* Nobody is left who was there at the start; a ring that loses two falls apart and closes again. */
TEST(a_run_outlives_all_its_workers_if_they_come_back_in_time)
{
    static const char one_by_one[] =
        "{workers: 4, faults: {detect: 100ms, schedule: [{kind: crash, at: 1s, for: 500ms, worker: 0}, "
        "{kind: crash, at: 2s, for: 500ms, worker: 1}, {kind: crash, at: 3s, for: 500ms, worker: 2}, "
        "{kind: crash, at: 4s, for: 500ms, worker: 3}]}}";
    static const char opposite[] =
        "{workers: 4, faults: {detect: 100ms, schedule: [{kind: crash, at: 1s, for: 500ms, workers: [0, 2]}, "
        "{kind: crash, at: 3s, for: 500ms, workers: [1, 3]}]}}";
    for (size_t w = 0; w < MOT_COUNT(ways); w++) {
        struct run calm = { 0 }, each = { 0 }, pairs = { 0 };
        go(&calm, w, "ring", "{workers: 4}");
        go(&each, w, "ring", one_by_one);
        go(&pairs, w, "ring", opposite);
        for (int k = 0; k < 2; k++) {
            const struct run *r = k ? &pairs : &each;
            CHECK_INT(r->out.status, MOT_OK);
            CHECK_INT(r->out.last.updates, 200);
            CHECK_INT(r->out.faults.restarts, 4);
            CHECK(r->out.last.mixed.consensus < 2 * calm.out.last.mixed.consensus);
            CHECK(r->out.last.score.train_loss < 1.3 * calm.out.last.score.train_loss);
        }
        run_free(&calm);
        run_free(&each);
        run_free(&pairs);
    }
}

/* 2 comes back first and finds nobody: its only neighbour, 1, is away too. */
TEST(one_whose_neighbours_are_all_away_waits_for_the_first_that_has_a_model)
{
    struct run r = { 0 };
    go(&r, 1, "{name: edges, list: [0-1, 1-2]}",
        "{workers: 3, faults: {detect: 100ms, schedule: [{kind: crash, at: 1s, for: 500ms, worker: 2}, "
        "{kind: crash, at: 1s, for: 2s, worker: 1}]}}");
    CHECK_INT(r.out.status, MOT_OK);
    CHECK_INT(r.out.last.updates, 200);
    CHECK_NEAR(noted(&r, "neighbours_back"), 4, 0);
    CHECK_NEAR((double)r.out.node[2].jobs, 200 - 2000 / 32, 5);
    run_free(&r);
}

/* A model takes its way 1.6 s, and more while the helpers exchange theirs: two of three are lost on it. */
TEST(a_helper_that_is_lost_while_it_helps_is_not_needed)
{
    struct run r = { 0 };
    go(&r, 0, "complete",
        "{network: {bandwidth: 3kB/s}, workers: 4, faults: {detect: 100ms, schedule: [{kind: crash, at: 1s, "
        "for: 4s, worker: 3}, {kind: crash, at: 6s, worker: 0}, {kind: crash, at: 6100ms, worker: 1}]}}");
    CHECK_INT(r.out.status, MOT_OK);
    CHECK_INT(r.out.last.updates, 200);
    CHECK_NEAR(noted(&r, "neighbours_back"), 2, 0); /* both ends of the link that is left */
    CHECK((double)r.out.node[3].jobs > 150);
    run_free(&r);
}

TEST_SIMULATED(a_resumed_run_remembers_who_is_back_and_who_still_has_no_model)
{
    static const char cluster[] =
        "{network: {bandwidth: 20kB/s}, workers: 4, faults: {detect: 100ms, schedule: [{kind: crash, at: 1s, "
        "for: 500ms, worker: 0}, {kind: crash, at: 3s, for: 500ms, workers: [1, 2]}]}}";
    static const char *const stops[] = { "4", "6", "8", "12", "20" };
    for (size_t w = 0; w < MOT_COUNT(ways); w++) {
        uint64_t hash = 0;
        for (size_t k = 0; k < MOT_COUNT(stops); k++) {
            char folder[] = "/tmp/motley-test-XXXXXX";
            CHECK(mkdtemp(folder));
            const char *const stop[] = { "40", stops[k], "40" };
            for (int part = k == 0 ? 0 : 1; part < 3; part++) {
                struct run r = { .ways = { .resume = part == 2, .replace = true } };
                RUN_SET(&r, "output", folder, "evaluate.every", "3 updates");
                RUN_SET(&r, TINY_MLP, "topology", "ring", "method.on_loss", "continue", "cluster", cluster);
                run_set_all(&r, ways[w]);
                RUN_SET(&r, "stop.updates", stop[part]);
                run_go(&r);
                CHECK_INT(r.out.status, MOT_OK);
                if (part == 0) hash = r.out.model_hash;
                if (part == 2 && r.out.model_hash != hash)
                    FAIL("way %zu, stopped at %s: another model", w, stops[k]);
                run_free(&r);
            }
            scratch_remove(folder);
        }
    }
}

/* The one that is back ends its data when the others do, whenever it came. */
TEST(data_that_run_out_run_out_for_a_worker_that_is_back_as_well)
{
    struct result r = SIM(TINY_MLP, "method", "dpsgd", "method.on_loss", "continue", "sampler.passes", "1",
        "batch", "8", CRASH(", for: 500ms"));
    CHECK_INT(r.status, MOT_OK);
    CHECK_TEXT(r.ended_by, "data");
    CHECK_INT(r.updates, 30);
}

/* Random faults that nobody is left to suffer do not keep the clock going; nor do those who come back when
 * nobody is left who has a model. */
TEST(a_run_whose_workers_are_all_gone_ends_however_many_faults_there_would_be)
{
    static const char *const clusters[] = { "{workers: 3, faults: {crash: 5/s, restart_after: never}}",
        "{workers: 1, faults: {crash: 5/s, restart_after: never}}",
        "{workers: 3, faults: {crash: 5/s, restart_after: 10ms, stall: 1/s}}" };
    for (size_t k = 0; k < MOT_COUNT(clusters); k++) {
        struct result r = SIM(TINY_MLP, "method", "dpsgd", "method.on_loss", "continue", "stop.updates",
            "10000", "stop.time", "10000s", "cluster", clusters[k]);
        CHECK_INT(r.status, MOT_EPEER);
        CHECK(r.has_peer);
        CHECK(r.now < UINT64_C(100000000000));
    }
    struct result alone = SIM(TINY_MLP, "method", "allreduce", "stop.updates", "10000", "stop.time", "10000s",
        "cluster", clusters[1]);
    CHECK(alone.status == MOT_EPEER && alone.now < UINT64_C(100000000000));
    struct result nobody_else = SIM(TINY_MLP, "method", "dpsgd", "stop.updates", "1000", "cluster",
        "{workers: 1, faults: {partition: 5/s, partition_for: 3s}}");
    CHECK(nobody_else.status == MOT_OK && nobody_else.updates == 1000);
}

TEST(frames_that_are_lost_or_late_change_nothing_but_the_time)
{
    struct result plain = SIM(TINY_MLP, "method", "dpsgd", "stop.updates", "60", "cluster", "{workers: 6}");
    struct result r = SIM(TINY_MLP, "method", "dpsgd", "stop.updates", "60", "cluster",
        "{workers: 6, faults: {drop: 5%, duplicate: 5%, reorder: 5%}}");
    CHECK(r.status == MOT_OK && r.hash == plain.hash);
    CHECK(r.now >= plain.now);
}

/* ---- The experiment ------------------------------------------------------------------- */

TEST(wrong_topologies_are_refused_and_other_methods_do_not_mind)
{
    CHECK_INT(SIM(TINY_MLP, "method", "dpsgd", "topology", "rcd", "workers", "5", "stop.updates", "1").status,
        MOT_EUSAGE);
    CHECK_HAS(mot_error(), "has 8 workers; found 5");
    CHECK_INT(SIM(TINY_MLP, "method", "dpsgd", "topology", "rnig", "stop.updates", "1").status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "did you mean 'ring'?");
    CHECK_INT(SIM(TINY_MLP, "method", "dpsgd", "topology", "{name: edges, list: [0-1, 1-2]}", "workers", "4",
                  "stop.updates", "1")
                  .status,
        MOT_EUSAGE);
    CHECK_HAS(mot_error(), "no path from worker 0 to worker 3");
    CHECK_INT(SIM(TINY_MLP, "method", "dpsgd", "topology", "{name: matrix}", "stop.updates", "1").status,
        MOT_EUSAGE);
    CHECK_HAS(mot_error(), "topology.path: is missing");
    CHECK_INT(SIM(TINY_MLP, "method", "dpsgd", "topology", "{name: edges, list: [0-1, 1-2, 2-0]}", "workers",
                  "3", "stop.updates", "1")
                  .status,
        MOT_OK);
    CHECK_INT(
        SIM(TINY_MLP, "method", "allreduce", "topology", "rcd", "workers", "5", "stop.updates", "1").status,
        MOT_OK);
}

TEST(sizing_needs_a_number_to_share)
{
    CHECK_INT(
        SIM(TINY_MLP, "sizing", "proportional", "batch", "full", "stop.updates", "1").status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "expected batch to be a number");
    CHECK_INT(SIM(TINY_MLP, "sizing", "proportional", "batch", "[1, 2]", "workers", "2", "stop.updates", "1")
                  .status,
        MOT_EUSAGE);
}

TEST_MAIN()
