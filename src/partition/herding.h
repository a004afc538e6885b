/* herding.h -- divides the samples of one class so that every block's mean, in the feature space of the
 * Gaussian, is the mean of the class: each block takes the sample that most reduces its MMD^2 to the class
 * (Welling, "Herding dynamical weights to learn", 2009; Chen, Welling and Smola, "Super-samples from kernel
 * herding", 2010).
 *
 * With m(v) the mean similarity of v to its class and t(v) the sum of its similarities to a block A, the
 * block takes the largest (|A| + 1) m(v) - t(v); of equal ones the sample with the lowest number. The block's
 * final size does not matter, so large and small ones represent the class equally well. Blocks that end up
 * worse than random ones, because only leftovers remained, exchange samples with others. */
#ifndef MOT_PARTITION_HERDING_H
#define MOT_PARTITION_HERDING_H

#include "partition/similar.h"

struct mot_herding {
    struct mot_similar *similar; /* dense or blocked: the same result */
    uint32_t blocks;
    const uint32_t *quota; /* [blocks]; n in all */
    /* If blocks have samples P of earlier chunks, their remaining error, in units of similarity:
     * [blocks][n], |P| times the mean similarity of v to earlier chunks, less the sum of its similarities
     * to P. NULL: they have none. */
    const float *owed;
    uint32_t *owner; /* out [n] */
    uint32_t *order; /* out [n]: samples in the order taken; may be NULL */
    uint64_t evaluations;
};

/* MOT_OK or MOT_EINTERRUPTED. */
enum mot_status mot_herding_run(struct mot_herding *);
double mot_herding_bytes(uint32_t n, uint32_t blocks);
/* Units of mot_headway, besides what fills `similar`. A look at one sample for a pick takes about as long as
 * this many multiplications of a comparison. */
#define MOT_HERDING_PICK_UNITS 24u
uint64_t mot_herding_units(const struct mot_similar *, uint32_t n);

/* A class of any size, in chunks of random samples: pairs are compared within a chunk, and random Fourier
 * features carry what is left of each block's error from chunk to chunk. Time and memory grow in proportion
 * to the class. With one chunk it is mot_herding_run. */
struct mot_herding_class {
    const struct mot_features *features;
    const uint32_t *row; /* [n]: the class, as rows of the features */
    uint32_t n, chunk, blocks;
    const uint32_t *quota;
    double bandwidth;
    uint64_t seed, index; /* index: the class */
    struct mot_crew *crew;
    unsigned who;
    struct mot_headway *work;
    uint32_t *owner; /* out [n] */
    uint64_t pairs, evaluations;
};
#define MOT_HERDING_CHUNK 16384u
enum mot_status mot_herding_chunks(struct mot_herding_class *);
double mot_herding_chunks_bytes(uint32_t n, uint32_t cols, uint32_t chunk, uint32_t blocks);
uint64_t mot_herding_chunks_units(uint32_t n, uint32_t cols, uint32_t chunk);

#endif
