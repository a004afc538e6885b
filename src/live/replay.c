#include "live/replay.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "run/pool.h"
#include "run/judge.h"
#include "run/views.h"
#include "run/world.h"
#include "math/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct work {
    bool pending;
    uint32_t tag, terms;
    struct mot_term *term;
    mot_buf at;
};
/* of one worker, in one collective */
struct part {
    bool joined;
    struct mot_slice in;
    double scalar[MOT_SCALARS];
};
struct coll {
    uint32_t tag, joined, left;
    struct part *part;
    mot_buf out;
    double scalar[MOT_SCALARS];
};

struct node {
    void *state;
    struct mot_need need;
    struct mot_outbox outbox;
    struct mot_tape_reader tape;
    struct mot_taped next;     /* the event that is to come */
    bool over;                 /* there is none */
    uint64_t number;           /* of `next`, from 1 */
    struct mot_message *inbox; /* in order of sending */
    uint32_t waiting, room;
    struct work *work;              /* [need.works] */
    mot_time *alarm;                /* [need.alarms] */
    uint64_t colls, left, advanced; /* collectives joined, and those that it has the sum of */
    bool *down;                     /* [nodes]: peers it was told are lost; NULL: none ever */
    /* what it had after the last update of the run, held; where several show their models */
    struct mot_view last;
    struct mot_node_tally tally;
};

struct replay {
    const struct mot_replay_options *o;
    const struct mot_experiment *x;
    struct mot_world world;
    uint64_t *part_rows;
    uint32_t *batch;
    struct mot_pool pool;
    struct node *node;
    struct coll *coll; /* [window] */
    uint32_t window;
    void *scratch;
    mot_node lead;         /* the first of the nodes whose models make up the run's, */
    uint32_t showing;      /* and how many they are */
    struct mot_view *view; /* [showing]: room for what they show, */
    float *mean;           /* and for its mean */
    mot_time now;
    uint64_t events, samples;
    struct mot_crew *crew;
    struct mot_evaluator *evaluator;
    struct mot_every every;
    double next_eval;
    struct mot_watch watch;
    struct mot_moment last;
    struct mot_notes notes;
    bool full; /* more is held than the method declared */
};

__attribute__((noinline)) void mot_replay_here(mot_node node, uint64_t number)
{
    __asm__ volatile("" : : "r"(node), "r"(number)); /* so that the call is not left out */
}

