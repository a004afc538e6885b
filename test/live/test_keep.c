/* What a method keeps survives the end of a live run: numbers and buffers, of every node whose model makes up
 * the run's, on threads and over ranks. */
#include "base/file.h"
#include "live/node.h"
#include "method/coder.h"
#include "report/tally.h"
#include "method/methods.h"
#include "scratch.h"
#include "wire/team.h"

/* Synchronous SGD with a memory, in two buffers and a counter:
 *
 *   g = mean gradient;  r' = r / 2 + p / 4 + weight * g;  p' = g;  x -= rate * r' / (1 + count mod 3)
 *
 * `alike`: the weight is 1, so all workers have one model. `apart`: it is larger for higher workers. */
struct memory {
    struct mot_params params;
    uint64_t draw, count;
    uint32_t round;
    mot_buf rest, past;
};
#define COUNT0 7u

static struct mot_need memory_need(const void *conf, const struct mot_world *w, mot_node self)
{
    (void)conf, (void)w, (void)self;
    return (struct mot_need){
        .state_bytes = sizeof(struct memory), .buffers = 14, .works = 1, .terms = 1, .colls = 1
    };
}

static bool is_apart(const struct mot_env *env) { return *(const uint32_t *)env->conf; }

static void memory_init(void *p, struct mot_env *env)
{
    struct memory *s = p;
    const struct mot_kept *kept = env->world->kept ? &env->world->kept[env->self] : NULL;
    mot_params_init(env, &s->params);
    s->draw = mot_first_draw(env);
    s->round = (uint32_t)s->params.step;
    s->count = kept ? kept->word[3] : COUNT0;
    s->rest = mot_hold(env, kept ? kept->buf[0] : env->world->zero);
    s->past = mot_hold(env, kept ? kept->buf[1] : env->world->zero);
    if (kept) MOT_ASSERT(kept->word[0] == 100 + (is_apart(env) ? env->self : 0));
}

static void memory_begin(struct memory *s, struct mot_env *env)
{
    struct mot_term term = {
        .part = env->self, .draw = s->draw, .samples = env->world->batch[env->self], .coef = 1
    };
    mot_start(env,
        &(struct mot_work){
            .tag = s->round, .terms = 1, .term = &term, .deadline = MOT_NEVER, .at = s->params.x });
}

static void memory_sum(struct memory *s, struct mot_env *env, const struct mot_coll_result *sum)
{
    double weight = (is_apart(env) ? 1 + env->self : 1) / sum->scalar[0];
    mot_buf past = mot_sum(env, &sum->out.buf, 1);
    mot_buf rest = mot_sum_weighted(
        env, (const mot_buf[]){ s->rest, s->past, past }, (const double[]){ 0.5, 0.25, weight }, 3);
    mot_drop(env, s->rest);
    mot_drop(env, s->past);
    s->rest = rest;
    s->past = past;
    mot_params_step(env, &s->params, mot_whole(env, rest), 1.0 / (double)(1 + s->count % 3), 1);
    s->count++;
    s->round++;
    mot_advance(env);
    memory_begin(s, env);
}

static void memory_step(void *p, struct mot_env *env, const struct mot_event *event)
{
    struct memory *s = p;
    switch (event->kind) {
    case MOT_EV_START: memory_begin(s, env); return;
    case MOT_EV_WORK:
        s->draw += event->work->samples;
        mot_collect(env,
            &(struct mot_coll){ .tag = s->round,
                .in = mot_whole(env, event->work->grad),
                .scalar = { event->work->samples } });
        return;
    case MOT_EV_COLL: memory_sum(s, env, event->coll); return;
    case MOT_EV_PEER:
        if (!event->peer.up) mot_stop(env, MOT_EPEER);
        return;
    case MOT_EV_MESSAGE:
    case MOT_EV_TIMER:
    case MOT_EV_PIECE: MOT_ASSERT(!"it asked for none of these"); return;
    }
}

