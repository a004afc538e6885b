/* similar.h -- similarities among the samples of one class, in as much memory as there is. */
#ifndef MOT_PARTITION_SIMILAR_H
#define MOT_PARTITION_SIMILAR_H

#include "partition/features.h"
#include <stdatomic.h>

enum mot_similar_kind {
    MOT_SIMILAR_DENSE,   /* the whole matrix, shorts */
    MOT_SIMILAR_BLOCKED, /* rows are computed when they are asked for, some at a time */
    MOT_SIMILAR_KNN,     /* only the largest of each row; the rest counts as 0 */
};

/* The progress of long work, shared by threads; only the calling thread reports. */
struct mot_headway {
    const struct mot_split *split;
    atomic_ullong done;
    double total;
};
void mot_headway_add(struct mot_headway *, unsigned who, uint64_t units);

#define MOT_SIMILAR_BATCH 24u /* the most rows that are asked for at once */

struct mot_similar {
    enum mot_similar_kind kind;
    const struct mot_samples *samples;
    struct mot_crew *crew; /* computes with all its threads; NULL: the caller alone, as thread `who` */
    unsigned who;
    struct mot_headway *work;             /* may be NULL */
    uint16_t *matrix;                     /* dense [n][width] */
    uint16_t *lent;                       /* dense: the caller's room for it; NULL: it is made */
    uint32_t k, *near;                    /* knn [n][k]: the samples nearest to each, itself first */
    uint16_t *how;                        /* knn [n][k] */
    uint16_t *rows;                       /* blocked [BATCH][width] */
    float *batch, *batch_norm2, *scratch; /* blocked; scratch is one for each thread */
    uint64_t pairs;                       /* computed so far */
};

/* beside the samples, with one thread */
double mot_similar_bytes(enum mot_similar_kind, uint32_t n, uint32_t k);

/* Fills what the kind keeps; `s` has kind, samples, crew, who, work and
 * (knn) k. MOT_EINTERRUPTED if interrupted. */
enum mot_status mot_similar_open(struct mot_similar *s);
void mot_similar_close(struct mot_similar *);

/* Dense and blocked: rows of similarities of up to MOT_SIMILAR_BATCH samples, valid until the next call. */
void mot_similar_rows(struct mot_similar *, const uint32_t *id, uint32_t n, const uint16_t **row_out);

/* total[v] = the sum of what is kept of v's row. */
enum mot_status mot_similar_totals(struct mot_similar *, uint64_t *total);

#endif
