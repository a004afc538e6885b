/* herding_chunks.c -- classes too large to compare all pairs.
 *
 * The score of v for block A, (|A| + 1) m(v) - t(v), is taken apart into what can be computed exactly in the
 * chunk at hand and what is a difference of means. With B the part of A in this chunk, P that in earlier
 * ones, c(v) the mean similarity of v to the chunk and t_B, t_P the sums of those to B and P:
 *
 *   (|B| + 1) c(v) - t_B(v)        exact
 *   + (|B| + 1) (m(v) - c(v))      <f(v), class mean - chunk's mean>
 *   + |P| m(v) - t_P(v)            <f(v), |P| class mean - sum over P>
 *
 * with f the random Fourier features. Both differences are short vectors, and the error of random features
 * is in proportion to their length; approximating m(v) and t(v) themselves would drown what is left of the
 * blocks' errors in noise. */
#include "base/memory.h"
#include "base/rng.h"
#include "math/kernels.h"
#include "partition/fourier.h"
#include "partition/herding.h"
#include "partition/quota.h"
#include <stdlib.h>
#include <string.h>

#define FREQUENCIES 8192u
#define WIDTH (2 * (size_t)FREQUENCIES)
#define ROWS 48u /* mapped at a time */

struct chunks {
    struct mot_herding_class *h;
    struct mot_fourier fourier;
    uint32_t count, *id; /* chunks; id [n]: samples of the class in the order of the chunks */
    double *centre;      /* [cols]: taken away before mapping, so that angles are small */
    double *mean;        /* [WIDTH]: of the class */
    double *sum;         /* [count][WIDTH]: of each chunk */
    double *taken;       /* [blocks][WIDTH]: of what each block has */
    uint32_t *size;      /* [blocks] */
    float *wave, *flat;  /* [threads][ROWS][WIDTH], [threads][ROWS][cols] */
    /* of the chunk at hand */
    uint32_t first, n;
    float *vector, *score; /* [panels][WIDTH][16], [n][panels * 16]: products with shift and owed */
    uint32_t panels;
    uint32_t *owner; /* [n] */
};

static void each(struct chunks *c, uint32_t pieces, void (*run)(void *, uint32_t, unsigned))
{
    if (c->h->crew) {
        mot_crew_each(c->h->crew, pieces, run, c);
        return;
    }
    for (uint32_t i = 0; i < pieces; i++) run(c, i, 0);
}

static unsigned threads_of(const struct mot_herding_class *h)
{
    return h->crew ? mot_crew_threads(h->crew) : 1;
}

static bool interrupted(const struct chunks *c)
{
    return c->h->work && mot_split_interrupted(c->h->work->split);
}

static uint32_t chunk_at(const struct chunks *c, uint32_t i)
{
    return (uint32_t)((uint64_t)c->h->n * i / c->count);
}

/* Features of the samples id[0..n-1] of the class, n <= ROWS. */
static const float *map(struct chunks *c, const uint32_t *id, uint32_t n, unsigned who)
{
    uint32_t cols = c->h->features->cols;
    float *flat = c->flat + (size_t)who * ROWS * cols, *wave = c->wave + (size_t)who * ROWS * WIDTH;
    for (uint32_t i = 0; i < n; i++) {
        float *row = flat + (size_t)i * cols;
        mot_features_row(c->h->features, c->h->row[id[i]], row);
        for (uint32_t k = 0; k < cols; k++) row[k] = (float)((double)row[k] - c->centre[k]);
    }
    mot_fourier_map(&c->fourier, flat, n, wave);
    unsigned reporter = c->h->crew ? who : c->h->who;
    mot_work_step(c->h->work, reporter, (uint64_t)n * (cols + 64) * FREQUENCIES);
    return wave;
}

static void add_waves(double *sum, const float *wave, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < WIDTH; k++) sum[k] += (double)wave[i * WIDTH + k];
}

/* ---- Means ---------------------------------------------------------------------------------- */

static void sum_chunk(void *context, uint32_t i, unsigned who)
{
    struct chunks *c = context;
    for (uint32_t at = chunk_at(c, i), end = chunk_at(c, i + 1); at < end && !interrupted(c); at += ROWS) {
        uint32_t n = end - at < ROWS ? end - at : ROWS;
        add_waves(c->sum + i * WIDTH, map(c, c->id + at, n, who), n);
    }
}

static void find_centre(struct chunks *c)
{
    const struct mot_features *f = c->h->features;
    float *row = mot_new(f->cols, sizeof *row);
    for (uint32_t i = 0; i < c->h->n; i++) {
        mot_features_row(f, c->h->row[i], row);
        for (uint32_t k = 0; k < f->cols; k++) c->centre[k] += (double)row[k];
    }
    for (uint32_t k = 0; k < f->cols; k++) c->centre[k] /= c->h->n;
    free(row);
}

