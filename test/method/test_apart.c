/* The round at which a run without a server ends with its data is known before it begins. */
#include "method/apart.h"
#include "test.h"

static uint64_t last(uint64_t passes, uint64_t step0, const uint64_t *draw0)
{
    static const uint64_t rows[] = { 480, 0, 479, 30 };
    static const uint32_t batch[] = { 64, 16, 5, 30 };
    struct mot_world w = { .workers = 4, .part_rows = rows, .batch = batch, .passes = passes };
    w.step0 = step0;
    w.draw0 = draw0;
    return mot_apart_end(&w);
}

TEST(it_is_the_rounds_of_the_worker_whose_data_lasts_longest)
{
    CHECK_INT(last(1, 0, NULL), 96); /* 8, none, 96 and 1 */
    CHECK_INT(last(3, 0, NULL), 288);
}

TEST(a_resumed_run_ends_where_it_would_have_ended)
{
    const uint64_t then[] = { 480, 0, 200, 30 }, over[] = { 480, 0, 479, 30 };
    CHECK_INT(last(1, 40, then), 96);
    CHECK_INT(last(1, 96, over), 96);
}

TEST(endless_data_and_more_passes_than_can_be_counted_have_no_last_round)
{
    CHECK(last(0, 0, NULL) == UINT64_MAX);
    CHECK(last(UINT64_MAX - 1, 0, NULL) == UINT64_MAX);
}

TEST_MAIN()
