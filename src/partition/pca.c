/* pca.c -- the leading principal components, by subspace iteration (Halko, Martinsson and Tropp, "Finding
 * structure with randomness", 2011). Rows are never copied; every number is a sum in a fixed order, whoever
 * computes it. */
#include "base/memory.h"
#include "base/rng.h"
#include "math/kernels.h"
#include "partition/features.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXTRA 8u /* directions besides those asked for: the last of those converge faster with them */
#define PASSES 8u
#define CHUNK 256u /* rows, or columns, of one piece of work */

struct pca {
    const struct mot_table *t;
    uint32_t width, panels; /* directions, and panels of them */
    float *q;               /* panels [panels][cols][16]: the directions */
    float *z;               /* panels [panels][rows][16]: the rows seen along them */
    float *shift;           /* [width]: the mean seen along them */
    float *next;            /* as q */
    double *mean;           /* [cols] */
};

static float *at(float *panel, size_t rows, size_t r, uint32_t c)
{
    return panel + (c / MOT_PANEL * rows + r) * MOT_PANEL + c % MOT_PANEL;
}

static void find_mean(struct pca *p)
{
    const struct mot_table *t = p->t;
    for (uint32_t r = 0; r < t->rows; r++) {
        if (t->x)
            for (uint32_t c = 0; c < t->cols; c++) p->mean[c] += (double)t->x[(size_t)r * t->cols + c];
        else
            for (uint64_t i = t->row_at[r]; i < t->row_at[r + 1]; i++)
                p->mean[t->col[i]] += (double)t->val[i];
    }
    for (uint32_t c = 0; c < t->cols; c++) p->mean[c] /= t->rows;
}

/* z = (x - mean) q for CHUNK rows. */
static void rows_along(void *context, uint32_t i, unsigned who)
{
    (void)who;
    struct pca *p = context;
    const struct mot_table *t = p->t;
    uint32_t first = i * CHUNK, n = t->rows - first < CHUNK ? t->rows - first : CHUNK;
    if (t->x) {
        mot_kernels()->gemm(&(struct mot_gemm){ .m = n,
            .n = p->panels * MOT_PANEL,
            .k = t->cols,
            .a = t->x + (size_t)first * t->cols,
            .a_row = t->cols,
            .a_block = MOT_PANEL,
            .a_col = 1,
            .b = p->q,
            .b_panel = (size_t)t->cols * MOT_PANEL,
            .c = p->z + (size_t)first * MOT_PANEL,
            .c_row = MOT_PANEL,
            .c_panel = (size_t)t->rows * MOT_PANEL });
    } else {
        for (uint32_t panel = 0; panel < p->panels; panel++)
            for (uint32_t r = first; r < first + n; r++) {
                float *z = p->z + ((size_t)panel * t->rows + r) * MOT_PANEL;
                memset(z, 0, MOT_PANEL * sizeof *z);
                for (uint64_t e = t->row_at[r]; e < t->row_at[r + 1]; e++)
                    for (uint32_t c = 0; c < MOT_PANEL; c++)
                        z[c] += t->val[e] * p->q[((size_t)panel * t->cols + t->col[e]) * MOT_PANEL + c];
            }
    }
    for (uint32_t panel = 0; panel < p->panels; panel++)
        for (uint32_t r = first; r < first + n; r++)
            for (uint32_t c = 0; c < MOT_PANEL; c++)
                p->z[((size_t)panel * t->rows + r) * MOT_PANEL + c] -= p->shift[panel * MOT_PANEL + c];
}

/* next = x' z: of dense rows CHUNK columns, of sparse ones a panel of
 * directions. The mean needs no care: z sums to 0. */
