#include "live/replay.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "run/actor.h"
#include "run/circle.h"
#include "run/pool.h"
#include "run/judge.h"
#include "run/views.h"
#include "run/world.h"
#include "math/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One member's part in a collective. */
struct part {
    bool joined;
    struct mot_slice in;
    double scalar[MOT_SCALARS];
};
struct coll {
    struct mot_circle circle;
    enum mot_coll_kind kind;
    uint32_t tag, joined, left;
    struct part *part; /* by rank */
    mot_buf out;
    double scalar[MOT_SCALARS];
};

struct node {
    struct mot_actor actor;
    struct mot_outbox outbox;
    struct mot_tape_reader tape;
    struct mot_taped next;     /* the next event */
    bool over;                 /* no event is left */
    uint64_t number;           /* of `next`, from 1 */
    struct mot_message *inbox; /* in order of sending */
    uint32_t waiting, room;
    /* of each scope: collectives joined; results received */
    uint64_t colls[MOT_COLL_SCOPES], left[MOT_COLL_SCOPES];
    bool *down; /* [nodes]: peers known to be lost; NULL: none ever */
    /* its model after the run's last update, held, and its updates by then; if several show models */
    struct mot_view last;
    uint64_t last_updates;
};

struct replay {
    const struct mot_driver_options *o;
    const struct mot_experiment *x;
    struct mot_world world;
    struct mot_pool pool;
    struct node *node;
    struct coll *coll; /* [circles][window], in turn */
    uint32_t window, colls;
    void *scratch;
    mot_node lead;         /* first of the nodes whose models make up the run's, */
    uint32_t showing;      /* and how many there are */
    struct mot_view *view; /* [showing]: scratch for what they show, */
    struct mot_piece *piece;
    float *mean; /* and for its mean */
    mot_time now;
    uint64_t events, samples, steps;
    struct mot_crew *crew;
    struct mot_judge judge; /* evaluator is NULL if a node is inspected */
    struct mot_watch watch;
    struct mot_notes notes;
    struct mot_traffic traffic;
    bool full; /* more is held than need() declared */
};

__attribute__((noinline)) void mot_replay_here(mot_node node, uint64_t number)
{
    __asm__ volatile("" : : "r"(node), "r"(number)); /* keeps the call from being optimised away */
}

static enum mot_status differs(const struct replay *r, mot_node node, const char *what)
{
    static const char *const names[] = { "START", "MESSAGE", "WORK", "COLL", "TIMER", "PEER", "PIECE" };
    const struct node *n = &r->node[node];
    return mot_fail(MOT_EREPRODUCE, "node %u, event %llu (%s at %.6f s): %s", node,
        (unsigned long long)n->number, names[n->next.kind], (double)n->next.now * 1e-9, what);
}

static void advance_tape(struct node *n)
{
    n->over = !mot_tape_next(&n->tape, &n->next);
    n->number++;
}

/* ---- Whether an event can happen now ---------------------------------------------------------- */

static struct mot_message *letter_from(const struct node *n, mot_node from)
{
    for (uint32_t i = 0; i < n->waiting; i++)
        if (n->inbox[i].from == from) return &n->inbox[i];
    return NULL;
}

static struct coll *coll_at(struct replay *r, mot_node node, enum mot_coll_scope scope, uint64_t number)
{
    return &r->coll[mot_circle_of(&r->world, scope, node) * r->window + number % r->window];
}

/* The collective whose result is the node's next event, or NULL. */
static struct coll *coll_of(struct replay *r, mot_node node)
{
    const struct node *n = &r->node[node];
    enum mot_coll_scope scope = n->next.scope;
    return n->left[scope] < n->colls[scope] ? coll_at(r, node, scope, n->left[scope]) : NULL;
}

static bool can_finish(const struct coll *c, mot_node node)
{
    if (c->kind == MOT_COLL_FROM_ROOT && node != c->circle.first) return c->part[0].joined;
    return c->joined == c->circle.n;
}

