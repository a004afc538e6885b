/* Simulated devices whose samples arrive over time: what they wait for, use, drop and keep. */
#include "run/gradient.h"
#include "run/run.h"
#include "scratch.h"
#include <math.h>
#include <stdlib.h>

#define DEVICES                                                                                              \
    "data", "digits", "model", "softmax", "evaluate.train", "end", "evaluate.heterogeneity", "never"

static void counts_add_up(const struct run *r)
{
    for (uint32_t i = 0; i < r->out.workers; i++) {
        const struct mot_feed_tally *t = &r->out.node[i].feed;
        CHECK_INT(t->arrived, t->used + t->dropped + t->waiting);
    }
    CHECK_INT(r->out.last.flow.arrived,
        r->out.last.flow.used + r->out.last.flow.dropped + r->out.last.flow.waiting);
}

/* ---- Batches that vary ------------------------------------------------------------------------------ */

static void pooled(struct run *r, const char *updates)
{
    *r = (struct run){ 0 };
    RUN_SET(r, DEVICES, "method", "scadles", "method.scaling", "none", "optimizer", "sgd",
        "optimizer.momentum", "0", "optimizer.lr", "1", "cluster",
        "{workers: 5, stream: {name: list, rates: [9, 20, 31, 77, 150]}}", "stop.updates", updates);
    run_go(r);
    CHECK_INT(r->status, MOT_OK);
}

/* The step of plain SGD at rate 1 is the gradient. In the first update all take as many: the second
 * counts. */
TEST(the_weighted_sum_is_the_gradient_of_the_pooled_batch)
{
    struct run one, two;
    struct mot_term term[5];
    uint64_t all = 0;
    pooled(&one, "1");
    pooled(&two, "2");
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t from = one.out.node[i].feed.used, used = two.out.node[i].feed.used - from;
        term[i] = (struct mot_term){ .part = i, .draw = from, .samples = (uint32_t)used, .coef = 1 };
        all += used;
    }
    CHECK(term[4].samples > 5 * term[0].samples); /* else nothing is weighted */
    uint32_t dim = one.job.net.dim;
    float *g = malloc(dim * sizeof *g);
    void *scratch = aligned_alloc(64, (one.job.net.scratch_bytes + 127) / 64 * 64);
    mot_gradient(&one.job.problem, term, 5, all, one.out.x, g, scratch);
    double worst = 0, norm = 0;
    for (uint32_t i = 0; i < dim; i++) {
        double mean = (double)g[i] / (double)all, step = (double)one.out.x[i] - (double)two.out.x[i];
        worst = fmax(worst, fabs(step - mean));
        norm = fmax(norm, fabs(mean));
    }
    printf("  off by %.2g of %.2g\n", worst, norm);
    CHECK(worst < 1e-6 && norm > 1e-3);
    free(g);
    free(scratch);
    run_free(&one);
    run_free(&two);
}

static void seconds_an_update(const char *method, const char *variable, double *seconds)
{
    struct run r = { 0 };
    RUN_SET(&r, DEVICES, "method", method, "batch", "64", "cluster",
        "{network: none, workers: [{count: 3, speed: 100000 samples/s}], stream: {name: list, rates: [12, "
        "70, "
        "300]}}",
        "stop.updates", "40");
    if (variable) run_set(&r, "method.variable", variable);
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    counts_add_up(&r);
    *seconds = (double)r.out.last.now / 1e9 / 40;
    run_free(&r);
}

TEST(a_fixed_batch_waits_for_the_slowest_stream_and_a_variable_one_at_most_a_second)
{
    double fixed = 0, off = 0, variable = 0;
    seconds_an_update("allreduce", NULL, &fixed);
    seconds_an_update("scadles", "false", &off);
    seconds_an_update("scadles", NULL, &variable);
    printf("  %.3f s, %.3f s, %.3f s\n", fixed, off, variable);
    CHECK(fabs(fixed - 64.0 / 12) < 0.005); /* the last job computes for a moment */
    CHECK(fabs(off - 64.0 / 12) < 0.005);
    CHECK(variable <= 1 && fabs(variable - 8.0 / 12) < 0.005);
}

