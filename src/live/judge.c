/* judge.c -- the progress of a live run, and when it ends.
 *
 * The lead node (the server, or worker 0) reports its updates. The judge knows when an evaluation or a
 * checkpoint is due and has a thread do it (jobs.c). What is due while the thread is busy is skipped;
 * the final evaluation and checkpoint are always made.
 *
 * When a run ends depends on its updates, not on when the thread gets round to them. The update that ends
 * it by stop.updates or stop.epochs is known beforehand. With a target no evaluation is skipped: the lead
 * waits rather than get two ahead of the thread. The evaluation that meets the target ends the run,
 * and whatever the nodes have done since is discarded. */
#include "live/judge.h"

#include "base/memory.h"
#include "live/rings.h"
#include "run/judge.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- How far the run is ------------------------------------------------------------------------- */

struct mot_moment mot_live_judge_moment(struct mot_live_judge *j)
{
    struct mot_live_node *n = j->lead;
    struct mot_moment m = { .now = mot_live_now(j->live),
        .updates = mot_live_updates(n),
        .steps = j->live->own_pace ? atomic_load(&j->live->stepped) : n->actor.advanced,
        .samples = mot_live_samples(n),
        .computed = j->live->experiment->traits.redundant ? mot_live_computed(n) : 0,
        .epochs = mot_live_epochs(n),
        .bytes_sent = n->actor.tally.bytes_sent,
        .rows_bytes = n->actor.tally.rows_bytes,
        .messages = n->actor.tally.messages_sent,
        .events = n->events,
        .mixed = MOT_MIXED_UNKNOWN,
        .slowest = NAN,
        .slowest_factor = NAN,
        .score = MOT_SCORE_UNKNOWN };
    mot_moment_note(&m, &n->notes);
    m.streams = j->live->place != NULL;
    m.stalled = mot_live_stalled(j->live, j->stalled);
    m.flow.oldest = NAN;
    for (mot_node i = 0; m.streams && i < j->live->world.workers; i++) {
        struct mot_place p = mot_place_now(&j->live->place[i]);
        uint64_t gone = p.used + p.dropped + p.malformed + p.held;
        struct mot_flow flow = { p.arrived, p.used, p.dropped, p.arrived - gone, NAN, p.malformed, p.held };
        if (p.arrived >= gone) mot_flow_add(&m.flow, &flow);
    }
    return m;
}

void mot_live_judge_evaluate(struct mot_live_judge *j, struct mot_moment *m, const float *x, bool final)
{
    if (j->live->rings) mot_rings_refresh(j->live->rings);
    mot_judge_evaluate(&j->judge, m, x, final);
}

/* ---- What the lead asks ----------------------------------------------------------------------- */

static struct mot_reached reached(struct mot_live_judge *j, const struct mot_every *every)
{
    struct mot_reached at = { .updates = mot_live_updates(j->lead), .now = mot_live_now(j->live) };
    if (every->unit == MOT_EVERY_EPOCHS)
        at.epochs = mot_live_epochs(j->lead); /* may have to ask all workers */
    return at;
}

static bool evaluation_due(struct mot_live_judge *j)
{
    struct mot_reached at = reached(j, &j->judge.every);
    return mot_judge_evaluation_due(&j->judge, &at);
}

static bool checkpoint_due(struct mot_live_judge *j)
{
    struct mot_reached at = reached(j, &j->live->experiment->checkpoint);
    return mot_judge_checkpoint_due(&j->judge, &at);
}

/* What ended the run if its nodes ended by themselves. */
static const char *own_end(const struct mot_live_judge *j)
{
    return j->ends_early ? "epochs" : j->live->stop_by;
}

/* The same if all of several have; NULL: some have not. */
static const char *all_have_ended(struct mot_live_judge *j)
{
    pthread_mutex_lock(&j->lock);
    const char *by = j->lasts_missing == 0 ? own_end(j) : NULL;
    pthread_mutex_unlock(&j->lock);
    return by;
}

