/* Who sends to whom: the pairs of a topology, and all that every node says it sent, under every driver. */
#include "base/file.h"
#include "run/traffic.h"
#include "scratch.h"
#include "wire/team.h"

#define SMALL                                                                                                \
    "data", "digits", "data.rows", "200", "model", "softmax", "batch", "8", "stop.updates", "5",             \
        "evaluate.heterogeneity", "never"

static const struct mot_sent *sent(const struct mot_outcome *o, uint32_t from, uint32_t to)
{
    return &o->traffic.sent[(size_t)from * o->traffic.blocks.in_all + to];
}

/* What the table has of a block of senders is what they say. */
static void check_sums(const struct mot_outcome *o)
{
    const struct mot_blocks *b = &o->traffic.blocks;
    struct mot_sent all = { 0, 0 };
    for (uint32_t from = 0; from < b->in_all; from++) {
        struct mot_sent row = { 0, 0 }, said = { 0, 0 };
        mot_node first, last;
        mot_block_nodes(b, from, &first, &last);
        for (uint32_t to = 0; to < b->in_all; to++) {
            row.bytes += sent(o, from, to)->bytes;
            row.messages += sent(o, from, to)->messages;
        }
        for (mot_node i = first; i <= last; i++) {
            said.bytes += o->node[i].bytes_sent;
            said.messages += o->node[i].messages_sent;
        }
        CHECK(row.bytes == said.bytes && row.messages == said.messages);
        all.bytes += row.bytes;
        all.messages += row.messages;
    }
    CHECK(all.messages > 0 && all.messages == o->last.messages && all.bytes == o->last.bytes_sent);
}

TEST(blocks_cover_every_node_once_and_keep_workers_and_servers_apart)
{
    static const uint32_t cases[][4] = { /* workers, servers, nodes of a block, blocks */
        { 1, 0, 1, 1 }, { 63, 1, 1, 64 }, { 64, 0, 1, 64 }, { 64, 1, 2, 33 }, { 65, 0, 2, 33 },
        { 127, 2, 4, 33 }, { 1000, 1, 16, 64 }, { 10000, 0, 256, 40 }, { 1u << 24, 3, 1u << 19, 33 }
    };
    for (size_t k = 0; k < MOT_COUNT(cases); k++) {
        const uint32_t *c = cases[k];
        struct mot_world w = { .workers = c[0], .servers = c[1], .nodes = c[0] + c[1] };
        struct mot_blocks b = mot_blocks_of(&w);
        CHECK_INT(1u << b.shift, c[2]);
        CHECK_INT(b.in_all, c[3]);
        mot_node next = 0, first, last;
        for (uint32_t block = 0; block < b.in_all; block++) {
            mot_block_nodes(&b, block, &first, &last);
            CHECK_INT(first, next);
            CHECK(last >= first && (first < w.workers) == (last < w.workers));
            CHECK_INT(mot_block_of(&b, first), block);
            CHECK_INT(mot_block_of(&b, last), block);
            next = last + 1;
        }
        CHECK_INT(next, w.nodes);
    }
}

/* Five rounds, and the sixth has begun when the last worker ends its fifth. */
static void check_ring(const struct mot_outcome *o, uint32_t dim, bool exact)
{
    for (uint32_t from = 0; from < 4; from++)
        for (uint32_t to = 0; to < 4; to++) {
            bool near = (from + 1) % 4 == to || (to + 1) % 4 == from;
            uint64_t n = sent(o, from, to)->messages;
            CHECK(near ? n >= 5 && n <= 7 : n == 0);
            if (near && exact) CHECK_INT(n, 6);
            CHECK_INT(sent(o, from, to)->bytes, n * dim * sizeof(float));
        }
    check_sums(o);
}

#define RING SMALL, "method", "dpsgd", "topology", "ring", "workers", "4"

