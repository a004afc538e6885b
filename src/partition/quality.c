/* quality.c -- MMD^2 of blocks against their classes, the objectives' values, label divergence
 * and quota errors. */
#include "partition/quality.h"

#include "base/exact.h"
#include "base/memory.h"
#include "base/rng.h"
#include "math/kernels.h"
#include "partition/fourier.h"
#include "partition/quota.h"
#include "partition/sums.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS MOT_SAMPLES_ROWS
#define FREQUENCIES 1024u /* each gives a cosine and a sine */
#define MATRIX_ROWS 8192u /* classes of up to so many are compared by halves: all similarities take 134 MB */

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
    enum mot_mmd_how how;
    uint32_t *owner; /* [rows of the table] */
    struct mot_strata strata;
    struct mot_crew *crew;
    struct mot_headway work;
    /* of the class at hand */
    uint32_t class, n, *begin;   /* begin [parts + 1]: where a block's samples are, sorted by owner */
    struct mot_block_sums *sums; /* [parts] */
};

static size_t cell(const struct measure *m, uint32_t part) { return (size_t)m->class * m->q->parts + part; }

static bool seen(const struct measure *m)
{
    const struct mot_glimpse *g = m->split->glimpse;
    return g && g->seen[m->class];
}

/* ---- Exact ------------------------------------------------------------------------------------ */

/* With S(A, B) the sum of similarities: S(A, A) / |A|^2 + S(V, V) / |V|^2 - 2 S(A, V) / (|A| |V|). */
static void figures_of_sums(struct measure *m, const struct mot_block_sums *sums)
{
    struct mot_quality *q = m->q;
    double n = m->n, whole = 0;
    for (uint32_t j = 0; j < q->parts; j++) whole += (double)sums[j].across;
    for (uint32_t j = 0; j < q->parts; j++) {
        double size = q->count[cell(m, j)], inside = (double)sums[j].inside, across = (double)sums[j].across,
               square = inside / (size * size) + whole / (n * n) - 2 * across / (size * n);
        q->location[m->class] += (double)sums[j].covered / 65535;
        q->cut[m->class] += (across - inside) / 65535;
        q->random[cell(m, j)] = size > 0 ? random_mmd2(size, n, whole / (n * n) / 65535) : NAN;
        q->mmd2[cell(m, j)] = size > 0 ? (square > 0 ? square : 0) / 65535 : NAN;
    }
}

static void exact_class(struct measure *m, const struct mot_samples *samples)
{
    struct mot_similar similar = {
        .kind = MOT_SIMILAR_DENSE, .samples = samples, .crew = m->crew, .work = &m->work
    };
    if (m->n > MATRIX_ROWS) {
        mot_sums_of_rows(&(struct mot_sums_rows){ .samples = samples,
                             .blocks = m->q->parts,
                             .count = m->n,
                             .begin = m->begin,
                             .crew = m->crew,
                             .work = &m->work },
            m->sums);
    } else if (mot_similar_open(&similar) == MOT_OK) {
        uint32_t *owner = mot_new_large(m->n, sizeof *owner);
        for (uint32_t j = 0; owner && j < m->q->parts; j++)
            for (uint32_t i = m->begin[j]; i < m->begin[j + 1]; i++) owner[i] = j;
        if (owner) mot_sums_of_matrix(&similar, owner, m->q->parts, m->sums);
        free(owner);
    }
    mot_similar_close(&similar);
    figures_of_sums(m, m->sums);
}

/* ---- Random features (Rahimi and Recht, "Random features for large-scale kernel machines", 2007) ------- */

struct fourier {
    struct measure *m;
    const struct mot_samples *samples;
    struct mot_fourier map;
    double *sum;
    float *wave;
};

