/* tally.c -- figures drawn from the tallies of a run. */
#include "report/tally.h"

#include "base/memory.h"
#include "base/shown.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *mot_machine_name(const struct mot_experiment *e, const struct mot_outcome *o, mot_node node)
{
    if (!e->cluster || node >= e->cluster->workers + e->cluster->servers || node >= o->workers + o->servers)
        return NULL;
    return e->cluster->machine[node].name;
}

char *mot_node_label(
    const struct mot_experiment *e, const struct mot_outcome *o, mot_node node, char *into, size_t size)
{
    const char *name = mot_machine_name(e, o, node);
    if (node >= o->workers) {
        if (o->servers > 1) snprintf(into, size, "server %u", node - o->workers);
        else snprintf(into, size, "server");
    } else if (name && name[0]) {
        char shown[48];
        snprintf(into, size, "worker %u (%s)", node, mot_show_text(name, shown, sizeof shown));
    } else {
        snprintf(into, size, "worker %u", node);
    }
    return into;
}

const char *mot_priced_per(const struct mot_experiment *e, const struct mot_outcome *o)
{
    uint32_t by_samples = 0, by_job = 0;
    if (!o->priced || !e->cluster || !(e->traits.codes || e->traits.redundant)) return NULL;
    for (uint32_t i = 0; i < e->cluster->workers; i++) {
        const struct mot_machine *m = &e->cluster->machine[i];
        if (!mot_machine_timed(m)) continue;
        if (m->price == MOT_PRICE_SAMPLES) by_samples++;
        else by_job++;
    }
    return by_samples && by_job ? "mixed" : by_samples ? "samples" : by_job ? "job" : NULL;
}

double mot_whole_jobs(const struct mot_experiment *e, const struct mot_outcome *o, mot_node node)
{
    const struct mot_node_tally *t = &o->node[node];
    double jobs = (double)t->jobs;
    /* Jobs on shared parts have no common size. */
    if (e->shared_parts) return t->samples && t->asked ? jobs * (double)t->samples / (double)t->asked : jobs;
    if (e->batch_full || !e->batch || node >= e->workers || !mot_note_find(o, "wasted")) return jobs;
    double whole = (double)t->samples / e->batch[node];
    return whole > 0 && whole < jobs ? whole : jobs;
}

/* Seconds of the worker's mean job on shared parts. */
static double mean_of_shared(const struct mot_experiment *e, const struct mot_node_tally *t, mot_node node)
{
    const struct mot_machine *m = &e->cluster->machine[node];
    double samples = (double)t->asked / (double)t->jobs, mean = mot_job_mean(m, (uint64_t)(samples + 0.5));
    if (!mot_machine_timed(m) || m->price != MOT_PRICE_SAMPLES) return mean;
    return e->batch_full || !e->batch ? NAN : mean * samples / e->batch[node];
}

double mot_job_seconds(const struct mot_experiment *e, const struct mot_outcome *o, mot_node node)
{
    const struct mot_node_tally *t = &o->node[node];
    if (t->jobs == 0) return NAN;
    double jobs = mot_whole_jobs(e, o, node), most = (double)t->compute / 1e9 / jobs,
           least = (double)t->compute / 1e9 / (jobs + 1);
    if (!e->cluster || node >= e->workers) return most;
    uint64_t samples = e->batch_full || !e->batch ? t->samples / t->jobs : e->batch[node];
    double mean =
        e->shared_parts ? mean_of_shared(e, t, node) : mot_job_mean(&e->cluster->machine[node], samples);
    return mean >= least && mean < most ? mean : most;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double mot_median(const double *value, size_t n)
{
    double *sorted = mot_new(n ? n : 1, sizeof *sorted);
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(value[i])) sorted[known++] = value[i];
    qsort(sorted, known, sizeof *sorted, by_value);
    double median = known ? sorted[(known - 1) / 2] : NAN;
    free(sorted);
    return median;
}

char *mot_show_target(const char *kind, double value, char *into, size_t size)
{
    if (strcmp(kind, "test_accuracy") == 0) snprintf(into, size, "%.4g %% test accuracy", 100 * value);
    else if (strcmp(kind, "train_loss") == 0) snprintf(into, size, "a training loss of %.4g", value);
    else if (strcmp(kind, "grad_norm") == 0) snprintf(into, size, "a gradient norm of %.4g", value);
    else snprintf(into, size, "the target");
    return into;
}

const char *mot_target_name(enum mot_target_kind kind)
{
    switch (kind) {
    case MOT_TARGET_NONE: return NULL;
    case MOT_TARGET_TRAIN_LOSS: return "train_loss";
    case MOT_TARGET_TEST_ACCURACY: return "test_accuracy";
    case MOT_TARGET_GRAD_NORM: return "grad_norm";
    }
    return NULL;
}

double mot_target_figure(enum mot_target_kind kind, const struct mot_score *score)
{
    switch (kind) {
    case MOT_TARGET_NONE: return NAN;
    case MOT_TARGET_TRAIN_LOSS: return score->train_loss;
    case MOT_TARGET_TEST_ACCURACY: return score->test_accuracy;
    case MOT_TARGET_GRAD_NORM: return score->grad_norm;
    }
    return NAN;
}

const struct mot_note_tally *mot_note_find(const struct mot_outcome *o, const char *key)
{
    for (uint32_t i = 0; i < o->notes && i < MOT_NOTES_MAX; i++)
        if (o->note[i].key && strcmp(o->note[i].key, key) == 0) return &o->note[i];
    return NULL;
}

static void raise_to(uint64_t *most, uint64_t by)
{
    if (by > *most) *most = by;
}

struct mot_feed_tally mot_streams_of(const struct mot_outcome *o)
{
    struct mot_feed_tally all = { 0 };
    for (mot_node i = 0; i < o->workers; i++) {
        const struct mot_feed_tally *t = &o->node[i].feed;
        all.arrived += t->arrived;
        all.used += t->used;
        all.dropped += t->dropped;
        all.waiting += t->waiting;
        all.malformed += t->malformed;
        all.held += t->held;
        all.lag += t->lag;
        all.missing += t->missing;
        all.repeated += t->repeated;
        all.stalls += t->stalls;
        raise_to(&all.most, t->most);
        raise_to(&all.spilled, t->spilled);
        raise_to(&all.starved, t->starved);
        raise_to(&all.oldest, t->oldest);
    }
    return all;
}
