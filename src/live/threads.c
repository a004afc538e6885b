/* threads.c -- nodes as threads of one process.
 *
 * A message is an entry in the receiver's mailbox; its body stays where it is, in the shared pool. A sum
 * is computed by whoever has joined and finds all inputs there: each takes the next range of floats and adds
 * the inputs in rank order, so the bits are the simulator's. What comes from a root is the root's buffer.
 *
 * When emulating, an entry is not seen before the simulated links would have delivered it. A collective
 * sends empty tokens in its steps, and a node has the sum when the tokens say so. */
#include "live/threads.h"
#include "base/crew.h"
#include "base/memory.h"
#include "sim/coll_steps.h"
#include "live/bell.h"
#include "live/node.h"
#include "sim/network.h"
#include "live/profile.h"
#include "live/weather.h"
#include "run/buckets.h"
#include "run/circle.h"
#include "run/world.h"
#include "math/kernels.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define RANGE 16384u                  /* floats added up at a time */
#define AT_ONCE 8u                    /* inputs added in one pass over memory */
#define LOOK_UP_NS UINT64_C(50000000) /* how often a sleeper checks clock and interrupt */

struct letter {
    mot_time due;
    bool token;
    uint32_t slot, bucket, step;
    enum mot_coll_way way;
    uint64_t samples;
    struct mot_place place;
    mot_time sent;
    struct mot_message message;
};

struct mailbox {
    pthread_mutex_t lock;
    struct letter *letter; /* a queue: [first, first + n) modulo room */
    uint32_t first, n, room;
    _Atomic uint32_t waiting; /* = n, readable without the lock */
    struct mot_bell bell;
};

struct slot { /* a collective in flight; arrays are by rank */
    struct mot_circle circle;
    enum mot_coll_kind kind;
    uint32_t tag, off, len;
    struct mot_slice *in;
    double (*scalar)[MOT_SCALARS];
    struct mot_coll_progress *progress; /* emulating: [buckets][n]; only its node touches an entry */
    uint64_t *packed;                   /* bytes of what each gave, if it is packed; else 0 */
    mot_buf out;
    _Atomic uint32_t joined, next, added, left; /* next range to take; ranges done; nodes that have left */
    _Atomic bool given, last;                   /* given: the root's floats are there */
    /* in buckets: how many have given each, and ranges that can be added since all have */
    _Atomic uint32_t *gave, ready;
};

struct range {
    uint32_t first, len;
};

struct seat { /* of a node in the collectives of a scope */
    struct slot *slot;
    uint32_t next; /* which of its circle's slots it joins next */
    bool pending;
    enum mot_coll_kind kind;
    uint32_t rank, tag, len;
    uint32_t gone; /* buckets that it has given */
    bool gathers;  /* packed buffers are not summed on their way */
};

struct threads;
struct thread_port {
    struct mot_port port;
    struct threads *threads;
    mot_node self;
    struct seat seat[MOT_COLL_SCOPES];
};

struct threads {
    struct mot_live live;
    struct thread_port *port;   /* [nodes] */
    struct mailbox *box;        /* [nodes] */
    struct mot_live_node *node; /* [nodes] */
    struct slot *slot;          /* [circles][window], in turn */
    uint32_t window, slots;
    /* Gradients leave early: what is added at a time, from the last bucket on, and how many ranges there are
     * up to the end of each bucket. NULL: they leave as a whole. */
    struct range *range;
    uint32_t buckets, *upto;     /* buckets: 1 if they leave as a whole */
    struct mot_nic *nic;         /* emulating */
    struct mot_weather *weather; /* emulating a cluster with faults; else NULL */
    pthread_mutex_t nic_lock;    /* guards both */
    double wire_bytes;
    bool crowded; /* more threads than cores */
    _Atomic uint64_t samples;
    _Atomic bool ended;
    struct mot_spare *spare; /* the caller's, for the threads to inherit */
    mot_time begins_at;      /* of a resumed run: where its clock stood */
};

/* ---- Mailboxes ------------------------------------------------------------------------------ */

