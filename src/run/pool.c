#include "run/pool.h"
#include "base/memory.h"
#include "compress/packet.h"
#include <stdlib.h>
#include <string.h>

#define HUGE_FROM ((size_t)4 << 20) /* bytes of a buffer: small ones would only be rounded up */

static uint32_t stride_of(uint32_t dim) { return (dim + 15u) & ~15u; /* rows start on a cache line */ }

size_t mot_pool_bytes(uint32_t dim, uint32_t capacity)
{
    return (size_t)capacity * stride_of(dim) * sizeof(float);
}

enum mot_status mot_pool_open(struct mot_pool *p, uint32_t dim, uint32_t capacity)
{
    MOT_ASSERT(dim > 0);
    MOT_ASSERT(capacity > 0);
    *p = (struct mot_pool){ .dim = dim, .stride = stride_of(dim), .capacity = capacity, .simple = true };
    p->memory = mot_reserve(mot_pool_bytes(dim, capacity));
    /* Other ranks read buffers from here, and the system looks up every page that they read. */
    p->huge = mot_pool_bytes(dim, 1) >= HUGE_FROM;
    if (p->huge) mot_huge_pages(p->memory, mot_pool_bytes(dim, capacity), true);
    p->count = mot_new_large((size_t)capacity + 1, sizeof(*p->count));
    p->free = mot_new_large(capacity, sizeof(*p->free));
    p->last = mot_new_large((size_t)capacity + 1, sizeof(*p->last));
    pthread_mutex_init(&p->lock, NULL);
    if (!p->memory || !p->count || !p->free || !p->last) {
        mot_pool_close(p);
        return mot_memory_status();
    }
    mot_pool_rebuild(p);
    return MOT_OK;
}

void mot_pool_share(struct mot_pool *p)
{
    p->shared = true;
    p->simple = false;
}

/* ---- Packed buffers ------------------------------------------------------------------------ */

static size_t packet_stride(uint32_t dim) { return (mot_packet_most(dim) + 63) & ~(size_t)63; }

size_t mot_packets_bytes(uint32_t dim, uint32_t capacity) { return capacity * packet_stride(dim); }

enum mot_status mot_pool_open_packets(struct mot_pool *p)
{
    struct mot_packets *k = p->packets = mot_new(1, sizeof(*k));
    p->simple = false;
    k->stride = packet_stride(p->dim);
    k->memory = mot_reserve(mot_packets_bytes(p->dim, p->capacity));
    k->bytes = mot_new_large((size_t)p->capacity + 1, sizeof(*k->bytes));
    k->expanded = mot_new_large((size_t)p->capacity + 1, sizeof(*k->expanded));
    pthread_mutex_init(&k->lock, NULL);
    return k->memory && k->bytes && k->expanded ? MOT_OK : mot_memory_status();
}

static void close_packets(struct mot_pool *p)
{
    struct mot_packets *k = p->packets;
    if (!k) return;
    if (k->memory) mot_release(k->memory, mot_packets_bytes(p->dim, p->capacity));
    pthread_mutex_destroy(&k->lock);
    free(k->bytes);
    free((void *)k->expanded);
    free(k);
}

void mot_pool_pack(struct mot_pool *p, mot_buf b, uint64_t bytes)
{
    MOT_ASSERT(bytes > 0 && bytes <= p->packets->stride);
    p->packets->bytes[b] = bytes;
    atomic_store(&p->packets->expanded[b], false);
}

void mot_pool_unpack(struct mot_pool *p, mot_buf b)
{
    mot_pool_floats(p, b);
    p->packets->bytes[b] = 0;
}

void mot_pool_expand(struct mot_pool *p, mot_buf b)
{
    struct mot_packets *k = p->packets;
    struct mot_range range = p->last[b];
    if (p->shared) pthread_mutex_lock(&k->lock);
    if (!atomic_load(&k->expanded[b])) {
        mot_packet_expand(mot_pool_packet(p, b), range.len, mot_pool_at(p, b) + range.off);
        atomic_store_explicit(&k->expanded[b], true, memory_order_release);
    }
    if (p->shared) pthread_mutex_unlock(&k->lock);
}

