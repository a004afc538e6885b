#include "test.h"

#include "base/file.h"
#include "report/fixture.h"
#include "report/safetensors.h"

/* A file in memory: the length of `header` as given, or its own, then `data` zero bytes. */
static struct mot_tensors parsed;
static enum mot_status parse_raw(const void *bytes, size_t n)
{
    /* Exactly as long as the input, so that a read beyond it is seen by the sanitizer. */
    unsigned char *copy = calloc(n ? n : 1, 1);
    memcpy(copy, bytes, n);
    enum mot_status status = mot_tensors_parse("file", copy, n, &parsed);
    if (status == MOT_OK) mot_tensors_free(&parsed);
    free(copy);
    return status;
}

static enum mot_status parse(const char *header, size_t data)
{
    unsigned char bytes[4096] = { 0 };
    size_t n = strlen(header);
    for (int b = 0; b < 8; b++) bytes[b] = (unsigned char)((uint64_t)n >> 8 * b);
    memcpy(bytes + 8, header, n);
    return parse_raw(bytes, 8 + n + data);
}

TEST(the_layout_is_that_of_safetensors_byte_by_byte)
{
    char *path = scratch("layout.safetensors");
    const float w[6] = { 1, -2, 0.5f, 0, 3, 4 }, b[1] = { 1 };
    const struct mot_tensor_source source[] = { { "w", 2, (const uint32_t[]){ 2, 3 }, w },
        { "b", 1, (const uint32_t[]){ 1 }, b } };
    json_t *metadata = json_pack("{s:s}", "model", "x");
    CHECK_INT(mot_tensors_write(path, metadata, source, 2), MOT_OK);
    json_decref(metadata);
    unsigned char *bytes;
    size_t n;
    CHECK_INT(mot_file_read(path, 4096, &bytes, &n), MOT_OK);
    const char *header = "{\"__metadata__\":{\"model\":\"x\"},\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],"
                         "\"data_offsets\":[0,24]},"
                         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[24,28]}}";
    size_t length = strlen(header), padded = (length + 7) / 8 * 8;
    CHECK_INT(bytes[0] | bytes[1] << 8, padded);
    for (int i = 2; i < 8; i++) CHECK_INT(bytes[i], 0);
    CHECK(memcmp(bytes + 8, header, length) == 0);
    for (size_t i = length; i < padded; i++) CHECK_INT(bytes[8 + i], ' ');
    CHECK_INT(n, 8 + padded + 28);
    static const unsigned char floats[] = { 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x3f, 0, 0, 0, 0, 0, 0,
        0x40, 0x40, 0, 0, 0x80, 0x40, 0, 0, 0x80, 0x3f };
    CHECK(memcmp(bytes + 8 + padded, floats, sizeof floats) == 0);
    struct mot_tensors t;
    CHECK_INT(mot_tensors_read(path, &t), MOT_OK);
    float back[6];
    mot_tensor_copy(mot_tensors_find(&t, "w"), back);
    CHECK(memcmp(back, w, sizeof w) == 0);
    CHECK(!mot_tensors_find(&t, "c"));
    mot_tensors_free(&t);
    free(bytes);
    free(path);
}

TEST(tensors_may_be_named_in_any_order_and_be_empty)
{
    CHECK_INT(parse("{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]},"
                    "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                    "\"none\":{\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[4,4]}}",
                  8),
        MOT_OK);
    CHECK_INT(parse("{}  ", 0), MOT_OK);
    CHECK_INT(parse("{\"__metadata__\":{}}", 0), MOT_OK);
}

TEST(every_damaged_file_is_refused_with_what_was_expected)
{
    static const struct {
        const char *header;
        size_t data;
        const char *says;
    } wrong[] = {
        { "{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
            "dtype is F16, expected F32" },
        { "{\"a\":{\"dtype\":3,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "dtype is missing" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "expected dtype, shape and data_offsets" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}", 8, "and nothing else" },
        { "{\"a\":7}", 0, "expected dtype, shape and data_offsets" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", 8, "shape is not a list" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8,
            "shape[0] is not a number from 0 up" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", 8,
            "shape[0] is not a number" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}", 8,
            "at most 8 numbers" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
            "larger than any file" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", 0,
            "larger than any file" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", 8, "not a list of two numbers" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,12]}}", 8,
            "within the 8 bytes of data" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]}}", 8,
            "within the 8 bytes of data" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8,
            "within the 8 bytes of data" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,9223372036854775807]}}", 8,
            "within the 8 bytes" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,99999999999999999999]}}", 8,
            "not valid JSON" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8,
            "has 8 bytes, its shape needs 12" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\","
          "\"shape\":[2],\"data_offsets\":[4,12]}}",
            12, "begins at byte 4 of the data, expected 8: tensors overlap" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\","
          "\"shape\":[1],\"data_offsets\":[8,12]}}",
            12, "begins at byte 8 of the data, expected 4: there is a hole" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8,
            "8 bytes follow the header, expected 4" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"F32\","
          "\"shape\":[1],\"data_offsets\":[0,4]}}",
            4, "not valid JSON: duplicate" },
        { "{\"__metadata__\":{\"a\":1}}", 0, "the value of a is not a text" },
        { "{\"__metadata__\":[]}", 0, "__metadata__ is not an object" },
        { "[]", 0, "offset 8: expected '{'" },
        { "{\"a\"", 0, "not valid JSON" },
        { "{} x", 0, "not valid JSON" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        enum mot_status status = parse(wrong[i].header, wrong[i].data);
        if (status != MOT_EDATA) FAIL("%s gives %d", wrong[i].header, status);
        CHECK_HAS(mot_error(), "file: ");
        CHECK_HAS(mot_error(), wrong[i].says);
    }
}

TEST(a_header_length_that_lies_is_refused)
{
    CHECK_INT(parse_raw("", 0), MOT_EDATA);
    CHECK_INT(parse_raw("\x02\0\0\0\0\0\0", 7), MOT_EDATA);
    CHECK_INT(parse_raw("\x02\0\0\0\0\0\0\0", 8), MOT_EDATA);
    CHECK_HAS(mot_error(), "gives its header 2 bytes, expected at most 0");
    CHECK_INT(parse_raw("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10), MOT_EDATA);
    CHECK_HAS(mot_error(), "not a safetensors file, or cut off");
    CHECK_INT(parse_raw("\0\0\0\0\0\0\0\0{}", 10), MOT_EDATA);
    CHECK_INT(parse_raw("\x02\0\0\0\0\0\0\0{}", 10), MOT_OK);
}

TEST(a_deep_header_is_refused_without_harm)
{
    size_t depth = 200000;
    unsigned char *bytes = malloc(8 + depth);
    for (int b = 0; b < 8; b++) bytes[b] = (unsigned char)((uint64_t)depth >> 8 * b);
    memset(bytes + 8, '[', depth);
    memcpy(bytes + 8, "{\"a\":", 5);
    CHECK_INT(parse_raw(bytes, 8 + depth), MOT_EDATA);
    CHECK_HAS(mot_error(), "not valid JSON");
    free(bytes);
}

TEST(a_file_cut_anywhere_is_refused)
{
    const char *header = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
    unsigned char bytes[256] = { 0 };
    size_t n = strlen(header);
    bytes[0] = (unsigned char)n;
    memcpy(bytes + 8, header, n);
    for (size_t cut = 0; cut < 8 + n + 8; cut++) CHECK_INT(parse_raw(bytes, cut), MOT_EDATA);
    CHECK_INT(parse_raw(bytes, 8 + n + 8), MOT_OK);
}

TEST_MAIN()
