/* Every kernel of every set this machine can run, against its plain twin. */
#include "base/memory.h"
#include "base/rng.h"
#include "math/kernels.h"
#include "test.h"
#include <float.h>
#include <motley/model.h>

#define SEED 20240611
#define EACH_SET(k)                                                                                          \
    for (const struct mot_kernels *const *set_ = mot_kernels_all(), *k; (k = *set_) != NULL; set_++)

static struct mot_rng rng;
static float *draw(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = (float)(mot_rng_unit(&rng) * 2 - 1);
    return x;
}
static float *fresh(size_t n) { return draw(mot_new(n ? n : 1, sizeof(float)), n); }
static float *copy(const float *x, size_t n)
{
    float *to = mot_new(n ? n : 1, sizeof *to);
    if (n) memcpy(to, x, n * sizeof *to);
    return to;
}

/* The greatest |a - b| relative to 1 + |b|. */
static double gap(size_t n, const float *a, const float *b)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double off = fabs((double)a[i] - (double)b[i]) / (1 + fabs((double)b[i]));
        if (!(off <= worst)) worst = off;
    }
    return worst;
}

static const uint32_t sizes[] = { 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 127, 128, 130 };
#define SIZES (sizeof sizes / sizeof sizes[0])

/* ---- Matrices ------------------------------------------------------------------ */

enum form { FORWARD, TRANSPOSED, PANELLED, FORMS };

static struct mot_gemm make_gemm(
    enum form form, uint32_t m, uint32_t n, uint32_t k, float *a, float *b, float *c, const float *bias)
{
    struct mot_gemm g = { .m = m, .n = n, .k = k, .a = a, .b = b, .b_panel = (size_t)k * MOT_PANEL, .c = c };
    switch (form) {
    case FORWARD: /* weights by panels: C in panels, bias */
        g.a_row = k, g.a_col = 1, g.a_block = MOT_PANEL;
        g.c_row = MOT_PANEL, g.c_panel = (size_t)m * MOT_PANEL, g.bias = bias;
        break;
    case TRANSPOSED:
        g.a_row = 1, g.a_col = m, g.a_block = (size_t)m * MOT_PANEL;
        g.c_row = MOT_PANEL, g.c_panel = (size_t)m * MOT_PANEL;
        break;
    case PANELLED:
    case FORMS: /* adds into a plain matrix */
        g.a_row = MOT_PANEL, g.a_col = 1, g.a_block = (size_t)m * MOT_PANEL;
        g.c_row = n, g.c_panel = MOT_PANEL, g.add = true;
        break;
    }
    return g;
}

static double gemm_gap(const struct mot_kernels *set, enum form form, uint32_t m, uint32_t n, uint32_t k)
{
    size_t as = (size_t)(m + 16) * (k + 16), bs = (size_t)mot_panels(n) * k * MOT_PANEL;
    size_t cs = (size_t)m * mot_panels(n) * MOT_PANEL;
    float *a = fresh(as), *b = fresh(bs), *c = fresh(cs), *expected = copy(c, cs), *bias = fresh(m);
    struct mot_gemm g = make_gemm(form, m, n, k, a, b, c, bias), r = g;
    r.c = expected;
    set->gemm(&g);
    mot_kernels_ref.gemm(&r);
    double off = gap(cs, c, expected);
    free(a), free(b), free(c), free(expected), free(bias);
    return off;
}

TEST(gemm_matches_its_twin_for_all_forms_and_tails)
{
    static const uint32_t ms[] = { 1, 2, 3, 4, 5, 6, 7, 10, 13, 97 }, ks[] = { 1, 5, 16, 17, 32, 50, 128 };
    static const uint32_t ns[] = { 1, 3, 8, 15, 16, 17, 24, 40, 128 };
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 1);
    EACH_SET(k)
    for (int form = 0; form < FORMS; form++)
        for (size_t i = 0; i < MOT_COUNT(ms); i++)
            for (size_t j = 0; j < MOT_COUNT(ns); j++)
                for (size_t l = 0; l < MOT_COUNT(ks); l++) {
                    double off = gemm_gap(k, form, ms[i], ns[j], ks[l]);
                    if (!(off < 5e-6))
                        FAIL("%s form %d %ux%ux%u: off by %g", k->name, form, ms[i], ns[j], ks[l], off);
                }
}

