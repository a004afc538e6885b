/* A study's document and its table, from summaries written here: what is counted, and what is said. */
#include "base/file.h"
#include "base/memory.h"
#include "page/grid.h"
#include "page/page.h"
#include "study/slug.h"
#include "study/store.h"
#include "study/study.h"
#include "test.h"
#include <unistd.h>

#define ARMS 3
#define SEEDS 10

static char here[64];
static struct mot_study_run run[ARMS * SEEDS];
static char folders[ARMS * SEEDS][160];
static size_t runs;
static bool untested; /* runs have no test part */
static bool without_target;

/* A run of `arm` that reached its target at `time`; NaN: it went on
 * for 120 s without; negative: it diverged. */
static void add_run(uint32_t arm, uint64_t seed, double time)
{
    char target[160] = "null", path[192], *folder = folders[runs];
    bool reached = time >= 0;
    snprintf(folder, sizeof(folders[0]), "%s/%zu", here, runs);
    mot_make_folder(folder);
    if (without_target) reached = false;
    else if (reached)
        snprintf(target, sizeof(target),
            "{\"kind\": \"test_accuracy\", \"value\": 0.8, \"reached\": true, \"time_s\": %g, \"updates\": "
            "40}",
            time);
    else
        snprintf(target, sizeof(target),
            "{\"kind\": \"test_accuracy\", \"value\": 0.8, \"reached\": false, \"time_s\": null, "
            "\"updates\": null}");
    char *text =
        mot_format("{\"status\": \"%s\", \"ended_by\": \"%s\", \"updates\": 50, \"time_s\": %g, "
                   "\"bytes_sent\": 1000, \"train_loss\": %s, \"test_loss\": 0.4, "
                   "\"test_accuracy\": %s, \"grad_norm\": 0.125, \"target\": %s, \"staleness\": {\"mean\": "
                   "null, \"max\": null}, \"worker\": ["
                   "{\"id\": 0, \"name\": \"fast\", \"compute_s\": 3, \"wait_s\": 6, \"send_s\": 1}, "
                   "{\"id\": 1, \"name\": null, \"compute_s\": 8, \"wait_s\": 1, \"send_s\": 1}]}",
            time < 0 ? "diverged" : "ok",
            reached        ? "target"
                : time < 0 ? "diverged"
                           : "time",
            time < 0          ? -time
                : isnan(time) ? 120
                              : time,
            time < 0 ? "null" : "0.5", untested ? "null" : "0.81", target);
    snprintf(path, sizeof(path), "%s/summary.json", folder);
    mot_file_replace(path, text, strlen(text));
    free(text);
    run[runs++] = (struct mot_study_run){ .arm = arm, .condition = 0, .seed = seed, .folder = folder };
}

static void add_crash(uint32_t arm, uint64_t seed)
{
    run[runs++] = (struct mot_study_run){
        .arm = arm, .condition = 0, .seed = seed, .failed = "crashed: signal 11 (Segmentation fault)"
    };
}

static json_t *document(const char *const *name, size_t arms)
{
    static struct mot_study_side arm[ARMS], condition = { .name = "" };
    for (size_t i = 0; i < arms; i++) arm[i] = (struct mot_study_side){ .name = name[i] };
    struct mot_study s = { .title = "exp.yaml",
        .command = "motley compare exp.yaml",
        .experiment = "",
        .arm = arm,
        .arms = arms,
        .condition = &condition,
        .conditions = 1,
        .run = run,
        .runs = runs };
    json_t *d = NULL;
    if (mot_study_document(&s, &d) != MOT_OK) printf("  %s\n", mot_error());
    return d;
}

static void begin(void)
{
    mot_remove_tree(here);
    snprintf(here, sizeof(here), "/tmp/motley-table-XXXXXX");
    if (!mkdtemp(here)) abort();
    runs = 0;
    untested = false;
    without_target = false;
}

static char *table_of(const json_t *d)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    mot_study_table(d, out, 98, false);
    fclose(out);
    return text;
}

