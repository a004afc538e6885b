#include "base/file.h"
#include "config/cluster_file.h"
#include "config/cluster_named.h"
#include "config/experiment.h"
#include "test.h"
#include <unistd.h>

static struct mot_cluster *parsed(const char *text)
{
    struct mot_cluster *c = NULL;
    if (mot_cluster_parse("c.yaml", text, strlen(text), &c)) printf("  %s\n", mot_error());
    return c;
}

TEST(a_number_of_workers_is_a_cluster)
{
    struct mot_cluster *c = parsed("workers: 5\n");
    CHECK(c);
    CHECK_INT(c->workers, 5);
    CHECK_INT(c->servers, 1);
    CHECK_INT(mot_cluster_group(c, 0), 5);
    CHECK(c->machine[4].speed == 1000 && c->machine[4].link.down == 125e6);
    mot_cluster_close(c);
}

TEST(links_come_from_the_network_unless_said_otherwise)
{
    struct mot_cluster *c =
        parsed("network: {bandwidth: 8Mbit, down: 16Mbit, latency: 2ms}\n"
               "workers: [{}, {up: 80Mbit}, {bandwidth: none, latency: 0}, {latency: 1us}]\n"
               "server: {bandwidth: 1Gbit}\n");
    CHECK(c);
    const struct mot_machine *m = c->machine;
    CHECK(m[0].link.up == 1e6 && m[0].link.down == 2e6 && m[0].link.latency == 2000000);
    CHECK(m[1].link.up == 1e7 && m[1].link.down == 2e6);
    CHECK(isinf(m[2].link.up) && isinf(m[2].link.down) && m[2].link.latency == 0);
    CHECK(m[3].link.up == 1e6 && m[3].link.latency == 1000);
    CHECK(m[4].link.up == 125e6 && m[4].link.latency == 2000000);
    mot_cluster_close(c);
    c = parsed("network: none\nworkers: 2\n");
    CHECK(c);
    CHECK(isinf(c->machine[0].link.up) && c->machine[2].link.latency == 0);
    mot_cluster_close(c);
}

TEST(alike_neighbours_are_one_group_and_names_divide_them)
{
    struct mot_cluster *c = parsed("workers: [{count: 2}, {}, {name: a}, {name: a}, {speed: 5/s}]\n");
    CHECK(c);
    CHECK_INT(mot_cluster_group(c, 0), 3);
    CHECK_INT(mot_cluster_group(c, 3), 1);
    CHECK_INT(mot_cluster_group(c, 4), 1);
    CHECK_INT(mot_cluster_group(c, 5), 1);
    mot_cluster_close(c);
}

TEST(laws_are_told_in_words)
{
    struct mot_cluster *c = parsed("workers:\n  - {job_time: {name: normal, mean: 2s, sd: 1s}, jitter: "
                                   "{name: lognormal, sigma: 0.5}, straggle: {name: iid, p: 0.5}}\n  - {}\n");
    CHECK(c);
    char *job = mot_job_time_text(&c->machine[0]), *jitter = mot_jitter_text(&c->machine[0]),
         *straggle = mot_straggle_text(&c->machine[0]);
    char *none = mot_jitter_text(&c->machine[1]);
    CHECK_TEXT(job, "normal (mean 2s, sd 1s)");
    CHECK_TEXT(jitter, "lognormal (sigma 0.5)");
    CHECK_TEXT(straggle, "iid (p 0.5)");
    CHECK_TEXT(none, "none");
    free(none);
    free(straggle);
    free(jitter);
    free(job);
    mot_cluster_close(c);
}

static char *printed(const struct mot_cluster *c)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    mot_cluster_print(c, 0, out);
    fclose(out);
    return text;
}

