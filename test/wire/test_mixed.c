/* What workers that mix show of it, in numbers worked out by hand: the same under every driver. */
#include "live/node.h"
#include "method/methods.h"
#include "scratch.h"
#include "wire/team.h"

/* Three workers with constant models 1, 2 and 6 send theirs to the next one around in every round. Workers 1
 * and 2 take the mean with what came; worker 0 ignores it, so that mixing moves the mean:
 *
 *   round   models            moved            mean     drift                       consensus / dim
 *     1     1  1.5   4        0  -0.5  -2      6.5/3    2.5/6.5                     1.722...
 *     2     1  1.25  2.75     0  -0.75 -3.25   5/3      4/5                         0.597...
 *
 * Their weights are made up: worker i loses i/8 in a round. Worker 0 waits for nobody and gets ahead. */
#define START_OF(i) ((float[]){ 1, 2, 6 }[i])
#define ROUNDS 6u

struct leaky {
    mot_buf x, moved, came[ROUNDS];
    uint64_t round, draw;
    uint32_t waiting;
    bool computed;
};

static struct mot_need leaky_need(const void *conf, const struct mot_world *w, mot_node self)
{
    (void)conf, (void)w, (void)self;
    return (struct mot_need){ .state_bytes = sizeof(struct leaky),
        .buffers = 2 * ROUNDS + 4,
        .sends = ROUNDS,
        .works = 1,
        .terms = 1 };
}

static mot_buf constant(struct mot_env *env, float value)
{
    mot_buf b = mot_take(env);
    for (uint32_t j = 0; j < env->world->dim; j++) mot_edit(env, b)[j] = value;
    return b;
}

static void leaky_init(void *p, struct mot_env *env)
{
    struct leaky *s = p;
    s->x = constant(env, START_OF(env->self));
    s->moved = constant(env, 0);
}

static void leaky_begin(struct leaky *s, struct mot_env *env)
{
    struct mot_term term = { .part = env->self, .draw = s->draw, .samples = 1, .coef = 1 };
    if (s->round == ROUNDS) {
        mot_stop(env, MOT_OK);
        return;
    }
    s->computed = false;
    mot_start(env, &(struct mot_work){ .terms = 1, .term = &term, .deadline = MOT_NEVER, .at = s->x });
    mot_send(env, (env->self + 1) % env->world->workers, 0, (struct mot_head){ .round = s->round },
        mot_whole(env, s->x));
}

static void leaky_mix(struct leaky *s, struct mot_env *env)
{
    const double half[] = { 0.5, 0.5 }, change[] = { 1, 1, -1 };
    mot_buf x = mot_sum_weighted(env, (const mot_buf[]){ s->x, s->came[0] }, half, 2);
    mot_buf moved = mot_sum_weighted(env, (const mot_buf[]){ s->moved, x, s->x }, change, 3);
    mot_drop(env, s->x);
    mot_drop(env, s->moved);
    s->x = x;
    s->moved = moved;
}

static void leaky_consider(struct leaky *s, struct mot_env *env)
{
    bool waits = env->self != 0;
    if (!s->computed || (waits && !s->waiting)) return;
    if (waits) {
        leaky_mix(s, env);
        mot_drop(env, s->came[0]);
        memmove(s->came, s->came + 1, --s->waiting * sizeof(*s->came));
    }
    s->round++;
    mot_advance(env);
    leaky_begin(s, env);
}

static void leaky_step(void *p, struct mot_env *env, const struct mot_event *event)
{
    struct leaky *s = p;
    switch (event->kind) {
    case MOT_EV_START: leaky_begin(s, env); return;
    case MOT_EV_WORK:
        s->draw++;
        s->computed = true;
        leaky_consider(s, env);
        return;
    case MOT_EV_MESSAGE:
        if (env->self == 0) return;
        s->came[s->waiting++] = mot_hold(env, event->message->body.buf);
        leaky_consider(s, env);
        return;
    default: return;
    }
}

static bool leaky_admits(const void *p, const struct mot_env *env, const struct mot_message *m)
{
    (void)p, (void)env;
    return m->head.round < ROUNDS;
}

static bool leaky_model(const void *p, const struct mot_env *env, struct mot_view *view)
{
    const struct leaky *s = p;
    *view = (struct mot_view){
        .x = s->x, .scale = 1, .mass = 1 - (double)(env->self * s->round) / 8, .moved = s->moved
    };
    return true;
}

static void leaky_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)conf, (void)workers;
    t->model = MOT_MODEL_OF_EACH;
}

static const struct mot_option leaky_options[] = { { .name = NULL } };
static const struct mot_method leaky = { .name = "leaky",
    .summary = "mixing that does not keep the mean",
    .options = leaky_options,
    .traits = leaky_traits,
    .need = leaky_need,
    .init = leaky_init,
    .step = leaky_step,
    .admits = leaky_admits,
    .model = leaky_model };
static const struct mot_method *const tested[] = { &leaky, NULL };

