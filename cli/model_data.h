/* model_data.h -- shared by `eval`, `predict` and `features`: flags that say how to read DATA. */
#ifndef MOT_CLI_MODEL_DATA_H
#define MOT_CLI_MODEL_DATA_H

#include "cli.h"
#include "report/score.h"

#define CLI_DATA_FLAGS                                                                                       \
    { "format", "FORMAT", "idx, libsvm, csv, npy, npz, cifar10 or cifar100; default: detected" },            \
        { "labels", "FILE", "IDX and NPY: the label file" },                                                 \
        { "label-column", "COLUMN",                                                                          \
            "CSV: the label column: a name, a number from 0, first, last, or none" },                        \
        { "skip", "COLUMNS", "CSV: columns to leave out, separated by commas" },                             \
        { "separator", "CHARACTER", "CSV: the column separator" },                                           \
        { "header", "auto|yes|no", "CSV: whether the first line names the columns" },                        \
        { "unpack-max", "SIZE", "the largest size that a .gz file may unpack to" },                          \
        { "task", "auto|classes|regression", "whether labels are classes or values" },                       \
        { "unknown", "refuse|zeros", "CSV: words that the training file does not have" },                    \
    {                                                                                                        \
        "rows", "COUNT", "use only the first COUNT rows"                                                     \
    }

#define CLI_DATA_FLAGS_MOST 10

struct cli_data_settings {
    size_t n;
    struct mot_setting setting[CLI_DATA_FLAGS_MOST];
    char key[CLI_DATA_FLAGS_MOST][24], origin[CLI_DATA_FLAGS_MOST][26];
};
/* The flags above that were given, as settings of the data section. */
void cli_data_settings(const struct cli_args *, struct cli_data_settings *out);

/* MOT_EDIVERGED if that file's model has parameters that are not finite. */
enum mot_status cli_model_is_finite(const char *path, const struct mot_saved_model *);

#endif
