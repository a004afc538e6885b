/* ref_maps.c -- the plain twin of every kernel over maps: what it computes, in double and in as few lines as
 * possible. No run uses them. */
#include "math/maps.h"
#include <math.h>
#include <string.h>

/* Where number (c, h, w) of row `row` is. */
static size_t at(const struct mot_map *m, uint32_t row, uint32_t c, uint32_t h, uint32_t w)
{
    return row / MOT_PANEL * mot_map_size(m) * MOT_PANEL + mot_map_at(m, c) +
        ((size_t)h * m->width + w) * mot_map_step(m, c) + row % MOT_PANEL;
}

#define EACH(i, n) for (uint32_t i = 0; i < (n); i++)
#define EACH_NUMBER(row, panels, m)                                                                          \
    EACH(row, (panels)*MOT_PANEL) EACH(c, (m).channels) EACH(h, (m).height) EACH(w, (m).width)

static bool is_inside(int64_t h, int64_t w, const struct mot_map *m)
{
    return h >= 0 && w >= 0 && h < m->height && w < m->width;
}

static void conv_pack_ref(const struct mot_conv_weights *k, float *packed)
{
    EACH(o, k->out)
    EACH(i, k->in)
    EACH(r, k->kernel_rows)
    EACH(q, k->kernel_cols) *packed++ = k->w[(ptrdiff_t)o * k->o_step + (ptrdiff_t)i * k->i_step +
        (ptrdiff_t)r * k->r_step + (ptrdiff_t)q * k->q_step];
}

static void conv_ref(const struct mot_conv *k)
{
    EACH(row, k->panels * MOT_PANEL) EACH(o, k->out.channels) EACH(h, k->rows) EACH(w, k->cols)
    {
        float *y = k->y + at(&k->out, row, o, k->from_row + h * k->step, k->from_col + w * k->step);
        double sum = k->add ? (double)*y : k->bias ? (double)k->bias[o] : 0;
        EACH(i, k->in.channels) EACH(r, k->kernel_rows) EACH(q, k->kernel_cols)
        {
            int64_t a = (int64_t)h * k->stride + r - k->top, b = (int64_t)w * k->stride + q - k->left;
            size_t n = (((size_t)o * k->in.channels + i) * k->kernel_rows + r) * k->kernel_cols + q;
            if (is_inside(a, b, &k->in))
                sum += (double)k->packed[n] * (double)k->x[at(&k->in, row, i, (uint32_t)a, (uint32_t)b)];
        }
        *y = (float)sum;
    }
}

static void conv_slope_ref(const struct mot_conv_slope *k)
{
    float *g = k->g;
    EACH(o, k->out.channels) EACH(i, k->in.channels) EACH(r, k->kernel) EACH(q, k->kernel)
    {
        double sum = 0;
        EACH(row, k->panels * MOT_PANEL) EACH(h, k->out.height) EACH(w, k->out.width)
        {
            int64_t a = (int64_t)h * k->stride + r - k->padding, b = (int64_t)w * k->stride + q - k->padding;
            if (is_inside(a, b, &k->in))
                sum += (double)k->d[at(&k->out, row, o, h, w)] *
                    (double)k->x[at(&k->in, row, i, (uint32_t)a, (uint32_t)b)];
        }
        *g = (float)((double)*g + sum), g++;
    }
}

/* The pixel p of a pooled pixel's window, or SIZE_MAX outside of the map. */
static size_t window(
    const struct mot_pooling *k, uint32_t row, uint32_t c, uint32_t h, uint32_t w, uint32_t p)
{
    int64_t a = (int64_t)h * k->stride + p / k->kernel_cols - k->padding,
            b = (int64_t)w * k->stride + p % k->kernel_cols - k->padding;
    return is_inside(a, b, &k->in) ? at(&k->in, row, c, (uint32_t)a, (uint32_t)b) : SIZE_MAX;
}

static void max_pool_ref(const struct mot_pooling *k)
{
    EACH_NUMBER(row, k->panels, k->out)
    {
        float most = -INFINITY;
        EACH(p, k->kernel_rows * k->kernel_cols)
        {
            size_t n = window(k, row, c, h, w, p);
            if (n != SIZE_MAX && !(k->x[n] <= most)) most = k->x[n];
        }
        k->y[at(&k->out, row, c, h, w)] = most;
    }
}

static void clear_ref(const struct mot_pooling *k)
{
    if (!k->add) memset(k->dx, 0, k->panels * mot_map_size(&k->in) * MOT_PANEL * sizeof *k->dx);
}

static void max_pool_back_ref(const struct mot_pooling *k)
{
    clear_ref(k);
    EACH_NUMBER(row, k->panels, k->out)
    {
        size_t here = at(&k->out, row, c, h, w), n = SIZE_MAX;
        uint32_t p = 0;
        while (p < k->kernel_rows * k->kernel_cols &&
            (n = window(k, row, c, h, w, p), n == SIZE_MAX || k->x[n] != k->y[here]))
            p++;
        if (p < k->kernel_rows * k->kernel_cols) k->dx[n] += k->d[here];
    }
}

static void mean_pool_ref(const struct mot_pooling *k)
{
    EACH_NUMBER(row, k->panels, k->out)
    {
        double sum = 0;
        EACH(p, k->kernel_rows * k->kernel_cols)
        {
            size_t n = window(k, row, c, h, w, p);
            if (n != SIZE_MAX) sum += (double)k->x[n];
        }
        k->y[at(&k->out, row, c, h, w)] = (float)(sum / (k->kernel_rows * k->kernel_cols));
    }
}

