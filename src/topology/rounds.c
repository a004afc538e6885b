#include "topology/rounds.h"
#include "base/leaps.h"
#include "base/memory.h"
#include "base/peers.h"
#include "base/rng.h"
#include <stdlib.h>
#include <string.h>

/* ---- Kinds ------------------------------------------------------------------------------------ */

static void draw_leaps(const struct mot_rounds *r, uint64_t round, uint32_t segment, mot_node *from)
{
    uint32_t leaps = mot_leaps(r->nodes), k = 0;
    (void)segment;
    for (uint32_t e = 0; e < leaps; e++) {
        if (!mot_leap_used(e, round, r->peers, leaps)) continue;
        for (uint32_t i = 0; i < r->nodes; i++)
            from[(size_t)i * r->peers + k] = (mot_node)((i + r->nodes - (UINT64_C(1) << e)) % r->nodes);
        k++;
    }
}

static void draw_uniform(const struct mot_rounds *r, uint64_t round, uint32_t segment, mot_node *from)
{
    mot_peers_draw(MOT_PEERS_UNIFORM, r->nodes, r->seed, round, segment, from);
}

static void draw_authors(const struct mot_rounds *r, uint64_t round, uint32_t segment, mot_node *from)
{
    mot_peers_draw(MOT_PEERS_AUTHORS, r->nodes, r->seed, round, segment, from);
}

static void draw_unfair(const struct mot_rounds *r, uint64_t round, uint32_t segment, mot_node *from)
{
    mot_peers_draw(MOT_PEERS_UNFAIR, r->nodes, r->seed, round, segment, from);
}

/* Shuffles the nodes and pairs up neighbours. */
static void draw_matching(const struct mot_rounds *r, uint64_t round, uint32_t segment, mot_node *from)
{
    uint32_t n = r->nodes;
    struct mot_rng rng = mot_rng_at(r->seed, MOT_RNG_PEERS, mot_hash3(round, segment, n));
    mot_node *order = from + n;
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t at = (uint32_t)mot_rng_below(&rng, i);
        mot_node t = order[i - 1];
        order[i - 1] = order[at];
        order[at] = t;
    }
    for (uint32_t i = 0; i + 1 < n; i += 2) {
        from[order[i]] = order[i + 1];
        from[order[i + 1]] = order[i];
    }
    if (n % 2) from[order[n - 1]] = MOT_NO_NODE;
}

static const struct mot_rounds_kind one_peer = { "one-peer",
    "from the worker 1, 2, 4, 8, ... places before it, in turn", false, draw_leaps };
static const struct mot_rounds_kind k_peer = { "k-peer",
    "from several of the workers 1, 2, 4, 8, ... places before it, in turn", false, draw_leaps };
static const struct mot_rounds_kind derangement = { "derangement",
    "from another one, drawn uniformly; nobody sends twice", true, draw_uniform };
static const struct mot_rounds_kind authors = { "derangement-authors",
    "from another one, drawn as in the code of Yeo et al.; nobody sends twice", true, draw_authors };
static const struct mot_rounds_kind unfair = { "unfair",
    "from any other: some send to several, some to nobody", true, draw_unfair };
static const struct mot_rounds_kind matching = { "matching",
    "from its partner in a random pair; if the number is odd, one worker has no partner", true,
    draw_matching };

const struct mot_rounds_kind *const mot_rounds_kinds[] = { &one_peer, &k_peer, &derangement, &authors,
    &unfair, &matching, NULL };

const struct mot_rounds_kind *mot_rounds_find(const char *name)
{
    for (size_t i = 0; mot_rounds_kinds[i]; i++)
        if (strcmp(mot_rounds_kinds[i]->name, name) == 0) return mot_rounds_kinds[i];
    return NULL;
}

enum mot_status mot_rounds_check(const struct mot_rounds *r)
{
    uint32_t most = r->kind == &k_peer ? mot_leaps(r->nodes) : 1;
    if (r->nodes < 2)
        return mot_fail(
            MOT_EUSAGE, "topology %s: expected at least 2 workers; found %u", r->kind->name, r->nodes);
    if (r->peers >= 1 && r->peers <= most) return MOT_OK;
    if (r->kind != &k_peer)
        return mot_fail(MOT_EUSAGE, "--peers: only for k-peer; with %s a worker gets one model in a round",
            r->kind->name);
    return mot_fail(MOT_EUSAGE, "--peers: expected 1 to %u, the places 1, 2, 4, ... of %u workers; found %u",
        most, r->nodes, r->peers);
}

