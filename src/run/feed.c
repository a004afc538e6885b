#include "run/feed.h"
#include "run/actor.h"
#include <math.h>

static uint64_t rate_arrived(void *self, mot_time now)
{
    return mot_arrivals_by(&((struct mot_rate_supply *)self)->now, now);
}

static mot_time rate_when(void *self, uint64_t count)
{
    struct mot_rate_supply *s = self;
    if (mot_arrivals_long_ago(&s->now, count)) return mot_arrivals_when(&s->old, count);
    struct mot_arrivals ahead = s->now; /* questions about the future must not move the present */
    return mot_arrivals_when(&ahead, count);
}

static double rate_now(void *self) { return mot_arrivals_rate(&((struct mot_rate_supply *)self)->now); }

struct mot_supply mot_rate_supply_open(
    struct mot_rate_supply *s, const struct mot_stream *stream, uint64_t seed, mot_node worker)
{
    mot_arrivals_open(&s->now, stream, seed, worker);
    s->old = s->now;
    return (struct mot_supply){ .self = s, .arrived = rate_arrived, .when = rate_when, .rate = rate_now };
}

void mot_feed_open(struct mot_feed *f, const struct mot_machine *m, uint64_t row_bytes, uint64_t first,
    struct mot_supply supply, struct mot_feed_tally *tally)
{
    const struct mot_stream *s = &m->stream;
    *f = (struct mot_feed){ .supply = supply,
        .buffer = s->buffer,
        .bound = UINT64_MAX,
        .in_memory = UINT64_MAX,
        .reach = UINT64_MAX,
        .head = first,
        .first = first,
        .lacks = MOT_NEVER,
        .tally = tally };
    if (s->buffer == MOT_BUFFER_BOUNDED && s->bound != MOT_WORD_UINT) f->bound = s->bound;
    if (m->room.memory == 0) return;
    uint64_t all = m->room.memory + m->room.storage;
    if (all < m->room.memory) all = UINT64_MAX;
    f->in_memory = m->room.memory / row_bytes;
    if (all / row_bytes < f->bound) f->bound = all / row_bytes;
}

/* Samples that may wait. A truncated buffer holds what a job waits for, however little arrives. */
static uint64_t room_of(const struct mot_feed *f)
{
    uint64_t second;
    if (f->buffer != MOT_BUFFER_TRUNCATE) return f->bound;
    second = (uint64_t)ceil(f->supply.rate(f->supply.self));
    if (second < f->least) second = f->least;
    return second < f->bound ? second : f->bound;
}

/* How many of the waiting samples must go. */
static uint64_t excess(const struct mot_feed *f, uint64_t waiting)
{
    uint64_t room = room_of(f);
    return waiting > room ? waiting - room : 0;
}

/* Nothing has been taken since the last look at the buffer, so dropping only now is as good as having dropped
 * all along. */
static uint64_t look(struct mot_feed *f, mot_time now)
{
    uint64_t oldest = f->supply.hold ? f->supply.hold(f->supply.self, f->head) : f->head;
    uint64_t arrived = f->supply.arrived(f->supply.self, now), gone, waiting;
    if (arrived < f->head) return 0; /* resumed: used samples do not arrive again */
    gone = excess(f, arrived - f->head);
    if (oldest - f->head > gone) gone = oldest - f->head;
    f->head += gone;
    f->tally->dropped += gone;
    waiting = arrived - f->head;
    if (waiting > f->tally->most) f->tally->most = waiting;
    if (waiting > f->in_memory && waiting - f->in_memory > f->tally->spilled)
        f->tally->spilled = waiting - f->in_memory;
    return waiting;
}

static void note_age(struct mot_feed *f, mot_time now)
{
    mot_time came = f->supply.when(f->supply.self, f->head + 1);
    if (came < now && now - came > f->tally->oldest) f->tally->oldest = now - came;
}

void mot_feed_rest(struct mot_feed *f, mot_time now)
{
    if (f->lacks != MOT_NEVER && now > f->lacks) f->tally->starved += now - f->lacks;
    f->lacks = MOT_NEVER;
}

bool mot_feed_take(struct mot_feed *f, struct mot_slot *s, mot_node self, mot_time now, mot_time *again)
{
    uint64_t want = 0, there, take;
    for (uint32_t t = 0; t < s->terms; t++) want += s->term[t].part == self ? s->term[t].samples : 0;
    if (want == 0) return true;
    f->least = s->least && s->least < want ? s->least : want;
    if (f->least > f->bound) f->least = f->bound; /* there will never be more */
    if (f->least > f->reach) f->least = f->reach;
    bool ended = f->supply.ended && f->supply.ended(f->supply.self);
    there = look(f, now);
    if (ended && there < f->least) f->least = there ? there : 1;
    f->over = ended && there == 0;
    if (there < f->least && (f->over || now < s->deadline)) {
        if (f->supply.release) f->supply.release(f->supply.self, f->head);
        if (f->lacks == MOT_NEVER) f->lacks = now;
        *again = f->supply.when(f->supply.self, f->head + f->least);
        if (s->deadline < *again) *again = s->deadline;
        return false;
    }
    mot_feed_rest(f, now);
    take = there < f->least ? 0 : there < want ? there : want;
    if (take) note_age(f, now);
    f->before = f->head;
    f->took = take;
    for (uint32_t t = 0; t < s->terms; t++) {
        struct mot_term *term = &s->term[t];
        if (term->part != self) continue;
        term->draw = f->head;
        if (take < term->samples) term->samples = (uint32_t)take;
        f->head += term->samples;
        take -= term->samples;
    }
    return true;
}

void mot_feed_end(struct mot_feed *f, uint64_t covered)
{
    if (covered > f->took) covered = f->took; /* the rest are samples of others */
    if (f->took) f->head = f->before + covered;
    f->tally->used += covered;
    f->took = 0;
    if (f->supply.release) f->supply.release(f->supply.self, f->head);
}

struct mot_flow mot_feed_flow(const struct mot_feed *f, mot_time now)
{
    uint64_t arrived = f->supply.arrived(f->supply.self, now), gone = 0, kept = f->head;
    struct mot_flow flow = { .used = f->tally->used, .dropped = f->tally->dropped, .oldest = NAN };
    if (arrived < f->head) arrived = f->head;
    gone = excess(f, arrived - f->head);
    flow.arrived = arrived - f->first;
    flow.dropped += gone;
    flow.waiting = flow.arrived - flow.used - flow.dropped;
    kept = f->took ? f->before : f->head + gone;
    if (kept < arrived) {
        mot_time came = f->supply.when(f->supply.self, kept + 1);
        flow.oldest = came < now ? (double)(now - came) * 1e-9 : 0;
    }
    return flow;
}

void mot_feed_close(struct mot_feed *f, mot_time now)
{
    mot_feed_end(f, 0);
    mot_feed_rest(f, now);
    if (look(f, now)) note_age(f, now);
    struct mot_flow flow = mot_feed_flow(f, now);
    f->tally->arrived = flow.arrived;
    f->tally->waiting = flow.waiting;
}

void mot_flow_add(struct mot_flow *all, const struct mot_flow *one)
{
    all->arrived += one->arrived;
    all->used += one->used;
    all->dropped += one->dropped;
    all->waiting += one->waiting;
    all->malformed += one->malformed;
    all->held += one->held;
    if (isnan(all->oldest) || one->oldest > all->oldest) all->oldest = one->oldest;
}
