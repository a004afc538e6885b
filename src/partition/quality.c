/* quality.c -- MMD^2 of blocks against their classes, the objectives' values, label divergence
 * and quota errors.
 *
 * A class's samples are sorted by owner, so that each block is a range of columns.
 * Similarities are shorts: their sums are exact, and every row's are kept until all are there, so nothing
 * depends on the threads. */
#include "partition/quality.h"

#include "base/exact.h"
#include "base/memory.h"
#include "base/rng.h"
#include "math/kernels.h"
#include "partition/fourier.h"
#include "partition/quota.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ROWS MOT_SAMPLES_ROWS
#define FREQUENCIES 1024u /* each gives a cosine and a sine */

/* A random block of m of n samples, without replacement, is off by (1/m -
 * 1/n) n/(n-1) (1 - mean similarity) on average. */
static double random_mmd2(double m, double n, double similarity)
{
    return n > 1 ? (1 / m - 1 / n) * n / (n - 1) * (1 - similarity) : 0;
}

struct measure {
    const struct mot_split *split;
    const struct mot_features *features;
    struct mot_quality *q;
    uint32_t *owner; /* [rows of the table] */
    struct mot_strata strata;
    struct mot_crew *crew;
    double done, total; /* pairs, for the progress */
    /* of the class at hand */
    struct mot_samples samples;
    uint32_t n, *begin;   /* begin [parts + 1]: where a block's samples are */
    uint16_t *rows;       /* exact: [threads][ROWS][width] */
    float *scratch;       /* exact: [threads][MOT_SAMPLES_SCRATCH] */
    uint64_t *own, *all;  /* exact [n]: a sample's similarity to its block, to its class */
    uint64_t *cover_part; /* exact [row blocks][parts] */
    atomic_uint ready;    /* blocks of rows done, for the progress */
};

/* ---- Exact ------------------------------------------------------------------------------------ */

static uint64_t range_sum(const uint16_t *row, uint32_t from, uint32_t to)
{
    uint64_t sum = 0;
    while (from < to) {
        uint32_t part = 0, end = to - from > 32768 ? from + 32768 : to; /* 2^15 shorts fit in 32 bits */
        for (; from < end; from++) part += row[from];
        sum += part;
    }
    return sum;
}

static uint16_t range_most(const uint16_t *row, uint32_t from, uint32_t to)
{
    uint16_t most = 0;
    for (uint32_t i = from; i < to; i++) most = row[i] > most ? row[i] : most;
    return most;
}

static void exact_rows(void *context, uint32_t block, unsigned who)
{
    struct measure *m = context;
    const struct mot_samples *x = &m->samples;
    uint32_t parts = m->q->parts, first = block * ROWS, n = m->n - first < ROWS ? m->n - first : ROWS;
    uint16_t *rows = m->rows + (size_t)who * ROWS * x->width;
    uint64_t *cover = m->cover_part + (size_t)block * parts;
    if (mot_split_interrupted(m->split)) return;
    mot_samples_compare(
        x, first, n, 0, x->panels, m->scratch + (size_t)who * MOT_SAMPLES_SCRATCH, rows, x->width);
    for (uint32_t i = 0; i < n; i++) {
        const uint16_t *row = rows + i * x->width;
        for (uint32_t j = 0; j < parts; j++) {
            uint64_t sum = range_sum(row, m->begin[j], m->begin[j + 1]);
            m->all[first + i] += sum;
            if (first + i >= m->begin[j] && first + i < m->begin[j + 1]) m->own[first + i] = sum;
            cover[j] += range_most(row, m->begin[j], m->begin[j + 1]);
        }
    }
    uint32_t ready = atomic_fetch_add(&m->ready, 1) + 1;
    if (who == 0) mot_split_progress(m->split, (m->done + (double)ready * ROWS * m->n) / m->total);
}

