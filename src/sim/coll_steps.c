/* coll_steps.c -- ring (Patarasuk and Yuan, 2009), binomial tree, recursive doubling (Thakur, Rabenseifner
 * and Gropp, 2005) and all-gather (Bruck et al., 1997) as steps of messages. */
#include "sim/coll_steps.h"

/* ---- Ring: n-1 steps of reduce-scatter, n-1 of all-gather ---------------------
 * In step s, node i passes chunk i-s (mod n) to its right: first partial sums, then
 * finished ones. Step s needs what came from the left in step s-1. */

/* Floats before chunk c; the first len % n chunks are one float longer than the rest. */
static uint32_t chunk_first(uint32_t len, uint32_t n, uint32_t c)
{
    uint32_t each = len / n, longer = len - each * n;
    return c * each + (c < longer ? c : longer);
}

static bool ring_next(
    uint32_t n, mot_node self, uint32_t len, struct mot_coll_progress *p, struct mot_coll_step *out)
{
    uint32_t steps = 2 * (n - 1);
    if (!p->joined || p->sent == steps || p->sent > p->received) return false;
    uint32_t step = p->sent++, back = step < n ? step : step - n; /* step mod n, step < 2n */
    uint32_t chunk = self >= back ? self - back : self + n - back, right = self + 1;
    *out = (struct mot_coll_step){ .to = right == n ? 0 : right,
        .step = step,
        .first = chunk_first(len, n, chunk),
        .last = chunk_first(len, n, chunk + 1) };
    return true;
}

/* ---- Binomial tree: sums flow to node 0, the result flows back ----------------- */

/* Children of i are i + 2^k for the k below i's lowest set bit. */
static uint32_t tree_levels(uint32_t n, mot_node self)
{
    uint32_t levels = 0;
    while (((uint64_t)1 << levels) < n && !(self >> levels & 1)) levels++;
    return levels;
}

static uint32_t tree_children(uint32_t n, mot_node self)
{
    uint32_t children = 0;
    for (uint32_t k = 0; k < tree_levels(n, self); k++) children += self + ((uint64_t)1 << k) < n;
    return children;
}

enum { TREE_UP = 0, TREE_DOWN = 1 };

/* `sent` counts one message up (except at the root), then one down to each child, largest subtree first. */
static bool tree_next(enum mot_coll_way way, uint32_t n, mot_node self, uint32_t len,
    struct mot_coll_progress *p, struct mot_coll_step *out)
{
    uint32_t children = tree_children(n, self), up = way != MOT_WAY_DOWN && self != 0,
             down = way != MOT_WAY_UP ? children : 0;
    if (!p->joined || (way != MOT_WAY_DOWN && p->received < children) || p->sent == up + down) return false;
    if (up && p->sent == 0) {
        p->sent++;
        *out = (struct mot_coll_step){ .to = self & (self - 1), .step = TREE_UP, .last = len };
        return true;
    }
    if (self != 0 && !(p->have & 1)) return false;
    uint32_t child = p->sent++ - up, seen = 0;
    for (uint32_t k = tree_levels(n, self); k-- > 0;) {
        uint64_t to = self + ((uint64_t)1 << k);
        if (to >= n) continue;
        if (seen++ == child) {
            *out = (struct mot_coll_step){ .to = (mot_node)to, .step = TREE_DOWN, .last = len };
            return true;
        }
    }
    MOT_ASSERT(!"a child of the tree is missing");
    return false;
}

/* ---- Recursive doubling ----------------------------------------------------------
 * Among the first p = 2^k nodes, step s exchanges everything with node i ^ 2^s. The
 * n - p others send theirs to node i - p first and get the result at the end. */

static uint32_t doubling_steps(uint32_t n)
{
    uint32_t k = 0;
    while (((uint64_t)2 << k) <= n) k++;
    return k;
}

#define DOUBLING_FOLD 31u /* step number of messages to and from an extra node */

static bool doubling_next(
    uint32_t n, mot_node self, uint32_t len, struct mot_coll_progress *p, struct mot_coll_step *out)
{
    uint32_t steps = doubling_steps(n), core = 1u << steps, has_extra = self + core < n;
    if (!p->joined) return false;
    *out = (struct mot_coll_step){ .last = len };
    if (self >= core) {
        if (p->sent == 1) return false;
        p->sent = 1;
        out->to = self - core;
        out->step = DOUBLING_FOLD;
        return true;
    }
    if (has_extra && !(p->have >> DOUBLING_FOLD & 1)) return false;
    if (p->sent < steps) {
        if (p->sent > 0 && !(p->have >> (p->sent - 1) & 1)) return false;
        out->to = self ^ (1u << p->sent);
        out->step = p->sent++;
        return true;
    }
    if (!has_extra || p->sent > steps) return false;
    if (steps > 0 && !(p->have >> (steps - 1) & 1)) return false;
    p->sent++;
    out->to = self + core;
    out->step = DOUBLING_FOLD;
    return true;
}

/* ---- Gather ------------------------------------------------------------------------
 * In step s, node i sends what it has, the packets of the 2^s members from i on, to node i - 2^s (mod n). The
 * last step brings only what is still missing. So each node gets n-1 packets, as in a ring, but in log2(n)
 * messages. */

static uint32_t gather_steps(uint32_t n)
{
    uint32_t k = 0;
    while (((uint64_t)1 << k) < n) k++;
    return k;
}

static bool gather_next(uint32_t n, mot_node self, struct mot_coll_progress *p, struct mot_coll_step *out)
{
    uint32_t reach = 1u << p->sent, before = reach - 1;
    if (!p->joined || p->sent == gather_steps(n) || (p->have & before) != before) return false;
    *out = (struct mot_coll_step){ .to = self >= reach ? self - reach : self + n - reach,
        .step = p->sent++,
        .first = self,
        .last = (uint64_t)self + (reach < n - reach ? reach : n - reach) };
    return true;
}

