/* Files of device capacities, in each form that they come in; an error says what is wrong and where. */
#include "cluster/capacity.h"
#include "test.h"

static struct mot_arena arena;
static struct mot_capacities all;

static enum mot_status parse_bytes(const char *bytes, size_t n)
{
    unsigned char *copy = malloc(n + 1); /* so that a sanitizer sees what is read past the end */
    memcpy(copy, bytes, n);
    copy[n] = '\0';
    free(all.device);
    all = (struct mot_capacities){ 0, NULL };
    enum mot_status status = mot_capacities_parse("file", copy, n, &arena, &all);
    free(copy);
    return status;
}
static enum mot_status parse(const char *text) { return parse_bytes(text, strlen(text)); }

#define CHECK_TWO_CLIENTS()                                                                                  \
    do {                                                                                                     \
        CHECK_INT(all.n, 2);                                                                                 \
        CHECK_TEXT(all.device[0].name, "1");                                                                 \
        CHECK_NEAR(all.device[0].ms_per_sample, 24.5, 0);                                                    \
        CHECK_NEAR(all.device[0].kbit_per_s, 8000, 0);                                                       \
        CHECK_TEXT(all.device[1].name, "300");                                                               \
        CHECK_NEAR(all.device[1].ms_per_sample, 200, 0);                                                     \
        CHECK_NEAR(all.device[1].kbit_per_s, 1234.5, 0);                                                     \
    } while (0)

TEST(json_is_read_numbers_as_text_too)
{
    CHECK_INT(parse("{\"1\": {\"computation\": 24.5, \"communication\": 8000},\n"
                    " \"300\": {\"computation\": 200, \"communication\": \"1234.5\", \"model\": \"x\"}}"),
        MOT_OK);
    CHECK_TWO_CLIENTS();
    CHECK_INT(parse(" [{\"computation\": 1, \"communication\": 2}]"), MOT_OK);
    CHECK_INT(all.n, 1);
    CHECK_TEXT(all.device[0].name, "0");
}

TEST(csv_is_read_whatever_the_order_of_its_columns)
{
    CHECK_INT(parse("client,computation,communication\n1,24.5,8000\n300,200,1234.5\n"), MOT_OK);
    CHECK_TWO_CLIENTS();
    CHECK_INT(parse("\xef\xbb\xbf\"id\", Communication ,os,\"Computation\"\r\n1,8000,a,24.5\r\n\r\n"
                    "300,1234.5,b,\"200\""),
        MOT_OK);
    CHECK_TWO_CLIENTS();
    CHECK_INT(parse("computation,communication\n24.5,8000\n"), MOT_OK);
    CHECK_TEXT(all.device[0].name, "0");
}

/* Written by Python: pickle.dumps({1: {'computation': 24.5, 'communication': 8000.0},
 * 300: {'computation': 200, 'communication': '1234.5'}}, protocol) */
static const char protocol_2[] =
    "\x80\x02}q\x00(K\x01}q\x01(X\x0b\x00\x00\x00"
    "computationq\x02G@8\x80\x00\x00\x00\x00\x00X\x0d\x00\x00\x00"
    "communicationq\x03G@\xbf@\x00\x00\x00\x00\x00uM,\x01}q\x04(h\x02K\xc8h\x03X\x06\x00\x00\x00"
    "1234.5q\x05uu.";
static const char protocol_4[] =
    "\x80\x04\x95Q\x00\x00\x00\x00\x00\x00\x00}\x94(K\x01}\x94(\x8c\x0b"
    "computation\x94G@8\x80\x00\x00\x00\x00\x00"
    "\x8c\x0d"
    "communication\x94G@\xbf@\x00\x00\x00\x00\x00uM,\x01}\x94(h\x02K\xc8h\x03\x8c\x06"
    "1234.5\x94uu.";

TEST(pickles_of_plain_dictionaries_are_read)
{
    CHECK_INT(parse_bytes(protocol_2, sizeof protocol_2 - 1), MOT_OK);
    CHECK_TWO_CLIENTS();
    CHECK_INT(parse_bytes(protocol_4, sizeof protocol_4 - 1), MOT_OK);
    CHECK_TWO_CLIENTS();
}

TEST(a_pickle_that_ends_anywhere_is_refused)
{
    for (size_t n = 1; n + 1 < sizeof protocol_4; n++)
        if (parse_bytes(protocol_4, n) != MOT_EUSAGE) FAIL("%zu bytes are taken for a file", n);
    CHECK_HAS(mot_error(), "file: byte ");
}

TEST(a_pickle_that_would_call_something_is_refused)
{
    /* os.system("true"), as an attack would have it */
    static const char call[] =
        "\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R.";
    CHECK_INT(parse_bytes(call, sizeof call - 1), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "runs nothing");
    CHECK_HAS(mot_error(), "0x93");
}

TEST(machines_that_lack_something_are_named)
{
    static const struct {
        const char *text, *said;
    } wrong[] = {
        { "{\"7\": {\"computation\": 1}}", "client 7: communication: expected a bandwidth in kbit/s" },
        { "{\"7\": {\"computation\": 0, \"communication\": 1}}", "computation: expected the milliseconds" },
        { "{\"7\": {\"computation\": -1, \"communication\": 1}}", "found -1" },
        { "{\"7\": {\"computation\": 1, \"communication\": 1e13}}", "found 1e+13" },
        { "{\"7\": {\"computation\": \"x\", \"communication\": 1}}", "found nothing" },
        { "{\"7\": [1, 2]}", "client 7: expected {" },
        { "{\"7\": {\"computation\": 1", "file:1:" },
        { "{}", "it has no clients" },
        { "computation,communication\n", "it has no clients" },
        { "computation,communication\n1,2\n1,two\n", "file:3: column 2: found 'two', expected a number" },
        { "computation,communication\n1,2,3\n", "file:2: found 3 columns, expected 2" },
        { "computation,communication\n1\n", "file:2: found 1 columns, expected 2" },
        { "computation,communication\n1,nan\n", "column 2: found 'nan'" },
        { "computation,communication\n,1\n", "column 1: found ''" },
        { "speed,bandwidth\n1,2\n", "names the columns computation and communication" },
        { "", "names the columns" },
    };
    for (size_t i = 0; i < MOT_COUNT(wrong); i++) {
        if (parse(wrong[i].text) != MOT_EUSAGE) FAIL("not refused: %s", wrong[i].text);
        CHECK_HAS(mot_error(), wrong[i].said);
    }
    CHECK_INT(parse_bytes("computation,communication\n1,\0\n", 29), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "zero byte");
    CHECK(!all.device);
    mot_arena_free(&arena);
}

TEST_MAIN()
