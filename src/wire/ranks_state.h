/* ranks_state.h -- private to the files of the driver over ranks. */
#ifndef MOT_WIRE_RANKS_STATE_H
#define MOT_WIRE_RANKS_STATE_H

#include "sim/coll_steps.h"
#include "live/node.h"
#include "live/turn.h"
#include "run/circle.h"
#include "sim/network.h"
#include "wire/ranks.h"
#include "wire/transport.h"
#include <pthread.h>

/* What a node did, for rank 0. The keys inside the notes are pointers and mean nothing there. */
#define RANK_KEY_BYTES 32
struct rank_final {
    struct mot_live_account account;
    uint32_t out_of_data;
    struct mot_notes notes;
    char key[MOT_NOTES_MAX][RANK_KEY_BYTES];
};

struct rank_show {
    struct mot_copy copy;
    uint32_t here, coming; /* buffers received; buffers announced */
};

struct peer {
    struct mot_line line;
    bool lost, said_hello;
    bool gone;      /* it was when we last asked */
    bool forgotten; /* by the transport: it is lost, or we have left everyone */
    bool blamed;    /* we cannot go on with it; rank 0 was told */
    uint32_t hello_status;
    uint64_t hello_hash;
    char *hello_text;
    uint64_t samples; /* computed by its worker as of its last sign */
    enum mot_lost_by by;
    mot_time lost_at; /* on the run's clock */
};

/* A received envelope and, once it is here, its body. Letters of methods wait in the node's inbox. */
struct letter {
    struct letter *next;
    struct mot_envelope envelope;
    uint32_t rank; /* sender; our own: a node of this process */
    mot_node from; /* the sending node, if in an inbox */
    void *body;
    bool owned; /* the body is free()d with the letter */
    bool stale; /* of a run that is over: unwanted */
    bool here;
    bool counted;                       /* among the bodies of its sender in the inbox */
    uint32_t rows_announced, rows_here; /* ROWS: rows in chunks whose envelope has come, whose body has */
    mot_time due;                       /* emulating */
    struct mot_arrival arrival;
};

struct hosted {           /* a node of this process */
    struct mot_port port; /* must be first: a port is cast to its node */
    struct mot_ranks *ranks;
    struct mot_live_node node;
    struct letter *first, **tail;
    uint32_t *bodies; /* [nodes]: bodies of each in this inbox */
    _Atomic uint64_t samples;
    struct mot_nic nic;
};

/* How a collective is identified, beside its scope and its number. */
struct sum_name {
    uint32_t kind, tag, off, len; /* enum mot_coll_kind */
    uint32_t packed;              /* 1: of packed buffers, each of which goes to all */
};

/* What another member has sent us of a collective: its part of our range, and the sum of its range. */
enum sum_piece { PIECE_MISSING, PIECE_COMING, PIECE_HERE };
struct sum_from {
    enum sum_piece part, sum;
    struct sum_name name; /* as it names the collective */
    double scalar[MOT_SCALARS];
    unsigned char *packet; /* what it gave, if it is packed and here; malloc'd */
    uint64_t packed;       /* bytes of what it gave, if it is packed and here */
};

struct sum { /* a collective in flight */
    uint64_t number;
    struct sum_name name;
    struct mot_slice in;
    bool joined, last;
    float *part;           /* [members][chunk_max]: the others' parts of our range; NULL: not needed yet */
    struct sum_from *from; /* by rank */
    uint32_t added, sums;  /* parts added to our range, in order; ranges of the result received */
    mot_buf out;
    double fast[MOT_SCALARS + 1]; /* the last: someone asked for the end */
    bool reduced;
    struct mot_coll_progress progress; /* emulating */
};

/* The collectives of a scope. Where gradients leave early, each consists of a sum for every bucket, from the
 * last on, each with its own number; else it is a single sum. */
struct sums {
    struct mot_circle circle; /* n is 0: our worker is no member */
    uint32_t rank;            /* our worker's */
    uint32_t parts, window;   /* sums of a collective; sums that can be in flight */
    struct sum *sum;          /* [window], in turn */
    float **spare;            /* room for parts, last used first: what is never needed costs nothing */
    uint32_t spares, chunk_max;
    uint64_t joined;  /* by our worker: the number of the last sum */
    uint32_t waiting; /* sums of the current collective that our worker has joined; all: it waits */
};

/* Nodes, buffers and sums that can receive exist only while running. */
enum ranks_phase { PHASE_BEFORE, PHASE_RUNNING, PHASE_AFTER };

