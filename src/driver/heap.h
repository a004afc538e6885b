/* heap.h -- the simulator's pending events, earliest first.
 *
 * The order is total: by time, then by the node that caused the event (ties go
 * to the lowest index, whichever was scheduled first), then by the order of
 * scheduling. A four-way heap: half the levels of a binary one, and the four
 * children lie side by side. */
#ifndef MOT_DRIVER_HEAP_H
#define MOT_DRIVER_HEAP_H

#include <motley/method.h>

struct mot_pending {
    mot_time at;
    uint64_t order;            /* of scheduling: unique */
    uint32_t rank;             /* the causing node */
    uint16_t kind, instance;   /* the simulator's: what and, for collectives, which */
    uint32_t index, extra;     /* the simulator's: a slot or node, and a generation or step */
};

struct mot_heap { struct mot_pending *e; uint32_t n, capacity, most; };

void mot_heap_open(struct mot_heap *, uint32_t capacity);
void mot_heap_close(struct mot_heap *);
void mot_heap_put(struct mot_heap *, const struct mot_pending *);
struct mot_pending mot_heap_take(struct mot_heap *);   /* the earliest; the heap is not empty */

static inline bool mot_pending_before(const struct mot_pending *a, const struct mot_pending *b)
{
    if (a->at != b->at) return a->at < b->at;
    if (a->rank != b->rank) return a->rank < b->rank;
    return a->order < b->order;
}

#endif
