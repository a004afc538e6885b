/* timeline.h -- timeline.json: the beginning of a run: who computed, sent and received, and when. */
#ifndef MOT_REPORT_TIMELINE_H
#define MOT_REPORT_TIMELINE_H

#include "run/outcome.h"

#define MOT_TIMELINE_SPANS 2000 /* after that many the timeline ends, and says where */
#define MOT_TIMELINE_WORKERS 32 /* at most that many are drawn, evenly spaced */
#define MOT_TIMELINE_SERVERS 4

struct mot_timeline;
struct mot_timeline *mot_timeline_open(const char *path, const struct mot_experiment *);
void mot_timeline_phase(struct mot_timeline *, mot_node, enum mot_phase, mot_time from, mot_time to);
void mot_timeline_flight(struct mot_timeline *, const struct mot_flight *);
/* Set once it is full: for mot_watch.enough. */
const atomic_bool *mot_timeline_enough(const struct mot_timeline *);
/* Writes the file once the timeline is full, so that a run killed later leaves it. */
void mot_timeline_save(struct mot_timeline *);
/* Writes what there is, if anything, of a run that ended at `end`; says if a write failed. */
enum mot_status mot_timeline_close(struct mot_timeline *, mot_time end);
void mot_timeline_abandon(struct mot_timeline *);

#endif
