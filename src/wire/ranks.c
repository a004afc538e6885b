/* ranks.c -- a run over ranks from its beginning to its end: joining, agreeing, the nodes' loop, the
 * accounts, leaving.
 *
 * A rank leaves only when rank 0 has written everything and said so: a launcher takes a rank that
 * ends early for a failure and kills the rest. */
#include "base/crew.h"
#include "base/memory.h"
#include "wire/neighbour.h"
#include "live/profile.h"
#include "wire/ranks_state.h"
#include "run/world.h"
#include "math/kernels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

bool mot_ranks_built(void) { return mot_wire_built(); }
uint32_t mot_ranks_rank(void) { return mot_crowd.wire.rank; }
uint32_t mot_ranks_count(void) { return mot_crowd.wire.ranks; }
uint32_t mot_ranks_here(void) { return mot_crowd.here; }

/* ---- Who is where --------------------------------------------------------------------------- */

static bool server_alone(const struct crowd *p)
{
    return p->live.experiment->mpi.own && p->live.world.servers > 0 && !p->profiles;
}

mot_node mot_ranks_first_node(const struct crowd *p, uint32_t rank)
{
    const struct mot_world *w = &p->live.world;
    if (!server_alone(p)) return rank;
    return rank < w->servers ? w->workers + rank : rank - w->servers;
}

uint32_t mot_ranks_of(const struct crowd *p, mot_node node)
{
    const struct mot_world *w = &p->live.world;
    if (node >= w->workers) return (node - w->workers) % p->wire.ranks;
    return server_alone(p) ? node + w->servers : node;
}

/* Nodes that take part; a profile measures no servers. */
static uint32_t nodes_of(const struct crowd *p)
{
    return p->profiles ? p->live.world.workers : p->live.world.nodes;
}

enum mot_status mot_ranks_fit(const struct mot_experiment *x, uint32_t ranks)
{
    if (ranks == 0) ranks = mot_crowd.wire.ranks;
    uint32_t own = x->mpi.own ? x->servers : 0;
    const char *servers = own > 1 ? " and servers with ranks of their own"
        : own                     ? " and a server with a rank of its own"
                                  : "";
    if (own && x->mpi.fast)
        return mot_fail(MOT_EUSAGE,
            "mpi.reduction: fast sums over all ranks, but with mpi.place: own rank 0 has no worker; expected "
            "one of "
            "the two");
    if (ranks == x->workers + own) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "%u rank%s for %u worker%s%s; expected %u: --ranks %u or mpirun -n %u, or --workers %u", ranks,
        ranks == 1 ? "" : "s", x->workers, x->workers == 1 ? "" : "s", servers, x->workers + own,
        x->workers + own, x->workers + own, ranks > own ? ranks - own : 1);
}

enum mot_status mot_ranks_fit_profile(const struct mot_experiment *x, uint32_t ranks)
{
    if (ranks == 0) ranks = mot_crowd.wire.ranks;
    if (ranks == x->workers) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "%u rank%s for %u worker%s; a profile has a rank for each: --ranks %u or mpirun -n %u, or --workers "
        "%u",
        ranks, ranks == 1 ? "" : "s", x->workers, x->workers == 1 ? "" : "s", x->workers, x->workers, ranks);
}

/* ---- Joining ------------------------------------------------------------------------------------ */

struct introduction {
    struct mot_neighbour_id id;
    uint32_t life;
    char kernels[20];
};

/* Kernel sets differ in the last bits, so all use the same: what all have, or else the plain one. */
static enum mot_status settle_kernels(const struct introduction *who, uint32_t ranks)
{
    for (uint32_t r = 1; r < ranks; r++) {
        if (strcmp(who[r].kernels, who[0].kernels) == 0) continue;
        if (mot_kernels_use("generic")) return MOT_OK;
        return mot_fail(MOT_EREPRODUCE,
            "rank %u computes with kernels '%s', rank 0 with '%s', and there is no set that both have", r,
            who[r].kernels, who[0].kernels);
    }
    return MOT_OK;
}

