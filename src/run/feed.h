/* feed.h -- samples that arrive at a worker while it trains, and what becomes of them.
 *
 *   supply --arrives--> buffer --a job begins--> taken --it ends--> used
 *                          |                        |
 *                          dropped (no room)        back into the buffer (cut short, or its node lost)
 *
 * The k-th sample to arrive is position k of the worker's part. Positions are taken in order; no room for
 * more means that the oldest are dropped. So `arrived` = used + dropped + waiting, where those of a job that
 * runs wait. */
#ifndef MOT_RUN_FEED_H
#define MOT_RUN_FEED_H

#include "cluster/stream.h"
#include "run/outcome.h"

/* All that a run asks about what comes from outside: the one below counts as the cluster file says, a live
 * run's may be real. Counts never fall. */
struct mot_supply {
    void *self;
    uint64_t (*arrived)(void *self, mot_time now);
    /* When so many had arrived, or will have; MOT_NEVER: nobody knows, and whoever waits is woken. */
    mot_time (*when)(void *self, uint64_t count);
    double (*rate)(void *self); /* samples a second, as of the last call of `arrived` */
    /* Where samples lie in a room of their own: those from `head` on are used until `release` says how far
     * they are no longer needed. Returns the first that is still there. NULL: all are, always. */
    uint64_t (*hold)(void *self, uint64_t head);
    void (*release)(void *self, uint64_t head);
    bool (*ended)(void *self); /* nothing will ever arrive again; NULL: it always may */
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
    uint64_t in_memory;    /* of these */
    uint64_t reach;        /* that can be there at once, whatever is kept elsewhere */
    uint64_t head;         /* position of the next to take */
    uint64_t first;        /* where this run began: a resumed one has used what came before */
    uint64_t before, took; /* by the job that runs: head before it, and how many; took 0: none */
    uint64_t least;        /* that the last job waited for */
    mot_time lacks;        /* since when a job lacks samples; MOT_NEVER: none does */
    struct mot_feed_tally *tally;
    bool over; /* a job found that nothing is there, and that nothing will ever be */
};

/* Opens the feed of a worker whose samples take so many bytes each. */
void mot_feed_open(struct mot_feed *, const struct mot_machine *, uint64_t row_bytes, uint64_t first,
    struct mot_supply, struct mot_feed_tally *);

struct mot_slot;
/* The job is next: takes its samples, of the worker's own part, and says in its terms which. False: they are
 * not there yet; ask again at *again (MOT_NEVER: when woken). A deadline that passes while it waits lets it
 * begin without. */
bool mot_feed_take(struct mot_feed *, struct mot_slot *, mot_node self, mot_time now, mot_time *again);
/* The job has ended, with so many samples covered. */
void mot_feed_end(struct mot_feed *, uint64_t covered);
void mot_feed_rest(struct mot_feed *, mot_time now); /* no job waits for samples any more */
/* What the worker's stream is at this moment; changes nothing. */
struct mot_flow mot_feed_flow(const struct mot_feed *, mot_time now);
/* The run is over: completes the tally. */
void mot_feed_close(struct mot_feed *, mot_time now);

void mot_flow_add(struct mot_flow *, const struct mot_flow *);

#endif
