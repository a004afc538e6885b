/* layers.h -- networks of dense layers with ReLU between and softmax cross-entropy at the end. */
#ifndef MOT_MATH_LAYERS_H
#define MOT_MATH_LAYERS_H

#include "math/linear.h"

#define MOT_LAYERS_MAX (MOT_UINTS_MAX + 1)

struct mot_layers_loss {
    float smoothing;
    struct mot_reg reg;
};

/* Plans segments, outputs and scratch for widths[0] = columns, ..., widths[layers] = classes. Each layer has
 * a weight [out][in] and, if so asked, a bias; one layer alone is named "weight", "bias". */
enum mot_status mot_layers_open(struct mot_net *, uint32_t layers, const uint32_t *widths, bool bias);

/* first: g = instead of g +=. leaving: NULL, or whom to tell as layers leave. */
double mot_layers_grad(const struct mot_net *, const struct mot_layers_loss *, const float *x,
    const struct mot_batch *, float coef, bool first, float *g, void *scratch, const struct mot_leaving *);
double mot_layers_loss(
    const struct mot_net *, const float *x, const struct mot_batch *, uint32_t *hits, void *scratch);
void mot_layers_predict(
    const struct mot_net *, const float *x, const struct mot_batch *, float *out, void *scratch);
/* The last hidden layer, after ReLU. */
void mot_layers_features(
    const struct mot_net *, const float *x, const struct mot_batch *, float *out, void *scratch);

#endif