struct mot_ranks {
    struct mot_transport *transport;
    struct mot_live live;
    const struct mot_driver_options *options;
    struct peer *peer;     /* [ranks] */
    struct hosted *hosted; /* our nodes, the worker first */
    uint32_t hosts;        /* how many */
    /* [nodes]: rank 0: what nodes elsewhere did, once reported; other ranks: what ours did */
    struct rank_final *final;
    bool *said_final; /* [nodes] */
    uint32_t finals;
    /* [nodes]: rank 0, if several nodes show models: what has arrived of them */
    struct rank_show *show;
    uint32_t *sends_most; /* [nodes]: messages of each that may wait here for one of our nodes */
    bool leads;           /* rank 0: a run that all agreed to is on */
    bool profiles;        /* a profile: one worker per rank, no server */
    enum ranks_phase phase;
    uint64_t body_most; /* longest body in a run, in bytes */
    /* the run is over; rank 0 is lost or has given us up; all may leave */
    bool ended, orphan, bye;
    bool said_last; /* rank 0 has been told what our nodes did */
    bool leaving;
    bool agreed;
    uint32_t verdict;
    char *verdict_text;
    uint32_t losses, first_lost;
    bool keeps_memory; /* the transport may still write to our memory for a lost rank */
    uint32_t agreements;
    char agreement[1024];        /* text of the last one: must not move until sent */
    uint32_t receiving;          /* bodies being received */
    uint64_t samples0;           /* of the run being resumed */
    uint64_t news;               /* counts arrivals, for those who wait */
    uint64_t idle_ns, rested_ns; /* since when we have only waited; when we last stopped waiting in vain */
    struct mot_turn turn;
    uint64_t looked_ns, neighbours_ns;
    mot_time paced_at;   /* when rank 0 was last told of our worker's pace */
    uint32_t here;       /* ranks on this machine */
    bool oversubscribed; /* more ranks than cores */
    double wire_bytes;   /* bytes per float */
    /* what workers here had left, on its way to rank 0 */
    mot_buf *rest_out; /* [mot_live_rests_sent()]; NULL: none yet */
    uint32_t rests_out;
    struct sums sums[MOT_COLL_SCOPES];
    uint32_t window;
    struct rows_to *rows; /* [ranks]: rows on their way out; NULL: rows do not move */
    uint64_t chunk_most;  /* bytes of a chunk of rows */
    void **held;          /* [held_slots]: held-out records on their way out; NULL: a free slot */
    uint32_t held_slots;
    struct letter *tokens; /* emulating: in flight */
    struct letter *spare;
    pthread_mutex_t lock; /* guards the transport and what the keeper reads */
    pthread_cond_t wake;
    pthread_t keeper;
    bool kept, closing;
};

/* Each rank hosts a worker; rank s also hosts server s (modulo ranks, if there are more servers). With
 * `mpi.place: own` the first ranks host one server each, and the workers' ranks follow. */
mot_node mot_ranks_first_node(const struct mot_ranks *, uint32_t rank); /* among those it hosts */
uint32_t mot_ranks_of(const struct mot_ranks *, mot_node);
/* Before the world is open: the nodes [workers + servers] that the rank will host; returns how many. */
uint32_t mot_ranks_will_host(
    const struct mot_ranks *, const struct mot_experiment *, uint32_t rank, mot_node *node);
uint32_t mot_ranks_nodes(const struct mot_ranks *);            /* taking part; a profile has no servers */
struct hosted *mot_ranks_hosted(struct mot_ranks *, mot_node); /* NULL: not here */
bool mot_ranks_is_of(const struct mot_ranks *, mot_node, uint32_t rank); /* it exists and is there */

/* ranks.c */
const char *mot_ranks_lost_by(const struct mot_ranks *, uint32_t rank); /* "death", "silence", "damage" */
void mot_ranks_name_lost(const struct mot_ranks *, const char *when);   /* reports by mot_fail */

/* ranks_post.c */
struct mot_place mot_ranks_place(
    const struct mot_envelope *); /* where its sender's worker is in its stream */
/* Sends under the lock, unless that rank is lost. `token`: a buffer held until it is sent, or 0. */
void mot_ranks_post(struct mot_ranks *, uint32_t to, struct mot_envelope *, const void *body, mot_buf token);
void mot_ranks_progress(struct mot_ranks *); /* receives, gives signs of life, looks for lost ranks */
void *mot_ranks_keep(void *ranks);           /* the keeper's thread */
void mot_ranks_rest(struct mot_ranks *, mot_time until); /* until something arrives; a few ms at most */
uint32_t mot_ranks_sending(struct mot_ranks *);
/* Lets go of everyone, after losing rank 0 or being given up. */
void mot_ranks_let_go(struct mot_ranks *);
/* That rank sent something impossible, so it is lost. Rank 0 declares it lost; other ranks ask rank 0 to. */
void mot_ranks_distrust(struct mot_ranks *, uint32_t rank);
struct letter *mot_ranks_letter(struct mot_ranks *);
void mot_ranks_letter_free(struct mot_ranks *, struct letter *);

