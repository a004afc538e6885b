/* checkpoint.c -- the whole state of a simulated run in one file.
 *
 * States, buffers and pending events are all there is: states hold no pointers, and buffers are handles.
 * Gradients of running jobs are recomputed, not stored. One list of fields serves both writing and
 * reading. The file is replaced atomically and ends in a checksum; a damaged one is refused. */
#include "base/file.h"
#include "base/memory.h"
#include "compress/packet.h"
#include "sim/channel.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MAGIC "MOTLEYCP"
#define VERSION 16u
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

/* A file may hold any byte, but a bool may not. Leaves *field alone when saving, as the crew may be reading
 * it. */
static void visit_bool(struct visit *v, bool *field)
{
    uint8_t byte = *field;
    VISIT(v, byte);
    if (!v->writing) *field = byte != 0;
}

/* What is due next stays valid only if it is still counted the same way: `stop` and `checkpoint` may
 * change. */
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
    VISIT(v, s->rows_bytes);
    VISIT(v, s->samples);
    VISIT(v, s->steps);
    VISIT(v, s->updates);
    VISIT(v, s->epochs);
    VISIT(v, s->at_least);
    VISIT(v, s->stops);
    VISIT(v, s->fruitless);
    visit_every(v, s, &s->judge.every, &s->judge.next_evaluation);
    visit_every(v, s, &s->x->checkpoint, &s->judge.next_checkpoint);
    visit_bool(v, &s->evaluated_now);
    VISIT(v, s->judge.last);
    VISIT(v, s->judge.best.score);
    VISIT(v, s->judge.best.updates);
    /* A target met earlier counts only if the target is still the same. */
    uint32_t target = s->x->stop.target;
    double value = s->x->stop.value;
    VISIT(v, target);
    VISIT(v, value);
    bool met = atomic_load(&s->judge.target.met);
    visit_bool(v, &met);
    bool same = target == (uint32_t)s->x->stop.target && value == s->x->stop.value;
    atomic_store(&s->judge.target.met, met && same);
    VISIT(v, s->judge.target.at);
    VISIT(v, s->judge.target.updates);
    if (s->judge.best.x) visit_bytes(v, s->judge.best.x, s->world.dim * sizeof(float));
}

/* What has arrived follows from the time, so it is not stored. */
static void visit_feed(struct visit *v, struct sim_node *n)
{
    struct mot_feed *f = n->actor.feed;
    VISIT(v, n->feeds);
    VISIT(v, f->head);
    VISIT(v, f->before);
    VISIT(v, f->took);
    VISIT(v, f->least);
    VISIT(v, f->lacks);
}

static void visit_nodes(struct visit *v, struct sim *s)
{
    for (mot_node i = 0; i < s->world.nodes; i++) {
        struct sim_node *n = &s->node[i];
        VISIT(v, n->actor.advanced);
        VISIT(v, n->actor.used);
        VISIT(v, n->coll);
        VISIT(v, n->stopped);
        VISIT(v, n->spin.at);
        VISIT(v, n->spin.updates);
        VISIT(v, n->spin.turns);
        VISIT(v, n->pace.jobs);
        VISIT(v, n->pace.straggling);
        VISIT(v, n->since);
        VISIT(v, n->computing);
        VISIT(v, n->flying);
        VISIT(v, n->actor.tally);
        visit_bool(v, &n->actor.guest);
        if (n->actor.feed) visit_feed(v, n);
        visit_bytes(v, n->actor.state, n->state_bytes);
        VISIT(v, s->nic[i]);
    }
    if (s->hosts) {
        visit_bytes(v, s->hosts->busy_until, s->world.nodes * sizeof(*s->hosts->busy_until));
        visit_bytes(v, s->hosts->host, s->hosts->hosts * sizeof(*s->hosts->host));
    }
    if (s->held) visit_bytes(v, s->held, s->held_bytes);
    size_t blocks = s->traffic.blocks.in_all;
    visit_bytes(v, s->traffic.sent, blocks * blocks * sizeof(*s->traffic.sent));
}

static void visit_works(struct visit *v, struct sim *s)
{
    for (uint32_t i = 0; i < s->works; i++) {
        struct sim_work *w = &s->work[i];
        VISIT(v, w->slot.state);
        VISIT(v, w->slot.tag);
        VISIT(v, w->generation);
        VISIT(v, w->slot.terms);
        VISIT(v, w->slot.least);
        VISIT(v, w->slot.at);
        VISIT(v, w->slot.grad);
        VISIT(v, w->slot.order);
        VISIT(v, w->slot.asked);
        visit_bool(v, &w->slot.pieces);
        VISIT(v, w->slot.piece);
        VISIT(v, w->slot.before);
        VISIT(v, w->slot.until);
        visit_bool(v, &w->slot.summed);
        VISIT(v, w->slot.gone);
        VISIT(v, w->samples);
        VISIT(v, w->slot.deadline);
        VISIT(v, w->slot.began);
        VISIT(v, w->whole);
        VISIT(v, w->ends);
    }
    size_t terms = s->works ? (size_t)(s->work[s->works - 1].slot.term - s->term) + s->last_terms : 0;
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
        VISIT(v, m->rows);
        VISIT(v, m->given);
        VISIT(v, m->draw);
    }
}

