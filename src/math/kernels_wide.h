/* kernels_wide.h -- a layer with few outputs over rows that lie anywhere, with sixteen lanes (AVX-512).
 *
 * The twin of kernels_narrow.h, with the same bits: a lane is a row, and every sum is the same chain. Four
 * columns of sixteen rows are turned and multiplied in registers, so that the units that multiply do not
 * wait for those that shuffle. With rows in a cache, Zen 4 reaches 95 % of its multiply-adds. */
#include "math/kernels_ahead.h"

_Static_assert(LANES == MOT_PANEL, "a panel is a vector");

#define WIDE_OUTS 12 /* sums in registers; more outputs take turns */

/* Sixteen rows and some of the outputs. */
struct wide {
    uint32_t in;
    const float *w, *bias; /* bias: NULL for 0 */
    const struct sixteen *rows;
    float *y;
};

/* Four numbers of each of four rows. */
INLINE vf four_fours(const float *a, const float *b, const float *c, const float *d)
{
    __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a)), _mm_loadu_ps(b), 1);
    __m256 high = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(c)), _mm_loadu_ps(d), 1);
    __m512d both = _mm512_castpd256_pd512(_mm256_castps_pd(low));
    return (vf)_mm512_insertf64x4(both, _mm256_castps_pd(high), 1);
}

/* row[i] has numbers of row i, i + 4, i + 8 and i + 12: v[j] becomes number j of each of the sixteen. */
INLINE void turn_sixteen(const vf row[4], vf v[4])
{
    __m512d a = (__m512d)_mm512_unpacklo_ps((__m512)row[0], (__m512)row[1]),
            b = (__m512d)_mm512_unpackhi_ps((__m512)row[0], (__m512)row[1]),
            c = (__m512d)_mm512_unpacklo_ps((__m512)row[2], (__m512)row[3]),
            d = (__m512d)_mm512_unpackhi_ps((__m512)row[2], (__m512)row[3]);
    v[0] = (vf)_mm512_unpacklo_pd(a, c), v[1] = (vf)_mm512_unpackhi_pd(a, c);
    v[2] = (vf)_mm512_unpacklo_pd(b, d), v[3] = (vf)_mm512_unpackhi_pd(b, d);
}

/* Adds inputs k .. end - 1 to the sums. */
INLINE void wide_chains(
    const struct wide *t, uint32_t k, uint32_t end, vf *sum, const int outs, const bool adjacent)
{
    const size_t step = (size_t)t->in * sizeof(float);
    const float *const *row = t->rows->row;
    const char *w[STARTS(WIDE_OUTS)], *x[STARTS(MOT_PANEL)];
    start_rows(t->w + k, step, w, outs);
    start_rows(row[0] + k, step, x, (int)MOT_PANEL);
    for (; k + 4 <= end; k += 4) {
        vf part[4], v[4];
        UNROLL for (uint32_t i = 0; i < 4; i++) fetch_line(t->rows, k, i, adjacent);
        UNROLL for (int i = 0; i < 4; i++) part[i] = adjacent
            ? four_fours(
                  in_row(x, step, i), in_row(x, step, i + 4), in_row(x, step, i + 8), in_row(x, step, i + 12))
            : four_fours(row[i] + k, row[i + 4] + k, row[i + 8] + k, row[i + 12] + k);
        turn_sixteen(part, v);
        UNROLL for (int j = 0; j < 4; j++) UNROLL for (int o = 0; o < outs; o++) sum[o] =
            fma_f(all(in_row(w, step, o)[j]), v[j], sum[o]);
        UNROLL for (int i = 0; i < STARTS(outs); i++) w[i] += 4 * sizeof(float);
        if (adjacent) UNROLL for (int i = 0; i < STARTS(MOT_PANEL); i++) x[i] += 4 * sizeof(float);
    }
    for (; k < end; k++) {
        float one[MOT_PANEL];
        for (uint32_t i = 0; i < MOT_PANEL; i++) one[i] = row[i][k];
        UNROLL for (int o = 0; o < outs; o++) sum[o] =
            fma_f(all(t->w[(size_t)o * t->in + k]), load(one), sum[o]);
    }
}

INLINE void wide_rows(const struct wide *t, const int outs, const bool adjacent)
{
    for (uint32_t k = 0, end; k < t->in; k = end) {
        vf sum[WIDE_OUTS];
        end = t->in - k < MOT_K_BLOCK ? t->in : k + MOT_K_BLOCK;
        UNROLL for (int o = 0; o < outs; o++) sum[o] = all(t->bias && k == 0 ? t->bias[o] : 0);
        wide_chains(t, k, end, sum, outs, adjacent);
        UNROLL for (int o = 0; o < outs; o++)
        {
            float *y = t->y + o * MOT_PANEL;
            store(y, k ? sum[o] + load(y) : sum[o]);
        }
    }
}

#define DEFINE_WIDE(outs)                                                                                    \
    static __attribute__((noinline)) void wide_##outs(const struct wide *t) { wide_rows(t, outs, true); }    \
    static __attribute__((noinline)) void wide_apart_##outs(const struct wide *t)                            \
    {                                                                                                        \
        wide_rows(t, outs, false);                                                                           \
    }
DEFINE_WIDE(1)
DEFINE_WIDE(2)
DEFINE_WIDE(3)
DEFINE_WIDE(4)
DEFINE_WIDE(5)
DEFINE_WIDE(6)
DEFINE_WIDE(7)
DEFINE_WIDE(8)
DEFINE_WIDE(9)
DEFINE_WIDE(10)
DEFINE_WIDE(11)
DEFINE_WIDE(12)

static void wide_run(const struct wide *t, uint32_t outs)
{
    static void (*const way[2][WIDE_OUTS])(const struct wide *) = {
        { wide_apart_1, wide_apart_2, wide_apart_3, wide_apart_4, wide_apart_5, wide_apart_6, wide_apart_7,
            wide_apart_8, wide_apart_9, wide_apart_10, wide_apart_11, wide_apart_12 },
        { wide_1, wide_2, wide_3, wide_4, wide_5, wide_6, wide_7, wide_8, wide_9, wide_10, wide_11, wide_12 },
    };
    way[t->rows->adjacent][outs - 1](t);
}

void mot_narrow_forward_avx512(const struct mot_few *f)
{
    const uint32_t turns = (f->out + WIDE_OUTS - 1) / WIDE_OUTS, outs = (f->out + turns - 1) / turns;
    float *y = f->y;
    for (uint32_t r = 0; r < f->rows; r += MOT_PANEL, y += (size_t)f->out * MOT_PANEL) {
        struct sixteen rows;
        find_sixteen(f, r, &rows);
        for (uint32_t o = 0; o < f->out; o += outs)
            wide_run(&(struct wide){ .in = f->in,
                         .w = f->w + (size_t)o * f->in,
                         .bias = f->bias ? f->bias + o : NULL,
                         .rows = &rows,
                         .y = y + o * MOT_PANEL },
                f->out - o < outs ? f->out - o : outs);
    }
}
