/* kernels_similar.h -- similarities between samples, and the sums that greedy selection makes of them; a part
 * of kernels_body.h. A similarity is a short, 65535 for 1: sums of them are exact, so that
 * neither the width of a vector nor the number of threads affects what is selected. */
#define SHORTS (2 * LANES)

INLINE vs load_s(const uint16_t *p)
{
    vs v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void store_s(uint16_t *p, vs v) { memcpy(p, &v, sizeof v); }
INLINE vs load_s_part(const uint16_t *p, size_t n)
{
    vs v = { 0 };
    memcpy(&v, p, n * sizeof *p);
    return v;
}
INLINE vs in_s(const uint16_t *p, size_t i, size_t left)
{
    return left >= SHORTS ? load_s(p + i) : load_s_part(p + i, left);
}

static void gauss(uint32_t rows, uint32_t panels, const float *dot, const float *a2, const float *b2,
    float gamma, uint16_t *out, size_t out_row)
{
    for (uint32_t p = 0; p < panels; p++)
        for (uint32_t i = 0; i < rows; i++, dot += MOT_PANEL) {
            uint16_t *to = out + i * out_row + (size_t)p * MOT_PANEL;
            UNROLL for (uint32_t v = 0; v < MOT_PANEL; v += LANES)
            {
                vf square =
                    fma_f(all(-2.0f), load(dot + v), all(a2[i]) + load(b2 + (size_t)p * MOT_PANEL + v));
                square = choose(square > 0.0f, square, (vf){ 0 });
                vf s = fma_f(exp_f(-gamma * square), all(65535.0f), all(0.5f));
                typedef uint16_t half __attribute__((vector_size(2 * LANES)));
                half shorts = __builtin_convertvector(__builtin_convertvector(s, vi), half);
                memcpy(to + v, &shorts, sizeof shorts);
            }
        }
}

/* Pairs of shorts are added as ints. In 2^14 vectors no lane of them overflows. */
#define SHORT_BLOCK ((size_t)1 << 14)

static uint64_t uncovered(size_t n, const uint16_t *s, const uint16_t *covered)
{
    uint64_t total = 0;
    for (size_t at = 0; at < n;) {
        size_t end = n - at > SHORT_BLOCK * SHORTS ? at + SHORT_BLOCK * SHORTS : n;
        vu sum[2] = { 0 };
        for (; at + 2 * SHORTS <= end; at += 2 * SHORTS) {
            UNROLL for (int v = 0; v < 2; v++)
            {
                vu d = (vu)above(load_s(s + at + v * SHORTS), load_s(covered + at + v * SHORTS));
                sum[v] += (d & 0xffffu) + (d >> 16);
            }
        }
        for (; at < end; at += SHORTS) {
            vu d = (vu)above(in_s(s, at, end - at), in_s(covered, at, end - at));
            sum[0] += (d & 0xffffu) + (d >> 16);
        }
        at = end;
        for (int v = 0; v < 2; v++)
            for (int i = 0; i < LANES; i++) total += sum[v][i];
    }
    return total;
}

static void cover(size_t n, const uint16_t *s, uint16_t *covered)
{
    size_t i = 0;
    for (; i + SHORTS <= n; i += SHORTS) {
        vs c = load_s(covered + i);
        store_s(covered + i, c + above(load_s(s + i), c));
    }
    for (; i < n; i++)
        if (s[i] > covered[i]) covered[i] = s[i];
}

static void add_short(size_t n, const uint16_t *s, uint64_t *sum)
{
    for (size_t i = 0; i < n; i++) sum[i] += s[i];
}

/* cos(x) = cos(r) for r = x - 2 pi round(x / 2 pi), |r| <= pi; in x the high part of 2 pi has
 * so few bits that its multiples are exact. Taylor to r^16 about 0: at pi the rest is 1e-7. */
INLINE vf cosine_f(vf x)
{
    const float shift = 12582912.0f;
    vf n = fma_f(x, all(0.15915494309f), all(shift)) - shift;
    vf r = fma_f(n, all(-6.28125f), x);
    r = fma_f(n, all(-1.93500518798828125e-3f), r);
    r = fma_f(n, all(-3.019915e-7f), r);
    vf z = r * r, p = all(1.0f / 20922789888000.0f);
    p = fma_f(p, z, all(-1.0f / 87178291200.0f));
    p = fma_f(p, z, all(1.0f / 479001600));
    p = fma_f(p, z, all(-1.0f / 3628800));
    p = fma_f(p, z, all(1.0f / 40320));
    p = fma_f(p, z, all(-1.0f / 720));
    p = fma_f(p, z, all(1.0f / 24));
    p = fma_f(p, z, all(-0.5f));
    return fma_f(p, z, all(1.0f));
}

static void cosine(size_t n, const float *x, float *y)
{
    EACH_LANES(n, i, left, out(y, i, left, cosine_f(in(x, i, left))));
}

/* ---- herding ---- */

INLINE vd widen_s(const uint16_t *p)
{
    typedef uint16_t few __attribute__((vector_size(2 * DLANES)));
    typedef int32_t ints __attribute__((vector_size(4 * DLANES)));
    few v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(__builtin_convertvector(v, ints), vd);
}

/* Every lane keeps the first of its largest; places are exact as doubles. */
struct greatest {
    vd most, place;
};

INLINE void herd_lanes(
    size_t i, double next, const double *mean, const uint16_t *s, double *lead, struct greatest *g)
{
    vd l = load_d(lead + i), place;
    if (s) {
        l -= widen_s(s + i);
        store_d(lead + i, l);
    }
    for (int v = 0; v < DLANES; v++) place[v] = v;
    vd score = all_d(next) * load_d(mean + i) + l;
    vdi better = score > g->most;
    g->most = choose_d(better, score, g->most);
    g->place = choose_d(better, place + (double)i, g->place);
}

INLINE size_t herd_all(size_t n, double next, const double *mean, const uint16_t *s, double *lead)
{
    struct greatest g[2];
    double most = -__builtin_inf(), best = 0;
    size_t i = 0;
    for (int u = 0; u < 2; u++) g[u] = (struct greatest){ all_d(most), (vd){ 0 } };
    for (; i + 2 * DLANES <= n; i += 2 * DLANES) {
        herd_lanes(i, next, mean, s, lead, &g[0]);
        herd_lanes(i + DLANES, next, mean, s, lead, &g[1]);
    }
    for (int u = 0; u < 2; u++)
        for (int v = 0; v < DLANES; v++) {
            bool equal = g[u].most[v] == most && g[u].place[v] < best;
            if (g[u].most[v] > most || equal) most = g[u].most[v], best = g[u].place[v];
        }
    for (; i < n; i++) {
        if (s) lead[i] -= s[i];
        double score = next * mean[i] + lead[i];
        if (score > most) most = score, best = (double)i;
    }
    return (size_t)best;
}

static size_t herd(size_t n, double next, const double *mean, const uint16_t *s, double *lead)
{
    return s ? herd_all(n, next, mean, s, lead) : herd_all(n, next, mean, NULL, lead);
}

/* Adding 1.5 * 2^23 rounds to an integer, which is then in the low bits. */
static void to_bytes(size_t n, const float *x, int8_t *y)
{
    for (size_t i = 0; i < n; i++) {
        float shifted = x[i] * 127.0f + 12582912.0f;
        int32_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        y[i] = (int8_t)bits;
    }
}

static void add_bytes(size_t n, const int8_t *x, int32_t *sum)
{
    for (size_t i = 0; i < n; i++) sum[i] += x[i];
}
