/* kernels_gemm.h -- matrix products on panels; a part of kernels_body.h.
 *
 * The work is done by a register tile of up to TILE_ROWS rows of A by TILE_COLS columns of B: for
 * each k it loads TILE_VECTORS vectors of B, broadcasts one number of each row of A and does
 * a fused multiply-add for each pair. Nothing of A is packed: weights are used in place. 6 x 2 vectors fill
 * 12 of AVX2's 16 registers and leave room for B and the broadcast; NEON has 32 registers and takes twice
 * the columns. */
#define TILE_ROWS 6
#if defined(__aarch64__)
#define TILE_VECTORS 4
#else
#define TILE_VECTORS 2
#endif
#define TILE_COLS (TILE_VECTORS * LANES)
_Static_assert(MOT_PANEL % TILE_COLS == 0, "a panel is a whole number of tiles");

/* Blocks for the caches: the panel of B (K_BLOCK x 16 floats) stays in L1 while M_BLOCK rows of A
 * pass, and these rows stay in L2 while the panels pass. */
#define K_BLOCK MOT_K_BLOCK
#define M_BLOCK 96
_Static_assert(K_BLOCK % MOT_PANEL == 0, "a block of k begins at a block of A");

struct tile {
    const float *a;
    size_t a_row, a_block, a_col;
    const float *b; /* a panel; or NULL, and */
    const float *const *b_row;
    size_t b_at; /* where in each row the tile begins */
    float *c;
    size_t c_row, c_soon; /* how far behind C that lies which the next tiles but one write */
    uint32_t k;
    const float *bias; /* what the sums begin with, one for each row */
    bool add, fresh;
};

/* `rows` is known to the compiler at every call, so that all sums live in registers; so is whether B is a
 * panel. */
INLINE void tile_rows(const struct tile *t, const int rows, const bool panel)
{
    vf sum[TILE_ROWS][TILE_VECTORS];
    UNROLL for (int i = 0; i < rows; i++)
    {
        /* C is needed when the sums are done; until then it has time to come from far. */
        __builtin_prefetch(t->c + (size_t)i * t->c_row + t->c_soon, 1);
        UNROLL for (int v = 0; v < TILE_VECTORS; v++) sum[i][v] = all(t->bias[i]);
    }

    const float *b = t->b, *const *b_row = t->b_row, *a_of_block = t->a;
    const size_t a_row = t->a_row, a_col = t->a_col;
    for (uint32_t k0 = 0; k0 < t->k; k0 += MOT_PANEL, a_of_block += t->a_block) {
        const float *a = a_of_block;
        uint32_t count = t->k - k0 < MOT_PANEL ? t->k - k0 : MOT_PANEL;
        for (uint32_t k = 0; k < count; k++, a += a_col) {
            vf in[TILE_VECTORS];
            const float *from = panel ? b : *b_row++ + t->b_at;
            if (panel) b += MOT_PANEL;
            UNROLL for (int v = 0; v < TILE_VECTORS; v++) in[v] = load(from + v * LANES);
            UNROLL for (int i = 0; i < rows; i++)
            {
                vf w = all(a[(size_t)i * a_row]);
                UNROLL for (int v = 0; v < TILE_VECTORS; v++) sum[i][v] = fma_f(w, in[v], sum[i][v]);
            }
        }
    }

    float *const c = t->c;
    const size_t c_row = t->c_row;
    if (t->add && t->fresh) { /* zeros in the place of C: a sum of -0 becomes 0, as it would there */
        UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < TILE_VECTORS; v++) sum[i][v] +=
            (vf){ 0 };
    } else if (t->add) {
        UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < TILE_VECTORS; v++) sum[i][v] +=
            load(c + (size_t)i * c_row + v * LANES);
    }
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < TILE_VECTORS; v++)
        store(c + (size_t)i * c_row + v * LANES, sum[i][v]);
}

/* Functions of their own: clang would merge what the cases of a
 * switch have in common and lose the constant. */
#define DEFINE_TILE(n)                                                                                       \
    static __attribute__((noinline)) void tile_##n(const struct tile *t) { tile_rows(t, n, true); }          \
    static __attribute__((noinline)) void tile_of_rows_##n(const struct tile *t) { tile_rows(t, n, false); }
DEFINE_TILE(1)
DEFINE_TILE(2)
DEFINE_TILE(3)
DEFINE_TILE(4)
DEFINE_TILE(5)
DEFINE_TILE(6)

static void tile_run(const struct tile *t, uint32_t rows)
{
    static void (*const way[2][TILE_ROWS])(const struct tile *) = {
        { tile_of_rows_1, tile_of_rows_2, tile_of_rows_3, tile_of_rows_4, tile_of_rows_5, tile_of_rows_6 },
        { tile_1, tile_2, tile_3, tile_4, tile_5, tile_6 },
    };
    way[t->b != NULL][rows - 1](t);
}

