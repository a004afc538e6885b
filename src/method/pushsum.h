/* pushsum.h -- push-sum over directed links: who sends shares of its model to whom, what arrives early, and
 * how shares are folded in (Kempe, Dobra and Gehrke, Gossip-Based Computation of Aggregate Information, 2003;
 * Nedic and Olshevsky, Stochastic Gradient-Push, 2016).
 *
 * A worker has x = w z: a biased model x, its weight w and the model z that they stand for. Only z and w are
 * kept. A share p of x is sent as z and p w, so one frozen buffer serves all receivers, and folding in is
 *
 *   w = sum of the shares' weights,    z = sum of weight / w times z, over the shares and what was kept
 *
 * which is x = sum p x, w = sum p w, z = x / w. The weights of all workers and shares add up to the number of
 * workers for ever, whatever the graph; only a lost worker takes its own with it.
 *
 * A worker goes on to round t + 1 when it has the shares of round t - lag, so no sender can be ahead of a
 * receiver by more than the way back from the receiver to the sender allows:
 *
 *   exponential graph   every worker is reached from every other in `leaps` hops (leaps.h). A hop goes back
 *                       lag + 1 rounds or more, in all leaps * s, where s is the least number above lag that
 *                       has no factor in common with leaps: hops s rounds apart use all exponents in turn.
 *   topology            the receiver is a neighbour too: one hop, lag + 1 rounds.
 *   with lost workers   (exponential graph) ways back are longer: ways_most() hops are allowed, and each
 *                       waits for its exponent. A worker that sends to one without such a way back stops.
 *
 * So a seat has room for all that can come early. If more come (not everyone learns of a loss at once), the
 * newest two are joined: their weights add up, and no mass is lost. */
#ifndef MOT_METHOD_PUSHSUM_H
#define MOT_METHOD_PUSHSUM_H

#include <motley/method.h>

enum { MOT_MSG_SHARE };
enum mot_push_graph { MOT_PUSH_EXPONENTIAL, MOT_PUSH_TOPOLOGY };

#define MOT_LAG_MOST 16u

/* The same on all workers: how a run pushes. */
struct mot_push_plan {
    enum mot_push_graph graph;
    uint32_t peers, lag;
    bool goes_on; /* without lost workers */
};

/* The last member of a method's state: seats, shares and scratch follow it. */
struct mot_push {
    struct mot_push_plan plan;
    uint64_t first; /* round of this run: nobody has sent anything before */
    double weight;  /* of what this worker has */
    /* weight sent in rounds whose shares its receivers do not fold in before this worker's next fold */
    double flying[MOT_LAG_MOST + 1];
    uint32_t links, room; /* room: shares that a seat can hold */
};

/* Adds what pushing needs to a method's needs. */
void mot_push_need(const struct mot_push_plan *, const struct mot_world *, mot_node self, struct mot_need *);
void mot_push_init(
    struct mot_push *, const struct mot_env *, const struct mot_push_plan *, uint64_t first, double weight);

/* Sends its shares of z in this round. */
void mot_push_send(struct mot_push *, struct mot_env *, uint64_t round, mot_buf z);
void mot_push_message(struct mot_push *, struct mot_env *, const struct mot_message *);
bool mot_push_admits(const struct mot_push *, const struct mot_env *, const struct mot_message *);
/* Whether the shares that this round folds in are there: those sent `lag` rounds before. */
bool mot_push_ready(const struct mot_push *, uint64_t round);
/* Folds them in: drops z and returns what takes its place. */
mot_buf mot_push_fold(struct mot_push *, struct mot_env *, uint64_t round, mot_buf z);

/* The weight that this worker has, and has sent for others to fold in later. */
double mot_push_mass(const struct mot_push *);

/* A worker is lost: nothing is sent to it or awaited from it any more. Its shares that have arrived still
 * count. */
enum mot_push_loss {
    MOT_PUSH_STRANGER, /* no link to it */
    MOT_PUSH_PEER,
    MOT_PUSH_CUT_OFF, /* this worker sends to one that can no longer reach it: mass would only drain away */
};
enum mot_push_loss mot_push_lose(struct mot_push *, struct mot_env *, mot_node);

void mot_push_check(const struct mot_push *, const struct mot_env *);

#endif
