/* A run and its folder, through the library: how long a schedule lasts, what is written, what is kept from
 * an earlier run, and what is refused. */
#include <motley/motley.h>
#include "api/job.h"
#include "base/file.h"
#include "base/memory.h"
#include "study/store.h"
#include "test.h"
#include <unistd.h>

#define FLOATS 21 /* 20 columns and a bias */
#define SMALL                                                                                                \
    "data=synthetic", "data.kind=regression", "data.size=400", "data.test=0", "data.cols=20",                \
        "model=least-squares", "workers=4", "optimizer.lr=0.01"

/* Simulates with the settings, that end with NULL; leaves the model. */
static enum mot_status simulated(struct mot_run_options o, const char *const *set, float *model)
{
    struct mot_run *run = NULL;
    size_t n = 0;
    o.size = sizeof o;
    o.set = set;
    while (set[o.sets]) o.sets++;
    enum mot_status status = mot_run_open(&o, &run);
    if (status != MOT_OK) return status;
    status = mot_run_simulate(run);
    const float *x = status == MOT_OK ? mot_run_model(run, &n) : NULL;
    if (x && model) memcpy(model, x, (n < FLOATS ? n : FLOATS) * sizeof *x);
    mot_run_close(run);
    return status;
}
#define WAYS(...)                                                                                            \
    (struct mot_run_options) { __VA_ARGS__ }
#define PLAIN WAYS(0)
#define RUN(model, ways, ...) simulated(ways, (const char *const[]){ SMALL, __VA_ARGS__, NULL }, model)

/* ---- Schedules --------------------------------------------------------------------------------------- */

#define COSINE "stop.epochs=7", "optimizer.schedule=cosine"

TEST(a_schedule_without_a_length_lasts_as_many_updates_as_the_epochs_make)
{
    static const struct {
        const char *method, *batch, *right, *wrong;
    } wanted[] = {
        /* 400 rows, 7 times: 2800 samples; 4 workers' batches an update, or one of an asynchronous method */
        { "method=allreduce", "batch=30", "24", "23" },
        { "method=allreduce", "batch=full", "7", "8" },
        { "method=async", "batch=30", "94", "24" },
        { "method=async", "batch=full", "28", "7" },
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        float itself[FLOATS], same[FLOATS], other[FLOATS];
        char right[64], wrong[64];
        snprintf(right, sizeof right, "optimizer.schedule.total=%s", wanted[i].right);
        snprintf(wrong, sizeof wrong, "optimizer.schedule.total=%s", wanted[i].wrong);
        CHECK_INT(RUN(itself, PLAIN, COSINE, wanted[i].method, wanted[i].batch), MOT_OK);
        CHECK_INT(RUN(same, PLAIN, COSINE, wanted[i].method, wanted[i].batch, right), MOT_OK);
        CHECK_INT(RUN(other, PLAIN, COSINE, wanted[i].method, wanted[i].batch, wrong), MOT_OK);
        if (memcmp(itself, same, sizeof same) != 0)
            FAIL("%s, %s: not %s", wanted[i].method, wanted[i].batch, right);
        CHECK(memcmp(itself, other, sizeof other) != 0);
    }
}

TEST(a_schedule_of_a_run_by_updates_lasts_as_many)
{
    float itself[FLOATS], same[FLOATS];
    CHECK_INT(RUN(itself, PLAIN, "optimizer.schedule=cosine", "stop.updates=20"), MOT_OK);
    CHECK_INT(RUN(same, PLAIN, "optimizer.schedule=cosine", "stop.updates=20", "optimizer.schedule.total=20"),
        MOT_OK);
    CHECK(memcmp(itself, same, sizeof same) == 0);
}

/* ---- The folder -------------------------------------------------------------------------------------- */

/* ---- Speeds --------------------------------------------------------------------------------------- */

static double *speeds_in(const char *cluster)
{
    const struct mot_setting set[] = { { "cluster", cluster, "test" }, { "batch", "10", "test" } };
    struct mot_experiment *x = NULL;
    if (mot_experiment_open(NULL, set, MOT_COUNT(set), &x) != MOT_OK) {
        printf("  %s\n", mot_error());
        return mot_new(2, sizeof(double));
    }
    double *speed = mot_speeds_of(x);
    mot_experiment_close(x);
    return speed;
}

TEST(workers_share_by_samples_a_second_and_alike_where_jobs_take_no_time)
{
    double *speed = speeds_in("{workers: [{speed: 100 samples/s}, {speed: 300 samples/s}]}");
    CHECK_NEAR(speed[0], 100, 1e-6);
    CHECK_NEAR(speed[1], 300, 1e-6);
    free(speed);
    speed = speeds_in("{workers: [{job_time: 1s}, {job_time: 4s}]}");
    CHECK_NEAR(speed[0], 10, 1e-6);
    CHECK_NEAR(speed[1], 2.5, 1e-6);
    free(speed);
    speed = speeds_in("{workers: [{count: 2, job_time: 0s}]}");
    CHECK(speed[0] == 1 && speed[1] == 1);
    free(speed);
}

