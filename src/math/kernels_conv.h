/* kernels_conv.h -- convolutions over maps (maps.h); a part of kernels_maps.h.
 *
 * Forward, and back to the input: a register tile of some output channels by some neighbouring pixels by
 * sixteen rows. For each number of the window it loads the pixels, broadcasts a weight for each channel
 * and does a fused multiply-add for each pair; only the weights are copied. Back to the weights: a tile of
 * four output channels by some inputs, each with sixteen partial sums that are added up at the end. */

#define PARTS ((int)(MOT_PANEL / LANES)) /* vectors for the sixteen rows of a number */
#if LANES == 16
#define ACROSS 24 /* sums that fit into the registers */
#define OUTS_MAX 8
#define INS_MAX 6
#elif defined(__aarch64__)
#define ACROSS 24
#define OUTS_MAX 6
#define INS_MAX 4
#else
#define ACROSS 12
#define OUTS_MAX (LANES == 8 ? 6 : 3)
#define INS_MAX 3
#endif
#define PIXELS_MAX 4

/* Channels are cut into as few tiles as possible, as even as possible. */
INLINE uint32_t outs_of(uint32_t channels, uint32_t from)
{
    uint32_t tiles = (channels + OUTS_MAX - 1) / OUTS_MAX, least = channels / tiles, more = channels % tiles;
    return from < more * (least + 1) ? least + 1 : least;
}

static void conv_pack(const struct mot_conv_weights *k, float *to)
{
    for (uint32_t o = 0, outs; o < k->out; o += outs) {
        outs = outs_of(k->out, o);
        for (uint32_t c = 0; c < k->in; c += MOT_MAP_BLOCK)
            for (uint32_t r = 0; r < k->kernel_rows; r++)
                for (uint32_t q = 0; q < k->kernel_cols; q++)
                    for (uint32_t i = c; i < k->in && i < c + MOT_MAP_BLOCK; i++) {
                        const float *from = k->w + (ptrdiff_t)o * k->o_step + (ptrdiff_t)i * k->i_step +
                            (ptrdiff_t)r * k->r_step + (ptrdiff_t)q * k->q_step;
                        for (uint32_t n = 0; n < outs; n++) *to++ = from[(ptrdiff_t)n * k->o_step];
                    }
    }
}

struct conv_tile {
    const struct mot_conv *k;
    const float *x, *packed; /* the panel; the weights of the tile's channels */
    uint32_t o;              /* the first channel */
    uint32_t h, w;           /* where it begins */
    bool down;               /* its pixels lie below each other, otherwise beside each other */
    uint32_t r0, r1, q0, q1; /* the part of the window that lies inside */
};

INLINE float *conv_out(const struct conv_tile *t, uint32_t o, uint32_t pixel, float *y)
{
    const struct mot_conv *k = t->k;
    const uint32_t h = t->h + (t->down ? pixel : 0), w = t->w + (t->down ? 0 : pixel);
    size_t at = (size_t)(k->from_row + h * k->step) * k->out.width + k->from_col + w * k->step;
    return y + mot_map_at(&k->out, o) + at * mot_map_step(&k->out, o);
}