static void columns_back(void *context, uint32_t i, unsigned who)
{
    (void)who;
    struct pca *p = context;
    const struct mot_table *t = p->t;
    if (t->x) {
        uint32_t first = i * CHUNK, n = t->cols - first < CHUNK ? t->cols - first : CHUNK;
        mot_kernels()->gemm(&(struct mot_gemm){ .m = n,
            .n = p->panels * MOT_PANEL,
            .k = t->rows,
            .a = t->x + first,
            .a_row = 1,
            .a_block = (size_t)MOT_PANEL * t->cols,
            .a_col = t->cols,
            .b = p->z,
            .b_panel = (size_t)t->rows * MOT_PANEL,
            .c = p->next + (size_t)first * MOT_PANEL,
            .c_row = MOT_PANEL,
            .c_panel = (size_t)t->cols * MOT_PANEL });
        return;
    }
    float *to = p->next + (size_t)i * t->cols * MOT_PANEL;
    memset(to, 0, (size_t)t->cols * MOT_PANEL * sizeof *to);
    for (uint32_t r = 0; r < t->rows; r++) {
        const float *z = p->z + ((size_t)i * t->rows + r) * MOT_PANEL;
        for (uint64_t e = t->row_at[r]; e < t->row_at[r + 1]; e++)
            for (uint32_t c = 0; c < MOT_PANEL; c++)
                to[(size_t)t->col[e] * MOT_PANEL + c] += t->val[e] * z[c];
    }
}

/* Gram-Schmidt, done twice, which is enough; a direction that vanishes becomes 0 and stays 0. */
static void orthogonalise(struct pca *p)
{
    uint32_t cols = p->t->cols;
    double *column = mot_new_large(cols, sizeof *column);
    for (uint32_t c = 0; column && c < p->width; c++) {
        double before = 0, length = 0;
        for (uint32_t r = 0; r < cols; r++) {
            column[r] = (double)*at(p->next, cols, r, c);
            before += column[r] * column[r];
        }
        for (int pass = 0; pass < 2; pass++)
            for (uint32_t d = 0; d < c; d++) {
                double dot = 0;
                for (uint32_t r = 0; r < cols; r++) dot += column[r] * (double)*at(p->q, cols, r, d);
                for (uint32_t r = 0; r < cols; r++) column[r] -= dot * (double)*at(p->q, cols, r, d);
            }
        for (uint32_t r = 0; r < cols; r++) length += column[r] * column[r];
        double scale = length > 1e-12 * before ? 1 / sqrt(length) : 0;
        for (uint32_t r = 0; r < cols; r++) *at(p->q, cols, r, c) = (float)(column[r] * scale);
    }
    free(column);
}

static void begin_anywhere(struct pca *p, uint64_t seed)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_PARTITION, UINT64_C(2) << 40);
    for (uint32_t c = 0; c < p->width; c++)
        for (uint32_t r = 0; r < p->t->cols; r++)
            *at(p->next, p->t->cols, r, c) = (float)mot_rng_normal(&rng);
}

static void look_along(struct pca *p, struct mot_crew *crew)
{
    for (uint32_t c = 0; c < p->panels * MOT_PANEL; c++) {
        double sum = 0;
        for (uint32_t r = 0; r < p->t->cols; r++) sum += p->mean[r] * (double)*at(p->q, p->t->cols, r, c);
        p->shift[c] = (float)sum;
    }
    mot_crew_each(crew, (p->t->rows + CHUNK - 1) / CHUNK, rows_along, p);
}

void mot_pca(const struct mot_table *t, uint32_t k, uint64_t seed, struct mot_crew *crew, float *scores)
{
    uint32_t most = t->cols < t->rows ? t->cols : t->rows, width = k + EXTRA < most ? k + EXTRA : most;
    struct pca p = { .t = t, .width = width, .panels = mot_panels(width) };
    size_t floats = (size_t)p.panels * MOT_PANEL;
    p.q = mot_aligned_large(floats * t->cols * sizeof(float));
    p.next = mot_aligned_large(floats * t->cols * sizeof(float));
    p.z = mot_aligned_large(floats * t->rows * sizeof(float));
    p.shift = mot_new_large(floats, sizeof(float));
    p.mean = mot_new_large(t->cols, sizeof(double));
    bool enough = !mot_memory_refused();
    if (enough) find_mean(&p);
    if (enough) begin_anywhere(&p, seed);
    for (uint32_t pass = 0; enough && pass <= PASSES; pass++) {
        if (pass) mot_crew_each(crew, t->x ? (t->cols + CHUNK - 1) / CHUNK : p.panels, columns_back, &p);
        orthogonalise(&p);
        look_along(&p, crew);
    }
    for (uint32_t r = 0; enough && r < t->rows; r++)
        for (uint32_t c = 0; c < k; c++) scores[(size_t)r * k + c] = *at(p.z, t->rows, r, c);
    free(p.q);
    free(p.next);
    free(p.z);
    free(p.shift);
    free(p.mean);
}
