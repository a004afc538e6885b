/* circle.h -- who takes part in a collective.
 *
 * A circle is what a scope means to one worker: all workers, those of its group, or the roots of all groups.
 * Members are ranked by node; the first is the root. Drivers keep the collectives of each circle apart. */
#ifndef MOT_RUN_CIRCLE_H
#define MOT_RUN_CIRCLE_H

#include <motley/method.h>

struct mot_circle {
    mot_node first;
    uint32_t stride, n;
};

static inline mot_node mot_circle_node(const struct mot_circle *c, uint32_t rank)
{
    return c->first + rank * c->stride;
}

/* A member's rank. */
static inline uint32_t mot_circle_rank(const struct mot_circle *c, mot_node node)
{
    return (node - c->first) / c->stride;
}

static inline bool mot_circle_has(const struct mot_circle *c, mot_node node)
{
    return node >= c->first && (node - c->first) % c->stride == 0 && (node - c->first) / c->stride < c->n;
}

/* Circles are numbered: all workers, every group, the roots. */
static inline uint32_t mot_circles(const struct mot_world *w) { return w->groups ? w->groups + 2 : 1; }

static inline uint32_t mot_circle_of(const struct mot_world *w, enum mot_coll_scope scope, mot_node node)
{
    if (scope == MOT_COLL_ALL) return 0;
    return scope == MOT_COLL_GROUP ? 1 + mot_group_of(w, node) : 1 + w->groups;
}

static inline struct mot_circle mot_circle(const struct mot_world *w, uint32_t circle)
{
    if (circle == 0) return (struct mot_circle){ .stride = 1, .n = w->workers };
    uint32_t size = mot_group_size(w);
    if (circle > w->groups) return (struct mot_circle){ .stride = size, .n = w->groups };
    return (struct mot_circle){ .first = (circle - 1) * size, .stride = 1, .n = size };
}

/* Members of all circles together. */
static inline uint64_t mot_circle_seats(const struct mot_world *w)
{
    return w->workers + (w->groups ? (uint64_t)w->workers + w->groups : 0);
}

#endif
