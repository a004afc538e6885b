/* kernels.h -- the inner loops, in one table for each instruction set.
 *
 * One source (kernels_body.h and what it includes) is compiled once for each set: generic
 * with the baseline flags, avx2 with -mavx2 -mfma, neon on aarch64. The best one that the
 * machine can run is chosen at run time. With AVX-512, avx2 has wider twins of some kernels, which give the
 * same bits (kernels_avx512.c). The sets differ in the last bits (FMA or not), so a
 * run records which it used; within a set, a result depends on the values only: not on
 * alignment, not on where a row falls in a batch, not on how often it is computed.
 *
 * Matrices that are multiplied lie in panels: an [r][c] matrix is c/16 (rounded up)
 * panels of [r][16], the last one padded. A panel is read front to back, which suits caches. */
#ifndef MOT_MATH_KERNELS_H
#define MOT_MATH_KERNELS_H

#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOT_PANEL 16u
/* How many panels hold that many columns. */
static inline uint32_t mot_panels(uint32_t cols) { return (cols + MOT_PANEL - 1) / MOT_PANEL; }

/* Where a chain of additions is broken, so a product may be made block by block, by gemm calls that add. */
#define MOT_K_BLOCK 384u

/* Batches of up to this many rows use the few_ kernels. */
#define MOT_FEW 8u

/* The most outputs of a layer that uses narrow_forward. It goes through the weights once for every sixteen
 * rows; with more outputs that takes longer than the fetching of rows that it hides. */
#define MOT_NARROW 32u

/* C[m][n] = bias + A B, or C += A B. A(i, k) = a[i*a_row + k/16*a_block + k%16*a_col], which
 * covers plain, transposed and panelled matrices. B is panels of [k][16]; all 16 columns
 * of its last panel are readable; or row k of B begins at b_row[k], for up to MOT_SLICE_ROWS rows.
 * C(i, j) = c[j/16*c_panel + i*c_row + j%16]. Each element is a chain of additions over k, in order, broken
 * only at fixed k for the caches' sake. */
struct mot_gemm {
    uint32_t m, n, k;
    const float *a;
    size_t a_row, a_block, a_col;
    const float *b; /* or NULL, and */
    const float *const *b_row;
    size_t b_panel;
    float *c;
    size_t c_row, c_panel;
    const float *bias; /* [m], or NULL for 0; not with add */
    bool add, fresh;   /* fresh, with add: C counts as zeros, whatever it holds */
};

/* One layer and rows that lie anywhere (a few of them, except for narrow_forward): weights w[out][in], inputs
 * x[r][in], slopes d(r, o) = d[o*d_out + r*d_row], results from y on, y_row apart. Gives the same bits as
 * gemm. */
struct mot_few {
    uint32_t rows, in, out; /* rows: 1 to MOT_FEW; in narrow_forward any, out: 1 to MOT_NARROW */
    const float *w, *bias;  /* bias: [out], or NULL for 0 */
    const float *const *x;
    const float *d;
    size_t d_out, d_row;
    float *y;
    size_t y_row;
    bool fresh; /* few_weights: y counts as zeros, whatever it holds */
};

/* v = momentum v + (grad g + decay x); x -= lr (v, or with Nesterov's way grad g + decay x + momentum v). */
struct mot_sgd {
    float grad, decay, momentum, lr;
    bool nesterov;
};

/* m = beta1 m + new1 g', v = beta2 v + new2 g'^2 with g' = grad g; x -= decay x + rate m /
 * (root sqrt(v) + epsilon). new is 1 - beta, given separately because a float's 1 - 0.999 is
 * wrong in the fifth digit. */
struct mot_adamw {
    float grad, beta1, new1, beta2, new2, decay, rate, root, epsilon;
};

struct mot_kernels {
    const char *name;

    /* ---- matrices ---- */
    void (*gemm)(const struct mot_gemm *);
    /* Columns first .. first + cols - 1 of rows lying anywhere -> panels of their transpose,
     * [rows/16][cols][16], zeros in the padding. */
    void (*turn_rows)(uint32_t rows, const float *const *row, size_t first, uint32_t cols, float *out);
    /* What few_forward computes, as panels [rows/16][out][16] with anything in the padding. */
    void (*narrow_forward)(const struct mot_few *);
    /* Panels of an [rows][cols] matrix -> panels of its transpose; zeros in the padding. */
    void (*transpose)(uint32_t rows, uint32_t cols, const float *in, float *out);
    /* y[i] += the sum of row i of an [rows][cols] matrix in panels. */
    void (*row_sums)(uint32_t rows, uint32_t cols, const float *in, float *y);

    /* ---- a few rows ---- */
    void (*few_forward)(const struct mot_few *); /* y(r, o) = bias[o] + the sum over i of w[o][i] x[r][i] */
    void (*few_back)(const struct mot_few *);    /* y(r, i) = the sum over o of w[o][i] d(r, o) */
    void (*few_weights)(const struct mot_few *); /* y(o, i) += the sum over r of d(r, o) x[r][i] */
    void (*few_sums)(const struct mot_few *);    /* y[i] += the sum over r of x[r][i] */

