/* setup.c -- plans a run and reserves all that it will use. */
#include "sim/channel.h"
#include "run/world.h"
#include "base/memory.h"
#include "base/words.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t buffers_of(const struct mot_needs *n)
{
    return n->buffers + mot_needs_window(n) + MOT_MEMO_BUFFERS + 2 /* x0 and zero */ + 1;
}

/* Twice what can be pending at once: cancelled events stay until they are swept out. */
static uint64_t events_of(
    const struct mot_needs *n, const struct mot_experiment *x, const struct mot_world *w)
{
    uint64_t colls = mot_needs_window(n) *
        (mot_schedule_flights((enum mot_collective)x->sim.collective, w->workers) + w->workers);
    uint64_t faults = x->cluster->faults.any ? mot_channel_events(n, x, w) : 0;
    return 2 * (w->nodes + n->sends + n->works + n->alarms + colls + faults) + 64;
}

static uint64_t table_bytes(const struct mot_table *t)
{
    uint64_t cells = t->x ? (uint64_t)t->rows * t->cols * 4
        : t->row_at       ? t->row_at[t->rows] * 8 + (uint64_t)t->rows * 8
                          : 0;
    return cells + (uint64_t)t->rows * 4;
}

static void plan_from(const struct mot_experiment *x, const struct mot_problem *p, const struct mot_world *w,
    const struct mot_needs *n, struct mot_plan *out)
{
    const struct mot_net *net = p->net;
    uint64_t per_coll = sizeof(struct mot_slice) + sizeof(double[MOT_SCALARS]) + sizeof(mot_time) +
        sizeof(struct mot_coll_progress);
    *out = (struct mot_plan){ .buffer_count = buffers_of(n) };
    out->buffers = out->buffer_count * ((uint64_t)((net->dim + 15u) & ~15u) * 4 + 8);
    out->states = n->states + w->nodes * (sizeof(struct sim_node) + sizeof(struct mot_nic)) +
        n->works * sizeof(struct sim_work) + n->terms * sizeof(struct mot_term) +
        n->alarms * sizeof(struct sim_alarm) + mot_needs_window(n) * (uint64_t)w->workers * per_coll;
    out->events = events_of(n, x, w) * sizeof(struct mot_pending) +
        n->sends * (sizeof(struct mot_message) + 4) + mot_outbox_room(&n->most) * sizeof(struct mot_effect) +
        mot_channel_bytes(n, x, w);
    out->scratch = 2 * (uint64_t)x->sim.threads * (net->scratch_bytes + 64);
    out->evaluation = mot_evaluator_bytes(net) + (2 + 4 * x->sim.threads) * (uint64_t)net->dim * 4;
    out->data = table_bytes(&p->data->train) + table_bytes(&p->data->valid) + table_bytes(&p->data->test);
    out->total = out->buffers + out->states + out->events + out->scratch + out->evaluation + out->data;
}

enum mot_status mot_sim_plan(const struct mot_experiment *x, const struct mot_problem *p,
    const struct mot_optim *optim, struct mot_plan *out)
{
    uint64_t *part_rows = mot_new(p->sampler.parts->parts, sizeof(*part_rows));
    uint32_t *batch = mot_new(x->workers, sizeof(*batch));
    struct mot_world w;
    mot_world_fill(x, p, optim, part_rows, batch, &w);
    enum mot_status status = mot_world_check(x, &w);
    if (status == MOT_OK) {
        struct mot_needs need = mot_needs_of(x, &w);
        plan_from(x, p, &w, &need, out);
    }
    free(part_rows);
    free(batch);
    return status;
}

/* A plan that the machine cannot hold is refused before anything is touched, not killed half-way. */
static enum mot_status check_memory(const struct mot_experiment *x, const struct mot_plan *plan)
{
    uint64_t have = mot_machine_memory();
    char need_text[32], have_text[32];
    if (x->sim.overcommit || plan->total < have / 10 * 9) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "this run may need %s of memory (%llu buffers of the model's size) and the machine has %s; use fewer "
        "workers or a smaller model, or --sim-overcommit true if you know that it will not use it all",
        mot_show_size((double)plan->total, need_text, sizeof(need_text)),
        (unsigned long long)plan->buffer_count, mot_show_size((double)have, have_text, sizeof(have_text)));
}

