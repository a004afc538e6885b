/* dpsgd.c -- decentralised SGD: every worker has a model of its own and averages it with its neighbours'.
 *
 *   g = gradient of a batch of its own part at x[i]               while the round's models are on their way
 *   y = sum over j of W[i][j] x[j]  if k mod F = 0,  else x[i]    F: the period
 *   x[i] = y - rate * g                                           g was taken BEFORE the averaging
 *
 * D-PSGD (Lian, Zhang, Zhang, Hsieh, Zhang and Liu, Can Decentralized Algorithms Outperform Centralized
 * Algorithms?, 2017) uses all links in every such round. MATCHA (Wang, Sahu, Yang, Joshi and Kar, 2019) cuts
 * them into matchings and uses matching j with the chance p[j], drawn from a seed that all workers share, so
 * that nobody has to be told. The period, and batches in proportion to speed, are those of RCD-SGD (He and
 * Dube, 2022, Algorithm 2).
 *
 * W is symmetric with rows of sum 1, so averaging does not move the mean of all models, and
 * that mean makes the step of the mean gradient. The rate of worker i is scaled by its share of the rows
 * (workers * rows[i] / all rows, as in federated averaging, McMahan et al., 2017): then the mean gradient is
 * that of the loss over all rows, whatever the sizes of parts and batches. With parts of one size this is
 * Algorithm 2 to the letter; `weigh: equal` is in any case. */
#include "base/rng.h"
#include "method/methods.h"
#include "method/mixer.h"
#include <stddef.h>

enum weigh { WEIGH_ROWS, WEIGH_EQUAL };
enum on_loss { LOSS_STOP, LOSS_CONTINUE };
struct dpsgd_conf {
    uint64_t period;
    uint32_t weigh, on_loss;
    double budget;
};

struct dpsgd {
    struct mot_params params;
    uint64_t draw, round, last; /* last: the round in which nobody has data left; 0: not known yet */
    double rate;                /* this worker's factor */
    mot_buf grad;               /* of this round, when it is here and the models are not */
    uint32_t samples;
    /* a round is under way; retired: a new life of a worker that the others go on without */
    bool begun, computing, retired;
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

/* ---- The data's end ------------------------------------------------------------------------------------ */

/* All samplers make as many passes: what this worker's were is known at
 * its end, and so is when the others' are over. */
static uint64_t last_round(const struct dpsgd *s, const struct mot_env *env)
{
    const struct mot_world *w = env->world;
    uint64_t last = 0;
    if (w->part_rows[env->self] == 0) return UINT64_MAX; /* it never had any and only averages */
    uint64_t passes = s->draw / w->part_rows[env->self];
    for (mot_node i = 0; i < w->workers; i++) {
        uint64_t all = passes * w->part_rows[i], before = w->draw0 ? w->draw0[i] : 0;
        uint64_t left = all > before ? all - before : 0,
                 rounds = w->step0 + (left + w->batch[i] - 1) / (w->batch[i] ? w->batch[i] : 1);
        if (rounds > last) last = rounds;
    }
    return last;
}

/* ---- Rounds --------------------------------------------------------------------------- */

static void begin_round(struct dpsgd *s, struct mot_env *env)
{
    struct mot_term term = {
        .part = env->self, .draw = s->draw, .samples = env->world->batch[env->self], .coef = 1
    };
    if (s->last && s->round >= s->last) {
        mot_stop(env, MOT_OK);
        return;
    }
    s->begun = s->computing = true;
    mot_start(env,
        &(struct mot_work){
            .tag = (uint32_t)s->round, .terms = 1, .term = &term, .deadline = MOT_NEVER, .at = s->params.x });
    if (mixes(s, env))
        mot_mixer_open(
            &s->mixer, env, s->round, s->params.x, env->world->mixing->matchings ? draw_matching : NULL);
}

static void average(struct dpsgd *s, struct mot_env *env)
{
    mot_buf mean = mot_mixer_close(&s->mixer, env, s->params.x);
    mot_drop(env, s->params.x);
    s->params.x = mean;
}

/* Ends the round if the gradient and the models are here. */
static void consider(struct dpsgd *s, struct mot_env *env)
{
    if (!s->begun || s->computing || (s->mixer.open && !mot_mixer_ready(&s->mixer))) return;
    if (s->mixer.open) average(s, env);
    if (s->samples) mot_params_step(env, &s->params, mot_whole(env, s->grad), 1.0 / s->samples, s->rate);
    else s->params.step++; /* its data has run out: it takes part in the averaging only */
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
    if (w->samples == 0 && !s->last) s->last = last_round(s, env);
    if (s->last && s->round >= s->last) {
        mot_stop(env, MOT_OK);
        return;
    }
    if (w->samples) s->grad = mot_hold(env, w->grad);
    consider(s, env);
}

static void peer_changed(struct dpsgd *s, struct mot_env *env, struct mot_peer peer)
{
    if (peer.up) return; /* one that has come back is not taken in again; it retires */
    if (!mot_mixer_lose(&s->mixer, env, peer.node)) return;
    if (((const struct dpsgd_conf *)env->conf)->on_loss == LOSS_STOP) {
        mot_stop(env, MOT_EPEER);
        return;
    }
    mot_note(env, "neighbours_lost", 1);
    consider(s, env);
}

/* ---- The method ----------------------------------------------------------------------- */

static struct mot_need dpsgd_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf;
    /* The parameters, those of the next step, and the gradient. */
    struct mot_need need = { .state_bytes = sizeof(struct dpsgd), .buffers = 7, .works = 1, .terms = 1 };
    mot_mixer_need(world, self, &need);
    return need;
}

