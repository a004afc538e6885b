/* fault.h -- what goes wrong in a cluster: at given times, or at random from the seed.
 *
 * Crashes, restarts, stalls, partitions and slow links happen to nodes. Drops, duplicates, reorderings and
 * corruptions happen to frames, below the channel that hides them from methods. Poisonings happen to
 * gradients, and methods see them. */
#ifndef MOT_CLUSTER_FAULT_H
#define MOT_CLUSTER_FAULT_H

#include <motley/method.h>
#include <motley/option.h>

enum mot_fault_kind {
    MOT_FAULT_CRASH,
    MOT_FAULT_RESTART,
    MOT_FAULT_STALL,
    MOT_FAULT_PARTITION,
    MOT_FAULT_SLOW_LINK,
    MOT_FAULT_DROP,
    MOT_FAULT_DUPLICATE,
    MOT_FAULT_REORDER,
    MOT_FAULT_CORRUPT,
    MOT_FAULT_POISON,
};
#define MOT_FAULTS_RANDOM 4 /* kinds that come at a rate: crash, stall, partition, slow link */
#define MOT_FAULTS_CHANCE                                                                                    \
    5 /* kinds that come by chance, from MOT_FAULT_DROP on: to a frame, or to a gradient */

struct mot_fault {
    enum mot_fault_kind kind;
    mot_time at, lasts;       /* lasts: MOT_NEVER: for ever; crash: until the restart */
    double amount;            /* slow link: the factor; faults of frames and gradients: the chance */
    struct mot_uints workers; /* whom it hits; no worker and no server: everyone */
    bool server;
};

/* Random faults: the times between two of a kind and their durations are exponential. */
struct mot_fault_rate {
    double per_s;
    mot_time lasts;
}; /* per_s: of each worker */

struct mot_faults {
    bool any;        /* false: nothing ever goes wrong, and the rest is ignored */
    mot_time detect; /* silence after which peers give a node up */
    mot_time until;  /* no random fault begins later */
    struct mot_fault_rate rate[MOT_FAULTS_RANDOM]; /* crash, stall, partition, slow link */
    double slow_factor;                            /* of random slow links */
    /* drop, duplicate, reorder, corrupt: of each frame; poison: of each gradient */
    double chance[MOT_FAULTS_CHANCE];
    uint32_t scheduled;
    struct mot_fault *fault; /* [scheduled]; the cluster's arena owns it */
};

const char *mot_fault_name(enum mot_fault_kind); /* "slow-link" */

/* Whether the fault hits the node; servers follow the `workers` workers. */
bool mot_fault_hits(const struct mot_fault *, uint32_t workers, mot_node);

/* Whether the gradient of a worker's `job`-th job, which ends at `now`, comes out as NaN. */
bool mot_fault_poisons(
    const struct mot_faults *, uint64_t seed, uint32_t workers, mot_node, uint64_t job, mot_time now);

#endif
