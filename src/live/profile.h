/* profile.h -- measures this machine or cluster, for a cluster file that the simulator can use.
 *
 * Every node runs mot_profile_node() in place of its method, over the same ports, so any driver with ports
 * can be profiled. First all workers compute at once, as they would in a run: gradients, then steps of the
 * optimiser and sums of models. Then nodes play ping-pong pair by pair while the others are idle. Node 0 gets
 * the figures in message heads. */
#ifndef MOT_LIVE_PROFILE_H
#define MOT_LIVE_PROFILE_H

#include "cluster/cluster.h"
#include "live/node.h"

#define MOT_PROFILE_SIZES 4

struct mot_profile_worker {
    uint32_t batch[MOT_PROFILE_SIZES]; /* samples in a job of each size */
    double mean_s[MOT_PROFILE_SIZES];  /* mean time of such a job */
    double jobs;                       /* of all sizes */
    double fixed_s, per_sample_s;      /* fitted: fixed + samples * per_sample */
    double least, sigma;               /* times (least + a lognormal), which is 1 on average */
    double share;                      /* of the time, during which it had a core */
};
/* one way */
struct mot_profile_pair {
    double latency_s, bytes_per_s;
};

struct mot_profile {
    uint32_t workers, nodes;
    mot_time seconds;                          /* of computing, in ns */
    uint32_t cores, here;                      /* of this machine; workers on it. 0: not known */
    bool threads;                              /* the nodes are threads: a pair is put on two cores */
    const volatile sig_atomic_t *interrupt;    /* may be NULL */
    void (*progress)(void *self, double done); /* 0..1, from node 0's thread; may be NULL */
    void *progress_self;
    struct mot_profile_worker *worker; /* [workers] */
    struct mot_profile_pair *pair;     /* [nodes][nodes], row: the sender */
    /* model bytes per second: the optimiser's step, and adding one model to another; 0: not measured */
    double step_bytes_per_s, mix_bytes_per_s;
    bool whole; /* nobody was interrupted or lost */
};
/* Leaves alone what was asked for: seconds, cores, interrupt, progress. */
enum mot_status mot_profile_open(struct mot_profile *, const struct mot_world *);
void mot_profile_close(struct mot_profile *);

/* The part of one node. Results are complete in node 0's process. */
void mot_profile_node(struct mot_profile *, struct mot_live_node *);

/* Jobs of one size: their number, the sum of their times and of the squares, and the shortest. */
struct mot_profile_times {
    double n, sum, squares, least;
};
void mot_profile_add(struct mot_profile_times *, double seconds);
/* Over jobs of all sizes, with times as multiples of their size's mean: the shortest, and the unbiased
 * variance (each estimated mean takes one degree of freedom). Sizes with a single job are left out. */
struct mot_profile_spread {
    double jobs, least, variance;
};
struct mot_profile_spread mot_profile_spread(const struct mot_profile_times *); /* [MOT_PROFILE_SIZES] */
/* Fits the least-squares line through the mean times, and the law of a job's time as a multiple of it: it
 * has this variance and is never below `least`, since no job beats one that had a core to itself. */
void mot_profile_fit(struct mot_profile_worker *, double least, double variance);
/* Bandwidth from round trips with and without a body of so many bytes. A body that adds less than a tenth
 * to the trip is lost in noise: assume that it adds a tenth, which makes the result a lower bound. */
#define MOT_PROFILE_SEEN 0.1
double mot_profile_bandwidth(double bytes, double bulk_s, double small_s);
/* Rounds a measured figure to three digits; the rest is noise. */
double mot_profile_digits(double);
/* A node's link, from its pairs: latencies add up, and the slower end limits the bandwidth. */
struct mot_link mot_profile_link(const struct mot_profile *, mot_node);
/* Writes the measured machines into a cluster with as many workers and servers; names and the rest stay.
 * Neighbours that differ by no more than noise get the same figures. */
void mot_profile_apply(const struct mot_profile *, struct mot_cluster *);
/* Workers per core of this machine; at least 1. Figures are for a worker that has a core. */
double mot_profile_crowd(const struct mot_profile *);
/* The share of the cores that other programs took from the workers meanwhile. */
double mot_profile_taken(const struct mot_profile *);

#endif
