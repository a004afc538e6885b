#include "live/node.h"
#include "base/memory.h"
#include "run/world.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

mot_time mot_live_now(const struct mot_live *l)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - l->began_ns;
}

/* What had ended the run that goes on, if it has not been given a longer end. */
static const char *over_by(const struct mot_live *l, const struct mot_live_checkpoint *from)
{
    const struct mot_experiment *x = l->experiment;
    if (from->target.met && mot_target_met(x, &from->target.score)) return "target";
    if (from->updates >= l->stop_at) return l->stop_by;
    if (!l->course.known && (double)from->samples / l->problem->data->train.rows >= x->stop.epochs)
        return "epochs";
    if (from->out_of_data) return "data";
    return from->now >= x->stop.time ? "time" : NULL;
}

void mot_live_begin(struct mot_live *l, const struct mot_live_checkpoint *from)
{
    l->lead = mot_world_lead(&l->world);
    l->showing = mot_world_showing(l->experiment, &l->world);
    l->from = from;
    l->world.step0 = from ? from->step : 0;
    l->world.draw0 = from ? from->draw : NULL;
    l->every = mot_every_resolve(l->experiment);
    l->course = mot_course_of(l->experiment, &l->world, l->problem, from ? from->samples : 0);
    l->stop_at = mot_course_update(&l->course, l->experiment->stop.epochs);
    l->stop_by = "epochs";
    if (l->experiment->stop.updates <= l->stop_at) {
        l->stop_at = l->experiment->stop.updates;
        l->stop_by = "updates";
    }
    l->over = from ? over_by(l, from) : NULL;
}

uint32_t mot_live_buffers(const struct mot_live *l)
{
    uint32_t own = l->from && l->from->models > 1 ? l->from->models : 0;
    return 2 + 2 + own * (1 + l->world.optim->slots) + MOT_LIVE_HELD;
}

void mot_live_fill(struct mot_live *l, const float *x0)
{
    const struct mot_live_params *from = l->from ? &l->from->model[0] : NULL;
    size_t bytes = l->world.dim * sizeof(float);
    l->world.x0 = mot_pool_take(&l->pool);
    l->world.zero = mot_pool_take(&l->pool);
    memcpy(mot_pool_at(&l->pool, l->world.x0), from ? from->x : x0, bytes);
    memset(mot_pool_at(&l->pool, l->world.zero), 0, bytes);
    for (uint32_t s = 0; from && s < l->world.optim->slots; s++) {
        l->world.slot0[s] = mot_pool_take(&l->pool);
        memcpy(mot_pool_at(&l->pool, l->world.slot0[s]), from->slot[s], bytes);
    }
}

uint64_t mot_live_samples(const struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    if (l->course.known) return mot_course_samples(&l->course, n->advanced);
    if (l->world.servers == 0) return n->port->samples(n->port, 0);
    uint64_t all = l->course.samples0;
    for (mot_node i = 0; i < l->world.workers; i++) all += n->seen[i];
    return all;
}

double mot_live_epochs(const struct mot_live_node *n)
{
    return (double)mot_live_samples(n) / n->live->problem->data->train.rows;
}

bool mot_live_node_done(const struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    if (n->advanced >= l->stop_at) return true;
    if (l->course.known || isnan(l->experiment->stop.epochs))
        return false; /* do not ask all workers for it */
    return mot_live_epochs(n) >= l->experiment->stop.epochs;
}

/* The update after `u` at which the nodes show their models; the last one they show anyway. */
static uint64_t next_show(const struct mot_live *l, uint64_t u)
{
    uint64_t at = mot_course_due(&l->course, &l->every, u), save = UINT64_MAX;
    if (l->keeps) save = mot_course_due(&l->course, &l->experiment->checkpoint, u);
    if (save < at) at = save;
    return at < l->stop_at ? at : UINT64_MAX;
}

/* Where models differ, the node goes on with its own. */
static void begin_with_own(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    const struct mot_live_params *own = &l->from->model[n->self];
    size_t bytes = l->world.dim * sizeof(float);
    n->world.x0 = mot_pool_take(&l->pool);
    memcpy(mot_pool_at(&l->pool, n->world.x0), own->x, bytes);
    for (uint32_t s = 0; s < l->world.optim->slots; s++) {
        n->world.slot0[s] = mot_pool_take(&l->pool);
        memcpy(mot_pool_at(&l->pool, n->world.slot0[s]), own->slot[s], bytes);
    }
}

