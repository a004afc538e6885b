/* model_data.h -- what `eval` and `predict` share: flags that tell how DATA is read. */
#ifndef MOT_CLI_MODEL_DATA_H
#define MOT_CLI_MODEL_DATA_H

#include "cli.h"
#include "report/score.h"

#define CLI_DATA_FLAGS                                                                                       \
    { "format", "FORMAT", "idx, libsvm, csv or npy; found by itself unless told" },                          \
        { "labels", "FILE", "IDX and NPY: the file of labels" },                                             \
        { "label-column", "COLUMN",                                                                          \
            "CSV: the label's column: a name, a number from 0, first, last, or none" },                      \
        { "skip", "COLUMNS", "CSV: columns to leave out, with commas between" },                             \
        { "separator", "CHARACTER", "CSV: what is between columns" },                                        \
        { "header", "auto|yes|no", "CSV: whether the first line names the columns" },                        \
        { "unpack-max", "SIZE", "the most that a .gz file may unpack to" },                                  \
        { "task", "auto|classes|regression", "whether labels are classes or values" },                       \
    {                                                                                                        \
        "rows", "COUNT", "take only the first so many rows"                                                  \
    }

#define CLI_DATA_FLAGS_MOST 9

struct cli_data_settings {
    size_t n;
    struct mot_setting setting[CLI_DATA_FLAGS_MOST];
    char key[CLI_DATA_FLAGS_MOST][24], origin[CLI_DATA_FLAGS_MOST][26];
};
/* Those of the flags above that were given, as settings of the data section. */
void cli_data_settings(const struct cli_args *, struct cli_data_settings *out);

/* MOT_EDIVERGED where the model of that file has parameters that are no numbers: it can say nothing. */
enum mot_status cli_model_is_finite(const char *path, const struct mot_saved_model *);

#endif
