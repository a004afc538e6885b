/* data.c -- `motley data list`, `data info` and `data convert`. */
#include "cli.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/shown.h"
#include "base/words.h"
#include "data/formats.h"
#include "data/missing.h"
#include "data/scale.h"
#include "raw_data.h"
#include "report/json.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_flag info_flags[] = {
    { "labels", "FILE", "IDX and NPY: the label file; default: found by its usual name" },
    { "format", "FORMAT", "auto, idx, libsvm, csv, npy, npz, cifar10 or cifar100" },
    { "label-column", "COLUMN", "CSV: the label column: its name, its number from 0, first, last or none" },
    { "skip", "COLUMNS", "CSV: columns to leave out: names or numbers from 0, separated by commas" },
    { "separator", "CHARACTER", "CSV: the column separator: a character, tab or space" },
    { "header", "auto|yes|no", "CSV: whether the first line names the columns" },
    { "words", "COLUMNS", "CSV: columns whose numbers are only names" },
    { "task", "auto|classes|regression", "what the labels are" },
    { "unpack-max", "SIZE", "the largest size that a .gz file may unpack to" },
    { "rows", "N", "read only the first N rows" },
    { 0 },
};

static const struct cli_flag convert_flags[] = {
    { "to", "FORMAT", "libsvm, csv, npy or idx; default: by the ending of OUT" },
    { "labels-to", "FILE", "NPY and IDX: where the labels go; default: OUT's name with 'labels' in it" },
    { "labels", "FILE", "IDX and NPY: IN's label file; default: found by its usual name" },
    { "format", "FORMAT", "IN's format: auto, idx, libsvm, csv, npy, npz, cifar10 or cifar100" },
    { "label-column", "COLUMN", "CSV: the label column: its name, its number from 0, first, last or none" },
    { "skip", "COLUMNS", "CSV: columns to leave out: names or numbers from 0, separated by commas" },
    { "separator", "CHARACTER", "CSV: the column separator: a character, tab or space" },
    { "header", "auto|yes|no", "CSV: whether the first line names the columns" },
    { "missing", "HOW", "CSV: fill missing values with mean, median, frequent or a number" },
    { "words", "COLUMNS", "CSV: columns whose numbers are only names" },
    { "unpack-max", "SIZE", "the largest size that a .gz file may unpack to" },
    { "rows", "N", "convert only the first N rows" },
    { 0 },
};

/* ---- list ------------------------------------------------------------------------------ */

static const char formats_text[] =
    "IDX      images-idx3 with labels-idx1, like MNIST\n"
    "LIBSVM   label index:value ...; rows stay sparse\n"
    "CSV      with or without a header; comma, semicolon, tab or space; label last unless --label-column\n"
    "NPY      X.npy with y.npy; f4 f8 i1..i8 u1..u8 b1\n"
    "NPZ      arrays of features and labels found by name, such as x_train and y_train (read only)\n"
    "CIFAR    the binary files of CIFAR-10 and CIFAR-100 (read only)\n";

static enum mot_status run_list(const struct cli_args *args)
{
    if (args->json) {
        json_t *sets = json_array();
        for (const struct mot_builtin *b = mot_builtins; b->name; b++)
            json_array_append_new(sets,
                json_pack("{s:s, s:s, s:b, s:s}", "name", b->name, "summary", b->summary, "available",
                    (int)b->available(), "hint", b->hint));
        json_t *all = json_pack("{s:o, s:[s, s, s, s, s, s, s]}", "sets", sets, "formats", "idx", "libsvm",
            "csv", "npy", "npz", "cifar10", "cifar100");
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(all);
        return MOT_OK;
    }
    puts("Built-in sets:");
    for (const struct mot_builtin *b = mot_builtins; b->name; b++) {
        printf("  %-14s %s\n", b->name, b->summary);
        if (!b->available()) printf("  %-14s not on this machine: %s\n", "", b->hint);
    }
    puts("File formats, each plain or .gz:");
    for (const char *line = formats_text; *line; line = strchr(line, '\n') + 1)
        printf("  %.*s\n", (int)strcspn(line, "\n"), line);
    return MOT_OK;
}

