/* fedavg.c -- federated averaging: rounds of some clients, which train on their own before they report.
 *
 *   Round t:  C workers are drawn among those that are there and idle, uniformly, without replacement
 *   Worker:   E epochs, or Q steps, of plain SGD from x(t) on its own rows (local.h); reports x(t) - y
 *   Server:   x(t+1) = x(t) - server_rate * sum_k n_k / n (x(t) - y_k),  n_k: rows of k, n: of all
 *             that reported
 *
 * McMahan, Moore, Ramage, Hampson and Aguera y Arcas, Communication-Efficient Learning of Deep Networks from
 * Decentralized Data, AISTATS 2017 (arXiv 1602.05629), Algorithm 1. The sum is the server's gradient, so an
 * optimiser with momentum is FedAvgM (Hsu, Qi and Brown, Measuring the Effects of Non-Identical Data
 * Distribution for Federated Visual Classification, 2019). `proximal` is FedProx's mu (Li, Sahu, Zaheer,
 * Sanjabi, Talwalkar and Smith, Federated Optimization in Heterogeneous Networks, MLSys 2020).
 *
 * A round closes when everyone it asked has reported or is gone, or at a deadline; a later report is dropped.
 * The seed, the round and who is there decide who is asked, and reports are added in worker order: so without
 * a deadline the model does not depend on who is fast. Reports exist only while their round is open, and idle
 * workers hold nothing: memory grows with C, not with the number of workers. */
#include "base/rng.h"
#include "method/deadline.h"
#include "method/hub_parts.h"
#include "method/methods.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>

struct fedavg_conf {
    struct mot_hub_conf hub;
    uint64_t clients;
    double share; /* NaN: `clients` says it */
    uint64_t epochs, steps;
    double proximal, server_rate;
    struct mot_deadline_conf deadline;
};

/* A worker that the round asked. */
struct asked {
    mot_node who;
    uint32_t awaited; /* 1: it has neither reported nor gone */
};

struct fedavg {
    struct mot_hub hub;
    struct mot_deadline deadline;
    uint32_t asked, awaited, got;
    uint32_t overdue; /* the deadline has passed */
    /* [clients], by worker; then struct asked[clients], and their reports: mot_buf[clients] */
    double weight[];
};

static uint32_t clients_among(const struct fedavg_conf *conf, uint32_t workers)
{
    if (isnan(conf->share)) return conf->clients < workers ? (uint32_t)conf->clients : workers;
    uint32_t part = (uint32_t)(conf->share * workers + 0.5);
    return part ? part : 1;
}

static struct asked *asked_of(const struct fedavg *f, const struct mot_env *env)
{
    return (struct asked *)(uintptr_t)(f->weight + clients_among(env->conf, env->world->workers));
}

static mot_buf *reports_of(const struct fedavg *f, const struct mot_env *env)
{
    return (mot_buf *)(asked_of(f, env) + clients_among(env->conf, env->world->workers));
}

static struct mot_local_steps fedavg_local(const void *p)
{
    const struct fedavg_conf *conf = p;
    return (struct mot_local_steps){ .steps = conf->steps == MOT_WORD_UINT ? 0 : (uint32_t)conf->steps,
        .epochs = (uint32_t)conf->epochs,
        .proximal = conf->proximal };
}

static enum mot_status fedavg_validate(const void *p, const struct mot_world *world)
{
    const struct fedavg_conf *conf = p;
    if (conf->clients != MOT_WORD_UINT && !isnan(conf->share))
        return mot_fail(MOT_EUSAGE, "method.share: expected either clients or share; found both");
    if (conf->clients != MOT_WORD_UINT && conf->clients > world->workers)
        return mot_fail(MOT_EUSAGE,
            "method.clients: %llu clients per round, but there are %u workers; expected 1 to %u, or 'all'",
            (unsigned long long)conf->clients, world->workers, world->workers);
    struct mot_local_steps local = fedavg_local(conf);
    for (mot_node i = 0; i < world->workers; i++) {
        uint64_t samples = mot_local_samples(&local, world, i);
        if (samples > UINT32_MAX)
            return mot_fail(MOT_EUSAGE,
                "method.%s: worker %u would compute %llu samples in a round; expected at most %u",
                local.steps ? "steps" : "epochs", i, (unsigned long long)samples, UINT32_MAX);
    }
    return MOT_OK;
}

