/* compress.h -- compressors: from floats to a packet, by what the experiment's section `compress` says.
 *
 * A compressor is a function of its floats, of a weight and of a random key, so all drivers make the same
 * packet of the same floats. */
#ifndef MOT_COMPRESS_COMPRESS_H
#define MOT_COMPRESS_COMPRESS_H

#include "compress/packet.h"
#include <motley/option.h>

/* What becomes of what a packet leaves out. */
enum mot_feedback {
    MOT_FEEDBACK_NONE, /* nothing */
    /* it is added to what is compressed next (Seide et al., 2014; Stich et al., 2018) */
    MOT_FEEDBACK_EF,
    /* packets are of the difference to the sum of all packets before (Richtarik et al., 2021) */
    MOT_FEEDBACK_EF21,
    MOT_FEEDBACK_AUTO, /* resolved: EF where it can be, for compressors that are biased */
};

struct mot_compressor;
struct mot_compress {
    const struct mot_compressor *kind;
    double ratio;      /* of the floats, that are kept */
    uint32_t per;      /* enum mot_per */
    uint32_t feedback; /* enum mot_feedback */
    double threshold;  /* of a mean gradient's entry, from which on it is kept */
    uint64_t levels, bucket;
    double delta;     /* compress only if so little of the squared norm is lost; NaN: always */
    double smoothing; /* of that loss: the weight of the past */
    bool corrected;   /* what a packet leaves out comes later: it need not be right on average */
};
enum mot_per { MOT_PER_LAYER, MOT_PER_WHOLE };

/* Room to work in: as many numbers as floats may be compressed at once, and MOT_PRESS_SLACK more. */
#define MOT_PRESS_SLACK 64u
struct mot_press {
    uint32_t *index;
    uint32_t *number;
};

struct mot_pressing {
    uint32_t len;
    const float *x;
    const uint32_t *at; /* [layers + 1]: where layers begin, in the order of floats; may reach beyond */
    uint32_t layers;
    uint32_t off;  /* of x[0], where layers count from */
    double weight; /* x is so many times a mean gradient */
    uint64_t key;  /* of what is random */
    struct mot_press room;
};

struct mot_compressor {
    const char *name, *summary;
    const struct mot_option *options;
    bool quantises; /* all floats arrive, roughly: models may go through it */
    bool biased;    /* unless corrected, what it leaves out is lost */
    bool chooses;   /* it leaves out floats by their size: how much is lost can be judged by delta */
    /* Writes a packet of at most mot_packet_most(len) bytes; returns how many. */
    size_t (*pack)(const struct mot_compress *, const struct mot_pressing *, unsigned char *to);
};
/* ended by NULL; the first is "none", which does not pack */
extern const struct mot_compressor *const mot_compressors[];

/* Whether it changes nothing: then buffers go as they are. */
bool mot_compress_idle(const struct mot_compress *);

/* Of n floats, how many a ratio keeps: at least 1. */
uint32_t mot_kept_of(double ratio, uint32_t n);
/* The k entries of x that are largest in size, or all that are not 0 if there are fewer: their places from
 * `first` on, in increasing order, and their bits; among equals the first. Returns how many. Both have room
 * for n. */
uint32_t mot_largest(const float *x, uint32_t n, uint32_t k, uint32_t first, uint32_t *index, uint32_t *bits);

#endif
