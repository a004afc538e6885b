#include "method/hub_parts.h"
#include "math/kernels.h"
#include "math/optim.h"
#include <math.h>

/* ---- Seats and jobs ----------------------------------------------------------------------- */

static size_t aligned(size_t bytes) { return (bytes + 15) & ~(size_t)15; }

static struct mot_seat *seats_of(const struct mot_hub *h)
{
    return (struct mot_seat *)((char *)(uintptr_t)h + h->seats_at);
}

const struct mot_seat *mot_hub_seat(const struct mot_hub *h, mot_node worker) { return &seats_of(h)[worker]; }

static bool all_finite(const struct mot_env *env, struct mot_slice grad)
{
    return mot_kernels()->finite(grad.len, mot_read(env, grad.buf) + grad.off);
}

static struct mot_hub_job *job_at(const struct mot_hub *h, uint32_t place, const struct mot_env *env)
{
    return (struct mot_hub_job *)(void *)(seats_of(h) + env->world->workers) + (place - 1);
}

static uint32_t jobs_max(const struct mot_hub_need *need, const struct mot_world *world)
{
    return world->workers * need->queue + need->backlog;
}

static size_t state_bytes(const struct mot_hub_need *need, const struct mot_world *world)
{
    return aligned(need->state_bytes) + world->workers * sizeof(struct mot_seat) +
        jobs_max(need, world) * sizeof(struct mot_hub_job);
}

static void lay_out(struct mot_hub *h, struct mot_env *env, const struct mot_hub_need *need)
{
    h->seats_at = aligned(need->state_bytes);
    h->queue = need->queue;
    h->keep = need->keep;
    h->present = env->world->workers;
    h->jobs_max = jobs_max(need, env->world);
    for (uint32_t place = h->jobs_max; place > 0; place--) {
        job_at(h, place, env)->next = h->free;
        h->free = place;
    }
}

static void free_job(struct mot_hub *h, struct mot_env *env, uint32_t place)
{
    struct mot_hub_job *job = job_at(h, place, env);
    if (job->x) mot_drop(env, job->x);
    *job = (struct mot_hub_job){ .next = h->free };
    h->free = place;
}

static void send_job(struct mot_env *env, mot_node worker, const struct mot_hub_job *job, mot_buf x)
{
    struct mot_head head = { .round = job->round, .samples = job->task, .value = job->limit_s };
    mot_send(env, worker, job->kind, head, mot_hub_range(env, x));
}

/* Sends jobs that wait for the worker, as far as its queue has room. */
static void feed(struct mot_hub *h, struct mot_env *env, mot_node worker)
{
    struct mot_seat *seat = &seats_of(h)[worker];
    while (seat->unsent && seat->there < h->queue) {
        struct mot_hub_job *job = job_at(h, seat->unsent, env);
        send_job(env, worker, job, job->x);
        if (!h->keep) {
            mot_drop(env, job->x);
            job->x = MOT_NO_BUF;
        }
        seat->there++;
        seat->unsent = job->next;
    }
}

static void give(struct mot_hub *h, struct mot_env *env, mot_node worker, struct mot_hub_job what)
{
    struct mot_seat *seat = &seats_of(h)[worker];
    uint32_t place = h->free;
    MOT_ASSERT(seat->away == 0 && "a worker that is away is given nothing");
    MOT_ASSERT(place && "more jobs than need() declared");
    struct mot_hub_job *job = job_at(h, place, env);
    h->free = job->next;
    /* Hold the model if the job waits here, or if its answer needs it. */
    bool now = !seat->unsent && seat->there < h->queue, hold = !now || h->keep;
    *job = what;
    job->round = h->params.step;
    job->given = env->now;
    job->x = hold ? mot_hold(env, h->params.x) : MOT_NO_BUF;
    if (seat->last) job_at(h, seat->last, env)->next = place;
    else seat->first = place;
    seat->last = place;
    seat->active++;
    h->active++;
    if (now) {
        send_job(env, worker, job, h->params.x);
        seat->there++;
    } else {
        if (!seat->unsent) seat->unsent = place;
        feed(h, env, worker);
    }
}

/* Takes the oldest job off the seat and frees its place. The caller takes over its model. Inline: a call that
 * returns a copy of the job costs 26 instructions an answer. */
