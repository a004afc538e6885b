/* model.h -- everything a model of your own needs.
 *
 * Parameters are one flat array of floats with named segments. A gradient is the SUM over samples, added to
 * `g`; whether to divide it is up to the method. No call gets more than MOT_SLICE_ROWS samples, so scratch is
 * bounded, and every driver adds the same slices in the same order. A model's functions are pure: several
 * threads call them at once, each with its own scratch.
 *
 * Statistics (the running mean and variance of batch norm) are segments that are averaged and never trained.
 * They come last: floats trained .. dim - 1. Their "gradient" is the rows' statistics, SUMMED over rows like
 * any gradient: a batch of n rows with the mean m adds coef * n * m. A step then moves them to (1 - rate) x +
 * rate * (the mean over all rows), whatever the optimiser does with the rest. The last float of a net with
 * statistics counts the rows; mot_net_open adds it, not the model. */
#ifndef MOTLEY_MODEL_H
#define MOTLEY_MODEL_H

#include <motley/option.h>
#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOT_SLICE_ROWS 128
#define MOT_RANK_MAX 4

/* Samples: dense or compressed sparse rows. Labels are class numbers (0..classes-1, exact in float) or, if
 * classes is 0, values to predict. */
struct mot_table {
    uint32_t rows, cols, classes;
    const float *x;         /* dense: [rows][cols]; NULL if sparse */
    const uint64_t *row_at; /* sparse: row r has the entries row_at[r] .. row_at[r+1]-1 of col and val */
    const uint32_t *col;
    const float *val;
    const float *y; /* [rows] */
};

/* Some rows of a table: row[i], or first + i if row is NULL. In training row i is at position draw + i of the
 * endless sequence that the sampler makes of a part. What is random in a gradient (dropout) is a function of
 * `chance`, that position and the model's own layers, so whoever computes a sample gets the same bits. */
struct mot_batch {
    const struct mot_table *table;
    const uint32_t *row;
    uint32_t first, rows;
    uint64_t chance, draw; /* chance: of the seed and the part; 0: nothing is random, as in evaluation */
};

/* How a row's columns form a picture: [channels][height][width]; zeros if they do not. */
struct mot_picture {
    uint32_t channels, height, width;
};

struct mot_shape {
    uint32_t cols, classes;
    bool sparse;
    struct mot_picture picture;
};

/* A tensor of the model, such as "layer1.weight", [256][784]. */
struct mot_segment {
    char name[64];
    uint32_t off, len, rank, shape[MOT_RANK_MAX];
    float rate; /* of a statistic: how far a step moves it towards the new mean; 0: trained */
    /* for the first tensor of a layer, if the model has grad_early: the cost of the layer's backward pass, in
     * any unit; 0: its gradient is final no earlier than the previous tensor's */
    double work;
};

/* What grad_early calls as it goes back through its layers: floats off .. dim - 1 of g are final. Every `off`
 * is smaller than the one before. */
struct mot_leaving {
    void (*from)(void *self, uint32_t off);
    void *self;
};

struct mot_model;
struct mot_net { /* a model fitted to the shape of a data set */
    const struct mot_model *kind;
    const void *conf; /* its options, parsed; outlives the net */
    struct mot_shape shape;
    uint32_t dim;      /* floats stored */
    uint32_t trained;  /* of them; the rest are statistics */
    double parameters; /* how many it stands for on the wire; dim, except for a phantom */
    uint32_t outputs;  /* numbers per row that predict() writes */
    uint32_t features; /* numbers per row that features() writes; 0: there is no hidden layer */
    uint32_t segments;
    struct mot_segment *segment; /* as many as were added; the net owns them */
    void *plan;                  /* what else open() worked out, or NULL; free()d with the net */
    size_t scratch_bytes;        /* for MOT_SLICE_ROWS rows; each thread has one, 64-byte aligned */
};

struct mot_model {
    const char *name, *summary, *about;
    const struct mot_option *options;
    size_t conf_bytes;
    bool computes; /* false: a phantom, which has a size but no mathematics */
    /* Fills in segments and dim (by mot_net_add_segment), outputs and scratch_bytes, or refuses data that it
     * cannot learn. */
    enum mot_status (*open)(struct mot_net *);
    void (*init)(const struct mot_net *, uint64_t seed, float *x);
    /* g += coef * the sum over rows of the gradient of (loss + penalty) at x; returns the sum of
     * coef * (loss + penalty). */
    double (*grad)(const struct mot_net *, const float *x, const struct mot_batch *, float coef, float *g,
        void *scratch);
    /* The same with g = in place of g +=: the bits of grad on zeros, whatever g held. NULL: g is zeroed and
     * grad called. */
    double (*grad_first)(const struct mot_net *, const float *x, const struct mot_batch *, float coef,
        float *g, void *scratch);
    /* Both again (`first`: as grad_first), with the same bits, for gradients that leave while they are
     * computed: calls `leaving` at each layer. NULL: they leave once complete. */
    double (*grad_early)(const struct mot_net *, const float *x, const struct mot_batch *, float coef,
        bool first, float *g, void *scratch, const struct mot_leaving *);
    /* The sum of the losses without penalty, and how many rows are predicted correctly (0 for values). */
    double (*loss)(
        const struct mot_net *, const float *x, const struct mot_batch *, uint32_t *hits, void *scratch);
    double (*penalty)(const struct mot_net *, const float *x); /* the regulariser; may be NULL */
    /* out[rows][outputs]: class probabilities, or the predicted value. */
    void (*predict)(
        const struct mot_net *, const float *x, const struct mot_batch *, float *out, void *scratch);
    /* out[rows][features]: the inputs of the last layer with weights; may be NULL if features is 0. */
    void (*features)(
        const struct mot_net *, const float *x, const struct mot_batch *, float *out, void *scratch);
    /* Refuses rows with numbers that the model cannot take; NULL: it takes all. */
    enum mot_status (*check)(const struct mot_net *, const struct mot_table *);
};

/* For open(): appends a segment of rank 1 (cols is ignored) or 2, and adds its floats to dim. */
MOT_API void mot_net_add_segment(
    struct mot_net *, const char *name, uint32_t rank, uint32_t rows, uint32_t cols);
/* The same for any rank up to MOT_RANK_MAX. */
MOT_API void mot_net_add_tensor(struct mot_net *, const char *name, uint32_t rank, const uint32_t *shape);
/* A statistic of rank 1. All trained segments must be there. */
MOT_API void mot_net_add_statistic(struct mot_net *, const char *name, uint32_t len, float rate);

/* The table row of the batch's row i. */
static inline uint32_t mot_batch_row(const struct mot_batch *b, uint32_t i)
{
    return b->row ? b->row[i] : b->first + i;
}

#ifdef __cplusplus
}
#endif
#endif
