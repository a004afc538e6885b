/* fourier.h -- random Fourier features of the Gaussian (Rahimi and Recht, "Random features for large-scale
 * kernel machines", 2007): the inner product of two samples' features, over `count`, is their similarity in
 * expectation. Sums of features stand for sums of similarities in time proportional to the samples. */
#ifndef MOT_PARTITION_FOURIER_H
#define MOT_PARTITION_FOURIER_H

#include "base/rng.h"
#include <stddef.h>

struct mot_fourier {
    uint32_t cols, count; /* count: frequencies, a multiple of 16 */
    float *frequency;     /* [count / 16][cols][16] */
};

/* A choice made by random features must not be measured by the same ones, so each use has a stream of its
 * own. */
void mot_fourier_open(struct mot_fourier *, uint32_t cols, uint32_t count, double bandwidth, struct mot_rng);
void mot_fourier_close(struct mot_fourier *);

/* out [n][2 count]: the cosines of a row's products with the frequencies, then the sines. */
void mot_fourier_map(const struct mot_fourier *, const float *rows, uint32_t n, float *out);

#endif
