/* ringmaster.c -- Ringmaster ASGD: asynchronous SGD without the jobs that are too late.
 *
 *   on a gradient of worker i, computed at x(k - delay), delay < R:
 *     x(k+1) = x(k) - lr * g;  k = k + 1;  a job at x(k) for i
 *     jobs whose delay has reached R stop, and begin anew at x(k)
 *
 * Maranjyan, Tyurin and Richtarik, Ringmaster ASGD: The First Asynchronous SGD with Optimal
 * Time Complexity, ICML 2025 (arXiv 2501.16168), Algorithm 5; `unfinished: finish` is Algorithm 4, where a
 * late gradient is ignored as it comes. */
#include "method/methods.h"
#include "method/unfinished.h"

struct ringmaster_conf {
    struct mot_hub_conf hub;
    uint32_t unfinished;
    uint64_t r;
};

struct ringmaster {
    struct mot_hub hub;
};

static uint64_t threshold(const struct mot_env *env)
{
    const struct ringmaster_conf *conf = env->conf;
    return conf->r == MOT_WORD_UINT ? 2 * (uint64_t)env->world->workers : conf->r;
}

static struct mot_hub_need ringmaster_need(const void *p, const struct mot_world *world)
{
    const struct ringmaster_conf *conf = p;
    struct mot_hub_need need = { .state_bytes = sizeof(struct ringmaster) };
    mot_unfinished_need(conf->unfinished, world, &need);
    return need;
}

static void ringmaster_begin(void *state, struct mot_env *env)
{
    for (mot_node i = 0; i < env->world->workers; i++) mot_hub_give(state, env, i);
}

static bool too_late(const struct ringmaster *m, const struct mot_env *env, mot_node worker)
{
    uint64_t oldest = mot_hub_oldest(&m->hub, env, worker);
    return oldest != UINT64_MAX && m->hub.params.step - oldest >= threshold(env);
}

static void ringmaster_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct ringmaster *m = state;
    const struct ringmaster_conf *conf = env->conf;
    if (a->delay >= threshold(env)) {
        mot_note(env, "dropped", 1);
        mot_hub_give(&m->hub, env, a->from);
        return;
    }
    mot_hub_credit(env, a->from, a->delay);
    mot_params_step(env, &m->hub.params, a->grad, 1.0 / a->samples, 1);
    mot_advance(env);
    mot_hub_give(&m->hub, env, a->from);
    if (conf->unfinished == MOT_UNFINISHED_FINISH) return;
    for (mot_node i = 0; i < env->world->workers; i++)
        if (too_late(m, env, i)) mot_hub_replace(&m->hub, env, i);
}

static void ringmaster_check(const void *state, const struct mot_env *env)
{
    const struct ringmaster_conf *conf = env->conf;
    for (mot_node i = 0; i < env->world->workers; i++)
        MOT_ASSERT(conf->unfinished == MOT_UNFINISHED_FINISH || !too_late(state, env, i));
}

static const struct mot_served ringmaster = { .need = ringmaster_need,
    .begin = ringmaster_begin,
    .gradient = ringmaster_gradient,
    .check = ringmaster_check };
MOT_SERVED(ringmaster)

static const struct mot_option ringmaster_options[] = {
    { .name = "r",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct ringmaster_conf, r),
        .preset = "auto",
        .word = "auto",
        .min = 1,
        .max = 1e9,
        .doc = "a job is of no use when the model has had this many updates since it began. 1: only one "
               "gradient of each model counts; auto: twice "
               "the number of workers, which workers of one speed never reach" },
    MOT_UNFINISHED_OPTION(struct ringmaster_conf, unfinished),
    MOT_HUB_OPTIONS,
    { .name = NULL },
};

static double ringmaster_delay(const void *p, uint32_t workers)
{
    uint64_t r = ((const struct ringmaster_conf *)p)->r;
    return r < workers ? (double)r - 1 : (double)workers - 1;
}

const struct mot_method mot_method_ringmaster = {
    .name = "ringmaster",
    .summary = "asynchronous SGD that stops the jobs whose delay reaches R, and begins them anew",
    .about = "Like async, but a job is stopped, and begun anew at the current model, when the model has had "
             "R updates since it began. So no delay reaches R, "
             "and the learning rate need not fear the slowest worker. What was stopped is lost (wasted and "
             "wasted_samples in the summary); a worker that is "
             "always too slow gives nothing. In theory R is the noise over the accuracy that is wanted, "
             "sigma^2 / epsilon.\n"
             "Use it when some workers are much slower than others or stall, and the workers' data are "
             "alike. When the data differ, those of workers that are "
             "stopped would be missing: use ringleader.\n"
             "Paper: Maranjyan, Tyurin, Richtarik, Ringmaster ASGD: The First Asynchronous SGD with Optimal "
             "Time Complexity, ICML 2025, Algorithm 5.",
    .options = ringmaster_options,
    .conf_bytes = sizeof(struct ringmaster_conf),
    .asynchronous = true,
    .delay = ringmaster_delay,
    MOT_SERVED_BY(ringmaster),
};
