/* judge.c -- progress of a run: updates, evaluations, targets and the end. */
#include "sim/channel.h"
#include "base/memory.h"
#include "run/judge.h"
#include "run/views.h"
#include <math.h>
#include <string.h>

static bool nobody_was_lost(const struct sim *s)
{
    mot_node i = 0;
    while (i < s->world.workers && mot_sim_counts(s, i)) i++;
    return i == s->world.workers;
}

/* If workers' models differ, some workers are ahead: what they have computed since is in no model that is
 * shown. */
static uint64_t samples_of(const struct sim *s)
{
    if (s->x->traits.redundant) return s->node[mot_world_lead(&s->world)].actor.used;
    if (s->showing > 1 && s->course.known && nobody_was_lost(s))
        return mot_course_samples(&s->course, s->updates);
    return s->samples;
}

static double epochs_of(const struct sim *s)
{
    return (double)samples_of(s) / (double)s->problem->data->train.rows;
}

struct mot_moment mot_sim_moment(const struct sim *s)
{
    struct mot_moment m = { .now = s->now,
        .updates = s->updates,
        .steps = s->steps,
        .samples = samples_of(s),
        .computed = s->x->traits.redundant ? s->samples : 0,
        .epochs = epochs_of(s),
        .bytes_sent = s->bytes_sent,
        .rows_bytes = s->rows_bytes,
        .messages = s->messages_sent,
        .events = s->events,
        .mixed = MOT_MIXED_UNKNOWN,
        .slowest = NAN,
        .slowest_factor = NAN,
        .score = MOT_SCORE_UNKNOWN };
    mot_moment_note(&m, &s->notes);
    m.streams = s->feed != NULL;
    m.flow.oldest = NAN;
    for (mot_node i = 0; s->feed && i < s->world.workers; i++) {
        struct mot_flow flow;
        if (!s->node[i].actor.feed) continue;
        flow = mot_feed_flow(s->node[i].actor.feed, s->now);
        mot_flow_add(&m.flow, &flow);
    }
    return m;
}

/* ---- Evaluation --------------------------------------------------------------------------- */

void mot_sim_evaluate(struct sim *s, bool final)
{
    if (s->evaluated_now && !final) return;
    struct mot_moment m = mot_sim_moment(s);
    const float *x = mot_sim_model(s, &m.mixed);
    mot_judge_evaluate(&s->judge, &m, x, final);
    s->evaluated_now = true;
    mot_judge_decide(&s->judge, &(struct mot_facts){ .memory = mot_memory_refused() });
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

bool mot_sim_in_step(const struct sim *s, mot_node node)
{
    const struct sim_health *h = &s->channel->health[node];
    return !s->node[node].dead && (h->life == 0 || h->counts);
}

void mot_sim_catches_up(struct sim *s, mot_node node)
{
    struct sim_health *h = &s->channel->health[node];
    if (!h->entered || h->counts || s->node[node].actor.advanced < s->updates) return;
    h->counts = true;
    s->at_least += s->node[node].actor.advanced == s->updates;
    mot_sim_show_again(s, node);
}

void mot_sim_misses(struct sim *s, mot_node node)
{
    if (s->x->traits.own_pace) return;
    if (node < s->world.workers && mot_sim_counts(s, node) && s->node[node].actor.advanced == s->updates)
        s->at_least--;
}

/* The fewest updates of any node that counts, maintained incrementally. It rises one at a time, even when
 * the last node behind is lost: each update may be evaluated and may end the run. */
static bool least_rose(struct sim *s)
{
    if (s->x->traits.own_pace) { /* not the fewest but all steps, including those of workers lost since */
        bool rose = s->steps / s->world.workers > s->updates;
        s->updates += rose;
        return rose;
    }
    if (s->at_least > 0) return false;
    uint64_t least = UINT64_MAX;
    uint32_t next = 0;
    for (mot_node i = s->world.servers ? s->world.workers : 0; i < s->world.nodes; i++) {
        if (!mot_sim_counts(s, i)) continue;
        if (s->node[i].actor.advanced < least) least = s->node[i].actor.advanced;
        next += s->node[i].actor.advanced == s->updates + 1;
    }
    if (least <= s->updates || least == UINT64_MAX) return false; /* in damaged checkpoints only */
    s->updates++;
    s->at_least = next;
    return true;
}

static void save(struct sim *s)
{
    if (!s->o->checkpoint) return;
    if (mot_sim_save(s) != MOT_OK) mot_judge_end(&s->judge, MOT_ESYSTEM, "checkpoint");
    s->saved = true;
    s->saved_updates = s->updates;
}

void mot_sim_look(struct sim *s)
{
    const char *by = mot_judge_stop(&s->judge, s->updates, s->epochs);
    if (!by && mot_sim_all_stopped(s)) by = "data";
    mot_judge_decide(&s->judge, &(struct mot_facts){ .done = by });
}

/* Epochs are judged at updates, so that a run ends with a model that everything it counts has gone into. But
 * if no update comes, they end it all the same. */
void mot_sim_overdue(struct sim *s)
{
    if (s->course.known || !(epochs_of(s) >= s->x->stop.epochs)) return;
    mot_judge_decide(&s->judge, &(struct mot_facts){ .done = "epochs" });
}

/* Handles what is due by updates and epochs. What is due by time is handled before the next event. */
void mot_sim_due(struct sim *s)
{
    struct mot_reached at = reached(s);
    if (s->judge.every.unit != MOT_EVERY_TIME && mot_judge_evaluation_due(&s->judge, &at))
        mot_sim_evaluate(s, false);
    if (!s->judge.ended && s->x->checkpoint.unit != MOT_EVERY_TIME &&
        mot_judge_checkpoint_due(&s->judge, &at))
        s->save_due = true;
}

void mot_sim_progress(struct sim *s)
{
    bool stopped = s->judge.ended; /* stopped by the method: its whole last step counts */
    while (least_rose(s)) {
        s->evaluated_now = false;
        s->at_update = true;
        if (s->sets) mot_sim_forget(s, s->updates);
        /* Samples that workers began after this update depend on their speed and do not count here. */
        s->epochs = s->course.known ? mot_course_epochs(&s->course, s->updates) : epochs_of(s);
        if (!s->judge.ended) mot_sim_look(s);
        if (!s->judge.ended) mot_sim_due(s);
        if (s->judge.ended && !stopped) return;
    }
}

void mot_sim_before_due(struct sim *s, mot_time next)
{
    if (s->judge.every.unit == MOT_EVERY_TIME && (double)next > s->judge.next_evaluation) {
        mot_time at = (mot_time)s->judge.next_evaluation;
        if (at > s->now) s->now = at;
        mot_judge_evaluation_due(
            &s->judge, &(struct mot_reached){ .now = next - 1 > s->now ? next - 1 : s->now });
        mot_sim_evaluate(s, false);
    }
    if (s->x->checkpoint.unit == MOT_EVERY_TIME &&
        mot_judge_checkpoint_due(&s->judge, &(struct mot_reached){ .now = next }))
        s->save_due = true;
    if (s->save_due && !s->judge.ended) {
        s->save_due = false;
        save(s);
    }
}
