/* noise.h -- passes on a launcher's stderr, except what its libraries say about a rank that died.
 *
 * When a rank ends early, Open MPI's helpers report errors and warnings in terms of their own sources; motley
 * itself says who was lost. Their messages are kept, and shown if the launcher fails on its own. */
#ifndef MOT_CLI_NOISE_H
#define MOT_CLI_NOISE_H

#include <stdbool.h>
#include <stddef.h>

struct cli_noise {
    int from;  /* the end of a pipe, or -1 */
    bool mute; /* pass nothing on from now on */
    size_t n, kept;
    char line[4096], keep[4096];
};

bool cli_noise_open(struct cli_noise *, int *into); /* false: no pipe; errno says why */
void cli_noise_pass(struct cli_noise *, int ms); /* passes on what has arrived, waiting up to `ms` for it */
void cli_noise_close(struct cli_noise *, bool tell); /* `tell`: shows what was kept */

#endif