/* ---- info ---------------------------------------------------------------------------------- */

struct facts {
    uint64_t entries, nonzeros, missing;
    double least, most, mean;
    bool classes;
    uint32_t class_count;
    char **class_names;
    uint64_t *class_rows;
    double label_least, label_most, label_mean;
    double bytes;
};

/* Whether column c belongs to a column of words but is not its first, which stands for all of them. */
static bool inside_words(const struct mot_raw *raw, uint32_t c)
{
    for (uint32_t i = 0; i < raw->words.count; i++) {
        const struct mot_word_column *w = &raw->words.at[i];
        if (c > w->first && c < w->first + w->count) return true;
    }
    return false;
}

static const char *column_title(const struct mot_raw *raw, uint32_t c, char *into, size_t size)
{
    const char *name = raw->column_names ? raw->column_names[c] : "a feature";
    for (uint32_t i = 0; i < raw->words.count; i++)
        if (raw->words.at[i].first == c && raw->words.at[i].name) name = raw->words.at[i].name;
    return mot_show_text(name, into, size);
}

static void gather_numbers(const struct mot_raw *raw, struct facts *f)
{
    const float *v = raw->sparse ? raw->val : raw->x;
    f->entries = mot_raw_entries(raw);
    uint64_t all = (uint64_t)raw->rows * raw->cols;
    uint64_t present = 0;
    double sum = 0;
    f->least = f->entries < all ? 0 : INFINITY;
    f->most = f->entries < all ? 0 : -INFINITY;
    for (uint64_t i = 0; i < f->entries; i++) {
        double value = (double)v[i];
        if (isnan(value)) continue;
        present++;
        sum += value;
        f->nonzeros += value != 0;
        if (value < f->least) f->least = value;
        if (value > f->most) f->most = value;
    }
    f->mean = sum / (double)(present + all - f->entries);
    for (uint32_t c = 0; c < raw->cols; c++)
        if (!inside_words(raw, c)) f->missing += mot_missing_count(raw, c);
    f->bytes = raw->sparse ? (double)f->entries * 8 + ((double)raw->rows + 1) * 8 : (double)all * 4;
    f->bytes += (double)raw->rows * 4;
}

static enum mot_status gather_labels(
    const struct mot_raw *raw, const struct mot_data_conf *conf, struct facts *f)
{
    enum mot_task task;
    const struct mot_labels *l = &raw->labels;
    enum mot_status status = mot_raw_task(raw, (enum mot_task)conf->task, conf->name, &task);
    if (status != MOT_OK) return status;
    f->classes = task == MOT_TASK_CLASSES;
    if (f->classes) {
        uint32_t *class_of;
        mot_labels_classes(l, &f->class_count, &f->class_names, &class_of);
        for (uint32_t c = 0; c < f->class_count; c++) {
            const char *known = mot_builtin_class(conf->name, f->class_names[c]);
            if (!known) continue;
            free(f->class_names[c]);
            f->class_names[c] = mot_text(known);
        }
        f->class_rows = mot_new(f->class_count, sizeof *f->class_rows);
        for (uint32_t r = 0; r < l->rows; r++) f->class_rows[class_of[l->id[r]]]++;
        free(class_of);
        return MOT_OK;
    }
    f->label_least = INFINITY;
    f->label_most = -INFINITY;
    for (uint32_t r = 0; r < l->rows; r++) {
        f->label_mean += l->value[r] / l->rows;
        if (l->value[r] < f->label_least) f->label_least = l->value[r];
        if (l->value[r] > f->label_most) f->label_most = l->value[r];
    }
    return MOT_OK;
}

static const char *scale_word(const struct mot_raw *raw)
{
    switch (mot_scale_auto(raw)) {
    case MOT_SCALE_STANDARD: return "standard";
    case MOT_SCALE_MINMAX: return "minmax";
    case MOT_SCALE_UNIT: return "unit";
    case MOT_SCALE_AUTO:
    case MOT_SCALE_NONE: break;
    }
    return "none";
}