void mot_live_node_open(struct mot_live_node *n, struct mot_live *l, struct mot_port *port, mot_node self)
{
    const struct mot_method *m = l->experiment->method;
    *n = (struct mot_live_node){ .live = l,
        .port = port,
        .self = self,
        .world = l->world,
        .need = m->need(l->experiment->method_conf, &l->world, self) };
    if (l->from && l->from->models > 1) begin_with_own(n);
    if (self >= l->world.workers) n->need.works = 0;
    n->state = mot_new(1, n->need.state_bytes);
    n->scratch = mot_aligned(l->problem->net->scratch_bytes + 64);
    mot_outbox_open(
        &n->outbox, mot_outbox_room(&n->need), n->need.terms * (n->need.works ? n->need.works : 1));
    n->work = mot_new(n->need.works + 1, sizeof(*n->work));
    for (uint32_t i = 0; i < n->need.works; i++)
        n->work[i].term = mot_new(n->need.terms, sizeof(struct mot_term));
    n->alarm = mot_new(n->need.alarms + 1, sizeof(*n->alarm));
    for (uint32_t i = 0; i < n->need.alarms; i++) n->alarm[i] = MOT_NEVER;
    n->credit = mot_new(l->world.workers, sizeof(*n->credit));
    n->seen = mot_new(l->world.workers, sizeof(*n->seen));
    n->advanced = l->world.servers && self < l->world.workers ? 0 : l->world.step0;
    n->next_show = next_show(l, n->advanced);
}

void mot_live_node_close(struct mot_live_node *n)
{
    for (uint32_t i = 0; i < n->need.works; i++) free(n->work[i].term);
    free(n->work);
    free(n->alarm);
    free(n->credit);
    free(n->seen);
    free(n->state);
    free(n->scratch);
    mot_outbox_close(&n->outbox);
}

static struct mot_env env_of(struct mot_live_node *n)
{
    return (struct mot_env){ .self = n->self,
        .now = mot_live_now(n->live),
        .world = &n->world,
        .conf = n->live->experiment->method_conf,
        .pool = &n->live->pool,
        .out = &n->outbox };
}

/* ---- Telling the watcher ------------------------------------------------------------------ */

static void watch_phase(
    struct mot_live_node *n, enum mot_phase phase, uint32_t tag, uint32_t samples, mot_time from)
{
    struct mot_live *l = n->live;
    if (!l->watch.phase || !mot_watch_follows(&l->watch)) return;
    pthread_mutex_lock(&l->watch_lock);
    l->watch.phase(l->watch.self, n->self, phase, tag, samples, from, mot_live_now(l));
    pthread_mutex_unlock(&l->watch_lock);
}

static void watch_flight(struct mot_live_node *n, const struct mot_arrival *a)
{
    struct mot_live *l = n->live;
    if (!l->watch.flight || !mot_watch_follows(&l->watch)) return;
    const struct mot_message *m = &a->message;
    /* the clocks of two processes may differ a little */
    mot_time now = mot_live_now(l), sent = a->sent < now ? a->sent : now;
    pthread_mutex_lock(&l->watch_lock);
    l->watch.flight(l->watch.self,
        &(struct mot_flight){ .from = m->from,
            .to = m->to,
            .kind = m->kind,
            .bytes = m->body.buf ? (uint64_t)m->body.len * 4 : 0,
            .sent = sent,
            .began = sent,
            .delivered = now });
    pthread_mutex_unlock(&l->watch_lock);
}

static void watch_update(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    if (!l->watch.update || !mot_watch_follows(&l->watch)) return;
    pthread_mutex_lock(&l->watch_lock);
    l->watch.update(l->watch.self, n->self, n->advanced, mot_live_now(l));
    pthread_mutex_unlock(&l->watch_lock);
}

/* ---- Work ------------------------------------------------------------------------------- */

static const struct mot_machine *machine_of(const struct mot_live_node *n)
{
    return &n->live->experiment->cluster->machine[n->self];
}

static struct mot_live_work *running(struct mot_live_node *n)
{
    for (uint32_t i = 0; i < n->need.works; i++)
        if (n->work[i].state == MOT_LIVE_RUNNING) return &n->work[i];
    return NULL;
}

