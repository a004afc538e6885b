/* largest.c -- the k largest of n floats, exactly, in little more than one read of them.
 *
 * A sample gives a floor that a few more than k are above; one pass collects those, and only they are
 * sorted out further. The floor is a guess that costs time if it is wrong, and never changes the result. */
#include "compress/compress.h"
#include "math/kernels.h"
#include <math.h>
#include <string.h>

#define SAMPLED_FROM 16384u /* fewer floats are looked at one by one */
#define RUNS 2048u          /* of the sample, and how long each is: memory comes by the line */
#define RUN 8u

static uint32_t size_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits & 0x7fffffffu; /* sizes are in the order of these numbers; NaN is the largest */
}

/* The r-th largest of m numbers below 2^31, r from 1 on, by its digits; *equal: how many like it count. */
static uint32_t nth_largest(const uint32_t *number, uint32_t m, uint32_t r, uint32_t *equal)
{
    static const struct {
        unsigned shift, bits;
    } digit[] = { { 20, 11 }, { 9, 11 }, { 0, 9 } };
    uint32_t found = 0, known = 0;
    for (int d = 0; d < 3; d++) {
        uint32_t count[2048] = { 0 }, mask = (1u << digit[d].bits) - 1, value = mask;
        for (uint32_t i = 0; i < m; i++)
            if ((number[i] & known) == found) count[number[i] >> digit[d].shift & mask]++;
        while (count[value] < r) r -= count[value--];
        found |= value << digit[d].shift;
        known |= mask << digit[d].shift;
    }
    *equal = r;
    return found;
}

/* The size that about `rank` of the sample are above. */
static uint32_t guess(const float *x, uint32_t n, uint32_t rank, uint32_t *number)
{
    uint32_t m = 0, equal;
    for (uint32_t i = 0; i < RUNS; i++) {
        const float *run = x + (size_t)((uint64_t)(n - RUN) * i / (RUNS - 1));
        for (uint32_t k = 0; k < RUN; k++) number[m++] = size_of(run[k]);
    }
    uint32_t least = rank < m ? nth_largest(number, m, rank, &equal) : 1;
    return least ? least : 1;
}

/* At least k places, unless fewer floats than that are not 0. */
static uint32_t candidates(
    const float *x, uint32_t n, uint32_t k, uint32_t first, uint32_t *index, uint32_t *number)
{
    const struct mot_kernels *kernels = mot_kernels();
    double rank = (double)k / n * (RUNS * RUN);
    if (n < SAMPLED_FROM || k >= n) return (uint32_t)kernels->above(n, x, 1, first, index);
    for (rank += 4 * sqrt(rank) + 4;; rank *= 2) {
        uint32_t least = guess(x, n, rank < n ? (uint32_t)rank : n, number);
        uint32_t found = (uint32_t)kernels->above(n, x, least, first, index);
        if (found >= k || least == 1) return found;
    }
}

uint32_t mot_largest(
    const float *x, uint32_t n, uint32_t k, uint32_t first, uint32_t *index, uint32_t *number)
{
    uint32_t found = candidates(x, n, k, first, index, number), equal, kept = 0;
    if (found <= k) return found;
    for (uint32_t i = 0; i < found; i++) number[i] = size_of(x[index[i] - first]);
    uint32_t least = nth_largest(number, found, k, &equal);
    for (uint32_t i = 0; i < found; i++) {
        bool keeps = number[i] > least || (number[i] == least && equal && equal--);
        index[kept] = index[i];
        kept += keeps;
    }
    return kept;
}