static void open_lock(struct crowd *p)
{
    pthread_mutexattr_t again;
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&p->lock, &again);
    pthread_mutexattr_destroy(&again);
    pthread_cond_init(&p->wake, NULL);
}

enum mot_status mot_ranks_open(void)
{
    struct crowd *p = &mot_crowd;
    enum mot_status status = mot_wire_open(&p->wire);
    if (status != MOT_OK) return status;
    status = mot_kernels_open();
    struct introduction me = { .id = mot_neighbour_self(), .life = 1 };
    snprintf(me.kernels, sizeof(me.kernels), "%s", status == MOT_OK ? mot_kernels_name() : "none");
    struct introduction *who = mot_new(p->wire.ranks, sizeof(*who));
    mot_wire_exchange(&me, who, sizeof(me));
    p->peer = mot_new(p->wire.ranks, sizeof(*p->peer));
    uint64_t now = mot_ranks_clock();
    for (uint32_t r = 0; r < p->wire.ranks; r++) {
        mot_line_open(&p->peer[r].line, me.life, now);
        p->peer[r].neighbour = p->wire.rank == 0 || r == 0 ? mot_neighbour_open(&who[r].id) : -1;
        p->here += who[r].id.machine == me.id.machine;
    }
    p->crowded = p->here > mot_cores();
    p->looked_ns = now;
    if (status == MOT_OK) status = settle_kernels(who, p->wire.ranks);
    free(who);
    open_lock(p);
    p->kept = pthread_create(&p->keeper, NULL, mot_ranks_keep, p) == 0;
    return status;
}

/* ---- Agreeing ------------------------------------------------------------------------------------- */

static void name_lost(const struct crowd *p, const char *when)
{
    mot_fail(MOT_EPEER, "rank %u was lost%s, by %s", p->first_lost, when, p->peer[p->first_lost].by);
}

static enum mot_status judge_hellos(struct crowd *p, enum mot_status mine, uint64_t hash)
{
    if (mine != MOT_OK) return mine; /* the message is rank 0's own */
    for (uint32_t r = 1; r < p->wire.ranks; r++) {
        struct peer *peer = &p->peer[r];
        if (!peer->lost && peer->hello_status != MOT_OK)
            return mot_fail((enum mot_status)peer->hello_status, "rank %u: %s", r,
                peer->hello_text ? peer->hello_text : "failed");
        if (!peer->lost && peer->hello_hash != hash)
            return mot_fail(MOT_EREPRODUCE,
                "rank %u has read another experiment, other data or another model to begin with than rank 0; "
                "every rank must see the same files and settings",
                r);
    }
    if (p->losses) {
        name_lost(p, " before the run began");
        return MOT_EPEER;
    }
    return MOT_OK;
}

static bool all_said_hello(const struct crowd *p)
{
    for (uint32_t r = 1; r < p->wire.ranks; r++)
        if (!p->peer[r].lost && !p->peer[r].said_hello) return false;
    return true;
}

enum mot_status mot_ranks_agree(enum mot_status mine, uint64_t hash)
{
    struct crowd *p = &mot_crowd;
    static char text[1024]; /* lies still until it is sent */
    p->agreements++;
    if (p->wire.rank == 0) {
        while (!all_said_hello(p)) mot_ranks_rest(p, MOT_NEVER);
        enum mot_status status = judge_hellos(p, mine, hash);
        /* there may be a next time */
        for (uint32_t r = 1; r < p->wire.ranks; r++) p->peer[r].said_hello = false;
        snprintf(text, sizeof(text), "%s", status == MOT_OK ? "" : mot_error());
        for (uint32_t r = 1; r < p->wire.ranks; r++) {
            struct mot_envelope e = {
                .kind = MOT_ENVELOPE_VERDICT, .to = r, .status = status, .bytes = strlen(text)
            };
            mot_ranks_post(p, r, &e, text, 0);
        }
        return status;
    }
    snprintf(text, sizeof(text), "%s", mine == MOT_OK ? "" : mot_error());
    struct mot_envelope e = {
        .kind = MOT_ENVELOPE_HELLO, .from = p->wire.rank, .status = mine, .round = hash, .bytes = strlen(text)
    };
    p->agreed = false;
    mot_ranks_post(p, 0, &e, text, 0);
    while (!p->agreed && !p->orphan) mot_ranks_rest(p, MOT_NEVER);
    if (p->orphan) return mot_fail(MOT_EPEER, "rank 0 was lost before the run began");
    if (p->verdict != MOT_OK)
        mot_fail((enum mot_status)p->verdict, "%s", p->verdict_text ? p->verdict_text : "");
    return (enum mot_status)p->verdict;
}

