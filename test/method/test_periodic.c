/* Workers that average every few steps, by themselves: one on the stack, gradients and sums given by hand. */
#include "served.h"
#include "method/periodic.h"

static struct served s;

static float x_of(void) { return mot_pool_at(&s.pool, ((struct mot_periodic *)s.state)->params.x)[0]; }
static uint32_t effects(enum mot_effect_kind kind) { return served_count(&s, kind); }

/* The work is over: a gradient whose mean is `mean` everywhere. */
static void gradient(float mean, uint32_t samples)
{
    mot_buf b = mot_pool_take(&s.pool);
    for (uint32_t i = 0; i < s.world.dim; i++) mot_pool_at(&s.pool, b)[i] = mean * (float)samples;
    struct mot_result w = { .tag = (uint32_t)((struct mot_periodic *)s.state)->round };
    w.samples = samples;
    w.grad = b;
    served_step(&s, &(struct mot_event){ .kind = MOT_EV_WORK, .work = &w });
    mot_pool_drop(&s.pool, b);
}

/* The sum that it joined is over: what it gave, and what the others add to it. */
static void sum(float others, double weight)
{
    const struct mot_effect *joined = served_effect(&s, MOT_FX_COLLECT, 0);
    if (!joined) abort();
    struct mot_coll coll = joined->coll;
    mot_buf out = mot_pool_take(&s.pool);
    for (uint32_t i = 0; i < s.world.dim; i++)
        mot_pool_at(&s.pool, out)[i] = mot_pool_at(&s.pool, coll.in.buf)[i] + others;
    mot_pool_drop(&s.pool, coll.in.buf);
    struct mot_coll_result r = { .tag = coll.tag, .out = { .buf = out, .len = s.world.dim } };
    r.scalar[0] = coll.scalar[0] + weight;
    served_step(&s, &(struct mot_event){ .kind = MOT_EV_COLL, .coll = &r });
    mot_pool_drop(&s.pool, out);
}

/* ---- Outer steps ------------------------------------------------------------------------------------ */

#define ROUNDS 40
static float slope(int round) { return 0.25f * (float)(round % 5) - 0.3f; }

/* Wang et al., Algorithm 1: u = beta u + (x0 - x) / rate; x = x0 - alpha rate u. */
TEST(slowmo_is_the_papers_recursion_also_where_the_learning_rate_falls)
{
    const double beta = 0.6, alpha = 0.9;
    SERVED(&s, &mot_method_slowmo, 1, 0, "period", "3", "beta", "0.6", "alpha", "0.9");
    s.optim.schedule = (struct mot_schedule_conf){ .name = MOT_SCHEDULE_STEP, .every = 6, .factor = 0.5 };
    double x = 0, x0 = 0, u = 0, most = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double rate = mot_schedule_rate(&s.optim.schedule, 1, (uint64_t)round);
        x -= rate * (double)slope(round);
        gradient(slope(round), BATCH);
        if (round % 3 == 2) {
            u = beta * u + (x0 - x) / rate;
            x = x0 -= alpha * rate * u;
            sum(0, 0);
        }
        CHECK_INT(effects(MOT_FX_ADVANCE), 1);
        most = fmax(most, fabs((double)x_of() - x));
    }
    CHECK(fabs(x) > 0.1);
    CHECK_NEAR(most, 0, 1e-5);
    served_end(&s);
}

/* Douillard et al., Algorithm 1, with SGD's Nesterov momentum: v = m v + d; x = x0 - rate (d + m v). */
TEST(diloco_is_nesterovs_momentum_along_the_mean_displacement)
{
    const double m = 0.8, rate = 0.7;
    SERVED(&s, &mot_method_diloco, 1, 0, "period", "4", "outer_rate", "0.7", "outer_momentum", "0.8");
    double x = 0, x0 = 0, v = 0, most = 0;
    for (int round = 0; round < ROUNDS; round++) {
        x -= (double)slope(round);
        gradient(slope(round), BATCH);
        if (round % 4 == 3) {
            double d = x0 - x;
            v = m * v + d;
            x = x0 -= rate * (d + m * v);
            sum(0, 0);
        }
        most = fmax(most, fabs((double)x_of() - x));
    }
    CHECK(fabs(x) > 0.1);
    CHECK_NEAR(most, 0, 2e-5);
    served_end(&s);
}

TEST(where_the_learning_rate_is_0_slow_momentum_rests_and_then_goes_on)
{
    SERVED(&s, &mot_method_slowmo, 1, 0, "period", "1", "beta", "0.5");
    gradient(1, BATCH);
    sum(0, 0);
    CHECK_NEAR(x_of(), -1, 1e-6);
    s.optim.conf.lr = 0;
    gradient(1, BATCH);
    sum(0, 0);
    CHECK_NEAR(x_of(), -1, 1e-6);
    s.optim.conf.lr = 0.1; /* u is 1: 0.5 + 1 learning rates */
    gradient(1, BATCH);
    sum(0, 0);
    CHECK_NEAR(x_of(), -1.15, 1e-6);
    served_end(&s);
}

