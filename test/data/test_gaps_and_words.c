/* test_gaps_and_words.c -- CSV files as people have them: missing values and columns of words. */
#include "base/rng.h"
#include "data/missing.h"
#include "data/words.h"
#include "files.h"
#include "help.h"
#include <math.h>

#define TEXT(text) text, sizeof(text) - 1

static struct mot_read_conf keeping(void)
{
    struct mot_read_conf conf = mot_read_preset();
    conf.keep_missing = true;
    return conf;
}

TEST(missing_values_are_refused_with_their_count_and_the_first_place)
{
    struct mot_raw raw;
    CHECK_INT(read_text(MOT_FORMAT_CSV, "age,port,y\n1,a,0\n,b,1\n3,NA,0\nNaN,a,1\n", &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "file:3: column 0 ('age'): found an empty cell");
    CHECK_HAS(mot_error(), "2 of this column's 4 values are missing (and 1 value of 1 other column)");
    CHECK_HAS(mot_error(), "`missing: median`");
    CHECK_INT(read_text(MOT_FORMAT_CSV, "1,2,0\n1,inf,0\n", &raw), MOT_EDATA); /* infinity is not missing */
    CHECK_HAS(mot_error(), "file:2: column 1: found 'inf', expected a number");
}

TEST(a_gap_becomes_what_was_asked_for_from_the_rows_it_was_fitted_to)
{
    static const char text[] = "x,w,y\n1,b,0\n2,a,0\n2,a,1\n7,b,1\n,?,0\n100,b,1\n";
    static const struct {
        enum mot_missing how;
        float number, a, b;
    } cases[] = { { MOT_MISSING_MEAN, 3, 1, 0 }, { MOT_MISSING_MEDIAN, 2, 1, 0 },
        { MOT_MISSING_FREQUENT, 2, 1, 0 }, { MOT_MISSING_VALUE, -5, 0, 0 } };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct mot_raw raw;
        struct mot_read_conf conf = keeping();
        float *fill;
        MUST(read_bytes(MOT_FORMAT_CSV, text, strlen(text), NULL, 0, &conf, &raw));
        CHECK_INT(raw.cols, 3); /* x, w=a, w=b */
        CHECK(isnan(raw.x[12]) && isnan(raw.x[13]) && isnan(raw.x[14]));
        CHECK_INT(mot_missing_count(&raw, 0), 1);
        /* From the first four rows, where the words tie: the first is taken. */
        MUST(mot_missing_fit(&raw, "file", 4, cases[i].how, -5, &fill));
        mot_missing_fill(&raw, fill);
        CHECK_NEAR(raw.x[12], cases[i].number, 0);
        CHECK_NEAR(raw.x[13], cases[i].a, 0);
        CHECK_NEAR(raw.x[14], cases[i].b, 0);
        CHECK_NEAR(raw.x[15], 100, 0);
        free(fill);
        mot_raw_free(&raw);
    }
}

TEST(a_column_without_any_value_is_named)
{
    struct mot_raw raw;
    struct mot_read_conf conf = keeping();
    float *fill;
    MUST(read_bytes(MOT_FORMAT_CSV, TEXT("x,z,y\n1,,0\n2,,1\n"), NULL, 0, &conf, &raw));
    CHECK_INT(mot_missing_fit(&raw, "file", 2, MOT_MISSING_MEDIAN, 0, &fill), MOT_EDATA);
    CHECK_HAS(mot_error(), "file: column 'z' is empty in all training rows");
    MUST(mot_missing_fit(&raw, "file", 2, MOT_MISSING_VALUE, 4, &fill));
    CHECK_NEAR(fill[1], 4, 0);
    free(fill);
    mot_raw_free(&raw);
}

TEST(what_missing_may_be)
{
    enum mot_missing how;
    float value = 0;
    MUST(mot_missing_read("-1.5", &how, &value));
    CHECK(how == MOT_MISSING_VALUE && value == -1.5F);
    MUST(mot_missing_read("frequent", &how, &value));
    CHECK(how == MOT_MISSING_FREQUENT);
    CHECK_INT(mot_missing_read("guess", &how, &value), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "found 'guess', expected refuse, mean, median, frequent or a number");
}

