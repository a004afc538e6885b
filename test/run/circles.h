/* circles.h -- for tests: collectives of every scope, kind and length, all at once.
 *
 * In a round a worker computes a gradient, which nobody uses, and takes part in several collectives: some in
 * its group, some among the roots, in every third round one of all workers. What each of them is, is drawn
 * from its number. Everyone knows what everyone gives, so each result is compared with what it must be, to
 * the bit; and it goes into the worker's model, so a driver that loses one ends with another model. */
#ifndef MOT_TEST_CIRCLES_H
#define MOT_TEST_CIRCLES_H

#include "run/circle.h"
#include <motley/method.h>
#include <motley/random.h>
#include <stdatomic.h>
#include <string.h>

#define CIRCLES_WORKERS 64
static _Atomic uint64_t circles_wrong, circles_seen[MOT_COLL_SCOPES][3];
static _Atomic uint64_t circles_rounds[CIRCLES_WORKERS]; /* that each worker has finished */

struct circles_conf {
    uint64_t groups;
    bool apart; /* groups only: no collective joins them, and one that has lost a worker stops */
};

struct circles_state {
    struct mot_params params;
    uint64_t draw, number[MOT_COLL_SCOPES];
    uint32_t left[MOT_COLL_SCOPES]; /* to join in this round, the present one included */
    mot_buf got[MOT_COLL_SCOPES];   /* the sum of this round's results */
    bool worked;
};

/* What collective `number` of a circle is. */
struct circles_op {
    enum mot_coll_kind kind;
    uint32_t off, len;
};

static struct circles_op circles_op(const struct mot_world *w, uint32_t circle, uint64_t number)
{
    uint64_t h = mot_hash3(circle, number, (uint64_t)w->workers << 32 | w->groups);
    uint32_t dim = w->dim;
    struct circles_op op = { .kind = (enum mot_coll_kind)(h % 3) };
    switch (h >> 8 & 3) {
    case 0: break;
    case 1: op.len = dim; break;
    default:
        op.off = (uint32_t)(h >> 16 & 0xffff) % dim;
        op.len = 1 + (uint32_t)(h >> 32 & 0xffff) % (dim - op.off);
    }
    return op;
}

/* What a worker gives. Sums of these depend on their order. */
static float circles_float(uint64_t key, mot_node node, uint32_t at)
{
    uint64_t h = mot_hash3(key, node, at);
    return ((float)(h >> 40) - 0x1p23f) * 0x1p-30f / (float)(1u << (h & 15));
}

static double circles_scalar(uint64_t key, mot_node node, int k)
{
    return (double)(mot_hash3(key, node, ~(uint64_t)k) >> 20) * 0x1p-20;
}

static uint64_t circles_key(uint32_t circle, uint64_t number) { return (uint64_t)circle << 40 | number; }

static void circles_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)workers;
    t->model = MOT_MODEL_OF_EACH;
    t->groups = (uint32_t)((const struct circles_conf *)conf)->groups;
}

static struct mot_need circles_need(const void *conf, const struct mot_world *w, mot_node self)
{
    (void)conf, (void)w, (void)self;
    return (struct mot_need){
        .state_bytes = sizeof(struct circles_state), .buffers = 12, .works = 1, .terms = 1, .colls = 1
    };
}

static void circles_init(void *p, struct mot_env *env)
{
    struct circles_state *s = p;
    mot_params_init(env, &s->params);
    s->draw = mot_first_draw(env);
    s->number[MOT_COLL_ALL] = s->params.step / 3;
    s->number[MOT_COLL_GROUP] = s->params.step * 4;
    s->number[MOT_COLL_ROOTS] = s->params.step * 3;
}

static uint32_t circles_of(const struct mot_env *env, enum mot_coll_scope scope)
{
    return mot_circle_of(env->world, scope, env->self);
}

static void circles_join(struct circles_state *s, struct mot_env *env, enum mot_coll_scope scope)
{
    struct mot_circle circle = mot_circle(env->world, circles_of(env, scope));
    struct circles_op op = circles_op(env->world, circles_of(env, scope), s->number[scope]);
    uint64_t key = circles_key(circles_of(env, scope), s->number[scope]);
    struct mot_coll coll = { .tag = (uint32_t)s->number[scope],
        .scope = scope,
        .kind = op.kind,
        .in = { .off = op.off, .len = op.len } };
    for (int k = 0; k < MOT_SCALARS; k++) coll.scalar[k] = circles_scalar(key, env->self, k);
    if (op.len && (op.kind != MOT_COLL_FROM_ROOT || env->self == circle.first)) {
        coll.in.buf = mot_take(env);
        float *in = mot_edit(env, coll.in.buf);
        for (uint32_t j = op.off; j < op.off + op.len; j++) in[j] = circles_float(key, env->self, j);
    }
    mot_collect(env, &coll);
    mot_drop(env, coll.in.buf);
}

static void circles_begin(struct circles_state *s, struct mot_env *env)
{
    const struct circles_conf *conf = env->conf;
    struct mot_term term = { .part = env->self, .draw = s->draw, .samples = 1, .coef = 1 };
    mot_start(
        env, &(struct mot_work){ .terms = 1, .term = &term, .deadline = MOT_NEVER, .at = env->world->x0 });
    s->worked = false;
    s->left[MOT_COLL_ALL] = !conf->apart && s->params.step % 3 == 2;
    s->left[MOT_COLL_GROUP] = 4;
    s->left[MOT_COLL_ROOTS] = !conf->apart && mot_is_root(env->world, env->self) ? 3 : 0;
    for (int scope = 0; scope < MOT_COLL_SCOPES; scope++)
        if (s->left[scope]) circles_join(s, env, (enum mot_coll_scope)scope);
}

