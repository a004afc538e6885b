/* checkpoint.c -- the whole state of a simulated run in one file.
 *
 * States, buffers and pending events are all there is: states hold no pointers,
 * buffers are handles. Gradients of running jobs are not kept, they are computed
 * again. One list of fields serves writing and reading. The file is replaced
 * atomically and ends in a checksum; a damaged one is refused. */
#include "base/file.h"
#include "base/memory.h"
#include "sim/channel.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MAGIC "MOTLEYCP"
#define VERSION 7u
#define KEY_BYTES 64

struct visit {
    bool writing;
    struct mot_bytes out;
    struct mot_reader in;
};

static void visit_bytes(struct visit *v, void *at, size_t n)
{
    if (v->writing) mot_bytes_put(&v->out, at, n);
    else mot_reader_get(&v->in, at, n);
}
#define VISIT(v, field) visit_bytes((v), &(field), sizeof(field))

/* Any byte can come out of a file; not any byte is a bool. */
static void visit_bool(struct visit *v, bool *field)
{
    uint8_t byte = *field;
    VISIT(v, byte);
    *field = byte != 0;
}

/* What falls due next is kept as long as it is counted as before:
 * `stop` and `checkpoint` may have changed. */
static void visit_every(struct visit *v, const struct sim *s, const struct mot_every *every, double *next)
{
    uint32_t unit = every->unit;
    double value = every->value;
    VISIT(v, unit);
    VISIT(v, value);
    VISIT(v, *next);
    if (unit != (uint32_t)every->unit || value != every->value) *next = mot_sim_next(s, every);
}

/* ---- The list of fields --------------------------------------------------------------- */

static void visit_counters(struct visit *v, struct sim *s)
{
    VISIT(v, s->now);
    VISIT(v, s->order);
    VISIT(v, s->events);
    VISIT(v, s->messages_sent);
    VISIT(v, s->bytes_sent);
    VISIT(v, s->samples);
    VISIT(v, s->steps);
    VISIT(v, s->updates);
    VISIT(v, s->epochs);
    VISIT(v, s->at_least);
    VISIT(v, s->stops);
    VISIT(v, s->fruitless);
    visit_every(v, s, &s->every, &s->next_eval);
    visit_every(v, s, &s->x->checkpoint, &s->next_checkpoint);
    visit_bool(v, &s->evaluated_now);
    VISIT(v, s->last);
    VISIT(v, s->best_score);
    VISIT(v, s->best_updates);
    /* A target that was met counts only for a run that has the same one. */
    uint32_t target = s->x->stop.target;
    double value = s->x->stop.value;
    VISIT(v, target);
    VISIT(v, value);
    visit_bool(v, &s->target_reached);
    if (target != (uint32_t)s->x->stop.target || value != s->x->stop.value) s->target_reached = false;
    VISIT(v, s->target_at);
    VISIT(v, s->target_updates);
    if (s->best) visit_bytes(v, s->best, s->world.dim * sizeof(float));
}

static void visit_nodes(struct visit *v, struct sim *s)
{
    for (mot_node i = 0; i < s->world.nodes; i++) {
        struct sim_node *n = &s->node[i];
        VISIT(v, n->advanced);
        VISIT(v, n->colls);
        VISIT(v, n->stopped);
        VISIT(v, n->spin.at);
        VISIT(v, n->spin.updates);
        VISIT(v, n->spin.turns);
        VISIT(v, n->pace.jobs);
        VISIT(v, n->pace.straggling);
        VISIT(v, n->since);
        VISIT(v, n->computing);
        VISIT(v, n->flying);
        VISIT(v, n->tally);
        visit_bytes(v, n->state, n->state_bytes);
        VISIT(v, s->nic[i]);
    }
}

static void visit_works(struct visit *v, struct sim *s)
{
    for (uint32_t i = 0; i < s->works; i++) {
        struct sim_work *w = &s->work[i];
        VISIT(v, w->state);
        VISIT(v, w->tag);
        VISIT(v, w->generation);
        VISIT(v, w->terms);
        VISIT(v, w->at);
        VISIT(v, w->grad);
        VISIT(v, w->order);
        VISIT(v, w->asked);
        VISIT(v, w->samples);
        VISIT(v, w->deadline);
        VISIT(v, w->began);
        VISIT(v, w->whole);
    }
    size_t terms = s->works ? (size_t)(s->work[s->works - 1].term - s->term) + s->last_terms : 0;
    for (size_t t = 0; t < terms; t++) {
        VISIT(v, s->term[t].part);
        VISIT(v, s->term[t].draw);
        VISIT(v, s->term[t].samples);
        VISIT(v, s->term[t].coef);
    }
    for (uint32_t i = 0; i < s->alarms; i++) {
        VISIT(v, s->alarm[i].generation);
        VISIT(v, s->alarm[i].at);
    }
}

