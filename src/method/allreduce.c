/* allreduce.c -- synchronous data-parallel SGD.
 *
 *   WORK --gradient sum, samples--> COLLECT --sum over workers--> step of the optimiser --> WORK
 *
 * Every worker holds the model and makes the same step. The sum of gradients is divided by the sum of
 * samples, so batches may differ in size and the update is that of the pooled batch. A worker that has run
 * out of data contributes nothing and does not keep the others waiting; when nobody has samples left, all
 * stop in the same round.
 *
 * With `bucket` the sum begins before WORK is over, bucket by bucket: the driver sees to it (`summed`), and
 * nothing here differs.
 *
 * With `compress.delta` workers vote between WORK and COLLECT whether to compress: that takes a collective of
 * its own, without floats. */
#include "method/advice.h"
#include "method/methods.h"
#include <stddef.h>

struct allreduce_conf {
    uint64_t bucket;
};

struct allreduce {
    struct mot_params params;
    struct mot_packer packer;
    uint64_t draw;
    double loss; /* of the round, while the vote is taken; and its samples */
    uint32_t samples, round;
    bool voting;
};

static struct mot_need allreduce_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf;
    (void)world;
    (void)self;
    /* The parameters, the next ones, and the gradient in the collective. */
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
    mot_packer_init(env, &s->packer, 0);
}

static void begin_round(struct allreduce *s, struct mot_env *env)
{
    const struct mot_world *w = env->world;
    const struct mot_term term = {
        .part = env->self, .draw = s->draw, .samples = w->batch[env->self], .coef = 1
    };
    const struct mot_work work = { .tag = s->round,
        .terms = 1,
        .term = &term,
        .deadline = MOT_NEVER,
        .at = s->params.x,
        .summed = w->buckets > 1 };
    mot_start(env, &work);
}

/* Where there are votes, a round has two collectives, and their tags increase. */
static uint32_t tag_of(const struct allreduce *s, const struct mot_env *env, bool vote)
{
    return mot_votes(env->world) ? 2 * s->round + !vote : s->round;
}

static void sum_up(struct allreduce *s, struct mot_env *env, struct mot_slice in)
{
    mot_collect(
        env, &(struct mot_coll){ .tag = tag_of(s, env, false), .in = in, .scalar = { s->samples, s->loss } });
    mot_drop(env, in.buf);
}

static void work_came(struct allreduce *s, struct mot_env *env, const struct mot_result *w)
{
    struct mot_slice grad = mot_whole(env, w->grad);
    MOT_ASSERT(w->tag == s->round);
    s->draw += w->samples;
    s->samples = w->samples;
    s->loss = w->loss;
    if (!mot_votes(env->world)) {
        sum_up(s, env, mot_pack(env, &s->packer, grad, w->samples));
        return;
    }
    s->voting = true;
    bool agrees = mot_weigh(env, &s->packer, grad, w->samples);
    mot_collect(env, &(struct mot_coll){ .tag = tag_of(s, env, true), .scalar = { agrees } });
}

static void sum_came(struct allreduce *s, struct mot_env *env, const struct mot_coll_result *sum)
{
    MOT_ASSERT(sum->tag == tag_of(s, env, s->voting));
    double samples = sum->scalar[0];
    if (s->voting) {
        s->voting = false;
        sum_up(s, env, mot_settle(env, &s->packer, mot_vote_passes(env->world, sum->scalar[0])));
        return;
    }
    if (samples == 0) {
        mot_stop(env, MOT_OK);
        return;
    }
    struct mot_slice grad = mot_gathered(env, &s->packer, sum->out);
    mot_params_step(env, &s->params, grad, 1.0 / samples, 1.0);
    mot_drop(env, grad.buf);
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
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"allreduce asked for none of these"); return;
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

static void allreduce_keep(const void *state, const struct mot_env *env, struct mot_kept *out)
{
    mot_packer_keep(&((const struct allreduce *)state)->packer, env, out, 0);
}

static void allreduce_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    const struct allreduce_conf *c = conf;
    (void)workers;
    t->packs = MOT_PACKS_SUMS;
    t->votes = true;
    t->bucket = c->bucket == MOT_WORD_UINT ? 0 : c->bucket;
}

/* Packing needs the whole gradient: only then is it known which floats are the largest. */
static enum mot_status allreduce_validate(const void *conf, const struct mot_world *world)
{
    const struct allreduce_conf *c = conf;
    if (c->bucket == MOT_WORD_UINT || !world->compress) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "method.bucket: a gradient that is compressed leaves as a whole; use bucket: none, or no "
        "compression");
}

static const struct mot_option allreduce_options[] = {
    { .name = "bucket",
        .type = MOT_OPT_SIZE,
        .offset = offsetof(struct allreduce_conf, bucket),
        .preset = "none",
        .word = "none",
        .min = 1,
        .max = 1e15,
        .doc = "sum a gradient while it is still being computed, last layers first, in buckets of at least "
               "this size; none: only once it is complete" },
    { .name = NULL },
};

const struct mot_method mot_method_allreduce = {
    .name = "allreduce",
    .summary = "synchronous SGD: every step sums the gradients of all workers",
    .about =
        "In each step every worker computes the gradient of its own batch, the gradients are summed over all "
        "workers (sim.collective chooses the algorithm), and everyone takes the same step. Batches may "
        "differ between workers (batch: [64, 64, 16]): the mean is over samples, not over workers. A worker "
        "that has run out of data does not stall the others.\n"
        "The result is that of SGD with one large batch. The slowest worker sets the pace: on mixed machines "
        "give slow workers smaller batches, or try server and async.\n"
        "With bucket, gradients leave layer by layer while the backward pass goes on: the model is the same "
        "to the bit, and on slow links a step takes less time. They can leave only during the pass "
        "over the last 128 samples of a batch, since gradients add up over the whole batch.",
    .options = allreduce_options,
    .conf_bytes = sizeof(struct allreduce_conf),
    .traits = allreduce_traits,
    .advise = mot_advise_summing,
    .validate = allreduce_validate,
    .need = allreduce_need,
    .init = allreduce_init,
    .step = allreduce_step,
    .check = allreduce_check,
    .model = allreduce_model,
    .keep = allreduce_keep,
};