TEST(gemm_goes_on_over_blocks_of_k)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 2);
    EACH_SET(k)
    {
        CHECK(gemm_gap(k, FORWARD, 11, 21, 1000) < 1e-5);
        CHECK(gemm_gap(k, TRANSPOSED, 11, 21, 784) < 1e-5);
        CHECK(gemm_gap(k, PANELLED, 11, 21, 800) < 1e-5);
    }
}

TEST(gemm_adds_in_order_of_k_whatever_the_tile)
{
    /* One column alone gives the same bits as the same column among 40. */
    uint32_t m = 13, n = 40, k = 77;
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 3);
    float *a = fresh((size_t)m * k), *b = fresh((size_t)mot_panels(n) * k * MOT_PANEL), *bias = fresh(m);
    EACH_SET(set)
    {
        float c[13 * 48], one[13 * 16], *own = mot_new((size_t)k * MOT_PANEL, sizeof *own);
        struct mot_gemm g = make_gemm(FORWARD, m, n, k, a, b, c, bias);
        set->gemm(&g);
        for (uint32_t j = 0; j < n; j++) {
            for (uint32_t i = 0; i < k; i++) own[i * MOT_PANEL] = b[(j / 16 * k + i) * 16 + j % 16];
            g = make_gemm(FORWARD, m, 1, k, a, own, one, bias);
            set->gemm(&g);
            for (uint32_t i = 0; i < m; i++)
                if (memcmp(&one[i * 16], &c[(j / 16 * m + i) * 16 + j % 16], sizeof(float)) != 0)
                    FAIL("%s: column %u row %u differs", set->name, j, i);
        }
        free(own);
    }
    free(a), free(b), free(bias);
}

TEST(panels_are_transposed_exactly)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 4);
    EACH_SET(k)
    for (size_t i = 0; i < SIZES; i++)
        for (size_t j = 0; j < SIZES; j++) {
            uint32_t rows = sizes[i] < 128 ? sizes[i] : 128, cols = sizes[j];
            float *x = fresh((size_t)rows * cols);
            const float *row[128];
            for (uint32_t r = 0; r < rows; r++) row[r] = x + (size_t)((r * 7) % rows) * cols;
            size_t n = (size_t)rows * mot_panels(cols) * 16, turned = (size_t)cols * mot_panels(rows) * 16;
            float *a = fresh(n), *b = fresh(n), *c = fresh(turned), *d = fresh(turned), *y = fresh(rows);
            float *z = copy(y, rows);
            for (uint32_t r = 0; r < rows; r++)
                for (uint32_t col = 0; col < mot_panels(cols) * 16; col++)
                    a[(col / 16 * rows + r) * 16 + col % 16] = col < cols ? row[r][col] : 0;
            memcpy(b, a, n * sizeof *b);
            k->turn_rows(rows, row, 0, 0, cols, c);
            mot_kernels_ref.turn_rows(rows, row, 0, 0, cols, d);
            int same = !memcmp(c, d, turned * sizeof *c);
            draw(c, turned), draw(d, turned);
            if (cols > 3) { /* some columns of it, other rows to come */
                k->turn_rows(rows - 1, row, 1, 2, cols - 3, c);
                mot_kernels_ref.turn_rows(rows - 1, row, 1, 2, cols - 3, d);
                same &= !memcmp(c, d, (size_t)(cols - 3) * mot_panels(rows - 1) * 16 * sizeof *c);
            }
            draw(c, turned), draw(d, turned);
            k->transpose(rows, cols, a, c);
            mot_kernels_ref.transpose(rows, cols, b, d);
            k->row_sums(rows, cols, a, y);
            mot_kernels_ref.row_sums(rows, cols, b, z);
            same &= !memcmp(c, d, turned * sizeof *c);
            double off = gap(rows, y, z);
            free(x), free(a), free(b), free(c), free(d), free(y), free(z);
            if (!same) FAIL("%s: %u x %u", k->name, rows, cols);
            CHECK(off < 2e-6);
        }
}

