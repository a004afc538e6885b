/* Every kernel over maps against its plain twin, on each instruction set, and wide vectors against narrow
 * ones to the bit. */
#include "math/maps.h"
#include "math/twins.h"

struct shape {
    uint32_t rows, in, out, height, width, kernel, stride, padding;
};

static const struct shape known[] = {
    { 16, 1, 6, 28, 28, 5, 1, 2 }, /* LeNet */
    { 32, 6, 16, 14, 14, 5, 1, 0 },
    { 17, 3, 16, 9, 8, 3, 1, 1 }, /* ResNet */
    { 16, 16, 32, 8, 8, 3, 2, 1 },
    { 16, 16, 32, 7, 9, 1, 2, 0 },
    { 5, 5, 7, 3, 3, 3, 1, 2 }, /* more padding than picture */
    { 16, 9, 10, 1, 6, 1, 1, 0 },
    { 33, 2, 1, 5, 4, 4, 3, 1 },
};

static uint32_t pooled(uint32_t n, const struct shape *s)
{
    return (n + 2 * s->padding - s->kernel) / s->stride + 1;
}

static struct shape random_shape(void)
{
    for (;;) {
        struct shape s = { 1 + mot_rng_below(&rng, 40), 1 + mot_rng_below(&rng, 13),
            1 + mot_rng_below(&rng, 20), 1 + mot_rng_below(&rng, 9), 1 + mot_rng_below(&rng, 9),
            1 + mot_rng_below(&rng, 5), 1 + mot_rng_below(&rng, 3), mot_rng_below(&rng, 3) };
        if (s.padding < s.kernel && s.height + 2 * s.padding >= s.kernel &&
            s.width + 2 * s.padding >= s.kernel)
            return s;
    }
}

#define SHAPES (sizeof known / sizeof known[0] + (SANITIZED ? 4 : 60))
#define EACH_SHAPE(s)                                                                                        \
    struct shape s;                                                                                          \
    rng = mot_rng_at(SEED, MOT_RNG_TEST, 3);                                                                 \
    for (size_t n_ = 0; n_ < SHAPES; n_++)                                                                   \
        if ((s = n_ < sizeof known / sizeof known[0] ? known[n_] : random_shape()).rows > 0)

/* What a kernel makes of copies of the same numbers, and how far that is from what the twin makes. */
struct trial {
    size_t n;
    float *got, *expected, *narrow;
};
static void judge(const char *what, const char *set, const struct shape *s, struct trial *t, double bound)
{
    double off = gap(t->n, t->got, t->expected);
    if (!(off <= bound))
        printf("%s, %s: %g on rows %u in %u out %u, %ux%u, kernel %u stride %u padding %u\n", set, what, off,
            s->rows, s->in, s->out, s->height, s->width, s->kernel, s->stride, s->padding);
    CHECK(off <= bound);
    if (strcmp(set, "avx512") == 0) t->narrow = copy(t->got, t->n);
    if (strcmp(set, "avx2") == 0 && t->narrow) CHECK(memcmp(t->narrow, t->got, t->n * sizeof *t->got) == 0);
    if (strcmp(set, "avx512") != 0) free(t->narrow), t->narrow = NULL;
    free(t->got);
}

#define EACH_MAPS(k)                                                                                         \
    for (const struct mot_map_kernels *const *set_ = mot_map_kernels_all(), *k; (k = *set_) != NULL; set_++)

static struct mot_conv conv_of(
    const struct shape *s, const float *x, float *packed, const float *bias, float *y)
{
    struct mot_conv c = { .panels = mot_panels(s->rows),
        .in = { s->in, s->height, s->width },
        .out = { s->out, pooled(s->height, s), pooled(s->width, s) },
        .step = 1,
        .kernel_rows = s->kernel,
        .kernel_cols = s->kernel,
        .stride = s->stride,
        .top = (int32_t)s->padding,
        .left = (int32_t)s->padding,
        .x = x,
        .packed = packed,
        .bias = bias,
        .y = y };
    c.rows = c.out.height, c.cols = c.out.width;
    return c;
}

