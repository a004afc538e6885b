/* faults.c -- what goes wrong with nodes: crashes, returns, stalls, partitions, slow links.
 *
 *   up --crash--> dead, untold --`detect` later--> told: its peers get MOT_EV_PEER{down}
 *   up --cut off for `detect`, or all resends failed--> given up: dead and told
 *   dead --restart, or reachable again--> up: a new life; init, MOT_EV_START;
 *     its server, or without one everybody, gets MOT_EV_PEER{up}
 *
 * A crash takes the node's state, jobs and alarms with it, and whatever its channel had not yet put on the
 * wire; frames in flight still arrive until the loss is told. A node given up while alive fares the same:
 * its peers have forgotten it, so it starts over. Silence is noticed as if by heartbeats, which cost
 * nothing here. */
#include "run/clock.h"
#include "sim/channel.h"
#include <math.h>
#include <string.h>

/* The first server; servers share one fate. */
static bool server_of(const struct sim *s, mot_node *server)
{
    *server = s->world.workers;
    return s->world.servers > 0;
}

/* ---- Current faults ----------------------------------------------------------------------------- */

bool mot_faults_blocked(const struct sim *s, mot_node a, mot_node b)
{
    const struct sim_channel *c = s->channel;
    for (uint32_t i = 0; i < c->actives; i++) {
        const struct mot_fault *f = &c->fault[c->active[i]].f;
        if (f->kind == MOT_FAULT_PARTITION &&
            mot_fault_hits(f, s->world.workers, a) != mot_fault_hits(f, s->world.workers, b))
            return true;
    }
    return false;
}

double mot_faults_chance(const struct sim *s, enum mot_fault_kind kind, mot_node from, mot_node to)
{
    const struct sim_channel *c = s->channel;
    double chance = s->now < c->conf->until ? c->conf->chance[kind - MOT_FAULT_DROP] : 0;
    for (uint32_t i = 0; i < c->actives; i++) {
        const struct mot_fault *f = &c->fault[c->active[i]].f;
        if (f->kind != kind || f->amount <= chance) continue;
        if (mot_fault_hits(f, s->world.workers, from) || mot_fault_hits(f, s->world.workers, to))
            chance = f->amount;
    }
    return chance;
}

double mot_faults_slow(const struct sim *s, mot_node node)
{
    const struct sim_channel *c = s->channel;
    double factor = 1;
    for (uint32_t i = 0; i < c->actives; i++) {
        const struct mot_fault *f = &c->fault[c->active[i]].f;
        if (f->kind == MOT_FAULT_SLOW_LINK && mot_fault_hits(f, s->world.workers, node) && f->amount > factor)
            factor = f->amount;
    }
    return factor;
}

/* ---- Loss and return ---------------------------------------------------------------------------- */

static void end_by_loss(struct sim *s, mot_node node)
{
    s->peer = node;
    s->has_peer = true;
    mot_judge_end(&s->judge, MOT_EPEER, mot_status_name(MOT_EPEER));
}

static bool has_model(const struct sim *s, mot_node worker)
{
    const struct sim_health *h = &s->channel->health[worker];
    return !s->node[worker].dead && (h->life == 0 || h->entered);
}

/* Without a server only workers have the model, and a restarted one has none until a peer gives it one. */
static bool last_with_model(const struct sim *s, mot_node node)
{
    if (s->world.servers > 0 || !has_model(s, node)) return false;
    for (mot_node i = 0; i < s->world.workers; i++)
        if (i != node && has_model(s, i)) return false;
    return true;
}

/* Losing the last node with the model ends the run. Its state stays, so the final evaluation can show the
 * model that was lost. */
