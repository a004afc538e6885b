/* mpi.c -- the transport over MPI, and the only file that knows MPI.
 *
 * An envelope and its body are two messages with two tags, so that the body can be received straight into
 * the pool. Receives for envelopes are posted ahead, from any source, in a ring. MPI keeps each sender's
 * order, so bodies are matched in the order of their envelopes. After the start there are no collectives
 * except those of `reduction: fast`: they would not survive a death. */
#include "wire/transport.h"

#ifndef MOTLEY_MPI

enum mot_status mot_mpi_library(char *into, size_t size)
{
    (void)into;
    (void)size;
    return mot_fail(MOT_EUSAGE,
        "this motley was built without MPI; install libopenmpi-dev and rebuild, or run without mpirun: "
        "motley train then uses threads");
}

enum mot_status mot_mpi_open(struct mot_transport **out)
{
    (void)out;
    return mot_mpi_library(NULL, 0);
}

#else

#include "base/memory.h"
#include "base/ondemand.h"
#include "wire/neighbour.h"
#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MOTLEY_MPI is the name of the library that mpi.h belongs to. Open MPI's handles are addresses in it,
 * others' are numbers. */
#ifdef OPEN_MPI
#define MPI_HANDLES(CALL)                                                                                    \
    CALL(ompi_, mpi_comm_world)                                                                              \
    CALL(ompi_, mpi_byte)                                                                                    \
    CALL(ompi_, mpi_float)                                                                                   \
    CALL(ompi_, mpi_double)                                                                                  \
    CALL(ompi_, mpi_op_sum)                                                                                  \
    CALL(ompi_, mpi_errors_return)                                                                           \
    CALL(ompi_, request_null)
#define MPI_PACKAGE "openmpi-bin"
#else
#define MPI_HANDLES(CALL)
#define MPI_PACKAGE NULL
#endif
#define MPI_CALLS(CALL)                                                                                      \
    CALL(MPI_, Abort)                                                                                        \
    CALL(MPI_, Allgather)                                                                                    \
    CALL(MPI_, Cancel)                                                                                       \
    CALL(MPI_, Comm_dup)                                                                                     \
    CALL(MPI_, Comm_free)                                                                                    \
    CALL(MPI_, Comm_rank)                                                                                    \
    CALL(MPI_, Comm_set_errhandler)                                                                          \
    CALL(MPI_, Comm_size)                                                                                    \
    CALL(MPI_, Finalize)                                                                                     \
    CALL(MPI_, Get_count)                                                                                    \
    CALL(MPI_, Get_library_version)                                                                          \
    CALL(MPI_, Iallreduce)                                                                                   \
    CALL(MPI_, Init_thread)                                                                                  \
    CALL(MPI_, Initialized)                                                                                  \
    CALL(MPI_, Irecv)                                                                                        \
    CALL(MPI_, Isend)                                                                                        \
    CALL(MPI_, Test)                                                                                         \
    CALL(MPI_, Testsome)                                                                                     \
    CALL(MPI_, Wait)                                                                                         \
    MPI_HANDLES(CALL)
static struct {
    MPI_CALLS(MOT_ONDEMAND_POINTER)
} mpi;
static const char *const mpi_names[] = { MPI_CALLS(MOT_ONDEMAND_NAME) };
static struct mot_ondemand mpi_library = { .file = MOTLEY_MPI,
    .wanted_by = "a run over MPI",
    .package = MPI_PACKAGE,
    .plugins = true,
    MOT_ONDEMAND_TABLE(mpi, mpi_names) };
#ifdef OPEN_MPI
#define ompi_mpi_comm_world (*mpi.mpi_comm_world)
#define ompi_mpi_byte (*mpi.mpi_byte)
#define ompi_mpi_float (*mpi.mpi_float)
#define ompi_mpi_double (*mpi.mpi_double)
#define ompi_mpi_op_sum (*mpi.mpi_op_sum)
#define ompi_mpi_errors_return (*mpi.mpi_errors_return)
#define ompi_request_null (*mpi.request_null)
#endif

enum { TAG_ENVELOPE = 1, TAG_BODY = 2 };
#define AHEAD 16u /* envelopes that can arrive between two polls */

enum flight_kind { FLIGHT_ENVELOPE, FLIGHT_OUT, FLIGHT_IN, FLIGHT_REDUCE };
struct flight {
    enum flight_kind kind;
    uint32_t from;
    void *token;
    size_t bytes; /* IN: expected */
    bool failed;
};

/* An envelope must not move until it is sent. */
struct letter_box {
    struct letter_box *next;
    struct mot_envelope envelope;
};

