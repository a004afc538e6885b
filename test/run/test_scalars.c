/* A collective may have no floats, only scalars: its sum is the same under every driver, and its inputs are
 * given back. A leak would empty the pool within a few rounds. */
#include "run/run.h"
#include "method/methods.h"
#include <stdatomic.h>

struct counter {
    uint64_t round;
};
static atomic_ulong wrong;

static struct mot_need counter_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf, (void)world, (void)self;
    return (struct mot_need){
        .state_bytes = sizeof(struct counter), .buffers = 2, .works = 1, .terms = 1, .colls = 1
    };
}

static void counter_init(void *p, struct mot_env *env) { (void)p, (void)env; }

static void work(struct mot_env *env, uint64_t round)
{
    struct mot_term term = { .part = env->self, .draw = round, .samples = 1, .coef = 1 };
    mot_start(
        env, &(struct mot_work){ .terms = 1, .term = &term, .deadline = MOT_NEVER, .at = env->world->x0 });
}

static double sum_of_ranks(uint32_t n) { return n * (n + 1) / 2.0; }

static void counter_step(void *p, struct mot_env *env, const struct mot_event *event)
{
    struct counter *s = p;
    switch (event->kind) {
    case MOT_EV_START: work(env, 0); return;
    case MOT_EV_WORK:
        mot_collect(env,
            &(struct mot_coll){ .tag = (uint32_t)s->round,
                .in = { .buf = event->work->grad, .len = 0 },
                .scalar = { env->self + 1.0, (double)s->round } });
        return;
    case MOT_EV_COLL:
        if (event->coll->out.len != 0 || event->coll->scalar[0] != sum_of_ranks(env->world->workers) ||
            event->coll->scalar[1] != (double)s->round * env->world->workers)
            atomic_fetch_add(&wrong, 1);
        mot_advance(env);
        work(env, ++s->round);
        return;
    case MOT_EV_MESSAGE:
    case MOT_EV_TIMER:
    case MOT_EV_PIECE:
    case MOT_EV_PEER: return;
    }
}

static bool counter_model(const void *p, const struct mot_env *env, struct mot_view *view)
{
    (void)p;
    *view = (struct mot_view){ .x = env->world->x0, .scale = 1 };
    return true;
}

static const struct mot_option no_options[] = { { .name = NULL } };
static const struct mot_method counter = { .name = "counter",
    .summary = "sums scalars, for tests",
    .options = no_options,
    .need = counter_need,
    .init = counter_init,
    .step = counter_step,
    .model = counter_model };

static void count(const struct mot_driver *driver, bool emulate)
{
    const struct mot_method *more[] = { &counter, NULL };
    struct run r = { .ways = { .driver = driver, .emulate = emulate } };
    atomic_store(&wrong, 0);
    RUN_SET(&r, "data", "digits", "model", "softmax", "method", "counter", "cluster",
        "{workers: 3, network: none}", "batch", "1", "stop.updates", "300", "evaluate.every", "1000 updates");
    mot_methods_extend(more);
    run_go(&r);
    mot_methods_extend(NULL);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.last.updates, 300);
    CHECK_INT(atomic_load(&wrong), 0);
    run_free(&r);
}

TEST(scalars_alone_are_summed_in_the_simulator) { count(&mot_driver_sim, false); }
TEST(scalars_alone_are_summed_on_threads) { count(&mot_driver_threads, false); }
TEST(scalars_alone_are_summed_on_emulated_threads) { count(&mot_driver_threads, true); }

TEST_MAIN()
