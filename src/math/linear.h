/* linear.h -- what the linear models and the networks share: regularisers, biases, initial values. */
#ifndef MOT_MATH_LINEAR_H
#define MOT_MATH_LINEAR_H

#include <motley/model.h>

/* Penalties on the weights (biases are not penalised): none, lambda/2 sum w^2, lambda sum w^2/(1+w^2). */
enum mot_reg_kind { MOT_REG_NONE, MOT_REG_L2, MOT_REG_NONCONVEX };
struct mot_reg {
    uint32_t kind;
    double lambda;
};

/* Fails if kind and lambda do not match. */
enum mot_status mot_reg_check(const struct mot_reg *);
/* The penalty over the net's weights. */
double mot_reg_value(const struct mot_reg *, const struct mot_net *, const float *x);
/* g += a times its gradient; returns a times its value. */
double mot_reg_add(const struct mot_reg *, const struct mot_net *, const float *x, double a, float *g);

/* How a gradient leaves a model, part by part as it is computed. Each part gets its penalty just before. */
struct mot_exit {
    const struct mot_reg *reg;
    const struct mot_net *net;
    const float *x;
    double a; /* of mot_reg_add */
    float *g;
    uint32_t end; /* floats from here on have left */
    const struct mot_leaving *leaving;
};
void mot_exit_from(struct mot_exit *, uint32_t off); /* floats off .. end - 1 leave */

enum mot_linear_init { MOT_INIT_ZEROS, MOT_INIT_ONES, MOT_INIT_RANDOM };

struct mot_linear_conf {
    struct mot_reg reg;
    bool bias;
    uint32_t init;
};

/* The options of every linear model, in one table. */
extern const struct mot_option mot_linear_options[];
void mot_linear_init(const struct mot_net *, uint64_t seed, float *x);

extern const struct mot_model mot_model_logistic, mot_model_least_squares, mot_model_softmax, mot_model_mlp;

#endif
