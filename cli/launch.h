/* launch.h -- running a command as one of several ranks, and starting the ranks. */
#ifndef MOT_CLI_LAUNCH_H
#define MOT_CLI_LAUNCH_H

#include "api/job.h"
#include "cli.h"

/* what a rank does */
typedef enum mot_status cli_rank_run(const struct cli_args *, struct mot_ranks *);
/* fails if that many ranks do not fit the experiment */
typedef enum mot_status cli_ranks_fit(const struct mot_experiment *, uint32_t ranks);

/* true if mpirun or srun started this process */
bool cli_under_mpi(void);
/* returns only if MPI cannot start; otherwise exits */
enum mot_status cli_be_rank(const struct cli_args *, cli_rank_run *);
enum mot_status cli_start_ranks(const struct cli_args *, const char *ranks, cli_ranks_fit *);

#endif
