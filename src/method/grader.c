#include "method/grader.h"

struct mot_need mot_grader_need(size_t state_bytes)
{
    /* The model it computes at, and its gradient on the way to the server. */
    return (struct mot_need){ .state_bytes = state_bytes, .buffers = 2, .sends = 1, .works = 1, .terms = 1 };
}

void mot_grader_init(struct mot_grader *g, const struct mot_env *env)
{
    g->draw = mot_first_draw(env);
}

static void model_came(struct mot_grader *g, struct mot_env *env, const struct mot_message *m)
{
    MOT_ASSERT(m->kind == MOT_MSG_MODEL);
    MOT_ASSERT(!g->busy);
    g->busy = true;
    g->round = m->head.round;
    struct mot_term term = { .part = env->self, .draw = g->draw, .samples = env->world->batch[env->self], .coef = 1 };
    mot_start(env, &(struct mot_work){ .terms = 1, .term = &term, .deadline = MOT_NEVER, .at = m->body.buf });
}

static void work_came(struct mot_grader *g, struct mot_env *env, const struct mot_result *w, mot_node server)
{
    MOT_ASSERT(g->busy);
    g->busy = false;
    g->draw += w->samples;
    struct mot_head head = { .round = g->round, .samples = w->samples, .value = w->loss };
    mot_send(env, server, MOT_MSG_GRAD, head, mot_whole(env, w->grad));
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
