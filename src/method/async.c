/* async.c -- asynchronous SGD: collect b, update, assign b (Islamov, Safaryan and Alistarh, AsGrad, AISTATS
 * 2024, Algorithm 1).
 *
 *   assign a job (i, 0) to every worker i
 *   for t = 0, 1, ...
 *     collect b finished jobs (i, pi)               wait: b
 *     x(t+1) = x(t) - lr/b * sum of g_i(x(pi))      g_i: the job's mean gradient; step: by its delay
 *     assign b jobs (k, t+1) at x(t+1)              assign: k is the sender, uniform, or a permutation's next
 *
 * A job is computed on the data of the worker it is assigned to, and queues there. The delay of a job,
 * t - pi, is its staleness. It can be bounded in one of three ways:
 *   wait    no update may make a job in flight too late: finished jobs wait for it. Let c(a) be the jobs of
 *           age a = t - pi or more that an update leaves, collected or not. All of them can still go into
 *           updates in time if b (bound - a) >= c(a) for all a
 *   drop    gradients that come too late are dropped
 *   cancel  a job that becomes too late is given up, and its worker begins one at the new model
 *
 * The sum is taken in worker order, so with b = n it does not depend on the order of arrival. */
#include "math/kernels.h"
#include "math/optim.h"
#include "method/assign.h"
#include "method/methods.h"
#include "method/stepsize.h"
#include <stddef.h>
#include <stdio.h>

enum on_stale { ON_STALE_WAIT, ON_STALE_DROP, ON_STALE_CANCEL };

struct async_conf {
    struct mot_hub_conf hub;
    uint32_t assign, on_stale;
    uint64_t wait, jobs, max_staleness; /* MOT_WORD_UINT: all; one per worker; none */
    uint64_t shards;
    struct mot_stepsize_conf step;
};

/* A gradient that has arrived and waits for the update. */
struct collected {
    uint64_t round;
    double factor;
    uint32_t samples;
    mot_node from;
    mot_buf grad, at;
};

struct async {
    struct mot_hub hub;
    struct mot_assign assign;
    uint32_t collected;
    mot_buf mean_square;   /* of the gradients so far, if lambda adapts; else MOT_NO_BUF */
    struct collected in[]; /* [jobs], then order[workers], then ages[bound + 1] */
};

static uint32_t jobs_of(const struct async_conf *conf, const struct mot_world *world)
{
    return conf->jobs == MOT_WORD_UINT ? world->workers : (uint32_t)conf->jobs;
}

/* Gradients that an update takes. */
static uint32_t wait_of(const struct async_conf *conf, const struct mot_world *world)
{
    return conf->wait == MOT_WORD_UINT ? world->workers : (uint32_t)conf->wait;
}

static bool bounded(const struct async_conf *conf, enum on_stale how)
{
    return conf->max_staleness != MOT_WORD_UINT && conf->on_stale == how;
}

static uint32_t *order_of(const struct async *s, const struct mot_env *env)
{
    return (uint32_t *)(uintptr_t)(s->in + jobs_of(env->conf, env->world));
}

static uint32_t *ages_of(const struct async *s, const struct mot_env *env)
{
    return order_of(s, env) + env->world->workers;
}

/* ---- Assigning ------------------------------------------------------------------------------ */

/* Jobs of this worker that have not gone into an update. */
static uint32_t jobs_at(const struct async *s, mot_node worker)
{
    uint32_t jobs = mot_hub_seat(&s->hub, worker)->active;
    for (uint32_t i = 0; i < s->collected; i++) jobs += s->in[i].from == worker;
    return jobs;
}

/* Tops up the jobs in flight; in the pure variant, those of one worker. */
static void assign(struct async *s, struct mot_env *env, mot_node worker)
{
    const struct async_conf *conf = env->conf;
    uint32_t jobs = jobs_of(conf, env->world), n = env->world->workers;
    if (conf->assign == MOT_ASSIGN_PURE) {
        if (mot_hub_seat(&s->hub, worker)->away) return;
        for (uint32_t have = jobs_at(s, worker); have < jobs / n; have++) mot_hub_give(&s->hub, env, worker);
        return;
    }
    while (s->hub.present > 0 && s->hub.active + s->collected < jobs)
        mot_hub_give(&s->hub, env, mot_assign_next(&s->assign, conf->assign, &s->hub, env, order_of(s, env)));
}