static void post(struct threads *t, mot_node to, const struct letter *l)
{
    struct mailbox *b = &t->box[to];
    pthread_mutex_lock(&b->lock);
    /* room is made for what need() declares; tokens of a collective may need more, once */
    if (b->n == b->room) {
        uint32_t room = b->room * 2;
        struct letter *more = mot_new(room, sizeof(*more));
        for (uint32_t i = 0; i < b->n; i++) more[i] = b->letter[(b->first + i) % b->room];
        free(b->letter);
        b->letter = more;
        b->first = 0;
        b->room = room;
    }
    b->letter[(b->first + b->n++) % b->room] = *l;
    atomic_store(&b->waiting, b->n);
    pthread_mutex_unlock(&b->lock);
    mot_bell_ring(&b->bell);
}

/* Takes the first letter that is due; if none is, *next is when one will be. */
static bool fetch(struct threads *t, mot_node self, struct letter *out, mot_time *next)
{
    struct mailbox *b = &t->box[self];
    bool found = false;
    *next = MOT_NEVER;
    if (atomic_load(&b->waiting) == 0) return false;
    mot_time now = t->live.emulate ? mot_live_now(&t->live) : MOT_NEVER;
    pthread_mutex_lock(&b->lock);
    for (uint32_t i = 0; i < b->n && !found; i++) {
        struct letter *l = &b->letter[(b->first + i) % b->room];
        if (l->due > now) {
            if (l->due < *next) *next = l->due;
            continue;
        }
        found = true;
        *out = *l;
        for (uint32_t k = i; k > 0; k--)
            b->letter[(b->first + k) % b->room] = b->letter[(b->first + k - 1) % b->room];
        b->first = (b->first + 1) % b->room;
        atomic_store(&b->waiting, --b->n);
    }
    pthread_mutex_unlock(&b->lock);
    return found;
}

/* When the simulated links would deliver so many bytes; 0: now. */
static mot_time due_at(struct threads *t, mot_node from, mot_node to, uint64_t bytes)
{
    if (!t->live.emulate) return 0;
    pthread_mutex_lock(&t->nic_lock);
    mot_time now = mot_live_now(&t->live);
    mot_time due = t->weather
        ? mot_weather_send(t->weather, t->nic, from, to, bytes, now)
        : mot_network_send(t->live.experiment->cluster, t->nic, from, to, bytes, now).delivered;
    pthread_mutex_unlock(&t->nic_lock);
    return due;
}

static void port_send(struct mot_port *p, const struct mot_message *m)
{
    struct thread_port *me = (struct thread_port *)p;
    struct threads *t = me->threads;
    uint64_t bytes = mot_message_bytes(&t->live.world, &t->live.pool, m, t->wire_bytes);
    struct letter l = { .due = due_at(t, me->self, m->to, bytes),
        .message = *m,
        .samples = t->node[me->self].actor.tally.samples };
    if (t->live.place && me->self < t->live.world.workers) l.place = mot_place_now(&t->live.place[me->self]);
    if (t->live.watch.flight) l.sent = mot_live_now(&t->live);
    post(t, m->to, &l);
}

/* ---- Collectives ------------------------------------------------------------------------------ */

/* At least one: whoever adds the last range drops the inputs, even if there are only scalars to add. Packets
 * are added as a whole. */
static uint32_t ranges_of(const struct threads *t, const struct slot *c)
{
    if (t->range) return t->upto[0];
    return c->len && !c->packed[0] ? (c->len + RANGE - 1) / RANGE : 1;
}

static void ring_members(struct threads *t, const struct slot *c)
{
    for (uint32_t i = 0; i < c->circle.n; i++) mot_bell_ring(&t->box[mot_circle_node(&c->circle, i)].bell);
}

static enum mot_coll_way way_of(const struct threads *t, const struct seat *seat)
{
    if (seat->gathers) return MOT_WAY_GATHER;
    return mot_coll_way_for(t->live.experiment->sim.collective, seat->kind, seat->len);
}

static struct mot_coll_progress *progress_of(const struct slot *c, uint32_t rank, uint32_t bucket)
{
    return &c->progress[(size_t)bucket * c->circle.n + rank];
}

