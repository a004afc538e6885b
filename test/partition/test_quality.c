/* test_quality.c -- figures of a partition against their definitions; principal components against theirs. */
#include "math/kernels.h"
#include "partition/quality.h"

#include "help.h"

static struct mot_parts halves(const struct mot_table *t, uint32_t parts)
{
    uint32_t *owner = mot_new(t->rows, sizeof *owner);
    for (uint32_t r = 0; r < t->rows; r++) owner[r] = (r * 7 + r / 5) % parts;
    struct mot_parts p = mot_parts_owned(parts, t->rows, owner);
    free(owner);
    return p;
}

static double like(const struct mot_table *t, uint32_t a, uint32_t b, double bandwidth)
{
    double square = 0;
    for (uint32_t c = 0; c < t->cols; c++) {
        double d = (double)t->x[(size_t)a * t->cols + c] - (double)t->x[(size_t)b * t->cols + c];
        square += d * d;
    }
    return exp(-square / (2 * bandwidth * bandwidth));
}

/* MMD^2 of part p's rows of a class, in double, as it is defined. */
static double plain_mmd2(
    const struct mot_table *t, const struct mot_parts *p, uint32_t part, uint32_t class, double bandwidth)
{
    uint32_t *block = mot_new(t->rows, sizeof *block), *all = mot_new(t->rows, sizeof *all), m = 0, n = 0;
    for (uint64_t i = p->at[part]; i < p->at[part + 1]; i++)
        if (t->y[p->row[i]] == (float)class) block[m++] = p->row[i];
    for (uint32_t r = 0; r < t->rows; r++)
        if (t->y[r] == (float)class) all[n++] = r;
    double inside = 0, across = 0, whole = 0;
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < m; j++) inside += like(t, block[i], block[j], bandwidth);
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++) across += like(t, block[i], all[j], bandwidth);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) whole += like(t, all[i], all[j], bandwidth);
    free(block), free(all);
    return inside / m / m + whole / n / n - 2 * across / m / n;
}

TEST(mmd2_is_what_its_definition_gives)
{
    struct mot_dataset *d = open_set("digits", 250, 1);
    struct mot_split s = { .table = &d->train, .parts = 3, .seed = 1 };
    struct mot_features f;
    struct mot_quality q;
    struct mot_parts p = halves(&d->train, 3);
    CHECK_INT(mot_features_open("raw", &s, UINT64_MAX, NULL, &f), MOT_OK);
    CHECK_INT(mot_quality_of(&s, &p, &f, 2.5, MOT_MMD_EXACT, &q), MOT_OK);
    for (uint32_t l = 0; l < 10; l++)
        for (uint32_t j = 0; j < 3; j++)
            CHECK_NEAR(q.mmd2[l * 3 + j], plain_mmd2(&d->train, &p, j, l, 2.5), 5e-6);
    CHECK(q.mmd2_exact && q.mmd2_max >= q.mmd2_mean);
    mot_quality_close(&q);
    mot_features_close(&f);
    mot_parts_free(&p);
    mot_dataset_close(d);
}

/* The expectation is over random blocks: the mean over many of them must meet it. */
TEST(the_mmd2_of_random_blocks_is_foretold)
{
    struct mot_dataset *d = open_set("digits", 0, 1);
    struct mot_features f;
    double sum = 0, told = 0;
    struct mot_split s = { .table = &d->train, .parts = 8 };
    CHECK_INT(mot_features_open("raw", &s, UINT64_MAX, NULL, &f), MOT_OK);
    for (s.seed = 1; s.seed <= 12; s.seed++) {
        struct mot_parts p;
        struct mot_quality q;
        CHECK_INT(mot_partition(partitioner("proportional"), NULL, &s, &p, NULL), MOT_OK);
        CHECK_INT(mot_quality_of(&s, &p, &f, 3, MOT_MMD_EXACT, &q), MOT_OK);
        sum += q.mmd2_mean / 12;
        told += q.mmd2_random / 12;
        mot_quality_close(&q);
        mot_parts_free(&p);
    }
    CHECK_NEAR(sum / told, 1, 0.02);
    mot_features_close(&f);
    mot_dataset_close(d);
}

