/* study.h -- what `motley compare` and `motley tune` share. */
#ifndef MOT_CLI_STUDY_H
#define MOT_CLI_STUDY_H

#include "cli.h"
#include <stdio.h>

void cli_print_word(const char *word, FILE *); /* a word of a command line as a shell would take it */
enum mot_status cli_study(const struct cli_args *, bool tune_only);

#endif
