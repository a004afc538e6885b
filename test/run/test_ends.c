/* Where a run ends is part of its result: unless the clock ends it, it ends at the same update with the
 * same model, simulated and on threads, however busy the machine, and whether or not it was killed on the
 * way. */
#include "base/file.h"
#include "run/run.h"
#include "scratch.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define SMALL "data", "digits", "model", "softmax", "workers", "4", "optimizer.lr", "0.05"
#define TIMES (SANITIZED ? 1 : 2)   /* each end is looked at so often */
#define SHARDED (SANITIZED ? 1 : 5) /* that of several servers */

struct end {
    uint64_t hash, updates, target_updates;
    char by[16];
    bool fine, target;
    mot_time target_at;
    double figure;
};

static struct end end_of(struct run *r)
{
    struct end e = { .fine = r->status == MOT_OK && r->out.status == MOT_OK };
    if (!e.fine) return e;
    e.hash = r->out.model_hash;
    e.updates = r->out.last.updates;
    e.target = r->out.target.reached;
    e.target_updates = r->out.target.updates;
    e.target_at = r->out.target.at;
    e.figure = r->out.last.score.train_loss;
    snprintf(e.by, sizeof e.by, "%s", r->out.ended_by);
    return e;
}

static struct end run_end(const struct mot_driver *driver, const char *const *method, const char *const *stop,
    const char *folder, bool resume)
{
    struct run r = { .ways = { .driver = driver, .resume = resume, .replace = !resume } };
    RUN_SET(&r, SMALL);
    run_set_all(&r, method);
    run_set_all(&r, stop);
    if (folder) RUN_SET(&r, "output", folder);
    run_go(&r);
    struct end e = end_of(&r);
    run_free(&r);
    return e;
}

static const char *const methods[][9] = {
    { "method", "allreduce" },
    { "method", "server" },
    { "method", "dpsgd", "topology", "ring" },
    { "method", "dpsgd", "topology", "ring", "method.period", "4", "optimizer.momentum", "0.9" },
    { "method", "matcha", "topology", "complete" },
    { "method", "slowmo", "method.period", "7", "method.local_from", "4", "optimizer.momentum", "0.9" },
    { "method", "diloco", "method.period", "4", "method.overlap", "true", "optimizer", "adamw" },
    { "method", "async", "method.wait", "4" },
};
static const char *const stops[][9] = {
    { "stop.epochs", "2.3", "evaluate.train", "end" },
    { "stop.epochs", "1.5", "batch", "[40, 7, 32, 13]", "evaluate.every", "0.2 epochs" },
    { "stop.updates", "31" },
    { "stop.epochs", "60", "stop.target.test_accuracy", "0.75", "evaluate.every", "3 updates" },
    { "stop.epochs", "60", "stop.target.train_loss", "1", "evaluate.every", "0.3 epochs" },
    { "stop.updates", "300", "stop.target.grad_norm", "0.3", "evaluate.every", "5 updates" },
    { "stop.epochs", "60", "stop.target.grad_norm", "100" }, /* met before the first update */
    { "stop.epochs", "100", "sampler.passes", "2", "batch", "[32, 16, 16, 16]" },
};
static const char *const ended_by[] = { "epochs", "epochs", "updates", "target", "target", "target", "target",
    "data" };

static bool same_end(const struct end *a, const struct end *b)
{
    return a->fine && b->fine && a->hash == b->hash && a->updates == b->updates &&
        strcmp(a->by, b->by) == 0 && a->target == b->target && a->target_updates == b->target_updates &&
        a->figure == b->figure;
}

static void print_ends(
    const char *const *method, const char *const *stop, const struct end *a, const struct end *b)
{
    printf("  %s %s, %s %s: %016llx after %llu (%s) and %016llx after %llu (%s)\n", method[1],
        method[4] ? method[5] : "", stop[0], stop[1], (unsigned long long)a->hash,
        (unsigned long long)a->updates, a->by, (unsigned long long)b->hash, (unsigned long long)b->updates,
        b->by);
}

