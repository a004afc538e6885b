/* sampler.h -- which rows a batch takes: a function of (seed, part, draw) and nothing else. */
#ifndef MOT_DATA_SAMPLER_H
#define MOT_DATA_SAMPLER_H

#include <motley/option.h>
#include <stdint.h>

enum mot_sampling {
    MOT_SAMPLE_RESHUFFLE,  /* every row once per epoch, in a new order each time */
    MOT_SAMPLE_ONCE,       /* every row once per epoch, always in the same order */
    MOT_SAMPLE_REPLACE,    /* each draw uniform */
    MOT_SAMPLE_CHOICE,     /* a batch has no row twice, batches are independent */
    MOT_SAMPLE_SEQUENTIAL, /* the part's own order */
};

/* The `sampler:` section. */
struct mot_sampler_conf {
    uint32_t name;
    uint64_t passes; /* MOT_WORD_UINT: endless */
};
extern const struct mot_option mot_sampler_options[];

/* Parts: part p is rows row[at[p]] .. row[at[p+1]-1] of the training table. */
struct mot_parts {
    uint32_t parts;
    uint64_t *at;
    uint32_t *row;
};

struct mot_sampler {
    uint64_t seed;
    struct mot_sampler_conf conf;
    const struct mot_parts *parts;
};

/* Writes the rows of positions draw .. draw+n-1 of the part's endless sequence;
 * returns how many there are: fewer than n only when `passes` end it. `skip`
 * positions of this batch were taken by earlier calls (a batch is computed slice
 * by slice; CHOICE is keyed by the batch's own draw). */
uint32_t mot_sample(
    const struct mot_sampler *, uint32_t part, uint64_t draw, uint32_t skip, uint32_t n, uint32_t *row_out);

/* How many of n samples from `draw` on exist: what mot_sample would give in total. */
uint64_t mot_sample_count(const struct mot_sampler *, uint32_t part, uint64_t draw, uint64_t n);

#endif