/* With S(A, B) the sum of similarities: S(A, A) / |A|^2 + S(V, V) / |V|^2 - 2 S(A, V) / (|A| |V|). */
static void exact_class(struct measure *m, uint32_t class)
{
    struct mot_quality *q = m->q;
    uint32_t parts = q->parts, blocks = (m->n + ROWS - 1) / ROWS;
    unsigned threads = mot_crew_threads(m->crew);
    m->rows = mot_aligned((size_t)threads * ROWS * m->samples.width * sizeof *m->rows);
    m->scratch = mot_aligned((size_t)threads * MOT_SAMPLES_SCRATCH * sizeof *m->scratch);
    m->own = mot_new(m->n, sizeof *m->own);
    m->all = mot_new(m->n, sizeof *m->all);
    m->cover_part = mot_new((size_t)blocks * parts, sizeof *m->cover_part);
    atomic_store(&m->ready, 0);
    mot_crew_each(m->crew, blocks, exact_rows, m);
    double n = m->n, whole = 0;
    for (uint32_t i = 0; i < m->n; i++) whole += (double)m->all[i];
    for (uint32_t j = 0; j < parts; j++) {
        double size = m->begin[j + 1] - m->begin[j], inside = 0, across = 0, covered = 0;
        for (uint32_t i = m->begin[j]; i < m->begin[j + 1]; i++) {
            inside += (double)m->own[i];
            across += (double)m->all[i];
        }
        for (uint32_t b = 0; b < blocks; b++) covered += (double)m->cover_part[(size_t)b * parts + j];
        q->facility_location += covered / 65535;
        q->graph_cut += (across - inside) / 65535;
        double square = inside / (size * size) + whole / (n * n) - 2 * across / (size * n);
        q->random[(size_t) class * parts + j] =
            size > 0 ? random_mmd2(size, n, whole / (n * n) / 65535) : NAN;
        q->mmd2[(size_t) class * parts + j] = size > 0 ? (square > 0 ? square : 0) / 65535 : NAN;
    }
    free(m->rows);
    free(m->scratch);
    free(m->own);
    free(m->all);
    free(m->cover_part);
}

/* ---- Random features (Rahimi and Recht, "Random features for large-scale kernel machines", 2007) ------- */

struct fourier {
    struct measure *m;
    struct mot_fourier map;
    double *sum;
    float *wave;
};

/* The sums of cosines and sines of one block's samples, [2][FREQUENCIES]. */
static void fourier_block(void *context, uint32_t part, unsigned who)
{
    struct fourier *f = context;
    struct measure *m = f->m;
    const struct mot_samples *x = &m->samples;
    float *wave = f->wave + (size_t)who * ROWS * 2 * FREQUENCIES;
    double *sum = f->sum + (size_t)part * 2 * FREQUENCIES;
    for (uint32_t first = m->begin[part]; first < m->begin[part + 1]; first += ROWS) {
        uint32_t n = m->begin[part + 1] - first < ROWS ? m->begin[part + 1] - first : ROWS;
        if (mot_split_interrupted(m->split)) return;
        mot_fourier_map(&f->map, x->a + (size_t)first * x->cols, n, wave);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < 2 * FREQUENCIES; k++)
                sum[k] += (double)wave[(size_t)i * 2 * FREQUENCIES + k];
    }
    if (who == 0)
        mot_split_progress(m->split, (m->done + (double)m->begin[part + 1] * FREQUENCIES) / m->total);
}

