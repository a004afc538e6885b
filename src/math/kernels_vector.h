/* kernels_vector.h -- loops over vectors, sparse rows and parameters; a part of kernels_body.h. */

/* Does what follows `left` for i = 0, LANES, ... below n. `left` numbers are there: LANES, as a constant, in
 * the loop, and fewer at most once, after it. `in` and `out` load and store at i, whole or in part. */
#define EACH_LANES(n, i, left, ...)                                                                          \
    do {                                                                                                     \
        size_t i = 0;                                                                                        \
        UNROLL_4 for (; i + LANES <= (n); i += LANES)                                                        \
        {                                                                                                    \
            const size_t left = LANES;                                                                       \
            __VA_ARGS__;                                                                                     \
        }                                                                                                    \
        if (i < (n)) {                                                                                       \
            const size_t left = (n)-i;                                                                       \
            __VA_ARGS__;                                                                                     \
        }                                                                                                    \
    } while (0)
INLINE vf in(const float *p, size_t i, size_t left)
{
    return left == LANES ? load(p + i) : load_part(p + i, left);
}
INLINE void out(float *p, size_t i, size_t left, vf v)
{
    if (left == LANES) store(p + i, v);
    else store_part(p + i, v, left);
}

static void axpy(size_t n, float a, const float *x, float *y)
{
    EACH_LANES(n, i, left, out(y, i, left, fma_f(all(a), in(x, i, left), in(y, i, left))));
}

INLINE vf sum_at(uint32_t terms, const float *a, const float *const *x, size_t i, size_t left)
{
    vf sum = { 0 };
    for (uint32_t t = 0; t < terms; t++) sum = fma_f(all(a[t]), in(x[t], i, left), sum);
    return sum;
}

/* Results this long leave the caches before anybody reads them: 4 MB. */
#define POUR_FROM ((size_t)1 << 20)
/* How many floats come before the first vector that is aligned. */
INLINE size_t before_aligned(const float *y) { return -((uintptr_t)y / sizeof(*y)) % LANES; }

static void sum_of(size_t n, uint32_t terms, const float *a, const float *const *x, float *y)
{
    bool poured = n >= POUR_FROM;
    for (uint32_t t = 0; t < terms; t++) poured = poured && x[t] != y;
    size_t i = 0, head = poured ? before_aligned(y) : 0;
    if (poured) {
        if (head) out(y, 0, head, sum_at(terms, a, x, 0, head));
        UNROLL_4 for (i = head; i + LANES <= n; i += LANES) pour(y + i, sum_at(terms, a, x, i, LANES));
        pour_end();
    }
    UNROLL_4 for (; i + LANES <= n; i += LANES) store(y + i, sum_at(terms, a, x, i, LANES));
    if (i < n) store_part(y + i, sum_at(terms, a, x, i, n - i), n - i);
}

/* Reads every term once and writes the sum once: for what does not fit in a cache. */
static void add_all(size_t n, uint32_t terms, const float *const *x, float *y)
{
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        vf sum[4];
        UNROLL for (int v = 0; v < 4; v++) sum[v] = load(x[0] + i + v * LANES);
        for (uint32_t t = 1; t < terms; t++)
            UNROLL for (int v = 0; v < 4; v++) sum[v] += load(x[t] + i + v * LANES);
        UNROLL for (int v = 0; v < 4; v++) store(y + i + v * LANES, sum[v]);
    }
    for (; i < n; i++) {
        float sum = x[0][i];
        for (uint32_t t = 1; t < terms; t++) sum += x[t][i];
        y[i] = sum;
    }
}

/* Products and sums are rounded one by one, so that every set gives the same bits. */
static void blend(
    size_t n, uint32_t terms, const double *a, const float *const *x, bool first, double *sum, float *y)
{
    enum { ROWS = 4 };
    size_t i = 0;
    for (; i + ROWS * DLANES <= n; i += ROWS * DLANES) {
        vd s[ROWS];
        UNROLL for (size_t r = 0; r < ROWS; r++) s[r] = first ? (vd){ 0 } : load_d(sum + i + r * DLANES);
        for (uint32_t t = 0; t < terms; t++)
            UNROLL for (size_t r = 0; r < ROWS; r++) s[r] += all_d(a[t]) * widen(x[t] + i + r * DLANES);
        if (y) UNROLL for (size_t r = 0; r < ROWS; r++) narrow(y + i + r * DLANES, s[r]);
        else UNROLL for (size_t r = 0; r < ROWS; r++) store_d(sum + i + r * DLANES, s[r]);
    }
    for (; i < n; i++) {
        double s = first ? 0 : sum[i];
        for (uint32_t t = 0; t < terms; t++) s += a[t] * (double)x[t][i];
        if (y) y[i] = (float)s;
        else sum[i] = s;
    }
}

/* Sixteen lanes of double, whatever the width of a vector, so that every set adds in the same
 * order; products of floats are exact in double, so FMA changes nothing either. */
#define DOT_LANES 16
#define DOT_VECTORS (DOT_LANES / DLANES)

static double dot(size_t n, const float *x, const float *y)
{
    vd sum[DOT_VECTORS] = { 0 };
    size_t i = 0;
    for (; i + DOT_LANES <= n; i += DOT_LANES)
        UNROLL for (int v = 0; v < DOT_VECTORS; v++) sum[v] +=
            widen(x + i + v * DLANES) * widen(y + i + v * DLANES);
    double lane[DOT_LANES];
    memcpy(lane, sum, sizeof lane);
    for (size_t k = 0; i + k < n; k++) lane[k] += (double)x[i + k] * (double)y[i + k];
    for (int width = DOT_LANES / 2; width; width /= 2)
        for (int k = 0; k < width; k++) lane[k] += lane[k + width];
    return lane[0];
}

