/* ranks_run.c -- a run over ranks from start to end: the nodes' loop, the accounts; and profiles. */
#include "base/memory.h"
#include "compress/packet.h"
#include "base/stopwatch.h"
#include "live/profile.h"
#include "run/memory_plan.h"
#include "sim/sim.h"
#include "wire/ranks_state.h"
#include "run/world.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static void open_hosted(struct mot_ranks *p)
{
    uint32_t here = 0, n = 0;
    for (mot_node i = 0; i < mot_ranks_nodes(p); i++) here += mot_ranks_of(p, i) == p->transport->rank;
    struct hosted *hosted = mot_new(here, sizeof(*hosted));
    for (mot_node i = 0; i < mot_ranks_nodes(p); i++)
        if (mot_ranks_of(p, i) == p->transport->rank) mot_ranks_port_open(p, &hosted[n++], i);
    pthread_mutex_lock(&p->lock); /* the keeper reads them */
    p->hosted = hosted;
    p->hosts = here;
    pthread_mutex_unlock(&p->lock);
}

static void close_hosted(struct mot_ranks *p)
{
    pthread_mutex_lock(&p->lock);
    uint32_t n = p->hosts;
    p->hosts = 0;
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 0; i < n; i++) mot_ranks_port_close(p, &p->hosted[i]);
    free(p->hosted);
}

/* Messages with a body that a node may have in flight; in a profile, one to each node and back. */
static uint32_t sends_of(const struct mot_ranks *p, mot_node node)
{
    const struct mot_live *l = &p->live;
    return p->profiles ? 2 : mot_need_of(l->experiment, &l->world, node).sends;
}

static void open_nodes(struct mot_ranks *p, const struct mot_driver_options *o)
{
    struct mot_live *l = &p->live;
    struct mot_needs needs = mot_needs_of(l->experiment, &l->world);
    uint32_t window = mot_needs_window(&needs);
    mot_live_reserve(l, o, (uint32_t)mot_live_rank_buffers(&needs, &l->world));
    p->wire_bytes = 4.0 * o->problem->net->parameters / o->problem->net->dim;
    p->final = mot_new(l->world.nodes, sizeof(*p->final));
    p->said_final = mot_new(l->world.nodes, sizeof(*p->said_final));
    if (p->transport->rank == 0 && l->showing > 1) p->show = mot_new(l->world.nodes, sizeof(*p->show));
    p->sends_most = mot_new(l->world.nodes, sizeof(*p->sends_most));
    for (mot_node i = 0; i < l->world.nodes; i++) p->sends_most[i] = sends_of(p, i);
    p->body_most = l->world.compress ? mot_packet_most(l->world.dim) : (uint64_t)l->world.dim * sizeof(float);
    p->paced_at = 0;
    mot_ranks_held_open(p);
    open_hosted(p);
    mot_ranks_sums_open(p, window);
    mot_ranks_rows_open(p);
}

static void begin_methods(struct mot_ranks *p, const struct mot_driver_options *o)
{
    for (uint32_t i = 0; i < p->hosts; i++) {
        struct mot_live_node *n = &p->hosted[i].node;
        if (o->record) n->tape = &o->record->tape[n->actor.self];
        mot_live_node_init(n);
    }
}

/* The transport may still write to our memory for a lost rank; then nothing is freed, and the process ends
 * soon. */
static void close_nodes(struct mot_ranks *p)
{
    mot_ranks_let_go(p);
    mot_ranks_rows_drop(p);
    while (!p->keeps_memory && (p->receiving || mot_ranks_sending(p))) mot_ranks_rest(p, MOT_NEVER);
    if (p->keeps_memory) return;
    p->phase = PHASE_AFTER;
    close_hosted(p);
    free(p->final);
    free(p->said_final);
    for (mot_node i = 0; p->show && i < p->live.world.nodes; i++) mot_copy_free(&p->show[i].copy);
    free(p->show);
    free(p->sends_most);
    mot_ranks_sums_close(p);
    mot_ranks_rows_close(p);
    mot_ranks_held_close(p);
    free(p->rest_out);
    p->rest_out = NULL;
    p->rests_out = 0;
    mot_live_release(&p->live);
}

