/* missing.c -- fills the gaps of a table with what its training rows have in that column. */
#include "data/missing.h"

#include "base/memory.h"
#include "data/number.h"
#include "data/words.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum mot_status mot_missing_read(const char *text, enum mot_missing *out, float *value_out)
{
    static const char *const words[] = { "refuse", "mean", "median", "frequent" };
    for (uint32_t i = 0; i < MOT_COUNT(words); i++)
        if (!text || strcmp(text, words[i]) == 0) {
            *out = text ? (enum mot_missing)i : MOT_MISSING_REFUSE;
            return MOT_OK;
        }
    double value;
    if (!mot_is_number(text, strlen(text), '.', &value) || !isfinite((float)value))
        return mot_fail(MOT_EUSAGE,
            "data.missing: found '%.40s', expected refuse, mean, median, frequent or a number", text);
    *out = MOT_MISSING_VALUE;
    *value_out = (float)value;
    return MOT_OK;
}

uint64_t mot_missing_count(const struct mot_raw *raw, uint32_t column)
{
    uint64_t gaps = 0;
    for (uint32_t r = 0; !raw->sparse && r < raw->rows; r++)
        gaps += isnan(raw->x[(size_t)r * raw->cols + column]) != 0;
    return gaps;
}

static int by_size(const void *a, const void *b)
{
    float p = *(const float *)a, q = *(const float *)b;
    return (p > q) - (p < q);
}

static float mean_of(const float *value, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += (double)value[i];
    return (float)(sum / n);
}

/* Of a sorted column; of two in the middle, their mean. */
static float median_of(const float *value, uint32_t n)
{
    return (float)(((double)value[(n - 1) / 2] + (double)value[n / 2]) / 2);
}

/* Of a sorted column; the smallest if several are as frequent. */
static float most_frequent_of(const float *value, uint32_t n)
{
    uint32_t best = 0, longest = 0;
    for (uint32_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && value[to] == value[from]; to++) {}
        if (to - from > longest) longest = to - from, best = from;
    }
    return value[best];
}

static uint32_t gather(const struct mot_raw *raw, uint32_t rows, uint32_t column, float *value)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < rows; r++) {
        float x = raw->x[(size_t)r * raw->cols + column];
        if (!isnan(x)) value[n++] = x;
    }
    return n;
}

/* One for the word that most rows have, the first if several tie; zeros for the others. */
static uint32_t fill_words(
    const struct mot_raw *raw, uint32_t rows, const struct mot_word_column *words, bool none, float *fill)
{
    uint32_t best = 0, most = 0;
    for (uint32_t w = 0; w < words->count; w++) {
        uint32_t n = 0;
        for (uint32_t r = 0; r < rows; r++) n += raw->x[(size_t)r * raw->cols + words->first + w] == 1;
        if (n > most) most = n, best = w;
    }
    for (uint32_t w = 0; w < words->count; w++) fill[words->first + w] = !none && w == best;
    return words->count;
}

enum mot_status mot_missing_fit(const struct mot_raw *raw, const char *name, uint32_t rows,
    enum mot_missing how, float constant, float **fill_out)
{
    float *fill = mot_new_large(raw->cols, sizeof *fill), *value = mot_new_large(rows, sizeof *value);
    enum mot_status status = mot_memory_status();
    for (uint32_t c = 0; status == MOT_OK && c < raw->cols;) {
        const struct mot_word_column *words = mot_word_column_at(&raw->words, c);
        if (words && words->count) {
            c += fill_words(raw, rows, words, how == MOT_MISSING_VALUE, fill);
            continue;
        }
        uint32_t n = how == MOT_MISSING_VALUE ? 1 : gather(raw, rows, c, value);
        if (n && (how == MOT_MISSING_MEDIAN || how == MOT_MISSING_FREQUENT))
            qsort(value, n, sizeof *value, by_size);
        if (n == 0 && raw->column_names)
            status = mot_fail(MOT_EDATA,
                "%s: column '%.80s' is empty in all training rows, so its gaps cannot be filled: leave it "
                "out with `skip`, or set `missing` to a number",
                name, raw->column_names[c]);
        else if (n == 0)
            status = mot_fail(MOT_EDATA,
                "%s: feature %u is empty in all training rows, so its gaps cannot be filled: leave its "
                "column out with `skip`, or set `missing` to a number",
                name, c);
        else if (how == MOT_MISSING_MEAN) fill[c] = mean_of(value, n);
        else if (how == MOT_MISSING_MEDIAN) fill[c] = median_of(value, n);
        else if (how == MOT_MISSING_FREQUENT) fill[c] = most_frequent_of(value, n);
        else fill[c] = constant;
        c++;
    }
    free(value);
    if (status == MOT_OK) *fill_out = fill;
    else free(fill);
    return status;
}

void mot_missing_fill(struct mot_raw *raw, const float *fill)
{
    for (uint32_t r = 0; r < raw->rows; r++)
        for (uint32_t c = 0; c < raw->cols; c++) {
            float *x = &raw->x[(size_t)r * raw->cols + c];
            if (isnan(*x)) *x = fill[c];
        }
}