static double norm2(size_t n, const float *x) { return dot(n, x, x); }

/* Without its sign, a float that is NaN or infinite is greater than all others, as a whole number too. */
INLINE vi not_finite(vf v) { return ((vi)v & ((vi){ 0 } + INT32_MAX)) > 0x7f7fffff; }
INLINE bool none(vi v)
{
    int32_t any = 0;
    for (int lane = 0; lane < LANES; lane++) any |= v[lane];
    return any == 0;
}

static bool all_finite(size_t n, const float *x)
{
    enum { ROWS = 4 };
    vi bad[ROWS] = { 0 };
    size_t i = 0;
    for (; i + ROWS * LANES <= n; i += ROWS * LANES)
        UNROLL for (size_t r = 0; r < ROWS; r++) bad[r] |= not_finite(load(x + i + r * LANES));
    for (; i + LANES <= n; i += LANES) bad[0] |= not_finite(load(x + i));
    /* the last LANES, some of them a second time, if there are that many */
    if (i < n) bad[1] |= not_finite(n < LANES ? load_part(x, n) : load(x + n - LANES));
    return none(bad[0] | bad[1] | bad[2] | bad[3]);
}

static void exp_all(size_t n, const float *x, float *y)
{
    EACH_LANES(n, i, left, out(y, i, left, exp_f(in(x, i, left))));
}
static void log_all(size_t n, const float *x, float *y)
{
    EACH_LANES(n, i, left, out(y, i, left, log_f(in(x, i, left))));
}

/* NaN stays NaN: a comparison with it is false. */
static void relu(size_t n, float *x)
{
    EACH_LANES(n, i, left, {
        vf v = in(x, i, left);
        out(x, i, left, choose(v < 0.0f, (vf){ 0 }, v));
    });
}

static void relu_back(size_t n, const float *h, float *d)
{
    EACH_LANES(n, i, left, out(d, i, left, choose(in(h, i, left) <= 0.0f, (vf){ 0 }, in(d, i, left))));
}

/* ---- Sparse rows ---------------------------------------------------------- */

/* Four chains hide the latency of an addition; entry i always goes to chain i % 4. */
static double sparse_dot(size_t n, const uint32_t *col, const float *val, const float *w)
{
    double sum[4] = { 0 };
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        UNROLL for (int k = 0; k < 4; k++) sum[k] += (double)val[i + k] * (double)w[col[i + k]];
    for (size_t k = 0; i + k < n; k++) sum[k] += (double)val[i + k] * (double)w[col[i + k]];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

static void sparse_axpy(size_t n, float a, const uint32_t *col, const float *val, float *y)
{
    for (size_t i = 0; i < n; i++) y[col[i]] += a * val[i];
}

static void sparse_axpy_double(size_t n, double a, const uint32_t *col, const float *val, double *y)
{
    for (size_t i = 0; i < n; i++) y[col[i]] += a * (double)val[i];
}

/* ---- Optimisers ------------------------------------------------------------ */

/* Settings are copied first: for all the compiler knows, every store may change one of them. */
static bool sgd(size_t n, const struct mot_sgd *set, const float *g, const float *x, float *x_out)
{
    const struct mot_sgd s = *set;
    vi bad = { 0 };
    EACH_LANES(n, i, left, {
        vf slope = in(g, i, left);
        vf at = in(x, i, left);
        bad |= not_finite(slope); /* costs no time: the loop waits for memory */
        vf step = fma_f(all(s.decay), at, s.grad * slope);
        out(x_out, i, left, fma_f(all(-s.lr), step, at));
    });
    return none(bad);
}

INLINE void momentum_loop(size_t n, const struct mot_sgd *set, const float *g, const float *x, float *x_out,
    const float *v, float *v_out, const bool nesterov)
{
    const struct mot_sgd s = *set;
    EACH_LANES(n, i, left, {
        vf at = in(x, i, left);
        vf step = fma_f(all(s.decay), at, s.grad * in(g, i, left));
        vf speed = fma_f(all(s.momentum), in(v, i, left), step);
        out(v_out, i, left, speed);
        if (nesterov) speed = fma_f(all(s.momentum), speed, step);
        out(x_out, i, left, fma_f(all(-s.lr), speed, at));
    });
}

static void momentum(size_t n, const struct mot_sgd *s, const float *g, const float *x, float *x_out,
    const float *v, float *v_out)
{
    if (s->nesterov) momentum_loop(n, s, g, x, x_out, v, v_out, true);
    else momentum_loop(n, s, g, x, x_out, v, v_out, false);
}

static void adamw(size_t n, const struct mot_adamw *set, const float *g, const float *x, float *x_out,
    const float *m, float *m_out, const float *v, float *v_out)
{
    const struct mot_adamw s = *set;
    EACH_LANES(n, i, left, {
        vf slope = s.grad * in(g, i, left);
        vf mean = fma_f(all(s.beta1), in(m, i, left), s.new1 * slope);
        vf square = fma_f(all(s.beta2), in(v, i, left), s.new2 * slope * slope);
        out(m_out, i, left, mean);
        out(v_out, i, left, square);
        vf step = mean / fma_f(all(s.root), root(square), all(s.epsilon));
        vf at = in(x, i, left);
        out(x_out, i, left, at - fma_f(all(s.decay), at, s.rate * step));
    });
}
