/* memory_plan.h -- what every driver's plan of its memory has in common. */
#ifndef MOT_RUN_MEMORY_PLAN_H
#define MOT_RUN_MEMORY_PLAN_H

#include "run/driver.h"
#include "run/world.h"

/* Fills in what does not depend on the driver, for this many evaluating threads, which copy this many models,
 * and the total. Before the call the plan has buffer_count, buffers_reserved, threads, states, events
 * and the scratch of gradients. */
void mot_memory_plan_fill(struct mot_memory_plan *, const struct mot_experiment *, const struct mot_problem *,
    unsigned evaluating, uint32_t models);

/* Refuses a plan that exceeds the machine's memory, rather than having the run killed half-way. */
enum mot_status mot_memory_plan_check(const struct mot_experiment *, const struct mot_memory_plan *);

/* Whether it does. With the most buffers that there can be, that is worth a closer look. */
bool mot_memory_plan_exceeds(const struct mot_memory_plan *);

#endif
