/* herding_chunks.c -- classes too large to compare all pairs.
 *
 * A class is cut into random chunks, and every block gets the same share of each. So a block looks like the
 * class if its part of the chunks so far looks like those chunks. With B its part of the current chunk, P its
 * part of earlier ones, c(v) the mean similarity of v to the chunk and t_B(v) the sum of its similarities to
 * B, the block takes the largest
 *
 *   (|B| + 1) c(v) - t_B(v)                    exact
 *   + <f(v), |P| mean of the past - sum over P>
 *
 * with f the random Fourier features. The second factor is a short vector, the block's remaining error, and
 * the error of random features is in proportion to its length; approximating c(v) and t(v) themselves would
 * drown it in noise. Features of a chunk are kept, as bytes, until they are added to the past. */
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
#define ROWS 48u   /* mapped at a time */
#define RANGE 256u /* features added at a time */
#define BYTE 127.0 /* of a cosine of 1 */
#define WAVE_UNITS                                                                                           \
    44u /* what a frequency costs beside the product, counted as products of a comparison are */

struct chunks {
    struct mot_herding_class *h;
    struct mot_fourier fourier;
    uint32_t count, *id; /* chunks; id [n]: samples of the class in the order of the chunks */
    double *centre;      /* [cols]: subtracted before mapping, so that angles are small */
    int64_t *past;       /* [WIDTH]: the sum over earlier chunks, in BYTEs; and of each block: */
    int64_t *taken;      /* [blocks][WIDTH] */
    uint32_t past_n;     /* samples in earlier chunks */
    uint32_t *size;      /* [blocks] */
    float *wave, *flat;  /* [threads][ROWS][WIDTH], [threads][ROWS][cols] */
    /* of the chunk at hand */
    uint32_t first, n;
    int8_t *kept;          /* [WIDTH / RANGE][n][RANGE] */
    uint16_t *matrix;      /* similarities; one for all chunks, since fresh memory costs time */
    float *vector, *score; /* [panels][WIDTH][16], [n][panels * 16]: products with what is owed */
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
    mot_headway_add(c->h->work, reporter, (uint64_t)n * (cols + WAVE_UNITS) * FREQUENCIES);
    return wave;
}

static void find_centre(struct chunks *c)
{
    const struct mot_features *f = c->h->features;
    float *row = mot_new_large(f->cols, sizeof *row);
    for (uint32_t i = 0; row && i < c->h->n; i++) {
        mot_features_row(f, c->h->row[i], row);
        for (uint32_t k = 0; k < f->cols; k++) c->centre[k] += (double)row[k];
    }
    for (uint32_t k = 0; k < f->cols; k++) c->centre[k] /= c->h->n;
    free(row);
}

/* ---- One chunk --------------------------------------------------------------------------------- */

/* Column j: what block j owes. */
static void pack_vectors(struct chunks *c)
{
    memset(c->vector, 0, c->panels * WIDTH * MOT_PANEL * sizeof *c->vector);
    for (uint32_t j = 0; j < c->h->blocks; j++) {
        float *to = c->vector + (size_t)(j / MOT_PANEL) * WIDTH * MOT_PANEL + j % MOT_PANEL;
        double share = (double)c->size[j] / c->past_n;
        for (size_t k = 0; k < WIDTH; k++) {
            double owed = share * (double)c->past[k] - (double)c->taken[j * WIDTH + k];
            to[k * MOT_PANEL] = (float)(owed / (BYTE * FREQUENCIES));
        }
    }
}

/* Ranges of features lie one after the other: they are added up by different threads. */
static int8_t *kept(const struct chunks *c, size_t range, uint32_t sample)
{
    return c->kept + (range * c->n + sample) * RANGE;
}