static void async_begin(void *state, struct mot_env *env)
{
    struct async *s = state;
    const struct async_conf *conf = env->conf;
    uint32_t jobs = jobs_of(conf, env->world), n = env->world->workers;
    if (mot_compensate_adapts(&conf->step)) {
        s->mean_square = mot_take(env);
        float *zero = mot_edit(env, s->mean_square);
        for (uint32_t i = 0; i < env->world->dim; i++) zero[i] = 0;
    }
    for (uint32_t round = 0; round < jobs / n; round++)
        for (mot_node i = 0; i < n; i++) mot_hub_give(&s->hub, env, i);
    if (jobs % n) assign(s, env, 0);
}

/* ---- Updating ------------------------------------------------------------------------------- */

/* Moves the b oldest to the end, in worker order. */
static void sort_collected(struct async *s, uint32_t b)
{
    if (s->collected == 1) return;
    for (uint32_t i = 1; i < s->collected; i++) {
        struct collected c = s->in[i];
        uint32_t j = i;
        for (; j > 0 && s->in[j - 1].round < c.round; j--) s->in[j] = s->in[j - 1];
        s->in[j] = c;
    }
    for (uint32_t i = s->collected - b + 1; i < s->collected; i++) {
        struct collected c = s->in[i];
        uint32_t j = i;
        for (; j > s->collected - b && s->in[j - 1].from > c.from; j--) s->in[j] = s->in[j - 1];
        s->in[j] = c;
    }
}

/* Whether, after an update with the last b, all other jobs can still go into updates in time. */
static bool in_time(struct async *s, const struct mot_env *env, uint32_t b)
{
    const struct async_conf *conf = env->conf;
    if (!bounded(conf, ON_STALE_WAIT)) return true;
    uint64_t bound = conf->max_staleness, left = 0;
    uint32_t *ages = ages_of(s, env);
    mot_hub_ages(&s->hub, env, ages, bound);
    for (uint32_t i = 0; i < s->collected - b; i++) ages[s->hub.params.step - s->in[i].round]++;
    for (uint64_t age = bound + 1; age-- > 0;) {
        left += ages[age];
        if (left > (bound - age) * wait_of(conf, env->world)) return false;
    }
    return true;
}

static void compensate(const struct async *s, struct mot_env *env, struct collected *c)
{
    const struct async_conf *conf = env->conf;
    mot_buf out = mot_take(env);
    struct mot_slice mine = mot_hub_range(env, out), mean = mot_hub_range(env, s->mean_square);
    uint32_t trained = mot_trained_in(env->world, mine);
    const float *grad = mot_read(env, c->grad) + mine.off;
    float *to = mot_edit_slice(env, mine);
    mot_compensate(&conf->step, trained, grad, c->samples, mot_read(env, s->hub.params.x) + mine.off,
        mot_read(env, c->at) + mine.off, mean.buf == MOT_NO_BUF ? NULL : mot_edit_slice(env, mean), to);
    for (uint32_t i = trained; i < mine.len; i++) to[i] = grad[i]; /* statistics */
    mot_drop(env, c->grad);
    c->grad = out;
}

/* One step along the mean of b gradients. If their batches are equal in size, they are added as they are and
 * divided once: then the sum has the bits of a synchronous step's. */
static void step_along(struct async *s, struct mot_env *env, const struct collected *in, uint32_t b)
{
    if (b == 1) {
        mot_params_step(env, &s->hub.params, mot_hub_range(env, in->grad), 1.0 / in->samples, in->factor);
        return;
    }
    const struct mot_kernels *k = mot_kernels();
    double factors = 0;
    bool alike = true;
    for (uint32_t i = 0; i < b; i++) {
        factors += in[i].factor;
        alike = alike && in[i].samples == in[0].samples && in[i].factor == in[0].factor;
    }
    struct mot_slice sum = mot_hub_range(env, mot_take(env));
    for (uint32_t i = 0; i < b; i++) {
        float weight = alike ? 1 : (float)(in[i].factor * b / (factors * in[i].samples)),
              *out = mot_edit_slice(env, sum);
        const float *grad = mot_read(env, in[i].grad) + sum.off;
        if (i == 0) k->sum(sum.len, 1, &weight, &grad, out);
        else k->axpy(sum.len, weight, grad, out);
    }
    double samples = alike ? (double)in[0].samples * b : b;
    mot_params_step(env, &s->hub.params, sum, 1.0 / samples, alike ? in[0].factor : factors / b);
    mot_drop(env, sum.buf);
}

