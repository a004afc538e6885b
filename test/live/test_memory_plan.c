/* The memory that a run is said to take before it begins, and what it takes. */
#include "base/memory.h"
#include "run/memory_plan.h"
#include "run/run.h"
#include "sim/sim.h"
#include "wire/ranks_state.h"
#include "wire/team.h"
#include <sys/resource.h>
#include <sys/wait.h>

static struct mot_memory_plan plan_of(struct run *r)
{
    struct mot_memory_plan plan = { 0 };
    struct mot_driver_options o = {
        .experiment = r->experiment, .problem = &r->job.problem, .optim = &r->job.optim
    };
    r->status = r->ways.driver->plan(&o, &plan);
    return plan;
}

/* The most memory that a child has had, in bytes; it runs the experiment, or nothing. */
static double peak_of(struct run *r)
{
    struct rusage used = { 0 };
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (r) run_go(r);
        _exit(r && r->status != MOT_OK);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child || status != 0) return NAN;
    return (double)used.ru_maxrss * 1024;
}

/* A network's memory is its layers' outputs, an MLP's is its buffers and the sums of its gradients. */
static const char *const models[] = {
    "{name: network, layers: [{name: conv, out: 512, kernel: 1}, relu, {name: conv, out: 16, kernel: 3}, "
    "batch_norm, mean_pool, flatten, {name: linear, out: classes}]}",
    "{name: mlp, hidden: [1200, 1200]}",
};

static void set(struct run *r, const char *model, const char *workers, const char *method, bool live)
{
    RUN_SET(r, "data", "digits", "data.rows", "400", "model", model, "workers", workers, "method", method,
        "batch", "8", "stop.updates", "12", "sim.threads", "2", "evaluate.every", "4 updates");
    r->ways.driver = live ? &mot_driver_threads : &mot_driver_sim;
}

/* Stated over taken, which other programs do not change. */
static void within(const char *model, const char *workers, const char *method, bool live)
{
    struct run planned = { 0 }, real = { 0 };
    set(&planned, model, workers, method, live);
    set(&real, model, workers, method, live);
    CHECK_INT(mot_experiment_open(NULL, planned.setting, planned.settings, &planned.experiment), MOT_OK);
    CHECK_INT(mot_job_open(planned.experiment, &planned.job), MOT_OK);
    double stated = (double)plan_of(&planned).total;
    CHECK_INT(planned.status, MOT_OK);
    run_free(&planned);
    double taken = peak_of(&real) - peak_of(NULL);
    printf("  %s, %s workers, %s: stated %.1f MB, taken %.1f MB, %.1f %% off\n", live ? "threads" : "sim",
        workers, method, stated / 1e6, taken / 1e6, 100 * (stated / taken - 1));
    CHECK(fabs(stated / taken - 1) < 0.1);
}

TEST(the_memory_of_a_simulated_run_is_stated_within_ten_percent)
{
    if (SANITIZED) SKIP("a sanitizer takes memory of its own");
    for (size_t i = 0; i < MOT_COUNT(models); i++) {
        within(models[i], "1", "allreduce", false);
        within(models[i], "8", "allreduce", false);
        within(models[i], "8", "server", false);
        within(models[i], "4", "localsgd", false);
    }
}

TEST(the_memory_of_a_run_on_threads_is_stated_within_ten_percent)
{
    if (SANITIZED) SKIP("a sanitizer takes memory of its own");
    for (size_t i = 0; i < MOT_COUNT(models); i++) {
        within(models[i], "1", "allreduce", true);
        within(models[i], "8", "allreduce", true);
        within(models[i], "8", "server", true);
    }
}

/* Jobs that a rehearsal of the method plays. */
static uint64_t played_of(const char *method, bool apart, sig_atomic_t interrupt)
{
    struct run r = { 0 };
    const volatile sig_atomic_t interrupted = interrupt;
    struct mot_outcome out;
    uint64_t jobs = 0;
    set(&r, models[1], "4", method, false);
    if (mot_experiment_open(NULL, r.setting, r.settings, &r.experiment) != MOT_OK ||
        mot_job_open(r.experiment, &r.job) != MOT_OK)
        return UINT64_MAX;
    struct mot_driver_options o = { .experiment = r.experiment,
        .problem = &r.job.problem,
        .optim = &r.job.optim,
        .interrupt = &interrupted };
    if (mot_sim_rehearse(&o, apart, &out)) {
        for (uint32_t i = 0; i < 4; i++) jobs += out.node[i].jobs;
        mot_outcome_close(&out);
    }
    run_free(&r);
    return jobs;
}

TEST(a_rehearsal_ends_after_a_million_steps_or_when_the_run_is_interrupted)
{
    static const char *const long_rounds[] = { "{name: rennala, s: 100000000}",
        "{name: fedavg, steps: 1000000}" };
    for (size_t i = 0; i < (SANITIZED ? 1 : MOT_COUNT(long_rounds)); i++)
        for (int apart = 0; apart < (SANITIZED ? 1 : 2); apart++) {
            uint64_t jobs = played_of(long_rounds[i], apart, 0);
            printf("  %s: %llu jobs\n", long_rounds[i], (unsigned long long)jobs);
            CHECK(jobs > 1000 && jobs <= MOT_REHEARSAL_MOST);
            CHECK_INT(played_of(long_rounds[i], apart, SIGINT), 0);
        }
    CHECK(played_of("allreduce", true, 0) >= 16);
}

