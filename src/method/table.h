/* table.h -- gradients by worker, for methods in which every worker's data weighs the same, however many
 * gradients it sends.
 *
 * A row is what one worker has sent: the sum of its gradients over all their samples. A row's mean is sum
 * / samples, and the table's mean is the mean over its rows. Sums over rows are taken in worker order, so
 * they do not depend on the order of arrival. */
#ifndef MOT_METHOD_TABLE_H
#define MOT_METHOD_TABLE_H

#include "method/hub_parts.h"

struct mot_row {
    mot_buf sum;   /* MOT_NO_BUF: the row is empty */
    uint32_t jobs; /* gradients in the row */
    uint32_t own;  /* 1: nobody else holds the buffer, so it can be added to */
    uint32_t spare;
    uint64_t samples;
    uint64_t oldest; /* round of the oldest gradient in it */
};

void mot_row_add(struct mot_env *, struct mot_row *, const struct mot_answer *);
/* Replaces the row by this one gradient. */
void mot_row_set(struct mot_env *, struct mot_row *, mot_buf sum, uint64_t samples, uint64_t round);
void mot_row_clear(struct mot_env *, struct mot_row *);

/* A new buffer that, times `scale`, is the mean of the rows that are not empty; there must be one. If all
 * rows have equally many samples, they are added as they are and divided once, as in a synchronous step:
 * the same to the bit. */
struct mot_mean {
    mot_buf sum;
    double scale;
};
struct mot_mean mot_rows_mean(struct mot_env *, const struct mot_row *, uint32_t rows);

uint32_t mot_rows_filled(const struct mot_row *, uint32_t rows);
/* The same for the mean over all samples of all rows: rows with more samples weigh more. */
struct mot_mean mot_rows_pooled(struct mot_env *, const struct mot_row *, uint32_t rows);
/* Updates since the model of the oldest gradient in the table. */
uint64_t mot_rows_age(const struct mot_row *, uint32_t rows, uint64_t step);

/* ---- The mean as a running sum ------------------------------------------------------------
 * total = the sum of the rows' means, updated at the cost of one row rather than of the table. */

/* A new buffer; all rows may be empty. */
mot_buf mot_rows_total(struct mot_env *, const struct mot_row *, uint32_t rows);
/* Adds `sign` times the row's mean: -1 before the row changes, 1 after it. Only the caller may hold the
 * total. */
void mot_total_add(struct mot_env *, mot_buf total, const struct mot_row *, double sign);

#endif
