/* heap.h -- the simulator's pending events, earliest first.
 *
 * The order is total: by time, then by the node that caused the event (ties go to the lowest index,
 * whichever was scheduled first), then by order of scheduling. The heap is four-way: it has half the
 * levels of a binary one, and the four children are adjacent. */
#ifndef MOT_SIM_HEAP_H
#define MOT_SIM_HEAP_H

#include "base/wide.h"
#include <motley/method.h>

struct mot_pending {
    mot_time at;
    uint64_t tie;            /* causing node, then order of scheduling: see mot_tie */
    uint16_t kind, instance; /* simulator: the kind of event, and which collective */
    uint32_t index, extra;   /* simulator: a slot or node, and a generation or step */
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
    bool hole; /* the root was taken and not yet replaced */
};

enum mot_status mot_heap_open(struct mot_heap *, uint32_t capacity);
void mot_heap_close(struct mot_heap *);
void mot_heap_put(struct mot_heap *, const struct mot_pending *);
void mot_heap_fill(struct mot_heap *); /* the hole that a take left */

/* The earliest event, or NULL; valid until the next put or take. */
static inline const struct mot_pending *mot_heap_first(struct mot_heap *h)
{
    if (h->hole) mot_heap_fill(h);
    return h->n ? &h->e[0] : NULL;
}

/* Takes the earliest event of a heap that is not empty. */
static inline struct mot_pending mot_heap_take(struct mot_heap *h)
{
    if (h->hole) mot_heap_fill(h);
    MOT_ASSERT(h->n > 0);
    h->hole = true;
    return h->e[0];
}

/* Time and tie as one number, compared by a subtraction without branches: which of two events is earlier
 * is unpredictable, for the processor too. */
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
