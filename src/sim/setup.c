/* setup.c -- plans a run and reserves everything it will use. */
#include "sim/channel.h"
#include "run/memory_plan.h"
#include "run/world.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

static uint64_t buffers_of(const struct mot_needs *n, const struct mot_world *w)
{
    return n->buffers + mot_needs_colls(n, w) + MOT_MEMO_BUFFERS + 2 /* x0 and zero */ + 1;
}

/* Which parts each worker holds. */
static size_t held_bytes_of(const struct mot_experiment *x, const struct mot_world *w)
{
    return x->shared_parts ? w->workers * mot_held_words(w) * sizeof(uint64_t) : 0;
}

/* Twice what can be pending at once: cancelled events stay until swept out. */
static uint64_t events_of(
    const struct mot_needs *n, const struct mot_experiment *x, const struct mot_world *w)
{
    uint64_t colls = mot_sim_flights(n, x, w) + mot_needs_window(n) * mot_circle_seats(w);
    uint64_t faults = x->cluster->faults.any ? mot_channel_events(n, x, w) : 0;
    uint64_t feeds = mot_cluster_streams(x->cluster) ? w->workers : 0;
    uint64_t steps = x->cluster->host.cores ? w->nodes : 0;
    return 2 * (w->nodes + n->sends + n->works + n->alarms + colls + faults + feeds + steps) + 64;
}

static void plan_from(const struct mot_experiment *x, const struct mot_problem *p, const struct mot_world *w,
    const struct mot_needs *n, struct mot_memory_plan *out)
{
    const unsigned threads = (unsigned)x->sim.threads;
    uint64_t per_coll = sizeof(struct mot_slice) + sizeof(double[MOT_SCALARS]) + sizeof(mot_time) +
        sizeof(uint64_t) + mot_sim_buckets(w) * sizeof(struct mot_coll_progress);
    uint64_t buffers = buffers_of(n, w);
    *out = (struct mot_memory_plan){
        .buffer_count = buffers, .buffers_reserved = buffers, .copies = threads, .fewer = "sim.threads"
    };
    out->states = n->states + w->nodes * (sizeof(struct sim_node) + sizeof(struct mot_nic)) +
        n->works * sizeof(struct sim_work) + n->terms * sizeof(struct mot_term) +
        n->alarms * sizeof(struct sim_alarm) + held_bytes_of(x, w) +
        mot_needs_window(n) * mot_circle_seats(w) * per_coll;
    out->events = events_of(n, x, w) * sizeof(struct mot_pending) +
        n->sends * (sizeof(struct mot_message) + 4) + mot_outbox_room(&n->most) * sizeof(struct mot_effect) +
        mot_channel_bytes(n, x, w);
    out->scratch = threads * (uint64_t)mot_gradient_scratch(p);
    /* The mean of workers' models, and copies of those that are ahead: of one update or two. */
    const uint32_t showing = mot_world_showing(x, w), copied = x->servers ? 2 : showing + showing / 2;
    mot_memory_plan_fill(out, x, p, threads, showing > 1 ? 1 + copied : 1);
}

static enum mot_status look_closer(const struct mot_driver_options *o, struct mot_memory_plan *plan)
{
    uint32_t used = mot_sim_buffers(o, false);
    if (used) mot_memory_plan_expect(plan, used);
    return MOT_OK;
}

enum mot_status mot_sim_plan(const struct mot_driver_options *o, struct mot_memory_plan *out)
{
    struct mot_world w;
    enum mot_status status = mot_world_open(o->experiment, o->problem, o->optim, &w);
    if (status != MOT_OK) return status;
    struct mot_needs need = mot_needs_of(o->experiment, &w);
    plan_from(o->experiment, o->problem, &w, &need, out);
    mot_world_close(&w);
    return look_closer(o, out);
}

/* ---- Reserving --------------------------------------------------------------------------- */