static void run_nodes(struct mot_ranks *p)
{
    bool over = false;
    for (uint32_t i = 0; i < p->hosts; i++) mot_live_node_begin(&p->hosted[i].node);
    while (!over) {
        bool did = false;
        mot_time next = MOT_NEVER, its;
        over = true;
        for (uint32_t i = 0; i < p->hosts; i++) {
            struct mot_live_node *n = &p->hosted[i].node;
            if (mot_live_node_over(n)) continue;
            over = false;
            if (mot_live_node_turn(n, &its)) did = true;
            else if (its < next) next = its;
        }
        if (!did && !over) mot_ranks_rest(p, next);
    }
    for (uint32_t i = 0; i < p->hosts; i++) mot_live_node_end(&p->hosted[i].node);
    if (p->ended) mot_ranks_rows_drop(p);
}

static bool all_said_final(const struct mot_ranks *p)
{
    for (mot_node i = 0; i < mot_ranks_nodes(p); i++) {
        uint32_t rank = mot_ranks_of(p, i);
        if (rank != 0 && !p->peer[rank].lost && !p->said_final[i]) return false;
    }
    return true;
}

static struct rank_final final_of(const struct mot_live_node *n)
{
    struct rank_final f = {
        .account = mot_live_node_account(n), .out_of_data = n->out_of_data, .notes = n->notes
    };
    for (uint32_t i = 0; i < n->notes.n; i++)
        snprintf(f.key[i], sizeof(f.key[i]), "%s", n->notes.note[i].key);
    return f;
}

/* How many of its keys are already known. */
static uint32_t keys_of(const struct mot_notes *into, const struct rank_final *f)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->notes.n; i++)
        for (uint32_t k = 0; k < into->n; k++) n += strcmp(into->note[k].key, f->key[i]) == 0;
    return n;
}

/* The outcome owns the keys that came from elsewhere. */
static void merge_notes(struct mot_notes *into, struct rank_final *f, struct mot_outcome *out)
{
    for (uint32_t i = 0; i < f->notes.n; i++) f->notes.note[i].key = mot_arena_text(&out->arena, f->key[i]);
    if (into->n + (f->notes.n - keys_of(into, f)) > MOT_NOTES_MAX) return; /* no method has that many */
    mot_notes_merge(into, &f->notes);
}

/* Adds what all ranks did to the judge's outcome. */
static void gather(struct mot_ranks *p, struct mot_outcome *out)
{
    const struct mot_world *w = &p->live.world;
    struct mot_notes notes = { 0 };
    bool dry = false;
    out->has_faults = p->live.emulate && p->live.experiment->cluster->faults.any;
    mot_traffic_open(&out->traffic, w);
    out->last.bytes_sent = out->last.rows_bytes = out->last.messages = out->last.events = out->last.steps = 0;
    for (mot_node i = 0; i < w->nodes; i++) {
        uint32_t rank = mot_ranks_of(p, i);
        struct rank_final f = { .account.tally.samples = i < w->workers ? p->peer[rank].samples : 0 };
        if (rank == 0) f = final_of(&mot_ranks_hosted(p, i)->node);
        else if (p->said_final[i]) f = p->final[i];
        mot_live_book(&f.account, i, out);
        merge_notes(&notes, &f, out);
        dry |= f.out_of_data != 0;
    }
    /* A source that ended elsewhere ended the run for all, before its last update. */
    if (dry && p->live.rings && out->status == MOT_OK && strcmp(out->ended_by, p->live.stop_by) == 0 &&
        out->last.updates < p->live.stop_at)
        out->ended_by = "data";
    const struct mot_live_node *lead = &mot_ranks_hosted(p, p->live.lead)->node;
    for (mot_node i = 0; i < w->workers && w->servers; i++) out->node[i].updates += lead->credit[i];
    mot_outcome_note(out, &notes);
    mot_outcome_missed(out, p->live.experiment->method, w, lead->actor.state);
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
    out->peer_by = mot_ranks_lost_by(p, p->first_lost);
}

