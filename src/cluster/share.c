/* share.c -- whole-number shares in proportion to speed. */
#include "base/memory.h"
#include "cluster/cluster.h"
#include <stdlib.h>

struct wish {
    double lacks;
    uint32_t index;
};

static int by_wish(const void *x, const void *y)
{
    const struct wish *p = x, *q = y;
    if (p->lacks != q->lacks) return p->lacks > q->lacks ? -1 : 1;
    return p->index < q->index ? -1 : 1;
}

void mot_share_out(uint32_t n, const double *speed, uint64_t total, uint32_t *share_out)
{
    struct wish *wish = mot_new(n, sizeof(*wish));
    uint64_t left = total;
    bool again = true;
    for (uint32_t i = 0; i < n; i++) share_out[i] = 0;
    /* A share below 1 becomes 1; the others divide the rest, which may push another below 1. */
    while (again) {
        double speeds = 0;
        again = false;
        for (uint32_t i = 0; i < n; i++) speeds += share_out[i] == 0 ? speed[i] : 0;
        const double before = (double)left;
        for (uint32_t i = 0; i < n; i++) {
            if (share_out[i] != 0 || before * speed[i] / speeds >= 1) continue;
            share_out[i] = 1;
            left--;
            again = true;
        }
    }
    double speeds = 0;
    uint64_t given = 0;
    uint32_t wishes = 0;
    for (uint32_t i = 0; i < n; i++) speeds += share_out[i] == 0 ? speed[i] : 0;
    for (uint32_t i = 0; i < n; i++) {
        if (share_out[i] != 0) continue;
        double exact = (double)left * speed[i] / speeds;
        share_out[i] = (uint32_t)exact;
        given += share_out[i];
        wish[wishes++] = (struct wish){ exact - share_out[i], i };
    }
    qsort(wish, wishes, sizeof(*wish), by_wish);
    for (uint32_t k = 0; given < left && wishes; k = (k + 1) % wishes, given++) share_out[wish[k].index]++;
    /* only after rounding */
    for (uint32_t k = wishes; given > left && k-- > 0; given--) share_out[wish[k].index]--;
    free(wish);
}
