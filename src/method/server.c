/* server.c -- a synchronous server that does not wait for everyone.
 *
 * Server:  OPEN(t): MODEL(t) to the idle --k gradients, or the deadline--> CLOSE(t): one step --> OPEN(t+1)
 *
 * Gradients of a closed round are late: dropped, counted, and their worker gets
 * the current model. A round closes at the first k gradients (Chen, Pan, Monga,
 * Bengio and Jozefowicz, Revisiting Distributed Synchronous SGD, 2016, call the
 * other n-k backup workers), or at a deadline, fixed or learned: the median of
 * recent response times plus `spread` median absolute deviations. Sums are taken
 * in worker order, so that with k = n the order of arrival does not show. */
#include "method/hub.h"
#include "method/methods.h"
#include <stddef.h>

enum deadline_rule { DEADLINE_NONE, DEADLINE_FIXED, DEADLINE_ADAPTIVE };
struct server_conf {
    struct mot_hub_conf hub;
    uint64_t k;
    uint32_t deadline;
    mot_time after;
    double spread;
};

#define LONGEST 1e18 /* ns, 31 years: a deadline beyond it is none */
#define RECENT 128u  /* response times that the adaptive deadline looks at */

struct server {
    struct mot_hub hub;
    uint32_t got, overdue; /* gradients in; the deadline has passed */
    uint32_t recent_n, recent_next;
    mot_time recent[RECENT], sorted[RECENT];
    /* [workers], then the workers' gradients of this round: mot_buf[workers] */
    uint32_t samples[];
};

static mot_buf *grads_of(const struct server *s, const struct mot_env *env)
{
    return (mot_buf *)(uintptr_t)(s->samples + env->world->workers);
}

static enum mot_status server_validate(const void *p, const struct mot_world *world)
{
    const struct server_conf *conf = p;
    if (conf->k != MOT_WORD_UINT && conf->k > world->workers)
        return mot_fail(MOT_EUSAGE,
            "method.k: %llu gradients a round, but there are %u workers; expected 1 to %u, or 'all'",
            (unsigned long long)conf->k, world->workers, world->workers);
    return MOT_OK;
}

static struct mot_hub_need server_need(const void *conf, const struct mot_world *world)
{
    (void)conf;
    /* A gradient of each worker, and their sum. */
    return (struct mot_hub_need){ .state_bytes = offsetof(struct server, samples) +
            world->workers * (sizeof(uint32_t) + sizeof(mot_buf)),
        .buffers = world->workers + 1,
        .queue = 1,
        .alarms = 1 };
}

/* ---- The adaptive deadline --------------------------------------------------------------- */

static void sort_times(mot_time *t, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        mot_time x = t[i];
        uint32_t j = i;
        for (; j > 0 && t[j - 1] > x; j--) t[j] = t[j - 1];
        t[j] = x;
    }
}

static mot_time median_plus_spread(struct server *s, double spread)
{
    uint32_t n = s->recent_n;
    for (uint32_t i = 0; i < n; i++) s->sorted[i] = s->recent[i];
    sort_times(s->sorted, n);
    mot_time median = s->sorted[n / 2];
    for (uint32_t i = 0; i < n; i++)
        s->sorted[i] = s->recent[i] > median ? s->recent[i] - median : median - s->recent[i];
    sort_times(s->sorted, n);
    /* Machines that are all alike have no deviation: a twentieth of
     * the median still gives them some grace. */
    double deviation = (double)s->sorted[n / 2], least = (double)median / 20;
    double grace = spread * (deviation > least ? deviation : least);
    return median + (mot_time)(grace < LONGEST ? grace : LONGEST);
}

