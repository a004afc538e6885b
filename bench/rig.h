/* rig.h -- for benchmarks of the threads driver: a run whose model has any number of floats and whose
 * gradient costs nothing, so that only the driver is measured. */
#ifndef MOT_BENCH_RIG_H
#define MOT_BENCH_RIG_H

#include "api/job.h"
#include "base/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double rig_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double rig_grad(
    const struct mot_net *net, const float *x, const struct mot_batch *b, float coef, float *g, void *scratch)
{
    (void)net, (void)b, (void)scratch;
    g[0] += coef * x[0];
    return 0;
}

static inline double rig_loss(
    const struct mot_net *net, const float *x, const struct mot_batch *b, uint32_t *hits, void *scratch)
{
    (void)net, (void)x, (void)b, (void)scratch;
    *hits = 0;
    return 0;
}

static const struct mot_model rig_trivial = {
    .name = "trivial", .computes = true, .grad = rig_grad, .loss = rig_loss
};
static const struct mot_model rig_silent = {
    .name = "silent", .computes = false, .grad = rig_grad, .loss = rig_loss
};

struct rig {
    struct mot_experiment *experiment;
    struct mot_job job;
    struct mot_net net;
    struct mot_segment segment[1];
    struct mot_optim optim;
    struct mot_problem problem;
    float *x0;
};

static inline enum mot_status rig_open(
    struct rig *r, const struct mot_model *model, uint32_t dim, const struct mot_setting *setting, size_t n)
{
    enum mot_status status = mot_experiment_open(NULL, setting, n, &r->experiment);
    if (status == MOT_OK) status = mot_job_open(r->experiment, &r->job);
    if (status != MOT_OK) return status;
    r->segment[0] = (struct mot_segment){ .name = "x", .len = dim, .shape = { dim }, .rank = 1 };
    r->net = (struct mot_net){ .kind = model,
        .shape = r->job.net.shape,
        .dim = dim,
        .trained = dim,
        .parameters = dim,
        .outputs = 1,
        .segments = 1,
        .segment = r->segment,
        .scratch_bytes = 64 };
    r->problem = r->job.problem;
    r->problem.net = &r->net;
    r->x0 = mot_aligned((size_t)dim * sizeof(float));
    return mot_optim_open(
        r->experiment->optimizer, &r->experiment->optim, &r->experiment->schedule, &r->net, &r->optim);
}

/* On threads, or over ranks if there are any. */
static inline enum mot_status rig_run_over(
    const struct rig *r, struct mot_ranks *ranks, struct mot_outcome *out)
{
    return (ranks ? &mot_driver_mpi : &mot_driver_threads)
        ->run(&(struct mot_driver_options){ .experiment = r->experiment,
                  .problem = &r->problem,
                  .optim = &r->optim,
                  .x0 = r->x0,
                  .ranks = ranks },
            out);
}

static inline enum mot_status rig_run(const struct rig *r, struct mot_outcome *out)
{
    return rig_run_over(r, NULL, out);
}

static inline void rig_close(struct rig *r)
{
    free(r->x0);
    mot_job_close(&r->job);
    mot_experiment_close(r->experiment);
}

static inline int rig_by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
