/* network_pass.c -- a network over one slice of rows: forward, and from the slope of the loss back to all
 * tensors. */
#include "math/dense.h"
#include "math/network.h"
#include <motley/method.h>
#include <string.h>

/* ---- Memory --------------------------------------------------------------------- */

static size_t whole_lines(size_t floats) { return (floats + 15) / 16 * 16; }

/* What does not depend on how many rows there are, then results and slopes of the rows at hand: few rows
 * touch little memory. */
static size_t claim(size_t *used, size_t floats)
{
    size_t here = *used;
    *used += whole_lines(floats);
    return here;
}

/* Where everything is, in floats; returns how many there are. */
struct places {
    size_t row, label, moment, kept, packed, sums, result, turned, slope;
};

static size_t lay_out(const struct mot_plan *plan, uint32_t panels, struct places *at)
{
    size_t used = 0, rows = (size_t)panels * MOT_PANEL;
    at->row = claim(&used, MOT_SLICE_ROWS * sizeof(float *) / sizeof(float));
    at->label = claim(&used, MOT_SLICE_ROWS);
    at->moment = claim(&used, 2 * plan->channels * sizeof(double) / sizeof(float));
    at->kept = claim(&used, plan->kept + 3 * plan->channels);
    at->packed = claim(&used, plan->packed);
    at->sums = claim(&used, plan->sums);
    at->result = claim(&used, plan->results * rows);
    at->turned = claim(&used, plan->turned * rows);
    at->slope = claim(&used, plan->slots * plan->slot * rows);
    return used;
}

size_t mot_pass_floats(const struct mot_plan *plan)
{
    struct places at;
    return lay_out(plan, mot_panels(MOT_SLICE_ROWS), &at);
}

float *mot_pass_result(const struct mot_pass *p, uint32_t op)
{
    return p->result + p->plan->op[op].at * p->panels * MOT_PANEL;
}

float *mot_pass_slope(const struct mot_pass *p, uint32_t op)
{
    return p->slope + p->plan->op[op].slot * p->plan->slot * p->panels * MOT_PANEL;
}

static size_t floats_of(const struct mot_pass *p, const struct mot_map *m)
{
    return mot_map_size(m) * p->panels * MOT_PANEL;
}

void mot_pass_open(struct mot_pass *p, const struct mot_net *net, const float *x,
    const struct mot_batch *batch, void *scratch)
{
    MOT_ASSERT(batch->rows <= MOT_SLICE_ROWS);
    *p = (struct mot_pass){
        .net = net, .plan = net->plan, .x = x, .rows = batch->rows, .panels = mot_panels(batch->rows)
    };
    struct places at;
    float *s = scratch;
    lay_out(p->plan, p->panels, &at);
    p->row = (const float **)(void *)(s + at.row), p->label = s + at.label;
    p->moment = (double *)(void *)(s + at.moment), p->kept = s + at.kept;
    p->packed = s + at.packed, p->sums = s + at.sums;
    p->result = s + at.result, p->turned = s + at.turned, p->slope = s + at.slope;
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint32_t r = mot_batch_row(batch, i);
        p->label[i] = batch->table->y[r];
        p->row[i] = batch->table->x + (size_t)r * batch->table->cols;
    }
}

/* ---- Order of numbers --------------------------------------------------------------- */

/* Rows lie channel after channel; a map has blocks of channels. `to_map`: from the first to the second. */
static void reorder(
    const struct mot_pass *p, const struct mot_map *m, const float *from, float *to, bool to_map)
{
    const size_t pixels = mot_map_pixels(m), size = mot_map_size(m) * MOT_PANEL;
    for (uint32_t panel = 0; panel < p->panels; panel++)
        for (uint32_t c = 0; c < m->channels; c++) {
            size_t plain = panel * size + c * pixels * MOT_PANEL, block = panel * size + mot_map_at(m, c);
            const size_t step = mot_map_step(m, c);
            for (size_t i = 0; i < pixels; i++, plain += MOT_PANEL, block += step)
                memcpy(
                    to + (to_map ? block : plain), from + (to_map ? plain : block), MOT_PANEL * sizeof *to);
        }
}

