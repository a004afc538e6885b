/* sampler.c -- position -> row, without state: an epoch's order is a permutation with
 * random access, keyed by (seed, part, epoch). */
#include "data/sampler.h"

#include "base/rng.h"
#include "base/wide.h"
#include <motley/method.h>

static uint64_t part_rows(const struct mot_sampler *s, uint32_t part)
{
    MOT_ASSERT(part < s->parts->parts);
    return s->parts->at[part + 1] - s->parts->at[part];
}

uint64_t mot_sample_count(const struct mot_sampler *s, uint32_t part, uint64_t draw, uint64_t n)
{
    uint64_t rows = part_rows(s, part), passes = s->conf.passes;
    if (rows == 0) return 0;
    if (passes == MOT_WORD_UINT || passes > UINT64_MAX / rows) return n;
    uint64_t all = passes * rows;
    if (draw >= all) return 0;
    return n < all - draw ? n : all - draw;
}

/* The round (an epoch, or a batch) of position `at` in a batch that began at `first`. Positions of one round
 * share a key, which is worth computing once. */
static uint64_t round_of(const struct mot_sampler *s, uint64_t rows, uint64_t first, uint64_t at)
{
    switch ((enum mot_sampling)s->conf.name) {
    case MOT_SAMPLE_RESHUFFLE: return at / rows;
    case MOT_SAMPLE_CHOICE:
        return (at - first) / rows; /* a batch larger than the part starts over when it runs out */
    case MOT_SAMPLE_ONCE:
    case MOT_SAMPLE_REPLACE:
    case MOT_SAMPLE_SEQUENTIAL: return 0;
    }
    return 0;
}

uint32_t mot_sample(
    const struct mot_sampler *s, uint32_t part, uint64_t draw, uint32_t skip, uint32_t n, uint32_t *row_out)
{
    enum mot_sampling kind = (enum mot_sampling)s->conf.name;
    uint64_t rows = part_rows(s, part), key = mot_hash3(s->seed, MOT_RNG_SAMPLER, part);
    const uint32_t *row = s->parts->row + s->parts->at[part];
    uint32_t count = (uint32_t)mot_sample_count(s, part, draw + skip, n);
    uint64_t origin = kind == MOT_SAMPLE_CHOICE ? draw : 0, round = UINT64_MAX, order = 0;
    if (kind == MOT_SAMPLE_CHOICE) key = mot_hash3(key, draw, 1);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = draw + skip + i, now = round_of(s, rows, origin, at), pick;
        if (now != round) order = mot_hash3(key, round = now, 2);
        if (kind == MOT_SAMPLE_SEQUENTIAL) pick = at % rows;
        /* The high half of a 64 x 64 bit product is uniform on 0..rows-1 to within rows / 2^64. */
        else if (kind == MOT_SAMPLE_REPLACE)
            pick = (uint64_t)((mot_uint128)mot_hash3(key, at, 3) * rows >> 64);
        else pick = mot_permute(order, rows, (at - origin) % rows);
        row_out[i] = row[pick];
    }
    return count;
}
