/* method.h -- all you need to write a method.
 *
 * A method is a pure state machine: step() takes one event and appends effects to an outbox, which the
 * driver carries out after it returns. A method never blocks, reads a clock, allocates or does I/O, and
 * cannot tell whether it runs in the simulator, on threads or over MPI.
 *
 * Its state is plain bytes without pointers (buffers are handles), so states, buffers and pending events
 * together are a checkpoint of a simulated run. */
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
#define MOT_NO_NODE UINT32_MAX
#define MOT_SCALARS 4

/* A range of floats in a buffer. */
struct mot_slice {
    mot_buf buf;
    uint32_t off, len;
};

/* With whom a worker averages its model, if the method mixes. Worker i's neighbours are near[at[i]] ..
 * near[at[i + 1] - 1], in increasing order. Weights are symmetric; a worker's own weight is 1 minus the
 * sum of its neighbours'. The links are split into matchings: sets in which no worker occurs twice. A
 * method that does not use all of them (see `budget`) uses matching j in a round with probability
 * chance[j], independently of the others. */
struct mot_near {
    mot_node node;
    uint32_t matching;
    double weight;
};
struct mot_mixing {
    const uint32_t *at; /* [workers + 1] */
    const struct mot_near *near;
    uint32_t matchings;   /* 0: not split, since every round uses all links */
    const double *chance; /* [matchings] */
    /* [workers]: 0 or 1, where every link joins a 0 with a 1, and there are at least as many 0 as 1; NULL:
     * the graph is not bipartite */
    const unsigned char *side;
};

/* What outlives a live run besides parameters and positions in the data: some numbers, and as many whole
 * buffers as the method's traits say (`keeps`). */
#define MOT_KEPT_WORDS 8
#define MOT_KEPT_BUFFERS 4
struct mot_kept {
    uint64_t word[MOT_KEPT_WORDS];
    mot_buf buf[MOT_KEPT_BUFFERS];
};

/* Where a packer (struct mot_packer) resumes. */
struct mot_left {
    mot_buf rest; /* what was not sent, of this weight; MOT_NO_BUF: nothing */
    double weight, lost;
    uint64_t packs;
};

/* What every node knows about the run. Constant while the run lasts. */
struct mot_optim;
struct mot_code;
struct mot_peer_maps;
struct mot_compress;
struct mot_world {
    uint32_t workers, servers, nodes; /* nodes = workers + servers */
    uint32_t groups;                  /* of workers, equal in size and contiguous; 0: none */
    uint32_t dim;                     /* floats in a buffer: the model's parameters */
    uint32_t statistics;       /* the last of these, not trained: averages include them, norms do not */
    uint32_t tensors;          /* of the model: tensor t is floats tensor_at[t] .. tensor_at[t + 1] - 1 */
    const uint32_t *tensor_at; /* [tensors + 1] */
    /* The buckets of a gradient that leaves early (`summed` in struct mot_work), cut as the traits' `bucket`
     * says: bucket b is floats bucket_at[b] .. bucket_at[b + 1] - 1, and the last leaves first. 0 or 1: it
     * leaves as a whole, and there are no tables. bucket_left[b]: how much of the pass over a job's last
     * samples is still to be done when bucket b is final, as a share. */
    uint32_t buckets;
    const uint32_t *bucket_at;
    const double *bucket_left;
    uint64_t seed;
    bool elastic;              /* all workers may be lost and come back: a server waits for them */
    bool streams;              /* samples arrive over time, at some worker at least */
    uint32_t parts;            /* part i is worker i's, unless the method has `holds` or codes */
    const uint64_t *part_rows; /* [parts] */
    /* [parts]: samples of a part in one round. batch[i] if part i is worker i's; else the workers' batches
     * together, in proportion to the parts' rows; with `batch: full` all rows */
    const uint32_t *part_batch;
    /* [parts]: bytes of its rows as a message; NULL if rows cannot move: part i is worker i's */
    const uint64_t *part_bytes;
    const uint64_t *row_bytes;     /* [parts]: of one row, on average, rounded up */
    uint64_t rows;                 /* over all parts */
    uint64_t passes;               /* after this many over its part a worker's data ends; 0: never */
    const uint32_t *batch;         /* [workers]: batch sizes */
    const struct mot_optim *optim; /* the experiment's optimiser */
    mot_buf x0, zero;              /* initial parameters, and zeros; held by the driver */
    /* resumed run: the optimiser's buffers, or MOT_NO_BUF; held too */
    mot_buf slot0[2];
    uint64_t step0;        /* resumed run: the optimiser's steps */
    const uint64_t *draw0; /* and each worker's position in its data; NULL: at the start */
    /* [nodes]: and what each node kept; the driver holds the buffers, and only a node's own are present.
     * NULL: nothing was kept */
    const struct mot_kept *kept;
    /* [workers][servers]: and what each worker's packers had left; buffers as above, and only until `init` is
     * over. NULL: nothing */
    const struct mot_left *left;
    const struct mot_mixing *mixing; /* NULL unless the method mixes */
    const struct mot_code *code;     /* NULL unless the method codes */
    struct mot_peer_maps *peers;     /* NULL unless the method has random peers (`peer_maps`) */
    /* the experiment's compressor, resolved; NULL: none, or one that would change nothing */
    const struct mot_compress *compress;
};

