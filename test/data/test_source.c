/* test_source.c -- bytes from memory and files, plain and gzip'd. */
#include "help.h"

static struct mot_source *source(const void *bytes, size_t n, uint64_t most)
{
    struct mot_source *s = NULL;
    return mot_source_memory("file", bytes, n, most, &s) == MOT_OK ? s : NULL;
}

/* Takes all lines; returns their number, or -1. */
static int drain(struct mot_source *s)
{
    char *line;
    size_t n;
    for (int lines = 0;; lines++) {
        if (mot_source_line(s, &line, &n) != MOT_OK) return -1;
        if (!line) return lines;
    }
}

TEST(lines_end_with_lf_or_crlf_or_the_file)
{
    const char *text = "one\r\n\ntwo";
    struct mot_source *s = source(text, strlen(text), 0);
    char *line;
    size_t n;
    MUST(mot_source_line(s, &line, &n));
    CHECK_TEXT(line, "one");
    MUST(mot_source_line(s, &line, &n));
    CHECK_INT(n, 0);
    MUST(mot_source_line(s, &line, &n));
    CHECK_TEXT(line, "two");
    CHECK_INT(mot_source_line_number(s), 3);
    MUST(mot_source_line(s, &line, &n));
    CHECK(line == NULL);
    mot_source_close(s);
}

TEST(lines_longer_than_the_window_come_whole)
{
    size_t n = 3000001, got;
    char *text = mot_new(n, 1), *line;
    memset(text, 'x', n);
    text[n / 2] = '\n';
    struct mot_source *s = source(text, n, 0);
    MUST(mot_source_line(s, &line, &got));
    CHECK_INT(got, n / 2);
    MUST(mot_source_line(s, &line, &got));
    CHECK_INT(got, n - n / 2 - 1);
    mot_source_close(s);
    free(text);
}

TEST(gzip_is_known_by_its_bytes_and_members_follow_each_other)
{
    size_t n;
    unsigned char *one = packed("a\nb\n", 4, &n), *all = mot_new(2 * n + 10, 1);
    memcpy(all, one, n);
    memcpy(all + n, one, n);
    struct mot_source *s = source(all, 2 * n + 10, 0); /* zero padding is allowed */
    CHECK_INT(drain(s), 4);
    mot_source_close(s);
    all[2 * n + 3] = 'x';
    s = source(all, 2 * n + 10, 0);
    CHECK_INT(drain(s), -1);
    CHECK_HAS(mot_error(), "after the end of the gzip data");
    mot_source_close(s);
    free(one);
    free(all);
}

TEST(truncated_gzip_is_an_error_at_every_length)
{
    char text[3000];
    for (size_t i = 0; i < sizeof text; i++) text[i] = i % 7 ? (char)('a' + i * i % 26) : '\n';
    size_t n;
    unsigned char *bytes = packed(text, sizeof text, &n);
    for (size_t cut = 2; cut < n; cut++) {
        struct mot_source *s = source(bytes, cut, 0);
        int lines = drain(s);
        mot_source_close(s);
        if (lines != -1) FAIL("cut to %zu of %zu bytes it gives %d lines", cut, n, lines);
        CHECK_HAS(mot_error(), "truncated");
    }
    free(bytes);
}

TEST(a_changed_byte_in_gzip_is_an_error)
{
    size_t n;
    unsigned char *bytes = packed("hello\nworld\n", 12, &n);
    bytes[n - 6] ^= 1; /* the checksum */
    struct mot_source *s = source(bytes, n, 0);
    CHECK_INT(drain(s), -1);
    CHECK_HAS(mot_error(), "incorrect data check");
    mot_source_close(s);
    free(bytes);
}

TEST(a_bomb_is_stopped_at_the_limit)
{
    size_t zeros = 10 << 20, n;
    char *text = mot_new(zeros, 1);
    unsigned char *bytes = packed(text, zeros, &n);
    CHECK(n < 20000);
    struct mot_source *s = source(bytes, n, 1 << 20);
    CHECK(mot_source_left(s) <= 1 << 20);
    size_t got;
    CHECK_INT(mot_source_read(s, text, zeros, &got), MOT_EDATA);
    CHECK_HAS(mot_error(), "unpacks to more than 1.05 MB");
    mot_source_close(s);
    free(text);
    free(bytes);
}

TEST(a_file_may_unpack_to_a_gigabyte_or_twenty_times_its_size)
{
    static const struct {
        size_t bytes;
        uint64_t most;
    } cases[] = { { 1000, 1032000 }, { 2000000, 1000000000 }, { 49000000, 1000000000 },
        { 100000000, 2000000000 } };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        unsigned char *bytes = mot_new(cases[i].bytes, 1);
        bytes[0] = 0x1f, bytes[1] = 0x8b;
        for (int word = 0; word < 2; word++) {
            struct mot_source *s = source(bytes, cases[i].bytes, word ? MOT_WORD_UINT : 0);
            CHECK_INT(mot_source_left(s), cases[i].most);
            mot_source_close(s);
        }
        free(bytes);
    }
}

TEST(what_is_left_never_exceeds_what_the_file_can_hold)
{
    struct mot_source *s = source("12345", 5, 0);
    CHECK_INT(mot_source_left(s), 5);
    char two[2];
    size_t got;
    MUST(mot_source_read(s, two, 2, &got));
    CHECK_INT(mot_source_left(s), 3);
    mot_source_close(s);
}

TEST(a_missing_file_and_a_folder_are_named)
{
    struct mot_source *s;
    CHECK_INT(mot_source_open("no/such/file", 0, &s), MOT_EDATA);
    CHECK_HAS(mot_error(), "no/such/file: cannot open: No such file");
    CHECK_INT(mot_source_open(".", 0, &s), MOT_EDATA);
    CHECK_HAS(mot_error(), "is a folder");
}

TEST_MAIN()
