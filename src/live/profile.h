/* profile.h -- what this machine, or this cluster, is like: a cluster for the simulator, measured.
 *
 * Every node runs mot_profile_node() in the place of its method, over the same ports; so a driver that has
 * ports can be profiled. First all workers compute at the same time, as they would; then the nodes play
 * ping-pong pair by pair while the others are still. What is found comes to node 0 in the
 * heads of messages. */
#ifndef MOT_LIVE_PROFILE_H
#define MOT_LIVE_PROFILE_H

#include "cluster/cluster.h"
#include "live/node.h"

#define MOT_PROFILE_SIZES 4

struct mot_profile_worker {
    uint32_t batch[MOT_PROFILE_SIZES]; /* samples in a job of each size */
    double mean_s[MOT_PROFILE_SIZES];  /* what such a job took */
    double jobs;                       /* of all sizes */
    double fixed_s, per_sample_s;      /* fitted: fixed + samples * per_sample */
    double least, sigma;               /* times least + a lognormal, which is 1 on average */
};
/* one way */
struct mot_profile_pair {
    double latency_s, bytes_per_s;
};

struct mot_profile {
    uint32_t workers, nodes;
    mot_time seconds;                          /* of computing, in ns */
    const volatile sig_atomic_t *interrupt;    /* may be NULL */
    void (*progress)(void *self, double done); /* 0..1, called by node 0's thread; may be NULL */
    void *progress_self;
    struct mot_profile_worker *worker; /* [workers] */
    struct mot_profile_pair *pair;     /* [nodes][nodes], row: the sender */
    bool whole;                        /* nobody was interrupted or lost */
};
void mot_profile_open(struct mot_profile *, const struct mot_world *, mot_time seconds);
void mot_profile_close(struct mot_profile *);

/* The part of one node. Results are complete in node 0's process. */
void mot_profile_node(struct mot_profile *, struct mot_live_node *);

/* Jobs of one size: how many, their times' sum and sum of squares, and the shortest. */
struct mot_profile_times {
    double n, sum, squares, least;
};
void mot_profile_add(struct mot_profile_times *, double seconds);
/* Of jobs of all sizes, by times as multiples of their size's mean: the shortest, and the variance (without
 * bias: each estimated mean counts as one job less). A size with a single job tells nothing of it. */
struct mot_profile_spread {
    double jobs, least, variance;
};
struct mot_profile_spread mot_profile_spread(const struct mot_profile_times *); /* [MOT_PROFILE_SIZES] */
/* The least-squares line through the mean times; and the law of a job's time as a multiple of
 * it, which varies with `variance` and is never below `least`: no job is faster than one that
 * had a core to itself. */
void mot_profile_fit(struct mot_profile_worker *, double least, double variance);
/* Of a body of so many bytes, by round trips with and without it. A body that adds less than a tenth to its
 * trip cannot be told from noise: then it is taken to add that tenth, and this is the bandwidth that there is
 * at least. */
#define MOT_PROFILE_SEEN 0.1
double mot_profile_bandwidth(double bytes, double bulk_s, double small_s);
/* A measured figure as it is shown: three digits. The rest is noise. */
double mot_profile_digits(double);
/* A node's link, from its pairs: latencies add up, the thinner end limits. */
struct mot_link mot_profile_link(const struct mot_profile *, mot_node);
/* The machines as measured, into a cluster of that many workers and servers. Names and the rest stay. */
void mot_profile_apply(const struct mot_profile *, struct mot_cluster *);

#endif