static void visit_colls(struct visit *v, struct sim *s)
{
    for (uint32_t k = 0; k < s->colls; k++) {
        struct sim_coll *c = &s->coll[k];
        VISIT(v, c->kind);
        VISIT(v, c->tag);
        VISIT(v, c->joined);
        VISIT(v, c->finished);
        VISIT(v, c->off);
        VISIT(v, c->len);
        VISIT(v, c->out);
        VISIT(v, c->sum);
        for (uint32_t i = 0; i < c->circle.n; i++) {
            VISIT(v, c->in[i]);
            VISIT(v, c->scalar[i]);
            VISIT(v, c->began[i]);
            VISIT(v, c->packed[i]);
        }
        for (uint32_t i = 0; i < c->circle.n * s->buckets; i++) {
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
    VISIT(v, i->m.rows);
    VISIT(v, i->m.given);
    VISIT(v, i->m.draw);
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
    visit_bool(v, &h->entered);
    visit_bool(v, &h->counts);
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
    VISIT(v, c->misses);
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

static void visit_copy(struct visit *v, const float **x, uint32_t n)
{
    if (!v->writing) {
        free((float *)(uintptr_t)*x); /* a damaged file may list it twice */
        *x = mot_new_large((size_t)n + 1, sizeof(**x));
        v->in.short_of |= !*x;
        if (!*x) return;
    }
    visit_bytes(v, (float *)(uintptr_t)*x, n * sizeof(**x));
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
    VISIT(v, p->mass);
    visit_copy(v, &p->x, p->len);
    bool moved = p->moved != NULL;
    visit_bool(v, &moved);
    if (moved) visit_copy(v, &p->moved, p->len);
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

/* Without the memo, replicas that have yet to make this step would compute their own and never share
 * buffers with the others again. */
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
    mot_heap_first(&s->heap); /* closes the hole */
    VISIT(v, s->heap.n);
    if (s->heap.n > s->heap.capacity) s->heap.n = 0;
    visit_bytes(v, s->heap.e, s->heap.n * sizeof(*s->heap.e));
}

static bool is_running_gradient(const struct sim *s, const bool *gradient, mot_buf b)
{
    return gradient[b] && s->pool.count[b] == 1;
}

/* A packed buffer is stored as its packet. False: it is not packed. */
static bool visit_packet(struct visit *v, struct sim *s, mot_buf b)
{
    if (!s->pool.packets) return false;
    uint64_t bytes = mot_pool_packed(&s->pool, b);
    struct mot_range *range = &s->pool.last[b];
    VISIT(v, bytes);
    if (bytes == 0) return false;
    VISIT(v, *range);
    if (range->off > s->pool.dim || range->len > s->pool.dim - range->off ||
        bytes > mot_packet_most(range->len)) {
        v->in.short_of = true;
        return true;
    }
    visit_bytes(v, mot_pool_packet(&s->pool, b), bytes);
    if (v->writing) return true;
    if (!mot_packet_check(mot_pool_packet(&s->pool, b), bytes, range->len)) v->in.short_of = true;
    else mot_pool_pack(&s->pool, b, bytes);
    return true;
}

static void visit_buffers(struct visit *v, struct sim *s)
{
    bool *gradient = mot_new_large((size_t)s->pool.capacity + 1, sizeof(*gradient));
    if (!gradient) return;
    for (uint32_t i = 0; i < s->works; i++)
        if (s->work[i].slot.state == MOT_SLOT_RUNNING && s->work[i].slot.grad <= s->pool.capacity)
            gradient[s->work[i].slot.grad] = true;
    for (mot_buf b = 1; b <= s->pool.capacity; b++) {
        uint32_t count = s->pool.count[b];
        VISIT(v, count);
        s->pool.count[b] = count;
        if (count == 0 || is_running_gradient(s, gradient, b) || visit_packet(v, s, b)) continue;
        visit_bytes(v, mot_pool_at(&s->pool, b), s->pool.dim * sizeof(float));
        if (v->in.short_of) break;
    }
    free(gradient);
}

/* What must match for a checkpoint to fit this run. */
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
    visit_colls(v, s);
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

enum mot_status mot_sim_unpack(struct sim *s, const unsigned char *bytes, size_t n, uint64_t *mark_out)
{
    const char *path = s->o->checkpoint;
    struct fit want = fit_of(s), have;
    uint64_t sum, mark;
    if (n < sizeof(have) + 2 * sizeof(uint64_t) || memcmp(bytes, MAGIC, 8) != 0)
        return mot_fail(MOT_EDATA,
            "%s: not a checkpoint of a simulated run (%zu bytes); motley train resumes those of live runs",
            path, n);
    memcpy(&sum, bytes + n - sizeof(sum), sizeof(sum));
    if (sum != XXH64(bytes, n - sizeof(sum), 0))
        return mot_fail(MOT_EDATA, "%s: damaged: its checksum does not match its %zu bytes", path, n);
    struct visit v = { .in = { .at = bytes, .n = n - sizeof(sum) } };
    VISIT(&v, have);
    VISIT(&v, mark);
    if (have.version != want.version)
        return mot_fail(
            MOT_EDATA, "%s: checkpoint format %u; this motley reads %u", path, have.version, want.version);
    if (memcmp(&have, &want, sizeof(have)) != 0)
        return mot_world_refuse(&s->world, path, have.workers, have.dim);
    visit_all(&v, s);
    if (v.in.short_of || v.in.done != v.in.n || !mot_sim_sound(s))
        return mot_fail(MOT_EDATA, "%s: not a checkpoint that this motley wrote", path);
    mot_pool_rebuild(&s->pool);
    for (uint32_t k = 0; k < s->colls; k++)
        s->coll[k].way = mot_sim_gathers(&s->coll[k])
            ? MOT_WAY_GATHER
            : mot_coll_way_for(s->x->sim.collective, s->coll[k].kind, s->coll[k].len);
    mot_sim_show_begin(s);
    for (uint32_t i = 0; i < s->works; i++)
        if (s->work[i].slot.state == MOT_SLOT_RUNNING) mot_sim_compute(s, &s->work[i]);
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
    return mot_memory_refused() ? mot_memory_status() : status;
}