static inline uint32_t mot_trained(const struct mot_world *w) { return w->dim - w->statistics; }
static inline uint32_t mot_trained_in(const struct mot_world *w, struct mot_slice s)
{
    uint32_t trained = mot_trained(w);
    return s.off + s.len <= trained ? s.len : trained > s.off ? trained - s.off : 0;
}

/* Groups of workers, in a world that has them. A group's root is its first worker. */
static inline uint32_t mot_group_size(const struct mot_world *w) { return w->workers / w->groups; }
static inline uint32_t mot_group_of(const struct mot_world *w, mot_node worker)
{
    return worker / mot_group_size(w);
}
static inline mot_node mot_group_root(const struct mot_world *w, uint32_t group)
{
    return group * mot_group_size(w);
}
static inline bool mot_is_root(const struct mot_world *w, mot_node worker)
{
    return worker % mot_group_size(w) == 0;
}

/* ---- Work: a gradient sum over samples ---------------------------------- */

/* Which samples: `samples` of them from position `draw` on, in the endless sequence that the sampler makes
 * of a part. The same (seed, part, draw) always names the same sample, whoever computes it. */
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
    mot_time deadline;           /* take what is done by then; or MOT_NEVER */
    mot_buf at;                  /* the parameters; held until EV_WORK */
    /* Each term by itself: finished terms come as EV_PIECE, the last one (or the one that a deadline or a
     * cancel interrupted) as EV_WORK. It is still one job, with one job time. */
    bool pieces;
    /* In the step of its EV_WORK this worker gives the whole gradient, unchanged, to its next sum over all
     * workers. So a driver may begin with the buckets that are final while the rest is still being computed;
     * only the timing differs. Such work has one term, no pieces and no deadline, and is never cancelled. */
    bool summed;
    /* For a worker whose samples arrive over time: the job begins once this many of its own part have
     * arrived, and takes what is there, up to what its terms ask for; 0: it waits for all of them. Such a
     * worker takes its samples in order of arrival and ignores the terms' `draw`. */
    uint32_t least;
};

/* Of all terms together or, if the work comes in pieces, of one. */
struct mot_result {
    uint32_t tag;
    uint32_t piece;   /* pieces: which term; else 0 */
    uint32_t samples; /* covered; fewer than asked after a deadline, a cancel, or the end of the data */
    uint64_t draw;    /* of its first sample: `draw` of its first term, or where the stream was */
    double loss;      /* sum of coef * loss over these samples */
    mot_buf grad;     /* sum of coef * gradient; lent for this step */
};

/* ---- Messages and collectives ------------------------------------------- */

/* Travels with the body; the method defines its meaning. */
struct mot_head {
    uint64_t round;
    uint32_t samples;
    double value;
};

struct mot_message {
    mot_node from, to;
    uint16_t kind;
    /* the body is known to be what was sent: it never left memory, or its checksum matches */
    bool intact;
    struct mot_head head;
    struct mot_slice body; /* lent for this step; buf may be MOT_NO_BUF */
    uint32_t rows;         /* 1 + the part whose rows it brings, which the node now holds; 0: none */
    /* not 0: it brings only this many samples of that part, from position `draw` on; the node may compute
     * these, but does not hold the part */
    uint32_t given;
    uint64_t draw;
};