TEST(groups_have_their_own_price_or_the_clusters)
{
    struct mot_cluster *c =
        parsed("per: samples\nworkers:\n  - {job_time: 2s}\n  - {job_time: 2s, per: job}\n"
               "  - {speed: 5/s}\n  - {speed: 5/s, per: samples}\n");
    CHECK(c);
    for (int again = 0; again < 2; again++) {
        CHECK_INT(c->machine[0].price, MOT_PRICE_SAMPLES);
        CHECK_INT(c->machine[1].price, MOT_PRICE_JOB);
        CHECK_INT(c->machine[2].price, MOT_PRICE_AUTO); /* speeds go by samples of themselves */
        CHECK_INT(c->machine[3].price, MOT_PRICE_AUTO);
        char *text = printed(c);
        mot_cluster_close(c);
        c = parsed(text);
        free(text);
        CHECK(c);
    }
    mot_cluster_close(c);
}

TEST(faults_are_read)
{
    struct mot_cluster *c = parsed(
        "workers: 4\nfaults:\n  drop: 1%\n  crash: 0.01/s\n  restart_after: never\n  until: 20s\n  "
        "schedule:\n"
        "    - {kind: stall, at: 3s, for: 500ms, worker: 3}\n    - {kind: crash, at: 1s, server: true}\n"
        "    - {kind: slow-link, at: 0, factor: 8}\n    - {kind: corrupt, at: 0, probability: 5%, workers: "
        "[1, 2]}\n");
    CHECK(c);
    const struct mot_faults *f = &c->faults;
    CHECK(f->any && f->chance[0] == 0.01 && f->chance[1] == 0 && f->rate[0].per_s == 0.01);
    CHECK(f->rate[0].lasts == MOT_NEVER && f->until == UINT64_C(20000000000) &&
        f->detect == UINT64_C(1000000000));
    CHECK_INT(f->scheduled, 4);
    CHECK(f->fault[0].kind == MOT_FAULT_STALL && f->fault[0].at == UINT64_C(3000000000) &&
        f->fault[0].lasts == 500000000);
    CHECK(f->fault[1].kind == MOT_FAULT_CRASH && f->fault[1].server && f->fault[1].lasts == MOT_NEVER);
    CHECK(f->fault[2].kind == MOT_FAULT_SLOW_LINK && f->fault[2].amount == 8 && f->fault[3].amount == 0.05);
    CHECK(mot_fault_hits(&f->fault[0], 4, 3) && !mot_fault_hits(&f->fault[0], 4, 2) &&
        !mot_fault_hits(&f->fault[0], 4, 4));
    CHECK(mot_fault_hits(&f->fault[1], 4, 4) && !mot_fault_hits(&f->fault[1], 4, 0));
    CHECK(mot_fault_hits(&f->fault[2], 4, 0) && mot_fault_hits(&f->fault[2], 4, 4));
    mot_cluster_close(c);
}

TEST(faults_are_printed_as_they_are_read)
{
    struct mot_cluster *c = parsed("workers: 4\nfaults: {drop: 1%, stall: 2/min, until: 20s, schedule: ["
                                   "{kind: crash, at: 1s, for: 2s, workers: [0, 1]}, {kind: restart, at: 9s, "
                                   "worker: 0}, {kind: stall, at: 1ms, server: true}, "
                                   "{kind: partition, at: 2s, for: 3s, worker: 1, server: yes}, {kind: "
                                   "slow-link, at: 3s, factor: 2.5}, {kind: drop, at: 4s}, "
                                   "{kind: duplicate, at: 4s, probability: 0.25}, {kind: reorder, at: 5s, "
                                   "for: 1ns}, {kind: corrupt, at: 6s, worker: 3}]}\n");
    CHECK(c);
    char *once = printed(c);
    mot_cluster_close(c);
    c = parsed(once);
    CHECK(c);
    char *twice = printed(c);
    CHECK_INT(c->faults.scheduled, 9);
    CHECK_TEXT(once, twice);
    CHECK_HAS(once, "kind: slow-link");
    mot_cluster_close(c);
    free(once);
    free(twice);
}

