/* kernels_gemm.h -- matrix products on panels; a part of kernels_body.h and of kernels_avx512.c.
 *
 * The work is done by a register tile of up to TILE_ROWS rows of A by TILE_COLS columns of B: for
 * each k it loads TILE_VECTORS vectors of B, broadcasts one number of each row of A and does
 * a fused multiply-add for each pair. Nothing of A is packed: weights are used in place. 6 x 2 vectors fill
 * 12 of AVX2's 16 registers and leave room for B and the broadcast; NEON has 32 registers and takes twice
 * the columns; a vector of AVX-512 is a panel's whole row, and 12 sums keep its units busy. The chain of
 * additions of an element is the same in a tile of any shape. */
#if LANES == 16
#define TILE_ROWS 12
#define TILE_VECTORS 1
#elif defined(__aarch64__)
#define TILE_ROWS 6
#define TILE_VECTORS 4
#else
#define TILE_ROWS 6
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
    size_t c_row, c_soon; /* how far beyond C the tiles after the next ones write */
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
        /* C is not needed before the sums are done: time enough for it to come from far. */
        __builtin_prefetch(t->c + (size_t)i * t->c_row + t->c_soon, 1);
        UNROLL for (int v = 0; v < TILE_VECTORS; v++) sum[i][v] = all(t->bias[i]);
    }

    const float *b = t->b, *const *b_row = t->b_row, *a_of_block = t->a;
    const size_t a_row = t->a_row * sizeof(float), a_col = t->a_col * sizeof(float);
    for (uint32_t k0 = 0; k0 < t->k; k0 += MOT_PANEL, a_of_block += t->a_block) {
        const char *a[STARTS(TILE_ROWS)];
        start_rows(a_of_block, a_row, a, rows);
        uint32_t count = t->k - k0 < MOT_PANEL ? t->k - k0 : MOT_PANEL;
        for (uint32_t k = 0; k < count; k++) {
            vf in[TILE_VECTORS];
            const float *from = panel ? b : *b_row++ + t->b_at;
            if (panel) b += MOT_PANEL;
            UNROLL for (int v = 0; v < TILE_VECTORS; v++) in[v] = load(from + v * LANES);
            UNROLL for (int i = 0; i < rows; i++)
            {
                vf w = all(*in_row(a, a_row, i));
                UNROLL for (int v = 0; v < TILE_VECTORS; v++) sum[i][v] = fma_f(w, in[v], sum[i][v]);
            }
            UNROLL for (int i = 0; i < STARTS(rows); i++) a[i] += a_col;
        }
    }

    float *const c = t->c;
    const size_t c_row = t->c_row;
    if (t->add && t->fresh) { /* adds zeros instead of C: a sum of -0 becomes 0, as it would with C */
        UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < TILE_VECTORS; v++) sum[i][v] +=
            (vf){ 0 };
    } else if (t->add) {
        UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < TILE_VECTORS; v++) sum[i][v] +=
            load(c + (size_t)i * c_row + v * LANES);
    }
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < TILE_VECTORS; v++)
        store(c + (size_t)i * c_row + v * LANES, sum[i][v]);
}

/* Separate functions: clang would merge what the cases of a switch have in common and lose the constant.
 * Those with more rows than a tile are empty. */
#define DEFINE_TILE(n)                                                                                       \
    static __attribute__((noinline)) void tile_##n(const struct tile *t)                                     \
    {                                                                                                        \
        if ((n) <= TILE_ROWS) tile_rows(t, (n) <= TILE_ROWS ? n : 1, true);                                  \
    }                                                                                                        \
    static __attribute__((noinline)) void tile_of_rows_##n(const struct tile *t)                             \
    {                                                                                                        \
        if ((n) <= TILE_ROWS) tile_rows(t, (n) <= TILE_ROWS ? n : 1, false);                                 \
    }
#define EACH_TILE(do)                                                                                        \
    do (1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9) do(10) do(11) do(12)
#define TILE_NAME(n) tile_##n,
#define TILE_OF_ROWS_NAME(n) tile_of_rows_##n,
EACH_TILE(DEFINE_TILE)

static void tile_run(const struct tile *t, uint32_t rows)
{
    static void (*const way[2][12])(
        const struct tile *) = { { EACH_TILE(TILE_OF_ROWS_NAME) }, { EACH_TILE(TILE_NAME) } };
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

/* Rows of B are packed if at least this many tiles read them, and at the right edge. */
#define PACK_TILES 4
/* With fewer k than this, a tile ends before its C can arrive. */
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
