/* kernels_maps.h -- all kernels over maps of one set. A file kernels_<set>.c defines MAPS_TABLE, MAPS_NAME
 * and includes this. */
#include "math/maps.h"
#include "math/simd.h"

#include "math/kernels_conv.h"

/* ---- Pooling ---------------------------------------------------------------------- */

/* For a pixel of a pooled map, in one channel of one panel: the part of its window that lies inside. */
struct window {
    const float *x; /* its first pixel of the input */
    float *dx;
    size_t step, row; /* between the input's pixels and rows of them */
    uint32_t rows, cols;
};

/* `size` is known to the compiler: windows of size x size, side by side and none of them cut; 0: any. */
INLINE bool next_window(const struct mot_pooling *k, uint32_t panel, uint32_t c, uint32_t h, uint32_t w,
    struct window *at, const uint32_t size)
{
    size_t from = panel * mot_map_size(&k->in) * MOT_PANEL + mot_map_at(&k->in, c);
    at->step = mot_map_step(&k->in, c);
    at->row = at->step * k->in.width;
    if (size) {
        from += h * size * at->row + w * size * at->step;
        at->rows = at->cols = size;
    } else {
        int64_t top = (int64_t)h * k->stride - k->padding, left = (int64_t)w * k->stride - k->padding;
        uint32_t h0, h1, w0, w1;
        clip(top, k->kernel_rows, k->in.height, &h0, &h1);
        clip(left, k->kernel_cols, k->in.width, &w0, &w1);
        if (h0 >= h1 || w0 >= w1) return false;
        from += (size_t)(top + h0) * at->row + (size_t)(left + w0) * at->step;
        at->rows = h1 - h0, at->cols = w1 - w0;
    }
    at->x = k->x ? k->x + from : NULL;
    at->dx = k->dx ? k->dx + from : NULL;
    return true;
}

#define EACH_WINDOW(k, at, size)                                                                             \
    for (uint32_t panel = 0; panel < (k)->panels; panel++)                                                   \
        for (uint32_t c = 0; c < (k)->in.channels; c++)                                                      \
            for (uint32_t h = 0; h < (k)->out.height; h++)                                                   \
                for (uint32_t w = 0; w < (k)->out.width; w++)                                                \
                    if (next_window(k, panel, c, h, w, &at, size))
#define EACH_PIXEL(at)                                                                                       \
    UNROLL_4 for (uint32_t i = 0; i < at.rows; i++) UNROLL_4 for (uint32_t j = 0; j < at.cols; j++)

/* The windows of nearly all networks are of two by two pixels. */
INLINE bool in_twos(const struct mot_pooling *k)
{
    return k->kernel_rows == 2 && k->kernel_cols == 2 && k->stride == 2 && k->padding == 0 &&
        2 * k->out.height <= k->in.height && 2 * k->out.width <= k->in.width;
}

INLINE size_t pooled_at(const struct mot_pooling *k, uint32_t panel, uint32_t c, uint32_t h, uint32_t w)
{
    return panel * mot_map_size(&k->out) * MOT_PANEL + mot_map_at(&k->out, c) +
        ((size_t)h * k->out.width + w) * mot_map_step(&k->out, c);
}

INLINE void max_of_windows(const struct mot_pooling *k, const uint32_t size)
{
    struct window at;
    EACH_WINDOW(k, at, size)
    {
        float *y = k->y + pooled_at(k, panel, c, h, w);
        UNROLL for (int v = 0; v < PARTS; v++)
        {
            vf most = load(at.x + v * LANES);
            EACH_PIXEL(at)
            {
                vf x = load(at.x + i * at.row + j * at.step + v * LANES);
                most = choose((x > most) | (x != x), x, most); /* NaN stays visible */
            }
            store(y + v * LANES, most);
        }
    }
}

static void max_pool(const struct mot_pooling *k)
{
    if (in_twos(k)) max_of_windows(k, 2);
    else max_of_windows(k, 0);
}

static void clear_input(const struct mot_pooling *k)
{
    if (!k->add) memset(k->dx, 0, k->panels * mot_map_size(&k->in) * MOT_PANEL * sizeof *k->dx);
}

