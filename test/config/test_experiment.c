#include "base/file.h"
#include "config/experiment.h"
#include "config/parse.h"
#include "test.h"
#include <unistd.h>

static struct mot_experiment *parsed(const char *text)
{
    struct mot_experiment *e = NULL;
    if (mot_experiment_parse("t.yaml", text, strlen(text), &e)) printf("  %s\n", mot_error());
    return e;
}

static struct mot_experiment *with(const char *const *pairs)
{
    struct mot_setting setting[16];
    size_t n = 0;
    for (; pairs[2 * n]; n++) setting[n] = (struct mot_setting){ pairs[2 * n], pairs[2 * n + 1], "--flag" };
    struct mot_experiment *e = NULL;
    if (mot_experiment_open(NULL, setting, n, &e)) printf("  %s\n", mot_error());
    return e;
}
#define WITH(...) with((const char *const[]){ __VA_ARGS__, NULL })

static char *printed(const struct mot_experiment *e)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    mot_experiment_print(e, out);
    fclose(out);
    return text;
}

TEST(without_a_file_the_defaults_make_an_experiment)
{
    struct mot_experiment *e;
    CHECK_INT(mot_experiment_open(NULL, NULL, 0, &e), MOT_OK);
    CHECK_INT(e->seed, 1);
    CHECK_INT(e->workers, 8);
    CHECK_TEXT(e->data.name, "digits");
    CHECK_TEXT(e->model->name, "mlp");
    CHECK_TEXT(e->method->name, "allreduce");
    CHECK_TEXT(e->optimizer->name, "sgd");
    CHECK_TEXT(e->partitioner->name, "equal");
    CHECK_INT(e->batch[7], 32);
    CHECK(e->stop.epochs == 20);
    CHECK_INT(e->stop.updates, MOT_WORD_UINT);
    CHECK_INT(e->stop.time, MOT_NEVER);
    CHECK(e->sim.threads >= 1);
    CHECK(!e->output);
    CHECK_INT(e->cluster->servers, 0);
    CHECK(e->cluster->machine[0].speed == 1000);
    CHECK(e->cluster->machine[0].link.up == 125e6);
    CHECK_INT(e->cluster->machine[0].link.latency, 100000);
    mot_experiment_close(e);
}

static const char everything[] =
    "seed: 7\n"
    "data: {path: 'a b.csv', rows: 500, order: sorted, label_column: \"x: #y\"}\n"
    "partition: contiguous\n"
    "sampler: replace\n"
    "model: {name: logistic, reg: {name: nonconvex, lambda: 0.1}}\n"
    "method: {name: server, k: 7}\n"
    "optimizer: {name: sgd, learning_rate: 2^-3, momentum: 0.9, clip: 5, schedule: {name: cosine, warmup: "
    "10}}\n"
    "batch: [1, 2, 3, 4, 5, 6, 7, 8]\n"
    "cluster:\n"
    "  network: {bandwidth: 20Mbit, latency: 3ms}\n"
    "  workers:\n"
    "    - {name: a, count: 3, speed: 333.3 samples/s, fixed: 1ms, jitter: {name: lognormal, sigma: 0.3}}\n"
    "    - {count: 2, job_time: {name: normal, mean: 1s, sd: 1s, plus: 1s}, straggle: {name: two-class, "
    "slow: 0.5}}\n"
    "    - {job_time: {name: poisson, mean: 3s}, up: none, straggle: {name: markov, stay_slow: 0.9}}\n"
    "    - {job_time: {name: uniform, high: 2.5s}, jitter: {name: pareto, alpha: 2.5}, bandwidth: 1GB/s}\n"
    "    - {job_time: 123456789ns, straggle: {name: iid, p: 20%}}\n"
    "  server: {down: none, latency: 0}\n"
    "evaluate: {every: 100 updates, train: end, grad_norm: true, heterogeneity: always}\n"
    "stop: {updates: 10k, time: 10min, target: {grad_norm: 1e-3}}\n"
    "sim: {threads: 3, collective: tree, overcommit: yes}\n"
    "checkpoint: {every: 0.5 epochs}\n"
    "trace: true\n"
    "output: runs/first\n";