/* A collective: the members of its scope call mot_collect with the same tag, kind and range, and each gets
 * one EV_COLL. Every scope has its own sequence of collectives: its members join in the same order, tags
 * increase, and a worker has one of each scope at a time. Members are ranked by node; the first is the root.
 *
 * The range is in.off, in.len of a buffer, and the result is the same range of another. Without floats
 * (in.buf = MOT_NO_BUF, in.len = 0) it carries only the scalars.
 *
 * A collective with a member that is lost may never end, and a worker that has come back joins none. */
enum mot_coll_scope {
    MOT_COLL_ALL,   /* all workers */
    MOT_COLL_GROUP, /* the workers of one's own group; this and the next need traits.groups */
    MOT_COLL_ROOTS, /* the first worker of every group; others may not join */
};
#define MOT_COLL_SCOPES 3

enum mot_coll_kind {
    /* Everyone gets the sum, taken in rank order. Scalars are summed along with it. */
    MOT_COLL_SUM,
    /* The root gets the sum, and the others an empty result (no buffer, scalars 0) once their input is no
     * longer needed: not before all have joined. */
    MOT_COLL_TO_ROOT,
    /* Everyone gets the root's floats and scalars: the root once all have joined, the others once these
     * arrive. Only the root gives a buffer; the others give the range, with in.buf = MOT_NO_BUF. */
    MOT_COLL_FROM_ROOT,
};

struct mot_coll {
    uint32_t tag;
    enum mot_coll_scope scope;
    enum mot_coll_kind kind;
    struct mot_slice in;
    double scalar[MOT_SCALARS];
};

struct mot_coll_result {
    uint32_t tag;
    enum mot_coll_scope scope;
    struct mot_slice out; /* lent for this step */
    double scalar[MOT_SCALARS];
};

/* ---- Events -------------------------------------------------------------- */

enum mot_event_kind {
    MOT_EV_START,   /* once per life, before any other */
    MOT_EV_MESSAGE, /* exactly once each, in order for each pair of nodes */
    MOT_EV_WORK,    /* exactly one per mot_start */
    MOT_EV_COLL,    /* exactly one per mot_collect, unless a member of its scope is lost */
    MOT_EV_TIMER,   /* an alarm fired; it is now disarmed */
    /* a node was lost, or came back as a new life that knows nothing; comes before any message of that life,
     * and nothing sent to an earlier life reaches it */
    MOT_EV_PEER,
    MOT_EV_PIECE, /* a term of a work is finished, and others follow; in the order of the terms */
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
    /* in init: how many lives this node had before; not 0 if it was lost and has come back */
    uint32_t life;
    struct mot_pool *pool;
    struct mot_outbox *out;
    struct mot_memo *memo;
    const uint64_t *held; /* in check: parts that this worker holds, by bits; NULL: its own, or all */
};

/* ---- Effects: none can fail, since need() declared the most there can be --- */

MOT_API void mot_send(struct mot_env *, mot_node to, uint16_t kind, struct mot_head, struct mot_slice body);
/* A message whose body is the rows of a part. Only a node that holds the part may send it; on arrival the
 * receiver holds it too. It counts in `sends` like every message. */
MOT_API void mot_send_rows(struct mot_env *, mot_node to, uint16_t kind, struct mot_head, uint32_t part);
/* A message whose body is this many samples of the sender's own part, from position `draw` on. */
MOT_API void mot_send_samples(
    struct mot_env *, mot_node to, uint16_t kind, struct mot_head, uint64_t draw, uint32_t samples);