static const char *format_word(const struct mot_raw *raw, const struct mot_data_conf *conf)
{
    for (const struct mot_builtin *b = mot_builtins; b->name; b++)
        if (strcmp(b->name, conf->name) == 0) return "built-in";
    return mot_format_name((enum mot_format)raw->format);
}

static void print_info_json(
    const struct mot_raw *raw, const struct mot_data_conf *conf, const struct facts *f, uint32_t test_rows)
{
    json_t *all = json_pack("{s:s, s:s, s:I, s:I, s:I, s:b, s:I, s:I, s:f, s:f, s:f, s:s, s:I}", "name",
        conf->name, "format", format_word(raw, conf), "rows", (json_int_t)raw->rows, "cols",
        (json_int_t)raw->cols, "test_rows", (json_int_t)test_rows, "sparse", (int)raw->sparse, "nonzeros",
        (json_int_t)f->nonzeros, "missing", (json_int_t)f->missing, "min", f->least, "max", f->most, "mean",
        f->mean, "scale_auto", scale_word(raw), "bytes", (json_int_t)f->bytes);
    const struct mot_picture *p = &raw->geometry;
    json_object_set_new(all, "picture",
        p->channels ? json_sprintf("%ux%ux%u", p->channels, p->height, p->width) : json_null());
    json_object_set_new(
        all, "task", raw->labelled ? json_string(f->classes ? "classes" : "regression") : json_null());
    if (raw->labelled && f->classes) {
        json_t *classes = json_array();
        for (uint32_t c = 0; c < f->class_count; c++)
            json_array_append_new(classes,
                json_pack("{s:o, s:I}", "label", mot_json_text(f->class_names[c]), "rows",
                    (json_int_t)f->class_rows[c]));
        json_object_set_new(all, "classes", classes);
    } else if (raw->labelled) {
        json_object_set_new(all, "label",
            json_pack("{s:f, s:f, s:f}", "min", f->label_least, "max", f->label_most, "mean", f->label_mean));
    }
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(all);
}

static void print_words(const struct mot_raw *raw)
{
    char shown[64];
    for (uint32_t i = 0; i < raw->words.count; i++) {
        const struct mot_word_column *c = &raw->words.at[i];
        printf("%-10s %s: %u column%s for", i ? "" : "words",
            c->name ? mot_show_text(c->name, shown, sizeof shown) : "a column of words", c->count,
            c->count == 1 ? "" : "s");
        for (uint32_t w = 0; w < c->count && w < 6; w++)
            printf("%s %s", w ? "," : "", mot_show_text(c->word[w], shown, sizeof shown));
        puts(c->count > 6 ? ", ..." : "");
    }
}

/* The total, and the first columns that have any. */
static void print_missing(const struct mot_raw *raw, uint64_t all)
{
    char shown[64];
    printf("%-10s %llu", "missing", (unsigned long long)all);
    uint32_t named = 0;
    for (uint32_t c = 0; c < raw->cols && named < 6; c++) {
        uint64_t gaps = inside_words(raw, c) ? 0 : mot_missing_count(raw, c);
        if (gaps == 0) continue;
        printf("%s %llu of %s", named++ ? "," : ":", (unsigned long long)gaps,
            column_title(raw, c, shown, sizeof shown));
    }
    puts(named == 6 ? ", ...; `missing` says how to fill them" : "; `missing` says how to fill them");
}

