/* ranks_post.c -- the post office of a rank: what goes out, what comes in, who is lost.
 *
 * All of it runs in the thread of the nodes, when they poll, but for the keeper: a thread that
 * only gives signs of life, so that a rank which reads data, evaluates or writes is not taken for dead. */
#include "base/memory.h"
#include "wire/neighbour.h"
#include "wire/ranks_state.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NEIGHBOURS_NS UINT64_C(50000000) /* how often the kernel is asked who is still there */
#define AWAY_NS UINT64_C(500000000)      /* who has not looked for so long cannot blame others for silence */
#define TEXT_MAX 65536u

struct crowd mot_crowd;

uint64_t mot_ranks_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- Sending ------------------------------------------------------------------------------ */

void mot_ranks_post(struct crowd *p, uint32_t to, struct mot_envelope *e, const void *body, mot_buf token)
{
    pthread_mutex_lock(&p->lock);
    struct peer *peer = &p->peer[to];
    if (peer->lost) {
        if (token) mot_pool_drop(&p->live.pool, token);
    } else {
        mot_line_seal(&peer->line, e, mot_ranks_clock());
        mot_wire_send(to, e, body, (void *)(uintptr_t)token);
    }
    pthread_mutex_unlock(&p->lock);
}

/* Whom this rank watches, and gives signs of life: rank 0 all, all others rank 0. */
static bool watches(const struct crowd *p, uint32_t rank)
{
    return rank != p->wire.rank && (p->wire.rank == 0 || rank == 0) && !p->peer[rank].lost;
}

static void beat(struct crowd *p, uint64_t now)
{
    for (uint32_t r = 0; r < (p->wire.rank == 0 ? p->wire.ranks : 1); r++) {
        if (!watches(p, r) || now < p->peer[r].line.spoken + MOT_BEAT_NS) continue;
        struct mot_envelope e = { .kind = MOT_ENVELOPE_BEAT,
            .from = p->wire.rank,
            .to = r,
            .samples = p->berths ? atomic_load(&p->berth[0].samples) : 0 };
        mot_ranks_post(p, r, &e, NULL, 0);
    }
}

void *mot_ranks_keep(void *self)
{
    struct crowd *p = self;
    pthread_mutex_lock(&p->lock);
    while (!p->closing) {
        struct timespec until;
        beat(p, mot_ranks_clock());
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)MOT_BEAT_NS / 2;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&p->wake, &p->lock, &until);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- Losing a rank -------------------------------------------------------------------------- */

static void lose(struct crowd *p, uint32_t rank, const char *by)
{
    struct peer *peer = &p->peer[rank];
    if (peer->lost) return;
    peer->by = by;
    peer->lost_at = p->running ? mot_live_now(&p->live) : 0;
    if (p->losses++ == 0) p->first_lost = rank;
    p->news++;
    if (p->wire.rank == 0) /* it hears so too, should it only have slept */
        for (uint32_t r = 1; r < p->wire.ranks; r++) {
            struct mot_envelope e = { .kind = MOT_ENVELOPE_LOST, .from = rank, .to = r };
            mot_ranks_post(p, r, &e, NULL, 0);
        }
    peer->lost = peer->line.broken = true;
    if (p->wire.rank != 0 && rank == 0) p->orphan = p->ended = true;
    else if (p->running) mot_ranks_tell_lost(p, rank);
}

/* A link that cannot be trusted: rank 0 gives the other up; another rank gives up itself. */
static void distrust(struct crowd *p, uint32_t rank, const char *by)
{
    if (p->wire.rank == 0 || rank == 0) lose(p, rank, by);
    else p->orphan = p->ended = true;
}

static void look_for_lost(struct crowd *p, uint64_t now)
{
    uint64_t away = now - p->looked_ns;
    const volatile sig_atomic_t *interrupt = p->options ? p->options->interrupt : NULL;
    bool ask = now - p->neighbours_ns >= NEIGHBOURS_NS || (interrupt && *interrupt);
    p->looked_ns = now;
    if (ask) p->neighbours_ns = now;
    for (uint32_t r = 0; r < p->wire.ranks; r++) {
        struct peer *peer = &p->peer[r];
        if (!watches(p, r)) continue;
        if (away > AWAY_NS) mot_line_excuse(&peer->line, away);
        if (ask && mot_neighbour_gone(peer->neighbour)) {
            lose(p, r, "death");
        } else if (mot_line_silent(&peer->line, now)) {
            lose(p, r, "silence");
        }
    }
}

