/* Profiles: what is fitted to the measurements, and that a profile taken on threads makes a cluster. */
#include "config/cluster_file.h"
#include "live/profile.h"
#include "live/threads.h"
#include "run/run.h"
#include <sched.h>

static struct mot_profile_worker worker_with(double fixed_s, double per_sample_s)
{
    struct mot_profile_worker w = { .batch = { 8, 16, 32, 64 } };
    for (int k = 0; k < MOT_PROFILE_SIZES; k++) w.mean_s[k] = fixed_s + per_sample_s * w.batch[k];
    return w;
}

TEST(the_line_through_mean_times_gives_back_fixed_cost_and_speed)
{
    struct mot_profile_worker w = worker_with(3e-4, 2e-5);
    mot_profile_fit(&w, 0.5, 0.04);
    CHECK_NEAR(w.fixed_s, 3e-4, 1e-9);
    CHECK_NEAR(w.per_sample_s, 2e-5, 1e-11);
}

TEST(times_that_fall_with_the_batch_do_not_give_a_negative_cost)
{
    struct mot_profile_worker w = worker_with(-1e-4, 2e-5);
    mot_profile_fit(&w, 1, 0);
    CHECK(w.fixed_s == 0);
    CHECK(w.per_sample_s > 0 && w.per_sample_s < 2e-5);
    CHECK(w.sigma == 0);
}

/* By hand: 0.8, 1.2 around 1; 1.8, 2, 2.2 around 2; one job alone; none. Squares 0.08 + 0.02 over 5 - 2. */
TEST(the_spread_of_jobs_is_relative_to_their_sizes_and_without_bias)
{
    static const double seconds[MOT_PROFILE_SIZES][3] = { { 0.8, 1.2 }, { 2.2, 1.8, 2 }, { 7 }, { 0 } };
    struct mot_profile_times t[MOT_PROFILE_SIZES] = { { 0 } };
    struct mot_profile_spread s = mot_profile_spread(t);
    CHECK(s.jobs == 0 && s.least == 1 && s.variance == 0);
    for (int k = 0; k < MOT_PROFILE_SIZES; k++)
        for (int i = 0; i < 3 && seconds[k][i] > 0; i++) mot_profile_add(&t[k], seconds[k][i]);
    CHECK(t[1].least == 1.8);
    s = mot_profile_spread(t);
    CHECK_INT((int)s.jobs, 5);
    CHECK_NEAR(s.least, 0.8, 1e-12);
    CHECK_NEAR(s.variance, 0.1 / 3, 1e-12);
}

/* Draws from the fitted law have the mean 1, the variance that was measured, and none below the least. */
TEST(the_fitted_jitter_has_the_mean_the_variance_and_the_least_that_were_measured)
{
    struct mot_profile p = { .workers = 1, .nodes = 1 };
    struct mot_profile_worker w = worker_with(0, 1e-3);
    struct mot_machine machine = { 0 };
    struct mot_cluster c = { .workers = 1, .machine = &machine };
    mot_profile_fit(&w, 0.6, 0.09);
    p.worker = &w;
    mot_profile_apply(&p, &c);
    struct mot_rng rng = mot_rng_at(1, MOT_RNG_TEST, 0);
    double sum = 0, square = 0, least = 1;
    for (int i = 0; i < 200000; i++) {
        double x = mot_law_draw(&machine.jitter, &rng);
        sum += x;
        square += x * x;
        if (x < least) least = x;
    }
    double mean = sum / 200000;
    CHECK_NEAR(mean, 1, 0.01);
    CHECK_NEAR(square / 200000 - mean * mean, 0.09, 0.015);
    CHECK(least >= 0.6);
    CHECK_NEAR(machine.speed, 1000, 1e-6);
}

TEST(a_nodes_latency_is_its_part_of_its_pairs)
{
    static const double own[] = { 1e-4, 2e-5, 5e-5, 0 }, up[] = { 1e8, 2e8, 4e8, 8e8 };
    struct mot_profile_pair pair[16];
    struct mot_profile p = { .workers = 3, .nodes = 4, .pair = pair };
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            pair[i * 4 + j] = (struct mot_profile_pair){ own[i] + own[j], fmin(up[i], 5e8) };
    pair[0 * 4 + 1].bytes_per_s = 1e6; /* hidden by noise, and so too low: the other pairs tell */
    for (mot_node i = 0; i < 4; i++) {
        struct mot_link link = mot_profile_link(&p, i);
        CHECK_NEAR((double)link.latency * 1e-9, own[i], 2e-9);
        CHECK_NEAR(link.up, fmin(up[i], 5e8), 1);
    }
}

