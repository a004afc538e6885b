/* Rows that move: the same model wherever they go and however they get there, at the price of their bytes,
 * and never a gradient on rows that a worker does not have. */
#include "base/rng.h"
#include "live/record.h"
#include "method/methods.h"
#include "run/carousel.h"
#include "run/run.h"
#include "scratch.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#define SMALL                                                                                                \
    "data", "digits", "model", "softmax", "optimizer.lr", "0.1", "method", "carousel", "evaluate.train", "end"
/* 1 MB/s, and jobs that take a millisecond or two */
#define THIN                                                                                                 \
    "cluster",                                                                                               \
        "{workers: [{count: 4, speed: 20000 samples/s}], network: {bandwidth: 8 Mbit/s, latency: 100us}}"

static void play(struct run *r)
{
    static const struct mot_method *const more[] = { &carousel, NULL };
    mot_methods_extend(more);
    run_go(r);
    mot_methods_extend(NULL);
}

/* What all rows weigh: a label and its features each. */
static uint64_t weight(const struct run *r)
{
    const struct mot_table *t = &r->job.data->train;
    uint64_t cells = t->x ? (uint64_t)t->rows * t->cols : 2 * t->row_at[t->rows];
    return 4 * (t->rows + cells);
}

static uint64_t ends_with(struct run *r, uint64_t updates)
{
    if (r->status != MOT_OK || r->out.status != MOT_OK || r->out.last.updates != updates) return 0;
    return r->out.model_hash;
}

static uint64_t simulated(const char *const *settings, uint64_t updates)
{
    struct run r = { 0 };
    run_set_all(&r, settings);
    play(&r);
    uint64_t hash = ends_with(&r, updates);
    run_free(&r);
    return hash;
}

TEST(every_round_moves_all_rows_once_and_their_bytes_add_up)
{
    static const struct mot_driver *const driver[] = { &mot_driver_sim, &mot_driver_threads };
    uint64_t hash = 0;
    for (int d = 0; d < 2; d++) {
        struct run r = { .ways = { .driver = driver[d] } };
        RUN_SET(&r, SMALL, "workers", "4", "stop.updates", "30");
        play(&r);
        CHECK(ends_with(&r, 30) != 0);
        if (d == 0) hash = r.out.model_hash;
        CHECK(r.out.model_hash == hash);
        CHECK_INT(r.job.problem.sampler.parts->parts, 8);
        uint64_t rows = 0, jobs = 0;
        for (int i = 0; i < 5; i++) rows += r.out.node[i].rows_bytes;
        for (int i = 0; i < 4; i++) jobs += r.out.node[i].jobs;
        CHECK_INT(rows, r.out.last.rows_bytes);
        CHECK_INT(r.out.node[4].rows_bytes, 0);
        /* On threads a worker may have done its job of the next round before it hears of the end. */
        CHECK(jobs >= 30 * 4 && jobs <= (30 + (unsigned)d) * 4);
        CHECK(rows >= 30 * weight(&r) && rows <= (30 + (unsigned)d) * weight(&r));
        /* A gradient for each job, and models: one more than there were rounds. */
        CHECK_INT(r.out.last.bytes_sent, rows + 4 * (jobs + 31 * 4) * r.job.net.dim);
        run_free(&r);
    }
}

TEST(sparse_rows_weigh_their_entries)
{
    char folder[] = "/tmp/motley-test-XXXXXX", path[64];
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/rows.svm", folder);
    FILE *f = fopen(path, "w");
    struct mot_rng rng = mot_rng_at(1, MOT_RNG_TEST, 0);
    for (int i = 0; f && i < 400; i++) {
        fprintf(f, "%d", i % 2 ? 1 : -1);
        for (int c = 1; c <= 40; c++)
            if (mot_rng_below(&rng, 5) == 0) fprintf(f, " %d:%.3f", c, mot_rng_unit(&rng));
        fputc('\n', f);
    }
    CHECK(f && fclose(f) == 0);
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "data", path, "workers", "3", "stop.updates", "10");
    play(&r);
    CHECK(ends_with(&r, 10) != 0);
    CHECK(r.job.data->train.x == NULL);
    CHECK_INT(r.out.last.rows_bytes, 10 * weight(&r));
    run_free(&r);
    scratch_remove(folder);
}

/* Two parts of 1437 rows / 8 come over one link in every round but the first: work waits for them. */
TEST(work_waits_for_its_rows_where_links_are_thin)
{
    struct run thin = { 0 }, wide = { 0 };
    RUN_SET(&thin, SMALL, THIN, "stop.updates", "20");
    play(&thin);
    RUN_SET(&wide, SMALL, "cluster", "{workers: [{count: 4, speed: 20000 samples/s}]}", "stop.updates", "20");
    play(&wide);
    CHECK(ends_with(&thin, 20) != 0);
    CHECK(thin.out.model_hash == wide.out.model_hash);
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < 4; i++) {
        const uint64_t *at = thin.job.problem.sampler.parts->at;
        uint64_t bytes = (at[2 * i + 2] - at[2 * i]) * 4 * (1 + thin.job.data->train.cols);
        if (bytes < least) least = bytes;
    }
    /* 1 byte takes 1 us */
    CHECK(thin.out.last.now > wide.out.last.now + 19 * least * 1000);
    CHECK(thin.out.node[0].compute == wide.out.node[0].compute);
    run_free(&thin);
    run_free(&wide);
}

