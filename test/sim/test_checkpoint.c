/* Stopping and resuming: the end is as if the run had never stopped, and damage is refused. */
#include "base/file.h"
#include "run/run.h"
#include "scratch.h"
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <xxhash.h>

static char folder[64];

static void fresh_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/motley-test-XXXXXX");
    if (!mkdtemp(folder)) abort();
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
#define RICH                                                                                                 \
    "data", "digits", "data.valid", "0.1", "model", "mlp", "model.hidden", "[16]", "optimizer.momentum",     \
        "0.9", "optimizer.lr", "0.02", "evaluate.every", "5 updates", "cluster",                             \
        "{workers: [{count: 3, jitter: {name: lognormal, sigma: 0.3}}, {count: 2, speed: 300 samples/s, "    \
        "straggle: {name: markov, factor: 5}}]}"

static void simulate_until(struct run *r, const char *method, const char *stop, const char *value,
    bool resume, const char *const *more)
{
    *r = (struct run){ .ways = { .resume = resume, .replace = true } };
    RUN_SET(r, RICH, "method", method, stop, value, "output", folder);
    if (more) run_set_all(r, more);
    run_go(r);
}

static void simulate(struct run *r, const char *method, const char *updates, bool resume)
{
    simulate_until(r, method, "stop.updates", updates, resume, NULL);
}

/* A run to `whole`, and one to `part` that then goes on to `whole`: the same model, clock and metrics. */
static void goes_on_from(
    const char *method, const char *stop, const char *part, const char *whole, const char *const *more)
{
    struct run r;
    size_t whole_bytes, bytes;
    fresh_folder();
    simulate_until(&r, method, stop, whole, false, more);
    CHECK_INT(r.status, MOT_OK);
    uint64_t hash = r.out.model_hash, events = r.out.last.events;
    mot_time now = r.out.last.now;
    struct mot_histogram staleness = r.out.staleness;
    run_free(&r);
    char *whole_metrics = read_name("metrics.jsonl", &whole_bytes);

    simulate_until(&r, method, stop, part, false, more);
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.out.model_hash != hash);
    run_free(&r);
    simulate_until(&r, method, stop, whole, true, more);
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.out.model_hash == hash);
    CHECK_INT(r.out.last.events, events);
    CHECK_INT(r.out.last.now, now);
    CHECK(memcmp(&r.out.staleness, &staleness, sizeof(staleness)) == 0);
    run_free(&r);
    char *metrics = read_name("metrics.jsonl", &bytes);
    CHECK(metrics && whole_metrics);
    CHECK_INT(bytes, whole_bytes);
    CHECK(memcmp(metrics, whole_metrics, bytes) == 0);
    free(metrics);
    free(whole_metrics);
    scratch_remove(folder);
}

static void goes_on(const char *method) { goes_on_from(method, "stop.updates", "23", "60", NULL); }

TEST(allreduce_goes_on_to_the_same_end) { goes_on("allreduce"); }
TEST(server_goes_on_to_the_same_end) { goes_on("server"); }

/* At many moments: with some buckets of a gradient on their way, others still being computed. */
TEST(allreduce_in_buckets_goes_on_to_the_same_end)
{
    static const char *const with[] = { "method.bucket", "1B", "model.hidden", "[16, 12, 8]", NULL };
    goes_on_from("allreduce", "stop.updates", "23", "60", with);
    for (int i = 0; i < (SANITIZED ? 3 : 15); i++) {
        char part[24];
        snprintf(part, sizeof part, "%dus", 400000 + 7300 * i);
        goes_on_from("allreduce", "stop.time", part, "900ms", with);
    }
}
TEST(async_goes_on_to_the_same_end) { goes_on("async"); }

