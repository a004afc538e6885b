/* selsync.c -- local SGD that averages only when gradients change.
 *
 *   WORK --> |change of the smoothed |g|^2| >= delta? --> COLLECT (one scalar: whether anyone says yes)
 *        no: a step alone           yes: a step, then the mean of all models (or the mean gradient's step)
 *
 * Tyagi and Swany, Accelerating Distributed ML Training via Selective Synchronization, 2023. The question
 * costs a sum of scalars in every step. */
#include "math/kernels.h"
#include "method/advice.h"
#include "method/methods.h"
#include <math.h>
#include <string.h>

enum { ASKING = 1, AVERAGING };
enum { AGGREGATE_MODELS, AGGREGATE_GRADIENTS };

struct selsync_conf {
    double delta, smoothing;
    uint32_t aggregate;
};

/* Between two updates `params` does not change: the step before an averaging is in `next`. */
struct selsync {
    struct mot_params params, next; /* next.x is MOT_NO_BUF unless models are being averaged */
    uint64_t draw;
    double square; /* the smoothed |g|^2; 0: no gradient yet */
    mot_buf grad;  /* while the workers are asked */
    uint32_t round, joined, samples, pending;
};

static void begin_round(struct selsync *s, struct mot_env *env)
{
    struct mot_term term = {
        .part = env->self, .draw = s->draw, .samples = env->world->batch[env->self], .coef = 1
    };
    mot_start(env,
        &(struct mot_work){
            .tag = s->round, .terms = 1, .term = &term, .deadline = MOT_NEVER, .at = s->params.x });
}

static void end_round(struct selsync *s, struct mot_env *env)
{
    s->round++;
    mot_advance(env);
    begin_round(s, env);
}

static void join(
    struct selsync *s, struct mot_env *env, uint32_t what, struct mot_slice in, double a, double b)
{
    s->pending = what;
    mot_collect(env, &(struct mot_coll){ .tag = s->joined++, .in = in, .scalar = { a, b } });
}

/* Whether the gradient has changed enough to meet the others. */
static bool changed(struct selsync *s, const struct mot_env *env, mot_buf grad)
{
    const struct selsync_conf *conf = env->conf;
    double all = s->samples, before = s->square;
    double square = mot_kernels()->norm2(mot_trained(env->world), mot_read(env, grad)) / (all * all);
    s->square = before > 0 ? before + conf->smoothing * (square - before) : square;
    return before == 0 || fabs(s->square - before) >= conf->delta * before;
}

static void step_on(struct selsync *s, struct mot_env *env, struct mot_params *p)
{
    if (s->samples) mot_params_step(env, p, mot_whole(env, s->grad), 1.0 / s->samples, 1.0);
    else p->step++; /* out of data */
}

static void drop_grad(struct selsync *s, struct mot_env *env)
{
    mot_drop(env, s->grad);
    s->grad = MOT_NO_BUF;
}

static void work_came(struct selsync *s, struct mot_env *env, const struct mot_result *w)
{
    MOT_ASSERT(w->tag == s->round);
    s->draw = w->draw + w->samples;
    s->samples = w->samples;
    s->grad = mot_hold(env, w->grad);
    join(s, env, ASKING, (struct mot_slice){ 0 }, w->samples && changed(s, env, w->grad), w->samples);
}

static void average(struct selsync *s, struct mot_env *env)
{
    const struct selsync_conf *conf = env->conf;
    if (conf->aggregate == AGGREGATE_GRADIENTS) {
        join(s, env, AVERAGING, mot_whole(env, s->grad), s->samples, 0);
        return;
    }
    s->next = s->params;
    mot_hold(env, s->next.x);
    for (uint32_t i = 0; i < 2; i++)
        if (s->next.slot[i]) mot_hold(env, s->next.slot[i]);
    step_on(s, env, &s->next);
    drop_grad(s, env);
    join(s, env, AVERAGING, mot_whole(env, s->next.x), 1, 0);
}

static void answers_came(struct selsync *s, struct mot_env *env, const struct mot_coll_result *sum)
{
    bool together = sum->scalar[0] > 0;
    if (sum->scalar[1] == 0) { /* nobody has data left */
        drop_grad(s, env);
        mot_stop(env, MOT_OK);
        return;
    }
    if (env->self == 0) mot_note(env, "averaged", together);
    if (together) {
        average(s, env);
        return;
    }
    step_on(s, env, &s->params);
    drop_grad(s, env);
    end_round(s, env);
}

static void mean_came(struct selsync *s, struct mot_env *env, const struct mot_coll_result *sum)
{
    double each = 1 / sum->scalar[0];
    if (s->next.x == MOT_NO_BUF) {
        mot_params_step(env, &s->params, sum->out, each, 1.0);
        drop_grad(s, env);
    } else {
        mot_buf mean = mot_sum_weighted(env, &sum->out.buf, &each, 1);
        mot_drop(env, s->next.x);
        mot_drop(env, s->params.x);
        for (uint32_t i = 0; i < 2; i++) mot_drop(env, s->params.slot[i]);
        s->params = s->next;
        s->params.x = mean;
        s->next = (struct mot_params){ 0 };
    }
    end_round(s, env);
}

