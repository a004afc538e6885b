/* twins.h -- what the tests of kernels share: every set this machine can run, numbers to compute with, and
 * how far a kernel is from its plain twin. */
#ifndef MOT_TEST_TWINS_H
#define MOT_TEST_TWINS_H

#include "base/memory.h"
#include "base/rng.h"
#include "math/kernels.h"
#include "test.h"
#include <motley/model.h>

#define SEED 20240611
#define EACH_SET(k)                                                                                          \
    for (const struct mot_kernels *const *set_ = mot_kernels_all(), *k; (k = *set_) != NULL; set_++)

static struct mot_rng rng;
static inline float *draw(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = (float)(mot_rng_unit(&rng) * 2 - 1);
    return x;
}
static inline float *fresh(size_t n) { return draw(mot_new(n ? n : 1, sizeof(float)), n); }
static inline float *copy(const float *x, size_t n)
{
    float *to = mot_new(n ? n : 1, sizeof *to);
    if (n) memcpy(to, x, n * sizeof *to);
    return to;
}

/* The greatest |a - b| relative to 1 + |b|. */
static inline double gap(size_t n, const float *a, const float *b)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double off = fabs((double)a[i] - (double)b[i]) / (1 + fabs((double)b[i]));
        if (!(off <= worst)) worst = off;
    }
    return worst;
}

__attribute__((unused)) static const uint32_t sizes[] = { 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100,
    127, 128, 130 };
#define SIZES (sizeof sizes / sizeof sizes[0])

enum form { FORWARD, TRANSPOSED, PANELLED, FORMS };

static inline struct mot_gemm make_gemm(
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

#endif
