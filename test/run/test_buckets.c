/* Gradients that leave while they are computed: the model is the same to the bit, and the time is what can be
 * worked out by hand. */
#include "run/buckets.h"
#include "run/world.h"
#include "wire/team.h"

#define MS UINT64_C(1000000)

/* ---- When ---------------------------------------------------------------------------------- */

static mot_time time_of(const char *bucket, const char *updates)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits", "model", "{name: phantom, parameters: 1e6}", "method", "allreduce",
        "method.bucket", bucket, "stop.updates", updates, "sim.collective", "ring", "cluster",
        "{network: {bandwidth: 1Gbit, latency: 0s}, workers: [{count: 2, job_time: 30ms}]}");
    run_go(&r);
    mot_time now = r.status == MOT_OK ? r.out.last.now : 0;
    run_free(&r);
    return now;
}

/* 4 MB, of which half goes each way, twice: 32 ms on links of 8 ns a byte. The way back lasts from 10 ms to
 * 30 ms, so buckets of 1 MB leave at 15, 20, 25 and 30 ms. From 15 ms on the links are never idle. */
TEST(a_step_takes_what_the_links_take_from_when_the_first_bucket_leaves)
{
    CHECK_INT(time_of("none", "1"), 62 * MS);
    CHECK_INT(time_of("1MB", "1"), 47 * MS);
    CHECK_INT(time_of("1MB", "10"), 470 * MS);
    /* two of 2 MB: at 20 and 30 ms; each needs 16 ms, and the first is done at 36 ms */
    CHECK_INT(time_of("2MB", "1"), 52 * MS);
    /* one bucket of 3 MB leaves at 25 ms, the rest at 30 ms; links are busy from then on */
    CHECK_INT(time_of("3MB", "1"), 57 * MS);
    CHECK_INT(time_of("4MB", "1"), 62 * MS); /* nothing is left to compute when it is final */
    CHECK_INT(time_of("1GB", "1"), 62 * MS);
}

/* 64 columns, layers of 32 and 16, 10 classes: 2080, 528 and 170 floats, of which 2048, 512 and 160 are
 * weights. Of 160 samples the last slice has 32. */
TEST(layers_leave_at_their_share_of_the_way_back_over_the_last_slice)
{
    struct run r = { 0 };
    struct mot_world w;
    RUN_SET(&r, "data", "digits", "model", "{name: mlp, hidden: [32, 16]}", "method.bucket", "1B", "workers",
        "1", "cluster", "{workers: [{count: 1, speed: 1000 samples/s, fixed: 7ms}]}");
    CHECK_INT(mot_experiment_open(NULL, r.setting, r.settings, &r.experiment), MOT_OK);
    CHECK_INT(mot_job_open(r.experiment, &r.job), MOT_OK);
    CHECK_INT(mot_world_open(r.experiment, &r.job.problem, &r.job.optim, &w), MOT_OK);
    CHECK_INT(w.buckets, 3);
    CHECK_INT(w.bucket_at[1], 2080);
    CHECK_INT(w.bucket_at[2], 2608);
    CHECK_INT(w.bucket_at[3], 2778);
    struct mot_slot s = { .summed = true, .asked = 160 };
    const struct mot_machine *m = &r.experiment->cluster->machine[0];
    CHECK(mot_slot_leaves(&s, &w));
    CHECK_INT(mot_slot_bucket(&s, &w), 2);
    CHECK_NEAR((double)mot_slot_leaves_after(&s, &w, &r.job.problem, m, 167 * MS),
        167e6 - 32e6 * 2 / 3 * 2560 / 2720, 1);
    s.gone = 1;
    CHECK_NEAR((double)mot_slot_leaves_after(&s, &w, &r.job.problem, m, 167 * MS),
        167e6 - 32e6 * 2 / 3 * 2048 / 2720, 1);
    s.asked = 128; /* all in one slice, and stretched to twice the time, the fixed part too */
    CHECK_NEAR((double)mot_slot_leaves_after(&s, &w, &r.job.problem, m, 270 * MS),
        270e6 - 256e6 * 2 / 3 * 2048 / 2720, 1);
    s.gone = 2;
    CHECK(!mot_slot_leaves(&s, &w)); /* the first leaves with the end of the job */
    s.gone = 0, s.asked = 0;
    CHECK(!mot_slot_leaves(&s, &w)); /* without samples nothing is computed */
    mot_world_close(&w);
    run_free(&r);
}

