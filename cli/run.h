/* run.h -- `motley sim` and `motley train`. */
#ifndef MOT_CLI_RUN_H
#define MOT_CLI_RUN_H

#include "api/job.h"
#include "cli.h"

/* For the tables of both. */
#define CLI_RUN_FLAGS                                                                                        \
    { "tensorboard", NULL,                                                                                   \
        "write TensorBoard events to --out at each evaluation, stamped with the run's time" },               \
        { "resume", NULL, "continue the run in --out from its last checkpoint" },                            \
    {                                                                                                        \
        "replace", NULL, "overwrite the run in --out"                                                        \
    }

char *cli_experiment_path(const struct cli_args *); /* malloc'd; NULL: defaults only */
/* ranks: this process is one of them; NULL: it works alone */
enum mot_status cli_run(const struct cli_args *, const struct mot_driver *, struct mot_ranks *);

#endif
