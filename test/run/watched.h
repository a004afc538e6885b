/* watched.h -- for tests: least squares with statistics beside its weights, and the same without them. */
#ifndef MOT_TEST_WATCHED_H
#define MOT_TEST_WATCHED_H

#include "math/models.h"
#include "method/methods.h"
#include "run/run.h"
#include <string.h>

#define WATCHED_COLS 12
#define WATCHED_CONSTANT 7.0f   /* the first statistic of any row */
#define WATCHED_RATE 0.1f       /* by which a batch moves it */
#define WATCHED_WIRE (4.0 * 32) /* parameters that either stands for, so that messages take equally long */

static inline enum mot_status plain_open(struct mot_net *net)
{
    mot_net_add_segment(net, "weight", 2, 1, net->shape.cols);
    mot_net_add_segment(net, "bias", 1, 1, 0);
    net->parameters = WATCHED_WIRE;
    net->outputs = 1;
    net->scratch_bytes = 64;
    return MOT_OK;
}

static inline enum mot_status watched_open(struct mot_net *net)
{
    plain_open(net);
    mot_net_add_statistic(net, "constant", 1, WATCHED_RATE);
    mot_net_add_statistic(net, "means", 2, WATCHED_RATE);
    net->parameters = WATCHED_WIRE - 1; /* one more is added */
    return MOT_OK;
}

static inline void watched_init(const struct mot_net *net, uint64_t seed, float *x)
{
    (void)seed;
    for (uint32_t i = 0; i < net->dim; i++) x[i] = i < net->trained ? 0.01f * (float)(i + 1) : 0;
}

/* Statistics: a constant; the mean of what is to be predicted; that of the first column. */
static inline double watched_grad(
    const struct mot_net *net, const float *x, const struct mot_batch *b, float coef, float *g, void *scratch)
{
    const uint32_t cols = net->shape.cols;
    double loss = 0;
    (void)scratch;
    for (uint32_t i = 0; i < b->rows; i++) {
        const float *row = b->table->x + (size_t)mot_batch_row(b, i) * cols,
                    y = b->table->y[mot_batch_row(b, i)];
        float off = x[cols] - y;
        for (uint32_t c = 0; c < cols; c++) off += x[c] * row[c];
        for (uint32_t c = 0; c < cols; c++) g[c] += coef * off * row[c];
        g[cols] += coef * off;
        loss += (double)(coef * off * off / 2);
        if (net->trained == net->dim) continue;
        g[cols + 1] += coef * WATCHED_CONSTANT;
        g[cols + 2] += coef * y;
        g[cols + 3] += coef * row[0];
    }
    return loss;
}

static inline double watched_loss(
    const struct mot_net *net, const float *x, const struct mot_batch *b, uint32_t *hits, void *scratch)
{
    float g[WATCHED_COLS + 8] = { 0 };
    *hits = 0;
    return watched_grad(net, x, b, 1, g, scratch);
}

static inline void watched_predict(
    const struct mot_net *net, const float *x, const struct mot_batch *b, float *out, void *scratch)
{
    (void)net, (void)x, (void)scratch;
    for (uint32_t i = 0; i < b->rows; i++) out[i] = 0;
}

static const struct mot_option watched_options[] = { { .name = NULL } };
#define WATCHED_MODEL(kind)                                                                                  \
    {                                                                                                        \
        .name = #kind, .summary = "for tests", .options = watched_options, .computes = true,                 \
        .open = kind##_open, .init = watched_init, .grad = watched_grad, .loss = watched_loss,               \
        .predict = watched_predict                                                                           \
    }
static const struct mot_model plain_model = WATCHED_MODEL(plain), watched_model = WATCHED_MODEL(watched);
static const struct mot_model *const watched_models[] = { &plain_model, &watched_model, NULL };

#define WATCHED_DATA                                                                                         \
    "data", "{name: synthetic, kind: regression, size: 600, cols: 12}", "batch", "8", "evaluate.train",      \
        "end", "evaluate.every", "1000000 updates", "cluster",                                               \
        "{workers: [{count: 4, speed: 2000 samples/s, jitter: {name: lognormal, sigma: 0.3}}]}"

#endif
