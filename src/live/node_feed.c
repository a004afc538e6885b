/* node_feed.c -- a live node whose samples arrive over time, as the cluster says or from a source, and where
 * everyone is in its stream. */
#include "base/memory.h"
#include "base/words.h"
#include "live/node.h"
#include "live/rings.h"
#include <stdio.h>
#include <string.h>

#define LOOK_NS UINT64_C(1000000)       /* the longest between two looks at what has come */
#define STALLED_NS UINT64_C(1000000000) /* shorter stalls are nobody's concern */

/* ---- A supply from outside ----------------------------------------------------------------- */

static struct mot_ring *ring_of(void *node)
{
    return mot_intake_ring(((struct mot_live_node *)node)->intake);
}

static uint64_t rows_arrived(void *node, mot_time now)
{
    (void)now;
    return atomic_load_explicit(&ring_of(node)->tail, memory_order_acquire);
}

static mot_time rows_when(void *node, uint64_t count)
{
    struct mot_live_node *n = node;
    mot_time now = mot_live_now(n->live);
    uint64_t there = rows_arrived(node, now);
    if (count <= there) {
        uint64_t came = mot_ring_before(ring_of(node), count).came_ns;
        return came > n->live->began_ns ? came - n->live->began_ns : 0;
    }
    double rate = mot_intake_rate(n->intake), ns = rate > 0 ? 1e9 * (double)(count - there) / rate : LOOK_NS;
    return now + (ns < LOOK_NS ? (mot_time)ns : LOOK_NS);
}

static double rows_rate(void *node) { return mot_intake_rate(((struct mot_live_node *)node)->intake); }
static uint64_t rows_hold(void *node, uint64_t head) { return mot_ring_hold(ring_of(node), head); }
static void rows_release(void *node, uint64_t head) { mot_ring_release(ring_of(node), head); }
static bool rows_ended(void *node) { return mot_intake_state(((struct mot_live_node *)node)->intake).ended; }

static void open_intake(struct mot_live_node *n, uint64_t first)
{
    const struct mot_live *l = n->live;
    const struct mot_intake_conf *c = &l->experiment->source;
    mot_node self = n->actor.self;
    struct mot_mark begin = { .after.at = MOT_CURSOR_UNKNOWN };
    struct mot_machine m = l->experiment->cluster->machine[self];
    if (l->from && l->from->cursor) begin = l->from->cursor[self];
    n->status = mot_rings_intake(l->rings, l->experiment, self, first, &begin, &n->intake);
    if (n->status != MOT_OK) {
        snprintf(n->trouble, sizeof(n->trouble), "%s", mot_error());
        return;
    }
    m.stream = (struct mot_stream){ .buffer = c->buffer, .bound = c->bound };
    m.room.memory = 0;
    struct mot_supply supply = { n, rows_arrived, rows_when, rows_rate, rows_hold, rows_release, rows_ended };
    mot_feed_open(&n->feed, &m, 1, first, supply, &n->actor.tally.feed);
    n->feed.reach = mot_ring_room(mot_intake_ring(n->intake));
    n->actor.feed = &n->feed;
}

/* Passes on, once, what users should know about this worker's source. */
static void pass_note_on(struct mot_live_node *n, const struct mot_intake_state *s)
{
    struct mot_live *l = n->live;
    if (n->noted || !s->note[0]) return;
    n->noted = true;
    if (l->watch.trouble) l->watch.trouble(l->watch.self, s->note);
}

/* Tells whoever watches that this worker's source gives nothing, or that it gives samples again. */
static void say_stalled(struct mot_live_node *n, const struct mot_intake_state *s)
{
    struct mot_live *l = n->live;
    uint32_t me = n->actor.self + 1, by = atomic_load(&l->stalls);
    char time[48];
    if (s->stalled_ns < STALLED_NS) {
        if (by == me) atomic_store(&l->stalls, 0);
    } else if (by == 0 || by == me) {
        pthread_mutex_lock(&l->watch_lock);
        snprintf(l->stalled, sizeof(l->stalled), "worker %u stalled for %s: %s", n->actor.self,
            mot_show_time(s->stalled_ns / STALLED_NS * STALLED_NS, time, sizeof(time)), s->words);
        pthread_mutex_unlock(&l->watch_lock);
        atomic_store(&l->stalls, me);
    }
}

