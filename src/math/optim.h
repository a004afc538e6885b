/* optim.h -- optimisers and their learning-rate schedules. */
#ifndef MOT_MATH_OPTIM_H
#define MOT_MATH_OPTIM_H

#include <motley/model.h>
#include <motley/option.h>

enum mot_schedule { MOT_SCHEDULE_CONSTANT, MOT_SCHEDULE_STEP, MOT_SCHEDULE_COSINE, MOT_SCHEDULE_POLYNOMIAL };

struct mot_schedule_conf {
    uint32_t name;     /* enum mot_schedule */
    uint64_t warmup;   /* updates over which the rate rises linearly to lr */
    uint64_t total;    /* updates until the end of cosine and polynomial; MOT_WORD_UINT: from `stop` */
    uint64_t every;    /* step: updates between drops */
    double factor;     /* step: what a drop multiplies by */
    double power, end; /* polynomial: exponent; final rate as a fraction of lr (cosine too) */
};
extern const struct mot_option mot_schedule_options[]; /* every key; doc says which schedule uses it */

struct mot_optim_conf {
    double lr, momentum, weight_decay, beta1, beta2, epsilon, trust;
    bool nesterov;
    double clip; /* largest norm of the gradient; NaN: none */
};

struct mot_optimizer { /* a kind: sgd, adamw, lars */
    const char *name, *summary;
    const struct mot_option *options; /* over struct mot_optim_conf */
    double rate; /* `lr: auto` without delays; auto is NaN in the conf, and made a number before any step */
    uint32_t (*slots)(const struct mot_optim_conf *); /* buffers of state: 0, 1 or 2 */
};
extern const struct mot_optimizer *const mot_optimizers[]; /* ended by NULL; the first is the default */

struct mot_optim { /* an optimiser fitted to a net */
    const struct mot_optimizer *kind;
    struct mot_optim_conf conf;
    struct mot_schedule_conf schedule; /* total is resolved */
    const struct mot_net *net;
    uint32_t slots;
};
enum mot_status mot_optim_open(const struct mot_optimizer *, const struct mot_optim_conf *,
    const struct mot_schedule_conf *, const struct mot_net *, struct mot_optim *out);

/* The rate that suits gradients which are `delay` updates old (docs/methods.md has the measurements). */
double mot_optim_rate(const struct mot_optimizer *, const struct mot_optim_conf *, double delay);

double mot_schedule_rate(const struct mot_schedule_conf *, double lr, uint64_t step);

/* Step number `step` (from 0) along scale * grad at lr_factor times the scheduled
 * rate. Each out may be its in. slot arrays have `slots` entries. */
void mot_optim_step(const struct mot_optim *, uint64_t step, double lr_factor, const float *grad,
    double scale, const float *x, float *x_out, const float *const slot[2], float *const slot_out[2]);

/* The same for the parameters off..off+len-1 only: nothing else is read or
 * written. Every array is indexed as in a whole step. False: the gradient is not finite, and what was written
 * is worthless; only some optimisers notice (mot_optim_looks). */
bool mot_optim_step_range(const struct mot_optim *, uint32_t off, uint32_t len, uint64_t step,
    double lr_factor, const float *grad, double scale, const float *x, float *x_out,
    const float *const slot[2], float *const slot_out[2]);
/* Whether a step tells if its gradient is finite, at no cost, by checking it as it reads it. Plain SGD does:
 * it has no state that such a step would have spoilt, and its parameters may be written elsewhere. */
bool mot_optim_looks(const struct mot_optim *);

/* Moves the statistics in a range, if it has any, towards their mean over the rows of `grad`: by the rate of
 * each, times the number of mean gradients in scale * grad, at most to the mean. Code that steps by hand
 * calls it. False if they are not finite. */
bool mot_statistics_step(const struct mot_net *, uint32_t off, uint32_t len, const float *grad, double scale,
    const float *x, float *x_out);

#endif
