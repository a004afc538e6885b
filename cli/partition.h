/* partition.h -- the result of `motley partition`, and ways to show it. */
#ifndef CLI_PARTITION_H
#define CLI_PARTITION_H

#include "api/job.h"
#include "cli.h"
#include "differ.h"
#include "partition/fallback.h"
#include <jansson.h>

struct cli_cut {
    const struct mot_experiment *x;
    struct mot_dataset *data;
    struct mot_split split;
    struct mot_parts parts;
    struct mot_split_cost cost;
    struct mot_quality q;
    struct mot_fallback fallback;
    const char *features; /* that MMD^2 was measured with; NULL: it was not measured */
    double split_s, split_cpu_s, measure_s, measure_cpu_s;
    struct cli_differ differ;
};

/* The options of herding or submodular; NULL: another partitioner. */
const struct mot_classwise_conf *cli_cut_classwise(const struct cli_cut *);
double cli_cut_peak_bytes(void);

/* partition.json. */
json_t *cli_cut_json(const struct cli_cut *);

/* The table of workers; then, unless `table_only`, ratios, quality and cost. The advice is to run `command`,
 * which uses herding for the classes that are worse than random. */
void cli_cut_print(const struct cli_cut *, const char *command, const char *out, bool table_only);

#endif
