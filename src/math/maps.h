/* maps.h -- the inner loops of networks that see pictures, one table for each instruction set.
 *
 * A map is [channels][height][width] numbers for each row of a slice. Sixteen rows lie innermost, so that
 * every kernel is a plain loop over pixels with vectors of rows, whatever the kernel's size, stride or
 * padding. Channels come in blocks of four (the last may have fewer):
 * [rows/16][channels/4][height][width][4][16]. A run of pixels is then contiguous for four channels at
  * once, which is what convolutions read. A map of one pixel is a panelled matrix of features (kernels.h).
 *
 * The sums are taken in an order that does not depend on how wide a vector is: a set's wider twin (AVX-512
 * for AVX2) gives the same bits, so a run need not say which of them it used. */
#ifndef MOT_MATH_MAPS_H
#define MOT_MATH_MAPS_H

#include "math/kernels.h"

#define MOT_MAP_BLOCK 4u
#define MOT_KERNEL_MAX 16u /* the most rows and columns of a convolution's window */

struct mot_map {
    uint32_t channels, height, width;
};

static inline size_t mot_map_pixels(const struct mot_map *m) { return (size_t)m->height * m->width; }
/* Numbers for one row. */
static inline size_t mot_map_size(const struct mot_map *m) { return m->channels * mot_map_pixels(m); }
/* How many channels the block of channel c has, where its pixel 0 is, how far the next pixel is. */
static inline uint32_t mot_map_width(uint32_t channels, uint32_t c)
{
    uint32_t left = channels - c / MOT_MAP_BLOCK * MOT_MAP_BLOCK;
    return left < MOT_MAP_BLOCK ? left : MOT_MAP_BLOCK;
}
static inline size_t mot_map_at(const struct mot_map *m, uint32_t c)
{
    return ((size_t)(c / MOT_MAP_BLOCK * MOT_MAP_BLOCK) * mot_map_pixels(m) + c % MOT_MAP_BLOCK) * MOT_PANEL;
}
static inline size_t mot_map_step(const struct mot_map *m, uint32_t c)
{
    return (size_t)mot_map_width(m->channels, c) * MOT_PANEL;
}

/* y(o, h, w) = bias[o] + the sum over r, q, i of weight(o, i, r, q) x(i, h stride + r - top, w stride + q -
 * left), pixels outside of x left out, for h < rows, w < cols; it lands in pixel (from_row + h step,
 * from_col + w step). The weights have been packed. The chain of additions is over blocks of channels, r,
 * q, channels in the block. */
struct mot_conv {
    uint32_t panels;
    struct mot_map in, out;
    uint32_t rows, cols, from_row, from_col, step;
    uint32_t kernel_rows, kernel_cols, stride;
    int32_t top, left;
    const float *x, *packed, *bias; /* bias: [out.channels], or NULL for 0 */
    float *y;
    bool add; /* y += instead of y = */
};

/* Weights in the order in which conv reads them: weight(o, i, r, q) = w[o*o_step + i*i_step + r*r_step +
 * q*q_step]. As many numbers as it has weights. */
struct mot_conv_weights {
    uint32_t out, in, kernel_rows, kernel_cols;
    const float *w;
    ptrdiff_t o_step, i_step, r_step, q_step;
};

/* g(o, i, r, q) += the sum over rows and pixels of d(o, h, w) x(i, h stride + r - top, w stride + q - left);
 * g is [out][in][kernel][kernel]. */
struct mot_conv_slope {
    uint32_t panels;
    struct mot_map in, out;
    uint32_t kernel, stride, padding;
    const float *x, *d;
    float *g;
    float *sums; /* mot_conv_sums() floats to work in */
};
static inline size_t mot_conv_sums(uint32_t out, uint32_t in, uint32_t kernel)
{
    size_t blocks =
        (size_t)((out + MOT_MAP_BLOCK - 1) / MOT_MAP_BLOCK) * ((in + MOT_MAP_BLOCK - 1) / MOT_MAP_BLOCK);
    size_t tile = (size_t)kernel * kernel * MOT_MAP_BLOCK * MOT_MAP_BLOCK * MOT_PANEL;
    return blocks * tile <= (1u << 18) ? blocks * tile : tile;
}

