/* Faults of an emulated cluster: delays and stalls, in order, at the simulator's times. */
#include "live/weather.h"
#include "run/run.h"

#define MS UINT64_C(1000000)

static struct mot_weather *weather_of(const char *faults, struct mot_experiment **x)
{
    char text[400];
    struct mot_weather *w = NULL;
    snprintf(
        text, sizeof text, "{workers: 3, network: {bandwidth: none, latency: 100us}, faults: %s}", faults);
    struct mot_setting setting = { .key = "cluster", .value = text, .origin = "test" };
    if (mot_experiment_open(NULL, &setting, 1, x) || mot_weather_open((*x)->cluster, 1, &w))
        printf("  %s\n", mot_error());
    return w;
}

static void close_both(struct mot_weather *w, struct mot_experiment *x)
{
    mot_weather_close(w);
    mot_experiment_close(x);
}

TEST(fair_weather_is_the_plain_network)
{
    struct mot_experiment *c;
    struct mot_nic nic[4] = { 0 };
    struct mot_weather *w = weather_of("[{kind: drop, at: 10s, for: 1s}]", &c);
    CHECK(w);
    CHECK_INT(mot_weather_send(w, nic, 0, 1, 1000, 5 * MS), 5 * MS + 200000);
    CHECK_INT(mot_weather_tally(w).dropped, 0);
    close_both(w, c);
}

TEST(lost_frames_are_time_outs_and_what_follows_waits_its_turn)
{
    struct mot_experiment *c;
    struct mot_nic nic[4] = { 0 };
    struct mot_weather *w = weather_of("[{kind: drop, at: 0, for: 5ms, worker: 0}]", &c);
    CHECK(w);
    mot_time first = mot_weather_send(w, nic, 0, 1, 1000, 4 * MS),
             next = mot_weather_send(w, nic, 0, 1, 1000, 6 * MS);
    CHECK_INT(first, 14 * MS + 200000); /* the least time-out is 10 ms */
    CHECK_INT(next, first);
    CHECK(mot_weather_send(w, nic, 2, 1, 1000, 6 * MS) < first); /* others are not held up */
    CHECK_INT(mot_weather_tally(w).resent, 1);
    close_both(w, c);
}

TEST(messages_of_a_pair_stay_in_order_whatever_the_weather)
{
    struct mot_experiment *c;
    struct mot_nic nic[4] = { 0 };
    struct mot_weather *w = weather_of(
        "{drop: 30%, duplicate: 30%, reorder: 50%, corrupt: 20%, slow_link: 1/s, partition: 0.5/s}", &c);
    CHECK(w);
    mot_time last[2] = { 0, 0 };
    for (uint32_t i = 0; i < 5000; i++) {
        mot_time now = i * MS, due = mot_weather_send(w, nic, 0, 1 + i % 2, 100, now);
        CHECK(due > now && due >= last[i % 2] && due < now + 10000 * MS);
        last[i % 2] = due;
    }
    struct mot_fault_tally t = mot_weather_tally(w);
    CHECK(t.dropped > 1000 && t.duplicated > 1000 && t.reordered > 1000 && t.corrupted > 500 &&
        t.slow_links > 0 && t.partitions > 0);
    close_both(w, c);
}

TEST(a_partition_is_a_delay_until_it_is_over)
{
    struct mot_experiment *c;
    struct mot_nic nic[4] = { 0 };
    struct mot_weather *w = weather_of("[{kind: partition, at: 1s, for: 5s, workers: [1, 2]}]", &c);
    CHECK(w);
    mot_time due = mot_weather_send(w, nic, 0, 1, 10, 1000 * MS);
    CHECK(due >= 6000 * MS && due < 6200 * MS);
    CHECK(mot_weather_send(w, nic, 1, 2, 10, 1000 * MS) < 1001 * MS);
    close_both(w, c);
}

