#include "base/rng.h"
#include "sim/heap.h"
#include "test.h"

TEST(events_come_out_by_time_then_node_then_order)
{
    struct mot_heap h;
    mot_heap_open(&h, 4096);
    struct mot_rng r = mot_rng_at(7, MOT_RNG_TEST, 0);
    printf("seed 7\n");
    struct mot_pending last = { 0 };
    uint64_t order = 1, out = 0;
    for (int round = 0; round < 20000; round++) {
        const struct mot_pending *first = mot_heap_first(&h);
        if (h.n < 4096 && (!first || mot_rng_below(&r, 2))) {
            /* Never before what came out: a simulator's events do not go back in time. */
            struct mot_pending p = { .at = last.at + 1 + mot_rng_below(&r, 8),
                .tie = mot_tie((mot_node)mot_rng_below(&r, 4), order++) };
            mot_heap_put(&h, &p);
        } else {
            struct mot_pending p = mot_heap_take(&h);
            CHECK(out == 0 || mot_pending_before(&last, &p));
            last = p;
            out++;
        }
    }
    CHECK(out > 5000);
    mot_heap_close(&h);
}

TEST(ties_in_time_go_to_the_lowest_node_whichever_was_put_first)
{
    struct mot_heap h;
    mot_heap_open(&h, 8);
    mot_heap_put(&h, &(struct mot_pending){ .at = 5, .tie = mot_tie(2, 0) });
    mot_heap_put(&h, &(struct mot_pending){ .at = 5, .tie = mot_tie(1, 1) });
    mot_heap_put(&h, &(struct mot_pending){ .at = 4, .tie = mot_tie(9, 2) });
    CHECK_INT(mot_tie_rank(mot_heap_take(&h).tie), 9);
    CHECK_INT(mot_tie_rank(mot_heap_take(&h).tie), 1);
    CHECK_INT(mot_tie_rank(mot_heap_take(&h).tie), 2);
    mot_heap_close(&h);
}

TEST_MAIN()
