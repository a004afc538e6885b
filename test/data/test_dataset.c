/* test_dataset.c -- from a configuration to tables: order, split, scaling, schema, built-in sets. */
#include "data/scale.h"
#include "files.h"
#include "help.h"
#include <xxhash.h>

#define DIGITS_HASH UINT64_C(0x3aa8ce2818b1f9d1) /* of the pixels as floats, from the published file */

static struct mot_data_conf file_conf(const char *path)
{
    struct mot_data_conf conf = preset();
    conf.path = path;
    conf.order = MOT_ORDER_FILE;
    conf.scale = MOT_SCALE_NONE;
    conf.test = 0;
    return conf;
}

/* ---- built-in ----------------------------------------------------------------------- */

TEST(digits_are_all_there)
{
    static const uint32_t expected[10] = { 178, 182, 177, 183, 181, 182, 181, 179, 174, 180 };
    uint32_t count[10] = { 0 };
    struct mot_raw raw;
    mot_read_digits(UINT64_MAX, &raw);
    CHECK_INT(raw.rows, 1797);
    CHECK_INT(raw.cols, 64);
    for (uint32_t r = 0; r < raw.rows; r++) count[(int)raw.labels.value[r]]++;
    for (int c = 0; c < 10; c++) CHECK_INT(count[c], expected[c]);
    double sum = 0;
    for (uint32_t i = 0; i < raw.rows * raw.cols; i++) sum += (double)raw.x[i];
    CHECK_NEAR(sum, 561718, 0);
    CHECK(XXH64(raw.x, (size_t)raw.rows * raw.cols * 4, 0) == DIGITS_HASH);
    mot_raw_free(&raw);
}

TEST(digits_equal_the_published_file)
{
    const char *path = real("digits/digits.csv.gz");
    NEED(path);
    struct mot_raw file, built_in;
    struct mot_read_conf read = mot_read_preset();
    MUST(mot_raw_open_file(path, NULL, MOT_FORMAT_AUTO, &read, &file));
    mot_read_digits(UINT64_MAX, &built_in);
    CHECK(file.rows == built_in.rows && file.cols == built_in.cols);
    CHECK(memcmp(file.x, built_in.x, (size_t)file.rows * file.cols * 4) == 0);
    CHECK(memcmp(file.labels.value, built_in.labels.value, file.rows * sizeof(double)) == 0);
    mot_raw_free(&file);
    mot_raw_free(&built_in);
}

TEST(the_preset_is_digits_in_0_to_1_split_four_to_one)
{
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_TEXT(set->name, "digits");
    CHECK_INT(set->train.rows, 1438);
    CHECK_INT(set->valid.rows, 0);
    CHECK_INT(set->test.rows, 359);
    CHECK_INT(set->train.classes, 10);
    CHECK_INT(set->scale, MOT_SCALE_MINMAX);
    CHECK_NEAR(set->factor[0], 1 / 16.0, 0);
    CHECK_NEAR(set->factor[63], 1 / 16.0, 0);
    float most = 0;
    for (uint32_t i = 0; i < set->train.rows * 64; i++)
        if (set->train.x[i] > most) most = set->train.x[i];
    CHECK_NEAR(most, 1, 0);
    mot_dataset_close(set);
}

TEST(the_seed_decides_the_order_and_data_seed_overrides_it)
{
    struct mot_data_conf conf = preset();
    struct mot_dataset *a, *b, *c, *d;
    MUST(mot_dataset_open(&conf, 1, &a));
    MUST(mot_dataset_open(&conf, 1, &b));
    MUST(mot_dataset_open(&conf, 2, &c));
    conf.data_seed = 1;
    MUST(mot_dataset_open(&conf, 2, &d));
    CHECK(a->hash == b->hash && a->hash != c->hash && a->hash == d->hash);
    mot_dataset_close(a);
    mot_dataset_close(b);
    mot_dataset_close(c);
    mot_dataset_close(d);
}

