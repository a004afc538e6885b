/* rehearse.c -- how many buffers a run uses: a short run of a tiny model over the same messages tells.
 *
 * A method's need() is the most that it can hold. Few runs come near it, and for a large model the difference
 * is most of the memory. Who holds what when depends on jobs and messages alone, so the first rounds of the
 * same run are simulated, as those of a phantom: messages of the same size, and no mathematics. */
#include "base/memory.h"
#include "math/models.h"
#include "sim/sim.h"
#include <stdlib.h>
#include <string.h>

#define WORKERS_MOST 256u /* with more, rounds take too long to be played */
#define ROUNDS 4u
#define FLOATS 4096u /* of the tiny model, about */

/* Counts the rehearsal's steps; interrupts it when there were enough, or when the run is interrupted. */
struct rehearsal {
    const volatile sig_atomic_t *interrupt; /* the run's; may be NULL */
    uint64_t steps;
    volatile sig_atomic_t over;
};

static void heed_interrupt(struct rehearsal *r)
{
    if (r->interrupt && *r->interrupt) r->over = *r->interrupt;
}

static void count(struct rehearsal *r)
{
    if (++r->steps >= MOT_REHEARSAL_MOST) r->over = 1;
    heed_interrupt(r);
}

static void count_phase(void *self, mot_node node, enum mot_phase phase, uint32_t tag, uint32_t samples,
    mot_time from, mot_time to)
{
    (void)node, (void)phase, (void)tag, (void)samples, (void)from, (void)to;
    count(self);
}

static void count_flight(void *self, const struct mot_flight *flight)
{
    (void)flight;
    count(self);
}

static void look_up(void *self, const struct mot_moment *now)
{
    (void)now;
    heed_interrupt(self);
}

/* The same tensors, each with its share of a few floats. */
static void shrink(const struct mot_net *net, struct mot_model *still, struct mot_net *out)
{
    *still = *net->kind;
    still->computes = false;
    *out = *net;
    out->kind = still;
    out->segment = mot_new(net->segments, sizeof *out->segment);
    out->dim = out->trained = 0;
    out->scratch_bytes = 64;
    for (uint32_t s = 0; s < net->segments; s++) {
        struct mot_segment *to = &out->segment[s];
        *to = net->segment[s];
        to->len = (uint32_t)((uint64_t)to->len * FLOATS / net->dim) + 1;
        if (to->len > net->segment[s].len) to->len = net->segment[s].len;
        to->off = out->dim;
        to->rank = 1, to->shape[0] = to->len;
        out->dim += to->len;
        if (net->segment[s].off < net->trained) out->trained = out->dim;
    }
}

bool mot_sim_rehearse(const struct mot_driver_options *o, bool apart, struct mot_outcome *out)
{
    const struct mot_experiment *x = o->experiment;
    if (x->workers > WORKERS_MOST) return false;
    struct mot_model still;
    struct mot_net net;
    shrink(o->problem->net, &still, &net);
    struct mot_experiment short_x = *x;
    uint64_t updates = ROUNDS, batches = x->traits.batches ? x->traits.batches : 1;
    updates += ROUNDS * ((x->workers + batches - 1) / batches);
    if (updates < x->stop.updates) short_x.stop.updates = updates;
    short_x.sim.overcommit = true;
    short_x.sim.threads = 1;
    struct mot_problem problem = *o->problem;
    problem.net = &net;
    struct mot_optim optim = *o->optim;
    optim.net = &net;
    float *x0 = mot_new(net.dim, sizeof *x0);
    struct rehearsal rehearsal = { .interrupt = o->interrupt, .over = o->interrupt ? *o->interrupt : 0 };
    struct mot_watch watch = {
        .self = &rehearsal, .phase = count_phase, .flight = count_flight, .tick = look_up
    };
    struct mot_driver_options played = { .experiment = &short_x,
        .problem = &problem,
        .optim = &optim,
        .x0 = x0,
        .hash = o->hash,
        .watch = &watch,
        .interrupt = &rehearsal.over,
        .apart = apart };
    bool played_it = mot_driver_sim.run(&played, out) == MOT_OK;
    free(x0);
    free(net.segment);
    return played_it;
}

uint32_t mot_sim_buffers(const struct mot_driver_options *o, bool apart)
{
    struct mot_outcome played;
    if (!mot_sim_rehearse(o, apart, &played)) return 0;
    uint32_t used = played.buffers;
    mot_outcome_close(&played);
    return used;
}