static void load_rows(struct mot_pass *p)
{
    const struct mot_map *m = &p->plan->op[0].map;
    const uint32_t cols = (uint32_t)mot_map_size(m);
    float *result = mot_pass_result(p, 0);
    if (m->channels == 1 || mot_map_pixels(m) == 1) { /* both orders are the same */
        mot_kernels()->turn_rows(p->rows, p->row, 0, cols, result);
        return;
    }
    mot_kernels()->turn_rows(p->rows, p->row, 0, cols, p->turned);
    reorder(p, m, p->turned, result, true);
}

/* ---- Forward ----------------------------------------------------------------------- */

static struct mot_conv conv_of(const struct mot_pass *p, const struct mot_op *op)
{
    return (struct mot_conv){ .panels = p->panels,
        .in = p->plan->op[op->in].map,
        .out = op->map,
        .rows = op->map.height,
        .cols = op->map.width,
        .step = 1,
        .kernel_rows = op->kernel,
        .kernel_cols = op->kernel,
        .stride = op->stride,
        .top = (int32_t)op->padding,
        .left = (int32_t)op->padding,
        .packed = p->packed };
}

static void conv_forward(const struct mot_pass *p, const struct mot_op *op, const float *in, float *out)
{
    const struct mot_map_kernels *k = mot_map_kernels();
    struct mot_conv c = conv_of(p, op);
    ptrdiff_t window = (ptrdiff_t)op->kernel * op->kernel;
    k->conv_pack(&(struct mot_conv_weights){ op->map.channels, c.in.channels, op->kernel, op->kernel,
                     p->x + op->weight, (ptrdiff_t)c.in.channels * window, window, (ptrdiff_t)op->kernel, 1 },
        p->packed);
    c.x = in, c.y = out;
    c.bias = op->has_bias ? p->x + op->bias : NULL;
    k->conv(&c);
}

/* Batch norm (Ioffe and Szegedy, ICML 2015) scales by what the slice's own rows say, or, outside of
 * training, by the running statistics. Leaves the mean and 1 / deviation of each channel in `kept`. */
