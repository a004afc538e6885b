/* partition.c -- the partitioners by name, and the plain ones: equal, contiguous and
 * stratified parts, whose sizes differ by at most one. */
#include "partition/partition.h"

#include "base/crew.h"
#include "base/memory.h"
#include "base/rng.h"
#include "partition/quota.h"
#include <stdlib.h>

/* ---- What partitioners share ----------------------------------------------------------- */

struct mot_parts mot_parts_sized(uint32_t parts, const uint32_t *size)
{
    struct mot_parts p = { parts, mot_new_large((size_t)parts + 1, sizeof *p.at), NULL };
    for (uint32_t i = 0; p.at && i < parts; i++) p.at[i + 1] = p.at[i] + size[i];
    if (p.at) p.row = mot_new_large((size_t)p.at[parts] + 1, sizeof *p.row);
    if (!p.row) mot_parts_free(&p);
    return p;
}

struct mot_parts mot_parts_owned(uint32_t parts, uint32_t rows, const uint32_t *owner)
{
    uint32_t *size = mot_new_large(parts, sizeof *size);
    struct mot_parts p = { 0 };
    for (uint32_t r = 0; size && r < rows; r++) size[owner[r]]++;
    if (size) p = mot_parts_sized(parts, size);
    for (uint32_t i = 0; size && i < parts; i++) size[i] = 0;
    for (uint32_t r = 0; p.row && r < rows; r++) p.row[p.at[owner[r]] + size[owner[r]]++] = r;
    free(size);
    return p;
}

void mot_parts_free(struct mot_parts *p)
{
    free(p->at);
    free(p->row);
    *p = (struct mot_parts){ 0 };
}

struct mot_strata mot_strata_of(const struct mot_table *t)
{
    struct mot_strata s = { .classes = t->classes ? t->classes : 1 };
    s.at = mot_new_large((size_t)s.classes + 1, sizeof *s.at);
    s.row = mot_new_large((size_t)t->rows + 1, sizeof *s.row);
    uint32_t *next = mot_new_large(s.classes, sizeof *next);
    if (!s.at || !s.row || !next) {
        mot_strata_free(&s);
        free(next);
        return s;
    }
    for (uint32_t r = 0; r < t->rows; r++) s.at[(t->classes ? (uint32_t)t->y[r] : 0) + 1]++;
    for (uint32_t c = 0; c < s.classes; c++) s.at[c + 1] += s.at[c];
    for (uint32_t c = 0; c < s.classes; c++) next[c] = s.at[c];
    for (uint32_t r = 0; r < t->rows; r++) s.row[next[t->classes ? (uint32_t)t->y[r] : 0]++] = r;
    free(next);
    return s;
}

void mot_strata_free(struct mot_strata *s)
{
    free(s->at);
    free(s->row);
    *s = (struct mot_strata){ 0 };
}

bool mot_split_interrupted(const struct mot_split *s)
{
    return (s->interrupt && *s->interrupt) || mot_memory_refused();
}

void mot_split_progress(const struct mot_split *s, double done)
{
    if (s->progress) s->progress(s->progress_self, done);
}

unsigned mot_split_threads(const struct mot_split *s) { return s->threads ? s->threads : mot_cores(); }

const char *mot_split_whose(const struct mot_split *s) { return s->shared ? "parts" : "workers"; }

enum mot_status mot_split_needs_classes(const struct mot_split *s, const char *name)
{
    if (s->table->classes) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "partition %s: the labels are values, expected classes (data.task: classes makes them so)", name);
}

/* ---- The plain ones ---------------------------------------------------------------------- */

/* Part p is rows/parts long, and one more for the first rows%parts of them. */
static struct mot_parts parts_alike(const struct mot_split *s)
{
    uint32_t rows = s->table->rows, *size = mot_new_large(s->parts, sizeof *size);
    struct mot_parts p = { 0 };
    for (uint32_t i = 0; size && i < s->parts; i++) size[i] = rows / s->parts + (i < rows % s->parts);
    if (size) p = mot_parts_sized(s->parts, size);
    free(size);
    return p;
}

static uint64_t shuffle_key(uint64_t seed) { return mot_hash3(seed, MOT_RNG_PARTITION, 0); }

static enum mot_status split_equal(
    const void *conf, const struct mot_split *s, struct mot_parts *out, struct mot_split_cost *cost)
{
    (void)conf, (void)cost;
    uint32_t rows = s->table->rows;
    *out = parts_alike(s);
    for (uint32_t i = 0; out->row && i < rows; i++)
        out->row[i] = (uint32_t)mot_permute(shuffle_key(s->seed), rows, i);
    return MOT_OK;
}

static enum mot_status split_contiguous(
    const void *conf, const struct mot_split *s, struct mot_parts *out, struct mot_split_cost *cost)
{
    (void)conf, (void)cost;
    *out = parts_alike(s);
    for (uint32_t i = 0; out->row && i < s->table->rows; i++) out->row[i] = i;
    return MOT_OK;
}

struct keyed {
    float y;
    uint32_t place, row;
};

static int by_label(const void *a, const void *b)
{
    const struct keyed *p = a, *q = b;
    if (p->y != q->y) return p->y < q->y ? -1 : 1;
    return (p->place > q->place) - (p->place < q->place);
}