static void cancel_stale(struct async *s, struct mot_env *env)
{
    const struct async_conf *conf = env->conf;
    for (mot_node i = 0; i < env->world->workers; i++) {
        uint64_t oldest = mot_hub_oldest(&s->hub, env, i);
        if (oldest == UINT64_MAX || s->hub.params.step - oldest <= conf->max_staleness) continue;
        /* Jobs queued behind it have not begun and might as well begin at the new model. */
        uint32_t jobs = mot_hub_seat(&s->hub, i)->active;
        mot_hub_replace(&s->hub, env, i);
        while (--jobs > 0) mot_hub_give(&s->hub, env, i);
    }
}

static void credit(struct mot_env *env, mot_node from, uint64_t delay)
{
    const struct async_conf *conf = env->conf;
    MOT_ASSERT(conf->max_staleness == MOT_WORD_UINT || delay <= conf->max_staleness);
    mot_hub_credit(env, from, delay);
}

/* Whether every gradient makes an update by itself, unchanged and at once. */
static bool at_once(const void *p, const struct mot_world *world)
{
    const struct async_conf *conf = p;
    return wait_of(conf, world) == 1 && !bounded(conf, ON_STALE_WAIT) &&
        conf->step.rule != MOT_STEP_COMPENSATED;
}

static void update_at_once(struct async *s, struct mot_env *env, const struct mot_answer *a, double factor)
{
    if (!mot_hub_step(&s->hub, env, a, 1.0 / a->samples, factor)) return;
    credit(env, a->from, a->delay);
    mot_advance(env);
    assign(s, env, a->from);
    if (bounded(env->conf, ON_STALE_CANCEL)) cancel_stale(s, env);
}

/* x(t+1) = x(t) - lr/b * sum, with the last b of those collected; and b new jobs. */
static void update(struct async *s, struct mot_env *env, uint32_t b)
{
    const struct async_conf *conf = env->conf;
    struct collected *in = s->in + s->collected - b;
    for (uint32_t i = 0; i < b; i++) {
        credit(env, in[i].from, s->hub.params.step - in[i].round);
        if (in[i].at != MOT_NO_BUF) compensate(s, env, &in[i]);
    }
    step_along(s, env, in, b);
    mot_advance(env);
    s->collected -= b;
    for (uint32_t i = 0; i < b; i++) {
        mot_drop(env, in[i].grad);
        mot_drop(env, in[i].at);
        assign(s, env, in[i].from);
    }
    if (bounded(conf, ON_STALE_CANCEL)) cancel_stale(s, env);
}

/* Makes an update if enough gradients are in. If jobs were lost with their workers, there may be fewer
 * than b to wait for. A job that held up others may allow several updates; they are made one by one, so
 * that evaluations and the end of the run can fall between them. */
static void consider(struct async *s, struct mot_env *env)
{
    uint32_t b = wait_of(env->conf, env->world), all = s->hub.active + s->collected;
    if (b > all) b = all;
    if (s->collected == 0 || s->collected < b) return;
    sort_collected(s, b);
    if (!in_time(s, env, b)) return;
    update(s, env, b);
    if (s->collected >= b) mot_alarm(env, 0, env->now);
}

static void async_timer(void *state, struct mot_env *env, uint32_t tag)
{
    (void)tag;
    consider(state, env);
}

static void async_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct async *s = state;
    const struct async_conf *conf = env->conf;
    double factor = mot_stepsize(
        &conf->step, &s->hub, env, a, (double)jobs_of(conf, env->world) / wait_of(conf, env->world));
    if (factor == 0 || (bounded(conf, ON_STALE_DROP) && a->delay > conf->max_staleness)) {
        if (!mot_hub_look(&s->hub, env, a)) return;
        mot_note(env, "dropped", 1);
        assign(s, env, a->from);
        return;
    }
    if (at_once(conf, env->world)) {
        update_at_once(s, env, a, factor);
        return;
    }
    s->in[s->collected++] = (struct collected){ .round = a->round,
        .factor = factor,
        .samples = a->samples,
        .from = a->from,
        .grad = mot_hold(env, a->grad.buf),
        .at = a->at == MOT_NO_BUF ? MOT_NO_BUF : mot_hold(env, a->at) };
    consider(s, env);
}

/* ---- Workers come and go ------------------------------------------------------------------------ */