/* Workers at their own pace: what ends the run for all, or NULL. */
static const char *pace_ends(struct mot_live_judge *j)
{
    const struct mot_live *l = j->live;
    const char *by = mot_judge_stop(&j->judge, mot_live_updates(j->lead), mot_live_epochs(j->lead));
    bool dry = true;
    if (by) return by;
    pthread_mutex_lock(&j->lock);
    for (mot_node i = 0; i < l->world.workers; i++) dry &= j->lost[i] || atomic_load(&l->paced[i]) % 2;
    pthread_mutex_unlock(&j->lock);
    return dry ? "data" : NULL;
}

/* As sim/stuck.c has it. Samples are judged at updates, and this is for runs that make none any more. */
static bool is_overdue(struct mot_live_judge *j)
{
    const struct mot_live *l = j->live;
    const struct mot_live_node *n = j->lead;
    if (!l->experiment->traits.awaits_all || !n->drawn || n->fruitless < MOT_OVERDUE_JOBS(l->world.workers) ||
        l->course.known || !(mot_live_epochs(n) >= l->experiment->stop.epochs))
        return false;
    mot_node absent = 0;
    pthread_mutex_lock(&j->lock);
    while (absent < l->world.workers && (j->lost[absent] || n->seen[absent] != n->drawn[absent])) absent++;
    pthread_mutex_unlock(&j->lock);
    j->awaited = absent;
    j->overdue = absent < l->world.workers ? n->fruitless : 0;
    return j->overdue > 0;
}

bool mot_live_judge_wants_end(struct mot_live_judge *j)
{
    const struct mot_experiment *x = j->live->experiment;
    struct mot_facts facts = { .memory = mot_memory_refused(),
        .interrupted = j->interrupt && *j->interrupt,
        .time = x->stop.time != MOT_NEVER && mot_live_now(j->live) >= x->stop.time };
    if (mot_judge_decide(&j->judge, &facts)) return true;
    if (is_overdue(j)) facts.done = "epochs";
    else if (j->live->own_pace) facts.done = pace_ends(j); /* which asks all workers */
    else if (mot_live_judge_several(j)) facts.done = all_have_ended(j);
    return mot_judge_decide(&j->judge, &facts);
}

/* Whether the nodes know by themselves when that is due. */
static bool is_known(const struct mot_live_judge *j, const struct mot_every *every)
{
    if (j->live->own_pace) return false;
    return every->unit == MOT_EVERY_UPDATES || (every->unit == MOT_EVERY_EPOCHS && j->live->course.known);
}

static void ask_for_what_is_due(struct mot_live_judge *j)
{
    const struct mot_every *checkpoint = &j->live->experiment->checkpoint;
    bool evaluates = !is_known(j, &j->live->every) && evaluation_due(j);
    bool saves = j->live->checkpoint && !is_known(j, checkpoint) && checkpoint_due(j);
    if (evaluates || saves) mot_live_judge_ask(j, evaluates, saves);
}

static void tick(struct mot_live_judge *j)
{
    double now = (double)mot_live_now(j->live) * 1e-9;
    if (now - j->ticked_s < 0.1) return;
    j->ticked_s = now;
    struct mot_moment m = mot_live_judge_moment(j);
    struct mot_pick pick = { 0 };
    for (mot_node i = 0; i < j->live->world.workers; i++) mot_pick_worker(&pick, i, j->live->job_us[i]);
    mot_pick_slowest(&pick, &m);
    pthread_mutex_lock(&j->live->watch_lock);
    for (mot_node i = 0; j->live->worked_ns && i < j->live->world.workers; i++) {
        mot_time worked = atomic_load_explicit(&j->live->worked_ns[i], memory_order_relaxed);
        if (worked) j->watch.worked(j->watch.self, i, worked); /* other processes' workers are not known */
    }
    j->watch.tick(j->watch.self, &m);
    pthread_mutex_unlock(&j->live->watch_lock);
}

/* A checkpoint that is due by the clock does not wait for the next update, which may never come. Workers that
 * have models and go in step can be saved only at an update that all have made, so not here. */