TEST(a_list_of_faults_is_a_schedule_and_no_faults_leave_no_trace)
{
    struct mot_cluster *c = parsed("workers: 2\nfaults: [{kind: crash, at: 1s, worker: 0}]\n");
    CHECK(c);
    CHECK_INT(c->faults.scheduled, 1);
    mot_cluster_close(c);
    c = parsed("workers: 2\nfaults: {until: 3s}\n");
    CHECK(c);
    CHECK(!c->faults.any);
    char *text = printed(c);
    CHECK(!strstr(text, "faults"));
    free(text);
    mot_cluster_close(c);
}

TEST(ten_thousand_workers_are_quickly_there)
{
    struct mot_cluster *c = parsed("workers: [{count: 10k}]\n");
    CHECK(c);
    CHECK_INT(c->workers, 10000);
    CHECK(sizeof(struct mot_machine) < 1024);
    mot_cluster_close(c);
    CHECK(!parsed("workers: [{count: 60k}, {count: 60k}]\n"));
    CHECK_HAS(mot_error(), "at most 100000 workers");
}

TEST(slow_stretches_the_jobs_of_the_last_workers_and_prints_plain_groups_that_read_back)
{
    static const char *const groups[] = {
        "[{name: a, count: 2}, {name: b, count: 3, speed: 300/s, fixed: 7ms}]",
        "[{count: 5, job_time: {name: poisson, mean: 7ms, unit: 3ms, plus: 1ms}}]",
        "[{count: 5, job_time: {name: uniform, low: 1us, high: 2s}, jitter: {name: lognormal}}]",
        "[{count: 5, job_time: {name: normal, mean: 333ns, sd: 100ns}, straggle: {name: markov}}]",
        "5",
    };
    for (size_t i = 0; i < MOT_COUNT(groups); i++) {
        char text[300];
        snprintf(text, sizeof text, "workers: %s\nslow: 2.5\nslow_count: 2\n", groups[i]);
        struct mot_cluster *c = parsed(text);
        snprintf(text, sizeof text, "workers: %s\n", groups[i]);
        struct mot_cluster *plain = parsed(text);
        CHECK(c && plain);
        for (uint32_t w = 0; w < 5; w++) {
            double want = mot_job_mean(&plain->machine[w], 32) * (w < 3 ? 1 : 2.5);
            CHECK_NEAR(mot_job_mean(&c->machine[w], 32), want, 1e-12 + 4e-9); /* whole nanoseconds */
        }
        char *first = printed(c);
        CHECK(strstr(first, "\nslow:") == NULL);
        struct mot_cluster *again = parsed(first);
        CHECK(again);
        char *second = printed(again);
        CHECK_TEXT(second, first);
        for (uint32_t w = 0; w < 5; w++)
            CHECK(mot_job_mean(&c->machine[w], 32) == mot_job_mean(&again->machine[w], 32));
        free(first);
        free(second);
        mot_cluster_close(c);
        mot_cluster_close(plain);
        mot_cluster_close(again);
    }
}

TEST(a_speed_cannot_be_priced_by_the_job)
{
    struct mot_cluster *c = NULL;
    static const char *const wrong[][2] = {
        { "{workers: [{speed: 5/s, per: job}]}",
            "workers[0].per: expected workers with a job_time or a trace; those with a speed" },
        { "{workers: [{job_time: 2s, per: batch}]}", "workers[0].per: expected one of auto, job, samples" },
        { "{workers: 3, per: sample}", "per: expected one of auto, job, samples" },
    };
    for (size_t i = 0; i < MOT_COUNT(wrong); i++) {
        CHECK_INT(mot_cluster_parse("c.yaml", wrong[i][0], strlen(wrong[i][0]), &c), MOT_EUSAGE);
        CHECK_HAS(mot_error(), wrong[i][1]);
    }
}

TEST(slow_refuses_more_workers_than_there_are_and_jobs_of_centuries)
{
    struct mot_cluster *c = NULL;
    static const char *const wrong[][2] = {
        { "{workers: 3, slow: 2, slow_count: 4}",
            "slow_count: expected at most 3, as many as there are workers; found '4'" },
        { "{workers: [{job_time: 2000s}], slow: 1000000}", "those of worker 0 are longer" },
        { "{workers: 3, slow: 0.5}", "slow: expected a number from 1 to" },
        { "{workers: [{straggle: {name: trace, path: x.csv}}], slow: 2}",
            "has no meaning for worker 0: its job times come from a trace" },
    };
    for (size_t i = 0; i < MOT_COUNT(wrong); i++) {
        CHECK_INT(mot_cluster_parse("c.yaml", wrong[i][0], strlen(wrong[i][0]), &c), MOT_EUSAGE);
        CHECK_HAS(mot_error(), wrong[i][1]);
    }
}

