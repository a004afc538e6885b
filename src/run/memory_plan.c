#include "run/memory_plan.h"
#include "base/memory.h"
#include "base/words.h"
#include "run/heterogeneity.h"
#include <stdlib.h>

static uint64_t table_bytes(const struct mot_table *t)
{
    uint64_t cells = t->x ? (uint64_t)t->rows * t->cols * 4
        : t->row_at       ? t->row_at[t->rows] * 8 + (uint64_t)t->rows * 8
                          : 0;
    return cells + (uint64_t)t->rows * 4;
}

/* Models outside of the pool: the initial one, what the driver has and, with validation rows, the best one.
 * What the end copies and what the heterogeneity takes are not there at the same time. */
static uint64_t evaluation_bytes(
    const struct mot_experiment *x, const struct mot_problem *p, unsigned evaluating, uint32_t models)
{
    const uint64_t model = (uint64_t)p->net->dim * sizeof(float);
    const unsigned best = p->data->valid.rows > 0;
    uint64_t bytes = (1 + models + best) * model, copies = (1 + best) * model, parts = 0;
    if (p->net->kind->computes && !p->streamed) {
        bytes += mot_evaluator_bytes(p->net, evaluating);
        if (x->evaluate.heterogeneity != MOT_HETEROGENEITY_NEVER)
            parts = mot_heterogeneity_bytes(p, evaluating);
    }
    return bytes + (parts > copies ? parts : copies);
}

void mot_memory_plan_fill(struct mot_memory_plan *plan, const struct mot_experiment *x,
    const struct mot_problem *p, unsigned evaluating, uint32_t models)
{
    plan->buffers = plan->buffer_count * ((uint64_t)((p->net->dim + 15u) & ~15u) * sizeof(float) + 8);
    plan->scratch += evaluating * (uint64_t)p->net->scratch_bytes;
    plan->copies += evaluating;
    plan->evaluation = evaluation_bytes(x, p, evaluating, models);
    plan->data = table_bytes(&p->data->train) + table_bytes(&p->data->valid) + table_bytes(&p->data->test);
    plan->total = plan->buffers + plan->states + plan->events + plan->scratch + plan->evaluation + plan->data;
}

void mot_memory_plan_expect(struct mot_memory_plan *plan, uint64_t buffers)
{
    plan->rehearsed = true;
    if (buffers >= plan->buffer_count) return;
    plan->total -= plan->buffers;
    plan->buffers = plan->buffers / plan->buffer_count * buffers;
    plan->total += plan->buffers;
    plan->buffer_count = buffers;
}

void mot_memory_plan_add(struct mot_memory_plan *plan, const struct mot_memory_plan *other)
{
    plan->data += other->data;
    plan->buffers += other->buffers;
    plan->states += other->states;
    plan->events += other->events;
    plan->scratch += other->scratch;
    plan->evaluation += other->evaluation;
    plan->total += other->total;
    plan->buffer_count += other->buffer_count;
    plan->buffers_reserved += other->buffers_reserved;
    plan->copies += other->copies;
}

static bool exceeds(const struct mot_memory_plan *plan)
{
    return plan->total >= mot_machine_memory() / 10 * 9;
}

/* "of which 932 GB are ...": the largest part, and what makes that smaller. malloc'd */
static char *largest(const struct mot_memory_plan *p)
{
    char size[32];
    uint64_t most = p->buffers;
    if (p->scratch > most) most = p->scratch;
    if (p->evaluation > most) most = p->evaluation;
    if (p->data > most) most = p->data;
    mot_show_size((double)most, size, sizeof size);
    if (most == p->scratch)
        return mot_format("%s for scratch (all layers' outputs for %d rows, %u times). Use smaller layers or "
                          "fewer %s",
            size, MOT_SLICE_ROWS, p->copies, p->fewer);
    if (most == p->evaluation)
        return mot_format(
            "%s for evaluations, which sum gradients in double precision. Use a smaller model", size);
    if (most == p->data) return mot_format("%s for data. Use fewer rows", size);
    return mot_format("%s for %llu buffers of the model's size. Use fewer workers or a smaller model", size,
        (unsigned long long)p->buffer_count);
}

static enum mot_status refuse(const struct mot_memory_plan *plan)
{
    char need[32], have[32], *part = largest(plan);
    enum mot_status status = mot_fail(MOT_EUSAGE,
        "this run may need %s of memory, but the machine has %s; %s, or --sim-overcommit true if you know "
        "that it needs less",
        mot_show_size((double)plan->total, need, sizeof need),
        mot_show_size((double)mot_machine_memory(), have, sizeof have), part);
    free(part);
    return status;
}

enum mot_status mot_memory_plan_check(const struct mot_driver_options *o, struct mot_memory_plan *plan,
    enum mot_status (*closer)(const struct mot_driver_options *, struct mot_memory_plan *))
{
    if (o->experiment->sim.overcommit || !exceeds(plan)) return MOT_OK;
    enum mot_status status = closer ? closer(o, plan) : MOT_OK;
    return status == MOT_OK && exceeds(plan) ? refuse(plan) : status;
}