INLINE void max_back_to_windows(const struct mot_pooling *k, const uint32_t size)
{
    struct window at;
    EACH_WINDOW(k, at, size)
    {
        size_t here = pooled_at(k, panel, c, h, w);
        UNROLL for (int v = 0; v < PARTS; v++)
        {
            vf most = load(k->y + here + v * LANES), d = load(k->d + here + v * LANES);
            EACH_PIXEL(at)
            {
                size_t pixel = i * at.row + j * at.step + (size_t)(v * LANES);
                vi is = load(at.x + pixel) == most;
                store(at.dx + pixel, load(at.dx + pixel) + choose(is, d, (vf){ 0 }));
                d = choose(is, (vf){ 0 }, d);
            }
        }
    }
}

static void max_pool_back(const struct mot_pooling *k)
{
    clear_input(k);
    if (in_twos(k)) max_back_to_windows(k, 2);
    else max_back_to_windows(k, 0);
}

static void mean_pool(const struct mot_pooling *k)
{
    const float share = 1 / (float)(k->kernel_rows * k->kernel_cols);
    struct window at;
    EACH_WINDOW(k, at, 0)
    {
        float *y = k->y + pooled_at(k, panel, c, h, w);
        for (int v = 0; v < PARTS; v++) {
            vf sum = { 0 };
            EACH_PIXEL(at) sum += load(at.x + i * at.row + j * at.step + v * LANES);
            store(y + v * LANES, sum * share);
        }
    }
}

static void mean_pool_back(const struct mot_pooling *k)
{
    const float share = 1 / (float)(k->kernel_rows * k->kernel_cols);
    struct window at;
    clear_input(k);
    EACH_WINDOW(k, at, 0)
    {
        size_t here = pooled_at(k, panel, c, h, w);
        for (int v = 0; v < PARTS; v++) {
            vf d = load(k->d + here + v * LANES) * share;
            EACH_PIXEL(at)
            {
                size_t pixel = i * at.row + j * at.step + (size_t)(v * LANES);
                store(at.dx + pixel, load(at.dx + pixel) + d);
            }
        }
    }
}

/* ---- Channel by channel ---------------------------------------------------------------- */

#define EACH_CHANNEL(k)                                                                                      \
    const size_t pixels = mot_map_pixels(&(k)->map), size = mot_map_size(&(k)->map) * MOT_PANEL;             \
    const uint32_t panels = mot_panels((k)->rows);                                                           \
    for (uint32_t c = 0; c < (k)->map.channels; c++)

/* -1 in the lanes of rows that count, 0 elsewhere. */
INLINE vi counts(const struct mot_channels *k, uint32_t panel, int v)
{
    static const float number[MOT_PANEL] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    return load(number + v * LANES) < (float)(k->rows - panel * MOT_PANEL);
}

/* Sums of floats over this many pixels are added to doubles, lane by lane: 16 lanes, whatever the vector. */
#define CHUNK 32u
INLINE void gather(vf sum, double *lane)
{
    float part[LANES];
    store(part, sum);
    UNROLL for (int i = 0; i < LANES; i += DLANES) store_d(lane + i, load_d(lane + i) + widen(part + i));
}
INLINE double total(const double *lane)
{
    double sum = 0;
    for (uint32_t i = 0; i < MOT_PANEL; i++) sum += lane[i];
    return sum;
}

static void moments(const struct mot_channels *k, const float *x, double *sum, double *square)
{
    EACH_CHANNEL(k)
    {
        const size_t step = mot_map_step(&k->map, c);
        const float pivot = x[mot_map_at(&k->map, c)];
        double one[MOT_PANEL] = { 0 }, two[MOT_PANEL] = { 0 };
        for (uint32_t panel = 0; panel < panels; panel++)
            for (size_t first = 0; first < pixels; first += CHUNK) {
                size_t n = pixels - first < CHUNK ? pixels - first : CHUNK;
                const float *at = x + panel * size + mot_map_at(&k->map, c) + first * step;
                for (int v = 0; v < PARTS; v++) {
                    vf a = { 0 }, b = { 0 };
                    for (size_t p = 0; p < n; p++) {
                        vf off = load(at + p * step + v * LANES) - pivot;
                        a += off;
                        b = fma_f(off, off, b);
                    }
                    vi yes = counts(k, panel, v);
                    gather(choose(yes, a, (vf){ 0 }), one + v * LANES);
                    gather(choose(yes, b, (vf){ 0 }), two + v * LANES);
                }
            }
        sum[c] = total(one), square[c] = total(two);
    }
}