static enum mot_status open_nodes(struct sim *s, const struct mot_needs *sum)
{
    s->node = mot_aligned_large(s->world.nodes * sizeof(*s->node));
    mot_traffic_open(&s->traffic, &s->world);
    s->nic = mot_new_large(s->world.nodes, sizeof(*s->nic));
    s->view = mot_new_large(s->world.nodes, sizeof(*s->view));
    s->showing = mot_world_showing(s->x, &s->world);
    s->piece = mot_new_large(s->world.nodes, sizeof(*s->piece));
    s->states_bytes = sum->states;
    s->states = mot_reserve(s->states_bytes);
    s->works = (uint32_t)sum->works;
    s->work = mot_new_large(sum->works + 1, sizeof(*s->work));
    s->term = mot_new_large(sum->terms + 1, sizeof(*s->term));
    s->held_bytes = held_bytes_of(s->x, &s->world);
    if (s->held_bytes) s->held = mot_reserve(s->held_bytes);
    s->alarms = (uint32_t)sum->alarms;
    s->alarm = mot_new_large(sum->alarms + 1, sizeof(*s->alarm));
    if (mot_memory_refused()) return mot_memory_status();
    unsigned char *state = s->states;
    struct mot_term *term = s->term;
    uint32_t work = 0, alarm = 0;
    for (mot_node i = 0; i < s->world.nodes; i++) {
        struct mot_need need = mot_need_of(s->x, &s->world, i);
        struct sim_node *n = &s->node[i];
        n->block = (uint16_t)mot_block_of(&s->traffic.blocks, i);
        if (i >= s->world.workers) need.works = 0;
        n->actor = (struct mot_actor){ .self = i,
            .works = need.works,
            .alarms = need.alarms,
            .slot_bytes = sizeof(struct sim_work),
            .slot = &s->work[work].slot,
            .state = state };
        if (i < s->world.workers) n->pace = mot_pace_of(&s->x->cluster->machine[i], s->world.batch[i]);
        n->state_bytes = (uint32_t)need.state_bytes;
        state += mot_state_room(need.state_bytes);
        if (s->held && i < s->world.workers) n->actor.held = s->held + i * mot_held_words(&s->world);
        n->alarm = alarm;
        for (uint32_t k = 0; k < need.works; k++, work++, term += need.terms)
            s->work[work] = (struct sim_work){ .slot = { .term = term }, .sim = s, .node = i };
        if (need.works) s->last_terms = need.terms;
        for (uint32_t k = 0; k < need.alarms; k++, alarm++)
            s->alarm[alarm] = (struct sim_alarm){ .node = i, .at = MOT_NEVER };
    }
    return MOT_OK;
}

/* Sets up what arrives at each worker. A part without rows has no samples to wait for. */
static enum mot_status open_feeds(struct sim *s)
{
    const struct mot_world *w = &s->world;
    if (!mot_cluster_streams(s->x->cluster)) return MOT_OK;
    s->feed = mot_new_large(w->workers, sizeof(*s->feed));
    s->synthetic = mot_aligned_large(w->workers * sizeof(*s->synthetic));
    for (mot_node i = 0; s->feed && s->synthetic && i < w->workers; i++) {
        const struct mot_machine *m = &s->x->cluster->machine[i];
        if (m->stream.kind == MOT_STREAM_NONE || w->part_rows[i] == 0) continue;
        s->node[i].actor.feed = &s->feed[i];
        mot_feed_open(&s->feed[i], m, w->row_bytes[i], 0,
            mot_rate_supply_open(&s->synthetic[i], &m->stream, w->seed, i), &s->node[i].actor.tally.feed);
    }
    return mot_memory_status();
}

static enum mot_status open_messages(struct sim *s, const struct mot_needs *sum)
{
    s->messages = s->messages_free = (uint32_t)sum->sends;
    s->message = mot_new_large(sum->sends + 1, sizeof(*s->message));
    s->message_free = mot_new_large(sum->sends + 1, sizeof(*s->message_free));
    if (!s->message || !s->message_free) return mot_memory_status();
    for (uint32_t i = 0; i < s->messages; i++) s->message_free[i] = s->messages - 1 - i;
    s->window = mot_needs_window(sum);
    s->buckets = mot_sim_buckets(&s->world);
    s->colls = mot_needs_colls(sum, &s->world);
    s->coll = mot_new_large(s->colls + 1, sizeof(*s->coll));
    for (uint32_t k = 0; s->coll && k < s->colls; k++) {
        struct mot_circle circle = mot_circle(&s->world, k / s->window);
        uint32_t n = circle.n;
        s->coll[k] = (struct sim_coll){ .circle = circle,
            .in = mot_new_large(n, sizeof(*s->coll->in)),
            .scalar = mot_new_large(n, sizeof(*s->coll->scalar)),
            .began = mot_new_large(n, sizeof(*s->coll->began)),
            .packed = mot_new_large(n, sizeof(*s->coll->packed)),
            .progress = mot_new_large((size_t)n * s->buckets, sizeof(*s->coll->progress)) };
    }
    return mot_memory_status();
}

