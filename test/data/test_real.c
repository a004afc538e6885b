/* test_real.c -- known facts about real data sets. */
#include "help.h"

static const struct {
    const char *file;
    uint32_t rows, cols;
    uint64_t entries;
    uint32_t classes;
    const char *first_class, *last_class;
    uint32_t first, last;
} facts[] = {
    { "a9a/a9a.gz", 32561, 123, 451592, 2, "-1", "+1", 24720, 7841 },
    { "a9a/a9a.t.gz", 16281, 122, 225731, 2, "-1", "+1", 12435, 3846 },
    { "phishing/phishing.gz", 11055, 68, 331650, 2, "0", "1", 4898, 6157 },
    { "mushrooms/mushrooms.gz", 8124, 112, 170604, 2, "1", "2", 3916, 4208 },
    { "news20/news20.gz", 15935, 62061, 1272569, 20, "1", "20", 0, 0 },
    { "agaricus/agaricus.txt.train.gz", 6513, 126, 143286, 2, "0", "1", 3373, 3140 },
    { "german.numer/german.numer.gz", 1000, 24, 24000, 2, "-1", "+1", 700, 300 },
    { "letter/letter.scale.gz", 15000, 16, 0, 26, "1", "26", 0, 0 },
    { "reuters/reuters.trn.gz", 7770, 8315, 339837, 2, "-1", "+1", 7232, 538 },
    { "elec2/elec.csv.gz", 45312, 6, 45312 * 6, 2, "0", "1", 26075, 19237 },
    { "weather/weather.csv.gz", 18159, 8, 18159 * 8, 2, "0", "1", 12461, 5698 },
    { "covtype-20k/covtype.20k.data.gz", 20000, 54, 20000 * 54, 7, "1", "7", 2942, 2160 },
    { "digits/digits.csv.gz", 1797, 64, 1797 * 64, 10, "0", "9", 178, 180 },
};

TEST(real_files_have_their_published_rows_columns_and_classes)
{
    for (size_t i = 0; i < MOT_COUNT(facts); i++) {
        const char *path = real(facts[i].file);
        NEED(path);
        struct mot_raw raw;
        struct mot_read_conf read = mot_read_preset();
        MUST(mot_raw_open_file(path, NULL, MOT_FORMAT_AUTO, &read, &raw));
        uint32_t classes, *class_of, first = 0, last = 0;
        char **names;
        mot_labels_classes(&raw.labels, &classes, &names, &class_of);
        for (uint32_t r = 0; r < raw.rows; r++) {
            first += class_of[raw.labels.id[r]] == 0;
            last += class_of[raw.labels.id[r]] == classes - 1;
        }
        bool good = raw.rows == facts[i].rows && raw.cols == facts[i].cols && classes == facts[i].classes &&
            (!facts[i].entries || mot_raw_entries(&raw) == facts[i].entries) &&
            strcmp(names[0], facts[i].first_class) == 0 &&
            strcmp(names[classes - 1], facts[i].last_class) == 0 &&
            (!facts[i].first || (first == facts[i].first && last == facts[i].last));
        if (!good)
            FAIL("%s: %u x %u, %llu entries, %u classes %s (%u) .. %s (%u)", facts[i].file, raw.rows,
                raw.cols, (unsigned long long)mot_raw_entries(&raw), classes, names[0], first,
                names[classes - 1], last);
        for (uint32_t c = 0; c < classes; c++) free(names[c]);
        free(names);
        free(class_of);
        mot_raw_free(&raw);
    }
}

