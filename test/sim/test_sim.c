/* The simulator: determinism, the clock, collectives, data that runs out, stopping. */
#include "run/run.h"

#define SMALL "data", "digits", "model", "softmax", "workers", "4", "stop.updates", "40"

static uint64_t hash_of(struct run *r)
{
    run_go(r);
    uint64_t hash = r->status == MOT_OK ? r->out.model_hash : 0;
    run_free(r);
    return hash;
}

TEST(one_thread_and_two_give_the_same_model)
{
    static const char *const methods[] = { "allreduce", "server", "async" };
    for (int m = 0; m < 3; m++) {
        struct run one = { 0 }, two = { 0 };
        RUN_SET(&one, SMALL, SMALL_MLP, "method", methods[m], "sim.threads", "1");
        RUN_SET(&two, SMALL, SMALL_MLP, "method", methods[m], "sim.threads", "2");
        uint64_t a = hash_of(&one), b = hash_of(&two);
        CHECK(a != 0);
        CHECK(a == b);
    }
}

TEST(another_seed_gives_another_model)
{
    struct run one = { 0 }, two = { 0 };
    RUN_SET(&one, SMALL, "seed", "1");
    RUN_SET(&two, SMALL, "seed", "2");
    CHECK(hash_of(&one) != hash_of(&two));
}

TEST_SIMULATED(every_collective_gives_the_same_bits)
{
    static const char *const workers[] = { "1", "2", "3", "5", "6", "8" };
    for (int w = 0; w < 6; w++) {
        uint64_t hash[3];
        static const char *const kinds[] = { "ring", "tree", "doubling" };
        for (int k = 0; k < 3; k++) {
            struct run r = { 0 };
            RUN_SET(&r, SMALL, "workers", workers[w], "sim.collective", kinds[k]);
            hash[k] = hash_of(&r);
            CHECK(hash[k] != 0);
        }
        CHECK(hash[0] == hash[1] && hash[1] == hash[2]);
    }
}

TEST(the_server_that_waits_for_all_is_allreduce)
{
    struct run a = { 0 }, s = { 0 };
    RUN_SET(&a, SMALL, "method", "allreduce");
    RUN_SET(&s, SMALL, "method", "server");
    CHECK(hash_of(&a) == hash_of(&s));
}

TEST(one_worker_is_plain_sgd_whatever_the_method)
{
    struct run a = { 0 }, s = { 0 }, y = { 0 };
    RUN_SET(&a, SMALL, "workers", "1", "method", "allreduce");
    RUN_SET(&s, SMALL, "workers", "1", "method", "server");
    RUN_SET(&y, SMALL, "workers", "1", "method", "async");
    uint64_t hash = hash_of(&a);
    CHECK(hash != 0);
    CHECK(hash == hash_of(&s));
    CHECK(hash == hash_of(&y));
}

/* ---- Absurd, but allowed --------------------------------------------------------------------- */

/* The run's own status; its folder-less outcome must be there to be freed. */
static enum mot_status end_of(struct run *r)
{
    run_go(r);
    enum mot_status status = r->status == MOT_OK ? r->out.status : r->status;
    run_free(r);
    return status;
}

TEST(a_clock_that_runs_out_of_nanoseconds_is_an_error_not_a_crash)
{
    struct run jobs = { 0 }, links = { 0 }, deadline = { 0 };
    RUN_SET(&jobs, "data", "digits", "model", "phantom", "cluster",
        "{workers: [{count: 2, job_time: 900000000s}]}", "stop.updates", "40");
    CHECK_INT(end_of(&jobs), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "292 years");
    RUN_SET(&links, "data", "digits", "model", "phantom", "model.parameters", "1e12", "workers", "2",
        "stop.updates", "40", "cluster.network.bandwidth", "1bit");
    CHECK_INT(end_of(&links), MOT_EUSAGE);
    RUN_SET(&deadline, "data", "digits", "model", "phantom", "method", "server", "method.deadline",
        "adaptive", "method.spread", "1e6", "cluster", "{workers: [{count: 2, job_time: 9000000s}]}",
        "stop.updates", "40");
    CHECK_INT(end_of(&deadline), MOT_OK);
}

TEST(a_time_limit_comes_before_the_end_of_the_clock)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits", "model", "phantom", "cluster",
        "{workers: [{count: 2, job_time: 900000000s}]}", "stop.time", "100000h");
    CHECK_INT(end_of(&r), MOT_OK);
}

TEST(a_schedule_for_more_epochs_than_anyone_can_count_is_flat)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits", "model", "softmax", "optimizer.schedule.name", "cosine", "stop.epochs",
        "1e300", "stop.time", "100ms");
    CHECK_INT(end_of(&r), MOT_OK);
}

struct seen {
    uint64_t evaluated;
};
static void count_evaluation(void *self, const struct mot_moment *m)
{
    (void)m;
    ((struct seen *)self)->evaluated++;
}

