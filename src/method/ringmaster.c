/* ringmaster.c -- Ringmaster ASGD: asynchronous SGD without the jobs that are too late.
 *
 *   on a gradient of worker i, computed at x(k - delay), delay < R:
 *     x(k+1) = x(k) - lr * g;  k = k + 1;  a job at x(k) for i
 *     jobs whose delay has reached R are stopped and restarted at x(k)
 *
 * Maranjyan, Tyurin and Richtarik, Ringmaster ASGD: The First Asynchronous SGD with Optimal
 * Time Complexity, ICML 2025 (arXiv 2501.16168), Algorithm 5; `unfinished: finish` is Algorithm 4, where late
 * gradients are ignored. */
#include "method/methods.h"
#include "method/unfinished.h"
#include <stddef.h>

struct ringmaster_conf {
    struct mot_hub_conf hub;
    uint32_t unfinished;
    uint64_t r;
};

/* Workers with a job, ordered by the model it is at, then by number: a ring through link[workers]. A new
 * job is at the newest model, so it goes to the end and the oldest is always first: late ones are found
 * without looking at all workers. */
struct ringmaster {
    struct mot_hub hub;
    struct {
        mot_node before, after;
    } link[]; /* [workers + 1]; without a job: linked to itself */
};

static uint64_t threshold(const struct mot_env *env)
{
    const struct ringmaster_conf *conf = env->conf;
    return conf->r == MOT_WORD_UINT ? 2 * (uint64_t)env->world->workers : conf->r;
}

static struct mot_hub_need ringmaster_need(const void *p, const struct mot_world *world)
{
    const struct ringmaster_conf *conf = p;
    struct mot_hub_need need = { .state_bytes = offsetof(struct ringmaster, link) +
            (world->workers + 1) * sizeof(((struct ringmaster *)0)->link[0]) };
    mot_unfinished_need(conf->unfinished, world, &need);
    return need;
}

static void unlink_worker(struct ringmaster *m, mot_node worker)
{
    mot_node before = m->link[worker].before, after = m->link[worker].after;
    m->link[before].after = after;
    m->link[after].before = before;
    m->link[worker].before = m->link[worker].after = worker;
}

/* The worker has just been given a job at x(k). */
static void link_last(struct ringmaster *m, const struct mot_env *env, mot_node worker)
{
    unlink_worker(m, worker);
    mot_node ring = env->world->workers, before = m->link[ring].before;
    while (before != ring && before > worker && mot_hub_oldest(&m->hub, env, before) == m->hub.params.step)
        before = m->link[before].before;
    mot_node after = m->link[before].after;
    m->link[worker].before = before;
    m->link[worker].after = after;
    m->link[before].after = m->link[after].before = worker;
}

static void give(void *state, struct mot_env *env, mot_node worker)
{
    struct ringmaster *m = state;
    mot_hub_give(&m->hub, env, worker);
    link_last(m, env, worker);
}

static void ringmaster_begin(void *state, struct mot_env *env)
{
    struct ringmaster *m = state;
    for (mot_node i = 0; i <= env->world->workers; i++) m->link[i].before = m->link[i].after = i;
    for (mot_node i = 0; i < env->world->workers; i++) give(m, env, i);
}

/* The first worker whose job has become too late; `workers` if none. */
static mot_node first_late(const struct ringmaster *m, const struct mot_env *env)
{
    mot_node ring = env->world->workers, first = m->link[ring].after;
    bool late = first != ring && m->hub.params.step - mot_hub_oldest(&m->hub, env, first) >= threshold(env);
    return late ? first : ring;
}

static void ringmaster_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct ringmaster *m = state;
    const struct ringmaster_conf *conf = env->conf;
    if (a->delay >= threshold(env)) {
        if (!mot_hub_look(&m->hub, env, a)) return;
        mot_note(env, "dropped", 1);
        give(m, env, a->from);
        return;
    }
    if (!mot_hub_step(&m->hub, env, a, 1.0 / a->samples, 1)) return;
    mot_hub_credit(env, a->from, a->delay);
    mot_advance(env);
    give(m, env, a->from);
    if (conf->unfinished == MOT_UNFINISHED_FINISH) return;
    for (mot_node i; (i = first_late(m, env)) != env->world->workers;) {
        mot_hub_replace(&m->hub, env, i);
        link_last(m, env, i);
    }
}

