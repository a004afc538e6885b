/* kernels_compress.h -- loops of compressors; a part of kernels_body.h. Every set gives the same bits. */

INLINE vi sizes(vf v) { return (vi)v & ((vi){ 0 } + INT32_MAX); }

/* One bit for each lane that is not 0. */
INLINE uint32_t lanes_of(vi v)
{
#if LANES == 8
    return (uint32_t)_mm256_movemask_ps((__m256)v);
#else
    uint32_t bits = 0;
    for (int lane = 0; lane < LANES; lane++) bits |= (uint32_t)(v[lane] & 1) << lane;
    return bits;
#endif
}

#define AT_ONCE 64u /* floats that are compared before any is looked at */

/* One bit for each of AT_ONCE floats whose size is above `below`. */
INLINE uint64_t bits_above(const float *x, vi below)
{
    uint64_t bits = 0;
#if LANES == 4
    for (unsigned half = 0; half < AT_ONCE; half += 32, x += 32) {
        vu bit = { 1, 2, 4, 8 }, is = { 0 };
        UNROLL for (unsigned v = 0; v < 8; v++) is |= (vu)(sizes(load(x + v * LANES)) > below) & bit << 4 * v;
        bits |= (uint64_t)(is[0] | is[1] | is[2] | is[3]) << half;
    }
#else
    UNROLL for (unsigned v = 0; v < AT_ONCE; v += LANES) bits |=
        (uint64_t)lanes_of(sizes(load(x + v)) > below) << v;
#endif
    return bits;
}

INLINE void put_place(const float *x, size_t at, uint32_t first, uint32_t *index, uint32_t *bits)
{
    *index = first + (uint32_t)at;
    memcpy(bits, x + at, sizeof *bits);
}

/* Of AT_ONCE floats seldom more than SURE are chosen. That many are always written, but only counted if they
 * exist: no processor could predict a branch on that. */
#define SURE 2

static size_t places_above(
    size_t n, const float *x, uint32_t least, uint32_t first, uint32_t *index, uint32_t *bits)
{
    const vi below = (vi){ 0 } + (int32_t)(least - 1);
    size_t found = 0, i = 0;
    for (; i + AT_ONCE <= n; i += AT_ONCE) {
        uint64_t chosen = bits_above(x + i, below);
        UNROLL for (int k = 0; k < SURE; k++)
        {
            size_t at = (size_t)__builtin_ctzll(chosen | UINT64_C(1) << (AT_ONCE - 1));
            put_place(x, i + at, first, index + found, bits + found);
            found += chosen != 0;
            chosen &= chosen - 1;
        }
        for (; chosen; chosen &= chosen - 1, found++)
            put_place(x, i + (size_t)__builtin_ctzll(chosen), first, index + found, bits + found);
    }
    for (; i < n; i++) {
        put_place(x, i, first, index + found, bits + found);
        found += (bits[found] & INT32_MAX) >= least;
    }
    return found;
}

static double norm1(size_t n, const float *x)
{
    vd sum[DOT_VECTORS] = { 0 };
    const vdi size = (vdi){ 0 } + INT64_MAX;
    size_t i = 0;
    for (; i + DOT_LANES <= n; i += DOT_LANES)
        UNROLL for (int v = 0; v < DOT_VECTORS; v++) sum[v] += (vd)((vdi)widen(x + i + v * DLANES) & size);
    double lane[DOT_LANES];
    memcpy(lane, sum, sizeof lane);
    for (size_t k = 0; i + k < n; k++) lane[k] += x[i + k] < 0 ? -(double)x[i + k] : (double)x[i + k];
    for (int width = DOT_LANES / 2; width; width /= 2)
        for (int k = 0; k < width; k++) lane[k] += lane[k + width];
    return lane[0];
}

/* Mixes the numbers of a counter: as random as rounding needs. */
INLINE vu mixed(vu h)
{
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    return h ^ h >> 16;
}

INLINE vi level_of(vf v, vu draw, float steps, vi top)
{
    vf u = __builtin_convertvector((vi)(draw >> 8), vf) * 0x1p-24f;
    vi l = __builtin_convertvector((vf)sizes(v) * steps + u, vi);
    l = (l & (l < top)) | (top & ~(l < top));
    vi minus = (vi)v >> 31;
    return (l ^ minus) - minus;
}

/* Four vectors of small numbers, as bytes. */
INLINE void store_bytes(int8_t *to, const vi *l)
{
#if LANES == 8
    __m256i low = _mm256_packs_epi32((__m256i)l[0], (__m256i)l[1]);
    __m256i high = _mm256_packs_epi32((__m256i)l[2], (__m256i)l[3]);
    __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
    _mm256_storeu_si256((__m256i *)(void *)to, bytes);
#else
    for (int v = 0; v < 4; v++)
        for (int lane = 0; lane < LANES; lane++) to[v * LANES + lane] = (int8_t)l[v][lane];
#endif
}

static void levels(size_t n, const float *x, float steps, int32_t most, uint64_t key, int8_t *level)
{
    vu count = { 0 };
    for (uint32_t lane = 0; lane < LANES; lane++) count[lane] = lane + (uint32_t)key;
    const vu turn = (vu){ 0 } + (uint32_t)(key >> 32);
    const vi top = (vi){ 0 } + most;
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        vi l[4];
        UNROLL for (int v = 0; v < 4; v++)
        {
            l[v] = level_of(load(x + i + v * LANES), mixed(count ^ turn), steps, top);
            count += LANES;
        }
        store_bytes(level + i, l);
    }
    for (; i < n; i += LANES, count += LANES) {
        size_t left = n - i < LANES ? n - i : LANES;
        vi l = level_of(in(x, i, left), mixed(count ^ turn), steps, top);
        for (size_t k = 0; k < left; k++) level[i + k] = (int8_t)l[k];
    }
}

static void signs(size_t n, const float *x, unsigned char *bit)
{
    for (size_t i = 0; i < n; i += 8) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 8; k += LANES)
            if (i + k < n)
                bits |= lanes_of((vi)in(x, i + k, n - i - k < LANES ? n - i - k : LANES) >> 31) << k;
        bit[i / 8] = (unsigned char)bits;
    }
}
