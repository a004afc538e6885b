/* judge.c -- how far the run is: updates, evaluations, targets and the end. */
#include "sim/channel.h"
#include "run/judge.h"
#include "run/views.h"
#include <math.h>
#include <string.h>

void mot_sim_end(struct sim *s, enum mot_status status, const char *by)
{
    if (s->ended) return;
    s->ended = true;
    s->status = status;
    s->ended_by = by;
}

static double epochs_of(const struct sim *s)
{
    return (double)s->samples / (double)s->problem->data->train.rows;
}

struct mot_moment mot_sim_moment(const struct sim *s)
{
    struct mot_moment m = { .now = s->now,
        .updates = s->updates,
        .steps = s->steps,
        .samples = s->samples,
        .epochs = epochs_of(s),
        .bytes_sent = s->bytes_sent,
        .messages = s->messages_sent,
        .events = s->events,
        .consensus = NAN,
        .slowest = NAN,
        .slowest_factor = NAN,
        .score = MOT_SCORE_UNKNOWN };
    mot_moment_note(&m, &s->notes);
    return m;
}

/* ---- Evaluation --------------------------------------------------------------------------- */

static void keep_best(struct sim *s, const struct mot_score *score, const float *x)
{
    bool classes = s->problem->data->train.classes > 0;
    if (!s->best || !mot_validates_better(score, &s->best_score, classes)) return;
    s->best_score = *score;
    s->best_updates = s->updates;
    memcpy(s->best, x, s->world.dim * sizeof(*x));
}

void mot_sim_evaluate(struct sim *s, bool final)
{
    if (s->evaluated_now && !final) return;
    struct mot_moment m = mot_sim_moment(s);
    const float *x = mot_sim_model(s, &m.consensus);
    unsigned what = mot_evaluate_what(s->x, &m, final);
    m.score = mot_evaluate(s->evaluator, x, what);
    if (!final && mot_target_met(s->x, &m.score)) {
        /* The run ends here: its last line has all the figures. */
        struct mot_score rest = mot_evaluate(s->evaluator, x, mot_evaluate_what(s->x, &m, true) & ~what);
        mot_score_fill(&m.score, &rest);
        mot_sim_end(s, MOT_OK, "target");
    }
    if (!s->target_reached && mot_target_met(s->x, &m.score)) {
        s->target_reached = true;
        s->target_at = s->now;
        s->target_updates = s->updates;
    }
    if (mot_score_diverged(s->problem->net, &m.score, what)) mot_sim_end(s, MOT_EDIVERGED, "diverged");
    keep_best(s, &m.score, x);
    s->last = m;
    s->evaluated_now = true;
    if (s->watch.evaluated) s->watch.evaluated(s->watch.self, &m);
}

/* ---- When: by updates and epochs after an update, by time before an event -------------------- */

static struct mot_reached reached(const struct sim *s)
{
    return (struct mot_reached){ .updates = s->updates, .epochs = s->epochs, .now = s->now };
}

double mot_sim_next(const struct sim *s, const struct mot_every *e)
{
    struct mot_reached at = reached(s);
    double done = mot_reached_in(&at, e->unit);
    return done > 0 ? mot_multiple_after(nextafter(done, 0), e->value) : e->value;
}

/* By updates and epochs; what is due by time is due before the event that comes after it. */
static bool every_due(const struct sim *s, const struct mot_every *e, double *next)
{
    struct mot_reached at = reached(s);
    return e->unit != MOT_EVERY_TIME && mot_every_due(e, &at, next);
}

static bool due_before(mot_time when, const struct mot_every *e, double *next)
{
    return mot_every_due(e, &(struct mot_reached){ .now = when }, next);
}

bool mot_sim_never_lost(const struct sim *s, mot_node node)
{
    return !s->node[node].dead && s->channel->health[node].life == 0;
}

void mot_sim_misses(struct sim *s, mot_node node)
{
    if (node < s->world.workers && mot_sim_counts(s, node) && s->node[node].advanced == s->updates)
        s->at_least--;
}

/* The least number of updates over those that count, kept without looking at all of them each time. It rises
 * one by one, also where the last that was behind is lost: each update has its evaluation and may be the
 * end. */
static bool least_rose(struct sim *s)
{
    if (s->at_least > 0) return false;
    uint64_t least = UINT64_MAX;
    uint32_t next = 0;
    for (mot_node i = s->world.servers ? s->world.workers : 0; i < s->world.nodes; i++) {
        if (!mot_sim_counts(s, i)) continue;
        if (s->node[i].advanced < least) least = s->node[i].advanced;
        next += s->node[i].advanced == s->updates + 1;
    }
    if (least <= s->updates || least == UINT64_MAX) return false; /* only in a damaged checkpoint */
    s->updates++;
    s->at_least = next;
    return true;
}

static void save(struct sim *s)
{
    if (!s->o->checkpoint) return;
    if (mot_sim_save(s) != MOT_OK) mot_sim_end(s, MOT_ESYSTEM, "checkpoint");
    s->saved = true;
    s->saved_updates = s->updates;
}

void mot_sim_look(struct sim *s)
{
    if (s->target_reached) mot_sim_end(s, MOT_OK, "target");
    else if (s->updates >= s->x->stop.updates) mot_sim_end(s, MOT_OK, "updates");
    else if (s->epochs >= s->x->stop.epochs) mot_sim_end(s, MOT_OK, "epochs");
    else if (mot_sim_all_stopped(s)) mot_sim_end(s, MOT_OK, "data");
}

void mot_sim_due(struct sim *s)
{
    if (every_due(s, &s->every, &s->next_eval)) mot_sim_evaluate(s, false);
    if (!s->ended && every_due(s, &s->x->checkpoint, &s->next_checkpoint)) s->save_due = true;
}

void mot_sim_progress(struct sim *s)
{
    bool stopped = s->ended; /* by the method itself: all of its last step counts */
    while (least_rose(s)) {
        s->evaluated_now = false;
        s->at_update = true;
        if (s->sets) mot_sim_forget(s, s->updates);
        /* What workers have begun beyond this update depends on how fast they are: it does not count here. */
        s->epochs = s->course.known ? mot_course_epochs(&s->course, s->updates) : epochs_of(s);
        if (!s->ended) mot_sim_look(s);
        if (!s->ended) mot_sim_due(s);
        if (s->ended && !stopped) return;
    }
}

void mot_sim_before_due(struct sim *s, mot_time next)
{
    if (s->every.unit == MOT_EVERY_TIME && (double)next > s->next_eval) {
        mot_time at = (mot_time)s->next_eval;
        if (at > s->now) s->now = at;
        due_before(next - 1 > s->now ? next - 1 : s->now, &s->every, &s->next_eval);
        mot_sim_evaluate(s, false);
    }
    if (s->x->checkpoint.unit == MOT_EVERY_TIME && due_before(next, &s->x->checkpoint, &s->next_checkpoint))
        s->save_due = true;
    if (s->save_due && !s->ended) {
        s->save_due = false;
        save(s);
    }
}
