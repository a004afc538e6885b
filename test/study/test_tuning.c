/* Tuning: which points are tried, for how long, and which is chosen. */
#include "base/file.h"
#include "base/memory.h"
#include "page/page.h"
#include "study/compare.h"
#include "test.h"
#include <glob.h>
#include <unistd.h>

static char here[64];
static struct mot_compared done;
static enum mot_status status;

static const char *in_here(const char *name)
{
    static char path[4][160];
    static int at;
    at = (at + 1) % 4;
    snprintf(path[at], sizeof(path[at]), "%s/%s", here, name);
    return path[at];
}

static const char base[] =
    "data: digits\nmodel: softmax\nworkers: 4\nmethod: async\nevaluate: {every: 10 updates}\n";

/* The study of base and `more`. */
static void go(const char *more, bool tune_only)
{
    mot_remove_tree(here);
    snprintf(here, sizeof(here), "/tmp/motley-tuning-XXXXXX");
    if (!mkdtemp(here)) abort();
    char *text = mot_format("%s%s", base, more);
    mot_file_replace(in_here("exp.yaml"), text, strlen(text));
    free(text);
    json_decref(done.document);
    done = (struct mot_compared){ NULL, 0, 0, 0 };
    struct mot_compare o = { .experiment = in_here("exp.yaml"),
        .command = "motley",
        .store = in_here("store"),
        .out = in_here("out"),
        .jobs = 2,
        .tune_only = tune_only,
        .flags = { .tunes = tune_only } };
    status = mot_compare_run(&o, &done);
    if (status != MOT_OK) printf("  %s\n", mot_error());
}

static const json_t *tuned(size_t i) { return json_array_get(json_object_get(done.document, "tuning"), i); }

static const json_t *point(size_t i, size_t p)
{
    return json_array_get(json_object_get(tuned(i), "points"), p);
}

static double budget(size_t i, size_t p) { return json_number_value(json_object_get(point(i, p), "budget")); }

static size_t best(size_t i)
{
    size_t p = 0;
    while (!json_is_true(json_object_get(point(i, p), "best"))) p++;
    return p;
}

static double score(size_t i, size_t p, const char *of)
{
    const json_t *value = json_object_get(json_object_get(point(i, p), "score"), of);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static json_int_t count(size_t i, size_t p, const char *of)
{
    return json_integer_value(json_object_get(point(i, p), of));
}

/* How many runs of the store have this line in their experiment. */
static size_t stored(const char *line)
{
    glob_t found;
    size_t n = 0;
    if (glob(in_here("store/*/*/experiment.yaml"), 0, NULL, &found) != 0) return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        unsigned char *text = NULL;
        size_t bytes;
        if (mot_file_read(found.gl_pathv[i], 1 << 20, &text, &bytes) == MOT_OK)
            n += strstr((char *)text, line) != NULL;
        free(text);
    }
    globfree(&found);
    return n;
}

TEST(a_grid_tries_every_combination_on_every_seed_and_takes_the_best)
{
    go("stop: {updates: 40}\ntune: {over: {optimizer.lr: [1e-6, 0.1, 1e-5], batch: [8, 16]}, by: "
       "train_loss}\n",
        true);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(done.made, 18);
    CHECK_INT(json_array_size(json_object_get(tuned(0), "points")), 6);
    const json_t *values = json_object_get(point(0, best(0)), "values");
    CHECK_TEXT(json_string_value(json_object_get(values, "optimizer.lr")), "0.1");
    double least = 1e9;
    for (size_t p = 0; p < 6; p++) {
        double median = json_number_value(json_object_get(json_object_get(point(0, p), "score"), "median"));
        if (median < least) least = median;
    }
    CHECK_NEAR(
        json_number_value(json_object_get(json_object_get(point(0, best(0)), "score"), "median")), least, 0);
    CHECK_INT(json_integer_value(json_array_get(json_object_get(tuned(0), "seeds"), 2)), 1003);
    CHECK(json_array_size(json_object_get(done.document, "runs")) == 3); /* those of the best point, */
    const json_t *cell = json_array_get(json_object_get(done.document, "cells"), 0);
    CHECK_INT(json_object_size(json_object_get(cell, "against")), 0); /* which judge nothing */
}

