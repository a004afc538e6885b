/* Rows as bytes: what is packed is unpacked, in any table of the shape, and nothing that a model would
 * stumble over. */
#include "data/rows.h"
#include "test.h"

static const float x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, y[] = { 0, 1, 2, 1 };
static const struct mot_table dense = { .rows = 4, .cols = 3, .classes = 3, .x = x, .y = y };

static const uint64_t row_at[] = { 0, 2, 2, 5 };
static const uint32_t col[] = { 1, 4, 0, 2, 3 };
static const float val[] = { 0.5f, -1, 2, 3, 4 }, target[] = { 0.25f, -7, 1e9f };
static const struct mot_table sparse = {
    .rows = 3, .cols = 5, .row_at = row_at, .col = col, .val = val, .y = target
};

TEST(dense_rows_move_between_tables)
{
    const uint32_t row[] = { 3, 1 };
    float packed[8], to[12] = { 0 }, labels[4] = { 0 };
    const float expected[] = { 1, 10, 11, 12, 1, 4, 5, 6 };
    CHECK_INT(mot_rows_bytes(&dense, row, 2), sizeof packed);
    mot_rows_pack(&dense, row, 2, packed);
    CHECK(memcmp(packed, expected, sizeof packed) == 0);
    struct mot_table other = dense;
    other.x = to, other.y = labels;
    CHECK(!mot_rows_same(&other, row, 2, packed));
    CHECK(mot_rows_unpack(&other, row, 2, packed));
    CHECK(mot_rows_same(&other, row, 2, packed));
    CHECK(to[3] == 4 && to[5] == 6 && to[9] == 10 && to[11] == 12 && labels[1] == 1 && labels[3] == 1);
    CHECK(to[0] == 0 && to[2] == 0 && to[6] == 0 && to[8] == 0 && labels[0] == 0 && labels[2] == 0);
    packed[7] = 6.5f;
    CHECK(!mot_rows_same(&other, row, 2, packed));
}

TEST(sparse_rows_move_with_their_columns)
{
    const uint32_t row[] = { 2, 1, 0 };
    unsigned char packed[4 * (3 + 10)];
    uint32_t columns[5] = { 0 };
    float values[5] = { 0 }, labels[3] = { 0 };
    CHECK_INT(mot_rows_bytes(&sparse, row, 3), sizeof packed);
    mot_rows_pack(&sparse, row, 3, packed);
    struct mot_table other = sparse;
    other.col = columns, other.val = values, other.y = labels;
    CHECK(mot_rows_unpack(&other, row, 3, packed));
    CHECK(memcmp(columns, col, sizeof col) == 0);
    CHECK(memcmp(values, val, sizeof val) == 0);
    CHECK(memcmp(labels, target, sizeof target) == 0);
    CHECK(mot_rows_same(&sparse, row, 3, packed));
}

TEST(labels_that_are_no_class_are_refused_and_nothing_is_written)
{
    const uint32_t row[] = { 0, 1 };
    const float bad[] = { 3, -1, 0.5f, NAN, INFINITY };
    float packed[8], to[12] = { 0 }, labels[4] = { 0 };
    struct mot_table other = dense;
    other.x = to, other.y = labels;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mot_rows_pack(&dense, row, 2, packed);
        packed[4] = bad[i];
        CHECK(!mot_rows_unpack(&other, row, 2, packed));
        for (int k = 0; k < 12; k++) CHECK(to[k] == 0);
    }
    packed[4] = 2;
    CHECK(mot_rows_unpack(&other, row, 2, packed));
    other.classes = 0; /* values to predict may be any */
    packed[4] = -0.5f;
    CHECK(mot_rows_unpack(&other, row, 2, packed));
    CHECK(labels[1] == -0.5f);
}

TEST(columns_that_do_not_exist_or_do_not_increase_are_refused)
{
    const uint32_t row[] = { 2 }, bad[] = { 5, UINT32_MAX, 0, 3 }; /* in place of column 2 of { 0, 2, 3 } */
    unsigned char packed[4 * 7];
    uint32_t columns[5] = { 0 };
    float values[5] = { 0 }, labels[3] = { 0 };
    struct mot_table other = sparse;
    other.col = columns, other.val = values, other.y = labels;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mot_rows_pack(&sparse, row, 1, packed);
        memcpy(packed + 8, &bad[i], 4);
        CHECK(!mot_rows_unpack(&other, row, 1, packed));
        CHECK(columns[4] == 0 && values[2] == 0);
    }
    mot_rows_pack(&sparse, row, 1, packed);
    CHECK(mot_rows_unpack(&other, row, 1, packed));
}

TEST_MAIN()
