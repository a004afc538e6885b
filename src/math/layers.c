/* layers.c -- networks of dense layers: forward and backward over one slice.
 *
 * Activations lie in panels (kernels.h) in two ways: by feature, [width][rows], which the products with the
 * weights read, and by row, [rows][width], which the gradient of the weights reads. The
 * weights are used in place (dense.h).
 *
 * Up to MOT_FEW dense rows take another path, which reads them in place and keeps activations and slopes
 * as plain rows; only the last layer's output, for the loss, is by feature. The bits are the same.
 *
 * Sparse rows never become dense: the first layer then takes a sparse dot, and backward a
 * sparse axpy, for each (output, row); a row of W is reused by all rows of the slice while it
 * is in the cache. */
#include "math/layers.h"
#include "math/dense.h"
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
    size_t in_by_feature, labels, rows; /* rows: pointers, MOT_SLICE_ROWS of them */
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

/* The net's segments say everything; a plan is made on the stack for every call. */
static void make_plan(const struct mot_net *net, struct plan *p)
{
    const uint32_t rows = MOT_SLICE_ROWS;
    p->layers = 0;
    p->floats = p->in_by_feature = 0;
    p->rows = claim(p, rows * sizeof(float *) / sizeof(float));
    p->labels = claim(p, rows);
    if (!net->shape.sparse) p->in_by_feature = claim(p, panelled(MOT_K_BLOCK, rows));
    for (uint32_t s = 0; s < net->segments; s++) {
        const struct mot_segment *at = &net->segment[s];
        if (at->rank == 1) {
            p->layer[p->layers - 1].bias = at->off;
            p->layer[p->layers - 1].has_bias = true;
            continue;
        }
        struct layer *l = &p->layer[p->layers++];
        *l = (struct layer){ .out = at->shape[0], .in = at->shape[1], .weight = at->off };
        l->by_feature = claim(p, panelled(l->out, rows));
        l->by_row = claim(p, panelled(rows, l->out));
        l->slope = claim(p, panelled(l->out, rows));
    }
}

enum mot_status mot_layers_open(struct mot_net *net, uint32_t layers, const uint32_t *widths, bool bias)
{
    for (uint32_t l = 0; l < layers; l++) {
        char weight[24] = "weight", constant[24] = "bias";
        if (layers > 1) {
            snprintf(weight, sizeof weight, "layer%u.weight", l + 1);
            snprintf(constant, sizeof constant, "layer%u.bias", l + 1);
        }
        mot_net_add_segment(net, weight, 2, widths[l + 1], widths[l]);
        net->segment[net->segments - 1].work = (double)widths[l + 1] * widths[l];
        if (bias) mot_net_add_segment(net, constant, 1, widths[l + 1], 0);
    }
    net->outputs = widths[layers];
    net->features = layers > 1 ? widths[layers - 1] : 0;
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

static const float **rows_of(const struct plan *p, float *scratch)
{
    return (const float **)(void *)(scratch + p->rows);
}

/* Where labels and dense rows are. */
static void find_rows(const struct plan *p, const struct mot_batch *batch, float *scratch)
{
    const struct mot_table *t = batch->table;
    const float **row = rows_of(p, scratch);
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint32_t at = mot_batch_row(batch, i);
        scratch[p->labels + i] = t->y[at];
        if (t->x) row[i] = t->x + (size_t)at * t->cols;
    }
}

static bool are_few(const struct mot_batch *batch) { return batch->table->x && batch->rows <= MOT_FEW; }

static void layer_forward(const struct layer *l, const float *x, uint32_t rows, uint32_t first, uint32_t k,
    const float *in, float *scratch)
{
    mot_dense_forward(l->out, l->in, rows, first, k, x + l->weight, l->has_bias ? x + l->bias : NULL, in,
        scratch + l->by_feature);
}

/* With many outputs, takes a block of columns at a time, so that transposed numbers are still in a cache when
 * they are multiplied. */