/* Features of some samples: their products with what is owed, and bytes for what comes after. */
static void map_rows(void *context, uint32_t piece, unsigned who)
{
    struct chunks *c = context;
    uint32_t at = piece * ROWS, n = c->n - at < ROWS ? c->n - at : ROWS;
    if (interrupted(c)) return;
    const float *wave = map(c, c->id + c->first + at, n, who);
    for (size_t r = 0; r < WIDTH / RANGE; r++)
        for (uint32_t i = 0; i < n; i++)
            mot_kernels()->to_bytes(RANGE, wave + i * WIDTH + r * RANGE, kept(c, r, at + i));
    if (c->past_n == 0) return;
    mot_kernels()->gemm(&(struct mot_gemm){ .m = n,
        .n = c->panels * MOT_PANEL,
        .k = (uint32_t)WIDTH,
        .a = wave,
        .a_row = WIDTH,
        .a_block = MOT_PANEL,
        .a_col = 1,
        .b = c->vector,
        .b_panel = WIDTH * MOT_PANEL,
        .c = c->score + (size_t)at * c->panels * MOT_PANEL,
        .c_row = (size_t)c->panels * MOT_PANEL,
        .c_panel = MOT_PANEL });
}

/* Adds some features of the chunk's samples to the blocks that took them. */
static void add_range(void *context, uint32_t range, unsigned who)
{
    (void)who;
    struct chunks *c = context;
    size_t first = (size_t)range * RANGE;
    int32_t *sum = mot_new_large((size_t)c->h->blocks * RANGE, sizeof *sum);
    if (!sum) return;
    for (uint32_t i = 0; i < c->n; i++)
        mot_kernels()->add_bytes(RANGE, kept(c, range, i), sum + (size_t)c->owner[i] * RANGE);
    for (uint32_t j = 0; j < c->h->blocks; j++)
        for (size_t k = 0; k < RANGE; k++) {
            c->taken[j * WIDTH + first + k] += sum[j * RANGE + k];
            c->past[first + k] += sum[j * RANGE + k];
        }
    free(sum);
}

static enum mot_status herd_chunk(struct chunks *c, struct mot_samples *samples, uint32_t *quota)
{
    struct mot_herding_class *h = c->h;
    struct mot_similar similar = { .kind = MOT_SIMILAR_DENSE,
        .samples = samples,
        .crew = h->crew,
        .who = h->who,
        .work = h->work,
        .lent = c->matrix };
    struct mot_herding herd = { .similar = &similar, .blocks = h->blocks, .quota = quota, .owner = c->owner };
    float *owed = NULL;
    if (c->count > 1) each(c, (c->n + ROWS - 1) / ROWS, map_rows);
    if (c->past_n > 0) {
        herd.owed = owed = mot_new_large((size_t)h->blocks * c->n, sizeof *owed);
        for (uint32_t j = 0; owed && j < h->blocks; j++)
            for (uint32_t i = 0; i < c->n; i++)
                owed[(size_t)j * c->n + i] = c->score[(size_t)i * c->panels * MOT_PANEL + j];
    }
    enum mot_status status = mot_memory_status();
    if (status == MOT_OK) status = mot_similar_open(&similar);
    if (status == MOT_OK) status = mot_herding_run(&herd);
    h->pairs += similar.pairs;
    h->evaluations += herd.evaluations;
    mot_similar_close(&similar);
    free(owed);
    return status;
}

/* For each block, as many samples of the chunk as keep all blocks equally full relative to their final
 * size. */
