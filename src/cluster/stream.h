/* stream.h -- samples that arrive at a device over time.
 *
 * Arrivals are a function of (stream, seed, worker, time). They are counted in whole samples, from rates in
 * whole millionths of a sample a second, so every machine gets the same count at the same nanosecond. The
 * rate is constant between changes; a cursor walks from change to change. */
#ifndef MOT_CLUSTER_STREAM_H
#define MOT_CLUSTER_STREAM_H

#include "base/wide.h"
#include <motley/method.h>
#include <motley/option.h>

enum mot_stream_kind {
    MOT_STREAM_NONE, /* all data is there from the start */
    MOT_STREAM_CONSTANT,
    MOT_STREAM_UNIFORM,
    MOT_STREAM_NORMAL,
    MOT_STREAM_LIST
};

/* How many samples to keep that arrive faster than they are used; the oldest are dropped. */
enum mot_buffer_kind {
    MOT_BUFFER_PERSIST,  /* all */
    MOT_BUFFER_TRUNCATE, /* as many as arrive in a second, or as a job waits for if that is more */
    MOT_BUFFER_BOUNDED   /* at most `bound` */
};

struct mot_stream {
    uint32_t kind;          /* enum mot_stream_kind */
    double mean, sd;        /* samples a second; constant: the mean alone */
    struct mot_uints rates; /* list: worker i has rate i, wrapping around */
    mot_time start;         /* nothing arrives earlier */
    mot_time redraw;        /* how often the rate is drawn anew; MOT_NEVER: drawn once */
    double drift;           /* over the time `over` the rate grows by this share of itself */
    mot_time over;
    double burst; /* once in every burst_every, for burst_lasts, the rate is this many times higher */
    mot_time burst_every, burst_lasts;
    uint32_t buffer; /* enum mot_buffer_kind */
    uint64_t bound;  /* samples */
};

#define MOT_STREAM_LEAST 1.0  /* samples a second: slower rates are raised to this, */
#define MOT_STREAM_MOST 1e9   /* and faster ones lowered to this */
#define MOT_STREAM_STEPS 100u /* the steps in which a drift changes the rate */

bool mot_stream_alike(const struct mot_stream *, const struct mot_stream *);

/* The worker's rate before drift and bursts, in its `period`-th period between redraws: samples a second. */
double mot_stream_rate(const struct mot_stream *, uint64_t seed, mot_node worker, uint64_t period);

struct mot_arrivals {
    const struct mot_stream *stream;
    uint64_t seed;
    mot_node worker;
    mot_time from, until; /* the rate holds from..until; MOT_NEVER: from there on */
    uint64_t rate;        /* millionths of a sample a second */
    mot_uint128 before;   /* what arrived before `from`, in millionths times nanoseconds */
};
void mot_arrivals_open(struct mot_arrivals *, const struct mot_stream *, uint64_t seed, mot_node worker);
/* Samples that have arrived by `now`. Cheap as long as times do not go back. */
uint64_t mot_arrivals_by(struct mot_arrivals *, mot_time now);
/* The first moment at which `count` samples have; MOT_NEVER: not within the run's clock. */
mot_time mot_arrivals_when(struct mot_arrivals *, uint64_t count);
/* Whether `count` samples had arrived before the rate last changed, as of the moment last asked about. */
bool mot_arrivals_long_ago(const struct mot_arrivals *, uint64_t count);
/* Samples a second at the moment last asked about. */
static inline double mot_arrivals_rate(const struct mot_arrivals *a) { return (double)a->rate * 1e-6; }

#endif