MOT_API void mot_forget(struct mot_env *, uint32_t part); /* this worker no longer holds its rows */
MOT_API void mot_start(struct mot_env *, const struct mot_work *);
/* The usual work: this many samples of this worker's own part. */
static inline void mot_start_own(
    struct mot_env *env, uint32_t tag, uint64_t draw, uint32_t samples, mot_buf at, mot_time deadline)
{
    /* For C++, without names: in the order of the fields. */
    const struct mot_term term = { env->self, draw, samples, 1 };
    const struct mot_work work = { tag, 1, &term, deadline, at, false, false, 0 };
    mot_start(env, &work);
}
/* EV_WORK comes now, with what is done; no effect if it has already come */
MOT_API void mot_cancel(struct mot_env *, uint32_t tag);
MOT_API void mot_collect(struct mot_env *, const struct mot_coll *);
MOT_API void mot_alarm(struct mot_env *, uint32_t tag, mot_time at); /* tags 0..alarms-1; MOT_NEVER disarms */
MOT_API void mot_advance(struct mot_env *);                          /* this node has updated its model */
MOT_API void mot_credit(struct mot_env *, mot_node worker);          /* its gradient went into the update */
/* This step's update used this many samples, none counted twice; for redundant methods. */
MOT_API void mot_used(struct mot_env *, uint64_t samples);
/* A later life now has the run's model as it is after this many updates, so the node counts again. For
 * methods whose workers' models differ (MOT_MODEL_OF_EACH). */
MOT_API void mot_enter(struct mot_env *, uint64_t updates);
/* key: a literal. Count, sum and maximum are kept. */
MOT_API void mot_note(struct mot_env *, const char *key, double value);
MOT_API void mot_stop(struct mot_env *, enum mot_status why); /* this node has nothing left to do */

/* ---- Buffers: counted, and frozen while shared ---------------------------- */

MOT_API mot_buf mot_take(struct mot_env *);          /* count 1, contents undefined */
MOT_API mot_buf mot_hold(struct mot_env *, mot_buf); /* count + 1; returns its argument */
MOT_API void mot_drop(struct mot_env *, mot_buf);    /* count - 1; MOT_NO_BUF is ignored */
MOT_API const float *mot_read(const struct mot_env *, mot_buf);
MOT_API float *mot_edit(struct mot_env *, mot_buf); /* only while the count is 1 */
/* The first float of a slice, likewise. The simulator charges for what may be written: call either of these
 * once for each pass over memory. */
MOT_API float *mot_edit_slice(struct mot_env *, struct mot_slice);
MOT_API struct mot_slice mot_whole(const struct mot_env *, mot_buf);
/* Part `shard` of `shards`: parts are consecutive, cover the buffer, and none is empty if there are at least
 * as many trained floats. Statistics are in the last. */
MOT_API struct mot_slice mot_shard(const struct mot_env *, mot_buf, uint32_t shard, uint32_t shards);

/* ---- Parameters with their optimiser -------------------------------------- */

struct mot_params {
    mot_buf x, slot[2];
    uint64_t step;
};

MOT_API void mot_params_init(struct mot_env *, struct mot_params *);
MOT_API uint64_t mot_first_draw(const struct mot_env *); /* where this worker starts in its part */
/* One optimiser step along `scale` * grad, at `lr_factor` times the scheduled rate. Writes new buffers if
 * the old ones are shared.
 *
 * The slice says which parameters: only that range is stepped, read and written. The rest of `p` is then
 * undefined, so a node that steps a range steps no other, and its view says which. Ranges stepped separately
 * give the bits of the whole, except with clipping and LARS, which use norms: see mot_optim_splits.
 * Statistics, if the range has any, move towards the mean of those in `grad` (see model.h), which counts its
 * own rows: by their rate times `scale` times these rows, at most all the way, whatever `lr_factor` is. With
 * `scale` 1 / rows that is their rate. */
MOT_API void mot_params_step(
    struct mot_env *, struct mot_params *, struct mot_slice grad, double scale, double lr_factor);

/* The same for optimisers that notice on the way whether the gradient is finite (plain SGD): if it is not,
 * nothing changes, and the result is false. */
MOT_API bool mot_params_try(
    struct mot_env *, struct mot_params *, struct mot_slice grad, double scale, double lr_factor);

/* The statistics of `p` become weight[0] in[0] + weight[1] in[1] + ..., whatever they were: for methods whose
 * steps of whole models have a rate or a momentum of their own. */
MOT_API void mot_params_set_statistics(
    struct mot_env *, struct mot_params *, const mot_buf *in, const double *weight, uint32_t n);

/* Whether stepping ranges separately gives the bits of stepping the whole: clipping and LARS use norms,
 * which a range does not know. */
MOT_API bool mot_optim_splits(const struct mot_optim *);

