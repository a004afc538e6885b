/* verdict.c -- what held a run back, in words, and what to try.
 *
 * Everything is read off the tallies: of each node the time it computed, the
 * time a message of its own or to it was under way, and the time it had neither.
 * The sentences come in the order: how it ended, what held it back (one cause,
 * the first that fits), what else to know, what to try.
 *
 *   diverged            the loss is not a number
 *   no time             the clock did not move, or nobody finished a job
 *   slow workers        some take longer than the median, and the others wait;
 *                       or a few are faster, and wait for the rest
 *   network             messages under way for much of the time: an end that
 *                       all share (incast), a thin link, latency, or all links
 *   waiting             nobody is slow on average, but rounds wait for the last
 *   compute             none of these: the workers computed */
#include "report/report.h"

#include "base/memory.h"
#include "base/options.h"
#include "base/words.h"
#include "report/tally.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_FACTOR 1.25   /* a job this many times the median's makes a worker slow */
#define WAIT_SHARE 0.10    /* from here on the others' waiting is worth a sentence */
#define SEND_SHARE 0.25    /* from here on the network is */
#define LATE_SHARE 0.02    /* dropped gradients */
#define MANY_LATE 0.20     /* so many of them that a round should rather wait for more */
#define MANY_DEADLINES 0.5 /* rounds that close at the deadline */
#define BUSY_LINK 0.60     /* a link in use this much holds others up */
#define THIN_LINK 0.50     /* of the median's bandwidth */
#define FAR_LATENCY 4.0    /* times the median's latency */
#define NAMED_MOST 3       /* workers named one by one */

struct facts {
    const struct mot_experiment *e;
    const struct mot_outcome *o;
    uint32_t n;                        /* workers */
    double time;                       /* seconds */
    double *job;                       /* seconds a job, NaN without one */
    bool *slow;
    double job_median, slow_factor;    /* the slowest against the median */
    uint32_t slow_count, slowest, fastest;
    double compute, send, wait;        /* mean shares over the workers */
    uint32_t critical;                 /* the worker that waited least: the others waited for it, if for anyone */
    double critical_send, waited_for_critical; /* its share of messages under way; how much more the others waited */
    double waited_for_slow;            /* by how much more of the time the slowest computed than those not slow */
    bool in_step;                      /* the slow did about as many jobs as the others: they go in rounds */
    double *lost, late, late_share;    /* gradients dropped: of each worker; of all; of all that were computed */
    const char *method;
};

struct words { char *text; size_t used, size; };

__attribute__((format(printf, 2, 3))) static void say(struct words *w, const char *format, ...)
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

static double percent(double share)
{
    return floor(100 * share + 0.5);
}

/* ---- Gathering ------------------------------------------------------------- */

static double share(mot_time part, const struct mot_node_tally *t)
{
    double sum = (double)t->compute + (double)t->send + (double)t->wait;
    return sum > 0 ? (double)part / sum : 0;
}

static double compute_share(const struct mot_node_tally *t)
{
    return share(t->compute, t);
}

/* Seconds a job at the least: the time computed includes the job that the end of the run cut short. */
static double shortest_job(const struct mot_node_tally *t)
{
    return (double)t->compute / 1e9 / ((double)t->jobs + 1);
}

/* From which multiple of the median on a worker is slow: where times are drawn at random, few jobs say little. */
static double slow_from(const struct facts *f, uint32_t i)
{
    const struct mot_cluster *c = f->e->cluster;
    if (!c || i >= c->workers) return SLOW_FACTOR;
    const struct mot_machine *m = &c->machine[i];
    const struct mot_law *law = m->has_job_time ? &m->job_time : &m->jitter;
    double jobs = (double)f->o->node[i].jobs;
    if (m->straggle.kind == MOT_STRAGGLE_MARKOV) {
        /* A job is much like the one before it: of `jobs` only so many say something new. */
        double alike = m->straggle.stay_slow + m->straggle.stay_fast - 1;
        return SLOW_FACTOR + 2 / sqrt(alike < 1 ? jobs * (1 - alike) / (1 + alike) : 1);
    }
    bool random = law->kind != MOT_LAW_FIXED || m->straggle.kind != MOT_STRAGGLE_NONE;
    return SLOW_FACTOR + (random ? 1 / sqrt(jobs) : 0);
}

