/* report.c -- `motley report`: finished runs as a table, a page, CSV files, TensorBoard events. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/shown.h"
#include "page/page.h"
#include "report/json.h"
#include "report/report.h"
#include "report/tensorboard.h"
#include "study.h"
#include "study/answer.h"
#include "study/document.h"
#include "study/gather.h"
#include "study/slug.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The command line, quoted for a shell. malloc'd. */
static char *command_line(const struct cli_args *args)
{
    char *line = NULL;
    size_t n;
    FILE *out = open_memstream(&line, &n);
    if (!out) return mot_text("");
    fputs("motley", out);
    for (size_t i = 0; i < args->lines; i++) {
        fputc(' ', out);
        cli_print_word(args->line[i], out);
    }
    fclose(out);
    return line;
}

/* ---- A study's folder -------------------------------------------------------------------------- */

/* If a study was moved together with its runs, they are beside it. */
static void find_runs(json_t *document, const char *study)
{
    size_t i, lost = 0;
    json_t *run;
    json_array_foreach(json_object_get(document, "runs"), i, run)
    {
        const char *folder = json_string_value(json_object_get(run, "folder"));
        if (!folder || mot_file_exists(folder)) continue;
        char *beside = mot_path_join(study, folder);
        if (mot_file_exists(beside)) json_object_set_new(run, "folder", json_string(beside));
        else lost++;
        free(beside);
    }
    char shown[512];
    if (lost)
        fprintf(stderr,
            "motley: %zu of %zu runs are not where %s/study.json says; the page lacks their curves\n", lost,
            i, mot_show_text(study, shown, sizeof shown));
}

static enum mot_status open_study(const char *folder, json_t **out)
{
    char *path = mot_path_join(folder, "study.json");
    json_t *document;
    enum mot_status status = mot_json_read(path, MOT_EDATA, &document);
    static const char *const lists[] = { "arms", "conditions", "runs", "cells" };
    for (size_t i = 0; i < MOT_COUNT(lists) && status == MOT_OK; i++)
        if (!json_is_array(json_object_get(document, lists[i])))
            status = mot_fail(MOT_EDATA, "%s: damaged: expected a study with a list of %s", path, lists[i]);
    free(path);
    if (status == MOT_OK && !json_object_get(document, "answers"))
        mot_study_judge(document); /* written by an older version */
    if (status == MOT_OK) *out = document;
    else json_decref(document);
    return status;
}

/* ---- Outputs ------------------------------------------------------------------------------------- */

/* The side's name as part of a folder's name, unique among the sides; "" if it has none. malloc'd. */
static char *folder_part(const json_t *document, const char *list, size_t at)
{
    if (!*mot_document_name(document, list, at)) return mot_text("");
    const char **name = mot_new(at + 1, sizeof(*name));
    for (size_t i = 0; i <= at; i++) name[i] = mot_document_name(document, list, i);
    char *part = mot_slug(name, at);
    free(name);
    return part;
}

static char *folder_name(const json_t *document, const json_t *run)
{
    char *arm = folder_part(document, "arms", mot_json_get_count(run, "arm")),
         *condition = folder_part(document, "conditions", mot_json_get_count(run, "condition"));
    char *name = mot_format("%s%s%s-seed-%" JSON_INTEGER_FORMAT, arm, *condition ? "-" : "", condition,
        json_integer_value(json_object_get(run, "seed")));
    free(arm);
    free(condition);
    return name;
}

/* One folder per run, named as TensorBoard will show it; runs in a store have no names and stay untouched. */
static enum mot_status write_events(const json_t *document, const char *into)
{
    size_t i;
    json_t *run;
    enum mot_status status = MOT_OK;
    json_array_foreach(json_object_get(document, "runs"), i, run)
    {
        const char *folder = json_string_value(json_object_get(run, "folder"));
        if (!folder || status != MOT_OK) continue;
        char *name = folder_name(document, run);
        char *place = mot_path_join(into, name), *path = mot_path_join(place, MOT_TENSORBOARD_NAME),
             *metrics = mot_path_join(folder, "metrics.jsonl");
        struct mot_tensorboard *events = NULL;
        status = mot_make_folder(place);
        if (status == MOT_OK) status = mot_tensorboard_open(path, metrics, &events);
        if (status == MOT_OK) status = mot_tensorboard_close(events);
        free(name), free(place), free(path), free(metrics);
    }
    return status;
}