static bool ready(struct replay *r, mot_node node)
{
    const struct node *n = &r->node[node];
    const struct mot_taped *e = &n->next;
    const struct mot_slot *slot;
    const struct coll *c;
    if (n->number == 1) return e->kind == MOT_EV_START;
    switch (e->kind) {
    case MOT_EV_START: return false;
    case MOT_EV_MESSAGE: return letter_from(n, e->from) != NULL;
    case MOT_EV_WORK: return mot_actor_with_tag(&n->actor, e->tag) != NULL;
    case MOT_EV_PIECE:
        slot = mot_actor_with_tag(&n->actor, e->tag);
        return slot && mot_slot_has_next(slot) && slot->piece == e->piece;
    case MOT_EV_COLL: return (c = coll_of(r, node)) != NULL && can_finish(c, node);
    case MOT_EV_TIMER: return e->tag < n->actor.alarms && n->actor.alarm[e->tag] <= e->now;
    case MOT_EV_PEER: return true;
    }
    return false;
}

/* ---- Effects ------------------------------------------------------------------------------------ */

static void deliver(void *replay, struct mot_actor *from, const struct mot_message *m)
{
    struct replay *r = replay;
    struct node *n = &r->node[m->to], *sender = &r->node[from->self];
    uint64_t bytes = mot_message_bytes(&r->world, &r->pool, m, 4);
    from->tally.messages_sent++;
    from->tally.bytes_sent += bytes;
    mot_sent_add(&r->traffic.blocks, mot_traffic_row(&r->traffic, from->self), m->to, bytes);
    if (m->rows) from->tally.rows_bytes += bytes;
    if (n->over || (sender->down && sender->down[m->to])) { /* nobody will read it */
        mot_pool_drop(&r->pool, m->body.buf);
        return;
    }
    if (n->waiting == n->room) {
        n->room = n->room ? n->room * 2 : 8;
        n->inbox = mot_grow(n->inbox, n->room, sizeof(*n->inbox));
    }
    n->inbox[n->waiting++] = *m;
}

static void start(void *replay, struct mot_actor *actor, struct mot_slot *slot)
{
    (void)actor;
    mot_slot_begin(slot, ((struct replay *)replay)->o->problem);
}

/* The record says when the job ended, and with how many samples. */
static void cancel(void *replay, struct mot_actor *actor, struct mot_slot *slot)
{
    (void)replay;
    (void)actor;
    (void)slot;
}

static void join(void *replay, struct mot_actor *actor, const struct mot_coll *coll)
{
    struct replay *r = replay;
    mot_node node = actor->self;
    struct node *n = &r->node[node];
    struct coll *c = coll_at(r, node, coll->scope, n->colls[coll->scope]++);
    struct part *p = &c->part[mot_circle_rank(&c->circle, node)];
    if (p->joined) { /* the previous sum is still pending: the tape ends there */
        r->full = true;
        return;
    }
    *p = (struct part){ .joined = true, .in = coll->in };
    memcpy(p->scalar, coll->scalar, sizeof(p->scalar));
    c->tag = coll->tag;
    c->kind = coll->kind;
    c->joined++;
    if (c->kind == MOT_COLL_FROM_ROOT && node == c->circle.first) {
        c->out = coll->in.buf;
        memcpy(c->scalar, coll->scalar, sizeof(c->scalar));
    }
}

static void advance(void *replay, struct mot_actor *actor)
{
    ((struct replay *)replay)->steps++;
    actor->tally.updates++;
}

static void credit(void *replay, struct mot_actor *actor, mot_node worker)
{
    (void)actor;
    ((struct replay *)replay)->node[worker].actor.tally.updates++;
}

static void note(void *replay, struct mot_actor *actor, const char *key, double value)
{
    (void)actor;
    mot_notes_add(&((struct replay *)replay)->notes, key, value);
}

static void enter(void *replay, struct mot_actor *actor)
{
    (void)replay; /* what it shows is in the record */
    (void)actor;
}

static void stop(void *replay, struct mot_actor *actor, enum mot_status why)
{
    (void)replay; /* the record says what followed */
    (void)actor;
    (void)why;
}

