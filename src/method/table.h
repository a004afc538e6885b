/* table.h -- gradients by worker, for methods in which every worker's data weigh the same however many
 * gradients it sends.
 *
 * A row is what one worker has sent: the sum of its gradients over all their samples. So a row's mean is sum
 * / samples, and the table's mean is that of its rows. Sums over rows are taken in worker order: then the
 * order of arrival does not show. */
#ifndef MOT_METHOD_TABLE_H
#define MOT_METHOD_TABLE_H

#include "method/hub.h"

struct mot_row {
    mot_buf sum;   /* MOT_NO_BUF: the row is empty */
    uint32_t jobs; /* gradients in it */
    uint32_t own;  /* nobody else holds the buffer: it can be added to */
    uint32_t spare;
    uint64_t samples;
    uint64_t oldest; /* the round of the oldest gradient in it */
};

void mot_row_add(struct mot_env *, struct mot_row *, const struct mot_answer *);
/* The row becomes this one gradient. */
void mot_row_set(struct mot_env *, struct mot_row *, mot_buf sum, uint64_t samples, uint64_t round);
void mot_row_clear(struct mot_env *, struct mot_row *);

/* A new buffer whose `scale`-fold is the mean of the rows that are not empty; one at least is not. Where all
 * rows have as many samples they are added as they are and divided once, as a synchronous step does: the same
 * to the bit. */
struct mot_mean {
    mot_buf sum;
    double scale;
};
struct mot_mean mot_rows_mean(struct mot_env *, const struct mot_row *, uint32_t rows);

uint32_t mot_rows_filled(const struct mot_row *, uint32_t rows);
/* The same for the mean over all samples of all rows: those with more weigh more. */
struct mot_mean mot_rows_pooled(struct mot_env *, const struct mot_row *, uint32_t rows);
/* How many updates ago the oldest gradient of the table was asked for. */
uint64_t mot_rows_age(const struct mot_row *, uint32_t rows, uint64_t step);

/* ---- The mean as a running sum ------------------------------------------------------------
 * total = the sum of the rows' means, kept up to date at the price of a row and not of the table. */

/* A new buffer; no row need be filled. */
mot_buf mot_rows_total(struct mot_env *, const struct mot_row *, uint32_t rows);
/* Adds `sign` times the row's mean: -1 before the row changes, 1
 * after it. The total is held only by the caller. */
void mot_total_add(struct mot_env *, mot_buf total, const struct mot_row *, double sign);

#endif
