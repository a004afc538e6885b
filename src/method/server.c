/* server.c -- a synchronous server that does not wait for everyone.
 *
 * Server:  OPEN(t): MODEL(t) to the idle --k gradients, or the deadline--> CLOSE(t): one step --> OPEN(t+1)
 *
 * Gradients of a closed round are late: they are dropped and counted, and their worker gets the current
 * model. A round closes at the first k gradients (Chen, Pan, Monga, Bengio and Jozefowicz, Revisiting
 * Distributed Synchronous SGD, 2016, call the other n-k backup workers), or at a deadline, fixed or learned:
 * the median of recent response times plus `spread` median absolute deviations. Sums are taken in worker
 * order, so with k = n they do not depend on the order of arrival. */
#include "method/deadline.h"
#include "method/hub_parts.h"
#include "method/methods.h"
#include <stddef.h>
#include <stdio.h>

struct server_conf {
    struct mot_hub_conf hub;
    uint64_t k;
    struct mot_deadline_conf deadline;
};

struct server {
    struct mot_hub hub;
    uint32_t got, overdue; /* gradients received; the deadline has passed */
    struct mot_deadline deadline;
    /* [workers], then this round's gradients: mot_buf[workers] */
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
            "method.k: %llu gradients per round, but there are %u workers; expected 1 to %u, or 'all'",
            (unsigned long long)conf->k, world->workers, world->workers);
    return MOT_OK;
}

static struct mot_hub_need server_need(const void *conf, const struct mot_world *world)
{
    (void)conf;
    /* One gradient per worker, and their sum. */
    return (struct mot_hub_need){ .state_bytes = offsetof(struct server, samples) +
            world->workers * (sizeof(uint32_t) + sizeof(mot_buf)),
        .buffers = world->workers + 1,
        .queue = 1,
        .alarms = 1 };
}

static void arm_deadline(struct server *s, struct mot_env *env)
{
    const struct server_conf *conf = env->conf;
    s->overdue = false;
    mot_deadline_arm(&s->deadline, env, &conf->deadline, s->hub.present);
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

/* Sends the model to every idle worker that has not yet contributed to this round. */
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

/* Closes the round once all that it waits for is in; at a deadline one gradient will do. */
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
    mot_deadline_saw(&s->deadline, a->took);
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

/* A round does not wait for a worker that is away; what it gave before counts. */
static void server_lost(void *state, struct mot_env *env, mot_node worker, uint32_t jobs)
{
    (void)worker;
    (void)jobs;
    consider(state, env);
}

/* A worker that comes back joins the round, or the next if its old life contributed to this one. */
static void server_back(void *state, struct mot_env *env, mot_node worker)
{
    struct server *s = state;
    if (grads_of(s, env)[worker] == MOT_NO_BUF) mot_hub_give(&s->hub, env, worker);
    if (s->hub.present == 1) arm_deadline(s, env); /* nobody was there to keep the last one */
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
    MOT_ASSERT(got == s->got);
    mot_deadline_check(&s->deadline);
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
    MOT_DEADLINE_OPTIONS(struct server_conf, "k gradients are in"),
    { .name = NULL },
};

static void server_advise(const void *p, const struct mot_situation *s, char *into, size_t size)
{
    switch (s->kind) {
    case MOT_WHEN_WAITING:
        if (s->rest) snprintf(into, size, "`--method-k %u`, or `--method async`", s->rest);
        else mot_advise_served(p, s, into, size);
        return;
    case MOT_WHEN_OVERDUE:
        if (s->rest)
            snprintf(into, size,
                "`--method-k %u`, which closes a round without %s, a shorter deadline, or `--method async`",
                s->rest, s->workers - s->rest == 1 ? "it" : "them");
        else snprintf(into, size, "a shorter deadline, or `--method async`");
        return;
    case MOT_WHEN_LATE:
        if (s->rest)
            snprintf(into, size, "Try a larger k (`--method-k %u`), or `--method async`, which uses them all",
                s->rest);
        else snprintf(into, size, "`--method async` would use them all");
        return;
    case MOT_WHEN_LOST:
    case MOT_WHEN_IDLE:
    case MOT_WHEN_CROWDED:
    case MOT_WHEN_THIN:
    case MOT_WHEN_LEANING:
    case MOT_WHEN_EMPTY: mot_advise_served(p, s, into, size); return;
    }
}

static void server_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    mot_served_traits(p, workers, t);
    const struct server_conf *conf = p;
    if (conf->k < workers) t->round = (uint32_t)conf->k;
    t->by_speed = true;
}

const struct mot_method mot_method_server = {
    .name = "server",
    .summary = "synchronous SGD that closes a round after the first k gradients or at a deadline",
    .about = "A server sends the model to its workers and takes a step when k gradients of the round are in, "
             "or when the deadline passes. Later gradients are dropped and counted (late in the summary), "
             "and their workers get the current model. With k below the number of workers a round does not "
             "wait for stragglers; their work is lost, and if data differ between workers the model learns "
             "less from theirs.\n"
             "Use it when some workers are slow now and then. A worker that is always slow contributes "
             "nothing: give it smaller batches, or use async.\n"
             "Paper: Chen, Pan, Monga, Bengio, Jozefowicz, Revisiting Distributed Synchronous SGD, 2016.",
    .options = server_options,
    .conf_bytes = sizeof(struct server_conf),
    .traits = server_traits,
    .advise = server_advise,
    .validate = server_validate,
    MOT_SERVED_BY(server),
};
