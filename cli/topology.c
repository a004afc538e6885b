/* topology.c -- `motley topology`: who exchanges models with whom, with which weights, how fast it mixes. */
#include "base/memory.h"
#include "cli.h"
#include "config/keys.h"
#include "report/json.h"
#include "report/report.h"
#include "topology/mixing.h"
#include "topology/rounds.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOW_MATRIX 16u   /* the most workers for which the text shows the matrix */
#define JSON_MATRIX 1024u /* and the JSON */
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
    printf("\n  matchings, each with the probability that a round uses it\n");
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
        printf("\n  The mixing matrix is shown for up to %u workers, with --json for up to %u.\n",
            SHOW_MATRIX, JSON_MATRIX);
        return;
    }
    double *w = mot_mixing_matrix(p);
    if (!w) return; /* out of memory: main says so */
    printf("\n  mixing matrix%s\n", p->mixing.matchings ? " with all matchings in use" : "");
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

/* Rounds until a millionth of any squared disagreement is left; 0: never. */
static double mixing_rounds(double left)
{
    if (!(left < 1)) return 0;
    return left * left <= MOT_MIXED ? 1 : ceil(log(MOT_MIXED) / (2 * log(left)) - 1e-9);
}

static void show_mixing_time(const struct mot_mixing_plan *p, double left)
{
    double rounds = mixing_rounds(left);
    if (rounds > 0)
        printf("  mixing     %s%.0f round%s a millionth of any squared disagreement%s\n",
            p->exact ? "" : "about ", rounds, rounds > 1 ? "s leave" : " leaves",
            p->mixing.matchings ? ", on average" : "");
}

static void show_text(const struct mot_experiment *x, const struct mot_mixing_plan *p)
{
    const struct mot_graph *g = &p->graph;
    /* With random matchings `norm` is that of the mean square. */
    double left = p->mixing.matchings ? sqrt(p->norm) : p->norm;
    printf("%s: %u workers, %u edges, ", x->topology->name, g->nodes, g->edges);
    show_degrees(g);
    printf(", diameter %u\n", mot_graph_diameter(g));
    if (!isnan(p->alpha))
        printf("  weights    %.6g for every edge; eigenvalues of the %sLaplacian %.6g to %.6g\n", p->alpha,
            p->mixing.matchings ? "mean " : "", p->second, p->greatest);
    else puts("  weights    by edge: see the matrix");
    printf("  gap        %s%.6g: a round leaves %s%.3g %% of any disagreement", p->exact ? "" : "at most ",
        1 - left, p->exact ? "at most " : "about ", 100 * left);
    if (left > 0) {
        double rounds = ceil(log(0.1) / log(left) - 1e-9);
        printf("; %.0f round%s a tenth", rounds, rounds > 1 ? "s leave" : " leaves");
    }
    putchar('\n');
    show_mixing_time(p, left);
    if (!isnan(p->least))
        printf("  stability  the learning rate times the curvature must stay below %.4g, 1 + the smallest "
               "eigenvalue of W\n",
            1 + p->least);
    if (p->own_least < -1e-12 && !p->mixing.matchings)
        printf("  negative   the smallest weight of a worker's own model is %.4g; weights: metropolis has "
               "none below 0\n",
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
    if (!w) return json_null();
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
    double left = p->mixing.matchings ? sqrt(p->norm) : p->norm, rounds = mixing_rounds(left);
    json_t *all = json_pack("{s:s, s:I, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}",
        "topology", x->topology->name, "workers", (json_int_t)g->nodes, "edges", edges_json(g, UINT32_MAX),
        "degree", degree, "diameter", (json_int_t)mot_graph_diameter(g), "alpha", mot_json_number(p->alpha),
        "laplacian_second", mot_json_number(p->second), "laplacian_greatest", mot_json_number(p->greatest),
        "norm", mot_json_number(p->norm), "least_eigenvalue", mot_json_number(p->least), "spectral_gap",
        mot_json_number(1 - left), "mixing_rounds",
        rounds > 0 ? json_integer((json_int_t)rounds) : json_null(), "exact", p->exact, "matrix",
        matrix_json(p));
    if (p->mixing.matchings) json_object_set(all, "matchings", matchings);
    json_decref(matchings);
    mot_json_print(all, stdout);
    json_decref(all);
}

/* ---- Graphs that change from round to round ------------------------------------------------------- */

static void show_rounds(const struct mot_rounds *r, uint32_t segments, const struct mot_rounds_figures *f)
{
    printf("%s: %u workers; in each round a worker gets %s %s\n", r->kind->name, r->nodes,
        r->peers > 1 ? "models" : "a model", r->kind->summary);
    printf("  contraction  a round leaves %.4g of the squared disagreement, on average\n", f->contraction);
    if (f->mixing)
        printf("  mixing time  %u round%s leave%s a millionth of it\n", f->mixing, f->mixing > 1 ? "s" : "",
            f->mixing > 1 ? "" : "s");
    else printf("  mixing time  more than %u rounds\n", MOT_MIXING_MOST);
    printf("  fan-out      a worker sends to %.3g in a round, the busiest one to %.3g, on average\n",
        f->fan_out, f->fan_out_most);
    if (r->kind->random)
        printf("  reach        after one round a worker has something from %.3g workers, itself included, "
               "with %u segment%s\n",
            f->reach, segments, segments == 1 ? "" : "s");
    else
        printf("  reach        after one round a worker has something from %.3g workers, itself included\n",
            f->reach);
}

static void show_rounds_json(
    const struct mot_rounds *r, uint32_t segments, const struct mot_rounds_figures *f)
{
    json_t *all = json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "topology", r->kind->name,
        "workers", (json_int_t)r->nodes, "peers", (json_int_t)r->peers, "segments", (json_int_t)segments,
        "contraction", mot_json_number(f->contraction), "mixing_rounds",
        f->mixing ? json_integer(f->mixing) : json_null(), "fan_out_mean", mot_json_number(f->fan_out),
        "fan_out_max", mot_json_number(f->fan_out_most), "reach", mot_json_number(f->reach));
    mot_json_print(all, stdout);
    json_decref(all);
}

