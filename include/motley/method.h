/* method.h -- all that one needs to write a method.
 *
 * A method is a pure state machine: step() takes one event and appends effects
 * to an outbox, which the driver carries out after it returns. A method never
 * blocks, reads a clock, allocates or does I/O, and cannot tell whether it runs
 * in the simulator, on threads or over MPI.
 *
 * Its state is plain bytes without pointers (buffers are handles), so that
 * states + buffers + pending events are a checkpoint of a simulated run. */
#ifndef MOTLEY_METHOD_H
#define MOTLEY_METHOD_H

#include <motley/option.h>
#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t mot_node; /* workers are 0..workers-1, servers follow */
typedef uint32_t mot_buf;  /* a handle: `dim` floats in the driver's pool */
typedef uint64_t mot_time; /* nanoseconds since the run began */

#define MOT_NEVER UINT64_MAX
#define MOT_NO_BUF UINT32_C(0)
#define MOT_SCALARS 4

/* A run of floats in a buffer. */
struct mot_slice {
    mot_buf buf;
    uint32_t off, len;
};

/* Whom a worker averages its model with, where the method has `neighbours`. Who is near worker i is
 * near[at[i]] .. near[at[i + 1] - 1], rising. Weights are symmetric; what they leave of 1 is the worker's
 * own. The links are cut into matchings: sets in which no worker occurs twice. A method that asks for less
 * than all of them (see `budget`) uses matching j in a round with the chance chance[j],
 * independent of the others. */
struct mot_near {
    mot_node node;
    uint32_t matching;
    double weight;
};
struct mot_mixing {
    const uint32_t *at; /* [workers + 1] */
    const struct mot_near *near;
    uint32_t matchings;   /* 0: the links are not cut, since all are used in every round */
    const double *chance; /* [matchings] */
};

/* What every node knows of the run. Does not change while it lasts. */
struct mot_optim;
struct mot_world {
    uint32_t workers, servers, nodes; /* nodes = workers + servers */
    uint32_t dim;                     /* floats in a buffer: the model's parameters */
    uint64_t seed;
    uint32_t parts;                /* worker i holds part i */
    const uint64_t *part_rows;     /* rows of each part */
    uint64_t rows;                 /* of all parts */
    const uint32_t *batch;         /* samples a batch, for each worker */
    const struct mot_optim *optim; /* the optimiser the experiment asks for */
    mot_buf x0, zero;              /* the initial parameters, and zeros; the driver holds both */
    /* a run that goes on: the optimiser's buffers, or MOT_NO_BUF; held too */
    mot_buf slot0[2];
    uint64_t step0;                  /* and its steps */
    const uint64_t *draw0;           /* and how far each worker is in its data; NULL: at the beginning */
    const struct mot_mixing *mixing; /* of a method with `neighbours`; else NULL */
};

/* ---- Work: a gradient sum over samples ---------------------------------- */

/* Which samples: `samples` of them from position `draw` on, in the endless
 * sequence that the sampler makes of a part. The same (seed, part, draw)
 * always names the same sample, whoever computes it. */
struct mot_term {
    uint32_t part;
    uint64_t draw;
    uint32_t samples;
    float coef;
};

struct mot_work {
    uint32_t tag; /* comes back in the result */
    uint32_t terms;
    const struct mot_term *term; /* copied by mot_start */
    mot_time deadline;           /* take what is done by then; MOT_NEVER */
    mot_buf at;                  /* the parameters; held until EV_WORK */
};

struct mot_result {
    uint32_t tag;
    uint32_t samples; /* covered; fewer than asked: deadline, cancel, or no data left */
    double loss;      /* sum of coef * loss over these samples */
    mot_buf grad;     /* sum of coef * gradient; lent for this step */
};

/* ---- Messages and collectives ------------------------------------------- */

/* Travels beside the body; its meaning is the method's. */
struct mot_head {
    uint64_t round;
    uint32_t samples;
    double value;
};

struct mot_message {
    mot_node from, to;
    uint16_t kind;
    /* the body is what its sender handed over: it never left memory, or its checksum fits */
    bool intact;
    struct mot_head head;
    struct mot_slice body; /* lent for this step; buf may be MOT_NO_BUF */
};

