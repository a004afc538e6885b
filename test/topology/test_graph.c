/* Named graphs, users' graphs, and how graphs are split into matchings. */
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "test.h"
#include "topology/topology.h"
#include <unistd.h>

static struct mot_arena arena;

static const struct mot_topology *kind_of(const char *name)
{
    for (size_t i = 0; mot_topologies[i]; i++)
        if (strcmp(mot_topologies[i]->name, name) == 0) return mot_topologies[i];
    return NULL;
}

/* key = value, or NULL for none. */
static enum mot_status build(
    const char *name, const char *key, const char *value, uint32_t nodes, struct mot_graph *g)
{
    const struct mot_topology *kind = kind_of(name);
    struct mot_topology_conf conf = { 0 };
    double *w = NULL;
    mot_options_preset(kind->options, &conf, &arena);
    if (key) mot_option_set(mot_option_find(kind->options, key), &conf, value, &arena);
    enum mot_status status = mot_topology_build(kind, &conf, nodes, 7, g, &w);
    free(w);
    return status;
}

static bool has_edge(const struct mot_graph *g, uint32_t a, uint32_t b)
{
    for (uint32_t k = g->at[a]; k < g->at[a + 1]; k++)
        if (g->link[k].node == b) return true;
    return false;
}

TEST(a_ring_of_n_has_n_edges_and_small_ones_no_double_edge)
{
    struct mot_graph g;
    const uint32_t edges[] = { 0, 0, 1, 3, 4, 5 };
    for (uint32_t n = 1; n < 6; n++) {
        CHECK_INT(build("ring", NULL, NULL, n, &g), MOT_OK);
        CHECK_INT(g.edges, edges[n]);
        mot_graph_close(&g);
    }
    CHECK_INT(build("ring", NULL, NULL, 8, &g), MOT_OK);
    CHECK(has_edge(&g, 0, 7) && has_edge(&g, 3, 4) && !has_edge(&g, 0, 2));
    CHECK_INT(mot_graph_diameter(&g), 4);
    mot_graph_close(&g);
}

TEST(a_torus_is_as_square_as_can_be_and_has_four_neighbours)
{
    struct mot_graph g;
    CHECK_INT(build("torus", NULL, NULL, 12, &g), MOT_OK); /* 3 rows of 4 */
    for (uint32_t i = 0; i < 12; i++) CHECK_INT(mot_graph_degree(&g, i), 4);
    CHECK(has_edge(&g, 0, 3) && has_edge(&g, 0, 8) && has_edge(&g, 0, 4) && has_edge(&g, 0, 1));
    mot_graph_close(&g);
    CHECK_INT(build("torus", "rows", "2", 8, &g), MOT_OK); /* two rows meet once */
    for (uint32_t i = 0; i < 8; i++) CHECK_INT(mot_graph_degree(&g, i), 3);
    mot_graph_close(&g);
    CHECK_INT(build("torus", NULL, NULL, 7, &g), MOT_OK); /* a prime: a ring */
    CHECK_INT(g.edges, 7);
    mot_graph_close(&g);
    CHECK_INT(build("torus", "rows", "5", 12, &g), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "12 workers cannot form 5 rows");
}

TEST(star_complete_and_exponential_have_the_edges_that_their_names_say)
{
    struct mot_graph g;
    CHECK_INT(build("star", NULL, NULL, 9, &g), MOT_OK);
    CHECK_INT(mot_graph_degree(&g, 0), 8);
    CHECK_INT(mot_graph_degree(&g, 5), 1);
    mot_graph_close(&g);
    CHECK_INT(build("complete", NULL, NULL, 9, &g), MOT_OK);
    CHECK_INT(g.edges, 36);
    CHECK_INT(mot_graph_diameter(&g), 1);
    mot_graph_close(&g);
    CHECK_INT(build("exponential", NULL, NULL, 16, &g), MOT_OK); /* 1, 2, 4 both ways, 8 once */
    for (uint32_t i = 0; i < 16; i++) CHECK_INT(mot_graph_degree(&g, i), 7);
    CHECK(has_edge(&g, 3, 11) && has_edge(&g, 0, 12) && !has_edge(&g, 0, 3));
    mot_graph_close(&g);
}

