/* A study from its file to its folder: runs that crash, never arrive or are damaged are noticed and
 * reported. */
#include "base/file.h"
#include "base/memory.h"
#include "math/models.h"
#include "method/methods.h"
#include "page/page.h"
#include "study/compare.h"
#include "study/race.h"
#include "test.h"
#include <dirent.h>
#include <fcntl.h>
#include <motley/motley.h>
#include <sys/stat.h>
#include <unistd.h>

static char here[64]; /* a folder of this test's own */

static const char *in_here(const char *name)
{
    static char path[4][160];
    static int at;
    at = (at + 1) % 4;
    snprintf(path[at], sizeof(path[at]), "%s/%s", here, name);
    return path[at];
}

/* ---- Methods that fall ------------------------------------------------------------------------- */

static struct mot_method crasher, killer;
static bool falls = true; /* forked workers see what it was when the study began */

/* With the second seed worker 3 falls at its second event, and takes the process along. */
static void crash_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    if (falls && env->world->seed == 2 && env->self == 3 && event->kind != MOT_EV_START) {
        fprintf(stderr, "the third worker fell\n");
        abort();
    }
    mot_method_async.step(state, env, event);
}

static void kill_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    if (falls && env->self == 3 && event->kind != MOT_EV_START) kill(getpid(), SIGKILL);
    mot_method_async.step(state, env, event);
}

static const struct mot_method *const brought[] = { &crasher, &killer, NULL };

/* ---- Studies -------------------------------------------------------------------------------------- */

static struct mot_compared done;
static enum mot_status status;

static struct mot_compare options(const char *methods, const char *seeds)
{
    static const char *list;
    static const struct mot_setting setting[] = {
        { "model", "softmax", "test" },
        { "workers", "5", "test" },
        { "stop.updates", "60", "test" },
        { "evaluate.every", "10 updates", "test" },
        { "stop.target.test_accuracy", "0.8", "test" },
    };
    list = methods;
    return (struct mot_compare){ .command = "motley compare",
        .store = in_here("store"),
        .out = in_here("out"),
        .jobs = 2,
        .flags = { .methods = &list,
            .methods_n = 1,
            .seeds = seeds,
            .setting = setting,
            .settings = MOT_COUNT(setting) } };
}

static void go(const struct mot_compare *o)
{
    json_decref(done.document);
    done = (struct mot_compared){ NULL, 0, 0, 0 };
    crasher = killer = mot_method_async;
    crasher.name = "crasher";
    crasher.step = crash_step;
    killer.name = "killer";
    killer.step = kill_step;
    const struct mot_method *const *before = mot_methods_extend(brought);
    status = mot_compare_run(o, &done);
    mot_methods_extend(before);
}

static void fresh_start(void)
{
    mot_remove_tree(here);
    snprintf(here, sizeof(here), "/tmp/motley-compare-XXXXXX");
    if (!mkdtemp(here)) abort();
    falls = true;
}

static const json_t *run_at(size_t i) { return json_array_get(json_object_get(done.document, "runs"), i); }

static const char *text_at(size_t i, const char *key)
{
    const char *text = json_string_value(json_object_get(run_at(i), key));
    return text ? text : "";
}

static char *file_text(const char *path)
{
    unsigned char *bytes = NULL;
    size_t n;
    return mot_file_read(path, 1 << 24, &bytes, &n) == MOT_OK ? (char *)bytes : mot_text("");
}

static size_t left_in_workshop(void)
{
    DIR *folder = opendir(in_here("store/tmp"));
    size_t n = 0;
    for (struct dirent *e; folder && (e = readdir(folder));) n += e->d_name[0] != '.';
    if (folder) closedir(folder);
    return n;
}

/* ---- Claims ------------------------------------------------------------------------------------------- */

