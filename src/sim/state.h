/* state.h -- internals of the simulator, private to its files. */
#ifndef MOT_SIM_STATE_H
#define MOT_SIM_STATE_H

#include "base/bytes.h"
#include "base/memory.h"
#include "sim/coll_steps.h"
#include "base/crew.h"
#include "sim/heap.h"
#include "sim/network.h"
#include "run/actor.h"
#include "run/buckets.h"
#include "run/circle.h"
#include "run/judge.h"
#include "run/pool.h"
#include "sim/sim.h"
#include "run/views.h"
#include "run/world.h"

/* The last seven occur only in runs with faults. */
enum sim_event {
    SIM_START,
    SIM_MESSAGE,
    SIM_WORK,
    SIM_TIMER,
    SIM_COLL,
    SIM_FEED, /* samples that a job waited for have arrived */
    SIM_IDLE, /* a step that took time is over; only where cores are shared */
    SIM_FRAME,
    SIM_ACK,
    SIM_DELIVER,
    SIM_RESEND,
    SIM_FAULT,
    SIM_LOST,
    SIM_JOIN
};

/* Events without progress: see stuck.c. */
struct sim_spin { /* per node: jobs and alarms that ended at this time, after this update */
    mot_time at;
    uint64_t updates;
    uint32_t turns;
};
struct sim_fruitless {
    uint64_t losses, faults; /* since the last update; since anything from a worker arrived */
    mot_time since, longest_job, longest_message;
    /* Jobs left in the current window, 0 between two; how many ended since the last update while somebody
     * ended none; when the window began. */
    uint64_t left, absent;
    mot_time window;
};

struct sim_node {
    /* Points into the arrays of struct sim. Aligned so that a node fills whole cache lines and is quick to
     * index. */
    _Alignas(64) struct mot_actor actor;
    uint32_t state_bytes;
    uint32_t alarm;                /* index of its first */
    uint64_t next_show;            /* update at which it next leaves a copy of its model */
    uint8_t coll[MOT_COLL_SCOPES]; /* the place in the window of the collective it joins next */
    uint32_t stopped;
    bool dead;      /* crashed, or given up by its peers */
    uint16_t block; /* its row and column in `traffic` */
    uint32_t feeds; /* earlier SIM_FEED events are void */
    mot_time stalled_until;
    struct mot_pace pace;
    struct sim_spin spin;
    /* The time account, last brought up to date at `since`. */
    mot_time since;
    uint32_t computing, flying; /* jobs running; messages from or to it in flight */
};

struct sim_set {             /* copies of models at one update */
    uint64_t at, then;       /* then: the update of the next set */
    struct mot_piece *piece; /* [nodes]; x and moved are copies; NULL: not there yet */
    struct sim_set *next;
};

struct sim_work {
    struct mot_slot slot; /* must be first: an actor's slot is cast to its work */
    struct mot_crew_task task;
    struct sim *sim;
    mot_node node;
    uint32_t generation;
    uint64_t samples; /* samples it will cover */
    mot_time whole;   /* duration of the whole job */
    mot_time ends;    /* when it ends, whole or not */
    double loss, wall_s;
};

struct sim_alarm {
    mot_node node;
    uint32_t generation;
    mot_time at;
};

struct sim_coll { /* a collective in flight; arrays are by rank */
    struct mot_circle circle;
    enum mot_coll_kind kind;
    enum mot_coll_way way;
    uint32_t tag, joined, finished, off, len;
    struct mot_slice *in;
    double (*scalar)[MOT_SCALARS];
    mot_time *began;
    uint64_t *packed;                   /* bytes that each gave if packed; else 0 */
    struct mot_coll_progress *progress; /* [buckets][n]: each bucket goes its own way */
    mot_buf out; /* the sum, taken when the first member finishes; or what the root gave */
    double sum[MOT_SCALARS];
};

struct sim {
    const struct mot_driver_options *o;
    const struct mot_experiment *x;
    const struct mot_method *method;
    const struct mot_problem *problem;
    struct mot_watch watch;
    struct mot_world world;
    double wire_bytes;      /* bytes of a float on the wire: 4, or more for a phantom */
    double cost_per_sample; /* multiply-adds: small jobs are not worth a thread */

    struct mot_pool pool;
    struct mot_outbox outbox;
    struct mot_memo memo;
    struct mot_env env; /* of the current step; what never changes is filled in once */
    struct mot_heap heap;
    struct mot_crew *crew;
    void **scratch; /* [threads] */

