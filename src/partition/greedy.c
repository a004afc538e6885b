/* greedy.c -- whose turn it is, and how a block takes its next sample.
 *
 * Facility location is lazy (Minoux, "Accelerated greedy algorithms", 1978): a gain only
 * shrinks while its block grows, so an old gain is an upper bound, and gains are computed again in the order
 * of their bounds until a fresh one is on top. Every block has a heap of its own; samples that others took
 * are dropped when met. Stochastic is "lazier than lazy" (Mirzasoleiman et al., 2015): the best of (n/q)
 * ln(1/epsilon) samples drawn, found by bounds. Graph cut needs no heap: a pick changes every gain of its
 * block by one row of similarities. */
#include "partition/greedy.h"

#include "base/exact.h"
#include "base/memory.h"
#include "base/rng.h"
#include "math/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    uint64_t gain;
    uint32_t id, age;
}; /* age: how large the block was when the gain was taken */
struct heap {
    struct entry *entry;
    uint32_t n;
};

struct state {
    struct mot_greedy *g;
    uint32_t n, left;
    size_t width;
    uint32_t *size;      /* [blocks] */
    uint32_t turn;       /* round-robin: where the next search begins */
    uint64_t *total;     /* [n] */
    uint16_t *cover;     /* facility location [blocks][width] */
    struct heap *heap;   /* lazy [blocks]; made at a block's first turn */
    uint32_t *rest;      /* stochastic and graph cut: samples that are still free */
    uint32_t *place;     /* [n]: where a sample is in `rest` */
    uint64_t *bound;     /* stochastic [blocks][n]: the last gain seen */
    struct entry *drawn; /* stochastic [n] */
    uint64_t *taken;     /* graph cut [blocks][n]: each sample's similarity to the block */
};

double mot_greedy_bytes(enum mot_objective objective, bool stochastic, uint32_t n, uint32_t blocks)
{
    double each = objective == MOT_GRAPH_CUT ? 8 : stochastic ? 2 + 8 : 2 + (double)sizeof(struct entry);
    return each * (n + 16.0) * blocks + 40.0 * n;
}

/* ---- Whose turn it is ------------------------------------------------------------------------ */

static bool comes_before(const struct state *s, uint32_t a, uint32_t b)
{
    return s->g->rule == MOT_RULE_LITERAL && s->g->value[a] < s->g->value[b];
}

/* MOT_NOBODY when all are full. */
static uint32_t next_block(struct state *s)
{
    const struct mot_greedy *g = s->g;
    uint32_t best = MOT_NOBODY, from = g->rule == MOT_RULE_ROUND_ROBIN ? s->turn : 0;
    if (g->rule == MOT_RULE_FILL) return mot_quota_least_filled(g->blocks, s->size, g->quota);
    for (uint32_t i = 0; i < g->blocks; i++) {
        uint32_t j = from + i < g->blocks ? from + i : from + i - g->blocks;
        if (s->size[j] >= g->quota[j]) continue;
        if (best == MOT_NOBODY || comes_before(s, j, best)) best = j;
        if (g->rule == MOT_RULE_ROUND_ROBIN) break;
    }
    s->turn = best + 1 < g->blocks ? best + 1 : 0;
    return best;
}

/* ---- Gains of facility location ----------------------------------------------------------------- */

static uint64_t knn_gain(const struct mot_similar *x, uint32_t id, const uint16_t *cover)
{
    const uint32_t *near = x->near + (size_t)id * x->k;
    const uint16_t *how = x->how + (size_t)id * x->k;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < x->k; i++) {
        uint16_t c = cover[near[i]];
        sum += how[i] > c ? (uint64_t)(how[i] - c) : 0;
    }
    return sum;
}

