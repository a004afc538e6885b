/* test_herding.c -- herding chooses the samples of its definition, however it is computed, and its blocks
 * represent their class whatever their size. */
#include "partition/herding.h"
#include "base/exact.h"
#include "math/kernels.h"
#include "partition/classwise.h"
#include "partition/quality.h"
#include "partition/quota.h"

#include "help.h"

/* Five clusters of unequal weight; every ninth sample twice, for ties. */
static struct mot_features clusters(uint32_t n, uint32_t cols, uint64_t seed, struct mot_table *t)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 1);
    float *x = mot_new((size_t)n * cols, sizeof *x);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t cluster = (uint32_t)mot_rng_below(&rng, 5) * (uint32_t)mot_rng_below(&rng, 2);
        for (uint32_t c = 0; c < cols; c++)
            x[(size_t)i * cols + c] = (float)(mot_rng_normal(&rng) + (c == cluster ? 4 : 0));
    }
    for (uint32_t i = 0; i + 1 < n; i += 9)
        memcpy(x + (size_t)(i + 1) * cols, x + (size_t)i * cols, cols * sizeof *x);
    *t = (struct mot_table){ .rows = n, .cols = cols, .x = x };
    return (struct mot_features){ .rows = n, .cols = cols, .x = x, .table = t };
}

/* As it is written: every candidate's MMD^2 anew, from all pairs, in integers over a common denominator. */
static void by_definition(
    const struct mot_similar *s, uint32_t blocks, const uint32_t *quota, uint32_t *owner, uint32_t *order)
{
    uint32_t n = s->samples->n, size[8] = { 0 };
    for (uint32_t v = 0; v < n; v++) owner[v] = MOT_NOBODY;
    for (uint32_t done = 0; done < n; done++) {
        uint32_t block = MOT_NOBODY, best = MOT_NOBODY;
        double least = 0;
        for (uint32_t j = 0; j < blocks; j++)
            if (size[j] < quota[j] &&
                (block == MOT_NOBODY || size[j] * quota[block] < size[block] * quota[j]))
                block = j;
        for (uint32_t v = 0; v < n; v++) {
            if (owner[v] != MOT_NOBODY) continue;
            owner[v] = block;
            /* (a n)^2 MMD^2, but for what is the same for all v */
            double inside = 0, across = 0, a = size[block] + 1;
            for (uint32_t i = 0; i < n; i++)
                for (uint32_t k = 0; k < n && owner[i] == block; k++) {
                    double like = s->matrix[(size_t)i * s->samples->width + k];
                    across += like;
                    if (owner[k] == block) inside += like;
                }
            owner[v] = MOT_NOBODY;
            double square = n * inside - 2 * a * across;
            if (best == MOT_NOBODY || square < least) least = square, best = v;
        }
        owner[best] = block;
        size[block]++;
        order[done] = best;
    }
}

TEST(each_pick_is_the_one_that_brings_the_mmd2_down_most)
{
    static const uint32_t quotas[3][4] = { { 14, 14, 13, 13 }, { 30, 8, 14, 2 }, { 0, 37, 1, 16 } };
    struct mot_table t;
    mot_kernels_open();
    for (uint32_t round = 0; round < 3; round++) {
        struct mot_features f = clusters(54, 6, round, &t);
        struct mot_samples x;
        mot_samples_open(&f, NULL, 54, 2, &x);
        struct mot_similar dense = { .kind = MOT_SIMILAR_DENSE, .samples = &x },
                           blocked = { .kind = MOT_SIMILAR_BLOCKED, .samples = &x },
                           *way[] = { &dense, &blocked };
        CHECK(mot_similar_open(&dense) == MOT_OK && mot_similar_open(&blocked) == MOT_OK);
        uint32_t owner[54], order[54];
        by_definition(&dense, 4, quotas[round], owner, order);
        for (int i = 0; i < 2; i++) {
            uint32_t got[54], taken[54];
            struct mot_herding h = {
                .similar = way[i], .blocks = 4, .quota = quotas[round], .owner = got, .order = taken
            };
            CHECK_INT(mot_herding_run(&h), MOT_OK);
            CHECK(memcmp(taken, order, sizeof order) == 0);
            CHECK(memcmp(got, owner, sizeof owner) == 0);
        }
        mot_similar_close(&dense), mot_similar_close(&blocked);
        mot_samples_close(&x);
        free((void *)(size_t)t.x);
    }
}

