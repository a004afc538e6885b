/* Runs that can make no progress end by themselves and say why; runs that are merely slow do not. */
#include "base/file.h"
#include "run/run.h"
#include <stdlib.h>

#define BASE                                                                                                 \
    "data", "digits", "data.rows", "200", "model", "softmax", "evaluate.every", "1000000 updates", "batch",  \
        "32", "optimizer.lr", "0.01"
#define SECOND UINT64_C(1000000000)
#define YEAR (8760 * 3600 * SECOND)

static struct mot_outcome go(const char *method, const char *updates, const char *cluster)
{
    struct run r = { 0 };
    RUN_SET(&r, BASE, "method", method, "stop.updates", updates, "cluster", cluster);
    run_go(&r);
    struct mot_outcome out = r.out;
    if (r.status != MOT_OK) out.status = r.status;
    run_free(&r);
    return out;
}

TEST(workers_that_crash_before_any_job_ends_end_the_run)
{
    static const char *const methods[] = { "async", "server", "rennala", "malenia", "gasync" };
    for (size_t m = 0; m < (SANITIZED ? 2 : MOT_COUNT(methods)); m++) {
        struct mot_outcome o =
            go(methods[m], "1000", "{workers: 4, faults: {crash: 1000/s, restart_after: 1ms}}");
        CHECK_INT(o.status, MOT_EPEER);
        CHECK_TEXT(o.ended_by, "no_progress");
        CHECK_INT(o.stuck_by, MOT_STUCK_LOSSES);
        CHECK_INT(o.last.updates, 0);
        CHECK(o.has_peer && o.faults.restarts > 90000);
    }
}

TEST(a_server_that_no_frame_reaches_is_not_tried_for_ever)
{
    static const char *const methods[] = { "async", "gasync", "server", "fedbuff" };
    static const char *const faults[] = { "[{kind: drop, at: 0s, for: 8760h}]",
        "[{kind: drop, at: 1s, for: 8760h}]", "[{kind: corrupt, at: 1s, for: 8760h, probability: 100%}]",
        "[{kind: drop, at: 1s, for: 8760h, server: true}]" };
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        for (size_t f = 0; f < MOT_COUNT(faults); f++) {
            char cluster[200];
            snprintf(cluster, sizeof cluster,
                "{workers: [{count: 3}, {count: 3, latency: 30ms}], faults: %s}", faults[f]);
            struct mot_outcome o = go(methods[m], "3000", cluster);
            CHECK_INT(o.status, MOT_EPEER);
            CHECK(o.has_peer && o.peer_by && strcmp(o.peer_by, "drop") == 0);
            CHECK_INT(o.faults.restarts, 0);
            CHECK(o.last.now < 30 * SECOND && o.last.events < 50000);
        }
    }
}

TEST(workers_cut_off_by_lost_frames_are_back_when_frames_come_through_again)
{
    struct mot_outcome o =
        go("async", "3000", "{workers: 4, faults: [{kind: drop, at: 1s, for: 8s, workers: [1, 2]}]}");
    CHECK_INT(o.status, MOT_OK);
    CHECK_INT(o.faults.given_up, 2);
    CHECK_INT(o.faults.restarts, 2);
    CHECK(o.last.now > 9 * SECOND);
}

TEST(jobs_that_take_no_time_do_not_hold_the_clock_still_for_ever)
{
    static const char *const methods[] = { "malenia", "ringleader" };
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct mot_outcome o =
            go(methods[m], "1000", "{network: none, workers: [{job_time: 0s}, {count: 3, job_time: 1s}]}");
        CHECK_INT(o.status, MOT_EDEADLINE);
        CHECK_TEXT(o.ended_by, "no_progress");
        CHECK_INT(o.stuck_by, MOT_STUCK_SPIN);
        CHECK_INT(o.stuck_node, 0);
        CHECK_INT(o.last.now, 0);
        CHECK_INT(o.last.updates, 0);
    }
}

TEST(stalls_that_never_let_a_job_end_end_the_run)
{
    struct mot_outcome o = go("async", "1000", "{workers: 1, faults: {stall: 1000/s, stall_for: 100ms}}");
    CHECK_INT(o.status, MOT_EDEADLINE);
    CHECK_INT(o.stuck_by, MOT_STUCK_FAULTS);
    CHECK_INT(o.last.updates, 0);
}

/* The commands with which a stalled worker, or one that is a million times slower, was found to be waited for
 * while the others computed for ever. */
