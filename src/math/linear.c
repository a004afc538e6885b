/* linear.c -- models with one output: logistic regression and least squares.
 *
 * They are cheap enough to be computed in double within a slice: the output of a row, its loss,
 * and the sum of the gradients, which is rounded once, when it is added to g. */
#include "math/linear.h"
#include "math/kernels.h"
#include <motley/method.h>
#include <string.h>

struct scratch {
    double z[MOT_SLICE_ROWS], d[MOT_SLICE_ROWS];
    float y[MOT_SLICE_ROWS];
    const float *row[MOT_SLICE_ROWS];
    double sum[]; /* [cols], for sparse rows */
};

static enum mot_status open_linear(struct mot_net *net)
{
    const struct mot_linear_conf *conf = net->conf;
    enum mot_status status = mot_reg_check(&conf->reg);
    if (status != MOT_OK) return status;
    mot_net_add_segment(net, "weight", 2, 1, net->shape.cols);
    if (conf->bias) mot_net_add_segment(net, "bias", 1, 1, 0);
    net->scratch_bytes = sizeof(struct scratch) + (net->shape.sparse ? net->shape.cols * sizeof(double) : 0);
    return MOT_OK;
}

static enum mot_status open_logistic(struct mot_net *net)
{
    if (net->shape.classes == 0)
        return mot_fail(MOT_EUSAGE, "logistic needs 2 classes, but the labels are values; use least-squares");
    if (net->shape.classes != 2)
        return mot_fail(
            MOT_EUSAGE, "logistic needs 2 classes, the data has %u; use softmax", net->shape.classes);
    net->outputs = 2;
    return open_linear(net);
}

static enum mot_status open_squares(struct mot_net *net)
{
    if (net->shape.classes != 0)
        return mot_fail(MOT_EUSAGE,
            "least-squares needs values, but the data has %u classes; use %s, or read the labels as values "
            "(data.task: regression)",
            net->shape.classes, net->shape.classes == 2 ? "logistic" : "softmax");
    net->outputs = 1;
    return open_linear(net);
}

/* z = the output for each row; y = the labels, side by side. */
static void forward(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, struct scratch *s)
{
    const struct mot_linear_conf *conf = net->conf;
    const struct mot_table *t = batch->table;
    const struct mot_kernels *k = mot_kernels();
    double bias = conf->bias ? (double)x[net->shape.cols] : 0;
    MOT_ASSERT(batch->rows <= MOT_SLICE_ROWS);
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint32_t r = mot_batch_row(batch, i);
        s->y[i] = t->y[r];
        if (t->x) {
            s->row[i] = t->x + (size_t)r * t->cols;
            s->z[i] = bias + k->dot(t->cols, s->row[i], x);
        } else {
            uint64_t from = t->row_at[r];
            s->z[i] = bias + k->sparse_dot(t->row_at[r + 1] - from, t->col + from, t->val + from, x);
        }
    }
}

/* The sparse rows' gradients are added up in s->sum, of which only the columns in use are
 * touched where the rows have fewer entries than the table has columns. */
static void sparse_backward(const struct mot_batch *batch, struct scratch *s, float *g)
{
    const struct mot_table *t = batch->table;
    const struct mot_kernels *k = mot_kernels();
    uint64_t entries = 0;
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint32_t r = mot_batch_row(batch, i);
        entries += t->row_at[r + 1] - t->row_at[r];
    }
    bool few = entries < t->cols;
    if (!few) memset(s->sum, 0, t->cols * sizeof *s->sum);
    for (uint32_t i = 0; few && i < batch->rows; i++) {
        uint32_t r = mot_batch_row(batch, i);
        for (uint64_t e = t->row_at[r]; e < t->row_at[r + 1]; e++) s->sum[t->col[e]] = 0;
    }
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint32_t r = mot_batch_row(batch, i);
        uint64_t from = t->row_at[r];
        k->sparse_axpy_double(t->row_at[r + 1] - from, s->d[i], t->col + from, t->val + from, s->sum);
    }
    for (uint32_t i = 0; few && i < batch->rows; i++) {
        uint32_t r = mot_batch_row(batch, i);
        for (uint64_t e = t->row_at[r]; e < t->row_at[r + 1]; e++) {
            uint32_t c = t->col[e];
            g[c] = (float)((double)g[c] + s->sum[c]);
            s->sum[c] = 0; /* a column met again adds nothing */
        }
    }
    for (uint32_t c = 0; !few && c < t->cols; c++) g[c] = (float)((double)g[c] + s->sum[c]);
}

/* g += the sum over rows of d times the row, and the penalty's
 * part; returns the penalty's part of the loss. */