/* The same bits as from panels, and nothing behind the end of a row is read (the sanitizers look). */
TEST(gemm_reads_rows_that_lie_anywhere)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 5);
    EACH_SET(k)
    for (size_t i = 0; i < SIZES; i++)
        for (uint32_t rows = 1; rows <= 128; rows += rows < 18 ? 1 : 55) {
            const uint32_t m = 13, cols = sizes[i];
            const float *row[128];
            float *x = fresh((size_t)rows * cols), *a = fresh((size_t)m * mot_panels(rows) * 16);
            float *panels = mot_new((size_t)mot_panels(cols) * rows * 16, sizeof *panels);
            float *c = fresh((size_t)m * cols), *d = copy(c, (size_t)m * cols);
            for (uint32_t r = 0; r < rows; r++) {
                row[r] = x + (size_t)((r * 7) % rows) * cols;
                for (uint32_t at = 0; at < cols; at++)
                    panels[(at / 16 * rows + r) * 16 + at % 16] = row[r][at];
            }
            struct mot_gemm g = make_gemm(PANELLED, m, cols, rows, a, panels, c, NULL);
            k->gemm(&g);
            g.b = NULL, g.b_row = row, g.c = d;
            k->gemm(&g);
            int same = !memcmp(c, d, (size_t)m * cols * sizeof *c);
            free(x), free(a), free(panels), free(c), free(d);
            if (!same) FAIL("%s: %u rows of %u", k->name, rows, cols);
        }
}

/* ---- A few rows ---------------------------------------------------------------- */

struct few_lab {
    uint32_t rows, in, out;
    float *w, *bias, *x, *d, *y;
    const float *row[MOT_FEW];
};

static struct few_lab few_open(uint32_t rows, uint32_t in, uint32_t out)
{
    size_t most = (size_t)(rows > out ? rows : out) * (in > out ? in : out);
    struct few_lab l = { .rows = rows, .in = in, .out = out };
    l.w = fresh((size_t)in * out), l.bias = fresh(out), l.x = fresh((size_t)rows * in);
    l.d = fresh((size_t)out * MOT_PANEL), l.y = fresh(most);
    for (uint32_t r = 0; r < rows; r++) l.row[r] = l.x + (size_t)(rows - 1 - r) * in;
    return l;
}

static void few_close(struct few_lab *l) { free(l->w), free(l->bias), free(l->x), free(l->d), free(l->y); }

/* How far a kernel is from its twin; slopes are in a panel. */
static double few_gap(struct few_lab *l, void (*kernel)(const struct mot_few *),
    void (*twin)(const struct mot_few *), size_t y_row, size_t n)
{
    float *want = copy(l->y, n);
    struct mot_few f = { l->rows, l->in, l->out, l->w, l->bias, l->row, l->d, MOT_PANEL, 1, l->y, y_row,
        false };
    kernel(&f);
    f.y = want;
    twin(&f);
    double off = gap(n, l->y, want);
    free(want);
    return off;
}

static const uint32_t few_sizes[] = { 1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 16, 17, 31, 33, 65, 100, 384, 385, 790,
    1555 };

TEST(kernels_for_a_few_rows_match_their_twins)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 6);
    const struct mot_kernels *ref = &mot_kernels_ref;
    EACH_SET(k)
    for (uint32_t rows = 1; rows <= MOT_FEW; rows++)
        for (size_t i = 0; i < MOT_COUNT(few_sizes); i++)
            for (size_t o = 0; o < MOT_COUNT(few_sizes);
                 o += few_sizes[i] < 2 * MOT_K_BLOCK ? i % 3 + 1 : 1) {
                uint32_t in = few_sizes[i], out = few_sizes[o];
                struct few_lab l = few_open(rows, in, out);
                double off = few_gap(&l, k->few_forward, ref->few_forward, out, (size_t)rows * out);
                off = fmax(off, few_gap(&l, k->few_back, ref->few_back, in, (size_t)rows * in));
                off = fmax(off, few_gap(&l, k->few_weights, ref->few_weights, in, (size_t)in * out));
                off = fmax(off, few_gap(&l, k->few_sums, ref->few_sums, 0, in));
                few_close(&l);
                if (!(off < 3e-5)) FAIL("%s: %u rows, %u to %u: off by %g", k->name, rows, in, out, off);
            }
}

/* What gemm makes of the same rows in panels: forward, the slope below, and the gradient of the weights. */
static void few_by_gemm(
    const struct mot_kernels *k, const struct few_lab *l, float *z, float *below, float *g)
{
    float *turned = mot_new((size_t)l->in * MOT_PANEL, sizeof *turned);
    k->turn_rows(l->rows, l->row, 0, 0, l->in, turned);
    struct mot_gemm forward = make_gemm(FORWARD, l->out, MOT_PANEL, l->in, l->w, turned, z, l->bias);
    forward.a_row = l->in;
    k->gemm(&forward);
    struct mot_gemm back = make_gemm(TRANSPOSED, l->in, MOT_PANEL, l->out, l->w, l->d, below, NULL);
    k->gemm(&back);
    struct mot_gemm weights = make_gemm(PANELLED, l->out, l->in, l->rows, l->d, NULL, g, NULL);
    weights.b_row = l->row;
    k->gemm(&weights);
    free(turned);
}

