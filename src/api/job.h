/* job.h -- from an experiment to a finished run: what `motley sim` and the library share. */
#ifndef MOT_API_JOB_H
#define MOT_API_JOB_H

#include "report/foresight.h"
#include "run/driver.h"
#include "run/heterogeneity.h"
#include "topology/mixing.h"
#include <jansson.h>

/* An experiment with its data read, its model set up and its data partitioned. */
struct mot_job {
    const struct mot_experiment *experiment; /* not owned */
    struct mot_dataset *data;
    bool lent; /* the data is borrowed */
    struct mot_net net;
    struct mot_parts parts;
    struct mot_problem problem;
    struct mot_optim optim;
    struct mot_mixing_plan mixing; /* for methods that mix */
    struct mot_code *code;         /* for methods that code, else NULL */
    float *x0;
    uint64_t hash; /* of the experiment and its data */
};
enum mot_status mot_job_open(const struct mot_experiment *, struct mot_job *out);
/* The same with data and parts that already exist: what mot_dataset_open and mot_job_parts give for this
 * experiment. The data must outlive the job. The job owns the parts from here on, even if it fails. */
enum mot_status mot_job_open_with(
    const struct mot_experiment *, struct mot_dataset *, struct mot_parts, struct mot_job *out);
/* Partitions the data: who holds which rows. */
enum mot_status mot_job_parts(
    const struct mot_experiment *, const struct mot_dataset *, struct mot_parts *out);
void mot_job_close(struct mot_job *);

/* How far the parts differ at the initial model. */
struct mot_heterogeneity mot_job_differs(const struct mot_job *, const struct mot_look *, unsigned threads);

/* What to expect of a run that codes; false: nothing (see mot_foresee). */
bool mot_job_foresee(const struct mot_job *, struct mot_foresight *out);

struct mot_job_ways {
    const struct mot_driver *driver;        /* NULL: the simulator */
    struct mot_ranks *ranks;                /* for a run of several processes */
    bool own_rows;                          /* and each has a job of its own: see run/driver.h */
    bool emulate;                           /* live: make nodes and links as slow as the cluster says */
    bool resume;                            /* resume from the checkpoint in the run folder */
    bool reborn;                            /* it would be resumed, had it reached its first checkpoint */
    bool lean;                              /* keep neither model nor checkpoint */
    bool replace;                           /* overwrite a run in the folder */
    bool tensorboard;                       /* write TensorBoard events */
    bool record;                            /* live: record every node's events */
    const char *moves_to;                   /* final place of the folder, for the summary; or NULL */
    const char *arrivals;                   /* replay: folder of the recorded run */
    FILE *progress;                         /* NULL: none */
    bool terminal;                          /* progress goes to a terminal */
    const volatile sig_atomic_t *interrupt; /* may be NULL */
    /* More listeners: to evaluations, and to progress about ten times a second; may be NULL. */
    void (*evaluated)(void *told, const struct mot_moment *);
    void (*tick)(void *told, const struct mot_moment *);
    /* Called before each such tick, for every worker with a known time: how long it has computed. */
    void (*worked)(void *told, mot_node worker, mot_time compute);
    void *told;
};
/* Runs the job and writes the run folder, if the experiment names one. MOT_OK: see out->status. */
enum mot_status mot_job_run(const struct mot_job *, const struct mot_job_ways *, struct mot_outcome *out);
/* The summary of such a run, as in summary.json. */
json_t *mot_job_summary(const struct mot_job *, const struct mot_driver *, const struct mot_outcome *);

#endif