/* The round is over: its results go into the model, in the order of the scopes. */
static void circles_end(struct circles_state *s, struct mot_env *env)
{
    mot_buf in[1 + MOT_COLL_SCOPES] = { s->params.x, s->got[0], s->got[1], s->got[2] };
    if (!s->worked || s->left[0] || s->left[1] || s->left[2]) return;
    mot_buf next = mot_sum(env, in, 1 + MOT_COLL_SCOPES);
    for (int i = 0; i < 1 + MOT_COLL_SCOPES; i++) mot_drop(env, in[i]);
    s->got[0] = s->got[1] = s->got[2] = MOT_NO_BUF;
    s->params.x = next;
    s->params.step++;
    atomic_fetch_add(&circles_rounds[env->self % CIRCLES_WORKERS], 1);
    mot_advance(env);
    circles_begin(s, env);
}

static bool circles_right(const struct mot_env *env, const struct circles_state *s,
    const struct mot_coll_result *r, struct circles_op op)
{
    struct mot_circle c = mot_circle(env->world, circles_of(env, r->scope));
    uint64_t key = circles_key(circles_of(env, r->scope), s->number[r->scope]);
    bool gets = op.kind != MOT_COLL_TO_ROOT || env->self == c.first;
    uint32_t first = op.kind == MOT_COLL_FROM_ROOT ? 1 : c.n; /* so many members add to it */
    if (r->tag != (uint32_t)s->number[r->scope] || (r->out.buf != MOT_NO_BUF) != (gets && op.len))
        return false;
    if (r->out.len != (gets ? op.len : 0) || (gets && r->out.off != op.off)) return false;
    for (int k = 0; k < MOT_SCALARS; k++) {
        double sum = 0;
        for (uint32_t i = 0; gets && i < first; i++) sum += circles_scalar(key, mot_circle_node(&c, i), k);
        if (r->scalar[k] != sum) return false;
    }
    for (uint32_t j = op.off; r->out.buf && j < op.off + op.len; j++) {
        float sum = circles_float(key, c.first, j);
        for (uint32_t i = 1; i < first; i++) sum += circles_float(key, mot_circle_node(&c, i), j);
        if (mot_read(env, r->out.buf)[j] != sum) return false;
    }
    return true;
}

static void circles_came(struct circles_state *s, struct mot_env *env, const struct mot_coll_result *r)
{
    struct circles_op op = circles_op(env->world, circles_of(env, r->scope), s->number[r->scope]);
    atomic_fetch_add(&circles_seen[r->scope][op.kind], 1);
    if (!circles_right(env, s, r, op)) atomic_fetch_add(&circles_wrong, 1);
    if (!s->got[r->scope]) {
        s->got[r->scope] = mot_take(env);
        memset(mot_edit(env, s->got[r->scope]), 0, env->world->dim * sizeof(float));
    }
    float *got = mot_edit(env, s->got[r->scope]);
    const float *out = r->out.buf ? mot_read(env, r->out.buf) : NULL;
    for (uint32_t j = r->out.off; out && j < r->out.off + r->out.len; j++) got[j] += out[j] / 64;
    got[0] += (float)(r->scalar[0] * 0x1p-40);
    s->number[r->scope]++;
    if (--s->left[r->scope]) circles_join(s, env, r->scope);
    circles_end(s, env);
}

static void circles_step(void *p, struct mot_env *env, const struct mot_event *event)
{
    const struct circles_conf *conf = env->conf;
    struct circles_state *s = p;
    switch (event->kind) {
    case MOT_EV_START: circles_begin(s, env); return;
    case MOT_EV_WORK:
        s->draw += event->work->samples;
        s->worked = true;
        circles_end(s, env);
        return;
    case MOT_EV_COLL: circles_came(s, env, event->coll); return;
    case MOT_EV_PEER:
        if (event->peer.up) return;
        if (!conf->apart) mot_stop(env, MOT_EPEER);
        else if (mot_group_of(env->world, event->peer.node) == mot_group_of(env->world, env->self))
            mot_stop(env, MOT_OK);
        return;
    case MOT_EV_MESSAGE:
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"circles ask for none of these"); return;
    }
}

static bool circles_model(const void *p, const struct mot_env *env, struct mot_view *view)
{
    (void)env;
    const struct mot_params *params = &((const struct circles_state *)p)->params;
    *view = (struct mot_view){ .x = params->x, .scale = 1, .params = params };
    return true;
}

static const struct mot_option circles_options[] = {
    { .name = "groups",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct circles_conf, groups),
        .preset = "1",
        .min = 1,
        .max = 1e6,
        .doc = "groups of workers" },
    { .name = "apart",
        .type = MOT_OPT_BOOL,
        .offset = offsetof(struct circles_conf, apart),
        .preset = "false",
        .doc = "nothing joins the groups" },
    { .name = NULL },
};
static const struct mot_method circles = { .name = "circles",
    .summary = "collectives of every kind, for tests",
    .about = "collectives of every kind, for tests",
    .options = circles_options,
    .conf_bytes = sizeof(struct circles_conf),
    .traits = circles_traits,
    .need = circles_need,
    .init = circles_init,
    .step = circles_step,
    .model = circles_model };

/* Forgets what earlier runs did. */
static inline void circles_reset(void)
{
    atomic_store(&circles_wrong, 0);
    for (int i = 0; i < MOT_COLL_SCOPES * 3; i++) atomic_store(&circles_seen[i / 3][i % 3], 0);
    for (int i = 0; i < CIRCLES_WORKERS; i++) atomic_store(&circles_rounds[i], 0);
}

#endif
