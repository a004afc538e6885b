/* fuzz.h -- what the fuzzers of the readers share: tight limits, and facts about every table that
 * a reader lets through. A fact that fails is a crash, which the fuzzer reports. */
#ifndef MOT_FUZZ_H
#define MOT_FUZZ_H

#include "data/formats.h"
#include <math.h>
#include <motley/method.h>
#include <stdlib.h>

#define FUZZ_MEMORY (UINT64_C(1) << 24)
#define FUZZ_UNPACKED (UINT64_C(1) << 18)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static inline struct mot_read_conf fuzz_conf(void)
{
    struct mot_read_conf conf = mot_read_preset();
    conf.memory = FUZZ_MEMORY;
    return conf;
}

static inline struct mot_source *fuzz_source(const char *name, const uint8_t *bytes, size_t n)
{
    struct mot_source *s = NULL;
    return mot_source_memory(name, bytes, n, FUZZ_UNPACKED, &s) == MOT_OK ? s : NULL;
}

static inline void fuzz_check_labels(const struct mot_raw *raw)
{
    const struct mot_labels *l = &raw->labels;
    MOT_ASSERT(l->rows == raw->rows);
    for (uint32_t r = 0; r < l->rows && !l->many; r++) MOT_ASSERT(l->id[r] < l->count);
    uint32_t count, *class_of;
    char **names;
    mot_labels_classes(l, &count, &names, &class_of);
    for (uint32_t c = 0; c < count; c++) free(names[c]);
    free(names);
    free(class_of);
}

/* Takes the status of a reader and, if it is good, its table. */
static inline void fuzz_check(enum mot_status status, struct mot_raw *raw)
{
    if (status != MOT_OK) {
        MOT_ASSERT(mot_error()[0] != 0);
        return;
    }
    MOT_ASSERT(raw->rows > 0 && raw->cols > 0);
    if (raw->sparse) {
        MOT_ASSERT(raw->row_at[0] == 0);
        for (uint32_t r = 0; r < raw->rows; r++)
            for (uint64_t i = raw->row_at[r]; i < raw->row_at[r + 1]; i++) {
                MOT_ASSERT(raw->col[i] < raw->cols && isfinite(raw->val[i]));
                MOT_ASSERT(i == raw->row_at[r] || raw->col[i] > raw->col[i - 1]);
            }
    } else {
        for (uint64_t i = 0; i < (uint64_t)raw->rows * raw->cols; i++) MOT_ASSERT(isfinite(raw->x[i]));
    }
    if (raw->labelled) fuzz_check_labels(raw);
    mot_raw_free(raw);
}

/* An input for a pair of files: two bytes say how long the second one is. */
struct fuzz_pair {
    const uint8_t *x, *y;
    size_t x_n, y_n;
};
static inline struct fuzz_pair fuzz_pair(const uint8_t *bytes, size_t n)
{
    if (n < 2) return (struct fuzz_pair){ bytes, bytes, n, 0 };
    size_t second = (size_t)bytes[0] | (size_t)bytes[1] << 8;
    if (second > n - 2) second = n - 2;
    return (struct fuzz_pair){ bytes + 2, bytes + n - second, n - 2 - second, second };
}

#endif
