/* pieces.h -- for tests: synchronous SGD whose workers compute their batch in pieces.
 *
 *   START, COLL -> the batch as four terms -> PIECE, PIECE, ... WORK -> all sums are added -> step, and again
 *
 * A worker adds up its pieces in their order. With `cut` it cancels a round's work so long after it began,
 * with `deadline` the driver does; what is done by then counts. */
#ifndef MOT_TEST_PIECES_H
#define MOT_TEST_PIECES_H

#include <math.h>
#include <motley/method.h>
#include <stddef.h>

#define PIECES_TERMS 4u
struct pieces_conf {
    mot_time cut, deadline;
};
struct pieces_state {
    struct mot_params params;
    mot_buf sum;
    uint32_t next, samples; /* the piece that comes next; samples in `sum` */
    uint64_t round, draw;
};

static struct mot_need pieces_need(const void *conf, const struct mot_world *w, mot_node self)
{
    (void)conf, (void)w, (void)self;
    return (struct mot_need){ .state_bytes = sizeof(struct pieces_state),
        .buffers = 10,
        .works = 1,
        .terms = PIECES_TERMS,
        .alarms = 1,
        .colls = 1 };
}

static void pieces_init(void *p, struct mot_env *env)
{
    struct pieces_state *s = p;
    mot_params_init(env, &s->params);
    s->draw = mot_first_draw(env);
}

static void pieces_begin(struct pieces_state *s, struct mot_env *env)
{
    const struct pieces_conf *conf = env->conf;
    uint32_t batch = env->world->batch[env->self], from = 0;
    struct mot_term term[PIECES_TERMS];
    for (uint32_t t = 0; t < PIECES_TERMS; t++) { /* of 1, 2, 3 and 4 tenths */
        uint32_t to = batch * ((t + 1) * (t + 2) / 2) / 10;
        term[t] =
            (struct mot_term){ .part = env->self, .draw = s->draw + from, .samples = to - from, .coef = 1 };
        from = to;
    }
    s->next = s->samples = 0;
    mot_start(env,
        &(struct mot_work){ .tag = (uint32_t)s->round,
            .terms = PIECES_TERMS,
            .term = term,
            .deadline = conf->deadline ? env->now + conf->deadline : MOT_NEVER,
            .at = s->params.x,
            .pieces = true });
    if (conf->cut) mot_alarm(env, 0, env->now + conf->cut);
}

static void pieces_add(struct pieces_state *s, struct mot_env *env, const struct mot_result *w)
{
    MOT_ASSERT(isfinite(w->loss) && "the run ends before a method without a guard sees it");
    MOT_ASSERT(w->tag == (uint32_t)s->round && w->piece == s->next && s->next < PIECES_TERMS);
    s->next++;
    s->samples += w->samples;
    s->draw += w->samples;
    mot_buf both[2] = { s->sum, w->grad };
    mot_buf sum = mot_sum(env, both, 2);
    mot_drop(env, s->sum);
    s->sum = sum;
}

static void pieces_end(struct pieces_state *s, struct mot_env *env)
{
    mot_alarm(env, 0, MOT_NEVER);
    mot_collect(env,
        &(struct mot_coll){
            .tag = (uint32_t)s->round, .in = mot_whole(env, s->sum), .scalar = { s->samples } });
    mot_drop(env, s->sum);
    s->sum = MOT_NO_BUF;
    s->next = UINT32_MAX; /* no further event of this work may come */
}

static void pieces_step(void *p, struct mot_env *env, const struct mot_event *event)
{
    struct pieces_state *s = p;
    switch (event->kind) {
    case MOT_EV_START: pieces_begin(s, env); return;
    case MOT_EV_PIECE: pieces_add(s, env, event->work); return;
    case MOT_EV_WORK:
        pieces_add(s, env, event->work);
        pieces_end(s, env);
        return;
    case MOT_EV_COLL:
        if (event->coll->scalar[0] > 0)
            mot_params_step(env, &s->params, event->coll->out, 1 / event->coll->scalar[0], 1);
        s->round++;
        mot_advance(env);
        pieces_begin(s, env);
        return;
    case MOT_EV_TIMER: mot_cancel(env, (uint32_t)s->round); return;
    case MOT_EV_PEER:
        if (!event->peer.up) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_MESSAGE: MOT_ASSERT(!"nobody sends any"); return;
    }
}

static bool pieces_model(const void *p, const struct mot_env *env, struct mot_view *view)
{
    (void)env;
    const struct mot_params *params = &((const struct pieces_state *)p)->params;
    *view = (struct mot_view){ .x = params->x, .scale = 1, .params = params };
    return true;
}

static const struct mot_option pieces_options[] = {
    { .name = "cut",
        .type = MOT_OPT_TIME,
        .offset = offsetof(struct pieces_conf, cut),
        .preset = "0",
        .max = 1e18,
        .doc = "cancel a round's work after this time; 0: never" },
    { .name = "deadline",
        .type = MOT_OPT_TIME,
        .offset = offsetof(struct pieces_conf, deadline),
        .preset = "0",
        .max = 1e18,
        .doc = "its deadline; 0: none" },
    { .name = NULL },
};
static const struct mot_method pieces = { .name = "pieces",
    .summary = "synchronous SGD with batches in pieces",
    .options = pieces_options,
    .conf_bytes = sizeof(struct pieces_conf),
    .need = pieces_need,
    .init = pieces_init,
    .step = pieces_step,
    .model = pieces_model };

#endif
