/* What is written for a stream is what a stream reads: records as text and as raw floats, files that grow. */
#include "base/memory.h"
#include "scratch.h"
#include "stream/inlet.h"
#include "stream/outlet.h"
#include "stream/record_write.h"
#include "test.h"
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#define COLS 3u

static char folder[64], path[96];

static void begin(void)
{
    snprintf(folder, sizeof(folder), "/tmp/test_outlet.XXXXXX");
    if (!mkdtemp(folder)) abort();
    snprintf(path, sizeof(path), "%s/rows", folder);
}

/* ---- Records ------------------------------------------------------------------------------- */

TEST(a_row_that_is_written_is_read_back_to_the_bit_in_every_format)
{
    static const float rows[][COLS] = { { 1, 2.5f, -0.1f }, { 0, 1e-38f, 16777217 }, { 0, 0, 0 } };
    static char *classes[] = { "cat", "dog" };
    struct mot_record_form form = { .label = UINT32_MAX,
        .separator = ',',
        .label_key = "y",
        .feature_key = "x",
        .schema = { .cols = COLS, .classes = 2, .scale = MOT_SCALE_NONE, .class_names = classes } };
    for (form.format = MOT_RECORDS_CSV; form.format <= MOT_RECORDS_RAW; form.format++)
        for (size_t i = 0; i < MOT_COUNT(rows); i++) {
            struct mot_record_label label = { .text = "dog", .value = 1 };
            size_t room = mot_record_print_room(COLS, &label), took, at = 0;
            char *text = mot_new(room, 1);
            size_t n =
                mot_record_print((enum mot_record_format)form.format, rows[i], COLS, &label, text, room);
            CHECK(n <= room);
            struct mot_records *r = mot_records_open(&form);
            float x[COLS] = { 7, 7, 7 }, y = 7;
            enum mot_parsed is = mot_records_next(r, (unsigned char *)text, n, &took, x, &y);
            if (is == MOT_RECORD_NONE) { /* a raw block's header */
                at = took;
                is = mot_records_next(r, (unsigned char *)text + at, n - at, &took, x, &y);
            }
            if (is != MOT_RECORD_ROW) FAIL("format %u, row %zu: %s", form.format, i, mot_record_why(is));
            CHECK_INT(at + took, n);
            CHECK(memcmp(x, rows[i], sizeof x) == 0 && y == 1);
            mot_records_close(r);
            free(text);
        }
}

TEST(records_are_written_as_the_formats_say)
{
    static const float x[COLS] = { 1, 0, -2.5f };
    static const struct {
        enum mot_record_format format;
        struct mot_record_label label;
        const char *line;
    } cases[] = { { MOT_RECORDS_CSV, { "dog", false, 1 }, "1,0,-2.5,dog\n" },
        { MOT_RECORDS_LIBSVM, { "+1", true, 1 }, "+1 1:1 3:-2.5\n" },
        { MOT_RECORDS_JSON, { "dog", false, 1 }, "{\"x\":[1,0,-2.5],\"y\":\"dog\"}\n" },
        { MOT_RECORDS_JSON, { "+1.5", true, 1 }, "{\"x\":[1,0,-2.5],\"y\":1.5}\n" } };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        char text[256] = { 0 };
        size_t n = mot_record_print(cases[i].format, x, COLS, &cases[i].label, text, sizeof(text));
        CHECK_TEXT(text, cases[i].line);
        CHECK_INT(n, strlen(text));
    }
}

TEST(labels_that_a_format_cannot_hold_are_refused)
{
    static const struct {
        const char *text;
        bool csv, libsvm, json;
    } cases[] = { { "dog", true, true, true }, { "", true, false, true }, { "a b", true, false, true },
        { "a,b", false, true, true }, { "a\"b", false, true, false }, { "a\nb", false, false, false },
        { "a#b", true, false, true }, { "a\\b", true, true, false }, { "a\tb", true, false, false } };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct mot_record_label l = { .text = cases[i].text };
        printf("  %zu\n", i);
        CHECK(!mot_record_label_unfit(MOT_RECORDS_CSV, &l) == cases[i].csv);
        CHECK(!mot_record_label_unfit(MOT_RECORDS_LIBSVM, &l) == cases[i].libsvm);
        CHECK(!mot_record_label_unfit(MOT_RECORDS_JSON, &l) == cases[i].json);
        CHECK(!mot_record_label_unfit(MOT_RECORDS_RAW, &l));
    }
}

