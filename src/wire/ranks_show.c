/* ranks_show.c -- models elsewhere that rank 0 evaluates: those of servers with a range each, and of workers
 * whose models differ.
 *
 * After an update at which it is due or was asked for, a node sends its model straight from the held
 * buffer and goes on. If checkpoints are written, the optimiser's buffers go with it. A server with a range
 * sends only the floats of its range. */
#include "base/memory.h"
#include "wire/ranks_state.h"
#include <stdlib.h>
#include <string.h>

/* The most envelopes and bodies that may be unsent when a model is shown. Rank 0 may be busy evaluating, and
 * what is unsent occupies buffers. */
#define SENDING_MOST 8u

void mot_ranks_ask(struct mot_port *port, uint64_t number, uint64_t at)
{
    struct mot_ranks *p = ((struct hosted *)port)->ranks;
    for (uint32_t r = 1; r < p->transport->ranks; r++) {
        struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_ASK);
        e.ask.number = number;
        e.ask.at = at;
        mot_ranks_post(p, r, &e, NULL, 0);
    }
}

void mot_ranks_show(struct mot_port *port, const struct mot_shown *s)
{
    struct hosted *b = (struct hosted *)port;
    struct mot_ranks *p = b->ranks;
    uint32_t whole = p->live.world.dim, n = 1;
    mot_buf buf[2 + MOT_LIVE_SLOTS] = { s->view.x };
    for (uint32_t k = 0; p->live.keeps && k < p->live.slots && s->slot[k]; k++) buf[n++] = s->slot[k];
    if (s->view.moved) buf[n++] = s->view.moved;
    while (mot_ranks_sending(p) > SENDING_MOST && !p->orphan && !p->losses) mot_ranks_rest(p, MOT_NEVER);
    for (uint32_t i = 0; i < n; i++) {
        mot_pool_hold(&p->live.pool, buf[i]);
        struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_SHOW);
        e.samples = atomic_load(&b->samples);
        e.show.node = s->node;
        e.show.buffer = (uint8_t)i;
        e.show.buffers = (uint8_t)n;
        if (s->last) e.show.flags |= MOT_SHOW_LAST;
        if (s->asked) e.show.flags |= MOT_SHOW_ASKED;
        if (s->view.moved) e.show.flags |= MOT_SHOW_MOVED;
        e.show.off = s->view.len ? s->view.off : 0;
        e.show.len = s->view.len ? s->view.len : whole;
        e.show.updates = s->updates;
        e.show.step = s->step;
        e.show.at = s->at;
        e.show.events = s->events;
        e.show.scale = s->view.scale;
        e.show.mass = s->view.mass;
        memcpy(e.show.word, s->word, sizeof(e.show.word));
        const float *at = mot_pool_at(&p->live.pool, buf[i]) + e.show.off;
        e.bytes = (uint64_t)e.show.len * sizeof(*at);
        if (p->live.experiment->mpi.check_all) e.body_sum = mot_body_sum(at, e.bytes);
        mot_ranks_post(p, 0, &e, at, buf[i]);
    }
}

/* Where a buffer that follows the model belongs; NULL: there is no such place. */
static float **place_of(struct mot_copy *c, const struct mot_envelope *e)
{
    if (!c->x || c->len != e->show.len) return NULL;
    if ((e->show.flags & MOT_SHOW_MOVED) && e->show.buffer + 1 == e->show.buffers) return &c->moved;
    return e->show.buffer <= MOT_LIVE_SLOTS ? &c->slot[e->show.buffer - 1] : NULL;
}

/* Buffers of one model come one after the other. */
static bool is_next(const struct rank_show *r, const struct mot_envelope *e)
{
    return e->show.buffer == r->coming && e->show.buffers > e->show.buffer;
}

bool mot_ranks_expect_show(struct mot_ranks *p, struct letter *l)
{
    const struct mot_live *live = &p->live;
    const struct mot_envelope *e = &l->envelope;
    uint32_t dim = live->world.dim;
    mot_node node = e->show.node;
    if (!p->show || node < live->lead || node >= live->lead + live->showing ||
        !mot_ranks_is_of(p, node, l->rank))
        return false;
    if (e->show.off > dim || e->show.len == 0 || e->show.len > dim - e->show.off ||
        e->bytes != (uint64_t)e->show.len * sizeof(float))
        return false;
    bool moved = e->show.flags & MOT_SHOW_MOVED;
    if (e->show.buffers > 1 + live->slots + moved || !is_next(&p->show[node], e)) return false;
    if (e->show.flags >= MOT_SHOW_FLAGS || e->show.unused || e->show.buffers < 1 + moved) return false;
    /* models are shown only for an update */
    if (!(e->show.flags & MOT_SHOW_LAST) && e->show.at == 0) return false;
    p->show[node].coming = e->show.buffer + 1 < e->show.buffers ? e->show.buffer + 1 : 0;
    l->body = mot_new(e->show.len, sizeof(float));
    l->owned = true;
    return true;
}

void mot_ranks_show_came(struct mot_ranks *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    if (!p->live.judge) return; /* it was complete only after the end */
    struct rank_show *r = &p->show[e->show.node];
    float *came = l->body, **place;
    l->owned = false;
    if (e->show.buffer == 0) {
        mot_copy_free(&r->copy);
        r->copy = (struct mot_copy){ .node = e->show.node,
            .last = e->show.flags & MOT_SHOW_LAST,
            .asked = e->show.flags & MOT_SHOW_ASKED,
            .at = e->show.at,
            .updates = e->show.updates,
            .step = e->show.step,
            .events = e->show.events,
            .place = mot_ranks_place(e),
            .scale = e->show.scale,
            .mass = e->show.mass,
            .off = e->show.off,
            .len = e->show.len,
            .x = came };
        memcpy(r->copy.word, e->show.word, sizeof(r->copy.word));
        r->here = 0;
    } else if ((place = place_of(&r->copy, e)) && !*place) {
        *place = came;
    } else {
        free(came);
        mot_ranks_distrust(p, l->rank);
        return;
    }
    if (++r->here < e->show.buffers) return;
    mot_live_judge_take(p->live.judge, &r->copy);
    r->copy = (struct mot_copy){ 0 };
    r->here = 0;
}

bool mot_ranks_all_shown(struct mot_ranks *p)
{
    struct mot_live *live = &p->live;
    if (live->showing < 2) return true;
    for (mot_node i = live->lead; i < live->lead + live->showing; i++) {
        uint32_t rank = mot_ranks_of(p, i);
        if (rank != 0 && !p->peer[rank].lost && !mot_live_judge_has_last(live->judge, i)) return false;
    }
    return true;
}
