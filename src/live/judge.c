/* judge.c -- how far a live run is, and when it ends.
 *
 * The lead node (the server, or worker 0) reports its updates. The judge knows when an
 * evaluation or a checkpoint is due, and has a thread make it (jobs.c). What is due while that is busy
 * is left out; the last evaluation and the last checkpoint are always made.
 *
 * When a run ends depends on its updates, not on when the thread gets round to them. The update that ends
 * it by stop.updates or stop.epochs is known before. With a target no evaluation is
 * left out: the lead waits rather than to be two ahead of the thread. The evaluation that meets the target
 * is the run's end, and what the nodes have done since is thrown away. */
#include "live/judge.h"

#include "base/memory.h"
#include "run/judge.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- How far the run is ------------------------------------------------------------------------- */

struct mot_moment mot_judge_moment(struct mot_judge *j)
{
    struct mot_live_node *n = j->lead;
    struct mot_moment m = { .now = mot_live_now(j->live),
        .updates = n->advanced,
        .steps = n->advanced,
        .samples = mot_live_samples(n),
        .epochs = mot_live_epochs(n),
        .bytes_sent = n->tally.bytes_sent,
        .messages = n->tally.messages_sent,
        .events = n->events,
        .consensus = NAN,
        .slowest = NAN,
        .slowest_factor = NAN,
        .score = MOT_SCORE_UNKNOWN };
    mot_moment_note(&m, &n->notes);
    return m;
}

/* ---- What the lead asks ----------------------------------------------------------------------- */

static bool due(struct mot_judge *j, const struct mot_every *every, double *next)
{
    struct mot_reached at = { .updates = j->lead->advanced, .now = mot_live_now(j->live) };
    if (every->unit == MOT_EVERY_EPOCHS)
        at.epochs = mot_live_epochs(j->lead); /* may ask all workers for it */
    return mot_every_due(every, &at, next);
}

static void ended_by(struct mot_judge *j, enum mot_status status, const char *by)
{
    if (j->ended_by) return;
    j->status = status;
    j->ended_by = by;
}

/* What ended nodes that end by themselves. */
static const char *own_end(const struct mot_judge *j) { return j->ends_early ? "epochs" : j->live->stop_by; }

static bool all_have_ended(struct mot_judge *j, const char **by)
{
    pthread_mutex_lock(&j->lock);
    bool all = j->lasts_missing == 0;
    *by = own_end(j);
    pthread_mutex_unlock(&j->lock);
    return all;
}

bool mot_judge_wants_end(struct mot_judge *j)
{
    const struct mot_experiment *x = j->live->experiment;
    const char *by;
    if (j->interrupt && *j->interrupt) ended_by(j, MOT_EINTERRUPTED, "interrupted");
    else if (atomic_load(&j->target_met)) ended_by(j, MOT_OK, "target");
    else if (atomic_load(&j->diverged)) ended_by(j, MOT_EDIVERGED, "diverged");
    else if (x->stop.time != MOT_NEVER && mot_live_now(j->live) >= x->stop.time) ended_by(j, MOT_OK, "time");
    else if (mot_judge_several(j) && all_have_ended(j, &by)) ended_by(j, MOT_OK, by);
    return j->ended_by != NULL;
}

/* Whether the nodes know themselves when that is due. */
static bool is_known(const struct mot_judge *j, const struct mot_every *every)
{
    return every->unit == MOT_EVERY_UPDATES || (every->unit == MOT_EVERY_EPOCHS && j->live->course.known);
}

static void ask_for_what_is_due(struct mot_judge *j)
{
    const struct mot_every *checkpoint = &j->live->experiment->checkpoint;
    bool evaluates = !is_known(j, &j->live->every) && due(j, &j->live->every, &j->next);
    bool saves = j->live->checkpoint && !is_known(j, checkpoint) && due(j, checkpoint, &j->next_save);
    if (evaluates || saves) mot_judge_ask(j, evaluates, saves);
}

static void tick(struct mot_judge *j)
{
    double now = (double)mot_live_now(j->live) * 1e-9;
    if (now - j->ticked_s < 0.1) return;
    j->ticked_s = now;
    struct mot_moment m = mot_judge_moment(j);
    struct mot_pick pick = { 0 };
    for (mot_node i = 0; i < j->live->world.workers; i++) mot_pick_worker(&pick, i, j->live->job_us[i]);
    mot_pick_slowest(&pick, &m);
    pthread_mutex_lock(&j->live->watch_lock);
    j->watch.tick(j->watch.self, &m);
    pthread_mutex_unlock(&j->live->watch_lock);
}

/* Whether this update of a lead that has the whole model is the run's last. */
static bool is_last(struct mot_judge *j)
{
    const struct mot_live *l = j->live;
    if (j->lead->advanced >= l->stop_at) ended_by(j, MOT_OK, l->stop_by);
    else if (mot_live_node_done(j->lead)) ended_by(j, MOT_OK, "epochs");
    else return false;
    return true;
}

bool mot_judge_update(struct mot_judge *j)
{
    if (mot_judge_several(j)) {
        if (!j->lead->shown_last) ask_for_what_is_due(j);
        mot_judge_wait(j);
    } else {
        if (is_last(j)) return true;
        bool evaluates = due(j, &j->live->every, &j->next);
        bool saves = j->live->checkpoint && due(j, &j->live->experiment->checkpoint, &j->next_save);
        if (evaluates || saves) mot_judge_offer(j, evaluates, saves);
    }
    if (j->watch.tick) tick(j);
    return mot_judge_wants_end(j);
}