TEST(a_line_without_a_number_names_the_columns)
{
    struct mot_record_form form = { .separator = ';', .schema = { .cols = 2 } };
    struct mot_records *r = mot_records_open(&form);
    CHECK(mot_records_header(r, (const unsigned char *)"width;height;class", 18));
    CHECK(!mot_records_header(r, (const unsigned char *)"width;height;3", 14));
    CHECK(!mot_records_header(r, (const unsigned char *)"1.5;height;class", 16));
    CHECK(mot_records_header(r, (const unsigned char *)"1,5;height", 10)); /* the separator is another */
    mot_records_close(r);
}

/* ---- Files --------------------------------------------------------------------------------- */

static enum mot_inlet_got take(struct mot_inlet *in, char *into, size_t room, struct mot_inlet_piece *piece)
{
    static char words[MOT_INTAKE_WORDS];
    *piece = (struct mot_inlet_piece){ .words = words };
    *words = 0;
    return in->ops->read(in, (unsigned char *)into, room, piece);
}

TEST(what_goes_into_a_file_comes_out_of_it_from_any_place)
{
    struct mot_outlet *out;
    struct mot_inlet *in;
    struct mot_inlet_piece piece;
    struct mot_address a = { .kind = MOT_INLET_FILE };
    char got[16];
    begin();
    a.path = path;
    for (int twice = 0; twice < 2; twice++) { /* the second appends */
        CHECK_INT(mot_outlet_open(&a, NULL, NULL, &out), MOT_OK);
        CHECK_INT(mot_outlet_send(out, "one\n", 4), MOT_OK);
        CHECK_INT(mot_outlet_send(out, "three\n", 6), MOT_OK);
        CHECK_INT(out->ops->flush(out), MOT_OK);
        CHECK_INT(atomic_load(&out->sent), 2);
        CHECK_INT(atomic_load(&out->bytes), 10);
        CHECK_INT(mot_inlet_file(path, true, twice ? 10 : 0, &in), MOT_OK); /* before it is closed */
        CHECK_INT(take(in, got, 7, &piece), MOT_INLET_BYTES);
        CHECK(piece.n == 7 && memcmp(got, "one\nthr", 7) == 0);
        CHECK_INT(piece.at, twice ? 10 : 0);
        CHECK_INT(piece.lag, 3);
        CHECK_INT(take(in, got, 7, &piece), MOT_INLET_BYTES);
        CHECK(piece.n == 3 && memcmp(got, "ee\n", 3) == 0 && piece.lag == 0);
        CHECK_INT(piece.at, twice ? 17 : 7);
        CHECK_INT(take(in, got, 7, &piece), MOT_INLET_END);
        in->ops->close(in);
        out->ops->close(out);
    }
    scratch_remove(folder);
}

TEST(a_file_that_cannot_be_written_says_so)
{
    struct mot_outlet *out;
    struct mot_address a = { .kind = MOT_INLET_FILE, .path = "/nowhere/rows" };
    CHECK_INT(mot_outlet_open(&a, NULL, NULL, &out), MOT_ESYSTEM);
    CHECK_HAS(mot_error(), "/nowhere/rows");
    a.kind = MOT_INLET_INPUT;
    CHECK_INT(mot_outlet_open(&a, NULL, NULL, &out), MOT_EUSAGE);
    if (access("/dev/full", W_OK) != 0) SKIP("there is no /dev/full");
    a = (struct mot_address){ .kind = MOT_INLET_FILE, .path = "/dev/full" };
    CHECK_INT(mot_outlet_open(&a, NULL, NULL, &out), MOT_OK);
    CHECK_INT(mot_outlet_send(out, "one\n", 4), MOT_OK); /* as yet in memory */
    CHECK_INT(out->ops->flush(out), MOT_ESYSTEM);
    CHECK_HAS(mot_error(), "/dev/full: cannot write: No space left");
    out->ops->close(out);
}

static void hear(int signal) { (void)signal; }