static bool memory_model(const void *p, const struct mot_env *env, struct mot_view *view)
{
    (void)env;
    const struct mot_params *params = &((const struct memory *)p)->params;
    *view = (struct mot_view){ .x = params->x, .scale = 1, .params = params };
    return true;
}

static void memory_keep(const void *p, const struct mot_env *env, struct mot_kept *out)
{
    const struct memory *s = p;
    *out = (struct mot_kept){ .word = { 100 + env->self, 0, 0, s->count }, .buf = { s->rest, s->past } };
}

static void memory_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    (void)workers;
    t->keeps = 2;
    if (*(const uint32_t *)conf) t->model = MOT_MODEL_OF_EACH;
}

static const struct mot_option memory_options[] = {
    { .name = "models",
        .type = MOT_OPT_CHOICE,
        .preset = "alike",
        .choices = "alike|apart",
        .doc = "models" },
    { .name = NULL },
};
static const struct mot_method memory = { .name = "memory",
    .summary = "SGD with a memory",
    .options = memory_options,
    .conf_bytes = sizeof(uint32_t),
    .traits = memory_traits,
    .need = memory_need,
    .init = memory_init,
    .step = memory_step,
    .model = memory_model,
    .keep = memory_keep };
static const struct mot_method *const with_memory[] = { &memory, NULL };

static char folder[64];

static void begin(struct run *r, const char *models, const char *updates)
{
    mot_methods_extend(with_memory);
    RUN_SET(r, "data", "digits", "model", "softmax", "method", "memory", "method.models", models, "workers",
        "3", "batch", "[20, 30, 40]", "optimizer.momentum", "0.9", "optimizer.lr", "0.01", "stop.updates",
        updates, "output", folder);
}

static uint64_t on(const struct mot_driver *driver, const char *models, const char *updates, bool resume)
{
    struct run r = { .ways = { .driver = driver, .resume = resume, .replace = !resume } };
    begin(&r, models, updates);
    run_go(&r);
    uint64_t hash = r.status == MOT_OK && r.out.status == MOT_OK ? r.out.model_hash : 0;
    if (r.status == MOT_OK) run_free(&r);
    return hash;
}

static uint64_t over_ranks(const char *models, const char *updates, bool resume)
{
    struct team t = { .resume = resume };
    begin(&t.run, models, updates);
    if (!team_open(&t)) abort();
    team_go(&t);
    uint64_t hash = t.member[0].left_with == MOT_OK ? t.member[0].out.model_hash : 0;
    team_forget(&t);
    team_close(&t);
    return hash;
}

static const char *const kinds[] = { "alike", "apart" };

TEST(a_resumed_run_has_what_its_method_kept_on_threads_and_over_ranks)
{
    snprintf(folder, sizeof(folder), "/tmp/motley-kept-XXXXXX");
    CHECK(mkdtemp(folder));
    for (int k = 0; k < 2; k++) {
        uint64_t want = on(&mot_driver_sim, kinds[k], "31", false);
        CHECK(want != 0);
        CHECK(on(&mot_driver_threads, kinds[k], "31", false) == want);
        CHECK(on(&mot_driver_threads, kinds[k], "8", false) != 0);
        CHECK(on(&mot_driver_threads, kinds[k], "19", true) != 0);
        CHECK(on(&mot_driver_threads, kinds[k], "31", true) == want);
        CHECK(over_ranks(kinds[k], "8", false) != 0);
        CHECK(over_ranks(kinds[k], "19", true) != 0);
        CHECK(over_ranks(kinds[k], "31", true) == want);
        /* Begun on threads, ended over ranks. */
        CHECK(on(&mot_driver_threads, kinds[k], "13", false) != 0);
        CHECK(over_ranks(kinds[k], "31", true) == want);
    }
    scratch_remove(folder);
}

/* ---- What coded keeps --------------------------------------------------------------------- */

struct leg { /* of a run: roles shuffled in it, and the server's words in its checkpoint */
    double shuffles;
    uint64_t word[MOT_KEPT_WORDS];
};

