/* ca2fl.c -- CA2FL: FedBuff, calibrated by what every worker sent last.
 *
 *   Worker:  Q steps of SGD from the model it was given; sends D_i = x - y(Q) (local.h)
 *   Server:  h_i: the last D of worker i, 0 before the first;  h = the mean of the h_i over all workers
 *            at K arrivals:  v = h + 1/K * sum (D_i - h_i);  x -= server_rate * v;  h_i = D_i of those
 *
 * So what they sent last stands in for workers that are not among the K, and fast workers' data weighs no
 * more. Wang, Cao, Wu, Chen and Chen, Tackling the Data Heterogeneity in Asynchronous Federated Learning with
 * Cached Update Calibration, ICLR 2024, Algorithm 2. */
#include "math/kernels.h"
#include "method/buffered.h"
#include "method/methods.h"
#include "method/table.h"

/* The rows, mot_row[workers], follow the buffer: the h_i. */
struct cache {
    mot_buf total;
    uint32_t since;
    struct mot_row row[];
};

static struct cache *cache_of(const void *state, const struct mot_env *env)
{
    return (struct cache *)(void *)((char *)(uintptr_t)state + mot_buffered_bytes(env->conf, env->world));
}

static struct mot_hub_need ca2fl_need(const void *conf, const struct mot_world *world)
{
    struct mot_hub_need need = mot_buffered_need(conf, world);
    need.state_bytes += sizeof(struct cache) + world->workers * sizeof(struct mot_row);
    need.buffers += world->workers + 1;
    return need;
}

/* As in ia2sgd: recomputed every so often, since a running sum accumulates rounding errors. */
static void take_total(struct cache *c, struct mot_env *env)
{
    mot_drop(env, c->total);
    c->total = mot_rows_total(env, c->row, env->world->workers);
    c->since = 0;
}

static void ca2fl_begin(void *state, struct mot_env *env)
{
    take_total(cache_of(state, env), env);
    mot_buffered_begin(state, env);
}

/* K v = K h + sum (D_i - h_i) */
static mot_buf calibrated(const struct mot_buffered *b, const struct cache *c, struct mot_env *env)
{
    const struct mot_kernels *k = mot_kernels();
    mot_buf sum = mot_take(env);
    float *to = mot_edit(env, sum), share = (float)b->k / (float)b->hub.present;
    const float *total = mot_read(env, c->total);
    k->sum(env->world->dim, 1, &share, &total, to);
    for (uint32_t i = 0; i < b->count; i++) {
        const struct mot_row *row = &c->row[b->in[i].from];
        k->axpy(env->world->dim, (float)b->in[i].weight, mot_read(env, b->in[i].sum), to);
        if (row->sum != MOT_NO_BUF)
            k->axpy(env->world->dim, (float)(-1.0 / (double)row->samples), mot_read(env, row->sum), to);
    }
    return sum;
}

static void ca2fl_gradient(void *state, struct mot_env *env, const struct mot_answer *a)
{
    struct mot_buffered *b = state;
    struct cache *c = cache_of(state, env);
    uint32_t n = env->world->workers;
    if (mot_buffered_put(b, env, a, 1.0 / env->world->batch[a->from])) {
        if (c->since >= n) take_total(c, env);
        mot_note(env, "table_age", (double)mot_rows_age(c->row, n, b->hub.params.step));
        mot_buf sum = calibrated(b, c, env);
        for (uint32_t i = 0; i < b->count; i++, c->since++) {
            struct mot_row *row = &c->row[b->in[i].from];
            /* it left between its report and the update */
            if (mot_hub_seat(&b->hub, b->in[i].from)->away) continue;
            mot_total_add(env, c->total, row, -1);
            mot_row_set(env, row, b->in[i].sum, b->in[i].batch, b->in[i].round);
            mot_total_add(env, c->total, row, 1);
        }
        mot_buffered_step(b, env, sum, 1.0 / b->k);
        mot_drop(env, sum);
    }
    mot_buffered_assign(b, env, a->from);
}

/* Otherwise its last gradient would pull for ever. */
static void ca2fl_lost(void *state, struct mot_env *env, mot_node worker, uint32_t jobs)
{
    struct cache *c = cache_of(state, env);
    mot_row_clear(env, &c->row[worker]);
    take_total(c, env);
    mot_buffered_lost(state, env, worker, jobs);
}

static const struct mot_served ca2fl = { .need = ca2fl_need,
    .begin = ca2fl_begin,
    .gradient = ca2fl_gradient,
    .lost = ca2fl_lost,
    .back = mot_buffered_assign,
    .refused = mot_buffered_assign,
    .check = mot_buffered_check,
    .local_steps = mot_buffered_steps };
MOT_SERVED(ca2fl)

static const struct mot_option ca2fl_options[] = { MOT_BUFFERED_OPTIONS, { .name = NULL } };

static void ca2fl_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    mot_served_traits(p, workers, t);
    t->asynchronous = true;
    t->batches = 1;
    t->round = 0;
    t->in_turn = mot_buffered_in_turn(p);
    t->delay = mot_buffered_delay(p, workers);
}

const struct mot_method mot_method_ca2fl = {
    .name = "ca2fl",
    .summary = "FedBuff calibrated with every worker's latest report, so that all data weigh the same",
    .about = "As with fedbuff, a worker takes some local steps of SGD and reports how far it went, and the "
             "server makes an update for every K reports. It keeps the latest report of each worker, which "
             "stands in for the workers that are not among the K: so every worker's data weigh the same in "
             "every update. The server keeps one vector of the model's size per worker.\n"
             "Use it instead of fedbuff when the workers' data differ. With one local step, k: 1 and few "
             "workers it is much like ia2sgd.\n"
             "Paper: Wang, Cao, Wu, Chen, Chen, Tackling the Data Heterogeneity in Asynchronous Federated "
             "Learning with Cached Update Calibration, ICLR 2024, Algorithm 2.",
    .options = ca2fl_options,
    .conf_bytes = sizeof(struct mot_buffered_conf),
    .traits = ca2fl_traits,
    .advise = mot_buffered_advise,
    MOT_SERVED_BY(ca2fl),
};
