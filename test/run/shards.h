/* shards.h -- for tests: a server in several nodes, each with a range of the parameters, in
 * its plainest form.
 *
 * Workers send each server its range of their gradient; it waits for all of them, adds them up
 * in rank order, steps its range, and sends it back. A worker goes on when it has all ranges. So it must end
 * with the model of `server`. */
#ifndef MOT_TEST_SHARDS_H
#define MOT_TEST_SHARDS_H

#include <motley/method.h>

#define SHARDS_WORKERS 8

struct shards_conf {
    uint64_t shards;
};
struct shards_server {
    struct mot_params params;
    mot_buf grad[SHARDS_WORKERS];
    uint32_t here;
    uint64_t samples;
};
struct shards_worker {
    mot_buf x;
    uint32_t here;
    uint64_t draw;
};

static void shards_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)workers;
    t->servers = (uint32_t)((const struct shards_conf *)conf)->shards;
}

static struct mot_need shards_need(const void *conf, const struct mot_world *w, mot_node self)
{
    (void)conf;
    if (self >= w->workers)
        return (struct mot_need){
            .state_bytes = sizeof(struct shards_server), .buffers = SHARDS_WORKERS + 8, .sends = w->workers
        };
    return (struct mot_need){
        .state_bytes = sizeof(struct shards_worker), .buffers = 4, .sends = w->servers, .works = 1, .terms = 1
    };
}

static void shards_compute(struct shards_worker *s, struct mot_env *env)
{
    struct mot_term term = {
        .part = env->self, .draw = s->draw, .samples = env->world->batch[env->self], .coef = 1
    };
    mot_start(env, &(struct mot_work){ .terms = 1, .term = &term, .deadline = MOT_NEVER, .at = s->x });
}

static void shards_init(void *p, struct mot_env *env)
{
    if (env->self >= env->world->workers) {
        mot_params_init(env, &((struct shards_server *)p)->params);
        return;
    }
    struct shards_worker *s = p;
    s->x = mot_hold(env, env->world->x0);
    s->draw = mot_first_draw(env);
}

static void shards_worker_step(struct shards_worker *s, struct mot_env *env, const struct mot_event *event)
{
    const struct mot_world *w = env->world;
    if (event->kind == MOT_EV_START) shards_compute(s, env);
    if (event->kind == MOT_EV_WORK) {
        s->draw += event->work->samples;
        for (uint32_t i = 0; i < w->servers; i++)
            mot_send(env, w->workers + i, 1, (struct mot_head){ .samples = event->work->samples },
                mot_shard(env, event->work->grad, i, w->servers));
        mot_drop(env, s->x);
        s->x = mot_take(env);
    }
    if (event->kind != MOT_EV_MESSAGE) return;
    const struct mot_slice *b = &event->message->body;
    const float *from = mot_read(env, b->buf);
    float *to = mot_edit(env, s->x);
    for (uint32_t j = b->off; j < b->off + b->len; j++) to[j] = from[j];
    if (++s->here < w->servers) return;
    s->here = 0;
    shards_compute(s, env);
}

static void shards_server_step(struct shards_server *s, struct mot_env *env, const struct mot_event *event)
{
    const struct mot_world *w = env->world;
    if (event->kind != MOT_EV_MESSAGE) return;
    const struct mot_message *m = event->message;
    s->grad[m->from] = mot_hold(env, m->body.buf);
    s->samples += m->head.samples;
    if (++s->here < w->workers) return;
    struct mot_slice mine = mot_shard(env, MOT_NO_BUF, env->self - w->workers, w->servers);
    mine.buf = mot_sum_range(env, s->grad, w->workers, mine.off, mine.len);
    mot_params_step(env, &s->params, mine, 1.0 / (double)s->samples, 1.0);
    mot_advance(env);
    mot_drop(env, mine.buf);
    for (mot_node i = 0; i < w->workers; i++) {
        mot_drop(env, s->grad[i]);
        mot_send(env, i, 2, (struct mot_head){ 0 }, (struct mot_slice){ s->params.x, mine.off, mine.len });
    }
    s->here = 0;
    s->samples = 0;
}

static void shards_step(void *p, struct mot_env *env, const struct mot_event *event)
{
    if (env->self < env->world->workers) shards_worker_step(p, env, event);
    else shards_server_step(p, env, event);
}

static bool shards_admits(const void *p, const struct mot_env *env, const struct mot_message *m)
{
    const struct mot_world *w = env->world;
    bool serves = env->self >= w->workers, by_server = m->from >= w->workers;
    mot_node server = (serves ? env->self : m->from) - w->workers;
    (void)p;
    return by_server != serves && m->kind == (serves ? 1 : 2) &&
        mot_body_is(m, mot_shard(env, m->body.buf, server, w->servers));
}

static bool shards_model(const void *p, const struct mot_env *env, struct mot_view *view)
{
    const struct mot_world *w = env->world;
    if (env->self < w->workers) return false;
    const struct mot_params *params = &((const struct shards_server *)p)->params;
    struct mot_slice mine = mot_shard(env, params->x, env->self - w->workers, w->servers);
    *view =
        (struct mot_view){ .x = params->x, .scale = 1, .params = params, .off = mine.off, .len = mine.len };
    return true;
}

static const struct mot_option shards_options[] = {
    { .name = "shards",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct shards_conf, shards),
        .preset = "2",
        .min = 1,
        .max = 64,
        .doc = "Servers, each with a range of the parameters" },
    { .name = NULL },
};
static const struct mot_method shards = { .name = "shards",
    .summary = "a server in several nodes",
    .options = shards_options,
    .conf_bytes = sizeof(struct shards_conf),
    .traits = shards_traits,
    .need = shards_need,
    .init = shards_init,
    .step = shards_step,
    .admits = shards_admits,
    .model = shards_model };

#endif
