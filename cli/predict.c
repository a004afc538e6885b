/* predict.c -- `motley predict`: a saved model's prediction for each row. */
#include "cli.h"

#include "base/csv_field.h"
#include "base/file.h"
#include "base/shown.h"
#include "model_data.h"
#include "report/json.h"
#include "report/score.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct writing {
    FILE *out;
    const struct mot_subject *s;
    bool probabilities, json;
    uint64_t rows;
};

/* A CSV field, quoted if needed. A terminal gets text to look at, not to read back. */
static void put_field(FILE *out, const char *text)
{
    if (isatty(fileno(out))) {
        mot_put_shown(text, out);
        return;
    }
    char *field = mot_csv_field(text, ",");
    fputs(field, out);
    free(field);
}

static void put_json_text(FILE *out, const char *text)
{
    json_t *string = mot_json_text(text);
    json_dumpf(string, out, JSON_ENCODE_ANY);
    json_decref(string);
}

/* The shortest text that reads back as the same float. */
static void put_float(const struct writing *w, float value)
{
    char text[MOT_NUMBER_SIZE];
    int digits = 6;
    do snprintf(text, sizeof text, "%.*g", digits, (double)value);
    while (strtof(text, NULL) != value && ++digits <= 9);
    bool odd = w->json && strpbrk(text, "ni"); /* JSON has no nan and no inf */
    fputs(odd ? "null" : text, w->out);
}

static void csv_row(void *self, const float *outputs, uint32_t best)
{
    struct writing *w = self;
    const struct mot_schema *schema = &w->s->model->schema;
    if (schema->classes) put_field(w->out, schema->class_names[best]);
    else put_float(w, outputs[0]);
    for (uint32_t i = 0; w->probabilities && i < schema->classes; i++) {
        fputc(',', w->out);
        put_float(w, outputs[i]);
    }
    fputc('\n', w->out);
    w->rows++;
}

static void json_row(void *self, const float *outputs, uint32_t best)
{
    struct writing *w = self;
    const struct mot_schema *schema = &w->s->model->schema;
    fputs(w->rows++ ? ",\n  " : "\n  ", w->out);
    if (w->probabilities && schema->classes) {
        fputs("{\"class\": ", w->out);
        put_json_text(w->out, schema->class_names[best]);
        fputs(", \"probability\": [", w->out);
        for (uint32_t i = 0; i < schema->classes; i++) {
            if (i) fputs(", ", w->out);
            put_float(w, outputs[i]);
        }
        fputs("]}", w->out);
    } else if (schema->classes) {
        put_json_text(w->out, schema->class_names[best]);
    } else {
        put_float(w, outputs[0]);
    }
}

static void write_all(struct writing *w)
{
    const struct mot_schema *schema = &w->s->model->schema;
    if (w->json) {
        fputs("{\"classes\": [", w->out);
        for (uint32_t i = 0; i < schema->classes; i++) {
            if (i) fputs(", ", w->out);
            put_json_text(w->out, schema->class_names[i]);
        }
        fputs("], \"prediction\": [", w->out);
        mot_predict_subject(w->s, json_row, w);
        fprintf(w->out, "\n], \"rows\": %" PRIu64 "}\n", w->rows);
        return;
    }
    if (w->probabilities && schema->classes) {
        fputs("class", w->out);
        for (uint32_t i = 0; i < schema->classes; i++) {
            fputc(',', w->out);
            put_field(w->out, schema->class_names[i]);
        }
        fputc('\n', w->out);
    }
    mot_predict_subject(w->s, csv_row, w);
}

static enum mot_status write_out(const struct cli_args *args, struct writing *w)
{
    const char *path = cli_value(args, "out");
    if (!path || strcmp(path, "-") == 0) {
        w->out = stdout;
        write_all(w);
        if (fflush(stdout) != 0 || ferror(stdout))
            return mot_fail(MOT_ESYSTEM, "cannot write to standard output: %s", strerror(errno));
        return MOT_OK;
    }
    struct mot_replace file;
    enum mot_status status = mot_replace_begin(path, &file);
    if (status != MOT_OK) return status;
    w->out = file.out;
    write_all(w);
    status = mot_replace_commit(&file);
    char shown[512];
    if (status == MOT_OK && !args->quiet)
        fprintf(stderr, "%" PRIu64 " predictions written to %s\n", w->rows,
            mot_show_text(path, shown, sizeof shown));
    return status;
}

static enum mot_status run(const struct cli_args *args)
{
    struct cli_data_settings settings;
    struct mot_subject subject;
    cli_data_settings(args, &settings);
    enum mot_status status = mot_subject_open(args->word[0], args->words > 1 ? args->word[1] : NULL,
        MOT_PART_ALL, settings.setting, settings.n, false, &subject);
    if (status != MOT_OK) return status;
    struct writing w = {
        .s = &subject, .probabilities = cli_given(args, "probabilities"), .json = args->json
    };
    status = cli_model_is_finite(args->word[0], subject.model);
    if (status == MOT_OK) status = write_out(args, &w);
    mot_subject_close(&subject);
    return status;
}

static const struct cli_flag flags[] = {
    { "out", "FILE", "write to this file, which appears once complete; -, the default: standard output" },
    { "probabilities", NULL, "add the probability of each class, with a header line that names the classes" },
    CLI_DATA_FLAGS,
    { NULL, NULL, NULL },
};

const struct cli_command cli_predict = {
    .name = "predict",
    .synopsis = "RUN|MODEL.safetensors [DATA] [flags]",
    .summary = "predict the class or value of each row with a model",
    .about = "Prints one line per row of DATA, in order: the class as spelt in the training data, or the "
             "value. The model is a file or the folder of a run; without DATA, the test rows of its own data "
             "are predicted. Rows are read like the training data: with its scaling, its words, and its "
             "substitutes for missing values. If a CSV file and the training file both have a header, "
             "columns are matched by name: their order does not matter, and others are left out. Rows need "
             "no labels: a CSV file may lack the label column, an IDX or NPY file its label file. For a "
             "built-in set with test rows of its own, those are used.",
    .examples = "motley predict runs/first new.csv\n"
                "motley predict runs/first\n"
                "motley predict model.safetensors images.npy --probabilities --out predicted.csv",
    .flags = flags,
    .words_min = 1,
    .words_max = 2,
    .run = run,
};
