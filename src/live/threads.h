/* threads.h -- the driver on threads: a node is a thread, a message a pointer in a mailbox. */
#ifndef MOT_LIVE_THREADS_H
#define MOT_LIVE_THREADS_H

#include "run/gradient.h"
#include "run/outcome.h"
#include "live/record.h"
#include <signal.h>

struct mot_live_options {
    const struct mot_experiment *experiment;
    const struct mot_problem *problem;
    const struct mot_optim *optim;
    const float *x0;                        /* [dim]: the initial parameters */
    const struct mot_watch *watch;          /* may be NULL */
    const volatile sig_atomic_t *interrupt; /* set, to the signal: end cleanly; may be NULL */
    bool emulate;                           /* machines as slow and links as thin as the cluster says */
    const char *checkpoint;                 /* file to write, or NULL */
    uint64_t hash;                          /* of experiment and data: a checkpoint belongs to it */
    bool resume;                            /* begin from that file */
    bool settled; /* resuming: the results are there, so a run that is over is left as it is */
    /* Called when the run is sure to begin, with the checkpoint's
     * mark, or 0; an error keeps it from beginning. */
    enum mot_status (*begins)(void *self, uint64_t mark);
    void *begins_self;
    struct mot_record *record; /* opened, for all nodes: gets their events; or NULL */
};

/* MOT_OK with out->status saying how the run ended; or an error before it began. */
enum mot_status mot_threads_run(const struct mot_live_options *, struct mot_outcome *out);

/* Runs the profile's part of every node on threads: see live/profile.h. Of the options, the experiment,
 * problem, optim and x0 count. Opens *out; fails before anything is measured, or not. */
struct mot_profile;
enum mot_status mot_threads_profile(const struct mot_live_options *, struct mot_profile *out);

#endif
