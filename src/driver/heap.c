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

void mot_heap_put(struct mot_heap *h, const struct mot_pending *p)
{
    MOT_ASSERT(h->n < h->capacity);
    uint32_t i = h->n++;
    if (h->n > h->most) h->most = h->n;
    while (i > 0) {
        uint32_t parent = (i - 1) / 4;
        if (!mot_pending_before(p, &h->e[parent])) break;
        h->e[i] = h->e[parent];
        i = parent;
    }
    h->e[i] = *p;
}

struct mot_pending mot_heap_take(struct mot_heap *h)
{
    MOT_ASSERT(h->n > 0);
    struct mot_pending top = h->e[0], last = h->e[--h->n];
    uint32_t i = 0;
    for (;;) {
        uint32_t child = 4 * i + 1, best = child;
        if (child >= h->n) break;
        uint32_t end = child + 4 < h->n ? child + 4 : h->n;
        for (uint32_t c = child + 1; c < end; c++)
            if (mot_pending_before(&h->e[c], &h->e[best])) best = c;
        if (!mot_pending_before(&h->e[best], &last)) break;
        h->e[i] = h->e[best];
        i = best;
    }
    h->e[i] = last;
    return top;
}
