/* Records of a stream: rows as the schema says, everything else counted as malformed for the right reason,
 * and the same rows wherever the bytes are cut. */
#include "stream/records.h"
#include "data/number.h"
#include "test.h"
#include <motley/random.h>

static char *words[] = { "cat", "dog", "2" };
static char *names[] = { "w", "h" };
static struct mot_record_form form = { .label = UINT32_MAX,
    .separator = ',',
    .label_key = "y",
    .feature_key = "x",
    .schema = { .cols = 2, .classes = 3, .scale = MOT_SCALE_NONE, .class_names = words },
    .column_names = names };

struct read {
    enum mot_parsed is;
    float x[2], y;
    size_t took;
};

static struct read read_one(uint32_t format, const void *bytes, size_t n)
{
    struct read out = { .is = MOT_RECORD_KINDS };
    form.format = format;
    struct mot_records *r = mot_records_open(&form);
    out.is = mot_records_next(r, bytes, n, &out.took, out.x, &out.y);
    mot_records_close(r);
    return out;
}

static struct read line(uint32_t format, const char *text) { return read_one(format, text, strlen(text)); }

#define CHECK_ROW(format, text, a, b, label)                                                                 \
    do {                                                                                                     \
        struct read r_ = line(format, text);                                                                 \
        if (r_.is != MOT_RECORD_ROW) FAIL("%s: %s", text, mot_record_why(r_.is));                            \
        CHECK(r_.x[0] == (a) && r_.x[1] == (b) && r_.y == (label));                                          \
        CHECK_INT(r_.took, strlen(text));                                                                    \
    } while (0)
#define CHECK_BAD(format, text, why)                                                                         \
    do {                                                                                                     \
        struct read r_ = line(format, text);                                                                 \
        if (r_.is != (why)) FAIL("%s: %s", text, mot_record_why(r_.is));                                     \
        if (r_.is != MOT_RECORD_PARTIAL) CHECK_INT(r_.took, strlen(text));                                   \
    } while (0)

TEST(csv_lines_are_rows)
{
    CHECK_ROW(MOT_RECORDS_CSV, "1,2.5,cat\n", 1, 2.5f, 0);
    CHECK_ROW(MOT_RECORDS_CSV, " -1e-3 , +.5 , \"dog\"\r\n", -1e-3f, .5f, 1);
    CHECK_ROW(MOT_RECORDS_CSV, "\"3\",4,2.0\n", 3, 4, 2);
    form.label = 0;
    CHECK_ROW(MOT_RECORDS_CSV, "2,7,8\n", 7, 8, 2);
    form.label = 1, form.separator = ';';
    CHECK_ROW(MOT_RECORDS_CSV, "7;dog;8\n", 7, 8, 1);
    form.label = UINT32_MAX, form.separator = ',';
}

TEST(csv_lines_that_are_no_rows_say_why)
{
    CHECK_BAD(MOT_RECORDS_CSV, "\n", MOT_RECORD_NONE);
    CHECK_BAD(MOT_RECORDS_CSV, "  \r\n", MOT_RECORD_NONE);
    CHECK_BAD(MOT_RECORDS_CSV, "1,2,cat", MOT_RECORD_PARTIAL);
    CHECK_BAD(MOT_RECORDS_CSV, "1,cat\n", MOT_RECORD_NO_NUMBER);
    CHECK_BAD(MOT_RECORDS_CSV, "1,2\n", MOT_RECORD_FEW);
    CHECK_BAD(MOT_RECORDS_CSV, "1,2,3,cat\n", MOT_RECORD_MANY);
    CHECK_BAD(MOT_RECORDS_CSV, "1,2,cow\n", MOT_RECORD_CLASS);
    CHECK_BAD(MOT_RECORDS_CSV, "1,2,1\n", MOT_RECORD_CLASS);
    CHECK_BAD(MOT_RECORDS_CSV, "1,nan,cat\n", MOT_RECORD_NO_NUMBER);
    CHECK_BAD(MOT_RECORDS_CSV, "1,1e99,cat\n", MOT_RECORD_NOT_FINITE);
    CHECK_BAD(MOT_RECORDS_CSV, "1,\"2,cat\n", MOT_RECORD_NO_NUMBER);
    CHECK_BAD(MOT_RECORDS_CSV, "1,2x,cat\n", MOT_RECORD_NO_NUMBER);
}

