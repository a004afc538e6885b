/* scale.c -- standard, min-max and unit rows. Sparse tables are never shifted: zeros stay zeros. */
#include "data/scale.h"

#include "base/memory.h"
#include <math.h>
#include <stdlib.h>

struct column {
    double mean, spread, low, high;
};

enum mot_scale mot_scale_auto(const struct mot_raw *raw)
{
    if (raw->picture) return MOT_SCALE_MINMAX;
    bool any =
        raw->format == MOT_FORMAT_CSV || raw->format == MOT_FORMAT_NPY || raw->format == MOT_FORMAT_NPZ;
    return any ? MOT_SCALE_STANDARD : MOT_SCALE_NONE;
}

static void widen(struct column *c, double value)
{
    if (value < c->low) c->low = value;
    if (value > c->high) c->high = value;
}

/* In arrays of floats, so that the compiler takes several columns at once. */
static void measure_ranges(const struct mot_raw *raw, uint32_t rows, struct column *column)
{
    float *low = mot_new_large(raw->cols, sizeof *low), *high = mot_new_large(raw->cols, sizeof *high);
    for (uint32_t c = 0; low && high && c < raw->cols; c++) low[c] = INFINITY, high[c] = -INFINITY;
    for (uint32_t r = 0; low && high && r < rows; r++) {
        const float *x = raw->x + (size_t)r * raw->cols;
        for (uint32_t c = 0; c < raw->cols; c++) {
            low[c] = x[c] < low[c] ? x[c] : low[c];
            high[c] = x[c] > high[c] ? x[c] : high[c];
        }
    }
    for (uint32_t c = 0; low && high && c < raw->cols; c++)
        column[c] = (struct column){ 0, 0, (double)low[c], (double)high[c] };
    free(low);
    free(high);
}

/* Mean first, then the squares around it: no cancellation. */
static void measure_spread(const struct mot_raw *raw, uint32_t rows, struct column *column)
{
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < raw->cols; c++) column[c].mean += (double)raw->x[(size_t)r * raw->cols + c];
    for (uint32_t c = 0; c < raw->cols; c++) column[c].mean /= rows;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < raw->cols; c++) {
            double off = (double)raw->x[(size_t)r * raw->cols + c] - column[c].mean;
            column[c].spread += off * off;
        }
    for (uint32_t c = 0; c < raw->cols; c++) column[c].spread = sqrt(column[c].spread / rows);
}

static void measure_sparse(const struct mot_raw *raw, uint32_t rows, struct column *column)
{
    uint32_t *stored = mot_new_large(raw->cols, sizeof *stored);
    if (!stored) return;
    for (uint64_t i = 0; i < raw->row_at[rows]; i++) {
        struct column *c = &column[raw->col[i]];
        c->mean += (double)raw->val[i];
        stored[raw->col[i]]++;
        if (stored[raw->col[i]] == 1) c->low = c->high = (double)raw->val[i];
        widen(c, (double)raw->val[i]);
    }
    for (uint32_t c = 0; c < raw->cols; c++) {
        column[c].mean /= rows;
        if (stored[c] < rows) widen(&column[c], 0);
        column[c].spread = (double)(rows - stored[c]) * column[c].mean * column[c].mean;
    }
    for (uint64_t i = 0; i < raw->row_at[rows]; i++) {
        double off = (double)raw->val[i] - column[raw->col[i]].mean;
        column[raw->col[i]].spread += off * off;
    }
    for (uint32_t c = 0; c < raw->cols; c++) column[c].spread = sqrt(column[c].spread / rows);
    free(stored);
}

static void merge_ranges(struct column *column, uint32_t cols)
{
    struct column all = column[0];
    for (uint32_t c = 1; c < cols; c++) {
        widen(&all, column[c].low);
        widen(&all, column[c].high);
    }
    for (uint32_t c = 0; c < cols; c++) {
        column[c].low = all.low;
        column[c].high = all.high;
    }
}

