/* Merciless faults, in every mix and for every method: crashes that overlap, hit all nodes at once or come
 * in storms; returns after a millisecond or a year; links that lose much or everything. No run has to
 * learn anything, but it must end, say why, name whom it lost, and never go on with a model that was lost
 * on the way. MOTLEY_LONG=1 for ten thousand seeds, MOTLEY_SEED=N for one. */
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "sim/patience.h"
#include "method/methods.h"
#include "run/method_options.h"
#include "run/run.h"
#include <stdarg.h>
#include <stdlib.h>

#if SANITIZED
#define SEEDS 12u
#define SEEDS_LONG 500u
#else
#define SEEDS 250u
#define SEEDS_LONG 10000u
#endif
#define EVENTS_MOST 20000000u /* of one run; most have some thousand */

/* ---- The mix --------------------------------------------------------------------------------------- */

struct mix {
    uint32_t workers, updates;
    bool timed, server_crashes; /* timed: it has a stop.time */
    bool endless;               /* stalls and losses that last a year; faults that come all the time */
    char calm[300], cluster[2000], stop[24];
};

struct text {
    char *at;
    size_t left;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, t->left, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= t->left) abort();
    t->at += n;
    t->left -= (size_t)n;
}

static uint32_t below(struct mot_rng *rng, uint32_t n) { return (uint32_t)mot_rng_below(rng, n); }

static const char *one_of(struct mot_rng *rng, const char *const *list, size_t n)
{
    return list[below(rng, (uint32_t)n)];
}
#define ONE_OF(rng, ...)                                                                                     \
    one_of(rng, (const char *const[]){ __VA_ARGS__ }, MOT_COUNT(((const char *const[]){ __VA_ARGS__ })))

/* Every worker, or some. Without a server only a partition of some cuts anybody off. */
static void say_workers(struct text *t, struct mot_rng *rng, uint32_t workers)
{
    uint32_t all = (1u << workers) - 1, chosen = below(rng, 3) ? 1 + below(rng, all) : all;
    const char *comma = "";
    say(t, ", workers: [");
    for (uint32_t i = 0; i < workers; i++)
        if (chosen >> i & 1) {
            say(t, "%s%u", comma, i);
            comma = ", ";
        }
    say(t, "]");
}

static void say_fault(struct text *t, struct mot_rng *rng, struct mix *m)
{
    const char *kind =
        ONE_OF(rng, "crash", "crash", "crash", "restart", "stall", "partition", "drop", "slow-link");
    bool crash = strcmp(kind, "crash") == 0, stall = strcmp(kind, "stall") == 0,
         server = crash && below(rng, 12) == 0;
    say(t, "{kind: %s, at: %ums", kind, below(rng, 2500));
    if (server) {
        m->server_crashes = true;
        say(t, ", server: true}");
        return;
    }
    if (strcmp(kind, "restart") != 0)
        say(t, ", for: %s",
            stall && !m->endless ? ONE_OF(rng, "30ms", "500ms", "3s", "20s")
                                 : ONE_OF(rng, "30ms", "500ms", "3s", "8760h"));
    if (strcmp(kind, "slow-link") == 0) say(t, ", factor: %s", ONE_OF(rng, "3", "1000"));
    if (strcmp(kind, "drop") == 0) say(t, ", probability: %s", ONE_OF(rng, "30%", "90%", "100%"));
    say_workers(t, rng, m->workers);
    say(t, "}");
}

static void say_rates(struct text *t, struct mot_rng *rng)
{
    say(t, "detect: %s, until: %s, ", ONE_OF(rng, "50ms", "300ms", "1s", "3s"),
        ONE_OF(rng, "2s", "never", "never"));
    say(t, "crash: %s/s, restart_after: %s, ", ONE_OF(rng, "0", "0.1", "1", "5", "20"),
        ONE_OF(rng, "never", "1ms", "20ms", "700ms", "5s", "60s", "8760h"));
    say(t, "stall: %s/s, stall_for: 200ms, slow_link: %s/s, ", ONE_OF(rng, "0", "0.2", "2"),
        ONE_OF(rng, "0", "0.5"));
    say(t, "partition: %s/s, partition_for: %s, ", ONE_OF(rng, "0", "0.1", "1"), ONE_OF(rng, "80ms", "2s"));
    say(t, "drop: %s, duplicate: %s, reorder: %s, corrupt: %s", ONE_OF(rng, "0%", "2%", "20%"),
        ONE_OF(rng, "0%", "5%"), ONE_OF(rng, "0%", "5%"), ONE_OF(rng, "0%", "3%"));
}

