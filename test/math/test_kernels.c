/* Vector kernels of every set this machine can run, against their plain twins; matrix products are in
 * test_kernels_gemm.c and test_kernels_few.c. */
#include "twins.h"
#include <float.h>

/* ---- Vectors ------------------------------------------------------------------ */

TEST(one_entry_that_is_not_finite_is_found_wherever_it_is)
{
    const float wrong[] = { NAN, -NAN, INFINITY, -INFINITY },
                right[] = { FLT_MAX, -FLT_MAX, FLT_MIN / 2, -0.0f };
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 6);
    EACH_SET(k)
    for (size_t n = 0; n < 80; n++) {
        float *x = fresh(n + 1);
        float *moved = fresh(n + 1);
        const struct mot_sgd s = { 0.5f, 0.01f, 0, 0.1f, false };
        x[n] = NAN; /* what lies behind is not looked at */
        for (size_t i = 0; i < n; i++)
            for (size_t w = 0; w < 4; w++) {
                float was = x[i];
                x[i] = right[w];
                CHECK(k->finite(n, x) && mot_kernels_ref.finite(n, x));
                CHECK(k->sgd(n, &s, x, x, moved) && mot_kernels_ref.sgd(n, &s, x, x, moved));
                x[i] = wrong[w];
                CHECK(!k->finite(n, x) && !mot_kernels_ref.finite(n, x));
                CHECK(!k->sgd(n, &s, x, x, moved) && !mot_kernels_ref.sgd(n, &s, x, x, moved));
                x[i] = was;
            }
        CHECK(k->finite(n, x));
        free(x), free(moved);
    }
}

TEST(vector_kernels_match_their_twins)
{
    const struct mot_kernels *ref = &mot_kernels_ref;
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 5);
    EACH_SET(k)
    for (size_t i = 0; i < SIZES; i++) {
        size_t n = sizes[i];
        float *x = fresh(n), *y = fresh(n), *z = copy(y, n), *u = fresh(n), *v = copy(u, n);
        const float *terms[3] = { x, y, u }, a[3] = { 0.5f, -1.25f, 3 };
        double off[6];
        off[0] = fabs(k->dot(n, x, y) - ref->dot(n, x, y));
        off[1] = fabs(k->norm2(n, x) - ref->norm2(n, x));
        k->axpy(n, 0.7f, x, y), ref->axpy(n, 0.7f, x, z);
        off[2] = gap(n, y, z);
        k->sum(n, 3, a, terms, z), ref->sum(n, 3, a, terms, v);
        off[3] = gap(n, z, v);
        k->add(n, 3, terms, z), ref->add(n, 3, terms, v);
        CHECK(memcmp(z, v, n * sizeof *z) == 0); /* in order: not a bit may differ */
        memcpy(v, u, n * sizeof *v);
        k->relu(n, u), ref->relu(n, v);
        off[4] = gap(n, u, v);
        k->relu_back(n, x, y), memcpy(z, y, n * sizeof *z), ref->relu_back(n, x, z);
        off[5] = gap(n, y, z);
        free(x), free(y), free(z), free(u), free(v);
        CHECK(off[0] < 1e-13 && off[1] < 1e-13);
        CHECK(off[2] < 1e-7 && off[3] < 3e-7 && off[4] == 0 && off[5] == 0);
    }
}

/* Long results are written past the caches. */
TEST(a_long_sum_is_the_sum_of_its_pieces_to_the_bit_wherever_it_begins)
{
    enum { LONG = (1 << 20) + 37, PIECE = 4096 };
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 14);
    float *x = fresh(LONG), *y = fresh(LONG), *in_place = copy(x, LONG);
    float *whole = fresh(LONG + 32), *pieces = fresh(LONG + 32);
    const float a[2] = { 0.75f, -1.5f };
    EACH_SET(k)
    for (size_t off = 0; off < 17; off += 4 - off % 3) {
        const size_t n = LONG - off;
        const float *terms[2] = { x, y }, *same[2] = { in_place, y };
        memcpy(pieces, whole, (LONG + 32) * sizeof(*whole)); /* what lies before and behind stays */
        k->sum(n, 2, a, terms, whole + off);
        for (size_t i = 0; i < n; i += PIECE) {
            const float *at[2] = { x + i, y + i };
            k->sum(n - i < PIECE ? n - i : PIECE, 2, a, at, pieces + off + i);
        }
        CHECK(memcmp(whole, pieces, (LONG + 32) * sizeof(*whole)) == 0);
        memcpy(in_place, x, LONG * sizeof(*x));
        k->sum(n, 2, a, same, in_place);
        CHECK(memcmp(in_place, whole + off, n * sizeof(*x)) == 0);
    }
    free(x), free(y), free(in_place), free(whole), free(pieces);
}