    struct sim_node *node;
    unsigned char *states;
    size_t states_bytes;
    struct mot_nic *nic;
    struct mot_traffic traffic;
    struct sim_work *work;
    uint32_t works, last_terms; /* last_terms: room for terms of the last work */
    struct mot_term *term;
    uint64_t *held; /* [workers][mot_held_words]; NULL: part i is worker i's */
    size_t held_bytes;
    struct mot_feed *feed; /* [workers]; NULL: all data is there */
    struct mot_rate_supply *synthetic;
    struct sim_alarm *alarm;
    uint32_t alarms;
    struct mot_message *message; /* slots for messages in flight */
    uint32_t *message_free, messages_free, messages;
    struct sim_coll *coll; /* [circles][window], in turn */
    uint32_t window, colls;
    uint32_t buckets;            /* parts of a collective, whose gradients can leave early; 1: not cut */
    struct sim_channel *channel; /* NULL: no faults */
    struct sim_hosts *hosts;     /* NULL: only jobs and messages take time */
    mot_time lag;                /* how much later the current step's effects begin */

    struct sim_fruitless fruitless;

    mot_time now;
    uint64_t order; /* of scheduling */
    uint64_t events, messages_sent, bytes_sent, rows_bytes, samples, steps;
    bool advanced;     /* the current step made an update */
    uint32_t unlooked; /* steps until invariants are checked again */
    uint64_t updates;  /* of the server, or the fewest of any worker, or steps / workers (own_pace) */
    /* as of the last update: in between, some samples belong to no update yet */
    double epochs;
    uint32_t at_least; /* nodes that count and have made exactly `updates` */
    uint32_t stops;    /* nodes that count and have stopped */

    struct mot_judge judge;
    struct mot_course course; /* unknown if faults may take workers out */
    bool save_due;            /* write a checkpoint before the next event */
    bool evaluated_now;       /* no event since the last evaluation */
    struct mot_view *view;    /* [nodes]: scratch for the evaluated model */
    uint32_t showing;         /* nodes whose models make up the run's; if several: */
    struct sim_set *sets;     /* by update: copies from the nodes that reached it */
    struct mot_piece *piece;  /* [nodes]: scratch, as above */
    uint64_t stop_at;         /* the update that ends the run, if known */
    bool at_update;           /* all nodes that count made at least `updates`; no event since */
    float *mean;              /* the evaluated model, if models differ */
    double job_wall_s, started_wall_s, ticked_wall_s;

    struct mot_notes notes;
    struct mot_arena arena; /* keys of notes read from a checkpoint */

    bool has_peer; /* a node was lost for good */
    mot_node peer;
    enum mot_stuck stuck_by; /* no progress: why, at which node, how often */
    mot_node stuck_node;
    uint64_t stuck_count;
    bool model_lost;        /* the lost node was the last with the model */
    bool saved;             /* a checkpoint exists, */
    uint64_t saved_updates; /* of this update */
};

/* sim.c */

/* setup.c */
enum mot_status mot_sim_open(const struct mot_driver_options *, struct sim **out);
void mot_sim_close(struct sim *);

/* effects.c: delivers one event to one node and carries out the effects. */
void mot_sim_step(struct sim *, mot_node, const struct mot_event *);
void mot_sim_put(struct sim *, mot_time at, mot_node rank, enum sim_event, uint32_t index, uint32_t extra,
    uint32_t instance);
/* A message leaves; returns when it will be delivered. Links price it; accounts and traces record it. */
mot_time mot_sim_depart(
    struct sim *, mot_node from, mot_node to, uint64_t bytes, uint16_t kind, bool collective);
