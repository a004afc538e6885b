/* test_partition_sim.c -- partitions in a run: their effect on the clock, and that a partition folder
 * repeats the run that made it. */
#include "../run/run.h"
#include "partition/folder.h"

#include <unistd.h>

#define UNEQUAL                                                                                              \
    "{workers: [{count: 1, speed: 200/s}, {count: 4, speed: 100/s}, {count: 1, speed: 200/s}, {count: 2, "   \
    "speed: 100/s}], network: none}"

/* Every worker computes the gradient of all its rows, once: the step lasts as long as the slowest. */
static double barrier_s(const char *partition)
{
    struct run r = { .settings = 0 };
    RUN_SET(&r, "data", "synthetic", "data.size", "5000", "data.test", "0", "model", "softmax", "method",
        "allreduce", "batch", "full", "cluster", UNEQUAL, "partition", partition, "stop.updates", "1",
        "evaluate.train", "end");
    run_go(&r);
    double seconds = r.status == MOT_OK ? (double)r.out.last.now * 1e-9 : NAN;
    run_free(&r);
    return seconds;
}

/* 5000 rows at 100 a second for a speed of 1: n/N = 625 rows and n/(sum of speeds) = 500 rows. */
TEST(shares_by_speed_cut_the_barrier_from_n_over_workers_to_n_over_speeds)
{
    CHECK_NEAR(barrier_s("equal"), 6.25, 1e-9);
    CHECK_NEAR(barrier_s("stratified"), 6.25, 1e-9);
    CHECK_NEAR(barrier_s("proportional"), 5.00, 0.011); /* to within a row */
    CHECK_NEAR(barrier_s("submodular"), 5.00, 0.011);
}

#define SMALL                                                                                                \
    "data", "digits", "model", "softmax", "cluster", UNEQUAL, "stop.updates", "20", "method", "allreduce"

TEST(a_folder_gives_the_run_of_the_partition_that_it_was_written_from)
{
    char folder[] = "/tmp/motley-from-XXXXXX";
    CHECK(mkdtemp(folder));
    struct run a = { .settings = 0 }, b = { .settings = 0 };
    RUN_SET(&a, SMALL, "partition", "submodular");
    run_go(&a);
    CHECK_INT(a.status, MOT_OK);
    struct mot_split split = { .table = &a.job.data->train,
        .parts = 8,
        .file_rows = a.job.data->file_rows,
        .file_row = a.job.data->file_row };
    json_t *facts = mot_partition_facts(&split, &a.job.parts);
    char *text = json_dumps(facts, 0);
    CHECK_INT(mot_partition_write(folder, false, &split, &a.job.parts, text, NULL), MOT_OK);
    free(text);
    json_decref(facts);
    RUN_SET(&b, SMALL, "partition.from", folder);
    run_go(&b);
    CHECK_INT(b.status, MOT_OK);
    CHECK_TEXT(b.experiment->partitioner->name, "from");
    CHECK(a.out.model_hash == b.out.model_hash);
    run_free(&a);
    run_free(&b);
    for (int j = -1; j < 8; j++) {
        char path[80];
        snprintf(path, sizeof path, j < 0 ? "%s/partition.json" : "%s/worker-%d.npy", folder, j);
        remove(path);
    }
    rmdir(folder);
}

TEST(a_cluster_whose_jobs_take_no_time_counts_as_alike)
{
    struct run r = { .settings = 0 };
    RUN_SET(&r, "data", "digits", "model", "softmax", "cluster",
        "{workers: [{count: 4, job_time: 0s}], network: none}", "partition", "proportional", "stop.updates",
        "1");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.job.parts.at[1] <= 360 && r.job.parts.at[1] >= 359);
    run_free(&r);
}

TEST_MAIN()
