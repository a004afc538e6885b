/* network_pass.c -- a network over one slice of rows: forward, and from the slope of the loss back to all
 * tensors. */
#include "math/dense.h"
#include "math/network.h"
#include <motley/method.h>
#include <motley/random.h>
#include <string.h>

/* ---- Memory --------------------------------------------------------------------- */

static size_t whole_lines(size_t floats) { return (floats + 15) / 16 * 16; }

/* First come parts that do not depend on the number of rows, then results and slopes of the rows at hand, so
 * that few rows touch little memory. */
static size_t claim(size_t *used, size_t floats)
{
    size_t here = *used;
    *used += whole_lines(floats);
    return here;
}

/* Where everything is, in floats; returns how many there are. */
struct places {
    size_t row, label, moment, kept, packed, sums, result, turned, apart, slope;
};

static size_t lay_out(const struct mot_layer_plan *plan, uint32_t panels, struct places *at)
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
    at->apart = claim(&used, plan->apart * rows);
    at->slope = claim(&used, plan->slots * plan->slot * rows);
    return used;
}

size_t mot_pass_floats(const struct mot_layer_plan *plan)
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
        .net = net,
        .plan = net->plan,
        .x = x,
        .rows = batch->rows,
        .panels = mot_panels(batch->rows),
        .chance = batch->chance,
        .draw = batch->draw,
    };
    struct places at;
    float *s = scratch;
    lay_out(p->plan, p->panels, &at);
    p->row = (const float **)(void *)(s + at.row), p->label = s + at.label;
    p->moment = (double *)(void *)(s + at.moment), p->kept = s + at.kept;
    p->packed = s + at.packed, p->sums = s + at.sums;
    p->result = s + at.result, p->turned = s + at.turned, p->apart = s + at.apart, p->slope = s + at.slope;
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