/* A window that moves over a map: pooling. */
struct mot_pooling {
    uint32_t panels, kernel_rows, kernel_cols, stride, padding;
    struct mot_map in, out;
    const float *x; /* in */
    float *y;       /* out */
    const float *d; /* back: the slope at y */
    float *dx;      /* back: the slope at x */
    bool add;       /* dx += */
};

/* A map seen channel by channel; only the first `rows` of panels * 16 rows count. */
struct mot_channels {
    uint32_t rows;
    struct mot_map map;
};

/* What dropout draws for number n (channel after channel) of a row: 24 bits, a function of the row's key and
 * n, the same on every machine. */
static inline uint32_t mot_drop_draw(uint64_t key, uint32_t n)
{
    uint32_t h = ((uint32_t)key + n) ^ (uint32_t)(key >> 32);
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    return (h ^ h >> 16) >> 8;
}
struct mot_drop {
    struct mot_map map;
    uint64_t key[MOT_PANEL]; /* of the rows of one panel */
    uint32_t below;          /* draws below it are dropped, */
    float by;                /* what is kept is multiplied by this */
};

struct mot_map_kernels {
    const char *name;
    void (*conv_pack)(const struct mot_conv_weights *, float *packed);
    void (*conv)(const struct mot_conv *);
    void (*conv_slope)(const struct mot_conv_slope *);
    void (*max_pool)(const struct mot_pooling *);      /* of pixels inside; the padding counts as -infinity */
    void (*max_pool_back)(const struct mot_pooling *); /* to the first greatest */
    void (*mean_pool)(const struct mot_pooling *); /* by the window's size, the padding counted as zeros */
    void (*mean_pool_back)(const struct mot_pooling *);
    /* For each channel, in double: the sums of x - pivot and of its square, pivot being the channel's first
     * number. */
    void (*moments)(const struct mot_channels *, const float *x, double *sum, double *square);
    /* For each channel the sums of d and of d (x - mean[c]); x may be NULL: only d. */
    void (*slope_sums)(const struct mot_channels *, const float *x, const float *d, const float *mean,
        double *sum, double *product);
    /* y = a[c] x + b[c], no less than 0 if relu */
    void (*scale)(
        const struct mot_channels *, const float *x, const float *a, const float *b, bool relu, float *y);
    /* dx = a[c] d + b[c] x + e[c], or dx += that; 0 in rows that do not count */
    void (*scale_back)(const struct mot_channels *, const float *x, const float *d, const float *a,
        const float *b, const float *e, bool add, float *dx);
    /* The same row by row, for one panel: sixteen numbers where there was one. Sums are over some channels
     * from c on, and pivots are the first numbers of channel c. */
    void (*row_moments)(
        const struct mot_map *, uint32_t c, uint32_t channels, const float *x, double *sum, double *square);
    /* ... and of one channel */
    void (*row_slope_sums)(const struct mot_map *, uint32_t c, const float *x, const float *d,
        const float *mean, double *sum, double *product);
    void (*row_scale)(const struct mot_map *, uint32_t c, const float *x, const float *a, const float *b,
        bool relu, float *y);
    void (*row_scale_back)(const struct mot_map *, uint32_t c, const float *x, const float *d, const float *a,
        const float *b, const float *e, bool add, float *dx);
    /* One panel in place; the same bits in every set. */
    void (*drop)(const struct mot_drop *, float *x);
};

/* Of the set in use; and every table of this machine, the plain twin apart. */
const struct mot_map_kernels *mot_map_kernels(void);
const struct mot_map_kernels *const *mot_map_kernels_all(void);
extern const struct mot_map_kernels mot_map_kernels_ref;

#endif