static void gather_slow(struct facts *f)
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
        f->slow[i] = f->job_median > 0 && f->job[i] >= slow_from(f, i) * f->job_median
                     && shortest_job(&f->o->node[i]) > f->job_median;
        if (f->slow[i] && (f->slow_count++ == 0 || f->job[i] > f->job[f->slowest])) f->slowest = i;
        if (!f->slow[i]) others += compute_share(&f->o->node[i]), count++;
    }
    if (f->slow_count) {
        f->slow_factor = f->job[f->slowest] / f->job_median;
        f->waited_for_slow = compute_share(&f->o->node[f->slowest]) - (count > 0 ? others / count : 0);
        f->in_step = jobs[f->slowest] >= 0.75 * mot_median(jobs, f->n);
        /* Out of step, a job was probably half done when the run ended. */
        if (!f->in_step && jobs[f->slowest] < 10) f->slow_factor *= jobs[f->slowest] / (jobs[f->slowest] + 0.5);
    }
    free(jobs);
}

static void gather_critical(struct facts *f)
{
    if (f->n < 2) return;
    for (uint32_t i = 1; i < f->n; i++)
        if (f->o->node[i].wait < f->o->node[f->critical].wait) f->critical = i;
    const struct mot_node_tally *t = &f->o->node[f->critical];
    double others = (f->wait * f->n - share(t->wait, t)) / (f->n - 1);
    f->critical_send = share(t->send, t);
    f->waited_for_critical = others - share(t->wait, t);
}

static void gather_late(struct facts *f)
{
    const struct mot_note_tally *late = mot_note_find(f->o, "late");
    double used = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct mot_node_tally *t = &f->o->node[i];
        used += (double)t->updates;
        f->lost[i] = t->jobs > t->updates ? (double)(t->jobs - t->updates) : 0;
    }
    if (!late || late->count == 0) return;
    f->late = (double)late->count;
    f->late_share = f->late / (f->late + used);
}

static void gather(struct facts *f)
{
    f->n = f->o->workers;
    f->time = (double)f->o->last.now / 1e9;
    f->method = f->e->method ? f->e->method->name : "";
    f->job = mot_new(f->n ? f->n : 1, sizeof *f->job);
    f->slow = mot_new(f->n ? f->n : 1, sizeof *f->slow);
    f->lost = mot_new(f->n ? f->n : 1, sizeof *f->lost);
    gather_slow(f);
    double all = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct mot_node_tally *t = &f->o->node[i];
        if (t->compute + t->send + t->wait == 0) continue;
        all++;
        f->compute += share(t->compute, t);
        f->send += share(t->send, t);
        f->wait += share(t->wait, t);
    }
    if (all > 0) f->compute /= all, f->send /= all, f->wait /= all;
    gather_critical(f);
    gather_late(f);
}

/* The value of the method's whole-number option, if it has such a one and it is not a word. */
static bool method_uint(const struct facts *f, const char *key, uint64_t *out)
{
    if (!f->e->method || !f->e->method->options || !f->e->method_conf) return false;
    const struct mot_option *option = mot_option_find(f->e->method->options, key);
    if (!option || option->type != MOT_OPT_UINT) return false;
    memcpy(out, (const char *)f->e->method_conf + option->offset, sizeof *out);
    return *out != MOT_WORD_UINT;
}

/* How many gradients a round waits for. */
static uint32_t round_of(const struct facts *f)
{
    uint64_t k;
    return method_uint(f, "k", &k) && k > 0 && k < f->n ? (uint32_t)k : f->n;
}

static bool method_is(const struct facts *f, const char *name)
{
    return strcmp(f->method, name) == 0;
}

