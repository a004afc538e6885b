/* leaps.h -- the exponential graph in rounds: worker i sends to i + 2^e, and e changes from round to round.
 *
 * With `peers` receivers a round, round t uses the exponents t * peers, t * peers + 1, ... (`peers` of
 * them), modulo their number. So in as many consecutive rounds as there are exponents, each is used `peers`
 * times, whatever the number of workers. */
#ifndef MOT_BASE_LEAPS_H
#define MOT_BASE_LEAPS_H

#include <stdbool.h>
#include <stdint.h>

/* The number of exponents: the logarithm of n to the base 2, rounded up. */
static inline uint32_t mot_leaps(uint32_t n)
{
    uint32_t leaps = 0;
    while ((UINT64_C(1) << leaps) < n) leaps++;
    return leaps;
}

/* Whether a round uses exponent e < leaps; 1 <= peers <= leaps. */
static inline bool mot_leap_used(uint32_t e, uint64_t round, uint32_t peers, uint32_t leaps)
{
    return (e + leaps - round % leaps * peers % leaps) % leaps < peers;
}

#endif
