/* The asynchronous template by itself: who gets jobs, what goes into an update, how stale it may be. */
#include "base/rng.h"
#include "served.h"

#define N 5u
static struct served s;

#define ASYNC(...) SERVED(&s, &mot_method_async, N, N, __VA_ARGS__)
static const struct mot_hub *hub(void) { return s.state; }
static uint64_t t(void) { return hub()->params.step; }

/* The worker answers its oldest job. */
static void answer(mot_node worker, float mean)
{
    served_gradient(&s, worker, mot_hub_oldest(hub(), &s.env, worker), BATCH, mean);
}

/* Somebody with a job at it, by a number. */
static mot_node busy_worker(struct mot_rng *rng)
{
    mot_node i;
    do i = (mot_node)mot_rng_below(rng, N);
    while (mot_hub_seat(hub(), i)->active == 0);
    return i;
}

TEST(pure_gives_the_new_job_to_the_worker_it_heard_from)
{
    ASYNC(NULL);
    answer(3, 2);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 1);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.to, 3);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.head.round, 1);
    CHECK_NEAR(served_parameter(&s), -2, 1e-6);
    served_end(&s);
}

/* Jobs given to each worker while there are `updates` of them. */
static void given(const char *rule, unsigned updates, unsigned to[N], struct mot_rng *rng)
{
    ASYNC("assign", rule);
    for (unsigned k = 0; k < N; k++) to[k] = 0;
    for (unsigned k = 0; k < updates; k++) {
        uint32_t before[N];
        mot_node from = busy_worker(rng);
        for (mot_node i = 0; i < N; i++) before[i] = mot_hub_seat(hub(), i)->active;
        answer(from, 0);
        before[from]--;
        for (mot_node i = 0; i < N; i++) to[i] += mot_hub_seat(hub(), i)->active - before[i];
    }
}

TEST(shuffled_gives_every_worker_one_job_in_n_assignments)
{
    struct mot_rng rng = mot_rng_at(1, MOT_RNG_TEST, 0);
    unsigned to[N];
    for (unsigned epochs = 1; epochs < 20; epochs++) {
        given("shuffled", epochs * N, to, &rng);
        for (mot_node i = 0; i < N; i++) CHECK_INT(to[i], epochs);
        served_end(&s);
    }
}

static void order_of_epochs(const char *rule, mot_node order[4][N])
{
    ASYNC("assign", rule, "jobs", "1"); /* one job: SGD that goes through the workers in this order */
    for (unsigned k = 0; k < 4 * N; k++) {
        for (mot_node i = 0; i < N; i++)
            if (mot_hub_seat(hub(), i)->active) order[k / N][k % N] = i;
        CHECK_INT(hub()->active, 1);
        answer(order[k / N][k % N], 0);
    }
    served_end(&s);
}

TEST(one_job_goes_through_the_workers_in_a_new_order_each_time_or_always_the_same)
{
    mot_node order[4][N];
    order_of_epochs("shuffled", order);
    bool differ = false;
    for (int e = 1; e < 4; e++) differ = differ || memcmp(order[0], order[e], sizeof order[0]) != 0;
    CHECK(differ);
    order_of_epochs("once", order);
    for (int e = 1; e < 4; e++) CHECK(memcmp(order[0], order[e], sizeof order[0]) == 0);
}

TEST(random_gives_every_worker_as_many_jobs_on_average)
{
    struct mot_rng rng = mot_rng_at(2, MOT_RNG_TEST, 0);
    unsigned to[N];
    given("random", 5000, to, &rng);
    for (mot_node i = 0; i < N; i++) CHECK_NEAR(to[i], 1000, 4 * 28.3); /* 4 deviations of a binomial */
    served_end(&s);
}

TEST(the_number_of_active_jobs_is_n_at_all_times)
{
    static const char *const rules[] = { "pure", "random", "shuffled", "once" };
    struct mot_rng rng = mot_rng_at(3, MOT_RNG_TEST, 0);
    for (int r = 0; r < 4; r++) {
        ASYNC("assign", rules[r]);
        for (int k = 0; k < 500; k++) {
            CHECK_INT(hub()->active, N);
            answer(busy_worker(&rng), 0);
        }
        served_end(&s);
    }
}