static void begin_next(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    struct mot_live_work *next = NULL;
    if (running(n)) return;
    for (uint32_t i = 0; i < n->need.works; i++) {
        struct mot_live_work *w = &n->work[i];
        if (w->state == MOT_LIVE_WAITING && (!next || w->order < next->order)) next = w;
    }
    if (!next) return;
    next->state = MOT_LIVE_RUNNING;
    next->began = next->ends = mot_live_now(l);
    next->asked = mot_terms_samples(l->problem, next->term, next->terms);
    if (l->emulate && next->asked)
        next->ends += mot_job_time(machine_of(n), l->world.seed, n->self, &n->pace, next->asked);
    next->grad = mot_pool_take(&l->pool);
    mot_gradient_begin(&next->run, l->problem, next->term, next->terms, next->asked,
        mot_pool_at(&l->pool, next->at), mot_pool_at(&l->pool, next->grad));
}

static void start_work(struct mot_live_node *n, const struct mot_work *work)
{
    struct mot_live_work *w = NULL;
    for (uint32_t i = 0; i < n->need.works && !w; i++)
        if (n->work[i].state == MOT_LIVE_FREE) w = &n->work[i];
    MOT_ASSERT(w && "a node has more work at once than need() declared");
    w->state = MOT_LIVE_WAITING;
    w->tag = work->tag;
    w->terms = work->terms;
    memcpy(w->term, work->term, work->terms * sizeof(*w->term));
    w->at = work->at; /* the hold of mot_start is ours now */
    w->deadline = work->deadline;
    w->order = n->order++;
    begin_next(n);
}

static void step(struct mot_live_node *n, const struct mot_event *event);

/* Emulating a cluster whose workers now and then compute nonsense. */
static void poison(struct mot_live_node *n, mot_buf grad)
{
    struct mot_live *l = n->live;
    const struct mot_faults *f = &l->experiment->cluster->faults;
    if (!f->any ||
        !mot_fault_poisons(f, l->world.seed, l->world.workers, n->self, n->tally.jobs, mot_live_now(l)))
        return;
    mot_gradient_spoil(mot_pool_at(&l->pool, grad), l->world.dim);
    n->poisoned++;
    if (n->tape) n->tape->spoilt = true;
}

/* The work is over, with the slices that are done. */
static void finish_work(struct mot_live_node *n, struct mot_live_work *w)
{
    struct mot_live *l = n->live;
    mot_gradient_end(&w->run);
    struct mot_result result = {
        .tag = w->tag, .samples = (uint32_t)(w->asked - w->run.left), .loss = w->run.loss, .grad = w->grad
    };
    n->tally.compute += mot_live_now(l) - w->began;
    watch_phase(n, result.samples < w->asked ? MOT_PHASE_CANCELLED : MOT_PHASE_COMPUTE, w->tag,
        result.samples, w->began);
    if (l->emulate && result.samples) poison(n, w->grad);
    n->tally.jobs++;
    atomic_store_explicit(
        &l->job_us[n->self], (uint32_t)(n->tally.compute / n->tally.jobs / 1000), memory_order_relaxed);
    n->tally.samples += result.samples;
    n->port->samples(n->port, result.samples);
    mot_pool_drop(&l->pool, w->at);
    w->state = MOT_LIVE_FREE;
    if (!isfinite(result.loss) && !l->experiment->method->guards) {
        n->status = MOT_EDIVERGED;
        n->finished = true;
        n->port->end(n->port);
    } else {
        begin_next(n);
        step(n, &(struct mot_event){ .kind = MOT_EV_WORK, .work = &result });
    }
    mot_pool_drop(&l->pool, result.grad);
}

/* A work that was cancelled before its turn: it ends where it stands, with nothing done. */
static struct mot_live_work *cancelled(struct mot_live_node *n)
{
    for (uint32_t i = 0; i < n->need.works; i++) {
        struct mot_live_work *w = &n->work[i];
        if (w->state != MOT_LIVE_WAITING || w->deadline != 0) continue;
        w->began = mot_live_now(n->live);
        w->asked = 0;
        w->grad = mot_pool_take(&n->live->pool);
        mot_gradient_begin(&w->run, n->live->problem, w->term, w->terms, 0,
            mot_pool_at(&n->live->pool, w->at), mot_pool_at(&n->live->pool, w->grad));
        return w;
    }
    return NULL;
}

/* Does a slice, or ends the work whose time has come. False: there is nothing to do now. */
static bool work_on(struct mot_live_node *n)
{
    struct mot_live_work *w = cancelled(n);
    if (!w) w = running(n);
    if (!w) return false;
    mot_time now = mot_live_now(n->live);
    bool phantom = !n->live->problem->net->kind->computes;
    if (phantom) w->run.left = now >= w->ends ? 0 : w->asked;
    if (now >= w->deadline || (now >= w->ends && w->run.left == 0)) {
        finish_work(n, w);
        return true;
    }
    return !phantom && mot_gradient_slice(&w->run, n->scratch);
}

