/* scadles.c -- synchronous SGD on devices whose samples arrive over time.
 *
 *   WORK (what has arrived) --> [rows of some to all, WORK on these] --> [vote] --> COLLECT --> step --> WORK
 *
 * With a fixed batch, devices with slow streams become stragglers, and those with fast ones fall ever further
 * behind theirs. So a batch is what has arrived, between `least` and `most`; gradients count by their
 * samples,
 *
 *   g = sum over i of b[i] g[i] / sum of b,     rate = optimizer.lr * sum of b / reference,
 *
 * and the rate grows with the samples of the update. Where devices see different classes, a share alpha of
 * them, drawn afresh in each update, sends a share beta of its batch to all others before the gradients are
 * summed. With `compress.delta` they vote whether to compress these, which is a collective of its own.
 * Tyagi and Swany, ScaDLES: Scalable Deep Learning over Streaming data at the Edge, 2022. */
#include "base/rng.h"
#include "method/advice.h"
#include "method/methods.h"

enum { MSG_ROWS };
enum phase { OWN, WAIT, GUESTS, VOTE, SUM };

struct scadles_conf {
    bool variable, weighted;
    uint64_t least, most;
    uint32_t scaling;   /* 0 linear, 1 none */
    uint64_t reference; /* MOT_WORD_UINT: 64 for each worker */
    double alpha, beta;
};

/* What a device has sent in a round. One that is a round ahead may send before this worker is done. */
struct guest {
    uint64_t draw, round; /* round: + 1; 0: nothing yet */
    uint32_t samples;
};

struct scadles {
    struct mot_params params;
    struct mot_packer packer;
    uint64_t draw;
    mot_buf grad; /* of its own samples, while those of others are awaited or computed */
    uint32_t round, phase;
    uint32_t own, samples; /* own: of its stream; samples: with those of others */
    double loss;
    /* [2][workers], by the round's parity, and [workers] terms behind them; only where samples are shared */
    struct guest guest[];
};

/* ---- Who shares ------------------------------------------------------------------------------------ */

static bool shares(const struct scadles_conf *c) { return c->alpha > 0 && c->beta > 0; }

static uint32_t givers(const struct scadles_conf *c, uint32_t workers)
{
    uint32_t n = (uint32_t)(c->alpha * workers + 0.5);
    return n < 1 ? 1 : n < workers ? n : workers;
}

static uint64_t order_of(const struct mot_world *w, uint64_t round)
{
    struct mot_rng rng = mot_rng_at(w->seed, MOT_RNG_METHOD, round);
    return mot_rng_next(&rng);
}

static bool gives(const struct mot_env *env, uint64_t round, mot_node worker)
{
    uint32_t n = env->world->workers;
    return mot_permute_back(order_of(env->world, round), n, worker) < givers(env->conf, n);
}

static struct guest *guest_of(struct scadles *s, const struct mot_world *w, uint64_t round, mot_node from)
{
    return &s->guest[(round & 1) * w->workers + from];
}

static struct mot_term *terms_of(struct scadles *s, const struct mot_world *w)
{
    return (struct mot_term *)&s->guest[2 * (size_t)w->workers];
}

static void share(struct scadles *s, struct mot_env *env)
{
    const struct scadles_conf *conf = env->conf;
    uint32_t rows = (uint32_t)(conf->beta * s->own);
    if (rows == 0 && s->own) rows = 1;
    struct mot_head head = { .round = s->round, .samples = rows };
    for (mot_node to = 0; to < env->world->workers; to++) {
        if (to == env->self) continue;
        if (rows) mot_send_samples(env, to, MSG_ROWS, head, s->draw - s->own, rows);
        else mot_send(env, to, MSG_ROWS, head, (struct mot_slice){ 0 });
    }
    mot_note(env, "shared rows", rows);
}

/* ---- Rounds ---------------------------------------------------------------------------------------- */

/* Without streams, everyone's batch would be `most`. */
static bool varies(const struct scadles_conf *conf, const struct mot_world *w)
{
    return conf->variable && w->streams;
}

static void begin_round(struct scadles *s, struct mot_env *env)
{
    const struct scadles_conf *conf = env->conf;
    bool variable = varies(conf, env->world);
    uint32_t samples = variable ? (uint32_t)conf->most : env->world->batch[env->self];
    struct mot_term term = { .part = env->self, .draw = s->draw, .samples = samples, .coef = 1 };
    s->phase = OWN;
    mot_start(env,
        &(struct mot_work){ .tag = 2 * s->round,
            .terms = 1,
            .term = &term,
            .deadline = MOT_NEVER,
            .at = s->params.x,
            .least = variable ? (uint32_t)conf->least : 0 });
}

