/* choco.c -- CHOCO-SGD: decentralised SGD whose workers send compressed differences.
 *
 *   y[i] = x[i] - rate * g                        g: gradient of a batch of its own part at x[i]
 *   q[i] = C(y[i] - h[i])                         to all neighbours
 *   h[j] = h[j] + q[j]                            for itself and every neighbour j
 *   x[i] = y[i] + gamma * sum over j of W[i][j] (h[j] - h[i])
 *
 * h[i] is what worker i and its neighbours know of x[i]. What a packet leaves out shows up in the next
 * difference, so the models agree in the end although none was ever sent whole. Of its neighbours' h a worker
 * needs only s[i], the sum of W[i][j] h[j] over all of them and itself.
 *
 * Koloskova, Stich and Jaggi, Decentralized Stochastic Optimization and Gossip Algorithms with Compressed
 * Communication, ICML 2019 (arXiv 1902.00340), Algorithm 6. There h begins with 0; here with the initial
 * model, which all workers share: the first packets need not bring it. */
#include "math/optim.h"
#include "method/advice.h"
#include "method/apart.h"
#include "method/methods.h"
#include "method/mixer.h"
#include <stddef.h>

struct choco_conf {
    double gamma;
    uint32_t weigh; /* enum mot_weigh */
};

struct choco {
    struct mot_params params;
    struct mot_params half; /* after the step, while packets are on their way; or no x */
    struct mot_packer packer;
    mot_buf seen, around; /* h[i] and s[i] */
    mot_buf sent;         /* q[i], while the exchange is open */
    uint64_t draw, round, last;
    double rate;
    struct mot_mixer mixer;
};

static void begin_round(struct choco *s, struct mot_env *env)
{
    if (s->round >= s->last) {
        mot_stop(env, MOT_OK);
        return;
    }
    mot_start_own(env, (uint32_t)s->round, s->draw, env->world->batch[env->self], s->params.x, MOT_NEVER);
}

static void replace(struct mot_env *env, mot_buf *old, mot_buf new)
{
    mot_drop(env, *old);
    *old = new;
}

static mot_buf sum(struct mot_env *env, mot_buf a, mot_buf b, double times)
{
    return mot_sum_weighted(env, (const mot_buf[]){ a, b }, (const double[]){ 1, times }, 2);
}

static void work_came(struct choco *s, struct mot_env *env, const struct mot_result *w)
{
    MOT_ASSERT(w->tag == (uint32_t)s->round && !s->mixer.open);
    s->draw += w->samples;
    s->half = s->params;
    mot_hold(env, s->half.x);
    for (uint32_t i = 0; i < env->world->optim->slots; i++) mot_hold(env, s->half.slot[i]);
    if (w->samples) mot_params_step(env, &s->half, mot_whole(env, w->grad), 1.0 / w->samples, s->rate);
    else s->half.step++; /* out of data: it only averages */
    mot_buf difference = sum(env, s->half.x, s->seen, -1);
    s->packer.packs = s->round; /* so that a resumed run draws the same */
    s->sent = mot_pack(env, &s->packer, mot_whole(env, difference), 1).buf;
    mot_drop(env, difference);
    mot_mixer_open(&s->mixer, env, s->round, s->sent, NULL);
}

/* Ends the round once all packets are in. */
static void consider(struct choco *s, struct mot_env *env)
{
    const struct choco_conf *conf = env->conf;
    if (!mot_mixer_ready(&s->mixer)) return;
    mot_buf mixed = mot_mixer_close(&s->mixer, env, s->sent);
    replace(env, &s->around, sum(env, s->around, mixed, 1));
    replace(env, &s->seen, sum(env, s->seen, s->sent, 1));
    mot_drop(env, mixed);
    replace(env, &s->sent, MOT_NO_BUF);
    const mot_buf in[] = { s->half.x, s->around, s->seen };
    replace(env, &s->half.x, mot_sum_weighted(env, in, (const double[]){ 1, conf->gamma, -conf->gamma }, 3));
    mot_drop(env, s->params.x);
    for (uint32_t i = 0; i < env->world->optim->slots; i++) mot_drop(env, s->params.slot[i]);
    s->params = s->half;
    s->half = (struct mot_params){ 0 };
    mot_advance(env);
    s->round++;
    begin_round(s, env);
}

/* ---- The method ----------------------------------------------------------------------- */

static struct mot_need choco_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf;
    /* The parameters and the next ones, h and s and the next ones, a difference, what was sent of it, and
     * what came. */
    struct mot_need need = { .state_bytes = sizeof(struct choco), .buffers = 15, .works = 1, .terms = 1 };
    mot_mixer_need(world, self, false, &need);
    return need;
}

