/* fallback.h -- partitions a class again, with the same counts, if some worker's rows represent it worse than
 * random rows would. */
#ifndef MOT_PARTITION_FALLBACK_H
#define MOT_PARTITION_FALLBACK_H

#include "partition/classwise.h"
#include "partition/quality.h"

enum mot_fallback_by { MOT_FALLBACK_NONE, MOT_FALLBACK_HERDING, MOT_FALLBACK_RANDOM };

struct mot_fallback {
    enum mot_fallback_by by;
    uint32_t tried, taken;  /* classes */
    bool *was_tried;        /* [classes]: had a block that was worse than random */
    bool *is_taken;         /* its worst block was worse than that of the new result, which replaced it */
    double *before, *after; /* [classes]: the ratio of its worst block, of those tried */
};

/* Changes parts and quality where that makes the worst block of a class better. Of the options, only
 * features, bandwidth (the quality's) and memory count. */
enum mot_status mot_fall_back(enum mot_fallback_by, const struct mot_classwise_conf *,
    const struct mot_split *, const struct mot_features *, enum mot_mmd_how, struct mot_parts *,
    struct mot_quality *, struct mot_fallback *out);
void mot_fallback_close(struct mot_fallback *);

#endif