static void visit_messages(struct visit *v, struct sim *s)
{
    VISIT(v, s->messages_free);
    for (uint32_t i = 0; i < s->messages; i++) {
        struct mot_message *m = &s->message[i];
        VISIT(v, s->message_free[i]);
        VISIT(v, m->from);
        VISIT(v, m->to);
        VISIT(v, m->kind);
        VISIT(v, m->head.round);
        VISIT(v, m->head.samples);
        VISIT(v, m->head.value);
        VISIT(v, m->body);
    }
    for (uint32_t k = 0; k < s->window; k++) {
        struct sim_coll *c = &s->coll[k];
        VISIT(v, c->tag);
        VISIT(v, c->joined);
        VISIT(v, c->finished);
        VISIT(v, c->len);
        VISIT(v, c->out);
        VISIT(v, c->sum);
        for (uint32_t i = 0; i < s->world.workers; i++) {
            VISIT(v, c->in[i]);
            VISIT(v, c->scalar[i]);
            VISIT(v, c->began[i]);
            visit_bool(v, &c->progress[i].joined);
            visit_bool(v, &c->progress[i].finished);
            VISIT(v, c->progress[i].sent);
            VISIT(v, c->progress[i].received);
            VISIT(v, c->progress[i].have);
        }
    }
}

/* ---- The channel, in runs with faults ------------------------------------------------------ */

static void visit_item(struct visit *v, struct sim_item *i)
{
    VISIT(v, i->m.from);
    VISIT(v, i->m.to);
    VISIT(v, i->m.kind);
    VISIT(v, i->m.head.round);
    VISIT(v, i->m.head.samples);
    VISIT(v, i->m.head.value);
    VISIT(v, i->m.body);
    VISIT(v, i->seq);
    VISIT(v, i->bytes);
    VISIT(v, i->left);
    VISIT(v, i->conn);
    VISIT(v, i->next);
    VISIT(v, i->queue_next);
    VISIT(v, i->generation);
    VISIT(v, i->frames);
    VISIT(v, i->tries);
    VISIT(v, i->step);
    VISIT(v, i->instance);
    VISIT(v, i->collective);
    VISIT(v, i->used);
    VISIT(v, i->held);
    VISIT(v, i->arrived);
    VISIT(v, i->delivered);
    VISIT(v, i->acked);
    VISIT(v, i->gone);
}

static void visit_conn(struct visit *v, struct sim_conn *c)
{
    VISIT(v, c->seq);
    VISIT(v, c->arrived);
    VISIT(v, c->ack);
    VISIT(v, c->first);
    VISIT(v, c->arrive);
    VISIT(v, c->deliver);
    VISIT(v, c->last);
    VISIT(v, c->echo);
    VISIT(v, c->generation);
    VISIT(v, c->known);
    VISIT(v, c->acking);
    VISIT(v, c->ack_again);
    VISIT(v, c->delivering);
    VISIT(v, c->srtt);
    VISIT(v, c->rttvar);
}

static void visit_health(struct visit *v, struct sim_node *n, struct sim_health *h)
{
    VISIT(v, n->dead);
    VISIT(v, n->stalled_until);
    VISIT(v, h->life);
    VISIT(v, h->joins);
    VISIT(v, h->told);
    VISIT(v, h->cut);
    VISIT(v, h->wants_join);
    VISIT(v, h->lost_by);
    VISIT(v, h->lost_at);
    VISIT(v, h->ledger.n);
    if (h->ledger.n > h->ledger.max) h->ledger.n = 0;
    if (h->ledger.n) visit_bytes(v, h->ledger.held, h->ledger.n * sizeof(*h->ledger.held));
}

