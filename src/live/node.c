#include "live/node_parts.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "run/judge.h"
#include "run/world.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples behind the steps that workers at their own pace have made: those that a checkpoint counts. */
static uint64_t samples_stepped(const struct mot_live *l)
{
    uint64_t all = l->course.samples0;
    for (mot_node i = 0; i < l->world.workers; i++)
        all += mot_course_draw(&l->course, i, atomic_load(&l->paced[i]) / 2) -
            (l->world.draw0 ? l->world.draw0[i] : 0);
    return all;
}

uint64_t mot_live_samples(const struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    if (l->experiment->traits.redundant) return l->course.samples0 + n->actor.used;
    if (l->course.known) return mot_course_samples(&l->course, n->actor.advanced);
    if (l->own_pace && !l->place && !l->experiment->shared_parts) return samples_stepped(l);
    return mot_live_computed(n);
}

uint64_t mot_live_computed(const struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    if (l->world.servers == 0) return n->port->samples(n->port, 0);
    uint64_t all = l->from ? l->from->computed : 0;
    for (mot_node i = 0; i < l->world.workers; i++) all += n->seen[i];
    return all;
}

uint64_t mot_live_updates(const struct mot_live_node *lead)
{
    const struct mot_live *l = lead->live;
    return l->own_pace ? atomic_load(&l->stepped) / l->world.workers : lead->actor.advanced;
}

double mot_live_epochs(const struct mot_live_node *n)
{
    if (n->live->rings) return NAN; /* what has no end has no epochs */
    return (double)mot_live_samples(n) / n->live->problem->data->train.rows;
}

static bool epochs_are_over(const struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    if (l->course.known || isnan(l->experiment->stop.epochs)) return false; /* avoids asking all workers */
    return mot_live_epochs(n) >= l->experiment->stop.epochs;
}

bool mot_live_node_done(const struct mot_live_node *n)
{
    return n->actor.advanced >= n->live->stop_at || epochs_are_over(n);
}

/* If models differ, a resumed node starts from its own. */
static void begin_with_own(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    const struct mot_live_params *own = &l->from->model[n->actor.self];
    n->world.x0 = mot_pool_take(&l->pool);
    memcpy(mot_pool_at(&l->pool, n->world.x0), own->x, l->world.dim * sizeof(float));
    mot_live_fill(l, own, &n->world, n->actor.self, n->actor.self + 1);
}

void mot_live_node_open(struct mot_live_node *n, struct mot_live *l, struct mot_port *port, mot_node self)
{
    *n = (struct mot_live_node){ .live = l, .port = port, .world = l->world };
    mot_actor_open(&n->actor, &n->outbox, l->experiment, &l->world, self, sizeof(struct mot_live_work));
    if (l->from && l->from->models > 1) begin_with_own(n);
    if (self < l->world.workers) n->pace = mot_pace_of(mot_live_machine(n), l->world.batch[self]);
    if (self < l->world.workers) n->scratch = mot_aligned_large(mot_gradient_scratch(l->problem));
    n->credit = mot_new_large(l->world.workers, sizeof(*n->credit));
    n->seen = mot_new_large(l->world.workers, sizeof(*n->seen));
    if (self == l->lead && l->world.servers) n->drawn = mot_new_large(l->world.workers, sizeof(*n->drawn));
    n->actor.advanced = l->world.servers && self < l->world.workers ? 0 : l->world.step0;
    n->next_show = mot_live_next_show(l, n->actor.advanced);
    n->reported = l->world.step0;
    n->fed_at = MOT_NEVER;
    if (l->place) mot_live_feed_open(n);
    if (mot_live_has_rests(l)) mot_rests_open(n);
}

void mot_live_node_close(struct mot_live_node *n)
{
    free(n->credit);
    free(n->seen);
    free(n->drawn);
    free(n->place);
    free(n->placed);
    mot_rests_close(n);
    mot_intake_close(n->intake);
    free(n->scratch);
    mot_actor_close(&n->actor, &n->outbox);
}

struct mot_env mot_live_env(struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    struct mot_env env =
        mot_env_of(l->experiment, &n->world, n->actor.self, mot_live_now(l), &n->live->pool, &n->outbox);
    env.held = n->actor.held;
    return env;
}

void mot_live_node_init(struct mot_live_node *n)
{
    struct mot_env env = mot_live_env(n);
    env.now = 0;
    env.life = n->life;
    mot_actor_hold_first(&n->actor, n->live->experiment, &n->world, n->life);
    n->live->experiment->method->init(n->actor.state, &env);
    if (mot_live_has_rests(n->live)) mot_rests_begin(n);
}