/* A node that has reported must have shown its final model first. */
static void look_for_unshown(struct mot_ranks *p)
{
    const struct mot_live *l = &p->live;
    for (mot_node i = l->lead; l->showing > 1 && i < l->lead + l->showing; i++)
        if (p->said_final[i] && !mot_live_judge_has_last(l->judge, i))
            mot_ranks_distrust(p, mot_ranks_of(p, i));
}

static void await_finals(struct mot_ranks *p)
{
    while (!all_said_final(p) || !mot_ranks_all_shown(p) || (mot_ranks_sending(p) && !p->keeps_memory) ||
        (p->live.judge && mot_live_judge_awaits(p->live.judge))) {
        mot_ranks_rest(p, MOT_NEVER);
        look_for_unshown(p);
    }
    p->leads = false;
}

static void lead_run(struct mot_ranks *p, mot_time began, struct mot_outcome *out)
{
    if (mot_live_judge_knows_end(p->live.judge)) mot_ranks_end(p);
    run_nodes(p);
    mot_live_judge_ask_last(p->live.judge);
    await_finals(p);
    mot_time took = mot_live_now(&p->live);
    mot_live_judge_close(p->live.judge, out);
    p->live.judge = NULL;
    out->last.now = took;
    out->wall_s = (double)(took - began) * 1e-9;
    gather(p, out);
}

/* Rank 0 cannot report its own loss, so another rank reports what it knows of the run. */
static void obituary(struct mot_ranks *p, struct mot_outcome *out)
{
    const struct mot_world *w = &p->live.world;
    const struct mot_live_node *n = &p->hosted[0].node;
    *out = (struct mot_outcome){ .status = MOT_EPEER,
        .ended_by = mot_status_name(MOT_EPEER),
        .workers = w->workers,
        .servers = w->servers,
        .has_peer = true,
        .peer = w->servers ? w->workers : 0,
        .peer_at = p->peer[0].lost_at,
        .peer_by = mot_ranks_lost_by(p, 0),
        .node = mot_new(w->nodes, sizeof(*out->node)) };
    out->node[n->actor.self] = n->actor.tally;
    mot_traffic_open(&out->traffic, w);
    mot_traffic_add(&out->traffic, n->actor.self, n->sent);
    out->last = (struct mot_moment){ .now = mot_live_now(&p->live),
        .updates = n->actor.advanced,
        .steps = n->actor.advanced,
        .staleness_mean = NAN,
        .staleness_max = NAN,
        .active_jobs = NAN,
        .mixed = MOT_MIXED_UNKNOWN,
        .slowest = NAN,
        .slowest_factor = NAN,
        .score = MOT_SCORE_UNKNOWN };
    out->wall_s = (double)out->last.now * 1e-9;
}

/* Reports what this rank did and stays until rank 0 is done; the status is rank 0's. */
static enum mot_status await_bye(struct mot_ranks *p)
{
    while (mot_ranks_sending(p) && !p->keeps_memory && !p->orphan) mot_ranks_rest(p, MOT_NEVER);
    for (uint32_t i = 0; i < p->hosts && !p->orphan; i++) {
        mot_node node = p->hosted[i].node.actor.self;
        struct rank_final *final = &p->final[node]; /* must not move until sent */
        *final = final_of(&p->hosted[i].node);
        struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_FINAL);
        e.samples = final->account.tally.samples;
        e.bytes = sizeof(*final);
        e.body_sum = mot_body_sum(final, sizeof(*final));
        e.final.node = node;
        p->said_last = true;
        mot_ranks_post(p, 0, &e, final, 0);
    }
    while (!p->bye && !p->orphan) mot_ranks_rest(p, MOT_NEVER);
    return p->orphan ? MOT_EPEER : (enum mot_status)p->verdict;
}

static void follow_run(struct mot_ranks *p, struct mot_outcome *out)
{
    run_nodes(p);
    *out = (struct mot_outcome){ .status = await_bye(p) };
    if (p->peer[0].lost) obituary(p, out);
}

