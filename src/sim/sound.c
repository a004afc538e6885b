/* sound.c -- whether a checkpoint that was read can be one of this run: indices, handles and counts are
 * within their bounds, so that nothing it says makes the simulator read or write where it must not. */
#include "sim/channel.h"

static bool good_slice(const struct sim *s, struct mot_slice b)
{
    return b.buf <= s->pool.capacity && (uint64_t)b.off + b.len <= s->pool.dim &&
        (b.buf == MOT_NO_BUF || s->pool.count[b.buf] > 0);
}

static bool good_event(const struct sim *s, const struct mot_pending *p)
{
    switch (p->kind) {
    case SIM_START:
    case SIM_FEED: return p->index < s->world.nodes;
    case SIM_IDLE: return s->hosts && p->index < s->world.nodes;
    case SIM_MESSAGE: return p->index < s->messages;
    case SIM_WORK: return p->index < s->works;
    case SIM_TIMER: return p->index < s->alarms;
    case SIM_COLL: return mot_sim_coll_exists(s, p->instance, mot_tie_rank(p->tie), p->index);
    default: break;
    }
    const struct sim_channel *c = s->channel;
    if (!c) return false;
    switch (p->kind) {
    case SIM_FRAME:
    case SIM_RESEND: return p->index > 0 && p->index <= c->items;
    case SIM_ACK:
    case SIM_DELIVER: return p->index < (uint64_t)s->world.nodes * s->world.nodes;
    case SIM_FAULT:
        return p->instance <= FAULT_ARRIVAL &&
            p->index < (p->instance == FAULT_ARRIVAL ? MOT_FAULTS_RANDOM : c->faults);
    case SIM_LOST:
    case SIM_JOIN: return p->index < s->world.nodes;
    default: return false;
    }
}

static bool good_item(const struct sim *s, const struct sim_item *i)
{
    const struct sim_channel *c = s->channel;
    if (i->next > c->items || i->queue_next > c->items ||
        i->conn >= (uint64_t)s->world.nodes * s->world.nodes)
        return false;
    if (i->m.from >= s->world.nodes || i->m.to >= s->world.nodes) return false;
    if (i->collective && !mot_sim_coll_exists(s, i->instance, i->m.from, i->m.to)) return false;
    return i->m.rows <= s->world.parts && good_slice(s, i->m.body);
}

static bool good_channel(const struct sim *s)
{
    const struct sim_channel *c = s->channel;
    if (!c) return true;
    if (c->free > c->items || c->held_first > c->items || c->held_last > c->items || s->peer > s->world.nodes)
        return false;
    for (uint32_t i = 1; i <= c->items; i++)
        if (!good_item(s, &c->item[i])) return false;
    for (uint32_t i = 0; i < c->knowns; i++) {
        const struct sim_conn *n = &c->conn[c->known[i]];
        if (n->first > c->items || n->arrive > c->items || n->deliver > c->items || n->last > c->items)
            return false;
    }
    for (uint32_t i = 0; i < c->faults; i++)
        if (c->fault[i].f.kind > MOT_FAULT_POISON || c->fault[i].f.workers.n > MOT_UINTS_MAX) return false;
    for (uint32_t i = 0; i < c->actives; i++)
        if (c->active[i] >= c->faults) return false;
    for (mot_node n = 0; n < s->world.nodes; n++)
        for (uint32_t i = 0; i < c->health[n].ledger.n; i++)
            if (!good_slice(s, (struct mot_slice){ .buf = c->health[n].ledger.held[i] })) return false;
    return true;
}

static bool good_params(const struct sim *s, const struct mot_params *p)
{
    const mot_buf buf[] = { p->x, p->slot[0], p->slot[1] };
    for (uint32_t i = 0; i < 1 + s->world.optim->slots; i++)
        if (buf[i] == MOT_NO_BUF || buf[i] > s->pool.capacity || s->pool.count[buf[i]] == 0) return false;
    return true;
}

/* Checks the piece that a running job is at. */
static bool good_piece(const struct sim_work *w)
{
    const struct mot_slot *slot = &w->slot;
    if (slot->summed ? slot->gone >= w->sim->buckets : slot->gone) return false;
    return slot->piece < slot->terms && (slot->pieces || slot->piece == 0) && slot->before <= slot->until &&
        slot->until <= slot->asked && slot->before <= w->samples && w->samples <= slot->asked;
}