void mot_pool_sum_packed(struct mot_pool *p, const struct mot_slice *in, uint32_t n, float *out)
{
    memset(out + in->off, 0, in->len * sizeof(*out));
    for (uint32_t i = 0; i < n; i++)
        mot_packet_add(mot_pool_packet(p, in[i].buf), in[i].len, out + in[i].off);
}

/* ---- Open and close ------------------------------------------------------------------------ */

void mot_pool_close(struct mot_pool *p)
{
    close_packets(p);
    if (p->memory) mot_release(p->memory, mot_pool_bytes(p->dim, p->capacity));
    if (p->memory) pthread_mutex_destroy(&p->lock);
    free((void *)p->count);
    free(p->free);
    free(p->last);
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

#define LOOKS_MOST 256u /* free buffers searched for one that had the same range */

/* Where in the stack the buffer to take is: on top, or the first that had this range. Those never taken are
 * at the bottom, and any of them is as good as a buffer with another range: either way new memory is used. */
static uint32_t place_of(const struct mot_pool *p, struct mot_range range)
{
    uint32_t top = p->capacity - p->used - 1;
    for (uint32_t i = 0; i <= top && i < LOOKS_MOST; i++) {
        struct mot_range last = p->last[p->free[top - i]];
        if (last.len == 0 || (last.off == range.off && last.len == range.len)) return top - i;
    }
    return top;
}

static mot_buf take(struct mot_pool *p, struct mot_range range)
{
    if (p->shared) pthread_mutex_lock(&p->lock);
    /* Running out means that a method's need() declared too little: a bug. */
    MOT_ASSERT(p->used < p->capacity && "a method holds more buffers than its need() declared");
    if (range.len < p->dim) {
        p->ranged = true;
        if (p->simple) p->simple = false;
    }
    if (p->huge && mot_pool_bytes(range.len, 1) < HUGE_FROM) { /* a short range takes the memory it needs */
        p->huge = false;
        mot_huge_pages(p->memory, mot_pool_bytes(p->dim, p->capacity), false);
    }
    uint32_t top = p->capacity - p->used - 1, place = p->ranged ? place_of(p, range) : top;
    mot_buf b = p->free[place];
    p->free[place] = p->free[top];
    p->last[b] = range;
    if (p->packets) p->packets->bytes[b] = 0;
    p->used++;
    if (p->used > p->used_most) p->used_most = p->used;
    if (p->shared) pthread_mutex_unlock(&p->lock);
    MOT_ASSERT(p->count[b] == 0);
    atomic_store_explicit(&p->count[b], 1, memory_order_relaxed);
    return b;
}

mot_buf mot_pool_take(struct mot_pool *p)
{
    struct mot_range whole = { 0, p->dim };
    if (!p->simple) return take(p, whole);
    MOT_ASSERT(p->used < p->capacity && "a method holds more buffers than its need() declared");
    mot_buf b = p->free[p->capacity - ++p->used];
    p->last[b] = whole;
    if (p->used > p->used_most) p->used_most = p->used;
    MOT_ASSERT(atomic_load_explicit(&p->count[b], memory_order_relaxed) == 0);
    atomic_store_explicit(&p->count[b], 1, memory_order_relaxed);
    return b;
}

mot_buf mot_pool_take_range(struct mot_pool *p, uint32_t off, uint32_t len)
{
    return take(p, (struct mot_range){ off, len });
}

void mot_pool_return(struct mot_pool *p, mot_buf b)
{
    if (p->shared) pthread_mutex_lock(&p->lock);
    p->free[p->capacity - p->used] = b;
    p->used--;
    if (p->shared) pthread_mutex_unlock(&p->lock);
}