/* ---- Weights ---------------------------------------------------------------------------------------- */

/* This worker goes -1 and has 10 + 5 samples; the others together go -4 with 45, and would start anywhere. */
TEST(a_worker_counts_for_its_samples_since_the_last_averaging)
{
    SERVED(&s, &mot_method_localsgd, 3, 1, "period", "2");
    for (int again = 0; again < 2; again++) {
        float before = x_of();
        gradient(0.25f, 10);
        CHECK_INT(effects(MOT_FX_COLLECT), 0);
        gradient(0.75f, 5);
        CHECK_INT(effects(MOT_FX_COLLECT), 1);
        CHECK_INT(effects(MOT_FX_ADVANCE), 0); /* not before the models are averaged */
        CHECK_NEAR(served_effect(&s, MOT_FX_COLLECT, 0)->coll.scalar[0], 15, 0);
        sum(-4 * 45, 45);
        CHECK_INT(effects(MOT_FX_ADVANCE), 1);
        CHECK_NEAR(x_of() - before, -(15.0 + 180) / 60, 1e-6);
    }
    served_end(&s);
}

TEST(equal_weights_are_1_and_rows_are_what_a_worker_holds)
{
    static const uint64_t rows[] = { 30, 70 };
    SERVED(&s, &mot_method_localsgd, 2, 1, "period", "1", "weigh", "equal");
    gradient(2, 7);
    CHECK_NEAR(served_effect(&s, MOT_FX_COLLECT, 0)->coll.scalar[0], 1, 0);
    sum(-4, 1);
    CHECK_NEAR(x_of(), -3, 1e-6);
    served_end(&s);
    SERVED(&s, &mot_method_localsgd, 2, 1, "period", "1", "weigh", "rows");
    s.world.part_rows = rows;
    gradient(2, 7);
    CHECK_NEAR(served_effect(&s, MOT_FX_COLLECT, 0)->coll.scalar[0], 70, 0);
    sum(0, 30);
    CHECK_NEAR(x_of(), -1.4, 1e-6);
    served_end(&s);
}

TEST(a_worker_without_data_averages_and_stays_where_nobody_had_any)
{
    SERVED(&s, &mot_method_localsgd, 2, 0, "period", "2");
    gradient(1, 10);
    gradient(0, 0);
    sum(-30, 10); /* the other went -3 */
    CHECK_NEAR(x_of(), -2, 1e-6);
    gradient(0, 0);
    gradient(0, 0);
    sum(0, 0);
    CHECK_NEAR(x_of(), -2, 0);
    CHECK_INT(effects(MOT_FX_ADVANCE), 1);
    served_end(&s);
}

/* ---- The order of things ---------------------------------------------------------------------------- */

TEST(overlapped_a_gradient_is_taken_before_the_averaging_and_applied_after_it_whichever_comes_first)
{
    float after[2];
    for (int sum_first = 0; sum_first < 2; sum_first++) {
        SERVED(&s, &mot_method_localsgd, 2, 0, "period", "1", "overlap", "true");
        gradient(1, 10);
        CHECK_NEAR(x_of(), -1, 0);
        CHECK_INT(effects(MOT_FX_ADVANCE), 1);
        CHECK_INT(effects(MOT_FX_START), 1);
        CHECK_INT(effects(MOT_FX_COLLECT), 1);
        CHECK(served_effect(&s, MOT_FX_START, 0)->work.at == ((struct mot_periodic *)s.state)->params.x);
        if (sum_first) {
            sum(-30, 10);
            CHECK_INT(effects(MOT_FX_ADVANCE), 0);
            CHECK_NEAR(x_of(), -1, 0);
            gradient(0.5f, 10);
        } else {
            struct mot_effect joined = *served_effect(&s, MOT_FX_COLLECT, 0);
            gradient(0.5f, 10);
            CHECK_INT(effects(MOT_FX_ADVANCE), 0);
            CHECK_NEAR(x_of(), -1, 0);
            s.outbox.effect[s.outbox.n++] = joined;
            sum(-30, 10);
        }
        CHECK_INT(effects(MOT_FX_ADVANCE), 1);
        after[sum_first] = x_of();
        CHECK_NEAR(x_of(), -2.5, 1e-6);
        served_end(&s);
    }
    CHECK(after[0] == after[1]);
}