TEST(every_key_reaches_its_field)
{
    struct mot_experiment *e = parsed(everything);
    CHECK(e);
    CHECK_INT(e->seed, 7);
    CHECK_INT(e->workers, 8);
    CHECK(!e->data.name);
    CHECK_HAS(e->data.path, "/a b.csv");
    CHECK_INT(e->data.rows, 500);
    CHECK_INT(e->data.order, MOT_ORDER_SORTED);
    CHECK_TEXT(e->data.label_column, "x: #y");
    CHECK_TEXT(e->partitioner->name, "contiguous");
    CHECK_INT(e->sampler.name, MOT_SAMPLE_REPLACE);
    CHECK_TEXT(e->method->name, "server");
    CHECK(e->optim.lr == 0.125 && e->optim.momentum == 0.9 && e->optim.clip == 5);
    CHECK_INT(e->schedule.name, MOT_SCHEDULE_COSINE);
    CHECK_INT(e->schedule.warmup, 10);
    CHECK_INT(e->batch[7], 8);
    CHECK_INT(e->cluster->servers, 1);
    const struct mot_machine *m = e->cluster->machine;
    CHECK_TEXT(m[2].name, "a");
    CHECK(m[2].speed == 333.3 && m[2].fixed == 1000000 && m[2].link.up == 2.5e6);
    CHECK(m[3].has_job_time && m[3].job_time.kind == MOT_LAW_NORMAL && m[3].job_time.sd == 1 &&
        m[3].job_time.plus == 1);
    CHECK(m[4].straggle.kind == MOT_STRAGGLE_TWO_CLASS && m[4].straggle.slow == 0.5 &&
        m[4].straggle.p_slow == 0.8);
    CHECK(isinf(m[5].link.up) && m[5].link.down == 2.5e6 && m[5].job_time.unit == 1);
    CHECK(m[6].link.up == 1e9 && m[6].jitter.alpha == 2.5 && m[6].job_time.high == 2.5);
    CHECK(m[7].job_time.mean == 0.123456789 && m[7].straggle.p == 0.2);
    CHECK(isinf(m[8].link.down) && m[8].link.up == 2.5e6 && m[8].link.latency == 0);
    CHECK(e->evaluate.every.unit == MOT_EVERY_UPDATES && e->evaluate.every.value == 100);
    CHECK(e->evaluate.train == 1 && e->evaluate.grad_norm);
    CHECK_INT(e->evaluate.heterogeneity, MOT_HETEROGENEITY_ALWAYS);
    CHECK_INT(e->stop.updates, 10000);
    CHECK(isnan(e->stop.epochs));
    CHECK_INT(e->stop.time, 600000000000LL);
    CHECK(e->stop.target == MOT_TARGET_GRAD_NORM && e->stop.value == 1e-3);
    CHECK(e->sim.threads == 3 && e->sim.collective == MOT_COLLECTIVE_TREE && e->sim.overcommit);
    CHECK(e->checkpoint.unit == MOT_EVERY_EPOCHS && e->checkpoint.value == 0.5);
    CHECK(e->trace);
    CHECK_HAS(e->output, "/runs/first");
    mot_experiment_close(e);
}

static void check_fixpoint(const char *text)
{
    struct mot_experiment *e = parsed(text), *again;
    CHECK(e);
    char *first = printed(e);
    CHECK_HAS(first, "# An experiment as motley ");
    again = parsed(first);
    if (!again) FAIL("cannot be read again:\n%s", first);
    char *second = printed(again);
    CHECK_TEXT(second, first);
    CHECK(mot_experiment_hash(e) == mot_experiment_hash(again));
    free(second);
    free(first);
    mot_experiment_close(again);
    mot_experiment_close(e);
}

TEST(what_is_printed_reads_back_to_the_same_experiment)
{
    check_fixpoint("");
    check_fixpoint(everything);
    check_fixpoint("method: async\nbatch: full\nstop: {epochs: none, target: {test_accuracy: 85%}}\ncluster: "
                   "{workers: 3, network: none}\n");
    check_fixpoint("optimizer: {name: adamw, lr: 0.001}\nmodel: {name: mlp, hidden: [32, 16]}\nevaluate: "
                   "{every: 1.5s}\n");
    check_fixpoint("data: {name: synthetic, kind: regression, noise: 0.333333333333333}\nmodel: "
                   "least-squares\nseed: 18446744073709551615\n");
}

