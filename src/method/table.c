#include "method/table.h"
#include "math/kernels.h"

void mot_row_add(struct mot_env *env, struct mot_row *row, const struct mot_answer *a)
{
    const float *grad = mot_read(env, a->grad.buf);
    if (row->sum == MOT_NO_BUF) {
        row->sum = mot_hold(env, a->grad.buf);
        row->oldest = a->round;
    } else if (row->own) {
        mot_kernels()->axpy(env->world->dim, 1, grad, mot_edit(env, row->sum));
    } else {
        mot_buf sum = mot_take(env);
        const float *const in[2] = { mot_read(env, row->sum), grad };
        mot_kernels()->add(env->world->dim, 2, in, mot_edit(env, sum));
        mot_drop(env, row->sum);
        row->sum = sum;
        row->own = true;
    }
    row->jobs++;
    row->samples += a->samples;
    if (a->round < row->oldest) row->oldest = a->round;
}

void mot_row_set(struct mot_env *env, struct mot_row *row, mot_buf sum, uint64_t samples, uint64_t round)
{
    mot_hold(env, sum);
    mot_drop(env, row->sum);
    *row = (struct mot_row){ .sum = sum, .jobs = 1, .samples = samples, .oldest = round };
}

void mot_row_clear(struct mot_env *env, struct mot_row *row)
{
    mot_drop(env, row->sum);
    *row = (struct mot_row){ .sum = MOT_NO_BUF };
}

uint32_t mot_rows_filled(const struct mot_row *row, uint32_t rows)
{
    uint32_t filled = 0;
    for (uint32_t i = 0; i < rows; i++) filled += row[i].sum != MOT_NO_BUF;
    return filled;
}

uint64_t mot_rows_age(const struct mot_row *row, uint32_t rows, uint64_t step)
{
    uint64_t age = 0;
    for (uint32_t i = 0; i < rows; i++)
        if (row[i].sum != MOT_NO_BUF && step - row[i].oldest > age) age = step - row[i].oldest;
    return age;
}

/* The sum of the rows as they are, or each divided by its samples, in worker order. */
static mot_buf add_up(struct mot_env *env, const struct mot_row *row, uint32_t rows, bool divided)
{
    const struct mot_kernels *k = mot_kernels();
    mot_buf sum = mot_take(env);
    float *to = mot_edit(env, sum);
    uint32_t dim = env->world->dim;
    bool first = true;
    for (uint32_t i = 0; i < rows; i++) {
        if (row[i].sum == MOT_NO_BUF) continue;
        float weight = divided ? (float)(1.0 / (double)row[i].samples) : 1;
        const float *from = mot_read(env, row[i].sum);
        if (first) k->sum(dim, 1, &weight, &from, to);
        else k->axpy(dim, weight, from, to);
        first = false;
    }
    if (first)
        for (uint32_t j = 0; j < dim; j++) to[j] = 0;
    return sum;
}

struct mot_mean mot_rows_mean(struct mot_env *env, const struct mot_row *row, uint32_t rows)
{
    uint32_t filled = mot_rows_filled(row, rows);
    uint64_t samples = 0;
    bool alike = true;
    for (uint32_t i = 0; i < rows; i++) {
        if (row[i].sum == MOT_NO_BUF) continue;
        alike = alike && (samples == 0 || samples == row[i].samples);
        samples = row[i].samples;
    }
    MOT_ASSERT(filled > 0);
    return (struct mot_mean){ .sum = add_up(env, row, rows, !alike),
        .scale = 1.0 / (alike ? (double)filled * (double)samples : filled) };
}

struct mot_mean mot_rows_pooled(struct mot_env *env, const struct mot_row *row, uint32_t rows)
{
    uint64_t samples = 0;
    for (uint32_t i = 0; i < rows; i++) samples += row[i].samples;
    MOT_ASSERT(samples > 0);
    return (struct mot_mean){ .sum = add_up(env, row, rows, false), .scale = 1.0 / (double)samples };
}

mot_buf mot_rows_total(struct mot_env *env, const struct mot_row *row, uint32_t rows)
{
    return add_up(env, row, rows, true);
}

void mot_total_add(struct mot_env *env, mot_buf total, const struct mot_row *row, double sign)
{
    if (row->sum == MOT_NO_BUF) return;
    mot_kernels()->axpy(
        env->world->dim, (float)(sign / (double)row->samples), mot_read(env, row->sum), mot_edit(env, total));
}
