/* kernels_few.h -- products for a few rows, which are read in place; a part of kernels_body.h.
 *
 * gemm has the rows of a batch in its lanes, sixteen at a time; with fewer rows most of that is padding. Here
 * the lanes are outputs (weights are transposed in registers) or inputs, and the number of rows is known to
 * the compiler. Every sum is the chain that gemm makes, broken at the same k: the bits are the same. */
_Static_assert(MOT_FEW == 8, "the functions for each number of rows are written out here");

/* Calls way(f, rows) as a separate function for each number of rows. */
#define FEW_CASE(way, n)                                                                                     \
    static __attribute__((noinline)) void way##_##n(const struct mot_few *f) { way##_rows(f, n); }
#define FEW(way)                                                                                             \
    FEW_CASE(way, 1)                                                                                         \
    FEW_CASE(way, 2)                                                                                         \
    FEW_CASE(way, 3)                                                                                         \
    FEW_CASE(way, 4)                                                                                         \
    FEW_CASE(way, 5)                                                                                         \
    FEW_CASE(way, 6)                                                                                         \
    FEW_CASE(way, 7)                                                                                         \
    FEW_CASE(way, 8)                                                                                         \
    static void way(const struct mot_few *f)                                                                 \
    {                                                                                                        \
        static void (*const of_rows[MOT_FEW])(const struct mot_few *) = { way##_1, way##_2, way##_3,         \
            way##_4, way##_5, way##_6, way##_7, way##_8 };                                                   \
        of_rows[f->rows - 1](f);                                                                             \
    }

/* How many vectors wide a strip may be: rows times vectors is the number of sums in registers, and there must
 * be several, since a chain waits for each of its additions. */
#define FEW_WIDE(rows) ((rows) <= 2 ? 4 : (rows) <= 4 ? 2 : 1)

/* ---- Forward: lanes are outputs ---------------------------------------------------- */

/* A strip of vectors * LANES outputs, of which `left` are there. */
struct few_strip {
    const float *w[4 * LANES]; /* lanes without an output repeat the last */
    const float *x[MOT_FEW];
    float *y;
    size_t y_row;
    uint32_t left;
};

/* Adds inputs k .. end - 1 to the sums; with two blocks also those K_BLOCK later, to separate sums, so that
 * more chains run side by side. */
INLINE void few_chains(const struct few_strip *s, size_t k, size_t end, vf (*sum)[4][MOT_FEW], const int rows,
    const int vectors, const int blocks)
{
    for (; k + 4 <= end; k += 4)
        UNROLL for (int b = 0; b < blocks; b++) UNROLL for (int v = 0; v < vectors; v++)
        {
            vf column[4];
            const size_t at = k + (size_t)b * K_BLOCK;
            columns_of_four(s->w + v * LANES, at, column);
            UNROLL for (int i = 0; i < 4; i++) UNROLL for (int r = 0; r < rows; r++) sum[b][v][r] =
                fma_f(column[i], all((s->x[r] + at)[i]), sum[b][v][r]);
        }
    for (; k < end; k++) UNROLL for (int v = 0; v < vectors; v++)
        {
            float one[LANES];
            for (int i = 0; i < LANES; i++) one[i] = s->w[v * LANES + i][k];
            UNROLL for (int r = 0; r < rows; r++) sum[0][v][r] =
                fma_f(load(one), all(s->x[r][k]), sum[0][v][r]);
        }
}

#if LANES == 8
/* One row, two whole blocks that begin at `from`, and up to four outputs more than a vector holds: those of
 * both blocks share a vector. */
INLINE void few_forward_narrow(const struct few_strip *s, uint32_t from, const float *start)
{
    const float *x = s->x[0];
    vf sum[2] = { load(start), { 0 } }, more = load_part(start + LANES, 4);
    for (size_t k = from; k < from + K_BLOCK; k += 4) {
        vf first[4], second[4], both[4], at[4];
        UNROLL for (int i = 0; i < 4; i++) at[i] =
            two_fours(s->w[LANES + i] + k, s->w[LANES + i] + k + K_BLOCK);
        columns_of_four(s->w, k, first);
        columns_of_four(s->w, k + K_BLOCK, second);
        turn_four(at, both);
        UNROLL for (int i = 0; i < 4; i++)
        {
            vf a = all((x + k)[i]), b = all((x + k + K_BLOCK)[i]);
            sum[0] = fma_f(first[i], a, sum[0]);
            sum[1] = fma_f(second[i], b, sum[1]);
            more = fma_f(both[i], __builtin_shufflevector(a, b, 0, 1, 2, 3, 12, 13, 14, 15), more);
        }
    }
    float rest[LANES];
    vf total = from == 0 ? sum[0] : sum[0] + load(s->y);
    store(s->y, sum[1] + total);
    store(rest, more);
    for (uint32_t i = 0; i < s->left - LANES; i++) {
        float part = from == 0 ? rest[i] : rest[i] + s->y[LANES + i];
        s->y[LANES + i] = rest[4 + i] + part;
    }
}
#endif

/* Inputs from .. end - 1, or two blocks that begin at `from`; `start` is what the sums begin with. */
INLINE void few_forward_block(const struct few_strip *s, uint32_t from, uint32_t end, const float *start,
    const int rows, const int vectors, const int blocks)
{
    vf sum[2][4][MOT_FEW];
    UNROLL for (int v = 0; v < vectors; v++) UNROLL for (int r = 0; r < rows; r++)
    {
        sum[0][v][r] = load(start + v * LANES);
        if (blocks == 2) sum[1][v][r] = (vf){ 0 };
    }
    few_chains(s, from, end, sum, rows, vectors, blocks);
    UNROLL for (int v = 0; v < vectors; v++)
    {
        uint32_t at = (uint32_t)v * LANES;
        if (at >= s->left) break;
        uint32_t n = s->left - at < LANES ? s->left - at : LANES;
        UNROLL for (int r = 0; r < rows; r++)
        {
            float *y = s->y + (size_t)r * s->y_row;
            vf total = from == 0 ? sum[0][v][r] : sum[0][v][r] + in(y, at, n);
            out(y, at, n, blocks == 2 ? sum[1][v][r] + total : total);
        }
    }
}

INLINE void few_forward_strip(
    const struct mot_few *f, uint32_t o, uint32_t left, const int rows, const int vectors)
{
    static const float zeros[4 * LANES];
    float bias[4 * LANES] = { 0 };
    struct few_strip s = { .y = f->y + o, .y_row = f->y_row, .left = left };
    for (uint32_t i = 0; i < (uint32_t)vectors * LANES; i++)
        s.w[i] = f->w + (size_t)(o + (i < left ? i : left - 1)) * f->in;
    UNROLL for (int r = 0; r < rows; r++) s.x[r] = f->x[r];
    if (f->bias) memcpy(bias, f->bias + o, left * sizeof *bias);
    uint32_t k = 0;
#if LANES == 8
    if (rows == 1 && vectors == 2 && left > LANES && left <= LANES + 4)
        for (; f->in - k >= 2 * K_BLOCK; k += 2 * K_BLOCK) few_forward_narrow(&s, k, k ? zeros : bias);
#endif
    if (rows * vectors <= 4)
        for (; f->in - k >= 2 * K_BLOCK; k += 2 * K_BLOCK)
            few_forward_block(&s, k, k + K_BLOCK, k ? zeros : bias, rows, vectors, 2);
    for (uint32_t n; k < f->in; k += n) {
        n = f->in - k < K_BLOCK ? f->in - k : K_BLOCK;
        few_forward_block(&s, k, k + n, k ? zeros : bias, rows, vectors, 1);
    }
}

INLINE void few_forward_rows(const struct mot_few *f, const int rows)
{
    const uint32_t most = FEW_WIDE(rows);
    for (uint32_t o = 0, vectors; o < f->out; o += vectors * LANES) {
        uint32_t left = f->out - o;
        vectors = left > 2 * LANES && most == 4 ? 4 : left > LANES && most >= 2 ? 2 : 1;
        if (left > vectors * LANES) left = vectors * LANES;
        if (most == 4 && vectors == 4) few_forward_strip(f, o, left, rows, 4);
        else if (most >= 2 && vectors == 2) few_forward_strip(f, o, left, rows, 2);
        else few_forward_strip(f, o, left, rows, 1);
    }
}
FEW(few_forward)

/* ---- Backward: lanes are inputs ---------------------------------------------------- */

/* Inputs i .. i + left - 1, at most vectors * LANES; outputs from .. to - 1. */
INLINE void few_back_strip(const struct mot_few *f, uint32_t i, uint32_t left, uint32_t from, uint32_t to,
    const int rows, const int vectors)
{
    vf sum[4][MOT_FEW];
    UNROLL for (int v = 0; v < vectors; v++) UNROLL for (int r = 0; r < rows; r++) sum[v][r] = (vf){ 0 };
    for (uint32_t o = from; o < to; o++) {
        const float *w = f->w + (size_t)o * f->in + i, *d = f->d + o * f->d_out;
        vf at[4];
        UNROLL for (int v = 0; v < vectors; v++) at[v] =
            vectors == 1 && left < LANES ? load_part(w, left) : load(w + v * LANES);
        UNROLL for (int r = 0; r < rows; r++)
        {
            vf slope = all(d[(size_t)r * f->d_row]);
            UNROLL for (int v = 0; v < vectors; v++) sum[v][r] = fma_f(at[v], slope, sum[v][r]);
        }
    }
    UNROLL for (int v = 0; v < vectors; v++) UNROLL for (int r = 0; r < rows; r++)
    {
        float *y = f->y + (size_t)r * f->y_row + i;
        uint32_t n = vectors == 1 ? left : LANES;
        out(y, (size_t)v * LANES, n, from == 0 ? sum[v][r] : sum[v][r] + in(y, (size_t)v * LANES, n));
    }
}

INLINE void few_back_rows(const struct mot_few *f, const int rows)
{
    const uint32_t most = FEW_WIDE(rows);
    for (uint32_t from = 0; from < f->out; from += K_BLOCK) {
        uint32_t to = f->out - from < K_BLOCK ? f->out : from + K_BLOCK, i = 0;
        for (; i + most * LANES <= f->in; i += most * LANES)
            few_back_strip(f, i, most * LANES, from, to, rows, (int)most);
        for (uint32_t left; i < f->in; i += left) {
            left = f->in - i < LANES ? f->in - i : LANES;
            few_back_strip(f, i, left, from, to, rows, 1);
        }
    }
}
FEW(few_back)

INLINE vf few_outer(
    const float *const x[MOT_FEW], const vf slope[MOT_FEW], const int rows, size_t i, const size_t left)
{
    vf sum = { 0 };
    UNROLL for (int r = 0; r < rows; r++) sum = fma_f(slope[r], in(x[r], i, left), sum);
    return sum;
}

/* Goes through the gradient in memory order: the cost is reading it (unless it is fresh) and writing it, once
 * each. */
INLINE void few_weights_loop(const struct mot_few *f, const int rows, const bool fresh)
{
    const float *x[MOT_FEW];
    UNROLL for (int r = 0; r < rows; r++) x[r] = f->x[r];
    for (uint32_t o = 0; o < f->out; o++) {
        float *y = f->y + (size_t)o * f->y_row;
        vf slope[MOT_FEW];
        UNROLL for (int r = 0; r < rows; r++) slope[r] = all(f->d[o * f->d_out + (size_t)r * f->d_row]);
        EACH_LANES(f->in, i, left, {
            vf old = fresh ? (vf){ 0 } : in(y, i, left);
            out(y, i, left, few_outer(x, slope, rows, i, left) + old);
        });
    }
}
INLINE void few_weights_rows(const struct mot_few *f, const int rows)
{
    if (f->fresh) few_weights_loop(f, rows, true);
    else few_weights_loop(f, rows, false);
}
FEW(few_weights)

/* row_sums has a row of the batch in each of 16 lanes and adds the upper half of them to the lower until one
 * is left. These sums add in the same order, although here a lane is a number of the row. */
static void few_sums(const struct mot_few *f)
{
    EACH_LANES(f->in, i, left, {
        vf sum[MOT_FEW] = { 0 };
        for (uint32_t r = 0; r < f->rows; r++) sum[r] = (vf){ 0 } + in(f->x[r], i, left);
        for (int width = MOT_FEW / 2; width; width /= 2)
            for (int r = 0; r < width; r++) sum[r] += sum[r + width];
        out(f->y, i, left, in(f->y, i, left) + sum[0]);
    });
}