TEST(a_few_rows_get_the_bits_that_gemm_would_give_them)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 7);
    EACH_SET(k)
    for (uint32_t rows = 1; rows <= MOT_FEW; rows++)
        for (size_t i = 0; i < MOT_COUNT(few_sizes); i++)
            for (size_t o = 0; o < MOT_COUNT(few_sizes);
                 o += few_sizes[i] < 2 * MOT_K_BLOCK ? i % 3 + 1 : 1) {
                uint32_t in = few_sizes[i], out = few_sizes[o];
                struct few_lab l = few_open(rows, in, out);
                float *z = fresh((size_t)out * 16), *below = fresh((size_t)in * 16),
                      *g = fresh((size_t)in * out);
                float *sums = fresh(out), *own = copy(g, (size_t)in * out), *own_sums = copy(sums, out);
                few_by_gemm(k, &l, z, below, g);
                k->row_sums(out, rows, l.d, sums);
                struct mot_few f = { rows, in, out, l.w, l.bias, l.row, l.d, MOT_PANEL, 1, l.y, out, false };
                int same = 1;
                k->few_forward(&f);
                for (uint32_t n = 0; n < rows * out; n++)
                    same &= !memcmp(&l.y[n], &z[n % out * 16 + n / out], sizeof *z);
                f.y_row = in;
                k->few_back(&f);
                for (uint32_t n = 0; n < rows * in; n++)
                    same &= !memcmp(&l.y[n], &below[n % in * 16 + n / in], sizeof *z);
                f.y = own;
                k->few_weights(&f);
                same &= !memcmp(own, g, (size_t)in * out * sizeof *g);
                const float *slope[MOT_FEW];
                for (uint32_t n = 0; n < rows * out; n++) l.y[n] = l.d[n % out * 16 + n / out];
                for (uint32_t r = 0; r < rows; r++) slope[r] = l.y + (size_t)r * out;
                k->few_sums(&(struct mot_few){ .rows = rows, .in = out, .x = slope, .y = own_sums });
                same &= !memcmp(own_sums, sums, out * sizeof *sums);
                few_close(&l);
                free(z), free(below), free(g), free(sums), free(own), free(own_sums);
                if (!same) FAIL("%s: %u rows, %u to %u", k->name, rows, in, out);
            }
}

TEST(a_fresh_gradient_has_the_bits_of_adding_to_zeros_even_where_products_round_to_minus_0)
{
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 8);
    EACH_SET(k)
    for (uint32_t rows = 1; rows <= MOT_FEW; rows++) {
        struct few_lab l = few_open(rows, 37, 11);
        size_t n = (size_t)l.in * l.out;
        for (size_t i = 0; i < (size_t)rows * l.in; i += 2) l.x[i] *= 1e-30f;
        for (size_t i = 0; i < (size_t)l.out * MOT_PANEL; i += 3) l.d[i] *= 1e-30f;
        float *added = mot_new(n, sizeof *added), *written = fresh(n), *by_gemm = fresh(n);
        struct mot_few f = { rows, l.in, l.out, l.w, l.bias, l.row, l.d, MOT_PANEL, 1, added, l.in, false };
        k->few_weights(&f);
        f.y = written, f.fresh = true;
        k->few_weights(&f);
        struct mot_gemm g = make_gemm(PANELLED, l.out, l.in, rows, l.d, NULL, by_gemm, NULL);
        g.b_row = l.row, g.fresh = true;
        k->gemm(&g);
        CHECK(!memcmp(added, written, n * sizeof *added) && !memcmp(added, by_gemm, n * sizeof *added));
        few_close(&l);
        free(added), free(written), free(by_gemm);
    }
}

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
        for (double at = -110; at < 92; at += 1009 * 1.1e-7) {
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
        for (uint64_t bits = 1; bits < 0x7f800000u; bits += 1511) {
            float x[8], y[8];
            for (uint32_t i = 0; i < 8; i++) {
                uint32_t b = (uint32_t)bits + i * 149;
                if (b >= 0x7f800000u) b = 0x7f7fffffu;
                memcpy(&x[i], &b, sizeof b);
            }
            k->log(8, x, y);
            for (int i = 0; i < 8; i++) worst = fmax(worst, ulps(y[i], log((double)x[i])));
        }
        for (float near = 0.9f; near < 1.1f; near += 1e-6f) { /* where the result is small */
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