static inline __attribute__((always_inline)) struct mot_hub_job take_first(
    struct mot_hub *h, struct mot_env *env, struct mot_seat *seat)
{
    uint32_t place = seat->first;
    MOT_ASSERT(place && place != seat->unsent && seat->there > 0 && "an answer to a job that was sent");
    struct mot_hub_job job = *job_at(h, place, env);
    seat->first = job.next;
    if (!seat->first) seat->last = 0;
    seat->there--;
    if (!job.replaced) {
        seat->active--;
        h->active--;
    }
    job_at(h, place, env)->x = MOT_NO_BUF;
    free_job(h, env, place);
    return job;
}

/* Makes all its jobs inactive: forgets unsent ones; answers to the others will be waste. */
static uint32_t void_jobs(struct mot_hub *h, struct mot_env *env, struct mot_seat *seat)
{
    uint32_t active = seat->active, last = 0;
    for (uint32_t place = seat->first; place != seat->unsent; place = job_at(h, place, env)->next) {
        job_at(h, place, env)->replaced = true;
        last = place;
    }
    for (uint32_t place = seat->unsent, next; place; place = next) {
        next = job_at(h, place, env)->next;
        free_job(h, env, place);
    }
    if (last) job_at(h, last, env)->next = 0;
    else seat->first = 0;
    seat->last = last;
    seat->unsent = 0;
    seat->active = 0;
    h->active -= active;
    return active;
}

/* ---- What a rule calls --------------------------------------------------------------------- */

struct mot_slice mot_hub_range(const struct mot_env *env, mot_buf b)
{
    if (env->world->servers == 1) return (struct mot_slice){ .buf = b, .len = env->world->dim };
    return mot_shard(env, b, env->self - env->world->workers, env->world->servers);
}

void mot_hub_give(struct mot_hub *h, struct mot_env *env, mot_node worker)
{
    give(h, env, worker, (struct mot_hub_job){ .kind = MOT_MSG_MODEL });
}

void mot_hub_give_for(struct mot_hub *h, struct mot_env *env, mot_node worker, double limit_s)
{
    give(h, env, worker, (struct mot_hub_job){ .kind = MOT_MSG_MODEL, .limit_s = limit_s });
}

void mot_hub_replace(struct mot_hub *h, struct mot_env *env, mot_node worker)
{
    mot_hub_order(h, env, worker, 0);
}

void mot_hub_order(struct mot_hub *h, struct mot_env *env, mot_node worker, uint32_t task)
{
    struct mot_seat *seat = &seats_of(h)[worker];
    MOT_ASSERT(h->queue > 1 && "a job that replaces another needs a place beside it");
    void_jobs(h, env, seat);
    uint16_t kind = seat->there ? MOT_MSG_REPLACE : MOT_MSG_MODEL;
    give(h, env, worker, (struct mot_hub_job){ .kind = kind, .task = task });
}

bool mot_hub_expects(const struct mot_hub *h, const struct mot_env *env, mot_node worker, uint32_t *task_out)
{
    const struct mot_seat *seat = &seats_of(h)[worker];
    if (seat->there == 0) return false;
    const struct mot_hub_job *job = job_at(h, seat->first, env);
    *task_out = job->task;
    return !job->replaced;
}

uint64_t mot_hub_oldest(const struct mot_hub *h, const struct mot_env *env, mot_node worker)
{
    for (uint32_t place = seats_of(h)[worker].first; place; place = job_at(h, place, env)->next)
        if (!job_at(h, place, env)->replaced) return job_at(h, place, env)->round;
    return UINT64_MAX;
}

void mot_hub_ages(const struct mot_hub *h, const struct mot_env *env, uint32_t *count, uint64_t oldest)
{
    for (uint64_t age = 0; age <= oldest; age++) count[age] = 0;
    for (mot_node i = 0; i < env->world->workers; i++)
        for (uint32_t place = seats_of(h)[i].first; place; place = job_at(h, place, env)->next) {
            const struct mot_hub_job *job = job_at(h, place, env);
            uint64_t age = h->params.step - job->round;
            if (!job->replaced) count[age < oldest ? age : oldest]++;
        }
}

bool mot_hub_always(const void *conf, const struct mot_world *world)
{
    (void)conf;
    (void)world;
    return true;
}

bool mot_hub_look(const struct mot_hub *h, const struct mot_env *env, const struct mot_answer *a)
{
    if (h->looks) *a->refused = !all_finite(env, a->grad);
    return !*a->refused;
}

bool mot_hub_step(
    struct mot_hub *h, struct mot_env *env, const struct mot_answer *a, double scale, double factor)
{
    struct mot_params *p = &h->params;
    if (!h->looks) {
        mot_params_step(env, p, a->grad, scale, factor);
        return true;
    }
    *a->refused = !mot_params_try(env, p, a->grad, scale, factor);
    return !*a->refused;
}

