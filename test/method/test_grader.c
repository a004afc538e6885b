/* A worker's queue of jobs: the grader by itself, and cancelling on threads. */
#include "../run/run.h"
#include "report/tally.h"
#include "served.h"

/* Worker 0 of a method that replaces jobs: its queue holds two. */
static void begin(struct served *s)
{
    SERVED(s, &mot_method_async, 2, 0, "max_staleness", "1", "on_stale", "cancel");
}

static void model(struct served *s, uint16_t kind, uint64_t round)
{
    served_message(s, 2, kind, (struct mot_head){ .round = round }, 0);
}

static uint32_t tag_begun(const struct served *s)
{
    const struct mot_effect *e = served_effect(s, MOT_FX_START, 0);
    return e ? e->work.tag : 0;
}

/* One entry of the last range is not finite. */
static void spoilt_work(struct served *s, uint32_t tag)
{
    mot_buf grad = mot_pool_take(&s->pool);
    for (uint32_t i = 0; i < s->world.dim; i++)
        mot_pool_at(&s->pool, grad)[i] = i + 1 < s->world.dim ? 1 : INFINITY;
    struct mot_result w = { .tag = tag, .samples = BATCH, .loss = 1, .grad = grad };
    served_step(s, &(struct mot_event){ .kind = MOT_EV_WORK, .work = &w });
    mot_pool_drop(&s->pool, grad);
}

/* Else the one that sees it would bar the worker after three, and the
 * other wait for a job that it never begins. */
TEST(all_servers_hear_of_a_gradient_that_is_not_finite_in_one_range)
{
    static const char *const guard[] = { "drop", "off" };
    for (int k = 0; k < 2; k++) {
        struct served s;
        SERVED(&s, &mot_method_async, 2, 0, "shards", "2", "guard", guard[k]);
        served_message(&s, 2, MOT_MSG_MODEL, (struct mot_head){ .round = 0 }, 0);
        served_message(&s, 3, MOT_MSG_MODEL, (struct mot_head){ .round = 0 }, 0);
        spoilt_work(&s, tag_begun(&s));
        CHECK_INT(served_count(&s, MOT_FX_SEND), 2);
        for (uint32_t e = 0; e < 2; e++)
            CHECK(isfinite(served_effect(&s, MOT_FX_SEND, e)->message.head.value) == (k == 1));
        served_end(&s);
    }
}

/* The worker has its gradient at hand; the server, for whom all wait, need not look at it. */
TEST(workers_tell_of_a_gradient_that_is_not_finite)
{
    static const struct mot_method *const methods[] = { &mot_method_server, &mot_method_fedbuff };
    static const char *const guard[] = { "drop", "stop", "off" };
    for (size_t m = 0; m < 2; m++)
        for (int k = 0; k < 3; k++) {
            struct served s;
            if (m == 0) SERVED(&s, methods[m], 2, 0, "guard", guard[k]);
            else SERVED(&s, methods[m], 2, 0, "guard", guard[k], "steps", "1");
            served_message(&s, 2, MOT_MSG_MODEL, (struct mot_head){ .round = 0 }, 0);
            spoilt_work(&s, tag_begun(&s));
            CHECK_INT(served_count(&s, MOT_FX_SEND), 1);
            const struct mot_message *told = &served_effect(&s, MOT_FX_SEND, 0)->message;
            CHECK(isfinite(told->head.value) == (k == 2));
            CHECK(told->intact);
            served_end(&s);
        }
}

/* Where each gradient is a step of the server's, the step looks as it reads it (test_async.c). */
TEST(workers_do_not_look_at_gradients_that_the_server_looks_at_for_nothing)
{
    static const struct mot_method *const methods[] = { &mot_method_async, &mot_method_ringmaster,
        &mot_method_gasync };
    for (size_t m = 0; m < MOT_COUNT(methods); m++)
        for (int momentum = 0; momentum < 2; momentum++) {
            struct served s;
            SERVED(&s, methods[m], 2, 0, NULL);
            s.optim.slots = (uint32_t)momentum; /* what a step has spoilt of it could not be taken back */
            methods[m]->init(s.state, &s.env);
            served_message(&s, 2, MOT_MSG_MODEL, (struct mot_head){ .round = 0 }, 0);
            spoilt_work(&s, tag_begun(&s));
            CHECK(isfinite(served_effect(&s, MOT_FX_SEND, 0)->message.head.value) == !momentum);
            served_end(&s);
        }
}

TEST(jobs_run_one_at_a_time_in_the_order_they_came)
{
    struct served s;
    begin(&s);
    model(&s, MOT_MSG_MODEL, 3);
    uint32_t first = tag_begun(&s);
    CHECK(first != 0);
    model(&s, MOT_MSG_MODEL, 5);
    CHECK_INT(served_count(&s, MOT_FX_START), 0);
    served_work(&s, first, BATCH);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.head.round, 3);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.head.samples, BATCH);
    uint32_t second = tag_begun(&s);
    CHECK(second != 0 && second != first); /* what waits begins as soon as the worker is free */
    served_work(&s, second, BATCH);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.head.round, 5);
    CHECK_INT(served_count(&s, MOT_FX_START), 0);
    served_end(&s);
}