static void random_class(struct measure *m, uint32_t class)
{
    struct mot_quality *q = m->q;
    struct fourier f = { .m = m };
    mot_fourier_open(&f.map, m->samples.cols, FREQUENCIES, q->bandwidth,
        mot_rng_at(m->split->seed, MOT_RNG_PARTITION, UINT64_C(3) << 40));
    f.sum = mot_new((size_t)q->parts * 2 * FREQUENCIES, sizeof *f.sum);
    f.wave = mot_aligned((size_t)mot_crew_threads(m->crew) * ROWS * 2 * FREQUENCIES * sizeof *f.wave);
    mot_crew_each(m->crew, q->parts, fourier_block, &f);
    double *whole = mot_new(2 * FREQUENCIES, sizeof *whole);
    for (uint32_t j = 0; j < q->parts; j++)
        for (uint32_t k = 0; k < 2 * FREQUENCIES; k++) whole[k] += f.sum[(size_t)j * 2 * FREQUENCIES + k];
    double similarity = 0;
    for (uint32_t k = 0; k < 2 * FREQUENCIES; k++)
        similarity += whole[k] / m->n * (whole[k] / m->n) / FREQUENCIES;
    for (uint32_t j = 0; j < q->parts; j++) {
        double size = m->begin[j + 1] - m->begin[j], square = 0;
        q->random[(size_t) class * q->parts + j] = size > 0 ? random_mmd2(size, m->n, similarity) : NAN;
        for (uint32_t k = 0; k < 2 * FREQUENCIES && size > 0; k++) {
            double d = f.sum[(size_t)j * 2 * FREQUENCIES + k] / size - whole[k] / m->n;
            square += d * d;
        }
        q->mmd2[(size_t) class * q->parts + j] = size > 0 ? square / FREQUENCIES : NAN;
    }
    q->mmd2_exact = false;
    q->facility_location = q->graph_cut = NAN;
    free(whole);
    mot_fourier_close(&f.map);
    free(f.sum);
    free(f.wave);
}

/* ---- A class ------------------------------------------------------------------------------------------ */

static bool is_exact(enum mot_mmd_how how, uint32_t n)
{
    return how == MOT_MMD_EXACT || (how == MOT_MMD_AUTO && n <= MOT_MMD_EXACT_ROWS);
}

static double class_work(enum mot_mmd_how how, uint32_t n)
{
    return is_exact(how, n) ? (double)n * n : (double)n * FREQUENCIES;
}

static void measure_class(struct measure *m, uint32_t class, enum mot_mmd_how how)
{
    const uint32_t *row = m->strata.row + m->strata.at[class];
    uint32_t parts = m->q->parts;
    m->n = m->strata.at[class + 1] - m->strata.at[class];
    if (m->n == 0) return;
    uint32_t *sorted = mot_new(m->n, sizeof *sorted), *next = mot_new(parts, sizeof *next);
    m->begin = mot_new((size_t)parts + 1, sizeof *m->begin);
    for (uint32_t j = 0; j < parts; j++)
        next[j] = m->begin[j], m->begin[j + 1] = m->begin[j] + m->q->count[(size_t) class * parts + j];
    for (uint32_t i = 0; i < m->n; i++) sorted[next[m->owner[row[i]]]++] = row[i];
    mot_samples_open(m->features, sorted, m->n, m->q->bandwidth, &m->samples);
    if (is_exact(how, m->n)) exact_class(m, class);
    else random_class(m, class);
    m->done += class_work(how, m->n);
    mot_samples_close(&m->samples);
    free(m->begin);
    free(next);
    free(sorted);
}

/* Random features are some per cent off. */
#define TOLERANCE_RANDOM 1.1

static void summarise_mmd2(struct mot_quality *q)
{
    double sum = 0, random = 0, above = q->mmd2_exact ? 1 : TOLERANCE_RANDOM;
    uint32_t blocks = 0;
    for (size_t i = 0; i < (size_t)q->classes * q->parts; i++) {
        if (isnan(q->mmd2[i])) continue;
        sum += q->mmd2[i];
        random += q->random[i];
        blocks++;
        if (q->mmd2[i] > q->mmd2_max) q->mmd2_max = q->mmd2[i];
        double ratio = q->random[i] > 0 ? q->mmd2[i] / q->random[i] : 0;
        q->worse += ratio > above;
        if (ratio <= q->ratio_worst) continue;
        q->ratio_worst = ratio;
        q->worst_class = (uint32_t)(i / q->parts);
        q->worst_part = (uint32_t)(i % q->parts);
    }
    q->mmd2_mean = blocks ? sum / blocks : NAN;
    q->mmd2_random = blocks ? random / blocks : NAN;
}

/* ---- Labels and quotas ---------------------------------------------------------------- */

