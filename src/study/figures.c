#include "study/figures.h"
#include "base/memory.h"
#include "base/file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct mot_figure_kind mot_figure_kinds[MOT_FIGURES] = {
    [MOT_FIGURE_TIME_TO_TARGET] = { "time_to_target", MOT_SENSE_TIME, true },
    [MOT_FIGURE_UPDATES_TO_TARGET] = { "updates_to_target", MOT_SENSE_LESS, true },
    [MOT_FIGURE_BYTES_TO_TARGET] = { "bytes_to_target", MOT_SENSE_LESS, true },
    [MOT_FIGURE_TIME] = { "time", MOT_SENSE_TIME, false },
    [MOT_FIGURE_UPDATES] = { "updates", MOT_SENSE_NONE, false },
    [MOT_FIGURE_BYTES] = { "bytes", MOT_SENSE_LESS, false },
    [MOT_FIGURE_TRAIN_LOSS] = { "train_loss", MOT_SENSE_LESS, false },
    [MOT_FIGURE_TEST_LOSS] = { "test_loss", MOT_SENSE_LESS, false },
    [MOT_FIGURE_TEST_ACCURACY] = { "test_accuracy", MOT_SENSE_MORE, false },
    [MOT_FIGURE_GRAD_NORM] = { "grad_norm", MOT_SENSE_LESS, false },
    [MOT_FIGURE_UTILISATION] = { "utilisation", MOT_SENSE_MORE, false },
    [MOT_FIGURE_WORST_WAIT] = { "worst_wait", MOT_SENSE_NONE, false },
    [MOT_FIGURE_WORST_WORKER] = { "worst_worker", MOT_SENSE_NONE, false },
    [MOT_FIGURE_STALENESS_MEAN] = { "staleness_mean", MOT_SENSE_NONE, false },
    [MOT_FIGURE_STALENESS_MAX] = { "staleness_max", MOT_SENSE_NONE, false },
};

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void text(const json_t *object, const char *key, char *into, size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));
    snprintf(into, size, "%s", value ? value : "");
}

/* The workers' share of time in gradients, and who waited longest (the first of equals). */
static void read_workers(const json_t *workers, struct mot_run_figures *f)
{
    double compute = 0, whole = 0, worst = -1;
    size_t i;
    json_t *w;
    json_array_foreach(workers, i, w)
    {
        double mine = number(w, "compute_s") + number(w, "wait_s") + number(w, "send_s");
        if (!isfinite(mine)) continue;
        compute += number(w, "compute_s");
        whole += mine;
        double wait = mine > 0 ? number(w, "wait_s") / mine : 0;
        if (wait <= worst) continue;
        worst = wait;
        f->value[MOT_FIGURE_WORST_WAIT] = wait;
        f->value[MOT_FIGURE_WORST_WORKER] = number(w, "id");
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
    f->target_value = number(target, "value");
    f->reached = json_is_true(json_object_get(target, "reached"));
    if (!f->reached) return;
    f->value[MOT_FIGURE_TIME_TO_TARGET] = number(target, "time_s");
    f->value[MOT_FIGURE_UPDATES_TO_TARGET] = number(target, "updates");
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
    for (size_t i = 0; i < MOT_COUNT(plain); i++) f->value[plain[i].figure] = number(s, plain[i].key);
    const json_t *staleness = json_object_get(s, "staleness");
    f->value[MOT_FIGURE_STALENESS_MEAN] = number(staleness, "mean");
    f->value[MOT_FIGURE_STALENESS_MAX] = number(staleness, "max");
    read_target(s, f);
    read_workers(json_object_get(s, "worker"), f);
}

enum mot_status mot_figures_read(const char *folder, struct mot_run_figures *f)
{
    *f = (struct mot_run_figures){ .known = false };
    for (size_t i = 0; i < MOT_FIGURES; i++) f->value[i] = NAN;
    if (!folder) return MOT_OK;
    char *path = mot_path_join(folder, "summary.json");
    json_error_t error;
    json_t *summary = json_load_file(path, 0, &error);
    enum mot_status status = MOT_OK;
    if (json_is_object(summary)) {
        f->known = true;
        read_summary(summary, f);
    } else {
        bool gone = !summary && json_error_code(&error) == json_error_cannot_open_file;
        status = mot_fail(gone ? MOT_ESYSTEM : MOT_EDATA, "%s: expected the summary of a run; %s", path,
            summary ? "found something else" : error.text);
    }
    json_decref(summary);
    free(path);
    return status;
}
