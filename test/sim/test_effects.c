/* Effects under a probe method: cancelling, deadlines, several jobs at once, re-armed alarms. */
#include "run/run.h"
#include "method/methods.h"

struct probe {
    uint32_t works, timers;
};
static struct {
    uint32_t tag, samples;
    mot_time at;
} seen[16];
static uint32_t seen_n, timers_n;
static mot_time timer_at[16];
static uint64_t updates;
static void (*script)(struct probe *, struct mot_env *);

static struct mot_need probe_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf, (void)world, (void)self;
    return (struct mot_need){
        .state_bytes = sizeof(struct probe), .buffers = 2, .works = 3, .terms = 2, .alarms = 2
    };
}

static void probe_init(void *p, struct mot_env *env) { (void)p, (void)env; }

static void probe_step(void *p, struct mot_env *env, const struct mot_event *event)
{
    struct probe *s = p;
    switch (event->kind) {
    case MOT_EV_START: script(s, env); return;
    case MOT_EV_WORK:
        seen[seen_n].tag = event->work->tag;
        seen[seen_n].samples = event->work->samples;
        seen[seen_n++].at = env->now;
        return;
    case MOT_EV_TIMER:
        timer_at[timers_n++] = env->now;
        if (event->timer == 1) mot_stop(env, MOT_OK);
        else mot_cancel(env, 1);
        return;
    case MOT_EV_MESSAGE:
    case MOT_EV_COLL:
    case MOT_EV_PIECE:
    case MOT_EV_PEER: return;
    }
}

static bool probe_model(const void *p, const struct mot_env *env, struct mot_view *view)
{
    (void)p;
    *view = (struct mot_view){ .x = env->world->x0, .scale = 1 };
    return true;
}

static const struct mot_option no_options[] = { { .name = NULL } };
static const struct mot_method probe = { .name = "probe",
    .summary = "asks for what tests ask for",
    .options = no_options,
    .need = probe_need,
    .init = probe_init,
    .step = probe_step,
    .model = probe_model };

/* One worker of 1000 samples/s without a network: a sample is a millisecond. */
static const char *faults = "[]";

static enum mot_status play(void (*what)(struct probe *, struct mot_env *))
{
    char cluster[200];
    const struct mot_method *more[] = { &probe, NULL };
    struct run r = { 0 };
    script = what;
    snprintf(cluster, sizeof cluster, "{network: none, workers: 1, faults: %s}", faults);
    seen_n = timers_n = 0;
    RUN_SET(&r, "data", "digits", "model", "softmax", "method", "probe", "cluster", cluster);
    mot_methods_extend(more);
    run_go(&r);
    mot_methods_extend(NULL);
    enum mot_status status = r.status;
    updates = status == MOT_OK ? r.out.last.updates : 0;
    run_free(&r);
    return status;
}

#define MS UINT64_C(1000000)

static void start(struct mot_env *env, uint32_t tag, uint32_t samples, mot_time deadline)
{
    struct mot_term term = { .part = 0, .draw = 0, .samples = samples, .coef = 1 };
    mot_start(env,
        &(struct mot_work){
            .tag = tag, .terms = 1, .term = &term, .deadline = deadline, .at = env->world->x0 });
}

static void two_works(struct probe *s, struct mot_env *env)
{
    (void)s;
    start(env, 1, 100, MOT_NEVER);
    start(env, 2, 50, MOT_NEVER);
    mot_alarm(env, 1, 1000 * MS);
}

TEST(works_of_one_node_run_one_after_the_other)
{
    CHECK_INT(play(two_works), MOT_OK);
    CHECK_INT(seen_n, 2);
    CHECK_INT(seen[0].tag, 1);
    CHECK_INT(seen[0].at, 100 * MS);
    CHECK_INT(seen[1].at, 150 * MS);
    CHECK_INT(seen[1].samples, 50);
}

static void deadline(struct probe *s, struct mot_env *env)
{
    (void)s;
    start(env, 1, 100, 30 * MS);
    mot_alarm(env, 1, 1000 * MS);
}

TEST(a_deadline_takes_the_samples_that_are_done)
{
    CHECK_INT(play(deadline), MOT_OK);
    CHECK_INT(seen_n, 1);
    CHECK_INT(seen[0].at, 30 * MS);
    CHECK_INT(seen[0].samples, 30);
}

static void cancel(struct probe *s, struct mot_env *env)
{
    two_works(s, env);
    mot_alarm(env, 0, 40 * MS); /* cancels work 1 */
}

TEST(cancelled_work_ends_now_and_the_next_begins)
{
    CHECK_INT(play(cancel), MOT_OK);
    CHECK_INT(seen_n, 2);
    CHECK_INT(seen[0].at, 40 * MS);
    CHECK_INT(seen[0].samples, 40);
    CHECK_INT(seen[1].at, 90 * MS);
}

