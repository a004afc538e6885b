/* network.h -- networks of layers over pictures: what open() works out once, for forward and backward. */
#ifndef MOT_MATH_NETWORK_H
#define MOT_MATH_NETWORK_H

#include "math/layer_list.h"
#include "math/linear.h"
#include "math/maps.h"

enum mot_op_kind {
    MOT_OP_INPUT,
    MOT_OP_CONV,
    MOT_OP_LINEAR,
    MOT_OP_RELU,
    MOT_OP_MAX_POOL,
    MOT_OP_MEAN_POOL,
    MOT_OP_BATCH_NORM,
    MOT_OP_GROUP_NORM,
    MOT_OP_DROPOUT,
    MOT_OP_EMBEDDING,
    MOT_OP_FLATTEN,
    MOT_OP_ADD,
};

/* One step of the computation. Its result is a map for each row; some ops overwrite their input's. */
struct mot_op {
    enum mot_op_kind kind;
    uint32_t in, also; /* the ops whose results it takes; also: MOT_OP_ADD's shortcut */
    struct mot_map map;
    uint32_t kernel, across, stride, padding; /* a window has `kernel` rows; across: a pool's columns */
    uint32_t groups;                          /* of convolutions and group norm */
    uint32_t words;                           /* embedding */
    float rate;                               /* dropout */
    size_t weight, bias, mean, variance;      /* offsets into x and g */
    bool has_bias, in_place, fused;           /* fused: the op before does its work on the way forward */
    float epsilon;
    size_t at;     /* of its result, in numbers a row */
    uint32_t slot; /* where the slope at its result is while it is needed */
    size_t kept;   /* norms: what forward leaves for backward, two numbers a channel, or a row and group */
};

#define MOT_HAS_PICTURES "CIFAR files do, and IDX, NPY and NPZ arrays of three or four dimensions"

struct mot_layer_plan {
    uint32_t ops, slots;
    /* The first batch norm that sees one number a channel and row; "": none does. */
    char single[MOT_LAYER_PLACE];
    uint32_t seen; /* the op whose result the last layer with weights takes; 0: it is the only such layer */
    size_t results, slot, turned; /* numbers a row: of all results, of one slope, of what is transposed */
    size_t apart;                 /* and of one group of a convolution, in and out */
    size_t packed, sums, kept, channels; /* floats that the ops need besides, and the most channels */
    struct mot_op op[];
};

/* Shapes, tensors, memory; the message of a failure names the layer. */
enum mot_status mot_layer_plan_make(struct mot_net *, const struct mot_layer_list *);
/* Refuses rows whose columns are not the words that an embedding expects. */
enum mot_status mot_layer_plan_check(const struct mot_layer_plan *, const struct mot_table *);

/* The place of a batch norm that needs two rows at a time; NULL: there is none, or the net has no layers. */
const char *mot_network_single(const struct mot_net *);

/* Forward and backward over one slice. */
struct mot_pass {
    const struct mot_net *net;
    const struct mot_layer_plan *plan;
    const float *x;
    uint32_t rows, panels;
    bool training;         /* batch norm by the batch's own statistics */
    uint64_t chance, draw; /* as in the batch */
    float *result, *slope, *packed, *sums, *kept, *turned, *apart;
    double *moment;
    const float **row;
    float *label;
};
size_t mot_pass_floats(const struct mot_layer_plan *);
void mot_pass_open(
    struct mot_pass *, const struct mot_net *, const float *x, const struct mot_batch *, void *scratch);
void mot_pass_forward(struct mot_pass *);
/* From the slope at the last result; g holds what is to be added to. exit: NULL, or how layers leave. */
void mot_pass_backward(struct mot_pass *, float coef, float *g, struct mot_exit *exit);
float *mot_pass_result(const struct mot_pass *, uint32_t op);
float *mot_pass_slope(const struct mot_pass *, uint32_t op);

/* Where a slope goes, and whether something is there already. */
struct mot_target {
    float *dx; /* NULL: nowhere, the rows themselves */
    bool add;
};

/* network_conv.c and network_norm.c: d is the slope at the op's result. */
void mot_pass_conv(const struct mot_pass *, const struct mot_op *, const float *in, float *out);
void mot_pass_conv_back(
    const struct mot_pass *, const struct mot_op *, const float *d, struct mot_target, float *g);
/* Batch norm or group norm; relu: what is below 0 becomes 0. */
void mot_pass_norm(const struct mot_pass *, const struct mot_op *, const float *in, bool relu, float *out);
void mot_pass_norm_back(
    const struct mot_pass *, const struct mot_op *, const float *d, struct mot_target, float *g);
/* Batch norm's statistics: a sum over rows, like any gradient; the variance is unbiased, as in PyTorch. Known
 * since the forward pass, they are the last floats and so the first to leave. */
void mot_pass_statistics(const struct mot_pass *, const struct mot_op *, float coef, float *g);

extern const struct mot_model mot_model_network, mot_model_lenet, mot_model_resnet8, mot_model_resnet20,
    mot_model_vgg8;

#endif
