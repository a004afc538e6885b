/* adpsgd.c -- asynchronous decentralised SGD: every worker goes at its own pace and now and then averages its
 * model with one other.
 *
 *   g = gradient of a batch of its own part at x                    while models are in flight
 *   x[i], x[j] = (x[i] + x[j]) / 2                                  i active, j passive
 *   x[i] = x[i] - rate * g                                          g may be of an earlier x[i]
 *
 * Lian, Zhang, Zhang and Liu, Asynchronous Decentralized Parallel Stochastic Gradient Descent, 2018. Links
 * join active workers with passive ones only, so nobody who waits for an answer is asked for one, and no
 * deadlock is possible (section 4 there).
 *
 * An exchange is two messages: the active worker's model s, and the passive one's r in return.
 *
 *   passive  x = (x + s) / 2, where x was r
 *   active   x = (x + r) / 2, or x + (r - s) / 2 if x was s when it was sent and has made a step since
 *
 * Both move by the same amount in opposite directions, so the mean of all models stays where it was, though
 * nobody waits. An active worker begins an exchange with each step, unless one is under way: waiting for the
 * answer first bounds what is in flight. */
#include "method/advice.h"
#include "method/methods.h"
#include "method/partners.h"
#include <math.h>
#include <stddef.h>

enum { MSG_MODEL, MSG_ANSWER };

struct adpsgd_conf {
    uint32_t peers; /* enum mot_partners_of */
};

struct adpsgd {
    struct mot_params params;
    uint64_t draw;
    mot_buf sent;            /* active: of the exchange under way, or MOT_NO_BUF */
    mot_node partner;        /* and with whom */
    bool computing, retired; /* retired: a new life that knows no model */
    struct mot_partners partners;
};

static const struct adpsgd_conf *conf_of(const struct mot_env *env) { return env->conf; }

static bool is_active(const struct mot_env *env, mot_node worker)
{
    if (conf_of(env)->peers == MOT_PARTNERS_ANY) return worker % 2 == 0;
    return env->world->mixing->side[worker] == 0;
}

/* The workers of the other side that this one is linked to. */
static struct mot_candidates candidates(const struct mot_env *env)
{
    uint32_t n = env->world->workers;
    if (conf_of(env)->peers == MOT_PARTNERS_TOPOLOGY) return mot_candidates_near(env);
    if (env->self % 2 == 0) return (struct mot_candidates){ .n = n / 2, .first = 1, .stride = 2 };
    return (struct mot_candidates){ .n = (n + 1) / 2, .first = 0, .stride = 2 };
}

/* ---- Exchanges -------------------------------------------------------------------------------------- */

static void begin_exchange(struct adpsgd *s, struct mot_env *env)
{
    struct mot_candidates others = candidates(env);
    if (s->sent != MOT_NO_BUF || !is_active(env, env->self)) return;
    s->partner = mot_partners_draw(&s->partners, env, &others);
    if (s->partner == MOT_NOBODY) return;
    s->sent = mot_hold(env, s->params.x);
    mot_send(
        env, s->partner, MSG_MODEL, (struct mot_head){ .round = s->params.step }, mot_whole(env, s->sent));
}

static void end_exchange(struct adpsgd *s, struct mot_env *env)
{
    mot_drop(env, s->sent);
    s->sent = MOT_NO_BUF;
}

static void become(struct adpsgd *s, struct mot_env *env, mot_buf x)
{
    mot_drop(env, s->params.x);
    s->params.x = x;
}

static mot_buf mean(struct mot_env *env, mot_buf a, mot_buf b)
{
    return mot_sum_weighted(env, (mot_buf[]){ a, b }, (double[]){ 0.5, 0.5 }, 2);
}

static void message_came(struct adpsgd *s, struct mot_env *env, const struct mot_message *m)
{
    if (s->retired || mot_partners_lost(&s->partners, m->from)) return;
    mot_note(env, "rounds_behind", fabs((double)s->params.step - (double)m->head.round));
    mot_buf x = s->params.x;
    if (m->kind == MSG_MODEL) {
        mot_send(env, m->from, MSG_ANSWER, (struct mot_head){ .round = s->params.step }, mot_whole(env, x));
        become(s, env, mean(env, x, m->body.buf));
        return;
    }
    MOT_ASSERT(s->sent != MOT_NO_BUF && m->from == s->partner);
    become(s, env,
        x == s->sent
            ? mean(env, x, m->body.buf)
            : mot_sum_weighted(env, (mot_buf[]){ x, m->body.buf, s->sent }, (double[]){ 1, 0.5, -0.5 }, 3));
    end_exchange(s, env);
}

/* ---- Steps ------------------------------------------------------------------------------------------- */

static void begin_step(struct adpsgd *s, struct mot_env *env)
{
    s->computing = true;
    mot_start_own(
        env, (uint32_t)s->params.step, s->draw, env->world->batch[env->self], s->params.x, MOT_NEVER);
    begin_exchange(s, env);
}

static void work_came(struct adpsgd *s, struct mot_env *env, const struct mot_result *w)
{
    MOT_ASSERT(s->computing && w->tag == (uint32_t)s->params.step);
    s->computing = false;
    s->draw += w->samples;
    if (w->samples == 0) { /* out of data: it still takes part in what others begin */
        mot_stop(env, MOT_OK);
        return;
    }
    mot_params_step(env, &s->params, mot_whole(env, w->grad), 1.0 / w->samples, 1);
    mot_advance(env);
    begin_step(s, env);
}

