/* memory_plan.h -- what every driver's plan of its memory has in common. */
#ifndef MOT_RUN_MEMORY_PLAN_H
#define MOT_RUN_MEMORY_PLAN_H

#include "run/driver.h"
#include "run/world.h"

/* Fills in what does not depend on the driver, for this many evaluating threads, which copy this many models,
 * and the total. Before the call the plan has buffer_count, buffers_reserved, copies, states, events
 * and the scratch of gradients. */
void mot_memory_plan_fill(struct mot_memory_plan *, const struct mot_experiment *, const struct mot_problem *,
    unsigned evaluating, uint32_t models);

/* Replaces the number of buffers by what a rehearsal says, if that is fewer. */
void mot_memory_plan_expect(struct mot_memory_plan *, uint64_t buffers);

/* Adds the plan of another process. */
void mot_memory_plan_add(struct mot_memory_plan *, const struct mot_memory_plan *);

/* Refuses a run whose plan exceeds the machine's memory, rather than having it killed half-way. `closer`
 * makes the plan anew with the buffers that are expected instead of the most that there can be, which takes
 * longer; NULL: it is as close as it gets. */
enum mot_status mot_memory_plan_check(const struct mot_driver_options *, struct mot_memory_plan *,
    enum mot_status (*closer)(const struct mot_driver_options *, struct mot_memory_plan *));

#endif
