/* synthetic.c -- generated data whose difficulty is one number. The signal has size 1 in every
 * kind, `noise` is the deviation of what is added to it. A row is a function of
 * (seed, its number), so a larger set begins with the smaller one. */
#include "base/memory.h"
#include "base/rng.h"
#include "base/words.h"
#include "data/formats.h"
#include <math.h>
#include <stdlib.h>

#define TRUTH 0 /* the stream of centres and weights; rows use their number + 1 */

/* [n][cols], each row of length about 1: centres of blobs, or weights. NULL: no memory. */
static float *make_truth(uint64_t seed, uint32_t n, uint32_t cols)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_SYNTHETIC, TRUTH);
    float *truth = mot_new_large((size_t)n * cols, sizeof *truth);
    double scale = 1 / sqrt(cols);
    for (size_t i = 0; truth && i < (size_t)n * cols; i++) truth[i] = (float)(scale * mot_rng_normal(&rng));
    return truth;
}

static double dot(const float *a, const float *b, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* Which cloud of its class the k-th row of the class belongs to: 0 1 0 2 0 1 0 3 ..., up to modes - 1. Each
 * has half the rows of the one before; the last has as many. */
static uint32_t mode_of(uint64_t k, uint64_t modes)
{
    uint32_t mode = 0;
    for (k++; k % 2 == 0 && mode + 1 < modes; k /= 2) mode++;
    return mode;
}

/* Fills a row and returns its label. */
static double make_row(const struct mot_data_conf *conf, const float *truth, uint32_t classes, uint64_t seed,
    uint64_t row, float *x)
{
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_SYNTHETIC, row + 1);
    uint32_t cols = (uint32_t)conf->cols, best = 0;
    if (conf->kind == MOT_SYNTHETIC_BLOBS) {
        uint32_t label = (uint32_t)(row % classes), mode = mode_of(row / classes, conf->modes);
        const float *centre = truth + ((size_t)mode * classes + label) * cols;
        for (uint32_t c = 0; c < cols; c++)
            x[c] = (float)((double)centre[c] + conf->noise * mot_rng_normal(&rng));
        return label;
    }
    for (uint32_t c = 0; c < cols; c++) x[c] = (float)mot_rng_normal(&rng);
    if (conf->kind == MOT_SYNTHETIC_REGRESSION)
        return dot(truth, x, cols) + conf->noise * mot_rng_normal(&rng);
    double best_score = -INFINITY;
    for (uint32_t k = 0; k < classes; k++) {
        double score = dot(truth + (size_t)k * cols, x, cols) + conf->noise * mot_rng_normal(&rng);
        if (score > best_score) {
            best_score = score;
            best = k;
        }
    }
    return best;
}

enum mot_status mot_make_synthetic(
    const struct mot_data_conf *conf, uint64_t seed, const struct mot_read_conf *read, struct mot_raw *out)
{
    bool regression = conf->kind == MOT_SYNTHETIC_REGRESSION;
    uint64_t rows = conf->size < read->rows ? conf->size : read->rows;
    uint32_t classes = regression ? 1 : (uint32_t)conf->classes,
             centres = conf->kind == MOT_SYNTHETIC_BLOBS ? classes * (uint32_t)conf->modes : classes;
    if (conf->size == 0 || conf->cols == 0 || conf->classes < 2)
        return mot_fail(MOT_EUSAGE,
            "synthetic: %llu rows of %llu columns in %llu classes, expected at least 1 of 1 in 2",
            (unsigned long long)conf->size, (unsigned long long)conf->cols,
            (unsigned long long)conf->classes);
    char size[32];
    double bytes = ((double)rows + centres) * (double)conf->cols * sizeof(float);
    if (rows > MOT_ROWS_MAX || conf->cols > MOT_COLS_MAX || conf->classes > MOT_CLASSES_MAX ||
        bytes > (double)read->memory)
        return mot_fail(MOT_EUSAGE,
            "synthetic: %llu rows of %llu columns need %s, more than this machine has",
            (unsigned long long)rows, (unsigned long long)conf->cols,
            mot_show_size(bytes, size, sizeof size));
    struct mot_raw raw = { .rows = (uint32_t)rows, .cols = (uint32_t)conf->cols, .labelled = true };
    raw.x = mot_new_large((size_t)rows * raw.cols, sizeof *raw.x);
    float *truth = make_truth(seed, centres, raw.cols);
    enum mot_status status = mot_memory_status();
    for (uint64_t r = 0; r < rows && status == MOT_OK; r++)
        status = mot_labels_add_number(
            &raw.labels, NULL, make_row(conf, truth, classes, seed, r, raw.x + r * raw.cols), r);
    free(truth);
    if (status != MOT_OK) {
        mot_raw_free(&raw);
        return status;
    }
    *out = raw;
    return MOT_OK;
}