/* The sums of cosines and sines of one block's samples, [2][FREQUENCIES]. */
static void fourier_block(void *context, uint32_t part, unsigned who)
{
    struct fourier *f = context;
    struct measure *m = f->m;
    const struct mot_samples *x = f->samples;
    float *wave = f->wave + (size_t)who * ROWS * 2 * FREQUENCIES;
    double *sum = f->sum + (size_t)part * 2 * FREQUENCIES;
    for (uint32_t first = m->begin[part]; first < m->begin[part + 1]; first += ROWS) {
        uint32_t n = m->begin[part + 1] - first < ROWS ? m->begin[part + 1] - first : ROWS;
        if (mot_split_interrupted(m->split)) return;
        mot_fourier_map(&f->map, x->a + (size_t)first * x->cols, n, wave);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < 2 * FREQUENCIES; k++)
                sum[k] += (double)wave[(size_t)i * 2 * FREQUENCIES + k];
        mot_headway_add(&m->work, who, (uint64_t)n * (x->cols + 64) * FREQUENCIES);
    }
}

static void random_class(struct measure *m, const struct mot_samples *samples)
{
    struct mot_quality *q = m->q;
    struct fourier f = { .m = m, .samples = samples };
    mot_fourier_open(&f.map, samples->cols, FREQUENCIES, q->bandwidth,
        mot_rng_at(m->split->seed, MOT_RNG_PARTITION, UINT64_C(3) << 40));
    f.sum = mot_new_large((size_t)q->parts * 2 * FREQUENCIES, sizeof *f.sum);
    f.wave = mot_aligned_large((size_t)mot_crew_threads(m->crew) * ROWS * 2 * FREQUENCIES * sizeof *f.wave);
    double *whole = mot_new_large(2 * FREQUENCIES, sizeof *whole);
    bool enough = f.map.frequency && f.sum && f.wave && whole;
    if (enough) mot_crew_each(m->crew, q->parts, fourier_block, &f);
    for (uint32_t j = 0; enough && j < q->parts; j++)
        for (uint32_t k = 0; k < 2 * FREQUENCIES; k++) whole[k] += f.sum[(size_t)j * 2 * FREQUENCIES + k];
    double similarity = 0;
    for (uint32_t k = 0; enough && k < 2 * FREQUENCIES; k++)
        similarity += whole[k] / m->n * (whole[k] / m->n) / FREQUENCIES;
    for (uint32_t j = 0; enough && j < q->parts; j++) {
        double size = q->count[cell(m, j)], square = 0;
        q->random[cell(m, j)] = size > 0 ? random_mmd2(size, m->n, similarity) : NAN;
        for (uint32_t k = 0; k < 2 * FREQUENCIES && size > 0; k++) {
            double d = f.sum[(size_t)j * 2 * FREQUENCIES + k] / size - whole[k] / m->n;
            square += d * d;
        }
        q->mmd2[cell(m, j)] = size > 0 ? square / FREQUENCIES : NAN;
    }
    free(whole);
    mot_fourier_close(&f.map);
    free(f.sum);
    free(f.wave);
}

static uint32_t sample_of(uint32_t n) { return n < MOT_OBJECTIVE_ROWS ? n : MOT_OBJECTIVE_ROWS; }

/* The objectives are sums over the class: scales up those over a random sample of it. */
static void estimate_objectives(struct measure *m, const struct mot_samples *samples)
{
    struct mot_quality *q = m->q;
    uint32_t count = sample_of(m->n), *id = mot_new_large(count, sizeof *id);
    uint64_t key = mot_hash3(m->split->seed, MOT_RNG_PARTITION, (UINT64_C(6) << 40) + m->class);
    if (!id) return;
    for (uint32_t i = 0; i < count; i++) id[i] = (uint32_t)mot_permute(key, m->n, i);
    mot_sums_of_rows(&(struct mot_sums_rows){ .samples = samples,
                         .blocks = q->parts,
                         .count = count,
                         .begin = m->begin,
                         .id = id,
                         .crew = m->crew,
                         .work = &m->work },
        m->sums);
    double times = (double)m->n / count;
    for (uint32_t j = 0; j < q->parts; j++) {
        q->location[m->class] += times * (double)m->sums[j].covered / 65535;
        q->cut[m->class] += times * ((double)m->sums[j].across - (double)m->sums[j].inside) / 65535;
    }
    free(id);
}

/* ---- A class ------------------------------------------------------------------------------------------ */

static bool is_exact(const struct measure *m)
{
    return seen(m) || m->how == MOT_MMD_EXACT || (m->how == MOT_MMD_AUTO && m->n <= MOT_MMD_EXACT_ROWS);
}