/* A sum over all workers: each calls mot_collect with the same `tag`, rising
 * from one collective to the next; everyone gets the sum, taken in rank order.
 * Scalars are summed beside it. */
struct mot_coll {
    uint32_t tag;
    struct mot_slice in;
    double scalar[MOT_SCALARS];
};

struct mot_coll_result {
    uint32_t tag;
    struct mot_slice out; /* lent for this step */
    double scalar[MOT_SCALARS];
};

/* ---- Events -------------------------------------------------------------- */

enum mot_event_kind {
    MOT_EV_START,   /* once in a life, before any other */
    MOT_EV_MESSAGE, /* exactly once each, in order for each pair of nodes */
    MOT_EV_WORK,    /* exactly one for each mot_start */
    MOT_EV_COLL,    /* exactly one for each mot_collect, unless a worker is lost */
    MOT_EV_TIMER,   /* an alarm went off; it is disarmed */
    MOT_EV_PEER,    /* a node was lost, or has come back as a new life that knows nothing */
};

struct mot_peer {
    mot_node node;
    uint32_t life;
    bool up;
};

struct mot_event {
    enum mot_event_kind kind;
    union {
        const struct mot_message *message;
        const struct mot_result *work;
        const struct mot_coll_result *coll;
        uint32_t timer; /* the alarm's tag */
        struct mot_peer peer;
    };
};

/* ---- The environment of a step ------------------------------------------- */

struct mot_pool;
struct mot_outbox;
struct mot_memo;
struct mot_env {
    mot_node self;
    mot_time now; /* constant during a step */
    const struct mot_world *world;
    const void *conf; /* the method's options, parsed */
    /* in init: how often this node has begun before; not 0 if it was lost and has come back */
    uint32_t life;
    struct mot_pool *pool;
    struct mot_outbox *out;
    struct mot_memo *memo;
};

/* ---- Effects: none can fail, need() declared the most there can be -------- */

MOT_API void mot_send(struct mot_env *, mot_node to, uint16_t kind, struct mot_head, struct mot_slice body);
MOT_API void mot_start(struct mot_env *, const struct mot_work *);
/* EV_WORK comes now, with the part done; void if it has come */
MOT_API void mot_cancel(struct mot_env *, uint32_t tag);
MOT_API void mot_collect(struct mot_env *, const struct mot_coll *);
MOT_API void mot_alarm(struct mot_env *, uint32_t tag, mot_time at); /* tags 0..alarms-1; MOT_NEVER disarms */
MOT_API void mot_advance(struct mot_env *);                 /* this node made an update of its model */
MOT_API void mot_credit(struct mot_env *, mot_node worker); /* a gradient of that worker went into it */
/* key: a literal; count, sum and max are kept */
MOT_API void mot_note(struct mot_env *, const char *key, double value);
MOT_API void mot_stop(struct mot_env *, enum mot_status why); /* this node has nothing left to do */

/* ---- Buffers: counted, and frozen while shared ---------------------------- */

MOT_API mot_buf mot_take(struct mot_env *);          /* count 1, contents undefined */
MOT_API mot_buf mot_hold(struct mot_env *, mot_buf); /* count + 1; returns its argument */
MOT_API void mot_drop(struct mot_env *, mot_buf);    /* count - 1; MOT_NO_BUF is ignored */
MOT_API const float *mot_read(const struct mot_env *, mot_buf);
MOT_API float *mot_edit(struct mot_env *, mot_buf); /* only while the count is 1 */
MOT_API struct mot_slice mot_whole(const struct mot_env *, mot_buf);
/* Part `shard` of `shards`: they follow each other, cover the
 * buffer, and none is empty where dim >= shards. */
MOT_API struct mot_slice mot_shard(const struct mot_env *, mot_buf, uint32_t shard, uint32_t shards);

/* ---- Parameters with their optimiser -------------------------------------- */

struct mot_params {
    mot_buf x, slot[2];
    uint64_t step;
};