static double rate_of(const struct mot_env *env)
{
    const struct mot_world *w = env->world;
    if (((const struct dpsgd_conf *)env->conf)->weigh == WEIGH_EQUAL) return 1;
    return w->workers * (double)w->part_rows[env->self] / (double)w->rows;
}

static void dpsgd_init(void *state, struct mot_env *env)
{
    struct dpsgd *s = state;
    mot_params_init(env, &s->params);
    s->draw = mot_first_draw(env);
    s->round = s->params.step;
    s->rate = rate_of(env);
    s->retired = env->life > 0;
    mot_mixer_init(&s->mixer, env);
}

static void dpsgd_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct dpsgd *s = state;
    switch (event->kind) {
    case MOT_EV_START:
        if (s->retired) mot_stop(env, MOT_OK);
        else begin_round(s, env);
        return;
    case MOT_EV_WORK: work_came(s, env, event->work); return;
    case MOT_EV_MESSAGE:
        mot_mixer_message(&s->mixer, env, event->message);
        consider(s, env);
        return;
    case MOT_EV_PEER: peer_changed(s, env, event->peer); return;
    case MOT_EV_COLL:
    case MOT_EV_TIMER: MOT_ASSERT(!"D-PSGD asked for none of these"); return;
    }
}

static void dpsgd_check(const void *state, const struct mot_env *env)
{
    const struct dpsgd *s = state;
    MOT_ASSERT(s->params.x != MOT_NO_BUF && s->params.step == s->round);
    MOT_ASSERT(s->computing ? s->grad == MOT_NO_BUF : true);
    mot_mixer_check(&s->mixer, env);
}

static bool dpsgd_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    const struct dpsgd *s = state;
    (void)env;
    if (s->retired) return false;
    *view = (struct mot_view){ .x = s->params.x, .scale = 1, .params = &s->params };
    return true;
}