static double backward(const struct mot_net *net, const float *x, const struct mot_batch *batch, double coef,
    float *g, struct scratch *s)
{
    const struct mot_linear_conf *conf = net->conf;
    if (batch->table->x) mot_kernels()->rows_sum(batch->rows, net->shape.cols, s->d, s->row, g);
    else sparse_backward(batch, s, g);
    if (conf->bias) {
        double sum = 0;
        for (uint32_t i = 0; i < batch->rows; i++) sum += s->d[i];
        g[net->shape.cols] = (float)((double)g[net->shape.cols] + sum);
    }
    return mot_reg_add(&conf->reg, net, x, coef * batch->rows, g);
}

static double penalty(const struct mot_net *net, const float *x)
{
    const struct mot_linear_conf *conf = net->conf;
    return mot_reg_value(&conf->reg, net, x);
}

/* ---- Logistic regression ---------------------------------------------------- */

static double logistic_grad(const struct mot_net *net, const float *x, const struct mot_batch *batch,
    float coef, float *g, void *scratch)
{
    struct scratch *s = scratch;
    forward(net, x, batch, s);
    double loss = mot_kernels()->logistic(batch->rows, s->z, s->y, (double)coef, s->d);
    return (double)coef * loss + backward(net, x, batch, (double)coef, g, s);
}

static double logistic_loss(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, uint32_t *hits, void *scratch)
{
    struct scratch *s = scratch;
    forward(net, x, batch, s);
    *hits = 0;
    for (uint32_t i = 0; i < batch->rows; i++) *hits += s->y[i] > 0.5f ? s->z[i] > 0 : s->z[i] <= 0;
    return mot_kernels()->logistic(batch->rows, s->z, s->y, 1, NULL);
}

/* The slope of the loss at label 0 is the probability of class 1, and the other way round. */
static void logistic_predict(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, float *out, void *scratch)
{
    struct scratch *s = scratch;
    forward(net, x, batch, s);
    for (uint32_t class = 0; class < 2; class ++) {
        for (uint32_t i = 0; i < batch->rows; i++) s->y[i] = class ? 0 : 1;
        mot_kernels()->logistic(batch->rows, s->z, s->y, class ? 1 : -1, s->d);
        for (uint32_t i = 0; i < batch->rows; i++) out[2 * i + class] = (float)s->d[i];
    }
}

const struct mot_model mot_model_logistic = {
    .name = "logistic",
    .summary = "logistic regression: a line between two classes",
    .about = "The loss of a row is log(1 + exp(-s z)), z = w.x + b, with s = -1 for class 0 and +1 for class "
             "1. Convex, fast on sparse data, computed in double within a slice. With reg: nonconvex it is "
             "the test problem of many papers on asynchronous methods. For more than two classes use "
             "softmax.",
    .options = mot_linear_options,
    .conf_bytes = sizeof(struct mot_linear_conf),
    .computes = true,
    .open = open_logistic,
    .init = mot_linear_init,
    .grad = logistic_grad,
    .loss = logistic_loss,
    .penalty = penalty,
    .predict = logistic_predict,
};

/* ---- Least squares ------------------------------------------------------------ */

static double squares(const struct mot_batch *batch, double coef, struct scratch *s)
{
    double loss = 0;
    for (uint32_t i = 0; i < batch->rows; i++) {
        double off = s->z[i] - (double)s->y[i];
        loss += off * off / 2;
        s->d[i] = coef * off;
    }
    return loss;
}

static double squares_grad(const struct mot_net *net, const float *x, const struct mot_batch *batch,
    float coef, float *g, void *scratch)
{
    forward(net, x, batch, scratch);
    double loss = squares(batch, (double)coef, scratch);
    return (double)coef * loss + backward(net, x, batch, (double)coef, g, scratch);
}

static double squares_loss(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, uint32_t *hits, void *scratch)
{
    *hits = 0;
    forward(net, x, batch, scratch);
    return squares(batch, 0, scratch);
}

static void squares_predict(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, float *out, void *scratch)
{
    struct scratch *s = scratch;
    forward(net, x, batch, s);
    for (uint32_t i = 0; i < batch->rows; i++) out[i] = (float)s->z[i];
}

const struct mot_model mot_model_least_squares = {
    .name = "least-squares",
    .summary = "linear regression: predicts a value",
    .about = "The loss of a row is (w.x + b - y)^2 / 2. With reg: l2 it is ridge regression. Convex; scale "
             "the columns, or the learning rate has to be small.",
    .options = mot_linear_options,
    .conf_bytes = sizeof(struct mot_linear_conf),
    .computes = true,
    .open = open_squares,
    .init = mot_linear_init,
    .grad = squares_grad,
    .loss = squares_loss,
    .penalty = penalty,
    .predict = squares_predict,
};