/* Faults beyond measure: outages of hours and years in which more faults find nobody to hit. */
static void say_endless(struct text *t, struct mot_rng *rng)
{
    say(t, "detect: %s, ", ONE_OF(rng, "50ms", "30s", "2h", "8760h"));
    say(t, "crash: %s/s, restart_after: %s, ", ONE_OF(rng, "0", "1", "1000"),
        ONE_OF(rng, "never", "1ms", "30s", "1h", "8760h"));
    say(t, "stall: %s/s, stall_for: %s, ", ONE_OF(rng, "0", "1", "1000"),
        ONE_OF(rng, "20ms", "30s", "1h", "8760h"));
    say(t, "slow_link: %s/s, partition: %s/s, partition_for: %s, ", ONE_OF(rng, "0", "1", "1000"),
        ONE_OF(rng, "0", "0", "1", "1000"), ONE_OF(rng, "1ms", "30s", "8760h"));
    say(t, "drop: %s", ONE_OF(rng, "0%", "2%"));
}

static struct mix mix_of(uint64_t seed, const struct mot_method *method)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 5);
    struct mix m = { .workers = 1 + below(&rng, 6), .timed = below(&rng, 2) };
    m.updates = (20 + below(&rng, 60)) * (traits_of(method).asynchronous ? m.workers : 1);
    uint32_t slow = below(&rng, m.workers);
    struct text t = { m.calm, sizeof m.calm };
    say(&t, "workers: [{count: %u, jitter: {name: lognormal, sigma: 0.3}}", m.workers - slow);
    if (slow) say(&t, ", {count: %u, speed: 400 samples/s}", slow);
    say(&t, "]");
    t = (struct text){ m.cluster, sizeof m.cluster };
    say(&t, "{%s, faults: {", m.calm);
    /* rates alone, a schedule alone, or both */
    uint32_t which = below(&rng, 3), faults = which == 0 ? 0 : 1 + below(&rng, 5);
    m.endless = seed % 25 == 24;
    if (m.endless) say_endless(&t, &rng);
    else if (which != 1) say_rates(&t, &rng);
    if (faults && (m.endless || which != 1)) say(&t, ", ");
    if (faults) say(&t, "schedule: [");
    for (uint32_t i = 0; i < faults; i++) {
        if (i) say(&t, ", ");
        say_fault(&t, &rng, &m);
    }
    say(&t, "%s}}", faults ? "]" : "");
    snprintf(m.stop, sizeof m.stop, "%s", m.timed ? ONE_OF(&rng, "2s", "30s") : "none");
    return m;
}

/* ---- One run ----------------------------------------------------------------------------------------- */

static void note_command(const struct run *r)
{
    struct text t = { patience_command, sizeof patience_command };
    say(&t, "motley sim");
    for (size_t i = 0; i < r->settings; i++)
        say(&t, " --set '%s=%s'", r->setting[i].key, r->setting[i].value);
}

static void simulate(
    struct run *r, uint64_t seed, const struct mot_method *method, const struct mix *m, bool calm)
{
    char text[24], updates[24], cluster[320];
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    snprintf(updates, sizeof updates, "%u", m->updates);
    snprintf(cluster, sizeof cluster, "{%s}", m->calm);
    RUN_SET(r, "seed", text, "method", method->name, "data", "digits", "data.rows", "200", "model", "softmax",
        "optimizer.lr", "0.02", "batch", "32", "evaluate.every", "100000 updates", "stop.updates", updates,
        "stop.time", calm ? "none" : m->stop, "cluster", calm ? cluster : m->cluster, "sim.collective",
        (const char *const[]){ "ring", "tree", "doubling" }[seed % 3]);
    if (seed % 4 == 3) RUN_SET(r, "elastic", "true");
    if (m->workers >= 3) run_set_all(r, options_of(method->name, seed)); /* what waits for three needs them */
    note_command(r);
    patience_for(PATIENCE_S);
    run_go(r);
    patience_for(0);
}

/* ---- What must hold ------------------------------------------------------------------------------------ */

struct seen {
    unsigned ended_well, lost, models_lost, survived;
};

/* Losses of synchronous methods apart, faults are delays: the model is that of a run without any. */
static bool same_as_calm(uint64_t seed, const struct mot_method *method, const struct mix *m, uint64_t hash)
{
    struct run r = { 0 };
    simulate(&r, seed, method, m, true);
    bool same = r.status == MOT_OK && r.out.status == MOT_OK && r.out.model_hash == hash;
    run_free(&r);
    return same;
}

