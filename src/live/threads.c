/* threads.c -- nodes as threads of one process.
 *
 * A message is an entry in the receiver's mailbox: the body stays where it is, in
 * the pool that all share. A sum over the workers is made by whoever has joined it and
 * finds all inputs there: each takes the next range of floats and adds the inputs
 * in rank order, so the bits are those of the simulator.
 *
 * Emulating, an entry is not seen before the time at which the simulated links would
 * have delivered it, and a collective sends empty tokens along its schedule: a node has the
 * sum when the tokens say so. */
#include "live/threads.h"
#include "base/crew.h"
#include "base/memory.h"
#include "sim/coll_steps.h"
#include "live/bell.h"
#include "live/node.h"
#include "sim/network.h"
#include "live/profile.h"
#include "live/weather.h"
#include "run/world.h"
#include "math/kernels.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define RANGE 16384u                  /* floats that a thread adds up at a time */
#define AT_ONCE 8u                    /* inputs that are added in one pass over memory */
#define LOOK_UP_NS UINT64_C(50000000) /* a sleeper looks at clock and interrupt this often */

struct letter {
    mot_time due;
    bool token;
    uint32_t slot, step;
    uint64_t samples;
    mot_time sent;
    struct mot_message message;
};

struct mailbox {
    pthread_mutex_t lock;
    struct letter *letter; /* a queue: [first, first + n) modulo room */
    uint32_t first, n, room;
    _Atomic uint32_t waiting; /* = n, to look at without the lock */
    struct mot_bell bell;
};

struct slot { /* one collective under way */
    uint32_t tag, len;
    struct mot_slice *in;               /* [workers] */
    double (*scalar)[MOT_SCALARS];      /* [workers] */
    struct mot_coll_progress *progress; /* [workers]: emulating; each entry is its node's */
    mot_buf out;
    double sum[MOT_SCALARS];
    _Atomic uint32_t joined, next, added, left; /* next range to take; ranges done; nodes that have gone on */
    _Atomic bool last;
};

struct town;
/* len: of its last collective */
struct house {
    struct mot_port port;
    struct town *town;
    mot_node self;
    uint64_t colls;
    uint32_t len;
    bool pending;
};

struct town {
    struct mot_live live;
    struct house *house;        /* [nodes] */
    struct mailbox *box;        /* [nodes] */
    struct mot_live_node *node; /* [nodes] */
    struct slot *slot;          /* [window] */
    uint32_t window;
    struct mot_nic *nic;         /* emulating */
    struct mot_weather *weather; /* emulating a cluster with faults; else NULL */
    pthread_mutex_t nic_lock;    /* of both */
    double wire_bytes;
    bool crowded; /* more threads than cores */
    _Atomic uint64_t samples;
    _Atomic bool ended;
    uint64_t *part_rows;
    uint32_t *batch;
    mot_time begins_at; /* a run that goes on: where its clock stood */
};

/* ---- Mailboxes ------------------------------------------------------------------------------ */