static void mean_pool_back_ref(const struct mot_pooling *k)
{
    clear_ref(k);
    EACH_NUMBER(row, k->panels, k->out) EACH(p, k->kernel_rows * k->kernel_cols)
    {
        size_t n = window(k, row, c, h, w, p);
        if (n != SIZE_MAX)
            k->dx[n] += k->d[at(&k->out, row, c, h, w)] / (float)(k->kernel_rows * k->kernel_cols);
    }
}

static void moments_ref(const struct mot_channels *k, const float *x, double *sum, double *square)
{
    EACH(c, k->map.channels)
    {
        double pivot = (double)x[mot_map_at(&k->map, c)];
        sum[c] = square[c] = 0;
        EACH(row, k->rows) EACH(h, k->map.height) EACH(w, k->map.width)
        {
            double off = (double)x[at(&k->map, row, c, h, w)] - pivot;
            sum[c] += off, square[c] += off * off;
        }
    }
}

static void slope_sums_ref(const struct mot_channels *k, const float *x, const float *d, const float *mean,
    double *sum, double *product)
{
    EACH(c, k->map.channels)
    {
        double one = 0, two = 0;
        EACH(row, k->rows) EACH(h, k->map.height) EACH(w, k->map.width)
        {
            size_t n = at(&k->map, row, c, h, w);
            one += (double)d[n];
            if (x) two += (double)d[n] * ((double)x[n] - (double)mean[c]);
        }
        sum[c] = one;
        if (x) product[c] = two;
    }
}

static void scale_ref(
    const struct mot_channels *k, const float *x, const float *a, const float *b, bool relu, float *y)
{
    EACH_NUMBER(row, mot_panels(k->rows), k->map)
    {
        size_t n = at(&k->map, row, c, h, w);
        double z = (double)a[c] * (double)x[n] + (double)b[c];
        y[n] = (float)(relu && z < 0 ? 0 : z);
    }
}

static void scale_back_ref(const struct mot_channels *k, const float *x, const float *d, const float *a,
    const float *b, const float *e, bool add, float *dx)
{
    EACH_NUMBER(row, mot_panels(k->rows), k->map)
    {
        size_t n = at(&k->map, row, c, h, w);
        double z = (double)a[c] * (double)d[n] + (double)b[c] * (double)x[n] + (double)e[c];
        if (row >= k->rows) z = 0;
        dx[n] = (float)(add ? (double)dx[n] + z : z);
    }
}

static void row_moments_ref(
    const struct mot_map *m, uint32_t first, uint32_t channels, const float *x, double *sum, double *square)
{
    EACH(row, MOT_PANEL)
    {
        double pivot = (double)x[at(m, row, first, 0, 0)];
        sum[row] = square[row] = 0;
        EACH(c, channels) EACH(h, m->height) EACH(w, m->width)
        {
            double off = (double)x[at(m, row, first + c, h, w)] - pivot;
            sum[row] += off, square[row] += off * off;
        }
    }
}

static void row_slope_sums_ref(const struct mot_map *m, uint32_t c, const float *x, const float *d,
    const float *mean, double *sum, double *product)
{
    EACH(row, MOT_PANEL)
    {
        sum[row] = product[row] = 0;
        EACH(h, m->height) EACH(w, m->width)
        {
            size_t n = at(m, row, c, h, w);
            sum[row] += (double)d[n], product[row] += (double)d[n] * ((double)x[n] - (double)mean[row]);
        }
    }
}

static void row_scale_ref(
    const struct mot_map *m, uint32_t c, const float *x, const float *a, const float *b, bool relu, float *y)
{
    EACH(row, MOT_PANEL) EACH(h, m->height) EACH(w, m->width)
    {
        size_t n = at(m, row, c, h, w);
        double z = (double)a[row] * (double)x[n] + (double)b[row];
        y[n] = (float)(relu && z < 0 ? 0 : z);
    }
}

static void row_scale_back_ref(const struct mot_map *m, uint32_t c, const float *x, const float *d,
    const float *a, const float *b, const float *e, bool add, float *dx)
{
    EACH(row, MOT_PANEL) EACH(h, m->height) EACH(w, m->width)
    {
        size_t n = at(m, row, c, h, w);
        double z = (double)a[row] * (double)d[n] + (double)b[row] * (double)x[n] + (double)e[row];
        dx[n] = (float)(add ? (double)dx[n] + z : z);
    }
}

static void drop_ref(const struct mot_drop *k, float *x)
{
    EACH_NUMBER(row, 1, k->map)
    {
        uint32_t n = (c * k->map.height + h) * k->map.width + w;
        float *number = &x[at(&k->map, row, c, h, w)];
        *number = mot_drop_draw(k->key[row], n) < k->below ? 0 : *number * k->by;
    }
}

const struct mot_map_kernels mot_map_kernels_ref = {
    .name = "ref",
    .conv_pack = conv_pack_ref,
    .conv = conv_ref,
    .conv_slope = conv_slope_ref,
    .max_pool = max_pool_ref,
    .max_pool_back = max_pool_back_ref,
    .mean_pool = mean_pool_ref,
    .mean_pool_back = mean_pool_back_ref,
    .moments = moments_ref,
    .slope_sums = slope_sums_ref,
    .scale = scale_ref,
    .scale_back = scale_back_ref,
    .row_moments = row_moments_ref,
    .row_slope_sums = row_slope_sums_ref,
    .row_scale = row_scale_ref,
    .row_scale_back = row_scale_back_ref,
    .drop = drop_ref,
};
