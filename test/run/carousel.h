/* carousel.h -- for tests: rows that go round.
 *
 * Each worker begins with two parts. In a round it computes on the two that it has, answers, and passes them
 * to the next worker: after n rounds everyone has had all. The server adds the answers in order of the
 * workers, so the model does not depend on who was when where, not even on losses: to a worker that comes
 * back, and to the one behind a worker that is lost, the server, which has everything, sends the rows that
 * they miss. */
#ifndef MOT_TEST_CAROUSEL_H
#define MOT_TEST_CAROUSEL_H

#include <motley/method.h>

#define CAROUSEL_WORKERS 16
#define CAROUSEL_SEATS 2 /* parts that travel together */
enum carousel_kind { CAROUSEL_MODEL, CAROUSEL_GRADIENT, CAROUSEL_ROWS };

/* What a worker does wrong, in round 2, or (REMEMBERS) when it is back: it sends rows of its earlier life.
 * Set before a run. */
enum carousel_fault {
    CAROUSEL_RIGHT,
    CAROUSEL_WRONG_TERM,
    CAROUSEL_WRONG_ROWS,
    CAROUSEL_FORGOT,
    CAROUSEL_REMEMBERS
};
static enum carousel_fault carousel_fault;

struct carousel_state {
    uint64_t round; /* server: the current one; worker: the next that it computes */
    struct mot_params params;
    mot_buf grad[CAROUSEL_WORKERS], model; /* what the workers answered; what to compute at */
    uint32_t samples[CAROUSEL_WORKERS];
    uint64_t here; /* parts, a bit each */
    bool busy, back;
};

static uint32_t carousel_part(const struct mot_world *w, mot_node worker, uint64_t round, uint32_t seat)
{
    return (uint32_t)((worker + w->workers - round % w->workers) % w->workers) * CAROUSEL_SEATS + seat;
}

static void carousel_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)conf;
    t->servers = 1;
    t->model = MOT_MODEL_OF_SERVERS;
    t->parts = workers * CAROUSEL_SEATS;
}

static bool carousel_holds(const void *conf, const struct mot_world *w, mot_node worker, uint32_t part)
{
    (void)conf, (void)w;
    return part / CAROUSEL_SEATS == worker;
}

static struct mot_need carousel_need(const void *conf, const struct mot_world *w, mot_node self)
{
    (void)conf;
    bool server = self >= w->workers;
    return (struct mot_need){ .state_bytes = sizeof(struct carousel_state),
        .buffers = server ? w->workers + 8 : 4,
        .sends = server ? 20 * w->workers : 12,
        .works = !server,
        .terms = CAROUSEL_SEATS };
}

static void carousel_init(void *p, struct mot_env *env)
{
    struct carousel_state *s = p;
    s->back = env->life > 0;
    if (env->self >= env->world->workers) mot_params_init(env, &s->params);
    for (uint32_t part = 0; env->self < env->world->workers && env->life == 0 && part < env->world->parts;
         part++)
        if (carousel_holds(NULL, env->world, env->self, part)) s->here |= UINT64_C(1) << part;
}

/* ---- A worker ---- */

static void carousel_work(struct carousel_state *s, struct mot_env *env)
{
    struct mot_term term[CAROUSEL_SEATS];
    if (!s->model || s->busy) return;
    for (uint32_t k = 0; k < CAROUSEL_SEATS; k++) {
        uint32_t part = carousel_part(env->world, env->self, s->round, k),
                 batch = env->world->part_batch[part];
        if (!(s->here >> part & 1)) return;
        term[k] = (struct mot_term){ .part = part, .draw = s->round * batch, .samples = batch, .coef = 1 };
    }
    bool wrong = env->self == 1 && s->round == 2;
    if (wrong && carousel_fault == CAROUSEL_WRONG_TERM) term[0].part = (term[0].part + 2) % env->world->parts;
    if (wrong && carousel_fault == CAROUSEL_FORGOT) mot_forget(env, term[1].part);
    s->busy = true;
    mot_start(env,
        &(struct mot_work){ .terms = CAROUSEL_SEATS, .term = term, .deadline = MOT_NEVER, .at = s->model });
}

static void carousel_answer(struct carousel_state *s, struct mot_env *env, const struct mot_result *r)
{
    const struct mot_world *w = env->world;
    mot_node next = (env->self + 1) % w->workers;
    mot_send(env, w->workers, CAROUSEL_GRADIENT,
        (struct mot_head){ .round = s->round, .samples = r->samples, .value = r->loss },
        mot_whole(env, r->grad));
    for (uint32_t k = 0; k < CAROUSEL_SEATS; k++) {
        uint32_t part = carousel_part(w, env->self, s->round, k);
        if (env->self == 1 && s->round == 2 && carousel_fault == CAROUSEL_WRONG_ROWS)
            part = (part + 2) % w->parts;
        mot_send_rows(env, next, CAROUSEL_ROWS, (struct mot_head){ .round = s->round + 1 }, part);
        mot_forget(env, part);
        s->here &= ~(UINT64_C(1) << part);
    }
    mot_drop(env, s->model);
    s->model = MOT_NO_BUF;
    s->busy = false;
    s->round++;
}