TEST(blend_is_its_twin_to_the_bit_in_every_set)
{
    enum { TERMS = 7, MOST = 130 };
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 7);
    float *x[TERMS], y[MOST], z[MOST];
    double a[TERMS], sum[MOST], want[MOST];
    for (int t = 0; t < TERMS; t++) x[t] = fresh(MOST), a[t] = mot_rng_normal(&rng);
    EACH_SET(k)
    for (size_t i = 0; i < SIZES; i++)
        for (uint32_t terms = 1; terms <= TERMS; terms++)
            for (int how = 0; how < 4; how++) {
                bool first = how % 2, ends = how / 2;
                for (int j = 0; j < MOST; j++) sum[j] = want[j] = 1.0 / (j + 3), y[j] = z[j] = 5;
                k->blend(sizes[i], terms, a, (const float *const *)x, first, sum, ends ? y : NULL);
                mot_kernels_ref.blend(
                    sizes[i], terms, a, (const float *const *)x, first, want, ends ? z : NULL);
                CHECK(memcmp(sum, want, sizeof sum) == 0 && memcmp(y, z, sizeof y) == 0);
            }
    for (int t = 0; t < TERMS; t++) free(x[t]);
}

TEST(dot_gives_the_same_bits_in_every_set)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 6);
    float *x = fresh(1003), *y = fresh(1003);
    double first = 0;
    bool begun = false;
    EACH_SET(k)
    {
        double d = k->dot(1003, x, y);
        CHECK(!begun || d == first);
        first = d, begun = true;
    }
    free(x), free(y);
}

/* ---- Similarities ------------------------------------------------------------- */

TEST(similarities_are_those_of_the_twin_to_the_last_step)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 40);
    static const uint32_t rows_of[] = { 1, 5, 16 };
    EACH_SET(k)
    for (size_t r = 0; r < 3; r++)
        for (uint32_t panels = 1; panels <= 3; panels++) {
            uint32_t rows = rows_of[r], cols = panels * MOT_PANEL;
            float *dot = fresh((size_t)rows * cols), *a2 = fresh(rows), *b2 = fresh(cols);
            uint16_t *got = mot_new((size_t)rows * (cols + 3), sizeof *got),
                     *want = mot_new((size_t)rows * (cols + 3), sizeof *want);
            for (uint32_t i = 0; i < rows; i++) a2[i] += 1;
            for (uint32_t j = 0; j < cols; j++) b2[j] = j + 2 < cols ? b2[j] + 1 : INFINITY;
            k->gauss(rows, panels, dot, a2, b2, 0.7f, got, cols + 3);
            mot_kernels_ref.gauss(rows, panels, dot, a2, b2, 0.7f, want, cols + 3);
            int worst = 0, padding = 0;
            for (uint32_t i = 0; i < rows; i++)
                for (uint32_t j = 0; j < cols; j++) {
                    int off = abs((int)got[i * (cols + 3) + j] - (int)want[i * (cols + 3) + j]);
                    if (off > worst) worst = off;
                    if (j + 2 >= cols) padding += got[i * (cols + 3) + j];
                }
            free(dot), free(a2), free(b2), free(got), free(want);
            CHECK(worst <= 1);
            CHECK_INT(padding, 0);
        }
}

TEST(covers_and_their_gains_are_exact_in_every_set)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 41);
    /* the last: more than one block of sums */
    static const size_t lengths[] = { 0, 1, 7, 16, 31, 64, 1003, 600001 };
    EACH_SET(k)
    for (size_t i = 0; i < MOT_COUNT(lengths); i++) {
        size_t n = lengths[i];
        uint16_t *s = mot_new(n + 1, sizeof *s), *c = mot_new(n + 1, sizeof *c),
                 *d = mot_new(n + 1, sizeof *d);
        uint64_t *sum = mot_new(n + 1, sizeof *sum), *twin = mot_new(n + 1, sizeof *twin);
        for (size_t j = 0; j < n; j++)
            s[j] = (uint16_t)mot_rng_next(&rng), c[j] = d[j] = (uint16_t)(n > 2000 ? 0 : mot_rng_next(&rng));
        if (n > 2000) memset(s, 0xff, n * sizeof *s);
        uint64_t gain = k->uncovered(n, s, c), expected = mot_kernels_ref.uncovered(n, s, c);
        k->cover(n, s, c), mot_kernels_ref.cover(n, s, d);
        k->add_short(n, s, sum), mot_kernels_ref.add_short(n, s, twin);
        bool same = memcmp(c, d, n * sizeof *c) == 0 && memcmp(sum, twin, n * sizeof *sum) == 0;
        uint64_t left = k->uncovered(n, s, c);
        free(s), free(c), free(d), free(sum), free(twin);
        CHECK(gain == expected && same && left == 0);
    }
}