/* ---- Reserving --------------------------------------------------------------------------- */

static void open_nodes(struct sim *s, const struct mot_needs *sum)
{
    s->node = mot_new(s->world.nodes, sizeof(*s->node));
    s->nic = mot_new(s->world.nodes, sizeof(*s->nic));
    s->view = mot_new(s->world.nodes, sizeof(*s->view));
    s->showing = mot_world_showing(s->x, &s->world);
    s->piece = mot_new(s->world.nodes, sizeof(*s->piece));
    s->states_bytes = sum->states;
    s->states = mot_reserve(s->states_bytes);
    s->works = (uint32_t)sum->works;
    s->work = mot_new(sum->works + 1, sizeof(*s->work));
    s->term = mot_new(sum->terms + 1, sizeof(*s->term));
    s->alarms = (uint32_t)sum->alarms;
    s->alarm = mot_new(sum->alarms + 1, sizeof(*s->alarm));
    unsigned char *state = s->states;
    struct mot_term *term = s->term;
    uint32_t work = 0, alarm = 0;
    for (mot_node i = 0; i < s->world.nodes; i++) {
        struct mot_need need = s->method->need(s->x->method_conf, &s->world, i);
        struct sim_node *n = &s->node[i];
        if (i >= s->world.workers) need.works = 0;
        n->state = state;
        n->state_bytes = (uint32_t)need.state_bytes;
        state += mot_state_room(need.state_bytes);
        n->work = work;
        n->works = need.works;
        n->alarm = alarm;
        n->alarms = need.alarms;
        for (uint32_t k = 0; k < need.works; k++, work++, term += need.terms)
            s->work[work] = (struct sim_work){ .sim = s, .node = i, .term = term };
        if (need.works) s->last_terms = need.terms;
        for (uint32_t k = 0; k < need.alarms; k++, alarm++)
            s->alarm[alarm] = (struct sim_alarm){ .node = i, .at = MOT_NEVER };
    }
}

static void open_messages(struct sim *s, const struct mot_needs *sum)
{
    s->messages = s->messages_free = (uint32_t)sum->sends;
    s->message = mot_new(sum->sends + 1, sizeof(*s->message));
    s->message_free = mot_new(sum->sends + 1, sizeof(*s->message_free));
    for (uint32_t i = 0; i < s->messages; i++) s->message_free[i] = s->messages - 1 - i;
    s->window = mot_needs_window(sum);
    s->coll = mot_new(s->window + 1, sizeof(*s->coll));
    for (uint32_t k = 0; k < s->window; k++) {
        uint32_t n = s->world.workers;
        s->coll[k] = (struct sim_coll){ .in = mot_new(n, sizeof(*s->coll->in)),
            .scalar = mot_new(n, sizeof(*s->coll->scalar)),
            .began = mot_new(n, sizeof(*s->coll->began)),
            .progress = mot_new(n, sizeof(*s->coll->progress)) };
    }
}

static void open_compute(struct sim *s)
{
    const struct mot_net *net = s->problem->net;
    const struct mot_table *t = &s->problem->data->train;
    s->crew = mot_crew_open(s->x->sim.threads);
    s->scratch = mot_new(mot_crew_threads(s->crew), sizeof(*s->scratch));
    for (unsigned i = 0; i < mot_crew_threads(s->crew); i++)
        s->scratch[i] = mot_aligned(net->scratch_bytes + 64);
    s->evaluator = mot_evaluator_open(s->problem, s->crew);
    s->mean = mot_aligned((size_t)net->dim * sizeof(float));
    if (s->problem->data->valid.rows) s->best = mot_aligned((size_t)net->dim * sizeof(float));
    s->best_score = (struct mot_score)MOT_SCORE_UNKNOWN;
    s->cost_per_sample = net->dim;
    if (!t->x && t->rows) s->cost_per_sample *= (double)t->row_at[t->rows] / ((double)t->rows * t->cols);
    s->wire_bytes = 4.0 * net->parameters / net->dim;
}

