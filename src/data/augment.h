/* augment.h -- changes training pictures at random: a function of (seed, part, position) and nothing else, so
 * whoever computes a sample gets the same picture. */
#ifndef MOT_DATA_AUGMENT_H
#define MOT_DATA_AUGMENT_H

#include "data/data.h"

/* Whether the data set asks for this. */
bool mot_augments(const struct mot_dataset *);
/* Bytes that mot_augment writes to, for at most MOT_SLICE_ROWS rows; 0 if nothing is augmented. */
size_t mot_augment_bytes(const struct mot_dataset *);
/* The pictures of rows at positions `draw` .. draw + n - 1 of a part's endless sequence, as a table with its
 * numbers in `room`. */
struct mot_table mot_augment(const struct mot_dataset *, uint64_t seed, uint32_t part, uint64_t draw,
    const uint32_t *row, uint32_t n, void *room);

#endif