TEST(the_best_experiment_is_whole_and_has_the_best_values_and_the_full_length)
{
    go("stop: {updates: 40}\ntune: {over: {optimizer.lr: [0.25, 1e-6, 1e-5, 1e-4, 1e-3]}, by: train_loss, "
       "halving: true}\n",
        true);
    CHECK_INT(status, MOT_OK);
    struct mot_experiment *x;
    CHECK_INT(mot_experiment_open(in_here("out/best-async.yaml"), NULL, 0, &x), MOT_OK);
    CHECK(x->optim.lr == 0.25 && x->stop.updates == 40 && x->seed == 1 && x->output == NULL);
    mot_experiment_close(x);
}

TEST(a_best_value_at_the_edge_is_said_to_be_there)
{
    go("stop: {updates: 40}\ntune: {over: {optimizer.lr: [1e-6, 1e-5, 0.1], batch: [8, 16]}, by: "
       "train_loss}\n",
        true);
    const json_t *edge = json_object_get(tuned(0), "edge");
    CHECK_TEXT(json_string_value(json_array_get(edge, 0)), "optimizer.lr");
    unsigned char *table = NULL;
    size_t n;
    CHECK_INT(mot_study_show(done.document, in_here("out"), NULL), MOT_OK);
    CHECK_INT(mot_file_read(in_here("out/table.txt"), 1 << 20, &table, &n), MOT_OK);
    CHECK_HAS((char *)table, "it is at the edge of the");
    free(table);
    go("stop: {updates: 40}\ntune: {over: {optimizer.lr: [1e-6, 0.1, 900000]}, by: train_loss}\n", true);
    CHECK_INT(json_array_size(json_object_get(tuned(0), "edge")), 0);
    go("stop: {updates: 40}\ntune: {over: {sampler: [reshuffle, replace]}, by: train_loss}\n", true);
    CHECK_INT(json_array_size(json_object_get(tuned(0), "edge")), 0); /* words have no order */
}

/* Eight points: 8 at a quarter, 4 at a half, 2 whole. */
TEST(halving_gives_the_better_half_twice_the_length)
{
    go("stop: {updates: 80}\ntune: {over: {optimizer.lr: 2^-1..2^-8}, by: train_loss, halving: true}\n",
        true);
    CHECK_INT(status, MOT_OK);
    size_t quarter = 0, half = 0, whole = 0;
    for (size_t p = 0; p < 8; p++) {
        quarter += budget(0, p) == 0.25;
        half += budget(0, p) == 0.5;
        whole += budget(0, p) == 1;
    }
    CHECK_INT(quarter, 4);
    CHECK_INT(half, 2);
    CHECK_INT(whole, 2);
    CHECK(budget(0, best(0)) == 1);
    CHECK_INT(done.made, 3 * (8 + 4 + 2));
}

TEST(an_arm_with_fewer_points_has_fewer_rounds_of_halving)
{
    go("stop: {updates: 80}\ncompare: [{label: all}, {label: two, optimizer.lr: 0.1}]\n"
       "tune: {over: {optimizer.lr: 2^-1..2^-4, batch: [8, 16]}, by: train_loss, halving: true, seeds: "
       "[7]}\n",
        true);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(json_array_size(json_object_get(tuned(1), "points")), 2);
    CHECK(budget(1, 0) == 1 && budget(1, 1) == 1);
    CHECK_INT(done.made, 8 + 4 + 2 + 2); /* the two points of the second arm are tried at full length only */
}

/* Eight points begin with a quarter of the length; four of another arm a round later, all of them. */
TEST(an_arm_that_begins_later_loses_no_point_before)
{
    go("stop: {updates: 80}\ncompare: [{label: eight}, {label: four, batch: 8}]\n"
       "tune: {over: {optimizer.lr: 2^-1..2^-4, batch: [8, 16]}, by: train_loss, halving: true, seeds: "
       "[7]}\n",
        true);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(json_array_size(json_object_get(tuned(1), "points")), 4);
    size_t half = 0, whole = 0;
    for (size_t p = 0; p < 4; p++) half += budget(1, p) == 0.5, whole += budget(1, p) == 1;
    CHECK_INT(half, 2);
    CHECK_INT(whole, 2);
}

TEST(halving_shortens_updates_epochs_and_time_alike)
{
    go("stop: {updates: 90, epochs: 2, time: 8s}\n"
       "tune: {over: {optimizer.lr: 2^-1..2^-8}, by: grad_norm, halving: true, seeds: [7]}\n",
        true);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(stored("\n  updates: 23\n  epochs: 0.5\n  time: 2s\n"), 8);
    CHECK_INT(stored("\n  updates: 45\n  epochs: 1\n  time: 4s\n"), 4);
    CHECK_INT(stored("\n  updates: 90\n  epochs: 2\n  time: 8s\n"), 2);
    for (size_t p = 0; p < 8; p++)
        if (budget(0, p) == 1) CHECK(score(0, best(0), "median") <= score(0, p, "median"));
    CHECK(json_is_true(json_object_get(tuned(0), "halving")));
}