static enum mot_status differs(const struct replay *r, mot_node node, const char *what)
{
    static const char *const names[] = { "START", "MESSAGE", "WORK", "COLL", "TIMER", "PEER" };
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

static struct work *work_of(const struct node *n, uint32_t tag)
{
    for (uint32_t i = 0; i < n->need.works; i++)
        if (n->work[i].pending && n->work[i].tag == tag) return &n->work[i];
    return NULL;
}

static struct coll *coll_of(struct replay *r, const struct node *n)
{
    return n->left < n->colls ? &r->coll[n->left % r->window] : NULL;
}

static bool ready(struct replay *r, mot_node node)
{
    const struct node *n = &r->node[node];
    const struct mot_taped *e = &n->next;
    const struct coll *c;
    if (n->number == 1) return e->kind == MOT_EV_START;
    switch (e->kind) {
    case MOT_EV_START: return false;
    case MOT_EV_MESSAGE: return letter_from(n, e->from) != NULL;
    case MOT_EV_WORK: return work_of(n, e->tag) != NULL;
    case MOT_EV_COLL: return (c = coll_of(r, n)) != NULL && c->joined == r->world.workers;
    case MOT_EV_TIMER: return e->tag < n->need.alarms && n->alarm[e->tag] <= e->now;
    case MOT_EV_PEER: return true;
    }
    return false;
}

/* ---- Effects ------------------------------------------------------------------------------------ */

static void deliver(struct replay *r, mot_node from, const struct mot_message *m)
{
    struct node *n = &r->node[m->to], *sender = &r->node[from];
    sender->tally.messages_sent++;
    if (m->body.buf) sender->tally.bytes_sent += (uint64_t)m->body.len * 4;
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

static void start(struct node *n, const struct mot_work *work)
{
    uint32_t i = 0;
    while (i < n->need.works && n->work[i].pending) i++;
    MOT_ASSERT(i < n->need.works && "a node has more work at once than need() declared");
    struct work *w = &n->work[i];
    w->pending = true;
    w->tag = work->tag;
    w->terms = work->terms;
    memcpy(w->term, work->term, work->terms * sizeof(*w->term));
    w->at = work->at;
}

static void join(struct replay *r, mot_node node, const struct mot_coll *coll)
{
    struct node *n = &r->node[node];
    struct coll *c = &r->coll[n->colls++ % r->window];
    struct part *p = &c->part[node];
    if (p->joined) { /* the sum before is still waited for: a worker's tape ends there */
        r->full = true;
        return;
    }
    *p = (struct part){ .joined = true, .in = coll->in };
    memcpy(p->scalar, coll->scalar, sizeof(p->scalar));
    c->tag = coll->tag;
    c->joined++;
}

static void carry_out(struct replay *r, mot_node node, const struct mot_effect *e)
{
    struct node *n = &r->node[node];
    switch (e->kind) {
    case MOT_FX_SEND: deliver(r, node, &e->message); return;
    case MOT_FX_START: start(n, &e->work); return;
    case MOT_FX_COLLECT: join(r, node, &e->coll); return;
    case MOT_FX_ALARM:
        MOT_ASSERT(e->alarm.tag < n->need.alarms);
        n->alarm[e->alarm.tag] = e->alarm.at;
        return;
    case MOT_FX_ADVANCE:
        n->advanced++;
        n->tally.updates++;
        return;
    case MOT_FX_CREDIT: r->node[e->credit].tally.updates++; return;
    case MOT_FX_NOTE: mot_notes_add(&r->notes, e->note.key, e->note.value); return;
    case MOT_FX_CANCEL: return; /* the record says how many samples were done */
    case MOT_FX_STOP: return;   /* and what came after */
    }
}

static void step(struct replay *r, mot_node node, const struct mot_event *event)
{
    struct node *n = &r->node[node];
    const struct mot_method *m = r->x->method;
    bool looked_at = node == r->o->node && (r->o->seen || r->o->until);
    struct mot_env env = { .self = node,
        .now = n->next.now,
        .world = &r->world,
        .conf = r->x->method_conf,
        .pool = &r->pool,
        .out = &n->outbox };
    r->now = n->next.now;
    r->events++;
    if (looked_at) mot_replay_here(node, n->number);
    m->step(n->state, &env, event);
    if (m->check) m->check(n->state, &env);
    if (looked_at && r->o->seen)
        r->o->seen(r->o->seen_self,
            &(struct mot_replayed){
                .node = node, .number = n->number, .event = &n->next, .effects = &n->outbox });
    for (uint32_t i = 0; i < n->outbox.n; i++) carry_out(r, node, &n->outbox.effect[i]);
    mot_outbox_clear(&n->outbox);
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
    bool same = m.kind == e->message && m.head.round == e->head.round && m.head.samples == e->head.samples &&
        memcmp(&m.head.value, &e->head.value, sizeof(m.head.value)) == 0;
    if (n->down && n->down[m.from]) same = false;
    if (same) step(r, node, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = &m });
    mot_pool_drop(&r->pool, m.body.buf);
    return same ? MOT_OK : differs(r, node, "the message that comes is not the one that was recorded");
}

static enum mot_status give_work(struct replay *r, mot_node node)
{
    struct node *n = &r->node[node];
    struct work *w = work_of(n, n->next.tag);
    uint64_t asked = mot_terms_samples(r->o->problem, w->term, w->terms), loss_bits;
    if (n->next.samples > asked) return differs(r, node, "more samples than the work has");
    struct mot_result result = { .tag = w->tag, .samples = n->next.samples, .grad = mot_pool_take(&r->pool) };
    result.loss = mot_gradient(r->o->problem, w->term, w->terms, result.samples, mot_pool_at(&r->pool, w->at),
        mot_pool_at(&r->pool, result.grad), r->scratch);
    if (n->next.spoilt) mot_gradient_spoil(mot_pool_at(&r->pool, result.grad), r->world.dim);
    w->pending = false;
    mot_pool_drop(&r->pool, w->at);
    n->tally.jobs++;
    n->tally.samples += result.samples;
    r->samples += result.samples;
    memcpy(&loss_bits, &result.loss, sizeof(loss_bits));
    bool same = loss_bits == n->next.check;
    if (same) step(r, node, &(struct mot_event){ .kind = MOT_EV_WORK, .work = &result });
    mot_pool_drop(&r->pool, result.grad);
    return same
        ? MOT_OK
        : differs(r, node, "the loss is not the recorded one: other data, another model, or other kernels");
}

/* In rank order, as everywhere. */
static void add_up(struct replay *r, struct coll *c)
{
    const struct mot_kernels *k = mot_kernels();
    c->out = mot_pool_take(&r->pool);
    float *out = mot_pool_at(&r->pool, c->out);
    memset(c->scalar, 0, sizeof(c->scalar));
    for (mot_node i = 0; i < r->world.workers; i++) {
        const float *in = mot_pool_at(&r->pool, c->part[i].in.buf) + c->part[i].in.off;
        if (i == 0) memcpy(out, in, c->part[0].in.len * sizeof(*out));
        else k->axpy(c->part[0].in.len, 1.0f, in, out);
        for (int s = 0; s < MOT_SCALARS; s++) c->scalar[s] += c->part[i].scalar[s];
    }
    for (mot_node i = 0; i < r->world.workers; i++) mot_pool_drop(&r->pool, c->part[i].in.buf);
}

static enum mot_status give_sum(struct replay *r, mot_node node)
{
    struct node *n = &r->node[node];
    struct coll *c = coll_of(r, n);
    if (c->out == MOT_NO_BUF) add_up(r, c);
    if (c->tag != n->next.tag || mot_scalars_check(c->scalar) != n->next.check)
        return differs(r, node, "the sum that comes is not the one that was recorded");
    struct mot_coll_result result = { .tag = c->tag, .out = { .buf = c->out, .len = c->part[0].in.len } };
    memcpy(result.scalar, c->scalar, sizeof(result.scalar));
    mot_pool_hold(&r->pool, c->out);
    n->left++;
    if (++c->left == r->world.workers) {
        mot_pool_drop(&r->pool, c->out);
        struct part *part = c->part;
        memset(part, 0, r->world.workers * sizeof(*part));
        *c = (struct coll){ .part = part };
    }
    step(r, node, &(struct mot_event){ .kind = MOT_EV_COLL, .coll = &result });
    mot_pool_drop(&r->pool, result.out.buf);
    return MOT_OK;
}

/* What a lost peer had sent, and what was sent to it, is lost too. */
static enum mot_status give_peer(struct replay *r, mot_node node)
{
    struct node *n = &r->node[node];
    struct mot_peer peer = n->next.peer;
    if (!n->down) n->down = mot_new(r->world.nodes, sizeof(*n->down));
    if (peer.up)
        return differs(r, node,
            "a peer came back as a new life, which has no tape; only runs without one can be replayed");
    if (peer.node == node || n->down[peer.node])
        return differs(r, node, "a peer is lost that was lost before");
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
    case MOT_EV_WORK: status = give_work(r, node); break;
    case MOT_EV_COLL: status = give_sum(r, node); break;
    case MOT_EV_TIMER:
        n->alarm[n->next.tag] = MOT_NEVER;
        step(r, node, &(struct mot_event){ .kind = MOT_EV_TIMER, .timer = n->next.tag });
        break;
    case MOT_EV_PEER: status = give_peer(r, node); break;
    }
    if (status == MOT_OK && r->full)
        status = differs(r, node, "it joins a sum while the one before is not finished");
    if (status == MOT_OK) advance_tape(n);
    return status;
}