TEST(words_become_columns_of_zeros_and_ones_in_alphabetical_order)
{
    struct mot_raw raw;
    MUST(read_text(MOT_FORMAT_CSV, "size,colour,y\n5,red,0\n6,blue,1\n7,red,1\n", &raw));
    static const float expected[] = { 5, 0, 1, 6, 1, 0, 7, 0, 1 };
    CHECK_INT(raw.cols, 3);
    for (size_t i = 0; i < MOT_COUNT(expected); i++) CHECK_NEAR(raw.x[i], expected[i], 0);
    CHECK_TEXT(raw.column_names[0], "size");
    CHECK_TEXT(raw.column_names[1], "colour=blue");
    CHECK_TEXT(raw.column_names[2], "colour=red");
    CHECK_INT(raw.words.count, 1);
    CHECK(raw.words.at[0].column == 1 && raw.words.at[0].first == 1 && raw.words.at[0].count == 2);
    mot_raw_free(&raw);
}

TEST(numbers_are_words_where_that_is_said)
{
    struct mot_raw raw;
    struct mot_read_conf conf = mot_read_preset();
    conf.words = "zip";
    MUST(read_bytes(MOT_FORMAT_CSV, TEXT("zip,x,y\n20,1,0\n3,2,1\n20.0,3,1\n"), NULL, 0, &conf, &raw));
    CHECK_INT(raw.cols, 3);
    CHECK_TEXT(raw.column_names[0], "zip=3"); /* by value, and 20.0 is 20 */
    CHECK_TEXT(raw.column_names[1], "zip=20");
    CHECK_NEAR(raw.x[1], 1, 0);
    CHECK_NEAR(raw.x[7], 1, 0);
    mot_raw_free(&raw);
    conf.words = "zap";
    CHECK_INT(read_bytes(MOT_FORMAT_CSV, TEXT("zip,x,y\n1,1,0\n"), NULL, 0, &conf, &raw), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "did you mean 'zip'");
}

