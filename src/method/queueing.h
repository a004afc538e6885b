/* queueing.h -- workers as a closed network of queues: so many jobs, each sent to worker i with probability
 * p_i when the one before is done. Job times are taken to be exponential, for which the network has a product
 * form (Gordon and Newell, 1967). */
#ifndef MOT_METHOD_QUEUEING_H
#define MOT_METHOD_QUEUEING_H

#include <stdint.h>

/* Jobs done a second by n workers of mean job times seconds[] with `jobs` jobs among them; length[i], and
 * before[i] for one job less: the mean number of jobs at worker i. By mean-value analysis (Reiser and
 * Lavenberg, 1980): the steps are `jobs` times n. */
double mot_queue_throughput(
    uint32_t n, const double *p, const double *seconds, uint32_t jobs, double *length, double *before);

/* The p that makes sum_i 1 / (n^2 p_i) / throughput(p) least: the first is what the variance of the steps g /
 * (n p_i), and so the number of updates that the noise asks for, is proportional to; the second how many
 * updates there are in a second. p is given, and improved; work: 4 n numbers. */
void mot_queue_optimal(uint32_t n, const double *seconds, uint32_t jobs, double *p, double *work);
/* work: 2 n */
double mot_queue_cost(uint32_t n, const double *p, const double *seconds, uint32_t jobs, double *work);

#endif
