/* AD-PSGD and GoSGD as whole runs: what mixing keeps, who slows whom down, losses, the end of the data. */
#include "played.h"
#include "base/rng.h"
#include "method/methods.h"
#include <math.h>
#include <stdlib.h>

#define SMALL                                                                                                \
    "data", "digits", "data.rows", "400", "model", "softmax", "evaluate.train", "end", "evaluate.every",     \
        "1000000 updates", "batch", "16"

static const char *const methods[] = { "adpsgd", "gosgd" };

/* ---- What mixing keeps --------------------------------------------------------------------------- */

/* A method whose workers begin far apart. Both keep their parameters first in their state. */
static const struct mot_method *plain;
static double *first_mean; /* [dim], of the models at the beginning */

static void init_apart(void *state, struct mot_env *env)
{
    struct mot_params *p = state;
    plain->init(state, env);
    struct mot_rng rng = mot_rng_at(env->world->seed, MOT_RNG_TEST, env->self);
    mot_buf x = mot_take(env);
    for (uint32_t i = 0; i < env->world->dim; i++) {
        mot_edit(env, x)[i] = (float)(1 + mot_rng_unit(&rng) + env->self);
        first_mean[i] += (double)mot_read(env, x)[i] / env->world->workers;
    }
    mot_drop(env, p->x);
    p->x = x;
}

/* The distance of the run's last model from the mean of the first ones, relative to it; *spread is what is
 * left of the consensus distance, relative to the mean's square. */
static double drift(
    const char *method, uint32_t workers, const char *network, const char *updates, double *spread)
{
    size_t m = 0;
    while (strcmp(mot_method_at(m)->name, method) != 0) m++;
    plain = mot_method_at(m);
    struct mot_method apart = *plain;
    apart.name = "apart";
    apart.init = init_apart;
    const struct mot_method *brought[] = { &apart, NULL };
    const struct mot_method *const *before = mot_methods_extend(brought);
    first_mean = calloc(1000, sizeof(*first_mean));
    char text[160];
    snprintf(text, sizeof text,
        "{workers: [{count: %u, jitter: {name: lognormal, sigma: 0.5}}], network: %s}", workers, network);
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "method", "apart", "cluster", text, "stop.updates", updates, "optimizer.lr", "1e-30");
    run_go(&r);
    mot_methods_extend(before);
    bool fine = r.status == MOT_OK && r.out.status == MOT_OK;
    double off = fine ? 0 : INFINITY, all = 0;
    for (uint32_t i = 0; fine && i < r.job.net.dim; i++) {
        off += pow((double)r.out.x[i] - first_mean[i], 2);
        all += pow(first_mean[i], 2);
    }
    *spread = r.out.last.mixed.consensus / all;
    run_free(&r);
    free(first_mean);
    return sqrt(off / all);
}

/* Whatever is in flight when a run ends is the smaller, the closer the models are. */
TEST(without_gradients_all_models_become_the_mean_of_the_first_ones_however_late_messages_are)
{
    static const uint32_t sizes[] = { 2, 3, 4, 7, 16 };
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        for (size_t i = 0; i < MOT_COUNT(sizes); i++) {
            double spread,
                off = drift(methods[m], sizes[i], "{bandwidth: 1Mbit, latency: 7ms}", "400", &spread);
            if (off > 1e-6) printf("  %s, %u workers: %g, spread %g\n", methods[m], sizes[i], off, spread);
            CHECK(spread < 1e-12);
            CHECK(off < 1e-6);
        }
    }
}

/* On links without delay an exchange is over before anything else happens: the mean stays at every update,
 * long before the models agree. */
TEST(pairwise_averaging_keeps_the_mean_at_every_update)
{
    static const char *const updates[] = { "1", "2", "3", "5", "8", "100" };
    for (size_t u = 0; u < MOT_COUNT(updates); u++) {
        double spread, off = drift("adpsgd", 8, "{bandwidth: none, latency: 0s}", updates[u], &spread);
        CHECK(off < 1e-6);
        if (u < 3) CHECK(spread > 1e-4);
    }
}

/* ---- The pace ---------------------------------------------------------------------------------------- */

static double others_rate(const struct result *r, uint32_t workers)
{
    double jobs = 0;
    for (uint32_t i = 1; i < workers; i++) jobs += (double)r->jobs[i];
    return jobs / (double)r->now;
}

