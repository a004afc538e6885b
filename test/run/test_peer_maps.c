/* Peer maps that are kept while they are in use. */
#include "base/peers.h"
#include "run/peers.h"
#include "test.h"

static struct mot_world world;
static struct mot_env env;

static void begin(uint32_t workers, uint32_t maps)
{
    world = (struct mot_world){ .workers = workers, .nodes = workers, .seed = 5 };
    world.peers = mot_peer_maps_open(maps, workers);
    env = (struct mot_env){ .world = &world };
}

TEST(sources_and_receivers_are_those_of_the_draw_for_any_n_and_kind)
{
    begin(37, 4);
    for (int kind = MOT_PEERS_UNIFORM; kind <= MOT_PEERS_UNFAIR; kind++)
        for (uint32_t n = 2; n <= 37; n++)
            for (uint64_t round = 0; round < 6; round++) {
                enum mot_peer_draw draw = (enum mot_peer_draw)kind;
                mot_node from[37];
                mot_peers_draw(draw, n, world.seed, round, 2, from);
                for (mot_node i = 0; i < n; i++) {
                    CHECK_INT(mot_peer_from(&env, draw, n, round, 2, i), from[i]);
                    uint32_t k = 0;
                    for (mot_node j = 0; j < n; j++)
                        if (from[j] == i) CHECK_INT(mot_peer_to(&env, draw, n, round, 2, i, k++), j);
                    CHECK(mot_peer_to(&env, draw, n, round, 2, i, k) == MOT_NO_NODE);
                }
            }
    mot_peer_maps_close(world.peers);
}

TEST(a_map_is_drawn_once_for_all_nodes_though_some_are_rounds_ahead)
{
    enum { N = 50, SEGMENTS = 9, LEAD = 8, ROUNDS = 200 };
    begin(N, SEGMENTS * (LEAD + 1));
    for (uint64_t round = 0; round < ROUNDS; round++)
        for (mot_node i = 0; i < N; i++)
            for (uint32_t s = 0; s < SEGMENTS; s++) {
                uint64_t mine = round + i % (LEAD + 1);
                mot_peer_from(&env, MOT_PEERS_UNIFORM, N, mine, s, i);
                mot_peer_to(&env, MOT_PEERS_UNIFORM, N, mine, s, i, 0);
            }
    double maps = (ROUNDS + LEAD) * SEGMENTS;
    CHECK_NEAR((double)mot_peer_maps_drawn(world.peers) / maps, 1, 0.05);
    mot_peer_maps_close(world.peers);
}

TEST_MAIN()