static void carousel_worker(struct carousel_state *s, struct mot_env *env, const struct mot_event *event)
{
    const struct mot_message *m = event->message;
    if (event->kind == MOT_EV_START && s->back && carousel_fault == CAROUSEL_REMEMBERS)
        mot_send_rows(env, (env->self + 1) % env->world->workers, CAROUSEL_ROWS, (struct mot_head){ 0 },
            carousel_part(env->world, env->self, 0, 0));
    if (event->kind == MOT_EV_WORK) carousel_answer(s, env, event->work);
    if (event->kind != MOT_EV_MESSAGE) return;
    if (m->kind == CAROUSEL_MODEL) {
        MOT_ASSERT(!s->model && m->head.round >= s->round);
        s->round = m->head.round;
        s->model = mot_hold(env, m->body.buf);
    } else {
        MOT_ASSERT(m->kind == CAROUSEL_ROWS && m->rows > 0);
        s->here |= UINT64_C(1) << (m->rows - 1);
    }
    carousel_work(s, env);
}

/* ---- The server ---- */

static void carousel_ask(struct carousel_state *s, struct mot_env *env, mot_node worker)
{
    mot_send(
        env, worker, CAROUSEL_MODEL, (struct mot_head){ .round = s->round }, mot_whole(env, s->params.x));
}

static void carousel_supply(struct carousel_state *s, struct mot_env *env, mot_node worker)
{
    for (uint64_t round = s->round; round <= s->round + 1; round++)
        for (uint32_t k = 0; k < CAROUSEL_SEATS; k++)
            mot_send_rows(env, worker, CAROUSEL_ROWS, (struct mot_head){ .round = round },
                carousel_part(env->world, worker, round, k));
}

static void carousel_gradient(struct carousel_state *s, struct mot_env *env, const struct mot_message *m)
{
    uint32_t n = env->world->workers, samples = 0;
    MOT_ASSERT(m->kind == CAROUSEL_GRADIENT && m->head.round == s->round && !s->grad[m->from]);
    s->grad[m->from] = mot_hold(env, m->body.buf);
    s->samples[m->from] = m->head.samples;
    for (mot_node i = 0; i < n; i++) {
        if (!s->grad[i]) return;
        samples += s->samples[i];
    }
    mot_buf sum = mot_sum(env, s->grad, n);
    mot_params_step(env, &s->params, mot_whole(env, sum), 1.0 / samples, 1.0);
    mot_drop(env, sum);
    s->round++;
    for (mot_node i = 0; i < n; i++) {
        mot_drop(env, s->grad[i]);
        s->grad[i] = MOT_NO_BUF;
        carousel_ask(s, env, i);
    }
    mot_advance(env);
}

static void carousel_server(struct carousel_state *s, struct mot_env *env, const struct mot_event *event)
{
    uint32_t n = env->world->workers;
    if (event->kind == MOT_EV_START)
        for (mot_node i = 0; i < n; i++) carousel_ask(s, env, i);
    if (event->kind == MOT_EV_MESSAGE) carousel_gradient(s, env, event->message);
    if (event->kind != MOT_EV_PEER) return;
    mot_node worker = event->peer.node;
    if (!env->world->elastic) {
        mot_stop(env, MOT_EPEER);
    } else if (event->peer.up) {
        carousel_supply(s, env, worker);
        if (!s->grad[worker]) carousel_ask(s, env, worker);
    } else {
        carousel_supply(s, env, (worker + 1) % n);
    }
}

static void carousel_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    if (env->self < env->world->workers) carousel_worker(state, env, event);
    else carousel_server(state, env, event);
}

static bool carousel_admits(const void *p, const struct mot_env *env, const struct mot_message *m)
{
    const struct carousel_state *s = p;
    const struct mot_world *w = env->world;
    uint64_t round = m->head.round;
    if (env->self >= w->workers)
        return m->kind == CAROUSEL_GRADIENT && m->from < w->workers && !m->rows && round == s->round &&
            !s->grad[m->from] && m->head.samples <= w->rows && mot_body_is(m, mot_whole(env, m->body.buf));
    if (m->kind == CAROUSEL_MODEL)
        return m->from == w->workers && !m->rows && round == s->round && !s->model &&
            mot_body_is(m, mot_whole(env, m->body.buf));
    return m->kind == CAROUSEL_ROWS && m->rows && !m->body.buf && round + 1 >= s->round &&
        round <= s->round + 1 &&
        (m->from == w->workers || m->from == (env->self + w->workers - 1) % w->workers) &&
        (m->rows - 1) / CAROUSEL_SEATS == carousel_part(w, env->self, round, 0) / CAROUSEL_SEATS;
}

static bool carousel_model(const void *p, const struct mot_env *env, struct mot_view *view)
{
    const struct mot_params *params = &((const struct carousel_state *)p)->params;
    if (env->self < env->world->workers) return false;
    *view = (struct mot_view){ .x = params->x, .scale = 1, .params = params };
    return true;
}

static const struct mot_option carousel_options[] = { { .name = NULL } };
static const struct mot_method carousel = { .name = "carousel",
    .summary = "workers compute on rows that go round",
    .options = carousel_options,
    .traits = carousel_traits,
    .holds = carousel_holds,
    .need = carousel_need,
    .init = carousel_init,
    .step = carousel_step,
    .admits = carousel_admits,
    .model = carousel_model };

#endif