TEST(a_run_that_crashes_is_noted_and_the_others_go_on)
{
    fresh_start();
    struct mot_compare o = options("async, crasher, killer", "3");
    go(&o);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(done.made, 5);
    CHECK_INT(done.lost, 4);
    for (size_t i = 0; i < 9; i++) CHECK_TEXT(text_at(i, "status"), i == 4 || i > 5 ? "crashed" : "ok");
    CHECK_HAS(text_at(4, "failed"), "crashed: signal 6 (Aborted)");
    CHECK_HAS(text_at(4, "failed"), "the third worker fell");
    CHECK_HAS(text_at(6, "failed"), "signal 9 (Killed); out of memory?");
    CHECK(json_is_null(json_object_get(run_at(4), "folder")));
    CHECK_INT(json_integer_value(
                  json_object_get(json_array_get(json_object_get(done.document, "cells"), 1), "failed")),
        1);
    CHECK_INT(mot_study_show(done.document, in_here("out"), NULL), MOT_OK);
    char *table = file_text(in_here("out/table.txt"));
    CHECK_HAS(table, "crasher: 1 of 3 runs crashed");
    CHECK_HAS(table, "(seed 2); the first");
    CHECK_HAS(table, "killer: 3 of 3 runs crashed");
    free(table);
    CHECK_INT(left_in_workshop(), 0);
}

TEST(what_crashed_is_tried_again_and_nothing_else_is)
{
    fresh_start();
    struct mot_compare o = options("async, crasher", "3");
    go(&o);
    CHECK_INT(done.lost, 1);
    falls = false;
    go(&o);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(done.found, 5);
    CHECK_INT(done.made, 1);
    CHECK_INT(done.lost, 0);
    go(&o);
    CHECK_INT(done.found, 6);
    CHECK_INT(done.made, 0);
}

TEST(a_method_under_two_names_is_run_once_and_not_told_apart)
{
    fresh_start();
    static const char twin[] = "compare: [async, {label: twin, method: async}]\n";
    CHECK_INT(mot_file_replace(in_here("twin.yaml"), twin, sizeof(twin) - 1), MOT_OK);
    struct mot_compare o = options("", "10");
    o.experiment = in_here("twin.yaml");
    o.flags.methods_n = 0;
    go(&o);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(done.made, 10);
    const json_t *cell = json_array_get(json_object_get(done.document, "cells"), 1);
    const json_t *against = json_object_get(json_object_get(cell, "against"), "time_to_target");
    CHECK_TEXT(json_string_value(json_object_get(against, "verdict")), "not distinguishable");
    CHECK(json_number_value(json_object_get(against, "ratio")) == 1);
    CHECK_INT(json_integer_value(json_object_get(against, "n")), 10);
}

/* Changes a byte of the first run's file. */
static bool damage(const char *name, off_t at)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", text_at(0, "folder"), name);
    int file = open(path, O_RDWR);
    char c = 0;
    bool good = file >= 0 && pread(file, &c, 1, at) == 1;
    c ^= 1;
    good = good && pwrite(file, &c, 1, at) == 1;
    close(file);
    return good;
}

static json_t *summary_in(const char *folder)
{
    char *path = mot_path_join(folder, "summary.json");
    json_t *summary = json_load_file(path, 0, NULL);
    free(path);
    return summary;
}

/* Runs of one arm share their experiment until they run: each must keep its own seed and folder. */
TEST(each_kept_run_has_its_own_seed_and_folder_and_its_experiment_repeats_it)
{
    fresh_start();
    struct mot_compare o = options("async, server", "2,7,9");
    go(&o);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(done.made, 6);
    for (size_t i = 0; i < 6; i++) {
        const char *folder = text_at(i, "folder");
        char *experiment = mot_path_join(folder, "experiment.yaml");
        json_t *kept = summary_in(folder);
        json_int_t seed = json_integer_value(json_object_get(run_at(i), "seed"));
        CHECK_INT(json_integer_value(json_object_get(kept, "seed")), seed);
        CHECK_TEXT(json_string_value(json_object_get(kept, "folder")), folder);
        struct mot_run_options again = { .size = sizeof again, .experiment = experiment };
        struct mot_run *run;
        CHECK_INT(mot_run_open(&again, &run), MOT_OK);
        CHECK_INT(mot_run_simulate(run), MOT_OK);
        CHECK_NEAR(mot_run_number(run, "seed"), (double)seed, 0);
        CHECK_NEAR(
            mot_run_number(run, "train_loss"), json_number_value(json_object_get(kept, "train_loss")), 0);
        mot_run_close(run);
        json_decref(kept);
        free(experiment);
    }
}