MOT_API void mot_params_init(struct mot_env *, struct mot_params *);
MOT_API uint64_t mot_first_draw(const struct mot_env *); /* where this worker begins in its part */
/* One optimiser step along `scale` * grad, at `lr_factor` times the scheduled
 * rate. Writes new buffers where the old ones are shared.
 *
 * The slice says which parameters: of a part of them, only that part is stepped, read and
 * written. What lies outside of it in `p` is then undefined, so a node that steps a part steps no other, and
 * its view says which it is. Parts stepped apart give the bits of the whole, but for clipping and LARS, which
 * look at the norms of what they step: mot_optim_splits (math/optim.h) tells. */
MOT_API void mot_params_step(
    struct mot_env *, struct mot_params *, struct mot_slice grad, double scale, double lr_factor);

/* A new buffer: the sum of n whole buffers, taken in the order given. Entries
 * that are MOT_NO_BUF are left out; one at least is not. */
MOT_API mot_buf mot_sum(struct mot_env *, const mot_buf *in, uint32_t n);
/* The same for the floats off..off+len-1; the others of the new buffer are undefined. */
MOT_API mot_buf mot_sum_range(struct mot_env *, const mot_buf *in, uint32_t n, uint32_t off, uint32_t len);

/* ---- The method ------------------------------------------------------------ */

/* The most that a node has at once. Over-declaring costs address space, not memory. */
struct mot_need {
    size_t state_bytes;
    uint32_t buffers;      /* held, besides the gradients of running work */
    uint32_t sends;        /* messages of its own not yet delivered */
    uint32_t works, terms; /* running at once; terms in one */
    uint32_t alarms;
    uint32_t colls; /* collectives it has joined that are not finished */
};

/* The model is scale * x, or this node's part of it: the floats off..off+len-1 (len 0: all of
 * them). `params`: the parameters with their optimiser, for a checkpoint of a live run; NULL if the node has
 * none. Valid until its next step. */
struct mot_view {
    mot_buf x;
    double scale;
    const struct mot_params *params;
    uint32_t off, len;
};

struct mot_method {
    const char *name;
    const char *summary; /* one line for `motley help` */
    const char *about;   /* some paragraphs: what, when to use it, the paper */
    const struct mot_option *options;
    size_t conf_bytes;
    uint32_t servers; /* server nodes after the workers */
    /* Where their number depends on the options; NULL: `servers`.
     * The conf is parsed but not yet validated. */
    uint32_t (*server_count)(const void *conf, uint32_t workers);
    bool asynchronous; /* an update takes one worker's batch, not all workers' */
    /* it looks itself for losses and gradients that are not finite; else the run ends at one */
    bool guards;
    /* No server, and the workers' models differ: the run's updates are the least of theirs,
     * and its model the mean. Each worker then stops by itself at its stop.updates-th update, and the mean is
     * of the models that they have there. */
    bool decentralised;
    /* it averages over the links of the experiment's topology: the world has `mixing` */
    bool neighbours;
    /* the mean share of the topology's matchings that a round uses; NULL: all links, always */
    double (*budget)(const void *conf);
    /* How many updates old a gradient in use is, about, among workers of one speed: `optimizer.lr: auto` is
     * the smaller for it. NULL: none is old. The conf is parsed but not yet validated. */
    double (*delay)(const void *conf, uint32_t workers);
    /* Checks options against the world once, before the run; may be NULL. */
    enum mot_status (*validate)(const void *conf, const struct mot_world *);
    struct mot_need (*need)(const void *conf, const struct mot_world *, mot_node self);
    void (*init)(void *state, struct mot_env *); /* state is zeroed */
    void (*step)(void *state, struct mot_env *, const struct mot_event *);
    /* invariants, by MOT_ASSERT; only looks; may be NULL */
    void (*check)(const void *state, const struct mot_env *);
    /* What an evaluation looks at; false if this node has no model of its own.
     * The evaluated model is, for every parameter, the mean over the nodes that show it; one
     * at least does. */
    bool (*model)(const void *state, const struct mot_env *, struct mot_view *);
};

/* Facts that methods assert; on in release builds too. */
MOT_API MOT_NORETURN void mot_assert_failed(const char *fact, const char *file, int line);
#define MOT_ASSERT(fact) ((fact) ? (void)0 : mot_assert_failed(#fact, __FILE__, __LINE__))

#ifdef __cplusplus
}
#endif
#endif
