/* mindflayer.c -- MindFlayer SGD: a fixed number of tries for each worker, each given up after a time.
 *
 *   for k = 0, 1, ...:
 *     worker i makes B_i tries to compute a gradient at x(k), one after the other; a try is given up after
 *       t_i
 *     g = (sum of all gradients that came) / (sum_i p_i B_i),   p_i = P(a try of i takes less than t_i)
 *     x(k+1) = x(k) - lr * g
 *
 * g is unbiased: the denominator is the number of gradients that can be expected, not the number that came.
 * Maranjyan, Shaikh Omar and Richtarik, MindFlayer SGD: Efficient Parallel SGD in the Presence of
 * Heterogeneous and Random Worker Compute Times, UAI 2025 (arXiv 2410.04285), Algorithm 1.
 *
 * There t_i and p_i are known. Here `limit: auto` is slightly more than the median of the worker's last
 * tries, counting those given up as infinite, and p_i is the share of its tries with a limit that came in
 * time. */
#include "method/methods.h"
#include "method/table.h"
#include <stdio.h>

#define RECENT 15u       /* tries the median is taken over */
#define FEW 5u           /* fewest tries for a median */
#define EMPTY_MOST 1000u /* rounds in a row without a gradient: nobody can keep the limit */
#define GRACE 1.01       /* times the median: jobs of constant length must come in time */

struct mindflayer_conf {
    struct mot_hub_conf hub;
    uint64_t tries;
    mot_time limit;
    double p;
};

struct tries {
    double limit_s;            /* of this round's tries; 0: none */
    uint32_t left, over;       /* in this round: not yet given; done or given up */
    uint32_t limited, in_time; /* since the start: tries with a limit; those that came in time */
    uint32_t recent_n, recent_next;
    mot_time recent[RECENT]; /* MOT_NEVER: given up */
};

struct mindflayer {
    struct mot_hub hub;
    uint32_t empty, spare; /* empty: rounds in a row without a gradient */
    struct mot_row row[];  /* [workers], then their tries */
};

static struct tries *tries_of(const struct mindflayer *s, const struct mot_env *env, mot_node worker)
{
    return (struct tries *)(uintptr_t)(s->row + env->world->workers) + worker;
}

static struct mot_hub_need mindflayer_need(const void *p, const struct mot_world *world)
{
    const struct mindflayer_conf *conf = p;
    return (struct mot_hub_need){ .state_bytes = sizeof(struct mindflayer) +
            world->workers * (sizeof(struct mot_row) + sizeof(struct tries)),
        .buffers = world->workers + 2,
        .queue = conf->tries > 1 ? 2 : 1 };
}

/* ---- Limits and probabilities ------------------------------------------------------------- */

static double limit_of(const struct tries *t, const struct mindflayer_conf *conf)
{
    mot_time sorted[RECENT];
    if (conf->limit != MOT_WORD_UINT) return (double)conf->limit / 1e9;
    if (t->recent_n < FEW) return 0;
    for (uint32_t i = 0; i < t->recent_n; i++) {
        uint32_t j = i;
        for (; j > 0 && sorted[j - 1] > t->recent[i]; j--) sorted[j] = sorted[j - 1];
        sorted[j] = t->recent[i];
    }
    mot_time median = sorted[t->recent_n / 2];
    /* most were given up: it has become slower, by an unknown factor */
    return median == MOT_NEVER ? 0 : GRACE * (double)median / 1e9;
}

static double p_of(const struct tries *t, const struct mindflayer_conf *conf)
{
    if (conf->p == conf->p) return conf->p;
    return t->limit_s > 0 ? (t->in_time + 1.0) / (t->limited + 1.0) : 1; /* smoothed by one, so never 0 */
}

static void remember(struct tries *t, mot_time took)
{
    t->recent[t->recent_next] = took;
    t->recent_next = (t->recent_next + 1) % RECENT;
    if (t->recent_n < RECENT) t->recent_n++;
    t->limited += t->limit_s > 0;
    t->in_time += t->limit_s > 0 && took != MOT_NEVER;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static void give_next(struct mindflayer *s, struct mot_env *env, mot_node worker)
{
    struct tries *t = tries_of(s, env, worker);
    if (t->left == 0) return;
    t->left--;
    mot_hub_give_for(&s->hub, env, worker, t->limit_s);
}

static void open_round(struct mindflayer *s, struct mot_env *env)
{
    const struct mindflayer_conf *conf = env->conf;
    for (mot_node i = 0; i < env->world->workers; i++) {
        struct tries *t = tries_of(s, env, i);
        t->left = t->over = 0;
        if (mot_hub_seat(&s->hub, i)->away) continue;
        t->left = (uint32_t)conf->tries;
        t->limit_s = limit_of(t, conf);
        for (uint32_t k = 0; k < s->hub.queue; k++) give_next(s, env, i);
    }
}

static void mindflayer_begin(void *state, struct mot_env *env) { open_round(state, env); }

/* Makes the step when all tries are over. The expected number of gradients is counted in samples, since
 * batches may differ in size. */
static void consider(struct mindflayer *s, struct mot_env *env)
{
    const struct mindflayer_conf *conf = env->conf;
    uint32_t n = env->world->workers;
    double expected = 0;
    if (s->hub.active > 0) return;
    for (mot_node i = 0; i < n; i++) {
        const struct tries *t = tries_of(s, env, i);
        if (t->left > 0) return;
        expected += p_of(t, conf) * t->over * env->world->batch[i];
    }
    if (mot_rows_filled(s->row, n) > 0) {
        struct mot_mean sum = mot_rows_pooled(env, s->row, n);
        mot_params_step(env, &s->hub.params, mot_whole(env, sum.sum), 1.0 / expected, 1);
        mot_drop(env, sum.sum);
        for (mot_node i = 0; i < n; i++) mot_row_clear(env, &s->row[i]);
        s->empty = 0;
    } else if (s->hub.present == 0) {
        return; /* the next round begins when a worker is back */
    } else {
        mot_note(env, "empty_rounds", 1); /* a step along nothing */
        if (++s->empty == EMPTY_MOST) {
            mot_stop(env, MOT_EDEADLINE);
            return;
        }
    }
    mot_advance(env);
    open_round(s, env);
}

static void mindflayer_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct mindflayer *s = state;
    struct tries *t = tries_of(s, env, a->from);
    mot_hub_credit(env, a->from, a->delay);
    mot_row_add(env, &s->row[a->from], a);
    t->over++;
    remember(t, a->took);
    give_next(s, env, a->from);
    consider(s, env);
}

