/* code_section.h -- reads the section `code:` of an experiment. */
#ifndef MOT_CONFIG_CODE_SECTION_H
#define MOT_CONFIG_CODE_SECTION_H

#include "config/experiment.h"
#include "config/read.h"

enum mot_status mot_read_code(const struct mot_yaml_reader *, struct mot_yaml *node, struct mot_experiment *);
/* Once workers, cluster and batches are known. */
enum mot_status mot_resolve_code(
    const struct mot_yaml_reader *, const struct mot_yaml *node, struct mot_experiment *);

#endif