/* "worker 7 (edge)", "workers 6 (edge) and 7 (edge)", "workers 3, 4, 5 and 9 more". */
static void say_workers(struct words *w, const struct facts *f, const bool *chosen, uint32_t count)
{
    char label[160];
    uint32_t said = 0;
    say(w, count == 1 ? "worker " : "workers ");
    for (uint32_t i = 0; i < f->n && said < count && said < NAMED_MOST; i++) {
        if (!chosen[i]) continue;
        mot_node_label(f->e, f->o, i, label, sizeof label);
        if (said) say(w, said + 1 == count ? " and " : ", ");
        say(w, "%s", label + strlen("worker "));
        said++;
    }
    if (said < count) say(w, " and %u more", count - said);
}

/* ---- How it ended ----------------------------------------------------------- */

const char *mot_lost_how(const char *by)
{
    static const struct { const char *by, *how; } ways[] = {
        { "crash", "it crashed" }, { "partition", "a partition had cut it off for cluster.faults.detect" },
        { "death", "its process ended" }, { "silence", "it gave no sign of life for too long" }, { "damage", "what came from it was damaged" },
    };
    for (size_t i = 0; i < MOT_COUNT(ways); i++)
        if (strcmp(by, ways[i].by) == 0) return ways[i].how;
    return "frames to or from it were lost too often";
}

/* "worker 3 (slow)", and what became of it. */
static void say_lost(struct words *w, const struct facts *f)
{
    const struct mot_outcome *o = f->o;
    char label[160], time[48];
    if (!o->has_peer) {
        say(w, "The run ended after %" PRIu64 " updates because a peer was lost. ", o->last.updates);
        return;
    }
    say(w, "The run ended after %" PRIu64 " updates because %s was lost", o->last.updates,
        mot_node_label(f->e, o, o->peer, label, sizeof label));
    if (o->peer_by) {
        say(w, ": %s, at %s", mot_lost_how(o->peer_by), mot_show_time(o->peer_at, time, sizeof time));
    }
    if (o->peer >= o->workers) say(w, ". Without its server nobody can go on. ");
    else if (strcmp(f->method, "allreduce") == 0) say(w, ". A sum needs everyone; `--method server` and `--method async` go on without. ");
    else say(w, ", the last one that was left. ");
}

/* Faults that a run lived through and that cost it something. */
static void say_faults(struct words *w, const struct facts *f)
{
    const struct mot_fault_tally *t = &f->o->faults;
    if (!f->o->has_faults) return;
    if (t->resent && t->dropped + t->corrupted + t->cut)
        say(w, "Faults of the network cost %" PRIu64 " resends (%" PRIu64 " frames dropped, %" PRIu64 " corrupted, %" PRIu64
            " cut off by partitions). ", t->resent, t->dropped, t->corrupted, t->cut);
    if (t->crashes || t->given_up)
        say(w, "%" PRIu64 " crash%s, %" PRIu64 " given up, %" PRIu64 " back. ", t->crashes, t->crashes == 1 ? "" : "es", t->given_up, t->restarts);
    if (t->stalls) say(w, "%" PRIu64 " stall%s. ", t->stalls, t->stalls == 1 ? "" : "s");
}

static void say_end(struct words *w, const struct facts *f)
{
    const struct mot_experiment *e = f->e;
    const struct mot_outcome *o = f->o;
    const char *by = o->ended_by ? o->ended_by : "";
    if (o->status == MOT_EDIVERGED) {
        say(w, "The run diverged: its loss was no longer a number after %" PRIu64 " updates. ", o->last.updates);
        return;
    }
    if (o->status == MOT_EINTERRUPTED || strcmp(by, "interrupted") == 0)
        say(w, "The run was interrupted after %" PRIu64 " updates. ", o->last.updates);
    if (o->status == MOT_EPEER) say_lost(w, f);
    if (strcmp(by, "data") == 0)
        say(w, "The run ended because the workers ran out of data: sampler.passes allows no more. ");
    if (e->stop.target == MOT_TARGET_NONE || o->target.reached) return;
    double at = mot_target_figure(e->stop.target, &o->last.score);
    say(w, "The target, %s %.4g, was not reached", mot_target_name(e->stop.target), e->stop.value);
    if (isfinite(at)) say(w, ": it stood at %.4g", at);
    if (strcmp(by, "updates") == 0 || strcmp(by, "epochs") == 0 || strcmp(by, "time") == 0)
        say(w, " when stop.%s ended the run", by);
    say(w, ". ");
}

