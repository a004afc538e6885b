/* greedy.h -- the greedy partition of one class over blocks: RCD-SGD's Algorithm 1 (He and Dube, "RCD-SGD:
 * Resource-constrained distributed SGD in heterogeneous environment via submodular partitioning", 2022).
 *
 * Facility location: f(A) = sum over all v of max over a in A of s(v, a).
 * Graph cut: f(A) = sum over v outside A, a in A of s(v, a); its gain can be negative, and the largest is
 * taken even then. Of equal gains the sample with the lowest number goes first, so the result does not depend
 * on how it is computed. */
#ifndef MOT_PARTITION_GREEDY_H
#define MOT_PARTITION_GREEDY_H

#include "partition/quota.h"
#include "partition/similar.h"

enum mot_objective { MOT_FACILITY_LOCATION, MOT_GRAPH_CUT };
enum mot_block_rule {
    MOT_RULE_FILL,    /* the block filled least, |A| / quota */
    MOT_RULE_LITERAL, /* the block whose f is smallest, as printed in the paper */
    MOT_RULE_ROUND_ROBIN,
};

struct mot_greedy {
    struct mot_similar *similar;
    enum mot_objective objective;
    enum mot_block_rule rule;
    uint32_t blocks;
    const uint32_t *quota; /* [blocks]; n in all, or fewer: then samples are left over */
    bool stochastic;       /* facility location: a pick looks at a random few only */
    double epsilon;        /* stochastic: expected loss of value */
    struct {
        uint64_t seed, index;
    } draws;              /* stochastic */
    uint32_t *owner;      /* out [n]: the block, or MOT_NOBODY */
    uint32_t *order;      /* out [n]: samples in the order taken; may be NULL */
    int64_t *value;       /* out [blocks]: f, in units of 1/65535 (knn: of what is kept) */
    uint64_t evaluations; /* out */
    uint32_t candidates;  /* out: stochastic, the most that a pick looked at */
};

/* MOT_OK or MOT_EINTERRUPTED. */
enum mot_status mot_greedy_run(struct mot_greedy *);
double mot_greedy_bytes(enum mot_objective, bool stochastic, uint32_t n, uint32_t blocks);

/* How many units of mot_headway a run takes, besides the similarities. */
uint64_t mot_greedy_units(const struct mot_greedy *);

#endif
