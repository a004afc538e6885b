/* topology.h -- named graphs, as chosen by the `topology:` section. */
#ifndef MOT_TOPOLOGY_TOPOLOGY_H
#define MOT_TOPOLOGY_TOPOLOGY_H

#include "topology/graph.h"
#include <motley/option.h>

enum mot_weights { MOT_WEIGHTS_METROPOLIS, MOT_WEIGHTS_LAPLACIAN };

/* The options of all kinds; each kind has a table of those that it uses. */
struct mot_topology_conf {
    uint32_t weights; /* enum mot_weights */
    uint64_t rows;    /* torus; MOT_WORD_UINT: as square as possible */
    uint64_t degree;  /* regular */
    uint64_t seed;    /* regular; MOT_WORD_UINT: the run's */
    const char *path; /* edges, matrix */
    const char *list; /* edges: "0-1, 1-2" */
};

struct mot_topology {
    const char *name, *summary;
    const struct mot_option *options; /* over struct mot_topology_conf */
    /* Fills *out, or says why there is no such graph over so many nodes. If the kind brings a mixing matrix
     * of its own, *w becomes [nodes][nodes], malloc'd; else it is left alone. */
    enum mot_status (*build)(
        const struct mot_topology_conf *, uint32_t nodes, uint64_t seed, struct mot_graph *out, double **w);
};
extern const struct mot_topology *const mot_topologies[]; /* ended by NULL; the first is the default */

/* Builds the graph and checks that it is connected. */
enum mot_status mot_topology_build(const struct mot_topology *, const struct mot_topology_conf *,
    uint32_t nodes, uint64_t seed, struct mot_graph *out, double **w);

/* ---- Text: edge_list.c -------------------------------------------------------------- */

/* "0-1, 1-2" or lines of two numbers ("0 1", "0,1"); '#' begins a comment. `name` is for messages. */
enum mot_status mot_edges_parse(
    const char *name, const char *text, uint32_t nodes, struct mot_edge **edge_out, uint32_t *edges_out);

/* One line for each node, of one number for each node, separated by blanks or commas. malloc'd. */
enum mot_status mot_matrix_parse(const char *name, const char *text, uint32_t nodes, double **w_out);

/* Checks that a mixing matrix is symmetric and that its rows add up to 1, both to 1e-6; corrects rounding
 * errors. */
enum mot_status mot_matrix_settle(const char *name, uint32_t nodes, double *w);

#endif
