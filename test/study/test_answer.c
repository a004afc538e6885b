/* The verdict of a study: made once, in the document; the same on the terminal and on the page; what was
 * learned comes before how fast. */
#include "ends.h"

static json_t *tuning; /* what arms were tuned by, or NULL */

/* Arms "first" and "second" over the seeds. */
static json_t *compared(const struct end *first, const struct end *second, uint64_t seeds)
{
    static const struct mot_study_side arm[2] = { { .name = "first" }, { .name = "second" } },
                                       condition = { .name = "" };
    runs = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) add(0, seed, first), add(1, seed, second);
    struct mot_study s = { .title = "x.yaml",
        .command = "",
        .experiment = "",
        .arm = arm,
        .arms = 2,
        .condition = &condition,
        .conditions = 1,
        .run = run,
        .runs = runs,
        .tuning = tuning };
    json_t *d = NULL;
    if (mot_study_document(&s, &d) != MOT_OK) printf("  %s\n", mot_error());
    for (size_t i = 0; i < runs; i++) free((char *)(uintptr_t)run[i].folder);
    return d;
}

static const char *verdict_of(const json_t *d, const char *key)
{
    const json_t *cell = json_array_get(json_object_get(d, "cells"), 1);
    const char *word = json_string_value(json_object_get(json_object_get(cell, "verdict"), key));
    return word ? word : "";
}

/* The answer; and whether it and the verdict stand in the table and on the page. */
static bool both_say;
static char *answer_of(json_t *d)
{
    char *answer = mot_answer_text(d, 0), *table = NULL;
    size_t n;
    FILE *out = open_memstream(&table, &n);
    mot_study_table(d, out, 98, false);
    fclose(out);
    char *path = place("page.html");
    if (mot_page_write(d, path) != MOT_OK) printf("  %s\n", mot_error());
    char *page = whole_file(path), *words = plain(page), *rows = plain(table);
    const char *word = verdict_of(d, "word");
    both_say = strstr(words, answer) && strstr(rows, answer) && strstr(words, word) && strstr(rows, word);
    if (!both_say) printf("  %s\n  %s\n", answer, table);
    free(rows);
    free(words);
    free(page);
    free(path);
    free(table);
    return answer;
}

static const struct end good = { .accuracy = 0.9, .loss = 0.3, .time = 10, .learned = 1 };

#define ANSWERS(d, want_word, want_by)                                                                       \
    char *answer = answer_of(d);                                                                             \
    CHECK(both_say);                                                                                         \
    CHECK_TEXT(verdict_of(d, "word"), want_word);                                                            \
    CHECK_TEXT(verdict_of(d, "by"), want_by)
#define DONE(d) (free(answer), json_decref(d))

TEST(an_arm_that_learned_nothing_is_not_faster_however_soon_it_is_done)
{
    const struct end nothing = { .accuracy = 0.12, .loss = 2.3, .time = 2, .learned = 0 };
    json_t *d = compared(&good, &nothing, SEEDS);
    ANSWERS(d, "learned nothing", "test_accuracy");
    CHECK_HAS(answer, "first wins: it ends with a test accuracy of 90.2 %");
    CHECK_HAS(answer, "second learned nothing.");
    CHECK(!strstr(answer, "fast"));
    DONE(d);
}

TEST(nor_where_seeds_are_too_few_to_tell_its_accuracy)
{
    const struct end nothing = { .accuracy = 0.12, .loss = 2.3, .time = 2, .learned = 0 };
    json_t *d = compared(&good, &nothing, 1);
    ANSWERS(d, "learned nothing", "test_accuracy");
    CHECK(!strstr(answer, "fast"));
    DONE(d);
}

TEST(arms_that_learned_nothing_are_not_compared)
{
    const struct end nothing = { .accuracy = 0.12, .loss = 2.3, .time = 10, .learned = 0 };
    struct end sooner = nothing;
    sooner.time = 2;
    json_t *d = compared(&nothing, &sooner, SEEDS);
    ANSWERS(d, "not comparable", "test_accuracy");
    CHECK_TEXT(verdict_of(d, "reason"), "neither learned anything");
    CHECK_HAS(answer, "No arm learned anything");
    CHECK(!strstr(answer, "fast"));
    DONE(d);
}

TEST(a_first_arm_that_learned_nothing_is_beaten_by_one_that_did)
{
    const struct end nothing = { .accuracy = 0.12, .loss = 2.3, .time = 2, .learned = 0 };
    json_t *d = compared(&nothing, &good, SEEDS);
    ANSWERS(d, "better", "test_accuracy");
    CHECK_HAS(answer, "second wins");
    CHECK_HAS(answer, "first learned nothing.");
    DONE(d);
}

