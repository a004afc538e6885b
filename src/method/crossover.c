/* crossover.c -- Crossover-SGD: every worker has a model of its own, and in every round averages each segment
 * of it with another worker's, drawn at random for that segment alone.
 *
 *   g = gradient of a batch at x[i];   x[i] = x[i] - rate * g                 (the optimiser's step)
 *   for every segment s:  x[i][s] = (x[i][s] + x[j][s]) / 2,  j = R(round, s)[i]
 *
 * Yeo et al., Crossover-SGD, arXiv 2012.15198. R is a permutation without fixed points that all workers
 * compute from the same seed: everyone sends every segment once and gets it once, and the mean of all models
 * does not change. With many segments a worker hears from many others in a round, at the price of one. With
 * groups the gradients of a group are summed at its first worker, which steps, exchanges with the other
 * groups' first workers and hands the model back.
 *
 * Random peers bound no lead by themselves: a worker may be many rounds ahead of one that it has not met. In
 * strict mode the peers therefore join an empty sum every `window` rounds, and wait for it before the next
 * one is due, so nobody gets 2 * window rounds ahead. In loose mode workers go at their own pace and wait for
 * nothing longer than the deadline (see exchange.h).
 *
 * Rates are weighted by rows as in dpsgd; a group counts the rows of all its workers. */
#include "method/advice.h"
#include "method/apart.h"
#include "method/exchange.h"
#include "method/methods.h"
#include "math/optim.h"
#include <stddef.h>
#include <stdio.h>

enum mode { MODE_STRICT, MODE_LOOSE };
struct crossover_conf {
    uint64_t segments, groups, micro, window;
    uint32_t cut, peers, mode, weigh;
    mot_time deadline;
    bool mix_state;
};

enum phase { COMPUTES, SUMS, EXCHANGES, SPREADS, WAITS, ENDS };
struct crossover {
    struct mot_params params; /* in a group, only the first worker uses more than x */
    uint64_t draw, end;       /* end, strict: the first round for which nobody has data */
    uint64_t limit;           /* strict: segments of rounds before this may arrive */
    double rate;
    mot_buf moved;       /* MOT_NO_BUF: not kept, since nothing can move the mean */
    uint32_t phase, tag; /* tag: of the group's collectives */
    bool meeting,
        retired; /* meeting: the empty sum is under way; retired: a new life that the others go on without */
    struct mot_exchange exchange;
};

/* ---- What the options make of the world ------------------------------------------------------------ */

static uint32_t peers_of(const struct crossover_conf *c, uint32_t workers)
{
    return c->groups == MOT_WORD_UINT ? workers : (uint32_t)c->groups;
}

/* Long enough for the empty sum to go up a tree and down again while rounds go on: a round is at least one
 * message long. */
static uint32_t window_of(const struct crossover_conf *c, uint32_t workers)
{
    uint32_t peers = peers_of(c, workers), hops = 0;
    if (c->window != MOT_WORD_UINT) return (uint32_t)c->window;
    while (c->mode == MODE_STRICT && hops < 31 && UINT32_C(1) << hops < peers) hops++;
    return hops > 2 ? 2 * hops : 4;
}

static bool grouped(const struct mot_world *w) { return w->groups != 0; }
static bool gossips(const struct mot_env *env)
{
    return !grouped(env->world) || mot_is_root(env->world, env->self);
}

static struct mot_exchange_plan plan_of(const struct crossover_conf *c, const struct mot_world *w)
{
    uint32_t peers = peers_of(c, w->workers);
    struct mot_exchange_plan p = { .draw = (enum mot_peer_draw)c->peers,
        .peers = peers,
        .size = w->workers / peers,
        .fields = c->mix_state ? 1 + w->optim->slots : 1,
        .window = window_of(c, w->workers) * (c->mode == MODE_LOOSE ? 1 : 2),
        .loose = c->mode == MODE_LOOSE };
    enum mot_status status = mot_segments_of(w, (enum mot_cut)c->cut, c->segments, "method.segments", &p.cut);
    MOT_ASSERT(status == MOT_OK); /* as validated */
    return p;
}

static bool keeps_moved(const struct crossover_conf *c)
{
    return c->mode == MODE_LOOSE || c->peers == MOT_PEERS_UNFAIR;
}