/* ---- Figures -------------------------------------------------------------------------- */

#define DRAWS_MOST 2000u
#define DRAWS_FLOATS 4000000u /* sources drawn in all, about */
#define PATHS_MOST 1024u      /* sequences of rounds that a mixing time is averaged over; fewer if there */
#define PATHS_FLOATS 65536u   /* are many nodes, as these already average over many directions */
#define DIRECTIONS 64u        /* directions of disagreement followed among more than MOT_ROUNDS_DENSE nodes */

struct scratch {
    mot_node *from;   /* [2 * nodes * peers]: a round's sources, and as much scratch for drawing */
    mot_node *all;    /* [segments * nodes]: the sources of every segment */
    double *column;   /* [nodes] */
    uint32_t *number; /* [nodes] */
    double *x, *next; /* [nodes][directions] */
    uint32_t directions;
};

static uint32_t sources(const struct mot_rounds *r, const mot_node *from, uint32_t node)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < r->peers; k++) n += from[(size_t)node * r->peers + k] != MOT_NO_NODE;
    return n;
}

/* The share of a squared disagreement that W leaves, averaged over all directions: |(I - J) W|^2 / (n - 1) in
 * the Frobenius norm, where |(I - J) W|^2 = |W|^2 - the sum of squared column sums / n. */
static double contraction(const struct mot_rounds *r, struct scratch *s)
{
    double squares = 0, columns = 0, n = r->nodes;
    for (uint32_t i = 0; i < r->nodes; i++) s->column[i] = 0;
    for (uint32_t i = 0; i < r->nodes; i++) {
        double weight = 1.0 / (sources(r, s->from, i) + 1);
        squares += weight;
        s->column[i] += weight;
        for (uint32_t k = 0; k < r->peers; k++) {
            mot_node j = s->from[(size_t)i * r->peers + k];
            if (j != MOT_NO_NODE) s->column[j] += weight;
        }
    }
    for (uint32_t i = 0; i < r->nodes; i++) columns += s->column[i] * s->column[i];
    return (squares - columns / n) / (n - 1);
}

static void fan_out(const struct mot_rounds *r, struct scratch *s, double *mean, double *most)
{
    uint32_t sum = 0, largest = 0;
    for (uint32_t i = 0; i < r->nodes; i++) s->number[i] = 0;
    for (size_t k = 0; k < (size_t)r->nodes * r->peers; k++)
        if (s->from[k] != MOT_NO_NODE) s->number[s->from[k]]++;
    for (uint32_t i = 0; i < r->nodes; i++) {
        sum += s->number[i];
        if (s->number[i] > largest) largest = s->number[i];
    }
    *mean += (double)sum / r->nodes;
    *most += largest;
}

/* For random kinds, in which each node has one source per segment. */
static double reach(const struct mot_rounds *r, struct scratch *s, uint64_t round, uint32_t segments)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < segments; k++) {
        r->kind->draw(r, round, k, s->from);
        memcpy(s->all + (size_t)k * r->nodes, s->from, r->nodes * sizeof(mot_node));
    }
    for (uint32_t i = 0; i < r->nodes; i++) s->number[i] = UINT32_MAX;
    for (uint32_t i = 0; i < r->nodes; i++) {
        s->number[i] = i; /* number[j] = i: node i has something of node j */
        sum++;
        for (uint32_t k = 0; k < segments; k++) {
            mot_node j = s->all[(size_t)k * r->nodes + i];
            if (j == MOT_NO_NODE || s->number[j] == i) continue;
            s->number[j] = i;
            sum++;
        }
    }
    return (double)sum / r->nodes;
}

static double disagreement(const struct mot_rounds *r, const struct scratch *s)
{
    double sum = 0;
    for (uint32_t d = 0; d < s->directions; d++) {
        double mean = 0;
        for (uint32_t i = 0; i < r->nodes; i++) mean += s->x[(size_t)i * s->directions + d];
        mean /= r->nodes;
        for (uint32_t i = 0; i < r->nodes; i++) {
            double off = s->x[(size_t)i * s->directions + d] - mean;
            sum += off * off;
        }
    }
    return sum;
}

/* Starts from one direction for each node, or from random ones. */
static void disagree(const struct mot_rounds *r, struct scratch *s)
{
    struct mot_rng rng = mot_rng_at(r->seed, MOT_RNG_PEERS, r->nodes);
    for (uint32_t i = 0; i < r->nodes; i++)
        for (uint32_t d = 0; d < s->directions; d++)
            s->x[(size_t)i * s->directions + d] =
                s->directions == r->nodes ? i == d : mot_rng_unit(&rng) - mot_rng_unit(&rng);
}

