/* Notes: their tallies, the histogram of staleness, and merging those of several nodes. */
#include "run/outcome.h"
#include "run/run.h"
#include <math.h>

TEST(every_staleness_falls_into_the_one_bin_whose_bounds_hold_it)
{
    static const uint64_t values[] = { 0, 1, 2, 63, 127, 128, 129, 255, 256, 511, 512, 1u << 20,
        (1u << 21) - 1, UINT64_C(1) << 62 };
    for (size_t i = 0; i < MOT_COUNT(values); i++) {
        struct mot_notes n = { 0 };
        mot_notes_add(&n, "staleness", (double)values[i]);
        uint32_t bins = 0;
        for (uint32_t b = 0; b < MOT_HISTOGRAM_BINS; b++) {
            uint64_t first, last;
            if (n.staleness.count[b] == 0) continue;
            mot_histogram_bounds(b, &first, &last);
            CHECK(first <= values[i] && values[i] <= last);
            CHECK(values[i] >= MOT_HISTOGRAM_EXACT || first == last);
            bins += (uint32_t)n.staleness.count[b];
        }
        CHECK_INT(bins, 1);
    }
}

TEST(bins_follow_each_other_without_gaps_to_the_largest_number)
{
    uint64_t next = 0, first, last = 0;
    for (uint32_t b = 0; b < MOT_HISTOGRAM_BINS; b++, next = last + 1) {
        mot_histogram_bounds(b, &first, &last);
        CHECK(first == next && last >= first);
    }
    CHECK(last == UINT64_MAX);
}

TEST(values_that_no_staleness_has_are_counted_at_the_ends)
{
    struct mot_notes n = { 0 };
    mot_notes_add(&n, "staleness", -3);
    mot_notes_add(&n, "staleness", NAN);
    mot_notes_add(&n, "staleness", INFINITY);
    CHECK_INT(n.staleness.count[0], 2);
    CHECK_INT(n.staleness.count[MOT_HISTOGRAM_BINS - 1], 1);
}

TEST(only_staleness_feeds_the_histogram)
{
    struct mot_notes n = { 0 };
    mot_notes_add(&n, "late", 3);
    CHECK_INT(n.staleness.count[3], 0);
    mot_notes_add(&n, "staleness", 3);
    mot_notes_add(&n, "late", 3);
    CHECK_INT(n.staleness.count[3], 1);
    CHECK_INT(mot_notes_staleness(&n)->count, 1);
}

TEST(notes_of_several_nodes_add_up_by_their_names)
{
    struct mot_notes a = { 0 }, b = { 0 }, both = { 0 };
    mot_notes_add(&a, "staleness", 4);
    mot_notes_add(&a, "late", 1);
    mot_notes_add(&b, "lost", -2);
    mot_notes_add(&b, "staleness", 9);
    mot_notes_merge(&both, &a);
    mot_notes_merge(&both, &b);
    CHECK_INT(both.n, 3);
    CHECK_INT(mot_notes_staleness(&both)->count, 2);
    CHECK_NEAR(mot_notes_staleness(&both)->sum, 13, 0);
    CHECK_NEAR(mot_notes_staleness(&both)->max, 9, 0);
    CHECK_NEAR(mot_notes_of(&both, "lost")->max, -2, 0);
    CHECK_INT(both.staleness.count[4], 1);
    CHECK_INT(both.staleness.count[9], 1);
}

/* Ten workers of equal speed, each with one job: apart from the
 * beginning every gradient is nine updates old. */
TEST(a_target_is_met_by_just_its_value_and_by_what_is_better)
{
    static const struct {
        enum mot_target_kind kind;
        double better;
    } targets[] = { { MOT_TARGET_TRAIN_LOSS, 0.4 }, { MOT_TARGET_TEST_ACCURACY, 0.6 },
        { MOT_TARGET_GRAD_NORM, 0.4 } };
    for (size_t i = 0; i < MOT_COUNT(targets); i++)
        for (int k = 0; k < 4; k++) {
            double value[] = { targets[i].better, 0.5, 1 - targets[i].better, NAN };
            struct mot_experiment x = { .stop = { .target = targets[i].kind, .value = 0.5 } };
            struct mot_score s = { .train_loss = value[k], .test_accuracy = value[k], .grad_norm = value[k] };
            CHECK(mot_target_met(&x, &s) == (k < 2));
            x.stop.target = MOT_TARGET_NONE;
            CHECK(!mot_target_met(&x, &s));
        }
}

TEST(ten_equal_workers_give_a_staleness_of_nine_and_the_histogram_says_so)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits", "model", "softmax", "workers", "10", "method", "async", "stop.updates",
        "500", "evaluate.every", "500 updates");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.staleness.count[9], 491);
    for (int v = 0; v < 9; v++) CHECK_INT(r.out.staleness.count[v], 1);
    run_free(&r);
}

TEST_MAIN()
