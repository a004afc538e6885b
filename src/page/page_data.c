/* page_data.c -- what the page's scripts draw: curves, intervals, staleness, some runs in detail.
 *
 * A page must open at once, however large the study. Curves are thinned out so that together they have a
 * bounded number of points, and numbers have six digits; the CSV files have everything. */
#include "page/page_parts.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/shown.h"
#include "report/history.h"
#include "study/answer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_MOST 24000 /* of all curves together, about 80 bytes each */
#define POINTS_LEAST 12   /* of any curve that is shown */
#define POINTS_CURVE 240  /* more than a screen shows */
#define CURVES_MOST (POINTS_MOST / POINTS_LEAST)
#define DETAIL_BYTES ((size_t)1300000)

static const struct {
    enum mot_column column;
    const char *name, *title;
} metrics[] = {
    { MOT_COL_TEST_ACCURACY, "test_accuracy", "Test accuracy" },
    { MOT_COL_TEST_LOSS, "test_loss", "Test loss" },
    { MOT_COL_TRAIN_LOSS, "train_loss", "Training loss" },
    { MOT_COL_TRAIN_ACCURACY, "train_accuracy", "Training accuracy" },
    { MOT_COL_VALID_LOSS, "valid_loss", "Validation loss" },
    { MOT_COL_VALID_ACCURACY, "valid_accuracy", "Validation accuracy" },
    { MOT_COL_GRAD_NORM, "grad_norm", "Gradient norm" },
    { MOT_COL_STALENESS_MEAN, "staleness", "Mean staleness so far" },
    { MOT_COL_STALENESS_MAX, "staleness_max", "Largest staleness so far (τ max)" },
    { MOT_COL_ACTIVE_JOBS, "active_jobs", "Active jobs, mean so far (τ C)" },
    { MOT_COL_CONSENSUS, "consensus", "Consensus distance" },
    { MOT_COL_DRIFT, "drift", "Drift of the mean model by mixing" },
    { MOT_COL_MASS, "mass", "Push-sum mass" },
    { MOT_COL_WAITING, "waiting", "Samples waiting to be used" },
    { MOT_COL_DROPPED, "dropped", "Samples dropped so far" },
    { MOT_COL_ARRIVED, "arrived", "Samples arrived so far" },
    { MOT_COL_USED, "used", "Samples used so far" },
    { MOT_COL_OLDEST, "oldest", "Age of the oldest waiting sample (s)" },
    { MOT_COL_ZETA2, "zeta2", "ζ², spread of the parts’ gradients" },
    { MOT_COL_SIGMA2, "sigma2", "σ², spread of the rows’ gradients" },
};

/* ---- JSON that may stand in a script element ------------------------------------------------------ */

/* Names come from files, and the script draws them: characters that would reverse text are spelt out, as
 * in the page itself. */
void mot_page_json_text(const char *text, FILE *out)
{
    char *shown = mot_shown(text);
    fputc('"', out);
    for (const char *p = shown; *p; p++) {
        if (strchr("<>&\"\\", *p)) fprintf(out, "\\u%04x", (unsigned char)*p);
        else fputc(*p, out);
    }
    fputc('"', out);
    free(shown);
}

void mot_page_json_number(double value, FILE *out)
{
    char text[MOT_NUMBER_SIZE];
    if (!isfinite(value)) {
        fputs("null", out);
        return;
    }
    if (fabs(value) < 1e15 && value == floor(value)) snprintf(text, sizeof text, "%.0f", value);
    else snprintf(text, sizeof text, "%.6g", value);
    for (char *c = text; *c; c++)
        if (*c == ',') *c = '.'; /* the library may run under another locale */
    fputs(text, out);
}

void mot_page_json(const json_t *value, FILE *out)
{
    size_t i = 0;
    const char *key;
    json_t *each;
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_STRING: mot_page_json_text(json_string_value(value), out); return;
    case JSON_INTEGER:
    case JSON_REAL: mot_page_json_number(json_number_value(value), out); return;
    case JSON_TRUE: fputs("true", out); return;
    case JSON_FALSE: fputs("false", out); return;
    case JSON_NULL: fputs("null", out); return;
    case JSON_ARRAY:
        fputc('[', out);
        json_array_foreach(value, i, each)
        {
            if (i) fputc(',', out);
            mot_page_json(each, out);
        }
        fputc(']', out);
        return;
    case JSON_OBJECT:
        fputc('{', out);
        json_object_foreach((json_t *)value, key, each)
        {
            if (i++) fputc(',', out);
            mot_page_json_text(key, out);
            fputc(':', out);
            mot_page_json(each, out);
        }
        fputc('}', out);
        return;
    }
}

