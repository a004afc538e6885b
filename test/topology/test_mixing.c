/* Mixing matrices: what they preserve, how fast they mix, and MATCHA's probabilities. */
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "test.h"
#include "topology/eigen.h"
#include "topology/mixing.h"
#include <unistd.h>

static struct mot_arena arena;

static enum mot_status open_plan(const char *name, const char *key, const char *value, uint32_t nodes,
    double budget, struct mot_mixing_plan *p)
{
    const struct mot_topology *kind = NULL;
    struct mot_topology_conf conf = { 0 };
    for (size_t i = 0; mot_topologies[i]; i++)
        if (strcmp(mot_topologies[i]->name, name) == 0) kind = mot_topologies[i];
    mot_options_preset(kind->options, &conf, &arena);
    if (key) mot_option_set(mot_option_find(kind->options, key), &conf, value, &arena);
    enum mot_status status = mot_mixing_open(kind, &conf, nodes, 7, budget, p);
    if (status == MOT_OK) mot_mixing_measure(p);
    return status;
}

static double gap_of(const char *name, const char *weights, uint32_t nodes)
{
    struct mot_mixing_plan p;
    if (open_plan(name, "weights", weights, nodes, NAN, &p) != MOT_OK) return NAN;
    double gap = 1 - p.norm;
    mot_mixing_close(&p);
    return gap;
}

/* (ln - l2) / (ln + l2) is the norm of W - J under the best constant weight. */
static double gap_from(double second, double greatest)
{
    return 1 - (greatest - second) / (greatest + second);
}

TEST(gaps_are_those_of_the_closed_forms)
{
    for (uint32_t n = 3; n <= 17; n++) {
        double odd = 2 - 2 * cos(2 * M_PI * (n / 2) / n);
        CHECK_NEAR(gap_of("ring", "laplacian", n), gap_from(2 - 2 * cos(2 * M_PI / n), odd), 1e-13);
        CHECK_NEAR(gap_of("star", "laplacian", n), gap_from(1, n), 1e-13);
        CHECK_NEAR(gap_of("complete", "laplacian", n), 1, 1e-13);
    }
    /* 4 x 5 */
    CHECK_NEAR(gap_of("torus", "laplacian", 20),
        gap_from(2 - 2 * cos(2 * M_PI / 5), 4 + 2 - 2 * cos(4 * M_PI / 5)), 1e-13);
    /* The exponential graph of 8 is circulant with leaps 1, 2 and 4. */
    double least = 100, greatest = 0;
    for (int k = 1; k < 8; k++) {
        double value = 4 - 2 * cos(2 * M_PI * k / 8) - 2 * cos(4 * M_PI * k / 8) + 1 - cos(M_PI * k);
        least = fmin(least, value);
        greatest = fmax(greatest, value);
    }
    CHECK_NEAR(gap_of("exponential", "laplacian", 8), gap_from(least, greatest), 1e-13);
    CHECK_NEAR(gap_of("ring", "metropolis", 8), 1 - (1 - (2 - 2 * cos(M_PI / 4)) / 3), 1e-13);
}

/* A run of many workers would wait for eigenvalues that only people look at. */
TEST(eigenvalues_are_worked_out_only_where_weights_need_them)
{
    struct mot_topology_conf conf = { .weights = MOT_WEIGHTS_METROPOLIS };
    struct mot_mixing_plan p;
    CHECK_INT(mot_mixing_open(mot_topologies[0], &conf, 8, 7, NAN, &p), MOT_OK);
    CHECK(isnan(p.norm) && isnan(p.second));
    mot_mixing_measure(&p);
    CHECK_NEAR(p.norm, 1 - (2 - 2 * cos(M_PI / 4)) / 3, 1e-13);
    CHECK_NEAR(p.second, 2 - 2 * cos(M_PI / 4), 1e-13);
    CHECK_NEAR(p.near[0].weight, 1.0 / 3, 0); /* measuring leaves the weights as they were */
    mot_mixing_close(&p);
    conf.weights = MOT_WEIGHTS_LAPLACIAN;
    CHECK_INT(mot_mixing_open(mot_topologies[0], &conf, 8, 7, NAN, &p), MOT_OK);
    CHECK(p.alpha > 0 && p.norm < 1);
    mot_mixing_close(&p);
}