/* All rows by label, at random among equals. */
static struct keyed *sorted_rows(const struct mot_split *s)
{
    const struct mot_table *t = s->table;
    struct keyed *order = mot_new_large((size_t)t->rows + 1, sizeof *order);
    if (!order) return NULL;
    for (uint32_t i = 0; i < t->rows; i++) {
        uint32_t row = (uint32_t)mot_permute(shuffle_key(s->seed), t->rows, i);
        order[i] = (struct keyed){ t->y[row], i, row };
    }
    qsort(order, t->rows, sizeof *order, by_label);
    return order;
}

/* Rows sorted by label (shuffled among equals) are dealt round-robin: with classes, any class's
 * share of two parts differs by at most one row. Values are dealt in a random order each round,
 * so that no part always gets the smallest of a round. */
static enum mot_status split_stratified(
    const void *conf, const struct mot_split *s, struct mot_parts *out, struct mot_split_cost *cost)
{
    (void)conf, (void)cost;
    uint32_t rows = s->table->rows, parts = s->parts;
    struct keyed *order = sorted_rows(s);
    *out = parts_alike(s);
    for (uint32_t i = 0; order && out->row && i < rows; i++) {
        uint32_t round = i / parts, part = i % parts;
        bool last = round == rows / parts; /* fewer than `parts` left: the first parts are the larger ones */
        if (s->table->classes == 0 && !last)
            part = (uint32_t)mot_permute(
                mot_hash3(s->seed, MOT_RNG_PARTITION, 1 + (uint64_t)round), parts, part);
        out->row[out->at[part] + round] = order[i].row;
    }
    free(order);
    return MOT_OK;
}

static enum mot_status split_sorted(
    const void *conf, const struct mot_split *s, struct mot_parts *out, struct mot_split_cost *cost)
{
    (void)conf, (void)cost;
    struct keyed *order = sorted_rows(s);
    *out = parts_alike(s);
    for (uint32_t i = 0; order && out->row && i < s->table->rows; i++) out->row[i] = order[i].row;
    free(order);
    return MOT_OK;
}

/* ---- In proportion to speed ------------------------------------------------------------------ */

/* Each class is shuffled and split by its quotas. */
static enum mot_status split_proportional(
    const void *conf, const struct mot_split *s, struct mot_parts *out, struct mot_split_cost *cost)
{
    (void)conf, (void)cost;
    struct mot_strata strata = mot_strata_of(s->table);
    uint32_t *quota, *owner = mot_new_large((size_t)s->table->rows + 1, sizeof *owner);
    enum mot_status status = mot_memory_status();
    if (status == MOT_OK) status = mot_quota_of(&strata, s->parts, s->speed, &quota);
    if (status != MOT_OK) goto out_free;
    for (uint32_t c = 0; c < strata.classes; c++) {
        uint32_t first = strata.at[c], n = strata.at[c + 1] - first, at = 0;
        uint64_t key = mot_hash3(s->seed, MOT_RNG_PARTITION, c);
        for (uint32_t j = 0; j < s->parts; j++)
            for (uint32_t k = 0; k < quota[(size_t)c * s->parts + j]; k++)
                owner[strata.row[first + (uint32_t)mot_permute(key, n, at++)]] = j;
    }
    *out = mot_parts_owned(s->parts, s->table->rows, owner);
    free(quota);
out_free:
    free(owner);
    mot_strata_free(&strata);
    return status;
}

/* ---- By name ------------------------------------------------------------------------------------ */

static const struct mot_partitioner equal = {
    .name = "equal", .summary = "parts of equal size, rows at random", .split = split_equal
};
static const struct mot_partitioner contiguous = {
    .name = "contiguous",
    .summary = "parts of equal size, in the order of the rows",
    .split = split_contiguous,
};
static const struct mot_partitioner stratified = {
    .name = "stratified",
    .summary = "parts of equal size with the same mix of labels",
    .split = split_stratified,
};
const struct mot_partitioner mot_partition_sorted = {
    .name = "sorted",
    .summary = "parts of equal size of the rows sorted by label: the hardest case",
    .split = split_sorted,
};
const struct mot_partitioner mot_partition_proportional = {
    .name = "proportional",
    .summary = "a share of every class in proportion to the worker's speed, rows at random",
    .split = split_proportional,
};

const struct mot_partitioner *const mot_partitioners[] = {
    &equal,
    &contiguous,
    &stratified,
    &mot_partition_proportional,
    &mot_partition_herding,
    &mot_partition_submodular,
    &mot_partition_dirichlet,
    &mot_partition_shards,
    &mot_partition_quantity,
    &mot_partition_sorted,
    &mot_partition_from,
    NULL,
};

enum mot_status mot_partition(const struct mot_partitioner *kind, const void *conf, const struct mot_split *s,
    struct mot_parts *out, struct mot_split_cost *cost)
{
    struct mot_split_cost unseen;
    if (!cost) cost = &unseen;
    *cost = (struct mot_split_cost){ 0 };
    if (s->parts == 0)
        return mot_fail(
            MOT_EUSAGE, "no workers to give the %u training rows to, expected at least one", s->table->rows);
    if (s->parts > s->table->rows)
        return mot_fail(MOT_EUSAGE,
            "%u %s share %u training rows, expected at least one each: use fewer %s or more rows", s->parts,
            mot_split_whose(s), s->table->rows, mot_split_whose(s));
    enum mot_status status = kind->split(conf, s, out, cost);
    if (!mot_memory_refused()) return status;
    if (status == MOT_OK) mot_parts_free(out);
    return mot_memory_status();
}
