/* gasync.c -- Generalized AsyncSGD: asynchronous SGD whose jobs go to worker i with probability p_i.
 *
 *   on a gradient g of worker i:  x(t+1) = x(t) - lr / (n p_i) * g;
 *   then a job at x(t+1) for worker k, drawn with probability p_k, queued if it is busy
 *
 * The factor makes up for i being drawn more often than others: on average every worker's data weighs the
 * same, whatever p is. It uses the p by which the job was drawn, which may have changed since: slow workers'
 * queues hold many jobs from before p was lowered for them. Leconte, Jonckheere, Samsonov and
 * Moulines, Queuing Dynamics of Asynchronous Federated Learning, AISTATS 2024 (arXiv
 * 2405.00017), Algorithm 1.
 *
 * `p: optimal` is computed from the job times seen so far, whenever the number of updates has doubled: it
 * minimises the variance over the pace of updates (queueing.h). Alahyane, Comte, Jonckheere and Moulines,
 * Optimizing Asynchronous Federated Learning, 2025 (arXiv 2502.08206) put speed into the objective in this
 * way; theirs is the whole bound, with constants that a run does not know. */
#include "base/rng.h"
#include "base/words.h"
#include "method/hub_parts.h"
#include "method/methods.h"
#include "method/queueing.h"
#include <stdio.h>
#include <string.h>

#define OPTIMAL_MOST 1000000u /* workers times jobs; more would take too long */
struct gasync_conf {
    struct mot_hub_conf hub;
    const char *p;
    uint64_t jobs;
};

struct gasync {
    struct mot_hub hub;
    uint64_t count, next; /* jobs drawn; the update at which p is next recomputed */
    /* the update at which it last was; jobs of older rounds were drawn by the previous p */
    uint64_t found;
    /* [workers] p; [workers] previous p; [workers] job times; 4 [workers] scratch */
    double number[];
};

static uint32_t jobs_of(const struct gasync_conf *conf, const struct mot_world *world)
{
    return conf->jobs == MOT_WORD_UINT ? world->workers : (uint32_t)conf->jobs;
}

/* Reads probabilities from the text, or uniform ones if it gives none; they need not sum to 1. Returns how
 * many were read, or -1. */
static int64_t read_p(const char *text, double *p, uint32_t n)
{
    if (strcmp(text, "optimal") == 0 || strcmp(text, "uniform") == 0) {
        for (uint32_t i = 0; p && i < n; i++) p[i] = 1;
        return n;
    }
    int64_t count = 0;
    for (text += strspn(text, "[ ,"); *text && *text != ']'; text += strspn(text, " ,"), count++) {
        char word[32];
        double value;
        size_t length = strcspn(text, " ,]");
        if (length >= sizeof word) return -1;
        memcpy(word, text, length);
        word[length] = 0;
        if (!mot_read_real(word, &value) || !(value > 0 && value <= 1e9)) return -1;
        if (p && count < n) p[count] = value;
        text += length;
    }
    return count;
}

static enum mot_status gasync_validate(const void *c, const struct mot_world *world)
{
    const struct gasync_conf *conf = c;
    int64_t count = read_p(conf->p, NULL, world->workers);
    if (count < 0)
        return mot_fail(
            MOT_EUSAGE, "method.p: expected numbers above 0, 'uniform' or 'optimal'; found '%s'", conf->p);
    if (count != world->workers)
        return mot_fail(MOT_EUSAGE, "method.p: %lld numbers for %u workers; expected one each",
            (long long)count, world->workers);
    if (strcmp(conf->p, "optimal") == 0 && (uint64_t)world->workers * jobs_of(conf, world) > OPTIMAL_MOST)
        return mot_fail(MOT_EUSAGE,
            "method.p: 'optimal' takes too long for %u workers with %u jobs; expected at most %u for their "
            "product, or 'uniform'",
            world->workers, jobs_of(conf, world), OPTIMAL_MOST);
    return MOT_OK;
}

static struct mot_hub_need gasync_need(const void *c, const struct mot_world *world)
{
    uint32_t jobs = jobs_of(c, world);
    return (struct mot_hub_need){ .state_bytes = sizeof(struct gasync) + 7 * sizeof(double) * world->workers,
        .buffers = 1,
        .queue = jobs > 1 ? 2 : 1,
        .backlog = jobs };
}

/* The total probability of the workers that are there. */
static double present_p(const struct gasync *s, const struct mot_env *env, const double *p)
{
    double sum = 0;
    for (mot_node i = 0; i < env->world->workers; i++) sum += mot_hub_seat(&s->hub, i)->away ? 0 : p[i];
    return sum;
}

static mot_node draw(struct gasync *s, const struct mot_env *env)
{
    struct mot_rng rng = mot_rng_at(env->world->seed, MOT_RNG_METHOD, s->count++);
    double left = mot_rng_unit(&rng) * present_p(s, env, s->number);
    mot_node last = 0;
    for (mot_node i = 0; i < env->world->workers; i++) {
        if (mot_hub_seat(&s->hub, i)->away) continue;
        last = i;
        if ((left -= s->number[i]) < 0) break;
    }
    return last;
}

static void assign(void *state, struct mot_env *env, mot_node worker)
{
    struct gasync *s = state;
    (void)worker;
    while (s->hub.present > 0 && s->hub.active < jobs_of(env->conf, env->world))
        mot_hub_give(&s->hub, env, draw(s, env));
}

