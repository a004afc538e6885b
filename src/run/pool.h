/* pool.h -- the buffers of a run: counted, all of one length, reserved at the start.
 *
 * Only the thread that owns the pool takes, holds and drops, unless it is shared;
 * other threads may read, or write where they were told to. Address space is reserved for the
 * most that need() declared; memory is used only by what was ever taken, and
 * what was dropped last is taken first. */
#ifndef MOT_RUN_POOL_H
#define MOT_RUN_POOL_H

#include <motley/method.h>
#include <pthread.h>
#include <stdatomic.h>

struct mot_pool {
    float *memory;
    uint32_t dim, stride; /* floats in a buffer; from one to the next */
    uint32_t capacity;    /* handles are 1..capacity */
    uint32_t used, used_most;
    _Atomic uint32_t *count; /* [capacity + 1] */
    uint32_t *free;          /* a stack of the handles not in use */
    bool shared;             /* several threads take, hold and drop */
    pthread_mutex_t lock;    /* shared: of the stack */
};

void mot_pool_open(struct mot_pool *, uint32_t dim, uint32_t capacity);
void mot_pool_close(struct mot_pool *);
size_t mot_pool_bytes(uint32_t dim, uint32_t capacity); /* what open would reserve */
/* after counts were restored: makes the free stack */
void mot_pool_rebuild(struct mot_pool *);

mot_buf mot_pool_take(struct mot_pool *);

static inline float *mot_pool_at(const struct mot_pool *p, mot_buf b)
{
    MOT_ASSERT(b != MOT_NO_BUF && b <= p->capacity);
    return p->memory + (size_t)(b - 1) * p->stride;
}

void mot_pool_return(struct mot_pool *, mot_buf); /* its count has come to 0 */

static inline uint32_t mot_pool_count(const struct mot_pool *p, mot_buf b)
{
    MOT_ASSERT(b <= p->capacity);
    return atomic_load_explicit(&p->count[b], memory_order_acquire);
}

static inline void mot_pool_hold(struct mot_pool *p, mot_buf b)
{
    MOT_ASSERT(b != MOT_NO_BUF && b <= p->capacity);
    uint32_t before = atomic_load_explicit(&p->count[b], memory_order_relaxed);
    MOT_ASSERT(before > 0);
    if (p->shared) atomic_fetch_add_explicit(&p->count[b], 1, memory_order_relaxed);
    else atomic_store_explicit(&p->count[b], before + 1, memory_order_relaxed);
}

static inline void mot_pool_drop(struct mot_pool *p, mot_buf b)
{
    if (b == MOT_NO_BUF) return;
    MOT_ASSERT(b <= p->capacity);
    uint32_t before = atomic_load_explicit(&p->count[b], memory_order_relaxed);
    MOT_ASSERT(before > 0);
    /* The last to drop must have seen what the others did with it. */
    if (p->shared) before = atomic_fetch_sub_explicit(&p->count[b], 1, memory_order_acq_rel);
    else atomic_store_explicit(&p->count[b], before - 1, memory_order_relaxed);
    if (before == 1) mot_pool_return(p, b);
}

#endif
