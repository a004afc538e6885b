/* eigen.h -- eigenvalues of symmetric matrices in double, the same bits on every machine. */
#ifndef MOT_TOPOLOGY_EIGEN_H
#define MOT_TOPOLOGY_EIGEN_H

#include <stdint.h>

/* All eigenvalues of the symmetric a[n][n] in rising order, and if `vectors` is not NULL, the unit
 * eigenvectors: vectors[k][n] belongs to value k. Overwrites a. Cyclic Jacobi rotations: errors are about
 * 1e-15 of the largest value. */
void mot_eigen(uint32_t n, double *a, double *values, double *vectors);

/* The extreme eigenvalues of an operator y = A x that maps vectors with entries adding up to 0 to such
 * vectors, restricted to them, after at most `steps` Lanczos steps with full orthogonalisation. The estimates
 * lie inside the true range: up to rounding, *least is never too small and *greatest never too large. Exact
 * once steps >= n - 1. Both are 0 if memory runs out. */
void mot_extremes(uint32_t n, void (*apply)(const void *self, const double *x, double *y), const void *self,
    uint32_t steps, double *least, double *greatest);

#endif
