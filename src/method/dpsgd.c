/* dpsgd.c -- decentralised SGD: every worker has a model of its own and averages it with its neighbours'.
 *
 *   g = gradient of a batch of its own part at x[i]               while the round's models are in flight
 *   y = sum over j of W[i][j] x[j]  if k mod F = 0,  else x[i]    F: the period
 *   x[i] = y - rate * g                                           g was taken BEFORE the averaging
 *
 * D-PSGD (Lian, Zhang, Zhang, Hsieh, Zhang and Liu, Can Decentralized Algorithms Outperform Centralized
 * Algorithms?, 2017) uses all links in every such round. MATCHA (Wang, Sahu, Yang, Joshi and Kar, 2019)
 * splits them into matchings and uses matching j with probability p[j], drawn from a seed that all workers
 * share, so they need not agree on it. The period, and batches proportional to speed, are those of RCD-SGD
 * (He and Dube, 2022, Algorithm 2).
 *
 * W is symmetric with rows that sum to 1, so averaging leaves the mean of all models unchanged, and that mean
 * moves by the step of the mean gradient. The rate of worker i is scaled by its share of the rows
 * (workers * rows[i] / all rows, as in federated averaging, McMahan et al., 2017): the mean gradient is then
 * that of the loss over all rows, whatever the sizes of parts and batches. With equal parts this is
 * Algorithm 2 to the letter; with `weigh: equal` it always is. */
#include "base/rng.h"
#include "method/advice.h"
#include "method/apart.h"
#include "method/methods.h"
#include "method/mixer.h"
#include <stddef.h>
#include <stdio.h>

enum on_loss { LOSS_STOP, LOSS_CONTINUE };
struct dpsgd_conf {
    uint64_t period;
    uint32_t weigh, on_loss; /* weigh: enum mot_weigh */
    double budget;
};

struct dpsgd {
    struct mot_params params;
    uint64_t draw, round, last; /* last: the round in which all data has run out */
    double rate;                /* this worker's factor of the learning rate */
    mot_buf grad;               /* of this round, while models are still missing */
    uint32_t samples;
    bool begun, computing; /* begun: a round is in progress */
    struct mot_packer packer;
    struct mot_mixer mixer;
};

/* ---- Which links a round uses ----------------------------------------------------------------------- */

static bool draw_matching(const struct mot_env *env, uint64_t round, uint32_t matching)
{
    struct mot_rng rng = mot_rng_at(env->world->seed, MOT_RNG_METHOD, round);
    rng.count = matching;
    return mot_rng_unit(&rng) < env->world->mixing->chance[matching];
}

static bool mixes(const struct dpsgd *s, const struct mot_env *env)
{
    return s->round % ((const struct dpsgd_conf *)env->conf)->period == 0;
}

/* ---- Rounds --------------------------------------------------------------------------- */

/* NULL: all links */
static mot_uses *uses_of(const struct mot_env *env)
{
    return env->world->mixing->matchings ? draw_matching : NULL;
}

static void begin_round(struct dpsgd *s, struct mot_env *env)
{
    if (s->round >= s->last) {
        mot_stop(env, MOT_OK);
        return;
    }
    s->begun = s->computing = true;
    mot_start_own(env, (uint32_t)s->round, s->draw, env->world->batch[env->self], s->params.x, MOT_NEVER);
    if (!mixes(s, env)) return;
    s->packer.packs = s->round; /* so that a resumed run draws the same */
    struct mot_slice x = mot_pack(env, &s->packer, mot_whole(env, s->params.x), 1);
    mot_mixer_open(&s->mixer, env, s->round, x.buf, uses_of(env));
    mot_drop(env, x.buf);
}

static void average(struct dpsgd *s, struct mot_env *env)
{
    mot_buf mean = mot_mixer_close(&s->mixer, env, s->params.x);
    mot_drop(env, s->params.x);
    s->params.x = mean;
}

/* Ends the round once the gradient and the models are in. */
static void consider(struct dpsgd *s, struct mot_env *env)
{
    if (!s->begun || s->computing || (s->mixer.open && !mot_mixer_ready(&s->mixer))) return;
    if (s->mixer.open) average(s, env);
    if (s->samples) mot_params_step(env, &s->params, mot_whole(env, s->grad), 1.0 / s->samples, s->rate);
    else s->params.step++; /* out of data: it only averages */
    mot_drop(env, s->grad);
    s->grad = MOT_NO_BUF;
    mot_advance(env);
    s->round++;
    begin_round(s, env);
}

