#include "study/figures.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "report/history.h"
#include "report/json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct mot_figure_kind mot_figure_kinds[MOT_FIGURES] = {
    [MOT_FIGURE_TIME_TO_TARGET] = { "time_to_target", "Time to target", MOT_UNIT_SECONDS, MOT_SENSE_TIME,
        true },
    [MOT_FIGURE_UPDATES_TO_TARGET] = { "updates_to_target", "Updates to target", MOT_UNIT_COUNT,
        MOT_SENSE_LESS, true },
    [MOT_FIGURE_BYTES_TO_TARGET] = { "bytes_to_target", "Sent until target", MOT_UNIT_BYTES, MOT_SENSE_LESS,
        true },
    [MOT_FIGURE_TIME] = { "time", "Time", MOT_UNIT_SECONDS, MOT_SENSE_TIME, false },
    [MOT_FIGURE_UPDATES] = { "updates", "Updates", MOT_UNIT_COUNT, MOT_SENSE_NONE, false },
    [MOT_FIGURE_BYTES] = { "bytes", "Sent", MOT_UNIT_BYTES, MOT_SENSE_LESS, false },
    [MOT_FIGURE_TRAIN_LOSS] = { "train_loss", "Training loss", MOT_UNIT_PLAIN, MOT_SENSE_LESS, false },
    [MOT_FIGURE_TEST_LOSS] = { "test_loss", "Test loss", MOT_UNIT_PLAIN, MOT_SENSE_LESS, false },
    [MOT_FIGURE_TEST_ACCURACY] = { "test_accuracy", "Test accuracy", MOT_UNIT_SHARE, MOT_SENSE_MORE, false },
    [MOT_FIGURE_GRAD_NORM] = { "grad_norm", "Gradient norm", MOT_UNIT_PLAIN, MOT_SENSE_LESS, false },
    [MOT_FIGURE_UTILISATION] = { "utilisation", "Utilisation", MOT_UNIT_SHARE, MOT_SENSE_MORE, false },
    [MOT_FIGURE_WORST_WAIT] = { "worst_wait", "Worst wait", MOT_UNIT_SHARE, MOT_SENSE_NONE, false },
    [MOT_FIGURE_WORST_WORKER] = { "worst_worker", "Worst worker", MOT_UNIT_COUNT, MOT_SENSE_NONE, false },
    [MOT_FIGURE_STALENESS_MEAN] = { "staleness_mean", "Staleness", MOT_UNIT_PLAIN, MOT_SENSE_NONE, false },
    [MOT_FIGURE_STALENESS_MAX] = { "staleness_max", "Largest staleness", MOT_UNIT_COUNT, MOT_SENSE_NONE,
        false },
};

const struct mot_figure_kind *mot_figure_kind(const char *name)
{
    for (size_t i = 0; i < MOT_FIGURES; i++)
        if (strcmp(mot_figure_kinds[i].name, name) == 0) return &mot_figure_kinds[i];
    return NULL;
}

char *mot_figure_words(const struct mot_figure_kind *kind, char *into, size_t size)
{
    snprintf(into, size, "%s", kind->title);
    for (char *t = into; *t; t++) *t = (char)(*t >= 'A' && *t <= 'Z' ? *t + 32 : *t);
    return into;
}

bool mot_figure_better(const struct mot_figure_kind *kind, double mine, double other)
{
    if (isnan(mine) || isnan(other)) return !isnan(mine);
    return kind->sense == MOT_SENSE_MORE ? mine > other : mine < other;
}

double mot_figure_counted(const struct mot_run_figures *f, enum mot_figure figure, bool measured)
{
    if (!f->known) return NAN;
    if (mot_figure_kinds[figure].needs_target)
        return !f->has_target ? NAN : f->reached ? f->value[figure] : INFINITY;
    bool failed = strcmp(f->status, "ok") != 0, diverged = strcmp(f->status, "diverged") == 0;
    if (failed && figure == MOT_FIGURE_TIME) return INFINITY;
    bool infinite =
        figure == MOT_FIGURE_TRAIN_LOSS || figure == MOT_FIGURE_TEST_LOSS || figure == MOT_FIGURE_GRAD_NORM;
    if (diverged && infinite && measured) return INFINITY;
    return f->value[figure];
}