TEST(the_first_greatest_is_found_and_what_was_taken_is_taken_off_in_every_set)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 43);
    static const size_t lengths[] = { 0, 1, 3, 4, 8, 9, 17, 64, 1003 };
    EACH_SET(k)
    for (size_t i = 0; i < 3 * MOT_COUNT(lengths); i++) {
        size_t n = lengths[i / 3];
        double *mean = mot_new(n + 1, sizeof *mean), *lead = mot_new(n + 1, sizeof *lead),
               *twin = mot_new(n + 1, sizeof *twin);
        uint16_t *s = mot_new(n + 1, sizeof *s);
        for (size_t j = 0; j < n; j++) {
            /* few values, so that many are equal; some are out */
            mean[j] = mot_rng_unit(&rng) < 0.2 ? -INFINITY : (double)(mot_rng_next(&rng) % 3);
            lead[j] = twin[j] = (double)(mot_rng_next(&rng) % 5);
            s[j] = (uint16_t)(i % 3 == 0 ? mot_rng_next(&rng) : mot_rng_next(&rng) % 2);
        }
        size_t got = k->herd(n, 3, mean, i % 3 == 1 ? NULL : s, lead),
               expected = mot_kernels_ref.herd(n, 3, mean, i % 3 == 1 ? NULL : s, twin);
        bool same = memcmp(lead, twin, n * sizeof *lead) == 0;
        free(mean), free(lead), free(twin), free(s);
        CHECK(same && got == expected);
    }
}

TEST(bytes_of_cosines_are_the_nearest_and_their_sums_exact)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 44);
    enum { N = 1003 };
    float *x = fresh(N);
    static int8_t y[N], z[N];
    static int32_t sum[N], twin[N];
    EACH_SET(k)
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N; i++) x[i] = (float)(mot_rng_unit(&rng) * 2 - 1);
        x[0] = 1, x[1] = -1, x[2] = 0;
        k->to_bytes(N, x, y), mot_kernels_ref.to_bytes(N, x, z);
        CHECK(memcmp(y, z, sizeof y) == 0 && y[0] == 127 && y[1] == -127);
        k->add_bytes(N, y, sum), mot_kernels_ref.add_bytes(N, y, twin);
        CHECK(memcmp(sum, twin, sizeof sum) == 0);
    }
    free(x);
}

TEST(cosine_is_right_to_a_millionth)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 42);
    enum { N = 4001 };
    float *x = fresh(N), *y = fresh(N), *z = fresh(N);
    EACH_SET(k)
    {
        for (int scale = 1; scale <= 10000; scale *= 10) {
            for (int i = 0; i < N; i++) x[i] = (float)((mot_rng_unit(&rng) * 2 - 1) * scale);
            k->cosine(N, x, y), mot_kernels_ref.cosine(N, x, z);
            CHECK(gap(N, y, z) < 1e-6 + 1e-10 * scale);
        }
    }
    free(x), free(y), free(z);
}

TEST(sparse_kernels_match_their_twins)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 7);
    EACH_SET(k)
    for (uint32_t n = 0; n < 40; n++) {
        uint32_t col[40];
        float val[40], w[200], y[200], z[200];
        double s[200] = { 0 }, t[200] = { 0 };
        draw(val, 40), draw(w, 200), draw(y, 200), memcpy(z, y, sizeof z);
        for (uint32_t i = 0; i < 40; i++) col[i] = i * 5 % 200;
        CHECK_NEAR(k->sparse_dot(n, col, val, w), mot_kernels_ref.sparse_dot(n, col, val, w), 1e-14);
        k->sparse_axpy(n, 0.3f, col, val, y), mot_kernels_ref.sparse_axpy(n, 0.3f, col, val, z);
        k->sparse_axpy_double(n, 0.3, col, val, s), mot_kernels_ref.sparse_axpy_double(n, 0.3, col, val, t);
        CHECK(gap(200, y, z) < 1e-7);
        CHECK(memcmp(s, t, sizeof s) == 0);
    }
}