static void kill_node(struct sim *s, mot_node node, enum mot_fault_kind by)
{
    struct sim_node *n = &s->node[node];
    struct sim_health *h = &s->channel->health[node];
    h->lost_by = by;
    h->lost_at = s->now;
    if (last_with_model(s, node)) {
        s->model_lost = true;
        end_by_loss(s, node);
        return;
    }
    mot_sim_abandon(s, node);
    mot_sim_coll_lost(s, node);
    mot_sim_misses(s, node);
    for (uint32_t i = 0; i < h->ledger.n; i++) mot_pool_drop(&s->pool, h->ledger.held[i]);
    h->ledger.n = 0;
    n->dead = true;
    n->stalled_until = 0;
    h->told = h->wants_join = h->entered = h->counts = false;
    mot_sim_show_no_more(s, node);
    mot_stuck_lost(s, node);
    mot_sim_progress(s); /* the others may have been waiting for this node's update */
}

static void expect_loss(struct sim *s, mot_node node, mot_time at)
{
    mot_sim_put(s, at, node, SIM_LOST, node, s->channel->health[node].life, 0);
}

static void crash(struct sim *s, mot_node node)
{
    struct sim_health *h = &s->channel->health[node];
    if (s->node[node].stopped) return; /* its part is done */
    s->channel->tally.crashes++;
    h->cut = h->wants_join = false;
    h->joins++;
    if (s->node[node].dead) return; /* already given up */
    kill_node(s, node, MOT_FAULT_CRASH);
    expect_loss(s, node, s->now + s->channel->conf->detect);
}

/* Peers stop waiting for a node that is alive but unreachable. */
static void give_up(struct sim *s, mot_node node, enum mot_fault_kind by)
{
    if (s->node[node].dead || s->node[node].stopped) return;
    s->channel->tally.given_up++;
    kill_node(s, node, by);
    s->channel->health[node].cut = true;
    expect_loss(s, node, s->now);
}

static void tell(struct sim *s, mot_node to, mot_node node, bool up)
{
    if (s->node[to].dead || s->judge.ended) return;
    s->peer = node;
    mot_sim_step(s, to,
        &(struct mot_event){
            .kind = MOT_EV_PEER, .peer = { .node = node, .life = s->channel->health[node].life, .up = up } });
}

static void tell_servers(struct sim *s, mot_node node, bool up)
{
    for (mot_node i = s->world.workers; i < s->world.nodes; i++) tell(s, i, node, up);
}

/* Tells the node's peers: a worker's servers; a server's workers; without a server, everyone. A server
 * never returns, so losing one ends the run even if nobody is left to hear of it; so does losing the last
 * worker that had not stopped. */
static void declare_lost(struct sim *s, mot_node node)
{
    mot_node server;
    s->channel->health[node].told = true;
    mot_channel_forget(s, node);
    if (server_of(s, &server) && node < server) {
        tell_servers(s, node, false);
        return;
    }
    for (mot_node i = 0; i < s->world.workers; i++)
        if (i != node) tell(s, i, node, false);
    if (s->judge.ended) return;
    if (node >= s->world.workers) end_by_loss(s, node);
    else if (mot_sim_all_stopped(s)) mot_judge_end(&s->judge, MOT_OK, "data");
}

/* Whether any frame can get through: without one there is no handshake. */
static bool passable(const struct sim *s, mot_node a, mot_node b)
{
    return !mot_faults_blocked(s, a, b) && mot_faults_chance(s, MOT_FAULT_DROP, a, b) < 1 &&
        mot_faults_chance(s, MOT_FAULT_CORRUPT, a, b) < 1;
}

static bool way_is_open(const struct sim *s, mot_node node)
{
    mot_node server;
    if (server_of(s, &server)) return passable(s, node, server);
    for (mot_node i = 0; i < s->world.workers; i++)
        if (i != node && !passable(s, node, i)) return false;
    return true;
}

/* The node is back after a handshake, or once it is no longer cut off. */
static void come_back(struct sim *s, mot_node node)
{
    struct sim_health *h = &s->channel->health[node];
    const struct mot_machine *m = s->x->cluster->machine;
    mot_node server;
    if (!s->node[node].dead || node >= s->world.workers) return;
    h->wants_join = !way_is_open(s, node);
    if (h->wants_join) return;
    h->joins++;
    mot_time hello = m[node].link.latency + m[server_of(s, &server) ? server : node].link.latency;
    mot_sim_put(s, s->now + hello, node, SIM_JOIN, node, h->joins, 0);
}