static void send_tokens(struct thread_port *me, const struct seat *seat, uint32_t bucket)
{
    struct threads *t = me->threads;
    struct slot *c = seat->slot;
    struct mot_coll_step step;
    enum mot_coll_way way = way_of(t, seat);
    struct mot_coll_progress *p = progress_of(c, seat->rank, bucket);
    uint32_t len = t->range ? mot_bucket_len(&t->live.world, bucket) : seat->len;
    while (mot_coll_next(way, c->circle.n, seat->rank, len, p, &step)) {
        uint64_t bytes = way == MOT_WAY_GATHER ? mot_coll_gathered(c->packed, c->circle.n, &step)
                                               : mot_floats_bytes(step.last - step.first, t->wire_bytes);
        mot_node to = mot_circle_node(&c->circle, step.to);
        struct letter l = { .due = due_at(t, me->self, to, bytes),
            .token = true,
            .slot = (uint32_t)(c - t->slot),
            .bucket = bucket,
            .step = step.step,
            .way = way,
            .message = { .from = me->self } };
        post(t, to, &l);
    }
}

/* What all must agree on. Others read it after the root has joined. */
static void open_slot(struct threads *t, struct slot *c, const struct mot_coll *coll)
{
    c->tag = coll->tag;
    c->kind = coll->kind;
    c->off = coll->in.off;
    c->len = coll->in.len;
    if (coll->kind == MOT_COLL_FROM_ROOT) c->out = coll->in.buf;
    else c->out = c->len ? mot_pool_take(&t->live.pool) : MOT_NO_BUF;
}

/* Takes the seat's place in the next collective of its circle. */
static void enter_slot(struct thread_port *me, struct seat *seat, const struct mot_coll *coll)
{
    struct threads *t = me->threads;
    uint32_t circle = mot_circle_of(&t->live.world, coll->scope, me->self);
    struct slot *c = &t->slot[circle * t->window + seat->next];
    seat->next = seat->next + 1 == t->window ? 0 : seat->next + 1;
    seat->slot = c;
    seat->rank = mot_circle_rank(&c->circle, me->self);
    seat->kind = coll->kind;
    seat->len = coll->in.len;
    c->in[seat->rank] = coll->in;
    c->packed[seat->rank] = mot_pool_packed(&t->live.pool, coll->in.buf);
    seat->gathers = c->packed[seat->rank] > 0;
    if (seat->rank == 0) open_slot(t, c, coll);
}

/* The member's next bucket is final. Whoever gives it last lets all add it; later ones are there, too. */
static void give_bucket(struct thread_port *me, struct seat *seat)
{
    struct threads *t = me->threads;
    struct slot *c = seat->slot;
    uint32_t bucket = t->buckets - 1 - seat->gone++, ready, upto = t->upto[bucket];
    if (t->live.emulate) {
        progress_of(c, seat->rank, bucket)->joined = true;
        send_tokens(me, seat, bucket);
    }
    if (atomic_fetch_add(&c->gave[bucket], 1) + 1 < c->circle.n) return;
    ready = atomic_load(&c->ready);
    while (ready < upto && !atomic_compare_exchange_weak(&c->ready, &ready, upto)) {}
    if (bucket > 0) ring_members(t, c); /* with the first, the last member joins */
}

static void port_give(struct mot_port *p, mot_buf buf, uint32_t bucket)
{
    struct thread_port *me = (struct thread_port *)p;
    struct seat *seat = &me->seat[MOT_COLL_ALL];
    if (seat->gone == 0)
        enter_slot(me, seat, &(struct mot_coll){ .in = { .buf = buf, .len = me->threads->live.world.dim } });
    MOT_ASSERT(bucket == me->threads->buckets - 1 - seat->gone);
    give_bucket(me, seat);
}

static void port_join(struct mot_port *p, const struct mot_coll *coll, bool last)
{
    struct thread_port *me = (struct thread_port *)p;
    struct threads *t = me->threads;
    struct seat *seat = &me->seat[coll->scope];
    if (seat->gone == 0) enter_slot(me, seat, coll);
    struct slot *c = seat->slot;
    MOT_ASSERT(seat->gone == 0 || coll->in.buf == c->in[seat->rank].buf);
    seat->pending = true;
    seat->tag = coll->tag;
    memcpy(c->scalar[seat->rank], coll->scalar, sizeof(coll->scalar));
    if (seat->rank == 0) c->tag = coll->tag;
    if (t->range) {
        MOT_ASSERT(coll->kind == MOT_COLL_SUM && coll->in.len == t->live.world.dim);
        while (seat->gone < t->buckets) give_bucket(me, seat);
    } else if (t->live.emulate) {
        c->progress[seat->rank].joined = true;
        send_tokens(me, seat, 0);
    }
    if (last) atomic_store(&c->last, true);
    bool gives = coll->kind == MOT_COLL_FROM_ROOT && seat->rank == 0;
    if (gives) atomic_store(&c->given, true);
    if (atomic_fetch_add(&c->joined, 1) + 1 == c->circle.n || gives) ring_members(t, c);
}

