/* The kernels for a few rows, of every set this machine can run: against their plain twins, and to the bit
 * against gemm. */
#include "twins.h"

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

/* Many rows to many take long: some numbers of rows show it, and under a sanitizer the smaller sizes do. */
static bool few_left_out(uint32_t rows, uint32_t in, uint32_t out)
{
    size_t work = (size_t)in * out;
    return work > (SANITIZED ? 4000 : 200000) && (SANITIZED || (rows > 1 && rows != 5 && rows < MOT_FEW));
}

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
                if (few_left_out(rows, in, out)) continue;
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
    k->turn_rows(l->rows, l->row, 0, l->in, turned);
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
                if (few_left_out(rows, in, out)) continue;
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

TEST_MAIN()