static const struct mot_actor_ops ops = { .send = deliver,
    .start = start,
    .cancel = cancel,
    .collect = join,
    .advance = advance,
    .enter = enter,
    .credit = credit,
    .note = note,
    .stop = stop };

static void step(struct replay *r, mot_node node, const struct mot_event *event)
{
    struct node *n = &r->node[node];
    const struct mot_method *m = r->x->method;
    const struct mot_inspection *look = r->o->inspection;
    bool looked_at = look && node == look->node;
    struct mot_env env = mot_env_of(r->x, &r->world, node, n->next.now, &r->pool, &n->outbox);
    env.held = n->actor.held;
    r->now = n->next.now;
    r->events++;
    if (looked_at) mot_replay_here(node, n->number);
    m->step(n->actor.state, &env, event);
    if (m->check) m->check(n->actor.state, &env);
    if (looked_at && look->seen)
        look->seen(look->seen_self,
            &(struct mot_replayed){
                .node = node, .number = n->number, .event = &n->next, .effects = &n->outbox });
    mot_actor_drain(&n->actor, &n->outbox, &ops, r);
}

/* ---- Events ------------------------------------------------------------------------------------- */

static enum mot_status give_message(struct replay *r, mot_node node)
{
    struct node *n = &r->node[node];
    const struct mot_taped *e = &n->next;
    struct mot_message *at = letter_from(n, e->from), m = *at;
    uint32_t after = n->waiting - (uint32_t)(at - n->inbox) - 1;
    memmove(at, at + 1, after * sizeof(*at));
    n->waiting--;
    bool same = m.kind == e->message && m.rows == e->rows && m.head.round == e->head.round &&
        m.head.samples == e->head.samples && memcmp(&m.head.value, &e->head.value, sizeof(m.head.value)) == 0;
    if (n->down && n->down[m.from]) same = false;
    if (same) {
        mot_actor_take_rows(&n->actor, &m);
        step(r, node, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = &m });
    }
    mot_pool_drop(&r->pool, m.body.buf);
    return same ? MOT_OK : differs(r, node, "the message differs from the recorded one");
}

/* Takes the job's samples from `draw` on: only the record knows what a stream had. */
static void take_from(struct mot_slot *w, mot_node node, uint64_t draw)
{
    for (uint32_t t = 0; t < w->terms; t++) {
        if (w->term[t].part != node) continue;
        w->term[t].draw = draw;
        draw += w->term[t].samples;
    }
}

/* Gives a piece that others follow, or a job's last. */
static enum mot_status give_work(struct replay *r, mot_node node)
{
    struct node *n = &r->node[node];
    const struct mot_taped *e = &n->next;
    struct mot_slot *w = mot_actor_with_tag(&n->actor, e->tag);
    uint64_t asked = w->until - w->before, loss_bits;
    uint32_t terms;
    const struct mot_term *term = mot_slot_terms(w, &terms);
    if (e->streams) take_from(w, node, e->draw);
    if (e->samples > asked) return differs(r, node, "more samples than the job has");
    if (e->kind == MOT_EV_PIECE && e->samples < asked)
        return differs(r, node, "fewer samples than the piece has");
    struct mot_result result = { .tag = w->tag,
        .piece = w->piece,
        .samples = e->samples,
        .draw = w->term[w->piece].draw,
        .grad = mot_pool_take(&r->pool) };
    result.loss = mot_gradient(r->o->problem, term, terms, result.samples, mot_pool_at(&r->pool, w->at),
        mot_pool_at(&r->pool, result.grad), r->scratch);
    if (e->spoilt) mot_gradient_spoil(mot_pool_at(&r->pool, result.grad), r->world.dim);
    if (e->kind == MOT_EV_PIECE) {
        mot_slot_next_piece(w, r->o->problem);
    } else {
        w->state = MOT_SLOT_FREE;
        mot_pool_drop(&r->pool, w->at);
        n->actor.tally.jobs++;
        n->actor.tally.asked += mot_terms_samples(r->o->problem, w->term, w->terms);
    }
    n->actor.tally.samples += result.samples;
    r->samples += result.samples;
    memcpy(&loss_bits, &result.loss, sizeof(loss_bits));
    bool same = loss_bits == e->check;
    if (same) step(r, node, &(struct mot_event){ .kind = e->kind, .work = &result });
    mot_pool_drop(&r->pool, result.grad);
    return same ? MOT_OK
                : differs(r, node,
                      "the loss differs from the recorded one: other data, another model, or other kernels");
}