/* 1 MB at 1 Gbit/s takes 8 ms out of a node and 8 ms into the next, at the same time. */
TEST(the_slowest_of_the_slow_links_that_a_node_has_counts)
{
    struct mot_experiment *x;
    struct mot_weather *w = NULL;
    struct mot_setting setting = { .key = "cluster",
        .value = "{workers: 4, network: {bandwidth: 1Gbit, latency: 0s}, faults: ["
                 "{kind: slow-link, at: 0s, for: 1s, factor: 2, worker: 1}, "
                 "{kind: slow-link, at: 0s, for: 1s, factor: 8, worker: 2}, "
                 "{kind: slow-link, at: 0s, for: 1s, factor: 4, worker: 2}]}",
        .origin = "test" };
    static const struct {
        mot_node from, to;
        uint64_t ms;
    } cases[] = { { 0, 3, 8 }, { 1, 0, 16 }, { 0, 1, 16 }, { 2, 3, 64 }, { 3, 2, 64 }, { 1, 2, 64 } };
    CHECK_INT(mot_experiment_open(NULL, &setting, 1, &x), MOT_OK);
    CHECK_INT(mot_weather_open(x->cluster, 1, &w), MOT_OK);
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct mot_nic nic[5] = { 0 };
        mot_time due = mot_weather_send(w, nic, cases[i].from, cases[i].to, 1000000, 10 * MS);
        printf("  %u to %u\n", cases[i].from, cases[i].to);
        CHECK_INT(due, (10 + cases[i].ms) * MS);
    }
    CHECK_INT(mot_weather_send(w, (struct mot_nic[5]){ 0 }, 2, 1, 1000000, 2000 * MS), 2008 * MS); /* over */
    close_both(w, x);
}

TEST(stalls_are_told_once_and_overlaps_count_once)
{
    struct mot_experiment *c;
    mot_time longer;
    struct mot_weather *w = weather_of(
        "[{kind: stall, at: 100ms, for: 50ms, worker: 1}, {kind: stall, at: 120ms, for: 50ms, worker: 1}]",
        &c);
    CHECK(w);
    CHECK_INT(mot_weather_stall(w, 1, 90 * MS, &longer), 0);
    CHECK_INT(longer, 0);
    CHECK_INT(mot_weather_stall(w, 0, 130 * MS, &longer), 0);
    CHECK_INT(mot_weather_stall(w, 1, 130 * MS, &longer), 170 * MS);
    CHECK_INT(longer, 70 * MS);
    CHECK_INT(mot_weather_stall(w, 1, 140 * MS, &longer), 170 * MS);
    CHECK_INT(longer, 0);
    CHECK_INT(mot_weather_stall(w, 1, 171 * MS, &longer), 0);
    close_both(w, c);
}

TEST(a_thread_cannot_crash_alone)
{
    struct mot_experiment *c;
    CHECK(!weather_of("{crash: 1/s}", &c));
    CHECK_HAS(mot_error(), "not emulated");
    mot_experiment_close(c);
}

/* ---- Through the driver on threads -------------------------------------------------------------------- */

#define CLUSTER "{workers: [{count: 3, speed: 20000 samples/s}], faults: %s}"

static struct mot_outcome run(const struct mot_driver *driver, const char *method, const char *faults)
{
    char cluster[400];
    struct run r = { .ways = { .driver = driver, .emulate = driver == &mot_driver_threads } };
    snprintf(cluster, sizeof cluster, CLUSTER, faults);
    RUN_SET(&r, "data", "digits", "model", "softmax", "method", method, "stop.updates", "30",
        "evaluate.every", "1000 updates", "cluster", cluster);
    run_go(&r);
    struct mot_outcome out = { .status = r.status != MOT_OK ? r.status : r.out.status,
        .model_hash = r.out.model_hash,
        .last = r.out.last,
        .has_faults = r.out.has_faults,
        .faults = r.out.faults };
    run_free(&r);
    return out;
}

TEST(threads_in_bad_weather_reach_the_simulators_model)
{
    static const char *const methods[] = { "allreduce", "server" };
    for (int m = 0; m < 2; m++) {
        struct mot_outcome plain = run(&mot_driver_sim, methods[m], "[]");
        struct mot_outcome out = run(&mot_driver_threads, methods[m],
            "{drop: 5%, duplicate: 5%, reorder: 5%, corrupt: 2%, stall: 2/s, stall_for: 20ms}");
        CHECK_INT(out.status, MOT_OK);
        CHECK(out.model_hash == plain.model_hash);
        CHECK(out.has_faults && out.faults.resent > 0);
    }
}

TEST(a_stall_among_threads_takes_as_long_as_it_says)
{
    struct mot_outcome out =
        run(&mot_driver_threads, "allreduce", "[{kind: stall, at: 20ms, for: 300ms, worker: 1}]");
    CHECK_INT(out.status, MOT_OK);
    CHECK(out.last.now >= 320 * MS);
    CHECK_INT(out.faults.stalls, 1);
}

TEST(faults_that_cannot_be_emulated_are_refused)
{
    CHECK_INT(run(&mot_driver_threads, "async", "[{kind: crash, at: 1s, worker: 0}]").status, MOT_EUSAGE);
}

TEST_MAIN()
