/* The published comparison of assignment rules (Islamov, Safaryan, Alistarh, AsGrad, AISTATS 2024) on
 * phishing, and what must hold of the template whatever the data. MOTLEY_LONG=1 for ten step
 * sizes and ten seeds. */
#include "../run/run.h"
#include "cluster/cluster.h"
#include "report/tally.h"

enum { PURE, RANDOM, SHUFFLED, RULES };
static const char *const rule_name[RULES] = { "pure", "random", "shuffled" };

#define SKIP_WITHOUT_PHISHING()                                                                              \
    char path[512];                                                                                          \
    if (!shared_file("phishing/phishing.gz", path, sizeof(path))) SKIP(NOT_SHARED)

/* Ten workers of which worker i has the job times of a law with s = i. */
static const char *cluster_of(const char *law)
{
    static char text[2000];
    size_t n = (size_t)snprintf(text, sizeof text, "{network: none, workers: [");
    for (int s = 1; s <= 10; s++) {
        if (strcmp(law, "fixed") == 0)
            n += (size_t)snprintf(text + n, sizeof text - n, "{job_time: {name: fixed, mean: %ds}}", s);
        if (strcmp(law, "poisson") == 0)
            n += (size_t)snprintf(text + n, sizeof text - n, "{job_time: {name: poisson, mean: %ds}}", s);
        if (strcmp(law, "normal") == 0)
            n += (size_t)snprintf(
                text + n, sizeof text - n, "{job_time: {name: normal, mean: %ds, sd: %ds, plus: 1s}}", s, s);
        if (strcmp(law, "uniform") == 0)
            n += (size_t)snprintf(
                text + n, sizeof text - n, "{job_time: {name: uniform, low: 0s, high: %ds, plus: 1s}}", s);
        n += (size_t)snprintf(text + n, sizeof text - n, s < 10 ? ", " : "]}");
    }
    return text;
}

/* The final norm of the full gradient; NaN if the run failed or diverged. */
static double final_norm(const char *const *pairs, const char *path, const char *law, int power,
    unsigned seed, const char *updates)
{
    char lr[24], seed_text[24], every[40];
    struct run r = { 0 };
    snprintf(lr, sizeof lr, "2^-%d", power);
    snprintf(seed_text, sizeof seed_text, "%u", seed);
    snprintf(every, sizeof every, "%s updates", updates);
    RUN_SET(&r, "data.path", path, "cluster", cluster_of(law), "optimizer.lr", lr, "seed", seed_text,
        "stop.updates", updates, "evaluate.every", every, "sim.threads", "1");
    run_set_all(&r, pairs);
    run_go_file(&r, "examples/asgrad-phishing.yaml");
    double norm = r.status == MOT_OK && r.out.status == MOT_OK ? r.out.last.score.grad_norm : NAN;
    run_free(&r);
    return norm;
}

/* The mean over seeds at the step size whose mean is best. */
static double best_norm(const char *path, const char *law, const char *order, int rule)
{
    bool all = getenv("MOTLEY_LONG") != NULL, certain = rule == PURE && strcmp(law, "fixed") == 0;
    /* Without all of them, those around the best. */
    int first = all || rule == PURE ? 1 : rule == RANDOM ? 2 : 3, last = all ? 10 : rule == PURE ? 2 : 4;
    unsigned seeds = certain ? 1 : all ? 10 : 2;
    double best = INFINITY;
    for (int power = first; power <= last; power++) {
        double sum = 0;
        for (unsigned seed = 1; seed <= seeds; seed++)
            sum += final_norm(
                (const char *const[]){ "data.order", order, "method.assign", rule_name[rule], NULL }, path,
                law, power, seed, "500");
        if (sum / seeds < best) best = sum / seeds;
    }
    return best;
}

/* One row of the published table: near each reference figure, in the
 * same order, and shuffled far ahead of random. */