static enum mot_status plan_rank(
    const struct mot_driver_options *o, uint32_t rank, uint32_t played, struct mot_memory_plan *out)
{
    const struct mot_experiment *x = o->experiment;
    mot_node *node = mot_new(x->workers + x->servers, sizeof(*node));
    const struct mot_live_hosted hosted = {
        .node = node, .nodes = mot_ranks_will_host(o->ranks, x, rank, node), .leads = rank == 0
    };
    enum mot_status status = mot_live_plan(o, &hosted, played, out);
    free(node);
    return status;
}

static enum mot_status plan(const struct mot_driver_options *o, struct mot_memory_plan *out)
{
    return plan_rank(o, 0, mot_sim_buffers(o, true), out);
}

/* The ranks on this machine share its memory. */
static enum mot_status plan_here(
    const struct mot_driver_options *o, uint32_t played, struct mot_memory_plan *out)
{
    struct mot_transport *t = o->ranks->transport;
    enum mot_status status = plan_rank(o, t->rank, played, out);
    for (uint32_t r = 0; status == MOT_OK && r < t->ranks; r++) {
        struct mot_memory_plan other;
        if (r == t->rank || !t->ops->near(t, r)) continue;
        status = plan_rank(o, r, played, &other);
        if (status == MOT_OK) mot_memory_plan_add(out, &other);
    }
    return status;
}

static enum mot_status look_closer(const struct mot_driver_options *o, struct mot_memory_plan *plan)
{
    return plan_here(o, mot_sim_buffers(o, true), plan);
}

static enum mot_status check_memory(const struct mot_driver_options *o)
{
    struct mot_memory_plan most;
    enum mot_status status = plan_here(o, 0, &most);
    return status == MOT_OK ? mot_memory_plan_check(o, &most, look_closer) : status;
}

static enum mot_status fits(const struct mot_ranks *p, const struct mot_experiment *x)
{
    if (x->mpi.fast && !p->transport->ops->reduce)
        return mot_fail(
            MOT_EUSAGE, "mpi.reduction: fast needs MPI; over %s expected exact", p->transport->ops->name);
    if (x->no_raw_data && x->source.holdout > 0 && p->transport->ranks > 1)
        return mot_fail(MOT_EUSAGE,
            "no_raw_data: with source.holdout ranks send the records that they hold out to rank 0, which "
            "evaluates; expected data with test rows instead");
    return mot_ranks_fit(x, p->transport->ranks);
}

/* Hashes what must be the same everywhere: a rank with other settings would compute something else. */
static uint64_t hash_of(
    const struct mot_live *l, const struct mot_driver_options *o, const struct mot_live_checkpoint *from)
{
    const struct mot_experiment *x = o->experiment;
    const uint64_t part[] = { o->hash, x->stop.updates, XXH64(&x->stop.epochs, sizeof(x->stop.epochs), 0),
        (uint64_t)x->checkpoint.unit, XXH64(&x->checkpoint.value, sizeof(x->checkpoint.value), 0), o->emulate,
        o->resume, from->step, from->samples, from->computed,
        from->model ? XXH64(from->model[0].x, o->problem->net->dim * sizeof(float), 0) : 0,
        from->word ? XXH64(from->word, (x->workers + x->servers) * sizeof(*from->word), 0) : 0,
        mot_live_rests_hash(l, from) };
    return XXH64(part, sizeof(part), 0);
}

/* Opens everything that can receive, and waits until all ranks have: then the clocks start. */
static enum mot_status get_ready(struct mot_ranks *p, const struct mot_driver_options *o,
    const struct mot_live_checkpoint *from, bool was_over)
{
    struct mot_live *l = &p->live;
    enum mot_status status = MOT_OK;
    if (p->transport->rank == 0 && o->begins && !was_over) status = o->begins(o->begins_self, from->mark);
    if (l->rings) status = mot_ranks_agree(p, status, 0); /* spools lie in a folder that is ready */
    open_nodes(p, o);
    begin_methods(p, o);
    p->samples0 = from->computed;
    l->began_ns = mot_wall_ns() - from->now;
    if (p->transport->rank == 0 && status == MOT_OK)
        status =
            mot_live_judge_open(l, &mot_ranks_hosted(p, l->lead)->node, o->watch, o->interrupt, &l->judge);
    p->phase = PHASE_RUNNING;
    status = mot_ranks_agree(p, status, 0);
    p->leads = p->transport->rank == 0 && status == MOT_OK;
    l->began_ns = mot_wall_ns() - from->now;
    return status;
}