TEST(a_damaged_run_is_noticed_and_made_again)
{
    static const char *const files[] = { "summary.json", "metrics.jsonl", "experiment.yaml", "sums" };
    fresh_start();
    struct mot_compare o = options("async", "2");
    go(&o);
    char *before = file_text(in_here("out/study.json"));
    for (size_t i = 0; i < MOT_COUNT(files); i++) {
        CHECK(damage(files[i], 12));
        go(&o);
        CHECK_INT(status, MOT_OK);
        CHECK_INT(done.made, 1);
        CHECK_INT(done.found, 1);
    }
    char path[512];
    snprintf(path, sizeof(path), "%s/metrics.jsonl", text_at(0, "folder"));
    CHECK(unlink(path) == 0);
    go(&o);
    CHECK_INT(done.made, 1);
    char *after = file_text(in_here("out/study.json"));
    CHECK_TEXT(after, before);
    free(after);
    free(before);
}

TEST(another_length_or_batch_is_another_run_and_another_number_of_jobs_is_not)
{
    fresh_start();
    struct mot_compare o = options("async", "2");
    go(&o);
    o.jobs = 1;
    go(&o);
    CHECK_INT(done.made, 0);
    struct mot_setting more[8];
    memcpy(more, o.flags.setting, o.flags.settings * sizeof(*more));
    more[o.flags.settings] = (struct mot_setting){ "sim.threads", "7", "test" };
    o.flags.setting = more;
    o.flags.settings++;
    go(&o);
    CHECK_INT(done.made, 0);
    more[2].value = "61";
    go(&o);
    CHECK_INT(done.made, 2);
    o.fresh = true;
    go(&o);
    CHECK_INT(done.made, 2);
    CHECK_INT(done.found, 0);
}

TEST(what_killed_programs_left_is_swept_out)
{
    fresh_start();
    CHECK_INT(mot_make_folder(in_here("store/tmp/99999-0")), MOT_OK);
    CHECK_INT(mot_file_replace(in_here("store/tmp/99999-0/metrics.jsonl"), "half", 4), MOT_OK);
    struct mot_compare o = options("async", "1");
    go(&o);
    CHECK_INT(status, MOT_OK);
    CHECK_INT(left_in_workshop(), 0);
}

TEST(a_store_that_cannot_be_written_is_said_before_anything_runs)
{
    fresh_start();
    CHECK_INT(mot_file_replace(in_here("file"), "x", 1), MOT_OK);
    struct mot_compare o = options("async", "1");
    o.store = in_here("file");
    go(&o);
    CHECK(status != MOT_OK);
    CHECK_HAS(mot_error(), "the store of runs");
    CHECK_HAS(mot_error(), "MOTLEY_STORE");
}

TEST(outputs_that_cannot_be_written_are_said_before_anything_runs)
{
    fresh_start();
    CHECK_INT(mot_file_replace(in_here("file"), "x", 1), MOT_OK);
    struct mot_compare o = options("async", "1");
    o.out = in_here("file");
    go(&o);
    CHECK(status != MOT_OK);
    o = options("async", "1");
    o.csv = in_here("nowhere/plot");
    go(&o);
    CHECK(status != MOT_OK);
    CHECK_HAS(mot_error(), "--csv: cannot write into");
    o = options("async", "1");
    go(&o);
    CHECK_INT(done.made, 1); /* so it had not been made before */
}