static void add_range(struct threads *t, struct slot *c, uint32_t range)
{
    const struct mot_kernels *k = mot_kernels();
    uint32_t first = range * RANGE, len = c->len - first < RANGE ? c->len - first : RANGE;
    if (t->range) first = t->range[range].first, len = t->range[range].len;
    if (len == 0) return;
    if (c->packed[0]) {
        mot_pool_sum_packed(&t->live.pool, c->in, c->circle.n, mot_pool_at(&t->live.pool, c->out));
        return;
    }
    float *out = mot_pool_at(&t->live.pool, c->out) + c->off + first;
    for (uint32_t i = 0; i < c->circle.n;) {
        const float *in[AT_ONCE];
        uint32_t n = 0;
        if (i > 0) in[n++] = out; /* continues the sum so far: same order, same bits */
        while (n < AT_ONCE && i < c->circle.n) {
            in[n++] = mot_pool_at(&t->live.pool, c->in[i].buf) + c->in[i].off + first;
            i++;
        }
        k->add(len, n, in, out);
    }
}

/* Whether what the member waits for is there, or can be added. */
static bool can_finish(const struct seat *seat)
{
    struct slot *c = seat->slot;
    if (seat->kind == MOT_COLL_FROM_ROOT && seat->rank != 0) return atomic_load(&c->given);
    return atomic_load(&c->joined) == c->circle.n;
}

/* The next range that nobody has taken and that all have given; false if there is none. */
static bool take_range(const struct threads *t, struct slot *c, uint32_t ranges, uint32_t *out)
{
    if (!t->range) return (*out = atomic_fetch_add(&c->next, 1)) < ranges;
    *out = atomic_load(&c->next);
    while (*out < atomic_load(&c->ready))
        if (atomic_compare_exchange_weak(&c->next, out, *out + 1)) return true;
    return false;
}

/* Adds ranges that nobody has taken; true once all are added. */
static bool help_add(struct threads *t, struct slot *c)
{
    uint32_t ranges = ranges_of(t, c), range;
    while (take_range(t, c, ranges, &range)) {
        add_range(t, c, range);
        if (atomic_fetch_add(&c->added, 1) + 1 < ranges) continue;
        for (uint32_t i = 0; i < c->circle.n; i++) mot_pool_drop(&t->live.pool, c->in[i].buf);
        ring_members(t, c);
    }
    return atomic_load(&c->added) == ranges;
}

static void add_scalars(const struct slot *c, double *sum)
{
    uint32_t n = c->kind == MOT_COLL_FROM_ROOT ? 1 : c->circle.n;
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < MOT_SCALARS; k++) sum[k] += c->scalar[i][k];
}

/* Hands out the result; the last node to leave clears the slot for reuse. */
static void leave(struct thread_port *me, struct seat *seat, struct mot_arrival *out)
{
    struct threads *t = me->threads;
    struct slot *c = seat->slot;
    MOT_ASSERT(c->tag == seat->tag && c->kind == seat->kind && c->len == seat->len);
    MOT_ASSERT(seat->gathers == (c->packed[0] > 0) && "all members give packed buffers, or none");
    seat->pending = false;
    *out = (struct mot_arrival){ .kind = MOT_ARRIVAL_COLL,
        .coll = { .tag = c->tag, .scope = (enum mot_coll_scope)(seat - me->seat) },
        .last = atomic_load(&c->last) };
    if (c->kind != MOT_COLL_TO_ROOT || seat->rank == 0) {
        out->coll.out = (struct mot_slice){ .buf = c->out, .off = c->off, .len = c->len };
        add_scalars(c, out->coll.scalar);
        if (c->out) mot_pool_hold(&t->live.pool, c->out);
    }
    seat->gone = 0;
    for (uint32_t b = 0; b < t->buckets; b++)
        *progress_of(c, seat->rank, b) = (struct mot_coll_progress){ 0 };
    if (atomic_fetch_add(&c->left, 1) + 1 < c->circle.n) return;
    mot_pool_drop(&t->live.pool, c->out);
    for (uint32_t b = 0; t->range && b < t->buckets; b++) atomic_store(&c->gave[b], 0);
    atomic_store(&c->ready, 0);
    atomic_store(&c->joined, 0);
    atomic_store(&c->next, 0);
    atomic_store(&c->added, 0);
    atomic_store(&c->given, false);
    atomic_store(&c->last, false);
    atomic_store(&c->left, 0);
}

