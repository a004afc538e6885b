/* rounds.h -- graphs that change from round to round, at random or in turn: who gets a model from whom, and
 * how fast models come to agree. */
#ifndef MOT_TOPOLOGY_ROUNDS_H
#define MOT_TOPOLOGY_ROUNDS_H

#include <motley/method.h>

#define MOT_MIXED 1e-6 /* models count as mixed once this share of the squared disagreement is left */
#define MOT_MIXING_MOST 100000u /* rounds after which mot_rounds_measure gives up */
#define MOT_ROUNDS_DENSE 128u   /* nodes up to which every direction of a disagreement is followed */

struct mot_rounds;
struct mot_rounds_kind {
    const char *name, *summary;
    bool random; /* every segment has its own peers */
    /* from[i * peers + j]: where node i gets its j-th model from; MOT_NO_NODE: from nobody */
    void (*draw)(const struct mot_rounds *, uint64_t round, uint32_t segment, mot_node *from);
};
extern const struct mot_rounds_kind *const mot_rounds_kinds[]; /* ended by NULL */

struct mot_rounds {
    const struct mot_rounds_kind *kind;
    uint32_t nodes, peers; /* peers: models that a node gets in a round; all weigh as much as its own */
    uint64_t seed;
};

/* NULL if there is none of this name. */
const struct mot_rounds_kind *mot_rounds_find(const char *name);
/* Fails if this kind does not suit so many nodes or peers. */
enum mot_status mot_rounds_check(const struct mot_rounds *);

struct mot_rounds_figures {
    /* the share of the squared disagreement (the sum of squared distances from the mean of all models) that
     * one round leaves, averaged over its directions and over rounds */
    double contraction;
    /* rounds until at most MOT_MIXED is left, averaged over directions and draws; 0: more than
     * MOT_MIXING_MOST */
    uint32_t mixing;
    double fan_out, fan_out_most; /* receivers per node in a round: mean; mean of each round's largest */
    double reach; /* nodes whose floats a node has after one round in any of the segments, its own included */
};
enum mot_status mot_rounds_measure(
    const struct mot_rounds *, uint32_t segments, struct mot_rounds_figures *out);

#endif