static void visit_fault(struct visit *v, struct sim_fault *f)
{
    VISIT(v, f->f.kind);
    VISIT(v, f->f.at);
    VISIT(v, f->f.lasts);
    VISIT(v, f->f.amount);
    VISIT(v, f->f.workers);
    VISIT(v, f->f.server);
    VISIT(v, f->state);
    VISIT(v, f->generation);
}

static void visit_channel(struct visit *v, struct sim *s)
{
    struct sim_channel *c = s->channel;
    uint64_t pairs = (uint64_t)s->world.nodes * s->world.nodes;
    if (!c) return;
    VISIT(v, s->peer);
    VISIT(v, c->free);
    VISIT(v, c->out);
    VISIT(v, c->held_first);
    VISIT(v, c->held_last);
    for (uint32_t i = 1; i <= c->items; i++) visit_item(v, &c->item[i]);
    VISIT(v, c->knowns);
    if (c->knowns > pairs) c->knowns = 0;
    for (uint32_t i = 0; i < c->knowns; i++) {
        VISIT(v, c->known[i]);
        if (c->known[i] >= pairs) c->known[i] = 0;
        visit_conn(v, &c->conn[c->known[i]]);
    }
    for (mot_node i = 0; i < s->world.nodes; i++) visit_health(v, &s->node[i], &c->health[i]);
    for (uint32_t i = 0; i < c->faults; i++) visit_fault(v, &c->fault[i]);
    VISIT(v, c->actives);
    if (c->actives > c->faults) c->actives = 0;
    visit_bytes(v, c->active, c->actives * sizeof(*c->active));
    for (int i = 0; i < MOT_FAULTS_RANDOM; i++) VISIT(v, c->arrivals[i]);
    VISIT(v, c->frames);
    VISIT(v, c->tally);
}

static void visit_notes(struct visit *v, struct sim *s)
{
    struct mot_notes *notes = &s->notes;
    VISIT(v, notes->n);
    if (notes->n > MOT_NOTES_MAX) notes->n = 0;
    for (uint32_t i = 0; i < notes->n; i++) {
        struct mot_note_tally *n = &notes->note[i];
        char key[KEY_BYTES] = { 0 };
        if (v->writing) memcpy(key, n->key, strnlen(n->key, KEY_BYTES - 1));
        VISIT(v, key);
        key[KEY_BYTES - 1] = 0;
        if (!v->writing) n->key = mot_arena_text(&s->arena, key);
        VISIT(v, n->count);
        VISIT(v, n->sum);
        VISIT(v, n->max);
        if (strcmp(key, "staleness") == 0) notes->stale = i + 1;
    }
    if (notes->stale) VISIT(v, notes->staleness);
}

static void visit_piece(struct visit *v, const struct sim *s, struct mot_piece *p)
{
    bool here = p->x != NULL;
    visit_bool(v, &here);
    if (!here) return;
    VISIT(v, p->scale);
    VISIT(v, p->off);
    VISIT(v, p->len);
    if (p->off > s->world.dim || p->len > s->world.dim - p->off) {
        v->in.short_of = true;
        return;
    }
    if (!v->writing) {
        free((float *)(uintptr_t)p->x); /* a damaged file may have it twice */
        p->x = mot_new((size_t)p->len + 1, sizeof(*p->x));
    }
    visit_bytes(v, (float *)(uintptr_t)p->x, p->len * sizeof(*p->x));
}

static void visit_sets(struct visit *v, struct sim *s)
{
    struct sim_set *set = s->sets;
    visit_bool(v, &s->at_update);
    for (;;) {
        uint64_t at = set ? set->at : UINT64_MAX;
        VISIT(v, at);
        if (at == UINT64_MAX || v->in.short_of) return;
        if (!v->writing) set = mot_sim_set(s, at);
        for (mot_node i = 0; i < s->world.nodes; i++) visit_piece(v, s, &set->piece[i]);
        set = v->writing ? set->next : NULL;
    }
}

static void visit_params(struct visit *v, struct mot_params *p)
{
    VISIT(v, p->x);
    VISIT(v, p->slot);
    VISIT(v, p->step);
}

/* Without it replicas that have yet to make a step would compute their
 * own, and share nothing with the others ever after. */
static void visit_memo(struct visit *v, struct mot_memo *m)
{
    visit_bool(v, &m->set);
    visit_params(v, &m->in);
    visit_params(v, &m->out);
    VISIT(v, m->grad);
    VISIT(v, m->scale);
    VISIT(v, m->lr_factor);
}