TEST(async_with_queues_kept_models_cancelled_jobs_and_shards_goes_on_to_the_same_end)
{
    static const char *const with[][9] = {
        { "method.assign", "shuffled", "method.step", "compensated", "method.wait", "2", NULL },
        { "method.step", "compensated", "method.lambda_decay", "0.95", "method.shards", "2", NULL },
        { "method.assign", "random", "method.jobs", "9", "method.max_staleness", "9", NULL },
        { "method.max_staleness", "3", "method.on_stale", "cancel", "method.step", "rescaled", NULL },
        { "method.assign", "once", "method.shards", "3", NULL },
    };
    for (size_t i = 0; i < MOT_COUNT(with); i++) goes_on_from("async", "stop.updates", "23", "60", with[i]);
}

TEST(rennala_goes_on_to_the_same_end) { goes_on("rennala"); }
TEST(malenia_goes_on_to_the_same_end) { goes_on("malenia"); }
TEST(ringmaster_goes_on_to_the_same_end)
{
    goes_on_from("ringmaster", "stop.updates", "23", "60", (const char *const[]){ "method.r", "3", NULL });
}
TEST(ringleader_goes_on_to_the_same_end) { goes_on("ringleader"); }
TEST(ia2sgd_goes_on_to_the_same_end) { goes_on("ia2sgd"); }
TEST(fedbuff_goes_on_to_the_same_end)
{
    goes_on_from("fedbuff", "stop.updates", "23", "60",
        (const char *const[]){ "method.steps", "3", "method.k", "4", "method.assign", "shuffled", NULL });
}
TEST(fedavg_goes_on_to_the_same_end)
{
    goes_on_from("fedavg", "stop.updates", "23", "60",
        (const char *const[]){ "method.clients", "2", "method.proximal", "0.1", NULL });
    goes_on_from("fedavg", "stop.updates", "23", "60",
        (const char *const[]){ "method.steps", "3", "method.deadline", "adaptive", NULL });
}
TEST(ca2fl_goes_on_to_the_same_end)
{
    goes_on_from("ca2fl", "stop.updates", "23", "60", (const char *const[]){ "method.steps", "2", NULL });
}
TEST(mindflayer_goes_on_to_the_same_end) { goes_on("mindflayer"); }
TEST(gasync_goes_on_to_the_same_end) { goes_on("gasync"); }

TEST(the_adaptive_deadline_goes_on_to_the_same_end)
{
    goes_on_from("server", "stop.updates", "23", "60",
        (const char *const[]){ "method.deadline", "adaptive", "method.spread", "1", NULL });
}

TEST(an_evaluation_that_was_due_as_the_run_ended_is_made_up_for)
{
    goes_on_from("async", "stop.updates", "25", "60", NULL);
    goes_on_from(
        "allreduce", "stop.epochs", "1", "2", (const char *const[]){ "evaluate.every", "0.5 epochs", NULL });
}

/* Stopped at every phase of a round: computing, in the collective, between two evaluations. */
TEST(a_run_that_ended_by_time_goes_on_to_the_same_end)
{
    static const char *const ends[] = { "700ms", "700001us", "730ms", "760ms", "790ms", "815ms" };
    for (size_t i = 0; i < MOT_COUNT(ends); i++) {
        goes_on_from(
            "allreduce", "stop.time", ends[i], "2s", (const char *const[]){ "evaluate.every", "10ms", NULL });
        goes_on_from(
            "async", "stop.time", ends[i], "2s", (const char *const[]){ "evaluate.every", "1ms", NULL });
    }
}

/* The jobs of the last round are done, which makes an epoch, but their sum is still on the wire. */
TEST(a_run_is_not_over_before_the_update_that_makes_the_epoch)
{
    struct run r;
    fresh_folder();
    simulate_until(&r, "allreduce", "stop.epochs", "1", false, NULL);
    CHECK_INT(r.status, MOT_OK);
    uint64_t hash = r.out.model_hash, updates = r.out.last.updates, samples = r.out.last.samples;
    run_free(&r);
    simulate_until(&r, "allreduce", "stop.time", "4275ms", false, NULL);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.last.samples, samples);
    CHECK_INT(r.out.last.updates, updates - 1);
    run_free(&r);
    simulate_until(&r, "allreduce", "stop.epochs", "1", true, NULL);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.last.updates, updates);
    CHECK(r.out.model_hash == hash);
    run_free(&r);
    scratch_remove(folder);
}