/* ---- Telling the watcher ------------------------------------------------------------------ */

void mot_live_watch_phase(
    struct mot_live_node *n, enum mot_phase phase, uint32_t tag, uint32_t samples, mot_time from)
{
    struct mot_live *l = n->live;
    if (!l->watch.phase || !mot_watch_follows(&l->watch)) return;
    pthread_mutex_lock(&l->watch_lock);
    l->watch.phase(l->watch.self, n->actor.self, phase, tag, samples, from, mot_live_now(l));
    pthread_mutex_unlock(&l->watch_lock);
}

static void watch_flight(struct mot_live_node *n, const struct mot_arrival *a)
{
    struct mot_live *l = n->live;
    if (!l->watch.flight || !mot_watch_follows(&l->watch)) return;
    const struct mot_message *m = &a->message;
    /* clocks of two processes may differ slightly */
    mot_time now = mot_live_now(l), sent = a->sent < now ? a->sent : now;
    pthread_mutex_lock(&l->watch_lock);
    l->watch.flight(l->watch.self,
        &(struct mot_flight){ .from = m->from,
            .to = m->to,
            .kind = m->kind,
            .bytes = mot_message_bytes(&n->world, &n->live->pool, m, 4),
            .sent = sent,
            .began = sent,
            .delivered = now });
    pthread_mutex_unlock(&l->watch_lock);
}

static void watch_shared(struct mot_live_node *n, const struct mot_message *m)
{
    struct mot_live *l = n->live;
    if (!l->watch.shared) return;
    pthread_mutex_lock(&l->watch_lock);
    l->watch.shared(l->watch.self, m, mot_live_now(l));
    pthread_mutex_unlock(&l->watch_lock);
}

static void watch_update(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    if (!l->watch.update || !mot_watch_follows(&l->watch)) return;
    pthread_mutex_lock(&l->watch_lock);
    l->watch.update(l->watch.self, n->actor.self, n->actor.advanced, mot_live_now(l));
    pthread_mutex_unlock(&l->watch_lock);
}

/* ---- Steps and their effects -------------------------------------------------------------- */

/* Whether the lead ends the run for everyone at once. If all workers make the same updates, they leave
 * together instead, after the last collective of all workers that the lead joins; with groups there may be
 * none. */
static bool ends_at_once(const struct mot_live *l)
{
    return l->world.servers > 0 || l->world.groups > 0 || l->experiment->traits.model == MOT_MODEL_OF_EACH;
}

/* Workers at their own pace: whoever sees that the run's last update or epoch is done ends it for all. */
static void step_at_own_pace(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    mot_live_hear_pace(l, n->actor.self, 2 * n->actor.advanced);
    n->port->paced(n->port);
    if (mot_live_updates(n) < l->stop_at && !epochs_are_over(n)) return;
    n->finished = true;
    n->port->end(n->port);
}

/* Workers at their own pace show their models as soon as they are asked to, and the lead notices updates that
 * others made. True: the run is over. */
static bool look_around(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    uint64_t number = atomic_load(&l->ask.number), updates;
    if (number != n->answered) {
        n->answered = number;
        mot_live_show(n, (struct mot_shown){ .at = atomic_load(&l->ask.at), .asked = true });
    }
    if (!l->judge || n->actor.self != l->lead || (updates = mot_live_updates(n)) == n->reported) return false;
    n->reported = updates;
    if (!mot_live_judge_update(l->judge)) return false;
    n->finished = true;
    n->port->end(n->port);
    return true;
}

static void advance(void *node, struct mot_actor *actor)
{
    struct mot_live_node *n = node;
    struct mot_live *l = n->live;
    (void)actor;
    n->actor.tally.updates++;
    watch_update(n);
    if (l->own_pace) {
        step_at_own_pace(n);
        return;
    }
    if (n->placed) memcpy(n->placed, n->place, l->world.workers * sizeof(*n->placed));
    n->fruitless = 0;
    if (n->drawn) memcpy(n->drawn, n->seen, l->world.workers * sizeof(*n->drawn));
    if (n->took) memcpy(n->took, n->taken, l->world.workers * sizeof(*n->took));
    if (mot_live_shows(n)) mot_live_show_due(n);
    /* Every worker counts its own updates, so nobody has to be told. */
    if (l->world.servers == 0 && n->actor.advanced >= l->stop_at) n->finished = true;
    if (l->judge && n->actor.self == l->lead && mot_live_judge_update(l->judge) && ends_at_once(l)) {
        n->finished = true;
        n->port->end(n->port);
    }
}