static void find_means(struct chunks *c)
{
    find_centre(c);
    each(c, c->count, sum_chunk);
    for (uint32_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < WIDTH; k++) c->mean[k] += c->sum[i * WIDTH + k] / c->h->n;
}

/* ---- One chunk --------------------------------------------------------------------------------- */

/* Column 0: the class mean less the chunk's; column 1 + j: what block j owes. */
static void pack_vectors(struct chunks *c, uint32_t chunk)
{
    memset(c->vector, 0, c->panels * WIDTH * MOT_PANEL * sizeof *c->vector);
    for (uint32_t j = 0; j <= c->h->blocks; j++) {
        float *to = c->vector + (size_t)(j / MOT_PANEL) * WIDTH * MOT_PANEL + j % MOT_PANEL;
        for (size_t k = 0; k < WIDTH; k++) {
            double d = j == 0 ? c->mean[k] - c->sum[chunk * WIDTH + k] / c->n
                              : c->size[j - 1] * c->mean[k] - c->taken[(j - 1) * WIDTH + k];
            to[k * MOT_PANEL] = (float)(d / FREQUENCIES);
        }
    }
}

static void score_rows(void *context, uint32_t piece, unsigned who)
{
    struct chunks *c = context;
    uint32_t at = piece * ROWS, n = c->n - at < ROWS ? c->n - at : ROWS;
    if (interrupted(c)) return;
    mot_kernels()->gemm(&(struct mot_gemm){ .m = n,
        .n = c->panels * MOT_PANEL,
        .k = (uint32_t)WIDTH,
        .a = map(c, c->id + c->first + at, n, who),
        .a_row = WIDTH,
        .a_block = MOT_PANEL,
        .a_col = 1,
        .b = c->vector,
        .b_panel = WIDTH * MOT_PANEL,
        .c = c->score + (size_t)at * c->panels * MOT_PANEL,
        .c_row = (size_t)c->panels * MOT_PANEL,
        .c_panel = MOT_PANEL });
}

/* Adds what block j took of this chunk to its sum. */
static void sum_block(void *context, uint32_t j, unsigned who)
{
    struct chunks *c = context;
    uint32_t id[ROWS], n = 0;
    for (uint32_t i = 0; i < c->n && !interrupted(c); i++) {
        if (c->owner[i] == j) id[n++] = c->id[c->first + i];
        if (n < ROWS && (i + 1 < c->n || n == 0)) continue;
        add_waves(c->taken + j * WIDTH, map(c, id, n, who), n);
        n = 0;
    }
}

static enum mot_status herd_chunk(struct chunks *c, struct mot_samples *samples, uint32_t *quota)
{
    struct mot_herding_class *h = c->h;
    struct mot_similar similar = {
        .kind = MOT_SIMILAR_DENSE, .samples = samples, .crew = h->crew, .who = h->who, .work = h->work
    };
    struct mot_herding herd = { .similar = &similar, .blocks = h->blocks, .quota = quota, .owner = c->owner };
    float *term = NULL;
    if (c->count > 1) {
        term = mot_new((size_t)(h->blocks + 1) * c->n, sizeof *term);
        each(c, (c->n + ROWS - 1) / ROWS, score_rows);
        for (uint32_t j = 0; j <= h->blocks; j++)
            for (uint32_t i = 0; i < c->n; i++)
                term[(size_t)j * c->n + i] = c->score[(size_t)i * c->panels * MOT_PANEL + j];
        herd.shift = term;
        herd.owed = term + c->n;
    }
    enum mot_status status = mot_similar_open(&similar);
    if (status == MOT_OK) status = mot_herding_run(&herd);
    h->pairs += similar.pairs;
    h->evaluations += herd.evaluations;
    mot_similar_close(&similar);
    free(term);
    return status;
}

/* As many of the chunk for each block as keep all equally full, of what is theirs in the end. */
static void share_out(const struct chunks *c, uint32_t *quota)
{
    uint32_t *size = mot_new(c->h->blocks, sizeof *size);
    memcpy(size, c->size, c->h->blocks * sizeof *size);
    for (uint32_t i = 0; i < c->n; i++) size[mot_quota_least_filled(c->h->blocks, size, c->h->quota)]++;
    for (uint32_t j = 0; j < c->h->blocks; j++) quota[j] = size[j] - c->size[j];
    free(size);
}