static void post(struct town *t, mot_node to, const struct letter *l)
{
    struct mailbox *b = &t->box[to];
    pthread_mutex_lock(&b->lock);
    /* rooms are made for what need() declares; tokens of a collective may need more, once */
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

/* The first letter that is due; else *next is when the first will be. */
static bool fetch(struct town *t, mot_node self, struct letter *out, mot_time *next)
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
static mot_time due_at(struct town *t, mot_node from, mot_node to, double floats)
{
    if (!t->live.emulate) return 0;
    uint64_t bytes = (uint64_t)(floats * t->wire_bytes + 0.5);
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
    struct house *h = (struct house *)p;
    struct letter l = { .due = due_at(h->town, h->self, m->to, m->body.buf ? m->body.len : 0),
        .message = *m,
        .samples = h->town->node[h->self].tally.samples };
    if (h->town->live.watch.flight) l.sent = mot_live_now(&h->town->live);
    post(h->town, m->to, &l);
}

/* ---- Collectives ------------------------------------------------------------------------------ */

static struct slot *slot_of(struct house *h) { return &h->town->slot[(h->colls - 1) % h->town->window]; }

/* At least one: who adds the last range drops the inputs, also where there are only scalars to add. */
static uint32_t ranges_of(const struct slot *c) { return c->len ? (c->len + RANGE - 1) / RANGE : 1; }

static void ring_workers(struct town *t)
{
    for (mot_node i = 0; i < t->live.world.workers; i++) mot_bell_ring(&t->box[i].bell);
}

static void send_tokens(struct house *h)
{
    struct town *t = h->town;
    struct slot *c = slot_of(h);
    struct mot_coll_step step;
    uint32_t n = t->live.world.workers;
    while (mot_schedule_next((enum mot_collective)t->live.experiment->sim.collective, n, h->self, h->len,
        &c->progress[h->self], &step)) {
        double floats = (double)(step.last - step.first);
        struct letter l = { .due = due_at(t, h->self, step.to, floats),
            .token = true,
            .slot = (uint32_t)(c - t->slot),
            .step = step.step,
            .message = { .from = h->self } };
        post(t, step.to, &l);
    }
}

static void port_join(struct mot_port *p, const struct mot_coll *coll, bool last)
{
    struct house *h = (struct house *)p;
    struct town *t = h->town;
    h->colls++;
    h->pending = true;
    h->len = coll->in.len;
    struct slot *c = slot_of(h);
    c->in[h->self] = coll->in;
    memcpy(c->scalar[h->self], coll->scalar, sizeof(coll->scalar));
    if (h->self == 0) { /* read by others only after all have joined */
        c->tag = coll->tag;
        c->len = coll->in.len;
        c->out = mot_pool_take(&t->live.pool);
    }
    if (t->live.emulate) {
        c->progress[h->self].joined = true;
        send_tokens(h);
    }
    if (last) atomic_store(&c->last, true);
    if (atomic_fetch_add(&c->joined, 1) + 1 == t->live.world.workers) ring_workers(t);
}

static void add_range(struct town *t, struct slot *c, uint32_t range)
{
    const struct mot_kernels *k = mot_kernels();
    uint32_t first = range * RANGE, len = c->len - first < RANGE ? c->len - first : RANGE,
             workers = t->live.world.workers;
    float *out = mot_pool_at(&t->live.pool, c->out) + first;
    for (mot_node i = 0; i < workers;) {
        const float *in[AT_ONCE];
        uint32_t n = 0;
        if (i > 0) in[n++] = out; /* goes on from the sum so far: the same order, the same bits */
        while (n < AT_ONCE && i < workers) {
            in[n++] = mot_pool_at(&t->live.pool, c->in[i].buf) + c->in[i].off + first;
            i++;
        }
        k->add(len, n, in, out);
    }
}

/* Adds ranges that nobody has taken; true when all are added. */
static bool help_add(struct town *t, struct slot *c)
{
    if (atomic_load(&c->joined) < t->live.world.workers) return false;
    uint32_t ranges = ranges_of(c), range;
    while ((range = atomic_fetch_add(&c->next, 1)) < ranges) {
        add_range(t, c, range);
        if (atomic_fetch_add(&c->added, 1) + 1 < ranges) continue;
        for (mot_node i = 0; i < t->live.world.workers; i++) mot_pool_drop(&t->live.pool, c->in[i].buf);
        ring_workers(t);
    }
    return atomic_load(&c->added) == ranges;
}

/* The node has the sum: hands it out, and the last one clears the slot for the next but one. */
static void leave(struct house *h, struct slot *c, struct mot_arrival *out)
{
    struct town *t = h->town;
    uint32_t n = t->live.world.workers;
    h->pending = false;
    *out = (struct mot_arrival){ .kind = MOT_ARRIVAL_COLL,
        .coll = { .tag = c->tag, .out = { .buf = c->out, .len = c->len } },
        .last = atomic_load(&c->last) };
    for (mot_node i = 0; i < n; i++)
        for (int k = 0; k < MOT_SCALARS; k++) out->coll.scalar[k] += c->scalar[i][k];
    mot_pool_hold(&t->live.pool, c->out);
    c->progress[h->self] = (struct mot_coll_progress){ 0 };
    if (atomic_fetch_add(&c->left, 1) + 1 < n) return;
    mot_pool_drop(&t->live.pool, c->out);
    atomic_store(&c->joined, 0);
    atomic_store(&c->next, 0);
    atomic_store(&c->added, 0);
    atomic_store(&c->last, false);
    atomic_store(&c->left, 0);
}

static bool coll_ready(struct house *h, struct mot_arrival *out)
{
    struct town *t = h->town;
    if (!h->pending) return false;
    struct slot *c = slot_of(h);
    if (!help_add(t, c)) return false;
    if (t->live.emulate &&
        !mot_schedule_complete((enum mot_collective)t->live.experiment->sim.collective, t->live.world.workers,
            h->self, &c->progress[h->self]))
        return false;
    leave(h, c, out);
    return true;
}

static void token_came(struct house *h, const struct letter *l)
{
    struct town *t = h->town;
    struct slot *c = &t->slot[l->slot];
    mot_schedule_received((enum mot_collective)t->live.experiment->sim.collective, t->live.world.workers,
        h->self, l->message.from, l->step, &c->progress[h->self]);
    if (h->pending && c == slot_of(h)) send_tokens(h);
}

/* Emulating a stall: the node stands still, and its job lasts longer by as much. */
static void stand_still(struct house *h)
{
    struct town *t = h->town;
    struct mot_live_node *n = &t->node[h->self];
    mot_time longer, before = mot_live_now(&t->live), now = before;
    pthread_mutex_lock(&t->nic_lock);
    mot_time until = mot_weather_stall(t->weather, h->self, now, &longer);
    pthread_mutex_unlock(&t->nic_lock);
    for (uint32_t i = 0; i < n->need.works; i++)
        if (n->work[i].state == MOT_LIVE_RUNNING) n->work[i].ends += longer;
    while (now < until && !atomic_load(&t->ended)) {
        uint64_t ns = until - now < LOOK_UP_NS ? until - now : LOOK_UP_NS;
        nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
        now = mot_live_now(&t->live);
    }
    if (until) n->tally.wait += now - before;
}

static bool port_poll(struct mot_port *p, struct mot_arrival *out)
{
    struct house *h = (struct house *)p;
    struct letter l;
    mot_time next;
    if (h->town->weather) stand_still(h);
    while (fetch(h->town, h->self, &l, &next)) {
        if (l.token) {
            token_came(h, &l);
            continue;
        }
        *out = (struct mot_arrival){
            .kind = MOT_ARRIVAL_MESSAGE, .message = l.message, .sender_samples = l.samples, .sent = l.sent
        };
        return true;
    }
    return coll_ready(h, out);
}

/* ---- The rest of a port ------------------------------------------------------------------------- */

static void port_idle(struct mot_port *p, mot_time until)
{
    struct house *h = (struct house *)p;
    struct town *t = h->town;
    struct mailbox *b = &t->box[h->self];
    uint32_t heard = mot_bell_heard(&b->bell);
    mot_time next = MOT_NEVER, now = mot_live_now(&t->live);
    /* What came before we listened must not be slept over. */
    if (atomic_load(&b->waiting)) {
        pthread_mutex_lock(&b->lock);
        for (uint32_t i = 0; i < b->n; i++) {
            mot_time due = b->letter[(b->first + i) % b->room].due;
            if (due < next) next = due;
        }
        pthread_mutex_unlock(&b->lock);
    }
    if (h->pending && atomic_load(&slot_of(h)->joined) == t->live.world.workers && !t->live.emulate) return;
    if (next < until) until = next;
    if (until <= now || atomic_load(&t->ended)) return;
    uint64_t ns = until - now < LOOK_UP_NS ? until - now : LOOK_UP_NS;
    mot_bell_wait(&b->bell, heard, ns, t->crowded);
}

static void port_end(struct mot_port *p)
{
    struct town *t = ((struct house *)p)->town;
    atomic_store(&t->ended, true);
    for (mot_node i = 0; i < t->live.world.nodes; i++) mot_bell_ring(&t->box[i].bell);
}

static bool port_ended(const struct mot_port *p)
{
    return atomic_load(&((const struct house *)p)->town->ended);
}

static uint64_t port_samples(struct mot_port *p, uint64_t more)
{
    return atomic_fetch_add(&((struct house *)p)->town->samples, more) + more;
}

/* ---- Setting up and taking down -------------------------------------------------------------------- */

static void open_town(struct town *t, const struct mot_live_options *o, const struct mot_needs *needs)
{
    struct mot_live *l = &t->live;
    uint32_t nodes = l->world.nodes, workers = l->world.workers;
    t->window = mot_needs_window(needs);
    mot_pool_open(&l->pool, l->world.dim, (uint32_t)needs->buffers + t->window + mot_live_buffers(l));
    l->pool.shared = true;
    mot_live_fill(l, o->x0);
    if (l->from) atomic_store(&t->samples, l->from->samples);
    if (o->watch) l->watch = *o->watch;
    l->job_us = mot_new(workers, sizeof(*l->job_us));
    pthread_mutex_init(&l->watch_lock, NULL);
    t->house = mot_new(nodes, sizeof(*t->house));
    t->box = mot_new(nodes, sizeof(*t->box));
    t->node = mot_new(nodes, sizeof(*t->node));
    t->nic = mot_new(nodes, sizeof(*t->nic));
    pthread_mutex_init(&t->nic_lock, NULL);
    t->wire_bytes = 4.0 * o->problem->net->parameters / o->problem->net->dim;
    t->crowded = nodes > mot_cores();
    t->slot = mot_new(t->window + 1, sizeof(*t->slot));
    for (uint32_t i = 0; i < t->window; i++) {
        t->slot[i].in = mot_new(workers, sizeof(struct mot_slice));
        t->slot[i].scalar = mot_new(workers, sizeof(double[MOT_SCALARS]));
        t->slot[i].progress = mot_new(workers, sizeof(struct mot_coll_progress));
    }
    for (mot_node i = 0; i < nodes; i++) {
        struct mailbox *b = &t->box[i];
        pthread_mutex_init(&b->lock, NULL);
        b->room = needs->most.sends + 8;
        b->letter = mot_new(b->room, sizeof(*b->letter));
        t->house[i] = (struct house){ .town = t,
            .self = i,
            .port = { .send = port_send,
                .join = port_join,
                .poll = port_poll,
                .idle = port_idle,
                .end = port_end,
                .ended = port_ended,
                .samples = port_samples } };
        mot_live_node_open(&t->node[i], l, &t->house[i].port, i);
        if (o->record) t->node[i].tape = &o->record->tape[i];
    }
}

static void close_town(struct town *t)
{
    for (mot_node i = 0; i < t->live.world.nodes; i++) {
        mot_live_node_close(&t->node[i]);
        pthread_mutex_destroy(&t->box[i].lock);
        free(t->box[i].letter);
    }
    for (uint32_t i = 0; i < t->window; i++) {
        free(t->slot[i].in);
        free(t->slot[i].scalar);
        free(t->slot[i].progress);
    }
    pthread_mutex_destroy(&t->nic_lock);
    pthread_mutex_destroy(&t->live.watch_lock);
    free((void *)t->live.job_us);
    free(t->slot);
    free(t->nic);
    free(t->node);
    free(t->box);
    free(t->house);
    mot_pool_close(&t->live.pool);
}

static void *node_main(void *p)
{
    struct mot_live_node *n = p;
    /* The kernel wakes sleepers up to 50 us late to save power; emulated links are finer than that. */
    if (n->live->emulate) prctl(PR_SET_TIMERSLACK, 1);
    mot_live_node_run(n);
    return NULL;
}

/* What the nodes know of their time, and of whose gradients they used. */
static void gather(struct town *t, struct mot_outcome *out)
{
    const struct mot_world *w = &t->live.world;
    uint64_t bytes = 0, messages = 0, events = 0, steps = 0;
    struct mot_notes notes = { 0 };
    for (mot_node i = 0; i < w->nodes; i++) {
        struct mot_live_node *n = &t->node[i];
        mot_time busy = n->tally.compute + n->tally.wait;
        /* what is left: messages and updates */
        n->tally.send = out->last.now > busy ? out->last.now - busy : 0;
        out->node[i] = n->tally;
        bytes += n->tally.bytes_sent;
        messages += n->tally.messages_sent;
        events += n->events;
        steps += n->advanced;
        mot_notes_merge(&notes, &n->notes);
        if (n->status != MOT_OK && strcmp(out->ended_by, "target") != 0) { /* what came after it is void */
            out->status = n->status;
            out->ended_by = mot_status_name(n->status);
        }
    }
    for (mot_node s = w->workers; s < w->nodes; s++)
        for (mot_node i = 0; i < w->workers; i++) out->node[i].updates += t->node[s].credit[i];
    out->last.bytes_sent = bytes;
    out->last.messages = messages;
    out->last.events = events;
    out->last.steps = steps;
    mot_outcome_note(out, &notes);
}

static enum mot_status run_town(struct town *t, const struct mot_live_options *o, struct mot_outcome *out)
{
    struct mot_live *l = &t->live;
    uint32_t nodes = l->world.nodes, started = 0;
    pthread_t *thread = mot_new(nodes, sizeof(*thread));
    enum mot_status status = MOT_OK;
    for (mot_node i = 0; i < nodes; i++) {
        struct mot_env env = { .self = i,
            .world = &t->node[i].world,
            .conf = l->experiment->method_conf,
            .pool = &l->pool,
            .out = &t->node[i].outbox };
        l->experiment->method->init(t->node[i].state, &env);
    }
    status = mot_judge_open(l, &t->node[l->lead], o->watch, o->interrupt, &l->judge);
    if (status != MOT_OK) {
        free(thread);
        return status;
    }
    if (mot_judge_knows_end(l->judge)) port_end(&t->house[0].port);
    l->began_ns += mot_live_now(l) - t->begins_at; /* the clock starts when the nodes do */
    while (started < nodes && pthread_create(&thread[started], NULL, node_main, &t->node[started]) == 0)
        started++;
    if (started < nodes) {
        status = mot_fail(
            MOT_ESYSTEM, "only %u of %u threads could be started; use fewer workers", started, nodes);
        port_end(&t->house[0].port);
    }
    for (uint32_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
    mot_time took = mot_live_now(l);
    mot_judge_close(l->judge, out);
    out->last.now = took;
    out->wall_s = (double)(took - t->begins_at) * 1e-9;
    gather(t, out);
    out->has_faults = t->weather != NULL;
    out->faults = mot_weather_tally(t->weather);
    for (mot_node i = 0; i < nodes; i++) out->faults.poisoned += t->node[i].poisoned;
    free(thread);
    if (status != MOT_OK) mot_outcome_close(out);
    return status;
}

enum mot_status mot_threads_run(const struct mot_live_options *o, struct mot_outcome *out)
{
    struct town *t = mot_new(1, sizeof(*t));
    const struct mot_experiment *x = o->experiment;
    t->part_rows = mot_new(o->problem->sampler.parts->parts, sizeof(*t->part_rows));
    t->batch = mot_new(x->workers, sizeof(*t->batch));
    t->live = (struct mot_live){ .experiment = x,
        .problem = o->problem,
        .emulate = o->emulate,
        .checkpoint = o->checkpoint,
        .keeps = o->checkpoint != NULL,
        .hash = o->hash };
    mot_world_fill(x, o->problem, o->optim, t->part_rows, t->batch, &t->live.world);
    enum mot_status status = mot_world_check(x, &t->live.world);
    struct mot_live_checkpoint from = { 0 };
    if (status == MOT_OK && o->emulate) status = mot_weather_open(x->cluster, x->seed, &t->weather);
    if (status == MOT_OK && o->resume) status = mot_live_load(o->checkpoint, o->hash, &t->live.world, &from);
    if (status == MOT_OK) mot_live_begin(&t->live, o->resume ? &from : NULL);
    bool was_over = t->live.over && o->settled;
    if (was_over) t->live.checkpoint = NULL;
    if (status == MOT_OK && o->begins && !was_over) status = o->begins(o->begins_self, from.mark);
    if (status == MOT_OK) {
        struct mot_needs needs = mot_needs_of(x, &t->live.world);
        t->begins_at = from.now;
        t->live.began_ns = mot_live_now(&t->live) - from.now;
        open_town(t, o, &needs);
        status = run_town(t, o, out);
        if (status == MOT_OK) out->was_over = was_over;
        close_town(t);
    }
    mot_weather_close(t->weather);
    mot_live_checkpoint_free(&from);
    free(t->part_rows);
    free(t->batch);
    free(t);
    return status;
}

/* ---- Profiles --------------------------------------------------------------------------------------- */

struct probe {
    struct mot_profile *profile;
    struct mot_live_node *node;
};

static void *probe_main(void *p)
{
    struct probe *probe = p;
    mot_profile_node(probe->profile, probe->node);
    return NULL;
}

static enum mot_status probe_town(struct town *t, struct mot_profile *profile)
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
        port_end(&t->house[0].port);
    } else {
        probe_main(&probe[0]);
    }
    for (uint32_t i = 1; i < started; i++) pthread_join(thread[i], NULL);
    free(probe);
    free(thread);
    return status;
}

