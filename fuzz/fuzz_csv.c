/* fuzz_csv.c -- any bytes through the CSV reader; the first two bytes choose its options. */
#include "data/missing.h"
#include "data/words.h"
#include "fuzz.h"

/* Read again with the words that it was found to have, a table is the same; so it is by the names of its
 * columns. */
static void fuzz_again(const uint8_t *bytes, size_t n, struct mot_read_conf conf, const struct mot_raw *first)
{
    struct mot_raw raw;
    struct mot_source *s = fuzz_source("x", bytes, n);
    conf.like = &first->words;
    char **name = mot_feature_names(first->column_names, first->cols, &first->words, &conf.columns);
    conf.column = name;
    if (s && mot_read_csv(s, &conf, &raw) == MOT_OK) {
        MOT_ASSERT(raw.cols == first->cols && raw.rows == first->rows);
        for (uint64_t i = 0; i < (uint64_t)raw.rows * raw.cols; i++)
            MOT_ASSERT(raw.x[i] == first->x[i] || (isnan(raw.x[i]) && isnan(first->x[i])));
        mot_raw_free(&raw);
    }
    mot_source_close(s);
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char *const columns[] = { "last", "first", "1", "y" },
                             *const separators[] = { NULL, ";", "tab", "space" };
    struct mot_read_conf conf = fuzz_conf();
    if (n < 2) return 0;
    conf.label_column = columns[bytes[0] & 3];
    conf.separator = separators[bytes[0] >> 2 & 3];
    conf.header = (uint32_t)(bytes[0] >> 4 & 3) % 3;
    conf.unlabelled = bytes[0] >> 6 & 1;
    conf.skip = bytes[0] >> 7 ? "0, x" : NULL;
    conf.keep_missing = bytes[1] & 3;
    conf.words = bytes[1] & 4 ? "1" : NULL;
    struct mot_source *s = fuzz_source("x", bytes + 2, n - 2);
    struct mot_raw raw;
    if (!s) return 0;
    enum mot_status status = mot_read_csv(s, &conf, &raw);
    mot_source_close(s);
    float *fill;
    if (status == MOT_OK) fuzz_again(bytes + 2, n - 2, conf, &raw);
    if (status == MOT_OK && conf.keep_missing) {
        enum mot_missing how = (enum mot_missing)(bytes[1] & 3);
        if (mot_missing_fit(&raw, "x", raw.rows, how, 0, &fill) != MOT_OK) {
            mot_raw_free(&raw);
            return 0;
        }
        mot_missing_fill(&raw, fill);
        free(fill);
    }
    fuzz_check(status, &raw);
    return 0;
}