    /* ---- vectors of n ---- */
    void (*axpy)(size_t n, float a, const float *x, float *y); /* y += a x */
    /* y = sum a[t] x[t], in order */
    void (*sum)(size_t n, uint32_t terms, const float *a, const float *const *x, float *y);
    /* y = x[0] + x[1] + ..., in order */
    void (*add)(size_t n, uint32_t terms, const float *const *x, float *y);
    /* sum + a[t] x[t], term by term in order, in double, the same bits in every set: into y, rounded, or into
     * sum if y is NULL. first: sum counts as zeros, whatever it holds; it may be NULL if there is a y. */
    void (*blend)(
        size_t n, uint32_t terms, const double *a, const float *const *x, bool first, double *sum, float *y);
    double (*dot)(size_t n, const float *x, const float *y); /* in double, 16 lanes */
    /* the square of the norm */
    double (*norm2)(size_t n, const float *x);
    bool (*finite)(size_t n, const float *x); /* no entry is NaN or infinite */
    void (*exp)(size_t n, const float *x, float *y);
    void (*log)(size_t n, const float *x, float *y);
    void (*relu)(size_t n, float *x);
    void (*relu_back)(size_t n, const float *h, float *d); /* d = 0 where h <= 0 */

    /* ---- sparse rows: n entries, columns and values ---- */
    double (*sparse_dot)(size_t n, const uint32_t *col, const float *val, const float *w);
    void (*sparse_axpy)(size_t n, float a, const uint32_t *col, const float *val, float *y);
    void (*sparse_axpy_double)(size_t n, double a, const uint32_t *col, const float *val, double *y);

    /* ---- losses ---- */
    /* g[j] += the sum over rows of d[r] row[r][j], summed in double. */
    void (*rows_sum)(uint32_t rows, uint32_t cols, const double *d, const float *const *row, float *g);
    /* Sum of log(1 + exp(-s z)), s = +1 for label 1, -1 for label 0; d[r] = coef times the
     * slope in z where d is not NULL. At most MOT_SLICE_ROWS rows. */
    double (*logistic)(uint32_t rows, const double *z, const float *y, double coef, double *d);
    /* z holds [classes][rows] in panels and becomes the probabilities. */
    void (*softmax)(uint32_t rows, uint32_t classes, float *z);
    /* Sum of the cross-entropies against labels smoothed by `smoothing`; z becomes coef
     * times the slope (0 in the padding). hits, if not NULL: rows whose first largest
     * z is at their label. */
    double (*softmax_loss)(uint32_t rows, uint32_t classes, float *z, const float *y, float coef,
        float smoothing, uint32_t *hits);

    /* ---- similarities: shorts, 65535 for 1, so that sums are exact in any order ---- */
    /* out(i, j) = exp(-gamma max(0, a2[i] + b2[j] - 2 dot(i, j))), with dot [panels][rows][16] as gemm leaves
     * it, a2 and b2 the squared norms (infinite where a column is padding: 0 comes out), out(i, j) =
     * out[i*out_row + j]. */
    void (*gauss)(uint32_t rows, uint32_t panels, const float *dot, const float *a2, const float *b2,
        float gamma, uint16_t *out, size_t out_row);
    /* sum of max(0, s - cover) */
    uint64_t (*uncovered)(size_t n, const uint16_t *s, const uint16_t *cover);
    /* cover = max(cover, s) */
    void (*cover)(size_t n, const uint16_t *s, uint16_t *cover);
    void (*add_short)(size_t n, const uint16_t *s, uint64_t *sum); /* sum += s */
    /* lead -= s, unless that is NULL; then the place of the first largest next * mean + lead, 0 if n is 0 */
    size_t (*herd)(size_t n, double next, const double *mean, const uint16_t *s, double *lead);
    void (*cosine)(size_t n, const float *x, float *y);         /* |x| up to 1e4 */
    void (*to_bytes)(size_t n, const float *x, int8_t *y);      /* the nearest to 127 x, |x| <= 1 */
    void (*add_bytes)(size_t n, const int8_t *x, int32_t *sum); /* sum += x */

    /* ---- compressors ---- */
    /* The places, counted from `first` on, and the bits of entries whose bits without the sign are at least
     * `least` (1 to 2^31 - 1), in order; returns how many. What follows them, up to n, may be overwritten. */
    size_t (*above)(
        size_t n, const float *x, uint32_t least, uint32_t first, uint32_t *index, uint32_t *bits);
    double (*norm1)(size_t n, const float *x); /* the sum of absolute values, added like dot */
    /* level = the sign of x times |x| steps, rounded up or down at random so that the mean is right, at most
     * `most`; |x| steps below 2^24 */
    void (*levels)(size_t n, const float *x, float steps, int32_t most, uint64_t key, int8_t *level);
    void (*signs)(size_t n, const float *x, unsigned char *bit); /* a bit each, 1: negative; then zeros */

    /* ---- optimisers: one pass, every out may be its in ---- */
    /* without momentum; false: g is not finite */
    bool (*sgd)(size_t n, const struct mot_sgd *, const float *g, const float *x, float *x_out);
    void (*momentum)(size_t n, const struct mot_sgd *, const float *g, const float *x, float *x_out,
        const float *v, float *v_out);
    void (*adamw)(size_t n, const struct mot_adamw *, const float *g, const float *x, float *x_out,
        const float *m, float *m_out, const float *v, float *v_out);
};

/* The set in use. MOTLEY_KERNELS=generic|avx2|neon overrides the choice, once, at the first use. */
const struct mot_kernels *mot_kernels(void);
const char *mot_kernels_name(void);

/* Makes that choice now; fails if MOTLEY_KERNELS asks for a set that is not there. Opening a
 * net or an optimiser does this; mot_kernels() ends the program instead. */
enum mot_status mot_kernels_open(void);

/* Uses another set from here on, so that several machines can agree on one; false: it is not there.
 * Only before a net is opened. */
bool mot_kernels_use(const char *name);

/* Every set that this machine can run, best first, ended by NULL (avx2 with its wider twins, then without);
 * and the plain twin. */
const struct mot_kernels *const *mot_kernels_all(void);
extern const struct mot_kernels mot_kernels_ref;

#endif