/* ---- The run ------------------------------------------------------------------------------------------ */

static void open_berths(struct crowd *p)
{
    uint32_t here = 0, n = 0;
    for (mot_node i = 0; i < nodes_of(p); i++) here += mot_ranks_of(p, i) == p->wire.rank;
    struct berth *berth = mot_new(here, sizeof(*berth));
    for (mot_node i = 0; i < nodes_of(p); i++)
        if (mot_ranks_of(p, i) == p->wire.rank) mot_ranks_port_open(p, &berth[n++], i);
    pthread_mutex_lock(&p->lock); /* the keeper looks at them */
    p->berth = berth;
    p->berths = here;
    pthread_mutex_unlock(&p->lock);
}

static void close_berths(struct crowd *p)
{
    pthread_mutex_lock(&p->lock);
    uint32_t n = p->berths;
    p->berths = 0;
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 0; i < n; i++) mot_ranks_port_close(p, &p->berth[i]);
    free(p->berth);
}

static void open_crowd(struct crowd *p, const struct mot_live_options *o)
{
    struct mot_live *l = &p->live;
    struct mot_needs needs = mot_needs_of(l->experiment, &l->world);
    uint32_t window = mot_needs_window(&needs);
    /* Address space for the most that anyone can have sent here; only what comes costs memory. */
    uint64_t shown = needs.shown * MOT_LIVE_SHOWN;
    mot_pool_open(&l->pool, l->world.dim,
        (uint32_t)(needs.buffers + needs.sends + shown) + window + mot_live_buffers(l));
    l->pool.shared = true; /* with the judge's evaluations */
    l->job_us = mot_new(l->world.workers, sizeof(*l->job_us));
    pthread_mutex_init(&l->watch_lock, NULL);
    if (o->watch) l->watch = *o->watch;
    mot_live_fill(l, o->x0);
    p->wire_bytes = 4.0 * o->problem->net->parameters / o->problem->net->dim;
    p->final = mot_new(l->world.nodes, sizeof(*p->final));
    p->said_final = mot_new(l->world.nodes, sizeof(*p->said_final));
    if (p->wire.rank == 0 && l->showing > 1) p->show = mot_new(l->world.nodes, sizeof(*p->show));
    open_berths(p);
    mot_ranks_sums_open(p, window);
}

static void begin_methods(struct crowd *p, const struct mot_live_options *o)
{
    struct mot_live *l = &p->live;
    for (uint32_t i = 0; i < p->berths; i++) {
        struct mot_live_node *n = &p->berth[i].node;
        if (o->record) n->tape = &o->record->tape[n->self];
        struct mot_env env = { .self = n->self,
            .world = &n->world,
            .conf = l->experiment->method_conf,
            .pool = &l->pool,
            .out = &n->outbox };
        l->experiment->method->init(n->state, &env);
    }
}

static void close_crowd(struct crowd *p)
{
    /* the wire may still write to what a lost rank owes us; the process ends soon */
    if (p->losses || p->orphan) return;
    p->running = false;
    close_berths(p);
    free(p->final);
    free(p->said_final);
    for (mot_node i = 0; p->show && i < p->live.world.nodes; i++) mot_copy_free(&p->show[i].copy);
    free(p->show);
    mot_ranks_sums_close(p);
    mot_pool_close(&p->live.pool);
    pthread_mutex_destroy(&p->live.watch_lock);
    free((void *)p->live.job_us);
}