void mot_scale_fit(const struct mot_raw *raw, uint32_t rows, enum mot_scale scale, bool one_range,
    float **shift_out, float **factor_out)
{
    *shift_out = *factor_out = NULL;
    if (scale != MOT_SCALE_STANDARD && scale != MOT_SCALE_MINMAX) return;
    struct column *column = mot_new_large(raw->cols, sizeof *column);
    if (!column) return;
    if (raw->sparse) measure_sparse(raw, rows, column);
    else measure_ranges(raw, rows, column);
    if (!raw->sparse && scale == MOT_SCALE_STANDARD) measure_spread(raw, rows, column);
    if (one_range) merge_ranges(column, raw->cols);
    float *factor = mot_new_large(raw->cols, sizeof *factor),
          *shift = raw->sparse ? NULL : mot_new_large(raw->cols, sizeof *shift);
    for (uint32_t c = 0; c < raw->cols && !mot_memory_refused(); c++) {
        const struct column *k = &column[c];
        double largest = fmax(fabs(k->low), fabs(k->high));
        double size = scale == MOT_SCALE_STANDARD ? k->spread : raw->sparse ? largest : k->high - k->low;
        /* A constant column carries no information: it is only shifted. (A sum of equal numbers may round,
         * so look at the range.) */
        bool constant = k->low == k->high && !(raw->sparse && scale == MOT_SCALE_MINMAX);
        factor[c] = constant || !(size > 0) ? 1 : (float)(1 / size);
        if (shift) shift[c] = (float)(scale == MOT_SCALE_STANDARD ? k->mean : k->low);
    }
    /* Words are 0 and 1 already: a rare one would become a large number. */
    for (uint32_t i = 0; i < raw->words.count && !mot_memory_refused(); i++)
        for (uint32_t w = 0; w < raw->words.at[i].count; w++) {
            factor[raw->words.at[i].first + w] = 1;
            if (shift) shift[raw->words.at[i].first + w] = 0;
        }
    free(column);
    *shift_out = shift;
    *factor_out = factor;
}

static float row_length(const float *v, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) sum += (double)v[i] * (double)v[i];
    return sum > 0 ? (float)(1 / sqrt(sum)) : 1;
}

void mot_scale_row(
    float *v, const uint32_t *col, uint64_t n, enum mot_scale scale, const float *shift, const float *factor)
{
    if (scale == MOT_SCALE_UNIT) {
        float length = row_length(v, n);
        for (uint64_t i = 0; i < n; i++) v[i] *= length;
    } else if (col) {
        for (uint64_t i = 0; i < n; i++) v[i] *= factor[col[i]];
    } else {
        for (uint64_t i = 0; i < n; i++) v[i] = (v[i] - (shift ? shift[i] : 0)) * factor[i];
    }
}

static bool finite_row(const float *v, uint64_t n)
{
    float worst = 0; /* infinity - infinity is NaN: a sum of v * 0 is 0 only if all are finite */
    for (uint64_t i = 0; i < n; i++) worst += v[i] * 0;
    return worst == 0;
}

enum mot_status mot_scale_apply(
    struct mot_raw *raw, const char *name, enum mot_scale scale, const float *shift, const float *factor)
{
    if (scale != MOT_SCALE_UNIT && !factor) return MOT_OK;
    for (uint32_t r = 0; r < raw->rows; r++) {
        uint64_t at = raw->sparse ? raw->row_at[r] : (uint64_t)r * raw->cols,
                 n = raw->sparse ? raw->row_at[r + 1] - at : raw->cols;
        float *v = (raw->sparse ? raw->val : raw->x) + at;
        mot_scale_row(v, raw->sparse ? raw->col + at : NULL, n, scale, shift, factor);
        if (!finite_row(v, n))
            return mot_fail(MOT_EDATA,
                "%s: row %u: scaling takes a number out of the range of a 32-bit float: use `scale: none`, "
                "or fix the data",
                name, r);
    }
    return MOT_OK;
}
