#include "compress/packet.h"
#include "math/kernels.h"
#include <motley/method.h>
#include <math.h>
#include <string.h>

enum form { SPARSE = 1, LEVELS, RAW };

struct head {
    uint8_t form, bits; /* bits of a level */
    uint16_t bucket;    /* floats that share a scale */
    uint32_t n;         /* sparse: entries; levels: the largest level */
};
_Static_assert(sizeof(struct head) == MOT_PACKET_HEAD, "a head has no padding");

static struct head head_of(const unsigned char *p)
{
    struct head h;
    memcpy(&h, p, sizeof(h));
    return h;
}

static float float_at(const unsigned char *p, size_t i)
{
    float x;
    memcpy(&x, p + MOT_PACKET_HEAD + i * sizeof(x), sizeof(x));
    return x;
}

/* ---- Sparse --------------------------------------------------------------------------------------- */

static size_t gap_bytes(uint32_t gap) { return (38u - (unsigned)__builtin_clz(gap | 1)) / 7; }
#define GAP_BYTES_MOST 5u

/* No processor can predict whether a gap takes one byte or two, so always write the second. */
static unsigned char *put_gap(unsigned char *at, uint32_t gap)
{
    for (; gap >= 1u << 14; gap >>= 7) *at++ = (unsigned char)(gap | 128);
    unsigned more = gap >> 7 != 0;
    at[0] = (unsigned char)(gap | more << 7);
    at[1] = (unsigned char)(gap >> 7);
    return at + 1 + more;
}

/* How many places lie between an entry and the one before it; the first counts from -1. */
static uint32_t gap_at(const uint32_t *index, uint32_t i)
{
    return i ? index[i] - index[i - 1] - 1 : index[0];
}

static size_t sparse_bytes(uint32_t n, const uint32_t *index)
{
    size_t bytes = MOT_PACKET_HEAD + (size_t)n * sizeof(float);
    for (uint32_t i = 0; i < n; i++) bytes += gap_bytes(gap_at(index, i));
    return bytes;
}

static size_t raw_of_sparse(
    uint32_t len, uint32_t n, const uint32_t *index, const float *value, unsigned char *to)
{
    struct head h = { .form = RAW };
    memcpy(to, &h, sizeof(h));
    memset(to + sizeof(h), 0, (size_t)len * sizeof(float));
    for (uint32_t i = 0; i < n; i++)
        memcpy(to + sizeof(h) + (size_t)index[i] * sizeof(float), &value[i], sizeof(float));
    return mot_packet_plain(len);
}

size_t mot_packet_sparse(
    uint32_t len, uint32_t n, const uint32_t *index, const float *value, unsigned char *to)
{
    struct head h = { .form = SPARSE, .n = n };
    size_t bytes = MOT_PACKET_HEAD + (size_t)n * (sizeof(float) + GAP_BYTES_MOST);
    if (bytes >= mot_packet_plain(len)) bytes = sparse_bytes(n, index);
    if (bytes >= mot_packet_plain(len)) return raw_of_sparse(len, n, index, value, to);
    memcpy(to, &h, sizeof(h));
    memcpy(to + sizeof(h), value, (size_t)n * sizeof(float));
    unsigned char *at = to + sizeof(h) + (size_t)n * sizeof(float);
    for (uint32_t i = 0; i < n; i++) at = put_gap(at, gap_at(index, i));
    return (size_t)(at - to);
}

/* Walks over the places of a checked sparse packet. */
struct walk {
    const unsigned char *at;
    uint32_t next; /* the lowest place that can follow */
};

static struct walk walk_of(const unsigned char *p, uint32_t n)
{
    return (struct walk){ .at = p + MOT_PACKET_HEAD + (size_t)n * sizeof(float) };
}

static inline uint32_t step(struct walk *w)
{
    uint32_t gap = *w->at++;
    if (gap & 128) {
        gap &= 127;
        for (unsigned shift = 7;; shift += 7) {
            uint32_t more = *w->at++;
            gap |= (more & 127) << shift;
            if (!(more & 128)) break;
        }
    }
    uint32_t place = w->next + gap;
    w->next = place + 1;
    return place;
}

/* Every gap must take as few bytes as possible, every place be in range, every value nonzero. */
static bool check_sparse(const unsigned char *p, size_t bytes, uint32_t len, uint32_t n)
{
    if (n > len || bytes < MOT_PACKET_HEAD + (size_t)n * (sizeof(float) + 1) ||
        bytes >= mot_packet_plain(len))
        return false;
    const unsigned char *at = p + MOT_PACKET_HEAD + (size_t)n * sizeof(float), *end = p + bytes;
    uint64_t next = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t gap = 0;
        unsigned shift = 0;
        for (;; shift += 7) {
            if (at == end || shift > 28) return false;
            gap |= (uint64_t)(*at & 127) << shift;
            if (!(*at++ & 128)) break;
        }
        if (shift && at[-1] == 0) return false;
        if (next + gap >= len || float_at(p, i) == 0) return false;
        next += gap + 1;
    }
    return at == end;
}

