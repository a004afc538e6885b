/* compress.c -- the compressors.
 *
 * Top-k: Aji and Heafield, 2017; with error feedback Stich, Cordonnier and Jaggi, 2018. QSGD: Alistarh et
 * al., 2017, with fixed-width levels instead of Elias codes. Sign: Bernstein et al., 2018, scaled by
 * the mean size as in Karimireddy et al., 2019. */
#include "compress/compress.h"
#include "base/rng.h"
#include "math/kernels.h"
#include <math.h>
#include <string.h>

uint32_t mot_kept_of(double ratio, uint32_t n)
{
    uint32_t k = (uint32_t)(ratio * n);
    return k ? k : n ? 1 : 0;
}

bool mot_compress_idle(const struct mot_compress *c)
{
    return !c->kind->pack || c->ratio >= 1; /* compressors without a ratio have 0 */
}

/* The part of a layer that lies in the floats to compress, or all of them as one. */
struct part {
    uint32_t first, n; /* in x */
};
static uint32_t parts_of(const struct mot_compress *c, const struct mot_pressing *p)
{
    return c->per == MOT_PER_LAYER ? p->layers : 1;
}
static struct part part_of(const struct mot_compress *c, const struct mot_pressing *p, uint32_t i)
{
    if (c->per == MOT_PER_WHOLE) return (struct part){ 0, p->len };
    uint64_t end = (uint64_t)p->off + p->len, first = p->at[i], last = p->at[i + 1];
    if (first < p->off) first = p->off;
    if (last > end) last = end;
    return first < last ? (struct part){ (uint32_t)(first - p->off), (uint32_t)(last - first) }
                        : (struct part){ 0, 0 };
}

/* Packs the first n entries in the room, whose numbers are the bits of floats. */
static size_t pack_chosen(const struct mot_pressing *p, uint32_t n, unsigned char *to)
{
    return mot_packet_sparse(p->len, n, p->room.index, (const float *)(const void *)p->room.number, to);
}

/* ---- Top-k ------------------------------------------------------------------------------------------ */

static size_t pack_topk(const struct mot_compress *c, const struct mot_pressing *p, unsigned char *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < parts_of(c, p); i++) {
        struct part part = part_of(c, p, i);
        if (part.n)
            n += mot_largest(p->x + part.first, part.n, mot_kept_of(c->ratio, part.n), part.first,
                p->room.index + n, p->room.number + n);
    }
    return pack_chosen(p, n, to);
}

/* ---- Random k ---------------------------------------------------------------------------------------- */

/* Chooses k of n, all sets equally likely: algorithm S of Knuth's volume 2, 3.4.2. */
static uint32_t choose(
    const struct mot_pressing *p, struct part part, uint32_t k, struct mot_rng *rng, uint32_t *index)
{
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < part.n && k; i++) {
        uint64_t draw = mot_rng_next(rng) >> 32;
        if (draw * (part.n - i) >> 32 >= k) continue;
        k--;
        if (p->x[part.first + i] != 0) index[chosen++] = part.first + i;
    }
    return chosen;
}

static size_t pack_randomk(const struct mot_compress *c, const struct mot_pressing *p, unsigned char *to)
{
    struct mot_rng rng = { .key = p->key };
    uint32_t n = 0;
    float *value = (float *)(void *)p->room.number;
    for (uint32_t i = 0; i < parts_of(c, p); i++) {
        struct part part = part_of(c, p, i);
        uint32_t k = mot_kept_of(c->ratio, part.n), before = n;
        /* Unbiased: each chosen entry stands for n / k. */
        float factor = c->corrected ? 1 : (float)((double)part.n / (k ? k : 1));
        n += choose(p, part, k, &rng, p->room.index + n);
        for (uint32_t e = before, end = n; e < end; e++) {
            if (e == before) n = before;
            float scaled = p->x[p->room.index[e]] * factor;
            if (scaled == 0) continue;
            p->room.index[n] = p->room.index[e];
            value[n++] = scaled;
        }
    }
    return mot_packet_sparse(p->len, n, p->room.index, value, to);
}

/* ---- Threshold --------------------------------------------------------------------------------------- */

