#include "method/buffered.h"
#include <stdio.h>

static uint32_t k_among(const struct mot_buffered_conf *conf, uint32_t workers)
{
    return conf->k == MOT_WORD_UINT ? (workers + 3) / 4 : (uint32_t)conf->k;
}

static uint32_t k_of(const struct mot_buffered_conf *conf, const struct mot_world *world)
{
    return k_among(conf, world->workers);
}

double mot_buffered_delay(const void *p, uint32_t workers)
{
    const struct mot_buffered_conf *conf = p;
    double updates = (double)workers / k_among(conf, workers) - 1;
    return updates > 0 ? updates * (double)conf->steps : 0;
}

size_t mot_buffered_bytes(const void *p, const struct mot_world *world)
{
    size_t bytes = sizeof(struct mot_buffered) + k_of(p, world) * sizeof(struct mot_parcel) +
        world->workers * sizeof(uint32_t);
    return (bytes + 15) & ~(size_t)15;
}

struct mot_hub_need mot_buffered_need(const void *p, const struct mot_world *world)
{
    const struct mot_buffered_conf *conf = p;
    return (struct mot_hub_need){ .state_bytes = mot_buffered_bytes(conf, world),
        .buffers = k_of(conf, world) + 2,
        .queue = 1,
        .backlog = conf->assign == MOT_ASSIGN_PURE ? 0 : world->workers };
}

struct mot_local_steps mot_buffered_steps(const void *conf)
{
    return (struct mot_local_steps){ .steps = (uint32_t)((const struct mot_buffered_conf *)conf)->steps };
}

bool mot_buffered_in_turn(const void *conf)
{
    return ((const struct mot_buffered_conf *)conf)->assign != MOT_ASSIGN_PURE;
}

void mot_buffered_advise(const void *conf, const struct mot_situation *s, char *into, size_t size)
{
    bool waits = s->kind == MOT_WHEN_WAITING || s->kind == MOT_WHEN_IDLE;
    if (waits && mot_buffered_in_turn(conf)) snprintf(into, size, "`--method-assign pure`");
    else mot_advise_served(conf, s, into, size);
}

void mot_buffered_begin(void *state, struct mot_env *env)
{
    struct mot_buffered *b = state;
    b->k = k_of(env->conf, env->world);
    for (mot_node i = 0; i < env->world->workers; i++) mot_hub_give(&b->hub, env, i);
}

bool mot_buffered_put(struct mot_buffered *b, struct mot_env *env, const struct mot_answer *a, double weight)
{
    uint32_t at = b->count++;
    for (; at > 0 && b->in[at - 1].from > a->from; at--) b->in[at] = b->in[at - 1];
    b->in[at] = (struct mot_parcel){ .round = a->round,
        .weight = weight,
        .sum = mot_hold(env, a->grad.buf),
        .from = a->from,
        .batch = env->world->batch[a->from] };
    mot_hub_credit(env, a->from, a->delay);
    return b->count == b->k;
}

void mot_buffered_step(struct mot_buffered *b, struct mot_env *env, mot_buf sum, double scale)
{
    const struct mot_buffered_conf *conf = env->conf;
    mot_params_step(env, &b->hub.params, mot_whole(env, sum), scale, conf->server_rate);
    mot_advance(env);
    while (b->count > 0) mot_drop(env, b->in[--b->count].sum);
}

void mot_buffered_assign(void *state, struct mot_env *env, mot_node worker)
{
    struct mot_buffered *b = state;
    const struct mot_buffered_conf *conf = env->conf;
    uint32_t *order = (uint32_t *)(void *)(b->in + b->k);
    if (conf->assign == MOT_ASSIGN_PURE) {
        if (!mot_hub_seat(&b->hub, worker)->away) mot_hub_give(&b->hub, env, worker);
        return;
    }
    while (b->hub.present > 0 && b->hub.active < env->world->workers)
        mot_hub_give(&b->hub, env, mot_assign_next(&b->assign, conf->assign, &b->hub, env, order));
}

void mot_buffered_lost(void *state, struct mot_env *env, mot_node worker, uint32_t jobs)
{
    (void)jobs;
    mot_buffered_assign(state, env, worker);
}

void mot_buffered_check(const void *state, const struct mot_env *env)
{
    const struct mot_buffered *b = state;
    MOT_ASSERT(b->count == 0 || b->count < b->k);
    MOT_ASSERT(b->hub.active <= env->world->workers);
    for (uint32_t i = 0; i < b->count; i++)
        MOT_ASSERT(b->in[i].sum != MOT_NO_BUF && (i == 0 || b->in[i - 1].from <= b->in[i].from));
}
