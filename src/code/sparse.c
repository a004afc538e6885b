/* sparse.c -- approximate codes: sparse matrices that cope with some missing rows.
 *
 * - expander: Raviv, Tamo, Tandon and Dimakis, Gradient Coding from Cyclic MDS Codes and Expander Graphs,
 *   2018
 * - bernoulli, regularised: Charles, Papailiopoulos and Ellenberg, Approximate Gradient Coding via Sparse
 *   Random Graphs, 2017
 * - graph: Glasgow and Wootters, Approximate Gradient Coding with Optimal Decoding, 2021 */
#include "base/memory.h"
#include "base/rng.h"
#include "code/codes.h"
#include "topology/topology.h"
#include <stdlib.h>
#include <string.h>

/* ---- Regular graphs ------------------------------------------------------------------------------- */

static enum mot_status regular(uint32_t nodes, uint32_t degree, uint64_t seed, struct mot_graph *out)
{
    const struct mot_topology_conf conf = { .degree = degree, .seed = MOT_WORD_UINT };
    double *w = NULL;
    size_t i = 0;
    while (strcmp(mot_topologies[i]->name, "regular") != 0) i++;
    enum mot_status status =
        mot_topology_build(mot_topologies[i], &conf, nodes, mot_hash3(seed, MOT_RNG_CODE, 0), out, &w);
    free(w);
    return status;
}

static bool is_regular(uint64_t nodes, uint64_t degree)
{
    return degree < nodes && degree >= 2 && nodes * degree % 2 == 0;
}

/* Worker i holds the parts of its neighbours. */
static enum mot_status build_expander(const struct mot_code_spec *s, struct mot_draft *d)
{
    struct mot_graph g;
    uint64_t load = s->load ? s->load : 3;
    if (!is_regular(s->workers, load))
        return mot_fail(MOT_EUSAGE,
            "code expander: no graph of %u workers has %llu neighbours each; expected a load from 2 to %u, "
            "and an even "
            "one if the number of workers is odd",
            s->workers, (unsigned long long)load, s->workers - 1);
    enum mot_status status = mot_draft_expect(d, s->workers * load);
    if (status == MOT_OK) status = regular(s->workers, (uint32_t)load, s->seed, &g);
    if (status != MOT_OK) return status;
    for (uint32_t i = 0; i < g.nodes; i++)
        for (uint32_t k = g.at[i]; k < g.at[i + 1]; k++)
            mot_draft_add(d, i, g.link[k].node, 1.0 / (double)load);
    mot_graph_close(&g);
    d->code.parts = s->workers;
    d->code.leap = (uint32_t)load;
    d->code.row_sum = 1;
    return MOT_OK;
}

/* The smallest degree, 3 or more, of a regular graph with this many edges; 0: there is none. */
static uint64_t degree_for(uint64_t edges)
{
    for (uint64_t k = 3; k * k < 2 * edges; k++)
        if (2 * edges % k == 0) return k;
    return 0;
}

/* Parts are vertices, workers are edges. */
static enum mot_status build_graph(const struct mot_code_spec *s, struct mot_draft *d)
{
    struct mot_graph g;
    uint64_t degree = s->degree ? s->degree : degree_for(s->workers), ends = 2 * (uint64_t)s->workers;
    if (!degree) {
        uint32_t fits = s->workers + 1;
        while (!degree_for(fits)) fits++;
        return mot_fail(MOT_EUSAGE,
            "code graph: no regular graph of degree 3 or more has as many edges as there are workers (%u); "
            "expected another number of workers, such as %u",
            s->workers, fits);
    }
    if (ends % degree != 0 || !is_regular(ends / degree, degree))
        return mot_fail(MOT_EUSAGE,
            "code.degree: no graph with %u edges, one per worker, gives every part the degree %llu; expected "
            "a degree from 2 that divides %llu more than %llu times",
            s->workers, (unsigned long long)degree, (unsigned long long)ends, (unsigned long long)degree);
    enum mot_status status = regular((uint32_t)(ends / degree), (uint32_t)degree, s->seed, &g);
    if (status != MOT_OK) return status;
    for (uint32_t e = 0; e < g.edges; e++) {
        mot_draft_add(d, e, g.edge[e].a, 1);
        mot_draft_add(d, e, g.edge[e].b, 1);
    }
    d->code.parts = g.nodes;
    d->code.leap = (uint32_t)degree;
    d->code.row_sum = 2;
    mot_graph_close(&g);
    return MOT_OK;
}

