/* Federated averaging by itself: whom a round asks and waits for, the mean of the reports, the workers' local
 * epochs, the proximal term, and the limiting cases. */
#include "../run/run.h"
#include "served.h"

#define N 8u
static struct served s;
static const struct mot_hub *hub(void) { return s.state; }

static bool busy(mot_node i) { return mot_hub_seat(hub(), i)->active > 0; }

static uint32_t asked(void)
{
    uint32_t n = 0;
    for (mot_node i = 0; i < s.world.workers; i++) n += busy(i);
    return n;
}

/* The k-th of those that have a job. */
static mot_node who(uint32_t k)
{
    mot_node i = 0;
    while (!busy(i) || k-- > 0) i++;
    return i;
}

/* A worker's way: the sum of the mean gradients of its steps. */
static void report(mot_node i, float sum)
{
    served_message(&s, i, MOT_MSG_GRAD,
        (struct mot_head){ .round = mot_hub_oldest(hub(), &s.env, i), .samples = ROWS }, sum * BATCH);
}

static void close_round(float sum)
{
    uint64_t round = hub()->params.step;
    mot_node in[N], n = 0;
    for (mot_node i = 0; i < s.world.workers; i++)
        if (busy(i)) in[n++] = i;
    for (uint32_t k = 0; k < n; k++) report(in[k], sum);
    CHECK_INT(hub()->params.step, round + 1);
}

/* ---- Whom a round asks --------------------------------------------------------------------------- */

/* Over 4,000 rounds each pair of 8 workers is drawn with probability 3/8 * 2/7: 429 times, deviation 20. */
TEST(a_round_draws_its_clients_uniformly_and_without_replacement)
{
    static uint32_t pairs[N][N];
    uint32_t repeats = 0, last = 0;
    SERVED(&s, &mot_method_fedavg, N, N, "clients", "3");
    for (uint32_t round = 0; round < 4000; round++) {
        CHECK_INT(asked(), 3);
        uint32_t set = 0;
        for (uint32_t a = 0; a < 3; a++) {
            set |= 1u << who(a);
            for (uint32_t b = a + 1; b < 3; b++) pairs[who(a)][who(b)]++;
        }
        repeats += set == last;
        last = set;
        close_round(0);
    }
    for (uint32_t a = 0; a < N; a++)
        for (uint32_t b = a + 1; b < N; b++) CHECK_NEAR(pairs[a][b], 4000 * 3.0 / 28, 5 * 20);
    CHECK_NEAR(repeats, 4000 / 56.0, 5 * 8.4); /* one set in 56 */
    served_end(&s);
}

TEST(clients_are_a_number_or_a_share_of_the_workers)
{
    static const struct {
        const char *key, *value;
        uint32_t asked;
    } cases[] = { { "share", "0.5", 4 }, { "share", "10%", 1 }, { "share", "0", 1 }, { "share", "0.9", 7 },
        { "share", "100%", 8 }, { "clients", "1", 1 }, { "clients", "8", 8 }, { "clients", "all", 8 } };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        SERVED(&s, &mot_method_fedavg, N, N, cases[i].key, cases[i].value);
        CHECK_INT(asked(), cases[i].asked);
        served_end(&s);
    }
}

TEST(clients_that_there_cannot_be_are_refused)
{
    static const struct {
        const char *method, *says;
    } bad[] = { { "{name: fedavg, clients: 9}",
                    "method.clients: 9 clients per round, but there are 8 workers" },
        { "{name: fedavg, clients: 1.5}", "method.clients: " },
        { "{name: fedavg, clients: 0}", "method.clients: " },
        { "{name: fedavg, share: 1.1}", "method.share: " },
        { "{name: fedavg, clients: 2, share: 0.5}", "method.share: expected either clients or share" } };
    for (size_t i = 0; i < MOT_COUNT(bad); i++) {
        struct run r = { 0 };
        RUN_SET(&r, "data", "digits", "workers", "8", "method", bad[i].method);
        run_go(&r);
        CHECK_INT(r.status, MOT_EUSAGE);
        CHECK_HAS(mot_error(), bad[i].says);
        run_free(&r);
    }
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits", "workers", "1", "method", "{name: fedavg, steps: 1e6}", "batch", "5000");
    run_go(&r);
    CHECK_INT(r.status, MOT_EUSAGE);
    CHECK(strstr(mot_error(), "method.steps: worker 0 would compute 5000000000 samples") != NULL);
    run_free(&r);
}