TEST(the_rate_follows_the_samples_of_the_update)
{
    float x[2];
    for (int k = 0; k < 2; k++) {
        struct run r = { 0 };
        RUN_SET(&r, DEVICES, "method", "scadles", "method.reference", k ? "10" : "20", "optimizer.momentum",
            "0", "optimizer.lr", "0.01", "cluster", "{workers: 2, stream: {name: constant, rate: 40/s}}",
            "stop.updates", "1");
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        uint32_t moved = 0;
        while (r.out.x[moved] == r.job.x0[moved]) moved++;
        x[k] = r.out.x[moved] - r.job.x0[moved];
        run_free(&r);
    }
    CHECK(fabs((double)x[1] / (double)x[0] - 2) < 1e-3);
}

/* ---- Buffers ------------------------------------------------------------------------------------------ */

#define LOOKS 200
struct looks {
    double t[LOOKS], waiting[LOOKS];
    uint64_t updates[LOOKS];
    uint32_t n;
};

static void look(void *told, const struct mot_moment *m)
{
    struct looks *l = told;
    if (l->n == LOOKS) return;
    l->t[l->n] = (double)m->now / 1e9;
    l->waiting[l->n] = (double)m->flow.waiting;
    l->updates[l->n++] = m->updates;
}

/* One device: an update takes t = 2 s, in which 2 S = 80 samples arrive and b = 32 are used. */
static void train(struct run *r, struct looks *l, const char *buffer)
{
    char cluster[200];
    *r = (struct run){ .ways = { .evaluated = look, .told = l } };
    snprintf(cluster, sizeof cluster,
        "{network: none, workers: [{job_time: 2s}], stream: {name: constant, rate: 40/s, %s}}", buffer);
    RUN_SET(r, DEVICES, "method", "allreduce", "batch", "32", "cluster", cluster, "stop.updates", "150",
        "evaluate.every", "1 updates");
    run_go(r);
    CHECK_INT(r->status, MOT_OK);
    counts_add_up(r);
}

TEST(a_buffer_that_persists_grows_linearly_as_the_formula_says)
{
    struct run r;
    struct looks l = { 0 };
    train(&r, &l, "buffer: persist");
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    for (uint32_t i = 1; i < l.n; i++) {
        double x = l.t[i], y = l.waiting[i];
        n++, sx += x, sy += y, sxx += x * x, sxy += x * y, syy += y * y;
        /* Q = (t S - b) T + S, but for what the first batch waits for, which is b and not S */
        CHECK(fabs(y - ((2 * 40 - 32) * (double)l.updates[i] + 40)) <= 40 + 32);
    }
    double cov = sxy - sx * sy / n, r2 = cov * cov / ((sxx - sx * sx / n) * (syy - sy * sy / n));
    printf("  R^2 = %.7f, slope %.4f a second\n", r2, cov / (sxx - sx * sx / n));
    CHECK(n > 100 && r2 > 0.999);
    CHECK(fabs(cov / (sxx - sx * sx / n) - 24) < 0.1);
    CHECK_INT(r.out.node[0].feed.dropped, 0);
    run_free(&r);
}

TEST(a_truncated_buffer_stays_as_it_is)
{
    struct run r;
    struct looks l = { 0 };
    train(&r, &l, "buffer: truncate");
    /* at an update 40 wait: what arrives in a second */
    for (uint32_t i = 1; i < l.n; i++) CHECK(l.waiting[i] == 40);
    CHECK(r.out.node[0].feed.dropped > 6000);
    CHECK_INT(r.out.node[0].feed.most, 40);
    run_free(&r);
}

TEST(a_bounded_buffer_drops_the_oldest_by_samples_or_by_bytes)
{
    struct run r;
    struct looks l = { 0 };
    train(&r, &l, "buffer: bounded, bound: 100");
    CHECK_INT(r.out.node[0].feed.most, 100);
    CHECK(l.waiting[l.n - 1] <= 100 && r.out.node[0].feed.dropped > 5000);
    uint64_t dropped = r.out.node[0].feed.dropped;
    run_free(&r);
    /* a row of digits is 64 floats and a label: 260 bytes; 50 in memory and 50 in storage */
    r = (struct run){ 0 };
    RUN_SET(&r, DEVICES, "method", "allreduce", "batch", "32", "cluster",
        "{network: none, workers: [{job_time: 2s, memory: 13000B, storage: 13000B, stream: {name: constant, "
        "rate: "
        "40/s}}]}",
        "stop.updates", "150", "evaluate.every", "1 updates");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.node[0].feed.most, 100);
    CHECK_INT(r.out.node[0].feed.spilled, 50);
    CHECK_INT(r.out.node[0].feed.dropped, dropped);
    run_free(&r);
}