enum mot_status mot_threads_profile(const struct mot_live_options *o, struct mot_profile *profile)
{
    struct town *t = mot_new(1, sizeof(*t));
    const struct mot_experiment *x = o->experiment;
    struct mot_profile asked = *profile;
    t->part_rows = mot_new(o->problem->sampler.parts->parts, sizeof(*t->part_rows));
    t->batch = mot_new(x->workers, sizeof(*t->batch));
    t->live = (struct mot_live){ .experiment = x, .problem = o->problem };
    mot_world_fill(x, o->problem, o->optim, t->part_rows, t->batch, &t->live.world);
    mot_live_begin(&t->live, NULL);
    enum mot_status status = mot_world_check(x, &t->live.world);
    if (status == MOT_OK) {
        struct mot_needs needs = mot_needs_of(x, &t->live.world);
        needs.buffers += 3 * t->live.world.nodes;
        mot_profile_open(profile, &t->live.world, asked.seconds);
        profile->interrupt = asked.interrupt;
        profile->progress = asked.progress;
        profile->progress_self = asked.progress_self;
        t->live.began_ns = mot_live_now(&t->live);
        open_town(t, o, &needs);
        status = probe_town(t, profile);
        close_town(t);
        if (status != MOT_OK) mot_profile_close(profile);
    }
    free(t->part_rows);
    free(t->batch);
    free(t);
    return status;
}