static void join(struct sim *s, mot_node node)
{
    struct sim_node *n = &s->node[node];
    struct sim_health *h = &s->channel->health[node];
    mot_node server;
    if (!way_is_open(s, node)) {
        h->wants_join = true;
        return;
    }
    if (!h->told) declare_lost(s, node); /* a new life proves that the old one is over */
    if (s->judge.ended) return;
    s->channel->tally.restarts++;
    h->life++;
    h->told = h->cut = h->wants_join = false;
    n->dead = false;
    mot_nic_reset(&s->nic[node], s->now);
    memset(n->actor.state, 0, n->state_bytes);
    struct mot_env *env = mot_sim_env(s, node);
    env->life = h->life;
    mot_actor_hold_first(&n->actor, s->x, &s->world, h->life);
    s->outbox.ledger = &h->ledger;
    s->method->init(n->actor.state, env);
    s->outbox.ledger = NULL;
    mot_sim_step(s, node, &(struct mot_event){ .kind = MOT_EV_START });
    if (server_of(s, &server)) tell_servers(s, node, true);
    else
        for (mot_node i = 0; i < s->world.workers; i++)
            if (i != node) tell(s, i, node, true);
}

void mot_faults_give_up(struct sim *s, mot_node from, mot_node to)
{
    mot_node server, victim = to;
    if (server_of(s, &server) && to >= server) victim = from;
    if (s->node[to].dead) { /* its loss is about to be declared anyway */
        expect_loss(s, to, s->now);
        return;
    }
    give_up(s, victim, MOT_FAULT_DROP);
    come_back(s, victim);
}

/* ---- Stalls ---------------------------------------------------------------------------------------- */

static void stall(struct sim *s, mot_node node, mot_time until)
{
    struct sim_node *n = &s->node[node];
    if (n->dead || until <= n->stalled_until) return;
    mot_sim_account(s, node);
    mot_time from = n->stalled_until > s->now ? n->stalled_until : s->now;
    n->stalled_until = until;
    mot_sim_delay(s, node, until - from);
}

bool mot_faults_waits(struct sim *s, const struct mot_pending *p)
{
    mot_node node;
    switch ((enum sim_event)p->kind) {
    case SIM_START: node = p->index; break;
    case SIM_WORK: node = s->work[p->index].node; break;
    case SIM_TIMER: node = s->alarm[p->index].node; break;
    case SIM_COLL:
    case SIM_FEED: node = p->index; break;
    case SIM_LOST:
    case SIM_JOIN:
        if (!server_of(s, &node)) return false;
        break;
    default: return false;
    }
    bool of_node = p->kind != SIM_LOST && p->kind != SIM_JOIN;
    if (of_node && s->node[node].dead) return true;
    /* an event of an earlier life */
    if (of_node && p->kind == SIM_START && s->channel->health[node].life > 0) return true;
    if (s->node[node].stalled_until <= s->now) return false;
    struct mot_pending later = *p;
    later.at = s->node[node].stalled_until;
    mot_heap_put(&s->heap, &later);
    return true;
}

/* ---- Faults begin and end --------------------------------------------------------------------------- */

static void put_fault(struct sim *s, uint32_t slot, enum fault_phase phase, mot_time at)
{
    if (at < MOT_CLOCK_END) mot_sim_put(s, at, 0, SIM_FAULT, slot, s->channel->fault[slot].generation, phase);
}

static void set_active(struct sim_channel *c, uint32_t slot, bool active)
{
    uint32_t i = 0;
    while (i < c->actives && c->active[i] != slot) i++;
    if (active && i == c->actives) c->active[c->actives++] = slot;
    if (!active && i < c->actives) c->active[i] = c->active[--c->actives];
}

static mot_time ends_at(const struct sim *s, const struct mot_fault *f)
{
    return f->lasts == MOT_NEVER || s->now + f->lasts >= MOT_CLOCK_END ? MOT_NEVER : s->now + f->lasts;
}

