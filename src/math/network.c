/* network.c -- the models that are networks of layers: by a list, or by name. */
#include "math/network.h"
#include "base/memory.h"
#include "base/rng.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct network_conf {
    const char *layers; /* of `network` only */
    double smoothing;
    struct mot_reg reg;
};

#define COMMON_OPTIONS                                                                                       \
    { .name = "label_smoothing",                                                                             \
        .type = MOT_OPT_REAL,                                                                                \
        .offset = offsetof(struct network_conf, smoothing),                                                  \
        .preset = "0",                                                                                       \
        .max = 1,                                                                                            \
        .doc = "label smoothing: the fraction of each label that is spread evenly over all classes in "      \
               "training" },                                                                                 \
        { .name = "reg",                                                                                     \
            .type = MOT_OPT_CHOICE,                                                                          \
            .offset = offsetof(struct network_conf, reg.kind),                                               \
            .preset = "none",                                                                                \
            .choices = "none|l2",                                                                            \
            .doc = "penalty on the weights: l2 is lambda/2 times the sum of w^2; biases and norms are not "  \
                   "penalised" },                                                                            \
    {                                                                                                        \
        .name = "lambda", .type = MOT_OPT_REAL, .offset = offsetof(struct network_conf, reg.lambda),         \
        .preset = "0", .max = 1e6, .doc = "strength of the penalty"                                          \
    }

static const struct mot_option named_options[] = { COMMON_OPTIONS, { .name = NULL } };
static const struct mot_option network_options[] = {
    { .name = "layers",
        .type = MOT_OPT_LIST,
        .offset = offsetof(struct network_conf, layers),
        .doc = "the layers, from the input on: words, or maps such as {name: conv, out: 16, kernel: 3}" },
    COMMON_OPTIONS,
    { .name = NULL },
};

/* ---- By name ------------------------------------------------------------------------ */

/* LeCun et al., Proceedings of the IEEE 1998, with the ReLU and max pooling that it is trained with today. */
static const char lenet[] =
    "[{name: conv, as: conv1, out: 6, kernel: 5, padding: 2}, relu, {name: max_pool, kernel: 2},"
    "{name: conv, as: conv2, out: 16, kernel: 5}, relu, {name: max_pool, kernel: 2}, flatten,"
    "{name: linear, as: fc1, out: 120}, relu, {name: linear, as: fc2, out: 84}, relu,"
    "{name: linear, as: fc3, out: classes}]";

/* Eight layers with weights, after Simonyan and Zisserman, ICLR 2015, with batch norm. */
static char *vgg8(void)
{
    static const uint32_t width[] = { 32, 32, 64, 64, 128, 128 };
    char *text = mot_text("[");
    for (uint32_t n = 0; n < 6; n++) {
        char *longer = mot_format("%s{name: conv, as: conv%u, out: %u, kernel: 3, padding: 1, bias: false},"
                                  "{name: batch_norm, as: bn%u}, relu,%s",
            text, n + 1, width[n], n + 1, n % 2 ? "{name: max_pool, kernel: 2}," : "");
        free(text);
        text = longer;
    }
    char *whole = mot_format(
        "%sflatten, {name: linear, as: fc1, out: 128}, relu, {name: linear, as: fc2, out: classes}]", text);
    free(text);
    return whole;
}