TEST(shuffling_keeps_every_row_once_with_its_label)
{
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    conf.scale = MOT_SCALE_NONE;
    conf.valid = 0.1;
    MUST(mot_dataset_open(&conf, 3, &set));
    CHECK_INT(set->train.rows + set->valid.rows + set->test.rows, 1797);
    struct mot_raw raw;
    mot_read_digits(UINT64_MAX, &raw);
    uint64_t sum = 0, expected = 0; /* a sum of hashes does not depend on the order */
    for (uint32_t r = 0; r < 1797; r++) {
        const struct mot_table *t = r < set->train.rows ? &set->train
            : r < set->train.rows + set->valid.rows     ? &set->valid
                                                        : &set->test;
        uint32_t at = t == &set->train ? r
            : t == &set->valid         ? r - set->train.rows
                                       : r - set->train.rows - set->valid.rows;
        sum += XXH64(t->x + at * 64, 256, (uint64_t)t->y[at]);
        expected += XXH64(raw.x + r * 64, 256, (uint64_t)raw.labels.value[r]);
    }
    CHECK(sum == expected);
    mot_raw_free(&raw);
    mot_dataset_close(set);
}

TEST(synthetic_rows_depend_on_the_seed_only)
{
    struct mot_data_conf conf = preset();
    conf.name = "synthetic";
    conf.order = MOT_ORDER_FILE;
    conf.test = 0;
    for (uint32_t kind = 0; kind < 3; kind++) {
        conf.kind = kind;
        conf.size = 500;
        conf.classes = 3;
        struct mot_dataset *small, *large, *other;
        MUST(mot_dataset_open(&conf, 7, &small));
        MUST(mot_dataset_open(&conf, 8, &other));
        conf.size = 900;
        MUST(mot_dataset_open(&conf, 7, &large));
        CHECK(memcmp(small->train.x, large->train.x, (size_t)500 * 20 * 4) == 0);
        CHECK(memcmp(small->train.y, large->train.y, 500 * 4) == 0);
        CHECK(small->hash != other->hash);
        CHECK_INT(small->train.classes, kind == MOT_SYNTHETIC_REGRESSION ? 0 : 3);
        mot_dataset_close(small);
        mot_dataset_close(large);
        mot_dataset_close(other);
    }
}

TEST(blobs_without_noise_sit_on_their_centres)
{
    struct mot_data_conf conf = preset();
    conf.name = "synthetic";
    conf.noise = 0;
    conf.order = MOT_ORDER_FILE;
    struct mot_dataset *set;
    MUST(mot_dataset_open(&conf, 7, &set));
    CHECK(memcmp(set->train.x, set->train.x + 2 * 20, 20 * 4) == 0);
    CHECK(memcmp(set->train.x, set->train.x + 20, 20 * 4) != 0);
    mot_dataset_close(set);
}

/* Rows of a class that are equal are of one cloud. */
TEST(each_mode_of_a_class_has_half_the_rows_of_the_one_before_and_the_last_as_many)
{
    struct mot_data_conf conf = preset();
    conf.name = "synthetic";
    conf.noise = 0;
    conf.modes = 4;
    conf.size = 320;
    conf.test = 0;
    conf.order = MOT_ORDER_FILE;
    struct mot_dataset *set;
    MUST(mot_dataset_open(&conf, 7, &set));
    for (uint32_t label = 0; label < 2; label++) {
        static const uint32_t at[] = { 0, 1, 3, 7 }, expected[] = { 80, 40, 20, 20 };
        for (size_t mode = 0; mode < 4; mode++) {
            const float *first = set->train.x + (2 * at[mode] + label) * 20;
            uint32_t rows = 0;
            for (uint32_t r = label; r < 320; r += 2)
                rows += memcmp(first, set->train.x + (size_t)r * 20, 20 * 4) == 0;
            CHECK_INT(rows, expected[mode]);
        }
    }
    mot_dataset_close(set);
}

