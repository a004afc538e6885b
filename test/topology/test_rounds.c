/* Graphs that change from round to round: who gets from whom, and the figures that are known beforehand. */
#include "topology/rounds.h"
#include "base/leaps.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>

static struct mot_rounds_figures figures(const char *kind, uint32_t nodes, uint32_t peers, uint32_t segments)
{
    struct mot_rounds r = { mot_rounds_find(kind), nodes, peers, 1 };
    struct mot_rounds_figures f = { 0 };
    if (mot_rounds_check(&r) != MOT_OK || mot_rounds_measure(&r, segments, &f) != MOT_OK) abort();
    return f;
}

TEST(a_derangement_leaves_n_minus_2_over_2_n_minus_2_of_the_squared_disagreement)
{
    static const char *const kinds[] = { "derangement", "derangement-authors", "one-peer" };
    CHECK_NEAR(figures("derangement", 4, 1, 1).contraction, 0.333, 0.01 * 0.333);
    CHECK_NEAR(figures("derangement", 8, 1, 1).contraction, 0.429, 0.01 * 0.429);
    for (uint32_t n = 2; n <= 64; n += SANITIZED ? 7 : 1)
        for (int k = 0; k < 3; k++)
            CHECK_NEAR(figures(kinds[k], n, 1, 1).contraction, (n - 2.0) / (2 * (n - 1.0)), 1e-9);
}

TEST(the_mixing_time_of_derangements_is_what_their_contraction_says)
{
    for (uint32_t n = 3; n <= 300; n += 1 + n / 2) {
        double expected = log(MOT_MIXED) / log((n - 2.0) / (2 * (n - 1.0)));
        CHECK_NEAR((double)figures("derangement", n, 1, 1).mixing, expected + 0.5, 1.6);
    }
    CHECK_INT(figures("derangement", 2, 1, 1).mixing, 1); /* the exact mean in one round */
}

TEST(one_peer_mixes_powers_of_2_in_just_log2_rounds_and_nothing_else)
{
    for (uint32_t n = 2; n <= 128; n++) {
        uint32_t mixing = figures("one-peer", n, 1, 1).mixing, leaps = mot_leaps(n);
        CHECK((n & (n - 1)) == 0 ? mixing == leaps : mixing > leaps);
    }
    CHECK_INT(figures("one-peer", 1024, 1, 1).mixing, 10); /* in random directions */
}

TEST(reach_and_fan_out_are_those_of_fair_and_unfair_peers)
{
    /* n - 1 others, each missed by all S segments with the chance (1 - 1 / (n - 1))^S */
    CHECK_NEAR(figures("derangement", 8, 1, 18).reach, 7.5, 0.1);
    CHECK_NEAR(figures("derangement", 8, 1, 18).reach, 1 + 7 * (1 - pow(6.0 / 7, 18)), 0.02);
    CHECK_NEAR(figures("unfair", 8, 1, 18).reach, 1 + 7 * (1 - pow(6.0 / 7, 18)), 0.02);
    CHECK_NEAR(figures("unfair", 8, 1, 1).fan_out_most, 2.6, 0.05);
    CHECK_NEAR(figures("unfair", 8, 1, 1).fan_out, 1, 1e-12);
    for (uint32_t n = 2; n <= 33; n++) {
        CHECK_NEAR(figures("derangement", n, 1, 1).reach, 2, 1e-9);
        CHECK_NEAR(figures("derangement", n, 1, 1).fan_out_most, 1, 1e-9);
        CHECK_NEAR(figures("matching", n, 1, 1).fan_out, n % 2 ? (n - 1.0) / n : 1, 1e-9);
    }
    struct mot_rounds_figures f = figures("k-peer", 13, 3, 1);
    CHECK(f.fan_out == 3 && f.fan_out_most == 3 && f.reach == 4);
}

TEST(pairs_are_pairs_and_every_one_is_as_likely)
{
    struct mot_rounds r = { mot_rounds_find("matching"), 5, 1, 3 };
    uint32_t with[5] = { 0 }, alone = 0, draws = 20000;
    for (uint32_t t = 0; t < draws; t++) {
        mot_node from[10];
        r.kind->draw(&r, t, 0, from);
        for (mot_node i = 0; i < 5; i++)
            CHECK(from[i] == MOT_NO_NODE || (from[i] != i && from[from[i]] == i));
        if (from[0] == MOT_NO_NODE) alone++;
        else with[from[0]]++;
    }
    CHECK_NEAR(alone, draws / 5.0, 5 * sqrt(draws * 0.16));
    for (int j = 1; j < 5; j++) CHECK_NEAR(with[j], draws / 5.0, 5 * sqrt(draws * 0.16));
}

TEST(what_cannot_be_is_refused)
{
    struct mot_rounds r = { mot_rounds_find("k-peer"), 8, 4, 1 };
    CHECK(!mot_rounds_find("ring") && !mot_rounds_find(""));
    CHECK_INT(mot_rounds_check(&r), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "1 to 3");
    r.peers = 3;
    CHECK_INT(mot_rounds_check(&r), MOT_OK);
    r = (struct mot_rounds){ mot_rounds_find("unfair"), 8, 2, 1 };
    CHECK_INT(mot_rounds_check(&r), MOT_EUSAGE);
    r = (struct mot_rounds){ mot_rounds_find("unfair"), 1, 1, 1 };
    CHECK_INT(mot_rounds_check(&r), MOT_EUSAGE);
}

TEST_MAIN()
