/* sgp.c -- stochastic gradient push: workers push shares of their models along directed links.
 *
 *   g = gradient of a batch of its own part at z[i]
 *   x[i] = x[i] - rate * g                       by its own optimiser, momentum included
 *   x[i] = sum over j of P[i][j] x[j],  w[i] = sum over j of P[i][j] w[j],  z[i] = x[i] / w[i]
 *
 * SGP (Assran, Loizou, Ballas and Rabbat, Stochastic Gradient Push for Distributed Deep Learning, 2019,
 * Algorithm 1). P's columns sum to 1: a worker cuts its model into equal shares, for its receivers of the
 * round and itself. Nobody has to know who else sends to a receiver, which the symmetric matrices of D-PSGD
 * need; the weights w make up for those who get more than they give. Receivers are those of the exponential
 * graph in rounds (leaps.h), or the neighbours in the experiment's topology.
 *
 * OSGP (Algorithm 2 there) does not wait for the shares of the round: it goes on computing while they travel.
 * Here they are folded in exactly `lag` rounds later, not when they happen to arrive: a worker waits just as
 * little, since it must have them by then anyway, and every driver gives the same bits.
 *
 * pushsum.h keeps z and w, so the step of x by rate * g is that of z by rate / w * g. */
#include "method/advice.h"
#include "method/apart.h"
#include "method/methods.h"
#include "method/pushsum.h"
#include "base/leaps.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum on_loss { LOSS_STOP, LOSS_CONTINUE };
struct sgp_conf {
    uint64_t peers, lag;
    uint32_t graph, weigh, on_loss; /* graph: enum mot_push_graph; weigh: enum mot_weigh */
};

struct sgp {
    struct mot_params params;   /* x is z */
    uint64_t draw, round, last; /* last: the first round for which nobody has data */
    double rate;
    bool pushed, retired; /* pushed: waits for shares; retired: a new life that the others go on without */
    struct mot_push push;
};

static struct mot_push_plan plan_of(const struct sgp_conf *c)
{
    return (struct mot_push_plan){ .graph = c->graph,
        .peers = (uint32_t)c->peers,
        .lag = (uint32_t)c->lag,
        .goes_on = c->on_loss == LOSS_CONTINUE };
}

/* ---- Rounds --------------------------------------------------------------------------- */

static void begin_round(struct sgp *s, struct mot_env *env)
{
    if (s->round >= s->last) {
        mot_stop(env, MOT_OK);
        return;
    }
    mot_start_own(env, (uint32_t)s->round, s->draw, env->world->batch[env->self], s->params.x, MOT_NEVER);
}

/* Ends the round once the shares are in. */
static void consider(struct sgp *s, struct mot_env *env)
{
    if (!s->pushed || !mot_push_ready(&s->push, s->round)) return;
    s->params.x = mot_push_fold(&s->push, env, s->round, s->params.x);
    s->pushed = false;
    mot_advance(env);
    s->round++;
    begin_round(s, env);
}

static void work_came(struct sgp *s, struct mot_env *env, const struct mot_result *w)
{
    MOT_ASSERT(!s->pushed && w->tag == (uint32_t)s->round);
    s->draw += w->samples;
    if (w->samples)
        mot_params_step(env, &s->params, mot_whole(env, w->grad), 1.0 / w->samples, s->rate / s->push.weight);
    else s->params.step++; /* out of data: it only averages */
    mot_push_send(&s->push, env, s->round, s->params.x);
    s->pushed = true;
    consider(s, env);
}

static void peer_changed(struct sgp *s, struct mot_env *env, struct mot_peer peer)
{
    if (peer.up) return; /* a node that comes back is not readmitted: it retires */
    enum mot_push_loss loss = mot_push_lose(&s->push, env, peer.node);
    bool goes_on = ((const struct sgp_conf *)env->conf)->on_loss == LOSS_CONTINUE;
    if (loss == MOT_PUSH_CUT_OFF || (loss == MOT_PUSH_PEER && !goes_on)) {
        mot_stop(env, MOT_EPEER);
        return;
    }
    if (loss == MOT_PUSH_PEER) mot_note(env, "neighbours_lost", 1);
    consider(s, env);
}

/* ---- The method ----------------------------------------------------------------------- */

