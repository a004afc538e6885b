#include "partition/similar.h"

#include "base/memory.h"
#include "math/kernels.h"
#include <stdlib.h>
#include <string.h>

void mot_headway_add(struct mot_headway *w, unsigned who, uint64_t units)
{
    if (!w) return;
    uint64_t done = atomic_fetch_add(&w->done, units) + units;
    if (who == 0) mot_split_progress(w->split, w->total > 0 ? (double)done / w->total : 0);
}

static bool interrupted(const struct mot_similar *s)
{
    return s->work && mot_split_interrupted(s->work->split);
}

/* Runs the pieces on the crew, or here one after another. */
static void each(
    struct mot_similar *s, uint32_t pieces, void (*run)(void *, uint32_t, unsigned), void *context)
{
    if (s->crew) {
        mot_crew_each(s->crew, pieces, run, context);
        return;
    }
    for (uint32_t i = 0; i < pieces; i++) run(context, i, 0);
}

static unsigned threads_of(const struct mot_similar *s) { return s->crew ? mot_crew_threads(s->crew) : 1; }

/* The thread that reports progress: one of the crew, or the one that has this class. */
static unsigned reporter(const struct mot_similar *s, unsigned who) { return s->crew ? who : s->who; }

static float *scratch_of(const struct mot_similar *s, unsigned who)
{
    return s->scratch + (size_t)who * MOT_SAMPLES_SCRATCH;
}

static size_t width_of(uint32_t n) { return (size_t)mot_panels(n) * MOT_PANEL; }

double mot_similar_bytes(enum mot_similar_kind kind, uint32_t n, uint32_t k)
{
    double width = (double)width_of(n), scratch = 4.0 * MOT_SAMPLES_SCRATCH;
    switch (kind) {
    case MOT_SIMILAR_DENSE: return 2 * width * n + scratch;
    case MOT_SIMILAR_BLOCKED: return 2 * width * MOT_SIMILAR_BATCH + scratch;
    case MOT_SIMILAR_KNN: return 6.0 * k * n + 2 * width * MOT_SAMPLES_ROWS + scratch;
    }
    return 0;
}

/* ---- Dense: tiles above the diagonal, each stored twice ----------------------------------- */

#define TILE MOT_SAMPLES_ROWS
#define TILE_PANELS (TILE / MOT_PANEL)

/* Eight rows of eight shorts become columns: three times, the two halves of the rows are interleaved, like
 * cards in a riffle. */
typedef uint16_t eight __attribute__((vector_size(16)));