TEST(a_ring_sends_to_both_sides_simulated_on_threads_replayed_and_over_ranks)
{
    char folder[] = "/tmp/motley-traffic-XXXXXX";
    if (!mkdtemp(folder)) abort();
    struct run sim = { 0 },
               threads = { .ways = { .driver = &mot_driver_threads, .record = true, .replace = true } },
               again = { .ways = { .driver = &mot_driver_replay, .arrivals = folder } };
    RUN_SET(&sim, RING);
    run_go(&sim);
    check_ring(&sim.out, sim.job.net.dim, true);
    RUN_SET(&threads, RING, "output", folder);
    run_go(&threads);
    check_ring(&threads.out, threads.job.net.dim, false);
    RUN_SET(&again, RING);
    run_go(&again);
    CHECK_INT(again.status, MOT_OK);
    const size_t bytes = 16 * sizeof(struct mot_sent);
    CHECK(memcmp(again.out.traffic.sent, threads.out.traffic.sent, bytes) == 0);
    struct team t = { 0 };
    RUN_SET(&t.run, RING);
    if (!team_open(&t)) abort();
    team_go(&t);
    check_ring(&t.member[0].out, t.run.job.net.dim, false);
    team_forget(&t);
    team_close(&t);
    run_free(&sim), run_free(&threads), run_free(&again);
    scratch_remove(folder);
}

TEST(sums_and_servers_are_counted_where_messages_are)
{
    static const char *const methods[] = { "allreduce", "server", "async" };
    for (size_t k = 0; k < MOT_COUNT(methods); k++) {
        struct team t = { 0 };
        RUN_SET(&t.run, SMALL, "method", methods[k], "workers", "3");
        if (!team_open(&t)) abort();
        struct mot_outcome sim = team_simulate(&t);
        check_sums(&sim);
        if (k == 0) CHECK(sent(&sim, 0, 1)->messages && !sent(&sim, 1, 0)->messages); /* around the ring */
        else CHECK(sent(&sim, 0, 3)->messages && sent(&sim, 3, 0)->messages && !sent(&sim, 0, 1)->messages);
        mot_outcome_close(&sim);
        team_go(&t);
        check_sums(&t.member[0].out);
        team_forget(&t);
        team_close(&t);
    }
}

TEST(of_many_nodes_and_with_faults_nothing_is_left_out)
{
    struct run r = { 0 }, faulty = { 0 };
    RUN_SET(&r, SMALL, "method", "async", "workers", "100", "stop.updates", "300");
    run_go(&r);
    CHECK_INT(r.out.traffic.blocks.in_all, 51);
    check_sums(&r.out);
    CHECK_INT(sent(&r.out, 0, 50)->messages, r.out.node[0].messages_sent + r.out.node[1].messages_sent);
    RUN_SET(&faulty, SMALL, "method", "dpsgd", "stop.updates", "20", "cluster",
        "{workers: 6, faults: {drop: 5%, duplicate: 5%, reorder: 5%}}");
    run_go(&faulty);
    check_sums(&faulty.out);
    run_free(&r), run_free(&faulty);
}

TEST(a_resumed_run_goes_on_counting)
{
    char folder[] = "/tmp/motley-traffic-XXXXXX";
    if (!mkdtemp(folder)) abort();
    struct run whole = { 0 }, first = { .ways = { .replace = true } },
               second = { .ways = { .resume = true } };
    RUN_SET(&whole, RING);
    run_go(&whole);
    RUN_SET(&first, RING, "stop.updates", "2", "output", folder);
    run_go(&first);
    RUN_SET(&second, RING, "output", folder);
    run_go(&second);
    CHECK_INT(second.out.last.updates, 5);
    CHECK(memcmp(whole.out.traffic.sent, second.out.traffic.sent, 16 * sizeof(struct mot_sent)) == 0);
    run_free(&whole), run_free(&first), run_free(&second);
    scratch_remove(folder);
}

TEST_MAIN()
