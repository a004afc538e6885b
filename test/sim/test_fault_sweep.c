/* Many seeds, all methods, all faults at once for a while: no assertion fails and nothing hangs.
 * Afterwards the target is met, or the status says whose loss made that impossible. A failing seed prints
 * the command that repeats it. */
#include "sim/patience.h"
#include "run/run.h"
#include <stdlib.h>

#if SANITIZED
#define SEEDS 15u /* fewer would not meet all that can happen */
#define SEEDS_LONG 150u
#else
#define SEEDS 50u
#define SEEDS_LONG 1000u
#endif
#define EVENTS_MOST 3000000u /* of one run; it has some ten thousand */

/* With its defaults, which even seeds leave it. Who does not survive a loss is spared those by even seeds,
 * that there is something to meet a target with. */
static bool survives(const char *method)
{
    static const char *const ends[] = { "allreduce", "dpsgd", "sgp", "osgp", "crossover", "localsgd",
        "slowmo", "diloco", "scadles", "selsync" };
    for (size_t i = 0; i < MOT_COUNT(ends); i++)
        if (strcmp(method, ends[i]) == 0) return false;
    return true;
}

/* Every kind of fault is in every seed's mix; how hard, and what is scheduled besides, the seed decides. */
static void mix_of(uint64_t seed, const char *method, char *into, size_t size)
{
    static const char *const longer[] = {
        "", ", {kind: partition, at: 2s, for: 1500ms, workers: [1, 4]}", ", {kind: crash, at: 1s, worker: 0}",
        ", {kind: crash, at: 2s, for: 1s, workers: [2, 3]}, {kind: stall, at: 3s, for: 800ms, server: true}"
    };
    static const char *const streams = "stream: {name: normal, mean: 400/s, sd: 150/s, redraw: 1s, burst: 3, "
                                       "burst_every: 4s, burst_lasts: 1s, buffer: truncate}, ";
    /* of the server: rare, nothing helps against it */
    static const char *const end = ", {kind: crash, at: 4500ms, server: true}";
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 4);
    double hard = mot_rng_unit(&rng);
    bool spared = seed % 2 == 0 && !survives(method);
    snprintf(into, size,
        "{workers: [{count: 4, jitter: {name: lognormal, sigma: 0.3}}, {count: 2, speed: 400 samples/s}], "
        "%s"
        "faults: {"
        "until: 5s, detect: %dms, drop: %.3f, duplicate: %.3f, reorder: %.3f, corrupt: %.3f, crash: %.3f/s, "
        "restart_after: %s, "
        "stall: 0.1/s, partition: %.3f/s, partition_for: 150ms, slow_link: 0.1/s, slow_link_factor: 30, "
        "schedule: ["
        "{kind: reorder, at: 1s, for: 500ms, probability: 60%%}, {kind: duplicate, at: 2s, for: 500ms, "
        "probability: 60%%}, "
        "{kind: drop, at: 3s, for: 300ms, probability: 30%%, workers: [0, 5]}, {kind: corrupt, at: 4s, for: "
        "300ms, probability: 30%%}, "
        "{kind: slow-link, at: 2s, for: 1s, factor: 20, worker: 3}, {kind: stall, at: 4s, for: 400ms, "
        "workers: [0, 1]}%s]}}",
        strcmp(method, "scadles") == 0 || strcmp(method, "selsync") == 0 ? streams : "",
        300 + (int)(700 * mot_rng_unit(&rng)), 0.1 * hard, 0.1 * mot_rng_unit(&rng), 0.1 * mot_rng_unit(&rng),
        0.05 * hard, spared ? 0 : 0.03 * hard, seed % 5 == 0 ? "never" : "700ms", spared ? 0.02 : 0.1,
        spared               ? ""
            : seed % 25 == 7 ? end
                             : longer[seed % 4]);
}

struct seen {
    unsigned met, lost, losses_survived, crashes, restarts, given_up;
    uint64_t frames;
};

static bool holds(const struct run *r, const char **why)
{
    const struct mot_outcome *o = &r->out;
    if (r->status != MOT_OK) return *why = "the run could not be made", false;
    if (o->last.events > EVENTS_MOST) return *why = "it took too many events", false;
    if (o->status == MOT_EPEER) {
        if (!o->has_peer || !o->peer_by)
            return *why = "a peer was lost and the status does not say which", false;
        return true;
    }
    if (o->status != MOT_OK) return *why = "it ended with another status", false;
    if (!o->target.reached) return *why = "the target was not met and nobody is missing", false;
    return true;
}

/* So that the target takes twice the time of the faults and more, and a fifth of what the run may last. */
static const char *rate_of(const char *method)
{
    static const char *const slow[] = { "async", "ringmaster", "ringleader", "ia2sgd", "fedbuff", "ca2fl",
        "gasync", "diloco" };
    for (size_t i = 0; i < MOT_COUNT(slow); i++)
        if (strcmp(method, slow[i]) == 0) return "0.05";
    return "0.3";
}