static void put_key(const char *lead, const char *key, FILE *out)
{
    fputs(lead, out);
    mot_page_json_text(key, out);
    fputc(':', out);
}

/* ---- Curves --------------------------------------------------------------------------------------- */

/* points per curve; one run in `every` of a cell has one */
struct plan {
    size_t points, every;
    bool thinned, skipped;
};

static struct plan plan_of(size_t runs)
{
    struct plan p = { .every = 1 };
    if (runs > CURVES_MOST) p.every = (runs + CURVES_MOST - 1) / CURVES_MOST;
    size_t curves = runs / p.every + 1;
    p.points = POINTS_MOST / curves;
    if (p.points > POINTS_CURVE) p.points = POINTS_CURVE;
    if (p.points < POINTS_LEAST) p.points = POINTS_LEAST;
    return p;
}

static size_t pick(size_t i, size_t shown, size_t n)
{
    return shown < n ? (size_t)((uint64_t)i * (n - 1) / (shown - 1)) : i;
}

static void put_column(const struct mot_history *h, enum mot_column column, size_t shown, FILE *out)
{
    fputc('[', out);
    for (size_t i = 0; i < shown; i++) {
        if (i) fputc(',', out);
        mot_page_json_number(h->value[column][pick(i, shown, h->n)], out);
    }
    fputc(']', out);
}

static bool all_nan(const struct mot_history *h, enum mot_column column)
{
    for (size_t i = 0; i < h->n; i++)
        if (!isnan(h->value[column][i])) return false;
    return true;
}

/* A run in progress has its lines of metrics.jsonl in the document; others have a folder. */
static enum mot_status read_curve(const json_t *run, struct mot_history *h, bool *there)
{
    const char *lines = mot_json_get_text(run, "metrics"), *folder = mot_json_get_text(run, "folder");
    *there = true;
    if (*lines) return mot_history_parse("metrics", lines, strlen(lines), h);
    char *path = mot_path_join(folder, "metrics.jsonl");
    *there = *folder && mot_file_exists(path);
    enum mot_status status = *there ? mot_history_read(path, h) : MOT_OK;
    free(path);
    return status;
}

/* Only up to `until`: a run that was made for another target went on after it met this one. */
static enum mot_status put_curve(const json_t *run, double until, struct plan *plan, FILE *out)
{
    struct mot_history h;
    bool there;
    enum mot_status status = read_curve(run, &h, &there);
    if (!there || status != MOT_OK) return status;
    while (h.n && h.value[MOT_COL_TIME][h.n - 1] > until) h.n--;
    size_t shown = h.n < plan->points ? h.n : plan->points;
    plan->thinned |= shown < h.n;
    if (shown) {
        put_key(",", "t", out), put_column(&h, MOT_COL_TIME, shown, out);
        put_key(",", "u", out), put_column(&h, MOT_COL_UPDATES, shown, out);
        put_key(",", "b", out), put_column(&h, MOT_COL_BYTES, shown, out);
        put_key(",", "y", out);
        fputc('{', out);
        const char *lead = "";
        for (size_t i = 0; i < MOT_COUNT(metrics); i++) {
            if (all_nan(&h, metrics[i].column)) continue;
            put_key(lead, metrics[i].name, out), put_column(&h, metrics[i].column, shown, out);
            lead = ",";
        }
        fputc('}', out);
    }
    mot_history_free(&h);
    return MOT_OK;
}

/* An arm under a condition, as one number. */
static size_t cell_number(const json_t *document, const json_t *entry)
{
    size_t arms = json_array_size(mot_json_get_list(document, "arms")),
           conditions = json_array_size(mot_json_get_list(document, "conditions"));
    size_t number = mot_json_get_count(entry, "arm") * conditions + mot_json_get_count(entry, "condition");
    return number < arms * conditions ? number : 0;
}