static void each_hit(struct sim *s, const struct mot_fault *f, void (*what)(struct sim *, mot_node))
{
    for (mot_node i = 0; i < s->world.nodes && !s->judge.ended; i++)
        if (mot_fault_hits(f, s->world.workers, i)) what(s, i);
}

static void begin_fault(struct sim *s, uint32_t slot)
{
    struct sim_channel *c = s->channel;
    struct sim_fault *fault = &c->fault[slot];
    const struct mot_fault *f = &fault->f;
    mot_time end = ends_at(s, f);
    fault->state = FAULT_ACTIVE;
    set_active(c, slot, true);
    switch (f->kind) {
    case MOT_FAULT_CRASH: each_hit(s, f, crash); break;
    case MOT_FAULT_RESTART:
        each_hit(s, f, come_back);
        end = s->now;
        break;
    case MOT_FAULT_STALL:
        c->tally.stalls++;
        mot_stuck_fault(s);
        for (mot_node i = 0; i < s->world.nodes; i++)
            if (mot_fault_hits(f, s->world.workers, i)) stall(s, i, end == MOT_NEVER ? MOT_CLOCK_END : end);
        break;
    case MOT_FAULT_PARTITION:
        c->tally.partitions++;
        mot_stuck_fault(s);
        if (f->lasts >= c->conf->detect) put_fault(s, slot, FAULT_CUT, s->now + c->conf->detect);
        break;
    case MOT_FAULT_SLOW_LINK: c->tally.slow_links++; break;
    case MOT_FAULT_DROP:
    case MOT_FAULT_DUPLICATE:
    case MOT_FAULT_REORDER:
    case MOT_FAULT_CORRUPT:
    case MOT_FAULT_POISON: break;
    }
    if (end != MOT_NEVER) put_fault(s, slot, FAULT_END, end);
}

static bool someone_outside(const struct sim *s, const struct mot_fault *f)
{
    for (mot_node i = 0; i < s->world.workers; i++)
        if (!s->node[i].dead && !mot_fault_hits(f, s->world.workers, i)) return true;
    return false;
}

/* Cuts off the side without the server; without a server, the side that the fault names, provided that the
 * other side has any node. */
static void cut_off(struct sim *s, const struct mot_fault *f)
{
    mot_node server;
    bool served = server_of(s, &server);
    if (!served && !someone_outside(s, f)) return;
    for (mot_node i = 0; i < s->world.workers && !s->judge.ended; i++) {
        bool cut = served ? mot_faults_blocked(s, i, server) : mot_fault_hits(f, s->world.workers, i);
        if (cut) give_up(s, i, MOT_FAULT_PARTITION);
    }
}

static void end_fault(struct sim *s, uint32_t slot)
{
    struct sim_fault *fault = &s->channel->fault[slot];
    fault->state = FAULT_IDLE;
    fault->generation++;
    set_active(s->channel, slot, false);
    switch (fault->f.kind) {
    case MOT_FAULT_CRASH: each_hit(s, &fault->f, come_back); break;
    case MOT_FAULT_STALL:
        for (mot_node i = 0; i < s->world.nodes; i++) mot_sim_account(s, i);
        break;
    case MOT_FAULT_PARTITION:
    case MOT_FAULT_DROP:
    case MOT_FAULT_CORRUPT:
        for (mot_node i = 0; i < s->world.workers; i++)
            if (s->node[i].dead && (s->channel->health[i].cut || s->channel->health[i].wants_join))
                come_back(s, i);
        break;
    case MOT_FAULT_RESTART:
    case MOT_FAULT_SLOW_LINK:
    case MOT_FAULT_DUPLICATE:
    case MOT_FAULT_REORDER:
    case MOT_FAULT_POISON: break;
    }
}

/* ---- Random faults ------------------------------------------------------------------------------------ */

static const enum mot_fault_kind random_kind[MOT_FAULTS_RANDOM] = { MOT_FAULT_CRASH, MOT_FAULT_STALL,
    MOT_FAULT_PARTITION, MOT_FAULT_SLOW_LINK };