/* Forty points would halve five times to come to two. */
TEST(halving_begins_at_a_sixteenth_at_the_shortest_and_rounds_halves_up)
{
    go("stop: {updates: 32}\n"
       "tune: {over: {optimizer.lr: 2^-1..2^-10, batch: [1, 2, 3, 4]}, by: train_loss, halving: true, seeds: "
       "[7]}\n",
        true);
    CHECK_INT(status, MOT_OK);
    size_t last[5] = { 0 };
    for (size_t p = 0; p < 40; p++)
        for (int r = 0; r < 5; r++) last[r] += budget(0, p) == ldexp(1, r - 4);
    CHECK_INT(last[0], 20);
    CHECK_INT(last[1], 10);
    CHECK_INT(last[2], 5);
    CHECK_INT(last[3], 2);
    CHECK_INT(last[4], 3);
    CHECK_INT(stored("\n  updates: 2\n"), 40);
    CHECK_INT(done.made, 40 + 20 + 10 + 5 + 3);
}

TEST(a_figure_that_should_be_large_is_tuned_to_be_large)
{
    go("stop: {updates: 40}\ntune: {over: {optimizer.lr: [1e-6, 0.1, 1e-4]}, by: test_accuracy}\n", true);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(best(0), 1);
    CHECK(score(0, 1, "median") > score(0, 0, "median") && score(0, 1, "median") > 0.5);
    CHECK_INT(score(0, 1, "n"), 3);
    CHECK(score(0, 1, "least") <= score(0, 1, "q1") && score(0, 1, "q3") <= score(0, 1, "most"));
    CHECK(score(0, 1, "least") < score(0, 1, "most"));
}

#define LINEAR                                                                                               \
    "compare: [{label: line, data: {name: synthetic, kind: regression, size: 200}, model: least-squares}]\n"

TEST(runs_that_diverge_are_counted_and_have_no_score)
{
    go(LINEAR "stop: {updates: 60}\ntune: {over: {optimizer.lr: [900000, 0.01]}, by: train_loss}\n", true);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(best(0), 1);
    CHECK_INT(count(0, 0, "failed"), 3);
    CHECK_INT(count(0, 1, "failed"), 0);
    CHECK_INT(count(0, 0, "runs"), 3);
    CHECK_INT(score(0, 0, "n"), 0);
    CHECK(isnan(score(0, 0, "median")));
    /* with a target they never reached it, which is a figure */
    go(LINEAR
        "stop: {updates: 60, target: {train_loss: 0.3}}\ntune: {over: {optimizer.lr: [900000, 0.01]}}\n",
        true);
    CHECK_INT(best(0), 1);
    CHECK_INT(count(0, 0, "failed"), 3);
    CHECK_INT(count(0, 0, "reached"), 0);
    CHECK_INT(count(0, 1, "reached"), 3);
    CHECK_INT(score(0, 0, "n"), 3);
    CHECK_INT(score(0, 1, "n"), 3);
}

TEST(of_points_that_do_alike_the_first_is_taken)
{
    go("stop: {updates: 20}\ntune: {over: {optimizer.lr: [1e-6, 0.1, 1e-1, 0.10]}, by: train_loss}\n", true);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(best(0), 1);
    CHECK_INT(done.made, 6); /* the same run under three names */
}

TEST(an_edge_may_be_of_times_and_one_value_has_none)
{
    go("stop: {updates: 30, target: {test_accuracy: 0.3}}\n"
       "tune: {over: {cluster.network.latency: [30ms, 2s, 100us], batch: [16]}}\n",
        true);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(best(0), 2);
    CHECK_INT(json_array_size(json_object_get(tuned(0), "edge")), 1);
    CHECK_TEXT(
        json_string_value(json_array_get(json_object_get(tuned(0), "edge"), 0)), "cluster.network.latency");
    CHECK_TEXT(json_string_value(json_array_get(json_object_get(tuned(0), "over"), 1)), "batch");
}