static void riffle(const eight *a, eight *b)
{
    for (int i = 0; i < 4; i++) {
        b[2 * i] = __builtin_shufflevector(a[i], a[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
        b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
}

static void turn_eight(const uint16_t *from, size_t from_row, uint16_t *to, size_t to_row)
{
    eight a[8], b[8];
    for (int i = 0; i < 8; i++) memcpy(&a[i], from + i * from_row, sizeof a[i]);
    riffle(a, b);
    riffle(b, a);
    riffle(a, b);
    for (int i = 0; i < 8; i++) memcpy(to + i * to_row, &b[i], sizeof b[i]);
}

static void mirror(uint16_t *matrix, size_t width, uint32_t i0, uint32_t rows, uint32_t j0, uint32_t cols)
{
    for (uint32_t j = j0; j < j0 + cols; j += 8)
        for (uint32_t i = i0; i < i0 + rows; i += 8) {
            if (i + 8 <= i0 + rows && j + 8 <= j0 + cols) {
                turn_eight(matrix + (size_t)i * width + j, width, matrix + (size_t)j * width + i, width);
                continue;
            }
            for (uint32_t v = j; v < j + 8 && v < j0 + cols; v++)
                for (uint32_t u = i; u < i + 8 && u < i0 + rows; u++)
                    matrix[(size_t)v * width + u] = matrix[(size_t)u * width + v];
        }
}

static void dense_rows(void *context, uint32_t block, unsigned who)
{
    struct mot_similar *s = context;
    const struct mot_samples *x = s->samples;
    uint32_t i0 = block * TILE, rows = x->n - i0 < TILE ? x->n - i0 : TILE;
    if (interrupted(s)) return;
    for (uint32_t p = i0 / MOT_PANEL; p < x->panels; p += TILE_PANELS) {
        uint32_t to = p + TILE_PANELS < x->panels ? p + TILE_PANELS : x->panels, j0 = p * MOT_PANEL;
        mot_samples_compare(
            x, i0, rows, p, to, scratch_of(s, who), s->matrix + (size_t)i0 * x->width + j0, x->width);
        uint32_t cols = x->n - j0 < TILE ? x->n - j0 : TILE;
        if (j0 != i0) mirror(s->matrix, x->width, i0, rows, j0, cols);
        mot_headway_add(s->work, reporter(s, who), (uint64_t)rows * cols * (x->cols + 16));
    }
}

/* ---- Nearest neighbours ---------------------------------------------------------------------- */

/* The k largest of a row: a count by high byte and then by low byte finds the least of them;
 * those equal to it are taken in the order of the samples. */
static void nearest_of(const uint16_t *row, uint32_t n, uint32_t k, uint32_t *near, uint16_t *how)
{
    uint32_t high[256] = { 0 }, low[256] = { 0 }, above = 0, h = 255, l = 255, out = 0;
    for (uint32_t i = 0; i < n; i++) high[row[i] >> 8]++;
    for (; h > 0 && above + high[h] < k; h--) above += high[h];
    for (uint32_t i = 0; i < n; i++)
        if (row[i] >> 8 == h) low[row[i] & 255]++;
    for (; l > 0 && above + low[l] < k; l--) above += low[l];
    uint32_t least = h << 8 | l, equal = k - above;
    for (uint32_t i = 0; i < n && out < k; i++) {
        bool take = row[i] > least || (row[i] == least && equal > 0);
        if (!take) continue;
        equal -= row[i] == least;
        near[out] = i;
        how[out++] = row[i];
    }
}

struct knn {
    struct mot_similar *s;
    uint16_t *rows;
};

static void knn_rows(void *context, uint32_t block, unsigned who)
{
    struct knn *k = context;
    struct mot_similar *s = k->s;
    const struct mot_samples *x = s->samples;
    uint32_t i0 = block * TILE, rows = x->n - i0 < TILE ? x->n - i0 : TILE;
    uint16_t *row = k->rows + (size_t)who * TILE * x->width;
    if (interrupted(s)) return;
    mot_samples_compare(x, i0, rows, 0, x->panels, scratch_of(s, who), row, x->width);
    for (uint32_t i = 0; i < rows; i++)
        nearest_of(row + i * x->width, x->n, s->k, s->near + (size_t)(i0 + i) * s->k,
            s->how + (size_t)(i0 + i) * s->k);
    mot_headway_add(s->work, reporter(s, who), (uint64_t)rows * x->n * (x->cols + 16));
}

/* ---- Open and close ------------------------------------------------------------------------------ */

enum mot_status mot_similar_open(struct mot_similar *s)
{
    const struct mot_samples *x = s->samples;
    uint32_t blocks = (x->n + TILE - 1) / TILE;
    s->scratch = mot_aligned_large((size_t)threads_of(s) * MOT_SAMPLES_SCRATCH * sizeof(float));
    if (!s->scratch) return mot_memory_status();
    switch (s->kind) {
    case MOT_SIMILAR_DENSE:
        s->matrix = s->lent ? s->lent : mot_aligned_large((size_t)x->n * x->width * sizeof *s->matrix);
        if (!s->matrix) return mot_memory_status();
        each(s, blocks, dense_rows, s);
        s->pairs += (uint64_t)x->n * (x->n + 1) / 2;
        break;
    case MOT_SIMILAR_BLOCKED:
        s->rows = mot_aligned_large(MOT_SIMILAR_BATCH * x->width * sizeof *s->rows);
        s->batch = mot_aligned_large((size_t)MOT_SIMILAR_BATCH * x->cols * sizeof(float));
        s->batch_norm2 = mot_new_large(MOT_SIMILAR_BATCH, sizeof(float));
        break;
    case MOT_SIMILAR_KNN:
        if (s->k > x->n) s->k = x->n;
        s->near = mot_new_large((size_t)x->n * s->k, sizeof *s->near);
        s->how = mot_new_large((size_t)x->n * s->k, sizeof *s->how);
        struct knn k = { s, mot_aligned_large((size_t)threads_of(s) * TILE * x->width * sizeof(uint16_t)) };
        if (s->near && s->how && k.rows) each(s, blocks, knn_rows, &k);
        free(k.rows);
        s->pairs += (uint64_t)x->n * x->n;
        break;
    }
    if (mot_memory_refused()) return mot_memory_status();
    return interrupted(s) ? mot_fail(MOT_EINTERRUPTED, "interrupted") : MOT_OK;
}

void mot_similar_close(struct mot_similar *s)
{
    if (!s->lent) free(s->matrix);
    free(s->near);
    free(s->how);
    free(s->rows);
    free(s->batch);
    free(s->batch_norm2);
    free(s->scratch);
    *s = (struct mot_similar){ 0 };
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

#define PIECE_PANELS 256u

struct piece {
    struct mot_similar *s;
    uint32_t n;
};

static void batch_piece(void *context, uint32_t i, unsigned who)
{
    struct piece *p = context;
    const struct mot_similar *s = p->s;
    const struct mot_samples *x = s->samples;
    uint32_t from = i * PIECE_PANELS, to = from + PIECE_PANELS < x->panels ? from + PIECE_PANELS : x->panels;
    mot_samples_compare_rows(x, s->batch, s->batch_norm2, p->n, from, to, scratch_of(s, who),
        s->rows + (size_t)from * MOT_PANEL, x->width);
}

void mot_similar_rows(struct mot_similar *s, const uint32_t *id, uint32_t n, const uint16_t **row_out)
{
    const struct mot_samples *x = s->samples;
    for (uint32_t i = 0; i < n; i++)
        row_out[i] = s->matrix ? s->matrix + (size_t)id[i] * x->width : s->rows + (size_t)i * x->width;
    if (s->matrix) return;
    for (uint32_t i = 0; i < n; i++) {
        memcpy(
            s->batch + (size_t)i * x->cols, x->a + (size_t)id[i] * x->cols, (size_t)x->cols * sizeof(float));
        s->batch_norm2[i] = x->norm2[id[i]];
    }
    each(s, (x->panels + PIECE_PANELS - 1) / PIECE_PANELS, batch_piece, &(struct piece){ s, n });
    s->pairs += (uint64_t)n * x->n;
}

struct totals {
    struct mot_similar *s;
    uint64_t *total;
    const uint16_t *nothing;
};

static void dense_totals(void *context, uint32_t block, unsigned who)
{
    (void)who;
    struct totals *t = context;
    const struct mot_samples *x = t->s->samples;
    for (uint32_t i = block * TILE; i < x->n && i < (block + 1) * TILE; i++)
        t->total[i] = mot_kernels()->uncovered(x->width, t->s->matrix + (size_t)i * x->width, t->nothing);
}

enum mot_status mot_similar_totals(struct mot_similar *s, uint64_t *total)
{
    const struct mot_samples *x = s->samples;
    uint16_t *nothing = mot_new_large(x->width, sizeof *nothing);
    if (!nothing) return mot_memory_status();
    if (s->kind == MOT_SIMILAR_DENSE)
        each(s, (x->n + TILE - 1) / TILE, dense_totals, &(struct totals){ s, total, nothing });
    for (uint32_t i = 0; i < x->n && s->kind == MOT_SIMILAR_KNN; i++) {
        total[i] = 0;
        for (uint32_t j = 0; j < s->k; j++) total[i] += s->how[(size_t)i * s->k + j];
    }
    for (uint32_t i = 0; i < x->n && s->kind == MOT_SIMILAR_BLOCKED && !interrupted(s);
         i += MOT_SIMILAR_BATCH) {
        uint32_t id[MOT_SIMILAR_BATCH], n = x->n - i < MOT_SIMILAR_BATCH ? x->n - i : MOT_SIMILAR_BATCH;
        const uint16_t *row[MOT_SIMILAR_BATCH];
        for (uint32_t j = 0; j < n; j++) id[j] = i + j;
        mot_similar_rows(s, id, n, row);
        for (uint32_t j = 0; j < n; j++) total[i + j] = mot_kernels()->uncovered(x->width, row[j], nothing);
        mot_headway_add(s->work, s->who, (uint64_t)n * x->n * (x->cols + 16));
    }
    free(nothing);
    return interrupted(s) ? mot_fail(MOT_EINTERRUPTED, "interrupted") : MOT_OK;
}