TEST(emulated_links_delay_rows_on_threads)
{
    struct run r = { .ways = { .driver = &mot_driver_threads, .emulate = true } };
    static const char *const settings[] = { SMALL, THIN, "stop.updates", "4", NULL };
    run_set_all(&r, settings);
    play(&r);
    CHECK(ends_with(&r, 4) == simulated(settings, 4));
    uint64_t bytes = weight(&r) / 4; /* about what a worker gets in a round */
    CHECK(r.out.last.now > 3 * (bytes - bytes / 10) * 1000);
    run_free(&r);
}

/* Changes the part of the first rows that came to worker 1. */
static void bring_other_rows(const char *folder, uint64_t hash)
{
    struct mot_record record;
    struct mot_tape_reader r;
    struct mot_taped e;
    char path[100];
    if (mot_record_read(folder, hash, &record) != MOT_OK) abort();
    mot_tape_rewind(&record.tape[1], &r);
    while (mot_tape_next(&r, &e) && !e.rows) {}
    record.tape[1].at[r.at - record.tape[1].at - 1] ^= 1; /* the last byte of the event */
    snprintf(path, sizeof path, "%s/record.bin", folder);
    if (!e.rows || mot_record_write(&record, path) != MOT_OK) abort();
    mot_record_close(&record);
}

TEST(a_record_of_moving_rows_is_replayed_to_the_same_model)
{
    char folder[] = "/tmp/motley-test-XXXXXX";
    CHECK(mkdtemp(folder));
    struct run r = { .ways = { .driver = &mot_driver_threads, .record = true } };
    RUN_SET(&r, SMALL, "workers", "4", "stop.updates", "12", "output", folder);
    play(&r);
    uint64_t hash = ends_with(&r, 12), rows = r.out.last.rows_bytes;
    CHECK(hash != 0);
    run_free(&r);
    struct run again = { .ways = { .driver = &mot_driver_replay, .arrivals = folder } };
    RUN_SET(&again, SMALL, "workers", "4", "stop.updates", "12");
    play(&again);
    CHECK_INT(again.status, MOT_OK);
    CHECK(again.out.model_hash == hash);
    CHECK_INT(again.out.last.rows_bytes, rows);
    uint64_t hash_of_run = again.job.hash;
    run_free(&again);
    bring_other_rows(folder, hash_of_run);
    struct run other = { .ways = { .driver = &mot_driver_replay, .arrivals = folder } };
    RUN_SET(&other, SMALL, "workers", "4", "stop.updates", "12");
    play(&other);
    CHECK_INT(other.status, MOT_EREPRODUCE);
    CHECK_HAS(mot_error(), "the message differs from the recorded one");
    run_free(&other);
    scratch_remove(folder);
}

/* ---- What a worker does not hold ------------------------------------------------------------- */

static bool aborts(enum carousel_fault fault, const struct mot_driver *driver, const char *const *more)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct run r = { .ways = { .driver = driver } };
        carousel_fault = fault;
        if (!freopen("/dev/null", "w", stderr)) _exit(3);
        RUN_SET(&r, SMALL, "workers", "4", "stop.updates", "6");
        run_set_all(&r, more);
        play(&r);
        _exit(r.status == MOT_OK && r.out.status == MOT_OK ? 0 : 3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) printf("  it ended with %d\n", WEXITSTATUS(status));
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST(jobs_on_rows_and_rows_to_send_that_a_worker_does_not_hold_are_caught)
{
    static const struct mot_driver *const driver[] = { &mot_driver_sim, &mot_driver_threads };
    static const char *const none[] = { NULL };
    for (int d = 0; d < 2; d++) {
        CHECK(!aborts(CAROUSEL_RIGHT, driver[d], none));
        CHECK(aborts(CAROUSEL_WRONG_TERM, driver[d], none));
        CHECK(aborts(CAROUSEL_WRONG_ROWS, driver[d], none));
        CHECK(aborts(CAROUSEL_FORGOT, driver[d], none));
    }
}

/* It is lost in the first round, among its own rows. */
TEST(a_worker_that_comes_back_holds_no_rows)
{
    static const char *const crash[] = { "elastic", "true", "cluster",
        "{workers: [{count: 4, speed: 2000 samples/s}], faults: {detect: 20ms, schedule: [{kind: crash, at: "
        "5ms, "
        "for: 50ms, worker: 1}]}}",
        NULL };
    CHECK(!aborts(CAROUSEL_RIGHT, &mot_driver_sim, crash));
    CHECK(aborts(CAROUSEL_REMEMBERS, &mot_driver_sim, crash));
}

/* ---- Faults ------------------------------------------------------------------------------------ */

