#include "run/pool.h"
#include "base/memory.h"
#include <stdlib.h>

static uint32_t stride_of(uint32_t dim) { return (dim + 15u) & ~15u; /* rows start on a cache line */ }

size_t mot_pool_bytes(uint32_t dim, uint32_t capacity)
{
    return (size_t)capacity * stride_of(dim) * sizeof(float);
}

void mot_pool_open(struct mot_pool *p, uint32_t dim, uint32_t capacity)
{
    MOT_ASSERT(dim > 0);
    MOT_ASSERT(capacity > 0);
    *p = (struct mot_pool){ .dim = dim, .stride = stride_of(dim), .capacity = capacity };
    p->memory = mot_reserve(mot_pool_bytes(dim, capacity));
    p->count = mot_new((size_t)capacity + 1, sizeof(*p->count));
    pthread_mutex_init(&p->lock, NULL);
    p->free = mot_new(capacity, sizeof(*p->free));
    mot_pool_rebuild(p);
}

void mot_pool_close(struct mot_pool *p)
{
    if (p->memory) mot_release(p->memory, mot_pool_bytes(p->dim, p->capacity));
    if (p->memory) pthread_mutex_destroy(&p->lock);
    free((void *)p->count);
    free(p->free);
    *p = (struct mot_pool){ 0 };
}

void mot_pool_rebuild(struct mot_pool *p)
{
    /* free[] is a stack whose top is at capacity - used - 1; low handles on top. */
    uint32_t n = 0;
    for (uint32_t b = p->capacity; b >= 1; b--)
        if (mot_pool_count(p, b) == 0) p->free[n++] = b;
    p->used = p->capacity - n;
    if (p->used > p->used_most) p->used_most = p->used;
}

mot_buf mot_pool_take(struct mot_pool *p)
{
    if (p->shared) pthread_mutex_lock(&p->lock);
    /* Running out means that a method's need() declared too little: our bug or its author's. */
    MOT_ASSERT(p->used < p->capacity && "a method holds more buffers than its need() declared");
    mot_buf b = p->free[p->capacity - p->used - 1];
    p->used++;
    if (p->used > p->used_most) p->used_most = p->used;
    if (p->shared) pthread_mutex_unlock(&p->lock);
    MOT_ASSERT(p->count[b] == 0);
    atomic_store_explicit(&p->count[b], 1, memory_order_relaxed);
    return b;
}

void mot_pool_return(struct mot_pool *p, mot_buf b)
{
    if (p->shared) pthread_mutex_lock(&p->lock);
    p->free[p->capacity - p->used] = b;
    p->used--;
    if (p->shared) pthread_mutex_unlock(&p->lock);
}
