/* record.h -- the events of every node of a live run, in order: enough to replay it.
 *
 * A method is a function of its events, so the events of all nodes are the run. Bodies are left out:
 * gradients, sums and models are recomputed from the same arrivals and samples. Each node writes its own
 * tape, without locks. */
#ifndef MOT_LIVE_RECORD_H
#define MOT_LIVE_RECORD_H

#include <motley/method.h>

/* The events of one node, packed. */
struct mot_tape {
    unsigned char *at;
    size_t n, room;
    uint64_t events;
    mot_time last;
    /* the gradient of the next event was poisoned and cannot be recomputed */
    bool spoilt;
};
/* streams: also records where in its stream a job was */
void mot_tape_put(struct mot_tape *, mot_time now, const struct mot_event *, bool streams);

/* A recorded event: what identifies it. */
struct mot_taped {
    enum mot_event_kind kind;
    mot_time now;
    mot_node from;             /* MESSAGE */
    uint16_t message;          /* MESSAGE: its kind */
    struct mot_head head;      /* MESSAGE */
    uint32_t rows;             /* MESSAGE: 1 + the part whose rows it brings, or 0 */
    uint32_t tag;              /* WORK, PIECE, COLL, TIMER */
    enum mot_coll_scope scope; /* COLL */
    uint32_t piece;            /* PIECE: of which term; WORK brings the next one */
    uint32_t samples;          /* WORK, PIECE */
    bool streams;              /* WORK, PIECE: samples of the node's own part are from `draw` on */
    uint64_t draw;
    bool spoilt;          /* WORK, PIECE: the gradient was poisoned */
    uint64_t check;       /* WORK, PIECE: the loss's bits; COLL: a hash of the scalars */
    struct mot_peer peer; /* PEER */
};
struct mot_tape_reader {
    const unsigned char *at, *end;
    mot_time now;
};
void mot_tape_rewind(const struct mot_tape *, struct mot_tape_reader *);
/* false: end of the tape, or damaged */
bool mot_tape_next(struct mot_tape_reader *, struct mot_taped *out);
uint64_t mot_scalars_check(const double *scalar); /* of a collective */

struct mot_record {
    uint32_t nodes;
    uint64_t hash;       /* of experiment and data; ties the record to them */
    uint64_t model_hash; /* of the final model; 0: unknown here */
    uint32_t status;     /* how it ended: enum mot_status */
    /* [nodes]: the update that each node's part of the final model is from; where workers go at their own
     * pace, the event */
    uint64_t *ends_at;
    struct mot_tape *tape; /* [nodes]; those of other processes are empty */
};
void mot_record_open(struct mot_record *, uint32_t nodes, uint64_t hash);
void mot_record_close(struct mot_record *);

/* A file holds the tapes that are not empty. With several processes each writes a file: record.bin by the
 * lead's, record.RANK.bin by the others. */
enum mot_status mot_record_write(const struct mot_record *, const char *path);
/* Reads record.bin, and record.1.bin, ... for the nodes that it lacks. `hash` 0: any experiment. */
enum mot_status mot_record_read(const char *folder, uint64_t hash, struct mot_record *out);
/* Parses one file and adds its tapes to *into, which was opened or is all zero. */
enum mot_status mot_record_parse(
    const char *name, const unsigned char *bytes, size_t n, struct mot_record *into);

#endif