static void share_out(const struct chunks *c, uint32_t *quota)
{
    uint32_t *size = mot_new_large(c->h->blocks, sizeof *size);
    if (!size) return;
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
    uint32_t *row = mot_new_large(c->n, sizeof *row), *quota = mot_new_large(h->blocks, sizeof *quota);
    if (!row || !quota) {
        free(row);
        free(quota);
        return mot_memory_status();
    }
    for (uint32_t i = 0; i < c->n; i++) row[i] = h->row[c->id[c->first + i]];
    share_out(c, quota);
    if (c->past_n > 0) pack_vectors(c);
    mot_samples_open(h->features, row, c->n, h->bandwidth, &samples);
    enum mot_status status = mot_memory_status();
    if (status == MOT_OK) status = herd_chunk(c, &samples, quota);
    mot_samples_close(&samples);
    for (uint32_t i = 0; i < c->n && status == MOT_OK; i++) h->owner[c->id[c->first + i]] = c->owner[i];
    if (status == MOT_OK && chunk + 1 < c->count) each(c, (uint32_t)(WIDTH / RANGE), add_range);
    for (uint32_t j = 0; j < h->blocks; j++) c->size[j] += quota[j];
    c->past_n += c->n;
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
    double columns = mot_panels(blocks) * (double)MOT_PANEL;
    return exact + 4.0 * cols * FREQUENCIES + (double)WIDTH * most + 8.0 * WIDTH * (blocks + 1.0) +
        4.0 * columns * (WIDTH + most) + 4.0 * blocks * most + 4.0 * ROWS * (WIDTH + cols);
}

uint64_t mot_herding_chunks_units(uint32_t n, uint32_t cols, uint32_t chunk)
{
    uint32_t count = chunks_in(n, chunk), most = n / count + 1;
    uint64_t exact = (uint64_t)n * most * (cols + 16) / 2 + (uint64_t)n * most * MOT_HERDING_PICK_UNITS;
    return exact + (count > 1 ? (uint64_t)n * (cols + WAVE_UNITS) * FREQUENCIES : 0);
}

static void chunks_open(struct chunks *c)
{
    const struct mot_herding_class *h = c->h;
    uint64_t key = mot_hash3(h->seed, MOT_RNG_PARTITION, (UINT64_C(4) << 40) + h->index);
    uint32_t cols = h->features->cols, most = h->n / c->count + 1;
    c->id = mot_new_large(h->n, sizeof *c->id);
    for (uint32_t i = 0; c->id && i < h->n; i++)
        c->id[i] = c->count > 1 ? (uint32_t)mot_permute(key, h->n, i) : i;
    c->owner = mot_new_large(most, sizeof *c->owner);
    c->size = mot_new_large(h->blocks, sizeof *c->size);
    if (c->count == 1) return;
    mot_fourier_open(&c->fourier, cols, FREQUENCIES, h->bandwidth,
        mot_rng_at(h->seed, MOT_RNG_PARTITION, UINT64_C(5) << 40));
    c->centre = mot_new_large(cols, sizeof *c->centre);
    c->past = mot_new_large(WIDTH, sizeof *c->past);
    c->taken = mot_new_large(h->blocks * WIDTH, sizeof *c->taken);
    c->kept = mot_aligned_large(most * WIDTH);
    c->matrix = mot_aligned_large((size_t)most * mot_panels(most) * MOT_PANEL * sizeof *c->matrix);
    c->wave = mot_aligned_large(threads_of(h) * ROWS * WIDTH * sizeof *c->wave);
    c->flat = mot_aligned_large((size_t)threads_of(h) * ROWS * cols * sizeof *c->flat);
    c->panels = mot_panels(h->blocks);
    c->vector = mot_aligned_large(c->panels * WIDTH * MOT_PANEL * sizeof *c->vector);
    c->score = mot_aligned_large((size_t)most * c->panels * MOT_PANEL * sizeof *c->score);
}

static void chunks_close(struct chunks *c)
{
    mot_fourier_close(&c->fourier);
    free(c->id);
    free(c->owner);
    free(c->size);
    free(c->centre);
    free(c->past);
    free(c->taken);
    free(c->kept);
    free(c->matrix);
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
    if (c.count > 1 && !mot_memory_refused()) find_centre(&c);
    if (mot_memory_refused()) status = mot_memory_status();
    if (interrupted(&c)) status = mot_fail(MOT_EINTERRUPTED, "interrupted");
    for (uint32_t i = 0; i < c.count && status == MOT_OK; i++) status = run_chunk(&c, i);
    chunks_close(&c);
    return status;
}
