/* rows.c -- the data each worker holds when the run begins, for the summary: how many rows, and how many of
 * each class. */
#include "report/report.h"

#include "base/memory.h"
#include "report/json.h"
#include <stdlib.h>
#include <string.h>

#define NUMBERS_MOST 100000u /* row counts by class in one summary */
#define NAMES_MOST 100u      /* classes named in one summary */
#define PAIRS_MOST 10000000u /* workers times parts: each pair is looked up */

static void count_part(
    const struct mot_table *train, const struct mot_parts *parts, uint32_t part, uint64_t *count)
{
    for (uint64_t i = parts->at[part]; i < parts->at[part + 1]; i++) {
        float y = train->y[parts->row[i]];
        if (y >= 0 && y < (float)train->classes) count[(uint32_t)y]++;
    }
}

static json_t *counts_json(const uint64_t *count, uint32_t classes)
{
    json_t *list = json_array();
    for (uint32_t c = 0; c < classes; c++) mot_json_add(list, json_integer((json_int_t)count[c]));
    return list;
}

void mot_summary_rows(
    json_t *summary, const struct mot_experiment *x, const struct mot_problem *p, const struct mot_world *w)
{
    const struct mot_table *train = &p->data->train;
    const struct mot_parts *parts = p->sampler.parts;
    json_t *workers = json_object_get(summary, "worker"), *worker;
    bool by_class = train->classes > 0 && train->y && (uint64_t)train->classes * w->workers <= NUMBERS_MOST,
         known = !x->shared_parts || (uint64_t)w->workers * w->parts <= PAIRS_MOST;
    uint64_t *count = mot_new((size_t)train->classes + 1, sizeof *count);
    size_t i;
    json_array_foreach(workers, i, worker)
    {
        uint64_t rows = 0;
        uint32_t first = x->shared_parts ? 0 : (uint32_t)i, end = x->shared_parts ? w->parts : first + 1;
        memset(count, 0, train->classes * sizeof *count);
        for (uint32_t part = first; part < end && known; part++) {
            if (!mot_world_holds(x, w, (mot_node)i, part)) continue;
            rows += parts->at[part + 1] - parts->at[part];
            if (by_class) count_part(train, parts, part, count);
        }
        mot_json_set(worker, "rows", known ? json_integer((json_int_t)rows) : json_null());
        mot_json_set(
            worker, "rows_by_class", known && by_class ? counts_json(count, train->classes) : json_null());
    }
    if (by_class && p->data->class_names && train->classes <= NAMES_MOST) {
        json_t *names = json_array();
        for (uint32_t c = 0; c < train->classes; c++) {
            const char *label = p->data->class_names[c],
                       *called =
                           x->data.name && !x->data.path ? mot_builtin_class(x->data.name, label) : NULL;
            mot_json_add(names, mot_json_text(called ? called : label));
        }
        mot_json_set(summary, "class_names", names);
    }
    free(count);
}
