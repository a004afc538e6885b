/* ring.h -- the newest rows of a stream, where the model reads them in place.
 *
 * The k-th row of the stream lies at k modulo the ring's rows, for as long as it has not been used: a
 * sampler that goes through a part in its own order finds it there. One thread writes (an intake), one
 * takes (a node). Where there is no room, a ring that drops forgets its oldest row, unless a job is using
 * rows; else the writer waits. */
#ifndef MOT_STREAM_RING_H
#define MOT_STREAM_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Where a stream goes on. at: a byte of a file, or the number of a message. sub: rows of a raw block that are
 * still to come there; records of the message that have been taken. number: that the next record has, where
 * its device counts them; 0: not known. */
struct mot_cursor {
    uint64_t at, sub, number;
};

/* For `at`: nothing was read yet, and where that will begin the source has to say. */
#define MOT_CURSOR_UNKNOWN UINT64_MAX

struct mot_mark { /* of a row */
    struct mot_cursor after;
    uint64_t malformed; /* records before it that were no rows, */
    uint64_t held;      /* and that were held out: see reservoir.h */
    uint64_t came_ns;   /* mot_wall_ns when it was there */
};

struct mot_ring {
    uint32_t rows, cols;
    float *x, *y;                 /* [rows][cols], [rows]: not its own */
    struct mot_mark *mark, begin; /* begin: before the row at which it began */
    struct mot_mark done;         /* before row done_at, the first that was not used when rows last went */
    uint64_t done_at;
    _Atomic uint64_t
        origin; /* where the stream began, if `begin` does not know; MOT_CURSOR_UNKNOWN: not yet */
    bool drops;
    _Atomic uint64_t tail;  /* rows that have come, `first` among them */
    _Atomic uint64_t floor; /* the oldest that must stay */
    bool busy;              /* a job uses rows from `floor` on */
    bool closed;
    pthread_mutex_t lock;
    pthread_cond_t room;
};

/* Begins at row `first`, whose predecessor's mark is `begin`. x and y must outlive it. */
void mot_ring_open(struct mot_ring *, uint32_t rows, uint32_t cols, float *x, float *y, bool drops,
    uint64_t first, const struct mot_mark *begin);
void mot_ring_free(struct mot_ring *);

/* The writer: waits for room, at most so long. NULL: there is none. The row counts from mot_ring_add on. */
float *mot_ring_slot(struct mot_ring *, uint64_t wait_ns, float **y_out);
void mot_ring_add(struct mot_ring *, const struct mot_mark *);
void mot_ring_stop(struct mot_ring *); /* from any thread: the writer waits no more */

/* The taker: from here on rows from `head` on stay. Returns the oldest that is still there. */
uint64_t mot_ring_hold(struct mot_ring *, uint64_t head);
void mot_ring_release(struct mot_ring *, uint64_t head); /* they may go up to `head` */
/* Rows that fit at once. */
static inline uint64_t mot_ring_room(const struct mot_ring *r) { return r->rows - 1; }
/* The mark of what was before row `at`: one that is held, or the one up to which rows went last. */
struct mot_mark mot_ring_before(const struct mot_ring *, uint64_t at);

#endif
