/* study.h -- what `motley compare`, `motley tune` and `motley plan` share. */
#ifndef MOT_CLI_STUDY_H
#define MOT_CLI_STUDY_H

#include "cli.h"
#include <stdio.h>

void cli_print_word(const char *word, FILE *); /* a word of a command line as a shell would take it */
/* The command as typed, without the flags that `skips` knows (and says whether a value follows; NULL: none),
 * and with `more` at its end; malloc'd. */
char *cli_command_text(
    const struct cli_args *, bool (*skips)(const char *word, bool *takes_value), const char *more);
char *cli_study_command(
    const struct cli_args *); /* as typed, without what does not change its result; malloc'd */
char *cli_study_folder(
    const struct cli_args *, const char *kind); /* runs/compare-demo for demo.yaml; malloc'd */
const char *cli_study_store(const struct cli_args *);
enum mot_status cli_study_jobs(const struct cli_args *, unsigned *out);
enum mot_status cli_study(const struct cli_args *, bool tune_only);

#endif
