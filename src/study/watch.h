/* watch.h -- a study's progress: runs done, time left, what is running. */
#ifndef MOT_STUDY_WATCH_H
#define MOT_STUDY_WATCH_H

#include "study/runner.h"

struct mot_watcher;
/* `partitions`: what is made are partitions, not runs. */
struct mot_watcher *mot_watcher_open(const struct mot_runner *, unsigned slots, size_t runs, bool partitions);
void mot_watcher_began(struct mot_watcher *, const struct mot_case *, unsigned slot);
void mot_watcher_ended(struct mot_watcher *, unsigned slot);
void mot_watcher_tick(struct mot_watcher *);
void mot_watcher_close(struct mot_watcher *); /* the line is cleared */

#endif
