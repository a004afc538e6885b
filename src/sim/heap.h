/* heap.h -- the simulator's pending events, earliest first.
 *
 * The order is total: by time, then by the node that caused the event (ties go
 * to the lowest index, whichever was scheduled first), then by the order of
 * scheduling. A four-way heap: half the levels of a binary one, and the four
 * children lie side by side. */
#ifndef MOT_SIM_HEAP_H
#define MOT_SIM_HEAP_H

#include "base/wide.h"
#include <motley/method.h>

struct mot_pending {
    mot_time at;
    uint64_t tie;            /* the causing node, then the order of scheduling: see mot_tie */
    uint16_t kind, instance; /* the simulator's: what and, for collectives, which */
    uint32_t index, extra;   /* the simulator's: a slot or node, and a generation or step */
    uint32_t spare;
};

#define MOT_ORDER_BITS 40 /* a million events a second for twelve days */
_Static_assert(
    sizeof(struct mot_pending) == 32, "two in a cache line; no padding, a checkpoint writes it as it lies");

static inline uint64_t mot_tie(mot_node rank, uint64_t order)
{
    MOT_ASSERT(rank >> (64 - MOT_ORDER_BITS) == 0 && order >> MOT_ORDER_BITS == 0);
    return (uint64_t)rank << MOT_ORDER_BITS | order;
}

static inline mot_node mot_tie_rank(uint64_t tie) { return (mot_node)(tie >> MOT_ORDER_BITS); }

struct mot_heap {
    struct mot_pending *e;
    uint32_t n, capacity, most;
    bool hole; /* the root was taken and nothing has been put in its place yet */
};

void mot_heap_open(struct mot_heap *, uint32_t capacity);
void mot_heap_close(struct mot_heap *);
void mot_heap_put(struct mot_heap *, const struct mot_pending *);
void mot_heap_fill(struct mot_heap *); /* the hole that a take has left */

/* The earliest, or NULL if there is none; valid until the next put or take. */
static inline const struct mot_pending *mot_heap_first(struct mot_heap *h)
{
    if (h->hole) mot_heap_fill(h);
    return h->n ? &h->e[0] : NULL;
}

/* the earliest; the heap is not empty */
static inline struct mot_pending mot_heap_take(struct mot_heap *h)
{
    if (h->hole) mot_heap_fill(h);
    MOT_ASSERT(h->n > 0);
    h->hole = true;
    return h->e[0];
}

/* Time and tie as one number: two are compared by a subtraction, without branches, since which event is
 * earlier is anybody's guess, the processor's too. */
typedef mot_uint128 mot_when;
static inline mot_when mot_pending_when(const struct mot_pending *p)
{
    return (mot_when)p->at << 64 | p->tie;
}

static inline bool mot_pending_before(const struct mot_pending *a, const struct mot_pending *b)
{
    return mot_pending_when(a) < mot_pending_when(b);
}

#endif
