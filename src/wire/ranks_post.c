/* ranks_post.c -- the post office of a rank: what goes out, what comes in, who is lost.
 *
 * It all runs on the nodes' thread, when they poll, except for the keeper: a thread that only gives signs
 * of life, so that a rank that reads data, evaluates or writes is not taken for dead. */
#include "base/memory.h"
#include "base/stopwatch.h"
#include "wire/ranks_state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEIGHBOURS_NS UINT64_C(50000000) /* how often to ask the kernel who is still there */
#define AWAY_NS UINT64_C(500000000)      /* after so long without polling, the silence may be our own fault */
#define TEXT_MAX 65536u

/* ---- Sending ------------------------------------------------------------------------------ */

/* What the token stands for may change again. */
static void sent(struct mot_ranks *p, mot_buf token)
{
    if (!token || mot_ranks_held_sent(p, token) || mot_ranks_rows_sent(p, token)) return;
    if (p->rests_out) mot_ranks_rest_sent(p, token);
    mot_pool_drop(&p->live.pool, token);
}

/* Where our worker is in its stream. */
static void stamp(const struct mot_ranks *p, struct mot_envelope *e)
{
    mot_node self = p->hosted[0].node.actor.self;
    if (self >= p->live.world.workers) return;
    struct mot_place is = mot_place_now(&p->live.place[self]);
    e->arrived = is.arrived;
    e->used = is.used;
    e->dropped = is.dropped;
    e->malformed = is.malformed;
    e->held = is.held;
    e->cursor = is.cursor.at;
    e->sub = is.cursor.sub;
    e->number = is.cursor.number;
}

struct mot_place mot_ranks_place(const struct mot_envelope *e)
{
    return (struct mot_place){ e->arrived, e->used, e->dropped, e->malformed, e->held,
        { e->cursor, e->sub, e->number } };
}

static void hear_place(struct mot_ranks *p, uint32_t rank, const struct mot_envelope *e)
{
    mot_node node = mot_ranks_first_node(p, rank);
    struct mot_place is = mot_ranks_place(e);
    if (node >= p->live.world.workers) return;
    mot_place_note(&p->live.place[node], &is);
    if (e->kind == MOT_ENVELOPE_PART && e->range.scope == MOT_COLL_ALL && e->range.number)
        mot_place_join(&p->live.place[node], e->range.number - 1, &is);
}

void mot_ranks_post(struct mot_ranks *p, uint32_t to, struct mot_envelope *e, const void *body, mot_buf token)
{
    pthread_mutex_lock(&p->lock);
    struct peer *peer = &p->peer[to];
    if (peer->forgotten) {
        sent(p, token);
    } else {
        if (p->hosts && p->live.own_pace)
            e->paced = atomic_load(&p->live.paced[p->hosted[0].node.actor.self]);
        if (p->hosts && p->live.place) stamp(p, e);
        mot_line_seal(&peer->line, e, mot_wall_ns());
        p->transport->ops->send(p->transport, to, e, body, (void *)(uintptr_t)token);
    }
    pthread_mutex_unlock(&p->lock);
}

uint32_t mot_ranks_sending(struct mot_ranks *p)
{
    pthread_mutex_lock(&p->lock);
    uint32_t n = p->transport->ops->sending(p->transport);
    pthread_mutex_unlock(&p->lock);
    return n;
}

/* Whether this rank watches that one and gives it signs of life: rank 0 does so with all, the others with
 * rank 0. */
static bool watches(const struct mot_ranks *p, uint32_t rank)
{
    uint32_t self = p->transport->rank;
    return rank != self && (self == 0 || rank == 0) && !p->peer[rank].forgotten;
}

static void beat(struct mot_ranks *p, uint64_t now)
{
    for (uint32_t r = 0; r < (p->transport->rank == 0 ? p->transport->ranks : 1); r++) {
        if (!watches(p, r) || now < p->peer[r].line.spoken + MOT_BEAT_NS) continue;
        struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_BEAT);
        e.samples = p->hosts ? atomic_load(&p->hosted[0].samples) : 0;
        mot_ranks_post(p, r, &e, NULL, 0);
    }
}