static bool in_step(const struct mot_method *method, uint64_t seed)
{
    struct mot_traits t = traits_of(method);
    for (const char *const *pair = options_of(method->name, seed); *pair; pair++)
        if (strcmp(*pair, "loose") == 0) return false;
    return t.servers == 0 && !t.asynchronous;
}

static const char *wrong_loss(
    const struct mix *m, const struct mot_method *method, const struct mot_outcome *o)
{
    uint64_t losses = o->faults.crashes + o->faults.given_up;
    if (!o->has_peer || !o->peer_by) return "somebody was lost and the status does not say who, or how";
    if (o->peer >= m->workers)
        return m->server_crashes && traits_of(method).servers ? NULL : "the server is called lost";
    /* Rows that a worker lost come over its links: if it is lost again before, time after time, the run
     * says that it makes no progress. */
    if (method->holds && o->stuck_by == MOT_STUCK_LOSSES) return NULL;
    if (traits_of(method).servers && losses < o->faults.restarts + m->workers)
        return "it ended though a worker was there";
    if (traits_of(method).servers && o->model_lost) return "the server has the model";
    if (losses == 0) return "nobody was lost";
    if (o->model_lost && losses < m->workers) return "the model is called lost, and some worker had it";
    return NULL;
}

static const char *wrong(
    uint64_t seed, const struct mix *m, const struct mot_method *method, const struct run *r)
{
    const struct mot_outcome *o = &r->out;
    uint64_t losses = o->faults.crashes + o->faults.given_up;
    if (r->status != MOT_OK) return "the run could not be made";
    if (o->last.events > EVENTS_MOST) return "it took too many events";
    if (!isfinite(o->last.score.train_loss)) return "its model is not finite";
    if (o->status == MOT_EPEER) return wrong_loss(m, method, o);
    if (m->endless && o->stuck_by == MOT_STUCK_FAULTS) return NULL;
    if (o->status != MOT_OK) return "it ended with another status";
    bool whole = strcmp(o->ended_by, "updates") == 0;
    if (!whole && !(m->timed && strcmp(o->ended_by, "time") == 0)) return "it ended for another reason";
    if (whole && o->last.updates != m->updates) return "it ended after another number of updates";
    if (method == &mot_method_allreduce && o->faults.restarts)
        return "it went on with a worker that knew nothing";
    if (!whole || !in_step(method, seed) || losses) return NULL;
    return same_as_calm(seed, method, m, o->model_hash) ? NULL
                                                        : "its model is not that of a run without faults";
}

static bool play(uint64_t seed, const struct mot_method *method, struct seen *seen)
{
    struct mix m = mix_of(seed, method);
    struct run r = { 0 };
    simulate(&r, seed, method, &m, false);
    char command[sizeof patience_command];
    memcpy(command, patience_command, sizeof command);
    const char *why = wrong(seed, &m, method, &r);
    if (why) printf("  seed %llu: %s; this repeats it:\n  %s\n", (unsigned long long)seed, why, command);
    bool well = r.out.status == MOT_OK;
    seen->ended_well += well;
    seen->lost += !well;
    seen->models_lost += r.out.model_lost;
    seen->survived += well && r.out.faults.crashes + r.out.faults.given_up > 0;
    run_free(&r);
    return !why;
}

TEST(every_method_ends_under_any_faults_and_never_goes_on_with_a_lost_model)
{
    const char *only = getenv("MOTLEY_SEED"), *one = getenv("MOTLEY_METHOD");
    uint64_t seeds = getenv("MOTLEY_LONG") ? SEEDS_LONG : SEEDS, from = only ? strtoull(only, NULL, 10) : 1;
    unsigned failed = 0;
    for (size_t i = 0; mot_method_at(i); i++) {
        const struct mot_method *method = mot_method_at(i);
        struct seen seen = { 0 };
        if (one && strcmp(one, method->name) != 0) continue;
        for (uint64_t seed = from; seed <= (only ? from : seeds); seed++)
            failed += !play(seed, method, &seen);
        printf("  %s: ended well %u times (%u in spite of losses), lost %u times (%u times the model)\n",
            method->name, seen.ended_well, seen.survived, seen.lost, seen.models_lost);
        if (only) continue;
        CHECK(seen.ended_well > 0 && seen.lost > 0);
        CHECK(traits_of(method).servers ? seen.survived > 0 && seen.models_lost == 0 : seen.models_lost > 0);
    }
    CHECK_INT(failed, 0);
}

TEST_MAIN()
