/* cluster.h -- the model of a cluster: how long a job takes, how much a link carries. */
#ifndef MOT_CLUSTER_CLUSTER_H
#define MOT_CLUSTER_CLUSTER_H

#include "base/memory.h"
#include "base/rng.h"
#include "cluster/fault.h"
#include "cluster/stream.h"
#include <motley/method.h>
#include <motley/option.h>

/* A random quantity: seconds as a job_time, a factor as a jitter. value = |draw| + plus. */
enum mot_law_kind {
    MOT_LAW_FIXED,
    MOT_LAW_UNIFORM,
    MOT_LAW_NORMAL,
    MOT_LAW_LOGNORMAL,
    MOT_LAW_EXPONENTIAL,
    MOT_LAW_PARETO,
    MOT_LAW_POISSON
};
struct mot_law {
    enum mot_law_kind kind;
    double mean;      /* fixed, normal, exponential, poisson, pareto, lognormal: the mean */
    double low, high; /* uniform */
    double sd;        /* normal */
    double sigma;     /* lognormal: deviation of the logarithm */
    double alpha;     /* pareto: tail exponent, > 1 */
    double unit;      /* poisson: what one count stands for; 1 s for a job_time */
    double plus;
};
double mot_law_draw(const struct mot_law *, struct mot_rng *);
double mot_law_mean(const struct mot_law *);

/* Straggling multiplies a job's time by `factor` while the worker straggles. */
enum mot_straggle_kind {
    MOT_STRAGGLE_NONE,
    MOT_STRAGGLE_IID,
    MOT_STRAGGLE_TWO_CLASS,
    MOT_STRAGGLE_MARKOV,
    MOT_STRAGGLE_TRACE
};
struct mot_trace {
    uint32_t rows, cols;
    const double *seconds;   /* [rows][cols] */
    const char *const *name; /* [cols]: from the header, or NULL; "" where a cell is empty */
};
struct mot_straggle {
    enum mot_straggle_kind kind;
    double factor;                 /* 5: five times slower */
    double p;                      /* iid: the probability that a job straggles */
    double slow;                   /* two-class: the probability that a worker is of the slow class */
    double p_slow, p_fast;         /* two-class: the probability that a job straggles, in each class */
    double stay_slow, stay_fast;   /* markov */
    const char *path;              /* trace: CSV, one row per iteration, one column per node, seconds */
    uint32_t column;               /* trace: this worker's column */
    const struct mot_trace *trace; /* shared, owned by the cluster */
};

/* The longest that a job may take, 31 years: longer than any run, yet nanoseconds are far from
 * overflowing. */
#define MOT_JOB_LONGEST_S 1e9

struct mot_link {
    double up, down;
    mot_time latency;
}; /* bytes per second; INFINITY: free */

/* Whether job_time and traces give the time of a job of any size, or of one the size of the worker's batch,
 * so that other sizes take proportionally more or less. Speeds always go by samples. */
enum mot_price { MOT_PRICE_AUTO, MOT_PRICE_JOB, MOT_PRICE_SAMPLES };

/* Bytes in which samples of a stream wait: first memory, then storage. Memory 0: not limited. */
struct mot_room {
    uint64_t memory, storage;
};

struct mot_machine {   /* one node of the cluster */
    const char *name;  /* the group's name, or NULL */
    double speed;      /* samples per second */
    mot_time fixed;    /* time that a batch takes in addition */
    bool has_job_time; /* then job_time replaces speed and fixed */
    struct mot_law job_time, jitter;
    struct mot_straggle straggle;
    uint32_t price; /* enum mot_price; AUTO is JOB, unless the method makes it SAMPLES */
    struct mot_link link;
    struct mot_stream stream;
    struct mot_room room;
};

/* Machines that nodes share: each hosts `workers` consecutive workers, all if 0; servers are on the first.
 * Busy nodes share its cores; 0: each node has a core of its own. */
struct mot_host {
    uint32_t cores, workers;
};
/* How fast nodes do what is not a job, in bytes of a model a second: optimiser steps, and other writing to
 * buffers of the model's size (sums, mixing). 0: takes no time. */
