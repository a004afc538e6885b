/* queueing.h -- workers as a closed queueing network: a fixed number of jobs, each sent to worker i with
 * probability p_i when the previous one is done. Job times are taken to be exponential, which gives a
 * product form (Gordon and Newell, 1967). */
#ifndef MOT_METHOD_QUEUEING_H
#define MOT_METHOD_QUEUEING_H

#include <stdint.h>

/* Throughput, in jobs a second, of n workers with mean job times seconds[] that share `jobs` jobs.
 * length[i]: the mean number of jobs at worker i; before[i]: the same with one job less. By mean-value
 * analysis (Reiser and Lavenberg, 1980), in `jobs` times n steps. */
double mot_queue_throughput(
    uint32_t n, const double *p, const double *seconds, uint32_t jobs, double *length, double *before);

/* Minimises sum_i 1 / (n^2 p_i) / throughput(p) over p. The sum is proportional to the variance of the
 * steps g / (n p_i), and so to the updates that the noise costs; the throughput is how many updates a
 * second brings. Improves the given p. work: 4 n numbers. */
void mot_queue_optimal(uint32_t n, const double *seconds, uint32_t jobs, double *p, double *work);
/* work: 2 n numbers */
double mot_queue_cost(uint32_t n, const double *p, const double *seconds, uint32_t jobs, double *work);

#endif
