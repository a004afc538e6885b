/* serve.h -- `--serve`: the live view of a command. */
#ifndef MOT_CLI_SERVE_H
#define MOT_CLI_SERVE_H

#include "cli.h"
#include "serve/serve.h"

/* For the tables of the commands that have it. */
#define CLI_SERVE_FLAGS                                                                                      \
    { "serve", "ADDRESS",                                                                                    \
        "show progress live at ADDRESS:PORT, such as 127.0.0.1:8080: a page for browsers, and metrics for "  \
        "Prometheus at /metrics; port 0 picks a free port" },                                                \
        { "serve-anyone", NULL, "let --serve listen at an address that other machines can reach" },          \
    {                                                                                                        \
        "serve-after", "TIME", "keep serving for this long after success, or until Ctrl-C"                   \
    }

/* Opens the view, unless it is open, and says where it is; *out is NULL without --serve. `ranks`: the
 * command runs as several processes, and this is the first. */
enum mot_status cli_serve_open(const struct cli_args *, bool ranks, struct mot_serve **out);
/* Where the results are, for the view's last words. */
void cli_serve_results(const char *folder);
/* The command is over: the view says so, stays up as long as asked, and closes. Returns `status`. */
enum mot_status cli_serve_end(const struct cli_args *, enum mot_status status);

#endif