/* A folder with a trace of three columns, and a cluster file beside it that names it. */
static struct mot_cluster *traced(const char *workers)
{
    char folder[] = "/tmp/motley-cluster-XXXXXX", path[100], text[300];
    if (!mkdtemp(folder)) abort();
    snprintf(path, sizeof path, "%s/t.csv", folder);
    mot_file_replace(path, "1,2,3\n4,5,6\n", 12);
    snprintf(path, sizeof path, "%s/c.yaml", folder);
    snprintf(text, sizeof text, "workers: %s\n", workers);
    mot_file_replace(path, text, strlen(text));
    struct mot_cluster *c = NULL;
    if (mot_cluster_open(path, &c) != MOT_OK) c = NULL;
    unlink(path);
    snprintf(path, sizeof path, "%s/t.csv", folder);
    unlink(path);
    rmdir(folder);
    return c;
}

TEST(workers_take_the_columns_of_a_trace_in_turn_or_the_one_that_is_named)
{
    struct mot_cluster *c = traced("[{speed: 1/s}, {count: 4, straggle: {name: trace, path: t.csv}},"
                                   " {straggle: {name: trace, path: t.csv, column: 2}}]");
    CHECK(c);
    static const uint32_t column[6] = { 0, 1, 2, 0, 1, 2 };
    for (uint32_t i = 1; i < 6; i++) {
        CHECK_INT(c->machine[i].straggle.column, column[i]);
        CHECK(c->machine[i].straggle.trace == c->machine[1].straggle.trace); /* read once */
        CHECK_NEAR(mot_job_mean(&c->machine[i], 32), (1 + column[i] + 4 + column[i]) / 2.0, 1e-9);
    }
    mot_cluster_close(c);
}

TEST(a_column_that_a_trace_does_not_have_is_refused)
{
    CHECK(!traced("[{straggle: {name: trace, path: t.csv, column: 3}}]"));
    CHECK_HAS(mot_error(), "straggle.column: expected a column from 0 to 2 of '");
    CHECK_HAS(mot_error(), "found '3'");
    CHECK(!traced("[{straggle: {name: trace, path: u.csv}}]"));
    CHECK_HAS(mot_error(), "straggle.path: there is no file '");
}

