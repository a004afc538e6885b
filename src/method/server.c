/* server.c -- a synchronous server that does not wait for everyone.
 *
 * Server:  OPEN(t): MODEL(t) to the idle --k gradients, or the deadline--> CLOSE(t): one step --> OPEN(t+1)
 * Worker:  a grader
 *
 * Gradients of a closed round are late: dropped, counted, and their worker gets
 * the current model. A round closes at the first k gradients (Chen, Pan, Monga,
 * Bengio and Jozefowicz, Revisiting Distributed Synchronous SGD, 2016, call the
 * other n-k backup workers), or at a deadline, fixed or learned: the median of
 * recent response times plus `spread` median absolute deviations. Sums are taken
 * in worker order, so that with k = n the order of arrival does not show. */
#include "method/grader.h"
#include "method/methods.h"
#include <stddef.h>

enum deadline_rule { DEADLINE_NONE, DEADLINE_FIXED, DEADLINE_ADAPTIVE };
struct server_conf { uint64_t k; uint32_t deadline; mot_time after; double spread; };

#define LONGEST 1e18 /* ns, 31 years: a deadline beyond it is none */
#define RECENT 128u /* response times that the adaptive deadline looks at */

struct seat { mot_time sent; uint32_t samples, idle, done, spare; };

struct server {
    struct mot_params params;
    uint32_t got, active, overdue;    /* gradients in; workers with data; the deadline has passed */
    uint32_t recent_n, recent_next;
    mot_time recent[RECENT], sorted[RECENT];
    struct seat seat[];               /* [workers], then the workers' gradients of this round: mot_buf[workers] */
};

static mot_buf *grads_of(struct server *s, const struct mot_env *env)
{
    return (mot_buf *)(s->seat + env->world->workers);
}

static bool is_server(const struct mot_env *env)
{
    return env->self == env->world->workers;
}

static enum mot_status server_validate(const void *p, const struct mot_world *world)
{
    const struct server_conf *conf = p;
    if (conf->k != MOT_WORD_UINT && conf->k > world->workers)
        return mot_fail(MOT_EUSAGE, "method.k: %llu gradients a round, but there are %u workers; expected 1 to %u, or 'all'",
                        (unsigned long long)conf->k, world->workers, world->workers);
    return MOT_OK;
}

static struct mot_need server_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf;
    if (self < world->workers) return mot_grader_need(sizeof(struct mot_grader));
    /* The parameters, those of the next step, the sum; a model on the way to each worker and a gradient in each seat. */
    return (struct mot_need){ .state_bytes = offsetof(struct server, seat) + world->workers * (sizeof(struct seat) + sizeof(mot_buf)),
        .buffers = 2 * world->workers + 7, .sends = world->workers, .alarms = 1 };
}

static void server_init(void *state, struct mot_env *env)
{
    if (!is_server(env)) {
        mot_grader_init(state, env);
        return;
    }
    struct server *s = state;
    s->active = env->world->workers;
    mot_params_init(env, &s->params);
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
    for (uint32_t i = 0; i < n; i++) s->sorted[i] = s->recent[i] > median ? s->recent[i] - median : median - s->recent[i];
    sort_times(s->sorted, n);
    /* Machines that are all alike have no deviation: a twentieth of the median still gives them some grace. */
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
        if (s->recent_n >= s->active || s->recent_n == RECENT) mot_alarm(env, 0, env->now + median_plus_spread(s, conf->spread));
        return;
    }
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static void send_model(struct server *s, struct mot_env *env, mot_node worker)
{
    s->seat[worker].idle = false;
    s->seat[worker].sent = env->now;
    mot_send(env, worker, MOT_MSG_MODEL, (struct mot_head){ .round = s->params.step }, mot_whole(env, s->params.x));
}

static void open_round(struct server *s, struct mot_env *env)
{
    for (mot_node i = 0; i < env->world->workers; i++)
        if (s->seat[i].idle && !s->seat[i].done) send_model(s, env, i);
    arm_deadline(s, env);
}

static void close_round(struct server *s, struct mot_env *env)
{
    mot_buf *grad = grads_of(s, env), sum = mot_sum(env, grad, env->world->workers);
    uint64_t samples = 0;
    for (mot_node i = 0; i < env->world->workers; i++) {
        if (grad[i] == MOT_NO_BUF) continue;
        samples += s->seat[i].samples;
        mot_credit(env, i);
        mot_drop(env, grad[i]);
        grad[i] = MOT_NO_BUF;
    }
    mot_params_step(env, &s->params, mot_whole(env, sum), 1.0 / (double)samples, 1.0);
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
    uint64_t wanted = conf->k < s->active ? conf->k : s->active;
    if (s->got > 0 && (s->got >= wanted || s->overdue)) close_round(s, env);
}