TEST(a_column_with_numbers_and_words_is_refused_at_the_place_where_it_changes)
{
    struct mot_raw raw;
    CHECK_INT(read_text(MOT_FORMAT_CSV, "a,y\n1,0\n2,1\ntwo,1\n", &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "file:4: column 0 ('a'): found 'two', expected a number as in line 2");
    CHECK_INT(read_text(MOT_FORMAT_CSV, "a,b,y\n1,,0\n2,two,1\n3,2,1\n", &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "file:4: column 1 ('b'): found '2', expected a word as in line 3");
}

TEST(a_column_of_names_is_refused_unless_it_is_meant)
{
    char text[2000] = "name,x,y\n";
    size_t n = strlen(text);
    for (int i = 0; i < 40; i++) n += (size_t)snprintf(text + n, sizeof text - n, "n%d,%d,%d\n", i, i, i % 2);
    struct mot_raw raw;
    struct mot_read_conf conf = mot_read_preset();
    CHECK_INT(read_bytes(MOT_FORMAT_CSV, text, n, NULL, 0, &conf, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "column 0 ('name'): 40 different words in 40 rows");
    conf.words = "name";
    MUST(read_bytes(MOT_FORMAT_CSV, text, n, NULL, 0, &conf, &raw));
    CHECK_INT(raw.cols, 41);
    mot_raw_free(&raw);
}

TEST(a_test_file_has_the_words_and_gaps_of_the_training_file)
{
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    conf.path = write_file("train.csv", "c,x,y\nred,1,0\nblue,3,1\nred,,1\n");
    conf.test_path = write_file("test.csv", "c,x,y\nblue,,1\n,9,0\n");
    conf.missing = "mean";
    conf.order = MOT_ORDER_FILE;
    MUST(mot_dataset_open(&conf, 1, &set));
    /* Numbers are standardised (mean 2, and a gap is the mean); words stay 0 and 1. */
    static const float expected[] = { 1, 0, 0, 0, 1 };
    for (size_t i = 0; i < MOT_COUNT(expected); i++) CHECK_NEAR(set->test.x[i], expected[i], 0);
    CHECK(set->test.x[5] > 5);
    CHECK_NEAR(set->fill[2], 2, 0);
    CHECK_INT(set->words.count, 1);
    mot_dataset_close(set);
    conf.test_path = write_file("other.csv", "c,x,y\nblue,1,1\ngreen,9,0\n");
    CHECK_INT(mot_dataset_open(&conf, 1, &set), MOT_EDATA);
    CHECK_HAS(mot_error(), "other.csv:3: column 'c': word 'green' is not among the words");
    conf.unknown = 1;
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK(set->test.x[3] == 0 && set->test.x[4] == 0);
    mot_dataset_close(set);
    conf.test_path = write_file("kinds.csv", "c,x,y\nblue,one,1\n");
    CHECK_INT(mot_dataset_open(&conf, 1, &set), MOT_EDATA);
    CHECK_HAS(
        mot_error(), "kinds.csv:2: column 1 ('x'): found 'one', expected a number, as in the training data");
}

TEST(rows_for_a_model_need_no_label_and_get_its_words_and_fills)
{
    char *word[] = { (char[]){ "blue" }, (char[]){ "red" } },
         *names[] = { (char[]){ "no" }, (char[]){ "yes" } };
    struct mot_word_column c = { .column = 0, .count = 2, .word = word };
    float fill[3] = { 0, 1, 7 };
    struct mot_schema schema = { .cols = 3,
        .classes = 2,
        .scale = MOT_SCALE_NONE,
        .class_names = names,
        .fill = fill,
        .words = { 1, &c } };
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    conf.unlabelled_too = true;
    conf.path = write_file("bare.csv", "c,x\nblue,\n,5\n");
    MUST(mot_dataset_open_as(&conf, &schema, &set));
    static const float expected[] = { 1, 0, 7, 0, 1, 5 };
    for (size_t i = 0; i < MOT_COUNT(expected); i++) CHECK_NEAR(set->train.x[i], expected[i], 0);
    CHECK(set->train.y == NULL);
    mot_dataset_close(set);
    conf.path = write_file("full.csv", "c,x,y\nblue,1,yes\n");
    MUST(mot_dataset_open_as(&conf, &schema, &set));
    CHECK_NEAR(set->train.y[0], 1, 0);
    mot_dataset_close(set);
    schema.fill = NULL; /* a model whose data had no gaps */
    conf.path = write_file("bare2.csv", "c,x\nblue,\n");
    CHECK_INT(mot_dataset_open_as(&conf, &schema, &set), MOT_EDATA);
    CHECK_HAS(mot_error(), "bare2.csv:2: column 1 ('x'): found an empty cell");
}

/* Random tables of words, numbers and gaps, against what was written. */
TEST(any_mixture_of_words_numbers_and_gaps_comes_back)
{
    static const char *const word[] = { "ash", "birch", "cedar, red", "d\"q" };
    for (uint64_t seed = 1; seed <= (SANITIZED ? 30 : 300); seed++) {
        struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 1);
        char text[8192] = "number,tree,y\n";
        size_t n = strlen(text);
        int number[40], tree[40];
        for (int r = 0; r < 40; r++) {
            number[r] = (int)mot_rng_below(&rng, 12) - 2, tree[r] = (int)mot_rng_below(&rng, 5) - 1;
            if (number[r] >= -1) n += (size_t)snprintf(text + n, sizeof text - n, "%d", number[r]);
            n += (size_t)snprintf(text + n, sizeof text - n, ",%s,%d\n",
                tree[r] < 0        ? "NA"
                    : tree[r] == 3 ? "\"d\"\"q\""
                    : tree[r] == 2 ? "\"cedar, red\""
                                   : word[tree[r]],
                r % 2);
        }
        struct mot_raw raw;
        struct mot_read_conf conf = keeping();
        if (read_bytes(MOT_FORMAT_CSV, text, n, NULL, 0, &conf, &raw) != MOT_OK)
            FAIL("seed %llu: %s", (unsigned long long)seed, mot_error());
        for (uint32_t r = 0; r < 40; r++) {
            const float *x = raw.x + r * raw.cols;
            if (number[r] < -1 ? !isnan(x[0]) : x[0] != (float)number[r])
                FAIL("seed %llu: row %u: number %g", (unsigned long long)seed, r, (double)x[0]);
            for (uint32_t w = 0; w < raw.words.at[0].count; w++) {
                bool is = tree[r] >= 0 && strcmp(raw.words.at[0].word[w], word[tree[r]]) == 0;
                if (tree[r] < 0 ? !isnan(x[1 + w]) : x[1 + w] != (float)is)
                    FAIL("seed %llu: row %u: word %u", (unsigned long long)seed, r, w);
            }
        }
        mot_raw_free(&raw);
    }
}

TEST_MAIN()
