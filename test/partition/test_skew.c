/* test_skew.c -- skewed partitions are as skewed as they say. */
#include "help.h"

static const uint32_t even[10] = { 600, 600, 600, 600, 600, 600, 600, 600, 600, 600 };

static bool cut(const char *name, const void *conf, const struct mot_table *t, uint32_t parts, uint64_t seed,
    struct mot_parts *out)
{
    return mot_partition(partitioner(name), conf,
               &(struct mot_split){ .table = t, .parts = parts, .seed = seed }, out, NULL) == MOT_OK &&
        covers(out, t->rows);
}

/* The mean over workers of the largest share that one label has of a worker's rows. */
static double mean_top_label(const struct mot_parts *p, const struct mot_table *t)
{
    double sum = 0;
    for (uint32_t j = 0; j < p->parts; j++) {
        uint32_t most = 0;
        for (uint32_t l = 0; l < t->classes; l++)
            most = count_label(p, t, j, l) > most ? count_label(p, t, j, l) : most;
        sum += (double)most / (double)(p->at[j + 1] - p->at[j]) / p->parts;
    }
    return sum;
}

TEST(dirichlet_is_skewed_for_a_small_alpha_and_even_for_a_large_one)
{
    struct mot_table t = labels_only(10, even);
    struct mot_parts skewed, plain, again;
    CHECK(cut("dirichlet", OPTIONS("dirichlet", "alpha", "0.1"), &t, 10, 5, &skewed));
    CHECK(cut("dirichlet", OPTIONS("dirichlet", "alpha", "1000"), &t, 10, 5, &plain));
    CHECK(cut("dirichlet", OPTIONS("dirichlet", "alpha", "0.1"), &t, 10, 5, &again));
    CHECK(mean_top_label(&skewed, &t) > 0.4);
    CHECK(mean_top_label(&plain, &t) < 0.13);
    CHECK(same_parts(&skewed, &again));
    mot_parts_free(&skewed), mot_parts_free(&plain), mot_parts_free(&again);
    free((void *)(size_t)t.y);
}

/* A share of Dirichlet(alpha) over n has mean 1/n and variance (1/n)(1 - 1/n) / (n alpha + 1). */
TEST(dirichlet_shares_have_the_variance_of_their_law)
{
    enum { CLASSES = 400, PARTS = 5, SEEDS = 50 };
    static uint32_t rows_of[CLASSES];
    for (int l = 0; l < CLASSES; l++) rows_of[l] = 200;
    struct mot_table t = labels_only(CLASSES, rows_of);
    double sum = 0, square = 0, draws = (double)CLASSES * PARTS * SEEDS;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct mot_parts p;
        CHECK(cut("dirichlet", OPTIONS("dirichlet", "alpha", "1"), &t, PARTS, seed, &p));
        for (uint64_t i = 0; i < PARTS; i++) {
            uint32_t count[CLASSES] = { 0 };
            for (uint64_t at = p.at[i]; at < p.at[i + 1]; at++) count[(uint32_t)t.y[p.row[at]]]++;
            for (int l = 0; l < CLASSES; l++)
                sum += count[l] / 200.0, square += count[l] / 200.0 * (count[l] / 200.0);
        }
        mot_parts_free(&p);
    }
    double mean = sum / draws, variance = square / draws - mean * mean;
    CHECK_NEAR(mean, 0.2, 1e-12);
    CHECK_NEAR(variance, 0.2 * 0.8 / (PARTS + 1), 0.0005); /* 0.0267; four deviations of 20000 draws */
    free((void *)(size_t)t.y);
}

TEST(a_tiny_alpha_still_leaves_no_worker_empty)
{
    struct mot_table t = labels_only(10, even);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct mot_parts p;
        if (!cut("dirichlet", OPTIONS("dirichlet", "alpha", "0.001"), &t, 50, seed, &p))
            FAIL("seed %llu", (unsigned long long)seed);
        mot_parts_free(&p);
    }
    free((void *)(size_t)t.y);
}

TEST(shards_give_each_worker_exactly_that_many_labels)
{
    struct mot_table t = labels_only(10, even);
    for (uint32_t labels = 1; labels <= 10; labels++) {
        struct mot_parts p;
        char text[8];
        snprintf(text, sizeof text, "%u", labels);
        CHECK(cut("shards", OPTIONS("shards", "labels", text), &t, 10, labels, &p));
        for (uint32_t j = 0; j < 10; j++) {
            uint32_t present = 0;
            for (uint32_t l = 0; l < 10; l++) present += count_label(&p, &t, j, l) > 0;
            CHECK_INT(present, labels);
            CHECK_INT(p.at[j + 1] - p.at[j], 600);
        }
        mot_parts_free(&p);
    }
    free((void *)(size_t)t.y);
}

TEST(shards_of_uneven_classes_cover_all_rows)
{
    uint32_t uneven[] = { 1, 500, 30, 2, 77, 900, 4 };
    struct mot_table t = labels_only(7, uneven);
    for (uint32_t parts = 4; parts <= 40; parts++) {
        struct mot_parts p;
        if (!cut("shards", OPTIONS("shards", "labels", "2"), &t, parts, parts, &p)) FAIL("%u workers", parts);
        mot_parts_free(&p);
    }
    free((void *)(size_t)t.y);
}

TEST(too_few_shards_for_the_labels_are_an_error)
{
    struct mot_table t = labels_only(10, even);
    struct mot_parts p;
    CHECK(!cut("shards", OPTIONS("shards", "labels", "2"), &t, 4, 1, &p));
    CHECK_HAS(mot_error(), "4 workers with 2 labels each hold 8, expected at least the 10");
    free((void *)(size_t)t.y);
}

TEST(quantity_skews_sizes_and_keeps_the_mix)
{
    struct mot_table t = labels_only(10, even);
    struct mot_parts p;
    CHECK(cut("quantity", OPTIONS("quantity", "alpha", "0.5"), &t, 8, 2, &p));
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t j = 0; j < 8; j++) {
        uint64_t n = p.at[j + 1] - p.at[j];
        least = n < least ? n : least;
        most = n > most ? n : most;
        if (n > 500) CHECK_NEAR(count_label(&p, &t, j, 0) / (double)n, 0.1, 0.05);
    }
    CHECK(most > 10 * least);
    mot_parts_free(&p);
    free((void *)(size_t)t.y);
}

TEST(sorted_gives_a_worker_neighbouring_labels)
{
    struct mot_table t = labels_only(10, even);
    struct mot_parts p;
    CHECK(cut("sorted", NULL, &t, 5, 2, &p));
    for (uint32_t j = 0; j < 5; j++)
        CHECK_INT(count_label(&p, &t, j, 2 * j) + count_label(&p, &t, j, 2 * j + 1), 1200);
    mot_parts_free(&p);
    free((void *)(size_t)t.y);
}

TEST(label_skew_of_values_is_an_error)
{
    float y[8] = { 0.5f, 1, 2, 3, 4, 5, 6, 7 };
    struct mot_table t = { .rows = 8, .cols = 1, .y = y };
    struct mot_parts p;
    CHECK(!cut("dirichlet", OPTIONS("dirichlet", "alpha", "1"), &t, 2, 1, &p));
    CHECK_HAS(mot_error(), "expected classes");
    CHECK(!cut("shards", OPTIONS("shards", "labels", "2"), &t, 2, 1, &p));
    CHECK_HAS(mot_error(), "expected classes");
}

TEST_MAIN()