void mot_hub_credit(struct mot_env *env, mot_node worker, uint64_t delay)
{
    if (env->self != env->world->workers) return; /* one server speaks for all */
    mot_note(env, "staleness", (double)delay);
    mot_credit(env, worker);
}

/* ---- Coming and going ------------------------------------------------------------------------ */

/* The worker is away from now on. A lost worker's jobs are gone at once, others' when their answers come. */
static void leave(
    const struct mot_served *rule, void *state, struct mot_env *env, mot_node worker, enum mot_away why)
{
    struct mot_hub *h = state;
    struct mot_seat *seat = &seats_of(h)[worker];
    uint32_t jobs = void_jobs(h, env, seat);
    bool was_there = seat->away == 0;
    seat->away |= why;
    if (why == MOT_AWAY_LOST) {
        while (seat->first) mot_drop(env, take_first(h, env, seat).x);
        seat->away = MOT_AWAY_LOST;
        if (rule->gone) rule->gone(state, env, worker);
    }
    if (was_there) h->present--;
    bool waits = env->world->elastic && why == MOT_AWAY_LOST;
    if (h->present == 0 && !waits)
        mot_stop(env, why == MOT_AWAY_LOST ? MOT_EPEER : why == MOT_AWAY_BARRED ? MOT_EDIVERGED : MOT_OK);
    else if (was_there && rule->lost) rule->lost(state, env, worker, jobs);
}

static void peer_changed(
    const struct mot_served *rule, void *state, struct mot_env *env, struct mot_peer peer)
{
    struct mot_hub *h = state;
    if (peer.node >= env->world->workers) { /* another server: its range of the model is gone */
        if (!peer.up) mot_stop(env, MOT_EPEER);
        return;
    }
    mot_note(env, peer.up ? "workers_back" : "workers_lost", 1);
    if (!peer.up) {
        leave(rule, state, env, peer.node, MOT_AWAY_LOST);
        return;
    }
    struct mot_seat *seat = &seats_of(h)[peer.node];
    MOT_ASSERT(seat->first == 0 && "the jobs of a former life are gone");
    if (seat->away) h->present++;
    seat->away = seat->strikes = 0;
    if (rule->back) rule->back(state, env, peer.node);
    else mot_hub_give(h, env, peer.node);
}

/* ---- Answers ------------------------------------------------------------------------------------ */

/* The worker has checked the gradient (mot_told_loss), or the step will. Everyone waits for the server, so
 * it checks only what may have been damaged since. */
bool mot_hub_sound(const struct mot_hub *h, const struct mot_env *env, const struct mot_message *m)
{
    const struct mot_hub_conf *conf = env->conf;
    if (!isfinite(m->head.value)) return false;
    return conf->guard == MOT_GUARD_OFF || h->looks || m->intact || all_finite(env, m->body);
}

static void refuse(const struct mot_served *rule, void *state, struct mot_env *env, mot_node from)
{
    struct mot_hub *h = state;
    struct mot_seat *seat = &seats_of(h)[from];
    const struct mot_hub_conf *conf = env->conf;
    mot_note(env, "guarded", 1);
    if (conf->guard != MOT_GUARD_DROP) {
        mot_stop(env, MOT_EDIVERGED);
    } else if (++seat->strikes == MOT_HUB_STRIKES) {
        mot_note(env, "workers_barred", 1);
        leave(rule, state, env, from, MOT_AWAY_BARRED);
    } else if (rule->refused) {
        rule->refused(state, env, from);
    } else {
        mot_hub_give(h, env, from);
    }
}

static mot_time time_taken(struct mot_seat *seat, const struct mot_env *env, const struct mot_hub_job *job)
{
    mot_time began = seat->answered > job->given ? seat->answered : job->given;
    seat->answered = env->now;
    return env->now - began;
}

