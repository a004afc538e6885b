/* help.h -- help and man pages, all from the tables that parse. */
#ifndef MOT_CLI_HELP_H
#define MOT_CLI_HELP_H

#include "cli.h"
#include <stdio.h>

void help_short(FILE *); /* `motley` alone */
void help_all(FILE *);   /* `motley help` */
void help_command(FILE *, const struct cli_command *);

#endif
