#include "run/peers.h"
#include "base/memory.h"
#include "base/peers.h"
#include <pthread.h>
#include <stdlib.h>

/* A map lies in one of the WAYS places of its set; the one least recently used makes room. Sets are taken in
 * turn, segment after segment and round after round, so maps of neighbouring rounds share them evenly; with
 * twice as many places as maps in use, some are left for rounds that are skipped. A map that had to make room
 * while it is still wanted is drawn again, and comes out the same. */
#define WAYS 8u

struct map {
    enum mot_peer_draw draw;
    uint32_t n, segment; /* n 0: empty */
    uint64_t round, used;
};

struct mot_peer_maps {
    pthread_mutex_t lock;
    uint32_t sets, nodes;
    uint32_t segments; /* of a round, as far as anyone has asked */
    uint64_t uses, drawn;
    struct map *map; /* [sets * WAYS] */
    /* for each: from[nodes], to[nodes], at[nodes + 1]: where a node's receivers begin in `to` */
    mot_node *room;
};

static mot_node *from_of(const struct mot_peer_maps *p, uint32_t i)
{
    return p->room + (size_t)i * (3 * (size_t)p->nodes + 1);
}
static mot_node *to_of(const struct mot_peer_maps *p, uint32_t i) { return from_of(p, i) + p->nodes; }
static uint32_t *at_of(const struct mot_peer_maps *p, uint32_t i) { return to_of(p, i) + p->nodes; }

struct mot_peer_maps *mot_peer_maps_open(uint32_t maps, uint32_t nodes)
{
    struct mot_peer_maps *p = mot_new(1, sizeof(*p));
    p->sets = 2 * maps / WAYS + 1;
    p->nodes = nodes;
    size_t places = (size_t)p->sets * WAYS;
    p->map = mot_new_large(places, sizeof(*p->map));
    p->room = mot_new_large(places, (3 * (size_t)nodes + 1) * sizeof(*p->room));
    pthread_mutex_init(&p->lock, NULL);
    if (p->map && p->room) return p;
    mot_peer_maps_close(p);
    return NULL;
}

void mot_peer_maps_close(struct mot_peer_maps *p)
{
    if (!p) return;
    pthread_mutex_destroy(&p->lock);
    free(p->map);
    free(p->room);
    free(p);
}

uint64_t mot_peer_maps_drawn(const struct mot_peer_maps *p) { return p->drawn; }

static void fill(struct mot_peer_maps *p, uint32_t i, uint64_t seed)
{
    const struct map *m = &p->map[i];
    mot_node *from = from_of(p, i), *to = to_of(p, i);
    uint32_t *at = at_of(p, i);
    mot_peers_draw(m->draw, m->n, seed, m->round, m->segment, from);
    for (uint32_t k = 0; k <= m->n; k++) at[k] = 0;
    for (uint32_t k = 0; k < m->n; k++) at[from[k]]++;
    for (uint32_t k = 0, sum = 0; k <= m->n; k++) {
        sum += at[k];
        at[k] = sum; /* where its receivers end; putting them in moves it to where they begin */
    }
    for (uint32_t k = m->n; k-- > 0;) to[--at[from[k]]] = k;
    p->drawn++;
}

/* The place of a map; draws the map if it is not there. Under the lock. */
static uint32_t find(struct mot_peer_maps *p, uint64_t seed, enum mot_peer_draw draw, uint32_t n,
    uint64_t round, uint32_t segment)
{
    MOT_ASSERT(n <= p->nodes);
    if (segment >= p->segments) p->segments = segment + 1;
    uint32_t first = (uint32_t)((round * p->segments + segment) % p->sets) * WAYS, oldest = first;
    for (uint32_t i = first; i < first + WAYS; i++) {
        struct map *m = &p->map[i];
        if (m->n == n && m->round == round && m->segment == segment && m->draw == draw) {
            m->used = ++p->uses;
            return i;
        }
        if (m->used < p->map[oldest].used) oldest = i;
    }
    p->map[oldest] =
        (struct map){ .draw = draw, .n = n, .segment = segment, .round = round, .used = ++p->uses };
    fill(p, oldest, seed);
    return oldest;
}

mot_node mot_peer_from(const struct mot_env *env, enum mot_peer_draw draw, uint32_t n, uint64_t round,
    uint32_t segment, mot_node node)
{
    struct mot_peer_maps *p = env->world->peers;
    MOT_ASSERT(p && node < n);
    pthread_mutex_lock(&p->lock);
    mot_node from = from_of(p, find(p, env->world->seed, draw, n, round, segment))[node];
    pthread_mutex_unlock(&p->lock);
    return from;
}

mot_node mot_peer_to(const struct mot_env *env, enum mot_peer_draw draw, uint32_t n, uint64_t round,
    uint32_t segment, mot_node node, uint32_t k)
{
    struct mot_peer_maps *p = env->world->peers;
    MOT_ASSERT(p && node < n);
    pthread_mutex_lock(&p->lock);
    uint32_t i = find(p, env->world->seed, draw, n, round, segment), at = at_of(p, i)[node],
             end = at_of(p, i)[node + 1];
    mot_node to = k < end - at ? to_of(p, i)[at + k] : MOT_NO_NODE;
    pthread_mutex_unlock(&p->lock);
    return to;
}
