/* ranks_rests.c -- what workers had left to send, for checkpoints: servers ask the workers' ranks, and these
 * answer rank 0, straight from the buffers that they have kept (live/rests.h). */
#include "base/memory.h"
#include "compress/compress.h"
#include "wire/ranks_state.h"
#include <math.h>
#include <stdlib.h>

static struct mot_want want_of(const struct mot_ranks *p, mot_node worker, mot_node server, uint32_t flags)
{
    return (struct mot_want){ .worker = worker,
        .server = server - p->live.world.workers,
        .asked = flags & MOT_SHOW_ASKED,
        .last = flags & MOT_SHOW_LAST };
}

static uint32_t flags_of(const struct mot_want *w)
{
    return (w->last ? MOT_SHOW_LAST : 0u) | (w->asked ? MOT_SHOW_ASKED : 0u);
}

/* Answers the judge of another process. */
static void post_rest(struct mot_ranks *p, const struct mot_want *w, struct mot_left left, bool none)
{
    struct mot_live *l = &p->live;
    const float *at = NULL;
    struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_REST);
    e.rest.worker = w->worker;
    e.rest.server = l->world.workers + w->server;
    e.rest.flags = flags_of(w);
    e.rest.none = none;
    e.rest.at = w->at;
    e.rest.packs = left.packs;
    e.rest.lost = left.lost;
    if (left.rest != MOT_NO_BUF) {
        struct mot_slice range = mot_live_range(l, left.rest, w->server);
        at = mot_pool_at(&l->pool, range.buf) + range.off;
        e.rest.weight = left.weight;
        e.bytes = (uint64_t)range.len * sizeof(*at);
        if (l->experiment->mpi.check_all) e.body_sum = mot_body_sum(at, e.bytes);
    }
    if (left.rest != MOT_NO_BUF) {
        if (!p->rest_out) p->rest_out = mot_new(mot_live_rests_sent(l), sizeof(*p->rest_out));
        p->rest_out[p->rests_out++] = left.rest;
    }
    mot_ranks_post(p, 0, &e, at, left.rest);
}

void mot_ranks_rest_sent(struct mot_ranks *p, mot_buf buf)
{
    uint32_t i = 0;
    while (i < p->rests_out && p->rest_out[i] != buf) i++;
    if (i < p->rests_out) p->rest_out[i] = p->rest_out[--p->rests_out];
}

/* Answers for a worker of this process. If servers ask faster than rank 0 receives, it answers that it does
 * not know: what is unsent occupies buffers. False: no server asks for that. */
static bool answer(struct mot_ranks *p, const struct mot_want *w)
{
    struct mot_left left = { 0 };
    bool full = p->rests_out == mot_live_rests_sent(&p->live);
    if (!full && !mot_rests_after(&mot_ranks_hosted(p, w->worker)->node, w->server, w->number, &left))
        return false;
    if (p->live.judge) mot_live_judge_rest(p->live.judge, w, &left, NULL);
    else if (p->transport->rank != 0) post_rest(p, w, left, full);
    else mot_pool_drop(&p->live.pool, left.rest); /* the run is over */
    return true;
}

void mot_ranks_want(struct mot_port *port, const struct mot_want *w)
{
    struct mot_ranks *p = ((struct hosted *)port)->ranks;
    if (mot_ranks_hosted(p, w->worker)) {
        bool known = answer(p, w);
        MOT_ASSERT(known);
        return;
    }
    struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_WANT);
    e.want.worker = w->worker;
    e.want.server = p->live.world.workers + w->server;
    e.want.flags = flags_of(w);
    e.want.number = w->number;
    e.want.at = w->at;
    mot_ranks_post(p, mot_ranks_of(p, w->worker), &e, NULL, 0);
}

static bool is_server_of(const struct mot_ranks *p, mot_node node, uint32_t rank)
{
    return node >= p->live.world.workers && mot_ranks_is_of(p, node, rank);
}

bool mot_ranks_want_came(struct mot_ranks *p, const struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    if (!p->live.rests || e->want.worker >= p->live.world.workers || !mot_ranks_hosted(p, e->want.worker) ||
        !is_server_of(p, e->want.server, l->rank) || e->want.flags > (MOT_SHOW_LAST | MOT_SHOW_ASKED) ||
        e->want.unused)
        return false;
    struct mot_want w = want_of(p, e->want.worker, e->want.server, e->want.flags);
    w.number = e->want.number;
    w.at = e->want.at;
    return answer(p, &w);
}

bool mot_ranks_expect_rest(struct mot_ranks *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    const struct mot_world *w = &p->live.world;
    if (!p->live.rests || e->rest.worker >= w->workers || !mot_ranks_is_of(p, e->rest.worker, l->rank) ||
        e->rest.server < w->workers || e->rest.server >= w->nodes ||
        e->rest.flags > (MOT_SHOW_LAST | MOT_SHOW_ASKED) || e->rest.none > 1)
        return false;
    uint32_t floats = mot_live_range(&p->live, MOT_NO_BUF, e->rest.server - w->workers).len;
    bool some = e->rest.weight > 0 && isfinite(e->rest.weight) && !e->rest.none &&
        w->compress->feedback == MOT_FEEDBACK_EF;
    if (e->bytes != (some ? (uint64_t)floats * sizeof(float) : 0) || (!some && e->rest.weight != 0))
        return false;
    if (!some) return true;
    l->body = mot_new(floats, sizeof(float));
    l->owned = true;
    return true;
}

void mot_ranks_rest_came(struct mot_ranks *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    if (!p->live.judge) return; /* it was complete only after the end */
    struct mot_want w = want_of(p, e->rest.worker, e->rest.server, e->rest.flags);
    struct mot_left left = { .weight = e->rest.weight, .lost = e->rest.lost, .packs = e->rest.packs };
    w.at = e->rest.at;
    l->owned = false;
    mot_live_judge_rest(p->live.judge, &w, e->rest.none ? NULL : &left, l->body);
}
