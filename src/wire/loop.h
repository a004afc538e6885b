/* loop.h -- several ranks in one process, each a thread: a transport for tests.
 *
 * Each pair of ranks has a queue with room for MOT_LOOP_ROOM messages; what does not fit waits at its
 * sender and counts as being sent. A test sees each message as it is sent and decides its fate, and may
 * kill ranks. A killed rank sends and receives nothing more. It sees all others as gone, so its thread
 * ends. */
#ifndef MOT_WIRE_LOOP_H
#define MOT_WIRE_LOOP_H

#include "wire/transport.h"

#define MOT_LOOP_ROOM 4u

enum mot_loop_fate {
    MOT_LOOP_PASS,
    MOT_LOOP_DROP,
    MOT_LOOP_HOLD, /* hold it and all that follows until mot_loop_release */
    MOT_LOOP_HALF, /* let the envelope pass; hold its body and all that follows */
    MOT_LOOP_CUT,  /* drop it and all that follows, unnoticed */
    MOT_LOOP_END,  /* the same, and tell its receiver that the link is broken */
    MOT_LOOP_KILL, /* kill its sender instead of sending it */
};

/* A message as it is sent; the test may change it. */
struct mot_loop_frame {
    uint32_t from, to;
    struct mot_envelope *envelope;
    void *body; /* [bytes]: a copy; NULL: none */
    size_t bytes;
};
typedef enum mot_loop_fate mot_loop_look(void *self, struct mot_loop_frame *);

struct mot_loop;
/* `look` may be NULL. It is called from the threads of all ranks, one at a time, and must not call into
 * this file. */
struct mot_loop *mot_loop_new(uint32_t ranks, mot_loop_look *look, void *self);
void mot_loop_free(struct mot_loop *); /* call when all transports are closed */

/* One rank's end. The ranks' threads open theirs in any order. */
enum mot_status mot_loop_open(struct mot_loop *, uint32_t rank, struct mot_transport **out);

void mot_loop_kill(struct mot_loop *, uint32_t rank);
void mot_loop_release(struct mot_loop *); /* everything held */

#endif
