/* ia2sgd.c -- incremental aggregated asynchronous SGD: every step goes along the mean of all
 * workers' latest gradients.
 *
 *   wait for a gradient of every worker: m = their mean                  (start: zero: m = 0, no waiting)
 *   on `wait` new gradients g_i:  m += (g_i - the previous one of i) / n for each;  x -= lr * m;
 *     then jobs at the new x for their workers
 *
 * Wang, Sun, Wai and Zhang, Dual-Delayed Asynchronous SGD for Arbitrarily Heterogeneous Data (DuDe-ASGD),
 * arXiv 2405.16966; its semi-asynchronous form waits for several workers. The same as IA2SGD in Maranjyan and
 * Richtarik, Ringleader ASGD, ICLR 2026.
 *
 * A running sum would keep the rounding errors of the beginning, when gradients are large, for ever. So it is
 * recomputed from the table every n gradients, which doubles the cost of keeping it. */
#include "method/methods.h"
#include "method/table.h"
#include <stdio.h>

enum start { START_WAIT, START_ZERO };
struct ia2sgd_conf {
    struct mot_hub_conf hub;
    uint32_t start;
    uint64_t wait;
};

struct ia2sgd {
    struct mot_hub hub;
    uint32_t filled; /* rows in use */
    uint32_t got;    /* gradients since the last update */
    uint32_t since;  /* and since the total was recomputed */
    mot_buf total;   /* the sum of the rows' means: n m */
    /* [workers], then a uint32_t per worker: whether it waits for the update */
    struct mot_row row[];
};

static uint32_t *waits_of(const struct ia2sgd *s, const struct mot_env *env)
{
    return (uint32_t *)(uintptr_t)(s->row + env->world->workers);
}

static enum mot_status ia2sgd_validate(const void *p, const struct mot_world *world)
{
    const struct ia2sgd_conf *conf = p;
    if (conf->wait > world->workers)
        return mot_fail(MOT_EUSAGE,
            "method.wait: an update waits for %llu workers, but there are %u; expected 1 to %u",
            (unsigned long long)conf->wait, world->workers, world->workers);
    return MOT_OK;
}

static struct mot_hub_need ia2sgd_need(const void *conf, const struct mot_world *world)
{
    (void)conf;
    return (struct mot_hub_need){ .state_bytes = sizeof(struct ia2sgd) +
            world->workers * (sizeof(struct mot_row) + sizeof(uint32_t)),
        .buffers = world->workers + 3,
        .queue = 1 };
}

static void take_total(struct ia2sgd *s, struct mot_env *env)
{
    mot_drop(env, s->total);
    s->total = mot_rows_total(env, s->row, env->world->workers);
    s->filled = mot_rows_filled(s->row, env->world->workers);
    s->since = 0;
}

static void ia2sgd_begin(void *state, struct mot_env *env)
{
    take_total(state, env);
    for (mot_node i = 0; i < env->world->workers; i++) mot_hub_give(state, env, i);
}

/* Whether everyone who is there has sent a gradient at least once. A worker that comes back later is missing
 * until its first gradient, and is not waited for. */
static bool begun(const struct ia2sgd *s, const struct mot_env *env)
{
    const struct ia2sgd_conf *conf = env->conf;
    if (conf->start == START_ZERO || s->hub.params.step > env->world->step0) return true;
    for (mot_node i = 0; i < env->world->workers; i++)
        if (s->row[i].jobs == 0 && !mot_hub_seat(&s->hub, i)->away) return false;
    return true;
}

/* If the table starts with zeros, m is the mean over all workers from the first step on. */
static uint32_t divisor(const struct ia2sgd *s, const struct mot_env *env)
{
    const struct ia2sgd_conf *conf = env->conf;
    return conf->start == START_ZERO && s->hub.present > s->filled ? s->hub.present : s->filled;
}

/* Makes the update if all that it waits for is in, and gives waiting workers jobs. */
static void consider(struct ia2sgd *s, struct mot_env *env)
{
    const struct ia2sgd_conf *conf = env->conf;
    uint32_t n = env->world->workers, busy = s->hub.active;
    if (s->got == 0 || !begun(s, env) || (s->got < conf->wait && busy > 0)) return;
    if (s->since >= n) take_total(s, env);
    mot_note(env, "table_age", (double)mot_rows_age(s->row, n, s->hub.params.step));
    mot_params_step(env, &s->hub.params, mot_whole(env, s->total), 1.0 / divisor(s, env), 1);
    mot_advance(env);
    s->got = 0;
    for (mot_node i = 0; i < n; i++) {
        if (waits_of(s, env)[i] && !mot_hub_seat(&s->hub, i)->away) mot_hub_give(&s->hub, env, i);
        waits_of(s, env)[i] = false;
    }
}