static void run_nodes(struct crowd *p)
{
    bool over = false;
    for (uint32_t i = 0; i < p->berths; i++) mot_live_node_begin(&p->berth[i].node);
    while (!over) {
        bool did = false;
        mot_time next = MOT_NEVER, its;
        over = true;
        for (uint32_t i = 0; i < p->berths; i++) {
            struct mot_live_node *n = &p->berth[i].node;
            if (mot_live_node_over(n)) continue;
            over = false;
            if (mot_live_node_turn(n, &its)) did = true;
            else if (its < next) next = its;
        }
        if (!did && !over) mot_ranks_rest(p, next);
    }
    for (uint32_t i = 0; i < p->berths; i++) mot_live_node_end(&p->berth[i].node);
}

static bool all_said_final(const struct crowd *p)
{
    for (mot_node i = 0; i < nodes_of(p); i++) {
        uint32_t rank = mot_ranks_of(p, i);
        if (rank != 0 && !p->peer[rank].lost && !p->said_final[i]) return false;
    }
    return true;
}

static struct rank_final final_of(const struct mot_live_node *n)
{
    struct rank_final f = { .tally = n->tally,
        .events = n->events,
        .advanced = n->advanced,
        .poisoned = n->poisoned,
        .status = n->status,
        .out_of_data = n->out_of_data,
        .notes = n->notes };
    for (uint32_t i = 0; i < n->notes.n; i++)
        snprintf(f.key[i], sizeof(f.key[i]), "%s", n->notes.note[i].key);
    return f;
}

/* Keys that came from elsewhere are kept by the outcome. */
static void merge_notes(struct mot_notes *into, struct rank_final *f, struct mot_outcome *out)
{
    for (uint32_t i = 0; i < f->notes.n; i++) f->notes.note[i].key = mot_arena_text(&out->arena, f->key[i]);
    mot_notes_merge(into, &f->notes);
}

/* What all ranks did, into the outcome of the judge. */
static void gather(struct crowd *p, struct mot_outcome *out)
{
    const struct mot_world *w = &p->live.world;
    struct mot_notes notes = { 0 };
    out->has_faults = p->live.emulate && p->live.experiment->cluster->faults.any;
    out->last.bytes_sent = out->last.messages = out->last.events = out->last.steps = 0;
    for (mot_node i = 0; i < w->nodes; i++) {
        uint32_t rank = mot_ranks_of(p, i);
        struct rank_final f = { .tally.samples = i < w->workers ? p->peer[rank].samples : 0 };
        if (rank == 0) f = final_of(&mot_ranks_berth(p, i)->node);
        else if (p->said_final[i]) f = p->final[i];
        mot_time busy = f.tally.compute + f.tally.wait;
        /* what is left: messages and updates */
        f.tally.send = out->last.now > busy ? out->last.now - busy : 0;
        out->node[i] = f.tally;
        out->last.bytes_sent += f.tally.bytes_sent;
        out->last.messages += f.tally.messages_sent;
        out->last.events += f.events;
        out->last.steps += f.advanced;
        merge_notes(&notes, &f, out);
        out->faults.poisoned += f.poisoned;
        if (f.status != MOT_OK && strcmp(out->ended_by, "target") != 0) { /* what came after it is void */
            out->status = (enum mot_status)f.status;
            out->ended_by = mot_status_name(out->status);
        }
    }
    const struct mot_live_node *lead = &mot_ranks_berth(p, p->live.lead)->node;
    for (mot_node i = 0; i < w->workers && w->servers; i++) out->node[i].updates += lead->credit[i];
    mot_outcome_note(out, &notes);
    if (p->losses == 0) return;
    /* SIGTERM is how launchers end a job that has lost a rank; people press Ctrl-C. */
    const volatile sig_atomic_t *interrupt = p->options->interrupt;
    if (out->status == MOT_EINTERRUPTED && interrupt && *interrupt == SIGTERM) {
        out->status = MOT_EPEER;
        out->ended_by = mot_status_name(MOT_EPEER);
    }
    out->has_peer = out->status == MOT_EPEER;
    out->peer = mot_ranks_first_node(p, p->first_lost);
    out->peer_at = p->peer[p->first_lost].lost_at;
    out->peer_by = p->peer[p->first_lost].by;
}

