/* study.h -- what `motley compare` and `motley tune` share. */
#ifndef MOT_CLI_STUDY_H
#define MOT_CLI_STUDY_H

#include "cli.h"

enum mot_status cli_study(const struct cli_args *, bool tune_only);

#endif