/* ---- exp and log --------------------------------------------------------------- */

/* Distance in steps of float between a value and the true one. */
static double ulps(float got, double want)
{
    if (isnan(want)) return isnan(got) ? 0 : INFINITY;
    if ((float)want == got) return 0;
    if (isinf(got) || fabs(want) > 3.402823669e38) return INFINITY;
    int exponent;
    frexp(want, &exponent);
    if (exponent < -125) exponent = -125;
    return fabs((double)got - want) / ldexp(1, exponent - 24);
}

TEST(exp_is_within_two_ulps_everywhere)
{
    EACH_SET(k)
    {
        double worst = 0;
        for (double at = -110; at < 92; at += (SANITIZED ? 50450 : 1009) * 1.1e-7) {
            float x[8], y[8];
            for (int i = 0; i < 8; i++) x[i] = (float)(at + i * 1.37e-5);
            k->exp(8, x, y);
            for (int i = 0; i < 8; i++) worst = fmax(worst, ulps(y[i], exp((double)x[i])));
        }
        CHECK_NEAR(worst, 0, 2);
        float odd[5] = { 0, -INFINITY, INFINITY, NAN, -1e30f }, out[5];
        k->exp(5, odd, out);
        CHECK(out[0] == 1 && out[1] == 0 && isinf(out[2]) && isnan(out[3]) && out[4] == 0);
    }
}

TEST(log_is_within_two_ulps_everywhere)
{
    EACH_SET(k)
    {
        double worst = 0;
        for (uint64_t bits = 1; bits < 0x7f800000u; bits += SANITIZED ? 75503 : 1511) {
            float x[8], y[8];
            for (uint32_t i = 0; i < 8; i++) {
                uint32_t b = (uint32_t)bits + i * 149;
                if (b >= 0x7f800000u) b = 0x7f7fffffu;
                memcpy(&x[i], &b, sizeof b);
            }
            k->log(8, x, y);
            for (int i = 0; i < 8; i++) worst = fmax(worst, ulps(y[i], log((double)x[i])));
        }
        for (float near = 0.9f; near < 1.1f;
             near += SANITIZED ? 1e-4f : 1e-6f) { /* where the result is small */
            float y;
            k->log(1, &near, &y);
            worst = fmax(worst, ulps(y, log((double)near)));
        }
        CHECK_NEAR(worst, 0, 2);
        float odd[5] = { 1, 0, -1, INFINITY, NAN }, out[5];
        k->log(5, odd, out);
        CHECK(out[0] == 0 && isinf(out[1]) && out[1] < 0 && isnan(out[2]) && isinf(out[3]) && isnan(out[4]));
    }
}

/* ---- Losses --------------------------------------------------------------------- */

TEST(logistic_matches_its_twin_and_does_not_overflow)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 8);
    EACH_SET(k)
    for (uint32_t rows = 1; rows <= 128; rows += rows < 20 ? 1 : 36) {
        double z[128], d[128], e[128];
        float y[128];
        for (uint32_t r = 0; r < rows; r++) {
            z[r] = mot_rng_normal(&rng) * (r % 3 ? 2 : 200);
            y[r] = mot_rng_below(&rng, 2);
        }
        double a = k->logistic(rows, z, y, 0.37, d), b = mot_kernels_ref.logistic(rows, z, y, 0.37, e);
        CHECK_NEAR(a, b, 1e-14 * (1 + fabs(b)));
        CHECK_NEAR(k->logistic(rows, z, y, 0.37, NULL), a, 0);
        for (uint32_t r = 0; r < rows; r++) CHECK_NEAR(d[r], e[r], 1e-15);
    }
    EACH_SET(k)
    {
        double far[5] = { 1e4, -1e4, 1e300, -1e300, NAN }, d[5];
        float ones[5] = { 1, 1, 1, 1, 1 };
        CHECK_NEAR(k->logistic(2, far, ones, 1, d), 1e4, 1e-9);
        CHECK(d[0] <= 0 && d[0] > -1e-300 && d[1] == -1);
        CHECK_NEAR(k->logistic(4, far, ones, 1, d), 1e300, 1e285);
        CHECK(isnan(k->logistic(5, far, ones, 1, d)) && isnan(d[4]));
    }
}