/* ranks_port.c */
void mot_ranks_port_open(struct mot_ranks *, struct hosted *, mot_node self);
void mot_ranks_port_close(struct mot_ranks *, struct hosted *);
void mot_ranks_tell_lost(struct mot_ranks *, uint32_t rank); /* tells every node here of every node there */
mot_time mot_ranks_next_due(const struct mot_ranks *); /* emulating: when the next message becomes visible */
void mot_ranks_end(struct mot_ranks *);
/* Finds room for the body of a method's message, before it is received. False: the message is impossible. */
bool mot_ranks_expect_message(struct mot_ranks *, struct letter *);
bool mot_ranks_expect_rows(struct mot_ranks *, struct letter *); /* the same, but its rows follow in chunks */
void mot_ranks_message_void(struct mot_ranks *, struct letter *); /* its body will never come */
bool mot_ranks_message_came(struct mot_ranks *, struct letter *); /* it is here; false: no packet */
/* Whether a packet of so many floats can have so many bytes in this run. */
bool mot_ranks_is_packet(const struct mot_ranks *, uint64_t bytes, uint32_t len);

/* ranks_rows.c: rows of data that move from rank to rank. */
void mot_ranks_rows_open(struct mot_ranks *);
void mot_ranks_rows_close(struct mot_ranks *);
void mot_ranks_send_rows(struct mot_ranks *, const struct mot_envelope *); /* the rows of a ROWS envelope */
/* A chunk has left. False: the token is a buffer's. */
bool mot_ranks_rows_sent(struct mot_ranks *, mot_buf token);
void mot_ranks_rows_drop(struct mot_ranks *); /* the run is over: what has not left yet stays */
bool mot_ranks_expect_chunk(struct mot_ranks *, struct letter *);     /* false: nonsense */
bool mot_ranks_chunk_came(struct mot_ranks *, const struct letter *); /* false: no rows of this part */

/* ranks_held.c: records held out for evaluations. */
void mot_ranks_held_open(struct mot_ranks *); /* before nodes are, whose sources begin to hold out at once */
void mot_ranks_send_held(struct mot_port *);
void mot_ranks_held_close(struct mot_ranks *);
bool mot_ranks_held_sent(struct mot_ranks *, mot_buf token);     /* some have left. False: it is not theirs */
bool mot_ranks_expect_held(struct mot_ranks *, struct letter *); /* false: nonsense */
bool mot_ranks_held_came(struct mot_ranks *, const struct letter *); /* false: no records */

/* ranks_show.c: models elsewhere that rank 0 evaluates. */
void mot_ranks_ask(struct mot_port *, uint64_t number, uint64_t at);
void mot_ranks_show(struct mot_port *, const struct mot_shown *);
bool mot_ranks_expect_show(struct mot_ranks *, struct letter *); /* room for its floats; false: nonsense */
void mot_ranks_show_came(struct mot_ranks *, struct letter *);   /* takes over the body */
/* Whether every node that is not lost has shown its final model. */
bool mot_ranks_all_shown(struct mot_ranks *);

/* ranks_rests.c: what workers had left to send, for checkpoints. */
void mot_ranks_want(struct mot_port *, const struct mot_want *);
bool mot_ranks_want_came(struct mot_ranks *, const struct letter *); /* false: nonsense */
bool mot_ranks_expect_rest(struct mot_ranks *, struct letter *); /* room for its floats; false: nonsense */
void mot_ranks_rest_came(struct mot_ranks *, struct letter *);   /* takes over the body */
void mot_ranks_rest_sent(struct mot_ranks *, mot_buf);           /* the buffer of some body has left */

/* ranks_sum.c */
void mot_ranks_sums_open(struct mot_ranks *, uint32_t window);
mot_time mot_ranks_next_token(const struct mot_ranks *); /* emulating: when the next is due; or MOT_NEVER */
void mot_ranks_take_tokens(struct mot_ranks *);          /* that are due, and sends those that follow */
void mot_ranks_sums_close(struct mot_ranks *);
void mot_ranks_join(struct mot_ranks *, const struct mot_coll *, bool last);
void mot_ranks_give(struct mot_ranks *, mot_buf, uint32_t bucket);
bool mot_ranks_sum_ready(struct mot_ranks *, struct mot_arrival *out);
/* PART, SUM: finds room for its floats; false: nonsense */
bool mot_ranks_expect_range(struct mot_ranks *, struct letter *);
bool mot_ranks_range_came(struct mot_ranks *, struct letter *); /* takes over a packet; false: nonsense */
bool mot_ranks_token_came(struct mot_ranks *, const struct letter *); /* false: nonsense */

#endif
