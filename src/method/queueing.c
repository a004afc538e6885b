#include "method/queueing.h"
#include "base/exact.h"

double mot_queue_throughput(
    uint32_t n, const double *p, const double *seconds, uint32_t jobs, double *length, double *before)
{
    double rate = 0;
    for (uint32_t i = 0; i < n; i++) length[i] = 0;
    for (uint32_t k = 1; k <= jobs; k++) {
        double cycle = 0; /* of a job: it finds the queue that one job less would make */
        for (uint32_t i = 0; i < n; i++) cycle += p[i] * seconds[i] * (1 + length[i]);
        rate = k / cycle;
        for (uint32_t i = 0; i < n; i++) {
            before[i] = length[i];
            length[i] = rate * p[i] * seconds[i] * (1 + length[i]);
        }
    }
    return rate;
}

static double inverse_sum(uint32_t n, const double *p)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += 1 / p[i];
    return sum;
}

double mot_queue_cost(uint32_t n, const double *p, const double *seconds, uint32_t jobs, double *work)
{
    return inverse_sum(n, p) / ((double)n * n) / mot_queue_throughput(n, p, seconds, jobs, work, work + n);
}

/* Descent in log p. With S = sum 1/p, the slope of log(cost) in log p_i is length_i - before_i - (1 / p_i)
 * / S: the queue that one more job makes at i, against i's part in the variance. The slopes sum to 0, so
 * only the shares matter. */
void mot_queue_optimal(uint32_t n, const double *seconds, uint32_t jobs, double *p, double *work)
{
    double *length = work, *before = work + n, *slope = work + 2 * (uint64_t)n,
           *trial = work + 3 * (uint64_t)n;
    double cost = mot_queue_cost(n, p, seconds, jobs, work), pace = 0.5 * n;
    uint64_t most = 20 + UINT64_C(50000000) / ((uint64_t)n * jobs);
    for (uint64_t k = 0; k < most && k < 2000 && pace > 1e-9; k++) {
        double sum = inverse_sum(n, p), total = 0, steepest = 0;
        mot_queue_throughput(n, p, seconds, jobs, length, before);
        for (uint32_t i = 0; i < n; i++) {
            slope[i] = length[i] - before[i] - 1 / p[i] / sum;
            double size = slope[i] < 0 ? -slope[i] : slope[i];
            if (size > steepest) steepest = size;
        }
        if (steepest < 1e-9 / n) return;
        double step = pace * steepest > 0.5 ? 0.5 / steepest : pace;
        for (uint32_t i = 0; i < n; i++) total += trial[i] = p[i] * mot_exp(-step * slope[i]);
        for (uint32_t i = 0; i < n; i++) trial[i] /= total;
        double now = mot_queue_cost(n, trial, seconds, jobs, work);
        if (now >= cost) {
            pace = step / 2;
            continue;
        }
        cost = now;
        pace = step * 1.5;
        for (uint32_t i = 0; i < n; i++) p[i] = trial[i];
    }
}
