/* ring.h -- the newest rows of a stream, where the model reads them in place.
 *
 * Until it is used, the k-th row of the stream lies at k modulo the ring's rows, where a sampler that goes
 * through a part in its own order finds it. One thread writes (an intake), one takes (a node). If there is no
 * room, a ring that drops forgets its oldest row unless a job is using rows; otherwise the writer waits. */
#ifndef MOT_STREAM_RING_H
#define MOT_STREAM_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Where a stream goes on. at: a byte of a file, or the number of a message. sub: rows of a raw block still to
 * come there, or records of the message already taken. number: the next record's number if its device counts
 * them; 0: unknown. */
struct mot_cursor {
    uint64_t at, sub, number;
};

/* For `at`: nothing was read yet, and the source decides where to begin. */
#define MOT_CURSOR_UNKNOWN UINT64_MAX

struct mot_mark { /* one for each row */
    struct mot_cursor after;
    uint64_t malformed; /* malformed records before it, */
    uint64_t held;      /* and held-out ones: see reservoir.h */
    uint64_t came_ns;   /* mot_wall_ns when it arrived */
};

struct mot_ring {
    uint32_t rows, cols;
    float *x, *y;                 /* [rows][cols], [rows]; owned by the caller */
    struct mot_mark *mark, begin; /* begin: of the row before the first */
    struct mot_mark done;         /* of the row before done_at, up to which rows were last released */
    uint64_t done_at;
    _Atomic uint64_t
        origin; /* where the stream began, if `begin` does not say; MOT_CURSOR_UNKNOWN: not known yet */
    bool drops;
    _Atomic uint64_t tail;  /* rows that have arrived, counting those before `first` */
    _Atomic uint64_t floor; /* the oldest that must stay */
    bool busy;              /* a job uses rows from `floor` on */
    bool closed;
    pthread_mutex_t lock;
    pthread_cond_t room;
};

/* Begins at row `first`; `begin` is the mark of the row before it. x and y must outlive the ring. */
void mot_ring_open(struct mot_ring *, uint32_t rows, uint32_t cols, float *x, float *y, bool drops,
    uint64_t first, const struct mot_mark *begin);
void mot_ring_free(struct mot_ring *);

/* For the writer: waits at most wait_ns for room; NULL if there is none. mot_ring_add makes the row
 * visible. */
float *mot_ring_slot(struct mot_ring *, uint64_t wait_ns, float **y_out);
void mot_ring_add(struct mot_ring *, const struct mot_mark *);
void mot_ring_stop(struct mot_ring *); /* from any thread: the writer stops waiting */

/* For the taker: keeps rows from `head` on until the release. Returns the oldest row still there. */
uint64_t mot_ring_hold(struct mot_ring *, uint64_t head);
void mot_ring_release(struct mot_ring *, uint64_t head); /* rows before `head` may go */
/* How many rows fit at once. */
static inline uint64_t mot_ring_room(const struct mot_ring *r) { return r->rows - 1; }
/* The mark of the row before `at`; row `at` must be held, or the one up to which rows were last released. */
struct mot_mark mot_ring_before(const struct mot_ring *, uint64_t at);

#endif