TEST(a_run_that_ran_out_of_data_can_be_resumed_and_is_the_same)
{
    static const char *const methods[] = { "allreduce", "server", "async", "rennala", "malenia", "ringmaster",
        "ringleader", "ia2sgd", "fedbuff", "ca2fl", "fedavg", "mindflayer", "gasync" };
    for (size_t i = 0; i < MOT_COUNT(methods); i++) {
        struct run r;
        fresh_folder();
        const char *const more[] = { "sampler.passes", "1", NULL };
        simulate_until(&r, methods[i], "stop.updates", "100000", false, more);
        CHECK_INT(r.status, MOT_OK);
        CHECK_TEXT(r.out.ended_by, "data");
        uint64_t hash = r.out.model_hash;
        run_free(&r);
        simulate_until(&r, methods[i], "stop.updates", "100000", true, more);
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.out.status, MOT_OK);
        CHECK_TEXT(r.out.ended_by, "data");
        CHECK(r.out.model_hash == hash);
        run_free(&r);
        scratch_remove(folder);
    }
}

static size_t lines_of(const char *name)
{
    size_t n, lines = 0;
    char *text = read_name(name, &n);
    for (size_t i = 0; text && i < n; i++) lines += text[i] == '\n';
    free(text);
    return lines;
}

/* The first ends in the middle of a round, by epochs that the wait for a stalled worker used up. */
TEST(a_run_that_ended_while_all_waited_goes_on_as_if_it_had_not)
{
    static const char *const methods[] = { "malenia", "ringleader" };
    static const char *const stalled[] = { "data.rows", "200", "data.valid", "0", "batch", "1",
        "optimizer.lr", "0.001", "evaluate.every", "1 epoch", "cluster",
        "{network: none, workers: [{count: 3, job_time: 1ms}], "
        "faults: [{kind: stall, at: 200ms, for: 20s, worker: 2}]}",
        NULL };
    for (size_t m = 0; m < MOT_COUNT(methods); m++)
        goes_on_from(methods[m], "stop.epochs", "20", "400", stalled);
    struct run r;
    fresh_folder();
    for (int resume = 0; resume < 2; resume++) {
        simulate_until(&r, "malenia", "stop.epochs", "20", resume, stalled);
        CHECK_TEXT(r.out.ended_by, "epochs");
        CHECK_INT(r.out.stuck_by, MOT_STUCK_WAIT);
        CHECK_INT(r.out.stuck_node, 2);
        run_free(&r);
    }
    scratch_remove(folder);
}

/* `stop` and `checkpoint` may change, and with them the unit in
 * which evaluations and checkpoints are counted. */
TEST(a_run_that_is_resumed_with_another_end_counts_in_the_new_units)
{
    struct run r;
    fresh_folder();
    simulate_until(&r, "async", "stop.time", "1s", false,
        (const char *const[]){ "evaluate.every", "auto", "checkpoint.every", "10s", NULL });
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.out.last.updates < 400);
    run_free(&r);
    size_t before = lines_of("metrics.jsonl");
    simulate_until(
        &r, "async", "stop.updates", "500", true, (const char *const[]){ "evaluate.every", "auto", NULL });
    CHECK_INT(r.status, MOT_OK);
    run_free(&r);
    CHECK(lines_of("metrics.jsonl") >= before + 10); /* every 10 updates */
    scratch_remove(folder);
}

