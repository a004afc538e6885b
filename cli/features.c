/* features.c -- `motley features`: the inputs of a network's last layer, for each row. */
#include "cli.h"

#include "base/memory.h"
#include "base/shown.h"
#include "data/formats.h"
#include "model_data.h"
#include "report/json.h"
#include "report/score.h"
#include <inttypes.h>
#include <stdlib.h>

static enum mot_status has_features(const char *path, const struct mot_net *net)
{
    if (net->features && net->kind->features) return MOT_OK;
    return mot_fail(MOT_EUSAGE,
        "%s: this %s has no hidden layer, so there are no features; `mlp` and networks have them", path,
        net->kind->name);
}

static enum mot_status write_features(const struct mot_subject *s, const char *path)
{
    struct mot_raw raw = { .rows = (uint32_t)s->rows, .cols = s->net.features };
    raw.x = mot_new_large((size_t)raw.rows * raw.cols, sizeof *raw.x);
    enum mot_status status = mot_memory_status();
    if (status == MOT_OK) mot_features_subject(s, raw.x);
    if (status == MOT_OK) status = mot_memory_status();
    if (status == MOT_OK) status = mot_raw_write(&raw, path, NULL, MOT_FORMAT_NPY);
    free(raw.x);
    return status;
}

static void print(const struct cli_args *args, const struct mot_subject *s, const char *out)
{
    if (args->json) {
        json_t *o = json_pack("{s:o, s:s, s:o, s:o, s:I, s:I}", "model", mot_json_text(args->word[0]), "kind",
            s->net.kind->name, "data", mot_json_text(s->source), "out", mot_json_text(out), "rows",
            (json_int_t)s->rows, "features", (json_int_t)s->net.features);
        mot_json_print(o, stdout);
        json_decref(o);
    } else if (!args->quiet) {
        char shown[512];
        fprintf(stderr, "%u features of each of %" PRIu64 " rows written to %s\n", s->net.features, s->rows,
            mot_show_text(out, shown, sizeof shown));
    }
}

static enum mot_status run(const struct cli_args *args)
{
    struct cli_data_settings settings;
    struct mot_subject subject;
    const char *out = cli_value(args, "out");
    if (!out) return mot_fail(MOT_EUSAGE, "--out is missing: the NPY file to write, such as features.npy");
    cli_data_settings(args, &settings);
    enum mot_status status = mot_subject_open(args->word[0], args->words > 1 ? args->word[1] : NULL,
        MOT_PART_FILE, settings.setting, settings.n, false, &subject);
    if (status != MOT_OK) return status;
    status = cli_model_is_finite(args->word[0], subject.model);
    if (status == MOT_OK) status = has_features(args->word[0], &subject.net);
    if (status == MOT_OK) status = write_features(&subject, out);
    if (status == MOT_OK) print(args, &subject, out);
    mot_subject_close(&subject);
    return status;
}

static const struct cli_flag flags[] = {
    { "out", "FILE.npy", "the file to write, float32, [rows][features]; it appears once complete" },
    CLI_DATA_FLAGS,
    { NULL, NULL, NULL },
};

const struct cli_command cli_features = {
    .name = "features",
    .synopsis = "RUN|MODEL.safetensors [DATA] --out FILE.npy [flags]",
    .summary = "write a network's features of each row",
    .about = "Writes the inputs of the last layer with weights for every row that a run takes from the "
             "training file, in the order of the file. `partition.features` and `motley partition "
             "--features` read the result. Dropout is off, and batch norm uses its running statistics.\n\n"
             "The model is a file or the folder of a run. It must be an mlp or a network: linear models have "
             "no hidden layer. Without DATA, the rows are those of its own data, as many as its run took "
             "(`data.rows`) unless --rows says otherwise. Rows are scaled like the training data and need no "
             "labels.",
    .examples = "motley features runs/first --out features.npy\n"
                "motley partition fashion-mnist --workers 8 --features features.npy --by submodular",
    .flags = flags,
    .words_min = 1,
    .words_max = 2,
    .run = run,
};
