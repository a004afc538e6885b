/* kernels_avx2.c -- the kernels, compiled with -mavx2 -mfma: x86 since 2013. */
#define KERNELS_NAME "avx2"
#define KERNELS_TABLE mot_kernels_avx2

#define MAPS_NAME "avx2"
#define MAPS_TABLE mot_maps_avx2

#include "math/kernels_body.h"
#include "math/kernels_maps.h"