TEST(the_hash_tells_what_decides_the_run_and_nothing_else)
{
    static const struct {
        const char *key, *value;
        bool changes;
    } cases[] = {
        { "seed", "2", true },
        { "workers", "4", true },
        { "optimizer.lr", "0.2", true },
        { "batch", "16", true },
        { "cluster.network", "none", true },
        { "sim.collective", "tree", true },
        { "method", "async", true },
        { "data.rows", "100", true },
        { "stop.updates", "5", false },
        { "sim.threads", "7", false },
        { "output", "x", false },
        { "trace", "yes", false },
        { "checkpoint.every", "1s", false },
    };
    struct mot_experiment *base = WITH("cluster.workers", "8");
    uint64_t hash = mot_experiment_hash(base);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mot_experiment *e = strcmp(cases[i].key, "workers") == 0
            ? WITH("cluster.workers", cases[i].value)
            : WITH("cluster.workers", "8", cases[i].key, cases[i].value);
        CHECK(e);
        if ((mot_experiment_hash(e) != hash) != cases[i].changes) FAIL("%s", cases[i].key);
        mot_experiment_close(e);
    }
    mot_experiment_close(base);
    /* A schedule that ends with the run makes the run's end a part of it. */
    struct mot_experiment *a = WITH("optimizer.schedule", "cosine", "stop.updates", "5"),
                          *b = WITH("optimizer.schedule", "cosine", "stop.updates", "6");
    CHECK(mot_experiment_hash(a) != mot_experiment_hash(b));
    mot_experiment_close(a);
    mot_experiment_close(b);
}

TEST(flags_come_after_the_file_whatever_their_order)
{
    struct mot_experiment *e =
        WITH("method.k", "3", "method", "server", "stop.updates", "5", "stop.updates", "6");
    CHECK(e);
    CHECK_TEXT(e->method->name, "server");
    CHECK_INT(e->stop.updates, 6);
    CHECK(isnan(e->stop.epochs));
    char *text = printed(e);
    CHECK_HAS(text, "  k: 3\n");
    free(text);
    mot_experiment_close(e);
}

/* ---- With files -------------------------------------------------------------------------- */

static char folder[] = "/tmp/motley-exp-XXXXXX";

static char *put(const char *name, const char *text)
{
    if (strstr(folder, "XXXXXX") && !mkdtemp(folder)) return NULL;
    char *path = mot_path_join(folder, name);
    if (mot_file_replace(path, text, strlen(text))) printf("  %s\n", mot_error());
    return path;
}

TEST(paths_in_a_file_are_relative_to_it_and_a_flag_beats_it)
{
    char *data = put("d.csv", "1,0\n2,1\n"), *trace = put("t.csv", "1.5,2\n3,4\n");
    char *cluster = put("c.yaml", "workers:\n  - count: 3\n    straggle: {name: trace, path: t.csv}\n");
    char *exp = put("e.yaml",
        "data: d.csv\ncluster: c.yaml\nstop: {target: {train_loss: 0.5}}\noptimizer: {learning_rate: 0.5}\n");
    struct mot_setting settings[] = {
        { "stop.target.test_accuracy", "0.8", "--stop-target-test-accuracy" },
        { "optimizer.lr", "0.25", "--optimizer-lr" },
        { "cluster.network", "none", "--cluster-network" },
        { "data.rows", "1", "--data-rows" },
    };
    struct mot_experiment *e;
    if (mot_experiment_open(exp, settings, 4, &e)) FAIL("%s", mot_error());
    CHECK_TEXT(e->data.path, data);
    CHECK_INT(e->data.rows, 1);
    CHECK_INT(e->workers, 3);
    CHECK_INT(e->cluster->machine[0].straggle.column, 0);
    CHECK_INT(e->cluster->machine[1].straggle.column, 1);
    CHECK_INT(e->cluster->machine[2].straggle.column, 0);
    CHECK_TEXT(e->cluster->machine[1].straggle.path, trace);
    CHECK(isinf(e->cluster->machine[1].link.up));
    CHECK(e->stop.target == MOT_TARGET_TEST_ACCURACY && e->stop.value == 0.8);
    CHECK(e->optim.lr == 0.25);
    /* The traces stay one group, and the printed experiment does not need the cluster's file. */
    char *text = printed(e), *again_path = put("again.yaml", text);
    CHECK_HAS(text, "count: 3\n");
    unlink(cluster);
    struct mot_experiment *again;
    if (mot_experiment_open(again_path, NULL, 0, &again)) FAIL("%s", mot_error());
    CHECK(mot_experiment_hash(again) == mot_experiment_hash(e));
    mot_experiment_close(again);
    mot_experiment_close(e);
    unlink(again_path);
    unlink(exp);
    unlink(trace);
    unlink(data);
    rmdir(folder);
    free(text);
    free(again_path);
    free(exp);
    free(cluster);
    free(trace);
    free(data);
}

