#include "method/partners.h"

static uint64_t *bits_of(const struct mot_partners *p) { return (uint64_t *)(uintptr_t)(p + 1); }

size_t mot_partners_bytes(const struct mot_world *w)
{
    return ((size_t)w->workers + 63) / 64 * sizeof(uint64_t);
}

void mot_partners_init(struct mot_partners *p, const struct mot_env *env)
{
    /* A resumed run draws other partners than it did at its beginning. */
    p->rng = mot_rng_at(env->world->seed, MOT_RNG_METHOD, mot_hash3(env->self, env->world->step0, env->life));
}

struct mot_candidates mot_candidates_near(const struct mot_env *env)
{
    const struct mot_mixing *m = env->world->mixing;
    uint32_t at = m->at[env->self];
    return (struct mot_candidates){ .n = m->at[env->self + 1] - at, .near = m->near + at };
}

static mot_node candidate(const struct mot_env *env, const struct mot_candidates *c, uint32_t k)
{
    if (c->near) return c->near[k].node;
    return (mot_node)((c->first + (uint64_t)c->stride * k) % env->world->workers);
}

mot_node mot_partners_draw(struct mot_partners *p, const struct mot_env *env, const struct mot_candidates *c)
{
    uint32_t from = c->n ? (uint32_t)mot_rng_below(&p->rng, c->n) : 0;
    for (uint32_t i = 0; i < c->n; i++) {
        mot_node node = candidate(env, c, (from + i) % c->n);
        if (!mot_partners_lost(p, node)) return node;
    }
    return MOT_NOBODY;
}

bool mot_is_candidate(const struct mot_env *env, const struct mot_candidates *c, mot_node node)
{
    uint32_t k = 0, workers = env->world->workers;
    if (!c->near) {
        uint32_t after = (uint32_t)(((uint64_t)node + workers - c->first) % workers);
        return node < workers && after % c->stride == 0 && after / c->stride < c->n;
    }
    while (k < c->n && c->near[k].node != node) k++;
    return k < c->n;
}

void mot_partners_lose(struct mot_partners *p, mot_node node)
{
    bits_of(p)[node / 64] |= UINT64_C(1) << node % 64;
}

bool mot_partners_lost(const struct mot_partners *p, mot_node node)
{
    return bits_of(p)[node / 64] >> node % 64 & 1;
}
