/* verdict.c -- what held a run back, in words, and what to try.
 *
 * Everything is read off the tallies: for each node the time it computed, the time a message from or to it
 * was in flight, and the time with neither. The sentences say, in this order: that it learned nothing, if
 * so; how it ended, what held it back (one cause, the first that fits), what else to know, what to try.
 * Advice never names what is already in use.
 *
 *   diverged            the loss is not a number
 *   no time             the clock did not move, or nobody finished a job
 *   slow workers        some take longer than the median, and the others wait;
 *                       or a few are faster, and wait for the rest
 *   network             messages in flight for much of the time: an end that
 *                       all share (incast), a thin link, latency, or all links
 *   waiting             nobody is slow on average, but rounds wait for the last
 *   compute             none of these: the workers computed */
#include "report/verdict.h"

#include "base/memory.h"
#include "base/words.h"
#include "math/optim.h"
#include "report/tally.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_FACTOR 1.25   /* a job this many times the median's makes a worker slow */
#define LATE_SHARE 0.02    /* of gradients dropped: from here on, worth a sentence */
#define MANY_LATE 0.20     /* so many that a round should wait for more */
#define MANY_DEADLINES 0.5 /* rounds that close at the deadline */
#define NAMED_MOST 3       /* workers named one by one */

void mot_say(struct mot_words *w, const char *format, ...)
{
    char piece[1024];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(piece, sizeof piece, format, list);
    va_end(list);
    size_t length = n < 0 ? 0 : (size_t)n < sizeof piece ? (size_t)n : sizeof piece - 1;
    if (w->used + length + 1 > w->size) {
        w->size = 2 * (w->used + length + 1);
        w->text = mot_grow(w->text, w->size, 1);
    }
    memcpy(w->text + w->used, piece, length);
    w->used += length;
    w->text[w->used] = '\0';
}

double mot_percent(double share) { return floor(100 * share + 0.5); }

/* ---- Gathering ------------------------------------------------------------- */

double mot_share_of(mot_time part, const struct mot_node_tally *t)
{
    double sum = (double)t->compute + (double)t->send + (double)t->wait;
    return sum > 0 ? (double)part / sum : 0;
}

static double compute_share(const struct mot_node_tally *t) { return mot_share_of(t->compute, t); }

/* A lower bound for seconds per job: the time computed includes the job that the end of the run cut short. */
static double shortest_job(const struct mot_facts *f, uint32_t i)
{
    return (double)f->o->node[i].compute / 1e9 / (mot_whole_jobs(f->e, f->o, i) + 1);
}

/* A worker is slow from this multiple of the median on: if times are random, few jobs say little. */
static double slow_from(const struct mot_facts *f, uint32_t i)
{
    const struct mot_cluster *c = f->e->cluster;
    if (!c || i >= c->workers) return SLOW_FACTOR;
    const struct mot_machine *m = &c->machine[i];
    const struct mot_law *law = m->has_job_time ? &m->job_time : &m->jitter;
    double jobs = (double)f->o->node[i].jobs;
    if (m->straggle.kind == MOT_STRAGGLE_MARKOV) {
        /* A job is much like the previous one: only this many of `jobs` say something new. */
        double alike = m->straggle.stay_slow + m->straggle.stay_fast - 1;
        return SLOW_FACTOR + 2 / sqrt(alike < 1 ? jobs * (1 - alike) / (1 + alike) : 1);
    }
    bool random = law->kind != MOT_LAW_FIXED || m->straggle.kind != MOT_STRAGGLE_NONE;
    return SLOW_FACTOR + (random ? 1 / sqrt(jobs) : 0);
}

