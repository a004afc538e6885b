#include "live/live.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "live/node.h"
#include "live/rings.h"
#include <stdlib.h>
#include <math.h>
#include <string.h>

enum mot_status mot_live_open(struct mot_live *l, const struct mot_driver_options *o)
{
    *l = (struct mot_live){ .experiment = o->experiment,
        .problem = o->problem,
        .emulate = o->emulate,
        .own_pace = o->experiment->traits.own_pace,
        .checkpoint = o->checkpoint,
        .keeps = o->checkpoint != NULL,
        .hash = o->hash };
    l->slots = o->optim->slots + o->experiment->traits.keeps;
    enum mot_status status = MOT_OK;
    if (mot_intake_outside(&o->experiment->source))
        status = mot_rings_open(o->experiment, o->problem, &l->rings);
    if (status != MOT_OK) return status;
    if (l->rings) l->problem = mot_rings_problem(l->rings);
    status = mot_world_open(o->experiment, l->problem, o->optim, &l->world);
    if (status != MOT_OK) {
        mot_rings_close(l->rings);
        l->rings = NULL;
    }
    l->blocks = mot_blocks_of(&l->world);
    return status;
}

void mot_live_close(struct mot_live *l)
{
    free(l->kept);
    free(l->left);
    mot_world_close(&l->world);
    mot_rings_close(l->rings);
    l->rings = NULL;
}

mot_time mot_live_now(const struct mot_live *l) { return mot_wall_ns() - l->began_ns; }

void mot_live_hear_pace(struct mot_live *l, mot_node worker, uint64_t paced)
{
    uint64_t before = atomic_load(&l->paced[worker]);
    if (paced <= before) return;
    atomic_store(&l->paced[worker], paced);
    atomic_fetch_add(&l->stepped, paced / 2 - before / 2);
}

/* What ended the run to be resumed, unless it has been given a later end. */
static const char *over_by(const struct mot_live *l, const struct mot_live_checkpoint *from)
{
    const struct mot_experiment *x = l->experiment;
    if (from->target.met && mot_target_met(x, &from->target.score)) return "target";
    if (from->updates >= l->stop_at) return l->stop_by;
    if (!l->course.known && (double)from->samples / l->problem->data->train.rows >= x->stop.epochs)
        return "epochs";
    if (from->out_of_data) return "data";
    return from->now >= x->stop.time ? "time" : NULL;
}

void mot_live_begin(struct mot_live *l, const struct mot_live_checkpoint *from)
{
    l->lead = mot_world_lead(&l->world);
    l->showing =
        l->keeps ? mot_world_saved(l->experiment, &l->world) : mot_world_showing(l->experiment, &l->world);
    l->from = from;
    l->world.step0 = from ? from->step : 0;
    l->world.draw0 = from ? from->draw : NULL;
    if (from && from->word) l->world.kept = l->kept = mot_new(l->world.nodes, sizeof(*l->kept));
    bool one = l->experiment->traits.model == MOT_MODEL_OF_ALL && !l->experiment->traits.keeps_own;
    for (mot_node i = 0; l->kept && i < l->world.nodes; i++)
        memcpy(l->kept[i].word, from->word[one ? 0 : i], sizeof(l->kept[i].word));
    l->rests = l->keeps && mot_live_has_rests(l);
    uint32_t pairs = l->world.workers * l->world.servers;
    if (from && from->rest) l->world.left = l->left = mot_new_large(pairs, sizeof(*l->left));
    for (uint32_t i = 0; l->left && i < pairs; i++)
        l->left[i] = (struct mot_left){
            .weight = from->rest[i].weight, .lost = from->rest[i].lost, .packs = from->rest[i].packs
        };
    l->every = mot_every_resolve(l->experiment);
    l->course = mot_course_of(l->experiment, &l->world, l->problem, from ? from->samples : 0);
    l->stop_at = mot_course_update(&l->course, l->experiment->stop.epochs);
    l->stop_by = "epochs";
    if (l->experiment->stop.updates <= l->stop_at) {
        l->stop_at = l->experiment->stop.updates;
        l->stop_by = "updates";
    }
    l->over = from ? over_by(l, from) : NULL;
    if (from && from->held && l->rings && mot_rings_reservoir(l->rings))
        mot_reservoir_add(mot_rings_reservoir(l->rings), from->held, from->held_bytes);
}