TEST(each_arm_is_tuned_but_for_the_keys_it_sets_and_then_judged_on_other_seeds)
{
    go("stop: {updates: 60, target: {test_accuracy: 0.7}}\n"
       "compare: [async, {label: fixed, method: async, optimizer.lr: 0.125}]\nsweep: {seed: 1..6, batch: [8, "
       "16]}\n"
       "tune: {over: {optimizer.lr: [1e-6, 0.125]}}\n",
        false);
    CHECK_INT(status, MOT_OK);
    /* one arm under two conditions */
    CHECK_INT(json_array_size(json_object_get(done.document, "tuning")), 2);
    for (size_t i = 0; i < 2; i++) {
        CHECK_INT(json_integer_value(json_object_get(tuned(i), "arm")), 0);
        CHECK_INT(json_integer_value(json_object_get(tuned(i), "condition")), i);
    }
    CHECK_TEXT(
        json_string_value(json_object_get(json_object_get(point(0, best(0)), "values"), "optimizer.lr")),
        "0.125");
    /* 2 conditions: 2 points on 3 seeds, then 6 seeds; the fixed
     * arm's runs are the same as the tuned one's. */
    CHECK_INT(done.made, 2 * (2 * 3 + 6));
    const json_t *against = json_object_get(
        json_object_get(json_array_get(json_object_get(done.document, "cells"), 1), "against"),
        "time_to_target");
    CHECK_TEXT(json_string_value(json_object_get(against, "verdict")), "not distinguishable");
}

TEST(a_target_is_lifted_when_tuning_by_how_good_it_gets)
{
    go("stop: {updates: 50, target: {test_accuracy: 0.2}}\ntune: {over: {optimizer.lr: [0.1, 0.2]}, by: "
       "test_accuracy}\n",
        true);
    CHECK_INT(status, MOT_OK);
    const json_t *run = json_array_get(json_object_get(done.document, "runs"), 0);
    CHECK_TEXT(json_string_value(json_object_get(run, "ended_by")), "updates");
}

/* The first rate is the quicker one where it comes to the target, and misses it on one seed of three. */
TEST(a_rate_that_misses_the_target_on_some_seeds_loses_to_one_that_never_does)
{
    go("stop: {updates: 200, target: {train_loss: 1.3}}\ncompare: [{label: many, workers: 12, batch: 2}]\n"
       "tune: {over: {optimizer.lr: [0.125, 0.0625, 1e-6]}}\n",
        true);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(count(0, 0, "reached"), 2);
    CHECK_INT(count(0, 1, "reached"), 3);
    CHECK(score(0, 0, "median") < score(0, 1, "median"));
    CHECK_INT(best(0), 1);
}

TEST(where_no_point_reaches_the_target_the_nearest_is_taken)
{
    go("stop: {updates: 50, target: {test_accuracy: 1}}\ntune: {over: {optimizer.lr: [0, 0.1, 1e-6]}}\n",
        true);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(best(0), 1);
    CHECK(json_is_null(json_object_get(json_object_get(point(0, 1), "score"), "median")));
    CHECK_INT(count(0, 1, "reached"), 0);
    CHECK_INT(score(0, 1, "n"), 3);
    CHECK_INT(count(0, 1, "failed"), 0);
    go("stop: {updates: 50, target: {train_loss: 0.001}}\ntune: {over: {optimizer.lr: [0, 1e-6, 0.1]}}\n",
        true);
    CHECK_INT(best(0), 2);
    go("stop: {updates: 50, target: {grad_norm: 0.001}}\ntune: {over: {optimizer.lr: [0, 0.1, 1e-6]}}\n",
        true);
    CHECK_INT(best(0), 1);
}

TEST(what_cannot_be_tuned_is_said_before_anything_runs)
{
    go("stop: {updates: 50}\ntune: {over: {optimizer.lr: [0.1, 0.2]}}\n", true);
    CHECK_INT(status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "no stop.target");
    go("stop: {epochs: none, target: {test_accuracy: 0.5}}\ntune: {over: {optimizer.lr: [0.1, 0.2]}, "
       "halving: true}\n",
        true);
    CHECK_INT(status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "shorter runs come first");
    go("stop: {updates: 50}\ntune: {over: {optimizer.lr: [0.1, fast]}, by: train_loss}\n", true);
    CHECK_INT(status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "optimizer.lr: expected a number");
    go("stop: {updates: 50}\n", true);
    CHECK_INT(status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "nothing to tune");
}

static void clean_up(void)
{
    json_decref(done.document);
    mot_remove_tree(here);
}

int main(int count, char **arguments)
{
    atexit(clean_up);
    return test_main(count, arguments);
}
