/* What may arrive at a node: every message of a run is admitted, and a forged one is either refused or
 * harmless. A probe wraps each method in simulated runs, with and without faults. Now and then it forks a
 * process in which a forged message replaces a real one, or several are added, and the run goes on. No
 * assertion of a method may fail there, at once or later. A driver that asks would drop the sender of a
 * message that is not admitted, so such a process ends. MOTLEY_LONG=1 for more seeds, MOTLEY_SEED=N and
 * MOTLEY_METHOD=NAME for one. */
#include "base/rng.h"
#include "method/grader.h"
#include "method/methods.h"
#include "run/method_options.h"
#include "run/outbox.h"
#include "run/pool.h"
#include "run/run.h"
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>

#if SANITIZED
#define SEEDS 4u
#define SEEDS_LONG 20u
#define FORKS 4u
#else
#define SEEDS 12u
#define SEEDS_LONG 400u
#define FORKS 12u
#endif
#define LOOKS 40u    /* one in so many events is looked at */
#define TRIES 30u    /* forged messages a look */
#define BESIDES 4u   /* messages that come besides */
#define PATIENCE 600 /* seconds for a run with a forged message */

static struct {
    const struct mot_method *method;
    uint64_t seed, delivered, refused, forged, admitted;
    struct mot_rng rng;
    struct mot_message last; /* that was delivered, to anybody */
    unsigned forks, failed;
    bool in_child;
} probe;

static uint32_t below(uint32_t n) { return (uint32_t)mot_rng_below(&probe.rng, n); }

/* ---- Forging --------------------------------------------------------------------------------------- */

static uint64_t some_integer(uint64_t near)
{
    switch (below(7)) {
    case 0: return 0;
    case 1: return near + 1;
    case 2: return near - 1;
    case 3: return below(10);
    case 4: return UINT64_MAX - below(2);
    case 5: return mot_rng_next(&probe.rng);
    default: return near;
    }
}

static double some_real(double near)
{
    switch (below(9)) {
    case 0: return 0;
    case 1: return NAN;
    case 2: return INFINITY;
    case 3: return -near;
    case 4: return 1e300;
    case 5: return below(5);
    case 6: return 1e-9;
    case 7: return near + 1;
    default: return near;
    }
}

static void forge_field(struct mot_message *m, const struct mot_env *env)
{
    switch (below(10)) {
    case 0: m->kind = (uint16_t)(below(4) ? below(5) : some_integer(m->kind)); return;
    case 1: m->from = (mot_node)(below(4) ? below(env->world->nodes) : some_integer(m->from)); return;
    case 2: m->head.round = some_integer(m->head.round); return;
    case 3: m->head.samples = (uint32_t)some_integer(m->head.samples); return;
    case 4: m->head.value = some_real(m->head.value); return;
    case 5:
        if (below(2)) m->body.off = (uint32_t)some_integer(m->body.off);
        else m->body.len = (uint32_t)some_integer(m->body.len);
        return;
    case 6: m->body.buf = below(2) ? MOT_NO_BUF : env->world->x0; return;
    case 7: m->intact = !m->intact; return;
    case 8: m->given = (uint32_t)some_integer(m->given); return;
    case 9: m->draw = some_integer(m->draw); return;
    }
}

/* A message like `real` with something else in it. Its body is a buffer that there is. */
static struct mot_message forge(const struct mot_message *real, const struct mot_env *env)
{
    struct mot_message m = *real;
    uint32_t fields = 1 + below(3);
    m.to = env->self;
    for (uint32_t i = 0; i < fields; i++) forge_field(&m, env);
    return m;
}

/* As far as a method can tell. */
static bool alike(const struct mot_message *a, const struct mot_message *b)
{
    return a->kind == b->kind && a->from == b->from && a->head.round == b->head.round &&
        a->head.samples == b->head.samples && a->head.value == b->head.value && a->body.buf == b->body.buf &&
        a->given == b->given && a->draw == b->draw && a->body.off == b->body.off &&
        a->body.len == b->body.len;
}

static bool admits(const void *state, const struct mot_env *env, const struct mot_message *m)
{
    return mot_method_admits(probe.method, state, env, m);
}

/* Any bits, where there are floats: then it is not as it was handed over. */
static void spoil(const struct mot_env *env, struct mot_message *m)
{
    if (m->body.buf == MOT_NO_BUF || m->body.buf == env->world->x0) return;
    float *x = mot_pool_at(env->pool, m->body.buf) + m->body.off;
    for (uint32_t i = 0; i < m->body.len; i++) {
        uint32_t bits = (uint32_t)mot_rng_next(&probe.rng);
        memcpy(&x[i], &bits, sizeof bits);
    }
    m->intact = false;
}

/* ---- In the child ------------------------------------------------------------------------------------ */

static void take(void *state, struct mot_env *env, const struct mot_message *m)
{
    probe.method->step(state, env, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = m });
    if (probe.method->check) probe.method->check(state, env);
}

/* Several in a row, each as the state is then; the run does not go on. */
static _Noreturn void take_besides(void *state, struct mot_env *env, const struct mot_message *first)
{
    take(state, env, first);
    for (uint32_t more = 1, tries = 0; more < BESIDES && tries < 20 * TRIES; tries++) {
        struct mot_message m = forge(tries % 2 ? first : &probe.last, env);
        if (m.body.buf != MOT_NO_BUF) m.body.buf = env->world->x0;
        if (!admits(state, env, &m)) continue;
        mot_outbox_clear(env->out);
        take(state, env, &m);
        more++;
    }
    _exit(0);
}

/* ---- The probe --------------------------------------------------------------------------------------- */