static void gather_slow(struct mot_facts *f)
{
    double *jobs = mot_new(f->n ? f->n : 1, sizeof *jobs);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct mot_node_tally *t = &f->o->node[i];
        f->job[i] = mot_job_seconds(f->e, f->o, i);
        jobs[i] = (double)t->jobs;
        if (f->job[i] < f->job[f->fastest] || isnan(f->job[f->fastest])) f->fastest = i;
    }
    f->job_median = mot_median(f->job, f->n);
    double others = 0, count = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        f->slow[i] = f->job_median > 0 && f->job[i] >= slow_from(f, i) * f->job_median &&
            shortest_job(f, i) > f->job_median;
        if (f->slow[i] && (f->slow_count++ == 0 || f->job[i] > f->job[f->slowest])) f->slowest = i;
        if (!f->slow[i]) others += compute_share(&f->o->node[i]), count++;
    }
    if (f->slow_count) {
        f->slow_factor = f->job[f->slowest] / f->job_median;
        f->waited_for_slow = compute_share(&f->o->node[f->slowest]) - (count > 0 ? others / count : 0);
        f->in_step = jobs[f->slowest] >= 0.75 * mot_median(jobs, f->n);
        /* Out of step, a job was probably half done when the run ended. */
        if (!f->in_step && jobs[f->slowest] < 10)
            f->slow_factor *= jobs[f->slowest] / (jobs[f->slowest] + 0.5);
    }
    free(jobs);
}

static void gather_critical(struct mot_facts *f)
{
    if (f->n < 2) return;
    for (uint32_t i = 1; i < f->n; i++)
        if (f->o->node[i].wait < f->o->node[f->critical].wait) f->critical = i;
    const struct mot_node_tally *t = &f->o->node[f->critical];
    double others = (f->wait * f->n - mot_share_of(t->wait, t)) / (f->n - 1);
    f->critical_send = mot_share_of(t->send, t);
    f->waited_for_critical = others - mot_share_of(t->wait, t);
}

static void gather_late(struct mot_facts *f)
{
    const struct mot_note_tally *late = mot_note_find(f->o, "late");
    double used = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct mot_node_tally *t = &f->o->node[i];
        used += (double)t->updates;
        /* a report of several local steps is as many jobs */
        f->lost[i] = t->jobs > t->updates && !f->e->traits.local ? (double)(t->jobs - t->updates) : 0;
    }
    if (!late || late->count == 0) return;
    f->late = (double)late->count;
    f->late_share = f->late / (f->late + used);
}

static void gather(struct mot_facts *f)
{
    f->n = f->o->workers;
    f->time = (double)f->o->last.now / 1e9;
    f->job = mot_new(f->n ? f->n : 1, sizeof *f->job);
    f->slow = mot_new(f->n ? f->n : 1, sizeof *f->slow);
    f->lost = mot_new(f->n ? f->n : 1, sizeof *f->lost);
    gather_slow(f);
    double all = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct mot_node_tally *t = &f->o->node[i];
        if (t->compute + t->send + t->wait == 0) continue;
        all++;
        f->compute += mot_share_of(t->compute, t);
        f->send += mot_share_of(t->send, t);
        f->wait += mot_share_of(t->wait, t);
    }
    if (all > 0) f->compute /= all, f->send /= all, f->wait /= all;
    gather_critical(f);
    gather_late(f);
    const struct mot_note_tally *stale = mot_note_find(f->o, "staleness");
    f->stale = stale && stale->count ? stale->sum / (double)stale->count : NAN;
    f->stale_most = stale && stale->count ? stale->max : NAN;
    f->learned = mot_learned(f->e, f->o);
    f->timed = all > 0;
}

const char *mot_advice(const struct mot_facts *f, enum mot_situation_kind kind, uint32_t rest, char *into)
{
    const struct mot_method *m = f->e->method;
    into[0] = '\0';
    if (m && m->advise)
        m->advise(f->e->method_conf,
            &(struct mot_situation){ .kind = kind, .workers = f->n, .rest = rest, .elastic = f->e->elastic },
            into, MOT_ADVICE);
    return into;
}

/* Whole epochs take as long, and as many messages, whatever the batch. */
bool mot_batches_can_grow(const struct mot_facts *f) { return !f->e->batch_full && f->e->traits.passes == 0; }