TEST(convolutions_are_what_their_twin_computes)
{
    EACH_SHAPE(s)
    {
        struct mot_conv c = conv_of(&s, NULL, NULL, NULL, NULL);
        size_t in = c.panels * mot_map_size(&c.in) * MOT_PANEL,
               out = c.panels * mot_map_size(&c.out) * MOT_PANEL;
        size_t weights = (size_t)s.in * s.out * s.kernel * s.kernel;
        float *x = fresh(in), *w = fresh(weights), *bias = fresh(s.out), *y = fresh(out),
              *packed = fresh(weights);
        const ptrdiff_t k = (ptrdiff_t)s.kernel;
        struct mot_conv_weights pack = { s.out, s.in, s.kernel, s.kernel, w, s.in * k * k, k * k, k, 1 };
        for (int add = 0; add < 2; add++) {
            struct trial t = { .n = out, .expected = copy(y, out) };
            struct mot_conv run = conv_of(&s, x, packed, bias, t.expected);
            run.add = add;
            mot_map_kernels_ref.conv_pack(&pack, packed);
            mot_map_kernels_ref.conv(&run);
            EACH_MAPS(set)
            {
                t.got = run.y = copy(y, out);
                set->conv_pack(&pack, packed);
                set->conv(&run);
                judge("conv", set->name, &s, &t, 2e-5);
            }
            free(t.expected);
        }
        free(x), free(w), free(bias), free(y), free(packed);
    }
}

TEST(gradients_of_convolutions_are_what_their_twin_computes)
{
    EACH_SHAPE(s)
    {
        struct mot_conv c = conv_of(&s, NULL, NULL, NULL, NULL);
        size_t in = c.panels * mot_map_size(&c.in) * MOT_PANEL,
               out = c.panels * mot_map_size(&c.out) * MOT_PANEL;
        size_t weights = (size_t)s.in * s.out * s.kernel * s.kernel;
        float *x = fresh(in), *d = fresh(out), *g = fresh(weights);
        float *sums = fresh(mot_conv_sums(s.out, s.in, s.kernel));
        struct trial t = { .n = weights, .expected = copy(g, weights) };
        struct mot_conv_slope run = { c.panels, c.in, c.out, s.kernel, s.stride, s.padding, x, d, t.expected,
            sums };
        mot_map_kernels_ref.conv_slope(&run);
        EACH_MAPS(set)
        {
            t.got = run.g = copy(g, weights);
            set->conv_slope(&run);
            /* a chain of additions for each of 16 lanes: errors grow with the square root */
            judge(
                "conv_slope", set->name, &s, &t, 1e-6 + 5e-7 * sqrt(s.rows * (double)mot_map_pixels(&c.out)));
        }
        free(t.expected), free(x), free(d), free(g), free(sums);
    }
}

TEST(pools_are_what_their_twin_computes)
{
    EACH_SHAPE(s)
    {
        if (2 * s.padding > s.kernel) continue;
        struct mot_pooling p = { .panels = mot_panels(s.rows),
            .kernel_rows = s.kernel,
            .kernel_cols = s.kernel,
            .stride = s.stride,
            .padding = s.padding,
            .in = { s.in, s.height, s.width },
            .out = { s.in, pooled(s.height, &s), pooled(s.width, &s) } };
        size_t in = p.panels * mot_map_size(&p.in) * MOT_PANEL,
               out = p.panels * mot_map_size(&p.out) * MOT_PANEL;
        float *x = fresh(in), *d = fresh(out), *dx = fresh(in), *most = fresh(out);
        for (size_t i = 0; i < in; i += 3) x[i] = 0.5f; /* equal ones: the first counts */
        p.x = x, p.d = d;
        for (int mean = 0; mean < 2; mean++) {
            struct trial t = { .n = out, .expected = most }, back = { .n = in, .expected = copy(dx, in) };
            p.y = most, p.dx = back.expected, p.add = mean;
            (mean ? mot_map_kernels_ref.mean_pool : mot_map_kernels_ref.max_pool)(&p);
            (mean ? mot_map_kernels_ref.mean_pool_back : mot_map_kernels_ref.max_pool_back)(&p);
            EACH_MAPS(set)
            {
                p.y = t.got = copy(most, out), p.dx = back.got = copy(dx, in);
                (mean ? set->mean_pool : set->max_pool)(&p);
                (mean ? set->mean_pool_back : set->max_pool_back)(&p);
                judge("pool", set->name, &s, &t, mean ? 1e-6 : 0);
                judge("pool back", set->name, &s, &back, 1e-6);
            }
            free(back.expected);
        }
        free(x), free(d), free(dx), free(most);
    }
}

