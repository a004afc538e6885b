/* node.h -- a node that runs for real: the same method, the wall clock, a port.
 *
 * The node's loop: what has arrived, alarms that are due, a slice of work, and
 * sleep when there is none of these. A slice is MOT_SLICE_ROWS samples at the most,
 * so messages do not wait for a whole batch. */
#ifndef MOT_LIVE_NODE_H
#define MOT_LIVE_NODE_H

#include "cluster/cluster.h"
#include "run/gradient.h"
#include "run/outbox.h"
#include "run/outcome.h"
#include "run/pool.h"
#include "live/port.h"
#include "live/record.h"
#include "run/world.h"
#include <signal.h>

struct mot_judge;

/* What the nodes of one process share. */
struct mot_live {
    const struct mot_experiment *experiment;
    const struct mot_problem *problem;
    struct mot_world world;
    struct mot_pool pool;
    uint64_t began_ns;       /* the run's clock starts here */
    bool emulate;            /* jobs and messages take the time that the cluster's model says */
    struct mot_judge *judge; /* of the lead node's process; else NULL */
    mot_node lead;           /* the first of the nodes whose models make up the run's, */
    uint32_t showing;        /* and how many they are */
    /* When the run ends by itself: at an update that every node knows. MOT_WORD_UINT: never. */
    uint64_t stop_at;
    const char *stop_by; /* "updates" or "epochs" */
    struct mot_course course;
    struct mot_every every;                 /* evaluate.every, resolved */
    bool keeps;                             /* checkpoints are written, here or at the lead */
    const struct mot_live_checkpoint *from; /* a run that goes on; else NULL */
    const char *over;                       /* it had ended there, and by this; else NULL */
    /* Where nodes that show are several, each shows its model at every update at which something is due. What
     * the clock makes due the judge asks for: each shows what it has after its first update that is not
     * before `at`. */
    struct {
        _Atomic uint64_t number, at;
    } ask;
    const char *checkpoint; /* file to write, or NULL */
    uint64_t hash;          /* of experiment and data: a checkpoint belongs to it */
    /* [workers]: the time of each one's mean job, as far as it is known here */
    _Atomic uint32_t *job_us;
    struct mot_watch watch; /* for traces; its functions are called by one node at a time */
    pthread_mutex_t watch_lock;
};

mot_time mot_live_now(const struct mot_live *); /* the run's clock */
/* Its world is known, and what it goes on from, or NULL: whose models make up the run's, and when it ends. */
void mot_live_begin(struct mot_live *, const struct mot_live_checkpoint *from);
/* What a run begins with, into the pool: x0, zero, and of a run that goes on the optimiser's buffers. */
uint32_t mot_live_buffers(const struct mot_live *); /* that takes, with what the judge holds */
void mot_live_fill(struct mot_live *, const float *x0);
/* Buffers that the judge holds at a time: of a job that waits, of one under way, and of the run's end. */
#define MOT_LIVE_HELD 9u
/* Buffers that may be on their way from a node to the judge of another process. */
#define MOT_LIVE_SHOWN 9u

enum mot_live_state { MOT_LIVE_FREE, MOT_LIVE_WAITING, MOT_LIVE_RUNNING };
struct mot_live_work {
    enum mot_live_state state;
    uint32_t tag, terms;
    struct mot_term *term; /* room for need.terms */
    mot_buf at, grad;
    uint64_t order, asked;
    mot_time deadline, began, ends; /* ends: not before, when emulating */
    struct mot_gradient_run run;
};

struct mot_live_node {
    struct mot_live *live;
    struct mot_port *port;
    mot_node self;
    struct mot_world world; /* the run's; where models differ a run that goes on begins with its own */
    void *state, *scratch;
    struct mot_outbox outbox;
    struct mot_tape *tape; /* keeps the events it is given; NULL: nobody asked for it */
    struct mot_need need;
    struct mot_live_work *work; /* [need.works] */
    mot_time *alarm;            /* [need.alarms]; MOT_NEVER: not set */
    uint64_t order, advanced;
    uint64_t next_show; /* the update at which it next shows its model */
    uint64_t answered;  /* the number of the last ask that it answered */
    bool shown_last;
    mot_time joined; /* when it joined the collective that is under way */
    struct mot_pace pace;
    bool finished, waiting;
    mot_time waits_since;   /* waiting: nothing to compute and nothing came */
    enum mot_status status; /* of mot_stop */
    bool out_of_data;
    struct mot_node_tally tally;
    uint64_t *credit; /* [workers]: whose gradients went into this node's updates */
    /* [workers]: samples that each had computed when it last sent to this node */
    uint64_t *seen;
    struct mot_notes notes;
    uint64_t events, poisoned; /* poisoned: gradients that the emulated cluster spoilt */
};