static char *table_of(const json_t *d)
{
    char *table = NULL;
    size_t n;
    FILE *out = open_memstream(&table, &n);
    mot_study_table(d, out, 98, false);
    fclose(out);
    return table;
}

TEST(against_a_diverged_baseline_there_is_no_ratio)
{
    struct end wild = { .accuracy = 0.1, .loss = NAN, .time = 1, .learned = 0, .status = "diverged" };
    json_t *d = compared(&wild, &good, SEEDS);
    ANSWERS(d, "better", "test_accuracy");
    CHECK(!strstr(answer, "times"));
    char *table = table_of(d);
    CHECK(!strstr(table, "above 1 is better than"));
    free(table);
    DONE(d);
    wild.learned = -1;
    d = compared(&wild, &good, SEEDS);
    answer = answer_of(d);
    CHECK(both_say);
    CHECK_HAS(answer, "first mostly does not finish.");
    CHECK(!strstr(answer, "times"));
    DONE(d);
    wild.learned = 0;
    d = compared(&wild, &wild, SEEDS); /* of two that diverged nothing is "not distinguishable: 1.00" */
    table = table_of(d);
    CHECK(!strstr(table, "above 1 is better than"));
    free(table);
    json_decref(d);
}

TEST(of_arms_that_end_alike_none_has_the_best_median)
{
    json_t *d = compared(&good, &good, 1);
    char *answer = answer_of(d);
    CHECK(both_say);
    CHECK_HAS(answer, "first is as good as any: it ends with a test accuracy of");
    CHECK(!strstr(answer, "best"));
    DONE(d);
}

TEST(an_arm_that_diverged_is_worse_and_not_faster)
{
    const struct end wild = { .accuracy = 0.1, .loss = NAN, .time = 1, .learned = -1, .status = "diverged" };
    json_t *d = compared(&good, &wild, SEEDS);
    ANSWERS(d, "worse", "test_accuracy");
    CHECK_HAS(answer, "first wins");
    CHECK(!strstr(answer, "fast"));
    DONE(d);
}

TEST(of_arms_that_learn_alike_the_sooner_is_faster)
{
    struct end sooner = good;
    sooner.time = 5;
    json_t *d = compared(&good, &sooner, SEEDS);
    ANSWERS(d, "faster", "time");
    CHECK_HAS(answer, "What they learn is not distinguishable");
    CHECK_HAS(answer, "second is 2.00 times (2.00 to 2.00) as fast as first.");
    DONE(d);
    d = compared(&sooner, &good, SEEDS);
    answer = answer_of(d);
    CHECK(both_say);
    CHECK_TEXT(verdict_of(d, "word"), "slower");
    CHECK_HAS(answer, "second takes 2.00 times (2.00 to 2.00) as long as first.");
    DONE(d);
}

TEST(what_is_better_is_better_also_where_it_is_slower)
{
    const struct end best = { .accuracy = 0.97, .loss = 0.1, .time = 40, .learned = 1 };
    json_t *d = compared(&good, &best, SEEDS);
    ANSWERS(d, "better, but slower", "test_accuracy");
    CHECK_HAS(answer, "second wins: it ends with a test accuracy of 97.2 %");
    CHECK_HAS(answer, "second takes 4.00 times (4.00 to 4.00) as long as first.");
    DONE(d);
    struct end both = best;
    both.time = 5;
    d = compared(&good, &both, SEEDS);
    answer = answer_of(d);
    CHECK(both_say);
    CHECK_TEXT(verdict_of(d, "word"), "better and faster");
    CHECK_HAS(answer, "second is 2.00 times (2.00 to 2.00) as fast as first.");
    DONE(d);
}

TEST(what_is_worse_is_worse_also_where_it_is_faster)
{
    const struct end worse = { .accuracy = 0.7, .loss = 1, .time = 1, .learned = 1 };
    json_t *d = compared(&good, &worse, SEEDS);
    ANSWERS(d, "worse", "test_accuracy");
    CHECK(!strstr(answer, "fast"));
    DONE(d);
}

TEST(one_seed_compares_nothing)
{
    struct end sooner = good;
    sooner.time = 5;
    json_t *d = compared(&good, &sooner, 1);
    ANSWERS(d, "not comparable", "test_accuracy");
    CHECK_TEXT(verdict_of(d, "reason"), "1 pair of runs; a verdict needs 6");
    CHECK_HAS(answer, "not compared with the other: 1 pair of runs; a verdict needs 6.");
    CHECK(!strstr(answer, "median of 1"));
    CHECK(json_is_null(json_object_get(json_array_get(json_object_get(d, "cells"), 0), "verdict")));
    DONE(d);
}

