/* What a study's document makes of summaries: pairs, worst workers, targets, why runs failed. */
#include "study/study.h"
#include "page/pages.h"
#include "study/answer.h"

static struct mot_study_run run[32];
static size_t runs, conditions = 1;

/* Waits: of worker 0 and 1, out of 10 s each. */
static void add(
    uint32_t arm, uint64_t seed, const char *status, double target, double time, int wait0, int wait1)
{
    char *name = mot_format("run-%zu", runs), *folder = place(name),
         *path = mot_path_join(folder, "summary.json");
    char *text = mot_format("{\"status\": \"%s\", \"ended_by\": \"target\", \"updates\": 50, \"time_s\": %g, "
                            "\"bytes_sent\": 700, "
                            "\"target\": {\"kind\": \"train_loss\", \"value\": %g, \"reached\": true, "
                            "\"time_s\": %g, \"updates\": 9}, "
                            "\"worker\": [{\"id\": 0, \"compute_s\": %d, \"wait_s\": %d, \"send_s\": 0}, "
                            "{\"id\": 1, \"compute_s\": %d, \"wait_s\": %d, \"send_s\": 0}]}",
        status, time, target, time, 10 - wait0, wait0, 10 - wait1, wait1);
    mot_make_folder(folder);
    if (mot_file_replace(path, text, strlen(text)) != MOT_OK) abort();
    run[runs++] = (struct mot_study_run){ .arm = arm, .seed = seed, .folder = folder };
    free(text);
    free(path);
    free(name);
}

static json_t *document(void)
{
    static const struct mot_study_side arm[2] = { { .name = "first" }, { .name = "second" } },
                                       condition[2] = { { .name = "" }, { .name = "other" } };
    struct mot_study s = { .title = "x.yaml",
        .command = "",
        .experiment = "",
        .arm = arm,
        .arms = 2,
        .condition = condition,
        .conditions = conditions,
        .run = run,
        .runs = runs };
    json_t *d = NULL;
    if (mot_study_document(&s, &d) != MOT_OK) printf("  %s\n", mot_error());
    for (size_t i = 0; i < runs; i++) free((char *)(uintptr_t)run[i].folder);
    runs = 0;
    return d;
}

static double worst(const json_t *d, size_t arm, const char *key)
{
    const json_t *cell = json_array_get(json_object_get(d, "cells"), arm);
    return json_number_value(json_object_get(json_object_get(cell, "worst_worker"), key));
}

TEST(runs_are_paired_by_their_seeds_in_whatever_order_they_come)
{
    static const uint64_t order[] = { 4, 1, 6, 3, 5, 2 };
    for (uint64_t seed = 1; seed <= 6; seed++) add(1, seed, "ok", 0.5, (double)seed, 1, 2);
    for (size_t i = 0; i < 6; i++) add(0, order[i], "ok", 0.5, 2 * (double)order[i], 1, 2);
    json_t *d = document();
    const json_t *against = json_object_get(json_object_get(cell_at(d, 1), "against"), "time_to_target");
    CHECK_INT(json_integer_value(json_object_get(against, "n")), 6);
    CHECK_NEAR(json_number_value(json_object_get(against, "low")), 2, 1e-9);
    CHECK_NEAR(json_number_value(json_object_get(against, "high")), 2, 1e-9);
    const json_t *bytes = json_object_get(json_object_get(cell_at(d, 1), "figures"), "bytes_to_target");
    CHECK_NEAR(json_number_value(json_object_get(bytes, "median")), 700, 0);
    CHECK_TEXT(json_string_value(json_object_get(json_object_get(d, "target"), "kind")), "train_loss");
    json_decref(d);
}

TEST(the_worst_worker_is_that_of_most_runs_and_of_equals_the_lowest)
{
    add(0, 1, "ok", 0.5, 1, 2, 9);
    add(0, 2, "ok", 0.5, 1, 9, 2);
    add(0, 3, "ok", 0.5, 1, 2, 9);
    add(1, 1, "ok", 0.5, 1, 2, 9);
    add(1, 2, "ok", 0.5, 1, 9, 2);
    json_t *d = document();
    CHECK_NEAR(worst(d, 0, "id"), 1, 0);
    CHECK_NEAR(worst(d, 0, "runs"), 2, 0);
    CHECK_NEAR(worst(d, 1, "id"), 0, 0);
    CHECK_NEAR(worst(d, 1, "runs"), 1, 0);
    json_decref(d);
    add(0, 1, "ok", 0.5, 1, 5, 5); /* of workers that wait alike, the first */
    d = document();
    CHECK_NEAR(worst(d, 0, "id"), 0, 0);
    json_decref(d);
}

/* What an arm has learned when its target ends the run says nothing about it. */
TEST(where_each_condition_has_a_target_of_its_own_the_time_to_it_judges)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        for (uint32_t c = 0; c < 2; c++) {
            for (uint32_t a = 0; a < 2; a++) {
                add(a, seed, "ok", c ? 0.25 : 0.5, a ? 2 : 4, 1, 2);
                run[runs - 1].condition = c;
            }
        }
    }
    conditions = 2;
    json_t *d = document();
    conditions = 1;
    CHECK(json_is_null(json_object_get(d, "target")));
    CHECK_TEXT(json_string_value(json_object_get(d, "judged_by")), "time_to_target");
    static const double value[] = { 0.5, 0.25 };
    for (size_t c = 0; c < 2; c++) {
        const json_t *target = json_object_get(json_array_get(json_object_get(d, "conditions"), c), "target");
        CHECK_NEAR(json_number_value(json_object_get(target, "value")), value[c], 0);
        const json_t *verdict = json_object_get(cell_at(d, 2 * c + 1), "verdict");
        CHECK_TEXT(json_string_value(json_object_get(verdict, "word")), "faster");
    }
    char *first = mot_answer_text(d, 0), *second = mot_answer_text(d, 1);
    CHECK_HAS(first, "reaches a training loss of 0.5");
    CHECK_HAS(second, "reaches a training loss of 0.25");
    free(first);
    free(second);
    json_decref(d);
}

TEST(targets_that_differ_are_not_one_and_a_failure_has_its_words)
{
    add(0, 1, "ok", 0.5, 1, 1, 2);
    add(1, 1, "diverged", 0.25, 1, 1, 2);
    json_t *d = document();
    CHECK(json_is_null(json_object_get(d, "target")));
    CHECK(json_is_null(json_object_get(json_array_get(json_object_get(d, "conditions"), 0), "target")));
    CHECK(json_is_null(json_object_get(json_array_get(json_object_get(d, "runs"), 0), "failed")));
    CHECK_TEXT(json_string_value(json_object_get(json_array_get(json_object_get(d, "runs"), 1), "failed")),
        "diverged after 50 updates: the loss became infinite or NaN");
    json_decref(d);
}

TEST_MAIN()
