/* Details of faults that show only in numbers: which of two overlapping ones counts, what is in flight
 * when a sender dies, whose time a stall is, how the channel learns round trips. */
#include "base/file.h"
#include "sim/channel.h"
#include "run/run.h"
#include "sim/taken.h"
#include <stdlib.h>

#define MS UINT64_C(1000000)
#define BASE                                                                                                 \
    "data", "digits", "data.rows", "400", "model", "softmax", "evaluate.every", "1000000 updates", "batch",  \
        "32", "optimizer.lr", "0.01"

struct result {
    enum mot_status status;
    mot_time now, compute[8], wait[8];
    uint64_t updates[8], events, guarded, barred;
    struct mot_fault_tally faults;
};

static uint64_t noted(const struct mot_outcome *o, const char *key)
{
    for (uint32_t i = 0; i < o->notes; i++)
        if (strcmp(o->note[i].key, key) == 0) return o->note[i].count;
    return 0;
}

static struct result go(const char *method, const char *updates, const char *cluster)
{
    struct run r = { 0 };
    RUN_SET(&r, BASE, "method", method, "stop.updates", updates, "stop.time", "1000s", "cluster", cluster);
    run_go(&r);
    struct result out = { .status = r.status != MOT_OK ? r.status : r.out.status,
        .now = r.out.last.now,
        .events = r.out.last.events,
        .guarded = noted(&r.out, "guarded"),
        .barred = noted(&r.out, "workers_barred"),
        .faults = r.out.faults };
    for (uint32_t i = 0; r.status == MOT_OK && i < r.out.workers && i < 8; i++) {
        out.compute[i] = r.out.node[i].compute;
        out.wait[i] = r.out.node[i].wait;
        out.updates[i] = r.out.node[i].updates;
    }
    run_free(&r);
    return out;
}

#define CLUSTER(faults) "{workers: 4, faults: [" faults "]}"
#define DROP(p) "{kind: drop, at: 1s, for: 300ms, probability: " p ", worker: 1}"
#define SLOW(f) "{kind: slow-link, at: 1s, for: 2s, factor: " f ", worker: 1}"

TEST(of_two_drops_that_overlap_the_larger_counts)
{
    struct result larger = go("server", "100", CLUSTER(DROP("80%"))),
                  smaller = go("server", "100", CLUSTER(DROP("10%")));
    static const char *const both[] = { CLUSTER(DROP("80%") ", " DROP("10%")),
        CLUSTER(DROP("10%") ", " DROP("80%")) };
    CHECK(larger.faults.dropped > smaller.faults.dropped);
    for (int k = 0; k < 2; k++) {
        struct result r = go("server", "100", both[k]);
        CHECK_INT(r.faults.dropped, larger.faults.dropped);
        CHECK_INT(r.now, larger.now);
    }
}

TEST(of_two_slow_links_that_overlap_the_larger_factor_counts)
{
    struct result larger = go("server", "60", CLUSTER(SLOW("5000"))),
                  smaller = go("server", "60", CLUSTER(SLOW("50")));
    static const char *const both[] = { CLUSTER(SLOW("5000") ", " SLOW("50")),
        CLUSTER(SLOW("50") ", " SLOW("5000")) };
    CHECK(larger.now > smaller.now + 1000 * MS);
    for (int k = 0; k < 2; k++) CHECK_INT(go("server", "60", both[k]).now, larger.now);
}

TEST(a_short_stall_inside_a_long_one_changes_nothing)
{
    struct result plain = go("allreduce", "100", CLUSTER("")),
                  r = go("allreduce", "100",
                      CLUSTER("{kind: stall, at: 1s, for: 2s, worker: 1}, {kind: stall, at: 1500ms, for: "
                              "200ms, worker: 1}"));
    CHECK_INT(r.now, plain.now + 2000 * MS);
}

TEST(a_stalled_worker_waits_and_does_not_compute)
{
    struct result plain = go("allreduce", "100", CLUSTER("")),
                  r = go("allreduce", "100", CLUSTER("{kind: stall, at: 1s, for: 2s, worker: 1}"));
    /* When the run ends, the others have begun their next jobs a little sooner or later. */
    for (int i = 0; i < 4; i++) CHECK_NEAR(r.compute[i], plain.compute[i], MS);
    CHECK(r.wait[1] >= plain.wait[1] + 2000 * MS);
}

TEST(work_that_a_stalled_worker_is_given_begins_when_it_wakes)
{
    struct run r = { 0 };
    /* It hears of the loss at 1.3 s, in its sleep, and could go on. A second stall begins in the first and
     * ends a little after it. */
    RUN_SET(&r, BASE, "method", "dpsgd", "method.on_loss", "continue", "stop.updates", "60", "cluster",
        "{workers: 3, faults: {detect: 300ms, schedule: [{kind: crash, at: 1s, worker: 0}, "
        "{kind: stall, at: 1100ms, for: 500ms, worker: 1}, {kind: stall, at: 1500ms, for: 110ms, worker: "
        "1}]}}");
    run_go(&r);
    CHECK_INT(r.out.status, MOT_OK);
    CHECK_INT(r.out.last.updates, 60);
    /* It has made 33 by then; 27 jobs of 32 ms follow, the first of which begins as it wakes. */
    CHECK_INT(r.out.last.now, (1610 + 27 * 32) * MS);
    run_free(&r);
}