/* A new buffer: the sum of n whole buffers, in the order given. Entries that are MOT_NO_BUF are skipped;
 * at least one must not be. */
MOT_API mot_buf mot_sum(struct mot_env *, const mot_buf *in, uint32_t n);
/* The same for floats off..off+len-1; the rest of the new buffer is undefined. */
MOT_API mot_buf mot_sum_range(struct mot_env *, const mot_buf *in, uint32_t n, uint32_t off, uint32_t len);

/* A new buffer: the sum of weight[i] times in[i], in the order given, taken in double. Entries that are
 * MOT_NO_BUF or have weight 0 are skipped, possibly all. */
MOT_API mot_buf mot_sum_weighted(struct mot_env *, const mot_buf *in, const double *weight, uint32_t n);

/* ---- Compression ------------------------------------------------------------------ */

/* What a method sends can be compressed, as the experiment's section `compress` says. A packed buffer has an
 * encoding beside its floats, which are exactly what the encoding decodes to. It is sent and collected like
 * any other, as the range it was packed with, but only the encoding crosses the wire and is charged to links.
 * A sum of packed buffers has the bits of the sum of their floats; each member sends its own to all others,
 * since a sum of sparse floats is no longer sparse. Only collectives whose sum everyone gets (MOT_COLL_SUM)
 * take them, from all members or from none.
 *
 * A method whose traits say that it `packs` does this with what it sends, whether there is a compressor or
 * not:
 *
 *   struct mot_slice out = mot_pack(env, &s->packer, mot_whole(env, w->grad), w->samples);
 *   mot_send(... out) or mot_collect(... .in = out);
 *   mot_drop(env, out.buf);
 *
 * Without a compressor `out` is the argument, held once more: the same bits at the same cost.
 *
 * The packer is a member of the method's state. It remembers what was not sent (error feedback), in units of
 * mean gradients: `weight` is how many of these the floats add up to (the samples of a sum, 1 for a mean),
 * and what one packing leaves is added to the next in proportion to its weight, so that batches may vary.
 * With weight 0 (no samples) nothing is added and nothing forgotten. Floats that are not finite are sent.
 *
 * Compressing only when little is lost (`compress.delta`; ScaDLES, Tyagi and Swany, 2022) takes two steps:
 *
 *   mot_weigh(env, &p, in, weight)    makes the packed buffer, tells whether this node would send it:
 *                                     whether p.judged <= delta; p.judged is the moving average of
 *                                     | |g|^2 - |C(g)|^2 | / |g|^2, where g has what was not sent before
 *   mot_settle(env, &p, compress)     either the packed buffer; or g as it is, after which nothing is left
 *
 * In between, workers without a server vote, since all must give packed buffers or none: they collect,
 * without floats, the scalar 1 from everyone who would compress, and mot_vote_passes decides. mot_votes tells
 * whether there is a vote at all: without a compressor or a delta, mot_pack will do.
 *
 * mot_pack does both steps, and follows this node's own judgement. A packer holds buffers, which drivers
 * count beside those of `need`. */
struct mot_packer {
    mot_buf rest;  /* what was not sent, of this weight; ef21: all that was sent. Or MOT_NO_BUF */
    mot_buf total; /* ef21: the sum of all that came out of collectives */
    double weight, lost;
    uint64_t packs; /* so far */
    /* set by mot_weigh for mot_settle; until then the fields above stay as they are: */
    mot_buf whole, packed;
    uint32_t off, len;
    double weighed, judged;
};
MOT_API struct mot_slice mot_pack(struct mot_env *, struct mot_packer *, struct mot_slice in, double weight);
MOT_API bool mot_weigh(struct mot_env *, struct mot_packer *, struct mot_slice in, double weight);
MOT_API struct mot_slice mot_settle(struct mot_env *, struct mot_packer *, bool compress);
MOT_API bool mot_votes(const struct mot_world *);
/* Whether this many agreeing workers are enough: half of all, rounded down, and at least one. */
MOT_API bool mot_vote_passes(const struct mot_world *, double agreeing);
/* What a collective's sum of packed buffers stands for; the caller drops it. The sum itself, unless packets
 * are differences (ef21). */