/* ---- Every method ---------------------------------------------------------------------------------- */

static const char *const streams[] = { "buffer: persist", "buffer: truncate", "buffer: bounded, bound: 40",
    "burst: 6, burst_every: 4s, burst_lasts: 1s, buffer: truncate", "start: 1s, drift: 2, over: 5s" };

TEST(samples_that_arrived_are_used_dropped_or_waiting_under_every_method)
{
    for (size_t k = 0; mot_method_at(k); k++) {
        const char *method = mot_method_at(k)->name, *stream = streams[k % MOT_COUNT(streams)];
        char cluster[300];
        if (strcmp(method, "coded") == 0) continue;
        for (int faults = 0; faults < 2; faults++) {
            struct run r = { 0 };
            snprintf(cluster, sizeof cluster,
                "{workers: [{count: 4, jitter: {name: lognormal, sigma: 0.3}}], stream: {name: list, rates: "
                "[20, "
                "45, 90, 200], %s}%s}",
                stream,
                faults ? ", faults: {drop: 5%, crash: 0.05/s, restart_after: 500ms, stall: 0.1/s}" : "");
            RUN_SET(&r, DEVICES, "method", method, "batch", "16", "cluster", cluster, "stop.time", "12s");
            run_go(&r);
            CHECK_INT(r.status, MOT_OK);
            CHECK(r.out.last.streams && r.out.last.flow.used > 0);
            counts_add_up(&r);
            run_free(&r);
        }
    }
}

/* A fixed batch and a buffer that keeps all: arrivals decide when, and nothing else. */
TEST(a_stream_that_persists_changes_the_times_of_a_synchronous_run_and_not_its_model)
{
    static const char *const methods[] = { "allreduce", "localsgd", "selsync", "server", "dpsgd" };
    for (size_t k = 0; k < MOT_COUNT(methods); k++) {
        uint64_t hash[2];
        mot_time now[2];
        for (int streamed = 0; streamed < 2; streamed++) {
            struct run r = { 0 };
            RUN_SET(&r, DEVICES, "method", methods[k], "batch", "16", "stop.updates", "30", "cluster",
                streamed ? "{workers: 3, stream: {name: list, rates: [10, 30, 80]}}" : "{workers: 3}");
            run_go(&r);
            CHECK_INT(r.status, MOT_OK);
            hash[streamed] = r.out.model_hash;
            now[streamed] = r.out.last.now;
            run_free(&r);
        }
        CHECK_INT(hash[0], hash[1]);
        CHECK(now[1] > 10 * now[0]);
    }
}

/* ---- Killed and restarted ----------------------------------------------------------------------------- */

/* Positions are used in order, each once, and a device that comes back goes on where the model's samples end:
 * used + dropped is where its stream is, whatever happened to it. */
TEST(a_device_that_is_killed_and_restarted_uses_no_sample_twice_and_loses_none)
{
    struct run r = { 0 };
    RUN_SET(&r, DEVICES, "method", "async", "batch", "16", "cluster",
        "{workers: 3, stream: {name: list, rates: [30, 50, 80]}, faults: {detect: 300ms, schedule: [{kind: "
        "crash, "
        "at: 3s, for: 1s, worker: 1}, {kind: crash, at: 6s, for: 2s, worker: 2}]}}",
        "stop.time", "20s");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    CHECK_INT(r.out.faults.restarts, 2);
    for (uint32_t i = 0; i < 3; i++) {
        const struct mot_feed_tally *t = &r.out.node[i].feed;
        static const uint64_t rate[] = { 30, 50, 80 };
        CHECK_INT(t->arrived, 20 * rate[i]);
        CHECK_INT(t->dropped, 0);
        CHECK_INT(t->used, r.out.node[i].samples); /* each covered by one gradient that was given */
        CHECK(t->waiting < 2 * rate[i]);           /* and it has caught up with what came while it was away */
    }
    counts_add_up(&r);
    run_free(&r);
}