static void choco_init(void *state, struct mot_env *env)
{
    struct choco *s = state;
    const struct mot_kept *kept = env->world->kept ? &env->world->kept[env->self] : NULL;
    s->rate = mot_apart_rate(env, ((const struct choco_conf *)env->conf)->weigh);
    s->last = mot_apart_end(env->world);
    mot_mixer_init(&s->mixer, env);
    if (s->mixer.empty) return; /* it came back, and nobody gives it a model */
    mot_params_init(env, &s->params);
    s->seen = mot_hold(env, kept ? kept->buf[0] : s->params.x);
    s->around = mot_hold(env, kept ? kept->buf[1] : s->params.x);
    s->draw = mot_first_draw(env);
    s->round = s->params.step;
}

static void choco_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct choco *s = state;
    switch (event->kind) {
    case MOT_EV_START:
        if (s->mixer.empty) mot_stop(env, MOT_OK);
        else begin_round(s, env);
        return;
    case MOT_EV_WORK:
        work_came(s, env, event->work);
        consider(s, env);
        return;
    case MOT_EV_MESSAGE:
        mot_mixer_message(&s->mixer, env, event->message);
        consider(s, env);
        return;
    case MOT_EV_PEER: /* its model's share of s[i] would stay there for good */
        if (!event->peer.up && mot_mixer_lose(&s->mixer, env, event->peer.node)) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_COLL:
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"CHOCO-SGD asked for none of these"); return;
    }
}

static bool choco_admits(const void *state, const struct mot_env *env, const struct mot_message *m)
{
    const struct choco *s = state;
    return m->kind == MOT_MSG_PEER_MODEL &&
        mot_mixer_admits(&s->mixer, env, m, s->round + s->mixer.open, 1, NULL);
}

static void choco_check(const void *state, const struct mot_env *env)
{
    const struct choco *s = state;
    MOT_ASSERT((s->params.x == MOT_NO_BUF) == s->mixer.empty && s->params.step == s->round);
    MOT_ASSERT((s->half.x != MOT_NO_BUF) == s->mixer.open && (s->sent != MOT_NO_BUF) == s->mixer.open);
    MOT_ASSERT(s->mixer.empty || (s->seen != MOT_NO_BUF && s->around != MOT_NO_BUF));
    mot_mixer_check(&s->mixer, env);
}

static bool choco_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    const struct choco *s = state;
    (void)env;
    if (s->mixer.empty) return false;
    *view = (struct mot_view){ .x = s->params.x, .scale = 1, .params = &s->params };
    return true;
}

static void choco_keep(const void *state, const struct mot_env *env, struct mot_kept *out)
{
    const struct choco *s = state;
    (void)env;
    out->buf[0] = s->seen;
    out->buf[1] = s->around;
}

static void choco_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)conf;
    (void)workers;
    t->model = MOT_MODEL_OF_EACH;
    t->mixes = true;
    t->packs = MOT_PACKS_DIFFERENCES;
    t->keeps = 2;
}

#define FIELD(field) offsetof(struct choco_conf, field)
static const struct mot_option choco_options[] = {
    { .name = "gamma",
        .type = MOT_OPT_REAL,
        .offset = FIELD(gamma),
        .preset = "0.4",
        .min = 1e-6,
        .max = 1,
        .doc = "how far a step goes towards what is known of the neighbours' models; the more packets leave "
               "out, the smaller it must be" },
    MOT_WEIGH_OPTION(struct choco_conf, weigh, "a worker's"),
    { .name = NULL },
};

const struct mot_method mot_method_choco = {
    .name = "choco",
    .summary = "decentralised SGD whose workers send compressed differences of their models",
    .about =
        "Like dpsgd, workers average their models with their neighbours' (topology: names them), but what "
        "they "
        "send is compressed (compress:): the difference between a worker's model and what its neighbours "
        "know "
        "of it. What a packet leaves out is in the next difference again, so any compressor will do, and the "
        "mean of the models moves by the mean gradient alone. gamma is how far a step goes towards what is "
        "known of the neighbours' models: if it is too large, the run diverges, so the stronger the "
        "compression, the smaller it must be.\n"
        "Use it when links between neighbours are slow. A lost neighbour ends the run.\n"
        "Paper: Koloskova, Stich, Jaggi, Decentralized Stochastic Optimization and Gossip Algorithms with "
        "Compressed Communication, 2019.",
    .options = choco_options,
    .conf_bytes = sizeof(struct choco_conf),
    .traits = choco_traits,
    .advise = mot_advise_unserved,
    .need = choco_need,
    .init = choco_init,
    .step = choco_step,
    .admits = choco_admits,
    .check = choco_check,
    .model = choco_model,
    .keep = choco_keep,
};
