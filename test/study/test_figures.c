/* What a study takes from a run's summary, and what it says without one. */
#include "study/figures.h"
#include "page/pages.h"

static struct mot_run_figures f;

/* The figures of a folder whose summary is this text; NULL: it has none. */
static enum mot_status read_from(const char *summary)
{
    char *folder = place("run"), *path = mot_path_join(folder, "summary.json");
    mot_make_folder(folder);
    unlink(path);
    if (summary && mot_file_replace(path, summary, strlen(summary)) != MOT_OK) abort();
    enum mot_status status = mot_figures_read(folder, NULL, &f);
    free(path);
    free(folder);
    return status;
}

TEST(every_figure_of_a_summary_is_the_one_of_its_name)
{
    CHECK_INT(
        read_from("{\"status\": \"ok\", \"ended_by\": \"target\", \"learned\": true, \"time_s\": 1.5, "
                  "\"updates\": 20, \"bytes_sent\": 300, \"train_loss\": 0.4, \"test_loss\": 0.5, "
                  "\"test_accuracy\": 0.6, \"grad_norm\": 0.7, \"staleness\": {\"mean\": 8, \"max\": 9}, "
                  "\"target\": {\"kind\": \"test_loss\", \"value\": 0.55, \"reached\": true, "
                  "\"time_s\": 1.25, \"updates\": 18}, \"worker\": []}"),
        MOT_OK);
    static const struct {
        enum mot_figure figure;
        const char *name;
        double value;
    } wanted[] = {
        { MOT_FIGURE_TIME, "time", 1.5 },
        { MOT_FIGURE_UPDATES, "updates", 20 },
        { MOT_FIGURE_BYTES, "bytes", 300 },
        { MOT_FIGURE_TRAIN_LOSS, "train_loss", 0.4 },
        { MOT_FIGURE_TEST_LOSS, "test_loss", 0.5 },
        { MOT_FIGURE_TEST_ACCURACY, "test_accuracy", 0.6 },
        { MOT_FIGURE_GRAD_NORM, "grad_norm", 0.7 },
        { MOT_FIGURE_STALENESS_MEAN, "staleness_mean", 8 },
        { MOT_FIGURE_STALENESS_MAX, "staleness_max", 9 },
        { MOT_FIGURE_TIME_TO_TARGET, "time_to_target", 1.25 },
        { MOT_FIGURE_UPDATES_TO_TARGET, "updates_to_target", 18 },
        { MOT_FIGURE_BYTES_TO_TARGET, "bytes_to_target", 300 },
    };
    for (size_t i = 0; i < MOT_COUNT(wanted); i++) {
        CHECK(f.value[wanted[i].figure] == wanted[i].value);
        CHECK_TEXT(mot_figure_kinds[wanted[i].figure].name, wanted[i].name);
    }
    CHECK(f.known && f.has_target && f.reached && f.target_value == 0.55);
    CHECK_TEXT(f.target, "test_loss");
    CHECK_TEXT(f.status, "ok");
    CHECK_TEXT(f.ended_by, "target");
    CHECK_INT(f.learned, MOT_LEARNED);
    CHECK(isnan(f.value[MOT_FIGURE_UTILISATION]) && isnan(f.value[MOT_FIGURE_WORST_WAIT]));
}

TEST(what_a_summary_leaves_out_is_unknown_and_not_zero)
{
    CHECK_INT(read_from("{\"train_loss\": null, \"test_loss\": \"low\", \"learned\": false, "
                        "\"target\": {\"kind\": \"test_accuracy\", \"value\": 0.8, \"reached\": false, "
                        "\"time_s\": 1, \"updates\": 2}}"),
        MOT_OK);
    for (size_t i = 0; i < MOT_FIGURES; i++) CHECK(isnan(f.value[i]));
    CHECK(f.has_target && !f.reached);
    CHECK_TEXT(f.status, "");
    CHECK_INT(f.learned, MOT_LEARNED_NOTHING);
    CHECK_INT(read_from("{\"target\": null}"), MOT_OK);
    CHECK(!f.has_target);
    CHECK_INT(f.learned, MOT_LEARNED_UNKNOWN);
}

TEST(utilisation_is_of_all_workers_and_the_worst_wait_of_one)
{
    CHECK_INT(
        read_from("{\"worker\": ["
                  "{\"id\": 0, \"name\": \"a\", \"compute_s\": 6, \"wait_s\": 2, \"send_s\": 2}, "
                  "{\"id\": 1, \"name\": \"b\", \"compute_s\": 1, \"wait_s\": 3, \"send_s\": 1}, "
                  "{\"id\": 2, \"name\": \"lost\", \"compute_s\": null, \"wait_s\": 50, \"send_s\": 1}, "
                  "{\"id\": 3, \"name\": \"c\", \"compute_s\": 8, \"wait_s\": 12, \"send_s\": 0}]}"),
        MOT_OK);
    CHECK_NEAR(f.value[MOT_FIGURE_UTILISATION], 15.0 / 35, 1e-15);
    CHECK_NEAR(f.value[MOT_FIGURE_WORST_WAIT], 0.6, 1e-15);
    CHECK_INT((int)f.value[MOT_FIGURE_WORST_WORKER], 1);
    CHECK_TEXT(f.worst_name, "b");
    /* Who had no time at all has waited for none of it. */
    CHECK_INT(
        read_from("{\"worker\": [{\"id\": 0, \"compute_s\": 0, \"wait_s\": 0, \"send_s\": 0}]}"), MOT_OK);
    CHECK(f.value[MOT_FIGURE_WORST_WAIT] == 0 && isnan(f.value[MOT_FIGURE_UTILISATION]));
}

TEST(a_folder_without_a_summary_fails_otherwise_than_one_with_a_bad_one)
{
    CHECK_INT(mot_figures_read(NULL, NULL, &f), MOT_OK);
    CHECK(!f.known && isnan(f.value[MOT_FIGURE_TIME]));
    CHECK_INT(read_from(NULL), MOT_ESYSTEM);
    CHECK_HAS(mot_error(), "summary.json: expected the summary of a run; ");
    CHECK_INT(read_from("{"), MOT_EDATA);
    CHECK_INT(read_from("[1]"), MOT_EDATA);
    CHECK_HAS(mot_error(), "expected the summary of a run; found something else");
    CHECK(!f.known);
}

TEST(less_is_better_but_for_accuracy_and_utilisation)
{
    for (size_t i = 0; i < MOT_FIGURES; i++) {
        const struct mot_figure_kind *k = &mot_figure_kinds[i];
        bool time = i == MOT_FIGURE_TIME || i == MOT_FIGURE_TIME_TO_TARGET,
             more = i == MOT_FIGURE_TEST_ACCURACY || i == MOT_FIGURE_UTILISATION;
        CHECK((k->sense == MOT_SENSE_TIME) == time);
        CHECK((k->sense == MOT_SENSE_MORE) == more);
        CHECK(k->needs_target == (strstr(k->name, "_to_target") != NULL));
    }
}

TEST_MAIN()
