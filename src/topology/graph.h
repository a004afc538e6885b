/* graph.h -- who is linked to whom: an undirected graph over the workers, without loops. */
#ifndef MOT_TOPOLOGY_GRAPH_H
#define MOT_TOPOLOGY_GRAPH_H

#include <motley/status.h>
#include <stdbool.h>
#include <stdint.h>

struct mot_edge {
    uint32_t a, b;
}; /* a < b */

struct mot_graph {
    uint32_t nodes, edges;
    struct mot_edge *edge; /* sorted, each once */
    /* [nodes + 1]: the neighbours of node i are link[at[i]] .. link[at[i + 1] - 1] */
    uint32_t *at;
    struct mot_graph_link {
        uint32_t node, edge;
    } * link;           /* rising by node */
    uint32_t matchings; /* 0: not yet split into matchings */
    uint32_t *matching; /* [edges]: the matching of each */
};

/* Sorts the edges, drops those that are there twice, and lists who is connected to whom. Takes `edge` over
 * (malloc'd, in any order, ends within 0..nodes-1, no loops). */
enum mot_status mot_graph_open(uint32_t nodes, struct mot_edge *edge, uint32_t edges, struct mot_graph *out);
void mot_graph_close(struct mot_graph *);

uint32_t mot_graph_degree(const struct mot_graph *, uint32_t node);
uint32_t mot_graph_degree_max(const struct mot_graph *);
/* Whether there is a path from every node to every other; if not, *lonely is one that node 0 does not reach.
 * True if memory runs out. */
bool mot_graph_connected(const struct mot_graph *, uint32_t *lonely);
/* The longest of the shortest paths between two nodes of a connected graph. */
uint32_t mot_graph_diameter(const struct mot_graph *);

/* Splits the edges into matchings: sets in which no node occurs twice. At most one more than the largest
 * degree (Misra and Gries, A constructive proof of Vizing's theorem, 1992). Leaves a graph that is already
 * split as it is. */
enum mot_status mot_graph_cut(struct mot_graph *);

#endif
