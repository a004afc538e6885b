/* differ.h -- for `motley partition`: how far the parts' gradients differ at the initial model. */
#ifndef CLI_DIFFER_H
#define CLI_DIFFER_H

#include "api/job.h"
#include "cli.h"
#include "report/parts.h"

struct cli_differ {
    bool known; /* a flag or an experiment file named a model, and it computes something */
    const char *model;
    struct mot_parts_differ is;
    char words[256];
};

/* True if the command names an experiment file or a key of the model. */
bool cli_differ_is_asked(const struct cli_args *);
enum mot_status cli_differ_measure(const struct mot_experiment *, struct mot_dataset *,
    const struct mot_parts *, unsigned threads, struct cli_differ *out);
void cli_differ_print(const struct cli_differ *);
json_t *cli_differ_json(const struct cli_differ *); /* null if not known */

#endif