static void row(const char *law, const char *order, double pure, double random, double shuffled)
{
    SKIP_WITHOUT_PHISHING();
    double expected[RULES] = { pure, random, shuffled }, norm[RULES];
    for (int rule = 0; rule < RULES; rule++) {
        norm[rule] = best_norm(path, law, order, rule);
        printf("  %s %s %s: %.3g, reference %.2g\n", law, order, rule_name[rule], norm[rule], expected[rule]);
    }
    CHECK(norm[SHUFFLED] < norm[RANDOM] && norm[RANDOM] < norm[PURE]);
    CHECK(norm[SHUFFLED] <= 0.6 * norm[RANDOM]);
    /* of ten seeds, or two */
    for (int rule = 0; rule < RULES; rule++)
        CHECK_NEAR(norm[rule] / expected[rule], 1, getenv("MOTLEY_LONG") ? 0.25 : 0.5);
}

TEST(fixed_delays_rank_shuffled_random_pure_as_published) { row("fixed", "file", 1.0e-2, 3.3e-3, 1.0e-3); }
TEST(poisson_delays_rank_shuffled_random_pure_as_published)
{
    if (SANITIZED) SKIP("a sanitizer has seen one row of the table");
    row("poisson", "file", 1.4e-2, 4.1e-3, 1.2e-3);
}
TEST(data_sorted_by_label_rank_shuffled_random_pure_as_published)
{
    if (SANITIZED) SKIP("a sanitizer has seen one row of the table");
    row("fixed", "sorted", 1.6e-1, 3.9e-2, 1.0e-2);
}

TEST(on_sorted_data_pure_stays_at_a_floor_that_a_longer_run_does_not_remove)
{
    SKIP_WITHOUT_PHISHING();
    if (SANITIZED) SKIP("12,000 gradients are long with a sanitizer");
    const char *const sorted[] = { "data.order", "sorted", NULL };
    CHECK_NEAR(final_norm(sorted, path, "fixed", 6, 1, "4000"), 0.237, 0.001);
    CHECK(final_norm(sorted, path, "fixed", 6, 1, "8000") > 0.22);
}

/* ---- Special cases ----------------------------------------------------------------------------- */

static uint64_t hash_of(const char *const *pairs, const char *path)
{
    struct run r = { 0 };
    RUN_SET(
        &r, "data.path", path, "optimizer.lr", "0.5", "stop.updates", "100", "evaluate.every", "100 updates");
    run_set_all(&r, pairs);
    run_go_file(&r, "examples/asgrad-phishing.yaml");
    uint64_t hash = r.status == MOT_OK && r.out.status == MOT_OK ? r.out.model_hash : 0;
    run_free(&r);
    return hash;
}
#define HASH(...) hash_of((const char *const[]){ __VA_ARGS__, NULL }, path)

TEST(waiting_for_all_is_gradient_descent_to_the_bit)
{
    SKIP_WITHOUT_PHISHING();
    uint64_t gd = HASH("method", "allreduce");
    CHECK(gd != 0);
    CHECK(HASH("method.wait", "all") == gd);
    CHECK(HASH("method.wait", "10", "method.assign", "shuffled") == gd); /* one job each again */
    CHECK(HASH("method.wait", "10", "method.assign", "random") != gd);
}

TEST(waiting_for_all_is_gradient_descent_of_one_machine_to_rounding)
{
    SKIP_WITHOUT_PHISHING();
    double norm = final_norm((const char *const[]){ "method.wait", "all", NULL }, path, "fixed", 1, 1, "100");
    struct run r = { 0 };
    RUN_SET(&r, "data.path", path, "optimizer.lr", "0.5", "stop.updates", "100", "evaluate.every",
        "100 updates", "method", "allreduce", "workers", "1", "cluster",
        "{workers: [{job_time: {name: fixed, mean: 1s}}]}");
    run_go_file(&r, "examples/asgrad-phishing.yaml");
    CHECK_INT(r.status, MOT_OK);
    CHECK_NEAR(norm / r.out.last.score.grad_norm, 1, 1e-4);
    run_free(&r);
}

