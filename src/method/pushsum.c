#include "method/pushsum.h"
#include "base/leaps.h"
#include <math.h>

#define LOST UINT8_MAX /* in `hops` */

struct share {
    mot_buf z;
    uint64_t round; /* in which it was sent */
    double weight;
};
/* By link: where shares come from, and the worker that gets this one's. */
struct seat {
    uint64_t next; /* the round of the next share that comes */
    uint32_t shares;
    bool from_lost, to_lost; /* in the exponential graph the two ends are different workers */
};

/* ---- What follows the struct ---------------------------------- */

static struct seat *seats_of(const struct mot_push *p) { return (struct seat *)(p + 1); }

/* [room], oldest first */
static struct share *shares_of(const struct mot_push *p, uint32_t link)
{
    return (struct share *)(seats_of(p) + p->links) + (size_t)link * p->room;
}

/* Scratch for a fold: [links + 1] weights, then as many buffers. */
static double *parts_of(const struct mot_push *p) { return (double *)shares_of(p, p->links); }
static mot_buf *inputs_of(const struct mot_push *p) { return (mot_buf *)(parts_of(p) + p->links + 1); }

/* [workers], of a plan that goes on over the exponential graph: hops from a worker to this one, or LOST. */
static uint8_t *hops_of(const struct mot_push *p) { return (uint8_t *)(inputs_of(p) + p->links + 1); }

static bool watches_ways(const struct mot_push_plan *plan)
{
    return plan->goes_on && plan->graph == MOT_PUSH_EXPONENTIAL;
}

/* ---- Links ---------------------------------- */

static uint32_t links_of(const struct mot_push_plan *plan, const struct mot_world *w, mot_node self)
{
    if (plan->graph == MOT_PUSH_EXPONENTIAL) return mot_leaps(w->workers);
    return w->mixing->at[self + 1] - w->mixing->at[self];
}

static mot_node near_of(const struct mot_env *env, uint32_t link)
{
    return env->world->mixing->near[env->world->mixing->at[env->self] + link].node;
}

static mot_node leap(const struct mot_env *env, mot_node node, uint32_t link, bool back)
{
    uint64_t n = env->world->workers, by = UINT64_C(1) << link;
    return (mot_node)((node + (back ? n - by : by)) % n);
}

static mot_node to_of(const struct mot_push *p, const struct mot_env *env, uint32_t link)
{
    return p->plan.graph == MOT_PUSH_TOPOLOGY ? near_of(env, link) : leap(env, env->self, link, false);
}

static mot_node from_of(const struct mot_push *p, const struct mot_env *env, uint32_t link)
{
    return p->plan.graph == MOT_PUSH_TOPOLOGY ? near_of(env, link) : leap(env, env->self, link, true);
}

static bool uses(const struct mot_push *p, uint32_t link, uint64_t round)
{
    return p->plan.graph == MOT_PUSH_TOPOLOGY || mot_leap_used(link, round, p->plan.peers, p->links);
}

/* The first round from `round` on that uses the link. */
static uint64_t next_use(const struct mot_push *p, uint32_t link, uint64_t round)
{
    while (!uses(p, link, round)) round++;
    return round;
}

/* The link by which a worker sends to this one; `links`: none. */
static uint32_t link_from(const struct mot_push *p, const struct mot_env *env, mot_node node)
{
    if (p->plan.graph == MOT_PUSH_EXPONENTIAL) {
        uint32_t link = 0;
        while (link < p->links && leap(env, env->self, link, true) != node) link++;
        return link;
    }
    uint32_t low = 0, high = p->links;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (near_of(env, middle) < node) low = middle + 1;
        else high = middle;
    }
    return low < p->links && near_of(env, low) == node ? low : p->links;
}

/* ---- How far ahead a sender can be ---------------------------------- */

static uint32_t common_factor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint32_t ways_most(const struct mot_world *w)
{
    uint32_t most = 2 * mot_leaps(w->workers) + 2;
    return w->workers - 1 < most ? w->workers - 1 : most;
}

/* Rounds by which a sender can be ahead of its receiver. */
static uint64_t lead_of(const struct mot_push_plan *plan, const struct mot_world *w)
{
    uint32_t back = plan->lag + 1, leaps = mot_leaps(w->workers);
    if (plan->graph == MOT_PUSH_TOPOLOGY) return back;
    uint32_t apart = back;
    while (common_factor(apart, leaps) != 1) apart++;
    uint64_t lead = (uint64_t)leaps * apart, around = (uint64_t)ways_most(w) * (back + leaps - 1);
    return plan->goes_on && around > lead ? around : lead;
}

