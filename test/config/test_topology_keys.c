/* The keys of decentralised runs: topology and sizing, from YAML and back. */
#include "base/memory.h"
#include "config/experiment.h"
#include "test.h"
#include <unistd.h>

static struct mot_experiment *open_text(const char *text)
{
    char path[] = "/tmp/motley-test-XXXXXX";
    int fd = mkstemp(path);
    struct mot_experiment *x = NULL;
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) abort();
    close(fd);
    if (mot_experiment_open(path, NULL, 0, &x) != MOT_OK) printf("  %s\n", mot_error());
    unlink(path);
    return x;
}

static struct mot_experiment *again(const struct mot_experiment *x)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    mot_experiment_print(x, out);
    fclose(out);
    struct mot_experiment *y = open_text(text);
    free(text);
    return y;
}

TEST(what_is_printed_gives_the_same_experiment_again)
{
    static const char *const texts[] = {
        "method: {name: dpsgd, period: 2}\ntopology: {name: regular, degree: 3, seed: 5, weights: "
        "metropolis}\n",
        "method: {name: matcha, budget: 0.25, on_loss: continue}\ntopology: {name: edges, list: [0-1, 1-2, "
        "2-0]}\nworkers: 3\n",
        "method: dpsgd\ntopology: torus\nbatch: 30\nsizing: proportional\ncluster: {workers: [{count: 2, "
        "speed: 2000/s}, {count: 4, speed: 500/s}]}\n",
    };
    for (size_t i = 0; i < MOT_COUNT(texts); i++) {
        struct mot_experiment *x = open_text(texts[i]), *y = x ? again(x) : NULL;
        CHECK(x && y);
        CHECK_TEXT(y->topology->name, x->topology->name);
        CHECK(mot_experiment_hash(x) == mot_experiment_hash(y));
        CHECK(memcmp(x->batch, y->batch, x->workers * sizeof(*x->batch)) == 0);
        mot_experiment_close(x);
        mot_experiment_close(y);
    }
}

TEST(sizing_shares_the_global_batch_by_speed)
{
    struct mot_experiment *x = open_text("batch: 30\nsizing: proportional\ncluster: {workers: [{count: 2, "
                                         "speed: 2000/s}, {count: 4, speed: 500/s}]}\n");
    const uint32_t want[] = { 60, 60, 15, 15, 15, 15 };
    CHECK(x);
    for (int i = 0; i < 6; i++) CHECK_INT(x->batch[i], want[i]);
    mot_experiment_close(x);
}

TEST(a_methods_hash_does_not_depend_on_a_topology_that_it_does_not_use)
{
    struct mot_experiment *x = open_text("method: allreduce\ntopology: star\n"),
                          *y = open_text("method: allreduce\n");
    CHECK(x && y && mot_experiment_hash(x) == mot_experiment_hash(y));
    mot_experiment_close(x);
    mot_experiment_close(y);
}

TEST(mistakes_say_where)
{
    CHECK(!open_text("topology: {name: ring, degree: 3}\n"));
    CHECK_HAS(mot_error(), ":1:24: topology.degree: unknown key; it is an option of 'regular'");
    CHECK(!open_text("topology: {name: edges, list: [[0, 1]]}\n"));
    CHECK_HAS(mot_error(), "topology.list: expected an edge such as 0-1; found a list");
    CHECK(!open_text("topology: {name: edges, path: nowhere.txt}\n"));
    CHECK_HAS(mot_error(), "there is no file '/tmp/nowhere.txt'");
    CHECK(!open_text(
        "sizing: proportional\ncluster: {workers: [{count: 2, job_time: {name: fixed, mean: 0s}}]}\n"));
    CHECK_HAS(mot_error(), "sizing: worker 0 takes no time for its jobs");
    CHECK(!open_text("method: {name: matcha, budget: 0}\n"));
    CHECK_HAS(mot_error(), "method.budget");
}

TEST_MAIN()
