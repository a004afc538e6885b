/* Collectives by themselves: every node completes, however messages interleave. */
#include "base/rng.h"
#include "sim/coll_steps.h"
#include "test.h"

#define MOST 40
struct flight {
    mot_node from, to;
    uint32_t step;
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
            mot_coll_received(way, n, node, f.from, f.step, &p[node]);
        }
        while (mot_coll_next(way, n, node, 1000, &p[node], &step)) {
            CHECK(step.to < n && step.to != node);
            CHECK(step.first <= step.last && step.last <= 1000);
            flight[flights++] = (struct flight){ node, step.to, step.step };
            messages++;
        }
        CHECK(flights <= most);
        if (!complete[node] && mot_coll_complete(way, n, node, &p[node])) {
            if (way < MOT_WAY_UP) CHECK_INT(joined, n); /* nobody has the sum before all have joined */
            if (way == MOT_WAY_UP && node == 0) CHECK_INT(joined, n);
            if (way == MOT_WAY_DOWN) CHECK(p[0].joined);
            complete[node] = true;
            done++;
        }
    }
    CHECK_INT(flights, 0);
    if (way == MOT_WAY_RING && n > 1) CHECK_INT(messages, 2 * n * (n - 1));
    if (way == MOT_WAY_TREE) CHECK_INT(messages, 2 * (n - 1));
    if (way > MOT_WAY_DOUBLING) CHECK_INT(messages, n - 1);
}

TEST(every_schedule_completes_for_every_size_and_order)
{
    struct mot_rng rng = mot_rng_at(11, MOT_RNG_TEST, 0);
    printf("seed 11\n");
    for (uint32_t n = 1; n <= MOST; n++)
        for (int kind = MOT_WAY_RING; kind <= MOT_WAY_DOWN; kind++)
            for (int round = 0; round < 10; round++) {
                int before = test_failures;
                play((enum mot_coll_way)kind, n, &rng);
                if (test_failures != before) FAIL("with n = %u, schedule %d", n, kind);
            }
}

TEST_MAIN()
