/* Statistics (of batch norm, for one) are averaged and never trained: whatever the method, the optimiser and
 * the compressor, they come to be what they are in the data, and the rest of the model is what it would be
 * without them. */
#include "run/method_options.h"
#include "run/watched.h"

struct end {
    bool fine;
    uint32_t trained;
    float x[WATCHED_COLS + 8];
    double grad_norm, consensus, zeta2, mean_y, mean_column;
};

static struct end go(
    const struct mot_driver *driver, const char *model, const char *updates, const char *const *pairs)
{
    struct run r = { .ways = { .driver = driver } };
    RUN_SET(&r, WATCHED_DATA, "model", model, "topology", "ring", "optimizer.lr", "0.02", "stop.updates",
        updates);
    run_set_all(&r, pairs);
    const struct mot_model *const *before = mot_models_extend(watched_models);
    run_go(&r);
    mot_models_extend(before);
    struct end end = { .fine = r.status == MOT_OK && r.out.status == MOT_OK };
    if (end.fine) {
        const struct mot_table *t = &r.job.data->train;
        const struct mot_moment *m = &r.out.last;
        end.trained = r.job.net.trained;
        memcpy(end.x, r.out.x, r.job.net.dim * sizeof(float));
        end.grad_norm = m->score.grad_norm;
        end.consensus = m->mixed.consensus;
        end.zeta2 = m->score.zeta2;
        for (uint32_t i = 0; i < t->rows; i++) {
            end.mean_y += (double)t->y[i] / t->rows;
            end.mean_column += (double)t->x[(size_t)i * t->cols] / t->rows;
        }
    }
    run_free(&r);
    return end;
}

static bool same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* What was trained has the bits of the model without statistics, and so do the figures about it. */
static void check_left_alone(const char *what, const char *updates, const char *const *pairs)
{
    struct end without = go(NULL, "plain", updates, pairs), with = go(NULL, "watched", updates, pairs);
    if (!without.fine || !with.fine || with.trained != without.trained) {
        FAIL("%s: did not end well", what);
        return;
    }
    if (memcmp(without.x, with.x, with.trained * sizeof(float)) != 0)
        FAIL("%s: statistics changed what was trained", what);
    if (!same_number(without.grad_norm, with.grad_norm)) FAIL("%s: the gradient's norm", what);
    if (!same_number(without.consensus, with.consensus)) FAIL("%s: consensus", what);
    if (!same_number(without.zeta2, with.zeta2)) FAIL("%s: how parts differ", what);
}

/* After this many updates with a rate of 0.1 a constant is what it is in every batch, whatever the weights of
 * gradients; a mean is within the noise of its last batches. */
static void check_averaged(const char *what, const char *updates, const char *const *pairs)
{
    struct end e = go(NULL, "watched", updates, pairs);
    if (!e.fine) {
        FAIL("%s: did not end well", what);
        return;
    }
    const float *s = e.x + e.trained;
    if (!(fabs((double)(s[0] - WATCHED_CONSTANT)) < 1e-3))
        FAIL("%s: a constant statistic is %.9g, expected %g", what, (double)s[0], (double)WATCHED_CONSTANT);
    if (!(fabs((double)s[1] - e.mean_y) < 1.2))
        FAIL("%s: the mean is %g, expected about %g", what, (double)s[1], e.mean_y);
    if (!(fabs((double)s[2] - e.mean_column) < 0.4))
        FAIL("%s: the column's mean is %g, expected about %g", what, (double)s[2], e.mean_column);
    if (!(fabs((double)s[3] - 1) < 1e-5)) FAIL("%s: what counts rows is %.9g", what, (double)s[3]);
}

#define PAIRS(...)                                                                                           \
    (const char *const[]) { __VA_ARGS__, NULL }

/* Crossover cuts the model into runs of floats or tensors, of which there are more with statistics. */
static bool cuts(const char *method) { return strcmp(method, "crossover") == 0; }

TEST(every_method_averages_statistics_and_trains_as_without_them)
{
    unsigned methods = 0;
    for (size_t i = 0; mot_method_at(i); i++) {
        const char *method = mot_method_at(i)->name;
        for (uint64_t seed = 0; seed < (SANITIZED ? 2 : 8); seed++) {
            const char *pair[16] = { "method", method }, *const *more = options_of(method, seed);
            if (seed > 0 && more == options_of(method, 0)) break; /* all of them were there */
            char what[160];
            size_t n = 2;
            snprintf(what, sizeof what, "%s", method);
            for (; *more; more += 2) {
                pair[n++] = more[0], pair[n++] = more[1];
                snprintf(what + strlen(what), sizeof what - strlen(what), " %s=%s", more[0], more[1]);
            }
            pair[n] = NULL;
            if (!cuts(method)) check_left_alone(what, "40", pair);
            check_averaged(what, "300", pair);
        }
        methods++;
    }
    CHECK(methods >= 26);
}

