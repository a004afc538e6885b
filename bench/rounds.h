/* rounds.h -- methods for benchmarks that do nothing but communicate: `sums` joins one sum over all workers
 * after another, `swaps` exchanges segments of a model with random peers and mixes them, as crossover does.
 * Worker 0 notes when it began and ended the rounds that count. */
#ifndef MOT_BENCH_ROUNDS_H
#define MOT_BENCH_ROUNDS_H

#include "method/exchange.h"
#include "rig.h"

#define WARM_UP 10u /* rounds that touch the memory, and do not count: some run ahead, and take more of it */
static struct {
    mot_time first, last;       /* after the warm-up, and now */
    double first_cpu, last_cpu; /* of the process */
    uint32_t n;
} noted;

static inline double rounds_cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void rounds_note(const struct mot_env *env)
{
    if (env->self != 0) return;
    noted.last = env->now;
    noted.last_cpu = rounds_cpu();
    if (++noted.n != WARM_UP) return;
    noted.first = noted.last;
    noted.first_cpu = noted.last_cpu;
}

static inline double rounds_each(void)
{
    return (double)(noted.last - noted.first) * 1e-9 / (noted.n - WARM_UP);
}

static inline bool rounds_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    (void)state;
    *view = (struct mot_view){ .x = env->world->x0, .scale = 1 };
    return true;
}

static inline mot_buf rounds_filled(struct mot_env *env)
{
    mot_buf buf = mot_take(env);
    float *x = mot_edit(env, buf);
    for (uint32_t i = 0; i < env->world->dim; i++) x[i] = 1.0f + (float)env->self;
    return buf;
}

/* ---- Sums ----------------------------------------------------------------------- */

struct sums {
    mot_buf in;
    uint32_t round;
};

static inline struct mot_need sums_need(const void *conf, const struct mot_world *w, mot_node self)
{
    (void)conf, (void)w, (void)self;
    return (struct mot_need){
        .state_bytes = sizeof(struct sums), .buffers = 2, .works = 1, .terms = 1, .colls = 1
    };
}

static inline void rounds_init(void *state, struct mot_env *env) { (void)state, (void)env; }

static inline void sums_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct sums *s = state;
    if (event->kind == MOT_EV_START) {
        s->in = rounds_filled(env);
    } else {
        MOT_ASSERT(event->kind == MOT_EV_COLL && event->coll->tag == s->round);
        float want = (float)env->world->workers * (float)(env->world->workers + 1) / 2;
        const float *sum = mot_read(env, event->coll->out.buf);
        MOT_ASSERT(sum[0] == want && sum[env->world->dim - 1] == want);
        rounds_note(env);
        s->round++;
        mot_advance(env);
    }
    mot_collect(env, &(struct mot_coll){ .tag = s->round, .in = mot_whole(env, s->in) });
}

static const struct mot_option sums_options[] = { { .name = NULL } };
static const struct mot_method sums = { .name = "sums",
    .summary = "sums",
    .about = "sums",
    .options = sums_options,
    .need = sums_need,
    .init = rounds_init,
    .step = sums_step,
    .model = rounds_model };

/* ---- Swaps ----------------------------------------------------------------------- */

struct swaps_conf {
    uint64_t segments;
};
struct swaps {
    mot_buf x;
    bool meeting, waits;
    struct mot_exchange exchange;
};

#define SWAPS_WINDOW 4u /* all meet every so many rounds, as in crossover */

static inline struct mot_exchange_plan swaps_plan(const void *p, const struct mot_world *w)
{
    const struct swaps_conf *conf = p;
    return (struct mot_exchange_plan){ .cut = { .cut = MOT_CUT_EQUAL, .n = (uint32_t)conf->segments },
        .draw = MOT_PEERS_UNIFORM,
        .peers = w->workers,
        .size = 1,
        .fields = 1,
        .window = 2 * SWAPS_WINDOW };
}

static inline struct mot_need swaps_need(const void *conf, const struct mot_world *w, mot_node self)
{
    struct mot_need need = {
        .state_bytes = sizeof(struct swaps), .buffers = 4, .works = 1, .terms = 1, .colls = 1
    };
    struct mot_exchange_plan plan = swaps_plan(conf, w);
    (void)self;
    mot_exchange_need(&plan, &need);
    return need;
}

static inline void swaps_init(void *state, struct mot_env *env)
{
    struct mot_exchange_plan plan = swaps_plan(env->conf, env->world);
    mot_exchange_init(&((struct swaps *)state)->exchange, &plan, 0);
}

static inline void swaps_begin(struct swaps *s, struct mot_env *env)
{
    s->waits = false;
    if (s->exchange.round % SWAPS_WINDOW == 0) {
        s->waits = s->meeting;
        if (s->waits) return;
        s->meeting = true;
        mot_collect(env, &(struct mot_coll){ .tag = (uint32_t)s->exchange.round });
    }
    mot_exchange_open(&s->exchange, env, &s->x);
}

static inline void swaps_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct swaps *s = state;
    if (event->kind == MOT_EV_START) {
        s->x = rounds_filled(env);
        swaps_begin(s, env);
    } else if (event->kind == MOT_EV_COLL) {
        s->meeting = false;
        if (s->waits) swaps_begin(s, env);
    } else {
        MOT_ASSERT(event->kind == MOT_EV_MESSAGE);
        mot_exchange_message(&s->exchange, env, event->message);
    }
    while (mot_exchange_ready(&s->exchange)) {
        mot_exchange_close(&s->exchange, env, &s->x, NULL);
        rounds_note(env);
        mot_advance(env);
        swaps_begin(s, env);
    }
}

static inline bool swaps_admits(
    const void *state, const struct mot_env *env, const struct mot_message *message)
{
    (void)state, (void)env, (void)message;
    return true;
}

static inline void swaps_traits(const void *p, uint32_t workers, struct mot_traits *t)
{
    const struct swaps_conf *conf = p;
    (void)workers;
    t->model = MOT_MODEL_OF_EACH;
    t->peer_maps = (uint32_t)conf->segments * (2 * SWAPS_WINDOW + 1);
}

static const struct mot_option swaps_options[] = { { .name = "segments",
                                                       .type = MOT_OPT_UINT,
                                                       .offset = 0,
                                                       .preset = "1",
                                                       .min = 1,
                                                       .max = 1e6,
                                                       .doc = "segments of one size" },
    { .name = NULL } };
static const struct mot_method swaps = { .name = "swaps",
    .summary = "swaps",
    .about = "swaps",
    .conf_bytes = sizeof(struct swaps_conf),
    .options = swaps_options,
    .need = swaps_need,
    .init = swaps_init,
    .step = swaps_step,
    .traits = swaps_traits,
    .admits = swaps_admits,
    .model = rounds_model };

static const struct mot_method *const rounds_methods[] = { &sums, &swaps, NULL };

#endif