static const char *const absent[] = {
    "{workers: 4, faults: [{kind: stall, at: 200ms, for: 8760h, worker: 2}]}",
    "{workers: [{count: 2, job_time: 1ms}, {job_time: 8760h}, {job_time: 1ms}]}",
};

TEST(a_worker_that_everybody_waits_for_for_ever_is_named)
{
    static const char *const methods[] = { "malenia", "ringleader" };
    for (size_t i = 0; i < (SANITIZED ? 1 : MOT_COUNT(methods) * MOT_COUNT(absent)); i++) {
        struct run r = { 0 };
        RUN_SET(&r, BASE, "batch", "1", "method", methods[i % 2], "stop.updates", "1000", "cluster",
            absent[i / 2]);
        run_go(&r);
        CHECK_INT(r.out.status, MOT_EDEADLINE);
        CHECK_TEXT(r.out.ended_by, "no_progress");
        CHECK_INT(r.out.stuck_by, MOT_STUCK_WAIT);
        CHECK_INT(r.out.stuck_node, 2);
        CHECK(r.out.stuck_count >= 1000000 && r.out.last.updates < 1000);
        run_free(&r);
    }
}

TEST(passes_end_a_run_that_makes_no_update_any_more)
{
    static const char *const methods[] = { "malenia", "ringleader" };
    for (size_t i = 0; i < MOT_COUNT(methods) * MOT_COUNT(absent); i++) {
        struct run r = { 0 };
        RUN_SET(
            &r, BASE, "batch", "1", "method", methods[i % 2], "stop.epochs", "20", "cluster", absent[i / 2]);
        run_go(&r);
        CHECK_INT(r.out.status, MOT_OK);
        CHECK_TEXT(r.out.ended_by, "epochs");
        CHECK(r.out.last.epochs >= 20 && r.out.last.epochs < 150);
        CHECK_INT(r.out.stuck_by, MOT_STUCK_WAIT);
        CHECK_INT(r.out.stuck_node, 2);
        run_free(&r);
    }
}

/* Rounds of more jobs than MOT_OVERDUE_JOBS in which some worker ends none, but nobody waits for it. */
TEST(a_round_of_many_jobs_is_not_taken_for_a_wait)
{
    static const char *const round[][3] = {
        { "{name: fedavg, clients: 2, epochs: 100}", "{workers: 4}", "600" },
        { "{name: rennala, s: 20000}", "{workers: [{count: 3, job_time: 1ms}, {job_time: 8760h}]}", "50" },
    };
    for (size_t i = 0; i < MOT_COUNT(round); i++) {
        struct run r = { 0 };
        RUN_SET(&r, BASE, "batch", "1", "method", round[i][0], "cluster", round[i][1], "stop.epochs",
            round[i][2]);
        run_go(&r);
        CHECK_INT(r.out.status, MOT_OK);
        CHECK_TEXT(r.out.ended_by, "epochs");
        CHECK_INT(r.out.stuck_by, MOT_STUCK_NOT);
        CHECK(r.out.last.updates >= 1);
        run_free(&r);
    }
}

TEST(losses_before_the_first_update_end_the_run_however_late_they_are_noticed)
{
    static const char *const methods[] = { "server", "malenia", "fedbuff", "ca2fl", "ringmaster", "gasync",
        "ia2sgd" };
    for (size_t m = 0; m < (SANITIZED ? 1 : MOT_COUNT(methods)); m++) {
        struct mot_outcome o = go(methods[m], "1000", "{workers: 4, faults: {crash: 1000/s, detect: 30s}}");
        CHECK_INT(o.status, MOT_EPEER);
        CHECK_INT(o.stuck_by, MOT_STUCK_LOSSES);
        CHECK_INT(o.last.updates, 0);
    }
}

/* ---- Slow, but alive ------------------------------------------------------------------------------- */

TEST(a_run_in_which_a_thousand_lives_give_one_update_goes_on)
{
    /* A job takes 32 ms and a life 5: one in some six hundred sees the end of its job. */
    struct mot_outcome o = go("async", "20", "{workers: 4, faults: {crash: 200/s, restart_after: 1ms}}");
    CHECK_INT(o.status, MOT_OK);
    CHECK_INT(o.last.updates, 20);
    CHECK(o.faults.crashes > 20 * 200);
}

TEST(an_update_of_many_gradients_that_take_no_time_is_not_taken_for_a_standstill)
{
    struct run r = { 0 };
    RUN_SET(&r, BASE, "method", "rennala", "method.s", "10000", "stop.updates", "3", "cluster",
        "{network: none, workers: [{job_time: 0s}, {job_time: 1s}]}");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.status, MOT_OK);
    CHECK_INT(r.out.last.updates, 3);
    CHECK_INT(r.out.last.now, 0);
    run_free(&r);
}

