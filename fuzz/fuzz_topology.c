/* fuzz_topology.c -- any bytes as an edge list or a mixing matrix; the
 * first byte says which, and over how many workers. */
#include "fuzz.h"
#include "topology/topology.h"
#include <string.h>

static void check_graph(uint32_t nodes, struct mot_edge *edge, uint32_t edges)
{
    struct mot_graph g;
    uint32_t lonely = nodes;
    for (uint32_t e = 0; e < edges; e++)
        MOT_ASSERT(edge[e].a < nodes && edge[e].b < nodes && edge[e].a != edge[e].b);
    mot_graph_open(nodes, edge, edges, &g);
    MOT_ASSERT(mot_graph_connected(&g, &lonely) || lonely < nodes);
    mot_graph_cut(&g);
    MOT_ASSERT(g.edges == 0 || g.matchings <= mot_graph_degree_max(&g) + 1);
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t k = g.at[i]; k < g.at[i + 1]; k++)
            for (uint32_t l = g.at[i]; l < k; l++)
                MOT_ASSERT(g.matching[g.link[k].edge] != g.matching[g.link[l].edge]);
    mot_graph_close(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0 || n > 1 << 16) return 0;
    uint32_t nodes = 1 + (bytes[0] & 31), edges;
    struct mot_edge *edge;
    double *w;
    char *text = malloc(n);
    memcpy(text, bytes + 1, n - 1);
    text[n - 1] = '\0';
    if (bytes[0] & 128) {
        if (mot_matrix_parse("x", text, nodes, &w) == MOT_OK) {
            for (uint32_t i = 0; i < nodes * nodes; i++) MOT_ASSERT(isfinite(w[i]));
            mot_matrix_settle("x", nodes, w);
            free(w);
        }
    } else if (mot_edges_parse("x", text, nodes, &edge, &edges) == MOT_OK) {
        check_graph(nodes, edge, edges);
    }
    free(text);
    return 0;
}
