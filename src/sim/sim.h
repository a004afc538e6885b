/* sim.h -- the simulator: the real mathematics of every node, on a virtual clock. */
#ifndef MOT_SIM_SIM_H
#define MOT_SIM_SIM_H

#include "run/gradient.h"
#include "run/outcome.h"
#include <signal.h>

struct mot_sim_options {
    const struct mot_experiment *experiment;
    const struct mot_problem *problem;
    const struct mot_optim *optim;
    const float *x0;                        /* [dim]: the initial parameters */
    uint64_t hash;                          /* of experiment and data: a checkpoint belongs to it */
    const struct mot_watch *watch;          /* may be NULL */
    const volatile sig_atomic_t *interrupt; /* set: end cleanly at the next event; may be NULL */
    const char *checkpoint;                 /* file to write, or NULL */
    bool resume;                            /* begin from that file */
    bool settled; /* resuming: the results are there, so a run that is over is left as it is */
    /* with faults: messages that may be out at once, before others wait; 0: as many as is planned for */
    uint32_t frames;
    /* Called once all is ready and the checkpoint, if any, is found good,
     * with its mark; a failure is the run's. May be NULL. */
    enum mot_status (*begins)(void *self, uint64_t mark);
    void *begins_self;
};

/* What a run will reserve at the most, in bytes; nothing is allocated by it. */
struct mot_plan {
    uint64_t buffers, buffer_count, states, events, scratch, evaluation, data, total;
};
enum mot_status mot_sim_plan(const struct mot_experiment *, const struct mot_problem *,
    const struct mot_optim *, struct mot_plan *out);

/* MOT_OK with out->status saying how the run ended; or an error before it began. */
enum mot_status mot_sim_run(const struct mot_sim_options *, struct mot_outcome *out);

#endif