/* How often at most a link is used in this many consecutive rounds. */
static uint64_t uses_in(const struct mot_push_plan *plan, const struct mot_world *w, uint64_t rounds)
{
    uint32_t leaps = mot_leaps(w->workers);
    if (plan->graph == MOT_PUSH_TOPOLOGY) return rounds;
    return (rounds + leaps - 1) / leaps * plan->peers;
}

static uint32_t room_of(const struct mot_push_plan *plan, const struct mot_world *w)
{
    return (uint32_t)uses_in(plan, w, lead_of(plan, w) + plan->lag + 1);
}

void mot_push_need(
    const struct mot_push_plan *plan, const struct mot_world *w, mot_node self, struct mot_need *need)
{
    uint32_t links = links_of(plan, w, self);
    if (links == 0) return;
    uint64_t room = room_of(plan, w), lead = lead_of(plan, w);
    /* what is not there yet was sent at most `lead` + lag + 1 rounds ago */
    uint64_t sends = links * uses_in(plan, w, lead + plan->lag + 1);
    need->state_bytes += links * (sizeof(struct seat) + room * sizeof(struct share)) +
        (links + 1) * (sizeof(double) + sizeof(mot_buf)) + (watches_ways(plan) ? w->workers : 0);
    need->sends += (uint32_t)sends;
    need->buffers += (uint32_t)(links * room + sends + 2); /* and two to join or fold into */
}

void mot_push_init(struct mot_push *p, const struct mot_env *env, const struct mot_push_plan *plan,
    uint64_t first, double weight)
{
    p->plan = *plan;
    p->first = first;
    p->weight = weight;
    p->links = links_of(plan, env->world, env->self);
    p->room = p->links ? room_of(plan, env->world) : 0;
    for (uint32_t k = 0; k < p->links; k++) seats_of(p)[k].next = next_use(p, k, first);
}

/* ---- Rounds ---------------------------------- */

void mot_push_send(struct mot_push *p, struct mot_env *env, uint64_t round, mot_buf z)
{
    uint32_t used = 0;
    double sent = 0;
    for (uint32_t k = 0; k < p->links; k++) used += uses(p, k, round);
    double share = p->weight / (used + 1);
    for (uint32_t k = 0; k < p->links; k++) {
        if (!uses(p, k, round) || seats_of(p)[k].to_lost) continue; /* a lost one's share is kept */
        mot_send(env, to_of(p, env, k), MOT_MSG_SHARE, (struct mot_head){ .round = round, .value = share },
            mot_whole(env, z));
        sent += share;
    }
    p->weight -= sent;
    p->flying[round % (p->plan.lag + 1)] = sent;
}

/* Joins a share that there is no room for to the newest one. */
static void join_newest(struct share *s, struct mot_env *env, const struct mot_message *m)
{
    double weight = s->weight + m->head.value;
    mot_buf both = mot_sum_weighted(
        env, (mot_buf[]){ s->z, m->body.buf }, (double[]){ s->weight / weight, m->head.value / weight }, 2);
    mot_drop(env, s->z);
    s->z = both;
    s->weight = weight;
}

void mot_push_message(struct mot_push *p, struct mot_env *env, const struct mot_message *m)
{
    uint32_t link = link_from(p, env, m->from);
    MOT_ASSERT(m->kind == MOT_MSG_SHARE && link < p->links);
    struct seat *seat = &seats_of(p)[link];
    struct share *share = shares_of(p, link);
    if (seat->from_lost) return; /* it was under way */
    MOT_ASSERT(m->head.round == seat->next);
    seat->next = next_use(p, link, seat->next + 1);
    if (seat->shares == p->room) {
        join_newest(&share[seat->shares - 1], env, m);
        return;
    }
    share[seat->shares++] = (struct share){ mot_hold(env, m->body.buf), m->head.round, m->head.value };
}

bool mot_push_admits(const struct mot_push *p, const struct mot_env *env, const struct mot_message *m)
{
    uint32_t link = link_from(p, env, m->from);
    if (m->kind != MOT_MSG_SHARE || link == p->links || m->head.samples != 0 ||
        !mot_body_is(m, mot_whole(env, m->body.buf)))
        return false;
    if (!(m->head.value > 0 && m->head.value <= env->world->workers)) return false;
    return seats_of(p)[link].from_lost || m->head.round == seats_of(p)[link].next;
}