static char here[64], output[80];
static void begin(void)
{
    snprintf(here, sizeof here, "/tmp/motley-folder-XXXXXX");
    if (!mkdtemp(here)) abort();
    snprintf(output, sizeof output, "output=%s/run", here);
}
static char *path_of(const char *name)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/run/%s", here, name);
    return path;
}
static bool there(const char *name) { return mot_file_exists(path_of(name)); }
static char *contents(const char *name)
{
    unsigned char *bytes = NULL;
    size_t n = 0;
    if (mot_file_read(path_of(name), 1 << 20, &bytes, &n) != MOT_OK) return mot_text("");
    char *text = mot_format("%.*s", (int)n, (char *)bytes);
    free(bytes);
    return text;
}
static void end(void) { mot_remove_tree(here); }

TEST(what_a_run_over_an_older_one_does_not_write_does_not_stay)
{
    static const char *const always[] = { "experiment.yaml", "metrics.jsonl", "summary.json",
        "model.safetensors", "checkpoint.bin", "timeline.json" };
    begin();
    CHECK_INT(RUN(NULL, PLAIN, output, "stop.updates=20", "trace=true", "data.valid=0.2"), MOT_OK);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (!there(always[i])) FAIL("there is no %s", always[i]);
    CHECK(there("trace.json") && there("best.safetensors"));
    CHECK_INT(RUN(NULL, WAYS(.replace = 1), output, "stop.updates=10"), MOT_OK);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (!there(always[i])) FAIL("there is no %s", always[i]);
    CHECK(!there("trace.json") && !there("best.safetensors"));
    end();
}

TEST(what_no_run_writes_stays_when_a_run_is_replaced)
{
    static const char *const mine[] = { "record..bin", "record.0a.bin", "record.1.txt", "notes.md",
        "notes.md.7-1.tmp", "summary.json.tmp", "summary.json.x-1.tmp", ".tmp" },
                             *const its[] = { "record.0.bin", "record.12.bin", "summary.json.7-1.tmp" };
    begin();
    CHECK_INT(RUN(NULL, PLAIN, output, "stop.updates=5"), MOT_OK);
    for (size_t i = 0; i < MOT_COUNT(mine); i++)
        CHECK_INT(mot_file_replace(path_of(mine[i]), "x", 1), MOT_OK);
    for (size_t i = 0; i < MOT_COUNT(its); i++) CHECK_INT(mot_file_replace(path_of(its[i]), "x", 1), MOT_OK);
    CHECK_INT(RUN(NULL, WAYS(.replace = 1), output, "stop.updates=5"), MOT_OK);
    for (size_t i = 0; i < MOT_COUNT(mine); i++) CHECK(there(mine[i]));
    for (size_t i = 0; i < MOT_COUNT(its); i++) CHECK(!there(its[i]));
    end();
}

static int times_in(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) n++;
    return n;
}

/* Two workers with two jobs each, which come by messages and end with others. */
TEST(a_trace_has_every_job_message_and_update_of_the_run)
{
    begin();
    CHECK_INT(RUN(NULL, PLAIN, output, "method=async", "workers=2", "stop.updates=3", "trace=true"), MOT_OK);
    char *trace = contents("trace.json"), *timeline = contents("timeline.json");
    CHECK_INT(times_in(trace, "\"name\":\"compute\""), 4);
    CHECK_INT(times_in(trace, "\"ph\":\"s\""), 9);
    CHECK_INT(times_in(trace, "\"ph\":\"f\""), 9);
    CHECK_INT(times_in(trace, "\"name\":\"update "), 3);
    CHECK_INT(times_in(trace, "\"name\":\"update 3\""), 1);
    CHECK_INT(times_in(timeline, "\"compute\": [["), 2);
    CHECK_INT(times_in(timeline, "\"send\": [["), 3);
    CHECK_INT(times_in(timeline, "\"receive\": [["), 3);
    free(timeline);
    free(trace);
    end();
}

TEST(a_run_that_is_there_stays_as_it_is_unless_it_is_to_be_replaced)
{
    begin();
    CHECK_INT(RUN(NULL, PLAIN, output, "stop.updates=5"), MOT_OK);
    char *before = contents("summary.json");
    CHECK_INT(RUN(NULL, PLAIN, output, "stop.updates=6"), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "there is a run in this folder");
    char *after = contents("summary.json");
    CHECK_TEXT(after, before);
    free(after);
    CHECK_INT(RUN(NULL, WAYS(.replace = 1), output, "stop.updates=6"), MOT_OK);
    after = contents("summary.json");
    CHECK(strcmp(after, before) != 0);
    free(after);
    free(before);
    end();
}

