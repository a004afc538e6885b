/* help.h -- what the tests of partitions share: a built-in set as a
 * split, options by text, facts about parts. */
#ifndef MOT_TEST_PARTITION_HELP_H
#define MOT_TEST_PARTITION_HELP_H

#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "data/data.h"
#include "partition/partition.h"
#include "shared.h"
#include "test.h"
#include <unistd.h>

__attribute__((unused)) static const struct mot_partitioner *partitioner(const char *name)
{
    for (size_t i = 0; mot_partitioners[i]; i++)
        if (strcmp(mot_partitioners[i]->name, name) == 0) return mot_partitioners[i];
    printf("no partitioner %s\n", name);
    exit(1);
}

/* Options as pairs of key and value, ended by NULL; the presets
 * for the rest. Lives as long as the program. */
__attribute__((unused)) static void *options_of(const char *name, const char *const *pair)
{
    static struct mot_arena arena;
    const struct mot_partitioner *p = partitioner(name);
    void *conf = mot_arena_new(&arena, p->conf_bytes + 1);
    if (p->options && mot_options_preset(p->options, conf, &arena) != MOT_OK) {
        printf("%s\n", mot_error());
        exit(1);
    }
    for (; pair && *pair; pair += 2)
        if (mot_option_set(mot_option_find(p->options, pair[0]), conf, pair[1], &arena) != MOT_OK) {
            printf("%s: %s\n", pair[0], mot_error());
            exit(1);
        }
    return conf;
}
#define OPTIONS(name, ...) options_of((name), (const char *const[]){ __VA_ARGS__, NULL })

/* The set, all rows to train on, in the file's order unless the seed shuffles; NULL where it is missing. */
__attribute__((unused)) static struct mot_dataset *open_set(const char *name, uint64_t rows, uint64_t seed)
{
    static struct mot_arena arena;
    struct mot_data_conf conf = { 0 };
    struct mot_dataset *set;
    mot_options_preset(mot_data_options, &conf, &arena);
    conf.name = name;
    conf.test = 0;
    if (rows) conf.rows = rows;
    if (mot_dataset_open(&conf, seed, &set) == MOT_OK) return set;
    printf("  %s\n", mot_error());
    return NULL;
}

__attribute__((unused)) static const char *shared_set(const char *name)
{
    static char path[512];
    return shared_file(name, path, sizeof path);
}

/* Every row in one part, no part empty. */
__attribute__((unused)) static bool covers(const struct mot_parts *p, uint32_t rows)
{
    unsigned char *seen = mot_new(rows, 1);
    bool good = p->at[0] == 0 && p->at[p->parts] == rows;
    for (uint32_t i = 0; i < rows && good; i++) good = p->row[i] < rows && !seen[p->row[i]]++;
    for (uint32_t i = 0; i < p->parts && good; i++) good = p->at[i + 1] > p->at[i];
    free(seen);
    return good;
}

__attribute__((unused)) static bool same_parts(const struct mot_parts *a, const struct mot_parts *b)
{
    return a->parts == b->parts && memcmp(a->at, b->at, ((size_t)a->parts + 1) * sizeof *a->at) == 0 &&
        memcmp(a->row, b->row, (size_t)a->at[a->parts] * sizeof *a->row) == 0;
}

/* Labels only: for what does not look at features. */
__attribute__((unused)) static struct mot_table labels_only(uint32_t classes, const uint32_t *rows_of)
{
    uint32_t n = 0;
    for (uint32_t l = 0; l < classes; l++) n += rows_of[l];
    float *y = mot_new((size_t)n + 1, sizeof *y);
    for (uint32_t l = 0, r = 0; l < classes; l++)
        for (uint32_t i = 0; i < rows_of[l]; i++) y[r++] = (float)l;
    return (struct mot_table){ .rows = n, .cols = 1, .classes = classes, .y = y };
}

__attribute__((unused)) static uint32_t count_label(
    const struct mot_parts *p, const struct mot_table *t, uint32_t part, uint32_t label)
{
    uint32_t n = 0;
    for (uint64_t i = p->at[part]; i < p->at[part + 1]; i++) n += t->y[p->row[i]] == (float)label;
    return n;
}

#endif