TEST(softmax_losses_match_their_twins)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 9);
    static const uint32_t classes[] = { 2, 3, 10, 26 };
    EACH_SET(k)
    for (size_t ci = 0; ci < 4; ci++)
        for (uint32_t rows = 1; rows <= 128; rows += rows < 20 ? 1 : 36)
            for (int smooth = 0; smooth < 2; smooth++) {
                uint32_t c = classes[ci], hits = 0, expected_hits = 0;
                size_t n = (size_t)c * mot_panels(rows) * 16;
                float y[128], *z = fresh(n), *want = mot_new(n, sizeof *want), *p = mot_new(n, sizeof *p), *q;
                for (size_t i = 0; i < n; i++) z[i] *= 20;
                for (uint32_t r = 0; r < rows; r++) y[r] = (float)mot_rng_below(&rng, c);
                memcpy(want, z, n * sizeof *z), memcpy(p, z, n * sizeof *z), q = copy(z, n);
                float s = smooth ? 0.1f : 0;
                double a = k->softmax_loss(rows, c, z, y, 0.5f, s, &hits);
                double b = mot_kernels_ref.softmax_loss(rows, c, want, y, 0.5f, s, &expected_hits);
                double off = gap(n, z, want), worst = 0;
                k->softmax(rows, c, p), mot_kernels_ref.softmax(rows, c, q);
                for (uint32_t r = 0; r < rows; r++)
                    for (uint32_t i = 0; i < c; i++) {
                        size_t at = ((size_t)(r / 16) * c + i) * 16 + r % 16;
                        worst = fmax(worst, fabs((double)p[at] - (double)q[at]));
                    }
                free(z), free(want), free(p), free(q);
                CHECK_NEAR(a, b, 1e-6 * (rows + b));
                CHECK(off < 3e-7 && worst < 5e-7);
                CHECK_INT(hits, expected_hits);
            }
}

TEST(softmax_counts_a_tie_for_the_first_class_only)
{
    EACH_SET(k)
    {
        float z[3 * 16] = { 0 }, y[2] = { 0, 2 };
        uint32_t hits = 0;
        CHECK_NEAR(k->softmax_loss(2, 3, z, y, 1, 0, &hits), 2 * log(3), 1e-6);
        CHECK_INT(hits, 1);
    }
}

TEST(softmax_survives_large_numbers_and_passes_nan_on)
{
    EACH_SET(k)
    {
        float z[2 * 16] = { 0 }, y[1] = { 1 };
        z[0] = 3e38f, z[16] = -3e38f;
        CHECK_NEAR(k->softmax_loss(1, 2, z, y, 1, 0, NULL), 6e38, 1e32);
        CHECK(z[0] == 1 && z[16] == -1);
        z[0] = 1e4f, z[16] = -1e4f;
        CHECK_NEAR(k->softmax_loss(1, 2, z, y, 1, 0, NULL), 2e4, 1e-2);
        z[0] = NAN, z[16] = 0;
        CHECK(isnan(k->softmax_loss(1, 2, z, y, 1, 0, NULL)));
        z[0] = 0, z[16] = NAN;
        CHECK(isnan(k->softmax_loss(1, 2, z, y, 1, 0, NULL)));
    }
}

TEST(rows_sum_matches_its_twin)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 10);
    EACH_SET(k)
    for (size_t j = 0; j < SIZES; j++) {
        uint32_t rows = 37, cols = sizes[j];
        float *x = fresh((size_t)rows * cols), *g = fresh(cols), *want = copy(g, cols);
        const float *row[37];
        double d[37];
        for (uint32_t r = 0; r < rows; r++) row[r] = x + (size_t)r * cols, d[r] = mot_rng_normal(&rng);
        k->rows_sum(rows, cols, d, row, g);
        mot_kernels_ref.rows_sum(rows, cols, d, row, want);
        double off = gap(cols, g, want);
        free(x), free(g), free(want);
        CHECK(off < 1e-7);
    }
}

/* ---- Updates ---------------------------------------------------------------------- */

