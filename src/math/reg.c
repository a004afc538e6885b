/* reg.c -- regularisers, and the options and initial values of linear models. */
#include "base/rng.h"
#include "math/kernels.h"
#include "math/linear.h"
#include <string.h>

const struct mot_option mot_linear_options[] = {
    { .name = "reg",
        .type = MOT_OPT_CHOICE,
        .offset = offsetof(struct mot_linear_conf, reg.kind),
        .preset = "none",
        .choices = "none|l2|nonconvex",
        .doc = "penalty on the weights: l2 is lambda/2 times the sum of w^2, nonconvex is lambda times the "
               "sum of w^2/(1+w^2); biases are not penalised" },
    { .name = "lambda",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mot_linear_conf, reg.lambda),
        .preset = "0",
        .max = 1e6,
        .doc = "strength of the penalty" },
    { .name = "bias",
        .type = MOT_OPT_BOOL,
        .offset = offsetof(struct mot_linear_conf, bias),
        .preset = "true",
        .doc = "whether each output has a bias" },
    { .name = "init",
        .type = MOT_OPT_CHOICE,
        .offset = offsetof(struct mot_linear_conf, init),
        .preset = "zeros",
        .choices = "zeros|ones|random",
        .doc = "the initial parameters; random draws weights from a normal distribution with standard "
               "deviation 0.01 and leaves biases 0" },
    { .name = NULL },
};

enum mot_status mot_reg_check(const struct mot_reg *reg)
{
    if (reg->kind == MOT_REG_NONE && reg->lambda > 0)
        return mot_fail(
            MOT_EUSAGE, "lambda is %g but reg is none; set reg to the penalty you want", reg->lambda);
    if (reg->kind != MOT_REG_NONE && !(reg->lambda > 0))
        return mot_fail(MOT_EUSAGE, "reg is %s but lambda is 0; set lambda to its strength, such as 1e-4",
            reg->kind == MOT_REG_L2 ? "l2" : "nonconvex");
    return MOT_OK;
}

/* In double and one after another: models with this penalty have few parameters. */
static double nonconvex(uint32_t n, const float *x, double a, float *g)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        double w = (double)x[i], q = 1 + w * w;
        sum += w * w / q;
        if (g) g[i] = (float)((double)g[i] + a * 2 * w / (q * q));
    }
    return sum;
}

/* lambda times the sum over the weights from..end - 1; with g, also adds a * lambda * gradient. */
static double walk(const struct mot_reg *reg, const struct mot_net *net, const float *x, double a,
    uint32_t from, uint32_t end, float *g)
{
    double sum = 0;
    for (uint32_t s = 0; s < net->segments && reg->kind != MOT_REG_NONE; s++) {
        const struct mot_segment *at = &net->segment[s];
        if (at->rank < 2 || at->off < from || at->off >= end) continue;
        float *to = g ? g + at->off : NULL;
        if (reg->kind == MOT_REG_NONCONVEX) {
            sum += nonconvex(at->len, x + at->off, a * reg->lambda, to);
        } else {
            sum += mot_kernels()->norm2(at->len, x + at->off) / 2;
            if (to) mot_kernels()->axpy(at->len, (float)(a * reg->lambda), x + at->off, to);
        }
    }
    return reg->lambda * sum;
}

double mot_reg_value(const struct mot_reg *reg, const struct mot_net *net, const float *x)
{
    return walk(reg, net, x, 0, 0, net->dim, NULL);
}

double mot_reg_add(const struct mot_reg *reg, const struct mot_net *net, const float *x, double a, float *g)
{
    return a * walk(reg, net, x, a, 0, net->dim, g);
}

void mot_exit_from(struct mot_exit *e, uint32_t off)
{
    walk(e->reg, e->net, e->x, e->a, off, e->end, e->g);
    e->end = off;
    e->leaving->from(e->leaving->self, off);
}

void mot_linear_init(const struct mot_net *net, uint64_t seed, float *x)
{
    const struct mot_linear_conf *conf = net->conf;
    for (uint32_t i = 0; i < net->dim; i++) x[i] = conf->init == MOT_INIT_ONES ? 1 : 0;
    if (conf->init != MOT_INIT_RANDOM) return;
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_INIT, 0);
    for (uint32_t i = 0; i < net->segment[0].len; i++) x[i] = (float)(0.01 * mot_rng_normal(&rng));
}
