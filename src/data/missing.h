/* missing.h -- missing values: NaN in a table as read, until they are filled in. */
#ifndef MOT_DATA_MISSING_H
#define MOT_DATA_MISSING_H

#include "data/raw.h"

enum mot_missing {
    MOT_MISSING_REFUSE,
    MOT_MISSING_MEAN,
    MOT_MISSING_MEDIAN,
    MOT_MISSING_FREQUENT,
    MOT_MISSING_VALUE
};

/* What the key `missing` says; *value_out only for a number. */
enum mot_status mot_missing_read(const char *text, enum mot_missing *out, float *value_out);

/* What a missing value of each column becomes, from rows 0..rows-1; malloc'd [cols]. In columns of words it
 * is the most frequent word, or none if a number was asked for. An error if a column has no value at all. */
enum mot_status mot_missing_fit(
    const struct mot_raw *, const char *name, uint32_t rows, enum mot_missing, float value, float **fill_out);
void mot_missing_fill(struct mot_raw *, const float *fill);
uint64_t mot_missing_count(const struct mot_raw *, uint32_t column); /* rows without a value */

#endif
