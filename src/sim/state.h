/* state.h -- the insides of the simulator, shared by its files and by no one else. */
#ifndef MOT_SIM_STATE_H
#define MOT_SIM_STATE_H

#include "base/bytes.h"
#include "base/memory.h"
#include "sim/coll_steps.h"
#include "base/crew.h"
#include "sim/heap.h"
#include "sim/network.h"
#include "run/outbox.h"
#include "run/pool.h"
#include "sim/sim.h"
#include "run/views.h"
#include "run/world.h"

/* The last six only in runs with faults. */
enum sim_event {
    SIM_START,
    SIM_MESSAGE,
    SIM_WORK,
    SIM_TIMER,
    SIM_COLL,
    SIM_FRAME,
    SIM_ACK,
    SIM_DELIVER,
    SIM_RESEND,
    SIM_FAULT,
    SIM_LOST,
    SIM_JOIN
};

/* What has happened without progress; see stuck.c. */
struct sim_spin { /* of a node: jobs and alarms that ended at this time, after this update */
    mot_time at;
    uint64_t updates;
    uint32_t turns;
};
struct sim_fruitless {
    uint64_t losses, faults; /* since the last update; since something of a worker's arrived */
    mot_time since, longest_job, longest_message;
};

struct sim_node {
    void *state;
    uint32_t state_bytes;
    uint32_t work, works, alarm, alarms; /* the node's slots: first and how many */
    uint64_t advanced;                   /* updates of its own model */
    uint64_t next_show;                  /* the one at which it next leaves a copy of it */
    uint64_t colls;                      /* collectives joined */
    uint32_t stopped;
    bool dead; /* crashed, or given up by its peers */
    mot_time stalled_until;
    struct mot_pace pace;
    struct sim_spin spin;
    /* Where its time goes: `since` is when the account was last brought up to date. */
    mot_time since;
    uint32_t computing, flying; /* works running; messages from or to it under way */
    struct mot_node_tally tally;
};

struct sim_set {             /* of the models at one update */
    uint64_t at, then;       /* then: the update of the next */
    struct mot_piece *piece; /* [nodes]; x is a copy, NULL: it has not come there */
    struct sim_set *next;
};

enum work_state { WORK_FREE, WORK_WAITING, WORK_RUNNING };
struct sim_work {
    struct mot_crew_task task; /* first: the crew's pointer is ours */
    struct sim *sim;
    mot_node node;
    uint32_t state, tag, generation, terms;
    struct mot_term *term; /* room for need.terms, in sim->term */
    mot_buf at, grad;
    uint64_t order;                  /* among the node's works: the lowest waiting runs next */
    uint64_t asked, samples;         /* what there is; what will be covered */
    mot_time deadline, began, whole; /* whole: how long all of it takes */
    double loss, wall_s;
};

struct sim_alarm {
    mot_node node;
    uint32_t generation;
    mot_time at;
};

struct sim_coll { /* one collective under way */
    uint32_t tag, joined, finished, len;
    struct mot_slice *in;               /* [workers] */
    double (*scalar)[MOT_SCALARS];      /* [workers] */
    mot_time *began;                    /* [workers] */
    struct mot_coll_progress *progress; /* [workers] */
    mot_buf out;                        /* the sum, from the first completion on */
    double sum[MOT_SCALARS];
};

struct sim {
    const struct mot_sim_options *o;
    const struct mot_experiment *x;
    const struct mot_method *method;
    const struct mot_problem *problem;
    struct mot_watch watch;
    struct mot_world world;
    uint64_t *part_rows;
    uint32_t *batch;
    double wire_bytes;      /* a float on the wire: 4, more for a phantom */
    double cost_per_sample; /* multiply-adds: small jobs are not worth a thread */

    struct mot_pool pool;
    struct mot_outbox outbox;
    struct mot_memo memo;
    struct mot_heap heap;
    struct mot_crew *crew;
    struct mot_evaluator *evaluator;
    void **scratch; /* [threads] */