static bool seat_ready(struct thread_port *me, struct seat *seat, struct mot_arrival *out)
{
    struct threads *t = me->threads;
    struct slot *c = seat->slot;
    if (!seat->pending) return false;
    if (!can_finish(seat)) {
        if (t->range) help_add(t, c); /* what all have given so far */
        return false;
    }
    if (seat->kind != MOT_COLL_FROM_ROOT && !help_add(t, c)) return false;
    for (uint32_t b = 0; t->live.emulate && b < t->buckets; b++)
        if (!mot_coll_complete(way_of(t, seat), c->circle.n, seat->rank, progress_of(c, seat->rank, b)))
            return false;
    leave(me, seat, out);
    return true;
}

static bool coll_ready(struct thread_port *me, struct mot_arrival *out)
{
    for (int scope = 0; scope < MOT_COLL_SCOPES; scope++)
        if (seat_ready(me, &me->seat[scope], out)) return true;
    return false;
}

static void token_came(struct thread_port *me, const struct letter *l)
{
    struct slot *c = &me->threads->slot[l->slot];
    uint32_t rank = mot_circle_rank(&c->circle, me->self);
    mot_coll_received(l->way, c->circle.n, rank, mot_circle_rank(&c->circle, l->message.from), l->step,
        progress_of(c, rank, l->bucket));
    for (int scope = 0; scope < MOT_COLL_SCOPES; scope++) {
        const struct seat *seat = &me->seat[scope];
        if ((seat->pending || seat->gone) && c == seat->slot) send_tokens(me, seat, l->bucket);
    }
}

/* Whether there is something to do for a collective, so that the node must not sleep. */
static bool can_go_on(const struct thread_port *me)
{
    for (int scope = 0; scope < MOT_COLL_SCOPES; scope++) {
        const struct seat *seat = &me->seat[scope];
        if (!seat->pending) continue;
        if (can_finish(seat) || atomic_load(&seat->slot->next) < atomic_load(&seat->slot->ready)) return true;
    }
    return false;
}

/* Emulates a stall: the node stands still, and its job is prolonged by as much. */
static void stand_still(struct thread_port *me)
{
    struct threads *t = me->threads;
    struct mot_live_node *n = &t->node[me->self];
    mot_time longer, before = mot_live_now(&t->live), now = before;
    pthread_mutex_lock(&t->nic_lock);
    mot_time until = mot_weather_stall(t->weather, me->self, now, &longer);
    pthread_mutex_unlock(&t->nic_lock);
    mot_live_node_delay(n, longer);
    while (now < until && !atomic_load(&t->ended)) {
        uint64_t ns = until - now < LOOK_UP_NS ? until - now : LOOK_UP_NS;
        nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
        now = mot_live_now(&t->live);
    }
    if (until) n->actor.tally.wait += now - before;
}

static bool port_poll(struct mot_port *p, struct mot_arrival *out)
{
    struct thread_port *me = (struct thread_port *)p;
    struct letter l;
    mot_time next;
    if (me->threads->weather) stand_still(me);
    while (fetch(me->threads, me->self, &l, &next)) {
        if (l.token) {
            token_came(me, &l);
            continue;
        }
        *out = (struct mot_arrival){ .kind = MOT_ARRIVAL_MESSAGE,
            .message = l.message,
            .sender_samples = l.samples,
            .place = l.place,
            .sent = l.sent };
        return true;
    }
    return coll_ready(me, out);
}

/* ---- The rest of a port ------------------------------------------------------------------------- */

