/* served.h -- for tests: one node of a method with a server, on the stack: a step, a look into the outbox. */
#ifndef MOT_TEST_SERVED_H
#define MOT_TEST_SERVED_H

#include "base/memory.h"
#include "base/options.h"
#include "run/outbox.h"
#include "run/pool.h"
#include "math/models.h"
#include "math/optim.h"
#include "method/hub_parts.h"
#include "method/methods.h"
#include "test.h"

#define BATCH 10u
#define WORKERS_MOST 16u
#define ROWS 25u /* of a worker */

struct served {
    const struct mot_method *method;
    struct mot_pool pool;
    struct mot_outbox outbox;
    struct mot_world world;
    struct mot_env env;
    struct mot_optim optim;
    struct mot_net net;
    struct mot_arena arena;
    uint32_t batch[WORKERS_MOST];
    uint64_t rows[WORKERS_MOST];
    void *conf, *state, *model_conf;
};

static inline void served_clear(struct served *s)
{
    /* The outbox holds what it sends and what works begin at; a driver would drop it later. */
    for (uint32_t e = 0; e < s->outbox.n; e++) {
        if (s->outbox.effect[e].kind == MOT_FX_SEND)
            mot_pool_drop(&s->pool, s->outbox.effect[e].message.body.buf);
        if (s->outbox.effect[e].kind == MOT_FX_START) mot_pool_drop(&s->pool, s->outbox.effect[e].work.at);
    }
    mot_outbox_clear(&s->outbox);
}

static inline void served_step(struct served *s, const struct mot_event *event)
{
    served_clear(s);
    s->method->step(s->state, &s->env, event);
    s->method->check(s->state, &s->env);
}

/* Node `self` among so many workers, started. Options: pairs, ended by
 * NULL. The model has 4 parameters, all 0; lr is 1. */
#define SERVED(s, method, workers, self, ...)                                                                \
    served_begin((s), (method), (workers), (self), (const char *const[]){ __VA_ARGS__, NULL })
static inline void served_begin(
    struct served *s, const struct mot_method *m, uint32_t workers, mot_node self, const char *const *pair)
{
    *s = (struct served){ .method = m };
    s->conf = mot_new(1, m->conf_bytes);
    mot_options_preset(m->options, s->conf, &s->arena);
    for (; pair && *pair; pair += 2)
        if (mot_option_set(mot_option_find(m->options, pair[0]), s->conf, pair[1], &s->arena) != MOT_OK) {
            printf("  %s: %s\n", pair[0], mot_error());
            abort();
        }
    size_t kind = 0;
    while (strcmp(mot_models[kind]->name, "least-squares") != 0) kind++;
    const struct mot_model *model = mot_models[kind];
    s->model_conf = mot_new(1, model->conf_bytes);
    mot_options_preset(model->options, s->model_conf, &s->arena);
    mot_net_open(model, s->model_conf, &(struct mot_shape){ .cols = 3 }, &s->net);
    struct mot_optim_conf sgd = { .lr = 1, .clip = NAN };
    mot_optim_open(mot_optimizers[0], &sgd, &(struct mot_schedule_conf){ .total = 10 }, &s->net, &s->optim);
    uint32_t servers = mot_method_traits(m, s->conf, workers).servers;
    for (uint32_t i = 0; i < workers; i++) s->batch[i] = BATCH, s->rows[i] = ROWS;
    s->world = (struct mot_world){ .workers = workers,
        .servers = servers,
        .nodes = workers + servers,
        .dim = s->net.dim,
        .seed = 1,
        .optim = &s->optim,
        .parts = workers,
        .part_rows = s->rows,
        .rows = (uint64_t)ROWS * workers,
        .batch = s->batch };
    mot_pool_open(&s->pool, s->world.dim, 1024);
    s->world.x0 = mot_pool_take(&s->pool);
    s->world.zero = mot_pool_take(&s->pool);
    memset(mot_pool_at(&s->pool, s->world.x0), 0, s->world.dim * sizeof(float));
    memset(mot_pool_at(&s->pool, s->world.zero), 0, s->world.dim * sizeof(float));
    if (m->validate && m->validate(s->conf, &s->world) != MOT_OK) {
        printf("  %s\n", mot_error());
        abort();
    }
    struct mot_need need = m->need(s->conf, &s->world, self);
    mot_outbox_open(&s->outbox, mot_outbox_room(&need), 8);
    s->state = mot_new(1, need.state_bytes);
    s->env = (struct mot_env){
        .self = self, .world = &s->world, .conf = s->conf, .pool = &s->pool, .out = &s->outbox
    };
    m->init(s->state, &s->env);
    served_step(s, &(struct mot_event){ .kind = MOT_EV_START });
}

static inline void served_end(struct served *s)
{
    free(s->state);
    free(s->conf);
    mot_net_close(&s->net);
    free(s->model_conf);
    mot_arena_free(&s->arena);
    mot_outbox_close(&s->outbox);
    mot_pool_close(&s->pool);
}

/* A message whose body is `value` everywhere. */
static inline void served_message(
    struct served *s, mot_node from, uint16_t kind, struct mot_head head, float value)
{
    mot_buf b = mot_pool_take(&s->pool);
    for (uint32_t i = 0; i < s->world.dim; i++) mot_pool_at(&s->pool, b)[i] = value;
    struct mot_message m = {
        .from = from, .to = s->env.self, .kind = kind, .head = head, .body = { .buf = b, .len = s->world.dim }
    };
    served_step(s, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = &m });
    mot_pool_drop(&s->pool, b);
}

/* A worker's gradient, the sum over `samples`, whose mean is `mean` everywhere. */
static inline void served_gradient(
    struct served *s, mot_node from, uint64_t round, uint32_t samples, float mean)
{
    served_message(s, from, MOT_MSG_GRAD, (struct mot_head){ .round = round, .samples = samples },
        mean * (float)samples);
}

static inline void served_peer(struct served *s, mot_node node, bool up)
{
    served_step(s, &(struct mot_event){ .kind = MOT_EV_PEER, .peer = { .node = node, .up = up } });
}

/* The work that was begun last is over, with so many samples. */
static inline void served_work(struct served *s, uint32_t tag, uint32_t samples)
{
    mot_buf grad = mot_pool_take(&s->pool);
    struct mot_result w = { .tag = tag, .samples = samples, .grad = grad };
    served_step(s, &(struct mot_event){ .kind = MOT_EV_WORK, .work = &w });
    mot_pool_drop(&s->pool, grad);
}

static inline uint32_t served_count(const struct served *s, enum mot_effect_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->outbox.n; i++) n += s->outbox.effect[i].kind == kind;
    return n;
}

/* The k-th effect of a kind, or NULL. */
static inline const struct mot_effect *served_effect(
    const struct served *s, enum mot_effect_kind kind, uint32_t k)
{
    for (uint32_t i = 0; i < s->outbox.n; i++)
        if (s->outbox.effect[i].kind == kind && k-- == 0) return &s->outbox.effect[i];
    return NULL;
}

/* The sum of the notes of a key. */
static inline double served_noted(const struct served *s, const char *key)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->outbox.n; i++)
        if (s->outbox.effect[i].kind == MOT_FX_NOTE && strcmp(s->outbox.effect[i].note.key, key) == 0)
            sum += s->outbox.effect[i].note.value;
    return sum;
}

static inline float served_parameter(struct served *s)
{
    struct mot_view view;
    s->method->model(s->state, &s->env, &view);
    return mot_read(&s->env, view.x)[0];
}

#endif
