/* plan.h -- `motley plan`, and `motley train --auto`, which does what it recommends. */
#ifndef MOT_CLI_PLAN_H
#define MOT_CLI_PLAN_H

#include "cli.h"
#include <jansson.h>

/* Plans, prints and writes the plan's folder. *plan_out: plan.json; *cluster_out: the measured cluster's
 * file, or NULL (malloc'd). */
enum mot_status cli_plan_here(const struct cli_args *, json_t **plan_out, char **cluster_out);

/* profile.c: measures this machine with the experiment's workers, and writes a cluster file. */
enum mot_status cli_profile_to(const struct cli_args *, const char *path);

#endif