TEST(a_year_in_which_nothing_happens_is_waited_for)
{
    struct mot_outcome o =
        go("server", "10", "{workers: 4, faults: [{kind: stall, at: 100ms, for: 8760h, worker: 1}]}");
    CHECK_INT(o.status, MOT_OK);
    CHECK_INT(o.last.updates, 10);
    CHECK(o.last.now > YEAR);
    o = go("async", "10", "{workers: [{count: 2, job_time: 8760h}]}");
    CHECK_INT(o.status, MOT_OK);
    CHECK(o.last.now >= 5 * YEAR);
}

/* In years in which all are dead or stalled, random faults would find nobody to hit billions of times. */
TEST(years_in_which_faults_find_nobody_to_hit_are_passed_over)
{
    static const struct {
        const char *method, *faults;
        enum mot_status ends;
        mot_time at_least;
    } runs[] = {
        { "server", "stall: 1/s, stall_for: 8760h", MOT_OK, 10 * YEAR },
        { "allreduce", "stall: 1/s, stall_for: 8760h", MOT_OK, 10 * YEAR },
        { "server", "stall: 1000/s, stall_for: 1h", MOT_OK, 100 * 3600 * SECOND },
        { "allreduce", "stall: 1000/s, stall_for: 1h", MOT_OK, 100 * 3600 * SECOND },
        { "localsgd", "stall: 1000/s, stall_for: 8760h, slow_link: 1/s", MOT_OK, 10 * YEAR },
        { "server", "crash: 1/s, restart_after: 8760h, detect: 8760h", MOT_EPEER, YEAR / 20 },
        { "server", "crash: 1/s, restart_after: never, detect: 8760h", MOT_EPEER, YEAR },
        { "async", "crash: 1000/s, restart_after: 1h, detect: 2h", MOT_EPEER, 600 * SECOND },
    };
    for (size_t i = 0; i < MOT_COUNT(runs); i++) {
        char cluster[120];
        snprintf(cluster, sizeof cluster, "{workers: 6, faults: {%s}}", runs[i].faults);
        struct mot_outcome o = go(runs[i].method, "100", cluster);
        CHECK_INT(o.status, runs[i].ends);
        CHECK_INT(o.stuck_by, MOT_STUCK_NOT);
        CHECK(o.last.now > runs[i].at_least && o.last.events < 6000000);
    }
}

TEST(frequent_stalls_that_leave_some_time_only_slow_a_run_down)
{
    struct mot_outcome calm = go("async", "60", "{workers: 2}");
    struct mot_outcome o = go("async", "60", "{workers: 2, faults: {stall: 500/s, stall_for: 10ms}}");
    CHECK_INT(o.status, MOT_OK);
    CHECK_INT(o.last.updates, 60);
    CHECK(o.last.now > 50 * calm.last.now); /* one part in 150 of the time is left to them */
}

/* ---- Checkpoints -------------------------------------------------------------------------------------- */

static struct mot_outcome in_folder(const char *folder, const char *time, bool resume)
{
    struct run r = { .ways = { .resume = resume, .replace = !resume } };
    RUN_SET(&r, BASE, "method", "async", "stop.updates", "1000", "stop.time", time, "cluster",
        "{workers: 4, faults: {crash: 1000/s, restart_after: 1ms}}", "output", folder);
    run_go(&r);
    struct mot_outcome out = r.out;
    run_free(&r);
    return out;
}

TEST(a_resumed_run_comes_to_the_same_standstill)
{
    char folder[] = "/tmp/motley-stuck-XXXXXX";
    if (!mkdtemp(folder)) abort();
    struct mot_outcome whole = in_folder(folder, "none", false);
    CHECK_INT(in_folder(folder, "20s", false).status, MOT_OK);
    struct mot_outcome o = in_folder(folder, "none", true);
    CHECK_INT(o.stuck_by, MOT_STUCK_LOSSES);
    CHECK_INT(o.last.events, whole.last.events);
    CHECK_INT(o.last.now, whole.last.now);
    static const char *const names[] = { "experiment.yaml", "metrics.jsonl", "summary.json",
        "model.safetensors", "checkpoint.bin", "timeline.json" };
    for (size_t i = 0; i < MOT_COUNT(names); i++) {
        char *path = mot_path_join(folder, names[i]);
        unlink(path);
        free(path);
    }
    CHECK_INT(rmdir(folder), 0);
}

TEST_MAIN()
