/* grid.h -- rows of text in columns as wide as they need to be. */
#ifndef MOT_STUDY_GRID_H
#define MOT_STUDY_GRID_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Cells are added row by row; the first row is the head. Where a line
 * would be too long, the first column is cut. */
struct mot_grid {
    size_t columns, cells, room;
    char **cell;
};
void mot_grid_open(struct mot_grid *, size_t columns);
void mot_grid_add(struct mot_grid *, const char *text);
void mot_grid_addf(struct mot_grid *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mot_grid_print(const struct mot_grid *, size_t columns, FILE *out, bool colour);
void mot_grid_close(struct mot_grid *);

size_t mot_text_width(const char *);            /* characters of UTF-8 */
size_t mot_text_cut(const char *, size_t most); /* bytes of at most so many characters */
/* Words in lines of at most `columns`; the first begins with `first`, the others with `rest`. */
/* names[at] as a part of a file's name: letters, digits and ._= are kept, and what is no ASCII; what else
 * there is becomes a dash. Short, never empty, and unlike those of the names before it. malloc'd. */
char *mot_slug(const char *const *names, size_t at);
void mot_text_wrap(const char *text, const char *first, const char *rest, size_t columns, FILE *out);

#endif
