/* layers.c -- networks of full layers: forward and backward over one slice.
 *
 * Activations lie in panels (kernels.h) in two ways: by feature, [width][rows], which the products with the
 * weights read, and by row, [rows][width], which the gradient of the weights reads. The
 * weights are used where they lie. With W of a layer [out][in], A its input and D the slope of
 * the loss at its output:
 *
 *     output  [out][rows]  =  W [out][in]    . A by feature [in][rows]   + bias
 *     dA      [in][rows]   =  W' [in][out]   . D [out][rows]
 *     dW      [out][in]   +=  D [out][rows]  . A by row [rows][in]
 *
 * Sparse rows never become dense: the first layer then takes a sparse dot, and backward a
 * sparse axpy, for each (output, row); a row of W is reused by all rows of the slice while it
 * is in the cache. */
#include "math/layers.h"
#include "math/kernels.h"
#include <motley/method.h>
#include <stdio.h>
#include <string.h>

struct layer {
    uint32_t in, out;
    size_t weight, bias; /* offsets into x and g */
    bool has_bias;
    /* Offsets in floats into the scratch: the output in both forms, and the slope there (the last layer's
     * slope takes the place of its output). */
    size_t by_feature, by_row, slope;
};

struct plan {
    uint32_t layers;
    struct layer layer[MOT_LAYERS_MAX];
    size_t in_by_feature, in_by_row, labels, rows; /* rows: pointers, MOT_SLICE_ROWS of them */
    size_t floats;
};

/* Floats that an [a][b] matrix takes in panels, rounded up to whole cache lines. */
static size_t panelled(uint32_t a, uint32_t b) { return (size_t)a * mot_panels(b) * MOT_PANEL; }

static size_t claim(struct plan *p, size_t floats)
{
    size_t at = p->floats;
    p->floats += (floats + 15) / 16 * 16;
    return at;
}

/* The net's segments say all that is to know; a plan is made anew on the stack for every call. */
static void make_plan(const struct mot_net *net, struct plan *p)
{
    const uint32_t rows = MOT_SLICE_ROWS;
    memset(p, 0, sizeof *p);
    p->rows = claim(p, rows * sizeof(float *) / sizeof(float));
    p->labels = claim(p, rows);
    if (!net->shape.sparse) {
        p->in_by_feature = claim(p, panelled(net->shape.cols, rows));
        p->in_by_row = claim(p, panelled(rows, net->shape.cols));
    }
    for (uint32_t s = 0; s < net->segments; s++) {
        const struct mot_segment *at = &net->segment[s];
        if (at->rank == 1) {
            p->layer[p->layers - 1].bias = at->off;
            p->layer[p->layers - 1].has_bias = true;
            continue;
        }
        struct layer *l = &p->layer[p->layers++];
        l->out = at->shape[0];
        l->in = at->shape[1];
        l->weight = at->off;
        l->by_feature = claim(p, panelled(l->out, rows));
        l->by_row = claim(p, panelled(rows, l->out));
        l->slope = claim(p, panelled(l->out, rows));
    }
}

enum mot_status mot_layers_open(struct mot_net *net, uint32_t layers, const uint32_t *widths, bool bias)
{
    double parameters = 0;
    for (uint32_t l = 0; l < layers; l++) parameters += (double)widths[l + 1] * ((double)widths[l] + bias);
    if (parameters > INT32_MAX)
        return mot_fail(MOT_EUSAGE, "%s would have %.3g parameters on %u columns; at most %.3g are possible",
            net->kind->name, parameters, net->shape.cols, (double)INT32_MAX);
    for (uint32_t l = 0; l < layers; l++) {
        char weight[24] = "weight", constant[24] = "bias";
        if (layers > 1) {
            snprintf(weight, sizeof weight, "layer%u.weight", l + 1);
            snprintf(constant, sizeof constant, "layer%u.bias", l + 1);
        }
        mot_net_add_segment(net, weight, 2, widths[l + 1], widths[l]);
        if (bias) mot_net_add_segment(net, constant, 1, widths[l + 1], 0);
    }
    net->outputs = widths[layers];
    struct plan p;
    make_plan(net, &p);
    net->scratch_bytes = p.floats * sizeof(float);
    return MOT_OK;
}