TEST(a_worker_is_sent_two_jobs_and_the_rest_wait_at_the_server)
{
    struct mot_rng rng = mot_rng_at(4, MOT_RNG_TEST, 0);
    ASYNC("assign", "random", "jobs", "20");
    uint32_t most = 0;
    for (int k = 0; k < 300; k++) {
        for (mot_node i = 0; i < N; i++) {
            const struct mot_seat *seat = mot_hub_seat(hub(), i);
            if (seat->active > most) most = seat->active;
            CHECK_INT(seat->there, seat->active < 2 ? seat->active : 2);
        }
        answer(busy_worker(&rng), 0);
    }
    CHECK(most > 4);
    served_end(&s);
}

TEST(waiting_takes_the_mean_of_b_gradients_and_gives_b_jobs)
{
    ASYNC("wait", "3");
    answer(4, 3);
    answer(0, 6);
    /* the senders are idle until the update */
    CHECK_INT(served_count(&s, MOT_FX_ADVANCE) + served_count(&s, MOT_FX_SEND), 0);
    answer(2, 9);
    CHECK_INT(served_count(&s, MOT_FX_ADVANCE), 1);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 3);
    CHECK_INT(served_count(&s, MOT_FX_CREDIT), 3);
    CHECK_NEAR(served_parameter(&s), -6, 1e-6);
    served_end(&s);
}

TEST(the_mean_is_over_workers_whatever_their_batches)
{
    ASYNC("wait", "2");
    served_gradient(&s, 0, 0, 10, 2);
    served_gradient(&s, 1, 0, 30, 4);
    CHECK_NEAR(served_parameter(&s), -3, 1e-6);
    served_end(&s);
}

/* ---- Step sizes -------------------------------------------------------------------------- */

/* The step along a gradient of 1 with this delay. */
static double step_at_delay(uint64_t delay, const char *const *pairs)
{
    served_begin(&s, &mot_method_async, N, N, pairs);
    for (uint64_t k = 0; k < delay; k++) answer(1, 0);
    answer(0, 1);
    double step = -(double)served_parameter(&s);
    served_end(&s);
    return step;
}
#define STEP(delay, ...) step_at_delay((delay), (const char *const[]){ __VA_ARGS__, NULL })

TEST(delay_adaptive_steps_shrink_beyond_n)
{
    CHECK_NEAR(STEP(5, "step", "adaptive"), 1, 1e-6);
    CHECK_NEAR(STEP(20, "step", "adaptive"), 5.0 / 20, 1e-6);
    CHECK_NEAR(STEP(20, "step", "constant"), 1, 1e-6);
}

TEST(a_cutoff_shrinks_or_drops_what_is_later)
{
    CHECK_NEAR(STEP(5, "step", "cutoff"), 1, 1e-6);
    CHECK_NEAR(STEP(6, "step", "cutoff"), 5.0 / 6, 1e-6);
    CHECK_NEAR(STEP(8, "step", "cutoff", "cutoff", "4"), 0.5, 1e-6);
    CHECK_NEAR(STEP(8, "step", "cutoff", "cutoff", "4", "beyond", "drop"), 0, 0);
    CHECK_NEAR(STEP(4, "step", "cutoff", "cutoff", "4", "beyond", "drop"), 1, 1e-6);
}

/* Where a run of random arrivals ends up under a rule. */
static float end_by(const char *rule, const char *wait, const char *jobs)
{
    struct mot_rng rng = mot_rng_at(7, MOT_RNG_TEST, 0);
    ASYNC("step", rule, "wait", wait, "jobs", jobs);
    for (int k = 0; k < 400; k++) {
        mot_node from = busy_worker(&rng);
        if (from == 0 && mot_rng_below(&rng, 6)) continue; /* much later than the others */
        answer(from, (float)mot_rng_normal(&rng));
    }
    float end = served_parameter(&s);
    served_end(&s);
    return end;
}

TEST(a_cutoff_at_its_defaults_is_the_adaptive_rule_to_the_bit)
{
    static const char *const with[][2] = { { "1", "5" }, { "1", "15" }, { "2", "10" }, { "3", "5" } };
    for (size_t k = 0; k < MOT_COUNT(with); k++) {
        float adaptive = end_by("adaptive", with[k][0], with[k][1]);
        CHECK(end_by("cutoff", with[k][0], with[k][1]) == adaptive);
        CHECK(end_by("constant", with[k][0], with[k][1]) != adaptive); /* some came late enough to matter */
    }
}

TEST(clipped_gradients_are_no_longer_than_asked)
{
    /* A gradient of 1 in 4 parameters has the norm 2. */
    CHECK_NEAR(STEP(0, "step", "clipped", "clip", "0.5"), 0.25, 1e-6);
    CHECK_NEAR(STEP(0, "step", "clipped", "clip", "2.5"), 1, 1e-6);
}

