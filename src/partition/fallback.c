#include "partition/fallback.h"

#include "base/memory.h"
#include "base/rng.h"
#include "partition/sums.h"
#include <stdlib.h>
#include <string.h>

void mot_fallback_close(struct mot_fallback *f)
{
    free(f->was_tried);
    free(f->is_taken);
    free(f->before);
    free(f->after);
    *f = (struct mot_fallback){ 0 };
}

static double worst_of(const struct mot_quality *q, uint32_t class)
{
    double worst = 0;
    for (uint32_t j = 0; j < q->parts; j++) {
        double ratio = mot_quality_ratio(q, class, j);
        if (ratio > worst) worst = ratio;
    }
    return worst;
}

static struct mot_fallback begin(enum mot_fallback_by by, const struct mot_quality *q)
{
    struct mot_fallback f = { .by = by };
    f.was_tried = mot_new_large(q->classes, sizeof *f.was_tried);
    f.is_taken = mot_new_large(q->classes, sizeof *f.is_taken);
    f.before = mot_new_large(q->classes, sizeof *f.before);
    f.after = mot_new_large(q->classes, sizeof *f.after);
    for (uint32_t l = 0; !mot_memory_refused() && l < q->classes; l++) {
        for (uint32_t j = 0; j < q->parts; j++) f.was_tried[l] |= mot_quality_is_worse(q, l, j);
        f.tried += f.was_tried[l];
        f.before[l] = f.after[l] = worst_of(q, l);
    }
    return f;
}

static void shuffle_classes(
    const struct mot_split *s, const bool *which, const struct mot_quality *q, uint32_t *owner)
{
    struct mot_strata strata = mot_strata_of(s->table);
    for (uint32_t l = 0; l < strata.classes; l++) {
        uint32_t first = strata.at[l], n = strata.at[l + 1] - first, at = 0;
        uint64_t key = mot_hash3(s->seed, MOT_RNG_PARTITION, (UINT64_C(7) << 40) + l);
        for (uint32_t j = 0; j < q->parts && which[l]; j++)
            for (uint32_t k = 0; k < q->count[(size_t)l * q->parts + j]; k++)
                owner[strata.row[first + (uint32_t)mot_permute(key, n, at++)]] = j;
    }
    mot_strata_free(&strata);
}

static enum mot_status cut_again(const struct mot_fallback *f, const struct mot_classwise_conf *from,
    const struct mot_split *s, const struct mot_quality *q, uint32_t *owner)
{
    struct mot_classwise_conf conf = *from;
    conf.bandwidth = q->bandwidth;
    for (uint32_t l = 0; s->glimpse && l < q->classes; l++)
        if (f->was_tried[l]) s->glimpse->seen[l] = false;
    if (f->by == MOT_FALLBACK_HERDING) return mot_herd_classes(&conf, s, f->was_tried, q->count, owner);
    shuffle_classes(s, f->was_tried, q, owner);
    return MOT_OK;
}

static uint32_t *owners_of(const struct mot_split *s, const struct mot_parts *p)
{
    uint32_t *owner = mot_new_large((size_t)s->table->rows + 1, sizeof *owner);
    for (uint32_t j = 0; owner && j < p->parts; j++)
        for (uint64_t i = p->at[j]; i < p->at[j + 1]; i++) owner[p->row[i]] = j;
    return owner;
}

/* Replaces the figures of one class by those of another measurement. */
static void copy_class(struct mot_quality *to, const struct mot_quality *from, uint32_t class)
{
    size_t at = (size_t) class * to->parts;
    memcpy(to->mmd2 + at, from->mmd2 + at, to->parts * sizeof *to->mmd2);
    memcpy(to->random + at, from->random + at, to->parts * sizeof *to->random);
    to->location[class] = from->location[class];
    to->cut[class] = from->cut[class];
    to->exact[class] = from->exact[class];
}

static struct mot_quality copy_of(const struct mot_quality *q)
{
    struct mot_quality c = *q;
    size_t cells = (size_t)q->classes * q->parts;
    c.count = mot_new_large(cells, sizeof *c.count);
    c.mmd2 = mot_new_large(cells, sizeof *c.mmd2);
    c.random = mot_new_large(cells, sizeof *c.random);
    c.location = mot_new_large(q->classes, sizeof *c.location);
    c.cut = mot_new_large(q->classes, sizeof *c.cut);
    c.exact = mot_new_large(q->classes, sizeof *c.exact);
    if (mot_memory_refused()) return c;
    memcpy(c.count, q->count, cells * sizeof *c.count);
    for (uint32_t l = 0; l < q->classes; l++) copy_class(&c, q, l);
    return c;
}

/* Keeps the better cut of each class. */
static void choose(struct mot_fallback *f, const struct mot_split *s, struct mot_parts *parts,
    uint32_t *owner, struct mot_quality *q, const struct mot_quality *now)
{
    uint32_t *old = owners_of(s, parts);
    if (!old) return;
    for (uint32_t l = 0; l < q->classes; l++) {
        if (!f->was_tried[l]) continue;
        f->after[l] = worst_of(now, l);
        f->is_taken[l] = f->after[l] < f->before[l];
        f->taken += f->is_taken[l];
        if (f->is_taken[l]) copy_class(q, now, l);
    }
    for (uint32_t r = 0; r < s->table->rows; r++)
        if (!f->is_taken[s->table->classes ? (uint32_t)s->table->y[r] : 0]) owner[r] = old[r];
    free(old);
    struct mot_parts better = { 0 };
    if (f->taken) better = mot_parts_owned(q->parts, s->table->rows, owner);
    if (!better.at) return;
    mot_parts_free(parts);
    *parts = better;
    mot_quality_summarise(q);
}

enum mot_status mot_fall_back(enum mot_fallback_by by, const struct mot_classwise_conf *conf,
    const struct mot_split *s, const struct mot_features *features, enum mot_mmd_how how,
    struct mot_parts *parts, struct mot_quality *q, struct mot_fallback *out)
{
    struct mot_fallback f = begin(by, q);
    enum mot_status status = MOT_OK;
    if (f.tried) {
        uint32_t *owner = owners_of(s, parts);
        struct mot_quality now = copy_of(q);
        status = mot_memory_status();
        if (status == MOT_OK) status = cut_again(&f, conf, s, q, owner);
        if (status == MOT_OK) {
            struct mot_parts cut = mot_parts_owned(q->parts, s->table->rows, owner);
            status =
                !cut.at ? mot_memory_status() : mot_quality_again(s, &cut, features, how, f.was_tried, &now);
            mot_parts_free(&cut);
        }
        if (status == MOT_OK) choose(&f, s, parts, owner, q, &now);
        mot_quality_close(&now);
        free(owner);
    }
    if (mot_memory_refused()) status = mot_memory_status();
    if (status == MOT_OK) *out = f;
    else mot_fallback_close(&f);
    return status;
}
