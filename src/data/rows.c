#include "data/rows.h"
#include <string.h>

static uint64_t entries_of(const struct mot_table *t, uint32_t row)
{
    return t->row_at[row + 1] - t->row_at[row];
}

static uint64_t row_bytes(const struct mot_table *t, uint32_t row)
{
    return sizeof(float) * (1 + (t->x ? t->cols : 2 * entries_of(t, row)));
}

uint64_t mot_rows_bytes(const struct mot_table *t, const uint32_t *row, uint32_t n)
{
    uint64_t bytes = 0;
    if (t->x) return n * row_bytes(t, 0);
    for (uint32_t i = 0; i < n; i++) bytes += row_bytes(t, row[i]);
    return bytes;
}

/* The stretches of memory that hold a row, in the order in which they are packed. */
struct stretch {
    const void *at;
    size_t bytes;
};
static int stretches_of(const struct mot_table *t, uint32_t row, struct stretch out[3])
{
    out[0] = (struct stretch){ t->y + row, sizeof(float) };
    if (t->x) {
        out[1] = (struct stretch){ t->x + (size_t)row * t->cols, t->cols * sizeof(float) };
        return 2;
    }
    out[1] = (struct stretch){ t->col + t->row_at[row], entries_of(t, row) * sizeof(uint32_t) };
    out[2] = (struct stretch){ t->val + t->row_at[row], entries_of(t, row) * sizeof(float) };
    return 3;
}

void mot_rows_pack(const struct mot_table *t, const uint32_t *row, uint32_t n, void *out)
{
    unsigned char *to = out;
    struct stretch s[3];
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0, of = stretches_of(t, row[i], s); k < of; k++, to += s[k - 1].bytes)
            memcpy(to, s[k].at, s[k].bytes);
}

bool mot_rows_same(const struct mot_table *t, const uint32_t *row, uint32_t n, const void *in)
{
    const unsigned char *from = in;
    struct stretch s[3];
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0, of = stretches_of(t, row[i], s); k < of; k++, from += s[k - 1].bytes)
            if (memcmp(from, s[k].at, s[k].bytes) != 0) return false;
    return true;
}

/* A label names a class and a column exists: models index by both without looking. */
static bool can_be_row(const struct mot_table *t, uint32_t row, const unsigned char *from)
{
    float label;
    memcpy(&label, from, sizeof(label));
    if (t->classes && !(label >= 0 && label < (float)t->classes && label == (float)(uint32_t)label))
        return false;
    uint32_t col, least = 0;
    for (uint64_t k = 0; !t->x && k < entries_of(t, row); k++, least = col + 1) {
        memcpy(&col, from + sizeof(label) + k * sizeof(col), sizeof(col));
        if (col < least || col >= t->cols) return false;
    }
    return true;
}

bool mot_rows_unpack(struct mot_table *t, const uint32_t *row, uint32_t n, const void *in)
{
    const unsigned char *from = in;
    struct stretch s[3];
    for (uint32_t i = 0; i < n; from += row_bytes(t, row[i]), i++)
        if (!can_be_row(t, row[i], from)) return false;
    from = in;
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0, of = stretches_of(t, row[i], s); k < of; k++, from += s[k - 1].bytes)
            memcpy((void *)(uintptr_t)s[k].at, from, s[k].bytes);
    return true;
}