struct mpi {
    struct mot_transport transport; /* first */
    MPI_Comm comm, reduce;
    bool yields; /* as Open MPI has it */
    struct mot_envelope ahead[AHEAD];
    MPI_Request ahead_request[AHEAD];
    uint32_t ahead_next;
    /* Transfers in flight: requests, and beside them what they are for. */
    MPI_Request *request;
    struct flight *flight;
    int *done;
    MPI_Status *status;
    uint32_t flights, room, sending;
    /* finished ones not yet reported by poll: [done_at, done_n) of told */
    uint32_t done_n, done_at;
    struct flight *told;
    uint32_t reducing; /* requests of the current sum */
    struct letter_box *spare;
    struct mot_neighbour_id *id; /* [ranks] */
    int *process;                /* [ranks]: descriptor of a watched process, or -1 */
};

static struct mpi *mpi_of(struct mot_transport *t) { return (struct mpi *)t; }

enum mot_status mot_mpi_library(char *into, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0;
    enum mot_status status = mot_ondemand(&mpi_library);
    if (status != MOT_OK) return status;
    mpi.Get_library_version(text, &n);
    text[strcspn(text, ",\n")] = '\0';
    snprintf(into, size, "%s", text);
    return MOT_OK;
}

static void post_ahead(struct mpi *m, uint32_t i)
{
    mpi.Irecv(&m->ahead[i], sizeof(struct mot_envelope), MPI_BYTE, MPI_ANY_SOURCE, TAG_ENVELOPE, m->comm,
        &m->ahead_request[i]);
}

/* With more ranks than cores, Open MPI gives the core away in every call that finds nothing; on a busy
 * machine, every other program then gets a whole turn, each time. That is right for calls that wait; a rank
 * that polls knows better when to yield and when to sleep (mot_ranks_rest). Returns what was set before. A
 * setting in the environment is obeyed; other libraries have no such switch. */
static bool let_mpi_yield(bool yes)
{
    bool (*set)(bool);
    *(void **)&set = dlsym(RTLD_DEFAULT, "opal_progress_set_yield_when_idle");
    return set && !getenv("OMPI_MCA_mpi_yield_when_idle") ? set(yes) : yes;
}

static void mpi_exchange(struct mot_transport *t, const void *mine, void *all, size_t bytes)
{
    let_mpi_yield(mpi_of(t)->yields);
    mpi.Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, mpi_of(t)->comm);
    let_mpi_yield(false);
}

static void forget_all(struct mpi *m)
{
    while (m->spare) {
        struct letter_box *next = m->spare->next;
        free(m->spare);
        m->spare = next;
    }
    for (uint32_t r = 0; r < m->transport.ranks; r++) mot_neighbour_close(m->process[r]);
    free(m->process);
    free(m->id);
    free(m->request);
    free(m->flight);
    free(m->done);
    free(m->status);
    free(m->told);
    free(m);
}

static void mpi_close(struct mot_transport *t, enum mot_wire_leave leave, int code)
{
    struct mpi *m = mpi_of(t);
    if (leave == MOT_WIRE_ABORT) mpi.Abort(MPI_COMM_WORLD, code);
    if (leave != MOT_WIRE_FINISH) return;
    let_mpi_yield(m->yields);
    for (uint32_t i = 0; i < AHEAD; i++) {
        if (m->ahead_request[i] == MPI_REQUEST_NULL) continue;
        mpi.Cancel(&m->ahead_request[i]);
        mpi.Wait(&m->ahead_request[i], MPI_STATUS_IGNORE);
    }
    mpi.Comm_free(&m->reduce);
    mpi.Comm_free(&m->comm);
    mpi.Finalize();
    forget_all(m);
}

/* ---- Processes ----------------------------------------------------------------------------- */

static bool mpi_near(const struct mot_transport *t, uint32_t rank)
{
    const struct mpi *m = (const struct mpi *)t;
    return m->id[rank].machine == m->id[t->rank].machine;
}

static void mpi_watch(struct mot_transport *t, uint32_t rank)
{
    struct mpi *m = mpi_of(t);
    if (m->process[rank] < 0) m->process[rank] = mot_neighbour_open(&m->id[rank]);
}

static bool mpi_gone(const struct mot_transport *t, uint32_t rank)
{
    return mot_neighbour_gone(((const struct mpi *)t)->process[rank]);
}

static bool mpi_end(struct mot_transport *t, uint32_t rank)
{
    return mot_neighbour_end(mpi_of(t)->process[rank]);
}