/* ---- Levels --------------------------------------------------------------------------------------- */

static size_t levels_bytes(uint32_t len, uint32_t bits, uint32_t bucket)
{
    return MOT_PACKET_HEAD + (size_t)mot_buckets(len, bucket) * sizeof(float) + ((size_t)len * bits + 7) / 8;
}

size_t mot_packet_levels(uint32_t len, uint32_t bits, uint32_t bucket, uint32_t most, unsigned char *to)
{
    struct head h = { .form = LEVELS, .bits = (uint8_t)bits, .bucket = (uint16_t)bucket, .n = most };
    memcpy(to, &h, sizeof(h));
    return levels_bytes(len, bits, bucket);
}

/* The levels from float `at` on, where a byte begins, as every bucket does. */
static unsigned char *levels_at(const struct head *h, uint32_t len, uint32_t at, unsigned char *p)
{
    return p + MOT_PACKET_HEAD + (size_t)mot_buckets(len, h->bucket) * sizeof(float) +
        (size_t)at * h->bits / 8;
}

static uint32_t in_bucket(const struct head *h, uint32_t len, uint32_t at)
{
    return len - at < h->bucket ? len - at : h->bucket;
}

void mot_packet_bucket(uint32_t len, uint32_t at, float scale, const int8_t *level, unsigned char *p)
{
    struct head h = head_of(p);
    uint32_t n = in_bucket(&h, len, at), i = 0;
    unsigned char *to = levels_at(&h, len, at, p);
    const unsigned char *from = (const unsigned char *)level;
    memcpy(p + MOT_PACKET_HEAD + (size_t)(at / h.bucket) * sizeof(float), &scale, sizeof(scale));
    switch (h.bits) {
    case 4:
        for (; i + 2 <= n; i += 2) *to++ = (unsigned char)((from[i] & 15) | from[i + 1] << 4);
        if (i < n) *to = from[i] & 15;
        return;
    case 2:
        for (; i + 4 <= n; i += 4)
            *to++ = (unsigned char)((from[i] & 3) | (from[i + 1] & 3) << 2 | (from[i + 2] & 3) << 4 |
                from[i + 3] << 6);
        for (unsigned k = 0; i + k < n; k++)
            *to = (unsigned char)((k ? *to : 0) | (from[i + k] & 3) << 2 * k);
        return;
    default: memcpy(to, level, h.bits == 8 ? n : (n + 7) / 8); return;
    }
}

/* Unpacks the levels of a bucket. */
static void read_levels(const struct head *h, const unsigned char *from, uint32_t n, int8_t *level)
{
    switch (h->bits) {
    case 8: memcpy(level, from, n); return;
    case 4:
        for (uint32_t i = 0; i < n; i++)
            level[i] = (int8_t)((int8_t)(unsigned char)(from[i / 2] << (i % 2 ? 0 : 4)) >> 4);
        return;
    case 2:
        for (uint32_t i = 0; i < n; i++)
            level[i] = (int8_t)((int8_t)(unsigned char)(from[i / 4] << (6 - i % 4 * 2)) >> 6);
        return;
    default:
        for (uint32_t i = 0; i < n; i++) level[i] = (int8_t)(1 - 2 * (from[i / 8] >> i % 8 & 1));
        return;
    }
}

static bool check_levels(const unsigned char *p, size_t bytes, uint32_t len, const struct head *h)
{
    bool known = h->bits == 1 || h->bits == 2 || h->bits == 4 || h->bits == 8;
    if (!known || h->bucket < MOT_BUCKET_LEAST || h->bucket > MOT_BUCKET_MOST || h->bucket % 8) return false;
    if (h->n == 0 || h->n > (h->bits == 1 ? 1u : (1u << (h->bits - 1)) - 1)) return false;
    if (bytes != levels_bytes(len, h->bits, h->bucket) || bytes > mot_packet_plain(len)) return false;
    for (uint32_t at = 0; at < len; at += h->bucket) {
        int8_t level[MOT_BUCKET_MOST];
        float scale = float_at(p, at / h->bucket);
        uint32_t n = in_bucket(h, len, at);
        if (!isfinite(scale) || signbit(scale)) return false;
        if (h->bits == 1) continue;
        read_levels(h, levels_at(h, len, at, (unsigned char *)(uintptr_t)p), n, level);
        for (uint32_t i = 0; i < n; i++)
            if (level[i] > (int)h->n || level[i] < -(int)h->n) return false;
    }
    unsigned used = (unsigned)((uint64_t)len * h->bits % 8); /* bits of the last byte */
    return !used || p[bytes - 1] >> used == 0;
}