/* Counts a message as sent, whatever becomes of it. */
static inline void mot_sim_count(struct sim *s, mot_node from, mot_node to, uint64_t bytes)
{
    s->node[from].actor.tally.bytes_sent += bytes;
    s->node[from].actor.tally.messages_sent++;
    s->bytes_sent += bytes;
    s->messages_sent++;
    struct mot_sent *sent =
        &s->traffic.sent[s->node[from].block * s->traffic.blocks.in_all + s->node[to].block];
    sent->bytes += bytes;
    sent->messages++;
}
/* Counts the bytes of rows separately, if the message brings any. */
static inline void mot_sim_count_rows(struct sim *s, const struct mot_message *m, uint64_t bytes)
{
    if (!m->rows) return;
    s->node[m->from].actor.tally.rows_bytes += bytes;
    s->rows_bytes += bytes;
}
/* Gives a message that has arrived to its node. */
static inline void mot_sim_deliver(struct sim *s, const struct mot_message *m)
{
    mot_actor_take_rows(&s->node[m->to].actor, m);
    mot_sim_step(s, m->to, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = m });
    mot_pool_drop(&s->pool, m->body.buf);
}
void mot_sim_arrive(struct sim *, mot_node from, mot_node to);
void mot_sim_account(struct sim *, mot_node); /* brings the node's time account up to now */
/* Debug builds check invariants after every step, others now and then: a check may take time proportional
 * to the workers, and must cost no more than the steps between two checks. (NDEBUG does not matter:
 * asserts are on in every build.) */
static inline uint32_t mot_sim_looks_after(const struct mot_world *w)
{
#ifdef MOT_DEBUG
    (void)w;
    return 1;
#else
    return w->nodes > 256 ? w->nodes : 256;
#endif
}
struct mot_env *mot_sim_env(struct sim *, mot_node); /* for a step or an init now; valid until the next */
/* All servers (without servers, all workers) have stopped, which ends the run. */
bool mot_sim_all_stopped(const struct sim *);
/* False: cancelled or re-armed since. Messages and steps of collectives never are. */
bool mot_sim_still_live(const struct sim *, const struct mot_pending *);
static inline bool mot_sim_live(const struct sim *s, const struct mot_pending *p)
{
    return p->kind == SIM_MESSAGE || p->kind == SIM_COLL || mot_sim_still_live(s, p);
}

/* work.c */
void mot_sim_start(void *sim, struct mot_actor *, struct mot_slot *);
void mot_sim_cancel(void *sim, struct mot_actor *, struct mot_slot *);
void mot_sim_work_due(struct sim *, uint32_t work);      /* a piece is finished, or the job ends */
void mot_sim_fed(struct sim *, mot_node);                /* the samples that its next job lacked are there */
void mot_sim_compute(struct sim *, struct sim_work *);   /* hands a running job's mathematics to the crew */
void mot_sim_abandon(struct sim *, mot_node);            /* the node is lost, and its jobs with it */
void mot_sim_delay(struct sim *, mot_node, mot_time by); /* shifts the running job */

/* hosts.c: what a cluster charges besides jobs and messages, if anything. */
struct sim_hosts {
    uint32_t cores;         /* of a host; 0: enough for all */
    double step_ns, mix_ns; /* for a float */
    mot_time *busy_until;   /* [nodes]: the end of the node's last step */
    struct sim_host {
        mot_time since;  /* up to when its jobs are settled */
        uint32_t active; /* nodes that have computed or been busy since then */
    } * host;
    uint32_t hosts;
};
enum mot_status mot_hosts_open(struct sim *);
void mot_hosts_close(struct sim *);
/* A step has written to models: keeps the node busy for a while, after which the step's effects begin. */
void mot_hosts_charge(struct sim *, mot_node);
/* Something begins or ends on a node: brings the jobs of its host up to date. */
void mot_hosts_settle(struct sim *, mot_node);
/* When something begun at `from` ends that would end at `at` if the node had a core to itself. */
mot_time mot_hosts_stretch(const struct sim *, mot_node, mot_time from, mot_time at);
/* True if it puts the event off, as its node is still busy with a step. */
bool mot_hosts_waits(struct sim *, const struct mot_pending *);

/* collective.c */
static inline uint32_t mot_sim_buckets(const struct mot_world *w)
{
    return mot_buckets_any(w) ? w->buckets : 1;
}
/* The most messages of collectives in flight at once. */
uint64_t mot_sim_flights(const struct mot_needs *, const struct mot_experiment *, const struct mot_world *);
void mot_sim_join(void *sim, struct mot_actor *, const struct mot_coll *);
/* A bucket of the worker's input to the next collective is final, so its steps may begin. */
void mot_sim_give(struct sim *, mot_node, uint32_t bucket);
void mot_sim_coll_received(struct sim *, const struct mot_pending *);
/* A step that came over the channel. */
void mot_sim_coll_step(struct sim *, uint32_t instance, mot_node from, mot_node to, uint32_t step);
/* The node is lost: it no longer takes part, whatever its next life does. */
void mot_sim_coll_lost(struct sim *, mot_node);
/* Whether such a collective exists and both nodes are members. */
bool mot_sim_coll_exists(const struct sim *, uint32_t instance, mot_node from, mot_node to);

