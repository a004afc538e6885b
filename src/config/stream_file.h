/* stream_file.h -- streams of a cluster file: how samples arrive at its workers. */
#ifndef MOT_CONFIG_STREAM_FILE_H
#define MOT_CONFIG_STREAM_FILE_H

#include "cluster/cluster.h"
#include "config/read.h"
#include <stdio.h>

/* Reads a worker's stream. `node` NULL: it keeps what it has. */
enum mot_status mot_stream_read(
    const struct mot_yaml_reader *, const struct mot_yaml *node, const char *key, struct mot_stream *);
/* Refuses what a stream, which has no end, cannot have: epochs, passes, full batches, shared parts. */
struct mot_experiment;
enum mot_status mot_streams_check(
    const struct mot_yaml_reader *, const struct mot_yaml *root, const struct mot_experiment *);
/* Prints nothing for a worker whose data is all there. */
void mot_stream_print(const struct mot_machine *, int indent, FILE *);
char *mot_stream_text(
    const struct mot_stream *); /* "uniform (mean 38 samples/s, sd 24 samples/s)"; malloc'd */

#endif