static enum mot_status write_all(const struct cli_args *args, const json_t *document, const char *page)
{
    const char *csv = cli_value(args, "csv");
    size_t n = strlen(page);
    bool html = n > 5 && strcmp(page + n - 5, ".html") == 0;
    char *events = mot_format("%.*s-tensorboard", (int)(html ? n - 5 : n), page);
    enum mot_status status = mot_page_write(document, page);
    if (status == MOT_OK && csv) status = mot_csv_write(document, csv);
    if (status == MOT_OK && cli_value(args, "svg"))
        status = mot_picture_write(document, cli_value(args, "svg"));
    if (status == MOT_OK && cli_given(args, "tensorboard")) status = write_events(document, events);
    if (status == MOT_OK && args->json) {
        mot_json_print(document, stdout);
    } else if (status == MOT_OK && !args->quiet) {
        mot_study_table(document, stdout, cli_columns(), isatty(STDOUT_FILENO) && args->colour);
        char shown[512];
        putchar('\n');
        if (csv) mot_show_text(csv, shown, sizeof shown);
        if (csv) printf("For plots: %s-runs.csv and %s-curves.csv\n", shown, shown);
        if (cli_given(args, "tensorboard"))
            printf("For TensorBoard: tensorboard --logdir %s\n", mot_show_text(events, shown, sizeof shown));
        printf("Page: %s\n", mot_show_text(page, shown, sizeof shown));
    }
    free(events);
    return status;
}

static enum mot_status report_study(const struct cli_args *args, const char *folder)
{
    json_t *document;
    enum mot_status status = open_study(folder, &document);
    if (status != MOT_OK) return status;
    find_runs(document, folder);
    const char *out = cli_value(args, "out");
    char *page = out ? mot_text(out) : mot_path_join(folder, "report.html");
    status = write_all(args, document, page);
    free(page);
    json_decref(document);
    return status;
}

static enum mot_status report_runs(const struct cli_args *args, const char *const *folder, size_t folders)
{
    struct mot_gathered *gathered;
    json_t *document;
    char *line = command_line(args);
    enum mot_status status = mot_gather(folder, folders, line, &gathered);
    free(line);
    if (status != MOT_OK) return status;
    status = mot_study_document(&gathered->study, &document);
    mot_gathered_close(gathered);
    if (status != MOT_OK) return status;
    const char *out = cli_value(args, "out");
    status = write_all(args, document, out ? out : "report.html");
    json_decref(document);
    return status;
}

static bool is_study(const char *folder)
{
    char *path = mot_path_join(folder, "study.json");
    bool there = mot_file_exists(path);
    free(path);
    return there;
}

/* Why a folder is left out when given among others, as by runs/<all>; NULL: it is not. */
static const char *left_out(const char *folder)
{
    if (is_study(folder)) return "a study is reported alone";
    if (mot_file_exists(folder) && !mot_holds_runs(folder)) return "it holds no run";
    return NULL;
}

static enum mot_status report(const struct cli_args *args)
{
    if (args->words == 1 && is_study(args->word[0])) return report_study(args, args->word[0]);
    const char **folder = mot_new(args->words, sizeof *folder);
    size_t folders = 0;
    for (size_t i = 0; i < args->words; i++) {
        const char *why = args->words > 1 ? left_out(args->word[i]) : NULL;
        if (!why) folder[folders++] = args->word[i];
        if (!why || args->quiet) continue;
        mot_put_shown(args->word[i], stderr);
        fprintf(stderr, ": left out: %s\n", why);
    }
    enum mot_status status = folders
        ? report_runs(args, folder, folders)
        : mot_fail(MOT_EUSAGE, "none of the %zu folders is a run folder or holds one", args->words);
    free(folder);
    return status;
}

static const struct cli_flag flags[] = {
    { "out", "FILE.html",
        "the page; default: report.html, or for a study report.html in the study's folder" },
    { "svg", "FILE", "also write a picture: timelines of the arms, and their curves" },
    { "csv", "PREFIX",
        "also write PREFIX-runs.csv, one row per run, and PREFIX-curves.csv, one row per evaluation" },
    { "tensorboard", NULL, "also write TensorBoard events beside the page, one folder per run" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_report = {
    .name = "report",
    .synopsis = "RUN... [--out FILE.html] [--csv PREFIX] [--tensorboard]",
    .summary = "compare finished runs: a table and a page",
    .about =
        "Reads the run folders that motley sim and motley train wrote, prints a table, and writes a page: "
        "one file that needs no network, with learning curves, time to target, a timeline of each run, each "
        "worker's data and the settings. Runs that differ only in their seed form one arm; arms are compared "
        "with the first, seed by seed, and named by what sets them apart. A folder that holds run folders "
        "stands for all of them.\n"
        "For a study's folder (motley compare), the page is made again from study.json. Among other folders "
        "a study is left out, as is a folder without runs, so you can give runs/*.",
    .examples = "motley report runs/first runs/second\n"
                "motley report runs/* --out all.html --csv all\n"
                "motley report studies/demo --tensorboard\n",
    .flags = flags,
    .words_min = 1,
    .words_max = 10000,
    .run = report,
};
