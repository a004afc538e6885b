/* kernels_avx512.c -- the kernels over maps, matrix products, and the kernel of narrow layers, compiled with
 * -mavx512f: the same bits as avx2's, in vectors twice as wide. */
#define MAPS_NAME "avx512"
#define MAPS_TABLE mot_maps_avx512

#include <motley/model.h>

#include "math/kernels_maps.h"
#include "math/kernels_gemm.h"
#include "math/kernels_wide.h"

void mot_gemm_avx512(const struct mot_gemm *);
void mot_gemm_avx512(const struct mot_gemm *g) { gemm(g); }