static void visit_heap(struct visit *v, struct sim *s)
{
    mot_heap_first(&s->heap); /* so that there is no hole in it */
    VISIT(v, s->heap.n);
    if (s->heap.n > s->heap.capacity) s->heap.n = 0;
    visit_bytes(v, s->heap.e, s->heap.n * sizeof(*s->heap.e));
}

static bool is_running_gradient(const struct sim *s, const bool *gradient, mot_buf b)
{
    return gradient[b] && s->pool.count[b] == 1;
}

static void visit_buffers(struct visit *v, struct sim *s)
{
    bool *gradient = mot_new((size_t)s->pool.capacity + 1, sizeof(*gradient));
    for (uint32_t i = 0; i < s->works; i++)
        if (s->work[i].state == WORK_RUNNING && s->work[i].grad <= s->pool.capacity)
            gradient[s->work[i].grad] = true;
    for (mot_buf b = 1; b <= s->pool.capacity; b++) {
        uint32_t count = s->pool.count[b];
        VISIT(v, count);
        s->pool.count[b] = count;
        if (count == 0 || is_running_gradient(s, gradient, b)) continue;
        visit_bytes(v, mot_pool_at(&s->pool, b), s->pool.dim * sizeof(float));
        if (v->in.short_of) break;
    }
    free(gradient);
}

/* What must be alike for a checkpoint to fit this run. */
struct fit {
    char magic[8];
    uint32_t version, workers, servers, dim, works, alarms, messages, window, capacity, heap;
    uint64_t hash;
};

_Static_assert(sizeof(struct fit) + sizeof(uint64_t) == MOT_SIM_HEAD, "no padding; the mark follows");

static struct fit fit_of(const struct sim *s)
{
    struct fit f = { .version = VERSION,
        .workers = s->world.workers,
        .servers = s->world.servers,
        .dim = s->world.dim,
        .works = s->works,
        .alarms = s->alarms,
        .messages = s->messages,
        .window = s->window,
        .capacity = s->pool.capacity,
        .heap = s->heap.capacity,
        .hash = s->o->hash };
    memcpy(f.magic, MAGIC, sizeof(f.magic));
    return f;
}

static void visit_all(struct visit *v, struct sim *s)
{
    visit_counters(v, s);
    visit_nodes(v, s);
    visit_works(v, s);
    visit_messages(v, s);
    visit_channel(v, s);
    visit_notes(v, s);
    visit_memo(v, &s->memo);
    visit_sets(v, s);
    visit_heap(v, s);
    visit_buffers(v, s);
}

/* ---- Writing ------------------------------------------------------------------------------ */

struct mot_bytes mot_sim_pack(struct sim *s)
{
    struct visit v = { .writing = true };
    struct fit f = fit_of(s);
    uint64_t mark = s->watch.mark ? s->watch.mark(s->watch.self) : 0;
    VISIT(&v, f);
    VISIT(&v, mark);
    visit_all(&v, s);
    uint64_t sum = XXH64(v.out.at, v.out.n, 0);
    VISIT(&v, sum);
    return v.out;
}

enum mot_status mot_sim_save(struct sim *s)
{
    struct mot_bytes file = mot_sim_pack(s);
    enum mot_status status = mot_file_replace(s->o->checkpoint, file.at, file.n);
    mot_bytes_free(&file);
    return status;
}

/* ---- Reading ------------------------------------------------------------------------------ */

static bool good_slice(const struct sim *s, struct mot_slice b)
{
    return b.buf <= s->pool.capacity && (uint64_t)b.off + b.len <= s->pool.dim &&
        (b.buf == MOT_NO_BUF || s->pool.count[b.buf] > 0);
}