static void first_layer_dense(
    const struct plan *p, const float *x, const struct mot_batch *batch, float *scratch)
{
    const struct layer *l = &p->layer[0];
    const float *const *row = rows_of(p, scratch);
    if (l->out <= MOT_NARROW) {
        mot_kernels()->narrow_forward(&(struct mot_few){ .rows = batch->rows,
            .in = l->in,
            .out = l->out,
            .w = x + l->weight,
            .bias = l->has_bias ? x + l->bias : NULL,
            .x = row,
            .y = scratch + l->by_feature });
        return;
    }
    float *turned = scratch + p->in_by_feature;
    for (uint32_t first = 0; first < l->in; first += MOT_K_BLOCK) {
        uint32_t k = l->in - first < MOT_K_BLOCK ? l->in - first : MOT_K_BLOCK;
        mot_kernels()->turn_rows(batch->rows, row, first, k, turned);
        layer_forward(l, x, batch->rows, first, k, turned, scratch);
    }
}

static void few_forward(const struct plan *p, const float *x, const struct mot_batch *batch, float *scratch)
{
    const struct mot_kernels *k = mot_kernels();
    const float *row[MOT_FEW];
    memcpy(row, rows_of(p, scratch), batch->rows * sizeof *row);
    for (uint32_t n = 0; n < p->layers; n++) {
        const struct layer *l = &p->layer[n];
        float *out = scratch + l->by_row;
        k->few_forward(&(struct mot_few){ .rows = batch->rows,
            .in = l->in,
            .out = l->out,
            .w = x + l->weight,
            .bias = l->has_bias ? x + l->bias : NULL,
            .x = row,
            .y = out,
            .y_row = l->out });
        if (n + 1 < p->layers) k->relu((size_t)batch->rows * l->out, out);
        for (uint32_t r = 0; r < batch->rows; r++) row[r] = out + (size_t)r * l->out;
    }
    const struct layer *last = &p->layer[p->layers - 1];
    float *z = scratch + last->by_feature;
    memset(z, 0, (size_t)last->out * MOT_PANEL * sizeof *z);
    for (uint32_t o = 0; o < last->out; o++)
        for (uint32_t r = 0; r < batch->rows; r++) z[o * MOT_PANEL + r] = row[r][o];
}

