#include "run/world.h"
#include <math.h>

void mot_world_fill(const struct mot_experiment *x, const struct mot_problem *p,
    const struct mot_optim *optim, uint64_t *part_rows, uint32_t *batch, struct mot_world *w)
{
    const struct mot_parts *parts = p->sampler.parts;
    *w = (struct mot_world){ .workers = x->workers,
        .servers = x->servers,
        .nodes = x->workers + x->servers,
        .dim = p->net->dim,
        .seed = x->seed,
        .parts = parts->parts,
        .part_rows = part_rows,
        .batch = batch,
        .optim = optim,
        .mixing = p->mixing };
    for (uint32_t i = 0; i < parts->parts; i++) w->rows += part_rows[i] = parts->at[i + 1] - parts->at[i];
    for (uint32_t i = 0; i < w->workers; i++) batch[i] = x->batch_full ? (uint32_t)part_rows[i] : x->batch[i];
}

enum mot_status mot_world_check(const struct mot_experiment *x, const struct mot_world *w)
{
    MOT_ASSERT(x->cluster->workers == w->workers && x->cluster->servers == w->servers);
    MOT_ASSERT(!x->method->neighbours || w->mixing);
    if (x->method->validate) return x->method->validate(x->method_conf, w);
    return MOT_OK;
}

mot_node mot_world_lead(const struct mot_world *w) { return w->servers ? w->workers : 0; }

uint32_t mot_world_showing(const struct mot_experiment *x, const struct mot_world *w)
{
    MOT_ASSERT(!x->method->decentralised || w->servers == 0);
    return w->servers ? w->servers : x->method->decentralised ? w->workers : 1;
}

size_t mot_state_room(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

struct mot_needs mot_needs_of(const struct mot_experiment *x, const struct mot_world *w)
{
    uint32_t showing = mot_world_showing(x, w);
    struct mot_needs sum = { .shown = showing > 1 ? showing : 0 };
    for (mot_node i = 0; i < w->nodes; i++) {
        struct mot_need n = x->method->need(x->method_conf, w, i);
        MOT_ASSERT(n.state_bytes > 0);
        if (i >= w->workers) n.works = n.colls = 0;
        sum.states += mot_state_room(n.state_bytes);
        sum.buffers += n.buffers + n.works;
        sum.sends += n.sends;
        sum.works += n.works;
        sum.terms += (uint64_t)n.works * n.terms;
        sum.alarms += n.alarms;
        if (n.sends > sum.most.sends) sum.most.sends = n.sends;
        if (n.works > sum.most.works) sum.most.works = n.works;
        if (n.terms > sum.most.terms) sum.most.terms = n.terms;
        if (n.alarms > sum.most.alarms) sum.most.alarms = n.alarms;
        if (n.colls > sum.most.colls) sum.most.colls = n.colls;
    }
    return sum;
}

uint32_t mot_needs_window(const struct mot_needs *n)
{
    return n->most.colls ? n->most.colls + 1 : 0; /* a node may be one collective ahead of another */
}

/* ---- Updates and epochs ------------------------------------------------------------------------ */

struct mot_course mot_course_of(
    const struct mot_experiment *x, const struct mot_world *w, const struct mot_problem *p, uint64_t samples0)
{
    return (struct mot_course){
        .world = w, .problem = p, .known = w->servers == 0 && !x->method->asynchronous, .samples0 = samples0
    };
}

uint64_t mot_course_draw(const struct mot_course *c, mot_node worker, uint64_t updates)
{
    const struct mot_world *w = c->world;
    uint64_t first = w->draw0 ? w->draw0[worker] : 0, done, asked;
    done = updates > w->step0 ? updates - w->step0 : 0;
    if (__builtin_mul_overflow(done, (uint64_t)w->batch[worker], &asked)) asked = UINT64_MAX - first;
    return first + mot_sample_count(&c->problem->sampler, worker, first, asked);
}

uint64_t mot_course_samples(const struct mot_course *c, uint64_t updates)
{
    const struct mot_world *w = c->world;
    uint64_t all = c->samples0;
    for (mot_node i = 0; i < w->workers; i++) {
        uint64_t more = mot_course_draw(c, i, updates) - (w->draw0 ? w->draw0[i] : 0);
        if (__builtin_add_overflow(all, more, &all)) return UINT64_MAX;
    }
    return all;
}

double mot_course_epochs(const struct mot_course *c, uint64_t updates)
{
    return (double)mot_course_samples(c, updates) / (double)c->problem->data->train.rows;
}

uint64_t mot_course_update(const struct mot_course *c, double epochs)
{
    uint64_t low = c->world->step0, high = UINT64_C(1) << 62;
    if (!c->known || isnan(epochs) || mot_course_epochs(c, high) < epochs) return UINT64_MAX;
    if (mot_course_epochs(c, low) >= epochs) return low;
    while (high - low > 1) { /* low is before it, high is not */
        uint64_t middle = low + (high - low) / 2;
        if (mot_course_epochs(c, middle) >= epochs) high = middle;
        else low = middle;
    }
    return high;
}

uint64_t mot_course_due(const struct mot_course *c, const struct mot_every *e, uint64_t after)
{
    double next;
    switch (e->unit) {
    case MOT_EVERY_UPDATES:
        next = ceil((floor((double)after / e->value) + 1) * e->value);
        if (!(next < 0x1p63)) return UINT64_MAX;
        return (uint64_t)next > after ? (uint64_t)next : after + 1;
    case MOT_EVERY_EPOCHS:
        if (!c->known) return UINT64_MAX;
        next = (floor(mot_course_epochs(c, after) / e->value) + 1) * e->value;
        return mot_course_update(c, next);
    case MOT_EVERY_TIME:
    case MOT_EVERY_AUTO: return UINT64_MAX;
    }
    return UINT64_MAX;
}

struct mot_every mot_every_resolve(const struct mot_experiment *x)
{
    struct mot_every every = x->evaluate.every;
    if (every.unit == MOT_EVERY_AUTO) {
        if (x->stop.updates != MOT_WORD_UINT)
            every = (struct mot_every){ MOT_EVERY_UPDATES,
                x->stop.updates < 50 ? 1 : floor((double)x->stop.updates / 50) };
        else if (!isnan(x->stop.epochs)) every = (struct mot_every){ MOT_EVERY_EPOCHS, x->stop.epochs / 50 };
        else if (x->stop.time != MOT_NEVER)
            every = (struct mot_every){ MOT_EVERY_TIME, (double)x->stop.time / 50 };
        else every = (struct mot_every){ MOT_EVERY_EPOCHS, 0.25 };
    }
    if (every.unit == MOT_EVERY_TIME && every.value < 1) every.value = 1;
    return every;
}

void mot_pick_worker(struct mot_pick *p, mot_node worker, double job_time)
{
    if (job_time <= 0) return;
    p->n++;
    p->sum += job_time;
    if (job_time > p->longest) {
        p->longest = job_time;
        p->worker = worker;
    }
}

void mot_pick_slowest(const struct mot_pick *p, struct mot_moment *m)
{
    if (p->n < 2) return;
    m->slowest = p->worker;
    m->slowest_factor = p->longest * p->n / p->sum;
}