/* Where there are votes, a round has two collectives, and their tags increase. */
static uint32_t tag_of(const struct scadles *s, const struct mot_env *env)
{
    return mot_votes(env->world) ? 2 * s->round + (s->phase == SUM) : s->round;
}

static void sum_up(struct scadles *s, struct mot_env *env, struct mot_slice in)
{
    s->phase = SUM;
    mot_collect(env,
        &(struct mot_coll){
            .tag = tag_of(s, env), .in = in, .scalar = { s->samples, s->loss, s->samples > 0 } });
    mot_drop(env, in.buf);
}

/* Gives its gradient to the sum; if the workers vote, once they have. */
static void sum(struct scadles *s, struct mot_env *env, mot_buf grad)
{
    const struct scadles_conf *conf = env->conf;
    double has = s->samples > 0, each = has ? 1.0 / s->samples : 0,
           weight = conf->weighted ? s->samples : has;
    mot_buf mean = MOT_NO_BUF;
    if (!conf->weighted) grad = mean = mot_sum_weighted(env, &grad, &each, 1);
    struct mot_slice in = mot_whole(env, grad);
    if (mot_votes(env->world)) {
        s->phase = VOTE;
        bool agrees = mot_weigh(env, &s->packer, in, weight);
        mot_collect(env, &(struct mot_coll){ .tag = tag_of(s, env), .scalar = { agrees } });
    } else {
        sum_up(s, env, mot_pack(env, &s->packer, in, weight));
    }
    mot_drop(env, mean);
}

/* Computes what others have sent, once all of it is here. */
static void consider(struct scadles *s, struct mot_env *env)
{
    const struct mot_world *w = env->world;
    const struct scadles_conf *conf = env->conf;
    uint32_t n = givers(conf, w->workers), terms = 0;
    struct mot_term *term = terms_of(s, w);
    uint64_t order = order_of(w, s->round);
    for (uint32_t i = 0; i < n; i++) {
        mot_node from = (mot_node)mot_permute(order, w->workers, i);
        const struct guest *g = guest_of(s, w, s->round, from);
        if (from == env->self) continue;
        if (g->round != (uint64_t)s->round + 1) return;
        if (g->samples)
            term[terms++] =
                (struct mot_term){ .part = from, .draw = g->draw, .samples = g->samples, .coef = 1 };
    }
    if (terms == 0) {
        mot_buf grad = s->grad;
        s->grad = MOT_NO_BUF;
        sum(s, env, grad);
        mot_drop(env, grad);
        return;
    }
    s->phase = GUESTS;
    mot_start(env,
        &(struct mot_work){ .tag = 2 * s->round + 1,
            .terms = terms,
            .term = term,
            .deadline = MOT_NEVER,
            .at = s->params.x });
}

static void own_came(struct scadles *s, struct mot_env *env, const struct mot_result *w)
{
    s->draw = w->draw + w->samples;
    s->own = s->samples = w->samples;
    s->loss = w->loss;
    if (!shares(env->conf)) {
        sum(s, env, w->grad);
        return;
    }
    s->grad = mot_hold(env, w->grad);
    s->phase = WAIT;
    if (gives(env, s->round, env->self)) share(s, env);
    consider(s, env);
}

static void guests_came(struct scadles *s, struct mot_env *env, const struct mot_result *w)
{
    const mot_buf both[] = { s->grad, w->grad };
    mot_buf grad = mot_sum(env, both, 2);
    mot_drop(env, s->grad);
    s->grad = MOT_NO_BUF;
    s->samples += w->samples;
    s->loss += w->loss;
    sum(s, env, grad);
    mot_drop(env, grad);
}

