/* Elastic runs: a server that has lost all its workers waits, and goes on when they are back. Every method
 * with a server, under simulated faults, with invariants checked after each step. MOTLEY_LONG=1 for more
 * seeds, MOTLEY_SEED=N for one. */
#include "base/rng.h"
#include "method/methods.h"
#include "report/report.h"
#include "report/tally.h"
#include "run/method_options.h"
#include "run/run.h"

#if SANITIZED
#define SEEDS 3u
#define SEEDS_LONG 20u
#else
#define SEEDS 15u
#define SEEDS_LONG 500u
#endif
#define WORKERS 4
#define UPDATES 200

static const struct mot_method *method;

static void checked_step(void *state, struct mot_env *env, const struct mot_event *event)
{
    method->step(state, env, event);
    method->check(state, env);
}

static bool has_server(const struct mot_method *m) { return traits_of(m).servers > 0; }

/* Faults: those of the cluster. Options: pairs, ended by NULL. */
static void go(struct run *r, const char *faults, bool elastic, const char *const *pair)
{
    static struct mot_method checked; /* the experiment keeps it */
    const struct mot_method *brought[] = { &checked, NULL };
    char cluster[400];
    checked = *method;
    checked.name = "checked";
    checked.step = checked_step;
    *r = (struct run){ 0 };
    snprintf(cluster, sizeof cluster,
        "{workers: [{count: %d, jitter: {name: lognormal, sigma: 0.3}}], faults: "
        "{detect: 50ms, %s}}",
        WORKERS, faults);
    RUN_SET(r, "data", "digits", "data.rows", "600", "model", "softmax", "method", "checked", "batch", "16",
        "evaluate.every", "100000 updates", "stop.updates", "200", "cluster", cluster, "elastic",
        elastic ? "true" : "false");
    run_set_all(r, pair);
    const struct mot_method *const *before = mot_methods_extend(brought);
    run_go(r);
    mot_methods_extend(before);
}

static double noted(const struct run *r, const char *key)
{
    const struct mot_note_tally *t = mot_note_find(&r->out, key);
    return t ? t->sum : 0;
}

static const char *const none[] = { NULL };

/* At once, and one after the other; before the first gradient, and in mid-run. */
TEST(a_server_without_workers_waits_until_they_are_back)
{
    static const char *const faults[] = {
        "schedule: [{kind: crash, at: 300ms, for: 2s, workers: [0, 1, 2, 3]}]",
        "schedule: [{kind: crash, at: 1ms, for: 1s, workers: [0, 1, 2, 3]}]",
        "schedule: [{kind: crash, at: 200ms, for: 3s, worker: 2}, {kind: crash, at: 300ms, for: 1s, worker: "
        "0}, "
        "{kind: crash, at: 400ms, for: 2s, worker: 3}, {kind: crash, at: 500ms, for: 4s, worker: 1}]"
    };
    for (size_t m = 0; (method = mot_method_at(m)); m++)
        for (size_t i = 0; has_server(method) && i < MOT_COUNT(faults); i++)
            for (uint64_t options = 0; options < 5; options++) {
                struct run r;
                const char *const *pair = options_of(method->name, options);
                printf("  %s, faults %zu, options %llu\n", method->name, i, (unsigned long long)options);
                go(&r, faults[i], true, pair);
                CHECK_INT(r.status, MOT_OK);
                CHECK_INT(r.out.status, MOT_OK);
                CHECK_INT(r.out.last.updates, UPDATES);
                CHECK_NEAR(noted(&r, "workers_lost"), WORKERS, 0);
                CHECK(noted(&r, "workers_back") >= (i < 2 ? WORKERS : 1)); /* the last ones may be late */
                CHECK(r.out.last.now > UINT64_C(1000000000));              /* it has waited */
                CHECK(r.out.last.score.train_accuracy > 0.5);
                run_free(&r);
                if (*pair == NULL) break;
            }
}

TEST(otherwise_the_run_ends_with_its_last_worker)
{
    for (size_t m = 0; (method = mot_method_at(m)); m++) {
        struct run r;
        if (!has_server(method)) continue;
        go(&r, "schedule: [{kind: crash, at: 300ms, for: 2s, workers: [0, 1, 2, 3]}]", false, none);
        CHECK_INT(r.out.status, MOT_EPEER);
        CHECK(r.out.last.updates < UPDATES);
        CHECK(r.out.last.now < UINT64_C(500000000));
        run_free(&r);
    }
}

TEST(a_run_that_nobody_comes_back_to_ends_and_says_so)
{
    for (size_t m = 0; (method = mot_method_at(m)); m++) {
        struct run r;
        if (!has_server(method)) continue;
        go(&r, "schedule: [{kind: crash, at: 300ms, for: never, workers: [0, 1, 2, 3]}]", true, none);
        CHECK_INT(r.out.status, MOT_EPEER);
        CHECK(r.out.has_peer && r.out.peer < WORKERS && !r.out.model_lost);
        char *verdict = mot_verdict(r.experiment, &r.out);
        if (!strstr(verdict, ". Nobody was left, and nobody came back. "))
            FAIL("%s: %s", method->name, verdict);
        if (strstr(verdict, "the last one that")) FAIL("%s: %s", method->name, verdict);
        free(verdict);
        run_free(&r);
    }
}

/* With shards, too, where every worker keeps its own jobs. */
TEST(several_servers_wait_for_the_same_workers)
{
    struct run r;
    method = &mot_method_async;
    go(&r, "schedule: [{kind: crash, at: 300ms, for: 2s, workers: [0, 1, 2, 3]}]", true,
        (const char *const[]){ "method.shards", "3", NULL });
    CHECK_INT(r.out.status, MOT_OK);
    CHECK_INT(r.out.last.updates, UPDATES);
    run_free(&r);
}

/* Crashes without end, of which most hit the last that is left sooner or later. */
TEST(a_run_with_churn_makes_all_its_updates)
{
    const char *only = getenv("MOTLEY_SEED");
    uint64_t seeds = getenv("MOTLEY_LONG") ? SEEDS_LONG : SEEDS, from = only ? strtoull(only, NULL, 10) : 1;
    for (size_t m = 0; (method = mot_method_at(m)); m++) {
        unsigned alone = 0;
        if (!has_server(method)) continue;
        for (uint64_t seed = from; seed <= (only ? from : seeds); seed++) {
            char text[24];
            struct run r;
            snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
            const char *pair[20] = { "seed", text };
            const char *const *more = options_of(method->name, seed);
            for (size_t i = 0; more[i]; i++) pair[2 + i] = more[i];
            go(&r, "crash: 1/s, restart_after: 1s", true, pair);
            if (r.out.status != MOT_OK || r.out.last.updates != UPDATES)
                FAIL("%s, seed %llu: status %d after %llu updates", method->name, (unsigned long long)seed,
                    (int)r.out.status, (unsigned long long)r.out.last.updates);
            run_free(&r);
            go(&r, "crash: 1/s, restart_after: 1s", false, pair);
            alone += r.out.status == MOT_EPEER;
            run_free(&r);
        }
        printf("  %s, seeds %llu to %llu: %u would have ended without elastic\n", method->name,
            (unsigned long long)from, (unsigned long long)(only ? from : seeds), alone);
        if (!only) CHECK(alone > 0);
    }
}

TEST_MAIN()
