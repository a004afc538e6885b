/* world.h -- what every driver works out of an experiment before its run: the world
 * that methods see, what they need, how often to evaluate. */
#ifndef MOT_RUN_WORLD_H
#define MOT_RUN_WORLD_H

#include "run/gradient.h"

/* part_rows has room for the parts, batch for the workers; both must last as long as the world. */
void mot_world_fill(const struct mot_experiment *, const struct mot_problem *, const struct mot_optim *,
    uint64_t *part_rows, uint32_t *batch, struct mot_world *out);
enum mot_status mot_world_check(const struct mot_experiment *, const struct mot_world *);

/* Whose models make up the run's: the servers; the workers, where they differ;
 * else one worker stands for all. The lead is the first. */
mot_node mot_world_lead(const struct mot_world *);
uint32_t mot_world_showing(const struct mot_experiment *, const struct mot_world *);

/* What all nodes need together. */
/* shown: models of several */
struct mot_needs {
    struct mot_need most;
    uint64_t states, buffers, sends, works, terms, alarms, shown;
};
struct mot_needs mot_needs_of(const struct mot_experiment *, const struct mot_world *);
uint32_t mot_needs_window(const struct mot_needs *); /* collectives that can be under way at once */
size_t mot_state_room(size_t bytes);                 /* a state's bytes, rounded up to whole cache lines */

/* How far a run is in its data after so many updates, where that is known before it begins: without a server
 * every update takes a batch of every worker. So what is due at an epoch is due at an update that all nodes
 * know, and no driver has to ask how far the others are. */
struct mot_course {
    const struct mot_world *world;
    const struct mot_problem *problem;
    bool known;
    uint64_t samples0; /* of a run that goes on: before world->step0 */
};
struct mot_course mot_course_of(
    const struct mot_experiment *, const struct mot_world *, const struct mot_problem *, uint64_t samples0);
/* Where a worker is in its part after so many updates. */
uint64_t mot_course_draw(const struct mot_course *, mot_node worker, uint64_t updates);
uint64_t mot_course_samples(const struct mot_course *, uint64_t updates);
double mot_course_epochs(const struct mot_course *, uint64_t updates);
/* The first update by which so many epochs are done; UINT64_MAX: the data ends before, or it is not known. */
uint64_t mot_course_update(const struct mot_course *, double epochs);
/* The first update after this one at which something is due that is due every so often; UINT64_MAX where the
 * clock says when, or it is not known. */
uint64_t mot_course_due(const struct mot_course *, const struct mot_every *, uint64_t after);

/* evaluate.every with auto resolved: about fifty evaluations, whatever ends the run. */
struct mot_every mot_every_resolve(const struct mot_experiment *);

/* Finds the slowest worker, for progress: offer each with the time
 * of its mean job (0: none done), then ask. */
struct mot_pick {
    mot_node worker;
    uint32_t n;
    double longest, sum;
};
void mot_pick_worker(struct mot_pick *, mot_node, double job_time);
void mot_pick_slowest(const struct mot_pick *, struct mot_moment *);

#endif
