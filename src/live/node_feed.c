/* node_feed.c -- a live node whose samples arrive over time: emulated arrivals, and where everyone is in its
 * stream. */
#include "base/memory.h"
#include "live/node.h"

/* What arrives at it; and for a lead, where all are. */
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
    if (self >= w->workers || m->stream.kind == MOT_STREAM_NONE || w->part_rows[self] == 0) return;
    n->actor.feed = &n->feed;
    mot_feed_open(&n->feed, m, w->row_bytes[self], w->draw0 ? w->draw0[self] : 0,
        mot_rate_source_open(&n->source, &m->stream, w->seed, self), &n->actor.tally.feed);
}

/* Where it is in its stream, for itself and for others to know. */
struct mot_place mot_live_place(struct mot_live_node *n)
{
    const struct mot_feed *f = &n->feed;
    struct mot_place is = { 0 };
    if (!n->actor.feed) return is;
    is = (struct mot_place){ .used = f->tally->used, .dropped = f->tally->dropped };
    uint64_t arrived = f->source.arrived(f->source.self, mot_live_now(n->live));
    is.arrived = arrived > f->head ? arrived - f->first : f->head - f->first;
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
