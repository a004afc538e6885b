#include "live/rings.h"
#include "base/memory.h"
#include "config/experiment.h"
#include <stdlib.h>
#include <string.h>

#define ROWS_MOST (UINT64_C(1) << 20) /* of a ring */
#define BATCHES 4u                    /* that a ring holds at least */
#define JOB_MOST 1024u                /* samples of a job, where the method chooses */
#define HELD_LEAST 100u               /* fewest held-out records that a model can be judged by */

struct mot_rings {
    struct mot_problem problem;
    struct mot_dataset data;
    struct mot_parts parts;
    struct mot_record_form form;
    uint32_t rows; /* of each */
    float *x, *y;
    size_t bytes_x, bytes_y;
    struct mot_reservoir *held; /* NULL: nothing is held out */
    uint32_t least_held;        /* to judge by */
    float *held_x, *held_y;     /* what evaluations look at while more is held out */
};

/* As many rows as memory holds and as may wait, but enough for some batches. */
static uint64_t rows_of(const struct mot_experiment *e, uint32_t cols)
{
    const struct mot_intake_conf *c = &e->source;
    uint64_t rows = c->memory / (MOT_RAW_ROW(cols) + sizeof(struct mot_mark)), least = JOB_MOST;
    for (uint32_t i = 0; i < e->workers; i++)
        if (e->batch[i] > least) least = e->batch[i];
    if (rows > ROWS_MOST) rows = ROWS_MOST;
    if (c->buffer == MOT_INTAKE_BOUNDED && c->bound != MOT_WORD_UINT && c->bound + least < rows)
        rows = c->bound + least;
    if (rows < BATCHES * least) rows = BATCHES * least;
    return rows;
}

static enum mot_status fill(
    struct mot_rings *r, const struct mot_experiment *e, const struct mot_problem *from)
{
    const struct mot_table *rows = &from->data->train;
    uint64_t all = (uint64_t)r->rows * e->workers;
    if (all >= UINT32_MAX)
        return mot_fail(MOT_EUSAGE,
            "source.memory: rings of %u rows for %u workers come to more than %u rows", r->rows, e->workers,
            UINT32_MAX);
    r->bytes_x = all * rows->cols * sizeof(float);
    r->bytes_y = all * sizeof(float);
    r->x = mot_reserve(r->bytes_x);
    r->y = mot_reserve(r->bytes_y);
    r->parts.parts = e->workers;
    r->parts.at = mot_new(e->workers + 1, sizeof(*r->parts.at));
    r->parts.row = mot_new_large(all, sizeof(*r->parts.row));
    if (!r->x || !r->y || !r->parts.row) return mot_memory_status();
    for (uint32_t i = 0; i <= e->workers; i++) r->parts.at[i] = (uint64_t)i * r->rows;
    for (uint64_t k = 0; k < all; k++) r->parts.row[k] = (uint32_t)k;
    r->data = *from->data;
    r->data.train = (struct mot_table){
        .rows = (uint32_t)all, .cols = rows->cols, .classes = rows->classes, .x = r->x, .y = r->y
    };
    r->problem = *from;
    r->problem.data = &r->data;
    r->problem.streamed = true;
    r->problem.sampler.conf.name = MOT_SAMPLE_SEQUENTIAL;
    r->problem.sampler.parts = &r->parts;
    return MOT_OK;
}

/* Held-out records take the place of the data's test rows. Evaluators make room for the most there may be. */
static enum mot_status open_reservoir(struct mot_rings *r, const struct mot_intake_conf *c)
{
    uint32_t rows = (uint32_t)c->reservoir, cols = r->data.train.cols;
    if (c->holdout == 0) return MOT_OK;
    enum mot_status status = mot_reservoir_open(rows, cols, &r->held);
    if (status != MOT_OK) return status;
    r->least_held = rows < HELD_LEAST ? rows : HELD_LEAST;
    r->held_x = mot_new_large((size_t)rows * cols, sizeof(*r->held_x));
    r->held_y = mot_new_large(rows, sizeof(*r->held_y));
    r->data.test = (struct mot_table){
        .rows = rows, .cols = cols, .classes = r->data.train.classes, .x = r->held_x, .y = r->held_y
    };
    return mot_memory_status();
}

void mot_rings_refresh(struct mot_rings *r)
{
    if (!r->held) return;
    uint32_t n = mot_reservoir_rows(r->held, r->held_x, r->held_y);
    r->data.test.rows = n < r->least_held ? 0 : n;
}

struct mot_reservoir *mot_rings_reservoir(const struct mot_rings *r) { return r->held; }

const struct mot_table *mot_rings_test(const struct mot_rings *r) { return r->held ? &r->data.test : NULL; }

enum mot_status mot_rings_open(
    const struct mot_experiment *e, const struct mot_problem *from, struct mot_rings **out)
{
    const struct mot_dataset *d = from->data;
    struct mot_rings *r = mot_new(1, sizeof(*r));
    struct mot_schema schema = { .cols = d->train.cols,
        .classes = d->train.classes,
        .scale = d->scale,
        .class_names = d->class_names,
        .shift = d->shift,
        .factor = d->factor };
    const char *wrong = mot_intake_form(&e->source, &schema, d->column_names, &r->form);
    uint64_t rows = rows_of(e, d->train.cols);
    enum mot_status status = wrong ? mot_fail(MOT_EUSAGE, "%s", wrong) : MOT_OK;
    if (status == MOT_OK && rows >= UINT32_MAX)
        status = mot_fail(MOT_EUSAGE, "source.bound: a ring of %llu rows, expected fewer than %u",
            (unsigned long long)rows, UINT32_MAX);
    r->rows = (uint32_t)rows;
    if (status == MOT_OK) status = fill(r, e, from);
    if (status == MOT_OK) status = open_reservoir(r, &e->source);
    if (status == MOT_OK) *out = r;
    else mot_rings_close(r);
    return status;
}

void mot_rings_close(struct mot_rings *r)
{
    if (!r) return;
    if (r->x) mot_release(r->x, r->bytes_x);
    if (r->y) mot_release(r->y, r->bytes_y);
    mot_parts_free(&r->parts);
    mot_reservoir_close(r->held);
    free(r->held_x);
    free(r->held_y);
    free(r);
}

const struct mot_problem *mot_rings_problem(const struct mot_rings *r) { return &r->problem; }

enum mot_status mot_rings_intake(const struct mot_rings *r, const struct mot_experiment *e, uint32_t worker,
    uint64_t first, const struct mot_mark *begin, struct mot_intake **out)
{
    size_t at = (size_t)worker * r->rows;
    struct mot_intake_setup setup = { .conf = &e->source,
        .form = &r->form,
        .worker = worker,
        .workers = e->workers,
        .rows = r->rows,
        .x = r->x + at * r->data.train.cols,
        .y = r->y + at,
        .first = first,
        .begin = *begin,
        .folder = e->output,
        .seed = e->seed,
        .held = r->held };
    return mot_intake_open(&setup, out);
}