static const json_t *at(const json_t *d, size_t arm, const char *a, const char *b)
{
    const json_t *cell = json_array_get(json_object_get(d, "cells"), arm);
    return json_object_get(json_object_get(cell, a), b);
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

TEST(a_crashed_run_is_left_out_of_its_pair_and_a_missed_target_is_not)
{
    static const char *const names[] = { "base", "other" };
    begin();
    for (uint64_t s = 1; s <= 10; s++) add_run(0, s, 10 + (double)s / 10);
    for (uint64_t s = 1; s <= 8; s++) add_run(1, s, 5 + (double)s / 20);
    add_run(1, 9, NAN);
    add_crash(1, 10);
    json_t *d = document(names, 2);
    CHECK(d != NULL);
    CHECK_INT(number(at(d, 1, "figures", "time_to_target"), "n"), 9);
    CHECK_INT(number(at(d, 1, "against", "time_to_target"), "n"), 9);
    CHECK_NEAR(number(at(d, 1, "against", "time_to_target"), "ratio"), 2, 1e-9);
    CHECK_TEXT(
        json_string_value(json_object_get(at(d, 1, "against", "time_to_target"), "verdict")), "faster");
    CHECK_INT(
        json_integer_value(json_object_get(json_array_get(json_object_get(d, "cells"), 1), "failed")), 1);
    CHECK_INT(
        json_integer_value(json_object_get(json_array_get(json_object_get(d, "cells"), 1), "reached")), 8);
    char *table = table_of(d);
    CHECK_HAS(table, "other: 1 of 10 runs crashed");
    CHECK_HAS(table, "signal 11");
    CHECK_HAS(table, "other: 1 of 10 runs ended without reaching the target");
    free(table);
    json_decref(d);
}

TEST(a_median_that_was_not_reached_is_beyond_where_the_runs_stopped_or_never)
{
    static const char *const names[] = { "base", "late", "wild" };
    begin();
    for (uint64_t s = 1; s <= 6; s++) {
        add_run(0, s, 30);
        add_run(1, s, s < 3 ? 100 : NAN);
        add_run(2, s, -1);
    }
    json_t *d = document(names, 3);
    CHECK(isnan(number(at(d, 1, "figures", "time_to_target"), "median")));
    CHECK_NEAR(number(at(d, 1, "figures", "time_to_target"), "beyond"), 120, 0);
    CHECK(isnan(number(at(d, 2, "figures", "time_to_target"), "beyond")));
    char *table = table_of(d);
    CHECK_HAS(table, "> 120 s");
    CHECK_HAS(table, "2 of 6");
    CHECK_HAS(table, "wild: 6 of 6 runs diverged");
    CHECK_HAS(table, "\n  wild  never ");
    free(table);
    json_decref(d);
}

TEST(where_neither_reaches_the_target_the_table_says_not_comparable_and_why)
{
    static const char *const names[] = { "base", "other" };
    begin();
    for (uint64_t s = 1; s <= 8; s++) {
        add_run(0, s, s < 3 ? 50 : NAN);
        add_run(1, s, s < 3 ? 60 : NAN);
    }
    json_t *d = document(names, 2);
    CHECK_TEXT(json_string_value(json_object_get(at(d, 1, "against", "time_to_target"), "verdict")),
        "not comparable");
    char *table = table_of(d);
    CHECK_HAS(table, "other: not comparable: in 6 of 8 pairs neither reached the target");
    free(table);
    json_decref(d);
}

TEST(without_a_target_an_arm_that_diverges_early_is_slower_and_worse_not_faster)
{
    static const char *const names[] = { "base", "wild", "wilder" };
    begin();
    without_target = true;
    for (uint64_t s = 1; s <= 8; s++) {
        add_run(0, s, 100);
        add_run(1, s, s == 5 ? 50 : -10); /* what diverges does so after a tenth of the time */
        add_run(2, s, -1);
    }
    json_t *d = document(names, 3);
    CHECK_NEAR(number(at(d, 1, "against", "time"), "ratio"), 0, 0);
    /* one of eight may be chance */
    CHECK_TEXT(
        json_string_value(json_object_get(at(d, 1, "against", "time"), "verdict")), "not distinguishable");
    CHECK_TEXT(json_string_value(json_object_get(at(d, 2, "against", "time"), "verdict")), "slower");
    CHECK_TEXT(json_string_value(json_object_get(at(d, 1, "against", "train_loss"), "verdict")),
        "not distinguishable");
    CHECK_TEXT(json_string_value(json_object_get(at(d, 2, "against", "train_loss"), "verdict")), "worse");
    CHECK_TEXT(json_string_value(json_object_get(at(d, 2, "against", "bytes"), "verdict")), "worse");
    CHECK_NEAR(number(at(d, 2, "figures", "bytes"), "median"), 1000, 0);
    CHECK_TEXT(json_string_value(json_object_get(at(d, 2, "against", "test_accuracy"), "verdict")), "worse");
    char *table = table_of(d);
    CHECK_HAS(table, "\n  wilder  never ");
    CHECK_HAS(table, "\u2013               worse");
    CHECK(!strstr(table, "faster "));
    free(table);
    json_decref(d);
}

TEST(one_run_has_no_interval_and_of_few_the_table_says_what_it_is)
{
    static const char *const names[] = { "base", "other" };
    begin();
    add_run(0, 1, 10);
    add_run(1, 1, 5);
    json_t *d = document(names, 2);
    char *table = table_of(d);
    CHECK(!strstr(table, "["));
    CHECK(!strstr(table, "With fewer than six"));
    free(table);
    json_decref(d);
    add_run(0, 2, 11);
    add_run(1, 2, 6);
    d = document(names, 2);
    table = table_of(d);
    CHECK_HAS(table, "[10.0, 11.0]");
    CHECK_HAS(table, "With fewer than six");
    free(table);
    json_decref(d);
}

TEST(names_as_parts_of_files_are_short_and_apart)
{
    static const char *const names[] = { "a b", "a-b", "a/../b", "\xe6\x97\xa5\xe6\x9c\xac", "<>", "..",
        "server k=6" };
    static const char *const parts[] = { "a-b", "a-b-2", "a-..-b", "\xe6\x97\xa5\xe6\x9c\xac", "5", "_.",
        "server-k=6" };
    for (size_t i = 0; i < MOT_COUNT(names); i++) {
        char *part = mot_slug(names, i);
        CHECK_TEXT(part, parts[i]);
        free(part);
    }
    char long_name[400];
    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = 0;
    const char *const two[] = { long_name, long_name };
    char *part = mot_slug(two, 1);
    CHECK(strlen(part) < 110);
    CHECK_TEXT(part + strlen(part) - 2, "-2");
    free(part);
}

TEST(utilisation_and_waits_are_shares_of_the_workers_time)
{
    static const char *const names[] = { "base" };
    begin();
    add_run(0, 1, 5);
    json_t *d = document(names, 1);
    CHECK_NEAR(number(at(d, 0, "figures", "utilisation"), "median"), 11.0 / 20, 1e-12);
    CHECK_NEAR(number(at(d, 0, "figures", "worst_wait"), "median"), 0.6, 1e-12);
    const json_t *worst = json_object_get(json_array_get(json_object_get(d, "cells"), 0), "worst_worker");
    CHECK_INT(json_integer_value(json_object_get(worst, "id")), 0);
    CHECK_TEXT(json_string_value(json_object_get(worst, "name")), "fast");
    json_decref(d);
}

TEST(the_table_fits_a_hundred_columns_whatever_the_arms_are_called)
{
    static const char *const names[] = {
        "an arm with a name that is longer than anybody would ever write by hand",
        "l\xc3\xa9on et \xc3\xa9mile et zo\xc3\xa9 et no\xc3\xabl et ren\xc3\xa9", "c"
    };
    begin();
    for (uint64_t s = 1; s <= 10; s++) {
        add_run(0, s, 1000 + 1.5 * (double)s);
        add_run(1, s, s < 4 ? NAN : 1100 + 170 * (double)s);
        add_crash(2, s);
    }
    json_t *d = document(names, 3);
    char *table = table_of(d);
    for (const char *line = table; *line;) {
        size_t n = strcspn(line, "\n"), width = 0;
        for (size_t i = 0; i < n; i++) width += ((unsigned char)line[i] & 0xC0) != 0x80;
        if (width > 100) FAIL("%zu columns: %.*s", width, (int)n, line);
        if (n && line[n - 1] == ' ') FAIL("a space at the end: '%.*s'", (int)n, line);
        line += n + (line[n] == '\n');
    }
    CHECK_HAS(table, "c: 10 of 10 runs crashed");
    CHECK_HAS(table, "no\xc3\xabl et ren\xc3\xa9: 3 of 10"); /* in the notes a name is whole */
    free(table);
    json_decref(d);
}

TEST(the_order_in_which_runs_are_given_changes_nothing_but_their_list)
{
    static const char *const names[] = { "base", "other" };
    begin();
    for (uint64_t s = 1; s <= 7; s++) {
        add_run(0, s, 10 + (double)s);
        add_run(1, s, 12 + (double)s);
    }
    json_t *a = document(names, 2);
    for (size_t i = 0; i < runs / 2; i++) {
        struct mot_study_run kept = run[i];
        run[i] = run[runs - 1 - i];
        run[runs - 1 - i] = kept;
    }
    json_t *b = document(names, 2);
    CHECK(json_equal(json_object_get(a, "cells"), json_object_get(b, "cells")));
    char *one = table_of(a), *two = table_of(b);
    CHECK_TEXT(one, two);
    free(two);
    free(one);
    json_decref(b);
    json_decref(a);
}

TEST(data_without_a_test_part_have_the_gradients_norm_in_place_of_accuracy)
{
    for (int without = 0; without < 2; without++) {
        begin();
        untested = without;
        for (uint64_t seed = 1; seed <= 6; seed++)
            for (uint32_t arm = 0; arm < 2; arm++) add_run(arm, seed, 10 + arm);
        json_t *d = document((const char *const[]){ "a", "b" }, 2);
        char *table = table_of(d);
        CHECK((strstr(table, "gradient norm") != NULL) == without);
        CHECK((strstr(table, "test accuracy  ") != NULL) == !without); /* the column, not the target */
        if (without) CHECK_HAS(table, "0.125");
        free(table);
        json_decref(d);
    }
}

static const char WHOLE[] =
    "exp.yaml: 2 arms, 2 conditions, 6 seeds; target: 80 % test accuracy\n"
    "\n"
    "slow=1\n"
    "         to target  95 %          reached  speed-up  95 %          verdict\n"
    "  base   10.3 ms    [10.1, 10.6]  6 of 6   1\n"
    "  other  21.4 ms    [20.4, 22.4]  6 of 6   0.48      [0.47, 0.50]  slower\n"
    "\n"
    "         train loss  test accuracy  sent  busy  longest wait\n"
    "  base   0.5 +- 0    81.00 % +- 0   1 kB  55 %  60 %, worker 0 (fast)\n"
    "  other  0.5 +- 0    81.00 % +- 0   1 kB  55 %  60 %, worker 0 (fast)\n"
    "\n"
    "slow=4\n"
    "         to target  95 %          reached  speed-up  95 %          verdict\n"
    "  base   6.90 min   [6.73, 7.07]  6 of 6   1\n"
    "  other  107 s      [102, never]  5 of 6   3.87      [0.00, 3.96]  not distinguishable\n"
    "\n"
    "         train loss  test accuracy  sent  busy  longest wait\n"
    "  base   0.5 +- 0    81.00 % +- 0   1 kB  55 %  60 %, worker 0 (fast)\n"
    "  other  0.5 +- 0    81.00 % +- 0   1 kB  55 %  60 %, worker 0 (fast)\n"
    "  - other: 1 of 6 runs ended without reaching the target and count as later than any that did\n"
    "    (seed 6)\n"
    "\n"
    "  Medians over seeds; speed-ups are over the first arm, paired by seed: above 1 means less time.\n"
    "  +- is half the interquartile range. 'busy' is the share of their time that workers spent\n"
    "  computing; 'longest wait' is the share of its time that the worker who waited most spent\n"
    "  waiting.\n"
    "\n"
    "slow=1\n"
    "  base wins: it reaches 80 % test accuracy in 10.3 ms (median of 6, 10.1 ms to 10.6 ms); the next\n"
    "  clearly behind, other, takes 2.07 times (2.02 to 2.11) as long. Why: it gets there in about 40\n"
    "  updates of 259 us each, other in 40 updates of 535 us each.\n"
    "\n"
    "slow=4\n"
    "  other has the best median: it reaches 80 % test accuracy in 107 s, but that is not\n"
    "  distinguishable from base with these seeds.\n";

/* Two arms under two conditions, all figures of a run, and a note: read it as a person would. */
TEST(the_whole_table_reads_like_this)
{
    static struct mot_study_side arm[2] = { { .name = "base" }, { .name = "other" } },
                                 condition[2] = { { .name = "slow=1" }, { .name = "slow=4" } };
    begin();
    for (uint64_t s = 1; s <= 6; s++)
        for (uint32_t c = 0; c < 2; c++) {
            add_run(0, s, (c ? 400 : 0.010) * (1 + (double)s / 100));
            run[runs - 1].condition = c;
            add_run(1, s, s == 6 && c ? NAN : (c ? 100 : 0.020) * (1 + (double)s / 50));
            run[runs - 1].condition = c;
        }
    struct mot_study study = { .title = "exp.yaml",
        .command = "motley compare exp.yaml",
        .experiment = "",
        .arm = arm,
        .arms = 2,
        .condition = condition,
        .conditions = 2,
        .run = run,
        .runs = runs };
    json_t *d = NULL;
    CHECK_INT(mot_study_document(&study, &d), MOT_OK);
    char *table = table_of(d);
    CHECK_TEXT(table, WHOLE);
    free(table);
    json_decref(d);
}

TEST(of_a_table_in_colour_only_the_head_is_dim)
{
    struct mot_grid g;
    char *text = NULL;
    size_t n;
    mot_grid_open(&g, 2);
    for (int row = 0; row < 3; row++) mot_grid_addf(&g, "row %d", row), mot_grid_add(&g, row ? "x" : "head");
    FILE *out = open_memstream(&text, &n);
    mot_grid_print(&g, 100, out, true);
    fclose(out);
    CHECK_TEXT(text, "\x1b[2m  row 0  head\x1b[0m\n  row 1  x\n  row 2  x\n");
    free(text);
    mot_grid_close(&g);
}

TEST(times_have_three_digits_and_the_unit_that_suits)
{
    static const struct {
        double seconds;
        const char *text;
    } shown[] = { { 7200, "2.00 h" }, { 7199, "120 min" }, { 300, "5.00 min" }, { 299, "299 s" },
        { 100, "100 s" }, { 99.94, "99.9 s" }, { 10, "10.0 s" }, { 9.994, "9.99 s" }, { 1, "1.00 s" },
        { 0.999, "999 ms" }, { 0.001, "1.00 ms" }, { 0.0005, "500 us" }, { 1e-7, "0.100 us" },
        { 1.234e-8, "0.0123 us" }, { 0, "0 us" } };
    for (size_t i = 0; i < MOT_COUNT(shown); i++) {
        begin();
        add_run(0, 1, shown[i].seconds);
        json_t *d = document((const char *const[]){ "base" }, 1);
        CHECK(d);
        char *table = table_of(d), inner[64], last[64];
        snprintf(inner, sizeof inner, "\n  base  %s ", shown[i].text);
        snprintf(last, sizeof last, "\n  base  %s\n", shown[i].text);
        if (!strstr(table, inner) && !strstr(table, last))
            FAIL("%g s is not %s:\n%s", shown[i].seconds, inner, table);
        free(table);
        json_decref(d);
    }
}

TEST(a_share_that_nobody_knows_is_a_dash_in_its_own_column)
{
    begin();
    add_run(0, 1, 10);
    json_t *d = document((const char *const[]){ "base" }, 1);
    CHECK(d);
    json_object_set_new((json_t *)at(d, 0, "figures", "utilisation"), "median", json_null());
    char *table = table_of(d);
    CHECK_HAS(table, "sent  busy  longest wait\n");
    CHECK_HAS(table, "1 kB  -     60 %, worker 0 (fast)\n");
    free(table);
    json_decref(d);
}

/* By a figure, on two seeds, the best at the edge; and by the time to the target, halved, where it was
 * missed. */
static const char TUNED[] =
    "[{\"arm\": 0, \"condition\": 0, \"by\": \"train_loss\", \"seeds\": [11, 12], \"halving\": false,"
    "  \"edge\": [\"optimizer.lr\"], \"points\": ["
    "   {\"values\": {\"optimizer.lr\": \"0.1\", \"batch\": \"8\"}, \"runs\": 2, \"reached\": 0, \"failed\": "
    "0,"
    "    \"budget\": 1, \"best\": true, \"score\": {\"median\": 0.25, \"low\": 0.2, \"high\": 0.3, \"n\": "
    "2}},"
    "   {\"values\": {\"optimizer.lr\": \"0.2\", \"batch\": \"8\"}, \"runs\": 2, \"reached\": 0, \"failed\": "
    "1,"
    "    \"budget\": 1, \"best\": false, \"score\": {\"median\": 0.5, \"low\": 0.5, \"high\": 0.5, \"n\": "
    "1}},"
    "   {\"values\": {\"optimizer.lr\": \"9\", \"batch\": \"8\"}, \"runs\": 2, \"reached\": 0, \"failed\": 2,"
    "    \"budget\": 1, \"best\": false, \"score\": {\"median\": null, \"low\": null, \"high\": null, \"n\": "
    "0}}]},"
    " {\"arm\": 1, \"condition\": 0, \"by\": \"time_to_target\", \"seeds\": [11], \"halving\": true,"
    "  \"edge\": [], \"points\": ["
    "   {\"values\": {\"optimizer.lr\": \"0.1\"}, \"runs\": 1, \"reached\": 0, \"failed\": 0,"
    "    \"budget\": 0.5, \"best\": false, \"score\": {\"median\": null, \"beyond\": 20, \"n\": 1}},"
    "   {\"values\": {\"optimizer.lr\": \"0.2\"}, \"runs\": 1, \"reached\": 0, \"failed\": 0,"
    "    \"budget\": 1, \"best\": true, \"score\": {\"median\": null, \"beyond\": 40, \"n\": 1}}]}]";

TEST(what_was_tuned_reads_like_this)
{
    begin();
    add_run(0, 1, 10);
    add_run(1, 1, 5);
    json_t *d = document((const char *const[]){ "base", "other" }, 2), *tuning = json_loads(TUNED, 0, NULL);
    CHECK(d && tuning);
    json_object_set_new(d, "tuning", tuning);
    char *table = table_of(d);
    CHECK_HAS(table, "exp.yaml: 2 arms, 1 seed; target: 80 % test accuracy\n\n");
    CHECK_HAS(table,
        "Tuned by train_loss on seeds 11, 12\n"
        "\n"
        "base\n"
        "                             train_loss  95 %        failed\n"
        "  optimizer.lr=0.1, batch=8  0.25        [0.2, 0.3]  0 of 2  best\n"
        "  optimizer.lr=0.2, batch=8  0.5                     1 of 2\n"
        "  optimizer.lr=9, batch=8    -                       2 of 2\n"
        "  - base: optimizer.lr=0.1, batch=8 is the best of 3; it is at the edge of the grid: widen\n"
        "    optimizer.lr\n"
        "\n"
        "other\n"
        "                    time_to_target  95 %  reached  length\n"
        "  optimizer.lr=0.1  > 20.0 s              0 of 1   50 %\n"
        "  optimizer.lr=0.2  > 40.0 s              0 of 1   100 %   best\n"
        "  - other: optimizer.lr=0.2 is the best of 2, though most of its runs missed the target\n");
    free(table);
    json_decref(d);
}

static void clean_up(void) { mot_remove_tree(here); }

int main(int count, char **arguments)
{
    atexit(clean_up);
    return test_main(count, arguments);
}