static void cancel_work(struct mot_live_node *n, uint32_t tag)
{
    for (uint32_t i = 0; i < n->need.works; i++) {
        struct mot_live_work *w = &n->work[i];
        if (w->state == MOT_LIVE_FREE || w->tag != tag) continue;
        w->deadline = 0; /* it ends at the next look: a step must not run inside a step */
        return;
    }
}

/* ---- Steps and their effects -------------------------------------------------------------- */

/* Hands what this node has of the model to the judge. */
static void show(struct mot_live_node *n, struct mot_shown s)
{
    struct mot_live *l = n->live;
    struct mot_env env = env_of(n);
    s.node = n->self;
    s.updates = s.step = n->advanced;
    n->shown_last |= s.last;
    if (!l->experiment->method->model(n->state, &env, &s.view)) return;
    if (s.view.params) {
        s.step = s.view.params->step;
        for (uint32_t k = 0; k < l->world.optim->slots; k++) s.slot[k] = s.view.params->slot[k];
    }
    s.view.params = NULL;
    if (l->judge) mot_judge_show(l->judge, &s);
    else n->port->show(n->port, &s);
}

static void show_last(struct mot_live_node *n) { show(n, (struct mot_shown){ .last = true }); }

static bool shows(const struct mot_live_node *n) { return n->live->showing > 1 && n->self >= n->live->lead; }

static void show_what_is_due(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    if (n->shown_last) return;
    if (mot_live_node_done(n)) {
        show_last(n);
        return;
    }
    if (n->advanced >= n->next_show) {
        show(n, (struct mot_shown){ .at = n->next_show });
        n->next_show = next_show(l, n->next_show);
    }
    uint64_t number = atomic_load(&l->ask.number), at = atomic_load(&l->ask.at);
    if (number != n->answered && n->advanced >= at) {
        n->answered = number;
        show(n, (struct mot_shown){ .at = at, .asked = true });
    }
}

/* Whether the lead ends the run for all at once. Where all workers make the same updates, they leave together
 * instead: after the sum that the lead joins as its last. */
static bool ends_at_once(const struct mot_live *l)
{
    return l->world.servers > 0 || l->experiment->method->decentralised;
}

static void advanced(struct mot_live_node *n)
{
    struct mot_live *l = n->live;
    n->advanced++;
    n->tally.updates++;
    watch_update(n);
    if (shows(n)) show_what_is_due(n);
    /* Every worker can count its updates: nobody has to be told. */
    if (l->world.servers == 0 && n->advanced >= l->stop_at) n->finished = true;
    if (l->judge && n->self == l->lead && mot_judge_update(l->judge) && ends_at_once(l)) {
        n->finished = true;
        n->port->end(n->port);
    }
}

static void carry_out(struct mot_live_node *n, const struct mot_effect *e)
{
    struct mot_live *l = n->live;
    switch (e->kind) {
    case MOT_FX_SEND:
        n->tally.messages_sent++;
        if (e->message.body.buf) n->tally.bytes_sent += (uint64_t)e->message.body.len * 4;
        n->port->send(n->port, &e->message);
        return;
    case MOT_FX_COLLECT:
        n->joined = mot_live_now(l);
        n->port->join(n->port, &e->coll, l->judge && n->self == 0 && mot_judge_wants_end(l->judge));
        return;
    case MOT_FX_START: start_work(n, &e->work); return;
    case MOT_FX_CANCEL: cancel_work(n, e->alarm.tag); return;
    case MOT_FX_ALARM:
        MOT_ASSERT(e->alarm.tag < n->need.alarms);
        n->alarm[e->alarm.tag] = e->alarm.at;
        return;
    case MOT_FX_ADVANCE: advanced(n); return;
    case MOT_FX_CREDIT: n->credit[e->credit]++; return;
    case MOT_FX_NOTE: mot_notes_add(&n->notes, e->note.key, e->note.value); return;
    case MOT_FX_STOP:
        n->finished = true;
        n->out_of_data = e->stop == MOT_OK;
        if (e->stop != MOT_OK) n->status = e->stop;
        if (e->stop != MOT_OK || (n->self >= l->world.workers && l->showing == 1)) n->port->end(n->port);
        /* the run ends when the last server has shown its last */
        else if (shows(n) && !n->shown_last) show_last(n);
        return;
    }
}