/* `outs` and `pixels` are known to the compiler at every call, so that all sums live in registers. */
INLINE void conv_sums(const struct conv_tile *t, float *y, const int outs, const int pixels)
{
    const struct mot_conv *const k = t->k;
    vf sum[OUTS_MAX][PIXELS_MAX][PARTS];
    UNROLL for (int o = 0; o < outs; o++) UNROLL for (int p = 0; p < pixels; p++)
        UNROLL for (int v = 0; v < PARTS; v++)
    {
        if (k->add) sum[o][p][v] = load(conv_out(t, t->o + (uint32_t)o, (uint32_t)p, y) + v * LANES);
        else sum[o][p][v] = all(k->bias ? k->bias[t->o + (uint32_t)o] : 0);
    }
    const int64_t row = (int64_t)t->h * k->stride - k->top, col = (int64_t)t->w * k->stride - k->left;
    const size_t plane = mot_map_pixels(&k->in);
    for (uint32_t c = 0; c < k->in.channels; c += MOT_MAP_BLOCK) {
        const uint32_t width = mot_map_width(k->in.channels, c);
        const size_t step = (size_t)width * MOT_PANEL, next = k->stride * step * (t->down ? k->in.width : 1);
        const float *block = t->x + c * plane * MOT_PANEL;
        for (uint32_t r = t->r0; r < t->r1; r++) {
            const float *x = block + (size_t)((row + r) * k->in.width + col + t->q0) * step;
            const float *w = t->packed +
                (size_t)outs * (c * k->kernel_rows * k->kernel_cols + (r * k->kernel_cols + t->q0) * width);
            for (uint32_t left = (t->q1 - t->q0) * width; left; left--, x += MOT_PANEL, w += outs) {
                vf in[PIXELS_MAX][PARTS];
                UNROLL for (int p = 0; p < pixels; p++) UNROLL for (int v = 0; v < PARTS; v++) in[p][v] =
                    load(x + (size_t)p * next + v * LANES);
                UNROLL for (int o = 0; o < outs; o++)
                {
                    vf weight = all(w[o]);
                    UNROLL for (int p = 0; p < pixels; p++) UNROLL for (int v = 0; v < PARTS; v++)
                        sum[o][p][v] = fma_f(weight, in[p][v], sum[o][p][v]);
                }
            }
        }
    }
    UNROLL for (int o = 0; o < outs; o++) UNROLL for (int p = 0; p < pixels; p++)
        UNROLL for (int v = 0; v < PARTS; v++)
            store(conv_out(t, t->o + (uint32_t)o, (uint32_t)p, y) + v * LANES, sum[o][p][v]);
}

/* Separate functions, as in kernels_gemm.h; none for tiles that would not fit into the registers. */
#define CONV_FITS(o, p) ((o) <= OUTS_MAX && (o) * (p)*PARTS <= ACROSS)
#define DEFINE_CONV(o, p)                                                                                    \
    static __attribute__((noinline)) void conv_##o##_##p(const struct conv_tile *t, float *y)                \
    {                                                                                                        \
        if (CONV_FITS(o, p)) conv_sums(t, y, CONV_FITS(o, p) ? o : 1, CONV_FITS(o, p) ? p : 1);              \
    }
#define DEFINE_CONVS(o) DEFINE_CONV(o, 1) DEFINE_CONV(o, 2) DEFINE_CONV(o, 3) DEFINE_CONV(o, 4)
DEFINE_CONVS(1)
DEFINE_CONVS(2)
DEFINE_CONVS(3)
DEFINE_CONVS(4)
DEFINE_CONVS(5)
DEFINE_CONVS(6)
DEFINE_CONVS(7)
DEFINE_CONVS(8)
#define CONV_ROW(o)                                                                                          \
    {                                                                                                        \
        conv_##o##_1, conv_##o##_2, conv_##o##_3, conv_##o##_4                                               \
    }
static void (*const conv_way[8][PIXELS_MAX])(const struct conv_tile *, float *) = { CONV_ROW(1), CONV_ROW(2),
    CONV_ROW(3), CONV_ROW(4), CONV_ROW(5), CONV_ROW(6), CONV_ROW(7), CONV_ROW(8) };

/* The part inside 0 .. limit - 1 of a window of `size` that begins at `first`. */
INLINE void clip(int64_t first, uint32_t size, uint32_t limit, uint32_t *from, uint32_t *to)
{
    int64_t a = first < 0 ? -first : 0,
            b = first + size > (int64_t)limit ? (int64_t)limit - first : (int64_t)size;
    *from = (uint32_t)(a < (int64_t)size ? a : (int64_t)size);
    *to = (uint32_t)(b > (int64_t)*from ? b : (int64_t)*from);
}

/* For how many pixels of so many channels the sums fit into registers. */
INLINE uint32_t pixels_of(uint32_t outs)
{
    uint32_t most = (uint32_t)(ACROSS / PARTS) / outs;
    return most < 1 ? 1 : most > PIXELS_MAX ? PIXELS_MAX : most;
}

/* Of the pixels from .. count - 1 of a row, or the rows of a column, how many have windows wholly inside
 * before the first that does not. */
INLINE uint32_t whole(
    uint32_t from, uint32_t count, uint32_t stride, int32_t padding, uint32_t kernel, uint32_t limit)
{
    int64_t first = (int64_t)from * stride - padding, room = (int64_t)limit - kernel - first;
    if (first < 0 || room < 0) return 0;
    return room / stride + 1 < (int64_t)(count - from) ? (uint32_t)(room / stride + 1) : count - from;
}