/* At C's right edge a tile works on a copy of its part of C. */
static void tile_edge(const struct tile *t, uint32_t rows, uint32_t cols)
{
    float copy[TILE_ROWS * TILE_COLS] = { 0 };
    struct tile whole = *t;
    whole.c = copy;
    whole.c_row = TILE_COLS, whole.c_soon = 0;
    for (uint32_t i = 0; i < rows && t->add && !t->fresh; i++)
        memcpy(copy + i * TILE_COLS, t->c + i * t->c_row, cols * sizeof *copy);
    tile_run(&whole, rows);
    for (uint32_t i = 0; i < rows; i++)
        memcpy(t->c + i * t->c_row, copy + i * TILE_COLS, cols * sizeof *copy);
}

/* Sixteen columns of rows that lie anywhere, as a panel; zeros in the padding. */
static void pack_panel(uint32_t rows, const float *const *row, size_t from, uint32_t cols, float *out)
{
    for (uint32_t r = 0; r < rows; r++, out += MOT_PANEL) {
        if (cols < MOT_PANEL) memset(out, 0, MOT_PANEL * sizeof *out);
        if (cols < MOT_PANEL) memcpy(out, row[r] + from, cols * sizeof *out);
        else memcpy(out, row[r] + from, MOT_PANEL * sizeof *out);
    }
}

/* Rows of B are packed where at least so many tiles read them, and at the right edge. */
#define PACK_TILES 4
/* Under so many k a tile is over before C can have come. */
#define SHORT_K 32

/* Rows i0 .. i1-1 of C, one panel, the k of one block. */
static void gemm_block(
    const struct mot_gemm *g, uint32_t i0, uint32_t i1, uint32_t panel, uint32_t k0, uint32_t k)
{
    static const float zeros[TILE_ROWS];
    uint32_t cols = g->n - panel * MOT_PANEL < MOT_PANEL ? g->n - panel * MOT_PANEL : MOT_PANEL;
    float packed[MOT_SLICE_ROWS * MOT_PANEL] __attribute__((aligned(64)));
    const float *b = g->b ? g->b + panel * g->b_panel + (size_t)k0 * MOT_PANEL : NULL;
    if (!b && (i1 - i0 > (PACK_TILES - 1) * TILE_ROWS || cols < MOT_PANEL)) {
        pack_panel(k, g->b_row + k0, (size_t)panel * MOT_PANEL, cols, packed);
        b = packed;
    }
    struct tile t = {
        .a_row = g->a_row,
        .a_block = g->a_block,
        .a_col = g->a_col,
        .b_row = b ? NULL : g->b_row + k0,
        .c_row = g->c_row,
        .c_soon = k < SHORT_K ? 2 * g->c_panel : 0,
        .k = k,
        .bias = zeros,
        .add = g->add || k0 > 0,
        .fresh = g->fresh && k0 == 0,
    };
    for (uint32_t j = 0; j < cols; j += TILE_COLS)
        for (uint32_t i = i0; i < i1; i += TILE_ROWS) {
            uint32_t rows = i1 - i < TILE_ROWS ? i1 - i : TILE_ROWS;
            t.a = g->a + i * g->a_row + k0 / MOT_PANEL * g->a_block;
            t.b = b ? b + j : NULL;
            t.b_at = (size_t)panel * MOT_PANEL + j;
            t.c = g->c + panel * g->c_panel + i * g->c_row + j;
            if (g->bias && k0 == 0) t.bias = g->bias + i;
            if (cols - j >= TILE_COLS) tile_run(&t, rows);
            else tile_edge(&t, rows, cols - j);
        }
}

static void gemm(const struct mot_gemm *g)
{
    uint32_t panels = mot_panels(g->n);
    uint32_t k0 = 0;
    do {
        uint32_t k = g->k - k0 < K_BLOCK ? g->k - k0 : K_BLOCK;
        for (uint32_t i = 0; i < g->m; i += M_BLOCK)
            for (uint32_t p = 0; p < panels; p++)
                gemm_block(g, i, g->m - i < M_BLOCK ? g->m : i + M_BLOCK, p, k0, k);
        k0 += k;
    } while (k0 < g->k);
}

/* ---- Panels --------------------------------------------------------------- */

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

#define TURN_COLS 64u /* columns transposed at a time: rows without data then read zeros that are not many */

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
            const float left =
                (float)(cols - p * MOT_PANEL); /* what lies behind is padding, whatever it is */
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
