/* malenia.c -- Malenia SGD: minibatch SGD in which every worker's data weigh the same, and the fast ones'
 * extra gradients lessen the noise.
 *
 *   for k = 0, 1, ...:
 *     every worker computes gradients at x(k), one after the other: B_i of worker i so far
 *     collect until the harmonic mean of the B_i reaches S/n:  n / sum_i 1/B_i >= S/n
 *     x(k+1) = x(k) - lr / n * sum_i (the mean of worker i's B_i gradients);  unfinished work is discarded
 *
 * Tyurin and Richtarik, Optimal Time Complexities of Parallel Stochastic Optimization Methods Under a Fixed
 * Computation Model, NeurIPS 2023 (arXiv 2305.12387), Method 6. There the workers finish what they have
 * begun and the server ignores it (`unfinished: finish`). */
#include "method/methods.h"
#include "method/table.h"
#include "method/unfinished.h"

struct malenia_conf {
    struct mot_hub_conf hub;
    uint32_t unfinished;
    uint64_t s;
};

struct malenia {
    struct mot_hub hub;
    struct mot_row row[]; /* [workers]; jobs is B_i */
};

static enum mot_status malenia_validate(const void *p, const struct mot_world *world)
{
    const struct malenia_conf *conf = p;
    if (conf->s < world->workers)
        return mot_fail(MOT_EUSAGE,
            "method.s: %llu gradients, but an update takes at least one from each of the %u workers; "
            "expected %u or more, or 'auto'",
            (unsigned long long)conf->s, world->workers, world->workers);
    return MOT_OK;
}

static struct mot_hub_need malenia_need(const void *p, const struct mot_world *world)
{
    const struct malenia_conf *conf = p;
    struct mot_hub_need need = { .state_bytes =
                                     sizeof(struct malenia) + world->workers * sizeof(struct mot_row),
        .buffers = world->workers + 2 };
    mot_unfinished_need(conf->unfinished, world, &need);
    return need;
}

static void open_round(struct malenia *m, struct mot_env *env)
{
    const struct malenia_conf *conf = env->conf;
    for (mot_node i = 0; i < env->world->workers; i++) {
        const struct mot_seat *seat = mot_hub_seat(&m->hub, i);
        if (seat->away) continue;
        if (seat->active == 0) mot_hub_give(&m->hub, env, i);
        else if (conf->unfinished == MOT_UNFINISHED_CANCEL) mot_hub_replace(&m->hub, env, i);
    }
}

static void malenia_begin(void *state, struct mot_env *env) { open_round(state, env); }

/* n / sum 1/B_i >= S/n. A worker that is away counts with what it gave before; n is the number of those
 * who count. */
static bool enough(const struct malenia *m, const struct mot_env *env)
{
    const struct malenia_conf *conf = env->conf;
    double inverse = 0, n = 0, all = env->world->workers,
           s = conf->s == MOT_WORD_UINT ? all : (double)conf->s;
    for (mot_node i = 0; i < env->world->workers; i++) {
        if (m->row[i].jobs == 0 && mot_hub_seat(&m->hub, i)->away) continue;
        if (m->row[i].jobs == 0) return false;
        inverse += 1.0 / m->row[i].jobs;
        n++;
    }
    /* A hair's breadth of tolerance, so that three thirds make one. */
    return n > 0 && n / inverse >= s / all * (1 - 1e-12);
}

static void close_round(struct malenia *m, struct mot_env *env)
{
    uint32_t n = env->world->workers;
    struct mot_mean mean = mot_rows_mean(env, m->row, n);
    mot_params_step(env, &m->hub.params, mot_whole(env, mean.sum), mean.scale, 1);
    mot_drop(env, mean.sum);
    for (mot_node i = 0; i < n; i++) mot_row_clear(env, &m->row[i]);
    mot_advance(env);
    open_round(m, env);
}

static void malenia_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct malenia *m = state;
    if (a->delay > 0) {
        mot_note(env, "dropped", 1);
    } else {
        mot_hub_credit(env, a->from, 0);
        mot_row_add(env, &m->row[a->from], a);
        if (enough(m, env)) {
            close_round(m, env);
            return;
        }
    }
    mot_hub_give(&m->hub, env, a->from);
}

/* Nobody waits for a worker that is away. */
static void malenia_lost(void *state, struct mot_env *env, mot_node worker, uint32_t jobs)
{
    (void)worker;
    (void)jobs;
    if (enough(state, env)) close_round(state, env);
}

static void malenia_check(const void *state, const struct mot_env *env)
{
    const struct malenia *m = state;
    for (mot_node i = 0; i < env->world->workers; i++)
        MOT_ASSERT(m->row[i].jobs == 0 || m->row[i].oldest == m->hub.params.step);
    MOT_ASSERT(m->hub.present == 0 || !enough(m, env));
}

static const struct mot_served malenia = { .need = malenia_need,
    .begin = malenia_begin,
    .gradient = malenia_gradient,
    .lost = malenia_lost,
    .check = malenia_check };
MOT_SERVED(malenia)

static const struct mot_option malenia_options[] = {
    { .name = "s",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct malenia_conf, s),
        .preset = "auto",
        .word = "auto",
        .min = 1,
        .max = 1e9,
        .doc = "an update waits until the harmonic mean of the workers' gradient counts is s / workers; more "
               "means less noise. auto: the number of workers, so that it waits for one from each" },
    MOT_UNFINISHED_OPTION(struct malenia_conf, unfinished),
    MOT_HUB_OPTIONS,
    { .name = NULL },
};

static void malenia_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    mot_served_traits(p, workers, t);
    t->awaits_all = true;
}

const struct mot_method mot_method_malenia = {
    .name = "malenia",
    .summary = "minibatch SGD in which all data weigh the same and fast workers' extra gradients reduce the "
               "noise",
    .about = "Every worker computes as many gradients at the same model as it can. When there are enough "
             "from all workers (in the harmonic mean), the update takes the mean over workers of each one's "
             "mean. Nothing is stale, no worker's data weigh more because it is fast, and fast workers do "
             "not idle; but an update waits for the slowest worker, and jobs that are unfinished then are "
             "lost (wasted in the summary). The server keeps one gradient per worker.\n"
             "Use it when the workers' data differ and gradients are noisy (small batches), so that the "
             "extra ones are worth having. If a straggler makes updates rare, ringleader, ia2sgd and ca2fl "
             "make more of them in the same time.\n"
             "Paper: Tyurin, Richtarik, Optimal Time Complexities of Parallel Stochastic Optimization "
             "Methods Under a Fixed Computation Model, NeurIPS 2023, Method 6.",
    .options = malenia_options,
    .conf_bytes = sizeof(struct malenia_conf),
    .traits = malenia_traits,
    .advise = mot_advise_served,
    .validate = malenia_validate,
    MOT_SERVED_BY(malenia),
};
