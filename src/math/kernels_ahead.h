/* kernels_ahead.h -- sixteen rows at a time, and the next ones ahead; a part of kernels_narrow.h and
 * kernels_wide.h.
 *
 * Each number read takes part in few multiplications, so memory must never be idle: while sixteen rows are
 * multiplied, the next are fetched, one cache line at a time. */
#define PAGE 4096u
#define LINE_FLOATS 16u

/* If no rows follow, a row fetches its own columns, this many ahead. */
#define OWN_AHEAD 64

struct sixteen {
    const float *row[MOT_PANEL]; /* lanes without a row repeat the last */
    const float *next[MOT_PANEL];
    bool adjacent; /* each row begins where the one before ends: so may the next, from next[0] on */
};

/* Adjacent rows are likely to be followed by more. The processor looks up few pages at a time, and fetches
 * wait for that, so this asks for the pages of as many rows again, early and all at once. */
static void ask_for_pages(const struct mot_few *f)
{
    const uintptr_t row = f->in * sizeof(float), first = (uintptr_t)f->x[0] + (f->rows + MOT_PANEL) * row;
    for (uintptr_t at = 0; at < f->rows * row; at += PAGE)
        __builtin_prefetch((const void *)(first + at), 0, 2); /* harmless even at an invalid address */
}

/* Rows r .. r + 15. */
INLINE void find_sixteen(const struct mot_few *f, uint32_t r, struct sixteen *s)
{
    const uint32_t last = f->rows - 1;
    s->adjacent = r + MOT_PANEL <= f->rows;
    for (uint32_t i = 0, next; i < MOT_PANEL; i++) {
        s->row[i] = f->x[r + i < last ? r + i : last];
        next = r + i + MOT_PANEL;
        s->next[i] = next <= last ? f->x[next] : s->row[i] + OWN_AHEAD;
        s->adjacent &= i == 0 || s->row[i] == s->row[i - 1] + f->in;
    }
    if (!s->adjacent) return;
    s->next[0] = (const float *)((uintptr_t)s->row[0] + MOT_PANEL * f->in * sizeof(float));
    if (r == 0) ask_for_pages(f);
}

/* At column k fetches the i-th of the next lines, so that after sixteen more columns sixteen more lines have
 * come: in the order of memory, or one of each row. */
INLINE void fetch_line(const struct sixteen *s, size_t k, size_t i, const bool adjacent)
{
    __builtin_prefetch(adjacent ? s->next[0] + (k + i) * LINE_FLOATS : s->next[k % MOT_PANEL + i] + k, 0, 2);
}