TEST(updates_match_their_twins_in_place_or_not)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 11);
    EACH_SET(k)
    for (size_t i = 0; i < SIZES; i++)
        for (int nesterov = 0; nesterov < 2; nesterov++) {
            size_t n = sizes[i];
            float g[130], x[130], m[130], v[130], a[3][130], b[3][130];
            draw(g, n), draw(x, n), draw(m, n), draw(v, n);
            for (size_t j = 0; j < n; j++) v[j] *= v[j];
            struct mot_sgd s = { 0.5f, 0.01f, 0.9f, 0.1f, nesterov };
            struct mot_adamw w = { 0.5f, 0.9f, 0.1f, 0.999f, 0.001f, 1e-4f, 0.01f, 31.6f, 1e-8f };

            k->sgd(n, &s, g, x, a[0]), mot_kernels_ref.sgd(n, &s, g, x, b[0]);
            CHECK(gap(n, a[0], b[0]) < 2e-7);
            k->momentum(n, &s, g, x, a[0], m, a[1]), mot_kernels_ref.momentum(n, &s, g, x, b[0], m, b[1]);
            CHECK(gap(n, a[0], b[0]) < 2e-7 && gap(n, a[1], b[1]) < 2e-7);
            k->adamw(n, &w, g, x, a[0], m, a[1], v, a[2]),
                mot_kernels_ref.adamw(n, &w, g, x, b[0], m, b[1], v, b[2]);
            CHECK(gap(n, a[0], b[0]) < 4e-7 && gap(n, a[1], b[1]) < 2e-7 && gap(n, a[2], b[2]) < 2e-7);

            k->adamw(n, &w, g, x, x, m, m, v, v);
            CHECK(memcmp(x, a[0], n * sizeof *x) == 0 && memcmp(v, a[2], n * sizeof *v) == 0);
        }
}

/* ---- Determinism -------------------------------------------------------------------- */

TEST(results_do_not_depend_on_alignment_or_on_where_the_vector_ends)
{
    /* Element i of n numbers at any offset has the bits it has among 130 at offset 0. */
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 12);
    float base[4][160];
    for (int i = 0; i < 4; i++) draw(base[i], 160);
    for (int i = 0; i < 160; i++) base[3][i] = fabsf(base[3][i]);
    struct mot_sgd s = { 0.37f, 0.013f, 0.87f, 0.11f, true };
    struct mot_adamw w = { 0.37f, 0.9f, 0.1f, 0.999f, 0.001f, 1e-4f, 0.013f, 31.6f, 1e-8f };
    EACH_SET(k)
    {
        float whole[7][160], part[7][160];
        k->exp(160, base[0], whole[0]), k->log(160, base[3], whole[1]);
        k->momentum(160, &s, base[0], base[1], whole[2], base[2], whole[3]);
        k->adamw(160, &w, base[0], base[1], whole[4], base[2], whole[5], base[3], whole[6]);
        for (size_t off = 0; off < 17; off++)
            for (size_t n = 1; n < 30; n++) {
                memset(part, 0, sizeof part);
                k->exp(n, base[0] + off, part[0] + off), k->log(n, base[3] + off, part[1] + off);
                k->momentum(n, &s, base[0] + off, base[1] + off, part[2] + off, base[2] + off, part[3] + off);
                k->adamw(n, &w, base[0] + off, base[1] + off, part[4] + off, base[2] + off, part[5] + off,
                    base[3] + off, part[6] + off);
                for (int i = 0; i < 7; i++)
                    if (memcmp(part[i] + off, whole[i] + off, n * sizeof(float)) != 0)
                        FAIL("%s: kernel %d, %zu numbers at %zu", k->name, i, n, off);
            }
        float moved[200];
        for (size_t off = 0; off < 8; off++) {
            memcpy(moved + off, base[0], 150 * sizeof(float));
            CHECK(k->dot(150, moved + off, base[1]) == k->dot(150, base[0], base[1]));
        }
    }
}

TEST(a_row_has_the_same_loss_wherever_it_falls_in_the_batch)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 13);
    EACH_SET(k)
    {
        float z[5], y = 3, panels[5 * 128] = { 0 }, labels[128];
        double alone = 0;
        draw(z, 5);
        for (uint32_t r = 0; r < 40; r++) {
            memset(panels, 0, sizeof panels);
            for (int c = 0; c < 5; c++) panels[(r / 16 * 5 + (uint32_t)c) * 16 + r % 16] = z[c];
            for (int i = 0; i < 128; i++) labels[i] = y;
            k->softmax_loss(40, 5, panels, labels, 1, 0, NULL);
            float d = panels[(r / 16 * 5 + 3) * 16 + r % 16];
            if (r == 0) alone = (double)d;
            CHECK((double)d == alone);
        }
    }
}

TEST(the_chosen_set_has_a_name_and_is_one_of_all)
{
    bool found = false;
    EACH_SET(k) found |= strcmp(k->name, mot_kernels_name()) == 0;
    CHECK(found);
    CHECK_INT(mot_kernels_open(), MOT_OK);
}

TEST_MAIN()
