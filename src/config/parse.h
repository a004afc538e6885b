/* parse.h -- an experiment from text in memory, for tests and fuzzers. */
#ifndef MOT_CONFIG_PARSE_H
#define MOT_CONFIG_PARSE_H

#include "config/experiment.h"

/* As mot_experiment_open, but opens no file that the text names. */
enum mot_status mot_experiment_parse(
    const char *name, const char *text, size_t n, struct mot_experiment **out);

#endif