/* "worker 7 (edge)", "workers 6 (edge) and 7 (edge)", "workers 3, 4, 5 and 9 more". */
void mot_say_workers(struct mot_words *w, const struct mot_facts *f, const bool *chosen, uint32_t count)
{
    char label[160];
    uint32_t said = 0;
    mot_say(w, count == 1 ? "worker " : "workers ");
    for (uint32_t i = 0; i < f->n && said < count && said < NAMED_MOST; i++) {
        if (!chosen[i]) continue;
        mot_node_label(f->e, f->o, i, label, sizeof label);
        if (said) mot_say(w, said + 1 == count ? " and " : ", ");
        mot_say(w, "%s", label + strlen("worker "));
        said++;
    }
    if (said < count) mot_say(w, " and %u more", count - said);
}

/* ---- What held it back ------------------------------------------------------- */

/* The batch with which the worker's job would take as long as the median's; 0: unknown. */
static uint32_t fitting_batch(const struct mot_facts *f, uint32_t i)
{
    const struct mot_experiment *e = f->e;
    if (e->batch_full || !e->batch || i >= e->workers || !(f->job[i] > 0)) return 0;
    if (e->shared_parts || e->traits.passes > 0) return 0; /* what a worker computes is not its batch */
    const struct mot_machine *m = e->cluster && i < e->cluster->workers ? &e->cluster->machine[i] : NULL;
    /* the batch does not matter */
    if (m && mot_machine_timed(m)) return 0;
    double ratio = f->job_median / f->job[i], fixed = m ? (double)m->fixed / 1e9 : 0;
    if (ratio < SLOW_FACTOR && ratio > 1 / SLOW_FACTOR) return e->batch[i];
    if (fixed >= f->job_median || fixed >= f->job[i]) return 0;
    double fitting = floor(e->batch[i] * (f->job_median - fixed) / (f->job[i] - fixed) + 0.5);
    return fitting < 1 ? 1 : fitting < 1e6 ? (uint32_t)fitting : 0;
}

/* "Try", the advice, and batches that fit the speeds, if there are any. `who` is the worker that matters
 * most. */
static void say_try(struct mot_words *w, const struct mot_facts *f, const char *advice, uint32_t who)
{
    bool fits = fitting_batch(f, who) != f->e->batch[who];
    for (uint32_t i = 0; i < f->n; i++) fits = fits && fitting_batch(f, i) != 0;
    if (!*advice && !fits) return;
    mot_say(w, "Try %s%s", advice, *advice && fits ? ", or " : "");
    if (fits && f->n > 16) {
        mot_say(w, "a batch that fits the speed (about %u instead of %u for worker %u)",
            fitting_batch(f, who), f->e->batch[who], who);
    } else if (fits) {
        mot_say(w, "batches that fit the speeds: `batch: [");
        for (uint32_t i = 0; i < f->n; i++) mot_say(w, i ? ", %u" : "%u", fitting_batch(f, i));
        mot_say(w, "]`");
    }
    mot_say(w, ". ");
}

struct mot_figure_text mot_seconds_words(double seconds)
{
    struct mot_figure_text t;
    mot_show_time(seconds >= 0 ? (uint64_t)(seconds * 1e9 + 0.5) : UINT64_MAX, t.text, sizeof t.text);
    return t;
}

struct mot_figure_text mot_rate_words(double rate)
{
    struct mot_figure_text t;
    snprintf(t.text, sizeof t.text, "%.1e", rate);
    snprintf(t.text, sizeof t.text, "%g", strtod(t.text, NULL));
    return t;
}

static void say_slow_workers(struct mot_words *w, const struct mot_facts *f)
{
    const char *it = f->slow_count == 1 ? "it" : "them";
    mot_say(w, "Held back by ");
    mot_say_workers(w, f, f->slow, f->slow_count);
    mot_say(w,
        ": a job takes %s%.1f times the median's (%s against %s), and the other%s waited %.0f %% of "
        "the time for %s. ",
        f->slow_count > 1 ? "up to " : "", f->slow_factor, mot_seconds_words(f->job[f->slowest]).text,
        mot_seconds_words(f->job_median).text, f->n - f->slow_count == 1 ? "" : "s",
        mot_percent(f->waited_for_slow), it);
    char way[MOT_ADVICE], advice[MOT_ADVICE + 32] = "";
    if (*mot_advice(f, MOT_WHEN_WAITING, f->n - f->slow_count, way))
        snprintf(advice, sizeof advice, "not to wait for %s (%s)", it, way);
    say_try(w, f, advice, f->slowest);
}

