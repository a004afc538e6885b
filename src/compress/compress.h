/* compress.h -- compressors: turn floats into a packet as the experiment's `compress` section says.
 *
 * A packet depends only on the floats, a weight and a random key, so all drivers make the same packet from
 * the same floats. */
#ifndef MOT_COMPRESS_COMPRESS_H
#define MOT_COMPRESS_COMPRESS_H

#include "compress/packet.h"
#include <motley/option.h>

/* What to do with what a packet leaves out. */
enum mot_feedback {
    MOT_FEEDBACK_NONE, /* drop it */
    /* add it to what is compressed next (Seide et al., 2014; Stich et al., 2018) */
    MOT_FEEDBACK_EF,
    /* compress the difference from the sum of all earlier packets (Richtarik et al., 2021) */
    MOT_FEEDBACK_EF21,
    MOT_FEEDBACK_AUTO, /* until resolved: EF for biased compressors where possible, else NONE */
};

struct mot_compressor;
struct mot_compress {
    const struct mot_compressor *kind;
    double ratio;      /* share of the floats to keep */
    uint32_t per;      /* enum mot_per */
    uint32_t feedback; /* enum mot_feedback */
    double threshold;  /* entries of a mean gradient of at least this size are kept */
    uint64_t levels, bucket;
    double delta;     /* compress only if at most this share of the squared norm is lost; NaN: always */
    double smoothing; /* the weight of the past in that share */
    bool corrected;   /* what a packet leaves out is sent later, so it need not be unbiased */
};
enum mot_per { MOT_PER_LAYER, MOT_PER_WHOLE };

/* Scratch space: as many numbers as the floats compressed at once, plus MOT_PRESS_SLACK. */
#define MOT_PRESS_SLACK 64u
struct mot_press {
    uint32_t *index;
    uint32_t *number;
};

struct mot_pressing {
    uint32_t len;
    const float *x;
    const uint32_t *at; /* [layers + 1]: the float at which each layer begins; may reach beyond x */
    uint32_t layers;
    uint32_t off;  /* the place of x[0] in the count that `at` uses */
    double weight; /* x is this multiple of a mean gradient */
    uint64_t key;  /* of random draws */
    struct mot_press room;
};

struct mot_compressor {
    const char *name, *summary;
    const struct mot_option *options;
    bool quantises; /* sends all floats, rounded, so it suits models too */
    bool biased;    /* unless corrected, loses what it leaves out */
    bool chooses;   /* leaves out floats by size, so delta can judge how much is lost */
    /* Writes a packet of at most mot_packet_most(len) bytes; returns its size. */
    size_t (*pack)(const struct mot_compress *, const struct mot_pressing *, unsigned char *to);
};
/* ended by NULL; the first is "none", which does not pack */
extern const struct mot_compressor *const mot_compressors[];

/* Whether it changes nothing, so that buffers are sent as they are. */
bool mot_compress_idle(const struct mot_compress *);

/* How many of n floats a ratio keeps: at least 1. */
uint32_t mot_kept_of(double ratio, uint32_t n);
/* Finds the k entries of x of largest size, or all nonzero ones if there are fewer; of equals the first.
 * Stores their places, counted from `first`, in increasing order, and their bits. Both arrays have room for
 * n. Returns how many it found. */
uint32_t mot_largest(const float *x, uint32_t n, uint32_t k, uint32_t first, uint32_t *index, uint32_t *bits);

#endif
