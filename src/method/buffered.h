/* buffered.h -- what FedBuff and CA2FL share: workers with local steps (local.h), and a server that puts what
 * they send into a buffer and makes a step when K are in. Nobody waits for that: who has sent gets a new job,
 * or somebody else does, at the model there is. The buffer is kept in worker order, so that sums over it do
 * not depend on who came first. */
#ifndef MOT_METHOD_BUFFERED_H
#define MOT_METHOD_BUFFERED_H

#include "method/assign.h"

struct mot_buffered_conf {
    struct mot_hub_conf hub;
    uint32_t assign;
    uint64_t steps, k;
    double server_rate;
};

/* The sum of a job's mean gradients is sum / batch; weight: what the method makes of it. */
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
        .doc = "steps that a worker makes by itself for each job, a batch each, at the optimiser's rate "    \
               "without its momentum" },                                                                     \
        { .name = "k",                                                                                       \
            .type = MOT_OPT_UINT,                                                                            \
            .offset = offsetof(struct mot_buffered_conf, k),                                                 \
            .preset = "auto",                                                                                \
            .word = "auto",                                                                                  \
            .min = 1,                                                                                        \
            .max = 1e6,                                                                                      \
            .doc = "jobs that an update takes. auto: a quarter of the workers, rounded up" },                \
        { .name = "server_rate",                                                                             \
            .type = MOT_OPT_REAL,                                                                            \
            .offset = offsetof(struct mot_buffered_conf, server_rate),                                       \
            .preset = "1",                                                                                   \
            .min = 1e-9,                                                                                     \
            .max = 1e9,                                                                                      \
            .doc = "what the server multiplies the workers' mean way by; 1: it goes as far as they went" },  \
        { .name = "assign",                                                                                  \
            .type = MOT_OPT_CHOICE,                                                                          \
            .offset = offsetof(struct mot_buffered_conf, assign),                                            \
            .preset = "pure",                                                                                \
            .choices = "pure|random|shuffled",                                                               \
            .doc = "who gets a new job: the worker that has just sent; one drawn at random; the next of a "  \
                   "permutation of the workers, drawn anew after each round of all. With the last two, "     \
                   "fast workers' data weigh no more" },                                                     \
        MOT_HUB_OPTIONS

struct mot_hub_need mot_buffered_need(const void *conf, const struct mot_world *);
/* of the state, a multiple of 16 */
size_t mot_buffered_bytes(const void *conf, const struct mot_world *);
uint32_t mot_buffered_steps(const void *conf);
/* in steps of the workers, of which an update has several */
double mot_buffered_delay(const void *conf, uint32_t workers);
void mot_buffered_begin(void *state, struct mot_env *);
/* The answer is in the buffer from now on; true: it is full. */
bool mot_buffered_put(struct mot_buffered *, struct mot_env *, const struct mot_answer *, double weight);
/* A step of the server along `scale` times the sum, and an empty buffer. */
void mot_buffered_step(struct mot_buffered *, struct mot_env *, mot_buf sum, double scale);
/* as many jobs as there should be: one for each worker */
void mot_buffered_assign(void *state, struct mot_env *, mot_node worker);
void mot_buffered_lost(void *state, struct mot_env *, mot_node worker, uint32_t jobs);
void mot_buffered_check(const void *state, const struct mot_env *);

#endif