TEST(errors_in_a_cluster_file_name_that_file)
{
    struct mot_experiment *e;
    struct mot_setting bad = { "cluster", "{workers: [{speed: 5}]}", "--cluster" };
    CHECK_INT(mot_experiment_open(NULL, &bad, 1, &e), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "--cluster: cluster.workers[0].speed: expected a rate");
}

#define GROUPS "{workers: [{name: fast, count: 2}, {name: slow, speed: 50/s, jitter: lognormal}, {count: 2}]}"

TEST(a_group_of_workers_is_set_by_its_name_or_its_number)
{
    struct mot_experiment *e =
        WITH("cluster", GROUPS, "cluster.workers.slow.speed", "100/s", "cluster.workers.slow.jitter.sigma",
            "0.7", "cluster.workers.2.count", "4", "cluster.workers.0.fixed", "3ms");
    CHECK(e);
    CHECK_INT(e->workers, 7);
    CHECK(e->cluster->machine[2].speed == 100 && e->cluster->machine[2].jitter.sigma == 0.7);
    CHECK(e->cluster->machine[0].speed == 1000 && e->cluster->machine[0].fixed == 3000000);
    CHECK(e->cluster->machine[2].fixed == 0);
    char *text = printed(e);
    struct mot_experiment *again = parsed(text);
    CHECK(again && mot_experiment_hash(again) == mot_experiment_hash(e));
    free(text);
    mot_experiment_close(e);
    mot_experiment_close(again);
}

TEST(cluster_slow_changes_any_cluster_also_the_default_one)
{
    static const char *const before[] = { "{workers: 8}", "auto" };
    struct mot_experiment *e = WITH("cluster.slow", "4");
    CHECK(e);
    CHECK_INT(e->workers, 8);
    CHECK(e->cluster->machine[7].speed == 250 && e->cluster->machine[6].speed == 1000);
    mot_experiment_close(e);
    for (int i = 0; i < 2; i++) {
        CHECK((e = WITH("cluster", before[i], "cluster.slow", "4", "cluster.slow_count", "2", "workers",
                   "8")) != NULL);
        CHECK(e->cluster->machine[7].speed == 250 && e->cluster->machine[6].speed == 250 &&
            e->cluster->machine[5].speed == 1000);
        mot_experiment_close(e);
    }
}

TEST(a_setting_that_names_no_group_says_which_there_are)
{
    static const char *const wrong[][3] = {
        { "cluster.workers.slw.speed", "100/s",
            "there is no 'slw' in 'workers' at --flag; expected fast, slow, 2, or a number from 0 to 2: did "
            "you mean 'slow'?" },
        { "cluster.workers.3.speed", "100/s", "there is no '3' in 'workers'" },
        { "cluster.workers.slow", "3",
            "expected a key of one of its entries, such as cluster.workers.slow.KEY" },
        { "cluster.workers.slow.sped", "100/s", "unknown key: did you mean 'speed'?" },
    };
    for (size_t i = 0; i < MOT_COUNT(wrong); i++) {
        struct mot_experiment *e = NULL;
        struct mot_setting setting[] = { { "cluster", GROUPS, "--flag" },
            { wrong[i][0], wrong[i][1], "--set" } };
        CHECK_INT(mot_experiment_open(NULL, setting, 2, &e), MOT_EUSAGE);
        CHECK_HAS(mot_error(), wrong[i][2]);
    }
    struct mot_experiment *e = NULL;
    struct mot_setting setting[] = { { "cluster", "{workers: 4}", "--flag" },
        { "cluster.workers.slow.speed", "9/s", "--set" } };
    CHECK_INT(mot_experiment_open(NULL, setting, 2, &e), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "only the groups of a list can be set one by one");
}

TEST(paths_are_absolute_and_have_no_dots_before_them)
{
    static const char *const given[][2] = { { "runs/a", "/runs/a" }, { "./runs/a", "/runs/a" },
        { "././a", "/a" }, { "./.hidden", "/.hidden" }, { "../a", "/../a" } };
    char *here = getcwd(NULL, 0);
    CHECK(here != NULL);
    for (size_t i = 0; i < MOT_COUNT(given); i++) {
        struct mot_experiment *e = WITH("output", given[i][0]);
        CHECK(e && strncmp(e->output, here, strlen(here)) == 0);
        CHECK_TEXT(e->output + strlen(here), given[i][1]);
        mot_experiment_close(e);
    }
    struct mot_experiment *e = WITH("output", "/tmp/./a");
    CHECK(e != NULL);
    CHECK_TEXT(e->output, "/tmp/./a");
    mot_experiment_close(e);
    free(here);
}

TEST_MAIN()
