/* gasync.c -- Generalized AsyncSGD: asynchronous SGD whose jobs go to worker i with probability p_i.
 *
 *   on a gradient g of worker i:  x(t+1) = x(t) - lr / (n p_i) * g;
 *   then a job at x(t+1) for worker k, drawn with probability p_k, queued if it is busy
 *
 * The factor makes up for i being drawn more often than others: in the mean every worker's data weigh the
 * same, whatever p is. It is that of the p by which the job was drawn, which may have changed since: slow
 * workers' queues are long with jobs drawn before p had them drawn less. Leconte, Jonckheere, Samsonov and
 * Moulines, Queuing Dynamics of Asynchronous Federated Learning, AISTATS 2024 (arXiv
 * 2405.00017), Algorithm 1.
 *
 * `p: optimal` is found from the job times seen so far, anew each time that the number of updates has
 * doubled: the p for which the variance over the pace of the updates is least (queueing.h). Alahyane, Comte,
 * Jonckheere and Moulines, Optimizing Asynchronous Federated Learning, 2025 (arXiv 2502.08206) put speed into
 * the objective so; theirs is the whole bound, with constants that a run does not know. */
#include "base/rng.h"
#include "base/words.h"
#include "method/hub.h"
#include "method/methods.h"
#include "method/queueing.h"
#include <string.h>

#define OPTIMAL_MOST 1000000u /* workers times jobs, for the time that it takes */
struct gasync_conf {
    struct mot_hub_conf hub;
    const char *p;
    uint64_t jobs;
};

struct gasync {
    struct mot_hub hub;
    uint64_t count, next; /* jobs drawn; the update at which p is found anew */
    /* the update at which it was last; jobs of older rounds were drawn by the p before */
    uint64_t found;
    /* [workers] p; [workers] p before; [workers] job times; 4 [workers] to work with */
    double number[];
};

static uint32_t jobs_of(const struct gasync_conf *conf, const struct mot_world *world)
{
    return conf->jobs == MOT_WORD_UINT ? world->workers : (uint32_t)conf->jobs;
}

/* The probabilities of the text, uniform where it has none to say; they need
 * not add up to 1. Returns how many were read, or -1. */
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
        return mot_fail(MOT_EUSAGE, "method.p: %lld numbers for %u workers; expected one for each",
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

/* Of all probabilities, those of the workers that are there. */
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
    while (s->hub.active < jobs_of(env->conf, env->world)) mot_hub_give(&s->hub, env, draw(s, env));
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

/* Not before everyone has answered; who is away counts with what is known of it, or like the others. */
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
    if (known == 0) return; /* jobs that take no time */
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
    MOT_ASSERT(s->hub.active <= jobs_of(env->conf, env->world)); /* fewer only as the run ends */
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
        .doc = "how likely each worker is to get the next job: a number for each, which need not add up to "
               "1, as in '0.5 0.3 0.2'; uniform; or optimal, found "
               "from the job times as the run goes on, uniform until every worker has answered" },
    { .name = "jobs",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct gasync_conf, jobs),
        .preset = "workers",
        .word = "workers",
        .min = 1,
        .max = 1e6,
        .doc = "active jobs at all times; they queue at a worker that has several. Fewer of them are less "
               "stale, more keep workers busier" },
    MOT_HUB_OPTIONS,
    { .name = NULL },
};

static double gasync_delay(const void *p, uint32_t workers)
{
    uint64_t jobs = ((const struct gasync_conf *)p)->jobs;
    return (jobs == MOT_WORD_UINT ? workers : (double)jobs) - 1;
}

const struct mot_method mot_method_gasync = {
    .name = "gasync",
    .summary = "asynchronous SGD whose jobs go to workers with given or optimised probabilities, and are "
               "scaled to weigh all data the same",
    .about = "A new job goes to worker i with probability p_i, and its gradient is multiplied by 1 / (n "
             "p_i): whatever p is, every worker's data weigh the same in the "
             "mean. With p uniform it is async with assign: random, at the pace of slow workers' queues. "
             "Giving fast workers more jobs raises the pace and, since "
             "slow ones' gradients count for more then, the noise; p: optimal finds the balance from the job "
             "times.\n"
             "Use it when the workers' data differ, speeds differ, and the server has no memory for a table "
             "of gradients; with that memory, ca2fl and ia2sgd were faster where measured "
             "(docs/async-family.md).\n"
             "Papers: Leconte, Jonckheere, Samsonov, Moulines, Queuing Dynamics of Asynchronous Federated "
             "Learning, AISTATS 2024, Algorithm 1; Alahyane, Comte, "
             "Jonckheere, Moulines, Optimizing Asynchronous Federated Learning, 2025.",
    .options = gasync_options,
    .conf_bytes = sizeof(struct gasync_conf),
    .asynchronous = true,
    .delay = gasync_delay,
    .validate = gasync_validate,
    MOT_SERVED_BY(gasync),
};
