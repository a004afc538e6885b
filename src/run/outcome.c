#include "run/outcome.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void mot_outcome_close(struct mot_outcome *out)
{
    mot_arena_free(&out->arena);
    free(out->node);
    free(out->traffic.sent);
    free(out->x);
    free(out->ends_at);
    free(out->best);
    free(out->missed);
    free(out->start.share);
    free(out->held.y);
    *out = (struct mot_outcome){ 0 };
}

void mot_outcome_note(struct mot_outcome *out, const struct mot_notes *n)
{
    memcpy(out->note, n->note, sizeof(out->note));
    out->notes = n->n;
    out->staleness = n->staleness;
}

void mot_outcome_missed(struct mot_outcome *out, const struct mot_method *method,
    const struct mot_world *world, const void *lead_state)
{
    if (!method->missed) return;
    out->missed = mot_new_large(world->parts, sizeof(*out->missed));
    out->parts = out->missed ? world->parts : 0;
    for (uint32_t j = 0; j < out->parts; j++) out->missed[j] = method->missed(lead_state, world, j);
}

void mot_score_fill(struct mot_score *into, const struct mot_score *from)
{
    double *a = (double *)into;
    const double *b = (const double *)from;
    _Static_assert(sizeof(*into) % sizeof(double) == 0, "a score is doubles only");
    for (size_t i = 0; i < sizeof(*into) / sizeof(double); i++)
        if (isnan(a[i])) a[i] = b[i];
}

bool mot_target_met(const struct mot_experiment *x, const struct mot_score *s)
{
    switch (x->stop.target) {
    case MOT_TARGET_NONE: return false;
    case MOT_TARGET_TRAIN_LOSS: return s->train_loss <= x->stop.value;
    case MOT_TARGET_TEST_ACCURACY: return s->test_accuracy >= x->stop.value;
    case MOT_TARGET_GRAD_NORM: return s->grad_norm <= x->stop.value;
    }
    return false;
}

bool mot_validates_better(const struct mot_score *a, const struct mot_score *b, bool classes)
{
    if (isnan(a->valid_loss)) return false;
    if (isnan(b->valid_loss)) return true;
    return classes ? a->valid_accuracy > b->valid_accuracy : a->valid_loss < b->valid_loss;
}

/* ---- Notes ---------------------------------------------------------------------------------- */

struct mot_note_tally *mot_notes_of(struct mot_notes *n, const char *key)
{
    uint32_t i = 0;
    while (i < n->n && strcmp(n->note[i].key, key) != 0) i++;
    if (i == n->n) {
        MOT_ASSERT(n->n < MOT_NOTES_MAX);
        n->note[n->n++] = (struct mot_note_tally){ .key = key };
        if (strcmp(key, "staleness") == 0) n->stale = n->n;
    }
    return &n->note[i];
}

static uint32_t bin_of(double value)
{
    if (!(value >= 1)) return 0;
    uint64_t v = value < 0x1p63 ? (uint64_t)value : UINT64_C(1) << 63;
    return v < MOT_HISTOGRAM_EXACT ? (uint32_t)v : MOT_HISTOGRAM_EXACT + 56u - (uint32_t)__builtin_clzll(v);
}

void mot_notes_add(struct mot_notes *n, const char *key, double value)
{
    struct mot_note_tally *t = n->note;
    /* Nearly always the very same literal as before. */
    while (t < n->note + n->n && t->key != key) t++;
    if (t == n->note + n->n) t = mot_notes_of(n, key);
    if (t->count++ == 0 || value > t->max) t->max = value;
    t->sum += value;
    if (n->stale && t == &n->note[n->stale - 1]) n->staleness.count[bin_of(value)]++;
}

void mot_notes_merge(struct mot_notes *into, const struct mot_notes *from)
{
    for (uint32_t i = 0; i < from->n; i++) {
        const struct mot_note_tally *f = &from->note[i];
        struct mot_note_tally *t = mot_notes_of(into, f->key);
        if (f->count && (t->count == 0 || f->max > t->max)) t->max = f->max;
        t->count += f->count;
        t->sum += f->sum;
    }
    for (uint32_t i = 0; i < MOT_HISTOGRAM_BINS; i++) into->staleness.count[i] += from->staleness.count[i];
}

const struct mot_note_tally *mot_notes_staleness(const struct mot_notes *n)
{
    return n->stale ? &n->note[n->stale - 1] : NULL;
}

void mot_moment_note(struct mot_moment *m, const struct mot_notes *n)
{
    const struct mot_note_tally *stale = mot_notes_staleness(n);
    m->staleness_mean = stale ? stale->sum / (double)stale->count : NAN;
    m->staleness_max = stale ? stale->max : NAN;
    m->active_jobs = NAN;
    m->missed_most = 0;
    for (uint32_t i = 0; i < n->n; i++) {
        if (strcmp(n->note[i].key, "active_jobs") == 0)
            m->active_jobs = n->note[i].sum / (double)n->note[i].count;
        if (strcmp(n->note[i].key, "missed_most") == 0) m->missed_most = (uint64_t)n->note[i].max;
    }
}

void mot_histogram_bounds(uint32_t bin, uint64_t *first, uint64_t *last)
{
    MOT_ASSERT(bin < MOT_HISTOGRAM_BINS);
    *first = *last = bin;
    if (bin < MOT_HISTOGRAM_EXACT) return;
    *first = (uint64_t)MOT_HISTOGRAM_EXACT << (bin - MOT_HISTOGRAM_EXACT);
    *last = *first + (*first - 1);
}