/* ---- Receiving ---------------------------------------------------------------------------------- */

struct letter *mot_ranks_letter(struct crowd *p)
{
    struct letter *l = p->spare;
    if (l) p->spare = l->next;
    else l = mot_new(1, sizeof(*l));
    memset(l, 0, sizeof(*l));
    return l;
}

void mot_ranks_letter_free(struct crowd *p, struct letter *l)
{
    if (l->owned) free(l->body);
    l->next = p->spare;
    p->spare = l;
}

/* Where the body goes. False: the envelope makes no sense. */
static bool expect(struct crowd *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    switch ((enum mot_envelope_kind)e->kind) {
    case MOT_ENVELOPE_MESSAGE:
        if (p->running) return mot_ranks_expect_message(p, l);
        break;
    case MOT_ENVELOPE_PART:
    case MOT_ENVELOPE_SUM:
        if (p->running) return mot_ranks_expect_part(p, l);
        break;
    case MOT_ENVELOPE_HELLO:
    case MOT_ENVELOPE_VERDICT:
    case MOT_ENVELOPE_FINAL:
        if (e->bytes > TEXT_MAX) return false;
        break;
    case MOT_ENVELOPE_SHOW:
        if (p->running && p->live.judge) return mot_ranks_expect_show(p, l);
        break;
    case MOT_ENVELOPE_BEAT:
    case MOT_ENVELOPE_ASK:
    case MOT_ENVELOPE_TOKEN:
    case MOT_ENVELOPE_END:
    case MOT_ENVELOPE_BYE:
    case MOT_ENVELOPE_LOST: return e->bytes == 0;
    default: return false;
    }
    l->body = mot_new(1, e->bytes + 1); /* a text has its end */
    l->owned = true;
    return true;
}

static char *take_text(struct letter *l, char *old)
{
    free(old);
    l->owned = false;
    return l->body;
}

static void final_came(struct crowd *p, const struct letter *l)
{
    mot_node node = l->envelope.from;
    if (!p->running) return;
    if (node >= p->live.world.nodes || mot_ranks_of(p, node) != l->rank ||
        l->envelope.bytes != sizeof(*p->final)) {
        distrust(p, l->rank, "damage");
        return;
    }
    struct rank_final *final = &p->final[node];
    memcpy(final, l->body, sizeof(*final));
    if (final->notes.n > MOT_NOTES_MAX) {
        distrust(p, l->rank, "damage");
        return;
    }
    for (int i = 0; i < MOT_NOTES_MAX; i++) final->key[i][RANK_KEY_BYTES - 1] = 0;
    p->said_final[node] = true;
}

static void peer_says(struct crowd *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    struct peer *peer = &p->peer[l->rank];
    switch ((enum mot_envelope_kind)e->kind) {
    case MOT_ENVELOPE_HELLO:
        peer->said_hello = true;
        peer->hello_status = e->status;
        peer->hello_hash = e->round;
        peer->hello_text = take_text(l, peer->hello_text);
        return;
    case MOT_ENVELOPE_VERDICT:
        p->agreed = true;
        p->verdict = e->status;
        p->verdict_text = take_text(l, p->verdict_text);
        return;
    case MOT_ENVELOPE_FINAL: final_came(p, l); return;
    case MOT_ENVELOPE_ASK:
        atomic_store(&p->live.ask.at, e->sent);
        atomic_store(&p->live.ask.number, e->round);
        return;
    case MOT_ENVELOPE_END:
        if (p->wire.rank == 0) mot_ranks_end(p);
        p->ended = true;
        return;
    case MOT_ENVELOPE_BYE:
        p->verdict = e->status;
        p->bye = p->ended = true;
        return;
    case MOT_ENVELOPE_LOST:
        /* we were given up; going on would only confuse */
        if (e->from == p->wire.rank) p->orphan = p->ended = true;
        else if (e->from < p->wire.ranks) lose(p, e->from, "death");
        return;
    default: return;
    }
}

