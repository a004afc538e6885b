/* Records that are held out: as many as were asked for, each with the same chance to stay, whatever the
 * order in which they come, whoever brings them, and however often. */
#include "base/bytes.h"
#include "base/memory.h"
#include "stream/reservoir.h"
#include "test.h"
#include <math.h>
#include <motley/random.h>
#include <stdlib.h>

#define COLS 3u

static struct mot_reservoir *open_for(uint32_t rows)
{
    struct mot_reservoir *r = NULL;
    if (mot_reservoir_open(rows, COLS, &r) != MOT_OK) abort();
    return r;
}

/* The row of a record says whose it is. */
static void offer(struct mot_reservoir *r, uint64_t seed, uint32_t worker, uint64_t number)
{
    float x[COLS] = { (float)worker, (float)number, 7 };
    mot_reservoir_offer(r, mot_reservoir_key(seed, worker, number), x, (float)(number % 5));
}

static bool same(struct mot_reservoir *a, struct mot_reservoir *b)
{
    struct mot_bytes one = { 0 }, two = { 0 };
    mot_reservoir_pack(a, &one);
    mot_reservoir_pack(b, &two);
    bool is = one.n == two.n && one.n > 0 && memcmp(one.at, two.at, one.n) == 0;
    mot_bytes_free(&one);
    mot_bytes_free(&two);
    return is;
}

TEST(the_share_that_is_held_out_is_the_one_asked_for)
{
    static const double shares[] = { 0.01, 0.1, 0.5, 0.9 };
    for (size_t k = 0; k < MOT_COUNT(shares); k++) {
        double p = shares[k], n = 200000;
        uint64_t below = mot_reservoir_below(p), held = 0;
        for (uint64_t i = 0; i < (uint64_t)n; i++) held += mot_reservoir_key(1, 3, i) < below;
        CHECK(fabs((double)held - n * p) < 4 * sqrt(n * p * (1 - p)));
    }
    CHECK_INT(mot_reservoir_below(0), 0);
}

/* Of three workers, one with most of the records. Over many seeds each tenth of the stream is there as
 * often as any other: 4 standard deviations. */
TEST(every_record_has_the_same_chance_to_stay)
{
    enum { ROWS = 50, EACH = 100, TENTHS = 10, SEEDS = 400 };
    static const uint32_t records[] = { 100, 200, 700 };
    uint32_t count[TENTHS] = { 0 };
    float x[ROWS * COLS], y[ROWS];
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct mot_reservoir *r = open_for(ROWS);
        for (uint32_t w = 0, first = 0; w < 3; first += records[w++])
            for (uint32_t i = 0; i < records[w]; i++) offer(r, seed, w, i);
        uint32_t n = mot_reservoir_rows(r, x, y);
        CHECK_INT(n, ROWS);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t worker = (uint32_t)x[i * COLS], before = worker == 0 ? 0 : worker == 1 ? 100 : 300;
            CHECK(y[i] == (float)((uint32_t)x[i * COLS + 1] % 5));
            count[(before + (uint32_t)x[i * COLS + 1]) / EACH]++;
        }
        mot_reservoir_close(r);
    }
    double want = (double)SEEDS * ROWS / TENTHS;
    for (int i = 0; i < TENTHS; i++) CHECK(fabs(count[i] - want) < 4 * sqrt(want));
}

TEST(neither_the_order_nor_who_brings_them_nor_how_often_matters)
{
    struct mot_reservoir *forth = open_for(40), *back = open_for(40), *parts = open_for(40);
    for (uint32_t w = 0; w < 2; w++)
        for (uint64_t i = 0; i < 300; i++) {
            offer(forth, 9, w, i);
            if (i >= 200) /* a crash: from 150 on they are read again */
                for (uint64_t again = 150; i == 299 && again < 300; again++) offer(forth, 9, w, again);
            offer(back, 9, 1 - w, 299 - i);
        }
    CHECK(same(forth, back));
    /* Each worker has a process, and sends what it keeps to the third as it comes. */
    for (uint32_t w = 0; w < 2; w++) {
        struct mot_reservoir *own = open_for(40);
        uint64_t sent = 0;
        mot_reservoir_forward(own);
        for (uint64_t i = 0; i < 300; i++) {
            struct mot_bytes some;
            offer(own, 9, w, i);
            if (i % 7 && i != 299) continue;
            mot_reservoir_waiting(own, &some);
            CHECK(mot_reservoir_fits(parts, some.at, some.n));
            mot_reservoir_add(parts, some.at, some.n);
            sent += some.n / mot_reservoir_row_bytes(own);
            mot_bytes_free(&some);
        }
        CHECK(sent >= 40 && sent < 300); /* not those that cannot stay */
        mot_reservoir_close(own);
    }
    CHECK(same(forth, parts));
    mot_reservoir_close(forth);
    mot_reservoir_close(back);
    mot_reservoir_close(parts);
}

TEST(bytes_that_are_no_rows_do_not_fit)
{
    struct mot_reservoir *r = open_for(8);
    struct mot_bytes packed = { 0 };
    for (uint64_t i = 0; i < 5; i++) offer(r, 1, 0, i);
    mot_reservoir_pack(r, &packed);
    CHECK_INT(packed.n, 5 * mot_reservoir_row_bytes(r));
    CHECK(mot_reservoir_fits(r, packed.at, packed.n) && mot_reservoir_fits(r, packed.at, 0));
    CHECK(!mot_reservoir_fits(r, packed.at, packed.n - 1));
    float none = NAN;
    memcpy(packed.at + packed.n - sizeof(none), &none, sizeof(none));
    CHECK(!mot_reservoir_fits(r, packed.at, packed.n));
    mot_bytes_free(&packed);
    mot_reservoir_close(r);
}

TEST_MAIN()
