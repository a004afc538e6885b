/* Another target makes no run again: what a run for one target tells of another is what a run for that one
 * would have told. */
#include "page/pages.h"
#include "report/json.h"
#include "study/compare.h"
#include "study/figures.h"
#include <dirent.h>

static struct mot_compared done;

/* A study with that target (NULL: none), kept in a store of that name. */
static void study(const char *store, const char *kind, const char *value)
{
    static const char *methods = "allreduce, server{k: 2}, async";
    char *key = mot_format("stop.target.%s", kind ? kind : "test_accuracy"), *where = place(store),
         *out = place("out");
    const struct mot_setting setting[] = {
        { "model", "softmax", "test" },
        { "workers", "3", "test" },
        { "stop.updates", "60", "test" },
        { "evaluate.every", "5 updates", "test" },
        { "evaluate.train", "end", "test" },
        { key, value, "test" },
    };
    struct mot_compare o = { .command = "motley compare",
        .store = where,
        .out = out,
        .jobs = 2,
        .flags = { .methods = &methods,
            .methods_n = 1,
            .seeds = "3",
            .setting = setting,
            .settings = kind ? MOT_COUNT(setting) : MOT_COUNT(setting) - 1 } };
    json_decref(done.document);
    done = (struct mot_compared){ NULL, 0, 0, 0 };
    if (mot_compare_run(&o, &done) != MOT_OK) printf("  %s\n", mot_error());
    free(out);
    free(where);
    free(key);
}

/* What decides a comparison, of every run. */
static void same_answers(const json_t *mine, const json_t *other)
{
    static const char *const figures[] = { "time_to_target", "updates_to_target", "bytes_to_target", "time",
        "updates", "bytes", "test_loss", "test_accuracy", "staleness_mean" };
    size_t i;
    json_t *run;
    CHECK_INT(json_array_size(json_object_get(mine, "runs")), 9);
    json_array_foreach(json_object_get(mine, "runs"), i, run)
    {
        const json_t *twin = json_array_get(json_object_get(other, "runs"), i),
                     *a = json_object_get(run, "figures"), *b = json_object_get(twin, "figures");
        CHECK(json_equal(json_object_get(run, "reached"), json_object_get(twin, "reached")));
        for (size_t k = 0; k < MOT_COUNT(figures); k++) {
            double x = mot_json_get_number(a, figures[k]), y = mot_json_get_number(b, figures[k]);
            CHECK(x == y || (isnan(x) && isnan(y)));
        }
    }
    char *said = mot_answer_text(mine, 0), *wanted = mot_answer_text(other, 0), *why = strstr(said, " Why:"),
         *wants_why = strstr(wanted, " Why:");
    if (why) *why = '\0'; /* who computed until then is not known */
    if (wants_why) *wants_why = '\0';
    int before = test_failures;
    CHECK_TEXT(said, wanted);
    if (test_failures == before) free(said), free(wanted);
}

TEST(a_run_that_went_further_answers_for_any_target_as_one_for_that_target_would)
{
    static const char *const targets[] = { "0.5", "0.7", "0.8", "0.85", "0.999" };
    study("store", "test_accuracy", "0.9999"); /* which nobody reaches: all go to their end */
    CHECK_INT(done.made, 9);
    for (size_t i = 0; i < MOT_COUNT(targets); i++) {
        study("store", "test_accuracy", targets[i]);
        CHECK_INT(done.made, 0);
        CHECK_INT(done.found, 9);
        json_t *mine = json_incref(done.document);
        char *fresh = mot_format("fresh-%zu", i);
        study(fresh, "test_accuracy", targets[i]);
        CHECK_INT(done.made, 9);
        int before = test_failures;
        same_answers(mine, done.document);
        CHECK_INT(test_failures, before);
        free(fresh);
        json_decref(mine);
    }
    study("store", NULL, NULL); /* and for none */
    CHECK_INT(done.made, 0);
}

TEST(a_run_that_ended_at_its_target_answers_for_easier_ones_and_not_for_harder)
{
    study("easy", "test_accuracy", "0.7");
    CHECK_INT(done.made, 9);
    study("easy", "test_accuracy", "0.6");
    CHECK_INT(done.made, 0);
    study("easy", NULL, NULL);
    CHECK(done.made > 0);
    study("easy", "test_accuracy", "0.8"); /* by now all have gone to their end */
    CHECK_INT(done.made, 0);
}

TEST(a_figure_that_was_not_looked_at_every_time_is_no_answer)
{
    study("unseen", "test_accuracy", "0.9999");
    study("unseen", "train_loss", "0.5"); /* evaluated only at the end, until it was the target */
    CHECK_INT(done.made, 9);
}

