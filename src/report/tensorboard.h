/* tensorboard.h -- events for TensorBoard: the figures of metrics.jsonl as scalars. */
#ifndef MOT_REPORT_TENSORBOARD_H
#define MOT_REPORT_TENSORBOARD_H

#include "run/outcome.h"

/* TensorBoard looks for "tfevents" in a name; the rest of it is free. */
#define MOT_TENSORBOARD_NAME "events.out.tfevents.0.motley"

struct mot_tensorboard;
/* Starts the file with what metrics.jsonl holds, if there is one: a resumed run continues from the events
 * its checkpoint covers. */
enum mot_status mot_tensorboard_open(const char *path, const char *metrics, struct mot_tensorboard **out);
void mot_tensorboard_add(struct mot_tensorboard *, const struct mot_moment *); /* flushed */
/* says if a write failed; NULL is fine */
enum mot_status mot_tensorboard_close(struct mot_tensorboard *);

#endif
