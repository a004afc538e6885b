/* eigen.h -- eigenvalues of symmetric matrices in double, the same bits on every machine. */
#ifndef MOT_TOPOLOGY_EIGEN_H
#define MOT_TOPOLOGY_EIGEN_H

#include <stdint.h>

/* All eigenvalues, rising, of the symmetric a[n][n], which is used up; and if `vectors` is not NULL, the unit
 * eigenvectors, vectors[k][n] to value k. Cyclic Jacobi rotations: errors of about 1e-15 of
 * the largest value. */
void mot_eigen(uint32_t n, double *a, double *values, double *vectors);

/* The smallest and the largest value on the vectors whose entries add up to 0, of an operator y
 * = A x that keeps them there, after at most `steps` steps of Lanczos with full orthogonalisation. They lie
 * inside the true ones: *least is never too small by more than rounding, *greatest never too large. Exact
 * once steps >= n - 1. Both are 0 if memory runs out. */
void mot_extremes(uint32_t n, void (*apply)(const void *self, const double *x, double *y), const void *self,
    uint32_t steps, double *least, double *greatest);

#endif
