/* complete.h -- what could come next on a command line. */
#ifndef MOT_CLI_COMPLETE_H
#define MOT_CLI_COMPLETE_H

#include <stddef.h>
#include <stdio.h>

/* Prints every word that could stand in place of the last of `word`, of which a part is typed, each with its
 * summary after a tab. A line `:files` or `:folders` says that any of those could stand there too. */
void cli_complete(const char *const *word, size_t words, FILE *out);

#endif
