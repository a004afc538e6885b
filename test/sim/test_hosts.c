/* What takes time besides jobs and messages: steps that write to models, and cores that nodes share. */
#include "run/run.h"
#include "scratch.h"
#include <math.h>

/* Jobs of 10 ms, messages that take no time, a model of a million floats: 4 MB. */
static double seconds_of(const char *method, const char *cluster)
{
    struct run r = { 0 };
    char text[256];
    snprintf(text, sizeof(text), "{network: none, %s}", cluster);
    RUN_SET(&r, "data", "digits", "model", "{name: phantom, parameters: 1000000}", "method", method,
        "cluster", text, "stop.updates", "100", "evaluate.every", "1000 updates");
    run_go(&r);
    double s = r.status == MOT_OK ? (double)r.out.last.now * 1e-9 : (double)NAN;
    run_free(&r);
    return s;
}

#define WORKERS(n) "workers: [{count: " #n ", job_time: 10ms}]"

TEST(a_step_of_the_optimiser_takes_its_bytes_over_the_rate_on_workers_and_servers)
{
    CHECK_NEAR(seconds_of("allreduce", WORKERS(2)), 1, 1e-6);
    CHECK_NEAR(seconds_of("allreduce", WORKERS(2) ", costs: {step: 400MB/s}"), 2 - 0.01, 1e-6);
    CHECK_NEAR(seconds_of("server", WORKERS(2) ", costs: {step: 400MB/s}"), 2 - 0.01, 1e-6);
}

TEST(a_sum_of_gradients_and_a_mean_of_models_take_their_bytes_over_the_rate)
{
    /* two gradients of 4 MB at 800 MB/s: 10 ms an update */
    CHECK_NEAR(seconds_of("server", WORKERS(2) ", costs: {mix: 800MB/s}"), 2 - 0.01, 1e-6);
    double free = seconds_of("dpsgd", WORKERS(4)),
           paid = seconds_of("dpsgd", WORKERS(4) ", costs: {mix: 400MB/s}");
    CHECK(paid > free + 2.9 && paid < free + 3.1); /* a mean of three models in each of 100 rounds: 30 ms */
}

TEST(workers_that_share_cores_slow_each_other_and_others_do_not)
{
    CHECK_NEAR(seconds_of("allreduce", WORKERS(4) ", host: {cores: 4}"), 1, 1e-6);
    CHECK_NEAR(seconds_of("allreduce", WORKERS(4) ", host: {cores: 2}"), 2, 1e-4);
    CHECK_NEAR(seconds_of("allreduce", WORKERS(3) ", host: {cores: 2}"), 1.5, 1e-4);
    /* two machines with two workers and one core each */
    CHECK_NEAR(seconds_of("allreduce", WORKERS(4) ", host: {cores: 1, workers: 2}"), 2, 1e-4);
    CHECK_NEAR(seconds_of("allreduce", WORKERS(4) ", host: {cores: 2, workers: 2}"), 1, 1e-6);
}

/* A fast worker that is done leaves its share to the slow one: 5 ms and 20 ms on one core are 25 ms. */
TEST(a_core_that_is_shared_is_never_idle_and_never_does_more_than_it_can)
{
    CHECK_NEAR(
        seconds_of("allreduce", "workers: [{job_time: 5ms}, {job_time: 20ms}], host: {cores: 1}"), 2.5, 1e-4);
    /* each update of async takes a job and a server's step of 10 ms each, one after the other on one core */
    CHECK_NEAR(seconds_of("async", WORKERS(2) ", host: {cores: 1}, costs: {step: 400MB/s}"), 2, 0.1);
    CHECK_NEAR(seconds_of("async", WORKERS(3) ", host: {cores: 4}, costs: {step: 4GB/s}"), 0.35, 0.05);
}

/* Methods with deadlines, pieces, cancelled jobs and mixing, crowded: they end, and later than with cores. */
TEST(every_method_gets_by_on_one_core)
{
    static const char *const methods[] = { "{name: server, k: 2}",
        "{name: server, deadline: fixed, after: 15ms}", "adpsgd", "gosgd", "rennala", "ringmaster", "malenia",
        "fedavg", "localsgd", "sgp", "crossover", "coded", "{name: mindflayer, limit: 15ms}" };
    for (size_t i = 0; i < MOT_COUNT(methods); i++) {
        double alone = seconds_of(methods[i], WORKERS(4)),
               crowded =
                   seconds_of(methods[i], WORKERS(4) ", host: {cores: 1}, costs: {step: 4GB/s, mix: 4GB/s}");
        if (!(crowded >= alone)) printf("  %s: %g s, crowded %g s\n", methods[i], alone, crowded);
        CHECK(crowded >= alone && isfinite(crowded));
    }
}

TEST(a_resumed_run_ends_as_if_it_had_not_stopped)
{
    char folder[64] = "/tmp/motley-test-XXXXXX";
    if (!mkdtemp(folder)) abort();
    mot_time whole = 0;
    uint64_t hash = 0;
    for (int part = 0; part < 3; part++) {
        struct run r = { .ways = { .resume = part == 2, .replace = true } };
        RUN_SET(&r, "data", "digits", "model", "softmax", "method", "async", "optimizer.lr", "0.1", "cluster",
            "{workers: [{count: 3, jitter: {name: lognormal, sigma: 0.3}}], host: {cores: 2}, "
            "costs: {step: 1MB/s, mix: 2MB/s}}",
            "output", folder, "stop.updates", part == 1 ? "61" : "200");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        if (part == 0) whole = r.out.last.now, hash = r.out.model_hash;
        if (part == 2) CHECK(r.out.last.now == whole && r.out.model_hash == hash);
        run_free(&r);
    }
    scratch_remove(folder);
}

TEST(bad_hosts_and_costs_are_refused_by_name)
{
    static const char *const bad[] = { "host: {cores: 0}", "host: 4", "costs: {step: 0}", "host: {core: 2}" };
    for (size_t i = 0; i < MOT_COUNT(bad); i++) {
        struct run r = { 0 };
        char text[128];
        snprintf(text, sizeof(text), "{workers: 2, %s}", bad[i]);
        RUN_SET(&r, "cluster", text);
        CHECK_INT(mot_experiment_open(NULL, r.setting, r.settings, &r.experiment), MOT_EUSAGE);
        CHECK(strstr(mot_error(), i == 2 ? "costs" : "host"));
    }
}

TEST_MAIN()