TEST(a_replacing_job_cancels_the_running_one_and_begins_when_it_is_out)
{
    struct served s;
    begin(&s);
    model(&s, MOT_MSG_MODEL, 3);
    uint32_t first = tag_begun(&s);
    model(&s, MOT_MSG_REPLACE, 9);
    CHECK_INT(served_count(&s, MOT_FX_CANCEL), 1);
    CHECK_INT(served_effect(&s, MOT_FX_CANCEL, 0)->alarm.tag, first);
    CHECK_INT(served_count(&s, MOT_FX_START), 0);
    served_work(&s, first, 4); /* 4 of 10 samples were done */
    const struct mot_effect *answer = served_effect(&s, MOT_FX_SEND, 0);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 1);
    CHECK_INT(answer->message.kind, MOT_MSG_GAVE_UP);
    CHECK_INT(answer->message.head.samples, 4);
    CHECK_NEAR(answer->message.head.value, 1, 0);
    CHECK_INT(answer->message.body.buf, MOT_NO_BUF); /* a gradient that nobody wants is not sent */
    CHECK_INT(served_count(&s, MOT_FX_START), 1);
    /* The samples that were computed count as drawn. */
    CHECK_INT(served_effect(&s, MOT_FX_START, 0)->work.term[0].draw, 4);
    served_end(&s);
}

TEST(jobs_that_wait_are_given_up_with_the_running_one_and_counted)
{
    struct served s;
    begin(&s);
    model(&s, MOT_MSG_MODEL, 3);
    uint32_t first = tag_begun(&s);
    model(&s, MOT_MSG_REPLACE, 4);
    model(&s, MOT_MSG_REPLACE, 5);                 /* before the first is out */
    CHECK_INT(served_count(&s, MOT_FX_CANCEL), 0); /* it is being cancelled already */
    served_work(&s, first, 0);
    CHECK_NEAR(served_effect(&s, MOT_FX_SEND, 0)->message.head.value, 2, 0);
    served_work(&s, tag_begun(&s), BATCH);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.head.round, 5);
    served_end(&s);
}

TEST(an_idle_worker_takes_a_replacing_job_as_any_other)
{
    struct served s;
    begin(&s);
    model(&s, MOT_MSG_REPLACE, 7);
    CHECK_INT(served_count(&s, MOT_FX_START), 1);
    CHECK_INT(served_count(&s, MOT_FX_SEND), 0);
    served_end(&s);
}

TEST(a_job_with_a_limit_is_given_up_by_the_worker_itself)
{
    struct served s;
    begin(&s);
    served_message(&s, 2, MOT_MSG_MODEL, (struct mot_head){ .round = 1, .value = 0.5 }, 0);
    const struct mot_effect *start = served_effect(&s, MOT_FX_START, 0);
    CHECK_INT(start->work.deadline, 500000000);
    s.env.now = 500000000;
    served_work(&s, start->work.tag, 6);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.kind, MOT_MSG_GAVE_UP);
    /* Data that ends before the limit is an answer: there were only so many. */
    served_message(&s, 2, MOT_MSG_MODEL, (struct mot_head){ .round = 1, .value = 0.5 }, 0);
    served_work(&s, tag_begun(&s), 6);
    CHECK_INT(served_effect(&s, MOT_FX_SEND, 0)->message.kind, MOT_MSG_GRAD);
    served_end(&s);
}

TEST(a_queue_leaks_no_buffers)
{
    struct served s;
    begin(&s);
    uint32_t used = 0, tag = 0;
    for (uint64_t round = 0; round < 100; round++) {
        model(&s, round % 3 ? MOT_MSG_REPLACE : MOT_MSG_MODEL, round);
        if (tag_begun(&s)) tag = tag_begun(&s);
        while (served_count(&s, MOT_FX_CANCEL) == 0 && round % 3 == 0) {
            served_work(&s, tag, BATCH);
            if (!tag_begun(&s)) break;
            tag = tag_begun(&s);
        }
        if (served_count(&s, MOT_FX_CANCEL)) {
            served_work(&s, tag, 1);
            tag = tag_begun(&s);
        }
        if (round == 10) used = s.pool.used;
    }
    CHECK_INT(s.pool.used, used);
    served_end(&s);
}

/* Worker 0 has small jobs, worker 1 one that takes a thousand times as
 * long and is always out of date before its end. */
static void cancels(const struct mot_driver *driver, const char *updates, bool *began)
{
    struct run r = { .ways = { .driver = driver } };
    RUN_SET(&r, "data", "synthetic", "data.size", "4000", "data.test", "0", "workers", "2", "model",
        "{name: mlp, hidden: [256]}", "batch", "[10, 40000]", "method", "async", "method.max_staleness", "10",
        "method.on_stale", "cancel", "stop.updates", updates, "evaluate.train", "end", "evaluate.every",
        "10000 updates", "optimizer.lr", "0.01");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.last.updates, r.experiment->stop.updates);
    const struct mot_note_tally *wasted = mot_note_find(&r.out, "wasted"),
                                *samples = mot_note_find(&r.out, "wasted_samples");
    CHECK(r.out.last.staleness_max <= 10);
    *began = r.out.node[1].jobs > 0 && wasted && samples;
    if (*began) {
        CHECK(samples->sum < 40000 * wasted->sum); /* before the end of the job */
        CHECK(r.out.node[1].samples < 40000 * r.out.node[1].jobs);
    }
    run_free(&r);
}

TEST(a_cancelled_job_stops_computing_in_the_simulator)
{
    bool began;
    cancels(&mot_driver_sim, "100", &began);
    CHECK(began);
}

/* As many updates as it takes for a busy machine to let worker 1 begin. */
TEST(a_cancelled_job_stops_computing_on_threads)
{
    static const char *const updates[] = { "600", "6000", "60000" };
    bool began = false;
    for (int i = 0; i < 3 && !began; i++) cancels(&mot_driver_threads, updates[i], &began);
    CHECK(began);
}

TEST_MAIN()