/* ---- What held it back ------------------------------------------------------- */

/* The batch with which the worker's job would last as long as the median's; 0 where that cannot be said. */
static uint32_t fitting_batch(const struct facts *f, uint32_t i)
{
    const struct mot_experiment *e = f->e;
    if (e->batch_full || !e->batch || i >= e->workers || !(f->job[i] > 0)) return 0;
    const struct mot_machine *m = e->cluster && i < e->cluster->workers ? &e->cluster->machine[i] : NULL;
    if (m && (m->has_job_time || m->straggle.kind == MOT_STRAGGLE_TRACE)) return 0; /* the batch decides nothing */
    double ratio = f->job_median / f->job[i], fixed = m ? (double)m->fixed / 1e9 : 0;
    if (ratio < SLOW_FACTOR && ratio > 1 / SLOW_FACTOR) return e->batch[i];
    if (fixed >= f->job_median || fixed >= f->job[i]) return 0;
    double fitting = floor(e->batch[i] * (f->job_median - fixed) / (f->job[i] - fixed) + 0.5);
    return fitting < 1 ? 1 : fitting < 1e6 ? (uint32_t)fitting : 0;
}

/* Says batches that fit the speeds, if there are such. `who` is the worker that matters most. */
static void say_batches(struct words *w, const struct facts *f, uint32_t who, const char *lead)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (fitting_batch(f, i) == 0) return;
    if (fitting_batch(f, who) == f->e->batch[who]) return;
    if (f->n > 16) {
        say(w, "%sa batch that fits the speed (about %u instead of %u for worker %u)", lead, fitting_batch(f, who),
            f->e->batch[who], who);
        return;
    }
    say(w, "%sbatches that fit the speeds: `batch: [", lead);
    for (uint32_t i = 0; i < f->n; i++) say(w, i ? ", %u" : "%u", fitting_batch(f, i));
    say(w, "]`");
}

static void say_slow_workers(struct words *w, const struct facts *f)
{
    const char *it = f->slow_count == 1 ? "it" : "them";
    say(w, "Held back by ");
    say_workers(w, f, f->slow, f->slow_count);
    say(w, ": a job takes %s%.1f times the median's (%.3g s against %.3g s), and the other%s waited %.0f %% of "
        "the time for %s. ", f->slow_count > 1 ? "up to " : "", f->slow_factor, f->job[f->slowest], f->job_median,
        f->n - f->slow_count == 1 ? "" : "s", percent(f->waited_for_slow), it);
    uint32_t k = f->n - f->slow_count;
    if (method_is(f, "server")) say(w, "Try rounds that close without %s (`--method-k %u`), `--method async`", it, k);
    else say(w, "Try not to wait for %s (`--method server --method-k %u`, or `--method async`)", it, k);
    say_batches(w, f, f->slowest, ", or ");
    say(w, ". ");
}

/* Most are alike and a few are faster: these wait for the rest. */
static bool say_fast_workers(struct words *w, const struct facts *f)
{
    if (f->slow_count || f->n < 2 || !(f->job[f->fastest] * SLOW_FACTOR <= f->job_median)) return false;
    double idle = 1 - compute_share(&f->o->node[f->fastest]);
    if (idle < 2 * WAIT_SHARE) return false;
    char label[160];
    mot_node_label(f->e, f->o, f->fastest, label, sizeof label);
    say(w, "Held back by uneven speeds: a job of %s takes %.2f of the median's time (%.3g s against %.3g s), and it "
        "computed only %.0f %% of the time. ", label, f->job[f->fastest] / f->job_median, f->job[f->fastest],
        f->job_median, percent(1 - idle));
    say(w, "Try `--method async`");
    say_batches(w, f, f->fastest, ", or ");
    say(w, ". ");
    return true;
}