/* Replicas share the buffers of a step. A checkpoint between two replicas' steps must leave it so. */
TEST(a_checkpoint_within_a_collective_leaves_replicas_shared)
{
    struct run r;
    size_t plain, marked;
    fresh_folder();
    simulate(&r, "allreduce", "40", false);
    CHECK_INT(r.status, MOT_OK);
    run_free(&r);
    char *bytes = read_name("checkpoint.bin", &plain);
    free(bytes);
    simulate_until(&r, "allreduce", "stop.updates", "40", false,
        (const char *const[]){ "checkpoint.every", "3ms", NULL });
    CHECK_INT(r.status, MOT_OK);
    run_free(&r);
    bytes = read_name("checkpoint.bin", &marked);
    free(bytes);
    CHECK_INT(marked, plain);
    scratch_remove(folder);
}

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
    scratch_remove(folder);
}

TEST(a_run_resumed_with_less_time_than_it_has_had_does_not_go_back)
{
    struct run r;
    fresh_folder();
    simulate(&r, "async", "30", false);
    mot_time had = r.out.last.now;
    run_free(&r);
    r = (struct run){ .ways = { .resume = true } };
    RUN_SET(&r, RICH, "method", "async", "stop.time", "1ms", "output", folder);
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.last.now, had);
    run_free(&r);
    scratch_remove(folder);
}

static volatile sig_atomic_t stop_at_tick;

static void interrupt_later(void *told, const struct mot_moment *m)
{
    (void)told;
    stop_at_tick = m->updates > 0;
}

TEST(an_interrupted_run_has_no_figures_of_an_earlier_model)
{
    static const char *const every[] = { "1000000 updates", "1 updates" };
    for (int i = 0; i < 2; i++) {
        struct run r = { 0 };
        RUN_SET(&r, "data", "digits", "model", "softmax", "workers", "4", "stop.updates", "1000000",
            "evaluate.every", every[i], "evaluate.heterogeneity", "never");
        r.ways.interrupt = &stop_at_tick;
        r.ways.tick = interrupt_later;
        stop_at_tick = 0;
        run_go(&r);
        CHECK_INT(r.out.status, MOT_EINTERRUPTED);
        CHECK(r.out.last.updates > 0);
        CHECK(isnan(r.out.last.score.test_loss) == (i == 0));
        CHECK(isnan(r.out.last.score.test_accuracy) == (i == 0));
        run_free(&r);
    }
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
    scratch_remove(folder);
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
    scratch_remove(folder);
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
    scratch_remove(folder);
}

/* The holdings are in the file as they are in memory, a word for each worker: here two groups
 * of two, with two parts of four each. */
TEST(a_forged_checkpoint_in_which_a_worker_lacks_rows_it_counts_on_is_refused)
{
    static const char *const coded[] = { "code", "frc", "cluster", "{workers: [{count: 4}]}", NULL };
    const uint64_t held[] = { 3, 3, 12, 12 };
    struct run r;
    size_t n;
    fresh_folder();
    simulate_until(&r, "coded", "stop.updates", "20", false, coded);
    CHECK_INT(r.status, MOT_OK);
    run_free(&r);
    char *path = mot_path_join(folder, "checkpoint.bin"), *bytes = read_name("checkpoint.bin", &n);
    CHECK(bytes != NULL);
    char *at = memmem(bytes, n, held, sizeof(held));
    CHECK(at != NULL);
    for (int k = 0; k < 2 && at; k++) {
        if (k == 0) memset(at, 0, sizeof(held[0]));
        else memcpy(at, held, sizeof(held));
        uint64_t sum = XXH64(bytes, n - sizeof(sum), 0);
        memcpy(bytes + n - sizeof(sum), &sum, sizeof(sum));
        CHECK_INT(mot_file_replace(path, bytes, n), MOT_OK);
        simulate_until(&r, "coded", "stop.updates", "30", true, coded);
        CHECK_INT(r.status, k == 0 ? MOT_EDATA : MOT_OK);
        run_free(&r);
    }
    free(bytes);
    free(path);
    scratch_remove(folder);
}