TEST(rescaled_steps_are_in_proportion_to_job_times)
{
    /* gamma t_i (sum 1/t_j) / n with t = 1 2 4 4 4: the sum is 2.25. */
    CHECK_NEAR(STEP(0, "step", "rescaled", "times", "[1, 2, 4, 4, 4]"), 0.45, 1e-6);
    CHECK_NEAR(STEP(0, "step", "rescaled", "times", "[4, 2, 1, 4, 4]"), 1.8, 1e-6);
    /* Measured: all take as long until one is known to be faster. */
    ASYNC("step", "rescaled");
    s.env.now = 1000;
    answer(0, 1);
    CHECK_NEAR(served_parameter(&s), -1, 1e-6);
    s.env.now = 2000;
    answer(0, 0);
    s.env.now = 4000; /* worker 0 takes 1000, the others 4000 or more */
    float before = served_parameter(&s);
    answer(1, 1);
    CHECK_NEAR(before - served_parameter(&s), 4000 * (1.0 / 1000 + 4.0 / 4000) / 5, 1e-5);
    served_end(&s);
}

TEST(delay_compensation_adds_lambda_g_g_times_the_way_gone)
{
    ASYNC("step", "compensated", "lambda", "0.5");
    answer(1, 2); /* x = -2; as fresh as can be: nothing to make up for */
    CHECK_NEAR(served_parameter(&s), -2, 1e-6);
    answer(0, 3); /* of the model 0: 3 + 0.5 * 9 * (-2 - 0) = -6 */
    CHECK_NEAR(served_parameter(&s), -2 + 6, 1e-5);
    served_end(&s);
}

/* The worker's answer has a mean of its own in each parameter. */
static void answer_each(mot_node worker, const double *mean)
{
    mot_buf b = mot_pool_take(&s.pool);
    for (uint32_t i = 0; i < s.world.dim; i++) mot_pool_at(&s.pool, b)[i] = (float)(mean[i] * BATCH);
    struct mot_message m = { .from = worker,
        .to = s.env.self,
        .kind = MOT_MSG_GRAD,
        .head = { .round = mot_hub_oldest(hub(), &s.env, worker), .samples = BATCH },
        .body = { .buf = b, .len = s.world.dim } };
    served_step(&s, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = &m });
    mot_pool_drop(&s.pool, b);
}

/* Zheng and others, 2017: v = m v + (1 - m) g^2;  x -= g + lambda / sqrt(v + 1e-7) g^2 (x - x_old), here with
 * doubles and every model kept. */
static void compensates_as_printed(
    double decay, double lambda, const char *decay_text, const char *lambda_text)
{
    enum { STEPS = 200, DIM = 4 };
    struct mot_rng rng = mot_rng_at(8, MOT_RNG_TEST, 0);
    static double x[STEPS + 1][DIM];
    double v[DIM] = { 0 }, most = 0;
    memset(x, 0, sizeof x);
    ASYNC("step", "compensated", "lambda_decay", decay_text, "lambda", lambda_text);
    CHECK_INT(s.world.dim, DIM);
    for (int t = 0; t < STEPS; t++) {
        mot_node from = (mot_node)mot_rng_below(&rng, N);
        const double *old = x[mot_hub_oldest(hub(), &s.env, from)];
        double g[DIM];
        for (int i = 0; i < DIM; i++) {
            g[i] = 0.05 * (i + 1) * mot_rng_normal(&rng);
            v[i] = decay * v[i] + (1 - decay) * g[i] * g[i];
            double more = lambda / sqrt(v[i] + 1e-7) * g[i] * g[i] * (x[t][i] - old[i]);
            x[t + 1][i] = x[t][i] - g[i] - more;
            if (fabs(more) > most) most = fabs(more);
        }
        answer_each(from, g);
        for (int i = 0; i < DIM; i++)
            CHECK_NEAR(mot_read(&s.env, hub()->params.x)[i], x[t + 1][i], 2e-5 * (1 + fabs(x[t + 1][i])));
    }
    CHECK(most > 0.05); /* what was added is no matter of rounding */
    served_end(&s);
}

TEST(an_adaptive_lambda_is_divided_by_the_root_of_the_mean_square_of_each_parameter)
{
    compensates_as_printed(0.95, 0.5, "0.95", "0.5");
    compensates_as_printed(0, 0.5, "0", "0.5"); /* no memory: lambda |g| (x - x_old) */
    compensates_as_printed(0.9, 2, "0.9", "auto");
}