TEST(the_first_11000_phishing_rows_come_in_file_order)
{
    struct mot_data_conf conf = preset();
    struct mot_dataset *set, *sorted;
    conf.path = real("phishing/phishing.gz");
    NEED(conf.path);
    conf.rows = 11000;
    conf.order = MOT_ORDER_FILE;
    conf.test = 0;
    MUST(mot_dataset_open(&conf, 1, &set));
    conf.order = MOT_ORDER_SORTED;
    MUST(mot_dataset_open(&conf, 1, &sorted));
    struct mot_raw raw;
    struct mot_read_conf read = mot_read_preset();
    MUST(mot_raw_open_file(conf.path, NULL, MOT_FORMAT_AUTO, &read, &raw));
    CHECK_INT(set->train.rows, 11000);
    CHECK_INT(set->test.rows, 0);
    CHECK_INT(set->scale, MOT_SCALE_NONE);
    uint64_t entries = raw.row_at[11000];
    CHECK(memcmp(set->train.row_at, raw.row_at, 11001 * sizeof *raw.row_at) == 0);
    CHECK(memcmp(set->train.col, raw.col, entries * sizeof *raw.col) == 0);
    CHECK(memcmp(set->train.val, raw.val, entries * sizeof *raw.val) == 0);
    uint32_t zeros = 0;
    for (uint32_t r = 0; r < 11000; r++) {
        CHECK_NEAR(set->train.y[r], raw.labels.value[r], 0);
        zeros += set->train.y[r] == 0;
    }
    CHECK(sorted->train.rows == 11000 && sorted->train.y[zeros - 1] == 0 && sorted->train.y[zeros] == 1);
    mot_raw_free(&raw);
    mot_dataset_close(set);
    mot_dataset_close(sorted);
}

TEST(occupancy_has_row_names_that_its_header_lacks)
{
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    conf.path = real("occupancy/datatraining.txt.gz");
    NEED(conf.path);
    CHECK_INT(mot_dataset_open(&conf, 1, &set), MOT_EDATA);
    CHECK_HAS(
        mot_error(), "datatraining.txt.gz:1003: column 0 ('date'): found '2015-02-05 10:32:00', expected");
    CHECK_HAS(mot_error(), "at most 1000 different words");
    conf.skip = "date";
    conf.test_path = real("occupancy/datatest.txt.gz");
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_INT(set->train.rows, 8143);
    CHECK_INT(set->train.cols, 5);
    CHECK_INT(set->test.rows, 2665);
    CHECK_TEXT(set->column_names[0], "Temperature");
    uint32_t occupied = 0;
    for (uint32_t r = 0; r < 8143; r++) occupied += set->train.y[r] == 1;
    CHECK_INT(occupied, 1729);
    mot_dataset_close(set);
}

TEST(air_quality_has_decimal_commas_and_empty_rows_at_the_end)
{
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    conf.path = real("airquality/AirQualityUCI.csv.gz");
    NEED(conf.path);
    conf.skip = "Date,Time";
    conf.label_column = "CO(GT)";
    conf.order = MOT_ORDER_FILE;
    conf.scale = MOT_SCALE_NONE;
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_INT(set->train.rows + set->test.rows, 9357);
    CHECK_INT(set->train.cols, 12);
    CHECK_INT(set->train.classes, 0);
    CHECK_NEAR(set->train.y[0], 2.6f, 0);
    CHECK_NEAR(set->train.x[0], 1360, 0);
    CHECK_NEAR(set->train.x[2], 11.9f, 0);
    float least = 0;
    for (uint32_t r = 0; r < set->train.rows; r++)
        if (set->train.y[r] < least) least = set->train.y[r];
    CHECK_NEAR(least, -200, 0); /* its mark for a missing value: the reader does not know that */
    mot_dataset_close(set);
}

TEST(gas_names_are_classes_in_the_first_column)
{
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    conf.path = real("gas-drift/batch1.csv.gz");
    NEED(conf.path);
    conf.label_column = "first";
    conf.skip = "1";
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_INT(set->train.rows + set->test.rows, 445);
    CHECK_INT(set->train.cols, 128);
    CHECK_TEXT(set->class_names[0], "Acetaldehyde");
    mot_dataset_close(set);
}

TEST(oil_temperature_is_regression)
{
    struct mot_data_conf conf = preset();
    struct mot_dataset *set;
    conf.path = real("ett/ETTh1.csv.gz");
    NEED(conf.path);
    conf.skip = "date";
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_INT(set->train.rows + set->test.rows, 17420);
    CHECK_INT(set->train.cols, 6);
    CHECK_INT(set->train.classes, 0);
    mot_dataset_close(set);
}

TEST_MAIN()
