/* live.h -- what the nodes of one process share in a live run, from the options to the initial state. */
#ifndef MOT_LIVE_LIVE_H
#define MOT_LIVE_LIVE_H

#include "cluster/cluster.h"
#include "live/place.h"
#include "run/driver.h"
#include "run/pool.h"
#include "run/world.h"

struct mot_live_judge;
struct mot_live_checkpoint;
struct mot_live_params;
struct mot_rings;

#define MOT_LIVE_STALLED 320

struct mot_live {
    const struct mot_experiment *experiment;
    const struct mot_problem *problem;
    struct mot_world world;
    struct mot_pool pool;
    struct mot_blocks blocks;     /* how senders and receivers are counted */
    uint64_t began_ns;            /* zero of the run's clock */
    bool emulate;                 /* jobs and messages take as long as the cluster's model says */
    struct mot_live_judge *judge; /* in the lead's process; else NULL */
    mot_node lead;                /* first of the nodes whose models make up the run's, */
    uint32_t showing;             /* and how many there are */
    /* The update that ends the run, if every node knows it; else MOT_WORD_UINT. */
    uint64_t stop_at;
    const char *stop_by; /* "updates" or "epochs" */
    bool own_pace;       /* the method's workers go at their own pace; known after the experiment is gone */
    /* Workers at their own pace. stepped: the steps of all, as far as known here. paced: for each, twice its
     * steps, plus 1 if it is out of data. */
    _Atomic uint64_t stepped, *paced;
    struct mot_places *place; /* [workers]; NULL: nobody's samples arrive over time */
    struct mot_rings *rings;  /* where samples from a source lie; NULL: there is none */
    /* For progress: a worker of this process whose source gives nothing, and why. */
    char stalled[MOT_LIVE_STALLED];
    _Atomic uint32_t stalls; /* that worker, from 1; 0: none */
    _Atomic bool drained;    /* a source has ended, and all of it is used */
    struct mot_course course;
    struct mot_every every; /* evaluate.every, resolved */
    bool keeps;             /* checkpoints are written, here or by the lead */
    uint32_t slots; /* buffers of a node in a checkpoint besides its model: the optimiser's, then kept ones */
    struct mot_kept *kept; /* world.kept, whose buffers are filled in as nodes open; or NULL */
    bool rests;            /* workers keep what they had left for checkpoints (rests.h) */
    struct mot_left *left; /* world.left, likewise */
    const struct mot_live_checkpoint *from; /* what to resume from, or NULL */
    const char *over;                       /* what had already ended that run, or NULL */
    /* If several nodes show models, each shows its own at every update at which something is due. The judge
     * asks for what is due by the clock: each node then shows its model after its first update at or after
     * `at`. From workers at their own pace it asks for everything, and they show it at once. */
    struct {
        _Atomic uint64_t number, at;
    } ask;
    const char *checkpoint; /* file to write, or NULL */
    uint64_t hash;          /* of experiment and data; ties a checkpoint to them */
    /* [workers]: mean job time of each, as far as known here */
    _Atomic uint32_t *job_us;
    /* [workers]: how long each has computed, likewise; NULL: nobody wants to know */
    _Atomic uint64_t *worked_ns;
    struct mot_watch watch; /* for traces; called by one node at a time */
    pthread_mutex_t watch_lock;
};

/* The nodes of a run that one of its processes hosts. */
struct mot_live_hosted {
    const mot_node *node; /* NULL: all, in one process */
    uint32_t nodes;
    bool leads; /* it evaluates */
};
/* What such a process takes. played: the buffers of a rehearsal (mot_sim_buffers); 0: none was made, so the
 * plan has the most that there can be. */
enum mot_status mot_live_plan(const struct mot_driver_options *, const struct mot_live_hosted *,
    uint32_t played, struct mot_memory_plan *out);
/* Buffers that every rank reserves for nodes and messages: address space for the most that can be in flight
 * to it. */
uint64_t mot_live_rank_buffers(const struct mot_needs *, const struct mot_world *);
/* Takes the options and builds the world; cleans up after itself on failure. Reserves nothing yet. */
enum mot_status mot_live_open(struct mot_live *, const struct mot_driver_options *);
/* Settles whose models make up the run's, and when it ends. `from`: what to resume from, or NULL. */
void mot_live_begin(struct mot_live *, const struct mot_live_checkpoint *from);
/* Reserves the pool, with room for the run's own buffers and this many of its nodes', and fills in the
 * initial state: x0, zero, and for a resumed run the optimiser's buffers. */
enum mot_status mot_live_reserve(struct mot_live *, const struct mot_driver_options *, uint32_t buffers);
/* Puts the buffers that a checkpoint has besides a model into the world, for nodes first .. end - 1. */
void mot_live_fill(
    struct mot_live *, const struct mot_live_params *, struct mot_world *, mot_node first, mot_node end);
void mot_live_release(struct mot_live *); /* safe if nothing was reserved */
void mot_live_close(struct mot_live *);

mot_time mot_live_now(const struct mot_live *); /* the run's clock */

/* Why a worker's source gives nothing, copied to `into`; NULL: none stalls. */
const char *mot_live_stalled(struct mot_live *, char into[MOT_LIVE_STALLED]);

/* Takes in the number in `paced` of a worker at its own pace. Numbers only grow. */
void mot_live_hear_pace(struct mot_live *, mot_node worker, uint64_t paced);

/* What a node did. */
struct mot_live_account {
    struct mot_node_tally tally;
    struct mot_sent sent[MOT_BLOCKS_MOST]; /* by receiver */
    uint64_t events, advanced, poisoned;
    uint32_t status;                /* enum mot_status */
    char trouble[MOT_INTAKE_WORDS]; /* the last with its source; "": none */
};
/* Adds that to the outcome; tally.send gets the rest of the run's time. */
void mot_live_book(const struct mot_live_account *, mot_node, struct mot_outcome *out);

/* The most buffers that the judge holds: for a waiting job, for the current one, and for the run's end. */
#define MOT_LIVE_HELD (3 * (1 + MOT_LIVE_SLOTS))
/* Buffers that may be in flight from a node to the judge of another process. */
#define MOT_LIVE_SHOWN (2 * (3 + MOT_LIVE_SLOTS))

#endif