/* ---- Bounded staleness --------------------------------------------------------------------- */

TEST(with_on_stale_wait_gradients_wait_for_the_one_that_would_be_too_late)
{
    ASYNC("max_staleness", "4"); /* the least that 5 jobs allow: every update takes one of the oldest */
    for (mot_node i = 0; i < 4; i++) answer(i, 0);
    CHECK_INT(t(), 4);
    answer(0, 0);
    answer(1, 0);
    CHECK_INT(t(), 4); /* worker 4's job is of the model 0 */
    CHECK_INT(served_count(&s, MOT_FX_SEND), 0);
    answer(4, 0);
    for (uint64_t updates = 5; updates <= 7; updates++) { /* those that waited follow, one update a step */
        CHECK_INT(t(), updates);
        CHECK_INT(served_count(&s, MOT_FX_ALARM), updates < 7);
        if (updates < 7) served_step(&s, &(struct mot_event){ .kind = MOT_EV_TIMER });
    }
    served_end(&s);
}

TEST(with_on_stale_drop_what_comes_too_late_is_dropped_and_counted)
{
    ASYNC("max_staleness", "3", "on_stale", "drop");
    for (int k = 0; k < 3; k++) answer(0, 0);
    answer(1, 1);
    CHECK_NEAR(served_parameter(&s), -1, 1e-6); /* a delay of 3 is fine */
    answer(2, 1);
    CHECK_NEAR(served_parameter(&s), -1, 1e-6);
    CHECK_NEAR(served_noted(&s, "dropped"), 1, 0);
    CHECK_INT(served_count(&s, MOT_FX_ADVANCE), 0);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.to, 2); /* and its worker gets a new job */
    served_end(&s);
}

TEST(with_on_stale_cancel_jobs_are_replaced_when_they_become_too_late)
{
    ASYNC("max_staleness", "3", "on_stale", "cancel");
    for (int k = 0; k < 3; k++) answer(0, 0);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 1);
    answer(0, 0); /* t = 4: the jobs of the model 0 would be 4 late */
    CHECK_INT(served_count(&s, MOT_FX_SEND), 5);
    for (uint32_t k = 1; k < 5; k++) {
        CHECK_INT(served_effect(&s, MOT_FX_SEND, k)->message.kind, MOT_MSG_REPLACE);
        CHECK_INT(served_effect(&s, MOT_FX_SEND, k)->message.head.round, 4);
    }
    CHECK_INT(hub()->active, N);
    /* A gradient that crossed the message on its way is waste; the worker's word that it gave up is too. */
    float before = served_parameter(&s);
    served_gradient(&s, 1, 0, BATCH, 1);
    CHECK_NEAR(served_noted(&s, "wasted"), 1, 0);
    CHECK_NEAR(served_noted(&s, "wasted_samples"), BATCH, 0);
    CHECK_NEAR(served_parameter(&s), before, 0);
    served_message(&s, 2, MOT_MSG_GAVE_UP, (struct mot_head){ .samples = 7, .value = 1 }, 0);
    CHECK_NEAR(served_noted(&s, "wasted_samples"), 7, 0);
    CHECK_INT(hub()->active, N);
    served_gradient(&s, 2, 4, BATCH, 1); /* the job that took its place */
    CHECK_NEAR(served_parameter(&s), before - 1, 1e-6);
    served_end(&s);
}

TEST(a_worker_that_does_not_answer_is_not_sent_jobs_without_end)
{
    ASYNC("max_staleness", "3", "on_stale", "cancel");
    for (int k = 0; k < 200; k++) answer(0, 0);
    for (mot_node i = 1; i < N; i++) CHECK_INT(mot_hub_seat(hub(), i)->there, 2);
    CHECK_INT(hub()->active, N);
    served_end(&s);
}

/* ---- Workers come and go, and send nonsense ------------------------------------------------- */

TEST(the_jobs_of_a_lost_worker_go_to_others_unless_every_worker_has_its_own)
{
    ASYNC("assign", "shuffled");
    served_peer(&s, 2, false);
    CHECK_INT(hub()->active, N);
    CHECK_INT(hub()->present, N - 1);
    CHECK_INT(mot_hub_seat(hub(), 2)->active, 0);
    served_peer(&s, 2, true);
    CHECK_INT(hub()->active, N);
    served_end(&s);
    ASYNC(NULL);
    served_peer(&s, 2, false);
    CHECK_INT(hub()->active, N - 1);
    served_peer(&s, 2, true);
    CHECK_INT(hub()->active, N);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.to, 2);
    served_end(&s);
}