static void gains(struct state *s, uint32_t block, const uint32_t *id, uint32_t n, uint64_t *gain)
{
    struct mot_similar *x = s->g->similar;
    const uint16_t *cover = s->cover + block * s->width, *row[MOT_SIMILAR_BATCH];
    s->g->evaluations += n;
    if (x->kind == MOT_SIMILAR_KNN) {
        for (uint32_t i = 0; i < n; i++) gain[i] = knn_gain(x, id[i], cover);
        return;
    }
    mot_similar_rows(x, id, n, row);
    for (uint32_t i = 0; i < n; i++) gain[i] = mot_kernels()->uncovered(s->width, row[i], cover);
}

static void cover_by(struct state *s, uint32_t block, uint32_t id)
{
    struct mot_similar *x = s->g->similar;
    uint16_t *cover = s->cover + block * s->width;
    const uint16_t *row;
    if (x->kind != MOT_SIMILAR_KNN) {
        mot_similar_rows(x, &id, 1, &row);
        mot_kernels()->cover(s->width, row, cover);
        return;
    }
    for (size_t i = (size_t)id * x->k; i < (size_t)(id + 1) * x->k; i++)
        if (x->how[i] > cover[x->near[i]]) cover[x->near[i]] = x->how[i];
}

/* ---- Lazy ------------------------------------------------------------------------------------------ */

static bool is_above(const struct entry *a, const struct entry *b)
{
    return a->gain != b->gain ? a->gain > b->gain : a->id < b->id;
}

static void sift_down(struct heap *h, uint32_t i)
{
    struct entry moved = h->entry[i];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= h->n) break;
        if (child + 1 < h->n && is_above(&h->entry[child + 1], &h->entry[child])) child++;
        if (!is_above(&h->entry[child], &moved)) break;
        h->entry[i] = h->entry[child];
        i = child;
    }
    h->entry[i] = moved;
}

static struct entry heap_pop(struct heap *h)
{
    struct entry top = h->entry[0];
    h->entry[0] = h->entry[--h->n];
    if (h->n) sift_down(h, 0);
    return top;
}

static void heap_push(struct heap *h, struct entry e)
{
    uint32_t i = h->n++;
    for (; i && is_above(&e, &h->entry[(i - 1) / 2]); i = (i - 1) / 2) h->entry[i] = h->entry[(i - 1) / 2];
    h->entry[i] = e;
}

/* An empty block gains the whole row of a sample. */
static void heap_make(struct state *s, struct heap *h)
{
    h->entry = mot_new_large(s->left, sizeof *h->entry);
    if (!h->entry) return;
    for (uint32_t v = 0; v < s->n; v++)
        if (s->g->owner[v] == MOT_NOBODY) h->entry[h->n++] = (struct entry){ s->total[v], v, 0 };
    for (uint32_t i = h->n / 2; i-- > 0;) sift_down(h, i);
}

/* Computes the largest bounds' gains again: one if rows are at hand, several if computing rows together is
 * cheaper. That does not affect which sample turns out best. */
static void look_again(struct state *s, uint32_t block, struct heap *h)
{
    struct entry seen[MOT_SIMILAR_BATCH];
    uint32_t id[MOT_SIMILAR_BATCH], n = 0,
                                    most = s->g->similar->kind == MOT_SIMILAR_BLOCKED ? MOT_SIMILAR_BATCH : 1;
    uint64_t gain[MOT_SIMILAR_BATCH];
    while (n < most && h->n && h->entry[0].age != s->size[block]) {
        struct entry top = heap_pop(h);
        if (s->g->owner[top.id] != MOT_NOBODY) continue;
        id[n] = top.id;
        seen[n++] = top;
    }
    if (n == 0) return;
    gains(s, block, id, n, gain);
    for (uint32_t i = 0; i < n; i++) heap_push(h, (struct entry){ gain[i], seen[i].id, s->size[block] });
}

static struct entry pick_lazy(struct state *s, uint32_t block)
{
    struct heap *h = &s->heap[block];
    if (!h->entry) heap_make(s, h);
    while (h->entry) {
        if (s->g->owner[h->entry[0].id] != MOT_NOBODY) heap_pop(h);
        else if (h->entry[0].age == s->size[block]) return heap_pop(h);
        else look_again(s, block, h);
    }
    return (struct entry){ 0, MOT_NOBODY, 0 };
}