/* Most workers are alike, and a few faster ones wait for the rest. */
static bool say_fast_workers(struct mot_words *w, const struct mot_facts *f)
{
    if (f->slow_count || f->n < 2 || !(f->job[f->fastest] * SLOW_FACTOR <= f->job_median)) return false;
    double idle = 1 - compute_share(&f->o->node[f->fastest]);
    if (idle < 2 * WAIT_SHARE) return false;
    char label[160];
    mot_node_label(f->e, f->o, f->fastest, label, sizeof label);
    mot_say(w,
        "Held back by uneven speeds: a job of %s takes %.2f of the median's time (%s against %s), "
        "and it computed only %.0f %% of the time. ",
        label, f->job[f->fastest] / f->job_median, mot_seconds_words(f->job[f->fastest]).text,
        mot_seconds_words(f->job_median).text, mot_percent(1 - idle));
    char advice[MOT_ADVICE];
    say_try(w, f, mot_advice(f, MOT_WHEN_IDLE, 0, advice), f->fastest);
    return true;
}

/* Rounds that stay open until their deadline, for gradients that come even later. */
static bool say_deadlines(struct mot_words *w, const struct mot_facts *f)
{
    const struct mot_note_tally *deadlines = mot_note_find(f->o, "deadlines");
    double rounds = (double)f->o->last.updates;
    if (!deadlines || !((double)deadlines->count >= MANY_DEADLINES * rounds)) return false;
    mot_say(w, "Held back by waiting: %.0f %% of the rounds stayed open until their deadline",
        mot_percent(rounds > 0 ? fmin(1, (double)deadlines->count / rounds) : 1));
    if (f->slow_count) {
        mot_say(w, " for ");
        mot_say_workers(w, f, f->slow, f->slow_count);
        mot_say(w, ", whose jobs take %s%.1f times the median's", f->slow_count > 1 ? "up to " : "",
            f->slow_factor);
    }
    mot_say(w, ", and the workers waited %.0f %% of the time. ", mot_percent(f->wait));
    bool shorter = f->slow_count && f->n - f->slow_count < f->e->traits.round;
    char advice[MOT_ADVICE];
    if (*mot_advice(f, MOT_WHEN_OVERDUE, shorter ? f->n - f->slow_count : 0, advice))
        mot_say(w, "Try %s. ", advice);
    return true;
}

static void say_waiting(struct mot_words *w, const struct mot_facts *f)
{
    if (f->e->traits.round == 0 || f->n == 1) {
        mot_say(w,
            "The workers computed %.0f %% of the time, waited for messages %.0f %% and had nothing to do "
            "%.0f %%. ",
            mot_percent(f->compute), mot_percent(f->send), mot_percent(f->wait));
        return;
    }
    if (say_deadlines(w, f)) return;
    uint32_t k = f->e->traits.round, fewer = f->late_share > MANY_LATE ? 0 : k - (k + 7) / 8;
    mot_say(w,
        "Held back by waiting: the workers that rounds wait for are equally fast on average, but each round "
        "waits for the slowest, and the workers waited %.0f %% of the time. ",
        mot_percent(f->wait));
    char advice[MOT_ADVICE];
    if (*mot_advice(f, MOT_WHEN_WAITING, fewer, advice))
        mot_say(w, fewer ? "Try not to wait for the last (%s). " : "Try %s. ", advice);
}

/* Workers whose messages leave them little time to compute, though nobody waits for them. */
static bool say_starved(struct mot_words *w, const struct mot_facts *f)
{
    bool *starved = mot_new(f->n, sizeof *starved);
    uint32_t count = 0;
    double compute = 0, send = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct mot_node_tally *t = &f->o->node[i];
        starved[i] = compute_share(t) < f->compute / 2 && mot_share_of(t->send, t) >= 0.5;
        if (starved[i]) count++, compute += compute_share(t), send += mot_share_of(t->send, t);
    }
    if (count) {
        mot_say(w, ", but ");
        mot_say_workers(w, f, starved, count);
        mot_say(w, " only %.0f %%, with messages in flight for %.0f %% of the time",
            mot_percent(compute / count), mot_percent(send / count));
    }
    free(starved);
    return count > 0;
}