/* ---- Rounds ------------------------------------------------------------ */

/* Whether the round may begin: every `window` rounds peers join an empty sum, once the one before is over. */
static bool meet(struct crossover *s, struct mot_env *env)
{
    const struct crossover_conf *conf = env->conf;
    uint64_t round = s->exchange.round, window = window_of(conf, env->world->workers),
             number = round / window;
    if (conf->mode == MODE_LOOSE || !gossips(env) || s->exchange.plan.peers < 2) return true;
    if (round % window && round > env->world->step0) return true;
    if (s->meeting) return false;
    s->meeting = true;
    s->limit = (number + 2) * window;
    mot_collect(env,
        &(struct mot_coll){
            .tag = (uint32_t)number, .scope = grouped(env->world) ? MOT_COLL_ROOTS : MOT_COLL_ALL });
    return true;
}

static void begin_round(struct crossover *s, struct mot_env *env)
{
    const struct crossover_conf *conf = env->conf;
    uint32_t samples = (uint32_t)conf->micro * env->world->batch[env->self];
    if (s->exchange.round >= s->end) {
        s->phase = ENDS;
        mot_stop(env, MOT_OK);
        return;
    }
    if (s->exchange.plan.loose) mot_exchange_catch_up(&s->exchange, env);
    if (!meet(s, env)) {
        s->phase = WAITS;
        return;
    }
    s->phase = COMPUTES;
    mot_start_own(env, (uint32_t)s->exchange.round, s->draw, samples, s->params.x, MOT_NEVER);
}

static void end_round(struct crossover *s, struct mot_env *env)
{
    mot_advance(env);
    begin_round(s, env);
}

static void collect(
    struct crossover *s, struct mot_env *env, enum mot_coll_kind kind, mot_buf buf, double samples)
{
    s->phase = kind == MOT_COLL_FROM_ROOT ? SPREADS : SUMS;
    mot_collect(env,
        &(struct mot_coll){ .tag = s->tag++,
            .scope = MOT_COLL_GROUP,
            .kind = kind,
            .in = mot_whole(env, buf),
            .scalar = { samples } });
}

/* Mixes what is there, and hands the model to the group. */
static void mix(struct crossover *s, struct mot_env *env)
{
    mot_buf x[MOT_EXCHANGE_FIELDS] = { s->params.x, s->params.slot[0], s->params.slot[1] };
    mot_exchange_close(&s->exchange, env, x, s->moved == MOT_NO_BUF ? NULL : &s->moved);
    s->params.x = x[0];
    for (uint32_t f = 1; f < s->exchange.plan.fields; f++) s->params.slot[f - 1] = x[f];
    if (grouped(env->world)) collect(s, env, MOT_COLL_FROM_ROOT, s->params.x, 0);
    else end_round(s, env);
}

/* Mixes once all segments are there. */
static void consider(struct crossover *s, struct mot_env *env)
{
    if (s->phase != EXCHANGES || !mot_exchange_ready(&s->exchange)) return;
    if (s->exchange.plan.loose) mot_alarm(env, 0, MOT_NEVER);
    mix(s, env);
}

/* The optimiser's step; then the model travels. */
static void descend(struct crossover *s, struct mot_env *env, struct mot_slice grad, double samples)
{
    if (samples > 0) mot_params_step(env, &s->params, grad, 1.0 / samples, s->rate);
    else s->params.step++; /* out of data: it only averages */
    s->phase = EXCHANGES;
    mot_exchange_open(&s->exchange, env,
        (mot_buf[MOT_EXCHANGE_FIELDS]){ s->params.x, s->params.slot[0], s->params.slot[1] });
    if (s->exchange.plan.loose)
        mot_alarm(env, 0, env->now + ((const struct crossover_conf *)env->conf)->deadline);
    consider(s, env);
}

static void work_came(struct crossover *s, struct mot_env *env, const struct mot_result *w)
{
    MOT_ASSERT(s->phase == COMPUTES && w->tag == (uint32_t)s->exchange.round);
    s->draw += w->samples;
    if (w->samples == 0 && s->exchange.plan.loose) { /* the others have data of their own */
        s->phase = ENDS;
        mot_stop(env, MOT_OK);
        return;
    }
    if (grouped(env->world)) collect(s, env, MOT_COLL_TO_ROOT, w->grad, w->samples);
    else descend(s, env, mot_whole(env, w->grad), w->samples);
}

