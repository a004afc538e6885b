/* Workers that average seldom run many steps ahead of each other. Each evaluation still shows all of them
 * after the same number of steps, whatever else is evaluated, under every driver. */
#include "base/file.h"
#include "run/run.h"
#include "scratch.h"
#include <stdlib.h>

/* Seven workers make some ten steps while the slow one makes one; they wait for it at the averaging only. */
#define AHEAD                                                                                                \
    "data", "digits", "data.rows", "400", "model", "softmax", "method", "dpsgd", "method.period", "10",      \
        "topology", "ring", "batch", "16", "optimizer.lr", "0.1", "partition", "sorted", "cluster",          \
        "{workers: [{count: 7, speed: 50000 samples/s}, {speed: 5000 samples/s}], network: {latency: 10us}}"

#define UPDATES_MOST 100u
static char folder[64];

static void fresh_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/motley-show-XXXXXX");
    if (!mkdtemp(folder)) abort();
}

/* Into loss[u]: the training loss that metrics.jsonl has for update u; the others stay as they are. */
static void read_losses(double *loss)
{
    char *path = mot_path_join(folder, "metrics.jsonl"), line[1024];
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        const char *updates = strstr(line, "\"updates\":"), *train = strstr(line, "\"train_loss\":");
        unsigned long u = updates ? strtoul(updates + 10, NULL, 10) : UPDATES_MOST;
        if (train && u < UPDATES_MOST) loss[u] = strtod(train + 13, NULL);
    }
    if (f) fclose(f);
    free(path);
}

static void train(const struct mot_driver *driver, const char *every, const char *updates, bool resume)
{
    struct run r = { .ways = { .driver = driver, .resume = resume, .replace = !resume } };
    RUN_SET(&r, AHEAD, "evaluate.every", every, "stop.updates", updates, "output", folder);
    run_go(&r);
    run_free(&r);
}

static void losses(const struct mot_driver *driver, const char *every, double *loss)
{
    for (uint32_t u = 0; u < UPDATES_MOST; u++) loss[u] = NAN;
    fresh_folder();
    train(driver, every, "60", false);
    read_losses(loss);
    scratch_remove(folder);
}

static unsigned equal(const double *a, const double *b, unsigned *differ)
{
    unsigned both = 0;
    *differ = 0;
    for (uint32_t u = 0; u < UPDATES_MOST; u++) {
        if (isnan(a[u]) || isnan(b[u])) continue;
        both++;
        *differ += a[u] != b[u];
    }
    return both;
}

TEST(how_often_one_looks_does_not_change_what_is_seen)
{
    static const char *const every[] = { "1 updates", "3 updates", "20 updates", "60 updates" };
    double first[UPDATES_MOST], other[UPDATES_MOST];
    unsigned differ;
    losses(&mot_driver_sim, every[0], first);
    for (size_t k = 1; k < MOT_COUNT(every); k++) {
        losses(&mot_driver_sim, every[k], other);
        CHECK(equal(first, other, &differ) >= 2);
        CHECK_INT(differ, 0);
    }
    /* by epochs too: what is due then is known in updates */
    losses(&mot_driver_sim, "0.5 epochs", other);
    CHECK(equal(first, other, &differ) >= 10);
    CHECK_INT(differ, 0);
}

TEST(threads_show_what_the_simulator_shows)
{
    double simulated[UPDATES_MOST], live[UPDATES_MOST];
    unsigned differ;
    losses(&mot_driver_sim, "1 updates", simulated);
    losses(&mot_driver_threads, "4 updates", live);
    CHECK(equal(simulated, live, &differ) >= 2);
    CHECK_INT(differ, 0);
}

TEST(what_was_shown_ahead_outlives_a_checkpoint)
{
    double whole[UPDATES_MOST], resumed[UPDATES_MOST];
    unsigned differ;
    losses(&mot_driver_sim, "4 updates", whole);
    for (uint32_t u = 0; u < UPDATES_MOST; u++) resumed[u] = NAN;
    fresh_folder();
    train(&mot_driver_sim, "4 updates", "23", false);
    train(&mot_driver_sim, "4 updates", "60", true);
    read_losses(resumed);
    scratch_remove(folder);
    CHECK(equal(whole, resumed, &differ) >= 15);
    CHECK_INT(differ, 0);
}

TEST_MAIN()