static void save_while_idle(struct mot_live_judge *j)
{
    const struct mot_live *l = j->live;
    bool in_step = mot_live_judge_several(j) && !l->own_pace;
    uint64_t updates = mot_live_updates(j->lead);
    if (!l->checkpoint || l->experiment->checkpoint.unit != MOT_EVERY_TIME || in_step ||
        updates == (l->from ? l->from->updates : 0) || !checkpoint_due(j))
        return;
    if (l->own_pace) mot_live_judge_ask(j, false, true);
    else mot_live_judge_offer(j, false, true);
}

/* Where samples arrive over time, progress shows why nothing happens, and checkpoints are still written. */
bool mot_live_judge_idle(struct mot_live_judge *j)
{
    if (j->live->place) {
        if (j->watch.tick) tick(j);
        save_while_idle(j);
    }
    return mot_live_judge_wants_end(j);
}

/* Whether this update is the run's last, for a lead that has the whole model. */
static bool is_last(struct mot_live_judge *j)
{
    const struct mot_live *l = j->live;
    const char *done = NULL;
    if (j->lead->actor.advanced >= l->stop_at) done = l->stop_by;
    else if (mot_live_node_done(j->lead)) done = "epochs";
    return done && mot_judge_decide(&j->judge, &(struct mot_facts){ .done = done });
}

bool mot_live_judge_update(struct mot_live_judge *j)
{
    if (mot_live_judge_several(j)) {
        if (!j->lead->shown_last) ask_for_what_is_due(j);
        mot_live_judge_wait(j);
    } else {
        if (is_last(j)) return true;
        bool evaluates = evaluation_due(j);
        bool saves = j->live->checkpoint && checkpoint_due(j);
        if (evaluates || saves) mot_live_judge_offer(j, evaluates, saves);
    }
    if (j->watch.tick) tick(j);
    return mot_live_judge_wants_end(j);
}

/* ---- From the beginning to the end ---------------------------------------------------------------- */

static void judge_free(struct mot_live_judge *j)
{
    mot_jobs_free(j);
    mot_judge_close(&j->judge);
    mot_crew_close(j->crew);
    free(j->save_error);
    free(j);
}

/* A resumed run has to beat the best model so far. */
static void open_best(struct mot_live_judge *j)
{
    const struct mot_live *l = j->live;
    if (!j->judge.best.x || !l->from || !l->from->best.x) return;
    j->judge.best.score = l->from->best.score;
    j->judge.best.updates = l->from->best.updates;
    memcpy(j->judge.best.x, l->from->best.x, l->world.dim * sizeof(float));
}

/* Nodes call the watcher too, hence the lock. */
static void tell_evaluated(void *judge, const struct mot_moment *m)
{
    struct mot_live_judge *j = judge;
    pthread_mutex_lock(&j->live->watch_lock);
    j->watch.evaluated(j->watch.self, m);
    pthread_mutex_unlock(&j->live->watch_lock);
}

/* Evaluates the initial model: it may already end the run. */
static void look_at_beginning(struct mot_live_judge *j)
{
    struct mot_live *l = j->live;
    if (l->over) {
        j->final = mot_live_judge_beginning(j);
        mot_judge_end(&j->judge, MOT_OK, l->over);
        if (strcmp(l->over, "target") != 0) return;
        atomic_store(&j->judge.target.met, true);
        j->judge.target.score = l->from->target.score;
        j->judge.target.at = l->from->target.at;
        j->judge.target.updates = l->from->target.updates;
        return;
    }
    struct mot_moment start = mot_live_judge_moment(j);
    start.now = 0; /* the nodes' clock has not started */
    start.mixed = mot_live_judge_first(j);
    if (start.updates > 0) return;
    mot_live_judge_evaluate(j, &start, mot_pool_at(&l->pool, l->world.x0), false);
    if (atomic_load(&j->judge.target.met)) j->final = mot_live_judge_beginning(j);
}

