/* differ.h -- of `motley partition`: how far the parts' gradients differ at an experiment's first model. */
#ifndef CLI_DIFFER_H
#define CLI_DIFFER_H

#include "api/job.h"
#include "cli.h"
#include "report/parts.h"

struct cli_differ {
    bool known; /* a model was named, by a flag or in an experiment's file, and it computes something */
    const char *model;
    struct mot_parts_differ is;
    char words[256];
};

/* Whether there is something to measure: the command names an experiment's file or a key of the model. */
bool cli_differ_is_asked(const struct cli_args *);
enum mot_status cli_differ_measure(const struct mot_experiment *, struct mot_dataset *,
    const struct mot_parts *, unsigned threads, struct cli_differ *out);
void cli_differ_print(const struct cli_differ *);
json_t *cli_differ_json(const struct cli_differ *); /* null where it is not known */

#endif