TEST(random_features_come_near_the_exact_mmd2)
{
    struct mot_dataset *d = open_set("digits", 0, 1);
    struct mot_split s = { .table = &d->train, .parts = 8, .seed = 3 };
    struct mot_features f;
    struct mot_quality exact, near;
    struct mot_parts p;
    CHECK_INT(mot_features_open("raw", &s, UINT64_MAX, NULL, &f), MOT_OK);
    CHECK_INT(mot_partition(partitioner("equal"), NULL, &s, &p, NULL), MOT_OK);
    CHECK_INT(mot_quality_of(&s, &p, &f, 0, MOT_MMD_EXACT, &exact), MOT_OK);
    CHECK_INT(mot_quality_of(&s, &p, &f, 0, MOT_MMD_RANDOM, &near), MOT_OK);
    printf("  exact %.4g, by random features %.4g\n", exact.mmd2_mean, near.mmd2_mean);
    CHECK_NEAR(near.mmd2_mean / exact.mmd2_mean, 1, 0.05);
    CHECK_NEAR(near.mmd2_random / exact.mmd2_random, 1, 0.05);
    CHECK(!near.mmd2_exact);
    /* from 1,024 of the 1,797 rows */
    CHECK_NEAR(near.facility_location / exact.facility_location, 1, 0.01);
    CHECK_NEAR(near.graph_cut / exact.graph_cut, 1, 0.01);
    mot_quality_close(&exact), mot_quality_close(&near);
    mot_features_close(&f);
    mot_parts_free(&p);
    mot_dataset_close(d);
}

/* Large classes: over all rows; small ones: over all pairs at once. */
TEST(the_objectives_are_what_their_definitions_give)
{
    struct mot_dataset *d = open_set("digits", 300, 1);
    struct mot_split s = { .table = &d->train, .parts = 3, .seed = 1 };
    struct mot_features f;
    struct mot_quality q;
    struct mot_parts p = halves(&d->train, 3);
    double location = 0, cut = 0;
    CHECK_INT(mot_features_open("raw", &s, UINT64_MAX, NULL, &f), MOT_OK);
    CHECK_INT(mot_quality_of(&s, &p, &f, 2.5, MOT_MMD_EXACT, &q), MOT_OK);
    for (uint32_t j = 0; j < 3; j++)
        for (uint32_t v = 0; v < d->train.rows; v++) {
            double most = 0, sum = 0;
            bool own = false;
            for (uint64_t i = p.at[j]; i < p.at[j + 1]; i++) {
                if (d->train.y[p.row[i]] != d->train.y[v]) continue;
                double similarity = like(&d->train, p.row[i], v, 2.5);
                if (similarity > most) most = similarity;
                sum += similarity;
                own |= p.row[i] == v;
            }
            location += most;
            cut += own ? 0 : sum;
        }
    CHECK_NEAR(q.facility_location / location, 1, 1e-5);
    CHECK_NEAR(q.graph_cut / cut, 1, 1e-5);
    mot_quality_close(&q);
    mot_features_close(&f);
    mot_parts_free(&p);
    mot_dataset_close(d);
}

TEST(label_divergence_is_zero_for_like_labels_and_log_classes_for_one_label)
{
    uint32_t rows_of[4] = { 40, 40, 40, 40 };
    struct mot_table t = labels_only(4, rows_of);
    struct mot_split s = { .table = &t, .parts = 4, .seed = 1 };
    struct mot_parts sorted, mixed;
    struct mot_quality q;
    CHECK_INT(mot_partition(partitioner("sorted"), NULL, &s, &sorted, NULL), MOT_OK);
    CHECK_INT(mot_partition(partitioner("stratified"), NULL, &s, &mixed, NULL), MOT_OK);
    CHECK_INT(mot_quality_of(&s, &sorted, NULL, 0, MOT_MMD_AUTO, &q), MOT_OK);
    CHECK_NEAR(q.divergence_mean, log(4), 1e-12);
    CHECK_NEAR(q.divergence_max, log(4), 1e-12);
    CHECK_NEAR(q.quota_class, 30, 1e-9);
    CHECK_NEAR(q.quota_worker, 0, 1e-9);
    mot_quality_close(&q);
    CHECK_INT(mot_quality_of(&s, &mixed, NULL, 0, MOT_MMD_AUTO, &q), MOT_OK);
    CHECK_NEAR(q.divergence_max, 0, 1e-12);
    CHECK(isnan(q.mmd2_mean));
    mot_quality_close(&q);
    mot_parts_free(&sorted), mot_parts_free(&mixed);
    free((void *)(size_t)t.y);
}