static void work_came(struct dpsgd *s, struct mot_env *env, const struct mot_result *w)
{
    MOT_ASSERT(s->computing && w->tag == (uint32_t)s->round);
    s->computing = false;
    s->draw += w->samples;
    s->samples = w->samples;
    if (w->samples) s->grad = mot_hold(env, w->grad);
    consider(s, env);
}

static bool readmits(const struct mot_env *env)
{
    return ((const struct dpsgd_conf *)env->conf)->on_loss == LOSS_CONTINUE;
}

static void peer_changed(struct dpsgd *s, struct mot_env *env, struct mot_peer peer)
{
    if (peer.up) {
        if (readmits(env)) mot_mixer_return(&s->mixer, env, peer.node, &s->params, s->round + s->begun);
        return;
    }
    if (!mot_mixer_lose(&s->mixer, env, peer.node)) return;
    if (!readmits(env)) {
        mot_stop(env, MOT_EPEER);
        return;
    }
    mot_note(env, "neighbours_lost", 1);
    consider(s, env);
}

/* Where it would be in its data by now, had it never been lost. */
static void enter(struct dpsgd *s, struct mot_env *env)
{
    s->round = s->params.step;
    s->draw = mot_first_draw(env) + (s->round - env->world->step0) * env->world->batch[env->self];
    mot_enter(env, s->round);
    begin_round(s, env);
}

static void message_came(struct dpsgd *s, struct mot_env *env, const struct mot_message *m)
{
    if (m->kind == MOT_MSG_PEER_MODEL) mot_mixer_message(&s->mixer, env, m);
    else {
        enum mot_greeting g = mot_mixer_greeted(&s->mixer, env, m, &s->params, s->round + s->begun);
        if (g != MOT_GREETING_HEARD) mot_note(env, "neighbours_back", 1);
        if (g == MOT_GREETING_ENTERED) enter(s, env);
    }
    consider(s, env);
}

/* ---- The method ----------------------------------------------------------------------- */

static struct mot_need dpsgd_need(const void *conf, const struct mot_world *world, mot_node self)
{
    const struct dpsgd_conf *c = conf;
    /* The parameters, the next ones, and the gradient. */
    struct mot_need need = { .state_bytes = sizeof(struct dpsgd), .buffers = 7, .works = 1, .terms = 1 };
    mot_mixer_need(world, self, c->on_loss == LOSS_CONTINUE, &need);
    return need;
}

static void dpsgd_init(void *state, struct mot_env *env)
{
    struct dpsgd *s = state;
    s->rate = mot_apart_rate(env, ((const struct dpsgd_conf *)env->conf)->weigh);
    s->last = mot_apart_end(env->world);
    mot_mixer_init(&s->mixer, env);
    if (s->mixer.empty) return;
    mot_params_init(env, &s->params);
    s->draw = mot_first_draw(env);
    s->round = s->params.step;
}

static void dpsgd_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct dpsgd *s = state;
    switch (event->kind) {
    case MOT_EV_START:
        if (!s->mixer.empty) begin_round(s, env);
        else if (!readmits(env)) mot_stop(env, MOT_OK);
        return;
    case MOT_EV_WORK: work_came(s, env, event->work); return;
    case MOT_EV_MESSAGE: message_came(s, env, event->message); return;
    case MOT_EV_PEER: peer_changed(s, env, event->peer); return;
    case MOT_EV_COLL:
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"D-PSGD asked for none of these"); return;
    }
}

static bool dpsgd_admits(const void *state, const struct mot_env *env, const struct mot_message *m)
{
    const struct dpsgd *s = state;
    const struct dpsgd_conf *conf = env->conf;
    if (m->kind != MOT_MSG_PEER_MODEL && !readmits(env)) return false;
    return mot_mixer_admits(&s->mixer, env, m, s->round + s->begun, conf->period, uses_of(env));
}

static void dpsgd_check(const void *state, const struct mot_env *env)
{
    const struct dpsgd *s = state;
    MOT_ASSERT((s->params.x == MOT_NO_BUF) == s->mixer.empty && s->params.step == s->round);
    MOT_ASSERT(!s->mixer.empty || !s->begun);
    MOT_ASSERT(s->computing ? s->grad == MOT_NO_BUF : true);
    mot_mixer_check(&s->mixer, env);
}

static bool dpsgd_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    const struct dpsgd *s = state;
    (void)env;
    if (s->mixer.empty) return false;
    *view = (struct mot_view){ .x = s->params.x, .scale = 1, .params = &s->params };
    return true;
}

static void dpsgd_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)conf;
    (void)workers;
    t->model = MOT_MODEL_OF_EACH;
    t->mixes = true;
    t->packs = MOT_PACKS_MODELS;
}