/* ---- Forward ------------------------------------------------------------------ */

static void first_layer_sparse(
    const struct layer *l, const float *x, const struct mot_batch *batch, float *scratch)
{
    const struct mot_table *t = batch->table;
    float *out = scratch + l->by_feature;
    memset(out, 0, panelled(l->out, batch->rows) * sizeof *out);
    for (uint32_t o = 0; o < l->out; o++) {
        const float *w = x + l->weight + (size_t)o * l->in;
        double bias = l->has_bias ? (double)x[l->bias + o] : 0;
        for (uint32_t i = 0; i < batch->rows; i++) {
            uint32_t r = mot_batch_row(batch, i);
            uint64_t from = t->row_at[r];
            double z = mot_kernels()->sparse_dot(t->row_at[r + 1] - from, t->col + from, t->val + from, w);
            out[((size_t)(i / MOT_PANEL) * l->out + o) * MOT_PANEL + i % MOT_PANEL] = (float)(bias + z);
        }
    }
}

/* Brings the rows, which lie anywhere, into both panel forms. */
static void read_rows(const struct plan *p, const struct mot_batch *batch, float *scratch)
{
    const struct mot_table *t = batch->table;
    const float **row = (const float **)(void *)(scratch + p->rows);
    for (uint32_t i = 0; i < batch->rows; i++) row[i] = t->x + (size_t)mot_batch_row(batch, i) * t->cols;
    mot_kernels()->pack(batch->rows, t->cols, row, scratch + p->in_by_row);
    mot_kernels()->transpose(batch->rows, t->cols, scratch + p->in_by_row, scratch + p->in_by_feature);
}

/* Leaves every layer's output by feature; the last one's is not yet softmaxed. */
static void forward(const struct plan *p, const float *x, const struct mot_batch *batch, float *scratch)
{
    const struct mot_kernels *k = mot_kernels();
    uint32_t rows = batch->rows;
    MOT_ASSERT(rows <= MOT_SLICE_ROWS);
    for (uint32_t i = 0; i < rows; i++) scratch[p->labels + i] = batch->table->y[mot_batch_row(batch, i)];
    if (batch->table->x) read_rows(p, batch, scratch);
    for (uint32_t n = 0; n < p->layers; n++) {
        const struct layer *l = &p->layer[n];
        if (n == 0 && !batch->table->x) {
            first_layer_sparse(l, x, batch, scratch);
        } else {
            k->gemm(&(struct mot_gemm){
                .m = l->out,
                .n = mot_panels(rows) * MOT_PANEL,
                .k = l->in,
                .a = x + l->weight,
                .a_row = l->in,
                .a_col = 1,
                .a_block = MOT_PANEL,
                .b = scratch + (n ? p->layer[n - 1].by_feature : p->in_by_feature),
                .b_panel = (size_t)l->in * MOT_PANEL,
                .c = scratch + l->by_feature,
                .c_row = MOT_PANEL,
                .c_panel = (size_t)l->out * MOT_PANEL,
                .bias = l->has_bias ? x + l->bias : NULL,
            });
        }
        if (n + 1 < p->layers) k->relu(panelled(l->out, rows), scratch + l->by_feature);
    }
}

/* ---- Backward ------------------------------------------------------------------ */

static void weights_gradient_sparse(
    const struct layer *l, const struct mot_batch *batch, const float *slope, float *g)
{
    const struct mot_table *t = batch->table;
    for (uint32_t o = 0; o < l->out; o++)
        for (uint32_t i = 0; i < batch->rows; i++) {
            float d = slope[((size_t)(i / MOT_PANEL) * l->out + o) * MOT_PANEL + i % MOT_PANEL];
            uint32_t r = mot_batch_row(batch, i);
            uint64_t from = t->row_at[r];
            if (d == 0) continue; /* ReLU was closed */
            mot_kernels()->sparse_axpy(
                t->row_at[r + 1] - from, d, t->col + from, t->val + from, g + l->weight + (size_t)o * l->in);
        }
}

