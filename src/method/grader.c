#include "method/grader.h"
#include "math/kernels.h"
#include "method/hub_parts.h"
#include <math.h>
#include <string.h>

#define LIMIT_MOST 9e9 /* seconds, 285 years: the clock holds no more */

static size_t numbers_of(uint32_t queue, uint32_t servers) { return servers + (size_t)(queue + 1) * servers; }

/* The rounds, one per server, of job number `k` in the queue; `queue_max`: of the running job. */
static uint64_t *rounds_at(const struct mot_grader *g, uint32_t place)
{
    return (uint64_t *)(uintptr_t)g->numbers + g->servers + (size_t)place * g->servers;
}

static struct mot_grader_job *queue_at(const struct mot_grader *g, uint64_t k)
{
    const uint64_t *end = g->numbers + numbers_of(g->queue_max, g->servers);
    return (struct mot_grader_job *)(uintptr_t)end + k % g->queue_max;
}

static struct mot_packer *packer_of(const struct mot_grader *g, uint32_t server)
{
    return (struct mot_packer *)(void *)(queue_at(g, 0) + g->queue_max) + server;
}

static struct mot_need grader_need(const struct mot_world *world, uint32_t queue)
{
    size_t numbers = numbers_of(queue, world->servers);
    /* The models of its jobs, and their gradients in flight to the servers. */
    return (struct mot_need){ .state_bytes = sizeof(struct mot_grader) + numbers * sizeof(uint64_t) +
            queue * sizeof(struct mot_grader_job) + world->servers * sizeof(struct mot_packer),
        .buffers = 2 * queue,
        .sends = queue * world->servers,
        .works = 1,
        .terms = 1 };
}

static void grader_init(void *state, struct mot_env *env, uint32_t queue, bool looks)
{
    struct mot_grader *g = state;
    g->looks = looks;
    g->draw = mot_first_draw(env);
    g->queue_max = queue;
    g->servers = env->world->servers;
    for (uint32_t server = 0; env->world->left && server < g->servers; server++)
        mot_packer_go_on(env, packer_of(g, server), server);
}

static const struct mot_packer *grader_packer(const void *state, uint32_t server)
{
    return packer_of(state, server);
}

/* The job holds the model from here on. */
static void begin(struct mot_grader *g, struct mot_env *env, mot_buf at, double limit_s)
{
    g->begun++;
    g->busy = true;
    g->tag++;
    g->until = limit_s > 0 ? env->now + (mot_time)(limit_s * 1e9) : MOT_NEVER;
    mot_start_own(env, g->tag, g->draw, env->world->batch[env->self], at, g->until);
}

/* Begins the next job, if it is complete and none runs. */
static void begin_next(struct mot_grader *g, struct mot_env *env)
{
    if (g->busy || g->begun == g->numbers[0]) return;
    struct mot_grader_job *next = queue_at(g, g->begun), job = *next;
    if (next->here < g->servers) return;
    *next = (struct mot_grader_job){ 0 };
    const uint64_t *rounds = rounds_at(g, (uint32_t)(g->begun % g->queue_max));
    for (uint32_t server = 0; server < g->servers; server++)
        rounds_at(g, g->queue_max)[server] = rounds[server];
    begin(g, env, job.at, job.limit_s);
    mot_drop(env, job.at);
}

static void give_up_all(struct mot_grader *g, struct mot_env *env)
{
    MOT_ASSERT(g->servers == 1 && "one of several servers cannot take back what the others have given");
    if (g->busy && g->given_up == 0) {
        mot_cancel(env, g->tag);
        g->given_up = 1;
    }
    for (; g->begun < g->numbers[0]; g->begun++, g->given_up++) {
        mot_drop(env, queue_at(g, g->begun)->at);
        *queue_at(g, g->begun) = (struct mot_grader_job){ 0 };
    }
}

static void model_came(struct mot_grader *g, struct mot_env *env, const struct mot_message *m)
{
    uint32_t server = m->from - env->world->workers;
    MOT_ASSERT(m->kind == MOT_MSG_MODEL || m->kind == MOT_MSG_REPLACE);
    if (m->kind == MOT_MSG_REPLACE) give_up_all(g, env);
    uint64_t k = g->numbers[server]++;
    MOT_ASSERT(k - g->begun < g->queue_max && "a server sends no more than the queue holds");
    if (g->servers == 1 && !g->busy) { /* idle, so nothing is queued either */
        rounds_at(g, g->queue_max)[0] = m->head.round;
        begin(g, env, m->body.buf, m->head.value);
        return;
    }
    struct mot_grader_job *job = queue_at(g, k);
    rounds_at(g, (uint32_t)(k % g->queue_max))[server] = m->head.round;
    job->limit_s = m->head.value;
    if (g->servers == 1) {
        job->at = mot_hold(env, m->body.buf);
    } else {
        if (job->here == 0) job->at = mot_take(env);
        struct mot_slice to = { .buf = job->at, .off = m->body.off, .len = m->body.len };
        memcpy(mot_edit_slice(env, to), mot_read(env, m->body.buf) + to.off, to.len * sizeof(float));
    }
    job->here++;
    begin_next(g, env);
}

