/* test_quota.c -- shares by speed, rounded both ways: by class and by worker. */
#include "partition/quota.h"

#include "help.h"

/* The largest distance of quotas and of totals from their exact values;
 * -1 where rows are lost or a worker has none. */
static void errors_of(const struct mot_strata *s, uint32_t parts, const double *speed, const uint32_t *quota,
    double *class_off, double *worker_off)
{
    double *share = mot_new(parts, sizeof *share);
    mot_shares_of(parts, speed, share);
    *class_off = *worker_off = 0;
    for (uint32_t l = 0; l < s->classes; l++) {
        uint32_t sum = 0;
        for (uint32_t j = 0; j < parts; j++) {
            sum += quota[(size_t)l * parts + j];
            *class_off =
                fmax(*class_off, fabs(quota[(size_t)l * parts + j] - (s->at[l + 1] - s->at[l]) * share[j]));
        }
        if (sum != s->at[l + 1] - s->at[l]) *class_off = INFINITY;
    }
    for (uint32_t j = 0; j < parts; j++) {
        uint32_t sum = 0;
        for (uint32_t l = 0; l < s->classes; l++) sum += quota[(size_t)l * parts + j];
        *worker_off = fmax(*worker_off, sum ? fabs(sum - s->at[s->classes] * share[j]) : INFINITY);
    }
    free(share);
}

static struct mot_strata strata_of(uint32_t classes, const uint32_t *rows_of)
{
    struct mot_table t = labels_only(classes, rows_of);
    struct mot_strata s = mot_strata_of(&t);
    free((void *)(size_t)t.y);
    return s;
}

TEST(a_hundred_workers_and_ten_classes_of_fifty_leave_nobody_empty)
{
    uint32_t rows_of[10], *quota;
    double class_off, worker_off;
    for (int l = 0; l < 10; l++) rows_of[l] = 50;
    struct mot_strata s = strata_of(10, rows_of);
    CHECK_INT(mot_quota_of(&s, 100, NULL, &quota), MOT_OK);
    errors_of(&s, 100, NULL, quota, &class_off, &worker_off);
    CHECK_NEAR(worker_off, 0, 1e-9); /* five rows each */
    CHECK(class_off <= 0.5);
    free(quota);
    mot_strata_free(&s);
}

TEST(quotas_and_totals_are_within_one_row_whatever_the_speeds)
{
    struct mot_rng rng = mot_rng_at(7, MOT_RNG_TEST, 1);
    printf("  seed 7\n");
    for (int round = 0; round < 20000; round++) {
        uint32_t classes = 1 + (uint32_t)mot_rng_below(&rng, 12),
                 parts = 1 + (uint32_t)mot_rng_below(&rng, 60), rows_of[12], n = 0, *quota;
        double *speed = mot_new(parts, sizeof *speed), class_off, worker_off, slowest = INFINITY, all = 0;
        for (uint32_t j = 0; j < parts; j++) {
            speed[j] = round % 3 == 0 ? 1 + (double)mot_rng_below(&rng, 3) : 0.5 + mot_rng_unit(&rng);
            slowest = fmin(slowest, speed[j]);
            all += speed[j];
        }
        for (uint32_t l = 0; l < classes; l++)
            n += rows_of[l] = (uint32_t)mot_rng_below(&rng, round % 2 ? 9 : 200);
        /* else a worker's one row may cost another more than one */
        while (n * slowest / all < 1) n++, rows_of[0]++;
        struct mot_strata s = strata_of(classes, rows_of);
        if (mot_quota_of(&s, parts, speed, &quota) != MOT_OK) FAIL("round %d: %s", round, mot_error());
        errors_of(&s, parts, speed, quota, &class_off, &worker_off);
        /* rounded up or down: what is whole stays as it is */
        if (!(class_off < 1 - 1e-9 && worker_off < 1 - 1e-9))
            FAIL("round %d: %u classes, %u workers, %u rows: off by %g in a class, %g in a total", round,
                classes, parts, n, class_off, worker_off);
        free(quota);
        free(speed);
        mot_strata_free(&s);
    }
}

TEST(as_many_workers_as_rows_get_one_each_however_slow)
{
    uint32_t rows_of[3] = { 20, 3, 7 }, *quota;
    double speed[30];
    for (int j = 0; j < 30; j++) speed[j] = j ? 1e-3 * j : 1e6;
    struct mot_strata s = strata_of(3, rows_of);
    CHECK_INT(mot_quota_of(&s, 30, speed, &quota), MOT_OK);
    for (uint32_t j = 0; j < 30; j++) CHECK_INT(quota[j] + quota[30 + j] + quota[60 + j], 1);
    free(quota);
    mot_strata_free(&s);
}

TEST(a_very_slow_worker_still_has_a_row_and_the_others_keep_their_shares)
{
    uint32_t rows_of[2] = { 50, 50 }, *quota;
    const double speed[] = { 1000, 1000, 1 };
    double class_off, worker_off;
    struct mot_strata s = strata_of(2, rows_of);
    CHECK_INT(mot_quota_of(&s, 3, speed, &quota), MOT_OK);
    errors_of(&s, 3, speed, quota, &class_off, &worker_off);
    CHECK_INT(quota[2] + quota[5], 1);
    CHECK(class_off <= 1 && worker_off <= 1);
    free(quota);
    mot_strata_free(&s);
}

TEST(a_speed_that_is_no_positive_number_is_an_error_that_names_the_worker)
{
    uint32_t rows_of[1] = { 10 }, *quota;
    static const double bad[] = { 0, -1, NAN, INFINITY };
    struct mot_strata s = strata_of(1, rows_of);
    for (size_t i = 0; i < MOT_COUNT(bad); i++) {
        const double speed[] = { 1, bad[i], 2 };
        CHECK_INT(mot_quota_of(&s, 3, speed, &quota), MOT_EUSAGE);
        CHECK_HAS(mot_error(), "the speed of worker 1 is ");
        CHECK_HAS(mot_error(), "expected a finite number above 0");
    }
    mot_strata_free(&s);
}

TEST(proportional_gives_each_class_by_speed_at_random)
{
    uint32_t rows_of[] = { 500, 301, 12 };
    const double speed[] = { 2, 1, 1, 1, 1, 2, 1, 1 };
    struct mot_table t = labels_only(3, rows_of);
    struct mot_split split = { .table = &t, .parts = 8, .speed = speed, .seed = 3 };
    struct mot_parts a, b;
    CHECK_INT(mot_partition(partitioner("proportional"), NULL, &split, &a, NULL), MOT_OK);
    split.seed = 4;
    CHECK_INT(mot_partition(partitioner("proportional"), NULL, &split, &b, NULL), MOT_OK);
    CHECK(covers(&a, t.rows) && covers(&b, t.rows) && !same_parts(&a, &b));
    for (uint32_t j = 0; j < 8; j++)
        for (uint32_t l = 0; l < 3; l++) CHECK_NEAR(count_label(&a, &t, j, l), rows_of[l] * speed[j] / 10, 1);
    mot_parts_free(&a);
    mot_parts_free(&b);
    free((void *)(size_t)t.y);
}

TEST_MAIN()