/* How much of the run a link was in use, from the bytes and the bandwidth; 0 if it is free. */
static double use_of(double bytes, double bandwidth, double time)
{
    double use = bytes / bandwidth / time;
    return isfinite(use) && use > 0 ? use : 0;
}

static bool has_links(const struct facts *f)
{
    return f->e->cluster && f->e->cluster->workers + f->e->cluster->servers >= f->n + f->o->servers;
}

/* The server's link, where all workers' messages meet. */
static bool say_incast(struct words *w, const struct facts *f)
{
    if (f->o->servers == 0 || !has_links(f)) return false;
    double in = 0, out = 0;
    for (uint32_t i = 0; i < f->n; i++) in += (double)f->o->node[i].bytes_sent;
    for (uint32_t s = f->n; s < f->n + f->o->servers; s++) out += (double)f->o->node[s].bytes_sent;
    in /= f->o->servers, out /= f->o->servers;
    const struct mot_link *link = &f->e->cluster->machine[f->n].link;
    double down_use = use_of(in, link->down, f->time), up_use = use_of(out, link->up, f->time);
    bool down = down_use >= up_use;
    double use = down ? down_use : up_use;
    if (use < BUSY_LINK) return false;
    char speed[32], label[160];
    say(w, "Held back by the network: messages were under way %.0f %% of the workers' time, and the link %s the %s "
        "(%s) was in use %.0f %% of the run. ", percent(f->send), down ? "into" : "out of",
        mot_node_label(f->e, f->o, f->n, label, sizeof label),
        mot_show_bandwidth(down ? link->down : link->up, speed, sizeof speed), percent(use < 1 ? use : 1));
    say(w, "Try more bandwidth for the server (a `server:` section in the cluster file), larger batches (fewer "
        "messages a sample), or `--method allreduce`, which has no such meeting point. ");
    return true;
}

/* By how much more of the time the others waited than those chosen. */
static double waited_for(const struct facts *f, const bool *chosen)
{
    double wait[2] = { 0, 0 }, count[2] = { 0, 0 };
    for (uint32_t i = 0; i < f->n; i++) {
        wait[chosen[i]] += share(f->o->node[i].wait, &f->o->node[i]);
        count[chosen[i]]++;
    }
    return count[0] > 0 && count[1] > 0 ? wait[0] / count[0] - wait[1] / count[1] : 0;
}

/* A worker whose link is far thinner than the others'. */
static bool say_thin(struct words *w, const struct facts *f)
{
    if (!has_links(f) || f->n < 2) return false;
    double *width = mot_new(f->n, sizeof *width);
    bool *thin = mot_new(f->n, sizeof *thin);
    uint32_t count = 0, thinnest = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct mot_link *link = &f->e->cluster->machine[i].link;
        width[i] = link->up < link->down ? link->up : link->down;
        if (width[i] < width[thinnest]) thinnest = i;
    }
    double median = mot_median(width, f->n);
    for (uint32_t i = 0; i < f->n; i++)
        if ((thin[i] = width[i] < THIN_LINK * median)) count++;
    if (count) {
        char one[32], other[32];
        say(w, "Held back by the network: messages were under way %.0f %% of the workers' time, and the link of ",
            percent(f->send));
        say_workers(w, f, thin, count);
        say(w, " is thin (%s against a median of %s)", mot_show_bandwidth(width[thinnest], one, sizeof one),
            mot_show_bandwidth(median, other, sizeof other));
        double waited = waited_for(f, thin);
        const char *it = count == 1 ? "it" : "them";
        if (waited >= WAIT_SHARE)
            say(w, "; the other%s waited %.0f %% of the time for %s", f->n - count == 1 ? "" : "s", percent(waited), it);
        say(w, ". ");
        if (f->o->servers == 0)
            say(w, "Every collective passes through %s. Try `--method async` or `--method server --method-k %u`, "
                "where only %s own messages are slow, or larger batches. ", it, f->n - count, count == 1 ? "its" : "their");
        else if (f->n - count < round_of(f))
            say(w, "Try larger batches (fewer messages a sample), or rounds that close without %s (`%s--method-k %u`). ",
                it, method_is(f, "server") ? "" : "--method server ", f->n - count);
        else
            say(w, "Try larger batches (fewer messages a sample). ");
    }
    free(width);
    free(thin);
    return count > 0;
}