static struct mot_hub_need fedavg_need(const void *conf, const struct mot_world *world)
{
    uint32_t clients = clients_among(conf, world->workers);
    return (struct mot_hub_need){ .state_bytes = sizeof(struct fedavg) +
            clients * (sizeof(double) + sizeof(struct asked) + sizeof(mot_buf)),
        .buffers = clients + 1, /* the reports and their sum */
        .queue = 1,
        .alarms = 1 };
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static bool is_idle(const struct fedavg *f, mot_node worker)
{
    const struct mot_seat *seat = mot_hub_seat(&f->hub, worker);
    return !seat->away && seat->active == 0;
}

/* Selection sampling (Knuth, The Art of Computer Programming, 3.4.2, Algorithm S): workers are drawn in
 * increasing order. If nobody is idle, the round asks nobody, and opens again once somebody is. */
static void open_round(struct fedavg *f, struct mot_env *env)
{
    const struct fedavg_conf *conf = env->conf;
    struct mot_rng rng = mot_rng_at(env->world->seed, MOT_RNG_METHOD, f->hub.params.step);
    uint32_t idle = f->hub.present - f->hub.active, wanted = clients_among(conf, env->world->workers);
    f->asked = f->overdue = 0;
    for (mot_node i = 0; f->asked < wanted && idle > 0; i++) {
        if (!is_idle(f, i) || mot_rng_below(&rng, idle--) >= wanted - f->asked) continue;
        asked_of(f, env)[f->asked++] = (struct asked){ .who = i, .awaited = true };
        mot_hub_give(&f->hub, env, i);
    }
    f->awaited = f->asked;
    if (f->asked) mot_deadline_arm(&f->deadline, env, &conf->deadline, f->asked);
}

static void fedavg_begin(void *state, struct mot_env *env) { open_round(state, env); }

/* A report is the sum of a worker's mean gradients times its batch. If all count the same, they are added as
 * they are and `scale` is their weight: with one local step each, this is then exactly the step of a server
 * that waits for all. */
static mot_buf weigh(struct fedavg *f, struct mot_env *env, double *scale)
{
    const struct mot_world *w = env->world;
    const struct asked *asked = asked_of(f, env);
    const mot_buf *report = reports_of(f, env);
    double rows = 0, least = INFINITY, most = 0;
    for (uint32_t k = 0; k < f->asked; k++)
        if (report[k] != MOT_NO_BUF) rows += (double)w->part_rows[asked[k].who];
    for (uint32_t k = 0; k < f->asked; k++) {
        if (report[k] == MOT_NO_BUF) continue;
        mot_node who = asked[k].who;
        f->weight[k] = (double)w->part_rows[who] / (rows * w->batch[who]);
        least = fmin(least, f->weight[k]);
        most = fmax(most, f->weight[k]);
    }
    *scale = least == most ? most : 1;
    return least == most ? mot_sum(env, report, f->asked)
                         : mot_sum_weighted(env, report, f->weight, f->asked);
}

static void close_round(struct fedavg *f, struct mot_env *env)
{
    const struct fedavg_conf *conf = env->conf;
    mot_buf *report = reports_of(f, env);
    double scale;
    mot_buf sum = weigh(f, env, &scale);
    mot_params_step(env, &f->hub.params, mot_whole(env, sum), scale, conf->server_rate);
    mot_drop(env, sum);
    for (uint32_t k = 0; k < f->asked; k++) {
        if (report[k] == MOT_NO_BUF) continue;
        mot_credit(env, asked_of(f, env)[k].who);
        mot_drop(env, report[k]);
        report[k] = MOT_NO_BUF;
    }
    f->got = 0;
    mot_alarm(env, 0, MOT_NEVER);
    mot_advance(env);
    open_round(f, env);
}

/* Closes the round once everyone it waits for is in, or at its deadline if anyone is; if all that it asked
 * are gone, it asks others. */
static void consider(struct fedavg *f, struct mot_env *env)
{
    if (f->got > 0 && (f->awaited == 0 || f->overdue)) close_round(f, env);
    else if (f->got == 0 && f->awaited == 0) open_round(f, env);
}

/* Its place among those that the round waits for; f->asked: it does not wait for this worker. */
static uint32_t place_of(const struct fedavg *f, const struct mot_env *env, mot_node worker)
{
    const struct asked *asked = asked_of(f, env);
    uint32_t first = 0, end = f->asked;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (asked[middle].who < worker) first = middle + 1;
        else end = middle;
    }
    return first < f->asked && asked[first].who == worker && asked[first].awaited ? first : f->asked;
}