void mot_live_node_sent(struct mot_live_node *n, mot_node to, uint64_t bytes)
{
    n->actor.tally.messages_sent++;
    n->actor.tally.bytes_sent += bytes;
    mot_sent_add(&n->live->blocks, n->sent, to, bytes);
}

static void send(void *node, struct mot_actor *actor, const struct mot_message *m)
{
    struct mot_live_node *n = node;
    uint64_t bytes = mot_message_bytes(&n->world, &n->live->pool, m, 4);
    mot_live_node_sent(n, m->to, bytes);
    if (m->rows) actor->tally.rows_bytes += bytes;
    if (m->given) watch_shared(n, m);
    if (n->rests && m->to >= n->world.workers) mot_rests_sent(n, m->to - n->world.workers);
    n->port->send(n->port, m);
}

static void collect(void *node, struct mot_actor *actor, const struct mot_coll *coll)
{
    struct mot_live_node *n = node;
    struct mot_live *l = n->live;
    bool heard_by_all = coll->scope == MOT_COLL_ALL && coll->kind != MOT_COLL_TO_ROOT;
    n->joined[coll->scope] = mot_live_now(l);
    if (l->place && coll->scope == MOT_COLL_ALL) mot_live_place_join(n);
    n->port->join(
        n->port, coll, heard_by_all && l->judge && actor->self == 0 && mot_live_judge_wants_end(l->judge));
}

static void credit(void *node, struct mot_actor *actor, mot_node worker)
{
    (void)actor;
    ((struct mot_live_node *)node)->credit[worker]++;
}

static void enter(void *node, struct mot_actor *actor)
{
    struct mot_live_node *n = node;
    n->next_show = mot_live_next_show(n->live, actor->advanced);
}

static void note(void *node, struct mot_actor *actor, const char *key, double value)
{
    (void)actor;
    mot_notes_add(&((struct mot_live_node *)node)->notes, key, value);
}

static void stop(void *node, struct mot_actor *actor, enum mot_status why)
{
    struct mot_live_node *n = node;
    struct mot_live *l = n->live;
    n->out_of_data = why == MOT_OK;
    if (n->out_of_data && l->own_pace) { /* it still answers the others */
        mot_live_hear_pace(l, actor->self, 2 * actor->advanced + 1);
        n->port->paced(n->port);
        return;
    }
    n->finished = true;
    if (why != MOT_OK) n->status = why;
    if (why != MOT_OK || (actor->self >= l->world.workers && l->showing == 1)) n->port->end(n->port);
    /* the run ends when every server has shown its final model */
    else if (mot_live_shows(n) && !n->shown_last) mot_live_show_last(n);
}

static const struct mot_actor_ops ops = { .send = send,
    .start = mot_live_start_work,
    .cancel = mot_live_cancel_work,
    .collect = collect,
    .advance = advance,
    .enter = enter,
    .credit = credit,
    .note = note,
    .stop = stop };

void mot_live_step(struct mot_live_node *n, const struct mot_event *event)
{
    struct mot_env env = mot_live_env(n);
    const struct mot_method *m = n->live->experiment->method;
    n->events++;
    if (n->tape) mot_tape_put(n->tape, env.now, event, n->actor.feed != NULL);
    m->step(n->actor.state, &env, event);
    if (m->check) m->check(n->actor.state, &env);
    mot_actor_drain(&n->actor, &n->outbox, &ops, n);
}

static void receive(struct mot_live_node *n, struct mot_arrival *a)
{
    switch (a->kind) {
    case MOT_ARRIVAL_MESSAGE:
        if (a->message.from < n->live->world.workers) {
            n->seen[a->message.from] = a->sender_samples;
            n->fruitless++;
            if (n->place) n->place[a->message.from] = a->place;
            if (n->taken) n->taken[a->message.from]++;
        } else if (n->rests) {
            mot_rests_told(n, a->message.from - n->live->world.workers, a->took);
        }
        watch_flight(n, a);
        mot_actor_take_rows(&n->actor, &a->message);
        mot_live_step(n, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = &a->message });
        mot_pool_drop(&n->live->pool, a->message.body.buf);
        return;
    case MOT_ARRIVAL_COLL:
        mot_live_watch_phase(n, MOT_PHASE_COLLECTIVE, a->coll.tag, 0, n->joined[a->coll.scope]);
        if (n->live->place && a->coll.scope == MOT_COLL_ALL) mot_live_learn_places(n);
        mot_live_step(n, &(struct mot_event){ .kind = MOT_EV_COLL, .coll = &a->coll });
        mot_pool_drop(&n->live->pool, a->coll.out.buf);
        if (a->last) n->finished = true;
        return;
    case MOT_ARRIVAL_PEER:
        mot_live_step(n, &(struct mot_event){ .kind = MOT_EV_PEER, .peer = a->peer });
        return;
    }
}