/* Leaves the last layer's output by feature, not yet softmaxed. */
static void forward(const struct plan *p, const float *x, const struct mot_batch *batch, float *scratch)
{
    MOT_ASSERT(batch->rows <= MOT_SLICE_ROWS);
    find_rows(p, batch, scratch);
    if (are_few(batch)) {
        few_forward(p, x, batch, scratch);
        return;
    }
    for (uint32_t n = 0; n < p->layers; n++) {
        const struct layer *l = &p->layer[n];
        if (n > 0) layer_forward(l, x, batch->rows, 0, l->in, scratch + (l - 1)->by_feature, scratch);
        else if (batch->table->x) first_layer_dense(p, x, batch, scratch);
        else first_layer_sparse(l, x, batch, scratch);
        if (n + 1 < p->layers) mot_kernels()->relu(panelled(l->out, batch->rows), scratch + l->by_feature);
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

/* Where a gradient goes: added to what is there, or, if fresh, replacing it. */
struct sink {
    float *g;
    bool fresh;
    struct mot_exit *exit; /* NULL: it leaves once it is complete */
};

static void layer_leaves(struct sink to, const struct layer *l)
{
    if (to.exit) mot_exit_from(to.exit, (uint32_t)l->weight);
}

static void few_backward(
    const struct plan *p, const float *x, const struct mot_batch *batch, struct sink to, float *scratch)
{
    const struct mot_kernels *k = mot_kernels();
    const struct layer *last = &p->layer[p->layers - 1];
    struct mot_few few = { .rows = batch->rows,
        .d = scratch + last->by_feature,
        .d_out = MOT_PANEL,
        .d_row = 1,
        .fresh = to.fresh };
    if (last->has_bias) k->row_sums(last->out, batch->rows, few.d, to.g + last->bias);
    for (uint32_t n = p->layers; n-- > 0;) {
        const struct layer *l = &p->layer[n], *below = n ? l - 1 : NULL;
        const float *row[MOT_FEW];
        for (uint32_t r = 0; r < batch->rows; r++)
            row[r] = below ? scratch + below->by_row + (size_t)r * l->in : rows_of(p, scratch)[r];
        few.in = l->in, few.out = l->out, few.w = x + l->weight;
        few.x = row, few.y = to.g + l->weight, few.y_row = l->in;
        k->few_weights(&few);
        layer_leaves(to, l);
        if (!below) return;
        few.y = scratch + below->slope;
        k->few_back(&few);
        k->relu_back((size_t)batch->rows * l->in, scratch + below->by_row, few.y);
        few.d = few.y, few.d_out = 1, few.d_row = l->in;
        for (uint32_t r = 0; r < batch->rows; r++) row[r] = few.d + (size_t)r * l->in;
        few.y = to.g + below->bias;
        if (below->has_bias) k->few_sums(&few);
    }
}

/* From the slope at the last layer's output down to the first layer. */
static void backward(
    const struct plan *p, const float *x, const struct mot_batch *batch, struct sink to, float *scratch)
{
    const struct mot_kernels *k = mot_kernels();
    uint32_t rows = batch->rows;
    const float *slope = scratch + p->layer[p->layers - 1].by_feature;
    for (uint32_t n = p->layers; n-- > 0;) {
        const struct layer *l = &p->layer[n], *below = n ? l - 1 : NULL;
        if (l->has_bias) k->row_sums(l->out, rows, slope, to.g + l->bias);
        if (!below) {
            if (batch->table->x)
                mot_dense_weights(
                    l->out, l->in, rows, slope, NULL, rows_of(p, scratch), to.fresh, to.g + l->weight);
            else weights_gradient_sparse(l, batch, slope, to.g);
            layer_leaves(to, l);
            return;
        }
        k->transpose(below->out, rows, scratch + below->by_feature, scratch + below->by_row);
        mot_dense_weights(
            l->out, l->in, rows, slope, scratch + below->by_row, NULL, to.fresh, to.g + l->weight);
        layer_leaves(to, l);
        mot_dense_back(l->out, l->in, rows, x + l->weight, slope, false, scratch + below->slope);
        k->relu_back(panelled(below->out, rows), scratch + below->by_feature, scratch + below->slope);
        slope = scratch + below->slope;
    }
}

/* Zeros the parts of a fresh gradient that are still added to: biases, and the weights that sparse rows
 * meet. */
static void zero_sums(const struct plan *p, bool sparse, float *g)
{
    for (uint32_t n = 0; n < p->layers; n++) {
        const struct layer *l = &p->layer[n];
        if (l->has_bias) memset(g + l->bias, 0, l->out * sizeof *g);
        if (sparse && n == 0) memset(g + l->weight, 0, (size_t)l->out * l->in * sizeof *g);
    }
}

double mot_layers_grad(const struct mot_net *net, const struct mot_layers_loss *how, const float *x,
    const struct mot_batch *batch, float coef, bool first, float *g, void *scratch,
    const struct mot_leaving *leaving)
{
    if (batch->rows == 0) {
        if (first) memset(g, 0, net->dim * sizeof *g);
        return 0;
    }
    struct plan p;
    make_plan(net, &p);
    float *s = scratch;
    double a = (double)coef * batch->rows;
    struct mot_exit exit = { &how->reg, net, x, a, g, net->dim, leaving };
    struct sink to = { g, first, leaving ? &exit : NULL };
    if (first) zero_sums(&p, !batch->table->x, g);
    forward(&p, x, batch, s);
    double loss = mot_kernels()->softmax_loss(batch->rows, net->outputs, s + p.layer[p.layers - 1].by_feature,
        s + p.labels, coef, how->smoothing, NULL);
    if (are_few(batch)) few_backward(&p, x, batch, to, s);
    else backward(&p, x, batch, to, s);
    return (double)coef * loss +
        (leaving ? a * mot_reg_value(&how->reg, net, x) : mot_reg_add(&how->reg, net, x, a, g));
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

void mot_layers_features(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, float *out, void *scratch)
{
    if (batch->rows == 0) return;
    struct plan p;
    make_plan(net, &p);
    float *s = scratch;
    forward(&p, x, batch, s);
    const struct layer *last = &p.layer[p.layers - 2];
    if (are_few(batch)) {
        memcpy(out, s + last->by_row, (size_t)batch->rows * last->out * sizeof *out);
        return;
    }
    const float *z = s + last->by_feature;
    for (uint32_t i = 0; i < batch->rows; i++)
        for (uint32_t c = 0; c < last->out; c++)
            out[(size_t)i * last->out + c] =
                z[((size_t)(i / MOT_PANEL) * last->out + c) * MOT_PANEL + i % MOT_PANEL];
}
