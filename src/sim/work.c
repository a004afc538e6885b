/* work.c -- jobs: when they end on the virtual clock, and their mathematics.
 *
 *   mot_start -> WAITING -(the node's turn)-> RUNNING -(its time is over)-> EV_WORK -> FREE
 *
 * The result of a job does not depend on when it is computed: its parameters are
 * frozen. So it goes to the crew as it begins, and is awaited as it ends. */
#include "run/clock.h"
#include "sim/channel.h"
#include <math.h>

/* Under this many multiply-adds a job costs less than handing it over. */
#define SMALL_JOB 30000.0

static void compute(struct sim_work *w, unsigned who)
{
    struct sim *s = w->sim;
    w->loss = mot_gradient(s->problem, w->term, w->terms, w->samples, mot_pool_at(&s->pool, w->at),
        mot_pool_at(&s->pool, w->grad), s->scratch[who]);
}

static void run_task(struct mot_crew_task *task, unsigned who)
{
    struct sim_work *w = (struct sim_work *)task;
    double began = mot_sim_wall();
    compute(w, who);
    w->wall_s = mot_sim_wall() - began;
}

void mot_sim_compute(struct sim *s, struct sim_work *w)
{
    w->task.run = run_task;
    w->task.state = MOT_TASK_IDLE;
    if (s->problem->net->kind->computes && (double)w->samples * s->cost_per_sample > SMALL_JOB)
        mot_crew_give(s->crew, &w->task);
}

/* Begins the node's next waiting work, if it is not busy. */
static void begin_next(struct sim *s, mot_node node)
{
    struct sim_node *n = &s->node[node];
    struct sim_work *next = NULL;
    for (uint32_t i = 0; i < n->works; i++) {
        struct sim_work *w = &s->work[n->work + i];
        if (w->state == WORK_RUNNING) return;
        if (w->state == WORK_WAITING && (!next || w->order < next->order)) next = w;
    }
    if (!next) return;
    const struct mot_machine *machine = &s->x->cluster->machine[node];
    next->state = WORK_RUNNING;
    /* A stalled node that hears of a loss may be given work: it begins when it wakes. */
    next->began = n->stalled_until > s->now ? n->stalled_until : s->now;
    next->asked = next->samples = mot_terms_samples(s->problem, next->term, next->terms);
    next->whole = next->asked ? mot_job_time(machine, s->world.seed, node, &n->pace, next->asked) : 0;
    if (next->whole > s->fruitless.longest_job) s->fruitless.longest_job = next->whole;
    mot_time ends = mot_after(next->began, next->whole);
    if (next->deadline < ends) {
        ends = next->deadline > next->began ? next->deadline : next->began;
        next->samples = mot_job_done(machine, next->whole, ends - next->began, next->asked);
    }
    next->grad = mot_pool_take(&s->pool);
    mot_sim_compute(s, next);
    mot_sim_account(s, node);
    n->computing++;
    mot_sim_put(s, ends, node, SIM_WORK, (uint32_t)(next - s->work), next->generation, 0);
}

void mot_sim_start(struct sim *s, mot_node node, const struct mot_work *work)
{
    struct sim_node *n = &s->node[node];
    struct sim_work *w = NULL;
    for (uint32_t i = 0; i < n->works && !w; i++)
        if (s->work[n->work + i].state == WORK_FREE) w = &s->work[n->work + i];
    MOT_ASSERT(w && "a node has more work at once than need() declared");
    w->state = WORK_WAITING;
    w->tag = work->tag;
    w->terms = work->terms;
    for (uint32_t t = 0; t < work->terms; t++) w->term[t] = work->term[t];
    w->at = work->at; /* the hold of mot_start is ours now */
    w->deadline = work->deadline;
    w->order = s->order++;
    begin_next(s, node);
}

void mot_sim_cancel(struct sim *s, mot_node node, uint32_t tag)
{
    struct sim_node *n = &s->node[node];
    for (uint32_t i = 0; i < n->works; i++) {
        struct sim_work *w = &s->work[n->work + i];
        if (w->state == WORK_FREE || w->tag != tag) continue;
        uint64_t done = 0;
        if (w->state == WORK_RUNNING) {
            done = mot_job_done(&s->x->cluster->machine[node], w->whole, s->now - w->began, w->asked);
            if (done > w->samples) done = w->samples;
        } else {
            /* It never ran: it ends where it stands, without a turn. */
            w->state = WORK_RUNNING;
            w->began = s->now;
            w->asked = mot_terms_samples(s->problem, w->term, w->terms);
            w->grad = mot_pool_take(&s->pool);
            mot_sim_account(s, node);
            n->computing++;
        }
        mot_crew_recall(s->crew, &w->task);
        w->samples = done;
        w->deadline = s->now;
        mot_sim_compute(s, w);
        w->generation++;
        mot_sim_put(s, s->now, node, SIM_WORK, (uint32_t)(w - s->work), w->generation, 0);
        return;
    }
}

