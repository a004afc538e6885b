/* simd.h -- vectors for the kernels: types, loads with tails, FMA, exp and log.
 *
 * Included once by each kernel set. GCC and clang vector types do the arithmetic; the few
 * things they cannot say (FMA, square root) are named here. Contraction is off for
 * the whole library: a multiplication and an addition are fused where fma() is
 * written and nowhere else, so that two inlined copies of one line, a body and a tail, or two compilers,
 * round the same way. A set without FMA rounds twice.
 *
 * Tails: a partial vector is loaded with zeros behind it and goes through the same
 * instructions as a full one. */
#ifndef MOT_MATH_SIMD_H
#define MOT_MATH_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__) && !defined(MOT_SIMD_PLAIN)
#include <immintrin.h>
#define LANES 16
#elif defined(__AVX2__) && defined(__FMA__) && !defined(MOT_SIMD_PLAIN)
#include <immintrin.h>
#define LANES 8
#elif defined(__aarch64__) && !defined(MOT_SIMD_PLAIN)
#include <arm_neon.h>
#define LANES 4
#else
#define LANES 4
#endif
#define DLANES (LANES / 2)

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));
typedef uint32_t vu __attribute__((vector_size(4 * LANES)));
typedef double vd __attribute__((vector_size(4 * LANES)));
typedef int64_t vdi __attribute__((vector_size(4 * LANES)));
typedef uint64_t vdu __attribute__((vector_size(4 * LANES)));
typedef uint16_t vs __attribute__((vector_size(4 * LANES))); /* twice as many short numbers */
typedef float vh __attribute__((vector_size(2 * LANES)));    /* half of a vf: becomes a vd */

#define INLINE static inline __attribute__((always_inline, unused))
/* For loops that must be unrolled before registers are allocated. clang does so early enough for arrays to
 * become registers if told to unroll in full; with a count, as in GCC's pragma, it does so too late. Other
 * loops it unrolls by itself. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#define UNROLL_4
#else
#define UNROLL _Pragma("GCC unroll 16")
#define UNROLL_4 _Pragma("GCC unroll 4")
#endif

INLINE vf load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void store(float *p, vf v) { memcpy(p, &v, sizeof v); }
/* Stores past the caches, which then need not read the old contents first; p is aligned to a vector. After
 * pour_end others may read what was poured. */
INLINE void pour(float *p, vf v)
{
#if LANES == 16
    _mm512_stream_ps(p, (__m512)v);
#elif LANES == 8
    _mm256_stream_ps(p, (__m256)v);
#else
    store(p, v);
#endif
}
INLINE void pour_end(void)
{
#if LANES >= 8
    _mm_sfence();
#endif
}
INLINE vf load_part(const float *p, size_t n)
{
    vf v = { 0 };
    memcpy(&v, p, n * sizeof *p);
    return v;
}
INLINE void store_part(float *p, vf v, size_t n) { memcpy(p, &v, n * sizeof *p); }
INLINE vd load_d(const double *p)
{
    vd v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void store_d(double *p, vd v) { memcpy(p, &v, sizeof v); }
INLINE vd widen(const float *p)
{
#if LANES == 16
    return (vd)_mm512_cvtps_pd(_mm256_loadu_ps(p));
#elif LANES == 8
    return (vd)_mm256_cvtps_pd(_mm_loadu_ps(p)); /* gcc would convert the halves of a vh one by one */
#else
    vh v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, vd);
#endif
}

INLINE void narrow(float *p, vd v)
{
#if LANES == 16
    _mm256_storeu_ps(p, _mm512_cvtpd_ps((__m512d)v));
#elif LANES == 8
    _mm_storeu_ps(p, _mm256_cvtpd_ps((__m256d)v));
#else
    vh h = __builtin_convertvector(v, vh);
    memcpy(p, &h, sizeof h);
#endif
}

/* Arrays with a row every `step` bytes, without a register for each row: x86 adds one or two steps for free.
 * The compiler must not see that the pointers are related, or it gives each row a register after all, and
 * spills those to memory. */
#define APART 3
#define STARTS(rows) (((int)(rows) + APART - 1) / APART)
INLINE void start_rows(const float *first, size_t step, const char **start, const int rows)
{
    UNROLL for (int i = 0; i < STARTS(rows); i++)
    {
        start[i] = (const char *)first + (size_t)(i * APART) * step;
        __asm__("" : "+r"(start[i]));
    }
}
INLINE const float *in_row(const char *const *start, size_t step, int row)
{
    return (const float *)(const void *)(start[row / APART] + (size_t)(row % APART) * step);
}

INLINE vf all(float a) { return a - (vf){ 0 }; }
INLINE vd all_d(double a) { return a - (vd){ 0 }; }
INLINE vf choose(vi yes, vf a, vf b) { return (vf)(((vi)a & yes) | ((vi)b & ~yes)); }
INLINE vd choose_d(vdi yes, vd a, vd b) { return (vd)(((vdi)a & yes) | ((vdi)b & ~yes)); }

