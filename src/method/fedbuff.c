/* fedbuff.c -- FedBuff: local steps, and a buffer.
 *
 *   Worker:  Q steps of SGD from the model of round pi; sends D = x(pi) - y(Q) (local.h)
 *   Server:  buffer += s(t - pi) * D,  s(d) = 1 / sqrt(1 + d);  the worker goes on with x(t)
 *            at K of them:  x(t+1) = x(t) - server_rate / K * buffer;  the buffer is empty again
 *
 * Nguyen, Malik, Zhan, Yousefpour, Rabbat, Malek and Huba, Federated Learning with Buffered
 * Asynchronous Aggregation, AISTATS 2022 (arXiv 2106.06639), Algorithms 1 and 2. There the new job goes to a
 * client drawn at random (`assign: random`). */
#include "math/kernels.h"
#include "method/buffered.h"
#include "method/methods.h"
#include <math.h>

enum discount { DISCOUNT_ROOT, DISCOUNT_NONE };
struct fedbuff_conf {
    struct mot_buffered_conf buffered;
    uint32_t discount;
};

/* The weighted sum of the parcels, in worker order. If all weights are equal, parcels are added as they
 * are and `scale` is the weight: one gradient of one worker then makes exactly a step of asynchronous SGD. */
static mot_buf weigh(const struct mot_buffered *b, struct mot_env *env, double *scale)
{
    const struct mot_kernels *k = mot_kernels();
    bool alike = true;
    for (uint32_t i = 1; i < b->count; i++) alike = alike && b->in[i].weight == b->in[0].weight;
    *scale = alike ? b->in[0].weight : 1;
    if (b->count == 1) return mot_hold(env, b->in[0].sum);
    mot_buf sum = mot_take(env);
    float *to = mot_edit(env, sum);
    for (uint32_t i = 0; i < b->count; i++) {
        float weight = alike ? 1 : (float)b->in[i].weight;
        const float *from = mot_read(env, b->in[i].sum);
        if (i == 0) k->sum(env->world->dim, 1, &weight, &from, to);
        else k->axpy(env->world->dim, weight, from, to);
    }
    return sum;
}

static void fedbuff_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct mot_buffered *b = state;
    const struct fedbuff_conf *conf = env->conf;
    double discount = conf->discount == DISCOUNT_ROOT ? 1 / sqrt(1 + (double)a->delay) : 1, scale;
    if (mot_buffered_put(b, env, a, discount / env->world->batch[a->from])) {
        mot_buf sum = weigh(b, env, &scale);
        mot_buffered_step(b, env, sum, scale / b->k);
        mot_drop(env, sum);
    }
    mot_buffered_assign(b, env, a->from);
}

static const struct mot_served fedbuff = { .need = mot_buffered_need,
    .begin = mot_buffered_begin,
    .gradient = fedbuff_gradient,
    .lost = mot_buffered_lost,
    .back = mot_buffered_assign,
    .refused = mot_buffered_assign,
    .check = mot_buffered_check,
    .local_steps = mot_buffered_steps };
MOT_SERVED(fedbuff)

static const struct mot_option fedbuff_options[] = {
    { .name = "discount",
        .type = MOT_OPT_CHOICE,
        .offset = offsetof(struct fedbuff_conf, discount),
        .preset = "root",
        .choices = "root|none",
        .doc = "the weight of a stale report: 1 / sqrt(1 + delay), or the same as others" },
    MOT_BUFFERED_OPTIONS,
    { .name = NULL },
};

static void fedbuff_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    mot_served_traits(p, workers, t);
    t->asynchronous = true;
    t->batches = 1;
    t->round = 0;
    t->in_turn = mot_buffered_in_turn(p);
    t->by_speed = true;
    t->delay = mot_buffered_delay(p, workers);
}

const struct mot_method mot_method_fedbuff = {
    .name = "fedbuff",
    .summary = "local steps at the workers, and an update for every K reports",
    .about =
        "A worker takes some local steps of SGD and reports how far it went; the server updates the model "
        "with the mean of every K reports, in which stale ones weigh less. There are fewer messages by the "
        "number of local steps, and nobody waits. Local steps use the optimiser's learning rate.\n"
        "Use it with several steps when the network is slow compared with the workers and their data are "
        "similar. If data differ, local steps pull the models apart: use one step, assign: shuffled, or "
        "ca2fl.\n"
        "Paper: Nguyen, Malik, Zhan, Yousefpour, Rabbat, Malek, Huba, Federated Learning with Buffered "
        "Asynchronous Aggregation, AISTATS 2022, Algorithms 1 and 2.",
    .options = fedbuff_options,
    .conf_bytes = sizeof(struct fedbuff_conf),
    .traits = fedbuff_traits,
    .advise = mot_buffered_advise,
    MOT_SERVED_BY(fedbuff),
};
