#include "partition/fourier.h"

#include "base/memory.h"
#include "math/kernels.h"
#include <stdlib.h>

#define QUARTER_TURN 1.57079633f

void mot_fourier_open(
    struct mot_fourier *f, uint32_t cols, uint32_t count, double bandwidth, struct mot_rng rng)
{
    size_t floats = (size_t)cols * count;
    *f = (struct mot_fourier){ .cols = cols, .count = count, .frequency = mot_aligned_large(floats * 4) };
    for (size_t i = 0; f->frequency && i < floats; i++)
        f->frequency[i] = (float)(mot_rng_normal(&rng) / bandwidth);
}

void mot_fourier_close(struct mot_fourier *f)
{
    free(f->frequency);
    *f = (struct mot_fourier){ 0 };
}

void mot_fourier_map(const struct mot_fourier *f, const float *rows, uint32_t n, float *out)
{
    const size_t width = 2 * (size_t)f->count;
    mot_kernels()->gemm(&(struct mot_gemm){ .m = n,
        .n = f->count,
        .k = f->cols,
        .a = rows,
        .a_row = f->cols,
        .a_block = MOT_PANEL,
        .a_col = 1,
        .b = f->frequency,
        .b_panel = (size_t)f->cols * MOT_PANEL,
        .c = out,
        .c_row = width,
        .c_panel = MOT_PANEL });
    for (uint32_t i = 0; i < n; i++) {
        float *wave = out + i * width, *turned = wave + f->count;
        for (uint32_t k = 0; k < f->count; k++) turned[k] = wave[k] - QUARTER_TURN;
        mot_kernels()->cosine(width, wave, wave);
    }
}