TEST(a_cluster_is_told_in_words_without_what_goes_without_saying)
{
    static const struct {
        const char *worker, *job, *jitter, *straggle;
    } told[] = {
        { "{}", "", "none", "none" },
        { "{job_time: 2s, jitter: {name: lognormal}}", "fixed (mean 2s)", "lognormal", "none" },
        { "{job_time: {name: uniform, low: 1ms, high: 2s, plus: 3us}, jitter: {name: uniform, low: 0.1}}",
            "uniform (low 1ms, high 2s, plus 3us)", "uniform (low 0.1)", "none" },
        { "{job_time: {name: normal, mean: 3ns, sd: 1ns}, jitter: {name: normal, sd: 0.5}}",
            "normal (mean 3ns, sd 1ns)", "normal (sd 0.5)", "none" },
        { "{job_time: {name: lognormal, mean: 1h, sigma: 0.3}, straggle: {name: iid, p: 0.25}}",
            "lognormal (mean 1h, sigma 0.3)", "none", "iid (p 0.25)" },
        { "{job_time: {name: pareto, mean: 1s, alpha: 4}, jitter: {name: pareto, mean: 2, alpha: 5}}",
            "pareto (mean 1s, alpha 4)", "pareto (mean 2, alpha 5)", "none" },
        { "{job_time: {name: poisson, mean: 9s, unit: 3s}, jitter: {name: poisson, unit: 0.2, plus: 1}}",
            "poisson (mean 9s, unit 3s)", "poisson (unit 0.2, plus 1)", "none" },
        { "{jitter: {name: exponential}, straggle: {name: two-class, factor: 3, slow: 0.5, p_fast: 0}}", "",
            "exponential", "two-class (factor 3, slow 0.5, p_fast 0)" },
        { "{jitter: {name: fixed, mean: 2}, straggle: {name: markov, stay_slow: 0.5}}", "", "fixed (mean 2)",
            "markov (stay_slow 0.5)" },
    };
    for (size_t i = 0; i < MOT_COUNT(told); i++) {
        char text[300];
        snprintf(text, sizeof text, "workers: [%s]\n", told[i].worker);
        struct mot_cluster *c = parsed(text);
        CHECK(c);
        char *words[] = { c->machine[0].has_job_time ? mot_job_time_text(&c->machine[0]) : strdup(""),
            mot_jitter_text(&c->machine[0]), mot_straggle_text(&c->machine[0]) };
        CHECK_TEXT(words[0], told[i].job);
        CHECK_TEXT(words[1], told[i].jitter);
        CHECK_TEXT(words[2], told[i].straggle);
        for (int w = 0; w < 3; w++) free(words[w]);
        mot_cluster_close(c);
    }
}

TEST(links_scales_every_bandwidth_and_what_is_printed_reads_back)
{
    static const char text[] =
        "links: 0.5\nnetwork: {bandwidth: 1Gbit}\nworkers: [{count: 2}, {up: 20Mbit}]\n"
        "server: {bandwidth: 10Gbit}\nhost: {cores: 2, workers: 3}\ncosts: {mix: 8GB/s}\n";
    struct mot_cluster *c, *back;
    CHECK_INT(mot_cluster_parse("text", text, sizeof(text) - 1, &c), MOT_OK);
    CHECK_NEAR(c->machine[0].link.up, 62.5e6, 1e-6);
    CHECK_NEAR(c->machine[2].link.up, 1.25e6, 1e-6);
    CHECK_NEAR(c->machine[3].link.down, 625e6, 1e-6);
    char *printed;
    size_t n;
    FILE *out = open_memstream(&printed, &n);
    mot_cluster_print(c, 0, out);
    fclose(out);
    CHECK_INT(mot_cluster_parse("printed", printed, n, &back), MOT_OK);
    CHECK(
        back->host.cores == 2 && back->host.workers == 3 && back->costs.mix == 8e9 && back->costs.step == 0);
    CHECK(back->machine[2].link.up == c->machine[2].link.up);
    mot_cluster_close(c);
    mot_cluster_close(back);
    free(printed);
}

TEST(clusters_with_a_name_are_clusters_and_cite_a_source)
{
    const struct mot_named_cluster *named;
    size_t n = 0;
    for (; (named = mot_named_cluster_at(n)); n++) {
        struct mot_cluster *c;
        CHECK_INT(mot_cluster_open(named->name, &c), MOT_OK);
        CHECK(c->workers >= 8 && strstr(named->source, "20") && mot_named_cluster_find(named->name) == named);
        struct mot_setting setting[] = { { "cluster", named->name, "test" },
            { "stop.updates", "9", "test" } };
        struct mot_experiment *x;
        CHECK_INT(mot_experiment_open(NULL, setting, 2, &x), MOT_OK);
        CHECK_INT(x->workers, c->workers);
        mot_experiment_close(x);
        mot_cluster_close(c);
    }
    CHECK_INT(n, 4);
    /* Samples that arrive for ever need an end, which is said, though no key of the file is to blame. */
    struct mot_setting edge = { "cluster", "edge", "test" };
    struct mot_experiment *x;
    CHECK_INT(mot_experiment_open(NULL, &edge, 1, &x), MOT_EUSAGE);
    CHECK(strstr(mot_error(), "streams never end"));
    CHECK(!mot_named_cluster_find("moon"));
}

TEST_MAIN()