/* A receive that has begun can be neither cancelled nor awaited, as it may never end. */
static bool mpi_forget(struct mot_transport *t, uint32_t rank)
{
    (void)t;
    (void)rank;
    return false;
}

/* ---- Transfers in flight ------------------------------------------------------------------- */

static MPI_Request *add_flight(struct mpi *m, enum flight_kind kind, uint32_t from, size_t bytes, void *token)
{
    if (m->flights == m->room) {
        uint32_t room = m->room ? m->room * 2 : 64;
        m->request = mot_grow(m->request, room, sizeof(*m->request));
        m->flight = mot_grow(m->flight, room, sizeof(*m->flight));
        m->done = mot_grow(m->done, room, sizeof(*m->done));
        m->status = mot_grow(m->status, room, sizeof(*m->status));
        m->told = mot_grow(m->told, room, sizeof(*m->told));
        m->room = room;
    }
    m->flight[m->flights] = (struct flight){ kind, from, token, bytes, false };
    if (kind == FLIGHT_ENVELOPE || kind == FLIGHT_OUT) m->sending++;
    return &m->request[m->flights++];
}

/* MPI's counts are ints, so floats are counted as floats, not bytes. */
static int count_of(size_t bytes, MPI_Datatype *type)
{
    bool floats = bytes % sizeof(float) == 0;
    size_t n = floats ? bytes / sizeof(float) : bytes;
    MOT_ASSERT(n <= INT_MAX && "a body of more floats than MPI can count");
    *type = floats ? MPI_FLOAT : MPI_BYTE;
    return (int)n;
}

static void mpi_send(
    struct mot_transport *t, uint32_t to, const struct mot_envelope *e, const void *body, void *token)
{
    struct mpi *m = mpi_of(t);
    struct letter_box *box = m->spare;
    if (box) m->spare = box->next;
    else box = mot_new(1, sizeof(*box));
    memcpy(&box->envelope, e, sizeof(*e));
    mpi.Isend(&box->envelope, sizeof(box->envelope), MPI_BYTE, (int)to, TAG_ENVELOPE, m->comm,
        add_flight(m, FLIGHT_ENVELOPE, to, 0, box));
    if (e->bytes == 0) return;
    MPI_Datatype type;
    int n = count_of(e->bytes, &type);
    mpi.Isend(body, n, type, (int)to, TAG_BODY, m->comm, add_flight(m, FLIGHT_OUT, to, 0, token));
}

static void mpi_receive(struct mot_transport *t, uint32_t from, void *into, size_t bytes, void *token)
{
    struct mpi *m = mpi_of(t);
    MPI_Datatype type;
    int n = count_of(bytes, &type);
    mpi.Irecv(into, n, type, (int)from, TAG_BODY, m->comm, add_flight(m, FLIGHT_IN, from, bytes, token));
}

static void mpi_reduce(struct mot_transport *t, const float *in, float *out, uint32_t n, double *scalar,
    int scalars, void *token)
{
    struct mpi *m = mpi_of(t);
    MOT_ASSERT(m->reducing == 0 && n <= INT_MAX);
    m->reducing = 2;
    mpi.Iallreduce(in, out, (int)n, MPI_FLOAT, MPI_SUM, m->reduce, add_flight(m, FLIGHT_REDUCE, 0, 0, token));
    mpi.Iallreduce(MPI_IN_PLACE, scalar, scalars, MPI_DOUBLE, MPI_SUM, m->reduce,
        add_flight(m, FLIGHT_REDUCE, 0, 0, token));
}

static uint32_t mpi_sending(const struct mot_transport *t) { return ((const struct mpi *)t)->sending; }

static bool has_failed(const struct flight *f, const MPI_Status *status, bool errors)
{
    MPI_Datatype type;
    int n = 0;
    if (errors && status->MPI_ERROR != MPI_SUCCESS) return true;
    if (f->kind != FLIGHT_IN) return false;
    int wanted = count_of(f->bytes, &type);
    return mpi.Get_count(status, type, &n) != MPI_SUCCESS || n != wanted;
}

/* Moves finished transfers to `told`. */
static void look_at_flights(struct mpi *m)
{
    int n = 0;
    m->done_at = m->done_n = 0;
    if (m->flights == 0) return;
    bool errors = mpi.Testsome((int)m->flights, m->request, &n, m->done, m->status) == MPI_ERR_IN_STATUS;
    if (n <= 0) return; /* MPI_UNDEFINED is below 0 */
    for (int i = 0; i < n; i++) {
        struct flight *f = &m->told[m->done_n++];
        *f = m->flight[m->done[i]];
        f->failed = has_failed(f, &m->status[i], errors);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->flights; i++) {
        if (m->request[i] == MPI_REQUEST_NULL) continue;
        m->request[kept] = m->request[i];
        m->flight[kept++] = m->flight[i];
    }
    m->flights = kept;
}