TEST(one_worker_five_times_slower_costs_the_others_nothing_and_d_psgds_almost_all)
{
#define EVEN "cluster", "{workers: [{speed: 1000 samples/s}, {count: 7, speed: 1000 samples/s}]}"
#define SLOW "cluster", "{workers: [{speed: 200 samples/s}, {count: 7, speed: 1000 samples/s}]}"
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct result even = SIM(SMALL, "method", methods[m], "stop.updates", "100", EVEN),
                      slow = SIM(SMALL, "method", methods[m], "stop.updates", "100", SLOW);
        CHECK(even.status == MOT_OK && slow.status == MOT_OK);
        CHECK_NEAR(others_rate(&slow, 8) / others_rate(&even, 8), 1, 0.02);
        CHECK_NEAR((double)slow.jobs[0] * 5, (double)slow.jobs[1], 6);
        CHECK_INT(slow.updates, 100);
        CHECK_INT(slow.steps, 800);
    }
    struct result even = SIM(SMALL, "method", "dpsgd", "stop.updates", "100", EVEN),
                  slow = SIM(SMALL, "method", "dpsgd", "stop.updates", "100", SLOW);
    CHECK_NEAR(others_rate(&slow, 8) / others_rate(&even, 8), 0.2, 0.02);
}

/* A job of worker 1 takes half an hour; others exchange models with it, and the run is over in less. */
TEST(on_threads_too_nobody_waits_for_a_worker_whose_job_takes_long)
{
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct result r = play(&mot_driver_threads, true,
            (const char *const[]){ SMALL, "method", methods[m], "stop.updates", "10", "cluster",
                "{workers: [{speed: 1000/s}, {speed: 0.01/s}, {count: 2, speed: 1000/s}]}", NULL });
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.updates, 10);
        CHECK_INT(r.jobs[1], 0);
        CHECK(r.jobs[0] + r.jobs[2] + r.jobs[3] >= 40);
        if (m == 0) CHECK(r.sent[1] > 0); /* its answers */
    }
}

/* The exchange with a worker is bounded, whatever its link: an active worker has one under way. */
TEST(slow_links_slow_nobody_down_and_what_is_in_flight_stays_bounded)
{
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct result fast = SIM(SMALL, "method", methods[m], "stop.updates", "100", "cluster",
                          "{workers: 6, network: {bandwidth: 1Gbit}}"),
                      slow = SIM(SMALL, "method", methods[m], "stop.updates", "100", "cluster",
                          "{workers: 6, network: {bandwidth: 20kbit}}");
        CHECK(fast.status == MOT_OK && slow.status == MOT_OK);
        CHECK_INT(fast.now, slow.now);
        CHECK(slow.messages < fast.messages / 10);
    }
}

/* ---- Messages ---------------------------------------------------------------------------------------- */

TEST(an_exchange_is_two_messages_and_each_step_of_an_active_worker_begins_one)
{
    struct result r = SIM(SMALL, "method", "adpsgd", "workers", "5", "stop.updates", "40");
    /* Workers 0, 2 and 4 are active, and all make their steps at the same time: 41 exchanges have begun, 40
     * of them are answered. */
    CHECK_INT(r.messages, 3 * (41 + 40));
}

TEST(gossip_pushes_with_its_probability_and_every_push_is_answered)
{
    struct result half = SIM(SMALL, "method", "gosgd", "workers", "8", "stop.updates", "500"),
                  tenth =
                      SIM(SMALL, "method", "gosgd", "workers", "8", "stop.updates", "500", "method.p", "0.1"),
                  none =
                      SIM(SMALL, "method", "gosgd", "workers", "8", "stop.updates", "500", "method.p", "0");
    CHECK_NEAR((double)half.messages, 2 * 0.5 * 8 * 500, 4 * 2 * sqrt(0.25 * 4000));
    CHECK_NEAR((double)tenth.messages, 2 * 0.1 * 8 * 500, 4 * 2 * sqrt(0.09 * 4000));
    CHECK_INT(none.messages, 0);
}

TEST(one_worker_alone_is_plain_sgd)
{
    struct result sum = SIM(SMALL, "method", "allreduce", "workers", "1", "stop.updates", "30");
    for (size_t m = 0; m < MOT_COUNT(methods); m++)
        CHECK(SIM(SMALL, "method", methods[m], "workers", "1", "stop.updates", "30").hash == sum.hash);
}

