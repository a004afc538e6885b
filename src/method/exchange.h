/* exchange.h -- segments of models to and from random peers.
 *
 * In a round a peer sends every segment of its model, from the model's own buffer (frozen while shared),
 * to the peer that the round's map names for that segment, and gets one from another. It then mixes out of
 * place: x[s] = (x[s] + received[s]) / 2, one new buffer for all segments. Peers are workers, or the first
 * workers of groups.
 *
 * Strict: every segment of a round is awaited, and those of later rounds keep their seats until then. The
 * caller bounds how far ahead a peer can be. Loose: the caller closes when it likes; a missing segment is
 * left as it is, or mixed with one that is late by no more rounds than the window. Whatever is farther off is
 * dropped and noted. Lost peers are left out: their receivers get from their sources. Answers bound what is
 * in flight: a peer that owes answers for two rounds' worth gets no more. */
#ifndef MOT_METHOD_EXCHANGE_H
#define MOT_METHOD_EXCHANGE_H

#include "method/segments.h"

enum { MOT_MSG_SEGMENT, MOT_MSG_SEGMENT_TAKEN };

#define MOT_EXCHANGE_FIELDS 3u /* the model, and two of the optimiser */

struct mot_exchange_plan {
    struct mot_segments cut;
    enum mot_peer_draw draw;
    uint32_t peers, size; /* peer p is worker p * size */
    uint32_t fields;      /* buffers that are mixed */
    uint32_t window; /* loose: rounds, either way; strict: rounds from the current one on that have seats */
    bool loose;
};

/* The last member of a method's state: what it keeps by segment and by peer follows. */
struct mot_exchange {
    struct mot_exchange_plan plan;
    uint64_t round;   /* in progress, or the next */
    uint64_t newest;  /* loose: the latest round of any segment so far */
    uint32_t missing; /* awaited segments */
    uint32_t owed;    /* loose: segments sent and not yet answered for */
    bool open;
};

/* Adds its needs to the method's. */
void mot_exchange_need(const struct mot_exchange_plan *, struct mot_need *);
void mot_exchange_init(struct mot_exchange *, const struct mot_exchange_plan *, uint64_t round);

/* Sends this worker's buffers, [fields], to the receivers of this round. */
void mot_exchange_open(struct mot_exchange *, struct mot_env *, const mot_buf *);
void mot_exchange_message(struct mot_exchange *, struct mot_env *, const struct mot_message *);
static inline bool mot_exchange_ready(const struct mot_exchange *e) { return e->open && e->missing == 0; }
/* Replaces the buffers by the mixed ones and goes on to the next round. moved: what mixing has moved the
 * model by so far, replaced too; NULL: not kept. */
void mot_exchange_close(struct mot_exchange *, struct mot_env *, mot_buf *, mot_buf *moved);

/* Loose: a worker more than the window behind the others skips to their round; otherwise nothing that it
 * sends or gets would be of use. */
void mot_exchange_catch_up(struct mot_exchange *, struct mot_env *);

/* limit, strict: this worker can get segments only of rounds before it. */
bool mot_exchange_admits(
    const struct mot_exchange *, const struct mot_env *, const struct mot_message *, uint64_t limit);
/* Loose: nothing is awaited from it any more. */
void mot_exchange_lose(struct mot_exchange *, struct mot_env *, mot_node);
void mot_exchange_check(const struct mot_exchange *, const struct mot_env *);

#endif