/* ---- Stochastic ---------------------------------------------------------------------------------------- */

static int by_bound(const void *a, const void *b)
{
    const struct entry *p = a, *q = b;
    return is_above(p, q) ? -1 : is_above(q, p);
}

/* Draws samples that are still free; puts their bounds in order, largest first. */
static uint32_t draw_candidates(struct state *s, uint32_t block)
{
    struct mot_greedy *g = s->g;
    struct mot_rng rng =
        mot_rng_at(g->draws.seed, MOT_RNG_PARTITION, mot_hash3(g->draws.index, block, s->size[block]));
    double want = ceil((double)s->n / g->quota[block] * -mot_log(g->epsilon));
    uint32_t n = want < s->left ? (uint32_t)want : s->left;
    for (uint32_t i = 0; i < n; i++) { /* the drawn ones go to the front */
        uint32_t with = i + (uint32_t)mot_rng_below(&rng, s->left - i), a = s->rest[i], b = s->rest[with];
        s->rest[i] = b, s->place[b] = i;
        s->rest[with] = a, s->place[a] = with;
        s->drawn[i] = (struct entry){ s->bound[(size_t)block * s->n + b], b, 0 };
    }
    qsort(s->drawn, n, sizeof *s->drawn, by_bound);
    if (n > g->candidates) g->candidates = n;
    return n;
}

#define FEW 6u /* rows that the kernels compare as fast as one */

/* The largest gain among the drawn; bounds from earlier turns save most of the work here too. */
static struct entry pick_stochastic(struct state *s, uint32_t block)
{
    uint32_t n = draw_candidates(s, block);
    struct entry best = { 0, MOT_NOBODY, 0 };
    for (uint32_t done = 0; done < n && (best.id == MOT_NOBODY || is_above(&s->drawn[done], &best));) {
        uint64_t gain[FEW];
        uint32_t id[FEW], some = n - done < FEW ? n - done : FEW;
        for (uint32_t i = 0; i < some; i++) id[i] = s->drawn[done + i].id;
        gains(s, block, id, some, gain);
        for (uint32_t i = 0; i < some; i++) {
            struct entry e = { gain[i], id[i], 0 };
            s->bound[(size_t)block * s->n + id[i]] = gain[i];
            if (best.id == MOT_NOBODY || is_above(&e, &best)) best = e;
        }
        done += some;
    }
    return best;
}

/* ---- Graph cut ------------------------------------------------------------------------ */

/* The gain of v is its similarity to all others, less twice that to the block: total - 1 - 2 taken. */
static uint32_t pick_cut(struct state *s, uint32_t block, int64_t *gain_out)
{
    const uint64_t *taken = s->taken + (size_t)block * s->n;
    uint32_t best = MOT_NOBODY;
    int64_t most = INT64_MIN;
    for (uint32_t i = 0; i < s->left; i++) {
        uint32_t v = s->rest[i];
        int64_t gain = (int64_t)(s->total[v] - 65535) - 2 * (int64_t)taken[v];
        if (gain < most || (gain == most && v > best)) continue;
        most = gain;
        best = v;
    }
    s->g->evaluations += s->left;
    *gain_out = most;
    return best;
}

static void cut_by(struct state *s, uint32_t block, uint32_t id)
{
    const uint16_t *row;
    mot_similar_rows(s->g->similar, &id, 1, &row);
    mot_kernels()->add_short(s->n, row, s->taken + (size_t)block * s->n);
}

/* ---- All picks ------------------------------------------------------------------------ */

static void forget(struct state *s, uint32_t id)
{
    uint32_t at = s->place[id], last = s->rest[s->left - 1];
    s->rest[at] = last;
    s->place[last] = at;
}

static uint64_t units_of_pick(const struct mot_greedy *g)
{
    const struct mot_samples *x = g->similar->samples;
    bool computes = g->similar->kind == MOT_SIMILAR_BLOCKED;
    if (g->similar->kind == MOT_SIMILAR_KNN) return (uint64_t)g->similar->k * 256;
    if (!computes) return (uint64_t)x->n * 48;
    return (uint64_t)x->n * (x->cols + 16) * (g->objective == MOT_GRAPH_CUT ? 2 : g->stochastic ? 16 : 48);
}