static double class_units(const struct measure *m)
{
    double n = m->n, pair = m->features->cols + 16.0, wave = m->features->cols + 64.0;
    if (seen(m)) return 0;
    if (is_exact(m)) return m->n > MATRIX_ROWS ? n * n * pair : n * n * pair / 2;
    return n * wave * FREQUENCIES + sample_of(m->n) * n * pair;
}

static void compare_class(struct measure *m)
{
    const uint32_t *row = m->strata.row + m->strata.at[m->class];
    uint32_t parts = m->q->parts, *sorted = mot_new_large(m->n, sizeof *sorted),
             *next = mot_new_large(parts, sizeof *next);
    struct mot_samples samples;
    m->begin = mot_new_large((size_t)parts + 1, sizeof *m->begin);
    m->sums = mot_new_large(parts, sizeof *m->sums);
    if (sorted && next && m->begin && m->sums) {
        for (uint32_t j = 0; j < parts; j++)
            next[j] = m->begin[j], m->begin[j + 1] = m->begin[j] + m->q->count[cell(m, j)];
        for (uint32_t i = 0; i < m->n; i++) sorted[next[m->owner[row[i]]]++] = row[i];
        mot_samples_open(m->features, sorted, m->n, m->q->bandwidth, &samples);
        bool enough = !mot_memory_refused();
        if (enough && is_exact(m)) exact_class(m, &samples);
        else if (enough) random_class(m, &samples), estimate_objectives(m, &samples);
        mot_samples_close(&samples);
    }
    free(m->sums);
    free(m->begin);
    free(next);
    free(sorted);
}

static void measure_class(struct measure *m)
{
    struct mot_quality *q = m->q;
    if (m->n == 0) return;
    q->location[m->class] = q->cut[m->class] = 0;
    q->exact[m->class] = is_exact(m);
    if (seen(m)) figures_of_sums(m, m->split->glimpse->sums + cell(m, 0));
    else compare_class(m);
}

static bool choose_class(struct measure *m, uint32_t class, const bool *which)
{
    m->class = class;
    m->n = m->strata.at[class + 1] - m->strata.at[class];
    return (!which || which[class]) && !mot_split_interrupted(m->split);
}

/* ---- Over all classes ----------------------------------------------------------------------- */

/* Random features are some per cent off. */
#define TOLERANCE_RANDOM 1.1

double mot_quality_ratio(const struct mot_quality *q, uint32_t class, uint32_t part)
{
    size_t i = (size_t) class * q->parts + part;
    return q->random[i] > 0 ? q->mmd2[i] / q->random[i] : isnan(q->mmd2[i]) ? NAN : 0;
}

bool mot_quality_is_worse(const struct mot_quality *q, uint32_t class, uint32_t part)
{
    return mot_quality_ratio(q, class, part) > (q->exact[class] ? 1 : TOLERANCE_RANDOM);
}