/* `need` is what the method says of this node. */
void mot_live_node_open(struct mot_live_node *, struct mot_live *, struct mot_port *, mot_node self);
void mot_live_node_close(struct mot_live_node *);
void mot_live_node_run(struct mot_live_node *); /* until the node or the run has ended */

/* The same in pieces, for a thread with several nodes: begin, turns until it is over, end. A turn
 * does one thing that can be done now: an arrival, an alarm, a slice of work. False: there
 * is nothing before *next but what may arrive. */
void mot_live_node_begin(struct mot_live_node *);
bool mot_live_node_turn(struct mot_live_node *, mot_time *next);
bool mot_live_node_over(const struct mot_live_node *);
/* What has gone into its updates; of a server also what has come to it and went into none. */
uint64_t mot_live_samples(const struct mot_live_node *);
double mot_live_epochs(const struct mot_live_node *);
/* Whether the run's last update, by stop.updates or stop.epochs, is behind it. Servers that have a range each
 * come to the same update, each by what has come to itself. */
bool mot_live_node_done(const struct mot_live_node *);
void mot_live_node_end(struct mot_live_node *); /* no turns follow: closes its account of time */

/* ---- Checkpoints ------------------------------------------------------------------------
 * The parameters with their optimiser, and how far each worker is in its data: of the lead, or, where workers
 * have models of their own and all are at the same update, of each. Work that is under way is not kept: it is
 * asked for anew. So a synchronous run goes on to the same end as without the stop; an asynchronous one
 * goes on. Workers that stand at different updates, as when the clock ends their run, are kept as their
 * mean. */
struct mot_live_params {
    const float *x, *slot[2]; /* [dim]; slots may be NULL */
};
struct mot_live_checkpoint {
    uint64_t updates, samples, mark;
    mot_time now;
    uint64_t step;
    uint32_t out_of_data; /* the data has ended, and so has the run */
    struct {              /* a target that ended the run: what met it, and when */
        uint32_t met;
        struct mot_score score;
        mot_time at;
        uint64_t updates;
    } target;
    struct { /* the best model by validation; x is NULL before the first evaluation, or without rows for it */
        struct mot_score score;
        uint64_t updates;
        const float *x; /* [dim] */
    } best;
    uint64_t *draw;                /* [workers] */
    uint32_t models;               /* 1, or one for each worker */
    struct mot_live_params *model; /* [models] */
};
enum mot_status mot_live_save(
    const char *path, uint64_t hash, const struct mot_world *, const struct mot_live_checkpoint *);
enum mot_status mot_live_load(
    const char *path, uint64_t hash, const struct mot_world *, struct mot_live_checkpoint *out);
void mot_live_checkpoint_free(struct mot_live_checkpoint *);

/* ---- The judge: evaluations and the end of the run, at the lead node ---------------------
 * The lead is the first server, or else worker 0. Evaluations run in a thread of their own.
 * Where the run's model is that of several nodes, each shows its own at the updates at which something
 * is due, and goes on. */

/* A node's model, copied: whoever has it frees it. */
struct mot_copy {
    mot_node node;
    bool last, asked;
    uint64_t at, updates, step;
    double scale;
    uint32_t off, len;
    float *x, *slot[2]; /* [len] */
};
void mot_copy_free(struct mot_copy *);

enum mot_status mot_judge_open(struct mot_live *, struct mot_live_node *lead, const struct mot_watch *,
    const volatile sig_atomic_t *interrupt, struct mot_judge **out);
bool mot_judge_knows_end(struct mot_judge *); /* there is nothing to run for: the end is known */
/* After an update of the lead; true: the run is to end now. */
bool mot_judge_update(struct mot_judge *);
bool mot_judge_wants_end(struct mot_judge *); /* a target, the time or an interrupt says so */
void mot_judge_show(struct mot_judge *, const struct mot_shown *); /* by a node of this process */
void mot_judge_take(struct mot_judge *, struct mot_copy *);        /* what one elsewhere has shown */
void mot_judge_lost(struct mot_judge *, mot_node);                 /* it will show nothing any more */
bool mot_judge_has_last(struct mot_judge *, mot_node);             /* it has shown what it ends with */
/* When the lead has finished: the last evaluation, and what is known at this node, into out. */
void mot_judge_close(struct mot_judge *, struct mot_outcome *out);

#endif
