/* local_sgd.c -- local SGD: H steps alone, then everyone takes the mean of the models.
 *
 *   WORK --gradient--> step alone --(H-1 times more)--> COLLECT --sum of models--> their mean --> WORK
 *
 * Stich, Local SGD Converges Fast and Communicates Little, ICLR 2019. A complete
 * method to start from; docs/writing-a-method.md walks through it. */
#include <motley/method.h>

/* 1. Options: a struct, and a table that describes it. Parsing, help and errors follow. */
struct conf {
    uint64_t period;
};

static const struct mot_option options[] = {
    { .name = "period",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct conf, period),
        .preset = "8",
        .min = 1,
        .max = 1e6,
        .doc = "local steps between two averagings" },
    { .name = NULL },
};

/* 2. State: plain bytes, no pointers. Buffers are handles. */
struct state {
    struct mot_params params; /* the model and the optimiser's own buffers */
    uint64_t draw;            /* how far this worker is in its data */
    uint32_t round;           /* averagings done: the collective's tag */
    uint32_t alone;           /* steps since the last one */
};

/* 3. The most that a node has at once: the driver reserves it, so effects cannot fail. */
static struct mot_need need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf, (void)world, (void)self;
    return (struct mot_need){
        .state_bytes = sizeof(struct state), .buffers = 8, .works = 1, .terms = 1, .colls = 1
    };
}

static void init(void *p, struct mot_env *env)
{
    struct state *s = p;
    mot_params_init(env, &s->params);
    s->draw = mot_first_draw(env);
}

/* 4. Effects: ask for a gradient over the next batch of this worker's part. */
static void compute(struct state *s, struct mot_env *env)
{
    mot_start_own(env, s->round, s->draw, env->world->batch[env->self], s->params.x, MOT_NEVER);
}

static void gradient_came(struct state *s, struct mot_env *env, const struct mot_result *w)
{
    const struct conf *conf = env->conf;
    s->draw += w->samples;
    if (w->samples > 0) { /* a worker out of data keeps its model and still averages */
        mot_params_step(env, &s->params, mot_whole(env, w->grad), 1.0 / w->samples, 1.0);
        mot_advance(env);
    }
    if (++s->alone < conf->period) {
        compute(s, env);
        return;
    }
    mot_collect(env,
        &(struct mot_coll){ .tag = s->round, .in = mot_whole(env, s->params.x), .scalar = { w->samples } });
}

static void sum_came(struct state *s, struct mot_env *env, const struct mot_coll_result *sum)
{
    /* Shared buffers are frozen: the mean goes into a new one. */
    mot_buf mean = mot_take(env);
    const float *in = mot_read(env, sum->out.buf);
    float *out = mot_edit(env, mean);
    for (uint32_t j = 0; j < env->world->dim; j++) out[j] = in[j] / (float)env->world->workers;
    mot_drop(env, s->params.x);
    s->params.x = mean;
    s->round++;
    s->alone = 0;
    if (sum->scalar[0] == 0) mot_stop(env, MOT_OK); /* nobody has data left: all stop in this round */
    else compute(s, env);
}

/* 5. The state machine: one switch, no default, so that the compiler names what is missing. */
static void step(void *p, struct mot_env *env, const struct mot_event *event)
{
    struct state *s = p;
    switch (event->kind) {
    case MOT_EV_START: compute(s, env); return;
    case MOT_EV_WORK: gradient_came(s, env, event->work); return;
    case MOT_EV_COLL: sum_came(s, env, event->coll); return;
    case MOT_EV_PEER: /* the mean needs everyone */
        if (!event->peer.up) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_MESSAGE:
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"local SGD asked for none of these"); return;
    }
}

/* 6. Invariants, looked at while it runs; and what an evaluation sees: the mean over the nodes. */
static void check(const void *p, const struct mot_env *env)
{
    const struct state *s = p;
    const struct conf *conf = env->conf;
    MOT_ASSERT(s->alone <= conf->period);
    MOT_ASSERT(s->params.x != MOT_NO_BUF);
}

static bool model(const void *p, const struct mot_env *env, struct mot_view *view)
{
    (void)env;
    const struct mot_params *params = &((const struct state *)p)->params;
    *view = (struct mot_view){ .x = params->x, .scale = 1, .params = params };
    return true;
}

/* 7. What the method is: the workers' models differ. */
static void traits(const void *conf, uint32_t workers, struct mot_traits *out)
{
    (void)conf;
    (void)workers;
    out->model = MOT_MODEL_OF_EACH;
}

const struct mot_method local_sgd = {
    .name = "local-sgd",
    .summary = "each worker steps alone, and now and then all take the mean",
    .options = options,
    .conf_bytes = sizeof(struct conf),
    .traits = traits,
    .need = need,
    .init = init,
    .step = step,
    .check = check,
    .model = model,
};
