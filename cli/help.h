/* help.h -- help and man pages, made from the tables that parse. */
#ifndef MOT_CLI_HELP_H
#define MOT_CLI_HELP_H

#include "cli.h"
#include <stdio.h>

void help_short(FILE *); /* `motley` alone */
void help_all(FILE *);   /* `motley help` */
void help_command(FILE *, const struct cli_command *);
/* The commands that begin with this word, such as "data"; false if none does. */
bool help_group(FILE *, const char *first);

#endif