TEST(an_unknown_name_lists_the_known_and_the_nearest)
{
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    conf.name = "digit";
    CHECK_INT(mot_dataset_open(&conf, 1, &set), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "digits, fashion-mnist, synthetic");
    CHECK_HAS(mot_error(), "did you mean 'digits'");
}

TEST(a_name_that_is_a_file_is_opened)
{
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    conf.name = write_file("plain", "1 1:1\n0 2:1\n1 1:2\n0 2:2\n1 2:1\n");
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_INT(set->train.rows, 4);
    CHECK_INT(set->test.rows, 1);
    mot_dataset_close(set);
}

TEST(fashion_mnist_that_is_missing_says_how_to_get_it)
{
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    conf.name = "fashion-mnist";
    setenv("MOTLEY_DATA", "/nowhere", 1);
    CHECK_INT(mot_dataset_open(&conf, 1, &set), MOT_EDATA);
    CHECK(!mot_builtins[1].available());
    unsetenv("MOTLEY_DATA");
    CHECK_HAS(mot_error(), "no train-images-idx3-ubyte.gz in /nowhere/fashion-mnist");
    CHECK_HAS(mot_error(), "apt-get install dataset-fashion-mnist");
}

TEST(fashion_mnist_has_its_own_test_part)
{
    const struct mot_builtin *fashion = &mot_builtins[1];
    if (!fashion->available()) SKIP("dataset-fashion-mnist is not installed");
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    conf.name = "fashion-mnist";
    conf.rows = 1000;
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_INT(set->train.rows, 1000);
    CHECK_INT(set->test.rows, 10000);
    CHECK_INT(set->train.cols, 784);
    CHECK_NEAR(set->factor[0], 1 / 255.0, 1e-9);
    mot_dataset_close(set);
    conf.test = 0.5;
    CHECK_INT(mot_dataset_open(&conf, 1, &set), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "test rows of its own");
}

/* ---- labels ---------------------------------------------------------------------------- */

TEST(labels_become_classes_in_order_of_value)
{
    static const struct {
        const char *text;
        uint32_t classes;
        const char *names[3];
        float y[3];
    } cases[] = {
        { "+1 1:1\n-1 1:2\n+1 1:3\n", 2, { "-1", "+1" }, { 1, 0, 1 } },
        { "2 1:1\n1 1:2\n2 1:3\n", 2, { "1", "2" }, { 1, 0, 1 } },
        { "1 1:1\n0 1:2\n1.0 1:3\n", 2, { "0", "1" }, { 1, 0, 1 } },
        { "10 1:1\n9 1:2\n-3 1:3\n", 3, { "-3", "9", "10" }, { 2, 1, 0 } },
        { "0.5 1:1\n9 1:2\n-3 1:3\n", 0, { 0 }, { 0.5f, 9, -3 } },
        { "1,cat\n2,ant\n3,cat\n", 2, { "ant", "cat" }, { 1, 0, 1 } },
        { "x,y\n1,cat\n2,7\n3,-2\n", 3, { "-2", "7", "cat" }, { 2, 1, 0 } },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        struct mot_data_conf conf = file_conf(write_file("labels", cases[i].text));
        struct mot_dataset *set;
        MUST(mot_dataset_open(&conf, 1, &set));
        CHECK_INT(set->train.classes, cases[i].classes);
        for (uint32_t c = 0; c < cases[i].classes; c++) CHECK_TEXT(set->class_names[c], cases[i].names[c]);
        for (uint32_t r = 0; r < 3; r++) CHECK_NEAR(set->train.y[r], cases[i].y[r], 0);
        mot_dataset_close(set);
    }
}

