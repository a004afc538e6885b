/* ranks.c -- how ranks join, agree and leave; ranks_run.c is the run in between.
 *
 * A rank leaves only when rank 0 has written everything and said so: launchers take an early exit for a
 * failure and kill the rest. */
#include "base/crew.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "wire/ranks_state.h"
#include "math/kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t mot_ranks_rank(const struct mot_ranks *p) { return p ? p->transport->rank : 0; }
uint32_t mot_ranks_count(const struct mot_ranks *p) { return p ? p->transport->ranks : 0; }
uint32_t mot_ranks_here(const struct mot_ranks *p) { return p ? p->here : 0; }

const char *mot_ranks_lost_by(const struct mot_ranks *p, uint32_t rank)
{
    static const char *const ways[MOT_LOST_WAYS] = { [MOT_LOST_DEATH] = "death",
        [MOT_LOST_SILENCE] = "silence",
        [MOT_LOST_DAMAGE] = "damage",
        [MOT_LOST_LINK] = "link" };
    return ways[p->peer[rank].by];
}

/* ---- Who is where --------------------------------------------------------------------------- */

static bool server_alone(const struct mot_ranks *p)
{
    return p->live.experiment->mpi.own && p->live.world.servers > 0 && !p->profiles;
}

/* own: ranks that have servers and no worker. */
static uint32_t rank_of(mot_node node, uint32_t workers, uint32_t own, uint32_t ranks)
{
    return node >= workers ? (node - workers) % ranks : node + own;
}

mot_node mot_ranks_first_node(const struct mot_ranks *p, uint32_t rank)
{
    const struct mot_world *w = &p->live.world;
    if (!server_alone(p)) return rank;
    return rank < w->servers ? w->workers + rank : rank - w->servers;
}

uint32_t mot_ranks_of(const struct mot_ranks *p, mot_node node)
{
    const struct mot_world *w = &p->live.world;
    return rank_of(node, w->workers, server_alone(p) ? w->servers : 0, p->transport->ranks);
}

uint32_t mot_ranks_will_host(
    const struct mot_ranks *p, const struct mot_experiment *x, uint32_t rank, mot_node *node)
{
    uint32_t n = 0;
    for (mot_node i = 0; i < x->workers + x->servers; i++)
        if (rank_of(i, x->workers, x->mpi.own ? x->servers : 0, p->transport->ranks) == rank) node[n++] = i;
    return n;
}

uint32_t mot_ranks_nodes(const struct mot_ranks *p)
{
    return p->profiles ? p->live.world.workers : p->live.world.nodes;
}

bool mot_ranks_is_of(const struct mot_ranks *p, mot_node node, uint32_t rank)
{
    return node < p->live.world.nodes && mot_ranks_of(p, node) == rank;
}

enum mot_status mot_ranks_fit(const struct mot_experiment *x, uint32_t ranks)
{
    uint32_t own = x->mpi.own ? x->servers : 0;
    const char *servers = own > 1 ? " and servers with ranks of their own"
        : own                     ? " and a server with a rank of its own"
                                  : "";
    if (own && x->mpi.fast)
        return mot_fail(MOT_EUSAGE,
            "mpi.reduction: fast sums over all ranks, but with mpi.place: own rank 0 has no worker; use "
            "one or the other");
    if (ranks == x->workers + own) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "%u rank%s for %u worker%s%s; expected %u: --ranks %u or mpirun -n %u, or --workers %u", ranks,
        ranks == 1 ? "" : "s", x->workers, x->workers == 1 ? "" : "s", servers, x->workers + own,
        x->workers + own, x->workers + own, ranks > own ? ranks - own : 1);
}

enum mot_status mot_ranks_fit_profile(const struct mot_experiment *x, uint32_t ranks)
{
    if (ranks == x->workers) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "%u rank%s for %u worker%s; a profile needs a rank for each: --ranks %u or mpirun -n %u, or "
        "--workers %u",
        ranks, ranks == 1 ? "" : "s", x->workers, x->workers == 1 ? "" : "s", x->workers, x->workers, ranks);
}

/* ---- Joining ------------------------------------------------------------------------------------ */

struct introduction {
    uint32_t life;
    char kernels[20];
};

/* Kernel sets differ in the last bits, so all ranks use the same: one that all have, or else the plain
 * one. */