bool mot_push_ready(const struct mot_push *p, uint64_t round)
{
    if (round < p->first + p->plan.lag) return true;
    uint64_t due = round - p->plan.lag;
    for (uint32_t k = 0; k < p->links; k++)
        if (!seats_of(p)[k].from_lost && seats_of(p)[k].next <= due) return false;
    return true;
}

static void take_oldest(struct seat *seat, struct share *share)
{
    seat->shares--;
    for (uint32_t i = 0; i < seat->shares; i++) share[i] = share[i + 1];
    share[seat->shares] = (struct share){ 0 };
}

/* The sum goes by link, not by arrival: the same bits on every driver. */
mot_buf mot_push_fold(struct mot_push *p, struct mot_env *env, uint64_t round, mot_buf z)
{
    mot_buf *in = inputs_of(p);
    double *part = parts_of(p), weight = p->weight;
    uint32_t n = 1;
    if (p->links == 0) return z;
    p->flying[(round + 1) % (p->plan.lag + 1)] = 0; /* of round - lag: its receivers have it by now */
    in[0] = z;
    part[0] = p->weight;
    for (uint32_t k = 0; k < p->links; k++) {
        struct seat *seat = &seats_of(p)[k];
        struct share *share = shares_of(p, k);
        if (seat->shares == 0 || share->round + p->plan.lag > round) continue;
        in[n] = share->z;
        part[n++] = share->weight;
        weight += share->weight;
        take_oldest(seat, share);
    }
    if (n == 1) return z;
    for (uint32_t i = 0; i < n; i++) part[i] /= weight;
    mot_buf mean = mot_sum_weighted(env, in, part, n);
    for (uint32_t i = 0; i < n; i++) mot_drop(env, in[i]);
    p->weight = weight;
    return mean;
}

double mot_push_mass(const struct mot_push *p)
{
    double mass = p->weight;
    for (uint32_t i = 0; i <= p->plan.lag; i++) mass += p->flying[i];
    return mass;
}

/* ---- Losses ---------------------------------- */

/* Whether everyone that this worker sends to has a way back to it over at most ways_most workers. */
static bool has_ways_back(const struct mot_push *p, const struct mot_env *env)
{
    uint32_t n = env->world->workers, most = ways_most(env->world);
    uint8_t *hops = hops_of(p);
    for (mot_node i = 0; i < n; i++)
        if (hops[i] != LOST) hops[i] = 0;
    for (uint32_t hop = 1; hop <= most; hop++)
        for (mot_node i = 0; i < n; i++) {
            if (hops[i] == LOST || (hop == 1 ? i != env->self : hops[i] != hop - 1)) continue;
            for (uint32_t k = 0; k < p->links; k++) {
                mot_node from = leap(env, i, k, true);
                if (hops[from] == 0) hops[from] = (uint8_t)hop;
            }
        }
    for (uint32_t k = 0; k < p->links; k++)
        if (!seats_of(p)[k].to_lost && hops[to_of(p, env, k)] == 0) return false;
    return true;
}

enum mot_push_loss mot_push_lose(struct mot_push *p, struct mot_env *env, mot_node node)
{
    bool peer = false;
    for (uint32_t k = 0; k < p->links; k++) {
        struct seat *seat = &seats_of(p)[k];
        if (from_of(p, env, k) == node) seat->from_lost = peer = true;
        if (to_of(p, env, k) == node) seat->to_lost = peer = true;
    }
    if (watches_ways(&p->plan) && p->links) {
        hops_of(p)[node] = LOST;
        if (!has_ways_back(p, env)) return MOT_PUSH_CUT_OFF;
    }
    return peer ? MOT_PUSH_PEER : MOT_PUSH_STRANGER;
}

void mot_push_check(const struct mot_push *p, const struct mot_env *env)
{
    MOT_ASSERT(p->weight > 0 && isfinite(p->weight));
    MOT_ASSERT(p->links == links_of(&p->plan, env->world, env->self));
    for (uint32_t k = 0; k < p->links; k++) {
        const struct seat *seat = &seats_of(p)[k];
        const struct share *share = shares_of(p, k);
        MOT_ASSERT(seat->shares <= p->room && uses(p, k, seat->next));
        for (uint32_t i = 0; i < p->room; i++) MOT_ASSERT((share[i].z != MOT_NO_BUF) == (i < seat->shares));
        for (uint32_t i = 1; i < seat->shares; i++) MOT_ASSERT(share[i - 1].round < share[i].round);
    }
}
