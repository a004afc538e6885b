/* test_partition.c -- parts cover every row once, are balanced, and repeat from their seed. */
#include "partition/partition.h"

#include "base/memory.h"
#include "base/rng.h"
#include "test.h"
#include <stdbool.h>

static struct mot_table table(uint32_t rows, uint32_t classes)
{
    struct mot_rng rng = mot_rng_at(1, MOT_RNG_TEST, rows);
    float *y = mot_new(rows, sizeof *y);
    for (uint32_t r = 0; r < rows; r++)
        y[r] = classes ? (float)(mot_rng_below(&rng, classes) * mot_rng_below(&rng, 2))
                       : (float)mot_rng_normal(&rng);
    return (struct mot_table){ .rows = rows, .cols = 1, .classes = classes, .y = y };
}

static const struct mot_partitioner *kind(const char *name)
{
    for (size_t i = 0; mot_partitioners[i]; i++)
        if (strcmp(mot_partitioners[i]->name, name) == 0) return mot_partitioners[i];
    return NULL;
}

static enum mot_status cut(
    const char *name, const struct mot_table *t, uint32_t parts, uint64_t seed, struct mot_parts *out)
{
    return mot_partition(
        kind(name), NULL, &(struct mot_split){ .table = t, .parts = parts, .seed = seed }, out, NULL);
}

static bool disjoint_and_balanced(const struct mot_parts *p, uint32_t rows)
{
    unsigned char *seen = mot_new(rows, 1);
    bool good = p->at[0] == 0 && p->at[p->parts] == rows;
    for (uint32_t i = 0; i < rows && good; i++) good = p->row[i] < rows && !seen[p->row[i]]++;
    for (uint32_t i = 0; i < p->parts && good; i++) {
        uint64_t n = p->at[i + 1] - p->at[i];
        good = n == rows / p->parts || n == rows / p->parts + 1;
    }
    free(seen);
    return good;
}

TEST(every_row_is_in_one_part_and_sizes_differ_by_at_most_one)
{
    static const uint32_t sizes[] = { 7, 8, 100, 1001 };
    static const char *const names[] = { "equal", "contiguous", "stratified", "sorted" };
    for (size_t k = 0; k < MOT_COUNT(names); k++)
        for (size_t s = 0; s < MOT_COUNT(sizes); s++)
            for (uint32_t parts = 1; parts <= 7; parts++)
                for (uint32_t classes = 0; classes <= 5; classes += 5) {
                    struct mot_table t = table(sizes[s], classes);
                    struct mot_parts p;
                    if (cut(names[k], &t, parts, 3, &p) != MOT_OK) FAIL("%s", mot_error());
                    if (!disjoint_and_balanced(&p, sizes[s]))
                        FAIL("%s: %u rows in %u parts", names[k], sizes[s], parts);
                    mot_parts_free(&p);
                    free((void *)(size_t)t.y);
                }
}

TEST(contiguous_keeps_the_order)
{
    struct mot_table t = table(10, 2);
    struct mot_parts p;
    CHECK_INT(cut("contiguous", &t, 3, 1, &p), MOT_OK);
    CHECK(p.at[1] == 4 && p.at[2] == 7 && p.at[3] == 10);
    for (uint32_t i = 0; i < 10; i++) CHECK_INT(p.row[i], i);
    mot_parts_free(&p);
    free((void *)(size_t)t.y);
}

TEST(equal_repeats_from_its_seed)
{
    struct mot_table t = table(100, 2);
    struct mot_parts a, b, c;
    cut("equal", &t, 4, 1, &a);
    cut("equal", &t, 4, 1, &b);
    cut("equal", &t, 4, 2, &c);
    CHECK(memcmp(a.row, b.row, 400) == 0);
    CHECK(memcmp(a.row, c.row, 400) != 0);
    mot_parts_free(&a);
    mot_parts_free(&b);
    mot_parts_free(&c);
    free((void *)(size_t)t.y);
}

TEST(stratified_gives_each_part_the_same_mix)
{
    struct mot_table t = table(1003, 5);
    struct mot_parts p;
    CHECK_INT(cut("stratified", &t, 7, 1, &p), MOT_OK);
    for (int class = 0; class < 5; class ++) {
        uint32_t least = UINT32_MAX, most = 0;
        for (uint32_t part = 0; part < 7; part++) {
            uint32_t n = 0;
            for (uint64_t i = p.at[part]; i < p.at[part + 1]; i++) n += t.y[p.row[i]] == (float)class;
            if (n < least) least = n;
            if (n > most) most = n;
        }
        CHECK(most - least <= 1);
    }
    mot_parts_free(&p);
    free((void *)(size_t)t.y);
}

TEST(stratified_values_have_like_means)
{
    struct mot_table t = table(7000, 0);
    struct mot_parts p;
    CHECK_INT(cut("stratified", &t, 7, 1, &p), MOT_OK);
    for (uint32_t part = 0; part < 7; part++) {
        double sum = 0, all = 0;
        for (uint32_t r = 0; r < 7000; r++) all += (double)t.y[r];
        for (uint64_t i = p.at[part]; i < p.at[part + 1]; i++) sum += (double)t.y[p.row[i]];
        CHECK_NEAR(sum / 1000, all / 7000, 0.005); /* by chance alone it would be off by 0.03 */
    }
    mot_parts_free(&p);
    free((void *)(size_t)t.y);
}

TEST(more_workers_than_rows_is_an_error)
{
    struct mot_table t = table(3, 2);
    struct mot_parts p;
    CHECK_INT(cut("equal", &t, 4, 1, &p), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "4 workers share 3 training rows");
    free((void *)(size_t)t.y);
}

TEST_MAIN()
