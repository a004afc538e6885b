#include "driver/heap.h"
#include "base/memory.h"
#include <stdlib.h>

void mot_heap_open(struct mot_heap *h, uint32_t capacity)
{
    *h = (struct mot_heap){ .capacity = capacity };
    h->e = mot_reserve((size_t)capacity * sizeof(*h->e));
}

void mot_heap_close(struct mot_heap *h)
{
    if (h->e) mot_release(h->e, (size_t)h->capacity * sizeof(*h->e));
    *h = (struct mot_heap){ 0 };
}

/* Puts p where it belongs on the way down from the root. */
static void sift_down(struct mot_heap *h, const struct mot_pending *p)
{
    uint32_t i = 0;
    for (;;) {
        uint32_t child = 4 * i + 1, best = child;
        if (child >= h->n) break;
        if (child + 4 <= h->n) {
            uint32_t left = child + mot_pending_before(&h->e[child + 1], &h->e[child]);
            uint32_t right = child + 2 + mot_pending_before(&h->e[child + 3], &h->e[child + 2]);
            best = mot_pending_before(&h->e[right], &h->e[left]) ? right : left;
        } else {
            for (uint32_t c = child + 1; c < h->n; c++)
                if (mot_pending_before(&h->e[c], &h->e[best])) best = c;
        }
        if (!mot_pending_before(&h->e[best], p)) break;
        h->e[i] = h->e[best];
        i = best;
    }
    h->e[i] = *p;
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

/* Most events cause just one: taking leaves a hole at the root, which the next put
 * fills, one way down instead of a way down and a way up. */
static void fill_hole(struct mot_heap *h)
{
    if (!h->hole) return;
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

const struct mot_pending *mot_heap_first(struct mot_heap *h)
{
    fill_hole(h);
    return h->n ? &h->e[0] : NULL;
}

struct mot_pending mot_heap_take(struct mot_heap *h)
{
    fill_hole(h);
    MOT_ASSERT(h->n > 0);
    h->hole = true;
    return h->e[0];
}