static enum mot_status settle_kernels(const struct introduction *who, uint32_t ranks)
{
    for (uint32_t r = 1; r < ranks; r++) {
        if (strcmp(who[r].kernels, who[0].kernels) == 0) continue;
        if (mot_kernels_use("generic")) return MOT_OK;
        return mot_fail(MOT_EREPRODUCE,
            "rank %u computes with kernels '%s', rank 0 with '%s', and they have no set in common", r,
            who[r].kernels, who[0].kernels);
    }
    return MOT_OK;
}

static void open_lock(struct mot_ranks *p)
{
    pthread_mutexattr_t again;
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&p->lock, &again);
    pthread_mutexattr_destroy(&again);
    mot_timed_cond_init(&p->wake);
}

static void open_peers(struct mot_ranks *p, uint32_t life)
{
    struct mot_transport *t = p->transport;
    uint64_t now = mot_wall_ns();
    p->peer = mot_new(t->ranks, sizeof(*p->peer));
    for (uint32_t r = 0; r < t->ranks; r++) {
        mot_line_open(&p->peer[r].line, life, now);
        if (r != t->rank && (t->rank == 0 || r == 0)) t->ops->watch(t, r);
        p->here += t->ops->near(t, r);
    }
    p->looked_ns = now;
}

enum mot_status mot_ranks_open(struct mot_transport *t, struct mot_ranks **out)
{
    struct mot_ranks *p = *out = mot_new(1, sizeof(*p));
    enum mot_status status = mot_kernels_open();
    struct introduction me = { .life = 1 };
    snprintf(me.kernels, sizeof(me.kernels), "%s", status == MOT_OK ? mot_kernels_name() : "none");
    struct introduction *who = mot_new(t->ranks, sizeof(*who));
    t->ops->exchange(t, &me, who, sizeof(me));
    p->transport = t;
    p->agreed = true; /* verdicts go to those who said hello */
    open_peers(p, me.life);
    p->oversubscribed = p->here > mot_cores();
    if (status == MOT_OK) status = settle_kernels(who, t->ranks);
    free(who);
    open_lock(p);
    p->kept = pthread_create(&p->keeper, NULL, mot_ranks_keep, p) == 0;
    return status;
}

/* ---- Agreeing ------------------------------------------------------------------------------------- */

void mot_ranks_name_lost(const struct mot_ranks *p, const char *when)
{
    mot_fail(
        MOT_EPEER, "rank %u was lost%s, by %s", p->first_lost, when, mot_ranks_lost_by(p, p->first_lost));
}

static enum mot_status judge_hellos(struct mot_ranks *p, enum mot_status mine, uint64_t hash)
{
    if (mine != MOT_OK) return mine; /* the message is already rank 0's own */
    for (uint32_t r = 1; r < p->transport->ranks; r++) {
        struct peer *peer = &p->peer[r];
        if (!peer->lost && peer->hello_status != MOT_OK)
            return mot_fail((enum mot_status)peer->hello_status, "rank %u: %s", r,
                peer->hello_text ? peer->hello_text : "failed");
        if (!peer->lost && peer->hello_hash != hash)
            return mot_fail(MOT_EREPRODUCE,
                "rank %u has read a different experiment, data or initial model than rank 0; every rank must "
                "see the same files and settings",
                r);
    }
    if (p->losses) {
        mot_ranks_name_lost(p, " before the run began");
        return MOT_EPEER;
    }
    return MOT_OK;
}

static bool all_said_hello(const struct mot_ranks *p)
{
    for (uint32_t r = 1; r < p->transport->ranks; r++)
        if (!p->peer[r].lost && !p->peer[r].said_hello) return false;
    return true;
}

/* Posts p->agreement. */
static void post_text(struct mot_ranks *p, uint32_t to, struct mot_envelope *e)
{
    e->bytes = strlen(p->agreement);
    if (e->bytes) e->body_sum = mot_body_sum(p->agreement, e->bytes);
    mot_ranks_post(p, to, e, p->agreement, 0);
}