/* How much of the run the worker's link was in use, the way that was in use longer. */
static double carried_by(const struct facts *f, uint32_t i)
{
    const struct mot_link *link = &f->e->cluster->machine[i].link;
    double sent = (double)f->o->node[i].bytes_sent, got = sent; /* a collective sends as much as it receives */
    if (f->o->servers) got = 0;
    for (uint32_t s = f->n; s < f->n + f->o->servers; s++) got += (double)f->o->node[s].bytes_sent / f->n;
    return fmax(use_of(sent, link->up, f->time), use_of(got, link->down, f->time));
}

/* A worker whose messages take far longer than the others', whatever their size. */
static bool say_far(struct words *w, const struct facts *f)
{
    if (!has_links(f) || f->n < 2) return false;
    double *latency = mot_new(f->n, sizeof *latency);
    bool *far = mot_new(f->n, sizeof *far);
    uint32_t count = 0, farthest = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        latency[i] = (double)f->e->cluster->machine[i].link.latency;
        if (latency[i] > latency[farthest]) farthest = i;
    }
    double median = mot_median(latency, f->n);
    for (uint32_t i = 0; i < f->n; i++)
        if ((far[i] = latency[i] > FAR_LATENCY * median)) count++;
    double waited = waited_for(f, far);
    bool named = count && waited >= WAIT_SHARE;
    if (named) {
        char one[48], other[48];
        say(w, "Held back by the network: messages to and from ");
        say_workers(w, f, far, count);
        say(w, " have a latency of %s (the median's: %s), and the other%s waited %.0f %% of the time for %s. ",
            mot_show_time((mot_time)latency[farthest], one, sizeof one), mot_show_time((mot_time)median, other, sizeof other),
            f->n - count == 1 ? "" : "s", percent(waited), count == 1 ? "it" : "them");
        if (f->n - count < round_of(f))
            say(w, "Try rounds that close without %s (`%s--method-k %u`), `--method async`, or larger batches. ",
                count == 1 ? "it" : "them", method_is(f, "server") ? "" : "--method server ", f->n - count);
        else
            say(w, "Try `--method async`, or larger batches. ");
    }
    free(latency);
    free(far);
    return named;
}

/* Neither one end nor one link: latency if the bytes alone explain little of it, else all links. */
static void say_links(struct words *w, const struct facts *f)
{
    bool collective = f->o->servers == 0 && f->n > 2, ring = f->e->sim.collective == MOT_COLLECTIVE_RING;
    double carried = 0;
    if (has_links(f)) {
        for (uint32_t i = 0; i < f->n; i++)
            carried += carried_by(f, i);
        carried /= f->n;
    }
    say(w, "Held back by the network: messages were under way %.0f %% of the workers' time (computing: %.0f %%). ",
        percent(f->send), percent(f->compute));
    if (has_links(f) && carried < f->send / 4)
        say(w, "The bytes alone would take %.0f %%: the rest is latency. Try larger batches, so that there are "
            "fewer messages a sample%s. ", percent(carried), collective && ring
            ? ", or a collective with fewer steps (`--sim-collective doubling`)" : "");
    else
        say(w, "Try larger batches (fewer messages a sample), more bandwidth, %sor a smaller model. ",
            collective && !ring ? "a collective that sends less (`--sim-collective ring`), " : "");
}

