/* gosgd.c -- gossip SGD: every worker goes at its own pace and now and then pushes its model to another.
 *
 *   x = x - rate * gradient of a batch of its own part
 *   with probability p:  w = w / 2, and (x, w) goes to another worker, drawn at random
 *   when (y, v) comes:   x = (w x + v y) / (w + v),  w = w + v
 *
 * Blot, Picard, Cord and Thome, Gossip training for deep learning, 2016, Algorithm 3. Weights begin at 1
 * (there: 1 / workers). Messages neither make nor destroy weight, so its sum over workers and messages in
 * flight stays the same, and so does the sum of w x, except for gradients.
 *
 * Every push is acknowledged, and a worker that has `credits` unacknowledged ones pushes no more until one is
 * acknowledged: else a slow worker's inbox would grow without bound. If a worker is lost, what it has not
 * acknowledged returns to the senders' weights. */
#include "method/advice.h"
#include "method/methods.h"
#include "method/partners.h"
#include <math.h>
#include <stddef.h>

enum { MSG_PUSH, MSG_THANKS };

#define CREDITS_MOST 8u
#define WEIGHT_LEAST 0x1p-500 /* a lighter worker pushes no more until it has received something */

struct gosgd_conf {
    double p;
    uint64_t credits;
    uint32_t peers; /* enum mot_partners_of */
};

struct push { /* not yet acknowledged; weight 0: none */
    uint64_t number;
    double weight;
    mot_node to;
};

struct gosgd {
    struct mot_params params;
    uint64_t draw, pushes;
    double weight;
    struct push push[CREDITS_MOST];
    bool computing, retired; /* retired: a new life that knows no model */
    struct mot_partners partners;
};

static const struct gosgd_conf *conf_of(const struct mot_env *env) { return env->conf; }

static struct mot_candidates candidates(const struct mot_env *env)
{
    uint32_t n = env->world->workers;
    if (conf_of(env)->peers == MOT_PARTNERS_TOPOLOGY) return mot_candidates_near(env);
    return (struct mot_candidates){ .n = n - 1, .first = (env->self + 1) % n, .stride = 1 };
}

/* ---- Pushes ------------------------------------------------------------------------------------------ */

static void push(struct gosgd *s, struct mot_env *env)
{
    struct mot_candidates others = candidates(env);
    uint64_t credits = conf_of(env)->credits, free = 0;
    if (mot_rng_unit(&s->partners.rng) >= conf_of(env)->p) return;
    while (free < credits && s->push[free].weight > 0) free++;
    if (free == credits || s->weight < WEIGHT_LEAST) {
        mot_note(env, "pushes_skipped", 1);
        return;
    }
    mot_node to = mot_partners_draw(&s->partners, env, &others);
    if (to == MOT_NOBODY) return;
    s->weight /= 2;
    s->push[free] = (struct push){ .number = ++s->pushes, .weight = s->weight, .to = to };
    struct mot_head head = { .round = s->pushes, .samples = (uint32_t)s->params.step, .value = s->weight };
    mot_send(env, to, MSG_PUSH, head, mot_whole(env, s->params.x));
}

static struct push *pushed(const struct gosgd *s, const struct mot_message *m)
{
    for (uint32_t i = 0; i < CREDITS_MOST; i++)
        if (s->push[i].weight > 0 && s->push[i].to == m->from && s->push[i].number == m->head.round)
            return (struct push *)(uintptr_t)&s->push[i];
    return NULL;
}

static void message_came(struct gosgd *s, struct mot_env *env, const struct mot_message *m)
{
    if (s->retired || mot_partners_lost(&s->partners, m->from)) return;
    if (m->kind == MSG_THANKS) {
        struct push *p = pushed(s, m);
        MOT_ASSERT(p && "an answer to a push that is under way");
        p->weight = 0;
        return;
    }
    double all = s->weight + m->head.value, part[] = { s->weight / all, m->head.value / all };
    mot_buf x = mot_sum_weighted(env, (mot_buf[]){ s->params.x, m->body.buf }, part, 2);
    mot_drop(env, s->params.x);
    s->params.x = x;
    s->weight = all;
    mot_note(env, "rounds_behind", fabs((double)(uint32_t)s->params.step - (double)m->head.samples));
    mot_send(env, m->from, MSG_THANKS, (struct mot_head){ .round = m->head.round },
        (struct mot_slice){ .buf = MOT_NO_BUF });
}

/* ---- Steps ------------------------------------------------------------------------------------------- */

static void begin_step(struct gosgd *s, struct mot_env *env)
{
    s->computing = true;
    mot_start_own(
        env, (uint32_t)s->params.step, s->draw, env->world->batch[env->self], s->params.x, MOT_NEVER);
}

static void work_came(struct gosgd *s, struct mot_env *env, const struct mot_result *w)
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
    push(s, env);
    begin_step(s, env);
}

static void peer_changed(struct gosgd *s, struct mot_env *env, struct mot_peer peer)
{
    struct mot_candidates others = candidates(env);
    if (peer.up || s->retired) return; /* a node that comes back is not readmitted: it retires */
    mot_partners_lose(&s->partners, peer.node);
    if (mot_is_candidate(env, &others, peer.node)) mot_note(env, "neighbours_lost", 1);
    for (uint32_t i = 0; i < CREDITS_MOST; i++) {
        if (s->push[i].to != peer.node) continue;
        s->weight += s->push[i].weight;
        s->push[i].weight = 0;
    }
}