/* Mean and worst MMD^2 of the blocks over what random blocks of their sizes would have. */
static void distance(const struct mot_features *f, uint32_t n, const uint32_t *owner, const uint32_t *quota,
    uint32_t blocks, double bandwidth, double *mean, double *worst)
{
    uint32_t *at = mot_new(blocks, sizeof *at), sum = 0;
    struct mot_parts p = mot_parts_sized(blocks, quota);
    for (uint32_t j = 0; j < blocks; j++) at[j] = sum, sum += quota[j];
    for (uint32_t v = 0; v < n; v++) p.row[at[owner[v]]++] = v;
    struct mot_split s = { .table = f->table, .parts = blocks, .seed = 1 };
    struct mot_quality q;
    if (mot_quality_of(&s, &p, f, bandwidth, MOT_MMD_EXACT, &q) != MOT_OK) exit(1);
    *mean = q.mmd2_mean;
    *worst = 0;
    for (uint32_t j = 0; j < blocks; j++) {
        /* random blocks' MMD^2 goes as 1/m - 1/n */
        double all = 0;
        for (uint32_t i = 0; i < blocks; i++) all += 1.0 / quota[i] - 1.0 / n;
        double random = q.mmd2_random * blocks * (1.0 / quota[j] - 1.0 / n) / all;
        *worst = fmax(*worst, q.mmd2[j] / random);
    }
    mot_quality_close(&q);
    mot_parts_free(&p);
    free(at);
}

static void compare_chunks(uint32_t n, uint32_t chunk, const uint32_t *ratio, double most)
{
    enum { BLOCKS = 8 };
    struct mot_table t;
    struct mot_features f = clusters(n, 20, 5, &t);
    uint32_t quota[BLOCKS], left = n, all = 0, *row = mot_new(n, sizeof *row),
                            *owner = mot_new(n, sizeof *owner);
    double bandwidth = mot_features_bandwidth(&f, 1), exact, worst, mean;
    for (int j = 0; j < BLOCKS; j++) all += ratio[j];
    for (int j = 0; j < BLOCKS; j++) quota[j] = n / all * ratio[j], left -= quota[j];
    quota[0] += left;
    for (uint32_t i = 0; i < n; i++) row[i] = i;
    struct mot_herding_class h = { .features = &f,
        .row = row,
        .n = n,
        .chunk = n,
        .blocks = BLOCKS,
        .quota = quota,
        .bandwidth = bandwidth,
        .seed = 1,
        .owner = owner };
    CHECK_INT(mot_herding_chunks(&h), MOT_OK);
    distance(&f, n, owner, quota, BLOCKS, bandwidth, &exact, &worst);
    CHECK(worst < 0.3);
    h.chunk = chunk;
    CHECK_INT(mot_herding_chunks(&h), MOT_OK);
    uint32_t count[BLOCKS] = { 0 };
    for (uint32_t i = 0; i < n; i++) count[owner[i]]++;
    CHECK(memcmp(count, quota, sizeof quota) == 0);
    distance(&f, n, owner, quota, BLOCKS, bandwidth, &mean, &worst);
    printf("  %u rows in chunks of %u, shares %u to 1: MMD^2 %.3f of the exact one's; the worst block has "
           "%.3f of "
           "a random one's\n",
        n, chunk, ratio[0], mean / exact, worst);
    CHECK(mean <= most * exact);
    CHECK(worst < 0.3);
    free(row), free(owner), free((void *)(size_t)t.x);
}

TEST(chunks_lose_little_against_comparing_all_pairs)
{
    static const uint32_t equal[] = { 1, 1, 1, 1, 1, 1, 1, 1 }, uneven[] = { 8, 1, 1, 1, 1, 1, 1, 1 };
    mot_kernels_open();
    bool long_one = getenv("MOTLEY_LONG") != NULL;
    uint32_t n = long_one ? 20000 : 1600, chunk = long_one ? MOT_HERDING_CHUNK : 800;
    if (long_one) compare_chunks(n, chunk, equal, 1.1);
    compare_chunks(n, chunk, uneven, long_one ? 1.1 : 1.2);
}