static void gradient_came(
    const struct mot_served *rule, void *state, struct mot_env *env, const struct mot_message *m)
{
    struct mot_hub *h = state;
    struct mot_seat *seat = &seats_of(h)[m->from];
    struct mot_hub_job job = take_first(h, env, seat);
    MOT_ASSERT(job.round == m->head.round && job.round <= h->params.step);
    mot_time took = time_taken(seat, env, &job);
    if (job.replaced) {
        if (m->head.samples) { /* it was in flight when it was replaced */
            mot_note(env, "wasted", 1);
            mot_note(env, "wasted_samples", m->head.samples);
        }
    } else if (m->head.samples == 0) {
        leave(rule, state, env, m->from, MOT_AWAY_NO_DATA);
    } else if (!mot_hub_sound(h, env, m)) {
        refuse(rule, state, env, m->from);
    } else {
        bool refused = false;
        seat->answers++;
        seat->busy += took;
        struct mot_answer a = { .from = m->from,
            .round = job.round,
            .delay = h->params.step - job.round,
            .task = job.task,
            .samples = m->head.samples,
            .loss = m->head.value,
            .grad = m->body,
            .at = job.x,
            .took = took,
            .refused = &refused };
        rule->gradient(state, env, &a);
        if (refused) {
            seat->answers--;
            seat->busy -= took;
            refuse(rule, state, env, m->from);
        } else {
            seat->strikes = 0;
            mot_note(env, "active_jobs", h->active);
        }
    }
    if (job.x) mot_drop(env, job.x);
    if (seat->unsent) feed(h, env, m->from);
}

static void jobs_given_up(
    const struct mot_served *rule, void *state, struct mot_env *env, const struct mot_message *m)
{
    struct mot_hub *h = state;
    struct mot_seat *seat = &seats_of(h)[m->from];
    mot_note(env, "wasted", m->head.value);
    mot_note(env, "wasted_samples", m->head.samples);
    for (double left = m->head.value; left > 0; left--) {
        struct mot_hub_job job = take_first(h, env, seat);
        mot_drop(env, job.x);
        time_taken(seat, env, &job);
        if (!job.replaced && rule->gave_up) rule->gave_up(state, env, m->from);
    }
    if (seat->unsent) feed(h, env, m->from);
}

/* ---- A method made of a rule ----------------------------------------------------------------------- */

static bool is_server(const struct mot_env *env) { return env->self >= env->world->workers; }

static const struct mot_worker_side *side_of(const struct mot_served *rule)
{
    if (rule->side) return rule->side;
    return rule->local_steps ? &mot_local_side : &mot_grader_side;
}

struct mot_need mot_served_need(
    const struct mot_served *rule, const void *conf, const struct mot_world *world, mot_node self)
{
    struct mot_hub_need need = rule->need(conf, world);
    if (self < world->workers) return side_of(rule)->need(world, need.queue);
    /* The parameters and the next ones; models in flight to workers, and those of waiting jobs. An update
     * may credit all jobs, which takes as much room as sending them. */
    return (struct mot_need){ .state_bytes = state_bytes(&need, world),
        .buffers = need.buffers + jobs_max(&need, world) + 6,
        .sends = jobs_max(&need, world) + need.sends,
        .alarms = need.alarms };
}

/* Whether the server's steps detect gradients that are not finite. Each of several servers would see only
 * its own range. */
static bool steps_look(const struct mot_served *rule, const void *conf, const struct mot_world *world)
{
    const struct mot_hub_conf *hub = conf;
    return hub->guard != MOT_GUARD_OFF && rule->at_once && rule->at_once(conf, world) &&
        world->servers == 1 && mot_optim_looks(world->optim);
}

void mot_served_init(const struct mot_served *rule, void *state, struct mot_env *env)
{
    struct mot_hub_need need = rule->need(env->conf, env->world);
    bool looks = steps_look(rule, env->conf, env->world);
    if (!is_server(env)) {
        side_of(rule)->init(state, env, need.queue, !looks);
        return;
    }
    struct mot_hub *h = state;
    h->looks = looks;
    lay_out(h, env, &need);
    mot_params_init(env, &h->params);
}

void mot_served_step(
    const struct mot_served *rule, void *state, struct mot_env *env, const struct mot_event *event)
{
    if (!is_server(env)) {
        side_of(rule)->step(rule, state, env, event);
        return;
    }
    switch (event->kind) {
    case MOT_EV_START: rule->begin(state, env); return;
    case MOT_EV_MESSAGE:
        if (event->message->kind >= MOT_HUB_OWN) side_of(rule)->message(state, env, event->message);
        else if (event->message->kind == MOT_MSG_GAVE_UP) jobs_given_up(rule, state, env, event->message);
        else gradient_came(rule, state, env, event->message);
        return;
    case MOT_EV_PEER: peer_changed(rule, state, env, event->peer); return;
    case MOT_EV_TIMER: rule->timer(state, env, event->timer); return;
    case MOT_EV_WORK:
    case MOT_EV_PIECE:
    case MOT_EV_COLL: MOT_ASSERT(!"the server asked for none of these"); return;
    }
}

