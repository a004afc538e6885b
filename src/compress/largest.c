/* largest.c -- finds exactly the k largest of n floats in little more than one pass.
 *
 * A sample gives a floor that a few more than k exceed; one pass collects those, and only they are examined
 * further. The floor is a guess: a wrong one costs time but never changes the result. */
#include "compress/compress.h"
#include "math/kernels.h"
#include <math.h>
#include <string.h>

#define SAMPLED_FROM 1024u /* with fewer floats, a sample does not pay */
#define SHARE 16u          /* the sample is one float in this many */
#define RUNS_MOST 2048u    /* memory beyond the caches comes in lines, so large samples take short runs */
#define RUN 8u

/* The size of a float, from its bits, as a number of the same order; NaN is the largest. */
static uint32_t size_of(uint32_t bits) { return bits & 0x7fffffffu; }

/* The r-th largest of the sizes of m floats, r from 1 on, found digit by digit; *equal: how many of that size
 * are among the r. `room`, if not NULL, has room for m numbers and holds those that match the digits so
 * far. */
static uint32_t nth_largest(const uint32_t *number, uint32_t m, uint32_t r, uint32_t *room, uint32_t *equal)
{
    uint32_t count[2048], most = 0, found = 0, known = 0;
    for (uint32_t i = 0; i < m; i++) most = size_of(number[i]) > most ? size_of(number[i]) : most;
    for (unsigned shift = 20, bits = 11;; shift -= 5, bits = 5) { /* 11 bits, then 5 at a time */
        uint32_t mask = (1u << bits) - 1, value = bits == 11 ? most >> shift : mask, kept = 0;
        memset(count, 0, (value + 1) * sizeof(*count));
        for (uint32_t i = 0; i < m; i++)
            if ((number[i] & known) == found) count[number[i] >> shift & mask]++;
        while (count[value] < r) r -= count[value--];
        found |= value << shift;
        known |= mask << shift;
        if (shift == 0) break;
        for (uint32_t i = 0; room && i < m; i++) {
            room[kept] = number[i];
            kept += (number[i] & known) == found;
        }
        if (room) number = room;
        if (room) m = kept;
    }
    *equal = r;
    return found;
}

struct sample {
    uint32_t runs, run;
};
static struct sample sample_of(uint32_t n)
{
    if (n / SHARE < RUNS_MOST * RUN) return (struct sample){ n / SHARE, 1 };
    return (struct sample){ RUNS_MOST, RUN };
}

/* The size that about `rank` floats of the sample reach. */
static uint32_t guess(const float *x, uint32_t n, struct sample s, uint32_t rank, uint32_t *number)
{
    uint32_t m = 0, equal;
    for (uint32_t i = 0; i < s.runs; i++) {
        const float *run = x + (size_t)((uint64_t)(n - s.run) * i / (s.runs - 1));
        memcpy(number + m, run, s.run * sizeof(*run));
        m += s.run;
    }
    uint32_t least = rank < m ? nth_largest(number, m, rank, number + m, &equal) : 1;
    return least ? least : 1;
}

/* Collects at least k floats, or all nonzero ones if there are fewer. */
static uint32_t candidates(
    const float *x, uint32_t n, uint32_t k, uint32_t first, uint32_t *index, uint32_t *bits)
{
    const struct mot_kernels *kernels = mot_kernels();
    struct sample s = sample_of(n);
    double rank = (double)k / n * s.runs * s.run;
    if (n < SAMPLED_FROM || k >= n) return (uint32_t)kernels->above(n, x, 1, first, index, bits);
    for (rank += 4 * sqrt(rank) + 4;; rank *= 2) {
        uint32_t least = guess(x, n, s, rank < n ? (uint32_t)rank : n, bits);
        uint32_t found = (uint32_t)kernels->above(n, x, least, first, index, bits);
        if (found >= k || least == 1) return found;
    }
}

uint32_t mot_largest(const float *x, uint32_t n, uint32_t k, uint32_t first, uint32_t *index, uint32_t *bits)
{
    uint32_t found = candidates(x, n, k, first, index, bits), equal, kept = 0;
    if (found <= k) return found;
    uint32_t *room = found <= n / 2 ? bits + found : NULL;
    uint32_t least = nth_largest(bits, found, k, room, &equal);
    for (uint32_t i = 0; i < found; i++) {
        uint32_t size = size_of(bits[i]), same = (size == least) & (equal > 0);
        equal -= same;
        index[kept] = index[i];
        bits[kept] = bits[i];
        kept += (size > least) | same;
    }
    return kept;
}
