/* wire.h -- what the driver over ranks needs of a message-passing library; mpi.c has it.
 *
 * A message is an envelope, and perhaps a body that is sent from where it lies and received
 * where the receiver wants it. Bodies of one sender come in the order of their envelopes. One thread
 * at a time may call. No call blocks, but open, exchange and close. */
#ifndef MOT_WIRE_WIRE_H
#define MOT_WIRE_WIRE_H

#include "wire/line.h"

bool mot_wire_built(void);          /* motley was built with MPI */
const char *mot_wire_library(void); /* "Open MPI v4.1.4" */

struct mot_wire {
    uint32_t rank, ranks;
};
enum mot_status mot_wire_open(struct mot_wire *out);
/* everyone gets everyone's; only at the start */
void mot_wire_exchange(const void *mine, void *all, size_t bytes);
/* finish: all are there and leave together. Else this rank just leaves, or, abort, takes all with it. */
enum mot_wire_leave { MOT_WIRE_FINISH, MOT_WIRE_LEAVE, MOT_WIRE_ABORT };
void mot_wire_close(enum mot_wire_leave, int code);

enum mot_wire_kind { MOT_WIRE_CAME, MOT_WIRE_BODY, MOT_WIRE_SENT, MOT_WIRE_REDUCED };
struct mot_wire_event {
    enum mot_wire_kind kind;
    uint32_t from;
    void *token;                  /* BODY, SENT, REDUCED: what was given */
    struct mot_envelope envelope; /* CAME */
};
/* The token comes back when the body may change again; without a body nothing comes. */
void mot_wire_send(uint32_t to, const struct mot_envelope *, const void *body, void *token);
void mot_wire_receive(uint32_t from, void *into, size_t bytes, void *token);
/* The library's own sum over all ranks: out becomes the sum, and so does scalar in place. */
void mot_wire_reduce(const float *in, float *out, uint32_t n, double *scalar, int scalars, void *token);
bool mot_wire_poll(struct mot_wire_event *out);
uint32_t mot_wire_sending(void); /* bodies and envelopes on their way out */

#endif
