/* record.h -- what each node of a live run was given, in order: enough to run it again.
 *
 * A method is a function of its events, so the events of every node are the run. Bodies are
 * not kept: gradients, sums and models are computed again from the same order of arrivals and
 * the same samples. A node writes to its own tape, without locks. */
#ifndef MOT_LIVE_RECORD_H
#define MOT_LIVE_RECORD_H

#include <motley/method.h>

/* The events of one node, packed. */
struct mot_tape {
    unsigned char *at;
    size_t n, room;
    uint64_t events;
    mot_time last;
    /* the gradient of the next event was poisoned: it cannot be computed again */
    bool spoilt;
};
void mot_tape_put(struct mot_tape *, mot_time now, const struct mot_event *);

/* An event as it was written: what tells it from others. */
struct mot_taped {
    enum mot_event_kind kind;
    mot_time now;
    mot_node from;        /* MESSAGE */
    uint16_t message;     /* MESSAGE: its kind */
    struct mot_head head; /* MESSAGE */
    uint32_t tag;         /* WORK, COLL, TIMER */
    uint32_t samples;     /* WORK */
    bool spoilt;          /* WORK: its gradient was poisoned */
    uint64_t check;       /* WORK: the bits of the loss; COLL: a hash of the scalars */
    struct mot_peer peer; /* PEER */
};
struct mot_tape_reader {
    const unsigned char *at, *end;
    mot_time now;
};
void mot_tape_rewind(const struct mot_tape *, struct mot_tape_reader *);
/* false: the tape is over, or damaged */
bool mot_tape_next(struct mot_tape_reader *, struct mot_taped *out);
uint64_t mot_scalars_check(const double *scalar); /* of a collective */

struct mot_record {
    uint32_t nodes;
    uint64_t hash;         /* of experiment and data: the record belongs to it */
    uint64_t model_hash;   /* what came out; 0 if it is not known here */
    uint32_t status;       /* and how: enum mot_status */
    uint64_t *ends_at;     /* [nodes]: the update whose model is each one's part of what came out */
    struct mot_tape *tape; /* [nodes]; those of other processes are empty */
};
void mot_record_open(struct mot_record *, uint32_t nodes, uint64_t hash);
void mot_record_close(struct mot_record *);

/* A file holds the tapes that are not empty. A run of many processes writes one file for each:
 * record.bin by the lead's, record.RANK.bin by the others. */
enum mot_status mot_record_write(const struct mot_record *, const char *path);
/* Reads record.bin, and record.1.bin, ... for the nodes that it lacks. `hash` 0: of any experiment. */
enum mot_status mot_record_read(const char *folder, uint64_t hash, struct mot_record *out);
/* One file's bytes; adds its tapes to *into, which was opened or is all zero. */
enum mot_status mot_record_parse(
    const char *name, const unsigned char *bytes, size_t n, struct mot_record *into);

#endif
