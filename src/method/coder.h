/* coder.h -- the worker's side of gradient coding: combinations of the gradients of several parts.
 *
 * A worker has a role, a row of the code's matrix: which parts it computes, with which coefficients. Task t
 * takes batch t of each of these parts, so whoever has a part draws the same samples in the same task.
 *
 *   MODEL(round, task)  the next job;  REPLACE(round, task)  instead of all jobs it has
 *   job done        -> GRAD(round, samples, loss): the combination; 0 samples: the data has run out
 *   a part done     -> PIECE(round, samples, loss), if the decoder wants parts; GRAD brings the last one
 *   given up        -> GAVE_UP(samples computed in vain, jobs)
 *   SHUFFLE(e)      roles change: all jobs are given up; the rows of the old role go to its next holder
 *                   -> ROWS(e), as far as that one does not have them
 *   ROWS(e)         from the role's last holder, even before SHUFFLE(e) comes
 *   all rows here   -> SETTLED(e); a job begins only then
 *   ASK(e)          its last holder is lost -> WANT(e, part) to the server, which sends the rows itself
 *
 * The server begins no shuffle before everyone has settled, so a worker is never two shuffles behind, and by
 * then it holds just the rows of its role. A worker that was lost and is back holds nothing; the server's
 * SHUFFLE tells it its role, and it asks for all the rows. */
#ifndef MOT_METHOD_CODER_H
#define MOT_METHOD_CODER_H

#include "method/hub_parts.h"
#include <motley/code.h>

/* Heads. PIECE: as GRAD. SHUFFLE, SETTLED, ROWS, ASK: round = number of the shuffle. SHUFFLE: samples = 1 if
 * the role's last holder is lost. WANT: samples = part. */
enum {
    MOT_MSG_PIECE = MOT_HUB_OWN,
    MOT_MSG_SHUFFLE,
    MOT_MSG_ROWS,
    MOT_MSG_SETTLED,
    MOT_MSG_ASK,
    MOT_MSG_WANT
};

/* A coded method's configuration starts with this. */
struct mot_coder_conf {
    struct mot_hub_conf hub;
    struct mot_shuffle shuffle;
    uint64_t period; /* rounds from one shuffle to the next */
};

/* What the server of a coded method keeps: all else follows from it. */
enum { MOT_CODER_SHUFFLE, MOT_CODER_ROUNDS_LEFT, MOT_CODER_TASK };
/* The number of the last shuffle before this run: the server's if it is resumed, else 0. */
uint64_t mot_coder_first_shuffle(const struct mot_world *);

uint32_t mot_coder_role(const void *conf, const struct mot_world *, uint64_t shuffle, mot_node worker);
mot_node mot_coder_holder(const void *conf, const struct mot_world *, uint64_t shuffle, uint32_t role);
uint32_t mot_code_load(const struct mot_code *, uint32_t role); /* its parts */
bool mot_code_has(const struct mot_code *, uint32_t role, uint32_t part);

/* For the method's struct mot_worker_side. */
struct mot_need mot_coder_need(const struct mot_world *, uint32_t queue);
void mot_coder_init(void *state, struct mot_env *, uint32_t queue, bool looks);
void mot_coder_step(const struct mot_served *, void *state, struct mot_env *, const struct mot_event *);
void mot_coder_check(const void *state, const struct mot_env *, uint32_t queue);
bool mot_coder_admits(const void *state, const struct mot_env *, const struct mot_message *);

#endif