static void norm_forward(
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

static struct mot_pool pool_of(const struct mot_pass *p, const struct mot_op *op)
{
    return (struct mot_pool){ .panels = p->panels,
        .kernel = op->kernel,
        .stride = op->stride,
        .padding = op->padding,
        .in = p->plan->op[op->in].map,
        .out = op->map,
        .x = mot_pass_result(p, op->in) };
}

/* One channel of one panel of a shortcut: every stride-th pixel. `back`: the slope goes the other way. */
static void shortcut_channel(const struct mot_op *op, const struct mot_map *in, uint32_t c, uint32_t to,
    float *from, float *at, bool back, bool add)
{
    const size_t in_step = mot_map_step(in, c), out_step = mot_map_step(&op->map, to);
    from += mot_map_at(in, c), at += mot_map_at(&op->map, to);
    for (uint32_t h = 0; h < op->map.height; h++)
        for (uint32_t w = 0; w < op->map.width; w++) {
            float *a = from + ((size_t)h * op->stride * in->width + (size_t)w * op->stride) * in_step,
                  *b = at + ((size_t)h * op->map.width + w) * out_step;
            for (uint32_t i = 0; i < MOT_PANEL; i++) {
                if (!back) b[i] += a[i];
                else a[i] = add ? a[i] + b[i] : b[i];
            }
        }
}

/* Channels are added to those in the middle: He et al., CVPR 2016, section 4.2, option A. */
static void shortcut(
    const struct mot_pass *p, const struct mot_op *op, float *from, float *at, bool back, bool add)
{
    const struct mot_map *in = &p->plan->op[op->also].map;
    const uint32_t before = (op->map.channels - in->channels) / 2;
    for (uint32_t panel = 0; panel < p->panels; panel++)
        for (uint32_t c = 0; c < in->channels; c++)
            shortcut_channel(op, in, c, c + before, from + panel * mot_map_size(in) * MOT_PANEL,
                at + panel * mot_map_size(&op->map) * MOT_PANEL, back, add);
}

static bool is_plain_sum(const struct mot_pass *p, const struct mot_op *op)
{
    return p->plan->op[op->also].map.channels == op->map.channels && op->stride == 1;
}

static void add_forward(const struct mot_pass *p, const struct mot_op *op, const float *in, float *out)
{
    float *also = mot_pass_result(p, op->also);
    size_t n = floats_of(p, &op->map);
    if (is_plain_sum(p, op)) {
        mot_kernels()->add(n, 2, (const float *const[]){ in, also }, out);
        return;
    }
    if (out != in) memcpy(out, in, n * sizeof *out);
    shortcut(p, op, also, out, false, false);
}

void mot_pass_forward(struct mot_pass *p)
{
    load_rows(p);
    for (uint32_t n = 1; n < p->plan->ops; n++) {
        const struct mot_op *op = &p->plan->op[n];
        const struct mot_map *from = &p->plan->op[op->in].map;
        const float *in = mot_pass_result(p, op->in);
        float *out = mot_pass_result(p, n);
        struct mot_pool pool;
        switch (op->kind) {
        case MOT_OP_INPUT: break;
        case MOT_OP_CONV: conv_forward(p, op, in, out); break;
        case MOT_OP_LINEAR:
            mot_dense_forward(op->map.channels, from->channels, p->rows, 0, from->channels, p->x + op->weight,
                op->has_bias ? p->x + op->bias : NULL, in, out);
            break;
        case MOT_OP_RELU:
            if (op->fused) break;
            if (out != in) memcpy(out, in, floats_of(p, from) * sizeof *out);
            mot_kernels()->relu(floats_of(p, from), out);
            break;
        case MOT_OP_MAX_POOL:
        case MOT_OP_MEAN_POOL:
            pool = pool_of(p, op), pool.y = out;
            (op->kind == MOT_OP_MAX_POOL ? mot_map_kernels()->max_pool : mot_map_kernels()->mean_pool)(&pool);
            break;
        case MOT_OP_BATCH_NORM:
            norm_forward(p, op, in, n + 1 < p->plan->ops && op[1].fused && op[1].in == n, out);
            break;
        case MOT_OP_FLATTEN: reorder(p, from, in, out, false); break;
        case MOT_OP_ADD: add_forward(p, op, in, out); break;
        }
    }
}

/* ---- Backward ----------------------------------------------------------------------- */

/* Where a slope goes, and whether something is there already. */
struct target {
    float *dx; /* NULL: nowhere, the rows themselves */
    bool add;
};

/* The input's pixels h = from_row + i step see only some rows of the window, and likewise columns: for each
 * of the step x step cases a convolution of the slopes with the window turned round. */
static void conv_back_input(
    const struct mot_pass *p, const struct mot_op *op, const float *d, struct target to)
{
    const struct mot_map_kernels *k = mot_map_kernels();
    const uint32_t s = op->stride, size = op->kernel;
    const ptrdiff_t window = (ptrdiff_t)size * size;
    struct mot_conv c = conv_of(p, op);
    const struct mot_map in = c.in;
    c.in = op->map, c.out = in, c.step = s, c.stride = 1, c.x = d, c.y = to.dx, c.add = to.add;
    for (uint32_t a = 0; a < s && a < in.height; a++)
        for (uint32_t b = 0; b < s && b < in.width; b++) {
            const uint32_t r = (a + op->padding) % s, q = (b + op->padding) % s; /* the first that is seen */
            c.from_row = a, c.from_col = b;
            c.rows = (in.height - a + s - 1) / s, c.cols = (in.width - b + s - 1) / s;
            c.kernel_rows = r < size ? (size - r + s - 1) / s : 0,
            c.kernel_cols = q < size ? (size - q + s - 1) / s : 0;
            if (c.kernel_rows == 0 || c.kernel_cols == 0) c.kernel_rows = c.kernel_cols = 0;
            /* row r + i s of the window is over output row (a + padding - r) / s - i */
            c.top = (int32_t)c.kernel_rows - 1 - (int32_t)((a + op->padding - r) / s);
            c.left = (int32_t)c.kernel_cols - 1 - (int32_t)((b + op->padding - q) / s);
            const uint32_t last_r = r + (c.kernel_rows ? c.kernel_rows - 1 : 0) * s,
                           last_q = q + (c.kernel_cols ? c.kernel_cols - 1 : 0) * s;
            if (c.kernel_rows)
                k->conv_pack(&(struct mot_conv_weights){ in.channels, op->map.channels, c.kernel_rows,
                                 c.kernel_cols, p->x + op->weight + (size_t)last_r * size + last_q, window,
                                 (ptrdiff_t)in.channels * window, -(ptrdiff_t)(s * size), -(ptrdiff_t)s },
                    p->packed);
            k->conv(&c);
        }
}

/* g[c] += the sum of the slopes of channel c */
static void bias_gradient(const struct mot_pass *p, const struct mot_op *op, const float *d, float *g)
{
    mot_map_kernels()->slope_sums(&(struct mot_channels){ p->rows, op->map }, NULL, d, NULL, p->moment, NULL);
    for (uint32_t c = 0; c < op->map.channels; c++) g[c] = (float)((double)g[c] + p->moment[c]);
}

static void conv_backward(
    const struct mot_pass *p, const struct mot_op *op, const float *d, struct target to, float *g)
{
    const struct mot_map *in = &p->plan->op[op->in].map;
    mot_map_kernels()->conv_slope(&(struct mot_conv_slope){ p->panels, *in, op->map, op->kernel, op->stride,
        op->padding, mot_pass_result(p, op->in), d, g + op->weight, p->sums });
    if (op->has_bias) bias_gradient(p, op, d, g + op->bias);
    if (to.dx) conv_back_input(p, op, d, to);
}

static void linear_backward(
    const struct mot_pass *p, const struct mot_op *op, const float *d, struct target to, float *g)
{
    const uint32_t out = op->map.channels, in = p->plan->op[op->in].map.channels;
    mot_kernels()->transpose(in, p->rows, mot_pass_result(p, op->in), p->turned);
    mot_dense_weights(out, in, p->rows, d, p->turned, NULL, false, g + op->weight);
    if (op->has_bias) mot_kernels()->row_sums(out, p->rows, d, g + op->bias);
    if (to.dx) mot_dense_back(out, in, p->rows, p->x + op->weight, d, to.add, to.dx);
}

/* The statistics themselves: a sum over rows, as any gradient; the variance without bias, as PyTorch's. Known
 * since the way forward: they are the last floats, and so the first to leave. */
static void norm_statistics(const struct mot_pass *p, const struct mot_op *op, float coef, float *g)
{
    const uint32_t channels = op->map.channels;
    const float *mean = p->kept + op->kept, *by = mean + channels;
    const double count = (double)p->rows * (double)mot_map_pixels(&op->map);
    for (uint32_t c = 0; c < channels; c++) {
        double scale = (double)by[c], variance = 1 / (scale * scale) - (double)op->epsilon,
               unbiased = count > 1 ? count / (count - 1) : 1;
        float *gm = g + op->mean + c, *gv = g + op->variance + c;
        *gm = (float)((double)*gm + (double)coef * p->rows * (double)mean[c]);
        *gv = (float)((double)*gv + (double)coef * p->rows * (variance > 0 ? variance : 0) * unbiased);
    }
}

/* With N numbers a channel, x' = (x - mean) / deviation, S the sum of the slopes d and Q that of d x':
 * dx = weight / deviation (d - S / N - x' Q / N), which is a d + b x + e for each channel. */
static void norm_backward(
    const struct mot_pass *p, const struct mot_op *op, const float *d, struct target to, float *g)
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

/* dx = or += d; they may be the same */
static void pass_on(size_t n, const float *d, struct target to)
{
    if (!to.dx) return;
    if (to.add) mot_kernels()->axpy(n, 1, d, to.dx);
    else if (to.dx != d) memcpy(to.dx, d, n * sizeof *d);
}

static void add_backward(
    const struct mot_pass *p, const struct mot_op *op, const float *d, struct target to, struct target also)
{
    size_t n = floats_of(p, &op->map);
    if (also.dx && is_plain_sum(p, op)) pass_on(n, d, also);
    else if (also.dx) {
        if (!also.add) memset(also.dx, 0, floats_of(p, &p->plan->op[op->also].map) * sizeof *also.dx);
        shortcut(p, op, also.dx, (float *)(uintptr_t)d, true, true);
    }
    pass_on(n, d, to);
}

static struct target target_of(const struct mot_pass *p, uint32_t op, bool *written)
{
    if (op == 0) return (struct target){ NULL, false };
    struct target to = { mot_pass_slope(p, op), written[op] };
    written[op] = true;
    return to;
}

static bool has_weights(const struct mot_op *op)
{
    return op->kind == MOT_OP_CONV || op->kind == MOT_OP_LINEAR || op->kind == MOT_OP_BATCH_NORM;
}

void mot_pass_backward(struct mot_pass *p, float coef, float *g, struct mot_exit *exit)
{
    bool written[3 * MOT_LAYERS_MOST + 1] = { false };
    for (uint32_t n = 0; n < p->plan->ops; n++)
        if (p->plan->op[n].kind == MOT_OP_BATCH_NORM) norm_statistics(p, &p->plan->op[n], coef, g);
    for (uint32_t n = p->plan->ops - 1; n > 0; n--) {
        const struct mot_op *op = &p->plan->op[n];
        const struct mot_map *from = &p->plan->op[op->in].map;
        float *d = mot_pass_slope(p, n);
        struct target also = { 0 };
        if (op->kind == MOT_OP_ADD) also = target_of(p, op->also, written);
        struct target to = target_of(p, op->in, written);
        struct mot_pool pool;
        switch (op->kind) {
        case MOT_OP_INPUT: break;
        case MOT_OP_CONV: conv_backward(p, op, d, to, g); break;
        case MOT_OP_LINEAR: linear_backward(p, op, d, to, g); break;
        case MOT_OP_RELU:
            mot_kernels()->relu_back(floats_of(p, from), mot_pass_result(p, n), d);
            pass_on(floats_of(p, from), d, to);
            break;
        case MOT_OP_MAX_POOL:
        case MOT_OP_MEAN_POOL:
            if (!to.dx) break;
            pool = pool_of(p, op), pool.y = mot_pass_result(p, n);
            pool.d = d, pool.dx = to.dx, pool.add = to.add;
            (op->kind == MOT_OP_MAX_POOL ? mot_map_kernels()->max_pool_back
                                         : mot_map_kernels()->mean_pool_back)(&pool);
            break;
        case MOT_OP_BATCH_NORM: norm_backward(p, op, d, to, g); break;
        case MOT_OP_FLATTEN:
            if (!to.dx) break;
            if (to.add) {
                reorder(p, from, d, p->turned, true);
                pass_on(floats_of(p, from), p->turned, to);
            } else reorder(p, from, d, to.dx, true);
            break;
        case MOT_OP_ADD: add_backward(p, op, d, to, also); break;
        }
        if (exit && has_weights(op)) mot_exit_from(exit, (uint32_t)op->weight);
    }
}