static size_t pack_threshold(const struct mot_compress *c, const struct mot_pressing *p, unsigned char *to)
{
    float least = (float)(c->threshold * p->weight);
    uint32_t bits;
    memcpy(&bits, &least, sizeof(bits));
    if (bits == 0) bits = 1;
    size_t n = mot_kernels()->above(p->len, p->x, bits, 0, p->room.index, p->room.number);
    return pack_chosen(p, (uint32_t)n, to);
}

/* ---- Quantisers -------------------------------------------------------------------------------------- */

static uint32_t bits_for(uint64_t levels) { return levels <= 1 ? 2 : levels <= 7 ? 4 : 8; }

/* A norm that is not finite would spoil its whole bucket, so such floats are sent raw. */
static size_t pack_qsgd(const struct mot_compress *c, const struct mot_pressing *p, unsigned char *to)
{
    const struct mot_kernels *k = mot_kernels();
    uint32_t bucket = (uint32_t)c->bucket, most = (uint32_t)c->levels;
    size_t bytes = mot_packet_levels(p->len, bits_for(c->levels), bucket, most, to);
    struct mot_rng rng = { .key = p->key };
    if (bytes > mot_packet_plain(p->len)) return mot_packet_raw(p->len, p->x, to);
    for (uint32_t at = 0; at < p->len; at += bucket) {
        int8_t level[MOT_BUCKET_MOST];
        uint32_t n = p->len - at < bucket ? p->len - at : bucket;
        float norm = (float)sqrt(k->norm2(n, p->x + at)), steps = (float)most / norm;
        uint64_t key = mot_rng_next(&rng);
        if (!isfinite(norm)) return mot_packet_raw(p->len, p->x, to);
        if (!isfinite(steps)) { /* the norm is zero or as good as zero */
            memset(level, 0, n);
            norm = 0;
        } else {
            k->levels(n, p->x + at, steps, (int32_t)most, key, level);
        }
        /* E |Q(x) - x|^2 <= w |x|^2 with w = min(n / s^2, sqrt(n) / s). Feedback needs a contraction, and
         * Q / (1 + w) is one. */
        double more = 1;
        if (c->corrected) more += fmin((double)n / ((double)most * most), sqrt(n) / most);
        mot_packet_bucket(p->len, at, (float)((double)norm / most / more), level, to);
    }
    return bytes;
}

static size_t pack_sign(const struct mot_compress *c, const struct mot_pressing *p, unsigned char *to)
{
    const struct mot_kernels *k = mot_kernels();
    uint32_t bucket = (uint32_t)c->bucket;
    size_t bytes = mot_packet_levels(p->len, 1, bucket, 1, to);
    if (bytes > mot_packet_plain(p->len)) return mot_packet_raw(p->len, p->x, to);
    for (uint32_t at = 0; at < p->len; at += bucket) {
        int8_t bit[MOT_BUCKET_MOST / 8];
        uint32_t n = p->len - at < bucket ? p->len - at : bucket;
        float scale = (float)(k->norm1(n, p->x + at) / n);
        if (!isfinite(scale)) return mot_packet_raw(p->len, p->x, to);
        k->signs(n, p->x + at, (unsigned char *)bit);
        mot_packet_bucket(p->len, at, scale, bit, to);
    }
    return bytes;
}

/* ---- The table --------------------------------------------------------------------------------------- */

#define FIELD(field) offsetof(struct mot_compress, field)
#define RATIO                                                                                                \
    {                                                                                                        \
        .name = "ratio", .type = MOT_OPT_REAL, .offset = FIELD(ratio), .preset = "1%", .min = 1e-9,          \
        .max = 1, .doc = "share of the entries to send: max(1, floor(ratio n)) of n"                         \
    }
#define PER                                                                                                  \
    {                                                                                                        \
        .name = "per", .type = MOT_OPT_CHOICE, .offset = FIELD(per), .preset = "layer",                      \
        .choices = "layer|whole", .doc = "take the share of every layer, or of all entries together"         \
    }