TEST(a_synchronous_run_ends_at_the_same_update_simulated_and_on_threads)
{
    int apart = 0;
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        for (size_t s = 0; s < MOT_COUNT(stops); s++) {
            struct end want = run_end(&mot_driver_sim, methods[m], stops[s], NULL, false);
            apart += strcmp(want.by, ended_by[s]) != 0;
            for (int i = 0; i < TIMES; i++) {
                struct end have = run_end(&mot_driver_threads, methods[m], stops[s], NULL, false);
                if (same_end(&want, &have)) continue;
                print_ends(methods[m], stops[s], &want, &have);
                apart++;
            }
        }
    }
    CHECK_INT(apart, 0);
}

TEST(a_target_on_threads_says_when_it_was_met)
{
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct end e = run_end(&mot_driver_threads, methods[m], stops[3], NULL, false);
        CHECK(e.fine && e.target);
        CHECK(e.target_at > 0);
        CHECK(e.target_updates > 0);
        CHECK_INT(e.target_updates, e.updates);
    }
}

/* ---- Going on ---------------------------------------------------------------------------------------- */

static char folder[64];

static void fresh_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/motley-test-XXXXXX");
    if (!mkdtemp(folder)) abort();
}

static unsigned char *bytes_of(const char *name, size_t *n)
{
    char *path = mot_path_join(folder, name);
    unsigned char *bytes = NULL;
    *n = 0;
    if (mot_file_exists(path) && mot_file_read(path, SIZE_MAX, &bytes, n) != MOT_OK) bytes = NULL;
    free(path);
    return bytes;
}

static const char *const files[] = { "experiment.yaml", "metrics.jsonl", "summary.json", "model.safetensors",
    "checkpoint.bin", "timeline.json" };

/* Resumes what is in the folder; counts the files that change, and those that are missing. */
static int changed_by_resuming(
    const struct mot_driver *driver, const char *const *method, const char *const *stop, struct end *end)
{
    unsigned char *before[MOT_COUNT(files)];
    size_t n[MOT_COUNT(files)];
    int changed = 0;
    for (size_t i = 0; i < MOT_COUNT(files); i++) before[i] = bytes_of(files[i], &n[i]);
    *end = run_end(driver, method, stop, folder, true);
    for (size_t i = 0; i < MOT_COUNT(files); i++) {
        size_t after_n;
        unsigned char *after = bytes_of(files[i], &after_n);
        changed += !before[i] != !after || after_n != n[i] || (after && memcmp(before[i], after, n[i]) != 0);
        free(before[i]);
        free(after);
    }
    return changed;
}

/* Under a sanitizer every method and every end, but each with few of the other. */
static bool left_out(size_t method, size_t stop)
{
    return SANITIZED && (method + stop) % MOT_COUNT(methods) != 0;
}

static void stays_over(const struct mot_driver *driver)
{
    static const char *const time[] = { "stop.time", "60ms", NULL };
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        for (size_t s = 0; s <= MOT_COUNT(stops); s++) {
            if (left_out(m, s)) continue;
            const char *const *stop = s < MOT_COUNT(stops) ? stops[s] : time;
            fresh_folder();
            struct end first = run_end(driver, methods[m], stop, folder, false), again;
            int changed = changed_by_resuming(driver, methods[m], stop, &again);
            if (changed || !same_end(&first, &again)) print_ends(methods[m], stop, &first, &again);
            scratch_remove(folder);
            CHECK_INT(changed, 0);
            CHECK(same_end(&first, &again));
        }
    }
}

TEST(a_finished_run_on_threads_is_left_as_it_is) { stays_over(&mot_driver_threads); }
TEST(a_finished_simulated_run_is_left_as_it_is) { stays_over(&mot_driver_sim); }

TEST(a_finished_run_on_threads_goes_on_with_a_later_end)
{
    static const char *const more[] = { "stop.updates", "45", NULL };
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        struct end whole = run_end(&mot_driver_threads, methods[m], more, NULL, false);
        fresh_folder();
        run_end(&mot_driver_threads, methods[m], stops[2], folder, false);
        struct end on = run_end(&mot_driver_threads, methods[m], more, folder, true);
        scratch_remove(folder);
        if (!same_end(&whole, &on)) print_ends(methods[m], more, &whole, &on);
        CHECK(same_end(&whole, &on));
    }
}