/* ---- How far it is --------------------------------------------------------------------------------- */

static struct mot_moment moment_of(const struct replay *r)
{
    struct mot_moment m = { .now = r->now,
        .updates = UINT64_MAX,
        .samples = r->samples,
        .epochs = (double)r->samples / r->o->problem->data->train.rows,
        .events = r->events,
        .consensus = NAN,
        .score = MOT_SCORE_UNKNOWN };
    for (mot_node i = 0; i < r->world.nodes; i++) {
        const struct node *n = &r->node[i];
        m.steps += n->advanced;
        uint64_t updates = n->last.x != MOT_NO_BUF ? r->o->record->ends_at[i] : n->advanced;
        if (i >= r->lead && i < r->lead + r->showing && updates < m.updates) m.updates = updates;
        m.bytes_sent += r->node[i].tally.bytes_sent;
        m.messages += r->node[i].tally.messages_sent;
    }
    mot_moment_note(&m, &r->notes);
    return m;
}

static bool view_of(const struct replay *r, mot_node node, struct mot_view *out)
{
    struct mot_env env = { .self = node, .world = &r->world, .conf = r->x->method_conf };
    return r->x->method->model(r->node[node].state, &env, out);
}

/* A node that has come to the update that the run ended with shows what it had there: some went on. */
static const float *model_of(struct replay *r, double *consensus)
{
    uint32_t n = 0;
    for (mot_node i = r->lead; i < r->lead + r->showing; i++) {
        struct mot_view *last = &r->node[i].last;
        if (last->x != MOT_NO_BUF) r->view[n++] = *last;
        else n += view_of(r, i, &r->view[n]);
    }
    const float *x = mot_views_mean(&r->pool, r->view, n, NULL, r->mean);
    if (consensus && r->x->method->decentralised) *consensus = mot_views_spread(&r->pool, r->view, n, x);
    return x;
}

