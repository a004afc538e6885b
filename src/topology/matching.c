/* matching.c -- an edge colouring with at most one colour more than the largest degree; a
 * colour is a matching.
 *
 * An uncoloured edge (u, v) gets a colour that is free at both ends. If there is none, let c be free at u and
 * d at v, and swap the two colours along the path c, d, c, ... from v, unless it ends at u. In a bipartite
 * graph it never does, so such a graph needs no more colours than its largest degree. Otherwise use a fan of
 * u: a row of its neighbours v = f0, f1, ... in which the colour of (u, f[k]) is free at f[k-1]. With c free
 * at u and d free at the last of the fan, swap the colours along the path d, c, d, ... from u, which frees d
 * at u; then shift the fan's colours down, up to a node at which d is free. */
#include "base/memory.h"
#include "topology/graph.h"
#include <stdlib.h>

#define NONE UINT32_MAX

struct colouring {
    const struct mot_graph *g;
    uint32_t colours;
    /* [nodes][colours]: the edge of that colour at the node, or NONE */
    uint32_t *edge_of;
    uint32_t *colour; /* [edges] */
    uint32_t *fan;    /* edges of u, each once */
    bool *in_fan;     /* [edges] */
};

static uint32_t *slot(const struct colouring *c, uint32_t node, uint32_t colour)
{
    return &c->edge_of[(size_t)node * c->colours + colour];
}

static uint32_t free_colour(const struct colouring *c, uint32_t node)
{
    uint32_t k = 0;
    while (*slot(c, node, k) != NONE) k++; /* ends: there are more colours than edges at a node */
    return k;
}

static uint32_t other_end(const struct colouring *c, uint32_t edge, uint32_t node)
{
    const struct mot_edge *e = &c->g->edge[edge];
    return e->a == node ? e->b : e->a;
}

static void paint(struct colouring *c, uint32_t edge, uint32_t colour)
{
    const struct mot_edge *e = &c->g->edge[edge];
    c->colour[edge] = colour;
    *slot(c, e->a, colour) = *slot(c, e->b, colour) = edge;
}

static void strip(struct colouring *c, uint32_t edge)
{
    const struct mot_edge *e = &c->g->edge[edge];
    *slot(c, e->a, c->colour[edge]) = *slot(c, e->b, c->colour[edge]) = NONE;
    c->colour[edge] = NONE;
}

/* The longest fan of u that begins with `edge`. */
static uint32_t open_fan(struct colouring *c, uint32_t u, uint32_t edge)
{
    uint32_t n = 1;
    bool grew = true;
    c->fan[0] = edge;
    c->in_fan[edge] = true;
    while (grew) {
        grew = false;
        uint32_t last = other_end(c, c->fan[n - 1], u);
        for (uint32_t l = c->g->at[u]; l < c->g->at[u + 1] && !grew; l++) {
            uint32_t next = c->g->link[l].edge;
            if (c->in_fan[next] || c->colour[next] == NONE || *slot(c, last, c->colour[next]) != NONE)
                continue;
            c->in_fan[next] = grew = true;
            c->fan[n++] = next;
        }
    }
    for (uint32_t k = 0; k < n; k++) c->in_fan[c->fan[k]] = false;
    return n;
}

/* Swaps the two colours along the path that leaves u by its edge of colour d. */
static void turn_path(struct colouring *c, uint32_t u, uint32_t d, uint32_t free_at_u)
{
    uint32_t edge = *slot(c, u, d), node = u, to = free_at_u;
    if (edge == NONE) return;
    strip(c, edge);
    while (edge != NONE) {
        node = other_end(c, edge, node);
        uint32_t next = *slot(c, node, to); /* an edge in the way is repainted next */
        if (next != NONE) strip(c, next);
        paint(c, edge, to);
        edge = next;
        to = to == d ? free_at_u : d;
    }
}

