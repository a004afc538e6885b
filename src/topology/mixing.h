/* mixing.h -- from a graph to the weights by which neighbours average their models.
 *
 * All links in every round (D-PSGD): Metropolis-Hastings weights, or W = I - a L with the best constant for
 * L, a = 2 / (l2 + ln) (Xiao and Boyd, Fast linear iterations for distributed averaging, 2004), or a matrix
 * from a file. Some matchings in each round (Wang, Sahu, Yang, Joshi and Kar, MATCHA, 2019): W(k) = I - a sum
 * of the active L[j], each active with probability p[j]; p maximises the second smallest eigenvalue of E[L] =
 * sum p[j] L[j] subject to sum p <= budget * matchings, and a minimises the norm of E[W'W] - J. J is the
 * matrix of the exact mean, with entries 1/n. */
#ifndef MOT_TOPOLOGY_MIXING_H
#define MOT_TOPOLOGY_MIXING_H

#include "topology/topology.h"
#include <motley/method.h>

#define MOT_DENSE_MOST 256u /* nodes up to which eigenvalues are exact, */
#define MOT_CLIMB_MOST                                                                                       \
    64u /* and up to which chances are optimised; beyond, every matching has the budget as its chance */

struct mot_mixing_plan {
    struct mot_graph graph;
    struct mot_mixing mixing; /* for the world; points into what follows */
    uint32_t *at;
    struct mot_near *near;
    double *chance;
    unsigned char *side;
    double alpha; /* NaN: weights differ from edge to edge */
    /* If no weight depends on what follows, it is NaN until mot_mixing_measure computes it. */
    double second, greatest; /* eigenvalues of L, or of E[L] where matchings are drawn */
    /* the smallest eigenvalue of W; NaN where matchings are drawn. A step along a gradient computed before
     * averaging is stable while rate * curvature stays below 1 + least */
    double least;
    /* of W - J, or of E[W'W] - J: the most that a round leaves of a disagreement (of its square) */
    double norm;
    /* the smallest weight that a worker gives to its own model when all links are active */
    double own_least;
    /* false: the eigenvalues are Lanczos estimates, and the norm a lower bound */
    bool exact;
};

/* budget: the share of matchings that a round uses; NaN: all links always, so no matchings are needed. */
enum mot_status mot_mixing_open(const struct mot_topology *, const struct mot_topology_conf *, uint32_t nodes,
    uint64_t seed, double budget, struct mot_mixing_plan *out);
/* Computes the eigenvalues and the norm unless they are known. */
void mot_mixing_measure(struct mot_mixing_plan *);
void mot_mixing_close(struct mot_mixing_plan *);

/* A hash of all that a run depends on. */
uint64_t mot_mixing_hash(const struct mot_mixing_plan *);

/* W with all links active, [nodes][nodes], malloc'd: for people and tests. NULL if memory runs out. */
double *mot_mixing_matrix(const struct mot_mixing_plan *);

/* Chances that maximise the second smallest eigenvalue of sum chance[j] L[j] with 0 <= chance <= 1 and a mean
 * of at most budget. The graph must be split and connected, with at most MOT_CLIMB_MOST nodes. */
void mot_matcha_chances(const struct mot_graph *, double budget, double *chance);

/* The best a for these chances, and the resulting norm of E[W'W] - J. */
double mot_matcha_alpha(const struct mot_graph *, const double *chance, double *norm_out);

/* The same if all chances are equal, from the extreme eigenvalues of L alone. */
double mot_matcha_alpha_uniform(double chance, double second, double greatest, double *norm_out);

/* l[nodes][nodes] = the sum of chance[j] L[j]; chance NULL: all 1. */
void mot_laplacian(const struct mot_graph *, const double *chance, double *l);

#endif
