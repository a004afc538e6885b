/* kept_parts.h -- a slow partition is made once for all runs of a study that share it, and kept in the
 * store as one file in this machine's byte order. */
#ifndef MOT_STUDY_KEPT_PARTS_H
#define MOT_STUDY_KEPT_PARTS_H

#include "api/job.h"
#include "study/store.h"

/* The experiment's parts, from the store if they are there and whole; otherwise made in `workshop` and
 * kept under `key`. With an empty key they are always made. */
enum mot_status mot_parts_have(const struct mot_store *, const char *key, const char *workshop,
    const struct mot_experiment *, const struct mot_dataset *, struct mot_parts *out);

#endif
