/* page_code.c -- the code of a run: its matrix, and how often each part was used and was expected to be. */
#include "page/page_parts.h"

#include "base/memory.h"
#include <math.h>
#include <stdlib.h>

#define SIDE_MOST 100

/* One share per column of the picture; parts drawn in one column are averaged. */
static void put_shares(const char *key, const json_t *by_part, size_t columns, double updates, FILE *out)
{
    size_t parts = json_array_size(by_part);
    if (parts == 0 || parts < columns) return;
    double sum[SIDE_MOST] = { 0 }, count[SIDE_MOST] = { 0 };
    for (size_t j = 0; j < parts; j++) {
        double value = json_number_value(json_array_get(by_part, j));
        sum[j * columns / parts] += updates > 0 ? 1 - value / updates : value;
        count[j * columns / parts]++;
    }
    fprintf(out, ",\"%s\":[", key);
    for (size_t c = 0; c < columns; c++) {
        if (c) fputc(',', out);
        mot_page_json_number(sum[c] / count[c], out);
    }
    fputc(']', out);
}

void mot_page_code(const json_t *summary, FILE *out)
{
    const json_t *code = json_object_get(summary, "code"), *matrix = mot_json_get_list(code, "matrix"),
                 *prediction = json_object_get(summary, "prediction");
    size_t rows = json_array_size(matrix), columns = json_string_length(json_array_get(matrix, 0));
    double updates = mot_json_get_number(summary, "updates");
    if (rows == 0 || rows > SIDE_MOST || columns == 0 || columns > SIDE_MOST) return;
    fputs(",\"code\":{\"name\":", out), mot_page_json_text(mot_json_get_text(code, "name"), out);
    fprintf(out, ",\"roles\":%zu,\"parts\":%zu,\"stragglers\":%zu,\"approximate\":%s,\"load\":",
        mot_json_get_count(summary, "workers"), mot_json_get_count(code, "parts"),
        mot_json_get_count(code, "stragglers"),
        json_is_true(json_object_get(code, "approximate")) ? "true" : "false");
    mot_page_json_number(mot_json_get_number(code, "load_mean"), out);
    fputs(",\"largest\":", out), mot_page_json_number(mot_json_get_number(code, "largest"), out);
    fputs(",\"words\":", out), mot_page_json_text(mot_json_get_text(prediction, "words"), out);
    fputs(",\"matrix\":", out), mot_page_json(matrix, out);
    if (updates > 0) put_shares("used", mot_json_get_list(summary, "missed_by_part"), columns, updates, out);
    /* Where rounds last until the sum is exact, all parts are in it. */
    if (!json_is_true(json_object_get(prediction, "exact")))
        put_shares("foreseen", mot_json_get_list(prediction, "coverage_by_part"), columns, 0, out);
    fputc('}', out);
}
