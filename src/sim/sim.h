/* sim.h -- the simulator: the real mathematics of every node, on a virtual clock. */
#ifndef MOT_SIM_SIM_H
#define MOT_SIM_SIM_H

#include "run/driver.h"

/* The most that a run will reserve, in bytes. Planning allocates nothing. */
struct mot_sim_memory {
    uint64_t buffers, buffer_count, states, events, scratch, evaluation, data, total;
};
enum mot_status mot_sim_plan_memory(const struct mot_experiment *, const struct mot_problem *,
    const struct mot_optim *, struct mot_sim_memory *out);

#endif
