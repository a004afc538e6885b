#include "partition/herding.h"

#include "base/memory.h"
#include "math/kernels.h"
#include "partition/quota.h"
#include <math.h>
#include <stdlib.h>

/* Scores are doubles of exact sums of shorts, so they are the same bits however rows come about. */
struct herd {
    struct mot_herding *h;
    uint32_t n, left;
    double *mean; /* [n]: m(v), in units of 1/65535; -infinity once v is taken */
    double *lead; /* [blocks][n]: what past chunks owe, less t(v) */
    uint32_t *size;
};

double mot_herding_bytes(uint32_t n, uint32_t blocks) { return 8.0 * n * (blocks + 3.0); }

static uint32_t best_of(const struct herd *s, uint32_t block)
{
    const double *mean = s->mean, *lead = s->lead + (size_t)block * s->n, next = s->size[block] + 1.0;
    double most = -INFINITY;
    uint32_t best = 0;
    for (uint32_t v = 0; v < s->n; v++) {
        double score = next * mean[v] + lead[v];
        if (score > most) most = score, best = v;
    }
    s->h->evaluations += s->left;
    return best;
}

static void take(struct herd *s, uint32_t block, uint32_t v)
{
    s->h->owner[v] = block;
    if (s->h->order) s->h->order[s->n - s->left] = v;
    s->mean[v] = -INFINITY;
    s->size[block]++;
    s->left--;
}

/* A look at every sample and a row for a pick; blocked, also the totals and the computing of rows. */
static uint64_t units_of_pick(const struct mot_similar *x, uint32_t n)
{
    return (uint64_t)n * (x->kind == MOT_SIMILAR_BLOCKED ? x->samples->cols + 16 + 64 : 64);
}

uint64_t mot_herding_units(const struct mot_similar *x, uint32_t n) { return n * units_of_pick(x, n); }

/* A block's next choice does not depend on what others took but for their samples being gone. So the blocks
 * choose one after the other until one comes a second time, and their rows are then computed together. */
static void take_some(struct herd *s)
{
    struct mot_herding *h = s->h;
    uint32_t id[MOT_SIMILAR_BATCH], of[MOT_SIMILAR_BATCH], n = 0;
    const uint16_t *row[MOT_SIMILAR_BATCH];
    while (s->left && n < MOT_SIMILAR_BATCH) {
        uint32_t block = mot_quota_least_filled(h->blocks, s->size, h->quota), i = 0;
        while (i < n && of[i] != block) i++;
        if (i < n) break;
        id[n] = best_of(s, block);
        take(s, block, id[n]);
        of[n++] = block;
    }
    mot_similar_rows(h->similar, id, n, row);
    for (uint32_t i = 0; i < n; i++) {
        double *lead = s->lead + (size_t)of[i] * s->n;
        for (uint32_t v = 0; v < s->n; v++) lead[v] -= row[i][v];
    }
    mot_work_step(h->similar->work, h->similar->who, n * units_of_pick(h->similar, s->n));
}

static enum mot_status begin(struct herd *s)
{
    const struct mot_herding *h = s->h;
    uint64_t *total = mot_new(s->n, sizeof *total);
    enum mot_status status = mot_similar_totals(h->similar, total);
    for (uint32_t v = 0; v < s->n; v++)
        s->mean[v] = (double)total[v] / s->n + (h->shift ? (double)h->shift[v] * 65535 : 0);
    for (size_t i = 0; h->owed && i < (size_t)h->blocks * s->n; i++) s->lead[i] = (double)h->owed[i] * 65535;
    free(total);
    return status;
}

enum mot_status mot_herding_run(struct mot_herding *h)
{
    struct mot_similar *x = h->similar;
    struct herd s = { .h = h, .n = x->samples->n, .left = x->samples->n };
    s.mean = mot_new(s.n, sizeof *s.mean);
    s.lead = mot_new((size_t)h->blocks * s.n, sizeof *s.lead);
    s.size = mot_new(h->blocks, sizeof *s.size);
    enum mot_status status = begin(&s);
    while (status == MOT_OK && s.left) {
        take_some(&s);
        if (x->work && mot_split_interrupted(x->work->split))
            status = mot_fail(MOT_EINTERRUPTED, "interrupted");
    }
    free(s.mean);
    free(s.lead);
    free(s.size);
    return status;
}
