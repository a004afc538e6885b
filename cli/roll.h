/* roll.h -- the roll of a run over MPI: its ranks report to the process that started them.
 *
 * A launcher has exit codes of its own, and if it keeps a run that has lost a rank, the rest would wait in
 * MPI_Init for ever. So each rank signs the roll, a file named in the environment, before it calls MPI, and
 * again when MPI is up. Until all are up, the process that started them watches those that have signed; from
 * then on rank 0 does. Rank 0's last word is how the run ended. */
#ifndef MOT_CLI_ROLL_H
#define MOT_CLI_ROLL_H

#include <motley/motley.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- A rank ------------------------------------------------------------------------------------- */

enum cli_roll_word {
    CLI_ROLL_HERE = 'h',   /* the process has begun */
    CLI_ROLL_JOINED = 'j', /* MPI is up, and the others are known */
    CLI_ROLL_ENDED = 'e',  /* rank 0 only: the run's status */
};

/* The rank that the launcher gave this process, or NULL. */
const char *cli_rank_by_launcher(void);
/* False: there was a roll, but it is gone; nobody waits for this rank any more. */
bool cli_roll_say(enum cli_roll_word, int status);

/* ---- The process that starts them ------------------------------------------------------------------- */

struct cli_roll {
    char path[256];
    int file;
    uint32_t ranks, here, joined;
    int *process; /* [ranks]: a descriptor, or negative: not here, gone, cannot be watched */
    int64_t read;
    double heard_s; /* when any rank was last heard from */
    int status;     /* rank 0's last word, or -1 */
};

enum mot_status cli_roll_open(struct cli_roll *, uint32_t ranks); /* also sets the environment variable */
void cli_roll_read(struct cli_roll *);
/* Fails if a rank died or did not start before all are up; the message says which. */
enum mot_status cli_roll_check(struct cli_roll *);
/* Waits up to `ms`, or until a rank that has signed ends, or until `also` is readable. */
void cli_roll_watch(const struct cli_roll *, int also, int ms);
void cli_roll_end_ranks(const struct cli_roll *); /* ranks that start later find no roll and leave */
void cli_roll_close(struct cli_roll *);

#endif