struct mot_costs {
    double step, mix;
};

struct mot_cluster {
    uint32_t workers, servers;
    struct mot_machine *machine; /* [workers + servers]; the first server's is there even if there is none */
    struct mot_faults faults;
    struct mot_arena_block *arena; /* names, traces */
    struct mot_host host;
    struct mot_costs costs;
};
void mot_cluster_close(struct mot_cluster *);
/* The host that a node is on. */
static inline uint32_t mot_host_of(const struct mot_cluster *c, mot_node node)
{
    return node < c->workers && c->host.workers ? node / c->host.workers : 0;
}
/* Whether samples arrive over time at any worker. */
bool mot_cluster_streams(const struct mot_cluster *);

/* Reads a trace from CSV: a header is allowed, and a first column called `iteration` is skipped. The arena
 * owns the result. */
enum mot_status mot_trace_read(const char *path, struct mot_arena *, const struct mot_trace **out);
/* The same from text followed by a zero byte; errors call it `name`. */
enum mot_status mot_trace_parse(
    const char *name, const char *text, size_t n, struct mot_arena *, const struct mot_trace **out);

/* Whether two workers are alike in everything but a trace's column. */
bool mot_machine_alike(const struct mot_machine *, const struct mot_machine *);

/* Makes the worker's jobs take `factor` times as long; it must not replay a trace. Times stay whole
 * nanoseconds, so that printed values read back unchanged. */
void mot_machine_slow(struct mot_machine *, double factor);

/* Whether job_time or a trace gives the times of this worker's jobs. */
static inline bool mot_machine_timed(const struct mot_machine *m)
{
    return m->has_job_time || m->straggle.kind == MOT_STRAGGLE_TRACE;
}

/* The clock of one worker's jobs: counter-based, so a struct of two numbers to checkpoint. */
struct mot_pace {
    uint64_t jobs;
    uint32_t straggling;
    uint32_t batch; /* constant: samples that job_time and traces are for; 0: any number */
};
struct mot_pace mot_pace_of(const struct mot_machine *, uint32_t batch); /* for a worker with that batch */

/* How long the worker's next job takes, for `samples` samples; advances *pace. */
mot_time mot_job_time(
    const struct mot_machine *, uint64_t seed, mot_node worker, struct mot_pace *pace, uint64_t samples);

/* The mean time of a job in seconds; if job_time or a trace gives it, of one the size of the worker's
 * batch. */
double mot_job_mean(const struct mot_machine *, uint64_t samples);

/* The long-run share of the worker's jobs that straggle, given the class that the seed puts it in. 0 for a
 * trace. */
double mot_straggling_share(const struct mot_machine *, uint64_t seed, mot_node worker);
/* chance[i]: the share of rounds in which worker i is late for whatever reason: its job takes more than twice
 * the median of workers that do not straggle. samples[i]: samples of its jobs; batch[i]: of the jobs that
 * job_time and traces describe. */
void mot_straggle_chances(const struct mot_cluster *, uint64_t seed, const uint32_t *batch,
    const uint32_t *samples, double *chance);

/* How many of a job's `samples` are finished after `elapsed`, if the whole job takes `whole`: what counts at
 * a deadline. */
uint64_t mot_job_done(const struct mot_machine *, mot_time whole, mot_time elapsed, uint64_t samples);
/* The inverse: the first moment at which `done` samples are finished. */
mot_time mot_job_when(const struct mot_machine *, mot_time whole, uint64_t done, uint64_t samples);
/* The moment at which the share `left` of the work on the samples remains. */
mot_time mot_job_until(const struct mot_machine *, mot_time whole, uint64_t samples, double left);

/* Cuts `total` (at least n) into n whole shares in proportion to the speeds, which must be above 0. Each is
 * at least 1 and they add up to `total`; what rounding leaves goes to the largest remainders, lower index
 * first. */
void mot_share_out(uint32_t n, const double *speed, uint64_t total, uint32_t *share_out);

#endif