static void step(struct mot_live_node *n, const struct mot_event *event)
{
    struct mot_env env = env_of(n);
    const struct mot_method *m = n->live->experiment->method;
    n->events++;
    if (n->tape) mot_tape_put(n->tape, env.now, event);
    m->step(n->state, &env, event);
    if (m->check) m->check(n->state, &env);
    for (uint32_t i = 0; i < n->outbox.n; i++) carry_out(n, &n->outbox.effect[i]);
    mot_outbox_clear(&n->outbox);
}

static void receive(struct mot_live_node *n, struct mot_arrival *a)
{
    switch (a->kind) {
    case MOT_ARRIVAL_MESSAGE:
        if (a->message.from < n->live->world.workers) n->seen[a->message.from] = a->sender_samples;
        watch_flight(n, a);
        step(n, &(struct mot_event){ .kind = MOT_EV_MESSAGE, .message = &a->message });
        mot_pool_drop(&n->live->pool, a->message.body.buf);
        return;
    case MOT_ARRIVAL_COLL:
        watch_phase(n, MOT_PHASE_COLLECTIVE, a->coll.tag, 0, n->joined);
        step(n, &(struct mot_event){ .kind = MOT_EV_COLL, .coll = &a->coll });
        mot_pool_drop(&n->live->pool, a->coll.out.buf);
        if (a->last) n->finished = true;
        return;
    case MOT_ARRIVAL_PEER: step(n, &(struct mot_event){ .kind = MOT_EV_PEER, .peer = a->peer }); return;
    }
}

/* Lets the first due alarm off; *next becomes the time of the earliest that is set. */
static bool alarm_due(struct mot_live_node *n, mot_time *next)
{
    mot_time now = mot_live_now(n->live);
    *next = MOT_NEVER;
    for (uint32_t i = 0; i < n->need.alarms; i++) {
        if (n->alarm[i] <= now) {
            n->alarm[i] = MOT_NEVER;
            step(n, &(struct mot_event){ .kind = MOT_EV_TIMER, .timer = i });
            return true;
        }
        if (n->alarm[i] < *next) *next = n->alarm[i];
    }
    return false;
}

bool mot_live_node_over(const struct mot_live_node *n) { return n->finished || n->port->ended(n->port); }

/* A lead that waits looks up now and then: at the clock, a target that was met, Ctrl-C. */
static bool ends_here(struct mot_live_node *n)
{
    const struct mot_live *l = n->live;
    if (!l->judge || n->self != l->lead || !ends_at_once(l) || !mot_judge_wants_end(l->judge)) return false;
    n->finished = true;
    n->port->end(n->port);
    return true;
}

void mot_live_node_begin(struct mot_live_node *n) { step(n, &(struct mot_event){ .kind = MOT_EV_START }); }

/* What can be done now, if anything; else until when there is nothing but arrivals. */
static bool do_something(struct mot_live_node *n, mot_time *next)
{
    struct mot_arrival arrival;
    *next = MOT_NEVER;
    if (n->port->poll(n->port, &arrival)) {
        receive(n, &arrival);
        return true;
    }
    if (n->need.alarms && alarm_due(n, next)) return true;
    if (work_on(n)) return true;
    const struct mot_live_work *w = running(n);
    if (w) { /* emulating: the job is computed and its time is not over */
        if (w->ends < *next) *next = w->ends;
        if (w->deadline < *next) *next = w->deadline;
    }
    return ends_here(n);
}

bool mot_live_node_turn(struct mot_live_node *n, mot_time *next)
{
    bool did = do_something(n, next);
    if (did == n->waiting) { /* it waits from here on, or has waited until now */
        mot_time now = mot_live_now(n->live);
        if (did) n->tally.wait += now - n->waits_since;
        n->waits_since = now;
        n->waiting = !did && !running(n);
    }
    return did;
}

void mot_live_node_end(struct mot_live_node *n)
{
    if (n->waiting) n->tally.wait += mot_live_now(n->live) - n->waits_since;
    n->waiting = false;
    if (shows(n) && !n->shown_last) show_last(n);
}

void mot_live_node_run(struct mot_live_node *n)
{
    mot_time next;
    mot_live_node_begin(n);
    while (!mot_live_node_over(n))
        if (!mot_live_node_turn(n, &next)) n->port->idle(n->port, next);
    mot_live_node_end(n);
}