#if LANES == 16
INLINE vf fma_f(vf a, vf b, vf c) { return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
INLINE vd fma_d(vd a, vd b, vd c) { return (vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c); }
INLINE vf root(vf a) { return (vf)_mm512_sqrt_ps((__m512)a); }
INLINE vs above(vs a, vs b) { return (a - b) & (vs)(a > b); }
#elif defined(__AVX2__) && defined(__FMA__) && !defined(MOT_SIMD_PLAIN)
INLINE vf fma_f(vf a, vf b, vf c) { return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
INLINE vd fma_d(vd a, vd b, vd c) { return (vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c); }
INLINE vf root(vf a) { return (vf)_mm256_sqrt_ps((__m256)a); }
/* a - b, or 0 where b is greater */
INLINE vs above(vs a, vs b) { return (vs)_mm256_subs_epu16((__m256i)a, (__m256i)b); }
#elif defined(__aarch64__) && !defined(MOT_SIMD_PLAIN)
INLINE vf fma_f(vf a, vf b, vf c) { return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
INLINE vd fma_d(vd a, vd b, vd c) { return (vd)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b); }
INLINE vf root(vf a) { return (vf)vsqrtq_f32((float32x4_t)a); }
INLINE vs above(vs a, vs b) { return (vs)vqsubq_u16((uint16x8_t)a, (uint16x8_t)b); }
#else
INLINE vf fma_f(vf a, vf b, vf c) { return a * b + c; }
INLINE vd fma_d(vd a, vd b, vd c) { return a * b + c; }
INLINE vf root(vf a)
{
    for (int i = 0; i < LANES; i++) a[i] = __builtin_sqrtf(a[i]);
    return a;
}
INLINE vs above(vs a, vs b) { return (a - b) & (vs)(a > b); }
#endif

/* exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln(2)/2. The high part of ln 2 has so
 * few bits that n times it is exact. Taylor to r^7: the rest is 5e-9. The scale is
 * applied in two halves, so that results may be subnormal or infinite. */
INLINE vf exp_f(vf x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    x = choose(x > 89.0f, all(89.0f), x);
    x = choose(x < -106.0f, all(-106.0f), x);
    vf shifted = fma_f(x, all(1.44269504f), all(shift));
    vf n = shifted - shift;
    vf r = fma_f(n, all(-0.693359375f), x);
    r = fma_f(n, all(2.12194440e-4f), r);
    vf p = all(1.0f / 5040);
    p = fma_f(p, r, all(1.0f / 720));
    p = fma_f(p, r, all(1.0f / 120));
    p = fma_f(p, r, all(1.0f / 24));
    p = fma_f(p, r, all(1.0f / 6));
    p = fma_f(p, r, all(0.5f));
    p = fma_f(p, r * r, r) + 1.0f;
    vi whole = (vi)((vu)shifted - 0x4b400000u);
    vi half = whole >> 1;
    vf low = (vf)((vu)(half + 127) << 23), high = (vf)((vu)(whole - half + 127) << 23);
    return p * low * high;
}

/* log(x) = e ln 2 + log(m), m in [sqrt(1/2), sqrt(2)); log(m) = 2 atanh(s), s = (m-1)/(m+1),
 * as f - s (f - R), f = m - 1: the large part of the sum is exact (as in fdlibm's paper,
 * Ng 1993). */
INLINE vf log_f(vf x)
{
    vi tiny = x < 1.17549435e-38f;
    vf y = choose(tiny, x * 8388608.0f, x);
    vu bits = (vu)y - 0x3f3504f3u; /* below sqrt(1/2): one power less */
    vi e = ((vi)bits >> 23) - (tiny & 23);
    vf m = (vf)((bits & 0x007fffffu) + 0x3f3504f3u);
    vf f = m - 1.0f, s = f / (f + 2.0f), z = s * s;
    vf p = all(2.0f / 9);
    p = fma_f(p, z, all(2.0f / 7));
    p = fma_f(p, z, all(2.0f / 5));
    p = fma_f(p, z, all(2.0f / 3));
    vf h = 0.5f * f * f, n = __builtin_convertvector(e, vf);
    vf r = fma_f(n, all(-2.12194440e-4f), s * fma_f(p, z, h)); /* log(1+f) = f - h + s (h + p z) */
    vf result = fma_f(n, all(0.693359375f), f - (h - r));
    const float inf = __builtin_inff();
    result = choose(x == inf, all(inf), result);
    result = choose(x == 0.0f, all(-inf), result);
    return choose((x < 0.0f) | (x != x), all(__builtin_nanf("")), result);
}

/* exp(x) in double for x <= 0 and NaN, Taylor to r^13. Below -700 it stays at exp(-700), about 1e-304. */
INLINE vd exp_d(vd x)
{
    const double shift = 6755399441055744.0; /* 1.5 * 2^52 */
    x = choose_d(x < -700.0, all_d(-700.0), x);
    vd shifted = fma_d(x, all_d(1.4426950408889634), all_d(shift));
    vd n = shifted - shift;
    vd r = fma_d(n, all_d(-0x1.62e42fee00000p-1), x);
    r = fma_d(n, all_d(-0x1.a39ef35793c76p-33), r);
    static const double c[] = { 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
        1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5 };
    vd p = all_d(c[0]);
    UNROLL for (int i = 1; i < 12; i++) p = fma_d(p, r, all_d(c[i]));
    p = fma_d(p, r * r, r) + 1.0;
    vdu whole = (vdu)shifted - 0x4338000000000000u;
    return p * (vd)((whole + 1023u) << 52);
}

/* log(1 + e) for 0 <= e <= 1: 2 atanh(s), s = e / (2 + e) <= 1/3; good to the last bits for small e too. */
INLINE vd log1p_d(vd e)
{
    vd s = e / (e + 2.0), z = s * s;
    vd p = all_d(2.0 / 33);
    UNROLL for (int k = 31; k >= 3; k -= 2) p = fma_d(p, z, all_d(2.0 / k));
    return fma_d(p * z, s, 2.0 * s);
}

#endif