static void ia2sgd_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct ia2sgd *s = state;
    struct mot_row *row = &s->row[a->from];
    mot_hub_credit(env, a->from, a->delay);
    s->filled += row->jobs == 0;
    mot_total_add(env, s->total, row, -1);
    mot_row_set(env, row, a->grad.buf, a->samples, a->round);
    mot_total_add(env, s->total, row, 1);
    s->got++;
    s->since++;
    waits_of(s, env)[a->from] = true;
    consider(s, env);
}

/* Otherwise its last gradient would pull for ever towards where the model once was. */
static void ia2sgd_lost(void *state, struct mot_env *env, mot_node worker, uint32_t jobs)
{
    struct ia2sgd *s = state;
    (void)jobs;
    if (waits_of(s, env)[worker]) s->got--;
    waits_of(s, env)[worker] = false;
    mot_row_clear(env, &s->row[worker]);
    take_total(s, env);
    consider(s, env);
}

static void ia2sgd_check(const void *state, const struct mot_env *env)
{
    const struct ia2sgd *s = state;
    uint32_t waiting = 0;
    for (mot_node i = 0; i < env->world->workers; i++) waiting += waits_of(s, env)[i];
    MOT_ASSERT(waiting == s->got && s->filled == mot_rows_filled(s->row, env->world->workers));
}

static const struct mot_served ia2sgd = { .need = ia2sgd_need,
    .begin = ia2sgd_begin,
    .gradient = ia2sgd_gradient,
    .lost = ia2sgd_lost,
    .check = ia2sgd_check };
MOT_SERVED(ia2sgd)

static const struct mot_option ia2sgd_options[] = {
    { .name = "start",
        .type = MOT_OPT_CHOICE,
        .offset = offsetof(struct ia2sgd_conf, start),
        .preset = "wait",
        .choices = "wait|zero",
        .doc = "the first step waits for a gradient of every worker, or uses those that are there and zeros "
               "for the others" },
    { .name = "wait",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct ia2sgd_conf, wait),
        .preset = "1",
        .min = 1,
        .max = 1e6,
        .doc = "new gradients that an update waits for, from as many workers, which idle until then" },
    MOT_HUB_OPTIONS,
    { .name = NULL },
};

/* The oldest row counts, since the step goes along all rows: the delay of its job when it arrived, plus
 * its time in the table. */
static double ia2sgd_delay(const void *p, uint32_t workers)
{
    return 2 * ((double)workers / (double)((const struct ia2sgd_conf *)p)->wait - 1);
}

static void ia2sgd_advise(const void *p, const struct mot_situation *s, char *into, size_t size)
{
    if (s->kind == MOT_WHEN_WAITING) snprintf(into, size, "`--method-wait 1`");
    else mot_advise_served(p, s, into, size);
}

static void ia2sgd_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    mot_served_traits(p, workers, t);
    const struct ia2sgd_conf *conf = p;
    t->asynchronous = true;
    t->batches = 1;
    t->round = conf->wait == 1 ? 0 : conf->wait < workers ? (uint32_t)conf->wait : workers;
    t->delay = ia2sgd_delay(p, workers);
}

const struct mot_method mot_method_ia2sgd = {
    .name = "ia2sgd",
    .summary = "asynchronous SGD along the mean of all workers' latest gradients",
    .about = "The server keeps the latest gradient of every worker; a new one replaces its worker's last, "
             "and each step follows the mean of the table. So every worker's data weigh the same, at the "
             "pace of pure asynchronous SGD. The price: the rows of slow workers are as old as their jobs "
             "are long (table_age in the summary), which limits the learning rate, and fast workers' noise "
             "is not averaged. The server keeps one gradient per worker. Also known as DuDe-ASGD, whose "
             "semi-asynchronous form is `wait`.\n"
             "Use it when the workers' data differ. When speeds differ a lot, ringleader keeps the table "
             "younger, at the price of fewer updates: measure both.\n"
             "Papers: Wang, Sun, Wai, Zhang, Dual-Delayed Asynchronous SGD for Arbitrarily Heterogeneous "
             "Data, 2024; Maranjyan, Richtarik, Ringleader ASGD, ICLR 2026.",
    .options = ia2sgd_options,
    .conf_bytes = sizeof(struct ia2sgd_conf),
    .traits = ia2sgd_traits,
    .advise = ia2sgd_advise,
    .validate = ia2sgd_validate,
    MOT_SERVED_BY(ia2sgd),
};