/* A run may end, and be resumed, while an averaging is under way. */
TEST(between_two_updates_a_worker_shows_and_keeps_what_it_had_after_the_last)
{
    static const char *const overlaps[] = { "false", "true" };
    for (int o = 0; o < 2; o++) {
        SERVED(&s, &mot_method_slowmo, 2, 0, "period", "2", "overlap", overlaps[o]);
        struct mot_view view;
        struct mot_kept kept;
        gradient(1, 10);
        gradient(1, 5);
        CHECK(s.method->model(s.state, &s.env, &view));
        s.method->keep(s.state, &s.env, &kept);
        CHECK_INT(
            view.params->step, 1 + o); /* overlapped, the second step is an update before it is averaged */
        CHECK_NEAR(mot_pool_at(&s.pool, view.x)[0], -1 - o, 0);
        CHECK_INT(kept.word[0], 10 + 5 * o);
        CHECK_NEAR(mot_pool_at(&s.pool, kept.buf[0])[0], 0, 0);
        sum(-30, 15);
        CHECK(s.method->model(s.state, &s.env, &view));
        s.method->keep(s.state, &s.env, &kept);
        CHECK_INT(view.params->step, 2);
        CHECK_NEAR(mot_pool_at(&s.pool, view.x)[0], -2, 1e-6);
        CHECK_INT(kept.word[0], 15 * o);
        CHECK_NEAR(mot_pool_at(&s.pool, kept.buf[0])[0], o ? 0 : -2, 1e-6);
        CHECK_NEAR(mot_pool_at(&s.pool, kept.buf[1])[0], o ? 0 : -2, 1e-6);
        served_end(&s);
    }
}

TEST(the_first_updates_sum_gradients_and_then_workers_go_alone)
{
    SERVED(&s, &mot_method_localsgd, 2, 0, "period", "3", "local_from", "2");
    for (int round = 0; round < 2; round++) {
        gradient(1, 10);
        CHECK_NEAR(served_effect(&s, MOT_FX_COLLECT, 0)->coll.scalar[0], 10, 0);
        CHECK_NEAR(x_of(), -round * 2.5, 1e-6);
        sum(90, 30); /* means of 1 and 3, by samples */
        CHECK_NEAR(x_of(), -(round + 1) * 2.5, 1e-6);
    }
    gradient(1, 10);
    gradient(1, 10);
    CHECK_INT(effects(MOT_FX_COLLECT), 0);
    gradient(1, 10);
    sum(-3 * 30, 30);
    CHECK_NEAR(x_of(), -8, 1e-6);
    served_end(&s);
}

TEST(momentum_stays_or_starts_over_or_is_averaged_as_asked)
{
    static const char *const ways[] = { "keep", "reset", "average" };
    static const double want[] = { 0.5, 0, 0.75 };
    for (int i = 0; i < 3; i++) {
        SERVED(&s, &mot_method_localsgd, 2, 0, "period", "1", "state", ways[i]);
        s.optim.slots = 1;
        s.optim.conf.momentum = 0.9;
        struct mot_periodic *p = s.state;
        p->params.slot[0] = mot_hold(&s.env, s.world.zero);
        gradient(0.5f, 10);
        sum(-10, 10);
        CHECK_INT(effects(MOT_FX_COLLECT), i == 2);
        CHECK_INT(effects(MOT_FX_ADVANCE), i != 2);
        if (i == 2) sum(10, 10);
        CHECK_INT(effects(MOT_FX_ADVANCE), 1);
        CHECK_NEAR(x_of(), -0.75, 1e-6);
        CHECK_NEAR(mot_pool_at(&s.pool, p->params.slot[0])[0], want[i], 1e-6);
        served_end(&s);
    }
}

TEST(a_lost_worker_is_the_end)
{
    SERVED(&s, &mot_method_localsgd, 3, 0, "period", "5");
    served_peer(&s, 2, false);
    CHECK_INT(served_effect(&s, MOT_FX_STOP, 0)->stop, MOT_EPEER);
    served_end(&s);
}

TEST(no_buffer_is_leaked)
{
    const struct mot_method *const methods[] = { &mot_method_localsgd, &mot_method_slowmo,
        &mot_method_diloco };
    for (int m = 0; m < 3; m++) {
        SERVED(&s, methods[m], 2, 0, "period", "2", "state", "average", "local_from", "2");
        s.optim.slots = 1;
        s.optim.conf.momentum = 0.9;
        ((struct mot_periodic *)s.state)->params.slot[0] = mot_hold(&s.env, s.world.zero);
        uint32_t used = 0;
        for (int round = 0; round < 40; round++) {
            gradient(1, 10);
            while (effects(MOT_FX_COLLECT)) sum(1, 1);
            if (round == 11) used = s.pool.used;
        }
        CHECK_INT(((struct mot_periodic *)s.state)->round, 40);
        gradient(1, 10); /* as far into the period as after round 11 */
        gradient(1, 10);
        while (effects(MOT_FX_COLLECT)) sum(1, 1);
        CHECK_INT(s.pool.used, used);
        served_end(&s);
    }
}

TEST_MAIN()