static size_t cells_of(const json_t *document)
{
    return json_array_size(mot_json_get_list(document, "arms")) *
        json_array_size(mot_json_get_list(document, "conditions"));
}

/* Each run's place among the runs of its cell. */
static size_t *places_of(const json_t *document)
{
    size_t i, *seen = mot_new(cells_of(document) + 1, sizeof *seen);
    size_t *place = mot_new(json_array_size(mot_json_get_list(document, "runs")) + 1, sizeof *place);
    json_t *run;
    json_array_foreach(mot_json_get_list(document, "runs"), i, run) place[i] =
        seen[cell_number(document, run)]++;
    free(seen);
    return place;
}

static enum mot_status put_runs(const json_t *document, const size_t *place, struct plan *plan, FILE *out)
{
    size_t i;
    json_t *run;
    enum mot_status status = MOT_OK;
    put_key(",\n", "runs", out);
    fputc('[', out);
    json_array_foreach(mot_json_get_list(document, "runs"), i, run)
    {
        fprintf(out, "%s\n{\"a\":%zu,\"c\":%zu,\"s\":%" JSON_INTEGER_FORMAT ",\"st\":", i ? "," : "",
            mot_json_get_count(run, "arm"), mot_json_get_count(run, "condition"),
            json_integer_value(json_object_get(run, "seed")));
        mot_page_json_text(mot_json_get_text(run, "status"), out);
        fprintf(out, ",\"r\":%s,\"tt\":", json_is_true(json_object_get(run, "reached")) ? "true" : "false");
        double met = mot_json_get_number(json_object_get(run, "figures"), "time_to_target");
        bool cut = json_is_true(json_object_get(run, "cut"));
        mot_page_json_number(met, out);
        if (cut) fputs(",\"re\":true", out);
        if (place[i] % plan->every == 0) status = put_curve(run, cut ? met : (double)INFINITY, plan, out);
        plan->skipped |= place[i] % plan->every != 0;
        if (status != MOT_OK) return status;
        fputc('}', out);
    }
    fputc(']', out);
    return MOT_OK;
}

/* ---- Staleness -------------------------------------------------------------------------------------- */

/* Adds a run's bins; only those with equal bounds are merged. */
static void add_bins(json_t *all, const json_t *bins)
{
    size_t i, k;
    json_t *bin, *old;
    json_array_foreach(bins, i, bin)
    {
        if (json_array_size(bin) != 3) continue;
        json_t *same = NULL;
        json_array_foreach(all, k, old) if (json_equal(json_array_get(old, 0), json_array_get(bin, 0)) &&
            json_equal(json_array_get(old, 1), json_array_get(bin, 1))) same = old;
        if (same)
            json_array_set_new(same, 2,
                json_real(
                    json_number_value(json_array_get(same, 2)) + json_number_value(json_array_get(bin, 2))));
        else json_array_append_new(all, json_deep_copy(bin));
    }
}

static void put_median(const json_t *figures, const char *figure, FILE *out)
{
    mot_page_json_number(mot_json_get_number(json_object_get(figures, figure), "median"), out);
}

