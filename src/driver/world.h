/* world.h -- what every driver works out of an experiment before its run: the world
 * that methods see, what they need, how often to evaluate. */
#ifndef MOT_DRIVER_WORLD_H
#define MOT_DRIVER_WORLD_H

#include "driver/gradient.h"

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
