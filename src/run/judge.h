/* judge.h -- the judge of a run, for every driver.
 *
 * The driver reports progress (updates, epochs, now). The judge decides whether an evaluation or a
 * checkpoint is due, whether the target is met, whether the run has diverged, which model was the best,
 * and what ended the run. */
#ifndef MOT_RUN_JUDGE_H
#define MOT_RUN_JUDGE_H

#include "run/gradient.h"
#include "run/outcome.h"

struct mot_reached {
    uint64_t updates;
    double epochs;
    mot_time now;
};
double mot_reached_in(const struct mot_reached *, enum mot_every_unit); /* 0 if the unit is auto */

/* The first multiple of `every` after `done`, or the next double where doubles are too coarse for that. */
double mot_multiple_after(double done, double every);
/* Whether *next is reached; if so, moves it to the first multiple not yet reached. */
bool mot_every_due(const struct mot_every *, const struct mot_reached *, double *next);

/* `what`: the figures that were asked for. */
bool mot_score_diverged(const struct mot_net *, const struct mot_score *, unsigned what);

struct mot_judge {
    const struct mot_experiment *experiment;
    const struct mot_problem *problem;
    struct mot_evaluator *evaluator;
    struct mot_watch watch;                  /* called for evaluations */
    struct mot_every every;                  /* evaluate.every, resolved */
    double next_evaluation, next_checkpoint; /* each in its own unit */
    struct mot_moment last;                  /* of the last evaluation */
    struct {
        atomic_bool met;
        mot_time at;
        uint64_t updates;
        struct mot_score score;
    } target;
    atomic_bool diverged;
    struct {      /* by validation */
        float *x; /* [dim]; NULL without validation rows */
        struct mot_score score;
        uint64_t updates;
    } best;
    bool ended;
    enum mot_status status;
    const char *ended_by;
};
void mot_judge_open(struct mot_judge *, const struct mot_experiment *, const struct mot_problem *,
    struct mot_crew *, const struct mot_watch *);
void mot_judge_close(struct mot_judge *);

bool mot_judge_evaluation_due(struct mot_judge *, const struct mot_reached *);
bool mot_judge_checkpoint_due(struct mot_judge *, const struct mot_reached *);
/* Evaluates x, the model at that moment. If it meets the target, all figures are taken, since the run ends
 * there. One thread at a time; others may read `met` and `diverged`. */
void mot_judge_evaluate(struct mot_judge *, struct mot_moment *, const float *x, bool final);
/* stop.epochs are judged at updates. If they are over, and this many jobs end without another update while
 * one of the workers that the method awaits ends none, the run ends without it. */
#define MOT_OVERDUE_JOBS(workers) (10000 + 100 * (uint64_t)(workers))
/* Which of stop.updates and stop.epochs is reached: "updates" or "epochs"; NULL: neither. */
const char *mot_judge_stop(const struct mot_judge *, uint64_t updates, double epochs);

/* What a driver knows when it asks whether the run ends here. The judge itself knows of the target and of
 * divergence. */
struct mot_facts {
    bool memory;      /* was refused */
    bool interrupted; /* by the user */
    bool time;        /* stop.time has passed */
    const char *done; /* it ends by itself: "updates", "epochs" or "data"; NULL: it does not */
};
/* Ends the run if any of that holds, and says whether it has ended. If several hold at once, the first counts
 * of: memory, since figures may be missing; the target; divergence; the interruption; the time; the rest. */
bool mot_judge_decide(struct mot_judge *, const struct mot_facts *);
/* An evaluation may come to its result only when the run has ended for another reason. If the target was met
 * then, the run ended there: what the nodes have done since does not count. */
void mot_judge_overrule(struct mot_judge *);
void mot_judge_end(struct mot_judge *, enum mot_status, const char *by); /* only the first call counts */
/* Opens an outcome with all that the judge knows about the run and its final model x; the driver adds the
 * nodes' tallies. */
void mot_judge_outcome(
    const struct mot_judge *, const struct mot_world *, const float *x, struct mot_outcome *out);

#endif
