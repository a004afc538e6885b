#include "method/local.h"
#include "math/kernels.h"
#include "math/optim.h"

uint64_t mot_local_samples(
    const struct mot_local_steps *local, const struct mot_world *world, mot_node worker)
{
    if (local->steps) return (uint64_t)world->batch[worker] * local->steps;
    return world->part_rows[worker] * local->epochs;
}

static struct mot_need local_need(const struct mot_world *world, uint32_t queue)
{
    (void)world;
    (void)queue;
    /* The job's model, the present one, the next, the previous, the sum, a gradient with its proximal term; a
     * sum in flight to the server. */
    return (struct mot_need){
        .state_bytes = sizeof(struct mot_local), .buffers = 8, .sends = 1, .works = 1, .terms = 1
    };
}

static void local_init(void *state, struct mot_env *env, uint32_t queue, bool looks)
{
    struct mot_local *l = state;
    (void)queue;
    (void)looks; /* always checks */
    l->draw = mot_first_draw(env);
    mot_packer_go_on(env, &l->packer, 0);
}

static const struct mot_packer *local_packer(const void *state, uint32_t server)
{
    MOT_ASSERT(server == 0 && "one server");
    return &((const struct mot_local *)state)->packer;
}

static void compute(struct mot_local *l, struct mot_env *env, const struct mot_local_steps *local)
{
    uint32_t samples = env->world->batch[env->self];
    if (!local->steps) {
        uint64_t rows = env->world->part_rows[env->self], left = rows ? rows - l->samples % rows : 1;
        if (left < samples) samples = (uint32_t)left;
    }
    mot_start_own(env, ++l->tag, l->draw, samples, l->y, MOT_NEVER);
}

static void model_came(struct mot_local *l, struct mot_env *env, const struct mot_message *m,
    const struct mot_local_steps *local)
{
    MOT_ASSERT(m->kind == MOT_MSG_MODEL && l->y == MOT_NO_BUF && "one job at a time");
    l->round = m->head.round;
    l->y = mot_hold(env, m->body.buf);
    if (local->proximal > 0) l->x = mot_hold(env, m->body.buf);
    l->done = l->samples = 0;
    l->loss = 0;
    compute(l, env, local);
}

/* The gradient with its proximal term: FedProx adds mu / 2 |y - x|^2 to the loss of a sample. */
static mot_buf pulled(
    const struct mot_local *l, struct mot_env *env, const struct mot_result *w, double proximal)
{
    if (l->x == MOT_NO_BUF || l->x == l->y) return mot_hold(env, w->grad);
    mot_buf out = mot_take(env);
    float mu = (float)(proximal * w->samples), weight[3] = { 1, mu, -mu };
    const float *const in[3] = { mot_read(env, w->grad), mot_read(env, l->y), mot_read(env, l->x) };
    float *to = mot_edit(env, out);
    mot_kernels()->sum(mot_trained(env->world), 3, weight, in, to);
    for (uint32_t i = mot_trained(env->world); i < env->world->dim; i++) to[i] = in[0][i];
    return out;
}

/* A batch cut short by the end of the data, or of an epoch, counts as a whole one: its mean goes into the sum
 * like any other. */
static void add(struct mot_local *l, struct mot_env *env, mot_buf grad, uint32_t samples)
{
    const struct mot_kernels *k = mot_kernels();
    uint32_t dim = env->world->dim, batch = env->world->batch[env->self];
    float weight = (float)((double)batch / samples);
    if (l->sum == MOT_NO_BUF && samples == batch) {
        l->sum = mot_hold(env, grad);
        l->own = false;
        return;
    }
    if (!l->own || l->sum == MOT_NO_BUF) {
        mot_buf sum = mot_take(env);
        const float one = 1, *before = mot_read(env, l->sum == MOT_NO_BUF ? env->world->zero : l->sum);
        k->sum(dim, 1, &one, &before, mot_edit(env, sum));
        mot_drop(env, l->sum);
        l->sum = sum;
        l->own = true;
    }
    k->axpy(dim, weight, mot_read(env, grad), mot_edit(env, l->sum));
}