/* Some rows of pixels of some channels. At the left and right edges the window is cut: a pixel's neighbours
 * beside it see another part of the window, but those below it see the same. So tiles there go down. */
static void conv_rows(struct conv_tile *t, uint32_t outs, uint32_t rows, float *y)
{
    const struct mot_conv *k = t->k;
    const uint32_t most = pixels_of(outs), h = t->h;
    for (uint32_t w = 0, run; w < k->cols; w += run) {
        t->w = w;
        clip((int64_t)w * k->stride - k->left, k->kernel_cols, k->in.width, &t->q0, &t->q1);
        run = whole(w, k->cols, k->stride, k->left, k->kernel_cols, k->in.width);
        t->down = run == 0;
        if (t->down) {
            conv_way[outs - 1][rows - 1](t, y);
            run = 1;
            continue;
        }
        for (; t->h < h + rows; t->h++)
            for (uint32_t done = 0, pixels; done < run; done += pixels) {
                pixels = run - done < most ? run - done : most;
                t->w = w + done;
                conv_way[outs - 1][pixels - 1](t, y);
            }
        t->h = h;
    }
}

static void conv(const struct mot_conv *k)
{
    const size_t weights = (size_t)k->in.channels * k->kernel_rows * k->kernel_cols;
    const uint32_t most = pixels_of(outs_of(k->out.channels, 0)); /* no tile has more channels */
    for (uint32_t panel = 0; panel < k->panels; panel++) {
        float *y = k->y + panel * mot_map_size(&k->out) * MOT_PANEL;
        struct conv_tile t = { .k = k, .x = k->x + panel * mot_map_size(&k->in) * MOT_PANEL };
        for (uint32_t rows; t.h < k->rows; t.h += rows) {
            clip((int64_t)t.h * k->stride - k->top, k->kernel_rows, k->in.height, &t.r0, &t.r1);
            rows = whole(t.h, k->rows, k->stride, k->top, k->kernel_rows, k->in.height);
            rows = rows < 1 ? 1 : rows < most ? rows : most;
            uint32_t outs;
            for (t.o = 0, t.packed = k->packed; t.o < k->out.channels; t.o += outs) {
                outs = outs_of(k->out.channels, t.o);
                conv_rows(&t, outs, rows, y);
                t.packed += outs * weights;
            }
        }
    }
}

/* ---- Back to the weights ------------------------------------------------------------ */

/* Some rows of pixels: the slopes d of a block of outputs times `ins` numbers of the input from x on. */
struct slope_tile {
    uint32_t rows, cols;
    const float *d, *x;
    size_t d_step, d_row, x_step, x_row;
    float *sum; /* [outs][ins][16] by sum_row and 16 */
    size_t sum_row;
};

INLINE void slope_sum(const struct slope_tile *t, const int outs, const int ins)
{
    for (int v = 0; v < PARTS; v++) {
        vf sum[MOT_MAP_BLOCK][INS_MAX];
        UNROLL for (int o = 0; o < outs; o++) UNROLL for (int i = 0; i < ins; i++) sum[o][i] =
            load(t->sum + (size_t)o * t->sum_row + (size_t)i * MOT_PANEL + v * LANES);
        for (uint32_t h = 0; h < t->rows; h++) {
            const float *d = t->d + h * t->d_row + v * LANES, *x = t->x + h * t->x_row + v * LANES;
            for (uint32_t w = 0; w < t->cols; w++, d += t->d_step, x += t->x_step) {
                vf in[INS_MAX];
                UNROLL for (int i = 0; i < ins; i++) in[i] = load(x + (size_t)i * MOT_PANEL);
                UNROLL for (int o = 0; o < outs; o++)
                {
                    vf slope = load(d + (size_t)o * MOT_PANEL);
                    UNROLL for (int i = 0; i < ins; i++) sum[o][i] = fma_f(slope, in[i], sum[o][i]);
                }
            }
        }
        UNROLL for (int o = 0; o < outs; o++) UNROLL for (int i = 0; i < ins; i++)
            store(t->sum + (size_t)o * t->sum_row + (size_t)i * MOT_PANEL + v * LANES, sum[o][i]);
    }
}

#define DEFINE_SLOPE(o, i)                                                                                   \
    static __attribute__((noinline)) void slope_##o##_##i(const struct slope_tile *t)                        \
    {                                                                                                        \
        if ((i) <= INS_MAX) slope_sum(t, o, (i) <= INS_MAX ? i : 1);                                         \
    }