MOT_API struct mot_slice mot_gathered(struct mot_env *, struct mot_packer *, struct mot_slice sum);
/* For `keep`: puts what was not sent into out->buf[at] (and [at + 1]), after the method's own buffers, and
 * some numbers into the last three words. mot_packer_init takes them from there in a resumed run; call it in
 * `init`. The traits' `keeps` are the method's own buffers. */
MOT_API void mot_packer_keep(
    const struct mot_packer *, const struct mot_env *, struct mot_kept *out, uint32_t at);
MOT_API void mot_packer_init(struct mot_env *, struct mot_packer *, uint32_t at);
/* The same for a worker that packs a range for each server (see `packer` in struct mot_method): resumes with
 * what it had left for this server, counted from 0; call it in `init`. */
MOT_API void mot_packer_go_on(struct mot_env *, struct mot_packer *, uint32_t server);

/* ---- Random peers ------------------------------------------------------------------ */

/* Who gets from whom among n nodes: n >= 2 workers, or groups of them. A map is a function of the world's
 * seed, the round and the segment: every node, a restarted one too, finds the same without asking. In a fair
 * one everyone gets from one other node and sends to one. */
enum mot_peer_draw {
    MOT_PEERS_UNIFORM, /* fair; every such map is equally likely */
    /* fair; nodes choose in turn among the sources that are left, as in the code of Yeo et al. */
    MOT_PEERS_AUTHORS,
    MOT_PEERS_UNFAIR, /* each node chooses for itself: some send to several, some to nobody */
};
MOT_API mot_node mot_peer_from(
    const struct mot_env *, enum mot_peer_draw, uint32_t n, uint64_t round, uint32_t segment, mot_node node);
/* Its k-th receiver, in increasing order; MOT_NO_NODE if it has no more than k. */
MOT_API mot_node mot_peer_to(const struct mot_env *, enum mot_peer_draw, uint32_t n, uint64_t round,
    uint32_t segment, mot_node node, uint32_t k);

/* Whether the message has a body that is exactly this range of a buffer; for `admits`. */
static inline bool mot_body_is(const struct mot_message *m, struct mot_slice range)
{
    return m->body.buf != MOT_NO_BUF && m->body.off == range.off && m->body.len == range.len;
}

/* ---- The method ------------------------------------------------------------ */

/* The most that a node has at once. Declaring too much costs address space, not memory. */
struct mot_need {
    size_t state_bytes;
    uint32_t buffers; /* held, besides the gradients of running work */
    /* bodies of messages that it keeps, whose senders count them in `buffers` as their own */
    uint32_t holds;
    uint32_t sends;        /* its messages in flight */
    uint32_t works, terms; /* jobs at once; terms in one */
    uint32_t alarms;
    uint32_t colls; /* collectives of one scope joined and not finished: 1, or 0 if it joins none */
};

/* The model is scale * x, or this node's range of it: floats off..off+len-1 (len 0: all). `params`: the
 * parameters with their optimiser, for checkpoints of live runs; NULL if the node has none. Valid until
 * its next step. */
struct mot_view {
    mot_buf x;
    double scale;
    const struct mot_params *params;
    uint32_t off, len;
    /* How workers that mix models show whether mixing keeps their mean. `mass`: this worker's push-sum
     * weight, including what it has sent but nobody can have received by this update; the mean over all
     * workers is 1. 0: it has none. `moved`: how far mixing, as opposed to gradients, has moved its model so
     * far; the sum over all workers is 0. MOT_NO_BUF: not kept, if mixing cannot move the mean. Both buffers
     * may be held for longer than the step: a changed one is a new one. */
    double mass;
    mot_buf moved;
};

enum mot_model_of {
    MOT_MODEL_OF_ALL,     /* all workers have the same one: worker 0 stands for all */
    MOT_MODEL_OF_SERVERS, /* the servers have it, a range each; always so if there are servers */
    /* No server, and the workers' models differ. The run's updates are the fewest of any worker that was
     * never lost or has a model again (mot_enter), and its model is the mean of theirs. Each worker stops on
     * its own at update stop.updates, and the mean is over the models at that point. All this unless workers
     * go at their own pace: see `own_pace`. */
    MOT_MODEL_OF_EACH,
};

