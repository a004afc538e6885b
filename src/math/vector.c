/* vector.c -- the kernels' vector operations, for methods and models outside of the library. */
#include <motley/vector.h>
#include "math/kernels.h"
#include <math.h>

double mot_vector_dot(size_t n, const float *x, const float *y) { return mot_kernels()->dot(n, x, y); }
double mot_vector_norm(size_t n, const float *x) { return sqrt(mot_kernels()->norm2(n, x)); }
void mot_vector_axpy(size_t n, float a, const float *x, float *y) { mot_kernels()->axpy(n, a, x, y); }

void mot_vector_scale(size_t n, float a, float *x)
{
    const float *term = x;
    mot_kernels()->sum(n, 1, &a, &term, x);
}

void mot_vector_add(size_t n, uint32_t terms, const float *const *x, float *y)
{
    mot_kernels()->add(n, terms, x, y);
}

void mot_vector_combine(size_t n, uint32_t terms, const float *a, const float *const *x, float *y)
{
    mot_kernels()->sum(n, terms, a, x, y);
}

bool mot_vector_finite(size_t n, const float *x) { return mot_kernels()->finite(n, x); }
