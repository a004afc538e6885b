/* vector.h -- vectors of floats, for methods and models: the kernels that compute gradients and steps.
 *
 * A result depends on the values alone, not on alignment or on threads. The kernel sets (generic, avx2, neon)
 * may differ in the last bits; summary.json says which one a run used. An output may be one of the inputs,
 * but must not overlap one otherwise. */
#ifndef MOTLEY_VECTOR_H
#define MOTLEY_VECTOR_H

#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

MOT_API double mot_vector_dot(size_t n, const float *x, const float *y);   /* summed in double */
MOT_API double mot_vector_norm(size_t n, const float *x);                  /* Euclidean; summed in double */
MOT_API void mot_vector_axpy(size_t n, float a, const float *x, float *y); /* y += a x */
MOT_API void mot_vector_scale(size_t n, float a, float *x);                /* x *= a */
/* y = x[0] + x[1] + ..., term by term in that order; at least one term. */
MOT_API void mot_vector_add(size_t n, uint32_t terms, const float *const *x, float *y);
/* y = a[0] x[0] + a[1] x[1] + ..., term by term in that order. */
MOT_API void mot_vector_combine(size_t n, uint32_t terms, const float *a, const float *const *x, float *y);
MOT_API bool mot_vector_finite(size_t n, const float *x); /* no entry is NaN or infinite */

#ifdef __cplusplus
}
#endif
#endif
