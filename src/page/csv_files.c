/* csv_files.c -- a study as CSV files to plot from (RFC 4180; numbers with all their digits). */
#include "page/page.h"

#include "base/csv_field.h"
#include "base/file.h"
#include "base/memory.h"
#include "page/page_parts.h"
#include "report/history.h"
#include <math.h>
#include <stdlib.h>

static void put_text(const char *text, FILE *out)
{
    char *field = mot_csv_field(text, ",");
    fputs(field, out);
    free(field);
}

/* Empty if it is not known. */
static void put_number(double value, FILE *out)
{
    char text[MOT_NUMBER_SIZE];
    if (isfinite(value)) fputs(mot_number_text(value, text), out);
}

/* arm,condition,seed: how a row begins. */
static void put_run(const json_t *document, const json_t *run, FILE *out)
{
    put_text(mot_document_name(document, "arms", mot_json_get_count(run, "arm")), out);
    fputc(',', out);
    put_text(mot_document_name(document, "conditions", mot_json_get_count(run, "condition")), out);
    fprintf(out, ",%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(run, "seed")));
}

static void write_runs(const json_t *document, FILE *out)
{
    size_t i;
    json_t *run;
    fputs("arm,condition,seed,folder,status,ended_by,failed,reached", out);
    for (size_t f = 0; f < MOT_FIGURES; f++) fprintf(out, ",%s", mot_figure_kinds[f].name);
    fputs("\r\n", out);
    json_array_foreach(mot_json_get_list(document, "runs"), i, run)
    {
        static const char *const words[] = { "folder", "status", "ended_by", "failed" };
        put_run(document, run, out);
        for (size_t w = 0; w < MOT_COUNT(words); w++) {
            fputc(',', out);
            put_text(mot_json_get_text(run, words[w]), out);
        }
        fputs(json_is_true(json_object_get(run, "reached")) ? ",true" : ",false", out);
        for (size_t f = 0; f < MOT_FIGURES; f++) {
            fputc(',', out);
            put_number(mot_json_get_number(json_object_get(run, "figures"), mot_figure_kinds[f].name), out);
        }
        fputs("\r\n", out);
    }
}

static enum mot_status write_curve(const json_t *document, const json_t *run, FILE *out)
{
    const char *folder = mot_json_get_text(run, "folder");
    if (!*folder) return MOT_OK;
    struct mot_history h;
    char *path = mot_path_join(folder, "metrics.jsonl");
    bool there = mot_file_exists(path);
    enum mot_status status = there ? mot_history_read(path, &h) : MOT_OK;
    free(path);
    if (!there || status != MOT_OK) return status;
    bool cut = json_is_true(json_object_get(run, "cut")); /* it went on after it met this target */
    double met = cut ? mot_json_get_number(json_object_get(run, "figures"), "time_to_target") : (double)NAN;
    for (size_t i = 0; i < h.n && !(h.value[MOT_COL_TIME][i] > met); i++) { /* NaN: to the end */
        put_run(document, run, out);
        for (int c = 0; c < MOT_COLUMNS; c++) {
            fputc(',', out);
            put_number(h.value[c][i], out);
        }
        fputs("\r\n", out);
    }
    mot_history_free(&h);
    return MOT_OK;
}

static enum mot_status write_curves(const json_t *document, FILE *out)
{
    enum mot_status status = MOT_OK;
    fputs("arm,condition,seed", out);
    for (int c = 0; c < MOT_COLUMNS; c++) fprintf(out, ",%s", mot_column_name[c]);
    fputs("\r\n", out);
    const json_t *runs = mot_json_get_list(document, "runs");
    for (size_t i = 0; i < json_array_size(runs) && status == MOT_OK; i++)
        status = write_curve(document, json_array_get(runs, i), out);
    return status;
}

enum mot_status mot_csv_write(const json_t *document, const char *prefix)
{
    struct mot_replace runs, curves;
    char *runs_path = mot_format("%s-runs.csv", prefix), *curves_path = mot_format("%s-curves.csv", prefix);
    enum mot_status status = mot_replace_begin(runs_path, &runs);
    if (status == MOT_OK) {
        write_runs(document, runs.out);
        status = mot_replace_commit(&runs);
    }
    if (status == MOT_OK) status = mot_replace_begin(curves_path, &curves);
    if (status == MOT_OK) {
        status = write_curves(document, curves.out);
        if (status == MOT_OK) status = mot_replace_commit(&curves);
        else mot_replace_abandon(&curves);
    }
    free(runs_path);
    free(curves_path);
    return status;
}
