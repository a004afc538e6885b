/* classwise.h -- the partitioners that treat each class separately, by features: `herding` and
 * `submodular`. */
#ifndef MOT_PARTITION_CLASSWISE_H
#define MOT_PARTITION_CLASSWISE_H

#include "partition/partition.h"

struct mot_classwise_conf {
    uint32_t objective, rule; /* submodular: enum mot_objective, enum mot_block_rule */
    const char *features;
    double bandwidth;            /* NaN: the median distance */
    uint32_t algorithm;          /* 0: by memory */
    uint64_t memory, neighbours; /* submodular: neighbours MOT_WORD_UINT: chosen */
    double epsilon;              /* submodular */
    uint32_t sizes;
};

/* Partitions some classes again by herding, with `quota` [classes][parts] rows of each for every worker;
 * owner is rewritten for their rows. Of the options, only features, bandwidth and memory count. */
enum mot_status mot_herd_classes(const struct mot_classwise_conf *, const struct mot_split *,
    const bool *which, const uint32_t *quota, uint32_t *owner);

/* Whether the partitioner is one of these; its options are then a struct mot_classwise_conf. */
bool mot_is_classwise(const struct mot_partitioner *);

#endif