TEST(every_matrix_is_symmetric_with_rows_of_sum_1_and_metropolis_has_no_negative_weight)
{
    static const char *const names[] = { "ring", "torus", "star", "complete", "exponential", "regular",
        "rcd" };
    static const char *const weights[] = { "laplacian", "metropolis" };
    for (size_t k = 0; k < MOT_COUNT(names); k++)
        for (int metropolis = 0; metropolis < 2; metropolis++) {
            struct mot_mixing_plan p;
            uint32_t n = 8;
            CHECK_INT(open_plan(names[k], "weights", weights[metropolis], n, NAN, &p), MOT_OK);
            double *w = mot_mixing_matrix(&p);
            for (uint32_t i = 0; i < n; i++) {
                double row = 0, column = 0;
                for (uint32_t j = 0; j < n; j++) {
                    row += w[i * n + j];
                    column += w[j * n + i];
                    CHECK_NEAR(w[i * n + j], w[j * n + i], 0);
                    if (metropolis) CHECK(w[i * n + j] >= 0);
                }
                CHECK_NEAR(row, 1, 1e-15);
                CHECK_NEAR(column, 1, 1e-15);
            }
            CHECK(p.norm < 1);
            CHECK((p.own_least < 0) == (!metropolis && strcmp(names[k], "star") == 0) ||
                strcmp(names[k], "rcd") == 0);
            free(w);
            mot_mixing_close(&p);
        }
}

TEST(the_complete_graphs_matrix_is_the_exact_mean)
{
    struct mot_mixing_plan p;
    CHECK_INT(open_plan("complete", NULL, NULL, 6, NAN, &p), MOT_OK);
    double *w = mot_mixing_matrix(&p);
    for (int i = 0; i < 36; i++) CHECK_NEAR(w[i], 1.0 / 6, 1e-15);
    free(w);
    mot_mixing_close(&p);
}

TEST(large_graphs_have_estimates_that_lie_inside)
{
    struct mot_mixing_plan p;
    uint32_t n = 1000;
    CHECK_INT(open_plan("ring", "weights", "laplacian", n, NAN, &p), MOT_OK);
    CHECK(!p.exact);
    CHECK(p.second >= 2 - 2 * cos(2 * M_PI / n) - 1e-12 && p.greatest <= 4 + 1e-12);
    CHECK_NEAR(p.alpha, 0.5, 1e-3);
    mot_mixing_close(&p);
    /* two values: two steps find them */
    CHECK_INT(open_plan("star", "weights", "laplacian", n, NAN, &p), MOT_OK);
    CHECK_NEAR(1 - p.norm, gap_from(1, n), 1e-9);
    mot_mixing_close(&p);
}

TEST(one_worker_needs_nobody)
{
    struct mot_mixing_plan p;
    CHECK_INT(open_plan("ring", NULL, NULL, 1, NAN, &p), MOT_OK);
    CHECK_NEAR(p.norm, 0, 0);
    mot_mixing_close(&p);
    CHECK_INT(open_plan("ring", NULL, NULL, 1, 0.5, &p), MOT_OK);
    mot_mixing_close(&p);
}