void mot_quality_summarise(struct mot_quality *q)
{
    double sum = 0, random = 0;
    uint32_t blocks = 0;
    q->mmd2_exact = true;
    q->mmd2_max = q->ratio_worst = q->facility_location = q->graph_cut = 0;
    q->worse = 0;
    for (uint32_t l = 0; l < q->classes; l++) {
        q->mmd2_exact &= q->exact[l];
        q->facility_location += q->location[l];
        q->graph_cut += q->cut[l];
        for (uint32_t j = 0; j < q->parts; j++) {
            size_t i = (size_t)l * q->parts + j;
            if (isnan(q->mmd2[i])) continue;
            double ratio = mot_quality_ratio(q, l, j);
            sum += q->mmd2[i];
            random += q->random[i];
            blocks++;
            if (q->mmd2[i] > q->mmd2_max) q->mmd2_max = q->mmd2[i];
            q->worse += mot_quality_is_worse(q, l, j);
            if (ratio > q->ratio_worst) q->ratio_worst = ratio, q->worst_class = l, q->worst_part = j;
        }
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
    double *share = mot_new_large(q->parts, sizeof *share);
    if (!share) return;
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

static void measure_classes(struct measure *m, const bool *which)
{
    m->crew = mot_crew_open(mot_split_threads(m->split));
    m->work = (struct mot_headway){ .split = m->split };
    for (uint32_t l = 0; l < m->q->classes; l++)
        if (choose_class(m, l, which)) m->work.total += class_units(m);
    for (uint32_t l = 0; l < m->q->classes; l++)
        if (choose_class(m, l, which)) measure_class(m);
    mot_quality_summarise(m->q);
    mot_crew_close(m->crew);
}

static struct measure measure_open(const struct mot_split *s, const struct mot_parts *parts,
    const struct mot_features *features, enum mot_mmd_how how, struct mot_quality *q)
{
    struct measure m = {
        .split = s, .features = features, .how = how, .q = q, .strata = mot_strata_of(s->table)
    };
    m.owner = mot_new_large((size_t)s->table->rows + 1, sizeof *m.owner);
    for (uint32_t j = 0; m.owner && j < parts->parts; j++)
        for (uint64_t i = parts->at[j]; i < parts->at[j + 1]; i++) m.owner[parts->row[i]] = j;
    return m;
}

static void measure_close(struct measure *m)
{
    free(m->owner);
    mot_strata_free(&m->strata);
}

static struct mot_quality quality_open(const struct mot_split *s, const struct mot_parts *parts)
{
    struct mot_quality q = { .parts = parts->parts, .mmd2_mean = NAN };
    const struct mot_table *t = s->table;
    q.classes = t->classes ? t->classes : 1;
    size_t cells = (size_t)q.classes * q.parts;
    q.count = mot_new_large(cells, sizeof *q.count);
    q.mmd2 = mot_new_large(cells, sizeof *q.mmd2);
    q.random = mot_new_large(cells, sizeof *q.random);
    q.location = mot_new_large(q.classes, sizeof *q.location);
    q.cut = mot_new_large(q.classes, sizeof *q.cut);
    q.exact = mot_new_large(q.classes, sizeof *q.exact);
    q.facility_location = q.graph_cut = NAN;
    if (mot_memory_refused()) return q;
    for (size_t i = 0; i < cells; i++) q.mmd2[i] = q.random[i] = NAN;
    for (uint32_t l = 0; l < q.classes; l++) q.exact[l] = true;
    for (uint32_t j = 0; j < parts->parts; j++)
        for (uint64_t i = parts->at[j]; i < parts->at[j + 1]; i++)
            q.count[(size_t)(t->classes ? (uint32_t)t->y[parts->row[i]] : 0) * q.parts + j]++;
    return q;
}

static enum mot_status interruption(void)
{
    return mot_memory_refused() ? mot_memory_status() : mot_fail(MOT_EINTERRUPTED, "interrupted");
}

enum mot_status mot_quality_of(const struct mot_split *s, const struct mot_parts *parts,
    const struct mot_features *features, double bandwidth, enum mot_mmd_how how, struct mot_quality *out)
{
    struct mot_quality q = quality_open(s, parts);
    struct measure m = measure_open(s, parts, features, how, &q);
    bool enough = !mot_memory_refused();
    if (enough && features) {
        q.bandwidth = bandwidth > 0 ? bandwidth : mot_features_bandwidth(features, s->seed);
        measure_classes(&m, NULL);
    }
    if (enough) measure_labels(&m);
    if (enough) measure_quotas(&m);
    measure_close(&m);
    if (mot_split_interrupted(s)) {
        mot_quality_close(&q);
        return interruption();
    }
    *out = q;
    return MOT_OK;
}

enum mot_status mot_quality_again(const struct mot_split *s, const struct mot_parts *parts,
    const struct mot_features *features, enum mot_mmd_how how, const bool *which, struct mot_quality *q)
{
    struct measure m = measure_open(s, parts, features, how, q);
    if (!mot_memory_refused()) measure_classes(&m, which);
    measure_close(&m);
    return mot_split_interrupted(s) ? interruption() : MOT_OK;
}

void mot_quality_close(struct mot_quality *q)
{
    free(q->count);
    free(q->mmd2);
    free(q->random);
    free(q->location);
    free(q->cut);
    free(q->exact);
    *q = (struct mot_quality){ 0 };
}
