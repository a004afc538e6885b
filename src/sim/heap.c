#include "sim/heap.h"
#include "base/memory.h"
#include <stdlib.h>

enum mot_status mot_heap_open(struct mot_heap *h, uint32_t capacity)
{
    *h = (struct mot_heap){ .capacity = capacity };
    h->e = mot_reserve((size_t)capacity * sizeof(*h->e));
    return h->e ? MOT_OK : mot_memory_status();
}

void mot_heap_close(struct mot_heap *h)
{
    if (h->e) mot_release(h->e, (size_t)h->capacity * sizeof(*h->e));
    *h = (struct mot_heap){ 0 };
}

/* Sifts p down from the root to where it belongs. */
static void sift_down(struct mot_heap *h, const struct mot_pending *p)
{
    struct mot_pending *const e = h->e, *const end = e + h->n, *to = e;
    const mot_when when = mot_pending_when(p);
    for (;;) {
        struct mot_pending *child = e + 4 * (to - e) + 1, *best = child;
        if (child + 4 <= end) {
            struct mot_pending *left = child + mot_pending_before(child + 1, child);
            struct mot_pending *right = child + 2 + mot_pending_before(child + 3, child + 2);
            best = mot_pending_before(right, left) ? right : left;
        } else {
            if (child >= end) break;
            for (struct mot_pending *c = child + 1; c < end; c++)
                if (mot_pending_before(c, best)) best = c;
        }
        if (mot_pending_when(best) >= when) break;
        *to = *best;
        to = best;
    }
    *to = *p;
}

static void sift_up(struct mot_heap *h, const struct mot_pending *p)
{
    uint32_t i = h->n++;
    while (i > 0) {
        uint32_t parent = (i - 1) / 4;
        if (!mot_pending_before(p, &h->e[parent])) break;
        h->e[i] = h->e[parent];
        i = parent;
    }
    h->e[i] = *p;
}

/* Most events cause exactly one other: taking leaves a hole at the root that the next put fills, so it
 * sifts down once instead of down and up. */
void mot_heap_fill(struct mot_heap *h)
{
    h->hole = false;
    struct mot_pending last = h->e[--h->n];
    if (h->n > 0) sift_down(h, &last);
}

void mot_heap_put(struct mot_heap *h, const struct mot_pending *p)
{
    if (h->hole) {
        h->hole = false;
        sift_down(h, p);
        return;
    }
    MOT_ASSERT(h->n < h->capacity);
    sift_up(h, p);
    if (h->n > h->most) h->most = h->n;
}
