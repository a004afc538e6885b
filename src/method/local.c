#include "method/local.h"
#include "math/kernels.h"
#include "math/optim.h"
#include "method/grader.h"

struct mot_need mot_local_need(void)
{
    /* The model, the next one, the sum and the one before it; a sum on its way to the server. */
    return (struct mot_need){
        .state_bytes = sizeof(struct mot_local), .buffers = 6, .sends = 1, .works = 1, .terms = 1
    };
}

void mot_local_init(struct mot_local *l, const struct mot_env *env) { l->draw = mot_first_draw(env); }

static void compute(struct mot_local *l, struct mot_env *env)
{
    struct mot_term term = {
        .part = env->self, .draw = l->draw, .samples = env->world->batch[env->self], .coef = 1
    };
    mot_start(env,
        &(struct mot_work){ .tag = ++l->tag, .terms = 1, .term = &term, .deadline = MOT_NEVER, .at = l->y });
}

static void model_came(struct mot_local *l, struct mot_env *env, const struct mot_message *m)
{
    MOT_ASSERT(m->kind == MOT_MSG_MODEL && l->y == MOT_NO_BUF && "one job at a time");
    l->round = m->head.round;
    l->y = mot_hold(env, m->body.buf);
    l->done = l->samples = 0;
    l->loss = 0;
    compute(l, env);
}

/* A batch that was cut short by the end of the data counts as a whole
 * one: its mean goes into the sum like the others'. */
static void add(struct mot_local *l, struct mot_env *env, const struct mot_result *w)
{
    const struct mot_kernels *k = mot_kernels();
    uint32_t dim = env->world->dim, batch = env->world->batch[env->self];
    float weight = (float)((double)batch / w->samples);
    const float *grad = mot_read(env, w->grad);
    if (l->sum == MOT_NO_BUF && w->samples == batch) {
        l->sum = mot_hold(env, w->grad);
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
    k->axpy(dim, weight, grad, mot_edit(env, l->sum));
}

static void descend(struct mot_local *l, struct mot_env *env, const struct mot_result *w)
{
    const struct mot_kernels *k = mot_kernels();
    const struct mot_optim *o = env->world->optim;
    double rate = mot_schedule_rate(&o->schedule, o->conf.lr, l->round);
    mot_buf y = mot_take(env);
    float weight[2] = { 1, (float)(-rate / w->samples) };
    const float *const in[2] = { mot_read(env, l->y), mot_read(env, w->grad) };
    k->sum(env->world->dim, 2, weight, in, mot_edit(env, y));
    mot_drop(env, l->y);
    l->y = y;
}

static void work_came(
    struct mot_local *l, struct mot_env *env, const struct mot_result *w, mot_node server, uint32_t steps)
{
    MOT_ASSERT(l->y != MOT_NO_BUF && w->tag == l->tag);
    l->draw += w->samples;
    if (w->samples > 0) {
        l->samples += w->samples;
        l->loss += w->loss;
        add(l, env, w);
        if (++l->done < steps) {
            descend(l, env, w);
            compute(l, env);
            return;
        }
    }
    mot_buf sum = l->sum == MOT_NO_BUF ? w->grad : l->sum;
    struct mot_head head = {
        .round = l->round, .samples = l->samples, .value = mot_told_loss(env, sum, l->samples, l->loss)
    };
    mot_send(env, server, MOT_MSG_GRAD, head, mot_whole(env, sum));
    mot_drop(env, l->sum);
    mot_drop(env, l->y);
    l->sum = l->y = MOT_NO_BUF;
    l->own = false;
}

void mot_local_step(
    struct mot_local *l, struct mot_env *env, const struct mot_event *event, mot_node server, uint32_t steps)
{
    switch (event->kind) {
    case MOT_EV_START: return; /* the server speaks first */
    case MOT_EV_MESSAGE: model_came(l, env, event->message); return;
    case MOT_EV_WORK: work_came(l, env, event->work, server, steps); return;
    case MOT_EV_PEER:
        if (event->peer.node == server && !event->peer.up) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_COLL:
    case MOT_EV_TIMER: MOT_ASSERT(!"local steps asked for none of these"); return;
    }
}

void mot_local_check(const struct mot_local *l)
{
    MOT_ASSERT(l->y != MOT_NO_BUF || l->sum == MOT_NO_BUF);
    MOT_ASSERT((l->sum != MOT_NO_BUF) == (l->done > 0) || l->y == MOT_NO_BUF);
}
