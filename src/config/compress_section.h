/* compress_section.h -- reads the section `compress:` of an experiment. */
#ifndef MOT_CONFIG_COMPRESS_SECTION_H
#define MOT_CONFIG_COMPRESS_SECTION_H

#include "config/experiment.h"
#include "config/read.h"

enum mot_status mot_read_compress(
    const struct mot_yaml_reader *, const struct mot_yaml *node, struct mot_experiment *);
/* Once the method's traits are known: whether compression suits them. Adds to them what it keeps. */
enum mot_status mot_resolve_compress(
    const struct mot_yaml_reader *, const struct mot_yaml *node, struct mot_experiment *);

#endif
