/* words.h -- columns of words: each becomes a column of zeros and ones for every word (one-hot). */
#ifndef MOT_DATA_WORDS_H
#define MOT_DATA_WORDS_H

#include "data/raw.h"

#define MOT_WORDS_MAX 1000 /* different words in a column; more look like names or texts */

void mot_word_columns_free(struct mot_word_columns *); /* and zeroes it */
/* Deep; if memory was refused, the copy is incomplete. */
struct mot_word_columns mot_word_columns_copy(const struct mot_word_columns *);
/* The one that begins as column `c` of the table, or NULL. */
const struct mot_word_column *mot_word_column_at(const struct mot_word_columns *, uint32_t c);

/* The names of a file's features, from which the table's columns were made: pointers into both arguments, in
 * a malloc'd array. NULL if one has no name, or two have the same: then they go by place. */
char **mot_feature_names(
    char *const *column_names, uint32_t cols, const struct mot_word_columns *, uint32_t *n_out);

/* What reading a file found in its feature columns: in `cell` the words of a column's rows, an empty text for
 * a missing one, or NULL for a column of numbers. */
struct mot_worded {
    struct mot_labels *const *cell;      /* [raw.cols] */
    char *const *names;                  /* [raw.cols], or NULL */
    const struct mot_word_columns *like; /* words known from the training data, or NULL */
    bool unknown_zeros;                  /* other words are none of them instead of an error */
    uint64_t memory;                     /* bytes that the table may take */
};
/* Widens the table; rows whose word is missing get NaN in all columns of that word. */
enum mot_status mot_words_spread(struct mot_raw *, const struct mot_source *, const struct mot_worded *);

#endif
