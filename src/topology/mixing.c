#include "topology/mixing.h"
#include "base/memory.h"
#include "base/rng.h"
#include "topology/eigen.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANCZOS_STEPS 100u

/* ---- Matrices ------------------------------------------------------------------------------ */

void mot_laplacian(const struct mot_graph *g, const double *chance, double *l)
{
    memset(l, 0, (size_t)g->nodes * g->nodes * sizeof(*l));
    for (uint32_t e = 0; e < g->edges; e++) {
        size_t a = g->edge[e].a, b = g->edge[e].b;
        double weight = chance ? chance[g->matching[e]] : 1;
        l[a * g->nodes + a] += weight;
        l[b * g->nodes + b] += weight;
        l[a * g->nodes + b] -= weight;
        l[b * g->nodes + a] -= weight;
    }
}

double *mot_mixing_matrix(const struct mot_mixing_plan *p)
{
    uint32_t n = p->graph.nodes;
    double *w = mot_new_large((size_t)n * n, sizeof(*w));
    for (uint32_t i = 0; w && i < n; i++) {
        double others = 0;
        for (uint32_t k = p->at[i]; k < p->at[i + 1]; k++) {
            w[(size_t)i * n + p->near[k].node] = p->near[k].weight;
            others += p->near[k].weight;
        }
        w[(size_t)i * n + i] = 1 - others;
    }
    return w;
}

/* y = x - W x: the Laplacian with the plan's weights. */
static void apply(const void *self, const double *x, double *y)
{
    const struct mot_mixing_plan *p = self;
    for (uint32_t i = 0; i < p->graph.nodes; i++) {
        double sum = 0;
        for (uint32_t k = p->at[i]; k < p->at[i + 1]; k++)
            sum += p->near[k].weight * (x[i] - x[p->near[k].node]);
        y[i] = sum;
    }
}

/* The extreme eigenvalues of I - W on disagreements, for the plan's current weights. */
static void extremes(struct mot_mixing_plan *p, double *least, double *greatest)
{
    uint32_t n = p->graph.nodes;
    p->exact = n <= MOT_DENSE_MOST;
    if (!p->exact) {
        mot_extremes(n, apply, p, LANCZOS_STEPS, least, greatest);
        return;
    }
    double *a = mot_mixing_matrix(p);
    if (!a) {
        *least = *greatest = 0;
        return;
    }
    double *values = mot_new(n, sizeof(*values));
    for (size_t i = 0; i < (size_t)n * n; i++) a[i] = (i % n == i / n ? 1 : 0) - a[i];
    mot_eigen(n, a, values, NULL);
    /* The constant vector's 0 is the smallest, unless a user's matrix drives models apart. */
    uint32_t zero = 0;
    for (uint32_t i = 1; i < n; i++)
        if (fabs(values[i]) < fabs(values[zero])) zero = i;
    *least = values[zero == 0 && n > 1 ? 1 : 0];
    *greatest = values[zero == n - 1 && n > 1 ? n - 2 : n - 1];
    free(values);
    free(a);
}

/* ---- Weights ---------------------------------------------------------------------------------- */

static enum mot_status list_near(struct mot_mixing_plan *p)
{
    const struct mot_graph *g = &p->graph;
    p->at = mot_new_large((size_t)g->nodes + 1, sizeof(*p->at));
    p->near = mot_new_large(2 * (size_t)g->edges + 1, sizeof(*p->near));
    if (!p->at || !p->near) return mot_memory_status();
    memcpy(p->at, g->at, ((size_t)g->nodes + 1) * sizeof(*p->at));
    for (uint32_t k = 0; k < 2 * g->edges; k++)
        p->near[k] = (struct mot_near){
            .node = g->link[k].node, .matching = g->matching ? g->matching[g->link[k].edge] : 0, .weight = 1
        };
    return MOT_OK;
}

static void set_weights(struct mot_mixing_plan *p, double weight)
{
    for (uint32_t k = 0; k < 2 * p->graph.edges; k++) p->near[k].weight = weight;
}

static void weigh_metropolis(struct mot_mixing_plan *p)
{
    const struct mot_graph *g = &p->graph;
    for (uint32_t i = 0; i < g->nodes; i++)
        for (uint32_t k = p->at[i]; k < p->at[i + 1]; k++) {
            uint32_t mine = mot_graph_degree(g, i), other = mot_graph_degree(g, p->near[k].node);
            p->near[k].weight = 1.0 / (1 + (mine > other ? mine : other));
        }
}

