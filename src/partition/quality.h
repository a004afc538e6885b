/* quality.h -- how good a partition is, whatever made it. */
#ifndef MOT_PARTITION_QUALITY_H
#define MOT_PARTITION_QUALITY_H

#include "partition/features.h"

enum mot_mmd_how {
    MOT_MMD_AUTO,  /* exact for classes of up to MOT_MMD_EXACT_ROWS rows */
    MOT_MMD_EXACT, /* every pair: time in the square of a class's rows, memory in proportion to them */
    /* random Fourier features: time and memory in proportion to the rows, a relative error of about 5 % */
    MOT_MMD_RANDOM,
};
#define MOT_MMD_EXACT_ROWS 20000u
#define MOT_OBJECTIVE_ROWS 1024u

/* MMD^2 of block A against its class V is |mean of A - mean of V|^2 in the feature space of the Gaussian: 0
 * where the block looks like its class. (Gretton et al., "A kernel two-sample test", 2012; the biased
 * estimate, diagonal included.) */
struct mot_quality {
    uint32_t classes, parts;
    uint32_t *count;            /* [classes][parts]: rows */
    double *mmd2;               /* [classes][parts]; NaN where there are no rows */
    double mmd2_mean, mmd2_max; /* over the blocks that have rows */
    /* [classes][parts]: what mmd2 would be, on average, if the class were shared out at random in the same
     * sizes; 0 where one worker has all of it */
    double *random;
    double mmd2_random; /* their mean */
    double ratio_worst; /* the largest mmd2 / random, */
    uint32_t worst_class, worst_part;
    uint32_t worse;  /* and how many blocks are above 1, by more than random features may be off */
    bool mmd2_exact; /* of all classes */
    bool *exact;     /* [classes] */
    /* sum of f over classes and workers; of classes that are not exact, from MOT_OBJECTIVE_ROWS rows each */
    double facility_location, graph_cut;
    double *location, *cut; /* [classes]: their parts */
    double bandwidth;
    /* KL of a worker's labels from all labels, nats; NaN for values */
    double divergence_mean, divergence_max;
    /* the largest distance from |V_l| r_j / sum r, and from |V| r_j / sum r */
    double quota_class, quota_worker;
};

/* Features may be NULL: then there is no MMD^2. bandwidth 0: the median distance. MOT_EINTERRUPTED if
 * s->interrupt says so; reports to s->progress. Also uses s->table, parts, speed, seed and threads. */
enum mot_status mot_quality_of(const struct mot_split *s, const struct mot_parts *,
    const struct mot_features *, double bandwidth, enum mot_mmd_how, struct mot_quality *out);
void mot_quality_close(struct mot_quality *);

/* The same for parts that have changed within some classes, with as many rows of each at each worker. */
enum mot_status mot_quality_again(const struct mot_split *, const struct mot_parts *,
    const struct mot_features *, enum mot_mmd_how, const bool *which, struct mot_quality *);

/* The figures over all classes from those of each. */
void mot_quality_summarise(struct mot_quality *);

/* MMD^2 relative to random rows; NaN: no rows. */
double mot_quality_ratio(const struct mot_quality *, uint32_t class, uint32_t part);
bool mot_quality_is_worse(const struct mot_quality *, uint32_t class, uint32_t part);

#endif
