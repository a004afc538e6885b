/* features.c -- features of samples by name, their bandwidth, and samples packed for the kernels. */
#include "partition/features.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/words.h"
#include "data/formats.h"
#include "math/kernels.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Features by name ---------------------------------------------------------------- */

bool mot_features_word(const char *what) { return strcmp(what, "raw") == 0 || strncmp(what, "pca:", 4) == 0; }

static enum mot_status open_pca(const char *what, const struct mot_split *s, uint64_t memory,
    struct mot_crew *crew, struct mot_features *f)
{
    uint64_t k;
    const struct mot_table *t = s->table;
    uint32_t most = t->cols < t->rows ? t->cols : t->rows;
    if (!mot_read_uint(what + 4, &k) || k < 1 || k > most)
        return mot_fail(MOT_EUSAGE,
            "features '%.60s': expected pca:K with K from 1 to %u, the smaller of the data's rows and "
            "columns",
            what, most);
    double bytes = 8.0 * ((double)t->rows + t->cols) * ((double)k + 16);
    if (bytes > (double)memory) {
        char need[32], have[32];
        return mot_fail(MOT_EUSAGE,
            "features %s of %u rows take %s, more than the memory of %s: use fewer components", what, t->rows,
            mot_show_size(bytes, need, sizeof need), mot_show_size((double)memory, have, sizeof have));
    }
    f->cols = (uint32_t)k;
    f->own = mot_new_large((size_t)t->rows * f->cols, sizeof *f->own);
    if (f->own) mot_pca(t, f->cols, s->seed, crew, f->own);
    f->x = f->own;
    return mot_memory_status();
}

static enum mot_status open_file(
    const char *path, const struct mot_split *s, uint64_t memory, struct mot_features *f)
{
    struct mot_source *source;
    struct mot_raw raw = { 0 };
    struct mot_read_conf read = mot_read_preset();
    uint32_t rows = s->file_rows ? s->file_rows : s->table->rows;
    read.unlabelled = true;
    if (s->file_cut) read.rows = rows;
    if (read.memory > memory) read.memory = memory;
    enum mot_status status = mot_source_open(path, s->unpack_max, &source);
    if (status != MOT_OK) return status;
    status = mot_read_npy(source, NULL, &read, &raw);
    mot_source_close(source);
    if (status == MOT_OK && raw.rows != rows)
        status = mot_fail(MOT_EDATA, "%s: %u rows of features, expected %u: one per row of the data file",
            path, raw.rows, rows);
    if (status != MOT_OK) {
        mot_raw_free(&raw);
        return status;
    }
    f->cols = raw.cols;
    f->x = f->own = raw.x;
    f->row = s->file_row;
    f->rows = rows; /* only to count its bytes: callers ask for rows of the table */
    raw.x = NULL;
    mot_raw_free(&raw);
    return MOT_OK;
}

enum mot_status mot_features_open(const char *what, const struct mot_split *s, uint64_t memory,
    struct mot_crew *crew, struct mot_features *out)
{
    const struct mot_table *t = s->table;
    struct mot_features f = { .rows = t->rows, .cols = t->cols, .x = t->x, .table = t };
    enum mot_status status = mot_kernels_open();
    if (status == MOT_OK && strncmp(what, "pca:", 4) == 0) status = open_pca(what, s, memory, crew, &f);
    else if (status == MOT_OK && strcmp(what, "raw") != 0) status = open_file(what, s, memory, &f);
    if (status != MOT_OK) {
        free(f.own);
        return status;
    }
    *out = f;
    return MOT_OK;
}

void mot_features_close(struct mot_features *f)
{
    free(f->own);
    *f = (struct mot_features){ 0 };
}

double mot_features_bytes(const struct mot_features *f) { return f->own ? 4.0 * f->rows * f->cols : 0; }

void mot_features_row(const struct mot_features *f, uint32_t row, float *out)
{
    const struct mot_table *t = f->table;
    if (f->x) {
        memcpy(out, f->x + (size_t)(f->row ? f->row[row] : row) * f->cols, (size_t)f->cols * sizeof *out);
        return;
    }
    memset(out, 0, (size_t)f->cols * sizeof *out);
    for (uint64_t i = t->row_at[row]; i < t->row_at[row + 1]; i++) out[t->col[i]] = t->val[i];
}

/* ---- Packed samples ---------------------------------------------------------------------- */

double mot_samples_bytes(uint32_t n, uint32_t cols) { return 4.0 * (2.0 * n + 32) * cols + 4.0 * n; }

static void take_mean_away(float *a, uint32_t n, uint32_t cols)
{
    double *mean = mot_new_large(cols, sizeof *mean);
    if (!mean) return;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t c = 0; c < cols; c++) mean[c] += (double)a[(size_t)i * cols + c];
    for (uint32_t c = 0; c < cols; c++) mean[c] /= n;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t c = 0; c < cols; c++)
            a[(size_t)i * cols + c] = (float)((double)a[(size_t)i * cols + c] - mean[c]);
    free(mean);
}

