/* kernels.c -- which kernel set this process uses. */
#include "math/kernels.h"
#include "math/maps.h"
#include <motley/status.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct mot_kernels mot_kernels_generic, mot_kernels_avx2, mot_kernels_neon;
void mot_gemm_avx512(const struct mot_gemm *);
void mot_narrow_forward_avx512(const struct mot_few *);
extern const struct mot_map_kernels mot_maps_generic, mot_maps_avx2, mot_maps_avx512, mot_maps_neon;

/* Best first. With AVX-512, avx2 comes twice: first with wider twins of some kernels, which give the same
 * bits. */
#define SETS_MAX 3
static const struct mot_kernels *available[SETS_MAX + 1];
#ifdef MOTLEY_AVX512
static struct mot_kernels wider;
#endif
/* NULL after choosing: the environment asked for a set that is not there */
static const struct mot_kernels *chosen;
static const char *wanted;
/* Kernels over maps, best first: avx512 stands in for avx2, with the same bits. */
static const struct mot_map_kernels *maps[SETS_MAX + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct mot_kernels *find(const char *name)
{
    for (size_t i = 0; available[i]; i++)
        if (strcmp(name, available[i]->name) == 0) return available[i];
    return NULL;
}

static void choose(void)
{
    size_t n = 0, m = 0;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
#ifdef MOTLEY_AVX512
        if (__builtin_cpu_supports("avx512f")) {
            wider = mot_kernels_avx2;
            wider.gemm = mot_gemm_avx512;
            wider.narrow_forward = mot_narrow_forward_avx512;
            available[n++] = &wider;
            maps[m++] = &mot_maps_avx512;
        }
#endif
        available[n++] = &mot_kernels_avx2;
        maps[m++] = &mot_maps_avx2;
    }
#elif defined(__aarch64__)
    available[n++] = &mot_kernels_neon;
    maps[m++] = &mot_maps_neon;
#endif
    available[n] = &mot_kernels_generic;
    maps[m] = &mot_maps_generic;

    wanted = getenv("MOTLEY_KERNELS");
    if (!wanted || !*wanted) {
        chosen = available[0];
        return;
    }
    chosen = find(wanted);
}

enum mot_status mot_kernels_open(void)
{
    pthread_once(&once, choose);
    if (chosen) return MOT_OK;
    const struct mot_kernels *best = available[0];
    return mot_fail(MOT_EUSAGE, "MOTLEY_KERNELS is '%s', but this machine has %s%s", wanted,
        best == &mot_kernels_generic ? "" : best->name,
        best == &mot_kernels_generic ? "generic only" : " and generic");
}

const struct mot_kernels *mot_kernels(void)
{
    pthread_once(&once, choose);
    if (!chosen) {
        mot_kernels_open();
        fprintf(stderr, "motley: %s\n", mot_error());
        exit(MOT_EUSAGE);
    }
    return chosen;
}

bool mot_kernels_use(const char *name)
{
    pthread_once(&once, choose);
    const struct mot_kernels *set = find(name);
    if (set) chosen = set;
    return set != NULL;
}

const char *mot_kernels_name(void) { return mot_kernels()->name; }

const struct mot_kernels *const *mot_kernels_all(void)
{
    pthread_once(&once, choose);
    return available;
}

const struct mot_map_kernels *mot_map_kernels(void)
{
    return mot_kernels() == &mot_kernels_generic ? &mot_maps_generic : maps[0];
}

const struct mot_map_kernels *const *mot_map_kernels_all(void)
{
    pthread_once(&once, choose);
    return maps;
}
