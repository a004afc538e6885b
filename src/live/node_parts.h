/* node_parts.h -- private to the files of a live node: node.c is its loop, node_work.c its jobs, node_show.c
 * what of its model it shows to others. */
#ifndef MOT_LIVE_NODE_PARTS_H
#define MOT_LIVE_NODE_PARTS_H

#include "live/node.h"

/* node.c */
struct mot_env mot_live_env(struct mot_live_node *);
void mot_live_step(struct mot_live_node *, const struct mot_event *);
void mot_live_watch_phase(
    struct mot_live_node *, enum mot_phase, uint32_t tag, uint32_t samples, mot_time from);

static inline const struct mot_machine *mot_live_machine(const struct mot_live_node *n)
{
    return &n->live->experiment->cluster->machine[n->actor.self];
}

/* node_work.c */
static inline struct mot_live_work *mot_live_running(const struct mot_live_node *n)
{
    return (struct mot_live_work *)mot_actor_running(&n->actor);
}
void mot_live_begin_next(struct mot_live_node *); /* the next job, if none runs and its samples are there */
/* Computes a slice, or gives a piece, or ends the job whose time is over. False: nothing to do now. */
bool mot_live_work_on(struct mot_live_node *);
void mot_live_start_work(void *node, struct mot_actor *, struct mot_slot *);
void mot_live_cancel_work(void *node, struct mot_actor *, struct mot_slot *);

/* node_show.c */
bool mot_live_shows(const struct mot_live_node *); /* it is one of several whose models make up the run's */
/* The next update after `u` at which nodes show their models; the last they show anyway. */
uint64_t mot_live_next_show(const struct mot_live *, uint64_t u);
void mot_live_show(struct mot_live_node *, struct mot_shown); /* hands its part of the model to the judge */
void mot_live_show_last(struct mot_live_node *);
void mot_live_show_due(struct mot_live_node *); /* what is due at this update, or was asked for */

#endif
