#include "run/world.h"
#include "base/memory.h"
#include "data/rows.h"
#include "run/buckets.h"
#include "run/feed.h"
#include "run/circle.h"
#include "run/peers.h"
#include "run/pool.h"
#include <motley/code.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t rows_of(const struct mot_parts *p, uint32_t part)
{
    return (uint32_t)(p->at[part + 1] - p->at[part]);
}

/* The workers' batches together. */
static uint64_t round_of(const struct mot_experiment *x, const struct mot_parts *p)
{
    uint64_t all = 0;
    if (x->batch_full) return p->at[p->parts];
    for (uint32_t i = 0; i < x->workers; i++) all += x->batch[i];
    return all < p->parts ? p->parts : all;
}

static bool one_batch(const struct mot_experiment *x)
{
    uint32_t i = 1;
    while (i < x->workers && x->batch[i] == x->batch[0]) i++;
    return i == x->workers;
}

void mot_part_batches(const struct mot_experiment *x, const struct mot_parts *p, uint32_t *out)
{
    /* With a part for each worker, equal batches stay equal, even if some part has a row more than others. */
    bool as_given = p->parts == x->workers && (!x->shared_parts || x->batch_full || one_batch(x));
    double *rows = as_given ? NULL : mot_new_large(p->parts, sizeof(*rows));
    for (uint32_t i = 0; i < p->parts; i++) {
        if (as_given || x->batch_full) out[i] = x->batch_full ? rows_of(p, i) : x->batch[i];
        if (rows) rows[i] = rows_of(p, i);
    }
    if (rows && !x->batch_full) mot_share_out(p->parts, rows, round_of(x, p), out);
    free(rows);
}

/* With `batch: full`, a worker's batch is its part or, if parts are shared, its share of the rows. */
static void fill_batches(struct mot_world *w, const struct mot_experiment *x, uint32_t *batch)
{
    for (uint32_t i = 0; i < w->workers; i++) {
        if (!x->batch_full) batch[i] = x->batch[i];
        else if (!x->shared_parts) batch[i] = (uint32_t)w->part_rows[i];
        else batch[i] = (uint32_t)(w->rows / w->workers + (i < w->rows % w->workers));
        if (x->shared_parts && batch[i] == 0) batch[i] = 1;
    }
}

static enum mot_status fill(
    struct mot_world *w, const struct mot_experiment *x, const struct mot_parts *parts)
{
    uint64_t *rows = mot_new_large(parts->parts, sizeof(*rows));
    uint32_t *batch = mot_new_large(x->workers, sizeof(*batch)),
             *part_batch = mot_new_large(parts->parts, sizeof(*part_batch));
    w->part_rows = rows;
    w->batch = batch;
    w->part_batch = part_batch;
    if (!rows || !batch || !part_batch) return mot_memory_status();
    for (uint32_t i = 0; i < parts->parts; i++) w->rows += rows[i] = rows_of(parts, i);
    fill_batches(w, x, batch);
    mot_part_batches(x, parts, part_batch);
    return mot_memory_status();
}

static void fill_tensors(struct mot_world *w, const struct mot_net *net)
{
    uint32_t *at = mot_new(net->segments + 1, sizeof(*at));
    for (uint32_t i = 0; i < net->segments; i++) at[i] = net->segment[i].off;
    at[net->segments] = net->dim;
    w->tensors = net->segments;
    w->tensor_at = at;
}

/* A term counts its samples in 32 bits. */
static enum mot_status check_round(const struct mot_experiment *x, const struct mot_parts *p)
{
    uint64_t all = x->shared_parts ? round_of(x, p) : 0;
    if (all <= UINT32_MAX) return MOT_OK;
    return mot_fail(MOT_EUSAGE, "batch: the batches of all workers come to %llu samples, expected at most %u",
        (unsigned long long)all, UINT32_MAX);
}

static void weigh_parts(struct mot_world *w, const struct mot_problem *p)
{
    const struct mot_parts *parts = p->sampler.parts;
    uint64_t *bytes = mot_new_large(parts->parts, sizeof(*bytes));
    w->part_bytes = bytes;
    for (uint32_t i = 0; bytes && i < parts->parts; i++)
        bytes[i] = mot_rows_bytes(&p->data->train, parts->row + parts->at[i], (uint32_t)w->part_rows[i]);
}

/* Bytes of a row of each part, on average. */
static void weigh_rows(struct mot_world *w, const struct mot_problem *p)
{
    const struct mot_parts *parts = p->sampler.parts;
    uint64_t *bytes = mot_new_large(parts->parts, sizeof(*bytes));
    w->row_bytes = bytes;
    for (uint32_t i = 0; bytes && i < parts->parts; i++) {
        uint64_t rows = w->part_rows[i];
        uint64_t all = mot_rows_bytes(&p->data->train, parts->row + parts->at[i], (uint32_t)rows);
        bytes[i] = rows ? all / rows + (all % rows != 0) : 1;
    }
}

