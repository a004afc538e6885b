/* test_sampler.c -- a batch is a function of (seed, part, draw). */
#include "base/memory.h"
#include "data/sampler.h"
#include "test.h"
#include <stdbool.h>

#define ROWS 100
static uint64_t at[3] = { 0, 60, ROWS };
static uint32_t row[ROWS];
static const struct mot_parts parts = { 2, at, row };

__attribute__((constructor)) static void fill(void)
{
    for (uint32_t i = 0; i < ROWS; i++) row[i] = 1000 + i;
}

static struct mot_sampler sampler(uint32_t name, uint64_t passes, uint64_t seed)
{
    return (struct mot_sampler){ seed, { name, passes }, &parts };
}

/* Whether out[0..n-1] holds every row of the part once. */
static bool whole_part(const uint32_t *out, uint32_t part)
{
    uint32_t seen[ROWS] = { 0 }, n = (uint32_t)(at[part + 1] - at[part]);
    for (uint32_t i = 0; i < n; i++) {
        if (out[i] < 1000 + at[part] || out[i] >= 1000 + at[part + 1]) return false;
        seen[out[i] - 1000]++;
    }
    for (uint64_t i = at[part]; i < at[part + 1]; i++)
        if (seen[i] != 1) return false;
    return true;
}

TEST(an_epoch_takes_every_row_of_the_part_once)
{
    static const uint32_t kinds[] = { MOT_SAMPLE_RESHUFFLE, MOT_SAMPLE_ONCE, MOT_SAMPLE_SEQUENTIAL };
    uint32_t out[60];
    for (size_t k = 0; k < 3; k++)
        for (uint32_t part = 0; part < 2; part++)
            for (uint64_t epoch = 0; epoch < 5; epoch++) {
                struct mot_sampler s = sampler(kinds[k], MOT_WORD_UINT, 1);
                uint32_t n = (uint32_t)(at[part + 1] - at[part]);
                CHECK_INT(mot_sample(&s, part, epoch * n, 0, n, out), n);
                CHECK(whole_part(out, part));
            }
}

TEST(reshuffle_changes_the_order_each_epoch_and_once_does_not)
{
    uint32_t first[60], second[60];
    struct mot_sampler s = sampler(MOT_SAMPLE_RESHUFFLE, MOT_WORD_UINT, 1);
    mot_sample(&s, 0, 0, 0, 60, first);
    mot_sample(&s, 0, 60, 0, 60, second);
    CHECK(memcmp(first, second, sizeof first) != 0);
    s = sampler(MOT_SAMPLE_ONCE, MOT_WORD_UINT, 1);
    mot_sample(&s, 0, 0, 0, 60, first);
    mot_sample(&s, 0, 60, 0, 60, second);
    CHECK(memcmp(first, second, sizeof first) == 0);
    CHECK(first[0] != 1000 || first[1] != 1001 || first[2] != 1002);
}

TEST(a_batch_does_not_depend_on_how_it_is_sliced)
{
    for (uint32_t kind = 0; kind <= MOT_SAMPLE_SEQUENTIAL; kind++) {
        struct mot_sampler s = sampler(kind, MOT_WORD_UINT, 9);
        uint32_t whole[150], sliced[150], done = 0;
        CHECK_INT(mot_sample(&s, 1, 37, 0, 150, whole), 150);
        for (uint32_t step = 1; done < 150; step++) {
            uint32_t n = step < 150 - done ? step : 150 - done;
            done += mot_sample(&s, 1, 37, done, n, sliced + done);
        }
        CHECK(memcmp(whole, sliced, sizeof whole) == 0);
    }
}

TEST(seed_and_part_decide)
{
    for (uint32_t kind = 0; kind < MOT_SAMPLE_SEQUENTIAL; kind++) {
        struct mot_sampler a = sampler(kind, MOT_WORD_UINT, 1), b = sampler(kind, MOT_WORD_UINT, 2);
        uint32_t x[32], y[32];
        mot_sample(&a, 0, 5, 0, 32, x);
        mot_sample(&a, 0, 5, 0, 32, y);
        CHECK(memcmp(x, y, sizeof x) == 0);
        mot_sample(&b, 0, 5, 0, 32, y);
        CHECK(memcmp(x, y, sizeof x) != 0);
    }
}

TEST(replacement_is_uniform)
{
    struct mot_sampler s = sampler(MOT_SAMPLE_REPLACE, MOT_WORD_UINT, 4);
    uint32_t out[1000], count[40] = { 0 };
    for (uint64_t draw = 0; draw < 400000; draw += 1000) {
        CHECK_INT(mot_sample(&s, 1, draw, 0, 1000, out), 1000);
        for (int i = 0; i < 1000; i++) count[out[i] - 1060]++;
    }
    double chi2 = 0; /* 39 degrees of freedom: over 72.1 with a chance of 0.001 */
    for (int i = 0; i < 40; i++) chi2 += pow(count[i] - 10000.0, 2) / 10000;
    if (!(chi2 < 72.1)) FAIL("chi squared is %g", chi2);
    CHECK(chi2 > 10);
}

TEST(choice_has_no_row_twice_and_batches_are_independent)
{
    struct mot_sampler s = sampler(MOT_SAMPLE_CHOICE, MOT_WORD_UINT, 4);
    uint32_t first[40], second[40], count[40] = { 0 };
    mot_sample(&s, 1, 0, 0, 40, first);
    CHECK(whole_part(first, 1));
    mot_sample(&s, 1, 20, 0, 40, second);
    CHECK(whole_part(second, 1));
    CHECK(memcmp(first, second, sizeof first) != 0);
    for (uint64_t draw = 0; draw < 20000; draw += 10) {
        mot_sample(&s, 1, draw, 0, 10, first);
        for (int i = 0; i < 10; i++) count[first[i] - 1060]++;
    }
    for (int i = 0; i < 40; i++)
        if (count[i] < 400 || count[i] > 600) FAIL("row %d was taken %u times of about 500", i, count[i]);
}

TEST(passes_end_the_sequence)
{
    for (uint32_t kind = 0; kind <= MOT_SAMPLE_SEQUENTIAL; kind++) {
        struct mot_sampler s = sampler(kind, 2, 1);
        uint32_t out[200];
        CHECK_INT(mot_sample_count(&s, 1, 0, 1000), 80);
        CHECK_INT(mot_sample(&s, 1, 0, 0, 200, out), 80);
        CHECK_INT(mot_sample(&s, 1, 70, 0, 32, out), 10);
        CHECK_INT(mot_sample(&s, 1, 70, 6, 32, out), 4);
        CHECK_INT(mot_sample(&s, 1, 80, 0, 1, out), 0);
        CHECK_INT(mot_sample_count(&s, 1, 81, 1), 0);
    }
}

TEST_MAIN()