/* ---- Features --------------------------------------------------------------------------------- */

/* Rows with variances 100, 25, 4 and 0.01 along known directions:
 * components are uncorrelated and keep them. */
TEST(components_are_uncorrelated_and_sorted_by_variance)
{
    enum { N = 500, D = 20, K = 3 };
    static const double size[4] = { 10, 5, 2, 0.1 };
    static float x[N * D], z[N * K];
    double direction[4][D];
    struct mot_rng rng = mot_rng_at(5, MOT_RNG_TEST, 2);
    for (int k = 0; k < 4; k++) {
        for (int c = 0; c < D; c++) direction[k][c] = mot_rng_normal(&rng);
        for (int j = 0; j <= k; j++) {
            double dot = 0;
            for (int c = 0; c < D; c++) dot += direction[k][c] * direction[j][c];
            for (int c = 0; c < D; c++)
                direction[k][c] =
                    j == k ? direction[k][c] / sqrt(dot) : direction[k][c] - dot * direction[j][c];
        }
    }
    for (int r = 0; r < N; r++)
        for (int k = 0; k < 4; k++) {
            double a = size[k] * mot_rng_normal(&rng);
            for (int c = 0; c < D; c++) x[r * D + c] += (float)(a * direction[k][c] + (k == 0 ? 50 : 0));
        }
    struct mot_table t = { .rows = N, .cols = D, .x = x };
    struct mot_crew *crew = mot_crew_open(2);
    mot_pca(&t, K, 1, crew, z);
    mot_crew_close(crew);
    for (int a = 0; a < K; a++)
        for (int b = 0; b <= a; b++) {
            double dot = 0;
            for (int r = 0; r < N; r++) dot += (double)z[r * K + a] * (double)z[r * K + b] / N;
            if (a == b) CHECK_NEAR(sqrt(dot) / size[a], 1, 0.12);
            else CHECK_NEAR(dot / (size[a] * size[b]), 0, 1e-3);
        }
}

TEST(components_of_sparse_rows_are_those_of_the_same_rows_dense)
{
    enum { N = 90, D = 12, K = 2 };
    static float x[N * D], val[N * D], dense[N * K], sparse[N * K];
    static uint64_t row_at[N + 1];
    static uint32_t col[N * D];
    struct mot_rng rng = mot_rng_at(6, MOT_RNG_TEST, 2);
    for (uint32_t r = 0; r < N; r++) {
        row_at[r + 1] = row_at[r];
        for (uint32_t c = 0; c < D; c++) {
            if (mot_rng_unit(&rng) < 0.5) continue;
            x[r * D + c] = val[row_at[r + 1]] = (float)mot_rng_normal(&rng) * (float)(D - c);
            col[row_at[r + 1]++] = c;
        }
    }
    struct mot_table a = { .rows = N, .cols = D, .x = x },
                     b = { .rows = N, .cols = D, .row_at = row_at, .col = col, .val = val };
    struct mot_crew *crew = mot_crew_open(1);
    mot_pca(&a, K, 1, crew, dense);
    mot_pca(&b, K, 1, crew, sparse);
    mot_crew_close(crew);
    for (int i = 0; i < N * K; i++) CHECK_NEAR(dense[i], sparse[i], 2e-3);
}

TEST(the_bandwidth_is_the_median_distance)
{
    mot_kernels_open();
    float x[3] = { 0, 1, 10 }, same[4] = { 3, 3, 3, 3 }, one[1] = { 7 };
    struct mot_table t = { .rows = 3, .cols = 1, .x = x }, u = { .rows = 4, .cols = 1, .x = same },
                     v = { .rows = 1, .cols = 1, .x = one };
    struct mot_features f = { .rows = 3, .cols = 1, .x = x, .table = &t },
                        g = { .rows = 4, .cols = 1, .x = same, .table = &u };
    struct mot_features h = { .rows = 1, .cols = 1, .x = one, .table = &v };
    CHECK_NEAR(mot_features_bandwidth(&f, 1), 9, 1e-5); /* of 1, 9 and 10 */
    CHECK_NEAR(mot_features_bandwidth(&g, 1), 1, 0);    /* all equal: any will do */
    CHECK_NEAR(mot_features_bandwidth(&h, 1), 1, 0);
}

TEST_MAIN()