bool mot_sim_gathers(const struct sim_coll *c)
{
    for (uint32_t i = 0; i < c->circle.n; i++)
        if (c->progress[i].joined && c->packed[i]) return true;
    return false;
}

static bool good_coll(const struct sim *s, const struct sim_coll *c)
{
    if (c->kind > MOT_COLL_FROM_ROOT || c->joined > c->circle.n || c->finished > c->joined) return false;
    if (!good_slice(s, (struct mot_slice){ c->out, c->off, c->len })) return false;
    bool sums = c->kind != MOT_COLL_FROM_ROOT && c->joined == c->circle.n && c->finished == 0 && c->len;
    for (uint32_t i = 0; i < c->circle.n; i++)
        if (!good_slice(s, c->in[i]) || (sums && c->in[i].buf == MOT_NO_BUF)) return false;
    if (!mot_sim_gathers(c)) return true;
    for (uint32_t i = 0; i < c->circle.n; i++) {
        bool here = c->progress[i].joined && c->finished == 0;
        if (here && (!mot_pool_packed(&s->pool, c->in[i].buf) || !mot_pool_travels(&s->pool, c->in[i])))
            return false;
        if (here && (c->in[i].off != c->off || c->in[i].len != c->len)) return false;
    }
    return c->kind == MOT_COLL_SUM;
}

/* The checksum catches accidents; this catches files made to harm the reader. Nodes' states belong to
 * their method, whose check() inspects them before the run goes on. */
bool mot_sim_sound(const struct sim *s)
{
    const struct mot_memo *m = &s->memo;
    if (m->set &&
        (!good_params(s, &m->in) || !good_params(s, &m->out) || m->grad.buf == MOT_NO_BUF ||
            !good_slice(s, m->grad)))
        return false;
    if (s->messages_free > s->messages) return false;
    for (uint32_t i = 0; i < s->messages_free; i++)
        if (s->message_free[i] >= s->messages) return false;
    for (uint32_t i = 0; i < s->messages; i++)
        if (s->message[i].from >= s->world.nodes || s->message[i].to >= s->world.nodes ||
            s->message[i].rows > s->world.parts)
            return false;
    for (uint32_t i = 0; i < s->works; i++) {
        const struct sim_work *w = &s->work[i];
        uint32_t room = (uint32_t)((i + 1 < s->works ? s->work[i + 1].slot.term
                                                     : s->term + (w->slot.term - s->term) + s->last_terms) -
            w->slot.term);
        if (w->slot.state > MOT_SLOT_RUNNING || w->slot.terms > room || w->slot.at > s->pool.capacity ||
            w->slot.grad > s->pool.capacity)
            return false;
        if (w->slot.state != MOT_SLOT_FREE && (w->slot.at == MOT_NO_BUF || s->pool.count[w->slot.at] == 0))
            return false;
        if (w->slot.state == MOT_SLOT_RUNNING &&
            (w->slot.grad == MOT_NO_BUF || s->pool.count[w->slot.grad] == 0))
            return false;
        if (w->slot.state == MOT_SLOT_RUNNING && !good_piece(w)) return false;
        for (uint32_t t = 0; t < w->slot.terms; t++)
            if (w->slot.term[t].part >= s->world.parts ||
                (!s->held && w->slot.term[t].part != w->node && !s->x->traits.shares) ||
                (w->slot.state == MOT_SLOT_WAITING &&
                    !mot_actor_holds(&s->node[w->node].actor, w->slot.term[t].part)))
                return false;
    }
    for (mot_node i = 0; s->feed && i < s->world.workers; i++)
        if (s->feed[i].took && s->feed[i].before != s->feed[i].head - s->feed[i].took) return false;
    for (mot_node i = 0; i < s->world.nodes; i++)
        for (int k = 0; k < MOT_COLL_SCOPES; k++)
            if (s->node[i].coll[k] && s->node[i].coll[k] >= s->window) return false;
    for (uint32_t k = 0; k < s->colls; k++)
        if (!good_coll(s, &s->coll[k])) return false;
    for (uint32_t i = 0; i < s->heap.n; i++)
        if (!good_event(s, &s->heap.e[i])) return false;
    return good_channel(s);
}