enum mot_packs {
    MOT_PACKS_NOTHING,
    MOT_PACKS_GRADIENTS,   /* or displacements: what is not sent can be sent later */
    MOT_PACKS_SUMS,        /* the same, for collectives of all workers, which may vote; needs mot_gathered */
    MOT_PACKS_MODELS,      /* whole: only quantisers suit, which keep something of every parameter */
    MOT_PACKS_DIFFERENCES, /* from what was sent before: the method has feedback of its own */
};

/* What a method is. By default: no server, one model, and every update takes a batch from every worker. */
struct mot_traits {
    uint32_t servers; /* server nodes after the workers */
    enum mot_model_of model;
    uint32_t batches; /* per update, as schedules count epochs; by default one from every worker */
    double passes;    /* the same in passes over all data, if workers make whole epochs; 0: see batches */
    /* gradients that an update waits for while workers idle, by default one from every worker; 0: an
     * update takes what comes */
    uint32_t round;
    bool asynchronous; /* an update need not take a gradient from every worker */
    /* an update may need a gradient from every worker, and those that have sent theirs compute on: if one
     * stays away, the run ends without it */
    bool awaits_all;
    /* MOT_MODEL_OF_EACH: workers go at their own pace. The run's updates are the workers' steps together,
     * divided by the workers and rounded down; every worker goes on until the driver ends the run for all.
     * One that says mot_stop is out of data and still gets messages: others may need its answers. Models
     * are taken as they are when an update is reached. */
    bool own_pace;
    bool guards;   /* it handles losses and gradients that are not finite; else one ends the run */
    bool mixes;    /* it averages over the experiment's topology: the world has `mixing` */
    bool drawn;    /* each round uses some workers, drawn at random; the others rest */
    bool local;    /* workers report steps of their own: an update takes many jobs from a worker */
    bool in_turn;  /* jobs go to workers in turn or at random, not to whoever is idle: fast ones wait */
    bool by_speed; /* rows of fast workers weigh more */
    /* parts that the data is cut into, of equal size unless they are one per worker, which is the default;
     * other numbers need `holds` */
    uint32_t parts;
    bool codes;          /* it uses the experiment's code: the world has `code`, and parts are the code's */
    bool cuts;           /* codes: a round may close though its answers do not decode exactly */
    uint32_t stragglers; /* codes: any this many may be missing; the experiment's code says how many */
    uint32_t shuffle;    /* codes: enum mot_shuffle_kind */
    double shuffle_fraction; /* of `partial` */
    uint64_t shuffle_period; /* rounds from one shuffle to the next */
    /* workers compute the same samples more than once: the run's samples and epochs are those that the lead
     * reports by mot_used; what was computed is counted separately */
    bool redundant;
    bool varies;           /* how many samples an update takes is not known beforehand */
    bool shares;           /* workers send samples to each other: data leaves the machine where it arrived */
    enum mot_packs packs;  /* what it packs (mot_pack), and so which compressors suit it */
    bool votes;            /* packs sums: its workers vote, if there is a delta */
    const char *packs_not; /* why it packs nothing, for a message; NULL: it sends models */
    /* all have the same model, but each keeps something of its own: set if what a packer left is kept */
    bool keeps_own;
    uint32_t keeps; /* buffers that `keep` gives, at most MOT_KEPT_BUFFERS */
    /* gradients leave early, in buckets of at least this many bytes, cut between layers: all its collectives
     * are sums of whole gradients over all workers, one per job that is `summed`; 0: they do not */
    uint64_t bucket;
    uint32_t groups;    /* of workers, for collectives: must divide their number; 0: none */
    double budget;      /* mixes: mean share of the topology's matchings per round; NaN: all links */
    uint32_t peer_maps; /* maps of random peers that are in use at once, over all nodes; 0: it has none */
    /* rough staleness of gradients among workers of equal speed; `optimizer.lr: auto` shrinks with it */
    double delay;
};

