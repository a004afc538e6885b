/* memory.c -- the memory of a live run, before it begins. */
#include "base/memory.h"
#include "live/live.h"
#include "live/node.h"
#include "run/memory_plan.h"

/* If several models make up the run's, an evaluation has copies of them all, and there are up to four of them
 * at a time: one that is computed, one that waits, and those that are being collected. */
#define COLLECTED 4u

#define RUNS_OWN 2u  /* buffers with the initial model and zero */
#define RANK_SUMS 2u /* of a rank in a collective: what the others gave, and the sum */

uint64_t mot_live_rank_buffers(const struct mot_needs *n, const struct mot_world *w)
{
    return n->buffers + n->holds + n->sends + n->shown * MOT_LIVE_SHOWN +
        mot_needs_window(n) * (w->groups ? MOT_COLL_SCOPES : 1u);
}

/* What the nodes of a process need; of all nodes: in one process. */
struct part {
    uint32_t workers, servers;
    bool all;
    struct mot_needs needs;
};

static struct part part_of(const struct mot_experiment *x, const struct mot_world *w,
    const struct mot_live_hosted *hosted, const struct mot_needs *all)
{
    if (!hosted->node) return (struct part){ w->workers, w->servers, true, *all };
    struct part part = { 0 };
    for (uint32_t i = 0; i < hosted->nodes; i++) {
        bool worker = hosted->node[i] < w->workers;
        part.workers += worker;
        part.servers += !worker;
        mot_needs_add(&part.needs, x, w, hosted->node[i]);
    }
    return part;
}

static uint64_t share_of(uint64_t n, uint64_t part, uint64_t all) { return (n * part + all - 1) / all; }

/* The most buffers that can be used. Bodies that arrive are copies; a worker gets its share of what others
 * send. */
static uint64_t most_of(const struct part *p, const struct mot_needs *all, const struct mot_world *w)
{
    uint64_t own = RUNS_OWN + MOT_LIVE_SLOTS + MOT_LIVE_HELD + p->needs.buffers;
    if (p->all) return own + mot_needs_colls(all, w);
    uint64_t sent = all->sends - p->needs.sends;
    return own + p->needs.holds + (p->servers ? sent : share_of(sent, p->workers, w->workers)) +
        RANK_SUMS * mot_needs_window(all);
}

/* The buffers that are expected, if a rehearsal used so many for all nodes. While a model is evaluated, the
 * next one is made. Workers that do not wait for all are less close to each other than in a simulation of
 * equal ones: about half of them hold another model. A rank with a server holds what workers sent, as the
 * rehearsal did; others hold their share, and what arrives besides. */
static uint64_t expected_of(const struct part *p, const struct mot_needs *all, const struct mot_world *w,
    const struct mot_driver_options *o, uint64_t played)
{
    const struct mot_experiment *x = o->experiment;
    bool in_step = x->servers ? x->traits.batches >= x->workers : x->traits.model == MOT_MODEL_OF_ALL;
    uint64_t more = 1 + o->optim->slots, nodes = played - RUNS_OWN;
    if (p->all) return played + more + (in_step ? 0 : x->workers / 2);
    if (p->servers) return RUNS_OWN + more + share_of(nodes, p->servers, w->servers);
    uint64_t share = share_of(nodes, p->workers, w->workers), arrive = p->needs.sends;
    return RUNS_OWN + more + share + (arrive < share ? arrive : share) +
        (mot_needs_window(all) ? RANK_SUMS : 0);
}

enum mot_status mot_live_plan(const struct mot_driver_options *o, const struct mot_live_hosted *hosted,
    uint32_t played, struct mot_memory_plan *out)
{
    const struct mot_experiment *x = o->experiment;
    struct mot_world w;
    enum mot_status status = mot_world_open(x, o->problem, o->optim, &w);
    if (status != MOT_OK) return status;
    const struct mot_needs all = mot_needs_of(x, &w);
    const struct part part = part_of(x, &w, hosted, &all);
    uint32_t showing = mot_world_showing(x, &w);
    *out = (struct mot_memory_plan){
        .buffer_count = most_of(&part, &all, &w), .copies = part.workers, .fewer = "workers"
    };
    out->buffers_reserved = part.all
        ? out->buffer_count
        : RUNS_OWN + MOT_LIVE_SLOTS + MOT_LIVE_HELD + mot_live_rank_buffers(&all, &w);
    if (out->buffer_count > out->buffers_reserved) out->buffer_count = out->buffers_reserved;
    out->states = part.needs.states +
        (uint64_t)part.workers * (sizeof(struct mot_live_node) + 2 * w.workers * sizeof(uint64_t));
    out->events = part.needs.sends * (sizeof(struct mot_message) + sizeof(struct mot_effect));
    out->scratch = part.workers * (uint64_t)mot_gradient_scratch(o->problem);
    /* the judge evaluates on one thread */
    const uint32_t shown = showing > 1 ? 1 + COLLECTED * (x->servers ? 1 : showing) : 0;
    mot_memory_plan_fill(out, x, o->problem, hosted->leads, hosted->leads ? shown : 0);
    if (!hosted->leads) { /* but the initial model */
        out->total -= out->evaluation;
        out->evaluation = o->problem->net->dim * sizeof(float);
        out->total += out->evaluation;
    }
    if (played > RUNS_OWN) mot_memory_plan_expect(out, expected_of(&part, &all, &w, o, played));
    mot_world_close(&w);
    return MOT_OK;
}