TEST(regular_graphs_are_regular_connected_and_drawn_from_their_seed)
{
    struct mot_graph g, again, other;
    for (uint32_t n = 5; n < 40; n++)
        for (uint64_t d = 2; d < 5 && d < n; d++) {
            char degree[8];
            snprintf(degree, sizeof(degree), "%u", (unsigned)d);
            enum mot_status status = build("regular", "degree", degree, n, &g);
            if (n * d % 2) {
                CHECK_INT(status, MOT_EUSAGE);
                continue;
            }
            CHECK_INT(status, MOT_OK);
            for (uint32_t i = 0; i < n; i++)
                if (mot_graph_degree(&g, i) != d)
                    FAIL("%u nodes of degree %u: node %u has %u", n, (unsigned)d, i, mot_graph_degree(&g, i));
            for (uint32_t e = 1; e < g.edges; e++) { /* listed as one would look one up */
                const struct mot_edge *before = &g.edge[e - 1], *edge = &g.edge[e];
                CHECK(before->a < edge->a || (before->a == edge->a && before->b < edge->b));
            }
            mot_graph_close(&g);
        }
    CHECK_INT(build("regular", "seed", "1", 30, &g), MOT_OK);
    CHECK_INT(build("regular", "seed", "1", 30, &again), MOT_OK);
    CHECK_INT(build("regular", "seed", "2", 30, &other), MOT_OK);
    CHECK(memcmp(g.edge, again.edge, g.edges * sizeof(*g.edge)) == 0);
    CHECK(memcmp(g.edge, other.edge, g.edges * sizeof(*g.edge)) != 0);
    mot_graph_close(&g);
    mot_graph_close(&again);
    mot_graph_close(&other);
}

/* What an experiment was run on can be had again by any later version. */
TEST(the_regular_graph_of_a_seed_never_changes)
{
    static const struct mot_edge want[] = { { 0, 2 }, { 0, 3 }, { 0, 7 }, { 1, 5 }, { 1, 6 }, { 1, 7 },
        { 2, 3 }, { 2, 4 }, { 3, 4 }, { 4, 5 }, { 5, 6 }, { 6, 7 } };
    struct mot_graph g;
    CHECK_INT(build("regular", "degree", "3", 8, &g), MOT_OK);
    CHECK_INT(g.edges, 12);
    for (uint32_t e = 0; e < g.edges; e++) CHECK(g.edge[e].a == want[e].a && g.edge[e].b == want[e].b);
    mot_graph_close(&g);
}

TEST(the_papers_graph_has_its_12_edges_in_its_5_matchings)
{
    struct mot_graph g;
    const uint32_t degree[] = { 3, 5, 2, 4, 1, 2, 3, 4 }, size[] = { 4, 2, 3, 2, 1 };
    uint32_t count[5] = { 0 };
    CHECK_INT(build("rcd", NULL, NULL, 8, &g), MOT_OK);
    CHECK_INT(g.edges, 12);
    CHECK_INT(g.matchings, 5);
    for (uint32_t i = 0; i < 8; i++) CHECK_INT(mot_graph_degree(&g, i), degree[i]);
    for (uint32_t e = 0; e < g.edges; e++) count[g.matching[e]]++;
    for (uint32_t j = 0; j < 5; j++) CHECK_INT(count[j], size[j]);
    mot_graph_close(&g);
    CHECK_INT(build("rcd", NULL, NULL, 9, &g), MOT_EUSAGE);
}

/* ---- Matchings ------------------------------------------------------------------------------ */

static bool is_cut(const struct mot_graph *g)
{
    for (uint32_t i = 0; i < g->nodes; i++)
        for (uint32_t k = g->at[i]; k < g->at[i + 1]; k++)
            for (uint32_t l = g->at[i]; l < k; l++)
                if (g->matching[g->link[k].edge] == g->matching[g->link[l].edge]) return false;
    for (uint32_t e = 0; e < g->edges; e++)
        if (g->matching[e] >= g->matchings) return false;
    return true;
}

TEST(no_worker_occurs_twice_in_a_matching_and_there_is_at_most_one_more_than_the_degree)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 1);
        uint32_t n = 2 + (uint32_t)mot_rng_below(&rng, 30), edges = 0;
        struct mot_edge *edge = mot_new(n * n, sizeof(*edge));
        double density = mot_rng_unit(&rng);
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = a + 1; b < n; b++)
                if (mot_rng_unit(&rng) < density) edge[edges++] = (struct mot_edge){ b, a };
        struct mot_graph g;
        mot_graph_open(n, edge, edges, &g);
        mot_graph_cut(&g);
        bool good = edges == 0 ||
            (is_cut(&g) && g.matchings <= mot_graph_degree_max(&g) + 1 &&
                g.matchings >= mot_graph_degree_max(&g));
        mot_graph_close(&g);
        if (!good) FAIL("seed %llu: %u nodes, %u edges", (unsigned long long)seed, n, edges);
    }
}

