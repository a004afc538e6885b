/* fit.h -- the time laws and straggler models of a cluster file, fitted to a recorded trace of job times.
 *
 * A job straggles if it takes more than `threshold` times the median of its iteration. This gives a table of
 * bits, and the models are laws of that table, fitted by maximum likelihood. To check what a model says about
 * runs and nodes, we simulate traces from it and compare them with the recorded one. */
#ifndef MOT_CLUSTER_FIT_H
#define MOT_CLUSTER_FIT_H

#include "cluster/cluster.h"

enum mot_fit_kind {
    MOT_FIT_IID,         /* one probability for all */
    MOT_FIT_TWO_CLASS,   /* a worker's class is drawn once */
    MOT_FIT_MARKOV,      /* one chain for all */
    MOT_FIT_IID_EACH,    /* a probability for each node */
    MOT_FIT_MARKOV_EACH, /* a chain for each node */
    MOT_FIT_MODELS,      /* only those above have a likelihood; those below are only written to files */
    MOT_FIT_CLASSES = MOT_FIT_MODELS, /* two-class, with each node in its inferred class */
    MOT_FIT_TRACE,                    /* replays the trace */
    MOT_FIT_NONE,                     /* nothing straggles */
    MOT_FIT_KINDS
};
const char *mot_fit_name(enum mot_fit_kind); /* "markov-each" */

struct mot_fit_node {
    uint32_t straggles, runs, longest; /* jobs, runs of jobs, the longest run */
    /* Straggling jobs relative to the mean of the others: mean, least and most; NaN if there are none. A node
     * that always straggles is compared with the median. */
    double factor, factor_least, factor_most;
    double mean;                 /* seconds of a job that does not straggle */
    double pace;                 /* the same, relative to the median */
    double slow;                 /* the probability that it is in the slow class of two-class */
    double stay_slow, stay_fast; /* of its own chain */
    struct mot_law law;          /* of the times of jobs that do not straggle */
};

/* Figures of runs and nodes: of the trace, or the least or most of simulated traces. */
struct mot_fit_looks {
    double mean_run, longest_run;
    double busiest; /* the largest share of straggling jobs of any node */
};

struct mot_fit_model {
    struct mot_straggle straggle; /* kinds with EACH: without the parameters of single nodes */
    uint32_t parameters;
    double log_likelihood, bic;       /* of which jobs straggle, not of their times, which the laws fit */
    struct mot_fit_looks least, most; /* of `simulated` traces of the same size */
};

/* The laws that times are fitted to, each with two parameters; poisson is of whole numbers. */
#define MOT_FIT_LAWS 5
struct mot_fit_law {
    enum mot_law_kind kind;
    double log_likelihood;
    double distance; /* Kolmogorov's: the largest error in the share of times below any of them */
};

struct mot_fit {
    const struct mot_trace *trace;
    double threshold;
    bool of_own; /* with fewer than three nodes there is no majority: compare with the node's own median */
    uint8_t *straggles;        /* [rows][cols] */
    struct mot_fit_node *node; /* [cols] */
    uint64_t total;            /* straggling jobs */
    double factor;             /* of all of them; 1 if there are none */
    struct mot_fit_looks looks;
    struct mot_fit_model model[MOT_FIT_MODELS];
    struct mot_fit_law law[MOT_FIT_LAWS];
    uint64_t timed;    /* jobs whose times the laws were fitted to */
    uint32_t constant; /* nodes whose jobs all take the same time unless they straggle: law fixed */
    uint32_t best_law; /* of law[] */
    enum mot_fit_kind best;
    uint32_t simulated;
};

/* `name` is what errors call the trace, which must outlive the fit. */
enum mot_status mot_fit_open(
    const char *name, const struct mot_trace *, double threshold, uint64_t seed, struct mot_fit *out);
void mot_fit_close(struct mot_fit *);

/* Whether the trace looks like those simulated from the model. */
bool mot_fit_agrees(const struct mot_fit *, enum mot_fit_kind);

/* How a node straggles under a model; not for MOT_FIT_TRACE. */
struct mot_straggle mot_fit_straggle(const struct mot_fit *, enum mot_fit_kind, uint32_t node);

/* ---- Within the fit ----------------------------------------------------------------------- */

/* Fits the law to a node's times, sorted and not all the same. Returns their log-likelihood: -infinity if the
 * law cannot produce them. */
double mot_law_fit(enum mot_law_kind, const double *sorted, size_t n, struct mot_law *out);
/* The probability of a value below x, exact enough to show. */
double mot_law_below(const struct mot_law *, double x);

/* Counts of a chain's transitions and first states, summed over nodes. */
struct mot_fit_chain {
    double slow_slow, slow_fast, fast_fast, fast_slow, first_slow, first_fast;
};
double mot_fit_markov(const struct mot_fit_chain *, double *stay_slow, double *stay_fast);
/* hits[i] of the `jobs` jobs of node i straggle; fills `slow` with each node's probability of the slow
 * class. */
double mot_fit_two_class(
    const double *hits, uint32_t nodes, double jobs, struct mot_straggle *, double *slow);

void mot_fit_laws(struct mot_fit *);
void mot_fit_simulate(struct mot_fit *, uint64_t seed);
struct mot_fit_looks mot_fit_look(const uint8_t *straggles, uint32_t rows, uint32_t cols);

#endif
