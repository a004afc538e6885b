#include "method/apart.h"

double mot_apart_rate(const struct mot_env *env, enum mot_weigh weigh)
{
    const struct mot_world *w = env->world;
    return weigh == MOT_WEIGH_EQUAL ? 1 : w->workers * (double)w->part_rows[env->self] / (double)w->rows;
}

uint64_t mot_apart_end(const struct mot_world *w) { return mot_apart_end_by(w, 1); }

uint64_t mot_apart_end_by(const struct mot_world *w, uint32_t batches)
{
    uint64_t last = w->step0;
    if (w->passes == 0) return UINT64_MAX;
    for (mot_node i = 0; i < w->workers; i++) {
        uint64_t rows = w->part_rows[i], before = w->draw0 ? w->draw0[i] : 0;
        if (rows && w->passes > (UINT64_MAX >> 1) / rows) return UINT64_MAX;
        uint64_t all = w->passes * rows, left = all > before ? all - before : 0;
        if (left == 0) continue;
        uint64_t rounds = w->step0 + (left - 1) / ((uint64_t)w->batch[i] * batches) + 1;
        if (rounds > last) last = rounds;
    }
    return last;
}
