/* Where workers go at their own pace, the run's updates are all their steps divided by their number, and all
 * end together: simulated, on threads, stopped and resumed, recorded and replayed. */
#include "live/replay.h"
#include "run/run.h"
#include "scratch.h"

#define SMALL "data", "digits", "model", "softmax", "workers", "4", "optimizer.lr", "0.05"

static const char *const methods[] = { "adpsgd", "gosgd" };

struct end {
    uint64_t hash, updates, steps, saved;
    char by[16];
    bool fine, target;
    double accuracy;
};

static struct end play(struct run *r, const char *method, const char *const *stop)
{
    RUN_SET(r, SMALL, "method", method);
    run_set_all(r, stop);
    run_go(r);
    struct end e = { .fine = r->status == MOT_OK && r->out.status == MOT_OK };
    if (e.fine) {
        e.hash = r->out.model_hash;
        e.updates = r->out.last.updates;
        e.steps = r->out.last.steps;
        e.saved = r->out.saved_updates;
        e.target = r->out.target.reached;
        e.accuracy = r->out.last.score.test_accuracy;
        snprintf(e.by, sizeof e.by, "%s", r->out.ended_by);
    }
    run_free(r);
    return e;
}

static const char *const stops[][7] = {
    { "stop.updates", "31" },
    { "stop.epochs", "2.3" },
    { "stop.epochs", "1.5", "batch", "[40, 7, 32, 13]", "evaluate.every", "0.2 epochs" },
    /* So many updates that the judge's thread gets a core in time to see the target. */
    { "stop.updates", "100000", "stop.target.test_accuracy", "0.75", "evaluate.every", "3 updates" },
    { "stop.epochs", "60", "stop.target.grad_norm", "100" }, /* met before the first update */
    { "stop.epochs", "100", "sampler.passes", "2", "batch", "[32, 16, 16, 16]" },
};
static const char *const ended_by[] = { "updates", "epochs", "epochs", "target", "target", "data" };

TEST(every_end_comes_simulated_and_on_threads_and_a_finished_run_stays_over)
{
    static const struct mot_driver *const drivers[] = { &mot_driver_sim, &mot_driver_threads };
    char folder[] = "/tmp/motley-test-XXXXXX";
    CHECK(mkdtemp(folder));
    for (size_t m = 0; m < MOT_COUNT(methods); m++)
        for (size_t s = 0; s < MOT_COUNT(stops); s++)
            for (int d = 0; d < 2; d++) {
                struct run first = { .ways = { .driver = drivers[d], .replace = true } },
                           again = { .ways = { .driver = drivers[d], .resume = true } };
                RUN_SET(&first, "output", folder);
                RUN_SET(&again, "output", folder);
                struct end a = play(&first, methods[m], stops[s]), b = play(&again, methods[m], stops[s]);
                if (strcmp(a.by, ended_by[s]) != 0 || a.hash != b.hash)
                    printf("  %s %s, %s: %s after %llu, %s after %llu\n", methods[m], stops[s][0],
                        drivers[d]->name, a.by, (unsigned long long)a.updates, b.by,
                        (unsigned long long)b.updates);
                CHECK(a.fine && b.fine);
                CHECK_TEXT(a.by, ended_by[s]);
                CHECK(b.hash == a.hash && b.updates == a.updates && strcmp(b.by, a.by) == 0);
                if (s == 0) CHECK_INT(a.updates, 31);
                if (s == 0) CHECK(a.steps >= 4 * 31 && a.steps < 4 * 32);
                if (s == 3) CHECK(a.target && a.accuracy >= 0.75);
            }
    scratch_remove(folder);
}

TEST(a_simulated_run_that_was_stopped_ends_as_if_it_had_not_been)
{
    static const char *const stop[] = { "83", "31", "83" };
    char folder[] = "/tmp/motley-test-XXXXXX";
    CHECK(mkdtemp(folder));
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct end e[3];
        for (int part = 0; part < 3; part++) { /* whole; the first part; the rest */
            struct run r = { .ways = { .resume = part == 2, .replace = true } };
            RUN_SET(&r, "output", folder, "cluster",
                "{workers: [{count: 3}, {speed: 300 samples/s}], network: {bandwidth: 1Mbit, latency: 3ms}}");
            e[part] = play(&r, methods[m],
                (const char *const[]){ "stop.updates", stop[part], "optimizer.momentum", "0.9",
                    "checkpoint.every", "7 updates", NULL });
            CHECK(e[part].fine);
        }
        CHECK(e[2].hash == e[0].hash && e[2].updates == 83 && e[2].steps == e[0].steps);
    }
    scratch_remove(folder);
}

TEST(a_run_on_threads_goes_on_from_its_checkpoint_to_a_later_end)
{
    static const char *const first[] = { "stop.updates", "40", "checkpoint.every", "10 updates", NULL },
                             *const more[] = { "stop.updates", "90", NULL },
                             *const epochs[] = { "stop.epochs", "12", NULL };
    char folder[] = "/tmp/motley-test-XXXXXX";
    CHECK(mkdtemp(folder));
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct run a = { .ways = { .driver = &mot_driver_threads, .replace = true } },
                   b = { .ways = { .driver = &mot_driver_threads, .resume = true } },
                   c = { .ways = { .driver = &mot_driver_threads, .resume = true } };
        RUN_SET(&a, "output", folder, "optimizer.momentum", "0.9");
        RUN_SET(&b, "output", folder, "optimizer.momentum", "0.9");
        RUN_SET(&c, "output", folder, "optimizer.momentum", "0.9");
        struct end x = play(&a, methods[m], first), y = play(&b, methods[m], more),
                   z = play(&c, methods[m], epochs);
        CHECK(x.fine && y.fine && z.fine);
        CHECK_INT(x.updates, 40);
        CHECK_INT(y.updates, 90);
        /* 1438 rows, 128 samples an update: 12 epochs are 135 updates, give or take a job of each worker */
        CHECK_TEXT(z.by, "epochs");
        CHECK(z.updates >= 134 && z.updates <= 136);
        CHECK(y.accuracy > x.accuracy - 0.1);
    }
    scratch_remove(folder);
}

TEST(a_recorded_run_replayed_gives_the_same_model_whatever_ended_it)
{
    char folder[] = "/tmp/motley-test-XXXXXX";
    CHECK(mkdtemp(folder));
    for (size_t m = 0; m < MOT_COUNT(methods); m++)
        for (size_t s = 0; s < MOT_COUNT(stops); s++) {
            struct run live = { .ways = { .driver = &mot_driver_threads, .record = true, .replace = true } },
                       back = { .ways = { .driver = &mot_driver_replay, .arrivals = folder } };
            RUN_SET(&live, "output", folder);
            struct end a = play(&live, methods[m], stops[s]), b = play(&back, methods[m], stops[s]);
            if (a.hash != b.hash) printf("  %s, %s %s\n", methods[m], stops[s][0], stops[s][1]);
            CHECK(a.fine && b.fine);
            CHECK(a.hash == b.hash);
            CHECK_INT(a.updates, b.updates);
        }
    scratch_remove(folder);
}

TEST_MAIN()
