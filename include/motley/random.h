/* random.h -- counter-based random streams, one for each purpose.
 *
 * A stream is a function of (seed, purpose, index), and its n-th number a function of n. So a stream can be
 * entered anywhere, copied and stored: a method keeps one in its state, or derives it from the number of the
 * round. No libm is involved: every machine gives the same numbers. */
#ifndef MOTLEY_RANDOM_H
#define MOTLEY_RANDOM_H

#include <motley/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mot_rng_purpose {
    MOT_RNG_DATA_ORDER = 1,
    MOT_RNG_SPLIT,
    MOT_RNG_SYNTHETIC,
    MOT_RNG_PARTITION,
    MOT_RNG_SAMPLER,
    MOT_RNG_INIT, /* a model's initial parameters */
    MOT_RNG_JITTER,
    MOT_RNG_STRAGGLE,
    MOT_RNG_JOB,
    MOT_RNG_METHOD, /* for methods; the index tells a method's streams apart */
    MOT_RNG_TEST,
    MOT_RNG_FAULT,
    MOT_RNG_FRAME,
    MOT_RNG_POISON,
    MOT_RNG_TOPOLOGY = 40,
    MOT_RNG_LOOK,
    MOT_RNG_CODE,     /* matrices of gradient codes, shuffles of their roles */
    MOT_RNG_PEERS,    /* who gets from whom in a round of random peers */
    MOT_RNG_STREAM,   /* rates at which samples arrive */
    MOT_RNG_COMPRESS, /* what compressors draw */
    MOT_RNG_AUGMENT,  /* how pictures are changed */
    MOT_RNG_IMPORT,   /* which devices of a file become workers */
    MOT_RNG_DROPOUT,  /* what dropout leaves out */
    MOT_RNG_HOLDOUT,  /* records of a stream that evaluate the model */
};

struct mot_rng {
    uint64_t key, count;
};

MOT_API struct mot_rng mot_rng_at(uint64_t seed, enum mot_rng_purpose purpose, uint64_t index);
MOT_API uint64_t mot_hash3(uint64_t a, uint64_t b, uint64_t c); /* mixes three numbers into one */
MOT_API uint64_t mot_rng_next(struct mot_rng *);
MOT_API double mot_rng_unit(struct mot_rng *);                /* [0, 1) */
MOT_API uint64_t mot_rng_below(struct mot_rng *, uint64_t n); /* 0..n-1, unbiased; n > 0 */
MOT_API double mot_rng_normal(struct mot_rng *);              /* mean 0, deviation 1 */
MOT_API double mot_rng_exponential(struct mot_rng *);         /* mean 1 */
MOT_API uint64_t mot_rng_poisson(struct mot_rng *, double mean);

/* A pseudo-random permutation of 0..n-1 with random access: where position i goes under `key`. It needs no
 * table and no state (a Feistel network with cycle walking). */
MOT_API uint64_t mot_permute(uint64_t key, uint64_t n, uint64_t i);
/* The inverse: which position goes to i. */
MOT_API uint64_t mot_permute_back(uint64_t key, uint64_t n, uint64_t i);

#ifdef __cplusplus
}
#endif
#endif
