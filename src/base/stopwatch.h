/* stopwatch.h -- this machine's clocks, for live runs, progress and costs; the simulation never sees them. */
#ifndef MOT_BASE_STOPWATCH_H
#define MOT_BASE_STOPWATCH_H

#include <stdint.h>

uint64_t mot_wall_ns(void); /* monotonic, since an arbitrary moment */
double mot_wall_s(void);    /* the same in seconds */
double mot_cpu_s(void);     /* of this process, all threads */

#endif
