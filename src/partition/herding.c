#include "partition/herding.h"

#include "base/memory.h"
#include "math/kernels.h"
#include "partition/quota.h"
#include <math.h>
#include <stdlib.h>

/* Scores are doubles made of exact sums of shorts, so their bits do not depend on how rows are computed. */
struct herd {
    struct mot_herding *h;
    uint32_t n, left;
    double *mean;    /* [n]: m(v), in units of 1/65535; -infinity once v is taken */
    double *lead;    /* [blocks][n]: what earlier chunks owe, less t(v) */
    uint64_t *total; /* [n]: the sum of v's similarities */
    uint32_t *size;
    const uint16_t **last; /* [blocks]: the row of what a block took last, if it is still to be taken off */
};

double mot_herding_bytes(uint32_t n, uint32_t blocks) { return 8.0 * n * (blocks + 4.0); }

static uint32_t best_of(struct herd *s, uint32_t block)
{
    double *lead = s->lead + (size_t)block * s->n;
    const uint16_t *row = s->last[block];
    s->last[block] = NULL;
    s->h->evaluations += s->left;
    return (uint32_t)mot_kernels()->herd(s->n, s->size[block] + 1.0, s->mean, row, lead);
}

/* Subtracts the similarities to the sample that the block took last from its scores. */
static void take_off(struct herd *s, uint32_t block)
{
    double *lead = s->lead + (size_t)block * s->n;
    const uint16_t *row = s->last[block];
    for (uint32_t v = 0; v < s->n && row; v++) lead[v] -= row[v];
    s->last[block] = NULL;
}

static void take(struct herd *s, uint32_t block, uint32_t v)
{
    s->h->owner[v] = block;
    if (s->h->order) s->h->order[s->n - s->left] = v;
    s->mean[v] = -INFINITY;
    s->size[block]++;
    s->left--;
}

/* A pick looks at every sample and needs a row; blocked, the totals and the rows are computed, too. */
static uint64_t units_of_pick(const struct mot_similar *x, uint32_t n)
{
    return (uint64_t)n * (x->kind == MOT_SIMILAR_BLOCKED ? x->samples->cols + 16u : 0u) +
        (uint64_t)n * MOT_HERDING_PICK_UNITS;
}

uint64_t mot_herding_units(const struct mot_similar *x, uint32_t n) { return n * units_of_pick(x, n); }

/* Other blocks affect a block's next choice only by the samples they take. So the blocks choose one after
 * another until one comes up again, and then their rows are computed together. */
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
        s->last[of[i]] = row[i];
        if (h->similar->kind != MOT_SIMILAR_DENSE) take_off(s, of[i]); /* the row does not stay */
    }
    mot_headway_add(h->similar->work, h->similar->who, n * units_of_pick(h->similar, s->n));
}

static enum mot_status begin(struct herd *s)
{
    const struct mot_herding *h = s->h;
    enum mot_status status = mot_similar_totals(h->similar, s->total);
    for (uint32_t v = 0; v < s->n; v++) s->mean[v] = (double)s->total[v] / s->n;
    for (size_t i = 0; h->owed && i < (size_t)h->blocks * s->n; i++) s->lead[i] = (double)h->owed[i] * 65535;
    return status;
}

/* ---- What is left over ---------------------------------------------------------------------- */

/* The last blocks take leftovers. If blocks have only a few samples, that can be worse than chance; then
 * blocks exchange samples until it is not, or until no exchange improves the worse of its two blocks. */
#define GOOD_ENOUGH 0.99
#define SWAPS_EACH 16u

struct mend {
    struct herd *s;
    double whole;            /* S(V, V) */
    double *inside, *across; /* [blocks]: S(A, A), S(A, V) */
    bool *stuck;             /* [blocks] */
};

/* MMD^2 relative to random samples. */
static double ratio_of(const struct mend *m, uint32_t block, double inside, double across)
{
    double size = m->s->size[block], n = m->s->n, self = m->whole / (n * n),
           random = (1 / size - 1 / n) * n / (n - 1) * (65535 - self);
    return random > 0 ? (inside / (size * size) + self - 2 * across / (size * n)) / random : 0;
}

static double ratio_now(const struct mend *m, uint32_t block)
{
    return m->s->size[block] ? ratio_of(m, block, m->inside[block], m->across[block]) : 0;
}

struct swap {
    uint32_t u, v; /* u leaves the block that is mended */
    double worst, inside_a, inside_b;
};

/* Block a without u and with v. */
static double inside_after(const struct mend *m, uint32_t a, uint32_t u, uint32_t v, double similarity)
{
    const double *lead = m->s->lead + (size_t)a * m->s->n;
    return m->inside[a] + 2 * (lead[u] - lead[v] + 65535 - similarity);
}