#define FEEDBACK                                                                                             \
    {                                                                                                        \
        .name = "feedback", .type = MOT_OPT_CHOICE, .offset = FIELD(feedback), .preset = "auto",             \
        .choices = "none|ef|ef21|auto",                                                                      \
        .doc = "how to treat what is not sent: none drops it; ef adds it to what is compressed next; ef21 "  \
               "compresses the difference from what was sent so far; auto: ef for gradients "                \
               "if the compressor is biased, else none"                                                      \
    }
#define DELTA                                                                                                \
    { .name = "delta",                                                                                       \
        .type = MOT_OPT_REAL,                                                                                \
        .offset = FIELD(delta),                                                                              \
        .preset = "none",                                                                                    \
        .word = "none",                                                                                      \
        .min = 0,                                                                                            \
        .max = 1,                                                                                            \
        .doc = "compress only while the smoothed share of the squared norm that is lost is at most this; "   \
               "without a server workers vote, and half of them decide; none: always" },                     \
    {                                                                                                        \
        .name = "smoothing", .type = MOT_OPT_REAL, .offset = FIELD(smoothing), .preset = "0.9", .min = 0,    \
        .max = 1, .doc = "weight of the past in the smoothed loss that delta is compared with"               \
    }
#define BUCKET                                                                                               \
    {                                                                                                        \
        .name = "bucket", .type = MOT_OPT_UINT, .offset = FIELD(bucket), .preset = "512",                    \
        .min = MOT_BUCKET_LEAST, .max = MOT_BUCKET_MOST,                                                     \
        .doc = "entries that share a scale; a multiple of 8"                                                 \
    }
#define END                                                                                                  \
    {                                                                                                        \
        .name = NULL                                                                                         \
    }

static const struct mot_option none_options[] = { END };
static const struct mot_option topk_options[] = { RATIO, PER, FEEDBACK, DELTA, END };
static const struct mot_option randomk_options[] = { RATIO, PER, FEEDBACK, END };
static const struct mot_option threshold_options[] = { { .name = "threshold",
                                                           .type = MOT_OPT_REAL,
                                                           .offset = FIELD(threshold),
                                                           .preset = "0.001",
                                                           .min = 0,
                                                           .max = 1e30,
                                                           .doc = "entries of the mean gradient of at least "
                                                                  "this size are sent" },
    FEEDBACK, DELTA, END };
static const struct mot_option qsgd_options[] = { { .name = "levels",
                                                      .type = MOT_OPT_UINT,
                                                      .offset = FIELD(levels),
                                                      .preset = "7",
                                                      .min = 1,
                                                      .max = 127,
                                                      .doc =
                                                          "sizes that an entry can have besides 0: 1 needs 2 "
                                                          "bits per entry, up to 7 need 4, more need 8" },
    BUCKET, FEEDBACK, END };
static const struct mot_option sign_options[] = { BUCKET, FEEDBACK, END };

static const struct mot_compressor none = {
    .name = "none", .summary = "floats are sent as they are", .options = none_options
};
static const struct mot_compressor topk = { .name = "topk",
    .summary = "the largest entries, exactly",
    .options = topk_options,
    .biased = true,
    .chooses = true,
    .pack = pack_topk };
static const struct mot_compressor randomk = { .name = "randomk",
    .summary = "entries drawn at random; without feedback scaled up, so that the mean is right",
    .options = randomk_options,
    .pack = pack_randomk };
static const struct mot_compressor threshold = { .name = "threshold",
    .summary = "entries above a size",
    .options = threshold_options,
    .biased = true,
    .chooses = true,
    .pack = pack_threshold };
static const struct mot_compressor qsgd = { .name = "qsgd",
    .summary = "all entries, rounded at random to a few levels of their bucket's norm",
    .options = qsgd_options,
    .quantises = true,
    .pack = pack_qsgd };
static const struct mot_compressor sign = { .name = "sign",
    .summary = "the signs of all entries, times the mean size in their bucket",
    .options = sign_options,
    .quantises = true,
    .biased = true,
    .pack = pack_sign };

const struct mot_compressor *const mot_compressors[] = { &none, &topk, &randomk, &threshold, &qsgd, &sign,
    NULL };