TEST(without_a_test_part_the_training_loss_decides)
{
    const struct end coarse = { .accuracy = NAN, .loss = 0.4, .time = 5, .learned = 1 },
                     fine = { .accuracy = NAN, .loss = 0.2, .time = 5, .learned = 1 };
    json_t *d = compared(&coarse, &fine, SEEDS);
    ANSWERS(d, "better", "train_loss");
    CHECK_HAS(answer, "second wins: it ends with a training loss of 0.2004");
    DONE(d);
}

TEST(arms_are_judged_by_what_they_were_tuned_by)
{
    const struct end accurate = { .accuracy = 0.97, .loss = 0.4, .time = 5, .learned = 1 },
                     low = { .accuracy = 0.9, .loss = 0.2, .time = 5, .learned = 1 };
    tuning = json_pack("[{s:i, s:i, s:s, s:[s], s:[i], s:b, s:[], s:[]}]", "arm", 0, "condition", 0, "by",
        "train_loss", "over", "optimizer.lr", "seeds", 1001, "halving", 0, "edge", "points");
    json_t *d = compared(&accurate, &low, SEEDS);
    ANSWERS(d, "better", "train_loss");
    CHECK_HAS(answer, "second wins: it ends with a training loss of 0.2004");
    char *table = NULL;
    size_t n;
    FILE *out = open_memstream(&table, &n);
    mot_study_table(d, out, 98, false);
    fclose(out);
    CHECK_HAS(table, "final training loss better: 2.00 [2.00, 2.00]");
    free(table);
    DONE(d);
    json_decref(tuning);
    tuning = NULL;
}

TEST(where_there_is_a_target_the_time_to_it_decides_and_some_may_miss_it)
{
    struct end slow = good, never = good, quick = good;
    slow.target = 8, never.target = NAN, quick.target = 4;
    json_t *d = compared(&slow, &quick, SEEDS);
    ANSWERS(d, "faster", "time_to_target");
    CHECK_HAS(answer, "second wins: it reaches 80 % test accuracy in 4.00 s");
    DONE(d);
    d = compared(&slow, &never, SEEDS);
    answer = answer_of(d);
    CHECK(both_say);
    CHECK_TEXT(verdict_of(d, "word"), "slower");
    CHECK_HAS(answer, "first wins: it reaches 80 % test accuracy in 8.00 s");
    DONE(d);
    d = compared(&never, &never, SEEDS);
    answer = answer_of(d);
    CHECK(both_say);
    CHECK_TEXT(verdict_of(d, "word"), "not comparable");
    char *table = table_of(d), *path = place("page.html"), *page = whole_file(path);
    CHECK(!strstr(table, "1.00")); /* nobody's time has no ratio to nobody's */
    CHECK(!strstr(page, "1.00\u00d7"));
    free(page);
    free(path);
    free(table);
    CHECK_HAS(answer, "No run reaches 80 % test accuracy");
    DONE(d);
}

TEST(beside_a_first_arm_that_learned_nothing_nobody_is_faster)
{
    const struct end nothing = { .accuracy = 0.12, .loss = 2.3, .time = 10, .learned = 0 };
    struct end little = nothing;
    little.time = 2, little.learned = 1;
    json_t *d = compared(&nothing, &little, SEEDS);
    ANSWERS(d, "not distinguishable", "test_accuracy");
    CHECK(!strstr(answer, "fast"));
    DONE(d);
}

/* Three arms by hand: their times to the target, and how the last two compare with the first. */
static char *three(double first, double second, double third, const char *one, const char *two)
{
    json_t *d = document_of((const char *const[]){ "a", "b", "c" }, 3);
    const double time[] = { first, second, third };
    for (size_t i = 0; i < 3; i++) set_figure(d, i, "time_to_target", time[i], time[i] - 0.1, time[i] + 0.1);
    set_against(d, 1, "time_to_target", first / second, 0.9 * first / second, 1.1 * first / second, one);
    set_against(d, 2, "time_to_target", first / third, 0.9 * first / third, 1.1 * first / third, two);
    mot_study_judge(d);
    char *answer = mot_answer_text(d, 0);
    json_decref(d);
    return answer;
}

