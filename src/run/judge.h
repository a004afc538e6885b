/* judge.h -- what every driver asks of a run's progress: whether something is due that is due every so often,
 * and whether an evaluation says that the run has diverged. */
#ifndef MOT_RUN_JUDGE_H
#define MOT_RUN_JUDGE_H

#include "run/gradient.h"

struct mot_reached {
    uint64_t updates;
    double epochs;
    mot_time now;
};
double mot_reached_in(const struct mot_reached *, enum mot_every_unit); /* 0 where the unit is auto */

/* The first multiple of `every` after `done`; the next number where doubles are too coarse for it. */
double mot_multiple_after(double done, double every);
/* Whether *next is reached; moves it to the first multiple after what is reached. */
bool mot_every_due(const struct mot_every *, const struct mot_reached *, double *next);

/* `what`: the figures that were asked for. */
bool mot_score_diverged(const struct mot_net *, const struct mot_score *, unsigned what);

#endif
