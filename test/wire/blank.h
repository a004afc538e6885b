/* blank.h -- for tests: a rank that cannot see the rows that its worker does not hold.
 *
 * Every rank reads the whole data set, so a job on rows that never arrived would go unnoticed. These are made
 * NaN: a single gradient on them ruins the model. */
#ifndef MOT_TEST_BLANK_H
#define MOT_TEST_BLANK_H

#include "api/job.h"
#include "run/world.h"
#include <math.h>

static void blank_row(struct mot_table *t, uint32_t row)
{
    uint64_t first = t->x ? (uint64_t)row * t->cols : t->row_at[row],
             end = t->x ? first + t->cols : t->row_at[row + 1];
    float *cell = (float *)(uintptr_t)(t->x ? t->x : t->val);
    for (uint64_t i = first; i < end; i++) cell[i] = NAN;
    ((float *)(uintptr_t)t->y)[row] = 0;
}

/* Returns how many rows it blanked. */
static uint32_t blank_foreign(struct mot_job *j, mot_node worker)
{
    const struct mot_parts *parts = j->problem.sampler.parts;
    struct mot_world w;
    uint32_t n = 0;
    if (mot_world_open(j->experiment, &j->problem, &j->optim, &w) != MOT_OK) abort();
    for (uint32_t p = 0; p < parts->parts; p++)
        for (uint64_t i = parts->at[p];
             i < parts->at[p + 1] && !mot_world_holds(j->experiment, &w, worker, p); i++, n++)
            blank_row(&j->data->train, parts->row[i]);
    mot_world_close(&w);
    return n;
}

#endif