/* Its jobs go to others; in the pure variant there are fewer jobs, and nobody waits for them. Several
 * servers agree on who gets a job by counting, which a loss would upset: they end the run. */
static void async_lost(void *state, struct mot_env *env, mot_node worker, uint32_t jobs)
{
    const struct async_conf *conf = env->conf;
    (void)jobs;
    if (conf->assign != MOT_ASSIGN_PURE && conf->shards > 1) {
        uint32_t away = mot_hub_seat(state, worker)->away;
        mot_stop(env, away & MOT_AWAY_LOST ? MOT_EPEER : away & MOT_AWAY_BARRED ? MOT_EDIVERGED : MOT_OK);
        return;
    }
    assign(state, env, worker);
    consider(state, env);
}

static void async_assign(void *state, struct mot_env *env, mot_node worker) { assign(state, env, worker); }

/* ---- The table ------------------------------------------------------------------------------------ */

static enum mot_status async_validate(const void *p, const struct mot_world *world)
{
    const struct async_conf *conf = p;
    uint32_t jobs = jobs_of(conf, world), b = wait_of(conf, world);
    if (conf->assign == MOT_ASSIGN_PURE && jobs % world->workers)
        return mot_fail(MOT_EUSAGE,
            "method.jobs: %u jobs cannot be divided evenly among %u workers, as 'assign: pure' needs: "
            "expected a multiple of %u, or another assign",
            jobs, world->workers, world->workers);
    if (b > jobs)
        return mot_fail(MOT_EUSAGE,
            "method.wait: an update waits for %u gradients, but there are %u active jobs; expected 1 to %u",
            b, jobs, jobs);
    if (conf->step.rule == MOT_STEP_RESCALED && conf->assign != MOT_ASSIGN_PURE)
        return mot_fail(MOT_EUSAGE,
            "method.step: 'rescaled' makes up for the many updates of fast workers and needs 'assign: pure'; "
            "with the others every worker already gets equally many");
    if (conf->step.rule == MOT_STEP_RESCALED && b > 1)
        return mot_fail(MOT_EUSAGE,
            "method.step: 'rescaled' assumes that workers answer in proportion to their speed, but with "
            "method.wait: %u they wait for each other; expected 'wait: 1', or another step",
            b);
    if (bounded(conf, ON_STALE_WAIT) && jobs > b * (conf->max_staleness + 1))
        return mot_fail(MOT_EUSAGE,
            "method.max_staleness: %u jobs, %u per update, cannot all be used within a staleness of %llu; "
            "expected %u or more, or 'on_stale: drop' or 'cancel'",
            jobs, b, (unsigned long long)conf->max_staleness, (jobs + b - 1) / b - 1);
    if (conf->shards > 1 && bounded(conf, ON_STALE_CANCEL))
        return mot_fail(MOT_EUSAGE,
            "method.on_stale: 'cancel' needs one server; with %llu shards use 'wait' or 'drop'",
            (unsigned long long)conf->shards);
    if (conf->shards > 1 && conf->step.rule == MOT_STEP_CLIPPED)
        return mot_fail(MOT_EUSAGE,
            "method.step: 'clipped' needs the norm of the whole gradient, and no shard has all of it; "
            "expected another step, or one server");
    if (conf->shards > 1 && !mot_optim_splits(world->optim))
        return mot_fail(MOT_EUSAGE,
            "optimizer: clipping and LARS need norms of the whole, which a shard does not know; expected sgd "
            "or adamw without clip, or one server");
    if (conf->shards > 1 && conf->shards > world->dim)
        return mot_fail(MOT_EUSAGE, "method.shards: %llu servers for %u parameters; expected at most %u",
            (unsigned long long)conf->shards, world->dim, world->dim);
    return mot_stepsize_validate(&conf->step, world);
}

