/* threads_state.h -- what the files of the driver on threads share.
 *
 * threads.c has the mailboxes, the ports, the run and profiles; threads_sum.c the collectives. */
#ifndef MOT_LIVE_THREADS_STATE_H
#define MOT_LIVE_THREADS_STATE_H

#include "live/bell.h"
#include "live/live.h"
#include "live/node.h"
#include "live/port.h"
#include "run/circle.h"
#include "sim/coll_steps.h"
#include "sim/network.h"
#include <pthread.h>

struct mot_letter {
    mot_time due;
    bool token;
    uint32_t slot, bucket, step;
    enum mot_coll_way way;
    uint64_t samples;
    struct mot_place place;
    mot_time sent;
    uint64_t took; /* as in struct mot_arrival */
    struct mot_message message;
};

struct mot_mailbox {
    pthread_mutex_t lock;
    struct mot_letter *letter; /* a queue: [first, first + n) modulo room */
    uint32_t first, n, room;
    _Atomic uint32_t waiting; /* = n, readable without the lock */
    struct mot_bell bell;
};

struct mot_sum_slot { /* a collective in flight; arrays are by rank */
    struct mot_circle circle;
    enum mot_coll_kind kind;
    uint32_t tag, off, len;
    struct mot_slice *in;
    double (*scalar)[MOT_SCALARS];
    struct mot_coll_progress *progress; /* emulating: [buckets][n]; only its node touches an entry */
    uint64_t *packed;                   /* bytes of what each gave, if it is packed; else 0 */
    mot_buf out;
    _Atomic uint32_t joined, next, added, left; /* next range to take; ranges done; nodes that have left */
    _Atomic bool given, last;                   /* given: the root's floats are there */
    /* in buckets: how many have given each, and how many ranges can be added because all have */
    _Atomic uint32_t *gave, ready;
};

struct mot_sum_range {
    uint32_t first, len;
};

struct mot_sum_seat { /* of a node in the collectives of a scope */
    struct mot_sum_slot *slot;
    uint32_t next; /* which of its circle's slots it joins next */
    bool pending;
    enum mot_coll_kind kind;
    uint32_t rank, tag, len;
    uint32_t gone; /* buckets that it has given */
    bool gathers;  /* packed buffers are not summed on their way */
};

struct mot_threads;
struct mot_thread_port {
    struct mot_port port;
    struct mot_threads *threads;
    mot_node self;
    struct mot_sum_seat seat[MOT_COLL_SCOPES];
};

struct mot_threads {
    struct mot_live live;
    struct mot_thread_port *port; /* [nodes] */
    struct mot_mailbox *box;      /* [nodes] */
    struct mot_live_node *node;   /* [nodes] */
    struct mot_sum_slot *slot;    /* [circles][window], in turn */
    uint32_t window, slots;
    /* Gradients leave early: what is added at a time, from the last bucket on, and how many ranges there are
     * up to the end of each bucket. NULL: they leave as a whole. */
    struct mot_sum_range *range;
    uint32_t buckets, *upto;     /* buckets: 1 if they leave as a whole */
    struct mot_nic *nic;         /* emulating */
    struct mot_weather *weather; /* emulating a cluster with faults; else NULL */
    pthread_mutex_t nic_lock;    /* guards both */
    double wire_bytes;
    bool crowded; /* more threads than cores */
    _Atomic uint64_t samples;
    _Atomic bool ended;
    struct mot_spare *spare; /* the caller's, for the threads to inherit */
    mot_time begins_at;      /* of a resumed run: where its clock stood */
};

/* Puts the letter into the mailbox, and wakes its owner. */
void mot_threads_post(struct mot_threads *, mot_node to, const struct mot_letter *);
/* When the simulated links would deliver so many bytes; 0: now. */
mot_time mot_threads_due_at(struct mot_threads *, mot_node from, mot_node to, uint64_t bytes);

/* ---- threads_sum.c ------------------------------------------------------------------------- */

/* mot_memory_status tells whether there was room for them. */
void mot_threads_open_sums(struct mot_threads *);
void mot_threads_close_sums(struct mot_threads *);
/* Operations of a port. */
void mot_threads_join(struct mot_port *, const struct mot_coll *, bool last);
void mot_threads_give(struct mot_port *, mot_buf, uint32_t bucket);
/* Adds what can be added. True: a collective that the node waits for is over; its result is in *out. */
bool mot_threads_sum_ready(struct mot_thread_port *, struct mot_arrival *out);
void mot_threads_token(struct mot_thread_port *, const struct mot_letter *);
/* Whether there is something to do for a collective, so that the node must not sleep. */
bool mot_threads_can_go_on(const struct mot_thread_port *);

#endif