/* False: nobody needs to know. */
static bool tell(struct mpi *m, const struct flight *f, struct mot_wire_event *out)
{
    switch (f->kind) {
    case FLIGHT_ENVELOPE: {
        struct letter_box *box = f->token;
        box->next = m->spare;
        m->spare = box;
        m->sending--;
        return false;
    }
    case FLIGHT_OUT:
        m->sending--;
        out->kind = MOT_WIRE_SENT;
        break;
    case FLIGHT_IN: out->kind = f->failed ? MOT_WIRE_VOID : MOT_WIRE_BODY; break;
    case FLIGHT_REDUCE:
        if (--m->reducing) return false;
        out->kind = MOT_WIRE_REDUCED;
        break;
    }
    out->from = f->from;
    out->token = f->token;
    return true;
}

static bool mpi_poll(struct mot_transport *t, struct mot_wire_event *out)
{
    struct mpi *m = mpi_of(t);
    int flag = 0;
    if (m->done_at == m->done_n) look_at_flights(m);
    while (m->done_at < m->done_n)
        if (tell(m, &m->told[m->done_at++], out)) return true;
    MPI_Status status;
    uint32_t i = m->ahead_next;
    if (mpi.Test(&m->ahead_request[i], &flag, &status) != MPI_SUCCESS || !flag) return false;
    out->kind = MOT_WIRE_CAME;
    out->from = (uint32_t)status.MPI_SOURCE;
    memcpy(&out->envelope, &m->ahead[i], sizeof(out->envelope));
    post_ahead(m, i);
    m->ahead_next = (i + 1) % AHEAD;
    return true;
}

static const struct mot_transport_ops mpi_ops = { .name = "mpi",
    .exchange = mpi_exchange,
    .send = mpi_send,
    .receive = mpi_receive,
    .reduce = mpi_reduce,
    .poll = mpi_poll,
    .sending = mpi_sending,
    .near = mpi_near,
    .watch = mpi_watch,
    .gone = mpi_gone,
    .end = mpi_end,
    .forget = mpi_forget,
    .close = mpi_close };

/* ---- Opening --------------------------------------------------------------------------------- */

static enum mot_status start_mpi(void)
{
    int started = 0, provided = MPI_THREAD_SINGLE;
    enum mot_status status = mot_ondemand(&mpi_library);
    if (status != MOT_OK) return status;
    mpi.Initialized(&started);
    if (started)
        return mot_fail(MOT_ESYSTEM, "MPI is already running, or has already ended, in this process");
    /* One thread at a time calls: the node's, or the keeper, which gives signs of life while the node
     * computes. */
    if (mpi.Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
        return mot_fail(MOT_ESYSTEM, "MPI cannot be started; expected mpirun -n RANKS motley train ...");
    if (provided < MPI_THREAD_SERIALIZED)
        return mot_fail(
            MOT_ESYSTEM, "this MPI library lets only one thread call it; expected MPI_THREAD_SERIALIZED");
    return MOT_OK;
}

enum mot_status mot_mpi_open(struct mot_transport **out)
{
    int rank = 0, ranks = 0;
    enum mot_status status = start_mpi();
    if (status != MOT_OK) return status;
    struct mpi *m = mot_new(1, sizeof(*m));
    mpi.Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    mpi.Comm_dup(MPI_COMM_WORLD, &m->comm);
    mpi.Comm_dup(MPI_COMM_WORLD, &m->reduce);
    mpi.Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    mpi.Comm_set_errhandler(m->reduce, MPI_ERRORS_RETURN);
    mpi.Comm_rank(m->comm, &rank);
    mpi.Comm_size(m->comm, &ranks);
    m->transport =
        (struct mot_transport){ .ops = &mpi_ops, .rank = (uint32_t)rank, .ranks = (uint32_t)ranks };
    m->yields = let_mpi_yield(false);
    for (uint32_t i = 0; i < AHEAD; i++) post_ahead(m, i);
    struct mot_neighbour_id self = mot_neighbour_self();
    m->id = mot_new(m->transport.ranks, sizeof(*m->id));
    m->process = mot_new(m->transport.ranks, sizeof(*m->process));
    for (uint32_t r = 0; r < m->transport.ranks; r++) m->process[r] = -1;
    mpi_exchange(&m->transport, &self, m->id, sizeof(self));
    *out = &m->transport;
    return MOT_OK;
}

#endif
