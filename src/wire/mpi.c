/* mpi.c -- the wire over MPI: the only file that knows it.
 *
 * An envelope and its body are two messages with two tags, so that the body can be received
 * straight into the pool. Receives for envelopes are posted ahead, from anyone, in a ring; MPI keeps
 * the order of each sender, so the bodies are matched in the order of the envelopes. After the
 * start there are no collectives, but those of `reduction: fast`: they would not survive a death. */
#include "wire/wire.h"

#ifndef MOTLEY_MPI

bool mot_wire_built(void) { return false; }
const char *mot_wire_library(void) { return "none"; }

enum mot_status mot_wire_open(struct mot_wire *out)
{
    (void)out;
    return mot_fail(MOT_EUSAGE,
        "this motley was built without MPI; install libopenmpi-dev and build again, or run without mpirun: "
        "motley train uses threads then");
}

/* Nobody comes here without a wire. */
void mot_wire_exchange(const void *mine, void *all, size_t bytes)
{
    (void)mine;
    (void)all;
    (void)bytes;
}
void mot_wire_close(enum mot_wire_leave leave, int code)
{
    (void)leave;
    (void)code;
}
void mot_wire_send(uint32_t to, const struct mot_envelope *e, const void *body, void *token)
{
    (void)to;
    (void)e;
    (void)body;
    (void)token;
}
void mot_wire_receive(uint32_t from, void *into, size_t bytes, void *token)
{
    (void)from;
    (void)into;
    (void)bytes;
    (void)token;
}
void mot_wire_reduce(const float *in, float *out, uint32_t n, double *scalar, int scalars, void *token)
{
    (void)in;
    (void)out;
    (void)n;
    (void)scalar;
    (void)scalars;
    (void)token;
}
bool mot_wire_poll(struct mot_wire_event *out)
{
    (void)out;
    return false;
}
uint32_t mot_wire_sending(void) { return 0; }

#else

#include "base/memory.h"
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_ENVELOPE = 1, TAG_BODY = 2 };
#define AHEAD 16u /* envelopes that can be received before we look */

enum flight_kind { FLIGHT_ENVELOPE, FLIGHT_OUT, FLIGHT_IN, FLIGHT_REDUCE };
struct flight {
    enum flight_kind kind;
    uint32_t from;
    void *token;
    bool failed;
};

/* an envelope must lie still until it is sent */
struct letter_box {
    struct letter_box *next;
    struct mot_envelope envelope;
};

static struct {
    MPI_Comm comm, reduce;
    struct mot_envelope ahead[AHEAD];
    MPI_Request ahead_request[AHEAD];
    uint32_t ahead_next;
    /* What is under way: requests and what they are for, side by side. */
    MPI_Request *request;
    struct flight *flight;
    int *done;
    MPI_Status *status;
    uint32_t flights, room, sending;
    /* finished ones that poll has not told yet: [done_at, done_n) of told */
    uint32_t done_n, done_at;
    struct flight *told;
    uint32_t reducing; /* requests of the sum under way */
    struct letter_box *spare;
} mpi;

bool mot_wire_built(void) { return true; }

const char *mot_wire_library(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0;
    MPI_Get_library_version(text, &n);
    text[strcspn(text, ",\n")] = '\0';
    return text;
}

static void post_ahead(uint32_t i)
{
    MPI_Irecv(&mpi.ahead[i], sizeof(struct mot_envelope), MPI_BYTE, MPI_ANY_SOURCE, TAG_ENVELOPE, mpi.comm,
        &mpi.ahead_request[i]);
}

enum mot_status mot_wire_open(struct mot_wire *out)
{
    int provided = MPI_THREAD_SINGLE, rank = 0, ranks = 0;
    /* One thread at a time calls: the node's, or the keeper that
     * gives signs of life while the node computes. */
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
        return mot_fail(MOT_ESYSTEM, "MPI cannot be started; expected mpirun -n RANKS motley train ...");
    if (provided < MPI_THREAD_SERIALIZED)
        return mot_fail(
            MOT_ESYSTEM, "this MPI library lets only one thread call it; expected MPI_THREAD_SERIALIZED");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &mpi.comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &mpi.reduce);
    MPI_Comm_set_errhandler(mpi.comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(mpi.reduce, MPI_ERRORS_RETURN);
    MPI_Comm_rank(mpi.comm, &rank);
    MPI_Comm_size(mpi.comm, &ranks);
    for (uint32_t i = 0; i < AHEAD; i++) post_ahead(i);
    *out = (struct mot_wire){ .rank = (uint32_t)rank, .ranks = (uint32_t)ranks };
    return MOT_OK;
}

void mot_wire_exchange(const void *mine, void *all, size_t bytes)
{
    MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, mpi.comm);
}

static void forget_all(void)
{
    while (mpi.spare) {
        struct letter_box *next = mpi.spare->next;
        free(mpi.spare);
        mpi.spare = next;
    }
    free(mpi.request);
    free(mpi.flight);
    free(mpi.done);
    free(mpi.status);
    free(mpi.told);
}