static void mix(const struct mot_rounds *r, struct scratch *s)
{
    for (uint32_t i = 0; i < r->nodes; i++) {
        double *to = s->next + (size_t)i * s->directions, weight = 1.0 / (sources(r, s->from, i) + 1);
        memcpy(to, s->x + (size_t)i * s->directions, s->directions * sizeof(double));
        for (uint32_t k = 0; k < r->peers; k++) {
            mot_node j = s->from[(size_t)i * r->peers + k];
            for (uint32_t d = 0; j != MOT_NO_NODE && d < s->directions; d++)
                to[d] += s->x[(size_t)j * s->directions + d];
        }
        for (uint32_t d = 0; d < s->directions; d++) to[d] *= weight;
    }
    double *x = s->x;
    s->x = s->next;
    s->next = x;
}

/* Adds to left[] what remains after round 0, 1, ... of one sequence; returns the number of rounds after which
 * too little remained to matter. */
static uint32_t follow(const struct mot_rounds *r, struct scratch *s, uint64_t path, double *left)
{
    disagree(r, s);
    double begun = disagreement(r, s);
    for (uint32_t t = 0; t < MOT_MIXING_MOST; t++) {
        r->kind->draw(r, (path << 32) + t, 0, s->from);
        mix(r, s);
        double now = disagreement(r, s) / begun;
        left[t] += now;
        if (now < 1e-3 * MOT_MIXED) return t + 1;
    }
    return MOT_MIXING_MOST;
}

static uint32_t mixing_time(const struct mot_rounds *r, struct scratch *s, double *left)
{
    uint64_t paths = PATHS_FLOATS / ((uint64_t)r->nodes * s->directions);
    uint32_t longest = 0;
    paths = !r->kind->random ? 1 : paths > PATHS_MOST ? PATHS_MOST : paths < 4 ? 4 : paths;
    for (uint32_t p = 0; p < paths; p++) {
        uint32_t rounds = follow(r, s, p, left);
        if (rounds > longest) longest = rounds;
    }
    for (uint32_t t = 0; t < longest; t++)
        if (left[t] <= (double)paths * MOT_MIXED) return t + 1;
    return 0;
}

static uint32_t draws_of(const struct mot_rounds *r, uint32_t segments)
{
    uint64_t each = (uint64_t)r->nodes * (r->kind->random ? segments : r->peers), draws = DRAWS_FLOATS / each;
    if (!r->kind->random) return mot_leaps(r->nodes); /* one whole cycle */
    return draws > DRAWS_MOST ? DRAWS_MOST : draws < 8 ? 8 : (uint32_t)draws;
}

static void figures(
    const struct mot_rounds *r, uint32_t segments, struct scratch *s, struct mot_rounds_figures *f)
{
    uint32_t draws = draws_of(r, segments);
    for (uint32_t t = 0; t < draws; t++) {
        r->kind->draw(r, t, 0, s->from);
        f->contraction += contraction(r, s) / draws;
        fan_out(r, s, &f->fan_out, &f->fan_out_most);
        f->reach += (r->kind->random ? reach(r, s, t, segments) : 1 + r->peers) / draws;
    }
    f->fan_out /= draws;
    f->fan_out_most /= draws;
}

enum mot_status mot_rounds_measure(
    const struct mot_rounds *r, uint32_t segments, struct mot_rounds_figures *out)
{
    uint32_t n = r->nodes, directions = n <= MOT_ROUNDS_DENSE ? n : DIRECTIONS;
    size_t floats = (size_t)n * directions;
    struct scratch s = { mot_new_large(2 * (size_t)n * r->peers, sizeof(mot_node)),
        mot_new_large((size_t)segments * n, sizeof(mot_node)), mot_new_large(n, sizeof(double)),
        mot_new_large(n, sizeof(uint32_t)), mot_new_large(floats, sizeof(double)),
        mot_new_large(floats, sizeof(double)), directions };
    double *left = mot_new_large(MOT_MIXING_MOST, sizeof(double));
    if (s.from && s.all && s.column && s.number && s.x && s.next && left) {
        struct mot_rounds_figures f = { 0 };
        figures(r, segments, &s, &f);
        f.mixing = mixing_time(r, &s, left);
        *out = f;
    }
    free(s.from);
    free(s.all);
    free(s.column);
    free(s.number);
    free(s.x);
    free(s.next);
    free(left);
    return mot_memory_status();
}