TEST(more_than_a_hundred_whole_numbers_are_values_unless_told)
{
    char text[4000];
    size_t n = 0;
    for (int i = 0; i < 101; i++) n += (size_t)snprintf(text + n, sizeof text - n, "%d 1:1\n", i);
    struct mot_data_conf conf = file_conf(write_file("many", text));
    struct mot_dataset *set;
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_INT(set->train.classes, 0);
    mot_dataset_close(set);
    conf.task = MOT_TASK_CLASSES;
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_INT(set->train.classes, 101);
    mot_dataset_close(set);
    conf = file_conf(write_file("words", "1,2\n2,two\n"));
    conf.task = MOT_TASK_REGRESSION;
    CHECK_INT(mot_dataset_open(&conf, 1, &set), MOT_EDATA);
    CHECK_HAS(mot_error(), "words:2: label 'two', expected a number");
}

/* ---- order and split ------------------------------------------------------------------------ */

TEST(sorted_is_stable_and_the_last_rows_are_the_test)
{
    struct mot_data_conf conf = file_conf(write_file("sort", "1 1:1\n0 1:2\n1 1:3\n0 1:4\n0 1:5\n"));
    struct mot_dataset *set;
    conf.order = MOT_ORDER_SORTED;
    conf.test = 0.2;
    MUST(mot_dataset_open(&conf, 1, &set));
    static const float expected[5] = { 2, 4, 5, 1, 3 };
    CHECK_INT(set->train.rows, 4);
    for (uint32_t r = 0; r < 4; r++) CHECK_NEAR(set->train.val[set->train.row_at[r]], expected[r], 0);
    CHECK_NEAR(set->test.val[set->test.row_at[0]], 3, 0);
    CHECK_NEAR(set->test.y[0], 1, 0);
    mot_dataset_close(set);
}

TEST(rows_takes_the_first_of_the_file_before_any_order)
{
    struct mot_data_conf conf = file_conf(write_file("rows", "3 1:1\n2 1:2\n1 1:3\n0 1:4\n"));
    struct mot_dataset *set;
    conf.rows = 3;
    conf.order = MOT_ORDER_SORTED;
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_INT(set->train.rows, 3);
    CHECK_NEAR(set->train.val[0], 3, 0);
    mot_dataset_close(set);
    conf.rows = 5;
    CHECK_INT(mot_dataset_open(&conf, 1, &set), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "there are 4");
}

TEST(a_split_that_leaves_nothing_to_train_on_is_refused)
{
    struct mot_data_conf conf = file_conf(write_file("tiny", "1 1:1\n0 1:2\n"));
    struct mot_dataset *set;
    conf.test = conf.valid = 0.5;
    CHECK_INT(mot_dataset_open(&conf, 1, &set), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "expected some for training");
}

TEST(a_test_file_is_fitted_to_the_training_file)
{
    struct mot_data_conf conf = file_conf(write_file("train.libsvm", "-1 1:1 3:1\n+1 2:1\n"));
    struct mot_dataset *set;
    conf.test = NAN;
    conf.test_path = write_file("test.libsvm", "1 1:5\n");
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_INT(set->train.rows, 2);
    CHECK_INT(set->test.rows, 1);
    CHECK_INT(set->test.cols, 3);
    CHECK_NEAR(set->test.y[0], 1, 0); /* "1" is "+1" */
    mot_dataset_close(set);
    conf.test_path = write_file("test2.libsvm", "1 1:5\n3 1:5\n");
    CHECK_INT(mot_dataset_open(&conf, 1, &set), MOT_EDATA);
    CHECK_HAS(mot_error(), "test2.libsvm:2: label '3' is not among the known classes: -1, +1");
    conf.test_path = write_file("test3.csv", "1,2,3,1\n");
    CHECK_INT(mot_dataset_open(&conf, 1, &set), MOT_EDATA);
    CHECK_HAS(mot_error(), "dense rows, expected sparse rows");
}

/* ---- scaling ----------------------------------------------------------------------------------- */