TEST(one_worker_is_plain_sgd_to_the_bit_by_every_rule)
{
    static const char *const rules[] = { "pure", "random", "shuffled", "once" };
    uint64_t sgd = 0;
    for (int k = 0; k < 5; k++) {
        struct run r = { 0 };
        RUN_SET(&r, "data", "digits", "model", "softmax", "workers", "1", "stop.updates", "60", "method",
            k ? "async" : "allreduce");
        if (k) run_set(&r, "method.assign", rules[k - 1]);
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        if (k) CHECK(r.out.model_hash == sgd);
        else sgd = r.out.model_hash;
        run_free(&r);
    }
}

/* ---- Data that are alike ------------------------------------------------------------------------ */

/* Ten times the same rows: every contiguous shard is the whole. */
static void write_copies(const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f) abort();
    for (int copy = 0; copy < 10; copy++) {
        struct mot_rng rng = mot_rng_at(7, MOT_RNG_TEST, 0);
        for (int i = 0; i < 60; i++) {
            double x[4], z = 0;
            for (int j = 0; j < 4; j++) z += (j % 2 ? -1 : 1) * (x[j] = mot_rng_normal(&rng));
            fprintf(f, "%d", z + 0.5 * mot_rng_normal(&rng) > 0 ? 1 : -1);
            for (int j = 0; j < 4; j++) fprintf(f, " %d:%.6f", j + 1, x[j]);
            fputc('\n', f);
        }
    }
    fclose(f);
}

TEST(on_equal_shards_the_gap_between_the_rules_vanishes)
{
    char path[] = "/tmp/motley-copies-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    write_copies(path);
    double norm[RULES];
    for (int rule = 0; rule < RULES; rule++)
        norm[rule] =
            final_norm((const char *const[]){ "data.rows", "all", "method.assign", rule_name[rule], NULL },
                path, "fixed", 3, 1, "500");
    unlink(path);
    printf("  pure %.3g random %.3g shuffled %.3g\n", norm[PURE], norm[RANDOM], norm[SHUFFLED]);
    /* 3 to 16 times on those that differ */
    for (int rule = 0; rule < RULES; rule++) CHECK_NEAR(norm[rule] / norm[PURE], 1, 0.03);
}

/* ---- Bounds and clusters ------------------------------------------------------------------------- */

