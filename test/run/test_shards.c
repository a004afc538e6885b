/* Several servers, each with a range of the parameters: the same model as with one, under every driver. */
#include "method/methods.h"
#include "run/run.h"
#include "run/shards.h"
#include <stdlib.h>

#define SMALL                                                                                                \
    "data", "digits", "model", "mlp", "model.hidden", "[16]", "workers", "4", "stop.updates", "60",          \
        "evaluate.train", "end"

static uint64_t play(struct run *r)
{
    static const struct mot_method *const more[] = { &shards, NULL };
    mot_methods_extend(more);
    run_go(r);
    mot_methods_extend(NULL);
    return r->status == MOT_OK && r->out.status == MOT_OK ? r->out.model_hash : 0;
}

static uint64_t one_server(const char *optimizer)
{
    struct run r = { 0 };
    RUN_SET(&r, SMALL, "method", "server", "optimizer", optimizer);
    uint64_t hash = play(&r);
    run_free(&r);
    return hash;
}

static void same_as_one_server(const struct mot_driver *driver, const char *optimizer, const char *count)
{
    struct run r = { .ways = { .driver = driver } };
    RUN_SET(&r, SMALL, "method", "shards", "method.shards", count, "optimizer", optimizer);
    uint64_t hash = play(&r);
    CHECK(hash != 0);
    CHECK(hash == one_server(optimizer));
    CHECK_INT(r.experiment->servers, (uint32_t)strtoul(count, NULL, 10));
    CHECK_INT(r.experiment->cluster->servers, r.experiment->servers);
    CHECK_INT(r.out.servers, r.experiment->servers);
    CHECK_INT(r.out.last.updates, 60);
    for (uint32_t i = 0; i < r.out.servers; i++) CHECK_INT(r.out.node[4 + i].updates, 60);
    run_free(&r);
}

TEST(shards_give_the_model_of_one_server) { same_as_one_server(&mot_driver_sim, "sgd", "3"); }
TEST(shards_with_momentum_give_the_model_of_one_server)
{
    same_as_one_server(&mot_driver_sim, "{name: sgd, momentum: 0.9}", "7");
}
TEST(shards_with_adamw_give_the_model_of_one_server)
{
    same_as_one_server(&mot_driver_sim, "{name: adamw, lr: 0.01}", "2");
}
TEST(a_single_shard_is_a_server) { same_as_one_server(&mot_driver_sim, "sgd", "1"); }

TEST(shards_on_threads_give_the_model_of_one_server)
{
    same_as_one_server(&mot_driver_threads, "{name: sgd, momentum: 0.9}", "3");
}

/* A worker's k messages of 1/k of the model each way leave one NIC of its
 * own; each server has only 1/k of the load on its own. */
TEST(more_servers_carry_a_model_that_one_link_cannot)
{
    double seconds[2];
    for (int i = 0; i < 2; i++) {
        struct run r = { 0 };
        RUN_SET(&r, "model", "phantom", "model.parameters", "10000000", "method", "shards", "method.shards",
            i ? "4" : "1", "cluster",
            "{workers: 8, server: {bandwidth: 1Gbit}, network: {bandwidth: 10Gbit}}", "stop.updates", "20");
        CHECK(play(&r) != 0);
        seconds[i] = (double)r.out.last.now * 1e-9;
        run_free(&r);
    }
    printf("  20 updates: %.1f s with one server, %.1f s with four\n", seconds[0], seconds[1]);
    CHECK(seconds[1] < 0.3 * seconds[0]);
}

TEST_MAIN()
