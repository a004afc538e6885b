/* threads.c -- nodes as threads of one process.
 *
 * A message is an entry in the receiver's mailbox; its body stays where it is, in the shared pool. When
 * emulating, an entry is not seen before the simulated links would have delivered it. Collectives are in
 * threads_sum.c. */
#include "live/threads.h"
#include "base/crew.h"
#include "base/memory.h"
#include "live/profile.h"
#include "live/threads_state.h"
#include "live/weather.h"
#include "run/memory_plan.h"
#include "run/world.h"
#include "sim/sim.h"
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define LOOK_UP_NS UINT64_C(50000000) /* how often a sleeper checks clock and interrupt */

/* ---- Mailboxes ------------------------------------------------------------------------------ */

void mot_threads_post(struct mot_threads *t, mot_node to, const struct mot_letter *l)
{
    struct mot_mailbox *b = &t->box[to];
    pthread_mutex_lock(&b->lock);
    /* room is made for what need() declares; tokens of a collective may need more, once */
    if (b->n == b->room) {
        uint32_t room = b->room * 2;
        struct mot_letter *more = mot_new(room, sizeof(*more));
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
static bool fetch(struct mot_threads *t, mot_node self, struct mot_letter *out, mot_time *next)
{
    struct mot_mailbox *b = &t->box[self];
    bool found = false;
    *next = MOT_NEVER;
    if (atomic_load(&b->waiting) == 0) return false;
    mot_time now = t->live.emulate ? mot_live_now(&t->live) : MOT_NEVER;
    pthread_mutex_lock(&b->lock);
    for (uint32_t i = 0; i < b->n && !found; i++) {
        struct mot_letter *l = &b->letter[(b->first + i) % b->room];
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

mot_time mot_threads_due_at(struct mot_threads *t, mot_node from, mot_node to, uint64_t bytes)
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
    struct mot_thread_port *me = (struct mot_thread_port *)p;
    struct mot_threads *t = me->threads;
    uint64_t bytes = mot_message_bytes(&t->live.world, &t->live.pool, m, t->wire_bytes);
    struct mot_letter l = { .due = mot_threads_due_at(t, me->self, m->to, bytes),
        .message = *m,
        .samples = t->node[me->self].actor.tally.samples };
    if (t->live.place && me->self < t->live.world.workers) l.place = mot_place_now(&t->live.place[me->self]);
    if (t->live.watch.flight) l.sent = mot_live_now(&t->live);
    if (t->node[me->self].took) l.took = t->node[me->self].took[m->to];
    mot_threads_post(t, m->to, &l);
}

/* Emulates a stall: the node stands still, and its job is prolonged by as much. */
static void stand_still(struct mot_thread_port *me)
{
    struct mot_threads *t = me->threads;
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
    struct mot_thread_port *me = (struct mot_thread_port *)p;
    struct mot_letter l;
    mot_time next;
    if (me->threads->weather) stand_still(me);
    while (fetch(me->threads, me->self, &l, &next)) {
        if (l.token) {
            mot_threads_token(me, &l);
            continue;
        }
        *out = (struct mot_arrival){ .kind = MOT_ARRIVAL_MESSAGE,
            .message = l.message,
            .sender_samples = l.samples,
            .place = l.place,
            .sent = l.sent,
            .took = l.took };
        return true;
    }
    return mot_threads_sum_ready(me, out);
}

/* ---- The rest of a port ------------------------------------------------------------------------- */

static void port_idle(struct mot_port *p, mot_time until)
{
    struct mot_thread_port *me = (struct mot_thread_port *)p;
    struct mot_threads *t = me->threads;
    struct mot_mailbox *b = &t->box[me->self];
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
    if (!t->live.emulate && mot_threads_can_go_on(me)) return;
    if (next < until) until = next;
    if (until <= now || atomic_load(&t->ended)) return;
    uint64_t ns = until - now < LOOK_UP_NS ? until - now : LOOK_UP_NS;
    mot_bell_wait(&b->bell, heard, ns, t->crowded);
}

static void port_end(struct mot_port *p)
{
    struct mot_threads *t = ((struct mot_thread_port *)p)->threads;
    atomic_store(&t->ended, true);
    for (mot_node i = 0; i < t->live.world.nodes; i++) mot_bell_ring(&t->box[i].bell);
}

static void port_ask(struct mot_port *p, uint64_t number, uint64_t at)
{
    struct mot_threads *t = ((struct mot_thread_port *)p)->threads;
    (void)number;
    (void)at;
    for (mot_node i = 0; i < t->live.world.nodes; i++) mot_bell_ring(&t->box[i].bell); /* sleepers look up */
}

/* Workers at their own pace never wait. Where threads outnumber cores, the others get a turn after each step,
 * unless that takes long; then sharing the cores out is left to the kernel. */
static void port_paced(struct mot_port *p)
{
    struct mot_thread_port *me = (struct mot_thread_port *)p;
    if (me->threads->crowded) mot_turn_yield(&me->threads->box[me->self].bell.turn);
}

/* Works whatever the worker is doing: it may be ahead, but has kept what is wanted. */
static void port_want(struct mot_port *p, const struct mot_want *w)
{
    struct mot_threads *t = ((struct mot_thread_port *)p)->threads;
    struct mot_left left;
    bool has = mot_rests_after(&t->node[w->worker], w->server, w->number, &left);
    MOT_ASSERT(has);
    mot_live_judge_rest(t->live.judge, w, &left, NULL);
}

static bool port_ended(const struct mot_port *p)
{
    return atomic_load(&((const struct mot_thread_port *)p)->threads->ended);
}

static uint64_t port_samples(struct mot_port *p, uint64_t more)
{
    return atomic_fetch_add(&((struct mot_thread_port *)p)->threads->samples, more) + more;
}

/* ---- Setting up and taking down -------------------------------------------------------------------- */

static enum mot_status open_threads(
    struct mot_threads *t, const struct mot_driver_options *o, const struct mot_needs *needs)
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
    mot_threads_open_sums(t);
    for (mot_node i = 0; !mot_memory_refused() && i < nodes; i++) {
        struct mot_mailbox *b = &t->box[i];
        pthread_mutex_init(&b->lock, NULL);
        b->room = needs->most.sends + 8;
        b->letter = mot_new_large(b->room, sizeof(*b->letter));
        t->port[i] = (struct mot_thread_port){ .threads = t,
            .self = i,
            .port = { .send = port_send,
                .join = mot_threads_join,
                .give = mot_threads_give,
                .poll = port_poll,
                .idle = port_idle,
                .end = port_end,
                .ended = port_ended,
                .samples = port_samples,
                .ask = port_ask,
                .paced = port_paced,
                .want = port_want } };
        mot_live_node_open(&t->node[i], l, &t->port[i].port, i);
        if (o->record) t->node[i].tape = &o->record->tape[i];
    }
    return mot_memory_status();
}

static void close_threads(struct mot_threads *t)
{
    for (mot_node i = 0; t->node && t->box && i < t->live.world.nodes; i++) {
        mot_live_node_close(&t->node[i]);
        pthread_mutex_destroy(&t->box[i].lock);
        free(t->box[i].letter);
    }
    mot_threads_close_sums(t);
    if (t->nic) pthread_mutex_destroy(&t->nic_lock);
    free(t->nic);
    free(t->node);
    free(t->box);
    free(t->port);
    mot_live_release(&t->live);
}

static void *node_main(void *p)
{
    struct mot_live_node *n = p;
    mot_spare_use(((struct mot_thread_port *)n->port)->threads->spare);
    /* The kernel wakes sleepers up to 50 us late to save power; emulated links are finer than that. */
    if (n->live->emulate) prctl(PR_SET_TIMERSLACK, 1);
    mot_live_node_run(n);
    return NULL;
}

/* Collects the nodes' time accounts and whose gradients they used. */
static void gather(struct mot_threads *t, struct mot_outcome *out)
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
    struct mot_threads *t, const struct mot_driver_options *o, struct mot_outcome *out)
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
    if (started == nodes) mot_live_judge_ask_last(l->judge);
    mot_live_judge_close(l->judge, out);
    out->last.now = took;
    out->wall_s = (double)(took - t->begins_at) * 1e-9;
    gather(t, out);
    free(thread);
    if (status == MOT_OK) status = mot_memory_status();
    if (status != MOT_OK) mot_outcome_close(out);
    return status;
}