static enum mot_status run(const struct mot_driver_options *o, struct mot_outcome *out)
{
    struct mot_ranks *p = o->ranks;
    struct mot_live *l = &p->live;
    const struct mot_experiment *x = o->experiment;
    struct mot_live_checkpoint from = { 0 };
    p->options = o;
    *l = (struct mot_live){ 0 };
    enum mot_status status = fits(p, x);
    if (status == MOT_OK) status = check_memory(o);
    if (status == MOT_OK) status = mot_live_open(l, o);
    if (p->transport->rank != 0) l->checkpoint = NULL;
    if (status == MOT_OK && o->resume) status = mot_live_load(o->checkpoint, l, &from);
    status = mot_ranks_agree(p, status, status == MOT_OK ? hash_of(l, o, &from) : 0);
    if (status == MOT_OK) {
        mot_live_begin(l, o->resume ? &from : NULL);
        bool was_over = l->over && o->settled;
        if (was_over) l->checkpoint = NULL;
        status = get_ready(p, o, &from, was_over);
        if (status == MOT_OK && p->transport->rank == 0) lead_run(p, from.now, out);
        else if (status == MOT_OK) follow_run(p, out);
        else if (l->judge) {
            mot_live_judge_close(l->judge, out);
            mot_outcome_close(out);
        }
        if (status == MOT_OK) out->was_over = was_over;
        close_nodes(p);
    }
    mot_live_checkpoint_free(&from);
    mot_live_close(&p->live);
    p->options = NULL;
    return status;
}

const struct mot_driver mot_driver_mpi = {
    .name = "mpi", .live = true, .run = run, .fits = fits, .rank = mot_ranks_rank, .plan = plan
};

/* ---- A profile ------------------------------------------------------------------------ */

/* Opens everything that can receive, and waits until all ranks have, as for a run. */
static enum mot_status ready_profile(
    struct mot_ranks *p, const struct mot_driver_options *o, struct mot_profile *profile)
{
    open_nodes(p, o); /* more buffers than a profile needs */
    enum mot_status status = mot_profile_open(profile, &p->live.world);
    profile->nodes = p->live.world.workers;
    profile->interrupt = o->interrupt;
    if (p->transport->rank != 0) profile->progress = NULL;
    p->live.began_ns = mot_wall_ns();
    p->phase = PHASE_RUNNING;
    return mot_ranks_agree(p, status, 0);
}

/* Returns when all are done. A launcher that has lost a rank interrupts the rest, so the loss is what
 * counts. */
static enum mot_status take_profile(struct mot_ranks *p, struct mot_profile *profile)
{
    mot_profile_node(profile, &p->hosted[0].node);
    if (p->transport->rank != 0) return await_bye(p);
    await_finals(p);
    if (p->losses == 0) return MOT_OK;
    mot_ranks_name_lost(p, " during the profile");
    return MOT_EPEER;
}

enum mot_status mot_ranks_profile(
    struct mot_ranks *p, const struct mot_driver_options *o, struct mot_profile *profile)
{
    const struct mot_experiment *x = o->experiment;
    const uint64_t same[] = { o->hash, profile->seconds };
    p->options = o;
    p->profiles = true;
    p->live = (struct mot_live){ 0 };
    enum mot_status status = mot_ranks_fit_profile(x, p->transport->ranks);
    if (status == MOT_OK) status = mot_live_open(&p->live, o);
    if (status == MOT_OK) mot_live_begin(&p->live, NULL);
    p->live.showing = 1;
    status = mot_ranks_agree(p, status, XXH64(same, sizeof(same), 0));
    if (status == MOT_OK) {
        status = ready_profile(p, o, profile);
        if (status == MOT_OK) status = take_profile(p, profile);
        if (status != MOT_OK || p->transport->rank != 0) mot_profile_close(profile);
        close_nodes(p);
    }
    mot_live_close(&p->live);
    p->options = NULL;
    return status;
}
