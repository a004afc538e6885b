#include "partition/sums.h"

#include "base/memory.h"
#include "math/kernels.h"
#include <stdlib.h>
#include <string.h>

/* ---- From the matrix ----------------------------------------------------------------------- */

struct matrix {
    const struct mot_similar *similar;
    uint32_t *begin, *id; /* id [n]: samples by owner */
    struct mot_block_sums *out;
};

static void matrix_block(void *context, uint32_t j, unsigned who)
{
    (void)who;
    struct matrix *m = context;
    const struct mot_samples *x = m->similar->samples;
    const uint32_t *id = m->id + m->begin[j], n = m->begin[j + 1] - m->begin[j];
    uint16_t *nearest = mot_new_large(x->width, sizeof *nearest),
             *nothing = mot_new_large(x->width, sizeof *nothing);
    struct mot_block_sums s = { 0 };
    bool enough = nearest && nothing;
    for (uint32_t i = 0; enough && i < n; i++) {
        const uint16_t *row = m->similar->matrix + (size_t)id[i] * x->width;
        for (uint32_t k = 0; k < n; k++) s.inside += row[id[k]];
        s.across += mot_kernels()->uncovered(x->width, row, nothing);
        mot_kernels()->cover(x->width, row, nearest);
    }
    if (enough) s.covered = mot_kernels()->uncovered(x->width, nearest, nothing);
    m->out[j] = s;
    free(nearest);
    free(nothing);
}

void mot_sums_of_matrix(
    const struct mot_similar *similar, const uint32_t *owner, uint32_t blocks, struct mot_block_sums *out)
{
    uint32_t n = similar->samples->n;
    struct matrix m = { similar, mot_new_large((size_t)blocks + 1, sizeof *m.begin),
        mot_new_large(n, sizeof *m.id), out };
    uint32_t *next = mot_new_large(blocks, sizeof *next);
    if (next && m.begin && m.id) {
        for (uint32_t i = 0; i < n; i++) m.begin[owner[i] + 1]++;
        for (uint32_t j = 0; j < blocks; j++) next[j] = m.begin[j], m.begin[j + 1] += m.begin[j];
        for (uint32_t i = 0; i < n; i++) m.id[next[owner[i]]++] = i;
        if (similar->crew) mot_crew_each(similar->crew, blocks, matrix_block, &m);
        for (uint32_t j = 0; j < blocks && !similar->crew; j++) matrix_block(&m, j, 0);
    }
    free(next);
    free(m.begin);
    free(m.id);
}

/* ---- From rows ------------------------------------------------------------------------------- */

#define ROWS MOT_SAMPLES_ROWS

struct rows {
    const struct mot_sums_rows *r;
    uint16_t *similar;   /* [threads][ROWS][width] */
    float *scratch;      /* [threads][MOT_SAMPLES_SCRATCH] */
    float *a, *norm2;    /* with id: [threads][ROWS][cols], [threads][ROWS] */
    uint64_t *own, *all; /* [count]: a sample's similarity to its block, to its class */
    uint64_t *covered;   /* [pieces][blocks] */
};

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

static void compare(struct rows *s, uint32_t first, uint32_t n, unsigned who, uint16_t *out)
{
    const struct mot_samples *x = s->r->samples;
    float *scratch = s->scratch + (size_t)who * MOT_SAMPLES_SCRATCH;
    if (!s->r->id) {
        mot_samples_compare(x, first, n, 0, x->panels, scratch, out, x->width);
        return;
    }
    float *a = s->a + (size_t)who * ROWS * x->cols, *norm2 = s->norm2 + (size_t)who * ROWS;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = s->r->id[first + i];
        memcpy(a + (size_t)i * x->cols, x->a + (size_t)id * x->cols, (size_t)x->cols * sizeof *a);
        norm2[i] = x->norm2[id];
    }
    mot_samples_compare_rows(x, a, norm2, n, 0, x->panels, scratch, out, x->width);
}

