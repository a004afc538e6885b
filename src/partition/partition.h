/* partition.h -- who holds which rows. */
#ifndef MOT_PARTITION_PARTITION_H
#define MOT_PARTITION_PARTITION_H

#include "data/sampler.h"
#include <motley/model.h>
#include <motley/option.h>

struct mot_partitioner {
    const char *name, *summary;
    const struct mot_option *options; /* may be NULL */
    size_t conf_bytes;
    enum mot_status (*split)(const void *conf, const struct mot_table *, uint32_t parts, uint64_t seed, struct mot_parts *out);
};
extern const struct mot_partitioner *const mot_partitioners[]; /* ended by NULL: equal, contiguous, stratified */

enum mot_status mot_partition(const struct mot_partitioner *, const void *conf, const struct mot_table *, uint32_t parts, uint64_t seed, struct mot_parts *out);
void mot_parts_free(struct mot_parts *);

#endif