/* What every other seed asks for besides. */
static const char *const *option_of(const char *method)
{
    static const char *const option[][3] = { { "rennala", "method.unfinished", "finish" },
        { "malenia", "method.unfinished", "finish" }, { "ringmaster", "method.r", "2" },
        { "ia2sgd", "method.wait", "3" }, { "fedbuff", "method.assign", "random" },
        { "ca2fl", "method.steps", "3" }, { "fedavg", "method.clients", "3" },
        { "mindflayer", "method.tries", "1" }, { "gasync", "method.jobs", "9" },
        { "scadles", "method.alpha", "0.4" }, { "selsync", "method.aggregate", "gradients" },
        { "dpsgd", "method.on_loss", "continue" }, { "sgp", "method.on_loss", "continue" },
        { "osgp", "method.on_loss", "continue" }, { "crossover", "method.mode", "loose" },
        { "gosgd", "method.credits", "1" }, { "localsgd", "method.overlap", "true" },
        { "slowmo", "method.overlap", "true" }, { "diloco", "method.period", "5" } };
    for (size_t i = 0; i < MOT_COUNT(option); i++)
        if (strcmp(method, option[i][0]) == 0) return option[i];
    return NULL;
}

static const char *compressor = "none"; /* that the runs have */

static bool play(uint64_t seed, const char *method, struct seen *seen)
{
    char text[24], cluster[1200];
    const char *why = "", *rate = rate_of(method);
    struct run r = { 0 };
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    mix_of(seed, method, cluster, sizeof cluster);
    const char *collective = (const char *const[]){ "ring", "tree", "doubling" }[seed % 3];
    bool server = strcmp(method, "server") == 0;
    const char *k = server && seed % 3 == 1 ? "4" : "all",
               *deadline = server && seed % 4 == 2 ? "adaptive" : "none";
    bool async = strcmp(method, "async") == 0;
    const char *assign = (const char *const[]){ "pure", "shuffled", "random" }[seed / 2 % 3];
    const char *stale = seed % 4 == 1 ? "20" : "none",
               *on_stale = (const char *const[]){ "wait", "drop", "cancel" }[seed / 4 % 3];
    char more[140] = "";
    const char *const *other = seed % 2 ? option_of(method) : NULL;
    if (other) snprintf(more, sizeof more, " --method-%s %s", strchr(other[1], '.') + 1, other[2]);
    if (async)
        snprintf(more, sizeof more, " --method-assign %s --method-max-staleness %s --method-on-stale %s",
            assign, stale, on_stale);
    if (server) snprintf(more, sizeof more, " --method-k %s --method-deadline %s", k, deadline);
    snprintf(patience_command, sizeof patience_command,
        "motley sim --seed %s --method %s%s --sim-collective %s --data digits --model softmax --optimizer-lr "
        "%s --batch 32 "
        "--evaluate-every '20 updates' --stop-target-train-loss 0.3 --stop-time 200s --compress '%s' "
        "--cluster "
        "'%s'",
        text, method, more, collective, rate, compressor, cluster);
    RUN_SET(&r, "seed", text, "method", method, "data", "digits", "model", "softmax", "optimizer.lr", rate,
        "batch", "32", "evaluate.every", "20 updates", "stop.target.train_loss", "0.3", "stop.time", "200s",
        "cluster", cluster, "sim.collective", collective, "compress", compressor);
    if (server) RUN_SET(&r, "method.k", k, "method.deadline", deadline);
    if (other) run_set(&r, other[1], other[2]);
    if (strcmp(method, "scadles") == 0)
        run_set(&r, "method.beta", "0.3"); /* some share samples, if alpha is not 0 */
    if (async)
        RUN_SET(&r, "method.assign", assign, "method.max_staleness", stale, "method.on_stale", on_stale);
    patience_for(PATIENCE_S);
    run_go(&r);
    patience_for(0);
    bool good = holds(&r, &why);
    if (!good) printf("  %s; this repeats it:\n  %s\n", why, patience_command);
    const struct mot_fault_tally *t = &r.out.faults;
    bool met = r.out.status == MOT_OK;
    seen->met += met;
    seen->lost += !met;
    seen->losses_survived += met && t->crashes + t->given_up > 0;
    seen->crashes += t->crashes > 0;
    seen->restarts += t->restarts > 0;
    seen->given_up += t->given_up > 0;
    seen->frames += t->dropped + t->duplicated + t->reordered + t->corrupted + t->cut;
    run_free(&r);
    return good;
}