TEST(of_three_arms_the_next_is_named_and_indistinguishable_ones_are_counted)
{
    char *answer = three(1, 2, 3, "slower", "slower");
    CHECK_HAS(answer, "a wins: it reaches");
    CHECK_HAS(answer, "the next clearly behind, b, takes 2.00 times");
    free(answer);
    answer = three(1, 3, 2, "slower", "slower");
    CHECK_HAS(answer, "the next clearly behind, c, takes 2.00 times");
    free(answer);
    answer = three(1, 1.2, 3, "not distinguishable", "slower");
    CHECK_HAS(answer, "a has the best median: it reaches");
    CHECK_HAS(answer, "1 of the others cannot be told apart from it.");
    free(answer);
}

/* Some arms have too few runs; that is said only where no other is told apart from the first, or alike. */
TEST(arms_that_cannot_be_compared_do_not_hide_one_that_can)
{
    static const char *const second[] = { "slower", "not distinguishable", "not comparable" };
    for (size_t i = 0; i < 3; i++) {
        json_t *d = document_of((const char *const[]){ "a", "b", "c" }, 3);
        for (size_t k = 0; k < 3; k++) set_figure(d, k, "time_to_target", 1 + (double)k, 0.9, 4);
        set_against(d, 1, "time_to_target", 0.5, 0.4, 0.6, second[i]);
        set_against(d, 2, "time_to_target", 0.3, 0.2, 0.4, "not comparable");
        json_t *against = json_object_get(json_array_get(json_object_get(d, "cells"), 2), "against");
        json_object_set_new(
            json_object_get(against, "time_to_target"), "reason", json_string("1 pair of runs"));
        mot_study_judge(d);
        char *answer = mot_answer_text(d, 0);
        CHECK_HAS(answer, "a has the best median: it reaches");
        if (i < 2) CHECK(!strstr(answer, "not compared"));
        else CHECK_HAS(answer, "; not compared with the others: 1 pair of runs.");
        free(answer);
        json_decref(d);
    }
}

/* Three arms by hand: the accuracy they end with; the last two are worse than the first. */
static char *three_by_accuracy(double first, double second, double third)
{
    json_t *d = document_of((const char *const[]){ "a", "b", "c" }, 3);
    const double accuracy[] = { first, second, third };
    json_object_set_new(d, "target", json_null());
    for (size_t i = 0; i < 3; i++)
        set_figure(d, i, "test_accuracy", accuracy[i], accuracy[i] - 0.01, accuracy[i] + 0.01);
    for (size_t i = 1; i < 3; i++) set_against(d, i, "test_accuracy", accuracy[i] / first, 0.9, 1, "worse");
    mot_study_judge(d);
    char *answer = mot_answer_text(d, 0);
    json_decref(d);
    return answer;
}

TEST(by_accuracy_the_next_behind_is_the_one_with_the_most)
{
    char *answer = three_by_accuracy(0.9, 0.8, 0.7);
    CHECK_HAS(answer, "a wins: it ends with a test accuracy of 90");
    CHECK_HAS(answer, "the next clearly behind, b, has 80");
    free(answer);
    answer = three_by_accuracy(0.9, 0.7, 0.8);
    CHECK_HAS(answer, "the next clearly behind, c, has 80");
    free(answer);
}

/* One pair has a ratio, and no interval that a reader could take for a spread. */
TEST(a_ratio_of_a_single_pair_has_no_interval)
{
    for (int n = 1; n <= 2; n++) {
        json_t *d = document_of((const char *const[]){ "a", "b" }, 2);
        set_figure(d, 0, "time_to_target", 1, 0.9, 1.1);
        set_figure(d, 1, "time_to_target", 2, 1.9, 2.1);
        set_against(d, 1, "time_to_target", 0.5, 0.4, 0.8, "slower");
        json_t *against = json_object_get(json_array_get(json_object_get(d, "cells"), 1), "against");
        json_object_set_new(json_object_get(against, "time_to_target"), "n", json_integer(n));
        mot_study_judge(d);
        char *answer = mot_answer_text(d, 0);
        CHECK_HAS(answer, n == 1 ? "takes 2.00 times as long." : "takes 2.00 times (1.25 to 2.50) as long.");
        free(answer);
        json_decref(d);
    }
}

TEST(of_three_arms_one_wins_only_if_no_other_is_close)
{
    char *answer = three(3, 1, 2, "faster", "faster");
    CHECK_HAS(answer, "b wins: it reaches");
    CHECK(!strstr(answer, "Close to it"));
    free(answer);
    answer = three(3, 1, 1.15, "faster", "faster");
    CHECK_HAS(answer, "b has the best median: it reaches");
    CHECK_HAS(answer, "Close to it, with intervals that overlap its own: c.");
    free(answer);
}

TEST_MAIN()
