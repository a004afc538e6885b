/* collective.c -- sums over all workers, message by message over the links. */
#include "sim/state.h"
#include "math/kernels.h"
#include <string.h>

static struct sim_coll *coll_of(struct sim *s, uint64_t number) { return &s->coll[number % s->window]; }

/* ---- The numbers: in rank order, whatever the schedule ------------------------------- */

#define SUM_RANGE 16384u /* floats that one thread adds up at a time */

struct sum {
    struct sim *s;
    struct sim_coll *c;
    float *out;
};

static void sum_range(void *context, uint32_t range, unsigned who)
{
    struct sum *j = context;
    const struct mot_kernels *k = mot_kernels();
    uint32_t first = range * SUM_RANGE, len = j->c->len - first < SUM_RANGE ? j->c->len - first : SUM_RANGE;
    (void)who;
    for (uint32_t i = 0; i < j->s->world.workers; i++) {
        const float *in = mot_pool_at(&j->s->pool, j->c->in[i].buf) + j->c->in[i].off + first;
        if (i == 0) memcpy(j->out + first, in, len * sizeof(float));
        else k->axpy(len, 1.0f, in, j->out + first);
    }
}

static void sum_inputs(struct sim *s, struct sim_coll *c)
{
    uint32_t workers = s->world.workers, ranges = (c->len + SUM_RANGE - 1) / SUM_RANGE;
    MOT_ASSERT(c->joined == workers);
    c->out = mot_pool_take(&s->pool);
    struct sum job = { .s = s, .c = c, .out = mot_pool_at(&s->pool, c->out) };
    if (workers > 8 && ranges > 1) {
        mot_crew_each(s->crew, ranges, sum_range, &job);
    } else {
        for (uint32_t r = 0; r < ranges; r++) sum_range(&job, r, 0);
    }
    memset(c->sum, 0, sizeof(c->sum));
    for (uint32_t i = 0; i < workers; i++) {
        for (int k = 0; k < MOT_SCALARS; k++) c->sum[k] += c->scalar[i][k];
        mot_pool_drop(&s->pool, c->in[i].buf);
        c->in[i].buf = MOT_NO_BUF;
    }
}

/* ---- The schedule ---------------------------------------------------------------------- */

static uint32_t instance_of(struct sim *s, const struct sim_coll *c) { return (uint32_t)(c - s->coll); }

static void send_step(struct sim *s, struct sim_coll *c, mot_node from, const struct mot_coll_step *step)
{
    if (s->channel) {
        mot_channel_send_step(s, from, step, instance_of(s, c));
        return;
    }
    mot_time delivered =
        mot_sim_depart(s, from, step->to, step->last - step->first, (uint16_t)step->step, true);
    mot_sim_put(s, delivered, from, SIM_COLL, step->to, step->step, instance_of(s, c));
}

static void finish(struct sim *s, struct sim_coll *c, mot_node node)
{
    if (c->finished++ == 0) sum_inputs(s, c);
    c->progress[node].finished = true;
    if (s->watch.phase && mot_watch_follows(&s->watch))
        s->watch.phase(s->watch.self, node, MOT_PHASE_COLLECTIVE, c->tag, 0, c->began[node], s->now);
    struct mot_coll_result result = { .tag = c->tag, .out = { .buf = c->out, .off = 0, .len = c->len } };
    memcpy(result.scalar, c->sum, sizeof(result.scalar));
    bool last = c->finished == s->world.workers;
    mot_pool_hold(&s->pool, result.out.buf); /* the instance may be used anew while the node's step runs */
    if (last) {
        mot_pool_drop(&s->pool, c->out);
        memset(c->progress, 0, s->world.workers * sizeof(*c->progress));
        c->joined = c->finished = 0;
        c->out = MOT_NO_BUF;
    }
    mot_sim_step(s, node, &(struct mot_event){ .kind = MOT_EV_COLL, .coll = &result });
    mot_pool_drop(&s->pool, result.out.buf);
}

/* Sends what the node can send now; true if it then has the whole sum. */
static bool go_on(struct sim *s, struct sim_coll *c, mot_node node)
{
    enum mot_collective kind = (enum mot_collective)s->x->sim.collective;
    struct mot_coll_progress *p = &c->progress[node];
    struct mot_coll_step step;
    while (mot_schedule_next(kind, s->world.workers, node, c->len, p, &step)) send_step(s, c, node, &step);
    return !p->finished && mot_schedule_complete(kind, s->world.workers, node, p);
}

/* The step number of an event that is no message: the node had the sum as it joined. */
#define ALREADY UINT32_MAX

void mot_sim_join(struct sim *s, mot_node node, const struct mot_coll *coll)
{
    struct sim_coll *c = coll_of(s, s->node[node].colls++);
    if (c->joined == 0) {
        c->tag = coll->tag;
        c->len = coll->in.len;
    }
    MOT_ASSERT(c->tag == coll->tag && "all workers join the same collective");
    MOT_ASSERT(c->len == coll->in.len);
    MOT_ASSERT(!c->progress[node].joined);
    c->joined++;
    c->in[node] = coll->in; /* the hold of mot_collect is ours now */
    memcpy(c->scalar[node], coll->scalar, sizeof(coll->scalar));
    c->began[node] = s->now;
    c->progress[node].joined = true;
    /* Joining is an effect of a step: what follows from it is an event of its own. */
    if (go_on(s, c, node)) mot_sim_put(s, s->now, node, SIM_COLL, node, ALREADY, instance_of(s, c));
}

void mot_sim_coll_received(struct sim *s, const struct mot_pending *p)
{
    struct sim_coll *c = &s->coll[p->instance];
    mot_node from = mot_tie_rank(p->tie), to = p->index;
    if (p->extra == ALREADY) {
        finish(s, c, to);
        return;
    }
    mot_sim_arrive(s, from, to);
    mot_sim_coll_step(s, p->instance, from, to, p->extra);
}

void mot_sim_coll_step(struct sim *s, uint32_t instance, mot_node from, mot_node to, uint32_t step)
{
    struct sim_coll *c = &s->coll[instance];
    mot_schedule_received(
        (enum mot_collective)s->x->sim.collective, s->world.workers, to, from, step, &c->progress[to]);
    if (go_on(s, c, to)) finish(s, c, to);
}