static void sweep_seeds(const char *method, uint64_t seeds, struct seen *seen)
{
    const char *only = getenv("MOTLEY_SEED");
    unsigned failed = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        if (only && seed != strtoull(only, NULL, 10)) continue;
        failed += !play(seed, method, seen);
    }
    CHECK_INT(failed, 0);
    printf("  %s: target met %u times (%u in spite of losses), impossible %u times; %llu frames suffered\n",
        method, seen->met, seen->losses_survived, seen->lost, (unsigned long long)seen->frames);
}

static void sweep(const char *method, struct seen *seen)
{
    sweep_seeds(method, getenv("MOTLEY_LONG") ? SEEDS_LONG : SEEDS, seen);
}

TEST(allreduce_meets_its_target_or_names_who_was_lost)
{
    struct seen seen = { 0 };
    sweep("allreduce", &seen);
    CHECK(seen.met > 0 && seen.lost > 0);
    CHECK_INT(seen.losses_survived, 0);
}

TEST(scadles_on_streams_meets_its_target_or_names_who_was_lost)
{
    struct seen seen = { 0 };
    sweep("scadles", &seen);
    CHECK(seen.met > 0 && seen.lost > 0);
}

TEST(selsync_on_streams_meets_its_target_or_names_who_was_lost)
{
    struct seen seen = { 0 };
    sweep("selsync", &seen);
    CHECK(seen.met > 0 && seen.lost > 0);
}

TEST(server_meets_its_target_or_names_who_was_lost)
{
    struct seen seen = { 0 };
    sweep("server", &seen);
    CHECK(seen.losses_survived > 0 && seen.restarts > 0 && seen.given_up > 0);
}

TEST(async_meets_its_target_or_names_who_was_lost)
{
    struct seen seen = { 0 };
    sweep("async", &seen);
    CHECK(seen.losses_survived > 0 && seen.restarts > 0 && seen.given_up > 0);
}

/* They share the server's side and the worker's with async: fewer seeds of each. */
TEST(all_other_methods_with_a_server_meet_their_target_or_name_who_was_lost)
{
    static const char *const methods[] = { "rennala", "malenia", "ringmaster", "ringleader", "ia2sgd",
        "fedbuff", "ca2fl", "fedavg", "mindflayer", "gasync" };
    bool longer = getenv("MOTLEY_LONG") != NULL;
    for (size_t i = 0; i < MOT_COUNT(methods); i++) {
        struct seen seen = { 0 };
        bool alone = strcmp(methods[i], "fedavg") == 0; /* its workers train by themselves */
        sweep_seeds(methods[i], !longer ? SEEDS / 5 : alone ? SEEDS_LONG : SEEDS_LONG / 15, &seen);
        CHECK(seen.losses_survived > 0 && seen.restarts > 0);
    }
}

/* Of pushes, of pairs and of sums one each; MOTLEY_LONG=1 takes all. */
TEST(methods_without_a_server_meet_their_target_or_name_who_was_lost)
{
    static const char *const methods[] = { "sgp", "adpsgd", "localsgd", "osgp", "gosgd", "crossover", "dpsgd",
        "slowmo", "diloco" };
    bool longer = getenv("MOTLEY_LONG") != NULL;
    for (size_t i = 0; i < (longer ? MOT_COUNT(methods) : 3); i++) {
        struct seen seen = { 0 };
        sweep_seeds(methods[i], longer ? SEEDS_LONG : SEEDS / 2, &seen);
        const char *const *option = option_of(methods[i]);
        bool goes_on = survives(methods[i]) || (option && strcmp(option[2], "continue") == 0) ||
            (option && strcmp(option[2], "loose") == 0);
        CHECK(seen.met > 0 && seen.crashes > 0);
        CHECK(goes_on ? seen.losses_survived > 0 : seen.lost > 0 && seen.losses_survived == 0);
    }
}

/* A worker that comes back has forgotten what it did not send. */
TEST(compressed_runs_meet_their_target_or_name_who_was_lost)
{
    static const char *const methods[] = { "allreduce", "server", "async", "fedbuff", "scadles" },
                             *const compressors[] = { "{name: topk, ratio: 10%}",
                                 "{name: topk, ratio: 10%, delta: 0.2}", "qsgd", "sign" };
    for (size_t i = 0; i < MOT_COUNT(methods); i++) {
        struct seen seen = { 0 };
        for (size_t k = 0; k < MOT_COUNT(compressors); k++) {
            compressor = compressors[k];
            sweep_seeds(methods[i], getenv("MOTLEY_LONG") ? SEEDS_LONG / 4 : SANITIZED ? 4 : 8, &seen);
        }
        CHECK(seen.met > 0);
        CHECK(!survives(methods[i]) || seen.losses_survived > 0);
    }
    compressor = "none";
}

TEST_MAIN()