#define DEFINE_SLOPES(o)                                                                                     \
    DEFINE_SLOPE(o, 1)                                                                                       \
    DEFINE_SLOPE(o, 2) DEFINE_SLOPE(o, 3) DEFINE_SLOPE(o, 4) DEFINE_SLOPE(o, 5) DEFINE_SLOPE(o, 6)
DEFINE_SLOPES(1)
DEFINE_SLOPES(2)
DEFINE_SLOPES(3)
DEFINE_SLOPES(4)
#define SLOPE_ROW(o)                                                                                         \
    {                                                                                                        \
        slope_##o##_1, slope_##o##_2, slope_##o##_3, slope_##o##_4, slope_##o##_5, slope_##o##_6             \
    }
static void (*const slope_way[MOT_MAP_BLOCK][6])(
    const struct slope_tile *) = { SLOPE_ROW(1), SLOPE_ROW(2), SLOPE_ROW(3), SLOPE_ROW(4) };

/* All numbers of a run, in as even tiles as possible. */
static void slope_run(struct slope_tile t, uint32_t outs, uint32_t run)
{
    uint32_t tiles = (run + INS_MAX - 1) / INS_MAX;
    for (uint32_t n = 0, done = 0, ins; n < tiles; n++, done += ins) {
        ins = (run - done) / (tiles - n);
        slope_way[outs - 1][ins - 1](&t);
        t.x += (size_t)ins * MOT_PANEL, t.sum += (size_t)ins * MOT_PANEL;
    }
}

/* The columns of the output for which column q of the window lies inside. */
INLINE void inside(
    uint32_t q, const struct mot_conv_slope *k, uint32_t in, uint32_t out, uint32_t *from, uint32_t *to)
{
    int64_t first = (int64_t)k->padding - q, last = (int64_t)in - 1 + k->padding - q;
    *from = first > 0 ? (uint32_t)((first + k->stride - 1) / k->stride) : 0;
    *to = last < 0 ? 0 : (uint32_t)(last / k->stride + 1);
    if (*to > out) *to = out;
    if (*from > *to) *from = *to;
}

/* One block of outputs and one of inputs of one panel, and where in them a window's row begins. */
struct slope_row {
    const struct mot_conv_slope *k;
    uint32_t outs, ins, r, from, to; /* rows from .. to - 1 of the output */
    const float *d, *x;              /* pixel 0 of each */
    float *sum;                      /* of this row of the window: [outs][q][ins][16] */
};

/* Columns q0 .. q1 - 1 of the window for rows h .. h + rows - 1 and columns w .. w + cols - 1 of the output,
 * which see all of them. The columns are contiguous, so a tile may take numbers of several. */
INLINE void slope_part(
    const struct slope_row *s, uint32_t q0, uint32_t q1, uint32_t h, uint32_t rows, uint32_t w, uint32_t cols)
{
    const struct mot_conv_slope *k = s->k;
    const size_t d_step = (size_t)s->outs * MOT_PANEL, x_step = (size_t)s->ins * MOT_PANEL;
    const size_t row = (size_t)h * k->stride + s->r - k->padding,
                 col = (size_t)w * k->stride + q0 - k->padding;
    slope_run((struct slope_tile){ .rows = rows,
                  .cols = cols,
                  .d = s->d + ((size_t)h * k->out.width + w) * d_step,
                  .x = s->x + (row * k->in.width + col) * x_step,
                  .d_step = d_step,
                  .d_row = d_step * k->out.width,
                  .x_step = x_step * k->stride,
                  .x_row = x_step * k->in.width * k->stride,
                  .sum = s->sum + (size_t)q0 * x_step,
                  .sum_row = (size_t)k->kernel * x_step },
        s->outs, (q1 - q0) * s->ins);
}

/* A block of so few inputs would make tiles too small, so its window's columns are taken together: row by row
 * of the output, since pixels at the edges see fewer of them. The order of additions is the same. */
#define FEW_INS 3u

