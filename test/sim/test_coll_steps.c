/* Collectives by themselves: every node completes, however messages interleave. */
#include "base/rng.h"
#include "sim/coll_steps.h"
#include "test.h"

#define MOST 40
struct flight {
    mot_node from, to;
    uint32_t step;
    uint64_t brings; /* gather: a bit for each member whose packet it is */
};

/* Joins nodes and delivers messages in a random order (in order for
 * each pair); sums what each has heard of. */
static void play(enum mot_coll_way way, uint32_t n, struct mot_rng *rng)
{
    static struct flight flight[MOST * MOST * 4];
    struct mot_coll_progress p[MOST] = { 0 };
    struct mot_coll_step step;
    uint32_t flights = 0, joined = 0, done = 0, messages = 0;
    uint64_t most = mot_coll_flights(way, n);
    bool complete[MOST] = { 0 };
    uint64_t has[MOST];
    for (uint32_t i = 0; i < n; i++) has[i] = (uint64_t)1 << i;
    while (done < n) {
        mot_node node;
        if (flights == 0 || (joined < n && mot_rng_below(rng, 3) == 0)) {
            CHECK(joined < n); /* else nothing is under way and somebody waits for ever */
            do node = (mot_node)mot_rng_below(rng, n);
            while (p[node].joined);
            p[node].joined = true;
            joined++;
        } else {
            uint32_t pick = (uint32_t)mot_rng_below(rng, flights);
            for (uint32_t i = 0; i < pick; i++)
                if (flight[i].from == flight[pick].from && flight[i].to == flight[pick].to) {
                    pick = i;
                    break;
                }
            struct flight f = flight[pick];
            memmove(flight + pick, flight + pick + 1, (--flights - pick) * sizeof(f));
            node = f.to;
            CHECK(mot_coll_expects(way, n, node, f.from, f.step, &p[node]));
            mot_coll_received(way, n, node, f.from, f.step, &p[node]);
            CHECK(!mot_coll_expects(way, n, node, f.from, f.step, &p[node]) || way == MOT_WAY_TREE ||
                way == MOT_WAY_UP); /* a child may not send twice, but the tree only counts */
            if (way == MOT_WAY_GATHER) CHECK_INT(has[node] & f.brings, 0); /* nothing twice */
            has[node] |= f.brings;
        }
        while (mot_coll_next(way, n, node, 1000, &p[node], &step)) {
            CHECK(step.to < n && step.to != node);
            CHECK(step.first <= step.last && step.last <= 1000);
            uint64_t brings = 0;
            for (uint64_t i = step.first; way == MOT_WAY_GATHER && i < step.last; i++)
                brings |= (uint64_t)1 << i % n;
            CHECK((brings & ~has[node]) == 0);
            flight[flights++] = (struct flight){ node, step.to, step.step, brings };
            messages++;
        }
        CHECK(flights <= most);
        if (!complete[node] && mot_coll_complete(way, n, node, &p[node])) {
            if (way < MOT_WAY_UP) CHECK_INT(joined, n); /* nobody has the sum before all have joined */
            if (way == MOT_WAY_GATHER) CHECK(has[node] == ((uint64_t)1 << n) - 1);
            if (way == MOT_WAY_UP && node == 0) CHECK_INT(joined, n);
            if (way == MOT_WAY_DOWN) CHECK(p[0].joined);
            complete[node] = true;
            done++;
        }
    }
    CHECK_INT(flights, 0);
    if (way == MOT_WAY_RING && n > 1) CHECK_INT(messages, 2 * n * (n - 1));
    if (way == MOT_WAY_TREE) CHECK_INT(messages, 2 * (n - 1));
    if (way == MOT_WAY_UP || way == MOT_WAY_DOWN) CHECK_INT(messages, n - 1);
    if (way == MOT_WAY_GATHER && n > 1) CHECK_INT(messages, n * (32 - (uint32_t)__builtin_clz(n - 1)));
}

TEST(every_schedule_completes_for_every_size_and_order)
{
    struct mot_rng rng = mot_rng_at(11, MOT_RNG_TEST, 0);
    printf("seed 11\n");
    for (uint32_t n = 1; n <= MOST; n++)
        for (int kind = MOT_WAY_RING; kind <= MOT_WAY_GATHER; kind++)
            for (int round = 0; round < 10; round++) {
                int before = test_failures;
                play((enum mot_coll_way)kind, n, &rng);
                if (test_failures != before) FAIL("with n = %u, schedule %d", n, kind);
            }
}

TEST(a_step_of_a_gather_costs_what_its_members_gave)
{
    const uint64_t given[5] = { 1, 10, 100, 1000, 10000 };
    struct mot_coll_progress p = { .joined = true };
    struct mot_coll_step step;
    CHECK(mot_coll_next(MOT_WAY_GATHER, 5, 3, 0, &p, &step));
    CHECK_INT(step.to, 2);
    CHECK_INT(mot_coll_gathered(given, 5, &step), 1000);
    CHECK(!mot_coll_next(MOT_WAY_GATHER, 5, 3, 0, &p, &step));
    mot_coll_received(MOT_WAY_GATHER, 5, 3, 0, 1, &p); /* a later step may come first */
    CHECK(!mot_coll_next(MOT_WAY_GATHER, 5, 3, 0, &p, &step));
    mot_coll_received(MOT_WAY_GATHER, 5, 3, 4, 0, &p);
    CHECK(mot_coll_next(MOT_WAY_GATHER, 5, 3, 0, &p, &step));
    CHECK_INT(step.to, 1);
    CHECK_INT(mot_coll_gathered(given, 5, &step), 11000);
    CHECK(mot_coll_next(MOT_WAY_GATHER, 5, 3, 0, &p, &step));
    CHECK_INT(step.to, 4);
    CHECK_INT(mot_coll_gathered(given, 5, &step), 1000); /* the last lacks only this */
    CHECK(!mot_coll_complete(MOT_WAY_GATHER, 5, 3, &p));
    mot_coll_received(MOT_WAY_GATHER, 5, 3, 2, 2, &p);
    CHECK(mot_coll_complete(MOT_WAY_GATHER, 5, 3, &p));
}

TEST_MAIN()
