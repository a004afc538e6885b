/* mixer.h -- exchanges models with a worker's neighbours, for decentralised methods.
 *
 * In a round that mixes, a worker sends its model over the links in use, goes on computing, and averages
 * once it has a model from each of them. A neighbour can be one exchange ahead but no more, since it then
 * waits for this worker's model. So a seat keeps two models, in the order they were sent.
 *
 * A worker that was lost comes back with nothing (mixer_return.c). Each neighbour that has a model sends it
 * with the state of its optimiser and an *offer*: the first round that it has not begun. The newcomer takes
 * the first that is whole, enters at that round, and answers every offer with one of its own. The link is in
 * use from the later of the two rounds on, which both sides then know; until the answer is there, a worker
 * that offered does not end a round that would use the link. So weights stay symmetric at all times, whoever
 * is lost meanwhile and however many come back at once, and there is nobody to elect. */
#ifndef MOT_METHOD_MIXER_H
#define MOT_METHOD_MIXER_H

#include <motley/method.h>

enum {
    MOT_MSG_PEER_MODEL,
    MOT_MSG_PEER_OFFER, /* head.round: see above; with a model for a worker that may have none */
    MOT_MSG_PEER_STATE, /* the optimiser's buffer number head.round; before the offer that it goes with */
    MOT_MSG_PEER_HELLO, /* from a worker without a model to one that came back after it */
};

enum mot_seat_phase {
    MOT_SEAT_IN,      /* the link is in use from round `from` on */
    MOT_SEAT_LOST,    /* what still arrives is ignored */
    MOT_SEAT_UNKNOWN, /* this worker came back and has not heard from that one */
    MOT_SEAT_HERE,    /* it is there, and this worker has no model to offer yet */
    MOT_SEAT_OFFERED, /* this worker's offer is out, with round `from` */
};

struct mot_mixer_seat {
    /* older first; while this worker has no model: the optimiser's state that comes with the offer */
    mot_buf model[2];
    uint64_t round[2], from;
    uint32_t models;
    uint16_t phase; /* enum mot_seat_phase */
    bool used;      /* its link is in use this time, or is waiting for the answer to an offer */
};

/* The last member of a method's state: its seats follow, in the order of the world's mixing, and room for
 * what goes into a mean. */
struct mot_mixer {
    uint64_t round;          /* of the current exchange */
    uint32_t seats, missing; /* missing: used seats without a model */
    bool open;               /* an exchange is in progress */
    bool empty;              /* this worker came back and has no model yet */
};

/* Adds the mixer's needs to the method's. readmits: it takes workers back. */
void mot_mixer_need(const struct mot_world *, mot_node self, bool readmits, struct mot_need *);
void mot_mixer_init(struct mot_mixer *, const struct mot_env *);

/* Opens the exchange of this round: sends x over every link for which `uses` is true (NULL: all). */
typedef bool mot_uses(const struct mot_env *, uint64_t round, uint32_t matching);
void mot_mixer_open(struct mot_mixer *, struct mot_env *, uint64_t round, mot_buf x, mot_uses *uses);
/* A neighbour's model; other kinds are for mot_mixer_greeted. */
void mot_mixer_message(struct mot_mixer *, struct mot_env *, const struct mot_message *);
/* Whether this message can arrive now: a model must be of the next round in which its sender's link to this
 * worker is in use. This worker has not begun rounds from `next` on; every `period`-th round mixes. */
bool mot_mixer_admits(const struct mot_mixer *, const struct mot_env *, const struct mot_message *,
    uint64_t next, uint64_t period, mot_uses *uses);

/* Whether all models of the open exchange have arrived. */
bool mot_mixer_ready(const struct mot_mixer *);

/* Closes the exchange. Returns a new buffer: the sum over the used links of W[i][j] x[j], plus x times 1
 * minus the sum of those weights. The sum is taken in double, in rank order: equal models give that very
 * model, and the mean over all workers moves by at most half a unit in the last place of the largest of
 * them. */
mot_buf mot_mixer_close(struct mot_mixer *, struct mot_env *, mot_buf x);

/* A peer is lost: this worker takes over its weight, which keeps the others' matrix symmetric with rows
 * that sum to 1. False: it is not a neighbour. */
bool mot_mixer_lose(struct mot_mixer *, struct mot_env *, mot_node);

void mot_mixer_check(const struct mot_mixer *, const struct mot_env *);

/* ---- Back again: mixer_return.c ------------------------------------------------------------------------ */

/* A peer has come back. This worker has not begun rounds from `next` on; p: its parameters. False: it is not
 * a neighbour. */
bool mot_mixer_return(
    struct mot_mixer *, struct mot_env *, mot_node, const struct mot_params *p, uint64_t next);

enum mot_greeting {
    MOT_GREETING_HEARD,  /* nothing follows from it */
    MOT_GREETING_AGREED, /* the link is in use again, from a round on that both sides know */
    /* and this worker, which had none, now has parameters: p->step is the round at which it enters */
    MOT_GREETING_ENTERED,
};
/* Any message that is not a model. */
enum mot_greeting mot_mixer_greeted(
    struct mot_mixer *, struct mot_env *, const struct mot_message *, struct mot_params *p, uint64_t next);

/* Among the mixer's files. */
static inline struct mot_mixer_seat *mot_mixer_seats(const struct mot_mixer *m)
{
    return (struct mot_mixer_seat *)(m + 1);
}
static inline const struct mot_near *mot_mixer_near(const struct mot_env *env)
{
    return env->world->mixing->near + env->world->mixing->at[env->self];
}
struct mot_mixer_seat *mot_mixer_seat_of(const struct mot_mixer *, const struct mot_env *, mot_node);
void mot_mixer_send(const struct mot_mixer *, struct mot_env *, mot_node to, mot_buf x);
bool mot_mixer_admits_return(const struct mot_mixer *, const struct mot_env *, const struct mot_message *,
    const struct mot_mixer_seat *from);

#endif