TEST(a_checkpoint_of_another_experiment_is_refused)
{
    struct run r;
    fresh_folder();
    simulate(&r, "async", "20", false);
    run_free(&r);
    CHECK_INT(resume_status("async", "2"), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "a different experiment");
    CHECK_INT(resume_status("server", "1"), MOT_EUSAGE);
    scratch_remove(folder);
}

TEST(a_resume_that_is_refused_leaves_the_folder_as_it_was)
{
    static const char *const names[] = { "experiment.yaml", "metrics.jsonl", "summary.json", "trace.json",
        "checkpoint.bin" };
    char *before[MOT_COUNT(names)], *after;
    size_t n[MOT_COUNT(names)], m;
    struct run r;
    fresh_folder();
    simulate_until(&r, "async", "stop.updates", "20", false, (const char *const[]){ "trace", "true", NULL });
    CHECK_INT(r.status, MOT_OK);
    run_free(&r);
    for (size_t i = 0; i < MOT_COUNT(names); i++) before[i] = read_name(names[i], &n[i]);
    simulate_until(
        &r, "async", "stop.updates", "60", true, (const char *const[]){ "trace", "true", "seed", "2", NULL });
    CHECK_INT(r.status, MOT_EUSAGE);
    run_free(&r);
    for (size_t i = 0; i < MOT_COUNT(names); i++) {
        after = read_name(names[i], &m);
        CHECK(before[i] && after);
        CHECK_INT(m, n[i]);
        CHECK(memcmp(before[i], after, m) == 0);
        free(before[i]);
        free(after);
    }
    scratch_remove(folder);
}

/* A disk that is full: files over 16 kB cannot be written, which the checkpoint is and the rest is not. */
static void stays_without_its_last_checkpoint(const struct mot_driver *driver)
{
    struct run r = { .ways = { .driver = driver, .replace = true } };
    struct rlimit all, few;
    size_t n;
    CHECK(getrlimit(RLIMIT_FSIZE, &all) == 0);
    few = (struct rlimit){ .rlim_cur = 16000, .rlim_max = all.rlim_max };
    fresh_folder();
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &few);
    RUN_SET(&r, RICH, "method", "allreduce", "stop.updates", "5", "data.valid", "0", "model.hidden", "[32]",
        "output", folder);
    run_go(&r);
    setrlimit(RLIMIT_FSIZE, &all);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.status, MOT_ESYSTEM);
    CHECK_TEXT(r.out.ended_by, "checkpoint");
    CHECK_HAS(mot_error(), "checkpoint.bin");
    CHECK_INT(r.out.last.updates, 5);
    run_free(&r);
    char *model = read_name("model.safetensors", &n);
    CHECK(model != NULL);
    free(model);
    scratch_remove(folder);
}

TEST(a_last_checkpoint_that_cannot_be_written_is_an_error_and_the_results_stay)
{
    stays_without_its_last_checkpoint(&mot_driver_sim);
    stays_without_its_last_checkpoint(&mot_driver_threads);
}

TEST(checkpoints_are_written_when_they_are_due_and_no_sooner)
{
    static const struct {
        const char *every;
        uint64_t last;
    } wanted[] = { { "10 updates", 20 }, { "7 updates", 21 }, { "30 updates", 0 } };
    for (size_t i = 0; i < MOT_COUNT(wanted); i++) {
        struct run r;
        fresh_folder();
        simulate_until(&r, "allreduce", "stop.updates", "25", false,
            (const char *const[]){ "checkpoint.every", wanted[i].every, NULL });
        CHECK_INT(r.out.last.updates, 25);
        CHECK(r.out.saved == (wanted[i].last > 0));
        CHECK_INT(r.out.saved_updates, wanted[i].last);
        run_free(&r);
        scratch_remove(folder);
    }
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
    scratch_remove(folder);
}

TEST_MAIN()
