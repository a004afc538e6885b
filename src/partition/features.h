/* features.h -- what samples are compared by: the columns of the data, their principal components, or a
 * matrix from the user. */
#ifndef MOT_PARTITION_FEATURES_H
#define MOT_PARTITION_FEATURES_H

#include "base/crew.h"
#include "partition/partition.h"

struct mot_features {
    uint32_t rows, cols;
    const float *x; /* [.][cols]; NULL: the rows of `table` are sparse */
    const struct mot_table *table;
    const uint32_t *row; /* row r is x's row[r]; NULL: its row r */
    float *own;          /* x, if it was made here */
};

/* `what`: "raw", "pca:K", or an NPY file with a row for each row of the
 * data's file. At most `memory` bytes are taken. */
enum mot_status mot_features_open(
    const char *what, const struct mot_split *, uint64_t memory, struct mot_crew *, struct mot_features *out);
void mot_features_close(struct mot_features *);
double mot_features_bytes(const struct mot_features *); /* besides the data set */
void mot_features_row(const struct mot_features *, uint32_t row, float *out);
bool mot_features_word(const char *what); /* "raw" or "pca:..."; anything else is a file */

/* The median distance among pairs of a seeded sample; never 0. */
double mot_features_bandwidth(const struct mot_features *, uint64_t seed);

/* Principal components of x ([rows][cols], dense or a sparse
 * table), by subspace iteration: scores [rows][k]. */
void mot_pca(const struct mot_table *, uint32_t k, uint64_t seed, struct mot_crew *, float *scores);

/* ---- Samples, packed for comparing ---------------------------------------------------------- */

/* The similarity of u and v is exp(-gamma |u - v|^2), as a short: 65535 is 1. Rows are stored
 * twice: one after the other, and sixteen side by side, as the kernels read those that others
 * are compared with. */
struct mot_samples {
    uint32_t n, cols, panels; /* panels of 16 samples */
    size_t width;             /* 16 panels: how long a row of similarities is, zeros at its end */
    float *a;                 /* [n][cols], less the mean, so that distances lose fewer digits */
    float *b;                 /* [panels][cols][16] */
    float *norm2;             /* [width], infinite in the padding */
    float gamma;
};
/* If memory was refused, the result must be closed, but not used. */
void mot_samples_open(
    const struct mot_features *, const uint32_t *row, uint32_t n, double bandwidth, struct mot_samples *out);
void mot_samples_close(struct mot_samples *);
double mot_samples_bytes(uint32_t n, uint32_t cols);

#define MOT_SAMPLES_ROWS 96u                               /* rows that are compared at once */
#define MOT_SAMPLES_SCRATCH (MOT_SAMPLES_ROWS * 16u * 16u) /* floats */

/* Rows of similarities, [n][width], of samples first .. first + n - 1 with
 * the panels from .. to - 1; n <= MOT_SAMPLES_ROWS. */
void mot_samples_compare(const struct mot_samples *, uint32_t first, uint32_t n, uint32_t from, uint32_t to,
    float *scratch, uint16_t *out, size_t out_row);
/* The same for any samples: `a` is their rows, norm2 their squared norms. */
void mot_samples_compare_rows(const struct mot_samples *, const float *a, const float *norm2, uint32_t n,
    uint32_t from, uint32_t to, float *scratch, uint16_t *out, size_t out_row);

#endif