TEST(chunks_give_the_same_blocks_on_any_number_of_threads)
{
    enum { ROWS = 700 };
    static const uint32_t quota[] = { 400, 200, 100 };
    struct mot_table t;
    mot_kernels_open();
    struct mot_features f = clusters(ROWS, 9, 8, &t);
    uint32_t row[ROWS], owner[4][ROWS];
    for (uint32_t i = 0; i < ROWS; i++) row[i] = i;
    for (unsigned threads = 0; threads < 4; threads++) {
        struct mot_herding_class h = { .features = &f,
            .row = row,
            .n = ROWS,
            .chunk = 150,
            .blocks = 3,
            .quota = quota,
            .bandwidth = 3,
            .seed = 2,
            .crew = threads ? mot_crew_open(threads) : NULL,
            .owner = owner[threads] };
        CHECK_INT(mot_herding_chunks(&h), MOT_OK);
        CHECK(memcmp(owner[threads], owner[0], sizeof owner[0]) == 0);
        if (h.crew) mot_crew_close(h.crew);
    }
    free((void *)(size_t)t.x);
}

/* The default is to be trusted where facility location and graph cut were not: large shares, sparse sets. */
TEST(every_block_is_nearer_to_its_class_than_a_random_one)
{
    static const char *const sets[] = { "phishing/phishing.gz", "mushrooms/mushrooms.gz", "a9a/a9a.gz" };
    static const double speeds[3][8] = { { 1, 1, 1, 1, 1, 1, 1, 1 }, { 2, 1, 1, 1, 1, 2, 1, 1 },
        { 8, 1, 1, 1, 1, 1, 1, 1 } };
    int looked = 0;
    for (int i = 0; i < 3; i++) {
        const char *path = shared_set(sets[i]);
        struct mot_dataset *d = path ? open_set(path, 3000, 1) : NULL;
        for (int k = 0; d && k < 3; k++, looked++) {
            struct mot_split s = { .table = &d->train, .parts = 8, .seed = 1, .speed = speeds[k] };
            struct mot_parts p;
            struct mot_features f;
            struct mot_quality q;
            CHECK_INT(
                mot_partition(&mot_partition_herding, OPTIONS("herding", "sizes", "speed"), &s, &p, NULL),
                MOT_OK);
            CHECK_INT(mot_features_open("raw", &s, UINT64_MAX, NULL, &f), MOT_OK);
            CHECK_INT(mot_quality_of(&s, &p, &f, 0, MOT_MMD_EXACT, &q), MOT_OK);
            printf("  %s, shares up to %g to 1: %.3f of random, worst block %.3f\n", sets[i], speeds[k][0],
                q.mmd2_mean / q.mmd2_random, q.ratio_worst);
            CHECK(q.mmd2_mean < 0.2 * q.mmd2_random && q.ratio_worst < 0.5 && q.worse == 0);
            mot_quality_close(&q), mot_features_close(&f), mot_parts_free(&p);
        }
        if (d) mot_dataset_close(d);
    }
    if (!looked) SKIP("none of these sets is in ../shared/data or $MOTLEY_SHARED/data");
}

/* Who comes last would take what is left: with three rows a block, 1.9 times as far as random ones. */
TEST(blocks_of_three_rows_are_nearer_than_random_ones_too_with_and_without_all_similarities)
{
    struct mot_dataset *d = open_set("digits", 0, 1);
    for (uint64_t seed = 1; seed <= 2; seed++)
        for (uint32_t workers = 20; workers <= 55; workers += 7) { /* 174 rows of the smallest class */
            struct mot_split s = { .table = &d->train, .parts = workers, .seed = seed };
            struct mot_parts p, blocked;
            struct mot_features f;
            struct mot_quality q;
            CHECK_INT(
                mot_partition(&mot_partition_herding, OPTIONS("herding", "algorithm", "dense"), &s, &p, NULL),
                MOT_OK);
            CHECK_INT(mot_partition(&mot_partition_herding, OPTIONS("herding", "algorithm", "blocked"), &s,
                          &blocked, NULL),
                MOT_OK);
            CHECK(same_parts(&p, &blocked) && covers(&p, d->train.rows));
            CHECK_INT(mot_features_open("raw", &s, UINT64_MAX, NULL, &f), MOT_OK);
            CHECK_INT(mot_quality_of(&s, &p, &f, 0, MOT_MMD_EXACT, &q), MOT_OK);
            printf("  seed %llu, %u workers: %.3f of random, worst block %.3f\n", (unsigned long long)seed,
                workers, q.mmd2_mean / q.mmd2_random, q.ratio_worst);
            CHECK_INT(q.worse, 0);
            mot_quality_close(&q), mot_features_close(&f), mot_parts_free(&p), mot_parts_free(&blocked);
        }
    mot_dataset_close(d);
}

TEST_MAIN()
