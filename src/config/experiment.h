/* experiment.h -- a resolved experiment: every key has a value, every name what it stands for. */
#ifndef MOT_CONFIG_EXPERIMENT_H
#define MOT_CONFIG_EXPERIMENT_H

#include "base/memory.h"
#include "cluster/cluster.h"
#include "compress/compress.h"
#include "data/data.h"
#include "data/sampler.h"
#include "math/optim.h"
#include "method/methods.h"
#include "partition/partition.h"
#include "stream/intake.h"
#include "topology/topology.h"
#include <motley/code.h>
#include <motley/method.h>
#include <motley/model.h>
#include <stdio.h>

enum mot_every_unit { MOT_EVERY_AUTO, MOT_EVERY_TIME, MOT_EVERY_UPDATES, MOT_EVERY_EPOCHS };
/* "1s", "100 updates", "0.5 epochs", "auto"; time in ns */
struct mot_every {
    enum mot_every_unit unit;
    double value;
};

enum mot_collective { MOT_COLLECTIVE_RING, MOT_COLLECTIVE_TREE, MOT_COLLECTIVE_DOUBLING };
enum mot_target_kind {
    MOT_TARGET_NONE,
    MOT_TARGET_TRAIN_LOSS,
    MOT_TARGET_TEST_ACCURACY,
    MOT_TARGET_GRAD_NORM
};

struct mot_experiment {
    struct mot_arena arena; /* owns what the pointers below point to */
    uint64_t seed;
    uint32_t workers;
    struct mot_data_conf data;
    struct mot_intake_conf source; /* live runs: where samples arrive from; from is NULL: from data */
    const struct mot_partitioner *partitioner;
    void *partition_conf;
    struct mot_sampler_conf sampler;
    const struct mot_model *model;
    void *model_conf;
    const struct mot_method *method;
    void *method_conf;
    /* for methods that mix */
    const struct mot_topology *topology;
    struct mot_topology_conf topology_conf;
    struct mot_code_spec code;    /* for methods that code; mot_code_of adds the seed */
    struct mot_compress compress; /* kind->pack is NULL: nothing is compressed */
    struct mot_traits traits;     /* the method's, with these options */
    uint32_t servers;             /* traits.servers */
    bool shared_parts;            /* part i is not worker i's: the method or its code says who holds which */
    bool no_raw_data;             /* samples stay with the worker that they belong to */
    bool elastic;                 /* a server waits for lost workers when none is left */
    const struct mot_optimizer *optimizer;
    struct mot_optim_conf optim;
    struct mot_schedule_conf schedule;
    bool batch_full;
    uint32_t *batch;             /* [workers]; undefined if batch_full */
    struct mot_cluster *cluster; /* workers and the method's servers */
    struct {
        struct mot_every every;
        uint32_t train; /* 0 always, 1 end: when the whole training set is evaluated */
        bool grad_norm; /* at every evaluation, not only at the end */
        enum mot_heterogeneity_when {
            MOT_HETEROGENEITY_ENDS,
            MOT_HETEROGENEITY_ALWAYS,
            MOT_HETEROGENEITY_NEVER
        } heterogeneity;
    } evaluate;
    struct {
        uint64_t updates; /* MOT_WORD_UINT: not limited */
        double epochs;    /* NaN: not limited */
        mot_time time;    /* MOT_NEVER: not limited */
        enum mot_target_kind target;
        double value;
    } stop;
    struct {
        uint32_t threads;    /* resolved: at least 1 */
        uint32_t collective; /* enum mot_collective */
        bool overcommit;
    } sim;
    struct {
        bool fast;      /* sums use MPI's own algorithm, not rank order */
        bool own;       /* the server has a rank of its own */
        bool check_all; /* checksums cover bodies too */
    } mpi;
    struct mot_every checkpoint; /* run time, updates or epochs; MOT_EVERY_AUTO: at the end only */
    const char *from;            /* a model.safetensors to start from; NULL: the model's own initialisation */
    bool trace;
    const char *output; /* the run's folder; NULL: none is written */
};

/* A setting from the command line, such as "stop.updates" = "100"; `origin` is the flag
 * ("--stop-updates", "--set"). Settings are applied after the file, in order. */
struct mot_setting {
    const char *key, *value, *origin;
};

/* Whether an experiment can be there: not if it is a folder. */
enum mot_status mot_experiment_found(const char *path);

/* Reads `path` (NULL: defaults only), applies the settings, resolves. Errors name
 * file, line and column (or the flag), what was expected and the nearest name. */
enum mot_status mot_experiment_open(
    const char *path, const struct mot_setting *, size_t settings, struct mot_experiment **out);
void mot_experiment_close(struct mot_experiment *);

/* The same for one run of a study: from the file's text, called `name` in messages (NULL: defaults only).
 * Its sections compare, sweep and tune are skipped; mot_experiment_open refuses a file that has them. */
enum mot_status mot_experiment_open_run(const char *name, const char *text, size_t n,
    const struct mot_setting *, size_t settings, struct mot_experiment **out);
extern const char *const mot_study_sections[]; /* "compare", "sweep", "tune"; ended by NULL */

/* Whether samples arrive over time: as the cluster says, or from a source. */
bool mot_experiment_streams(const struct mot_experiment *);

/* Worker speeds in samples a second, at each worker's own batch; partitioners and some codes use them.
 * malloc'd. */
double *mot_speeds_of(const struct mot_experiment *);

/* What the run's code is built from. */
struct mot_code_spec mot_code_of(const struct mot_experiment *);

/* The resolved experiment as YAML that reads back to the same experiment. Paths are absolute; the cluster
 * is inline. */
enum mot_status mot_experiment_print(const struct mot_experiment *, FILE *);

/* XXH64 of all that decides the mathematics and the virtual clock (not output, trace, threads,
 * checkpoint, stop): a run resumes only from a checkpoint with the same hash. */
uint64_t mot_experiment_hash(const struct mot_experiment *);

#endif
