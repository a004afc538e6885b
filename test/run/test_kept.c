/* What a run keeps: the best model by validation, its position in the data across several stops, every
 * letter. */
#include "base/file.h"
#include "method/methods.h"
#include "run/run.h"
#include "scratch.h"

/* ---- The best model by validation ------------------------------------------------------------------ */

/* So fast that it does not settle: the last model is not the best. A target that is never met, so that a live
 * run leaves no evaluation out. */
#define WILD                                                                                                 \
    "data", "digits", "data.valid", "0.2", "model", "softmax", "workers", "2", "optimizer.lr", "2",          \
        "optimizer.momentum", "0.95", "evaluate.every", "1 updates", "evaluate.train", "end",                \
        "stop.target.grad_norm", "1e-30"

static void keeps_the_best(const struct mot_driver *driver, const char *method)
{
    struct run r = { .ways = { .driver = driver } }, then = { 0 };
    char updates[24];
    RUN_SET(&r, WILD, "method", method, "topology", "ring", "stop.updates", "40");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.out.best != NULL);
    CHECK(r.out.best_updates > 0 && r.out.best_updates < 40);
    CHECK(r.out.best_score.valid_accuracy > r.out.last.score.valid_accuracy);
    snprintf(updates, sizeof updates, "%llu", (unsigned long long)r.out.best_updates);
    RUN_SET(&then, WILD, "method", method, "topology", "ring", "stop.updates", updates);
    run_go(&then);
    CHECK_INT(then.status, MOT_OK);
    CHECK(memcmp(r.out.best, then.out.x, r.job.net.dim * sizeof(float)) == 0);
    CHECK(r.out.best_score.valid_accuracy == then.out.last.score.valid_accuracy);
    CHECK(memcmp(r.out.best, r.out.x, r.job.net.dim * sizeof(float)) != 0);
    run_free(&then);
    run_free(&r);
}

TEST(the_best_model_of_a_simulated_run_is_that_of_its_best_update)
{
    keeps_the_best(&mot_driver_sim, "allreduce");
}
TEST(the_best_model_of_a_run_on_threads_is_that_of_its_best_update)
{
    keeps_the_best(&mot_driver_threads, "allreduce");
    keeps_the_best(&mot_driver_threads, "server");
    keeps_the_best(&mot_driver_threads, "dpsgd");
}

/* ---- Stopped twice ------------------------------------------------------------------------------------ */

static uint64_t go_to(
    const char *method, const char *updates, const char *folder, bool resume, uint64_t *samples)
{
    struct run r = { .ways = { .driver = &mot_driver_threads, .resume = resume, .replace = !resume } };
    RUN_SET(&r, "data", "digits", "model", "softmax", "workers", "3", "method", method, "topology", "ring",
        "optimizer.momentum", "0.9", "stop.updates", updates, "output", folder);
    run_go(&r);
    uint64_t hash = r.status == MOT_OK && r.out.status == MOT_OK ? r.out.model_hash : 0;
    if (samples) *samples = r.out.last.samples;
    run_free(&r);
    return hash;
}

TEST(a_run_on_threads_that_is_stopped_twice_keeps_its_place_in_the_data)
{
    static const char *const methods[] = { "allreduce", "server", "dpsgd" };
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        char folder[] = "/tmp/motley-test-XXXXXX";
        uint64_t all, samples;
        CHECK(mkdtemp(folder) != NULL);
        uint64_t whole = go_to(methods[m], "60", folder, false, &all);
        CHECK(whole != 0);
        CHECK(go_to(methods[m], "17", folder, false, NULL) != 0);
        CHECK(go_to(methods[m], "35", folder, true, NULL) != 0);
        CHECK(go_to(methods[m], "60", folder, true, &samples) == whole);
        CHECK_INT(samples, all);
        scratch_remove(folder);
    }
}