static void weigh_file(struct mot_mixing_plan *p, const double *w)
{
    for (uint32_t i = 0; i < p->graph.nodes; i++)
        for (uint32_t k = p->at[i]; k < p->at[i + 1]; k++)
            p->near[k].weight = w[(size_t)i * p->graph.nodes + p->near[k].node];
}

/* What is left of a disagreement after a round, from the extreme eigenvalues of I - W. */
static void set_norm(struct mot_mixing_plan *p, double least, double greatest)
{
    p->least = p->graph.nodes > 1 ? 1 - greatest : 1;
    p->norm = p->graph.nodes > 1 ? fmax(fabs(1 - least), fabs(1 - greatest)) : 0;
}

void mot_mixing_measure(struct mot_mixing_plan *p)
{
    double least, greatest;
    if (!isnan(p->norm)) return;
    struct mot_mixing_plan plain = *p; /* the graph's own Laplacian: all weights 1 */
    plain.near = mot_new_large(2 * (size_t)p->graph.edges + 1, sizeof(*plain.near));
    if (!plain.near) return;
    memcpy(plain.near, p->near, 2 * (size_t)p->graph.edges * sizeof(*plain.near));
    set_weights(&plain, 1);
    extremes(&plain, &p->second, &p->greatest);
    free(plain.near);
    extremes(p, &least, &greatest);
    set_norm(p, least, greatest);
}

static enum mot_status weigh_all(struct mot_mixing_plan *p, const struct mot_topology *kind,
    const struct mot_topology_conf *conf, const double *w, double budget)
{
    if (!isnan(budget) || (!w && conf->weights == MOT_WEIGHTS_LAPLACIAN)) {
        extremes(p, &p->second, &p->greatest); /* with weights of 1 */
        set_weights(p, p->alpha = p->graph.nodes > 1 ? 2 / (p->second + p->greatest) : 0);
        set_norm(p, p->alpha * p->second, p->alpha * p->greatest);
    } else if (w) {
        weigh_file(p, w);
        mot_mixing_measure(p);
    } else {
        /* The graph is connected and every worker keeps a weight of its own, so models converge at some rate.
         * The eigenvalues only inform people, and would take longer than the rest of a run's start. */
        weigh_metropolis(p);
        return MOT_OK;
    }
    if (mot_memory_refused()) return mot_memory_status();
    if (p->norm < 1 - 1e-12) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "topology %s: averaging with these weights does not bring the workers' models together (the norm of "
        "W - J is %.6g; expected less than 1)",
        kind->name, p->norm);
}

static enum mot_status weigh_matchings(struct mot_mixing_plan *p, const struct mot_topology *kind,
    const struct mot_topology_conf *conf, const double *w, double budget)
{
    struct mot_graph *g = &p->graph;
    if (w)
        return mot_fail(MOT_EUSAGE,
            "topology %s: a method with random matchings has weights of its own; expected a graph",
            kind->name);
    enum mot_status status = mot_graph_cut(g);
    if (status == MOT_OK) status = list_near(p);
    if (status != MOT_OK) return status;
    p->chance = mot_new((size_t)g->matchings + 1, sizeof(*p->chance));
    p->mixing.matchings = g->matchings;
    if (!(budget < 1) || g->nodes < 2) { /* nothing is left to chance: D-PSGD */
        for (uint32_t j = 0; j < g->matchings; j++) p->chance[j] = 1;
        status = weigh_all(p, kind, conf, NULL, budget);
        p->norm *= p->norm; /* W'W is W squared */
        return status;
    }
    if (g->nodes > MOT_CLIMB_MOST) {
        double second, greatest;
        extremes(p, &second, &greatest);
        for (uint32_t j = 0; j < g->matchings; j++) p->chance[j] = budget;
        set_weights(p, p->alpha = mot_matcha_alpha_uniform(budget, second, greatest, &p->norm));
        p->second = budget * second;
        p->greatest = budget * greatest;
        return MOT_OK;
    }
    _Static_assert(MOT_CLIMB_MOST * MOT_CLIMB_MOST * sizeof(double) <= 64u << 10, "small enough for mot_new");
    double *l = mot_new((size_t)g->nodes * g->nodes, sizeof(*l)),
           *values = mot_new(g->nodes, sizeof(*values));
    mot_matcha_chances(g, budget, p->chance);
    mot_laplacian(g, p->chance, l);
    mot_eigen(g->nodes, l, values, NULL);
    p->second = values[1];
    p->greatest = values[g->nodes - 1];
    p->exact = true;
    set_weights(p, p->alpha = mot_matcha_alpha(g, p->chance, &p->norm));
    free(values);
    free(l);
    return MOT_OK;
}