/* He et al., CVPR 2016, section 4.2: three stages of `blocks` residuals with 16, 32 and 64 channels. */
static char *resnet(uint32_t blocks)
{
    char *text = mot_text("[{name: conv, as: conv1, out: 16, kernel: 3, padding: 1, bias: false},"
                          "{name: batch_norm, as: bn1}, relu");
    for (uint32_t n = 0; n < 3 * blocks; n++) {
        uint32_t stage = n / blocks, place = n % blocks, out = 16u << stage;
        bool narrows = stage > 0 && place == 0;
        char *longer =
            mot_format("%s, {name: residual, as: layer%u.%u%s, layers: ["
                       "{name: conv, as: conv1, out: %u, kernel: 3, stride: %d, padding: 1, bias: false},"
                       "{name: batch_norm, as: bn1}, relu,"
                       "{name: conv, as: conv2, out: %u, kernel: 3, padding: 1, bias: false},"
                       "{name: batch_norm, as: bn2}]}, relu",
                text, stage + 1, place, narrows ? ", shortcut: pad" : "", out, narrows ? 2 : 1, out);
        free(text);
        text = longer;
    }
    char *whole = mot_format("%s, mean_pool, flatten, {name: linear, as: linear, out: classes}]", text);
    free(text);
    return whole;
}

/* malloc'd */
static char *layers_of(const struct mot_net *net)
{
    const struct network_conf *conf = net->conf;
    if (net->kind == &mot_model_lenet) return mot_text(lenet);
    if (net->kind == &mot_model_vgg8) return vgg8();
    if (net->kind == &mot_model_resnet8) return resnet(1);
    if (net->kind == &mot_model_resnet20) return resnet(3);
    return mot_text(conf->layers);
}

/* ---- The model ---------------------------------------------------------------------- */

static enum mot_status network_open(struct mot_net *net)
{
    const struct network_conf *conf = net->conf;
    enum mot_status status = mot_reg_check(&conf->reg);
    if (status == MOT_OK && net->shape.classes == 1)
        status = mot_fail(MOT_EUSAGE, "%s needs 2 classes or more, but the data has 1", net->kind->name);
    if (status == MOT_OK && net->shape.classes == 0 && conf->smoothing > 0)
        status = mot_fail(MOT_EUSAGE, "model.label_smoothing needs classes, but the labels are values");
    if (status == MOT_OK && net->kind != &mot_model_network && net->shape.picture.channels == 0)
        status = mot_fail(MOT_EUSAGE,
            "%s needs pictures, but the data does not say that its %u columns are one: " MOT_HAS_PICTURES,
            net->kind->name, net->shape.cols);
    if (status == MOT_OK && net->kind == &mot_model_network && !conf->layers) /* in a damaged model file */
        status = mot_fail(MOT_EUSAGE, "network: model.layers is missing; expected a list");
    if (status != MOT_OK) return status;
    struct mot_layer_list *list = mot_new(1, sizeof *list);
    char *text = layers_of(net);
    status = mot_layer_list_parse(text, list);
    if (status == MOT_OK) status = mot_layer_plan_make(net, list);
    free(text);
    free(list);
    return status;
}

/* As in PyTorch: weights and biases uniform within 1 / sqrt(inputs of one output), norms the identity, words
 * normally distributed. */
static void network_init(const struct mot_net *net, uint64_t seed, float *x)
{
    const struct mot_layer_plan *plan = net->plan;
    memset(x, 0, net->dim * sizeof *x);
    for (uint32_t n = 0, tensors = 0; n < plan->ops; n++) {
        const struct mot_op *op = &plan->op[n];
        const uint32_t in = plan->op[op->in].map.channels, channels = op->map.channels;
        if (op->kind == MOT_OP_BATCH_NORM || op->kind == MOT_OP_GROUP_NORM)
            for (uint32_t c = 0; c < channels; c++) x[op->weight + c] = 1;
        if (op->kind == MOT_OP_BATCH_NORM)
            for (uint32_t c = 0; c < channels; c++) x[op->variance + c] = 1;
        if (op->kind != MOT_OP_CONV && op->kind != MOT_OP_LINEAR && op->kind != MOT_OP_EMBEDDING) continue;
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_INIT, tensors++);
        if (op->kind == MOT_OP_EMBEDDING) {
            for (size_t i = 0; i < (size_t)op->words * channels; i++)
                x[op->weight + i] = (float)mot_rng_normal(&rng);
            continue;
        }
        size_t fan = op->kind == MOT_OP_CONV ? (size_t)in / op->groups * op->kernel * op->kernel : in;
        double bound = 1 / __builtin_sqrt((double)fan);
        for (size_t i = 0; i < channels * fan; i++)
            x[op->weight + i] = (float)(bound * (2 * mot_rng_unit(&rng) - 1));
        for (uint32_t c = 0; c < channels && op->has_bias; c++)
            x[op->bias + c] = (float)(bound * (2 * mot_rng_unit(&rng) - 1));
    }
}

