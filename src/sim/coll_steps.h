/* coll_steps.h -- a collective as steps of messages between its members, who are named by rank.
 *
 * The steps say which message a node sends next, given what it has joined and received so far. There are
 * no barriers: a node sends as soon as it has what it needs. The numbers are added elsewhere, by the
 * driver and in rank order, so every collective gives the same bits. */
#ifndef MOT_SIM_COLL_STEPS_H
#define MOT_SIM_COLL_STEPS_H

#include "config/experiment.h"
#include <motley/method.h>

/* Which steps to use: sim.collective chooses those of a sum; to or from a root, one half of the tree is
 * used. */
enum mot_coll_way {
    MOT_WAY_RING = MOT_COLLECTIVE_RING,
    MOT_WAY_TREE = MOT_COLLECTIVE_TREE,
    MOT_WAY_DOUBLING = MOT_COLLECTIVE_DOUBLING,
    MOT_WAY_UP,
    MOT_WAY_DOWN,
    MOT_WAY_GATHER, /* everyone gets what each member gives, for packed buffers */
};
static inline enum mot_coll_way mot_coll_way(uint32_t collective, enum mot_coll_kind kind)
{
    if (kind == MOT_COLL_SUM) return (enum mot_coll_way)collective;
    return kind == MOT_COLL_TO_ROOT ? MOT_WAY_UP : MOT_WAY_DOWN;
}
/* Without floats a ring has nothing to share out, and a tree takes the fewest messages. */
static inline enum mot_coll_way mot_coll_way_for(uint32_t collective, enum mot_coll_kind kind, uint32_t len)
{
    return kind == MOT_COLL_SUM && len == 0 ? MOT_WAY_TREE : mot_coll_way(collective, kind);
}

/* One node's progress in one collective. */
struct mot_coll_progress {
    bool joined, finished;
    uint32_t sent;     /* steps sent */
    uint32_t received; /* ring, tree: messages received */
    uint32_t have;     /* doubling, gather: one bit per step received; tree: bit 0 = the parent's */
};

/* floats first..last-1 of the slice; in a gather, what members first..last-1 (mod n) gave */
struct mot_coll_step {
    mot_node to;
    uint32_t step;
    uint64_t first, last;
};

/* Whether that message can arrive now. Ask before mot_coll_received if the link may be damaged. */
bool mot_coll_expects(enum mot_coll_way, uint32_t n, mot_node self, mot_node from, uint32_t step,
    const struct mot_coll_progress *);

/* A message of step `step` from node `from` has arrived. */
void mot_coll_received(
    enum mot_coll_way, uint32_t n, mot_node self, mot_node from, uint32_t step, struct mot_coll_progress *);

/* The next message that the node can send, counted as sent; false if it must wait or has sent all. */
bool mot_coll_next(enum mot_coll_way, uint32_t n, mot_node self, uint32_t len, struct mot_coll_progress *,
    struct mot_coll_step *out);

/* True if the node can neither send nor be complete before something arrives; false says nothing. Cheaper
 * than asking for either, and true most of the time in a ring. */
static inline bool mot_coll_waits(enum mot_coll_way way, const struct mot_coll_progress *p)
{
    return way == MOT_WAY_RING && p->sent > p->received;
}

/* Whether the node has the whole sum. */
bool mot_coll_complete(enum mot_coll_way, uint32_t n, mot_node self, const struct mot_coll_progress *);

/* The bytes of a gather's step, from the bytes that each member gave. */
uint64_t mot_coll_gathered(const uint64_t *given, uint32_t n, const struct mot_coll_step *);

/* The most messages of one collective in flight at once. */
uint64_t mot_coll_flights(enum mot_coll_way, uint32_t n);

#endif
