/* gather.h -- a study of existing runs: which belong together, and what sets them apart. */
#ifndef MOT_STUDY_GATHER_H
#define MOT_STUDY_GATHER_H

#include "base/memory.h"
#include "study/study.h"

struct mot_gathered {
    struct mot_arena arena; /* owns what the study's pointers name */
    struct mot_study study;
};

/* Runs that differ only in their seed are one arm; arms are named by what differs: the method, or else
 * the keys. A folder of runs stands for the runs in it. Folders without a complete run are refused,
 * saying why. */
enum mot_status mot_gather(
    const char *const *folder, size_t folders, const char *command, struct mot_gathered **out);
void mot_gathered_close(struct mot_gathered *);

bool mot_holds_runs(const char *folder); /* or is one */

#endif