TEST(a_file_whose_weights_drive_models_apart_is_refused)
{
    char path[] = "/tmp/motley_matrix_XXXXXX";
    struct mot_mixing_plan p;
    int fd = mkstemp(path);
    const char text[] = "-1 2\n2 -1\n";
    CHECK(fd >= 0 && write(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1);
    close(fd);
    CHECK_INT(open_plan("matrix", "path", path, 2, NAN, &p), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "does not bring the workers' models together");
    unlink(path);
}

/* ---- MATCHA ------------------------------------------------------------------------------------ */

TEST(with_the_whole_budget_every_matching_is_used_and_the_weights_are_d_psgds)
{
    struct mot_mixing_plan all, matcha;
    CHECK_INT(open_plan("rcd", "weights", "laplacian", 8, NAN, &all), MOT_OK);
    CHECK_INT(open_plan("rcd", NULL, NULL, 8, 1, &matcha), MOT_OK);
    CHECK_INT(matcha.mixing.matchings, 5);
    for (uint32_t j = 0; j < 5; j++) CHECK_NEAR(matcha.chance[j], 1, 0);
    for (uint32_t k = 0; k < 24; k++) CHECK_NEAR(matcha.near[k].weight, all.near[k].weight, 0);
    CHECK_NEAR(matcha.norm, all.norm * all.norm, 0);
    mot_mixing_close(&all);
    mot_mixing_close(&matcha);
}

static double second_of(const struct mot_graph *g, const double *chance)
{
    double l[16 * 16], values[16];
    mot_laplacian(g, chance, l);
    mot_eigen(g->nodes, l, values, NULL);
    return values[1];
}

TEST(no_other_chances_within_the_budget_connect_better)
{
    static const struct {
        const char *name;
        uint32_t nodes;
        double budget;
    } at[] = {
        { "rcd", 8, 0.5 },
        { "rcd", 8, 0.2 },
        { "star", 6, 0.5 },
        { "ring", 7, 0.4 },
        { "regular", 10, 0.3 },
        { "complete", 6, 0.5 },
    };
    for (size_t c = 0; c < MOT_COUNT(at); c++) {
        struct mot_mixing_plan p;
        CHECK_INT(open_plan(at[c].name, NULL, NULL, at[c].nodes, at[c].budget, &p), MOT_OK);
        uint32_t m = p.mixing.matchings;
        double total = 0, best = second_of(&p.graph, p.chance), found = 0;
        for (uint32_t j = 0; j < m; j++) {
            CHECK(p.chance[j] >= 0 && p.chance[j] <= 1);
            total += p.chance[j];
        }
        CHECK(total <= at[c].budget * m + 1e-12);
        CHECK_NEAR(best, p.second, 1e-12);
        struct mot_rng rng = mot_rng_at(c, MOT_RNG_TEST, 2);
        for (int trial = 0; trial < 3000; trial++) {
            /* Half anywhere, half beside the chances found; scaled so that the budget is used up. */
            double other[16], sum = 0, near = trial % 2 ? mot_rng_unit(&rng) * 0.2 : 1;
            for (uint32_t j = 0; j < m; j++)
                sum += other[j] = (1 - near) * p.chance[j] + near * mot_rng_unit(&rng);
            for (uint32_t j = 0; j < m; j++) other[j] = fmin(other[j] * at[c].budget * m / sum, 1);
            found = fmax(found, second_of(&p.graph, other));
        }
        if (found > best * (1 + 1e-4))
            FAIL("%s of %u: %.9g, and %.9g by chance", at[c].name, at[c].nodes, best, found);
        mot_mixing_close(&p);
    }
}

TEST(where_matchings_are_alike_their_chances_are)
{
    struct mot_mixing_plan p;
    CHECK_INT(open_plan("ring", NULL, NULL, 8, 0.5, &p), MOT_OK);
    CHECK_INT(p.mixing.matchings, 2);
    CHECK_NEAR(p.chance[0], 0.5, 1e-6);
    CHECK_NEAR(p.chance[1], 0.5, 1e-6);
    mot_mixing_close(&p);
}

/* The norm of E[W'W] - J by the definition: over all 2^m sets of active matchings. */
static double norm_by_cases(const struct mot_mixing_plan *p, double alpha)
{
    uint32_t n = p->graph.nodes, m = p->mixing.matchings;
    double sum[8 * 8] = { 0 }, values[8];
    for (uint32_t set = 0; set < 1u << m; set++) {
        double chance = 1, active[8], l[8 * 8];
        for (uint32_t j = 0; j < m; j++) {
            active[j] = set >> j & 1;
            chance *= active[j] ? p->chance[j] : 1 - p->chance[j];
        }
        mot_laplacian(&p->graph, active, l);
        for (uint32_t i = 0; i < n * n; i++) l[i] = (i % n == i / n) - alpha * l[i];
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < n; k++)
                for (uint32_t t = 0; t < n; t++) sum[i * n + k] += chance * l[t * n + i] * l[t * n + k];
    }
    for (uint32_t i = 0; i < n * n; i++) sum[i] -= 1.0 / n;
    mot_eigen(n, sum, values, NULL);
    return values[n - 1];
}