static void tell_failure(const struct mot_env *env, const struct mot_message *m, const char *what)
{
    printf("  %s, seed %llu: node %u at %llu ns, kind %u from %u, round %llu, samples %u, value %g, body %u "
           "[%u, +%u): %s\n",
        probe.method->name, (unsigned long long)probe.seed, env->self, (unsigned long long)env->now, m->kind,
        m->from, (unsigned long long)m->head.round, m->head.samples, m->head.value, m->body.buf, m->body.off,
        m->body.len, what);
    fflush(stdout);
}

/* True: this is the child, and the forged message was taken in place of the event. */
static bool try_one(void *state, struct mot_env *env, const struct mot_event *event)
{
    bool instead = event->kind == MOT_EV_MESSAGE;
    struct mot_message m = forge(instead ? event->message : &probe.last, env);
    if (!instead && m.body.buf != MOT_NO_BUF) m.body.buf = env->world->x0;
    if (instead && alike(&m, event->message)) return false;
    probe.forged++;
    if (!admits(state, env, &m)) return false;
    probe.admitted++;
    probe.forks--;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        probe.in_child = true;
        alarm(PATIENCE);
        if (!instead) take_besides(state, env, &m);
        if (below(2)) spoil(env, &m);
        take(state, env, &m);
        return true;
    }
    int how = 0;
    if (child < 0 || waitpid(child, &how, 0) != child || !WIFEXITED(how) || WEXITSTATUS(how) != 0) {
        tell_failure(env, &m, "admitted, and it did harm");
        probe.failed++;
    }
    return false;
}

static void probe_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    if (event->kind == MOT_EV_MESSAGE) {
        probe.delivered++;
        if (!admits(state, env, event->message)) {
            if (probe.in_child) _exit(0);
            probe.refused++;
            tell_failure(env, event->message, "it was sent, and is not admitted");
        }
    }
    if (!probe.in_child && probe.delivered && below(LOOKS) == 0)
        for (uint32_t i = 0; i < TRIES && probe.forks; i++)
            if (try_one(state, env, event)) return;
    if (event->kind == MOT_EV_MESSAGE) probe.last = *event->message;
    probe.method->step(state, env, event);
}

/* ---- Runs ---------------------------------------------------------------------------------------------- */

static void play(uint64_t seed, const struct mot_method *method)
{
    static const char calm[] = "{workers: [{count: 3}, {speed: 300 samples/s}]}",
                      storm[] =
                          "{workers: [{count: 3, jitter: {name: lognormal, sigma: 0.5}}, {speed: 300 "
                          "samples/s}], faults: {detect: 100ms, crash: 0.5/s, restart_after: 300ms, drop: "
                          "2%, corrupt: 2%, duplicate: 5%, reorder: 5%, until: 3s, schedule: [{kind: "
                          "poison, at: 200ms, for: 1s, worker: 1}]}}";
    struct mot_method probed = *method;
    const struct mot_method *brought[] = { &probed, NULL };
    char text[24];
    struct run r = { 0 };
    probed.name = "probed";
    probed.step = probe_step;
    probe.method = method;
    probe.seed = seed;
    probe.rng = mot_rng_at(seed, MOT_RNG_TEST, 21);
    probe.forks = FORKS;
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    RUN_SET(&r, "seed", text, "method", "probed", "data", "digits", "data.rows", "200", "model", "softmax",
        "optimizer.lr", "0.02", "batch", "16", "evaluate.every", "100000 updates", "stop.updates", "60",
        "stop.time", "60s", "sim.threads", "1", "cluster", seed % 2 ? calm : storm);
    if (seed % 5 == 0) RUN_SET(&r, "sampler.passes", "2"); /* data that run out */
    if (strcmp(method->name, "async") == 0 && seed % 7 == 3) RUN_SET(&r, "method.shards", "3");
    else run_set_all(&r, options_of(method->name, seed / 2));
    const struct mot_method *const *before = mot_methods_extend(brought);
    run_go(&r);
    if (probe.in_child) _exit(0);
    mot_methods_extend(before);
    CHECK_INT(r.status, MOT_OK);
    CHECK(r.out.last.updates > 0 || r.out.status == MOT_EPEER);
    run_free(&r);
}

TEST(what_a_run_sends_is_admitted_and_what_is_admitted_does_no_harm)
{
    const char *only = getenv("MOTLEY_SEED"), *one = getenv("MOTLEY_METHOD");
    uint64_t seeds = getenv("MOTLEY_LONG") ? SEEDS_LONG : SEEDS, from = only ? strtoull(only, NULL, 10) : 1;
    for (size_t i = 0; mot_method_at(i); i++) {
        const struct mot_method *method = mot_method_at(i);
        if (one && strcmp(one, method->name) != 0) continue;
        probe.delivered = probe.refused = probe.forged = probe.admitted = 0;
        probe.failed = 0;
        for (uint64_t seed = from; seed <= (only ? from : seeds); seed++) play(seed, method);
        printf("  %s, seeds %llu to %llu: %llu messages delivered; %llu forged, %llu of them admitted\n",
            method->name, (unsigned long long)from, (unsigned long long)(only ? from : seeds),
            (unsigned long long)probe.delivered, (unsigned long long)probe.forged,
            (unsigned long long)probe.admitted);
        CHECK_INT(probe.refused, 0);
        CHECK_INT(probe.failed, 0);
        /* a method without messages admits none; of others some forged ones are as good as real ones */
        CHECK((probe.delivered > 0) == (method->admits != NULL));
        if (!only && method->admits) CHECK(probe.admitted > seeds && probe.forged > 2 * probe.admitted);
    }
}

TEST_MAIN()
