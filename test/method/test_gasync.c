/* Generalized AsyncSGD: any p is unbiased, and the optimal one is found from the speeds. */
#include "../run/run.h"
#include "base/rng.h"
#include "method/queueing.h"
#include "report/tally.h"
#include "served.h"

#define N 4u
static struct served s;
static const struct mot_hub *hub(void) { return s.state; }
static void answer(mot_node i, float mean)
{
    served_gradient(&s, i, mot_hub_oldest(hub(), &s.env, i), BATCH, mean);
}

TEST(a_gradient_is_scaled_by_one_over_n_p)
{
    SERVED(&s, &mot_method_gasync, N, N, "p", "[4, 3, 2, 1]");
    answer(0, 1);
    CHECK_NEAR(served_parameter(&s), -1 / (4 * 0.4), 1e-6);
    answer(3, 1);
    CHECK_NEAR(served_parameter(&s), -1 / (4 * 0.4) - 1 / (4 * 0.1), 1e-6);
    CHECK_INT(hub()->active, N);
    served_end(&s);
}

/* Worker i's gradients are g_i = 2^i and jobs are answered in turn:
 * whatever p is, the mean step is the mean of the g_i. */
TEST(every_p_is_unbiased)
{
    static const char *const p[] = { "uniform", "4 3 2 1", "1, 1, 1, 7" };
    for (size_t k = 0; k < MOT_COUNT(p); k++) {
        unsigned steps = 0;
        SERVED(&s, &mot_method_gasync, N, N, "p", p[k], "jobs", "1");
        while (steps < 40000)
            for (mot_node i = 0; i < N; i++)
                while (mot_hub_seat(hub(), i)->active > 0 && steps < 40000) {
                    answer(i, (float)(1u << i) / 1000); /* small, that floats can add so many */
                    steps++;
                }
        CHECK_NEAR(served_parameter(&s) * -1000 / steps, 15.0 / 4, 0.15);
        served_end(&s);
    }
}

/* The fourth update finds p, for which worker 3, ten times slower, is drawn less. The
 * three jobs that were drawn before are still of the uniform p. */
TEST(a_gradient_is_scaled_by_the_p_that_its_job_was_drawn_by)
{
    SERVED(&s, &mot_method_gasync, N, N, "p", "optimal");
    for (mot_node i = 0; i < N; i++) {
        s.env.now = i == 3 ? 10000000000 : 1000000000;
        answer(i, 1);
    }
    CHECK_NEAR(served_noted(&s, "p_found"), 1, 0);
    CHECK_NEAR(served_parameter(&s), -4, 1e-6);
    unsigned before = 0;
    for (mot_node i = 0; i < N; i++)
        while (mot_hub_oldest(hub(), &s.env, i) < 4) {
            answer(i, 1);
            CHECK_NEAR(served_parameter(&s), -5.0 - before++, 1e-6);
        }
    CHECK_INT(before, 3);
    served_end(&s);
}

/* Two workers of 1 s and 2 s, p = 1/2, two jobs: the states (2,0), (1,1), (0,2) weigh 1/4, 1/2, 1, the first
 * is busy in the first two, so the first does 3/7 jobs a second, and both together 6/7. */
TEST(the_throughput_of_two_queues_is_that_computed_by_hand)
{
    double p[2] = { 0.5, 0.5 }, seconds[2] = { 1, 2 }, length[2], before[2];
    CHECK_NEAR(mot_queue_throughput(2, p, seconds, 2, length, before), 6.0 / 7, 1e-12);
    CHECK_NEAR(length[0], (2 * 0.25 + 1 * 0.5) / 1.75, 1e-12);
    CHECK_NEAR(length[0] + length[1], 2, 1e-12);
    CHECK_NEAR(before[0] + before[1], 1, 1e-12);
    CHECK_NEAR(mot_queue_throughput(2, p, seconds, 1, length, before), 1 / 1.5, 1e-12);
}

