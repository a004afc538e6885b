/* kernels_generic.c -- the kernels, compiled with the baseline flags: runs on every machine of its kind. */
#define MOT_SIMD_PLAIN /* no FMA even where the baseline has one: generic rounds the same everywhere */
#define KERNELS_NAME "generic"
#define KERNELS_TABLE mot_kernels_generic

#define MAPS_NAME "generic"
#define MAPS_TABLE mot_maps_generic

#include "math/kernels_body.h"
#include "math/kernels_maps.h"
