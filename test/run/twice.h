/* twice.h -- for tests: a server, and parts that are not the workers' own.
 *
 * Part j is held by workers j and j + 1 (modulo the workers), who both compute it in every round and take
 * half of it: the server adds all answers up in rank order and has every sample once. A part's batch depends
 * on the round alone, so a resumed run needs no positions. */
#ifndef MOT_TEST_TWICE_H
#define MOT_TEST_TWICE_H

#include <motley/method.h>

#define TWICE_WORKERS 8
#define TWICE_PARTS 64

struct twice_conf {
    uint64_t parts;
};
struct twice_server {
    struct mot_params params;
    mot_buf grad[TWICE_WORKERS];
    uint32_t here;
};
struct twice_worker {
    uint64_t rounds;
};

static void twice_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)workers;
    t->servers = 1;
    t->parts = (uint32_t)((const struct twice_conf *)conf)->parts;
    t->redundant = true;
}

static bool twice_holds(const void *conf, const struct mot_world *w, mot_node worker, uint32_t part)
{
    (void)conf;
    return part % w->workers == worker || (part + 1) % w->workers == worker;
}

static struct mot_need twice_need(const void *conf, const struct mot_world *w, mot_node self)
{
    (void)conf;
    if (self >= w->workers)
        return (struct mot_need){
            .state_bytes = sizeof(struct twice_server), .buffers = TWICE_WORKERS + 8, .sends = w->workers
        };
    return (struct mot_need){
        .state_bytes = sizeof(struct twice_worker), .buffers = 2, .sends = 1, .works = 1, .terms = TWICE_PARTS
    };
}

static void twice_init(void *p, struct mot_env *env)
{
    if (env->self >= env->world->workers) mot_params_init(env, &((struct twice_server *)p)->params);
}

static void twice_ask(struct twice_server *s, struct mot_env *env)
{
    for (mot_node i = 0; i < env->world->workers; i++)
        mot_send(env, i, 1, (struct mot_head){ .round = s->params.step }, mot_whole(env, s->params.x));
}

static void twice_worker_step(struct twice_worker *s, struct mot_env *env, const struct mot_event *event)
{
    const struct mot_world *w = env->world;
    if (event->kind == MOT_EV_WORK)
        mot_send(
            env, w->workers, 2, (struct mot_head){ .round = s->rounds++ }, mot_whole(env, event->work->grad));
    if (event->kind != MOT_EV_MESSAGE) return;
    struct mot_term term[TWICE_PARTS];
    uint32_t terms = 0;
    for (uint32_t part = 0; part < w->parts; part++)
        if (twice_holds(NULL, w, env->self, part))
            term[terms++] = (struct mot_term){ .part = part,
                .draw = event->message->head.round * w->part_batch[part],
                .samples = w->part_batch[part],
                .coef = 0.5f };
    mot_start(env,
        &(struct mot_work){
            .terms = terms, .term = term, .deadline = MOT_NEVER, .at = event->message->body.buf });
}

static void twice_server_step(struct twice_server *s, struct mot_env *env, const struct mot_event *event)
{
    const struct mot_world *w = env->world;
    if (event->kind == MOT_EV_START) twice_ask(s, env);
    if (event->kind != MOT_EV_MESSAGE) return;
    s->grad[event->message->from] = mot_hold(env, event->message->body.buf);
    if (++s->here < w->workers) return;
    uint64_t samples = 0;
    for (uint32_t part = 0; part < w->parts; part++) samples += w->part_batch[part];
    mot_buf sum = mot_sum(env, s->grad, w->workers);
    mot_params_step(env, &s->params, mot_whole(env, sum), 1.0 / (double)samples, 1.0);
    mot_advance(env);
    mot_used(env, samples); /* it may come after the update that it is about */
    mot_drop(env, sum);
    for (mot_node i = 0; i < w->workers; i++) mot_drop(env, s->grad[i]);
    s->here = 0;
    twice_ask(s, env);
}

static void twice_step(void *p, struct mot_env *env, const struct mot_event *event)
{
    if (env->self < env->world->workers) twice_worker_step(p, env, event);
    else twice_server_step(p, env, event);
}

static bool twice_admits(const void *p, const struct mot_env *env, const struct mot_message *m)
{
    bool serves = env->self >= env->world->workers, by_server = m->from >= env->world->workers;
    (void)p;
    return by_server != serves && m->kind == (serves ? 2 : 1) && mot_body_is(m, mot_whole(env, m->body.buf));
}

static bool twice_model(const void *p, const struct mot_env *env, struct mot_view *view)
{
    if (env->self < env->world->workers) return false;
    const struct mot_params *params = &((const struct twice_server *)p)->params;
    *view = (struct mot_view){ .x = params->x, .scale = 1, .params = params };
    return true;
}

static const struct mot_option twice_options[] = {
    { .name = "parts",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct twice_conf, parts),
        .preset = "6",
        .min = 1,
        .max = TWICE_PARTS,
        .doc = "Parts that the data is cut into" },
    { .name = NULL },
};
static const struct mot_method twice = { .name = "twice",
    .summary = "every part computed by two workers",
    .options = twice_options,
    .conf_bytes = sizeof(struct twice_conf),
    .traits = twice_traits,
    .holds = twice_holds,
    .need = twice_need,
    .init = twice_init,
    .step = twice_step,
    .admits = twice_admits,
    .model = twice_model };

#endif