static void group_came(struct crossover *s, struct mot_env *env, const struct mot_coll_result *c)
{
    MOT_ASSERT(c->tag + 1 == s->tag && (s->phase == SUMS || s->phase == SPREADS));
    if (s->phase == SUMS && gossips(env)) descend(s, env, c->out, c->scalar[0]);
    else if (s->phase == SUMS) collect(s, env, MOT_COLL_FROM_ROOT, MOT_NO_BUF, 0);
    else {
        if (!gossips(env)) {
            mot_drop(env, s->params.x);
            s->params.x = mot_hold(env, c->out.buf);
            s->params.step++;
            s->exchange.round++;
        }
        end_round(s, env);
    }
}

static void coll_came(struct crossover *s, struct mot_env *env, const struct mot_coll_result *c)
{
    if (c->scope == MOT_COLL_GROUP) {
        group_came(s, env, c);
        return;
    }
    MOT_ASSERT(s->meeting);
    s->meeting = false;
    if (s->phase == WAITS) begin_round(s, env);
}

static void peer_changed(struct crossover *s, struct mot_env *env, struct mot_peer peer)
{
    if (peer.up) return; /* a node that comes back is not readmitted: it retires */
    if (!s->exchange.plan.loose) {
        mot_stop(env, MOT_EPEER);
        return;
    }
    mot_note(env, "neighbours_lost", 1);
    mot_exchange_lose(&s->exchange, env, peer.node);
    consider(s, env);
}

/* ---- The method ------------------------------------------------------------ */

static struct mot_need crossover_need(const void *p, const struct mot_world *world, mot_node self)
{
    const struct crossover_conf *conf = p;
    struct mot_exchange_plan plan = plan_of(conf, world);
    /* The parameters, the next ones, and the gradient. */
    struct mot_need need = { .state_bytes = sizeof(struct crossover), .buffers = 8, .works = 1, .terms = 1 };
    (void)self;
    need.alarms = plan.loose;
    need.colls = grouped(world) || !plan.loose;
    mot_exchange_need(&plan, &need);
    return need;
}

/* G rows[g] / all rows, where rows[g] are those of all workers in this one's group. */
static double rate_of(const struct mot_env *env, enum mot_weigh weigh)
{
    const struct mot_world *w = env->world;
    uint64_t rows = 0;
    if (!grouped(w)) return mot_apart_rate(env, weigh);
    mot_node root = mot_group_root(w, mot_group_of(w, env->self));
    for (mot_node i = root; i < root + mot_group_size(w); i++) rows += w->part_rows[i];
    return weigh == MOT_WEIGH_EQUAL ? 1 : w->groups * (double)rows / (double)w->rows;
}

static void crossover_init(void *state, struct mot_env *env)
{
    struct crossover *s = state;
    const struct crossover_conf *conf = env->conf;
    const struct mot_world *w = env->world;
    struct mot_exchange_plan plan = plan_of(conf, w);
    uint64_t window = window_of(conf, w->workers);
    mot_params_init(env, &s->params);
    s->draw = mot_first_draw(env);
    s->end = plan.loose ? UINT64_MAX : mot_apart_end_by(w, (uint32_t)conf->micro);
    s->limit = (s->params.step / window + 1) * window;
    s->rate = rate_of(env, (enum mot_weigh)conf->weigh);
    s->retired = env->life > 0;
    if (keeps_moved(conf)) {
        mot_buf kept = w->kept ? w->kept[env->self].buf[0] : MOT_NO_BUF;
        s->moved = mot_hold(env, kept == MOT_NO_BUF ? w->zero : kept);
    }
    mot_exchange_init(&s->exchange, &plan, s->params.step);
}