/* ---- From the beginning to the end ---------------------------------------------------------------- */

static void judge_free(struct mot_judge *j)
{
    mot_jobs_free(j);
    mot_evaluator_close(j->evaluator);
    mot_crew_close(j->crew);
    free(j->save_error);
    free(j->best);
    free(j);
}

/* A run that goes on has to beat the best of what came before. */
static void open_best(struct mot_judge *j)
{
    const struct mot_live *l = j->live;
    j->best_score = (struct mot_score)MOT_SCORE_UNKNOWN;
    if (l->problem->data->valid.rows == 0) return;
    j->best = mot_aligned((size_t)l->world.dim * sizeof(float));
    if (!l->from || !l->from->best.x) return;
    j->best_score = l->from->best.score;
    j->best_updates = l->from->best.updates;
    memcpy(j->best, l->from->best.x, l->world.dim * sizeof(float));
}

/* Looks at the model that the run begins with: it may be the one that it ends with. */
static void look_at_beginning(struct mot_judge *j)
{
    struct mot_live *l = j->live;
    if (l->over) {
        j->final = mot_judge_beginning(j);
        ended_by(j, MOT_OK, l->over);
        if (strcmp(l->over, "target") != 0) return;
        atomic_store(&j->target_met, true);
        j->target_score = l->from->target.score;
        j->target_at = l->from->target.at;
        j->target_updates = l->from->target.updates;
        return;
    }
    struct mot_moment start = mot_judge_moment(j);
    start.now = 0; /* the nodes' clock starts with them */
    if (l->experiment->method->decentralised) start.consensus = 0;
    if (start.updates > 0) return;
    mot_judge_evaluate(j, &start, mot_pool_at(&l->pool, l->world.x0), false);
    if (atomic_load(&j->target_met)) j->final = mot_judge_beginning(j);
}

enum mot_status mot_judge_open(struct mot_live *l, struct mot_live_node *lead, const struct mot_watch *watch,
    const volatile sig_atomic_t *interrupt, struct mot_judge **out)
{
    const struct mot_experiment *x = l->experiment;
    struct mot_judge *j = mot_new(1, sizeof(*j));
    j->live = l;
    j->lead = lead;
    j->interrupt = interrupt;
    if (watch) j->watch = *watch;
    j->crew = mot_crew_open(1);
    j->evaluator = mot_evaluator_open(l->problem, j->crew);
    j->next = l->every.value;
    j->next_save = x->checkpoint.value;
    due(j, &l->every, &j->next); /* a run that goes on is past some of them */
    due(j, &x->checkpoint, &j->next_save);
    open_best(j);
    int error = mot_jobs_open(j);
    if (error) {
        judge_free(j);
        return mot_fail(MOT_ESYSTEM, "the thread for evaluations could not be started: %s", strerror(error));
    }
    look_at_beginning(j); /* the thread has nothing to do yet */
    *out = j;
    return MOT_OK;
}

bool mot_judge_knows_end(struct mot_judge *j) { return j->final != NULL; }

void mot_judge_close(struct mot_judge *j, struct mot_outcome *out)
{
    struct mot_live *l = j->live;
    mot_jobs_finish(j);
    bool by_target = j->final && atomic_load(&j->target_met), knew = j->final != NULL;
    if (by_target) {
        j->status = MOT_OK;
        j->ended_by = "target";
    }
    enum mot_status status = !knew && j->lead->status != MOT_OK ? j->lead->status : j->status;
    if (!knew) j->final = mot_judge_last(j);
    const struct mot_judge_job *job = j->final;
    /* As in the simulator, a checkpoint knows nothing of the last
     * evaluation: a run that goes on makes its own. */
    if (l->checkpoint && !l->over && status != MOT_EDIVERGED) mot_judge_save(j, job, true);
    struct mot_moment m = job->moment;
    const float *x = mot_judge_x(j, job, &m);
    if (!by_target || l->over) mot_judge_evaluate(j, &m, x, true);
    *out = (struct mot_outcome){ .status = status,
        .last = j->last,
        .workers = l->world.workers,
        .servers = l->world.servers,
        .best_score = j->best_score,
        .best_updates = j->best_updates };
    out->ended_by = status == MOT_EDIVERGED ? "diverged"
        : j->lead->out_of_data && !knew     ? "data"
        : j->ended_by                       ? j->ended_by
                                            : own_end(j);
    out->target.reached = atomic_load(&j->target_met);
    out->target.at = j->target_at;
    out->target.updates = j->target_updates;
    out->node = mot_new(l->world.nodes, sizeof(*out->node));
    out->ends_at = mot_new(l->world.nodes, sizeof(*out->ends_at));
    for (mot_node i = l->lead; i < l->lead + l->showing; i++)
        out->ends_at[i] = job->params.x ? job->moment.updates : job->copy[i].updates;
    out->x = mot_floats_copy(x, l->world.dim);
    out->model_hash = XXH64(out->x, l->world.dim * sizeof(float), 0);
    if (j->best && j->best_updates) out->best = mot_floats_copy(j->best, l->world.dim);
    if (j->save_error && out->status == MOT_OK) {
        out->status = mot_fail(MOT_ESYSTEM, "%s", j->save_error);
        out->ended_by = "checkpoint";
    }
    judge_free(j);
}