static void port_idle(struct mot_port *p, mot_time until)
{
    struct thread_port *me = (struct thread_port *)p;
    struct threads *t = me->threads;
    struct mailbox *b = &t->box[me->self];
    uint32_t heard = mot_bell_heard(&b->bell);
    mot_time next = MOT_NEVER, now = mot_live_now(&t->live);
    /* Do not sleep if something arrived before we listened. */
    if (atomic_load(&b->waiting)) {
        pthread_mutex_lock(&b->lock);
        for (uint32_t i = 0; i < b->n; i++) {
            mot_time due = b->letter[(b->first + i) % b->room].due;
            if (due < next) next = due;
        }
        pthread_mutex_unlock(&b->lock);
    }
    if (!t->live.emulate && can_go_on(me)) return;
    if (next < until) until = next;
    if (until <= now || atomic_load(&t->ended)) return;
    uint64_t ns = until - now < LOOK_UP_NS ? until - now : LOOK_UP_NS;
    mot_bell_wait(&b->bell, heard, ns, t->crowded);
}

static void port_end(struct mot_port *p)
{
    struct threads *t = ((struct thread_port *)p)->threads;
    atomic_store(&t->ended, true);
    for (mot_node i = 0; i < t->live.world.nodes; i++) mot_bell_ring(&t->box[i].bell);
}

static void port_ask(struct mot_port *p, uint64_t number, uint64_t at)
{
    struct threads *t = ((struct thread_port *)p)->threads;
    (void)number;
    (void)at;
    for (mot_node i = 0; i < t->live.world.nodes; i++)
        mot_bell_ring(&t->box[i].bell); /* who sleeps looks up */
}

/* Nobody here ever waits: where threads outnumber cores, the others get a turn after each step. */
static void port_paced(struct mot_port *p)
{
    if (((struct thread_port *)p)->threads->crowded) sched_yield();
}

static bool port_ended(const struct mot_port *p)
{
    return atomic_load(&((const struct thread_port *)p)->threads->ended);
}

static uint64_t port_samples(struct mot_port *p, uint64_t more)
{
    return atomic_fetch_add(&((struct thread_port *)p)->threads->samples, more) + more;
}

/* ---- Setting up and taking down -------------------------------------------------------------------- */

/* Ranges of each bucket, from the last on. */
static void open_ranges(struct threads *t)
{
    const struct mot_world *w = &t->live.world;
    uint32_t n = 0;
    t->buckets = mot_buckets_any(w) ? w->buckets : 1;
    if (t->buckets == 1) return;
    t->range = mot_new_large(w->dim / RANGE + w->buckets + 1, sizeof(*t->range));
    t->upto = mot_new_large(w->buckets, sizeof(*t->upto));
    for (uint32_t b = w->buckets; t->range && t->upto && b-- > 0; t->upto[b] = n)
        for (uint32_t at = w->bucket_at[b], end = w->bucket_at[b + 1]; at < end; at += RANGE)
            t->range[n++] = (struct range){ at, end - at < RANGE ? end - at : RANGE };
}

static enum mot_status open_threads(
    struct threads *t, const struct mot_driver_options *o, const struct mot_needs *needs)
{
    struct mot_live *l = &t->live;
    uint32_t nodes = l->world.nodes;
    t->window = mot_needs_window(needs);
    t->slots = mot_needs_colls(needs, &l->world);
    enum mot_status status = mot_live_reserve(l, o, (uint32_t)needs->buffers + t->slots);
    if (status != MOT_OK) return status;
    if (l->from) atomic_store(&t->samples, l->from->computed);
    t->port = mot_new_large(nodes, sizeof(*t->port));
    t->box = mot_new_large(nodes, sizeof(*t->box));
    t->node = mot_new_large(nodes, sizeof(*t->node));
    t->nic = mot_new_large(nodes, sizeof(*t->nic));
    pthread_mutex_init(&t->nic_lock, NULL);
    t->wire_bytes = 4.0 * o->problem->net->parameters / o->problem->net->dim;
    t->crowded = nodes > mot_cores();
    open_ranges(t);
    t->slot = mot_new_large(t->slots + 1, sizeof(*t->slot));
    for (uint32_t i = 0; t->slot && i < t->slots; i++) {
        struct slot *c = &t->slot[i];
        c->circle = mot_circle(&l->world, i / t->window);
        c->in = mot_new_large(c->circle.n, sizeof(*c->in));
        c->scalar = mot_new_large(c->circle.n, sizeof(*c->scalar));
        c->progress = mot_new_large((size_t)c->circle.n * t->buckets, sizeof(*c->progress));
        c->gave = mot_new_large(t->buckets, sizeof(*c->gave));
        c->packed = mot_new_large(c->circle.n, sizeof(*c->packed));
    }
    for (mot_node i = 0; !mot_memory_refused() && i < nodes; i++) {
        struct mailbox *b = &t->box[i];
        pthread_mutex_init(&b->lock, NULL);
        b->room = needs->most.sends + 8;
        b->letter = mot_new_large(b->room, sizeof(*b->letter));
        t->port[i] = (struct thread_port){ .threads = t,
            .self = i,
            .port = { .send = port_send,
                .join = port_join,
                .give = port_give,
                .poll = port_poll,
                .idle = port_idle,
                .end = port_end,
                .ended = port_ended,
                .samples = port_samples,
                .ask = port_ask,
                .paced = port_paced } };
        mot_live_node_open(&t->node[i], l, &t->port[i].port, i);
        if (o->record) t->node[i].tape = &o->record->tape[i];
    }
    return mot_memory_status();
}

