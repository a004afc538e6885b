/* rennala.c -- Rennala SGD: minibatch SGD whose batch is filled by whoever is fast.
 *
 *   for k = 0, 1, ...:
 *     every worker computes gradients at x(k), one after the other
 *     collect S of them, from anyone; those at an older model do not count
 *     x(k+1) = x(k) - lr / S * their sum;  unfinished work is discarded
 *
 * Tyurin and Richtarik, Optimal Time Complexities of Parallel Stochastic Optimization Methods Under a Fixed
 * Computation Model, NeurIPS 2023 (arXiv 2305.12387), Method 4. There the workers finish what they have
 * begun and the server ignores it (`unfinished: finish`). */
#include "method/methods.h"
#include "method/table.h"
#include "method/unfinished.h"

struct rennala_conf {
    struct mot_hub_conf hub;
    uint32_t unfinished;
    uint64_t s;
};

struct rennala {
    struct mot_hub hub;
    uint64_t got;         /* gradients in this round */
    struct mot_row row[]; /* [workers] */
};

static struct mot_hub_need rennala_need(const void *p, const struct mot_world *world)
{
    const struct rennala_conf *conf = p;
    struct mot_hub_need need = { .state_bytes =
                                     sizeof(struct rennala) + world->workers * sizeof(struct mot_row),
        .buffers = world->workers + 2 };
    mot_unfinished_need(conf->unfinished, world, &need);
    return need;
}

/* Sets everyone to work at x(k): current jobs are given up, or finished and then ignored. */
static void open_round(struct rennala *r, struct mot_env *env)
{
    const struct rennala_conf *conf = env->conf;
    for (mot_node i = 0; i < env->world->workers; i++) {
        const struct mot_seat *seat = mot_hub_seat(&r->hub, i);
        if (seat->away) continue;
        if (seat->active == 0) mot_hub_give(&r->hub, env, i);
        else if (conf->unfinished == MOT_UNFINISHED_CANCEL) mot_hub_replace(&r->hub, env, i);
    }
}

static void rennala_begin(void *state, struct mot_env *env) { open_round(state, env); }

static void close_round(struct rennala *r, struct mot_env *env)
{
    uint32_t n = env->world->workers;
    struct mot_mean mean = mot_rows_pooled(env, r->row, n);
    mot_params_step(env, &r->hub.params, mot_whole(env, mean.sum), mean.scale, 1);
    mot_drop(env, mean.sum);
    for (mot_node i = 0; i < n; i++) mot_row_clear(env, &r->row[i]);
    r->got = 0;
    mot_advance(env);
    open_round(r, env);
}

static void rennala_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct rennala *r = state;
    const struct rennala_conf *conf = env->conf;
    uint64_t s = conf->s == MOT_WORD_UINT ? env->world->workers : conf->s;
    if (a->delay > 0) {
        mot_note(env, "dropped", 1);
    } else {
        mot_hub_credit(env, a->from, 0);
        mot_row_add(env, &r->row[a->from], a);
        if (++r->got == s) {
            close_round(r, env);
            return;
        }
    }
    mot_hub_give(&r->hub, env, a->from);
}

static void rennala_check(const void *state, const struct mot_env *env)
{
    const struct rennala *r = state;
    uint64_t jobs = 0;
    for (mot_node i = 0; i < env->world->workers; i++) {
        jobs += r->row[i].jobs;
        MOT_ASSERT(r->row[i].jobs == 0 || r->row[i].oldest == r->hub.params.step);
    }
    MOT_ASSERT(jobs == r->got);
}

static const struct mot_served rennala = {
    .need = rennala_need, .begin = rennala_begin, .gradient = rennala_gradient, .check = rennala_check
};
MOT_SERVED(rennala)

static const struct mot_option rennala_options[] = {
    { .name = "s",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct rennala_conf, s),
        .preset = "auto",
        .word = "auto",
        .min = 1,
        .max = 1e9,
        .doc = "gradients per update; more means less noise and fewer updates. auto: the number of workers" },
    MOT_UNFINISHED_OPTION(struct rennala_conf, unfinished),
    MOT_HUB_OPTIONS,
    { .name = NULL },
};

static void rennala_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    mot_served_traits(p, workers, t);
    t->round = 0; /* the first gradients at a model, from anyone */
    t->by_speed = true;
}

const struct mot_method mot_method_rennala = {
    .name = "rennala",
    .summary = "minibatch SGD whose batch of S gradients comes from whoever is fast",
    .about = "Every worker computes gradients at the same model; the update takes the mean of the first S, "
             "many from a fast worker and perhaps none from a slow one. Nothing is stale, and nobody waits "
             "for stragglers; jobs that are unfinished at an update are lost (wasted and wasted_samples in "
             "the summary). No method has a better worst-case time when all workers draw from the same "
             "data.\n"
             "Use it when speeds differ a lot, the workers' data are similar, and staleness hurts. A worker "
             "that is never among the first S contributes nothing: when the workers' data differ, use "
             "malenia, ca2fl or ia2sgd.\n"
             "Paper: Tyurin, Richtarik, Optimal Time Complexities of Parallel Stochastic Optimization "
             "Methods Under a Fixed Computation Model, NeurIPS 2023, Method 4.",
    .options = rennala_options,
    .conf_bytes = sizeof(struct rennala_conf),
    .traits = rennala_traits,
    .advise = mot_advise_served,
    MOT_SERVED_BY(rennala),
};
