/* mixer.h -- the exchange of models with those near a worker, for decentralised methods.
 *
 * In a round that mixes, a worker sends its model over the links that the round uses, goes on
 * computing, and averages when it has a model from each of them. A neighbour can be one such exchange ahead:
 * it waits for this worker's model of the next. So a seat keeps two models, in the order in
 * which they were sent. */
#ifndef MOT_METHOD_MIXER_H
#define MOT_METHOD_MIXER_H

#include <motley/method.h>

enum { MOT_MSG_PEER_MODEL };

struct mot_mixer_seat {
    mot_buf model[2]; /* the older first */
    uint64_t round[2];
    uint32_t models;
    bool used, lost; /* its link is part of this exchange; it will not come any more */
};

/* The last member of a method's state: its seats follow, in the order of the world's mixing. */
struct mot_mixer {
    uint64_t round;          /* of the exchange */
    uint32_t seats, missing; /* missing: used seats without a model */
    bool open;               /* an exchange is under way */
};

/* Adds what the mixer needs to the method's own. */
void mot_mixer_need(const struct mot_world *, mot_node self, struct mot_need *);
void mot_mixer_init(struct mot_mixer *, const struct mot_env *);

/* Opens the exchange of this round: sends x over every link for which `uses` is true (NULL: all). */
typedef bool mot_uses(const struct mot_env *, uint64_t round, uint32_t matching);
void mot_mixer_open(struct mot_mixer *, struct mot_env *, uint64_t round, mot_buf x, mot_uses *uses);
void mot_mixer_message(struct mot_mixer *, struct mot_env *, const struct mot_message *);

/* Whether all models of the open exchange are here. */
bool mot_mixer_ready(const struct mot_mixer *);

/* Closes the exchange: a new buffer with the sum over the used links of W[i][j] x[j], plus what they leave of
 * 1 times x. The sum is taken in double, in rank order: where all models are equal so is the result, and the
 * mean over all workers moves by no more than half a unit in the last place of the largest of them. */
mot_buf mot_mixer_close(struct mot_mixer *, struct mot_env *, mot_buf x);

/* A peer is gone: from here on its weight is this worker's own, which keeps the matrix of the others
 * symmetric with rows of sum 1. False: it is not near. */
bool mot_mixer_lose(struct mot_mixer *, struct mot_env *, mot_node);

void mot_mixer_check(const struct mot_mixer *, const struct mot_env *);

#endif
