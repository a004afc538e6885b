/* topology.c -- `motley topology`: who exchanges models with whom,
 * by what weights, and how fast that mixes. */
#include "base/memory.h"
#include "cli.h"
#include "config/keys.h"
#include "report/json.h"
#include "report/report.h"
#include "topology/mixing.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOW_MATRIX 16u   /* workers up to which the matrix is printed for people */
#define JSON_MATRIX 1024u /* and for programs */
#define SHOW_EDGES 200u

/* ---- For people ----------------------------------------------------------------------------- */

static void show_edges(const struct mot_graph *g)
{
    printf("\n  edges");
    for (uint32_t e = 0; e < g->edges && e < SHOW_EDGES; e++)
        printf("%s%u-%u", e % 12 == 0 ? "\n    " : " ", g->edge[e].a, g->edge[e].b);
    if (g->edges > SHOW_EDGES) printf("\n    and %u more; --json lists them all", g->edges - SHOW_EDGES);
    putchar('\n');
}

static void show_matchings(const struct mot_mixing_plan *p)
{
    const struct mot_graph *g = &p->graph;
    printf("\n  matchings, and the chance that a round uses them\n");
    for (uint32_t j = 0; j < p->mixing.matchings; j++) {
        printf("    %.4f ", p->chance[j]);
        for (uint32_t e = 0; e < g->edges; e++)
            if (g->matching[e] == j) printf(" %u-%u", g->edge[e].a, g->edge[e].b);
        putchar('\n');
    }
}

static void show_matrix(const struct mot_mixing_plan *p)
{
    uint32_t n = p->graph.nodes;
    if (n > SHOW_MATRIX) {
        printf("\n  The mixing matrix is printed for up to %u workers; --json has it for up to %u.\n",
            SHOW_MATRIX, JSON_MATRIX);
        return;
    }
    double *w = mot_mixing_matrix(p);
    printf("\n  mixing matrix%s\n", p->mixing.matchings ? ", all matchings being used" : "");
    for (uint32_t i = 0; i < n; i++) {
        printf("   ");
        for (uint32_t k = 0; k < n; k++)
            if (w[i * n + k] == 0) printf("       .");
            else printf(" %7.4f", w[i * n + k]);
        putchar('\n');
    }
    free(w);
}

static void show_degrees(const struct mot_graph *g)
{
    uint32_t least = UINT32_MAX, most = mot_graph_degree_max(g);
    for (uint32_t i = 0; i < g->nodes; i++)
        if (mot_graph_degree(g, i) < least) least = mot_graph_degree(g, i);
    if (least == most) printf("%u neighbours each", most);
    else printf("%u to %u neighbours", least, most);
}

static void show_text(const struct mot_experiment *x, const struct mot_mixing_plan *p)
{
    const struct mot_graph *g = &p->graph;
    /* Drawn matchings: the norm is that of the mean square. */
    double left = p->mixing.matchings ? sqrt(p->norm) : p->norm;
    printf("%s: %u workers, %u edges, ", x->topology->name, g->nodes, g->edges);
    show_degrees(g);
    printf(", diameter %u\n", mot_graph_diameter(g));
    if (!isnan(p->alpha))
        printf("  weights    %.6g for every edge; eigenvalues of the %sLaplacian %.6g to %.6g\n", p->alpha,
            p->mixing.matchings ? "mean " : "", p->second, p->greatest);
    else puts("  weights    by edge: see the matrix");
    printf("  gap        %.6g%s: a round leaves %s%.3g %% of a disagreement", 1 - left,
        p->exact ? "" : " at the most", p->exact ? "at most " : "about ", 100 * left);
    if (left > 0) printf(", %.0f rounds leave a tenth", ceil(log(0.1) / log(left) - 1e-9));
    putchar('\n');
    if (!isnan(p->least))
        printf("  steps      are stable while the learning rate times the curvature stays below %.4g, 1 + "
               "the least eigenvalue of W\n",
            1 + p->least);
    if (p->own_least < -1e-12 && !p->mixing.matchings)
        printf("  negative   the least weight of a worker's own model is %.4g; weights: metropolis has none "
               "below 0\n",
            p->own_least);
    show_edges(g);
    if (p->mixing.matchings) show_matchings(p);
    show_matrix(p);
}

/* ---- For programs ------------------------------------------------------------------------------ */

static json_t *edges_json(const struct mot_graph *g, uint32_t matching)
{
    json_t *list = json_array();
    for (uint32_t e = 0; e < g->edges; e++)
        if (matching == UINT32_MAX || g->matching[e] == matching)
            json_array_append_new(
                list, json_pack("[I, I]", (json_int_t)g->edge[e].a, (json_int_t)g->edge[e].b));
    return list;
}

