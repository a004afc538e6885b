/* grid.h -- rows of text in columns that fit their contents. */
#ifndef MOT_PAGE_GRID_H
#define MOT_PAGE_GRID_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Cells are added row by row; the first row is the heading. Lines that would be too long are
 * folded: columns from `fold` on come below, with the first column again. If that does not help, the first
 * column is cut. */
struct mot_grid {
    size_t columns, cells, room;
    size_t fold; /* 0: nowhere */
    char **cell;
};
void mot_grid_open(struct mot_grid *, size_t columns);
void mot_grid_add(struct mot_grid *, const char *text);
void mot_grid_addf(struct mot_grid *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mot_grid_print(const struct mot_grid *, size_t columns, FILE *out, bool colour);
void mot_grid_close(struct mot_grid *);

/* Wraps words to `columns`; the first line begins with `first`, the others with `rest`. */
void mot_text_wrap(const char *text, const char *first, const char *rest, size_t columns, FILE *out);

#endif
