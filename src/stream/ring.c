#include "stream/ring.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include <stdlib.h>

void mot_ring_open(struct mot_ring *r, uint32_t rows, uint32_t cols, float *x, float *y, bool drops,
    uint64_t first, const struct mot_mark *begin)
{
    *r = (struct mot_ring){ .rows = rows,
        .cols = cols,
        .x = x,
        .y = y,
        .drops = drops,
        .begin = *begin,
        .done = *begin,
        .done_at = first };
    r->mark = mot_new_large(rows, sizeof(*r->mark));
    atomic_store(&r->origin, MOT_CURSOR_UNKNOWN);
    atomic_store(&r->tail, first);
    atomic_store(&r->floor, first);
    pthread_mutex_init(&r->lock, NULL);
    mot_timed_cond_init(&r->room);
}

void mot_ring_free(struct mot_ring *r)
{
    free(r->mark);
    pthread_cond_destroy(&r->room);
    pthread_mutex_destroy(&r->lock);
}

/* One row stays empty, so the mark before the oldest row is never overwritten. */
static bool full(const struct mot_ring *r, uint64_t tail)
{
    return tail - atomic_load_explicit(&r->floor, memory_order_acquire) >= mot_ring_room(r);
}

static void make_room(struct mot_ring *r, uint64_t tail, uint64_t wait_ns)
{
    struct timespec until = mot_wall_in(wait_ns);
    pthread_mutex_lock(&r->lock);
    while (full(r, tail) && !r->closed) {
        if (r->drops && !r->busy) {
            atomic_store_explicit(&r->floor, tail + 1 - mot_ring_room(r), memory_order_release);
            break;
        }
        if (pthread_cond_timedwait(&r->room, &r->lock, &until) != 0) break;
    }
    pthread_mutex_unlock(&r->lock);
}

float *mot_ring_slot(struct mot_ring *r, uint64_t wait_ns, float **y_out)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (full(r, tail)) make_room(r, tail, wait_ns);
    if (full(r, tail)) return NULL;
    *y_out = &r->y[tail % r->rows];
    return r->x + tail % r->rows * r->cols;
}

void mot_ring_add(struct mot_ring *r, const struct mot_mark *mark)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    r->mark[tail % r->rows] = *mark;
    atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

void mot_ring_stop(struct mot_ring *r)
{
    pthread_mutex_lock(&r->lock);
    r->closed = true;
    pthread_cond_signal(&r->room);
    pthread_mutex_unlock(&r->lock);
}

uint64_t mot_ring_hold(struct mot_ring *r, uint64_t head)
{
    pthread_mutex_lock(&r->lock);
    uint64_t floor = atomic_load(&r->floor);
    if (head > floor) atomic_store_explicit(&r->floor, floor = head, memory_order_release);
    r->busy = true;
    pthread_mutex_unlock(&r->lock);
    return floor;
}

void mot_ring_release(struct mot_ring *r, uint64_t head)
{
    r->done = mot_ring_before(r, head); /* from here on its slot may be overwritten */
    r->done_at = head;
    pthread_mutex_lock(&r->lock);
    if (head > atomic_load(&r->floor)) atomic_store_explicit(&r->floor, head, memory_order_release);
    r->busy = false;
    pthread_cond_signal(&r->room);
    pthread_mutex_unlock(&r->lock);
}

struct mot_mark mot_ring_before(const struct mot_ring *r, uint64_t at)
{
    struct mot_mark is = at == r->done_at ? r->done : r->mark[(at - 1) % r->rows];
    if (is.after.at == MOT_CURSOR_UNKNOWN) is.after.at = atomic_load(&r->origin);
    return is;
}