const char *mot_live_stalled(struct mot_live *l, char into[MOT_LIVE_STALLED])
{
    if (!atomic_load(&l->stalls)) return NULL;
    pthread_mutex_lock(&l->watch_lock);
    memcpy(into, l->stalled, MOT_LIVE_STALLED);
    pthread_mutex_unlock(&l->watch_lock);
    return into;
}

bool mot_live_feed_over(struct mot_live_node *n)
{
    struct mot_intake_state s = mot_intake_state(n->intake);
    say_stalled(n, &s);
    pass_note_on(n, &s);
    if (s.failed == MOT_OK && !n->feed.over) return false;
    n->out_of_data = s.failed == MOT_OK;
    if (n->out_of_data) atomic_store(&n->live->drained, true);
    n->status = s.failed;
    n->finished = true;
    n->port->end(n->port);
    return true;
}

void mot_live_feed_close(struct mot_live_node *n)
{
    if (n->intake) mot_intake_stop(n->intake);
    mot_feed_close(&n->feed, mot_live_now(n->live));
    if (!n->intake) return;
    struct mot_intake_state s = mot_intake_state(n->intake);
    pass_note_on(n, &s);
    struct mot_feed_tally *t = &n->actor.tally.feed;
    t->malformed = s.malformed - mot_intake_ring(n->intake)->begin.malformed;
    t->held = s.held - mot_intake_ring(n->intake)->begin.held;
    t->arrived += t->malformed + t->held;
    t->lag = s.lag;
    t->missing = s.missing;
    t->repeated = s.repeated;
    if (n->port->held) n->port->held(n->port);
    t->stalls = s.stalls;
    if (s.failed != MOT_OK || s.stalled_ns || s.stalls) memcpy(n->trouble, s.words, sizeof(n->trouble));
}

/* ---- What arrives, and where all are ---------------------------------------------------------- */

/* Opens what arrives at the node and, for a lead, where all workers are. */
void mot_live_feed_open(struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    const struct mot_world *w = &l->world;
    mot_node self = n->actor.self;
    const struct mot_machine *m = &l->experiment->cluster->machine[self];
    if (self == l->lead) {
        n->place = mot_new_large(w->workers, sizeof(*n->place));
        n->placed = mot_new_large(w->workers, sizeof(*n->placed));
    }
    if (self < w->workers && l->rings) {
        open_intake(n, w->draw0 ? w->draw0[self] : 0);
        return;
    }
    if (self >= w->workers || m->stream.kind == MOT_STREAM_NONE || w->part_rows[self] == 0) return;
    n->actor.feed = &n->feed;
    mot_feed_open(&n->feed, m, w->row_bytes[self], w->draw0 ? w->draw0[self] : 0,
        mot_rate_supply_open(&n->rates, &m->stream, w->seed, self), &n->actor.tally.feed);
}

/* Where it is in its stream, for itself and for others to know. */
struct mot_place mot_live_place(struct mot_live_node *n)
{
    const struct mot_feed *f = &n->feed;
    struct mot_place is = { 0 };
    if (!n->actor.feed) return is;
    is = (struct mot_place){ .used = f->tally->used, .dropped = f->tally->dropped };
    uint64_t arrived = f->supply.arrived(f->supply.self, mot_live_now(n->live));
    is.arrived = arrived > f->head ? arrived - f->first : f->head - f->first;
    if (n->intake) {
        const struct mot_ring *r = mot_intake_ring(n->intake);
        struct mot_mark before = mot_ring_before(r, f->first + is.used + is.dropped);
        is.cursor = before.after;
        is.malformed = before.malformed - r->begin.malformed;
        is.held = before.held - r->begin.held;
        is.arrived += is.malformed + is.held;
        if (n->port->held) n->port->held(n->port);
    }
    mot_place_note(&n->live->place[n->actor.self], &is);
    return is;
}

void mot_live_place_join(struct mot_live_node *n)
{
    struct mot_place is = mot_live_place(n);
    mot_place_join(&n->live->place[n->actor.self], n->joins++, &is);
}

/* A collective of all workers has ended: where each was when it joined. */
void mot_live_learn_places(struct mot_live_node *n)
{
    for (mot_node i = 0; n->place && i < n->live->world.workers; i++)
        n->place[i] = mot_place_at(&n->live->place[i], n->collected);
    n->collected++;
}