TEST(standard_scaling_is_fitted_on_the_training_rows_only)
{
    struct mot_data_conf conf = file_conf(write_file("scale.csv", "1,5,0\n3,5,1\n1,5,0\n3,5,1\n1000,7,0\n"));
    struct mot_dataset *set;
    conf.test = 0.2;
    conf.scale = MOT_SCALE_AUTO;
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_INT(set->scale, MOT_SCALE_STANDARD);
    CHECK_NEAR(set->shift[0], 2, 0);
    CHECK_NEAR(set->factor[0], 1, 0);
    CHECK_NEAR(set->factor[1], 1, 0); /* constant: only shifted */
    CHECK_NEAR(set->train.x[0], -1, 0);
    CHECK_NEAR(set->train.x[1], 0, 0);
    CHECK_NEAR(set->test.x[0], 998, 0);
    CHECK_NEAR(set->test.x[1], 2, 0);
    mot_dataset_close(set);
}

TEST(minmax_scales_each_column_to_0_1)
{
    struct mot_data_conf conf = file_conf(write_file("minmax.csv", "1,-4,0\n3,4,1\n2,0,0\n"));
    struct mot_dataset *set;
    conf.scale = MOT_SCALE_MINMAX;
    MUST(mot_dataset_open(&conf, 1, &set));
    static const float expected[6] = { 0, 0, 1, 1, 0.5, 0.5 };
    for (int i = 0; i < 6; i++) CHECK_NEAR(set->train.x[i], expected[i], 1e-7);
    mot_dataset_close(set);
}

TEST(sparse_data_are_scaled_without_a_shift)
{
    struct mot_data_conf conf = file_conf(write_file("sparse", "1 1:2 2:-8\n0 1:4\n1 2:4\n0 1:2\n"));
    struct mot_dataset *set;
    conf.scale = MOT_SCALE_MINMAX;
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK(set->shift == NULL && set->train.row_at != NULL);
    CHECK_NEAR(set->factor[0], 0.25, 0);
    CHECK_NEAR(set->factor[1], 0.125, 0);
    CHECK_NEAR(set->train.val[1], -1, 0);
    mot_dataset_close(set);
    conf.scale = MOT_SCALE_STANDARD;
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK(set->shift == NULL);
    CHECK_NEAR(set->factor[0], 1 / sqrt(2.0), 1e-7); /* 2 4 0 2: mean 2, variance 2 */
    CHECK_INT(set->train.row_at[4], 5);
    mot_dataset_close(set);
}

TEST(unit_rows_have_length_one_and_empty_rows_stay)
{
    struct mot_data_conf conf = file_conf(write_file("unit", "1 1:3 2:4\n0\n"));
    struct mot_dataset *set;
    conf.scale = MOT_SCALE_UNIT;
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_NEAR(set->train.val[0], 0.6, 1e-7);
    CHECK_NEAR(set->train.val[1], 0.8, 1e-7);
    mot_dataset_close(set);
}

TEST(numbers_that_scaling_would_make_infinite_are_refused)
{
    struct mot_data_conf conf = file_conf(write_file("wide.csv", "1e-42,0\n2e-42,1\n3e38,1\n"));
    struct mot_dataset *set;
    conf.scale = MOT_SCALE_STANDARD;
    conf.test = 0.3;
    CHECK_INT(mot_dataset_open(&conf, 1, &set), MOT_EDATA);
    CHECK_HAS(mot_error(), "range of a 32-bit float");
}

/* ---- in the units of a model ---------------------------------------------------------------------- */

