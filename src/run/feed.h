/* feed.h -- samples that arrive at a worker while it trains, and what becomes of them.
 *
 *   supply --arrives--> buffer --a job begins--> taken --it ends--> used
 *                          |                        |
 *                          dropped (no room)        back into the buffer (cut short, or its node lost)
 *
 * The k-th sample to arrive is position k of the worker's part. Positions are taken in order; when there is
 * no room for more, the oldest are dropped. So `arrived` = used + dropped + waiting, where a running job's
 * samples count as waiting. */
#ifndef MOT_RUN_FEED_H
#define MOT_RUN_FEED_H

#include "cluster/stream.h"
#include "run/outcome.h"

/* All that a run asks about samples from outside. The supply below follows the cluster file; that of a live
 * run may be real. Counts never fall. */
struct mot_supply {
    void *self;
    uint64_t (*arrived)(void *self, mot_time now);
    /* When this many samples have arrived or will have; MOT_NEVER: unknown, and whoever waits is woken. */
    mot_time (*when)(void *self, uint64_t count);
    double (*rate)(void *self); /* samples a second, as of the last call of `arrived` */
    /* For samples that lie in a ring: keeps those from `head` on until `release` moves past them. Returns the
     * first that is still there. NULL: all always are. */
    uint64_t (*hold)(void *self, uint64_t head);
    void (*release)(void *self, uint64_t head);
    bool (*ended)(void *self); /* nothing more will ever arrive; NULL: more always may */
};

/* Arrivals as the cluster file describes them. */
struct mot_rate_supply {
    struct mot_arrivals now, old; /* old: for moments that have passed */
};
struct mot_supply mot_rate_supply_open(
    struct mot_rate_supply *, const struct mot_stream *, uint64_t seed, mot_node worker);

struct mot_feed {
    struct mot_supply supply;
    uint32_t buffer;       /* enum mot_buffer_kind */
    uint64_t bound;        /* samples that there is room for; UINT64_MAX: any number */
    uint64_t in_memory;    /* how many of these fit into memory */
    uint64_t reach;        /* most that can be there at once, whatever is kept elsewhere */
    uint64_t head;         /* position of the next to take */
    uint64_t first;        /* where this run began: a resumed one has used what came before */
    uint64_t before, took; /* the running job: head before it, and how many it took; 0: none */
    uint64_t least;        /* samples that the last job waited for */
    mot_time lacks;        /* since when a job has lacked samples; MOT_NEVER: none does */
    struct mot_feed_tally *tally;
    bool over; /* a job found nothing there, and nothing will ever come */
};

/* Opens the feed of a worker; its samples take row_bytes each. */
void mot_feed_open(struct mot_feed *, const struct mot_machine *, uint64_t row_bytes, uint64_t first,
    struct mot_supply, struct mot_feed_tally *);

struct mot_slot;
/* For the next job: takes its samples from the worker's own part and writes into its terms which they are.
 * False: they have not arrived; ask again at *again (MOT_NEVER: when woken). If its deadline passes while it
 * waits, the job begins without them. */
bool mot_feed_take(struct mot_feed *, struct mot_slot *, mot_node self, mot_time now, mot_time *again);
/* The job has ended; it covered this many samples. */
void mot_feed_end(struct mot_feed *, uint64_t covered);
void mot_feed_rest(struct mot_feed *, mot_time now); /* no job waits for samples any more */
/* The state of the worker's stream at this moment; changes nothing. */
struct mot_flow mot_feed_flow(const struct mot_feed *, mot_time now);
/* The run is over: completes the tally. */
void mot_feed_close(struct mot_feed *, mot_time now);

void mot_flow_add(struct mot_flow *, const struct mot_flow *);

#endif
