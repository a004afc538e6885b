/* kernels_neon.c -- the kernels, aarch64, where NEON and FMA are the baseline. */
#define KERNELS_NAME "neon"
#define KERNELS_TABLE mot_kernels_neon

#define MAPS_NAME "neon"
#define MAPS_TABLE mot_maps_neon

#include "math/kernels_body.h"
#include "math/kernels_maps.h"