uint64_t mot_greedy_units(const struct mot_greedy *g)
{
    uint64_t picks = 0;
    for (uint32_t j = 0; j < g->blocks; j++) picks += g->quota[j];
    return picks * units_of_pick(g);
}

static void take(struct state *s, uint32_t block)
{
    struct mot_greedy *g = s->g;
    bool cut = g->objective == MOT_GRAPH_CUT;
    uint32_t id;
    if (cut) {
        int64_t gain;
        id = pick_cut(s, block, &gain);
        g->value[block] += gain;
        cut_by(s, block, id);
    } else {
        struct entry e = g->stochastic ? pick_stochastic(s, block) : pick_lazy(s, block);
        id = e.id;
        if (id == MOT_NOBODY) return; /* no memory */
        g->value[block] += (int64_t)e.gain;
        cover_by(s, block, id);
    }
    g->owner[id] = block;
    if (g->order) g->order[s->n - s->left] = id;
    if (s->rest) forget(s, id);
    s->left--;
    s->size[block]++;
    if (s->heap && s->size[block] == g->quota[block]) {
        free(s->heap[block].entry);
        s->heap[block] = (struct heap){ 0 };
    }
}

static enum mot_status state_open(struct state *s)
{
    struct mot_greedy *g = s->g;
    s->size = mot_new_large(g->blocks, sizeof *s->size);
    s->total = mot_new_large(s->n, sizeof *s->total);
    if (g->objective == MOT_GRAPH_CUT) s->taken = mot_new_large((size_t)g->blocks * s->n, sizeof *s->taken);
    else s->cover = mot_new_large(g->blocks * s->width, sizeof *s->cover);
    if (g->objective == MOT_FACILITY_LOCATION && !g->stochastic) {
        s->heap = mot_new_large(g->blocks, sizeof *s->heap);
    } else {
        s->rest = mot_new_large(s->n, sizeof *s->rest);
        s->place = mot_new_large(s->n, sizeof *s->place);
    }
    if (g->stochastic) {
        s->drawn = mot_new_large(s->n, sizeof *s->drawn);
        s->bound = mot_new_large((size_t)g->blocks * s->n, sizeof *s->bound);
    }
    if (mot_memory_refused()) return mot_memory_status();
    for (uint32_t v = 0; v < s->n; v++) {
        g->owner[v] = MOT_NOBODY;
        if (s->rest) s->rest[v] = s->place[v] = v;
    }
    for (size_t i = 0; g->stochastic && i < (size_t)g->blocks * s->n; i++)
        s->bound[i] = UINT64_MAX; /* not seen yet */
    for (uint32_t j = 0; j < g->blocks; j++) g->value[j] = 0;
    return MOT_OK;
}

static void state_close(struct state *s)
{
    for (uint32_t j = 0; s->heap && j < s->g->blocks; j++) free(s->heap[j].entry);
    free(s->heap);
    free(s->size);
    free(s->total);
    free(s->cover);
    free(s->taken);
    free(s->bound);
    free(s->drawn);
    free(s->rest);
    free(s->place);
}

enum mot_status mot_greedy_run(struct mot_greedy *g)
{
    struct mot_similar *x = g->similar;
    struct state s = { .g = g, .n = x->samples->n, .left = x->samples->n, .width = x->samples->width };
    enum mot_status status = state_open(&s);
    if (status == MOT_OK && !g->stochastic) status = mot_similar_totals(x, s.total);
    uint64_t units = units_of_pick(g);
    for (uint32_t block; status == MOT_OK && s.left && (block = next_block(&s)) != MOT_NOBODY;) {
        take(&s, block);
        mot_headway_add(x->work, x->who, units);
        if (x->work && mot_split_interrupted(x->work->split))
            status = mot_fail(MOT_EINTERRUPTED, "interrupted");
    }
    state_close(&s);
    return status;
}