static void cancel_waiting(struct probe *s, struct mot_env *env)
{
    (void)s;
    start(env, 7, 100, MOT_NEVER);
    start(env, 1, 50, MOT_NEVER);
    mot_alarm(env, 0, 40 * MS);
    mot_alarm(env, 1, 1000 * MS);
}

TEST(work_cancelled_before_its_turn_has_covered_nothing)
{
    CHECK_INT(play(cancel_waiting), MOT_OK);
    CHECK_INT(seen_n, 2);
    CHECK_INT(seen[0].tag, 1);
    CHECK_INT(seen[0].samples, 0);
    CHECK_INT(seen[0].at, 40 * MS);
    CHECK_INT(seen[1].at, 100 * MS);
    CHECK_INT(seen[1].samples, 100);
}

TEST(a_stall_lengthens_work_and_takes_from_what_a_deadline_leaves)
{
    faults = "[{kind: stall, at: 10ms, for: 15ms, worker: 0}]";
    CHECK_INT(play(two_works), MOT_OK);
    CHECK_INT(seen[0].at, 115 * MS);
    CHECK_INT(seen[0].samples, 100);
    CHECK_INT(seen[1].at, 165 * MS);
    CHECK_INT(play(deadline), MOT_OK);
    CHECK_INT(seen[0].at, 30 * MS);
    CHECK_INT(seen[0].samples, 15);
    CHECK_INT(play(cancel), MOT_OK);
    CHECK_INT(seen[0].at, 40 * MS);
    CHECK_INT(seen[0].samples, 25);
    faults = "[{kind: stall, at: 20ms, for: 50ms, worker: 0}]";
    CHECK_INT(play(deadline), MOT_OK); /* it passes while the node sleeps */
    CHECK_INT(seen[0].at, 70 * MS);
    CHECK_INT(seen[0].samples, 20);
    CHECK_INT(play(cancel), MOT_OK); /* so does the alarm that cancels */
    CHECK_INT(timer_at[0], 70 * MS);
    CHECK_INT(seen[0].samples, 20);
    faults = "[{kind: stall, at: 40ms, for: 10ms, worker: 0}]";
    CHECK_INT(play(cancel), MOT_OK); /* and at the same moment, the fault comes first */
    CHECK_INT(seen[0].at, 50 * MS);
    CHECK_INT(seen[0].samples, 40);
    faults = "[]";
}

static void rearm(struct probe *s, struct mot_env *env)
{
    (void)s;
    /* Each setting replaces the one before; thousands of stale ones must not fill the heap. */
    for (int i = 0; i < 6; i++) mot_alarm(env, 0, (mot_time)(100 - i) * MS);
    mot_alarm(env, 0, MOT_NEVER);
    mot_alarm(env, 1, 200 * MS);
}

TEST(only_the_last_setting_of_an_alarm_goes_off)
{
    CHECK_INT(play(rearm), MOT_OK);
    CHECK_INT(timers_n, 1);
    CHECK_INT(timer_at[0], 200 * MS);
}

static void two_terms(struct probe *s, struct mot_env *env)
{
    (void)s;
    struct mot_term term[2] = { { .part = 0, .draw = 0, .samples = 20, .coef = 1 },
        { .part = 0, .draw = 0, .samples = 20, .coef = -1 } };
    mot_start(env,
        &(struct mot_work){
            .tag = 3, .terms = 2, .term = term, .deadline = MOT_NEVER, .at = env->world->x0 });
    mot_alarm(env, 1, 1000 * MS);
}

TEST(terms_add_up_with_their_coefficients)
{
    CHECK_INT(play(two_terms), MOT_OK);
    CHECK_INT(seen[0].samples, 40);
    CHECK_INT(seen[0].at, 40 * MS);
}

static void advance_twice_and_stop(struct probe *s, struct mot_env *env)
{
    (void)s;
    mot_advance(env);
    mot_advance(env);
    mot_stop(env, MOT_OK);
}

TEST(updates_of_one_step_all_count)
{
    CHECK_INT(play(advance_twice_and_stop), MOT_OK);
    CHECK_INT(updates, 2);
}

static void never(struct probe *s, struct mot_env *env)
{
    (void)s;
    mot_alarm(env, 0, MOT_NEVER - 1); /* not never, but past the end of the clock */
    mot_alarm(env, 1, 200 * MS);
}

TEST(an_alarm_past_the_end_of_the_clock_disturbs_nobody)
{
    CHECK_INT(play(never), MOT_OK);
    CHECK_INT(timers_n, 1);
}

TEST_MAIN()