static void await_finals(struct crowd *p)
{
    while (!all_said_final(p) || !mot_ranks_all_shown(p) || (mot_wire_sending() && p->losses == 0))
        mot_ranks_rest(p, MOT_NEVER);
}

static void lead_run(struct crowd *p, mot_time began, struct mot_outcome *out)
{
    if (mot_judge_knows_end(p->live.judge)) mot_ranks_end(p);
    run_nodes(p);
    await_finals(p);
    mot_time took = mot_live_now(&p->live);
    mot_judge_close(p->live.judge, out);
    p->live.judge = NULL;
    out->last.now = took;
    out->wall_s = (double)(took - began) * 1e-9;
    gather(p, out);
}

/* Rank 0 cannot say any more that it was lost: what another knows of the run. */
static void obituary(struct crowd *p, struct mot_outcome *out)
{
    const struct mot_world *w = &p->live.world;
    const struct mot_live_node *n = &p->berth[0].node;
    *out = (struct mot_outcome){ .status = MOT_EPEER,
        .ended_by = mot_status_name(MOT_EPEER),
        .workers = w->workers,
        .servers = w->servers,
        .has_peer = true,
        .peer = w->servers ? w->workers : 0,
        .peer_at = p->peer[0].lost_at,
        .peer_by = p->peer[0].by,
        .node = mot_new(w->nodes, sizeof(*out->node)) };
    out->node[n->self] = n->tally;
    out->last = (struct mot_moment){ .now = mot_live_now(&p->live),
        .updates = n->advanced,
        .steps = n->advanced,
        .staleness_mean = NAN,
        .staleness_max = NAN,
        .active_jobs = NAN,
        .consensus = NAN,
        .slowest = NAN,
        .slowest_factor = NAN,
        .score = MOT_SCORE_UNKNOWN };
    out->wall_s = (double)out->last.now * 1e-9;
}

/* Says what this rank did, and stays until rank 0 is done; the status is rank 0's. */
static enum mot_status await_bye(struct crowd *p)
{
    while (mot_wire_sending() && p->losses == 0 && !p->orphan) mot_ranks_rest(p, MOT_NEVER);
    for (uint32_t i = 0; i < p->berths && !p->orphan; i++) {
        mot_node node = p->berth[i].node.self;
        struct rank_final *final = &p->final[node]; /* lies still until it is sent */
        *final = final_of(&p->berth[i].node);
        struct mot_envelope e = {
            .kind = MOT_ENVELOPE_FINAL, .from = node, .bytes = sizeof(*final), .samples = final->tally.samples
        };
        mot_ranks_post(p, 0, &e, final, 0);
    }
    while (!p->bye && !p->orphan) mot_ranks_rest(p, MOT_NEVER);
    return p->orphan ? MOT_EPEER : (enum mot_status)p->verdict;
}

static void follow_run(struct crowd *p, struct mot_outcome *out)
{
    run_nodes(p);
    *out = (struct mot_outcome){ .status = await_bye(p) };
    if (p->peer[0].lost) obituary(p, out);
}

/* What must be the same everywhere: a rank with other settings would compute something else. */
static uint64_t hash_of(const struct mot_live_options *o, const struct mot_live_checkpoint *from)
{
    const struct mot_experiment *x = o->experiment;
    const uint64_t part[] = { o->hash, x->stop.updates, XXH64(&x->stop.epochs, sizeof(x->stop.epochs), 0),
        (uint64_t)x->checkpoint.unit, XXH64(&x->checkpoint.value, sizeof(x->checkpoint.value), 0), o->emulate,
        o->resume, from->step, from->samples,
        from->model ? XXH64(from->model[0].x, o->problem->net->dim * sizeof(float), 0) : 0 };
    return XXH64(part, sizeof(part), 0);
}