static const struct mot_live_hosted all_nodes = { .leads = true };

static enum mot_status plan(const struct mot_driver_options *o, struct mot_memory_plan *out)
{
    return mot_live_plan(o, &all_nodes, mot_sim_buffers(o, true), out);
}

static enum mot_status check_memory(const struct mot_driver_options *o)
{
    struct mot_memory_plan most;
    enum mot_status status = mot_live_plan(o, &all_nodes, 0, &most);
    return status == MOT_OK ? mot_memory_plan_check(o, &most, plan) : status;
}

static enum mot_status run(const struct mot_driver_options *o, struct mot_outcome *out)
{
    struct mot_threads *t = mot_new(1, sizeof(*t));
    t->spare = mot_spare_mine();
    const struct mot_experiment *x = o->experiment;
    enum mot_status status = check_memory(o);
    if (status == MOT_OK) status = mot_live_open(&t->live, o);
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

const struct mot_driver mot_driver_threads = { .name = "threads", .live = true, .run = run, .plan = plan };

/* ---- Profiles --------------------------------------------------------------------------------------- */

struct probe {
    struct mot_profile *profile;
    struct mot_live_node *node;
};

static void *probe_main(void *p)
{
    struct probe *probe = p;
    mot_spare_use(((struct mot_thread_port *)probe->node->port)->threads->spare);
    mot_profile_node(probe->profile, probe->node);
    return NULL;
}

static enum mot_status probe_threads(struct mot_threads *t, struct mot_profile *profile)
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
    struct mot_threads *t = mot_new(1, sizeof(*t));
    t->spare = mot_spare_mine();
    const struct mot_experiment *x = o->experiment;
    enum mot_status status = mot_live_open(&t->live, o);
    if (status == MOT_OK) {
        struct mot_needs needs = mot_needs_of(x, &t->live.world);
        needs.buffers += 3 * t->live.world.nodes;
        mot_live_begin(&t->live, NULL);
        status = mot_profile_open(profile, &t->live.world);
        profile->threads = true;
        t->live.began_ns = mot_live_now(&t->live);
        if (status == MOT_OK) {
            status = open_threads(t, o, &needs);
            if (status == MOT_OK) status = probe_threads(t, profile);
            close_threads(t);
        }
        if (status != MOT_OK) mot_profile_close(profile);
    }
    mot_live_close(&t->live);
    free(t);
    return status;
}