/* All of it is here. */
static void came(struct crowd *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    p->news++;
    if (e->body_sum && e->body_sum != mot_body_sum(l->body, e->bytes)) {
        distrust(p, l->rank, "damage");
    } else if (e->kind == MOT_ENVELOPE_MESSAGE && !l->owned) {
        l->here = true; /* its node will fetch it, and free it */
        return;
    } else if ((e->kind == MOT_ENVELOPE_PART || e->kind == MOT_ENVELOPE_SUM) && !l->owned) {
        mot_ranks_part_came(p, l);
    } else if (e->kind == MOT_ENVELOPE_SHOW && !l->owned) {
        mot_ranks_show_came(p, l);
    } else if (e->kind == MOT_ENVELOPE_TOKEN) {
        if (p->running) mot_ranks_token_came(p, e);
    } else {
        peer_says(p, l);
    }
    mot_ranks_letter_free(p, l);
}

static void envelope_came(struct crowd *p, const struct mot_wire_event *event)
{
    struct peer *peer = &p->peer[event->from];
    switch (mot_line_receive(&peer->line, &event->envelope, mot_ranks_clock())) {
    case MOT_LINE_ACCEPT: break;
    case MOT_LINE_OLD:
    case MOT_LINE_DUPLICATE: return;
    case MOT_LINE_GAP: distrust(p, event->from, "damage"); return;
    case MOT_LINE_DAMAGED: distrust(p, event->from, "damage"); return;
    }
    /* Counters only grow; a beat of the keeper may be older than what the node sent. */
    if (event->envelope.samples > peer->samples) peer->samples = event->envelope.samples;
    if (event->envelope.kind == MOT_ENVELOPE_BEAT) return;
    struct letter *l = mot_ranks_letter(p);
    l->envelope = event->envelope;
    l->rank = event->from;
    if (!expect(p, l)) {
        mot_ranks_letter_free(p, l);
        distrust(p, event->from, "damage");
        return;
    }
    if (l->envelope.bytes) mot_wire_receive(event->from, l->body, l->envelope.bytes, l);
    else came(p, l);
}

void mot_ranks_progress(struct crowd *p)
{
    struct mot_wire_event event;
    pthread_mutex_lock(&p->lock);
    while (mot_wire_poll(&event)) {
        switch (event.kind) {
        case MOT_WIRE_CAME: envelope_came(p, &event); break;
        case MOT_WIRE_BODY: came(p, event.token); break;
        case MOT_WIRE_SENT:
            if (event.token) mot_pool_drop(&p->live.pool, (mot_buf)(uintptr_t)event.token);
            break;
        case MOT_WIRE_REDUCED:
            ((struct sum *)event.token)->reduced = true;
            p->news++;
            break;
        }
    }
    uint64_t now = mot_ranks_clock();
    beat(p, now);
    if (!p->bye && !p->closing) look_for_lost(p, now);
    pthread_mutex_unlock(&p->lock);
}

/* MPI cannot wait with a limit, so a rank that waits looks again and again: at once while it has a core
 * to itself, giving way where ranks outnumber cores, and ever more rarely when nothing comes. */
void mot_ranks_rest(struct crowd *p, mot_time until)
{
    uint64_t news = p->news, began = mot_ranks_clock();
    mot_time due = mot_ranks_next_due(p);
    if (due < until) until = due;
    for (;;) {
        mot_ranks_progress(p);
        uint64_t now = mot_ranks_clock(), waited = now - began;
        if (p->news != news || waited >= 5000000 || (until != MOT_NEVER && mot_live_now(&p->live) >= until))
            return;
        if (waited > 1000000) {
            struct timespec nap = { .tv_nsec = 50000 };
            nanosleep(&nap, NULL);
        } else if (p->crowded || waited > 100000) {
            sched_yield();
        }
    }
}
