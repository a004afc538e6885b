/* parts.h -- a partition that takes long is made once for all runs of a study that share it, and kept in the
 * store: one file, read and written in this machine's byte order. */
#ifndef MOT_STUDY_PARTS_H
#define MOT_STUDY_PARTS_H

#include "api/job.h"
#include "study/store.h"

/* The experiment's parts, from the store if they are there and whole; else they are made, in `workshop`, and
 * kept under `key`. An empty key: they are made. */
enum mot_status mot_parts_have(const struct mot_store *, const char *key, const char *workshop,
    const struct mot_experiment *, const struct mot_dataset *, struct mot_parts *out);

#endif
