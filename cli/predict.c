/* predict.c -- motley predict: what a saved model makes of each row. */
#include "cli.h"

#include "base/file.h"
#include "base/shown.h"
#include "model_data.h"
#include "report/json.h"
#include "report/score.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct writing {
    FILE *out;
    const struct mot_subject *s;
    bool probabilities, json;
    uint64_t rows;
};

/* A field of CSV: quoted where it holds what would end it. On a terminal it is to be looked at, not read
 * back. */
static void put_field(FILE *out, const char *text)
{
    if (isatty(fileno(out))) {
        mot_put_shown(text, out);
        return;
    }
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void put_json_text(FILE *out, const char *text)
{
    json_t *string = mot_json_text(text);
    json_dumpf(string, out, JSON_ENCODE_ANY);
    json_decref(string);
}

/* A float as short as it reads back to the same float. */
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
    if (!path) {
        w->out = stdout;
        write_all(w);
        if (fflush(stdout) != 0 || ferror(stdout))
            return mot_fail(MOT_ESYSTEM, "standard output: could not be written: %s", strerror(errno));
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
        fprintf(stderr, "%" PRIu64 " predictions in %s\n", w->rows, mot_show_text(path, shown, sizeof shown));
    return status;
}

static enum mot_status run(const struct cli_args *args)
{
    struct cli_data_settings settings;
    struct mot_subject subject;
    cli_data_settings(args, &settings);
    enum mot_status status = mot_subject_open(
        args->word[0], args->word[1], MOT_PART_ALL, settings.setting, settings.n, false, &subject);
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
    { "out", "FILE", "write to this file, which appears when it is complete, instead of standard output" },
    { "probabilities", NULL, "add the probability of each class, under a line that names them" },
    CLI_DATA_FLAGS,
    { NULL, NULL, NULL },
};

const struct cli_command cli_predict = {
    .name = "predict",
    .synopsis = "MODEL.safetensors DATA [flags]",
    .summary = "what a saved model makes of each row",
    .about = "Prints a line for each row of DATA, in its order: the class as the training data spelt it, or "
             "the value. Rows are "
             "scaled as the training data were. They need no labels: a CSV file may lack the label's column, "
             "an IDX or NPY file "
             "its label file. Of a built-in set that has a test part of its own, that part is taken.",
    .examples = "motley predict runs/first/model.safetensors new.csv\n"
                "motley predict model.safetensors images.npy --probabilities --out predicted.csv",
    .flags = flags,
    .words_min = 2,
    .words_max = 2,
    .run = run,
};
