/* async.c -- pure asynchronous SGD.
 *
 * Server:  on GRAD(i, pi):  x(t+1) = x(t) - lr * g_i(x(pi)),  t = t + 1,  a job at x(t) for i
 *
 * Nobody waits for anybody: a fast worker makes many updates, a slow one few, and
 * its gradients are of an old model. The staleness t - pi of each is noted. On
 * data that differs between workers the fast ones' data weigh more (the pure
 * variant of Islamov, Safaryan and Alistarh, AsGrad, AISTATS 2024, Algorithm 1). */
#include "method/hub.h"
#include "method/methods.h"

struct async_conf { struct mot_hub_conf hub; };

static struct mot_hub_need async_need(const void *conf, const struct mot_world *world)
{
    (void)conf;
    (void)world;
    return (struct mot_hub_need){ .state_bytes = sizeof(struct mot_hub), .queue = 1 };
}

static void async_begin(void *state, struct mot_env *env)
{
    for (mot_node i = 0; i < env->world->workers; i++) mot_hub_give(state, env, i);
}

static void async_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct mot_hub *h = state;
    mot_hub_credit(env, a);
    mot_params_step(env, &h->params, a->grad, 1.0 / a->samples, 1.0);
    mot_advance(env);
    mot_hub_give(h, env, a->from);
}

static const struct mot_served async = { .need = async_need, .begin = async_begin, .gradient = async_gradient };
MOT_SERVED(async)

static const struct mot_option async_options[] = { MOT_HUB_OPTIONS, { .name = NULL } };

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
    .conf_bytes = sizeof(struct async_conf),
    .asynchronous = true,
    MOT_SERVED_BY(async),
};