/* Tells by when the last layer's bucket leaves; each sample takes 1 ms. */
static void last_slice_has(const char *layers, uint64_t samples, uint64_t expected)
{
    struct run r = { 0 };
    struct mot_world w;
    char model[160];
    snprintf(model, sizeof model,
        "{name: network, layers: [flatten, {name: linear, out: 16}, %s, {name: linear, out: classes}]}",
        layers);
    RUN_SET(&r, "data", "digits", "model", model, "method.bucket", "1B", "workers", "1", "cluster",
        "{workers: [{count: 1, speed: 1000 samples/s}]}");
    CHECK_INT(mot_experiment_open(NULL, r.setting, r.settings, &r.experiment), MOT_OK);
    CHECK_INT(mot_job_open(r.experiment, &r.job), MOT_OK);
    CHECK_INT(mot_world_open(r.experiment, &r.job.problem, &r.job.optim, &w), MOT_OK);
    CHECK(w.buckets > 1);
    struct mot_slot s = { .summed = true, .asked = samples };
    const struct mot_machine *m = &r.experiment->cluster->machine[0];
    mot_time left = mot_slot_leaves_after(&s, &w, &r.job.problem, m, samples * MS);
    double rows = (double)(samples * MS - left) / MS / w.bucket_left[w.buckets - 1];
    mot_world_close(&w);
    run_free(&r);
    CHECK_NEAR(rows, (double)expected, 1e-3);
}

TEST(the_last_slice_has_the_rows_that_the_kernel_gives_it)
{
    static const struct {
        const char *layers;
        uint64_t samples, last;
    } cases[] = {
        { "relu", 128, 128 },
        { "relu", 129, 1 },
        { "relu", 130, 2 },
        { "relu", 256, 128 },
        { "relu", 257, 1 },
        { "batch_norm", 1, 1 },
        { "batch_norm", 128, 128 },
        { "batch_norm", 129, 2 }, /* a batch norm behind a dense layer gives a row alone no variance */
        { "batch_norm", 130, 2 },
        { "batch_norm", 256, 128 },
        { "batch_norm", 257, 2 },
        { "{name: group_norm, groups: 4}", 129, 1 },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        printf("  %s, %llu samples\n", cases[i].layers, (unsigned long long)cases[i].samples);
        last_slice_has(cases[i].layers, cases[i].samples, cases[i].last);
    }
}

TEST(buckets_are_cut_between_layers_have_at_least_their_size_and_leave_by_their_place)
{
    static const struct {
        const char *model, *bucket;
        uint32_t buckets, second;
    } cases[] = {
        { "{name: mlp, hidden: [32, 16]}", "680B", 3, 2080 }, /* 170 floats: the last layer */
        { "{name: mlp, hidden: [32, 16]}", "681B", 2, 2080 },
        { "{name: mlp, hidden: [32, 16]}", "2792B", 2, 2080 }, /* 698 floats: the last two */
        { "{name: mlp, hidden: [32, 16]}", "2793B", 1, 2778 },
        { "softmax", "1B", 0, 0 }, /* no layers to cut between */
        { "{name: phantom, parameters: 1e6}", "1B", 1024, 1 },
        { "{name: phantom, parameters: 100}", "40B", 10, 10 },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct run r = { 0 };
        struct mot_world w;
        RUN_SET(&r, "data", "digits", "model", cases[i].model, "method.bucket", cases[i].bucket);
        CHECK_INT(mot_experiment_open(NULL, r.setting, r.settings, &r.experiment), MOT_OK);
        CHECK_INT(mot_job_open(r.experiment, &r.job), MOT_OK);
        CHECK_INT(mot_world_open(r.experiment, &r.job.problem, &r.job.optim, &w), MOT_OK);
        printf("  %s, %s\n", cases[i].model, cases[i].bucket);
        CHECK_INT(w.buckets, cases[i].buckets);
        if (w.buckets) CHECK_INT(w.bucket_at[0], 0);
        if (w.buckets) CHECK_INT(w.bucket_at[1], cases[i].second);
        if (w.buckets) CHECK_INT(w.bucket_at[w.buckets], w.dim);
        for (uint32_t k = 0; k < w.buckets && strstr(cases[i].model, "phantom"); k++)
            CHECK_NEAR(w.bucket_left[k], 2.0 / 3 * w.bucket_at[k] / w.dim, 1e-12);
        mot_world_close(&w);
        run_free(&r);
    }
}

