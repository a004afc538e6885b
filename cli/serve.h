/* serve.h -- `--serve`: the live view of a command. */
#ifndef MOT_CLI_SERVE_H
#define MOT_CLI_SERVE_H

#include "cli.h"
#include "serve/serve.h"

/* For the tables of the commands that have it. */
#define CLI_SERVE_FLAGS                                                                                      \
    { "serve", "ADDRESS",                                                                                    \
        "show how it gets on to a browser at ADDRESS:PORT, such as 127.0.0.1:8080, and to Prometheus at "    \
        "/metrics; port 0 takes a free one" },                                                               \
        { "serve-anyone", NULL, "let --serve listen at an address that other machines reach" },              \
    {                                                                                                        \
        "serve-after", "TIME", "go on serving for so long after it has succeeded, or until Ctrl-C"           \
    }

/* Opens the view, unless it is open, and says where it is; *out is NULL if none is asked for. `ranks`: the
 * command runs as several processes, and this is the first. */
enum mot_status cli_serve_open(const struct cli_args *, bool ranks, struct mot_serve **out);
/* Where the results are, for the view's last words. */
void cli_serve_results(const char *folder);
/* The command is over: the view says so, stays for as long as it was asked to, and goes. Returns `status`. */
enum mot_status cli_serve_end(const struct cli_args *, enum mot_status status);

#endif