TEST(an_update_does_not_wait_for_lost_workers)
{
    ASYNC("wait", "all");
    for (mot_node i = 0; i < 4; i++) answer(i, 1);
    CHECK_INT(t(), 0);
    served_peer(&s, 4, false);
    CHECK_INT(t(), 1);
    CHECK_NEAR(served_parameter(&s), -1, 1e-6);
    served_peer(&s, 3, false);
    served_peer(&s, 3, true);
    CHECK_INT(hub()->active, 4);
    served_end(&s);
}

TEST(another_server_lost_ends_the_run_with_peer_lost)
{
    ASYNC("shards", "2");
    served_peer(&s, N + 1, false);
    CHECK_INT(served_effect(&s, MOT_FX_STOP, 0)->stop, MOT_EPEER);
    served_end(&s);
}

TEST(the_last_worker_lost_ends_the_run_with_peer_lost_and_the_last_out_of_data_with_ok)
{
    ASYNC(NULL);
    for (mot_node i = 0; i < N; i++) {
        CHECK_INT(served_count(&s, MOT_FX_STOP), 0);
        served_peer(&s, i, false);
    }
    CHECK_INT(served_effect(&s, MOT_FX_STOP, 0)->stop, MOT_EPEER);
    served_end(&s);
    ASYNC(NULL);
    for (mot_node i = 0; i < N; i++) {
        CHECK_INT(served_count(&s, MOT_FX_STOP), 0);
        served_gradient(&s, i, 0, 0, 0);
    }
    CHECK_INT(served_effect(&s, MOT_FX_STOP, 0)->stop, MOT_OK);
    served_end(&s);
}

TEST(jobs_queued_at_a_worker_that_has_run_out_of_data_go_to_others)
{
    ASYNC("assign", "random", "jobs", "20");
    mot_node full = 0;
    while (mot_hub_seat(hub(), full)->active < 3) full++;
    served_gradient(&s, full, 0, 0, 0);
    CHECK_INT(mot_hub_seat(hub(), full)->active, 0);
    CHECK_INT(hub()->active, 20);
    served_gradient(&s, full, 0, 0, 0); /* the answer to the other one that was there; it is not waste */
    CHECK_NEAR(served_noted(&s, "wasted"), 0, 0);
    CHECK_INT(mot_hub_seat(hub(), full)->there, 0);
    served_end(&s);
}

TEST(a_gradient_that_is_not_finite_is_dropped_and_three_in_a_row_bar_the_worker)
{
    ASYNC(NULL);
    for (int k = 0; k < 2; k++) {
        answer(1, NAN);
        CHECK_NEAR(served_noted(&s, "guarded"), 1, 0);
        CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.to, 1);
    }
    answer(1, 1); /* it is forgiven */
    answer(1, INFINITY);
    answer(1, -INFINITY);
    CHECK_INT(hub()->present, N);
    answer(1, NAN);
    CHECK_NEAR(served_noted(&s, "workers_barred"), 1, 0);
    CHECK_INT(hub()->present, N - 1);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 0);
    CHECK_NEAR(served_parameter(&s), -1, 1e-6);
    answer(0, 1);
    CHECK_NEAR(served_parameter(&s), -2, 1e-6); /* the others go on */
    served_end(&s);
}

/* A gradient of 1 but for its last entry, beside a loss that tells nothing of it. */
static void spoilt_answer(bool intact)
{
    mot_buf b = mot_pool_take(&s.pool);
    for (uint32_t i = 0; i < s.world.dim; i++) mot_pool_at(&s.pool, b)[i] = i + 1 < s.world.dim ? 1 : NAN;
    struct mot_message m = { .from = 1,
        .to = s.env.self,
        .kind = MOT_MSG_GRAD,
        .intact = intact,
        .head = { .samples = BATCH },
        .body = { .buf = b, .len = s.world.dim } };
    served_step(&s, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = &m });
    mot_pool_drop(&s.pool, b);
}

/* A body that came over a wire without a checksum may be another than its worker looked at. Here the worker
 * looks: the step is made of another gradient than its own. */