/* There may be many summaries, so each is read once and added to its cell here. */
static void put_staleness(const json_t *document, FILE *out)
{
    size_t i, cells = cells_of(document);
    json_t *run, *cell;
    json_t **bins = mot_new(cells + 1, sizeof(json_t *));
    bool *cut = mot_new(cells + 1, sizeof *cut); /* a run went on, so its bins count too much */
    for (i = 0; i <= cells; i++) bins[i] = json_array();
    json_array_foreach(mot_json_get_list(document, "runs"), i, run)
    {
        json_t *summary = mot_page_load(mot_json_get_text(run, "folder"), "summary.json");
        size_t number = cell_number(document, run);
        cut[number] |= json_is_true(json_object_get(run, "cut"));
        add_bins(bins[number], json_object_get(json_object_get(summary, "staleness"), "histogram"));
        json_decref(summary);
    }
    for (i = 0; i <= cells; i++)
        if (cut[i]) json_array_clear(bins[i]);
    free(cut);
    put_key(",\n", "cells", out);
    fputc('[', out);
    json_array_foreach(mot_json_get_list(document, "cells"), i, cell)
    {
        const json_t *figures = json_object_get(cell, "figures");
        fprintf(out, "%s{\"a\":%zu,\"c\":%zu,\"runs\":%zu,\"reached\":%zu,\"tt\":", i ? ",\n" : "\n",
            mot_json_get_count(cell, "arm"), mot_json_get_count(cell, "condition"),
            mot_json_get_count(cell, "runs"), mot_json_get_count(cell, "reached"));
        mot_page_json(json_object_get(figures, "time_to_target"), out);
        fputs(",\"ut\":", out), put_median(figures, "updates_to_target", out);
        fputs(",\"bt\":", out), put_median(figures, "bytes_to_target", out);
        fputs(",\"mean\":", out),
            mot_page_json_number(
                mot_json_get_number(json_object_get(figures, "staleness_mean"), "median"), out);
        fputs(",\"max\":", out),
            mot_page_json_number(mot_json_get_number(json_object_get(figures, "staleness_max"), "most"), out);
        fputs(",\"bins\":", out), mot_page_json(bins[cell_number(document, cell)], out);
        fputc('}', out);
    }
    fputc(']', out);
    for (i = 0; i <= cells; i++) json_decref(bins[i]);
    free(bins);
}

/* ---- All --------------------------------------------------------------------------------------------- */

static void put_names(const json_t *document, const char *list, FILE *out)
{
    put_key(",\n", list, out);
    fputc('[', out);
    for (size_t i = 0; i < json_array_size(mot_json_get_list(document, list)); i++) {
        if (i) fputc(',', out);
        mot_page_json_text(mot_document_name(document, list, i), out);
    }
    fputc(']', out);
}

/* The first run of every cell, then the second, and so on while there is room. */
static void put_details(const json_t *document, const size_t *place, FILE *out)
{
    const json_t *runs = mot_json_get_list(document, "runs");
    size_t n = json_array_size(runs), used = 0, shown = 0, left_out = 0, most = 0;
    for (size_t i = 0; i < n; i++) most = place[i] > most ? place[i] : most;
    put_key(",\n", "details", out);
    fputc('[', out);
    for (size_t round = 0; round <= most; round++)
        for (size_t i = 0; i < n; i++) {
            const char *folder = mot_json_get_text(json_array_get(runs, i), "folder");
            if (place[i] != round || !*folder) continue;
            if (used > DETAIL_BYTES) {
                left_out++;
                continue;
            }
            size_t bytes = mot_page_detail(folder, i, shown ? ",\n" : "\n", out);
            used += bytes;
            shown += bytes > 0;
        }
    fprintf(out, "],\n\"details_left_out\":%zu", left_out);
}

/* A target or null for each condition. */
static void put_targets(const json_t *document, FILE *out)
{
    put_key(",\n", "targets", out);
    fputc('[', out);
    for (size_t i = 0; i < json_array_size(mot_json_get_list(document, "conditions")); i++) {
        if (i) fputc(',', out);
        mot_page_json(mot_study_target(document, i), out);
    }
    fputc(']', out);
}

/* Arms by the figure that judges, the best first, for each condition. */
static void put_order(const json_t *document, FILE *out)
{
    const struct mot_figure_kind *judge = mot_document_judge(document);
    size_t arms = json_array_size(mot_json_get_list(document, "arms")),
           *order = mot_new(arms + 1, sizeof *order);
    put_key(",\n", "order", out);
    fputc('[', out);
    for (size_t c = 0; c < json_array_size(mot_json_get_list(document, "conditions")); c++) {
        for (size_t a = 0; a < arms; a++) {
            size_t at = a;
            while (at > 0 && judge && mot_document_better(document, judge, c, a, order[at - 1])) {
                order[at] = order[at - 1];
                at--;
            }
            order[at] = a;
        }
        fputs(c ? ",[" : "[", out);
        for (size_t a = 0; a < arms; a++) fprintf(out, "%s%zu", a ? "," : "", order[a]);
        fputc(']', out);
    }
    fputc(']', out);
    free(order);
}