#define LEAKY                                                                                                \
    "data", "digits", "data.rows", "60", "model", "softmax", "method", "leaky", "workers", "3", "batch",     \
        "1", "evaluate.every", "1 updates", "evaluate.heterogeneity", "never", "cluster",                    \
        "{workers: [{count: 2, speed: 1000/s}, {speed: 100/s}]}"

/* After one round, and after two, from the table above. */
static void check_figures(const struct mot_mixed *m, uint32_t dim, uint64_t rounds)
{
    CHECK(rounds == 1 || rounds == 2);
    const double drift[] = { 2.5 / 6.5, 4.0 / 5 }, mass[] = { 2.625 / 3, 2.25 / 3 };
    const double model[][3] = { { 1, 1.5, 4 }, { 1, 1.25, 2.75 } };
    const double *x = model[rounds - 1], mean = (x[0] + x[1] + x[2]) / 3;
    double apart = 0;
    for (int i = 0; i < 3; i++) apart += (x[i] - mean) * (x[i] - mean) / 3;
    CHECK_NEAR(m->drift, drift[rounds - 1], 1e-6);
    CHECK_NEAR(m->mass, mass[rounds - 1], 1e-15);
    CHECK_NEAR(m->consensus / dim, apart, 1e-6);
}

static char folder[64];
static void fresh_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/motley-mixed-XXXXXX");
    if (!mkdtemp(folder)) abort();
}

static struct mot_mixed seen[ROUNDS + 1];
static uint32_t seen_n;
static void note_evaluation(void *told, const struct mot_moment *m)
{
    (void)told;
    if (m->updates <= ROUNDS) seen[m->updates] = m->mixed;
    seen_n++;
}

static void run_leaky(struct run *r, const struct mot_driver *driver, const char *updates)
{
    mot_methods_extend(tested);
    seen_n = 0;
    memset(seen, 0, sizeof seen);
    r->ways.driver = driver;
    r->ways.evaluated = note_evaluation;
    RUN_SET(r, LEAKY, "stop.updates", updates);
    run_go(r);
    CHECK_INT(r->status, MOT_OK);
}

TEST(the_simulator_shows_drift_and_mass_as_worked_out_by_hand_although_worker_0_is_ahead)
{
    struct run r = { 0 };
    run_leaky(&r, &mot_driver_sim, "2");
    uint32_t dim = r.job.net.dim;
    CHECK_INT(seen_n, 3); /* the initial model, and both rounds */
    CHECK(seen[0].drift == 0 && seen[0].mass == 1);
    check_figures(&seen[1], dim, 1);
    check_figures(&seen[2], dim, 2);
    check_figures(&r.out.last.mixed, dim, 2);
    run_free(&r);
}

TEST(so_do_threads_and_the_replay_of_their_record)
{
    for (const char *const *updates = (const char *const[]){ "1", "2", NULL }; *updates; updates++) {
        struct run live = { .ways = { .record = true, .replace = true } }, again = { 0 };
        fresh_folder();
        RUN_SET(&live, "output", folder);
        run_leaky(&live, &mot_driver_threads, *updates);
        CHECK(seen[0].drift == 0 && seen[0].mass == 1);
        check_figures(&live.out.last.mixed, live.job.net.dim, live.out.last.updates);
        again.ways.arrivals = folder;
        run_leaky(&again, &mot_driver_replay, *updates);
        check_figures(&again.out.last.mixed, again.job.net.dim, again.out.last.updates);
        run_free(&live);
        run_free(&again);
        scratch_remove(folder);
    }
}

TEST(so_do_ranks)
{
    for (const char *const *updates = (const char *const[]){ "1", "2", NULL }; *updates; updates++) {
        struct team t = { 0 };
        mot_methods_extend(tested);
        RUN_SET(&t.run, LEAKY, "stop.updates", *updates);
        if (!team_open(&t)) abort();
        team_go(&t);
        CHECK_INT(t.member[0].status, MOT_OK);
        check_figures(&t.member[0].out.last.mixed, t.run.job.net.dim, t.member[0].out.last.updates);
        team_forget(&t);
        team_close(&t);
    }
}

/* Worker 0 has left its copies for the rounds to come when the checkpoint is written. */
TEST(a_resumed_run_shows_what_an_undisturbed_one_does)
{
    fresh_folder();
    struct run first = { .ways = { .replace = true } }, second = { .ways = { .resume = true } };
    RUN_SET(&first, "output", folder, "checkpoint.every", "1 updates");
    run_leaky(&first, &mot_driver_sim, "1");
    RUN_SET(&second, "output", folder, "checkpoint.every", "1 updates");
    run_leaky(&second, &mot_driver_sim, "2");
    CHECK_INT(second.out.last.updates, 2);
    check_figures(&second.out.last.mixed, second.job.net.dim, 2);
    run_free(&first);
    run_free(&second);
    scratch_remove(folder);
}

TEST_MAIN()
