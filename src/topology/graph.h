/* graph.h -- an undirected graph over the workers, without loops: who is linked to whom. */
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
    uint32_t *matching; /* [edges]: the matching that each belongs to */
};

/* Sorts the edges, drops duplicates, and lists each node's neighbours. Takes over `edge` (malloc'd, in any
 * order, ends within 0..nodes-1, no loops). */
enum mot_status mot_graph_open(uint32_t nodes, struct mot_edge *edge, uint32_t edges, struct mot_graph *out);
void mot_graph_close(struct mot_graph *);

uint32_t mot_graph_degree(const struct mot_graph *, uint32_t node);
uint32_t mot_graph_degree_max(const struct mot_graph *);
/* Whether the graph is connected; if not, *lonely is a node that node 0 cannot reach. True if memory runs
 * out. */
bool mot_graph_connected(const struct mot_graph *, uint32_t *lonely);
/* The longest of the shortest paths between two nodes of a connected graph. */
uint32_t mot_graph_diameter(const struct mot_graph *);

/* Splits the edges into matchings, sets in which no node occurs twice: at most one more than the largest
 * degree (Misra and Gries, A constructive proof of Vizing's theorem, 1992). Does nothing if the graph is
 * already split. */
enum mot_status mot_graph_cut(struct mot_graph *);

#endif
