/* threads.h -- the driver on threads: a node is a thread, a message an entry in a mailbox. */
#ifndef MOT_LIVE_THREADS_H
#define MOT_LIVE_THREADS_H

#include "run/driver.h"

/* Profiles on threads: see live/profile.h. Uses only experiment, problem, optim and x0 of the options.
 * Opens *out; if it fails, it does so before measuring anything. */
struct mot_profile;
enum mot_status mot_threads_profile(const struct mot_driver_options *, struct mot_profile *out);

#endif