static void gasync_begin(void *state, struct mot_env *env)
{
    struct gasync *s = state;
    const struct gasync_conf *conf = env->conf;
    uint32_t n = env->world->workers;
    read_p(conf->p, s->number, n);
    s->next = s->hub.params.step + n;
    for (mot_node i = 0; i < n && jobs_of(conf, env->world) >= n; i++) mot_hub_give(&s->hub, env, i);
    assign(s, env, 0);
}

/* Not before everyone has answered. A worker that is away counts with its own times if any are known, else
 * with the others' mean. */
static void improve(struct gasync *s, struct mot_env *env)
{
    const struct gasync_conf *conf = env->conf;
    uint32_t n = env->world->workers, known = 0;
    double *p = s->number, *before = p + n, *seconds = before + n, mean = 0;
    if (s->hub.params.step < s->next || strcmp(conf->p, "optimal") != 0) return;
    for (mot_node i = 0; i < n; i++) {
        const struct mot_seat *seat = mot_hub_seat(&s->hub, i);
        if (seat->answers == 0 && !seat->away) return;
        seconds[i] = seat->answers ? (double)seat->busy / seat->answers / 1e9 : 0;
        known += seconds[i] > 0;
        mean += seconds[i];
    }
    s->next = 2 * s->hub.params.step;
    if (known == 0) return; /* no job takes time */
    for (mot_node i = 0; i < n; i++)
        if (!(seconds[i] > 0)) seconds[i] = mean / known;
    memcpy(before, p, n * sizeof(*p));
    s->found = s->hub.params.step;
    mot_queue_optimal(n, seconds, jobs_of(conf, env->world), p, seconds + n);
    mot_note(env, "p_found", 1);
}

static void gasync_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct gasync *s = state;
    const double *drawn = a->round < s->found ? s->number + env->world->workers : s->number;
    double p = drawn[a->from] / present_p(s, env, drawn);
    if (!mot_hub_step(&s->hub, env, a, 1.0 / a->samples / (s->hub.present * p), 1)) return;
    mot_hub_credit(env, a->from, a->delay);
    mot_advance(env);
    improve(s, env);
    assign(s, env, a->from);
}

static void gasync_lost(void *state, struct mot_env *env, mot_node worker, uint32_t jobs)
{
    (void)jobs;
    assign(state, env, worker);
}

static void gasync_check(const void *state, const struct mot_env *env)
{
    const struct gasync *s = state;
    MOT_ASSERT(s->hub.active <= jobs_of(env->conf, env->world)); /* fewer only when the run ends */
    for (mot_node i = 0; i < env->world->workers; i++) MOT_ASSERT(s->number[i] > 0);
}

static const struct mot_served gasync = { .need = gasync_need,
    .at_once = mot_hub_always,
    .begin = gasync_begin,
    .gradient = gasync_gradient,
    .lost = gasync_lost,
    .back = assign,
    .refused = assign,
    .check = gasync_check };
MOT_SERVED(gasync)

static const struct mot_option gasync_options[] = {
    { .name = "p",
        .type = MOT_OPT_TEXT,
        .offset = offsetof(struct gasync_conf, p),
        .preset = "optimal",
        .doc = "how likely each worker is to get the next job: one number each, which need not add up to 1, "
               "as in '0.5 0.3 0.2'; uniform; or optimal, computed from the job times during the run, "
               "uniform until every worker has answered" },
    { .name = "jobs",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct gasync_conf, jobs),
        .preset = "workers",
        .word = "workers",
        .min = 1,
        .max = 1e6,
        .doc = "jobs in flight at all times; a worker that has several queues them. Fewer jobs mean less "
               "staleness, more keep workers busier" },
    MOT_HUB_OPTIONS,
    { .name = NULL },
};

static double gasync_delay(const void *p, uint32_t workers)
{
    uint64_t jobs = ((const struct gasync_conf *)p)->jobs;
    return (jobs == MOT_WORD_UINT ? workers : (double)jobs) - 1;
}

static void gasync_advise(const void *p, const struct mot_situation *s, char *into, size_t size)
{
    if (s->kind == MOT_WHEN_WAITING) snprintf(into, size, "`--method async`");
    else mot_advise_served(p, s, into, size);
}

static void gasync_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    mot_served_traits(p, workers, t);
    t->asynchronous = true;
    t->batches = 1;
    t->round = 0;
    t->in_turn = true;
    t->delay = gasync_delay(p, workers);
}

const struct mot_method mot_method_gasync = {
    .name = "gasync",
    .summary = "asynchronous SGD whose jobs go to workers with given or optimised probabilities, scaled so "
               "that all data weigh the same",
    .about = "A new job goes to worker i with probability p_i, and its gradient is multiplied by 1 / (n "
             "p_i): whatever p is, every worker's data weigh the same on average. With p: uniform it is "
             "async with assign: random, at the pace of slow workers' queues. Giving fast workers more jobs "
             "raises the pace but also, since slow workers' gradients then count for more, the noise; p: "
             "optimal finds the balance from the job times.\n"
             "Use it when both data and speeds differ and the server has no memory for a table of gradients; "
             "with that memory, ca2fl and ia2sgd were faster where measured (docs/async-family.md).\n"
             "Papers: Leconte, Jonckheere, Samsonov, Moulines, Queuing Dynamics of Asynchronous Federated "
             "Learning, AISTATS 2024, Algorithm 1; Alahyane, Comte, Jonckheere, Moulines, Optimizing "
             "Asynchronous Federated Learning, 2025.",
    .options = gasync_options,
    .conf_bytes = sizeof(struct gasync_conf),
    .traits = gasync_traits,
    .advise = gasync_advise,
    .validate = gasync_validate,
    MOT_SERVED_BY(gasync),
};