/* A buffer that cannot hold a batch would keep its worker waiting for ever. */
static enum mot_status check_room(const struct mot_experiment *x, const struct mot_world *w)
{
    for (uint32_t i = 0; i < w->workers; i++) {
        const struct mot_machine *m = &x->cluster->machine[i];
        struct mot_feed f;
        if (m->stream.kind == MOT_STREAM_NONE) continue;
        mot_feed_open(&f, m, w->row_bytes[i], 0, (struct mot_supply){ 0 }, NULL);
        uint64_t need = x->traits.varies ? 1 : w->batch[i];
        if (f.bound < need)
            return mot_fail(MOT_EUSAGE,
                "worker %u has room for %llu sample%s of its stream, of about %llu bytes each; its jobs need "
                "%llu (cluster: memory, storage, stream.bound; batch)",
                i, (unsigned long long)f.bound, f.bound == 1 ? "" : "s", (unsigned long long)w->row_bytes[i],
                (unsigned long long)need);
    }
    return MOT_OK;
}

enum mot_status mot_world_open(const struct mot_experiment *x, const struct mot_problem *p,
    const struct mot_optim *optim, struct mot_world *w)
{
    *w = (struct mot_world){ .workers = x->workers,
        .servers = x->servers,
        .nodes = x->workers + x->servers,
        .groups = x->traits.groups,
        .dim = p->net->dim,
        .statistics = p->net->dim - p->net->trained,
        .seed = x->seed,
        .elastic = x->elastic,
        .streams = p->streamed || mot_cluster_streams(x->cluster),
        .passes = p->sampler.conf.passes == MOT_WORD_UINT ? 0 : p->sampler.conf.passes,
        .parts = p->sampler.parts->parts,
        .optim = optim,
        .mixing = p->mixing,
        .code = p->code,
        .compress = mot_compress_idle(&x->compress) ? NULL : &x->compress };
    MOT_ASSERT(x->cluster->workers == w->workers && x->cluster->servers == w->servers);
    MOT_ASSERT(!x->traits.mixes || w->mixing);
    MOT_ASSERT(!x->traits.codes || w->code);
    enum mot_status status = check_round(x, p->sampler.parts);
    if (status != MOT_OK) return status;
    status = fill(w, x, p->sampler.parts);
    if (status != MOT_OK) { /* what follows reads the rows of each part */
        mot_world_close(w);
        return status;
    }
    fill_tensors(w, p->net);
    mot_buckets_open(w, p->net, x->traits.bucket);
    if (x->traits.peer_maps) w->peers = mot_peer_maps_open(x->traits.peer_maps, w->workers);
    if (x->shared_parts) weigh_parts(w, p);
    bool streams = w->streams;
    if (streams || x->traits.shares) weigh_rows(w, p);
    status = mot_memory_status();
    if (status == MOT_OK && streams && !p->streamed) status = check_room(x, w);
    if (status == MOT_OK && x->method->validate) status = x->method->validate(x->method_conf, w);
    if (status != MOT_OK) mot_world_close(w);
    return status;
}

void mot_world_close(struct mot_world *w)
{
    free((void *)(uintptr_t)w->part_rows);
    free((void *)(uintptr_t)w->batch);
    free((void *)(uintptr_t)w->part_batch);
    free((void *)(uintptr_t)w->part_bytes);
    free((void *)(uintptr_t)w->row_bytes);
    free((void *)(uintptr_t)w->tensor_at);
    mot_buckets_close(w);
    mot_peer_maps_close(w->peers);
    w->tensor_at = NULL;
    w->peers = NULL;
    w->part_rows = w->part_bytes = w->row_bytes = NULL;
    w->batch = w->part_batch = NULL;
}

enum mot_status mot_world_refuse(
    const struct mot_world *w, const char *checkpoint, uint32_t workers, uint32_t parameters)
{
    return mot_fail(MOT_EUSAGE,
        "%s: the checkpoint belongs to a different experiment (%u workers, %u parameters; this one has %u "
        "and %u): only stop, checkpoint, trace, sim.threads and output may change; data, model, method, "
        "code, cluster, evaluate and seed may not",
        checkpoint, workers, parameters, w->workers, w->dim);
}

static bool role_has(const struct mot_code *c, uint32_t role, uint32_t part)
{
    uint32_t i = c->at[role];
    while (i < c->at[role + 1] && c->share[i].part != part) i++;
    return i < c->at[role + 1];
}