static void rows_piece(void *context, uint32_t piece, unsigned who)
{
    struct rows *s = context;
    const struct mot_sums_rows *r = s->r;
    const struct mot_samples *x = r->samples;
    uint32_t first = piece * ROWS, n = r->count - first < ROWS ? r->count - first : ROWS;
    uint16_t *similar = s->similar + (size_t)who * ROWS * x->width;
    uint64_t *covered = s->covered + (size_t)piece * r->blocks;
    if (mot_split_interrupted(r->work->split)) return;
    compare(s, first, n, who, similar);
    for (uint32_t i = 0; i < n; i++) {
        const uint16_t *row = similar + i * x->width;
        uint32_t at = first + i, id = r->id ? r->id[at] : at;
        for (uint32_t j = 0; j < r->blocks; j++) {
            uint64_t sum = range_sum(row, r->begin[j], r->begin[j + 1]);
            s->all[at] += sum;
            if (id >= r->begin[j] && id < r->begin[j + 1]) s->own[at] = sum;
            covered[j] += range_most(row, r->begin[j], r->begin[j + 1]);
        }
    }
    mot_headway_add(r->work, who, (uint64_t)n * x->n * (x->cols + 16));
}

void mot_sums_of_rows(const struct mot_sums_rows *r, struct mot_block_sums *out)
{
    const struct mot_samples *x = r->samples;
    uint32_t pieces = (r->count + ROWS - 1) / ROWS;
    size_t threads = mot_crew_threads(r->crew);
    struct rows s = { .r = r };
    s.similar = mot_aligned_large(threads * ROWS * x->width * sizeof *s.similar);
    s.scratch = mot_aligned_large(threads * MOT_SAMPLES_SCRATCH * sizeof *s.scratch);
    if (r->id) s.a = mot_aligned_large(threads * ROWS * x->cols * sizeof *s.a);
    if (r->id) s.norm2 = mot_new_large(threads * ROWS, sizeof *s.norm2);
    s.own = mot_new_large(r->count, sizeof *s.own);
    s.all = mot_new_large(r->count, sizeof *s.all);
    s.covered = mot_new_large((size_t)pieces * r->blocks, sizeof *s.covered);
    bool enough = !mot_memory_refused();
    if (enough) mot_crew_each(r->crew, pieces, rows_piece, &s);
    memset(out, 0, r->blocks * sizeof *out);
    for (uint32_t i = 0; enough && i < r->count; i++) {
        uint32_t id = r->id ? r->id[i] : i, low = 0, high = r->blocks;
        while (high - low > 1) { /* the last block that begins at or before it */
            uint32_t middle = (low + high) / 2;
            if (r->begin[middle] <= id) low = middle;
            else high = middle;
        }
        out[low].inside += s.own[i];
        out[low].across += s.all[i];
    }
    for (uint32_t p = 0; enough && p < pieces; p++)
        for (uint32_t j = 0; j < r->blocks; j++) out[j].covered += s.covered[(size_t)p * r->blocks + j];
    free(s.similar);
    free(s.scratch);
    free(s.a);
    free(s.norm2);
    free(s.own);
    free(s.all);
    free(s.covered);
}

/* ---- While classes are cut ---------------------------------------------------------------------- */

void mot_glimpse_open(struct mot_glimpse *g, uint32_t classes, uint32_t parts)
{
    *g = (struct mot_glimpse){ .classes = classes, .parts = parts };
    g->seen = mot_new_large(classes, sizeof *g->seen);
    g->sums = mot_new_large((size_t)classes * parts, sizeof *g->sums);
}

void mot_glimpse_close(struct mot_glimpse *g)
{
    free(g->seen);
    free(g->sums);
    *g = (struct mot_glimpse){ 0 };
}

void mot_glimpse_class(
    struct mot_glimpse *g, uint32_t class, const struct mot_similar *similar, const uint32_t *owner)
{
    if (!g || !g->seen || !g->sums || similar->kind != MOT_SIMILAR_DENSE) return;
    mot_sums_of_matrix(similar, owner, g->parts, g->sums + (size_t) class * g->parts);
    g->seen[class] = true;
}
