/* A node as every driver runs it: slots for jobs, alarms, and effects carried out in order. */
#include "run/actor.h"
#include "run/pool.h"
#include "run/run.h"
#include <stdarg.h>

struct wide { /* a driver's own room for a work */
    struct mot_slot slot;
    char more[40];
};

static struct mot_need need_of(const void *conf, const struct mot_world *w, mot_node self)
{
    (void)conf, (void)w, (void)self;
    return (
        struct mot_need){ .state_bytes = 24, .works = 3, .terms = 2, .alarms = 2, .sends = 4, .colls = 1 };
}
static const struct mot_method method = { .name = "nothing", .need = need_of };
static const struct mot_experiment experiment = { .method = &method };
static const struct mot_world world = { .workers = 1, .servers = 1, .nodes = 2, .dim = 1 };

/* ---- A driver that writes down what it is told ------------------------------------------------------- */

static char told[400];
static void tell(const char *format, ...)
{
    va_list args;
    size_t n = strlen(told);
    va_start(args, format);
    vsnprintf(told + n, sizeof told - n, format, args);
    va_end(args);
}
static void on_send(void *d, struct mot_actor *a, const struct mot_message *m)
{
    (void)d, tell("send %u>%u ", a->self, m->to);
}
static void on_start(void *d, struct mot_actor *a, struct mot_slot *s)
{
    (void)d, (void)a, tell("start %u ", s->tag);
}
static void on_cancel(void *d, struct mot_actor *a, struct mot_slot *s)
{
    (void)d, (void)a, tell("cancel %u ", s->tag);
}
static void on_collect(void *d, struct mot_actor *a, const struct mot_coll *c)
{
    (void)d, (void)a, tell("collect %u ", c->tag);
}
static void on_alarm(void *d, struct mot_actor *a, uint32_t tag, mot_time at)
{
    (void)d, (void)a, tell("alarm %u@%llu ", tag, (unsigned long long)at);
}
static void on_advance(void *d, struct mot_actor *a)
{
    (void)d, tell("advance %llu ", (unsigned long long)a->advanced);
}
static void on_credit(void *d, struct mot_actor *a, mot_node worker)
{
    (void)d, (void)a, tell("credit %u ", worker);
}
static void on_note(void *d, struct mot_actor *a, const char *key, double value)
{
    (void)d, (void)a, tell("note %s %g ", key, value);
}
static void on_stop(void *d, struct mot_actor *a, enum mot_status why)
{
    (void)d, (void)a, tell("stop %s", mot_status_name(why));
}
static struct mot_actor_ops ops = { .send = on_send,
    .start = on_start,
    .cancel = on_cancel,
    .collect = on_collect,
    .advance = on_advance,
    .credit = on_credit,
    .note = on_note,
    .stop = on_stop };

/* ---- The claims ---------------------------------------------------------------------------------------- */

static struct mot_pool pool;
static struct mot_actor actor;
static struct mot_outbox outbox;
static struct mot_env env;
static mot_buf x;

static void begin(mot_node self)
{
    told[0] = '\0';
    if (mot_pool_open(&pool, 1, 20) != MOT_OK) abort();
    x = mot_pool_take(&pool);
    mot_actor_open(&actor, &outbox, &experiment, &world, self, sizeof(struct wide));
    env = mot_env_of(&experiment, &world, self, 7, &pool, &outbox);
}
static void end(void)
{
    mot_actor_close(&actor, &outbox);
    mot_pool_close(&pool);
}
static void start(uint32_t tag, uint32_t terms)
{
    const struct mot_term term[2] = { { .part = tag, .draw = 5, .samples = 3, .coef = 1 },
        { .part = 9, .draw = 6, .samples = 4, .coef = 2 } };
    mot_start(&env, &(struct mot_work){ .tag = tag, .terms = terms, .term = term, .deadline = 99, .at = x });
}
static void drain(void) { mot_actor_drain(&actor, &outbox, &ops, NULL); }

TEST(effects_are_carried_out_in_the_order_in_which_they_were_asked_for)
{
    begin(0);
    mot_send(&env, 1, 3, (struct mot_head){ 0 }, (struct mot_slice){ 0 });
    start(11, 1);
    mot_advance(&env);
    mot_credit(&env, 0);
    mot_note(&env, "k", 2.5);
    mot_collect(&env, &(struct mot_coll){ .tag = 6, .in = mot_whole(&env, x) });
    mot_cancel(&env, 11);
    mot_cancel(&env, 12); /* has come, or never was */
    mot_advance(&env);
    mot_stop(&env, MOT_EPEER);
    drain();
    CHECK(
        strcmp(told,
            "send 0>1 start 11 advance 1 credit 0 note k 2.5 collect 6 cancel 11 advance 2 stop peer_lost") ==
        0);
    told[0] = '\0';
    drain();
    CHECK(strcmp(told, "") == 0); /* once each */
    end();
}