double mot_figure_beyond(const struct mot_run_figures *f)
{
    if (!f->known || !f->has_target) return NAN;
    bool stopped = !f->reached && strcmp(f->status, "ok") == 0;
    return stopped ? f->value[MOT_FIGURE_TIME] : mot_figure_counted(f, MOT_FIGURE_TIME_TO_TARGET, true);
}

static void text(const json_t *object, const char *key, char *into, size_t size)
{
    snprintf(into, size, "%s", mot_json_get_text(object, key));
}

/* The share of time that workers computed, and who waited longest (the first if several tie). */
static void read_workers(const json_t *workers, struct mot_run_figures *f)
{
    double compute = 0, whole = 0, worst = -1;
    size_t i;
    json_t *w;
    json_array_foreach(workers, i, w)
    {
        double mine = mot_json_get_number(w, "compute_s") + mot_json_get_number(w, "wait_s") +
            mot_json_get_number(w, "send_s");
        if (!isfinite(mine)) continue;
        compute += mot_json_get_number(w, "compute_s");
        whole += mine;
        double wait = mine > 0 ? mot_json_get_number(w, "wait_s") / mine : 0;
        if (wait <= worst) continue;
        worst = wait;
        f->value[MOT_FIGURE_WORST_WAIT] = wait;
        f->value[MOT_FIGURE_WORST_WORKER] = mot_json_get_number(w, "id");
        text(w, "name", f->worst_name, sizeof(f->worst_name));
    }
    if (whole > 0) f->value[MOT_FIGURE_UTILISATION] = compute / whole;
}

static void read_target(const json_t *s, struct mot_run_figures *f)
{
    const json_t *target = json_object_get(s, "target");
    if (!json_is_object(target)) return;
    f->has_target = true;
    text(target, "kind", f->target, sizeof(f->target));
    f->target_value = mot_json_get_number(target, "value");
    f->reached = json_is_true(json_object_get(target, "reached"));
    if (!f->reached) return;
    f->value[MOT_FIGURE_TIME_TO_TARGET] = mot_json_get_number(target, "time_s");
    f->value[MOT_FIGURE_UPDATES_TO_TARGET] = mot_json_get_number(target, "updates");
    f->value[MOT_FIGURE_BYTES_TO_TARGET] = f->value[MOT_FIGURE_BYTES]; /* the target ends the run */
}

static void read_summary(const json_t *s, struct mot_run_figures *f)
{
    static const struct {
        enum mot_figure figure;
        const char *key;
    } plain[] = {
        { MOT_FIGURE_TIME, "time_s" },
        { MOT_FIGURE_UPDATES, "updates" },
        { MOT_FIGURE_BYTES, "bytes_sent" },
        { MOT_FIGURE_TRAIN_LOSS, "train_loss" },
        { MOT_FIGURE_TEST_LOSS, "test_loss" },
        { MOT_FIGURE_TEST_ACCURACY, "test_accuracy" },
        { MOT_FIGURE_GRAD_NORM, "grad_norm" },
    };
    text(s, "status", f->status, sizeof(f->status));
    text(s, "ended_by", f->ended_by, sizeof(f->ended_by));
    const json_t *learned = json_object_get(s, "learned");
    f->learned = json_is_true(learned) ? MOT_LEARNED
        : json_is_false(learned)       ? MOT_LEARNED_NOTHING
                                       : MOT_LEARNED_UNKNOWN;
    f->chance = mot_json_get_number(s, "chance_accuracy");
    text(s, "remedy", f->remedy, sizeof(f->remedy));
    for (size_t i = 0; i < MOT_COUNT(plain); i++)
        f->value[plain[i].figure] = mot_json_get_number(s, plain[i].key);
    const json_t *staleness = json_object_get(s, "staleness");
    f->value[MOT_FIGURE_STALENESS_MEAN] = mot_json_get_number(staleness, "mean");
    f->value[MOT_FIGURE_STALENESS_MAX] = mot_json_get_number(staleness, "max");
    read_target(s, f);
    read_workers(json_object_get(s, "worker"), f);
}