/* Half the square of the distance; z becomes coef times the slope, 0 in rows that do not count. */
static double squared(const struct mot_pass *p, float *z, float coef)
{
    double total = 0;
    for (uint32_t r = 0; r < p->panels * MOT_PANEL; r++) {
        double off = r < p->rows ? (double)z[r] - (double)p->label[r] : 0;
        total += off * off / 2;
        z[r] = (float)((double)coef * off);
    }
    return total;
}

static double loss_at(const struct mot_pass *p, float coef, float smoothing, float *z, uint32_t *hits)
{
    if (p->net->shape.classes == 0) return squared(p, z, coef);
    return mot_kernels()->softmax_loss(p->rows, p->net->outputs, z, p->label, coef, smoothing, hits);
}

/* leaving: NULL, or whom to tell as layers leave. */
static double gradient(const struct mot_net *net, const float *x, const struct mot_batch *batch, float coef,
    float *g, void *scratch, const struct mot_leaving *leaving)
{
    if (batch->rows == 0) return 0;
    const struct network_conf *conf = net->conf;
    struct mot_pass p;
    mot_pass_open(&p, net, x, batch, scratch);
    p.training = true;
    mot_pass_forward(&p);
    const uint32_t last = p.plan->ops - 1;
    float *z = mot_pass_slope(&p, last);
    memcpy(z, mot_pass_result(&p, last), (size_t)net->outputs * p.panels * MOT_PANEL * sizeof *z);
    double loss = loss_at(&p, coef, (float)conf->smoothing, z, NULL);
    double a = (double)coef * batch->rows;
    struct mot_exit exit = { &conf->reg, net, x, a, g, net->dim, leaving };
    mot_pass_backward(&p, coef, g, leaving ? &exit : NULL);
    return (double)coef * loss +
        (leaving ? a * mot_reg_value(&conf->reg, net, x) : mot_reg_add(&conf->reg, net, x, a, g));
}

static double network_grad(const struct mot_net *net, const float *x, const struct mot_batch *batch,
    float coef, float *g, void *scratch)
{
    return gradient(net, x, batch, coef, g, scratch, NULL);
}

static double network_grad_early(const struct mot_net *net, const float *x, const struct mot_batch *batch,
    float coef, bool first, float *g, void *scratch, const struct mot_leaving *leaving)
{
    if (first) memset(g, 0, net->dim * sizeof *g);
    return gradient(net, x, batch, coef, g, scratch, leaving);
}

static double network_loss(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, uint32_t *hits, void *scratch)
{
    *hits = 0;
    if (batch->rows == 0) return 0;
    struct mot_pass p;
    mot_pass_open(&p, net, x, batch, scratch);
    mot_pass_forward(&p);
    return loss_at(&p, 1, 0, mot_pass_result(&p, p.plan->ops - 1), hits);
}

static void network_predict(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, float *out, void *scratch)
{
    if (batch->rows == 0) return;
    struct mot_pass p;
    mot_pass_open(&p, net, x, batch, scratch);
    mot_pass_forward(&p);
    float *z = mot_pass_result(&p, p.plan->ops - 1);
    if (net->shape.classes) mot_kernels()->softmax(p.rows, net->outputs, z);
    for (uint32_t i = 0; i < p.rows; i++)
        for (uint32_t c = 0; c < net->outputs; c++)
            out[(size_t)i * net->outputs + c] =
                z[((size_t)(i / MOT_PANEL) * net->outputs + c) * MOT_PANEL + i % MOT_PANEL];
}