/* ---- The method --------------------------------------------------------------------------------------- */

static struct mot_need gosgd_need(const void *p, const struct mot_world *world, mot_node self)
{
    const struct gosgd_conf *conf = p;
    (void)self;
    /* The parameters, the next ones, the mean, and models in flight. A credit is a push or its answer, so all
     * workers together have no more messages in flight than credits, though many may be from or to one of
     * them. */
    return (struct mot_need){ .state_bytes = sizeof(struct gosgd) + mot_partners_bytes(world),
        .buffers = 10 + (uint32_t)conf->credits,
        .sends = 1 + (uint32_t)conf->credits,
        .works = 1,
        .terms = 1 };
}

static void gosgd_init(void *state, struct mot_env *env)
{
    struct gosgd *s = state;
    mot_params_init(env, &s->params);
    mot_partners_init(&s->partners, env);
    s->draw = mot_first_draw(env);
    s->weight = 1;
    s->retired = env->life > 0;
}

static void gosgd_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct gosgd *s = state;
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
    case MOT_EV_PIECE: MOT_ASSERT(!"GoSGD asked for none of these"); return;
    }
}

static bool gosgd_admits(const void *state, const struct mot_env *env, const struct mot_message *m)
{
    const struct gosgd *s = state;
    struct mot_candidates others = candidates(env);
    if (!mot_is_candidate(env, &others, m->from)) return false;
    bool ignored = s->retired || mot_partners_lost(&s->partners, m->from);
    if (m->kind == MSG_THANKS)
        return m->head.samples == 0 && m->head.value == 0 && m->body.buf == MOT_NO_BUF &&
            (ignored || pushed(s, m));
    return m->kind == MSG_PUSH && m->head.value > 0 && m->head.value <= env->world->workers &&
        mot_body_is(m, mot_whole(env, m->body.buf));
}

static void gosgd_check(const void *state, const struct mot_env *env)
{
    const struct gosgd *s = state;
    MOT_ASSERT(s->params.x != MOT_NO_BUF && s->weight > 0 && isfinite(s->weight));
    for (uint32_t i = 0; i < CREDITS_MOST; i++) {
        const struct push *p = &s->push[i];
        MOT_ASSERT(p->weight == 0 || (p->weight > 0 && i < conf_of(env)->credits));
        MOT_ASSERT(
            p->weight == 0 || (p->to < env->world->workers && !mot_partners_lost(&s->partners, p->to)));
    }
}

static bool gosgd_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    const struct gosgd *s = state;
    (void)env;
    if (s->retired) return false;
    *view = (struct mot_view){ .x = s->params.x, .scale = 1, .params = &s->params, .mass = s->weight };
    return true;
}

static void gosgd_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)workers;
    t->model = MOT_MODEL_OF_EACH;
    t->own_pace = t->asynchronous = t->by_speed = true;
    t->round = 0;
    t->mixes = ((const struct gosgd_conf *)conf)->peers == MOT_PARTNERS_TOPOLOGY;
}

#define FIELD(field) offsetof(struct gosgd_conf, field)
static const struct mot_option gosgd_options[] = {
    { .name = "p",
        .type = MOT_OPT_REAL,
        .offset = FIELD(p),
        .preset = "0.5",
        .min = 0,
        .max = 1,
        .doc = "the probability with which a worker pushes its model after a step" },
    { .name = "credits",
        .type = MOT_OPT_UINT,
        .offset = FIELD(credits),
        .preset = "2",
        .min = 1,
        .max = CREDITS_MOST,
        .doc = "how many pushes of a worker may be unacknowledged; at that limit it skips the next "
               "(pushes_skipped)" },
    MOT_PARTNERS_OPTION(struct gosgd_conf, peers, "all others"),
    { .name = NULL },
};

const struct mot_method mot_method_gosgd = {
    .name = "gosgd",
    .summary = "gossip SGD: workers at their own pace push their models to others at random",
    .about =
        "No server, no rounds, nobody waits: each worker takes step after step on its own batches and, "
        "with probability p after each, pushes its model to another worker, which mixes it into its "
        "own. Each model has a weight; a push takes half of it along, and models are mixed by weight, so "
        "that no model counts more for being pushed more often. The workers' models differ; their mean "
        "is evaluated and written. The run's updates are all steps divided by the workers, and all end "
        "together.\n"
        "Use it when workers differ in speed or stall, and when links are slow: p: 0.1 sends a tenth of "
        "the models that adpsgd with all workers active would. A push goes one way, so it needs no "
        "answer before both go on. Fast workers contribute more steps, so the model leans to their "
        "data.\n"
        "Paper: Blot, Picard, Cord, Thome, Gossip training for deep learning, 2016.",
    .options = gosgd_options,
    .conf_bytes = sizeof(struct gosgd_conf),
    .traits = gosgd_traits,
    .advise = mot_advise_own_pace,
    .need = gosgd_need,
    .init = gosgd_init,
    .step = gosgd_step,
    .admits = gosgd_admits,
    .check = gosgd_check,
    .model = gosgd_model,
};