/* Rounds that stay open until their deadline, for gradients that come later still. */
static bool say_deadlines(struct words *w, const struct facts *f)
{
    const struct mot_note_tally *deadlines = mot_note_find(f->o, "deadlines");
    double rounds = (double)f->o->last.updates;
    if (!deadlines || !((double)deadlines->count >= MANY_DEADLINES * rounds)) return false;
    say(w, "Held back by waiting: %.0f %% of the rounds stayed open until their deadline",
        percent(rounds > 0 ? fmin(1, (double)deadlines->count / rounds) : 1));
    if (f->slow_count) {
        say(w, " for ");
        say_workers(w, f, f->slow, f->slow_count);
        say(w, ", whose jobs take %s%.1f times the median's", f->slow_count > 1 ? "up to " : "", f->slow_factor);
    }
    say(w, ", and the workers waited %.0f %% of the time. Try ", percent(f->wait));
    if (f->slow_count && f->n - f->slow_count < round_of(f))
        say(w, "`--method-k %u`, which closes a round without %s, ", f->n - f->slow_count, f->slow_count == 1 ? "it" : "them");
    say(w, "a shorter deadline, or `--method async`. ");
    return true;
}

static void say_waiting(struct words *w, const struct facts *f)
{
    if (method_is(f, "async") || f->n == 1) {
        say(w, "The workers computed %.0f %% of the time, waited for messages %.0f %% and had nothing to do %.0f %%. ",
            percent(f->compute), percent(f->send), percent(f->wait));
        return;
    }
    if (say_deadlines(w, f)) return;
    uint32_t k = round_of(f);
    say(w, "Held back by waiting: those it waits for are alike on average, but each round waits for the one that is last in it, "
        "and the workers waited %.0f %% of the time. ", percent(f->wait));
    if (k == 1 || f->late_share > MANY_LATE)
        say(w, "Try `--method async`, which waits for nobody. ");
    else
        say(w, "Try `%s--method-k %u`, which leaves the last out, or `--method async`. ",
            method_is(f, "server") ? "" : "--method server ", k - (k + 7) / 8);
}

/* Workers whose messages leave them little time to compute, though nobody waits for them. */
static bool say_starved(struct words *w, const struct facts *f)
{
    bool *starved = mot_new(f->n, sizeof *starved);
    uint32_t count = 0;
    double compute = 0, send = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct mot_node_tally *t = &f->o->node[i];
        starved[i] = compute_share(t) < f->compute / 2 && share(t->send, t) >= 0.5;
        if (starved[i]) count++, compute += compute_share(t), send += share(t->send, t);
    }
    if (count) {
        say(w, ", but ");
        say_workers(w, f, starved, count);
        say(w, " only %.0f %%, with messages under way for %.0f %% of the time", percent(compute / count), percent(send / count));
    }
    free(starved);
    return count > 0;
}

static void say_compute(struct words *w, const struct facts *f)
{
    if (f->n == 1) {
        say(w, "One worker, which computed %.0f %% of the time. Try more workers (`--workers 4`) or a faster one. ",
            percent(f->compute));
        return;
    }
    say(w, "Bound by computing: the workers computed %.0f %% of the time", percent(f->compute));
    bool starved = say_starved(w, f);
    if (f->slow_count) {
        say(w, "; ");
        say_workers(w, f, f->slow, f->slow_count);
        say(w, " took %s%.1f times the median for a job, but the others did not wait for %s. ",
            f->slow_count > 1 ? "up to " : "", f->slow_factor, f->slow_count == 1 ? "it" : "them");
    } else {
        bool balanced = !starved && !(f->job[f->fastest] * SLOW_FACTOR <= f->job_median);
        say(w, "%s (a job takes %.3g s). Try more or faster workers. ", balanced ? " and are balanced" : "", f->job_median);
    }
}