static struct mot_hub_need async_need(const void *p, const struct mot_world *world)
{
    const struct async_conf *conf = p;
    uint32_t jobs = jobs_of(conf, world), n = world->workers;
    bool pure = conf->assign == MOT_ASSIGN_PURE, cancel = bounded(conf, ON_STALE_CANCEL),
         compensated = conf->step.rule == MOT_STEP_COMPENSATED;
    size_t ages = bounded(conf, ON_STALE_WAIT) ? conf->max_staleness + 1 : 0;
    /* The collected gradients (at most all jobs, if updates wait), a sum, and the gradient that comes with
     * the event. */
    uint32_t collected = wait_of(conf, world) > 1 || ages ? jobs : 1;
    return (struct mot_hub_need){
        .state_bytes =
            offsetof(struct async, in) + jobs * sizeof(struct collected) + (n + ages) * sizeof(uint32_t),
        .buffers = (compensated ? 2 : 1) * collected + 2 + mot_compensate_adapts(&conf->step),
        .queue = (pure              ? jobs / n
                         : jobs > 1 ? 2
                                    : 1) +
            cancel,
        .backlog = pure && !cancel ? 0 : jobs,
        .alarms = ages > 0,
        .keep = compensated,
    };
}

static void async_check(const void *state, const struct mot_env *env)
{
    const struct async *s = state;
    const struct async_conf *conf = env->conf;
    uint32_t jobs = jobs_of(conf, env->world);
    MOT_ASSERT(s->hub.active + s->collected <= jobs);
    /* A run that is ending gives no more jobs: without workers or, unless the guard drops, at a gradient
     * that is not finite. */
    bool ends = s->hub.present == 0 || (conf->shards > 1 && s->hub.present < env->world->workers) ||
        conf->hub.guard != MOT_GUARD_DROP;
    if (conf->assign != MOT_ASSIGN_PURE && !ends) MOT_ASSERT(s->hub.active + s->collected == jobs);
    MOT_ASSERT(s->collected <= jobs);
    for (uint32_t i = 0; i < s->collected; i++)
        MOT_ASSERT(s->in[i].grad != MOT_NO_BUF && s->in[i].round <= s->hub.params.step);
    if (!bounded(conf, ON_STALE_WAIT) && !bounded(conf, ON_STALE_CANCEL)) return;
    for (mot_node i = 0; i < env->world->workers; i++) {
        uint64_t oldest = mot_hub_oldest(&s->hub, env, i);
        MOT_ASSERT(oldest == UINT64_MAX || s->hub.params.step - oldest <= conf->max_staleness);
    }
}

static const struct mot_served async = { .need = async_need,
    .at_once = at_once,
    .begin = async_begin,
    .gradient = async_gradient,
    .lost = async_lost,
    .back = async_assign,
    .refused = async_assign,
    .timer = async_timer,
    .check = async_check };
MOT_SERVED(async)

static const struct mot_option async_options[] = {
    { .name = "assign",
        .type = MOT_OPT_CHOICE,
        .offset = offsetof(struct async_conf, assign),
        .preset = "pure",
        .choices = "pure|random|shuffled|once",
        .doc = "who gets a new job: pure, the worker that sent the gradient; random, a random worker; "
               "shuffled, the next in a permutation of the workers, drawn afresh every n jobs; once, the "
               "same with a permutation drawn once" },
    { .name = "wait",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct async_conf, wait),
        .preset = "1",
        .word = "all",
        .min = 1,
        .max = 1e6,
        .doc = "gradients that an update waits for and averages" },
    { .name = "jobs",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct async_conf, jobs),
        .preset = "workers",
        .word = "workers",
        .min = 1,
        .max = 1e6,
        .doc = "jobs in flight at all times; a worker that has several queues them" },
    MOT_STEPSIZE_OPTIONS(struct async_conf, step),
    { .name = "max_staleness",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct async_conf, max_staleness),
        .preset = "none",
        .word = "none",
        .max = 1e6,
        .doc = "no update uses a gradient of a model older than this many updates" },
    { .name = "on_stale",
        .type = MOT_OPT_CHOICE,
        .offset = offsetof(struct async_conf, on_stale),
        .preset = "wait",
        .choices = "wait|drop|cancel",
        .doc = "how to keep max_staleness: wait holds updates back for jobs that would come too late, drop "
               "discards their gradients, cancel stops such jobs as soon as they are too late and starts "
               "them again" },
    { .name = "shards",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct async_conf, shards),
        .preset = "1",
        .min = 1,
        .max = 64,
        .doc = "servers, each with a range of the parameters and its own link, for models that one link "
               "cannot carry" },
    MOT_HUB_OPTIONS,
    { .name = NULL },
};

static double async_delay(const void *p, uint32_t workers)
{
    const struct async_conf *conf = p;
    double jobs = conf->jobs == MOT_WORD_UINT ? workers : (double)conf->jobs,
           wait = conf->wait == MOT_WORD_UINT ? workers : (double)conf->wait, delay = jobs / wait - 1;
    if (conf->max_staleness == MOT_WORD_UINT || (double)conf->max_staleness > delay) return delay;
    return (double)conf->max_staleness;
}

