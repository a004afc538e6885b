/* node.h -- a node that runs for real: the same method, the wall clock, a port.
 *
 * The node's loop handles arrivals, then alarms that are due, then a slice of work, and sleeps if there is
 * nothing to do. A slice is at most MOT_SLICE_ROWS samples, so messages never wait for a whole batch. */
#ifndef MOT_LIVE_NODE_H
#define MOT_LIVE_NODE_H

#include "live/live.h"
#include "live/port.h"
#include "live/record.h"
#include "live/rests.h"
#include "run/actor.h"

struct mot_live_work {
    struct mot_slot slot; /* must be first: an actor's slot is cast to its work */
    /* emulating: how long the job takes, when it would have begun without stalls, and the earliest end of
     * what is computed now */
    mot_time whole, from, ends;
    struct mot_gradient_run run;
    struct mot_leaving leaving; /* its gradient leaves early: who tells us */
    bool spoilt, drawn;         /* emulating: its gradient is nonsense; and whether this has been decided */
};

struct mot_live_node {
    struct mot_live *live;
    struct mot_port *port;
    struct mot_actor actor;
    struct mot_world world; /* the run's; if models differ, a resumed node starts from its own */
    uint32_t life;          /* how often it has begun before; set before init */
    void *scratch;
    struct mot_outbox outbox;
    struct mot_tape *tape; /* records the node's events; NULL: not recording */
    uint64_t order;        /* of its jobs */
    uint64_t next_show;    /* next update at which it shows its model */
    uint64_t answered;     /* number of the last ask it answered */
    uint64_t reported;     /* own pace, the lead: updates that the judge knows of */
    bool shown_last;
    mot_time joined[MOT_COLL_SCOPES]; /* when it joined the current collective */
    struct mot_pace pace;
    struct mot_rate_supply rates; /* emulating: what arrives at a worker */
    struct mot_intake *intake;    /* what arrives from a source; NULL: there is none */
    char trouble[MOT_INTAKE_WORDS];
    bool noted; /* its source's note was passed on */
    struct mot_feed feed;
    mot_time fed_at;           /* when its next job may have its samples; MOT_NEVER: no job lacks any */
    uint64_t joins, collected; /* collectives of all workers that it has joined, and that have ended */
    bool finished, waiting;
    mot_time waits_since;   /* waiting: nothing to compute, no arrivals */
    enum mot_status status; /* of mot_stop */
    bool out_of_data;
    uint64_t *credit; /* [workers]: whose gradients went into this node's updates */
    /* [workers]: samples that each had computed when it last sent to this node */
    uint64_t *seen;
    uint64_t *drawn; /* [workers]: `seen` at this node's last update; only for a lead with a server's model */
    uint64_t fruitless; /* messages from workers since then */
    /* rests.h. A worker: what it had left. A server: [workers], messages of each that it has taken in; and
     * that it had taken in by its last update. NULL: checkpoints do not have this */
    struct mot_rests *rests;
    uint64_t *taken, *took;
    /* [workers]: where each was in its stream when it last sent to this node, or joined the collective that
     * ended last; and as of this node's last update. Only for the lead of a run with streams */
    struct mot_place *place, *placed;
    struct mot_notes notes;
    struct mot_sent sent[MOT_BLOCKS_MOST]; /* by receiver */
    uint64_t events, poisoned;             /* poisoned: gradients spoilt by emulation */
};

/* If memory is refused, the node can only be closed. */
void mot_live_node_open(struct mot_live_node *, struct mot_live *, struct mot_port *, mot_node self);
void mot_live_node_close(struct mot_live_node *);
void mot_live_node_init(struct mot_live_node *); /* initialises the method's state, before the run */
void mot_live_node_run(struct mot_live_node *);  /* until the node or the run ends */

/* The same in pieces, for a thread with several nodes: begin, turns until it is over, end. A turn does one
 * thing that can be done now: an arrival, an alarm or a slice of work. False: nothing to do before *next
 * unless something arrives. */
void mot_live_node_begin(struct mot_live_node *);
bool mot_live_node_turn(struct mot_live_node *, mot_time *next);
bool mot_live_node_over(const struct mot_live_node *);
/* Samples that went into its updates; for a server also those that arrived but went into none. */
uint64_t mot_live_samples(const struct mot_live_node *);
/* Samples computed; for a server, as far as it knows. */
uint64_t mot_live_computed(const struct mot_live_node *);
double mot_live_epochs(const struct mot_live_node *);
uint64_t mot_live_updates(const struct mot_live_node *); /* the run's, as far as the lead knows */
/* Whether the node has made the run's last update, by stop.updates or stop.epochs. Servers with a range
 * each reach the same update, each from its own arrivals. */
bool mot_live_node_done(const struct mot_live_node *);
void mot_live_node_sent(struct mot_live_node *, mot_node to, uint64_t bytes); /* counts a message */
struct mot_live_account mot_live_node_account(const struct mot_live_node *);
void mot_live_node_delay(struct mot_live_node *, mot_time by); /* emulates a stall: its job ends later */
void mot_live_node_end(struct mot_live_node *); /* after the last turn: closes its time account */