static void await_no_more(struct fedavg *f, const struct mot_env *env, uint32_t place)
{
    asked_of(f, env)[place].awaited = false;
    f->awaited--;
}

static void fedavg_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct fedavg *f = state;
    uint32_t place = place_of(f, env, a->from);
    MOT_ASSERT((place < f->asked) == (a->delay == 0));
    mot_deadline_saw(&f->deadline, a->took);
    if (a->delay > 0) {
        mot_note(env, "late", 1);
    } else {
        reports_of(f, env)[place] = mot_hold(env, a->grad.buf);
        f->got++;
        await_no_more(f, env, place);
    }
    consider(f, env);
}

static void fedavg_lost(void *state, struct mot_env *env, mot_node worker, uint32_t jobs)
{
    struct fedavg *f = state;
    uint32_t place = place_of(f, env, worker);
    (void)jobs;
    if (place < f->asked) await_no_more(f, env, place);
    consider(f, env);
}

/* The next round can ask a worker that has come back. */
static void fedavg_back(void *state, struct mot_env *env, mot_node worker)
{
    (void)worker;
    consider(state, env);
}

static void fedavg_refused(void *state, struct mot_env *env, mot_node worker)
{
    struct fedavg *f = state;
    if (place_of(f, env, worker) < f->asked) mot_hub_give(&f->hub, env, worker);
    else consider(f, env);
}

static void fedavg_timer(void *state, struct mot_env *env, uint32_t tag)
{
    struct fedavg *f = state;
    (void)tag;
    f->overdue = true;
    mot_note(env, "deadlines", 1);
    consider(f, env);
}

static void fedavg_check(const void *state, const struct mot_env *env)
{
    const struct fedavg *f = state;
    const struct fedavg_conf *conf = env->conf;
    const struct asked *asked = asked_of(f, env);
    const mot_buf *report = reports_of(f, env);
    uint32_t got = 0, awaited = 0;
    MOT_ASSERT(f->asked <= clients_among(env->conf, env->world->workers));
    for (uint32_t k = 0; k < f->asked; k++) {
        MOT_ASSERT(asked[k].who < env->world->workers && (k == 0 || asked[k - 1].who < asked[k].who));
        MOT_ASSERT(!asked[k].awaited || report[k] == MOT_NO_BUF);
        /* the rule does not learn that the run ends: the last worker is lost, or a gradient that is not
         * finite is not dropped */
        bool told = f->hub.present > 0 && conf->hub.guard == MOT_GUARD_DROP;
        MOT_ASSERT(!asked[k].awaited || !told || mot_hub_seat(&f->hub, asked[k].who)->active);
        got += report[k] != MOT_NO_BUF;
        awaited += asked[k].awaited;
    }
    MOT_ASSERT(got == f->got && awaited == f->awaited);
    /* a round that waits for nobody has asked nobody, since nobody is idle */
    MOT_ASSERT(awaited > 0 || (f->asked == 0 && f->hub.present == f->hub.active));
    mot_deadline_check(&f->deadline);
}

static const struct mot_served fedavg = { .need = fedavg_need,
    .begin = fedavg_begin,
    .gradient = fedavg_gradient,
    .lost = fedavg_lost,
    .back = fedavg_back,
    .refused = fedavg_refused,
    .timer = fedavg_timer,
    .check = fedavg_check,
    .local_steps = fedavg_local };
MOT_SERVED(fedavg)

