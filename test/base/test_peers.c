/* Drawing who gets from whom. */
#include "base/peers.h"
#include "test.h"

#define MOST 64u

static bool fair(uint32_t n, const mot_node *from)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (from[i] >= n || from[i] == i || seen >> from[i] & 1) return false;
        seen |= UINT64_C(1) << from[i];
    }
    return true;
}

TEST(a_fair_map_gives_everyone_one_other_source_and_one_receiver)
{
    mot_node from[MOST];
    for (uint32_t n = 2; n <= MOST; n++)
        for (uint64_t round = 0; round < 40; round++)
            for (uint32_t segment = 0; segment < 5; segment++) {
                mot_peers_draw(MOT_PEERS_UNIFORM, n, 7, round, segment, from);
                CHECK(fair(n, from));
                mot_peers_draw(MOT_PEERS_AUTHORS, n, 7, round, segment, from);
                CHECK(fair(n, from));
            }
}

TEST(an_unfair_map_gives_nobody_itself)
{
    mot_node from[MOST];
    for (uint32_t n = 2; n <= MOST; n++)
        for (uint64_t round = 0; round < 40; round++) {
            mot_peers_draw(MOT_PEERS_UNFAIR, n, 7, round, 0, from);
            for (uint32_t i = 0; i < n; i++) CHECK(from[i] < n && from[i] != i);
        }
}

TEST(a_map_depends_on_seed_round_and_segment_and_on_nothing_else)
{
    for (int draw = MOT_PEERS_UNIFORM; draw <= MOT_PEERS_UNFAIR; draw++) {
        mot_node a[MOST], b[MOST], c[MOST];
        mot_peers_draw((enum mot_peer_draw)draw, MOST, 1, 2, 3, a);
        mot_peers_draw((enum mot_peer_draw)draw, MOST, 1, 2, 3, b);
        CHECK(memcmp(a, b, sizeof a) == 0);
        for (int other = 0; other < 3; other++) {
            mot_peers_draw(
                (enum mot_peer_draw)draw, MOST, 1 + (other == 0), 2 + (other == 1), 3 + (other == 2), c);
            CHECK(memcmp(a, c, sizeof a) != 0);
        }
    }
}

/* How often each of the nine derangements of four nodes comes. */
static void count(enum mot_peer_draw draw, uint32_t draws, uint32_t times[256])
{
    memset(times, 0, 256 * sizeof *times);
    for (uint32_t round = 0; round < draws; round++) {
        mot_node f[4];
        mot_peers_draw(draw, 4, 11, round, 0, f);
        times[f[0] | f[1] << 2 | f[2] << 4 | f[3] << 6]++;
    }
}

TEST(uniform_draws_each_derangement_equally_often_and_the_authors_do_not)
{
    enum { DRAWS = 90000 };
    uint32_t times[256], kinds = 0;
    count(MOT_PEERS_UNIFORM, DRAWS, times);
    for (int i = 0; i < 256; i++) {
        kinds += times[i] > 0;
        if (times[i]) CHECK_NEAR(times[i], DRAWS / 9.0, 5 * sqrt(DRAWS / 9.0));
    }
    CHECK_INT(kinds, 9);
    /* In turn: 0 takes 1 (1/3); 1 then has 0, 2, 3 to choose from (1/3); 2 must take 3 if it is left. */
    count(MOT_PEERS_AUTHORS, DRAWS, times);
    CHECK_NEAR(times[1 | 0 << 2 | 3 << 4 | 2 << 6], DRAWS / 9.0, 5 * sqrt(DRAWS / 9.0));
    CHECK_NEAR(times[1 | 2 << 2 | 3 << 4 | 0 << 6], DRAWS / 9.0, 5 * sqrt(DRAWS / 9.0));
    CHECK_NEAR(times[1 | 3 << 2 | 0 << 4 | 2 << 6], DRAWS / 9.0, 5 * sqrt(DRAWS / 9.0));
    /* 0 takes 2: 1 chooses 0 or 3; with 0 gone 2 must take 3, with 3 gone it chooses 0 or 1. */
    CHECK_NEAR(times[2 | 0 << 2 | 3 << 4 | 1 << 6], DRAWS / 6.0, 5 * sqrt(DRAWS / 6.0));
    CHECK_NEAR(times[2 | 3 << 2 | 0 << 4 | 1 << 6], DRAWS / 12.0, 5 * sqrt(DRAWS / 12.0));
}

static double largest_fan_out(enum mot_peer_draw draw, uint32_t n, uint32_t draws)
{
    uint64_t all = 0;
    for (uint32_t round = 0; round < draws; round++) {
        mot_node from[MOST];
        uint32_t out[MOST] = { 0 }, most = 0;
        mot_peers_draw(draw, n, 3, round, 0, from);
        for (uint32_t i = 0; i < n; i++)
            if (++out[from[i]] > most) most = out[from[i]];
        all += most;
    }
    return (double)all / draws;
}

TEST(the_busiest_of_eight_sends_2_6_times_if_peers_are_unfair_and_once_if_they_are_fair)
{
    CHECK_NEAR(largest_fan_out(MOT_PEERS_UNFAIR, 8, 20000), 2.6, 0.05);
    CHECK_NEAR(largest_fan_out(MOT_PEERS_UNIFORM, 8, 2000), 1, 0);
    CHECK_NEAR(largest_fan_out(MOT_PEERS_AUTHORS, 8, 2000), 1, 0);
}

/* Whose floats are in a worker's model after a round, in any segment. */
static double reach(uint32_t n, uint32_t segments, uint32_t draws)
{
    uint64_t all = 0;
    for (uint32_t round = 0; round < draws; round++) {
        uint64_t seen = 1;
        for (uint32_t s = 0; s < segments; s++) {
            mot_node from[MOST];
            mot_peers_draw(MOT_PEERS_UNIFORM, n, 5, round, s, from);
            seen |= UINT64_C(1) << from[0];
        }
        all += (uint64_t)__builtin_popcountll(seen);
    }
    return (double)all / draws;
}

TEST(of_eight_workers_18_segments_bring_7_5_together_in_a_round_and_one_segment_two)
{
    CHECK_NEAR(reach(8, 18, 20000), 7.5, 0.1);
    CHECK_NEAR(reach(8, 1, 2000), 2, 0);
}

TEST_MAIN()
