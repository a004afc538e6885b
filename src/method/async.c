/* async.c -- pure asynchronous SGD.
 *
 * Server:  on GRAD(i, pi):  x(t+1) = x(t) - lr * g_i(x(pi)),  t = t + 1,  MODEL(t) back to i
 * Worker:  a grader
 *
 * Nobody waits for anybody: a fast worker makes many updates, a slow one few, and
 * its gradients are of an old model. The staleness t - pi of each is noted. On
 * data that differs between workers the fast ones' data weigh more (the pure
 * variant of Islamov, Safaryan and Alistarh, AsGrad, AISTATS 2024, Algorithm 1). */
#include "method/grader.h"
#include "method/methods.h"

struct async_server {
    struct mot_params params;
    uint32_t active;                   /* workers that are there and have data */
    bool away[];                       /* [workers]: lost, or out of data */
};

union async_state { struct mot_grader worker; struct async_server server; };

static bool is_server(const struct mot_env *env)
{
    return env->self == env->world->workers;
}

static struct mot_need async_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf;
    if (self < world->workers) return mot_grader_need(sizeof(union async_state));
    /* The parameters, those of the next step, and a model on the way to each worker. */
    return (struct mot_need){ .state_bytes = sizeof(union async_state) + world->workers, .buffers = world->workers + 6, .sends = world->workers };
}

static void async_init(void *state, struct mot_env *env)
{
    if (!is_server(env)) {
        mot_grader_init(&((union async_state *)state)->worker, env);
        return;
    }
    struct async_server *s = &((union async_state *)state)->server;
    s->active = env->world->workers;
    mot_params_init(env, &s->params);
}

static void send_model(struct async_server *s, struct mot_env *env, mot_node worker)
{
    mot_send(env, worker, MOT_MSG_MODEL, (struct mot_head){ .round = s->params.step }, mot_whole(env, s->params.x));
}

static void gradient_came(struct async_server *s, struct mot_env *env, const struct mot_message *m)
{
    MOT_ASSERT(m->kind == MOT_MSG_GRAD);
    MOT_ASSERT(m->head.round <= s->params.step);
    if (m->head.samples == 0) { /* its data has run out; the others go on */
        s->away[m->from] = true;
        if (--s->active == 0) mot_stop(env, MOT_OK);
        return;
    }
    mot_note(env, "staleness", (double)(s->params.step - m->head.round));
    mot_params_step(env, &s->params, m->body, 1.0 / m->head.samples, 1.0);
    mot_credit(env, m->from);
    mot_advance(env);
    send_model(s, env, m->from);
}

/* A lost worker is not missed: nobody waits for it. One that has come back begins with the current model. */
static void peer_changed(struct async_server *s, struct mot_env *env, struct mot_peer peer)
{
    MOT_ASSERT(peer.node < env->world->workers);
    mot_note(env, peer.up ? "workers_back" : "workers_lost", 1);
    if (s->away[peer.node] == peer.up) {
        s->away[peer.node] = !peer.up;
        if (peer.up) s->active++;
        else s->active--;
    }
    if (peer.up) send_model(s, env, peer.node);
    else if (s->active == 0) mot_stop(env, MOT_EPEER);
}

static void async_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    union async_state *s = state;
    if (!is_server(env)) {
        mot_grader_step(&s->worker, env, event, env->world->workers);
        return;
    }
    switch (event->kind) {
    case MOT_EV_START:
        for (mot_node i = 0; i < env->world->workers; i++) send_model(&s->server, env, i);
        return;
    case MOT_EV_MESSAGE: gradient_came(&s->server, env, event->message); return;
    case MOT_EV_PEER: peer_changed(&s->server, env, event->peer); return;
    case MOT_EV_WORK: case MOT_EV_COLL: case MOT_EV_TIMER: MOT_ASSERT(!"the server asked for none of these"); return;
    }
}

static void async_check(const void *state, const struct mot_env *env)
{
    const union async_state *s = state;
    if (is_server(env)) MOT_ASSERT(s->server.active <= env->world->workers && s->server.params.x != MOT_NO_BUF);
}

static bool async_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    if (!is_server(env)) return false;
    const struct mot_params *params = &((const union async_state *)state)->server.params;
    *view = (struct mot_view){ .x = params->x, .scale = 1, .params = params };
    return true;
}

static const struct mot_option async_options[] = { { .name = NULL } };

const struct mot_method mot_method_async = {
    .name = "async",
    .summary = "asynchronous SGD: every gradient is an update, nobody waits",
    .about =
        "A server applies each gradient as it arrives and sends the new model back to that worker alone. "
        "The pace is the sum of the workers' paces, however different they are. The price is staleness: a "
        "gradient may be of a model many updates old (see staleness in the summary), so the learning rate "
        "often has to be smaller than that of allreduce; and fast workers' data weigh more than slow ones'.\n"
        "Use it when speeds differ a lot and the workers' data are alike.\n"
        "Paper: Islamov, Safaryan, Alistarh, AsGrad, AISTATS 2024 (the pure variant).",
    .options = async_options,
    .servers = 1,
    .asynchronous = true,
    .need = async_need,
    .init = async_init,
    .step = async_step,
    .check = async_check,
    .model = async_model,
};
