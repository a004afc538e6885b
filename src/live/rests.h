/* rests.h -- what workers have left to send (error feedback), for checkpoints of runs with servers.
 *
 * A checkpoint is a server's state after an update. What a worker had left (struct mot_left) must match that:
 * it is what was left after the last message from it that the server had taken in by then. The worker has
 * gone on in the meantime, so it keeps what it had left after each message until nobody can ask for it any
 * more: every message from a server says how many of the worker's it had taken in at its last update.
 *
 *   the server's update u:   took = messages taken in so far
 *   whatever it sends after: says `took`; the worker forgets what is older
 *   a checkpoint of u:       the server asks for number `took` at once, before it sends anything else
 *
 * A worker has at most `queue` jobs that a server has no answer to. So a server asks for the number it last
 * told, or for one of the worker's last queue + 1 messages: at most queue + 2 are kept. They are not copies:
 * a packer that finds others holding what it has left writes the next to a new buffer.
 *
 * With several servers, each has its own range, its own packer at every worker, and its own numbers. */
#ifndef MOT_LIVE_RESTS_H
#define MOT_LIVE_RESTS_H

#include "live/port.h"
#include "run/outcome.h"
#include "run/pool.h"

struct mot_live;
struct mot_live_node;
struct mot_live_judge;

/* Whether checkpoints of this run have what workers had left. */
bool mot_live_has_rests(const struct mot_live *);
/* The most answers that a process may have under way to another's judge: two for each server that asks, and
 * some to spare. */
uint32_t mot_live_rests_sent(const struct mot_live *);
/* The most buffers that all this takes in a process. */
uint32_t mot_live_rests_buffers(const struct mot_live *);
struct mot_slice mot_live_range(const struct mot_live *, mot_buf, uint32_t server); /* a server's floats */

/* ---- At a worker -------------------------------------------------------------------------------- */

struct mot_rests;
void mot_rests_open(struct mot_live_node *);  /* n->rests; before init: fills in what a resumed run has */
void mot_rests_begin(struct mot_live_node *); /* after init */
void mot_rests_close(struct mot_live_node *);
void mot_rests_sent(struct mot_live_node *, uint32_t server); /* a message */
/* Heard from a server: how many messages it had taken in at its last update. */
void mot_rests_told(struct mot_live_node *, uint32_t server, uint64_t took);
/* What was left after so many messages; its buffer is held for the caller. False: unknown. On threads,
 * servers call it. */
bool mot_rests_after(struct mot_live_node *, uint32_t server, uint64_t number, struct mot_left *out);

/* ---- At a server -------------------------------------------------------------------------------- */

/* Whether a model shown for this update may be saved. */
bool mot_live_wants_rests(const struct mot_live *, const struct mot_shown *);
/* Asks all workers for what goes with the update that the server has just made. */
void mot_live_ask_rests(struct mot_live_node *server, const struct mot_shown *);

/* ---- At the judge ------------------------------------------------------------------------------- */

/* The answers that have come for one checkpoint. */
struct mot_gather;
struct mot_gather *mot_gather_open(struct mot_live_judge *, const struct mot_shown *);
/* The same for a run that has not begun: what it goes on with. */
struct mot_gather *mot_gather_beginning(struct mot_live_judge *);
void mot_gather_close(struct mot_live_judge *, struct mot_gather *); /* NULL is fine */
void mot_gather_await(struct mot_live_judge *, struct mot_gather *); /* until it is whole, or hopeless */
/* All three under the judge's lock. find: the one that an answer is for, or NULL. any: whether answers worth
 * waiting for are still to come. lost: this node's answers will not come. */
struct mot_gather *mot_gather_find(const struct mot_live_judge *, const struct mot_want *);
bool mot_gather_any(const struct mot_live_judge *);
void mot_gather_lost(struct mot_live_judge *, mot_node);
/* All of several servers have asked, so answers are due; nobody waits before that. NULL is fine. */
void mot_gather_due(struct mot_gather *);
/* One of several servers has ended: the answers that came with its end count here too. */
void mot_gather_ended(
    struct mot_live_judge *, struct mot_gather *, struct mot_gather *ending, uint32_t server);

struct mot_live_rest { /* in a checkpoint */
    double weight, lost;
    uint64_t packs;
    const float *x; /* [the server's range]; NULL: nothing is left */
};
/* As a checkpoint has it: [workers][servers], to be freed; the floats are the gather's. Counts the workers
 * whose answers are incomplete, and names the first. */
struct mot_live_rest *mot_gather_rests(
    struct mot_live_judge *, const struct mot_gather *, uint32_t *missing, mot_node *first);

struct mot_live_checkpoint;
uint64_t mot_live_rests_hash(const struct mot_live *, const struct mot_live_checkpoint *); /* 0: none */

/* A worker's answer, from any thread; NULL: it does not know. Takes over the hold on its buffer, or `x`,
 * which is malloc'd and has the floats of the server's range. */
void mot_live_judge_rest(struct mot_live_judge *, const struct mot_want *, const struct mot_left *, float *x);
bool mot_live_judge_awaits(struct mot_live_judge *);

#endif