static void print_info(
    const struct mot_raw *raw, const struct mot_data_conf *conf, const struct facts *f, uint32_t test_rows)
{
    char size[32], shown[256];
    double all = (double)raw->rows * raw->cols;
    printf("%-10s %s\n%-10s %s%s\n", "name", mot_show_text(conf->name, shown, sizeof shown), "format",
        format_word(raw, conf), raw->sparse ? ", sparse" : "");
    printf("%-10s %u", "rows", raw->rows);
    if (test_rows) printf(" and %u test rows", test_rows);
    if (raw->has_test) printf("; the file also holds test rows, which `test_path` reads");
    printf("\n%-10s %u", "columns", raw->cols);
    if (raw->geometry.channels)
        printf("\n%-10s %ux%ux%u (channels, height, width)", "pictures", raw->geometry.channels,
            raw->geometry.height, raw->geometry.width);
    printf("\n%-10s %llu (%.2f %%)\n", "non-zeros", (unsigned long long)f->nonzeros,
        100 * (double)f->nonzeros / all);
    printf("%-10s %g to %g, mean %g\n", "values", f->least, f->most, f->mean);
    print_words(raw);
    if (f->missing) print_missing(raw, f->missing);
    if (!raw->labelled) printf("%-10s none\n", "labels");
    else if (f->classes) {
        printf("%-10s %u class%s\n", "labels", f->class_count, f->class_count == 1 ? "" : "es");
        for (uint32_t c = 0; c < f->class_count && c < 30; c++)
            printf("%-10s   %-16s %llu (%.1f %%)\n", "",
                mot_show_text(f->class_names[c], shown, sizeof shown), (unsigned long long)f->class_rows[c],
                100 * (double)f->class_rows[c] / raw->rows);
        if (f->class_count > 30)
            printf("%-10s   ... and %u more (all with --json)\n", "", f->class_count - 30);
    } else
        printf(
            "%-10s regression: %g to %g, mean %g\n", "labels", f->label_least, f->label_most, f->label_mean);
    printf("%-10s auto is %s%s\n", "scaling", scale_word(raw),
        raw->picture ? ", one factor for all columns" : "");
    printf("%-10s %s\n", "memory", mot_show_size(f->bytes, size, sizeof size));
}

static enum mot_status run_info(const struct cli_args *args)
{
    struct mot_arena arena = { 0 };
    struct mot_data_conf conf;
    struct mot_raw raw = { 0 }, test = { 0 };
    struct facts facts = { 0 };
    enum mot_status status = cli_raw_conf(args, args->word[0], &arena, &conf);
    if (status == MOT_OK) status = cli_raw_open(&conf, true, &raw);
    if (status == MOT_OK && strcmp(conf.name, "fashion-mnist") == 0) {
        struct mot_read_conf read = mot_read_as(&conf);
        read.rows = UINT64_MAX;
        status = mot_raw_open(&conf, 1, 1, &read, &test);
    }
    if (status == MOT_OK) gather_numbers(&raw, &facts);
    if (status == MOT_OK && raw.labelled) status = gather_labels(&raw, &conf, &facts);
    if (status == MOT_OK && args->json) print_info_json(&raw, &conf, &facts, test.rows);
    else if (status == MOT_OK) print_info(&raw, &conf, &facts, test.rows);
    for (uint32_t c = 0; c < facts.class_count; c++) free(facts.class_names[c]);
    free(facts.class_names);
    free(facts.class_rows);
    mot_raw_free(&raw);
    mot_raw_free(&test);
    mot_arena_free(&arena);
    return status;
}

/* ---- convert ---------------------------------------------------------------------------------- */

/* By the end of the name, before .gz. */
static enum mot_format format_of_name(const char *path)
{
    static const struct {
        const char *end;
        enum mot_format format;
    } ends[] = {
        { ".csv", MOT_FORMAT_CSV },
        { ".npy", MOT_FORMAT_NPY },
        { ".libsvm", MOT_FORMAT_LIBSVM },
        { ".svm", MOT_FORMAT_LIBSVM },
        { ".svmlight", MOT_FORMAT_LIBSVM },
        { ".idx", MOT_FORMAT_IDX },
        { "-ubyte", MOT_FORMAT_IDX },
        { ".idx2", MOT_FORMAT_IDX },
        { ".idx3", MOT_FORMAT_IDX },
    };
    size_t n = strlen(path);
    if (n > 3 && strcmp(path + n - 3, ".gz") == 0) n -= 3;
    for (size_t i = 0; i < MOT_COUNT(ends); i++) {
        size_t m = strlen(ends[i].end);
        if (n > m && memcmp(path + n - m, ends[i].end, m) == 0) return ends[i].format;
    }
    return MOT_FORMAT_AUTO;
}

