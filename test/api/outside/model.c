/* model.c -- a model from outside: least squares without a bias, by the library's vector operations. */
#include <motley/model.h>
#include <motley/random.h>
#include <motley/vector.h>

static enum mot_status open_line(struct mot_net *net)
{
    if (net->shape.classes || net->shape.sparse)
        return mot_fail(MOT_EUSAGE, "line predicts values from dense rows; the data has others");
    net->outputs = 1;
    mot_net_add_segment(net, "weight", 1, net->shape.cols, 0);
    return MOT_OK;
}

static void init_line(const struct mot_net *net, uint64_t seed, float *x)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_INIT, 0);
    for (uint32_t i = 0; i < net->dim; i++) x[i] = (float)mot_rng_normal(&rng);
}

static double line_at(const struct mot_net *net, const float *x, const struct mot_batch *b, uint32_t i)
{
    return mot_vector_dot(net->dim, b->table->x + (size_t)mot_batch_row(b, i) * net->dim, x);
}

static double grad_line(
    const struct mot_net *net, const float *x, const struct mot_batch *b, float coef, float *g, void *scratch)
{
    double loss = 0;
    (void)scratch;
    for (uint32_t i = 0; i < b->rows; i++) {
        uint32_t row = mot_batch_row(b, i);
        double off = line_at(net, x, b, i) - (double)b->table->y[row];
        mot_vector_axpy(net->dim, coef * (float)off, b->table->x + (size_t)row * net->dim, g);
        loss += (double)coef * off * off / 2;
    }
    return loss;
}

static double loss_line(
    const struct mot_net *net, const float *x, const struct mot_batch *b, uint32_t *hits, void *scratch)
{
    double loss = 0;
    (void)scratch;
    *hits = 0;
    for (uint32_t i = 0; i < b->rows; i++) {
        double off = line_at(net, x, b, i) - (double)b->table->y[mot_batch_row(b, i)];
        loss += off * off / 2;
    }
    return loss;
}

static void predict_line(
    const struct mot_net *net, const float *x, const struct mot_batch *b, float *out, void *scratch)
{
    (void)scratch;
    for (uint32_t i = 0; i < b->rows; i++) out[i] = (float)line_at(net, x, b, i);
}

static const struct mot_option options[] = { { .name = NULL } };

const struct mot_model line = { .name = "line",
    .summary = "least squares without a bias",
    .about = "A model that is not part of motley.",
    .options = options,
    .computes = true,
    .open = open_line,
    .init = init_line,
    .grad = grad_line,
    .loss = loss_line,
    .predict = predict_line };