/* Stops just after its best update, so that nothing which follows is as good. */
static void keeps_the_best_over_a_stop(const char *method)
{
    char folder[] = "/tmp/motley-test-XXXXXX", after[24];
    CHECK(mkdtemp(folder) != NULL);
    struct run whole = { .ways = { .driver = &mot_driver_threads } };
    RUN_SET(&whole, WILD, "method", method, "topology", "ring", "stop.updates", "50");
    run_go(&whole);
    CHECK_INT(whole.out.status, MOT_OK);
    CHECK(whole.out.best_updates > 0 && whole.out.best_updates < 49);
    snprintf(after, sizeof after, "%llu", (unsigned long long)whole.out.best_updates + 1);
    for (int part = 0; part < 2; part++) {
        struct run r = { .ways = { .driver = &mot_driver_threads, .resume = part == 1 } };
        RUN_SET(&r, WILD, "method", method, "topology", "ring", "stop.updates", part ? "50" : after, "output",
            folder);
        run_go(&r);
        CHECK_INT(r.out.status, MOT_OK);
        CHECK_INT(r.out.best_updates, whole.out.best_updates);
        CHECK(r.out.best_score.valid_accuracy == whole.out.best_score.valid_accuracy);
        CHECK(r.out.best && memcmp(r.out.best, whole.out.best, r.job.net.dim * sizeof(float)) == 0);
        run_free(&r);
    }
    run_free(&whole);
    scratch_remove(folder);
}

TEST(a_run_on_threads_that_goes_on_keeps_the_best_model_of_its_first_part)
{
    keeps_the_best_over_a_stop("allreduce");
    keeps_the_best_over_a_stop("server");
    keeps_the_best_over_a_stop("dpsgd");
}

/* ---- A mailbox that grows ------------------------------------------------------------------------ */

/* Every other worker sends worker 0 one letter; the emulated links hold them all back until more are
 * under way than any node has declared. */
#define WRITERS 40
struct flood {
    mot_buf x;
    uint32_t came;
    uint64_t from[WRITERS + 1];
};

static struct mot_need flood_need(const void *conf, const struct mot_world *w, mot_node self)
{
    (void)conf, (void)w, (void)self;
    return (struct mot_need){ .state_bytes = sizeof(struct flood), .buffers = 2, .sends = 1 };
}
static void flood_init(void *state, struct mot_env *env)
{
    struct flood *s = state;
    struct mot_params p;
    mot_params_init(env, &p);
    s->x = p.x;
}
static void flood_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    struct flood *s = state;
    if (event->kind == MOT_EV_START && env->self > 0) {
        mot_send(env, 0, 1, (struct mot_head){ .round = env->self * 7u }, (struct mot_slice){ 0 });
        mot_stop(env, MOT_OK);
    }
    if (event->kind != MOT_EV_MESSAGE) return;
    s->from[event->message->from] += event->message->head.round;
    if (++s->came < WRITERS) return;
    double right = 0;
    for (uint32_t i = 1; i <= WRITERS; i++) right += s->from[i] == i * 7u;
    mot_note(env, "right", right);
    mot_advance(env);
}
static bool flood_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    (void)env;
    *view = (struct mot_view){ .x = ((const struct flood *)state)->x, .scale = 1 };
    return true;
}
static const struct mot_option no_options[] = { { .name = NULL } };
static const struct mot_method flood = { .name = "flood",
    .summary = "letters",
    .about = "letters",
    .options = no_options,
    .need = flood_need,
    .init = flood_init,
    .step = flood_step,
    .model = flood_model };

TEST(a_mailbox_that_must_grow_loses_no_letter)
{
    static const struct mot_method *const more[] = { &flood, NULL };
    struct run r = { .ways = { .driver = &mot_driver_threads, .emulate = true } };
    RUN_SET(&r, "data", "digits", "model", "softmax", "method", "flood", "stop.updates", "1", "stop.time",
        "60s", "cluster", "{workers: [{count: 41, speed: 1000 samples/s}], network: {latency: 300ms}}");
    mot_methods_extend(more);
    run_go(&r);
    mot_methods_extend(NULL);
    CHECK_INT(r.status, MOT_OK);
    CHECK_TEXT(r.out.ended_by, "updates");
    CHECK_INT(r.out.notes, 1);
    CHECK_TEXT(r.out.note[0].key, "right");
    CHECK_INT(r.out.note[0].sum, WRITERS);
    run_free(&r);
}

TEST_MAIN()