static float *as_floats(const double *x, size_t n)
{
    float *y = mot_new(n, sizeof *y);
    for (size_t i = 0; i < n; i++) y[i] = (float)x[i];
    return y;
}

TEST(sums_over_channels_leave_out_rows_that_do_not_count)
{
    EACH_SHAPE(s)
    {
        struct mot_channels k = { s.rows, { s.in, s.height, s.width } };
        size_t n = mot_panels(s.rows) * mot_map_size(&k.map) * MOT_PANEL;
        float *x = fresh(n), *d = fresh(n), *a = fresh(s.in), *b = fresh(s.in), *e = fresh(s.in),
              *y = fresh(n);
        double sum[16], square[16];
        struct trial t = { .n = s.in }, two = t, three = t, four = t, forth = { .n = n }, back = { .n = n };
        const struct mot_map_kernels *const *set = mot_map_kernels_all(), *m = &mot_map_kernels_ref;
        for (; m; m = *set++) {
            m->moments(&k, x, sum, square);
            t.got = as_floats(sum, s.in), two.got = as_floats(square, s.in);
            m->slope_sums(&k, x, d, a, sum, square);
            three.got = as_floats(sum, s.in), four.got = as_floats(square, s.in);
            m->scale(&k, x, a, b, true, forth.got = copy(y, n));
            m->scale_back(&k, x, d, a, b, e, s.stride > 1, back.got = copy(y, n));
            struct trial *all[] = { &t, &two, &three, &four, &forth, &back };
            for (size_t i = 0; i < 6; i++)
                if (m == &mot_map_kernels_ref) all[i]->expected = all[i]->got;
                else judge("channels", m->name, &s, all[i], 1e-5);
        }
        free(t.expected), free(two.expected), free(three.expected), free(four.expected), free(forth.expected);
        free(back.expected), free(x), free(d), free(a), free(b), free(e), free(y);
    }
}

static float *sixteen(void) { return fresh(MOT_PANEL); }

TEST(kernels_over_one_panel_are_what_their_twins_compute)
{
    EACH_SHAPE(s)
    {
        struct mot_map map = { s.in, s.height, s.width };
        const size_t n = mot_map_size(&map) * MOT_PANEL;
        const uint32_t first = s.in / 3, channels = s.in - first, c = s.in - 1;
        float *x = fresh(n), *d = fresh(n), *y = fresh(n), *a = sixteen(), *b = sixteen(), *e = sixteen();
        double sum[MOT_PANEL], square[MOT_PANEL];
        struct trial t = { .n = MOT_PANEL }, two = t, three = t, four = t, forth = { .n = n },
                     back = { .n = n }, kept = { .n = n };
        struct mot_drop drop = { .map = map, .below = 1u << 22, .by = 1.5f };
        for (uint32_t r = 0; r < MOT_PANEL; r++) drop.key[r] = mot_rng_next(&rng);
        const struct mot_map_kernels *const *set = mot_map_kernels_all(), *m = &mot_map_kernels_ref;
        for (; m; m = *set++) {
            m->row_moments(&map, first, channels, x, sum, square);
            t.got = as_floats(sum, MOT_PANEL), two.got = as_floats(square, MOT_PANEL);
            m->row_slope_sums(&map, c, x, d, a, sum, square);
            three.got = as_floats(sum, MOT_PANEL), four.got = as_floats(square, MOT_PANEL);
            m->row_scale(&map, c, x, a, b, s.stride > 1, forth.got = copy(y, n));
            m->row_scale_back(&map, c, x, d, a, b, e, s.stride > 1, back.got = copy(y, n));
            m->drop(&drop, kept.got = copy(x, n));
            struct trial *all[] = { &t, &two, &three, &four, &forth, &back, &kept };
            for (size_t i = 0; i < 7; i++)
                if (m == &mot_map_kernels_ref) all[i]->expected = all[i]->got;
                else judge("one panel", m->name, &s, all[i], all[i] == &kept ? 0 : 1e-5);
        }
        free(t.expected), free(two.expected), free(three.expected), free(four.expected), free(forth.expected);
        free(back.expected), free(kept.expected), free(x), free(d), free(y), free(a), free(b), free(e);
    }
}

TEST_MAIN()
