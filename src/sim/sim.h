/* sim.h -- the simulator: the real mathematics of every node, on a virtual clock. */
#ifndef MOT_SIM_SIM_H
#define MOT_SIM_SIM_H

#include "run/driver.h"

enum mot_status mot_sim_plan(const struct mot_driver_options *, struct mot_memory_plan *out);

/* Simulates the first rounds of a run with a tiny model, until this many jobs have ended or messages left.
 * False: the run cannot be played. */
#define MOT_REHEARSAL_MOST 1000000u
bool mot_sim_rehearse(const struct mot_driver_options *, bool apart, struct mot_outcome *out);

/* The most buffers that it used at once; 0: it cannot be played. apart: as in the options. */
uint32_t mot_sim_buffers(const struct mot_driver_options *, bool apart);

#endif