/* Channel after channel, as `flatten` gives them. */
static void network_features(
    const struct mot_net *net, const float *x, const struct mot_batch *batch, float *out, void *scratch)
{
    if (batch->rows == 0) return;
    struct mot_pass p;
    mot_pass_open(&p, net, x, batch, scratch);
    mot_pass_forward(&p);
    const struct mot_map *m = &p.plan->op[p.plan->seen].map;
    const float *z = mot_pass_result(&p, p.plan->seen);
    const size_t pixels = mot_map_pixels(m), size = mot_map_size(m);
    for (uint32_t i = 0; i < p.rows; i++)
        for (uint32_t c = 0; c < m->channels; c++)
            for (size_t n = 0; n < pixels; n++)
                out[i * size + c * pixels + n] = z[i / MOT_PANEL * size * MOT_PANEL + mot_map_at(m, c) +
                    n * mot_map_step(m, c) + i % MOT_PANEL];
}

static enum mot_status network_check(const struct mot_net *net, const struct mot_table *table)
{
    return mot_layer_plan_check(net->plan, table);
}

const char *mot_network_single(const struct mot_net *net)
{
    if (net->kind->grad != network_grad) return NULL;
    const struct mot_layer_plan *plan = net->plan;
    return *plan->single ? plan->single : NULL;
}

static double network_penalty(const struct mot_net *net, const float *x)
{
    const struct network_conf *conf = net->conf;
    return mot_reg_value(&conf->reg, net, x);
}

#define NETWORK(name_, options_, summary_, about_)                                                           \
    const struct mot_model mot_model_##name_ = { .name = #name_,                                             \
        .summary = summary_,                                                                                 \
        .about = about_,                                                                                     \
        .options = options_,                                                                                 \
        .conf_bytes = sizeof(struct network_conf),                                                           \
        .computes = true,                                                                                    \
        .open = network_open,                                                                                \
        .init = network_init,                                                                                \
        .grad = network_grad,                                                                                \
        .grad_early = network_grad_early,                                                                    \
        .loss = network_loss,                                                                                \
        .penalty = network_penalty,                                                                          \
        .predict = network_predict,                                                                          \
        .features = network_features,                                                                        \
        .check = network_check }

#define BEGINS " Tensors have the names, layouts and initial distributions that they have in PyTorch."

NETWORK(network, network_options, "a network of layers that you list",
    "The layers of `layers`, one after another; cross-entropy at the end where labels are classes, half the "
    "squared "
    "error where they are values." BEGINS);
NETWORK(lenet, named_options, "LeNet-5: two convolutions and three dense layers, for small pictures",
    "Convolutions of 6 and 16 channels with windows of 5x5, max pooling after each, then dense layers of "
    "120, 84 and "
    "as many numbers as there are classes; ReLU between them. 61,706 parameters on 28x28 pictures in 10 "
    "classes." BEGINS);
NETWORK(resnet8, named_options,
    "ResNet-8: three residual blocks with batch norm, for pictures such as CIFAR's",
    "One convolution, then residual blocks of 16, 32 and 64 channels with two 3x3 convolutions and batch "
    "norm each; "
    "shortcuts that narrow take every second pixel and pad channels." BEGINS);
NETWORK(resnet20, named_options,
    "ResNet-20: nine residual blocks with batch norm, for pictures such as CIFAR's",
    "One convolution, then three residual blocks each of 16, 32 and 64 channels with two 3x3 convolutions "
    "and "
    "batch norm; shortcuts that narrow take every second pixel and pad channels." BEGINS);
NETWORK(vgg8, named_options, "VGG-8: six convolutions with batch norm and two dense layers",
    "Pairs of 3x3 convolutions of 32, 64 and 128 channels with batch norm, max pooling after each pair, then "
    "dense "
    "layers of 128 and as many numbers as there are classes." BEGINS);