static enum mot_status target_format(const struct cli_args *args, enum mot_format *out)
{
    static const char *const words[] = { "auto", "idx", "libsvm", "csv", "npy" };
    const char *to = cli_value(args, "to");
    *out = MOT_FORMAT_AUTO;
    if (!to) {
        *out = format_of_name(args->word[1]);
        if (*out == MOT_FORMAT_AUTO)
            return mot_fail(MOT_EUSAGE,
                "%s: cannot tell the format from the name; expected .libsvm, .csv, .npy or .idx (then "
                "perhaps .gz), or --to FORMAT",
                args->word[1]);
        return MOT_OK;
    }
    for (uint32_t i = 1; i < MOT_COUNT(words); i++)
        if (strcmp(to, words[i]) == 0) {
            *out = (enum mot_format)i;
            return MOT_OK;
        }
    const char *nearest = mot_nearest(to, words + 1, MOT_COUNT(words) - 1);
    return mot_fail(MOT_EUSAGE, "--to %s: expected one of libsvm, csv, npy, idx%s%s%s", to,
        nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static enum mot_status run_convert(const struct cli_args *args)
{
    struct mot_arena arena = { 0 };
    struct mot_data_conf conf;
    struct mot_raw raw = { 0 };
    enum mot_format format;
    enum mot_status status = target_format(args, &format);
    if (status == MOT_OK) status = cli_raw_conf(args, args->word[0], &arena, &conf);
    if (status == MOT_OK) status = cli_raw_open(&conf, false, &raw);
    if (status == MOT_OK) status = cli_raw_fill(&conf, &raw);
    if (status == MOT_OK) status = mot_raw_write(&raw, args->word[1], cli_value(args, "labels-to"), format);
    if (status == MOT_OK && args->json) {
        json_t *all = json_pack("{s:s, s:s, s:I, s:I}", "name", args->word[1], "format",
            mot_format_name(format), "rows", (json_int_t)raw.rows, "cols", (json_int_t)raw.cols);
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(all);
    } else if (status == MOT_OK && !args->quiet) {
        char shown[256];
        fprintf(stderr, "%s: %u rows of %u columns\n", mot_show_text(args->word[1], shown, sizeof shown),
            raw.rows, raw.cols);
    }
    mot_raw_free(&raw);
    mot_arena_free(&arena);
    return status;
}

const struct cli_command cli_data_list = {
    .name = "data list",
    .synopsis = "[flags]",
    .summary = "list built-in data sets and file formats",
    .about =
        "Lists the names that `data` in an experiment, or --data, accepts besides files, and the formats "
        "of files that motley reads and converts.",
    .examples = "motley data list\n",
    .run = run_list,
};

const struct cli_command cli_data_info = {
    .name = "data info",
    .synopsis = "NAME|FILE [flags]",
    .summary = "describe a data set: rows, columns, classes, range",
    .about = "Reads a file, or the training rows of a built-in set, and describes them before any scaling.",
    .examples = "motley data info digits\n"
                "motley data info a9a.gz --json\n"
                "motley data info occupancy.csv --skip date --label-column Occupancy\n",
    .flags = info_flags,
    .words_min = 1,
    .words_max = 1,
    .run = run_info,
};

const struct cli_command cli_data_convert = {
    .name = "data convert",
    .synopsis = "IN OUT [flags]",
    .summary = "convert a data set from one format to another",
    .about = "Reads a built-in set or a file and writes it as LIBSVM, CSV, NPY or IDX (whole numbers from 0 "
             "to 255), compressed if OUT ends in .gz. NPY and IDX keep labels in a second file. They "
             "keep the shape of pictures. Numbers are "
             "written so that they read back as the same floats. OUT appears complete or not at all.",
    .examples = "motley data convert digits digits.csv\nmotley data convert a9a.gz a9a.npy\n",
    .flags = convert_flags,
    .words_min = 2,
    .words_max = 2,
    .run = run_convert,
};
