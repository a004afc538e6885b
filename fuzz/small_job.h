/* small_job.h -- for fuzzers of what a run writes: a small experiment, opened. */
#ifndef MOT_FUZZ_SMALL_JOB_H
#define MOT_FUZZ_SMALL_JOB_H

#include "api/job.h"
#include <stdlib.h>

static inline void small_job(const char *method, const char *compress, const char *workers,
    struct mot_experiment **x, struct mot_job *job)
{
    const struct mot_setting setting[] = {
        { "data", "synthetic", "fuzz" },
        { "data.size", "60", "fuzz" },
        { "data.cols", "3", "fuzz" },
        { "data.valid", "0.1", "fuzz" },
        { "model", "softmax", "fuzz" },
        { "method", method, "fuzz" },
        { "compress", compress, "fuzz" },
        { "workers", workers, "fuzz" },
        { "batch", "4", "fuzz" },
        { "optimizer.momentum", "0.9", "fuzz" },
        { "sim.threads", "1", "fuzz" },
        { "stop.updates", "10", "fuzz" },
    };
    if (mot_experiment_open(NULL, setting, MOT_COUNT(setting), x) == MOT_OK &&
        mot_job_open(*x, job) == MOT_OK)
        return;
    fprintf(stderr, "%s\n", mot_error());
    abort();
}

#endif