bool mot_world_holds(const struct mot_experiment *x, const struct mot_world *w, mot_node node, uint32_t part)
{
    MOT_ASSERT(node < w->nodes && part < w->parts);
    if (node >= w->workers) return true;
    if (x->method->holds) return x->method->holds(x->method_conf, w, node, part);
    return w->code ? role_has(w->code, node, part) : node == part;
}

void mot_world_begin(struct mot_world *w, struct mot_pool *pool, const float *x0)
{
    w->x0 = mot_pool_take(pool);
    w->zero = mot_pool_take(pool);
    memcpy(mot_pool_at(pool, w->x0), x0, w->dim * sizeof(float));
    memset(mot_pool_at(pool, w->zero), 0, w->dim * sizeof(float));
}

mot_node mot_world_lead(const struct mot_world *w) { return w->servers ? w->workers : 0; }

uint32_t mot_world_showing(const struct mot_experiment *x, const struct mot_world *w)
{
    MOT_ASSERT((x->traits.model == MOT_MODEL_OF_SERVERS) == (w->servers > 0));
    return w->servers ? w->servers : x->traits.model == MOT_MODEL_OF_EACH ? w->workers : 1;
}

uint32_t mot_world_saved(const struct mot_experiment *x, const struct mot_world *w)
{
    return x->traits.keeps_own ? w->workers : mot_world_showing(x, w);
}

size_t mot_state_room(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

#define PACKER_BUFFERS 8u /* what was not sent, before and now; two that are weighed; of ef21 the next ones */

struct mot_need mot_need_of(const struct mot_experiment *x, const struct mot_world *w, mot_node node)
{
    struct mot_need n = x->method->need(x->method_conf, w, node);
    /* A node may have a packer for each server, and a packed buffer in flight for each message it sends. */
    if (w->compress) n.buffers += PACKER_BUFFERS * (w->servers ? w->servers : 1) + n.sends;
    return n;
}

void mot_needs_add(
    struct mot_needs *sum, const struct mot_experiment *x, const struct mot_world *w, mot_node node)
{
    struct mot_need n = mot_need_of(x, w, node);
    MOT_ASSERT(n.state_bytes > 0 && n.colls <= 1);
    if (node >= w->workers) n.works = n.colls = 0;
    sum->states += mot_state_room(n.state_bytes);
    sum->buffers += n.buffers + n.works;
    sum->holds += n.holds;
    sum->sends += n.sends;
    sum->works += n.works;
    sum->terms += (uint64_t)n.works * n.terms;
    sum->alarms += n.alarms;
    if (n.sends > sum->most.sends) sum->most.sends = n.sends;
    if (n.works > sum->most.works) sum->most.works = n.works;
    if (n.terms > sum->most.terms) sum->most.terms = n.terms;
    if (n.alarms > sum->most.alarms) sum->most.alarms = n.alarms;
    if (n.colls > sum->most.colls) sum->most.colls = n.colls;
}

struct mot_needs mot_needs_of(const struct mot_experiment *x, const struct mot_world *w)
{
    uint32_t showing = mot_world_saved(x, w);
    struct mot_needs sum = { .shown = showing > 1 ? showing : 0 };
    for (mot_node i = 0; i < w->nodes; i++) mot_needs_add(&sum, x, w, i);
    return sum;
}

uint32_t mot_needs_window(const struct mot_needs *n) { return n->most.colls ? 3 : 0; }

uint32_t mot_needs_colls(const struct mot_needs *n, const struct mot_world *w)
{
    return mot_needs_window(n) * mot_circles(w);
}

/* ---- Updates and epochs ------------------------------------------------------------------------ */

struct mot_course mot_course_of(
    const struct mot_experiment *x, const struct mot_world *w, const struct mot_problem *p, uint64_t samples0)
{
    return (struct mot_course){ .world = w,
        .problem = p,
        .known = w->servers == 0 && x->traits.batches % w->workers == 0 && !x->shared_parts &&
            !x->traits.redundant && !x->traits.own_pace && !x->traits.varies && !w->streams,
        .batches = x->traits.batches / w->workers,
        .samples0 = samples0 };
}

uint64_t mot_course_draw(const struct mot_course *c, mot_node worker, uint64_t updates)
{
    const struct mot_world *w = c->world;
    uint64_t first = w->draw0 ? w->draw0[worker] : 0, done, asked;
    done = updates > w->step0 ? updates - w->step0 : 0;
    if (__builtin_mul_overflow(done, (uint64_t)w->batch[worker] * c->batches, &asked))
        asked = UINT64_MAX - first;
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
    while (high - low > 1) { /* low is before the epoch, high is not */
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
