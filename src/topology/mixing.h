/* mixing.h -- from a graph to the weights by which neighbours average their models.
 *
 * All in every round (D-PSGD): the weights of Metropolis and Hastings, or W = I - a L with the constant a = 2
 * / (l2 + ln) that is best for L (Xiao and Boyd, Fast linear iterations for distributed averaging, 2004), or
 * a matrix from a file. Some matchings in each round (Wang, Sahu, Yang, Joshi and Kar, MATCHA, 2019): W(k) =
 * I - a sum of the active L[j], each active with the chance p[j]; p maximises the second smallest
 * eigenvalue of E[L] = sum p[j] L[j] under sum p <= budget * matchings, and a minimises the norm of E[W'W]
 * - J. J is the matrix of the exact mean: entries 1/n. */
#ifndef MOT_TOPOLOGY_MIXING_H
#define MOT_TOPOLOGY_MIXING_H

#include "topology/topology.h"
#include <motley/method.h>

#define MOT_DENSE_MOST 256u /* nodes up to which eigenvalues are exact, */
#define MOT_CLIMB_MOST                                                                                       \
    64u /* and up to which chances are worked out; above, every matching has the budget as its chance */

struct mot_mixing_plan {
    struct mot_graph graph;
    struct mot_mixing mixing; /* for the world; points into what follows */
    uint32_t *at;
    struct mot_near *near;
    double *chance;
    unsigned char *side;
    double alpha; /* NaN: weights differ from edge to edge */
    /* What follows is NaN until it is asked for, by mot_mixing_measure, where no weight depends on it. */
    double second, greatest; /* eigenvalues of L, or of E[L] where matchings are drawn */
    /* the smallest eigenvalue of W; NaN where matchings are drawn. A step along a gradient from before the
     * averaging is stable while rate * curvature stays below 1 + least */
    double least;
    /* of W - J, or of E[W'W] - J: what is left of a disagreement (of its square) after a round */
    double norm;
    /* the smallest weight that a worker gives to its own model, all links being active */
    double own_least;
    /* false: the eigenvalues are Lanczos' estimates, the norm is at least this */
    bool exact;
};

/* The share of matchings that a round uses; NaN: all links, always, and no matchings are needed. */
enum mot_status mot_mixing_open(const struct mot_topology *, const struct mot_topology_conf *, uint32_t nodes,
    uint64_t seed, double budget, struct mot_mixing_plan *out);
/* Works out the eigenvalues and the norm, if they are not known. */
void mot_mixing_measure(struct mot_mixing_plan *);
void mot_mixing_close(struct mot_mixing_plan *);

/* All that a run depends on, as a number. */
uint64_t mot_mixing_hash(const struct mot_mixing_plan *);

/* W with all links active, [nodes][nodes], malloc'd: for people and tests. NULL if memory runs out. */
double *mot_mixing_matrix(const struct mot_mixing_plan *);

/* Chances that maximise the second smallest eigenvalue of sum chance[j] L[j] under 0 <= chance <= 1 and their
 * mean <= budget. The graph is split, connected and has at most MOT_CLIMB_MOST nodes. */
void mot_matcha_chances(const struct mot_graph *, double budget, double *chance);

/* The a that is best for these chances, and the norm of E[W'W] - J under it. */
double mot_matcha_alpha(const struct mot_graph *, const double *chance, double *norm_out);

/* The same where all chances are one number, from the extreme eigenvalues of L alone. */
double mot_matcha_alpha_uniform(double chance, double second, double greatest, double *norm_out);

/* l[nodes][nodes] = the sum of chance[j] L[j]; chance NULL: all 1. */
void mot_laplacian(const struct mot_graph *, const double *chance, double *l);

#endif
