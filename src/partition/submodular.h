/* submodular.h -- the options of the partitioner `submodular`, for those who look at them. */
#ifndef MOT_PARTITION_SUBMODULAR_H
#define MOT_PARTITION_SUBMODULAR_H

#include "partition/partition.h"

struct mot_submodular_conf {
    uint32_t objective, rule; /* enum mot_objective, enum mot_block_rule */
    const char *features;
    double bandwidth;            /* NaN: the median distance */
    uint32_t algorithm;          /* 0: by memory */
    uint64_t memory, neighbours; /* neighbours MOT_WORD_UINT: chosen */
    double epsilon;
    uint32_t sizes;
};

#endif