double mot_suiting_rate(const struct mot_facts *f)
{
    if (!f->e->optimizer) return NAN;
    return mot_optim_rate(f->e->optimizer, &f->e->optim, isnan(f->stale) ? 0 : f->stale);
}

static bool rate_is_large(const struct mot_facts *f)
{
    return f->stale >= 1 && f->e->optim.lr > 2 * mot_suiting_rate(f);
}

/* More workers make gradients staler, and learning nothing faster is no better. */
static bool may_grow(const struct mot_facts *f)
{
    return f->learned != MOT_LEARNED_NOTHING && !rate_is_large(f);
}

static void say_compute(struct mot_words *w, const struct mot_facts *f)
{
    if (f->n == 1) {
        mot_say(w, "One worker, which computed %.0f %% of the time. ", mot_percent(f->compute));
        if (may_grow(f)) mot_say(w, "Try more workers (`--workers 4`) or a faster one. ");
        return;
    }
    mot_say(w, "Bound by computing: the workers computed %.0f %% of the time", mot_percent(f->compute));
    bool starved = say_starved(w, f);
    if (f->slow_count) {
        mot_say(w, "; ");
        mot_say_workers(w, f, f->slow, f->slow_count);
        mot_say(w, " took %s%.1f times the median for a job, but the others did not wait for %s. ",
            f->slow_count > 1 ? "up to " : "", f->slow_factor, f->slow_count == 1 ? "it" : "them");
    } else {
        bool balanced = !starved && !(f->job[f->fastest] * SLOW_FACTOR <= f->job_median);
        mot_say(w, "%s (a job takes %s). ", balanced ? " and are balanced" : "",
            mot_seconds_words(f->job_median).text);
        if (may_grow(f)) mot_say(w, "Try more or faster workers. ");
    }
}

static void say_cause(struct mot_words *w, const struct mot_facts *f)
{
    if (f->e->traits.drawn) {
        mot_say_drawn(w, f);
        return;
    }
    /* When the slowest does not compute, it is not its own fault but the network's, or the server's. */
    double beside = f->slow_count ? 1 - compute_share(&f->o->node[f->slowest]) : 1;
    bool network = (f->send >= SEND_SHARE && f->send >= f->wait) ||
        (f->critical_send >= 0.5 && f->waited_for_critical >= WAIT_SHARE);
    /* a round cannot close without the slow workers, or they get as many jobs as the others */
    bool awaited = f->in_step && (f->e->traits.in_turn || f->n - f->slow_count < f->e->traits.round);
    if (awaited && f->waited_for_slow >= WAIT_SHARE && (f->waited_for_slow >= beside || !network)) {
        say_slow_workers(w, f);
    } else if (network) {
        if (!mot_say_incast(w, f) && !mot_say_thin(w, f) && !mot_say_far(w, f)) mot_say_links(w, f);
    } else if (f->wait >= WAIT_SHARE) {
        if (!say_fast_workers(w, f)) say_waiting(w, f);
    } else {
        say_compute(w, f);
    }
}

/* ---- What else to know -------------------------------------------------------- */

/* Whose gradients were dropped, if it is a few workers' and not everyone's now and then. */
static void say_losers(struct mot_words *w, const struct mot_facts *f)
{
    bool *loser = mot_new(f->n ? f->n : 1, sizeof *loser);
    double most = 0, all = 0, theirs = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        all += f->lost[i];
        if (f->lost[i] > most) most = f->lost[i];
    }
    for (uint32_t i = 0; i < f->n; i++) {
        loser[i] = most > 0 && f->lost[i] >= most / 2;
        if (loser[i]) count++, theirs += f->lost[i];
    }
    if (count && 2 * count <= f->n && theirs > 0.6 * all) {
        mot_say(w, ", most of them from ");
        mot_say_workers(w, f, loser, count);
        mot_say(w, ", whose data counts for less");
    }
    free(loser);
}