static enum mot_status give_verdict(struct mot_ranks *p, enum mot_status mine, uint64_t hash)
{
    while (!all_said_hello(p)) mot_ranks_rest(p, MOT_NEVER);
    enum mot_status status = judge_hellos(p, mine, hash);
    p->verdict = status;
    /* reset for the next agreement */
    for (uint32_t r = 1; r < p->transport->ranks; r++) p->peer[r].said_hello = false;
    snprintf(p->agreement, sizeof(p->agreement), "%s", status == MOT_OK ? "" : mot_error());
    for (uint32_t r = 1; r < p->transport->ranks; r++) {
        struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_VERDICT);
        e.verdict.status = status;
        post_text(p, r, &e);
    }
    return status;
}

enum mot_status mot_ranks_agree(struct mot_ranks *p, enum mot_status mine, uint64_t hash)
{
    p->agreements++;
    if (p->transport->rank == 0) return give_verdict(p, mine, hash);
    snprintf(p->agreement, sizeof(p->agreement), "%s", mine == MOT_OK ? "" : mot_error());
    struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_HELLO);
    e.hello.status = mine;
    e.hello.hash = hash;
    p->agreed = false;
    post_text(p, 0, &e);
    while (!p->agreed && !p->orphan) mot_ranks_rest(p, MOT_NEVER);
    if (p->orphan && p->peer[0].lost) return mot_fail(MOT_EPEER, "rank 0 was lost before the run began");
    if (p->orphan) return mot_fail(MOT_EPEER, "rank 0 dropped this rank before the run began");
    if (p->verdict != MOT_OK)
        mot_fail((enum mot_status)p->verdict, "%s", p->verdict_text ? p->verdict_text : "");
    return (enum mot_status)p->verdict;
}

/* ---- Leaving -------------------------------------------------------------------------- */

static void stop_keeper(struct mot_ranks *p)
{
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    if (p->kept) pthread_join(p->keeper, NULL);
}

/* Ends ranks that are lost but still alive, perhaps stopped. If rank 0 sent damage, or its link to us
 * broke, we leave instead: it goes on without us. */
static bool end_the_lost(struct mot_ranks *p)
{
    bool all = true;
    for (uint32_t r = 0; r < p->transport->ranks; r++) {
        const struct peer *peer = &p->peer[r];
        if (!peer->lost || (r == 0 && (peer->by == MOT_LOST_DAMAGE || peer->by == MOT_LOST_LINK))) continue;
        if (!p->transport->ops->end(p->transport, r)) all = false;
    }
    return all;
}

static void free_ranks(struct mot_ranks *p, uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks; r++) free(p->peer[r].hello_text);
    while (p->spare) {
        struct letter *next = p->spare->next;
        free(p->spare);
        p->spare = next;
    }
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    free(p->peer);
    free(p->verdict_text);
    free(p);
}

/* Lets transfers in flight finish; those to a lost rank may never do so. */
static void settle(struct mot_ranks *p)
{
    uint64_t began = mot_wall_ns(), patience = p->keeps_memory ? 10000000 : MOT_SILENCE_MAX_NS;
    mot_ranks_let_go(p);
    while ((mot_ranks_sending(p) || p->receiving) && mot_wall_ns() - began < patience)
        mot_ranks_rest(p, MOT_NEVER);
    if (mot_ranks_sending(p) || p->receiving) p->keeps_memory = true;
}

bool mot_ranks_leave(struct mot_ranks *p, enum mot_status status)
{
    struct mot_transport *t = p->transport;
    uint32_t ranks = t->ranks;
    p->leaving = true;
    if (p->agreements == 0) /* the others are waiting to hear from us */
        status = mot_ranks_agree(p, status, 0);
    for (uint32_t r = 1; t->rank == 0 && r < ranks; r++) {
        struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_BYE);
        e.verdict.status = status;
        mot_ranks_post(p, r, &e, NULL, 0);
    }
    if (t->rank != 0 && !p->bye) {
        struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_BYE);
        e.verdict.status = status;
        mot_ranks_post(p, 0, &e, NULL, 0);
    }
    while (t->rank != 0 && !p->bye && !p->orphan) mot_ranks_rest(p, MOT_NEVER);
    stop_keeper(p);
    settle(p);
    bool whole = p->losses == 0 && !p->orphan, clean = !p->keeps_memory;
    bool abort = !whole && !end_the_lost(p) && t->rank == 0;
    t->ops->close(t, whole ? MOT_WIRE_FINISH : abort ? MOT_WIRE_ABORT : MOT_WIRE_LEAVE, status);
    if (clean) free_ranks(p, ranks);
    return clean;
}