static enum mot_status open_compute(struct sim *s)
{
    const struct mot_net *net = s->problem->net;
    const struct mot_table *t = &s->problem->data->train;
    s->crew = mot_crew_open(s->x->sim.threads);
    s->scratch = mot_new(mot_crew_threads(s->crew), sizeof(*s->scratch));
    for (unsigned i = 0; i < mot_crew_threads(s->crew); i++)
        s->scratch[i] = mot_aligned_large(mot_gradient_scratch(s->problem));
    mot_judge_open(&s->judge, s->x, s->problem, s->crew, s->o->watch);
    s->mean = mot_aligned_large((size_t)net->dim * sizeof(float));
    s->cost_per_sample = net->dim;
    if (!t->x && t->rows) s->cost_per_sample *= (double)t->row_at[t->rows] / ((double)t->rows * t->cols);
    s->wire_bytes = 4.0 * net->parameters / net->dim;
    return mot_memory_status();
}

static void begin_counting(struct sim *s)
{
    s->course = mot_course_of(s->x, &s->world, s->problem, 0);
    s->course.known &= !s->x->cluster->faults.any;
    mot_sim_show_begin(s);
}

static enum mot_status open_buffers(struct sim *s, const struct mot_needs *sum)
{
    enum mot_status status = mot_pool_open(&s->pool, s->world.dim, (uint32_t)buffers_of(sum, &s->world));
    if (status == MOT_OK && s->world.compress) status = mot_pool_open_packets(&s->pool);
    if (status != MOT_OK) return status;
    mot_world_begin(&s->world, &s->pool, s->o->x0);
    uint32_t terms = sum->most.terms * (sum->most.works ? sum->most.works : 1);
    status = mot_outbox_open(&s->outbox, mot_outbox_room(&sum->most), terms);
    if (status == MOT_OK && s->world.compress) status = mot_outbox_open_press(&s->outbox, s->world.dim);
    if (status == MOT_OK) status = mot_heap_open(&s->heap, (uint32_t)events_of(sum, s->x, &s->world));
    return status;
}

enum mot_status mot_sim_open(const struct mot_driver_options *o, struct sim **out)
{
    struct sim *s = mot_new(1, sizeof(*s));
    enum mot_status status;
    s->o = o;
    s->x = o->experiment;
    s->method = s->x->method;
    s->problem = o->problem;
    if (o->watch) s->watch = *o->watch;
    if ((status = mot_world_open(s->x, s->problem, o->optim, &s->world)) != MOT_OK) goto out_close;
    struct mot_needs need = mot_needs_of(s->x, &s->world);
    struct mot_memory_plan plan;
    plan_from(s->x, s->problem, &s->world, &need, &plan);
    if (buffers_of(&need, &s->world) >= UINT32_MAX || events_of(&need, s->x, &s->world) >= UINT32_MAX) {
        status = mot_fail(MOT_EUSAGE, "%u workers are too many for the simulator", s->world.workers);
        goto out_close;
    }
    if ((status = mot_memory_plan_check(o, &plan, look_closer)) != MOT_OK) goto out_close;
    status = open_nodes(s, &need);
    if (status == MOT_OK) status = open_feeds(s);
    if (status == MOT_OK) status = open_messages(s, &need);
    if (status == MOT_OK) status = mot_channel_open(s, &need);
    if (status == MOT_OK) status = open_compute(s);
    if (status == MOT_OK) status = mot_hosts_open(s);
    if (status == MOT_OK) status = open_buffers(s, &need);
    if (status != MOT_OK) goto out_close;
    s->env = mot_env_of(s->x, &s->world, 0, 0, &s->pool, &s->outbox);
    /* If all replicas make the same step, compute it once. */
    if (s->x->traits.model == MOT_MODEL_OF_ALL && !o->apart) s->env.memo = &s->memo;
    s->unlooked = mot_sim_looks_after(&s->world);
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
    mot_judge_close(&s->judge);
    for (unsigned i = 0; s->scratch && i < mot_crew_threads(s->crew); i++) free(s->scratch[i]);
    mot_crew_close(s->crew);
    free(s->scratch);
    mot_pool_close(&s->pool);
    mot_outbox_close(&s->outbox);
    mot_heap_close(&s->heap);
    mot_channel_close(s);
    mot_hosts_close(s);
    for (uint32_t k = 0; s->coll && k < s->colls; k++) {
        free(s->coll[k].in);
        free(s->coll[k].scalar);
        free(s->coll[k].began);
        free(s->coll[k].packed);
        free(s->coll[k].progress);
    }
    free(s->coll);
    free(s->message);
    free(s->message_free);
    if (s->states) mot_release(s->states, s->states_bytes);
    if (s->held) mot_release(s->held, s->held_bytes);
    free(s->node);
    free(s->nic);
    free(s->traffic.sent);
    free(s->view);
    mot_sim_forget(s, UINT64_MAX);
    free(s->piece);
    free(s->work);
    free(s->term);
    free(s->feed);
    free(s->synthetic);
    free(s->alarm);
    free(s->mean);
    mot_arena_free(&s->arena);
    mot_world_close(&s->world);
    free(s);
}