static void measure_labels(struct measure *m)
{
    struct mot_quality *q = m->q;
    double rows = m->split->table->rows;
    for (uint32_t j = 0; j < q->parts; j++) {
        double size = 0, divergence = 0;
        for (uint32_t l = 0; l < q->classes; l++) size += q->count[(size_t)l * q->parts + j];
        for (uint32_t l = 0; l < q->classes; l++) {
            double p = q->count[(size_t)l * q->parts + j] / size,
                   all = (m->strata.at[l + 1] - m->strata.at[l]) / rows;
            if (p > 0) divergence += p * mot_log(p / all);
        }
        q->divergence_mean += divergence / q->parts;
        if (divergence > q->divergence_max) q->divergence_max = divergence;
    }
    if (m->split->table->classes == 0) q->divergence_mean = q->divergence_max = NAN;
}

static void measure_quotas(struct measure *m)
{
    struct mot_quality *q = m->q;
    double *share = mot_new(q->parts, sizeof *share);
    mot_shares_of(q->parts, m->split->speed, share);
    for (uint32_t j = 0; j < q->parts; j++) {
        double size = 0;
        for (uint32_t l = 0; l < q->classes; l++) {
            double count = q->count[(size_t)l * q->parts + j],
                   exact = (m->strata.at[l + 1] - m->strata.at[l]) * share[j];
            size += count;
            if (fabs(count - exact) > q->quota_class) q->quota_class = fabs(count - exact);
        }
        double off = fabs(size - m->split->table->rows * share[j]);
        if (off > q->quota_worker) q->quota_worker = off;
    }
    free(share);
}

/* ---- All ------------------------------------------------------------------------------ */

enum mot_status mot_quality_of(const struct mot_split *s, const struct mot_parts *parts,
    const struct mot_features *features, double bandwidth, enum mot_mmd_how how, struct mot_quality *out)
{
    struct mot_quality q = { .parts = parts->parts, .mmd2_exact = true, .mmd2_mean = NAN };
    struct measure m = { .split = s, .features = features, .q = &q, .strata = mot_strata_of(s->table) };
    q.classes = m.strata.classes;
    size_t cells = (size_t)q.classes * q.parts;
    q.count = mot_new(cells, sizeof *q.count);
    q.mmd2 = mot_new(cells, sizeof *q.mmd2);
    q.random = mot_new(cells, sizeof *q.random);
    for (size_t i = 0; i < cells; i++) q.mmd2[i] = q.random[i] = NAN;
    m.owner = mot_new(s->table->rows, sizeof *m.owner);
    for (uint32_t j = 0; j < parts->parts; j++)
        for (uint64_t i = parts->at[j]; i < parts->at[j + 1]; i++) {
            uint32_t row = parts->row[i], class = s->table->classes ? (uint32_t)s->table->y[row] : 0;
            m.owner[row] = j;
            q.count[(size_t) class * q.parts + j]++;
        }
    if (features) {
        m.crew = mot_crew_open(mot_split_threads(s));
        q.bandwidth = bandwidth > 0 ? bandwidth : mot_features_bandwidth(features, s->seed);
        for (uint32_t l = 0; l < q.classes; l++)
            m.total += class_work(how, m.strata.at[l + 1] - m.strata.at[l]);
        for (uint32_t l = 0; l < q.classes && !mot_split_interrupted(s); l++) measure_class(&m, l, how);
        summarise_mmd2(&q);
        mot_crew_close(m.crew);
    } else {
        q.facility_location = q.graph_cut = NAN;
    }
    measure_labels(&m);
    measure_quotas(&m);
    free(m.owner);
    mot_strata_free(&m.strata);
    if (mot_split_interrupted(s)) {
        mot_quality_close(&q);
        return mot_fail(MOT_EINTERRUPTED, "interrupted");
    }
    *out = q;
    return MOT_OK;
}

void mot_quality_close(struct mot_quality *q)
{
    free(q->count);
    free(q->mmd2);
    free(q->random);
    *q = (struct mot_quality){ 0 };
}