static void mindflayer_gave_up(void *state, struct mot_env *env, mot_node worker)
{
    struct mindflayer *s = state;
    struct tries *t = tries_of(s, env, worker);
    t->over++;
    remember(t, MOT_NEVER);
    give_next(s, env, worker);
    consider(s, env);
}

/* A gradient that is not finite does not count as a try: give another. */
static void mindflayer_refused(void *state, struct mot_env *env, mot_node worker)
{
    struct mindflayer *s = state;
    tries_of(s, env, worker)->left++;
    give_next(s, env, worker);
}

static void mindflayer_lost(void *state, struct mot_env *env, mot_node worker, uint32_t jobs)
{
    (void)jobs;
    tries_of(state, env, worker)->left = 0;
    consider(state, env);
}

/* The worker joins the next round, which starts now if nobody else is there. */
static void mindflayer_back(void *state, struct mot_env *env, mot_node worker)
{
    struct mindflayer *s = state;
    struct tries *t = tries_of(s, env, worker);
    t->recent_n = t->recent_next = 0; /* it may be a different machine now */
    if (s->hub.present == 1) open_round(s, env);
}

static void mindflayer_check(const void *state, const struct mot_env *env)
{
    const struct mindflayer *s = state;
    const struct mindflayer_conf *conf = env->conf;
    for (mot_node i = 0; i < env->world->workers; i++) {
        const struct tries *t = tries_of(s, env, i);
        MOT_ASSERT(
            t->left + t->over + mot_hub_seat(&s->hub, i)->active <= conf->tries && s->row[i].jobs <= t->over);
        MOT_ASSERT(t->in_time <= t->limited && t->recent_n <= RECENT);
    }
}

static const struct mot_served mindflayer = { .need = mindflayer_need,
    .begin = mindflayer_begin,
    .gradient = mindflayer_gradient,
    .lost = mindflayer_lost,
    .back = mindflayer_back,
    .refused = mindflayer_refused,
    .gave_up = mindflayer_gave_up,
    .check = mindflayer_check };
MOT_SERVED(mindflayer)

static const struct mot_option mindflayer_options[] = {
    { .name = "tries",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct mindflayer_conf, tries),
        .preset = "2",
        .min = 1,
        .max = 1e6,
        .doc = "attempts of each worker per round" },
    { .name = "limit",
        .type = MOT_OPT_TIME,
        .offset = offsetof(struct mindflayer_conf, limit),
        .preset = "auto",
        .word = "auto",
        .min = 1,
        .max = 31536000e9,
        .doc = "the computing time after which an attempt is given up. auto: for each worker the median of "
               "its recent attempts plus 1 %, and no limit before there are five" },
    { .name = "p",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct mindflayer_conf, p),
        .preset = "auto",
        .word = "auto",
        .min = 1e-9,
        .max = 1,
        .doc = "the probability that an attempt succeeds. auto: each worker's success rate so far" },
    MOT_HUB_OPTIONS,
    { .name = NULL },
};

static void mindflayer_advise(const void *p, const struct mot_situation *s, char *into, size_t size)
{
    if (s->kind == MOT_WHEN_EMPTY) snprintf(into, size, "a longer method.limit");
    else mot_advise_served(p, s, into, size);
}

const struct mot_method mot_method_mindflayer = {
    .name = "mindflayer",
    .summary =
        "synchronous SGD in which each worker has some attempts, and one that takes too long is given up",
    .about =
        "In each round every worker makes some attempts to compute a gradient at the same model; an attempt "
        "that exceeds the limit is stopped, and the next begins. The sum of the results is divided by the "
        "expected number, which makes the step unbiased. If job times have heavy tails (machines that stall "
        "now and then), this saves most of the time lost to stragglers; what was stopped is counted (wasted "
        "in the summary).\n"
        "It is meant for workers that are randomly fast or very slow; also measure server with backups and "
        "ringmaster, which were faster on such workers (docs/async-family.md). It does not help against "
        "workers that are always slow: a round lasts as long as the slowest worker's attempts. Workers that "
        "finish more attempts weigh more, so the workers' data should be similar.\n"
        "Paper: Maranjyan, Shaikh Omar, Richtarik, MindFlayer SGD, UAI 2025, Algorithm 1.",
    .options = mindflayer_options,
    .conf_bytes = sizeof(struct mindflayer_conf),
    .traits = mot_served_traits,
    .advise = mindflayer_advise,
    MOT_SERVED_BY(mindflayer),
};
