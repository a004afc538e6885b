/* eval.c -- `motley eval`: how good a saved model is on data. */
#include "cli.h"

#include "base/shown.h"
#include "model_data.h"
#include "report/json.h"
#include "report/score.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum mot_status read_part(const char *text, enum mot_part *out)
{
    static const struct {
        const char *name;
        enum mot_part part;
    } parts[] = {
        { "test", MOT_PART_TEST },
        { "train", MOT_PART_TRAIN },
        { "valid", MOT_PART_VALID },
        { "all", MOT_PART_ALL },
    };
    *out = MOT_PART_AUTO;
    if (!text) return MOT_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(text, parts[i].name) == 0) {
            *out = parts[i].part;
            return MOT_OK;
        }
    return mot_fail(MOT_EUSAGE, "--part: expected test, train, valid or all; found '%.40s'", text);
}

static const char *class_name(const struct mot_subject *s, uint32_t class)
{
    return s->model->schema.class_names[class];
}

static uint64_t class_rows(const struct mot_marks *m, uint32_t class)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < m->classes; i++) rows += m->confusion[class * m->classes + i];
    return rows;
}

static double class_accuracy(const struct mot_marks *m, uint32_t class)
{
    uint64_t rows = class_rows(m, class);
    return rows ? (double)m->confusion[class * m->classes + class] / (double)rows : NAN;
}

/* ---- For programs ------------------------------------------------------------------ */

static void print_json(const struct cli_args *args, const struct mot_subject *s, const struct mot_marks *m)
{
    json_t *o = json_pack("{s:o, s:s, s:o, s:s, s:I, s:o, s:o, s:o}", "model", mot_json_text(args->word[0]),
        "kind", s->net.kind->name, "data", mot_json_text(s->source), "part", s->part, "rows",
        (json_int_t)m->rows, "loss", mot_json_number(m->loss), "accuracy", mot_json_number(m->accuracy),
        "rmse", mot_json_number(m->rmse));
    if (m->confusion) {
        json_t *classes = json_array(), *confusion = json_array();
        for (uint32_t c = 0; c < m->classes; c++) {
            json_t *line = json_array();
            for (uint32_t p = 0; p < m->classes; p++)
                json_array_append_new(line, json_integer((json_int_t)m->confusion[c * m->classes + p]));
            json_array_append_new(confusion, line);
            json_array_append_new(classes,
                json_pack("{s:o, s:I, s:o}", "name", mot_json_text(class_name(s, c)), "rows",
                    (json_int_t)class_rows(m, c), "accuracy", mot_json_number(class_accuracy(m, c))));
        }
        json_object_set_new(o, "class", classes);
        json_object_set_new(o, "confusion", confusion);
    }
    mot_json_print(o, stdout);
    json_decref(o);
}

/* ---- For people --------------------------------------------------------------------- */

/* The digits of the largest count; at least 3, for class numbers. */
static int cell_width(const struct mot_marks *m)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < m->classes * m->classes; i++)
        if (m->confusion[i] > most) most = m->confusion[i];
    int width = snprintf(NULL, 0, "%" PRIu64, most);
    return width < 3 ? 3 : width;
}

static void print_classes(const struct mot_subject *s, const struct mot_marks *m)
{
    int width = cell_width(m);
    printf("\n  %-3s %-16s %8s %10s   predicted as\n  %-3s %-16s %8s %10s  ", "", "class", "rows", "accuracy",
        "", "", "", "");
    for (uint32_t p = 0; p < m->classes; p++) printf(" %*u", width, p);
    putchar('\n');
    for (uint32_t c = 0; c < m->classes; c++) {
        char shown[17];
        double accuracy = class_accuracy(m, c);
        printf("  %3u %-16s %8" PRIu64 " ", c, mot_show_text(class_name(s, c), shown, sizeof shown),
            class_rows(m, c));
        if (isfinite(accuracy)) printf("%8.2f %%  ", 100 * accuracy);
        else printf("%10s  ", "-");
        for (uint32_t p = 0; p < m->classes; p++)
            printf(" %*" PRIu64, width, m->confusion[c * m->classes + p]);
        putchar('\n');
    }
}

static void print_people(const struct cli_args *args, const struct mot_subject *s, const struct mot_marks *m)
{
    char model[256], data[256];
    printf("%s on %s%s%s%s: %" PRIu64 " rows\n", mot_show_text(args->word[0], model, sizeof model),
        mot_show_text(s->source, data, sizeof data), strcmp(s->part, "all") == 0 ? "" : ", the ",
        strcmp(s->part, "all") == 0 ? "" : s->part, strcmp(s->part, "all") == 0 ? "" : " part", m->rows);
    printf("  loss       %.6g\n", m->loss);
    if (isfinite(m->accuracy))
        printf("  accuracy   %.2f %% (%" PRIu64 " right)\n", 100 * m->accuracy, m->right);
    if (isfinite(m->rmse)) printf("  rmse       %.6g\n", m->rmse);
    if (m->confusion && !args->quiet) print_classes(s, m);
}

static enum mot_status run(const struct cli_args *args)
{
    struct cli_data_settings settings;
    struct mot_subject subject;
    struct mot_marks marks;
    enum mot_part part;
    enum mot_status status = read_part(cli_value(args, "part"), &part);
    if (status != MOT_OK) return status;
    cli_data_settings(args, &settings);
    status = mot_subject_open(args->word[0], args->words > 1 ? args->word[1] : NULL, part, settings.setting,
        settings.n, true, &subject);
    if (status != MOT_OK) return status;
    status = cli_model_is_finite(args->word[0], subject.model);
    if (status == MOT_OK) {
        mot_score_subject(&subject, &marks);
        if (args->json) print_json(args, &subject, &marks);
        else print_people(args, &subject, &marks);
        if (!isfinite(marks.loss))
            status = mot_fail(MOT_EDIVERGED, "%s: the loss on these rows is not finite", args->word[0]);
        mot_marks_free(&marks);
    }
    mot_subject_close(&subject);
    return status;
}

static const struct cli_flag flags[] = {
    { "part", "test|train|valid|all",
        "which rows; default: test if the model was trained on DATA, else all" },
    CLI_DATA_FLAGS,
    { NULL, NULL, NULL },
};

const struct cli_command cli_eval = {
    .name = "eval",
    .synopsis = "RUN|MODEL.safetensors [DATA] [flags]",
    .summary = "evaluate a saved model on data",
    .about =
        "Prints the loss (without the regulariser) and the accuracy; for up to 20 classes also the accuracy "
        "of each class and the confusion matrix.\n\n"
        "The model is a file or the folder of a run. DATA is a built-in set or a file; without it, the test "
        "rows of the model's own data are used. The model file says which data the model was trained on, "
        "with which options and seed. If DATA is the same, only the test rows are used unless --part says "
        "otherwise; if the file has changed since, that is an error. Of other data all rows are used, scaled "
        "like the training data; a file is read like the training file unless flags say otherwise.",
    .examples = "motley eval runs/first\n"
                "motley eval model.safetensors new.csv --label-column quality --json",
    .flags = flags,
    .words_min = 1,
    .words_max = 2,
    .run = run,
};