static enum mot_status sgp_validate(const void *p, const struct mot_world *w)
{
    const struct sgp_conf *conf = p;
    uint32_t leaps = mot_leaps(w->workers), most = leaps ? leaps : 1;
    if (conf->graph == MOT_PUSH_TOPOLOGY && conf->peers != 1)
        return mot_fail(MOT_EUSAGE,
            "method.peers: %u with graph: topology, where a worker sends to all its neighbours; leave it out",
            (unsigned)conf->peers);
    if (conf->graph == MOT_PUSH_EXPONENTIAL && conf->peers > most)
        return mot_fail(MOT_EUSAGE,
            "method.peers: %u; expected at most %u, since the exponential graph of %u workers has %u links "
            "from each",
            (unsigned)conf->peers, most, w->workers, leaps);
    return MOT_OK;
}

static struct mot_need sgp_need(const void *conf, const struct mot_world *world, mot_node self)
{
    struct mot_push_plan plan = plan_of(conf);
    /* The parameters, the next ones, and the gradient. */
    struct mot_need need = { .state_bytes = sizeof(struct sgp), .buffers = 7, .works = 1, .terms = 1 };
    mot_push_need(&plan, world, self, &need);
    return need;
}

static void sgp_init(void *state, struct mot_env *env)
{
    struct sgp *s = state;
    const struct sgp_conf *conf = env->conf;
    struct mot_push_plan plan = plan_of(conf);
    double weight = 1;
    mot_params_init(env, &s->params);
    s->draw = mot_first_draw(env);
    s->round = s->params.step;
    s->last = mot_apart_end(env->world);
    s->rate = mot_apart_rate(env, conf->weigh);
    s->retired = env->life > 0;
    if (env->world->kept) memcpy(&weight, &env->world->kept[env->self].word[0], sizeof weight);
    if (!(weight > 0 && weight <= env->world->workers)) weight = 1; /* no run keeps such a weight */
    mot_push_init(&s->push, env, &plan, s->round, weight);
}

static void sgp_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct sgp *s = state;
    switch (event->kind) {
    case MOT_EV_START:
        if (s->retired) mot_stop(env, MOT_OK);
        else begin_round(s, env);
        return;
    case MOT_EV_WORK: work_came(s, env, event->work); return;
    case MOT_EV_MESSAGE:
        mot_push_message(&s->push, env, event->message);
        consider(s, env);
        return;
    case MOT_EV_PEER: peer_changed(s, env, event->peer); return;
    case MOT_EV_COLL:
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"SGP asked for none of these"); return;
    }
}

static bool sgp_admits(const void *state, const struct mot_env *env, const struct mot_message *m)
{
    return mot_push_admits(&((const struct sgp *)state)->push, env, m);
}

static void sgp_check(const void *state, const struct mot_env *env)
{
    const struct sgp *s = state;
    MOT_ASSERT(s->params.x != MOT_NO_BUF && s->params.step == s->round + s->pushed);
    mot_push_check(&s->push, env);
}

static bool sgp_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    const struct sgp *s = state;
    (void)env;
    if (s->retired) return false;
    *view = (struct mot_view){
        .x = s->params.x, .scale = 1, .params = &s->params, .mass = mot_push_mass(&s->push)
    };
    return true;
}

/* Shares under way are not kept: their weight goes back to their senders. */
static void sgp_keep(const void *state, const struct mot_env *env, struct mot_kept *out)
{
    double weight = mot_push_mass(&((const struct sgp *)state)->push);
    (void)env;
    memcpy(&out->word[0], &weight, sizeof weight);
}

static void sgp_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)workers;
    t->model = MOT_MODEL_OF_EACH;
    t->mixes = ((const struct sgp_conf *)conf)->graph == MOT_PUSH_TOPOLOGY;
}

static void sgp_advise(const void *p, const struct mot_situation *s, char *into, size_t size)
{
    const struct sgp_conf *conf = p;
    if (s->kind != MOT_WHEN_LOST) mot_advise_unserved(p, s, into, size);
    else if (conf->on_loss == LOSS_STOP)
        snprintf(into, size,
            ". The workers linked to it do not go on without it; `--method-on-loss continue` lets them");
    else if (conf->graph == MOT_PUSH_EXPONENTIAL)
        snprintf(into, size,
            ". Without it some workers would only send and others only receive: not all that are left can "
            "reach each other");
}