static void say_late(struct mot_words *w, const struct mot_facts *f)
{
    if (f->late_share < LATE_SHARE) return;
    mot_say(w, "%.0f gradients (%.0f %%) came late and were dropped", f->late, mot_percent(f->late_share));
    say_losers(w, f);
    mot_say(w, ". ");
    /* If rounds already wait too long, a larger k would make it worse. */
    uint32_t k = f->e->traits.round;
    bool larger = f->late_share > MANY_LATE && k < f->n && f->wait < WAIT_SHARE;
    char advice[MOT_ADVICE];
    if (*mot_advice(f, MOT_WHEN_LATE, larger ? k + 1 : 0, advice)) mot_say(w, "%s. ", advice);
}

/* Staleness among equal workers; the method's own figure may be that of the oldest gradient it uses. */
static double usual_delay(const struct mot_facts *f)
{
    double most = (double)f->n - 1;
    return f->e->traits.delay < most ? f->e->traits.delay : most;
}

static void say_stale(struct mot_words *w, const struct mot_facts *f)
{
    if (isnan(f->stale) || f->n == 0 || f->learned == MOT_LEARNED_NOTHING) return; /* already said */
    double suits = mot_suiting_rate(f), rate = f->e->optim.lr;
    bool large = rate_is_large(f);
    /* With n equal workers a gradient is at most about n - 1 updates old: only more is news. */
    bool old = f->stale > 1.5 * f->n || f->stale_most > 3.0 * f->n;
    if (!large && !old) return;
    mot_say(w, "Gradients were %.1f updates old on average, %.0f at most", f->stale, f->stale_most);
    if (old) mot_say(w, " (about %.0f is what %u equal workers give)", usual_delay(f), f->n);
    mot_say(w, "%s: if the loss is unsteady, try a smaller rate (`--optimizer-lr %s`). ",
        large ? ", for which the rate is large" : "", mot_rate_words(large ? suits : rate / 2).text);
}

/* Drops the words' trailing space; frees the facts. */
static char *finish(struct mot_facts *f, struct mot_words *w)
{
    if (w->used && w->text[w->used - 1] == ' ') w->text[w->used - 1] = '\0';
    free(f->job);
    free(f->slow);
    free(f->lost);
    return w->text;
}

char *mot_verdict(const struct mot_experiment *e, const struct mot_outcome *o)
{
    struct mot_facts f = { .e = e, .o = o };
    struct mot_words w = { 0 };
    gather(&f);
    if (f.learned == MOT_LEARNED_NOTHING && o->status == MOT_OK) mot_say_unlearned(&w, &f);
    mot_say_end(&w, &f);
    mot_say_faults(&w, &f);
    mot_say_code(&w, &f);
    mot_say_mixed(&w, &f);
    if (o->status == MOT_EDIVERGED) {
        mot_say_diverged(&w, &f);
    } else if (f.time > 0 && !f.timed) {
        mot_say(&w, "No node's time was measured in this run, so what held it back is unknown. ");
    } else if (f.time <= 0 && f.job_median >= 0) {
        mot_say(&w,
            "The run's clock did not move: jobs and messages take no time in this cluster, so nothing held "
            "the run back. ");
    } else if (f.n == 0 || f.time <= 0 || isnan(f.job_median)) {
        mot_say(&w, "No worker finished a job before the end, so what held the run back is unknown. ");
    } else {
        if (!mot_say_starved(&w, &f)) say_cause(&w, &f);
        mot_say_streams(&w, &f);
        say_late(&w, &f);
        say_stale(&w, &f);
        mot_say_parts(&w, &f);
    }
    return finish(&f, &w);
}

char *mot_remedy(const struct mot_experiment *e, const struct mot_outcome *o)
{
    struct mot_facts f = { .e = e, .o = o };
    struct mot_words w = { 0 };
    if (mot_learned(e, o) != MOT_LEARNED_NOTHING || o->status != MOT_OK) return NULL;
    gather(&f);
    mot_say_remedy(&w, &f);
    return finish(&f, &w);
}