/* ---- Any packet ------------------------------------------------------------------------------------ */

size_t mot_packet_raw(uint32_t len, const float *x, unsigned char *to)
{
    struct head h = { .form = RAW };
    memcpy(to, &h, sizeof(h));
    for (uint32_t i = 0; i < len; i++) {
        float value = x[i] + 0.0f; /* -0 becomes 0 */
        memcpy(to + sizeof(h) + (size_t)i * sizeof(value), &value, sizeof(value));
    }
    return mot_packet_plain(len);
}

static bool check_raw(const unsigned char *p, size_t bytes, uint32_t len)
{
    if (bytes != mot_packet_plain(len)) return false;
    for (uint32_t i = 0; i < len; i++)
        if (float_at(p, i) == 0 && signbit(float_at(p, i))) return false;
    return true;
}

static bool check_packed(const unsigned char *p, size_t bytes, uint32_t len)
{
    if (bytes < MOT_PACKET_HEAD) return false;
    struct head h = head_of(p);
    switch (h.form) {
    case SPARSE: return !h.bits && !h.bucket && check_sparse(p, bytes, len, h.n);
    case LEVELS: return check_levels(p, bytes, len, &h);
    case RAW: return !h.bits && !h.bucket && !h.n && check_raw(p, bytes, len);
    default: return false;
    }
}

static uint32_t entries_packed(const unsigned char *p, uint32_t len)
{
    struct head h = head_of(p);
    return h.form == SPARSE ? h.n : len;
}

#define AT_ONCE 1024u

/* Passes the floats of a dense packet to `use`, some at a time. */
static void each_run(const unsigned char *p, uint32_t len,
    void (*use)(uint32_t n, const float *x, float *y, double *sum), float *y, double *sum)
{
    struct head h = head_of(p);
    float x[AT_ONCE];
    int8_t level[AT_ONCE];
    for (uint32_t at = 0, n; at < len; at += n) {
        n = len - at < AT_ONCE ? len - at : AT_ONCE;
        if (h.form == RAW) {
            memcpy(x, p + MOT_PACKET_HEAD + (size_t)at * sizeof(*x), n * sizeof(*x));
        } else {
            uint32_t left = h.bucket - at % h.bucket;
            float scale = float_at(p, at / h.bucket);
            if (n > left) n = left;
            read_levels(&h, levels_at(&h, len, at, (unsigned char *)(uintptr_t)p), n, level);
            for (uint32_t i = 0; i < n; i++) x[i] = (float)level[i] * scale + 0.0f;
        }
        use(n, x, y ? y + at : NULL, sum);
    }
}

static void use_copy(uint32_t n, const float *x, float *y, double *sum)
{
    (void)sum;
    memcpy(y, x, n * sizeof(*x));
}

static void use_add(uint32_t n, const float *x, float *y, double *sum)
{
    (void)sum;
    for (uint32_t i = 0; i < n; i++) y[i] += x[i];
}

static void use_subtract(uint32_t n, const float *x, float *y, double *sum)
{
    (void)sum;
    for (uint32_t i = 0; i < n; i++) y[i] -= x[i];
}

static void use_norm2(uint32_t n, const float *x, float *y, double *sum)
{
    (void)y;
    *sum += mot_kernels()->norm2(n, x);
}

static void expand_packed(const unsigned char *p, uint32_t len, float *out)
{
    struct head h = head_of(p);
    if (h.form != SPARSE) {
        each_run(p, len, use_copy, out, NULL);
        return;
    }
    struct walk w = walk_of(p, h.n);
    memset(out, 0, (size_t)len * sizeof(*out));
    for (uint32_t i = 0; i < h.n; i++) out[step(&w)] = float_at(p, i);
}

static void add_packed(const unsigned char *p, uint32_t len, float *sum)
{
    struct head h = head_of(p);
    if (h.form != SPARSE) {
        each_run(p, len, use_add, sum, NULL);
        return;
    }
    struct walk w = walk_of(p, h.n);
    for (uint32_t i = 0; i < h.n; i++) sum[step(&w)] += float_at(p, i);
}

static void subtract_packed(const unsigned char *p, uint32_t len, float *rest)
{
    struct head h = head_of(p);
    if (h.form != SPARSE) {
        each_run(p, len, use_subtract, rest, NULL);
        return;
    }
    struct walk w = walk_of(p, h.n);
    for (uint32_t i = 0; i < h.n; i++) {
        uint32_t at = step(&w);
        float value = float_at(p, i);
        rest[at] = memcmp(&rest[at], &value, sizeof(value)) == 0 ? 0.0f : rest[at] - value; /* NaN too */
    }
}