enum mot_status mot_live_judge_open(struct mot_live *l, struct mot_live_node *lead,
    const struct mot_watch *watch, const volatile sig_atomic_t *interrupt, struct mot_live_judge **out)
{
    struct mot_live_judge *j = mot_new(1, sizeof(*j));
    j->live = l;
    j->lead = lead;
    j->interrupt = interrupt;
    if (watch) j->watch = *watch;
    j->crew = mot_crew_open(1);
    struct mot_watch told = { .self = j, .evaluated = j->watch.evaluated ? tell_evaluated : NULL };
    mot_judge_open(&j->judge, l->experiment, l->problem, j->crew, &told);
    evaluation_due(j); /* a resumed run is past some of them */
    checkpoint_due(j);
    open_best(j);
    if (l->checkpoint && l->from && l->from->models > 1) j->cut = l->from->updates;
    int error = mot_jobs_open(j);
    if (mot_memory_refused()) {
        if (!error) mot_jobs_finish(j);
        judge_free(j);
        return mot_memory_status();
    }
    if (error) {
        judge_free(j);
        return mot_fail(MOT_ESYSTEM, "cannot start the evaluation thread: %s", strerror(error));
    }
    look_at_beginning(j); /* the thread is still idle */
    *out = j;
    return MOT_OK;
}

bool mot_live_judge_knows_end(struct mot_live_judge *j) { return j->final != NULL; }

/* Keeps the rows that the model was last judged by. */
static void keep_test(const struct mot_live *l, struct mot_outcome *out)
{
    const struct mot_table *test = l->rings ? mot_rings_test(l->rings) : NULL;
    if (!test) return;
    out->held.judges = true;
    out->held.rows = test->rows;
    out->held.y = mot_floats_copy(test->y, test->rows);
}

void mot_live_judge_close(struct mot_live_judge *j, struct mot_outcome *out)
{
    struct mot_live *l = j->live;
    mot_jobs_finish(j);
    bool by_target = j->final && atomic_load(&j->judge.target.met), knew = j->final != NULL;
    if (by_target) mot_judge_overrule(&j->judge);
    enum mot_status status = !knew && j->lead->status != MOT_OK ? j->lead->status : j->judge.status;
    if (!knew) j->final = mot_live_judge_last(j);
    const struct mot_live_job *job = j->final;
    /* As in the simulator, a checkpoint does not include the final evaluation: a resumed run makes its
     * own. */
    bool saves = l->checkpoint && !l->over && status != MOT_EDIVERGED;
    /* A run that was cut short resumes as if nothing had happened, from a little earlier, not from a mean. */
    if (saves && status != MOT_OK && mot_live_judge_left_cut(j, job)) saves = false;
    if (saves) mot_live_judge_save(j, job, true);
    mot_notes_merge(&j->lead->notes, &j->notes);
    struct mot_moment m = job->moment;
    const float *x = mot_live_judge_x(j, job, &m);
    if (!by_target || l->over) mot_live_judge_evaluate(j, &m, x, true);
    mot_judge_outcome(&j->judge, &l->world, x, out);
    out->status = status;
    out->from_source = l->rings != NULL;
    keep_test(l, out);
    out->saved = j->cut;
    out->saved_updates = j->cut;
    out->ended_by = status == MOT_EDIVERGED             ? "diverged"
        : atomic_load(&l->drained) && !knew             ? "data"
        : j->lead->out_of_data && !knew && !l->own_pace ? "data"
        : j->judge.ended_by                             ? j->judge.ended_by
        : l->own_pace && m.updates < l->stop_at         ? "epochs"
                                                        : own_end(j);
    if (j->overdue > 0 && strcmp(out->ended_by, "epochs") == 0) {
        out->stuck_by = MOT_STUCK_WAIT;
        out->stuck_node = j->awaited;
        out->stuck_count = j->overdue;
    }
    out->node = mot_new(l->world.nodes, sizeof(*out->node));
    out->ends_at = mot_new(l->world.nodes, sizeof(*out->ends_at));
    for (mot_node i = l->lead; i < l->lead + l->showing; i++) {
        if (l->own_pace) out->ends_at[i] = job->params.x ? 0 : job->copy[i].events;
        else out->ends_at[i] = job->params.x ? job->moment.updates : job->copy[i].updates;
    }
    if (j->save_error && out->status == MOT_OK) {
        out->status = mot_fail(MOT_ESYSTEM, "%s", j->save_error);
        out->ended_by = "checkpoint";
    }
    judge_free(j);
}