/* Adds in rank order, as everywhere. */
static void add_up(struct replay *r, struct coll *c)
{
    const struct mot_kernels *k = mot_kernels();
    struct mot_slice whole = c->part[0].in;
    float *out = NULL;
    if (whole.len) {
        c->out = mot_pool_take(&r->pool);
        out = mot_pool_at(&r->pool, c->out) + whole.off;
    }
    for (uint32_t i = 0; i < c->circle.n; i++) {
        const struct part *p = &c->part[i];
        for (int s = 0; s < MOT_SCALARS; s++) c->scalar[s] += p->scalar[s];
        if (!out) continue;
        const float *in = mot_pool_floats(&r->pool, p->in.buf) + p->in.off;
        if (i == 0) memcpy(out, in, whole.len * sizeof(*out));
        else k->axpy(whole.len, 1.0f, in, out);
    }
    for (uint32_t i = 0; i < c->circle.n; i++) mot_pool_drop(&r->pool, c->part[i].in.buf);
}

/* A member's result; its buffer is held. */
static struct mot_coll_result result_for(struct replay *r, mot_node node, struct coll *c)
{
    struct mot_coll_result result = { .tag = c->tag, .scope = r->node[node].next.scope };
    if (c->left == 0 && c->kind != MOT_COLL_FROM_ROOT) add_up(r, c);
    if (c->kind == MOT_COLL_TO_ROOT && node != c->circle.first) return result;
    result.out = (struct mot_slice){ .buf = c->out, .off = c->part[0].in.off, .len = c->part[0].in.len };
    memcpy(result.scalar, c->scalar, sizeof(result.scalar));
    if (c->out) mot_pool_hold(&r->pool, c->out);
    return result;
}

static enum mot_status give_sum(struct replay *r, mot_node node)
{
    struct node *n = &r->node[node];
    struct coll *c = coll_of(r, node);
    struct mot_coll_result result = result_for(r, node, c);
    n->left[result.scope]++;
    if (++c->left == c->circle.n) {
        mot_pool_drop(&r->pool, c->out);
        memset(c->part, 0, c->circle.n * sizeof(*c->part));
        *c = (struct coll){ .circle = c->circle, .part = c->part };
    }
    if (result.tag != n->next.tag || mot_scalars_check(result.scalar) != n->next.check)
        return differs(r, node, "the sum differs from the recorded one");
    step(r, node, &(struct mot_event){ .kind = MOT_EV_COLL, .coll = &result });
    mot_pool_drop(&r->pool, result.out.buf);
    return MOT_OK;
}

/* Messages from and to a lost peer are lost too. */
static enum mot_status give_peer(struct replay *r, mot_node node)
{
    struct node *n = &r->node[node];
    struct mot_peer peer = n->next.peer;
    if (!n->down) n->down = mot_new(r->world.nodes, sizeof(*n->down));
    if (peer.up)
        return differs(
            r, node, "a peer came back as a new life, which has no tape; such runs cannot be replayed");
    if (peer.node == node || n->down[peer.node])
        return differs(r, node, "a peer that was already lost is lost again");
    n->down[peer.node] = true;
    for (struct mot_message *m; (m = letter_from(n, peer.node)) != NULL; n->waiting--) {
        mot_pool_drop(&r->pool, m->body.buf);
        memmove(m, m + 1, (n->waiting - (uint32_t)(m - n->inbox) - 1) * sizeof(*m));
    }
    step(r, node, &(struct mot_event){ .kind = MOT_EV_PEER, .peer = peer });
    return MOT_OK;
}