static void gradient_came(struct server *s, struct mot_env *env, const struct mot_message *m)
{
    MOT_ASSERT(m->kind == MOT_MSG_GRAD);
    MOT_ASSERT(m->head.round <= s->params.step);
    struct seat *seat = &s->seat[m->from];
    mot_buf *grad = &grads_of(s, env)[m->from];
    MOT_ASSERT(!seat->idle && *grad == MOT_NO_BUF);
    seat->idle = true;
    if (m->head.samples == 0) { /* its data has run out; the others go on */
        seat->done = true;
        if (--s->active == 0) mot_stop(env, MOT_OK);
        else consider(s, env);
        return;
    }
    s->recent[s->recent_next] = env->now - seat->sent;
    s->recent_next = (s->recent_next + 1) % RECENT;
    if (s->recent_n < RECENT) s->recent_n++;
    if (m->head.round < s->params.step) {
        mot_note(env, "late", 1);
        send_model(s, env, m->from);
        return;
    }
    *grad = mot_hold(env, m->body.buf);
    seat->samples = m->head.samples;
    s->got++;
    consider(s, env);
}

/* A round does not wait for a lost worker; what it gave before counts. One that has come back joins the round. */
static void peer_changed(struct server *s, struct mot_env *env, struct mot_peer peer)
{
    MOT_ASSERT(peer.node < env->world->workers);
    struct seat *seat = &s->seat[peer.node];
    mot_note(env, peer.up ? "workers_back" : "workers_lost", 1);
    if (peer.up) {
        if (seat->done) s->active++;
        seat->done = false;
        /* If its old life has given to this round, it has a turn in the next. */
        if (grads_of(s, env)[peer.node] == MOT_NO_BUF) send_model(s, env, peer.node);
        return;
    }
    if (!seat->done) s->active--;
    seat->done = seat->idle = true;
    if (s->active == 0) mot_stop(env, MOT_EPEER);
    else consider(s, env);
}

static void server_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    if (!is_server(env)) {
        mot_grader_step(state, env, event, env->world->workers);
        return;
    }
    struct server *s = state;
    switch (event->kind) {
    case MOT_EV_START:
        for (mot_node i = 0; i < env->world->workers; i++) s->seat[i].idle = true;
        open_round(s, env);
        return;
    case MOT_EV_MESSAGE: gradient_came(s, env, event->message); return;
    case MOT_EV_PEER: peer_changed(s, env, event->peer); return;
    case MOT_EV_TIMER:
        s->overdue = true;
        mot_note(env, "deadlines", 1);
        consider(s, env);
        return;
    case MOT_EV_WORK: case MOT_EV_COLL: MOT_ASSERT(!"the server asked for none of these"); return;
    }
}

static void server_check(const void *state, const struct mot_env *env)
{
    if (!is_server(env)) return;
    const struct server *s = state;
    const mot_buf *grad = (const mot_buf *)(s->seat + env->world->workers);
    uint32_t got = 0;
    for (mot_node i = 0; i < env->world->workers; i++) {
        got += grad[i] != MOT_NO_BUF;
        MOT_ASSERT(grad[i] == MOT_NO_BUF || s->seat[i].idle);
    }
    MOT_ASSERT(got == s->got);
    MOT_ASSERT(s->active <= env->world->workers && s->recent_n <= RECENT && s->recent_next < RECENT);
}

static bool server_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    if (!is_server(env)) return false;
    const struct mot_params *params = &((const struct server *)state)->params;
    *view = (struct mot_view){ .x = params->x, .scale = 1, .params = params };
    return true;
}

static const struct mot_option server_options[] = {
    { .name = "k", .type = MOT_OPT_UINT, .offset = offsetof(struct server_conf, k), .preset = "all", .word = "all", .min = 1, .max = 1e6,
      .doc = "gradients that close a round; the workers beyond k are backups" },
    { .name = "deadline", .type = MOT_OPT_CHOICE, .offset = offsetof(struct server_conf, deadline), .preset = "none",
      .choices = "none|fixed|adaptive",
      .doc = "closes a round before k gradients are in: never, `after` a fixed time, or at the median of recent response times plus "
             "`spread` deviations; a round needs one gradient in any case" },
    { .name = "after", .type = MOT_OPT_TIME, .offset = offsetof(struct server_conf, after), .preset = "1s", .min = 1, .max = 31536000e9,
      .doc = "the fixed deadline, from the opening of the round" },
    { .name = "spread", .type = MOT_OPT_REAL, .offset = offsetof(struct server_conf, spread), .preset = "4", .min = 0, .max = 1e6,
      .doc = "the adaptive deadline's median absolute deviations above the median" },
    { .name = NULL },
};

const struct mot_method mot_method_server = {
    .name = "server",
    .summary = "synchronous SGD that closes a round at the first k gradients or at a deadline",
    .about =
        "A server sends the model to its workers and makes a step when k gradients of the round are in, or when the deadline passes. "
        "What arrives later is dropped and counted (late in the summary), and its worker gets the current model. With k below the "
        "number of workers a round does not wait for stragglers; their work is lost, and on data that differs between workers the "
        "model learns less of theirs.\n"
        "Use it when some workers are slow now and then. A worker that is always slow contributes nothing: give it smaller batches, "
        "or use async.\n"
        "Paper: Chen, Pan, Monga, Bengio, Jozefowicz, Revisiting Distributed Synchronous SGD, 2016.",
    .options = server_options,
    .conf_bytes = sizeof(struct server_conf),
    .servers = 1,
    .validate = server_validate,
    .need = server_need,
    .init = server_init,
    .step = server_step,
    .check = server_check,
    .model = server_model,
};