/* ---- What the server does with reports ------------------------------------------------------------- */

TEST(the_model_moves_by_the_mean_of_the_reports_weighted_by_rows)
{
    SERVED(&s, &mot_method_fedavg, 3, 3, "server_rate", "0.5");
    s.rows[0] = 10, s.rows[1] = 30, s.rows[2] = 60;
    report(2, 1);
    report(0, 5);
    CHECK_INT(hub()->params.step, 0);
    report(1, 2);
    CHECK_INT(hub()->params.step, 1);
    CHECK_NEAR(served_parameter(&s), -0.5 * (0.1 * 5 + 0.3 * 2 + 0.6 * 1), 1e-6);
    CHECK_INT(served_count(&s, MOT_FX_CREDIT), 3);
    served_end(&s);
}

TEST(the_model_does_not_depend_on_who_came_first)
{
    float x[2];
    for (uint32_t way = 0; way < 2; way++) {
        SERVED(&s, &mot_method_fedavg, N, N, NULL);
        for (mot_node i = 0; i < N; i++) s.rows[i] = 7 + 3 * i;
        for (mot_node i = 0; i < N; i++) {
            mot_node from = way ? N - 1 - i : i;
            report(from, 0.1f + 1e-4f * (float)(from * from * 7919));
        }
        x[way] = served_parameter(&s);
        served_end(&s);
    }
    CHECK(memcmp(&x[0], &x[1], sizeof x[0]) == 0);
}

TEST(a_round_goes_on_without_those_that_are_lost)
{
    SERVED(&s, &mot_method_fedavg, N, N, "clients", "3");
    mot_node a = who(0), b = who(1), c = who(2);
    report(b, 4);
    served_peer(&s, c, false);
    CHECK_INT(hub()->params.step, 0);
    served_peer(&s, a, false);
    CHECK_INT(hub()->params.step, 1); /* b alone: its report is the mean */
    CHECK_NEAR(served_parameter(&s), -4, 1e-6);
    CHECK_INT(asked(), 3);
    CHECK(!busy(a) && !busy(c));
    served_end(&s);
}

TEST(a_report_counts_though_its_worker_is_lost_later)
{
    SERVED(&s, &mot_method_fedavg, N, N, "clients", "2");
    mot_node a = who(0), b = who(1);
    report(a, 4);
    served_peer(&s, a, false);
    CHECK_INT(hub()->params.step, 0);
    report(b, 2);
    CHECK_NEAR(served_parameter(&s), -3, 1e-6);
    served_end(&s);
}

TEST(if_all_that_a_round_asked_are_lost_it_asks_others)
{
    SERVED(&s, &mot_method_fedavg, N, N, "clients", "2");
    mot_node a = who(0), b = who(1);
    served_peer(&s, a, false);
    CHECK_INT(asked(), 1);
    served_peer(&s, b, false);
    CHECK_INT(asked(), 2);
    CHECK(!busy(a) && !busy(b));
    CHECK_INT(hub()->params.step, 0);
    close_round(1);
    served_peer(&s, a, true); /* is back, and can be asked from the next round on */
    CHECK(!busy(a));
    for (uint32_t round = 0; round < 40 && !busy(a); round++) close_round(1);
    CHECK(busy(a));
    served_end(&s);
}

TEST(an_elastic_round_waits_for_the_first_that_comes_back)
{
    SERVED(&s, &mot_method_fedavg, 3, 3, "clients", "2");
    s.world.elastic = true;
    for (mot_node i = 0; i < 3; i++) served_peer(&s, i, false);
    CHECK_INT(asked(), 0);
    served_peer(&s, 1, true);
    CHECK(busy(1));
    report(1, 3);
    CHECK_NEAR(served_parameter(&s), -3, 1e-6);
    served_end(&s);
}