/* From metrics.jsonl: how many evaluations after the start met the target, or how near they came. */
static enum mot_status read_evaluations(const char *folder, struct mot_run_figures *f)
{
    char *path = mot_path_join(folder, "metrics.jsonl"), *line = NULL;
    FILE *in = fopen(path, "r");
    size_t room = 0, n = 0;
    free(path);
    bool more = strcmp(f->target, "test_accuracy") == 0;
    /* Evaluations may share their time, and the last two their updates, too: the first of them met it. */
    double until = f->value[MOT_FIGURE_TIME_TO_TARGET], last = f->value[MOT_FIGURE_UPDATES_TO_TARGET];
    bool met = false;
    enum mot_status status = MOT_OK;
    for (ssize_t got; in && !met && (got = getline(&line, &room, in)) > 0;) {
        const struct mot_json_text t = {
            .name = "metrics.jsonl", .text = line, .n = (size_t)got, .line = 1, .bad = MOT_EDATA
        };
        json_t *row; /* a line that a kill cut short has no figures */
        if (mot_json_parse(&t, &row) == MOT_ESYSTEM) {
            status = MOT_ESYSTEM;
            break;
        }
        double at = mot_json_get_number(row, "time_s"), value = mot_json_get_number(row, f->target),
               updates = mot_json_get_number(row, "updates");
        json_decref(row);
        n += updates > 0;
        met = f->reached && at >= until && updates >= last;
        if (f->reached || isnan(value)) continue;
        if (isnan(f->nearest) || (more ? value > f->nearest : value < f->nearest)) f->nearest = value;
    }
    free(line);
    if (in) fclose(in);
    if (f->reached && n) f->evaluations = (double)n;
    return status;
}

/* ---- Another goal ------------------------------------------------------------------------------------- */

static enum mot_column column_of(const char *kind)
{
    for (size_t i = 0; i < MOT_COLUMNS; i++)
        if (strcmp(mot_column_name[i], kind) == 0) return i;
    return MOT_COLUMNS;
}

static bool meets(const struct mot_goal *goal, double value)
{
    return strcmp(goal->kind, "test_accuracy") == 0 ? value >= goal->value : value <= goal->value;
}

/* The first evaluation that met the goal; the number of evaluations if none did. */
static size_t met_at(const struct mot_history *h, const struct mot_goal *goal)
{
    enum mot_column column = column_of(goal->kind);
    size_t i = 0;
    while (i < h->n && column < MOT_COLUMNS && !meets(goal, h->value[column][i])) i++;
    return i;
}

static bool same_goal(const json_t *target, const struct mot_goal *goal)
{
    if (!goal->kind) return !json_is_object(target);
    return strcmp(mot_json_get_text(target, "kind"), goal->kind) == 0 &&
        mot_json_get_number(target, "value") == goal->value;
}

static enum mot_status history_of(const char *folder, struct mot_history *out)
{
    char *path = mot_path_join(folder, "metrics.jsonl");
    enum mot_status status = mot_history_read(path, out);
    free(path);
    return status;
}

bool mot_figures_answer(const char *folder, const struct mot_goal *goal)
{
    char *path = mot_path_join(folder, "summary.json");
    json_t *summary;
    (void)mot_json_read(path, MOT_EDATA, &summary); /* memory that ran out is marked */
    const char *ended_by = mot_json_get_text(summary, "ended_by"),
               *kind = mot_json_get_text(json_object_get(summary, "target"), "kind");
    bool whole = strcmp(ended_by, "target") != 0, known = json_is_object(summary);
    /* Only runs for a training loss watch it all the time, and so end as soon as it is not a number. */
    bool by_loss = strcmp(kind, "train_loss") == 0,
         for_loss = goal->kind && strcmp(goal->kind, "train_loss") == 0;
    if (strcmp(ended_by, "diverged") == 0 && by_loss != for_loss) whole = false;
    json_decref(summary);
    free(path);
    if (!known || !goal->kind) return known && whole;
    struct mot_history h;
    enum mot_column column = column_of(goal->kind);
    if (column == MOT_COLUMNS || history_of(folder, &h) != MOT_OK) return false;
    size_t at = met_at(&h, goal);
    known = at < h.n || whole;
    for (size_t i = 0; i < at && known; i++)
        known = !isnan(h.value[column][i]); /* it was looked at each time */
    mot_history_free(&h);
    return known;
}