void mot_wire_close(enum mot_wire_leave leave, int code)
{
    if (leave == MOT_WIRE_ABORT) MPI_Abort(MPI_COMM_WORLD, code);
    if (leave != MOT_WIRE_FINISH) return;
    for (uint32_t i = 0; i < AHEAD; i++) {
        if (mpi.ahead_request[i] == MPI_REQUEST_NULL) continue;
        MPI_Cancel(&mpi.ahead_request[i]);
        MPI_Wait(&mpi.ahead_request[i], MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&mpi.reduce);
    MPI_Comm_free(&mpi.comm);
    MPI_Finalize();
    forget_all();
}

/* ---- What is under way ------------------------------------------------------------------- */

static MPI_Request *add_flight(enum flight_kind kind, uint32_t from, void *token)
{
    if (mpi.flights == mpi.room) {
        uint32_t room = mpi.room ? mpi.room * 2 : 64;
        mpi.request = mot_grow(mpi.request, room, sizeof(*mpi.request));
        mpi.flight = mot_grow(mpi.flight, room, sizeof(*mpi.flight));
        mpi.done = mot_grow(mpi.done, room, sizeof(*mpi.done));
        mpi.status = mot_grow(mpi.status, room, sizeof(*mpi.status));
        mpi.told = mot_grow(mpi.told, room, sizeof(*mpi.told));
        mpi.room = room;
    }
    mpi.flight[mpi.flights] = (struct flight){ kind, from, token, false };
    if (kind == FLIGHT_ENVELOPE || kind == FLIGHT_OUT) mpi.sending++;
    return &mpi.request[mpi.flights++];
}

/* Floats are counted as floats: MPI's counts are ints. */
static int count_of(size_t bytes, MPI_Datatype *type)
{
    bool floats = bytes % sizeof(float) == 0;
    size_t n = floats ? bytes / sizeof(float) : bytes;
    MOT_ASSERT(n <= INT_MAX && "a body of more floats than MPI can count");
    *type = floats ? MPI_FLOAT : MPI_BYTE;
    return (int)n;
}

void mot_wire_send(uint32_t to, const struct mot_envelope *e, const void *body, void *token)
{
    struct letter_box *box = mpi.spare;
    if (box) mpi.spare = box->next;
    else box = mot_new(1, sizeof(*box));
    box->envelope = *e;
    MPI_Isend(&box->envelope, sizeof(box->envelope), MPI_BYTE, (int)to, TAG_ENVELOPE, mpi.comm,
        add_flight(FLIGHT_ENVELOPE, to, box));
    if (e->bytes == 0) return;
    MPI_Datatype type;
    int n = count_of(e->bytes, &type);
    MPI_Isend(body, n, type, (int)to, TAG_BODY, mpi.comm, add_flight(FLIGHT_OUT, to, token));
}

void mot_wire_receive(uint32_t from, void *into, size_t bytes, void *token)
{
    MPI_Datatype type;
    int n = count_of(bytes, &type);
    MPI_Irecv(into, n, type, (int)from, TAG_BODY, mpi.comm, add_flight(FLIGHT_IN, from, token));
}

void mot_wire_reduce(const float *in, float *out, uint32_t n, double *scalar, int scalars, void *token)
{
    MOT_ASSERT(mpi.reducing == 0 && n <= INT_MAX);
    mpi.reducing = 2;
    MPI_Iallreduce(in, out, (int)n, MPI_FLOAT, MPI_SUM, mpi.reduce, add_flight(FLIGHT_REDUCE, 0, token));
    MPI_Iallreduce(
        MPI_IN_PLACE, scalar, scalars, MPI_DOUBLE, MPI_SUM, mpi.reduce, add_flight(FLIGHT_REDUCE, 0, token));
}

uint32_t mot_wire_sending(void) { return mpi.sending; }

/* Moves what has finished to `told`. */
static void look_at_flights(void)
{
    int n = 0;
    mpi.done_at = mpi.done_n = 0;
    if (mpi.flights == 0) return;
    bool failed = MPI_Testsome((int)mpi.flights, mpi.request, &n, mpi.done, mpi.status) == MPI_ERR_IN_STATUS;
    if (n <= 0) return; /* MPI_UNDEFINED is below 0 */
    for (int i = 0; i < n; i++) {
        mpi.told[mpi.done_n] = mpi.flight[mpi.done[i]];
        mpi.told[mpi.done_n++].failed = failed && mpi.status[i].MPI_ERROR != MPI_SUCCESS;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < mpi.flights; i++) {
        if (mpi.request[i] == MPI_REQUEST_NULL) continue;
        mpi.request[kept] = mpi.request[i];
        mpi.flight[kept++] = mpi.flight[i];
    }
    mpi.flights = kept;
}

/* False: this one is nobody's business. */
static bool tell(const struct flight *f, struct mot_wire_event *out)
{
    switch (f->kind) {
    case FLIGHT_ENVELOPE: {
        struct letter_box *box = f->token;
        box->next = mpi.spare;
        mpi.spare = box;
        mpi.sending--;
        return false;
    }
    case FLIGHT_OUT:
        mpi.sending--;
        out->kind = MOT_WIRE_SENT;
        break;
    case FLIGHT_IN: /* of one that failed nobody hears again: its sender is gone, and silence will tell */
        if (f->failed) return false;
        out->kind = MOT_WIRE_BODY;
        break;
    case FLIGHT_REDUCE:
        if (--mpi.reducing) return false;
        out->kind = MOT_WIRE_REDUCED;
        break;
    }
    out->from = f->from;
    out->token = f->token;
    return true;
}

bool mot_wire_poll(struct mot_wire_event *out)
{
    int flag = 0;
    if (mpi.done_at == mpi.done_n) look_at_flights();
    while (mpi.done_at < mpi.done_n)
        if (tell(&mpi.told[mpi.done_at++], out)) return true;
    MPI_Status status;
    uint32_t i = mpi.ahead_next;
    if (MPI_Test(&mpi.ahead_request[i], &flag, &status) != MPI_SUCCESS || !flag) return false;
    out->kind = MOT_WIRE_CAME;
    out->from = (uint32_t)status.MPI_SOURCE;
    out->envelope = mpi.ahead[i];
    post_ahead(i);
    mpi.ahead_next = (i + 1) % AHEAD;
    return true;
}

#endif