TEST(a_mistake_in_the_last_arm_is_found_before_the_first_runs)
{
    fresh_start();
    struct mot_compare o = options("async, server{kk: 3}", "1");
    go(&o);
    CHECK_INT(status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "method.kk: unknown key");
    o = options("async, asink", "1");
    go(&o);
    CHECK_INT(status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "--methods: method: expected one of");
    CHECK_HAS(mot_error(), "did you mean 'async'");
    o = options("async", "1");
    go(&o);
    CHECK_INT(done.made, 1); /* so it had not been made before */
}

TEST(a_study_that_is_interrupted_at_once_runs_nothing)
{
    fresh_start();
    static volatile sig_atomic_t stop = 1;
    struct mot_compare o = options("async", "4");
    o.interrupt = &stop;
    go(&o);
    CHECK_INT(status, MOT_EINTERRUPTED);
    CHECK_HAS(mot_error(), "nothing was run");
}

TEST(a_target_that_is_never_reached_is_said_and_compared)
{
    fresh_start();
    struct mot_compare o = options("", "6");
    static const char file[] = "compare: [async, {label: lame, method: async, optimizer.lr: 0}]\n";
    CHECK_INT(mot_file_replace(in_here("lame.yaml"), file, sizeof(file) - 1), MOT_OK);
    o.experiment = in_here("lame.yaml");
    o.flags.methods_n = 0;
    go(&o);
    CHECK_INT(status, MOT_OK);
    const json_t *cell = json_array_get(json_object_get(done.document, "cells"), 1);
    const json_t *time = json_object_get(json_object_get(cell, "figures"), "time_to_target");
    CHECK(json_is_null(json_object_get(time, "median")));
    CHECK(json_number_value(json_object_get(time, "beyond")) > 0);
    CHECK_INT(json_integer_value(json_object_get(cell, "reached")), 0);
    const json_t *against = json_object_get(json_object_get(cell, "against"), "time_to_target");
    CHECK_TEXT(json_string_value(json_object_get(against, "verdict")), "slower");
    CHECK_INT(mot_study_show(done.document, in_here("out"), NULL), MOT_OK);
    char *table = file_text(in_here("out/table.txt"));
    CHECK_HAS(table, "lame: 6 of 6 runs ended without reaching the target");
    CHECK_HAS(table, "> ");
    free(table);
}

static double falling_loss(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, uint32_t *hits, void *scratch)
{
    (void)net, (void)x, (void)batch, (void)hits, (void)scratch;
    abort();
}

TEST(a_plan_whose_first_run_crashes_fails_and_one_whose_first_run_is_refused_was_asked_wrongly)
{
    static struct mot_model faller;
    static const struct mot_model *const models[] = { &faller, NULL };
    const struct mot_model *m;
    for (size_t i = 0; (m = mot_model_at(i)); i++)
        if (strcmp(m->name, "softmax") == 0) faller = *m;
    faller.name = "faller";
    faller.loss = falling_loss;
    static const char *const tried[][2] = { { "faller", "the first run, of allreduce, crashed: signal 6" },
        { "lenet", "the first run, of allreduce, was refused" } };
    for (size_t i = 0; i < MOT_COUNT(tried); i++) {
        fresh_start();
        struct mot_setting setting[] = { { "data", "digits", "test" }, { "model", tried[i][0], "test" },
            { "stop.updates", "10", "test" } };
        struct mot_race race = { .setting = setting,
            .settings = MOT_COUNT(setting),
            .store = in_here("store"),
            .out = in_here("out"),
            .jobs = 1,
            .budget_s = 60 };
        const struct mot_model *const *before = mot_models_extend(models);
        CHECK_INT(mot_race_run(&race), i ? MOT_EUSAGE : MOT_ESYSTEM);
        mot_models_extend(before);
        CHECK_HAS(mot_error(), tried[i][1]);
        mot_race_close(&race);
    }
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