    struct sim_node *node;
    unsigned char *states;
    size_t states_bytes;
    struct mot_nic *nic;
    struct sim_work *work;
    uint32_t works, last_terms; /* last_terms: room of the last work */
    struct mot_term *term;
    struct sim_alarm *alarm;
    uint32_t alarms;
    struct mot_message *message; /* slots of messages under way */
    uint32_t *message_free, messages_free, messages;
    struct sim_coll *coll; /* [window]: the k-th collective is coll[k % window] */
    uint32_t window;
    struct sim_channel *channel; /* NULL: nothing goes wrong in this run */

    struct sim_fruitless fruitless;

    mot_time now;
    uint64_t order; /* of scheduling */
    uint64_t events, messages_sent, bytes_sent, samples, steps;
    uint32_t unlooked; /* steps since a method's invariants were looked at */
    uint64_t updates;  /* of the server, or the least of the workers' */
    /* as of the last of them: between two, jobs are counted that are in none yet */
    double epochs;
    uint32_t at_least; /* of those that count, how many have made just `updates` */
    uint32_t stops;    /* nodes that count and have stopped */

    double next_eval, next_checkpoint; /* in the unit of each */
    struct mot_every every;            /* evaluate.every, resolved */
    struct mot_course course;          /* not known where faults may take workers out */
    struct mot_moment last;
    bool save_due;           /* a checkpoint is to be written before the next event */
    bool evaluated_now;      /* nothing has happened since last */
    struct mot_view *view;   /* [nodes]: room to put together what is evaluated */
    uint32_t showing;        /* nodes whose models make up the run's; where they are several: */
    struct sim_set *sets;    /* by update: what those had at it who have come there */
    struct mot_piece *piece; /* [nodes]: room as above */
    uint64_t stop_at;        /* the update that ends the run, if it is known */
    bool at_update;          /* all that count have made just `updates`, or more, and no event came since */
    float *mean;             /* the evaluated model where nodes differ */
    struct mot_score best_score;
    float *best;
    uint64_t best_updates;
    double job_wall_s, started_wall_s, ticked_wall_s;

    struct mot_notes notes;
    struct mot_arena arena; /* keys of notes that came from a checkpoint */

    bool ended;
    enum mot_status status;
    const char *ended_by;
    bool has_peer; /* a node was lost for good: */
    mot_node peer;
    enum mot_stuck stuck_by; /* it can make no progress: why, whom that was seen at, how often */
    mot_node stuck_node;
    uint64_t stuck_count;
    bool model_lost;        /* it was the last that had the model */
    bool saved;             /* there is a checkpoint, */
    uint64_t saved_updates; /* of this update */
    bool target_reached;
    mot_time target_at;
    uint64_t target_updates;
};

/* sim.c */
double mot_sim_wall(void); /* seconds of the real clock */

/* setup.c */
enum mot_status mot_sim_open(const struct mot_sim_options *, struct sim **out);
void mot_sim_close(struct sim *);

/* effects.c: one event to one node, and what follows from it. */
void mot_sim_step(struct sim *, mot_node, const struct mot_event *);
void mot_sim_put(struct sim *, mot_time at, mot_node rank, enum sim_event, uint32_t index, uint32_t extra,
    uint32_t instance);
/* A message leaves, and is delivered at the time returned: the links
 * price it, accounts and traces hear of it. */
mot_time mot_sim_depart(
    struct sim *, mot_node from, mot_node to, uint64_t floats, uint16_t kind, bool collective);
void mot_sim_arrive(struct sim *, mot_node from, mot_node to);
void mot_sim_account(struct sim *, mot_node); /* bring the node's account up to now */
struct mot_memo *mot_sim_memo(struct sim *);  /* where all replicas make the same steps; else NULL */
/* the servers, or, without servers, the workers: the run ends by itself */
bool mot_sim_all_stopped(const struct sim *);
bool mot_sim_live(const struct sim *, const struct mot_pending *); /* false: cancelled or re-armed since */

/* work.c */
void mot_sim_start(struct sim *, mot_node, const struct mot_work *);
void mot_sim_cancel(struct sim *, mot_node, uint32_t tag);
void mot_sim_work_done(struct sim *, uint32_t work);
void mot_sim_compute(struct sim *, struct sim_work *);   /* give a running work's mathematics to the crew */
void mot_sim_abandon(struct sim *, mot_node);            /* the node is gone, its works with it */
void mot_sim_delay(struct sim *, mot_node, mot_time by); /* the running work goes on so much later */