static void peer_changed(struct adpsgd *s, struct mot_env *env, struct mot_peer peer)
{
    struct mot_candidates others = candidates(env);
    if (peer.up || s->retired) return; /* a node that comes back is not readmitted: it retires */
    mot_partners_lose(&s->partners, peer.node);
    if (mot_is_candidate(env, &others, peer.node)) mot_note(env, "neighbours_lost", 1);
    if (s->sent != MOT_NO_BUF && s->partner == peer.node) end_exchange(s, env);
}

/* ---- The method --------------------------------------------------------------------------------------- */

static struct mot_need adpsgd_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf;
    (void)self;
    /* The parameters, the next ones, the model that was sent, the mean. Each active worker has at most one
     * exchange under way, and nothing else is in flight, though many exchanges may be with one passive
     * worker. */
    return (struct mot_need){ .state_bytes = sizeof(struct adpsgd) + mot_partners_bytes(world),
        .buffers = 12,
        .sends = 2,
        .works = 1,
        .terms = 1 };
}

static enum mot_status adpsgd_validate(const void *p, const struct mot_world *world)
{
    const struct adpsgd_conf *conf = p;
    if (conf->peers != MOT_PARTNERS_TOPOLOGY || world->mixing->side) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "method adpsgd: the topology of %u workers has a cycle of odd length; expected a bipartite graph, in "
        "which workers are active or passive and links join the two: a star, or a ring, torus or hypercube "
        "without odd cycles; or method.peers: any",
        world->workers);
}

static void adpsgd_init(void *state, struct mot_env *env)
{
    struct adpsgd *s = state;
    mot_params_init(env, &s->params);
    mot_partners_init(&s->partners, env);
    s->draw = mot_first_draw(env);
    s->retired = env->life > 0;
}

static void adpsgd_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct adpsgd *s = state;
    switch (event->kind) {
    case MOT_EV_START:
        if (s->retired) mot_stop(env, MOT_OK);
        else begin_step(s, env);
        return;
    case MOT_EV_WORK: work_came(s, env, event->work); return;
    case MOT_EV_MESSAGE: message_came(s, env, event->message); return;
    case MOT_EV_PEER: peer_changed(s, env, event->peer); return;
    case MOT_EV_COLL:
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"AD-PSGD asked for none of these"); return;
    }
}

static bool adpsgd_admits(const void *state, const struct mot_env *env, const struct mot_message *m)
{
    const struct adpsgd *s = state;
    struct mot_candidates others = candidates(env);
    if (m->kind > MSG_ANSWER || !mot_is_candidate(env, &others, m->from) || m->head.samples != 0 ||
        m->head.value != 0 || !mot_body_is(m, mot_whole(env, m->body.buf)))
        return false;
    if ((m->kind == MSG_MODEL) == is_active(env, env->self)) return false;
    if (s->retired || mot_partners_lost(&s->partners, m->from)) return true; /* it is ignored */
    return m->kind == MSG_MODEL || (s->sent != MOT_NO_BUF && m->from == s->partner);
}

static void adpsgd_check(const void *state, const struct mot_env *env)
{
    const struct adpsgd *s = state;
    struct mot_candidates others = candidates(env);
    MOT_ASSERT(s->params.x != MOT_NO_BUF);
    if (s->sent == MOT_NO_BUF) return;
    MOT_ASSERT(is_active(env, env->self) && mot_is_candidate(env, &others, s->partner));
    MOT_ASSERT(!mot_partners_lost(&s->partners, s->partner));
}

static bool adpsgd_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    const struct adpsgd *s = state;
    (void)env;
    if (s->retired) return false;
    *view = (struct mot_view){ .x = s->params.x, .scale = 1, .params = &s->params };
    return true;
}

static void adpsgd_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)workers;
    t->model = MOT_MODEL_OF_EACH;
    t->own_pace = t->asynchronous = t->by_speed = true;
    t->round = 0;
    t->mixes = ((const struct adpsgd_conf *)conf)->peers == MOT_PARTNERS_TOPOLOGY;
}

static const struct mot_option adpsgd_options[] = {
    MOT_PARTNERS_OPTION(struct adpsgd_conf, peers, "even-numbered workers with odd-numbered ones"),
    { .name = NULL },
};

const struct mot_method mot_method_adpsgd = {
    .name = "adpsgd",
    .summary = "asynchronous decentralised SGD: workers at their own pace average models in pairs",
    .about = "No server, no rounds, nobody waits: each worker takes step after step on its own batches. Half "
             "of them are active: with each step, an active worker sends its model to a passive one drawn at "
             "random, which answers with its own; both take the mean. Computing goes on meanwhile. The "
             "workers' models differ; their mean is evaluated and written. The run's updates are all steps "
             "divided by the workers, and all end together.\n"
             "Use it when workers differ in speed, or stall: a slow one slows nobody down, and a lost one is "
             "only missed. Fast workers contribute more steps, so the model leans to their data. With "
             "workers of equal speed dpsgd mixes better for each step. peers: topology takes partners from "
             "topology:, which must be bipartite (a ring of an even number, a star); the larger side is "
             "active.\n"
             "Paper: Lian, Zhang, Zhang, Liu, Asynchronous Decentralized Parallel Stochastic Gradient "
             "Descent, 2018.",
    .options = adpsgd_options,
    .conf_bytes = sizeof(struct adpsgd_conf),
    .traits = adpsgd_traits,
    .advise = mot_advise_own_pace,
    .validate = adpsgd_validate,
    .need = adpsgd_need,
    .init = adpsgd_init,
    .step = adpsgd_step,
    .admits = adpsgd_admits,
    .check = adpsgd_check,
    .model = adpsgd_model,
};
