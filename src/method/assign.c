#include "method/assign.h"
#include "base/rng.h"

static mot_node draw_uniform(const struct mot_assign *a, const struct mot_hub *h, const struct mot_env *env)
{
    struct mot_rng rng = mot_rng_at(env->world->seed, MOT_RNG_METHOD, a->count);
    uint64_t left = mot_rng_below(&rng, h->present);
    if (h->present == env->world->workers) return (mot_node)left;
    for (mot_node i = 0;; i++)
        if (!mot_hub_seat(h, i)->away && left-- == 0) return i;
}

/* Fisher-Yates shuffle. */
static void draw_order(uint64_t epoch, const struct mot_env *env, uint32_t *order)
{
    struct mot_rng rng = mot_rng_at(env->world->seed, MOT_RNG_METHOD, epoch);
    uint32_t n = env->world->workers;
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = (uint32_t)mot_rng_below(&rng, i), last = order[i - 1];
        order[i - 1] = order[k];
        order[k] = last;
    }
}

mot_node mot_assign_next(struct mot_assign *a, enum mot_assign_rule rule, const struct mot_hub *h,
    const struct mot_env *env, uint32_t *order)
{
    uint32_t n = env->world->workers;
    mot_node worker;
    MOT_ASSERT(h->present > 0);
    if (rule == MOT_ASSIGN_RANDOM) {
        worker = draw_uniform(a, h, env);
        a->count++;
        return worker;
    }
    do { /* a worker that is away loses its turn */
        if (a->count % n == 0) draw_order(rule == MOT_ASSIGN_ONCE ? 0 : a->count / n, env, order);
        worker = order[a->count++ % n];
    } while (mot_hub_seat(h, worker)->away);
    return worker;
}