static void close_threads(struct threads *t)
{
    for (mot_node i = 0; t->node && t->box && i < t->live.world.nodes; i++) {
        mot_live_node_close(&t->node[i]);
        pthread_mutex_destroy(&t->box[i].lock);
        free(t->box[i].letter);
    }
    for (uint32_t i = 0; t->slot && i < t->slots; i++) {
        free(t->slot[i].in);
        free(t->slot[i].scalar);
        free(t->slot[i].progress);
        free(t->slot[i].packed);
        free(t->slot[i].gave);
    }
    free(t->range);
    free(t->upto);
    if (t->nic) pthread_mutex_destroy(&t->nic_lock);
    free(t->slot);
    free(t->nic);
    free(t->node);
    free(t->box);
    free(t->port);
    mot_live_release(&t->live);
}

static void *node_main(void *p)
{
    struct mot_live_node *n = p;
    mot_spare_use(((struct thread_port *)n->port)->threads->spare);
    /* The kernel wakes sleepers up to 50 us late to save power; emulated links are finer than that. */
    if (n->live->emulate) prctl(PR_SET_TIMERSLACK, 1);
    mot_live_node_run(n);
    return NULL;
}

/* Collects the nodes' time accounts and whose gradients they used. */
static void gather(struct threads *t, struct mot_outcome *out)
{
    const struct mot_world *w = &t->live.world;
    struct mot_notes notes = { 0 };
    out->has_faults = t->weather != NULL;
    out->faults = mot_weather_tally(t->weather);
    mot_traffic_open(&out->traffic, w);
    out->last.bytes_sent = out->last.rows_bytes = out->last.messages = out->last.events = out->last.steps = 0;
    for (mot_node i = 0; i < w->nodes; i++) {
        struct mot_live_account account = mot_live_node_account(&t->node[i]);
        mot_live_book(&account, i, out);
        mot_notes_merge(&notes, &t->node[i].notes);
    }
    for (mot_node s = w->workers; s < w->nodes; s++)
        for (mot_node i = 0; i < w->workers; i++) out->node[i].updates += t->node[s].credit[i];
    mot_outcome_note(out, &notes);
    mot_outcome_missed(out, t->live.experiment->method, w, t->node[t->live.lead].actor.state);
}