static struct mot_memory_plan plan_of_rank_0(const char *method, const char *workers, uint32_t ranks)
{
    struct mot_transport transport = { .ranks = ranks };
    struct mot_ranks rank_0 = { .transport = &transport };
    struct mot_memory_plan plan = { 0 };
    struct run r = { 0 };
    set(&r, models[1], workers, method, true);
    if (ranks > strtoul(workers, NULL, 10)) run_set(&r, "mpi.place", "own");
    r.status = mot_experiment_open(NULL, r.setting, r.settings, &r.experiment);
    if (r.status == MOT_OK) r.status = mot_job_open(r.experiment, &r.job);
    if (r.status == MOT_OK) {
        struct mot_driver_options o = {
            .experiment = r.experiment, .problem = &r.job.problem, .optim = &r.job.optim, .ranks = &rank_0
        };
        r.status = mot_driver_mpi.plan(&o, &plan);
    }
    run_free(&r);
    return plan;
}

/* Measured with Open MPI: rank 0 used 8 buffers with 4 workers and with 8. */
TEST(a_rank_is_said_to_take_what_its_own_nodes_use)
{
    struct mot_memory_plan few = plan_of_rank_0("allreduce", "3", 3),
                           many = plan_of_rank_0("allreduce", "12", 12);
    CHECK_INT(few.buffer_count, 8);
    CHECK_INT(many.buffer_count, 8);
    CHECK(many.rehearsed && many.copies == 2 && many.buffers_reserved > 4 * many.buffer_count);
    few = plan_of_rank_0("dpsgd", "4", 4), many = plan_of_rank_0("dpsgd", "12", 12);
    CHECK(few.buffer_count >= 7 && few.buffer_count <= 10);
    CHECK(many.buffer_count >= 7 && many.buffer_count <= 10);
    /* what all workers sent is on the rank with the server, which may have no worker */
    many = plan_of_rank_0("server", "12", 12);
    CHECK(many.buffer_count > 12 && many.copies == 2);
    many = plan_of_rank_0("server", "12", 13);
    CHECK(many.buffer_count > 12 && many.copies == 1);
    many = plan_of_rank_0("allreduce", "300", 300); /* too many to be rehearsed */
    CHECK(!many.rehearsed && many.buffer_count > 8 && many.buffer_count < 100);
    CHECK(many.buffers_reserved > 600);
}

TEST(ranks_that_share_a_machine_are_refused_what_they_do_not_fit_into_together)
{
    struct team t = { 0 };
    RUN_SET(&t.run, "data", "digits", "workers", "3", "model",
        "{name: network, layers: [{name: conv, out: 1000000, kernel: 1}, {name: conv, out: 1, kernel: "
        "1}, mean_pool, flatten, {name: linear, out: classes}]}");
    if (!team_open(&t)) FAIL("%s", mot_error());
    team_go(&t);
    for (uint32_t r = 0; r < 3; r++) {
        CHECK_INT(t.member[r].status, MOT_EUSAGE);
        CHECK_HAS(t.member[r].error, "this run may need ");
        CHECK_HAS(t.member[r].error, " rows, 4 times)"); /* of three workers and an evaluation */
    }
    team_forget(&t);
    team_close(&t);
}

TEST(a_run_that_no_machine_has_the_memory_for_is_refused_and_its_largest_part_named)
{
    for (int live = 0; live < 2; live++) {
        struct run r = { 0 };
        RUN_SET(&r, "data", "digits", "workers", "8", "sim.threads", "8", "model",
            "{name: network, layers: [{name: conv, out: 1000000, kernel: 1}, {name: conv, out: 1, kernel: "
            "1}, mean_pool, flatten, {name: linear, out: classes}]}");
        r.ways.driver = live ? &mot_driver_threads : &mot_driver_sim;
        run_go(&r);
        CHECK_INT(r.status, MOT_EUSAGE);
        CHECK_HAS(mot_error(), "this run may need ");
        CHECK_HAS(mot_error(), " for scratch (all layers' outputs for 128 rows, ");
        CHECK_HAS(mot_error(), live ? "fewer workers" : "fewer sim.threads");
        run_free(&r);
    }
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits");
    CHECK_INT(mot_experiment_open(NULL, r.setting, r.settings, &r.experiment), MOT_OK);
    const struct mot_driver_options o = { .experiment = r.experiment };
    struct mot_memory_plan plan = { .total = UINT64_MAX, .evaluation = UINT64_MAX / 2 };
    CHECK_INT(mot_memory_plan_check(&o, &plan, NULL), MOT_EUSAGE);
    CHECK_HAS(mot_error(), " for evaluations");
    plan = (struct mot_memory_plan){ .total = UINT64_MAX, .buffers = UINT64_MAX / 2, .buffer_count = 29 };
    CHECK_INT(mot_memory_plan_check(&o, &plan, NULL), MOT_EUSAGE);
    CHECK_HAS(mot_error(), " for 29 buffers of the model's size");
    plan = (struct mot_memory_plan){ .total = UINT64_MAX, .data = UINT64_MAX / 2 };
    CHECK_INT(mot_memory_plan_check(&o, &plan, NULL), MOT_EUSAGE);
    CHECK_HAS(mot_error(), " for data. Use fewer rows");
    mot_experiment_close(r.experiment);
}

TEST_MAIN()
