/* stepsize.h -- the step along a late gradient: a factor of the learning rate. */
#ifndef MOT_METHOD_STEPSIZE_H
#define MOT_METHOD_STEPSIZE_H

#include "method/hub_parts.h"

enum mot_step_rule {
    MOT_STEP_CONSTANT,
    MOT_STEP_ADAPTIVE,
    MOT_STEP_CUTOFF,
    MOT_STEP_RESCALED,
    MOT_STEP_CLIPPED,
    MOT_STEP_COMPENSATED
};
enum mot_beyond { MOT_BEYOND_DROP, MOT_BEYOND_SHRINK };

struct mot_stepsize_conf {
    uint32_t rule, beyond;
    uint64_t cutoff; /* MOT_WORD_UINT: the concurrency */
    double clip;
    double lambda;          /* NAN: the paper's */
    double lambda_decay;    /* NAN: one lambda for all parameters */
    struct mot_uints times; /* none: measured */
};

/* Option table entries for a field `step` of CONF. */
#define MOT_STEPSIZE_OPTIONS(CONF, step)                                                                     \
    { .name = "step",                                                                                        \
        .type = MOT_OPT_CHOICE,                                                                              \
        .offset = offsetof(CONF, step.rule),                                                                 \
        .preset = "constant",                                                                                \
        .choices = "constant|adaptive|cutoff|rescaled|clipped|compensated",                                  \
        .doc = "the step along a gradient that is d updates old, with n jobs in flight: constant, lr; "      \
               "adaptive, lr n/max(n,d); cutoff, lr up to a delay of `cutoff`; rescaled, lr in "             \
               "proportion to the worker's mean job time (wait: 1 only); clipped, lr with gradients "        \
               "scaled down to `clip`; compensated, lr with the delay compensated" },                        \
        { .name = "cutoff",                                                                                  \
            .type = MOT_OPT_UINT,                                                                            \
            .offset = offsetof(CONF, step.cutoff),                                                           \
            .preset = "auto",                                                                                \
            .word = "auto",                                                                                  \
            .max = 1e9,                                                                                      \
            .doc =                                                                                           \
                "cutoff: the largest delay with a full step; auto: the jobs in flight divided by `wait`" },  \
        { .name = "beyond",                                                                                  \
            .type = MOT_OPT_CHOICE,                                                                          \
            .offset = offsetof(CONF, step.beyond),                                                           \
            .preset = "shrink",                                                                              \
            .choices = "drop|shrink",                                                                        \
            .doc = "cutoff: what to do with a gradient of a larger delay d: drop it, or shrink its "         \
                   "step to lr cutoff/d, which with `cutoff: auto` equals step: adaptive" },                 \
        { .name = "times",                                                                                   \
            .type = MOT_OPT_UINTS,                                                                           \
            .offset = offsetof(CONF, step.times),                                                            \
            .preset = "[]",                                                                                  \
            .min = 1,                                                                                        \
            .max = 1e9,                                                                                      \
            .doc = "rescaled: each worker's job time, in any unit; none: measured during the run" },         \
        { .name = "clip",                                                                                    \
            .type = MOT_OPT_REAL,                                                                            \
            .offset = offsetof(CONF, step.clip),                                                             \
            .preset = "1",                                                                                   \
            .min = 1e-9,                                                                                     \
            .max = 1e9,                                                                                      \
            .doc = "clipped: the norm to which each longer gradient is scaled down" },                       \
        { .name = "lambda",                                                                                  \
            .type = MOT_OPT_REAL,                                                                            \
            .offset = offsetof(CONF, step.lambda),                                                           \
            .preset = "auto",                                                                                \
            .word = "auto",                                                                                  \
            .max = 1e6,                                                                                      \
            .doc = "compensated: lambda g g (x - x_old) is added to a gradient g of the model x_old; "       \
                   "auto: 0.04, or 2 with `lambda_decay`" },                                                 \
    {                                                                                                        \
        .name = "lambda_decay", .type = MOT_OPT_REAL, .offset = offsetof(CONF, step.lambda_decay),           \
        .preset = "none", .word = "none", .max = 0.999999,                                                   \
        .doc = "compensated: divide lambda, for each parameter, by the root of a running mean of "           \
               "squared gradients with this decay (DC-ASGD-a; the paper: 0.95); none: one lambda for "       \
               "all (DC-ASGD-c)"                                                                             \
    }

enum mot_status mot_stepsize_validate(const struct mot_stepsize_conf *, const struct mot_world *);

/* The factor of the learning rate for this gradient; 0: drop it. `concurrency`: active jobs per gradient
 * of an update. */
double mot_stepsize(const struct mot_stepsize_conf *, const struct mot_hub *, const struct mot_env *,
    const struct mot_answer *, double concurrency);

/* Whether lambda follows a mean of squared gradients. */
bool mot_compensate_adapts(const struct mot_stepsize_conf *);
/* out = samples times the compensated mean gradient: DC-ASGD (Zheng and others, ICML 2017) for a gradient
 * sum at the model `at`, applied at x. If lambda adapts, `mean_square` first takes in the gradient, as in
 * the paper; else it is NULL. */
void mot_compensate(const struct mot_stepsize_conf *, uint32_t dim, const float *grad, uint32_t samples,
    const float *x, const float *at, float *mean_square, float *out);

#endif
