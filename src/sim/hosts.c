/* hosts.c -- what takes time besides jobs and messages: steps that write to models, and waiting for a core
 * that others use.
 *
 * A step that sums, mixes or runs the optimiser keeps its node busy in proportion to the floats it wrote.
 * Until it is over, its effects do not begin, a job of the same node stands still, and arriving events wait.
 * A host's busy nodes share its cores evenly; if there are more of them than cores, all slow down
 * accordingly. A step's time is fixed when it begins. A job's end moves whenever the number of busy nodes
 * changes, by the time lost until then. */
#include "base/wide.h"
#include "run/clock.h"
#include "sim/state.h"
#include <math.h>
#include <stdlib.h>

enum mot_status mot_hosts_open(struct sim *s)
{
    const struct mot_cluster *c = s->x->cluster;
    if (!c->host.cores && !(c->costs.step > 0) && !(c->costs.mix > 0)) return MOT_OK;
    struct sim_hosts *h = mot_new(1, sizeof(*h));
    h->cores = c->host.cores;
    h->step_ns = c->costs.step > 0 ? 1e9 * s->wire_bytes / c->costs.step : 0;
    h->mix_ns = c->costs.mix > 0 ? 1e9 * s->wire_bytes / c->costs.mix : 0;
    h->hosts = mot_host_of(c, c->workers - 1) + 1;
    h->busy_until = mot_new_large(s->world.nodes, sizeof(*h->busy_until));
    h->host = mot_new_large(h->hosts, sizeof(*h->host));
    s->hosts = h;
    return mot_memory_status();
}

void mot_hosts_close(struct sim *s)
{
    if (!s->hosts) return;
    free(s->hosts->busy_until);
    free(s->hosts->host);
    free(s->hosts);
}

/* x times `times` over `over`, rounded down. */
static mot_time scaled(mot_time x, uint32_t times, uint32_t over)
{
    return (mot_time)((mot_uint128)x * times / over);
}

/* A host's workers run from *first up to, but not including, the result. */
static mot_node workers_of(const struct sim *s, uint32_t host, mot_node *first)
{
    uint32_t each = s->x->cluster->host.workers, workers = s->world.workers;
    if (each == 0) each = workers;
    *first = host * each;
    return *first + each < workers ? *first + each : workers;
}

static bool is_active(const struct sim *s, mot_node node)
{
    return s->node[node].computing > 0 || s->hosts->busy_until[node] > s->now;
}

static uint32_t count_active(const struct sim *s, uint32_t host)
{
    mot_node first, end = workers_of(s, host, &first);
    uint32_t n = 0;
    for (mot_node i = first; i < end; i++) n += is_active(s, i);
    for (mot_node i = s->world.workers; host == 0 && i < s->world.nodes; i++) n += is_active(s, i);
    return n;
}

/* The time that the node's running job has lost since `since`, while `active` nodes shared the cores. */
static mot_time lost(const struct sim *s, mot_node node, mot_time since, uint32_t active)
{
    const struct sim_node *n = &s->node[node];
    uint32_t cores = s->hosts->cores;
    if (active <= cores) return 0;
    for (uint32_t i = 0; i < n->actor.works; i++) {
        const struct mot_slot *slot = mot_actor_slot((struct mot_actor *)&n->actor, i);
        if (slot->state != MOT_SLOT_RUNNING) continue;
        mot_time from = slot->began > since ? slot->began : since;
        return from < s->now ? scaled(s->now - from, active - cores, active) : 0;
    }
    return 0;
}

void mot_hosts_settle(struct sim *s, mot_node node)
{
    uint32_t cores = s->hosts->cores, host = mot_host_of(s->x->cluster, node);
    if (cores == 0) return;
    struct sim_host *h = &s->hosts->host[host], before = *h;
    *h = (struct sim_host){ .since = s->now, .active = count_active(s, host) };
    if (before.active <= cores && h->active <= cores) return;
    mot_node first, end = workers_of(s, host, &first);
    for (mot_node i = first; i < end; i++)
        if (s->node[i].computing) mot_sim_delay(s, i, lost(s, i, before.since, before.active));
}

mot_time mot_hosts_stretch(const struct sim *s, mot_node node, mot_time from, mot_time at)
{
    const struct sim_host *h = &s->hosts->host[mot_host_of(s->x->cluster, node)];
    uint32_t cores = s->hosts->cores;
    if (from < s->now) from = s->now;
    if (cores == 0 || h->active <= cores || at <= from || at >= MOT_CLOCK_END / h->active) return at;
    return from + scaled(at - from, h->active, cores);
}

void mot_hosts_charge(struct sim *s, mot_node node)
{
    struct sim_hosts *h = s->hosts;
    double ns = (double)s->outbox.mixed * h->mix_ns + (double)s->outbox.stepped * h->step_ns;
    if (!(ns >= 1)) return;
    mot_time lag = ns < 1e18 ? (mot_time)ns : (mot_time)1e18;
    mot_sim_account(s, node);
    h->busy_until[node] = mot_after(s->now, 1); /* so that it counts as busy */
    mot_hosts_settle(s, node);
    s->lag = mot_hosts_stretch(s, node, s->now, mot_after(s->now, lag)) - s->now;
    h->busy_until[node] = mot_after(s->now, s->lag);
    if (s->node[node].computing) mot_sim_delay(s, node, s->lag); /* its own job stands still */
    if (h->cores) mot_sim_put(s, h->busy_until[node], node, SIM_IDLE, node, 0, 0);
}

bool mot_hosts_waits(struct sim *s, const struct mot_pending *p)
{
    mot_node node;
    switch ((enum sim_event)p->kind) {
    case SIM_MESSAGE: node = s->message[p->index].to; break;
    case SIM_WORK: node = s->work[p->index].node; break;
    case SIM_TIMER: node = s->alarm[p->index].node; break;
    case SIM_COLL:
    case SIM_FEED: node = p->index; break;
    default: return false;
    }
    if (s->hosts->busy_until[node] <= s->now) return false;
    struct mot_pending later = *p; /* keeps its tie, so messages stay in order */
    later.at = s->hosts->busy_until[node];
    mot_heap_put(&s->heap, &later);
    return true;
}
