#include "page/grid.h"
#include "base/memory.h"
#include "base/shown.h"
#include <stdlib.h>
#include <string.h>

#define INDENT 2
#define GAP 2
#define NAME_LEAST 8 /* columns a name always keeps */

void mot_text_wrap(const char *text, const char *first, const char *rest, size_t columns, FILE *out)
{
    size_t at = 0;
    const char *lead = first;
    while (*text) {
        size_t n = strcspn(text, " ");
        while (text[n] && text[n + 1] == '%') n += 1 + strcspn(text + n + 1, " "); /* "90 %" stays together */
        char *word = mot_format("%.*s", (int)n, text);
        size_t width = mot_text_width(word);
        if (at && at + 1 + width > columns) {
            fputc('\n', out);
            at = 0;
        }
        fputs(at ? " " : lead, out);
        at += (at ? 1 : strlen(lead)) + width;
        lead = rest;
        fputs(word, out);
        free(word);
        text += n;
        while (*text == ' ') text++;
    }
    fputc('\n', out);
}

void mot_grid_open(struct mot_grid *g, size_t columns) { *g = (struct mot_grid){ .columns = columns }; }

void mot_grid_add(struct mot_grid *g, const char *text)
{
    if (g->cells == g->room) {
        g->room = g->room ? 2 * g->room : 64;
        g->cell = mot_grow(g->cell, g->room, sizeof(*g->cell));
    }
    g->cell[g->cells++] = mot_text(text);
}

void mot_grid_addf(struct mot_grid *g, const char *format, ...)
{
    va_list rest;
    char *text = NULL;
    va_start(rest, format);
    if (vasprintf(&text, format, rest) < 0) text = NULL;
    va_end(rest);
    mot_grid_add(g, text ? text : "");
    free(text);
}

/* The width of each column; the first gets what the others leave. *all_out: what all would take. */
static size_t *widths(const struct mot_grid *g, size_t columns, size_t *all_out)
{
    size_t *width = mot_new(g->columns, sizeof(*width)), all = INDENT;
    for (size_t i = 0; i < g->cells; i++) {
        size_t mine = mot_text_width(g->cell[i]);
        if (mine > width[i % g->columns]) width[i % g->columns] = mine;
    }
    for (size_t i = 0; i < g->columns; i++) all += width[i] + (width[i] && i + 1 < g->columns ? GAP : 0);
    *all_out = all;
    size_t over = all > columns ? all - columns : 0, least = width[0] < NAME_LEAST ? width[0] : NAME_LEAST;
    width[0] = width[0] > over + least ? width[0] - over : least;
    return width;
}

/* The first column and those from `from` up to `to`. */
static void print_some(
    const struct mot_grid *g, size_t from, size_t to, size_t columns, FILE *out, bool colour)
{
    struct mot_grid some;
    mot_grid_open(&some, 1 + to - from);
    for (size_t i = 0; i < g->cells; i++) {
        size_t column = i % g->columns;
        if (column == 0 || (column >= from && column < to)) mot_grid_add(&some, g->cell[i]);
    }
    mot_grid_print(&some, columns, out, colour);
    mot_grid_close(&some);
}

void mot_grid_print(const struct mot_grid *g, size_t columns, FILE *out, bool colour)
{
    size_t all, *width = widths(g, columns, &all);
    if (all > columns && g->fold) {
        free(width);
        print_some(g, 1, g->fold, columns, out, colour);
        fputc('\n', out);
        print_some(g, g->fold, g->columns, columns, out, colour);
        return;
    }
    for (size_t row = 0; row * g->columns < g->cells; row++) {
        size_t owed = INDENT; /* no trailing spaces */
        if (row == 0 && colour) fputs("\x1b[2m", out);
        for (size_t i = 0; i < g->columns; i++) {
            const char *cell = g->cell[row * g->columns + i];
            size_t mine = mot_text_width(cell), bytes = strlen(cell);
            bool cut = mine > width[i];
            if (cut) bytes = mot_text_cut(cell, width[i] - 1);
            if (*cell) fprintf(out, "%*s%.*s%s", (int)owed, "", (int)bytes, cell, cut ? "~" : "");
            size_t rest = (cut ? 0 : width[i] - mine) + (width[i] ? GAP : 0);
            owed = *cell ? rest : owed + rest;
        }
        if (row == 0 && colour) fputs("\x1b[0m", out);
        fputc('\n', out);
    }
    free(width);
}

void mot_grid_close(struct mot_grid *g)
{
    for (size_t i = 0; i < g->cells; i++) free(g->cell[i]);
    free(g->cell);
}
