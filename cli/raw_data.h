/* raw_data.h -- a data set as its file has it, for commands that show it or pass it on. */
#ifndef MOT_CLI_RAW_DATA_H
#define MOT_CLI_RAW_DATA_H

#include "base/memory.h"
#include "cli.h"
#include "data/formats.h"

/* What to read, with the data options that were given as flags: --label-column is label_column. */
enum mot_status cli_raw_conf(
    const struct cli_args *, const char *name, struct mot_arena *, struct mot_data_conf *out);
/* keep_missing: leaves missing values as NaN, even if nothing says how to fill them. */
enum mot_status cli_raw_open(const struct mot_data_conf *, bool keep_missing, struct mot_raw *out);
/* Fills what is missing, as `missing` says. */
enum mot_status cli_raw_fill(const struct mot_data_conf *, struct mot_raw *);

#endif
