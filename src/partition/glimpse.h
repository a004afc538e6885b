/* glimpse.h -- what partitioning sees of each class, kept so that measuring the result need not compare the
 * samples again. */
#ifndef MOT_PARTITION_GLIMPSE_H
#define MOT_PARTITION_GLIMPSE_H

#include <stdbool.h>
#include <stdint.h>

struct mot_similar;

/* Sums of similarities, in units of 1/65535 and exact. */
struct mot_block_sums {
    uint64_t inside;  /* over pairs of the block's samples, each with itself too */
    uint64_t across;  /* of the block's samples with all of the class */
    uint64_t covered; /* over the class, the similarity to the nearest of the block */
};

struct mot_glimpse {
    uint32_t classes, parts;
    bool *seen;                  /* [classes] */
    struct mot_block_sums *sums; /* [classes][parts] */
};
void mot_glimpse_open(struct mot_glimpse *, uint32_t classes, uint32_t parts);
void mot_glimpse_close(struct mot_glimpse *);
/* Looks at a class that was just partitioned, if its similarities are all there; g may be NULL. */
void mot_glimpse_class(
    struct mot_glimpse *g, uint32_t class, const struct mot_similar *, const uint32_t *owner);

#endif
