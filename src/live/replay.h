/* replay.h -- the driver that replays a recorded run: every node gets the same events, computed again.
 *
 * Nodes are stepped one at a time in order of recorded time, as soon as what a step needs is there. What a
 * node receives is computed from what the others did, and must match the record: the same head, the same loss
 * to the last bit. If it does not, the run ends with MOT_EREPRODUCE and names node and event. */
#ifndef MOT_LIVE_REPLAY_H
#define MOT_LIVE_REPLAY_H

#include "live/record.h"
#include "run/driver.h"
#include "run/outbox.h"

/* An event of the inspected node. */
struct mot_replayed {
    mot_node node;
    uint64_t number; /* among this node's events, from 1 */
    const struct mot_taped *event;
    const struct mot_outbox *effects; /* of the step */
};

/* A node to inspect; nothing is evaluated meanwhile. */
struct mot_inspection {
    mot_node node;
    uint64_t until; /* stop after this event; 0: at the end of the record */
    /* Called after the step, before its effects; may be NULL. */
    void (*seen)(void *self, const struct mot_replayed *);
    void *seen_self;
};

/* Called before every step of the inspected node: a place for a breakpoint. */
void mot_replay_here(mot_node node, uint64_t number);

#endif
