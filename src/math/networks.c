/* networks.c -- the models made of layers: softmax regression and the multi-layer perceptron. */
#include "base/rng.h"
#include "math/layers.h"
#include <string.h>

static enum mot_status needs_classes(const struct mot_net *net)
{
    if (net->shape.classes == 0)
        return mot_fail(
            MOT_EUSAGE, "%s needs classes, but the labels are values; use least-squares", net->kind->name);
    if (net->shape.classes == 1)
        return mot_fail(MOT_EUSAGE, "%s needs 2 classes or more, but the data has 1", net->kind->name);
    return MOT_OK;
}

/* ---- Softmax regression ---------------------------------------------------------- */

static enum mot_status softmax_open(struct mot_net *net)
{
    const struct mot_linear_conf *conf = net->conf;
    enum mot_status status = needs_classes(net);
    if (status == MOT_OK) status = mot_reg_check(&conf->reg);
    if (status == MOT_OK)
        status = mot_layers_open(net, 1, (uint32_t[]){ net->shape.cols, net->shape.classes }, conf->bias);
    return status;
}

static double softmax_grad(const struct mot_net *net, const float *x, const struct mot_batch *batch,
    float coef, float *g, void *scratch)
{
    const struct mot_linear_conf *conf = net->conf;
    return mot_layers_grad(
        net, &(struct mot_layers_loss){ 0, conf->reg }, x, batch, coef, false, g, scratch, NULL);
}

static double softmax_grad_first(const struct mot_net *net, const float *x, const struct mot_batch *batch,
    float coef, float *g, void *scratch)
{
    const struct mot_linear_conf *conf = net->conf;
    return mot_layers_grad(
        net, &(struct mot_layers_loss){ 0, conf->reg }, x, batch, coef, true, g, scratch, NULL);
}

static double softmax_penalty(const struct mot_net *net, const float *x)
{
    const struct mot_linear_conf *conf = net->conf;
    return mot_reg_value(&conf->reg, net, x);
}

const struct mot_model mot_model_softmax = {
    .name = "softmax",
    .summary = "softmax regression: a linear model for any number of classes",
    .about = "The loss of a row is -log p of its class, p = softmax(W x + b). Convex. With two classes it "
             "equals logistic, with twice the parameters.",
    .options = mot_linear_options,
    .conf_bytes = sizeof(struct mot_linear_conf),
    .computes = true,
    .open = softmax_open,
    .init = mot_linear_init,
    .grad = softmax_grad,
    .grad_first = softmax_grad_first,
    .loss = mot_layers_loss,
    .penalty = softmax_penalty,
    .predict = mot_layers_predict,
};

/* ---- Multi-layer perceptron -------------------------------------------------------- */

struct mlp_conf {
    struct mot_uints hidden;
    double smoothing;
    struct mot_reg reg;
};

static const struct mot_option mlp_options[] = {
    { .name = "hidden",
        .type = MOT_OPT_UINTS,
        .offset = offsetof(struct mlp_conf, hidden),
        .preset = "[128, 64]",
        .min = 1,
        .max = 1 << 20,
        .doc = "widths of the hidden layers, from the input on" },
    { .name = "label_smoothing",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mlp_conf, smoothing),
        .preset = "0",
        .max = 1,
        .doc = "label smoothing: the fraction of each label that is spread evenly over all classes in "
               "training" },
    { .name = "reg",
        .type = MOT_OPT_CHOICE,
        .offset = offsetof(struct mlp_conf, reg.kind),
        .preset = "none",
        .choices = "none|l2",
        .doc = "penalty on the weights: l2 is lambda/2 times the sum of w^2; biases are not penalised" },
    { .name = "lambda",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mlp_conf, reg.lambda),
        .preset = "0",
        .max = 1e6,
        .doc = "strength of the penalty" },
    { .name = NULL },
};

static enum mot_status mlp_open(struct mot_net *net)
{
    const struct mlp_conf *conf = net->conf;
    enum mot_status status = needs_classes(net);
    if (status == MOT_OK) status = mot_reg_check(&conf->reg);
    if (status != MOT_OK) return status;
    uint32_t widths[MOT_LAYERS_MAX + 1], layers = conf->hidden.n + 1;
    if (conf->hidden.n == 0)
        return mot_fail(MOT_EUSAGE, "mlp needs a hidden layer; use softmax if you want none");
    widths[0] = net->shape.cols;
    memcpy(widths + 1, conf->hidden.v, conf->hidden.n * sizeof *widths);
    widths[layers] = net->shape.classes;
    for (uint32_t l = 1; l < layers; l++)
        if (widths[l] == 0)
            return mot_fail(MOT_EUSAGE, "mlp's hidden layer %u has width 0; at least 1 is needed", l);
    return mot_layers_open(net, layers, widths, true);
}

/* Deviation sqrt(2 / inputs) keeps the variance through ReLU: He et al., ICCV 2015, equation 10. */
static void mlp_init(const struct mot_net *net, uint64_t seed, float *x)
{
    for (uint32_t s = 0; s < net->segments; s++) {
        const struct mot_segment *at = &net->segment[s];
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_INIT, s);
        double deviation = at->rank == 2 ? __builtin_sqrt(2.0 / at->shape[1]) : 0;
        for (uint32_t i = 0; i < at->len; i++)
            x[at->off + i] = at->rank == 2 ? (float)(deviation * mot_rng_normal(&rng)) : 0;
    }
}

static double mlp_grad(const struct mot_net *net, const float *x, const struct mot_batch *batch, float coef,
    float *g, void *scratch)
{
    const struct mlp_conf *conf = net->conf;
    return mot_layers_grad(net, &(struct mot_layers_loss){ (float)conf->smoothing, conf->reg }, x, batch,
        coef, false, g, scratch, NULL);
}

static double mlp_grad_first(const struct mot_net *net, const float *x, const struct mot_batch *batch,
    float coef, float *g, void *scratch)
{
    const struct mlp_conf *conf = net->conf;
    return mot_layers_grad(net, &(struct mot_layers_loss){ (float)conf->smoothing, conf->reg }, x, batch,
        coef, true, g, scratch, NULL);
}

static double mlp_grad_early(const struct mot_net *net, const float *x, const struct mot_batch *batch,
    float coef, bool first, float *g, void *scratch, const struct mot_leaving *leaving)
{
    const struct mlp_conf *conf = net->conf;
    return mot_layers_grad(net, &(struct mot_layers_loss){ (float)conf->smoothing, conf->reg }, x, batch,
        coef, first, g, scratch, leaving);
}

static double mlp_penalty(const struct mot_net *net, const float *x)
{
    const struct mlp_conf *conf = net->conf;
    return mot_reg_value(&conf->reg, net, x);
}

const struct mot_model mot_model_mlp = {
    .name = "mlp",
    .summary = "multi-layer perceptron: dense layers with ReLU between them",
    .about = "Dense layers of the widths in hidden, ReLU after each, softmax cross-entropy at the end; He "
             "initialisation from the seed. A good first choice for images of a few thousand pixels and for "
             "tables.",
    .options = mlp_options,
    .conf_bytes = sizeof(struct mlp_conf),
    .computes = true,
    .open = mlp_open,
    .init = mlp_init,
    .grad = mlp_grad,
    .grad_first = mlp_grad_first,
    .grad_early = mlp_grad_early,
    .loss = mot_layers_loss,
    .penalty = mlp_penalty,
    .predict = mot_layers_predict,
    .features = mot_layers_features,
};