TEST(evaluations_closer_than_doubles_can_tell_come_after_each_update)
{
    static const char *const every[] = { "1e-300 epochs", "1e-320 epochs", "1e-17 epochs" };
    for (int i = 0; i < 3; i++) {
        struct run r = { 0 };
        struct seen seen = { 0 };
        RUN_SET(&r, SMALL, "evaluate.every", every[i]);
        CHECK_INT(mot_experiment_open(NULL, r.setting, r.settings, &r.experiment), MOT_OK);
        CHECK_INT(mot_job_open(r.experiment, &r.job), MOT_OK);
        struct mot_watch watch = { .self = &seen, .evaluated = count_evaluation };
        CHECK_INT(mot_driver_sim.run(&(struct mot_driver_options){ .experiment = r.experiment,
                                         .problem = &r.job.problem,
                                         .optim = &r.job.optim,
                                         .x0 = r.job.x0,
                                         .watch = &watch },
                      &r.out),
            MOT_OK);
        CHECK_INT(seen.evaluated, 41); /* the beginning, 39 updates, the end */
        run_free(&r);
    }
}

/* ---- The clock ----------------------------------------------------------------------------- */

/* A phantom of 1,000,000 parameters: 4 MB; 32 samples at 1000/s take 32 ms; 1 Gbit/s is 8 ns a byte. */
#define PHANTOM "model", "phantom", "model.parameters", "1000000", "stop.updates", "1", "data", "digits"

static double seconds_of(struct run *r)
{
    run_go(r);
    double s = r->status == MOT_OK ? (double)r->out.last.now * 1e-9 : NAN;
    run_free(r);
    return s;
}

TEST(a_ring_takes_two_n_minus_one_steps_of_an_nth)
{
    struct run r = { 0 };
    RUN_SET(&r, PHANTOM, "workers", "4", "sim.collective", "ring");
    /* 6 steps of 1 MB: 8 ms each, and twice 100 us of latency. */
    CHECK_NEAR(seconds_of(&r), 0.032 + 6 * (0.008 + 0.0002), 1e-6);
}

TEST(a_tree_takes_log_n_levels_up_and_down)
{
    struct run r = { 0 };
    RUN_SET(&r, PHANTOM, "workers", "4", "sim.collective", "tree");
    /* 1 and 3 send 4 MB up together, 2 sends to 0; then 0 sends to 2 and to 1, 2 to 3. A message is 32.2 ms;
     * 0's second one waits for its up link. The last is 3 or 1. */
    CHECK_NEAR(seconds_of(&r), 0.032 + 2 * 0.0322 + 0.0322 + 0.0322, 1e-6);
}

TEST(recursive_doubling_takes_log_n_exchanges)
{
    struct run r = { 0 };
    RUN_SET(&r, PHANTOM, "workers", "8", "sim.collective", "doubling");
    CHECK_NEAR(seconds_of(&r), 0.032 + 3 * 0.0322, 1e-6);
}

TEST(recursive_doubling_of_six_folds_two_extra_nodes)
{
    struct run r = { 0 };
    RUN_SET(&r, PHANTOM, "workers", "6", "sim.collective", "doubling");
    /* 4 and 5 give theirs to 0 and 1 by 32.2 ms. Meanwhile 2 and 3 have exchanged and send on
     * to 0 and 1, whose down links are theirs until 64.2 ms; only then 0 and 1 exchange, by 96.4 ms. 0 then
     * sends to 2 and, when its up link is free at 128.4 ms, the result to 4, which has it at 160.6 ms. */
    CHECK_NEAR(seconds_of(&r), 0.032 + 0.1606, 1e-6);
}

TEST(a_thin_link_slows_the_ring_to_its_pace)
{
    struct run r = { 0 };
    RUN_SET(&r, PHANTOM, "cluster", "{workers: [{count: 3}, {up: 100Mbit, down: 100Mbit}]}", "sim.collective",
        "ring");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    double took = (double)r.out.last.now * 1e-9;
    run_free(&r);
    /* Its link carries 6 chunks of 1 MB each way at 80 ms; nothing hides them. */
    CHECK(took > 0.032 + 6 * 0.080);
    CHECK(took < 0.032 + 8 * 0.081);
}

TEST(the_server_feels_incast)
{
    struct run r = { 0 };
    RUN_SET(&r, PHANTOM, "workers", "4", "method", "server", "cluster",
        "{network: {up: 1Gbit, down: 1Gbit, latency: 0s}}");
    /* Models leave the server one after the other, 32 ms each; the last worker begins at 128
     * ms, is done at 160 ms, and by then the others' gradients, 32 ms each, have just made way: 192 ms. */
    CHECK_NEAR(seconds_of(&r), 0.192, 1e-6);
}

