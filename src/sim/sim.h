/* sim.h -- the simulator: the real mathematics of every node, on a virtual clock. */
#ifndef MOT_SIM_SIM_H
#define MOT_SIM_SIM_H

#include "run/driver.h"

enum mot_status mot_sim_plan(const struct mot_driver_options *, struct mot_memory_plan *out);

/* Simulates the first rounds of a run with a tiny model, until this many jobs have ended or messages left.
 * False: the run cannot be played. */
#define MOT_REHEARSAL_MOST 1000000u
bool mot_sim_rehearse(const struct mot_driver_options *, bool apart, struct mot_outcome *out);

/* Replaces the number of buffers in a plan, which is the most that there can be, by the number that a run is
 * expected to touch, plus `more`. apart: as in the options. */
void mot_sim_expect(const struct mot_driver_options *, bool apart, uint32_t more, struct mot_memory_plan *);

#endif
