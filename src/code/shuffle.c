/* shuffle.c -- which role a worker has after a number of shuffles, and what moving there costs. */
#include "base/rng.h"
#include <motley/code.h>

const char *mot_shuffle_name(uint32_t kind)
{
    static const char *const name[] = { "none", "rotate-worker", "rotate-group", "random", "partial" };
    return name[kind];
}

/* Workers whose numbers add up to one drawn number mod n form pairs, and some pairs exchange roles: finding
 * the other needs no table. */
static uint32_t exchanged(const struct mot_shuffle *s, uint32_t n, uint64_t number, uint32_t worker)
{
    uint64_t key = mot_hash3(s->seed, MOT_RNG_CODE, number);
    uint32_t sum = (uint32_t)(key % n), other = (sum + n - worker) % n;
    uint32_t first = worker < other ? worker : other;
    double draw = (double)(mot_hash3(key, first, 0) >> 11) * 0x1p-53;
    return draw < s->fraction ? other : worker;
}

uint32_t mot_shuffle_role(
    const struct mot_shuffle *s, const struct mot_code *c, uint64_t number, uint32_t worker)
{
    uint64_t n = c->workers;
    if (number == 0) return worker;
    switch ((enum mot_shuffle_kind)s->kind) {
    case MOT_SHUFFLE_ROTATE_WORKER: return (uint32_t)((worker + number % n) % n);
    case MOT_SHUFFLE_ROTATE_GROUP: return (uint32_t)((worker + number % n * c->leap) % n);
    case MOT_SHUFFLE_RANDOM:
        return (uint32_t)mot_permute(mot_hash3(s->seed, MOT_RNG_CODE, number), n, worker);
    case MOT_SHUFFLE_PARTIAL: return exchanged(s, (uint32_t)n, number, worker);
    default: return worker;
    }
}

uint32_t mot_shuffle_holder(
    const struct mot_shuffle *s, const struct mot_code *c, uint64_t number, uint32_t role)
{
    uint64_t n = c->workers;
    if (number == 0) return role;
    switch ((enum mot_shuffle_kind)s->kind) {
    case MOT_SHUFFLE_ROTATE_WORKER: return (uint32_t)((role + n - number % n) % n);
    case MOT_SHUFFLE_ROTATE_GROUP: return (uint32_t)((role + n - number % n * c->leap % n) % n);
    case MOT_SHUFFLE_RANDOM:
        return (uint32_t)mot_permute_back(mot_hash3(s->seed, MOT_RNG_CODE, number), n, role);
    case MOT_SHUFFLE_PARTIAL: return exchanged(s, (uint32_t)n, number, role);
    default: return role;
    }
}

/* How many parts of the new role the old one does not have. */
static uint32_t fresh_parts(const struct mot_code *c, uint32_t from, uint32_t to)
{
    uint32_t i = c->at[from], fresh = 0;
    for (uint32_t k = c->at[to]; k < c->at[to + 1]; k++) {
        while (i < c->at[from + 1] && c->share[i].part < c->share[k].part) i++;
        if (i == c->at[from + 1] || c->share[i].part != c->share[k].part) fresh++;
    }
    return fresh;
}

double mot_shuffle_traffic(const struct mot_shuffle *s, const struct mot_code *c, uint64_t number)
{
    uint64_t moved = 0;
    for (uint32_t i = 0; number > 0 && i < c->workers; i++)
        moved += fresh_parts(c, mot_shuffle_role(s, c, number - 1, i), mot_shuffle_role(s, c, number, i));
    return (double)moved / c->parts;
}