static void crossover_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct crossover *s = state;
    switch (event->kind) {
    case MOT_EV_START:
        if (s->retired) mot_stop(env, MOT_OK);
        else begin_round(s, env);
        return;
    case MOT_EV_WORK: work_came(s, env, event->work); return;
    case MOT_EV_MESSAGE:
        mot_exchange_message(&s->exchange, env, event->message);
        consider(s, env);
        return;
    case MOT_EV_COLL: coll_came(s, env, event->coll); return;
    case MOT_EV_TIMER:
        MOT_ASSERT(s->phase == EXCHANGES);
        mix(s, env);
        return;
    case MOT_EV_PEER: peer_changed(s, env, event->peer); return;
    case MOT_EV_PIECE: MOT_ASSERT(!"crossover asked for none of these"); return;
    }
}

static bool crossover_admits(const void *state, const struct mot_env *env, const struct mot_message *m)
{
    const struct crossover *s = state;
    return !s->retired && gossips(env) && mot_exchange_admits(&s->exchange, env, m, s->limit);
}

static void crossover_check(const void *state, const struct mot_env *env)
{
    const struct crossover *s = state;
    bool between = s->phase == EXCHANGES || (s->phase == SPREADS && !gossips(env));
    MOT_ASSERT(s->params.x != MOT_NO_BUF);
    MOT_ASSERT(s->exchange.open == (s->phase == EXCHANGES));
    MOT_ASSERT(between || s->exchange.plan.loose || s->params.step == s->exchange.round);
    mot_exchange_check(&s->exchange, env);
}

static bool crossover_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    const struct crossover *s = state;
    (void)env;
    if (s->retired) return false;
    *view = (struct mot_view){ .x = s->params.x, .scale = 1, .params = &s->params, .moved = s->moved };
    return true;
}

static void crossover_keep(const void *state, const struct mot_env *env, struct mot_kept *out)
{
    (void)env;
    out->buf[0] = ((const struct crossover *)state)->moved;
}

static enum mot_status crossover_validate(const void *p, const struct mot_world *w)
{
    const struct crossover_conf *conf = p;
    struct mot_segments cut;
    if (conf->mode == MODE_LOOSE && grouped(w))
        return mot_fail(MOT_EUSAGE,
            "method.mode: loose, with method.groups: %u; expected strict, or groups: none: a group cannot go "
            "on "
            "without one of its workers",
            w->groups);
    for (mot_node i = 0; i < w->workers; i++)
        if (conf->micro * w->batch[i] > UINT32_MAX)
            return mot_fail(MOT_EUSAGE,
                "method.micro: a step of worker %u takes %llu samples, expected at most %u", i,
                (unsigned long long)(conf->micro * w->batch[i]), UINT32_MAX);
    return mot_segments_of(w, (enum mot_cut)conf->cut, conf->segments, "method.segments", &cut);
}

#define LAYERS_GUESS 16u /* assumed while the model is unknown; maps of more are redrawn now and then */

static void crossover_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    const struct crossover_conf *conf = p;
    uint64_t segments = conf->segments == MOT_WORD_UINT ? LAYERS_GUESS : conf->segments, most = 1u << 20;
    uint64_t maps = segments * (2 * (uint64_t)window_of(conf, workers) + 1);
    t->model = MOT_MODEL_OF_EACH;
    t->batches = (uint32_t)conf->micro * workers;
    t->groups = peers_of(conf, workers) == workers ? 0 : (uint32_t)conf->groups;
    t->peer_maps = (uint32_t)(maps < most ? maps : most);
    t->keeps = keeps_moved(conf);
    if (conf->mode == MODE_STRICT) return;
    t->own_pace = t->asynchronous = t->by_speed = true;
    t->round = 0;
}

static void crossover_advise(const void *p, const struct mot_situation *s, char *into, size_t size)
{
    const struct crossover_conf *conf = p;
    bool flat = peers_of(conf, s->workers) == s->workers;
    if (conf->mode == MODE_LOOSE) mot_advise_own_pace(p, s, into, size);
    else if (s->kind == MOT_WHEN_LOST && flat)
        snprintf(into, size, ". Strict rounds need everyone; `--method-mode loose` goes on without it");
    else if (s->kind == MOT_WHEN_LOST)
        snprintf(into, size,
            ". Strict rounds need everyone; without groups, `--method-mode loose` goes on without it");
    else if (s->kind == MOT_WHEN_WAITING && flat)
        snprintf(into, size, "`--method-mode loose`, or `--method async`");
    else mot_advise_unserved(p, s, into, size);
}