TEST(workers_of_one_speed_are_given_jobs_uniformly)
{
    double p[5] = { 0.4, 0.3, 0.1, 0.1, 0.1 }, seconds[5] = { 2, 2, 2, 2, 2 }, work[20];
    mot_queue_optimal(5, seconds, 5, p, work);
    for (int i = 0; i < 5; i++) CHECK_NEAR(p[i], 0.2, 1e-4);
}

/* Better than uniform, than in proportion to the speeds, and than anything near it. */
TEST(the_optimal_p_is_a_minimum)
{
    double p[10], seconds[10], work[40], fair[10], fast[10], near[10], sum = 0;
    for (int i = 0; i < 10; i++) {
        seconds[i] = i + 1;
        p[i] = fair[i] = 0.1;
        sum += fast[i] = 1.0 / (i + 1);
    }
    for (int i = 0; i < 10; i++) fast[i] /= sum;
    mot_queue_optimal(10, seconds, 10, p, work);
    double least = mot_queue_cost(10, p, seconds, 10, work);
    CHECK(least < 0.85 * mot_queue_cost(10, fair, seconds, 10, work));
    CHECK(least < 0.99 * mot_queue_cost(10, fast, seconds, 10, work));
    for (int i = 1; i < 10; i++) CHECK(p[i] < p[i - 1]);
    for (int i = 0; i < 10; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            double total = 0;
            for (int j = 0; j < 10; j++) total += near[j] = p[j] * (j == i ? 1 + 0.05 * sign : 1);
            for (int j = 0; j < 10; j++) near[j] /= total;
            CHECK(mot_queue_cost(10, near, seconds, 10, work) > least);
        }
}

static void run_with(struct run *r, const char *p)
{
    *r = (struct run){ 0 };
    RUN_SET(r, "data", "digits", "model", "softmax", "optimizer.lr", "0.02", "batch", "8", "stop.updates",
        "1000", "method", "gasync", "method.p", p, "cluster",
        "{network: none, workers: [{count: 3, job_time: {name: exponential, mean: 1s}}, {count: 3, job_time: "
        "{name: exponential, mean: 8s}}]}");
    run_go(r);
}

TEST(the_optimal_p_is_found_in_a_run_and_raises_its_pace)
{
    struct run uniform, optimal;
    run_with(&uniform, "uniform");
    run_with(&optimal, "optimal");
    CHECK_INT(uniform.status, MOT_OK);
    CHECK_INT(optimal.status, MOT_OK);
    CHECK(mot_note_find(&optimal.out, "p_found") && !mot_note_find(&uniform.out, "p_found"));
    CHECK((double)optimal.out.last.now < 0.85 * (double)uniform.out.last.now);
    CHECK(optimal.out.node[0].updates > 1.2 * optimal.out.node[5].updates);
    run_free(&uniform);
    run_free(&optimal);
}

TEST(wrong_probabilities_are_refused)
{
    static const char *const wrong[][2] = { { "0.5 0.5", "2 numbers for 8 workers" },
        { "a b", "expected numbers" }, { "1 1 1 1 1 1 1 0", "above 0" }, { "optimum", "'optimal'" } };
    struct mot_world world = { .workers = 8 };
    unsigned char conf[256] = { 0 };
    struct mot_arena arena = { 0 };
    mot_options_preset(mot_method_gasync.options, conf, &arena);
    CHECK_INT(mot_method_gasync.validate(conf, &world), MOT_OK);
    for (size_t i = 0; i < MOT_COUNT(wrong); i++) {
        CHECK_INT(mot_option_set(mot_option_find(mot_method_gasync.options, "p"), conf, wrong[i][0], &arena),
            MOT_OK);
        CHECK_INT(mot_method_gasync.validate(conf, &world), MOT_EUSAGE);
        CHECK_HAS(mot_error(), wrong[i][1]);
    }
    mot_arena_free(&arena);
}

TEST_MAIN()