/* channel.c, faults.c: only in runs with faults. */
void mot_channel_send(struct sim *, const struct mot_message *);
void mot_channel_send_step(
    struct sim *, mot_node from, mot_node to, uint64_t bytes, uint32_t step, uint32_t instance);
void mot_faults_begin(struct sim *);
void mot_faults_handle(struct sim *, const struct mot_pending *);
/* True if the event is put off (its node is stalled) or dropped (its node is dead). */
bool mot_faults_waits(struct sim *, const struct mot_pending *);
void mot_faults_halt(struct sim *); /* nothing is pending: finds out who is missing */

/* stuck.c: counts what happens without progress; enough of it ends the run. */
void mot_stuck_turn(struct sim *, mot_node); /* a job or an alarm of the node has ended */
void mot_stuck_job(struct sim *);            /* a job has ended */
void mot_stuck_resumed(struct sim *);        /* from a checkpoint, perhaps of a run that ended this way */
void mot_stuck_lost(struct sim *, mot_node);
void mot_stuck_fault(struct sim *);   /* a stall or a network partition begins */
void mot_stuck_arrived(struct sim *); /* a message from a worker arrived */
void mot_stuck_updated(struct sim *); /* a node made an update */

/* judge.c: updates, evaluations and the end of the run. */
bool mot_sim_in_step(const struct sim *, mot_node);
/* Whether a node's updates count: the servers' do; without servers, those of workers that were never lost,
 * or are back with a model and have caught up. */
static inline bool mot_sim_counts(const struct sim *s, mot_node node)
{
    if (s->world.servers > 0) return node >= s->world.workers;
    return !s->channel || mot_sim_in_step(s, node);
}
void mot_sim_misses(struct sim *, mot_node); /* call before the node is lost */
/* A later life has a model: it counts again as soon as it has made as many updates as the run. */
void mot_sim_catches_up(struct sim *, mot_node);
void mot_sim_progress(struct sim *); /* a node has advanced */
/* Ends the run by stop.epochs though it has made no update since they were over. */
void mot_sim_overdue(struct sim *);
/* Ends the run if it is due: target, updates, epochs, or no data left. */
void mot_sim_look(struct sim *);
/* Evaluations and checkpoints that are due by updates or epochs. */
void mot_sim_due(struct sim *);
double mot_sim_next(const struct sim *, const struct mot_every *); /* the next that is due */
/* Evaluations due by time before `next`, and what else must happen before the next event. */
void mot_sim_before_due(struct sim *, mot_time next);
static inline bool mot_sim_by_time(const struct sim *s) /* something is due by time, now and then */
{
    return s->judge.every.unit == MOT_EVERY_TIME || s->x->checkpoint.unit == MOT_EVERY_TIME;
}
void mot_sim_evaluate(struct sim *, bool final);
struct mot_moment mot_sim_moment(const struct sim *);

/* show.c: the evaluated model, and copies of models that differ at updates where something is due. */
void mot_sim_show_begin(struct sim *);                  /* call once it is known when something is due */
void mot_sim_show(struct sim *, mot_node);              /* the node has advanced, and several show models */
void mot_sim_show_no_more(struct sim *, mot_node);      /* the node is lost */
void mot_sim_show_again(struct sim *, mot_node);        /* it is back and counts */
struct sim_set *mot_sim_set(struct sim *, uint64_t at); /* the set of that update, created if new */
void mot_sim_forget(struct sim *, uint64_t before);
/* mixed: set if workers have their own models; may be NULL */
const float *mot_sim_model(struct sim *, struct mot_mixed *mixed);

/* checkpoint.c */
enum mot_status mot_sim_save(struct sim *);
enum mot_status mot_sim_restore(struct sim *, uint64_t *mark_out);
/* The same in memory. If unpacking fails, the simulator can only be closed. */
#define MOT_SIM_HEAD 64 /* struct fit and the mark; the state and a checksum of 8 bytes follow */
struct mot_bytes mot_sim_pack(struct sim *);
enum mot_status mot_sim_unpack(struct sim *, const unsigned char *, size_t n, uint64_t *mark_out);

/* sound.c: checks what was read from a file. */
bool mot_sim_sound(const struct sim *);
bool mot_sim_gathers(const struct sim_coll *); /* whether its members give packed buffers */

#endif
