/* Whole runs with a compressor: nothing changes where it changes nothing, all drivers agree, links are
 * charged for what is sent, and a run that is resumed ends as if it had not stopped. */
#include "method/methods.h"
#include "run/method_options.h"
#include "run/run.h"
#include "scratch.h"

#define SMALL                                                                                                \
    "data", "digits", "model", "mlp", "model.hidden", "[16]", "workers", "4", "batch", "8",                  \
        "evaluate.train", "end", "evaluate.heterogeneity", "never", "optimizer.lr", "0.05"

struct end {
    uint64_t model, bytes;
    double compressed, share;
};

static double note_of(const struct mot_outcome *o, const char *key, bool sum)
{
    for (uint32_t i = 0; i < o->notes; i++)
        if (strcmp(o->note[i].key, key) == 0)
            return sum ? o->note[i].sum : o->note[i].sum / (double)o->note[i].count;
    return NAN;
}

/* A run until so many updates; model 0: it did not end well. */
static struct end go(const struct mot_job_ways *ways, const char *updates, const char *const *pairs)
{
    struct run r = { .ways = *ways };
    RUN_SET(&r, SMALL, "stop.updates", updates);
    run_set_all(&r, pairs);
    run_go(&r);
    bool fine = r.status == MOT_OK && r.out.status == MOT_OK;
    struct end end = { .model = fine ? r.out.model_hash : 0 };
    if (fine) {
        end.bytes = r.out.last.bytes_sent;
        end.compressed = note_of(&r.out, "compressed", false);
        end.share = note_of(&r.out, "packed_share", true);
    }
    run_free(&r);
    return end;
}

#define PAIRS(...)                                                                                           \
    (const char *const[]) { __VA_ARGS__, NULL }
static const struct mot_job_ways simulated = { .driver = NULL };

TEST_SIMULATED(a_ratio_of_1_gives_the_bits_and_the_bytes_of_no_compressor_with_every_method)
{
    unsigned methods = 0;
    for (size_t i = 0; mot_method_at(i); i++) {
        const char *method = mot_method_at(i)->name;
        enum mot_packs packs = traits_of(mot_method_at(i)).packs;
        if (packs == MOT_PACKS_NOTHING || packs == MOT_PACKS_MODELS) continue;
        struct end plain = go(&simulated, "30", PAIRS("method", method)),
                   all = go(&simulated, "30", PAIRS("method", method, "compress", "{name: topk, ratio: 1}"));
        printf("  %s\n", method);
        CHECK(plain.model != 0 && all.model == plain.model && all.bytes == plain.bytes);
        methods++;
    }
    CHECK(methods >= 17);
}

/* Methods whose rounds wait for everyone, with every compressor and every kind of feedback somewhere. */
static const char *const synchronous[][2] = {
    { "allreduce", "{name: topk, ratio: 5%}" },
    { "allreduce", "{name: topk, ratio: 10%, per: whole, delta: 0.3, smoothing: 0.5}" },
    { "allreduce", "{name: topk, ratio: 20%, feedback: ef21}" },
    { "allreduce", "{name: randomk, ratio: 10%}" },
    { "allreduce", "{name: threshold, threshold: 0.01}" },
    { "allreduce", "qsgd" },
    { "allreduce", "sign" },
    { "server", "{name: topk, ratio: 5%}" },
    { "server", "{name: topk, ratio: 10%, delta: 0.3}" },
    { "server", "qsgd" },
    { "server", "sign" },
    { "server", "{name: randomk, ratio: 10%, feedback: ef}" },
    { "fedavg", "{name: topk, ratio: 5%}" },
    { "fedavg", "{name: qsgd, feedback: ef}" },
    { "allreduce", "{name: topk, ratio: 10%, feedback: none, delta: 0.3}" },
    { "localsgd", "{name: topk, ratio: 5%}" },
    { "{name: localsgd, period: 4, overlap: true}", "{name: topk, ratio: 5%}" },
    { "{name: localsgd, period: 4, local_from: 8}", "{name: topk, ratio: 5%}" },
    { "{name: slowmo, period: 5}", "{name: qsgd, feedback: ef}" },
    { "{name: diloco, period: 6}", "{name: topk, ratio: 20%, feedback: ef21}" },
    { "choco", "{name: topk, ratio: 10%}" },
    { "choco", "qsgd" },
    { "dpsgd", "{name: qsgd, levels: 127}" },
    { "matcha", "{name: qsgd, levels: 127}" },
};

TEST(compressed_runs_end_alike_simulated_and_on_threads)
{
    const struct mot_job_ways threads = { .driver = &mot_driver_threads };
    for (size_t i = 0; i < MOT_COUNT(synchronous); i++) {
        const char *const *pairs = PAIRS("method", synchronous[i][0], "compress", synchronous[i][1]);
        struct end sim = go(&simulated, "24", pairs);
        printf("  %s %s\n", synchronous[i][0], synchronous[i][1]);
        CHECK(sim.model != 0 && go(&threads, "24", pairs).model == sim.model);
        CHECK(sim.model != go(&simulated, "24", PAIRS("method", synchronous[i][0])).model);
    }
}