static void sum_came(struct scadles *s, struct mot_env *env, const struct mot_coll_result *sum)
{
    const struct scadles_conf *conf = env->conf;
    double samples = sum->scalar[0], weight = conf->weighted ? samples : sum->scalar[2], factor = 1;
    uint64_t reference =
        conf->reference == MOT_WORD_UINT ? 64 * (uint64_t)env->world->workers : conf->reference;
    MOT_ASSERT(sum->tag == tag_of(s, env));
    if (s->phase == VOTE) {
        sum_up(s, env, mot_settle(env, &s->packer, mot_vote_passes(env->world, sum->scalar[0])));
        return;
    }
    if (samples == 0) {
        mot_stop(env, MOT_OK);
        return;
    }
    if (conf->scaling == 0) factor = samples / (double)reference;
    struct mot_slice grad = mot_gathered(env, &s->packer, sum->out);
    mot_params_step(env, &s->params, grad, 1.0 / weight, factor);
    mot_drop(env, grad.buf);
    if (env->self == 0) mot_note(env, "batch of all", samples);
    mot_advance(env);
    s->round++;
    begin_round(s, env);
}

static void rows_came(struct scadles *s, struct mot_env *env, const struct mot_message *m)
{
    *guest_of(s, env->world, m->head.round, m->from) =
        (struct guest){ .draw = m->draw, .round = m->head.round + 1, .samples = m->given };
    if (s->phase == WAIT) consider(s, env);
}

/* ---- The method ------------------------------------------------------------------------------------- */

static void scadles_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct scadles *s = state;
    switch (event->kind) {
    case MOT_EV_START: begin_round(s, env); return;
    case MOT_EV_WORK:
        if (event->work->tag == 2 * s->round) own_came(s, env, event->work);
        else guests_came(s, env, event->work);
        return;
    case MOT_EV_COLL: sum_came(s, env, event->coll); return;
    case MOT_EV_MESSAGE: rows_came(s, env, event->message); return;
    case MOT_EV_PEER: /* the sum needs everyone */
        if (!event->peer.up) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"scadles asked for none of these"); return;
    }
}

static bool scadles_admits(const void *state, const struct mot_env *env, const struct mot_message *m)
{
    const struct scadles *s = state;
    const struct scadles_conf *conf = env->conf;
    uint64_t round = m->head.round;
    if (!shares(conf) || m->kind != MSG_ROWS || m->from >= env->world->workers || m->body.buf != MOT_NO_BUF)
        return false;
    if ((round != s->round && round != (uint64_t)s->round + 1) || !gives(env, round, m->from)) return false;
    if (s->guest[(round & 1) * env->world->workers + m->from].round == round + 1) return false;
    if (m->given == 0) return m->rows == 0 && m->head.samples == 0;
    uint64_t most = varies(conf, env->world) ? conf->most : env->world->batch[m->from];
    return m->rows == m->from + 1 && m->given == m->head.samples && m->given <= most;
}

static struct mot_need scadles_need(const void *p, const struct mot_world *world, mot_node self)
{
    const struct scadles_conf *conf = p;
    uint32_t n = world->workers;
    (void)self;
    /* The parameters, the next ones, the gradients of its own samples and of others, and what is summed. */
    struct mot_need need = {
        .state_bytes = sizeof(struct scadles), .buffers = 10, .works = 1, .terms = 1, .colls = 1
    };
    if (!shares(conf)) return need;
    need.state_bytes += n * (2 * sizeof(struct guest) + sizeof(struct mot_term));
    need.terms = givers(conf, n);
    need.sends = 2 * (n - 1);
    return need;
}

static void scadles_init(void *state, struct mot_env *env)
{
    struct scadles *s = state;
    mot_params_init(env, &s->params);
    s->draw = mot_first_draw(env);
    s->round = (uint32_t)s->params.step;
    mot_packer_init(env, &s->packer, 0);
}

static void scadles_keep(const void *state, const struct mot_env *env, struct mot_kept *out)
{
    mot_packer_keep(&((const struct scadles *)state)->packer, env, out, 0);
}

static void scadles_check(const void *state, const struct mot_env *env)
{
    const struct scadles *s = state;
    MOT_ASSERT(s->params.x != MOT_NO_BUF && (uint32_t)s->params.step == s->round && s->phase <= SUM);
    MOT_ASSERT((s->grad != MOT_NO_BUF) == (s->phase == WAIT || s->phase == GUESTS));
    MOT_ASSERT(s->own <= s->samples);
    if (!shares(env->conf)) MOT_ASSERT(s->phase != WAIT && s->phase != GUESTS);
    if (!mot_votes(env->world)) MOT_ASSERT(s->phase != VOTE);
}

static bool scadles_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    (void)env;
    const struct mot_params *params = &((const struct scadles *)state)->params;
    *view = (struct mot_view){ .x = params->x, .scale = 1, .params = params };
    return true;
}

