/* verdict_end.c -- how a run ended: lost, stuck, short of its target, diverged, or with nothing learned. */
#include "base/memory.h"
#include "base/words.h"
#include "report/parts.h"
#include "report/tally.h"
#include "report/verdict.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SKEWED 1.0       /* times a batch's noise: parts that differ so much pull the model apart */
#define ABOVE_CHANCE 1.5 /* times the loss of guessing: no model that learns too slowly is that wrong */
#define FEW_UPDATES 50   /* with so few, even a good rate may achieve nothing */

/* ---- How it ended ----------------------------------------------------------- */

const char *mot_lost_how(const char *by)
{
    static const struct {
        const char *by, *how;
    } ways[] = {
        { "crash", "it crashed" },
        { "partition", "a partition had cut it off for cluster.faults.detect" },
        { "death", "its process ended" },
        { "silence", "it gave no sign of life for too long" },
        { "damage", "what came from it was damaged" },
        { "link", "the connection to it broke" },
    };
    for (size_t i = 0; i < MOT_COUNT(ways); i++)
        if (strcmp(by, ways[i].by) == 0) return ways[i].how;
    return "frames to or from it were lost too often";
}

static void say_model_lost(struct mot_words *w, const struct mot_outcome *o)
{
    mot_say(w, ". It was the last node with the model, which is lost with it");
    if (o->saved) mot_say(w, "; what is left is the checkpoint of update %" PRIu64 ". ", o->saved_updates);
    else mot_say(w, ", as no checkpoint was written. ");
}

void mot_stuck_how(const struct mot_outcome *o, char *into, size_t size)
{
    unsigned long long count = o->stuck_count;
    switch (o->stuck_by) {
    case MOT_STUCK_NOT: snprintf(into, size, "no job ended within the method's limit"); return;
    case MOT_STUCK_SPIN:
        snprintf(into, size,
            "%s %u did %llu jobs or alarms at one instant of the run's clock without an update; "
            "what takes no time cannot move the clock: give its jobs or its link some time",
            o->stuck_node < o->workers ? "worker" : "server",
            o->stuck_node < o->workers ? o->stuck_node : o->stuck_node - o->workers, count);
        return;
    case MOT_STUCK_LOSSES:
        snprintf(into, size,
            "workers were lost %llu times since the last update, too often for the next; check "
            "cluster.faults",
            count);
        return;
    case MOT_STUCK_FAULTS:
        snprintf(into, size,
            "in %llu stalls and partitions nothing arrived from any worker; check cluster.faults", count);
        return;
    case MOT_STUCK_WAIT:
        snprintf(into, size,
            "the next one waits for worker %u, which ended no job while others ended %llu; check its speed "
            "and cluster.faults, or take a method that does not wait for everybody",
            o->stuck_node, count);
        return;
    }
}

/* "worker 3 (slow)", and what became of it. */
static void say_lost(struct mot_words *w, const struct mot_facts *f)
{
    const struct mot_outcome *o = f->o;
    char label[160], time[48], advice[MOT_ADVICE];
    if (!o->has_peer) {
        mot_say(
            w, "The run ended after %s because a peer was lost. ", mot_updates_text(o->last.updates).text);
        return;
    }
    mot_say(w, "The run ended after %s because %s%s was lost", mot_updates_text(o->last.updates).text,
        o->peer >= o->workers && o->servers == 1 ? "the " : "",
        mot_node_label(f->e, o, o->peer, label, sizeof label));
    if (o->peer_by) {
        mot_say(w, ": %s, at %s", mot_lost_how(o->peer_by), mot_show_time(o->peer_at, time, sizeof time));
    }
    if (o->model_lost) say_model_lost(w, o);
    else if (o->peer >= o->workers) mot_say(w, ". Without its server nobody can go on. ");
    else mot_say(w, "%s. ", mot_advice(f, MOT_WHEN_LOST, 0, advice));
}