TEST(a_deadline_closes_a_round_and_what_comes_later_is_dropped)
{
    SERVED(&s, &mot_method_fedavg, 4, 4, "deadline", "fixed", "after", "1s");
    CHECK_INT(served_effect(&s, MOT_FX_ALARM, 0)->alarm.at, 1000000000);
    report(1, 2);
    report(3, 4);
    CHECK_INT(hub()->params.step, 0);
    served_step(&s, &(struct mot_event){ .kind = MOT_EV_TIMER });
    CHECK_INT(hub()->params.step, 1);
    CHECK_NEAR(served_parameter(&s), -3, 1e-6);
    CHECK_INT(mot_hub_oldest(hub(), &s.env, 1), 1); /* asked again; 0 and 2 still have the old job */
    CHECK_INT(mot_hub_oldest(hub(), &s.env, 0), 0);
    report(0, 100);
    CHECK_NEAR(served_noted(&s, "late"), 1, 0);
    CHECK_NEAR(served_parameter(&s), -3, 1e-6);
    CHECK(!busy(0)); /* it waits for the next round */
    report(1, 1);
    report(3, 1);
    CHECK_INT(hub()->params.step, 2);
    CHECK(busy(0) && busy(1) && busy(3));
    served_end(&s);
}

TEST(a_deadline_without_a_report_waits_for_the_first)
{
    SERVED(&s, &mot_method_fedavg, 2, 2, "deadline", "fixed", "clients", "1");
    mot_node first = who(0);
    served_step(&s, &(struct mot_event){ .kind = MOT_EV_TIMER });
    CHECK_INT(hub()->params.step, 0);
    report(first, 2);
    CHECK_INT(hub()->params.step, 1);
    served_end(&s);
}

/* Not finite: the same worker is asked again; the third time it is barred, and the round ends without it. */
TEST(a_report_that_is_not_finite_is_made_again)
{
    SERVED(&s, &mot_method_fedavg, 2, 2, NULL);
    report(0, 2);
    for (uint32_t strike = 0; strike < MOT_HUB_STRIKES; strike++) {
        CHECK(busy(1));
        report(1, NAN);
    }
    CHECK_INT(hub()->params.step, 1);
    CHECK_NEAR(served_parameter(&s), -2, 1e-6);
    CHECK(busy(0) && !busy(1));
    served_end(&s);
}

/* ---- What a worker does ------------------------------------------------------------------------------- */

static void model_arrives(uint64_t round, float value)
{
    served_message(&s, s.world.workers, MOT_MSG_MODEL, (struct mot_head){ .round = round }, value);
}

/* The work that is under way gives a mean gradient of `mean`. Returns its samples. */
static uint32_t gradient(float mean)
{
    const struct mot_work work = served_effect(&s, MOT_FX_START, 0)->work;
    struct mot_term term = work.term[0];
    mot_buf grad = mot_pool_take(&s.pool);
    for (uint32_t j = 0; j < s.world.dim; j++) mot_pool_at(&s.pool, grad)[j] = mean * (float)term.samples;
    struct mot_result w = { .tag = work.tag, .samples = term.samples, .grad = grad, .loss = 1 };
    served_step(&s, &(struct mot_event){ .kind = MOT_EV_WORK, .work = &w });
    mot_pool_drop(&s.pool, grad);
    return term.samples;
}

/* 25 rows in batches of 10: 10, 10 and 5 in each pass, and every job begins where the last ended. */
TEST(a_worker_passes_over_its_rows_in_batches_and_holds_nothing_afterwards)
{
    static const uint32_t batches[6] = { 10, 10, 5, 10, 10, 5 };
    SERVED(&s, &mot_method_fedavg, N, 2, "epochs", "2");
    uint32_t held = s.pool.used;
    uint64_t draw = 0;
    for (uint64_t round = 3; round < 9; round += 5) {
        model_arrives(round, 0);
        for (int q = 0; q < 6; q++) {
            CHECK_INT(served_effect(&s, MOT_FX_START, 0)->work.term[0].draw, draw);
            CHECK_NEAR(mot_pool_at(&s.pool, served_effect(&s, MOT_FX_START, 0)->work.at)[1], -q * 0.5, 1e-6);
            CHECK_INT(gradient(0.5f), batches[q]);
            draw += batches[q];
        }
        const struct mot_effect *sent = served_effect(&s, MOT_FX_SEND, 0);
        CHECK(sent && !served_effect(&s, MOT_FX_START, 0));
        CHECK_INT(sent->message.head.round, round);
        CHECK_INT(sent->message.head.samples, 2 * ROWS);
        CHECK_NEAR(mot_pool_at(&s.pool, sent->message.body.buf)[1], 6 * 0.5 * BATCH, 1e-4);
    }
    served_clear(&s);
    CHECK_INT(s.pool.used, held);
    served_end(&s);
}