static void dpsgd_advise(const void *p, const struct mot_situation *s, char *into, size_t size)
{
    const struct dpsgd_conf *conf = p;
    if (s->kind != MOT_WHEN_LOST) mot_advise_unserved(p, s, into, size);
    else if (conf->on_loss == LOSS_STOP)
        snprintf(
            into, size, ". Its neighbours do not go on without it; `--method-on-loss continue` lets them");
}

#define FIELD(field) offsetof(struct dpsgd_conf, field)
#define OPTIONS                                                                                              \
    { .name = "period",                                                                                      \
        .type = MOT_OPT_UINT,                                                                                \
        .offset = FIELD(period),                                                                             \
        .preset = "1",                                                                                       \
        .min = 1,                                                                                            \
        .max = 1e9,                                                                                          \
        .doc = "average the models every `period` steps; in between, each worker trains alone" },            \
        MOT_WEIGH_OPTION(struct dpsgd_conf, weigh, "a worker's"),                                            \
    {                                                                                                        \
        .name = "on_loss", .type = MOT_OPT_CHOICE, .offset = FIELD(on_loss), .preset = "stop",               \
        .choices = "stop|continue",                                                                          \
        .doc = "if a neighbour is lost: stop ends the run; continue lets the others go on and adds "         \
               "its weight to each one's own; if it comes back, a neighbour gives it a model"                \
    }

static const struct mot_option dpsgd_options[] = { OPTIONS, { .name = NULL } };

const struct mot_method mot_method_dpsgd = {
    .name = "dpsgd",
    .summary = "decentralised SGD: each worker averages its model with its neighbours' models",
    .about = "No server and no sum over everyone: in each step a worker sends its model to its neighbours "
             "(topology: names them, motley topology shows them), computes the gradient of its own batch "
             "meanwhile, averages the models with the mixing matrix and takes its step. The workers' models "
             "differ a little; their mean is evaluated and written. Momentum and other optimiser state stay "
             "with the worker.\n"
             "A step waits for the slowest neighbour, not for the slowest worker, and its messages do not "
             "grow with the number of workers. period: 2 halves the messages. Give mixed machines batches in "
             "proportion to their speed (sizing: proportional) and parts to match.\n"
             "Papers: Lian, Zhang, Zhang, Hsieh, Zhang, Liu, Can Decentralized Algorithms Outperform "
             "Centralized Algorithms?, 2017; He, Dube, RCD-SGD, 2022.",
    .options = dpsgd_options,
    .conf_bytes = sizeof(struct dpsgd_conf),
    .traits = dpsgd_traits,
    .advise = dpsgd_advise,
    .need = dpsgd_need,
    .init = dpsgd_init,
    .step = dpsgd_step,
    .admits = dpsgd_admits,
    .check = dpsgd_check,
    .model = dpsgd_model,
};

static void matcha_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    dpsgd_traits(conf, workers, t);
    t->budget = ((const struct dpsgd_conf *)conf)->budget;
}

static const struct mot_option matcha_options[] = {
    { .name = "budget",
        .type = MOT_OPT_REAL,
        .offset = FIELD(budget),
        .preset = "0.5",
        .min = 0.01,
        .max = 1,
        .doc = "the mean fraction of matchings that a step uses; 1: all, which is dpsgd with "
               "topology.weights: laplacian" },
    OPTIONS,
    { .name = NULL },
};

const struct mot_method mot_method_matcha = {
    .name = "matcha",
    .summary = "decentralised SGD that uses only some links of the topology in each step, at random",
    .about = "Like dpsgd, but the links of the topology are split into matchings, sets in which no worker "
             "occurs twice, and each step uses matching j with probability p[j]. The probabilities make the "
             "average graph as well connected as the budget allows: links that hold it together are used "
             "often, others rarely (motley topology NAME --method matcha shows them). All workers draw from "
             "the same seed, so nobody has to be told which links a step uses.\n"
             "Use it when links are slow: a budget of 0.5 halves the messages and keeps most of the mixing.\n"
             "Papers: Wang, Sahu, Yang, Joshi, Kar, MATCHA: Speeding Up Decentralized SGD via Matching "
             "Decomposition Sampling, 2019; He, Dube, RCD-SGD, 2022.",
    .options = matcha_options,
    .conf_bytes = sizeof(struct dpsgd_conf),
    .traits = matcha_traits,
    .advise = dpsgd_advise,
    .need = dpsgd_need,
    .init = dpsgd_init,
    .step = dpsgd_step,
    .admits = dpsgd_admits,
    .check = dpsgd_check,
    .model = dpsgd_model,
};