void mot_say_faults(struct mot_words *w, const struct mot_facts *f)
{
    const struct mot_fault_tally *t = &f->o->faults;
    if (!f->o->has_faults) return;
    if (t->resent && t->dropped + t->corrupted + t->cut)
        mot_say(w,
            "Faults of the network cost %" PRIu64 " resends (%" PRIu64 " frames dropped, %" PRIu64
            " corrupted, %" PRIu64 " cut off by partitions). ",
            t->resent, t->dropped, t->corrupted, t->cut);
    if (t->crashes || t->given_up)
        mot_say(w, "%" PRIu64 " crash%s, %" PRIu64 " given up, %" PRIu64 " back. ", t->crashes,
            t->crashes == 1 ? "" : "es", t->given_up, t->restarts);
    if (t->stalls) mot_say(w, "%" PRIu64 " stall%s. ", t->stalls, t->stalls == 1 ? "" : "s");
}

void mot_say_end(struct mot_words *w, const struct mot_facts *f)
{
    const struct mot_experiment *e = f->e;
    const struct mot_outcome *o = f->o;
    const char *by = o->ended_by ? o->ended_by : "";
    if (o->status == MOT_EDIVERGED) {
        mot_say(w, "The run diverged: its loss was no longer a number after %s. ",
            mot_updates_text(o->last.updates).text);
        return;
    }
    if (o->status == MOT_EINTERRUPTED || strcmp(by, "interrupted") == 0)
        mot_say(w, "The run was interrupted after %s. ", mot_updates_text(o->last.updates).text);
    if (o->stuck_by || o->status == MOT_EDEADLINE) {
        char why[240], advice[MOT_ADVICE];
        mot_stuck_how(o, why, sizeof why);
        mot_say(
            w, "The run stopped making progress after %s: %s. ", mot_updates_text(o->last.updates).text, why);
        if (!o->stuck_by && *mot_advice(f, MOT_WHEN_EMPTY, 0, advice)) mot_say(w, "Try %s. ", advice);
    } else if (o->status == MOT_EPEER) {
        say_lost(w, f);
    }
    if (strcmp(by, "data") == 0 && o->from_source)
        mot_say(w, "The run ended because a worker had used all of its source. ");
    else if (strcmp(by, "data") == 0)
        mot_say(w, "The run ended because the workers ran out of data: sampler.passes allows no more. ");
    if (e->stop.target == MOT_TARGET_NONE || o->target.reached) return;
    double at = mot_target_figure(e->stop.target, &o->last.score);
    char target[64];
    mot_say(w, "The target, %s, was not reached",
        mot_show_target(mot_target_name(e->stop.target), e->stop.value, target, sizeof target));
    if (isfinite(at))
        mot_say(w,
            e->stop.target == MOT_TARGET_TEST_ACCURACY ? ": it stood at %.4g %%" : ": it stood at %.4g",
            e->stop.target == MOT_TARGET_TEST_ACCURACY ? 100 * at : at);
    if (strcmp(by, "updates") == 0 || strcmp(by, "epochs") == 0 || strcmp(by, "time") == 0)
        mot_say(w, " when stop.%s ended the run", by);
    mot_say(w, ". ");
}

/* ---- What it learned --------------------------------------------------------- */

static double loss_of(const struct mot_facts *f)
{
    return f->o->chance.tested ? f->o->last.score.test_loss : f->o->last.score.train_loss;
}

void mot_say_unlearned(struct mot_words *w, const struct mot_facts *f)
{
    const struct mot_chance *c = &f->o->chance;
    const struct mot_score *s = &f->o->last.score;
    const char *part = c->tested ? "test" : "training";
    double accuracy = c->tested ? s->test_accuracy : s->train_accuracy;
    if (isfinite(c->accuracy))
        mot_say(w,
            "The run learned nothing: its %s accuracy is %.0f %%, and the commonest class alone would give "
            "%.0f %%. ",
            part, mot_percent(accuracy), mot_percent(c->accuracy));
    else
        mot_say(w, "The run learned nothing: its %s loss is %.3g, and the mean label alone would give %.3g. ",
            part, loss_of(f), c->loss);
    mot_say_remedy(w, f);
}