TEST(steps_replace_epochs)
{
    SERVED(&s, &mot_method_fedavg, N, 2, "epochs", "2", "steps", "4");
    model_arrives(0, 0);
    for (int q = 0; q < 4; q++) CHECK_INT(gradient(1), BATCH);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.head.samples, 4 * BATCH);
    served_end(&s);
}

/* mu 0.5, rate 1, gradients of 1 from x = 2: y = 2, 1, 1 - (1 + 0.5 * -1) = 0.5, 0.5 - (1 - 0.75) = 0.25. */
TEST(the_proximal_term_pulls_back_to_the_model_of_the_round)
{
    static const float at[4] = { 2, 1, 0.5f, 0.25f };
    SERVED(&s, &mot_method_fedavg, N, 2, "steps", "4", "proximal", "0.5");
    uint32_t held = s.pool.used;
    model_arrives(0, 2);
    for (int q = 0; q < 4; q++) {
        CHECK_NEAR(mot_pool_at(&s.pool, served_effect(&s, MOT_FX_START, 0)->work.at)[0], at[q], 1e-6);
        gradient(1);
    }
    const struct mot_effect *sent = served_effect(&s, MOT_FX_SEND, 0);
    double way = 1 + 0.5 + 0.25 + (1 + 0.5 * (0.25 - 2));
    CHECK_NEAR(mot_pool_at(&s.pool, sent->message.body.buf)[0] / BATCH, way, 1e-5);
    served_clear(&s);
    CHECK_INT(s.pool.used, held);
    served_end(&s);
}

/* ---- Limiting cases --------------------------------------------------------------------------------- */

static uint64_t model_of(const char *method, const char *const *more)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "{name: synthetic, size: 700, test: 0}", "model", "softmax", "optimizer",
        "{lr: 0.05, momentum: 0.9}", "batch", "16", "stop.updates", "60", "method", method, "cluster",
        "{workers: [{count: 5}, {count: 2, speed: 300 samples/s, jitter: {name: lognormal, sigma: 0.3}}]}");
    run_set_all(&r, more);
    run_go(&r);
    bool equal = r.status == MOT_OK && r.job.parts.at[7] - r.job.parts.at[6] == 100;
    uint64_t hash = equal && r.out.status == MOT_OK ? r.out.model_hash : 0;
    run_free(&r);
    return hash;
}

/* With momentum, which is the server's. */
TEST(one_step_of_everyone_is_a_server_that_waits_for_all_to_the_bit)
{
    uint64_t all = model_of("server", (const char *const[]){ NULL });
    CHECK(all != 0);
    CHECK(model_of("fedavg", (const char *const[]){ "method.steps", "1", NULL }) == all);
    CHECK(model_of("fedavg", (const char *const[]){ "method.steps", "2", NULL }) != all);
    CHECK(
        model_of("fedavg", (const char *const[]){ "method.steps", "1", "method.clients", "6", NULL }) != all);
}

/* One worker whose steps are the server's: plain SGD again, to rounding. 1,120 rows are 70 batches of 16. */
TEST(one_worker_with_local_epochs_is_plain_sgd)
{
    double loss[2];
    for (int way = 0; way < 2; way++) {
        struct run r = { 0 };
        RUN_SET(&r, "data", "{name: synthetic, size: 1120, test: 0}", "model", "softmax", "optimizer.lr",
            "0.1", "batch", "16", "workers", "1");
        if (way) RUN_SET(&r, "method", "fedavg", "stop.updates", "2");
        else RUN_SET(&r, "method", "allreduce", "stop.updates", "140");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_NEAR(r.out.last.epochs, 2, 1e-9);
        loss[way] = r.out.last.score.train_loss;
        run_free(&r);
    }
    CHECK_NEAR(loss[1], loss[0], 1e-5 * loss[0]);
}

/* 4 of 40 workers, a pass each: 0.1 epochs a round. So 3 epochs are 30 rounds, when the rate is 0. */
TEST(a_schedule_of_epochs_counts_rounds_of_drawn_workers)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits", "model", "softmax", "workers", "40", "method", "{name: fedavg, share: 0.1}",
        "optimizer.schedule", "cosine", "stop.epochs", "3", "batch", "8");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.job.optim.schedule.total, 30);
    CHECK(r.out.last.updates >= 29 && r.out.last.updates <= 31);
    run_free(&r);
}

TEST_MAIN()