TEST(libsvm_lines_are_rows_or_say_why)
{
    CHECK_ROW(MOT_RECORDS_LIBSVM, "cat 1:1 2:2.5\n", 1, 2.5f, 0);
    CHECK_ROW(MOT_RECORDS_LIBSVM, "+2 2:-1 # rest\n", 0, -1, 2);
    CHECK_ROW(MOT_RECORDS_LIBSVM, "dog\n", 0, 0, 1);
    CHECK_BAD(MOT_RECORDS_LIBSVM, "# only words\n", MOT_RECORD_NONE);
    CHECK_BAD(MOT_RECORDS_LIBSVM, "cat 3:1\n", MOT_RECORD_MANY);
    CHECK_BAD(MOT_RECORDS_LIBSVM, "cat 99999999999999999999:1\n", MOT_RECORD_MANY);
    CHECK_BAD(MOT_RECORDS_LIBSVM, "cat 2:1 1:1\n", MOT_RECORD_SYNTAX);
    CHECK_BAD(MOT_RECORDS_LIBSVM, "cat 0:1\n", MOT_RECORD_SYNTAX);
    CHECK_BAD(MOT_RECORDS_LIBSVM, "cat 1:\n", MOT_RECORD_NO_NUMBER);
    CHECK_BAD(MOT_RECORDS_LIBSVM, "cat 1\n", MOT_RECORD_SYNTAX);
    CHECK_BAD(MOT_RECORDS_LIBSVM, "7 1:1\n", MOT_RECORD_CLASS);
}

TEST(json_lines_are_rows_or_say_why)
{
    CHECK_ROW(MOT_RECORDS_JSON, "{\"x\": [1, 2.5], \"y\": \"cat\"}\n", 1, 2.5f, 0);
    CHECK_ROW(MOT_RECORDS_JSON, "{\"t\":{\"a\":[1,{\"b\":\"}\\\"\"}]},\"h\":4,\"y\":2,\"w\":3,\"ok\":true}\n",
        3, 4, 2);
    CHECK_BAD(MOT_RECORDS_JSON, "{}\n", MOT_RECORD_SYNTAX);
    CHECK_BAD(MOT_RECORDS_JSON, "{\"w\":1,\"y\":\"cat\"}\n", MOT_RECORD_FEW);
    CHECK_BAD(MOT_RECORDS_JSON, "{\"w\":1,\"h\":2}\n", MOT_RECORD_FEW);
    CHECK_BAD(MOT_RECORDS_JSON, "{\"x\":[1,2,3],\"y\":\"cat\"}\n", MOT_RECORD_MANY);
    CHECK_BAD(MOT_RECORDS_JSON, "{\"x\":[1,null],\"y\":\"cat\"}\n", MOT_RECORD_NO_NUMBER);
    CHECK_BAD(MOT_RECORDS_JSON, "{\"x\":[1,2],\"y\":null}\n", MOT_RECORD_NO_NUMBER);
    CHECK_BAD(MOT_RECORDS_JSON, "{\"w\":1,\"w\":1,\"y\":\"cat\"}\n", MOT_RECORD_SYNTAX);
    CHECK_BAD(MOT_RECORDS_JSON, "{\"x\":[1,2],\"y\":\"cat\"\n", MOT_RECORD_SYNTAX);
    CHECK_BAD(MOT_RECORDS_JSON, "{\"x\":[1,2],\"y\":\"cat\"}}\n", MOT_RECORD_SYNTAX);
    CHECK_BAD(MOT_RECORDS_JSON, "{\"x\":[1,2],\"y\":\"ca\n", MOT_RECORD_SYNTAX);
    CHECK_BAD(MOT_RECORDS_JSON, "[1,2]\n", MOT_RECORD_SYNTAX);
}

/* A block of raw rows: label and features. */
static size_t raw_block(unsigned char *into, uint32_t cols, uint32_t rows, const float *values)
{
    mot_raw_header(into, cols, rows);
    memcpy(into + MOT_RAW_HEADER, values, rows * MOT_RAW_ROW(cols));
    return MOT_RAW_HEADER + rows * MOT_RAW_ROW(cols);
}