static void arm_deadline(struct server *s, struct mot_env *env)
{
    const struct server_conf *conf = env->conf;
    s->overdue = false;
    switch ((enum deadline_rule)conf->deadline) {
    case DEADLINE_NONE: return;
    case DEADLINE_FIXED: mot_alarm(env, 0, env->now + conf->after); return;
    case DEADLINE_ADAPTIVE: /* the first round has nothing to go by and waits for k */
        if (s->recent_n >= s->hub.present || s->recent_n == RECENT)
            mot_alarm(env, 0, env->now + median_plus_spread(s, conf->spread));
        return;
    }
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

/* Everyone who has nothing to do, and has not given to this round, gets the model. */
static void open_round(struct server *s, struct mot_env *env)
{
    for (mot_node i = 0; i < env->world->workers; i++) {
        const struct mot_seat *seat = mot_hub_seat(&s->hub, i);
        if (!seat->away && seat->active == 0) mot_hub_give(&s->hub, env, i);
    }
    arm_deadline(s, env);
}

static void server_begin(void *state, struct mot_env *env) { open_round(state, env); }

static void close_round(struct server *s, struct mot_env *env)
{
    mot_buf *grad = grads_of(s, env), sum = mot_sum(env, grad, env->world->workers);
    uint64_t samples = 0;
    for (mot_node i = 0; i < env->world->workers; i++) {
        if (grad[i] == MOT_NO_BUF) continue;
        samples += s->samples[i];
        mot_credit(env, i);
        mot_drop(env, grad[i]);
        grad[i] = MOT_NO_BUF;
    }
    mot_params_step(env, &s->hub.params, mot_whole(env, sum), 1.0 / (double)samples, 1.0);
    mot_drop(env, sum);
    mot_alarm(env, 0, MOT_NEVER);
    mot_advance(env);
    s->got = 0;
    open_round(s, env);
}

/* Closes the round if it has what it waits for; at a deadline one gradient will do. */
static void consider(struct server *s, struct mot_env *env)
{
    const struct server_conf *conf = env->conf;
    uint64_t wanted = conf->k < s->hub.present ? conf->k : s->hub.present;
    if (s->got > 0 && (s->got >= wanted || s->overdue)) close_round(s, env);
}

static void server_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct server *s = state;
    mot_buf *grad = &grads_of(s, env)[a->from];
    MOT_ASSERT(*grad == MOT_NO_BUF);
    s->recent[s->recent_next] = a->took;
    s->recent_next = (s->recent_next + 1) % RECENT;
    if (s->recent_n < RECENT) s->recent_n++;
    if (a->delay > 0) {
        mot_note(env, "late", 1);
        mot_hub_give(&s->hub, env, a->from);
        return;
    }
    *grad = mot_hold(env, a->grad.buf);
    s->samples[a->from] = a->samples;
    s->got++;
    consider(s, env);
}

/* A round does not wait for one who is away; what it gave before counts. */
static void server_lost(void *state, struct mot_env *env, mot_node worker, uint32_t jobs)
{
    (void)worker;
    (void)jobs;
    consider(state, env);
}

/* One that has come back joins the round; if its old life has given to it, the next. */
static void server_back(void *state, struct mot_env *env, mot_node worker)
{
    struct server *s = state;
    if (grads_of(s, env)[worker] == MOT_NO_BUF) mot_hub_give(&s->hub, env, worker);
}

static void server_timer(void *state, struct mot_env *env, uint32_t tag)
{
    struct server *s = state;
    (void)tag;
    s->overdue = true;
    mot_note(env, "deadlines", 1);
    consider(s, env);
}

static void server_check(const void *state, const struct mot_env *env)
{
    const struct server *s = state;
    const mot_buf *grad = grads_of(s, env);
    uint32_t got = 0;
    for (mot_node i = 0; i < env->world->workers; i++) {
        got += grad[i] != MOT_NO_BUF;
        MOT_ASSERT(grad[i] == MOT_NO_BUF || mot_hub_seat(&s->hub, i)->active == 0);
    }
    MOT_ASSERT(got == s->got && s->recent_n <= RECENT && s->recent_next < RECENT);
}

static const struct mot_served server = { .need = server_need,
    .begin = server_begin,
    .gradient = server_gradient,
    .lost = server_lost,
    .back = server_back,
    .timer = server_timer,
    .check = server_check };
MOT_SERVED(server)

static const struct mot_option server_options[] = {
    MOT_HUB_OPTIONS,
    { .name = "k",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct server_conf, k),
        .preset = "all",
        .word = "all",
        .min = 1,
        .max = 1e6,
        .doc = "gradients that close a round; the workers beyond k are backups" },
    { .name = "deadline",
        .type = MOT_OPT_CHOICE,
        .offset = offsetof(struct server_conf, deadline),
        .preset = "none",
        .choices = "none|fixed|adaptive",
        .doc = "closes a round before k gradients are in: never, `after` a fixed time, or at the median of "
               "recent response times plus "
               "`spread` deviations; a round needs one gradient in any case" },
    { .name = "after",
        .type = MOT_OPT_TIME,
        .offset = offsetof(struct server_conf, after),
        .preset = "1s",
        .min = 1,
        .max = 31536000e9,
        .doc = "the fixed deadline, from the opening of the round" },
    { .name = "spread",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct server_conf, spread),
        .preset = "4",
        .min = 0,
        .max = 1e6,
        .doc = "the adaptive deadline's median absolute deviations above the median" },
    { .name = NULL },
};

const struct mot_method mot_method_server = {
    .name = "server",
    .summary = "synchronous SGD that closes a round at the first k gradients or at a deadline",
    .about = "A server sends the model to its workers and makes a step when k gradients of the round are in, "
             "or when the deadline passes. "
             "What arrives later is dropped and counted (late in the summary), and its worker gets the "
             "current model. With k below the "
             "number of workers a round does not wait for stragglers; their work is lost, and on data that "
             "differs between workers the "
             "model learns less of theirs.\n"
             "Use it when some workers are slow now and then. A worker that is always slow contributes "
             "nothing: give it smaller batches, "
             "or use async.\n"
             "Paper: Chen, Pan, Monga, Bengio, Jozefowicz, Revisiting Distributed Synchronous SGD, 2016.",
    .options = server_options,
    .conf_bytes = sizeof(struct server_conf),
    .validate = server_validate,
    MOT_SERVED_BY(server),
};
