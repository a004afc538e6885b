/* network_conv.c -- convolutions in a pass over a network, whole or in groups of channels.
 *
 * Groups are independent: each is a convolution of its own. Its channels are copied into separate maps and
 * back, since the kernels read blocks of four channels, which a group may share with others. */
#include "math/network.h"
#include <string.h>

/* One group, or all there is: its maps, and where its weights begin. */
struct part {
    const struct mot_op *op;
    struct mot_map in, out;
    size_t weight, bias;
};

static struct part part_of(const struct mot_pass *p, const struct mot_op *op, uint32_t group)
{
    struct part a = { .op = op, .in = p->plan->op[op->in].map, .out = op->map };
    a.in.channels /= op->groups, a.out.channels /= op->groups;
    size_t window = (size_t)op->kernel * op->kernel;
    a.weight = op->weight + (size_t)group * a.out.channels * a.in.channels * window;
    a.bias = op->bias + (size_t)group * a.out.channels;
    return a;
}

static struct mot_conv conv_of(const struct mot_pass *p, const struct part *a)
{
    return (struct mot_conv){ .panels = p->panels,
        .in = a->in,
        .out = a->out,
        .rows = a->out.height,
        .cols = a->out.width,
        .step = 1,
        .kernel_rows = a->op->kernel,
        .kernel_cols = a->op->kernel,
        .stride = a->op->stride,
        .top = (int32_t)a->op->padding,
        .left = (int32_t)a->op->padding,
        .packed = p->packed };
}

static void forward(const struct mot_pass *p, const struct part *a, const float *in, float *out)
{
    const struct mot_map_kernels *k = mot_map_kernels();
    const uint32_t size = a->op->kernel;
    struct mot_conv c = conv_of(p, a);
    ptrdiff_t window = (ptrdiff_t)size * size;
    k->conv_pack(&(struct mot_conv_weights){ a->out.channels, a->in.channels, size, size, p->x + a->weight,
                     (ptrdiff_t)a->in.channels * window, window, (ptrdiff_t)size, 1 },
        p->packed);
    c.x = in, c.y = out;
    c.bias = a->op->has_bias ? p->x + a->bias : NULL;
    k->conv(&c);
}

/* The input's pixels h = from_row + i step meet only some rows of the window, and likewise columns: each of
 * the step x step cases is a convolution of the slopes with the window turned round. */
static void back_to_input(
    const struct mot_pass *p, const struct part *part, const float *d, struct mot_target to)
{
    const struct mot_map_kernels *k = mot_map_kernels();
    const struct mot_op *op = part->op;
    const uint32_t s = op->stride, size = op->kernel;
    const ptrdiff_t window = (ptrdiff_t)size * size;
    struct mot_conv c = conv_of(p, part);
    const struct mot_map in = c.in;
    c.in = part->out, c.out = in, c.step = s, c.stride = 1, c.x = d, c.y = to.dx, c.add = to.add;
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
                k->conv_pack(&(struct mot_conv_weights){ in.channels, part->out.channels, c.kernel_rows,
                                 c.kernel_cols, p->x + part->weight + (size_t)last_r * size + last_q, window,
                                 (ptrdiff_t)in.channels * window, -(ptrdiff_t)(s * size), -(ptrdiff_t)s },
                    p->packed);
            k->conv(&c);
        }
}

static void backward(const struct mot_pass *p, const struct part *a, const float *in, const float *d,
    struct mot_target to, float *g)
{
    mot_map_kernels()->conv_slope(&(struct mot_conv_slope){ p->panels, a->in, a->out, a->op->kernel,
        a->op->stride, a->op->padding, in, d, g + a->weight, p->sums });
    if (to.dx) back_to_input(p, a, d, to);
}

/* ---- Groups -------------------------------------------------------------------------- */

/* Channel c of one panel of a map. */
struct line {
    float *at;
    size_t step;
};
static struct line line_of(const struct mot_map *m, uint32_t panel, uint32_t c, float *x)
{
    return (struct line){ x + panel * mot_map_size(m) * MOT_PANEL + mot_map_at(m, c), mot_map_step(m, c) };
}

enum way { TAKE, PUT, ADD };

/* Copies between channels `first` and on of a whole map and a part that has only those. */
static void move(const struct mot_pass *p, enum way way, const struct mot_map *whole, float *x,
    uint32_t first, const struct mot_map *part, float *apart)
{
    const size_t pixels = mot_map_pixels(whole);
    for (uint32_t panel = 0; panel < p->panels; panel++)
        for (uint32_t c = 0; c < part->channels; c++) {
            struct line a = line_of(whole, panel, first + c, x), b = line_of(part, panel, c, apart);
            for (size_t i = 0; i < pixels; i++, a.at += a.step, b.at += b.step) {
                if (way == TAKE) memcpy(b.at, a.at, MOT_PANEL * sizeof *a.at);
                else if (way == PUT) memcpy(a.at, b.at, MOT_PANEL * sizeof *a.at);
                else
                    for (uint32_t r = 0; r < MOT_PANEL; r++) a.at[r] += b.at[r];
            }
        }
}

static void take(const struct mot_pass *p, const struct mot_map *whole, const float *x, uint32_t first,
    const struct mot_map *part, float *apart)
{
    move(p, TAKE, whole, (float *)(uintptr_t)x, first, part, apart);
}

void mot_pass_conv(const struct mot_pass *p, const struct mot_op *op, const float *in, float *out)
{
    for (uint32_t n = 0; n < op->groups; n++) {
        const struct part a = part_of(p, op, n);
        float *from = p->apart, *to = from + mot_map_size(&a.in) * p->panels * MOT_PANEL;
        if (op->groups == 1) {
            forward(p, &a, in, out);
            return;
        }
        take(p, &p->plan->op[op->in].map, in, n * a.in.channels, &a.in, from);
        forward(p, &a, from, to);
        move(p, PUT, &op->map, out, n * a.out.channels, &a.out, to);
    }
}

/* g[c] += the sum of the slopes of channel c */
static void bias_gradient(const struct mot_pass *p, const struct mot_op *op, const float *d, float *g)
{
    mot_map_kernels()->slope_sums(&(struct mot_channels){ p->rows, op->map }, NULL, d, NULL, p->moment, NULL);
    for (uint32_t c = 0; c < op->map.channels; c++) g[c] = (float)((double)g[c] + p->moment[c]);
}

void mot_pass_conv_back(
    const struct mot_pass *p, const struct mot_op *op, const float *d, struct mot_target to, float *g)
{
    const struct mot_map *whole = &p->plan->op[op->in].map;
    const float *in = mot_pass_result(p, op->in);
    if (op->has_bias) bias_gradient(p, op, d, g + op->bias);
    for (uint32_t n = 0; n < op->groups; n++) {
        const struct part a = part_of(p, op, n);
        float *from = p->apart, *slope = from + mot_map_size(&a.in) * p->panels * MOT_PANEL;
        if (op->groups == 1) {
            backward(p, &a, in, d, to, g);
            return;
        }
        take(p, whole, in, n * a.in.channels, &a.in, from);
        take(p, &op->map, d, n * a.out.channels, &a.out, slope);
        /* the group's input has been used by then, and its slope takes its place */
        backward(p, &a, from, slope, (struct mot_target){ to.dx ? from : NULL, false }, g);
        if (to.dx) move(p, to.add ? ADD : PUT, whole, to.dx, n * a.in.channels, &a.in, from);
    }
}