TEST(raw_rows_that_are_damaged_are_skipped_and_the_next_block_is_found)
{
    const float good[] = { 1, 10, 11, 5, 1, 1, 0, NAN, 1, 2, 12,
        13 }; /* class 5 does not exist, then a NaN */
    unsigned char bytes[256];
    const enum mot_parsed expected[] = { MOT_RECORD_NONE, MOT_RECORD_ROW, MOT_RECORD_CLASS,
        MOT_RECORD_NOT_FINITE, MOT_RECORD_ROW, MOT_RECORD_SYNTAX, MOT_RECORD_NONE, MOT_RECORD_ROW };
    size_t n = raw_block(bytes, 2, 4, good), at = 0, took;
    memcpy(bytes + n, "MOTnoise", 8);
    n += 8;
    n += raw_block(bytes + n, 2, 1, good);
    CHECK(!mot_raw_whole(bytes, n, 2) && mot_raw_whole(bytes, MOT_RAW_HEADER + 4 * MOT_RAW_ROW(2), 2));
    CHECK(!mot_raw_whole(bytes, MOT_RAW_HEADER + 4 * MOT_RAW_ROW(2), 3) && !mot_raw_whole(bytes, 0, 2));
    form.format = MOT_RECORDS_RAW;
    struct mot_records *r = mot_records_open(&form);
    float x[2], y;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        enum mot_parsed is = mot_records_next(r, bytes + at, n - at, &took, x, &y);
        if (is != expected[i]) FAIL("record %zu: %s", i, mot_record_why(is));
        at += took;
    }
    CHECK(x[0] == 10 && x[1] == 11 && y == 1);
    CHECK_INT(at, n);
    CHECK_INT(mot_records_next(r, bytes + at, 0, &took, x, &y), MOT_RECORD_PARTIAL);
    mot_records_close(r);
}

TEST(rows_are_scaled_as_the_schema_says)
{
    float shift[] = { 1, 2 }, factor[] = { 0.5f, 3 };
    form.schema.scale = MOT_SCALE_STANDARD, form.schema.shift = shift, form.schema.factor = factor;
    CHECK_ROW(MOT_RECORDS_CSV, "3,3,cat\n", 1, 3, 0);
    form.schema.scale = MOT_SCALE_UNIT, form.schema.shift = form.schema.factor = NULL;
    CHECK_ROW(MOT_RECORDS_CSV, "3,4,cat\n", 3 * 0.2f, 4 * 0.2f, 0);
    form.schema.scale = MOT_SCALE_NONE;
}

/* Takes records as they come, in pieces of random size, as a reader of a socket would. */
static uint64_t count_in_pieces(const unsigned char *bytes, size_t n, uint64_t seed, uint64_t *bad)
{
    struct mot_records *r = mot_records_open(&form);
    uint64_t rows = 0, hash = 0, at = 0, known = 0, step = 0;
    float x[2], y;
    *bad = 0;
    while (at < n) {
        size_t took = 0;
        enum mot_parsed is = mot_records_next(r, bytes + at, known - at, &took, x, &y);
        if (is == MOT_RECORD_PARTIAL) {
            if (known == n) break;
            known += 1 + mot_hash3(seed, step++, 0) % 40;
            if (known > n) known = n;
            continue;
        }
        at += took;
        *bad += is >= MOT_RECORD_MALFORMED;
        if (is != MOT_RECORD_ROW) continue;
        rows++;
        uint32_t bits[3];
        memcpy(bits, x, 8), memcpy(bits + 2, &y, 4);
        hash = mot_hash3(hash, (uint64_t)bits[0] << 32 | bits[1], bits[2]);
    }
    mot_records_close(r);
    return hash + rows;
}

TEST(rows_do_not_depend_on_where_the_bytes_are_cut)
{
    static const char *const lines[][3] = { { "%g,%g,cat\n", "bad,%g,%g\n", "%g,%g,dog\r\n" },
        { "2 1:%g 2:%g\n", "2 1:%g 1:%g\n", "cat 2:%g\n" },
        { "{\"w\":%g,\"h\":%g,\"y\":2}\n", "{\"w\":%g,\"y\":%g}\n", "{\"y\":\"dog\",\"x\":[%g,%g]}\n" } };
    static char text[1 << 14];
    uint64_t seed = 7;
    printf("  seed %llu\n", (unsigned long long)seed);
    for (uint32_t format = MOT_RECORDS_CSV; format <= MOT_RECORDS_JSON; format++) {
        size_t n = 0;
        uint64_t bad, bad_whole;
        for (uint64_t i = 0; i < 200; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, lines[format][mot_hash3(seed, i, format) % 3],
                (double)(mot_hash3(seed, i, 9) % 1000) / 8, (double)(mot_hash3(seed, i, 10) % 1000) / 4);
        form.format = format;
        struct mot_records *r = mot_records_open(&form);
        mot_records_close(r);
        uint64_t whole = count_in_pieces((unsigned char *)text, n, 0, &bad_whole);
        CHECK(bad_whole > 20);
        for (uint64_t s = 1; s < 20; s++) {
            CHECK(count_in_pieces((unsigned char *)text, n, s, &bad) == whole);
            CHECK_INT(bad, bad_whole);
        }
    }
}

TEST_MAIN()
