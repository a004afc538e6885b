/* train_mpi.h -- `motley train` as one rank of several, and as the one who starts them. */
#ifndef MOT_CLI_TRAIN_MPI_H
#define MOT_CLI_TRAIN_MPI_H

#include "cli.h"

bool train_under_mpi(void);                                /* mpirun or srun has started this process */
enum mot_status train_rank(const struct cli_args *);       /* comes back only if there are no other ranks to leave with */
enum mot_status train_ranks(const struct cli_args *, const char *ranks);

#endif