TEST(the_server_looks_itself_only_at_what_may_have_been_damaged_on_its_way)
{
    for (int intact = 0; intact < 2; intact++) {
        ASYNC("step", "compensated");
        spoilt_answer(intact);
        CHECK_INT(hub()->params.step, intact);
        CHECK_NEAR(served_noted(&s, "guarded"), !intact, 0);
        served_end(&s);
    }
}

/* The step reads the gradient anyhow. Its worker has not looked. */
TEST(a_step_that_finds_its_gradient_not_finite_takes_itself_back)
{
    static const char *const step[] = { "constant", "clipped", "rescaled", "adaptive" };
    for (int k = 0; k < 8; k++) {
        ASYNC("step", step[k % 4]);
        answer(0, 1);
        float before = served_parameter(&s);
        uint32_t used = s.pool.used, answers = mot_hub_seat(hub(), 1)->answers;
        mot_time busy = mot_hub_seat(hub(), 1)->busy;
        spoilt_answer(k < 4); /* damaged on its way or not */
        CHECK_INT(hub()->params.step, 1);
        CHECK_NEAR(served_parameter(&s), before, 0);
        CHECK_INT(s.pool.used, used);
        CHECK_INT(served_count(&s, MOT_FX_ADVANCE), 0);
        CHECK_INT(served_count(&s, MOT_FX_CREDIT), 0);
        CHECK_NEAR(served_noted(&s, "guarded"), 1, 0);
        CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.to, 1); /* another try */
        CHECK_INT(mot_hub_seat(hub(), 1)->strikes, 1);
        CHECK(mot_hub_seat(hub(), 1)->answers == answers && mot_hub_seat(hub(), 1)->busy == busy);
        served_end(&s);
    }
}

/* It makes no step, but counts against its worker all the same. */
TEST(a_gradient_that_comes_too_late_and_is_not_finite_is_refused_not_dropped)
{
    ASYNC("max_staleness", "1", "on_stale", "drop");
    answer(0, 1);
    answer(0, 1);
    spoilt_answer(true);
    CHECK_NEAR(served_noted(&s, "guarded"), 1, 0);
    CHECK_NEAR(served_noted(&s, "dropped"), 0, 0);
    CHECK_INT(mot_hub_seat(hub(), 1)->strikes, 1);
    served_end(&s);
}

TEST(the_guard_may_stop_the_run_or_look_at_losses_only)
{
    static const char *const rules[] = { "pure", "random", "shuffled" };
    /* with all rules: the job that came is not given again, and the state is sound */
    for (size_t k = 0; k < MOT_COUNT(rules); k++) {
        ASYNC("guard", "stop", "assign", rules[k]);
        answer(1, NAN);
        CHECK_INT(served_effect(&s, MOT_FX_STOP, 0)->stop, MOT_EDIVERGED);
        served_end(&s);
    }
    ASYNC("guard", "off");
    answer(1, INFINITY);
    CHECK_INT(served_count(&s, MOT_FX_STOP), 0);
    served_message(&s, 0, MOT_MSG_GRAD, (struct mot_head){ .samples = BATCH, .value = NAN }, 1);
    CHECK_INT(served_effect(&s, MOT_FX_STOP, 0)->stop, MOT_EDIVERGED);
    served_end(&s);
}

TEST(options_that_do_not_fit_are_refused_with_what_would)
{
    const struct mot_method *m = &mot_method_async;
    struct {
        const char *pairs[7];
        const char *says;
    } wrong[] = {
        { { "jobs", "7", NULL }, "multiple of 5" },
        { { "wait", "6", NULL }, "expected 1 to 5" },
        { { "assign", "random", "step", "rescaled", NULL }, "assign: pure" },
        { { "step", "rescaled", "wait", "2", NULL }, "expected 'wait: 1'" },
        { { "step", "rescaled", "wait", "all", NULL }, "expected 'wait: 1'" },
        { { "max_staleness", "3", NULL }, "expected 4 or more" },
        { { "step", "rescaled", "times", "[1, 2]", NULL }, "2 times for 5 workers" },
    };
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        struct mot_arena arena = { 0 };
        void *conf = mot_new(1, m->conf_bytes);
        mot_options_preset(m->options, conf, &arena);
        for (const char **p = wrong[k].pairs; *p; p += 2)
            mot_option_set(mot_option_find(m->options, p[0]), conf, p[1], &arena);
        CHECK_INT(m->validate(conf, &(struct mot_world){ .workers = 5 }), MOT_EUSAGE);
        CHECK_HAS(mot_error(), wrong[k].says);
        free(conf);
        mot_arena_free(&arena);
    }
}

TEST_MAIN()