static const struct mot_option fedavg_options[] = {
    { .name = "clients",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct fedavg_conf, clients),
        .preset = "all",
        .word = "all",
        .min = 1,
        .max = 1e6,
        .doc = "workers that are drawn for a round" },
    { .name = "share",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct fedavg_conf, share),
        .preset = "none",
        .word = "none",
        .min = 0,
        .max = 1,
        .doc = "the same as a share of all workers, rounded, at least one" },
    { .name = "epochs",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct fedavg_conf, epochs),
        .preset = "1",
        .min = 1,
        .max = 1e6,
        .doc = "passes that a worker makes over its rows in a round, in steps of one batch each at the "
               "optimiser's learning rate without its momentum" },
    { .name = "steps",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct fedavg_conf, steps),
        .preset = "none",
        .word = "none",
        .min = 1,
        .max = 1e6,
        .doc = "steps that a worker makes in a round; replaces `epochs`" },
    { .name = "proximal",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct fedavg_conf, proximal),
        .preset = "0",
        .min = 0,
        .max = 1e6,
        .doc = "FedProx's mu: how strongly local steps are pulled back to the round's model" },
    { .name = "server_rate",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct fedavg_conf, server_rate),
        .preset = "1",
        .min = 1e-9,
        .max = 1e9,
        .doc = "the server's step as a multiple of the workers' mean step; 1: as far as they went" },
    MOT_DEADLINE_OPTIONS(struct fedavg_conf, "everyone it asked has reported"),
    MOT_HUB_OPTIONS,
    { .name = NULL },
};

static void fedavg_advise(const void *p, const struct mot_situation *s, char *into, size_t size)
{
    const struct fedavg_conf *conf = p;
    bool closes = conf->deadline.rule != MOT_DEADLINE_NONE;
    switch (s->kind) {
    case MOT_WHEN_WAITING:
        snprintf(into, size, closes ? "a shorter deadline" : "`--method-deadline adaptive`");
        return;
    case MOT_WHEN_OVERDUE: snprintf(into, size, "a shorter deadline"); return;
    case MOT_WHEN_LATE: snprintf(into, size, "A longer deadline would use more of them"); return;
    case MOT_WHEN_CROWDED: snprintf(into, size, "more local work in a round"); return;
    case MOT_WHEN_LOST:
    case MOT_WHEN_IDLE:
    case MOT_WHEN_THIN:
    case MOT_WHEN_LEANING:
    case MOT_WHEN_EMPTY: mot_advise_served(p, s, into, size); return;
    }
}

static void fedavg_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    const struct fedavg_conf *conf = p;
    struct mot_local_steps local = fedavg_local(conf);
    mot_served_traits(p, workers, t);
    t->round = clients_among(conf, workers);
    t->drawn = t->round < workers;
    t->local = true;
    t->in_turn = t->drawn;
    if (local.steps) t->batches = t->round * local.steps;
    else t->passes = (double)local.epochs * t->round / workers;
    t->by_speed = conf->deadline.rule != MOT_DEADLINE_NONE && !t->drawn;
}

const struct mot_method mot_method_fedavg = {
    .name = "fedavg",
    .summary = "federated averaging: some workers a round, each with epochs of its own",
    .about =
        "In each round the server draws some workers and sends them the model; each makes a pass over its "
        "own "
        "rows (or several, or some steps) by itself and reports how far it went, and the server moves the "
        "model by the mean of the reports, weighted by the workers' rows. Local steps are plain SGD at the "
        "optimiser's learning rate; the optimiser's momentum is the server's (FedAvgM). `proximal` pulls "
        "local "
        "steps back to the round's model (FedProx). Workers that are not drawn rest and hold no model, so "
        "there can be thousands.\n"
        "Use it to study federated learning, or if the network is slow compared with the workers. If their "
        "data differ, long local training pulls the models apart: fewer epochs, `proximal`, a smaller rate "
        "or "
        "momentum help. A round lasts as long as the slowest worker that was drawn, unless it has a "
        "deadline; "
        "fedbuff waits for nobody.\n"
        "Paper: McMahan, Moore, Ramage, Hampson, Aguera y Arcas, Communication-Efficient Learning of Deep "
        "Networks from Decentralized Data, AISTATS 2017, Algorithm 1.",
    .options = fedavg_options,
    .conf_bytes = sizeof(struct fedavg_conf),
    .traits = fedavg_traits,
    .advise = fedavg_advise,
    .validate = fedavg_validate,
    MOT_SERVED_BY(fedavg),
};
