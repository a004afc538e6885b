#include "base/file.h"
#include "config/cluster_file.h"
#include "test.h"
#include <unistd.h>

static struct mot_cluster *parsed(const char *text)
{
    struct mot_cluster *c = NULL;
    if (mot_cluster_parse("c.yaml", text, strlen(text), &c)) printf("  %s\n", mot_error());
    return c;
}

TEST(a_number_of_workers_is_a_cluster)
{
    struct mot_cluster *c = parsed("workers: 5\n");
    CHECK(c);
    CHECK_INT(c->workers, 5);
    CHECK_INT(c->servers, 1);
    CHECK_INT(mot_cluster_group(c, 0), 5);
    CHECK(c->machine[4].speed == 1000 && c->machine[4].link.down == 125e6);
    mot_cluster_close(c);
}

TEST(links_come_from_the_network_unless_said_otherwise)
{
    struct mot_cluster *c = parsed("network: {bandwidth: 8Mbit, down: 16Mbit, latency: 2ms}\n"
                                   "workers: [{}, {up: 80Mbit}, {bandwidth: none, latency: 0}, {latency: 1us}]\n"
                                   "server: {bandwidth: 1Gbit}\n");
    CHECK(c);
    const struct mot_machine *m = c->machine;
    CHECK(m[0].link.up == 1e6 && m[0].link.down == 2e6 && m[0].link.latency == 2000000);
    CHECK(m[1].link.up == 1e7 && m[1].link.down == 2e6);
    CHECK(isinf(m[2].link.up) && isinf(m[2].link.down) && m[2].link.latency == 0);
    CHECK(m[3].link.up == 1e6 && m[3].link.latency == 1000);
    CHECK(m[4].link.up == 125e6 && m[4].link.latency == 2000000);
    mot_cluster_close(c);
    c = parsed("network: none\nworkers: 2\n");
    CHECK(c);
    CHECK(isinf(c->machine[0].link.up) && c->machine[2].link.latency == 0);
    mot_cluster_close(c);
}

TEST(alike_neighbours_are_one_group_and_names_divide_them)
{
    struct mot_cluster *c = parsed("workers: [{count: 2}, {}, {name: a}, {name: a}, {speed: 5/s}]\n");
    CHECK(c);
    CHECK_INT(mot_cluster_group(c, 0), 3);
    CHECK_INT(mot_cluster_group(c, 3), 1);
    CHECK_INT(mot_cluster_group(c, 4), 1);
    CHECK_INT(mot_cluster_group(c, 5), 1);
    mot_cluster_close(c);
}

TEST(laws_are_told_in_words)
{
    struct mot_cluster *c = parsed("workers:\n  - {job_time: {name: normal, mean: 2s, sd: 1s}, jitter: {name: lognormal, sigma: 0.5}, straggle: {name: iid, p: 0.5}}\n  - {}\n");
    CHECK(c);
    char *job = mot_job_time_text(&c->machine[0]), *jitter = mot_jitter_text(&c->machine[0]), *straggle = mot_straggle_text(&c->machine[0]);
    char *none = mot_jitter_text(&c->machine[1]);
    CHECK_TEXT(job, "normal (mean 2s, sd 1s)");
    CHECK_TEXT(jitter, "lognormal (sigma 0.5)");
    CHECK_TEXT(straggle, "iid (p 0.5)");
    CHECK_TEXT(none, "none");
    free(none);
    free(straggle);
    free(jitter);
    free(job);
    mot_cluster_close(c);
}

TEST(ten_thousand_workers_are_quickly_there)
{
    struct mot_cluster *c = parsed("workers: [{count: 10k}]\n");
    CHECK(c);
    CHECK_INT(c->workers, 10000);
    CHECK(sizeof(struct mot_machine) < 1024);
    mot_cluster_close(c);
    CHECK(!parsed("workers: [{count: 60k}, {count: 60k}]\n"));
    CHECK_HAS(mot_error(), "at most 100000 workers");
}

TEST_MAIN()
