#include "topology/topology.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MOST (1u << 30) /* bytes of an edge list or a matrix */
#define COMPLETE_MOST 8192u  /* nodes: 34 million edges */

/* ---- A list that grows ------------------------------------------------------------------- */

struct edges {
    struct mot_edge *e;
    uint32_t n, room;
};

static void add(struct edges *l, uint32_t a, uint32_t b)
{
    if (a == b) return; /* a ring of one, or an exponential graph's leap that comes home */
    if (l->n == l->room) {
        uint32_t room = l->room ? 2 * l->room : 64;
        struct mot_edge *more = mot_grow_large(l->e, room, sizeof(*more));
        if (!more) return;
        l->e = more;
        l->room = room;
    }
    l->e[l->n++] = (struct mot_edge){ a, b };
}

static enum mot_status done(struct edges *l, uint32_t nodes, struct mot_graph *out)
{
    if (!mot_memory_refused()) return mot_graph_open(nodes, l->e, l->n, out);
    free(l->e);
    return mot_memory_status();
}

/* ---- Kinds -------------------------------------------------------------------------------- */

static enum mot_status build_ring(
    const struct mot_topology_conf *conf, uint32_t nodes, uint64_t seed, struct mot_graph *out, double **w)
{
    struct edges l = { 0 };
    (void)conf;
    (void)seed;
    (void)w;
    for (uint32_t i = 0; i < nodes; i++) add(&l, i, (i + 1) % nodes);
    return done(&l, nodes, out);
}

static enum mot_status build_torus(
    const struct mot_topology_conf *conf, uint32_t nodes, uint64_t seed, struct mot_graph *out, double **w)
{
    struct edges l = { 0 };
    uint32_t rows = 1;
    (void)seed;
    (void)w;
    if (conf->rows != MOT_WORD_UINT) {
        if (conf->rows > nodes || nodes % conf->rows != 0)
            return mot_fail(MOT_EUSAGE, "topology.rows: %u workers cannot form %llu rows of equal length",
                nodes, (unsigned long long)conf->rows);
        rows = (uint32_t)conf->rows;
    } else {
        for (uint32_t r = 1; (uint64_t)r * r <= nodes; r++)
            if (nodes % r == 0) rows = r;
    }
    uint32_t cols = nodes / rows;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < cols; c++) {
            add(&l, r * cols + c, r * cols + (c + 1) % cols);
            add(&l, r * cols + c, (r + 1) % rows * cols + c);
        }
    return done(&l, nodes, out);
}

static enum mot_status build_star(
    const struct mot_topology_conf *conf, uint32_t nodes, uint64_t seed, struct mot_graph *out, double **w)
{
    struct edges l = { 0 };
    (void)conf;
    (void)seed;
    (void)w;
    for (uint32_t i = 1; i < nodes; i++) add(&l, 0, i);
    return done(&l, nodes, out);
}

static enum mot_status build_complete(
    const struct mot_topology_conf *conf, uint32_t nodes, uint64_t seed, struct mot_graph *out, double **w)
{
    struct edges l = { 0 };
    (void)conf;
    (void)seed;
    (void)w;
    if (nodes > COMPLETE_MOST)
        return mot_fail(MOT_EUSAGE,
            "topology: a complete graph of %u workers; expected at most %u: use exponential or regular",
            nodes, COMPLETE_MOST);
    for (uint32_t a = 0; a < nodes; a++)
        for (uint32_t b = a + 1; b < nodes; b++) add(&l, a, b);
    return done(&l, nodes, out);
}

static enum mot_status build_exponential(
    const struct mot_topology_conf *conf, uint32_t nodes, uint64_t seed, struct mot_graph *out, double **w)
{
    struct edges l = { 0 };
    (void)conf;
    (void)seed;
    (void)w;
    for (uint32_t i = 0; i < nodes; i++)
        for (uint64_t leap = 1; leap < nodes; leap *= 2) add(&l, i, (uint32_t)((i + leap) % nodes));
    return done(&l, nodes, out);
}

/* ---- Random regular graphs: a circulant one whose edges exchange their ends at random ------------ */

