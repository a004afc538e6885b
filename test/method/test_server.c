/* The server method by itself: an environment on the stack, a step, a look into the outbox. */
#include "base/memory.h"
#include "base/options.h"
#include "driver/outbox.h"
#include "driver/pool.h"
#include "math/models.h"
#include "math/optim.h"
#include "method/grader.h"
#include "method/methods.h"
#include "test.h"

#define WORKERS 3
static struct mot_pool pool;
static struct mot_outbox outbox;
static struct mot_world world;
static struct mot_env env;
static struct mot_optim optim;
static struct mot_net net;
static struct mot_arena arena;
static void *conf, *state, *model_conf;

/* The server of three workers with a model of four parameters, started. */
static void begin(const char *k)
{
    const struct mot_method *m = &mot_method_server;
    conf = mot_new(1, m->conf_bytes);
    mot_options_preset(m->options, conf, &arena);
    mot_option_set(mot_option_find(m->options, "k"), conf, k, &arena);
    const struct mot_model *model = mot_models[0];
    while (strcmp(model->name, "least-squares") != 0) model = mot_models[1 + (model != mot_models[0])];
    model_conf = mot_new(1, model->conf_bytes);
    mot_options_preset(model->options, model_conf, &arena);
    mot_net_open(model, model_conf, &(struct mot_shape){ .cols = 3 }, &net);
    struct mot_optim_conf sgd = { .lr = 1, .clip = NAN };
    mot_optim_open(mot_optimizers[0], &sgd, &(struct mot_schedule_conf){ .total = 10 }, &net, &optim);
    world = (struct mot_world){ .workers = WORKERS, .servers = 1, .nodes = WORKERS + 1, .dim = net.dim, .optim = &optim };
    mot_pool_open(&pool, world.dim, 64);
    world.x0 = mot_pool_take(&pool);
    world.zero = mot_pool_take(&pool);
    for (uint32_t i = 0; i < world.dim; i++) mot_pool_at(&pool, world.x0)[i] = mot_pool_at(&pool, world.zero)[i] = 0;
    struct mot_need need = m->need(conf, &world, WORKERS);
    mot_outbox_open(&outbox, mot_outbox_room(&need), 8);
    state = mot_new(1, need.state_bytes);
    env = (struct mot_env){ .self = WORKERS, .world = &world, .conf = conf, .pool = &pool, .out = &outbox };
    m->init(state, &env);
    m->step(state, &env, &(struct mot_event){ .kind = MOT_EV_START });
}

static void end(void)
{
    free(state);
    free(conf);
    free(model_conf);
    mot_arena_free(&arena);
    mot_outbox_close(&outbox);
    mot_pool_close(&pool);
}

/* A gradient of `value` everywhere, summed over `samples`, comes from `from`. */
static void gradient(mot_node from, uint64_t round, uint32_t samples, float value)
{
    mot_outbox_clear(&outbox);
    mot_buf b = mot_pool_take(&pool);
    for (uint32_t i = 0; i < world.dim; i++) mot_pool_at(&pool, b)[i] = value;
    struct mot_message m = { .from = from, .to = WORKERS, .kind = MOT_MSG_GRAD, .head = { .round = round, .samples = samples },
        .body = { .buf = b, .len = world.dim } };
    mot_method_server.step(state, &env, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = &m });
    mot_method_server.check(state, &env);
    mot_pool_drop(&pool, b);
}

static uint32_t effects(enum mot_effect_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < outbox.n; i++) n += outbox.effect[i].kind == kind;
    return n;
}

static uint32_t noted(const char *key)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < outbox.n; i++) n += outbox.effect[i].kind == MOT_FX_NOTE && strcmp(outbox.effect[i].note.key, key) == 0;
    return n;
}

static float parameter(void)
{
    struct mot_view view;
    mot_method_server.model(state, &env, &view);
    return mot_read(&env, view.x)[0];
}

TEST(the_server_begins_by_sending_the_model_to_everyone)
{
    begin("2");
    CHECK_INT(effects(MOT_FX_SEND), WORKERS);
    end();
}

TEST(a_round_closes_at_the_kth_gradient_and_weighs_by_samples)
{
    begin("2");
    gradient(2, 0, 10, 10.0f);
    CHECK_INT(effects(MOT_FX_ADVANCE), 0);
    gradient(0, 0, 30, 90.0f);
    CHECK_INT(effects(MOT_FX_ADVANCE), 1);
    CHECK_INT(effects(MOT_FX_CREDIT), 2);
    CHECK_INT(effects(MOT_FX_SEND), 2); /* to the two that gave; the third is still at work */
    CHECK_NEAR(parameter(), -100.0 / 40, 1e-6);
    end();
}

TEST(a_closed_round_ignores_late_gradients_and_counts_them)
{
    begin("2");
    gradient(0, 0, 10, 10.0f);
    gradient(1, 0, 10, 10.0f);
    float before = parameter();
    gradient(2, 0, 10, 1000.0f);
    CHECK_INT(noted("late"), 1);
    CHECK_INT(effects(MOT_FX_ADVANCE), 0);
    CHECK_INT(effects(MOT_FX_SEND), 1); /* it gets the current model */
    for (uint32_t i = 0; i < outbox.n; i++) {
        if (outbox.effect[i].kind != MOT_FX_SEND) continue;
        CHECK_INT(outbox.effect[i].message.to, 2);
        CHECK_INT(outbox.effect[i].message.head.round, 1);
    }
    CHECK_NEAR(parameter(), before, 0);
    end();
}

TEST(a_worker_without_data_is_not_waited_for)
{
    begin("all");
    gradient(1, 0, 0, 0.0f);
    CHECK_INT(effects(MOT_FX_SEND), 0);
    gradient(0, 0, 10, 10.0f);
    gradient(2, 0, 10, 10.0f);
    CHECK_INT(effects(MOT_FX_ADVANCE), 1);
    CHECK_INT(effects(MOT_FX_SEND), 2);
    gradient(0, 1, 0, 0.0f);
    CHECK_INT(effects(MOT_FX_STOP), 0);
    gradient(2, 1, 0, 0.0f);
    CHECK_INT(effects(MOT_FX_STOP), 1);
    end();
}

TEST(no_buffer_is_leaked_by_a_round)
{
    begin("3");
    uint32_t used = 0;
    for (uint64_t round = 0; round < 50; round++) {
        for (mot_node i = 0; i < WORKERS; i++) {
            gradient(i, round, 4, 1.0f);
            /* The outbox holds the models that it sends; a driver would drop them on delivery. */
            for (uint32_t e = 0; e < outbox.n; e++)
                if (outbox.effect[e].kind == MOT_FX_SEND) mot_pool_drop(&pool, outbox.effect[e].message.body.buf);
        }
        if (round == 5) used = pool.used;
    }
    CHECK_INT(pool.used, used);
    end();
}

TEST_MAIN()
