/* job.h -- from an experiment to a finished run: what `motley sim` and the library share. */
#ifndef MOT_API_JOB_H
#define MOT_API_JOB_H

#include "live/threads.h"
#include "run/heterogeneity.h"
#include "sim/sim.h"
#include "topology/mixing.h"
#include "wire/ranks.h"
#include <jansson.h>

/* An experiment with its data read, its model fitted and its parts cut. */
struct mot_job {
    const struct mot_experiment *experiment; /* not owned */
    struct mot_dataset *data;
    bool lent; /* the data is somebody else's */
    struct mot_net net;
    struct mot_parts parts;
    struct mot_problem problem;
    struct mot_optim optim;
    struct mot_mixing_plan mixing; /* of methods with neighbours */
    float *x0;
    uint64_t hash; /* of the experiment and its data */
};
/* What partitions go by: samples a second of each worker at its own batch. malloc'd. */
double *mot_speeds_of(const struct mot_experiment *);

enum mot_status mot_job_open(const struct mot_experiment *, struct mot_job *out);
/* The same with data and parts that are there already: what mot_dataset_open and mot_job_parts give for this
 * experiment. The data must outlive the job; the parts are the job's from now on, also where it fails. */
enum mot_status mot_job_open_with(
    const struct mot_experiment *, struct mot_dataset *, struct mot_parts, struct mot_job *out);
/* Who holds which rows. */
enum mot_status mot_job_parts(
    const struct mot_experiment *, const struct mot_dataset *, struct mot_parts *out);
void mot_job_close(struct mot_job *);

/* How far the parts differ at the model that the run begins with. */
struct mot_heterogeneity mot_job_differs(const struct mot_job *, const struct mot_look *, unsigned threads);

enum mot_driver { MOT_DRIVER_SIM, MOT_DRIVER_THREADS, MOT_DRIVER_MPI, MOT_DRIVER_REPLAY };
const char *mot_driver_name(enum mot_driver); /* "sim", "threads", "mpi", "replay" */

struct mot_job_ways {
    enum mot_driver driver;
    bool emulate;                           /* threads: as slow as the cluster says */
    bool resume;                            /* go on from the checkpoint in the experiment's folder */
    bool lean;                              /* leave neither model nor checkpoint in the folder */
    bool replace;                           /* a run that is in the folder may be overwritten */
    bool tensorboard;                       /* write events for TensorBoard into the folder */
    bool record;                            /* threads: keep what every node was given, in the folder */
    const char *arrivals;                   /* replay: the folder of the run that was recorded */
    FILE *progress;                         /* NULL: none */
    bool terminal;                          /* progress is a terminal */
    const volatile sig_atomic_t *interrupt; /* may be NULL */
    /* who else wants to know of evaluations, and about ten times a second how far it is; may be NULL */
    void (*evaluated)(void *told, const struct mot_moment *);
    void (*tick)(void *told, const struct mot_moment *);
    void *told;
};
/* Runs, and writes the experiment's folder if it names one. MOT_OK: see out->status. */
enum mot_status mot_job_run(const struct mot_job *, const struct mot_job_ways *, struct mot_outcome *out);
/* The summary of such a run: what summary.json holds. */
json_t *mot_job_summary(const struct mot_job *, enum mot_driver, const struct mot_outcome *);

#endif
