/* network_norm.c -- batch norm and group norm in a pass over a network. */
#include "math/network.h"

/* ---- Batch norm: Ioffe and Szegedy, ICML 2015 --------------------------------------- */

/* Scales by the statistics of the slice's own rows or, outside of training, by the running ones. Leaves the
 * mean and 1 / deviation of each channel in `kept`. */
static void batch_forward(
    const struct mot_pass *p, const struct mot_op *op, const float *in, bool relu, float *out)
{
    const struct mot_channels k = { p->rows, op->map };
    const uint32_t channels = op->map.channels;
    float *mean = p->kept + op->kept, *by = mean + channels, *a = p->kept + p->plan->kept, *b = a + channels;
    double *sum = p->moment, *square = sum + channels;
    const double count = (double)p->rows * (double)mot_map_pixels(&op->map);
    if (p->training) mot_map_kernels()->moments(&k, in, sum, square);
    for (uint32_t c = 0; c < channels; c++) {
        double m = (double)p->x[op->mean + c], variance = (double)p->x[op->variance + c];
        if (p->training) {
            double shift = sum[c] / count;
            m = (double)in[mot_map_at(&op->map, c)] + shift;
            variance = square[c] / count - shift * shift;
            if (variance < 0) variance = 0;
        }
        double scale = 1 / __builtin_sqrt(variance + (double)op->epsilon);
        double weight = (double)p->x[op->weight + c] * scale;
        mean[c] = (float)m, by[c] = (float)scale;
        a[c] = (float)weight, b[c] = (float)((double)p->x[op->bias + c] - m * weight);
    }
    mot_map_kernels()->scale(&k, in, a, b, relu, out);
}

void mot_pass_statistics(const struct mot_pass *p, const struct mot_op *op, float coef, float *g)
{
    const uint32_t channels = op->map.channels;
    const float *mean = p->kept + op->kept, *by = mean + channels;
    const double count = (double)p->rows * (double)mot_map_pixels(&op->map);
    for (uint32_t c = 0; c < channels; c++) {
        double scale = (double)by[c], variance = 1 / (scale * scale) - (double)op->epsilon,
               unbiased = count > 1 ? count / (count - 1) : 1;
        if (count <= 1)
            variance = (double)p->x[op->variance + c]; /* one number has none: it stays as it is */
        float *gm = g + op->mean + c, *gv = g + op->variance + c;
        *gm = (float)((double)*gm + (double)coef * p->rows * (double)mean[c]);
        *gv = (float)((double)*gv + (double)coef * p->rows * (variance > 0 ? variance : 0) * unbiased);
    }
}

/* With N numbers a channel, x' = (x - mean) / deviation, S the sum of the slopes d and Q that of d x':
 * dx = weight / deviation (d - S / N - x' Q / N), which is a d + b x + e for each channel. */
static void batch_backward(
    const struct mot_pass *p, const struct mot_op *op, const float *d, struct mot_target to, float *g)
{
    const struct mot_channels k = { p->rows, op->map };
    const uint32_t channels = op->map.channels;
    const float *in = mot_pass_result(p, op->in), *mean = p->kept + op->kept, *by = mean + channels;
    float *a = p->kept + p->plan->kept, *b = a + channels, *e = b + channels;
    double *sum = p->moment, *product = sum + channels;
    const double count = (double)p->rows * (double)mot_map_pixels(&op->map);
    mot_map_kernels()->slope_sums(&k, in, d, mean, sum, product);
    for (uint32_t c = 0; c < channels; c++) {
        double scale = (double)by[c], weight = (double)p->x[op->weight + c] * scale;
        double times = -weight * scale * scale * product[c] / count;
        float *gw = g + op->weight + c, *gb = g + op->bias + c;
        *gw = (float)((double)*gw + product[c] * scale), *gb = (float)((double)*gb + sum[c]);
        a[c] = (float)weight, b[c] = (float)times;
        e[c] = (float)(-weight * sum[c] / count - times * (double)mean[c]);
    }
    if (to.dx) mot_map_kernels()->scale_back(&k, in, d, a, b, e, to.add, to.dx);
}

/* ---- Group norm: Wu and He, ECCV 2018 ------------------------------------------------ */

/* One group of channels of one panel: sixteen rows with a mean and a deviation each. */
struct group {
    uint32_t first, channels; /* of the map */
    size_t panel;             /* where its numbers begin */
    float *mean, *by;         /* [16], in `kept` */
    double count;
};

