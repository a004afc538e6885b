#include "topology/graph.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

static int by_ends(const void *x, const void *y)
{
    const struct mot_edge *p = x, *q = y;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

static void list_links(struct mot_graph *g)
{
    g->at = mot_new_large((size_t)g->nodes + 2, sizeof(*g->at));
    g->link = mot_new_large(2 * (size_t)g->edges + 1, sizeof(*g->link));
    if (!g->at || !g->link) return;
    for (uint32_t e = 0; e < g->edges; e++) {
        g->at[g->edge[e].a + 2]++;
        g->at[g->edge[e].b + 2]++;
    }
    for (uint32_t i = 2; i < g->nodes + 2; i++) g->at[i] += g->at[i - 1];
    /* First the neighbours below each node, in rising order since edges are sorted by their lower end; then
     * those above it. */
    for (int above = 0; above < 2; above++)
        for (uint32_t e = 0; e < g->edges; e++) {
            uint32_t node = above ? g->edge[e].a : g->edge[e].b, other = above ? g->edge[e].b : g->edge[e].a;
            g->link[g->at[node + 1]++] = (struct mot_graph_link){ other, e };
        }
}

enum mot_status mot_graph_open(uint32_t nodes, struct mot_edge *edge, uint32_t edges, struct mot_graph *out)
{
    uint32_t kept = 0;
    for (uint32_t e = 0; e < edges; e++)
        if (edge[e].a > edge[e].b) edge[e] = (struct mot_edge){ edge[e].b, edge[e].a };
    if (edges) qsort(edge, edges, sizeof(*edge), by_ends);
    for (uint32_t e = 0; e < edges; e++)
        if (kept == 0 || by_ends(&edge[kept - 1], &edge[e]) != 0) edge[kept++] = edge[e];
    *out = (struct mot_graph){ .nodes = nodes, .edges = kept, .edge = edge };
    list_links(out);
    if (out->at && out->link) return MOT_OK;
    mot_graph_close(out);
    return mot_memory_status();
}

void mot_graph_close(struct mot_graph *g)
{
    free(g->edge);
    free(g->at);
    free(g->link);
    free(g->matching);
    *g = (struct mot_graph){ 0 };
}

uint32_t mot_graph_degree(const struct mot_graph *g, uint32_t node) { return g->at[node + 1] - g->at[node]; }

uint32_t mot_graph_degree_max(const struct mot_graph *g)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < g->nodes; i++)
        if (mot_graph_degree(g, i) > most) most = mot_graph_degree(g, i);
    return most;
}

/* ---- Distances ---------------------------------------------------------------------- */

/* Finds each node's distance from `first`, UINT32_MAX if there is no path; returns how many it reaches.
 * `queue` has room for all nodes. */
static uint32_t spread(const struct mot_graph *g, uint32_t first, uint32_t *distance, uint32_t *queue)
{
    uint32_t reached = 1;
    memset(distance, 0xff, g->nodes * sizeof(*distance));
    distance[first] = 0;
    queue[0] = first;
    for (uint32_t k = 0; k < reached; k++)
        for (uint32_t l = g->at[queue[k]]; l < g->at[queue[k] + 1]; l++) {
            uint32_t next = g->link[l].node;
            if (distance[next] != UINT32_MAX) continue;
            distance[next] = distance[queue[k]] + 1;
            queue[reached++] = next;
        }
    return reached;
}

bool mot_graph_connected(const struct mot_graph *g, uint32_t *lonely)
{
    uint32_t *distance = mot_new_large(2 * (size_t)g->nodes, sizeof(*distance));
    if (!distance) return true;
    bool all = spread(g, 0, distance, distance + g->nodes) == g->nodes;
    for (uint32_t i = 0; i < g->nodes && !all; i++)
        if (distance[i] == UINT32_MAX) {
            *lonely = i;
            break;
        }
    free(distance);
    return all;
}

uint32_t mot_graph_diameter(const struct mot_graph *g)
{
    uint32_t *distance = mot_new_large(2 * (size_t)g->nodes, sizeof(*distance)), longest = 0;
    for (uint32_t i = 0; distance && i < g->nodes; i++) {
        spread(g, i, distance, distance + g->nodes);
        for (uint32_t k = 0; k < g->nodes; k++)
            if (distance[k] != UINT32_MAX && distance[k] > longest) longest = distance[k];
    }
    free(distance);
    return longest;
}