/* The figures as of the moment at which the goal was met. */
static void stop_at(const struct mot_history *h, size_t at, struct mot_run_figures *f)
{
    static const struct {
        enum mot_figure figure;
        enum mot_column column;
    } then[] = {
        { MOT_FIGURE_TIME, MOT_COL_TIME },
        { MOT_FIGURE_UPDATES, MOT_COL_UPDATES },
        { MOT_FIGURE_BYTES, MOT_COL_BYTES },
        { MOT_FIGURE_TRAIN_LOSS, MOT_COL_TRAIN_LOSS },
        { MOT_FIGURE_TEST_LOSS, MOT_COL_TEST_LOSS },
        { MOT_FIGURE_TEST_ACCURACY, MOT_COL_TEST_ACCURACY },
        { MOT_FIGURE_GRAD_NORM, MOT_COL_GRAD_NORM },
        { MOT_FIGURE_STALENESS_MEAN, MOT_COL_STALENESS_MEAN },
        { MOT_FIGURE_STALENESS_MAX, MOT_COL_STALENESS_MAX },
        { MOT_FIGURE_TIME_TO_TARGET, MOT_COL_TIME },
        { MOT_FIGURE_UPDATES_TO_TARGET, MOT_COL_UPDATES },
        { MOT_FIGURE_BYTES_TO_TARGET, MOT_COL_BYTES },
    };
    for (size_t i = 0; i < MOT_FIGURES; i++) f->value[i] = NAN;
    for (size_t i = 0; i < MOT_COUNT(then); i++) f->value[then[i].figure] = h->value[then[i].column][at];
    f->cut = true;
    /* what was learned by then, not by the end */
    f->learned = f->value[MOT_FIGURE_TEST_ACCURACY] > f->chance ? MOT_LEARNED : MOT_LEARNED_UNKNOWN;
    f->remedy[0] = '\0';
    f->worst_name[0] = '\0';
    snprintf(f->status, sizeof(f->status), "ok");
    snprintf(f->ended_by, sizeof(f->ended_by), "target");
}

/* The evaluation at the run's end met the goal, so a run for it would have been the same. */
static void end_at(const struct mot_history *h, size_t at, struct mot_run_figures *f)
{
    f->value[MOT_FIGURE_TIME_TO_TARGET] = h->value[MOT_COL_TIME][at];
    f->value[MOT_FIGURE_UPDATES_TO_TARGET] = h->value[MOT_COL_UPDATES][at];
    f->value[MOT_FIGURE_BYTES_TO_TARGET] = f->value[MOT_FIGURE_BYTES];
}

static enum mot_status read_for(const char *folder, const struct mot_goal *goal, struct mot_run_figures *f)
{
    struct mot_history h;
    f->reread = true;
    f->has_target = goal->kind != NULL;
    f->reached = false;
    for (size_t i = 0; i < MOT_FIGURES; i++)
        if (mot_figure_kinds[i].needs_target) f->value[i] = NAN;
    if (!goal->kind) return MOT_OK;
    snprintf(f->target, sizeof(f->target), "%s", goal->kind);
    f->target_value = goal->value;
    enum mot_status status = history_of(folder, &h);
    if (status != MOT_OK) return status;
    size_t at = met_at(&h, goal);
    f->reached = at < h.n;
    if (at + 1 == h.n && strcmp(f->status, "ok") == 0) end_at(&h, at, f);
    else if (f->reached) stop_at(&h, at, f);
    mot_history_free(&h);
    return MOT_OK;
}

enum mot_status mot_figures_read(const char *folder, const struct mot_goal *goal, struct mot_run_figures *f)
{
    *f = (struct mot_run_figures){ .known = false, .evaluations = NAN, .nearest = NAN, .chance = NAN };
    for (size_t i = 0; i < MOT_FIGURES; i++) f->value[i] = NAN;
    if (!folder) return MOT_OK;
    char *path = mot_path_join(folder, "summary.json");
    json_t *summary = NULL;
    enum mot_status status = mot_file_exists(path)
        ? mot_json_read(path, MOT_EDATA, &summary)
        : mot_fail(MOT_ESYSTEM, "%s: expected the summary of a run; there is none", path);
    if (json_is_object(summary)) {
        f->known = true;
        read_summary(summary, f);
        if (goal && !same_goal(json_object_get(summary, "target"), goal)) status = read_for(folder, goal, f);
        if (f->has_target && status == MOT_OK) status = read_evaluations(folder, f);
    } else if (status == MOT_OK) {
        status = mot_fail(MOT_EDATA, "%s: expected the summary of a run; found something else", path);
    }
    json_decref(summary);
    free(path);
    return status;
}
