/* actor.h -- a node as every driver runs it: the method's state, slots for its jobs, its alarms, and the
 * way its effects leave a step.
 *
 * A driver that must remember more about a job embeds struct mot_slot as the first member of its own slot. */
#ifndef MOT_RUN_ACTOR_H
#define MOT_RUN_ACTOR_H

#include "run/feed.h"
#include "run/gradient.h"
#include "run/outbox.h"
#include "run/outcome.h"
#include "run/pool.h"

enum mot_slot_state { MOT_SLOT_FREE, MOT_SLOT_WAITING, MOT_SLOT_RUNNING };
struct mot_slot { /* one job */
    uint32_t state, tag, terms, least;
    mot_buf at, grad;
    struct mot_term *term;  /* [need.terms] */
    uint64_t order;         /* the waiting slot with the lowest order runs next */
    uint64_t asked;         /* samples of all terms; this and what follows is valid once the job runs */
    bool pieces;            /* each term's result is delivered separately: */
    uint32_t piece;         /* the one being computed; 0 without pieces, */
    uint64_t before, until; /* and samples done when it begins and ends; without pieces 0 and all */
    bool summed;            /* its gradient leaves early, in buckets: */
    uint32_t gone;          /* buckets that have left */
    mot_time deadline, began;
};

struct mot_actor {
    mot_node self;
    uint32_t works, alarms;
    uint32_t slot_bytes;   /* distance between slots */
    struct mot_slot *slot; /* [works] */
    mot_time *alarm;       /* [alarms]; MOT_NEVER: not set. NULL: the driver keeps alarms itself */
    void *state;
    uint64_t *held; /* a bit for each part that the worker holds; NULL: a server, or part i is worker i's */
    struct mot_feed *feed; /* its samples arrive over time; NULL: they are all there */
    bool guest;            /* it has got samples from others, and may compute on them */
    uint64_t advanced;     /* updates of the node's own model */
    uint64_t used;         /* samples that went into these, as mot_used said */
    struct mot_node_tally tally;
};

/* Allocates the actor's memory and an outbox for its steps. If memory is refused, the actor can only be
 * closed. Drivers with flat arrays build actors that point into those instead. */
void mot_actor_open(struct mot_actor *, struct mot_outbox *, const struct mot_experiment *,
    const struct mot_world *, mot_node self, size_t slot_bytes);
void mot_actor_close(struct mot_actor *, struct mot_outbox *);

/* ---- Which rows a node has: only its own thread asks or changes it ---- */

static inline size_t mot_held_words(const struct mot_world *w) { return ((size_t)w->parts + 63) / 64; }

/* Sets what a worker holds when a life begins: in the first what the method says, in later ones nothing. */
void mot_actor_hold_first(
    struct mot_actor *, const struct mot_experiment *, const struct mot_world *, uint32_t life);

static inline bool mot_actor_holds(const struct mot_actor *a, uint32_t part)
{
    return a->held ? a->held[part / 64] >> part % 64 & 1 : part == a->self || a->guest;
}

/* A message has arrived: notes the rows that it brings, if any. */
static inline void mot_actor_take_rows(struct mot_actor *a, const struct mot_message *m)
{
    a->guest |= m->given > 0;
    if (m->rows && a->held && !m->given) a->held[(m->rows - 1) / 64] |= UINT64_C(1) << (m->rows - 1) % 64;
}

/* A job that begins may name only parts that its worker holds. */
static inline void mot_actor_check_terms(const struct mot_actor *a, const struct mot_slot *s)
{
    for (uint32_t t = 0; t < s->terms; t++)
        MOT_ASSERT(mot_actor_holds(a, s->term[t].part) && "a job on rows that its worker does not hold");
}

/* Bytes of so many floats, at bytes_per_float each. */
static inline uint64_t mot_floats_bytes(uint64_t floats, double bytes_per_float)
{
    return (uint64_t)((double)floats * bytes_per_float + 0.5);
}

/* Bytes of a message: its rows, its packet, or its floats at bytes_per_float each. */
static inline uint64_t mot_message_bytes(const struct mot_world *w, const struct mot_pool *pool,
    const struct mot_message *m, double bytes_per_float)
{
    if (m->given) return m->given * w->row_bytes[m->rows - 1];
    if (m->rows) return w->part_bytes[m->rows - 1];
    uint64_t packed = w->compress ? mot_pool_packed(pool, m->body.buf) : 0;
    if (packed) return packed;
    return m->body.buf ? mot_floats_bytes(m->body.len, bytes_per_float) : 0;
}

/* The environment of a step. Drivers add `memo` and `life` where they have them. */
static inline struct mot_env mot_env_of(const struct mot_experiment *x, const struct mot_world *world,
    mot_node self, mot_time now, struct mot_pool *pool, struct mot_outbox *out)
{
    return (struct mot_env){
        .self = self, .now = now, .world = world, .conf = x->method_conf, .pool = pool, .out = out
    };
}

static inline struct mot_slot *mot_actor_slot(const struct mot_actor *a, uint32_t i)
{
    return (struct mot_slot *)((char *)a->slot + (size_t)i * a->slot_bytes);
}

/* The slot that is running, the one with this tag that waits or runs, and the one to run now. Each is NULL if
 * there is no such slot. */
static inline struct mot_slot *mot_actor_running(const struct mot_actor *a)
{
    for (uint32_t i = 0; i < a->works; i++)
        if (mot_actor_slot(a, i)->state == MOT_SLOT_RUNNING) return mot_actor_slot(a, i);
    return NULL;
}