/* ---- Sides ---------------------------------------------------------------------------------------- */

/* Puts every node on the opposite side to its neighbours, beginning with node 0, which reaches all. NULL if
 * some cycle is odd. */
static unsigned char *sides_of(const struct mot_mixing_plan *p)
{
    enum { UNKNOWN = 2 };
    uint32_t n = p->graph.nodes, todo = 1, zeros = 0;
    unsigned char *side = mot_new_large(n, 1);
    uint32_t *stack = mot_new_large(n, sizeof(*stack)); /* node 0 is the first */
    bool odd = !side || !stack;
    for (uint32_t i = 1; !odd && i < n; i++) side[i] = UNKNOWN;
    while (!odd && todo) {
        uint32_t i = stack[--todo];
        zeros += side[i] == 0;
        for (uint32_t k = p->at[i]; k < p->at[i + 1]; k++) {
            uint32_t other = p->near[k].node;
            odd |= side[other] == side[i];
            if (side[other] != UNKNOWN) continue;
            side[other] = !side[i];
            stack[todo++] = other;
        }
    }
    for (uint32_t i = 0; !odd && zeros < n - zeros && i < n; i++) side[i] = !side[i];
    free(stack);
    if (!odd) return side;
    free(side);
    return NULL;
}

/* ---- The whole ---------------------------------------------------------------------------------- */

static double least_own(const struct mot_mixing_plan *p)
{
    double least = 1;
    for (uint32_t i = 0; i < p->graph.nodes; i++) {
        double own = 1;
        for (uint32_t k = p->at[i]; k < p->at[i + 1]; k++) own -= p->near[k].weight;
        if (own < least) least = own;
    }
    return least;
}

enum mot_status mot_mixing_open(const struct mot_topology *kind, const struct mot_topology_conf *conf,
    uint32_t nodes, uint64_t seed, double budget, struct mot_mixing_plan *out)
{
    struct mot_mixing_plan p = { .alpha = NAN, .second = NAN, .greatest = NAN, .least = NAN, .norm = NAN };
    double *w = NULL;
    enum mot_status status = mot_topology_build(kind, conf, nodes, seed, &p.graph, &w);
    if (status != MOT_OK) return status;
    if (isnan(budget)) {
        status = list_near(&p);
        if (status == MOT_OK) status = weigh_all(&p, kind, conf, w, budget);
    } else {
        status = weigh_matchings(&p, kind, conf, w, budget);
    }
    free(w);
    if (status == MOT_OK) status = mot_memory_status();
    if (status != MOT_OK) {
        mot_mixing_close(&p);
        return status;
    }
    p.own_least = least_own(&p);
    p.mixing.side = p.side = sides_of(&p);
    p.mixing.at = p.at;
    p.mixing.near = p.near;
    p.mixing.chance = p.chance;
    *out = p;
    return MOT_OK;
}

void mot_mixing_close(struct mot_mixing_plan *p)
{
    mot_graph_close(&p->graph);
    free(p->at);
    free(p->near);
    free(p->chance);
    free(p->side);
    *p = (struct mot_mixing_plan){ 0 };
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

uint64_t mot_mixing_hash(const struct mot_mixing_plan *p)
{
    uint64_t hash = p->graph.nodes;
    for (uint32_t i = 0; i < p->graph.nodes; i++)
        for (uint32_t k = p->at[i]; k < p->at[i + 1]; k++) {
            const struct mot_near *near = &p->near[k];
            hash = mot_hash3(hash, (uint64_t)i << 32 | near->node, bits_of(near->weight) ^ near->matching);
        }
    for (uint32_t j = 0; j < p->mixing.matchings; j++) hash = mot_hash3(hash, j, bits_of(p->chance[j]));
    return hash;
}
