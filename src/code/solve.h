/* solve.h -- least squares in double, in the caller's memory. */
#ifndef MOT_CODE_SOLVE_H
#define MOT_CODE_SOLVE_H

#include <stddef.h>
#include <stdint.h>

/* Doubles of scratch memory for mot_least_squares. */
size_t mot_least_squares_room(uint32_t rows, uint32_t cols);

/* The x[cols] that minimises |A x - b|, by Householder QR with column pivoting. Column k of A is a[k * rows]
 * .. ; A is overwritten. Columns that depend on others get 0, and so do all but `rank`, since a matrix that
 * is singular by design no longer is once its entries are rounded. Normal equations would lose half of the
 * digits. */
void mot_least_squares(
    uint32_t rows, uint32_t cols, uint32_t rank, double *a, const double *b, double *x, double *scratch);

#endif