static bool gather_expects(
    uint32_t n, mot_node self, mot_node from, uint32_t step, const struct mot_coll_progress *p)
{
    return step < gather_steps(n) && !(p->have >> step & 1) && from == (self + ((uint64_t)1 << step)) % n;
}

uint64_t mot_coll_gathered(const uint64_t *given, uint32_t n, const struct mot_coll_step *step)
{
    uint64_t bytes = 0;
    for (uint64_t i = step->first; i < step->last; i++) bytes += given[i < n ? i : i - n];
    return bytes;
}

/* ---- One interface for all ---------------------------------------------------- */

static bool tree_expects(enum mot_coll_way way, uint32_t n, mot_node self, mot_node from, uint32_t step,
    const struct mot_coll_progress *p)
{
    bool from_parent = self != 0 && from == (self & (self - 1)),
         from_child = from > self && (from & (from - 1)) == self;
    if (step == TREE_DOWN) return way != MOT_WAY_UP && from_parent && !(p->have & 1);
    return step == TREE_UP && way != MOT_WAY_DOWN && from_child && p->received < tree_children(n, self);
}

static bool doubling_expects(
    uint32_t n, mot_node self, mot_node from, uint32_t step, const struct mot_coll_progress *p)
{
    uint32_t steps = doubling_steps(n), core = 1u << steps;
    if (step > DOUBLING_FOLD || p->have >> step & 1) return false;
    if (step == DOUBLING_FOLD) return self >= core ? from == self - core : from == self + core;
    return step < steps && self < core && from == (self ^ (1u << step));
}

bool mot_coll_expects(enum mot_coll_way way, uint32_t n, mot_node self, mot_node from, uint32_t step,
    const struct mot_coll_progress *p)
{
    if (from >= n || self >= n || from == self) return false;
    switch (way) {
    case MOT_WAY_RING: return from == (self + n - 1) % n && step == p->received && step < 2 * (n - 1);
    case MOT_WAY_GATHER: return gather_expects(n, self, from, step, p);
    case MOT_WAY_TREE:
    case MOT_WAY_UP:
    case MOT_WAY_DOWN: return tree_expects(way, n, self, from, step, p);
    case MOT_WAY_DOUBLING: return doubling_expects(n, self, from, step, p);
    }
    return false;
}

void mot_coll_received(enum mot_coll_way way, uint32_t n, mot_node self, mot_node from, uint32_t step,
    struct mot_coll_progress *p)
{
    MOT_ASSERT(from < n && self < n && from != self);
    switch (way) {
    case MOT_WAY_RING:
        MOT_ASSERT(step == p->received);
        p->received++;
        return;
    case MOT_WAY_TREE:
    case MOT_WAY_UP:
    case MOT_WAY_DOWN:
        if (step == TREE_DOWN) p->have |= 1;
        else p->received++;
        return;
    case MOT_WAY_GATHER:
    case MOT_WAY_DOUBLING:
        MOT_ASSERT(step <= DOUBLING_FOLD && !(p->have >> step & 1));
        p->have |= (uint32_t)1 << step;
        return;
    }
}

bool mot_coll_next(enum mot_coll_way way, uint32_t n, mot_node self, uint32_t len,
    struct mot_coll_progress *p, struct mot_coll_step *out)
{
    if (n == 1) return false;
    switch (way) {
    case MOT_WAY_RING: return ring_next(n, self, len, p, out);
    case MOT_WAY_GATHER: return gather_next(n, self, p, out);
    case MOT_WAY_TREE:
    case MOT_WAY_UP:
    case MOT_WAY_DOWN: return tree_next(way, n, self, len, p, out);
    case MOT_WAY_DOUBLING: return doubling_next(n, self, len, p, out);
    }
    return false;
}

static bool doubling_complete(uint32_t n, mot_node self, const struct mot_coll_progress *p)
{
    uint32_t steps = doubling_steps(n), core = 1u << steps;
    if (self >= core) return p->have >> DOUBLING_FOLD & 1;
    /* Its partners may finish before its extra node has sent anything, so require all sends too. */
    return p->sent >= steps && (p->have & (core - 1u)) == core - 1u;
}

bool mot_coll_complete(enum mot_coll_way way, uint32_t n, mot_node self, const struct mot_coll_progress *p)
{
    if (!p->joined) return false;
    if (n == 1) return true;
    switch (way) {
    case MOT_WAY_RING: return p->received == 2 * (n - 1);
    case MOT_WAY_GATHER: return p->sent == gather_steps(n) && p->have == ((uint64_t)1 << gather_steps(n)) - 1;
    case MOT_WAY_TREE: return p->received == tree_children(n, self) && (self == 0 || (p->have & 1));
    case MOT_WAY_UP: return p->received == tree_children(n, self) && p->sent == (self != 0);
    case MOT_WAY_DOWN: return self == 0 || (p->have & 1);
    case MOT_WAY_DOUBLING: return doubling_complete(n, self, p);
    }
    return false;
}

uint64_t mot_coll_flights(enum mot_coll_way way, uint32_t n)
{
    switch (way) {
    case MOT_WAY_RING: return n; /* each chunk is in one place at a time */
    case MOT_WAY_GATHER: return (uint64_t)n * gather_steps(n);
    case MOT_WAY_TREE: return 2 * (uint64_t)n;
    case MOT_WAY_UP:
    case MOT_WAY_DOWN: return n;
    case MOT_WAY_DOUBLING: return (uint64_t)n * (doubling_steps(n) + 1);
    }
    return 0;
}
