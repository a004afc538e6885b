/* address.c -- the `source:` section: its table, and what `from` means for a worker. */
#include "base/memory.h"
#include "stream/intake.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct mot_intake_conf, field)

const struct mot_option mot_intake_options[] = {
    { "from", MOT_OPT_TEXT, AT(from), "none",
        "where the workers' records come from in a live run: a file that grows, or - for standard input; "
        "{worker} stands for the worker's number; none: from `data`",
        .word = "none" },
    { "records", MOT_OPT_CHOICE, AT(records), "auto",
        "what a record is: a line of CSV, LIBSVM or JSON, or a row of 32-bit floats; auto: by the ending of "
        "`from` (.csv, .libsvm, .jsonl, .f32), or else csv",
        .choices = "auto|csv|libsvm|json|raw" },
    { "label", MOT_OPT_TEXT, AT(label), "auto",
        "CSV: which field is the label: first, last or a number from 0; JSON: its key; auto: last, y",
        .word = "auto" },
    { "features", MOT_OPT_TEXT, AT(features), "x",
        "JSON: the key of a list with all features; columns can also be given by their names", .min = 0 },
    { "separator", MOT_OPT_TEXT, AT(separator), "auto",
        "CSV: what separates fields: a character, tab or space; auto: a comma", .word = "auto" },
    { "buffer", MOT_OPT_CHOICE, AT(buffer), "persist",
        "what becomes of samples that come faster than they are used: all are kept, where they came from; "
        "only "
        "those of the last second; or at most `bound`. The oldest are dropped",
        .choices = "persist|truncate|bounded" },
    { "bound", MOT_OPT_UINT, AT(bound), "auto",
        "bounded: samples that may wait at a worker; auto: as many as `memory` holds", .min = 1,
        .word = "auto" },
    { "memory", MOT_OPT_SIZE, AT(memory), "64MiB", "memory of a worker for rows that wait to be used",
        .min = 4096, .max = 1e13 },
    { "longest", MOT_OPT_SIZE, AT(longest), "1MiB", "the longest record; longer ones are malformed",
        .min = 64, .max = 1e9 },
    { "ends", MOT_OPT_BOOL, AT(ends), "false",
        "files are complete: the run ends when a worker has used all of its own", .min = 0 },
    { 0 },
};

/* The text with each {worker} replaced, and whether there was one. */
static char *for_worker(const char *text, uint32_t worker, bool *had)
{
    char *out = mot_text("");
    *had = false;
    for (const char *mark; (mark = strstr(text, "{worker}")); text = mark + strlen("{worker}")) {
        char *longer = mot_format("%s%.*s%u", out, (int)(mark - text), text, worker);
        free(out);
        out = longer;
        *had = true;
    }
    char *all = mot_format("%s%s", out, text);
    free(out);
    return all;
}

static const char *after(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

char *mot_address_of(const char *from, uint32_t worker, uint32_t workers, struct mot_address *out)
{
    struct mot_address a = { .kind = MOT_INLET_FILE };
    const char *path = after(from, "file://");
    bool own;
    if (strcmp(from, "-") == 0) {
        if (workers > 1)
            return mot_format(
                "expected an address with {worker} in it; found -, but standard input can feed one "
                "worker, and there are %u",
                workers);
        a.kind = MOT_INLET_INPUT;
        *out = a;
        return NULL;
    }
    if (!path && strstr(from, "://")) return mot_format("expected a path, file:// or -; found '%.80s'", from);
    if (!path) path = from;
    if (!*path) return mot_format("expected the path of a file; found ''");
    a.path = for_worker(path, worker, &own);
    if (workers > 1 && !own) {
        free(a.path);
        return mot_format(
            "expected {worker} in the path, since each of the %u workers reads a file of its own; "
            "found '%.80s'",
            workers, from);
    }
    *out = a;
    return NULL;
}

void mot_address_free(struct mot_address *a) { free(a->path); }

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

enum mot_record_format mot_records_format(const struct mot_intake_conf *c)
{
    if (c->records) return (enum mot_record_format)(c->records - 1);
    if (ends_with(c->from, ".libsvm") || ends_with(c->from, ".svm")) return MOT_RECORDS_LIBSVM;
    if (ends_with(c->from, ".jsonl") || ends_with(c->from, ".json")) return MOT_RECORDS_JSON;
    return ends_with(c->from, ".f32") ? MOT_RECORDS_RAW : MOT_RECORDS_CSV;
}

static bool separator_of(const char *text, char *out)
{
    *out = ',';
    if (!text) return true;
    if (strcmp(text, "tab") == 0) *out = '\t';
    else if (strcmp(text, "space") == 0) *out = ' ';
    else if (strlen(text) == 1 && !strchr("0123456789.+-eE\"\n", *text)) *out = *text;
    else return false;
    return true;
}

const char *mot_intake_form(const struct mot_intake_conf *c, const struct mot_schema *schema,
    char *const *column_names, struct mot_record_form *out)
{
    struct mot_record_form f = { .format = mot_records_format(c),
        .label = UINT32_MAX,
        .label_key = c->label ? c->label : "y",
        .feature_key = c->features,
        .schema = *schema,
        .column_names = column_names };
    if (!separator_of(c->separator, &f.separator))
        return "source.separator: expected a character that is in no number, tab or space";
    if (f.format == MOT_RECORDS_CSV && c->label) {
        char *end;
        unsigned long field = strtoul(c->label, &end, 10);
        if (strcmp(c->label, "first") == 0) f.label = 0;
        else if (strcmp(c->label, "last") != 0) {
            if (end == c->label || *end || field > schema->cols)
                return "source.label: expected first, last, or the number of a field, from 0 to the number "
                       "of "
                       "features";
            f.label = (uint32_t)field;
        }
    }
    *out = f;
    return NULL;
}

const char *mot_intake_promise(const struct mot_intake_conf *c)
{
    struct mot_address a;
    char *wrong = mot_address_of(c->from, 0, 1, &a);
    static const char *const promise[MOT_INLET_KINDS] = {
        [MOT_INLET_FILE] = "every record of the file counts exactly once, also after a crash and --resume",
        [MOT_INLET_INPUT] =
            "every record counts at most once; what was read and not yet in a checkpoint is lost "
            "in a crash",
    };
    free(wrong);
    if (wrong) return "";
    mot_address_free(&a);
    return promise[a.kind];
}
