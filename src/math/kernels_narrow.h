/* kernels_narrow.h -- a layer with few outputs over rows that lie anywhere; a part of kernels_body.h.
 *
 * Sixteen columns of sixteen rows are transposed and multiplied at once, while the next ones are fetched:
 * loads, shuffles and products of neighbouring steps overlap. Transposing 384 columns at a time, as for gemm,
 * took a third longer. Every sum is the chain that gemm makes, broken at the same k, with the same bits. */

#include "math/kernels_ahead.h"

/* Adds n more inputs to the sums of some outputs and TILE_COLS rows. */
INLINE void narrow_tile(
    const float *w, size_t w_row, const float *turned, uint32_t n, float *sums, const int outs)
{
    vf sum[TILE_ROWS][TILE_VECTORS];
    UNROLL for (int o = 0; o < outs; o++) UNROLL for (int v = 0; v < TILE_VECTORS; v++) sum[o][v] =
        load(sums + o * MOT_PANEL + v * LANES);
    for (uint32_t k = 0; k < n; k++) {
        vf in[TILE_VECTORS];
        UNROLL for (int v = 0; v < TILE_VECTORS; v++) in[v] = load(turned + k * MOT_PANEL + v * LANES);
        UNROLL for (int o = 0; o < outs; o++)
        {
            vf one = all(w[(size_t)o * w_row + k]);
            UNROLL for (int v = 0; v < TILE_VECTORS; v++) sum[o][v] = fma_f(one, in[v], sum[o][v]);
        }
    }
    UNROLL for (int o = 0; o < outs; o++) UNROLL for (int v = 0; v < TILE_VECTORS; v++)
        store(sums + o * MOT_PANEL + v * LANES, sum[o][v]);
}

#define DEFINE_NARROW(outs)                                                                                  \
    static __attribute__((noinline)) void narrow_##outs(                                                     \
        const float *w, size_t w_row, const float *turned, uint32_t n, float *sums)                          \
    {                                                                                                        \
        narrow_tile(w, w_row, turned, n, sums, outs);                                                        \
    }
DEFINE_NARROW(1)
DEFINE_NARROW(2)
DEFINE_NARROW(3)
DEFINE_NARROW(4)
DEFINE_NARROW(5)
DEFINE_NARROW(6)

static void narrow_run(
    uint32_t outs, const float *w, size_t w_row, const float *turned, uint32_t n, float *sums)
{
    static void (*const of_outs[TILE_ROWS])(const float *, size_t, const float *, uint32_t,
        float *) = { narrow_1, narrow_2, narrow_3, narrow_4, narrow_5, narrow_6 };
    of_outs[outs - 1](w, w_row, turned, n, sums);
}

/* Inputs k .. end - 1 of sixteen rows, into sums [out][16]. */
static void narrow_block(
    const struct mot_few *f, const struct sixteen *s, uint32_t k, uint32_t end, float *sums)
{
    float turned[MOT_PANEL * MOT_PANEL] __attribute__((aligned(64)));
    for (uint32_t o = 0; o < f->out; o++)
        UNROLL for (uint32_t v = 0; v < MOT_PANEL; v += LANES)
            store(sums + o * MOT_PANEL + v, all(f->bias && k == 0 ? f->bias[o] : 0));
    for (uint32_t n; k < end; k += n) {
        n = end - k < MOT_PANEL ? end - k : MOT_PANEL;
        if (s->adjacent) UNROLL for (uint32_t i = 0; i < MOT_PANEL; i++) fetch_line(s, k, i, true);
        else UNROLL for (uint32_t i = 0; i < MOT_PANEL; i++) fetch_line(s, k, i, false);
        UNROLL for (uint32_t i = 0; i < MOT_PANEL; i += LANES) if (n == MOT_PANEL)
            turn_lanes(s->row + i, k, MOT_PANEL, turned + i);
        else turn_lanes(s->row + i, k, n, turned + i);
        for (uint32_t j = 0; j < MOT_PANEL; j += TILE_COLS) {
            uint32_t o = 0, left = f->out % TILE_ROWS;
            for (; o + TILE_ROWS <= f->out; o += TILE_ROWS)
                narrow_6(f->w + (size_t)o * f->in + k, f->in, turned + j, n, sums + o * MOT_PANEL + j);
            if (left)
                narrow_run(
                    left, f->w + (size_t)o * f->in + k, f->in, turned + j, n, sums + o * MOT_PANEL + j);
        }
    }
}

static void narrow_forward(const struct mot_few *f)
{
    float sums[MOT_NARROW * MOT_PANEL] __attribute__((aligned(64)));
    float *y = f->y;
    for (uint32_t r = 0; r < f->rows; r += MOT_PANEL, y += (size_t)f->out * MOT_PANEL) {
        struct sixteen rows;
        find_sixteen(f, r, &rows);
        for (uint32_t k = 0, end; k < f->in; k = end) {
            end = f->in - k < K_BLOCK ? f->in : k + K_BLOCK;
            narrow_block(f, &rows, k, end, k ? sums : y);
            for (uint32_t i = 0; k && i < f->out * MOT_PANEL; i += LANES)
                store(y + i, load(sums + i) + load(y + i));
        }
    }
}
