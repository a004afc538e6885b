/* The eigenvalue solvers against matrices whose eigenvalues are known. */
#include "base/memory.h"
#include "base/rng.h"
#include "test.h"
#include "topology/eigen.h"

#define SIZE 12u

static void random_symmetric(uint64_t seed, uint32_t n, double *a)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 0);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k <= i; k++) a[i * n + k] = a[k * n + i] = mot_rng_normal(&rng);
}

TEST(a_diagonal_matrix_has_its_entries_rising)
{
    double a[9] = { 3, 0, 0, 0, -1, 0, 0, 0, 2 }, values[3], vectors[9];
    mot_eigen(3, a, values, vectors);
    CHECK_NEAR(values[0], -1, 0);
    CHECK_NEAR(values[1], 2, 0);
    CHECK_NEAR(values[2], 3, 0);
    CHECK_NEAR(fabs(vectors[0 * 3 + 1]), 1, 0);
}

TEST(the_second_difference_matrix_has_its_closed_form)
{
    double a[SIZE * SIZE] = { 0 }, values[SIZE];
    for (uint32_t i = 0; i < SIZE; i++) {
        a[i * SIZE + i] = 2;
        if (i + 1 < SIZE) a[i * SIZE + i + 1] = a[(i + 1) * SIZE + i] = -1;
    }
    mot_eigen(SIZE, a, values, NULL);
    for (uint32_t k = 0; k < SIZE; k++)
        CHECK_NEAR(values[k], 2 - 2 * cos((k + 1) * M_PI / (SIZE + 1)), 1e-14);
}

TEST(vectors_are_orthonormal_and_give_the_matrix_back)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        double a[SIZE * SIZE], kept[SIZE * SIZE], values[SIZE], v[SIZE * SIZE];
        random_symmetric(seed, SIZE, a);
        memcpy(kept, a, sizeof(a));
        mot_eigen(SIZE, a, values, v);
        for (uint32_t i = 0; i < SIZE; i++)
            for (uint32_t k = 0; k < SIZE; k++) {
                double inner = 0, back = 0;
                for (uint32_t t = 0; t < SIZE; t++) {
                    inner += v[i * SIZE + t] * v[k * SIZE + t];
                    back += values[t] * v[t * SIZE + i] * v[t * SIZE + k];
                }
                if (fabs(inner - (i == k)) > 1e-13 || fabs(back - kept[i * SIZE + k]) > 1e-12)
                    FAIL("seed %llu", (unsigned long long)seed);
            }
        for (uint32_t i = 1; i < SIZE; i++) CHECK(values[i - 1] <= values[i]);
    }
}

struct dense {
    uint32_t n;
    const double *a;
};

static void apply(const void *self, const double *x, double *y)
{
    const struct dense *d = self;
    for (uint32_t i = 0; i < d->n; i++) {
        y[i] = 0;
        for (uint32_t k = 0; k < d->n; k++) y[i] += d->a[i * d->n + k] * x[k];
    }
}

TEST(lanczos_finds_the_extremes_of_a_ring_beside_its_constant_vector)
{
    enum { N = 40 };
    double a[N * N] = { 0 }, least, greatest;
    for (uint32_t i = 0; i < N; i++) {
        a[i * N + i] = 2;
        a[i * N + (i + 1) % N] = a[(i + 1) % N * N + i] = -1;
    }
    struct dense d = { N, a };
    mot_extremes(N, apply, &d, N, &least, &greatest);
    CHECK_NEAR(least, 2 - 2 * cos(2 * M_PI / N), 1e-12);
    CHECK_NEAR(greatest, 4, 1e-12);
    /* Fewer steps stay inside. */
    mot_extremes(N, apply, &d, 6, &least, &greatest);
    CHECK(least > 2 - 2 * cos(2 * M_PI / N) && greatest < 4);
}

TEST(one_value_many_times_is_no_trouble)
{
    double a[SIZE * SIZE], values[SIZE], least, greatest;
    for (uint32_t i = 0; i < SIZE * SIZE; i++) a[i] = i % SIZE == i / SIZE ? SIZE - 1.0 : -1;
    struct dense d = { SIZE, a };
    mot_extremes(SIZE, apply, &d, 100, &least, &greatest);
    CHECK_NEAR(least, SIZE, 1e-12);
    CHECK_NEAR(greatest, SIZE, 1e-12);
    mot_eigen(SIZE, a, values, NULL);
    CHECK_NEAR(values[0], 0, 1e-13);
    for (uint32_t i = 1; i < SIZE; i++) CHECK_NEAR(values[i], SIZE, 1e-13);
}

TEST(a_matrix_of_one_or_two_is_fine)
{
    double one[1] = { 5 }, two[4] = { 0, 1, 1, 0 }, values[2], least, greatest;
    mot_eigen(1, one, values, NULL);
    CHECK_NEAR(values[0], 5, 0);
    mot_eigen(2, two, values, NULL);
    CHECK_NEAR(values[0], -1, 1e-15);
    CHECK_NEAR(values[1], 1, 1e-15);
    mot_extremes(1, apply, &(struct dense){ 1, one }, 5, &least, &greatest);
    CHECK_NEAR(least, 0, 0);
}

TEST_MAIN()