static enum mot_status give(struct replay *r, mot_node node)
{
    struct node *n = &r->node[node];
    enum mot_status status = MOT_OK;
    switch (n->next.kind) {
    case MOT_EV_START: step(r, node, &(struct mot_event){ .kind = MOT_EV_START }); break;
    case MOT_EV_MESSAGE: status = give_message(r, node); break;
    case MOT_EV_PIECE:
    case MOT_EV_WORK: status = give_work(r, node); break;
    case MOT_EV_COLL: status = give_sum(r, node); break;
    case MOT_EV_TIMER:
        n->actor.alarm[n->next.tag] = MOT_NEVER;
        step(r, node, &(struct mot_event){ .kind = MOT_EV_TIMER, .timer = n->next.tag });
        break;
    case MOT_EV_PEER: status = give_peer(r, node); break;
    }
    if (status == MOT_OK && r->full)
        status = differs(r, node, "it joins a sum before the previous one is finished");
    if (status == MOT_OK) advance_tape(n);
    return status;
}

/* ---- How far it is --------------------------------------------------------------------------------- */

static uint64_t samples_of(const struct replay *r)
{
    return r->x->traits.redundant ? r->node[r->lead].actor.used : r->samples;
}

static double epochs_of(const struct replay *r)
{
    return (double)samples_of(r) / r->o->problem->data->train.rows;
}

/* The lead's; or all steps divided by the workers, where these go at their own pace. */
static uint64_t updates_of(const struct replay *r)
{
    return r->x->traits.own_pace ? r->steps / r->world.workers : r->node[r->lead].actor.advanced;
}

static struct mot_moment moment_of(const struct replay *r)
{
    struct mot_moment m = { .now = r->now,
        .updates = UINT64_MAX,
        .samples = samples_of(r),
        .computed = r->x->traits.redundant ? r->samples : 0,
        .epochs = epochs_of(r),
        .events = r->events,
        .mixed = MOT_MIXED_UNKNOWN,
        .score = MOT_SCORE_UNKNOWN };
    uint64_t all = 0;
    for (mot_node i = 0; i < r->world.nodes; i++) {
        const struct node *n = &r->node[i];
        m.steps += n->actor.advanced;
        uint64_t updates = n->last.x != MOT_NO_BUF ? n->last_updates : n->actor.advanced;
        all += updates;
        if (i >= r->lead && i < r->lead + r->showing && updates < m.updates) m.updates = updates;
        m.bytes_sent += r->node[i].actor.tally.bytes_sent;
        m.rows_bytes += r->node[i].actor.tally.rows_bytes;
        m.messages += r->node[i].actor.tally.messages_sent;
    }
    if (r->x->traits.own_pace) m.updates = all / r->world.workers;
    mot_moment_note(&m, &r->notes);
    return m;
}

static bool view_of(const struct replay *r, mot_node node, struct mot_view *out)
{
    struct mot_env env = mot_env_of(r->x, &r->world, node, 0, NULL, NULL);
    return r->x->method->model(r->node[node].actor.state, &env, out);
}

/* A node that has reached the run's last update shows its model from then; some went further. */
static const float *model_of(struct replay *r, struct mot_mixed *mixed)
{
    uint32_t n = 0;
    for (mot_node i = r->lead; i < r->lead + r->showing; i++) {
        struct mot_view *last = &r->node[i].last;
        if (last->x != MOT_NO_BUF) r->view[n++] = *last;
        else n += view_of(r, i, &r->view[n]);
    }
    const float *x = mot_views_mean(&r->pool, r->view, n, NULL, r->mean);
    if (!mixed || r->x->traits.model != MOT_MODEL_OF_EACH) return x;
    for (uint32_t i = 0; i < n; i++) r->piece[i] = mot_piece_of(&r->pool, &r->view[i]);
    *mixed = mot_pieces_mixed(r->piece, n, &r->world, x);
    return x;
}