#define FIELD(field) offsetof(struct dpsgd_conf, field)
#define OPTIONS                                                                                              \
    { .name = "period",                                                                                      \
        .type = MOT_OPT_UINT,                                                                                \
        .offset = FIELD(period),                                                                             \
        .preset = "1",                                                                                       \
        .min = 1,                                                                                            \
        .max = 1e9,                                                                                          \
        .doc = "models are averaged in every so manieth step; between, each worker goes on alone" },         \
        { .name = "weigh",                                                                                   \
            .type = MOT_OPT_CHOICE,                                                                          \
            .offset = FIELD(weigh),                                                                          \
            .preset = "rows",                                                                                \
            .choices = "rows|equal",                                                                         \
            .doc = "a worker's learning rate: in proportion to the rows it holds, so that the mean model "   \
                   "follows the loss over "                                                                  \
                   "all rows; or the same for all, whatever they hold" },                                    \
    {                                                                                                        \
        .name = "on_loss", .type = MOT_OPT_CHOICE, .offset = FIELD(on_loss), .preset = "stop",               \
        .choices = "stop|continue",                                                                          \
        .doc = "what the loss of a neighbour does: ends the run, or leaves the others to go on, its weight " \
               "being added to "                                                                             \
               "each one's own"                                                                              \
    }

static const struct mot_option dpsgd_options[] = { OPTIONS, { .name = NULL } };

const struct mot_method mot_method_dpsgd = {
    .name = "dpsgd",
    .summary = "decentralised SGD: each worker averages its model with its neighbours' in the topology",
    .about = "No server and no sum over everyone: in each step a worker sends its model to its neighbours "
             "(topology: names them, motley topology "
             "shows them), computes the gradient of its own batch meanwhile, averages the models by the "
             "mixing matrix and makes its step. The "
             "models of the workers differ a little; what is evaluated and written is their mean. Momentum "
             "and other state of the optimiser "
             "stay with the worker.\n"
             "A step waits for the slowest neighbour, not for the slowest worker, and its messages do not "
             "grow with the number of workers. With "
             "period: 2 half of the messages are sent. Give mixed machines batches in proportion to their "
             "speed (sizing: proportional) "
             "and parts to match.\n"
             "Papers: Lian, Zhang, Zhang, Hsieh, Zhang, Liu, Can Decentralized Algorithms Outperform "
             "Centralized Algorithms?, 2017; He, Dube, "
             "RCD-SGD, 2022.",
    .options = dpsgd_options,
    .conf_bytes = sizeof(struct dpsgd_conf),
    .decentralised = true,
    .neighbours = true,
    .need = dpsgd_need,
    .init = dpsgd_init,
    .step = dpsgd_step,
    .check = dpsgd_check,
    .model = dpsgd_model,
};

static double matcha_budget(const void *conf) { return ((const struct dpsgd_conf *)conf)->budget; }

static const struct mot_option matcha_options[] = {
    { .name = "budget",
        .type = MOT_OPT_REAL,
        .offset = FIELD(budget),
        .preset = "0.5",
        .min = 0.01,
        .max = 1,
        .doc = "the mean share of the matchings that a round uses; 1: all, which is dpsgd with "
               "topology.weights: laplacian" },
    OPTIONS,
    { .name = NULL },
};

const struct mot_method mot_method_matcha = {
    .name = "matcha",
    .summary = "decentralised SGD that uses only some links of the topology in each step, drawn at random",
    .about = "As dpsgd, but the links of the topology are cut into matchings, sets in which no worker occurs "
             "twice, and each step uses matching j "
             "with a chance p[j] of its own. The chances make the graph that is used on average as well "
             "connected as the budget allows: "
             "links without which it would fall apart are used often, others seldom (motley topology NAME "
             "--method matcha shows them). All "
             "workers draw from the same seed, so nobody has to be told which links a step uses.\n"
             "Use it where links are slow: with budget 0.5 half of the messages are sent, and most of the "
             "mixing is kept.\n"
             "Papers: Wang, Sahu, Yang, Joshi, Kar, MATCHA: Speeding Up Decentralized SGD via Matching "
             "Decomposition Sampling, 2019; He, Dube, "
             "RCD-SGD, 2022.",
    .options = matcha_options,
    .conf_bytes = sizeof(struct dpsgd_conf),
    .decentralised = true,
    .neighbours = true,
    .budget = matcha_budget,
    .need = dpsgd_need,
    .init = dpsgd_init,
    .step = dpsgd_step,
    .check = dpsgd_check,
    .model = dpsgd_model,
};