static void resumes(const char *const *more)
{
    uint64_t hash[2], arrived[2], dropped[2], used[2];
    char folder[] = "/tmp/motley-streams-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    for (int k = 0; k < 3; k++) { /* whole; the first part; the rest */
        struct run r = { .ways = { .resume = k == 2, .replace = k < 2 } };
        RUN_SET(&r, DEVICES, "batch", "16", "output", folder, "cluster",
            "{workers: [{count: 4, jitter: {name: lognormal, sigma: 0.4}}], stream: {name: normal, mean: "
            "60/s, sd: "
            "40/s, redraw: 2s, burst: 5, burst_every: 3s, burst_lasts: 1s, buffer: truncate}}",
            "stop.time", k == 1 ? "7300ms" : "15s");
        run_set_all(&r, more);
        run_go(&r);
        CHECK_INT(r.status, MOT_OK);
        CHECK_INT(r.out.status, MOT_OK);
        struct mot_feed_tally *t = &r.out.node[2].feed;
        hash[k > 0] = r.out.model_hash, arrived[k > 0] = t->arrived;
        dropped[k > 0] = t->dropped, used[k > 0] = t->used;
        counts_add_up(&r);
        run_free(&r);
    }
    scratch_remove(folder);
    printf("  %s: %016llx\n", more[1], (unsigned long long)hash[0]);
    CHECK_INT(hash[1], hash[0]);
    CHECK_INT(arrived[1], arrived[0]);
    CHECK_INT(dropped[1], dropped[0]);
    CHECK_INT(used[1], used[0]);
    CHECK(dropped[0] > 0 || strcmp(more[1], "async") == 0); /* which keeps up */
}

TEST(a_resumed_run_on_streams_ends_as_if_it_had_never_stopped)
{
    resumes((const char *const[]){ "method", "allreduce", NULL });
    resumes((const char *const[]){ "method", "scadles", "method.most", "20", NULL });
    resumes((const char *const[]){
        "method", "scadles", "method.most", "20", "method.alpha", "0.5", "method.beta", "0.5", NULL });
    resumes((const char *const[]){
        "method", "scadles", "method.most", "20", "compress", "{name: topk, ratio: 20%, delta: 0.6}", NULL });
    resumes((const char *const[]){ "method", "selsync", NULL });
    resumes((const char *const[]){ "method", "async", "optimizer.lr", "0.05", NULL });
}

/* ---- Samples that are shared -------------------------------------------------------------------------- */

TEST(shared_samples_go_over_the_links_and_into_the_gradient)
{
    struct run r = { 0 };
    RUN_SET(&r, DEVICES, "method", "scadles", "method.alpha", "0.5", "method.beta", "0.25", "method.variable",
        "false", "batch", "16", "cluster", "{workers: 4, stream: {name: constant, rate: 100/s}}",
        "stop.updates", "10");
    run_go(&r);
    CHECK_INT(r.status, MOT_OK);
    /* in each update 2 devices send 4 of 16 rows, of 260 bytes, to 3 others, who compute them too */
    CHECK_INT(r.out.last.rows_bytes, 10 * 2 * 3 * 4 * 260);
    CHECK_INT(r.out.last.samples, 10 * (4 * 16 + 2 * 3 * 4));
    CHECK_INT(r.out.last.flow.used, 10 * 4 * 16);
    counts_add_up(&r);
    run_free(&r);
}

static void refused(const char *says, const char *const *more)
{
    struct run r = { 0 };
    RUN_SET(
        &r, DEVICES, "cluster", "{workers: 2, stream: {name: constant, rate: 10/s}}", "stop.updates", "5");
    run_set_all(&r, more);
    run_go(&r);
    CHECK_INT(r.status, MOT_EUSAGE);
    CHECK_HAS(mot_error(), says);
    run_free(&r);
}

TEST(what_a_stream_cannot_have_is_refused)
{
    refused("expected updates, time or a target, without epochs",
        (const char *const[]){ "stop.epochs", "3", NULL });
    refused("sampler.passes", (const char *const[]){ "sampler.passes", "3", NULL });
    refused("evaluate.every", (const char *const[]){ "evaluate.every", "1 epochs", NULL });
    refused("batch", (const char *const[]){ "batch", "full", NULL });
    refused("several workers compute the same samples", (const char *const[]){ "method", "coded", NULL });
    refused("sends samples from one worker to another",
        (const char *const[]){
            "method", "scadles", "method.alpha", "0.5", "method.beta", "0.5", "no_raw_data", "true", NULL });
    refused("worker 0 has room for 10 samples of its stream",
        (const char *const[]){
            "cluster", "{workers: [{memory: 2600B, stream: {name: constant, rate: 10/s}}]}", NULL });
    refused("burst_lasts",
        (const char *const[]){ "cluster",
            "{workers: 2, stream: {name: constant, rate: 10/s, burst: 2, burst_lasts: 2min}}", NULL });
}

TEST_MAIN()