static json_t *matrix_json(const struct mot_mixing_plan *p)
{
    uint32_t n = p->graph.nodes;
    if (n > JSON_MATRIX) return json_null();
    double *w = mot_mixing_matrix(p);
    json_t *rows = json_array();
    for (uint32_t i = 0; i < n; i++) {
        json_t *row = json_array();
        for (uint32_t k = 0; k < n; k++) json_array_append_new(row, mot_json_number(w[(size_t)i * n + k]));
        json_array_append_new(rows, row);
    }
    free(w);
    return rows;
}

static void show_json(const struct mot_experiment *x, const struct mot_mixing_plan *p)
{
    const struct mot_graph *g = &p->graph;
    json_t *degree = json_array(), *matchings = json_array();
    for (uint32_t i = 0; i < g->nodes; i++)
        json_array_append_new(degree, json_integer(mot_graph_degree(g, i)));
    for (uint32_t j = 0; j < p->mixing.matchings; j++)
        json_array_append_new(matchings,
            json_pack("{s:o, s:o}", "chance", mot_json_number(p->chance[j]), "edges", edges_json(g, j)));
    json_t *all = json_pack("{s:s, s:I, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "topology",
        x->topology->name, "workers", (json_int_t)g->nodes, "edges", edges_json(g, UINT32_MAX), "degree",
        degree, "diameter", (json_int_t)mot_graph_diameter(g), "alpha", mot_json_number(p->alpha),
        "laplacian_second", mot_json_number(p->second), "laplacian_greatest", mot_json_number(p->greatest),
        "norm", mot_json_number(p->norm), "least_eigenvalue", mot_json_number(p->least), "spectral_gap",
        mot_json_number(1 - (p->mixing.matchings ? sqrt(p->norm) : p->norm)), "exact", p->exact, "matrix",
        matrix_json(p));
    if (p->mixing.matchings) json_object_set(all, "matchings", matchings);
    json_decref(matchings);
    mot_json_print(all, stdout);
    json_decref(all);
}

/* ---- The command ----------------------------------------------------------------------------------- */

static enum mot_status run_topology(const struct cli_args *a)
{
    struct mot_part part;
    const char *word = a->words ? a->word[0] : NULL;
    bool is_name = word && mot_family_find(&mot_family_topology, word, &part);
    bool is_file = word && (strchr(word, '.') || strchr(word, '/'));
    /* The name goes first: flags such as --topology-degree belong to it. A word that is no file's name is
     * looked up there too, which knows what was meant. */
    struct mot_setting *setting = mot_new(a->settings + 1, sizeof(*setting));
    size_t n = 0;
    if (word && (is_name || !is_file))
        setting[n++] = (struct mot_setting){ "topology", word, "motley topology" };
    for (size_t i = 0; i < a->settings; i++) setting[n++] = a->setting[i];
    struct mot_experiment *x;
    enum mot_status status = mot_experiment_open(word && !is_name && is_file ? word : NULL, setting, n, &x);
    free(setting);
    if (status != MOT_OK) return status;
    struct mot_mixing_plan plan;
    double budget = x->method->budget ? x->method->budget(x->method_conf) : NAN;
    status = mot_mixing_open(x->topology, &x->topology_conf, x->workers, x->seed, budget, &plan);
    if (status == MOT_OK) {
        mot_mixing_measure(&plan);
        if (a->json) show_json(x, &plan);
        else show_text(x, &plan);
        mot_mixing_close(&plan);
    }
    mot_experiment_close(x);
    return status;
}

const struct cli_command cli_topology = {
    .name = "topology",
    .synopsis = "[NAME | EXPERIMENT.yaml] [--workers N] [--KEY VALUE ...]",
    .summary = "show a topology: edges, mixing matrix, how fast it mixes",
    .about = "Prints the graph over the workers that methods such as dpsgd use: edges, degrees, the mixing "
             "matrix, and its spectral gap, 1 - the norm "
             "of W - J, where J takes the exact mean. The greater the gap, the sooner models agree. NAME is "
             "one of the topologies (motley help "
             "topology lists them); its options are flags: --topology-degree 3.\n"
             "With --method matcha the links are cut into matchings; their chances are printed, and the gap "
             "is that of the mean square. Above 64 "
             "workers all matchings have the same chance, and above 256 eigenvalues are estimates.",
    .examples = "motley topology ring --workers 8\n"
                "motley topology regular --workers 32 --topology-degree 3\n"
                "motley topology rcd --method matcha --method-budget 0.5\n"
                "motley topology edges --topology-list '0-1, 1-2, 2-3, 3-0' --workers 4 --json\n",
    .words_max = 1,
    .experiment_flags = true,
    .prints_only = true,
    .run = run_topology,
};