static bool good_event(const struct sim *s, const struct mot_pending *p)
{
    switch (p->kind) {
    case SIM_START: return p->index < s->world.nodes;
    case SIM_MESSAGE: return p->index < s->messages;
    case SIM_WORK: return p->index < s->works;
    case SIM_TIMER: return p->index < s->alarms;
    case SIM_COLL:
        return p->index < s->world.workers && mot_tie_rank(p->tie) < s->world.workers &&
            p->instance < s->window;
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
    if (i->collective &&
        (i->instance >= s->window || i->m.from >= s->world.workers || i->m.to >= s->world.workers))
        return false;
    return good_slice(s, i->m.body);
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

/* A checksum keeps out accidents; this keeps out files that were made to do harm to the
 * reader. Nodes' states are their method's: its check() looks at them before the run goes on. */
static bool sound(const struct sim *s)
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
        if (s->message[i].from >= s->world.nodes || s->message[i].to >= s->world.nodes) return false;
    for (uint32_t i = 0; i < s->works; i++) {
        const struct sim_work *w = &s->work[i];
        uint32_t room = (uint32_t)((i + 1 < s->works ? s->work[i + 1].term
                                                     : s->term + (w->term - s->term) + s->last_terms) -
            w->term);
        if (w->state > WORK_RUNNING || w->terms > room || w->at > s->pool.capacity ||
            w->grad > s->pool.capacity)
            return false;
        if (w->state != WORK_FREE && (w->at == MOT_NO_BUF || s->pool.count[w->at] == 0)) return false;
        if (w->state == WORK_RUNNING && (w->grad == MOT_NO_BUF || s->pool.count[w->grad] == 0)) return false;
        for (uint32_t t = 0; t < w->terms; t++)
            if (w->term[t].part >= s->world.parts) return false;
    }
    for (uint32_t k = 0; k < s->window; k++) {
        if (s->coll[k].out > s->pool.capacity || s->coll[k].joined > s->world.workers) return false;
        for (uint32_t i = 0; i < s->world.workers; i++)
            if (!good_slice(s, s->coll[k].in[i])) return false;
    }
    for (uint32_t i = 0; i < s->heap.n; i++)
        if (!good_event(s, &s->heap.e[i])) return false;
    return good_channel(s);
}

enum mot_status mot_sim_unpack(struct sim *s, const unsigned char *bytes, size_t n, uint64_t *mark_out)
{
    const char *path = s->o->checkpoint;
    struct fit want = fit_of(s), have;
    uint64_t sum, mark;
    if (n < sizeof(have) + 2 * sizeof(uint64_t) || memcmp(bytes, MAGIC, 8) != 0)
        return mot_fail(MOT_EDATA,
            "%s: not a checkpoint of a simulated run of motley (%zu bytes); one of a live run is resumed by "
            "motley train",
            path, n);
    memcpy(&sum, bytes + n - sizeof(sum), sizeof(sum));
    if (sum != XXH64(bytes, n - sizeof(sum), 0))
        return mot_fail(MOT_EDATA, "%s: damaged: its checksum does not fit its %zu bytes", path, n);
    struct visit v = { .in = { .at = bytes, .n = n - sizeof(sum) } };
    VISIT(&v, have);
    VISIT(&v, mark);
    if (have.version != want.version)
        return mot_fail(
            MOT_EDATA, "%s: checkpoint format %u, this motley reads %u", path, have.version, want.version);
    if (memcmp(&have, &want, sizeof(have)) != 0)
        return mot_fail(MOT_EUSAGE,
            "%s: the checkpoint is of another experiment (%u workers, %u parameters) than this one (%u "
            "workers, "
            "%u parameters): data, model, method, cluster, evaluate and seed must be as they were; only "
            "stop, "
            "checkpoint, trace, sim.threads and output may change",
            path, have.workers, have.dim, want.workers, want.dim);
    visit_all(&v, s);
    if (v.in.short_of || v.in.done != v.in.n || !sound(s))
        return mot_fail(MOT_EDATA, "%s: not a checkpoint that this motley wrote", path);
    mot_pool_rebuild(&s->pool);
    mot_sim_show_begin(s);
    for (uint32_t i = 0; i < s->works; i++)
        if (s->work[i].state == WORK_RUNNING) mot_sim_compute(s, &s->work[i]);
    *mark_out = mark;
    return MOT_OK;
}

enum mot_status mot_sim_restore(struct sim *s, uint64_t *mark_out)
{
    unsigned char *bytes;
    size_t n;
    enum mot_status status = mot_file_read(s->o->checkpoint, mot_machine_memory(), &bytes, &n);
    if (status != MOT_OK) return status;
    status = mot_sim_unpack(s, bytes, n, mark_out);
    free(bytes);
    return status;
}
