/* Matrix products of every kernel set this machine can run, against their plain twins. */
#include "twins.h"

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
                for (size_t l = 0; l < MOT_COUNT(ks); l += SANITIZED ? 3 : 1) {
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

TEST(sets_of_one_name_multiply_to_the_same_bits)
{
    static const uint32_t ns[] = { 1, 16, 37 }, ks[] = { 1, 50, 800 };
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 8);
    for (const struct mot_kernels *const *set = mot_kernels_all(); *set && set[1]; set++) {
        if (strcmp(set[0]->name, set[1]->name) != 0) continue;
        for (int form = 0; form < FORMS; form++)
            for (uint32_t m = 1; m < 30; m++)
                for (size_t j = 0; j < MOT_COUNT(ns) * MOT_COUNT(ks); j++) {
                    const uint32_t n = ns[j % MOT_COUNT(ns)], k = ks[j / MOT_COUNT(ns)];
                    const size_t cs = (size_t)m * mot_panels(n) * MOT_PANEL;
                    float *a = fresh((size_t)(m + 16) * (k + 16)), *bias = fresh(m);
                    float *b = fresh((size_t)mot_panels(n) * k * MOT_PANEL), *c = fresh(cs), *d = copy(c, cs);
                    struct mot_gemm g = make_gemm(form, m, n, k, a, b, c, bias), other = g;
                    other.c = d;
                    set[0]->gemm(&g), set[1]->gemm(&other);
                    bool same = memcmp(c, d, cs * sizeof *c) == 0;
                    free(a), free(bias), free(b), free(c), free(d);
                    if (!same) FAIL("%s form %d %ux%ux%u: other bits", set[0]->name, form, m, n, k);
                }
    }
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
            k->turn_rows(rows, row, 0, cols, c);
            mot_kernels_ref.turn_rows(rows, row, 0, cols, d);
            int same = !memcmp(c, d, turned * sizeof *c);
            draw(c, turned), draw(d, turned);
            if (cols > 3) { /* some columns of some rows */
                k->turn_rows(rows - 1, row, 2, cols - 3, c);
                mot_kernels_ref.turn_rows(rows - 1, row, 2, cols - 3, d);
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
            const uint32_t m = rows % 2 ? 13 : 25, cols = sizes[i]; /* rows are packed for the greater */
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

/* Also here nothing behind the end of a row is read. What the padding holds is left out. Rows lie here and
 * there, or one behind the other. */
TEST(a_narrow_layer_matches_its_twin_and_has_the_bits_of_gemm)
{
    static const uint32_t ins[] = { 1, 3, 15, 16, 17, 70, 384, 385, 784, 1161 };
    static const uint32_t outs[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 23, MOT_NARROW };
    static const uint32_t counts[] = { 1, 9, 10, 16, 17, 40, 128 };
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 9);
    EACH_SET(k)
    for (size_t c = 0; c < MOT_COUNT(counts); c += 1 + SANITIZED)
        for (size_t i = 0; i < MOT_COUNT(ins); i++)
            for (size_t o = 0; o < MOT_COUNT(outs); o++) {
                const uint32_t rows = counts[c], in = ins[i], out = outs[o], padded = mot_panels(rows) * 16;
                const float *row[128];
                float *x = fresh((size_t)rows * in), *w = fresh((size_t)in * out), *bias = fresh(out);
                float *own = fresh((size_t)out * padded), *by_gemm = fresh((size_t)out * padded);
                float *twin = fresh((size_t)out * padded);
                float *turned = mot_new((size_t)in * padded, sizeof *turned);
                const uint32_t leap = (c + i + o) % 2 ? 7 : 1;
                for (uint32_t r = 0; r < rows; r++) row[r] = x + (size_t)((r * leap) % rows) * in;
                struct mot_few f = { .rows = rows, .in = in, .out = out, .w = w, .x = row, .y = own };
                if (o % 3) f.bias = bias;
                k->narrow_forward(&f);
                f.y = twin;
                mot_kernels_ref.narrow_forward(&f);
                k->turn_rows(rows, row, 0, in, turned);
                struct mot_gemm g = make_gemm(FORWARD, out, padded, in, w, turned, by_gemm, bias);
                g.a_row = in, g.bias = f.bias;
                k->gemm(&g);
                double off = 0;
                bool same = true;
                for (uint32_t n = 0; n < rows * out; n++) {
                    size_t at = (size_t)(n / out / 16 * out + n % out) * 16 + n / out % 16;
                    same &= !memcmp(&own[at], &by_gemm[at], sizeof *own);
                    double here = gap(1, &own[at], &twin[at]);
                    if (!(here <= off)) off = here;
                }
                free(x), free(w), free(bias), free(own), free(by_gemm), free(twin), free(turned);
                if (!same || !(off < 3e-5))
                    FAIL("%s: %u rows, %u to %u: off by %g", k->name, rows, in, out, off);
            }
}

TEST_MAIN()
