/* Whole shares in proportion to speed. */
#include "base/rng.h"
#include "cluster/cluster.h"
#include "test.h"

TEST(shares_follow_the_speeds_and_keep_the_sum)
{
    const double speed[] = { 2, 1, 1, 1, 1, 2, 1, 1 };
    uint32_t share[8];
    mot_share_out(8, speed, 640, share);
    for (int i = 0; i < 8; i++) CHECK_INT(share[i], 64 * speed[i]);
    mot_share_out(8, speed, 512, share); /* 51.2 and 102.4 */
    const uint32_t want[] = { 103, 51, 51, 51, 51, 103, 51, 51 };
    for (int i = 0; i < 8; i++) CHECK_INT(share[i], want[i]);
}

TEST(leftovers_go_to_those_who_lack_most_then_to_the_first)
{
    const double alike[] = { 1, 1, 1, 1 }, apart[] = { 1, 3.6, 2.7, 2.7 };
    uint32_t share[4];
    mot_share_out(4, alike, 10, share);
    const uint32_t first[] = { 3, 3, 2, 2 };
    for (int i = 0; i < 4; i++) CHECK_INT(share[i], first[i]);
    mot_share_out(4, apart, 10, share); /* 1, 3.6, 2.7 and 2.7: the two that lack 0.7 get one each */
    const uint32_t most[] = { 1, 3, 3, 3 };
    for (int i = 0; i < 4; i++) CHECK_INT(share[i], most[i]);
}

TEST(everyone_gets_one_however_slow)
{
    const double speed[] = { 1e9, 1, 1e-9, 3 };
    uint32_t share[5] = { [4] = 77 };
    mot_share_out(4, speed, 10, share);
    CHECK_INT(share[4], 77); /* nobody else's */
    CHECK_INT(share[0], 7);
    for (int i = 1; i < 4; i++) CHECK_INT(share[i], 1);
    mot_share_out(4, speed, 4, share);
    for (int i = 0; i < 4; i++) CHECK_INT(share[i], 1);
}

TEST(the_sum_is_kept_and_no_share_is_off_by_one_where_all_are_above_one)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 3);
        double speed[40], speeds = 0;
        uint32_t share[40], n = 1 + (uint32_t)mot_rng_below(&rng, 40);
        uint64_t total = 50 * n + mot_rng_below(&rng, 1000), sum = 0;
        for (uint32_t i = 0; i < n; i++) speeds += speed[i] = 0.1 + mot_rng_unit(&rng);
        mot_share_out(n, speed, total, share);
        for (uint32_t i = 0; i < n; i++) {
            sum += share[i];
            if (fabs(share[i] - (double)total * speed[i] / speeds) >= 1)
                FAIL("seed %llu, worker %u", (unsigned long long)seed, i);
        }
        if (sum != total)
            FAIL("seed %llu: %llu of %llu", (unsigned long long)seed, (unsigned long long)sum,
                (unsigned long long)total);
    }
}

TEST_MAIN()