static void scadles_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    const struct scadles_conf *conf = p;
    (void)workers;
    t->varies = conf->variable || shares(conf);
    t->shares = shares(conf);
    t->packs = MOT_PACKS_SUMS;
    t->votes = true;
}

static enum mot_status scadles_validate(const void *p, const struct mot_world *world)
{
    const struct scadles_conf *conf = p;
    if (conf->least > conf->most)
        return mot_fail(MOT_EUSAGE, "method.least: expected at most method.most, %llu; found %llu",
            (unsigned long long)conf->most, (unsigned long long)conf->least);
    if (shares(conf) && world->workers < 2)
        return mot_fail(MOT_EUSAGE, "method.alpha: expected at least 2 workers to share samples; found one");
    return MOT_OK;
}

#define FIELD(field) offsetof(struct scadles_conf, field)
static const struct mot_option scadles_options[] = {
    { .name = "variable",
        .type = MOT_OPT_BOOL,
        .offset = FIELD(variable),
        .preset = "true",
        .doc = "a batch is what has arrived, from `least` to `most`; false: every batch waits for `batch` "
               "samples" },
    { .name = "least",
        .type = MOT_OPT_UINT,
        .offset = FIELD(least),
        .preset = "8",
        .min = 1,
        .max = 1e9,
        .doc = "samples that a batch waits for" },
    { .name = "most",
        .type = MOT_OPT_UINT,
        .offset = FIELD(most),
        .preset = "1024",
        .min = 1,
        .max = 1e9,
        .doc = "the most samples that a batch takes" },
    { .name = "weighted",
        .type = MOT_OPT_BOOL,
        .offset = FIELD(weighted),
        .preset = "true",
        .doc = "gradients count by their samples; false: every worker's mean gradient counts the same" },
    { .name = "scaling",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(scaling),
        .preset = "linear",
        .choices = "linear|none",
        .doc = "linear: the learning rate is multiplied by the samples of the update over `reference`" },
    { .name = "reference",
        .type = MOT_OPT_UINT,
        .offset = FIELD(reference),
        .preset = "auto",
        .word = "auto",
        .min = 1,
        .max = 1e15,
        .doc = "samples per update that optimizer.lr is meant for; auto: 64 for each worker" },
    { .name = "alpha",
        .type = MOT_OPT_REAL,
        .offset = FIELD(alpha),
        .preset = "0",
        .max = 1,
        .doc = "the share of the workers, drawn afresh in each update, that send samples to all others; 0: "
               "none" },
    { .name = "beta",
        .type = MOT_OPT_REAL,
        .offset = FIELD(beta),
        .preset = "0",
        .max = 1,
        .doc = "the share of their batch that those workers send" },
    { .name = NULL },
};

const struct mot_method mot_method_scadles = {
    .name = "scadles",
    .summary = "synchronous SGD on streams: batches of what has arrived, weighted, with a rate that follows",
    .about =
        "For devices whose samples arrive over time (`stream` in the cluster file). A batch is what has "
        "arrived "
        "since the last one, between `least` and `most`, so no device waits long and none falls behind its "
        "stream. Gradients count by their samples, so an update is that of the pooled batch, and the "
        "learning "
        "rate grows with the samples of the update (`scaling`).\n"
        "If devices see different classes, `alpha` and `beta` let some of them, drawn afresh in each update, "
        "send part of their batch to all others, before the gradients; the run folder's shared.csv says who "
        "sent which rows to whom. --no-raw-data forbids it.\n"
        "`compress: {name: topk, ratio: 10%, delta: 0.3}` compresses gradients in updates in which at least "
        "half of "
        "the devices find that little is lost.\n"
        "Each part can be switched off by itself: variable, weighted, scaling, alpha. With all of them "
        "off it is "
        "allreduce: a fixed batch that waits until so many samples have arrived. The stream's `buffer` "
        "says what becomes of samples that wait. Without streams every batch has `batch` samples.\n"
        "Paper: Tyagi, Swany, ScaDLES: Scalable Deep Learning over Streaming data at the Edge, 2022.",
    .options = scadles_options,
    .conf_bytes = sizeof(struct scadles_conf),
    .traits = scadles_traits,
    .advise = mot_advise_summing,
    .validate = scadles_validate,
    .need = scadles_need,
    .init = scadles_init,
    .step = scadles_step,
    .admits = scadles_admits,
    .check = scadles_check,
    .model = scadles_model,
    .keep = scadles_keep,
};