static void keep_last(struct replay *r, mot_node node)
{
    struct node *n = &r->node[node];
    struct mot_view v;
    if (node < r->lead || node >= r->lead + r->showing || n->last.x != MOT_NO_BUF ||
        r->o->record->model_hash == 0 || n->advanced < r->o->record->ends_at[node] || !view_of(r, node, &v))
        return;
    mot_pool_hold(&r->pool, v.x);
    n->last = v;
}

static void evaluate(struct replay *r, bool final)
{
    r->last = moment_of(r);
    if (!r->evaluator) return;
    const float *x = model_of(r, &r->last.consensus);
    r->last.score = mot_evaluate(r->evaluator, x, mot_evaluate_what(r->x, &r->last, final));
    if (r->watch.evaluated) r->watch.evaluated(r->watch.self, &r->last);
}

static void lead_stepped(struct replay *r)
{
    struct mot_reached at = { .updates = r->node[r->lead].advanced,
        .epochs = (double)r->samples / r->o->problem->data->train.rows,
        .now = r->now };
    if (!r->evaluator || !mot_every_due(&r->every, &at, &r->next_eval)) return;
    evaluate(r, false);
    if (r->watch.tick) r->watch.tick(r->watch.self, &r->last);
}

/* The node whose next event was the earliest, of those that can go on; `nodes` if there is none. */
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
    return r->o->until && r->node[r->o->node].number > r->o->until;
}

static enum mot_status loop(struct replay *r)
{
    for (mot_node i; (i = next_node(r)) < r->world.nodes;) {
        uint64_t before = r->node[r->lead].advanced;
        if (r->o->interrupt && *r->o->interrupt) return mot_fail(MOT_EINTERRUPTED, "interrupted");
        enum mot_status status = give(r, i);
        if (status != MOT_OK) return status;
        if (reached_end(r)) return MOT_OK;
        keep_last(r, i);
        if (r->node[r->lead].advanced != before) lead_stepped(r);
    }
    mot_node stuck = r->world.nodes; /* the first in time: the others wait for what it would have done */
    for (mot_node i = 0; i < r->world.nodes; i++)
        if (!r->node[i].over && (stuck == r->world.nodes || r->node[i].next.now < r->node[stuck].next.now))
            stuck = i;
    if (stuck == r->world.nodes) return MOT_OK;
    return differs(r, stuck, "it cannot happen: nothing that was recorded before leads to it");
}

/* ---- Setting up and taking down --------------------------------------------------------------------- */

static void open_node(struct replay *r, mot_node i)
{
    struct node *n = &r->node[i];
    n->need = r->x->method->need(r->x->method_conf, &r->world, i);
    if (i >= r->world.workers) n->need.works = 0;
    n->state = mot_new(1, n->need.state_bytes);
    mot_outbox_open(
        &n->outbox, mot_outbox_room(&n->need), n->need.terms * (n->need.works ? n->need.works : 1));
    n->work = mot_new(n->need.works + 1, sizeof(*n->work));
    for (uint32_t w = 0; w < n->need.works; w++)
        n->work[w].term = mot_new(n->need.terms, sizeof(struct mot_term));
    n->alarm = mot_new(n->need.alarms + 1, sizeof(*n->alarm));
    for (uint32_t a = 0; a < n->need.alarms; a++) n->alarm[a] = MOT_NEVER;
    mot_tape_rewind(&r->o->record->tape[i], &n->tape);
    advance_tape(n);
    struct mot_env env = {
        .self = i, .world = &r->world, .conf = r->x->method_conf, .pool = &r->pool, .out = &n->outbox
    };
    r->x->method->init(n->state, &env);
}

