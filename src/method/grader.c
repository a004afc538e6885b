#include "method/grader.h"

struct mot_need mot_grader_need(uint32_t queue)
{
    /* The models of its jobs, and their gradients on the way to the server. */
    return (struct mot_need){ .state_bytes = sizeof(struct mot_grader) + queue * sizeof(struct mot_grader_job),
        .buffers = 2 * queue, .sends = queue, .works = 1, .terms = 1 };
}

void mot_grader_init(struct mot_grader *g, const struct mot_env *env, uint32_t queue)
{
    g->draw = mot_first_draw(env);
    g->queue_max = queue;
}

/* Begins the next job, if there is one and none runs. The work holds the model from here on. */
static void begin_next(struct mot_grader *g, struct mot_env *env)
{
    if (g->busy || g->waiting == 0) return;
    g->job = g->queue[g->first];
    g->first = (g->first + 1) % g->queue_max;
    g->waiting--;
    g->busy = true;
    g->tag++;
    g->until = g->job.limit_s > 0 ? env->now + (mot_time)(g->job.limit_s * 1e9) : MOT_NEVER;
    struct mot_term term = { .part = env->self, .draw = g->draw, .samples = env->world->batch[env->self], .coef = 1 };
    mot_start(env, &(struct mot_work){ .tag = g->tag, .terms = 1, .term = &term, .deadline = g->until, .at = g->job.at });
    mot_drop(env, g->job.at);
}

static void give_up_all(struct mot_grader *g, struct mot_env *env)
{
    if (g->busy) {
        if (g->given_up == 0) {
            mot_cancel(env, g->tag);
            g->given_up = 1;
        }
        g->given_up += g->waiting;
    }
    MOT_ASSERT(g->busy || g->waiting == 0);
    for (; g->waiting > 0; g->waiting--, g->first = (g->first + 1) % g->queue_max) mot_drop(env, g->queue[g->first].at);
}

static void model_came(struct mot_grader *g, struct mot_env *env, const struct mot_message *m)
{
    MOT_ASSERT(m->kind == MOT_MSG_MODEL || m->kind == MOT_MSG_REPLACE);
    if (m->kind == MOT_MSG_REPLACE) give_up_all(g, env);
    MOT_ASSERT(g->waiting < g->queue_max && "the server sends no more than the queue holds");
    g->queue[(g->first + g->waiting++) % g->queue_max] =
        (struct mot_grader_job){ .round = m->head.round, .limit_s = m->head.value, .at = mot_hold(env, m->body.buf) };
    begin_next(g, env);
}

static void work_came(struct mot_grader *g, struct mot_env *env, const struct mot_result *w, mot_node server)
{
    MOT_ASSERT(g->busy && w->tag == g->tag);
    bool too_long = env->now >= g->until && w->samples < env->world->batch[env->self];
    g->busy = false;
    g->draw += w->samples;
    if (g->given_up || too_long) {
        struct mot_head head = { .round = g->job.round, .samples = w->samples, .value = g->given_up ? g->given_up : 1 };
        mot_send(env, server, MOT_MSG_GAVE_UP, head, (struct mot_slice){ .buf = MOT_NO_BUF });
        g->given_up = 0;
    } else {
        struct mot_head head = { .round = g->job.round, .samples = w->samples, .value = w->loss };
        mot_send(env, server, MOT_MSG_GRAD, head, mot_whole(env, w->grad));
    }
    begin_next(g, env);
}

void mot_grader_step(struct mot_grader *g, struct mot_env *env, const struct mot_event *event, mot_node server)
{
    switch (event->kind) {
    case MOT_EV_START: return; /* the server speaks first */
    case MOT_EV_MESSAGE: model_came(g, env, event->message); return;
    case MOT_EV_WORK: work_came(g, env, event->work, server); return;
    case MOT_EV_PEER:
        if (event->peer.node == server && !event->peer.up) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_COLL: case MOT_EV_TIMER: MOT_ASSERT(!"a grader asked for none of these"); return;
    }
}

void mot_grader_check(const struct mot_grader *g)
{
    MOT_ASSERT(g->waiting <= g->queue_max && g->first < g->queue_max);
    MOT_ASSERT(g->busy || (g->waiting == 0 && g->given_up == 0));
}