TEST(a_started_work_waits_in_a_slot_with_its_own_copy_of_its_terms)
{
    begin(0);
    start(11, 2);
    drain();
    const struct mot_slot *s = mot_actor_with_tag(&actor, 11);
    CHECK(s && s == mot_actor_slot(&actor, 0));
    CHECK_INT(s->state, MOT_SLOT_WAITING);
    CHECK_INT(s->terms, 2);
    CHECK_INT(s->term[0].part, 11);
    CHECK_INT(s->term[1].part, 9);
    CHECK_INT(s->term[1].samples, 4);
    CHECK_INT(s->deadline, 99);
    CHECK_INT(s->at, x);
    CHECK_INT(mot_pool_count(&pool, x), 2); /* held by who started it */
    end();
}

TEST(works_run_one_at_a_time_in_their_order)
{
    begin(0);
    for (uint32_t tag = 1; tag <= 3; tag++) start(tag, 1);
    drain();
    CHECK((char *)mot_actor_slot(&actor, 2) - (char *)actor.slot == 2 * sizeof(struct wide));
    const uint64_t order[] = { 8, 3, 5 };
    for (uint32_t i = 0; i < 3; i++) mot_actor_slot(&actor, i)->order = order[i];
    CHECK(!mot_actor_running(&actor));
    const uint32_t turns[] = { 2, 3, 1 };
    for (int i = 0; i < 3; i++) {
        struct mot_slot *s = mot_actor_next(&actor);
        CHECK(s);
        CHECK_INT(s->tag, turns[i]);
        s->state = MOT_SLOT_RUNNING;
        CHECK(!mot_actor_next(&actor)); /* it is busy */
        CHECK(mot_actor_running(&actor) == s);
        s->state = MOT_SLOT_FREE;
        CHECK(!mot_actor_with_tag(&actor, turns[i]));
    }
    CHECK(!mot_actor_next(&actor));
    start(4, 1); /* a slot that is free is used again */
    drain();
    CHECK(mot_actor_with_tag(&actor, 4) == mot_actor_slot(&actor, 0));
    end();
}

TEST(alarms_are_kept_by_the_actor_or_told_to_a_driver_that_keeps_them)
{
    begin(0);
    CHECK(actor.alarm[0] == MOT_NEVER && actor.alarm[1] == MOT_NEVER);
    mot_alarm(&env, 1, 40);
    drain();
    CHECK(actor.alarm[0] == MOT_NEVER);
    CHECK_INT(actor.alarm[1], 40);
    ops.alarm = on_alarm;
    mot_alarm(&env, 0, 50);
    drain();
    ops.alarm = NULL;
    CHECK(strcmp(told, "alarm 0@50 ") == 0);
    CHECK(actor.alarm[0] == MOT_NEVER);
    end();
}

TEST(a_server_has_no_slots_whatever_its_method_declares)
{
    begin(1);
    CHECK_INT(actor.works, 0);
    CHECK_INT(actor.alarms, 2);
    CHECK(!mot_actor_next(&actor) && !mot_actor_running(&actor) && !mot_actor_with_tag(&actor, 0));
    CHECK_INT(env.self, 1);
    CHECK_INT(env.now, 7);
    CHECK(env.world == &world && env.pool == &pool && env.out == &outbox && env.life == 0 && !env.memo);
    end();
}

/* Numbers of words index the rows of a table: one that is none would read elsewhere. */
TEST(rows_that_a_model_cannot_take_are_refused_before_a_run)
{
    struct run r = { 0 };
    RUN_SET(&r, "data", "digits", "model",
        "{name: network, layers: [{name: embedding, words: 4, out: 2}, flatten, {name: linear, out: "
        "classes}]}");
    CHECK_INT(mot_experiment_open(NULL, r.setting, r.settings, &r.experiment), MOT_OK);
    CHECK_INT(mot_job_open(r.experiment, &r.job), MOT_EDATA);
    CHECK_HAS(mot_error(), "layer 1 (embedding): column 2 holds 0.6875, expected");
    mot_experiment_close(r.experiment);
}

TEST_MAIN()