double mot_told_loss(const struct mot_env *env, mot_buf grad, uint32_t samples, double loss)
{
    const struct mot_hub_conf *conf = env->conf;
    if (samples == 0 || conf->guard == MOT_GUARD_OFF) return loss;
    return mot_kernels()->finite(env->world->dim, mot_read(env, grad)) ? loss : NAN;
}

static void work_came(struct mot_grader *g, struct mot_env *env, const struct mot_result *w)
{
    MOT_ASSERT(g->busy && w->tag == g->tag);
    bool too_long = env->now >= g->until && w->samples < env->world->batch[env->self];
    bool given_up = g->given_up || too_long;
    uint16_t kind = given_up ? MOT_MSG_GAVE_UP : MOT_MSG_GRAD;
    struct mot_head head = { .samples = w->samples, .value = w->loss };
    if (given_up) head.value = g->given_up ? g->given_up : 1;
    else if (g->looks) head.value = mot_told_loss(env, w->grad, w->samples, w->loss);
    g->busy = false;
    g->draw += w->samples;
    g->given_up = 0;
    for (uint32_t server = 0; server < g->servers; server++) {
        head.round = rounds_at(g, g->queue_max)[server];
        struct mot_slice body = { .buf = MOT_NO_BUF };
        if (!given_up) body = mot_shard(env, w->grad, server, g->servers);
        bool packs = env->world->compress && !given_up; /* saves tens of instructions per simulated job */
        if (packs) body = mot_pack(env, packer_of(g, server), body, w->samples);
        mot_send(env, env->world->workers + server, kind, head, body);
        if (packs) mot_drop(env, body.buf);
    }
    begin_next(g, env);
}

static void grader_step(
    const struct mot_served *rule, void *state, struct mot_env *env, const struct mot_event *event)
{
    struct mot_grader *g = state;
    (void)rule;
    switch (event->kind) {
    case MOT_EV_START: return; /* the server speaks first */
    case MOT_EV_MESSAGE: model_came(g, env, event->message); return;
    case MOT_EV_WORK: work_came(g, env, event->work); return;
    case MOT_EV_PEER:
        if (event->peer.node >= env->world->workers && !event->peer.up) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_COLL:
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"a grader asked for none of these"); return;
    }
}

/* Jobs this server has no answer to, as far as the worker knows. */
static uint64_t unanswered(const struct mot_grader *g, uint32_t server)
{
    return (g->given_up ? g->given_up : g->busy) + (g->numbers[server] - g->begun);
}

/* The round of the server's last model. */
static uint64_t last_round(const struct mot_grader *g, uint32_t server)
{
    uint64_t came = g->numbers[server];
    uint32_t place = came > g->begun ? (uint32_t)((came - 1) % g->queue_max) : g->queue_max;
    return rounds_at(g, place)[server];
}

static bool grader_admits(const void *state, const struct mot_env *env, const struct mot_message *m)
{
    const struct mot_grader *g = state;
    if (m->from < env->world->workers) return false;
    uint32_t server = m->from - env->world->workers;
    bool replaces = m->kind == MOT_MSG_REPLACE && g->servers == 1 && g->queue_max > 1;
    return (m->kind == MOT_MSG_MODEL || replaces) && unanswered(g, server) < g->queue_max &&
        m->head.round >= last_round(g, server) && m->head.samples == 0 && m->head.value >= 0 &&
        m->head.value <= LIMIT_MOST && mot_body_is(m, mot_shard(env, m->body.buf, server, g->servers));
}

static void grader_check(const void *state, const struct mot_env *env, uint32_t queue)
{
    const struct mot_grader *g = state;
    MOT_ASSERT(g->queue_max == queue && g->servers == env->world->servers);
    for (uint32_t server = 0; server < g->servers; server++) {
        MOT_ASSERT(g->numbers[server] >= g->begun && g->numbers[server] - g->begun <= g->queue_max);
        MOT_ASSERT(g->busy || g->given_up == 0);
    }
    MOT_ASSERT(g->busy || queue_at(g, g->begun)->here < g->servers);
}

static uint64_t grader_samples_most(
    const struct mot_served *rule, const void *server, const struct mot_env *env, mot_node worker)
{
    (void)rule;
    (void)server;
    return env->world->batch[worker];
}

const struct mot_worker_side mot_grader_side = { .need = grader_need,
    .init = grader_init,
    .step = grader_step,
    .check = grader_check,
    .admits = grader_admits,
    .packer = grader_packer,
    .samples_most = grader_samples_most };
