/* test_formats.c -- what the readers accept, and how they report what they refuse. */
#include "base/rng.h"
#include "help.h"

#define TEXT(literal) literal, sizeof(literal) - 1

/* ---- what is accepted ----------------------------------------------------------- */

TEST(libsvm_rows_stay_sparse_and_labels_keep_their_spelling)
{
    struct mot_raw raw;
    MUST(read_text(MOT_FORMAT_AUTO, "# a comment\n+1 1:0.5 3:-2e-1 # more\n\n-1\r\n+1 2:1 \n", &raw));
    CHECK(raw.sparse && raw.format == MOT_FORMAT_LIBSVM);
    CHECK_INT(raw.rows, 3);
    CHECK_INT(raw.cols, 3);
    CHECK_INT(raw.row_at[1], 2);
    CHECK_INT(raw.row_at[2], 2);
    CHECK_INT(raw.col[1], 2);
    CHECK_NEAR(raw.val[1], -0.2f, 0);
    CHECK_TEXT(label_of(&raw, 0), "+1");
    CHECK_TEXT(label_of(&raw, 1), "-1");
    mot_raw_free(&raw);
}

TEST(libsvm_counts_from_zero_where_a_zero_appears)
{
    struct mot_raw raw;
    MUST(read_text(MOT_FORMAT_LIBSVM, "1 1:1 2:1\n0 0:1\n", &raw));
    CHECK(raw.from_zero);
    CHECK_INT(raw.cols, 3);
    CHECK_INT(raw.col[0], 1);
    mot_raw_free(&raw);
    struct mot_read_conf one = mot_read_preset();
    one.base = MOT_INDEX_ONE;
    CHECK_INT(read_bytes(MOT_FORMAT_LIBSVM, TEXT("1 0:1\n"), NULL, 0, &one, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "index 0");
}

TEST(csv_finds_separator_header_and_label)
{
    static const char *const texts[] = { "a,b,y\n1,2.5,cat\n3,4,dog\n", "a;b;y\n1;2,5;cat\n3;4;dog\n",
        "a\tb\ty\n1\t2.5\tcat\n3\t4\tdog\n", "a b  y\n1 2.5 cat\n 3  4 dog\n",
        "1,2.5,cat\r\n3,4,dog\r\n\r\n\r\n", "\"a\",\"b\",\"y\"\n\"1\", 2.5 ,\"cat\"\n3,4,dog\n",
        ("\xEF\xBB\xBF"
         "a,b,y\n1,2.5,cat\n3,4,dog") };
    for (size_t i = 0; i < MOT_COUNT(texts); i++) {
        struct mot_raw raw;
        MUST(read_text(MOT_FORMAT_CSV, texts[i], &raw));
        CHECK_INT(raw.rows, 2);
        CHECK_INT(raw.cols, 2);
        CHECK_NEAR(raw.x[1], 2.5, 0);
        CHECK_NEAR(raw.x[3], 4, 0);
        CHECK_TEXT(label_of(&raw, 1), "dog");
        if (raw.column_names) CHECK_TEXT(raw.column_names[1], "b");
        CHECK((raw.column_names != NULL) == (i != 4));
        mot_raw_free(&raw);
    }
}

TEST(csv_takes_the_label_by_name_or_number_and_leaves_columns_out)
{
    struct mot_raw raw;
    struct mot_read_conf conf = mot_read_preset();
    conf.label_column = "kind";
    conf.skip = "date, 3";
    MUST(read_bytes(
        MOT_FORMAT_CSV, TEXT("date,kind,x,more\nmonday,1,5,?\ntuesday,2,6,?\n"), NULL, 0, &conf, &raw));
    CHECK_INT(raw.cols, 1);
    CHECK_NEAR(raw.x[1], 6, 0);
    CHECK_TEXT(raw.label_name, "kind");
    mot_raw_free(&raw);
    conf.label_column = "0";
    conf.skip = NULL;
    MUST(read_bytes(MOT_FORMAT_CSV, TEXT("2,5\n1,6\n"), NULL, 0, &conf, &raw));
    CHECK_NEAR(raw.x[1], 6, 0);
    CHECK_TEXT(label_of(&raw, 0), "2");
    mot_raw_free(&raw);
    for (int c = 0; c < 12; c++) {
        char number[16], label[16];
        snprintf(number, sizeof number, "%d", c);
        snprintf(label, sizeof label, "%d", 20 + c);
        conf.label_column = number;
        MUST(read_bytes(MOT_FORMAT_CSV,
            TEXT("20,21,22,23,24,25,26,27,28,29,30,31\n1,2,3,4,5,6,7,8,9,10,11,12\n"), NULL, 0, &conf, &raw));
        CHECK_INT(raw.cols, 11);
        CHECK_TEXT(label_of(&raw, 0), label);
        mot_raw_free(&raw);
    }
}

TEST(csv_empty_columns_and_rows_at_the_end_do_not_count)
{
    struct mot_raw raw;
    MUST(read_text(MOT_FORMAT_CSV, "a;b;y;;\n1;2;0;;\n3;4;1;;\n;;;;\n;;;;\n", &raw));
    CHECK_INT(raw.rows, 2);
    CHECK_INT(raw.cols, 2);
    mot_raw_free(&raw);
}

TEST(csv_row_names_without_a_header_are_left_out)
{
    struct mot_raw raw;
    MUST(read_text(MOT_FORMAT_CSV, "\"x\",\"y\"\n\"1\",5,0\n\"2\",6,1\n", &raw));
    CHECK_INT(raw.cols, 1);
    CHECK_NEAR(raw.x[0], 5, 0);
    mot_raw_free(&raw);
}

TEST(a_csv_header_has_words_and_no_number)
{
    static const struct {
        const char *text;
        bool header;
    } cases[] = {
        { "a,b,y\n1,2,0\n", true },
        { ",a,b,y\n0,1,2,cat\n1,3,4,dog\n", true }, /* as pandas writes it */
        { "\"\",\"x\",\"y\"\n\"1\",5,0\n", true },
        { "NA,x,y\n1,5,0\n", true },
        { "a,b,\n1,2,cat\n", true }, /* the label has no name */
        { "1,2,cat\n3,4,dog\n", false },
        { "2019,2020,2021\n1,2,0\n", false },
        { "Ethanol,1,2,0\nAcetone,1,2,0\n", false },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct mot_raw raw;
        struct mot_read_conf conf = mot_read_preset();
        if (strncmp(cases[i].text, "Ethanol", 7) == 0) conf.label_column = "first";
        MUST(read_bytes(MOT_FORMAT_CSV, cases[i].text, strlen(cases[i].text), NULL, 0, &conf, &raw));
        if ((raw.column_names != NULL) != cases[i].header)
            FAIL(
                "case %zu: %s", i, cases[i].header ? "the header became a row" : "a row was taken for names");
        uint32_t lines = 0;
        for (const char *p = cases[i].text; *p; p++) lines += *p == '\n';
        CHECK_INT(raw.rows, lines - cases[i].header);
        if (strncmp(cases[i].text, "a,b,", 4) == 0) CHECK_INT(raw.cols, 2);
        mot_raw_free(&raw);
    }
}

TEST(a_csv_line_that_may_be_header_or_row_is_an_error_until_it_is_said)
{
    static const char *const texts[] = { "year,2019,y\n1,2,0\n", ",cat\n1,dog\n", "nan,cat\n1,dog\n",
        "?,cat\n1,dog\n" };
    for (size_t i = 0; i < MOT_COUNT(texts); i++) {
        struct mot_raw raw;
        struct mot_read_conf conf = mot_read_preset();
        CHECK_INT(read_text(MOT_FORMAT_CSV, texts[i], &raw), MOT_EDATA);
        CHECK_HAS(mot_error(), "file:1: column 0: found ");
        CHECK_HAS(mot_error(), "`header: yes` or `header: no`");
        conf.header = 1;
        MUST(read_bytes(MOT_FORMAT_CSV, texts[i], strlen(texts[i]), NULL, 0, &conf, &raw));
        CHECK_INT(raw.rows, 1);
        mot_raw_free(&raw);
        conf.header = 2;
        CHECK_INT(read_bytes(MOT_FORMAT_CSV, texts[i], strlen(texts[i]), NULL, 0, &conf, &raw), MOT_EDATA);
        /* Without a header the line is a row: with a gap, or with a word where others have numbers. */
        CHECK_HAS(mot_error(), i == 0 ? "file:2: column 0: found '1'" : "file:1: column 0: found ");
        CHECK_HAS(mot_error(), i == 0 ? "expected a word as in line 1" : "expected a number");
    }
    struct mot_raw raw;
    CHECK_INT(read_text(MOT_FORMAT_CSV, "red,round,apple\ngreen,round,pear\n", &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "file:1: words above words");
    struct mot_read_conf named = mot_read_preset();
    named.label_column = "fruit"; /* a name that only a header has */
    MUST(read_bytes(MOT_FORMAT_CSV, TEXT("colour,shape,fruit\ngreen,round,pear\n"), NULL, 0, &named, &raw));
    CHECK_INT(raw.rows, 1);
    mot_raw_free(&raw);
}

TEST(a_csv_file_that_begins_with_a_row_of_gaps_is_not_read_without_it)
{
    struct mot_raw raw;
    CHECK_INT(read_text(MOT_FORMAT_CSV, ",,\n1,2,0\n3,4,1\n", &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "file:1: column 0: found an empty cell");
    CHECK_HAS(mot_error(), "`header: yes` or `header: no`");
}

TEST(quoted_cells_of_a_csv_file_may_span_lines)
{
    struct mot_raw raw;
    MUST(read_text(MOT_FORMAT_CSV,
        "\xEF\xBB\xBF\"width\r\n(cm)\",b,y\r\n1,2,\"a\n\n\"\"b\"\"\"\r\n3,\"4\",\"c, d\ne\"\r\n5,6,f\r\n",
        &raw));
    CHECK_INT(raw.rows, 3);
    CHECK_INT(raw.cols, 2);
    CHECK_TEXT(raw.column_names[0], "width\r\n(cm)");
    CHECK_TEXT(label_of(&raw, 0), "a\n\n\"b\"");
    CHECK_TEXT(label_of(&raw, 1), "c, d\ne");
    CHECK_TEXT(label_of(&raw, 2), "f");
    CHECK_INT(raw.labels.seen[0].line, 3);
    CHECK_INT(raw.labels.seen[1].line, 6);
    CHECK_INT(raw.labels.seen[2].line, 8);
    CHECK_NEAR(raw.x[5], 6, 0);
    mot_raw_free(&raw);
    struct mot_read_conf conf = mot_read_preset(); /* the line is that of the cell, not of its row */
    conf.label_column = "first";
    CHECK_INT(read_bytes(MOT_FORMAT_CSV, TEXT("y,a\nc,1\n\"d\n\n\",x\n"), NULL, 0, &conf, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "file:5: column 1 ('a'): found 'x'");
    /* A quote inside a cell that does not begin with one is a letter. */
    MUST(read_text(MOT_FORMAT_CSV, "disk 5\",y\n1,3.5\"\n2,a \"b\n", &raw));
    CHECK_INT(raw.rows, 2);
    CHECK_TEXT(label_of(&raw, 1), "a \"b");
    mot_raw_free(&raw);
}

TEST(a_quoted_cell_may_be_longer_than_the_window)
{
    static const char rest[] = "\"\n2,c\nx,d\n";
    size_t lines = 200000, n;
    char *text = mot_new(4 * lines + 100, 1);
    memcpy(text, "1,\"", n = 3);
    for (size_t i = 0; i < lines; i++, n += 3) memcpy(text + n, "ab\n", 3);
    memcpy(text + n, rest, sizeof rest - 1);
    n += sizeof rest - 1;
    struct mot_raw raw;
    CHECK_INT(read_bytes(MOT_FORMAT_CSV, text, n, NULL, 0, NULL, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "file:200003: column 0: found 'x'");
    MUST(read_bytes(MOT_FORMAT_CSV, text, n - 4, NULL, 0, NULL, &raw));
    CHECK_INT(raw.rows, 2);
    CHECK_INT(strlen(label_of(&raw, 0)), 3 * lines);
    mot_raw_free(&raw);
    free(text);
}

/* A cell of what is hard: quotes, ends of lines, separators, blanks; never empty, and no number. */
static void random_cell(struct mot_rng *rng, char cell[16])
{
    static const char letters[] = "ab\",;\n\r \t";
    size_t n = 1 + mot_rng_below(rng, 12);
    for (size_t i = 0; i < n; i++) cell[i] = letters[mot_rng_below(rng, sizeof letters - 1)];
    cell[0] = 'w', cell[n] = 'w', cell[n + 1] = 0; /* blanks around a label are not kept */
}

TEST(any_text_survives_quoting_in_a_csv_file)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 0);
        char cell[20][16], text[4096];
        size_t n = 0;
        for (size_t r = 0; r < MOT_COUNT(cell); r++) {
            random_cell(&rng, cell[r]);
            n += (size_t)snprintf(text + n, sizeof text - n, "%zu,\"", r);
            for (const char *p = cell[r]; *p; p++) {
                if (*p == '"') text[n++] = '"';
                text[n++] = *p;
            }
            n += (size_t)snprintf(
                text + n, sizeof text - n, "\",%u%s", (unsigned)r % 3, seed & 1 ? "\r\n" : "\n");
        }
        struct mot_raw raw;
        struct mot_read_conf conf = mot_read_preset();
        conf.label_column = "1";
        enum mot_status status = read_bytes(MOT_FORMAT_CSV, text, n, NULL, 0, &conf, &raw);
        if (status != MOT_OK) FAIL("seed %llu: %s", (unsigned long long)seed, mot_error());
        if (raw.rows != MOT_COUNT(cell)) FAIL("seed %llu: %u rows", (unsigned long long)seed, raw.rows);
        for (uint32_t r = 0; r < raw.rows; r++) CHECK_TEXT(label_of(&raw, r), cell[r]);
        mot_raw_free(&raw);
    }
}

static size_t npy(char *into, const char *descr, const char *order, const char *shape, int version,
    const void *numbers, size_t n)
{
    char header[200];
    int length = snprintf(
        header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape);
    size_t at = version == 1 ? 10 : 12;
    memset(into, 0, at);
    memcpy(into, "\x93NUMPY", 6);
    into[6] = (char)version;
    into[8] = (char)length;
    memcpy(into + at, header, (size_t)length);
    if (n) memcpy(into + at + length, numbers, n);
    return at + (size_t)length + n;
}

TEST(npy_reads_types_orders_and_versions)
{
    char file[400];
    struct mot_raw raw;
    float f4[6] = { 1, 2, 3, 4, 5, 6 };
    size_t n = npy(file, "<f4", "False", "(2, 3)", 1, f4, sizeof f4);
    MUST(read_bytes(MOT_FORMAT_AUTO, file, n, NULL, 0, NULL, &raw));
    CHECK_INT(raw.cols, 3);
    CHECK_NEAR(raw.x[4], 5, 0);
    mot_raw_free(&raw);
    n = npy(file, "<f4", "True", "(2, 3)", 2, f4, sizeof f4);
    MUST(read_bytes(MOT_FORMAT_AUTO, file, n, NULL, 0, NULL, &raw));
    CHECK_NEAR(raw.x[1], 3, 0); /* row 0 is 1 3 5 */
    CHECK_NEAR(raw.x[3], 2, 0);
    mot_raw_free(&raw);
    static const unsigned char big[16] = { 0x40, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18, 0xbf, 0xf0 };
    n = npy(file, ">f8", "False", "(2,)", 3, big, sizeof big);
    MUST(read_bytes(MOT_FORMAT_AUTO, file, n, NULL, 0, NULL, &raw));
    CHECK_NEAR(raw.x[0], 3.14159274f, 0);
    CHECK_NEAR(raw.x[1], -1, 0);
    mot_raw_free(&raw);
    static const unsigned char shorts[4] = { 0xff, 0xfe, 0x01, 0x00 };
    n = npy(file, ">i2", "False", "(1, 2)", 1, shorts, sizeof shorts);
    MUST(read_bytes(MOT_FORMAT_AUTO, file, n, NULL, 0, NULL, &raw));
    CHECK_NEAR(raw.x[0], -2, 0);
    CHECK_NEAR(raw.x[1], 256, 0);
    mot_raw_free(&raw);
    int64_t longs[2] = { INT64_MIN, -3 };
    n = npy(file, "<i8", "False", "(2, 1)", 1, longs, sizeof longs);
    MUST(read_bytes(MOT_FORMAT_AUTO, file, n, NULL, 0, NULL, &raw));
    CHECK_NEAR(raw.x[0], -9223372036854775808.0, 0);
    CHECK_NEAR(raw.x[1], -3, 0);
    mot_raw_free(&raw);
}

TEST(idx_reads_each_type)
{
    static const struct {
        unsigned char type;
        const char *bytes;
        size_t n;
        double first;
    } cases[] = {
        { 0x08, "\xff\x02", 2, 255 },
        { 0x09, "\xff\x02", 2, -1 },
        { 0x0B, "\xff\xfe\0\1", 4, -2 },
        { 0x0C, "\x80\0\0\0\0\0\0\1", 8, -2147483648.0 },
        { 0x0D, "\x3f\xc0\0\0\0\0\0\0", 8, 1.5 },
        { 0x0E, "\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, -2 },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        unsigned char file[64] = { 0, 0, cases[i].type, 1, 0, 0, 0, 2 };
        memcpy(file + 8, cases[i].bytes, cases[i].n);
        struct mot_raw raw;
        MUST(read_bytes(MOT_FORMAT_AUTO, file, 8 + cases[i].n, NULL, 0, NULL, &raw));
        CHECK_NEAR(raw.x[0], cases[i].first, 0);
        CHECK_INT(raw.picture, i == 0);
        mot_raw_free(&raw);
    }
}

TEST(pictures_keep_their_geometry)
{
    unsigned char flat[8 + 6] = { 0, 0, 8, 1, 0, 0, 0, 6 },
                           grey[16 + 12] = { 0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3 },
                           colour[20 + 12] = { 0, 0, 8, 4, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 2 };
    const struct {
        const unsigned char *file;
        size_t n;
        struct mot_picture expected;
    } cases[] = { { flat, sizeof flat, { 0, 0, 0 } }, { grey, sizeof grey, { 1, 2, 3 } },
        { colour, sizeof colour, { 3, 2, 2 } } };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct mot_raw raw;
        MUST(read_bytes(MOT_FORMAT_IDX, cases[i].file, cases[i].n, NULL, 0, NULL, &raw));
        CHECK_INT(raw.geometry.channels, cases[i].expected.channels);
        CHECK_INT(raw.geometry.height, cases[i].expected.height);
        CHECK_INT(raw.geometry.width, cases[i].expected.width);
        mot_raw_free(&raw);
    }
}

TEST(idx_labels_are_classes_however_many)
{
    unsigned char x[8 + 150] = { 0, 0, 8, 1, 0, 0, 0, 150 };
    for (int i = 0; i < 150; i++) x[8 + i] = (unsigned char)i;
    struct mot_raw raw;
    enum mot_task task;
    MUST(read_bytes(MOT_FORMAT_IDX, x, sizeof x, x, sizeof x, NULL, &raw));
    MUST(mot_raw_task(&raw, MOT_TASK_AUTO, "file", &task));
    CHECK_INT(task, MOT_TASK_CLASSES);
    MUST(mot_labels_task(&raw.labels, MOT_TASK_AUTO, "file", &task));
    CHECK_INT(task, MOT_TASK_REGRESSION);
    mot_raw_free(&raw);
}

TEST(every_reader_reads_gzip_alike)
{
    static const char *const texts[] = { "1 1:2 3:4\n0 2:5\n", "a,b\n1,2\n3,4\n" };
    for (size_t i = 0; i < MOT_COUNT(texts); i++) {
        size_t n;
        unsigned char *bytes = packed(texts[i], strlen(texts[i]), &n);
        struct mot_raw plain, unpacked;
        MUST(read_text(MOT_FORMAT_AUTO, texts[i], &plain));
        MUST(read_bytes(MOT_FORMAT_AUTO, bytes, n, NULL, 0, NULL, &unpacked));
        CHECK_INT(plain.rows, unpacked.rows);
        CHECK(memcmp(plain.sparse ? plain.val : plain.x, plain.sparse ? unpacked.val : unpacked.x,
                  mot_raw_entries(&plain) * 4) == 0);
        mot_raw_free(&plain);
        mot_raw_free(&unpacked);
        free(bytes);
    }
}

/* What is packed may have any length: only its end shows that there is too little. */
TEST(a_packed_file_that_is_too_short_is_truncated_where_it_ends)
{
    static const char rows[] = "\0\0\x08\x02\0\0\0\3\0\0\0\2abcde", few[] = "\0\0\x08\x01\0\0\0\3\1\2",
                      whole[] = "\0\0\x08\x02\0\0\0\3\0\0\0\2abcdef";
    size_t n, few_n, whole_n;
    unsigned char *short_rows = packed(rows, sizeof rows - 1, &n),
                  *short_labels = packed(few, sizeof few - 1, &few_n),
                  *all_rows = packed(whole, sizeof whole - 1, &whole_n);
    struct mot_raw raw;
    CHECK_INT(read_bytes(MOT_FORMAT_IDX, short_rows, n, NULL, 0, NULL, &raw), MOT_EDATA);
    CHECK_HAS(
        mot_error(), "offset 17: the file ends here, expected a total of 6 numbers of 1 bytes: truncated");
    CHECK_INT(read_bytes(MOT_FORMAT_IDX, all_rows, whole_n, short_labels, few_n, NULL, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "the file ends here, expected a total of 3 numbers of 1 bytes: truncated");
    free(short_rows);
    free(short_labels);
    free(all_rows);
}

TEST(the_first_rows_are_enough_where_only_they_are_asked_for)
{
    struct mot_raw raw;
    struct mot_read_conf conf = mot_read_preset();
    conf.rows = 2;
    MUST(read_bytes(MOT_FORMAT_LIBSVM, TEXT("1 1:1\n2 2:1\nrubbish\n"), NULL, 0, &conf, &raw));
    CHECK_INT(raw.rows, 2);
    mot_raw_free(&raw);
    MUST(read_bytes(MOT_FORMAT_CSV, TEXT("1,1\n2,2\nrubbish,,,,\n"), NULL, 0, &conf, &raw));
    CHECK_INT(raw.rows, 2);
    mot_raw_free(&raw);
    MUST(read_bytes(MOT_FORMAT_IDX,
        TEXT("\0\0\x08\x02\0\0\0\3\0\0\0\2"
             "abcdef"),
        TEXT("\0\0\x08\x01\0\0\0\3\0\1\1"), &conf, &raw));
    CHECK_INT(raw.rows, 2);
    CHECK_INT(raw.labels.rows, 2);
    mot_raw_free(&raw);
}

/* ---- what is damaged ---------------------------------------------------------------- */

static const struct damage {
    enum mot_format format;
    const char *bytes;
    size_t n;
    const char *says[3];
} damages[] = {
    { MOT_FORMAT_LIBSVM, TEXT("1 1:1\n1 3:1 2:1\n"), { "file:2:", "'2:1'", "above 3" } },
    { MOT_FORMAT_LIBSVM, TEXT("1 3:1 3:1\n"), { "file:1:", "'3:1'", "above 3" } },
    { MOT_FORMAT_LIBSVM, TEXT("1 1:nan\n"), { "file:1:", "'1:nan'", "finite number" } },
    { MOT_FORMAT_LIBSVM, TEXT("1 1:inf\n"), { "file:1:", "'1:inf'", "finite number" } },
    { MOT_FORMAT_LIBSVM, TEXT("1 1:1e39\n"), { "file:1:", "'1:1e39'", "32-bit float" } },
    { MOT_FORMAT_LIBSVM, TEXT("1 1:2x\n"), { "file:1:", "'1:2x'", "finite number" } },
    { MOT_FORMAT_LIBSVM, TEXT("1 1\n"), { "file:1:", "'1'", "index:value" } },
    { MOT_FORMAT_LIBSVM, TEXT("1 -1:1\n"), { "file:1:", "'-1:1'", "index:value" } },
    { MOT_FORMAT_LIBSVM, TEXT("1 qid:4 1:1\n"), { "file:1:", "'qid:4'", "ranking" } },
    { MOT_FORMAT_LIBSVM, TEXT("1 1:1\ncat 1:1\n"), { "file:2:", "'cat'", "label" } },
    { MOT_FORMAT_LIBSVM, TEXT("1,2 1:1\n"), { "file:1:", "'1,2'", "label" } },
    { MOT_FORMAT_LIBSVM, TEXT("3:1 4:1\n"), { "file:1:", "'3:1'", "label" } },
    { MOT_FORMAT_LIBSVM, TEXT("nan 4:1\n"), { "file:1:", "'nan'", "label" } },
    { MOT_FORMAT_LIBSVM, TEXT("1 99999999999999999999:1\n"),
        { "file:1:", "99999999999999999999:1", "below 134217728" } },
    { MOT_FORMAT_LIBSVM, TEXT("1 1:1\0 2:1\n"), { "file:1:", "\\x00", "finite number" } },
    { MOT_FORMAT_LIBSVM, TEXT("1\n2\n"), { "file:", "no row has a feature", "index:value" } },
    { MOT_FORMAT_LIBSVM, TEXT("\n\n"), { "file:", "no rows", "label index:value" } },
    { MOT_FORMAT_CSV, TEXT("a,b,y\n1,2,0\n1,,0\n"),
        { "file:3:", "column 1 ('b'): found an empty cell", "expected a number" } },
    { MOT_FORMAT_CSV, TEXT("a,b,y\n1,2,0\n1,x,0\n"),
        { "file:3:", "column 1 ('b'): found 'x'", "expected a number" } },
    { MOT_FORMAT_CSV, TEXT("1,2,0\nNaN,2,0\n"), { "file:2:", "column 0: found 'NaN'", "expected a number" } },
    { MOT_FORMAT_CSV, TEXT("1,2,0\n1,1e50,0\n"), { "file:2:", "found '1e50'", "32-bit float" } },
    { MOT_FORMAT_CSV, TEXT("1,2,0\n1,2\n"), { "file:2:", "2 columns", "expected 3" } },
    { MOT_FORMAT_CSV, TEXT("1,2,0\n1,2,0,5\n"), { "file:2:", "4 columns", "expected 3" } },
    { MOT_FORMAT_CSV, TEXT("1,2,0\n1,2,\n"), { "file:2:", "column 2: found an empty cell", "a label" } },
    { MOT_FORMAT_CSV, TEXT("1,2,0\n1,2,nan\n"), { "file:2:", "column 2: found 'nan'", "a label" } },
    { MOT_FORMAT_CSV, TEXT(",2,0\n1,3,1\n"), { "file:1:", "column 0: found an empty cell", "a number" } },
    { MOT_FORMAT_CSV, TEXT("?,2,0\n1,3,1\n"), { "file:1:", "column 0: found '?'", "a number" } },
    { MOT_FORMAT_CSV, TEXT("1e999,2,0\n1,3,1\n"), { "file:1:", "column 0: found '1e999'", "32-bit float" } },
    { MOT_FORMAT_CSV, TEXT("1e999,cat\n1,dog\n"), { "file:1:", "column 0: found '1e999'", "32-bit float" } },
    { MOT_FORMAT_CSV, TEXT("1,2,\n1,3,1\n"), { "file:1:", "column 2: found an empty cell", "a label" } },
    { MOT_FORMAT_CSV, TEXT("1,2,0\n\n1,2,0\n"), { "file:2:", "empty row", "line 3" } },
    { MOT_FORMAT_CSV, TEXT("a,b,label\r1,2,0\r3,4,1\r"), { "file:1:", "carriage return", "line ends" } },
    { MOT_FORMAT_CSV, TEXT("1,2,0\n1,2,0\n1,\"2,0\n"), { "file:3:", "quote", "not closed" } },
    { MOT_FORMAT_CSV, TEXT("1,2,\"a\nb\"\n\"1\n\",\"2,0\n3,4,5\n"), { "file:4:", "quote", "not closed" } },
    { MOT_FORMAT_CSV, TEXT("1,2,\"a\nb\"\n1,2,\"a\nb\"\n1,\"2,0\n3,4,5\n"),
        { "file:5:", "quote", "not closed" } },
    { MOT_FORMAT_CSV, TEXT("1,2,\"a\nb\"\n1,x,c\n"), { "file:3:", "column 1: found 'x'", "a number" } },
    { MOT_FORMAT_CSV, TEXT("1,2,a\n\"1\n\n\",x,c\n"),
        { "file:2:", "column 0: found '1\\n\\n'", "a number" } },
    { MOT_FORMAT_CSV, TEXT("1,2,0\n1,2,0\n1,\"2\"x,0\n"), { "file:3:", "follows", "quote" } },
    { MOT_FORMAT_CSV, TEXT("1,2,0\n1,2\0,0\n"), { "file:2:", "found '2\\x00'", "expected a number" } },
    { MOT_FORMAT_CSV, TEXT("1,2,0\n1,2,a\0b\n"), { "file:2:", "found 'a\\x00b'", "expected a label" } },
    { MOT_FORMAT_AUTO, TEXT("1 qid:3 1:5\n"), { "file:1:", "'qid:3'", "ranking" } },
    { MOT_FORMAT_CSV, TEXT("a,b,y\n"), { "file:", "a header but no rows", "expected" } },
    { MOT_FORMAT_CSV, TEXT("word\n"), { "file:1:", "'word'", "separated by" } },
    { MOT_FORMAT_CSV, TEXT(" \n\n"), { "file:", "no rows", "expected" } },
    { MOT_FORMAT_IDX, TEXT("\0\0\x08"), { "file: offset 3:", "ends inside the IDX magic", "truncated" } },
    { MOT_FORMAT_IDX, TEXT("\1\0\x08\x01\0\0\0\1x"),
        { "file: offset 0:", "01 00", "expected the IDX magic" } },
    { MOT_FORMAT_IDX, TEXT("\0\0\x0a\x01\0\0\0\1x"), { "file: offset 2:", "0x0a", "expected 0x08" } },
    { MOT_FORMAT_IDX, TEXT("\0\0\x08\x09\0\0\0\1x"),
        { "file: offset 3:", "9 dimensions", "expected 1 to 8" } },
    { MOT_FORMAT_IDX, TEXT("\0\0\x08\x02\0\0\0\1"), { "file: offset 8:", "ends inside", "truncated" } },
    { MOT_FORMAT_IDX,
        TEXT("\0\0\x08\x02\0\0\0\2\0\0\0\3"
             "abcde"),
        { "file: offset 12:", "2 x 3 numbers of 1 bytes", "no more than 5 bytes" } },
    { MOT_FORMAT_IDX,
        TEXT("\0\0\x08\x02\0\0\0\2\0\0\0\2"
             "abcde"),
        { "file: offset 16:", "bytes follow", "expected the end" } },
    { MOT_FORMAT_IDX,
        TEXT("\0\0\x08\x02\xff\xff\xff\xff\0\xff\xff\xff"
             "abcde"),
        { "file: offset 12:", "4294967295", "expected at most" } },
    { MOT_FORMAT_IDX,
        TEXT("\0\0\x08\x03\0\0\0\1\xff\xff\xff\xff\xff\xff\xff\xff"
             "abcde"),
        { "file: offset 8:", "dimension 1 is 4294967295", "columns" } },
    { MOT_FORMAT_IDX, TEXT("\0\0\x08\x01\0\0\0\0"), { "file: offset 8:", "0 x 1", "at least one" } },
    { MOT_FORMAT_IDX, TEXT("\0\0\x0d\x01\0\0\0\2\0\0\0\0\x7f\xc0\0\0"),
        { "file: offset 12:", "row 1, column 0: found nan", "finite" } },
    { MOT_FORMAT_NPY, TEXT("\x93NUMPX\x01\0"),
        { "file: offset 0:", "93 4e 55 4d", "expected the NPY magic" } },
    { MOT_FORMAT_NPY, TEXT("\x93NUM"), { "file: offset 4:", "NPY magic", "truncated" } },
    { MOT_FORMAT_NPY, TEXT("\x93NUMPY\x04\0"), { "file: offset 6:", "version 4.0", "expected 1, 2 or 3" } },
    { MOT_FORMAT_NPY, TEXT("\x93NUMPY\x01\0\xff\xff{}"),
        { "file: offset 8:", "65535 bytes", "than the file holds" } },
    { MOT_FORMAT_NPY, TEXT("\x93NUMPY\x01\0\x02\0{}"), { "file: offset 10:", "no 'descr'", "f4" } },
    { MOT_FORMAT_NPY, TEXT("\x93NUMPY\x01\0\x0f\0{'descr': '|O'}"),
        { "file: offset 10:", "'|O'", "expected one of f4" } },
    { MOT_FORMAT_NPY, TEXT("\x93NUMPY\x01\0\x20\0{'descr': [('a', '<f4'), ('b',)]}"),
        { "file: offset 10:", "NPY type", "expected one of f4" } },
    { MOT_FORMAT_NPY, TEXT("\x93NUMPY\x01\0\x22\0{'descr': '<f4', 'shape': (2, x) } "),
        { "file: offset 10:", "(2, x)", "expected such as" } },
    { MOT_FORMAT_NPY, TEXT("\x93NUMPY\x01\0\x22\0{'descr': '<f4', 'shape': (2, 2),}"),
        { "file: offset 10:", "fortran_order", "True or False" } },
    { MOT_FORMAT_NPY,
        TEXT("\x93NUMPY\x01\0\x3e\0{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2, 2), } "
             "1234"),
        { "file: offset 10:", "Fortran", "at most 2" } },
    { MOT_FORMAT_NPY,
        TEXT("\x93NUMPY\x01\0\x44\0{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 9), }"
             "1234"),
        { "file: offset 78:", "99999999999", "expected at most" } },
    { MOT_FORMAT_NPY,
        TEXT("\x93NUMPY\x01\0\x3b\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 9), }"
             "1234"),
        { "file: offset 69:", "2 x 9 numbers of 4 bytes", "no more than 4 bytes" } },
    { MOT_FORMAT_NPY,
        TEXT("\x93NUMPY\x01\0\x38\0{'descr': '<f4', 'fortran_order': False, 'shape': (1,),}"
             "\0\0\x80\x7f"),
        { "file: offset 66:", "found inf", "finite" } },
    { MOT_FORMAT_AUTO, TEXT(""), { "file:", "is empty", "" } },
    { MOT_FORMAT_AUTO, TEXT("abc\0def\x01\x02"), { "file: offset 3:", "zero byte", "not text" } },
    { MOT_FORMAT_AUTO, TEXT("\x1f\x8b"), { "file: compressed offset 2:", "ends here", "truncated" } },
    { MOT_FORMAT_AUTO, TEXT("\x1f\x8b\x08\0\0\0\0\0\0\3\xff\xff\xff"),
        { "file: compressed offset", "damaged gzip data", "" } },
};

TEST(each_damage_has_a_message_that_says_where_what_and_what_was_expected)
{
    for (size_t i = 0; i < MOT_COUNT(damages); i++) {
        struct mot_raw raw;
        enum mot_status status =
            read_bytes(damages[i].format, damages[i].bytes, damages[i].n, NULL, 0, NULL, &raw);
        if (status != MOT_EDATA) FAIL("case %zu: status %d, expected %d", i, status, MOT_EDATA);
        for (int k = 0; k < 3; k++)
            if (!strstr(mot_error(), damages[i].says[k]))
                FAIL("case %zu: \"%s\" does not say \"%s\"", i, mot_error(), damages[i].says[k]);
    }
}

TEST(labels_that_do_not_belong_to_the_features_are_refused)
{
    static const char x[] = "\0\0\x08\x02\0\0\0\2\0\0\0\2"
                            "abcd";
    static const struct {
        const char *bytes;
        size_t n;
        const char *says;
    } cases[] = {
        { TEXT("\0\0\x08\x01\0\0\0\3\0\1\2"), "labels: offset 8: 3 labels, expected 2" },
        { TEXT("\0\0\x08\x02\0\0\0\2\0\0\0\2\0\1\2\3"), "2 labels per row, expected one" },
        { TEXT("\0\0\x08\x01\0\0\0\2\0"), "no more than 1 bytes" },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct mot_raw raw;
        CHECK_INT(
            read_bytes(MOT_FORMAT_IDX, x, sizeof x - 1, cases[i].bytes, cases[i].n, NULL, &raw), MOT_EDATA);
        CHECK_HAS(mot_error(), cases[i].says);
    }
}

TEST(a_wrong_column_names_the_nearest)
{
    struct mot_raw raw;
    struct mot_read_conf conf = mot_read_preset();
    conf.label_column = "specis";
    CHECK_INT(read_bytes(MOT_FORMAT_CSV, TEXT("a,species\n1,x\n"), NULL, 0, &conf, &raw), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "did you mean 'species'");
    conf.label_column = "2";
    CHECK_INT(read_bytes(MOT_FORMAT_CSV, TEXT("a,species\n1,x\n"), NULL, 0, &conf, &raw), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "from 0 to 1");
}

TEST(a_table_beyond_the_memory_limit_is_refused)
{
    struct mot_raw raw;
    struct mot_read_conf conf = mot_read_preset();
    conf.memory = 4096;
    char *text = mot_new(30001, 1);
    for (size_t i = 0; i < 30000; i++) text[i] = "1,2\n"[i % 4];
    CHECK_INT(read_bytes(MOT_FORMAT_CSV, text, 30000, NULL, 0, &conf, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "more than 4.1 kB of memory");
    free(text);
}

TEST_MAIN()