static void weights_gradient(
    const struct layer *l, uint32_t rows, const float *slope, const float *by_row, float *g)
{
    mot_kernels()->gemm(&(struct mot_gemm){
        .m = l->out,
        .n = l->in,
        .k = rows,
        .a = slope,
        .a_row = MOT_PANEL,
        .a_col = 1,
        .a_block = (size_t)l->out * MOT_PANEL,
        .b = by_row,
        .b_panel = (size_t)rows * MOT_PANEL,
        .c = g + l->weight,
        .c_row = l->in,
        .c_panel = MOT_PANEL,
        .add = true,
    });
}

/* From the slope at the last layer's output down to the first layer. */
static void backward(
    const struct plan *p, const float *x, const struct mot_batch *batch, float *g, float *scratch)
{
    const struct mot_kernels *k = mot_kernels();
    uint32_t rows = batch->rows;
    const float *slope = scratch + p->layer[p->layers - 1].by_feature;
    for (uint32_t n = p->layers; n-- > 0;) {
        const struct layer *l = &p->layer[n], *below = n ? l - 1 : NULL;
        if (l->has_bias) k->row_sums(l->out, rows, slope, g + l->bias);
        if (!below) {
            if (batch->table->x) weights_gradient(l, rows, slope, scratch + p->in_by_row, g);
            else weights_gradient_sparse(l, batch, slope, g);
            return;
        }
        k->transpose(below->out, rows, scratch + below->by_feature, scratch + below->by_row);
        weights_gradient(l, rows, slope, scratch + below->by_row, g);
        k->gemm(&(struct mot_gemm){
            .m = l->in,
            .n = mot_panels(rows) * MOT_PANEL,
            .k = l->out,
            .a = x + l->weight,
            .a_row = 1,
            .a_col = l->in,
            .a_block = (size_t)l->in * MOT_PANEL,
            .b = slope,
            .b_panel = (size_t)l->out * MOT_PANEL,
            .c = scratch + below->slope,
            .c_row = MOT_PANEL,
            .c_panel = (size_t)l->in * MOT_PANEL,
        });
        k->relu_back(panelled(below->out, rows), scratch + below->by_feature, scratch + below->slope);
        slope = scratch + below->slope;
    }
}

double mot_layers_grad(const struct mot_net *net, const struct mot_layers_loss *how, const float *x,
    const struct mot_batch *batch, float coef, float *g, void *scratch)
{
    if (batch->rows == 0) return 0;
    struct plan p;
    make_plan(net, &p);
    float *s = scratch;
    forward(&p, x, batch, s);
    double loss = mot_kernels()->softmax_loss(batch->rows, net->outputs, s + p.layer[p.layers - 1].by_feature,
        s + p.labels, coef, how->smoothing, NULL);
    backward(&p, x, batch, g, s);
    return (double)coef * loss + mot_reg_add(&how->reg, net, x, (double)coef * batch->rows, g);
}

/* Evaluation is against the true labels, not the smoothed ones. */
double mot_layers_loss(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, uint32_t *hits, void *scratch)
{
    *hits = 0;
    if (batch->rows == 0) return 0;
    struct plan p;
    make_plan(net, &p);
    float *s = scratch;
    forward(&p, x, batch, s);
    return mot_kernels()->softmax_loss(
        batch->rows, net->outputs, s + p.layer[p.layers - 1].by_feature, s + p.labels, 1, 0, hits);
}

void mot_layers_predict(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, float *out, void *scratch)
{
    if (batch->rows == 0) return;
    struct plan p;
    make_plan(net, &p);
    float *s = scratch, *z = s + p.layer[p.layers - 1].by_feature;
    forward(&p, x, batch, s);
    mot_kernels()->softmax(batch->rows, net->outputs, z);
    for (uint32_t i = 0; i < batch->rows; i++)
        for (uint32_t c = 0; c < net->outputs; c++)
            out[(size_t)i * net->outputs + c] =
                z[((size_t)(i / MOT_PANEL) * net->outputs + c) * MOT_PANEL + i % MOT_PANEL];
}
