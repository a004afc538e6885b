/* ringleader.c -- Ringleader ASGD: asynchronous SGD along the mean of a table with gradients of all workers,
 * none of them older than two rounds.
 *
 *   Phase 1:  until every worker is in the table: G_i += g, b_i += 1, and another job at x(k) for i
 *   Phase 2:  one step for each worker, along the mean over workers of G_i / b_i: first for the last of
 *             phase 1, then for each of the others as it reports, with its gradient in the table; it gets a
 *             job at the new model
 *             a worker that reports again adds to the next round's table, and gets a job at x(k)
 *   then the next round's table becomes the table
 *
 * So a round is exactly n steps, and no gradient in the table is more than 2n - 2 steps old.
 * Maranjyan and Richtarik, Ringleader ASGD: The First Asynchronous SGD with Optimal Time
 * Complexity under Data Heterogeneity, ICLR 2026 (arXiv 2509.22860), Algorithm 1. */
#include "method/methods.h"
#include "method/table.h"

struct ringleader_conf {
    struct mot_hub_conf hub;
};

struct ringleader {
    struct mot_hub hub;
    uint32_t owed;   /* steps of phase 2 still to make; 0: phase 1 */
    mot_buf total;   /* phase 2: the sum of the rows' means */
    uint32_t now;    /* index of this round's table */
    uint32_t filled; /* phase 2: rows in it */
    /* [2][workers], then a uint32_t per worker: whether its step is owed */
    struct mot_row row[];
};

static struct mot_row *table_of(struct ringleader *r, const struct mot_env *env, bool next)
{
    return r->row + (r->now ^ next) * (size_t)env->world->workers;
}

static uint32_t *owed_to(struct ringleader *r, const struct mot_env *env)
{
    return (uint32_t *)(void *)(r->row + 2 * (size_t)env->world->workers);
}

static struct mot_hub_need ringleader_need(const void *conf, const struct mot_world *world)
{
    (void)conf;
    return (struct mot_hub_need){ .state_bytes = sizeof(struct ringleader) +
            world->workers * (2 * sizeof(struct mot_row) + sizeof(uint32_t)),
        .buffers = 2 * world->workers + 3,
        .queue = 1 };
}

static void ringleader_begin(void *state, struct mot_env *env)
{
    for (mot_node i = 0; i < env->world->workers; i++) mot_hub_give(state, env, i);
}

static void step(struct ringleader *r, struct mot_env *env)
{
    mot_note(env, "table_age",
        (double)mot_rows_age(table_of(r, env, false), env->world->workers, r->hub.params.step));
    mot_params_step(env, &r->hub.params, mot_whole(env, r->total), 1.0 / r->filled, 1);
    mot_advance(env);
}

/* Whether the table has every worker that is not away, and at least one. */
static bool all_in(struct ringleader *r, const struct mot_env *env)
{
    bool some = false;
    for (mot_node i = 0; i < env->world->workers; i++) {
        bool in = table_of(r, env, false)[i].jobs > 0;
        if (!in && !mot_hub_seat(&r->hub, i)->away) return false;
        some = some || in;
    }
    return some;
}

static void end_round(struct ringleader *r, struct mot_env *env)
{
    mot_drop(env, r->total);
    r->total = MOT_NO_BUF;
    for (mot_node i = 0; i < env->world->workers; i++) mot_row_clear(env, &table_of(r, env, false)[i]);
    r->now ^= 1;
}

/* The first step of phase 2 is for the last worker of phase 1; workers that are away get none. */
static void begin_steps(struct ringleader *r, struct mot_env *env, mot_node last)
{
    uint32_t n = env->world->workers;
    r->total = mot_rows_total(env, table_of(r, env, false), n);
    r->filled = mot_rows_filled(table_of(r, env, false), n);
    r->owed = 0;
    for (mot_node i = 0; i < n; i++)
        r->owed += owed_to(r, env)[i] = i != last && !mot_hub_seat(&r->hub, i)->away;
    step(r, env);
    if (r->owed == 0) end_round(r, env);
}

/* Ends phase 1 if it is over. A round whose table is already full when it begins needs another look. */
static void consider(struct ringleader *r, struct mot_env *env, mot_node last)
{
    if (r->owed == 0 && all_in(r, env)) begin_steps(r, env, last);
}

