/* The pool of buffers: which one is taken, and so how much memory is ever written. */
#include "run/pool.h"
#include "test.h"

#define DIM 1800u
#define SEGMENTS 18u
#define BUFFERS 200u

TEST(the_buffer_dropped_last_is_taken_first)
{
    struct mot_pool p;
    CHECK_INT(mot_pool_open(&p, DIM, BUFFERS), MOT_OK);
    mot_buf a = mot_pool_take(&p), b = mot_pool_take(&p);
    mot_pool_drop(&p, a);
    mot_pool_drop(&p, b);
    CHECK_INT(mot_pool_take(&p), b);
    CHECK_INT(mot_pool_take(&p), a);
    mot_pool_close(&p);
}

TEST(a_range_that_no_buffer_had_takes_the_one_on_top)
{
    struct mot_pool p;
    mot_buf b[3];
    CHECK_INT(mot_pool_open(&p, DIM, 3), MOT_OK);
    for (uint32_t i = 0; i < 3; i++) b[i] = mot_pool_take_range(&p, 100 * i, 100);
    for (uint32_t i = 0; i < 3; i++) mot_pool_drop(&p, b[i]);
    CHECK_INT(mot_pool_take_range(&p, 100, 100), b[1]); /* as it was */
    CHECK_INT(mot_pool_take_range(&p, 700, 100), b[2]);
    CHECK_INT(mot_pool_take_range(&p, 0, 200), b[0]); /* the last that there is */
    mot_pool_close(&p);
}

/* As over MPI: in every round a model is taken, each segment arrives in a buffer of its own, in another
 * order each time, some of the next round already, and all are dropped. */
TEST(a_segment_costs_the_memory_of_a_segment_however_many_rounds_there_are)
{
    static bool written[BUFFERS + 1][SEGMENTS];
    struct mot_pool p;
    CHECK_INT(mot_pool_open(&p, DIM, BUFFERS), MOT_OK);
    mot_buf x = mot_pool_take(&p), early[SEGMENTS] = { 0 };
    uint32_t segments = 0;
    for (uint32_t s = 0; s < SEGMENTS; s++) written[x][s] = true;
    for (uint32_t round = 0; round < 200; round++) {
        mot_buf got[2 * SEGMENTS];
        for (uint32_t k = 0; k < 2 * SEGMENTS; k++) {
            uint32_t s = (k * 7 + round * 5) % SEGMENTS; /* 7 and 18 have no common factor */
            got[k] = MOT_NO_BUF;
            if (k >= SEGMENTS && (round + s) % 3) continue; /* a third of the segments is one round early */
            if (k < SEGMENTS && early[s]) continue;
            got[k] = mot_pool_take_range(&p, s * (DIM / SEGMENTS), DIM / SEGMENTS);
            written[got[k]][s] = true;
        }
        mot_buf mixed = mot_pool_take(&p);
        for (uint32_t s = 0; s < SEGMENTS; s++) written[mixed][s] = true;
        mot_pool_drop(&p, x);
        x = mixed;
        for (uint32_t s = 0; s < SEGMENTS; s++) {
            mot_pool_drop(&p, early[s]);
            early[s] = MOT_NO_BUF;
        }
        for (uint32_t k = 0; k < 2 * SEGMENTS; k++) {
            if (k < SEGMENTS) mot_pool_drop(&p, got[k]);
            else if (got[k]) early[(k * 7 + round * 5) % SEGMENTS] = got[k];
        }
    }
    for (mot_buf b = 1; b <= BUFFERS; b++)
        for (uint32_t s = 0; s < SEGMENTS; s++) segments += written[b][s];
    /* two models; of each segment one that is mixed and one that is early */
    CHECK(segments <= 4 * SEGMENTS);
    mot_pool_close(&p);
}

TEST_MAIN()