static void expect_next(struct sim *s, uint32_t kind, mot_time after)
{
    struct sim_channel *c = s->channel;
    double rate = c->conf->rate[kind].per_s * s->world.workers;
    if (rate <= 0) return;
    double wait = mot_rng_exponential(&c->arrivals[kind]) / rate * 1e9, at = (double)after + wait;
    if (at < (double)c->conf->until && at < 9e18)
        mot_sim_put(s, (mot_time)at, 0, SIM_FAULT, kind, 0, FAULT_ARRIVAL);
}

static bool nobody_lives(const struct sim *s)
{
    for (mot_node i = 0; i < s->world.workers; i++)
        if (!s->node[i].dead) return false;
    return true;
}

static bool is_arrival(const struct mot_pending *p)
{
    return p->kind == SIM_FAULT && p->instance == FAULT_ARRIVAL;
}

/* The first pending event that is not a random fault; MOT_NEVER: there is none. */
static mot_time first_other(const struct sim *s)
{
    mot_time first = MOT_NEVER;
    for (uint32_t i = s->heap.hole; i < s->heap.n; i++) {
        const struct mot_pending *p = &s->heap.e[i];
        if (p->at < first && !is_arrival(p) && mot_sim_live(s, p)) first = p->at;
    }
    return first;
}

/* From when on random faults matter, usually now; MOT_NEVER: nothing else is pending, and faults bring nobody
 * back. If every worker of an elastic run is dead, faults can hit nobody until the next pending event, which
 * may be a year away, so they are skipped until then. */
static mot_time goes_on(const struct sim *s)
{
    if (s->world.elastic && nobody_lives(s)) return first_other(s);
    for (uint32_t i = s->heap.hole; i < s->heap.n; i++)
        if (!is_arrival(&s->heap.e[i]) && mot_sim_live(s, &s->heap.e[i])) return s->now;
    return MOT_NEVER;
}

/* ---- Random faults without any effect ----------------------------------------------------------------
 *
 * They find nobody to hit, as all workers are dead or too many faults last already; or they slow links on
 * which nothing is sent. They would tick on through an outage of a year. As arrivals are memoryless, those of
 * the outage can be left out: the first one after it comes as if they had been drawn. But the first million
 * is drawn, so that ordinary runs draw the same numbers whether anybody was there to be hit or not. */
#define ALL_DRAWN 1000000u
#define SURELY_OVER 40u /* means of an exponential time: longer ones do not occur */

static bool can_be_hit(const struct sim *s, mot_node worker, uint32_t kind)
{
    const struct sim_node *n = &s->node[worker];
    return !n->dead && (random_kind[kind] != MOT_FAULT_CRASH || !n->stopped); /* see crash() */
}

/* All slots of a kind are taken: when its first fault ends. */
static mot_time first_end(const struct sim *s, uint32_t from, uint32_t end)
{
    mot_time first = MOT_NEVER;
    for (uint32_t i = s->heap.hole; i < s->heap.n; i++) {
        const struct mot_pending *p = &s->heap.e[i];
        bool ends = p->kind == SIM_FAULT && p->instance == FAULT_END && p->index >= from && p->index < end;
        if (ends && p->at < first && mot_sim_live(s, p)) first = p->at;
    }
    return first;
}

/* From when on faults of the kind may hit somebody; MOT_NEVER: they never will again. */
static mot_time hits_again(const struct sim *s, uint32_t kind, uint32_t slot, uint32_t end)
{
    if (slot == end) return first_end(s, end - RANDOM_SLOTS, end);
    for (mot_node i = 0; i < s->world.workers; i++)
        if (can_be_hit(s, i, kind)) return s->now;
    return first_other(s);
}

/* From when on slow links may be seen: those that are over before the next other event are not, as nothing is
 * sent until then. */
static mot_time seen_again(const struct sim *s, uint32_t kind, uint32_t from, uint32_t end)
{
    mot_time first = MOT_NEVER, lasts = s->channel->conf->rate[kind].lasts;
    for (uint32_t i = s->heap.hole; i < s->heap.n; i++) {
        const struct mot_pending *p = &s->heap.e[i];
        bool own = is_arrival(p) && p->index == kind;
        own |= p->kind == SIM_FAULT && p->instance == FAULT_END && p->index >= from && p->index < end;
        if (p->at < first && !own && mot_sim_live(s, p)) first = p->at;
    }
    if (first == MOT_NEVER || lasts == MOT_NEVER) return first;
    return (first - s->now) / SURELY_OVER > lasts ? first - SURELY_OVER * lasts : s->now;
}

