/* The library's front: open, simulate, look, close; and what it refuses. */
#include <motley/motley.h>
#include "test.h"

TEST(a_run_is_opened_simulated_and_looked_at)
{
    const char *set[] = { "model=softmax", "workers=3", "stop.updates=30" };
    struct mot_run_options o = { .size = sizeof(o), .set = set, .sets = 3 };
    struct mot_run *run = NULL;
    size_t n;
    CHECK_INT(mot_run_open(&o, &run), MOT_OK);
    CHECK_TEXT(mot_run_summary(run), "");
    CHECK(isnan(mot_run_number(run, "updates")));
    CHECK_INT(mot_run_simulate(run), MOT_OK);
    CHECK_INT(mot_run_number(run, "updates"), 30);
    CHECK(mot_run_number(run, "time_s") > 0.9);
    CHECK(isnan(mot_run_number(run, "no_such_key")));
    CHECK_HAS(mot_run_summary(run), "\"method\": \"allreduce\"");
    CHECK(mot_run_model(run, &n) != NULL);
    CHECK_INT(n, 650); /* 64 pixels and a bias, for 10 classes */
    CHECK_INT(mot_run_simulate(run), MOT_EUSAGE);
    mot_run_close(run);
    mot_run_close(NULL);
}

TEST(a_size_that_fits_no_version_is_refused)
{
    struct mot_run_options o = { .size = 8 };
    struct mot_run *run = NULL;
    CHECK_INT(mot_run_open(&o, &run), MOT_EUSAGE);
    o.size = sizeof(o) + 8;
    CHECK_INT(mot_run_open(&o, &run), MOT_EUSAGE);
    CHECK(run == NULL);
}

TEST(wrong_settings_are_named)
{
    const char *set[] = { "modle=softmax" };
    struct mot_run_options o = { .size = sizeof(o), .set = set, .sets = 1 };
    struct mot_run *run = NULL;
    CHECK_INT(mot_run_open(&o, &run), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "modle");
    CHECK_HAS(mot_error(), "model");
    set[0] = "model";
    CHECK_INT(mot_run_open(&o, &run), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "key=value");
}

TEST(a_run_that_diverges_says_so_by_its_status)
{
    const char *set[] = { "data=synthetic", "data.kind=regression", "model=least-squares",
        "optimizer.lr=1000", "stop.updates=500" };
    struct mot_run_options o = { .size = sizeof(o), .set = set, .sets = 5 };
    struct mot_run *run = NULL;
    CHECK_INT(mot_run_open(&o, &run), MOT_OK);
    CHECK_INT(mot_run_simulate(run), MOT_EDIVERGED);
    mot_run_close(run);
}

TEST_MAIN()