/* ---- What: the same to the bit --------------------------------------------------------------- */

#define NETWORK                                                                                              \
    "{name: network, layers: [{name: conv, out: 4, kernel: 3}, relu, {name: max_pool, kernel: 2}, flatten, " \
    "{name: linear, out: 12}, relu, {name: linear, out: classes}]}"
/* Some jobs are 9, some 40 times as long as others; thin links keep messages in flight meanwhile. */
#define CLUSTER                                                                                              \
    "{network: {bandwidth: 500Mbit, latency: 50us}, workers: [{count: 1, speed: 90000 samples/s}, {count: "  \
    "2, speed: 10000 samples/s}]}"

/* The hash of the model; 0: the run failed. */
static uint64_t run_of(struct team *t, const struct mot_job_ways *ways)
{
    struct mot_outcome out = { 0 };
    if (mot_job_run(&t->run.job, ways, &out) != MOT_OK) return 0;
    uint64_t hash = out.status == MOT_OK ? out.model_hash : 0;
    mot_outcome_close(&out);
    return hash;
}

static uint64_t over_ranks(struct team *t, bool emulate)
{
    t->emulate = emulate;
    team_go(t);
    uint64_t hash = t->member[0].status == MOT_OK ? t->member[0].out.model_hash : 0;
    for (uint32_t r = 0; r < t->ranks; r++)
        if (t->member[r].left_with != MOT_OK) hash = 0, printf("  rank %u: %s\n", r, t->member[r].error);
    team_forget(t);
    return hash;
}

static void same_everywhere(const char *model, const char *batch, const char *collective, size_t sizes)
{
    static const char *const buckets[] = { "none", "1B", "20kB", "1kB", "1GB" };
    uint64_t hash = 0;
    for (size_t i = 0; i < sizes; i++) {
        struct team t = { 0 };
        RUN_SET(&t.run, "data", "digits", "model", model, "batch", batch, "workers", "3", "cluster", CLUSTER,
            "optimizer", "{name: sgd, lr: 0.05, momentum: 0.9}", "stop.updates", SANITIZED ? "2" : "4",
            "sim.collective", collective, "method.bucket", buckets[i], "evaluate.train", "end");
        if (!team_open(&t)) FAIL("%s", mot_error());
        printf("  %.40s, batch %s, %s, %s\n", model, batch, collective, buckets[i]);
        uint64_t simulated = run_of(&t, &(struct mot_job_ways){ .driver = &mot_driver_sim });
        if (i == 0) hash = simulated;
        CHECK(hash != 0 && simulated == hash);
        CHECK(run_of(&t, &(struct mot_job_ways){ .driver = &mot_driver_threads }) == hash);
        CHECK(run_of(&t, &(struct mot_job_ways){ .driver = &mot_driver_threads, .emulate = true }) == hash);
        CHECK(over_ranks(&t, false) == hash);
        CHECK(over_ranks(&t, true) == hash);
        team_close(&t);
    }
}