#define FIELD(field) offsetof(struct sgp_conf, field)
#define OPTIONS                                                                                              \
    { .name = "graph",                                                                                       \
        .type = MOT_OPT_CHOICE,                                                                              \
        .offset = FIELD(graph),                                                                              \
        .preset = "exponential",                                                                             \
        .choices = "exponential|topology",                                                                   \
        .doc = "exponential: in turn to the workers 1, 2, 4, 8, ... places on, `peers` of them in a round; " \
               "topology: to all neighbours in the experiment's topology, in every round" },                 \
        { .name = "peers",                                                                                   \
            .type = MOT_OPT_UINT,                                                                            \
            .offset = FIELD(peers),                                                                          \
            .preset = "1",                                                                                   \
            .min = 1,                                                                                        \
            .max = 32,                                                                                       \
            .doc = "graph: exponential: to how many workers a worker sends in a round" },                    \
        MOT_WEIGH_OPTION(struct sgp_conf, weigh, "a worker's"),                                              \
    {                                                                                                        \
        .name = "on_loss", .type = MOT_OPT_CHOICE, .offset = FIELD(on_loss), .preset = "stop",               \
        .choices = "stop|continue",                                                                          \
        .doc = "if a worker is lost: stop ends the run; continue lets the others go on while all can "       \
               "still reach each other: they keep the shares meant for it, and its own weight is gone"       \
    }

static const struct mot_option sgp_options[] = { OPTIONS, { .name = NULL } };

const struct mot_method mot_method_sgp = {
    .name = "sgp",
    .summary = "stochastic gradient push: each worker sends a share of its model to one other, in turn",
    .about = "No server and no sum over everyone: after its step a worker cuts its model into equal shares, "
             "keeps one and sends the others to its receivers of the round, by default one: the worker 1, 2, "
             "4, 8, ... places on, in turn. It then adds what it gets to what it kept. A weight that "
             "travels with each share corrects for workers that get more than they give (push-sum), so links "
             "may be one-way and a graph irregular: models agree on their plain mean all the same. The "
             "metric mass is the mean of these weights and stays 1.\n"
             "A round costs one message of the model's size each way, however many workers there are. With a "
             "power of 2 of workers, models that stand still agree exactly after log2(workers) rounds. A "
             "round waits for one worker, who waits for another: the slowest sets the pace of all, as in "
             "allreduce, but a short stall spreads slowly. Over slow links osgp hides the sending. Momentum "
             "and other optimiser state stay with the worker.\n"
             "Paper: Assran, Loizou, Ballas, Rabbat, Stochastic Gradient Push for Distributed Deep Learning, "
             "2019.",
    .options = sgp_options,
    .conf_bytes = sizeof(struct sgp_conf),
    .traits = sgp_traits,
    .advise = sgp_advise,
    .validate = sgp_validate,
    .need = sgp_need,
    .init = sgp_init,
    .step = sgp_step,
    .admits = sgp_admits,
    .check = sgp_check,
    .model = sgp_model,
    .keep = sgp_keep,
};

static const struct mot_option osgp_options[] = {
    { .name = "lag",
        .type = MOT_OPT_UINT,
        .offset = FIELD(lag),
        .preset = "1",
        .min = 1,
        .max = MOT_LAG_MOST,
        .doc = "rounds that a model travels: it is folded in exactly this many rounds after it was sent" },
    OPTIONS,
    { .name = NULL },
};

const struct mot_method mot_method_osgp = {
    .name = "osgp",
    .summary = "stochastic gradient push that computes while models travel",
    .about = "Like sgp, but a worker does not wait for the models of its round: it carries on with its next "
             "batches and folds them in `lag` rounds later, so sending costs no time as long as it takes "
             "less than `lag` batches, and a stall shorter than that delays nobody. A model is never more "
             "than `lag` rounds late.\n"
             "What is under way is missing from the models, so they agree more slowly: with one receiver a "
             "worker keeps a weight of 2 / (2 + lag) on average, and steps of its own model are larger by "
             "the inverse. Use lag: 1, and more only if links are slower than a batch.\n"
             "Paper: Assran, Loizou, Ballas, Rabbat, Stochastic Gradient Push for Distributed Deep Learning, "
             "2019 (there a worker folds in what has arrived, and waits after `lag` rounds).",
    .options = osgp_options,
    .conf_bytes = sizeof(struct sgp_conf),
    .traits = sgp_traits,
    .advise = sgp_advise,
    .validate = sgp_validate,
    .need = sgp_need,
    .init = sgp_init,
    .step = sgp_step,
    .admits = sgp_admits,
    .check = sgp_check,
    .model = sgp_model,
    .keep = sgp_keep,
};
