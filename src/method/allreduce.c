/* allreduce.c -- synchronous data-parallel SGD.
 *
 *   WORK --gradient sum, samples--> COLLECT --sum over workers--> step of the optimiser --> WORK
 *
 * Every worker holds the model and makes the same step. The sum of gradients is
 * divided by the sum of samples, so workers may have batches of their own sizes
 * and the update is that of the pooled batch. A worker whose data has run out
 * takes part with nothing and costs the others no wait; when nobody has samples
 * left, all stop in the same round. */
#include "method/methods.h"

struct allreduce {
    struct mot_params params;
    uint64_t draw;
    uint32_t round;
};

static struct mot_need allreduce_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf;
    (void)world;
    (void)self;
    /* The parameters, those of the next step, and the gradient in the collective. */
    return (struct mot_need){
        .state_bytes = sizeof(struct allreduce), .buffers = 7, .works = 1, .terms = 1, .colls = 1
    };
}

static void allreduce_init(void *state, struct mot_env *env)
{
    struct allreduce *s = state;
    mot_params_init(env, &s->params);
    s->draw = mot_first_draw(env);
    s->round = (uint32_t)s->params.step;
}

static void begin_round(struct allreduce *s, struct mot_env *env)
{
    struct mot_term term = {
        .part = env->self, .draw = s->draw, .samples = env->world->batch[env->self], .coef = 1
    };
    mot_start(env,
        &(struct mot_work){
            .tag = s->round, .terms = 1, .term = &term, .deadline = MOT_NEVER, .at = s->params.x });
}

static void work_came(struct allreduce *s, struct mot_env *env, const struct mot_result *w)
{
    MOT_ASSERT(w->tag == s->round);
    s->draw += w->samples;
    mot_collect(env,
        &(struct mot_coll){
            .tag = s->round, .in = mot_whole(env, w->grad), .scalar = { w->samples, w->loss } });
}

static void sum_came(struct allreduce *s, struct mot_env *env, const struct mot_coll_result *sum)
{
    MOT_ASSERT(sum->tag == s->round);
    double samples = sum->scalar[0];
    if (samples == 0) {
        mot_stop(env, MOT_OK);
        return;
    }
    mot_params_step(env, &s->params, sum->out, 1.0 / samples, 1.0);
    mot_advance(env);
    s->round++;
    begin_round(s, env);
}

static void allreduce_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct allreduce *s = state;
    switch (event->kind) {
    case MOT_EV_START: begin_round(s, env); return;
    case MOT_EV_WORK: work_came(s, env, event->work); return;
    case MOT_EV_COLL: sum_came(s, env, event->coll); return;
    case MOT_EV_PEER: /* the sum needs everyone */
        if (!event->peer.up) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_MESSAGE:
    case MOT_EV_TIMER: MOT_ASSERT(!"allreduce asked for none of these"); return;
    }
}

static void allreduce_check(const void *state, const struct mot_env *env)
{
    const struct allreduce *s = state;
    (void)env;
    MOT_ASSERT(s->params.x != MOT_NO_BUF);
    MOT_ASSERT((uint32_t)s->params.step == s->round);
}

static bool allreduce_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    (void)env;
    const struct mot_params *params = &((const struct allreduce *)state)->params;
    *view = (struct mot_view){ .x = params->x, .scale = 1, .params = params };
    return true;
}

static const struct mot_option allreduce_options[] = { { .name = NULL } };

const struct mot_method mot_method_allreduce = {
    .name = "allreduce",
    .summary = "synchronous SGD: all workers' gradients are summed in every step",
    .about =
        "Each step, every worker computes the gradient of its own batch, the sums are added over all workers "
        "(sim.collective names the algorithm), and everyone makes the same step. Batches may differ from "
        "worker to "
        "worker (batch: [64, 64, 16]): the mean is over samples, not over workers. A worker that has run out "
        "of data "
        "does not stall the others.\n"
        "The result is that of SGD with one large batch. The pace is the slowest worker's: with mixed "
        "machines give the "
        "slow ones smaller batches, or look at server and async.",
    .options = allreduce_options,
    .need = allreduce_need,
    .init = allreduce_init,
    .step = allreduce_step,
    .check = allreduce_check,
    .model = allreduce_model,
};