/* node_feed.c: only in runs with streams. */
void mot_live_feed_open(struct mot_live_node *);  /* opens what arrives at it */
void mot_live_feed_close(struct mot_live_node *); /* the run is over: completes the counts */
/* Whether its source cannot go on, or has ended and all is used; the node has then ended too. */
bool mot_live_feed_over(struct mot_live_node *);
struct mot_place mot_live_place(struct mot_live_node *); /* where it is; others may know it from here on */
void mot_live_place_join(struct mot_live_node *);        /* it joins a collective of all workers */
void mot_live_learn_places(struct mot_live_node *);      /* one has ended: where each was when it joined */

struct mot_kept mot_live_kept(struct mot_live_node *); /* what it keeps of its state; 0: nothing */

/* ---- Checkpoints ------------------------------------------------------------------------
 * A checkpoint has the parameters with their optimiser, each worker's position in its data, and what methods
 * keep: from the lead or, if several nodes have models and all are at the same update, from each. With
 * servers and a compressor it also has what workers had left to send (rests.h). Jobs in flight are not saved
 * but asked for again. So a resumed synchronous run ends as if it had never stopped; an asynchronous one
 * merely goes on. Of workers at different updates, as when the clock ends a run, the mean is saved. */
struct mot_live_params {
    const float *x, *slot[MOT_LIVE_SLOTS]; /* [dim]; slots may be NULL */
};
struct mot_live_checkpoint {
    uint64_t updates, samples, mark;
    uint64_t computed; /* samples, counting repeats; equals `samples` unless the method is redundant */
    mot_time now;
    uint64_t step;
    uint32_t out_of_data; /* the data ran out, which ended the run */
    struct {              /* the target that ended the run: what met it, and when */
        uint32_t met;
        struct mot_score score;
        mot_time at;
        uint64_t updates;
    } target;
    struct { /* best model by validation; x is NULL before the first evaluation or without validation rows */
        struct mot_score score;
        uint64_t updates;
        const float *x; /* [dim] */
    } best;
    uint64_t *draw;          /* [workers] */
    struct mot_mark *cursor; /* [workers]: where sources go on; NULL: there are none */
    unsigned char *held;     /* [held_bytes]: records held out, as a reservoir packs them */
    uint64_t held_bytes;
    uint64_t (*word)[MOT_KEPT_WORDS]; /* [nodes]: what each kept, besides buffers; NULL: nothing */
    uint32_t rests;                   /* workers times servers, if there are packers; else 0 */
    struct mot_live_rest *rest;       /* [workers][servers]: what each had left to send; NULL: nothing */
    uint32_t models;                  /* 1, or one per worker */
    struct mot_live_params *model;    /* [models] */
};
enum mot_status mot_live_save(const char *path, const struct mot_live *, const struct mot_live_checkpoint *);
enum mot_status mot_live_load(const char *path, const struct mot_live *, struct mot_live_checkpoint *out);
void mot_live_checkpoint_free(struct mot_live_checkpoint *);

/* The same in memory. The first MOT_LIVE_HEAD bytes tell whether it fits this run. */
#define MOT_LIVE_HEAD 40u
struct mot_bytes;
struct mot_bytes mot_live_pack(const struct mot_live *, const struct mot_live_checkpoint *);
enum mot_status mot_live_unpack(const char *path, const unsigned char *bytes, size_t n,
    const struct mot_live *, struct mot_live_checkpoint *out);

/* ---- The judge: evaluations and the end of the run, at the lead node ---------------------
 * The lead is the first server, or else worker 0. Evaluations run in a thread of their own. If several
 * nodes make up the run's model, each shows its own at the updates at which something is due, and goes on. */

/* A copy of a node's model; its holder frees it. */
struct mot_copy {
    mot_node node;
    bool last, asked;
    uint64_t at, updates, step, events;
    double scale, mass;
    uint32_t off, len;
    float *x, *slot[MOT_LIVE_SLOTS], *moved; /* [len]; moved may be NULL */
    struct mot_place place;
    uint64_t word[MOT_KEPT_WORDS];
};
void mot_copy_free(struct mot_copy *);

enum mot_status mot_live_judge_open(struct mot_live *, struct mot_live_node *lead, const struct mot_watch *,
    const volatile sig_atomic_t *interrupt, struct mot_live_judge **out);
bool mot_live_judge_knows_end(struct mot_live_judge *); /* the end is already known: nothing to run */
/* Call after an update of the lead; true: end the run now. */
bool mot_live_judge_update(struct mot_live_judge *);
bool mot_live_judge_wants_end(struct mot_live_judge *); /* by target, time or interrupt */
bool mot_live_judge_idle(struct mot_live_judge *);      /* the same, for a lead that waits */
void mot_live_judge_show(struct mot_live_judge *, const struct mot_shown *); /* from a node of this process */
void mot_live_judge_take(struct mot_live_judge *, struct mot_copy *);        /* from a node elsewhere */
void mot_live_judge_lost(struct mot_live_judge *, mot_node);                 /* it will show no more models */
bool mot_live_judge_has_last(struct mot_live_judge *, mot_node); /* it has shown its final model */
/* Call when the lead has finished, in its thread or after it: asks workers for what they had left. Over
 * ranks, answers keep coming until mot_live_judge_awaits is false. */
void mot_live_judge_ask_last(struct mot_live_judge *);
/* Then: makes the final evaluation and fills in what this process knows. */
void mot_live_judge_close(struct mot_live_judge *, struct mot_outcome *out);

#endif
