/* run.h -- `motley sim` and `motley train`. */
#ifndef MOT_CLI_RUN_H
#define MOT_CLI_RUN_H

#include "api/job.h"
#include "cli.h"

char *cli_experiment_path(const struct cli_args *); /* malloc'd; NULL: defaults only */
enum mot_status cli_run(const struct cli_args *, enum mot_driver);

#endif
