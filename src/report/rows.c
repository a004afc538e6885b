/* rows.c -- which data each worker holds, for the summary: how many rows, and how many of each class. */
#include "report/report.h"

#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

#define NUMBERS_MOST 100000u /* of rows by class, in one summary */

static json_t *counts_json(
    const struct mot_table *train, const struct mot_parts *parts, uint32_t part, uint64_t *count)
{
    memset(count, 0, train->classes * sizeof *count);
    for (uint64_t i = parts->at[part]; i < parts->at[part + 1]; i++) {
        float y = train->y[parts->row[i]];
        if (y >= 0 && y < (float)train->classes) count[(uint32_t)y]++;
    }
    json_t *list = json_array();
    for (uint32_t c = 0; c < train->classes; c++)
        json_array_append_new(list, json_integer((json_int_t)count[c]));
    return list;
}

void mot_summary_rows(json_t *summary, const struct mot_table *train, const struct mot_parts *parts)
{
    json_t *workers = json_object_get(summary, "worker"), *worker;
    bool by_class = train->classes > 0 && train->y && (uint64_t)train->classes * parts->parts <= NUMBERS_MOST;
    uint64_t *count = mot_new((size_t)train->classes + 1, sizeof *count);
    size_t i;
    json_array_foreach(workers, i, worker)
    {
        bool has = i < parts->parts;
        json_object_set_new(
            worker, "rows", has ? json_integer((json_int_t)(parts->at[i + 1] - parts->at[i])) : json_null());
        json_object_set_new(worker, "rows_by_class",
            has && by_class ? counts_json(train, parts, (uint32_t)i, count) : json_null());
    }
    free(count);
}