static void keep_last(struct replay *r, mot_node node)
{
    struct node *n = &r->node[node];
    struct mot_view v;
    uint64_t reached = r->x->traits.own_pace ? n->number - 1 : n->actor.advanced;
    if (node < r->lead || node >= r->lead + r->showing || n->last.x != MOT_NO_BUF ||
        r->o->record->model_hash == 0 || reached < r->o->record->ends_at[node] || !view_of(r, node, &v))
        return;
    mot_pool_hold(&r->pool, v.x);
    if (v.moved) mot_pool_hold(&r->pool, v.moved);
    n->last = v;
    n->last_updates = n->actor.advanced;
}

static void evaluate(struct replay *r, bool final)
{
    struct mot_moment m = moment_of(r);
    r->judge.last = m;
    if (!r->judge.evaluator) return;
    const float *x = model_of(r, &m.mixed);
    mot_judge_evaluate(&r->judge, &m, x, final);
}

static void updated(struct replay *r)
{
    struct mot_reached at = { .updates = updates_of(r), .epochs = epochs_of(r), .now = r->now };
    if (!r->judge.evaluator || !mot_judge_evaluation_due(&r->judge, &at)) return;
    evaluate(r, false);
    if (r->watch.tick) r->watch.tick(r->watch.self, &r->judge.last);
}

/* The node with the earliest next event among those that can go on; `nodes` if none can. */
static mot_node next_node(struct replay *r)
{
    mot_node best = r->world.nodes;
    for (mot_node i = 0; i < r->world.nodes; i++) {
        const struct node *n = &r->node[i];
        if (n->over || (best < r->world.nodes && n->next.now >= r->node[best].next.now)) continue;
        if (ready(r, i)) best = i;
    }
    return best;
}

static bool reached_end(const struct replay *r)
{
    const struct mot_inspection *look = r->o->inspection;
    return look && look->until && r->node[look->node].number > look->until;
}

static enum mot_status loop(struct replay *r)
{
    for (mot_node i; (i = next_node(r)) < r->world.nodes;) {
        uint64_t before = updates_of(r);
        if (r->o->interrupt && *r->o->interrupt) return mot_fail(MOT_EINTERRUPTED, "interrupted");
        enum mot_status status = give(r, i);
        if (status != MOT_OK) return status;
        if (reached_end(r)) return MOT_OK;
        keep_last(r, i);
        if (updates_of(r) != before) updated(r);
    }
    mot_node stuck = r->world.nodes; /* earliest: the others wait for what it would have done */
    for (mot_node i = 0; i < r->world.nodes; i++)
        if (!r->node[i].over && (stuck == r->world.nodes || r->node[i].next.now < r->node[stuck].next.now))
            stuck = i;
    if (stuck == r->world.nodes) return MOT_OK;
    return differs(r, stuck, "it cannot happen: nothing recorded before leads to it");
}

/* ---- Setting up and taking down --------------------------------------------------------------------- */

static void open_node(struct replay *r, mot_node i)
{
    struct node *n = &r->node[i];
    mot_actor_open(&n->actor, &n->outbox, r->x, &r->world, i, sizeof(struct mot_slot));
    mot_tape_rewind(&r->o->record->tape[i], &n->tape);
    advance_tape(n);
    struct mot_env env = mot_env_of(r->x, &r->world, i, 0, &r->pool, &n->outbox);
    mot_actor_hold_first(&n->actor, r->x, &r->world, 0);
    r->x->method->init(n->actor.state, &env);
}

