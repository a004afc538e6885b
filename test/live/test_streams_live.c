/* Emulated streams on threads: the counts add up, and a resumed run goes on where its model's samples end. */
#include "live/threads.h"
#include "run/run.h"
#include "scratch.h"
#include <stdlib.h>

/* Fast enough for a busy machine: what arrives in a moment is a batch. */
#define DEVICES                                                                                              \
    "data", "digits", "model", "softmax", "evaluate.heterogeneity", "never", "evaluate.train", "end",        \
        "batch", "8", "cluster",                                                                             \
        "{workers: [{count: 3, speed: 100000 samples/s}], stream: {name: list, rates: [2000, 5000, 9000], "  \
        "buffer: "                                                                                           \
        "truncate}}"

static void counts_add_up(const struct run *r)
{
    for (uint32_t i = 0; i < r->out.workers; i++) {
        const struct mot_feed_tally *t = &r->out.node[i].feed;
        CHECK_INT(t->arrived, t->used + t->dropped + t->waiting);
    }
}

static void train(struct run *r, const char *const *more)
{
    r->ways.driver = &mot_driver_threads;
    r->ways.emulate = true;
    RUN_SET(r, DEVICES);
    run_set_all(r, more);
    run_go(r);
    CHECK_INT(r->status, MOT_OK);
    CHECK_INT(r->out.status, MOT_OK);
}

TEST(samples_of_emulated_streams_are_used_dropped_or_waiting)
{
    static const char *const methods[] = { "allreduce", "scadles", "selsync", "async", "gosgd", "localsgd" };
    for (size_t k = 0; k < MOT_COUNT(methods); k++) {
        struct run r = { 0 };
        train(&r,
            (const char *const[]){
                "method", methods[k], "optimizer.lr", "0.01", "stop.updates", "12", NULL });
        CHECK(r.out.last.streams && r.out.last.flow.used > 0);
        counts_add_up(&r);
        run_free(&r);
    }
}

/* The checkpoint's positions are those of its update: what the resumed run uses begins where the model's
 * samples ended. With a fixed batch and a buffer that persists, that is the model of an undisturbed run. */
TEST(a_resumed_live_run_uses_no_sample_twice_and_skips_none)
{
    static const char *const methods[] = { "allreduce", "selsync", "scadles" };
    for (size_t k = 0; k < MOT_COUNT(methods); k++) {
        const char *const fixed[] = { "method.variable", "false", NULL };
        uint64_t hash[2];
        char folder[] = "/tmp/motley-streams-XXXXXX";
        CHECK(mkdtemp(folder) != NULL);
        for (int turn = 0; turn < 3; turn++) { /* whole, the first part, the rest */
            struct run r = { .ways = { .resume = turn == 2, .replace = turn < 2 } };
            if (k == 2) run_set_all(&r, fixed);
            train(&r,
                (const char *const[]){ "method", methods[k], "cluster.stream.buffer", "persist", "output",
                    folder, "stop.updates", turn == 1 ? "11" : "25", NULL });
            counts_add_up(&r);
            hash[turn > 0] = r.out.model_hash;
            run_free(&r);
        }
        scratch_remove(folder);
        printf("  %s: %016llx\n", methods[k], (unsigned long long)hash[0]);
        CHECK_INT(hash[1], hash[0]);
    }
}

TEST(everything_that_has_arrived_gives_the_simulators_bits)
{
    static const char *const methods[] = { "scadles", "selsync", "scadles" };
    for (size_t k = 0; k < MOT_COUNT(methods); k++) {
        uint64_t hash[2];
        for (int live = 0; live < 2; live++) {
            struct run r = { 0 };
            if (live) r.ways.driver = &mot_driver_threads;
            RUN_SET(&r, "data", "digits", "model", "softmax", "method", methods[k], "workers", "4",
                "stop.updates", "20", "evaluate.heterogeneity", "never");
            if (k != 1) run_set(&r, "method.most", "40");
            if (k == 2) RUN_SET(&r, "method.alpha", "0.5", "method.beta", "0.5");
            run_go(&r);
            CHECK_INT(r.status, MOT_OK);
            hash[live] = r.out.model_hash;
            run_free(&r);
        }
        CHECK_INT(hash[1], hash[0]);
    }
}

TEST_MAIN()
