/* ring.h -- for tests: decentralised SGD on a ring (Lian et al., NeurIPS 2017), in its plainest form.
 *
 * A worker computes a gradient at its model and sends the model to both neighbours; with theirs of the same
 * round here it takes the mean of the three and steps along its gradient. No collective and no server: a
 * neighbour may be a round ahead, and across the ring nodes may be further apart. Models differ; the run's is
 * their mean. */
#ifndef MOT_TEST_RING_H
#define MOT_TEST_RING_H

#include <motley/method.h>

#define RING_MARK UINT64_C(0x5e1fc0de0ddba11)
struct ring_state {
    uint64_t mark;
    struct mot_params params;
    mot_buf grad, came[2][2]; /* of the neighbour before and after; of this round and of the next */
    uint32_t samples;
    uint64_t round, draw;
};

static struct mot_need ring_need(const void *conf, const struct mot_world *w, mot_node self)
{
    (void)conf, (void)w, (void)self;
    return (struct mot_need){
        .state_bytes = sizeof(struct ring_state), .buffers = 12, .sends = 4, .works = 1, .terms = 1
    };
}

static void ring_init(void *p, struct mot_env *env)
{
    struct ring_state *s = p;
    s->mark = RING_MARK;
    mot_params_init(env, &s->params);
    s->draw = mot_first_draw(env);
}

static mot_node ring_neighbour(const struct mot_env *env, int side)
{
    uint32_t n = env->world->workers;
    return (env->self + (side ? 1 : n - 1)) % n;
}

static void ring_begin(struct ring_state *s, struct mot_env *env)
{
    struct mot_term term = {
        .part = env->self, .draw = s->draw, .samples = env->world->batch[env->self], .coef = 1
    };
    mot_start(env, &(struct mot_work){ .terms = 1, .term = &term, .deadline = MOT_NEVER, .at = s->params.x });
    for (int side = 0; side < 2; side++)
        mot_send(env, ring_neighbour(env, side), (uint16_t)!side, (struct mot_head){ .round = s->round },
            mot_whole(env, s->params.x));
}

static void ring_mix(struct ring_state *s, struct mot_env *env)
{
    if (!s->grad || !s->came[0][0] || !s->came[1][0]) return;
    const float *mine = mot_read(env, s->params.x), *before = mot_read(env, s->came[0][0]),
                *after = mot_read(env, s->came[1][0]);
    mot_buf mean = mot_take(env);
    float *out = mot_edit(env, mean);
    for (uint32_t j = 0; j < env->world->dim; j++) out[j] = (before[j] + mine[j] + after[j]) / 3;
    mot_drop(env, s->params.x);
    s->params.x = mean;
    mot_params_step(env, &s->params, mot_whole(env, s->grad), 1.0 / s->samples, 1.0);
    mot_drop(env, s->grad);
    s->grad = MOT_NO_BUF;
    for (int side = 0; side < 2; side++) {
        mot_drop(env, s->came[side][0]);
        s->came[side][0] = s->came[side][1];
        s->came[side][1] = MOT_NO_BUF;
    }
    s->round++;
    mot_advance(env);
    ring_begin(s, env);
}

static void ring_step(void *p, struct mot_env *env, const struct mot_event *event)
{
    struct ring_state *s = p;
    switch (event->kind) {
    case MOT_EV_START: ring_begin(s, env); return;
    case MOT_EV_WORK:
        s->draw += event->work->samples;
        s->samples = event->work->samples;
        s->grad = mot_hold(env, event->work->grad);
        ring_mix(s, env);
        return;
    case MOT_EV_MESSAGE: {
        uint64_t ahead = event->message->head.round - s->round;
        MOT_ASSERT(ahead < 2 && event->message->kind < 2);
        s->came[event->message->kind][ahead] = mot_hold(env, event->message->body.buf);
        ring_mix(s, env);
        return;
    }
    case MOT_EV_PEER:
        if (!event->peer.up) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_COLL:
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"a ring asks for none of these"); return;
    }
}

static bool ring_admits(const void *p, const struct mot_env *env, const struct mot_message *m)
{
    const struct ring_state *s = p;
    uint64_t ahead = m->head.round - s->round;
    return m->kind < 2 && m->from == ring_neighbour(env, m->kind) && ahead < 2 && !s->came[m->kind][ahead] &&
        mot_body_is(m, mot_whole(env, m->body.buf));
}

static void ring_check(const void *p, const struct mot_env *env)
{
    (void)env;
    MOT_ASSERT(((const struct ring_state *)p)->mark == RING_MARK);
}

static bool ring_model(const void *p, const struct mot_env *env, struct mot_view *view)
{
    (void)env;
    const struct mot_params *params = &((const struct ring_state *)p)->params;
    *view = (struct mot_view){ .x = params->x, .scale = 1, .params = params };
    return true;
}

static void ring_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)conf, (void)workers;
    t->model = MOT_MODEL_OF_EACH;
}

static const struct mot_option ring_options[] = { { .name = NULL } };
static const struct mot_method ring = { .name = "ring",
    .summary = "neighbours on a ring take the mean of their models",
    .options = ring_options,
    .traits = ring_traits,
    .need = ring_need,
    .init = ring_init,
    .step = ring_step,
    .admits = ring_admits,
    .check = ring_check,
    .model = ring_model };

#endif
