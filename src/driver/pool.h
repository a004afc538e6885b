/* pool.h -- the buffers of a run: counted, all of one length, reserved at the start.
 *
 * Only the thread that owns the pool takes, holds and drops; other threads may
 * read, or write where they were told to. Address space is reserved for the
 * most that need() declared; memory is used only by what was ever taken, and
 * what was dropped last is taken first. */
#ifndef MOT_DRIVER_POOL_H
#define MOT_DRIVER_POOL_H

#include <motley/method.h>

struct mot_pool {
    float *memory;
    uint32_t dim, stride;      /* floats in a buffer; from one to the next */
    uint32_t capacity;         /* handles are 1..capacity */
    uint32_t used, used_most;
    uint32_t *count;           /* [capacity + 1] */
    uint32_t *free;            /* a stack of the handles not in use */
};

void mot_pool_open(struct mot_pool *, uint32_t dim, uint32_t capacity);
void mot_pool_close(struct mot_pool *);
size_t mot_pool_bytes(uint32_t dim, uint32_t capacity);  /* what open would reserve */
void mot_pool_rebuild(struct mot_pool *);                /* after counts were restored: makes the free stack */

mot_buf mot_pool_take(struct mot_pool *);

static inline float *mot_pool_at(const struct mot_pool *p, mot_buf b)
{
    MOT_ASSERT(b != MOT_NO_BUF && b <= p->capacity);
    return p->memory + (size_t)(b - 1) * p->stride;
}

static inline void mot_pool_hold(struct mot_pool *p, mot_buf b)
{
    MOT_ASSERT(b != MOT_NO_BUF && b <= p->capacity);
    MOT_ASSERT(p->count[b] > 0);
    p->count[b]++;
}

static inline void mot_pool_drop(struct mot_pool *p, mot_buf b)
{
    if (b == MOT_NO_BUF) return;
    MOT_ASSERT(b <= p->capacity && p->count[b] > 0);
    if (--p->count[b] == 0) {
        p->free[p->capacity - p->used] = b;
        p->used--;
    }
}

#endif