static void begin_counting(struct sim *s)
{
    s->every = mot_every_resolve(s->x);
    s->course = mot_course_of(s->x, &s->world, s->problem, 0);
    s->course.known &= !s->x->cluster->faults.any;
    s->next_eval = s->every.value;
    s->next_checkpoint = s->x->checkpoint.value;
    mot_sim_show_begin(s);
}

static void open_buffers(struct sim *s, const struct mot_needs *sum)
{
    mot_pool_open(&s->pool, s->world.dim, (uint32_t)buffers_of(sum));
    s->world.x0 = mot_pool_take(&s->pool);
    s->world.zero = mot_pool_take(&s->pool);
    memcpy(mot_pool_at(&s->pool, s->world.x0), s->o->x0, s->world.dim * sizeof(float));
    memset(mot_pool_at(&s->pool, s->world.zero), 0, s->world.dim * sizeof(float));
    uint32_t terms = sum->most.terms * (sum->most.works ? sum->most.works : 1);
    mot_outbox_open(&s->outbox, mot_outbox_room(&sum->most), terms);
    mot_heap_open(&s->heap, (uint32_t)events_of(sum, s->x, &s->world));
}

enum mot_status mot_sim_open(const struct mot_sim_options *o, struct sim **out)
{
    struct sim *s = mot_new(1, sizeof(*s));
    enum mot_status status;
    s->o = o;
    s->x = o->experiment;
    s->method = s->x->method;
    s->problem = o->problem;
    if (o->watch) s->watch = *o->watch;
    s->part_rows = mot_new(o->problem->sampler.parts->parts, sizeof(*s->part_rows));
    s->batch = mot_new(s->x->workers, sizeof(*s->batch));
    mot_world_fill(s->x, s->problem, o->optim, s->part_rows, s->batch, &s->world);
    if ((status = mot_world_check(s->x, &s->world)) != MOT_OK) goto out_close;
    struct mot_needs need = mot_needs_of(s->x, &s->world);
    struct mot_plan plan;
    plan_from(s->x, s->problem, &s->world, &need, &plan);
    if (buffers_of(&need) >= UINT32_MAX || events_of(&need, s->x, &s->world) >= UINT32_MAX) {
        status = mot_fail(MOT_EUSAGE, "%u workers are more than the simulator can number", s->world.workers);
        goto out_close;
    }
    if ((status = check_memory(s->x, &plan)) != MOT_OK) goto out_close;
    open_nodes(s, &need);
    open_messages(s, &need);
    if ((status = mot_channel_open(s, &need)) != MOT_OK) goto out_close;
    open_compute(s);
    open_buffers(s, &need);
    begin_counting(s);
    s->at_least = s->world.servers ? s->world.servers : s->world.workers;
    *out = s;
    return MOT_OK;
out_close:
    mot_sim_close(s);
    return status;
}

void mot_sim_close(struct sim *s)
{
    if (!s) return;
    for (uint32_t i = 0; s->crew && i < s->works; i++) mot_crew_recall(s->crew, &s->work[i].task);
    mot_evaluator_close(s->evaluator);
    for (unsigned i = 0; s->scratch && i < mot_crew_threads(s->crew); i++) free(s->scratch[i]);
    mot_crew_close(s->crew);
    free(s->scratch);
    mot_pool_close(&s->pool);
    mot_outbox_close(&s->outbox);
    mot_heap_close(&s->heap);
    mot_channel_close(s);
    for (uint32_t k = 0; s->coll && k < s->window; k++) {
        free(s->coll[k].in);
        free(s->coll[k].scalar);
        free(s->coll[k].began);
        free(s->coll[k].progress);
    }
    free(s->coll);
    free(s->message);
    free(s->message_free);
    if (s->states) mot_release(s->states, s->states_bytes);
    free(s->node);
    free(s->nic);
    free(s->view);
    mot_sim_forget(s, UINT64_MAX);
    free(s->piece);
    free(s->work);
    free(s->term);
    free(s->alarm);
    free(s->mean);
    free(s->best);
    mot_arena_free(&s->arena);
    free(s->part_rows);
    free(s->batch);
    free(s);
}