TEST(an_mlp_is_the_same_to_the_bit_with_and_without_in_every_driver)
{
    same_everywhere("{name: mlp, hidden: [40, 24, 16]}", "[7, 32, 300]", "ring", 5);
    same_everywhere("{name: mlp, hidden: [40, 24], reg: l2, lambda: 1e-3}", "16", "doubling", 5);
}
TEST(a_convolutional_network_is_the_same_to_the_bit_with_and_without_in_every_driver)
{
    same_everywhere(NETWORK, "20", "tree", 5);
}
TEST(a_network_with_batch_norm_is_the_same_to_the_bit_with_and_without_in_every_driver)
{
    same_everywhere("{name: network, layers: [{name: conv, out: 3, kernel: 3, padding: 1}, {name: "
                    "batch_norm}, relu, {name: residual, layers: [{name: conv, out: 3, kernel: 3, padding: "
                    "1}, {name: batch_norm}]}, relu, flatten, {name: linear, out: classes}]}",
        "[16, 8, 24]", "ring", 5);
}

TEST(one_worker_and_one_more_than_a_power_of_two_sum_in_buckets)
{
    static const char *const workers[] = { "1", "5" };
    for (size_t i = 0; i < MOT_COUNT(workers); i++) {
        uint64_t hash[2];
        for (int cut = 0; cut < 2; cut++) {
            struct team t = { 0 };
            RUN_SET(&t.run, "data", "digits", "model", "mlp", "workers", workers[i], "stop.updates", "9",
                "method.bucket", cut ? "1B" : "none");
            if (!team_open(&t)) FAIL("%s", mot_error());
            hash[cut] = run_of(&t, &(struct mot_job_ways){ .driver = &mot_driver_sim });
            CHECK(run_of(&t, &(struct mot_job_ways){ .driver = &mot_driver_threads }) == hash[cut]);
            CHECK(over_ranks(&t, false) == hash[cut]);
            team_close(&t);
        }
        CHECK(hash[0] == hash[1]);
    }
}

/* ---- How it ends ------------------------------------------------------------------------------ */

#define SHORT                                                                                                \
    "data", "digits", "model", "{name: mlp, hidden: [20, 12]}", "workers", "3", "method.bucket", "1B"

TEST(a_worker_that_has_run_out_of_data_keeps_nobody_waiting)
{
    struct team t = { 0 };
    RUN_SET(&t.run, SHORT, "batch", "[64, 32, 32]", "sampler.passes", "2", "stop.epochs", "100");
    if (!team_open(&t)) FAIL("%s", mot_error());
    uint64_t hash = run_of(&t, &(struct mot_job_ways){ .driver = &mot_driver_sim });
    CHECK(run_of(&t, &(struct mot_job_ways){ .driver = &mot_driver_threads }) == hash);
    CHECK(over_ranks(&t, false) == hash);
    team_close(&t);
}

TEST(a_target_or_the_clock_ends_a_live_run_at_the_same_update_for_all)
{
    for (int clock = 0; clock < 2; clock++) {
        struct team t = { 0 };
        RUN_SET(&t.run, SHORT, clock ? "stop.time" : "stop.target", clock ? "300ms" : "{test_accuracy: 0.5}",
            "optimizer.lr", "0.05", "evaluate.every", "5 updates");
        if (!team_open(&t)) FAIL("%s", mot_error());
        struct mot_outcome out = { 0 };
        CHECK_INT(
            mot_job_run(&t.run.job, &(struct mot_job_ways){ .driver = &mot_driver_threads }, &out), MOT_OK);
        CHECK_TEXT(out.ended_by, clock ? "time" : "target");
        for (int i = 1; i < 3; i++) CHECK_INT(out.node[i].updates, out.node[0].updates);
        mot_outcome_close(&out);
        team_go(&t);
        for (uint32_t r = 0; r < t.ranks; r++) CHECK_INT(t.member[r].left_with, MOT_OK);
        CHECK_TEXT(t.member[0].out.ended_by, clock ? "time" : "target");
        for (int i = 1; i < 3; i++)
            CHECK_INT(t.member[0].out.node[i].updates, t.member[0].out.node[0].updates);
        team_forget(&t);
        team_close(&t);
    }
}

static enum mot_loop_fate kill_one(void *self, struct mot_loop_frame *f)
{
    uint32_t *left = self;
    if (f->from != 2 || f->envelope->kind != MOT_ENVELOPE_PART || --*left > 0) return MOT_LOOP_PASS;
    return MOT_LOOP_KILL;
}

