/* code_picture.c -- a run's code in its summary: what it is, and its matrix drawn in characters. */
#include "report/report.h"

#include "base/memory.h"
#include "report/json.h"
#include <math.h>
#include <motley/code.h>
#include <stdlib.h>

#define SIDE_MOST 100u /* rows and columns; a larger matrix is made coarser */

/* The matrix made coarser: a cell holds the mean magnitude of its coefficients, or, if it covers just one,
 * that coefficient with its sign. Row r of n falls in row r * rows / n of the picture. */
static double *picture_of(const struct mot_code *c, uint32_t rows, uint32_t columns)
{
    double *cell = mot_new((size_t)rows * columns, sizeof *cell);
    double in_cell = (double)c->workers / rows * ((double)c->parts / columns);
    for (uint32_t r = 0; r < c->workers; r++)
        for (uint32_t k = c->at[r]; k < c->at[r + 1]; k++) {
            uint64_t y = (uint64_t)r * rows / c->workers, x = (uint64_t)c->share[k].part * columns / c->parts;
            double coef = (double)c->share[k].coef;
            cell[y * columns + x] += in_cell > 1 ? fabs(coef) / in_cell : coef;
        }
    return cell;
}

/* One string per row: '.' for zero, '1' to '9' by magnitude, 'a' to 'i' if negative. */
static json_t *rows_json(const double *cell, uint32_t rows, uint32_t columns, double largest)
{
    json_t *list = json_array();
    char line[SIDE_MOST + 1];
    for (uint32_t y = 0; y < rows; y++) {
        for (uint32_t x = 0; x < columns; x++) {
            double value = cell[(size_t)y * columns + x];
            int shade = (int)fmin(9, fmax(1, ceil(9 * fabs(value) / largest - 1e-9)));
            line[x] = value == 0 ? '.' : (char)((value < 0 ? 'a' - 1 : '0') + shade);
        }
        line[columns] = '\0';
        mot_json_add(list, json_string(line));
    }
    return list;
}

void mot_summary_code(json_t *summary, const struct mot_world *w)
{
    const struct mot_code *c = w->code;
    if (!c) return;
    uint32_t rows = c->workers < SIDE_MOST ? c->workers : SIDE_MOST,
             columns = c->parts < SIDE_MOST ? c->parts : SIDE_MOST;
    double *cell = picture_of(c, rows, columns), largest = 0;
    for (size_t i = 0; i < (size_t)rows * columns; i++) largest = fmax(largest, fabs(cell[i]));
    json_t *code = json_object();
    mot_json_set(code, "name", json_string(c->name));
    mot_json_set(code, "parts", json_integer(c->parts));
    mot_json_set(code, "stragglers", json_integer(c->stragglers));
    mot_json_set(code, "approximate", json_boolean(c->approximate));
    mot_json_set(code, "load_mean", mot_json_number((double)c->at[c->workers] / c->workers));
    mot_json_set(code, "load_most", json_integer(c->load_most));
    mot_json_set(code, "largest", mot_json_number(largest));
    mot_json_set(code, "matrix", rows_json(cell, rows, columns, largest));
    mot_json_set(summary, "code", code);
    free(cell);
}
