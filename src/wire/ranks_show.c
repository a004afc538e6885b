/* ranks_show.c -- models that rank 0 evaluates and that are elsewhere: servers with a range each, workers
 * whose models differ.
 *
 * A node sends what it has after the update at which it is due, or was asked for, straight
 * from the held buffer, and goes on. The optimiser's buffers go with it where checkpoints are written. The
 * floats of a range are all that is sent of it. */
#include "base/memory.h"
#include "wire/ranks_state.h"
#include <stdlib.h>

/* Envelopes and bodies that may be on their way out when a model is shown. Rank 0 may be busy with an
 * evaluation, and what is not sent yet takes buffers. */
#define SENDING_MOST 8u

void mot_ranks_ask(struct mot_port *port, uint64_t number, uint64_t at)
{
    struct crowd *p = &mot_crowd;
    (void)port;
    for (uint32_t r = 1; r < p->wire.ranks; r++) {
        struct mot_envelope e = { .kind = MOT_ENVELOPE_ASK, .to = r, .round = number, .sent = at };
        mot_ranks_post(p, r, &e, NULL, 0);
    }
}

void mot_ranks_show(struct mot_port *port, const struct mot_shown *s)
{
    struct crowd *p = &mot_crowd;
    struct berth *b = (struct berth *)port;
    uint32_t whole = p->live.world.dim, slots = p->live.keeps ? p->live.world.optim->slots : 0;
    const mot_buf buf[3] = { s->view.x, s->slot[0], s->slot[1] };
    while (mot_wire_sending() > SENDING_MOST && !p->orphan && !p->losses) mot_ranks_rest(p, MOT_NEVER);
    for (uint32_t i = 0; i <= slots; i++) {
        if (buf[i] == MOT_NO_BUF) continue;
        mot_pool_hold(&p->live.pool, buf[i]);
        struct mot_envelope e = { .kind = MOT_ENVELOPE_SHOW,
            .message = (uint16_t)i,
            .from = s->node,
            .samples = atomic_load(&b->samples),
            .round = s->updates,
            .value = s->view.scale,
            .head_samples = s->slot[0] ? 1 + slots : 1,
            .sent = s->step,
            .lag = s->at,
            .last = s->last,
            .tag = s->asked,
            .off = s->view.len ? s->view.off : 0,
            .len = s->view.len ? s->view.len : whole };
        const float *at = mot_pool_at(&p->live.pool, buf[i]) + e.off;
        e.bytes = (uint64_t)e.len * sizeof(*at);
        if (p->live.experiment->mpi.check_all) e.body_sum = mot_body_sum(at, e.bytes);
        mot_ranks_post(p, 0, &e, at, buf[i]);
    }
}

bool mot_ranks_expect_show(struct crowd *p, struct letter *l)
{
    const struct mot_live *live = &p->live;
    const struct mot_envelope *e = &l->envelope;
    uint32_t dim = live->world.dim;
    if (!p->show || e->from < live->lead || e->from >= live->lead + live->showing ||
        mot_ranks_of(p, e->from) != l->rank)
        return false;
    if (e->off > dim || e->len == 0 || e->len > dim - e->off || e->bytes != (uint64_t)e->len * sizeof(float))
        return false;
    if (e->head_samples > 1 + live->world.optim->slots || e->message >= e->head_samples) return false;
    if (!e->last && e->lag == 0) return false; /* nothing is shown for no update */
    l->body = mot_new(e->len, sizeof(float));
    return true;
}

void mot_ranks_show_came(struct crowd *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    struct rank_show *r = &p->show[e->from];
    float *came = l->body;
    l->body = NULL;
    if (e->message == 0) {
        mot_copy_free(&r->copy);
        r->copy = (struct mot_copy){ .node = e->from,
            .last = e->last,
            .asked = e->tag,
            .at = e->lag,
            .updates = e->round,
            .step = e->sent,
            .scale = e->value,
            .off = e->off,
            .len = e->len,
            .x = came };
        r->here = 0;
    } else if (r->copy.x && r->copy.len == e->len && !r->copy.slot[e->message - 1]) {
        r->copy.slot[e->message - 1] = came;
    } else {
        free(came);
        return;
    }
    if (++r->here < e->head_samples) return;
    mot_judge_take(p->live.judge, &r->copy);
    *r = (struct rank_show){ 0 };
}

bool mot_ranks_all_shown(struct crowd *p)
{
    struct mot_live *live = &p->live;
    if (live->showing < 2) return true;
    for (mot_node i = live->lead; i < live->lead + live->showing; i++) {
        uint32_t rank = mot_ranks_of(p, i);
        if (rank != 0 && !p->peer[rank].lost && !mot_judge_has_last(live->judge, i)) return false;
    }
    return true;
}