static struct mot_pooling pool_of(const struct mot_pass *p, const struct mot_op *op)
{
    return (struct mot_pooling){ .panels = p->panels,
        .kernel_rows = op->kernel,
        .kernel_cols = op->across,
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

/* Dropout (Srivastava et al., JMLR 2014) in place: which numbers are kept is a function of the row's place in
 * its part and of the op, so that backward finds the same ones. */
static void drop(const struct mot_pass *p, uint32_t n, float *x)
{
    const struct mot_op *op = &p->plan->op[n];
    if (!p->training || p->chance == 0) return;
    struct mot_drop k = { .map = op->map, .below = (uint32_t)(op->rate * 0x1p24f), .by = 1 / (1 - op->rate) };
    for (uint32_t panel = 0; panel < p->panels; panel++, x += mot_map_size(&op->map) * MOT_PANEL) {
        for (uint32_t r = 0; r < MOT_PANEL; r++)
            k.key[r] = mot_hash3(p->chance, p->draw + panel * MOT_PANEL + r, n);
        mot_map_kernels()->drop(&k, x);
    }
}

/* The number of the word in a column; UINT32_MAX if the column holds no such number. */
static uint32_t word_of(const struct mot_op *op, float column)
{
    if (!(column >= 0 && column < (float)op->words)) return UINT32_MAX;
    uint32_t word = (uint32_t)column;
    return (float)word == column ? word : UINT32_MAX;
}

/* Where number c of column `at` of a row is in an embedding's map. */
static size_t embedded(const struct mot_op *op, uint32_t row, size_t at, uint32_t c)
{
    return row / MOT_PANEL * mot_map_size(&op->map) * MOT_PANEL + mot_map_at(&op->map, c) +
        at * mot_map_step(&op->map, c) + row % MOT_PANEL;
}

/* A number that is no word becomes NaN: rows of a stream cannot be refused beforehand, and NaN ends a run. */
static void embed(const struct mot_pass *p, const struct mot_op *op, float *out)
{
    memset(out, 0, floats_of(p, &op->map) * sizeof *out);
    for (uint32_t r = 0; r < p->rows; r++)
        for (size_t i = 0; i < mot_map_pixels(&op->map); i++) {
            const uint32_t word = word_of(op, p->row[r][i]);
            const float *from =
                p->x + op->weight + (size_t)(word == UINT32_MAX ? 0 : word) * op->map.channels;
            for (uint32_t c = 0; c < op->map.channels; c++)
                out[embedded(op, r, i, c)] = word == UINT32_MAX ? __builtin_nanf("") : from[c];
        }
}

static void embed_backward(const struct mot_pass *p, const struct mot_op *op, const float *d, float *g)
{
    for (uint32_t r = 0; r < p->rows; r++)
        for (size_t i = 0; i < mot_map_pixels(&op->map); i++) {
            const uint32_t word = word_of(op, p->row[r][i]);
            if (word == UINT32_MAX) continue;
            float *to = g + op->weight + (size_t)word * op->map.channels;
            for (uint32_t c = 0; c < op->map.channels; c++) to[c] += d[embedded(op, r, i, c)];
        }
}

enum mot_status mot_layer_plan_check(const struct mot_layer_plan *plan, const struct mot_table *t)
{
    const struct mot_op *op = &plan->op[1];
    if (plan->ops < 2 || op->kind != MOT_OP_EMBEDDING) return MOT_OK;
    for (size_t i = 0; i < (size_t)t->rows * t->cols; i++)
        if (word_of(op, t->x[i]) == UINT32_MAX)
            return mot_fail(MOT_EDATA,
                "model.layers: layer 1 (embedding): column %zu holds %g, expected the number of a word, "
                "0 to %u%s",
                i % t->cols, (double)t->x[i], op->words - 1,
                t->x[i] < (float)op->words && t->x[i] >= 0 ? "; `data.scale: none` leaves numbers as they are"
                                                           : "");
    return MOT_OK;
}

void mot_pass_forward(struct mot_pass *p)
{
    load_rows(p);
    for (uint32_t n = 1; n < p->plan->ops; n++) {
        const struct mot_op *op = &p->plan->op[n];
        const struct mot_map *from = &p->plan->op[op->in].map;
        const float *in = mot_pass_result(p, op->in);
        float *out = mot_pass_result(p, n);
        struct mot_pooling pool;
        switch (op->kind) {
        case MOT_OP_INPUT: break;
        case MOT_OP_CONV: mot_pass_conv(p, op, in, out); break;
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
        case MOT_OP_GROUP_NORM:
            mot_pass_norm(p, op, in, n + 1 < p->plan->ops && op[1].fused && op[1].in == n, out);
            break;
        case MOT_OP_DROPOUT:
            if (out != in) memcpy(out, in, floats_of(p, from) * sizeof *out);
            drop(p, n, out);
            break;
        case MOT_OP_EMBEDDING: embed(p, op, out); break;
        case MOT_OP_FLATTEN: reorder(p, from, in, out, false); break;
        case MOT_OP_ADD: add_forward(p, op, in, out); break;
        }
    }
}

/* ---- Backward ----------------------------------------------------------------------- */

static void linear_backward(
    const struct mot_pass *p, const struct mot_op *op, const float *d, struct mot_target to, float *g)
{
    const uint32_t out = op->map.channels, in = p->plan->op[op->in].map.channels;
    mot_kernels()->transpose(in, p->rows, mot_pass_result(p, op->in), p->turned);
    mot_dense_weights(out, in, p->rows, d, p->turned, NULL, false, g + op->weight);
    if (op->has_bias) mot_kernels()->row_sums(out, p->rows, d, g + op->bias);
    if (to.dx) mot_dense_back(out, in, p->rows, p->x + op->weight, d, to.add, to.dx);
}

/* dx = or += d; they may be the same */
static void pass_on(size_t n, const float *d, struct mot_target to)
{
    if (!to.dx) return;
    if (to.add) mot_kernels()->axpy(n, 1, d, to.dx);
    else if (to.dx != d) memcpy(to.dx, d, n * sizeof *d);
}

static void add_backward(const struct mot_pass *p, const struct mot_op *op, const float *d,
    struct mot_target to, struct mot_target also)
{
    size_t n = floats_of(p, &op->map);
    if (also.dx && is_plain_sum(p, op)) pass_on(n, d, also);
    else if (also.dx) {
        if (!also.add) memset(also.dx, 0, floats_of(p, &p->plan->op[op->also].map) * sizeof *also.dx);
        shortcut(p, op, also.dx, (float *)(uintptr_t)d, true, true);
    }
    pass_on(n, d, to);
}

static struct mot_target target_of(const struct mot_pass *p, uint32_t op, bool *written)
{
    if (op == 0) return (struct mot_target){ NULL, false };
    struct mot_target to = { mot_pass_slope(p, op), written[op] };
    written[op] = true;
    return to;
}

static bool has_weights(const struct mot_op *op)
{
    return op->kind == MOT_OP_CONV || op->kind == MOT_OP_LINEAR || op->kind == MOT_OP_BATCH_NORM ||
        op->kind == MOT_OP_GROUP_NORM || op->kind == MOT_OP_EMBEDDING;
}

void mot_pass_backward(struct mot_pass *p, float coef, float *g, struct mot_exit *exit)
{
    bool written[3 * MOT_LAYERS_MOST + 1] = { false };
    for (uint32_t n = 0; n < p->plan->ops; n++)
        if (p->plan->op[n].kind == MOT_OP_BATCH_NORM) mot_pass_statistics(p, &p->plan->op[n], coef, g);
    for (uint32_t n = p->plan->ops - 1; n > 0; n--) {
        const struct mot_op *op = &p->plan->op[n];
        const struct mot_map *from = &p->plan->op[op->in].map;
        float *d = mot_pass_slope(p, n);
        struct mot_target also = { 0 };
        if (op->kind == MOT_OP_ADD) also = target_of(p, op->also, written);
        struct mot_target to = target_of(p, op->in, written);
        struct mot_pooling pool;
        switch (op->kind) {
        case MOT_OP_INPUT: break;
        case MOT_OP_CONV: mot_pass_conv_back(p, op, d, to, g); break;
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
        case MOT_OP_BATCH_NORM:
        case MOT_OP_GROUP_NORM: mot_pass_norm_back(p, op, d, to, g); break;
        case MOT_OP_DROPOUT:
            drop(p, n, d);
            pass_on(floats_of(p, from), d, to);
            break;
        case MOT_OP_EMBEDDING: embed_backward(p, op, d, g); break;
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