void *mot_ranks_keep(void *self)
{
    struct mot_ranks *p = self;
    pthread_mutex_lock(&p->lock);
    while (!p->closing) {
        beat(p, mot_wall_ns());
        struct timespec until = mot_wall_in(MOT_BEAT_NS / 2);
        pthread_cond_timedwait(&p->wake, &p->lock, &until);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- Losing a rank -------------------------------------------------------------------------- */

static void say_lost(struct mot_ranks *p, uint32_t rank, enum mot_lost_by by)
{
    for (uint32_t r = 1; r < p->transport->ranks; r++) { /* including the lost one, in case it only slept */
        struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_LOST);
        e.lost.rank = rank;
        e.lost.by = by;
        mot_ranks_post(p, r, &e, NULL, 0);
    }
}

static void forget(struct mot_ranks *p, uint32_t rank)
{
    pthread_mutex_lock(&p->lock);
    p->peer[rank].forgotten = p->peer[rank].line.broken = true;
    if (!p->transport->ops->forget(p->transport, rank)) p->keeps_memory = true;
    pthread_mutex_unlock(&p->lock);
}

static void lose(struct mot_ranks *p, uint32_t rank, enum mot_lost_by by)
{
    struct peer *peer = &p->peer[rank];
    if (peer->lost) return;
    peer->by = by;
    peer->lost_at = p->phase == PHASE_RUNNING ? mot_live_now(&p->live) : 0;
    if (p->losses++ == 0) p->first_lost = rank;
    p->news++;
    if (p->transport->rank == 0) say_lost(p, rank, by);
    peer->lost = true;
    forget(p, rank);
    if (rank == 0) p->orphan = p->ended = true;
    else if (p->phase == PHASE_RUNNING) mot_ranks_tell_lost(p, rank);
}

void mot_ranks_let_go(struct mot_ranks *p)
{
    for (uint32_t r = 0; p->orphan && r < p->transport->ranks; r++)
        if (r != p->transport->rank && !p->peer[r].forgotten) forget(p, r);
}

/* Rank 0 says who is lost; another rank asks it to. */
static void give_up(struct mot_ranks *p, uint32_t rank, enum mot_lost_by by)
{
    if (p->transport->rank == 0 || rank == 0) {
        lose(p, rank, by);
    } else if (!p->peer[rank].blamed && !p->peer[rank].lost) {
        struct mot_envelope e = mot_envelope_of(MOT_ENVELOPE_BLAME);
        e.lost.rank = rank;
        e.lost.by = by;
        p->peer[rank].blamed = p->peer[rank].line.broken = true; /* ignored from now on */
        mot_ranks_post(p, 0, &e, NULL, 0);
    }
}

void mot_ranks_distrust(struct mot_ranks *p, uint32_t rank) { give_up(p, rank, MOT_LOST_DAMAGE); }

static bool is_gone(struct mot_ranks *p, uint32_t rank)
{
    pthread_mutex_lock(&p->lock);
    bool gone = p->transport->ops->gone(p->transport, rank);
    pthread_mutex_unlock(&p->lock);
    return gone;
}

static void look_for_lost(struct mot_ranks *p, uint64_t now)
{
    uint64_t away = now - p->looked_ns;
    const volatile sig_atomic_t *interrupt = p->options ? p->options->interrupt : NULL;
    bool ask = now - p->neighbours_ns >= NEIGHBOURS_NS || (interrupt && *interrupt);
    p->looked_ns = now;
    if (ask) p->neighbours_ns = now;
    for (uint32_t r = 0; r < p->transport->ranks; r++) {
        struct peer *peer = &p->peer[r];
        if (!watches(p, r)) continue;
        if (away > AWAY_NS) mot_line_excuse(&peer->line, away);
        bool gone = ask && is_gone(p, r);
        /* Believed when seen twice: it may have sent its last word since we last received. */
        if (gone && peer->gone) lose(p, r, MOT_LOST_DEATH);
        else if (mot_line_silent(&peer->line, now)) lose(p, r, MOT_LOST_SILENCE);
        if (ask) peer->gone = gone;
    }
}

/* ---- Receiving ---------------------------------------------------------------------------------- */

struct letter *mot_ranks_letter(struct mot_ranks *p)
{
    struct letter *l = p->spare;
    if (l) p->spare = l->next;
    else l = mot_new(1, sizeof(*l));
    memset(l, 0, sizeof(*l));
    return l;
}

void mot_ranks_letter_free(struct mot_ranks *p, struct letter *l)
{
    if (l->owned) free(l->body);
    l->next = p->spare;
    p->spare = l;
}

/* Who may send what to whom. */
enum way { BY_NOBODY, BY_ANYONE, BY_LEAD, TO_LEAD, BY_OR_TO_LEAD };
enum body { NO_BODY, TEXT, FLOATS, A_FINAL, RECORDS };
#define SIZE(member) sizeof(((struct mot_envelope *)0)->member)
static const struct rule {
    enum way way;
    enum body body;
    size_t says; /* bytes of the union used by the kind */
} rules[MOT_ENVELOPE_KINDS] = {
    [MOT_ENVELOPE_HELLO] = { TO_LEAD, TEXT, SIZE(hello) },
    [MOT_ENVELOPE_VERDICT] = { BY_LEAD, TEXT, SIZE(verdict) },
    [MOT_ENVELOPE_BEAT] = { BY_OR_TO_LEAD, NO_BODY, 0 },
    [MOT_ENVELOPE_MESSAGE] = { BY_ANYONE, FLOATS, SIZE(message) },
    [MOT_ENVELOPE_PART] = { BY_ANYONE, FLOATS, SIZE(range) },
    [MOT_ENVELOPE_SUM] = { BY_ANYONE, FLOATS, SIZE(range) },
    [MOT_ENVELOPE_TOKEN] = { BY_ANYONE, NO_BODY, SIZE(token) },
    [MOT_ENVELOPE_END] = { BY_OR_TO_LEAD, NO_BODY, 0 },
    [MOT_ENVELOPE_FINAL] = { TO_LEAD, A_FINAL, SIZE(final) },
    [MOT_ENVELOPE_BYE] = { BY_OR_TO_LEAD, NO_BODY, SIZE(verdict) },
    [MOT_ENVELOPE_LOST] = { BY_LEAD, NO_BODY, SIZE(lost) },
    [MOT_ENVELOPE_BLAME] = { TO_LEAD, NO_BODY, SIZE(lost) },
    [MOT_ENVELOPE_ASK] = { BY_LEAD, NO_BODY, SIZE(ask) },
    [MOT_ENVELOPE_SHOW] = { TO_LEAD, FLOATS, SIZE(show) },
    [MOT_ENVELOPE_ROWS] = { BY_ANYONE, FLOATS, SIZE(message) },
    [MOT_ENVELOPE_CHUNK] = { BY_ANYONE, FLOATS, SIZE(chunk) },
    [MOT_ENVELOPE_WANT] = { BY_ANYONE, NO_BODY, SIZE(want) },
    [MOT_ENVELOPE_REST] = { TO_LEAD, FLOATS, SIZE(rest) },
    [MOT_ENVELOPE_HELD] = { TO_LEAD, RECORDS, 0 },
};

static bool may_send(const struct mot_ranks *p, uint32_t from, const struct mot_envelope *e)
{
    bool by_lead = from == 0, to_lead = p->transport->rank == 0;
    if (e->kind >= MOT_ENVELOPE_KINDS || from == p->transport->rank || e->kind_turned != ~e->kind)
        return false;
    for (size_t i = rules[e->kind].says; i < sizeof(e->raw); i++) /* unused bytes must be 0 */
        if (e->raw[i]) return false;
    switch (rules[e->kind].way) {
    case BY_NOBODY: return false;
    case BY_ANYONE: return true;
    case BY_LEAD: return by_lead;
    case TO_LEAD: return to_lead;
    case BY_OR_TO_LEAD: return by_lead || to_lead;
    }
    return false;
}

/* Finds room for floats of the current run. Those of an earlier run are received and discarded. */
static bool expect_floats(struct mot_ranks *p, struct letter *l)
{
    enum mot_envelope_kind kind = (enum mot_envelope_kind)l->envelope.kind;
    bool judged = kind == MOT_ENVELOPE_SHOW || kind == MOT_ENVELOPE_REST;
    l->stale = p->phase == PHASE_AFTER || (judged && !p->live.judge);
    if (p->phase == PHASE_BEFORE) return false;
    if (!l->stale && kind == MOT_ENVELOPE_MESSAGE) return mot_ranks_expect_message(p, l);
    if (!l->stale && kind == MOT_ENVELOPE_SHOW) return mot_ranks_expect_show(p, l);
    if (!l->stale && kind == MOT_ENVELOPE_REST) return mot_ranks_expect_rest(p, l);
    if (!l->stale && kind == MOT_ENVELOPE_ROWS) return mot_ranks_expect_rows(p, l);
    if (!l->stale && kind == MOT_ENVELOPE_CHUNK) return mot_ranks_expect_chunk(p, l);
    if (!l->stale) return mot_ranks_expect_range(p, l);
    if (l->envelope.bytes > p->body_most) return false;
    l->body = mot_new(1, l->envelope.bytes + 1);
    l->owned = true;
    return true;
}

/* Finds room for the body. False: the envelope makes no sense. */
static bool expect(struct mot_ranks *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    switch (rules[e->kind].body) {
    case NO_BODY: return e->bytes == 0;
    case FLOATS: return expect_floats(p, l);
    case RECORDS: return mot_ranks_expect_held(p, l);
    case A_FINAL:
        if (e->bytes != sizeof(*p->final) || e->body_sum == 0) return false;
        break;
    case TEXT:
        if (e->bytes > TEXT_MAX || (e->bytes && e->body_sum == 0)) return false;
        break;
    }
    l->body = mot_new(1, e->bytes + 1); /* texts end with a 0 */
    l->owned = true;
    return true;
}

static char *take_text(struct letter *l, char *old)
{
    free(old);
    l->owned = false;
    return l->body;
}

static bool is_status(uint32_t status)
{
    return strcmp(mot_status_name((enum mot_status)status), "unknown") != 0;
}

/* Whether a worker may have ended without being told to by rank 0. With collectives of all workers, those
 * who wait for one more can tell (ranks_sum.c). */
static bool may_have_ended(const struct mot_ranks *p, mot_node node, const struct rank_final *f)
{
    const struct mot_live *l = &p->live;
    if (p->ended || p->profiles || node >= l->world.workers || f->account.status != MOT_OK || f->out_of_data)
        return true;
    if (l->world.servers > 0 || l->own_pace) return false;
    bool apart = l->experiment->traits.model == MOT_MODEL_OF_EACH || l->world.groups > 0;
    return !apart || f->account.advanced >= l->stop_at;
}

static bool final_came(struct mot_ranks *p, const struct letter *l)
{
    mot_node node = l->envelope.final.node;
    if (p->phase != PHASE_RUNNING) return true;
    if (node >= mot_ranks_nodes(p) || !mot_ranks_is_of(p, node, l->rank) || p->said_final[node]) return false;
    struct rank_final *final = &p->final[node];
    memcpy(final, l->body, sizeof(*final));
    if (final->notes.n > MOT_NOTES_MAX || !is_status(final->account.status) || final->out_of_data > 1) {
        *final = (struct rank_final){ 0 };
        return false;
    }
    for (int i = 0; i < MOT_NOTES_MAX; i++) final->key[i][RANK_KEY_BYTES - 1] = 0;
    p->said_final[node] = true;
    p->finals++;
    return may_have_ended(p, node, final);
}

static bool lost_came(struct mot_ranks *p, const struct letter *l)
{
    uint32_t rank = l->envelope.lost.rank, by = l->envelope.lost.by;
    bool blamed = l->envelope.kind == MOT_ENVELOPE_BLAME;
    if (rank == 0 || rank >= p->transport->ranks || by >= MOT_LOST_WAYS || (blamed && rank == l->rank))
        return false;
    /* We were given up: going on would only confuse the others. */
    if (rank == p->transport->rank) p->orphan = p->ended = true;
    else lose(p, rank, (enum mot_lost_by)by);
    return true;
}

/* Rank 0 dismisses ranks that have reported, or that know there will be no run. Whoever leaves undismissed
 * does so because there is no run. */
static bool bye_came(struct mot_ranks *p, uint32_t status)
{
    if (!is_status(status)) return false;
    if (p->transport->rank == 0) return p->leaving || p->verdict != MOT_OK;
    if (p->phase == PHASE_RUNNING && !p->said_last && p->verdict == MOT_OK) return false;
    p->verdict = status;
    p->bye = p->ended = true;
    return true;
}

/* Handles a complete letter. False: it makes no sense. */
static bool take_in(struct mot_ranks *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    struct peer *peer = &p->peer[l->rank];
    switch ((enum mot_envelope_kind)e->kind) {
    case MOT_ENVELOPE_HELLO:
        if (peer->said_hello || p->leads || !is_status(e->hello.status)) return false;
        peer->said_hello = true;
        peer->hello_status = e->hello.status;
        peer->hello_hash = e->hello.hash;
        peer->hello_text = take_text(l, peer->hello_text);
        return true;
    case MOT_ENVELOPE_VERDICT:
        if (p->agreed || !is_status(e->verdict.status)) return false;
        p->agreed = true;
        p->verdict = e->verdict.status;
        p->verdict_text = take_text(l, p->verdict_text);
        return true;
    case MOT_ENVELOPE_FINAL: return final_came(p, l);
    case MOT_ENVELOPE_ASK:
        if (p->phase != PHASE_RUNNING) return true;
        if (p->live.showing < 2 || e->ask.at == 0 || e->ask.number != atomic_load(&p->live.ask.number) + 1)
            return false;
        atomic_store(&p->live.ask.at, e->ask.at);
        atomic_store(&p->live.ask.number, e->ask.number);
        return true;
    case MOT_ENVELOPE_END:
        if (p->transport->rank == 0) mot_ranks_end(p);
        p->ended = true;
        return true;
    case MOT_ENVELOPE_BYE: return bye_came(p, e->verdict.status);
    case MOT_ENVELOPE_LOST:
    case MOT_ENVELOPE_BLAME: return lost_came(p, l);
    case MOT_ENVELOPE_TOKEN: return p->phase != PHASE_RUNNING || mot_ranks_token_came(p, l);
    case MOT_ENVELOPE_PART:
    case MOT_ENVELOPE_SUM: return mot_ranks_range_came(p, l);
    case MOT_ENVELOPE_SHOW: mot_ranks_show_came(p, l); return true;
    case MOT_ENVELOPE_WANT: return p->phase != PHASE_RUNNING || mot_ranks_want_came(p, l);
    case MOT_ENVELOPE_REST: mot_ranks_rest_came(p, l); return true;
    case MOT_ENVELOPE_CHUNK: return mot_ranks_chunk_came(p, l);
    case MOT_ENVELOPE_HELD: return mot_ranks_held_came(p, l);
    case MOT_ENVELOPE_ROWS:
    case MOT_ENVELOPE_MESSAGE:
    case MOT_ENVELOPE_BEAT:
    case MOT_ENVELOPE_KINDS: return true;
    }
    return true;
}

/* The body will not come, or is not what the envelope says. */
static void came_to_nothing(struct mot_ranks *p, struct letter *l)
{
    uint32_t rank = l->rank;
    if (l->envelope.kind == MOT_ENVELOPE_MESSAGE && !l->stale) mot_ranks_message_void(p, l);
    else mot_ranks_letter_free(p, l);
    mot_ranks_distrust(p, rank); /* no effect if already lost */
}

static void came(struct mot_ranks *p, struct letter *l)
{
    const struct mot_envelope *e = &l->envelope;
    p->news++;
    if (e->body_sum && e->body_sum != mot_body_sum(l->body, e->bytes)) {
        came_to_nothing(p, l);
        return;
    }
    if (e->kind == MOT_ENVELOPE_MESSAGE && !l->stale) {
        if (!mot_ranks_message_came(p, l)) came_to_nothing(p, l);
        return;
    }
    if (e->kind == MOT_ENVELOPE_ROWS && !l->stale) { /* the same, with its last row */
        l->here = e->message.len == 0;
        return;
    }
    if (!l->stale && !take_in(p, l)) mot_ranks_distrust(p, l->rank);
    mot_ranks_letter_free(p, l);
}

static void envelope_came(struct mot_ranks *p, const struct mot_wire_event *event)
{
    struct peer *peer = &p->peer[event->from];
    const struct mot_envelope *e = &event->envelope;
    if (peer->line.broken) return; /* ignored from now on */
    /* Transports deliver once and in order: a duplicate, or another life, is as wrong as a gap. */
    if (mot_line_receive(&peer->line, e, mot_wall_ns()) != MOT_LINE_ACCEPT || !may_send(p, event->from, e)) {
        mot_ranks_distrust(p, event->from);
        return;
    }
    /* Counters only grow: a beat from the keeper may be older than what the node sent. */
    if (e->samples > peer->samples) peer->samples = e->samples;
    if (p->phase == PHASE_RUNNING && p->live.place) hear_place(p, event->from, e);
    if (e->paced && p->phase == PHASE_RUNNING && p->live.own_pace)
        mot_live_hear_pace(&p->live, mot_ranks_first_node(p, event->from), e->paced);
    if (e->kind == MOT_ENVELOPE_BEAT && e->bytes == 0) return;
    struct letter *l = mot_ranks_letter(p);
    memcpy(&l->envelope, e, sizeof(*e));
    l->rank = event->from;
    if (!expect(p, l)) {
        mot_ranks_letter_free(p, l);
        mot_ranks_distrust(p, event->from);
        return;
    }
    if (e->bytes == 0) {
        came(p, l);
        return;
    }
    p->receiving++;
    pthread_mutex_lock(&p->lock);
    p->transport->ops->receive(p->transport, event->from, l->body, e->bytes, l);
    pthread_mutex_unlock(&p->lock);
}

/* The next event; if there is none, gives signs of life. Only this holds the lock: an event may go to the
 * judge, which has its own. */
static bool next_event(struct mot_ranks *p, struct mot_wire_event *event, uint64_t *now)
{
    pthread_mutex_lock(&p->lock);
    bool more = p->transport->ops->poll(p->transport, event);
    if (!more) beat(p, *now = mot_wall_ns());
    pthread_mutex_unlock(&p->lock);
    return more;
}

void mot_ranks_progress(struct mot_ranks *p)
{
    struct mot_wire_event event;
    uint64_t now = 0;
    while (next_event(p, &event, &now)) {
        switch (event.kind) {
        case MOT_WIRE_CAME: envelope_came(p, &event); break;
        case MOT_WIRE_BODY:
            p->receiving--;
            came(p, event.token);
            break;
        case MOT_WIRE_VOID:
            p->receiving--;
            came_to_nothing(p, event.token);
            break;
        case MOT_WIRE_BROKEN: give_up(p, event.from, MOT_LOST_LINK); break;
        case MOT_WIRE_SENT: sent(p, (mot_buf)(uintptr_t)event.token); break;
        case MOT_WIRE_REDUCED:
            ((struct sum *)event.token)->reduced = true;
            p->news++;
            break;
        }
    }
    if (p->bye || p->closing) return;
    /* Also for a worker that is done: others may wait for what it passes on. */
    if (p->phase == PHASE_RUNNING && p->live.emulate) mot_ranks_take_tokens(p);
    look_for_lost(p, now);
}

#define REST_NS UINT64_C(5000000) /* how long a rank rests at most, before the node looks around */

/* Sleeps a little: the longer nothing has come, the less it matters how soon we notice what comes next. */
static void nap(uint64_t waited, uint64_t left)
{
    uint64_t ns = waited / 32;
    if (ns < 50000) ns = 50000;
    if (ns > 500000) ns = 500000;
    if (ns > left) ns = left;
    nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

/* Transports do not block, so a waiting rank polls: at once while it has a core to itself, yielding if
 * ranks outnumber cores, and ever more rarely while nothing comes. */
void mot_ranks_rest(struct mot_ranks *p, mot_time until)
{
    uint64_t news = p->news, began = mot_wall_ns(), now = began;
    mot_time due = mot_ranks_next_due(p);
    if (due < until) until = due;
    if (began - p->rested_ns > 100000) p->idle_ns = began; /* we had something else to do */
    for (;;) {
        mot_ranks_progress(p);
        mot_time clock = until == MOT_NEVER ? 0 : mot_live_now(&p->live);
        now = mot_wall_ns();
        if (p->news != news || clock >= until) {
            p->rested_ns = 0;
            return;
        }
        if (now - began >= REST_NS) break;
        uint64_t waited = now - p->idle_ns;
        bool yields = p->oversubscribed || waited > 100000;
        if (waited > 1000000 || (yields && !mot_turn_yield(&p->turn))) nap(waited, until - clock);
    }
    p->rested_ns = now;
}