static struct swap best_swap(struct mend *m, uint32_t a)
{
    struct herd *s = m->s;
    struct swap best = { .worst = ratio_now(m, a) };
    for (uint32_t u = 0; u < s->n; u++) {
        const uint16_t *row;
        if (s->h->owner[u] != a) continue;
        mot_similar_rows(s->h->similar, &u, 1, &row);
        for (uint32_t v = 0; v < s->n; v++) {
            uint32_t b = s->h->owner[v];
            if (b == a) continue;
            double shift = (double)s->total[v] - (double)s->total[u],
                   inside_a = inside_after(m, a, u, v, row[v]),
                   worst = ratio_of(m, a, inside_a, m->across[a] + shift);
            if (!(worst < best.worst)) continue;
            double inside_b = inside_after(m, b, v, u, row[v]),
                   other = ratio_of(m, b, inside_b, m->across[b] - shift);
            if (other > worst) worst = other;
            if (worst < best.worst) best = (struct swap){ u, v, worst, inside_a, inside_b };
        }
        s->h->evaluations += s->n;
    }
    return best;
}

static void exchange(struct mend *m, uint32_t a, const struct swap *w)
{
    struct herd *s = m->s;
    uint32_t b = s->h->owner[w->v], id[2] = { w->u, w->v };
    double *lead_a = s->lead + (size_t)a * s->n, *lead_b = s->lead + (size_t)b * s->n,
           shift = (double)s->total[w->v] - (double)s->total[w->u];
    const uint16_t *row[2];
    mot_similar_rows(s->h->similar, id, 2, row);
    for (uint32_t i = 0; i < s->n; i++) {
        lead_a[i] += (double)row[0][i] - (double)row[1][i];
        lead_b[i] += (double)row[1][i] - (double)row[0][i];
    }
    m->inside[a] = w->inside_a;
    m->inside[b] = w->inside_b;
    m->across[a] += shift;
    m->across[b] -= shift;
    s->h->owner[w->u] = b;
    s->h->owner[w->v] = a;
    m->stuck[a] = m->stuck[b] = false;
}

static uint32_t worst_block(const struct mend *m)
{
    uint32_t worst = UINT32_MAX;
    double most = GOOD_ENOUGH;
    for (uint32_t j = 0; j < m->s->h->blocks; j++) {
        double ratio = m->stuck[j] ? 0 : ratio_now(m, j);
        if (ratio > most) most = ratio, worst = j;
    }
    return worst;
}

static void mend(struct herd *s)
{
    struct mend m = { .s = s };
    uint32_t blocks = s->h->blocks;
    m.inside = mot_new_large(blocks, sizeof *m.inside);
    m.across = mot_new_large(blocks, sizeof *m.across);
    m.stuck = mot_new_large(blocks, sizeof *m.stuck);
    bool enough = m.inside && m.across && m.stuck;
    for (uint32_t v = 0; enough && v < s->n; v++) {
        uint32_t j = s->h->owner[v];
        m.inside[j] -= s->lead[(size_t)j * s->n + v];
        m.across[j] += (double)s->total[v];
        m.whole += (double)s->total[v];
    }
    for (uint64_t left = (uint64_t)SWAPS_EACH * blocks; enough && left && s->n > 1; left--) {
        uint32_t a = worst_block(&m);
        if (a == UINT32_MAX || (s->h->similar->work && mot_split_interrupted(s->h->similar->work->split)))
            break;
        struct swap w = best_swap(&m, a);
        if (w.u != w.v) exchange(&m, a, &w);
        else m.stuck[a] = true;
    }
    free(m.inside);
    free(m.across);
    free(m.stuck);
}

/* ---- All of it --------------------------------------------------------------------------------- */

enum mot_status mot_herding_run(struct mot_herding *h)
{
    struct mot_similar *x = h->similar;
    struct herd s = { .h = h, .n = x->samples->n, .left = x->samples->n };
    s.mean = mot_new_large(s.n, sizeof *s.mean);
    s.lead = mot_new_large((size_t)h->blocks * s.n, sizeof *s.lead);
    s.total = mot_new_large(s.n, sizeof *s.total);
    s.size = mot_new_large(h->blocks, sizeof *s.size);
    s.last = mot_new_large(h->blocks, sizeof *s.last);
    enum mot_status status = mot_memory_status();
    if (status == MOT_OK) status = begin(&s);
    while (status == MOT_OK && s.left) {
        take_some(&s);
        if (x->work && mot_split_interrupted(x->work->split))
            status = mot_fail(MOT_EINTERRUPTED, "interrupted");
    }
    for (uint32_t j = 0; s.lead && s.last && j < h->blocks; j++) take_off(&s, j);
    if (status == MOT_OK && !h->owed) mend(&s);
    free(s.mean);
    free(s.total);
    free(s.lead);
    free(s.size);
    free(s.last);
    return status;
}