/* When a verdict asks a method for advice. */
enum mot_situation_kind {
    MOT_WHEN_LOST,    /* a lost worker ended the run; continues "worker 3 was lost: it crashed, at 2 s" */
    MOT_WHEN_WAITING, /* rounds wait for slow workers: how to wait for only `rest` gradients; 0: for none */
    MOT_WHEN_IDLE,    /* fast workers idle: ways to let them go on */
    MOT_WHEN_OVERDUE, /* most rounds last until their deadline: ways out; `rest`: not slow; 0: unknown */
    MOT_WHEN_LATE, /* many gradients came too late and were dropped: a sentence; `rest`: to wait for, or 0 */
    MOT_WHEN_CROWDED, /* the server's link is full: ways around it */
    MOT_WHEN_THIN,    /* workers have thin links, and there is no server: ways to wait for `rest` others */
    MOT_WHEN_LEANING, /* parts differ, and the model leans towards fast workers': a sentence */
    MOT_WHEN_EMPTY,   /* the method ended the run because no gradient came in time: what to try */
};
struct mot_situation {
    enum mot_situation_kind kind;
    uint32_t workers, rest;
    bool elastic; /* as in the world */
};

struct mot_method {
    const char *name;
    const char *summary; /* one line for `motley help` */
    const char *about;   /* a few paragraphs: what it does, when to use it, the paper */
    const struct mot_option *options;
    size_t conf_bytes;
    /* What the method is with these options, which are parsed but not yet validated. `out` holds the
     * defaults (see struct mot_traits). NULL: those. */
    void (*traits)(const void *conf, uint32_t workers, struct mot_traits *out);
    /* Writes to `into`, which starts empty, what a verdict should say in this situation; may be NULL. */
    void (*advise)(const void *conf, const struct mot_situation *, char *into, size_t size);
    /* Checks options against the world once, before the run; may be NULL. */
    enum mot_status (*validate)(const void *conf, const struct mot_world *);
    /* Whether a worker holds the rows of a part from the beginning of the run: a job may name only parts
     * that its worker holds. Rows that arrive are held too, mot_forget drops them, and a later life holds
     * nothing until rows arrive. In a resumed run world->kept tells where rows had moved. Servers hold
     * everything. NULL: worker i holds part i, and rows never move; or, if the method codes, the parts of
     * role i. */
    bool (*holds)(const void *conf, const struct mot_world *, mot_node worker, uint32_t part);
    struct mot_need (*need)(const void *conf, const struct mot_world *, mot_node self);
    void (*init)(void *state, struct mot_env *); /* state is zeroed */
    void (*step)(void *state, struct mot_env *, const struct mot_event *);
    /* Whether this message can arrive at a node in this state: its kind, its sender, every number in its
     * head, the range of its body, the part whose rows it brings. A driver that does not trust the other
     * side asks before it delivers a message, and gives up the sender if the answer is no. So this and later
     * steps must cope with whatever is admitted. Changes nothing. NULL: the node gets no messages. */
    bool (*admits)(const void *state, const struct mot_env *, const struct mot_message *);
    /* Asserts invariants (MOT_ASSERT). Changes nothing. May be NULL. */
    void (*check)(const void *state, const struct mot_env *);
    /* The model to evaluate; false if this node has none. The evaluated model is, for every parameter, the
     * mean over the nodes that show it; at least one must. */
    bool (*model)(const void *state, const struct mot_env *, struct mot_view *);
    /* How many updates so far used no samples of this part, by the lead's state; NULL: none. */
    uint64_t (*missed)(const void *state, const struct mot_world *, uint32_t part);
    /* What a live run resumed from here needs besides the parameters and each worker's position in its data;
     * `out` is zeroed. Called after an update on the nodes whose models make up the run's (see enum
     * mot_model_of). `init` and `holds` find every node's in world->kept, so other nodes may derive their
     * state from it. Simulated runs keep everything. May be NULL. */
    void (*keep)(const void *state, const struct mot_env *, struct mot_kept *out);
    /* The packer of what a worker sends to this server, counted from 0; NULL: there is none. A checkpoint of
     * a live run has what it had left after the last message that the server took in, so drivers ask after
     * each message. A step sends a server at most one, and until it hears from that server again a worker
     * sends it at most need.sends / servers more. May be NULL. */
    const struct mot_packer *(*packer)(const void *state, const struct mot_env *, uint32_t server);
};

/* Facts that methods assert; on in release builds too. */
MOT_API MOT_NORETURN void mot_assert_failed(const char *fact, const char *file, int line);
#define MOT_ASSERT(fact) ((fact) ? (void)0 : mot_assert_failed(#fact, __FILE__, __LINE__))

#ifdef __cplusplus
}
#endif
#endif