static enum mot_status run_chunk(struct chunks *c, uint32_t chunk)
{
    struct mot_herding_class *h = c->h;
    struct mot_samples samples;
    c->first = chunk_at(c, chunk);
    c->n = chunk_at(c, chunk + 1) - c->first;
    uint32_t *row = mot_new(c->n, sizeof *row), *quota = mot_new(h->blocks, sizeof *quota);
    for (uint32_t i = 0; i < c->n; i++) row[i] = h->row[c->id[c->first + i]];
    share_out(c, quota);
    if (c->count > 1) pack_vectors(c, chunk);
    mot_samples_open(h->features, row, c->n, h->bandwidth, &samples);
    enum mot_status status = herd_chunk(c, &samples, quota);
    mot_samples_close(&samples);
    for (uint32_t i = 0; i < c->n && status == MOT_OK; i++) h->owner[c->id[c->first + i]] = c->owner[i];
    if (status == MOT_OK && chunk + 1 < c->count) each(c, h->blocks, sum_block);
    for (uint32_t j = 0; j < h->blocks; j++) c->size[j] += quota[j];
    free(row);
    free(quota);
    return status == MOT_OK && interrupted(c) ? mot_fail(MOT_EINTERRUPTED, "interrupted") : status;
}

/* ---- A class --------------------------------------------------------------------------------------- */

static uint32_t chunks_in(uint32_t n, uint32_t chunk) { return n / chunk + (n % chunk != 0); }

double mot_herding_chunks_bytes(uint32_t n, uint32_t cols, uint32_t chunk, uint32_t blocks)
{
    uint32_t count = chunks_in(n, chunk), most = n / count + 1;
    double exact = mot_samples_bytes(most, cols) + mot_similar_bytes(MOT_SIMILAR_DENSE, most, 0) +
        mot_herding_bytes(most, blocks) + 12.0 * n;
    if (count == 1) return exact;
    double columns = (blocks / MOT_PANEL + 1.0) * MOT_PANEL;
    return exact + 4.0 * cols * FREQUENCIES + 8.0 * WIDTH * (count + blocks + 1.0) +
        4.0 * columns * (WIDTH + most) + 4.0 * (blocks + 1.0) * most + 4.0 * ROWS * (WIDTH + cols);
}

uint64_t mot_herding_chunks_units(uint32_t n, uint32_t cols, uint32_t chunk)
{
    uint32_t count = chunks_in(n, chunk), most = n / count + 1;
    uint64_t exact = (uint64_t)n * most * (cols + 16) / 2 + (uint64_t)n * most * 64;
    return exact + (count > 1 ? 3 * (uint64_t)n * (cols + 64) * FREQUENCIES : 0);
}

static void chunks_open(struct chunks *c)
{
    const struct mot_herding_class *h = c->h;
    uint64_t key = mot_hash3(h->seed, MOT_RNG_PARTITION, (UINT64_C(4) << 40) + h->index);
    uint32_t cols = h->features->cols, most = h->n / c->count + 1;
    c->id = mot_new(h->n, sizeof *c->id);
    for (uint32_t i = 0; i < h->n; i++) c->id[i] = c->count > 1 ? (uint32_t)mot_permute(key, h->n, i) : i;
    c->owner = mot_new(most, sizeof *c->owner);
    c->size = mot_new(h->blocks, sizeof *c->size);
    if (c->count == 1) return;
    mot_fourier_open(&c->fourier, cols, FREQUENCIES, h->bandwidth,
        mot_rng_at(h->seed, MOT_RNG_PARTITION, UINT64_C(5) << 40));
    c->centre = mot_new(cols, sizeof *c->centre);
    c->mean = mot_new(WIDTH, sizeof *c->mean);
    c->sum = mot_new(c->count * WIDTH, sizeof *c->sum);
    c->taken = mot_new(h->blocks * WIDTH, sizeof *c->taken);
    c->wave = mot_aligned(threads_of(h) * ROWS * WIDTH * sizeof *c->wave);
    c->flat = mot_aligned((size_t)threads_of(h) * ROWS * cols * sizeof *c->flat);
    c->panels = mot_panels(h->blocks + 1);
    c->vector = mot_aligned(c->panels * WIDTH * MOT_PANEL * sizeof *c->vector);
    c->score = mot_aligned((size_t)most * c->panels * MOT_PANEL * sizeof *c->score);
}

static void chunks_close(struct chunks *c)
{
    mot_fourier_close(&c->fourier);
    free(c->id);
    free(c->owner);
    free(c->size);
    free(c->centre);
    free(c->mean);
    free(c->sum);
    free(c->taken);
    free(c->wave);
    free(c->flat);
    free(c->vector);
    free(c->score);
}

enum mot_status mot_herding_chunks(struct mot_herding_class *h)
{
    struct chunks c = { .h = h, .count = chunks_in(h->n, h->chunk) };
    enum mot_status status = MOT_OK;
    chunks_open(&c);
    if (c.count > 1) find_means(&c);
    if (interrupted(&c)) status = mot_fail(MOT_EINTERRUPTED, "interrupted");
    for (uint32_t i = 0; i < c.count && status == MOT_OK; i++) status = run_chunk(&c, i);
    chunks_close(&c);
    return status;
}