/* Opens what there is to receive into, and waits until all have: then the clocks start. */
static enum mot_status get_ready(
    struct crowd *p, const struct mot_live_options *o, const struct mot_live_checkpoint *from, bool was_over)
{
    struct mot_live *l = &p->live;
    enum mot_status status = MOT_OK;
    if (p->wire.rank == 0 && o->begins && !was_over) status = o->begins(o->begins_self, from->mark);
    open_crowd(p, o);
    begin_methods(p, o);
    p->samples0 = from->samples;
    l->began_ns = mot_ranks_clock() - from->now;
    if (p->wire.rank == 0 && status == MOT_OK)
        status = mot_judge_open(l, &mot_ranks_berth(p, l->lead)->node, o->watch, o->interrupt, &l->judge);
    p->running = true;
    status = mot_ranks_agree(status, 0);
    l->began_ns = mot_ranks_clock() - from->now;
    return status;
}

enum mot_status mot_ranks_run(const struct mot_live_options *o, struct mot_outcome *out)
{
    struct crowd *p = &mot_crowd;
    struct mot_live *l = &p->live;
    const struct mot_experiment *x = o->experiment;
    struct mot_live_checkpoint from = { 0 };
    p->options = o;
    p->part_rows = mot_new(o->problem->sampler.parts->parts, sizeof(*p->part_rows));
    p->batch = mot_new(x->workers, sizeof(*p->batch));
    *l = (struct mot_live){ .experiment = x,
        .problem = o->problem,
        .emulate = o->emulate,
        .hash = o->hash,
        .keeps = o->checkpoint != NULL,
        .checkpoint = p->wire.rank == 0 ? o->checkpoint : NULL };
    mot_world_fill(x, o->problem, o->optim, p->part_rows, p->batch, &l->world);
    enum mot_status status = mot_ranks_fit(x, 0);
    if (status == MOT_OK) status = mot_world_check(x, &l->world);
    if (status == MOT_OK && o->resume) status = mot_live_load(o->checkpoint, o->hash, &l->world, &from);
    status = mot_ranks_agree(status, status == MOT_OK ? hash_of(o, &from) : 0);
    if (status == MOT_OK) {
        mot_live_begin(l, o->resume ? &from : NULL);
        bool was_over = l->over && o->settled;
        if (was_over) l->checkpoint = NULL;
        status = get_ready(p, o, &from, was_over);
        if (status == MOT_OK && p->wire.rank == 0) lead_run(p, from.now, out);
        else if (status == MOT_OK) follow_run(p, out);
        else if (l->judge) {
            mot_judge_close(l->judge, out);
            mot_outcome_close(out);
        }
        if (status == MOT_OK) out->was_over = was_over;
        close_crowd(p);
    }
    mot_live_checkpoint_free(&from);
    free(p->part_rows);
    free(p->batch);
    p->options = NULL;
    return status;
}

/* ---- A profile ------------------------------------------------------------------------ */

/* Opens what there is to receive into, and waits until all have, as a run does. */
static enum mot_status ready_profile(
    struct crowd *p, const struct mot_live_options *o, struct mot_profile *profile)
{
    struct mot_profile asked = *profile;
    open_crowd(p, o); /* a run's buffers, and a judge's, are more than a profile takes */
    mot_profile_open(profile, &p->live.world, asked.seconds);
    profile->nodes = p->live.world.workers;
    profile->interrupt = o->interrupt;
    profile->progress = p->wire.rank == 0 ? asked.progress : NULL;
    profile->progress_self = asked.progress_self;
    p->live.began_ns = mot_ranks_clock();
    p->running = true;
    return mot_ranks_agree(MOT_OK, 0);
}

