/* stopwatch.h -- this machine's clocks, for live runs, progress and costs; the simulation never sees them. */
#ifndef MOT_BASE_STOPWATCH_H
#define MOT_BASE_STOPWATCH_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

uint64_t mot_wall_ns(void); /* monotonic, since an arbitrary moment */
double mot_wall_s(void);    /* the same in seconds */
double mot_cpu_s(void);     /* of this process, all threads */

/* Waits that end by themselves, on the monotonic clock: somebody who sets the wall clock neither prolongs nor
 * cuts them short. */
struct timespec mot_wall_in(uint64_t ns);   /* the moment so long from now */
void mot_timed_cond_init(pthread_cond_t *); /* for pthread_cond_timedwait until such a moment */

#endif