static void ringmaster_lost(void *state, struct mot_env *env, mot_node worker, uint32_t jobs)
{
    (void)env;
    (void)jobs;
    unlink_worker(state, worker);
}

/* Also checks states from checkpoints: links are checked before they are followed. */
static void ringmaster_check(const void *state, const struct mot_env *env)
{
    const struct ringmaster *m = state;
    const struct ringmaster_conf *conf = env->conf;
    mot_node ring = env->world->workers, linked = 0, active = 0;
    uint64_t round = 0;
    /* A run that is ending gives no more jobs: without workers, or at a gradient that is not finite. */
    bool ends = m->hub.present == 0 || conf->hub.guard != MOT_GUARD_DROP;
    for (mot_node i = 0; i < ring; i++) {
        active += mot_hub_seat(&m->hub, i)->active > 0;
        MOT_ASSERT(m->link[i].before <= ring && m->link[i].after <= ring);
    }
    for (mot_node i = m->link[ring].after, last = ring; i != ring; last = i, i = m->link[i].after) {
        uint64_t mine = i < ring ? mot_hub_oldest(&m->hub, env, i) : UINT64_MAX;
        MOT_ASSERT(i < ring && m->link[i].before == last && linked++ < ring);
        MOT_ASSERT(mine > round || (mine == round && (last == ring || last < i)));
        if (mine == UINT64_MAX && ends) return;
        round = mine;
    }
    MOT_ASSERT(linked == active);
    MOT_ASSERT(conf->unfinished == MOT_UNFINISHED_FINISH || first_late(m, env) == ring);
}

static const struct mot_served ringmaster = { .need = ringmaster_need,
    .at_once = mot_hub_always,
    .begin = ringmaster_begin,
    .gradient = ringmaster_gradient,
    .lost = ringmaster_lost,
    .back = give,
    .refused = give,
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
        .doc = "a job is useless once the model has had this many updates since it began. 1: only one "
               "gradient of each model counts; auto: twice the number of workers, which workers of equal "
               "speed never reach" },
    MOT_UNFINISHED_OPTION(struct ringmaster_conf, unfinished),
    MOT_HUB_OPTIONS,
    { .name = NULL },
};

static double ringmaster_delay(const void *p, uint32_t workers)
{
    uint64_t r = ((const struct ringmaster_conf *)p)->r;
    return r < workers ? (double)r - 1 : (double)workers - 1;
}

static void ringmaster_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    mot_served_traits(p, workers, t);
    t->asynchronous = true;
    t->batches = 1;
    t->round = 0;
    t->by_speed = true;
    t->delay = ringmaster_delay(p, workers);
}

const struct mot_method mot_method_ringmaster = {
    .name = "ringmaster",
    .summary = "asynchronous SGD that stops jobs whose staleness reaches R and starts them again",
    .about = "Like async, but a job is stopped, and started again at the current model, once the model has "
             "had R updates since it began. So no gradient is R updates old, and the slowest worker does not "
             "limit the learning rate. What was stopped is lost (wasted and wasted_samples in the summary); "
             "a worker that is always too slow contributes nothing. In theory R is the noise divided by the "
             "desired accuracy, sigma^2 / epsilon.\n"
             "Use it when some workers are much slower than others or stall, and the workers' data are "
             "similar. When the data differ, those of the stopped workers would be missing: use ca2fl or "
             "ia2sgd.\n"
             "Paper: Maranjyan, Tyurin, Richtarik, Ringmaster ASGD: The First Asynchronous SGD with Optimal "
             "Time Complexity, ICML 2025, Algorithm 5.",
    .options = ringmaster_options,
    .conf_bytes = sizeof(struct ringmaster_conf),
    .traits = ringmaster_traits,
    .advise = mot_advise_served,
    MOT_SERVED_BY(ringmaster),
};
