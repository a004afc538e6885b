/* model.h -- all that one needs to bring a model.
 *
 * Parameters are one flat float array with named segments. A gradient is the
 * SUM over samples, added into `g`; dividing is the aggregator's decision. The
 * caller never passes more than MOT_SLICE_ROWS samples at once, so scratch is
 * bounded and every driver adds the same slices in the same order. */
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
#define MOT_SEGMENTS_MAX 64

/* Samples: dense rows or compressed sparse rows; labels are class numbers
 * (0..classes-1, exact in float) or, with classes = 0, values to predict. */
struct mot_table {
    uint32_t rows, cols, classes;
    const float *x;         /* dense [rows][cols], or NULL */
    const uint64_t *row_at; /* sparse: row r is entries row_at[r] .. row_at[r+1]-1 */
    const uint32_t *col;
    const float *val;
    const float *y; /* [rows] */
};

/* Some rows of a table: row[i], or first + i where row is NULL. */
struct mot_batch {
    const struct mot_table *table;
    const uint32_t *row;
    uint32_t first, rows;
};

struct mot_shape {
    uint32_t cols, classes;
    bool sparse;
};

struct mot_segment {
    char name[32];
    uint32_t off, len, shape[2], rank;
}; /* "layer1.weight", [256][784] */

struct mot_model;
struct mot_net { /* a model fitted to the shape of a data set */
    const struct mot_model *kind;
    const void *conf; /* its options, parsed; outlives the net */
    struct mot_shape shape;
    uint32_t dim;      /* floats stored */
    double parameters; /* what it stands for on the wire; = dim but for phantom */
    uint32_t outputs;  /* numbers that predict() writes a row */
    uint32_t segments;
    struct mot_segment segment[MOT_SEGMENTS_MAX];
    size_t scratch_bytes; /* for MOT_SLICE_ROWS rows; one scratch a thread, 64-byte aligned */
};

struct mot_model {
    const char *name, *summary, *about;
    const struct mot_option *options;
    size_t conf_bytes;
    bool computes; /* false: phantom, no mathematics */
    /* Fills dim, segments, outputs, scratch_bytes; refuses data it cannot learn. */
    enum mot_status (*open)(struct mot_net *);
    void (*init)(const struct mot_net *, uint64_t seed, float *x);
    /* g += coef * sum over rows of the gradient of (loss + penalty) at x; the sum
     * of coef * (loss + penalty) is returned. */
    double (*grad)(const struct mot_net *, const float *x, const struct mot_batch *, float coef, float *g,
        void *scratch);
    /* The same with g = instead of g +=, and the bits of grad on zeros: what g held does not count. May be
     * NULL: g is zeroed first, then. */
    double (*grad_first)(const struct mot_net *, const float *x, const struct mot_batch *, float coef,
        float *g, void *scratch);
    /* Sum of the losses without penalty, and the rows predicted right (0 for regression). */
    double (*loss)(
        const struct mot_net *, const float *x, const struct mot_batch *, uint32_t *hits, void *scratch);
    double (*penalty)(const struct mot_net *, const float *x); /* the regulariser; may be NULL */
    /* out[rows][outputs]: class probabilities, or the predicted value. */
    void (*predict)(
        const struct mot_net *, const float *x, const struct mot_batch *, float *out, void *scratch);
};

/* For open(): adds a segment of `rank` 1 or 2 behind the others, and its floats to dim. */
MOT_API void mot_net_add_segment(
    struct mot_net *, const char *name, uint32_t rank, uint32_t rows, uint32_t cols);

/* The table's row number of the batch's row i. */
static inline uint32_t mot_batch_row(const struct mot_batch *b, uint32_t i)
{
    return b->row ? b->row[i] : b->first + i;
}

#ifdef __cplusplus
}
#endif
#endif