void mot_live_fill(
    struct mot_live *l, const struct mot_live_params *from, struct mot_world *w, mot_node first, mot_node end)
{
    uint32_t own = w->optim->slots;
    for (uint32_t s = 0; s < (l->kept ? l->slots : own); s++) {
        mot_buf b = mot_pool_take(&l->pool);
        memcpy(mot_pool_at(&l->pool, b), from->slot[s], w->dim * sizeof(float));
        if (s < own) w->slot0[s] = b;
        else
            for (mot_node i = first; i < end; i++) l->kept[i].buf[s - own] = b;
    }
}

/* The end of the nodes whose kept state is the lead's, or lies beside it: if all workers have the same model,
 * worker 0 stands for all. */
static mot_node end_of_kept(const struct mot_live *l)
{
    return l->experiment->traits.model == MOT_MODEL_OF_ALL ? l->world.workers : l->lead + l->showing;
}

static void fill(struct mot_live *l, const float *x0)
{
    const struct mot_live_params *from = l->from ? &l->from->model[0] : NULL;
    mot_world_begin(&l->world, &l->pool, from ? from->x : x0);
    if (!from) return;
    /* If models differ, each node fills in its own. */
    mot_live_fill(l, from, &l->world, l->lead, l->from->models > 1 ? l->lead : end_of_kept(l));
}

enum mot_status mot_live_reserve(struct mot_live *l, const struct mot_driver_options *o, uint32_t buffers)
{
    uint32_t own = l->from && l->from->models > 1 ? l->from->models : 0;
    buffers += 2 + MOT_LIVE_SLOTS + own * (1 + l->slots) + MOT_LIVE_HELD + mot_live_rests_buffers(l);
    enum mot_status status = mot_pool_open(&l->pool, l->world.dim, buffers);
    if (status == MOT_OK && l->world.compress) status = mot_pool_open_packets(&l->pool);
    if (status != MOT_OK) return status;
    mot_pool_share(&l->pool); /* at least with the judge's thread */
    fill(l, o->x0);
    l->job_us = mot_new_large(l->world.workers, sizeof(*l->job_us));
    if (o->watch && o->watch->worked) l->worked_ns = mot_new_large(l->world.workers, sizeof(*l->worked_ns));
    /* The cluster's rates hold if it is emulated, or if they are the source. */
    bool rates = l->emulate || l->experiment->source.from;
    if (l->rings || (rates && mot_cluster_streams(l->experiment->cluster)))
        l->place = mot_new_large(l->world.workers, sizeof(*l->place));
    l->paced = mot_new_large(l->world.workers, sizeof(*l->paced));
    atomic_store(&l->stepped, l->world.workers * l->world.step0);
    for (mot_node i = 0; l->paced && i < l->world.workers; i++)
        atomic_store(&l->paced[i], 2 * l->world.step0);
    pthread_mutex_init(&l->watch_lock, NULL);
    if (o->watch) l->watch = *o->watch;
    return mot_memory_status();
}

void mot_live_release(struct mot_live *l)
{
    if (!l->pool.memory) return;
    pthread_mutex_destroy(&l->watch_lock);
    free((void *)l->job_us);
    free((void *)l->worked_ns);
    free(l->place);
    l->place = NULL;
    free((void *)l->paced);
    mot_pool_close(&l->pool);
}

void mot_live_book(const struct mot_live_account *a, mot_node node, struct mot_outcome *out)
{
    mot_time busy = a->tally.compute + a->tally.wait;
    out->node[node] = a->tally;
    mot_flow_add(&out->last.flow,
        &(struct mot_flow){ .arrived = a->tally.feed.arrived,
            .used = a->tally.feed.used,
            .dropped = a->tally.feed.dropped,
            .waiting = a->tally.feed.waiting,
            .malformed = a->tally.feed.malformed,
            .held = a->tally.feed.held,
            .oldest = NAN });
    if (a->trouble[0] && !out->trouble) {
        out->trouble = mot_arena_text(&out->arena, a->trouble);
        out->troubled = node;
    }
    mot_traffic_add(&out->traffic, node, a->sent);
    out->node[node].send =
        out->last.now > busy ? out->last.now - busy : 0; /* the rest: messages and updates */
    out->last.bytes_sent += a->tally.bytes_sent;
    out->last.rows_bytes += a->tally.rows_bytes;
    out->last.messages += a->tally.messages_sent;
    out->last.events += a->events;
    out->last.steps += a->advanced;
    out->faults.poisoned += a->poisoned;
    if (a->status == MOT_OK || strcmp(out->ended_by, "target") == 0)
        return; /* what happened after the target is void */
    out->status = (enum mot_status)a->status;
    out->ended_by = mot_status_name(out->status);
}