/* Random options on a random cluster: the bound holds, jobs are as many as asked, all updates are made. */
TEST(the_staleness_bound_holds_on_random_clusters)
{
    static const char *const rules[] = { "pure", "random", "shuffled", "once" },
                             *const how[] = { "wait", "drop", "cancel" };
    unsigned runs = getenv("MOTLEY_LONG") ? 400 : SANITIZED ? 12 : 60, first = 1, cancelled = 0;
    printf("  seeds %u to %u\n", first, first + runs - 1);
    for (unsigned seed = first; seed < first + runs; seed++) {
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 1);
        unsigned n = 2 + (unsigned)mot_rng_below(&rng, 7), rule = (unsigned)mot_rng_below(&rng, 4),
                 stale = (unsigned)mot_rng_below(&rng, 3);
        unsigned jobs =
            rule == 0 ? n * (1 + (unsigned)mot_rng_below(&rng, 2)) : 1 + (unsigned)mot_rng_below(&rng, 2 * n);
        unsigned b = 1 + (unsigned)mot_rng_below(&rng, jobs < 3 ? jobs : 3);
        unsigned bound = (jobs + b - 1) / b - 1 + (unsigned)mot_rng_below(&rng, 6);
        if (stale != 0) bound = (unsigned)mot_rng_below(&rng, 8);
        char text[8][24], cluster[300];
        unsigned value[] = { seed, n, jobs, b, bound };
        for (int i = 0; i < 5; i++) snprintf(text[i], sizeof text[i], "%u", value[i]);
        snprintf(cluster, sizeof cluster,
            "{network: {bandwidth: %dMbit, latency: 2ms}, workers: [{count: %u, jitter: {name: lognormal, "
            "sigma: 0.8}}, "
            "{count: 1, speed: 150 samples/s}], faults: {until: 2s, stall: 0.5/s, crash: %s/s, "
            "restart_after: 300ms, detect: 200ms}}",
            5 + (int)mot_rng_below(&rng, 100), n - 1, seed % 2 ? "0" : "0.3");
        struct run r = { 0 };
        RUN_SET(&r, "seed", text[0], "workers", text[1], "method", "async", "method.jobs", text[2],
            "method.wait", text[3], "method.max_staleness", text[4], "method.on_stale", how[stale],
            "method.assign", rules[rule], "cluster", cluster, "data", "digits", "model", "softmax", "batch",
            "8", "optimizer.lr", "0.01", "stop.updates", "150", "stop.time", "100s", "evaluate.every",
            "1000 updates");
        run_go(&r);
        const struct mot_note_tally *late = mot_note_find(&r.out, "staleness"),
                                    *active = mot_note_find(&r.out, "active_jobs");
        bool holds = r.status == MOT_OK && r.out.status == MOT_OK && r.out.last.updates == 150 && late &&
            late->max <= bound && active && active->max <= jobs;
        if (!holds)
            FAIL("seed %u: n %u assign %s jobs %u wait %u max_staleness %u on_stale %s: status %d, %llu "
                 "updates, staleness %g, active %g",
                seed, n, rules[rule], jobs, b, bound, how[stale], r.out.status,
                (unsigned long long)r.out.last.updates, late ? late->max : -1, active ? active->max : -1);
        cancelled += mot_note_find(&r.out, "wasted") != NULL;
        run_free(&r);
    }
    CHECK(SANITIZED || cancelled > runs / 10);
}

TEST(the_job_times_of_the_paper_have_its_laws)
{
    static const char *const laws[] = { "fixed", "poisson", "normal", "uniform" };
    for (int k = 0; k < 4; k++) {
        struct run r = { 0 };
        RUN_SET(&r, "cluster", cluster_of(laws[k]), "workers", "10");
        CHECK_INT(mot_experiment_open(NULL, r.setting, r.settings, &r.experiment), MOT_OK);
        for (int s = 1; s <= 10; s += 3) {
            const struct mot_machine *m = &r.experiment->cluster->machine[s - 1];
            struct mot_pace pace = { 0 };
            double sum = 0, square = 0, least = INFINITY, most = 0, n = 20000;
            for (int i = 0; i < n; i++) {
                double seconds = (double)mot_job_time(m, 1, (mot_node)(s - 1), &pace, 100) / 1e9;
                sum += seconds;
                square += seconds * seconds;
                least = fmin(least, seconds);
                most = fmax(most, seconds);
                if (k == 1) CHECK_NEAR(seconds, round(seconds), 1e-9);
            }
            double mean = sum / n, variance = square / n - mean * mean;
            /* |N(s, s)| has the mean 1.16663 s and the second moment 2 s^2. */
            double means[] = { s, s, 1.16663 * s + 1, s / 2.0 + 1 };
            double variances[] = { 0, s, (2 - 1.16663 * 1.16663) * s * s, s * s / 12.0 };
            CHECK_NEAR(mean, means[k], 0.02 * s + 1e-9);
            CHECK_NEAR(variance, variances[k], 0.05 * variances[k] + 1e-9);
            if (k >= 2) CHECK(least >= 1 && least < 1.01 + 0.01 * s);
            if (k == 3) CHECK(most <= s + 1 && most > s * 0.98 + 1);
        }
        mot_experiment_close(r.experiment);
    }
}

TEST_MAIN()
