/* rows.h -- rows of a table as bytes, for a node that lacks them.
 *
 * A row is its label and its features as they are stored: all floats of a dense row, the column and the
 * value of each entry of a sparse one. Whoever gets rows has a table of the same shape. */
#ifndef MOT_DATA_ROWS_H
#define MOT_DATA_ROWS_H

#include <motley/model.h>

uint64_t mot_rows_bytes(const struct mot_table *, const uint32_t *row, uint32_t n);
void mot_rows_pack(const struct mot_table *, const uint32_t *row, uint32_t n, void *out);
/* Writes packed rows into the table. False: they cannot be rows of such a table, and nothing is written. */
bool mot_rows_unpack(struct mot_table *, const uint32_t *row, uint32_t n, const void *in);
/* Whether the table has exactly these rows already. */
bool mot_rows_same(const struct mot_table *, const uint32_t *row, uint32_t n, const void *in);

#endif
