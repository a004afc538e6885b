/* Ringmaster ASGD: no delay reaches R, and what is stopped for it is counted. */
#include "../run/run.h"
#include "base/rng.h"
#include "report/tally.h"
#include "served.h"

#define N 4u
static struct served s;
static const struct mot_hub *hub(void) { return s.state; }
static void answer(mot_node i, float mean)
{
    served_gradient(&s, i, mot_hub_oldest(hub(), &s.env, i), BATCH, mean);
}

TEST(a_job_is_replaced_at_the_update_that_makes_its_delay_r)
{
    SERVED(&s, &mot_method_ringmaster, N, N, "r", "3");
    answer(0, 1);
    answer(0, 1);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 1);
    answer(0, 1); /* the third update: the jobs of the other three, of model 0, have a delay of 3 */
    CHECK_INT(served_count(&s, MOT_FX_SEND), 4);
    for (uint32_t k = 1; k < 4; k++) {
        CHECK_INT(served_effect(&s, MOT_FX_SEND, k)->message.kind, MOT_MSG_REPLACE);
        CHECK_INT(served_effect(&s, MOT_FX_SEND, k)->message.head.round, 3);
    }
    CHECK_NEAR(served_parameter(&s), -3, 1e-6);
    served_end(&s);
}

TEST(r_of_one_takes_one_gradient_of_each_model)
{
    SERVED(&s, &mot_method_ringmaster, N, N, "r", "1");
    for (int k = 0; k < 10; k++) {
        answer(k % 2 ? 3 : 1, 1);
        CHECK_NEAR(served_noted(&s, "staleness"), 0, 0);
        for (mot_node i = 0; i < N; i++) CHECK_INT(mot_hub_oldest(hub(), &s.env, i), k + 1);
        /* the workers give up what was replaced; whose answer came is at its new job */
        for (mot_node i = 0; i < N; i++)
            if (mot_hub_seat(hub(), i)->there == 2)
                served_message(&s, i, MOT_MSG_GAVE_UP, (struct mot_head){ .samples = 1, .value = 1 }, 0);
    }
    CHECK_INT(hub()->params.step, 10);
    served_end(&s);
}

/* Those whose jobs are late are replaced, the lowest number first, as if all workers had been looked
 * at; also after workers were lost, came back or sent nonsense. */
TEST(the_late_are_found_in_order_whatever_comes_between)
{
    struct mot_rng rng = mot_rng_at(11, 0, 0);
    uint32_t replaced = 0, refused = 0;
    SERVED(&s, &mot_method_ringmaster, 12, 12, "r", "7");
    for (int k = 0; k < 3000; k++) {
        mot_node i = (mot_node)mot_rng_below(&rng, 12);
        const struct mot_seat *seat = mot_hub_seat(hub(), i);
        uint64_t step = hub()->params.step, age[12];
        for (mot_node j = 0; j < 12; j++) age[j] = step - mot_hub_oldest(hub(), &s.env, j);
        if (seat->there == 2) {
            served_message(&s, i, MOT_MSG_GAVE_UP, (struct mot_head){ .samples = 1, .value = 1 }, 0);
        } else if (seat->away || (mot_rng_below(&rng, 10) == 0 && hub()->present > 2)) {
            served_peer(&s, i, seat->away);
        } else {
            bool nonsense = mot_rng_below(&rng, 6) == 0;
            served_gradient(&s, i, step - age[i], BATCH, nonsense ? NAN : 1);
            refused += nonsense;
            mot_node last = 0;
            for (uint32_t e = 1; e < served_count(&s, MOT_FX_SEND); e++, replaced++) {
                const struct mot_message *m = &served_effect(&s, MOT_FX_SEND, e)->message;
                CHECK(!nonsense && age[m->to] + 1 == 7 && m->to >= last && m->to != i);
                last = m->to;
            }
        }
        for (mot_node j = 0; j < 12; j++)
            CHECK(mot_hub_seat(hub(), j)->away || hub()->params.step - mot_hub_oldest(hub(), &s.env, j) < 7);
    }
    CHECK(replaced > 200 && refused > 100 && hub()->params.step > 1000);
    served_end(&s);
}

static const char speeds[] =
    "{network: none, workers: [{count: 2, job_time: {name: exponential, mean: 1s}}, "
    "{count: 3, job_time: {name: exponential, mean: 10s}}, {count: 1, job_time: {name: fixed, mean: 200s}}]}";

static void run_with(struct run *r, const char *bound, const char *unfinished)
{
    *r = (struct run){ 0 };
    RUN_SET(r, "data", "digits", "model", "softmax", "optimizer.lr", "0.05", "batch", "8", "stop.updates",
        "2000", "method", "ringmaster", "cluster", speeds, "method.r", bound, "method.unfinished",
        unfinished);
    run_go(r);
}

TEST(no_delay_reaches_r_and_every_stopped_job_is_counted)
{
    static const char *const bound[] = { "1", "2", "5", "12", "40" };
    double before = 1e9;
    for (size_t k = 0; k < MOT_COUNT(bound); k++) {
        struct run r;
        run_with(&r, bound[k], "cancel");
        CHECK_INT(r.status, MOT_OK);
        CHECK(r.out.last.staleness_max < strtod(bound[k], NULL));
        const struct mot_note_tally *wasted = mot_note_find(&r.out, "wasted");
        CHECK(wasted && wasted->sum > 0 && wasted->sum < before); /* a larger R stops fewer */
        CHECK_INT(r.out.node[5].updates, 0);                      /* the slowest is always stopped */
        before = wasted->sum;
        run_free(&r);
    }
}

TEST(late_gradients_that_are_finished_are_dropped)
{
    struct run r;
    run_with(&r, "5", "finish");
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.last.staleness_max, 4);
    CHECK(mot_note_find(&r.out, "dropped") && !mot_note_find(&r.out, "wasted"));
    run_free(&r);
}

/* With R beyond every delay it is pure asynchronous SGD, to the bit. */
TEST(with_a_large_r_it_is_async)
{
    struct run r, a = { 0 };
    run_with(&r, "1000000", "cancel");
    RUN_SET(&a, "data", "digits", "model", "softmax", "optimizer.lr", "0.05", "batch", "8", "stop.updates",
        "2000", "method", "async", "cluster", speeds);
    run_go(&a);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(a.status, MOT_OK);
    CHECK(r.out.model_hash == a.out.model_hash);
    run_free(&r);
    run_free(&a);
}

TEST_MAIN()