TEST(crossover_in_one_segment_trains_as_without_statistics)
{
    check_left_alone("crossover", "40", PAIRS("method", "{name: crossover, segments: 1}"));
}

TEST(a_clipped_late_gradient_is_as_long_as_without_statistics)
{
    check_left_alone("async, clipped", "60", PAIRS("method", "{name: async, step: clipped, clip: 0.3}"));
}

TEST(every_optimiser_leaves_statistics_alone)
{
    static const char *const optimizers[] = { "{name: sgd, lr: 0.02, momentum: 0.9, nesterov: true}",
        "{name: sgd, lr: 0.02, weight_decay: 0.1, clip: 0.5}", "{name: adamw, lr: 0.01, weight_decay: 0.5}",
        "{name: lars, lr: 0.5}", "{name: lars, lr: 0.5, clip: 0.1}" };
    for (size_t i = 0; i < MOT_COUNT(optimizers); i++) {
        const char *const *pairs = PAIRS("optimizer", optimizers[i]);
        check_left_alone(optimizers[i], "60", pairs);
        check_averaged(optimizers[i], "160", pairs);
    }
}

static const char *const compressed[][2] = {
    { "allreduce", "{name: topk, ratio: 20%}" },
    { "allreduce", "{name: topk, ratio: 20%, per: whole}" },
    { "allreduce", "{name: topk, ratio: 30%, feedback: ef21}" },
    { "allreduce", "{name: topk, ratio: 50%, delta: 0.3, smoothing: 0.5}" },
    { "allreduce", "{name: randomk, ratio: 50%}" },
    { "allreduce", "{name: threshold, threshold: 0.1}" },
    { "allreduce", "{name: qsgd, levels: 3}" },
    { "allreduce", "sign" },
    { "scadles", "{name: topk, ratio: 20%}" },
    { "localsgd", "{name: topk, ratio: 40%}" },
    { "diloco", "{name: qsgd, levels: 7}" },
    { "server", "{name: topk, ratio: 20%}" },
    { "fedavg", "{name: topk, ratio: 40%}" },
    { "choco", "{name: topk, ratio: 40%}" },
    { "dpsgd", "{name: qsgd, levels: 127}" },
};

TEST(compressors_take_statistics_as_they_are_and_the_rest_as_without_them)
{
    for (size_t i = 0; i < MOT_COUNT(compressed); i++) {
        const char *const *pairs = PAIRS("method", compressed[i][0], "compress", compressed[i][1]);
        char what[120];
        snprintf(what, sizeof what, "%s, %s", compressed[i][0], compressed[i][1]);
        check_left_alone(what, "40", pairs);
        check_averaged(what, "160", pairs);
    }
}

/* Several servers: statistics are the last one's. */
TEST(servers_that_share_the_model_keep_statistics_together)
{
    for (int shards = 2; shards <= 3; shards++) {
        char method[64];
        snprintf(method, sizeof method, "{name: async, shards: %d}", shards);
        check_left_alone(method, "60", PAIRS("method", method));
        check_averaged(method, "200", PAIRS("method", method));
    }
}

TEST(threads_have_the_simulated_bits_statistics_included)
{
    static const char *const ways[][2] = { { "allreduce", "none" }, { "server", "none" },
        { "localsgd", "none" }, { "diloco", "none" }, { "dpsgd", "none" }, { "sgp", "none" },
        { "selsync", "none" }, { "crossover", "none" }, { "coded", "none" }, { "fedavg", "none" },
        { "allreduce", "{name: topk, ratio: 20%}" } };
    for (size_t i = 0; i < MOT_COUNT(ways); i++) {
        const char *const *pairs = PAIRS("method", ways[i][0], "compress", ways[i][1]);
        struct end sim = go(NULL, "watched", "30", pairs),
                   live = go(&mot_driver_threads, "watched", "30", pairs);
        if (!sim.fine || !live.fine || memcmp(sim.x, live.x, sizeof sim.x) != 0)
            FAIL("%s, %s: threads differ", ways[i][0], ways[i][1]);
    }
}

TEST_MAIN()
