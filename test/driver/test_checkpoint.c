/* Stopping and going on: the end is the same as without the stop, and damage is refused. */
#include "base/file.h"
#include "run.h"
#include <stdlib.h>
#include <sys/stat.h>

static char folder[64];

static void fresh_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/motley-test-XXXXXX");
    if (!mkdtemp(folder)) abort();
}

static void remove_folder(void)
{
    static const char *const names[] = { "experiment.yaml", "metrics.jsonl", "summary.json", "model.safetensors", "best.safetensors",
        "checkpoint.bin", "trace.json" };
    for (size_t i = 0; i < MOT_COUNT(names); i++) {
        char *path = mot_path_join(folder, names[i]);
        unlink(path);
        free(path);
    }
    rmdir(folder);
}

static char *read_name(const char *name, size_t *n)
{
    unsigned char *bytes;
    char *path = mot_path_join(folder, name);
    enum mot_status status = mot_file_read(path, 1u << 30, &bytes, n);
    free(path);
    return status == MOT_OK ? (char *)bytes : NULL;
}

/* Everything that has state: momentum, jitter, Markov straggling, several evaluations. */
#define RICH "data", "digits", "data.valid", "0.1", "model", "mlp", "model.hidden", "[16]", "optimizer.momentum", "0.9", "optimizer.lr", "0.02", \
    "evaluate.every", "5 updates", "cluster", \
    "{workers: [{count: 3, jitter: {name: lognormal, sigma: 0.3}}, {count: 2, speed: 300 samples/s, straggle: {name: markov, factor: 5}}]}"

static void simulate(struct run *r, const char *method, const char *updates, bool resume)
{
    *r = (struct run){ .ways = { .resume = resume, .replace = true } };
    RUN_SET(r, RICH, "method", method, "stop.updates", updates, "output", folder);
    run_go(r);
}

static void goes_on(const char *method)
{
    struct run r;
    size_t whole_bytes, bytes;
    fresh_folder();
    simulate(&r, method, "60", false);
    CHECK_INT(r.status, MOT_OK);
    uint64_t whole = r.out.model_hash, events = r.out.last.events;
    mot_time now = r.out.last.now;
    run_free(&r);
    char *whole_metrics = read_name("metrics.jsonl", &whole_bytes);

    simulate(&r, method, "23", false);
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.out.model_hash != whole);
    run_free(&r);
    simulate(&r, method, "60", true);
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.out.model_hash == whole);
    CHECK_INT(r.out.last.events, events);
    CHECK_INT(r.out.last.now, now);
    run_free(&r);
    char *metrics = read_name("metrics.jsonl", &bytes);
    CHECK(metrics && whole_metrics);
    CHECK_INT(bytes, whole_bytes);
    CHECK(memcmp(metrics, whole_metrics, bytes) == 0);
    free(metrics);
    free(whole_metrics);
    remove_folder();
}

TEST(allreduce_goes_on_to_the_same_end) { goes_on("allreduce"); }
TEST(server_goes_on_to_the_same_end) { goes_on("server"); }
TEST(async_goes_on_to_the_same_end) { goes_on("async"); }

TEST(a_run_that_is_done_can_be_resumed_and_is_the_same)
{
    struct run r;
    fresh_folder();
    simulate(&r, "async", "30", false);
    uint64_t hash = r.out.model_hash;
    run_free(&r);
    simulate(&r, "async", "30", true);
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.out.model_hash == hash);
    CHECK_INT(r.out.last.updates, 30);
    run_free(&r);
    remove_folder();
}

TEST(an_interrupted_run_keeps_a_checkpoint)
{
    struct run r = { .ways = { .replace = true } };
    volatile sig_atomic_t now = 1;
    fresh_folder();
    r.ways.interrupt = &now;
    RUN_SET(&r, RICH, "method", "server", "stop.updates", "60", "output", folder);
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.status, MOT_EINTERRUPTED);
    CHECK_INT(r.out.last.updates, 0);
    run_free(&r);
    simulate(&r, "server", "60", true);
    uint64_t resumed = r.out.model_hash;
    run_free(&r);
    simulate(&r, "server", "60", false);
    CHECK(r.out.model_hash == resumed);
    run_free(&r);
    remove_folder();
}

TEST(the_best_model_by_validation_is_kept)
{
    struct run r;
    fresh_folder();
    simulate(&r, "allreduce", "60", false);
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.out.best != NULL);
    CHECK(r.out.best_score.valid_accuracy >= r.out.last.score.valid_accuracy);
    size_t n;
    char *best = read_name("best.safetensors", &n);
    CHECK(best != NULL);
    free(best);
    run_free(&r);
    remove_folder();
}

/* ---- Damage ---------------------------------------------------------------------------------- */

static enum mot_status resume_status(const char *method, const char *seed)
{
    struct run r = { .ways = { .resume = true } };
    RUN_SET(&r, RICH, "method", method, "stop.updates", "60", "output", folder, "seed", seed);
    run_go(&r);
    enum mot_status status = r.status;
    run_free(&r);
    return status;
}

TEST(a_damaged_checkpoint_is_refused_wherever_the_damage_is)
{
    struct run r;
    size_t n;
    fresh_folder();
    simulate(&r, "async", "20", false);
    run_free(&r);
    char *path = mot_path_join(folder, "checkpoint.bin"), *bytes = read_name("checkpoint.bin", &n);
    CHECK(bytes != NULL);
    size_t places[] = { 0, 9, 60, n / 3, n / 2, n - 9, n - 1 };
    for (size_t i = 0; i < MOT_COUNT(places); i++) {
        bytes[places[i]] ^= 0x40;
        CHECK_INT(mot_file_replace(path, bytes, n), MOT_OK);
        CHECK_INT(resume_status("async", "1"), MOT_EDATA);
        bytes[places[i]] ^= 0x40;
    }
    for (size_t cut = 0; cut < n; cut += n / 5 + 1) {
        CHECK_INT(mot_file_replace(path, bytes, cut), MOT_OK);
        CHECK_INT(resume_status("async", "1"), MOT_EDATA);
    }
    CHECK_INT(mot_file_replace(path, bytes, n), MOT_OK);
    CHECK_INT(resume_status("async", "1"), MOT_OK);
    free(bytes);
    free(path);
    remove_folder();
}

TEST(a_checkpoint_of_another_experiment_is_refused)
{
    struct run r;
    fresh_folder();
    simulate(&r, "async", "20", false);
    run_free(&r);
    CHECK_INT(resume_status("async", "2"), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "another experiment");
    CHECK_INT(resume_status("server", "1"), MOT_EUSAGE);
    remove_folder();
}

TEST(a_folder_with_a_run_is_not_written_over)
{
    struct run r;
    fresh_folder();
    simulate(&r, "async", "20", false);
    run_free(&r);
    r = (struct run){ 0 };
    RUN_SET(&r, RICH, "method", "async", "stop.updates", "20", "output", folder);
    run_go(&r);
    CHECK_INT(r.status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), "--resume");
    run_free(&r);
    remove_folder();
}

TEST_MAIN()
