/* buffered.h -- what FedBuff and CA2FL share: workers with local steps (local.h), and a server that
 * buffers what they send and makes a step for every K. Nobody waits for it: the sender, or another worker,
 * gets a new job at the current model. The buffer is kept in worker order, so sums over it do not depend
 * on who came first. */
#ifndef MOT_METHOD_BUFFERED_H
#define MOT_METHOD_BUFFERED_H

#include "method/assign.h"

struct mot_buffered_conf {
    struct mot_hub_conf hub;
    uint32_t assign;
    uint64_t steps, k;
    double server_rate;
};

/* The sum of a job's mean gradients is sum / batch. weight: as the method chooses. */
struct mot_parcel {
    uint64_t round;
    double weight;
    mot_buf sum;
    mot_node from;
    uint32_t batch, spare;
};

struct mot_buffered {
    struct mot_hub hub;
    struct mot_assign assign;
    uint32_t count, k;
    struct mot_parcel in[]; /* [k], then room for the assignment: uint32_t[workers] */
};

#define MOT_BUFFERED_OPTIONS                                                                                 \
    { .name = "steps",                                                                                       \
        .type = MOT_OPT_UINT,                                                                                \
        .offset = offsetof(struct mot_buffered_conf, steps),                                                 \
        .preset = "1",                                                                                       \
        .min = 1,                                                                                            \
        .max = 1e6,                                                                                          \
        .doc = "local steps of a worker per job, one batch each, at the optimiser's learning rate "          \
               "without its momentum" },                                                                     \
        { .name = "k",                                                                                       \
            .type = MOT_OPT_UINT,                                                                            \
            .offset = offsetof(struct mot_buffered_conf, k),                                                 \
            .preset = "auto",                                                                                \
            .word = "auto",                                                                                  \
            .min = 1,                                                                                        \
            .max = 1e6,                                                                                      \
            .doc = "jobs per update. auto: a quarter of the workers, rounded up" },                          \
        { .name = "server_rate",                                                                             \
            .type = MOT_OPT_REAL,                                                                            \
            .offset = offsetof(struct mot_buffered_conf, server_rate),                                       \
            .preset = "1",                                                                                   \
            .min = 1e-9,                                                                                     \
            .max = 1e9,                                                                                      \
            .doc = "the server's step as a multiple of the workers' mean step; 1: as far as they went" },    \
        { .name = "assign",                                                                                  \
            .type = MOT_OPT_CHOICE,                                                                          \
            .offset = offsetof(struct mot_buffered_conf, assign),                                            \
            .preset = "pure",                                                                                \
            .choices = "pure|random|shuffled",                                                               \
            .doc = "who gets a new job: pure, the worker that has just reported; random, a random "          \
                   "worker; shuffled, the next in a permutation of the workers, drawn afresh every n "       \
                   "jobs. With the last two, fast workers' data weigh no more than others'" },               \
        MOT_HUB_OPTIONS

struct mot_hub_need mot_buffered_need(const void *conf, const struct mot_world *);
/* Bytes of the state: a multiple of 16. */
size_t mot_buffered_bytes(const void *conf, const struct mot_world *);
struct mot_local_steps mot_buffered_steps(const void *conf);
/* Counted in workers' steps, several of which make an update. */
double mot_buffered_delay(const void *conf, uint32_t workers);
bool mot_buffered_in_turn(const void *conf);
void mot_buffered_advise(const void *conf, const struct mot_situation *, char *into, size_t size);
void mot_buffered_begin(void *state, struct mot_env *);
/* Puts the answer into the buffer; true: the buffer is full. */
bool mot_buffered_put(struct mot_buffered *, struct mot_env *, const struct mot_answer *, double weight);
/* Makes a server step along `scale` times the sum and empties the buffer. */
void mot_buffered_step(struct mot_buffered *, struct mot_env *, mot_buf sum, double scale);
/* Tops up the jobs in flight to one per worker. */
void mot_buffered_assign(void *state, struct mot_env *, mot_node worker);
void mot_buffered_lost(void *state, struct mot_env *, mot_node worker, uint32_t jobs);
void mot_buffered_check(const void *state, const struct mot_env *);

#endif
