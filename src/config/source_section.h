/* source_section.h -- reads the section `source:` of an experiment. */
#ifndef MOT_CONFIG_SOURCE_SECTION_H
#define MOT_CONFIG_SOURCE_SECTION_H

#include "config/experiment.h"
#include "config/read.h"

enum mot_status mot_read_source(
    const struct mot_yaml_reader *, const struct mot_yaml *node, struct mot_experiment *);
/* Once workers and method are known: whether each can have its stream. */
enum mot_status mot_check_source(
    const struct mot_yaml_reader *, const struct mot_yaml *node, const struct mot_experiment *);

#endif