static void slope_rows(const struct slope_row *s)
{
    const struct mot_conv_slope *k = s->k;
    uint32_t uncut = whole(0, k->out.width, k->stride, (int32_t)k->padding, k->kernel, k->in.width);
    if (uncut == k->out.width) {
        slope_part(s, 0, k->kernel, s->from, s->to - s->from, 0, k->out.width);
    } else if (s->ins > FEW_INS) {
        for (uint32_t q = 0, w, end; q < k->kernel; q++) {
            inside(q, k, k->in.width, k->out.width, &w, &end);
            if (w < end) slope_part(s, q, q + 1, s->from, s->to - s->from, w, end - w);
        }
    } else {
        for (uint32_t h = s->from; h < s->to; h++)
            for (uint32_t w = 0, cols, q0, q1; w < k->out.width; w += cols) {
                clip((int64_t)w * k->stride - k->padding, k->kernel, k->in.width, &q0, &q1);
                cols = whole(w, k->out.width, k->stride, (int32_t)k->padding, k->kernel, k->in.width);
                cols = cols > 0 ? cols : 1;
                if (q0 < q1) slope_part(s, q0, q1, h, 1, w, cols);
            }
    }
}

/* Rows h0 .. h1-1 of the output of one panel, one block of outputs and one of inputs. */
static void slope_block(const struct mot_conv_slope *k, uint32_t panel, uint32_t o, uint32_t i, uint32_t h0,
    uint32_t h1, float *sum)
{
    struct slope_row s = { .k = k,
        .outs = mot_map_width(k->out.channels, o),
        .ins = mot_map_width(k->in.channels, i),
        .d = k->d + panel * mot_map_size(&k->out) * MOT_PANEL + mot_map_at(&k->out, o),
        .x = k->x + panel * mot_map_size(&k->in) * MOT_PANEL + mot_map_at(&k->in, i),
        .sum = sum };
    for (; s.r < k->kernel; s.r++, s.sum += (size_t)s.outs * k->kernel * s.ins * MOT_PANEL) {
        inside(s.r, k, k->in.height, k->out.height, &s.from, &s.to);
        s.from = s.from < h0 ? h0 : s.from, s.to = s.to > h1 ? h1 : s.to;
        if (s.from < s.to) slope_rows(&s);
    }
}

static void slope_add(const struct mot_conv_slope *k, uint32_t o, uint32_t i, const float *sum)
{
    const uint32_t outs = mot_map_width(k->out.channels, o), ins = mot_map_width(k->in.channels, i);
    for (uint32_t r = 0; r < k->kernel; r++)
        for (uint32_t a = 0; a < outs; a++)
            for (uint32_t q = 0; q < k->kernel; q++)
                for (uint32_t b = 0; b < ins; b++, sum += MOT_PANEL) {
                    float lane[MOT_PANEL];
                    memcpy(lane, sum, sizeof lane);
                    UNROLL for (uint32_t half = MOT_PANEL / 2; half; half /= 2)
                        UNROLL for (uint32_t n = 0; n < half; n++) lane[n] += lane[n + half];
                    k->g[(((size_t)(o + a) * k->in.channels + i + b) * k->kernel + r) * k->kernel + q] +=
                        lane[0];
                }
}

#define SLOPE_PIXELS                                                                                         \
    64u /* of a block at a time: 16 KB of slopes stay in the first cache while the window passes */

/* If all sums fit into a cache, each panel is used for all of them before the next panel; if not, each pair
 * of blocks goes through all panels before the next pair. The order of additions is the same. */
static void conv_slope(const struct mot_conv_slope *k)
{
    const size_t tile = (size_t)k->kernel * k->kernel * MOT_MAP_BLOCK * MOT_MAP_BLOCK * MOT_PANEL;
    const bool apart = mot_conv_sums(k->out.channels, k->in.channels, k->kernel) > tile;
    const uint32_t rows = SLOPE_PIXELS / k->out.width ? SLOPE_PIXELS / k->out.width : 1;
    const uint32_t group = apart ? 1 : k->panels;
    for (uint32_t first = 0; first < k->panels; first += group) {
        float *sum = k->sums;
        for (uint32_t o = 0; o < k->out.channels; o += MOT_MAP_BLOCK)
            for (uint32_t i = 0; i < k->in.channels; i += MOT_MAP_BLOCK) {
                if (first == 0) memset(sum, 0, tile * sizeof *sum);
                for (uint32_t panel = first; panel < first + group; panel++)
                    for (uint32_t h = 0; h < k->out.height; h += rows)
                        slope_block(
                            k, panel, o, i, h, h + rows < k->out.height ? h + rows : k->out.height, sum);
                if (first + group == k->panels) slope_add(k, o, i, sum);
                if (apart) sum += tile;
            }
    }
}