static void mix_of(uint64_t seed, char *into, size_t size)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 5);
    double hard = mot_rng_unit(&rng);
    snprintf(into, size,
        "{workers: [{count: 4, speed: 20000 samples/s}], network: {bandwidth: 80 Mbit/s, latency: 100us}, "
        "faults: "
        "{detect: %dms, drop: %.3f, duplicate: %.3f, reorder: %.3f, corrupt: %.3f, crash: %.3f/s, "
        "restart_after: "
        "100ms, stall: 0.5/s, partition: 0.1/s, partition_for: 150ms, schedule: [{kind: crash, at: 150ms, "
        "for: "
        "200ms, workers: [1, 2]}, {kind: drop, at: 500ms, for: 100ms, probability: 40%%}]}}",
        100 + (int)(200 * mot_rng_unit(&rng)), 0.1 * hard, 0.1 * mot_rng_unit(&rng), 0.1 * mot_rng_unit(&rng),
        0.05 * hard, 0.5 * hard);
}

/* The server has all rows, and a part's draws depend on the round alone: nothing that happens changes the
 * model. */
TEST(no_fault_of_the_network_and_no_crash_changes_the_model)
{
    static const char *const plain[] = { SMALL, "workers", "4", "stop.updates", "60", NULL };
    uint64_t hash = simulated(plain, 60), seeds = SANITIZED ? 6 : 60;
    struct mot_fault_tally all = { 0 };
    CHECK(hash != 0);
    printf("  seeds 1 to %llu\n", (unsigned long long)seeds);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        char mix[900];
        struct run r = { 0 };
        mix_of(seed, mix, sizeof mix);
        RUN_SET(&r, SMALL, "cluster", mix, "elastic", "true", "stop.updates", "60");
        play(&r);
        const struct mot_fault_tally *f = &r.out.faults;
        bool same = ends_with(&r, 60) == hash;
        if (!same) printf("  seed %llu: %s\n", (unsigned long long)seed, mix);
        all.crashes += f->crashes, all.restarts += f->restarts, all.resent += f->resent;
        all.duplicated += f->duplicated, all.corrupted += f->corrupted, all.given_up += f->given_up;
        run_free(&r);
        CHECK(same);
    }
    printf("  %llu crashes, %llu returns, %llu frames sent again, %llu doubled, %llu damaged\n",
        (unsigned long long)all.crashes, (unsigned long long)all.restarts, (unsigned long long)all.resent,
        (unsigned long long)all.duplicated, (unsigned long long)all.corrupted);
    CHECK(all.crashes > 2 * seeds - 1 && all.restarts > seeds && all.resent > 0 && all.duplicated > 0 &&
        all.corrupted > 0);
}

/* ---- Checkpoints --------------------------------------------------------------------------------- */

static void resumes(const char *cluster, const char *const *times, size_t n)
{
    char folder[] = "/tmp/motley-test-XXXXXX";
    CHECK(mkdtemp(folder));
    struct mot_outcome whole = { 0 };
    for (size_t i = 0; i <= n; i++) {
        for (int second = 0; second < (i < n ? 2 : 1); second++) {
            bool all = i == n || second;
            struct run r = { .ways = { .resume = second, .replace = true } };
            RUN_SET(&r, SMALL, "cluster", cluster, "elastic", "true", all ? "stop.updates" : "stop.time",
                all ? "20" : times[i], "output", folder);
            play(&r);
            CHECK_INT(r.status, MOT_OK);
            CHECK_INT(r.out.status, MOT_OK);
            if (all) {
                if (whole.model_hash == 0) whole = r.out;
                CHECK_INT(r.out.last.updates, 20);
                CHECK(r.out.model_hash == whole.model_hash);
                CHECK_INT(r.out.last.events, whole.last.events);
                CHECK_INT(r.out.last.now, whole.last.now);
                CHECK_INT(r.out.last.rows_bytes, whole.last.rows_bytes);
                CHECK_INT(r.out.last.bytes_sent, whole.last.bytes_sent);
            }
            run_free(&r);
        }
    }
    scratch_remove(folder);
}

/* Over thin links rows are nearly always in flight. */
TEST(a_run_stopped_with_rows_in_flight_resumes_to_the_same_bits)
{
    static const char *const times[] = { "30ms", "60ms", "250ms", "401ms", "1s" };
    resumes("{workers: [{count: 4, speed: 20000 samples/s}], network: {bandwidth: 8 Mbit/s, latency: 100us}}",
        times, MOT_COUNT(times));
}

TEST(so_it_does_with_faults_and_a_worker_that_was_lost)
{
    static const char *const times[] = { "30ms", "260ms", "401ms", "700ms", "1s" };
    resumes("{workers: [{count: 4, speed: 20000 samples/s}], network: {bandwidth: 8 Mbit/s, latency: 100us}, "
            "faults: "
            "{detect: 200ms, drop: 0.1, duplicate: 0.1, schedule: [{kind: crash, at: 250ms, for: 300ms, "
            "worker: 2}]}}",
        times, MOT_COUNT(times));
}

TEST_MAIN()