/* When the next fault of the kind can have an effect, now that one arrives; MOT_NEVER: none can again. */
static mot_time matters_again(const struct sim *s, uint32_t kind, uint32_t slot, uint32_t end, bool misses)
{
    const struct sim_channel *c = s->channel;
    if (misses && c->misses > ALL_DRAWN) return hits_again(s, kind, slot, end);
    if (random_kind[kind] == MOT_FAULT_SLOW_LINK && c->tally.slow_links > ALL_DRAWN)
        return seen_again(s, kind, end - RANDOM_SLOTS, end);
    return s->now;
}

static void random_fault(struct sim *s, uint32_t kind)
{
    struct sim_channel *c = s->channel;
    mot_time after = goes_on(s);
    if (after == MOT_NEVER) return; /* nobody is left to fail: schedule no more, so the run can end */
    const struct mot_fault_rate *rate = &c->conf->rate[kind];
    mot_node victim = (mot_node)mot_rng_below(&c->arrivals[kind], s->world.workers);
    double lasts = mot_rng_exponential(&c->arrivals[kind]) * (double)rate->lasts;
    uint32_t slot = c->conf->scheduled + kind * RANDOM_SLOTS, end = slot + RANDOM_SLOTS;
    while (slot < end && c->fault[slot].state != FAULT_IDLE) slot++;
    bool misses = slot == end || !can_be_hit(s, victim, kind);
    c->misses += misses;
    if (after == s->now) after = matters_again(s, kind, slot, end, misses);
    if (after != MOT_NEVER) expect_next(s, kind, after);
    if (slot == end || s->node[victim].dead) return;
    c->fault[slot].f = (struct mot_fault){ .kind = random_kind[kind],
        .at = s->now,
        .amount = c->conf->slow_factor,
        .lasts = rate->lasts == MOT_NEVER ? MOT_NEVER
            : lasts < 1                   ? 1
                                          : (mot_time)lasts,
        .workers = { .n = 1, .v = { victim } } };
    begin_fault(s, slot);
    if (c->fault[slot].f.lasts == MOT_NEVER) { /* no end event follows: free its slot */
        c->fault[slot].state = FAULT_IDLE;
        set_active(c, slot, false);
    }
}

/* ---- Entry points -------------------------------------------------------------------------- */

void mot_faults_begin(struct sim *s)
{
    struct sim_channel *c = s->channel;
    s->peer = s->world.nodes;
    for (uint32_t i = 0; i < c->conf->scheduled; i++) {
        bool nobody = c->fault[i].f.server && c->fault[i].f.workers.n == 0 && s->world.servers == 0;
        c->fault[i].state = nobody ? FAULT_IDLE : FAULT_PENDING;
        if (!nobody) put_fault(s, i, FAULT_BEGIN, c->fault[i].f.at);
    }
    for (uint32_t k = 0; k < MOT_FAULTS_RANDOM; k++) expect_next(s, k, s->now);
}

void mot_faults_handle(struct sim *s, const struct mot_pending *p)
{
    if (p->kind == SIM_LOST) {
        declare_lost(s, p->index);
        return;
    }
    if (p->kind == SIM_JOIN) {
        join(s, p->index);
        return;
    }
    switch ((enum fault_phase)p->instance) {
    case FAULT_BEGIN: begin_fault(s, p->index); return;
    case FAULT_END: end_fault(s, p->index); return;
    case FAULT_CUT: cut_off(s, &s->channel->fault[p->index].f); return;
    case FAULT_ARRIVAL: random_fault(s, p->index); return;
    }
}

void mot_faults_halt(struct sim *s)
{
    for (mot_node i = s->world.nodes; i-- > 0 && !s->judge.ended;)
        if (s->node[i].dead) end_by_loss(s, i);
}