/* How far the workers' parts differ, in times a batch's noise; NaN: unknown. */
static double parts_apart(const struct mot_facts *f)
{
    if (!f->o->start.known) return NAN;
    struct mot_parts_differ d = mot_parts_differ(
        (struct mot_heterogeneity){ f->o->start.zeta2, f->o->start.sigma2 }, f->o->start.batch_share);
    return mot_parts_ratio(&d);
}

void mot_say_remedy(struct mot_words *w, const struct mot_facts *f)
{
    double rate = f->e->optim.lr, suits = mot_suiting_rate(f);
    char amount[48];
    const char *by = f->o->ended_by ? f->o->ended_by : "";
    bool stop = strcmp(by, "updates") == 0 || strcmp(by, "epochs") == 0 || strcmp(by, "time") == 0;
    if (rate > 1.5 * suits && f->stale >= 1)
        mot_say(w,
            "The learning rate, %.3g, is probably too large for gradients that are %.1f updates old: try "
            "`--optimizer-lr %s`. ",
            rate, f->stale, mot_rate_words(suits).text);
    else if (rate > suits && loss_of(f) > ABOVE_CHANCE * f->o->chance.loss)
        mot_say(w,
            "Its %s loss is %.3g, where guessing would give %.3g: the learning rate, %.6g, is probably too "
            "large. Try `--optimizer-lr %s`. ",
            f->o->chance.tested ? "test" : "training", loss_of(f), f->o->chance.loss, rate,
            mot_rate_words(fmin(suits, rate / 4)).text);
    else if (f->o->last.updates < FEW_UPDATES && stop && !f->o->stuck_by)
        mot_say(w, "It made only %s: let it make more (`--stop-%s`). ",
            mot_updates_text(f->o->last.updates).text, by);
    else if (rate < suits / 4)
        mot_say(w, "The learning rate, %.3g, is small: try `--optimizer-lr %s`. ", rate,
            mot_rate_words(suits).text);
    else if (parts_apart(f) >= SKEWED)
        mot_say(w,
            "The workers' parts differ by %s a batch's noise, so what one learns another unlearns: try parts "
            "that are alike (`--partition stratified`), or a smaller rate (`--optimizer-lr %s`). ",
            mot_parts_ratio_text(parts_apart(f), amount, sizeof amount), mot_rate_words(rate / 4).text);
    else if (rate > 0)
        mot_say(w, "Try a smaller learning rate (`--optimizer-lr %s`), or let `motley tune` find one. ",
            mot_rate_words(rate / 4).text);
}

void mot_say_diverged(struct mot_words *w, const struct mot_facts *f)
{
    double rate = f->e->optim.lr, suits = mot_suiting_rate(f);
    if (f->e->optim.lr > 0)
        mot_say(w, "Try a smaller learning rate: `--optimizer-lr %s`",
            mot_rate_words(fmin(suits, rate / 4)).text);
    else mot_say(w, "Try a smaller learning rate (`--optimizer-lr`)");
    bool warms = f->e->schedule.warmup > 0, clips = f->e->optim.clip > 0;
    if (!warms) mot_say(w, "%s a warm-up (`--optimizer-schedule-warmup 100`)", clips ? " or" : ",");
    if (!clips) mot_say(w, "%s clipping (`--optimizer-clip 1`)", warms ? " or" : ", or");
    mot_say(w, ". ");
    if (f->stale > 1)
        mot_say(w,
            "Gradients were %.1f updates old on average, so this method needs a smaller rate than a "
            "synchronous one. ",
            f->stale);
}
