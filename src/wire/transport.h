/* transport.h -- what the driver over ranks needs from whatever carries its messages: a table of
 * operations.
 *
 * A message is an envelope and perhaps a body, which is sent from where it is and received where the
 * receiver wants it. Between two ranks, messages arrive once and in the order they were sent. So do
 * bodies: each is asked for, in that order, after its envelope has arrived. A transport that cannot keep
 * this promise delivers nothing more from that rank; the line (line.h) notices silence, and whatever is
 * missing or damaged.
 *
 * One thread at a time may call. No call blocks except open, exchange and close. */
#ifndef MOT_WIRE_TRANSPORT_H
#define MOT_WIRE_TRANSPORT_H

#include "wire/line.h"

enum mot_wire_kind {
    MOT_WIRE_CAME,    /* an envelope */
    MOT_WIRE_BODY,    /* the body is in place */
    MOT_WIRE_VOID,    /* the body will not come, or has the wrong length */
    MOT_WIRE_BROKEN,  /* nothing more comes from that rank, or goes to it: a closed connection */
    MOT_WIRE_SENT,    /* the body may change again: sent, or its receiver forgotten */
    MOT_WIRE_REDUCED, /* the sum is complete */
};
struct mot_wire_event {
    enum mot_wire_kind kind;
    uint32_t from;
    void *token;                  /* as given: for BODY, VOID, SENT, REDUCED */
    struct mot_envelope envelope; /* CAME */
};

/* How a rank leaves. FINISH: all are there and leave together. LEAVE: only this one leaves. ABORT: it
 * takes everyone down, if the transport can. */
enum mot_wire_leave { MOT_WIRE_FINISH, MOT_WIRE_LEAVE, MOT_WIRE_ABORT };

struct mot_transport;
struct mot_transport_ops {
    const char *name;
    /* Gives everyone's data to everyone, by rank. Once, before anything is sent. */
    void (*exchange)(struct mot_transport *, const void *mine, void *all, size_t bytes);

    /* The envelope is copied. The token comes back with SENT, if there is a body. */
    void (*send)(
        struct mot_transport *, uint32_t to, const struct mot_envelope *, const void *body, void *token);
    void (*receive)(struct mot_transport *, uint32_t from, void *into, size_t bytes, void *token);
    /* The transport's own sum over all ranks, in any order: the result goes to out, and to scalar in
     * place. NULL: it has none. */
    void (*reduce)(struct mot_transport *, const float *in, float *out, uint32_t n, double *scalar,
        int scalars, void *token);
    bool (*poll)(struct mot_transport *, struct mot_wire_event *out);
    uint32_t (*sending)(const struct mot_transport *); /* bodies and envelopes not yet sent */

    /* near: is it on this machine? watch: from now on. gone: it has ended; false if unknown. end: kills
     * it, even if stopped; false: impossible. */
    bool (*near)(const struct mot_transport *, uint32_t rank);
    void (*watch)(struct mot_transport *, uint32_t rank);
    bool (*gone)(const struct mot_transport *, uint32_t rank);
    bool (*end)(struct mot_transport *, uint32_t rank);

    /* That rank is lost: nothing more goes to it or comes from it. True: transfers in flight are abandoned
     * and their tokens come back. False: that is impossible, and their memory must stay until the process
     * ends. */
    bool (*forget)(struct mot_transport *, uint32_t rank);
    /* Frees the transport, unless its memory must stay. */
    void (*close)(struct mot_transport *, enum mot_wire_leave, int code);
};

/* Must be the first member of every transport's own struct. */
struct mot_transport {
    const struct mot_transport_ops *ops;
    uint32_t rank, ranks;
};

/* Over MPI: joins the ranks that mpirun or srun started. Possible once per process, since MPI can be
 * started only once. If motley was built without MPI, or the library is not here, both fail and say how to
 * get it. mot_mpi_library: "Open MPI v4.1.4". */
enum mot_status mot_mpi_library(char *into, size_t size);
enum mot_status mot_mpi_open(struct mot_transport **out);

#endif