/* For a study with several conditions: what each of them sets, and every cell's figures, as median and
 * interval. */
static void put_swept(const json_t *document, FILE *out)
{
    static const char *const units[] = { [MOT_UNIT_SECONDS] = "seconds",
        [MOT_UNIT_BYTES] = "bytes",
        [MOT_UNIT_SHARE] = "share",
        [MOT_UNIT_COUNT] = "count",
        [MOT_UNIT_RATIO] = "ratio",
        [MOT_UNIT_PLAIN] = "plain" };
    const json_t *conditions = mot_json_get_list(document, "conditions");
    size_t i, k;
    json_t *each;
    put_key(",\n", "swept", out);
    if (json_array_size(conditions) < 2) {
        fputs("null", out);
        return;
    }
    fputs("{\"by\":", out), mot_page_json(json_object_get(document, "judged_by"), out);
    fputs(",\"figures\":[", out);
    for (k = 0; k < MOT_FIGURES; k++)
        fprintf(out, "%s[\"%s\",\"%s\",\"%s\"]", k ? "," : "", mot_figure_kinds[k].name,
            mot_figure_kinds[k].title, units[mot_figure_kinds[k].unit]);
    fputs("],\"conditions\":[", out);
    json_array_foreach(conditions, i, each)
    {
        if (i) fputc(',', out);
        mot_page_json(json_object_get(each, "settings"), out);
    }
    fputs("],\"cells\":[", out);
    json_array_foreach(mot_json_get_list(document, "cells"), i, each)
    {
        const char *lead = "";
        fprintf(out, "%s{\"a\":%zu,\"c\":%zu,\"f\":{", i ? ",\n" : "\n", mot_json_get_count(each, "arm"),
            mot_json_get_count(each, "condition"));
        for (k = 0; k < MOT_FIGURES; k++) {
            const json_t *f = json_object_get(json_object_get(each, "figures"), mot_figure_kinds[k].name);
            if (k == MOT_FIGURE_WORST_WORKER || !json_is_number(json_object_get(f, "median"))) continue;
            put_key(lead, mot_figure_kinds[k].name, out);
            lead = ",";
            fputc('[', out), mot_page_json(json_object_get(f, "median"), out);
            fputc(',', out), mot_page_json(json_object_get(f, "low"), out);
            fputc(',', out), mot_page_json(json_object_get(f, "high"), out);
            fputc(']', out);
        }
        fputs("}}", out);
    }
    fputs("]}", out);
}

static void put_lists(const json_t *document, FILE *out)
{
    fputs("{\"metrics\":[", out);
    for (size_t i = 0; i < MOT_COUNT(metrics); i++)
        fprintf(out, "%s[\"%s\",\"%s\"]", i ? "," : "", metrics[i].name, metrics[i].title);
    fputc(']', out);
    put_names(document, "arms", out);
    put_names(document, "conditions", out);
    put_targets(document, out);
}

enum mot_status mot_page_curves(const json_t *document, FILE *out)
{
    struct plan plan = plan_of(json_array_size(mot_json_get_list(document, "runs")));
    size_t *place = places_of(document);
    put_lists(document, out);
    enum mot_status status = put_runs(document, place, &plan, out);
    if (status == MOT_OK)
        fprintf(out, ",\n\"thinned\":%s,\"skipped\":%s}", plan.thinned ? "true" : "false",
            plan.skipped ? "true" : "false");
    free(place);
    return status;
}

enum mot_status mot_page_data(const json_t *document, FILE *out)
{
    struct plan plan = plan_of(json_array_size(mot_json_get_list(document, "runs")));
    size_t *place = places_of(document);
    put_lists(document, out);
    put_order(document, out);
    put_swept(document, out);
    put_key(",\n", "tuning", out), mot_page_json(json_object_get(document, "tuning"), out);
    put_staleness(document, out);
    enum mot_status status = put_runs(document, place, &plan, out);
    if (status == MOT_OK) {
        put_details(document, place, out);
        fprintf(out, ",\n\"thinned\":%s,\"skipped\":%s}", plan.thinned ? "true" : "false",
            plan.skipped ? "true" : "false");
    }
    free(place);
    return status;
}