static int by_ends(const void *x, const void *y)
{
    const struct mot_edge *p = x, *q = y;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

static bool linked(const uint32_t *near, uint32_t degree, uint32_t a, uint32_t b)
{
    for (uint32_t k = 0; k < degree; k++)
        if (near[(size_t)a * degree + k] == b) return true;
    return false;
}

static void relink(uint32_t *near, uint32_t degree, uint32_t a, uint32_t from, uint32_t to)
{
    uint32_t k = 0;
    while (near[(size_t)a * degree + k] != from) k++;
    near[(size_t)a * degree + k] = to;
}

/* Turns a-b, c-d into a-c, b-d, unless that would make a loop or an edge that exists already, as it would if
 * the two share a node. Keeps all degrees. */
static void exchange(struct edges *l, uint32_t *near, uint32_t degree, struct mot_rng *rng)
{
    struct mot_edge *p = &l->e[mot_rng_below(rng, l->n)], *q = &l->e[mot_rng_below(rng, l->n)];
    bool turned = mot_rng_below(rng, 2);
    uint32_t a = p->a, b = p->b, c = turned ? q->b : q->a, d = turned ? q->a : q->b;
    if (a == c || b == d || linked(near, degree, a, c) || linked(near, degree, b, d)) return;
    relink(near, degree, a, b, c);
    relink(near, degree, b, a, d);
    relink(near, degree, c, d, a);
    relink(near, degree, d, c, b);
    *p = (struct mot_edge){ a, c };
    *q = (struct mot_edge){ b, d };
}

static void list_near(const struct edges *l, uint32_t nodes, uint32_t degree, uint32_t *near)
{
    uint32_t *n = mot_new(nodes, sizeof(*n)); /* at most 400 kB */
    for (uint32_t e = 0; e < l->n; e++) {
        struct mot_edge x = l->e[e];
        near[(size_t)x.a * degree + n[x.a]++] = x.b;
        near[(size_t)x.b * degree + n[x.b]++] = x.a;
    }
    free(n);
}

static enum mot_status build_regular(
    const struct mot_topology_conf *conf, uint32_t nodes, uint64_t seed, struct mot_graph *out, double **w)
{
    uint32_t degree = (uint32_t)conf->degree, lonely;
    (void)w;
    if (conf->degree >= nodes || (uint64_t)nodes * degree % 2 != 0 || (degree < 2 && nodes > 2))
        return mot_fail(MOT_EUSAGE,
            "topology.degree: no connected graph of %u workers has %llu neighbours each; expected 2 to %u, "
            "and an even number if the number of workers is odd",
            nodes, (unsigned long long)conf->degree, nodes ? nodes - 1 : 0);
    uint32_t *near = mot_new_large((size_t)nodes * degree + 1, sizeof(*near));
    struct mot_rng rng = mot_rng_at(conf->seed == MOT_WORD_UINT ? seed : conf->seed, MOT_RNG_TOPOLOGY, 1);
    struct edges l = { 0 };
    for (uint32_t leap = 1; leap <= degree / 2; leap++)
        for (uint32_t i = 0; i < nodes; i++) add(&l, i, (i + leap) % nodes);
    for (uint32_t i = 0; degree % 2 && i < nodes / 2; i++) add(&l, i, i + nodes / 2);
    enum mot_status status = mot_memory_status();
    if (status == MOT_OK) {
        qsort(l.e, l.n, sizeof(*l.e), by_ends);
        list_near(&l, nodes, degree, near);
    }
    while (status == MOT_OK) {
        for (uint64_t k = 0; k < 20 * (uint64_t)l.n; k++) exchange(&l, near, degree, &rng);
        struct edges copy = { mot_new_large(l.n, sizeof(*l.e)), l.n, l.n };
        if (copy.e) memcpy(copy.e, l.e, l.n * sizeof(*l.e));
        status = done(&copy, nodes, out);
        if (status != MOT_OK || mot_graph_connected(out, &lonely)) break; /* nearly always the first time */
        mot_graph_close(out);
    }
    free(l.e);
    free(near);
    return status;
}

/* ---- What the user brings ------------------------------------------------------------------------ */

static enum mot_status build_edges(
    const struct mot_topology_conf *conf, uint32_t nodes, uint64_t seed, struct mot_graph *out, double **w)
{
    struct edges l = { 0 };
    unsigned char *bytes = NULL;
    size_t n;
    (void)seed;
    (void)w;
    if (!conf->path == !conf->list)
        return mot_fail(MOT_EUSAGE,
            "topology: expected either 'list', such as [0-1, 1-2], or 'path', a file with one edge per line; "
            "found %s",
            conf->path ? "both" : "neither");
    enum mot_status status = conf->path ? mot_file_read(conf->path, FILE_MOST, &bytes, &n) : MOT_OK;
    if (status == MOT_OK)
        status = mot_edges_parse(conf->path ? conf->path : "topology.list",
            bytes ? (const char *)bytes : conf->list, nodes, &l.e, &l.n);
    free(bytes);
    return status == MOT_OK ? done(&l, nodes, out) : status;
}

static enum mot_status build_matrix(
    const struct mot_topology_conf *conf, uint32_t nodes, uint64_t seed, struct mot_graph *out, double **w)
{
    struct edges l = { 0 };
    unsigned char *bytes;
    size_t n;
    double *matrix;
    (void)seed;
    enum mot_status status = mot_file_read(conf->path, FILE_MOST, &bytes, &n);
    if (status != MOT_OK) return status;
    status = mot_matrix_parse(conf->path, (const char *)bytes, nodes, &matrix);
    free(bytes);
    if (status != MOT_OK) return status;
    status = mot_matrix_settle(conf->path, nodes, matrix);
    if (status != MOT_OK) {
        free(matrix);
        return status;
    }
    for (uint32_t a = 0; a < nodes; a++)
        for (uint32_t b = a + 1; b < nodes; b++)
            if (matrix[(size_t)a * nodes + b] != 0) add(&l, a, b);
    status = done(&l, nodes, out);
    if (status == MOT_OK) *w = matrix;
    else free(matrix);
    return status;
}

/* The graph of He and Dube's experiments, split into the matchings that they give. */
static enum mot_status build_rcd(
    const struct mot_topology_conf *conf, uint32_t nodes, uint64_t seed, struct mot_graph *out, double **w)
{
    static const struct {
        struct mot_edge edge;
        uint32_t matching;
    } paper[] = {
        { { 1, 5 }, 0 },
        { { 6, 7 }, 0 },
        { { 0, 4 }, 0 },
        { { 2, 3 }, 0 },
        { { 1, 7 }, 1 },
        { { 3, 6 }, 1 },
        { { 0, 1 }, 2 },
        { { 3, 7 }, 2 },
        { { 5, 6 }, 2 },
        { { 1, 2 }, 3 },
        { { 0, 7 }, 3 },
        { { 1, 3 }, 4 },
    };
    struct edges l = { 0 };
    (void)conf;
    (void)seed;
    (void)w;
    if (nodes != 8)
        return mot_fail(
            MOT_EUSAGE, "topology: the graph of the RCD-SGD paper has 8 workers; found %u", nodes);
    for (size_t i = 0; i < MOT_COUNT(paper); i++) add(&l, paper[i].edge.a, paper[i].edge.b);
    enum mot_status status = done(&l, nodes, out);
    if (status != MOT_OK) return status;
    out->matchings = 5;
    out->matching = mot_new(out->edges, sizeof(*out->matching));
    for (uint32_t e = 0; e < out->edges; e++)
        for (size_t i = 0; i < MOT_COUNT(paper); i++)
            if (by_ends(&out->edge[e], &paper[i].edge) == 0) out->matching[e] = paper[i].matching;
    return MOT_OK;
}

/* ---- The table -------------------------------------------------------------------------------------- */

#define FIELD(field) offsetof(struct mot_topology_conf, field)
#define WEIGHTS                                                                                              \
    {                                                                                                        \
        .name = "weights", .type = MOT_OPT_CHOICE, .offset = FIELD(weights), .preset = "metropolis",         \
        .choices = "metropolis|laplacian",                                                                   \
        .doc = "the mixing matrix: metropolis gives each edge 1 / (1 + the larger degree of its ends); "     \
               "laplacian is I - a L, with L the graph's Laplacian and a = 2 / (the sum of its second "      \
               "smallest and its largest eigenvalue), which mixes fastest but allows only smaller learning " \
               "rates; matcha has weights of its own"                                                        \
    }

static const struct mot_option plain_options[] = { WEIGHTS, { .name = NULL } };
static const struct mot_option torus_options[] = {
    { .name = "rows",
        .type = MOT_OPT_UINT,
        .offset = FIELD(rows),
        .preset = "auto",
        .word = "auto",
        .min = 1,
        .max = 1e5,
        .doc = "rows of the grid, a divisor of the number of workers; auto: as close to square as possible" },
    WEIGHTS,
    { .name = NULL },
};
static const struct mot_option regular_options[] = {
    { .name = "degree",
        .type = MOT_OPT_UINT,
        .offset = FIELD(degree),
        .preset = "4",
        .min = 1,
        .max = 1e3,
        .doc = "neighbours of every worker" },
    { .name = "seed",
        .type = MOT_OPT_UINT,
        .offset = FIELD(seed),
        .preset = "run",
        .word = "run",
        .doc = "the seed of the graph; run: the run's own seed" },
    WEIGHTS,
    { .name = NULL },
};
static const struct mot_option edges_options[] = {
    { .name = "list",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(list),
        .preset = "none",
        .word = "none",
        .doc = "the edges: [0-1, 1-2, 2-0]" },
    { .name = "path",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(path),
        .preset = "none",
        .word = "none",
        .doc = "a file with one edge per line, such as '0 1'" },
    WEIGHTS,
    { .name = NULL },
};
static const struct mot_option matrix_options[] = {
    { .name = "path",
        .type = MOT_OPT_TEXT,
        .offset = FIELD(path),
        .preset = NULL,
        .doc = "a file with the mixing matrix, one row per line: symmetric, each row adding up to 1" },
    { .name = NULL },
};

static const struct mot_topology ring = { "ring", "each worker with the ones before and after it",
    plain_options, build_ring };
static const struct mot_topology torus = { "torus", "a grid that wraps around: four neighbours",
    torus_options, build_torus };
static const struct mot_topology star = { "star", "every worker with worker 0", plain_options, build_star };
static const struct mot_topology complete = { "complete",
    "every worker with every other; its mixing matrix is the exact mean", plain_options, build_complete };
static const struct mot_topology exponential = { "exponential",
    "each worker with those 1, 2, 4, 8, ... places away", plain_options, build_exponential };
static const struct mot_topology regular = { "regular",
    "a random graph in which every worker has the same number of neighbours", regular_options,
    build_regular };
static const struct mot_topology edges = { "edges", "the edges you list", edges_options, build_edges };
static const struct mot_topology matrix = { "matrix",
    "the mixing matrix you provide; its nonzero weights are the links", matrix_options, build_matrix };
static const struct mot_topology rcd = { "rcd",
    "the 8 workers and 12 edges of the RCD-SGD paper, with its matchings", plain_options, build_rcd };

const struct mot_topology *const mot_topologies[] = { &ring, &torus, &star, &complete, &exponential, &regular,
    &edges, &matrix, &rcd, NULL };

enum mot_status mot_topology_build(const struct mot_topology *kind, const struct mot_topology_conf *conf,
    uint32_t nodes, uint64_t seed, struct mot_graph *out, double **w)
{
    uint32_t lonely = 0;
    double *own = NULL;
    enum mot_status status = kind->build(conf, nodes, seed, out, &own);
    if (status != MOT_OK) return status;
    if (!mot_graph_connected(out, &lonely)) {
        mot_graph_close(out);
        free(own);
        return mot_fail(MOT_EUSAGE,
            "topology %s: no path from worker 0 to worker %u, so their models would never mix", kind->name,
            lonely);
    }
    status = mot_memory_status();
    if (status == MOT_OK) {
        *w = own;
        return MOT_OK;
    }
    mot_graph_close(out);
    free(own);
    return status;
}
