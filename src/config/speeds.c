/* speeds.c -- how fast the cluster's workers are at their own batches. */
#include "config/experiment.h"

double *mot_speeds_of(const struct mot_experiment *x)
{
    double *speed = mot_new(x->workers, sizeof *speed), all = 0;
    for (uint32_t i = 0; i < x->workers; i++) {
        uint64_t samples = x->batch_full ? 32 : x->batch[i];
        double mean = mot_job_mean(&x->cluster->machine[i], samples);
        all += mean;
        speed[i] = (double)samples / mean;
    }
    /* if no job takes time, all are equally fast */
    for (uint32_t i = 0; i < x->workers && all == 0; i++) speed[i] = 1;
    return speed;
}
