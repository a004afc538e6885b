/* buckets.h -- gradients that leave while they are still being computed.
 *
 * A pass over a slice of samples goes forward through the layers and back. On the way back the gradients of
 * the last layers are final first, and a sum over all workers can begin with them. Gradients add up over
 * slices, so buckets leave only during the pass over a job's last slice: from the last bucket to the first,
 * which leaves as the job ends. */
#ifndef MOT_RUN_BUCKETS_H
#define MOT_RUN_BUCKETS_H

#include "run/actor.h"

#define MOT_BUCKETS_MOST 1024u

/* Cuts the model between layers, starting at its end, into buckets of at least so many bytes on the wire; the
 * first may have fewer. A model without layers (a phantom) is cut anywhere. Statistics are in the last. */
void mot_buckets_open(struct mot_world *, const struct mot_net *, uint64_t bytes);
void mot_buckets_close(struct mot_world *);

static inline bool mot_buckets_any(const struct mot_world *w) { return w->buckets > 1; }

/* Floats in the longest bucket. */
uint32_t mot_buckets_longest(const struct mot_world *);

static inline uint32_t mot_bucket_len(const struct mot_world *w, uint32_t bucket)
{
    return w->bucket_at[bucket + 1] - w->bucket_at[bucket];
}

/* Whether another bucket of the running job's gradient leaves before the job ends, and which. */
static inline bool mot_slot_leaves(const struct mot_slot *s, const struct mot_world *w)
{
    return s->summed && s->asked > 0 && s->gone + 1 < w->buckets;
}
static inline uint32_t mot_slot_bucket(const struct mot_slot *s, const struct mot_world *w)
{
    return w->buckets - 1 - s->gone;
}

/* How long after the job begins that bucket leaves, if the whole job takes `whole`. */
mot_time mot_slot_leaves_after(const struct mot_slot *, const struct mot_world *, const struct mot_problem *,
    const struct mot_machine *, mot_time whole);

#endif
