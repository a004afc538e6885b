/* partition.c -- equal, contiguous and stratified parts. Sizes differ by at most one. */
#include "partition/partition.h"

#include "base/memory.h"
#include "base/rng.h"
#include <stdlib.h>

/* Part p is rows/parts long, and one more for the first rows%parts of them. */
static struct mot_parts parts_new(uint32_t parts, uint32_t rows)
{
    struct mot_parts p = { parts, mot_new((size_t)parts + 1, sizeof *p.at), mot_new((size_t)rows + 1, sizeof *p.row) };
    for (uint32_t i = 0; i < parts; i++) p.at[i + 1] = p.at[i] + rows / parts + (i < rows % parts);
    return p;
}

void mot_parts_free(struct mot_parts *p)
{
    free(p->at);
    free(p->row);
    *p = (struct mot_parts){ 0 };
}

static uint64_t shuffle_key(uint64_t seed) { return mot_hash3(seed, MOT_RNG_PARTITION, 0); }

static enum mot_status split_equal(const void *conf, const struct mot_table *t, uint32_t parts, uint64_t seed, struct mot_parts *out)
{
    (void)conf;
    *out = parts_new(parts, t->rows);
    for (uint32_t i = 0; i < t->rows; i++) out->row[i] = (uint32_t)mot_permute(shuffle_key(seed), t->rows, i);
    return MOT_OK;
}

static enum mot_status split_contiguous(const void *conf, const struct mot_table *t, uint32_t parts, uint64_t seed, struct mot_parts *out)
{
    (void)conf;
    (void)seed;
    *out = parts_new(parts, t->rows);
    for (uint32_t i = 0; i < t->rows; i++) out->row[i] = i;
    return MOT_OK;
}

struct keyed { float y; uint32_t place, row; };

static int by_label(const void *a, const void *b)
{
    const struct keyed *p = a, *q = b;
    if (p->y != q->y) return p->y < q->y ? -1 : 1;
    return (p->place > q->place) - (p->place < q->place);
}

/* Rows sorted by label (shuffled among equals) are dealt like cards: with classes, any class's
 * share of two parts differs by at most one row. Values are dealt in a random order each round,
 * so that no part always gets the smallest of a round. */
static enum mot_status split_stratified(const void *conf, const struct mot_table *t, uint32_t parts, uint64_t seed, struct mot_parts *out)
{
    (void)conf;
    struct keyed *order = mot_new((size_t)t->rows + 1, sizeof *order);
    for (uint32_t i = 0; i < t->rows; i++) {
        uint32_t row = (uint32_t)mot_permute(shuffle_key(seed), t->rows, i);
        order[i] = (struct keyed){ t->y[row], i, row };
    }
    qsort(order, t->rows, sizeof *order, by_label);
    *out = parts_new(parts, t->rows);
    for (uint32_t i = 0; i < t->rows; i++) {
        uint32_t round = i / parts, part = i % parts;
        bool last = round == t->rows / parts; /* fewer than `parts` cards: the first parts are the larger ones */
        if (t->classes == 0 && !last) part = (uint32_t)mot_permute(mot_hash3(seed, MOT_RNG_PARTITION, 1 + (uint64_t)round), parts, part);
        out->row[out->at[part] + round] = order[i].row;
    }
    free(order);
    return MOT_OK;
}

static const struct mot_partitioner equal = { "equal", "parts of one size, rows at random", NULL, 0, split_equal };
static const struct mot_partitioner contiguous = { "contiguous", "parts of one size, in the order of the rows", NULL, 0, split_contiguous };
static const struct mot_partitioner stratified = { "stratified", "parts of one size with the same mix of labels", NULL, 0, split_stratified };

const struct mot_partitioner *const mot_partitioners[] = { &equal, &contiguous, &stratified, NULL };

enum mot_status mot_partition(const struct mot_partitioner *kind, const void *conf, const struct mot_table *t, uint32_t parts, uint64_t seed, struct mot_parts *out)
{
    if (parts == 0) return mot_fail(MOT_EUSAGE, "no workers to give the %u training rows to, expected at least one", t->rows);
    if (parts > t->rows)
        return mot_fail(MOT_EUSAGE, "%u workers share %u training rows, expected at least a row for each: use fewer workers or more rows", parts, t->rows);
    return kind->split(conf, t, parts, seed, out);
}