TEST(alpha_minimises_the_norm_taken_over_all_sets_of_matchings)
{
    struct mot_mixing_plan p;
    CHECK_INT(open_plan("rcd", NULL, NULL, 8, 0.5, &p), MOT_OK);
    double best = norm_by_cases(&p, p.alpha);
    CHECK_NEAR(best, p.norm, 1e-12);
    for (int k = 1; k < 200; k++) CHECK(norm_by_cases(&p, k * 0.005) >= best - 1e-9);
    mot_mixing_close(&p);
}

TEST(matcha_has_weights_of_its_own)
{
    char path[] = "/tmp/motley_matrix_XXXXXX";
    struct mot_mixing_plan a, b;
    int fd = mkstemp(path);
    const char text[] = "0.5 0.5\n0.5 0.5\n";
    CHECK(fd >= 0 && write(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1);
    close(fd);
    CHECK_INT(open_plan("matrix", "path", path, 2, NAN, &a), MOT_OK);
    mot_mixing_close(&a);
    CHECK_INT(open_plan("matrix", "path", path, 2, 0.5, &a), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "has weights of its own; expected a graph");
    unlink(path);
    CHECK_INT(open_plan("rcd", "weights", "metropolis", 8, 0.5, &a), MOT_OK);
    CHECK_INT(open_plan("rcd", "weights", "laplacian", 8, 0.5, &b), MOT_OK);
    CHECK(mot_mixing_hash(&a) == mot_mixing_hash(&b));
    mot_mixing_close(&a);
    mot_mixing_close(&b);
}

TEST(the_least_eigenvalue_says_how_large_a_step_may_be)
{
    struct mot_mixing_plan p;
    CHECK_INT(open_plan("ring", "weights", "metropolis", 8, NAN, &p), MOT_OK);
    CHECK_NEAR(p.least, 1 - 4.0 / 3, 1e-13);
    mot_mixing_close(&p);
    CHECK_INT(open_plan("ring", "weights", "laplacian", 8, NAN, &p), MOT_OK);
    CHECK_NEAR(p.least, -p.norm, 1e-13);
    mot_mixing_close(&p);
}

TEST(one_chance_for_all_has_the_alpha_of_the_dense_search_and_large_graphs_use_it)
{
    struct mot_mixing_plan p;
    CHECK_INT(open_plan("ring", NULL, NULL, 8, 0.5, &p), MOT_OK);
    double half[2] = { 0.5, 0.5 }, norm, dense_norm, l2 = 2 - 2 * cos(M_PI / 4),
           dense = mot_matcha_alpha(&p.graph, half, &dense_norm);
    double alpha = mot_matcha_alpha_uniform(0.5, l2, 4, &norm);
    CHECK_NEAR(alpha, dense, 1e-6);
    CHECK_NEAR(norm, dense_norm, 1e-12);
    mot_mixing_close(&p);
    CHECK_INT(open_plan("regular", NULL, NULL, 500, 0.3, &p), MOT_OK);
    for (uint32_t j = 0; j < p.mixing.matchings; j++) CHECK_NEAR(p.chance[j], 0.3, 0);
    CHECK(p.norm < 1 && p.alpha > 0);
    mot_mixing_close(&p);
}

int main(int count, char **arguments)
{
    int failed = test_main(count, arguments);
    mot_arena_free(&arena);
    return failed;
}
