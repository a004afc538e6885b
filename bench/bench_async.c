/* bench_async.c [UPDATES [REPEATS]] -- updates a second of `async` on threads: 100,000 floats,
 * a gradient that costs nothing, 2 workers and the server. Each figure is of one run. */
#include "rig.h"

#define DIM 100000u

int main(int count, char **arguments)
{
    const char *updates = count > 1 ? arguments[1] : "40000";
    int repeats = count > 2 ? (int)strtol(arguments[2], NULL, 10) : 7;
    double rate[64];
    if (repeats < 1 || repeats > 64) repeats = 7;
    const struct mot_setting setting[] = {
        { "data", "synthetic", "bench" },
        { "data.size", "256", "bench" },
        { "model", "softmax", "bench" },
        { "workers", "2", "bench" },
        { "method", "async", "bench" },
        { "batch", "1", "bench" },
        { "stop.updates", updates, "bench" },
        { "evaluate.every", "1000000000 updates", "bench" },
        { "evaluate.train", "end", "bench" },
        { "optimizer.lr", "1e-6", "bench" },
    };
    for (int i = 0; i < repeats; i++) {
        struct rig r = { 0 };
        struct mot_outcome out;
        enum mot_status status = rig_open(&r, &rig_trivial, DIM, setting, MOT_COUNT(setting));
        if (status == MOT_OK) status = rig_run(&r, &out);
        if (status != MOT_OK) {
            fprintf(stderr, "bench_async: %s\n", mot_error());
            return status;
        }
        rate[i] = (double)out.last.updates / out.wall_s;
        mot_outcome_close(&out);
        rig_close(&r);
    }
    qsort(rate, (size_t)repeats, sizeof(*rate), rig_by_size);
    printf("async, %u floats, 2 workers: %.0f updates/s (%.0f to %.0f, %d runs)\n", DIM, rate[repeats / 2],
        rate[0], rate[repeats - 1], repeats);
    return 0;
}