static void slope_sums(const struct mot_channels *k, const float *x, const float *d, const float *mean,
    double *sum, double *product)
{
    EACH_CHANNEL(k)
    {
        const size_t step = mot_map_step(&k->map, c);
        double one[MOT_PANEL] = { 0 }, two[MOT_PANEL] = { 0 };
        for (uint32_t panel = 0; panel < panels; panel++)
            for (size_t first = 0; first < pixels; first += CHUNK) {
                size_t n = pixels - first < CHUNK ? pixels - first : CHUNK;
                size_t at = panel * size + mot_map_at(&k->map, c) + first * step;
                for (int v = 0; v < PARTS; v++) {
                    vf a = { 0 }, b = { 0 };
                    for (size_t p = 0; p < n; p++) {
                        vf slope = load(d + at + p * step + v * LANES);
                        a += slope;
                        if (x) b = fma_f(slope, load(x + at + p * step + v * LANES) - mean[c], b);
                    }
                    vi yes = counts(k, panel, v);
                    gather(choose(yes, a, (vf){ 0 }), one + v * LANES);
                    gather(choose(yes, b, (vf){ 0 }), two + v * LANES);
                }
            }
        sum[c] = total(one);
        if (x) product[c] = total(two);
    }
}

static void scale(
    const struct mot_channels *k, const float *x, const float *a, const float *b, bool relu, float *y)
{
    EACH_CHANNEL(k)
    {
        const size_t step = mot_map_step(&k->map, c);
        const vf by = all(a[c]), plus = all(b[c]);
        for (uint32_t panel = 0; panel < panels; panel++) {
            size_t at = panel * size + mot_map_at(&k->map, c);
            for (size_t p = 0; p < pixels; p++, at += step) UNROLL for (int v = 0; v < PARTS; v++)
                {
                    vf z = fma_f(load(x + at + v * LANES), by, plus);
                    store(y + at + v * LANES, relu ? choose(z < 0.0f, (vf){ 0 }, z) : z);
                }
        }
    }
}

static void scale_back(const struct mot_channels *k, const float *x, const float *d, const float *a,
    const float *b, const float *e, bool add, float *dx)
{
    EACH_CHANNEL(k)
    {
        const size_t step = mot_map_step(&k->map, c);
        const vf by = all(a[c]), times = all(b[c]), plus = all(e[c]);
        for (uint32_t panel = 0; panel < panels; panel++) {
            vi yes[PARTS];
            UNROLL for (int v = 0; v < PARTS; v++) yes[v] = counts(k, panel, v);
            size_t at = panel * size + mot_map_at(&k->map, c);
            for (size_t p = 0; p < pixels; p++, at += step) UNROLL for (int v = 0; v < PARTS; v++)
                {
                    vf z = fma_f(load(d + at + v * LANES), by, fma_f(load(x + at + v * LANES), times, plus));
                    z = choose(yes[v], z, (vf){ 0 });
                    store(dx + at + v * LANES, add ? load(dx + at + v * LANES) + z : z);
                }
        }
    }
}

/* ---- Row by row: one panel ------------------------------------------------------------- */

static void row_moments(
    const struct mot_map *m, uint32_t first, uint32_t channels, const float *x, double *sum, double *square)
{
    const size_t pixels = mot_map_pixels(m);
    const float *pivot = x + mot_map_at(m, first);
    memset(sum, 0, MOT_PANEL * sizeof *sum), memset(square, 0, MOT_PANEL * sizeof *square);
    for (uint32_t c = first; c < first + channels; c++) {
        const size_t step = mot_map_step(m, c);
        for (size_t from = 0; from < pixels; from += CHUNK) {
            size_t n = pixels - from < CHUNK ? pixels - from : CHUNK;
            const float *at = x + mot_map_at(m, c) + from * step;
            for (int v = 0; v < PARTS; v++) {
                const vf zero = load(pivot + v * LANES);
                vf a = { 0 }, b = { 0 };
                for (size_t p = 0; p < n; p++) {
                    vf off = load(at + p * step + v * LANES) - zero;
                    a += off;
                    b = fma_f(off, off, b);
                }
                gather(a, sum + v * LANES);
                gather(b, square + v * LANES);
            }
        }
    }
}