/* Signals arrive all the while: what they interrupt is not taken for an error. */
TEST(a_file_that_is_not_there_yet_is_waited_for_and_read_as_it_grows)
{
    struct itimerval every = { { 0, 700 }, { 0, 700 } }, never = { { 0, 0 }, { 0, 0 } };
    struct sigaction heard = { .sa_handler = hear }, before;
    struct mot_inlet *in;
    struct mot_inlet_piece piece;
    char got[8];
    begin();
    CHECK_INT(mot_inlet_file(path, false, 0, &in), MOT_OK);
    sigaction(SIGALRM, &heard, &before);
    setitimer(ITIMER_REAL, &every, NULL);
    int stalled = 0;
    for (int i = 0; i < 20; i++) stalled += take(in, got, sizeof(got), &piece) == MOT_INLET_STALLED;
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    CHECK_INT(stalled, 20);
    CHECK_HAS(piece.words, "No such file");
    FILE *file = fopen(path, "w");
    CHECK_INT(take(in, got, sizeof(got), &piece), MOT_INLET_NOTHING);
    fputs("one\n", file), fflush(file);
    CHECK_INT(take(in, got, sizeof(got), &piece), MOT_INLET_BYTES);
    CHECK_INT(piece.n, 4);
    CHECK_INT(take(in, got, sizeof(got), &piece), MOT_INLET_NOTHING);
    fclose(file);
    in->ops->close(in);
    CHECK_INT(mot_inlet_file(folder, false, 0, &in), MOT_OK); /* no file at all */
    CHECK_INT(take(in, got, sizeof(got), &piece), MOT_INLET_FAILED);
    CHECK_INT(piece.failed, MOT_ESYSTEM);
    in->ops->close(in);
    snprintf(path, sizeof(path), "%s/none", folder);
    CHECK_INT(mot_inlet_file(path, true, 0, &in), MOT_OK); /* it should be complete, and is not there */
    CHECK_INT(take(in, got, sizeof(got), &piece), MOT_INLET_FAILED);
    CHECK_INT(piece.failed, MOT_EDATA);
    in->ops->close(in);
    scratch_remove(folder);
}

TEST(a_file_that_shrinks_or_is_replaced_is_no_stream)
{
    for (int replaced = 0; replaced < 2; replaced++) {
        struct mot_inlet *in;
        struct mot_inlet_piece piece;
        char got[8], other[96];
        begin();
        FILE *file = fopen(path, "w");
        fputs("one\n", file), fclose(file);
        CHECK_INT(mot_inlet_file(path, false, 0, &in), MOT_OK);
        CHECK_INT(take(in, got, sizeof(got), &piece), MOT_INLET_BYTES);
        snprintf(other, sizeof(other), "%s/other", folder);
        if (replaced) {
            file = fopen(other, "w");
            fputs("two\nthree\n", file), fclose(file);
            CHECK_INT(rename(other, path), 0);
        } else CHECK_INT(truncate(path, 2), 0);
        CHECK_INT(take(in, got, sizeof(got), &piece), MOT_INLET_FAILED);
        CHECK_INT(piece.failed, MOT_EDATA);
        CHECK_HAS(piece.words, replaced ? "is another file now" : "has 2 bytes, fewer than the 4");
        in->ops->close(in);
        scratch_remove(folder);
    }
}

TEST(a_password_comes_from_its_file_or_else_from_the_environment)
{
    struct mot_intake_conf c = { .from = "mqtt://ann@h/t" };
    char *word = NULL;
    unsetenv("MOTLEY_PASSWORD");
    CHECK_INT(mot_inlet_password(&c, &word), MOT_OK);
    CHECK(!word);
    setenv("MOTLEY_PASSWORD", "", 1);
    CHECK_INT(mot_inlet_password(&c, &word), MOT_OK);
    CHECK(!word);
    setenv("MOTLEY_PASSWORD", "open", 1);
    CHECK_INT(mot_inlet_password(&c, &word), MOT_OK);
    CHECK_TEXT(word, "open");
    free(word), word = NULL;
    begin();
    FILE *file = fopen(path, "w");
    fputs("sesame\r\nmore\n", file), fclose(file);
    c.password_file = path;
    CHECK_INT(mot_inlet_password(&c, &word), MOT_OK);
    CHECK_TEXT(word, "sesame");
    free(word), word = NULL;
    file = fopen(path, "w");
    fputs("\nsesame\n", file), fclose(file);
    CHECK_INT(mot_inlet_password(&c, &word), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "it is empty");
    CHECK(!word);
    scratch_remove(folder);
    CHECK(mot_inlet_password(&c, &word) != MOT_OK);
    unsetenv("MOTLEY_PASSWORD");
}

TEST_MAIN()