/* Servers with a range each end at one update, each by itself, and none of them keeps what came after it. */
TEST(several_servers_end_at_the_same_update_simulated_and_on_threads)
{
    static const char *const method[] = { "method", "async", "method.wait", "4", "method.shards", "3", NULL };
    fresh_folder();
    for (size_t s = 0; s < 4;
         s++) { /* what is due at an epoch one server asks the others for, when it is there */
        struct end want = run_end(&mot_driver_sim, method, stops[s], NULL, false);
        CHECK_TEXT(want.by, ended_by[s]);
        for (int i = 0; i < SHARDED; i++) {
            struct end have = run_end(&mot_driver_threads, method, stops[s], folder, false);
            CHECK(same_end(&want, &have));
            if (!same_end(&want, &have)) print_ends(method, stops[s], &want, &have);
        }
    }
    static const char *const later[] = { "stop.epochs", "4", "evaluate.train", "end", NULL };
    struct end want = run_end(&mot_driver_sim, method, later, NULL, false);
    for (int i = 0; i < SHARDED; i++) {
        run_end(&mot_driver_threads, method, stops[0], folder, false);
        struct end have = run_end(&mot_driver_threads, method, later, folder, true);
        CHECK(have.fine && have.hash == want.hash && have.updates == want.updates);
    }
    scratch_remove(folder);
}

/* Killed when all was kept and nothing yet written of the results. */
TEST(a_run_that_was_killed_at_its_very_end_writes_its_results_and_trains_no_further)
{
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        for (size_t s = 0; s < MOT_COUNT(stops); s++) {
            if (left_out(m, s)) continue;
            fresh_folder();
            struct end first = run_end(&mot_driver_threads, methods[m], stops[s], folder, false);
            char *summary = mot_path_join(folder, "summary.json"),
                 *model = mot_path_join(folder, "model.safetensors");
            unlink(summary);
            unlink(model);
            struct end again = run_end(&mot_driver_threads, methods[m], stops[s], folder, true);
            bool there = mot_file_exists(summary) && mot_file_exists(model);
            free(summary);
            free(model);
            scratch_remove(folder);
            if (!same_end(&first, &again)) print_ends(methods[m], stops[s], &first, &again);
            CHECK(there);
            CHECK(same_end(&first, &again));
        }
    }
}

/* A child makes the run and is killed once there is a checkpoint; it may have come to its end by then. */
static void start_and_kill(const char *const *method, const char *const *stop)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run_end(&mot_driver_threads, method, stop, folder, false);
        _exit(0);
    }
    char *path = mot_path_join(folder, "checkpoint.bin");
    while (!mot_file_exists(path) && waitpid(child, NULL, WNOHANG) == 0)
        nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
    free(path);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

TEST(a_run_that_was_killed_ends_where_the_undisturbed_one_ends)
{
    static const char *const often[][9] = {
        { "stop.updates", "150", "checkpoint.every", "7 updates" },
        { "stop.epochs", "12", "checkpoint.every", "11 updates" },
        { "stop.epochs", "60", "checkpoint.every", "5 updates", "stop.target.test_accuracy", "0.8",
            "evaluate.every", "3 updates" },
    };
    for (size_t m = 0; m < MOT_COUNT(methods); m++) {
        for (size_t s = 0; s < MOT_COUNT(often); s++) {
            if (SANITIZED && (m + s) % MOT_COUNT(often) != 0) continue;
            struct end whole = run_end(&mot_driver_sim, methods[m], often[s], NULL, false);
            fresh_folder();
            start_and_kill(methods[m], often[s]);
            struct end on = run_end(&mot_driver_threads, methods[m], often[s], folder, true);
            scratch_remove(folder);
            if (!same_end(&whole, &on)) print_ends(methods[m], often[s], &whole, &on);
            CHECK(same_end(&whole, &on));
        }
    }
}

TEST_MAIN()