static struct group group_of(const struct mot_pass *p, const struct mot_op *op, uint32_t panel, uint32_t n)
{
    struct group a = { .channels = op->map.channels / op->groups };
    a.first = n * a.channels;
    a.panel = panel * mot_map_size(&op->map) * MOT_PANEL;
    a.mean = p->kept + op->kept + ((size_t)panel * op->groups + n) * 2 * MOT_PANEL;
    a.by = a.mean + MOT_PANEL;
    a.count = (double)a.channels * (double)mot_map_pixels(&op->map);
    return a;
}

#define EACH_GROUP(p, op, k)                                                                                 \
    struct group k;                                                                                          \
    for (uint32_t panel_ = 0; panel_ < (p)->panels; panel_++)                                                \
        for (uint32_t n_ = 0; n_ < (op)->groups && (k = group_of(p, op, panel_, n_), true); n_++)
#define EACH_ROW(r) for (uint32_t r = 0; r < MOT_PANEL; r++)

static void group_forward(
    const struct mot_pass *p, const struct mot_op *op, const float *in, bool relu, float *out)
{
    EACH_GROUP(p, op, k)
    {
        double sum[MOT_PANEL], square[MOT_PANEL];
        mot_map_kernels()->row_moments(&op->map, k.first, k.channels, in + k.panel, sum, square);
        EACH_ROW(r)
        {
            double shift = sum[r] / k.count, variance = square[r] / k.count - shift * shift;
            k.mean[r] = (float)((double)in[k.panel + mot_map_at(&op->map, k.first) + r] + shift);
            k.by[r] = (float)(1 / __builtin_sqrt((variance > 0 ? variance : 0) + (double)op->epsilon));
        }
        for (uint32_t c = k.first; c < k.first + k.channels; c++) {
            float a[MOT_PANEL], b[MOT_PANEL];
            EACH_ROW(r)
            {
                a[r] = p->x[op->weight + c] * k.by[r];
                b[r] = (float)((double)p->x[op->bias + c] - (double)k.mean[r] * (double)a[r]);
            }
            mot_map_kernels()->row_scale(&op->map, c, in + k.panel, a, b, relu, out + k.panel);
        }
    }
}

/* With N numbers in a group, x' = (x - mean) / deviation, S the sum of weight d and Q that of weight d x':
 * dx = (weight d - S / N - x' Q / N) / deviation, which is a d + b x + e. Slopes are 0 in rows that do not
 * count. */
static void group_backward(
    const struct mot_pass *p, const struct mot_op *op, const float *d, struct mot_target to, float *g)
{
    const struct mot_map_kernels *kernels = mot_map_kernels();
    const float *in = mot_pass_result(p, op->in);
    EACH_GROUP(p, op, k)
    {
        double all[MOT_PANEL] = { 0 }, along[MOT_PANEL] = { 0 };
        for (uint32_t c = k.first; c < k.first + k.channels; c++) {
            const double weight = (double)p->x[op->weight + c];
            double sum[MOT_PANEL], product[MOT_PANEL], gw = 0, gb = 0;
            kernels->row_slope_sums(&op->map, c, in + k.panel, d + k.panel, k.mean, sum, product);
            EACH_ROW(r)
            {
                product[r] *= (double)k.by[r];
                gw += product[r], gb += sum[r];
                all[r] += weight * sum[r], along[r] += weight * product[r];
            }
            g[op->weight + c] = (float)((double)g[op->weight + c] + gw);
            g[op->bias + c] = (float)((double)g[op->bias + c] + gb);
        }
        float b[MOT_PANEL], e[MOT_PANEL];
        EACH_ROW(r)
        {
            double by = (double)k.by[r], times = -by * by * along[r] / k.count;
            b[r] = (float)times, e[r] = (float)(-by * all[r] / k.count - times * (double)k.mean[r]);
        }
        for (uint32_t c = k.first; to.dx && c < k.first + k.channels; c++) {
            float a[MOT_PANEL];
            EACH_ROW(r) a[r] = p->x[op->weight + c] * k.by[r];
            kernels->row_scale_back(&op->map, c, in + k.panel, d + k.panel, a, b, e, to.add, to.dx + k.panel);
        }
    }
}

/* ---- Both --------------------------------------------------------------------------- */

void mot_pass_norm(const struct mot_pass *p, const struct mot_op *op, const float *in, bool relu, float *out)
{
    if (op->kind == MOT_OP_BATCH_NORM) batch_forward(p, op, in, relu, out);
    else group_forward(p, op, in, relu, out);
}

void mot_pass_norm_back(
    const struct mot_pass *p, const struct mot_op *op, const float *d, struct mot_target to, float *g)
{
    if (op->kind == MOT_OP_BATCH_NORM) batch_backward(p, op, d, to, g);
    else group_backward(p, op, d, to, g);
}