static inline struct mot_slot *mot_actor_with_tag(const struct mot_actor *a, uint32_t tag)
{
    for (uint32_t i = 0; i < a->works; i++) {
        struct mot_slot *s = mot_actor_slot(a, i);
        if (s->state != MOT_SLOT_FREE && s->tag == tag) return s;
    }
    return NULL;
}

static inline struct mot_slot *mot_actor_next(const struct mot_actor *a)
{
    struct mot_slot *next = NULL;
    for (uint32_t i = 0; i < a->works; i++) {
        struct mot_slot *s = mot_actor_slot(a, i);
        if (s->state == MOT_SLOT_RUNNING) return NULL;
        if (s->state == MOT_SLOT_WAITING && (!next || s->order < next->order)) next = s;
    }
    return next;
}

/* Before a job runs: sets what it is asked for, and begins with its first piece. */
void mot_slot_begin(struct mot_slot *, const struct mot_problem *);
/* The piece is finished: the next term becomes the current one. */
void mot_slot_next_piece(struct mot_slot *, const struct mot_problem *);

/* Whether another piece follows the one being computed. */
static inline bool mot_slot_has_next(const struct mot_slot *s)
{
    return s->pieces && s->piece + 1 < s->terms;
}

/* The terms being computed: all of them, or one. */
static inline const struct mot_term *mot_slot_terms(const struct mot_slot *s, uint32_t *terms_out)
{
    *terms_out = s->pieces ? 1 : s->terms;
    return &s->term[s->piece];
}

/* How a driver carries out effects. start gets a slot that is filled and waiting; cancel is called only
 * for jobs that have not ended; alarm is NULL if the actor keeps the alarms. */
struct mot_actor_ops {
    void (*send)(void *driver, struct mot_actor *, const struct mot_message *);
    void (*start)(void *driver, struct mot_actor *, struct mot_slot *);
    void (*cancel)(void *driver, struct mot_actor *, struct mot_slot *);
    void (*collect)(void *driver, struct mot_actor *, const struct mot_coll *);
    void (*alarm)(void *driver, struct mot_actor *, uint32_t tag, mot_time at);
    void (*advance)(void *driver, struct mot_actor *);
    void (*enter)(void *driver, struct mot_actor *);
    void (*credit)(void *driver, struct mot_actor *, mot_node worker);
    void (*note)(void *driver, struct mot_actor *, const char *key, double value);
    void (*stop)(void *driver, struct mot_actor *, enum mot_status why);
};

/* Inline from here on, so that a driver with a constant table calls its operations directly: indirect calls
 * took 2 to 4 % of a simulated event. */

static inline struct mot_slot *mot_actor_fill_slot(struct mot_actor *a, const struct mot_work *work)
{
    uint32_t i = 0;
    while (i < a->works && mot_actor_slot(a, i)->state != MOT_SLOT_FREE) i++;
    MOT_ASSERT(i < a->works && "a node has more work at once than need() declared");
    struct mot_slot *s = mot_actor_slot(a, i);
    s->state = MOT_SLOT_WAITING;
    s->tag = work->tag;
    s->terms = work->terms;
    for (uint32_t t = 0; t < work->terms; t++) s->term[t] = work->term[t];
    s->at = work->at; /* takes over the hold that mot_start took */
    s->deadline = work->deadline;
    s->pieces = work->pieces;
    s->least = work->least;
    s->piece = 0;
    s->summed = work->summed;
    s->gone = 0;
    return s;
}

static inline void mot_actor_carry_out(
    struct mot_actor *a, const struct mot_effect *e, const struct mot_actor_ops *ops, void *driver)
{
    struct mot_slot *slot;
    switch (e->kind) {
    case MOT_FX_SEND:
        MOT_ASSERT((!e->message.rows || !a->held || mot_actor_holds(a, e->message.rows - 1)) &&
            "rows are sent by a worker that does not hold them");
        ops->send(driver, a, &e->message);
        return;
    case MOT_FX_FORGET: a->held[e->part / 64] &= ~(UINT64_C(1) << e->part % 64); return;
    case MOT_FX_START: ops->start(driver, a, mot_actor_fill_slot(a, &e->work)); return;
    case MOT_FX_CANCEL:
        if (!(slot = mot_actor_with_tag(a, e->alarm.tag))) return;
        MOT_ASSERT(!slot->summed && "a job whose gradient leaves early is cancelled");
        ops->cancel(driver, a, slot);
        return;
    case MOT_FX_COLLECT: ops->collect(driver, a, &e->coll); return;
    case MOT_FX_ALARM:
        MOT_ASSERT(e->alarm.tag < a->alarms);
        if (ops->alarm) ops->alarm(driver, a, e->alarm.tag, e->alarm.at);
        else a->alarm[e->alarm.tag] = e->alarm.at;
        return;
    case MOT_FX_ADVANCE:
        a->advanced++;
        ops->advance(driver, a);
        return;
    case MOT_FX_ENTER:
        a->advanced = e->updates;
        ops->enter(driver, a);
        return;
    case MOT_FX_CREDIT: ops->credit(driver, a, e->credit); return;
    case MOT_FX_NOTE: ops->note(driver, a, e->note.key, e->note.value); return;
    case MOT_FX_STOP: ops->stop(driver, a, e->stop); return;
    }
}

/* Carries out the effects of a step in order and empties the outbox. */
static inline void mot_actor_drain(
    struct mot_actor *a, struct mot_outbox *out, const struct mot_actor_ops *ops, void *driver)
{
    a->used += out->used;
    /* Nobody adds to it meanwhile. */
    for (const struct mot_effect *e = out->effect, *end = e + out->n; e < end; e++)
        mot_actor_carry_out(a, e, ops, driver);
    mot_outbox_clear(out);
}

#endif