TEST(models_learn_as_with_all_reduce)
{
    struct result sum = SIM(SMALL, "method", "allreduce", "workers", "8", "stop.epochs", "20");
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct result r = SIM(SMALL, "method", methods[m], "workers", "8", "stop.epochs", "20");
        CHECK_TEXT(r.ended_by, "epochs");
        CHECK_NEAR(r.loss / sum.loss, 1, 0.1);
    }
}

/* ---- The topology ------------------------------------------------------------------------------------ */

TEST(partners_come_from_a_bipartite_topology_and_others_are_refused)
{
#define ON(...) SMALL, "method", "adpsgd", "method.peers", "topology", "stop.updates", "20", __VA_ARGS__
    static const char *const good[] = { "ring", "star", "torus",
        "{name: edges, list: [0-3, 3-1, 1-4, 4-2, 2-5]}" };
    for (size_t i = 0; i < MOT_COUNT(good); i++)
        CHECK_INT(SIM(ON("workers", i == 2 ? "16" : "6", "topology", good[i])).status, MOT_OK);
    CHECK_INT(SIM(ON("workers", "5", "topology", "ring")).status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "a cycle of odd length");
    CHECK_INT(SIM(ON("workers", "6", "topology", "complete")).status, MOT_EUSAGE);
    /* The larger side is active: with a star, all but the middle. */
    struct result star = SIM(ON("workers", "6", "topology", "star"));
    CHECK_INT(star.messages, 5 * (21 + 20));
    CHECK_INT(SIM(SMALL, "method", "gosgd", "method.peers", "topology", "workers", "5", "topology", "ring",
                  "stop.updates", "20")
                  .status,
        MOT_OK);
}

/* ---- Losses ---------------------------------------------------------------------------------------- */

TEST(a_lost_worker_is_not_missed_and_the_steps_of_the_others_make_up_for_its_own)
{
#define CRASH(rest) "cluster", "{workers: 6, faults: [{kind: crash, at: 500ms, worker: 1" rest "}]}"
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct result whole =
            SIM(SMALL, "method", methods[m], "stop.updates", "100", "cluster", "{workers: 6}");
        struct result gone = SIM(SMALL, "method", methods[m], "stop.updates", "100", CRASH("")),
                      back = SIM(SMALL, "method", methods[m], "stop.updates", "100", CRASH(", for: 200ms"));
        CHECK(gone.status == MOT_OK && back.status == MOT_OK);
        CHECK_INT(gone.updates, 100);
        CHECK_INT(gone.steps, 600);
        CHECK_INT(back.steps, 600); /* who comes back is not taken in */
        /* a job takes 16 ms: 31 steps are its own, 69 are left to five others */
        CHECK_NEAR((double)gone.now / (double)whole.now, 1.14, 0.03);
        CHECK(gone.loss < 1.3 * whole.loss);
    }
}

TEST(the_last_worker_goes_on_alone)
{
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct result r = SIM(SMALL, "method", methods[m], "stop.updates", "60", "cluster",
            "{workers: 3, faults: [{kind: crash, at: 100ms, workers: [0, 2]}]}");
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.updates, 60);
        CHECK_INT(r.steps, 180);
    }
}

/* ---- The end of the data ----------------------------------------------------------------------------- */

/* A worker out of data still answers: with the others' exchanges unanswered, active workers would stop
 * averaging. */
TEST(who_is_out_of_data_still_mixes_and_the_run_ends_when_all_are)
{
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        for (int live = 0; live < 2; live++) {
            struct result r = play(live ? &mot_driver_threads : &mot_driver_sim, false,
                (const char *const[]){ SMALL, "method", methods[m], "workers", "4", "batch", "[4, 40, 16, 8]",
                    "sampler.passes", "3", NULL });
            CHECK_INT(r.status, MOT_OK);
            CHECK_TEXT(r.ended_by, "data");
            CHECK_INT(r.samples, 3 * 320);
            CHECK_INT(r.steps, 3 * (20 + 2 + 5 + 10));
            CHECK_INT(r.updates, r.steps / 4);
        }
    }
}

TEST(options_out_of_range_are_refused)
{
    CHECK_INT(SIM(SMALL, "method", "gosgd", "method.p", "1.5").status, MOT_EUSAGE);
    CHECK_INT(SIM(SMALL, "method", "gosgd", "method.credits", "0").status, MOT_EUSAGE);
    CHECK_INT(SIM(SMALL, "method", "gosgd", "method.credits", "9").status, MOT_EUSAGE);
    CHECK_INT(SIM(SMALL, "method", "adpsgd", "method.peers", "all").status, MOT_EUSAGE);
}

TEST_MAIN()