static enum mot_status run_threads(
    struct threads *t, const struct mot_driver_options *o, struct mot_outcome *out)
{
    struct mot_live *l = &t->live;
    uint32_t nodes = l->world.nodes, started = 0;
    pthread_t *thread = mot_new(nodes, sizeof(*thread));
    enum mot_status status = MOT_OK;
    for (mot_node i = 0; i < nodes; i++) mot_live_node_init(&t->node[i]);
    status = mot_live_judge_open(l, &t->node[l->lead], o->watch, o->interrupt, &l->judge);
    if (status != MOT_OK) {
        free(thread);
        return status;
    }
    if (mot_live_judge_knows_end(l->judge)) port_end(&t->port[0].port);
    l->began_ns += mot_live_now(l) - t->begins_at; /* the clock starts when the nodes do */
    while (started < nodes && pthread_create(&thread[started], NULL, node_main, &t->node[started]) == 0)
        started++;
    if (started < nodes) {
        status = mot_fail(
            MOT_ESYSTEM, "only %u of %u threads could be started; use fewer workers", started, nodes);
        port_end(&t->port[0].port);
    }
    for (uint32_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
    mot_time took = mot_live_now(l);
    mot_live_judge_close(l->judge, out);
    out->last.now = took;
    out->wall_s = (double)(took - t->begins_at) * 1e-9;
    gather(t, out);
    free(thread);
    if (status == MOT_OK) status = mot_memory_status();
    if (status != MOT_OK) mot_outcome_close(out);
    return status;
}

static enum mot_status run(const struct mot_driver_options *o, struct mot_outcome *out)
{
    struct threads *t = mot_new(1, sizeof(*t));
    t->spare = mot_spare_mine();
    const struct mot_experiment *x = o->experiment;
    enum mot_status status = mot_live_open(&t->live, o);
    struct mot_live_checkpoint from = { 0 };
    if (status == MOT_OK && o->emulate) status = mot_weather_open(x->cluster, x->seed, &t->weather);
    if (status == MOT_OK && o->resume) status = mot_live_load(o->checkpoint, &t->live, &from);
    if (status == MOT_OK) mot_live_begin(&t->live, o->resume ? &from : NULL);
    bool was_over = t->live.over && o->settled;
    if (was_over) t->live.checkpoint = NULL;
    if (status == MOT_OK && o->begins && !was_over) status = o->begins(o->begins_self, from.mark);
    if (status == MOT_OK) {
        struct mot_needs needs = mot_needs_of(x, &t->live.world);
        t->begins_at = from.now;
        t->live.began_ns = mot_live_now(&t->live) - from.now;
        status = open_threads(t, o, &needs);
        if (status == MOT_OK) status = run_threads(t, o, out);
        if (status == MOT_OK) out->was_over = was_over;
        close_threads(t);
    }
    mot_weather_close(t->weather);
    mot_live_checkpoint_free(&from);
    mot_live_close(&t->live);
    free(t);
    return status;
}

const struct mot_driver mot_driver_threads = { .name = "threads", .live = true, .run = run };

/* ---- Profiles --------------------------------------------------------------------------------------- */

struct probe {
    struct mot_profile *profile;
    struct mot_live_node *node;
};

static void *probe_main(void *p)
{
    struct probe *probe = p;
    mot_spare_use(((struct thread_port *)probe->node->port)->threads->spare);
    mot_profile_node(probe->profile, probe->node);
    return NULL;
}

static enum mot_status probe_threads(struct threads *t, struct mot_profile *profile)
{
    uint32_t nodes = t->live.world.nodes, started = 1;
    pthread_t *thread = mot_new(nodes, sizeof(*thread));
    struct probe *probe = mot_new(nodes, sizeof(*probe));
    for (mot_node i = 0; i < nodes; i++) probe[i] = (struct probe){ profile, &t->node[i] };
    while (started < nodes && pthread_create(&thread[started], NULL, probe_main, &probe[started]) == 0)
        started++;
    enum mot_status status = MOT_OK;
    if (started < nodes) {
        status = mot_fail(
            MOT_ESYSTEM, "only %u of %u threads could be started; use fewer workers", started, nodes);
        port_end(&t->port[0].port);
    } else {
        probe_main(&probe[0]);
    }
    for (uint32_t i = 1; i < started; i++) pthread_join(thread[i], NULL);
    free(probe);
    free(thread);
    return status;
}

enum mot_status mot_threads_profile(const struct mot_driver_options *o, struct mot_profile *profile)
{
    struct threads *t = mot_new(1, sizeof(*t));
    t->spare = mot_spare_mine();
    const struct mot_experiment *x = o->experiment;
    enum mot_status status = mot_live_open(&t->live, o);
    if (status == MOT_OK) {
        struct mot_needs needs = mot_needs_of(x, &t->live.world);
        needs.buffers += 3 * t->live.world.nodes;
        mot_live_begin(&t->live, NULL);
        mot_profile_open(profile, &t->live.world);
        profile->threads = true;
        t->live.began_ns = mot_live_now(&t->live);
        status = open_threads(t, o, &needs);
        if (status == MOT_OK) status = probe_threads(t, profile);
        close_threads(t);
        if (status != MOT_OK) mot_profile_close(profile);
    }
    mot_live_close(&t->live);
    free(t);
    return status;
}