TEST(data_for_a_model_are_read_in_its_units)
{
    char *names[] = { (char[]){ "-1" }, (char[]){ "+1" } };
    float shift[2] = { 1, 2 }, factor[2] = { 10, 100 };
    struct mot_schema schema = { .cols = 2,
        .classes = 2,
        .scale = MOT_SCALE_STANDARD,
        .class_names = names,
        .shift = shift,
        .factor = factor };
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    conf.path = write_file("as.csv", "a,b,y\n2,3,1\n1,2,-1\n");
    MUST(mot_dataset_open_as(&conf, &schema, &set));
    CHECK_INT(set->train.rows, 2);
    CHECK_NEAR(set->train.x[0], 10, 0);
    CHECK_NEAR(set->train.x[1], 100, 0);
    CHECK_NEAR(set->train.y[0], 1, 0);
    CHECK_NEAR(set->train.y[1], 0, 0);
    mot_dataset_close(set);
    conf.path = write_file("as2.csv", "a,b,y\n2,3,1\n1,2,dog\n");
    CHECK_INT(mot_dataset_open_as(&conf, &schema, &set), MOT_EDATA);
    CHECK_HAS(mot_error(), "as2.csv:3: label 'dog' is not among the known classes: -1, +1");
    conf.path = write_file("as3.csv", "a,b,c,y\n2,3,3,1\n");
    CHECK_INT(mot_dataset_open_as(&conf, &schema, &set), MOT_EDATA);
    CHECK_HAS(mot_error(), "3 columns of features, expected 2");
    conf.path = write_file("as4.csv", "a,b\n2,3\n");
    conf.label_column = "none";
    MUST(mot_dataset_open_as(&conf, &schema, &set));
    CHECK(set->train.y == NULL);
    CHECK_NEAR(set->train.x[1], 100, 0);
    mot_dataset_close(set);
    CHECK_INT(mot_dataset_open(&conf, 1, &set), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "training needs labels");
}

TEST(sparse_data_for_a_model_may_have_fewer_columns)
{
    char *names[] = { (char[]){ "0" }, (char[]){ "1" } };
    struct mot_schema schema = { .cols = 5, .classes = 2, .scale = MOT_SCALE_NONE, .class_names = names };
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    conf.path = write_file("fewer", "1 1:1 3:2\n");
    MUST(mot_dataset_open_as(&conf, &schema, &set));
    CHECK_INT(set->train.cols, 5);
    mot_dataset_close(set);
    conf.path = write_file("more", "1 1:1 6:2\n");
    CHECK_INT(mot_dataset_open_as(&conf, &schema, &set), MOT_EDATA);
    CHECK_HAS(mot_error(), "6 columns of features, expected at most 5");
}

/* ---- there and back ---------------------------------------------------------------------------------- */

static bool same_table(const struct mot_raw *a, const struct mot_raw *b)
{
    if (a->rows != b->rows || a->cols != b->cols) return false;
    for (uint32_t r = 0; r < a->rows; r++) {
        float x[2][64] = { { 0 } };
        const struct mot_raw *both[2] = { a, b };
        for (int k = 0; k < 2; k++)
            for (uint32_t c = 0; c < a->cols && !both[k]->sparse; c++)
                x[k][c] = both[k]->x[(size_t)r * a->cols + c];
        for (int k = 0; k < 2; k++)
            for (uint64_t i = both[k]->sparse ? both[k]->row_at[r] : 1;
                 both[k]->sparse && i < both[k]->row_at[r + 1]; i++)
                x[k][both[k]->col[i]] = both[k]->val[i];
        if (memcmp(x[0], x[1], sizeof x[0]) != 0 || a->labels.value[r] != b->labels.value[r]) return false;
    }
    return true;
}

TEST(every_format_comes_back_as_it_went)
{
    static const struct {
        const char *name;
        enum mot_format format;
    } ways[] = {
        { "digits.csv", MOT_FORMAT_CSV },
        { "digits.libsvm", MOT_FORMAT_LIBSVM },
        { "digits.npy", MOT_FORMAT_NPY },
        { "digits-images-idx3-ubyte", MOT_FORMAT_IDX },
        { "digits.csv.gz", MOT_FORMAT_CSV },
        { "digits.libsvm.gz", MOT_FORMAT_LIBSVM },
        { "digits.npy.gz", MOT_FORMAT_NPY },
        { "digits-images-idx3-ubyte.gz", MOT_FORMAT_IDX },
    };
    struct mot_raw digits, back;
    struct mot_read_conf read = mot_read_preset();
    mot_read_digits(UINT64_MAX, &digits);
    for (size_t i = 0; i < MOT_COUNT(ways); i++) {
        const char *path = write_file(ways[i].name, "");
        MUST(mot_raw_write(&digits, path, NULL, ways[i].format));
        MUST(mot_raw_open_file(path, NULL, MOT_FORMAT_AUTO, &read, &back));
        CHECK_INT(back.format, ways[i].format);
        if (!same_table(&digits, &back)) FAIL("%s is not what was written", path);
        mot_raw_free(&back);
    }
    mot_raw_free(&digits);
}

