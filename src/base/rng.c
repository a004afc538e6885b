/* rng.c -- counter-based random numbers, and the laws made of them. */
#include "base/rng.h"

#include "base/exact.h"
#include "base/wide.h"
#include <math.h>
#include <motley/method.h>

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio, odd */

/* Stafford's variant 13 of the murmur3 finaliser: a bijection in which every
 * input bit flips every output bit about half of the time. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t mot_hash3(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = mix(a + GOLDEN);
    h = mix((h ^ b) + 2 * GOLDEN);
    return mix((h ^ c) + 3 * GOLDEN);
}

struct mot_rng mot_rng_at(uint64_t seed, enum mot_rng_purpose purpose, uint64_t index)
{
    return (struct mot_rng){ .key = mot_hash3(seed, (uint64_t)purpose, index), .count = 0 };
}

uint64_t mot_rng_next(struct mot_rng *rng)
{
    /* One round would walk all streams along one orbit at different offsets; the
     * second, keyed, makes them different sequences. */
    uint64_t z = mix(rng->key + GOLDEN * ++rng->count);
    return mix(z ^ (rng->key << 32 | rng->key >> 32));
}

double mot_rng_unit(struct mot_rng *rng) { return (double)(mot_rng_next(rng) >> 11) * 0x1p-53; }

/* Lemire, "Fast random integer generation in an interval" (2019): the high half
 * of a product, rejecting the few low halves that would favour some results. */
uint64_t mot_rng_below(struct mot_rng *rng, uint64_t n)
{
    MOT_ASSERT(n > 0);
    mot_uint128 product = (mot_uint128)mot_rng_next(rng) * n;
    if ((uint64_t)product < n) {
        uint64_t least = -n % n;
        while ((uint64_t)product < least) product = (mot_uint128)mot_rng_next(rng) * n;
    }
    return (uint64_t)(product >> 64);
}

/* Marsaglia's polar method. The second number of the pair is not kept: a stream's
 * whole state is its count. */
double mot_rng_normal(struct mot_rng *rng)
{
    for (;;) {
        double u = 2 * mot_rng_unit(rng) - 1, v = 2 * mot_rng_unit(rng) - 1, s = u * u + v * v;
        if (s > 0 && s < 1) return u * sqrt(-2 * mot_log(s) / s);
    }
}

double mot_rng_exponential(struct mot_rng *rng) { return -mot_log(1 - mot_rng_unit(rng)); }

/* log k!: exact sums of logarithms are not needed, Stirling's series has an error
 * under 1e-9 from k = 10 on. */
static double log_factorial(double k)
{
    double more = 0;
    while (k < 10) more -= mot_log(k += 1);
    double i = 1 / k, i2 = i * i;
    return (k + 0.5) * mot_log(k) - k + 0.91893853320467274 + i * (1.0 / 12 - i2 * (1.0 / 360 - i2 / 1260)) +
        more;
}

/* Counts how many arrivals of rate 1 fall into `mean`, by multiplying uniforms (Knuth). */
static uint64_t poisson_small(struct mot_rng *rng, double mean)
{
    double least = mot_exp(-mean), product = mot_rng_unit(rng);
    uint64_t k = 0;
    for (; product > least; k++) product *= mot_rng_unit(rng);
    return k;
}

/* Hörmann, "The transformed rejection method for generating Poisson random
 * variables" (1993), algorithm PTRS. */
static uint64_t poisson_large(struct mot_rng *rng, double mean)
{
    double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    double log_mean = mot_log(mean);
    for (;;) {
        double u = mot_rng_unit(rng) - 0.5, v = mot_rng_unit(rng), us = 0.5 - fabs(u);
        if (us == 0) continue; /* u = -1/2: the transform's pole */
        double k = floor((2 * a / us + b) * u + mean + 0.43);
        if (us >= 0.07 && v <= v_r) return (uint64_t)k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (mot_log(v * inverse_alpha / (a / (us * us) + b)) <= k * log_mean - mean - log_factorial(k))
            return (uint64_t)k;
    }
}

uint64_t mot_rng_poisson(struct mot_rng *rng, double mean)
{
    if (!(mean > 0)) return 0;
    if (mean < 12) return poisson_small(rng, mean);
    if (mean < 0x1p36) return poisson_large(rng, mean);
    /* Beyond, the densities of PTRS lose their digits, while the law differs from a
     * normal one by less than 1e-5 of its deviation. */
    MOT_ASSERT(mean < 0x1p62);
    double k = floor(mean + sqrt(mean) * mot_rng_normal(rng) + 0.5);
    return (uint64_t)k;
}

/* ---- Permutation ------------------------------------------------------------ */

#define FEISTEL_ROUNDS 6

struct feistel {
    uint64_t mask, key;
    unsigned half;
};

static struct feistel feistel_of(uint64_t key, uint64_t n)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(n - 1), half = (bits + 1) / 2;
    return (struct feistel){ .mask = (UINT64_C(1) << half) - 1, .key = mix(key + GOLDEN), .half = half };
}

static uint64_t feistel_round(const struct feistel *f, uint64_t right, uint64_t round)
{
    uint64_t x = ((right + round * GOLDEN) ^ f->key) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 29)) * UINT64_C(0x94d049bb133111eb);
    return x >> 32 & f->mask;
}

/* A balanced Feistel network permutes 0 .. 4^half - 1 whatever its round function.
 * Walking on until the value is below n makes that a permutation of 0..n-1: the
 * walk stays on a cycle, which returns below n at the latest where it began. */
uint64_t mot_permute(uint64_t key, uint64_t n, uint64_t i)
{
    MOT_ASSERT(i < n);
    if (n == 1) return 0;
    struct feistel f = feistel_of(key, n);
    do {
        uint64_t left = i >> f.half, right = i & f.mask;
        for (uint64_t round = 1; round <= FEISTEL_ROUNDS; round++) {
            uint64_t next = left ^ feistel_round(&f, right, round);
            left = right;
            right = next;
        }
        i = left << f.half | right;
    } while (i >= n);
    return i;
}

uint64_t mot_permute_back(uint64_t key, uint64_t n, uint64_t i)
{
    MOT_ASSERT(i < n);
    if (n == 1) return 0;
    struct feistel f = feistel_of(key, n);
    do {
        uint64_t left = i >> f.half, right = i & f.mask;
        for (uint64_t round = FEISTEL_ROUNDS; round >= 1; round--) {
            uint64_t before = right ^ feistel_round(&f, left, round);
            right = left;
            left = before;
        }
        i = left << f.half | right;
    } while (i >= n);
    return i;
}