static void descend(struct mot_local *l, struct mot_env *env, mot_buf grad, uint32_t samples)
{
    const struct mot_kernels *k = mot_kernels();
    const struct mot_optim *o = env->world->optim;
    double rate = mot_schedule_rate(&o->schedule, o->conf.lr, l->round);
    mot_buf y = mot_take(env);
    float weight[2] = { 1, (float)(-rate / samples) };
    const float *const in[2] = { mot_read(env, l->y), mot_read(env, grad) };
    float *to = mot_edit(env, y);
    k->sum(mot_trained(env->world), 2, weight, in, to);
    mot_statistics_step(o->net, 0, env->world->dim, in[1], 1.0 / samples, in[0], to);
    mot_drop(env, l->y);
    l->y = y;
}

static void work_came(
    struct mot_local *l, struct mot_env *env, const struct mot_result *w, const struct mot_local_steps *local)
{
    MOT_ASSERT(l->y != MOT_NO_BUF && w->tag == l->tag);
    l->draw += w->samples;
    if (w->samples > 0) {
        mot_buf grad = pulled(l, env, w, local->proximal);
        l->samples += w->samples;
        l->loss += w->loss;
        l->done++;
        add(l, env, grad, w->samples);
        bool more = local->steps ? l->done < local->steps
                                 : l->samples < mot_local_samples(local, env->world, env->self);
        if (more) {
            descend(l, env, grad, w->samples);
            compute(l, env, local);
        }
        mot_drop(env, grad);
        if (more) return;
    }
    mot_buf sum = l->sum == MOT_NO_BUF ? w->grad : l->sum;
    struct mot_head head = {
        .round = l->round, .samples = l->samples, .value = mot_told_loss(env, sum, l->samples, l->loss)
    };
    double weight = l->samples ? env->world->batch[env->self] : 0; /* of mean gradients */
    struct mot_slice body = mot_pack(env, &l->packer, mot_whole(env, sum), weight);
    mot_send(env, env->world->workers, MOT_MSG_GRAD, head, body);
    mot_drop(env, body.buf);
    mot_drop(env, l->sum);
    mot_drop(env, l->y);
    mot_drop(env, l->x);
    l->sum = l->y = l->x = MOT_NO_BUF;
    l->own = false;
}

static void local_step(
    const struct mot_served *rule, void *state, struct mot_env *env, const struct mot_event *event)
{
    struct mot_local *l = state;
    struct mot_local_steps local = rule->local_steps(env->conf);
    switch (event->kind) {
    case MOT_EV_START: return; /* the server speaks first */
    case MOT_EV_MESSAGE: model_came(l, env, event->message, &local); return;
    case MOT_EV_WORK: work_came(l, env, event->work, &local); return;
    case MOT_EV_PEER:
        if (event->peer.node >= env->world->workers && !event->peer.up) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_COLL:
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"local steps asked for none of these"); return;
    }
}

static bool local_admits(const void *state, const struct mot_env *env, const struct mot_message *m)
{
    const struct mot_local *l = state;
    return m->kind == MOT_MSG_MODEL && m->from >= env->world->workers && l->y == MOT_NO_BUF &&
        m->head.round >= l->round && m->head.samples == 0 && m->head.value == 0 &&
        mot_body_is(m, mot_whole(env, m->body.buf));
}

static void local_check(const void *state, const struct mot_env *env, uint32_t queue)
{
    const struct mot_local *l = state;
    (void)env;
    (void)queue;
    MOT_ASSERT(l->y != MOT_NO_BUF || l->sum == MOT_NO_BUF);
    MOT_ASSERT((l->sum != MOT_NO_BUF) == (l->done > 0) || l->y == MOT_NO_BUF);
}

static uint64_t local_samples_most(
    const struct mot_served *rule, const void *server, const struct mot_env *env, mot_node worker)
{
    struct mot_local_steps local = rule->local_steps(env->conf);
    (void)server;
    return mot_local_samples(&local, env->world, worker);
}

const struct mot_worker_side mot_local_side = { .need = local_need,
    .init = local_init,
    .step = local_step,
    .check = local_check,
    .admits = local_admits,
    .packer = local_packer,
    .samples_most = local_samples_most };
