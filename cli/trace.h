/* trace.h -- from recorded job times to a cluster. */
#ifndef MOT_CLI_TRACE_H
#define MOT_CLI_TRACE_H

#include "cli.h"

/* Fits the trace that the first word names; reads the flags --out, --model and --threshold. */
enum mot_status cli_fit_trace(const struct cli_args *);

#endif