static void row_slope_sums(const struct mot_map *m, uint32_t c, const float *x, const float *d,
    const float *mean, double *sum, double *product)
{
    const size_t pixels = mot_map_pixels(m), step = mot_map_step(m, c);
    memset(sum, 0, MOT_PANEL * sizeof *sum), memset(product, 0, MOT_PANEL * sizeof *product);
    for (size_t from = 0; from < pixels; from += CHUNK) {
        size_t n = pixels - from < CHUNK ? pixels - from : CHUNK, at = mot_map_at(m, c) + from * step;
        for (int v = 0; v < PARTS; v++) {
            const vf middle = load(mean + v * LANES);
            vf a = { 0 }, b = { 0 };
            for (size_t p = 0; p < n; p++) {
                vf slope = load(d + at + p * step + v * LANES);
                a += slope;
                b = fma_f(slope, load(x + at + p * step + v * LANES) - middle, b);
            }
            gather(a, sum + v * LANES);
            gather(b, product + v * LANES);
        }
    }
}

static void row_scale(
    const struct mot_map *m, uint32_t c, const float *x, const float *a, const float *b, bool relu, float *y)
{
    const size_t pixels = mot_map_pixels(m), step = mot_map_step(m, c);
    for (size_t p = 0, at = mot_map_at(m, c); p < pixels; p++, at += step)
        UNROLL for (int v = 0; v < PARTS; v++)
        {
            vf z = fma_f(load(x + at + v * LANES), load(a + v * LANES), load(b + v * LANES));
            store(y + at + v * LANES, relu ? choose(z < 0.0f, (vf){ 0 }, z) : z);
        }
}

static void row_scale_back(const struct mot_map *m, uint32_t c, const float *x, const float *d,
    const float *a, const float *b, const float *e, bool add, float *dx)
{
    const size_t pixels = mot_map_pixels(m), step = mot_map_step(m, c);
    for (size_t p = 0, at = mot_map_at(m, c); p < pixels; p++, at += step)
        UNROLL for (int v = 0; v < PARTS; v++)
        {
            vf z = fma_f(load(x + at + v * LANES), load(b + v * LANES), load(e + v * LANES));
            z = fma_f(load(d + at + v * LANES), load(a + v * LANES), z);
            store(dx + at + v * LANES, add ? load(dx + at + v * LANES) + z : z);
        }
}

static void drop(const struct mot_drop *k, float *x)
{
    const size_t pixels = mot_map_pixels(&k->map);
    const vi below = (vi){ 0 } + (int32_t)k->below;
    const vf by = all(k->by);
    for (int v = 0; v < PARTS; v++) {
        vu count = { 0 }, turn = { 0 };
        for (int lane = 0; lane < LANES; lane++) {
            uint64_t key = k->key[v * LANES + lane];
            count[lane] = (uint32_t)key, turn[lane] = (uint32_t)(key >> 32);
        }
        for (uint32_t c = 0; c < k->map.channels; c++) {
            const size_t step = mot_map_step(&k->map, c);
            float *at = x + mot_map_at(&k->map, c) + v * LANES;
            for (size_t p = 0; p < pixels; p++, at += step, count += 1) {
                vu h = count ^ turn; /* mot_drop_draw */
                h = (h ^ h >> 16) * 0x7feb352du;
                h = (h ^ h >> 15) * 0x846ca68bu;
                vi draw = (vi)((h ^ h >> 16) >> 8);
                store(at, choose(draw < below, (vf){ 0 }, load(at) * by));
            }
        }
    }
}

const struct mot_map_kernels MAPS_TABLE = {
    .name = MAPS_NAME,
    .conv_pack = conv_pack,
    .conv = conv,
    .conv_slope = conv_slope,
    .max_pool = max_pool,
    .max_pool_back = max_pool_back,
    .mean_pool = mean_pool,
    .mean_pool_back = mean_pool_back,
    .moments = moments,
    .slope_sums = slope_sums,
    .scale = scale,
    .scale_back = scale_back,
    .row_moments = row_moments,
    .row_slope_sums = row_slope_sums,
    .row_scale = row_scale,
    .row_scale_back = row_scale_back,
    .drop = drop,
};