TEST(a_rank_that_is_lost_between_two_buckets_ends_the_run_for_all)
{
    for (uint32_t after = 1; after <= (SANITIZED ? 3 : 9); after++) {
        uint32_t left = after;
        struct team t = { .look = kill_one, .self = &left };
        RUN_SET(&t.run, SHORT, "stop.updates", "50");
        if (!team_open(&t)) FAIL("%s", mot_error());
        team_go(&t);
        CHECK_INT(t.member[0].left_with, MOT_EPEER);
        CHECK_INT(t.member[1].left_with, MOT_EPEER);
        team_forget(&t);
        team_close(&t);
    }
}

/* Another range than the bucket's, another number, another length: such a rank is given up. */
static uint32_t lie;
static enum mot_loop_fate lie_once(void *self, struct mot_loop_frame *f)
{
    uint32_t *left = self;
    if (f->from != 2 || f->to != 0 || f->envelope->kind != MOT_ENVELOPE_PART || --*left > 0)
        return MOT_LOOP_PASS;
    if (lie == 0) f->envelope->range.off += 1;
    if (lie == 1) f->envelope->range.len = 1u << 20, f->envelope->range.off = 0;
    if (lie == 2) f->envelope->range.number += 1;
    if (lie == 3) f->envelope->range.number += 40;
    if (lie == 4) f->envelope->range.number -= 1;
    if (lie == 5) f->envelope->range.number = 0;
    mot_envelope_seal(f->envelope);
    return MOT_LOOP_PASS;
}

TEST(what_no_bucket_can_be_is_not_believed)
{
    for (lie = 0; lie < 6; lie++)
        for (uint32_t at = 3; at <= (SANITIZED ? 3 : 5); at++) {
            uint32_t left = at;
            struct team t = { .look = lie_once, .self = &left };
            RUN_SET(&t.run, SHORT, "stop.updates", "50");
            if (!team_open(&t)) FAIL("%s", mot_error());
            team_go(&t);
            CHECK_INT(t.member[0].left_with, MOT_EPEER);
            team_forget(&t);
            team_close(&t);
        }
}

TEST(a_crash_in_the_simulator_ends_the_run_whatever_has_left)
{
    static const char *const when[] = { "10ms", "24ms", "27ms", "31ms", "80ms" };
    for (size_t i = 0; i < MOT_COUNT(when); i++) {
        char cluster[200];
        struct run r = { 0 };
        snprintf(cluster, sizeof cluster,
            "{network: {bandwidth: 10Mbit}, workers: [{count: 3, job_time: 30ms}], faults: {drop: 2%%, "
            "schedule: [{kind: crash, at: %s, worker: 1}]}}",
            when[i]);
        RUN_SET(&r, SHORT, "cluster", cluster, "stop.updates", "50");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.out.status, MOT_EPEER);
        run_free(&r);
    }
}

TEST(over_lossy_links_buckets_give_the_same_model)
{
    uint64_t hash[2];
    for (int cut = 0; cut < 2; cut++) {
        struct run r = { 0 };
        RUN_SET(&r, SHORT, "method.bucket", cut ? "1B" : "none", "cluster",
            "{network: {bandwidth: 10Mbit}, workers: [{count: 3, job_time: 30ms}], faults: {drop: 5%, "
            "duplicate: 5%, reorder: 5%, corrupt: 2%, schedule: [{kind: stall, at: 25ms, for: 40ms, worker: "
            "1}]}}",
            "stop.updates", "20");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.out.status, MOT_OK);
        hash[cut] = r.out.model_hash;
        run_free(&r);
    }
    CHECK(hash[0] == hash[1]);
}

TEST(compressed_gradients_leave_as_a_whole)
{
    struct run r = { 0 };
    RUN_SET(&r, SHORT, "compress", "{name: topk, ratio: 10%}");
    run_go(&r);
    CHECK_INT(r.status, MOT_EUSAGE);
    CHECK(strstr(mot_error(), "method.bucket"));
    run_free(&r);
}

TEST_MAIN()