TEST(bytes_of_a_ring_are_eight_m_times_n_minus_one_over_n_each)
{
    struct run r = { 0 };
    RUN_SET(&r, PHANTOM, "workers", "4");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    for (int i = 0; i < 4; i++) CHECK_NEAR((double)r.out.node[i].bytes_sent, 8e6 * 3 / 4, 10);
    CHECK_INT(r.out.last.messages, 24);
    run_free(&r);
}

/* ---- Slow workers ---------------------------------------------------------------------------- */

#define ONE_SLOW                                                                                             \
    "{network: none, workers: [{count: 7, speed: 1000 samples/s}, {speed: 200 samples/s, name: slow}]}"

TEST(allreduce_takes_the_slow_workers_time_and_seven_of_eight_do_not)
{
    struct run a = { 0 }, s = { 0 };
    RUN_SET(&a, SMALL, "workers", "8", "cluster", ONE_SLOW, "method", "allreduce");
    RUN_SET(&s, SMALL, "workers", "8", "cluster", ONE_SLOW, "method", "server", "method.k", "7");
    CHECK_NEAR(seconds_of(&a), 40 * 0.160, 1e-6);
    CHECK_NEAR(seconds_of(&s), 40 * 0.032, 1e-6);
}

TEST(late_gradients_are_dropped_and_counted)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "workers", "8", "cluster", ONE_SLOW, "method", "server", "method.k", "7");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.node[7].updates, 0);
    CHECK_INT(r.out.node[0].updates, 40);
    uint64_t late = 0;
    for (uint32_t i = 0; i < r.out.notes; i++)
        if (strcmp(r.out.note[i].key, "late") == 0) late = r.out.note[i].count;
    CHECK_INT(late, 7); /* one every 160 ms in 1.28 s, the eighth just as the last round closes */
    run_free(&r);
}

TEST(an_adaptive_deadline_learns_to_leave_the_slow_worker_behind)
{
    struct run r = { 0 };
    RUN_SET(
        &r, SMALL, "workers", "8", "cluster", ONE_SLOW, "method", "server", "method.deadline", "adaptive");
    double took = seconds_of(&r);
    /* The first round waits for all 160 ms; then 32 ms plus a fifth of it at the most. */
    CHECK(took < 0.160 + 39 * 0.032 * 1.25);
    CHECK(took >= 0.160 + 39 * 0.032);
}

TEST(a_fixed_deadline_closes_rounds_with_what_there_is)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "workers", "8", "cluster", ONE_SLOW, "method", "server", "method.deadline", "fixed",
        "method.after", "50ms");
    CHECK_NEAR(seconds_of(&r), 40 * 0.050, 1e-6);
}

TEST(a_workers_time_is_accounted_for_to_the_last_nanosecond)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "workers", "8", "method", "async");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    for (uint32_t i = 0; i < 9; i++) {
        const struct mot_node_tally *n = &r.out.node[i];
        CHECK_INT(n->compute + n->send + n->wait, r.out.last.now);
    }
    CHECK_INT(r.out.node[8].compute, 0);
    run_free(&r);
}

/* ---- Data that runs out, batches of their own, ends ---------------------------------------------- */

TEST(a_worker_out_of_data_does_not_stall_the_others)
{
    static const char *const methods[] = { "allreduce", "server", "async" };
    for (int m = 0; m < 3; m++) {
        struct run r = { 0 };
        /* 1437 training rows over 4 workers; worker 0 takes twice as many at a time and is done first. */
        RUN_SET(&r, "data", "digits", "model", "softmax", "workers", "4", "method", methods[m], "batch",
            "[64, 32, 32, 32]", "sampler.passes", "2", "stop.epochs", "100");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.out.status, MOT_OK);
        CHECK_TEXT(r.out.ended_by, "data");
        CHECK_INT(r.out.last.samples, 2 * r.job.data->train.rows);
        run_free(&r);
    }
}

TEST(a_time_limit_ends_the_run_just_then)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits", "model", "softmax", "stop.time", "1s");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_TEXT(r.out.ended_by, "time");
    CHECK_INT(r.out.last.now, 1000000000);
    run_free(&r);
}

TEST(a_target_ends_the_run_when_an_evaluation_meets_it)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits", "model", "softmax", "stop.target.test_accuracy", "0.8", "evaluate.every",
        "5 updates");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_TEXT(r.out.ended_by, "target");
    CHECK(r.out.target.reached);
    CHECK(r.out.last.score.test_accuracy >= 0.8);
    CHECK_INT(r.out.last.updates % 5, 0);
    CHECK(!isnan(r.out.last.score.train_loss) && !isnan(r.out.last.score.grad_norm));
    run_free(&r);
}

TEST(a_run_that_diverges_says_so)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "synthetic", "data.kind", "regression", "model", "least-squares", "optimizer.lr",
        "1000", "stop.updates", "500");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.status, MOT_EDIVERGED);
    run_free(&r);
}

TEST_MAIN()