static void ringleader_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct ringleader *r = state;
    struct mot_row *row = &table_of(r, env, false)[a->from];
    mot_hub_credit(env, a->from, a->delay);
    if (r->owed == 0) {
        mot_row_add(env, row, a);
        consider(r, env, a->from);
    } else if (owed_to(r, env)[a->from]) {
        mot_total_add(env, r->total, row, -1);
        mot_row_add(env, row, a);
        mot_total_add(env, r->total, row, 1);
        owed_to(r, env)[a->from] = false;
        r->owed--;
        step(r, env);
        if (r->owed == 0) end_round(r, env);
    } else {
        mot_row_add(env, &table_of(r, env, true)[a->from], a);
    }
    mot_hub_give(&r->hub, env, a->from);
}

/* Nobody waits for a worker that is away, and it is owed no step. Its gradients stay in their round's
 * table. */
static void ringleader_lost(void *state, struct mot_env *env, mot_node worker, uint32_t jobs)
{
    struct ringleader *r = state;
    (void)jobs;
    if (r->owed && owed_to(r, env)[worker]) {
        owed_to(r, env)[worker] = false;
        if (--r->owed == 0) end_round(r, env);
    }
    consider(r, env, worker);
}

static void ringleader_check(const void *state, const struct mot_env *env)
{
    struct ringleader *r = (struct ringleader *)(uintptr_t)state;
    uint32_t n = env->world->workers, owed = 0;
    for (mot_node i = 0; i < n; i++) owed += owed_to(r, env)[i];
    MOT_ASSERT(owed == r->owed && (r->owed > 0) == (r->total != MOT_NO_BUF));
    if (r->owed) MOT_ASSERT(r->filled == mot_rows_filled(table_of(r, env, false), n));
    else MOT_ASSERT(r->hub.present == 0 || mot_rows_filled(table_of(r, env, true), n) == 0);
    MOT_ASSERT(mot_rows_age(table_of(r, env, false), n, r->hub.params.step) < 2 * n);
}

static const struct mot_served ringleader = { .need = ringleader_need,
    .begin = ringleader_begin,
    .gradient = ringleader_gradient,
    .lost = ringleader_lost,
    .check = ringleader_check };
MOT_SERVED(ringleader)

static const struct mot_option ringleader_options[] = { MOT_HUB_OPTIONS, { .name = NULL } };

static void ringleader_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    mot_served_traits(p, workers, t);
    t->asynchronous = true;
    t->awaits_all = true; /* first to fill the table, then for the step of each */
    t->batches = 1;
    t->round = 0;
    t->delay = 2 * ((double)workers - 1); /* of the oldest row: the step goes along all rows */
}

const struct mot_method mot_method_ringleader = {
    .name = "ringleader",
    .summary = "asynchronous SGD along the mean of all workers' gradients, with bounded age and no waste",
    .about =
        "The server keeps a table with the gradients of every worker, and each step follows the mean over "
        "workers of each one's mean, so that all data weigh the same whatever the speeds. It works in "
        "rounds: first it waits until every worker is in the table, then it takes exactly one step for each "
        "worker as it reports again. Fast workers' extra gradients reduce the noise of their row; none is "
        "discarded, and nobody idles. No gradient in use is more than 2n - 2 steps old (table_age in the "
        "summary). The server keeps up to two gradients per worker.\n"
        "Use it when both speeds and data differ, and also measure ia2sgd and ca2fl: depending on the "
        "problem it was as fast as they are or several times slower (docs/async-family.md). The mean over a "
        "whole table allows about the learning rate of a synchronous method divided by the number of "
        "workers.\n"
        "Paper: Maranjyan, Richtarik, Ringleader ASGD: The First Asynchronous SGD with Optimal Time "
        "Complexity under Data Heterogeneity, ICLR 2026, Algorithm 1.",
    .options = ringleader_options,
    .conf_bytes = sizeof(struct ringleader_conf),
    .traits = ringleader_traits,
    .advise = mot_advise_served,
    MOT_SERVED_BY(ringleader),
};