/* What mot_live_load says of the checkpoint in the folder. */
static enum mot_status load(const struct run *r, struct mot_live_checkpoint *out)
{
    struct mot_live live;
    const struct mot_driver_options o = {
        .experiment = r->experiment, .problem = &r->job.problem, .optim = &r->job.optim, .hash = r->job.hash
    };
    if (mot_live_open(&live, &o) != MOT_OK) abort();
    char *path = mot_path_join(folder, "checkpoint.bin");
    enum mot_status status = mot_live_load(path, &live, out);
    free(path);
    mot_live_close(&live);
    return status;
}

static void train(struct run *r, const char *updates, bool resume)
{
    *r = (struct run){ .ways = { .driver = &mot_driver_threads, .resume = resume, .replace = !resume } };
    RUN_SET(r, "data", "digits", "model", "softmax", "method", "coded", "method.shuffle", "rotate-worker",
        "method.period", "7", "code", "frc", "workers", "4", "stop.updates", updates, "output", folder);
    run_go(r);
    if (r->status != MOT_OK || r->out.status != MOT_OK) abort();
}

static struct leg shuffle_until(const char *updates, bool resume)
{
    struct run r;
    struct leg leg = { 0 };
    struct mot_live_checkpoint c;
    train(&r, updates, resume);
    const struct mot_note_tally *note = mot_note_find(&r.out, "shuffles");
    leg.shuffles = note ? note->sum : 0;
    if (load(&r, &c) != MOT_OK || !c.word) abort();
    memcpy(leg.word, c.word[4], sizeof(leg.word)); /* the server's */
    mot_live_checkpoint_free(&c);
    run_free(&r);
    return leg;
}

TEST(a_resumed_coded_run_counts_its_shuffles_on_and_takes_the_next_task)
{
    snprintf(folder, sizeof(folder), "/tmp/motley-kept-XXXXXX");
    CHECK(mkdtemp(folder));
    struct leg first = shuffle_until("30", false), second = shuffle_until("41", true);
    CHECK(first.shuffles >= 1); /* how many more depends on how soon rows arrive */
    CHECK_INT(first.word[MOT_CODER_SHUFFLE], first.shuffles);
    CHECK_INT(second.word[MOT_CODER_SHUFFLE], first.shuffles + second.shuffles);
    CHECK_INT(first.word[MOT_CODER_TASK], 30);
    CHECK_INT(second.word[MOT_CODER_TASK], 41);
    CHECK(first.word[MOT_CODER_ROUNDS_LEFT] <= 7);
    scratch_remove(folder);
}

TEST(a_checkpoint_that_is_damaged_or_cut_off_anywhere_is_refused)
{
    struct run r;
    struct mot_live_checkpoint c;
    unsigned char *bytes;
    size_t n;
    snprintf(folder, sizeof(folder), "/tmp/motley-kept-XXXXXX");
    CHECK(mkdtemp(folder));
    train(&r, "3", false);
    char *path = mot_path_join(folder, "checkpoint.bin");
    CHECK_INT(mot_file_read(path, SIZE_MAX, &bytes, &n), MOT_OK);
    for (size_t i = 0; i < n; i += n / 37) {
        bytes[i] ^= 1;
        CHECK_INT(mot_file_replace(path, bytes, n), MOT_OK);
        CHECK_INT(load(&r, &c), MOT_EDATA);
        bytes[i] ^= 1;
        CHECK_INT(mot_file_replace(path, bytes, i), MOT_OK);
        CHECK_INT(load(&r, &c), MOT_EDATA);
    }
    CHECK_INT(mot_file_replace(path, bytes, n), MOT_OK);
    CHECK_INT(load(&r, &c), MOT_OK);
    mot_live_checkpoint_free(&c);
    run_free(&r);
    free(bytes);
    free(path);
    scratch_remove(folder);
}

TEST_MAIN()
