/* scale.h -- scaling: fitted on the training rows, applied to all. */
#ifndef MOT_DATA_SCALE_H
#define MOT_DATA_SCALE_H

#include "data/raw.h"

/* What `auto` means for a table. */
enum mot_scale mot_scale_auto(const struct mot_raw *);

/* Shift and factor [cols] from rows 0..rows-1 (either may be NULL). `one_range`: one pair for all columns. */
void mot_scale_fit(const struct mot_raw *, uint32_t rows, enum mot_scale, bool one_range, float **shift_out,
    float **factor_out);

/* Changes every row of the table; fails if a number would leave the range of float. */
enum mot_status mot_scale_apply(
    struct mot_raw *, const char *name, enum mot_scale, const float *shift, const float *factor);

/* Scales the n numbers of one row, without checking the result; col: their columns, NULL: dense. `factor`
 * may be NULL only if the scale is unit. */
void mot_scale_row(
    float *row, const uint32_t *col, uint64_t n, enum mot_scale, const float *shift, const float *factor);

#endif
