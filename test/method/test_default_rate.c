/* The default learning rate: every method learns with it, however stale its gradients. */
#include "../run/run.h"
#include "method/methods.h"
#include <math.h>
#include <stdlib.h>

static struct mot_moment end_of(const char *method, const char *workers, const char *slow, const char *time)
{
    struct run r = { 0 };
    char count[24];
    snprintf(count, sizeof count, "%lu", strtoul(workers, NULL, 10) / 4);
    RUN_SET(&r, "data", "digits", "method", method, "workers", workers, "cluster.slow", slow,
        "cluster.slow_count", count, "evaluate.train", "end", "evaluate.every", "1000 epochs");
    if (time) RUN_SET(&r, "stop.time", time, "stop.epochs", "none");
    else RUN_SET(&r, "stop.epochs", "20");
    run_go(&r);
    struct mot_moment end = r.out.last;
    if (r.status != MOT_OK || r.out.status != MOT_OK) end.score.test_accuracy = NAN;
    run_free(&r);
    return end;
}

/* `share`: of what allreduce learns, in as many samples or as much time. */
static void all_learn(const char *workers, const char *slow, bool in_its_time, double share)
{
    struct mot_moment first = end_of("allreduce", workers, slow, NULL);
    char time[32];
    snprintf(time, sizeof time, "%lluns", (unsigned long long)first.now);
    for (size_t i = 1; mot_method_at(i); i++) {
        const char *name = mot_method_at(i)->name;
        double accuracy = end_of(name, workers, slow, in_its_time ? time : NULL).score.test_accuracy;
        bool learns = accuracy >= share * first.score.test_accuracy;
        if (!learns) printf("  %s: %.3f, allreduce: %.3f\n", name, accuracy, first.score.test_accuracy);
        CHECK(learns);
    }
}

TEST(with_equal_workers_every_method_learns_85_percent_of_what_allreduce_learns_from_as_many_samples)
{
    all_learn("4", "1", false, 0.85);
    if (SANITIZED) return;
    all_learn("8", "1", false, 0.85);
    all_learn("16", "1", false, 0.85);
}

TEST(with_a_quarter_of_them_four_times_slower_every_method_learns_85_of_100_of_it_in_allreduces_time)
{
    if (SANITIZED) SKIP("a sanitizer makes it slow; each method has learned once");
    all_learn("4", "4", true, 0.85);
    all_learn("16", "4", true, 0.85);
}

/* Pairs of key and value, ended by NULL. */
static double rate_of(const char *const *pair)
{
    struct run r = { 0 };
    double rate = NAN;
    run_set_all(&r, pair);
    if (mot_experiment_open(NULL, r.setting, r.settings, &r.experiment) == MOT_OK)
        rate = r.experiment->optim.lr;
    else printf("  %s\n", mot_error());
    mot_experiment_close(r.experiment);
    return rate;
}
#define RATE(...) rate_of((const char *const[]){ __VA_ARGS__, NULL })

TEST(the_rate_follows_from_how_late_the_method_and_its_options_make_gradients)
{
    CHECK_NEAR(RATE("workers", "64"), 0.1, 0); /* nothing is late in a synchronous method */
    CHECK_NEAR(RATE("workers", "64", "method", "rennala"), 0.1, 0);
    CHECK_NEAR(RATE("workers", "5", "method", "async"), 0.1, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "async"), 0.027, 0); /* 0.1 * 4 / 15, in two digits */
    CHECK_NEAR(RATE("workers", "64", "method", "async"), 0.0063, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "{name: async, wait: all}"), 0.1, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "{name: async, wait: 2}"), 0.057, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "{name: async, jobs: 32}"), 0.013, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "{name: async, max_staleness: 5}"), 0.08, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "ringmaster"), 0.027, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "{name: ringmaster, r: 6}"), 0.08, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "ringleader"), 0.013, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "ia2sgd"), 0.013, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "{name: ia2sgd, wait: 4}"), 0.067, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "{name: gasync, jobs: 11}"), 0.04, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "fedbuff"), 0.1, 0); /* a quarter of them makes an update */
    CHECK_NEAR(RATE("workers", "16", "method", "{name: fedbuff, steps: 5}"), 0.027, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "{name: ca2fl, k: 1}"), 0.027, 0);
}

TEST(momentum_makes_it_smaller_and_what_is_written_stays)
{
    CHECK_NEAR(RATE("workers", "16", "method", "async", "optimizer.momentum", "0.9"), 0.0027, 0);
    CHECK_NEAR(RATE("workers", "16", "optimizer.momentum", "0.9"), 0.1, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "async", "optimizer.lr", "0.1"), 0.1, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "async", "optimizer.lr", "auto"), 0.027, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "async", "optimizer", "adamw"), 0.00027, 0);
    CHECK_NEAR(RATE("workers", "16", "method", "allreduce", "optimizer", "lars"), 1, 0);
}

TEST_MAIN()
