/* replay.h -- the driver of a recorded run: the same events at every node, computed again.
 *
 * Nodes are stepped one at a time, in the order of the recorded times, as far as what a step
 * needs is there. What a node is given is computed from what others did before, and must be what
 * the record says: the same head, the same loss to the last bit. */
#ifndef MOT_LIVE_REPLAY_H
#define MOT_LIVE_REPLAY_H

#include "run/gradient.h"
#include "run/outbox.h"
#include "run/outcome.h"
#include "live/record.h"
#include <signal.h>

/* An event of the node that is looked at. */
struct mot_replayed {
    mot_node node;
    uint64_t number; /* of this node's events, from 1 */
    const struct mot_taped *event;
    const struct mot_outbox *effects; /* of the step */
};

struct mot_replay_options {
    const struct mot_experiment *experiment;
    const struct mot_problem *problem;
    const struct mot_optim *optim;
    const float *x0; /* [dim]: the initial parameters */
    const struct mot_record *record;
    const struct mot_watch *watch;          /* may be NULL */
    const volatile sig_atomic_t *interrupt; /* may be NULL */
    /* Called when the replay is sure to begin, with 0; an error keeps it from beginning. May be NULL. */
    enum mot_status (*begins)(void *self, uint64_t mark);
    void *begins_self;
    /* as the experiment says, and at the end; else nothing is evaluated */
    bool evaluates;
    mot_node node; /* whose events `seen` is told of */
    /* ends after this event of that node; 0: at the end of the record */
    uint64_t until;
    /* after the step, before its effects; may be NULL */
    void (*seen)(void *self, const struct mot_replayed *);
    void *seen_self;
};

/* MOT_OK: out->status says how the recorded run ended. MOT_EREPRODUCE: an event could not
 * happen again, or the model is another; the message names node and event. */
enum mot_status mot_replay_run(const struct mot_replay_options *, struct mot_outcome *out);

/* Called before every step of the node that is looked at: a place for a debugger to stop. */
void mot_replay_here(mot_node node, uint64_t number);

#endif
