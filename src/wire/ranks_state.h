/* ranks_state.h -- what the files of the driver over ranks share. */
#ifndef MOT_WIRE_RANKS_STATE_H
#define MOT_WIRE_RANKS_STATE_H

#include "sim/coll_steps.h"
#include "live/node.h"
#include "sim/network.h"
#include "wire/ranks.h"
#include "wire/wire.h"
#include <pthread.h>

/* What a rank did, for rank 0. The notes' own keys are pointers, and mean nothing there. */
#define RANK_KEY_BYTES 32
struct rank_final {
    struct mot_node_tally tally;
    uint64_t events, advanced, poisoned;
    uint32_t status, out_of_data;
    struct mot_notes notes;
    char key[MOT_NOTES_MAX][RANK_KEY_BYTES];
};

struct rank_show {
    struct mot_copy copy;
    uint32_t here; /* buffers that are here */
};

struct peer {
    struct mot_line line;
    int neighbour; /* descriptor, or -1 */
    bool lost, said_hello;
    uint32_t hello_status;
    uint64_t hello_hash;
    char *hello_text;
    uint64_t samples; /* that its worker had computed at its last sign */
    const char *by;   /* lost: "death", "silence", "damage" */
    mot_time lost_at; /* by the run's clock */
};

/* An envelope that came, and its body when that is here. Those of methods wait in the node's inbox. */
struct letter {
    struct letter *next;
    struct mot_envelope envelope;
    uint32_t rank; /* whence; our own: from a node of this process */
    void *body;
    bool owned; /* the body is free()d with the letter */
    bool here;
    mot_time due; /* emulating */
    struct mot_arrival arrival;
};

struct berth {            /* a node of this process */
    struct mot_port port; /* first: a port is its berth */
    struct mot_live_node node;
    struct letter *first, **tail;
    _Atomic uint64_t samples;
    struct mot_nic nic;
};

struct sum { /* one collective under way */
    uint64_t number;
    uint32_t tag, len;
    struct mot_slice in;
    bool joined, begun, last;
    float *part;                   /* [workers][chunk_max]: what the others sent of our range */
    bool *part_here;               /* [workers] */
    double (*scalar)[MOT_SCALARS]; /* [workers] */
    /* parts here; added to our range, in order; ranges of the result that are here */
    uint32_t parts, added, sums;
    mot_buf out;
    double fast[MOT_SCALARS + 1]; /* the last: somebody asked for the end */
    bool reduced;
    struct mot_coll_progress progress; /* emulating */
};

struct crowd {
    struct mot_wire wire;
    struct mot_live live;
    const struct mot_live_options *options;
    struct peer *peer;   /* [ranks] */
    struct berth *berth; /* our nodes: the worker first */
    uint32_t berths;
    /* [nodes]: what those elsewhere did, if they said so; on other ranks than 0, of ours */
    struct rank_final *final;
    bool *said_final; /* [nodes] */
    /* [nodes]: rank 0, where several nodes show their models: what has come of them */
    struct rank_show *show;
    bool profiles; /* measures: a worker a rank, and no server */
    bool running;  /* there are nodes, buffers and sums to receive for */
    /* the run is over; we are without rank 0, or given up by it; all may leave */
    bool ended, orphan, bye;
    bool agreed;
    uint32_t verdict;
    char *verdict_text;
    uint32_t losses, first_lost;
    uint32_t agreements;
    uint64_t samples0; /* of the run before, where this one goes on with it */
    uint64_t news;     /* counts what has come, for those who wait for it */
    uint64_t looked_ns, neighbours_ns;
    uint32_t here; /* ranks on this machine */
    bool crowded;  /* more than it has cores */
    double wire_bytes;
    struct sum *sum; /* [window] */
    uint32_t window, chunk_max;
    uint64_t sums;         /* that our worker has joined */
    bool summing;          /* it waits for one */
    struct letter *tokens; /* emulating: on their way */
    struct letter *spare;
    uint64_t *part_rows;
    uint32_t *batch;
    pthread_mutex_t lock; /* of the wire and of channels: the keeper speaks too */
    pthread_cond_t wake;
    pthread_t keeper;
    bool kept, closing;
};

extern struct crowd mot_crowd; /* a process has one */

uint64_t mot_ranks_clock(void); /* ns, monotonic */
/* A rank hosts a worker, and server s is hosted besides by rank s, or, with more servers than
 * ranks, they go round. With `mpi.place: own` the first ranks host a server each, and the workers' follow. */
mot_node mot_ranks_first_node(const struct crowd *, uint32_t rank); /* of those it hosts */
uint32_t mot_ranks_of(const struct crowd *, mot_node);
struct berth *mot_ranks_berth(struct crowd *, mot_node); /* NULL: it is not here */

/* Sends under the lock, unless that rank is lost; `token` is a buffer that is held meanwhile, or 0. */
void mot_ranks_post(struct crowd *, uint32_t to, struct mot_envelope *, const void *body, mot_buf token);
void mot_ranks_progress(struct crowd *);             /* receives, gives signs of life, looks for lost ones */
void *mot_ranks_keep(void *crowd);                   /* the keeper's thread */
void mot_ranks_rest(struct crowd *, mot_time until); /* until something came; at most some ms */
struct letter *mot_ranks_letter(struct crowd *);
void mot_ranks_letter_free(struct crowd *, struct letter *);

/* ranks_port.c */
void mot_ranks_port_open(struct crowd *, struct berth *, mot_node self);
void mot_ranks_port_close(struct crowd *, struct berth *);
void mot_ranks_tell_lost(struct crowd *, uint32_t rank); /* every node here of every node there */
mot_time mot_ranks_next_due(const struct crowd *);       /* emulating: when the next message is to be seen */
void mot_ranks_end(struct crowd *);
/* A message of a method: where its body goes, before it is received. */
bool mot_ranks_expect_message(struct crowd *, struct letter *);

/* ranks_show.c: models that rank 0 evaluates and that are elsewhere. */
void mot_ranks_ask(struct mot_port *, uint64_t number, uint64_t at);
void mot_ranks_show(struct mot_port *, const struct mot_shown *);
bool mot_ranks_expect_show(struct crowd *, struct letter *); /* where its floats go; false: nonsense */
void mot_ranks_show_came(struct crowd *, struct letter *);   /* takes the body */
/* every node that is not lost has shown what it ends with */
bool mot_ranks_all_shown(struct crowd *);

/* ranks_sum.c */
void mot_ranks_sums_open(struct crowd *, uint32_t window);
void mot_ranks_sums_close(struct crowd *);
void mot_ranks_join(struct crowd *, const struct mot_coll *, bool last);
bool mot_ranks_sum_ready(struct crowd *, struct mot_arrival *out);
/* PART, SUM: where its floats go; false: nonsense */
bool mot_ranks_expect_part(struct crowd *, struct letter *);
void mot_ranks_part_came(struct crowd *, const struct letter *);
void mot_ranks_token_came(struct crowd *, const struct mot_envelope *);

#endif