TEST(odd_floats_and_spellings_survive_a_round_trip)
{
    struct mot_raw raw, back;
    MUST(read_text(
        MOT_FORMAT_LIBSVM, "+1 1:0.1 2:1e-40 3:3.4028235e38\n-1 2:-16777217 3:0.333333333333\n", &raw));
    static const enum mot_format formats[] = { MOT_FORMAT_CSV, MOT_FORMAT_LIBSVM, MOT_FORMAT_NPY };
    struct mot_read_conf read = mot_read_preset();
    for (size_t i = 0; i < 3; i++) {
        const char *path = write_file("odd", "");
        MUST(mot_raw_write(&raw, path, NULL, formats[i]));
        MUST(mot_raw_open_file(path, NULL, MOT_FORMAT_AUTO, &read, &back));
        CHECK(same_table(&raw, &back));
        if (i < 2) CHECK_TEXT(label_of(&back, 0), "+1");
        mot_raw_free(&back);
    }
    CHECK_INT(mot_raw_write(&raw, write_file("odd.idx", ""), NULL, MOT_FORMAT_IDX), MOT_EDATA);
    mot_raw_free(&raw);
    MUST(read_text(MOT_FORMAT_CSV, "a,\"b, c\"\n1,\"x \"\"y\"\"\"\n2,z\n", &raw));
    const char *path = write_file("words.csv", "");
    MUST(mot_raw_write(&raw, path, NULL, MOT_FORMAT_CSV));
    MUST(mot_raw_open_file(path, NULL, MOT_FORMAT_AUTO, &read, &back));
    CHECK_TEXT(label_of(&back, 0), "x \"y\"");
    CHECK_TEXT(back.label_name, "b, c");
    mot_raw_free(&back);
    CHECK_INT(mot_raw_write(&raw, write_file("words.libsvm", ""), NULL, MOT_FORMAT_LIBSVM), MOT_EDATA);
    CHECK_HAS(mot_error(), "words");
    mot_raw_free(&raw);
}

TEST(labels_are_found_by_their_usual_names)
{
    static const struct {
        enum mot_format format;
        const char *path, *labels;
    } cases[] = {
        { MOT_FORMAT_IDX, "d/train-images-idx3-ubyte.gz", "d/train-labels-idx1-ubyte.gz" },
        { MOT_FORMAT_IDX, "images/train-images.idx3-ubyte", "images/train-labels.idx1-ubyte" },
        { MOT_FORMAT_NPY, "X.npy", "y.npy" },
        { MOT_FORMAT_NPY, "a/x_train.npy.gz", "a/y_train.npy.gz" },
        { MOT_FORMAT_NPY, "train_X.npy", "train_y.npy" },
        { MOT_FORMAT_NPY, "train-images.npy", "train-labels.npy" },
        { MOT_FORMAT_NPY, "a.b/iris.npy", "a.b/iris-labels.npy" },
    };
    for (size_t i = 0; i < MOT_COUNT(cases); i++) {
        char *labels = mot_labels_path(cases[i].path, cases[i].format);
        CHECK_TEXT(labels, cases[i].labels);
        free(labels);
    }
    struct mot_raw raw;
    struct mot_read_conf read = mot_read_preset();
    const char *path = write_file("lonely.npy", "\x93NUMPY");
    CHECK_INT(mot_raw_open_file(path, NULL, MOT_FORMAT_AUTO, &read, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "lonely-labels.npy, which does not exist");
}

TEST_MAIN()
