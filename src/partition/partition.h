/* partition.h -- which rows each worker holds. */
#ifndef MOT_PARTITION_PARTITION_H
#define MOT_PARTITION_PARTITION_H

#include "data/sampler.h"
#include <motley/model.h>
#include <motley/option.h>
#include <signal.h>
#include <stdbool.h>

/* What to partition, and for whom. */
struct mot_split {
    const struct mot_table *table;
    uint32_t parts;
    const double *speed; /* [parts], in any unit; NULL: all equal */
    bool shared;         /* parts are not one per worker: what messages call them */
    uint64_t seed;
    unsigned threads; /* 0: one thread per core. The result does not depend on it. */
    /* rows of the file that the table was taken from; 0: the table is all of it */
    uint32_t file_rows;
    bool file_cut;                          /* these are its first rows: files beside it may go on */
    const uint32_t *file_row;               /* [rows]: which of them a row of the table is; NULL: the same */
    uint64_t unpack_max;                    /* of gzip'd files that it reads: as in mot_data_conf, or 0 */
    const volatile sig_atomic_t *interrupt; /* may be NULL */
    void (*progress)(void *self, double done); /* 0 to 1, always from the calling thread; may be NULL */
    void *progress_self;
    struct mot_glimpse
        *glimpse; /* filled while classes are partitioned, and used by mot_quality_of (sums.h); or NULL */
};

/* The cost, and the result if a function was maximised. */
struct mot_split_cost {
    const char *algorithm; /* "dense", "knn", ...; NULL: nothing to choose from */
    bool exact;            /* the plain greedy algorithm's result, sample by sample */
    uint32_t neighbours;   /* knn: similarities kept for each sample */
    uint32_t candidates;   /* stochastic: the most that a pick looks at */
    double epsilon;        /* stochastic: the loss of value that this may cost, on average */
    double bandwidth;      /* of the Gaussian; 0: no similarities were taken */
    uint64_t pairs;        /* similarities computed */
    uint64_t evaluations;  /* gains computed */
    double bytes;          /* of memory planned, besides the data set */
};

struct mot_partitioner {
    const char *name, *summary;
    const struct mot_option *options; /* may be NULL */
    size_t conf_bytes;
    enum mot_status (*split)(
        const void *conf, const struct mot_split *, struct mot_parts *out, struct mot_split_cost *cost);
};
extern const struct mot_partitioner *const mot_partitioners[]; /* ended by NULL */

/* Partitions the table. Every row is in exactly one part and no part is empty. `cost` may be NULL. */
enum mot_status mot_partition(const struct mot_partitioner *, const void *conf, const struct mot_split *,
    struct mot_parts *out, struct mot_split_cost *cost);
void mot_parts_free(struct mot_parts *);

/* ---- For those who write one ---------------------------------------------------------- */

/* The table's rows by class, in the table's order; values to predict (classes = 0) are one class. */
struct mot_strata {
    uint32_t classes, *at, *row;
};
/* All zero if memory runs out, as the next two. */
struct mot_strata mot_strata_of(const struct mot_table *);
void mot_strata_free(struct mot_strata *);

/* Parts of the given sizes, rows still to be filled in. */
struct mot_parts mot_parts_sized(uint32_t parts, const uint32_t *size);
/* Parts from each row's owner, rows in the order of the table. */
struct mot_parts mot_parts_owned(uint32_t parts, uint32_t rows, const uint32_t *owner);

/* True also if memory was refused, which mot_partition then reports. */
bool mot_split_interrupted(const struct mot_split *);
void mot_split_progress(const struct mot_split *, double done);
unsigned mot_split_threads(const struct mot_split *);

const char *mot_split_whose(const struct mot_split *); /* "workers", or "parts" if they are shared */

/* `name` needs labels that are classes: fails if the table has values. */
enum mot_status mot_split_needs_classes(const struct mot_split *, const char *name);

extern const struct mot_partitioner mot_partition_proportional, mot_partition_herding,
    mot_partition_submodular, mot_partition_dirichlet, mot_partition_shards, mot_partition_quantity,
    mot_partition_sorted, mot_partition_from;

#endif