static void selsync_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct selsync *s = state;
    uint32_t what = s->pending;
    switch (event->kind) {
    case MOT_EV_START: begin_round(s, env); return;
    case MOT_EV_WORK: work_came(s, env, event->work); return;
    case MOT_EV_COLL:
        MOT_ASSERT(event->coll->tag + 1 == s->joined && what != 0);
        s->pending = 0;
        if (what == ASKING) answers_came(s, env, event->coll);
        else mean_came(s, env, event->coll);
        return;
    case MOT_EV_PEER: /* the question goes to everyone */
        if (!event->peer.up) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_MESSAGE:
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"selsync asked for none of these"); return;
    }
}

static struct mot_need selsync_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf;
    (void)world;
    (void)self;
    /* The parameters, the next ones and those being made of them, a gradient, and a mean. */
    return (struct mot_need){
        .state_bytes = sizeof(struct selsync), .buffers = 12, .works = 1, .terms = 1, .colls = 1
    };
}

static void selsync_init(void *state, struct mot_env *env)
{
    struct selsync *s = state;
    const struct mot_kept *kept = env->world->kept ? &env->world->kept[env->self] : NULL;
    mot_params_init(env, &s->params);
    s->draw = mot_first_draw(env);
    s->round = (uint32_t)s->params.step;
    if (kept) memcpy(&s->square, &kept->word[0], sizeof(s->square));
}

static void selsync_keep(const void *state, const struct mot_env *env, struct mot_kept *out)
{
    (void)env;
    memcpy(&out->word[0], &((const struct selsync *)state)->square, sizeof(double));
}

static void selsync_check(const void *state, const struct mot_env *env)
{
    const struct selsync *s = state;
    (void)env;
    MOT_ASSERT(s->params.x != MOT_NO_BUF && (uint32_t)s->params.step == s->round && s->pending <= AVERAGING);
    MOT_ASSERT(s->next.x == MOT_NO_BUF || (s->pending == AVERAGING && s->next.step == s->params.step + 1));
    MOT_ASSERT(s->grad == MOT_NO_BUF || s->pending);
    MOT_ASSERT(s->square >= 0 || isnan(s->square));
}

static bool selsync_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    (void)env;
    const struct mot_params *params = &((const struct selsync *)state)->params;
    *view = (struct mot_view){ .x = params->x, .scale = 1, .params = params };
    return true;
}

static void selsync_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)conf;
    (void)workers;
    t->model = MOT_MODEL_OF_EACH;
}

#define FIELD(field) offsetof(struct selsync_conf, field)
static const struct mot_option selsync_options[] = {
    { .name = "delta",
        .type = MOT_OPT_REAL,
        .offset = FIELD(delta),
        .preset = "0.1",
        .max = 1e6,
        .doc =
            "all workers meet when, at any of them, the smoothed square of the gradient's norm has changed "
            "by this share of itself; 0: always" },
    { .name = "smoothing",
        .type = MOT_OPT_REAL,
        .offset = FIELD(smoothing),
        .preset = "0.16",
        .min = 1e-6,
        .max = 1,
        .doc = "the weight of the latest gradient in the smoothed square; 1: no smoothing" },
    { .name = "aggregate",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(aggregate),
        .preset = "models",
        .choices = "models|gradients",
        .doc = "what they then average: their models, after a step, or the gradients of the step" },
    { .name = NULL },
};

const struct mot_method mot_method_selsync = {
    .name = "selsync",
    .summary = "local SGD that averages when a gradient changes: selective synchronisation",
    .about =
        "Every worker trains a model of its own. After each gradient it compares the norm with those of "
        "earlier gradients; if it has changed by `delta` or more at any worker, all take the mean of "
        "their models, "
        "else each steps alone. Asking costs a sum of scalars in every step, so this saves bytes but not "
        "latency. Gradients change quickly at the beginning and when the learning rate falls, and then the "
        "workers meet often.\n"
        "Use it when the network is narrow and a fixed period (localsgd) is hard to choose. With delta: "
        "0 the "
        "workers meet in every step; a large delta is training alone.\n"
        "Paper: Tyagi, Swany, Accelerating Distributed ML Training via Selective Synchronization, 2023.",
    .options = selsync_options,
    .conf_bytes = sizeof(struct selsync_conf),
    .traits = selsync_traits,
    .advise = mot_advise_summing,
    .need = selsync_need,
    .init = selsync_init,
    .step = selsync_step,
    .check = selsync_check,
    .model = selsync_model,
    .keep = selsync_keep,
};