TEST(a_bandwidth_lost_in_noise_is_a_lower_bound)
{
    CHECK_NEAR(mot_profile_bandwidth(1e6, 3e-3, 1e-3), 5e8, 1); /* 2 ms longer with the body than without */
    CHECK_NEAR(mot_profile_bandwidth(1e6, 1e-3, 1e-3), 1e10, 10);
    CHECK_NEAR(mot_profile_bandwidth(1e6, 1e-3, 5e-3), 1e10, 10); /* the empty ones were held up */
}

TEST(measured_figures_have_three_digits)
{
    CHECK(mot_profile_digits(123456.789) == 123000);
    CHECK(mot_profile_digits(0.000123456) == 0.000123);
    CHECK(mot_profile_digits(1) == 1 && mot_profile_digits(0) == 0);
    struct mot_profile_worker w = worker_with(1.23456e-3, 1.0 / 98765.4);
    struct mot_profile p = { .workers = 1, .nodes = 1, .worker = &w };
    struct mot_machine machine = { 0 };
    mot_profile_fit(&w, 0.56789, 0.0123456);
    mot_profile_apply(&p, &(struct mot_cluster){ .workers = 1, .machine = &machine });
    CHECK_NEAR(machine.speed, 98800, 1e-9);
    CHECK_INT(machine.fixed, 1230000);
    CHECK(machine.jitter.plus == 0.568);
    CHECK(machine.jitter.sigma == mot_profile_digits(w.sigma));
}

static volatile sig_atomic_t pressed;

static enum mot_status profile(struct run *r, const char *method, double seconds, struct mot_profile *p)
{
    RUN_SET(r, "data", "digits", "model", "softmax", "workers", "3", "method", method);
    r->status = mot_experiment_open(NULL, r->setting, r->settings, &r->experiment);
    if (r->status == MOT_OK) r->status = mot_job_open(r->experiment, &r->job);
    if (r->status != MOT_OK) return r->status;
    *p = (struct mot_profile){ .seconds = (mot_time)(seconds * 1e9), .interrupt = &pressed };
    return mot_threads_profile(&(struct mot_driver_options){ .experiment = r->experiment,
                                   .problem = &r->job.problem,
                                   .optim = &r->job.optim,
                                   .x0 = r->job.x0 },
        p);
}

TEST(a_profile_on_threads_measures_every_worker_and_pair_and_prints_a_cluster)
{
    static const char *const methods[] = { "async", "allreduce" };
    for (int m = 0; m < 2; m++) {
        struct run r = { 0 };
        struct mot_profile p;
        cpu_set_t before, after;
        CHECK_INT(sched_getaffinity(0, sizeof(before), &before), 0);
        CHECK_INT(profile(&r, methods[m], 0.05, &p), MOT_OK);
        CHECK_INT(sched_getaffinity(0, sizeof(after), &after), 0);
        CHECK(CPU_EQUAL(&before, &after)); /* pairs were kept to two cores only while they were measured */
        CHECK(p.whole);
        CHECK_INT(p.nodes, m == 0 ? 4 : 3);
        for (uint32_t i = 0; i < 3; i++) {
            CHECK(p.worker[i].jobs >= 8 && p.worker[i].per_sample_s > 0 && p.worker[i].fixed_s >= 0);
            CHECK(p.worker[i].least > 0 && p.worker[i].least <= 1 && isfinite(p.worker[i].sigma));
        }
        for (mot_node i = 0; i < p.nodes; i++)
            for (mot_node j = 0; j < p.nodes; j++)
                CHECK(i == j ||
                    (p.pair[i * p.nodes + j].latency_s > 0 && p.pair[i * p.nodes + j].bytes_per_s > 0 &&
                        isfinite(p.pair[i * p.nodes + j].bytes_per_s)));
        struct mot_machine machine[4] = { { 0 } };
        struct mot_cluster c = { .workers = 3, .servers = 1, .machine = machine }, *back;
        mot_profile_apply(&p, &c);
        char *text;
        size_t n;
        FILE *out = open_memstream(&text, &n);
        mot_cluster_print(&c, 0, out);
        fclose(out);
        CHECK_INT(mot_cluster_parse("measured", text, n, &back), MOT_OK);
        CHECK_INT(back->workers, 3);
        CHECK_NEAR(back->machine[2].speed, machine[2].speed, machine[2].speed * 1e-6);
        mot_cluster_close(back);
        free(text);
        mot_profile_close(&p);
        run_free(&r);
    }
}

TEST(an_interrupted_profile_says_that_it_is_not_whole)
{
    struct run r = { 0 };
    struct mot_profile p;
    pressed = 1;
    CHECK_INT(profile(&r, "async", 100, &p), MOT_OK);
    CHECK(!p.whole);
    mot_profile_close(&p);
    run_free(&r);
}

TEST_MAIN()