TEST(there_must_be_something_to_resume)
{
    begin();
    CHECK_INT(RUN(NULL, WAYS(.resume = 1), "stop.updates=5"), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "--resume needs");
    CHECK_INT(RUN(NULL, WAYS(.resume = 1), output, "stop.updates=5"), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "no checkpoint to resume from");
    end();
}

TEST(an_interrupted_run_goes_on_to_the_model_of_one_that_was_not)
{
    begin();
    volatile sig_atomic_t stop = 1;
    float whole[FLOATS], resumed[FLOATS];
    CHECK_INT(RUN(whole, PLAIN, "stop.updates=40"), MOT_OK);
    CHECK_INT(RUN(NULL, WAYS(.interrupt = &stop), output, "stop.updates=40"), MOT_EINTERRUPTED);
    CHECK_INT(RUN(resumed, WAYS(.resume = 1), output, "stop.updates=40"), MOT_OK);
    CHECK(memcmp(whole, resumed, sizeof whole) == 0);
    /* what is not this experiment's checkpoint is not taken for it */
    CHECK_INT(RUN(NULL, WAYS(.interrupt = &stop, .replace = 1), output, "stop.updates=40"), MOT_EINTERRUPTED);
    CHECK(RUN(NULL, WAYS(.resume = 1), output, "stop.updates=40", "seed=9") != MOT_OK);
    CHECK(RUN(NULL, WAYS(.resume = 1), output, "stop.updates=40", "data.noise=0.7") != MOT_OK);
    end();
}

TEST(the_settings_come_after_the_file_and_the_last_one_counts)
{
    begin();
    char path[100];
    const char *text = "data: {name: synthetic, kind: regression, size: 400, cols: 20}\n"
                       "model: least-squares\nstop: {updates: 3}\n";
    snprintf(path, sizeof path, "%s/exp.yaml", here);
    CHECK_INT(mot_file_replace(path, text, strlen(text)), MOT_OK);
    const char *set[] = { "stop.updates=4", "stop.updates=5" };
    for (size_t sets = 0; sets <= 2; sets++) {
        struct mot_run_options o = { .size = sizeof o, .experiment = path, .set = set, .sets = sets };
        struct mot_run *run;
        CHECK_INT(mot_run_open(&o, &run), MOT_OK);
        CHECK_INT(mot_run_simulate(run), MOT_OK);
        CHECK_INT(mot_run_number(run, "updates"), 3 + sets);
        mot_run_close(run);
    }
    end();
}

/* ---- A run in several processes ---------------------------------------------------------------------- */

static uint32_t second(const struct mot_ranks *ranks)
{
    (void)ranks;
    return 1;
}

/* What the second rank comes to know when the first is gone. */
static enum mot_status without_the_first(const struct mot_driver_options *o, struct mot_outcome *out)
{
    enum mot_status status = mot_driver_sim.run(
        &(struct mot_driver_options){
            .experiment = o->experiment, .problem = o->problem, .optim = o->optim, .x0 = o->x0 },
        out);
    out->status = MOT_EPEER;
    out->ended_by = mot_status_name(MOT_EPEER);
    out->has_peer = true;
    return status;
}

TEST(the_second_rank_speaks_for_a_first_that_is_gone_and_had_not_spoken)
{
    const struct mot_driver driver = { .name = "second", .run = without_the_first, .rank = second };
    const struct mot_job_ways ways = { .driver = &driver };
    begin();
    char folder[100], summary[120];
    snprintf(folder, sizeof folder, "%s/second", here);
    snprintf(summary, sizeof summary, "%s/summary.json", folder);
    for (int spoken = 0; spoken < 2; spoken++) {
        struct mot_setting set[] = { { "data", "synthetic", "" }, { "data.size", "100", "" },
            { "stop.updates", "3", "" }, { "output", folder, "" } };
        struct mot_experiment *x;
        struct mot_job job;
        struct mot_outcome out;
        unsigned char *bytes;
        size_t n;
        CHECK_INT(mot_make_folder(folder), MOT_OK);
        FILE *file = spoken ? fopen(summary, "w") : NULL;
        if (file) fputs("the first's\n", file), fclose(file);
        CHECK_INT(mot_experiment_open(NULL, set, 4, &x), MOT_OK);
        CHECK_INT(mot_job_open(x, &job), MOT_OK);
        CHECK_INT(mot_job_run(&job, &ways, &out), MOT_OK);
        CHECK_INT(mot_file_read(summary, 1 << 20, &bytes, &n), MOT_OK);
        if (spoken) CHECK(n == 12 && memcmp(bytes, "the first's\n", 12) == 0);
        else CHECK(n > 100 && memmem(bytes, n, "peer_lost", 9));
        free(bytes);
        mot_outcome_close(&out);
        mot_job_close(&job);
        mot_experiment_close(x);
        unlink(summary);
    }
    end();
}

TEST_MAIN()
