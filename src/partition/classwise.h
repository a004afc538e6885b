/* classwise.h -- the partitioners that cut each class by itself, by features: `herding` and `submodular`. */
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

/* Whether the partitioner is one of these; its options are then a struct mot_classwise_conf. */
bool mot_is_classwise(const struct mot_partitioner *);

#endif
