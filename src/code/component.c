/* component.c -- the optimal weights of a graph code in linear time (Glasgow and Wootters, Approximate
 * Gradient Coding with Optimal Decoding, 2021).
 *
 * Parts are vertices and workers are edges. A connected component of the answers that has an odd cycle gives
 * every vertex 1. In a bipartite one with sides L and R, each vertex of L gets 2|R| / (|L| + |R|) and each of
 * R gets 2|L| / (|L| + |R|): the values nearest to 1 that add up to the same on both sides. The weights of
 * edges follow from a spanning tree, leaves first. They would grow with the size of the subtrees, so all
 * edges begin with the weight that suits a graph without missing edges, and the tree carries only the
 * difference. */
#include "code/decode.h"
#include <string.h>

struct forest {
    const struct mot_code *c;
    const uint64_t *answered;
    double *need, *weight; /* need[part]: what its edges must still add up to */
    uint32_t *queue;       /* parts in the order in which they were found */
    uint32_t *via;         /* the edge that led to each; MOT_NO_ROLE at a root */
    uint32_t *depth;       /* from 1; 0: not found yet */
};

size_t mot_component_room(const struct mot_code *c) { return c->parts + 3 * ((size_t)c->parts + 1) / 2 + 1; }

/* Every role has two parts. */
static const struct mot_share *ends_of(const struct mot_code *c, uint32_t edge)
{
    return &c->share[2 * edge];
}

/* Finds the component of `root`: queue[first] .. queue[result - 1]. *odd: an edge that closes an odd
 * cycle, or MOT_NO_ROLE. */
static uint32_t explore(struct forest *f, uint32_t root, uint32_t first, uint32_t *odd)
{
    const struct mot_code *c = f->c;
    uint32_t end = first, cycle = MOT_NO_ROLE;
    f->queue[end++] = root;
    f->via[root] = MOT_NO_ROLE;
    f->depth[root] = 1;
    for (uint32_t at = first; at < end; at++) {
        uint32_t part = f->queue[at], depth = f->depth[part];
        for (uint32_t k = c->held[part]; k < c->held[part + 1]; k++) {
            uint32_t edge = c->holder[k];
            if (!mot_role_in(f->answered, edge)) continue;
            /* no branches: no processor can predict which end is the other one, or whether the cycle is
             * odd */
            const struct mot_share *ends = ends_of(c, edge);
            uint32_t to = ends[0].part ^ ends[1].part ^ part;
            bool same_side = f->depth[to] % 2 == depth % 2;
            if (f->depth[to] == 0) {
                f->depth[to] = depth + 1;
                f->via[to] = edge;
                f->queue[end++] = to;
            } else cycle = same_side ? edge : cycle;
        }
    }
    *odd = cycle;
    return end;
}

/* Adds to `need` what the component's vertices should get: see above. */
static void aim(struct forest *f, uint32_t first, uint32_t end, uint32_t odd)
{
    double side[2] = { 0, 0 }, all = end - first;
    for (uint32_t at = first; at < end; at++) side[f->depth[f->queue[at]] % 2]++;
    for (uint32_t at = first; at < end; at++) {
        uint32_t part = f->queue[at];
        f->need[part] += odd != MOT_NO_ROLE ? 1 : 2 * side[1 - f->depth[part] % 2] / all;
    }
}

static void put(struct forest *f, uint32_t edge, double weight)
{
    const struct mot_share *end = ends_of(f->c, edge);
    f->weight[edge] += weight;
    f->need[end[0].part] -= weight;
    f->need[end[1].part] -= weight;
}

static void settle(struct forest *f, uint32_t first, uint32_t end, uint32_t odd)
{
    if (odd != MOT_NO_ROLE) {
        /* Along the tree, what is left at the root is the sum of the needs with alternating signs; the odd
         * edge changes it by twice its weight. */
        double left = 0;
        for (uint32_t at = first; at < end; at++)
            left += f->depth[f->queue[at]] % 2 ? f->need[f->queue[at]] : -f->need[f->queue[at]];
        put(f, odd, (f->depth[ends_of(f->c, odd)[0].part] % 2 ? left : -left) / 2);
    }
    for (uint32_t at = end; at-- > first + 1;) put(f, f->via[f->queue[at]], f->need[f->queue[at]]);
}

void mot_decode_component(const struct mot_code *c, const uint64_t *answered, double *weight, double *room)
{
    struct forest f = { .c = c, .answered = answered, .need = room, .weight = weight };
    f.queue = (uint32_t *)(void *)(room + c->parts);
    f.via = f.queue + c->parts;
    f.depth = f.via + c->parts;
    memset(f.need, 0, c->parts * sizeof(*f.need));
    memset(f.depth, 0, c->parts * sizeof(*f.depth));
    for (uint32_t edge = 0; edge < c->workers; edge++)
        if (mot_role_in(answered, edge)) put(&f, edge, (double)c->parts / (2.0 * c->workers));
    for (uint32_t part = 0, first = 0; part < c->parts; part++) {
        if (f.depth[part]) continue;
        uint32_t odd, end = explore(&f, part, first, &odd);
        aim(&f, first, end, odd);
        settle(&f, first, end, odd);
        first = end;
    }
}
