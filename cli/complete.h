/* complete.h -- completes command lines. */
#ifndef MOT_CLI_COMPLETE_H
#define MOT_CLI_COMPLETE_H

#include <stddef.h>
#include <stdio.h>

/* Prints every completion of the last of `word`, each with its summary after a tab. A line `:files` or
 * `:folders` means that any of those would do too. */
void cli_complete(const char *const *word, size_t words, FILE *out);

#endif