/* Fires the first alarm that is due; *next becomes the time of the earliest one set. */
static bool alarm_due(struct mot_live_node *n, mot_time *next)
{
    mot_time now = mot_live_now(n->live);
    *next = MOT_NEVER;
    for (uint32_t i = 0; i < n->actor.alarms; i++) {
        if (n->actor.alarm[i] <= now) {
            n->actor.alarm[i] = MOT_NEVER;
            mot_live_step(n, &(struct mot_event){ .kind = MOT_EV_TIMER, .timer = i });
            return true;
        }
        if (n->actor.alarm[i] < *next) *next = n->actor.alarm[i];
    }
    return false;
}

bool mot_live_node_over(const struct mot_live_node *n) { return n->finished || n->port->ended(n->port); }

/* A waiting lead now and then checks whether the time is up, the target is met or Ctrl-C was pressed. Where
 * samples arrive over time, there may be no further collective to leave after: a stream may have dried up. */
static bool ends_here(struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    bool may = ends_at_once(l) || l->place;
    if (!l->judge || n->actor.self != l->lead || !may || !mot_live_judge_idle(l->judge)) return false;
    n->finished = true;
    n->port->end(n->port);
    return true;
}

void mot_live_node_begin(struct mot_live_node *n)
{
    if (n->status != MOT_OK) { /* its source could not be opened */
        n->finished = true;
        n->port->end(n->port);
        return;
    }
    mot_live_step(n, &(struct mot_event){ .kind = MOT_EV_START });
}

/* Does one thing that can be done now. If there is none, only arrivals matter until *next. */
static bool do_something(struct mot_live_node *n, mot_time *next)
{
    struct mot_arrival arrival;
    *next = MOT_NEVER;
    if (n->live->own_pace && look_around(n)) return true;
    if (n->port->poll(n->port, &arrival)) {
        receive(n, &arrival);
        return true;
    }
    if (n->actor.alarms && alarm_due(n, next)) return true;
    if (mot_live_work_on(n)) return true;
    if (n->fed_at != MOT_NEVER) { /* a job lacks samples */
        if (mot_live_now(n->live) >= n->fed_at) {
            mot_live_begin_next(n);
            if (n->fed_at == MOT_NEVER) return true;
        }
        if (n->fed_at < *next) *next = n->fed_at;
    }
    const struct mot_live_work *w = mot_live_running(n);
    if (w) { /* emulating: computed, but its time is not over */
        if (w->ends < *next) *next = w->ends;
        if (w->slot.deadline < *next) *next = w->slot.deadline;
    }
    return ends_here(n);
}

bool mot_live_node_turn(struct mot_live_node *n, mot_time *next)
{
    bool did = do_something(n, next);
    if (did == n->waiting) { /* waiting starts or ends here */
        mot_time now = mot_live_now(n->live);
        if (did) n->actor.tally.wait += now - n->waits_since;
        n->waits_since = now;
        n->waiting = !did && !mot_live_running(n);
    }
    return did;
}

struct mot_live_account mot_live_node_account(const struct mot_live_node *n)
{
    struct mot_live_account a = { .tally = n->actor.tally,
        .events = n->events,
        .advanced = n->actor.advanced,
        .poisoned = n->poisoned,
        .status = n->status };
    memcpy(a.trouble, n->trouble, sizeof(a.trouble));
    memcpy(a.sent, n->sent, sizeof(a.sent));
    return a;
}

void mot_live_node_end(struct mot_live_node *n)
{
    if (n->waiting) n->actor.tally.wait += mot_live_now(n->live) - n->waits_since;
    n->waiting = false;
    if (n->actor.feed) mot_live_feed_close(n);
    if (mot_live_shows(n) && !n->shown_last) mot_live_show_last(n);
}

void mot_live_node_run(struct mot_live_node *n)
{
    mot_time next;
    mot_live_node_begin(n);
    while (!mot_live_node_over(n))
        if (!mot_live_node_turn(n, &next)) n->port->idle(n->port, next);
    mot_live_node_end(n);
}