/* All are done when this comes back. A launcher interrupts those who are left when it has lost a rank, so
 * the loss is what counts. */
static enum mot_status take_profile(struct crowd *p, struct mot_profile *profile)
{
    mot_profile_node(profile, &p->berth[0].node);
    if (p->wire.rank != 0) return await_bye(p);
    await_finals(p);
    if (p->losses == 0) return MOT_OK;
    name_lost(p, " during the profile");
    return MOT_EPEER;
}

enum mot_status mot_ranks_profile(const struct mot_live_options *o, struct mot_profile *profile)
{
    struct crowd *p = &mot_crowd;
    const struct mot_experiment *x = o->experiment;
    const uint64_t same[] = { o->hash, profile->seconds };
    p->options = o;
    p->profiles = true;
    p->part_rows = mot_new(o->problem->sampler.parts->parts, sizeof(*p->part_rows));
    p->batch = mot_new(x->workers, sizeof(*p->batch));
    p->live = (struct mot_live){ .experiment = x, .problem = o->problem };
    mot_world_fill(x, o->problem, o->optim, p->part_rows, p->batch, &p->live.world);
    mot_live_begin(&p->live, NULL);
    p->live.showing = 1;
    enum mot_status status = mot_ranks_fit_profile(x, 0);
    if (status == MOT_OK) status = mot_world_check(x, &p->live.world);
    status = mot_ranks_agree(status, XXH64(same, sizeof(same), 0));
    if (status == MOT_OK) {
        status = ready_profile(p, o, profile);
        if (status == MOT_OK) status = take_profile(p, profile);
        if (status != MOT_OK || p->wire.rank != 0) mot_profile_close(profile);
        close_crowd(p);
    }
    free(p->part_rows);
    free(p->batch);
    p->options = NULL;
    return status;
}

/* ---- Leaving -------------------------------------------------------------------------- */

static void stop_keeper(struct crowd *p)
{
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    if (p->kept) pthread_join(p->keeper, NULL);
}

/* Ranks that are lost and yet there, stopped perhaps, would stay behind. */
static bool end_the_lost(struct crowd *p)
{
    bool all = true;
    for (uint32_t r = 0; r < p->wire.ranks; r++)
        if (p->peer[r].lost && !mot_neighbour_end(p->peer[r].neighbour)) all = false;
    return all;
}

static void forget_crowd(struct crowd *p)
{
    for (uint32_t r = 0; r < p->wire.ranks; r++) {
        mot_neighbour_close(p->peer[r].neighbour);
        free(p->peer[r].hello_text);
    }
    while (p->spare) {
        struct letter *next = p->spare->next;
        free(p->spare);
        p->spare = next;
    }
    free(p->peer);
    free(p->verdict_text);
}

void mot_ranks_leave(enum mot_status status)
{
    struct crowd *p = &mot_crowd;
    if (p->agreements == 0) status = mot_ranks_agree(status, 0); /* the others wait for what we have to say */
    if (p->wire.rank == 0) {
        for (uint32_t r = 1; r < p->wire.ranks; r++) {
            struct mot_envelope e = { .kind = MOT_ENVELOPE_BYE, .to = r, .status = status };
            mot_ranks_post(p, r, &e, NULL, 0);
        }
    } else {
        while (!p->bye && !p->orphan) mot_ranks_rest(p, MOT_NEVER);
    }
    stop_keeper(p);
    for (int i = 0; i < 1000 && mot_wire_sending(); i++) {
        mot_ranks_progress(p);
        if (p->losses || p->orphan) usleep(10); /* what goes to a lost rank never arrives */
    }
    fflush(NULL);
    if (p->losses == 0 && !p->orphan) {
        mot_wire_close(MOT_WIRE_FINISH, status);
        forget_crowd(p);
        exit(status);
    }
    bool none_left = end_the_lost(p);
    if (p->wire.rank == 0) mot_wire_close(none_left ? MOT_WIRE_LEAVE : MOT_WIRE_ABORT, status);
    _exit(status);
}