static double norm2_packed(const unsigned char *p, uint32_t len)
{
    struct head h = head_of(p);
    double sum = 0;
    if (h.form != SPARSE) {
        each_run(p, len, use_norm2, NULL, &sum);
        return sum;
    }
    for (uint32_t i = 0; i < h.n; i++) {
        double value = (double)float_at(p, i);
        sum += value * value;
    }
    return sum;
}

static bool finite_packed(const unsigned char *p, uint32_t len)
{
    struct head h = head_of(p); /* scales are finite, so levels are too */
    uint32_t n = h.form == SPARSE ? h.n : h.form == RAW ? len : 0;
    return mot_kernels()->finite(n, (const float *)(const void *)(p + MOT_PACKET_HEAD));
}

/* ---- Packets with floats beside them ----------------------------------------------------------------- */

#define BESIDE 4 /* in place of a form */

struct opened {
    const unsigned char *packed; /* the packet of the first `len` floats */
    uint32_t len, beside;        /* beside: how many floats follow these, stored at `floats` */
    const unsigned char *floats;
};

static struct opened open(const unsigned char *p, uint32_t len)
{
    if (p[0] != BESIDE) return (struct opened){ .packed = p, .len = len };
    uint32_t n = p[1] | (uint32_t)p[2] << 8 | (uint32_t)p[3] << 16;
    const unsigned char *floats = p + MOT_PACKET_BESIDE;
    return (struct opened){
        .packed = floats + (size_t)n * sizeof(float), .len = len - n, .beside = n, .floats = floats
    };
}

static float beside_at(const struct opened *o, uint32_t i)
{
    float x;
    memcpy(&x, o->floats + (size_t)i * sizeof(x), sizeof(x));
    return x;
}

size_t mot_packet_beside(uint32_t n, const float *x, unsigned char *to)
{
    if (n == 0) return 0;
    MOT_ASSERT(n <= MOT_BESIDE_MOST);
    for (int i = 0; i < 4; i++) to[i] = (unsigned char)(i ? n >> 8 * (i - 1) : BESIDE);
    for (uint32_t i = 0; i < n; i++) {
        float value = x[i] + 0.0f; /* -0 becomes 0 */
        memcpy(to + MOT_PACKET_BESIDE + (size_t)i * sizeof(value), &value, sizeof(value));
    }
    return MOT_PACKET_BESIDE + (size_t)n * sizeof(float);
}

bool mot_packet_check(const unsigned char *p, size_t bytes, uint32_t len)
{
    if (bytes < MOT_PACKET_HEAD) return false;
    struct opened o = open(p, len);
    size_t before = (size_t)(o.packed - p);
    if (o.beside > len || bytes < before || (before && o.beside == 0)) return false;
    for (uint32_t i = 0; i < o.beside; i++)
        if (beside_at(&o, i) == 0 && signbit(beside_at(&o, i))) return false;
    return check_packed(o.packed, bytes - before, o.len);
}

uint32_t mot_packet_entries(const unsigned char *p, uint32_t len)
{
    struct opened o = open(p, len);
    return entries_packed(o.packed, o.len) + o.beside;
}

void mot_packet_expand(const unsigned char *p, uint32_t len, float *out)
{
    struct opened o = open(p, len);
    expand_packed(o.packed, o.len, out);
    for (uint32_t i = 0; i < o.beside; i++) out[o.len + i] = beside_at(&o, i);
}

void mot_packet_add(const unsigned char *p, uint32_t len, float *sum)
{
    struct opened o = open(p, len);
    add_packed(o.packed, o.len, sum);
    for (uint32_t i = 0; i < o.beside; i++) sum[o.len + i] += beside_at(&o, i);
}

void mot_packet_subtract(const unsigned char *p, uint32_t len, float *rest)
{
    struct opened o = open(p, len);
    subtract_packed(o.packed, o.len, rest);
    for (uint32_t i = 0; i < o.beside; i++) rest[o.len + i] -= beside_at(&o, i);
}

double mot_packet_norm2(const unsigned char *p, uint32_t len)
{
    struct opened o = open(p, len);
    return norm2_packed(o.packed, o.len);
}

bool mot_packet_finite(const unsigned char *p, uint32_t len)
{
    struct opened o = open(p, len);
    bool finite = finite_packed(o.packed, o.len);
    for (uint32_t i = 0; i < o.beside; i++) finite = finite && isfinite(beside_at(&o, i));
    return finite;
}