TEST(a_ratio_of_1_changes_nothing_on_threads_with_any_synchronous_method)
{
    const struct mot_job_ways threads = { .driver = &mot_driver_threads };
    static const char *const methods[] = { "allreduce", "server", "fedavg", "localsgd", "slowmo", "diloco",
        "choco", "scadles" };
    for (size_t i = 0; i < MOT_COUNT(methods); i++)
        CHECK(go(&simulated, "24", PAIRS("method", methods[i])).model ==
            go(&threads, "24", PAIRS("method", methods[i], "compress", "{name: topk, ratio: 1}")).model);
}

/* Each sends its packet to each of the three others. */
TEST(links_are_charged_for_packets)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "stop.updates", "20", "compress", "{name: topk, ratio: 5%}");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    double packets = note_of(&r.out, "packed_share", true) * 4 * r.job.net.dim;
    CHECK_NEAR((double)r.out.last.bytes_sent, 3 * packets, 0.5);
    CHECK_NEAR(note_of(&r.out, "compressed", false), 1, 0);
    run_free(&r);
}

TEST(compressed_runs_take_less_time_where_links_are_slow)
{
    const char *cluster = "{workers: 4, network: {bandwidth: 10Mbit, latency: 1ms}}";
    struct run r = { 0 }, s = { 0 };
    RUN_SET(&r, SMALL, "stop.updates", "20", "cluster", cluster);
    RUN_SET(&s, SMALL, "stop.updates", "20", "cluster", cluster, "compress", "{name: topk, ratio: 1%}");
    run_go(&r);
    run_go(&s);
    CHECK(r.out.status == MOT_OK && s.out.status == MOT_OK);
    CHECK(s.out.last.now < r.out.last.now);
    run_free(&r);
    run_free(&s);
}

static struct end in_two(const struct mot_driver *driver, const char *const *pairs)
{
    char folder[] = "/tmp/motley-compressed-XXXXXX";
    if (!mkdtemp(folder)) abort();
    struct mot_job_ways first = { .driver = driver, .replace = true },
                        then = { .driver = driver, .resume = true };
    const char *all[20] = { "output", folder };
    size_t n = 2;
    for (; pairs[n - 2]; n++) all[n] = pairs[n - 2];
    go(&first, "11", all);
    struct end end = go(&then, "24", all);
    scratch_remove(folder);
    return end;
}

/* What was not sent is in the checkpoint, of every worker. */
TEST_SIMULATED(a_resumed_run_ends_as_if_it_had_not_stopped_residuals_included)
{
    for (size_t i = 0; i < MOT_COUNT(synchronous); i++) {
        const char *const *pairs = PAIRS("method", synchronous[i][0], "compress", synchronous[i][1]);
        uint64_t undisturbed = go(&simulated, "24", pairs).model;
        CHECK(undisturbed != 0 && in_two(NULL, pairs).model == undisturbed);
    }
    static const char *const others[] = { "async", "fedbuff", "ringleader" };
    for (size_t i = 0; i < MOT_COUNT(others); i++) {
        const char *const *pairs = PAIRS("method", others[i], "compress", "{name: topk, ratio: 5%}");
        CHECK(in_two(NULL, pairs).model == go(&simulated, "24", pairs).model);
    }
}

TEST(so_does_one_that_was_resumed_on_threads)
{
    for (size_t i = 0; i < MOT_COUNT(synchronous); i++) {
        const char *const *pairs = PAIRS("method", synchronous[i][0], "compress", synchronous[i][1]);
        printf("  %s %s\n", synchronous[i][0], synchronous[i][1]);
        uint64_t undisturbed = go(&simulated, "24", pairs).model;
        CHECK(undisturbed != 0 && in_two(&mot_driver_threads, pairs).model == undisturbed);
    }
}

static void refuses(const char *method, const char *compress, const char *why)
{
    struct mot_experiment *e;
    const struct mot_setting setting[] = { { "method", method, "test" }, { "compress", compress, "test" } };
    CHECK_INT(mot_experiment_open(NULL, setting, 2, &e), MOT_EUSAGE);
    CHECK_HAS(mot_error(), why);
}

TEST(what_does_not_suit_a_method_is_refused_with_a_reason)
{
    refuses("coded", "topk", "linear combinations");
    refuses("coded", "qsgd", "linear combinations");
    refuses("sgp", "topk", "choco");
    refuses("gosgd", "qsgd", "choco");
    refuses("dpsgd", "topk", "expected qsgd or sign");
    refuses("dpsgd", "{name: qsgd, feedback: ef}", "models, not gradients");
    refuses("choco", "{name: topk, feedback: ef}", "feedback of its own");
    refuses("choco", "{name: topk, delta: 0.1}", "always compresses");
    refuses("localsgd", "{name: topk, delta: 0.1}", "always compresses");
    refuses("async", "{name: topk, feedback: ef21}", "every worker in every update");
    refuses("allreduce", "{name: topk, feedback: ef21, delta: 0.1}", "ef21 always sends differences");
    refuses("allreduce", "{name: qsgd, bucket: 100}", "multiple of 8");
    refuses("allreduce", "{name: topk, ratio: 0}", "compress.ratio");
    refuses("allreduce", "{name: topq}", "topk");
    refuses("allreduce", "[topk]", "found a list");
}

TEST_MAIN()
