/* noise.h -- what a launcher says on stderr: passed on, but for what its libraries say of a rank that died.
 *
 * When a rank ends early, Open MPI's helpers report errors and warnings in terms of their own sources; motley
 * says who was lost itself. What they said is kept, and shown where the launcher fails by itself. */
#ifndef MOT_CLI_NOISE_H
#define MOT_CLI_NOISE_H

#include <stdbool.h>
#include <stddef.h>

struct cli_noise {
    int from;  /* the end of a pipe, or -1 */
    bool mute; /* from now on everything is noise */
    size_t n, kept;
    char line[4096], keep[4096];
};

bool cli_noise_open(struct cli_noise *, int *into);  /* false: there is no pipe, and errno says why */
void cli_noise_pass(struct cli_noise *, int ms);     /* what there is, after waiting so long for it */
void cli_noise_close(struct cli_noise *, bool tell); /* and shows what was kept */

#endif