static bool is_fan(const struct colouring *c, uint32_t u, uint32_t n)
{
    for (uint32_t k = 1; k < n; k++)
        if (*slot(c, other_end(c, c->fan[k - 1], u), c->colour[c->fan[k]]) != NONE) return false;
    return true;
}

/* Where the path from `node` along edges of the colours d, other, d, ... ends. */
static uint32_t end_of_path(const struct colouring *c, uint32_t node, uint32_t d, uint32_t other)
{
    for (uint32_t edge, colour = d; (edge = *slot(c, node, colour)) != NONE; colour = colour == d ? other : d)
        node = other_end(c, edge, node);
    return node;
}

static bool colour_plainly(struct colouring *c, uint32_t edge)
{
    uint32_t u = c->g->edge[edge].a, v = c->g->edge[edge].b, common = 0;
    while (common + 1 < c->colours && (*slot(c, u, common) != NONE || *slot(c, v, common) != NONE)) common++;
    if (common + 1 < c->colours) {
        paint(c, edge, common);
        return true;
    }
    uint32_t free_u = free_colour(c, u), free_v = free_colour(c, v);
    if (free_u + 1 >= c->colours || free_v + 1 >= c->colours || end_of_path(c, v, free_u, free_v) == u)
        return false;
    turn_path(c, v, free_u, free_v);
    paint(c, edge, free_u);
    return true;
}

static void colour_by_fan(struct colouring *c, uint32_t edge)
{
    uint32_t u = c->g->edge[edge].a, n = open_fan(c, u, edge);
    uint32_t free_u = free_colour(c, u), d = free_colour(c, other_end(c, c->fan[n - 1], u));
    turn_path(c, u, d, free_u);
    /* Swapping may have broken the fan, but it holds up to some node at which d is free. */
    while (*slot(c, other_end(c, c->fan[n - 1], u), d) != NONE || !is_fan(c, u, n)) n--;
    for (uint32_t k = 0; k + 1 < n; k++) {
        uint32_t colour = c->colour[c->fan[k + 1]];
        strip(c, c->fan[k + 1]);
        paint(c, c->fan[k], colour);
    }
    paint(c, c->fan[n - 1], d);
}

/* Renumbers the colours without those that no edge has; returns how many are used. */
static uint32_t close_gaps(const struct colouring *c)
{
    uint32_t *name = mot_new(c->colours + 1, sizeof(*name)), used = 0;
    for (uint32_t e = 0; e < c->g->edges; e++) name[c->colour[e]] = 1;
    for (uint32_t k = 0; k < c->colours; k++) name[k] = name[k] ? used++ : NONE;
    for (uint32_t e = 0; e < c->g->edges; e++) c->colour[e] = name[c->colour[e]];
    free(name);
    return used;
}

enum mot_status mot_graph_cut(struct mot_graph *g)
{
    if (g->matchings || g->edges == 0) return MOT_OK;
    struct colouring c = { .g = g, .colours = mot_graph_degree_max(g) + 1 };
    size_t slots = (size_t)g->nodes * c.colours;
    c.edge_of = mot_new_large(slots, sizeof(*c.edge_of));
    c.colour = mot_new_large(g->edges, sizeof(*c.colour));
    c.fan = mot_new_large(c.colours, sizeof(*c.fan));
    c.in_fan = mot_new_large(g->edges, sizeof(*c.in_fan));
    if (!c.edge_of || !c.colour || !c.fan || !c.in_fan) {
        free(c.edge_of);
        free(c.colour);
        free(c.fan);
        free(c.in_fan);
        return mot_memory_status();
    }
    for (size_t i = 0; i < slots; i++) c.edge_of[i] = NONE;
    for (uint32_t e = 0; e < g->edges; e++) c.colour[e] = NONE;
    for (uint32_t e = 0; e < g->edges; e++)
        if (!colour_plainly(&c, e)) colour_by_fan(&c, e);
    g->matchings = close_gaps(&c);
    g->matching = c.colour;
    free(c.edge_of);
    free(c.fan);
    free(c.in_fan);
    return MOT_OK;
}
