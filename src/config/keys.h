/* keys.h -- every key of an experiment and of a cluster file, as data.
 *
 * Parsing, flags, help, man pages and the resolved file all follow from here
 * and from the option tables of the parts. */
#ifndef MOT_CONFIG_KEYS_H
#define MOT_CONFIG_KEYS_H

#include "base/memory.h"
#include <motley/option.h>
#include <stdbool.h>

/* One of several things an experiment can name: a method, a model, a law. */
struct mot_choice {
    const char *name, *summary, *about; /* about may be NULL */
    const struct mot_option *options;   /* may be NULL */
    const void *kind;                   /* the struct mot_method, mot_model, ... */
    size_t index;                       /* its place in the family */
};

struct mot_family {
    const char *section;    /* "method" */
    const char *one, *many; /* "method", "methods": for sentences */
    const char *preset;
    bool (*get)(size_t i, struct mot_choice *out); /* the i-th; false past the last */
};
bool mot_family_find(const struct mot_family *, const char *name, struct mot_choice *out);

extern const struct mot_family mot_family_partition, mot_family_model, mot_family_method,
    mot_family_optimizer, mot_family_topology, mot_family_code, mot_family_compress;
extern const struct mot_family mot_family_job_time, mot_family_jitter, mot_family_straggle, mot_family_stream;
extern const struct mot_family *const mot_families[]; /* of an experiment; ended by NULL */

/* A section of the experiment: a table, or a family whose members have tables. */
struct mot_section {
    const char *name; /* "stop.target"; "" for the keys outside sections */
    const char *doc;
    const struct mot_option *options;
    const struct mot_family *family;
};
extern const struct mot_section mot_sections[];         /* ended by a NULL name */
extern const struct mot_section mot_cluster_sections[]; /* of a cluster file; ended by a NULL name */

/* The tables of sections that only the experiment itself reads. */
struct mot_header_conf {
    uint64_t seed, workers;
    uint32_t sizing;
    bool trace, elastic, no_raw_data;
    const char *batch, *cluster, *from, *output;
};
struct mot_evaluate_conf {
    const char *every;
    uint32_t train;
    bool grad_norm;
    uint32_t heterogeneity;
};
struct mot_stop_conf {
    uint64_t updates;
    double epochs;
    uint64_t time;
};
struct mot_target_conf {
    double train_loss, test_accuracy, grad_norm;
};
struct mot_mpi_conf {
    uint32_t reduction, place, checksum;
};
struct mot_sim_conf {
    uint64_t threads;
    uint32_t collective;
    bool overcommit;
};
struct mot_checkpoint_conf {
    const char *every;
};
extern const struct mot_option mot_header_options[], mot_evaluate_options[], mot_stop_options[],
    mot_target_options[], mot_sim_options[], mot_mpi_options[], mot_checkpoint_options[];

/* Every key of an experiment, each once for each table that has it. */
struct mot_key {
    const char *name;                /* "method.k" */
    const struct mot_option *option; /* NULL: the section itself */
    const char *of;                  /* "server" if only this method (model, ...) has it */
    const char *doc;
};
const struct mot_key *mot_keys(struct mot_arena *, size_t *n_out);

/* The most workers a run may have. */
#define MOT_WORKERS_MAX 100000

#endif