TEST(an_even_ring_is_two_matchings_and_an_odd_one_three)
{
    struct mot_graph g;
    CHECK_INT(build("ring", NULL, NULL, 8, &g), MOT_OK);
    mot_graph_cut(&g);
    CHECK_INT(g.matchings, 2);
    mot_graph_close(&g);
    CHECK_INT(build("ring", NULL, NULL, 9, &g), MOT_OK);
    mot_graph_cut(&g);
    CHECK_INT(g.matchings, 3);
    mot_graph_close(&g);
}

/* ---- What users bring ------------------------------------------------------------------------- */

TEST(edges_are_read_from_text_in_any_order_and_once)
{
    struct mot_graph g;
    CHECK_INT(build("edges", "list", "2-0, 0-1; 1,2\r\n # a comment - 9 9\n\t3\t2\t\n0 2\r", 4, &g), MOT_OK);
    CHECK_INT(g.edges, 4);
    CHECK(has_edge(&g, 0, 1) && has_edge(&g, 0, 2) && has_edge(&g, 1, 2) && has_edge(&g, 2, 3));
    mot_graph_close(&g);
    CHECK_INT(build("edges", "list", "0-10, 10-123", 124, &g), MOT_EUSAGE); /* the others have no way there */
    CHECK_HAS(mot_error(), "no path from worker 0 to worker 1");
    char ring[2000] = "0-123", *at = ring + 5;
    for (int i = 0; i < 123; i++) at += snprintf(at, 20, ",%d-%d", i, i + 1);
    CHECK_INT(build("edges", "list", ring, 124, &g), MOT_OK);
    CHECK_INT(g.edges, 124);
    CHECK(has_edge(&g, 99, 100) && has_edge(&g, 0, 123) && has_edge(&g, 122, 123));
    mot_graph_close(&g);
}

TEST(wrong_edges_say_what_and_where)
{
    struct mot_graph g;
    const struct {
        const char *text, *says;
    } wrong[] = {
        { "0-1\n1-2\n2-4", "topology.list:3: unknown worker 4: there are 4" },
        { "0-1, 1-1", "worker 1 is linked to itself" },
        { "0-1, x-2", "expected the number of a worker; found x-2" },
        { "0-1, 2", "found the end" },
        { "0-1, 2-3", "no path from worker 0 to worker 2" },
        { "0-1-2, 3-0", "expected a comma or a new line after an edge; found -2," },
        { "  # nothing", "no edges" },
        { "0-1, 99999999999999999999-2", "expected the number of a worker" },
    };
    for (size_t i = 0; i < MOT_COUNT(wrong); i++) {
        CHECK_INT(build("edges", "list", wrong[i].text, 4, &g), MOT_EUSAGE);
        CHECK_HAS(mot_error(), wrong[i].says);
    }
    CHECK_INT(build("edges", NULL, NULL, 4, &g), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "found neither");
}

static enum mot_status settle(const char *text, uint32_t n, double **w)
{
    enum mot_status status = mot_matrix_parse("w.txt", text, n, w);
    if (status == MOT_OK && (status = mot_matrix_settle("w.txt", n, *w)) != MOT_OK) free(*w);
    return status;
}

TEST(a_matrix_is_read_and_its_rounded_digits_are_put_right)
{
    double *w;
    CHECK_INT(settle("# three\n0.3333333, 0.3333333, 0.3333333\n.3333333 .3333333 .3333333\n.3333333 "
                     ".3333333 .3333333\n",
                  3, &w),
        MOT_OK);
    for (int i = 0; i < 3; i++) CHECK_NEAR(w[3 * i] + w[3 * i + 1] + w[3 * i + 2], 1, 1e-15);
    free(w);
}

TEST(a_matrix_that_does_not_keep_the_mean_is_refused)
{
    double *w;
    const struct {
        const char *text, *says;
    } wrong[] = {
        { "0.5 0.5\n0.4 0.6", "not symmetric: 0.5 from worker 0 to 1 and 0.4 back" },
        { "0.5 0.4\n0.4 0.6", "the weights of worker 0 add up to 0.9" },
        { "0.5 0.5", "1 rows; expected one for each of the 2 workers" },
        { "0.5\n0.5", "w.txt:1: 1 numbers; expected one for each of the 2" },
        { "0.5 0.5 0\n0.5 0.5", "more than 2 numbers" },
        { "0.5 0.5\n0.5 0.5\n1 1", "w.txt:3: more than 2 rows" },
        { "0.5 nan\n0.5 0.5", "expected a number; found nan" },
    };
    for (size_t i = 0; i < MOT_COUNT(wrong); i++) {
        CHECK_INT(settle(wrong[i].text, 2, &w), MOT_EUSAGE);
        CHECK_HAS(mot_error(), wrong[i].says);
    }
}

int main(int count, char **arguments)
{
    int failed = test_main(count, arguments);
    mot_arena_free(&arena);
    return failed;
}