void mot_samples_open(
    const struct mot_features *f, const uint32_t *row, uint32_t n, double bandwidth, struct mot_samples *out)
{
    double gamma = 1 / (2 * bandwidth * bandwidth);
    /* a sample resembles itself even if nothing else does */
    struct mot_samples s = {
        .n = n, .cols = f->cols, .panels = mot_panels(n), .gamma = gamma < FLT_MAX ? (float)gamma : FLT_MAX
    };
    s.width = (size_t)s.panels * MOT_PANEL;
    s.a = mot_aligned_large((size_t)n * s.cols * sizeof(float));
    s.b = mot_aligned_large(s.width * s.cols * sizeof(float));
    s.norm2 = mot_new_large(s.width, sizeof(float));
    *out = s;
    if (!s.a || !s.b || !s.norm2) return;
    for (uint32_t i = 0; i < n; i++) mot_features_row(f, row ? row[i] : i, s.a + (size_t)i * s.cols);
    take_mean_away(s.a, n, s.cols);
    for (uint32_t i = 0; i < n; i++) {
        const float *from = s.a + (size_t)i * s.cols;
        float *to = s.b + (size_t)(i / MOT_PANEL) * s.cols * MOT_PANEL + i % MOT_PANEL;
        for (uint32_t c = 0; c < s.cols; c++) to[(size_t)c * MOT_PANEL] = from[c];
        s.norm2[i] = (float)mot_kernels()->norm2(s.cols, from);
    }
    for (size_t i = n; i < s.width; i++) s.norm2[i] = INFINITY;
}

void mot_samples_close(struct mot_samples *s)
{
    free(s->a);
    free(s->b);
    free(s->norm2);
    *s = (struct mot_samples){ 0 };
}

/* Panels at a time whose products fit in the scratch. */
#define PANELS_AT_ONCE (MOT_SAMPLES_SCRATCH / (MOT_SAMPLES_ROWS * MOT_PANEL))

static void products(
    const struct mot_samples *s, const float *a, uint32_t n, uint32_t panel, uint32_t panels, float *out)
{
    mot_kernels()->gemm(&(struct mot_gemm){ .m = n,
        .n = panels * MOT_PANEL,
        .k = s->cols,
        .a = a,
        .a_row = s->cols,
        .a_block = MOT_PANEL,
        .a_col = 1,
        .b = s->b + (size_t)panel * s->cols * MOT_PANEL,
        .b_panel = (size_t)s->cols * MOT_PANEL,
        .c = out,
        .c_row = MOT_PANEL,
        .c_panel = (size_t)n * MOT_PANEL });
}

void mot_samples_compare_rows(const struct mot_samples *s, const float *a, const float *norm2, uint32_t n,
    uint32_t from, uint32_t to, float *scratch, uint16_t *out, size_t out_row)
{
    for (uint32_t p = from; p < to; p += PANELS_AT_ONCE) {
        uint32_t panels = to - p < PANELS_AT_ONCE ? to - p : PANELS_AT_ONCE;
        products(s, a, n, p, panels, scratch);
        mot_kernels()->gauss(n, panels, scratch, norm2, s->norm2 + (size_t)p * MOT_PANEL, s->gamma,
            out + (size_t)(p - from) * MOT_PANEL, out_row);
    }
}

void mot_samples_compare(const struct mot_samples *s, uint32_t first, uint32_t n, uint32_t from, uint32_t to,
    float *scratch, uint16_t *out, size_t out_row)
{
    mot_samples_compare_rows(
        s, s->a + (size_t)first * s->cols, s->norm2 + first, n, from, to, scratch, out, out_row);
}

/* ---- Bandwidth ------------------------------------------------------------------------------ */

#define SAMPLE_ROWS 512u

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Squared distances of all pairs of packed samples, ascending; returns how many. */
static size_t pair_distances(const struct mot_samples *s, float *square)
{
    size_t pairs = 0;
    float *dot = mot_aligned_large(MOT_SAMPLES_SCRATCH * sizeof *dot);
    for (uint32_t i = 0; dot && i < s->n; i++)
        for (uint32_t p = i / MOT_PANEL; p < s->panels; p++) {
            products(s, s->a + (size_t)i * s->cols, 1, p, 1, dot);
            for (uint32_t j = p * MOT_PANEL; j < (p + 1) * MOT_PANEL && j < s->n; j++) {
                float d = s->norm2[i] + s->norm2[j] - 2 * dot[j % MOT_PANEL];
                if (j > i) square[pairs++] = d > 0 ? d : 0;
            }
        }
    free(dot);
    qsort(square, pairs, sizeof *square, by_size);
    return pairs;
}

double mot_features_bandwidth(const struct mot_features *f, uint64_t seed)
{
    uint32_t rows = f->table->rows, n = rows < SAMPLE_ROWS ? rows : SAMPLE_ROWS;
    uint32_t *row = mot_new_large(n, sizeof *row);
    float *square = mot_new_large((size_t)n * n / 2 + 1, sizeof *square);
    struct mot_samples s;
    uint64_t key = mot_hash3(seed, MOT_RNG_PARTITION, UINT64_C(1) << 40);
    for (uint32_t i = 0; row && i < n; i++) row[i] = (uint32_t)mot_permute(key, rows, i);
    mot_samples_open(f, row, n, 1, &s);
    size_t pairs = mot_memory_refused() ? 0 : pair_distances(&s, square);
    double median = pairs ? (double)square[pairs / 2] : 1;
    /* For equal rows rounding leaves a trace of the norms. */
    double trace = s.norm2 ? 1e-6 * (double)s.norm2[0] : 0;
    for (size_t i = pairs / 2; i < pairs && !(median > trace); i++) median = (double)square[i];
    mot_samples_close(&s);
    free(square);
    free(row);
    return median > trace && median > 0 ? sqrt(median) : 1;
}
