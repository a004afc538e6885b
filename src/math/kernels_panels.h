/* kernels_panels.h -- rows become panels, and panels other panels or sums; a part of kernels_body.h. */

typedef float v4 __attribute__((vector_size(16))); /* four numbers, whatever LANES is */
INLINE v4 load_four(const float *p)
{
    v4 v;
    memcpy(&v, p, sizeof v);
    return v;
}

#if LANES == 8
/* at[i] has four numbers of row i and four of row i + 4: v[j] becomes number j of each of the eight. Only one
 * unit of the processor shuffles, all of them blend. */
INLINE void turn_four(const vf at[4], vf v[4])
{
    vf a = __builtin_shufflevector(at[0], at[1], 0, 8, 1, 9, 4, 12, 5, 13),
       b = __builtin_shufflevector(at[0], at[1], 2, 10, 3, 11, 6, 14, 7, 15);
    vf d = __builtin_shufflevector(at[2], at[3], 0, 8, 1, 9, 4, 12, 5, 13),
       e = __builtin_shufflevector(at[2], at[3], 2, 10, 3, 11, 6, 14, 7, 15);
    vf f = __builtin_shufflevector(a, d, 2, 3, 8, 9, 6, 7, 12, 13),
       g = __builtin_shufflevector(b, e, 2, 3, 8, 9, 6, 7, 12, 13);
    v[0] = __builtin_shufflevector(a, f, 0, 1, 10, 11, 4, 5, 14, 15);
    v[1] = __builtin_shufflevector(f, d, 0, 1, 10, 11, 4, 5, 14, 15);
    v[2] = __builtin_shufflevector(b, g, 0, 1, 10, 11, 4, 5, 14, 15);
    v[3] = __builtin_shufflevector(g, e, 0, 1, 10, 11, 4, 5, 14, 15);
}
INLINE vf two_fours(const float *low, const float *high)
{
    return __builtin_shufflevector(load_four(low), load_four(high), 0, 1, 2, 3, 4, 5, 6, 7);
}
#else
INLINE void turn_four(const vf at[4], vf v[4])
{
    vf a = __builtin_shufflevector(at[0], at[1], 0, 4, 1, 5),
       b = __builtin_shufflevector(at[0], at[1], 2, 6, 3, 7);
    vf d = __builtin_shufflevector(at[2], at[3], 0, 4, 1, 5),
       e = __builtin_shufflevector(at[2], at[3], 2, 6, 3, 7);
    v[0] = __builtin_shufflevector(a, d, 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(a, d, 2, 3, 6, 7);
    v[2] = __builtin_shufflevector(b, e, 0, 1, 4, 5);
    v[3] = __builtin_shufflevector(b, e, 2, 3, 6, 7);
}
#endif

/* Numbers c .. c + 3 of LANES rows: v[j] becomes number c + j of each of them. Whole quarters are loaded into
 * their place, so that with 8 lanes nothing has to cross from one half to the other later. */
INLINE void columns_of_four(const float *const row[LANES], size_t c, vf v[4])
{
    vf at[4];
#if LANES == 8
    UNROLL for (int i = 0; i < 4; i++) at[i] = two_fours(row[i] + c, row[i + 4] + c);
#else
    UNROLL for (int i = 0; i < 4; i++) at[i] = load(row[i] + c);
#endif
    turn_four(at, v);
}

/* Numbers first .. first + cols - 1 of LANES rows become LANES columns of a panel. */
INLINE void turn_lanes(const float *const row[LANES], size_t first, size_t cols, float *out)
{
    size_t c = 0;
    UNROLL_4 for (; c + 4 <= cols; c += 4, out += 4 * MOT_PANEL)
    {
        vf v[4];
        columns_of_four(row, first + c, v);
        UNROLL for (size_t i = 0; i < 4; i++) store(out + i * MOT_PANEL, v[i]);
    }
    for (; c < cols; c++, out += MOT_PANEL) UNROLL for (int i = 0; i < LANES; i++) out[i] = row[i][first + c];
}

#define TURN_COLS 64u /* columns transposed at a time, so that few zeros do for rows without data */

static void turn_rows(uint32_t rows, const float *const *row, size_t first, uint32_t cols, float *out)
{
    static const float zeros[TURN_COLS];
    for (uint32_t r = 0; r < mot_panels(rows) * MOT_PANEL; r += LANES)
        for (uint32_t c = 0; c < cols; c += TURN_COLS) {
            const float *from[LANES];
            uint32_t n = cols - c < TURN_COLS ? cols - c : TURN_COLS;
            for (uint32_t i = 0; i < LANES; i++) {
                from[i] = r + i < rows ? row[r + i] + first + c : zeros;
                if (r + i + LANES < rows)
                    for (uint32_t line = 0; line < n; line += MOT_PANEL)
                        __builtin_prefetch(row[r + i + LANES] + first + c + line);
            }
            turn_lanes(from, 0, n, out + ((size_t)(r / MOT_PANEL) * cols + c) * MOT_PANEL + r % MOT_PANEL);
        }
}

static void transpose(uint32_t rows, uint32_t cols, const float *in, float *out)
{
    static const float zeros[MOT_PANEL];
    for (uint32_t r = 0; r < mot_panels(rows) * MOT_PANEL; r += LANES)
        for (uint32_t c = 0; c < cols; c += MOT_PANEL) {
            const float *from[LANES], *panel = in + (size_t)c * rows;
            for (uint32_t i = 0; i < LANES; i++)
                from[i] = r + i < rows ? panel + (size_t)(r + i) * MOT_PANEL : zeros;
            turn_lanes(from, 0, cols - c < MOT_PANEL ? cols - c : MOT_PANEL,
                out + ((size_t)(r / MOT_PANEL) * cols + c) * MOT_PANEL + r % MOT_PANEL);
        }
}

static void row_sums(uint32_t rows, uint32_t cols, const float *in, float *y)
{
    static const float number[MOT_PANEL] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    uint32_t panels = mot_panels(cols);
    for (uint32_t r = 0; r < rows; r++) {
        vf lane[MOT_PANEL / LANES] = { 0 };
        for (uint32_t p = 0; p < panels; p++) {
            const float *from = in + ((size_t)p * rows + r) * MOT_PANEL;
            const float left = (float)(cols - p * MOT_PANEL); /* what follows is padding, whatever it holds */
            UNROLL for (uint32_t v = 0; v < MOT_PANEL / LANES; v++) lane[v] +=
                choose(load(number + v * LANES) < left, load(from + v * LANES), (vf){ 0 });
        }
        float sum[MOT_PANEL];
        memcpy(sum, lane, sizeof sum);
        UNROLL for (uint32_t width = MOT_PANEL / 2; width; width /= 2)
            UNROLL for (uint32_t i = 0; i < width; i++) sum[i] += sum[i + width];
        y[r] += sum[0];
    }
}