static void open_replay(struct replay *r)
{
    const struct mot_replay_options *o = r->o;
    struct mot_needs needs = mot_needs_of(r->x, &r->world);
    r->window = mot_needs_window(&needs);
    /* Time order is that of the live run, so what it had under way at once is enough: it declared it. */
    mot_pool_open(
        &r->pool, r->world.dim, (uint32_t)needs.buffers + mot_world_showing(r->x, &r->world) + r->window + 4);
    r->world.x0 = mot_pool_take(&r->pool);
    r->world.zero = mot_pool_take(&r->pool);
    memcpy(mot_pool_at(&r->pool, r->world.x0), o->x0, r->world.dim * sizeof(float));
    memset(mot_pool_at(&r->pool, r->world.zero), 0, r->world.dim * sizeof(float));
    r->lead = mot_world_lead(&r->world);
    r->showing = mot_world_showing(r->x, &r->world);
    r->view = mot_new(r->showing, sizeof(*r->view));
    r->mean = mot_aligned((size_t)r->world.dim * sizeof(float));
    r->scratch = mot_aligned(o->problem->net->scratch_bytes + 64);
    r->coll = mot_new(r->window + 1, sizeof(*r->coll));
    for (uint32_t i = 0; i < r->window; i++) r->coll[i].part = mot_new(r->world.workers, sizeof(struct part));
    r->node = mot_new(r->world.nodes, sizeof(*r->node));
    for (mot_node i = 0; i < r->world.nodes; i++) open_node(r, i);
    if (o->watch) r->watch = *o->watch;
    if (o->evaluates) {
        r->crew = mot_crew_open(r->x->sim.threads);
        r->evaluator = mot_evaluator_open(o->problem, r->crew);
        r->every = mot_every_resolve(r->x);
        r->next_eval = r->every.value;
    }
}

static void close_replay(struct replay *r)
{
    for (mot_node i = 0; i < r->world.nodes; i++) {
        struct node *n = &r->node[i];
        for (uint32_t w = 0; w < n->need.works; w++) free(n->work[w].term);
        free(n->work);
        free(n->alarm);
        free(n->inbox);
        free(n->down);
        free(n->state);
        mot_outbox_close(&n->outbox);
    }
    for (uint32_t i = 0; i < r->window; i++) free(r->coll[i].part);
    if (r->evaluator) mot_evaluator_close(r->evaluator);
    if (r->crew) mot_crew_close(r->crew);
    free(r->coll);
    free(r->node);
    free(r->view);
    free(r->mean);
    free(r->scratch);
    mot_pool_close(&r->pool);
}

static void fill_outcome(struct replay *r, struct mot_outcome *out)
{
    uint32_t dim = r->world.dim, nodes = r->world.nodes;
    enum mot_status status = (enum mot_status)r->o->record->status;
    *out = (struct mot_outcome){ .status = status,
        .ended_by = "record",
        .last = r->last,
        .workers = r->world.workers,
        .servers = r->world.servers,
        .best_score = MOT_SCORE_UNKNOWN };
    mot_outcome_note(out, &r->notes);
    out->node = mot_new(nodes, sizeof(*out->node));
    for (mot_node i = 0; i < nodes; i++) out->node[i] = r->node[i].tally;
    out->x = mot_new(dim, sizeof(float));
    memcpy(out->x, model_of(r, NULL), dim * sizeof(float));
    out->model_hash = XXH64(out->x, dim * sizeof(float), 0);
}

static enum mot_status run(struct replay *r, struct mot_outcome *out)
{
    const struct mot_record *record = r->o->record;
    double began = mot_wall_s();
    if (r->evaluator) evaluate(r, false);
    enum mot_status status = loop(r);
    if (status != MOT_OK) return status;
    evaluate(r, true);
    fill_outcome(r, out);
    out->wall_s = mot_wall_s() - began;
    if (reached_end(r) || record->model_hash == 0 || record->model_hash == out->model_hash) return MOT_OK;
    status = mot_fail(MOT_EREPRODUCE,
        "every event happened again, and yet the model is %016llx; the recorded run's was %016llx",
        (unsigned long long)out->model_hash, (unsigned long long)record->model_hash);
    mot_outcome_close(out);
    return status;
}

enum mot_status mot_replay_run(const struct mot_replay_options *o, struct mot_outcome *out)
{
    struct replay *r = mot_new(1, sizeof(*r));
    r->o = o;
    r->x = o->experiment;
    r->part_rows = mot_new(o->problem->sampler.parts->parts, sizeof(*r->part_rows));
    r->batch = mot_new(r->x->workers, sizeof(*r->batch));
    mot_world_fill(r->x, o->problem, o->optim, r->part_rows, r->batch, &r->world);
    enum mot_status status = mot_world_check(r->x, &r->world);
    if (status == MOT_OK && o->record->nodes != r->world.nodes)
        status = mot_fail(MOT_EREPRODUCE, "the record is of %u nodes; the experiment has %u",
            o->record->nodes, r->world.nodes);
    if (status == MOT_OK && o->begins) status = o->begins(o->begins_self, 0);
    if (status == MOT_OK) {
        open_replay(r);
        status = run(r, out);
        close_replay(r);
    }
    free(r->part_rows);
    free(r->batch);
    free(r);
    return status;
}
