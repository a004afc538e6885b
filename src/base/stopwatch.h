/* stopwatch.h -- this machine's time, for progress and costs; never for what decides a run's numbers. */
#ifndef MOT_BASE_STOPWATCH_H
#define MOT_BASE_STOPWATCH_H

double mot_wall_s(void); /* since some moment */
double mot_cpu_s(void);  /* of this process, all threads */

#endif
