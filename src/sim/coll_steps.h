/* coll_steps.h -- the message schedules of a sum over all workers.
 *
 * A schedule says, for one node and what it has joined and received so far,
 * which message it sends next. There are no barriers: a node sends as soon as
 * what it needs is there. The numbers are not here: the driver adds the inputs
 * in rank order, so that every schedule gives the same bits. */
#ifndef MOT_SIM_COLL_STEPS_H
#define MOT_SIM_COLL_STEPS_H

#include "config/experiment.h"
#include <motley/method.h>

/* What one node has done of one collective. */
struct mot_coll_progress {
    bool joined, finished;
    uint32_t sent;     /* steps of its schedule that it has sent */
    uint32_t received; /* ring, tree: messages received */
    uint32_t have;     /* doubling: a bit for each step received; tree: bit 0 = the parent's */
};

/* floats first..last-1 of the slice */
struct mot_coll_step {
    mot_node to;
    uint32_t step;
    uint64_t first, last;
};

/* A message of step `step` from node `from` reached the node. */
void mot_schedule_received(
    enum mot_collective, uint32_t n, mot_node self, mot_node from, uint32_t step, struct mot_coll_progress *);

/* The next message the node can send now; false if it must wait or has sent all. Counts it as sent. */
bool mot_schedule_next(enum mot_collective, uint32_t n, mot_node self, uint32_t len,
    struct mot_coll_progress *, struct mot_coll_step *out);

/* Whether the node has the whole sum. */
bool mot_schedule_complete(enum mot_collective, uint32_t n, mot_node self, const struct mot_coll_progress *);

/* The most messages of one collective that are under way at once. */
uint64_t mot_schedule_flights(enum mot_collective, uint32_t n);

#endif