TEST(what_only_the_end_of_a_run_tells_is_not_made_up)
{
    study("store", "test_accuracy", "0.7");
    size_t i;
    json_t *run;
    json_array_foreach(json_object_get(done.document, "runs"), i, run)
    {
        if (!json_is_true(json_object_get(run, "reached"))) continue;
        CHECK(json_is_true(json_object_get(run, "reread")));
        CHECK(json_is_null(json_object_get(json_object_get(run, "figures"), "utilisation")));
        CHECK(json_is_null(json_object_get(json_object_get(run, "figures"), "train_loss")));
    }
    char *table = NULL;
    size_t n;
    FILE *out = open_memstream(&table, &n);
    mot_study_table(done.document, out, MOT_TABLE_COLUMNS, false);
    fclose(out);
    CHECK_HAS(table, "9 runs from the store were made for another target");
    free(table);
}

static void write_run(const char *folder, const char *summary, const char *metrics)
{
    char *a = mot_path_join(folder, "summary.json"), *b = mot_path_join(folder, "metrics.jsonl");
    if (mot_make_folder(folder) != MOT_OK || mot_file_replace(a, summary, strlen(summary)) != MOT_OK ||
        mot_file_replace(b, metrics, strlen(metrics)) != MOT_OK)
        abort();
    free(a);
    free(b);
}

TEST(a_run_that_met_the_goal_and_forgot_it_later_had_learned_by_then)
{
    struct mot_run_figures f;
    char *folder = place("late");
    write_run(folder,
        "{\"status\": \"ok\", \"ended_by\": \"updates\", \"learned\": false, \"remedy\": \"less\", "
        "\"chance_accuracy\": 0.1}",
        "{\"time_s\": 1, \"updates\": 10, \"test_accuracy\": 0.82}\n"
        "{\"time_s\": 2, \"updates\": 20, \"test_accuracy\": 0.1}\n");
    CHECK_INT(mot_figures_read(folder, &(struct mot_goal){ "test_accuracy", 0.8 }, &f), MOT_OK);
    CHECK(f.reached);
    CHECK_INT(f.learned, MOT_LEARNED);
    CHECK_TEXT(f.remedy, "");
    CHECK_INT(mot_figures_read(folder, &(struct mot_goal){ "test_accuracy", 0.9 }, &f), MOT_OK);
    CHECK(!f.reached);
    CHECK_INT(f.learned, MOT_LEARNED_NOTHING);
    free(folder);
}

#define ENDED                                                                                                \
    "{\"status\": \"ok\", \"ended_by\": \"updates\", \"time_s\": 3, \"updates\": 30, \"bytes_sent\": 300, "  \
    "\"worker\": [{\"id\": 0, \"compute_s\": 1, \"wait_s\": 3, \"send_s\": 0}]}"
#define ROW(time, updates, accuracy)                                                                         \
    "{\"time_s\": " #time ", \"updates\": " #updates ", \"bytes_sent\": 1" #updates                          \
    ", \"test_accuracy\": " #accuracy "}\n"

TEST(a_run_that_met_the_goal_at_its_end_is_what_a_run_for_it_would_have_been)
{
    struct mot_run_figures f;
    char *folder = place("end");
    write_run(folder, ENDED, ROW(1, 10, 0.5) ROW(2, 20, 0.6) ROW(3, 30, 0.8));
    CHECK_INT(mot_figures_read(folder, &(struct mot_goal){ "test_accuracy", 0.7 }, &f), MOT_OK);
    CHECK(f.reached && f.reread && !f.cut);
    CHECK_TEXT(f.ended_by, "updates");
    CHECK(f.value[MOT_FIGURE_UTILISATION] == 0.25);
    CHECK(f.value[MOT_FIGURE_TIME_TO_TARGET] == 3 && f.value[MOT_FIGURE_UPDATES_TO_TARGET] == 30);
    CHECK(f.value[MOT_FIGURE_BYTES_TO_TARGET] == 300 && f.evaluations == 3);
    CHECK_INT(mot_figures_read(folder, &(struct mot_goal){ "test_accuracy", 0.55 }, &f), MOT_OK);
    CHECK(f.reached && f.cut);
    CHECK_TEXT(f.ended_by, "target");
    CHECK(isnan(f.value[MOT_FIGURE_UTILISATION]));
    free(folder);
}