/* collective.c */
void mot_sim_join(struct sim *, mot_node, const struct mot_coll *);
void mot_sim_coll_received(struct sim *, const struct mot_pending *);
/* over the channel */
void mot_sim_coll_step(struct sim *, uint32_t instance, mot_node from, mot_node to, uint32_t step);

/* channel.c, faults.c: only in runs with faults. */
void mot_channel_send(struct sim *, const struct mot_message *);
void mot_channel_send_step(struct sim *, mot_node from, const struct mot_coll_step *, uint32_t instance);
void mot_faults_begin(struct sim *);
void mot_faults_handle(struct sim *, const struct mot_pending *);
/* for a stalled node: put off. A dead node's: dropped */
bool mot_faults_waits(struct sim *, const struct mot_pending *);
void mot_faults_halt(struct sim *); /* nothing is pending: who is missing? */

/* stuck.c: what happens without progress is counted; enough of it ends the run. */
void mot_stuck_turn(struct sim *, mot_node); /* a job or an alarm of the node is over */
void mot_stuck_lost(struct sim *, mot_node);
void mot_stuck_fault(struct sim *);   /* a stall or a partition begins */
void mot_stuck_arrived(struct sim *); /* a message from a worker */
void mot_stuck_updated(struct sim *); /* a node has made an update */

/* judge.c: updates, evaluations and the end of the run. */
bool mot_sim_never_lost(const struct sim *, mot_node);
/* Whose updates are the run's: the servers, or, without servers, the workers that were never lost. They alone
 * have the model. */
static inline bool mot_sim_counts(const struct sim *s, mot_node node)
{
    if (s->world.servers > 0) return node >= s->world.workers;
    return !s->channel || mot_sim_never_lost(s, node);
}
void mot_sim_misses(struct sim *, mot_node); /* it is about to be lost */
void mot_sim_progress(struct sim *);         /* a node has advanced */
/* whether an end is reached: target, updates, epochs, no data left */
void mot_sim_look(struct sim *);
/* evaluations and checkpoints by updates and epochs that are due */
void mot_sim_due(struct sim *);
double mot_sim_next(const struct sim *, const struct mot_every *); /* the first one that is not over yet */
/* evaluations by time that fall due before `next`, and what is to be done before the next event */
void mot_sim_before_due(struct sim *, mot_time next);
static inline void mot_sim_before(struct sim *s, mot_time next)
{
    if (s->every.unit == MOT_EVERY_TIME || s->x->checkpoint.unit == MOT_EVERY_TIME || s->save_due)
        mot_sim_before_due(s, next);
}
void mot_sim_evaluate(struct sim *, bool final);
void mot_sim_end(struct sim *, enum mot_status, const char *by);
struct mot_moment mot_sim_moment(const struct sim *);

/* show.c: the evaluated model, and what nodes whose models differ had at an update that is looked at. */
void mot_sim_show_begin(struct sim *);     /* it is known when something is due */
void mot_sim_show(struct sim *, mot_node); /* it has advanced, and is one of several */
struct sim_set *mot_sim_set(
    struct sim *, uint64_t at); /* the set of that update, a new one if there is none */
void mot_sim_forget(struct sim *, uint64_t before);
/* consensus: set to how far the models are apart, where workers have models of their own; may be NULL */
const float *mot_sim_model(struct sim *, double *consensus);

/* checkpoint.c */
enum mot_status mot_sim_save(struct sim *);
enum mot_status mot_sim_restore(struct sim *, uint64_t *mark_out);
/* The same in memory. A simulator whose unpacking failed can only be closed. */
#define MOT_SIM_HEAD 64 /* bytes before the state: what it fits, and the mark; a checksum of 8 ends it */
struct mot_bytes mot_sim_pack(struct sim *);
enum mot_status mot_sim_unpack(struct sim *, const unsigned char *, size_t n, uint64_t *mark_out);

#endif