static void async_advise(const void *p, const struct mot_situation *s, char *into, size_t size)
{
    const struct async_conf *conf = p;
    bool pure = conf->assign == MOT_ASSIGN_PURE;
    switch (s->kind) {
    case MOT_WHEN_LOST:
        if (pure || conf->shards == 1) mot_advise_served(p, s, into, size);
        else
            snprintf(into, size,
                ". Several servers cannot pass its jobs on to others; `--method-assign pure` goes on without "
                "it");
        return;
    case MOT_WHEN_WAITING:
    case MOT_WHEN_IDLE:
        if (!pure) snprintf(into, size, "`--method-assign pure`");
        else if (conf->wait > 1) snprintf(into, size, "`--method-wait 1`");
        return;
    case MOT_WHEN_OVERDUE:
    case MOT_WHEN_LATE:
    case MOT_WHEN_CROWDED:
    case MOT_WHEN_THIN:
    case MOT_WHEN_LEANING:
    case MOT_WHEN_EMPTY: mot_advise_served(p, s, into, size); return;
    }
}

static void async_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    mot_served_traits(p, workers, t);
    const struct async_conf *conf = p;
    t->asynchronous = true;
    t->batches = 1;
    t->servers = (uint32_t)conf->shards;
    t->round = conf->wait == 1 ? 0 : conf->wait < workers ? (uint32_t)conf->wait : workers;
    t->in_turn = conf->assign != MOT_ASSIGN_PURE;
    t->by_speed = conf->step.rule != MOT_STEP_RESCALED;
    t->delay = async_delay(conf, workers);
}

const struct mot_method mot_method_async = {
    .name = "async",
    .summary = "asynchronous SGD: every gradient is an update, nobody waits",
    .about =
        "A server updates the model with each gradient as it arrives, or with every `wait` of them, and "
        "hands out the same number of new jobs. With assign: pure they go back to the workers just heard "
        "from. The pace is then the sum of the workers' paces, however different they are. The price is "
        "staleness: a gradient may be of a model many updates old (see staleness in the summary), so the "
        "learning rate often has to be smaller than for allreduce; and fast workers' data weigh more than "
        "slow ones', an error that remains however long the run. Use it when speeds differ a lot and the "
        "workers' data are similar.\n"
        "assign: shuffled gives every worker one job in each round of all workers, so that all data weigh "
        "the same; jobs queue at slow workers, and the pace falls towards theirs. Use it when the workers' "
        "data differ. random does the same on average.\n"
        "Special cases: wait: all is mini-batch SGD at the pace of the slowest worker; jobs: 1 with assign: "
        "shuffled is SGD with random reshuffling, with assign: once shuffle-once, both over workers instead "
        "of samples.\n"
        "step says how to tame stale gradients. adaptive and cutoff take smaller steps for long delays (the "
        "same ones, unless `cutoff` or `beyond` is set); rescaled takes larger ones for slow workers' "
        "gradients, so that all data weigh the same at the pace of pure; clipped scales long gradients down; "
        "compensated corrects a gradient for how far the model has moved since, with its own square as the "
        "Hessian; lambda_decay: 0.95 adapts lambda to each parameter's gradients during the run.\n"
        "shards: k servers, each with a range of the parameters: a worker sends each its range of the "
        "gradient, and starts when it has the new ranges of all. Ranges are updated independently, so the "
        "parts of a job's model may differ in age. Unless assign is pure, such a run ends when a worker is "
        "lost or its data runs out.\n"
        "Papers: Islamov, Safaryan, Alistarh, AsGrad, AISTATS 2024; step adaptive: Mishchenko, Bach, Even, "
        "Woodworth, NeurIPS 2022; cutoff: Koloskova, Stich, Jaggi, NeurIPS 2022; compensated: Zheng and "
        "others, ICML 2017 (DC-ASGD); max_staleness with wait: Ho and others, NIPS 2013 (stale synchronous "
        "parallel); with cancel: Maranjyan, Tyurin, Richtarik, ICML 2025 (Ringmaster ASGD).",
    .options = async_options,
    .conf_bytes = sizeof(struct async_conf),
    .traits = async_traits,
    .advise = async_advise,
    .validate = async_validate,
    MOT_SERVED_BY(async),
};