#define FIELD(field) offsetof(struct crossover_conf, field)
static const struct mot_option crossover_options[] = {
    { .name = "segments",
        .type = MOT_OPT_UINT,
        .offset = FIELD(segments),
        .preset = "layers",
        .word = "layers",
        .min = 1,
        .max = 1e6,
        .doc = "segments of the model, each with a peer of its own; layers: as many as it has tensors" },
    { .name = "cut",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(cut),
        .preset = "layers",
        .choices = MOT_CUT_CHOICES,
        .doc = "where segments end: layers, at tensors only; equal, anywhere, so that all are of one size" },
    { .name = "peers",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(peers),
        .preset = "uniform",
        .choices = "uniform|authors|unfair",
        .doc = "how peers are drawn: uniform, any permutation without fixed points; authors, in turn "
               "without replacement, as in the authors' code; unfair, each worker by itself, so that some "
               "send often and others never" },
    { .name = "groups",
        .type = MOT_OPT_UINT,
        .offset = FIELD(groups),
        .preset = "none",
        .word = "none",
        .min = 1,
        .max = 1e6,
        .doc =
            "groups of workers that sum their gradients and share a model; none: every worker has its own" },
    { .name = "micro",
        .type = MOT_OPT_UINT,
        .offset = FIELD(micro),
        .preset = "1",
        .min = 1,
        .max = 1e6,
        .doc = "batches whose gradients are added up for one step" },
    { .name = "mode",
        .type = MOT_OPT_CHOICE,
        .offset = FIELD(mode),
        .preset = "strict",
        .choices = "strict|loose",
        .doc = "strict: every segment is awaited, and a lost worker ends the run; loose: none is awaited "
               "longer than the deadline, and lost workers are left out" },
    { .name = "window",
        .type = MOT_OPT_UINT,
        .offset = FIELD(window),
        .preset = "auto",
        .word = "auto",
        .min = 1,
        .max = 1e4,
        .doc = "strict: all meet every `window` rounds, so that nobody gets twice that many ahead; loose: "
               "segments that many rounds early or late are still used; auto: 4, or, strict, the length of "
               "a meeting" },
    { .name = "deadline",
        .type = MOT_OPT_TIME,
        .offset = FIELD(deadline),
        .preset = "100ms",
        .min = 1,
        .max = 1e15,
        .doc = "loose: how long a worker waits for segments after it has sent its own" },
    { .name = "mix_state",
        .type = MOT_OPT_BOOL,
        .offset = FIELD(mix_state),
        .preset = "false",
        .doc = "exchange and average momentum and other optimiser state too" },
    MOT_WEIGH_OPTION(struct crossover_conf, weigh, "a worker's (or group's)"),
    { .name = NULL },
};

const struct mot_method mot_method_crossover = {
    .name = "crossover",
    .summary = "gossip: each segment of a worker's model is averaged with that of another random worker",
    .about =
        "No server and no sum of gradients over everyone: after its own step a worker sends each segment "
        "of its model to another worker, gets each from yet another, and averages. Peers are drawn anew for "
        "every round and segment, from a seed that all share. A round sends the model once, whatever the "
        "number of workers and segments; more segments mix faster. The workers' models differ a little; "
        "their mean is evaluated and written.\n"
        "Use it when a sum over all workers is slow: many workers, long or thin links. On few workers with "
        "fast links allreduce moves little more and keeps one model. groups sums gradients inside groups "
        "first, for machines that are close to each other in fours or eights; the more groups, the further "
        "the models differ, which costs accuracy at large batches (optimizer lars).\n"
        "Strict rounds wait for the peers they draw, so a slow worker slows everyone down, and give the same "
        "bits on all drivers. Loose ones (mode: loose) do without what is late or lost, at the price of a "
        "mean that may drift (see drift in the metrics).\n"
        "Paper: Yeo et al., Crossover-SGD, arXiv 2012.15198, 2020.",
    .options = crossover_options,
    .conf_bytes = sizeof(struct crossover_conf),
    .traits = crossover_traits,
    .advise = crossover_advise,
    .validate = crossover_validate,
    .need = crossover_need,
    .init = crossover_init,
    .step = crossover_step,
    .admits = crossover_admits,
    .check = crossover_check,
    .model = crossover_model,
    .keep = crossover_keep,
};
