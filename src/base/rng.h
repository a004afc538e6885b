/* rng.h -- counter-based random streams, one for each purpose.
 *
 * A stream is a function of (seed, purpose, index); its n-th number is a
 * function of n, so a stream can be entered anywhere, copied and stored. No
 * libm: log and exp are our own (base/exact.h), equal on every machine. */
#ifndef MOT_BASE_RNG_H
#define MOT_BASE_RNG_H

#include <stdint.h>

enum mot_rng_purpose {
    MOT_RNG_DATA_ORDER = 1,
    MOT_RNG_SPLIT,
    MOT_RNG_SYNTHETIC,
    MOT_RNG_PARTITION,
    MOT_RNG_SAMPLER,
    MOT_RNG_INIT,
    MOT_RNG_JITTER,
    MOT_RNG_STRAGGLE,
    MOT_RNG_JOB,
    MOT_RNG_METHOD,
    MOT_RNG_TEST,
    MOT_RNG_FAULT,
    MOT_RNG_FRAME,
    MOT_RNG_POISON,
    MOT_RNG_TOPOLOGY = 40,
};

struct mot_rng {
    uint64_t key, count;
};

struct mot_rng mot_rng_at(uint64_t seed, enum mot_rng_purpose purpose, uint64_t index);
uint64_t mot_hash3(uint64_t a, uint64_t b, uint64_t c); /* mixes three numbers into one */
uint64_t mot_rng_next(struct mot_rng *);
double mot_rng_unit(struct mot_rng *);                /* [0, 1) */
uint64_t mot_rng_below(struct mot_rng *, uint64_t n); /* 0..n-1, unbiased; n > 0 */
double mot_rng_normal(struct mot_rng *);              /* mean 0, deviation 1 */
double mot_rng_exponential(struct mot_rng *);         /* mean 1 */
uint64_t mot_rng_poisson(struct mot_rng *, double mean);

/* A pseudo-random permutation of 0..n-1 with random access: where position i
 * goes under `key`. No table, no state (Feistel network with cycle walking). */
uint64_t mot_permute(uint64_t key, uint64_t n, uint64_t i);

#endif