TEST(evaluations_at_the_same_time_count_up_to_the_one_that_met_the_goal)
{
    struct mot_run_figures f;
    char *folder = place("same-time");
    write_run(folder, ENDED,
        ROW(0, 0, 0.1) ROW(1, 10, 0.5) ROW(2, 19, 0.6) ROW(2, 20, 0.7) ROW(2, 20, 0.7) ROW(2, 21, 0.7)
            ROW(3, 30, 0.8));
    CHECK_INT(mot_figures_read(folder, &(struct mot_goal){ "test_accuracy", 0.7 }, &f), MOT_OK);
    CHECK(f.evaluations == 3);
    CHECK_INT(mot_figures_read(folder, &(struct mot_goal){ "test_accuracy", 0.6 }, &f), MOT_OK);
    CHECK(f.evaluations == 2);
    free(folder);
}

#define SEEDS 8u
/* Eight seeds of two arms; of the second, `early` runs met the target before their end. */
static json_t *pairs_of(uint32_t early)
{
    static const struct mot_goal goal = { "test_accuracy", 0.7 };
    struct mot_study_run run[2 * SEEDS];
    struct mot_study_side arm[2] = { { "first", NULL, 0 }, { "second", NULL, 0 } }, all = { "", NULL, 0 };
    char *folder[2 * SEEDS];
    json_t *document = NULL;
    for (uint32_t i = 0; i < 2 * SEEDS; i++) {
        char *name = mot_format("pair-%u-%u", early, i);
        folder[i] = place(name);
        write_run(folder[i], ENDED,
            i >= SEEDS && i < SEEDS + early ? ROW(1, 10, 0.7) ROW(3, 30, 0.8)
                                            : ROW(1, 10, 0.5) ROW(3, 30, 0.8));
        run[i] =
            (struct mot_study_run){ .arm = i / SEEDS, .seed = i % SEEDS, .goal = &goal, .folder = folder[i] };
        free(name);
    }
    const struct mot_study study = { .title = "t",
        .command = "c",
        .experiment = "workers: 1\n",
        .arm = arm,
        .arms = 2,
        .condition = &all,
        .conditions = 1,
        .run = run,
        .runs = 2 * SEEDS };
    if (mot_study_document(&study, &document) != MOT_OK) printf("  %s\n", mot_error());
    for (uint32_t i = 0; i < 2 * SEEDS; i++) free(folder[i]);
    return document;
}

TEST(runs_that_tell_a_figure_do_not_stand_for_those_that_cannot)
{
    for (uint32_t early = 0; early <= 2; early += 2) {
        json_t *document = pairs_of(early);
        const json_t *cell = json_array_get(json_object_get(document, "cells"), 1),
                     *against = json_object_get(json_object_get(cell, "against"), "utilisation"),
                     *figure = json_object_get(json_object_get(cell, "figures"), "utilisation");
        CHECK_INT(mot_json_get_count(against, "n"), early ? 0 : SEEDS);
        CHECK_INT(mot_json_get_count(figure, "n"), early ? 0 : SEEDS);
        if (early) CHECK_HAS(mot_json_get_text(against, "reason"), "runs that went on past this target");
        json_decref(document);
    }
}

TEST(a_run_that_a_training_loss_ended_tells_nothing_of_other_targets)
{
    char *folder = place("diverged");
    write_run(folder,
        "{\"status\": \"diverged\", \"ended_by\": \"diverged\", "
        "\"target\": {\"kind\": \"train_loss\", \"value\": 0.1}}",
        "{\"time_s\": 1, \"updates\": 10, \"test_accuracy\": 0.5, \"train_loss\": 1}\n");
    CHECK(!mot_figures_answer(folder, &(struct mot_goal){ "test_accuracy", 0.9 }));
    CHECK(mot_figures_answer(folder, &(struct mot_goal){ "test_accuracy", 0.4 })); /* met before */
    CHECK(mot_figures_answer(folder, &(struct mot_goal){ "train_loss", 0.2 }));
    free(folder);
}

TEST(a_damaged_note_of_a_relative_is_no_answer_and_no_harm)
{
    study("hurt", "test_accuracy", "0.9999");
    char *family = place("hurt/family");
    DIR *folder = opendir(family);
    CHECK(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char *path = mot_path_join(family, entry->d_name);
        if (entry->d_name[0] != '.' && mot_file_replace(path, "nonsense", 8) != MOT_OK) abort();
        free(path);
    }
    closedir(folder);
    free(family);
    study("hurt", "test_accuracy", "0.5");
    CHECK_INT(done.made, 9);
    json_decref(done.document);
    done.document = NULL;
}

TEST_MAIN()