static void say_cause(struct words *w, const struct facts *f)
{
    /* What the slowest did not spend on computing is not its doing: the network's, or the server's. */
    double beside = f->slow_count ? 1 - compute_share(&f->o->node[f->slowest]) : 1;
    bool network = (f->send >= SEND_SHARE && f->send >= f->wait)
                   || (f->critical_send >= 0.5 && f->waited_for_critical >= WAIT_SHARE);
    bool awaited = f->in_step && f->n - f->slow_count < round_of(f); /* a round cannot close without the slow */
    if (awaited && f->waited_for_slow >= WAIT_SHARE && (f->waited_for_slow >= beside || !network)) {
        say_slow_workers(w, f);
    } else if (network) {
        if (!say_incast(w, f) && !say_thin(w, f) && !say_far(w, f)) say_links(w, f);
    } else if (f->wait >= WAIT_SHARE) {
        if (!say_fast_workers(w, f)) say_waiting(w, f);
    } else {
        say_compute(w, f);
    }
}

/* ---- What else to know -------------------------------------------------------- */

/* Whose gradients were dropped, if it is a few workers' and not everyone's now and then. */
static void say_losers(struct words *w, const struct facts *f)
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
        say(w, ", most of them from ");
        say_workers(w, f, loser, count);
        say(w, ", whose data counts for less");
    }
    free(loser);
}

static void say_late(struct words *w, const struct facts *f)
{
    if (f->late_share < LATE_SHARE) return;
    say(w, "%.0f gradients (%.0f %%) came late and were dropped", f->late, percent(f->late_share));
    say_losers(w, f);
    say(w, ". ");
    /* Where rounds wait too long already, a larger k is no advice. */
    if (f->late_share > MANY_LATE && round_of(f) < f->n && f->wait < WAIT_SHARE)
        say(w, "Try a larger k (`--method-k %u`), or `--method async`, which uses them all. ", round_of(f) + 1);
    else
        say(w, "`--method async` would use them all. ");
}

static void say_stale(struct words *w, const struct facts *f)
{
    const struct mot_note_tally *stale = mot_note_find(f->o, "staleness");
    if (!stale || stale->count == 0 || f->n == 0) return;
    double mean = stale->sum / (double)stale->count;
    /* n equal workers make a gradient about n - 1 updates old: only more than that is news. */
    if (!(mean > 1.5 * f->n || stale->max > 3.0 * f->n)) return;
    say(w, "Gradients were %.1f updates old on average, %.0f at most (about %u is what %u equal workers give): if the "
        "loss is unsteady, try a smaller rate (`--optimizer-lr %.3g`). ", mean, stale->max, f->n - 1, f->n,
        f->e->optim.lr / 2);
}

static void say_diverged(struct words *w, const struct facts *f)
{
    if (f->e->optim.lr > 0) say(w, "Try a smaller learning rate: `--optimizer-lr %.3g`", f->e->optim.lr / 4);
    else say(w, "Try a smaller learning rate (`--optimizer-lr`)");
    say(w, ", a warm-up (`--optimizer-schedule-warmup 100`), or clipping (`--optimizer-clip 1`). ");
    const struct mot_note_tally *stale = mot_note_find(f->o, "staleness");
    if (stale && stale->count && stale->sum / (double)stale->count > 1)
        say(w, "Gradients were %.1f updates old on average, which asks for a smaller rate than a synchronous method "
            "would. ", stale->sum / (double)stale->count);
}

char *mot_verdict(const struct mot_experiment *e, const struct mot_outcome *o)
{
    struct facts f = { .e = e, .o = o };
    struct words w = { 0 };
    gather(&f);
    say_end(&w, &f);
    say_faults(&w, &f);
    if (o->status == MOT_EDIVERGED) {
        say_diverged(&w, &f);
    } else if (f.time <= 0 && f.job_median >= 0) {
        say(&w, "The run's clock did not move: jobs and messages take no time in this cluster, so nothing held the run back. ");
    } else if (f.n == 0 || f.time <= 0 || isnan(f.job_median)) {
        say(&w, "No worker finished a job before the end, so nothing can be said of what held the run back. ");
    } else {
        say_cause(&w, &f);
        say_late(&w, &f);
        say_stale(&w, &f);
    }
    if (w.used && w.text[w.used - 1] == ' ') w.text[w.used - 1] = '\0';
    free(f.job);
    free(f.slow);
    free(f.lost);
    return w.text;
}