/* A flag's whole number, at least 1; `preset` without the flag. */
static enum mot_status read_count(
    const struct cli_args *a, const char *flag, uint32_t preset, uint32_t most, uint32_t *out)
{
    const char *text = cli_value(a, flag);
    char *end = NULL;
    unsigned long value = text ? strtoul(text, &end, 10) : preset;
    if (text && (*end || *text < '0' || *text > '9' || value < 1 || value > most))
        return mot_fail(
            MOT_EUSAGE, "--%s: expected a whole number from 1 to %u; found '%.60s'", flag, most, text);
    *out = (uint32_t)value;
    return MOT_OK;
}

static enum mot_status run_rounds(const struct cli_args *a, const struct mot_rounds_kind *kind)
{
    struct mot_experiment *x;
    struct mot_rounds_figures f;
    uint32_t segments = 1, peers = 1;
    enum mot_status status = read_count(a, "segments", 1, 100000, &segments);
    if (status == MOT_OK)
        status = read_count(a, "peers", strcmp(kind->name, "k-peer") == 0 ? 2 : 1, 64, &peers);
    if (status == MOT_OK && !kind->random && cli_given(a, "segments"))
        status = mot_fail(MOT_EUSAGE, "--segments: %s has the same peers for all segments", kind->name);
    if (status == MOT_OK) status = mot_experiment_open(NULL, a->setting, a->settings, &x);
    if (status != MOT_OK) return status;
    struct mot_rounds r = { kind, x->workers, peers, x->seed };
    status = mot_rounds_check(&r);
    if (status == MOT_OK) status = mot_rounds_measure(&r, segments, &f);
    if (status == MOT_OK && a->json) show_rounds_json(&r, segments, &f);
    else if (status == MOT_OK) show_rounds(&r, segments, &f);
    mot_experiment_close(x);
    return status;
}

/* ---- The command ----------------------------------------------------------------------------------- */

static enum mot_status run_topology(const struct cli_args *a)
{
    struct mot_choice choice;
    const char *word = a->words ? a->word[0] : NULL;
    const struct mot_rounds_kind *rounds = word ? mot_rounds_find(word) : NULL;
    if (rounds) return run_rounds(a, rounds);
    if (a->givens && (cli_given(a, "peers") || cli_given(a, "segments")))
        return mot_fail(MOT_EUSAGE, "--%s: only for graphs that change from round to round, such as %s",
            cli_given(a, "peers") ? "peers" : "segments", cli_given(a, "peers") ? "k-peer" : "derangement");
    bool is_name = word && mot_family_find(&mot_family_topology, word, &choice);
    bool is_file = word && (strchr(word, '.') || strchr(word, '/'));
    /* The name goes first: flags such as --topology-degree depend on it. A word that is not a file name is
     * looked up as a topology too, which suggests the nearest name. */
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
    status = mot_mixing_open(x->topology, &x->topology_conf, x->workers, x->seed, x->traits.budget, &plan);
    if (status == MOT_OK) {
        mot_mixing_measure(&plan);
        if (a->json) show_json(x, &plan);
        else show_text(x, &plan);
        mot_mixing_close(&plan);
    }
    mot_experiment_close(x);
    return status;
}

static const struct cli_flag flags[] = {
    { "peers", "K", "k-peer: workers that each worker receives from in a round; default: 2" },
    { "segments", "S", "random peers: segments of the model, each with peers of its own; default: 1" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_topology = {
    .name = "topology",
    .synopsis = "[NAME | EXPERIMENT.yaml] [--workers N] [--KEY VALUE ...]",
    .summary = "show a topology: edges, mixing matrix, mixing speed",
    .about = "Prints the graph of workers that methods such as dpsgd use: edges, degrees, the mixing matrix "
             "W, and its spectral gap, 1 - |W - J|, where J takes the exact mean. The larger the gap, the "
             "sooner the models agree. NAME is a topology (motley help topology lists them); its options are "
             "flags: --topology-degree 3.\n"
             "With --method matcha the edges are split into matchings; their probabilities are printed, and "
             "the gap is that of the mean square. Above 64 workers all matchings have the same probability, "
             "and above 256 eigenvalues are estimates.\n"
             "Graphs that change from round to round have no matrix to show: one-peer and k-peer (the "
             "exponential graph in turn, as sgp uses it), derangement, derangement-authors and unfair "
             "(random peers, as crossover uses them), matching (random pairs). For these it prints the share "
             "of the squared disagreement (the sum of squared distances from the mean of all models) that a "
             "round leaves, averaged over its directions and over rounds; the mixing time, the number of "
             "rounds after which that average is a millionth; how many receivers a worker has in a round; "
             "and from how many workers a worker has something after one round, in any segment of its model.",
    .examples = "motley topology ring --workers 8\n"
                "motley topology regular --workers 32 --topology-degree 3\n"
                "motley topology rcd --method matcha --method-budget 0.5\n"
                "motley topology derangement --workers 8 --segments 18\n"
                "motley topology edges --topology-list '0-1, 1-2, 2-3, 3-0' --workers 4 --json\n",
    .flags = flags,
    .words_max = 1,
    .experiment_flags = true,
    .prints_only = true,
    .run = run_topology,
};