TEST(a_rate_is_that_of_each_worker)
{
    /* 0.5/s of each in 200 s: 100 of each worker, give or take five times the root */
    struct result
        two = go("server", "1000000",
            "{workers: [{count: 2, job_time: 1s}], faults: {stall: 0.5/s, stall_for: 1ms, until: 200s}}"),
        eight = go("server", "1000000",
            "{workers: [{count: 8, job_time: 1s}], faults: {stall: 0.5/s, stall_for: 1ms, until: 200s}}");
    CHECK_NEAR(two.faults.stalls, 200, 71);
    CHECK_NEAR(eight.faults.stalls, 800, 142);
}

/* The gradient of worker 1 takes its link 104 ms and then the latencies 600 ms: its way begins at 736 ms. */
#define CRASH_AT(at)                                                                                         \
    "{network: {bandwidth: 25kB/s, latency: 300ms}, workers: 2, faults: {detect: 2s, schedule: "             \
    "[{kind: crash, at: " at ", worker: 1}]}}"

TEST(what_has_left_a_sender_that_crashes_arrives_and_what_has_not_does_not)
{
    CHECK_INT(go("async", "12", CRASH_AT("720ms")).updates[1], 0);  /* it still computes */
    CHECK_INT(go("async", "12", CRASH_AT("900ms")).updates[1], 0);  /* its link is busy with it */
    CHECK_INT(go("async", "12", CRASH_AT("1100ms")).updates[1], 1); /* under way */
}

TEST(a_worker_that_is_back_has_no_strikes)
{
    /* Two gradients of its first life and one of its second come out as NaN; three in a row would bar it. */
    struct result r = go("async", "400",
        CLUSTER(
            "{kind: poison, at: 0, for: 80ms, worker: 1}, {kind: crash, at: 80ms, for: 100ms, worker: 1}, "
            "{kind: poison, at: 170ms, for: 50ms, worker: 1}"));
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.guarded, 3);
    CHECK_INT(r.barred, 0);
    CHECK(r.updates[1] > 50);
}

/* ---- What is in the channel at the end of a run ------------------------------------------------ */

static struct mot_driver_options open_run(
    struct run *r, const char *updates, const char *cluster, const char *path)
{
    *r = (struct run){ 0 };
    RUN_SET(r, BASE, "method", "async", "stop.updates", updates, "cluster", cluster);
    if (mot_experiment_open(NULL, r->setting, r->settings, &r->experiment)) abort();
    if (mot_job_open(r->experiment, &r->job)) abort();
    return (struct mot_driver_options){ .experiment = r->experiment,
        .problem = &r->job.problem,
        .optim = &r->job.optim,
        .x0 = r->job.x0,
        .hash = r->job.hash,
        .checkpoint = path };
}

/* A frame that is held up is sent again; the answer to the first, which comes soon after, is not one to the
 * second: learned as such it would make round trips shorter than light. */
TEST(a_round_trip_is_learned_only_of_what_was_sent_once)
{
    char path[] = "/tmp/motley-karn-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) abort();
    close(fd);
    struct run r;
    struct mot_outcome out;
    struct mot_driver_options o = open_run(&r, "2000",
        "{network: {latency: 20ms}, workers: 4, faults: [{kind: reorder, at: 0, for: 8760h, probability: "
        "100%}]}",
        path);
    CHECK_INT(mot_driver_sim.run(&o, &out), MOT_OK);
    CHECK(out.faults.resent > 100);
    struct sim *s;
    uint64_t mark;
    CHECK_INT(mot_sim_open(&o, &s), MOT_OK);
    CHECK_INT(mot_sim_restore(s, &mark), MOT_OK);
    CHECK(s->channel->knowns == 8);
    /* there and back: four latencies, and as much again by which frame and answer are held up at the least */
    for (uint32_t i = 0; i < s->channel->knowns; i++)
        CHECK(s->channel->conn[s->channel->known[i]].srtt >= 160 * MS - 8);
    mot_sim_close(s);
    mot_outcome_close(&out);
    run_free(&r);
    unlink(path);
}

/* Its checksum may be right all the same: indices outside of the tables are not followed. */
TEST(a_checkpoint_whose_channel_points_past_its_last_item_is_refused)
{
    struct run r;
    struct mot_driver_options o = open_run(&r, "20", "{workers: 2, faults: {drop: 1%}}", "x");
    struct sim *s;
    CHECK_INT(mot_sim_open(&o, &s), MOT_OK);
    struct sim_channel *c = s->channel;
    c->knowns = 1;
    c->conn[c->known[0]].known = true;
    struct sim_conn *conn = &c->conn[c->known[0]];
    struct sim_item *last = &c->item[c->items];
    uint32_t *const item[] = { &c->free, &c->held_first, &c->held_last, &c->item[1].next,
        &c->item[1].queue_next, &last->next, &last->queue_next, &conn->first, &conn->arrive, &conn->deliver,
        &conn->last };
    uint32_t pairs = s->world.nodes * s->world.nodes;
    CHECK(is_taken(s, &o));
    for (size_t i = 0; i < MOT_COUNT(item); i++) {
        uint32_t was = *item[i];
        *item[i] = c->items;
        if (!is_taken(s, &o)) FAIL("place %zu: the last item is refused", i);
        *item[i] = c->items + 1;
        if (is_taken(s, &o)) FAIL("place %zu: an item past the last is taken", i);
        *item[i] = was;
    }
    last->conn = pairs - 1;
    CHECK(is_taken(s, &o));
    last->conn = pairs;
    CHECK(!is_taken(s, &o));
    last->conn = 0;
    last->m.to = s->world.nodes;
    CHECK(!is_taken(s, &o));
    last->m.to = 0;
    s->peer = s->world.nodes + 1;
    CHECK(!is_taken(s, &o));
    mot_sim_close(s);
    run_free(&r);
}

TEST_MAIN()