void mot_sim_abandon(struct sim *s, mot_node node)
{
    struct sim_node *n = &s->node[node];
    mot_sim_account(s, node);
    n->computing = 0;
    for (uint32_t i = 0; i < n->works; i++) {
        struct sim_work *w = &s->work[n->work + i];
        if (w->state == WORK_FREE) continue;
        if (w->state == WORK_RUNNING) {
            mot_crew_recall(s->crew, &w->task);
            mot_pool_drop(&s->pool, w->grad);
        }
        mot_pool_drop(&s->pool, w->at);
        w->state = WORK_FREE;
        w->generation++;
    }
    for (uint32_t i = 0; i < n->alarms; i++) {
        s->alarm[n->alarm + i].generation++;
        s->alarm[n->alarm + i].at = MOT_NEVER;
    }
}

void mot_sim_delay(struct sim *s, mot_node node, mot_time by)
{
    struct sim_node *n = &s->node[node];
    for (uint32_t i = 0; i < n->works; i++) {
        struct sim_work *w = &s->work[n->work + i];
        if (w->state != WORK_RUNNING) continue;
        w->began += by;
        mot_time ends = w->began + w->whole;
        if (w->samples < w->asked || w->deadline < ends) {
            /* What a deadline leaves of it becomes less. A deadline that has
             * passed waits for the node, as all its events do. */
            if (w->deadline < ends) ends = w->deadline > s->now ? w->deadline : s->now;
            /* At the end of the stall it is as far as at its beginning. */
            mot_time wakes = n->stalled_until > ends ? n->stalled_until : ends;
            mot_time worked = wakes > w->began ? wakes - w->began : 0;
            uint64_t done = mot_job_done(&s->x->cluster->machine[node], w->whole, worked, w->asked);
            if (done < w->samples) {
                mot_crew_recall(s->crew, &w->task);
                w->samples = done;
                mot_sim_compute(s, w);
            }
        }
        w->generation++;
        mot_sim_put(s, ends, node, SIM_WORK, (uint32_t)(w - s->work), w->generation, 0);
    }
}

static void poison(struct sim *s, const struct sim_work *w, uint64_t job)
{
    const struct mot_faults *faults = &s->x->cluster->faults;
    if (w->samples == 0 || !mot_fault_poisons(faults, s->world.seed, s->world.workers, w->node, job, s->now))
        return;
    mot_gradient_spoil(mot_pool_at(&s->pool, w->grad), s->world.dim);
    s->channel->tally.poisoned++;
}

void mot_sim_work_done(struct sim *s, uint32_t index)
{
    struct sim_work *w = &s->work[index];
    mot_node node = w->node;
    mot_sim_account(s, node);
    s->node[node].computing--;
    if (s->problem->net->kind->computes) {
        mot_crew_await(s->crew, &w->task);
        s->job_wall_s += w->wall_s;
    } else {
        compute(w, 0); /* of a phantom: nothing that takes time */
    }
    if (s->watch.phase && mot_watch_follows(&s->watch)) {
        enum mot_phase phase = w->samples < w->asked ? MOT_PHASE_CANCELLED : MOT_PHASE_COMPUTE;
        s->watch.phase(s->watch.self, node, phase, w->tag, (uint32_t)w->samples, w->began, s->now);
    }
    struct mot_result result = {
        .tag = w->tag, .samples = (uint32_t)w->samples, .loss = w->loss, .grad = w->grad
    };
    struct mot_node_tally *tally = &s->node[node].tally;
    if (s->channel) poison(s, w, tally->jobs);
    tally->jobs++;
    tally->samples += w->samples;
    s->samples += w->samples;
    mot_pool_drop(&s->pool, w->at);
    w->state = WORK_FREE;
    w->generation++;
    if (!isfinite(w->loss) && !s->method->guards) {
        mot_pool_drop(&s->pool, result.grad);
        w->grad = MOT_NO_BUF;
        mot_sim_end(s, MOT_EDIVERGED, "diverged");
        return;
    }
    mot_stuck_turn(s, node);
    begin_next(s, node);
    mot_sim_step(s, node, &(struct mot_event){ .kind = MOT_EV_WORK, .work = &result });
    mot_pool_drop(&s->pool, result.grad);
}
