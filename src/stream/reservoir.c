#include "stream/reservoir.h"
#include "base/bytes.h"
#include "base/memory.h"
#include <math.h>
#include <motley/random.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct held {
    uint64_t key;
    uint32_t at; /* its row of x and y */
};

struct mot_reservoir {
    uint32_t rows, cols, n;
    struct held *held; /* [n], by key */
    float *x, *y;      /* [rows][cols], [rows] */
    bool forwards;
    struct mot_bytes waiting;
    pthread_mutex_t lock;
};

uint64_t mot_reservoir_key(uint64_t seed, uint32_t worker, uint64_t number)
{
    return mot_hash3(mot_rng_at(seed, MOT_RNG_HOLDOUT, worker).key, number, 0);
}

uint64_t mot_reservoir_below(double share) { return (uint64_t)ldexp(share, 64); }

enum mot_status mot_reservoir_open(uint32_t rows, uint32_t cols, struct mot_reservoir **out)
{
    struct mot_reservoir *r = mot_new(1, sizeof(*r));
    r->rows = rows;
    r->cols = cols;
    r->held = mot_new_large(rows, sizeof(*r->held));
    r->x = mot_new_large((size_t)rows * cols, sizeof(*r->x));
    r->y = mot_new_large(rows, sizeof(*r->y));
    pthread_mutex_init(&r->lock, NULL);
    if (!mot_memory_refused()) {
        *out = r;
        return MOT_OK;
    }
    mot_reservoir_close(r);
    return mot_memory_status();
}

void mot_reservoir_close(struct mot_reservoir *r)
{
    if (!r) return;
    pthread_mutex_destroy(&r->lock);
    mot_bytes_free(&r->waiting);
    free(r->held);
    free(r->x);
    free(r->y);
    free(r);
}

/* ---- Rows as bytes ------------------------------------------------------------------------------ */

static size_t row_bytes(uint32_t cols) { return sizeof(uint64_t) + ((size_t)cols + 1) * sizeof(float); }

size_t mot_reservoir_row_bytes(const struct mot_reservoir *r) { return row_bytes(r->cols); }

static void put(struct mot_bytes *into, uint64_t key, const float *x, float y, uint32_t cols)
{
    mot_bytes_put(into, &key, sizeof(key));
    mot_bytes_put(into, &y, sizeof(y));
    mot_bytes_put(into, x, cols * sizeof(*x));
}

void mot_reservoir_pack(struct mot_reservoir *r, struct mot_bytes *into)
{
    pthread_mutex_lock(&r->lock);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t at = r->held[i].at;
        put(into, r->held[i].key, r->x + (size_t)at * r->cols, r->y[at], r->cols);
    }
    pthread_mutex_unlock(&r->lock);
}

/* Records with values that are not finite are malformed, and never held out. */
bool mot_reservoir_fits(const struct mot_reservoir *r, const void *packed, size_t n)
{
    size_t each = row_bytes(r->cols);
    if (n % each) return false;
    for (size_t at = 0; at < n; at += each)
        for (size_t k = sizeof(uint64_t); k < each; k += sizeof(float)) {
            float value;
            memcpy(&value, (const char *)packed + at + k, sizeof(value));
            if (!isfinite(value)) return false;
        }
    return true;
}

/* ---- Keeping the smallest keys ------------------------------------------------------------------ */

/* The place of the first key that is not smaller. */
static uint32_t place_of(const struct mot_reservoir *r, uint64_t key)
{
    uint32_t low = 0, high = r->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (r->held[middle].key < key) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void keep(struct mot_reservoir *r, uint64_t key, const float *x, float y)
{
    if (r->n == r->rows && key > r->held[r->n - 1].key) return;
    uint32_t i = place_of(r, key);
    if (i == r->n || r->held[i].key != key) { /* else it is already here */
        uint32_t at = r->n < r->rows ? r->n++ : r->held[r->n - 1].at;
        memmove(r->held + i + 1, r->held + i, (r->n - 1 - i) * sizeof(*r->held));
        r->held[i] = (struct held){ key, at };
    }
    memcpy(r->x + (size_t)r->held[i].at * r->cols, x, r->cols * sizeof(*x));
    r->y[r->held[i].at] = y;
    if (r->forwards) put(&r->waiting, key, x, y, r->cols);
}

void mot_reservoir_offer(struct mot_reservoir *r, uint64_t key, const float *x, float y)
{
    pthread_mutex_lock(&r->lock);
    keep(r, key, x, y);
    pthread_mutex_unlock(&r->lock);
}

void mot_reservoir_add(struct mot_reservoir *r, const void *packed, size_t n)
{
    size_t each = row_bytes(r->cols);
    uint64_t key;
    float y, *x = mot_new(r->cols, sizeof(*x));
    for (const char *at = packed; n >= each; at += each, n -= each) {
        memcpy(&key, at, sizeof(key));
        memcpy(&y, at + sizeof(key), sizeof(y));
        memcpy(x, at + sizeof(key) + sizeof(y), r->cols * sizeof(*x));
        mot_reservoir_offer(r, key, x, y);
    }
    free(x);
}

uint32_t mot_reservoir_rows(struct mot_reservoir *r, float *x, float *y)
{
    pthread_mutex_lock(&r->lock);
    uint32_t n = r->n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = r->held[i].at;
        memcpy(x + (size_t)i * r->cols, r->x + (size_t)at * r->cols, r->cols * sizeof(*x));
        y[i] = r->y[at];
    }
    pthread_mutex_unlock(&r->lock);
    return n;
}

/* ---- For another process ------------------------------------------------------------------------ */

void mot_reservoir_forward(struct mot_reservoir *r) { r->forwards = true; }

void mot_reservoir_waiting(struct mot_reservoir *r, struct mot_bytes *into)
{
    pthread_mutex_lock(&r->lock);
    *into = r->waiting;
    r->waiting = (struct mot_bytes){ 0 };
    pthread_mutex_unlock(&r->lock);
}
