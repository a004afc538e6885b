/* memory.c -- the memory of a live run, before it begins. */
#include "base/memory.h"
#include "live/live.h"
#include "live/node.h"
#include "run/memory_plan.h"
#include "sim/sim.h"

/* If several models make up the run's, an evaluation has copies of them all, and there are up to four of them
 * at a time: one that is computed, one that waits, and those that are being collected. */
#define COLLECTED 4u

enum mot_status mot_live_plan(
    const struct mot_driver_options *o, uint32_t workers, bool closely, struct mot_memory_plan *out)
{
    const struct mot_experiment *x = o->experiment;
    struct mot_world w;
    enum mot_status status = mot_world_open(x, o->problem, o->optim, &w);
    if (status != MOT_OK) return status;
    struct mot_needs n = mot_needs_of(x, &w);
    uint64_t buffers = n.buffers + mot_needs_colls(&n, &w) + 2 + MOT_LIVE_SLOTS + MOT_LIVE_HELD,
             share = w.workers / workers;
    /* While a model is evaluated, the next one is made. Workers that do not wait for all are less close to
     * each other than in a simulation of equal ones: about half of them hold another model. */
    bool in_step = x->servers ? x->traits.batches >= x->workers : x->traits.model == MOT_MODEL_OF_ALL;
    uint32_t more = 1 + o->optim->slots + (in_step ? 0 : x->workers / 2);
    uint32_t showing = mot_world_showing(x, &w);
    *out = (struct mot_memory_plan){
        .buffer_count = buffers, .buffers_reserved = buffers, .threads = workers, .fewer = "workers"
    };
    out->states = n.states / share +
        (uint64_t)workers * (sizeof(struct mot_live_node) + 2 * w.workers * sizeof(uint64_t));
    out->events = n.sends / share * (sizeof(struct mot_message) + sizeof(struct mot_effect));
    out->scratch = workers * (uint64_t)mot_gradient_scratch(o->problem);
    /* the judge evaluates on one thread */
    mot_memory_plan_fill(out, x, o->problem, 1, showing > 1 ? 1 + COLLECTED * (x->servers ? 1 : showing) : 0);
    mot_world_close(&w);
    if (closely) mot_sim_expect(o, true, more, out);
    return MOT_OK;
}