static void open_replay(struct replay *r)
{
    const struct mot_driver_options *o = r->o;
    struct mot_needs needs = mot_needs_of(r->x, &r->world);
    r->window = mot_needs_window(&needs);
    r->colls = mot_needs_colls(&needs, &r->world);
    /* Steps come in the live run's time order, so the buffers that it declared suffice. */
    mot_pool_open(&r->pool, r->world.dim,
        (uint32_t)needs.buffers + 2 * mot_world_showing(r->x, &r->world) + r->colls + 4);
    if (r->world.compress) mot_pool_open_packets(&r->pool);
    mot_world_begin(&r->world, &r->pool, o->x0);
    r->lead = mot_world_lead(&r->world);
    r->showing = mot_world_showing(r->x, &r->world);
    r->view = mot_new(r->showing, sizeof(*r->view));
    r->piece = mot_new(r->showing, sizeof(*r->piece));
    r->mean = mot_aligned((size_t)r->world.dim * sizeof(float));
    r->scratch = mot_aligned(mot_gradient_scratch(o->problem));
    r->coll = mot_new(r->colls + 1, sizeof(*r->coll));
    for (uint32_t i = 0; i < r->colls; i++) {
        r->coll[i].circle = mot_circle(&r->world, i / r->window);
        r->coll[i].part = mot_new(r->coll[i].circle.n, sizeof(struct part));
    }
    r->node = mot_new(r->world.nodes, sizeof(*r->node));
    mot_traffic_open(&r->traffic, &r->world);
    for (mot_node i = 0; i < r->world.nodes; i++) open_node(r, i);
    if (o->watch) r->watch = *o->watch;
    if (!o->inspection) {
        r->crew = mot_crew_open(r->x->sim.threads);
        mot_judge_open(&r->judge, r->x, o->problem, r->crew, o->watch);
    }
}

static void close_replay(struct replay *r)
{
    for (mot_node i = 0; i < r->world.nodes; i++) {
        struct node *n = &r->node[i];
        free(n->inbox);
        free(n->down);
        mot_actor_close(&n->actor, &n->outbox);
    }
    for (uint32_t i = 0; i < r->colls; i++) free(r->coll[i].part);
    mot_judge_close(&r->judge);
    if (r->crew) mot_crew_close(r->crew);
    free(r->coll);
    free(r->node);
    free(r->traffic.sent);
    free(r->view);
    free(r->piece);
    free(r->mean);
    free(r->scratch);
    mot_pool_close(&r->pool);
}

static void fill_outcome(struct replay *r, struct mot_outcome *out)
{
    mot_judge_end(&r->judge, (enum mot_status)r->o->record->status, "record");
    mot_judge_outcome(&r->judge, &r->world, model_of(r, NULL), out);
    out->traffic = r->traffic;
    r->traffic.sent = NULL;
    mot_outcome_note(out, &r->notes);
    mot_outcome_missed(out, r->x->method, &r->world, r->node[mot_world_lead(&r->world)].actor.state);
    out->node = mot_new(r->world.nodes, sizeof(*out->node));
    for (mot_node i = 0; i < r->world.nodes; i++) out->node[i] = r->node[i].actor.tally;
}

static enum mot_status run(struct replay *r, struct mot_outcome *out)
{
    const struct mot_record *record = r->o->record;
    double began = mot_wall_s();
    if (r->judge.evaluator) evaluate(r, false);
    enum mot_status status = loop(r);
    if (status != MOT_OK) return status;
    evaluate(r, true);
    fill_outcome(r, out);
    out->wall_s = mot_wall_s() - began;
    if (reached_end(r) || record->model_hash == 0 || record->model_hash == out->model_hash) return MOT_OK;
    status = mot_fail(MOT_EREPRODUCE,
        "every event was replayed, yet the model is %016llx; the recorded run's was %016llx",
        (unsigned long long)out->model_hash, (unsigned long long)record->model_hash);
    mot_outcome_close(out);
    return status;
}

static enum mot_status replay(const struct mot_driver_options *o, struct mot_outcome *out)
{
    struct replay *r = mot_new(1, sizeof(*r));
    r->o = o;
    r->x = o->experiment;
    enum mot_status status = mot_world_open(r->x, o->problem, o->optim, &r->world);
    if (status == MOT_OK && o->record->nodes != r->world.nodes)
        status = mot_fail(MOT_EREPRODUCE, "the record has %u nodes; the experiment has %u", o->record->nodes,
            r->world.nodes);
    if (status == MOT_OK && o->begins) status = o->begins(o->begins_self, 0);
    if (status == MOT_OK) {
        open_replay(r);
        status = run(r, out);
        close_replay(r);
    }
    mot_world_close(&r->world);
    free(r);
    return status;
}

const struct mot_driver mot_driver_replay = { .name = "replay", .replays = true, .run = replay };