/* ---- Matrices with random entries -------------------------------------------------------------------- */

/* Jumping from entry to entry within a row would be faster, but nobody notices 10^8 draws. */
static enum mot_status build_random(const struct mot_code_spec *s, struct mot_draft *d, bool trims)
{
    uint64_t load = s->load ? s->load : 3;
    uint32_t parts = d->code.parts;
    if (load > parts)
        return mot_fail(MOT_EUSAGE, "code.load: found %llu; expected at most the %u parts there are",
            (unsigned long long)load, parts);
    enum mot_status status = mot_draft_expect(d, s->workers * load);
    if (status != MOT_OK) return status;
    uint32_t *drawn = mot_new(parts, sizeof(*drawn));
    for (uint32_t r = 0; r < s->workers; r++) {
        struct mot_rng rng = mot_rng_at(s->seed, MOT_RNG_CODE, r);
        uint32_t n = 0;
        for (uint32_t j = 0; j < parts; j++)
            if (mot_rng_below(&rng, parts) < load) drawn[n++] = j;
        /* Whoever drew nothing would have no work. */
        if (n == 0) drawn[n++] = (uint32_t)mot_rng_below(&rng, parts);
        for (; trims && n > 2 * load; n--) drawn[mot_rng_below(&rng, n)] = drawn[n - 1];
        for (uint32_t k = 0; k < n; k++) mot_draft_add(d, r, drawn[k], 1);
    }
    free(drawn);
    d->code.leap = load < s->workers ? (uint32_t)load : 1;
    d->code.row_sum = (double)load;
    return MOT_OK;
}

static enum mot_status build_bernoulli(const struct mot_code_spec *s, struct mot_draft *d)
{
    return build_random(s, d, false);
}
static enum mot_status build_regularised(const struct mot_code_spec *s, struct mot_draft *d)
{
    return build_random(s, d, true);
}

/* ---- The table ---------------------------------------------------------------------------------------- */

static const struct mot_option expander_options[] = { MOT_CODE_LOAD("parts that each worker holds"),
    MOT_CODE_DECODER, { .name = NULL } };
static const struct mot_option graph_options[] = {
    { .name = "degree",
        .type = MOT_OPT_UINT,
        .offset = MOT_CODE_FIELD(degree),
        .preset = "0",
        .min = 0,
        .max = MOT_CODE_MOST,
        .doc = "workers that hold each part; 0: the smallest number from 3 that fits" },
    MOT_CODE_DECODER, { .name = NULL }
};
static const struct mot_option random_options[] = { MOT_CODE_LOAD(
                                                        "parts that each worker holds, in the mean"),
    MOT_CODE_PARTS("parts of the data; 0: as many as workers"), MOT_CODE_DECODER, { .name = NULL } };

const struct mot_code_kind mot_code_expander = { "expander",
    "approximate: the parts of a worker's neighbours in a random regular graph", expander_options,
    MOT_DECODER_OPTIMAL, build_expander };
const struct mot_code_kind mot_code_graph = { "graph",
    "approximate: two parts each, the ends of an edge; decodes in linear time", graph_options,
    MOT_DECODER_COMPONENT, build_graph };
const struct mot_code_kind mot_code_bernoulli = { "bernoulli",
    "approximate: each worker draws its parts by lot (BGC)", random_options, MOT_DECODER_OPTIMAL,
    build_bernoulli };
const struct mot_code_kind mot_code_regularised = { "regularised",
    "the same, but no worker holds more than twice the mean (rBGC)", random_options, MOT_DECODER_OPTIMAL,
    build_regularised };
