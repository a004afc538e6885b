/* pool.h -- the buffers of a run: reference-counted, all of one length, reserved at the start.
 *
 * Unless the pool is shared, only its owner's thread takes, holds and drops; other threads may read, or
 * write where they were told to. Address space is reserved for the most that need() declared, but only
 * what was ever written uses memory: the buffer dropped last is taken first. A buffer that is needed for a
 * range only, for a segment that arrives, is the first that last had the same range, so that a segment costs
 * the memory of a segment. */
#ifndef MOT_RUN_POOL_H
#define MOT_RUN_POOL_H

#include <motley/method.h>
#include <pthread.h>
#include <stdatomic.h>

struct mot_range {
    uint32_t off, len;
};

/* Packed buffers (compress/packet.h): only pools of runs with a compressor have room for packets. The floats
 * of a packed buffer are filled in only when somebody reads them, which is rare. */
struct mot_packets {
    unsigned char *memory;
    size_t stride;
    uint64_t *bytes;        /* [capacity + 1]: of its packet; 0: not packed */
    _Atomic bool *expanded; /* [capacity + 1]: its floats are there */
    pthread_mutex_t lock;   /* held while filling them in, in a shared pool */
};

struct mot_pool {
    float *memory;
    uint32_t dim, stride; /* floats in a buffer; floats from one to the next */
    uint32_t capacity;    /* handles are 1..capacity */
    uint32_t used, used_most;
    _Atomic uint32_t *count; /* [capacity + 1] */
    uint32_t *free;          /* stack of free handles */
    struct mot_range *last;  /* [capacity + 1]: what a buffer was taken for; len 0: never */
    bool ranged;             /* buffers were taken for ranges: `last` counts */
    bool huge;               /* its memory may come in large pages */
    bool shared;             /* several threads take, hold and drop */
    bool simple; /* nothing shared, nothing packed, whole buffers only: the one on top will do. Never written
                  * once the pool is shared. */
    pthread_mutex_t lock;        /* guards the stack of a shared pool */
    struct mot_packets *packets; /* NULL: nothing is ever packed */
};

enum mot_status mot_pool_open(struct mot_pool *, uint32_t dim, uint32_t capacity);
void mot_pool_close(struct mot_pool *);
void mot_pool_share(struct mot_pool *);                 /* before several threads use it */
size_t mot_pool_bytes(uint32_t dim, uint32_t capacity); /* what mot_pool_open reserves */
/* Rebuilds the stack of free handles after counts were restored. */
void mot_pool_rebuild(struct mot_pool *);

mot_buf mot_pool_take(struct mot_pool *);
/* The same, for a buffer of which only this range will be written and read. */
mot_buf mot_pool_take_range(struct mot_pool *, uint32_t off, uint32_t len);

static inline float *mot_pool_at(const struct mot_pool *p, mot_buf b)
{
    MOT_ASSERT(b != MOT_NO_BUF && b <= p->capacity);
    return p->memory + (size_t)(b - 1) * p->stride;
}

/* ---- Packed buffers ---- */

enum mot_status mot_pool_open_packets(struct mot_pool *);
size_t mot_packets_bytes(uint32_t dim, uint32_t capacity); /* what that reserves */

/* Bytes of a buffer's packet; 0: it is not packed. */
static inline uint64_t mot_pool_packed(const struct mot_pool *p, mot_buf b)
{
    MOT_ASSERT(b <= p->capacity);
    return p->packets && b ? p->packets->bytes[b] : 0;
}
static inline unsigned char *mot_pool_packet(const struct mot_pool *p, mot_buf b)
{
    MOT_ASSERT(p->packets && b != MOT_NO_BUF && b <= p->capacity);
    return p->packets->memory + (size_t)(b - 1) * p->packets->stride;
}
/* The buffer's packet is now complete, for the range that the buffer was taken for. */
void mot_pool_pack(struct mot_pool *, mot_buf, uint64_t bytes);
void mot_pool_unpack(struct mot_pool *, mot_buf); /* from here on it has floats only */
void mot_pool_expand(struct mot_pool *, mot_buf);

/* The buffer's floats, even if it is packed. */
static inline float *mot_pool_floats(struct mot_pool *p, mot_buf b)
{
    if (p->packets && p->packets->bytes[b] &&
        !atomic_load_explicit(&p->packets->expanded[b], memory_order_acquire))
        mot_pool_expand(p, b);
    return mot_pool_at(p, b);
}

/* Whether a slice can be sent: it is a buffer's whole packet, or not packed. */
static inline bool mot_pool_travels(const struct mot_pool *p, struct mot_slice s)
{
    return !mot_pool_packed(p, s.buf) || (p->last[s.buf].off == s.off && p->last[s.buf].len == s.len);
}

/* out[range] = the sum of n packed buffers over that range, in order: bit for bit the sum of their floats. */
void mot_pool_sum_packed(struct mot_pool *, const struct mot_slice *in, uint32_t n, float *out);

void mot_pool_return(struct mot_pool *, mot_buf); /* called when its count reaches 0 */

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
