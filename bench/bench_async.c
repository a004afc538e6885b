/* bench_async.c [UPDATES [REPEATS]] -- updates a second of `async` on threads: 100,000 floats,
 * a gradient that costs nothing, 2 workers and the server. Each figure is of one run. Runs with the
 * guard against gradients that are not finite and without it take turns, so that both see the same machine;
 * the ratio is of neighbours. */
#include "rig.h"

#define DIM 100000u
#define MOST 64

static double rate_with(const char *guard, const char *updates)
{
    const struct mot_setting setting[] = {
        { "data", "synthetic", "bench" },
        { "data.size", "256", "bench" },
        { "model", "softmax", "bench" },
        { "workers", "2", "bench" },
        { "method", "async", "bench" },
        { "method.guard", guard, "bench" },
        { "batch", "1", "bench" },
        { "stop.updates", updates, "bench" },
        { "evaluate.every", "1000000000 updates", "bench" },
        { "evaluate.train", "end", "bench" },
        { "optimizer.lr", "1e-6", "bench" },
    };
    struct rig r = { 0 };
    struct mot_outcome out;
    enum mot_status status = rig_open(&r, &rig_trivial, DIM, setting, MOT_COUNT(setting));
    if (status == MOT_OK) status = rig_run(&r, &out);
    if (status != MOT_OK) {
        fprintf(stderr, "bench_async: %s\n", mot_error());
        exit(status);
    }
    double rate = (double)out.last.updates / out.wall_s;
    mot_outcome_close(&out);
    rig_close(&r);
    return rate;
}

static void show(const char *what, const char *format, double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), rig_by_size);
    printf("%s: ", what);
    printf(format, v[n / 2], v[0], v[n - 1]);
}

int main(int count, char **arguments)
{
    const char *updates = count > 1 ? arguments[1] : "40000";
    int repeats = count > 2 ? (int)strtol(arguments[2], NULL, 10) : 7;
    double with[MOST], without[MOST], ratio[MOST];
    if (repeats < 1 || repeats > MOST) repeats = 7;
    for (int i = 0; i < repeats; i++) {
        bool first = i % 2 == 0; /* who goes first changes, too */
        if (first) with[i] = rate_with("drop", updates);
        without[i] = rate_with("off", updates);
        if (!first) with[i] = rate_with("drop", updates);
        ratio[i] = with[i] / without[i];
    }
    printf("async, %u floats, 2 workers, %d runs each: median (min to max)\n", DIM, repeats);
    show("guard on", "%.0f updates/s (%.0f to %.0f)\n", with, repeats);
    show("guard off", "%.0f updates/s (%.0f to %.0f)\n", without, repeats);
    show("on / off", "%.3f (%.3f to %.3f)\n", ratio, repeats);
    return 0;
}
