/* sums.h -- sums of similarities between the blocks of one class and all of it: what the figures of a
 * partition are made of. In units of 1/65535 and exact, so they depend on no order and no thread. */
#ifndef MOT_PARTITION_SUMS_H
#define MOT_PARTITION_SUMS_H

#include "partition/glimpse.h"
#include "partition/similar.h"

/* From all pairs, which a dense `similar` has; owner [n]. */
void mot_sums_of_matrix(
    const struct mot_similar *, const uint32_t *owner, uint32_t blocks, struct mot_block_sums *out);

/* From rows, some at a time: of all samples, or of the `count` in `id`, and then the sums are theirs. The
 * samples are sorted by owner; block j begins at begin[j]. */
struct mot_sums_rows {
    const struct mot_samples *samples;
    uint32_t blocks, count;
    const uint32_t *begin, *id; /* begin [blocks + 1]; id NULL: all */
    struct mot_crew *crew;
    struct mot_headway *work;
};
void mot_sums_of_rows(const struct mot_sums_rows *, struct mot_block_sums *out);

#endif