/* Jobs are given up if the server replaced them, or one by one if they have a limit. */
static bool can_give_up(
    const struct mot_hub *h, const struct mot_env *env, const struct mot_seat *seat, double jobs)
{
    double n = 0;
    for (uint32_t place = seat->first; n < jobs; n++) {
        if (n == seat->there) return false;
        const struct mot_hub_job *job = job_at(h, place, env);
        if (!job->replaced && !(jobs == 1 && job->limit_s > 0)) return false;
        place = job->next;
    }
    return n > 0 && n == jobs;
}

bool mot_served_admits(
    const struct mot_served *rule, const void *state, const struct mot_env *env, const struct mot_message *m)
{
    const struct mot_worker_side *side = side_of(rule);
    if (!is_server(env)) return side->admits(state, env, m);
    const struct mot_hub *h = state;
    if (m->from >= env->world->workers) return false;
    if (m->kind >= MOT_HUB_OWN) return side->message_admits && side->message_admits(state, env, m);
    const struct mot_seat *seat = mot_hub_seat(h, m->from);
    if (seat->there == 0 || m->head.round != job_at(h, seat->first, env)->round) return false;
    if (m->head.samples > side->samples_most(rule, state, env, m->from)) return false;
    if (m->kind == MOT_MSG_GRAD) return mot_body_is(m, mot_hub_range(env, m->body.buf));
    return m->kind == MOT_MSG_GAVE_UP && m->body.buf == MOT_NO_BUF &&
        can_give_up(h, env, seat, m->head.value);
}

/* Also checks states from checkpoints: places and list lengths are checked before they are followed. */
static void check_seat(const struct mot_hub *h, const struct mot_env *env, mot_node worker)
{
    const struct mot_seat *seat = mot_hub_seat(h, worker);
    uint32_t there = 0, mine = 0, all = 0, last = 0;
    bool sent = true;
    for (uint32_t place = seat->first; place; place = job_at(h, place, env)->next) {
        MOT_ASSERT(place <= h->jobs_max && all++ < h->jobs_max);
        sent = sent && place != seat->unsent;
        there += sent;
        mine += !job_at(h, place, env)->replaced;
        MOT_ASSERT(job_at(h, place, env)->round <= h->params.step);
        last = place;
    }
    MOT_ASSERT(last == seat->last && sent == (seat->unsent == 0));
    MOT_ASSERT(there == seat->there && there <= h->queue && mine == seat->active);
    MOT_ASSERT(seat->away == 0 || seat->active == 0);
}

void mot_served_check(const struct mot_served *rule, const void *state, const struct mot_env *env)
{
    if (!is_server(env)) {
        side_of(rule)->check(state, env, rule->need(env->conf, env->world).queue);
        return;
    }
    const struct mot_hub *h = state;
    struct mot_hub_need need = rule->need(env->conf, env->world);
    uint32_t present = 0, active = 0;
    MOT_ASSERT(h->seats_at == aligned(need.state_bytes) && h->queue == need.queue &&
        h->jobs_max == jobs_max(&need, env->world) && h->looks == steps_look(rule, env->conf, env->world));
    MOT_ASSERT(h->free <= h->jobs_max);
    for (mot_node i = 0; i < env->world->workers; i++) {
        check_seat(h, env, i);
        present += mot_hub_seat(h, i)->away == 0;
        active += mot_hub_seat(h, i)->active;
    }
    MOT_ASSERT(present == h->present && active == h->active && h->params.x != MOT_NO_BUF);
    if (rule->check) rule->check(state, env);
}

void mot_served_traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    t->packs = MOT_PACKS_GRADIENTS;
    (void)conf;
    (void)workers;
    t->servers = 1;
    t->guards = true;
}

bool mot_served_model(const void *state, const struct mot_env *env, struct mot_view *view)
{
    if (!is_server(env)) return false;
    const struct mot_params *params = &((const struct mot_hub *)state)->params;
    struct mot_slice mine = mot_hub_range(env, params->x);
    *view =
        (struct mot_view){ .x = params->x, .scale = 1, .params = params, .off = mine.off, .len = mine.len };
    return true;
}

const struct mot_packer *mot_served_packer(
    const struct mot_served *rule, const void *state, const struct mot_env *env, uint32_t server)
{
    const struct mot_worker_side *side = side_of(rule);
    MOT_ASSERT(!is_server(env) && server < env->world->servers);
    return side->packer ? side->packer(state, server) : NULL;
}
